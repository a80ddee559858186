"""`lw.cdf`: the distribution of a column, and what is read from it for free."""

from __future__ import annotations

import datetime as dt
import json
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pytest
from cases import together
from chance import assert_seldom
from everywhere import everywhere
from questions import fetch, salted

import lapwing as lw
from lapwing.errors import InvalidParameter, NotPrivateWarning, UnsupportedQuery
from lapwing.noise import Reproducible

FALSE_ALARM = 1e-6
EDGES = list(range(0, 101, 5))
DAYS = [dt.date(2024, 12, 25) + dt.timedelta(days=i) for i in range(120)]
MONTHS = ["2025-01-01", "2025-02-01", "2025-03-01", "2025-04-01"]
EXACT = 10**13


def drawn_ages(people: int, seed: int = 1) -> list[float | None]:
    draw = random.Random(seed)
    return [
        draw.choice([None, -3.0, draw.gauss(45, 18), draw.gauss(45, 18), draw.gauss(45, 18)]) for _ in range(people)
    ]


def opened(ages: list[float | None], per: int = 1, **options: Any) -> lw.PrivateTable:
    schema = {"who": pl.Int64, "age": pl.Float64, "day": pl.Date}
    days = [None if i % 9 == 0 else DAYS[i * 7 % len(DAYS)] for i in range(len(ages))]
    frame = pl.DataFrame({"who": [i // per for i in range(len(ages))], "age": ages, "day": days}, schema=schema)
    return lw.open(frame, name="people", **{"unit": "who", **options})


def seeded(seed: int) -> Reproducible:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return Reproducible(b"%032d" % seed)


def inside(ages: list[float | None]) -> list[float]:
    return sorted(age for age in ages if age is not None and EDGES[0] <= age <= EDGES[-1])


@pytest.mark.parametrize("unit", ["who", lw.EACH_ROW], ids=["a column", "each row"])
def test_without_noise_it_is_the_distribution(unit: Any) -> None:
    ages = drawn_ages(500)
    answer = opened(ages, unit=unit).agg(lw.cdf("age", edges=EDGES)).release(epsilon=EXACT)
    known = inside(ages)
    assert [round(n) for n in answer["count_below"]] == [sum(age < edge for age in known) for edge in EDGES[1:]]
    assert answer["share_below"][-1] == 1
    assert answer.below(45).value == pytest.approx(sum(age < 45 for age in known) / len(known), abs=1e-6)
    assert answer.between(20, 65).value == pytest.approx(sum(20 <= age < 65 for age in known), abs=1e-3)
    for q in (0.1, 0.5, 0.99):
        exact = known[int(q * len(known))]
        assert abs(answer.quantile(q).value - exact) <= 5


@pytest.mark.parametrize("spend", [{"epsilon": 1}, {"rho": 0.1}], ids=str)
def test_what_is_read_from_it_lies_in_its_interval_as_often_as_it_says(spend: dict[str, Any]) -> None:
    ages, runs = drawn_ages(800), 60
    columns = {"age": np.array([float("nan") if age is None else age for age in ages])}
    question, known = lw.open(columns, unit=lw.EACH_ROW, name="p").agg(lw.cdf("age", edges=EDGES)), inside(ages)
    exact = {q: known[int(q * len(known))] for q in (0.05, 0.25, 0.5, 0.9)}
    missed, ranges = 0, 0
    for run in range(runs):
        answer = question.release(confidence=0.9, entropy=seeded(run), progress=False, **spend)
        read = {q: answer.quantile(q) for q in exact}
        missed += any(not read[q].low <= exact[q] <= read[q].high for q in exact)
        span = answer.between(20, 65)
        ranges += not span.low <= sum(20 <= age < 65 for age in known) <= span.high
        assert all(quantity.low <= quantity.value <= quantity.high for quantity in (*read.values(), span))
    assert_seldom(missed, runs, 0.1)
    assert_seldom(ranges, runs, 0.1)


def test_quantiles_near_the_ends_lie_in_their_intervals_as_often_as_they_say() -> None:
    runs, values = 40, np.sort(np.random.default_rng(5).normal(50, 12, 1500).clip(1, 99))
    table = lw.open({"x": values}, unit=lw.EACH_ROW, name="t")
    exact = {q: values[int(np.ceil(q * len(values))) - 1] for q in (0.0005, 0.001, 0.01, 0.99, 0.999, 0.9999)}
    missed = 0
    for _ in range(runs):
        answer = table.agg(lw.cdf("x", edges=range(0, 101, 2))).release(rho=0.1)
        read = {q: answer.quantile(q) for q in exact}
        missed += any(not read[q].low <= value <= read[q].high for q, value in exact.items())
    assert_seldom(missed, runs, 0.05)


def test_count_and_count_below_say_why_they_differ() -> None:
    answer = opened(drawn_ages(20)).agg(lw.cdf("age", edges=EDGES)).release(epsilon=0.1)
    assert any("sums of count differ a little from count_below" in note for note in answer.notes)


def test_no_unit_moves_a_level_further_than_its_noise_is_for() -> None:
    ages = drawn_ages(60, seed=4)
    for most in (1, 3):

        def bins(kept: list[float | None], most: int = most) -> list[int]:
            question = opened(kept, per=5).bounded(max_rows_per_unit=most).agg(lw.cdf("age", edges=EDGES))
            found = fetch(question, salted(3))
            assert question.priced(question.budget(1, None, None))[0].ladder.sensitivity == most
            return [found.get(place, (0,))[0] for place in range(len(EDGES) - 1)]

        everybody, moved = bins(ages), set()
        for who in range(0, 12, 2):
            without = [None if i // 5 == who else age for i, age in enumerate(ages)]
            moved.add(sum(abs(a - b) for a, b in zip(everybody, bins(without), strict=True)))
        assert max(moved) == most  # every level sums these, so none moves further


def test_a_repeated_answer_says_the_same(tmp_path: Path) -> None:
    table = opened(drawn_ages(50), allowance=lw.PureDP(2, unit="person"), ledger=tmp_path / "ledger.db")
    question = table.agg(lw.cdf("age", edges=EDGES))
    first, again = (question.release(epsilon=1, key="ages") for _ in range(2))
    assert again.repeated
    assert first == again
    assert first.quantile(0.5) == again.quantile(0.5)
    assert lw.Answer.from_json(first.to_json()).columns == first.columns
    with pytest.raises(InvalidParameter, match="key"):
        table.agg(lw.histogram("age", edges=EDGES)).release(epsilon=1, key="ages")


def test_the_quote_costs_what_the_release_does_and_says_how_far_shares_are_off() -> None:
    question = opened(drawn_ages(50)).agg(lw.cdf("age", edges=EDGES))
    quote = question.quote(rho=0.1, count=1000)
    assert quote.loss == question.release(rho=0.1).loss == lw.ZCDP(0.1, unit="who")
    assert quote.lines[0].loss <= quote.loss
    errors = {expected.output: expected.error for expected in quote.expected}
    assert errors["count"] < errors["count_below"] < 20  # type: ignore[operator]
    assert errors["share_below"] < 0.05  # type: ignore[operator]
    assert {e.output: e.error for e in question.quote(rho=0.1).expected}["share_below"] is None


def test_a_delta_buys_gaussian_noise_where_that_is_smaller() -> None:
    question = opened([]).agg(lw.cdf("age", edges=range(0, 1001)))
    assert question.priced(question.budget(1, 0.01, None))[0].concentrated
    assert not question.priced(question.budget(1, None, None))[0].concentrated


def test_the_shape_is_the_same_for_nobody() -> None:
    shapes = set()
    for ages in ([], drawn_ages(3), drawn_ages(200)):
        answer = opened(ages).agg(lw.cdf("age", edges=EDGES)).release(epsilon=1)
        shapes.add(tuple((column.name, column.type, len(column.values)) for column in answer.columns))
    assert len(shapes) == 1


@together(
    "ask, why",
    [
        (lambda t: t.agg(lw.cdf("age", edges=[5])), "two numbers or dates that rise"),
        (lambda t: t.agg(lw.cdf("age", edges=range(10_001))), "9,000 at most"),
        (lambda t: t.agg(lw.cdf("age", edges=5)), "must be a list"),
        (lambda t: t.agg(lw.cdf("age", edges=[None])), "is missing"),
        (lambda t: t.agg(lw.cdf("age", edges=[0, 1, 10**400])), "below 1e308"),
        (lambda t: t.hierarchy(lw.bins("age", edges=[0, 1, 10**400]), lw.count()), "below 1e308"),
        (lambda t: t.agg(lw.cdf("age", edges=MONTHS)), "of kind number, not a date"),
        (lambda t: t.agg(lw.cdf("day", edges=EDGES)), "edges as dates"),
        (lambda t: t.agg(lw.cdf("day", edges=["2025-01-01", 5, 7])), "is not a date, and another edge is"),
        (lambda t: t.agg(lw.cdf("day", edges=MONTHS[::-1])), "that rise"),
        (lambda t: t.agg(lw.cdf("day", edges=DAYS * 40)), "that rise"),
        (lambda t: t.agg(lw.cdf("day", edges=MONTHS)).release(epsilon=1).below("2025-02-02"), 'edge is "2025-02-01"'),
        (lambda t: t.agg(lw.cdf("day", edges=MONTHS)).release(epsilon=1).below(5), "is not a date"),
        (lambda t: t.agg(lw.cdf("age", edges=[5, 10])), "two bins"),
        (lambda t: t.select(count_below="age").agg(lw.cdf("count_below", edges=EDGES)), "have this name"),
        (lambda t: t.select(count="age").agg(lw.cdf("count", edges=EDGES)), "have this name"),
        (lambda t: t.agg(lw.cdf("age", edges=EDGES), lw.count()), "of its own"),
        (lambda t: t.group_by(old="age > 50").agg(lw.cdf("age", edges=EDGES)), "all rows together"),
        (lambda t: t.bounded(max_groups_per_unit=2).agg(lw.cdf("age", edges=EDGES)), "max_rows_per_unit"),
        (lambda t: t.agg(lw.cdf("age", edges=EDGES)).unprotected(), "histogram"),
        (lambda t: t.agg(lw.cdf("age", edges=EDGES)).release(within=5), "none of them"),
        (lambda t: t.agg(lw.cdf("age", edges=EDGES)).release(epsilon=1, count=10), "it hides no group"),
        (lambda t: t.agg(lw.cdf("age", edges=EDGES)).release(epsilon=1).between(18, 65), "nearest edge is 20"),
        (lambda t: t.agg(lw.cdf("age", edges=EDGES)).release(epsilon=1).between(65, 20), "above the other"),
        (lambda t: t.agg(lw.cdf("age", edges=EDGES)).release(epsilon=1).quantile(1.5), "q"),
        (lambda t: t.agg(lw.cdf("age", edges=EDGES)).release(epsilon=1).quantile(0), "least or the greatest"),
        (lambda t: t.agg(lw.cdf("age", edges=EDGES)).release(epsilon=1).quantile(1), "least or the greatest"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_reason(ask: Any, why: str) -> None:
    with pytest.raises((InvalidParameter, UnsupportedQuery), match=why):
        ask(opened(drawn_ages(20)))


def test_days_of_a_column_of_times_end_before_the_last_day_of_the_calendar() -> None:
    times = np.array(["9999-12-30T05", "9999-12-31T05"], dtype="datetime64[us]")
    table = lw.open({"at": times}, unit=lw.EACH_ROW)
    known = table.hierarchy(lw.dates("at", "9999-12-30", "9999-12-30", by="day"), lw.count())
    assert known.release(epsilon=EXACT)["count"] == (1, 1)
    with pytest.raises(UnsupportedQuery, match="no day comes after 9999-12-31"):
        table.hierarchy(lw.dates("at", "9999-12-30", "9999-12-31", by="day"), lw.count())


def test_it_is_drawn_with_its_band(tmp_path: Path) -> None:
    answer = opened(drawn_ages(300)).agg(lw.cdf("age", edges=EDGES)).release(epsilon=1)
    answer.plot(tmp_path / "ages.png")
    assert (tmp_path / "ages.png").stat().st_size > 10_000
    assert answer.plot(column="count").axes
    assert "median" in answer.plot(tmp_path / "days.png").get_supxlabel()
    days = opened(drawn_ages(300)).agg(lw.cdf("day", edges=MONTHS)).release(epsilon=1).plot(tmp_path / "days.png")
    assert (tmp_path / "days.png").stat().st_size > 10_000
    assert days.axes[0].get_title(loc="left") == "How day is distributed"


@pytest.mark.parametrize("times", [False, True], ids=["dates", "times"])
def test_dates_have_edges_and_quantiles_that_are_dates(times: bool) -> None:
    days = [DAYS[i * 7 % len(DAYS)] for i in range(600)]
    shown = [dt.datetime.combine(day, dt.time(23, 30)) for day in days] if times else days
    table = lw.open(pl.DataFrame({"day": [*shown, None]}), unit=lw.EACH_ROW, name="t")
    edges = [DAYS[10], "2025-02-01", dt.datetime(2025, 3, 1), DAYS[100]]
    answer = table.agg(lw.cdf("day", edges=edges)).release(epsilon=EXACT)
    ends = [DAYS[10], dt.date(2025, 2, 1), dt.date(2025, 3, 1), DAYS[100]]
    assert answer["day"] == tuple(ends[1:])
    known = sorted(day for day in days if ends[0] <= day <= ends[3] and not (times and day == ends[3]))
    assert [round(n) for n in answer["count_below"]][:2] == [sum(day < end for day in known) for end in ends[1:3]]
    assert round(answer["count_below"][2]) == len(known)
    assert answer.below("2025-03-01").value == pytest.approx(sum(day < ends[2] for day in known) / len(known))
    assert round(answer.between(DAYS[10], "2025-03-01").value) == sum(day < ends[2] for day in known)
    median = answer.quantile(0.5)
    assert abs((median.value - known[len(known) // 2]).days) <= 3
    assert median.low <= median.value <= median.high
    assert str(median) == f"{median.value} (95 % interval {median.low} to {median.high})"
    assert lw.Answer.from_json(answer.to_json()).columns == answer.columns


def test_every_engine_finds_the_same_bins_of_dates_and_times(postgres_url: str, spark: Any) -> None:
    times = [dt.datetime.combine(day, dt.time(i % 24)) for i, day in enumerate(DAYS)]
    rows: list[tuple[Any, ...]] = [(i, DAYS[i], times[i]) for i in range(len(DAYS))]
    rows.append((999, None, None))
    types = {"who": "integer", "day": "date", "at": "timestamp"}
    found: dict[str, list[Any]] = {}
    for engine, where in everywhere(rows, types, postgres_url, spark, "distribution_rows").items():
        table = lw.open(**where, unit="who", name="t")
        questions = [table.agg(lw.cdf(column, edges=[*MONTHS, "2025-04-05"])) for column in ("day", "at")]
        questions.append(table.hierarchy(lw.dates("at", "2025-01-01", "2025-01-31", by=("month", "day")), lw.count()))
        found[engine] = [fetch(question, salted(3)) for question in questions]
    assert found["duckdb"] == found["postgres"] == found["spark"]
    assert [numbers[0] for _, numbers in sorted(found["duckdb"][0].items())] == [31, 28, 31, 5]
    assert [numbers[0] for _, numbers in sorted(found["duckdb"][1].items())] == [31, 28, 31, 4]
    assert len(found["duckdb"][2]) == 31


@together(
    "column, edges",
    [("age", EDGES), ("age", [0.1, 0.5, 1e6]), ("age", np.linspace(0, 1, 7)), ("age / 2", EDGES), ("day", MONTHS)],
)
def test_a_saved_distribution_is_the_same_question(column: str, edges: Any) -> None:
    table = opened(drawn_ages(50), bounds={"age": (0, 100)})
    question = table.where("age > 3").bounded(max_rows_per_unit=2).agg(lw.cdf(column, edges=edges))
    for read, text in ((lw.Query.from_yaml, question.to_yaml()), (lw.Query.from_json, question.to_json())):
        again: Any = read(text, table)
        assert again == question
        assert again.digest() == question.digest()
        assert again.release(epsilon=EXACT)["share_below"] == question.release(epsilon=EXACT)["share_below"]


@together(
    "field, value",
    [("limit", 3), ("order_by", []), ("group_by", [{"name": "age", "by": {"column": "age"}, "values": [1.0]}])],
)
def test_a_saved_distribution_is_read_as_a_whole(field: str, value: Any) -> None:
    table = opened([])
    data = json.loads(table.agg(lw.cdf("age", edges=EDGES)).to_json()) | {field: value}
    with pytest.raises((InvalidParameter, UnsupportedQuery)):
        lw.Query.from_json(json.dumps(data), table)


def test_without_edges_the_bins_lie_between_the_bounds_of_the_column() -> None:
    frame = pd.DataFrame({"age": [17, 18, 18, 60, 90], "cost": [0.0, 2.5, 5.0, 9.0, 10.0]})
    table = lw.open(frame, unit=lw.EACH_ROW, bounds={"age": (17, 90), "cost": (0, 10)})
    years, costs = table.agg(lw.cdf("age")), table.agg(lw.cdf("cost"))
    assert years.edges == tuple(map(float, range(17, 91)))
    assert costs.edges == pytest.approx([place / 10 for place in range(101)])
    answer = years.release(epsilon=50)
    assert answer.below(19).value == pytest.approx(0.6, abs=0.3)
    assert lw.Query.from_yaml(years.to_yaml(), table).edges == years.edges
    by_hand = "lapwing_query: 1\nrows:\n- {table: table}\nask:\n- cdf: [age]\n"
    assert lw.Query.from_yaml(by_hand, table).edges == years.edges
    assert str(lw.cdf("age")) == "cdf(age, bins between its bounds)"
    bare = lw.open(frame, unit=lw.EACH_ROW)
    with pytest.raises(InvalidParameter, match="age has no bounds to take their place"):
        bare.agg(lw.cdf("age"))
    with pytest.raises(UnsupportedQuery, match="it makes rows of its own"):
        table.hierarchy([lw.bins("age", [17, 50, 90])], lw.cdf("cost"))
