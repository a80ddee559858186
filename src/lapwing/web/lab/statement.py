"""What the owner of a table states about it: public from then on, and never read from the data."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import lapwing as lw
from lapwing.curator.plan.text_forms import FALSE, TRUE, Notation, notation
from lapwing.curator.tables.promises import word_for
from lapwing.curator.tables.table import PrivateTable
from lapwing.errors import InvalidParameter
from lapwing.privacy import Ledger, Loss
from lapwing.web.lab.engine import ASKING, Stoppable, connected
from lapwing.web.service.plural import counted

Type = Literal["number", "integer", "text", "boolean", "date"]
LONGEST_KEY = 200
"""Characters of one key."""
DATASET = "table"
"""The name of a data set in its own ledger."""


@dataclass(frozen=True, slots=True)
class StatedColumn:
    """One column: its type, the bounds between which a number counts, the keys that there are."""

    name: str
    type: Type = "text"
    bounds: tuple[float, float] | None = None
    keys: tuple[str, ...] = ()

    @property
    def values(self) -> tuple[Any, ...]:
        """The keys as values of the column's type: what was typed is text."""
        try:
            return tuple(_READ[self.type](key) for key in self.keys)
        except (KeyError, ValueError):
            why = "not all of them fit the type of the column"
            hint = f"Write keys such as {_EXAMPLE[self.type]}, or choose text as the type of {self.name}."
            raise InvalidParameter(f"the keys of {self.name}", ", ".join(self.keys), why, hint) from None


def changes(before: Statement, after: Statement) -> tuple[str, ...]:
    """What an answer depends on and is now stated otherwise, in words: "cost from 0 to 2000 (now 0 to 50)"."""
    differences = []
    known = {column.name: column for column in after.columns}
    for column in before.columns:
        now = known.get(column.name, StatedColumn(column.name))
        if column.type != now.type:
            differences.append(f"{column.name} as {column.type} (now {now.type})")
        if column.bounds != now.bounds:
            differences.append(f"{column.name} {_from(column.bounds)} (now {_from(now.bounds)})")
        if column.keys != now.keys:
            differences.append(
                f"{column.name} with {counted(len(column.keys), 'key')} (now {_other(column.keys, now.keys)})"
            )
    if before.unit != after.unit:
        differences.append(f"rows of the same {before.unit_word} belong together (now {after.unit_word})")
    if before.max_rows_per_unit != after.max_rows_per_unit:
        rows = counted(before.max_rows_per_unit, "row")
        differences.append(f"at most {rows} of one {before.unit_word} (now {after.max_rows_per_unit:,})")
    if before.people != after.people:
        differences.append(f"about {before.crowd_size} (now {after.people:,})")
    if before.notation != after.notation:
        differences.append("how the file writes numbers, dates, yes and no")
    if before.name != after.name:
        differences.append(f"the table is called {before.name} in SQL (now {after.name})")
    return tuple(differences)


def _from(bounds: tuple[float, float] | None) -> str:
    return "without bounds" if bounds is None else f"from {bounds[0]:.15g} to {bounds[1]:.15g}"


def _other(keys: tuple[str, ...], now: tuple[str, ...]) -> str:
    return "others" if len(keys) == len(now) else f"{len(now)}"


_TRUTH = {word.lower(): meant for words, meant in ((TRUE, True), (FALSE, False)) for word in words}
_READ: Mapping[Type, Callable[[str], Any]] = {
    "number": float,
    "integer": int,
    "text": str,
    "boolean": lambda key: _TRUTH[key.strip().lower()],
    "date": dt.date.fromisoformat,
}
_EXAMPLE: Mapping[Type, str] = {
    "number": "0.5 and 1",
    "integer": "1 and 2",
    "text": "red and blue",
    "boolean": "true and false",
    "date": "2026-01-31",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Everything that is said about one table before anything is asked of it."""

    name: str
    """How SQL calls the table."""
    columns: tuple[StatedColumn, ...]
    unit: str = ""
    """The column that says whose row it is; empty if every row is somebody else's."""
    max_rows_per_unit: int = 1
    people: int = 1000
    """About how many units there are, by public knowledge: previews need it, guarantees do not."""
    epsilon: float = 1.0
    """What may be spent in all."""
    delta: float = 0.0
    teaching: bool = False
    decimal: str = "."
    """How numbers and dates are written where the file has text: "," for 1.234,50 and 31.12.2026."""
    thousands: str = ""
    """What stands between thousands there, beside a decimal point: "," for 1,234.50."""
    true: tuple[str, ...] = ()
    false: tuple[str, ...] = ()
    """The words for yes and no there; empty where they are the usual ones."""

    @property
    def crowd(self) -> str:
        """Whom or what the number of people counts, in the plural."""
        return "people" if self.unit else "rows"

    @property
    def crowd_size(self) -> str:
        """How many people, or rows, there are by public knowledge, in words."""
        return counted(self.people, "person", "people") if self.unit else counted(self.people, "row")

    def column(self, name: str) -> StatedColumn:
        """The column of that name."""
        for column in self.columns:
            if column.name == name:
                return column
        names = ", ".join(column.name for column in self.columns)
        raise InvalidParameter("column", name, "is not in this table", f"It has {names}.")

    def of_type(self, *types: Type) -> tuple[StatedColumn, ...]:
        """The columns of these types."""
        return tuple(column for column in self.columns if column.type in types)

    @property
    def bounded(self) -> tuple[StatedColumn, ...]:
        """The columns that numbers can be made of: those with bounds."""
        return tuple(column for column in self.of_type("number", "integer") if column.bounds)

    @property
    def notation(self) -> Notation:
        """How values are written where the file has text."""
        return notation(self.decimal, self.thousands or None, self.true or None, self.false or None)

    @property
    def unit_word(self) -> str:
        """Whom the guarantee is about, in a word."""
        return word_for(self.unit or lw.EACH_ROW)

    @property
    def allowance(self) -> Loss:
        """What may be spent in all, as the ledger has it."""
        if self.delta:
            return lw.ApproxDP(self.epsilon, self.delta, unit=self.unit_word)
        return lw.PureDP(self.epsilon, unit=self.unit_word)

    def open(self, source: Any, ledger: Ledger | None) -> PrivateTable:
        """The private table behind it; without a ledger nothing is counted, which only teaching mode may do."""
        own = None
        if isinstance(source, Path):  # what it spills goes with the folder
            own = Stoppable(connected(source.parent, ASKING, threads=2))
        return lw.open(
            source,
            name=self.name,
            unit=self.unit or lw.EACH_ROW,
            bounds={column.name: column.bounds for column in self.columns if column.bounds},
            keys={column.name: column.values for column in self.columns if column.keys},
            types={column.name: column.type for column in self.columns},
            allowance=None if ledger is None or DATASET in ledger.datasets() else self.allowance,
            ledger=ledger,
            dataset=DATASET if ledger else None,
            population=self.people,
            max_rows_per_unit=self.max_rows_per_unit if self.max_rows_per_unit > 1 else None,
            decimal=self.decimal,
            thousands=self.thousands or None,
            true=self.true or None,
            false=self.false or None,
            connection=own,
        )
