"""Rows, units and different values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlglot import exp

from lapwing.calls import helpful
from lapwing.checks import Number
from lapwing.curator.aggregates import estimates
from lapwing.curator.aggregates.base import ONE, Aggregate, Arguments, Bound, Estimator, QueryFacts, SqlAggregate
from lapwing.curator.aggregates.estimates import Confidence, Estimate
from lapwing.curator.plan.expressions import KINDS, Column, Constant, Expression, never_null
from lapwing.curator.plan.grids import GridExpression
from lapwing.curator.plan.language import call
from lapwing.curator.plan.parser import only, shown
from lapwing.curator.plan.statistics import Statistic
from lapwing.errors import UnsupportedQuery


@dataclass(frozen=True, kw_only=True, repr=False)
class _Counting(Estimator):
    """A whole number that is a statistic itself."""

    takes = KINDS
    whole = counts = adds_up = True

    def estimate(
        self, bound: Bound, numbers: Sequence[int], widths: Sequence[float], confidence: Confidence
    ) -> Estimate:
        return estimates.counted(numbers[0], widths[0])

    def error(self, bound: Bound, widths: Sequence[float], count: int | None) -> float:
        return widths[0]


@dataclass(frozen=True, kw_only=True, repr=False)
class Count(_Counting):
    """The rows, or those in which a column is not NULL."""

    kind = "count"
    called = "count_{}"
    says = "the number of rows"
    says_used = "the number of rows used"
    places = (0, 1)
    counts_rows = True
    total = "count"
    spelled = "COUNT"
    nodes = ("Count", "CountIf")

    def bind(self, shared: QueryFacts) -> Bound:
        """Of a column, the rows in which it is not NULL, whatever its kind."""
        for value, _ in self.keys(shared.columns):
            if not never_null(value) and not (isinstance(value, Column) and value.complete):
                return Bound(self, (_present(value),))
        return Bound(self, (Statistic("rows"),))

    @classmethod
    def arguments(cls, node: exp.Expr) -> Arguments | None:
        """COUNT(*), COUNT(x), COUNT_IF(condition), COUNT(DISTINCT x) and COUNT(DISTINCT unit)."""
        if isinstance(node, exp.CountIf):
            only(node, "this")
            return Arguments(others=[node.this])
        only(node, "this", "expressions")
        value = node.this
        if node.expressions:
            return None
        if value is None or (isinstance(value, exp.Star) and not any(value.args.values())):
            return Arguments()
        return Arguments([_one_of(node, value) if isinstance(value, exp.Distinct) else value])

    @classmethod
    def read(cls, node: exp.Expr, of: tuple[Expression, ...], others: Sequence[Expression]) -> SqlAggregate:
        if others:
            return SqlAggregate(cls).where(others[0])
        if isinstance(node.this, exp.Distinct):
            return SqlAggregate(Units if isinstance(of[0], Column) and of[0].unit else CountDistinct, of)
        return SqlAggregate(cls, tuple(value for value in of if not isinstance(value, Constant)))


def _present(value: Expression) -> Statistic:
    present = call("case", call("is null", value), Constant(None, None), ONE)
    return Statistic("moment", (GridExpression(present, 0, 1, 0),), (0,))


def _one_of(node: exp.Expr, distinct: exp.Expr) -> exp.Expr:
    only(distinct, "expressions")
    if len(distinct.expressions) != 1:
        why = "it counts one expression"
        raise UnsupportedQuery(shown(node), why, "Write COUNT(DISTINCT x), or group by the others.")
    expression: exp.Expr = distinct.expressions[0]
    return expression


@dataclass(frozen=True, kw_only=True, repr=False)
class Units(_Counting):
    """The units (people, say) with at least one row."""

    kind = "units"
    called = "units"
    says = "the number of different {unit}s"
    says_used = "the number of different {unit}s among the rows used"
    places = (0,)
    by_any_row = True
    total = "count distinct"

    def bind(self, shared: QueryFacts) -> Bound:
        return Bound(self, (Statistic("units"),))

    @classmethod
    def filtered(cls) -> type[Aggregate]:
        """The units of some rows are different values of an expression."""
        return CountDistinct

    @classmethod
    def asked(cls, of: tuple[Expression, ...], name: str, **options: Any) -> Aggregate:
        """SQL names the column of the unit; the plan knows it."""
        return cls(name=name)


@dataclass(frozen=True, kw_only=True, repr=False)
class CountDistinct(_Counting):
    """The different values of a column, among the rows that count."""

    kind = "count distinct"
    called = "distinct_{}"
    says = "the number of different values"
    says_used = "the number of different values in the rows used"
    total = "count distinct"
    refused: ClassVar[Mapping[str, tuple[str, str]]] = dict.fromkeys(
        ("ApproxDistinct", "Hll"), ("its result depends on the engine", "Write COUNT(DISTINCT x).")
    )

    def bind(self, shared: QueryFacts) -> Bound:
        [(value, _)] = self.keys(shared.columns)
        return Bound(self, (Statistic("distinct", of=value),))


@helpful
def count(column: str | None = None, *, name: str | None = None, weight: Number = 1) -> Count:
    """The rows, or those in which a column is not NULL.

    Args:
        column: Count rows in which this column is not NULL. Left out, all rows count.
        name: What the column of the answer is called.
        weight: Its share of the loss beside other aggregates of the same question.

    Returns:
        An aggregate for `agg(…)`. Nothing is asked yet.

    >>> 2900 < patients.agg(lw.count()).release(epsilon=1).value < 3100
    True
    """
    return Count(of=() if column is None else (column,), name=name, weight=weight)


@helpful
def units(*, name: str | None = None, weight: Number = 1) -> Units:
    """The units (people, say) with at least one row.

    Args:
        name: What the column of the answer is called.
        weight: Its share of the loss beside other aggregates of the same question.

    Returns:
        An aggregate for `agg(…)`. Nothing is asked yet.

    >>> 2900 < patients.agg(lw.units()).release(epsilon=1).value < 3100
    True
    """
    return Units(name=name, weight=weight)


@helpful
def count_distinct(column: str, *, name: str | None = None, weight: Number = 1) -> CountDistinct:
    """The different values of a column, among the rows that count.

    Args:
        column: The name of a column.
        name: What the column of the answer is called.
        weight: Its share of the loss beside other aggregates of the same question.

    Returns:
        An aggregate for `agg(…)`. Nothing is asked yet.

    >>> 2900 < patients.agg(lw.count_distinct("patient")).release(epsilon=1).value < 3100
    True
    """
    return CountDistinct(of=(column,), name=name, weight=weight)
