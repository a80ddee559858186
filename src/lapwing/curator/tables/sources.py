"""Where tables come from: files, frames, databases."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.curator.engines.encodings import UTF_8, Encoding, encoding_of, is_csv
from lapwing.curator.plan.expressions import Column, Kind
from lapwing.curator.plan.nodes import Public
from lapwing.curator.plan.text_forms import PLAIN, Notation, meaning
from lapwing.curator.plan.values import is_short
from lapwing.errors import EngineUnreachable, InvalidParameter, MissingExtra

if TYPE_CHECKING:
    from lapwing.curator.engines.engine import Source

MOST_KEYS = 10_000
"""Different values of a public column that may be keys: each is a row of an answer grouped by it."""
_ADDRESSES = ("postgresql://", "postgres://", "spark://", "duckdb://")
_HINT = (
    "Pass a .csv or .parquet file, a pandas, Polars or Arrow table, a dictionary of numpy arrays, a Spark DataFrame, "
    "or a database and table='…'."
)


def find_source(
    source: Any,
    *,
    table: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    notation: Notation = PLAIN,
    memory: str | None = None,
    threads: int | None = None,
    names: Sequence[str] | None = None,
    connection: Any = None,
    kinds: Mapping[str, Kind] | None = None,
) -> Source:
    """The engine and the table that a source stands for. `kinds` says what columns were declared to be."""
    read_as = encoding_of(encoding)
    if connection is not None:
        _check_connection(connection)
    if read_as != UTF_8 and not any(is_csv(name) for name in (source, table)) and delimiter is None:
        raise InvalidParameter("encoding", encoding, "is for CSV files", "Leave it out.")
    if names is not None and not (isinstance(source, str | os.PathLike) and _is_file(Path(source))):
        raise InvalidParameter("names", names, "is for CSV and Parquet files", "Rename the columns in the source.")
    module = type(source).__module__.partition(".")[0]
    if connection is not None and (module in ("duckdb", "_duckdb", "pyspark") or is_database(source)):
        why = "is for files and frames, not for databases"
        raise InvalidParameter("connection", connection, why, "Leave it out.")
    if isinstance(source, str) and source.startswith(("postgresql://", "postgres://")):
        from lapwing.curator.engines.postgres import from_url

        _pointed(notation)
        return _noted(from_url(source, _needed(table)), notation, {})
    if module == "pyspark" or (isinstance(source, str) and source.startswith("spark://")):
        from lapwing.curator.engines import spark

        _pointed(notation)
        return _noted(spark.from_spark(source, table, read_as), notation, _said(read_as))
    if module in _DRIVERS:
        database, instead = _DRIVERS[module]
        raise InvalidParameter("source", type(source), f"is a connection to {database}", instead)
    origin = _embedded(
        source,
        module,
        read_as,
        table=table,
        delimiter=delimiter,
        memory=memory,
        threads=threads,
        names=names,
        connection=connection,
        kinds=kinds,
    )
    is_told = names is None and len(origin.relation.types) > 1  # by the first line, which one delimiter alone reads so
    separated = {} if is_told or not is_csv(source) else _separated(Path(source), delimiter)
    return _noted(origin, notation, _said(read_as) | separated)


_POSTGRES = "Write its address as the source: lw.open('postgresql://…', table='visits')."
_DRIVERS = {
    "pyspark": ("Spark", "Write it as the source: lw.open(spark, table='visits'), or a DataFrame: lw.open(frame)."),
    **dict.fromkeys(("psycopg", "psycopg2", "asyncpg", "pg8000", "sqlalchemy"), ("PostgreSQL", _POSTGRES)),
    "sqlite3": ("SQLite", "Write a file or a frame as the source: lw.open('visits.csv'), lw.open(frame)."),
}
"""By the package of a connection: what it is to, and what to write instead."""


def _check_connection(connection: Any) -> None:
    """Refuse whatever is not a connection of DuckDB, or an object that hands out its cursors."""
    module = type(connection).__module__.partition(".")[0]
    if module in _DRIVERS:
        database, instead = _DRIVERS[module]
        why = f"is one to {database}, and files and frames are read by DuckDB"
        raise InvalidParameter("connection", type(connection), why, instead)
    if not hasattr(connection, "cursor"):
        why = "is not a DuckDB connection"
        raise InvalidParameter("connection", connection, why, "Write connection=duckdb.connect().")


def _noted(origin: Source, notation: Notation, file: Mapping[str, str]) -> Source:
    return replace(origin, relation=replace(origin.relation, notation=notation, file=file))


def _said(encoding: Encoding) -> dict[str, str]:
    return {} if encoding == UTF_8 else {"encoding": encoding.name}


def _separated(path: Path, delimiter: str | None) -> dict[str, str]:
    from lapwing.curator.engines.duckdb import usual_delimiter

    return {} if delimiter in (None, usual_delimiter(path)) else {"delimiter": delimiter}


def _pointed(notation: Notation) -> None:
    if notation.decimal != ".":
        why = "text with decimal commas is read from files, frames and DuckDB only"
        raise InvalidParameter(
            "decimal", notation.decimal, why, "Give the column a type of numbers in the database, or export it."
        )


def _embedded(
    source: Any,
    module: str,
    encoding: Encoding,
    *,
    table: str | None,
    delimiter: str | None,
    memory: str | None,
    threads: int | None,
    names: Sequence[str] | None,
    connection: Any,
    kinds: Mapping[str, Kind] | None,
) -> Source:
    from sqlglot import exp

    from lapwing.curator.engines import duckdb as engines
    from lapwing.curator.engines.databases import Database, within

    if threads is not None:
        checks.whole(threads=threads)
    if delimiter is not None and (not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n\0'):
        raise InvalidParameter("delimiter", delimiter, "must be one character", "Write delimiter=';', for example.")
    if memory is not None:
        within(memory)
    if connection is not None and (memory is not None or threads is not None):
        why = "brings limits of its own"
        raise InvalidParameter("connection", connection, why, "Leave memory= and threads= out, or set them there.")
    engine = engines.EmbeddedDuckDB(Database(memory, threads), connection)
    if module in ("duckdb", "_duckdb"):
        return engines.source(
            engines.EmbeddedDuckDB(given=source), exp.to_table(_needed(table), dialect="duckdb"), _needed(table)
        )
    if isinstance(source, str | os.PathLike):
        path = Path(source.removeprefix("duckdb://") if isinstance(source, str) else source)
        if not _is_file(path):
            raise InvalidParameter("source", str(source), "there is no such file", _HINT)
        if is_database(source):
            return engines.from_database(path, _needed(table))
        try:
            return engines.from_file(path, engine, delimiter=delimiter, encoding=encoding, names=names)
        except EngineUnreachable:
            why = "does not have the format of its file extension"
            raise InvalidParameter("source", str(source), why, _HINT) from None
    if module == "polars" and not _has("pyarrow"):
        raise MissingExtra("pyarrow", "arrow")
    if module == "pyarrow" and type(source).__name__ in ("RecordBatchReader", "Scanner"):
        raise InvalidParameter("source", type(source), "can be read only once", "Read it all: source.read_all().")
    if module == "pyarrow" and type(source).__name__ not in ("Table", "RecordBatch"):
        why = "is read in a way that can fail at some cells"
        raise InvalidParameter("source", type(source), why, "Open the file by its name, or source.to_table().")
    if module in ("pandas", "polars", "pyarrow") or _is_arrays(source):
        try:
            return engines.from_frame(source, engine, table or "table", kinds)
        except EngineUnreachable:
            raise InvalidParameter("source", type(source), "is a table that DuckDB cannot read", _HINT) from None
    raise InvalidParameter("source", type(source), "is not a table that can be opened", _HINT)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # no path: a whole file was passed as text
        return False


def as_declared(origin: Source, fields: Iterable[Column]) -> Source:
    """The source, with Python objects in a frame of this process to be read as what their columns were declared to be.

    That is also said by bounds and keys, which only make sense once it is known which columns there are.
    """
    from lapwing.curator.engines import duckdb as engines

    relation, engine = origin.relation, origin.engine
    if not isinstance(engine, engines.EmbeddedDuckDB) or not engines.is_frame(relation):
        return origin
    kinds = {field.name: field.kind for field in fields}
    return replace(origin, relation=engines.described(engine, relation, kinds))


def is_database(source: Any) -> bool:
    """Whether it is the address of a database, or a file of DuckDB."""
    if not isinstance(source, str | os.PathLike):
        return False
    path = str(source)
    return path.startswith(_ADDRESSES) or Path(path).suffix.lower() in (".duckdb", ".db")


def _has(package: str) -> bool:
    from importlib.util import find_spec

    return find_spec(package) is not None


def _is_arrays(source: Any) -> bool:
    if not isinstance(source, dict) or not source:
        return False
    if not all(hasattr(column, "dtype") for column in source.values()):
        why = "is a dictionary whose columns are not numpy arrays"
        raise InvalidParameter("source", type(source), why, "Write np.array(…) around each column, or pass a frame.")
    if len({column.shape[:1] for column in source.values()}) > 1:
        why = "is a dictionary whose columns have different lengths"
        raise InvalidParameter("source", type(source), why, "Pass arrays with one entry for each row.")
    return True


def _needed(table: str | None) -> str:
    if table is None:
        raise InvalidParameter("table", None, "a database has many tables", "Write table='visits'.")
    return table


def rows_of(
    source: Any,
    *,
    table: str | None,
    types: Mapping[str, Kind] | None,
    most: int,
    notation: Notation = PLAIN,
    **file: Any,
) -> tuple[str, tuple[Column, ...], tuple[tuple[Any, ...], ...]]:
    """A public table as a whole: its name, columns and rows. `file` says how a file is written, as in `find_source`."""
    from sqlglot import exp

    if isinstance(source, list):
        _refuse_for_list(notation, table=table, **file)
        return _listed(source, types or {}, most, notation)
    origin = find_source(source, table=table, notation=notation, kinds=types, **file)
    kinds = {name: (types or {}).get(name, kind) for name, kind in origin.kinds.items()}
    fields = tuple(Column(name, kind) for name, kind in kinds.items() if kind is not None)
    columns = [
        origin.engine.dialect.read(
            exp.column(exp.to_identifier(field.name, quoted=True), table="s"),
            origin.relation.types[field.name],
            field.kind,
            notation=notation,
        ).as_(f"c{i}")
        for i, field in enumerate(fields)
    ]
    query = exp.select(*columns).from_(exp.alias_(origin.relation.table.copy(), "s", table=True)).limit(most + 1)
    with origin.engine.session([origin.relation]) as session:
        rows = tuple(session.fetch(query))
    _check_length(rows, most)
    return origin.name, _known(fields, rows), rows


def _listed(
    source: list[Any], types: Mapping[str, Kind], most: int, notation: Notation
) -> tuple[str, tuple[Column, ...], tuple[tuple[Any, ...], ...]]:
    """A public table from a list of dictionaries: it is public, so its kinds may follow from its values."""
    from lapwing.curator.show.answer import type_of

    if not source or not all(isinstance(row, dict) and row.keys() == source[0].keys() for row in source):
        raise InvalidParameter(
            "source", "<list>", "must be dictionaries with the same keys", "Write [{'zip': 1, …}, …]."
        )
    names = list(source[0])
    rows = tuple(tuple(_cell(row[name], notation) for name in names) for row in source)
    _check_length(rows, most)
    kinds = [types.get(name) or type_of("key", tuple(row[i] for row in rows)) for i, name in enumerate(names)]
    fields = tuple(Column(name, kind) for name, kind in zip(names, kinds, strict=True))
    rows = Public("public", fields, rows).rows
    return "public", _known(fields, rows), rows


def _cell(cell: Any, notation: Notation) -> Any:
    """A cell of a list, or None if it is a word that stands for no value."""
    return meaning(cell, "text", notation) if isinstance(cell, str) and notation.missing else cell


def _refuse_for_list(notation: Notation, **file: Any) -> None:
    """Options that say how a file is written would be passed over without a word."""
    words = ("decimal", "thousands", "true", "false")
    given = [(name, getattr(notation, name)) for name in words if getattr(notation, name) != getattr(PLAIN, name)]
    for name, value in (*given, *file.items()):
        if value is not None:
            hint = "Leave it out, and write the list with the names and values that you mean."
            raise InvalidParameter(name, value, "is for files and databases, and this is a list of rows", hint)


def _known(fields: tuple[Column, ...], rows: tuple[tuple[Any, ...], ...]) -> tuple[Column, ...]:
    """Columns of a public table with their values as public keys and bounds."""
    known = []
    for i, field in enumerate(fields):
        values = list(dict.fromkeys(row[i] for row in rows))
        present = [value for value in values if value is not None]
        few = len(values) <= MOST_KEYS and all(map(is_short, values))
        if field.kind in ("boolean", "integer", "text", "date") and few:
            field = replace(field, keys=tuple(values))
        if field.kind in ("integer", "number") and present and min(present) < max(present):
            field = replace(field, bounds=(Fraction(min(present)), Fraction(max(present))))
        known.append(field)
    return tuple(known)


def _check_length(rows: tuple[Any, ...], most: int) -> None:
    if not 0 < len(rows) <= most:
        why = f"a public table has between 1 and {most} rows"
        raise InvalidParameter(
            "source", f"{len(rows)} rows", why, "Filter it, or make it a column of the private table."
        )
