"""Rows as arrays for their owner's models, and names for columns that a file names badly."""

from __future__ import annotations

import datetime as dt
import gzip
from pathlib import Path

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import InvalidParameter

TEXT = """whose;size;size;;when
a;1,5;NA;ja;01.02.2026
a;2,5;7;nein;02.02.2026
b;SECRET;8;x;NA
;3;9;ja;01.02.2026
"""
NAMES = ["whose", "size", "other", "agrees", "when"]


def opened(path: Path, **options: object) -> lw.PrivateTable:
    return lw.open(
        path,
        unit="whose",
        names=NAMES,
        delimiter=";",
        decimal=",",
        true="ja",
        false="nein",
        types={"size": "number", "other": "integer", "agrees": "boolean", "when": "date"},
        **options,  # type: ignore[arg-type]
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "messy.csv"
    found.write_text(TEXT)
    return found


def test_cells_are_read_as_in_every_question(path: Path) -> None:
    rows = opened(path).raw_rows(NAMES, per_unit=None)
    order = np.argsort(rows["other"])  # NaN last
    assert rows["other"][order].tolist()[:2] == [7, 8]
    assert np.isnan(rows["other"][order][2])
    assert rows["size"][order][0] == 2.5
    assert np.isnan(rows["size"][order][1])
    assert rows["agrees"][order].tolist() == [False, None, True]
    assert rows["when"][order].tolist() == [dt.date(2026, 2, 2), None, dt.date(2026, 2, 1)]
    text = opened(path).raw_rows(["agrees", "other"], text=["agrees", "other"], per_unit=None)
    assert set(zip(text["agrees"], text["other"], strict=True)) == {("true", None), ("false", "7"), (None, "8")}


def test_one_row_of_each_unit_is_drawn_unless_all_are_wanted(path: Path) -> None:
    table = opened(path)
    drawn = [table.raw_rows(["whose", "size"]) for _ in range(40)]
    assert all(sorted(one["whose"]) == ["a", "b"] for one in drawn)
    sizes = {size for one in drawn for size in one["size"].tolist() if size == size}
    assert sizes == {1.5, 2.5}  # both of a's rows have a turn; missed with probability 2^-39
    assert len(table.raw_rows(["whose"], per_unit=None)["whose"]) == 3  # without a unit a row is nobody's
    assert len(table.raw_rows(["whose"], per_unit=None, most=2)["whose"]) == 2


def test_rows_are_refused_to_an_analyst_and_names_are_checked(path: Path) -> None:
    with pytest.raises(InvalidParameter, match="opened for an analyst"):
        opened(path, analyst="eve").raw_rows(["size"])
    with pytest.raises(InvalidParameter, match="is not in this table"):
        opened(path).raw_rows(["nothing"])


def test_names_fit_the_file_or_are_refused(path: Path) -> None:
    with pytest.raises(InvalidParameter, match="one distinct name"):
        lw.open(path, unit="whose", delimiter=";")
    for names, why in (
        (["a", "A", "b", "c", "d"], "must be distinct"),
        (["a", "b"], "has 5 columns"),
        ("abcde", "must be"),
    ):
        with pytest.raises(InvalidParameter, match=why):
            lw.open(path, unit="a", delimiter=";", names=names)
    with pytest.raises(InvalidParameter, match="is for CSV and Parquet files"):
        lw.open({"a": np.arange(3)}, unit="a", names=["b"])


@pytest.mark.parametrize(
    ("first", "says"),
    [
        (',"species","year"', "column 1 has none. R and pandas write the names of rows there: export without them"),
        ("species,,year,", "columns 2, 4 have none. Write the names into the first line"),
        ("who,year,species,Year", "columns 2 and 4 have the same one. Write the names into the first line"),
        (",Adelie,2007", "each column. Write the names into the first line"),
        ("1,Adelie,Adelie", "each column. Write the names into the first line"),
        (",,", "each column. Write the names into the first line"),
    ],
)
def test_a_first_line_is_told_its_column_only_if_it_holds_names(tmp_path: Path, first: str, says: str) -> None:
    (tmp_path / "penguins.csv").write_text(f"{first}\n1,Adelie,2007\n")
    with pytest.raises(InvalidParameter, match="one distinct name for each column") as caught:
        lw.open(tmp_path / "penguins.csv", unit="who")
    assert says in str(caught.value)
    assert "names=[" in caught.value.hint
    assert "Adelie" not in str(caught.value)


def test_a_file_is_read_whatever_it_is_called_and_empty_lines_come_first(tmp_path: Path) -> None:
    path = tmp_path / "messy.data"
    path.write_bytes(gzip.compress(("\n \t\n" + TEXT).encode("latin-1")))
    for encoding in (None, "latin-1"):
        rows = opened(path, encoding=encoding).raw_rows(["whose", "other"], per_unit=None)
        assert sorted(rows["whose"]) == ["a", "a", "b"]


def test_columns_of_a_parquet_file_are_renamed(tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "t.parquet"
    duckdb.sql(f'COPY (SELECT i % 5 AS "bad ""name", i AS x FROM range(20) t(i)) TO \'{path}\' (FORMAT parquet)')
    table = lw.open(path, unit="who", names=["who", "x"], bounds={"x": (0, 20)})
    assert sorted(table.raw_rows(["who", "x"])["who"].tolist()) == [0, 1, 2, 3, 4]
    answer = table.agg(lw.sum("x")).release(epsilon=1e9)
    assert 0 <= answer.value <= 100


def test_a_description_names_columns_too(path: Path) -> None:
    about = path.with_suffix(".yaml")
    about.write_text(
        f"source: {path.name}\nunit: whose\ndelimiter: ';'\ndecimal: ','\nnames: [{', '.join(NAMES)}]\n"
        "types: {size: number}\n"
    )
    assert sorted(lw.open_described(about).raw_rows(["whose", "size"])["whose"]) == ["a", "b"]
    about.write_text(f"source: {path.name}\nunit: whose\nnames: whose\n")
    with pytest.raises(InvalidParameter, match="must be a list of columns"):
        lw.open_described(about)
