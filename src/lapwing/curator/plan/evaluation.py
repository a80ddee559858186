"""Expressions over an answer, in Python: HAVING, ORDER BY and columns made of other columns are post-processing."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from lapwing.curator.plan.expressions import NUMERIC, Call, Column, Constant, Expression, Kind, Span
from lapwing.curator.plan.language import number_of

_ANYWHERE = Span(Fraction(-(2**100)), Fraction(2**100), 100)


def released(name: str, kind: Kind) -> Expression:
    """A column of the answer. It is public, so arithmetic on it needs no bounds and must not clamp."""
    return Call("coalesce", (Column(name, kind),), kind, _ANYWHERE if kind in NUMERIC else None)


def evaluate(expression: Expression, row: Mapping[str, Any]) -> Any:
    """The value of an expression for one row of an answer; None stands for NULL."""
    if isinstance(expression, Column):
        return row[expression.name]
    if isinstance(expression, Constant):
        return expression.value
    values = [_told(argument, row) for argument in expression.arguments]
    if expression.operator in _OF_NULL:
        return _OF_NULL[expression.operator](values)
    if None in values:
        return None
    return _PLAIN[expression.operator](*values)


def sortable(value: Any) -> tuple[bool, bool, Any]:
    """NULL before everything, words after numbers: "everything else" may stand beside keys of any kind."""
    return value is not None, isinstance(value, str), "" if value is None else value


def _told(expression: Expression, row: Mapping[str, Any]) -> Any:
    """A value of its kind: keys beside "everything else" are of the kind text, whatever they were."""
    value = evaluate(expression, row)
    return value if value is None or expression.kind != "text" else str(value)


def _and(values: list[Any]) -> bool | None:
    return False if False in values else None if None in values else True


def _or(values: list[Any]) -> bool | None:
    return True if True in values else None if None in values else False


def _case(values: list[Any]) -> Any:
    for condition, value in zip(values[:-1:2], values[1::2], strict=False):
        if condition:
            return value
    return values[-1]


def _among(values: list[Any]) -> bool | None:
    first, *options = values
    if first is None:
        return None
    return True if first in [option for option in options if option is not None] else None if None in options else False


def _finite(function: Callable[..., float]) -> Callable[..., float | None]:
    def total(*values: float) -> float | None:
        try:
            result = function(*values)
            return result if math.isfinite(result) else None
        except (ZeroDivisionError, OverflowError):
            return None

    return total


def _bin(value: float, edges: tuple[float, ...]) -> int | None:
    if not edges[0] <= value <= edges[-1]:
        return None
    return min(bisect_right(edges, value), len(edges) - 1) - 1


def _like(text: str, pattern: str) -> bool:
    """Piece by piece between the percent signs, each as early as it can be: no text makes it go back."""
    first, *others = pattern.split("%")
    if not others:
        return _begins(text, first, 0) and len(text) == len(first)
    *between, last = others
    place = len(first)
    if not _begins(text, first, 0):
        return False
    for piece in between:
        start = next((i for i in range(place, len(text) + 1) if _begins(text, piece, i)), None)
        if start is None:
            return False
        place = start + len(piece)
    return place <= len(text) - len(last) and _begins(text, last, len(text) - len(last))


def _begins(text: str, piece: str, place: int) -> bool:
    there = text[place : place + len(piece)]
    return len(there) == len(piece) and all(b in (a, "_") for a, b in zip(there, piece, strict=True))


_OF_NULL: dict[str, Callable[[list[Any]], Any]] = {
    "and": _and,
    "or": _or,
    "case": _case,
    "in": _among,
    "is null": lambda values: values[0] is None,
    "coalesce": lambda values: next((value for value in values if value is not None), None),
}
_PLAIN: dict[str, Callable[..., Any]] = {
    "+": _finite(lambda a, b: a + b),
    "-": _finite(lambda a, b: a - b),
    "*": _finite(lambda a, b: a * b),
    "/": _finite(lambda a, b: a / b),
    "%": lambda a, b: a % b if a >= 0 else -(-a % b),
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "not": lambda a: not a,
    "abs": abs,
    "floor": math.floor,
    "ceil": math.ceil,
    "like": _like,
    "length": len,
    "clamp": lambda value, low, high: min(max(value, low), high),
    "to number": lambda value: number_of(value) if isinstance(value, str) else float(value),
    "bin": lambda value, *edges: _bin(value, edges),
    "year": lambda moment: moment.year,
    "month": lambda moment: moment.month,
    "day": lambda moment: moment.day,
    "hour": lambda moment: moment.hour,
    "minute": lambda moment: moment.minute,
}
