"""The geometric mean: its logarithm is the same on every engine, its interval holds, and it is asked like a mean."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest
from everywhere import in_duckdb, in_postgres, in_spark
from oracle import integers, value_of
from questions import fetch, salted

import lapwing as lw
from lapwing.curator.aggregates.geometric import PIECES, _off
from lapwing.errors import InvalidCall, InvalidParameter, UnsupportedQuery
from lapwing.noise import Reproducible

LARGEST = 1.7976931348623157e308
EXTREME = [
    0.0, -0.0, 5e-324, -5e-324, 2.0**-1022, 1e-9, 0.5, 1.0, math.nextafter(1.0, 0.0), math.nextafter(1.0, 2.0), 2.5,
    -2.5, 999.9999999999999, 1000.0, 1000.0000000000001, 1e15, 2.0**60, -(2.0**63), 1e300, LARGEST, -LARGEST, math.inf,
    -math.inf, math.nan, None, *(-(1.5**k) for k in range(1, 12)), *(1.5**k for k in range(-12, 12)),
]  # fmt: skip
WHOLES = [0, 1, -1, 7, 31, 999, 1000, 1001, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), None]
TYPES = {"p": "integer", "x": "number", "k": "integer"}
BOUNDS = [(1, 1000), (0.001, 7), (5e-10, 2.0**59), (1, 1.0000001), (2.0**-500, 2.0**500), (300, 301)]


def rows() -> list[tuple[Any, ...]]:
    return [(place, value, WHOLES[place % len(WHOLES)]) for place, value in enumerate(EXTREME)]


@pytest.mark.parametrize("engine", ["duckdb", "postgres", "spark"])
def test_no_logarithm_fails_at_a_row_and_all_engines_agree(engine: str, request: pytest.FixtureRequest) -> None:
    if engine == "duckdb":
        source = in_duckdb(rows(), TYPES)
    elif engine == "postgres":
        source = in_postgres(rows(), TYPES, request.getfixturevalue("postgres_url"))
    else:
        source = in_spark(rows(), TYPES, request.getfixturevalue("spark"))
    table, salt = lw.open(**source, unit="p", bounds={"x": (-(2**60), 2**60)}, name="t"), salted(1)
    tables = {"t": [dict(zip(TYPES, row, strict=True)) for row in rows()]}
    asked = [*(("x", bounds) for bounds in BOUNDS), ("k", (1, 1000)), ("x * 2 + 1", (1, 1000))]
    if engine == "spark":
        asked = [("x", (1, 1000)), ("k", (1, 3)), ("x * 2 + 1", (1, 1000))]
    for column, bounds in asked:
        query = table.agg(lw.geometric_mean(column, bounds=bounds))
        assert fetch(query, salt) == integers(query, tables, salt.seed), (column, bounds)


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_a_logarithm_is_as_close_as_it_says(bounds: tuple[float, float]) -> None:
    table = lw.open(pd.DataFrame({"p": [1], "x": [1.0]}), unit="p", name="t")
    [grid] = table.agg(lw.geometric_mean("x", bounds=bounds)).bounds[0].grids
    low, high = math.log(bounds[0]), math.log(bounds[1])
    values = [math.exp(low + (high - low) * place / 250) for place in range(251)]
    inside = [min(max(value, bounds[0]), bounds[1]) for value in values]
    worst = max(abs(value_of(grid.expression, {"x": value}) - math.log(value)) for value in inside)
    assert worst <= _off(grid)
    assert high - low > PIECES / 2 or _off(grid) < 1.3e-5, "the ladder is fine enough for bounds that people have"


def test_bounds_that_nobody_has_take_no_more_room() -> None:
    table = lw.open(pd.DataFrame({"p": [1], "x": [1.0]}), unit="p", name="t")
    [grid] = table.agg(lw.geometric_mean("x", bounds=BOUNDS[4])).bounds[0].grids
    assert grid.expression.length < 3_000


def plain(values: list[float]) -> float:
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def frame(count: int = 4000) -> pd.DataFrame:
    values = [float((37 * place) % 991 + 1) for place in range(count)]
    return pd.DataFrame(
        {"p": range(count), "x": values, "k": [int(value) for value in values], "even": [True, False] * (count // 2)}
    )


def test_with_little_noise_it_is_the_plain_geometric_mean() -> None:
    data = frame()
    data.loc[:9, "x"] = [math.nan, -3.0, 0.0, 1e9, math.nan, math.inf, 0.5, 2000.0, math.nan, 1000.0]
    table = lw.open(data, unit="p", name="t", bounds={"x": (1, 1000), "k": (1, 1000)})
    answer = table.sql("SELECT GEOMEAN(x) AS g, GEOMETRIC_MEAN(k) AS h FROM t", epsilon=1e6, entropy=Reproducible(1))
    present = data["x"][data["x"].map(math.isfinite)].clip(1, 1000)
    for column, exact in zip(answer.columns, (plain(list(present)), plain(list(data["k"]))), strict=True):
        [(low, high)] = column.noise or ()
        assert low <= exact <= high
        assert column.values[0] == pytest.approx(exact, rel=2e-5)


@pytest.mark.parametrize("epsilon", [0.05, 1])
def test_the_value_lies_in_its_intervals_and_its_bounds(epsilon: float) -> None:
    table = lw.open(frame(60), unit="p", name="t", bounds={"x": (1, 1000)})
    for seed in range(3):
        answer = table.agg(lw.geometric_mean("x")).release(epsilon=epsilon, entropy=Reproducible(seed))
        [column] = answer.columns
        for low, high in (*(column.noise or ()), *(column.interval or column.noise or ())):
            assert 1 * (1 - 1e-12) <= low <= column.values[0] <= high <= 1000 * (1 + 1e-12)


def test_the_quoted_error_holds_if_every_integer_is_within_its_width() -> None:
    table = lw.open(frame(), unit="p", name="t", bounds={"x": (1, 1000)})
    query = table.agg(lw.geometric_mean("x"))
    error = query.quote(epsilon=1, count=4000).expected[0].error
    exact = plain(list(frame()["x"]))
    assert error is not None
    off = [abs(query.release(epsilon=1, entropy=Reproducible(seed)).value - exact) for seed in range(3)]
    assert max(off) <= error < 999, "the seeds are fixed: each of the answers is sure to 95 %, and all are inside"
    with pytest.raises(UnsupportedQuery, match="count=N"):
        query.quote(within=5)


def test_where_a_column_is_complete_what_is_missing_counts_as_the_middle() -> None:
    data = pd.DataFrame({"p": [1, 2], "x": [None, 4.0]})
    table = lw.open(data, unit="p", name="t", bounds={"x": (1, 100)}, complete=["x"])
    query = table.agg(lw.geometric_mean("x"), lw.count())
    answer = query.release(epsilon=1e6, entropy=Reproducible(1))
    assert answer["geometric_mean_x"][0] == pytest.approx(math.sqrt(10 * 4), rel=1e-4)
    assert "a missing value counts as 10" in answer.columns[0].note
    assert [line.what for line in query.quote(epsilon=1).lines] == ["rows", "sum of ln x"]


@pytest.mark.parametrize("bounds", [(0, 10), (-1, 10), (1, 1e200)], ids=str)
def test_bounds_must_be_above_0(bounds: tuple[float, float]) -> None:
    table = lw.open(frame(10), unit="p", name="t")
    with pytest.raises(InvalidParameter, match="above 0"):
        table.agg(lw.geometric_mean("x", bounds=bounds))


def test_it_is_asked_saved_and_refused_like_a_mean() -> None:
    table = lw.open(frame(), unit="p", name="t", bounds={"x": (1, 1000)})
    query = table.query("SELECT even, GEOMEAN(x) FILTER (WHERE k > 5), AVG(x) FROM t GROUP BY even")
    again = lw.Query.from_yaml(query.to_yaml(), table)
    assert again.digest() == query.digest()
    assert "geometric mean" in query.to_yaml()
    asked = table.agg(lw.geometric_mean("x", bounds=(2, 50), weight=2, name="g"))
    assert lw.Query.from_json(asked.to_json(), table).aggregates == asked.aggregates
    assert asked.release(epsilon=1).explain().text.count("the geometric mean of the values") == 1
    with pytest.raises(UnsupportedQuery, match="geometric mean per unit"):
        table.query("SELECT AVG(g) FROM (SELECT p, GEOMEAN(x) AS g FROM t GROUP BY p) AS q", bounds={"g": (1, 9)})
    with pytest.raises(UnsupportedQuery, match="not a number"):
        table.agg(lw.geometric_mean("even"))
    with pytest.raises(InvalidCall, match="Did you mean bounds"):
        lw.geometric_mean("x", limits=(1, 2))  # type: ignore[call-arg]


def test_text_is_read_no_more_often_than_one_person_has_room_for() -> None:
    data = pd.DataFrame({"p": [1, 2], "s": ["2", "8"]})
    table = lw.open(data, unit="p", name="t", bounds={})
    answer = table.agg(lw.geometric_mean("CAST(s AS number)", bounds=(1, 100), name="g")).release(epsilon=1e6)
    assert answer.value == pytest.approx(4, rel=1e-3)
    with pytest.raises(UnsupportedQuery, match="reads text"):
        table.agg(lw.geometric_mean("CAST(s AS number) * CAST(s AS number)", bounds=(1, 1e12)))
