"""DuckDB, embedded: files, frames and arrays, or a table of a database of its own."""

from __future__ import annotations

import csv
import itertools
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from lapwing.curator.engines import cells
from lapwing.curator.engines.compiler import Relation
from lapwing.curator.engines.containment import answered, closing, contained, reached, unchanged, waited
from lapwing.curator.engines.databases import Database
from lapwing.curator.engines.dialects import Dialect
from lapwing.curator.engines.duckdb_dialect import DuckDB
from lapwing.curator.engines.duckdb_types import kind_of
from lapwing.curator.engines.encodings import UTF_8, Copies, EncodedFile, Encoding, is_csv, is_packed, source_of
from lapwing.curator.engines.engine import Session, Source
from lapwing.curator.plan.expressions import Kind
from lapwing.curator.plan.hints import are_names
from lapwing.errors import EngineUnreachable, InvalidParameter, MissingExtra

if TYPE_CHECKING:
    import duckdb

NAME = "DuckDB"
_NUMBER = itertools.count()
_MILLISECONDS = re.compile(r"TIMESTAMP_MILLIS|TimestampType.*MILLIS=MilliSeconds")  # its old name, or its new one
OTHER_DELIMITERS = (";", "\t", "|")
"""Signs of a file that is separated by something else, if its first line, which is public, seems to be one name."""
SETTINGS = {
    "TimeZone": "UTC",
    "default_collation": "",  # whatever a database was told, text is compared byte by byte
    "default_order": "asc",
    "enable_progress_bar": "true",  # says how far it is, to us alone
    "enable_progress_bar_print": "false",
}


@dataclass(frozen=True)
class EmbeddedDuckDB:
    """DuckDB in this process: a database of our own, or that of a connection."""

    own: Database = field(default_factory=Database)
    given: duckdb.DuckDBPyConnection | None = None
    dialect: Dialect = field(default_factory=DuckDB)
    name: str = NAME

    @contextmanager
    def session(self, relations: Iterable[Relation]) -> Iterator[Session]:
        """A cursor of its own with one transaction."""
        tables, stopped = list(relations), getattr(self.given, "stopped", None)
        with Copies() as copies:
            cursor = reached(NAME, partial(waited, partial(self._begun, tables, copies), copies.stop))
            with closing(NAME, lambda: cursor.execute("ROLLBACK").close()):  # temporary tables go with it
                yield _Cursor(cursor, self.dialect, stopped)

    def types(self, relation: Relation) -> dict[str, str]:
        """The columns of a table and their types."""
        empty = replace(relation, frame=cells.without_rows(relation.frame))

        def described() -> dict[str, str]:
            cursor = self._cursor([empty])
            try:
                return self._types(cursor, relation)
            finally:
                cursor.close()

        return reached(NAME, partial(waited, described))

    def _types(self, cursor: duckdb.DuckDBPyConnection, relation: Relation) -> dict[str, str]:
        described = f"DESCRIBE {self.dialect.sql(exp.select('*').from_(relation.table.copy()))}"
        types = {name: str(declared) for name, declared, *_ in cursor.execute(described).fetchall()}
        return types | dict.fromkeys(cells.unchecked_text(relation.frame, types), cells.UNCHECKED_TEXT)

    def _begun(self, relations: list[Relation], copies: Copies) -> duckdb.DuckDBPyConnection:
        """A transaction in which every table is what it was when it was opened: expressions are total for its types."""
        cursor = self._cursor([relation for relation in relations if not isinstance(relation.frame, EncodedFile)])
        try:
            for relation in relations:
                if isinstance(relation.frame, EncodedFile):
                    shown = self.dialect.sql(exp.select("*").from_(_copied(relation.frame, copies)))
                    cursor.execute(f"CREATE TEMP VIEW {relation.table.name} AS {shown}")
            cursor.execute("BEGIN TRANSACTION")
            for relation in relations:
                unchanged(NAME, relation, self._types(cursor, relation))
        except BaseException:
            cursor.close()  # an error may live long, and would keep the file of a database open
            raise
        return cursor

    def parquet_types(self, path: Path) -> dict[str, str]:
        """The columns of a Parquet file and how it stores them, by its schema alone."""
        described = exp.select("name", "converted_type", "logical_type")
        text = self.dialect.sql(described.from_(_function("parquet_schema", literal(path))))
        rows = reached(NAME, partial(waited, lambda: self._cursor([]).execute(text).fetchall()))
        return {name: f"{old} {new}" for name, old, new in rows}

    def _cursor(self, relations: Iterable[Relation]) -> duckdb.DuckDBPyConnection:
        cursor = (self.own if self.given is None else self.given).cursor()
        for name, value in SETTINGS.items():
            cursor.execute(f"SET SESSION {name} = '{value}'")  # for this cursor, not for the user's connection
        for relation in relations:
            if relation.frame is not None:
                # A frame without cells that stop DuckDB. It reads rows, so a failure is one of the engine.
                taken = partial(cells.total, relation.frame, relation.notation, relation.kinds)
                cursor.register(relation.table.name, contained(NAME, taken))
        return cursor


@dataclass(frozen=True)
class _Cursor:
    cursor: duckdb.DuckDBPyConnection
    dialect: Dialect
    stopped: Callable[[], bool] | None
    """Whether somebody else interrupted this cursor on purpose."""

    def fetch(self, query: exp.Query) -> list[tuple[Any, ...]]:
        text = self.dialect.sql(query)
        rows: list[tuple[Any, ...]] = self._run(lambda: self.cursor.execute(text).fetchall())
        return rows

    def keep(self, query: exp.Query) -> exp.Table:
        name = f"lapwing_kept_{next(_NUMBER)}"
        text = f"CREATE TEMP TABLE {name} AS {self.dialect.sql(query)}"
        self._run(lambda: self.cursor.execute(text))
        return exp.to_table(name)

    def _run(self, work: Callable[[], Any]) -> Any:
        def share() -> float:
            return self.cursor.query_progress() / 100

        return answered(NAME, work, self.cursor.interrupt, fraction=share, stopped=self.stopped)


def from_file(
    path: Path,
    engine: EmbeddedDuckDB,
    *,
    delimiter: str | None,
    encoding: Encoding = UTF_8,
    names: Sequence[str] | None = None,
) -> Source:
    """A CSV or Parquet file. The columns of a CSV are text: guessing their types would mean reading the records.

    `names` are what the columns are called from now on, whatever the file calls them. A `delimiter` says that a file is
    text, whatever its ending is.
    """
    name = re.sub(r"(\.(csv|tsv|txt|parquet|pq|gz|zst))+$", "", path.name, flags=re.IGNORECASE)
    if re.search(r"\.(parquet|pq)$", path.name, flags=re.IGNORECASE):
        return _parquet(path, engine, name, names)
    if is_csv(path) or delimiter is not None:
        sign, called, skipped = _header(path, delimiter, encoding, names)
        if encoding == UTF_8:
            return source(engine, _csv(path, called, sign, skipped), name)
        return _encoded(EncodedFile(path.absolute(), encoding, called, sign, skipped), engine, name)
    hint = "Open a .csv, .tsv, .txt (each also as .gz) or .parquet file, or a table of a database."
    raise InvalidParameter("source", str(path), "is of an unknown kind", hint)


def literal(path: Path) -> exp.Expr:
    """The one file of this name. To DuckDB a name is a pattern: `v[12].csv` would be v1.csv, `w*.csv` many."""
    whole = str(path.absolute())
    if "\\" in whole and re.search(r"[*?[]", whole):
        why = "has a backslash beside *, ? or [, which DuckDB takes for a pattern"
        raise InvalidParameter("source", str(path), why, "Rename the file or its folder.")
    return exp.Literal.string(re.sub(r"[*?[]", r"[\g<0>]", whole))


def _parquet(path: Path, engine: EmbeddedDuckDB, name: str, names: Sequence[str] | None) -> Source:
    """A Parquet file. DuckDB's reader turns bytes that are no UTF-8 into question marks if it is told to.

    Then what the file says about its least and greatest text is not about the text that is read, and of NaN it says
    nothing. Neither may be a reason to leave out rows or tests, so DuckDB is told of NaN, and reads text in a TRY: of
    what comes out of it, it knows nothing. It stops at a moment in milliseconds that microseconds cannot hold, whatever
    it is told: such columns are read through Arrow.
    """
    if any(_MILLISECONDS.search(stored) for stored in engine.parquet_types(path).values()):
        if names is not None:
            why = "cannot be given where a column has moments in milliseconds, which are read in another way"
            raise InvalidParameter("names", list(names), why, "Leave it out, or write the file in microseconds.")
        try:
            return from_frame(cells.parquet(path), engine, name)
        except ImportError:
            raise MissingExtra("pyarrow", "arrow") from None
    options = {"utf8_validation": exp.Literal.string("replace"), "hive_partitioning": exp.false()}
    file = _function("read_parquet", literal(path), can_have_nan=exp.true(), **options)
    types = engine.types(Relation(file, {}))
    if names is not None:
        _distinct(path, names, len(types))
    columns = []
    for (column, declared), called in zip(types.items(), names or types, strict=True):
        cell: exp.Expr = exp.column(exp.to_identifier(column, quoted=True))
        if declared == "VARCHAR":
            cell = exp.Anonymous(this="TRY", expressions=[cell])
        columns.append(exp.alias_(cell, exp.to_identifier(called, quoted=True)))
    return source(engine, exp.select(*columns).from_(file).subquery(), name)


def _header(
    path: Path, given: str | None, encoding: Encoding, called: Sequence[str] | None
) -> tuple[str, tuple[str, ...], int]:
    """What separates the cells of a CSV, its names, and the empty lines before that with the names, which is public."""
    delimiter, stated = given or usual_delimiter(path), given is not None
    try:
        skipped = 0
        with encoding.opened(path) as file:
            while (line := file.readline()) and not line.strip(" \t\r\n"):
                skipped += 1
            names = next(csv.reader(itertools.chain([line], file), delimiter=delimiter), [])
    except UnicodeError:
        hint = "Write another encoding=, or save the file as UTF-8."
        raise InvalidParameter("encoding", encoding.name, "the file does not begin with its mark", hint) from None
    except (OSError, EOFError, csv.Error, zlib.error):
        names = []  # what exactly is wrong may be told by a record
    if encoding == UTF_8 and any("\ufffd" in name for name in names):
        hint = "Say which, for example encoding='windows-1252', 'latin-1' or 'utf-16', or save the file as UTF-8."
        raise InvalidParameter("encoding", encoding.name, "the first line is not in UTF-8", hint)
    other = next((sign for sign in OTHER_DELIMITERS if len(names) == 1 and not stated and sign in names[0]), None)
    if other is not None:
        called_so = f", called {names[0][:60]!r}" if are_names(names[0].split(other)) else ""
        why = f"the first line has no {delimiter!r}, so this would be a table of one column{called_so}"
        hint = f"Write delimiter={other!r}, or delimiter={delimiter!r} if it really has one column."
        raise InvalidParameter("delimiter", delimiter, why, hint)
    if called is not None:
        _distinct(path, called, len(names))
        return delimiter, tuple(called), skipped
    if not names or not all(names) or len({name.lower() for name in names}) < len(names):
        raise InvalidParameter("source", str(path), *_misfit(names))
    return delimiter, tuple(names), skipped


def usual_delimiter(path: Path) -> str:
    """What separates cells if nobody says otherwise: a tab for .tsv, otherwise a comma."""
    return "\t" if ".tsv" in path.name.lower() else ","


def _misfit(names: Sequence[str]) -> tuple[str, str]:
    """What is wrong with a first line, and what to do. It may be a record: then not even the column is told."""
    why = "needs a first line with one distinct name for each column"
    hint = "Write the names into the first line, or name all columns, in their order: names=['patient', 'age']."
    if not any(names) or not are_names([name for name in names if name]):
        return why, hint
    empty = [str(number) for number, name in enumerate(names, start=1) if not name]
    if empty == ["1"]:
        hint = (
            "R and pandas write the names of rows there: export without them (row.names = FALSE, index=False), or name "
            "all columns, in their order: names=['row', 'patient', 'age']."
        )
    if empty:
        which = f"column {empty[0]} has" if len(empty) == 1 else f"columns {', '.join(empty[:8])} have"
        return f"{why}, and {which} none", hint
    lowered = [name.lower() for name in names]
    second = next(number for number, name in enumerate(lowered) if name in lowered[:number])
    return f"{why}, and columns {lowered.index(lowered[second]) + 1} and {second + 1} have the same one", hint


def _distinct(path: Path, names: Sequence[str], columns: int) -> None:
    """Refuse names that do not fit the columns of a file."""
    usable = not isinstance(names, str) and all(isinstance(name, str) and name for name in names)
    if not usable or len({name.lower() for name in names}) < len(names):
        why = "must be distinct, and none of them empty"
        raise InvalidParameter("names", names, why, "Write names=['patient', 'age'], one for each column.")
    if len(names) != columns:
        why = f"are {len(names)} names, and {path.name} has {columns} columns"
        raise InvalidParameter("names", list(names), why, "Name every column of the file, in its order.")


def _encoded(file: EncodedFile, engine: EmbeddedDuckDB, name: str) -> Source:
    """A CSV of which every session makes a copy in UTF-8. Its columns are all text, so nothing is asked."""
    types = dict.fromkeys(file.names, "VARCHAR")
    table = exp.to_table(f"lapwing_file_{next(_NUMBER)}")
    return Source(engine, Relation(table, types, file), {column: kind_of(types[column]) for column in types}, name)


def _copied(file: EncodedFile, copies: Copies) -> exp.Expr:
    with source_of(file) as path:  # no such file: no row was read
        copy = contained(NAME, partial(copies.of, path, file.encoding))
    return _csv(copy, file.names, file.delimiter, file.skipped)


def _csv(path: Path, names: Iterable[str], delimiter: str, skipped: int) -> exp.Expr:
    """read_csv with everything said, so that DuckDB guesses nothing from the records."""
    columns = exp.Struct(
        expressions=[
            exp.PropertyEQ(this=exp.to_identifier(name, quoted=True), expression=exp.Literal.string("VARCHAR"))
            for name in names
        ]
    )
    options: dict[str, exp.Expr] = {
        "columns": columns,
        "auto_detect": exp.false(),
        "header": exp.true(),
        "skip": exp.Literal.number(skipped),
        "delim": exp.Literal.string(delimiter),
        "quote": exp.Literal.string('"'),
        "escape": exp.Literal.string('"'),
        "new_line": exp.Literal.string("\\n"),  # or the first line end would say how the others are read
        "compression": exp.Literal.string("gzip" if is_packed(path) else "none"),
        "hive_partitioning": exp.false(),  # a folder called unit=1 is not a column
        "null_padding": exp.true(),
        "parallel": exp.false(),  # of several readers, some guess where a record begins, and lose others
        "ignore_errors": exp.true(),
        "strict_mode": exp.false(),
    }
    return _function("read_csv", literal(path), **options)


def _function(name: str, path: exp.Expr, **options: exp.Expr) -> exp.Table:
    named = [exp.EQ(this=exp.to_identifier(key), expression=value) for key, value in options.items()]
    return exp.Table(this=exp.Anonymous(this=name, expressions=[path, *named]))


def from_frame(frame: Any, engine: EmbeddedDuckDB, name: str, declared: Mapping[str, Kind] | None = None) -> Source:
    """A pandas, Polars or Arrow table, or a dictionary of numpy arrays, of which some columns are declared."""
    return source(engine, exp.to_table(f"lapwing_frame_{next(_NUMBER)}"), name, frame, declared)


def source(
    engine: EmbeddedDuckDB,
    table: exp.Expr,
    name: str,
    frame: Any = None,
    declared: Mapping[str, Kind] | None = None,
) -> Source:
    """A table by its catalogue."""
    relation = described(engine, Relation(table, {}, frame), declared or {})
    kinds = {column: kind_of(stored) for column, stored in relation.types.items()}
    opaque = frozenset(column for column, stored in relation.types.items() if cells.is_unchecked(stored))
    return Source(engine, relation, kinds, name, opaque=opaque)


def is_frame(relation: Relation) -> bool:
    """Whether a table is in the memory of this process."""
    return relation.frame is not None and not isinstance(relation.frame, EncodedFile)


def described(engine: EmbeddedDuckDB, relation: Relation, kinds: Mapping[str, Kind]) -> Relation:
    """A table with its types, where Python objects of a frame are read as what their columns were declared to be."""
    relation = replace(relation, kinds=kinds)
    return replace(relation, types=engine.types(relation))


def with_texts(engine: EmbeddedDuckDB, relation: Relation) -> tuple[Relation, dict[str, str]]:
    """A frame whose objects can be seen as they are, too: as text, in columns named after those of their kinds."""
    frame, texts = cells.with_texts(relation.frame, relation.kinds)
    if not texts:
        return relation, {}
    kinds: dict[str, Kind] = {**relation.kinds, **dict.fromkeys(texts.values(), "text")}
    return described(engine, replace(relation, frame=frame), kinds), texts


def from_database(path: Path, table: str) -> Source:
    """A table of a DuckDB database file, opened for reading. What is wrong is about the file, and never about a row."""
    engine, named = EmbeddedDuckDB(Database(file=path.absolute())), exp.to_table(table, dialect="duckdb")
    try:
        return source(engine, named, table)
    except EngineUnreachable:
        tables = _tables(path, engine)
    hint = f"There are: {', '.join(tables)}." if tables else "There are none."
    raise InvalidParameter("table", table, f"DuckDB finds no table of this name in {path.name}", hint)


def _tables(path: Path, engine: EmbeddedDuckDB) -> list[str]:
    """The tables and views of a database that can be opened."""
    try:
        cursor = engine.own.cursor()
    except Exception as error:
        is_open = any(sign in str(error) for sign in _OPEN_ELSEWHERE)
    else:
        names = cursor.execute(f"SELECT table_name FROM information_schema.tables ORDER BY 1 LIMIT {_MOST_NAMED}")
        tables = [name for (name,) in names.fetchall()]
        cursor.close()
        return tables
    if is_open:
        why = "is open elsewhere by somebody who may write into it, and DuckDB lets nobody read it meanwhile"
        raise InvalidParameter("source", str(path), why, "Try again when that connection is closed.")
    hint = "Name a file that this version of DuckDB can read, or a .csv or .parquet file."
    raise InvalidParameter("source", str(path), "cannot be opened as a database of DuckDB", hint)


_OPEN_ELSEWHERE = ("set lock", "different configuration")
"""In what DuckDB says of a file that another process, or this one, has open for writing."""
_MOST_NAMED = 20
