"""Propose, test, release (Dwork and Lei 2009): noise for a proposed bound, if the data are far from breaking it."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidParameter
from lapwing.exact import exp_down, exp_up, float_up
from lapwing.mechanisms.grid import from_steps, grid_for, to_steps
from lapwing.mechanisms.ladder import Ladder
from lapwing.mechanisms.mechanism import Mechanism
from lapwing.mechanisms.median_spans import MedianSpans
from lapwing.mechanisms.solve import Solvable
from lapwing.mechanisms.tails import drawable, laplace_half_width, laplace_one_sided, laplace_variance
from lapwing.noise import SYSTEM, Entropy, discrete_laplace
from lapwing.privacy import ApproxDP


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseAfterTest(Solvable, Mechanism):
    """What the tested releases share: half of ε for a noisy test, half for the answer, None when the test fails.

    Args:
        delta: The δ of (ε, δ): the probability that unstable data pass the test.
        bound: How far one unit may move the answer. The test refuses data for which it may be more.
        granularity: Distance between two possible answers. None for 1 if the bound is whole, else about a thousandth of
            it.
    """

    epsilon: Number
    delta: Number
    bound: Number
    granularity: Number | None = None
    _granularity: Fraction = field(init=False, repr=False, compare=False)
    _steps: int = field(init=False, repr=False, compare=False)
    _test_scale: Fraction = field(init=False, repr=False, compare=False)
    _scale: Fraction = field(init=False, repr=False, compare=False)
    _passing: int = field(init=False, repr=False, compare=False)

    def _calibrate(self, granularity: Fraction, steps: int) -> None:
        epsilon, delta = checks.positive(epsilon=self.epsilon), checks.probability(delta=self.delta)
        test_scale, scale = 2 / epsilon, 2 * steps / epsilon
        drawable(max(test_scale, scale), granularity=self.granularity)
        self._set(_granularity=granularity, _steps=steps, _test_scale=test_scale, _scale=scale)
        self._set(_passing=laplace_one_sided(test_scale, delta))

    @abstractmethod
    def _look(self, data: Any) -> tuple[int, int]:
        """The distance of the data from instability, and the answer in grid steps."""

    def privacy_loss(self) -> ApproxDP:
        """(ε, δ): test and answer add up to ε, and δ is the chance that unstable data pass the test.

        >>> print(StableMedian(epsilon=2, delta=1e-6, bound=1, bounds=(0, 120)).privacy_loss())
        ε = 2, δ = 6.07897e-07 (add_remove, per person)
        """
        rate = 1 / self._test_scale
        passes = exp_up(-min(self._passing * rate, Fraction(1000))) / (1 + exp_down(-min(rate, Fraction(1000))))
        delta = min(checks.probability(delta=self.delta), passes)
        return ApproxDP(rate + self._steps / self._scale, delta, relation=self.relation, unit=self.unit)

    def release(self, data: Any, entropy: Entropy = SYSTEM) -> int | float | None:
        """The noisy answer, or None if the data may be too close to some with a larger sensitivity.

        Args:
            data: The data, with one entry for each unit.

        Returns:
            A number, or None if the test fails.
        """
        distance, answer = self._look(data)
        noise = discrete_laplace(self._scale, entropy=entropy)
        if distance + discrete_laplace(self._test_scale, entropy=entropy) < self._passing:
            return None
        return self._value(answer + noise)

    def _value(self, steps: int) -> int | float:
        return from_steps(steps, self._granularity)

    def accuracy(self, confidence: float = 0.95) -> float:
        """The half-width of the noise on the answer, given that there is one (rounding to the grid not counted).

        >>> round(StableMedian(epsilon=2, delta=1e-6, bound=1, bounds=(0, 120)).accuracy(), 1)
        3.0
        """
        failure = 1 - checks.probability(confidence=confidence)
        return float_up(laplace_half_width(self._scale, failure) * self._granularity)

    @property
    def variance(self) -> float:
        """The variance of the noise on the answer, given that there is one."""
        return laplace_variance(self._scale, self._granularity)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposeTestRelease(ReleaseAfterTest):
    """Any function whose local sensitivity is usually at most `bound`: propose, test, release.

    You promise two things for every pair of neighbours x, y: `distance(x)` and `distance(y)` differ by at most 1, and
    if `distance(x)` is 1 or more then `function(x)` and `function(y)` differ by at most `bound`. Both hold for the
    number of changes to the nearest data set whose local sensitivity exceeds the bound.

    Privacy: (ε, δ).
    Proof: propose_test_release.md

    Args:
        function: The answer for a data set. An exception, or a value that is not a finite number, counts as 0.
        distance: How far a data set is from instability, rounded down. An exception, a negative value, or one that is
            not a finite number counts as 0.

    Raises:
        InvalidParameter: If function or distance cannot be called, if epsilon, bound or granularity is not positive, or
            if delta is not above 0 and below 1.

    >>> def lead(votes):
    ...     return abs(2 * sum(votes) - len(votes))
    >>> majority = ProposeTestRelease(
    ...     epsilon=1,
    ...     delta=1e-6,
    ...     bound=0.01,
    ...     function=lambda votes: 1 if 2 * sum(votes) > len(votes) else 0,
    ...     distance=lambda votes: lead(votes) - 1,
    ... )
    >>> round(majority.release([True] * 90 + [False] * 10))
    1
    """

    function: Callable[[Any], Any]
    distance: Callable[[Any], Any]

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        for name in ("function", "distance"):
            if not callable(getattr(self, name)):
                raise InvalidParameter(name, getattr(self, name), "must be callable", f"Write {name}=lambda data: ….")
        bound = checks.positive(bound=self.bound)
        grid = grid_for(self.granularity, bound, None, on_grid=False)
        self._calibrate(grid, math.ceil(bound / grid))

    def _look(self, data: Any) -> tuple[int, int]:
        # The distance downwards: one that is not whole must not pass for more than it is.
        distance = _quietly(lambda records: math.floor(self.distance(records)), data)
        return max(distance, 0), _quietly(lambda records: to_steps(self.function(records), self._granularity), data)


@dataclass(frozen=True, slots=True, kw_only=True)
class StableMedian(ReleaseAfterTest):
    """The median with noise for a proposed `bound` on how much one unit moves it; None when the data look less stable.

    Values are clamped to the public `bounds` and rounded to the grid; what is not a finite number is left out. The
    answer is clamped to the bounds. One value per unit.

    Privacy: (ε, δ), under either relation.
    Proof: propose_test_release.md

    Args:
        granularity: Distance between two possible answers. None for 1 between whole bounds at least 100 apart, else for
            a power of two with one to four thousand steps between the bounds.
        bounds: The smallest and the largest value, as public knowledge: never read them from the data.

    Raises:
        InvalidParameter: If epsilon is not positive, if delta is not above 0 and below 1, or if bound is not between
            one grid step and the distance of the bounds.

    >>> StableMedian(epsilon=2, delta=1e-6, bound=1, bounds=(0, 120)).release([40] * 100) in range(121)
    True
    """

    bounds: tuple[Number, Number]
    _ladder: Ladder = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        ladder = Ladder(self.bounds, self.granularity)
        steps = math.floor(checks.positive(bound=self.bound) / ladder.granularity)
        if not 1 <= steps < ladder.width:
            raise InvalidParameter(
                "bound", self.bound, "is not between one grid step and the range", "Propose less, or a finer grid."
            )
        self._set(bounds=tuple(self.bounds), _ladder=ladder)
        self._calibrate(ladder.granularity, steps)

    def _look(self, data: Any) -> tuple[int, int]:
        spans = MedianSpans(data, self._ladder)
        return spans.changes_until_wider(self._steps), spans.median

    def _value(self, steps: int) -> int | float:
        return self._ladder.value(steps)


def _quietly(read: Callable[[Any], int], data: Any) -> int:
    """A whole number read from the data; 0 for exceptions of every kind but the user's own interruption."""
    try:
        return read(data)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return 0
