"""Long expressions are computed in steps: a short statement, and the same integers."""

from __future__ import annotations

from typing import Any

import pytest
from everywhere import in_duckdb, in_postgres
from oracle import integers
from questions import fetch, salted

import lapwing as lw
from lapwing.curator.ask.columns import statement_of
from lapwing.curator.engines.compiler import Compiler
from lapwing.curator.engines.duckdb_dialect import DuckDB
from lapwing.curator.engines.steps import LONG, in_steps
from lapwing.curator.plan.expressions import Call

TYPES = {"p": "integer", "x": "number", "t": "text"}
ROWS = [(i, value, "ab"[i % 2]) for i, value in enumerate([-9.75, -1.05, -0.0, 0.05, 1e-300, 2.5, 7.449, 99.0, None])]
NESTED = "ROUND(ROUND(ROUND(ROUND(x * 1.1, 2) * 1.3 + 1, 2) * 1.7, 1) / 3, 1)"
ASKED = [
    f"SELECT SUM(y) FROM (SELECT p, {NESTED} AS y FROM t) q",
    f"SELECT SUM({NESTED}), AVG(CASE WHEN {NESTED} > 2 THEN {NESTED} ELSE x END), COUNT({NESTED}) FROM t",
    f"SELECT t, SUM({NESTED}), AVG(x) FROM t WHERE x < 90 GROUP BY t",
]


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_steps_give_the_same_integers(engine: str, request: pytest.FixtureRequest) -> None:
    source: dict[str, Any]
    if engine == "duckdb":
        source = in_duckdb(ROWS, TYPES)
    else:
        source = in_postgres(ROWS, TYPES, request.getfixturevalue("postgres_url"))
    tables = {"t": [dict(zip(TYPES, row, strict=True)) for row in ROWS]}
    for unit in ("p", lw.EACH_ROW):
        table = lw.open(**source, unit=unit, bounds={"x": (-10, 100)}, keys={"t": ["a", "b"]}, name="t")
        for sql in ASKED[1:] if unit is lw.EACH_ROW else ASKED:
            query, salt = table.query(sql), salted(1)
            assert fetch(query, salt) == integers(query, tables, salt.seed), sql


def test_what_stands_in_several_places_is_written_once() -> None:
    table = lw.open(**in_duckdb(ROWS, TYPES), unit="p", bounds={"x": (-10, 100)}, name="t")
    query = table.query(ASKED[1])
    [expression, *_] = [grid.expression for grid in query.contents[0]]
    assert isinstance(expression, Call)
    assert expression.length > LONG
    [over], steps = in_steps([expression])
    written = [over, *(what for step in steps for _, what in step)]
    assert max(getattr(what, "length", 1) for what in written) < LONG
    assert len({name for step in steps for name, _ in step}) == sum(map(len, steps))
    statement = statement_of(query, Compiler(DuckDB(), query.context.relations), salted(1))
    assert len(DuckDB().sql(statement.rows())) < 20 * expression.length


def test_a_short_expression_is_left_as_it_is() -> None:
    table = lw.open(**in_duckdb(ROWS, TYPES), unit="p", bounds={"x": (-10, 100)}, name="t")
    [grid] = table.query("SELECT SUM(ROUND(x, 1)) FROM t").contents[0]
    assert in_steps([grid.expression]) == ([grid.expression], [])
