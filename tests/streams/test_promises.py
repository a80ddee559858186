"""One price, charged once, for a unit that is never sold as another; what cannot be counted is refused first."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from streaming import long_after, opened, table

import lapwing as lw
from lapwing.curator.streams import state
from lapwing.curator.streams.schedule import Schedule
from lapwing.curator.tables.streams import streamed
from lapwing.errors import (
    BudgetExceeded,
    IncompatibleLosses,
    InvalidCall,
    InvalidParameter,
    LapwingError,
    UnsupportedQuery,
)
from lapwing.noise import Reproducible
from lapwing.privacy import ZCDP, ApproxDP, Ledger, PureDP


def daily(book: lw.PrivateTable, *asks: Any, **options: Any) -> lw.StreamQuestion:
    usual: dict[str, Any] = {"every": "day", "steps": 30, "start": "2026-02-01"}
    return book.stream(*(asks or (lw.count(),)), **{**usual, **options})


def test_a_stream_is_charged_once_before_any_row_is_read(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "ledger.db")
    rows = table("patient", ledger=book, allowance=PureDP(1), dataset="visits")
    question = daily(rows, active_steps=5)
    assert question.quote(epsilon=0.25).loss == PureDP(0.25, unit="patient")
    assert book.spent("visits") == PureDP(0, unit="patient")
    stream = opened(tmp_path, question, epsilon=0.25)
    assert book.spent("visits") == PureDP(0.25, unit="patient")
    for step in range(1, 31):
        stream.observe([{"patient": step}], step=step)
    opened(tmp_path, question, epsilon=0.25)  # goes on with the same file
    lw.open_stream(tmp_path / "state.db").estimate()
    assert book.spent("visits") == PureDP(0.25, unit="patient")
    with pytest.raises(BudgetExceeded):
        opened(tmp_path / "second", question, epsilon=0.875)
    with pytest.raises(InvalidParameter, match="not paid for"):  # what failed to be paid for is no stream
        lw.open_stream(tmp_path / "second" / "state.db")
    opened(tmp_path / "second", question, epsilon=0.5)  # a refusal leaves nothing behind that stands in the way
    assert book.spent("visits") == PureDP(0.75, unit="patient")
    with pytest.raises(InvalidCall, match="all 30 days"):
        stream.observe()


@pytest.mark.parametrize("budget", [{"rho": 0.2}, {"epsilon": 1}, {"epsilon": 1, "delta": 1e-6}])
def test_the_counters_cost_no_more_than_the_quote(tmp_path: Path, budget: dict[str, Any]) -> None:
    asks = (lw.count(), lw.mean("cost"), lw.variance("cost"), lw.units())
    question = daily(table("patient"), *asks, by="region", active_steps=4, separation=2)
    quote, stream = question.quote(**budget), opened(tmp_path, question, **budget)
    losses = [item.privacy_loss() for item in stream.items]
    total = sum(losses[1:], losses[0])
    assert stream.loss == quote.loss
    if isinstance(quote.loss, ApproxDP) and isinstance(total, ZCDP):
        total = total.to_approx(quote.loss.delta)
    assert total <= quote.loss
    assert quote.state_bytes == sum(len(item.counter.open().to_bytes()) for item in stream.items)
    assert {line.what for line in quote.lines} == {item.label for item in stream.items}


def test_the_better_family_is_taken_and_both_are_shown() -> None:
    question = daily(table())
    concentrated, pure = question.quote(rho=0.5), question.quote(epsilon=1)
    assert [(family, taken) for _, family, _, taken in concentrated.families] == [
        ("square root", True),
        ("signed tree", False),
    ]
    assert [(family, taken) for _, family, _, taken in pure.families] == [("signed tree", True), ("binary tree", False)]
    for quote in (concentrated, pure):
        errors = [rms for _, _, rms, _ in quote.families]
        assert errors == sorted(errors)
        assert "times as large" in str(quote)
    wide = daily(table(), by="region").quote(epsilon=1, delta=1e-6)
    assert isinstance(wide.loss, PureDP | ApproxDP)


def test_bands_are_quoted_for_first_middle_last_and_worst_steps() -> None:
    quote = daily(table()).quote(rho=0.5)
    errors = {entry.output: entry.error for entry in quote.expected}
    assert list(errors) == [
        "count after 1 day", "count after 15 days", "count after 30 days",
        "count after the day with the widest error bound", "count over the last 7 of 30 days",
    ]  # fmt: skip
    assert all(error is not None and error > 0 for error in errors.values())
    assert errors["count after the day with the widest error bound"] == max(errors.values())  # type: ignore[type-var]
    unknown = daily(table(), lw.mean("cost")).quote(rho=0.5)
    assert all(entry.error is None for entry in unknown.expected)  # a mean depends on how many rows there are


# ------------------------------------------------------------------------------------------------------------ units


def test_a_table_about_people_must_say_in_how_many_steps_one_counts() -> None:
    with pytest.raises(InvalidParameter, match="active_steps=30"):
        daily(table("patient"))
    assert daily(table("patient"), lw.units()).definition.protection.steps == 1  # a first appearance is one step


def test_events_are_not_charged_to_a_promise_to_people(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "ledger.db")
    book.open("visits", PureDP(1, unit="patient"))
    with pytest.raises(InvalidParameter, match="per patient"):  # the table itself is refused
        table(ledger=book, dataset="visits")
    book.open("rows", PureDP(1, unit="row"))
    book.open("rows", PureDP(1, unit="patient"))
    both = table(ledger=book, dataset="rows")
    with pytest.raises(InvalidParameter, match="max_units_per"):
        opened(tmp_path, daily(both), epsilon=1 / 64)
    few = table(ledger=book, dataset="rows", max_units_per={"patient": 16})
    opened(tmp_path / "few", daily(few), epsilon=1 / 64)
    assert book.spent("rows", "row") == PureDP(1 / 64, unit="row")
    assert book.spent("rows", "patient") == PureDP(0.25, unit="patient")  # sixteen rows of one patient


def test_consecutive_steps_are_not_charged_to_a_promise_to_people(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "ledger.db")
    rows = table("patient", ledger=book, allowance=PureDP(1), dataset="visits")
    question = daily(rows, consecutive_steps=7)
    assert question.quote(epsilon=0.5).loss == PureDP(0.5, unit="patient in any 7 consecutive days")
    quote = question.quote(epsilon=0.5)
    assert quote.remaining_after() is None
    assert "ε = 1 remains, but this cannot be paid from it" in quote.spending()
    assert quote.notes[0].startswith("this stream cannot be opened: the ledger has an allowance for a whole patient")
    with pytest.raises(IncompatibleLosses, match=r"protects only a.*active_steps") as refused:
        opened(tmp_path, question, epsilon=0.5)
    assert str(refused.value).endswith(quote.notes[0].removeprefix("this stream cannot be opened: "))
    assert book.spent("visits") == PureDP(0, unit="patient")
    allowance = PureDP(1, unit="patient in any 7 consecutive days")
    apart = table("patient", ledger=book, allowance=allowance, dataset="weeks")
    opened(tmp_path / "weeks", daily(apart, consecutive_steps=7), epsilon=0.5)
    assert book.remaining("weeks") == PureDP(0.5, unit="patient in any 7 consecutive days")


@pytest.mark.parametrize("other", [{"every": "hour"}, {"every": "week"}, {"consecutive_steps": 6}])
def test_a_promise_for_seven_days_pays_for_no_other_steps(tmp_path: Path, other: dict[str, Any]) -> None:
    book = Ledger(tmp_path / "ledger.db")
    allowance = PureDP(1, unit="patient in any 7 consecutive days")
    weeks = table("patient", ledger=book, allowance=allowance, dataset="weeks")
    opened(tmp_path / "days", daily(weeks, consecutive_steps=7), epsilon=0.25)
    with pytest.raises(IncompatibleLosses, match="protects only a"):
        opened(tmp_path / "other", daily(weeks, **{"consecutive_steps": 7, **other}), epsilon=0.25)
    assert book.spent("weeks") == PureDP(0.25, unit="patient in any 7 consecutive days")


def test_every_protection_has_words_of_its_own(tmp_path: Path) -> None:
    people, rows = table("patient"), table()
    notes = [
        daily(rows).quote(epsilon=1).notes[0],
        daily(people, active_steps=7, separation=2).quote(epsilon=1).notes[0],
        daily(people, consecutive_steps=7).quote(epsilon=1).notes[0],
    ]
    assert notes == [
        "event level: one row is protected. Somebody with several rows is not protected as a person",
        "patient level: all rows of one patient are protected. Each patient counts in at most 7 days, the first 7 with "
        "rows, at least 2 days apart",
        "7-day level (w-event): what one patient does in any 7 consecutive days is protected, not what happens over a "
        "longer time",
    ]
    stream = opened(tmp_path, daily(people, active_steps=7, separation=2))
    assert notes[1] in stream.observe().notes


def test_a_stream_that_protects_weeks_shows_each_day_by_itself(tmp_path: Path) -> None:
    stream = opened(tmp_path, daily(table("patient"), by="region", consecutive_steps=7), epsilon=2_000)
    visits = [{"patient": person, "region": "N"} for person in range(500)]
    for _ in range(4):
        answer = stream.observe(visits)
    [low, high] = answer.table.column("count").noise[0]  # type: ignore[index,misc]
    assert low <= 500 <= high
    assert not stream.adds_up
    assert len(stream.history().table) == 8
    for act in (lambda: stream.window(2), lambda: stream.history(window=2)):
        with pytest.raises(InvalidCall, match="about one step each"):
            act()
    with pytest.raises(InvalidParameter, match="epsilon=1 alone"):
        daily(table("patient"), consecutive_steps=7).quote(rho=1)


def test_a_mean_of_consecutive_steps_shares_its_failures_between_its_parts(tmp_path: Path) -> None:
    question = table("patient").stream(lw.count(), lw.mean("cost"), every="step", steps=3, consecutive_steps=2)
    stream = opened(tmp_path, question)
    stream.observe([{"patient": person, "cost": 5.0} for person in range(50)])
    with stream.file.transaction(write=False) as database:
        kept, (_, errors) = state.counters(database), state.shown_at(database, 1)
    for place, (item, error) in enumerate(zip(stream.items, errors or [], strict=True)):
        after: Any = item.counter.state_from_bytes(kept[place])
        sure = 0.95 if item.outputs == ("count",) else 0.975
        assert error == item.counter.error_bound(after, sure)  # type: ignore[union-attr]


# ----------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"steps": 0}, "steps"),
        ({"steps": 1 << 30}, "longer steps"),
        ({"start": None}, "never read from rows"),
        ({"start": "2026-02-01 12:00"}, "beginning of a day"),
        ({"every": "month", "start": "2026-02-02"}, "2026-02-01"),
        ({"start": "soon"}, "neither a date"),
        ({"steps": 4_000_000}, "year 9999"),
        ({"every": "year"}, "every"),
        ({"late": "never"}, "late"),
        ({"late": "next"}, "time='at'"),
        ({"every": "step"}, "Leave it out"),
        ({"grace": -1}, "span of time"),
        ({"time": "when"}, "not a column"),
        ({"time": "region"}, "types="),
        ({"watermark": "region"}, "only grow"),
        ({"grace": dt.timedelta.max}, "from 0 to"),
        ({"by": "patient"}, "Name them"),
        ({"by": 7}, "must name columns"),
        ({"active_steps": 3}, "every row is a unit"),
        ({"consecutive_steps": 3}, "every row is a unit"),
        ({"separation": 3}, "active_steps"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_write(options: dict[str, Any], says: str) -> None:
    with pytest.raises(LapwingError, match=says):
        daily(table(), **options)


def test_late_rows_do_not_carry_what_happened_in_a_few_steps_into_others() -> None:
    """A row of Monday that comes three weeks later would change a step outside of any seven days with Monday."""
    weekly = {"consecutive_steps": 7, "time": "at"}
    assert daily(table("patient"), late="drop", **weekly)
    with pytest.raises(InvalidParameter, match="late='drop'"):
        daily(table("patient"), late="next", **weekly)
    assert daily(table("patient"), late="next", time="at", active_steps=7)


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lw.median("cost"), "cannot be added up"),
        (lw.top_k("region", 2), r"stream\.top"),
        (lw.count_distinct("cost"), "EACH_ROW"),
    ],
)
def test_what_has_no_sums_is_refused(ask: Any, says: str) -> None:
    with pytest.raises(LapwingError, match=says):
        daily(table("patient"), ask, active_steps=3)


def test_levels_that_no_counter_has_are_refused_and_not_left_out() -> None:
    query = table().query("SELECT region, count(*) AS n FROM visits GROUP BY ROLLUP (region)")
    with pytest.raises(UnsupportedQuery, match="none for the levels above"):
        streamed(query, Schedule(every="step", steps=3))


def test_rows_of_a_unit_that_are_looked_at_together_are_refused() -> None:
    totals = table("patient").query("SELECT COUNT(*) FROM (SELECT DISTINCT patient, region FROM visits) AS d")
    from lapwing.curator.streams.schedule import Schedule
    from lapwing.curator.tables.streams import streamed

    with pytest.raises(LapwingError, match="step by step"):
        streamed(totals, Schedule(every="step", steps=3), active_steps=1)


def test_steps_end_by_the_clock(tmp_path: Path) -> None:
    time = dt.datetime(2026, 2, 3, 12)
    question = daily(table(), grace=dt.timedelta(hours=13))
    stream = question.open(tmp_path / "state.db", epsilon=1, clock=lambda: time)
    assert stream.over == 1  # the second day is over, and its grace is not
    stream.observe()
    with pytest.raises(InvalidParameter, match="not over before 2026-02-03 13:00"):
        stream.observe([{"region": "N"}])
    assert stream.catch_up() is not None
    assert stream.closed == 1
    time = dt.datetime(2026, 2, 10)
    stream.catch_up()
    assert stream.closed == 8  # days on which nobody came are closed as well
    assert stream.observe(step="2026-02-04").provenance["step"] == 4  # it was closed: what is stored
    with pytest.raises(InvalidParameter, match="the steps 1 to 30"):
        stream.observe(step="2027-01-01")


def test_a_stream_reopens_by_its_file_alone(tmp_path: Path) -> None:
    zips = lw.public([{"region": "N", "height": 1}, {"region": "S", "height": 2}], name="heights")
    rows = table("patient", ledger=tmp_path / "ledger.db", allowance=PureDP(2), dataset="visits", population=100)
    question = (
        rows.where("cost > 1")
        .join(zips, on="region")
        .stream(
            lw.mean("cost"),
            lw.units(),
            by={"height": [1, 2]},
            every="week",
            steps=10,
            start=dt.date(2026, 2, 2),
            time="at",
            active_steps=2,
            separation=2,
        )
    )
    stream = opened(tmp_path, question)
    visits = [{"patient": 1, "region": "S", "cost": 3.5, "at": "2026-02-03"}]
    first = stream.observe(visits, step=2)
    again = lw.open_stream(tmp_path / "state.db", clock=long_after)
    assert again.definition.digest() == stream.definition.digest()
    assert again.at(2) == first
    assert again.loss == stream.loss
    assert [item.counter for item in again.items] == [item.counter for item in stream.items]
    assert again.observe(visits).provenance["step"] == 3


def test_a_stream_with_noise_from_a_seed_promises_nothing_any_more(tmp_path: Path) -> None:
    """Whichever step it was, whoever opens the file, and whichever answer is looked at."""
    visits = lw.open(pd.DataFrame({"patient": [1, 2, 3]}), unit="patient")
    asked = visits.stream(lw.count(), every="step", steps=4, active_steps=4)
    stream = asked.open(tmp_path / "s", epsilon=1)
    first = stream.observe([{"patient": 1}])
    assert "NOT PRIVATE" not in str(first)
    assert first.statement().facts["about"] == "stream"
    stream.observe([{"patient": 1}], entropy=Reproducible(7))
    again = lw.open_stream(tmp_path / "s")
    for each in (stream, again):
        answers = (
            each.at(1),
            each.at(2),
            each.estimate(),
            each.history(),
            each.window(1),
            each.top(1),
            each.top_history(1),
        )
        for answer in answers:
            assert answer.notes[0].startswith("NOT PRIVATE")
            assert "NOT PRIVATE" in str(answer)
            with pytest.raises(InvalidParameter, match="from a seed"):
                answer.statement()
        with pytest.raises(InvalidParameter, match="from a seed"):
            each.statement()
    opened = asked.open(tmp_path / "t", epsilon=1, entropy=Reproducible(7))
    assert "NOT PRIVATE" in str(opened.observe([{"patient": 1}]))


def test_a_stream_of_numbers_with_noise_from_a_seed_says_so(tmp_path: Path) -> None:
    tops = lw.Tops(epsilon=1, bound=600, steps=40, first=2)
    stream = lw.open_numeric_stream(tmp_path / "s", tops)
    assert "NOT PRIVATE" not in str(stream.observe([5.0]))
    assert "NOT PRIVATE" in str(stream.observe([5.0], entropy=Reproducible(7)))
    for _ in range(3):
        stream.observe([5.0])
    assert stream.estimate().seeded
    assert "NOT PRIVATE" in str(stream.between(3, 4))


def test_every_stream_is_charged_also_where_their_noise_comes_from_one_seed(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    visits = table("patient", ledger=ledger, allowance=PureDP(9), dataset="visits")
    asked = visits.stream(lw.count(), every="step", steps=4, active_steps=1)
    ledger.open("delays", PureDP(9, unit="event"))
    for turn in (1, 2):
        asked.open(tmp_path / f"stream {turn}", epsilon=1, entropy=Reproducible(7))
        assert ledger.spent("visits").epsilon == turn
        tops = lw.Tops(epsilon=1, bound=600, steps=40, first=2)
        lw.open_numeric_stream(
            tmp_path / f"numbers {turn}", tops, ledger=ledger, dataset="delays", entropy=Reproducible(7)
        )
        assert ledger.spent("delays").epsilon == turn


def test_a_stream_says_which_rows_of_it_are_left_out(tmp_path: Path) -> None:
    """500 rows without an id were left out without a word."""
    rows = [{"id": None}] * 50 + [{"id": "a"}, {"id": "b"}]
    table = lw.open(pd.DataFrame(rows), unit="id")
    asked = table.stream(lw.count(), every="step", steps=2, active_steps=1)
    answer = asked.open(tmp_path / "s", epsilon=20).observe(pd.DataFrame(rows))
    for notes in (asked.quote(epsilon=20).notes, answer.notes):
        assert "rows with no id are left out" in notes
        assert any(note.startswith("if one id has more rows, a random sample") for note in notes)


def test_the_draft_of_a_statement_has_no_notes_for_whoever_opens_the_stream() -> None:
    table = lw.open(pd.DataFrame({"id": [1]}), unit="id")
    quote = table.stream(lw.count(), every="step", steps=20, active_steps=1).quote(epsilon=1)
    drafted = quote.statement().to_markdown()
    for words in ("the state needs", "method for running totals"):
        assert any(words in note for note in quote.notes)
        assert words not in drafted
    assert "rows with no id are left out" in drafted
