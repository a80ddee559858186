"""Aggregates as SQL writes them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from sqlglot import exp

from lapwing import checks
from lapwing.curator.aggregates import Aggregate
from lapwing.curator.expressions import NULL, Column, Constant, Expression, call
from lapwing.curator.parse import only, shown
from lapwing.curator.sql_names import Scope
from lapwing.curator.sql_syntax import unwrapped
from lapwing.errors import UnsupportedQuery

_OF_ONE = {
    "Sum": "sum",
    "Avg": "mean",
    "VariancePop": "variance",
    "Variance": "variance",
    "StddevPop": "std",
    "Stddev": "std",
    "Min": "min",
    "Max": "max",
}
_OF_TWO = {"CovarPop": "covariance", "Corr": "correlation"}
_SAMPLES = {"StddevSamp": "STDDEV_POP", "CovarSamp": "COVAR_POP"}
_QUANTILES = ("Quantile", "ApproxQuantile", "PercentileCont", "PercentileDisc")
ONE = Constant(1, "integer")


@dataclass(frozen=True, slots=True)
class Asked:
    """An aggregate with its arguments; two that are written differently and mean the same are equal."""

    kind: str
    of: tuple[Expression, ...] = ()
    q: Fraction | None = None
    label: str = field(default="", compare=False)
    """What to call it, if nobody says."""

    def where(self, condition: Expression) -> Asked:
        """FILTER (WHERE condition): rows for which it does not hold have no value."""
        kind = "count distinct" if self.kind == "units" else self.kind
        return replace(self, kind=kind, of=tuple(call("case", condition, one, NULL) for one in self.of or (ONE,)))


def has_aggregates(node: exp.Expr) -> bool:
    """Whether an expression is about a group and not about one row."""
    return any(isinstance(one, exp.AggFunc) or _name(one) == "mean" for one in node.walk())


def asked(node: exp.Expr, scope: Scope) -> Asked | None:
    """The aggregate that a node stands for, or None if it is none."""
    if isinstance(node, exp.Filter):
        inner = asked(unwrapped(node.this), scope)
        if inner is None or not isinstance(node.expression, exp.Where):
            return None
        return inner.where(scope.translate(node.expression.this))
    found = _asked(node, scope)
    if found is None or found.label:
        return found
    shown_as = tuple(scope.visible(one) for one in found.of)
    kind = found.kind if found.kind not in ("min", "max") else "count"
    label = Aggregate(kind=kind, of=shown_as, q=found.q).output
    return replace(found, label=f"{found.kind}_{shown_as[0]}" if kind != found.kind else label)


def _asked(node: exp.Expr, scope: Scope) -> Asked | None:
    kind = type(node).__name__
    if kind == "Count":
        return _count(node, scope)
    if kind == "CountIf":
        only(node, "this")
        return Asked("count").where(scope.translate(node.this))
    if kind in _OF_ONE or _name(node) == "mean":
        only(node, "this", *(["expressions"] if kind == "Anonymous" else []))
        [value] = node.expressions if kind == "Anonymous" and len(node.expressions) == 1 else [node.this]
        return Asked(_OF_ONE.get(kind, "mean"), (_argument(node, value, scope),))
    if kind in _OF_TWO:
        only(node, "this", "expression")
        return Asked(_OF_TWO[kind], tuple(_argument(node, one, scope) for one in (node.this, node.expression)))
    if kind == "Median":
        only(node, "this")
        value = _argument(node, node.this, scope)
        return Asked("quantile", (value,), Fraction(1, 2), f"median_{scope.visible(value)}")
    if kind in _QUANTILES:
        only(node, "this", "expression", "quantile")
        return _quantile(node, node.this, node.args.get("quantile") or node.args.get("expression"), scope)
    if kind == "WithinGroup":
        return _within_group(node, scope)
    if isinstance(node, exp.AggFunc | exp.IgnoreNulls | exp.RespectNulls):
        raise _unknown(node)
    return None


def _name(node: exp.Expr) -> str:
    return node.name.lower() if isinstance(node, exp.Anonymous) else ""


def _argument(node: exp.Expr, value: Any, scope: Scope) -> Expression:
    """An argument, which is about one row."""
    if isinstance(value, exp.Expr) and has_aggregates(value):
        why = "an aggregate of aggregates needs the units in between"
        instead = "Group by the unit in a sub-query, and write the outer aggregate around it."
        raise UnsupportedQuery(shown(node), why, instead)
    if isinstance(value, exp.Distinct | exp.Order) or not isinstance(value, exp.Expr):
        raise UnsupportedQuery(shown(node), "an aggregate takes one value of each row", "Write SUM(x), or COUNT(x).")
    found = scope.translate(value)
    if found.kind is None:
        raise UnsupportedQuery(shown(node), "NULL has no kind", "Name a column.")
    return found


def _count(node: exp.Expr, scope: Scope) -> Asked:
    only(node, "this", "expressions")
    value = node.this
    if node.expressions:
        raise _unknown(node)
    if value is None or (isinstance(value, exp.Star) and not any(value.args.values())):
        return Asked("count")
    if isinstance(value, exp.Distinct):
        only(value, "expressions")
        if len(value.expressions) != 1:
            why = "it counts one expression"
            raise UnsupportedQuery(shown(node), why, "Write COUNT(DISTINCT x), or group by the others.")
        what = _argument(node, value.expressions[0], scope)
        if isinstance(what, Column) and what.unit:
            return Asked("units", (what,))
        return Asked("count distinct", (what,))
    what = _argument(node, value, scope)
    return Asked("count", () if isinstance(what, Constant) else (what,))


def _quantile(node: exp.Expr, value: Any, share: Any, scope: Scope) -> Asked:
    number = None if share is None else scope.translate(share)
    if not isinstance(number, Constant) or number.kind not in ("integer", "number"):
        raise UnsupportedQuery(shown(node), "a quantile needs one written share", "Write QUANTILE(x, 0.5).")
    q = checks.share(q=number.value).limit_denominator(10_000)
    return Asked("quantile", (_argument(node, value, scope),), q)


def _within_group(node: exp.Expr, scope: Scope) -> Asked:
    function, order = node.this, node.expression
    if type(function).__name__ not in ("PercentileCont", "PercentileDisc") or len(order.expressions) != 1:
        raise _unknown(node)
    only(function, "this")
    only(order, "expressions")
    [ordered] = order.expressions
    only(ordered, "this", "desc", "nulls_first")
    found = _quantile(node, ordered.this, function.this, scope)
    assert found.q is not None
    return replace(found, q=1 - found.q) if ordered.args.get("desc") else found


def _unknown(node: exp.Expr) -> UnsupportedQuery:
    """An aggregate that is not ours."""
    kind = type(node).__name__
    if kind in _SAMPLES:
        return UnsupportedQuery(shown(node), "the number of rows is noisy itself", f"Write {_SAMPLES[kind]}(…).")
    if kind in ("ApproxDistinct", "Hll"):
        return UnsupportedQuery(shown(node), "its sketch is up to the engine", "Write COUNT(DISTINCT x).")
    why = "it shows values of single rows, or depends on their order"
    instead = "Use COUNT, SUM, AVG, VAR_POP, STDDEV_POP, COVAR_POP, CORR, MEDIAN or QUANTILE(x, 0.9)."
    return UnsupportedQuery(shown(node), why, instead)
