"""What is wrong with a question is told before it is paid for, and no short text takes forever."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from cases import together

import lapwing as lw
from lapwing.curator.ask.query import Query
from lapwing.curator.plan.evaluation import evaluate
from lapwing.curator.plan.expressions import Column, Constant
from lapwing.curator.plan.language import call
from lapwing.errors import InvalidParameter, LapwingError, UnsupportedQuery

PATIENT = lw.PureDP(100, unit="patient")
COUNT = {"lapwing_query": 1, "rows": [{"table": "visits"}], "ask": [{"count": []}]}


def opened(folder: Path, name: str = "visits", **more: Any) -> lw.PrivateTable:
    frame = pd.DataFrame({"who": ["a", "b", "b"], "age": [10, 20, 30], "smoker": [True, False, True]})
    options: dict[str, Any] = {"unit": "who", "allowance": PATIENT, "ledger": folder / "ledger.db"}
    return lw.open(frame, name=name, bounds={"age": (0, 100)}, **(options | more))


@pytest.fixture
def visits(tmp_path: Path) -> lw.PrivateTable:
    return opened(tmp_path)


def repeated(around: Callable[[str], str], text: str, times: int) -> str:
    for _ in range(times):
        text = around(text)
    return text


# after the noise


def test_the_remainder_of_a_count_is_a_whole_number(visits: lw.PrivateTable) -> None:
    answer = visits.sql("SELECT COUNT(*) AS n, COUNT(*) % 10 AS last, -7 % 3 AS low FROM visits", epsilon=1)
    row = answer.table[0]
    assert type(row["last"]) is int
    assert abs(row["last"]) == abs(row["n"]) % 10
    assert row["low"] == -1


def test_keys_beside_everything_else_are_text_wherever_text_is_needed(visits: lw.PrivateTable) -> None:
    asked = "SELECT age, COUNT(*) AS n FROM visits GROUP BY age HAVING "
    options: dict[str, Any] = {"keys": {"age": [5, 10]}, "everything_else": True, "epsilon": 1}
    assert visits.sql(asked + "LENGTH(age) = 2", **options).table["age"] == (10,)
    assert visits.sql(asked + "age LIKE '5%' OR age = '10'", **options).table["age"] == (5, 10)


@pytest.mark.parametrize(
    ("text", "pattern", "fits"),
    [
        ("", "", True), ("", "%", True), ("", "_", False), ("abc", "a%c", True), ("abc", "a%b", False),
        ("abab", "%ab", True), ("ab", "ab%ab", False), ("a\nb", "a_b", True), ("a.b", "a.b", True),
        ("mississippi", "m%iss%ppi", True), ("mississippi", "m%iss%iss%iss%", False), ("aXbX", "%X%X", True),
        ("axb", "a.b", False), ("a" * 60, "%a" * 20 + "%b", False),
    ],
)  # fmt: skip
def test_like_is_that_of_sql_and_never_goes_back(text: str, pattern: str, fits: bool) -> None:
    like = call("like", Column("t", "text"), Constant(pattern, "text"))
    assert evaluate(like, {"t": text}) is fits


# short texts

NESTED = {
    "between": (lambda x: f"(CASE WHEN {x} THEN 1 ELSE 0 END) BETWEEN 0 AND 1", "smoker", 16),
    "case": (lambda x: f"(CASE {x} WHEN TRUE THEN FALSE WHEN FALSE THEN TRUE ELSE FALSE END)", "smoker", 16),
    "cast": (lambda x: f"(CAST({x} AS number) > 0)", "smoker", 20),
}


@pytest.mark.parametrize("name", NESTED)
def test_what_is_written_out_twice_at_every_level_is_refused(name: str, visits: lw.PrivateTable) -> None:
    around, text, times = NESTED[name]
    assert visits.where(repeated(around, text, 3)).agg(lw.count()).digest()
    with pytest.raises(UnsupportedQuery, match=r"written out|nested too deeply"):
        visits.where(repeated(around, text, times))


def test_text_is_read_so_often_in_one_expression_and_no_oftener(visits: lw.PrivateTable) -> None:
    """An engine holds a copy of a cell for each time, and of a column that is computed, for each time in it."""

    def often(times: int, table: str = "visits") -> str:
        return f"FROM {table} WHERE " + " OR ".join(f"who LIKE '%{i}'" for i in range(times))

    assert visits.query(f"SELECT COUNT(*) {often(256)}").digest()
    with pytest.raises(UnsupportedQuery, match="reads text 257 times"):
        visits.query(f"SELECT COUNT(*) {often(257)}").digest()
    inner = "SELECT who, (" + " OR ".join(f"who LIKE '%{i}'" for i in range(20)) + ") AS b FROM visits"
    outer = " AND ".join("b" if i % 2 else "NOT b" for i in range(13))
    with pytest.raises(UnsupportedQuery, match="reads text 260 times"):
        visits.query(f"SELECT COUNT(*) FROM ({inner}) AS t WHERE {outer}").digest()


@together("times", [80, 200, 450])
def test_steps_that_an_engine_cannot_nest_are_refused_before_they_are_paid_for(
    times: int, visits: lw.PrivateTable
) -> None:
    steps = "".join(f", t{i + 1} AS (SELECT who, age FROM t{i})" for i in range(times))
    with pytest.raises(UnsupportedQuery, match=r"nested|after another"):
        visits.query(f"WITH t0 AS (SELECT * FROM visits) {steps} SELECT COUNT(*) FROM t{times}")
    data = COUNT | {"rows": [{"table": "visits"}, *[{"where": True}] * times]}
    with pytest.raises(LapwingError):
        Query.from_json(json.dumps(data), visits)


def test_as_many_steps_as_are_allowed_are_answered(tmp_path: Path) -> None:
    table = opened(tmp_path, allowance=None, ledger=None)
    while True:
        try:
            query = table.group_by("age").agg(lw.count(), lw.median("age"))
        except UnsupportedQuery:
            break
        table = table.where("age > 3")
    assert query.bounded(max_groups_per_unit=2).release(epsilon=1, delta=1e-9).columns


@pytest.mark.parametrize("text", ["VACUUM visits", "EXPLAIN SELECT 1", "COMMENT ON x IS 'a'", "CREATE FOO BAR"])
def test_nothing_is_logged_about_what_is_refused(
    text: str, visits: lw.PrivateTable, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(UnsupportedQuery):
        visits.query(text)
    assert not caplog.records
    assert capfd.readouterr() == ("", "")


# options


def test_options_that_mean_nothing_are_refused(visits: lw.PrivateTable) -> None:
    with pytest.raises(InvalidParameter, match="max_rows_per_group"):
        visits.query("SELECT COUNT(*) FROM visits", max_rows_per_group=0)
    with pytest.raises(InvalidParameter, match="tables"):
        visits.query("SELECT COUNT(*) FROM visits", tables={1: visits})


def test_keys_may_be_anything_that_can_be_gone_through_once(visits: lw.PrivateTable) -> None:
    text = "SELECT x, COUNT(*) FROM (SELECT who, age AS x FROM visits) v GROUP BY x"
    [key] = visits.query(text, keys={"x": iter([10, 20])}).grouping.keys
    assert key.values == (10, 20)


def test_a_table_is_asked_by_whoever_opened_it_also_from_another(tmp_path: Path, visits: lw.PrivateTable) -> None:
    drugs = opened(tmp_path, "drugs", analyst="ada")
    assert visits.query("SELECT COUNT(*) FROM drugs", tables=[drugs]).context.analyst == "ada"
    assert drugs.query("SELECT COUNT(*) FROM visits", tables=[visits]).context.analyst == "ada"
    bobs = opened(tmp_path, analyst="bob")
    for text in ("SELECT COUNT(*) FROM drugs", "SELECT COUNT(*) FROM drugs JOIN visits USING (who)"):
        with pytest.raises(UnsupportedQuery, match="ada"):
            bobs.query(text, tables=[drugs])


# files


@together(
    "more",
    [
        {"outputs": {}},
        {"group_by": [{"name": "x", "by": {"constant": None}}]},
        {"rows": [{"table": "visits"}, {"per_unit": {"unit": "u", "keys": {"k": 9}, "totals": {}}}]},
        {"rows": [{"table": "visits"}, {"per_unit": {"unit": "u", "keys": {"k": {"negate": [9]}}, "totals": {}}}]},
        {"rows": [{"table": "visits"}, {"select": {}}]},
    ],
)
def test_what_cannot_be_answered_is_refused_when_it_is_read(more: Any, visits: lw.PrivateTable) -> None:
    with pytest.raises((InvalidParameter, UnsupportedQuery)):
        Query.from_json(json.dumps(COUNT | more), visits)


def test_a_number_of_a_file_is_a_double_on_every_engine(visits: lw.PrivateTable) -> None:
    large = {"number": 1 << 62}
    data = COUNT | {"rows": [{"table": "visits"}, {"where": {">": [{"*": [large, large]}, {"column": "age"}]}}]}
    assert Query.from_json(json.dumps(data), visits).release(epsilon=1).columns
