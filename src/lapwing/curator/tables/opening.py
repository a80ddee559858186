"""`lw.open` and `lw.public`: a table, whom it is about, and what is publicly known about its columns."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lapwing import checks
from lapwing.calls import helpful
from lapwing.checks import Number
from lapwing.curator.ask.breaker import Fuse
from lapwing.curator.ask.central import CENTRAL
from lapwing.curator.ask.context import Context, PublicTable
from lapwing.curator.ask.question import bounding_of
from lapwing.curator.plan.declarations import EachRow, completed, declared_fields
from lapwing.curator.plan.expressions import Kind
from lapwing.curator.plan.nodes import Public, Scan
from lapwing.curator.plan.text_forms import notation
from lapwing.curator.tables.promises import group_sizes, promised
from lapwing.curator.tables.sources import find_source, rows_of
from lapwing.curator.tables.table import PrivateTable
from lapwing.errors import InvalidParameter
from lapwing.privacy import Ledger, Loss, Rules

LONGEST_PUBLIC = 100_000
"""Rows of a public table, which is written into the statement."""


@helpful
def open(
    source: Any,
    *,
    unit: str | EachRow,
    bounds: Mapping[str, tuple[Number, Number]] | None = None,
    keys: Mapping[str, Iterable[Any]] | None = None,
    types: Mapping[str, Kind] | None = None,
    complete: Sequence[str] = (),
    allowance: Loss | None = None,
    rules: Rules | None = None,
    ledger: str | os.PathLike[str] | Ledger | None = None,
    dataset: str | None = None,
    name: str | None = None,
    names: Sequence[str] | None = None,
    table: str | None = None,
    analyst: str | None = None,
    population: int | None = None,
    max_units_per: Mapping[str, int] | None = None,
    max_groups_per_unit: int | None = None,
    max_rows_per_group: int | None = None,
    max_rows_per_unit: int | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str = ".",
    thousands: str | None = None,
    true: str | Sequence[str] | None = None,
    false: str | Sequence[str] | None = None,
    memory: str | None = None,
    threads: int | None = None,
    connection: Any = None,
) -> PrivateTable:
    """A private table: a CSV or Parquet file, a frame, or a table of a database.

    `unit` is the column that says whose row it is (or EACH_ROW); `bounds`, `keys`, `types` and `complete` (columns with
    a value in every row; one that is missing counts as the middle of the bounds) are public knowledge
    about columns, never read from the data. `allowance` is what may be spent in all, kept in a `ledger`, with `rules`
    about how to spend it; tables about the same people share a `dataset` name there. Where the ledger also promises
    something to households, say how many units one may have by public knowledge: `max_units_per={"household": 4}`.
    `decimal=","` is for text with numbers like 1.234,50 and dates like 31.12.2026, `thousands=","` for numbers like
    1,234.50, `true="J"` and `false="N"` for other truth values than yes and no (docs/curator.md lists what is read
    anyway). `names` renames the columns of a file, all of them in its order: for names that are missing or doubled.
    Files and frames are read by a DuckDB of our own, with so much `memory` and so many `threads`, or by yours if you
    give a `connection`, with the limits that you set there.

    Returns:
        The private table. Nothing of it is read before a question is asked.

    Raises:
        InvalidParameter: If something is declared that cannot be, or the source is not there.

    >>> from lapwing.datasets import clinic_csv
    >>> clinic = lw.open(clinic_csv(), unit="patient", bounds={"age": (0, 120)})
    >>> 40 < clinic.agg(lw.mean("age")).release(epsilon=1).value < 60
    True
    """
    for what, facts in (("bounds", bounds), ("keys", keys), ("types", types)):
        if facts is not None and not isinstance(facts, Mapping):
            raise InvalidParameter(what, facts, "must be a mapping", f"Write {what}={{'column': …}}.")
    way = notation(decimal, thousands, true, false)
    origin = find_source(
        source,
        table=table,
        delimiter=delimiter,
        encoding=encoding,
        notation=way,
        memory=memory,
        threads=threads,
        names=names,
        connection=connection,
    )
    for column in origin.opaque & set(types or ()):
        why = f"{column} has a type whose cells are not checked, so one of them could stop DuckDB"
        raise InvalidParameter("types", (types or {})[column], why, "Convert the column in the source.")
    called = name or origin.name
    fields = completed(declared_fields(origin.kinds, unit, bounds or {}, keys or {}, types or {}), complete)
    scan = Scan(called, fields, each_row=isinstance(unit, EachRow))
    book = ledger if isinstance(ledger, Ledger) or ledger is None else Ledger(ledger)
    about = dataset or called
    word = promised(book, about, unit, allowance, rules)
    sizes = group_sizes({} if max_units_per is None else max_units_per, book, about, word)
    if population is not None:
        checks.whole(population=population)
    context = Context(
        origin.engine,
        {called: origin.relation},
        word,
        (about,),
        book,
        analyst,
        population,
        sizes,
        (Fuse(about),),
        releaser=CENTRAL,
    )
    given = {"max_groups_per_unit": max_groups_per_unit, "max_rows_per_group": max_rows_per_group}
    return PrivateTable(scan, context, bounding_of({**given, "max_rows_per_unit": max_rows_per_unit}))


@helpful
def public(
    source: Any,
    *,
    name: str | None = None,
    types: Mapping[str, Kind] | None = None,
    table: str | None = None,
    encoding: str | None = None,
    decimal: str = ".",
    thousands: str | None = None,
    true: str | Sequence[str] | None = None,
    false: str | Sequence[str] | None = None,
) -> PublicTable:
    """A public table, to be joined with private ones: a file, a frame, or a list of dictionaries.

    You state that it was not derived from private data, except from a release. It is read now, as a whole.

    >>> regions = lw.public([{"region": "North", "sea": False}, {"region": "Islands", "sea": True}], name="regions")
    >>> 0 < patients.join(regions, on="region").where("sea").agg(lw.count()).release(epsilon=1).value < 3000
    True
    """
    way = notation(decimal, thousands, true, false)
    called, fields, rows = rows_of(
        source, table=table, types=types, most=LONGEST_PUBLIC, notation=way, encoding=encoding
    )
    return PublicTable(Public(name or called, fields, rows))
