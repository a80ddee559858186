"""Counts, sums and means of records within public bounds: clamp, round to a grid, add up exactly, add noise."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidParameter
from lapwing.exact import float_up
from lapwing.mechanisms.grid import from_steps, is_array, is_present, quotient
from lapwing.mechanisms.laplace import Laplace
from lapwing.mechanisms.mechanism import Mechanism
from lapwing.mechanisms.records import BoundedGrid, as_column, exact_sum, is_frame
from lapwing.mechanisms.solve import Solvable
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy import PureDP


@dataclass(frozen=True, slots=True, kw_only=True)
class Count(Solvable, Mechanism):
    """How many records there are, or how many are true. A record that is None, NaN, infinite or False does not count.

    Privacy: pure ε, under either relation.
    Proof: totals.md

    Args:
        max_rows_per_unit: How many records one unit owns at most. Enforce it before: the mechanism does not check it.

    Raises:
        InvalidParameter: If epsilon is not positive, or if max_rows_per_unit is not a whole number from 1 on.

    >>> isinstance(Count(epsilon=1).release([True, False, True]), int)
    True
    """

    epsilon: Number
    max_rows_per_unit: int = 1
    _noise: Laplace = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        self._set(_noise=_noise(self, checks.positive(epsilon=self.epsilon), 1))

    def privacy_loss(self) -> PureDP:
        """Pure ε, from the integers that the sampler uses.

        >>> print(Count(epsilon=0.5).privacy_loss())
        ε = 0.5 (add_remove, per person)
        """
        return self._noise.privacy_loss()

    def release(self, data: Any, entropy: Entropy = SYSTEM) -> int:
        """The noisy count.

        Args:
            data: The records: a list, an array or a column. A whole number instead is taken as the exact count.

        Returns:
            A whole number, which may be negative.

        >>> 150 < Count(epsilon=1).release(["yes"] * 200) < 250
        True
        """
        count = number_present(data) if is_array(data) or is_frame(data) else data
        noisy: int = self._noise.release(count, entropy)
        return noisy

    def accuracy(self, confidence: float = 0.95) -> float:
        """How far the count may be off.

        >>> Count(epsilon=0.5).accuracy()
        6.0
        """
        return self._noise.accuracy(confidence)

    @property
    def variance(self) -> float:
        """The variance of the count."""
        return self._noise.variance


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum(Solvable, Mechanism):
    """The sum of the records, each clamped to public `bounds`. A record that is not a finite number adds nothing.

    Privacy: pure ε. Under add_remove a record moves the sum by max(|low|, |high|), under replace by the width of the
    bounds, 0 included because a record may be absent.
    Proof: totals.md

    Args:
        bounds: The smallest and the largest value, as public knowledge: never read them from the data.
        granularity: Records are rounded to multiples of this. None for about 2^30 steps between the bounds; with 1,
            sums of whole numbers stay whole.
        max_rows_per_unit: How many records one unit owns at most. Enforce it before: the mechanism does not check it.

    Raises:
        InvalidParameter: If epsilon or granularity is not positive, if bounds are not a pair (low, high) with low below
            high, or if max_rows_per_unit is not a whole number from 1 on.

    >>> isinstance(Sum(epsilon=1, bounds=(0, 120), granularity=1).release([33, 47, 150, None]), int)
    True
    """

    epsilon: Number
    bounds: tuple[Number, Number]
    granularity: Number | None = None
    max_rows_per_unit: int = 1
    _grid: BoundedGrid = field(init=False, repr=False, compare=False)
    _noise: Laplace = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        grid = BoundedGrid.of(self.bounds, self.granularity)
        high, low = max(grid.top, 0), min(grid.bottom, 0)
        steps = max(high, -low) if self.relation == "add_remove" else high - low
        self._set(_grid=grid, _noise=_noise(self, checks.positive(epsilon=self.epsilon), steps))

    def privacy_loss(self) -> PureDP:
        """Pure ε, from the integers that the sampler uses.

        >>> print(Sum(epsilon=1, bounds=(0, 120)).privacy_loss())
        ε = 1 (add_remove, per person)
        """
        return self._noise.privacy_loss()

    def release(self, data: Any, entropy: Entropy = SYSTEM) -> int | float:
        """The noisy sum.

        Args:
            data: The records: a list, an array or a column.

        Returns:
            An int on a whole grid, else a float.

        >>> 2_000 < Sum(epsilon=1, bounds=(0, 120)).release([40] * 200) < 14_000
        True
        """
        steps = self._grid.steps(data)
        total = exact_sum(steps, max(-self._grid.bottom, self._grid.top))
        return from_steps(self._noise.release(total, entropy), self._grid.granularity)

    def accuracy(self, confidence: float = 0.95) -> float:
        """How far the noise may move the sum.

        Accuracy: of the sum of the clamped, rounded records. Clamping biases it by what it cuts off; rounding by at
        most half a granularity for each record.

        >>> Sum(epsilon=1, bounds=(0, 120), granularity=1).accuracy()
        359.0
        """
        return float_up(Fraction(self._noise.accuracy(confidence)) * self._grid.granularity)

    @property
    def variance(self) -> float:
        """The variance of the sum."""
        return float_up(Fraction(self._noise.variance) * self._grid.granularity**2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean(Solvable, Mechanism):
    """The mean of the records, each clamped to public `bounds`. A record that is not a finite number is left out.

    Half of ε pays for the sum of deviations from the middle of the bounds, half for the count. If the number of records
    is
    public (`n`), all of ε pays for the sum.

    Privacy: pure ε.
    Proof: totals.md

    Args:
        bounds: The smallest and the largest value, as public knowledge: never read them from the data.
        granularity: Records are rounded to multiples of this; None for about 2^30 steps between the bounds.
        max_rows_per_unit: How many records one unit owns at most; 1 if `n` is given. Enforce it before.
        n: The number of records, if it is public, which it can be under replace only. A record that is not a finite
            number then counts as the middle of the bounds.

    Raises:
        InvalidParameter: If epsilon or granularity is not positive, if bounds are not a pair (low, high) with low below
            high, or if max_rows_per_unit is not a whole number from 1 on. Also if n is declared under the relation
            "add_remove", which hides it.

    >>> 0 <= Mean(epsilon=1, bounds=(0, 120)).release([33, 47, 150, None]) <= 120
    True
    """

    epsilon: Number
    bounds: tuple[Number, Number]
    granularity: Number | None = None
    max_rows_per_unit: int = 1
    n: int | None = None
    _grid: BoundedGrid = field(init=False, repr=False, compare=False)
    _middle: int = field(init=False, repr=False, compare=False)
    _sum_noise: Laplace = field(init=False, repr=False, compare=False)
    _count_noise: Laplace | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        epsilon, grid = checks.positive(epsilon=self.epsilon), BoundedGrid.of(self.bounds, self.granularity)
        if self.n is not None:
            self._check_public_n()
        middle = (grid.bottom + grid.top) // 2
        half = grid.top - middle
        share = epsilon / 2 if self.n is None else epsilon
        self._set(
            _grid=grid,
            _middle=middle,
            _sum_noise=_noise(self, share, half if self.relation == "add_remove" else grid.top - grid.bottom),
            _count_noise=_noise(self, share, 1) if self.n is None else None,
        )

    def _check_public_n(self) -> None:
        checks.whole(n=self.n)
        if self.relation != "replace":
            raise InvalidParameter(
                "n",
                self.n,
                "the number of records is what add_remove hides",
                "Leave n out, or write relation='replace'.",
            )
        if self.max_rows_per_unit != 1:
            raise InvalidParameter(
                "n",
                self.n,
                "units with several records change the number of records",
                "Leave n out, or give units one record.",
            )

    def privacy_loss(self) -> PureDP:
        """Pure ε: the sum's share plus the count's share.

        >>> print(Mean(epsilon=1, bounds=(0, 120)).privacy_loss())
        ε = 1 (add_remove, per person)
        """
        loss = self._sum_noise.privacy_loss()
        return loss if self._count_noise is None else loss + self._count_noise.privacy_loss()

    def release(self, data: Any, entropy: Entropy = SYSTEM) -> float:
        """The noisy mean.

        Args:
            data: The records: a list, an array or a column.

        Returns:
            A number within the bounds; their middle if the noisy count is not positive.

        Raises:
            InvalidParameter: If there are not `n` records, although `n` was declared.

        >>> 10 < Mean(epsilon=1, bounds=(0, 120)).release([40] * 200) < 70
        True
        """
        records = as_column(data)
        if self.n is not None and (len(records) if isinstance(records, list) else records.size) != self.n:
            raise InvalidParameter(
                "data", "<records>", f"there must be n = {self.n} records, as declared", "Declare the public n."
            )
        steps = self._grid.steps(records)
        deviations = exact_sum(steps, max(-self._grid.bottom, self._grid.top)) - self._middle * len(steps)
        noisy_sum = self._sum_noise.release(deviations, entropy)
        count = self._divisor(len(steps), entropy)
        mean = self._middle + Fraction(noisy_sum, count) if count > 0 else Fraction(self._middle)
        within = min(max(mean * self._grid.granularity, self._grid.low), self._grid.high)
        return quotient(within.numerator, within.denominator)

    def _divisor(self, count: int, entropy: Entropy) -> int:
        if self._count_noise is None:
            return self.n or 1
        noisy: int = self._count_noise.release(count, entropy)
        return noisy

    def accuracy(self, confidence: float = 0.95, *, count: int = 0) -> float:
        """How far the noise may move the mean.

        Accuracy: of the mean of the clamped, rounded records. With public `n` it needs no count. Otherwise sum and
        count are each within their half-widths s and c at half the risk, and then |error| ≤ (s + half-width of the
        bounds · c)/(count − c). Without a count nothing better than the width of the bounds can be promised. Bounds off
        the grid add what rounding moves them outwards.

        Args:
            count: At least how many records there are, as a public fact.

        Raises:
            InvalidParameter: If confidence is not above 0 and below 1, or if count is not a whole number from 1 on.

        >>> mean = Mean(epsilon=1, bounds=(0, 120))
        >>> mean.accuracy(count=1000) < 1 < mean.accuracy(count=100)
        True
        """
        failure = 1 - checks.probability(confidence=confidence)
        width = self._grid.high - self._grid.low
        if self._count_noise is None:
            error = Fraction(self._sum_noise.accuracy(confidence)) / (self.n or 1)
        else:
            sure = 1 - failure / 2
            off_count = Fraction(self._count_noise.accuracy(sure))  # type: ignore[arg-type]
            off_sum = Fraction(self._sum_noise.accuracy(sure))  # type: ignore[arg-type]
            least = checks.whole(minimum=0, count=count) - off_count
            half = self._grid.top - self._middle
            error = (off_sum + half * off_count) / least if least > 0 else width / self._grid.granularity
        return float_up(min(error * self._grid.granularity, width) + self._grid.overhang)

    @property
    def variance(self) -> float:
        """With public `n` the variance of the mean before clamping; else the most that fits within the bounds."""
        if self._count_noise is None:
            return float_up(Fraction(self._sum_noise.variance) * (self._grid.granularity / (self.n or 1)) ** 2)
        return float_up((self._grid.high - self._grid.low) ** 2 / 4)


def _noise(mechanism: Count | Sum | Mean, epsilon: Fraction, steps_per_row: int) -> Laplace:
    """The noise for an integer that one record moves by `steps_per_row` at most."""
    rows = checks.whole(max_rows_per_unit=mechanism.max_rows_per_unit)
    return Laplace(
        epsilon=epsilon,
        sensitivity=rows * steps_per_row,
        on_grid=True,
        relation=mechanism.relation,
        unit=mechanism.unit,
    )


def number_present(records: Any) -> int:
    """How many records count (see `is_present`)."""
    listed = as_column(records)
    if isinstance(listed, list):
        return sum(map(is_present, listed))
    import numpy as np

    match listed.dtype.kind:
        case "b":
            return int(np.count_nonzero(listed))
        case "f":
            return int(np.count_nonzero(np.isfinite(listed)))
        case "M" | "m":
            return int(np.count_nonzero(~np.isnat(listed)))
        case "O":
            return sum(map(is_present, listed.ravel().tolist()))
    return int(listed.size)
