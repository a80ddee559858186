"""Secret sharing: numbers are added up although nobody sees a single one of them.

Two schemes over the whole numbers modulo a prime p. *Additive* sharing (all shares are needed): n − 1 shares are
uniform, the last one makes up the sum. *Shamir's* (1979; any t of n shares suffice): share i is the value at i of a
polynomial of degree t − 1 whose other coefficients are uniform and whose value at 0 is the secret. Shares of two
secrets that a party holds may be added, and multiplied by public numbers, without talking to anybody.

What it protects: t − 1 parties who put their shares together learn nothing at all, however much they compute. Proof:
for every secret there is exactly one choice of the uniform numbers that gives the t − 1 shares they see (a polynomial
of degree t − 1 is fixed by t points, the secret being one of them), so these shares are as likely under every secret.

What it does not protect: *the sum itself*. Two sums that differ by one person are a differencing attack, whoever
computed them. Noise can be shared and added like any other number, see `noise`, and then the sum is private too.

Whole numbers stand for themselves modulo p: x ≥ 0 as x, a negative x as p + x. Every share knows a public limit of
what it stands for; an operation whose result might not fit into the field is refused.

>>> scheme = ShamirSharing(parties=3, threshold=2)
>>> wages, bonus = scheme.share(52_000), scheme.share(-1_500)
>>> sums = [one + other for one, other in zip(wages, bonus)]
>>> scheme.reconstruct(sums[1:])
50500
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM, Entropy, discrete_laplace, uniform_below

MERSENNE_61 = 2**61 - 1
LARGEST_SECRET = 10**12
NOISE_SCALES = 64
"""Noise is counted as this many times its scale: it is larger with probability 2·e^−64, and then the sum is wrong."""


@dataclass(frozen=True, slots=True)
class Share:
    """What one party holds of one secret.

    Attributes:
        scheme: The scheme that made it.

    Raises:
        InvalidParameter: If the party or the value is none of the scheme.

    >>> from lapwing.anonymity import ShamirSharing
    >>> scheme = ShamirSharing(parties=3, threshold=2)
    >>> first, second = scheme.share(7), scheme.share(5)
    >>> both = [one + other for one, other in zip(first, second, strict=True)]
    >>> both[0].party, scheme.reconstruct(both[:2])  # sums of shares are shares of the sum
    (1, 12)
    """

    scheme: Sharing
    party: int
    """From 1 to the number of parties."""
    value: int
    """From 0 to p − 1."""
    limit: int
    """The secret lies between −limit and limit; known to all."""

    def __post_init__(self) -> None:
        if not (1 <= self.party <= self.scheme.parties and 0 <= self.value < self.scheme.prime):
            raise InvalidParameter("party", self.party, "this is not a share of the scheme", "Use shares as they came.")
        if self.limit > self.scheme.prime // 2:
            raise InvalidParameter(
                "limit",
                self.limit,
                "the result might not fit into the field",
                "Use a larger prime, for example 2**127 - 1.",
            )

    def __repr__(self) -> str:
        return f"Share(party={self.party}, limit={self.limit})"  # no value: shares end up in logs

    def __add__(self, other: Share) -> Share:
        if (self.scheme, self.party) != (other.scheme, other.party):
            raise InvalidParameter(
                "other", other, "is of another party or another scheme", "A party can only add its own shares."
            )
        value = (self.value + other.value) % self.scheme.prime
        return replace(self, value=value, limit=self.limit + other.limit)

    def __mul__(self, factor: int) -> Share:
        if not isinstance(factor, int):
            raise InvalidParameter("factor", factor, "must be a public whole number", "Shares are not multiplied.")
        return replace(self, value=self.value * factor % self.scheme.prime, limit=self.limit * abs(factor))

    __rmul__ = __mul__

    def __neg__(self) -> Share:
        return self * -1

    def __sub__(self, other: Share) -> Share:
        return self + -other


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing(ABC):
    """What the schemes have in common: the field, the parties, and the largest secret.

    Args:
        parties: How many parties get a share of each secret, at least 2.
        prime: The size of the field. Sums of secrets must stay below half of it.
    """

    parties: int
    prime: int = MERSENNE_61
    largest: int = LARGEST_SECRET
    """The largest absolute value of one secret, known to all."""

    def __post_init__(self) -> None:
        checks.whole(parties=self.parties, minimum=2)
        if not is_prime(checks.whole(prime=self.prime, minimum=2)):
            raise InvalidParameter("prime", self.prime, "is not a prime", "Write prime=2**61 - 1.")
        if self.parties >= self.prime:
            raise InvalidParameter("prime", self.prime, "must exceed the number of parties", "Write prime=2**61 - 1.")
        if checks.whole(largest=self.largest, minimum=0) > self.prime // 2:
            raise InvalidParameter(
                "largest", self.largest, f"does not fit into a field of {self.prime}", "Use a larger prime."
            )

    @property
    @abstractmethod
    def needed(self) -> int:
        """How many shares give the secret."""

    @abstractmethod
    def _cut(self, element: int, entropy: Entropy) -> Iterable[int]: ...

    @abstractmethod
    def _join(self, shares: Sequence[Share]) -> int: ...

    def share(self, secret: int, entropy: Entropy = SYSTEM) -> tuple[Share, ...]:
        """Cut a secret into shares.

        Args:
            secret: A whole number of at most `largest` in size.
            entropy: Where the random shares come from.

        Returns:
            One share for every party.

        Raises:
            InvalidParameter: If the secret is not a whole number, or too large. The message does not show it.
        """
        if isinstance(secret, bool) or not isinstance(secret, int) or abs(secret) > self.largest:
            why = f"must be a whole number between −{self.largest} and {self.largest}"
            raise InvalidParameter("secret", "<withheld>", why, "Scale or round it, or raise largest.")
        return self._shares(secret, self.largest, entropy)

    def noise(self, *, epsilon: Number, sensitivity: int, entropy: Entropy = SYSTEM) -> tuple[Share, ...]:
        """Shares of fresh discrete Laplace noise of scale sensitivity/epsilon, to be added to the shares of a sum.

        Privacy: the sum with it is epsilon-private if one person changes it by at most `sensitivity`, towards everybody
        but the party who drew the noise. If several parties each add their own, it stays so towards all but one of
        them together. The field wraps around: that is computed from the private sum, so it costs no privacy.

        Args:
            epsilon: The ε of the sum.
            sensitivity: By how much one person changes the sum at most.
            entropy: Where the noise comes from.

        Returns:
            One share for every party.

        >>> from lapwing.anonymity import AdditiveSharing
        >>> scheme = AdditiveSharing(parties=2)
        >>> abs(scheme.reconstruct(scheme.noise(epsilon=1, sensitivity=1))) < 100
        True
        """
        scale = Fraction(checks.whole(sensitivity=sensitivity)) / checks.positive(epsilon=epsilon)
        return self._shares(discrete_laplace(scale, entropy=entropy), math.ceil(NOISE_SCALES * scale), entropy)

    def reconstruct(self, shares: Iterable[Share]) -> int:
        """The secret, from enough shares.

        Args:
            shares: Shares of different parties. If there are more than enough, they must agree with one another.

        Returns:
            The secret.

        Raises:
            InvalidParameter: If there are too few shares, two of one party, or shares that contradict one another.
        """
        held = sorted(shares, key=lambda share: share.party)
        if any(share.scheme != self for share in held):
            raise InvalidParameter("shares", held, "are of another field or scheme", f"Join them with {self!r}.")
        if len({share.party for share in held}) < len(held):
            raise InvalidParameter("shares", held, "two are of the same party", "Use one share of each party.")
        if len(held) < self.needed:
            why = f"{self.needed} are needed: fewer say nothing about the secret"
            raise InvalidParameter("shares", held, why, "Ask more parties.")
        element = self._join(held)
        return element if element <= self.prime // 2 else element - self.prime

    def _shares(self, number: int, limit: int, entropy: Entropy) -> tuple[Share, ...]:
        cut = self._cut(number % self.prime, entropy)
        return tuple(Share(self, party, value, limit) for party, value in enumerate(cut, start=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class AdditiveSharing(Sharing):
    """Additive sharing: uniform masks, and the secret less the masks. All shares are needed.

    Raises:
        InvalidParameter: If there are fewer than two parties, if prime is no prime or not above the number of parties,
            or if largest is more than half of prime.

    >>> scheme = AdditiveSharing(parties=2)
    >>> mask, masked = scheme.share(78_954)
    >>> scheme.reconstruct([mask, masked])
    78954
    """

    @property
    def needed(self) -> int:
        """How many shares give the secret: all of them."""
        return self.parties

    def _cut(self, element: int, entropy: Entropy) -> Iterable[int]:
        masks = [uniform_below(self.prime, entropy=entropy) for _ in range(self.parties - 1)]
        return *masks, (element - sum(masks)) % self.prime

    def _join(self, shares: Sequence[Share]) -> int:
        return sum(share.value for share in shares) % self.prime


@dataclass(frozen=True, slots=True, kw_only=True)
class ShamirSharing(Sharing):
    """Shamir's secret sharing: shares are points of a random polynomial.

    Source: Shamir 1979, How to share a secret.

    Args:
        threshold: How many shares give the secret, at least 2. Fewer give nothing.

    Raises:
        InvalidParameter: If there are fewer than two parties, if prime is no prime or not above the number of parties,
            or if largest is more than half of prime. Also if threshold is not from 2 to the number of parties.

    >>> scheme = ShamirSharing(parties=5, threshold=3)
    >>> shares = scheme.share(7)
    >>> scheme.reconstruct([shares[0], shares[2], shares[4]])
    7
    """

    threshold: int

    def __post_init__(self) -> None:
        Sharing.__post_init__(self)
        if not isinstance(self.threshold, int) or not 2 <= self.threshold <= self.parties:
            why = f"must be from 2 to {self.parties}, the number of parties: with 1, every share would be the secret"
            raise InvalidParameter("threshold", self.threshold, why, f"Write threshold={self.parties}, for example.")

    @property
    def needed(self) -> int:
        """How many shares give the secret: the threshold."""
        return self.threshold

    def _cut(self, element: int, entropy: Entropy) -> Iterable[int]:
        slopes = [uniform_below(self.prime, entropy=entropy) for _ in range(self.threshold - 1)]
        for point in range(1, self.parties + 1):
            yield self._value((element, *slopes), point)

    def share_at(self, point: int, secret: int, slopes: Sequence[int]) -> Share:
        """The share at one point of a given polynomial, for people who never meet.

        All who derive the same secret and slopes from what they share, and draw points at random from a large field,
        hold shares of one polynomial. The slopes must look uniform to whoever collects shares.

        Args:
            point: Where to take the polynomial, from 1 to the number of parties.
            secret: Its value at 0.
            slopes: Its other coefficients: `threshold − 1` numbers from 0 to p − 1.

        Returns:
            The share of the party with this number.

        Raises:
            InvalidParameter: If the slopes or the secret do not fit. The message does not show them.

        >>> scheme = ShamirSharing(parties=5, threshold=2)
        >>> scheme.reconstruct([scheme.share_at(point, 7, [123]) for point in (1, 4)])
        7
        """
        if len(slopes) != self.threshold - 1 or not all(0 <= slope < self.prime for slope in slopes):
            why = f"must be {self.threshold - 1} numbers from 0 to p − 1"
            raise InvalidParameter("slopes", "<withheld>", why, "Derive one for each share but the last.")
        if not 0 <= secret <= self.largest:
            why = f"must be a whole number from 0 to {self.largest}"
            raise InvalidParameter("secret", "<withheld>", why, "Scale it, or raise largest.")
        return Share(self, point, self._value((secret, *slopes), point), self.largest)

    def _value(self, coefficients: Sequence[int], point: int) -> int:
        value = 0
        for coefficient in reversed(coefficients):
            value = (value * point + coefficient) % self.prime
        return value

    def _join(self, shares: Sequence[Share]) -> int:
        first = shares[: self.threshold]
        for extra in shares[self.threshold :]:
            if self._at(extra.party, first) != extra.value:
                raise InvalidParameter("shares", shares, "contradict one another", "One was damaged: leave it out.")
        return self._at(0, first)

    def _at(self, point: int, shares: Sequence[Share]) -> int:
        """The polynomial through these shares, by Lagrange's formula."""
        value = 0
        for share in shares:
            others = [other.party for other in shares if other is not share]
            above = below = 1
            for other in others:
                above, below = above * (point - other) % self.prime, below * (share.party - other) % self.prime
            value += share.value * above * pow(below, -1, self.prime)
        return value % self.prime


def is_prime(number: int) -> bool:
    """Whether a number is prime, by Miller and Rabin with the first 24 primes as bases.

    Certain below 3.3·10^24 (Sorenson and Webster 2015, with the first 13); beyond it, no composite number that
    somebody did not construct on purpose is taken for a prime.
    """
    bases = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89)
    if number < 2 or any(number % base == 0 for base in bases):
        return number in bases
    twos = ((number - 1) & -(number - 1)).bit_length() - 1
    return all(_witness_passes(base, number, twos) for base in bases)


def _witness_passes(base: int, number: int, twos: int) -> bool:
    power = pow(base, (number - 1) >> twos, number)
    if power in (1, number - 1):
        return True
    for _ in range(twos - 1):
        power = power * power % number
        if power == number - 1:
            return True
    return False
