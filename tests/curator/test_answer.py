"""What people see: answers on a terminal, in a notebook, in frames, in files and in pictures."""

from __future__ import annotations

import datetime as dt
import io
import json
import math
import pickle
import sys
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from rich.console import Console

from lapwing.curator.show import digits, words
from lapwing.curator.show.answer import Answer, Column
from lapwing.errors import InvalidCall, InvalidParameter, MissingExtra
from lapwing.privacy import ZCDP, ApproxDP, PureDP

REGIONS = ("North", "South", "East")
STRANGE = (
    "<script>alert(1)</script>", "[red]boo[/red]", "x" * 300, "👩‍⚕️ 漢字", None, "", "\x1b[31mred\x07", "a\u202eb\nc",
    "$\\frac{$", "NULL", '"><img src=x onerror=alert(1)>',
)  # fmt: skip
OURS = {"div", "style", "table", "thead", "tbody", "tr", "th", "td", "span", "p", "ul", "li", "svg", "path", "rect"}
LOSS = PureDP(Fraction(1, 3), unit="patient")


def around(values: tuple[float, ...], half: float) -> tuple[tuple[float, float], ...]:
    return tuple((value - half, value + half) for value in values)


def by_region() -> Answer:
    counts, ages = (1203, 988, 48), (44.3123, 51.2, 33.1)
    columns = (
        Column("region", "key", REGIONS),
        Column("n", "count", counts, noise=around(counts, 12)),
        Column("age", "mean", ages, noise=around(ages, 0.41), interval=around(ages, 0.9), clipped=True),
        Column("cost", "quantile", (512.25, None, 77.0), note="within 12 ranks"),
    )
    notes = ("at most 2 rows of one patient count in each group",)
    return Answer(columns, LOSS, PureDP(Fraction(2, 3), unit="patient"), 0.95, notes, {"question": "SELECT …", "n": 1})


def strange() -> Answer:
    values = tuple(range(10, 10 + len(STRANGE)))
    columns = (
        Column("[bold]<b>$k$\x1b", "key", STRANGE),
        Column("<img src=x>[red]$y$", "count", values, noise=around(values, 6), note="<i>[link=x]note\x1b"),
    )
    return Answer(columns, ApproxDP(1, 1e-6, unit="<u>[x]"), None, 0.9, ("<a href=x>[bold]\x9b",))


def empty() -> Answer:
    return Answer(
        (Column("k", "key", (), type="text"), Column("n", "count", (), noise=()), Column("m", "mean", ())), LOSS
    )


def single() -> Answer:
    return Answer((Column("n", "count", (1203,), noise=((1191, 1215),)),), LOSS)


EVERY = [by_region, strange, empty, single]


@pytest.fixture(autouse=True)
def _wide_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "110")


# Values and shape


def test_the_table_has_rows_and_columns() -> None:
    table = by_region().table
    assert len(table) == 3
    assert table["n"] == (1203, 988, 48)
    assert table[0] == {"region": "North", "n": 1203, "age": 44.3123, "cost": 512.25}
    assert [row["region"] for row in table] == list(REGIONS)
    with pytest.raises(InvalidParameter, match="'region', 'n', 'age', 'cost'"):
        table["m"]


def test_one_value_is_the_value_and_several_are_not() -> None:
    assert single().value == 1203
    with pytest.raises(InvalidCall, match=r"3 rows and 3 columns"):
        _ = by_region().value


def test_columns_must_fit_together() -> None:
    with pytest.raises(InvalidParameter, match="length"):
        Answer((Column("a", "key", (1,)), Column("b", "count", (1, 2))), LOSS)
    with pytest.raises(InvalidParameter, match="names of their own"):
        Answer((Column("a", "count", (1,)), Column("a", "count", (1,))), LOSS)
    with pytest.raises(InvalidParameter, match="None where"):
        Column("a", "mean", (math.nan,))
    with pytest.raises(InvalidParameter, match="one pair for each"):
        Column("a", "mean", (1.0, 2.0), noise=((0, 1),))
    with pytest.raises(InvalidParameter, match="JSON"):
        Answer((Column("a", "count", (1,)),), LOSS, provenance={"x": object()})


def test_numbers_of_numpy_become_pythons_own() -> None:
    import numpy as np

    column = Column("n", "count", tuple(np.array([1, 2])), noise=np.array([[0.0, 2.0], [1.0, 3.0]]))  # type: ignore[arg-type]
    assert [type(value) for value in column.values] == [int, int]
    assert column.noise == ((0.0, 2.0), (1.0, 3.0))


def test_an_answer_cannot_be_changed_from_outside() -> None:
    provenance = {"question": ["a"]}
    answer = Answer((Column("n", "count", (1,)),), LOSS, provenance=provenance)
    provenance["question"].append("b")
    assert answer.provenance == {"question": ["a"]}
    assert pickle.loads(pickle.dumps(answer)) == answer


# Digits


def test_digits_end_where_noise_begins() -> None:
    values = (1203.456, 44.3123, 4432123.25)
    noise = tuple((value - half, value + half) for value, half in zip(values, (12.2, 0.041, 54321.0), strict=True))
    shown = digits.shown(Column("x", "sum", values, noise=noise))
    assert [(cell.value, cell.noise) for cell in shown] == [
        ("1,203", "± 13"),
        ("44.312", "± 0.042"),
        ("4,432,000", "± 55,000"),
    ]


def test_an_uneven_interval_shows_both_ends() -> None:
    [cell] = digits.shown(Column("x", "mean", (3.0,), noise=((0.0, 15.04),)))
    assert (cell.value, cell.noise) == ("3", "0 to 16")
    [cell] = digits.shown(Column("x", "mean", (3.0,), noise=((-math.inf, 15.04),)))
    assert cell.noise == "−∞ to 15.04"


def test_a_column_shows_its_intervals_in_one_form() -> None:
    cells = digits.shown(Column("n", "count", (300, 3, -4), noise=((288, 312), (0, 15), (0, 8))))
    assert [(cell.value, cell.noise) for cell in cells] == [("300", "288 to 312"), ("3", "0 to 15"), ("−4", "0 to 8")]
    cells = digits.shown(Column("n", "count", (300, 30, None), noise=((288, 312), (18, 42), None)))
    assert [cell.noise for cell in cells] == ["± 12", "± 12", ""]


numbers = st.floats(-1e18, 1e18, allow_nan=False) | st.integers(-(10**18), 10**18)


def as_number(text: str) -> Decimal:
    return Decimal(text.replace(",", "").replace("−", "-"))


@given(numbers, st.floats(0, 1e12), st.floats(0, 1e12), st.booleans())
def test_the_interval_shown_contains_the_interval(value: float, left: float, right: float, even: bool) -> None:
    span = (value - left, value + (left if even else right))
    [cell] = digits.shown(Column("x", "mean", (value,), noise=(span,)))
    if cell.noise.startswith("±"):
        middle, half = as_number(cell.value), as_number(cell.noise[2:])
        low, high = middle - half, middle + half
    else:
        low, high = map(as_number, cell.noise.split(" to "))
    assert low <= Decimal(repr(span[0]))
    assert Decimal(repr(span[1])) <= high


def test_a_value_at_an_end_of_its_interval_looks_like_that_end() -> None:
    cells = digits.shown(Column("s", "sum", (-340.0, 300.0), noise=((-340.0, 2650.0), (0.0, 3300.0))))
    assert [(cell.value, cell.noise) for cell in cells] == [("−400", "−400 to 2,700"), ("300", "0 to 3,300")]
    [cell] = digits.shown(Column("m", "mean", (3360.0,), noise=((0.0, 3360.0),)))
    assert (cell.value, cell.noise) == ("3,400", "0 to 3,400")


@given(st.floats(1e-3, 1e9), st.floats(-1e9, 1e9), st.booleans())
def test_no_interval_of_an_answer_is_wider_than_its_quote(error: float, value: float, whole: bool) -> None:
    exact = round(value) if whole else value
    span = (exact - error, exact + error)
    [cell] = digits.shown(Column("x", "count" if whole else "mean", (exact,), noise=(span,)))
    far = max(abs(Decimal(repr(end)) - Decimal(repr(exact))) for end in span)  # a double may lie a little farther
    assert as_number(cell.noise[2:]) <= as_number(digits.at_most(math.nextafter(float(far), math.inf), whole)[2:])


@given(st.lists(st.floats(-1e6, 1e6), min_size=4, max_size=4))
def test_between_bounds_a_quote_is_no_wider_than_they_are_and_still_covers_what_is_shown(ends: list[float]) -> None:
    bottom, low, high, top = sorted(ends)
    value = (low + high) / 2
    assume(bottom < low <= value <= high)
    [cell] = digits.shown(Column("x", "mean", (value,), noise=((low, high),)))
    error = math.nextafter(max(high - value, value - low), math.inf)  # the difference of doubles may be rounded down
    quoted = as_number(digits.at_most(error, whole=False, bounds=(bottom, top))[2:])
    assert quoted <= as_number(digits.at_most(error, whole=False)[2:])
    assume(cell.noise.startswith("±"))
    assert as_number(cell.noise[2:]) <= quoted + Decimal(repr(math.ulp(error)))


def test_a_note_says_why_a_value_is_below_the_end_of_intervals() -> None:
    below = Column("cost", "sum", (-340.0, 300.0), noise=((-340.0, 2650.0), (0.0, 3300.0)))
    [note] = [note for note in words.beside(replace(by_region(), columns=(below,))) if "below 0" in note]
    assert note.startswith("cost: a value may be below 0")
    for spans in (((-3340.0, 2650.0), (-2700.0, 3300.0)), ((0.0, 2650.0), (0.0, 3300.0))):
        other = replace(below, noise=spans)
        assert not any("below 0" in note for note in words.beside(replace(by_region(), columns=(other,))))


# The terminal


def test_the_screen_shows_values_noise_cost_and_what_remains() -> None:
    text = str(by_region())
    assert "North    1,203 ± 12" in text.replace("     ", "    ")
    assert "44.31 ± 0.42 (43.41 to 45.22)" in text
    assert "costs ε = 0.333334 (add_remove, per patient) · ε = 0.666666 remains" in text
    assert "at most 59 % sure" in text
    assert "95 % interval" in text
    assert "† age: values outside the bounds" in text
    assert "· cost: within 12 ranks" in text
    assert "· at most 2 rows of one patient" in text


@pytest.mark.parametrize("make", EVERY)
@pytest.mark.parametrize("width", [20, 40, 110])
def test_no_line_is_wider_than_the_screen_and_none_has_an_escape_code(
    make: Callable[[], Answer], width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for text in (str(make()), repr(make()), str(make().table)):
        assert all(len(line) <= width for line in text.splitlines())
        assert all(mark.isprintable() or mark in "\n\u200d" for mark in text)


def test_columns_that_do_not_fit_follow_below(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    text = str(by_region().table)
    assert text.count("North") == 2
    assert "1,203 ± 12" in text
    assert "512.25" in text


@pytest.mark.parametrize("width", [36, 48, 64, 80])
def test_no_number_and_no_key_is_cut_in_a_narrow_terminal(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    keys = tuple(Column(f"age in steps of {step}", "key", ("0 – 50", "50 – 100")) for step in (40, 20, 10))
    mean = Column("mean_cost", "mean", (142.0, 163.0), ((130.0, 150.5), (155.3, 170.5)), ((101.9, 182.1), (103, 222)))
    text = str(Answer((*keys, mean), LOSS).table)
    assert "…" not in text
    shown = ("142", "163.0", "130", "151", "155.3", "170.5", "(101", "183)", "(103.0", "222.0)", "50", "100")
    assert all(part in text.split() for part in shown), text


def test_columns_whose_long_names_differ_at_their_ends_have_different_headers() -> None:
    names = [f"quantile_flipper_length_mm_{share}" for share in (0.25, 0.75)]
    text = str(Answer(tuple(Column(name, "quantile", (190.0,)) for name in names), LOSS).table)
    assert "0.25" in text
    assert "0.75" in text


def test_bars_are_explained_where_they_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    told = "bars: █ up to the lower end of the interval, ▒ from there to its upper end"
    assert told in str(by_region())
    assert told not in str(single())
    column = Column("n", "count", (1203, 988))
    assert "█" in str(Answer((Column("k", "key", ("a", "b")), column), LOSS))
    assert told not in str(Answer((Column("k", "key", ("a", "b")), column), LOSS)), "none has an interval"
    monkeypatch.setenv("COLUMNS", "30")
    assert "bars" not in str(by_region())


def test_words_about_lines_are_no_words_about_rows() -> None:
    keys = (Column("level", "key", ("total", "sex")), Column("sex", "key", (None, "f")))
    each = replace(by_region(), columns=(*keys, Column("n", "count", (3, 2), ((1, 5), (0, 4)))))
    levels = replace(each, provenance={"rollup": {"keys": ["sex"]}, "counted": "at most 3 rows of one patient"})
    text = levels.explain().text
    assert "level: how fine the group of this line is.\nsex: the group of this line.\n" in text
    assert "the line is about all groups of that column together" in text
    assert "on these rows, after the limits per patient were applied" in text
    assert "It does not cover the error from these limits per patient, nor how well" in text
    clipped = replace(levels, columns=(*keys, replace(each.columns[-1], clipped=True)))
    assert "after the bounds and limits per patient were applied" in clipped.explain().text
    alone = replace(clipped, provenance={"rollup": {"keys": ["sex"]}}).explain().text
    assert "after the bounds were applied" in alone
    assert "It does not cover the error from these bounds, nor" in alone
    none = replace(levels, provenance={"rollup": {"keys": ["sex"]}}).explain().text
    assert "It does not cover how well these rows represent" in none


def test_a_note_that_says_what_is_counted_says_it_once() -> None:
    column = Column("count", "count", (3,), note="the number of rows in each bin")
    assert words.meaning(column, "person") == "the number of rows in each bin"
    assert words.meaning(replace(column, note="roughly"), "person") == "the number of rows; roughly"


def test_equal_noise_is_shown_alike_and_covers_every_value_as_shown() -> None:
    values = (100.04, 250.46)
    column = Column("m", "sum", values, noise=tuple((value - 16.8, value + 16.8) for value in values))
    cells = digits.shown(column)
    assert [cell.value for cell in cells] == ["100", "250"]
    assert {cell.noise for cell in cells} == {"± 18"}  # around 250 itself; around 100 alone, 17 would do
    apart = digits.shown(replace(column, noise=((83.24, 116.84), (249.0, 252.0))))
    assert apart[0].noise == "± 17"


def test_strange_keys_are_shown_and_not_obeyed() -> None:
    text = str(strange())
    for shown in ("<script>alert(1)</script>", "[red]boo[/red]", "\\x1b[31mred\\x07", "a\\u202eb\\nc", "'NULL'", "''"):
        assert shown in text
    assert "x" * 50 not in text
    console = Console(file=io.StringIO(), force_terminal=True, color_system="truecolor", width=110)
    strange().show(console)
    coloured = console.file.getvalue()  # type: ignore[attr-defined]
    assert "\x1b[" in coloured
    assert "\x1b[31m" not in coloured
    assert "\x07" not in coloured
    assert "[red]boo[/red]" in coloured


def test_a_long_answer_is_cut_on_the_screen_only() -> None:
    answer = Answer((Column("k", "key", tuple(range(1000))), Column("n", "count", (5,) * 1000)), LOSS)
    assert "940 more rows" in str(answer)
    assert len(str(answer).splitlines()) < 80
    assert "940 more rows" in answer._repr_html_()
    assert len(answer.table) == 1000


def test_years_are_not_written_as_thousands() -> None:
    assert "1990" in str(Answer((Column("year", "key", (1990, 1991)), Column("n", "count", (5, 6))), LOSS))


# The notebook


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.mark.parametrize("make", EVERY)
def test_the_notebook_gets_only_our_own_tags(make: Callable[[], Answer]) -> None:
    for html in (make()._repr_html_(), make().table._repr_html_()):
        tags = Tags()
        tags.feed(html)
        assert {tag for tag, _ in tags.seen} <= OURS | {"circle"}
        assert not [
            name for _, attrs in tags.seen for name in attrs if name.startswith("on") or name in ("src", "href")
        ]
        assert "url(" not in html
        assert "prefers-color-scheme: dark" in html


def test_the_notebook_shows_what_the_terminal_shows() -> None:
    tags = Tags()
    tags.feed(by_region()._repr_html_())
    for said in ("1,203", "± 12", "(43.41 to 45.22)", "512.25", "· cost: within 12 ranks"):
        assert said in tags.text
    tags = Tags()
    tags.feed(strange()._repr_html_())
    assert "<script>alert(1)</script>" in tags.text
    assert "costs ε = 1, δ = 1e-06 (add_remove, per <u>[x])" in tags.text


# Words


def test_an_answer_explains_itself() -> None:
    explanation = by_region().explain()
    text = str(explanation)
    assert text.startswith(str(LOSS.explain()))
    assert "n: the number of rows." in text
    assert "age: the mean of the values; values outside the bounds" in text
    assert "does not cover the error from these bounds" in text
    assert "ε = 0.666666 remains" in text
    assert json.loads(json.dumps(explanation.data))["columns"][2]["clipped"] is True


def test_a_delta_is_not_passed_over() -> None:
    assert "With probability at most 1e-06, the answer is drawn without this limit" in " ".join(str(strange()).split())
    assert "does not hold" not in str(by_region())


def test_nothing_left_is_said_plainly() -> None:
    column = Column("n", "count", (1,))
    assert "nothing remains" in str(Answer((column,), LOSS, PureDP(0, unit="patient")))
    assert "ρ = 0.333333 remains" in str(Answer((column,), ZCDP(1), ZCDP(Fraction(1, 3))))


# JSON

moments = st.datetimes().map(lambda moment: moment.replace(fold=0))  # a second reading of a clock needs a zone
keys = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(), st.dates(), moments)
losses = st.one_of(
    st.builds(PureDP, st.fractions(0, 100), unit=st.just("patient")),
    st.builds(ApproxDP, st.fractions(0, 100), st.floats(0, 0.5)),
    st.builds(ZCDP, st.fractions(0, 100), st.floats(0, 0.5)),
    st.builds(lambda rho: ZCDP(rho).to_renyi(), st.fractions(0, 2)),
)
ends = st.floats(allow_nan=False)
spans = st.none() | st.tuples(ends, ends).map(lambda pair: (min(pair), max(pair)))


@st.composite
def answers(draw: st.DrawFn) -> Answer:
    rows = draw(st.integers(0, 4))

    def several(of: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
        return st.tuples(*[of] * rows)

    columns = (
        Column(draw(st.text()) + "k", "key", draw(several(keys))),
        Column("n", "count", draw(several(st.none() | st.integers())), noise=draw(st.none() | several(spans))),
        Column("m", "mean", draw(several(st.none() | ends)), interval=draw(several(spans)), note=draw(st.text())),
    )
    remaining = draw(st.none() | losses)
    notes = tuple(draw(st.lists(st.text(), max_size=2)))
    return Answer(columns, draw(losses), remaining, draw(st.floats(0.01, 0.99)), notes, {"a": [1, 0.1, None, "é"]})


@given(answers())
def test_json_gives_back_the_same_answer(answer: Answer) -> None:
    text = answer.to_json()
    back = Answer.from_json(text)
    assert back == answer
    assert repr([column.values for column in back.columns]) == repr([column.values for column in answer.columns])
    assert back.to_json() == text
    assert Answer.from_json(text.encode("ascii")) == answer


def test_json_is_strict_and_exact() -> None:
    big = 10**5000 + 1
    columns = (Column("d", "key", (dt.date(1, 1, 1),)), Column("n", "count", (big,), noise=((-math.inf, 1e300),)))
    text = Answer(columns, PureDP(0.1), PureDP(Fraction(1, 3))).to_json()

    def refuse(word: str) -> None:
        raise AssertionError(word)

    record = json.loads(text, parse_constant=refuse)
    assert record["remaining"]["epsilon"] == "1/3"
    assert Fraction(record["loss"]["epsilon"]) == Fraction(0.1)
    assert record["columns"][0]["values"] == [{"date": "0001-01-01"}]
    assert Answer.from_json(text).table["n"] == (big,)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"lapwing_answer": 99}', b"\xff"])
def test_what_is_not_an_answer_is_refused(text: str | bytes) -> None:
    with pytest.raises(InvalidParameter, match="to_json"):
        Answer.from_json(text)


# Frames

NAMES = [
    "region",
    "n",
    "n_low",
    "n_high",
    "age",
    "age_low",
    "age_high",
    "age_population_low",
    "age_population_high",
    "cost",
]


def test_every_frame_has_keys_values_and_the_ends_of_the_noise() -> None:
    answer = by_region()
    assert list(answer.to_dict()) == NAMES
    assert answer.to_dict()["n_low"] == [1191.0, 976.0, 36.0]
    assert answer.to_arrow().to_pydict() == answer.to_dict()
    assert answer.to_polars().to_dict(as_series=False) == answer.to_dict()
    frame = answer.to_pandas()
    assert list(frame) == NAMES
    assert frame["n"].tolist() == [1203, 988, 48]
    assert math.isnan(frame["cost"][1])


def of_types(value: Callable[[str], Any]) -> Answer:
    types = ("boolean", "integer", "number", "text", "date", "timestamp")
    known = [Column(name, "key", (value(name),) * 2, type=name) for name in types]
    values = [Column("n", "count", (value("integer"),) * 2), Column("m", "mean", (value("number"),) * 2)]
    return Answer((*known, *values), LOSS)


def test_the_types_of_frames_do_not_depend_on_values() -> None:
    full = {
        "boolean": True, "integer": 2**53 + 1, "number": 0.5, "text": "a",
        "date": dt.date(1, 1, 1), "timestamp": dt.datetime(9999, 12, 31, 23, 59, 59, 999999),
    }  # fmt: skip
    present, missing = of_types(full.__getitem__), of_types(lambda name: None)
    assert present.to_arrow().schema == missing.to_arrow().schema
    assert present.to_polars().schema == missing.to_polars().schema
    assert list(present.to_pandas().dtypes) == list(missing.to_pandas().dtypes)
    assert present.to_arrow()["date"].to_pylist() == [dt.date(1, 1, 1)] * 2
    assert present.to_polars()["timestamp"].to_list() == [full["timestamp"]] * 2
    assert present.to_pandas()["integer"].tolist() == [2**53 + 1] * 2
    for answer in (empty(), Answer((Column("m", "mean", (None,)),), LOSS)):
        assert str(answer.to_arrow().schema.field("m").type) == "double"


def test_a_name_that_is_taken_is_not_taken_twice() -> None:
    columns = (Column("n", "count", (1,), noise=((0, 2),)), Column("n_low", "count", (7,)))
    assert Answer(columns, LOSS).to_dict() == {"n": [1], "n_low_": [0.0], "n_high": [2.0], "n_low": [7]}


def test_whole_numbers_beyond_64_bits_are_refused_by_frames_only() -> None:
    answer = Answer((Column("n", "count", (2**63,)),), LOSS)
    for convert in (answer.to_arrow, answer.to_polars, answer.to_pandas):
        with pytest.raises(InvalidParameter, match="64 bits"):
            convert()
    assert answer.to_csv() == "n\n9223372036854775808\n"


def test_csv_quotes_what_needs_it_and_keeps_null_apart(tmp_path: Path) -> None:
    columns = (Column("k,1", "key", (None, "", 'a"b', "c\nd")), Column("n", "count", (1, -2, None, 4)))
    answer = Answer(columns, LOSS)
    text = answer.to_csv(tmp_path / "answer.csv")
    assert text == '"k,1",n\n,1\n"",-2\n"a""b",\n"c\nd",4\n'
    assert (tmp_path / "answer.csv").read_bytes() == text.encode()


@pytest.mark.parametrize("package", ["pyarrow", "polars", "pandas", "matplotlib"])
def test_a_missing_library_is_named(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    answer = single()
    convert = {"pyarrow": answer.to_arrow, "polars": answer.to_polars, "pandas": answer.to_pandas}
    with pytest.raises(MissingExtra, match=f"needs {package}"):
        convert.get(package, answer.plot)()


# Pictures


@pytest.mark.parametrize("make", EVERY)
def test_every_answer_can_be_drawn(make: Callable[[], Answer], tmp_path: Path) -> None:
    make().plot(tmp_path / "answer.png")
    assert (tmp_path / "answer.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_has_a_panel_for_each_column_and_a_name_for_each_row(tmp_path: Path) -> None:
    figure = by_region().plot(tmp_path / "answer.svg")
    assert [axes.get_title("left") for axes in figure.axes] == ["n", "age †", "cost"]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == list(REGIONS)
    assert [bar.get_width() for bar in figure.axes[0].patches] == [1203, 988, 48]
    assert [text.get_text() for text in figure.axes[0].texts] == ["1,203 ± 12", "988 ± 12", "48 ± 12"]
    assert len(by_region().plot(tmp_path / "one.svg", column="age").axes) == 1
    with pytest.raises(InvalidParameter, match="Name a column of values"):
        by_region().plot(tmp_path / "none.svg", column="region")


def test_dates_and_numbers_are_places_on_a_line(tmp_path: Path) -> None:
    days = tuple(dt.date(2024, 1, 1) + dt.timedelta(days=7 * week) for week in range(20))
    values = tuple(range(100, 120))
    columns = (Column("day", "key", days), Column("n", "count", values, noise=around(values, 6)))
    figure = Answer(columns, LOSS).plot(tmp_path / "answer.png")
    [axes] = figure.axes
    assert [bar.get_height() for bar in axes.patches] == list(values)
    places = [bar.get_x() for bar in axes.patches]
    assert {round(b - a, 6) for a, b in pairwise(places)} == {7.0}


def test_a_picture_for_the_screen_is_one_of_pyplot() -> None:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure = single().plot()
    assert plt.fignum_exists(figure.number)  # type: ignore[attr-defined]
    plt.close(figure)
