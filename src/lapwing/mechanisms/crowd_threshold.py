"""Which crowds a shuffler may pass on, and how large they look: reports are dropped at random, small crowds entirely.

From a crowd of n reports the shuffler drops d = max(0, D + Z), Z discrete Gaussian, chosen at random among them; it
forwards the others if at least T are left, and nothing of the crowd otherwise. The analyzer sees the number forwarded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidParameter
from lapwing.exact import exp_down, exp_neg, float_up
from lapwing.mechanisms.grid import SMALL, element_steps
from lapwing.mechanisms.mechanism import Mechanism
from lapwing.mechanisms.records import as_column, column_values
from lapwing.mechanisms.tails import least
from lapwing.noise import SYSTEM, Entropy, discrete_gaussian
from lapwing.privacy import ApproxDP, Relation

SMALLEST_SIGMA = Fraction(1, 4)
"""With less noise than this, one report more is seen: no epsilon below 8 holds."""
LARGEST_SIGMA, LARGEST_DROP = 1000, 10_000
"""Beyond these the table of the law would take seconds to make."""

_BITS = 256
_ONE = 1 << _BITS
_DEEPEST = 100  # the table ends where weights fall below e^-100; the rest is added as a bound
_FINE = 1 << 128
_STEEPEST = 512  # no ratio in the table is e^512; a larger epsilon is read as this one
_STEPS = 1 << 20  # an epsilon that is solved for is a multiple of 2^-20, rounded up


@dataclass(frozen=True, slots=True, kw_only=True)
class CrowdThreshold(Mechanism):
    """How many reports of each crowd a shuffler forwards.

    0 means that nothing of the crowd leaves, not even that it exists. Choose at random which reports go, in a uniformly
    random order. Every unit sends at most one report. A draw below zero drops nothing.

    Privacy: (ε, δ) about which crowd a report is in, with the stated δ; nothing about what the report says.
    Accuracy: the size from which on a crowd is forwarded with the stated confidence.
    Proof: crowd_threshold.md

    Args:
        threshold: Fewest reports that are forwarded. A crowd that has fewer left is dropped entirely.
        mean_drop: About how many reports of a crowd are dropped.
        sigma: Standard deviation of the noise on that number, from 0.25 to 1000.
        delta: The δ at which ε is stated. It must exceed the chance that nothing is dropped.

    Raises:
        InvalidParameter: If threshold is not a whole number from 1 on, if delta is not above 0 and below 1, or if sigma
            or mean_drop is outside the range that can be drawn.

    >>> crowds = CrowdThreshold(threshold=20, mean_drop=10, sigma=2, delta=2e-6)
    >>> print(crowds.privacy_loss())
    ε = 2.13845, δ = 2e-06 (add_remove, per person)
    >>> crowds.accuracy(0.95)
    33.0
    """

    threshold: int
    mean_drop: int
    sigma: Number
    delta: Number
    _drop: Drop = field(init=False, repr=False, compare=False)
    _loss: ApproxDP = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        checks.whole(threshold=self.threshold)
        mean, sigma = checks.whole(minimum=0, mean_drop=self.mean_drop), checks.positive(sigma=self.sigma)
        if not SMALLEST_SIGMA <= sigma <= LARGEST_SIGMA:
            why = f"is not between {float(SMALLEST_SIGMA)} and {LARGEST_SIGMA}"
            raise InvalidParameter("sigma", self.sigma, why, "Write sigma=2, for example.")
        if mean > LARGEST_DROP:
            why = f"is above {LARGEST_DROP:,}"
            raise InvalidParameter("mean_drop", mean, why, "Write mean_drop=10, for example.")
        self._set(_drop=drop_of(mean, sigma**2))
        epsilon = self._epsilon(checks.probability(delta=self.delta))
        self._set(_loss=ApproxDP(epsilon, self.delta, relation=self.relation, unit=self.unit))

    def privacy_loss(self) -> ApproxDP:
        """The smallest ε at the stated δ, rounded up."""
        return self._loss

    def delta_at(self, epsilon: Number) -> float:
        """The exact δ at this ε, over all numbers that may be dropped, rounded up.

        Args:
            epsilon: The ε of (ε, δ), 0 or more.

        Returns:
            The δ.

        Raises:
            InvalidParameter: If epsilon is negative.

        >>> crowds = CrowdThreshold(threshold=20, mean_drop=10, sigma=2, delta=2e-6)
        >>> crowds.delta_at(2.2) < 2e-6
        True
        """
        return float_up(self._drop.delta(checks.not_negative(epsilon=epsilon), self.relation))

    def epsilon_at(self, delta: Number) -> float:
        """The smallest ε at this δ, rounded up.

        Args:
            delta: The δ of (ε, δ).

        Returns:
            The ε.

        Raises:
            InvalidParameter: If delta is not above 0 and below 1.

        >>> crowds = CrowdThreshold(threshold=20, mean_drop=10, sigma=2, delta=2e-6)
        >>> round(crowds.epsilon_at(1e-5), 2)
        2.01
        """
        return float_up(self._epsilon(checks.probability(delta=delta)))

    def release(self, data: Any, entropy: Entropy = SYSTEM) -> list[int]:
        """How many reports of each crowd are forwarded.

        Args:
            data: The size of each crowd: a list, an array or a column.

        Returns:
            A number for each crowd, at least `threshold` or 0.

        Raises:
            InvalidParameter: If data is a table or no list at all.

        >>> crowds = CrowdThreshold(threshold=20, mean_drop=10, sigma=2, delta=2e-6)
        >>> alone, small, large = crowds.release([1, 12, 1000])
        >>> alone, small, 950 < large < 1000
        (0, 0, True)
        """
        column = as_column(data)
        sizes = column if isinstance(column, list) else column_values(column.ravel())
        whole = [element_steps(size, Fraction(1)) for size in sizes]
        draws: list[int]
        if len(whole) <= SMALL:  # no numpy needed
            draws = [discrete_gaussian(self.sigma, entropy=entropy) for _ in whole]
        else:
            draws = discrete_gaussian(self.sigma, size=len(whole), entropy=entropy).tolist()
        left = [size - max(0, self.mean_drop + draw) for size, draw in zip(whole, draws, strict=True)]
        return [number if number >= self.threshold else 0 for number in left]

    def accuracy(self, confidence: float = 0.95) -> float:
        """The size from which on a crowd is forwarded with probability at least `confidence`.

        Returns:
            The size, as a number of reports.

        Raises:
            InvalidParameter: If confidence is not above 0 and below 1.
        """
        wanted = checks.probability(confidence=confidence)
        return float(self.threshold + least(lambda most: self._drop.at_most(most) >= wanted))

    def probability(self, size: int) -> float:
        """The probability that something of a crowd is forwarded.

        Args:
            size: How many reports the crowd has.

        Returns:
            The probability.

        Raises:
            InvalidParameter: If size is not a whole number from 0 on.

        >>> crowds = CrowdThreshold(threshold=20, mean_drop=10, sigma=2, delta=2e-6)
        >>> round(crowds.probability(30), 2), round(crowds.probability(40), 2)
        (0.6, 1.0)
        """
        return float(self._drop.at_most(checks.whole(minimum=0, size=size) - self.threshold))

    def expected(self, size: int) -> float:
        """How many reports of a crowd are forwarded on average.

        Args:
            size: How many reports the crowd has.

        Returns:
            The average, counting 0 if the crowd is dropped.

        Raises:
            InvalidParameter: If size is not a whole number from 0 on.

        >>> round(CrowdThreshold(threshold=20, mean_drop=10, sigma=2, delta=2e-6).expected(100))
        90
        """
        most = checks.whole(minimum=0, size=size) - self.threshold
        law = self._drop
        return float(sum((size - drop) * law.low[drop] for drop in range(min(most + 1, len(law.low)))) / _ONE)

    def _epsilon(self, delta: Fraction) -> Fraction:
        atom = Fraction(self._drop.high[0] + 4 * self._drop.rest, _ONE)
        if delta <= atom:
            why = f"no report is dropped with probability {float_up(atom):.3g}, and no epsilon covers that"
            raise InvalidParameter("delta", float(delta), why, "Write a larger delta or mean_drop, or a smaller sigma.")
        return Fraction(least(lambda k: self._drop.delta(Fraction(k, _STEPS), self.relation) <= delta), _STEPS)


@dataclass(frozen=True, slots=True, eq=False)
class Drop:
    """The law p of the number dropped, enclosed in units of 2^-256 up to the end of the table; `rest` is beyond it."""

    variance: Fraction
    low: tuple[int, ...]
    high: tuple[int, ...]
    rest: int

    def at_most(self, most: int) -> Fraction:
        """P(d ≤ most), rounded down."""
        return Fraction(sum(self.low[: max(0, most + 1)]), _ONE)

    def delta(self, epsilon: Fraction, relation: Relation) -> Fraction:
        """At least δ(ε), and hardly more."""
        least_factor = math.floor(exp_down(min(epsilon, Fraction(_STEEPEST))) * _FINE)  # of e^ε
        if relation == "add_remove":
            return min(Fraction(1), Fraction(self._entering(least_factor), _ONE * _FINE))
        return min(Fraction(1), Fraction(self._moving(epsilon, least_factor), _ONE * _ONE * _FINE))

    def _entering(self, factor: int) -> int:
        """One report enters a crowd, or leaves it: the larger of Σ (p(d) − e^ε·p(d∓1))⁺."""
        high, low = self.high, self.low
        enters = sum(max(0, p * _FINE - factor * q) for p, q in zip(high, (0, *low), strict=False))
        leaves = sum(max(0, p * _FINE - factor * q) for p, q in zip(high, (*low[1:], 0), strict=True))
        return max(enters, leaves) + self.rest * _FINE

    def _moving(self, epsilon: Fraction, factor: int) -> int:
        """One report leaves one crowd for another: Σ (p(i)·p(j) − e^ε·p(i−1)·p(j+1))⁺ over all i, j ≥ 0.

        For i ≥ 2 and j ≥ 1 a term is positive iff j > i − 1 + ε·variance; sums over j from there on are kept ready.
        """
        high, low, size = self.high, (*self.low, 0), len(self.high)
        from_high, from_low = [self.rest], [0]
        for up, down in zip(reversed(high), reversed(self.low), strict=True):
            from_high.append(from_high[-1] + up)
            from_low.append(from_low[-1] + down)
        from_high.reverse()
        from_low.reverse()
        total = high[0] * from_high[0] * _FINE  # i = 0: such an outcome has no counterpart
        for j in range(size):  # i = 1
            total += max(0, high[1] * high[j] * _FINE - factor * low[0] * low[j + 1])
        for i in range(2, size):
            total += max(0, high[i] * high[0] * _FINE - factor * low[i - 1] * low[1])  # j = 0
            first = min(max(1, math.floor(i - 1 + epsilon * self.variance) + 1), size)
            after = from_low[first + 1] if first < size else 0
            total += max(0, high[i] * from_high[first] * _FINE - factor * low[i - 1] * after)
        return total + 2 * self.rest * _ONE * _FINE  # i, or j for i = 1, beyond the table


@lru_cache(maxsize=64)
def drop_of(mean: int, variance: Fraction) -> Drop:
    """The law of max(0, mean + Z) for Z discrete Gaussian (cached)."""
    reach = math.isqrt(math.floor(2 * _DEEPEST * variance)) + 1
    weights = [exp_neg(Fraction(z * z) / (2 * variance))(_BITS) for z in range(max(mean, reach) + 1)]
    shrink = exp_neg(Fraction(2 * reach + 1) / (2 * variance))(_BITS)[1]
    rest = -(-weights[reach][1] * shrink // (_ONE - shrink))  # Σ w(z) over z > reach: ratios fall
    low, high = ([weights[abs(drop - mean)][end] for drop in range(mean + reach + 1)] for end in (0, 1))
    below = [weights[z] for z in range(mean + 1, reach + 1)]
    low[0] += sum(weight for weight, _ in below)
    high[0] += sum(weight for _, weight in below) + rest
    least_total, most_total = sum(low), sum(high) + rest
    return Drop(
        variance=variance,
        low=tuple((weight << _BITS) // most_total for weight in low),
        high=tuple(-((-weight << _BITS) // least_total) for weight in high),
        rest=-((-rest << _BITS) // least_total),
    )
