"""The largest value plus Laplace noise (NOISYMAX): private, and a lesson in why global sensitivity is a poor guide."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from lapwing import checks
from lapwing.checks import Number
from lapwing.exact import float_up
from lapwing.mechanisms.grid import from_steps
from lapwing.mechanisms.laplace import Laplace
from lapwing.mechanisms.mechanism import Mechanism
from lapwing.mechanisms.records import BoundedGrid
from lapwing.mechanisms.solve import Solvable
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy import PureDP


@dataclass(frozen=True, slots=True, kw_only=True)
class Maximum(Solvable, Mechanism):
    """The largest record, clamped to public `bounds`, plus noise as wide as the bounds. For teaching.

    One person alone can move the maximum from one bound to the other, so the noise hides the whole range, however many
    people there are: with heights from 0 to 10 feet and ε = 1 the answer is off by 10 feet on average. Prefer a private
    quantile (`Quantile` at 0.99), whose error shrinks as the data grow. `NoisyMax` is something else: it names a
    winner.

    Records that are not finite numbers are left out; without any record the maximum is the lower bound.

    Privacy: pure ε, under either relation, however many records a unit owns.
    Proof: maximum.md

    Args:
        bounds: The smallest and the largest value, as public knowledge: never read them from the data.
        granularity: Records are rounded to multiples of this; None for about 2^30 steps between the bounds.

    Raises:
        InvalidParameter: If epsilon or granularity is not positive, or if bounds are not a pair (low, high) with low
            below high.

    >>> Maximum(epsilon=1, bounds=(0, 10)).accuracy(0.95) > 10
    True
    """

    epsilon: Number
    bounds: tuple[Number, Number]
    granularity: Number | None = None
    _grid: BoundedGrid = field(init=False, repr=False, compare=False)
    _noise: Laplace = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        epsilon, grid = checks.positive(epsilon=self.epsilon), BoundedGrid.of(self.bounds, self.granularity)
        noise = Laplace(
            epsilon=epsilon, sensitivity=grid.top - grid.bottom, on_grid=True, relation=self.relation, unit=self.unit
        )
        self._set(_grid=grid, _noise=noise)

    def privacy_loss(self) -> PureDP:
        """Pure ε: the width of the bounds over the scale of the noise.

        >>> print(Maximum(epsilon=1, bounds=(0, 10)).privacy_loss())
        ε = 1 (add_remove, per person)
        """
        return self._noise.privacy_loss()

    def release(self, data: Any, entropy: Entropy = SYSTEM) -> int | float:
        """The noisy maximum.

        Args:
            data: The records: a list, an array or a column.

        Returns:
            A number that may lie far outside the bounds, an int on a whole grid and else a float.

        >>> -400 < Maximum(epsilon=1, bounds=(0, 10)).release([5.2, 6.1, 5.8]) < 400
        True
        """
        steps = self._grid.steps(data)
        largest = int(max(steps) if isinstance(steps, list) else steps.max()) if len(steps) else self._grid.bottom  # type: ignore[union-attr]
        return from_steps(self._noise.release(largest, entropy), self._grid.granularity)

    def accuracy(self, confidence: float = 0.95) -> float:
        """How far the noise may move the maximum of the clamped, rounded records."""
        return float_up(Fraction(self._noise.accuracy(confidence)) * self._grid.granularity)

    @property
    def variance(self) -> float:
        """The variance of the answer."""
        return float_up(Fraction(self._noise.variance) * self._grid.granularity**2)
