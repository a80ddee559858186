"""The owner's check of a table (`PrivateTable.check`), in the words of the lab.

**Not private.** It counts cells and quotes some. Whoever brought the table is its owner here and may see it, once they
say so: teaching mode only. It is shown once, marked, and not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from lapwing.curator.plan.limits import percent
from lapwing.curator.tables.check import Check, ColumnCheck, PerUnit
from lapwing.web.lab import releases
from lapwing.web.lab.analyses.curated import stopping
from lapwing.web.lab.bench import Bench
from lapwing.web.lab.jobs import Progress
from lapwing.web.lab.statement import Statement
from lapwing.web.lab.statement_form import TYPE_WORDS
from lapwing.web.service.plural import counted

MANY = 0.05
"""A share of cells that is worth a word."""
_WORDS: dict[str, str] = {"timestamp": "point in time"} | {str(kind): word for kind, word in TYPE_WORDS.items()}
EPSILON = 1.0
"""What the advice on rows of one person reckons with."""


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing to change, and the column it is about."""

    text: str
    place: int | None = None


@dataclass(frozen=True, slots=True)
class Cells:
    """One column: how many of its cells fit what was stated."""

    place: int
    name: str
    stated: str
    fits: str
    """The share of rows whose cell counts as it is written."""
    width: float
    """The same out of 100, for a bar."""
    absent: int
    unread: int
    outside: int | None
    elsewhere: int | None
    unread_examples: tuple[str, ...]
    elsewhere_examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RowsEach:
    """How many rows one person has, and what a limit would do."""

    half: int
    most: int
    largest: int
    limits: tuple[tuple[int, str, str], ...]
    """A limit, the rows that count with it, and the noise of a count."""
    stated: int
    suggested: int


@dataclass(frozen=True, slots=True)
class Report:
    """The check for people."""

    rows: int
    people: int
    unit: str
    duplicates: int
    advice: tuple[Advice, ...]
    columns: tuple[Cells, ...]
    each: RowsEach | None
    epsilon: float = EPSILON


def work(bench: Bench) -> Callable[[Progress], dict[str, Any]]:
    """The work of a check. Teaching mode only."""
    bench.teach()
    data = bench.data(charged=False)

    def look(progress: Progress) -> dict[str, Any]:
        table = data.statement.open(data.path, None)
        with stopping(table, progress):
            check = table.check(epsilon=EPSILON)
        progress(1.0)
        return {"kind": "check", "report": releases.plain(report(check, data.statement))}

    return releases.taught(look)


def report(check: Check, statement: Statement) -> Report:
    """What a check found, as the page shows it."""
    columns = tuple(_cells(place, column) for place, column in enumerate(check.columns))
    rows = next((part for part in check.per_unit if part.what == "rows"), None)
    each = None if rows is None else _each(rows, statement.max_rows_per_unit)
    people = check.rows if check.unit is None else check.units or 0
    advice = tuple(_advice(check, statement, people, rows))
    return Report(check.rows, people, statement.unit, check.duplicates, advice, columns, each)


def _cells(place: int, column: ColumnCheck) -> Cells:
    outside = None if column.bounds is None else column.below + column.above
    elsewhere = None if column.keys is None else column.elsewhere
    fitting = column.read - (outside or 0) - (elsewhere or 0)
    share = 100 * max(0, fitting) / column.rows if column.rows else 0.0
    quoted = tuple(f"{example.text} ({example.cells:,})" for example in column.examples)
    others = tuple(f"{example.text} ({example.cells:,})" for example in column.others)
    return Cells(
        place, column.name, _stated(column), percent(max(0, fitting), column.rows), round(share, 1),
        column.absent, column.unread, outside, elsewhere, quoted, others,
    )  # fmt: skip


def _stated(column: ColumnCheck) -> str:
    kind = _WORDS[column.kind]
    if column.is_unit:
        return f"{kind}; says whose row it is"
    parts = [kind]
    if column.bounds is not None:
        parts.append(f"{column.bounds[0]:g} to {column.bounds[1]:g}")
    if column.keys is not None:
        parts.append(counted(column.keys, "key"))
    return ", ".join(parts)


def _each(rows: PerUnit, stated: int) -> RowsEach:
    total, frequencies = rows.frequencies.total, rows.frequencies
    limits = tuple((limit.limit, percent(limit.kept, total), f"± {limit.noise:,.3g}") for limit in rows.limits)
    return RowsEach(
        frequencies.quantile(0.5), frequencies.quantile(0.9), frequencies.largest, limits, stated, rows.recommended
    )


def _advice(check: Check, statement: Statement, people: int, rows: PerUnit | None) -> Iterator[Advice]:
    """What to change, in order of importance."""
    for place, column in enumerate(check.columns):
        yield from _of_column(place, column)
    if check.rows_without_unit:
        silent = counted(check.rows_without_unit, "row does", "rows do")
        yield Advice(f"{silent} not say who they belong to. Such rows never count.")
    if check.unit is None and check.duplicates:
        same = counted(check.duplicates, "row repeats", "rows repeat")
        yield Advice(
            f"{same} another row exactly. If one person may have several rows, say which column identifies the person. "
            "Otherwise that person is protected less."
        )
    if rows is not None:
        kept, total, stated = (
            rows.frequencies.kept(statement.max_rows_per_unit), rows.frequencies.total, statement.max_rows_per_unit
        )  # fmt: skip
        if kept < total / 2 and rows.recommended > stated:
            yield Advice(
                f"Only {percent(kept, total)} of all rows count, because you stated that at most "
                f"{counted(stated, 'row')} of one {statement.unit} count{'s' if stated == 1 else ''}. A limit of about "
                f"{rows.recommended} would balance lost rows and noise."
            )
    if not statement.people / 3 <= people <= statement.people * 3:
        yield Advice(
            f"You stated about {statement.people:,} people, and the table has {people:,}. Guarantees stay as they are. "
            "Errors are predicted for the number that you stated."
        )


def _of_column(place: int, column: ColumnCheck) -> Iterator[Advice]:
    written, kind = column.rows - column.absent, _WORDS[column.kind]
    if written and column.unread == written:
        why = "Choose another type, or say how numbers, dates, yes and no are written in your file."
        yield Advice(f"No cell of {column.name} could be read as “{kind}”. {why}", place)
    elif column.unread > MANY * written:
        share = percent(column.unread, written)
        yield Advice(
            f"{share} of the values in {column.name} could not be read as “{kind}”. They count as missing.", place
        )
    if column.bounds is not None and column.below + column.above > MANY * column.read:
        share, (low, high) = percent(column.below + column.above, column.read), column.bounds
        yield Advice(
            f"{share} of the values in {column.name} lie outside {low:g} to {high:g} and count as the nearest bound. "
            "Wider bounds would distort answers less, but need more noise.",
            place,
        )
    if column.keys is not None and column.elsewhere > MANY * column.read:
        share = percent(column.elsewhere, column.read)
        why = "are not among the keys that you stated. They are in no group."
        yield Advice(f"{share} of the values in {column.name} {why}", place)
