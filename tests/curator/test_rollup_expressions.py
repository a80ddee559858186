"""Levels that SQL writes as expressions: years and months of a date, and CASE in CASE."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pandas as pd
import pytest

import lapwing as lw
from lapwing.errors import UnsupportedQuery

DAYS = [dt.date(2025, 1, 1) + dt.timedelta(days=i * 11) for i in range(60)]
EXACT = 10**9


def opened() -> lw.PrivateTable:
    rows = pd.DataFrame({"day": DAYS, "age": [i % 40 for i in range(60)]})
    return lw.open(rows, name="t", unit=lw.EACH_ROW, types={"day": "date"}, bounds={"age": (0, 100)})


def test_years_and_months_of_a_date_are_levels() -> None:
    sql = "SELECT YEAR(day) AS y, MONTH(day) AS m, COUNT(*) AS n FROM t GROUP BY ROLLUP (y, m)"
    answer = opened().sql(sql, keys={"y": [2025, 2026], "m": list(range(1, 13))}, epsilon=EXACT)
    counts = {(row["y"], row["m"]): row["n"] for row in answer.table}
    assert counts[None, None] == 60
    assert counts[2025, None] == sum(day.year == 2025 for day in DAYS)
    assert counts[2026, 3] == sum((day.year, day.month) == (2026, 3) for day in DAYS)
    assert len(counts) == 1 + 2 + 24


def test_a_case_in_a_case_is_a_ladder() -> None:
    halves = "CASE WHEN age < 20 THEN 'young' ELSE 'old' END AS half"
    parts = "CASE WHEN age < 10 THEN 'a' WHEN age < 20 THEN 'b' ELSE 'c' END AS part"
    answer: Any = opened().sql(
        f"SELECT {halves}, {parts}, COUNT(*) AS n FROM t GROUP BY ROLLUP (half, part)", epsilon=EXACT
    )
    counts = {(row["half"], row["part"]): row["n"] for row in answer.table}
    assert (counts["young", None], counts["young", "a"], counts["old", "c"], counts["old", "a"]) == (40, 20, 20, 0)


@pytest.mark.parametrize("group", ["DATE_TRUNC('month', day)", "CUBE (age, day)"])
def test_what_engines_do_differently_is_refused(group: str) -> None:
    with pytest.raises(UnsupportedQuery):
        opened().sql(f"SELECT COUNT(*) AS n FROM t GROUP BY {group}", epsilon=1)
