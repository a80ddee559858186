"""The columns that expressions and totals make, with what is known about them before any data is read."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from lapwing.curator.plan.expressions import Column, Expression, Kind, span_of
from lapwing.curator.plan.grids import gridded
from lapwing.errors import MissingBounds, UnsupportedQuery

if TYPE_CHECKING:
    from lapwing.curator.plan.nodes import Total

TOTALLED: dict[str, tuple[Kind, ...]] = {
    **dict.fromkeys(("sum", "avg"), ("integer", "number")),
    **dict.fromkeys(("min", "max"), ("integer", "number", "date", "timestamp")),
}


def output(name: str, expression: Expression) -> Column:
    """The column that an expression makes."""
    if isinstance(expression, Column):
        return replace(expression, name=name)
    if expression.kind is None:
        raise UnsupportedQuery(name, "a column of nothing but NULL has no kind", "Leave it out.")
    try:
        span = span_of(expression)
    except MissingBounds:
        return Column(name, expression.kind)
    ends = None if span.low == span.high else (Fraction(span.low), Fraction(span.high))
    return Column(name, expression.kind, ends)


def check_total(name: str, total: Total, argument: Expression | None) -> None:
    """Refuse a total that depends on the order of rows, or on the engine's language settings."""
    if argument is None:
        return
    if total in ("sum", "avg"):
        if argument.kind not in ("integer", "number"):
            raise UnsupportedQuery(f"{total}({argument})", f"it is of kind {argument.kind}", "Total a number.")
        if argument.kind == "number" or total == "avg":
            span = span_of(argument)
            gridded(argument, (span.low, span.high))  # sums of floats depend on their order: only on a grid
    elif total in ("min", "max") and argument.kind in ("text", "boolean"):
        why = "the order of text depends on the engine's language settings"
        raise UnsupportedQuery(f"{total}({argument})", why, "Take the least or greatest of a number or a date.")


def total_column(name: str, total: Total, argument: Expression | None) -> Column:
    """The column that a total makes; all uses clamp to its bounds, so these need not be exact."""
    if argument is None or total.startswith("count"):
        return Column(name, "integer")
    if total == "avg":
        span = span_of(argument)
        return Column(name, "number", (span.low, span.high))
    if total == "sum":
        return Column(name, argument.kind or "number")
    return replace(output(name, argument), unit=False, keys=None)
