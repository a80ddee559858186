"""A join of private tables cannot multiply the rows of one unit beyond a public number, on any engine."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import oracle
import pytest
from everywhere import everywhere
from oracle import integers, survivors
from questions import draw_query, draw_world, fetch, fetch_rows, salted

import lapwing as lw
from lapwing.curator.ask.room import limited
from lapwing.curator.plan import multiplicity
from lapwing.curator.plan.multiplicity import LARGEST_JOIN, limits_of, most_rows
from lapwing.curator.plan.nodes import scans
from lapwing.curator.tables.table import PrivateTable
from lapwing.errors import UnsupportedQuery

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TYPES = {"who": "text", "x": "integer", "note": "text"}
ROWS = [(f"p{i % 3}", (i * i) % 11 if i % 4 else None, "aAbB"[i % 4]) for i in range(60)] + [("q", 1, None)]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Joins that make at most 16 rows of one unit, in the library and in the oracle."""
    monkeypatch.setattr(multiplicity, "LARGEST_JOIN", 16)
    monkeypatch.setattr(oracle, "LARGEST_JOIN", 16)


def itself(table: PrivateTable, times: int = 1) -> PrivateTable:
    """A table joined with itself."""
    for i in range(times):
        table = table.join(table_of(table).select(**{f"w{i}": "who", f"x{i}": "x", f"n{i}": "note"}))
    return table


def table_of(table: PrivateTable) -> PrivateTable:
    return replace(table, plan=next(scans(table.plan)))


def test_every_engine_takes_the_same_rows_into_a_join(small: None, postgres_url: str, spark: SparkSession) -> None:
    named = [dict(zip(TYPES, row, strict=True)) for row in ROWS]
    for engine, source in everywhere(ROWS, TYPES, postgres_url, spark).items():
        table = lw.open(**source, unit="who", bounds={"x": (0, 10)}, max_rows_per_group=100, name="t")
        for times in (1, 2):
            query = itself(table, times).agg(lw.count(), lw.sum(f"x{times - 1}"), lw.count_distinct("note"))
            expected = integers(query, dict.fromkeys(query.context.relations, named), salted(5).seed)
            assert expected[0][0] == {1: 3 * 16 + 1, 2: 3 * 8 + 1}[times]
            assert fetch(query, salted(5)) == expected, (engine, times)


def joins(seeds: range) -> int:
    """How many of some random questions join private tables; the engine and the oracle agree about all."""
    count = 0
    for seed in seeds:
        choose = random.Random(20_000 + seed).choice
        world = draw_world(choose, each_row=False, few=True)
        query, salt = draw_query(choose, world, steps=(2, 3)), salted(seed)
        count += any(limits_of(limited(query)))
        assert fetch_rows(query, salt) == survivors(query, world.tables, salt.seed), (seed, query.explain())
    return count


def test_the_engine_and_the_oracle_agree_on_random_joins(small: None) -> None:
    assert joins(range(20)) > 0


@pytest.mark.sweep
def test_the_engine_and_the_oracle_agree_on_many_random_joins(small: None) -> None:
    assert joins(range(20, 60)) > 0


def test_a_person_with_many_rows_does_not_fill_memory_or_disk(tmp_path: Path) -> None:
    limits = {"memory_limit": "300MB", "max_temp_directory_size": "300MB", "temp_directory": str(tmp_path)}
    connection = duckdb.connect(config=limits)
    connection.execute("CREATE TABLE t AS SELECT 'p' || (range % 50) AS who, range AS x, 'n' AS note FROM range(500)")
    connection.execute("INSERT INTO t SELECT 'many', range, 'n' FROM range(200000)")
    table = lw.open(connection, table="t", unit="who", bounds={"x": (0, 10)}, max_rows_per_group=2)
    [(rows,)] = fetch(itself(table).agg(lw.count()), salted(1)).values()
    assert rows == 51 * 2


def test_the_limit_is_public_and_no_chain_of_joins_makes_more() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (who VARCHAR, x BIGINT, note VARCHAR)")
    table = lw.open(connection, table="t", unit="who", bounds={"x": (0, 10)})
    for times, share in ((1, 1024), (2, 101), (3, 32), (6, 7), (21, 1)):
        plan = limited(itself(table, times).agg(lw.count()))
        assert set(limits_of(plan)) == {share}
        assert (most_rows(plan) or LARGEST_JOIN + 1) <= LARGEST_JOIN
    notes = itself(table).agg(lw.count()).quote(epsilon=1).notes
    assert "a join uses at most 1,024 rows per who from each table" in notes


def test_what_has_one_row_of_each_unit_is_joined_as_it_is() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (who VARCHAR, x BIGINT, note VARCHAR)")
    table = lw.open(connection, table="t", unit="who", bounds={"x": (0, 10)})
    sql = "SELECT COUNT(*) FROM (SELECT who, COUNT(*) AS n FROM t GROUP BY who) AS a JOIN t AS b ON a.who = b.who"
    one = table.sql(sql, epsilon=1)
    assert f"a join uses at most {LARGEST_JOIN:,} rows per who from each table" in one.notes


def test_a_join_with_public_rows_that_agree_cannot_multiply_the_rows_of_one_unit_without_end(tmp_path: Path) -> None:
    limits = {"memory_limit": "300MB", "max_temp_directory_size": "300MB", "temp_directory": str(tmp_path)}
    connection = duckdb.connect(config=limits)
    connection.execute("CREATE TABLE t AS SELECT 'p' || range AS who, range AS x, 'n' AS note FROM range(50)")
    connection.execute("INSERT INTO t SELECT 'many', range, 'n' FROM range(200000)")
    table = lw.open(connection, table="t", unit="who", bounds={"x": (0, 10)}, max_rows_per_group=2)
    public = lw.public([{"note": "n", "y": i} for i in range(1000)], name="many")
    joined = "SELECT COUNT(*) AS n FROM t JOIN many AS a ON t.note = a.note"
    [(rows,)] = fetch(table.query(f"{joined} WHERE t.who = 'many'", tables=[public]), salted(1)).values()
    assert rows == 2
    with pytest.raises(UnsupportedQuery, match="can make more than 119,410 rows of one"):
        table.query(f"{joined} JOIN many AS b ON t.note = b.note JOIN many AS c ON t.note = c.note", tables=[public])


def test_the_limit_of_a_chain_counts_the_public_rows_that_agree() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (who VARCHAR, x BIGINT, note VARCHAR)")
    table = lw.open(connection, table="t", unit="who", bounds={"x": (0, 10)})
    for agree, alone, twice in ((1, set(), {345}), (2, {59_705}, {244}), (1000, {119}, {10})):
        public = lw.public([{"note": "n", "y": i} for i in range(agree)])
        alone_joined = table.join(public, on="note").agg(lw.count())
        assert set(limits_of(limited(alone_joined))) == alone
        both = limited(itself(table).join(public, on="note").agg(lw.count()))
        assert set(limits_of(both)) == twice
        assert (most_rows(both) or LARGEST_JOIN + 1) <= LARGEST_JOIN
