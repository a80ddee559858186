"""Which keys may be shown when the keys themselves are secret: the best private test on each key's number of units.

The probabilities π(n) are the largest that any (ε, δ)-private test can have (Desfontaines, Voss, Gipson, Mandayam
2022): π(0) = 0 and π(n+1) = min(e^ε·π(n) + δ, 1 − e^−ε·(1 − π(n) − δ), 1). They are powers of e^ε, so the coins compare
a lazily drawn uniform with rigorous enclosures.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.checks import Number
from lapwing.exact import Enclosure, Real, exp_down, exp_neg, rational
from lapwing.mechanisms.grid import element_steps, steps_of_array
from lapwing.mechanisms.mechanism import Mechanism
from lapwing.mechanisms.records import as_column
from lapwing.mechanisms.solve import Solvable
from lapwing.mechanisms.tails import least
from lapwing.noise import SYSTEM, Entropy
from lapwing.noise.inversion import WORD_BITS, LazyUniform
from lapwing.privacy import ZCDP, ApproxDP

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ZERO, ONE = Fraction(0), Fraction(1)
_GUARD = 32
_STEEPEST = Fraction(1000)  # an epsilon whose e^-ε is negligible in a stated loss

Between = tuple[Fraction, Fraction]
"""A real number between two rationals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySelection(Solvable, Mechanism):
    """Which keys may be shown, from the number of distinct units of each key.

    Publish the keys that are shown, in an order that does not depend on the data, and nothing about the others: not
    even how many there are. Nothing is shown for 0 units.

    Privacy: (ε, δ), shared by the tests that one unit can change; under replace these are twice as many.
    Accuracy: the number of units from which on a key is shown with the stated confidence.
    Proof: key_selection.md

    Args:
        delta: The δ of (ε, δ). A key of a single unit is shown with at most this probability.
        max_groups_per_unit: For how many keys one unit counts at most, once for each. Enforce it before: the mechanism
            does not check it.

    Raises:
        InvalidParameter: If epsilon is not positive, if delta is not above 0 and below 1, or if max_groups_per_unit is
            not a whole number from 1 on.

    >>> keys = KeySelection(epsilon=1, delta=1e-6)
    >>> keys.release([0, 100, 1000])
    [False, True, True]
    >>> keys.accuracy(0.95)
    16.0
    """

    epsilon: Number
    delta: Number
    max_groups_per_unit: int = 1
    _tests: int = field(init=False, repr=False, compare=False)
    _curve: Curve = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        epsilon, delta = checks.positive(epsilon=self.epsilon), checks.probability(delta=self.delta)
        groups = checks.whole(max_groups_per_unit=self.max_groups_per_unit)
        tests = groups if self.relation == "add_remove" else 2 * groups
        self._set(_tests=tests, _curve=Curve.of(epsilon / tests, delta / tests))

    def privacy_loss(self) -> ApproxDP:
        """(ε, δ): the sum over the tests that one unit can change.

        >>> print(KeySelection(epsilon=1, delta=1e-6, max_groups_per_unit=3).privacy_loss())
        ε = 1, δ = 1e-06 (add_remove, per person)
        """
        epsilon, delta = self._tests * self._curve.epsilon, self._tests * self._curve.delta
        return ApproxDP(epsilon, delta, relation=self.relation, unit=self.unit)

    def zcdp_loss(self) -> ZCDP:
        """Approximately zero-concentrated: ε′·tanh(ε′/2) for each test, which is less than ε′²/2, outside δ in all.

        Returns:
            The loss as ρ with a δ, for accounts that add up zero-concentrated losses.

        >>> print(KeySelection(epsilon=1, delta=1e-6).zcdp_loss())
        ρ = 0.462118, δ = 1e-06 (add_remove, per person)
        """
        epsilon, delta = self._curve.epsilon, self._tests * self._curve.delta
        power = exp_down(-min(epsilon, _STEEPEST))
        rho = self._tests * min(epsilon**2 / 2, epsilon * (1 - power) / (1 + power))
        return ZCDP(rho, delta, relation=self.relation, unit=self.unit)

    def release(self, data: Any, entropy: Entropy = SYSTEM) -> list[bool]:
        """Which keys may be shown.

        Args:
            data: The number of units of each key, rounded to a whole number. One that is not a finite number counts as
                0.

        Returns:
            True or False for each key.

        Raises:
            InvalidParameter: If data is a table or no list at all.
        """
        counts = as_column(data)
        if isinstance(counts, list):
            return self._some([element_steps(count, ONE) for count in counts], entropy)
        return self._many(steps_of_array(counts, ONE).ravel(), entropy)

    def accuracy(self, confidence: float = 0.95) -> float:
        """The number of units from which on a key is shown with probability at least `confidence`.

        Returns:
            The number of units.

        Raises:
            InvalidParameter: If confidence is not above 0 and below 1.
        """
        return float(self._curve.reaches(checks.probability(confidence=confidence)))

    def probability(self, units: int) -> float:
        """The probability that a key is shown.

        Args:
            units: How many units the key has.

        Returns:
            The probability.

        Raises:
            InvalidParameter: If units is not a whole number from 0 on.

        >>> keys = KeySelection(epsilon=1, delta=1e-6)
        >>> keys.probability(1) <= 1e-6, round(keys.probability(15), 2)
        (True, 0.89)
        """
        bits = 2 * WORD_BITS + math.ceil(1 / self._curve.delta).bit_length()
        return float(Fraction(self._curve.chance(checks.whole(minimum=0, units=units))(bits)[1], 1 << bits))

    def _some(self, counts: list[int], entropy: Entropy) -> list[bool]:
        chances = {units: self._curve.chance(units) for units in set(counts) if 0 < units < self._curve.sure}
        return [
            LazyUniform(entropy).below(chances[units]) if units in chances else units >= self._curve.sure
            for units in counts
        ]

    def _many(self, counts: NDArray[np.int64], entropy: Entropy) -> list[bool]:
        """The same by numpy: one enclosure for each different number, one word for each key that it leaves open."""
        import numpy as np

        shown = np.array(counts >= self._curve.sure)
        tested = np.flatnonzero((counts > 0) & ~shown)
        units, places = np.unique(counts[tested], return_inverse=True)
        chances = [self._curve.chance(int(number)) for number in units]
        ends = [chance(WORD_BITS) for chance in chances]
        largest = (1 << WORD_BITS) - 1  # what fits a word
        surely = np.array([min(low, largest) for low, _ in ends], dtype=np.uint64)[places]
        possibly = np.array([high - 1 for _, high in ends], dtype=np.uint64)[places]
        words = entropy.words(len(tested), np.uint64)
        shown[tested] = words < surely
        for index in np.flatnonzero((words >= surely) & (words <= possibly)):
            shown[tested[index]] = LazyUniform(entropy, int(words[index])).below(chances[places[index]])
        answers: list[bool] = shown.tolist()
        return answers


@dataclass(frozen=True, slots=True)
class Curve:
    """The chances of one test. With t = e^-ε and S(k) = 1 + t + … + t^(k−1):

    π(n) = δ·S(n)/t^(n−1) up to the `turn`, and k units after it π = 1 − t·max(0, t^(k−1)·(1 − π(turn)) − δ·S(k)).
    """

    epsilon: Fraction
    delta: Fraction
    turn: int
    """The first n with π(n) > (1 − δ)/(e^ε + 1)."""
    sure: int
    """From this number of units on a key is always shown."""

    @classmethod
    def of(cls, epsilon: Fraction, delta: Fraction) -> Curve:
        """Find the turn and the end of the curve."""
        start = cls(epsilon, delta, 0, 0)
        turned = cls(epsilon, delta, least(start._has_turned), 0)
        return cls(epsilon, delta, turned.turn, turned.reaches(ONE))

    def chance(self, units: int) -> Real:
        """π(units)."""
        if units <= 1:
            return rational(self.delta if units == 1 else ZERO)
        between = self._rising if units <= self.turn else self._falling
        return lambda bits: _enclosed(between, units, bits, bits + self._extra())

    def reaches(self, share: Fraction) -> int:
        """The least number of units (up to rounding, never too small) with π ≥ share."""
        return least(lambda units: self.chance(units)(WORD_BITS)[0] >= share * (1 << WORD_BITS))

    def _has_turned(self, units: int) -> bool:
        """δ·(1 − t^n)·(1 + t) > (1 − δ)·(1 − t)·t^n: more bits until it is certain; the two are never equal."""
        bits = WORD_BITS
        while True:
            (low, high), (last_low, last_high) = self._power(1, bits), self._power(units, bits)
            if self.delta * (1 - last_high) * (1 + low) > (1 - self.delta) * (1 - low) * last_high:
                return True
            if self.delta * (1 - last_low) * (1 + high) < (1 - self.delta) * (1 - high) * last_low:
                return False
            bits *= 2

    def _rising(self, units: int, bits: int) -> Between:
        (low, high), (last_low, last_high) = self._sum(units, bits), self._power(units - 1, bits)
        return self.delta * low / last_high, self.delta * high / last_low

    def _falling(self, units: int, bits: int) -> Between:
        later = units - self.turn
        (low, high), (last_low, last_high) = self._power(1, bits), self._power(later - 1, bits)
        (sum_low, sum_high), (shown_low, shown_high) = self._sum(later, bits), self._rising(self.turn, bits)
        most = high * max(last_high * (1 - shown_low) - self.delta * sum_low, ZERO)
        fewest = low * max(last_low * max(1 - shown_high, ZERO) - self.delta * sum_high, ZERO)
        return 1 - most, 1 - fewest

    def _power(self, exponent: int, bits: int) -> Between:
        """t^exponent."""
        low, high = exp_neg(self.epsilon * exponent)(bits)
        return Fraction(low, 1 << bits), Fraction(high, 1 << bits)

    def _sum(self, terms: int, bits: int) -> Between:
        """S(terms) = (1 − t^terms)/(1 − t)."""
        (low, high), (last_low, last_high) = self._power(1, bits), self._power(terms, bits)
        return (1 - last_high) / (1 - low), (1 - last_low) / (1 - high)

    def _extra(self) -> int:
        """Bits lost on the way: 1 − t may be as small as ε/2, and t^(turn − 1) as small as δ (key_selection.md)."""
        return _GUARD + 2 * (math.ceil(1 / self.epsilon).bit_length() + math.ceil(1 / self.delta).bit_length())


def _enclosed(between: Callable[[int, int], Between], units: int, bits: int, fine: int) -> Enclosure:
    """A chance computed with `fine` bits, as an enclosure with fewer."""
    low, high = between(units, fine)
    one = 1 << bits
    return max(math.floor(low * one), 0), min(math.ceil(high * one), one)
