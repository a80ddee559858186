"""A private table in Python: what it looks like, keys beside a question, joins of tables that name columns alike."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import duckdb
import numpy as np
import pandas as pd
import pytest

import lapwing as lw
from lapwing.errors import EngineUnreachable, InvalidParameter, LapwingError

SURE = 10**9
"""An epsilon at which counts are exact."""


def opened(name: str, who: list[int], cost: list[float], **more: Any) -> lw.PrivateTable:
    columns = {"who": np.array(who), "cost": np.array(cost)}
    return lw.open(columns, unit="who", name=name, bounds={"cost": (0, 10)}, max_rows_per_unit=9, **more)


VISITS = opened("visits", [1, 2, 3, 3], [1.0, 2.0, 3.0, 4.0])
STAYS = opened("stays", [1, 3, 5], [5.0, 6.0, 7.0])


def test_a_table_and_a_question_look_like_what_they_are() -> None:
    text = repr(VISITS)
    assert text.startswith("<PrivateTable visits: who (the unit), cost (0 … 10); ")
    assert repr(VISITS.agg(lw.count())) == "<Query visits → count(*) as count>"


def test_keys_of_a_computed_column_are_declared_beside_the_question() -> None:
    query = VISITS.group_by(double="cost * 2", keys={"double": [8, 2, 99]}).agg(lw.count())
    answer = query.release(epsilon=SURE)
    assert answer.table["double"] == (8, 2, 99)
    assert answer.table["count"] == (1, 1, 0)


def test_tables_that_name_columns_alike_are_joined_on_the_unit() -> None:
    both = VISITS.join(STAYS)
    assert list(both.columns) == ["who", "cost", "stays.who", "stays.cost"]
    assert both.agg(lw.count()).release(epsilon=SURE).value == 3
    assert both.where("stays.cost > 5").agg(lw.count()).release(epsilon=SURE).value == 2
    without = VISITS.join(STAYS, how="left").where("stays.who IS NULL")
    assert without.agg(lw.count()).release(epsilon=SURE).value == 1
    query = both.agg(lw.count("stays.cost"))
    assert lw.Query.from_yaml(query.to_yaml(), VISITS, [STAYS]).digest() == query.digest()


@pytest.mark.parametrize(
    ("call", "instead"),
    [
        (lambda: VISITS.group_by("cost", keys={"cost": ["a"]}), "Write keys of that kind"),
        (lambda: VISITS.group_by("cost", keys={"price": [1]}), "There are: cost"),
        (lambda: VISITS.group_by("cost", keys=cast(Any, [1, 2])), "Write keys={'year'"),
        (lambda: opened("x", [1], [1.0], keys={"cost": "North"}), "Write keys={'cost': ['North', …]}"),
        (lambda: lw.open({"who": np.arange(2)}, unit=cast(Any, None)), "unit='patient_id', or unit=lw.EACH_ROW"),
        (lambda: opened("x", [1], [1.0], key={}), "Did you mean keys?"),
        (lambda: VISITS.sql("SELECT COUNT(*) FROM visits", epsilon=1, bound={}), "Did you mean bounds?"),
        (lambda: VISITS.sql("SELECT COUNT(*) FROM visits", epsilon=1, deltas=1), "Did you mean delta?"),
        (
            lambda: VISITS.group_by(odd="CASE WHEN cost > 1 THEN who END").agg(lw.count()).release(epsilon=1),
            "{'odd': […]}",
        ),
    ],
)
def test_what_does_not_fit_is_answered_with_what_to_write(call: Callable[[], object], instead: str) -> None:
    with pytest.raises(LapwingError) as caught:
        call()
    assert instead in str(caught.value)


def test_a_complete_column_shares_the_count_of_the_rows_and_fills_what_is_missing_with_the_middle() -> None:
    frame = pd.DataFrame({"who": [1, 2, 3, 4], "x": [10.0, None, 30.0, float("inf")]})
    asked = [lw.count(), lw.sum("x"), lw.mean("x"), lw.count("x", name="n")]
    plain, complete = (
        lw.open(frame, unit="who", bounds={"x": (0, 100)}, complete=names, name="t").agg(*asked)
        for names in ((), ["x"])
    )
    assert [len(query.statistics) for query in (plain, complete)] == [4, 2]
    answer = complete.release(epsilon=10**20)
    assert "a missing value counts as 50.0" in answer.table.column("mean_x").note
    assert "missing" not in plain.release(epsilon=1).table.column("mean_x").note
    exact = answer.table[0]
    assert exact == {"count": 4, "sum_x": 140.0, "mean_x": 35.0, "n": 4}
    assert plain.release(epsilon=10**20).table[0] == {"count": 4, "sum_x": 40.0, "mean_x": 20.0, "n": 2}


@pytest.mark.parametrize("complete", [["y"], ["who"], "x"])
def test_only_columns_with_bounds_can_be_complete(complete: object) -> None:
    frame = pd.DataFrame({"who": [1], "x": [1.0], "y": [1.0]})
    with pytest.raises(lw.errors.InvalidParameter, match="complete"):
        lw.open(frame, unit="who", bounds={"x": (0, 100)}, complete=complete, name="t")  # type: ignore[arg-type]


def test_a_file_is_read_with_the_connection_of_its_owner_and_its_limits(tmp_path: Path) -> None:
    file = tmp_path / "visits.csv"
    file.write_text("patient,cost\n" + "".join(f"{number},{number % 7}\n" for number in range(500)))
    mine = duckdb.connect(config={"threads": 1})
    mine.execute(f"SET allowed_directories = ['{tmp_path}']")
    mine.execute("SET enable_external_access = false")
    table = lw.open(file, unit="patient", connection=mine)
    query = table.agg(lw.count())
    assert table.connection is mine
    assert query.connection is mine
    assert query.release(epsilon=SURE).value == 500
    mine.close()
    with pytest.raises(EngineUnreachable):
        table.agg(lw.count()).release(epsilon=1)


@pytest.mark.parametrize(("options", "words"), [({"memory": "1GB"}, "limits of its own"), ({"threads": 1}, "limits")])
def test_a_connection_brings_its_own_limits(tmp_path: Path, options: dict[str, Any], words: str) -> None:
    file = tmp_path / "visits.csv"
    file.write_text("patient\n1\n")
    with pytest.raises(InvalidParameter, match=words):
        lw.open(file, unit="patient", connection=duckdb.connect(), **options)


def test_what_is_no_connection_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match=r"Write connection=duckdb\.connect"):
        lw.open(tmp_path / "visits.csv", unit="patient", connection="visits.duckdb")


def test_a_connection_to_another_database_is_told_what_to_write(tmp_path: Path) -> None:
    file, other = tmp_path / "visits.csv", sqlite3.connect(":memory:")
    file.write_text("patient\n1\n")
    with pytest.raises(InvalidParameter, match=r"one to SQLite.*Write a file or a frame"):
        lw.open(file, unit="patient", connection=other)
    with pytest.raises(InvalidParameter, match=r"a connection to SQLite.*Write a file or a frame"):
        lw.open(other, unit="patient", table="visits")
    other.close()


@pytest.mark.parametrize(
    "source", ["postgresql://nobody@nowhere/db", "visits.duckdb", duckdb.connect()], ids=["postgres", "file", "duckdb"]
)
def test_a_database_is_read_by_itself(source: Any) -> None:
    with pytest.raises(InvalidParameter, match="is for files and frames"):
        lw.open(source, unit="patient", table="visits", connection=duckdb.connect())
