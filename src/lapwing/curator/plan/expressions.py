"""The closed language of row-wise expressions: total functions of one row, the same on every engine.

An expression is a tree of frozen nodes that knows its kind (and, for numbers, where its values can lie) before any data
is read. Nothing in it can raise on a row: what has no value is NULL. Arithmetic works on doubles, on columns that are
clamped to their public bounds first, so its range is known and no engine can overflow, underflow or divide by zero.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from lapwing.errors import InvalidParameter, MissingBounds, UnsupportedQuery

Kind = Literal["boolean", "integer", "number", "text", "date", "timestamp"]
KINDS: tuple[Kind, ...] = ("boolean", "integer", "number", "text", "date", "timestamp")
NUMERIC: tuple[Kind, ...] = ("integer", "number")

LARGEST = Fraction(2) ** 900
"""Numbers of arithmetic stay below it, and above its inverse unless they are 0: no double overflows or underflows."""
FINEST = 900
LONGEST = 20_000
"""Parts of an expression: a short text can stand for an endless one."""
LARGEST_BOUND = Fraction(2) ** 60
"""Bounds of columns that arithmetic is done with: whole numbers of 64 bits hold them."""


@dataclass(frozen=True, slots=True)
class Span:
    """Where the values of a numeric expression lie: in [low, high], and 0 or at least 2^-depth in size."""

    low: Fraction
    high: Fraction
    depth: int

    @property
    def size(self) -> Fraction:
        """The largest absolute value."""
        return max(abs(self.low), abs(self.high))


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the rows below, with what is publicly known about it."""

    name: str
    kind: Kind
    bounds: tuple[Fraction, Fraction] | None = None
    keys: tuple[Any, ...] | None = None
    """Values that may be named in an answer, whether they occur or not."""
    unit: bool = False
    """Whether it says whose row this is."""
    complete: bool = False
    """Whether no value is missing: in a sum or mean, one that is counts as the middle of the bounds."""

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Constant:
    """A value that the analyst wrote; NULL has no kind."""

    value: Any
    kind: Kind | None

    def __str__(self) -> str:
        if self.value is None:
            return "NULL"
        if isinstance(self.value, bool):
            return "TRUE" if self.value else "FALSE"
        if isinstance(self.value, str):
            return "'" + self.value.replace("'", "''") + "'"
        if isinstance(self.value, dt.datetime):
            return f"TIMESTAMP '{self.value.isoformat(sep=' ')}'"
        return f"DATE '{self.value.isoformat()}'" if isinstance(self.value, dt.date) else str(self.value)


@dataclass(frozen=True, slots=True)
class Call:
    """An operator of the language, applied."""

    operator: str
    arguments: tuple[Expression, ...]
    kind: Kind
    span: Span | None = None
    length: int = field(default=1, init=False, compare=False, repr=False)
    """Parts of it when it is written out, where a part that stands in two places counts twice."""

    def __post_init__(self) -> None:
        length = 1 + sum(argument.length if isinstance(argument, Call) else 1 for argument in self.arguments)
        if self.operator == "to number":
            length *= 2  # of a truth value, both cases are asked for
        if self.operator in ("floor", "ceil") and self.span is not None and self.span.size > 1 << 53:
            length *= 3  # of so large a number, it is asked first whether it has a part to cut off
        if length > LONGEST:
            why = f"it has more than {LONGEST} parts when it is written out"
            raise UnsupportedQuery(self.operator, why, "Nest it less deeply: BETWEEN and CASE x repeat what they test.")
        object.__setattr__(self, "length", length)

    def __str__(self) -> str:
        shown = [str(argument) for argument in self.arguments]
        if self.operator in _INFIX:
            return f"({f' {self.operator} '.join(shown)})"
        if self.operator == "clamp" or (self.operator == "coalesce" and len(shown) == 1):
            return shown[0]  # implied by the bounds of the column, or the same
        return f"{self.operator}({', '.join(shown)})"


_INFIX = ("+", "-", "*", "/", "%", "=", "<>", "<", "<=", ">", ">=", "and", "or")
Expression = Column | Constant | Call
NULL = Constant(None, None)


def columns_of(expression: Expression) -> set[str]:
    """The names of the columns that an expression reads."""
    if isinstance(expression, Column):
        return {expression.name}
    if isinstance(expression, Call):
        return {name for argument in expression.arguments for name in columns_of(argument)}
    return set()


def never_null(expression: Expression) -> bool:
    """Whether an expression has a value for every row."""
    if isinstance(expression, Constant):
        return expression.value is not None
    return isinstance(expression, Call) and expression.operator == "coalesce" and never_null(expression.arguments[-1])


def span_of(expression: Expression) -> Span:
    """Where a number lies, or MissingBounds."""
    if isinstance(expression, Call) and expression.span is not None:
        return expression.span
    if isinstance(expression, Constant) and expression.kind in NUMERIC:
        value = Fraction(expression.value)
        return Span(value, value, max(0, -exponent_of(value)))
    if isinstance(expression, Column) and expression.bounds is not None:
        return span_of(clamp(expression))
    raise MissingBounds(_unbounded(expression))


def _unbounded(expression: Expression) -> str:
    """The first column without bounds that an expression reads, or the expression itself."""
    if isinstance(expression, Call):
        for argument in expression.arguments:
            if argument.kind in NUMERIC and not isinstance(argument, Constant):
                name = _unbounded(argument)
                if name != str(argument) or isinstance(argument, Column):
                    return name
    return str(expression)


def clamp(column: Expression) -> Expression:
    """A column cut to its public bounds; tiny numbers count as 0, so that products of them cannot underflow."""
    if not isinstance(column, Column):
        return column
    if column.bounds is None:
        raise MissingBounds(column.name)
    if max(map(abs, column.bounds)) > LARGEST_BOUND:
        raise InvalidParameter("bounds", column.name, "are too large for doubles", "Use another scale.")
    if column.kind == "integer":
        ends: tuple[int | float, ...] = (math.floor(column.bounds[0]), math.ceil(column.bounds[1]))
    else:
        ends = tuple(map(float, column.bounds))
    low, high = map(Fraction, ends)
    # A bound itself may be tiny, and is a value of every row beyond it.
    depth = 0 if column.kind == "integer" else max(100, -exponent_of(low), -exponent_of(high))
    span = Span(low, high, depth)
    return Call("clamp", (column, *(Constant(end, column.kind) for end in ends)), column.kind, span)


def exponent_of(value: Fraction) -> int:
    """The largest e with 2^e ≤ |value|, about; 0 for 0."""
    return value.numerator.bit_length() - value.denominator.bit_length() - 1 if value else 0


TRUTH: tuple[Kind | None, ...] = ("boolean", None)
"""What a condition is; NULL counts as not true."""


@dataclass(frozen=True, slots=True)
class Input:
    """What a node takes of each row: an expression over these columns, of one of these kinds."""

    role: str
    expression: Expression
    kinds: tuple[Kind | None, ...]
    columns: Mapping[str, Column]
    declares: bool = False
    """Whether a column may have other bounds and keys here than below: what is declared about it."""

    def check(self) -> None:
        """Refuse another kind, which an engine would cast, row by row, and fail at some rows only."""
        if self.expression.kind in self.kinds:
            return
        shown, kind = str(self.expression), self.expression.kind
        if self.kinds == TRUTH:
            why = f"it is of kind {kind}, not a truth value"
            hint = "Write a comparison, or declare types={'…': 'boolean'} when you open the table."
        elif kind is None:
            why, hint = "NULL has no kind", "Name a column."
        else:
            why = f"it is of kind {kind}, and {self.role} is of kind {' or '.join(map(str, self.kinds))}"
            hint = "Declare types={'…': '…'} when you open the table."
        raise UnsupportedQuery(shown, why, hint)


def with_article(word: str | None) -> str:
    """A kind, or another word, with its article.

    >>> with_article("integer"), with_article("text")
    ('an integer', 'a text')
    """
    return f"{'an' if str(word)[0] in 'aeio' else 'a'} {word}"
