"""How wide a question is, and how often it reads, is limited by the question alone: no person can make it fail."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import oracle
import pytest
from everywhere import everywhere, in_postgres, in_spark
from oracle import integers, survivors
from questions import draw_query, draw_world, fetch, fetch_rows, salted

import lapwing as lw
from lapwing.curator.ask import room
from lapwing.curator.ask.query import Query
from lapwing.curator.plan.multiplicity import limits_of
from lapwing.curator.tables.table import PrivateTable
from lapwing.errors import UnsupportedQuery

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TYPES = {"who": "text", "x": "integer", "note": "text"}
JOINED = "FROM t AS a JOIN t AS b ON a.who = b.who"
LENGTHS = (1, 31, 32, 33, 199, 1023, 1024, 1025, 2047, 2048, 2049, 5000)
ROWS = [
    *((f"p{i % 4}", i % 11, "äxyz"[i % 3] * (length // 2)) for i, length in enumerate((*LENGTHS, *LENGTHS, *LENGTHS))),
    *(("w" * length, 3, "a") for length in (199, 200, 201)),
    ("é" * 100, 3, None),
    ("é" * 101, 3, "a"),
]


@pytest.fixture
def table() -> PrivateTable:
    """One without rows: what is refused is refused by the question."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (who VARCHAR, x BIGINT, note VARCHAR)")
    return lw.open(connection, table="t", name="t", unit="who", bounds={"x": (0, 10)})


def listed(count: int, what: str) -> str:
    return ", ".join(what.replace("#", f"{i}") for i in range(count))


REFUSED = {
    "private tables are read more than 32 times": "SELECT COUNT(*) FROM ("
    + " UNION ALL ".join(["SELECT who, x FROM t"] * 33)
    + ") AS a",
    "101 columns are asked for": f"SELECT {listed(101, 'SUM(x + #) AS s#')} FROM t",
    "17 numbers of different values": f"SELECT {listed(17, 'COUNT(DISTINCT x + #) AS n#')} FROM t",
    "101 numbers of every row": f"SELECT {listed(34, 'COVAR_POP(x + #, x * 3 + #) AS c#')}, "
    + f"{listed(33, 'AVG(x * 5 + #) AS m#')} FROM t",
    "17 columns are grouped by": f"SELECT {listed(17, 'k#')}, COUNT(*) AS n FROM (SELECT who, "
    + f"{listed(17, 'CASE WHEN x = # THEN note END AS k#')} FROM t) AS a GROUP BY {listed(17, 'k#')}",
    "501 columns are joined": f"SELECT COUNT(*) FROM (SELECT DISTINCT who, {listed(500, 'x + # AS x#')} FROM t) AS a",
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_wide_question_is_refused_before_anything_is_read(why: str, table: PrivateTable) -> None:
    with pytest.raises(UnsupportedQuery, match=why):
        table.query(REFUSED[why])


def test_a_saved_question_and_one_in_python_read_no_more_often_than_sql(table: PrivateTable) -> None:
    side = [{"table": "t"}, {"select": {"who": {"column": "who"}}}]
    rows: list[Any] = [*side, {"combine": {"setting": "union all", "with": [side] * 32}}]
    saved = {"lapwing_query": 1, "rows": rows, "ask": [{"count": []}]}
    with pytest.raises(UnsupportedQuery, match="more than 32 times"):
        Query.from_json(json.dumps(saved), table)
    rows[-1]["combine"]["with"].pop()
    assert isinstance(Query.from_json(json.dumps(saved), table), Query)
    doubled = table
    for _ in range(6):  # 64 tables
        doubled = doubled.having_rows_in(doubled)
    with pytest.raises(UnsupportedQuery, match="more than 32 times"):
        doubled.agg(lw.count())


def test_the_wider_the_rows_of_a_join_the_fewer_it_takes(table: PrivateTable) -> None:
    def taken(sql: str) -> set[int]:
        query = table.query(sql)
        told = " ".join(query.quote(epsilon=1, delta=1e-6 if query.grouping.secret else None).notes)
        limits = set(limits_of(room.limited(query)))
        assert all(f"at most {limit:,} rows" in told for limit in limits)
        return limits

    joined = JOINED
    assert taken(f"SELECT COUNT(*) {joined}") == {1024}
    assert taken(f"SELECT SUM(a.x), AVG(b.x) {joined}") == {1024}
    assert taken(f"SELECT COUNT(*) {joined} WHERE b.note = 'a'") == {345}
    assert taken(f"SELECT {listed(16, 'COUNT(DISTINCT a.x + #) AS n#')} {joined}") == {444}
    assert taken(f"SELECT a.note, COUNT(*) {joined} GROUP BY a.note") == {345}
    assert taken(f"SELECT COUNT(*) {joined} WHERE a.who IN (SELECT a.who {joined})") == {579}


QUESTIONS: dict[str, Callable[[PrivateTable], Query]] = {
    "different texts": lambda t: t.agg(lw.count_distinct("note"), lw.count()),
    "secret keys": lambda t: t.group_by("note").agg(lw.count()),
    "lengths where the text is read": lambda t: t.where("LENGTH(note) > 300").agg(lw.count()),
    "a join": lambda t: t.query(
        "SELECT COUNT(*) AS n, COUNT(DISTINCT a.note) FROM t AS a JOIN t AS b ON a.who = b.who"
    ),
    "a condition after a join": lambda t: t.query(
        "SELECT COUNT(*) AS n FROM t AS a LEFT JOIN t AS b ON a.who = b.who AND a.x = b.x WHERE b.note IS NULL"
    ),
    "distinct rows": lambda t: t.query(
        "SELECT COUNT(note) AS n, COUNT(*) FROM (SELECT DISTINCT who, note FROM t) AS a"
    ),
    "totals per unit": lambda t: t.query(
        "SELECT COUNT(*) AS m, COUNT(DISTINCT n) AS d FROM "
        "(SELECT who, note, COUNT(DISTINCT note) AS n FROM t GROUP BY who, note) AS a"
    ),
    "units with rows": lambda t: t.query(
        "SELECT COUNT(DISTINCT note) AS n FROM t WHERE who IN (SELECT who FROM t WHERE note <> 'b')"
    ),
}


def test_every_engine_has_one_rule_for_long_text(postgres_url: str, spark: SparkSession) -> None:
    named = [dict(zip(TYPES, row, strict=True)) for row in ROWS]
    for engine, source in everywhere(ROWS, TYPES, postgres_url, spark).items():
        table = lw.open(**source, unit="who", bounds={"x": (0, 10)}, max_rows_per_unit=100, name="t")
        for name, asked in QUESTIONS.items():
            query = asked(table)
            tables = dict.fromkeys(query.context.relations, named)
            assert fetch(query, salted(3)) == integers(query, tables, salted(3).seed), (engine, name)


def test_the_rule_is_what_the_documentation_says() -> None:
    named = [dict(zip(TYPES, row, strict=True)) for row in ROWS]
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (who VARCHAR, x BIGINT, note VARCHAR)")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?)", ROWS)
    table = lw.open(connection, table="t", name="t", unit="who", bounds={"x": (0, 10)}, max_rows_per_unit=100)

    def count(name: str) -> Any:
        return fetch(QUESTIONS[name](table), salted(3))

    units = [row for row in named if len(str(row["who"]).encode()) <= 200]
    assert len(units) == len(named) - 2
    assert count("different texts")[0] == (len({row["note"] for row in units} - {None}), len(units))
    assert {len(key[0].encode()) for key in count("secret keys") if key[0]} <= set(range(1025))
    assert count("lengths where the text is read")[0] == (sum(len(row["note"] or "") > 300 for row in units),)


def agree_in_little_room(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine and the oracle keep the same rows of random questions, and some joins are limited."""
    limits = set()
    for seed in seeds:
        choose = random.Random(50_000 + seed).choice
        world = draw_world(choose, each_row=False, few=True)
        query, salt = draw_query(choose, world, steps=(2, 3)), salted(seed)
        with monkeypatch.context() as patch:
            for module in (room, oracle):
                patch.setattr(module, "ROOM", 12 * room.row_bytes(query) * max(1, seed % 3))
            if room.joined_rows(query) < 1:
                continue
            limits |= set(limits_of(room.limited(query)))
            assert fetch_rows(query, salt) == survivors(query, world.tables, salt.seed), (seed, query.explain())
    assert limits


def test_the_engine_and_the_oracle_agree_where_there_is_little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    agree_in_little_room(range(20, 40), monkeypatch)


@pytest.mark.sweep
def test_the_engine_and_the_oracle_agree_more_often_where_there_is_little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    agree_in_little_room(range(20), monkeypatch)


def widest(rows: int) -> str:
    """All that is allowed, after a join of one unit's rows with themselves."""
    joined = f"SELECT a.who AS who, a.x * {rows} + b.x AS x, {listed(16, 'a.n# AS n#')} {JOINED}"
    counted = f"MEDIAN(x) AS m, {listed(83, 'AVG(x + #) AS s#')}, {listed(16, 'COUNT(DISTINCT x + 2 * #) AS d#')}"
    return f"SELECT {listed(16, 'n#')}, {counted} FROM ({joined}) AS j GROUP BY {listed(16, 'n#')}"


def wide_rows(rows: int, length: int) -> list[tuple[Any, ...]]:
    """One unit with as many rows, as wide as they can be, and others with few."""
    notes = [[f"{i}-{k}-".ljust(length, "x") for k in range(16)] for i in range(rows)]
    return [*(("w" * 200, i, *notes[i]) for i in range(rows)), *((f"p{i}", i, *[None] * 16) for i in range(20))]


def ask(query: Query) -> Any:
    """An answer, by all statements that there are."""
    return query.release(epsilon=0.5, delta=1e-6 if query.grouping.secret else None)


WIDE_TYPES = {"who": "text", "x": "integer", **{f"n{i}": "text" for i in range(16)}}


def wide(source: dict[str, Any], rows: int) -> PrivateTable:
    return lw.open(**source, name="t", unit="who", bounds={"x": (0, rows)}, max_rows_per_unit=100_000)


@pytest.mark.sweep
def test_the_widest_question_fits_into_the_default_memory(tmp_path: Path) -> None:
    file, rows = tmp_path / "t.parquet", 400
    with duckdb.connect() as connection:
        notes = listed(16, "rpad(i || '-#-', 1024, 'x') AS n#")
        others = f"SELECT 'p' || i, i, {listed(16, 'NULL')} FROM range(20) AS r(i)"
        wide_ = f"SELECT repeat('w', 200) AS who, i AS x, {notes} FROM range({rows}) AS r(i) UNION ALL {others}"
        connection.execute(f"COPY ({wide_}) TO '{file}'")
    query = wide({"source": file}, rows).query(widest(rows))
    assert all(10 < limit < rows for limit in limits_of(room.limited(query)))
    ask(query)


@pytest.mark.sweep
def test_the_widest_question_fits_into_other_engines(postgres_url: str, spark: SparkSession) -> None:
    rows = 60
    for source in (
        in_postgres(wide_rows(rows, 1024), WIDE_TYPES, postgres_url),
        in_spark(wide_rows(rows, 1024), WIDE_TYPES, spark),
    ):
        ask(wide(source, rows).query(widest(rows)))


def test_a_row_of_everything_that_is_allowed_fits_onto_a_page_of_postgresql(postgres_url: str) -> None:
    table = wide(in_postgres(wide_rows(1, 1024), WIDE_TYPES, postgres_url), 1)
    ask(table.query(widest(1).replace(JOINED, "FROM t AS a JOIN (SELECT who, x FROM t) AS b ON a.who = b.who")))


DIFFERENT = listed(16, "COUNT(DISTINCT z#) AS n#")
ATTACKS = {
    "a long text, mentioned often": f"SELECT {DIFFERENT} FROM (SELECT who, {listed(16, 'note AS z#')} FROM t) AS a",
    "a long text in a join": f"SELECT COUNT(DISTINCT a.note) AS n {JOINED} WHERE b.note IS NULL",
    "a long text in a set": f"SELECT COUNT(*) AS n FROM (SELECT DISTINCT who, {listed(200, 'note AS z#')} FROM t) AS a",
    "many numbers of many rows": f"SELECT {DIFFERENT} FROM "
    f"(SELECT a.who AS who, {listed(16, 'a.x * 200 + b.x + # AS z#')} {JOINED}) AS j",
}


@pytest.mark.parametrize("name", ATTACKS)
def test_no_row_of_a_person_fills_memory_because_a_question_mentions_it_often(name: str, tmp_path: Path) -> None:
    count, long = 200, 1 << 20
    file = tmp_path / "t.parquet"
    with duckdb.connect() as connection:
        unit = f"SELECT 'p' AS who, i AS x, rpad(i || '-', CASE WHEN i < 8 THEN {long} ELSE 1 END, 'x') AS note"
        connection.execute(f"COPY ({unit} FROM range({count}) AS r(i)) TO '{file}'")
    table = lw.open(file, name="t", unit="who", bounds={"x": (0, count)}, max_rows_per_unit=100_000, memory="500MB")
    ask(table.query(ATTACKS[name]))
