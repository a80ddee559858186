"""Sums and means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from lapwing import checks
from lapwing.calls import helpful
from lapwing.checks import Number
from lapwing.curator.aggregates import estimates
from lapwing.curator.aggregates.base import Bound, Estimator, QueryFacts, WithBounds
from lapwing.curator.aggregates.estimates import Confidence, Estimate
from lapwing.curator.plan.expressions import Expression, never_null
from lapwing.curator.plan.grids import GridExpression
from lapwing.curator.plan.nodes import Total
from lapwing.curator.plan.statistics import Statistic
from lapwing.errors import UnsupportedQuery

TOO_FEW = "; if an interval is as wide as the bounds allow, there are too few rows to know this {}"
"""What is noted of intervals that say nothing."""


def moments(value: Expression, grid: GridExpression, powers: Sequence[int]) -> tuple[Statistic, ...]:
    """n and Σ(x − m)^p of a gridded value. Where every row has one, a count may share n."""
    present = Statistic("rows") if never_null(value) else Statistic("moment", (grid,), (0,))
    return (present, *(Statistic("moment", (grid,), (power,)) for power in powers))


@dataclass(frozen=True, kw_only=True, repr=False)
class Sum(WithBounds, Estimator):
    """The sum of a column that is clamped to its public bounds."""

    kind = "sum"
    called = "sum_{}"
    says = "the sum of the values"
    adds_up = fills = True
    total = "sum"
    spelled = "SUM"
    nodes = ("Sum",)

    def bind(self, shared: QueryFacts) -> Bound:
        """A statistic of its own, or those of a mean of the same column."""
        [key], grids = self.keys(shared.columns), shared.grids(self, coarse=False)
        if key in shared.averaged:
            return Bound(self, moments(key[0], grids[0], (1,)), grids)
        return Bound(self, (Statistic("sum", grids),), grids)

    def estimate(
        self, bound: Bound, numbers: Sequence[int], widths: Sequence[float], confidence: Confidence
    ) -> Estimate:
        [grid] = bound.grids
        if len(numbers) == 1:
            return estimates.summed(numbers[0], widths[0], grid)
        return estimates.summed_from_mean(numbers[0], numbers[1], widths, grid)

    def error(self, bound: Bound, widths: Sequence[float], count: int | None) -> float:
        [grid] = bound.grids
        steps = widths[0] if len(widths) == 1 else widths[1] + abs(grid.middle) * widths[0]
        return steps * float(grid.granularity)


@dataclass(frozen=True, kw_only=True, repr=False)
class Mean(WithBounds, Estimator):
    """The mean of a column that is clamped to its public bounds."""

    kind = "mean"
    called = "mean_{}"
    says = "the mean of the values"
    fills = averages = True
    total: ClassVar[Total | None] = "avg"
    spelled = "AVG"
    nodes: ClassVar[tuple[str, ...]] = ("Avg",)
    functions: ClassVar[tuple[str, ...]] = ("mean",)

    def bind(self, shared: QueryFacts) -> Bound:
        [(value, _)], grids = self.keys(shared.columns), shared.grids(self)
        return Bound(self, moments(value, grids[0], (1,)), grids)

    def estimate(
        self, bound: Bound, numbers: Sequence[int], widths: Sequence[float], confidence: Confidence
    ) -> Estimate:
        return estimates.averaged(numbers[0], numbers[1], widths, bound.grids[0], confidence)

    def remarks(self, bound: Bound, estimated: Sequence[Estimate]) -> str:
        """Also that some intervals say nothing, if they are those of the bounds."""
        [grid] = bound.grids
        return bound.note + (TOO_FEW.format("mean") if (grid.low, grid.high) in [e.noise for e in estimated] else "")

    def error(self, bound: Bound, widths: Sequence[float], count: int | None) -> float:
        """|S/C − s/c| = |a − (s/c)·b|/C for noise a, b: at most (w_S + reach·w_C)/(c − w_C)."""
        if count is None:
            why = "its error depends on the number of rows"
            hint = "If it is public that every group has at least N rows, write count=N."
            raise UnsupportedQuery(str(self), why, hint)
        fewest = checks.whole(count=count) - widths[0]
        [grid] = bound.grids
        most = grid.high - grid.low
        steps = (widths[1] + grid.reach * widths[0]) / fewest + grid.moved if fewest > 0 else 0
        return min(most, steps * float(grid.granularity)) if fewest > 0 else most

    def ends(self, bound: Bound) -> tuple[float, float] | None:
        """The bounds of its values."""
        [grid] = bound.grids
        return grid.low, grid.high


@helpful
def sum(column: str, *, bounds: Any = None, name: str | None = None, weight: Number = 1) -> Sum:
    """The sum of a column that is clamped to its public bounds.

    Args:
        column: The name of a column.
        bounds: Public bounds `(low, high)`. Left out, those that the table was opened with.
        name: What the column of the answer is called.
        weight: Its share of the loss beside other aggregates of the same question.

    Returns:
        An aggregate for `agg(…)`. Nothing is asked yet.

    >>> 1_000 < patients.agg(lw.sum("visits")).release(epsilon=1).value < 30_000
    True
    """
    return Sum(of=(column,), bounds=bounds, name=name, weight=weight)


@helpful
def mean(column: str, *, bounds: Any = None, name: str | None = None, weight: Number = 1) -> Mean:
    """The mean of a column that is clamped to its public bounds.

    Args:
        column: The name of a column.
        bounds: Public bounds `(low, high)`. Left out, those that the table was opened with.
        name: What the column of the answer is called.
        weight: Its share of the loss beside other aggregates of the same question.

    Returns:
        An aggregate for `agg(…)`. Nothing is asked yet.

    >>> 40 < patients.agg(lw.mean("age")).release(epsilon=1).value < 60
    True
    """
    return Mean(of=(column,), bounds=bounds, name=name, weight=weight)
