"""Whoever passes records where a parameter belongs is told what is wrong without seeing one of them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import together

import lapwing as lw
from lapwing import mechanisms as m
from lapwing.adversary import Pair
from lapwing.curator.plan.hints import NO_VALUE, which_column
from lapwing.curator.tables.streams import numbers_of
from lapwing.errors import InvalidParameter, LapwingError
from lapwing.models import LinearRegression, PrivateGridSearch

FLIGHTS = pd.DataFrame({"tail": [f"QQX{i}" for i in range(20)], "far": [77123.5 + i for i in range(20)]})
FAR, TAIL = FLIGHTS.far, FLIGHTS["tail"]
PLACES = lw.public([{"place": "Brest"}], name="places")
STEPS: Any = {"every": "step", "steps": 3, "active_steps": 1}


def _ledger() -> lw.Ledger:
    ledger = lw.Ledger(Path(tempfile.mkdtemp()) / "ledger.db")
    ledger.open("flights", lw.PureDP(1))
    return ledger


def _table(**declared: Any) -> lw.PrivateTable:
    return lw.open(FLIGHTS, **{"unit": "tail", **declared})


@together(
    "call",
    [
        lambda: _table().where(FAR > 2000),
        lambda: _table().where((FAR > 2000).to_numpy()),
        lambda: _table().group_by(FAR),
        lambda: _table().group_by(FAR.tolist()),
        lambda: lw.mean(FAR),
        lambda: lw.mean(FAR.tolist()),
        lambda: _table(bounds={"far": FAR}),
        lambda: _table(bounds={"far": FAR.tolist()}),
        lambda: _table(bounds={"far": FAR.to_numpy()}),
        lambda: _table(bounds=FLIGHTS),
        lambda: _table(unit=FLIGHTS["tail"]),
        lambda: _table(unit=FLIGHTS["tail"].tolist()),
        lambda: _table(complete=FLIGHTS["tail"]),
        lambda: _table(complete=FLIGHTS["tail"].tolist()),
        lambda: lw.open(FLIGHTS.to_csv(), unit="tail"),
        lambda: m.Count(epsilon=1, unit=FAR),
        lambda: m.Count(epsilon=FAR),
        lambda: m.Mean(epsilon=1, bounds=FAR.tolist()),
        lambda: m.Mean(epsilon=1, bounds=tuple(FAR)),
        lambda: m.Quantile(epsilon=1, bounds=(0, 1), q=FAR),
        lambda: _table().join(_table(name="other"), on=TAIL),
        lambda: _table().join(_table(name="other"), on=TAIL.tolist()),
        lambda: _table().join(_table(name="other"), on={"tail": TAIL}),
        lambda: _table().join(PLACES, on=TAIL),
        lambda: _table().join(PLACES, on=TAIL.tolist()),
        lambda: _table().join(PLACES, on={"tail": TAIL}),
        lambda: _table().join(PLACES, on=dict(zip(TAIL, TAIL, strict=True))),
        lambda: _table().join(PLACES, on=5),
        lambda: _table().agg(lw.cdf("far", edges=[0, 1, 2])).quote(within=FLIGHTS),
        lambda: _table(keys={"far": TAIL}),
        lambda: _table(keys={"far": TAIL.tolist()}),
        lambda: _table(keys={"far": TAIL.to_numpy()}),
        lambda: _table(keys={"tail": pd.Series(["QQX" * 1000])}),
        lambda: _table(keys={key: [1] for key in TAIL}),
        lambda: _table(types=dict.fromkeys(TAIL, "text")),
        lambda: _table(bounds=dict.fromkeys(TAIL, (0, 1))),
        lambda: _table(types={"far": TAIL}),
        lambda: _table().group_by("far", keys={"far": TAIL}),
        lambda: _table().group_by("far", keys={key: [1] for key in TAIL}),
        lambda: _table(name="t").query("SELECT far, COUNT(*) FROM t GROUP BY far", keys={"far": TAIL}),
        lambda: _table().group_by(*TAIL),
        lambda: _table().select(*TAIL),
        lambda: _table().agg(*TAIL),
        lambda: _table().raw_rows(TAIL),
        lambda: _table().raw_rows(TAIL.tolist()),
        lambda: _table().raw_rows("far", text=TAIL),
        lambda: _table().raw_rows(5),
        lambda: _table().hierarchy(TAIL.tolist(), lw.count()),
        lambda: _table().hierarchy(TAIL, lw.count()),
        lambda: _table().hierarchy(["far"], lw.count(), keys={"far": TAIL}),
        lambda: _table().hierarchy(TAIL.tolist(), lw.count(), keys={"far": [1]}),
        lambda: _table().stream(lw.count(), by=TAIL.tolist(), **STEPS),
        lambda: _table().stream(lw.count(), by=TAIL, **STEPS),
        lambda: _table().stream(lw.count(), by={key: ["a"] for key in TAIL}, **STEPS),
        lambda: _table().marginals(TAIL.tolist()),
        lambda: _table().marginals([TAIL.tolist()]),
        lambda: _table().marginals([TAIL]),
        lambda: lw.histogram("far", edges=TAIL),
        lambda: lw.histogram("far", edges=TAIL.tolist()),
        lambda: lw.histogram("far", edges=FAR[::-1]),
        lambda: lw.cdf("far", edges=TAIL.to_numpy()),
        lambda: lw.bins("far", TAIL),
        lambda: lw.bins("far", FAR[::-1]),
        lambda: m.Histogram(epsilon=1, edges=TAIL),
        lambda: m.Histogram(epsilon=1, edges=TAIL.tolist()),
        lambda: m.Histogram(epsilon=1, edges=FAR[:3][::-1]),
        lambda: _table().hierarchy(["far"], lw.count(), weights=TAIL),
        lambda: _table().hierarchy(["far"], lw.count(), weights=TAIL.tolist()),
        lambda: _table().hierarchy(["far"], lw.count(), weights=pd.Series(["QQX"])),
        lambda: _table(keys={"far": [1]}).marginals([["far"]], weights=TAIL),
        lambda: _table(keys={"far": [1]}).marginals([["far"]], weights=FAR[:2] - 77123.5),
        lambda: _table(keys={"far": [1]}).hierarchy(["far"], lw.count(), invariants=dict.fromkeys(TAIL, 1)),
        lambda: _table().hierarchy(["far"], lw.count(), tree=[{"tail": tail} for tail in TAIL]),
        lambda: _table().hierarchy(*TAIL),
        lambda: _table().hierarchy(*zip(TAIL, FAR, strict=True)),
        lambda: _table().marginals(*TAIL),
        lambda: _table().group_by(*zip(TAIL, FAR, strict=True)),
        lambda: m.Hierarchy(tree=m.Tree.even(2), epsilon=1, invariants=dict.fromkeys(TAIL, 1)),
        lambda: m.Hierarchy(
            tree=m.Tree.even(2), epsilon=1, invariants=dict.fromkeys([(0, 0)] * 20, "QQX") | dict.fromkeys(range(20))
        ),
        lambda: m.Hierarchy(tree=m.Tree.even(2), epsilon=1, weights=TAIL.tolist()[:2] * 9),
        lambda: _table(ledger=_ledger(), dataset="flights", max_units_per=dict.fromkeys(TAIL, 2)),
        lambda: lw.public(FLIGHTS, types=dict.fromkeys(TAIL, "text") | dict.fromkeys(FAR, "QQX")),
        lambda: _table(complete=FLIGHTS.to_csv()),
        lambda: _table(keys={"far": FLIGHTS.to_csv()}),
        lambda: _table().group_by("far", keys={"far": FLIGHTS.to_csv()}),
        lambda: lw.open("tail,far\nQQX1,77123.5", unit="tail"),
        lambda: lw.open(b"tail,far\nQQX1,77123.5", unit="tail"),
        lambda: _table(name=b"QQX"),
        lambda: _table(name=["tail\nQQX"]),
        lambda: PrivateGridSearch(LinearRegression(), FLIGHTS).quote(2),
        lambda: PrivateGridSearch(LinearRegression(), {"epsilon": "QQX" * 100}).quote(2),
        lambda: PrivateGridSearch(LinearRegression(), TAIL.tolist()).quote(2),
        lambda: _ledger().accounts(*TAIL),
        lambda: _ledger().charge("flights", FAR.tolist()),
        lambda: _ledger().charge(TAIL, lw.PureDP(1)),
        lambda: _ledger().charge(TAIL.tolist(), lw.PureDP(1)),
        lambda: _ledger().charge(TAIL.to_numpy(), lw.PureDP(1)),
        lambda: _ledger().charge([name * 100 for name in TAIL], lw.PureDP(1)),
    ],
)
def test_no_error_shows_a_record(call: Callable[[], object]) -> None:
    with pytest.raises(LapwingError) as caught:
        call()
    message = str(caught.value)
    assert not any(part in message for part in ("QQX", "771", "True", "dtype")), message


@together(
    "call",
    [
        lambda given: _table(name=given),
        lambda given: _table(dataset=given),
        lambda given: _table(table=given),
        lambda given: _table(ledger=given),
        lambda given: _table(analyst=given),
        lambda given: _table(decimal=given),
        lambda given: _table(thousands=given),
        lambda given: _table(missing=given if given is FLIGHTS else FAR),
        lambda given: _table(true=given if given is FLIGHTS else FAR),
        lambda given: _table(complete=[given]),
        lambda given: _table(complete=[[given]]),
        lambda given: _table().agg(lw.count()).release(epsilon=1, analyst=given),
        lambda given: _table().stream(lw.count(), every="day", steps=3, start="2026-01-01", active_steps=1, time=given),
        lambda given: _ledger().charge("flights", lw.PureDP(1), analyst=given),
        lambda given: lw.mean("far", name=given),
        lambda given: lw.count(name=given),
        lambda given: lw.public(FLIGHTS, name=given),
        lambda given: lw.public(FLIGHTS, decimal=given),
        lambda given: lw.public(FLIGHTS, types={"far": given}),
        lambda given: lw.public(FLIGHTS, types=given),
    ],
)
@together("given", [FLIGHTS, TAIL])
def test_a_frame_in_the_place_of_a_word_is_refused_in_our_own_words(call: Callable[[Any], object], given: Any) -> None:
    with pytest.raises(LapwingError) as caught:
        call(given)
    assert not any(part in str(caught.value) for part in ("QQX", "771", "dtype"))


@together("call", [
    lambda: _table().group_by("tial"),
    lambda: _table().raw_rows(["tial"]),
    lambda: _table().hierarchy(["tial"], lw.count()),
    lambda: _table().stream(lw.count(), by=["tial"], **STEPS),
    lambda: _table().marginals([["tial"]]),
    lambda: _table(keys={"tial": [1]}),
    lambda: _table().group_by("far", "tial"),
    lambda: _table().select("far", "tial"),
    lambda: _table().select("far +\n tial"),
])  # fmt: skip
def test_a_misspelt_column_in_a_short_list_is_named(call: Callable[[], object]) -> None:
    with pytest.raises(LapwingError, match=r"tial.*Did you mean '?tail"):
        call()


def test_a_long_list_of_columns_may_have_other_mistakes() -> None:
    sets = [[name] for name in ["far"] * 12]
    with pytest.raises(LapwingError, match="nearly every row would have its own"):
        _table().marginals(sets)


class Hidden:
    """Of no type that is known, and with a message of its own."""

    ndim = 0

    def item(self) -> Any:
        raise RuntimeError("QQX771")

    __repr__ = __str__ = item


class Talkative(str):
    __slots__ = ()

    def __repr__(self) -> str:
        raise RuntimeError("QQX771")


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)
DEEP: list[Any] = [[[[[1]]]]]


@together(
    ("value", "shown"),
    [
        (CIRCLE, "<list>"),
        (DEEP, "<list>"),
        ([[[[1]]]], "[[[[1]]]]"),
        (Hidden(), "<Hidden>"),
        ([Hidden()], "<list>"),
        (Talkative("a"), "<Talkative>"),
        (Pair(["QQX771"], ["QQX772", "QQX773"]), "<Pair>"),
        (m.CrossedHierarchy(trees=(m.Tree([[2]]), m.Tree([[3]])), epsilon=1), "<CrossedHierarchy>"),
        (lw.EACH_ROW, "EACH_ROW"),
        (m.Tree([[2]]), repr(m.Tree([[2]]))),
        (lw.Rules(parts=10), repr(lw.Rules(parts=10))),
    ],
)
def test_nothing_but_parameters_is_shown(value: object, shown: str) -> None:
    assert str(InvalidParameter("x", value, "no", "Ok.")) == f"x = {shown}: no. Ok."


@together(
    ("value", "shown"),
    [
        ([1, 2], "[1, 2]"),
        (("a", None), "('a', None)"),
        ({"age": (0, 3)}, "{'age': (0, 3)}"),
        (np.float64(2.5), repr(np.float64(2.5))),
        (int, "<class 'int'>"),
        (None, "None"),
        (Path("x"), repr(Path("x"))),
        (lw.PureDP(1), repr(lw.PureDP(1))),
        (list(range(9)), "<list>"),
        (["x" * 201], "<list>"),
        ("x" * 201, "<str>"),
        ([np.arange(3)], "<list>"),
        (np.arange(3), "<ndarray>"),
        (FAR, "<Series>"),
        ({"far": FAR}, "<dict>"),
        (abs, "<builtin_function_or_method>"),
    ],
)
def test_only_what_is_short_is_shown(value: object, shown: str) -> None:
    assert str(InvalidParameter("x", value, "no", "Ok.")) == f"x = {shown}: no. Ok."


@pytest.mark.parametrize("first", ["Adelie,Torgersen,39.1", "Adelie,,male", "Adelie,NA,x", "Adelie,2007-11-11,x"])
def test_the_first_record_of_a_file_without_names_is_not_shown(tmp_path: Path, first: str) -> None:
    file = tmp_path / "nohead.csv"
    file.write_text(f"{first}\nGentoo,Biscoe,40.3\n")
    with pytest.raises(InvalidParameter) as caught:
        lw.open(file, unit="species")
    message = str(caught.value)
    assert not any(cell and cell in message for cell in first.split(",") if cell != "x"), message
    if ",," not in first:
        assert "is not in the first line of nohead.csv, which must hold the column names" in message
        with pytest.raises(LapwingError) as caught_later:
            lw.open(file, unit=lw.EACH_ROW).where("species = 'Adelie'")
        assert "Adelie," not in str(caught_later.value)
        with pytest.raises(InvalidParameter) as caught_check:
            lw.open(file, unit=lw.EACH_ROW).check()["zz"]
        assert "Adelie" not in str(caught_check.value)
        with pytest.raises(InvalidParameter, match="Name it") as caught_numbers:
            numbers_of(file)
        assert "Adelie" not in str(caught_numbers.value)


def test_names_of_a_file_are_listed_and_guessed(tmp_path: Path) -> None:
    file = tmp_path / "penguins.csv"
    file.write_text("species,mass_2\nGentoo,1\n")
    with pytest.raises(InvalidParameter, match="Did you mean 'species'"):
        lw.open(file, unit="specis")
    with pytest.raises(InvalidParameter, match="There are: species, mass_2"):
        lw.open(file, unit="who")


def test_sodium_is_no_empty_cell() -> None:
    assert which_column("patien", ["patient", "Na", "K"]) == "Did you mean 'patient'?"
    for empty in (*NO_VALUE, "na", "n.a.", "N.A.", "none", "NaT", "Infinity"):
        assert which_column("patien", ["patient", empty, "K"]).startswith("The columns are not listed")


def test_columns_of_different_lengths_are_refused_at_once() -> None:
    with pytest.raises(InvalidParameter, match="columns have different lengths"):
        lw.open({"u": np.arange(3), "x": np.arange(2)}, unit="u")
    with pytest.raises(InvalidParameter, match="columns are not numpy arrays"):
        lw.open({"u": [1, 2]}, unit="u")


def test_an_example_of_bounds_says_where_they_are_written() -> None:
    with pytest.raises(InvalidParameter, match=r"Write bounds=\{'far': \(0, 120\)\}"):
        _table(bounds={"far": 3})
    with pytest.raises(InvalidParameter, match=r"Write bounds=\{'age': \(0, 120\)\}"):
        _table(bounds=(0, 120))


@pytest.mark.filterwarnings("ignore::lapwing.errors.NoiseWarning")
@pytest.mark.parametrize("absent", [None, float("nan"), "absent"])
def test_an_absent_row_is_no_error(absent: object) -> None:
    sums = m.CrossedHierarchy(trees=(m.Tree([[2]]), m.Tree([[3]])), epsilon=100)
    released = sums.release([[100, 200, 300], absent])
    assert abs(released.tables[0, 0].item() - 600) < 30
    model = LinearRegression(epsilon=1, bounds=[(0, 1)] * 2, target_bounds=(0, 1))
    assert len(model.fit([[0, 1], absent, [1, 0]], [0, 1, 1]).coef_) == 2


def test_rows_of_different_lengths_are_refused_in_words_that_fit() -> None:
    with pytest.raises(InvalidParameter, match="All rows need the same number of entries"):
        LinearRegression(epsilon=1, bounds=[(0, 1)] * 3, target_bounds=(0, 1)).fit([[1, 2, 3], [1, 2]], [1, 2])
    with pytest.raises(InvalidParameter, match="one number for each leaf"):
        m.CrossedHierarchy(trees=(m.Tree([[2]]), m.Tree([[3]])), epsilon=1).release([[1, 2], [1, 2, 3, 4]])


@pytest.mark.parametrize("kind", [m.AboveThreshold, m.SparseVector])
@pytest.mark.parametrize("data", [5, "answers", None])
def test_one_answer_is_not_a_list_of_answers(kind: Any, data: object) -> None:
    with pytest.raises(InvalidParameter, match="is not a list of answers"):
        kind(epsilon=1, sensitivity=1, threshold=100).release(data)
