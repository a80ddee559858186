"""DuckDB against the oracle: the same integers before noise, for random questions about tables of difficult values."""

from __future__ import annotations

import datetime as dt
import math
import random
import statistics as plain
from fractions import Fraction
from typing import Any

import duckdb
import pytest
from cases import together
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import Asker
from oracle import from_text, grid, integers, read, stepped, survivors
from questions import COSTS, draw_query, draw_world, fetch, fetch_rows, literal, salted

import lapwing as lw
from lapwing.curator.plan.expressions import Column
from lapwing.curator.plan.grids import gridded
from lapwing.noise import Reproducible

PROFILE = settings(max_examples=40, derandomize=True, deadline=None, database=None)


def agree(seed: int) -> None:
    """The integers and the rows that count of one random question."""
    choose = random.Random(10_000 + seed).choice
    world = draw_world(choose, each_row=seed % 8 == 0, few=seed % 3 == 0)
    query, salt = draw_query(choose, world), salted(seed)
    answered = Asker(query, salt).ask(query)
    if query.statistics:
        assert answered.integers == integers(query, world.tables, salt.seed), query.explain()
    assert answered.rows == survivors(query, world.tables, salt.seed), query.explain()


@together("seed", range(30))
def test_the_engine_and_the_oracle_agree_on_random_questions(seed: int) -> None:
    agree(seed)


@pytest.mark.sweep
@together("seed", range(30, 160))
def test_the_engine_and_the_oracle_agree_on_many_random_questions(seed: int) -> None:
    agree(seed)


def table_of(columns: dict[str, str], rows: list[tuple[Any, ...]], **options: Any) -> lw.curator.PrivateTable:
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(f"CREATE TABLE t ({', '.join(f'{name} {kind}' for name, kind in columns.items())})")
    if rows:
        listed = ", ".join(f"({', '.join(map(literal, row))})" for row in rows)
        connection.execute(f"INSERT INTO t VALUES {listed}")
    return lw.open(connection, table="t", **options)


def as_read(values: list[Any], declared: str, kind: Any) -> list[Any]:
    """What the curator makes of the values of a column, in order."""
    from sqlglot import exp

    from lapwing.curator.engines.compiler import Compiler

    types = {"value": kind} if declared == "VARCHAR" else {}
    rows = list(enumerate(values))
    table = table_of({"who": "BIGINT", "value": declared}, rows, unit="who", types=types)
    assert table.columns["value"] == kind
    query = Compiler(table.context.engine.dialect, table.context.relations).rows(table.plan)
    with table.context.engine.session(table.context.relations.values()) as session:
        found = session.fetch(exp.select("u", "c1").from_(query.subquery("r")))
    return [value for _, value in sorted(found, key=lambda row: row[0])]


def same(found: Any, expected: Any) -> bool:
    """Equal, of one type, and to the last bit."""
    if isinstance(expected, float):
        return isinstance(found, float) and found.hex() == expected.hex()
    return type(found) is type(expected) and found == expected


NEARLY_NUMBERS = st.one_of(
    st.text("+-.0123456789eE_ \n", max_size=20),
    st.from_regex(r"[+-]?[0-9]{1,42}([.][0-9]{0,50})?", fullmatch=True),
    st.text(max_size=8).filter(lambda text: "\x00" not in text),
    st.floats().map(repr),
)
NEARLY_TIMES = st.one_of(
    st.from_regex(r"[0-9]{4}-[01][0-9]-[0-3][0-9]", fullmatch=True),
    st.from_regex(r"[0-9]{4}-[01][0-9]-[0-3][0-9][ T][0-2][0-9]:[0-6][0-9]:[0-6][0-9]([.][0-9]{0,7})?", fullmatch=True),
    st.datetimes().map(lambda moment: moment.isoformat(sep=" ")),
    st.dates().map(lambda day: day.isoformat()),
    st.text("0123456789-: T.", max_size=26),
)


@PROFILE
@given(st.lists(NEARLY_NUMBERS, min_size=1, max_size=60), st.sampled_from(["integer", "number", "boolean", "text"]))
def test_text_means_what_the_rule_says(texts: list[str], kind: str) -> None:
    texts = [text for text in texts if "\x00" not in text]
    expected = [text if kind == "text" else from_text(text, kind) for text in texts]
    for text, found, wanted in zip(texts, as_read(list(texts), "VARCHAR", kind), expected, strict=True):
        assert same(found, wanted), text


@PROFILE
@given(st.lists(NEARLY_TIMES, min_size=1, max_size=60), st.sampled_from(["date", "timestamp"]))
def test_text_is_a_time_where_the_rule_says(texts: list[str], kind: str) -> None:
    for text, found in zip(texts, as_read(list(texts), "VARCHAR", kind), strict=True):
        assert same(found, from_text(text, kind)), text


@PROFILE
@given(st.lists(st.floats(), min_size=1, max_size=60))
def test_doubles_that_are_no_numbers_are_missing(values: list[float]) -> None:
    for value, found in zip(values, as_read(list(values), "DOUBLE", "number"), strict=True):
        assert same(found, read(value, "number")), value


@PROFILE
@given(st.lists(st.integers(-(2**127), 2**127 - 1), min_size=1, max_size=60))
def test_whole_numbers_beyond_64_bits_are_missing(values: list[int]) -> None:
    assert as_read(list(values), "HUGEINT", "integer") == [read(value, "integer") for value in values]


@st.composite
def ends(draw: st.DrawFn) -> tuple[float, float]:
    low, high = sorted([draw(st.floats(-1e12, 1e12)), draw(st.floats(-1e12, 1e12))])
    return (low, high) if high - low > 1e-6 else (low, low + 1)


@PROFILE
@given(st.lists(st.one_of(st.floats(), st.sampled_from(COSTS)), max_size=40), ends(), st.sampled_from([14, 29]))
def test_sums_are_those_of_the_grid(values: list[Any], bounds: tuple[float, float], bits: int) -> None:
    rows = [(i, value) for i, value in enumerate(values)]
    table = table_of({"who": "BIGINT", "x": "DOUBLE"}, rows, unit="who", bounds={"x": bounds})
    aggregates = [lw.sum("x")] if bits == 29 else [lw.variance("x")]
    query = table.agg(*aggregates)
    asked = query.statistics[0].arguments[0]
    low, high, exponent = grid("number", Fraction(bounds[0]), Fraction(bounds[1]), bits)
    assert (asked.low, asked.high, asked.exponent) == (low, high, exponent)
    seen = [stepped(value, "number", low, high, exponent) for value in values if read(value, "number") is not None]
    assert all(asked.steps[0] <= step <= asked.steps[1] for step in seen)
    assert max(map(abs, asked.steps)) <= 2**bits
    middle = (asked.steps[0] + asked.steps[1]) // 2
    expected = (sum(seen),) if bits == 29 else (len(seen), *(sum((s - middle) ** k for s in seen) for k in (1, 2)))
    assert fetch(query, salted(0)) == {0: expected}


@PROFILE
@given(ends(), st.sampled_from(["integer", "number"]), st.sampled_from([14, 29]))
def test_a_grid_is_as_fine_as_it_may_be(bounds: tuple[float, float], kind: Any, bits: int) -> None:
    column = Column("x", kind)
    found = gridded(column, (Fraction(bounds[0]), Fraction(bounds[1])), bits)
    assert (found.low, found.high, found.exponent) == grid(kind, Fraction(bounds[0]), Fraction(bounds[1]), bits)


def test_with_next_to_no_noise_every_aggregate_is_what_its_name_says() -> None:
    rng = random.Random(1)
    rows = [(i, rng.choice("ab"), rng.uniform(0, 100), rng.randrange(50), rng.choice([True, False])) for i in range(60)]
    types = {"who": "BIGINT", "g": "VARCHAR", "x": "DOUBLE", "y": "BIGINT", "b": "BOOLEAN"}
    table = table_of(types, rows, unit="who", bounds={"x": (0, 100), "y": (0, 50)}, keys={"g": ["a", "b", "c"]})
    asked = [
        *(lw.count(), lw.units(), lw.count_distinct("y"), lw.sum("x"), lw.mean("x"), lw.variance("x"), lw.std("x")),
        *(lw.covariance("x", "y"), lw.correlation("x", "y"), lw.median("x"), lw.quantile("y", 0.9), lw.sum("y")),
    ]
    answer = table.group_by("g").agg(*asked).release(epsilon=10**9, entropy=Reproducible(1))
    got = {column.name: column.values for column in answer.columns}
    assert got["g"] == ("a", "b", "c")
    for i, name in enumerate("ab"):
        xs, ys = [row[2] for row in rows if row[1] == name], [row[3] for row in rows if row[1] == name]
        wanted = {
            "count": len(xs), "units": len(xs), "distinct_y": len(set(ys)), "sum_x": sum(xs), "mean_x": plain.mean(xs),
            "variance_x": plain.pvariance(xs), "std_x": plain.pstdev(xs), "sum_y": sum(ys),
            "covariance_x_y": plain.covariance(xs, ys) * (len(xs) - 1) / len(xs),
            "correlation_x_y": plain.correlation(xs, ys),
        }  # fmt: skip
        for output, value in wanted.items():
            assert math.isclose(got[output][i], value, rel_tol=2e-2, abs_tol=2e-2), output
        below = sum(x < got["median_x"][i] for x in xs)
        assert abs(below - len(xs) / 2) <= 1
    assert got["count"][2] == got["units"][2] == got["sum_y"][2] == 0
    assert abs(got["sum_x"][2]) < 1e-5, "on a grid of 2^-22, the noise has some steps even here"


def test_dates_that_no_calendar_has_are_missing() -> None:
    rows = [(1, dt.date.min), (2, dt.date.max), (3, None)]
    table = table_of({"who": "BIGINT", "day": "DATE"}, rows, unit="who")
    engine: Any = table.context.engine
    engine.given.execute(
        "INSERT INTO t VALUES (4, 'infinity'), (5, '-infinity'), (6, '10000-01-01'), (7, '0001-01-01 (BC)')"
    )
    assert fetch(table.agg(lw.count(), lw.count("day", name="days")), salted(1)) == {0: (7, 2)}


@PROFILE
@given(
    st.lists(st.one_of(st.floats(), st.sampled_from([v for v in COSTS if v is not None])), min_size=1, max_size=40),
    st.sampled_from([[0, 1, 2, 3], [0, 0.1, 0.2, 0.3], [-1.7e308, 0, 1.7e308], [-10, 0.5, 99.99], [0, 1e-320, 2e-320]]),
    st.sampled_from([(0, 1), (-10, 100), (-1e-5, 1e15)]),
)
def test_numpy_counts_what_the_engine_counts(values: list[float], edges: list[float], bounds: Any) -> None:
    import numpy as np

    from lapwing.curator.engines.arrays import bin_counts, cells_of

    with np.errstate(all="raise"):  # a warning would tell of a value
        table = lw.open({"x": np.array(values)}, unit=lw.EACH_ROW, bounds={"x": bounds})
        histogram, median = table.agg(lw.histogram("x", edges=edges)), table.agg(lw.median("x"))
        counted, cells = bin_counts(histogram), cells_of(median, median.bounds[0].grids[0])
        assert counted is not None
        assert cells is not None
        low = cells.grid.steps[0]
        found = dict(cells.coarse(low, 12))
    assert {place: (count,) for place, count in counted if count} == fetch(histogram, salted(1))
    wanted: dict[int, int] = {}
    for (step,), count in fetch_rows(median, salted(1)).items():
        if step is not None:
            wanted[(step - low) >> 12] = wanted.get((step - low) >> 12, 0) + count
    assert found == wanted
