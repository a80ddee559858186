"""What quotes, answers and definitions say about the clock of a stream, and about what is shown of an answer."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

import lapwing as lw
from lapwing.curator.streams.schedule import Schedule
from lapwing.curator.tables.streams import streamed

SCHEDULE: dict[str, Any] = {"every": "day", "steps": 9, "start": "2026-01-01"}


@pytest.fixture
def table(tmp_path: Path) -> lw.PrivateTable:
    (tmp_path / "visits.csv").write_text("region,at\nN,2026-01-01\n")
    keys, types = {"region": ["N", "S"]}, {"at": "timestamp"}
    return lw.open(tmp_path / "visits.csv", unit=lw.EACH_ROW, keys=keys, types=types)  # type: ignore[arg-type]


def test_a_stream_says_that_its_steps_end_by_the_clock_in_utc(table: lw.PrivateTable, tmp_path: Path) -> None:
    question = table.stream(lw.count(), time="at", **SCHEDULE)
    assert "9 days (UTC)" in question.definition.explain()
    quote = " ".join(question.quote(epsilon=1).notes)
    assert "by the clock in UTC; times without a time zone are taken as UTC" in quote
    assert "if times are those of a zone behind UTC" in quote
    shown = question.open(tmp_path / "state", epsilon=1).observe()
    assert any("by the clock in UTC" in note for note in shown.notes)
    assert not any("behind UTC" in note for note in shown.notes)


def test_a_stream_with_enough_grace_or_without_a_clock_gets_no_advice_about_it(table: lw.PrivateTable) -> None:
    waits = table.stream(lw.count(), time="at", grace=dt.timedelta(hours=12), **SCHEDULE).quote(epsilon=1)
    assert not any("behind UTC" in note for note in waits.notes)
    counted = table.stream(lw.count(), every="step", steps=9).quote(epsilon=1)
    assert "UTC" not in counted.question
    assert not any("UTC" in note for note in counted.notes)


def test_a_grace_of_the_difference_makes_steps_of_local_days(table: lw.PrivateTable, tmp_path: Path) -> None:
    at, rows = dt.datetime(2026, 1, 2, 4, 59), [{"region": "N", "at": dt.datetime(2026, 1, 1, 23, 58)}]
    question = table.stream(lw.count(), time="at", grace=dt.timedelta(hours=5), **SCHEDULE)  # New York
    stream = question.open(tmp_path / "state", epsilon=1000, clock=lambda: at)
    assert stream.catch_up(rows) is None  # there it is 23:59
    at = dt.datetime(2026, 1, 2, 5)
    shown = stream.catch_up(rows)
    assert shown is not None
    assert round(shown["count"][0]) == 1


def test_a_stream_names_having_order_by_and_limit_wherever_it_is_described(table: lw.PrivateTable) -> None:
    select = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region HAVING n > 10 ORDER BY n DESC LIMIT 1"
    question = streamed(table.query(select), Schedule(**SCHEDULE))
    said = "having n > 10 → order by n, largest first → limit 1"
    assert question.definition.explain().endswith(said)
    quote = question.quote(epsilon=1)
    assert quote.question.endswith(said)
    assert any("to each window, so an answer about few of them may have no rows" in note for note in quote.notes)
    assert "having" not in table.stream(lw.count(), **SCHEDULE).definition.explain()
