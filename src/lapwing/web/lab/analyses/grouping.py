"""Columns to group by: those whose keys are stated, and those that are true or false."""

from __future__ import annotations

from typing import Any

from lapwing.curator.tables.table import Grouped, PrivateTable
from lapwing.web.lab.analyses import forms
from lapwing.web.lab.analyses.filters import literal
from lapwing.web.lab.analyses.rows import Rows
from lapwing.web.lab.statement import StatedColumn, Statement

_TAKEN = ("self", "names", "keys", "everything_else")
"""Names that `group_by` has a meaning for."""
NEED = "keys"


def usable(statement: Statement) -> tuple[StatedColumn, ...]:
    """The columns that make groups without paying for their names."""
    return tuple(
        column
        for column in statement.columns
        if (column.keys or column.type == "boolean") and column.name != statement.unit
    )


def values(column: StatedColumn) -> tuple[Any, ...]:
    """The keys of a column, in the order of the answer."""
    return tuple(dict.fromkeys(column.values)) if column.keys else (False, True)


def grouped(table: PrivateTable, column: str) -> Grouped:
    """The table by the keys of a column, whatever its name is."""
    if column in _TAKEN:
        return table.group_by(forms.quoted(column))
    return table.group_by(**{column: forms.quoted(column)})  # type: ignore[arg-type]


def called(column: str) -> str:
    """The same as Python."""
    if column in _TAKEN:
        return f".group_by({forms.quoted(column)!r})"
    if column.isidentifier() and column.isascii():
        return f".group_by({column}={forms.quoted(column)!r})"
    return f".group_by(**{{{column!r}: {forms.quoted(column)!r}}})"


def by_value(source: Rows, column: StatedColumn, what: str) -> list[tuple[Any, ...]]:
    """What SQL says about each key, in their order; nothing for a key that no row has."""
    name = forms.quoted(column.name)
    known = ", ".join(literal(value) for value in values(column))
    statement = f"SELECT {name}, {what} FROM rows WHERE {name} IN ({known}) GROUP BY {name}"
    rows = {row[0]: row[1:] for row in source.all(statement)}
    return [rows.get(value, ()) for value in values(column)]
