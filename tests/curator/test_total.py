"""Nothing that a row holds makes an engine fail: a failure at one person's row is an exact answer, at any price."""

from __future__ import annotations

import contextlib

import pandas as pd
import pytest
from everywhere import in_postgres

import lapwing as lw
from lapwing.errors import InvalidParameter, UnsupportedQuery

TINY = 1e-9
"""An epsilon at which an answer is noise, so that whatever is learned is learned from a failure."""
PEOPLE = pd.DataFrame({"p": range(6), "diag": ["HIV", "flu", "flu", "HIV", "flu", "HIV"]})
TEXT = "CASE WHEN diag = 'HIV' THEN 'boom' ELSE 'true' END"


@pytest.mark.parametrize("how", ["JOIN", "LEFT JOIN"])
@pytest.mark.parametrize("also", ["AND a.z", "AND (a.z)", "AND a.z AND b.diag = 'flu'", "AND a.n", "AND a.d"])
def test_a_join_takes_truth_values_only_so_no_text_is_cast_row_by_row(how: str, also: str) -> None:
    table = lw.open(PEOPLE, unit="p", name="t")
    inner = f"SELECT p, {TEXT} AS z, LENGTH(diag) AS n, DATE '2026-11-15' AS d FROM t WHERE p = 3"
    with pytest.raises(UnsupportedQuery, match="not a truth value"):
        table.query(f"SELECT COUNT(*) FROM ({inner}) AS a {how} t AS b ON a.p = b.p {also}")


def test_a_cast_of_a_whole_number_lies_within_its_bounds_so_no_product_overflows(postgres_url: str) -> None:
    rows = [(person, 90 if person == 3 else 1) for person in range(5)]
    table = lw.open(**in_postgres(rows, {"p": "integer", "x": "integer"}, postgres_url), unit="p")
    power = "1e270" + " * CAST(s AS number)" * 20
    for asked in (f"SUM({power})", f"COUNT(*) FILTER (WHERE {power} > 5)", f"SUM({power} * 1e-200)"):
        sql = f"SELECT {asked} FROM (SELECT p, SUM(x) AS s FROM t GROUP BY p) AS a"
        with contextlib.suppress(InvalidParameter):  # by the question alone: bounds that are too large for a sum
            table.sql(sql, bounds={"s": (0, 1)}, epsilon=TINY)
