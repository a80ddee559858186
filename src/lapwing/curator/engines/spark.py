"""Spark through pyspark, in a session of our own beside the user's, whose settings and views are left alone."""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from sqlglot import exp

from lapwing.curator.engines.compiler import Relation
from lapwing.curator.engines.containment import contained, reached, waited
from lapwing.curator.engines.dialects import (
    SQL_TYPES,
    Dialect,
    decimal_places,
    frame,
    in_calendar,
    md5_digits,
    whole,
    without_zeros,
)
from lapwing.curator.engines.encodings import LATIN_1, UTF_8, WINDOWS, Encoding
from lapwing.curator.engines.engine import Session, Source
from lapwing.curator.plan import patterns
from lapwing.curator.plan.expressions import Kind
from lapwing.errors import EngineUnreachable, InvalidParameter, MissingExtra

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession

NAME = "Spark"
SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "false",  # arithmetic without a result is NULL, it does not raise
    "spark.sql.variable.substitute": "false",  # ${x} in a literal is text
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.codegen.hugeMethodLimit": "8000",  # HotSpot compiles no longer method, and ours are longer in one piece
    **dict.fromkeys(  # old dates are read as they stand; by default some versions stop at them
        (
            "spark.sql.parquet.datetimeRebaseModeInRead",
            "spark.sql.parquet.int96RebaseModeInRead",
            "spark.sql.avro.datetimeRebaseModeInRead",
        ),
        "CORRECTED",
    ),
}
CSV: dict[str, Any] = {
    "escape": '"',
    "multiLine": True,  # or one record with line breaks in quotes would be many, of other units
    "mode": "PERMISSIVE",
    "maxColumns": 1_000_000,  # a record with more cells than the header has them cut, it does not stop the reader
    "maxCharsPerColumn": -1,
}
"""How a CSV is read: by one reader for each file."""
LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""Where pyspark writes the messages of errors, with the values that caused them."""

_CSV, _PARQUET = r"\.(csv|txt)(\.gz)?", r"\.(parquet|pq)"
_KINDS: dict[str, Kind] = {
    "boolean": "boolean",
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "integer"),
    **dict.fromkeys(("float", "double", "decimal"), "number"),
    **dict.fromkeys(("string", "char", "varchar", "void"), "text"),
    "date": "date",
    **dict.fromkeys(("timestamp", "timestamp_ntz"), "timestamp"),
}


def kind_of(declared: str) -> Kind | None:
    """What a type of Spark is to us."""
    word = re.match(r"[a-z_]+(?=$|[( ])", declared)  # decimal(10,2), char(5), string collate UTF8_LCASE
    return None if word is None else _KINDS.get(word[0])


@dataclass(frozen=True, slots=True)
class SparkDialect(Dialect):
    """Spark 4 in a session with our settings."""

    name: str = "spark"

    def kind(self, declared: str) -> Kind | None:
        return kind_of(declared)

    def is_nothing(self, declared: str) -> bool:
        return declared == "void"

    def text(self, column: exp.Expr, declared: str) -> exp.Expr:
        plain: exp.Expr = exp.cast(column, "TEXT")  # without a collation of its own
        if declared.startswith("char("):
            plain = exp.Anonymous(this="RTRIM", expressions=[plain])
        return exp.Anonymous(this="TRY_VALIDATE_UTF8", expressions=[plain])

    def integer(self, column: exp.Expr, declared: str) -> exp.Expr:
        return exp.cast(column, "BIGINT")

    def number(self, column: exp.Expr, declared: str) -> exp.Expr:
        return column if declared == "double" else exp.cast(column, "DOUBLE")

    def digits(self, column: exp.Expr, declared: str) -> exp.Expr | None:
        if not declared.startswith("decimal"):
            return None
        precision, scale = decimal_places(declared)
        if not scale:
            return exp.cast(column, "TEXT")
        shape = "MI" + "9" * (precision - scale - 1) + "0D" + "9" * scale  # a cast would write 1E-20
        text = self.trimmed(exp.Anonymous(this="TO_CHAR", expressions=[column, exp.Literal.string(shape)]))
        return without_zeros(exp.func("REPLACE", text, exp.Literal.string("-."), exp.Literal.string("-0.")))

    def moment(self, column: exp.Expr, declared: str, kind: Kind) -> exp.Expr:
        return in_calendar(exp.cast(column, SQL_TYPES[kind]), kind)

    def matches(self, text: exp.Expr, pattern: str) -> exp.Expr:
        whole_text = f"(?s)^({pattern})(?!.)"  # Java's $ would accept a line feed at the end
        return exp.RegexpLike(this=text.copy(), expression=exp.Literal.string(whole_text))

    def like(self, text: exp.Expr, pattern: str) -> exp.Expr:
        # Spark's own LIKE is a regular expression with .* for each %: what fails is tried again in every combination.
        if not patterns.goes_back(pattern):
            return super(SparkDialect, self).like(text, pattern)
        return exp.RegexpLike(this=text, expression=exp.Literal.string(patterns.regular(pattern)))

    def size(self, text: exp.Expr) -> exp.Expr:
        return exp.Anonymous(this="OCTET_LENGTH", expressions=[text])

    def trimmed(self, text: exp.Expr) -> exp.Expr:
        return exp.Anonymous(this="BTRIM", expressions=[text, exp.Literal.string(" ")])

    def earlier(self, moment: exp.Expr, minutes: exp.Expr) -> exp.Expr:
        interval = exp.Anonymous(this="MAKE_DT_INTERVAL", expressions=[whole(0), whole(0), exp.cast(minutes, "INT")])
        return exp.Paren(this=exp.Sub(this=moment, expression=interval))

    def text_code(self, text: exp.Expr) -> exp.Expr:
        return exp.cast(exp.Anonymous(this="CONV", expressions=[md5_digits(text), whole(16), whole(10)]), "INT")

    def moment_code(self, column: exp.Expr, kind: Kind) -> exp.Expr:
        if kind == "timestamp":
            instant = exp.cast(column.copy(), exp.DataType.build("TIMESTAMP", dialect=self.name))
            return exp.Anonymous(this="UNIX_MICROS", expressions=[instant])
        return exp.cast(exp.Anonymous(this="UNIX_DATE", expressions=[column.copy()]), "BIGINT")

    def wide_sum(self, value: exp.Expr) -> exp.Expr:
        return exp.Sum(this=exp.cast(value, "DECIMAL(20, 0)"))  # a DECIMAL(30, 0): enough for 10^11 rows

    def byte_order(self, text: exp.Expr) -> exp.Expr:
        return text  # without a collation of its own from the scan on

    def row_number(self) -> tuple[exp.Expr, exp.WindowSpec | None]:
        return exp.Count(this=exp.Star()), frame("ROWS")  # ROW_NUMBER has 32 bits, and wraps


@dataclass(frozen=True, slots=True)
class Spark:
    """The DataFrames of one Spark context."""

    context: SparkContext = field(repr=False)
    dialect: Dialect = field(default_factory=SparkDialect)
    name: str = NAME

    @contextmanager
    def session(self, relations: Iterable[Relation]) -> Iterator[Session]:
        """A session with our settings. Spark has no snapshots: what must not change between statements is kept."""
        frames: dict[str, DataFrame] = {relation.table.name: relation.frame for relation in relations}
        user = next(iter(frames.values())).sparkSession
        with ExitStack() as stack:
            stack.enter_context(_silenced())
            own = reached(NAME, lambda: _beside(user))
            views = {name: _shown(frame, own, stack) for name, frame in frames.items()}
            yield _Beside(own, self.dialect, views, stack)


def _beside(user: SparkSession) -> SparkSession:
    """A session as the user's, with our settings."""
    own = user.newSession()
    for name, value in {**user.conf.getAll, **SETTINGS}.items():
        if own.conf.isModifiable(name):
            own.conf.set(name, value)
    return own


def _shown(frame: DataFrame, own: SparkSession, undo: ExitStack) -> exp.Table:
    """A DataFrame as a view for all sessions of its context, under a name that nobody can guess."""
    name = _fresh()
    reached(NAME, lambda: frame.createGlobalTempView(name))
    undo.callback(contained, NAME, lambda: own.catalog.dropGlobalTempView(name))
    return exp.Table(this=exp.to_identifier(name), db=exp.to_identifier("global_temp"))


@dataclass(frozen=True, slots=True)
class _Beside:
    spark: SparkSession = field(repr=False)
    dialect: Dialect
    views: Mapping[str, exp.Table]
    undo: ExitStack = field(repr=False)

    def fetch(self, query: exp.Query) -> list[tuple[Any, ...]]:
        rows = contained(NAME, lambda: self._collected(query))
        return [tuple(int(value) if isinstance(value, Decimal) else value for value in row) for row in rows]

    def keep(self, query: exp.Query) -> exp.Table:
        name = _fresh()
        frame = contained(NAME, lambda: self._frame(query).persist())
        self.undo.callback(contained, NAME, frame.unpersist)
        contained(NAME, lambda: frame.createOrReplaceTempView(name))
        self.undo.callback(contained, NAME, lambda: self.spark.catalog.dropTempView(name))
        return exp.to_table(name)

    def _collected(self, query: exp.Query) -> list[Any]:
        """The rows, by jobs of one group that can be cancelled and that say how many of their tasks are done."""
        from pyspark import inheritable_thread_target

        context, group = self.spark.sparkContext, _fresh()

        def collect() -> list[Any]:
            context.setJobGroup(group, "lapwing", interruptOnCancel=True)
            return self._frame(query).collect()

        if threading.current_thread() is not threading.main_thread():
            return self._frame(query).collect()  # in a thread of the user's: its group stays as it is
        run = inheritable_thread_target(self.spark)(collect)
        return waited(run, lambda: context.cancelJobGroup(group), fraction=lambda: _share(context, group))

    def _frame(self, query: exp.Query) -> DataFrame:
        query = query.copy()
        for table in query.find_all(exp.Table):
            if view := self.views.get(table.name):
                table.set("this", view.this.copy())
                table.set("db", view.args["db"].copy())
        return self.spark.sql(self.dialect.sql(query))


def _share(context: SparkContext, group: str) -> float | None:
    """The tasks that are done, of all that are known."""
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
    tasks = sum(stage.numTasks for stage in stages if stage is not None)
    return sum(stage.numCompletedTasks for stage in stages if stage is not None) / tasks if tasks else None


def _fresh() -> str:
    return f"lapwing_{uuid4().hex}"


@contextmanager
def _silenced() -> Iterator[None]:
    """Keep pyspark from printing errors of our statements."""
    from pyspark.logger import PySparkLogger

    def never(record: logging.LogRecord) -> bool:
        return False

    loggers = [PySparkLogger.getLogger(name) for name in LOGGERS]
    for logger in loggers:
        logger.addFilter(never)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(never)


def from_spark(source: DataFrame | SparkSession | str, table: str | None = None, encoding: Encoding = UTF_8) -> Source:
    """A DataFrame; or a session or the address of a cluster (`spark://host:7077`), and a table.

    The table is one of the catalogue, or a Parquet or CSV file (or a folder of them) that every worker can read; its
    name is no pattern.
    """
    try:
        from pyspark.sql import DataFrame, SparkSession
    except ImportError:
        raise MissingExtra("pyspark", "spark") from None
    if "connect" in type(source).__module__ or not isinstance(source, DataFrame | SparkSession | str):
        why = "is neither a DataFrame nor a session of Spark in this process"
        raise InvalidParameter("source", type(source), why, "Pass a DataFrame, or 'spark://host:7077' and table='…'.")
    if encoding.name not in _CHARSETS:
        why = "in Spark half a character swallows the end of its record"
        raise InvalidParameter("encoding", encoding.name, why, "Save the file as UTF-8.")
    if isinstance(source, DataFrame):
        _with_md5(source.sparkSession)
        return _source(source, table or "table")
    if table is None:
        raise InvalidParameter("table", None, "a session has many tables", "Write table='visits', or pass a DataFrame.")
    session = reached(NAME, lambda: _start(source)) if isinstance(source, str) else source
    _with_md5(session)
    try:
        frame = reached(NAME, lambda: _read(session, table, encoding))
    except EngineUnreachable:
        why = "Spark finds no such table or file"
        raise InvalidParameter(
            "table", table, why, "Name a table, or a .parquet or .csv that all workers see."
        ) from None
    return _source(frame, re.sub(rf"({_CSV}|{_PARQUET})$", "", table.rstrip("/").rpartition("/")[2]))


def _with_md5(session: SparkSession) -> None:
    """Refuse a Java without MD5 (FIPS), which would stop at the first row with text that is told apart by it."""
    try:
        reached(NAME, lambda: session.sql("SELECT md5('')").collect())
    except EngineUnreachable:
        why = "it computes no MD5, as in FIPS mode, and would stop at rows that are told apart by it"
        raise InvalidParameter("source", "a session of Spark", why, "Use a Java with MD5, or read a file.") from None


def _start(master: str) -> SparkSession:
    """A session on a cluster, or the one that this process has there."""
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None and running.sparkContext.master != master:
        why = f"this process uses Spark at {running.sparkContext.master} already"
        raise InvalidParameter("source", master, why, "Pass that session, or stop it first.")
    if running is not None:
        return running
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers refuse another version than the driver's
    builder = SparkSession.builder.appName("lapwing").master(master).config("spark.ui.showConsoleProgress", "false")
    return builder.config("spark.log.level", "OFF").getOrCreate()  # what failing tasks log may quote a record


def _read(session: SparkSession, table: str, encoding: Encoding) -> DataFrame:
    if re.search(f"{_CSV}$", table):
        return _csv(session, literal(table), encoding)
    if "/" in table or re.search(f"{_PARQUET}$", table):
        return _parquet(session, literal(table))
    return session.table(table)


def _csv(session: SparkSession, path: str, encoding: Encoding) -> DataFrame:
    """Files of text, whatever it looks like: guessing types would mean reading the records.

    Spark 4 does not know Windows-1252. Its bytes are read as Latin-1, which has the same commas, quotes and line ends,
    and the 32 characters that differ are replaced afterwards, cell by cell.
    """
    from pyspark.sql import functions

    spelled = _CHARSETS[encoding.name]
    frame = session.read.csv(path, header=True, inferSchema=False, encoding=spelled, **CSV)
    if encoding != WINDOWS:
        return frame
    other = bytes(range(0x80, 0xA0))
    signs = LATIN_1.text(other), WINDOWS.text(other)
    columns = [functions.translate(frame[f"`{name.replace('`', '``')}`"], *signs) for name in frame.columns]
    names = [name.translate(str.maketrans(*signs)) for name in frame.columns]
    return frame.select(*(column.alias(name) for column, name in zip(columns, names, strict=True)))


_CHARSETS = {"utf-8": "UTF-8", "latin-1": "ISO-8859-1", "windows-1252": "ISO-8859-1"}


def _parquet(session: SparkSession, path: str) -> DataFrame:
    """Parquet files. Spark stops at a moment in milliseconds that microseconds cannot hold: here it is NULL."""
    from pyspark.sql import functions
    from pyspark.sql.types import LongType, StructField, StructType

    frame = session.read.parquet(path)
    by_file = [_milliseconds(session, file) for file in frame.inputFiles()]
    late = frozenset().union(*by_file)
    if not late:
        return frame
    if any(names != late for names in by_file):
        hint = "Write all of them with microseconds."
        raise InvalidParameter("table", path, "some of its files have a moment in milliseconds, others not", hint)
    fields = [
        StructField(column.name, LongType() if column.name in late else column.dataType)
        for column in frame.schema.fields
    ]
    numbers = session.read.schema(StructType(fields)).parquet(path)
    for name in late:
        number = functions.col("`" + name.replace("`", "``") + "`")
        held = functions.when(number.between(-_FAR, _FAR), functions.timestamp_millis(number))
        numbers = numbers.withColumn(name, held)
    return numbers


_FAR = 10**15
"""Milliseconds: more than 30,000 years, which microseconds can hold."""


def _milliseconds(session: SparkSession, file: str) -> frozenset[str]:
    """The columns of a Parquet file that are moments in milliseconds, by its schema alone."""
    java, context = session._jvm, session.sparkContext
    place = java.org.apache.hadoop.fs.Path(file)  # type: ignore[union-attr]
    settings = context._jsc.hadoopConfiguration()
    opened = java.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(place, settings)  # type: ignore[union-attr]
    reader = java.org.apache.parquet.hadoop.ParquetFileReader.open(opened)  # type: ignore[union-attr]
    try:
        fields = reader.getFooter().getFileMetaData().getSchema().getFields()
        kinds = {field.getName(): str(field.getLogicalTypeAnnotation()) for field in fields}
    finally:
        reader.close()
    return frozenset(name for name, kind in kinds.items() if kind.startswith("TIMESTAMP(MILLIS"))


def literal(path: str) -> str:
    """The one file or folder of this name. To Spark a name is a pattern: `v[12].csv` would be v1.csv."""
    if "\\" in path:
        why = "has a backslash, which Spark takes for a part of a pattern"
        raise InvalidParameter("table", path, why, "Rename the file or its folder.")
    return re.sub(r"[*?[\]{}]", r"\\\g<0>", path)


def _source(frame: DataFrame, name: str) -> Source:
    fields = frame.schema.fields
    names = [column.name for column in fields]
    if len(set(names)) < len(names):
        twice = min(name for name in names if names.count(name) > 1)
        raise InvalidParameter("source", twice, "two columns have this name", "Rename one of them: source.toDF(…).")
    padded = "__CHAR_VARCHAR_TYPE_STRING"  # where Spark keeps that a string has a length
    types = {column.name: column.metadata.get(padded, column.dataType.simpleString()) for column in fields}
    kinds = {column: kind_of(declared) for column, declared in types.items()}
    relation = Relation(exp.to_table(_fresh()), types, frame)
    return Source(Spark(frame.sparkSession.sparkContext), relation, kinds, name)
