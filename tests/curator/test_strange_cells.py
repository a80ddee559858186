"""One strange cell in a file or frame: it is NULL (or text by a rule), and no release fails because of it."""

from __future__ import annotations

import datetime as dt
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from questions import fetch, salted

import lapwing as lw
from lapwing.curator.engines.cells import total
from lapwing.errors import InvalidParameter

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pq = pytest.importorskip("pyarrow.parquet")

BROKEN = pa.StringArray.from_buffers(3, pa.array([0, 1, 3, 4], pa.int32()).buffers()[1], pa.py_buffer(b"aM\xfcz"))
"""Three texts, the second of which is Latin-1."""
FAR = [0, 2**62, -(2**62), None, 2**63 - 1, -(2**63)]
"""The first moment of 1970, and moments that nobody can hold."""


def counted(source: Any, column: str = "k", **options: Any) -> tuple[int, int]:
    """How many rows there are, and how many of them have a value; nothing fails whatever is asked."""
    table = lw.open(source, unit=lw.EACH_ROW, **options)
    [numbers] = fetch(table.agg(lw.count(), lw.count(column), lw.count_distinct(column)), salted(1)).values()
    if table.columns[column] == "text":
        table.group_by(column).agg(lw.count()).release(epsilon=100, delta=0.01)
    return int(numbers[0]), int(numbers[1])


class Unspeakable:
    """An object without text."""

    def __str__(self) -> str:
        raise ValueError("a secret")


@pytest.mark.parametrize("dictionary", [False, True])
def test_text_of_parquet_that_is_no_utf8_is_text_with_question_marks(tmp_path: Path, dictionary: bool) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"k": BROKEN}), path, use_dictionary=dictionary)
    assert counted(path) == (3, 3)
    table = lw.open(path, unit=lw.EACH_ROW, keys={"k": ["a", "M?"]})
    assert fetch(table.group_by("k").agg(lw.count()), salted(1)) == {0: (1,), 1: (1,)}


@pytest.mark.parametrize("zone", [None, "UTC", "America/New_York"])
@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_moments_of_parquet_that_nobody_can_hold_are_null(tmp_path: Path, unit: str, zone: str | None) -> None:
    path, broken = tmp_path / "t.parquet", pa.concat_arrays([BROKEN, BROKEN])
    words = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 1, 0, 1]), BROKEN)
    columns = {"k": pa.array(FAR, pa.timestamp(unit, zone)), "t": broken, "d": words, "b": broken.view(pa.binary())}
    pq.write_table(pa.table(columns), path, version="2.6")
    rows, known = counted(path)
    assert rows == 6
    assert known == 1 if unit != "ns" else 1 <= known < 6
    assert counted(path, "t")[0] == 6
    opened = lw.open(path, unit=lw.EACH_ROW).columns
    assert ("d" in opened) == (unit != "ms"), "Arrow, which reads milliseconds, stops at such words"
    assert "b" not in opened, "bytes are no text unless their owner says so"


@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Kathmandu"])
@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_moments_of_frames_that_nobody_can_hold_are_null(unit: str, zone: str | None) -> None:
    column = pa.array(FAR, pa.timestamp(unit, zone))
    table = pa.table({"k": column})
    assert counted(table) == counted(table.to_batches()[0]) == (6, 1)
    if unit != "s":
        frame = pl.DataFrame({"k": pl.Series(FAR[:5], dtype=pl.Int64).cast(pl.Datetime(unit, zone))})  # type: ignore[arg-type]
        assert counted(frame) == counted(frame.lazy()) == (5, 1)
    series = pd.Series(np.array([0, 2**62], f"M8[{unit}]"))
    series = series.dt.tz_localize("UTC").dt.tz_convert(zone) if zone else series
    assert counted(pd.DataFrame({"k": series})) == (2, 1)
    assert counted(pd.DataFrame({"k": pd.Series(column, dtype=pd.ArrowDtype(column.type))})) == (6, 1)
    assert counted({"k": np.array([0, 2**62], f"M8[{unit}]")}) == (2, 1)


def test_moments_with_a_zone_are_the_same_instants_everywhere(tmp_path: Path) -> None:
    noon = dt.datetime(2020, 7, 1, 12, tzinfo=dt.UTC)
    for unit in ("s", "ms", "us", "ns"):
        table = pa.table({"k": pa.array([noon], pa.timestamp(unit, "America/New_York"))})
        pq.write_table(table, tmp_path / "t.parquet", version="2.6")
        for source in (table, table.to_pandas(), pl.from_arrow(table), tmp_path / "t.parquet"):
            asked = lw.open(source, unit=lw.EACH_ROW).where("k = TIMESTAMP '2020-07-01 12:00:00'").agg(lw.count())
            assert fetch(asked, salted(1)) == {0: (1,)}, (unit, type(source))


@pytest.mark.parametrize(
    "text",
    [
        BROKEN,
        BROKEN.cast(pa.binary()).cast(pa.large_binary()).view(pa.large_string()),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), BROKEN),
    ],
    ids=lambda text: str(text.type),
)
def test_text_of_arrow_that_is_no_utf8_is_null(text: Any) -> None:
    assert counted(pa.table({"k": text})) == (3, 2)
    assert counted(pa.table({"k": text}), types={"k": "number"}) == (3, 0)
    if not pa.types.is_dictionary(text.type):
        assert counted(pd.DataFrame({"k": pd.Series(text, dtype=pd.ArrowDtype(text.type))})) == (3, 2)


@pytest.mark.parametrize("library", ["arrow", "pandas"])
@pytest.mark.parametrize("encoding", ["runs", "opaque", "json"])
def test_text_of_arrow_is_checked_however_it_is_encoded(encoding: str, library: str) -> None:
    text: Any = {
        "runs": lambda: pytest.importorskip("pyarrow.compute").run_end_encode(BROKEN),
        "opaque": lambda: pa.ExtensionArray.from_storage(pa.opaque(pa.string(), "a", "b"), BROKEN),
        "json": lambda: pa.ExtensionArray.from_storage(pa.json_(pa.string()), BROKEN),
    }[encoding]()
    frame = pa.table({"k": text})
    if library == "pandas":
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame({"k": pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([text])))})
    assert counted(frame) == (3, 2)
    assert counted(frame, types={"k": "date"}) == (3, 0)  # DuckDB's own functions fail here, and it with them for good


@pytest.mark.parametrize(
    "strange",
    ["\ud800", Unspeakable(), 10**5000, None, float("nan"), pd.NA, pd.NaT],
    ids=["half a character", "no text", "too long", "None", "NaN", "NA", "NaT"],
)
def test_objects_without_text_are_null(strange: Any) -> None:
    cells = np.array(["a", strange, "z"], dtype=object)
    assert counted({"k": cells}) == (3, 2)
    assert counted(pd.DataFrame({"k": pd.Series(cells, dtype=object)})) == (3, 2)
    if isinstance(strange, str):
        assert counted({"k": np.array(["a", strange, "z"])}) == (3, 2)
        assert counted(pd.DataFrame({"k": pd.Series(cells, dtype="string")})) == (3, 2)
        assert counted(pd.DataFrame({"k": pd.Categorical(["a", strange, None])})) == (3, 1)


def test_objects_with_text_are_text() -> None:
    cells = np.array(["a", 1, 2.5, True, b"x", dt.date(2020, 1, 2), "é😀"], dtype=object)
    keys = ["a", "1", "2.5", "true", "b'x'", "2020-01-02", "é😀"]  # true, as in a column of truth values
    for source in ({"k": cells}, pd.DataFrame({"k": cells, "j": 1})):
        table = lw.open(source, unit=lw.EACH_ROW, keys={"k": keys})
        assert fetch(table.group_by("k").agg(lw.count()), salted(1)) == dict.fromkeys(range(7), (1,))


def test_columns_whose_cells_nobody_checks_are_left_out(tmp_path: Path) -> None:
    hours = pa.array([0, 2**62], pa.int64()).view(pa.time64("us"))
    table = pa.table({"x": [1, 2], "h": hours, "l": [["a"], ["b"]], "d": pa.array([0, 2**62], pa.duration("s"))})
    pq.write_table(table.drop_columns("d"), tmp_path / "t.parquet")
    for source in (table, tmp_path / "t.parquet"):
        assert list(lw.open(source, unit=lw.EACH_ROW).columns) == ["x"]
        with pytest.raises(InvalidParameter, match="not checked"):
            lw.open(source, unit=lw.EACH_ROW, types={"h": "text"})


def test_a_file_that_says_nothing_of_nan_leaves_no_test_out(tmp_path: Path) -> None:
    """Neither statistics of a Parquet file nor what they leave out may decide what is counted, or stop a sum."""
    path = tmp_path / "t.parquet"
    nan, numbers = float("nan"), [1.0, 4.0, 5.0]
    for more, kind in product(([], [nan], [nan, nan], [nan, float("inf")]), (pa.float64(), pa.float32())):
        pq.write_table(pa.table({"x": pa.array([*numbers, *more], kind)}), path)
        table = lw.open(path, unit=lw.EACH_ROW, bounds={"x": (0, 10)})
        assert fetch(table.agg(lw.count("x")), salted(1)) == {0: (3,)}
        assert fetch(table.where("x > 3").agg(lw.count()), salted(1)) == {0: (2,)}
        assert fetch(table.where("x IS NULL").agg(lw.count()), salted(1)) == {0: (len(more),)}
        table.agg(lw.sum("x"), lw.variance("x")).release(epsilon=1)


@pytest.mark.parametrize("condition", ["x = 'b?'", "x LIKE 'b?'", "COALESCE(x, '') = 'b?'", "x <> 'z' AND x <> 'a'"])
def test_what_a_file_says_of_its_text_does_not_decide_which_rows_are_read(tmp_path: Path, condition: str) -> None:
    path = tmp_path / "t.parquet"
    for others in ([b"b\xc3\xa9", b"z"], [b"b\xc3\xa9", b"z", b"a"]):
        cells = pa.array([*others, b"b\xff"], pa.binary())
        pq.write_table(pa.table({"x": pa.Array.from_buffers(pa.string(), len(cells), cells.buffers())}), path)
        extra = "<>" in condition
        table = lw.open(path, unit=lw.EACH_ROW, keys={"x": ["b?"]})
        assert fetch(table.where(condition).agg(lw.count()), salted(1)) == {0: (1 + extra,)}
        assert fetch(table.group_by("x").agg(lw.count()), salted(1)) == {0: (1,)}


@pytest.mark.parametrize("dtype", [object, "string", pd.CategoricalDtype(["a", "b"])], ids=str)
def test_objects_beside_a_column_of_arrow_are_text_whatever_their_cells_are(dtype: Any) -> None:
    for notes in ([None, None], [None, "a"], ["a", "b"]):
        frame = pd.DataFrame({"x": pd.Series([1, 2], dtype="int64[pyarrow]"), "k": pd.Series(notes, dtype=dtype)})
        frame["at"] = pd.to_datetime(["2020-01-01", None])
        frame["b"] = pd.array([True, None], dtype="boolean")
        table = lw.open(frame, unit=lw.EACH_ROW)
        assert table.columns == {"x": "integer", "k": "text", "at": "timestamp", "b": "boolean"}
        known = sum(note is not None for note in notes)
        assert fetch(table.agg(lw.count("k"), lw.count("at"), lw.count("b")), salted(1)) == {0: (known, 1, 1)}


def test_moments_of_polars_that_nobody_can_hold_are_null(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    frame = pl.DataFrame({"at": pl.Series([0, 2**62]).cast(pl.Datetime("ms"))})
    for one in (frame, frame.with_columns(pl.col("at").dt.replace_time_zone("UTC"))):
        one.write_parquet(path)
        for source in (one, path):
            assert fetch(lw.open(source, unit=lw.EACH_ROW).agg(lw.count("at")), salted(1)) == {0: (1,)}


def test_moments_in_a_dictionary_that_nobody_can_hold_are_null() -> None:
    moments = pa.array([0, 2**62], pa.timestamp("ms", "UTC"))
    table = pa.table({"k": pa.DictionaryArray.from_arrays(pa.array([0, 1, 1]), moments)})
    assert counted(table) == (3, 1)
    assert counted(table.to_pandas(types_mapper=pd.ArrowDtype)) == (3, 1)


@pytest.mark.parametrize("kind", ["text", "date", "boolean", "timestamp", "number"])
def test_text_of_polars_that_is_no_utf8_is_null(kind: str) -> None:
    frame = pl.from_arrow(pa.table({"k": BROKEN}))
    assert counted(frame, types={"k": kind}) == (3, 2 if kind == "text" else 0)


def test_decimals_with_more_digits_than_their_type_are_null(tmp_path: Path) -> None:
    raw = pa.py_buffer(b"".join(n.to_bytes(16, "little", signed=True) for n in (15 * 10**9, -(2**127), 2**127 - 1)))
    table = pa.table({"k": pa.Array.from_buffers(pa.decimal128(38, 10), 3, [None, raw])})
    pq.write_table(table, tmp_path / "t.parquet")
    for source in (table, tmp_path / "t.parquet"):
        assert counted(source) == (3, 1)
        known = lw.open(source, unit=lw.EACH_ROW, bounds={"k": (0, 10)})
        assert fetch(known.where("k = 1.5").agg(lw.count()), salted(1)) == {0: (1,)}


@pytest.mark.parametrize("dtype", ["object", "string", "category", "string[pyarrow]", "large_string[pyarrow]"])
def test_rows_stay_together_whatever_their_labels_are(dtype: str) -> None:
    words = ["a", None, "\ud800" if dtype in ("object", "string", "category") else "x", "b", "c"]
    frame = pd.DataFrame({"n": range(5), "k": pd.Series(words, dtype=object).astype(dtype)})
    frame["at"] = pd.Series(np.arange(5), dtype="M8[s]").dt.tz_localize("UTC")
    for labels in ([7, 7, 7, 7, 7], [4, 3, 2, 1, 0], list("vwxyz")):
        frame.index = pd.Index(labels)
        for part in (frame, frame[frame["n"] != 1]):
            table = lw.open(part, unit=lw.EACH_ROW, keys={"n": range(5)})
            told = table.where("k = 'b' AND at = TIMESTAMP '1970-01-01 00:00:03'").group_by("n").agg(lw.count())
            assert {place for place, (one,) in fetch(told, salted(1)).items() if one} == {3}


def test_a_frame_is_not_read_when_it_is_opened() -> None:
    class Loud:
        def __str__(self) -> str:
            raise AssertionError("was read")

    frame = pd.DataFrame({"k": pd.Series([Loud()], dtype=object), "n": [1]})
    assert list(lw.open(frame, unit=lw.EACH_ROW).columns) == ["k", "n"]


@pytest.mark.parametrize("name", ["v[12]", "w*", "q?", "[]", "[!a]", "a[", "{a,b}", "**", "v=1"])
def test_a_file_is_opened_by_its_name_and_no_other(tmp_path: Path, name: str) -> None:
    for folder in (tmp_path, tmp_path / "unit=7" / name):
        folder.mkdir(parents=True, exist_ok=True)
        for other in ("v1", "v2", "w_secret", "qa", "a", "b"):
            (folder / f"{other}.csv").write_text("u,k\n1,1\n2,2\n3,3\n")
            pq.write_table(pa.table({"unit": [1, 2, 3], "k": [1, 2, 3]}), folder / f"{other}.parquet")
        (folder / f"{name}.csv").write_text("u,k\n1,1\n")
        pq.write_table(pa.table({"unit": [1], "k": [1]}), folder / f"{name}.parquet")
        for suffix, unit in (("csv", "u"), ("parquet", "unit")):
            table = lw.open(folder / f"{name}.{suffix}", unit=unit, name="t")
            assert list(table.columns) == [unit, "k"]
            assert fetch(table.agg(lw.count()), salted(1)) == {0: (1,)}


def test_a_name_that_is_a_pattern_and_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "v1.csv").write_text("u,k\n1,1\n")
    for name in ("v[12].csv", "v*.csv", "?1.csv"):
        with pytest.raises(InvalidParameter, match="no such file"):
            lw.open(tmp_path / name, unit="u")
    path = tmp_path / "v[1]\\.csv"
    path.write_text("u,k\n1,1\n")
    with pytest.raises(InvalidParameter, match="backslash"):
        lw.open(path, unit="u")


@pytest.mark.parametrize("first", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("others", ["\n", "\r\n"])
def test_every_line_end_outside_quotes_ends_a_record_however_the_first_line_ends(
    tmp_path: Path, first: str, others: str
) -> None:
    """An unquoted lone CR ends a record, too: a rule that no record can change for the others."""
    path = tmp_path / "t.csv"
    rows = ["1,a\r2,b", '3,"c\rd"', "4,e"]
    path.write_bytes(("u,k" + first + others.join(rows) + others).encode())
    table = lw.open(path, unit="u", keys={"k": ["a", "b", "c\rd", "e"]})
    assert fetch(table.group_by("k").agg(lw.count()), salted(1)) == dict.fromkeys(range(4), (1,))


def test_cells_of_a_filtered_frame_stay_in_their_rows() -> None:
    frame = pd.DataFrame({"who": [1, 2, 3, 4], "t": ["a", None, "b", 5]}, dtype=object)[1:]
    assert total(frame)["t"].tolist() == [None, "b", "5"]
