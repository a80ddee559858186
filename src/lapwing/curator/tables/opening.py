"""`lw.open` and `lw.public`: a table, whom it is about, and what is publicly known about its columns."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lapwing import checks
from lapwing.calls import helpful
from lapwing.checks import Number
from lapwing.curator.ask.breaker import Fuse
from lapwing.curator.ask.central import CENTRAL
from lapwing.curator.ask.context import Context, PublicTable
from lapwing.curator.ask.question import bounding_of
from lapwing.curator.ask.quote import NO_LEDGER
from lapwing.curator.engines.encodings import is_csv
from lapwing.curator.plan.declarations import EachRow, completed, declared_fields
from lapwing.curator.plan.expressions import KINDS, Kind
from lapwing.curator.plan.nodes import Public, Scan
from lapwing.curator.plan.text_forms import meaning, missing_key, notation
from lapwing.curator.tables.promises import group_sizes, promised
from lapwing.curator.tables.sources import as_declared, find_source, rows_of
from lapwing.curator.tables.table import PrivateTable
from lapwing.errors import InvalidParameter, withheld
from lapwing.privacy import Ledger, Loss, Rules

LONGEST_PUBLIC = 100_000
"""Rows of a public table, which is written into the statement."""


_EXAMPLES = {"bounds": "{'age': (0, 120)}", "keys": "{'region': ['North', 'South']}", "types": "{'smoker': 'boolean'}"}


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
    missing: str | Sequence[str] | None = None,
    memory: str | None = None,
    threads: int | None = None,
    connection: Any = None,
) -> PrivateTable:
    """A private table: a CSV or Parquet file, a frame, or a table of a database.

    What you declare about columns is public knowledge. It is never read from the data.

    Args:
        source: A .csv or .parquet file, a frame of pandas, Polars or Arrow, a dictionary of numpy arrays, a Spark
            DataFrame or session, a DuckDB connection or file, or the address `postgresql://…` of a database.
        unit: The column that says whose row it is, or `lw.EACH_ROW` if every row is a unit of its own.
        bounds: The range of number columns, `{"age": (0, 120)}`. Values outside count as the nearest bound.
        keys: The values of columns to group by, `{"region": ["North", "South"]}`.
        types: The types of columns, `{"smoker": "boolean"}`. Every column of a CSV file is text until you declare it.
            Declare those of a frame, too: one missing cell may have changed the type of a column.
        complete: Columns that should have a value in every row. One that is missing counts as the middle of the bounds.
        allowance: What may be spent in all, `lw.PureDP(3)`. It needs a ledger.
        rules: How often one may ask, how little a question may cost, and how many may fail. They need an allowance.
        ledger: The ledger that records what is spent, or its file. None means that nobody adds it up.
        dataset: The name in the ledger. Tables about the same people share one. None means the table's name.
        name: What SQL calls the table. None means the name of the file or of the table in the database.
        names: New names for all columns of a file, in its order, for names that are missing or doubled.
        table: Which table of a database.
        analyst: Who asks, for allowances of single analysts.
        population: A public lower limit on the number of units. A delta that is too large for it is refused.
        max_units_per: How many units a household has at most by public knowledge, `{"household": 4}`, where the ledger
            also promises something to households.
        max_groups_per_unit: In how many groups one unit counts; 1 unless you say otherwise.
        max_rows_per_group: How many rows of one unit count in each group; 1 unless you say otherwise.
        max_rows_per_unit: Instead of the two: how many rows of one unit count in all groups together.
        delimiter: The character between the cells of a CSV file. None means a comma, and a tab for .tsv.
        encoding: The encoding of a CSV file. None means UTF-8.
        decimal: "," for text with numbers like 1.234,50 and dates like 31.12.2026.
        thousands: "," for text with numbers like 1,234.50.
        true: Words that mean yes, such as "J", instead of the usual ones (docs/curator.md lists them).
        false: Words that mean no, such as "N", instead of the usual ones.
        missing: Words that stand for no value in columns of text, such as "NA". None means that only empty cells do.
        memory: How much memory our DuckDB may use, such as "4GB". None means enough for all threads.
        threads: How many threads our DuckDB may use. None means one for each core.
        connection: A DuckDB connection of yours to read files and frames with, under the limits that you set there.

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
            raise InvalidParameter(what, facts, "must be a mapping", f"Write {what}={_EXAMPLES[what]}.")
    for kind in (types or {}).values():
        checks.one_of(KINDS, types=kind)
    checks.text_or_none(name=name, dataset=dataset, table=table, analyst=analyst)
    way = notation(decimal, thousands, true, false, missing)
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
        kinds=types,
    )
    for column in origin.opaque & set(types or ()):
        why = f"{column} has a type whose cells are not checked, so one of them could stop DuckDB"
        raise InvalidParameter("types", (types or {})[column], why, "Convert the column in the source.")
    called = name or origin.name
    where = "the table"
    if isinstance(source, str | os.PathLike) and is_csv(source) and names is None:
        where = f"the first line of {Path(source).name}, which must hold the column names"
    declared = declared_fields(origin.kinds, unit, bounds or {}, keys or {}, types or {}, where=where)
    for field in declared:
        for key in field.keys or () if field.kind == "text" else ():
            if isinstance(key, str) and meaning(key, "text", way) is None:
                raise missing_key(field.name, key)
    fields = completed(declared, complete)
    origin = as_declared(origin, fields)
    scan = Scan(called, fields, each_row=isinstance(unit, EachRow))
    if isinstance(ledger, str) and ledger == NO_LEDGER:  # the note of an answer; as a file, it would have that name
        ledger = None
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
    names: Sequence[str] | None = None,
    table: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str = ".",
    thousands: str | None = None,
    true: str | Sequence[str] | None = None,
    false: str | Sequence[str] | None = None,
    missing: str | Sequence[str] | None = None,
) -> PublicTable:
    """A public table, to be joined with private ones. It is read now, as a whole.

    You state that it was not derived from private data, except from a release.

    Args:
        source: A file, a frame, a list of dictionaries, or a database. It has at most 100,000 rows.
        name: What SQL calls the table. None means the name of the file, or "public" for a list.
        types: The types of columns, `{"zip": "text"}`.
        names: New names for all columns of a file, in its order, for names that are missing or doubled.
        table: Which table of a database.
        delimiter: The character between the cells of a CSV file. None means a comma, and a tab for .tsv.
        encoding: The encoding of a CSV file. None means UTF-8.
        decimal: "," for text with numbers like 1.234,50.
        thousands: "," for text with numbers like 1,234.50.
        true: Words that mean yes, instead of the usual ones.
        false: Words that mean no, instead of the usual ones.
        missing: Words that stand for no value in columns of text, such as "NA". None means that only empty cells do.

    Returns:
        The public table. Its values are public keys, and its numbers have public bounds.

    Raises:
        InvalidParameter: If something is declared that cannot be, the source is not there, or it has too many rows.

    >>> regions = lw.public([{"region": "North", "sea": False}, {"region": "Islands", "sea": True}], name="regions")
    >>> 0 < patients.join(regions, on="region").where("sea").agg(lw.count()).release(epsilon=1).value < 3000
    True
    """
    checks.text_or_none(name=name, table=table)
    if types is not None and not isinstance(types, Mapping):
        raise InvalidParameter("types", types, "must be a mapping", f"Write types={_EXAMPLES['types']}.")
    kinds = list((types or {}).values())
    with withheld("has a kind that is not one of the options", f"Write some of: {', '.join(KINDS)}.", types=kinds):
        for kind in kinds:
            checks.one_of(KINDS, types=kind)
    way = notation(decimal, thousands, true, false, missing)
    file: dict[str, Any] = {"delimiter": delimiter, "encoding": encoding, "names": names}
    called, fields, rows = rows_of(source, table=table, types=types, most=LONGEST_PUBLIC, notation=way, **file)
    return PublicTable(Public(name or called, fields, rows))
