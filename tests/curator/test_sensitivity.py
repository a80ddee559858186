"""Brute force: whoever is taken out of the tables, no integer moves further than its sensitivity says.

Random plans over small tables full of difficult values, all neighbours of each. This is the assumption on which every
stated loss rests; the noise on top of it has tests of its own.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import duckdb
import pandas as pd
import pytest
from cases import together
from questions import PLACES, Row, World, by_group, draw_query, draw_world, fetch, salted

import lapwing as lw
from lapwing.curator.ask.columns import statement_of
from lapwing.curator.ask.query import Query
from lapwing.curator.engines.compiler import Compiler
from lapwing.curator.plan.groups import Grouping, key_for
from lapwing.curator.plan.statistics import Bounding

Integers = Mapping[Any, tuple[int, ...]]


def assert_close(query: Query, all_there: Integers, one_missing: Integers) -> bool:
    """Whether the bound was reached by some integer; an error if it was exceeded."""
    nothing = (0,) * len(query.statistics)
    groups = all_there.keys() | one_missing.keys()
    changed = [g for g in groups if all_there.get(g) != one_missing.get(g)]
    if query.grouping.keys:
        assert len(changed) <= query.effective.touched, query.explain()
    reached = False
    for i, statistic in enumerate(query.statistics):
        moves = [abs(all_there.get(g, nothing)[i] - one_missing.get(g, nothing)[i]) for g in groups]
        l1, squared = statistic.sensitivity(query.effective)
        assert sum(moves) <= l1, (str(statistic), query.explain())
        assert sum(move * move for move in moves) <= squared, (str(statistic), query.explain())
        reached |= sum(moves) == l1
    return reached


def asker(query: Query, seed: int) -> Callable[[], Integers]:
    """The statement, compiled once."""
    compiler = Compiler(query.context.engine.dialect, query.context.relations)
    statement = statement_of(query, compiler, salted(seed))
    text = compiler.dialect.sql(statement.totals(statement.rows().subquery("b", copy=False), query.statistics))
    given: Any = query.context.engine
    return lambda: by_group(query, given.given.execute(text).fetchall())


def neighbours(world: World, each_row: bool) -> Iterable[dict[str, list[Row]]]:
    """The tables without each of the units, which owns rows in several."""
    if each_row:
        rows = world.tables["visits"]
        return [{**world.tables, "visits": [row for row in rows if row is not one]} for one in rows]
    return [world.without(unit) for unit in world.units()]


def brute_force(seed: int) -> int:
    """One random question and all neighbours: how many of them reach the bound."""
    choose, each_row = random.Random(seed).choice, seed % 9 == 0
    world = draw_world(choose, (1, 3, 6, 9, 14), each_row=each_row, few=seed % 3 != 0)
    query = draw_query(choose, world)
    if not query.statistics:
        return 0
    ask = asker(query, seed)
    everybody, reached, others = ask(), 0, []
    for tables in neighbours(world, each_row):
        world.show(tables)
        others.append(ask())
        reached += assert_close(query, everybody, others[-1])
    for one, other in combinations(others, 2):
        assert_replaced(query, one, other)
    return reached


def assert_replaced(query: Query, one: Integers, other: Integers) -> None:
    """Two tables that each lack another unit: one unit has the rows of another, and there are as many as before."""
    nothing = (0,) * len(query.statistics)
    for i, statistic in enumerate(query.statistics):
        moved = sum(abs(one.get(g, nothing)[i] - other.get(g, nothing)[i]) for g in one.keys() | other.keys())
        most = statistic.replaced(query.effective, grouped=bool(query.grouping.keys))
        assert moved <= most, (str(statistic), query.explain())


def test_nobody_moves_an_integer_further_than_its_sensitivity() -> None:
    assert sum(map(brute_force, range(40))) > 10, "bounds that nothing reaches test nothing"


@pytest.mark.sweep
@together("first", range(40, 240, 40))
def test_nobody_moves_an_integer_of_many_questions_further_than_its_sensitivity(first: int) -> None:
    assert sum(map(brute_force, range(first, first + 40))) > 10


SQL = [
    "SELECT region, COUNT(*), COUNT(DISTINCT who), SUM(age) FROM visits GROUP BY region",
    "SELECT smoker, AVG(cost), COUNT(cost) AS n FROM visits WHERE age >= 18 OR note LIKE '1%' GROUP BY smoker",
    """WITH many AS (SELECT who, COUNT(*) AS n, SUM(huge) AS total, MAX(cost) AS most FROM visits GROUP BY who)
       SELECT COUNT(*) AS people, COUNT(DISTINCT n) AS numbers FROM many WHERE most > 0.1 OR n > 2""",
    """SELECT v.region, COUNT(*) FROM visits AS v JOIN drugs AS d ON v.who = d.owner AND d.dose < v.cost
       GROUP BY v.region""",
    """SELECT COUNT(*), SUM(age) FROM visits AS v
       WHERE NOT EXISTS (SELECT 1 FROM drugs AS d WHERE d.owner = v.who AND d.drug = 'x')""",
    """SELECT region, COUNT(*) FROM (SELECT who, region FROM visits UNION SELECT who, note FROM visits) AS b
       GROUP BY region""",
    """SELECT region, COUNT(*) FROM (SELECT DISTINCT who, region, smoker FROM visits) AS b GROUP BY region, smoker""",
    """SELECT most, COUNT(*) FROM (SELECT who, region, MAX(huge) AS most FROM visits GROUP BY who, region) AS b
       GROUP BY most""",
    """SELECT COUNT(*) FROM visits AS a LEFT JOIN visits AS b ON a.who = b.who AND a.region = b.region""",
    """SELECT p.rich, COUNT(*), SUM(v.age) FROM visits AS v LEFT JOIN places AS p ON v.region = p.region
       GROUP BY p.rich""",
]


@together("text", SQL)
def test_nobody_moves_an_answer_of_sql_further_than_its_sensitivity(text: str) -> None:
    for seed in range(3):
        choose = random.Random(seed).choice
        world = draw_world(choose, (6, 9, 14), few=True)
        bounds = choose(({"max_groups_per_unit": 2, "max_rows_per_group": 2}, {"max_rows_per_unit": 3}))
        others = [world.drugs, lw.public(PLACES, name="places")]
        query = world.visits.query(text, tables=others, **bounds)
        ask = asker(query, seed)
        everybody = ask()
        assert any(any(row) for row in everybody.values()) or seed
        for tables in neighbours(world, each_row=False):
            world.show(tables)
            assert_close(query, everybody, ask())


def table_of(types: str, rows: list[tuple[Any, ...]], **options: Any) -> lw.curator.PrivateTable:
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(f"CREATE TABLE t ({types})")
    if rows:
        connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(rows[0]))})", rows)
    return lw.open(connection, table="t", **options)


def without(table: lw.curator.PrivateTable, condition: str) -> None:
    engine: Any = table.context.engine
    engine.given.execute(f"DELETE FROM t WHERE {condition}")


def test_two_people_whose_names_differ_by_a_collation_only_are_two() -> None:
    types = "who VARCHAR COLLATE NOCASE, region VARCHAR COLLATE NOCASE, age BIGINT"
    rows = [(who, region, 1) for who in ("ann", "ANN") for region in ("n", "N", "s")]
    table = table_of(types, rows, unit="who", bounds={"age": (0, 1)}, max_groups_per_unit=3)
    query = table.group_by("region").agg(lw.units(), lw.count(), lw.sum("age"))
    found = fetch(query, salted(1))
    assert found == {("n",): (2, 2, 2), ("N",): (2, 2, 2), ("s",): (2, 2, 2)}
    joined = table.having_rows_in(table.where("who = 'ann'"))
    assert sum(n for n, *_ in fetch(joined.group_by("region").agg(lw.units()), salted(1)).values()) == 3


def test_a_database_that_ignores_case_by_default_does_not_merge_people() -> None:
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("CREATE TABLE t (who VARCHAR, region VARCHAR)")
    connection.execute("INSERT INTO t VALUES ('ann', 'n'), ('ANN', 'N'), ('ann', 'N')")
    connection.execute("SET default_collation = 'NOCASE'")
    table = lw.open(connection, table="t", unit="who", keys={"region": ["n", "N"]}, max_groups_per_unit=2)
    assert fetch(table.group_by("region").agg(lw.units()), salted(1)) == {0: (1,), 1: (2,)}
    assert fetch(table.where("region = 'n'").agg(lw.count()), salted(1)) == {0: (1,)}


@pytest.mark.parametrize("how", ["inner", "left"])
def test_a_row_that_is_a_unit_meets_one_public_row_at_most(how: Any) -> None:
    codes = [{"code": 2**53, "name": "a"}, {"code": 2**53 + 1, "name": "b"}]
    table = table_of("x DOUBLE, n BIGINT", [(2.0**53, 2**53), (2.0**53, 2**53 + 1)], unit=lw.EACH_ROW)
    for column in ("x", "n"):
        try:
            query = table.join(lw.public(codes), on={column: "code"}, how=how).agg(lw.count())
        except lw.errors.UnsupportedQuery:
            continue
        assert fetch(query, salted(1))[0][0] <= 2


def test_a_row_that_is_a_unit_is_in_one_of_many_public_groups_only() -> None:
    table = table_of("x DOUBLE", [(2.0**53,)], unit=lw.EACH_ROW)
    values = [*range(20), 2**53, 2**53 + 1]
    try:
        key = key_for("x", table.plan.by_name["x"], values=values)
        query = Query(table.context, table.plan, Grouping((key,)), (lw.count(),))
    except lw.errors.LapwingError:
        return
    assert sum(n for (n,) in fetch(query, salted(1)).values()) <= 1


def test_a_zero_has_no_sign_that_an_answer_could_show() -> None:
    rows = [("b", -0.0, "n"), ("a", -0.0, "n"), ("a", 0.0, "n")]
    types = "who VARCHAR, x DOUBLE, region VARCHAR"
    table = table_of(types, rows, unit="who", keys={"x": [0.0, 1.0]}, max_groups_per_unit=2, max_rows_per_group=2)
    query = table.group_by("x", "region").agg(lw.count(), lw.units())
    everybody = fetch(query, salted(1))
    assert {repr(group) for group in everybody} == {"(0.0, 'n')"}
    without(table, "who = 'b'")
    assert_close(query, everybody, fetch(query, salted(1)))


def test_people_without_a_name_are_nobody() -> None:
    rows = [(None, "n"), (None, "s"), ("", "n")]
    table = table_of("who VARCHAR, region VARCHAR", rows, unit="who", max_groups_per_unit=2)
    for query in (table.agg(lw.count()), table.join(table.select(other="who")).agg(lw.count())):
        assert fetch(query, salted(1)) == {0: (1,)}


def test_one_unit_with_everything_reaches_exactly_the_bound() -> None:
    rows = [("x", f"r{i % 20}", 100) for i in range(200)]
    table = table_of("who VARCHAR, region VARCHAR, age BIGINT", rows, unit="who", bounds={"age": (0, 100)})
    for bounding in (Bounding(3, 4), Bounding(max_rows_per_unit=7), Bounding(30, 30)):
        grouped = replace(table, bounding=bounding).group_by("region")
        query = grouped.agg(lw.count(), lw.units(), lw.sum("age"), lw.count_distinct("age"))
        groups = fetch(query, salted(1))
        if bounding.max_rows_per_unit:
            assert sum(row[0] for row in groups.values()) == 7
        else:
            assert len(groups) == min(20, bounding.max_groups_per_unit)
            assert {row[0] for row in groups.values()} == {min(10, bounding.max_rows_per_group)}
        assert_close(query, groups, {})


@together("unit", ["who", lw.EACH_ROW])
@together("keys", [["n", "N"], ["n", "N", *map(str, range(20))]])
def test_no_row_is_in_two_groups_or_meets_two_places_in_a_database_that_ignores_case(unit: Any, keys: Any) -> None:
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("CREATE TABLE t (who VARCHAR, region VARCHAR)")
    connection.execute("INSERT INTO t VALUES ('ann', 'n')")
    connection.execute("SET default_collation = 'NOCASE'")
    table = lw.open(connection, table="t", unit=unit, keys={"region": keys}, max_groups_per_unit=2)
    assert fetch(table.group_by("region").agg(lw.count()), salted(1)) == {0: (1,)}
    places = lw.public([{"code": "n", "name": "small"}, {"code": "N", "name": "capital"}])
    joined = table.join(places, on={"region": "code"}).bounded(max_rows_per_unit=2)
    assert fetch(joined.agg(lw.count()), salted(1)) == {0: (1,)}
    assert fetch(joined.where("name = 'SMALL'").agg(lw.count()), salted(1)) == {0: (0,)}


@pytest.mark.parametrize("other", ["1000", "-1000", "100.5"])
def test_a_value_for_what_is_missing_is_clamped_like_every_other(other: str) -> None:
    frame = pd.DataFrame({"who": [1, 2], "x": [10.0, None]})
    table = lw.open(frame, unit="who", bounds={"x": (0, 100)}, name="t")
    asked = table.agg(lw.sum(f"COALESCE(x, {other})", bounds=(0, 100), name="s"))
    assert asked.release(epsilon=10**20).value in (10.0, 110.0)


def test_nothing_in_the_place_of_what_is_missing_is_still_missing() -> None:
    frame = pd.DataFrame({"who": [1, 2], "x": [10.0, None]})
    table = lw.open(frame, unit="who", bounds={"x": (0, 100)}, name="t")
    asked = table.agg(lw.sum("COALESCE(x, NULL)", bounds=(0, 100), name="s"), lw.mean("COALESCE(x, NULL)", name="m"))
    assert asked.release(epsilon=10**20).table[0] == {"s": 10.0, "m": 10.0}
