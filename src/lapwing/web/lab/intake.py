"""Turn an uploaded file into a Parquet file, one row for each line, in bounded memory. Rows decide nothing.

The cells of a CSV stay text until the owner states their types; a Parquet file has its types in its schema. A line
that does not fit is treated by a rule, without a word about which: missing cells are empty, those too many left out.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from lapwing.curator.engines.encodings import UTF_16, WINDOWS
from lapwing.web.lab.engine import SPARE, engine, free_at, quoted, readable, size_of, text, watched
from lapwing.web.lab.jobs import Progress
from lapwing.web.lab.names import Name, cleaned
from lapwing.web.lab.parquet import Parquet
from lapwing.web.lab.plain import (
    Unreadable,
    as_utf8,
    first_line,
    is_packed,
    is_parquet,
    is_utf_16,
    refuse_others,
    unpacked,
)
from lapwing.web.lab.statement import Type
from lapwing.web.service.plural import counted

MOST_COLUMNS = 500
MOST_CELLS = 10**9
"""Rows times columns. A CSV of the largest size has no more; a few bytes of Parquet may claim any number."""
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_KINDS: dict[str, tuple[Type, str]] = {
    "BOOLEAN": ("boolean", ""),
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT"), ("integer", "")),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER"), ("integer", "BIGINT")),
    **dict.fromkeys(("UBIGINT", "HUGEINT", "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL"), ("number", "DOUBLE")),
    **dict.fromkeys(("VARCHAR", "UUID", "ENUM"), ("text", "VARCHAR")),
    "DATE": ("date", ""),
    **dict.fromkeys(
        ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE"), ("date", "DATE")
    ),
}
"""What a type of DuckDB is to us, and what it is kept as."""


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A column, as the header or the schema has it. `type` is None where the file does not say: a CSV never does."""

    name: str
    type: Type | None = None
    original: str = ""


@dataclass(frozen=True, slots=True)
class Intake:
    """What intake made of a file."""

    columns: tuple[FileColumn, ...]
    notes: tuple[str, ...] = ()
    delimiter: str = ""
    """What separates the cells of a line of text, by the first one."""
    encoding: str = ""
    """How the text was written, if not in UTF-8."""
    names: tuple[str, ...] = ()
    """What we call every column of the file, also those left out, if not all as the file does."""
    parquet: Parquet | None = None
    """How the rows of a Parquet file were read."""


def take(raw: Path, into: Path, progress: Progress, *, most: int, encoding: str = "") -> Intake:
    """Make the Parquet file `into` of what somebody sent; `Unreadable` says what to send instead."""
    folder = into.parent
    copies = folder / "unpacked", folder / "utf8"
    try:
        refuse_others(raw)
        source = raw
        if is_packed(raw):
            source = unpacked(raw, copies[0], most, progress, 0.0, 0.15)
            refuse_others(source)
            if is_packed(source):
                raise Unreadable("The file is packed twice. Unpack it once, then send it.")
        if is_parquet(source):
            return _from_parquet(source, into, progress, most, packed=source != raw)
        was = UTF_16.name if is_utf_16(source) else encoding
        return _from_text(as_utf8(source, copies[1], encoding, progress, 0.15, 0.3), into, progress, most, was)
    except BaseException:
        into.unlink(missing_ok=True)
        raise
    finally:
        for path in copies:
            path.unlink(missing_ok=True)


def _from_text(source: Path, into: Path, progress: Progress, most: int, encoding: str) -> Intake:
    line, skipped = first_line(source)
    delimiter = _delimiter(line)
    try:
        names = next(csv.reader([line], delimiter=delimiter, strict=True))
    except csv.Error:
        raise Unreadable(
            "The first line cannot be split into names. Look at its quotation marks: each name has two or none."
        ) from None
    columns = cleaned(_not_too_many(names))
    fields = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(len(columns)))
    options = (
        f"columns = {{{fields}}}, auto_detect = false, header = true, skip = {skipped}, delim = {text(delimiter)}, "
        """quote = '"', escape = '"', """
        "new_line = '\\n', null_padding = true, parallel = false, ignore_errors = true, strict_mode = false"
    )
    chosen = ", ".join(f"c{place} AS {quoted(column.name)}" for place, column in enumerate(columns))
    rows = f"SELECT {chosen} FROM read_csv({text(str(source))}, {options})"
    _copy(rows, len(columns), into, progress, most)
    notes = [f"The cells of a line are separated by {_DELIMITERS[delimiter]}." if len(columns) > 1 else _ONE_COLUMN]
    if encoding == WINDOWS.name:
        notes.append("The text was read as Latin-1 (Windows-1252).")
    if any(_is_value(name) for name in names):
        notes.append("The first line looks like values instead of names. If it is a record, put names above it.")
    brought = tuple(FileColumn(column.name, None, column.original) for column in columns)
    return Intake(brought, (*notes, *_renamed(columns)), delimiter, encoding, _all_names(columns))


_ONE_COLUMN = "There is one column: the first line has no comma, semicolon, tab or bar in it."


def _from_parquet(source: Path, into: Path, progress: Progress, most: int, *, packed: bool) -> Intake:
    with engine(into.parent) as connection:
        read = f"read_parquet({text(str(source))}, utf8_validation = 'replace', hive_partitioning = false)"
        try:
            schema = connection.execute(f"DESCRIBE SELECT * FROM {read}").fetchall()
            claimed = f"SELECT sum(num_rows) FROM parquet_file_metadata({text(str(source))})"
            [[rows]] = connection.execute(claimed).fetchall()
        except duckdb.Error:
            raise Unreadable("The file begins like Parquet, but it cannot be read. Save it once more.") from None
    names = cleaned(_not_too_many([str(row[0]) for row in schema]))
    if rows is not None and rows * len(names) > MOST_CELLS:
        raise Unreadable(f"It has more than {MOST_CELLS:,} cells, rows times columns. Bring fewer rows or columns.")
    kept, chosen, left_out, days = [], [], [], []
    for place, ((_, declared, *_), name) in enumerate(zip(schema, names, strict=True)):
        nested = re.search(r"[\[\]]|^(STRUCT|MAP|UNION|LIST|ARRAY)", str(declared))
        kind, cast = (None, "") if nested else _KINDS.get(str(declared).partition("(")[0], (None, ""))
        if kind is None:
            left_out.append(name.name)
            continue
        if str(declared).startswith("TIMESTAMP"):
            days.append(name.name)
        kept.append(FileColumn(name.name, kind, name.original))
        chosen.append(f"{f'CAST(c{place} AS {cast})' if cast else f'c{place}'} AS {quoted(name.name)}")
    if not kept:
        raise Unreadable(
            "No column of this Parquet file has a type that we know: numbers, text, dates, true or false. "
            "Flatten nested columns before you bring it."
        )
    given = ", ".join(f"c{place}" for place in range(len(schema)))
    _copy(f"SELECT {', '.join(chosen)} FROM {read} AS t({given})", len(kept), into, progress, most)
    how = Parquet(", ".join(chosen), given, has_moments=bool(days), packed=packed)
    notes = []
    if left_out:
        notes.append(f"Left out, because they are nested or of a type that the lab cannot use: {', '.join(left_out)}.")
    if days:
        notes.append(f"Only the day is kept of the points in time in {', '.join(days)}.")
    return Intake(tuple(kept), (*notes, *_renamed(names)), names=_all_names(names), parquet=how)


def _copy(rows: str, columns: int, into: Path, progress: Progress, most: int) -> None:
    """Write the rows of a query. No message of DuckDB is passed on: it may quote a record."""
    group = max(2048, min(61_440, 2_000_000 // columns) // 2048 * 2048)
    copy = f"COPY ({rows}) TO {text(str(into))} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {group})"
    room = 2 * most + (64 << 20)
    too_much = _grown(into.parent, size_of(into.parent) + room)
    try:
        with engine(into.parent) as connection, watched(connection, progress, 0.3, 0.98, too_much):
            [[count]] = connection.execute(copy).fetchall()
    except duckdb.OutOfMemoryException:
        raise Unreadable("Its rows are too large for the memory that one table may use. Bring fewer columns.") from None
    except duckdb.InterruptException:
        raise Unreadable(
            f"It needs more space than {readable(room)}, so we stopped. Bring fewer columns or rows."
        ) from None
    except duckdb.Error:
        raise Unreadable(
            "The rows cannot be read. Check whether every quotation mark is closed and whether the last line is "
            "complete; a program that exports CSV or Parquet gets both right."
        ) from None
    if not count:
        raise Unreadable("There are names, but no rows below them. Bring a table with at least one row.")


def _grown(folder: Path, most: int) -> Callable[[], bool]:
    return lambda: size_of(folder) > most or free_at(folder) < SPARE


def _delimiter(line: str) -> str:
    """The sign that stands most often between names, outside quotation marks."""
    bare = re.sub(r'"[^"]*"', "", line)
    return max(_DELIMITERS, key=bare.count)


def _not_too_many(names: Sequence[str]) -> Sequence[str]:
    if len(names) > MOST_COLUMNS:
        raise Unreadable(
            f"It has {len(names):,} columns, and at most {MOST_COLUMNS} are allowed. Keep those that you want "
            "to ask about; each of them needs its bounds or keys from you."
        )
    return names


def _is_value(name: str) -> bool:
    return bool(re.fullmatch(r"\s*-?\d+([.,]\d+)*\s*|\s*\d{4}-\d\d-\d\d.*", name))


def _all_names(names: Sequence[Name]) -> tuple[str, ...]:
    return tuple(name.name for name in names) if any(name.original for name in names) else ()


def _renamed(names: Sequence[Name]) -> tuple[str, ...]:
    changed = sum(bool(name.original) for name in names)
    why = "had to be changed. The list below also shows the names in the file."
    return (f"{counted(changed, 'column name')} {why}",) * bool(changed)
