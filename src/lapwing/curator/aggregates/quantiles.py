"""Quantiles, which are picked instead of computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sqlglot import exp

from lapwing import checks
from lapwing.calls import helpful
from lapwing.checks import Number
from lapwing.curator.aggregates.base import Aggregate, Arguments, Bound, QueryFacts, SqlAggregate, WithBounds, exactly
from lapwing.curator.plan.expressions import Constant, Expression
from lapwing.curator.plan.parser import only, shown
from lapwing.curator.plan.statistics import Pick
from lapwing.errors import UnsupportedQuery

HALF = Fraction(1, 2)
_ORDERED = ("PercentileCont", "PercentileDisc")


@dataclass(frozen=True, kw_only=True, repr=False)
class Quantile(WithBounds):
    """A value with about the share `q` of the values below it."""

    q: Fraction

    kind = "quantile"
    called = "quantile_{}"
    says = "a quantile"
    options = ("q", "bounds", "name", "weight")
    spelled = "MEDIAN or QUANTILE(x, 0.9)"
    nodes = ("Median", "Quantile", "ApproxQuantile", *_ORDERED, "WithinGroup")

    def __post_init__(self) -> None:
        WithBounds.__post_init__(self)
        object.__setattr__(self, "q", _share(self.q))

    @property
    def output(self) -> str:
        """What it is called in the answer."""
        return f"{self.called.format(*self.of)}_{float(self.q):g}" if self.name is None else self.name

    def parts(self) -> list[str]:
        """The column and the share."""
        return [*WithBounds.parts(self), f"{float(self.q):g}"]

    def bind(self, shared: QueryFacts) -> Bound:
        grids = shared.grids(self, coarse=False)
        return Bound(self, grids=grids, pick=Pick(str(self), self.output, grids[0], self.q))

    def saved_options(self) -> dict[str, Any]:
        return {"q": exactly(self.q)}

    @classmethod
    def reread(cls, *of: str | Expression, **options: Any) -> Aggregate:
        return quantile(*of, **options)  # type: ignore[arg-type]

    @classmethod
    def arguments(cls, node: exp.Expr) -> Arguments | None:
        """MEDIAN(x), QUANTILE(x, q), and PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x)."""
        if isinstance(node, exp.Median):
            only(node, "this")
            return Arguments([node.this])
        if isinstance(node, exp.WithinGroup):
            function, order = node.this, node.expression
            if type(function).__name__ not in _ORDERED or len(order.expressions) != 1:
                return None
            only(function, "this")
            only(order, "expressions")
            [ordered] = order.expressions
            only(ordered, "this", "desc", "nulls_first")
            return Arguments([ordered.this], [function.this])
        only(node, "this", "expression", "quantile")
        share = node.args.get("quantile") or node.args.get("expression")
        return Arguments([node.this], [] if share is None else [share])

    @classmethod
    def read(cls, node: exp.Expr, of: tuple[Expression, ...], others: Sequence[Expression]) -> SqlAggregate:
        if isinstance(node, exp.Median):
            return SqlAggregate(cls, of, (("q", HALF),), "median_{}")
        number = others[0] if others else None
        if not isinstance(number, Constant) or number.kind not in ("integer", "number"):
            raise UnsupportedQuery(shown(node), "a quantile needs one written share", "Write QUANTILE(x, 0.5).")
        share = _share(number.value)
        if isinstance(node, exp.WithinGroup) and node.expression.expressions[0].args.get("desc"):
            share = 1 - share
        return SqlAggregate(cls, of, (("q", share),))


def _share(q: Number) -> Fraction:
    return checks.share(q=q).limit_denominator(10_000)


@helpful
def quantile(column: str, q: Number, *, bounds: Any = None, name: str | None = None, weight: Number = 1) -> Quantile:
    """A value with about the share `q` of the values below it.

    Args:
        column: The name of a column.
        q: The share of values below it, between 0 and 1.
        bounds: Public bounds `(low, high)`. Left out, those that the table was opened with.
        name: What the column of the answer is called.
        weight: Its share of the loss beside other aggregates of the same question.

    Returns:
        An aggregate for `agg(…)`. Nothing is asked yet.

    Raises:
        InvalidParameter: If `q` is not between 0 and 1, or `weight` is not positive.

    >>> 40 < patients.agg(lw.quantile("age", 0.9)).release(epsilon=1).value < 100
    True
    """
    return Quantile(of=(column,), q=_share(q), bounds=bounds, name=name, weight=weight)


@helpful
def median(column: str, *, bounds: Any = None, name: str | None = None, weight: Number = 1) -> Quantile:
    """A value in the middle of the values.

    Args:
        column: The name of a column.
        bounds: Public bounds `(low, high)`. Left out, those that the table was opened with.
        name: What the column of the answer is called.
        weight: Its share of the loss beside other aggregates of the same question.

    Returns:
        An aggregate for `agg(…)`. Nothing is asked yet.

    >>> 30 < patients.agg(lw.median("age")).release(epsilon=1).value < 70
    True
    """
    called = f"median_{column}" if name is None else name
    return Quantile(of=(column,), q=HALF, bounds=bounds, name=called, weight=weight)
