"""PostgreSQL through psycopg 3: one REPEATABLE READ transaction for each session, never committed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from sqlglot import exp

from lapwing.curator.engines.compiler import Relation
from lapwing.curator.engines.containment import answered, closing, contained, reached, unchanged
from lapwing.curator.engines.dialects import (
    SQL_TYPES,
    Dialect,
    double,
    in_calendar,
    md5_digits,
    when,
    whole,
)
from lapwing.curator.engines.engine import Session, Source
from lapwing.curator.plan.expressions import Kind
from lapwing.errors import EngineUnreachable, InvalidParameter, MissingExtra

if TYPE_CHECKING:
    import psycopg

NAME = "PostgreSQL"
SETTINGS = {
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "standard_conforming_strings": "on",  # a backslash in a literal is a backslash
    "jit": "off",  # compiling a statement of many small expressions takes longer than running it
}
WATCHED = {
    "client_connection_check_interval": "1s",  # from version 14: is there still somebody who waits?
    "tcp_keepalives_idle": "3",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "2",
    "tcp_user_timeout": "7s",
}
"""A server notices by itself that its client was killed or that the network is gone, and ends the statement."""
WATCH = """
SELECT pg_catalog.set_config(name, value, true)
FROM ROWS FROM (pg_catalog.unnest(%s::text[]), pg_catalog.unnest(%s::text[])) AS wanted (name, value)
JOIN pg_catalog.pg_settings USING (name)
"""
"""Tells the server so, as far as its version knows the settings."""
LIVELY = {"keepalives_idle": "15", "keepalives_interval": "5", "keepalives_count": "4", "connect_timeout": "30"}
"""The same on our side, where the URL says nothing else."""
COLUMNS = """
WITH RECURSIVE columns AS (
    SELECT a.attnum, a.attname, a.atttypid AS type
    FROM pg_catalog.pg_attribute a
    WHERE a.attrelid = pg_catalog.to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT c.attnum, c.attname, t.typbasetype
    FROM columns c JOIN pg_catalog.pg_type t ON t.oid = c.type WHERE t.typtype = 'd'
)
SELECT c.attname, CASE WHEN t.typtype = 'e' THEN 'enum' WHEN t.typname = 'citext' THEN 'citext'
                       ELSE pg_catalog.format_type(c.type, NULL) END
FROM columns c JOIN pg_catalog.pg_type t ON t.oid = c.type WHERE t.typtype <> 'd' ORDER BY c.attnum
"""
"""Names and types of a table's columns; a domain is what it is made of."""
IS_VIEW = "SELECT relkind = 'v' FROM pg_catalog.pg_class WHERE oid = pg_catalog.to_regclass(%s)"

_KINDS: dict[str, Kind] = {
    "boolean": "boolean",
    **dict.fromkeys(("smallint", "integer", "bigint"), "integer"),
    **dict.fromkeys(("real", "double precision", "numeric"), "number"),
    **dict.fromkeys(("text", "character varying", "character", "citext", "name", "enum", "uuid"), "text"),
    "date": "date",
    **dict.fromkeys(("timestamp without time zone", "timestamp with time zone"), "timestamp"),
}


@dataclass(frozen=True, slots=True)
class PostgresDialect(Dialect):
    """PostgreSQL 14 and later, which has no TRY_CAST: what is cast is looked at first."""

    name: str = "postgres"

    def kind(self, declared: str) -> Kind | None:
        return _KINDS.get(declared)

    def text(self, column: exp.Expr, declared: str) -> exp.Expr:
        # Not every collation tells different text apart, or may be searched by regular expressions.
        collation = exp.to_identifier("C", quoted=True)
        return exp.Paren(this=exp.Collate(this=exp.cast(column, "TEXT"), expression=collation))

    def integer(self, column: exp.Expr, declared: str) -> exp.Expr:
        return exp.cast(column, "BIGINT")

    def number(self, column: exp.Expr, declared: str) -> exp.Expr:
        if declared != "numeric":
            return exp.cast(column, "DOUBLE")
        size = exp.func("ABS", column.copy())  # of NaN it is NaN, which is larger than every number
        seen = when(size.copy() > exp.Literal.number("1e-300"), exp.cast(column.copy(), "DOUBLE"), double(0.0))
        return when(size < exp.Literal.number("1e300"), seen)

    def digits(self, column: exp.Expr, declared: str) -> exp.Expr | None:
        if declared != "numeric":
            return None
        size = exp.func("ABS", column.copy())
        exact = self.text(exp.Anonymous(this="TRIM_SCALE", expressions=[column.copy()]), declared)
        return when(size < exp.Literal.number("1e300"), exact)

    def moment(self, column: exp.Expr, declared: str, kind: Kind) -> exp.Expr:
        if declared == "timestamp with time zone":
            column = exp.Anonymous(this="timezone", expressions=[exp.Literal.string("UTC"), column])
        return in_calendar(exp.cast(column, SQL_TYPES[kind]), kind)

    def matches(self, text: exp.Expr, pattern: str) -> exp.Expr:
        return exp.RegexpLike(this=text.copy(), expression=exp.Literal.string(f"^({pattern})$"))

    def size(self, text: exp.Expr) -> exp.Expr:
        return exp.Anonymous(this="OCTET_LENGTH", expressions=[text])

    def trimmed(self, text: exp.Expr) -> exp.Expr:
        return exp.Anonymous(this="BTRIM", expressions=[text, exp.Literal.string(" ")])

    def earlier(self, moment: exp.Expr, minutes: exp.Expr) -> exp.Expr:
        interval = exp.Anonymous(this="MAKE_INTERVAL", expressions=[*map(whole, [0] * 5), exp.cast(minutes, "INT")])
        return exp.Paren(this=exp.Sub(this=moment, expression=interval))

    def text_code(self, text: exp.Expr) -> exp.Expr:
        bits = exp.DataType.build("BIT(24)", dialect=self.name)
        return exp.cast(exp.cast(exp.DPipe(this=exp.Literal.string("x"), expression=md5_digits(text)), bits), "INT")

    def moment_code(self, column: exp.Expr, kind: Kind) -> exp.Expr:
        if kind == "timestamp":  # seconds are a NUMERIC, so this is exact
            seconds = exp.Extract(this=exp.Var(this="EPOCH"), expression=column.copy())
            return exp.cast(seconds * whole(1_000_000), "BIGINT")
        return exp.cast(exp.Paren(this=column.copy() - exp.cast(exp.Literal.string("1970-01-01"), "DATE")), "BIGINT")

    def wide_sum(self, value: exp.Expr) -> exp.Expr:
        return exp.Sum(this=exp.cast(value, "BIGINT"))  # a NUMERIC

    def fenced(self, query: exp.Query) -> exp.Query:
        return query.offset(0, copy=False)  # else the planner merges the steps, and their expressions multiply


@dataclass(frozen=True, slots=True)
class PostgreSQL:
    """The tables of one database. Its URL may hold a password, so it is never shown."""

    url: str = field(repr=False)
    dialect: Dialect = field(default_factory=PostgresDialect)
    name: str = NAME

    @contextmanager
    def session(self, relations: Iterable[Relation]) -> Iterator[Session]:
        """One snapshot of all tables; temporary tables go with it."""
        connection = reached(NAME, lambda: self._begun(list(relations)))
        with closing(NAME, connection.close):  # without a commit
            yield _Transaction(connection, self.dialect)

    def types(self, table: exp.Table) -> dict[str, str]:
        """The columns of a table and their types, by the catalogue."""
        return reached(NAME, lambda: self._types(table))

    def _types(self, table: exp.Table) -> dict[str, str]:
        with self._connect() as connection:
            return self._columns(connection, table)

    def encoding(self) -> str:
        """How the database stores text."""
        return reached(NAME, self._encoding)

    def _encoding(self) -> str:
        with self._connect() as connection:
            return connection.info.parameter_status("server_encoding") or ""

    def has_md5(self) -> bool:
        """Whether it computes MD5, by which text is told apart: in FIPS mode it stops at the first row with text."""
        try:
            reached(NAME, self._md5)
        except EngineUnreachable:
            return False
        return True

    def _md5(self) -> None:
        with self._connect() as connection:
            connection.execute("SELECT pg_catalog.md5('')")

    def _columns(self, connection: psycopg.Connection[Any], table: exp.Expr) -> dict[str, str]:
        return dict(connection.execute(COLUMNS, (self._named(table),)).fetchall())

    def _named(self, table: exp.Expr) -> str:
        named = table.find(exp.Table)  # of a view, inside its fence
        assert named is not None
        return named.sql(dialect=self.dialect.name)

    def is_view(self, table: exp.Table) -> bool:
        """Whether somebody wrote a SELECT that PostgreSQL would merge with ours."""
        return reached(NAME, lambda: self._is_view(table))

    def _is_view(self, table: exp.Table) -> bool:
        with self._connect() as connection:
            return connection.execute(IS_VIEW, (self._named(table),)).fetchone() == (True,)

    def _begun(self, relations: list[Relation]) -> psycopg.Connection[Any]:
        """A transaction in which every table is what it was when it was opened: expressions are total for its types."""
        connection = self._connect()
        try:
            for relation in relations:
                unchanged(NAME, relation, self._columns(connection, relation.table))
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect(self) -> psycopg.Connection[Any]:
        try:
            import psycopg
            from psycopg.types.numeric import IntLoader
        except ImportError:
            raise MissingExtra("psycopg", "postgres") from None
        connection = psycopg.connect(_lively(self.url), client_encoding="UTF8", application_name="lapwing")
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.adapters.register_loader("numeric", IntLoader)  # exact sums are whole
        for name, value in SETTINGS.items():
            connection.execute("SELECT pg_catalog.set_config(%s, %s, true)", (name, value))
        with suppress(psycopg.Error), connection.transaction():  # a savepoint: not every system can do that
            connection.execute(WATCH, (list(WATCHED), list(WATCHED.values())))
        return connection


@dataclass(frozen=True, slots=True)
class _Transaction:
    connection: psycopg.Connection[Any] = field(repr=False)
    dialect: Dialect

    def fetch(self, query: exp.Query) -> list[tuple[Any, ...]]:
        return contained(NAME, self._run(self.dialect.sql(query)).fetchall)

    def keep(self, query: exp.Query) -> exp.Table:
        name = f"lapwing_{uuid4().hex}"  # temporary tables come first on the search path: it must not hide another
        self._run(f"CREATE TEMPORARY TABLE {name} ON COMMIT DROP AS {self.dialect.sql(query)}")
        self._run(f"ANALYZE pg_temp.{name}")
        return exp.Table(this=exp.to_identifier(name), db=exp.to_identifier("pg_temp"))

    def _run(self, text: str) -> psycopg.Cursor[Any]:
        run = partial(self.connection.execute, text.encode())
        return answered(NAME, run, partial(self.connection.cancel_safe, timeout=1.0))


def _lively(url: str) -> str:
    """The address, with a connection that notices when the server is gone."""
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    given = conninfo_to_dict(url)
    return make_conninfo(url, **{name: value for name, value in LIVELY.items() if name not in given})


def from_url(url: str, table: str) -> Source:
    """A table or view, spelt as the catalogue spells it: `visits` (on the search path) or `clinic.visits`."""
    parts = [exp.to_identifier(part, quoted=True) for part in table.split(".")]
    if len(parts) > 2 or not all(part.name for part in parts):
        why = "a table is named by itself or after its schema"
        raise InvalidParameter("table", table, why, "Write table='visits' or table='clinic.visits'.")
    named = exp.Table(this=parts[-1], db=parts[0] if len(parts) == 2 else None)
    engine = PostgreSQL(url)
    encoding = engine.encoding()
    if encoding != "UTF8":
        why = f"the database stores text as {encoding}, and a text that is none stops PostgreSQL when it is sent"
        raise InvalidParameter("source", f"a database in {encoding}", why, "Copy the table into a database in UTF8.")
    if not engine.has_md5():
        why = "it computes no MD5, as in FIPS mode, and would stop at rows that are told apart by it"
        raise InvalidParameter("source", "a PostgreSQL server", why, "Copy the table to another server, or to a file.")
    types = engine.types(named)
    if not types:
        why = "is not a table or view of this database, or has no columns"
        raise InvalidParameter("table", table, why, "Spell it as the database does: case matters.")
    kinds = {name: _KINDS.get(declared) for name, declared in types.items()}
    table_of: exp.Expr = named
    if engine.is_view(named):  # else a condition of ours is asked of rows that the view leaves out, and may stop there
        table_of = exp.select("*").from_(named).offset(0).subquery()
    return Source(engine, Relation(table_of, types), kinds, parts[-1].name)
