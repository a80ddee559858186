"""Types and files that are unusual and legal: no record in them makes a release fail, warn or count twice."""

from __future__ import annotations

import datetime as dt
import math
import warnings
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from cases import together
from questions import fetch, salted

import lapwing as lw
from lapwing.curator.engines.arrays import bin_counts, cells_of
from lapwing.errors import InvalidParameter, LapwingError, UnsupportedQuery, WeakPrivacyWarning
from lapwing.noise import Reproducible


def rows_of(table: lw.curator.PrivateTable) -> int:
    """How many rows are counted, before noise."""
    [[count]] = fetch(table.agg(lw.count()), salted(1)).values()
    return int(count)


@together(
    "same",
    [
        [2.0**53, 2**53 + 1],
        [2**53, 2**53 + 1, 0.5],
        [0.0, -0.0],
        [math.nan, math.inf],
    ],
)
def test_no_row_that_is_a_unit_finds_two_partners_in_a_public_table(same: list[Any]) -> None:
    table = lw.open({"x": np.array([2.0**53, 0.0, 1.0])}, unit=lw.EACH_ROW)
    public = lw.public([{"x": key, "g": 1} for key in same], types={"x": "number"})
    with pytest.raises(UnsupportedQuery, match="several rows of one"):
        table.join(public, on="x")


@together(
    ("kind", "same"),
    [
        ("integer", [1.2, 1.4]),
        ("text", [1, "1"]),
        ("timestamp", [dt.datetime(2020, 1, 1), "2020-01-01"]),
        ("timestamp", [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)]),
        ("date", [dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 5)]),
        ("integer", [2**64, 1]),
    ],
)
def test_values_of_a_public_table_are_of_the_kind_of_their_column(kind: Any, same: list[Any]) -> None:
    with pytest.raises(InvalidParameter, match=f"is of kind {kind}"):
        lw.public([{"x": key, "g": 1} for key in same], types={"x": kind})


@pytest.mark.parametrize("declared", ["TINYINT", "SMALLINT", "INTEGER", "UTINYINT", "USMALLINT", "UINTEGER"])
@pytest.mark.parametrize("each_row", [False, True])
def test_the_largest_numbers_of_narrow_types_are_numbers_like_others(declared: str, each_row: bool) -> None:
    signed, bits = declared[0] != "U", {"T": 8, "S": 16, "I": 32}[declared.removeprefix("U")[0]]
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    connection = duckdb.connect()
    connection.execute(
        f"CREATE TABLE t AS SELECT i::{declared} AS u, i::{declared} AS x FROM (VALUES ({low}), ({high}), (1)) v(i)"
    )
    keys = {"x": range(low, low + 300)}
    table = lw.open(connection, table="t", unit=lw.EACH_ROW if each_row else "u", bounds={"x": (low, high)}, keys=keys)
    found = fetch(table.group_by("x").agg(lw.count(), lw.sum("x"), lw.count_distinct("x")), salted(1))
    wanted = {0, *(place - low for place in (1, high) if place < low + 300)}
    assert {place for place, numbers in found.items() if any(numbers)} == wanted
    table.agg(lw.variance("x"), lw.median("x")).release(epsilon=1)


def test_the_words_of_an_enum_can_be_read_as_numbers() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT 1 AS u, 'x'::ENUM('x', '12') AS e UNION ALL SELECT 2, '12'")
    table = lw.open(connection, table="t", unit="u", types={"e": "number"})
    assert list(fetch(table.agg(lw.count("e")), salted(1)).values()) == [(1,)]


def test_bytes_are_text_or_nothing() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT 1 AS u, 'a'::BLOB AS x UNION ALL SELECT 2, repeat('a', 2000000)::BLOB")
    table = lw.open(connection, table="t", unit="u", types={"x": "text"})
    assert fetch(table.agg(lw.count("x")), salted(1)) == {0: (1,)}, "text of more than a megabyte is NULL"
    for kind in ("integer", "number", "boolean", "date"):
        with pytest.raises(InvalidParameter, match="another kind"):
            lw.open(connection, table="t", unit="u", types={"x": kind})


@pytest.mark.parametrize(
    "declared",
    [
        "JSON",
        "BIT",
        "TIME",
        "INTERVAL",
        "INTEGER[]",
        "INTEGER[3]",
        "DECIMAL(9, 2)[]",
        "TIMESTAMP_S[]",
        "ENUM('a', 'b')[]",
    ],
)
def test_columns_whose_cells_could_stop_duckdb_cannot_be_used(declared: str) -> None:
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t (u BIGINT, x {declared})")
    assert list(lw.open(connection, table="t", unit="u").columns) == ["u"]
    for kind in ("text", "number"):
        with pytest.raises(InvalidParameter, match="not checked"):
            lw.open(connection, table="t", unit="u", types={"x": kind})


@pytest.mark.parametrize("line", [b'x,"two\nlines"\n', b"x\n", b"x,1,2,3\n", b'x,a"b\n', b"x,\r\n", b"\nx,y\n"])
def test_a_line_of_a_csv_costs_no_other_line(tmp_path: Path, line: bytes) -> None:
    path, others = tmp_path / "t.csv", [b"%d,%d\n" % (i, i) for i in range(50)]
    path.write_bytes(b"".join([b"u,k\n", *others[:20], line, *others[20:]]))
    assert rows_of(lw.open(path, unit="u")) == 51


def test_a_large_csv_with_line_breaks_in_quotes_is_read_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("u,k\n" + "".join(f'{i},"first line of {i}\n1,second,""line""\n"\n' for i in range(200_000)))
    assert rows_of(lw.open(path, unit="u")) == 200_000


@pytest.mark.parametrize("declared", ["Int64", "int64[pyarrow]", "Float64", "double[pyarrow]"])
def test_a_missing_number_of_pandas_is_no_number_and_no_warning(declared: str) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": pandas.Series([40, None, 45], dtype=declared)})
    query = lw.open(frame, unit=lw.EACH_ROW, bounds={"x": (0, 50)}).agg(lw.median("x"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", WeakPrivacyWarning)  # of the large epsilon below
        assert cells_of(query, query.bounds[0].grids[0]) is None, "the engine knows about masks"
        assert query.release(epsilon=1000).columns[0].values[0] >= 39


def test_frames_of_every_make_are_asked_for_a_median() -> None:
    pa, pl, pd = (pytest.importorskip(name) for name in ("pyarrow", "polars", "pandas"))
    table = pa.table({"x": [1.0, 2.0, 3.0]})
    for frame in (table, table.to_batches()[0], pl.from_arrow(table), pl.from_arrow(table).lazy(), table.to_pandas()):
        lw.open(frame, unit=lw.EACH_ROW, bounds={"x": (0, 9)}).agg(lw.median("x")).release(epsilon=1)
    numbered = pd.DataFrame({0: [1, 2]})
    lw.open(numbered, unit=lw.EACH_ROW, bounds={"0": (0, 9)}).agg(lw.median("0")).release(epsilon=1)
    with pytest.raises(InvalidParameter, match="only once"):
        lw.open(table.to_reader(), unit=lw.EACH_ROW)


def test_bins_whose_edges_were_rounded_hold_what_the_engine_says() -> None:
    edges = [2.0**53 - 5 + i * 5.0 for i in range(5)]
    values = np.array([np.nextafter(edge, towards) for edge in edges for towards in (0, edge, math.inf)])
    for value in values:  # each alone: a block with one value near an edge looks at all
        query = lw.open({"x": np.array([value])}, unit=lw.EACH_ROW).agg(lw.histogram("x", edges=edges))
        counted = {place: count for place, count in bin_counts(query) or [] if count}
        assert counted == {place: one for place, (one,) in fetch(query, salted(1)).items() if one and place is not None}


def test_bins_beside_secret_keys_are_called_by_their_edges_however_many() -> None:
    table = lw.open({"u": np.arange(200), "k": np.full(200, 7), "x": np.full(200, 5.0)}, unit="u")
    for edges in ([0, 4, 10], [0, *(i * i + 1 for i in range(300))]):
        query = table.group_by("k").agg(lw.histogram("x", edges=edges))
        answer = query.release(epsilon=100, delta=1e-3)
        [label] = answer.table["x"]
        assert label in ("4 – 10", "5 – 10")


@pytest.mark.parametrize(
    "key", [math.nan, math.inf, 10**400, "\ud800", "a\0b", [1], dt.datetime(2020, 1, 1, tzinfo=dt.UTC)]
)
def test_a_key_that_no_engine_has_is_told_when_the_table_is_opened(key: Any) -> None:
    data = {"x": np.zeros(1), "t": np.array(["a"]), "at": np.array(["2020-01-01"], "M8[us]"), "n": np.zeros(1, int)}
    for column in data:
        with pytest.raises(LapwingError):
            lw.open(data, unit=lw.EACH_ROW, keys={column: [key]})
    assert lw.open(data, unit=lw.EACH_ROW, keys={"n": np.arange(3)}).plan.by_name["n"].keys == (0, 1, 2)


def test_an_interval_of_a_mean_beside_a_variance_allows_for_the_grid() -> None:
    values = np.full(100, 0.300007)
    table = lw.open({"x": values, "y": values**2}, unit=lw.EACH_ROW, bounds={"x": (0, 1), "y": (0, 1)})
    asked = table.agg(lw.mean("x"), lw.variance("x"), lw.std("x"), lw.sum("x"), lw.covariance("x", "y"))
    answer = asked.release(epsilon=10**9, confidence=1 - 1e-9, entropy=Reproducible(1))
    truth = {"mean_x": 0.300007, "variance_x": 0.0, "std_x": 0.0, "sum_x": 30.0007, "covariance_x_y": 0.0}
    for column in answer.columns:
        assert column.noise is not None
        low, high = column.noise[0]
        slack = 100 * 2.0**-30 if column.name == "sum_x" else 1e-12
        assert low - slack <= truth[column.name] <= high + slack, column.name
    expected = {one.output: one.error for one in asked.quote(epsilon=10**9, count=100).expected}
    assert abs(answer.table["mean_x"][0] - 0.300007) <= (expected["mean_x"] or 0)


def test_several_rows_of_one_person_are_no_larger_sample_of_people() -> None:
    """Persons with 20 equal rows each: the interval for everybody must be as wide as for one row each."""

    def width(rows: int) -> float:
        data = {"u": np.repeat(np.arange(2000), rows), "x": np.repeat(np.arange(2000) % 2, rows)}
        table = lw.open(data, unit="u", bounds={"x": (0, 1)}, max_rows_per_group=rows)
        [column] = table.agg(lw.mean("x")).release(epsilon=1000, entropy=Reproducible(1)).columns
        assert column.interval is not None
        assert column.interval[0] is not None
        low, high = column.interval[0]
        return high - low

    assert width(20) > 0.95 * width(1)


def test_a_confidence_next_to_one_is_answered_or_refused_before_anything_is_charged(tmp_path: Path) -> None:
    table = lw.open(
        {"x": np.zeros(3)}, unit=lw.EACH_ROW, bounds={"x": (0, 1)}, allowance=lw.PureDP(3), ledger=tmp_path / "l.db"
    )
    table.agg(lw.mean("x"), lw.std("x")).release(epsilon=1, confidence=1 - 2**-53)
    from fractions import Fraction

    with pytest.raises(InvalidParameter, match="confidence"):
        table.agg(lw.mean("x")).release(epsilon=1, confidence=1 - Fraction(1, 10**30))
    assert table.remaining() == lw.PureDP(2, unit="row")
