"""A declared type wins over what pandas, or another program, made of a column because of one of its cells."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from cases import together
from frames import NOTATIONS, ODD, TYPED

import lapwing as lw
from lapwing.curator.engines.compiler import Compiler
from lapwing.curator.plan.expressions import Kind
from lapwing.errors import InvalidParameter

KINDS: tuple[Kind, ...] = get_args(Kind)
PEOPLE = 100


def read(source: Any, **options: Any) -> list[tuple[Any, ...]]:
    """The rows of a source, as questions see them."""
    table = lw.open(source, unit=lw.EACH_ROW, **options)
    context = table.context
    with context.engine.session(context.relations.values()) as session:
        return session.fetch(Compiler(context.engine.dialect, context.relations).rows(table.plan))


def exact(table: Any, aggregate: Any, **keys: Any) -> tuple[Any, ...]:
    """The numbers of an answer without noise."""
    asked = table.group_by(*keys, keys=keys).agg(aggregate) if keys else table.agg(aggregate)
    return tuple(asked.unprotected().columns[-1].values)


@pytest.mark.parametrize("form", TYPED)
def test_no_cell_changes_what_is_read_from_the_others_where_their_kind_is_declared(form: str) -> None:
    column = TYPED[form]
    cells = column.tolist()
    types = {kind: kind for kind in KINDS}
    for notation, odd in [(way, ODD) for way in NOTATIONS] + [("commas", [cell]) for cell in ODD]:
        mixed = pd.Series([*cells, *odd], dtype=object)
        array = np.empty(len(mixed), dtype=object)
        array[:] = mixed
        rows = [
            [repr(row) for row in read(source, types=types, **NOTATIONS[notation])[: len(cells)]]
            for source in (
                pd.DataFrame(dict.fromkeys(KINDS, column)),
                pd.DataFrame(dict.fromkeys(KINDS, mixed)),
                dict.fromkeys(KINDS, array),
                pd.DataFrame(dict.fromkeys(KINDS, mixed)).assign(x=pd.array([1] * len(mixed), dtype="int64[pyarrow]")),
            )
        ]
        rows[3] = [row.removesuffix(", 1)") + ")" for row in rows[3]]
        assert rows[0] == rows[1] == rows[2] == rows[3], (notation, odd)


def neighbours(cells: list[Any], odd: Any) -> tuple[Any, Any]:
    """A table, and one with another person in it."""
    first, other = ({"p": range(len(some)), "s": some} for some in (cells, [*cells, odd]))
    return pd.DataFrame(first), pd.DataFrame(other)


@pytest.mark.parametrize("odd", [None, "n/a"])
def test_a_missing_truth_value_does_not_make_everybody_elses_false_a_missing_one(odd: Any) -> None:
    for words in ({}, {"false": "N"}, {"true": "J"}, {"true": "J", "false": "N"}):
        for frame in neighbours([True] * PEOPLE + [False] * PEOPLE, odd):
            table = lw.open(frame, unit="p", types={"s": "boolean"}, **words)
            assert exact(table, lw.count(), s=[True, False]) == (PEOPLE, PEOPLE), (words, frame["s"].dtype)


@pytest.mark.parametrize("decimal", [".", ","])
def test_a_word_removes_nobody_elses_numbers(decimal: str) -> None:
    bounds = {"s": (0, 10)}
    for cells in ([3] * PEOPLE, [3.0] * PEOPLE):
        for odd in (None, "x", 1j):
            for frame in neighbours(cells, odd):
                table = lw.open(frame, unit="p", types={"s": "integer"}, bounds=bounds, decimal=decimal)
                assert exact(table, lw.sum("s")) == (3 * PEOPLE,), (frame["s"].dtype, odd)
    ids = [10**18 + i for i in range(PEOPLE)]
    for frame in neighbours(ids, "n/a"):
        assert exact(lw.open(frame, unit="s", types={"s": "integer"}, decimal=decimal), lw.units()) == (PEOPLE,)


FORMS: dict[str, Any] = {
    "whole": [1, 0, 3],
    "double": [1, 0, None],
    "truth": [True, False, True],
    "objects": [True, False, None],
    "words": ["1", "x", None],
    "nothing": [None, None, None],
    "moments": [dt.datetime(2026, 1, 1)] * 3,
    "no moments": [pd.NaT] * 3,
    "days": [dt.date(2026, 1, 1)] * 3,
    "durations": [dt.timedelta(1)] * 3,
    "complex": [1j, 1, 0],
    "category": pd.Categorical([1, 0, None]),
    "category of moments": pd.Categorical([dt.datetime(2026, 1, 1), None, None]),
    "decimals": pd.array([1, 0, None], dtype=pd.ArrowDtype(pa.decimal128(9, 2))),
    "none": pd.array([], dtype=object),
}


@together("form", FORMS)
def test_a_declared_type_opens_whatever_pandas_made_of_the_column(form: str) -> None:
    frame = pd.DataFrame({"s": FORMS[form]})
    for kind in KINDS:
        for source in (frame, {"s": frame["s"].to_numpy()}):
            table = lw.open(source, unit=lw.EACH_ROW, types={"s": kind})
            assert table.columns == {"s": kind}
            assert len(read(source, types={"s": kind})) == len(frame)
    facts: list[dict[str, Any]] = [
        {"types": {"s": "text"}, "bounds": {"s": (0, 9)}},
        {"types": {"s": "text"}, "keys": {"s": [0, 1]}},
        {"types": {"s": "integer"}, "unit": "s"},
        {"types": {"s": "text"}, "unit": "s"},
    ]
    kinds = [lw.open(frame, **{"unit": lw.EACH_ROW} | more).columns["s"] for more in facts]
    assert kinds == ["number", "integer", "integer", "text"]
    for wrong in ({"keys": {"s": ["a"]}}, {"unit": "s"}, {"bounds": {"s": "x"}}):
        with pytest.raises(InvalidParameter):
            lw.open(frame, **{"unit": lw.EACH_ROW, "types": {"s": "number"}} | wrong)


@pytest.mark.parametrize("library", ["polars", "arrow", "parquet", "pandas, parquet"])
def test_a_declared_type_opens_whatever_other_programs_made_of_the_column(library: str, tmp_path: Path) -> None:
    right = {
        "integer": [1, 0, None], "number": [1.0, 0.0, None], "boolean": [True, False, None],
        "text": ["1", "0", None], "date": [None] * 3, "timestamp": [None] * 3,
    }  # fmt: skip
    for cells in ([1, 0, None], [1.0, 0.0, None], [None] * 3):
        for kind in KINDS:
            source: Any = {"polars": pl.DataFrame, "pandas, parquet": pd.DataFrame}.get(library, pa.table)({"s": cells})
            if library == "parquet":
                pq.write_table(source, tmp_path / "t.parquet")
            elif library == "pandas, parquet":
                source.to_parquet(tmp_path / "t.parquet")
            source = tmp_path / "t.parquet" if "parquet" in library else source
            [rows] = zip(*read(source, types={"s": kind}), strict=True)
            assert list(rows) == ([None] * 3 if cells[0] is None else right[kind]), (cells, kind)


def test_a_column_without_any_value_is_there_and_of_any_kind() -> None:
    for frame in (pl.DataFrame({"s": [None, None]}), pa.table({"s": [None, None]})):
        table = lw.open(frame, unit=lw.EACH_ROW, bounds={"s": (0, 1)})
        assert exact(table, lw.count("s")) == (0,)
        assert lw.open(frame, unit="s").columns == {"s": "text"}


def test_quantiles_of_whole_numbers_leave_out_what_is_none_of_them_in_a_column_of_doubles() -> None:
    cells = [1.0] * PEOPLE + [2.5] * 2 * PEOPLE + [9.0] * PEOPLE
    frames = ({"s": np.array(cells)}, {"s": np.array([*cells, None], dtype=object)}, pd.DataFrame({"s": cells}))
    for frame in frames:
        table = lw.open(frame, unit=lw.EACH_ROW, types={"s": "integer"}, bounds={"s": (0, 10)})
        bins = lw.histogram("s", edges=[0, 2, 4, 10])
        assert exact(table, bins) == (PEOPLE, 0, PEOPLE)
        assert table.agg(lw.quantile("s", 0.4)).release(epsilon=1e6).value == pytest.approx(1, abs=0.1)


def test_moments_that_nobody_can_hold_are_missing_however_they_are_declared() -> None:
    far = [0, 2**62, -(2**62), 2**63 - 1, -(2**63) + 1]
    for unit in ("s", "ms", "us", "ns"):
        moments = pd.Series(np.array(far, f"M8[{unit}]"))
        zoned = moments.dt.tz_localize("UTC").dt.tz_convert("Asia/Kathmandu")
        for column in (moments, zoned, moments.astype("category"), moments.to_numpy(), np.ma.masked_array(moments)):
            for kind in KINDS:
                if isinstance(column, pd.Series) and unit == "ns" and hasattr(column.dtype, "categories"):
                    continue  # pandas itself stops
                source = pd.DataFrame({"s": column}) if isinstance(column, pd.Series) else {"s": column}
                rows = [row[0] for row in read(source, types={"s": kind})]
                if unit != "ns":
                    assert rows[1:] == [None] * 4, (unit, kind)
                if kind in ("date", "text"):
                    assert str(rows[0]).startswith("1970-01-01")


def test_text_of_a_moment_is_the_same_in_every_column() -> None:
    moment = pd.Timestamp("2026-02-26 00:30:00.5", tz="Europe/Berlin")
    for cells in ([moment], [moment, "x"], [moment, pd.NaT]):
        assert read(pd.DataFrame({"s": cells}), types={"s": "text"})[0] == ("2026-02-25 23:30:00.500000",)
