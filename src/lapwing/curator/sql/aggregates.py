"""Aggregates as SQL writes them: which node of the syntax tree belongs to which class is the class's own word."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from lapwing.curator.aggregates import AGGREGATES, PER_UNIT, Aggregate
from lapwing.curator.aggregates.base import Asked
from lapwing.curator.plan.expressions import Expression
from lapwing.curator.plan.parse import shown
from lapwing.curator.sql.names import Scope
from lapwing.curator.sql.syntax import unwrapped
from lapwing.errors import UnsupportedQuery

_NODES: dict[str, type[Aggregate]] = {node: one for one in (*AGGREGATES, *PER_UNIT) for node in one.nodes}
_FUNCTIONS: dict[str, type[Aggregate]] = {name: one for one in AGGREGATES for name in one.functions}
_REFUSED = {node: reasons for one in AGGREGATES for node, reasons in one.refused.items()}


def has_aggregates(node: exp.Expr) -> bool:
    """Whether an expression is about a group and not about one row."""
    return any(isinstance(one, exp.AggFunc) or _name(one) in _FUNCTIONS for one in node.walk())


def asked(node: exp.Expr, scope: Scope) -> Asked | None:
    """The aggregate that a node stands for, or None if it is none."""
    if isinstance(node, exp.Filter):
        inner = asked(unwrapped(node.this), scope)
        if inner is None or not isinstance(node.expression, exp.Where):
            return None
        return inner.where(scope.translate(node.expression.this))
    aggregate = _NODES.get(type(node).__name__) or _FUNCTIONS.get(_name(node))
    found = None if aggregate is None else aggregate.read(node, _Arguments(scope))
    if found is not None:
        return replace(found, label=found.as_shown(tuple(scope.visible(one) for one in found.of)))
    if aggregate is not None or isinstance(node, exp.AggFunc | exp.IgnoreNulls | exp.RespectNulls):
        raise _unknown(node)
    return None


def _name(node: exp.Expr) -> str:
    return node.name.lower() if isinstance(node, exp.Anonymous) else ""


@dataclass(frozen=True, slots=True)
class _Arguments:
    """What the arguments of an aggregate mean where it stands."""

    scope: Scope

    def translate(self, node: exp.Expr) -> Expression:
        """An expression about one row."""
        return self.scope.translate(node)

    def argument(self, node: exp.Expr, value: Any) -> Expression:
        """An argument, which is about one row."""
        if isinstance(value, exp.Expr) and has_aggregates(value):
            why = "an aggregate of aggregates needs the units in between"
            instead = "Group by the unit in a sub-query, and write the outer aggregate around it."
            raise UnsupportedQuery(shown(node), why, instead)
        if isinstance(value, exp.Distinct | exp.Order) or not isinstance(value, exp.Expr):
            why = "an aggregate takes one value of each row"
            raise UnsupportedQuery(shown(node), why, "Write SUM(x), or COUNT(x).")
        found = self.scope.translate(value)
        if found.kind is None:
            raise UnsupportedQuery(shown(node), "NULL has no kind", "Name a column.")
        return found


def _unknown(node: exp.Expr) -> UnsupportedQuery:
    """An aggregate that is not ours."""
    kind = type(node).__name__
    if kind in _REFUSED:
        return UnsupportedQuery(shown(node), *_REFUSED[kind])
    why = "it shows values of single rows, or depends on their order"
    known = ", ".join(one.spelled for one in AGGREGATES if one.spelled)
    return UnsupportedQuery(shown(node), why, f"Use {known}.")
