"""Expressions of every kind over some columns, as text: every operator of the language, on arguments that fit or not.

`Speaker.say("number")` is a number as an analyst would write it. A speaker that makes slips now and then says something
of another kind instead: what comes out must be refused before an engine hears of it, or be harmless.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from oracle import Beyond

from lapwing.curator.plan.expressions import KINDS, Column

T = TypeVar("T")
Choose = Callable[[Sequence[T]], T]

TEXTS = (
    "north",
    "North",
    "",
    "a%b_c",
    "it's",
    "1",
    "\\",
    "日本",
    "true",
    "su\u0308d",
    "12",
    "x",
    "2024-02-29",
    "\n",
    "%",
)
PATTERNS = (
    "%",
    "n%",
    "_",
    "%r%h",
    "",
    "N_rth",
    "日%",
    "a%b_c",
    "%%",
    "_%_",
    "it's%",
    "%\n%",
    "1_",
    "%.%",
    "[a-z]%",
    "%^$",
    "NORTH%",
    "%R%",
    "%X",
    "T%",
    "A%",
    "%_%_%",
    "%a%_b%_",
    "_%本%",
    "%r_h%_%",
)
WHOLES = ("0", "1", "-1", "2", "18", "65", "1000000", "2147483648", "9007199254740993", "9223372036854775807")
NUMBERS = ("0.0", "0.5", "0.1", "2.5", "-2.5", "1e-3", "1e18", "1e-30", "99.99", "9007199254740993.0")
DATES = ("1970-01-01", "2024-02-29", "0001-01-01", "9999-12-31", "1969-12-31")
MOMENTS = ("1970-01-01 00:00:00", "2026-03-08 02:30:00", "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999")
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")


def quoted(column: Column) -> str:
    """A column by its name."""
    return '"' + column.name.replace('"', '""') + '"'


def literal(value: Any) -> str:
    """A value as DuckDB reads it."""
    if value is None:
        return "NULL"
    if isinstance(value, Beyond):
        return value.sql
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return f"({value})"
    if isinstance(value, float):
        return f"CAST('{value!r}' AS DOUBLE PRECISION)"
    if isinstance(value, dt.datetime):
        zone = "" if value.tzinfo is None else "TZ"
        return f"TIMESTAMP{zone} '{value.isoformat(sep=' ')}'"
    if isinstance(value, dt.date):
        return f"DATE '{value.isoformat()}'"
    return "'" + str(value).replace("'", "''") + "'"


@dataclass
class Speaker:
    """Says things about the rows of a plan."""

    choose: Choose[Any]
    columns: Sequence[Column]
    slips: int = 0
    """In so many of a hundred places, something of another kind is said."""

    def say(self, kind: str, depth: int = 2) -> str:
        """An expression of a kind."""
        if self.slips and self.choose(range(100)) < self.slips:
            kind = self.choose(KINDS)
        ways = self._leaves(kind)
        if depth > 0:
            ways += [*self._inner(kind, depth - 1), *self._inner(kind, depth - 1)]
        return str(self.choose(ways)())

    def _of(self, *kinds: str, bounded: bool = False) -> list[str]:
        return [quoted(c) for c in self.columns if c.kind in kinds and (c.bounds is not None or not bounded)]

    def _leaves(self, kind: str) -> list[Callable[[], str]]:
        choose, constants = self.choose, _CONSTANTS[kind]
        ways: list[Callable[[], str]] = [lambda: choose(constants)]
        own = self._of(kind)
        if kind == "number":
            own = self._of("number", "integer", bounded=True) or own
        if own:
            ways += [lambda: choose(own)] * 4
        if kind in ("number", "integer"):
            ways += self._measures()
        if kind == "boolean":
            ways += [lambda: f"({quoted(choose(self.columns))} IS {choose(('', 'NOT '))}NULL)"]
        return ways

    def _measures(self) -> list[Callable[[], str]]:
        """Whole numbers made of columns of other kinds."""
        choose = self.choose
        wholes, texts, days = self._of("integer"), self._of("text"), self._of("date", "timestamp")
        ways: list[Callable[[], str]] = []
        if wholes:
            ways.append(lambda: f"({choose(wholes)} % {choose((1, 2, 7, 10, 2**31, 2**62))})")
        if texts:
            ways.append(lambda: f"LENGTH({choose(texts)})")
        if days:
            ways.append(lambda: f"EXTRACT({choose(('year', 'month', 'day'))} FROM {choose(days)})")
        if moments := self._of("timestamp"):
            ways.append(lambda: f"EXTRACT({choose(('hour', 'minute'))} FROM {choose(moments)})")
        return ways

    def _inner(self, kind: str, depth: int) -> list[Callable[[], str]]:
        ways: list[Callable[[], str]] = [lambda: self._case(kind, depth), lambda: self._coalesce(kind, depth)]
        if kind == "number":
            ways += [
                *[lambda: f"({self.say('number', depth)} {self.choose('+-*/')} {self.say('number', depth)})"] * 4,
                lambda: f"{self.choose(('ABS', 'FLOOR', 'CEIL'))}({self.say('number', depth)})",
                lambda: f"(- {self.say('number', depth)})",
                lambda: f"CAST({self.say(self.choose(('text', 'boolean', 'integer', 'number')), depth)} AS number)",
                *[self._power] * 2,
            ]
        if kind == "integer":
            ways.append(lambda: f"({self.say('integer', depth)} % {self.choose((1, 3, 100, 2**40))})")
            ways.append(lambda: f"LENGTH({self.say('text', depth)})")
            ways.append(lambda: f"EXTRACT(day FROM {self.say(self.choose(('date', 'timestamp')), depth)})")
        if kind == "boolean":
            ways += [*self._truths(depth), *self._truths(depth)]
        return ways

    def _power(self) -> str:
        """The same again and again: what a bound promises, and a row does not keep, grows fastest here."""
        wholes = self._of("integer", bounded=True) or [self.say("integer", 0)]
        text = self.choose((self.say("number", 0), *[f"CAST({self.choose(wholes)} AS number)"] * 2))
        for _ in range(self.choose((1, 2, 5, 5))):
            text = f"({text} * {text})"
        return text

    def _truths(self, depth: int) -> list[Callable[[], str]]:
        def compared() -> str:
            kind = self.choose(("number", "number", "integer", "date", "timestamp", "boolean"))
            other = kind if kind != "integer" else self.choose(("integer", "number"))
            return f"({self.say(kind, depth)} {self.choose(COMPARISONS)} {self.say(other, depth)})"

        def among() -> str:
            kind = self.choose(KINDS)
            listed = [self.choose((*_CONSTANTS[kind], "NULL")) for _ in range(self.choose((1, 3, 9)))]
            return f"({self.say(kind, depth)} {self.choose(('', 'NOT '))}IN ({', '.join(listed)}))"

        def several(word: str) -> str:
            return f"({f' {word} '.join(self.say('boolean', depth) for _ in range(self.choose((2, 2, 3))))})"

        def between() -> str:
            kind = self.choose(("number", "integer", "date", "timestamp"))
            return f"({self.say(kind, depth)} BETWEEN {self.say(kind, 0)} AND {self.say(kind, 0)})"

        return [
            compared,
            lambda: f"({self.say('text', depth)} {self.choose(('=', '<>'))} {self.say('text', depth)})",
            *[lambda: f"({self.say('text', self.choose((0, depth)))} LIKE {literal(self.choose(PATTERNS))})"] * 2,
            among,
            between,
            lambda: several("AND"),
            lambda: several("OR"),
            lambda: f"(NOT {self.say('boolean', depth)})",
            lambda: f"({self.say('boolean', depth)} IS {self.choose(('TRUE', 'FALSE', 'NOT TRUE'))})",
            lambda: f"({self.say(self.choose(KINDS), depth)} IS {self.choose(('', 'NOT '))}NULL)",
        ]

    def _case(self, kind: str, depth: int) -> str:
        cases = [
            f"WHEN {self.say('boolean', depth)} THEN {self.say(kind, depth)}" for _ in range(self.choose((1, 1, 2)))
        ]
        other = self.choose((f" ELSE {self.say(kind, depth)}", ""))
        return f"(CASE {' '.join(cases)}{other} END)"

    def _coalesce(self, kind: str, depth: int) -> str:
        return f"COALESCE({', '.join(self.say(kind, depth) for _ in range(self.choose((1, 2, 3))))})"


_CONSTANTS: dict[str, Sequence[str]] = {
    "boolean": ("TRUE", "FALSE"),
    "integer": WHOLES,
    "number": (*NUMBERS, *WHOLES[:6]),
    "text": tuple(literal(text) for text in TEXTS),
    "date": tuple(f"DATE '{day}'" for day in DATES),
    "timestamp": tuple(f"TIMESTAMP '{moment}'" for moment in MOMENTS),
}
