"""The median with noise that fits the data: smooth sensitivity (Nissim, Raskhodnikova and Smith 2007) on a grid."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from lapwing import checks
from lapwing.checks import Number
from lapwing.exact import exp_up, float_up, ln_up
from lapwing.mechanisms.ladder import Ladder
from lapwing.mechanisms.mechanism import Mechanism
from lapwing.mechanisms.median_spans import MedianSpans
from lapwing.mechanisms.solve import Solvable
from lapwing.mechanisms.tails import drawable, laplace_half_width
from lapwing.noise import SYSTEM, Entropy
from lapwing.noise.laplace import DigitSampler
from lapwing.privacy import ApproxDP

_DECAY_BITS = 64
_WEIGHT_BITS = 128
_SMALLEST_SCALE = Fraction(1, 32)


@dataclass(frozen=True, slots=True, kw_only=True)
class SmoothMedian(Solvable, Mechanism):
    """The median plus discrete Laplace noise whose scale follows the values around the median (smooth sensitivity).

    Values are clamped to the public `bounds` and rounded to the grid; what is not a finite number is left out. The
    answer is clamped to the bounds.

    Privacy: (ε, δ), one value per unit, under either relation.
    Accuracy: depends on the data; `accuracy` says what a smooth sensitivity known from elsewhere would give.
    Proof: smooth_median.md

    Args:
        delta: The δ of (ε, δ). A smaller one means more noise.
        bounds: The smallest and the largest value, as public knowledge: never read them from the data.
        granularity: Distance between two possible answers. None for 1 between whole bounds at least 100 apart, else for
            a power of two with one to four thousand steps between the bounds.

    Raises:
        InvalidParameter: If epsilon is not positive, if delta is not above 0 and below 1, if bounds are not a pair
            (low, high) with low below high, or if the grid is too fine for the noise.

    >>> 0 <= SmoothMedian(epsilon=1, delta=1e-6, bounds=(0, 120)).release(range(20, 70)) <= 120
    True
    """

    epsilon: Number
    delta: Number
    bounds: tuple[Number, Number]
    granularity: Number | None = None
    _epsilon: Fraction = field(init=False, repr=False, compare=False)
    _delta: Fraction = field(init=False, repr=False, compare=False)
    _ladder: Ladder = field(init=False, repr=False, compare=False)
    _decay: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        epsilon, delta = checks.positive(epsilon=self.epsilon), checks.probability(delta=self.delta)
        ladder = Ladder(self.bounds, self.granularity)
        decay = max(1 / (1 + epsilon / (2 * ln_up(2 / delta))), exp_up(-min(epsilon, Fraction(128)) / 2))
        whole = -((-decay.numerator << _DECAY_BITS) // decay.denominator)
        self._set(bounds=tuple(self.bounds), _epsilon=epsilon, _delta=delta, _ladder=ladder, _decay=whole)
        drawable(self._scale(Fraction(ladder.width)), granularity=self.granularity)

    def privacy_loss(self) -> ApproxDP:
        """(ε, δ): half of ε for the move of the median, half for the change of the scale, and δ for the far tail.

        >>> print(SmoothMedian(epsilon=1, delta=1e-6, bounds=(0, 120)).privacy_loss())
        ε = 1, δ = 1e-06 (add_remove, per person)
        """
        return ApproxDP(self._epsilon, self._delta, relation=self.relation, unit=self.unit)

    def release(self, data: Any, entropy: Entropy = SYSTEM) -> int | float:
        """The noisy median.

        Args:
            data: The values, one for each unit: a list, an array or a column.

        Returns:
            One point of the grid within the bounds.
        """
        spans = MedianSpans(data, self._ladder)
        smooth = spans.smooth_sensitivity(self._decay, _DECAY_BITS, _WEIGHT_BITS)
        # Not through the cache of samplers: this scale is a secret of the data.
        sampler = DigitSampler(self._scale(Fraction(smooth, 1 << _WEIGHT_BITS)), signed=True)
        return self._ladder.value(spans.median + sampler.draw(entropy))

    def accuracy(self, confidence: float = 0.95, smooth_sensitivity: Number | None = None) -> float:
        """The half-width of the noise for a given smooth sensitivity.

        Args:
            smooth_sensitivity: The smooth sensitivity of the data, at most, as public knowledge; None for the width of
                the bounds.

        Raises:
            InvalidParameter: If confidence is not above 0 and below 1, or if smooth_sensitivity is negative.

        >>> median = SmoothMedian(epsilon=1, delta=1e-6, bounds=(0, 120))
        >>> median.accuracy(smooth_sensitivity=0.5) < median.accuracy()
        True
        """
        failure, grid = 1 - checks.probability(confidence=confidence), self._ladder.granularity
        whole = self._ladder.width * grid
        smooth = whole if smooth_sensitivity is None else checks.not_negative(smooth_sensitivity=smooth_sensitivity)
        return float_up(min(laplace_half_width(self._scale(smooth / grid), failure) * grid, whole))

    def _scale(self, smooth: Fraction) -> Fraction:
        return max(2 * smooth / self._epsilon, _SMALLEST_SCALE)
