"""Discrete Laplace noise whose coins two servers toss together, so that neither of them knows it.

    digits   a geometric number's binary digits are independent coins
    coin     a uniform number of some bits, the XOR of one of each server, is below a public threshold
    sign     −1 − G is the bitwise NOT of G: one coin more, XORed to all digits, makes both sides

The coins have thresholds of finitely many bits, so the noise is not quite a discrete Laplace variable: its loss is
computed from the very thresholds, over the whole support.
Proof: joint_noise.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidParameter
from lapwing.exact import exp_neg, float_up, ln_up
from lapwing.noise import SYSTEM, Entropy, uniform_below
from lapwing.privacy import ApproxDP, Relation

SMALLEST_SCALE, LARGEST_SCALE = Fraction(1, 32), 1 << 40
"""In steps: below, the noise would be 0 but for e^-32; above, no counter of 64 bits is sure to hold the sum."""
_TAIL_BITS = 100
"""The largest digit is chosen such that an exact variable is beyond all digits with less than 2^-100."""
_GUARD = 64


@dataclass(frozen=True, slots=True)
class Coin:
    """One with probability threshold / 2^bits: a uniform number of so many bits is below the threshold."""

    threshold: int
    bits: int

    @property
    def probability(self) -> Fraction:
        """Of a one."""
        return Fraction(self.threshold, 1 << self.bits)

    @property
    def odds(self) -> Fraction:
        """Of a one against a zero."""
        return Fraction(self.threshold, (1 << self.bits) - self.threshold)

    @classmethod
    def for_odds(cls, exponent: Fraction, precision: int) -> Coin:
        """A coin with odds e^−exponent, as near as `precision` significant bits of its threshold allow."""
        small = int(exponent / Fraction(69, 100)) + 1  # e^−exponent is above 2^−small
        bits = precision + small + 1
        low, high = exp_neg(exponent)(bits + _GUARD)
        odds = low + high
        threshold = ((odds << bits) * 2 // ((2 << bits + _GUARD) + odds) + 1) // 2
        zeros = (threshold & -threshold).bit_length() - 1
        return cls(threshold >> zeros, bits - zeros)


@dataclass(frozen=True)
class JointLaplace:
    """Noise of this scale, in steps, made of coins.

    `precision` says how near the loss is to that of an exact variable: with 64 bits it is larger by less than one part
    in 10^18.

    >>> noise = JointLaplace(scale=10)
    >>> len(noise.digits), noise.uniform_bits
    (10, 913)
    >>> loss = noise.privacy_loss(steps=1)
    >>> float(loss.epsilon - Fraction(1, 10)) < 1e-17, float(loss.delta) < 1e-30
    (True, True)
    """

    scale: Number
    precision: int = 64
    _scale: Fraction = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        scale = checks.positive(scale=self.scale)
        if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
            why = f"is not between {SMALLEST_SCALE} and 2^40 steps"
            raise InvalidParameter("scale", self.scale, why, "Choose an epsilon that gives another scale.")
        if not 16 <= checks.whole(precision=self.precision) <= 256:
            raise InvalidParameter("precision", self.precision, "is not between 16 and 256 bits", "Write precision=64.")
        object.__setattr__(self, "_scale", scale)

    @cached_property
    def sign(self) -> Coin:
        """One where the noise is below zero."""
        return Coin.for_odds(1 / self._scale, self._significant)

    @property
    def _significant(self) -> int:
        """Bits of a threshold that count: an epsilon of 1/scale is the difference of numbers near to one."""
        return self.precision + int(self._scale).bit_length()

    @cached_property
    def digits(self) -> tuple[Coin, ...]:
        """The binary digits of the magnitude, the lowest first."""
        reach = self._scale * _TAIL_BITS * Fraction(7, 10)  # above ln 2
        count = max(1, (int(reach) + 1).bit_length())
        return tuple(Coin.for_odds((1 << place) / self._scale, self._significant) for place in range(count))

    @property
    def uniform_bits(self) -> int:
        """How many uniform bits one draw takes."""
        return self.sign.bits + sum(digit.bits for digit in self.digits)

    @property
    def largest(self) -> int:
        """The largest value; the smallest is −1 − largest."""
        return (1 << len(self.digits)) - 1

    @cached_property
    def step_loss(self) -> Fraction:
        """How much more likely one value can be than the next, as a logarithm, rounded upwards.

        From g to g + 1 the trailing ones of g become zeros and the zero above them a one: there are only as many
        different ratios as digits, and one more between −1 and 0.
        """
        ratios, carried = [1 / self.sign.odds], Fraction(1)
        for digit in self.digits:
            ratios.append(carried / digit.odds)
            carried *= digit.odds
        return ln_up(max(max(ratio, 1 / ratio) for ratio in ratios))

    def edge(self, steps: int) -> Fraction:
        """At least the probability of the outermost `steps` values on either side."""
        free = max(0, checks.whole(steps=steps) - 1).bit_length()
        if free > len(self.digits):
            return Fraction(1)
        side = max(self.sign.probability, 1 - self.sign.probability)
        return side * math.prod((digit.probability for digit in self.digits[free:]), start=Fraction(1))

    def privacy_loss(
        self, steps: int, *, cells: int = 1, relation: Relation = "replace", unit: str = "person"
    ) -> ApproxDP:
        """What answers cost that differ by at most `steps` in all, over at most `cells` numbers with a draw each."""
        changed = min(checks.whole(cells=cells), checks.whole(steps=steps))
        delta = min(changed * self.edge(steps), Fraction(1))
        return ApproxDP(steps * self.step_loss, delta, relation=relation, unit=unit)

    def probability(self, value: int) -> Fraction:
        """Of exactly this value."""
        below, magnitude = value < 0, -1 - value if value < 0 else value
        if magnitude > self.largest:
            return Fraction(0)
        side = self.sign.probability if below else 1 - self.sign.probability
        bits = (magnitude >> place & 1 for place in range(len(self.digits)))
        return side * math.prod(
            digit.probability if bit else 1 - digit.probability for digit, bit in zip(self.digits, bits, strict=True)
        )

    def beyond(self, magnitude: int) -> Fraction:
        """The probability that the noise is further from zero than this."""
        at_least = self._reaches(magnitude + 1)
        return (1 - self.sign.probability) * at_least + self.sign.probability * self._reaches(magnitude)

    def _reaches(self, number: int) -> Fraction:
        """The probability that the digits are this number or a larger one."""
        if number > self.largest:
            return Fraction(0)
        above, equal = Fraction(0), Fraction(1)
        for place in reversed(range(len(self.digits))):
            chance = self.digits[place].probability
            if number >> place & 1:
                equal *= chance
            else:
                above += equal * chance
                equal *= 1 - chance
        return above + equal

    def simulated(self, entropy: Entropy = SYSTEM) -> int:
        """One draw by a single party who knows it: for pictures and tests, never for an answer."""
        sign, *digits = (
            uniform_below(1 << coin.bits, entropy=entropy) < coin.threshold for coin in (self.sign, *self.digits)
        )
        magnitude = sum(digit << place for place, digit in enumerate(digits))
        return -1 - magnitude if sign else magnitude

    def half_width(self, confidence: Number = Fraction(95, 100)) -> int:
        """The noise is at most so far from zero, with this confidence."""
        failure, low, high = 1 - checks.probability(confidence=confidence), 0, self.largest
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.beyond(middle) <= failure else (middle + 1, high)
        return low

    @cached_property
    def standard_deviation(self) -> float:
        """Of the noise: digits are independent, and NOT mirrors them around −1/2."""
        mean = sum((digit.probability * (1 << place) for place, digit in enumerate(self.digits)), Fraction(0))
        spread = sum(
            (digit.probability * (1 - digit.probability) * (1 << 2 * place) for place, digit in enumerate(self.digits)),
            Fraction(0),
        )
        centre = mean + Fraction(1, 2)
        shift = (1 - 2 * self.sign.probability) * centre
        return math.sqrt(float_up(spread + centre**2 - shift**2))
