"""Which rows a question is about: those with one key, with a truth value, or with a number between two others."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lapwing.web.lab.analyses import forms
from lapwing.web.lab.analysis import Field
from lapwing.web.lab.statement import StatedColumn, Statement

EVERYBODY = ""
MOST_MATCHING = 10**10
FEWER = "Fewer rows match the condition, so it will be larger. To forecast that, state about how many match."
"""Of a forecast that takes all rows for granted."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on one column; without a column it holds for every row."""

    column: str = EVERYBODY
    equals: Any = None
    low: float | None = None
    high: float | None = None

    @property
    def sql(self) -> str:
        """The condition, or nothing."""
        name = forms.quoted(self.column)
        if not self.column:
            return ""
        if isinstance(self.equals, bool):
            return name if self.equals else f"NOT {name}"
        if self.equals is not None:
            return f"{name} = {literal(self.equals)}"
        ends = [f"{name} >= {self.low!r}"] if self.low is not None else []
        ends += [f"{name} <= {self.high!r}"] if self.high is not None else []
        return " AND ".join(ends)

    @property
    def words(self) -> str:
        """The same for people, or nothing."""
        if not self.column:
            return ""
        if self.equals is not None:
            said = str(self.equals).lower() if isinstance(self.equals, bool) else str(self.equals)
            return f"only rows where {self.column} is {said}"
        low, high = (None if end is None else forms.written(end) for end in (self.low, self.high))
        ends = f"at least {low}" if high is None else f"at most {high}" if low is None else f"from {low} to {high}"
        return f"only rows where {self.column} is {ends}"


def usable(statement: Statement) -> tuple[StatedColumn, ...]:
    """The columns that rows can be told apart by."""
    return tuple(
        column for column in statement.columns if column.keys or column.type == "boolean" or column in statement.bounded
    )


def fields(statement: Statement) -> tuple[Field, ...]:
    """The fields of a filter."""
    columns = usable(statement)
    if not columns:
        return ()
    everybody = (EVERYBODY, "all rows")
    hint = "A key of the column, or true or false."
    return (
        Field("where", "Only rows where", (everybody, *forms.choices(columns)), EVERYBODY, titled=False),
        Field("equals", "is", kind="text", hint=hint, titled=False),
        Field("low", "lies from", kind="number"),
        Field("high", "to", kind="number"),
    )


def matching_field(when: str) -> Field:
    """How many rows a condition holds for, as far as the public knows."""
    hint = f"By public knowledge{when}. If it is empty, the forecast is for all rows."
    return Field("matching", "About how many rows match", kind="number", hint=hint, titled=False)


def matching(form: Mapping[str, Any]) -> int:
    """What was typed there; 0 if nothing was."""
    return forms.whole(form, "matching", 1, MOST_MATCHING, 100) if forms.text(form, "matching") else 0


def of(statement: Statement, form: Mapping[str, Any]) -> Filter:
    """The filter that a form describes."""
    name = forms.text(form, "where")
    if not name:
        return Filter()
    column = forms.one_of_columns(name, "where", usable(statement), "keys, bounds, or true and false")
    wanted = forms.text(form, "equals")
    if wanted:
        return Filter(name, _value(column, wanted))
    low, high = forms.number(form, "low"), forms.number(form, "high")
    if column.bounds is None:
        known = forms.listed(column.keys or ("true", "false"))
        raise forms.Refused("equals", "", f"No value of {name} is chosen", f"Write one of {known}, or choose all rows.")
    if low is None and high is None:
        raise forms.Refused("low", "", f"No range of {name} is chosen", "Write from where, to where, or both.")
    if low is not None and high is not None and low > high:
        why = f"No number is at least {forms.written(low)} and at most {forms.written(high)}"
        raise forms.Refused("low", forms.text(form, "low"), why, "Swap the two.")
    return Filter(name, None, low, high)


def _value(column: StatedColumn, wanted: str) -> Any:
    """One key of a column, as a value of its type."""
    if column.keys and wanted not in column.keys:
        why = f"“{wanted}” is not one of the keys that you stated for {column.name}"
        first = f", and {len(column.keys) - 20} more" if len(column.keys) > 20 else ""
        raise forms.Refused("equals", wanted, why, f"Choose one of: {', '.join(column.keys[:20])}{first}.")
    if not column.keys and column.type != "boolean":
        why = f"{column.name} is a number without keys"
        raise forms.Refused("equals", wanted, why, "Leave “is” empty, and write from where to where.")
    return StatedColumn(column.name, column.type, None, (wanted,)).values[0]


def literal(value: Any) -> str:
    """A key in SQL."""
    if isinstance(value, dt.date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)
