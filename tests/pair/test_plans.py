"""Random questions in SQL: two servers compute the numbers that DuckDB computes from the rows."""

from __future__ import annotations

import random
from typing import Any

import duckdb
import pandas as pd
import pytest
from pairing import answered

import lapwing as lw
from lapwing.curator.ask.query import Query
from lapwing.errors import UnsupportedQuery
from lapwing.pair.compiler import Compiled
from lapwing.pair.domains import Digits, Layout, Listed

ROWS = 101
AGES = range(17, 40)
LAYOUT = Layout(
    (
        Listed("age", "integer", tuple(AGES)),
        Listed("sex", "text", ("f", "m")),
        Listed("town", "text", ("A", "B", "C")),
        Listed("smoker", "boolean", (False, True)),
        Digits("gain", "integer", -50, 2999),
    ),
    products=60,
)
PLACE = "CASE WHEN age < 25 THEN 'young' WHEN age >= 30 THEN 'old' ELSE 'between' END"
KEYS = ("sex", "town", "smoker", PLACE)
ASKED = (
    "COUNT(*)", "SUM(age)", "COUNT(age)", "SUM(gain)", "COUNT(gain)", "COUNT(DISTINCT age)", "COUNT(DISTINCT town)",
    "SUM(age * age)", "SUM(CASE WHEN smoker THEN 1 ELSE 0 END)", "SUM(age - 20)",
)  # fmt: skip


def rows(dice: random.Random) -> dict[str, list[Any]]:
    """With many that are missing."""
    return {
        "age": [dice.choice([None, *AGES]) for _ in range(ROWS)],
        "sex": [dice.choice(["f", "m", None]) for _ in range(ROWS)],
        "town": [dice.choice(["A", "B", "C", None]) for _ in range(ROWS)],
        "smoker": [dice.choice([True, False, None]) for _ in range(ROWS)],
        "gain": [dice.choice([None, 0, dice.randrange(-50, 3000)]) for _ in range(ROWS)],
    }


def frame(table: dict[str, list[Any]]) -> pd.DataFrame:
    kinds = {"age": "Int64", "gain": "Int64", "smoker": "boolean"}
    return pd.DataFrame({name: pd.array(cells, dtype=kinds.get(name, "string")) for name, cells in table.items()})


def simple(dice: random.Random) -> str:
    """A condition on one column."""
    comparison = f"age {dice.choice(['<', '>=', '=', '<>'])} {dice.randrange(15, 42)}"
    between = f"age BETWEEN 20 AND {dice.randrange(18, 45)}"
    town = f"town IN ('A', '{dice.choice('BC')}')"
    others = ["smoker", "smoker IS NULL", "age % 3 = 1", "town IS NOT NULL", "town LIKE '%A%'"]
    return dice.choice([comparison, between, town, f"sex = '{dice.choice('fmx')}'", *others])


def condition(dice: random.Random, depth: int = 2) -> str:
    if not depth or dice.random() < 0.3:
        return simple(dice)
    parts = [condition(dice, depth - 1) for _ in range(2)]
    return dice.choice([f"NOT ({parts[0]})", f"({parts[0]} AND {parts[1]})", f"({parts[0]} OR {parts[1]})"])


def question(dice: random.Random) -> str:
    keys = dice.sample(KEYS, dice.randrange(3))
    asked = dice.sample([*ASKED, f"COUNT(*) FILTER (WHERE {simple(dice)})"], dice.randrange(1, 3))
    outputs = [f"{key} AS k{i}" for i, key in enumerate(keys)] + [f"{what} AS a{i}" for i, what in enumerate(asked)]
    where = f" WHERE {condition(dice)}" if dice.random() < 0.7 else ""
    by = " GROUP BY " + ", ".join(f"k{i}" for i in range(len(keys))) if keys else ""
    return f"SELECT {', '.join(outputs)} FROM people{where}{by}"


def opened(table: dict[str, list[Any]]) -> lw.PrivateTable:
    keys = {"sex": ["f", "m"], "town": ["A", "B", "C"], "age": list(AGES)}
    return lw.open(
        frame(table), unit=lw.EACH_ROW, name="people", keys=keys, bounds={"age": (17, 39), "gain": (-50, 2999)}
    )


def compared(seed: int, count: int) -> None:
    dice = random.Random(seed)
    table = rows(dice)
    people = frame(table)
    texts = [question(dice) for _ in range(count)]
    queries = [opened(table).query(text) for text in texts]
    compiled = [Compiled(query, LAYOUT) for query in queries]
    numbers = answered(LAYOUT, table, [list(part.measures.values()) for part in compiled])
    for text, query, part, ours in zip(texts, queries, compiled, numbers, strict=True):
        width = len(query.grouping.keys)
        plain = {row[:width]: row[width:] for row in duckdb.sql(text).fetchall()}
        by_statistic = dict(zip(part.measures, ours, strict=True))
        for place, label in enumerate(query.grouping.labels()):
            values = [_value(query, i, by_statistic, place) for i in range(len(query.bounds))]
            expected = [value or 0 for value in plain.get(tuple(label), (0,) * len(values))]
            assert values == expected, (text, label)
    assert len(people) == ROWS  # read by DuckDB, by its name


def _value(query: Query, output: int, numbers: dict[Any, list[int]], place: int) -> float:
    bound = query.bounds[output]
    step = float(bound.grids[0].granularity) if bound.grids else 1
    return numbers[bound.statistics[0]][place] * step


def test_two_servers_compute_what_duckdb_computes() -> None:
    compared(1, 25)


@pytest.mark.sweep
@pytest.mark.timeout(5000)
def test_two_servers_compute_what_duckdb_computes_for_a_thousand_questions() -> None:
    for seed in range(2, 12):
        compared(seed, 100)


def test_a_public_table_is_joined_on_a_listed_column() -> None:
    table = rows(random.Random(5))
    towns = lw.public(pd.DataFrame({"town": ["A", "B"], "region": ["north", "south"]}), name="towns")
    text = "SELECT region, COUNT(*) AS n FROM people JOIN towns USING (town) WHERE age > 20 GROUP BY region"
    query = opened(table).query(text, tables=[towns], keys={"region": ["north", "south"]})
    [[numbers]] = answered(LAYOUT, table, [list(Compiled(query, LAYOUT).measures.values())])
    pairs = list(zip(table["town"], table["age"], strict=True))
    assert numbers == [sum(town == name and (age or 0) > 20 for town, age in pairs) for name in "AB"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("SELECT COUNT(*) FROM people WHERE age > gain", "as digits"),
        ("SELECT MEDIAN(age) FROM people", "quantile"),
        ("SELECT VARIANCE(gain) FROM people", "digits"),
        ("SELECT COUNT(*) FROM people WHERE sex = town", "several columns"),
        ("SELECT COUNT(DISTINCT gain) FROM people", "different values cannot be counted"),
        ("SELECT SUM(age * gain) FROM people", "digits"),
        ("SELECT sex, COUNT(*) FROM people GROUP BY ROLLUP (sex)", "every level"),
    ],
)
def test_what_does_not_compile_is_refused_with_its_reason(text: str, why: str) -> None:
    with pytest.raises(UnsupportedQuery, match=why):
        Compiled(opened(rows(random.Random(1))).query(text), LAYOUT).measures  # noqa: B018


def test_a_constant_where_no_column_is_listed_is_refused() -> None:
    table = rows(random.Random(1))
    own = Layout((Digits("gain", "integer", -50, 2999),))
    with pytest.raises(UnsupportedQuery, match=r"Write COUNT\(\*\)"):
        Compiled(opened(table).query("SELECT SUM(1) FROM people"), own).measures  # noqa: B018
