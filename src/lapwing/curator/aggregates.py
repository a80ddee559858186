"""What can be asked of a group: `lw.count()`, `lw.mean("age")`, `lw.quantile("cost", 0.5)`, …

An aggregate is a frozen value that names columns; bound to the rows of a plan it says which integers the engine must
return (`Statistic`) and what to make of them once they are noisy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from lapwing import checks
from lapwing.calls import Helpful, helpful
from lapwing.checks import Number
from lapwing.curator import estimates
from lapwing.curator.estimates import Confidence, Estimate
from lapwing.curator.expressions import NUMERIC, Call, Column, Constant, Expression, call, never_null, span_of
from lapwing.curator.gridded import MOMENT_BITS, SUM_BITS, Gridded, gridded
from lapwing.curator.parse import expression
from lapwing.curator.statistics import Statistic
from lapwing.errors import InvalidParameter, UnsupportedQuery

Finish = Callable[[Sequence[int], Sequence[float], Confidence], Estimate]
"""From the noisy statistics, their half-widths and the confidence."""

_BY_DEFAULT = {
    "count": "count",
    "units": "units",
    "sum": "sum_{}",
    "mean": "mean_{}",
    "variance": "variance_{}",
    "std": "std_{}",
    "covariance": "covariance_{}_{}",
    "correlation": "correlation_{}_{}",
    "count distinct": "distinct_{}",
    "quantile": "quantile_{}",
    "histogram": "count",
    "top": "rank",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate(metaclass=Helpful):
    """A question about the rows of each group. `weight` is its share of the loss beside the others in a query."""

    kind: str
    of: tuple[str | Expression, ...] = ()
    bounds: tuple[Number, Number] | None = None
    q: Fraction | None = None
    edges: tuple[Number, ...] = ()
    most: int = 0
    name: str | None = None
    weight: Number = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", checks.positive(weight=self.weight))
        if self.bounds is not None:
            object.__setattr__(self, "bounds", checks.interval(bounds=self.bounds))
        for text in self.of:
            if not isinstance(text, str | Column) and not hasattr(text, "kind"):
                raise InvalidParameter("column", text, "must be the name of a column", "Write lw.mean('age').")

    @property
    def output(self) -> str:
        """What it is called in the answer."""
        if self.name is not None:
            return self.name
        shown = _BY_DEFAULT[self.kind].format(*self.of)
        if self.kind == "count" and self.of:
            shown = f"count_{self.of[0]}"
        return f"{shown}_{float(self.q):g}" if self.q is not None else shown

    def named(self, name: str) -> Aggregate:
        """The same under another name."""
        return replace(self, name=name)

    def __str__(self) -> str:
        inner = ", ".join(map(str, self.of)) + (f", {float(self.q):g}" if self.q is not None else "")
        return f"{self.kind}({inner or '*'})"


@helpful
def count(column: str | None = None, *, name: str | None = None, weight: Number = 1) -> Aggregate:
    """The rows, or those in which a column is not NULL."""
    return Aggregate(kind="count", of=() if column is None else (column,), name=name, weight=weight)


@helpful
def units(*, name: str | None = None, weight: Number = 1) -> Aggregate:
    """The units (people, say) with at least one row."""
    return Aggregate(kind="units", name=name, weight=weight)


@helpful
def count_distinct(column: str, *, name: str | None = None, weight: Number = 1) -> Aggregate:
    """The different values of a column, among the rows that count."""
    return Aggregate(kind="count distinct", of=(column,), name=name, weight=weight)


@helpful
def sum(column: str, *, bounds: Any = None, name: str | None = None, weight: Number = 1) -> Aggregate:
    """The sum of a column that is clamped to its public bounds."""
    return Aggregate(kind="sum", of=(column,), bounds=bounds, name=name, weight=weight)


@helpful
def mean(column: str, *, bounds: Any = None, name: str | None = None, weight: Number = 1) -> Aggregate:
    """The mean of a column that is clamped to its public bounds."""
    return Aggregate(kind="mean", of=(column,), bounds=bounds, name=name, weight=weight)


@helpful
def variance(column: str, *, bounds: Any = None, name: str | None = None, weight: Number = 1) -> Aggregate:
    """The variance of the clamped values (divided by n, not by n − 1)."""
    return Aggregate(kind="variance", of=(column,), bounds=bounds, name=name, weight=weight)


@helpful
def std(column: str, *, bounds: Any = None, name: str | None = None, weight: Number = 1) -> Aggregate:
    """The standard deviation of the clamped values."""
    return Aggregate(kind="std", of=(column,), bounds=bounds, name=name, weight=weight)


@helpful
def covariance(x: str, y: str, *, name: str | None = None, weight: Number = 1) -> Aggregate:
    """The covariance of two clamped columns, over rows in which neither is NULL."""
    return Aggregate(kind="covariance", of=(x, y), name=name, weight=weight)


@helpful
def correlation(x: str, y: str, *, name: str | None = None, weight: Number = 1) -> Aggregate:
    """Pearson's correlation of two clamped columns, over rows in which neither is NULL."""
    return Aggregate(kind="correlation", of=(x, y), name=name, weight=weight)


@helpful
def quantile(column: str, q: Number, *, bounds: Any = None, name: str | None = None, weight: Number = 1) -> Aggregate:
    """A value with about the share `q` of the values below it."""
    share = checks.share(q=q).limit_denominator(10_000)
    return Aggregate(kind="quantile", of=(column,), q=share, bounds=bounds, name=name, weight=weight)


@helpful
def median(column: str, *, bounds: Any = None, name: str | None = None, weight: Number = 1) -> Aggregate:
    """A value in the middle of the values."""
    called = f"median_{column}" if name is None else name
    return Aggregate(kind="quantile", of=(column,), q=Fraction(1, 2), bounds=bounds, name=called, weight=weight)


@helpful
def histogram(column: str, *, edges: Sequence[Number], name: str | None = None) -> Aggregate:
    """The rows between each edge and the next (the last bin has both its ends); asked alone, one row for each bin."""
    ends = tuple(edges)
    if len(ends) < 2 or any(not checks.exact(edges=a) < checks.exact(edges=b) for a, b in pairwise(ends)):
        raise InvalidParameter("edges", edges, "must be at least two numbers that rise", "Write edges=[0, 10, 20].")
    return Aggregate(kind="histogram", of=(column,), edges=ends, name=name)


@helpful
def top_k(column: str, k: int, *, name: str | None = None) -> Aggregate:
    """The k keys of a column that most units have, best first; asked alone.

    Of public keys, without their counts. Which keys occur is a secret where they are not public: then it takes a
    delta, rare keys are left out, and noisy numbers of units come with the others.
    """
    return Aggregate(kind="top", of=(column,), most=checks.whole(k=k), name=name)


@dataclass(frozen=True, slots=True)
class Bound:
    """An aggregate whose columns are known: the integers it needs and what becomes of them."""

    aggregate: Aggregate
    statistics: tuple[Statistic, ...]
    finish: Finish | None
    grids: tuple[Gridded, ...] = ()

    @property
    def note(self) -> str:
        """What a reader must know about its values."""
        notes = [
            f"values outside {grid.low:g}…{grid.high:g} count as the nearest bound"
            for grid in dict.fromkeys(self.grids)
        ]
        for grid in dict.fromkeys(self.grids):
            if grid.filled() is not None and isinstance(grid.expression, Call):
                notes.append(f"a missing value counts as {grid.expression.arguments[-1]}")
        return "; ".join(notes)


def bind_all(aggregates: Sequence[Aggregate], columns: Mapping[str, Column]) -> tuple[Bound, ...]:
    """Bind all aggregates of a query; those that can share an integer do.

    A column that is squared is on the coarser grid for its mean as well, and a sum beside a mean of the same column
    is made from the integers of the mean, so that one noisy number serves both; but not on the coarser grid, where the
    error of a sum would grow with the number of rows, which nobody may know.
    """
    squared = {key for one in aggregates if one.kind in _SECOND for key in _columns(one, columns)}
    averaged = {key for one in aggregates if one.kind == "mean" for key in _columns(one, columns)} - squared
    return tuple(_bind(one, columns, squared, averaged) for one in aggregates)


_SECOND = ("variance", "std", "covariance", "correlation")
Key = tuple[Expression, tuple[Fraction, Fraction] | None]


def _columns(aggregate: Aggregate, columns: Mapping[str, Column]) -> list[Key]:
    bounds = None if aggregate.bounds is None else checks.interval(bounds=aggregate.bounds)
    found = [argument(text, columns) for text in aggregate.of]
    return [(_filled(value) if aggregate.kind in _FILLED else value, bounds) for value in found]


_FILLED = ("sum", "mean", "variance", "std")


def _filled(value: Expression) -> Expression:
    """A column in which nothing should be missing; what is counts as the middle of its bounds."""
    if not isinstance(value, Column) or not value.complete or value.bounds is None:
        return value
    middle = (value.bounds[0] + value.bounds[1]) / 2
    whole = value.kind == "integer"
    return call("coalesce", value, Constant(int(middle) if whole else float(middle), value.kind))


def argument(text: str | Expression, columns: Mapping[str, Column]) -> Expression:
    """What an aggregate is about: a column by its very name, or an expression."""
    if not isinstance(text, str):
        return text
    return columns[text] if text in columns else expression(text, columns, name="column")


def _bind(aggregate: Aggregate, columns: Mapping[str, Column], squared: set[Key], averaged: set[Key]) -> Bound:
    keys = _columns(aggregate, columns)
    kind = aggregate.kind
    if kind == "units":
        return Bound(aggregate, (Statistic("units"),), _count)
    if kind == "count" and not keys:
        return Bound(aggregate, (Statistic("rows"),), _count)
    if kind == "count":
        return _count_of(aggregate, keys[0][0])
    if kind == "count distinct":
        return Bound(aggregate, (Statistic("distinct", of=keys[0][0]),), _count)
    coarse = squared if kind not in ("sum", "quantile") else ()
    grids = tuple(_grid(key, MOMENT_BITS if key in coarse else SUM_BITS, aggregate) for key in keys)
    if kind == "quantile":
        return Bound(aggregate, (), None, grids)
    if kind in ("covariance", "correlation"):
        return _associated(aggregate, grids)
    [grid] = grids
    present, centred = (Statistic("moment", grids, (power,)) for power in (0, 1))
    if never_null(keys[0][0]):
        present = Statistic("rows")  # which a count of the rows may share
    if kind == "sum" and keys[0] not in averaged:
        return Bound(aggregate, (Statistic("sum", grids),), lambda n, w, c: estimates.summed(n[0], w[0], grid), grids)
    if kind == "sum":
        finish: Finish = lambda n, w, c: estimates.summed_from_mean(n[0], n[1], w, grid)  # noqa: E731
        return Bound(aggregate, (present, centred), finish, grids)
    if kind == "mean":
        return Bound(aggregate, (present, centred), lambda n, w, c: estimates.averaged(n[0], n[1], w, grid, c), grids)
    square = Statistic("moment", grids, (2,))
    root = kind == "std"
    return Bound(aggregate, (present, centred, square), lambda n, w, c: estimates.spread(n, w, grid, root=root), grids)


def _count(numbers: Sequence[int], widths: Sequence[float], confidence: Confidence) -> Estimate:
    return estimates.counted(numbers[0], widths[0])


def _count_of(aggregate: Aggregate, value: Expression) -> Bound:
    """COUNT(x): the rows in which x is not NULL, whatever its kind."""
    if never_null(value) or (isinstance(value, Column) and value.complete):
        return Bound(aggregate, (Statistic("rows"),), _count)
    one = Constant(1, "integer")
    present = call("case", call("is null", value), Constant(None, None), one)
    grid = Gridded(present, 0, 1, 0)
    return Bound(aggregate, (Statistic("moment", (grid,), (0,)),), _count)


def _associated(aggregate: Aggregate, grids: tuple[Gridded, ...]) -> Bound:
    correlation = aggregate.kind == "correlation"
    powers = [(0, 0), (1, 0), (0, 1), (1, 1), *([(2, 0), (0, 2)] if correlation else [])]
    statistics = tuple(Statistic("moment", grids, power) for power in powers)
    return Bound(
        aggregate, statistics, lambda n, w, c: estimates.association(n, w, grids, correlation=correlation), grids
    )


def _grid(key: Key, bits: int, aggregate: Aggregate) -> Gridded:
    """The grid of an argument; its bounds are public: given with the aggregate, with the column, or computed."""
    value, bounds = key
    if value.kind not in NUMERIC:
        why = f"it is of kind {value.kind}, not a number"
        hint = "Declare types={'…': 'number'} or bounds= when you open the table."
        if value.kind == "boolean":
            hint = f"Write CASE WHEN {aggregate.of[0]} THEN 1 ELSE 0 END, whose mean is the share of true rows."
        raise UnsupportedQuery(str(aggregate), why, hint)
    if bounds is None:
        span = span_of(value)
        bounds = span.low, span.high
    return gridded(value, bounds, bits)
