"""PostgreSQL: one snapshot, types from the catalogue, and not a word of what the server says."""

from __future__ import annotations

import traceback
from collections.abc import Iterator

import psycopg
import pytest
from postgres import Server
from questions import fetch, salted
from sqlglot import exp

import lapwing as lw
from lapwing.curator.ask.columns import statement_of
from lapwing.curator.engines import postgres
from lapwing.curator.engines.compiler import Compiler
from lapwing.curator.engines.engine import Session
from lapwing.curator.engines.selection import Salt
from lapwing.curator.plan.expressions import Kind
from lapwing.errors import EngineFailed, EngineUnreachable, InvalidParameter

VISITS = "CREATE TABLE visits (person bigint, cost numeric); INSERT INTO visits VALUES (1, 2.5), (2, NULL)"


@pytest.fixture
def owner(postgres_url: str) -> Iterator[psycopg.Connection]:
    """Another connection to the same database, whose statements take effect at once."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def session(postgres_url: str, owner: psycopg.Connection) -> Iterator[Session]:
    owner.execute(VISITS)
    source = postgres.from_url(postgres_url, "visits")
    with source.engine.session([source.relation]) as session:
        yield session


def sql(text: str) -> exp.Query:
    from sqlglot import parse_one

    query = parse_one(text, dialect="postgres")
    assert isinstance(query, exp.Query)
    return query


def test_a_connection_of_psycopg_is_told_to_write_the_address(owner: psycopg.Connection) -> None:
    for given in ({"source": owner, "table": "visits"}, {"source": "visits.csv", "connection": owner}):
        with pytest.raises(InvalidParameter, match=r"PostgreSQL.*lw\.open\('postgresql://…', table='visits'\)"):
            lw.open(**given, unit="person")  # type: ignore[arg-type]


def test_types_come_from_the_catalogue_and_domains_are_what_they_are_made_of(
    postgres_url: str, owner: psycopg.Connection
) -> None:
    owner.execute("CREATE DOMAIN years AS smallint; CREATE DOMAIN age AS years CHECK (VALUE >= 0)")
    owner.execute("CREATE TYPE colour AS ENUM ('red', 'blue')")
    owner.execute(
        "CREATE TABLE everything (a age, b colour, c char(5), d varchar(9), e text, f numeric(9, 2), g real, h float8,"
        " i date, j timestamptz, k timestamp, l uuid, m boolean, n int[], o json, p int, q bigint, r interval)"
    )
    owner.execute("ALTER TABLE everything DROP COLUMN p")
    source = postgres.from_url(postgres_url, "everything")
    assert list(source.relation.types) == list("abcdefghijklmnoqr")
    assert source.relation.types["a"] == "smallint"
    assert source.kinds == {
        "a": "integer", "b": "text", "c": "text", "d": "text", "e": "text", "f": "number", "g": "number", "h": "number",
        "i": "date", "j": "timestamp", "k": "timestamp", "l": "text", "m": "boolean", "n": None, "o": None,
        "q": "integer", "r": None,
    }  # fmt: skip


def test_tables_are_named_exactly_on_the_search_path_or_in_a_schema(
    postgres_url: str, owner: psycopg.Connection
) -> None:
    owner.execute('CREATE SCHEMA clinic; CREATE TABLE clinic."My ""Visits" (x int); CREATE VIEW seen AS SELECT 1 AS y')
    assert postgres.from_url(postgres_url, 'clinic.My "Visits').relation.types == {"x": "integer"}
    assert postgres.from_url(postgres_url, "seen").relation.types == {"y": "integer"}
    for name in ("visits", "Seen", 'My "Visits', "clinic.", "a.b.c", "", "seen; DROP VIEW seen"):
        with pytest.raises(InvalidParameter):
            postgres.from_url(postgres_url, name)


def test_a_session_sees_one_state_of_the_database(session: Session, owner: psycopg.Connection) -> None:
    before = session.fetch(sql("SELECT count(*) FROM visits"))
    owner.execute("INSERT INTO visits VALUES (3, 3)")
    assert session.fetch(sql("SELECT count(*) FROM visits")) == before == [(2,)]


def test_what_is_kept_is_seen_by_this_session_only_and_nothing_of_it_stays(
    session: Session, owner: psycopg.Connection
) -> None:
    kept = session.keep(sql("SELECT person FROM visits"))
    assert session.fetch(exp.select("sum(person)").from_(kept)) == [(3,)]
    count = "SELECT count(*) FROM pg_class WHERE relname LIKE 'lapwing%'"
    assert owner.execute(count).fetchone() == (0,)
    session.connection.close()  # type: ignore[attr-defined]
    assert owner.execute(count).fetchone() == (0,)


def test_sums_beyond_64_bits_are_python_integers(session: Session) -> None:
    [(total,)] = session.fetch(sql("SELECT sum(x) FROM (VALUES (9223372036854775807), (9223372036854775807)) t(x)"))
    assert type(total) is int
    assert total == 2 * (2**63 - 1)


def test_settings_of_the_server_do_not_matter(postgres_url: str, owner: psycopg.Connection) -> None:
    name = owner.info.dbname
    for setting in ("timezone = 'America/New_York'", "standard_conforming_strings = off", "datestyle = 'SQL, DMY'"):
        owner.execute(f"ALTER DATABASE {name} SET {setting}")
    owner.execute("CREATE TABLE t (x timestamptz); INSERT INTO t VALUES ('2024-11-03 05:30:00+00')")
    source = postgres.from_url(postgres_url, "t")
    dialect = source.engine.dialect
    with source.engine.session([source.relation]) as session:
        moment = dialect.read(exp.column("x"), source.relation.types["x"], "timestamp")
        code = dialect.moment_code(moment, "timestamp")
        assert session.fetch(exp.select(code, exp.Literal.string("a\\'")).from_("t")) == [(1730611800000000, "a\\'")]


def test_a_failure_says_nothing_that_the_server_said(session: Session) -> None:
    with pytest.raises(EngineFailed) as caught:
        session.fetch(sql("SELECT CAST('a secret record' AS integer)"))
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert "secret" not in "".join(traceback.format_exception(caught.value)).replace("a secret record' AS", "")


def test_a_password_is_never_shown(postgres_url: str) -> None:
    for url in (
        "postgresql://someone:hunter2@127.0.0.1:1/nowhere",
        postgres_url.replace("user=postgres", "user=nobody&password=hunter2"),
    ):
        with pytest.raises(EngineUnreachable) as caught:
            postgres.from_url(url, "visits")
        assert caught.value.__context__ is None
        shown = "".join(traceback.format_exception(caught.value)) + repr(postgres.PostgreSQL(url))
        assert "hunter2" not in shown


def test_two_tables_of_one_database_have_equal_engines(postgres_url: str, owner: psycopg.Connection) -> None:
    owner.execute("CREATE TABLE a (x int); CREATE TABLE b (x int)")
    engine = postgres.from_url(postgres_url, "a").engine
    assert engine == postgres.from_url(postgres_url, "b").engine
    assert engine != postgres.PostgreSQL(postgres_url + "&application_name=other")


def test_a_database_that_does_not_check_its_text_is_refused_when_it_is_opened(postgres_server: Server) -> None:
    with psycopg.connect(postgres_server.url("postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE unchecked TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'")
    url = postgres_server.url("unchecked")
    with psycopg.connect(url, client_encoding="SQL_ASCII") as connection:
        connection.execute("CREATE TABLE visits (person bigint, word text)")
        connection.execute("INSERT INTO visits VALUES (1, E'M\\xfc')")
    with pytest.raises(InvalidParameter, match="SQL_ASCII"):
        postgres.from_url(url, "visits")


def test_a_server_without_md5_is_refused_when_it_is_opened(postgres_url: str) -> None:
    """FIPS mode cannot be had here; a role that may not call the function stops at the same statement."""
    with psycopg.connect(postgres_url) as connection:
        connection.execute(
            "CREATE TABLE seen (who text, note text); CREATE ROLE plain LOGIN; GRANT SELECT ON seen TO plain"
        )
        connection.execute("REVOKE EXECUTE ON FUNCTION pg_catalog.md5(text) FROM PUBLIC")
    try:
        with pytest.raises(InvalidParameter, match="MD5"):
            lw.open(postgres_url.replace("user=postgres", "user=plain"), table="seen", unit="who")
        assert lw.open(postgres_url, table="seen", unit="who").columns  # its owner may
    finally:
        with psycopg.connect(postgres_url) as connection:
            connection.execute("DROP TABLE seen; DROP ROLE plain")


def test_a_row_that_a_view_leaves_out_stops_no_question(postgres_url: str, owner: psycopg.Connection) -> None:
    owner.execute("CREATE TABLE raw AS SELECT i AS id, 'n' AS kind, i::text AS code FROM generate_series(1, 2000) i")
    owner.execute("CREATE TABLE kinds AS SELECT 'n' AS kind")
    owner.execute("CREATE VIEW numbers AS SELECT id, code::int AS n FROM raw JOIN kinds USING (kind)")
    owner.execute("INSERT INTO raw VALUES (5000, 'other', 'abc')")
    owner.execute("ANALYZE raw")
    table = lw.open(postgres_url, table="numbers", unit="id", bounds={"n": (0, 100)})
    for condition, rows in (("n > 3", 1997), ("n IS NULL", 0), ("n IN (1, 2)", 2), ("id > 7 AND n = 9", 1)):
        assert fetch(table.where(condition).agg(lw.count()), salted(1)) == {0: (rows,)}


def test_a_text_of_300_megabytes_is_no_number_and_no_failure(postgres_url: str, owner: psycopg.Connection) -> None:
    owner.execute("CREATE TABLE long (i int, x text)")
    owner.execute("INSERT INTO long VALUES (1, repeat('7', 300 * 1024 * 1024)), (2, '7'), (3, repeat('7', 200))")
    source = postgres.from_url(postgres_url, "long")
    read = source.engine.dialect.read
    kinds: tuple[Kind, ...] = ("number", "integer", "boolean", "date", "timestamp", "text")
    columns = [exp.Count(this=read(exp.column("x"), "text", kind)) for kind in kinds]
    with source.engine.session([source.relation]) as session:
        assert session.fetch(exp.select(*columns).from_(source.relation.table)) == [(1, 1, 0, 0, 0, 2)]


def explained(url: str, settings: str = "") -> str:
    """The plan of a bounded question."""
    table = lw.open(
        url, table="visits", unit="who", keys={"g": range(1000)}, bounds={"x": (0, 100)}, max_groups_per_unit=4
    )
    query = table.group_by("g").agg(lw.count(), lw.sum("x"), lw.mean("x"))
    compiler = Compiler(query.context.engine.dialect, query.context.relations)
    statement = statement_of(query, compiler, Salt(b"7"))
    text = compiler.dialect.sql(statement.totals(statement.rows().subquery("b"), query.statistics))
    with psycopg.connect(url) as connection:
        connection.execute(f"SET jit = off; {settings}".encode())
        plan = connection.execute(f"EXPLAIN VERBOSE {text}".encode()).fetchall()
    assert len(text) < 6000
    return "\n".join(line for (line,) in plan)


def test_the_planner_does_not_multiply_the_steps_of_a_hash(postgres_url: str, owner: psycopg.Connection) -> None:
    owner.execute("CREATE TABLE visits (who TEXT, g BIGINT, x DOUBLE PRECISION)")
    plan = explained(postgres_url)
    assert max(map(len, plan.splitlines())) < 1500  # without a fence around each step: 76,000
    assert len(plan) < 15_000


def test_a_bounded_question_is_read_by_parallel_workers(postgres_url: str, owner: psycopg.Connection) -> None:
    owner.execute(
        "CREATE TABLE visits AS SELECT n AS who, n % 7 AS g, 1.5::float8 AS x FROM generate_series(1, 5000) n"
    )
    owner.execute("ANALYZE visits")
    free = "parallel_setup_cost", "parallel_tuple_cost", "min_parallel_table_scan_size"
    plan = explained(postgres_url, ";".join(f"SET {name} = 0" for name in free))
    assert "Workers Planned" in plan
