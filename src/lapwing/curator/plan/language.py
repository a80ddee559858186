"""The operators of the closed language: which kinds each takes, which it makes, and where its numbers lie."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

from lapwing.curator.plan import patterns
from lapwing.curator.plan.expressions import (
    FINEST,
    LARGEST,
    NULL,
    NUMERIC,
    Call,
    Column,
    Constant,
    Expression,
    Kind,
    Span,
    clamp,
    exponent_of,
    span_of,
    with_article,
)
from lapwing.curator.plan.text_forms import AFTER_POINT, BEFORE_POINT, FALSE
from lapwing.errors import MissingBounds, UnsupportedQuery


def call(operator: str, *arguments: Expression) -> Expression:
    """An operator applied, or `UnsupportedQuery` if the kinds do not fit."""
    fewest, most = PLACES[operator]
    if not fewest <= len(arguments) <= most or (operator == "case" and len(arguments) % 2 == 0):
        raise UnsupportedQuery(operator, f"{len(arguments)} arguments are not what it takes", "See docs/curator.md.")
    return _OPERATORS[operator](operator, *arguments)


def _misfit(operator: str, arguments: tuple[Expression, ...], why: str, instead: str) -> UnsupportedQuery:
    return UnsupportedQuery(_spelled(operator, [str(argument) for argument in arguments]), why, instead)


def _spelled(operator: str, shown: list[str]) -> str:
    """An operator as people write it."""
    if operator in ("and", "or") or PLACES.get(operator) == (2, 2):
        return f" {operator.upper()} ".join(shown)
    if operator in _SPELLED:
        return _SPELLED[operator].format(shown[0], ", ".join(shown[1:]))
    return f"{operator}({', '.join(shown)})"


_SPELLED = {"in": "{} IN ({})", "not": "NOT {}", "negate": "-{}", "to number": "CAST({} AS number)"}


def _number(operator: str, *arguments: Expression) -> tuple[Expression, ...]:
    """Arguments of arithmetic: columns clamped to their bounds."""
    for argument in arguments:
        if argument.kind is not None and argument.kind not in NUMERIC:
            why = f"{argument} is of kind {argument.kind}, not a number"
            raise _misfit(operator, arguments, why, "Declare its type, or cast it: CAST(x AS number).")
    return tuple(clamp(argument) for argument in arguments)


def _spanned(operator: str, arguments: tuple[Expression, ...], span: Span) -> Expression:
    if span.size > LARGEST or span.depth > FINEST:
        why = "its values may leave the range of doubles"
        raise _misfit(operator, arguments, why, "Give its columns narrower bounds, or write less arithmetic.")
    return Call(operator, arguments, "number", span)


def _arithmetic(operator: str, left: Expression, right: Expression) -> Expression:
    if NULL in (left, right):
        return NULL
    arguments = _number(operator, left, right)
    a, b = (span_of(argument) for argument in arguments)
    if operator == "+":
        span = Span(a.low + b.low, a.high + b.high, max(a.depth, b.depth) + 53)
    elif operator == "-":
        span = Span(a.low - b.high, a.high - b.low, max(a.depth, b.depth) + 53)
    elif operator == "*":
        corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
        span = Span(min(corners), max(corners), a.depth + b.depth + 1)
    else:
        most = a.size * Fraction(2) ** b.depth
        low = most if a.low < 0 or b.low < 0 else Fraction(0)
        span = Span(-low, most, a.depth + max(0, exponent_of(b.size) + 2))
        if b.low > 0:
            corners = [x / y for x in (a.low, a.high) for y in (b.low, b.high)]
            span = Span(min(corners), max(corners), span.depth)
    return _spanned(operator, arguments, span)


def _negate(operator: str, value: Expression) -> Expression:
    if isinstance(value, Constant) and value.kind in NUMERIC and value.value != -(1 << 63):
        return Constant(-value.value, value.kind)
    return _arithmetic("-", Constant(0, "integer"), value)


def _rounding(operator: str, value: Expression) -> Expression:
    [value] = _number(operator, value)
    span = span_of(value)
    if operator == "abs":
        low = Fraction(0) if span.low <= 0 <= span.high else min(abs(span.low), abs(span.high))
        return Call(operator, (value,), "number", Span(low, span.size, span.depth))
    low, high = (end if end.denominator == 1 else end + beyond for end, beyond in ((span.low, -1), (span.high, 1)))
    return Call(operator, (value,), "number", Span(low, high, 0))


def _remainder(operator: str, value: Expression, divisor: Expression) -> Expression:
    plain = isinstance(divisor, Constant) and divisor.kind == "integer" and divisor.value > 0
    if value.kind != "integer" or not plain:
        raise _misfit("%", (value, divisor), "it is for whole numbers, by a positive one", "Write column % 10.")
    assert isinstance(divisor, Constant)
    most = Fraction(divisor.value - 1)
    return Call("%", (value, divisor), "integer", Span(-most, most, 0))


def _comparable(operator: str, arguments: tuple[Expression, ...]) -> tuple[Expression, ...]:
    """Arguments that may be compared with each other; text that stands for a date becomes one."""
    kinds = {argument.kind for argument in arguments} - {None}
    for kind in ("date", "timestamp"):
        if kind in kinds and kinds <= {kind, "text"}:
            return tuple(_as_time(argument, kind) for argument in arguments)
    if len(kinds) > 1 and not kinds <= set(NUMERIC):
        raise _misfit(operator, arguments, *_unlike(arguments, kinds))
    return arguments


def _unlike(arguments: tuple[Expression, ...], kinds: set[Kind | None]) -> tuple[str, str]:
    """Why values of these kinds cannot be compared, and what to write instead."""
    why = " is compared with ".join(map(with_article, sorted(map(str, kinds))))
    declared = sorted(str(kind) for kind in kinds if kind != "text")
    constants = [part for part in arguments if isinstance(part, Constant) and part.kind is not None]
    truth = next((part for part in arguments if isinstance(part, Column) and part.kind == "boolean"), None)
    if truth is not None and constants:
        meant = "false" if any(str(constant.value) in FALSE for constant in constants) else "true"
        return (
            f"{truth} is either true or false, and {why}",
            f"Write {truth} = {meant}, or only {truth}, or NOT {truth}.",
        )
    column = next((part for part in arguments if isinstance(part, Column) and part.kind == "text"), None)
    if column is not None and column.keys is None and (declared == ["boolean"] or kinds <= {"text", *NUMERIC}):
        why = f"{column} is text (in a CSV, everything is until it is declared)"
        return why, f"Write types={{{column.name!r}: {declared[-1]!r}}} when you open the table."
    others = [constant for constant in constants if constant.kind != "text"]
    if column is not None and others:
        return why, f"{column} is text. Write text in quotes: '{others[0]}'."
    texts = [constant.value for constant in constants if constant.kind == "text"]
    numbers = [text for text in texts if number_of(text) is not None]
    if numbers and kinds <= {"text", *NUMERIC}:
        return why, f"Write numbers without quotes: {numbers[0]}."
    return why, "Compare values of one kind; declare types= when you open the table."


def _as_time(argument: Expression, kind: Any) -> Expression:
    if argument.kind != "text":
        return argument
    if not isinstance(argument, Constant):  # engines would cast it, and fail on a record that is no date
        why = f"a {kind} is compared with text"
        raise _misfit("=", (argument,), why, f"Declare types={{{str(argument)!r}: {kind!r}}} when you open the table.")
    return time_constant(argument.value, kind)


def time_constant(text: str, kind: Kind) -> Constant:
    """DATE '2026-11-15' or TIMESTAMP '2026-11-15 09:30:00'."""
    try:
        if kind == "date":
            return Constant(dt.date.fromisoformat(text), kind)
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is not None:
        raise UnsupportedQuery(repr(text), f"is no {kind}", "Write '2026-11-15', or '2026-11-15 09:30:00'.")
    return Constant(moment, kind)


def _compare(operator: str, left: Expression, right: Expression) -> Expression:
    left, right = _comparable(operator, (left, right))
    if operator not in ("=", "<>") and "text" in (left.kind, right.kind):
        why = "the order of text depends on the engine's language settings"
        raise _misfit(
            operator, (left, right), why, "Compare text with = or IN, or declare the column a number or date."
        )
    return Call(operator, (left, right), "boolean")


def _among(operator: str, value: Expression, *options: Expression) -> Expression:
    for option in options:
        if not isinstance(option, Constant):
            raise _misfit(operator, (value, option), "the list must be written out", "Write x IN ('a', 'b').")
    return Call("in", _comparable("in", (value, *options)), "boolean")


def _logic(operator: str, *arguments: Expression) -> Expression:
    for argument in arguments:
        if argument.kind not in ("boolean", None):
            why = f"{argument} is of kind {argument.kind}, not a truth value"
            hint = "Write a comparison, or declare types={'…': 'boolean'} when you open the table."
            raise _misfit(operator, arguments, why, hint)
    return Call(operator, arguments, "boolean")


def _is_null(operator: str, value: Expression) -> Expression:
    return Call(operator, (value,), "boolean")


def _like(operator: str, value: Expression, pattern: Expression) -> Expression:
    if value.kind != "text" or not (isinstance(pattern, Constant) and isinstance(pattern.value, str)):
        raise _misfit(
            operator, (value, pattern), "LIKE is for a text column and a written pattern", "Write x LIKE 'A%'."
        )
    misfit = patterns.misfit(pattern.value)
    if misfit is not None:
        raise UnsupportedQuery(f"{value} LIKE {Constant(patterns.shown(pattern.value), 'text')}", *misfit)
    return Call(operator, (value, pattern), "boolean")


def _common(operator: str, options: tuple[Expression, ...]) -> tuple[Kind, tuple[Expression, ...], Span | None]:
    """Values of which one is taken: their kind and span."""
    options = _comparable(operator, options)
    kinds = {option.kind for option in options} - {None}
    if not kinds:
        raise _misfit(operator, options, "nothing in it has a kind", "Write at least one value.")
    if kinds <= set(NUMERIC):
        try:
            spans = [span_of(option) for option in options if option.kind is not None]
        except MissingBounds:
            return ("integer" if kinds == {"integer"} else "number"), options, None
        options = tuple(clamp(option) for option in options)
        low, high = min(span.low for span in spans), max(span.high for span in spans)
        kind: Kind = "integer" if kinds == {"integer"} else "number"
        return kind, options, Span(low, high, max(span.depth for span in spans))
    [common] = kinds
    assert common is not None
    return common, options, None


def _coalesce(operator: str, *options: Expression) -> Expression:
    kind, options, span = _common(operator, options)
    return Call(operator, options, kind, span)


def _case(operator: str, *parts: Expression) -> Expression:
    """condition, value, condition, value, …, otherwise."""
    conditions = parts[:-1:2]
    _logic("case", *conditions)
    kind, values, span = _common(operator, (*parts[1::2], parts[-1]))
    paired = [part for pair in zip(conditions, values, strict=False) for part in pair]
    return Call(operator, (*paired, values[-1]), kind, span)


def _length(operator: str, value: Expression) -> Expression:
    if value.kind != "text":
        raise _misfit(operator, (value,), "LENGTH is for text", "Declare the column as text.")
    return Call(operator, (value,), "integer", Span(Fraction(0), Fraction(2**31), 0))


def _part(operator: str, value: Expression) -> Expression:
    if value.kind not in ("date", "timestamp") or (operator in ("hour", "minute") and value.kind == "date"):
        raise _misfit(operator, (value,), f"is for a {'date or ' if operator != 'hour' else ''}timestamp", _DATES)
    most = {"year": 9999, "month": 12, "day": 31, "hour": 23, "minute": 59}[operator]
    return Call(operator, (value,), "integer", Span(Fraction(0), Fraction(most), 0))


def _bin(operator: str, value: Expression, *edges: Expression) -> Expression:
    """The number i with edges[i] ≤ x < edges[i + 1] (the last bin has both its ends), otherwise NULL."""
    if value.kind not in NUMERIC:
        hint = f"If it holds numbers, open the table with types={{'{value}': 'number'}}."
        if value.kind in ("date", "timestamp"):
            hint = 'Write its edges as dates: edges=["2025-01-01", "2025-02-01", …].'
        raise _misfit("bins", (value,), f"{with_article(value.kind)} has no bins of numbers", hint)
    ends = [edge.value for edge in edges if isinstance(edge, Constant) and edge.kind == "number"]
    if len(ends) < len(edges) or any(not low < high for low, high in pairwise(ends)):
        raise _misfit(operator, edges, "the edges must be numbers that rise", "Write 0.0, 10.0, 20.0.")
    return Call(operator, (value, *edges), "integer", Span(Fraction(0), Fraction(len(edges) - 2), 0))


def _to_number(operator: str, value: Expression) -> Expression:
    """A number from text (plain decimal notation, otherwise NULL), a truth value, or a whole number in its bounds."""
    if value.kind in ("number", None):
        return value
    if value.kind not in ("text", "boolean", "integer"):
        raise _misfit(operator, (value,), f"{with_article(value.kind)} is not a number", "Cast text or truth values.")
    if isinstance(value, Constant):  # PostgreSQL reads a written text at once, whether or not it is a number
        known = number_of(value.value) if isinstance(value.value, str) else float(value.value)
        return NULL if known is None else Constant(known, "number")
    value = clamp(value) if value.kind == "integer" else value  # else it would not lie where its bounds say
    spans = {"boolean": Span(Fraction(0), Fraction(1), 0), "text": Span(Fraction(-(10**15)), Fraction(10**15), 60)}
    return Call(operator, (value,), "number", spans[value.kind] if value.kind in spans else span_of(value))


_DATES = "Declare types={'…': 'date'} when you open the table."
_OPERATORS: dict[str, Callable[..., Expression]] = {
    **dict.fromkeys(("+", "-", "*", "/"), _arithmetic),
    **dict.fromkeys(("abs", "floor", "ceil"), _rounding),
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">="), _compare),
    **dict.fromkeys(("and", "or", "not"), _logic),
    **dict.fromkeys(("year", "month", "day", "hour", "minute"), _part),
    "negate": _negate,
    "%": _remainder,
    "in": _among,
    "is null": _is_null,
    "like": _like,
    "coalesce": _coalesce,
    "case": _case,
    "length": _length,
    "to number": _to_number,
    "bin": _bin,
}

_MANY = 10_000
PLACES: dict[str, tuple[int, int]] = {
    **dict.fromkeys(("abs", "floor", "ceil", "not", "negate", "is null", "length", "to number"), (1, 1)),
    **dict.fromkeys(("year", "month", "day", "hour", "minute"), (1, 1)),
    **dict.fromkeys(("+", "-", "*", "/", "%", "=", "<>", "<", "<=", ">", ">=", "like"), (2, 2)),
    **dict.fromkeys(("and", "or", "coalesce"), (1, _MANY)),
    "in": (2, _MANY),
    "case": (3, _MANY),
    "bin": (3, _MANY),
}
"""The operators, and how many arguments each takes."""

PLAIN_NUMBER = f"[+-]?[0-9]{{1,{BEFORE_POINT}}}([.][0-9]{{1,{AFTER_POINT}}})?"
"""Text that counts as a number on every engine."""


def number_of(text: str) -> float | None:
    """What text means where a number is declared."""
    return float(text) if re.fullmatch(PLAIN_NUMBER, text) else None
