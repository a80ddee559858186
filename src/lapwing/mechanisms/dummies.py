"""Dummies: made-up reports that hide the sizes of crowds from those who count them.

Numbers of dummies are never negative: s + Z, where Z is discrete Laplace noise of scale t given that |Z| ≤ s. That is
why no such promise is pure: s + Z = 0 tells that nothing was added.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidParameter
from lapwing.exact import exp_up
from lapwing.mechanisms.grid import SMALL, element_steps
from lapwing.mechanisms.mechanism import Mechanism
from lapwing.mechanisms.records import as_column, column_values
from lapwing.mechanisms.tails import drawable, least
from lapwing.noise import SYSTEM, Entropy, discrete_laplace
from lapwing.privacy import ApproxDP
from lapwing.privacy.bounds import exp_neg_down, exp_neg_up

LARGEST_SHIFT = 1 << 20
"""More dummies than this for each crowd help nobody."""
LARGEST_EPSILON = 64


@dataclass(frozen=True, slots=True)
class OneSided:
    """s + Z ≥ 0 with Z discrete Laplace of this scale, given that |Z| ≤ s = `shift`."""

    scale: Fraction
    shift: int

    def end(self) -> Fraction:
        """At least P(s + Z = 0) = a^s·(1 − a)/(1 + a − 2·a^(s+1)), a = e^(−1/scale)."""
        low, high = exp_neg_down(1 / self.scale), exp_neg_up(1 / self.scale)
        last = exp_neg_up(self.shift / self.scale)
        return min(Fraction(1), last * (1 - low) / (1 + low - 2 * high * last))

    def draws(self, size: int, entropy: Entropy) -> list[int]:
        """So many independent numbers, by rejection."""
        kept: list[int] = []
        while len(kept) < size:
            drawn: list[int]
            if (missing := size - len(kept)) <= SMALL:  # no numpy needed
                drawn = [discrete_laplace(self.scale, entropy=entropy) for _ in range(missing)]
            else:
                drawn = discrete_laplace(self.scale, size=missing, entropy=entropy).tolist()
            kept += [self.shift + noise for noise in drawn if abs(noise) <= self.shift]
        return kept


@dataclass(frozen=True, slots=True, kw_only=True)
class DummyReports(Mechanism):
    """Dummy reports for every crowd of a *public* domain, to hide how large the crowds are.

    `draw` says how many dummies each crowd gets, and does not need the sizes. Dummies look like reports, so the
    analyzer subtracts their mean `shift` from each crowd. They count towards a threshold: of T reports left, up to
    `most` may be dummies.

    Privacy: (ε, δ) for all sizes together, against those who cannot tell a dummy from a report.
    Proof: dummies.md

    Args:
        epsilon: The ε of (ε, δ), at most 64. A smaller one takes more dummies.
        delta: The δ of (ε, δ). A smaller one takes more dummies.

    Raises:
        InvalidParameter: If epsilon is not above 0 and at most 64, if delta is not above 0 and below 1, or if both are
            so small that a crowd would need too many dummies.

    >>> dummies = DummyReports(epsilon=1, delta=1e-6)
    >>> dummies.shift, dummies.most
    (14, 28)
    >>> len(dummies.draw(3))
    3
    """

    epsilon: Number
    delta: Number
    _noise: OneSided = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        self._set(_noise=_noise(self.epsilon, self.delta, *self._changes()))

    def _changes(self) -> tuple[int, Fraction]:
        crowds = 1 if self.relation == "add_remove" else 2
        return crowds, Fraction(crowds)

    @property
    def shift(self) -> int:
        """How many dummies a crowd gets on average."""
        return self._noise.shift

    @property
    def most(self) -> int:
        """How many dummies a crowd gets at most."""
        return 2 * self._noise.shift

    def privacy_loss(self) -> ApproxDP:
        """(ε, δ), from the scale and the shift that are used.

        >>> print(DummyReports(epsilon=1, delta=1e-6).privacy_loss())
        ε = 1, δ = 3.84264e-07 (add_remove, per person)
        """
        return _loss(self, self._noise, *self._changes())

    def draw(self, crowds: int, entropy: Entropy = SYSTEM) -> list[int]:
        """How many dummies each crowd gets.

        Args:
            crowds: How many crowds there are.
            entropy: Source of randomness; the secure one by default.

        Returns:
            A number for each crowd, 0 or more.

        Raises:
            InvalidParameter: If crowds is not a whole number from 0 on.
        """
        return self._noise.draws(checks.whole(minimum=0, crowds=crowds), entropy)

    def release(self, data: Any, entropy: Entropy = SYSTEM) -> list[int]:
        """The sizes of all crowds as they are seen, dummies included.

        Args:
            data: The true sizes of all crowds of the domain, in its public order.

        Returns:
            A size for each crowd.

        >>> dummies = DummyReports(epsilon=1, delta=1e-6)
        >>> first, second = dummies.release([3, 100])
        >>> 3 <= first <= 3 + dummies.most, 100 <= second <= 100 + dummies.most
        (True, True)
        """
        sizes = _sizes(data)
        return [size + dummies for size, dummies in zip(sizes, self.draw(len(sizes), entropy), strict=True)]

    def accuracy(self, confidence: float = 0.95) -> float:
        """How far a size may be off once the mean number of dummies is subtracted.

        Raises:
            InvalidParameter: If confidence is not above 0 and below 1.

        >>> DummyReports(epsilon=1, delta=1e-6).accuracy()
        3.0
        """
        return _half_width(self._noise, checks.probability(confidence=confidence))


@dataclass(frozen=True, slots=True, kw_only=True)
class DummyCrowds(Mechanism):
    """Dummy crowds for strings that nobody knows beforehand: they hide how many crowds of each small size there are.

    `draw` says how many dummy crowds of each size are made, each with a random name of its own.

    Pre-condition: the crowd of the protected report has at most `largest` reports, with it.

    Privacy: (ε, δ) for all numbers of crowds, against those who cannot tell a dummy from a report.
    Proof: dummies.md

    Args:
        epsilon: The ε of (ε, δ), at most 64. A smaller one takes more dummies.
        delta: The δ of (ε, δ). A smaller one takes more dummies.
        largest: The largest size that is hidden. Larger crowds are seen exactly.

    Raises:
        InvalidParameter: If largest is not a whole number from 1 on, if epsilon is not above 0 and at most 64, if delta
            is not above 0 and below 1, or if both are so small that a crowd would need too many dummies.

    >>> dummies = DummyCrowds(epsilon=1, delta=1e-6, largest=20)
    >>> len(dummies.draw())
    20
    """

    epsilon: Number
    delta: Number
    largest: int
    _noise: OneSided = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        checks.whole(largest=self.largest)
        self._set(_noise=_noise(self.epsilon, self.delta, *self._changes()))

    def _changes(self) -> tuple[int, Fraction]:
        if self.relation == "add_remove":
            return 2, Fraction(2)
        return 4, 3 + exp_up(checks.positive(epsilon=self.epsilon) / 4)  # two steps of one number: dummies.md

    @property
    def reports(self) -> int:
        """How many dummy reports are sent on average."""
        return self._noise.shift * self.largest * (self.largest + 1) // 2

    def privacy_loss(self) -> ApproxDP:
        """(ε, δ), from the scale and the shift that are used.

        >>> print(DummyCrowds(epsilon=1, delta=1e-6, largest=20).privacy_loss())
        ε = 1, δ = 6.71548e-07 (add_remove, per person)
        """
        return _loss(self, self._noise, *self._changes())

    def draw(self, entropy: Entropy = SYSTEM) -> list[int]:
        """How many dummy crowds of each size are made.

        Args:
            entropy: Source of randomness; the secure one by default.

        Returns:
            A number for each size 1, 2, … `largest`.
        """
        return self._noise.draws(self.largest, entropy)

    def release(self, data: Any, entropy: Entropy = SYSTEM) -> list[int]:
        """What is seen of the sizes of crowds, dummies included.

        Args:
            data: The true size of each crowd.

        Returns:
            How many crowds of size 1 … `largest` there are, then the larger sizes in order.

        >>> seen = DummyCrowds(epsilon=1, delta=1e-6, largest=3).release([1, 1, 2, 50])
        >>> len(seen), seen[-1]  # crowds of size 1, 2 and 3, dummies included; then the large one as it is
        (4, 50)
        """
        sizes = _sizes(data)
        counts = Counter(sizes)
        seen = [counts[size] + dummies for size, dummies in enumerate(self.draw(entropy), start=1)]
        return seen + sorted(size for size in sizes if size > self.largest)

    def accuracy(self, confidence: float = 0.95) -> float:
        """How far a number of crowds may be off once the mean number of dummies is subtracted.

        Raises:
            InvalidParameter: If confidence is not above 0 and below 1.

        >>> DummyCrowds(epsilon=1, delta=1e-6, largest=20).accuracy()
        6.0
        """
        return _half_width(self._noise, checks.probability(confidence=confidence))


def _noise(epsilon: Number, delta: Number, changes: int, ends: Fraction) -> OneSided:
    """The noise with the smallest shift that keeps (ε, δ) when numbers change by `changes` in all."""
    wanted, slack = checks.positive(epsilon=epsilon), checks.probability(delta=delta)
    if wanted > LARGEST_EPSILON:
        why = f"is above {LARGEST_EPSILON}: dummies would hide nothing"
        raise InvalidParameter("epsilon", epsilon, why, "Write epsilon=1, for example.")
    scale = drawable(changes / wanted, epsilon=epsilon)
    if ends * OneSided(scale, LARGEST_SHIFT).end() > slack:
        why = f"asks for more than {LARGEST_SHIFT:,} dummies for each crowd"
        raise InvalidParameter("epsilon", epsilon, why, "Write a larger epsilon or delta.")
    return OneSided(scale, least(lambda shift: ends * OneSided(scale, shift).end() <= slack))


def _loss(mechanism: Mechanism, noise: OneSided, changes: int, ends: Fraction) -> ApproxDP:
    return ApproxDP(changes / noise.scale, ends * noise.end(), relation=mechanism.relation, unit=mechanism.unit)


def _half_width(noise: OneSided, confidence: Fraction) -> float:
    """The least m with P(|Z| ≤ m) = (1 + a − 2·a^(m+1))/(1 + a − 2·a^(s+1)) ≥ confidence; never more than s."""
    a, last = exp_neg_down(1 / noise.scale), exp_neg_down((noise.shift + 1) / noise.scale)
    total = 1 + a - 2 * last
    return float(
        least(lambda m: m >= noise.shift or 1 + a - 2 * exp_neg_up((m + 1) / noise.scale) >= confidence * total)
    )


def _sizes(data: Any) -> list[int]:
    column = as_column(data)
    values = column if isinstance(column, list) else column_values(column.ravel())
    return [element_steps(size, Fraction(1)) for size in values]
