"""What counters are fed, against an oracle in plain Python; and how far one event or person can move it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from streaming import REGIONS, Row, cell, odd_rows, opened, per_day, recorded_sums, table
from sweeps import few

import lapwing as lw
from lapwing.noise import Reproducible

DAYS = 6


def fed(folder: Path, question: lw.StreamQuestion, rows: Sequence[Row], *, cuts: Sequence[int] = (DAYS,)) -> Any:
    """The integers of every step if the steps are closed at these."""
    with recorded_sums() as seen:
        stream = opened(folder, question)
        late = question.definition.schedule.late == "next"  # whose rows are kept once
        if late:
            stream.add(list(rows))
        for last in cuts:
            stream.observe(None if late else list(rows), step=last, entropy=Reproducible(1))
    assert len(seen) == DAYS
    return seen


def daily(unit: Any = lw.EACH_ROW, late: str = "drop", **options: Any) -> lw.StreamQuestion:
    limits = {name: options.pop(name) for name in list(options) if name.startswith("max_")}
    return table(unit, **limits).stream(
        *options.pop("asks", (lw.count(), lw.count("cost"), lw.sum("cost"))), by="region", every="day", steps=DAYS,
        start="2026-02-26", time="at", late=late, **options,
    )  # fmt: skip


def oracle(rows: Sequence[Row], exponent: int = 0) -> list[list[int]]:
    """Rows, rows with a cost, and costs in steps of the grid, by region."""
    here = [[row for row in rows if row["region"] == region] for region in REGIONS]
    costs = [[cell(row["cost"]) for row in part] for part in here]
    sums = [sum(int(value * 2.0**exponent + 0.5) for value in part if value is not None) for part in costs]
    return [[len(part) for part in here], [sum(value is not None for value in part) for part in costs], sums]


@pytest.mark.parametrize("seed", few(range(12), stays=3))
@pytest.mark.parametrize("late", ["drop", "next"])
def test_counters_are_fed_what_plain_python_counts(tmp_path: Path, seed: int, late: str) -> None:
    dice = random.Random(seed)
    rows = odd_rows(dice, dice.randrange(60), days=DAYS, people=5)
    question = daily(late=late)
    [grid] = question.definition.statistics[2].arguments
    expected = [oracle(part, grid.exponent) for part in per_day(rows, DAYS, late=late)]
    assert fed(tmp_path, question, rows) == expected


@pytest.mark.parametrize("cuts", [(1, 2, 3, 4, 5, 6), (2, 5, 6)])
def test_steps_that_are_closed_together_get_the_same_as_alone(tmp_path: Path, cuts: tuple[int, ...]) -> None:
    rows = odd_rows(random.Random(3), 50, days=DAYS, people=5)
    assert fed(tmp_path / "a", daily(), rows, cuts=cuts) == fed(tmp_path / "b", daily(), rows)


def test_rows_that_wait_in_the_state_count_like_those_that_are_brought(tmp_path: Path) -> None:
    rows = odd_rows(random.Random(4), 50, days=DAYS, people=5)
    with recorded_sums() as seen:
        stream = opened(tmp_path / "a", daily())
        assert stream.add(rows[:20], batch=("log", 0))
        assert stream.add(rows[20:30], batch=("log", 1))
        assert not stream.add(rows[20:30], batch=("log", 1))  # the same batch once more
        stream.observe(rows[30:], step=DAYS)
    assert seen == fed(tmp_path / "b", daily(), rows)


@pytest.mark.parametrize(
    ("column", "value", "options"),
    [
        ("BIGINT", 4 * 10**18, {"bounds": {"x": (0, 100)}}),
        ("BIGINT", -(2**63), {"bounds": {"x": (0, 100)}}),
        ("DOUBLE", 1e300, {"bounds": {"x": (0, 100)}}),
    ],
)
def test_a_row_that_waits_does_not_change_how_others_are_read(
    tmp_path: Path, column: str, value: float, options: dict[str, Any]
) -> None:
    """One row that is kept makes all rows of the step be fetched: each must count as if the engine had added it up."""
    import duckdb

    log = duckdb.connect()
    log.execute(f"CREATE TABLE log (x {column})")
    log.execute("INSERT INTO log SELECT ? FROM range(50)", [value])
    question = lw.open(log, table="log", unit=lw.EACH_ROW, **options).stream(
        lw.count("x"), lw.sum("x"), every="step", steps=2
    )
    fed = []
    for name, kept in (("without", []), ("with", [{"x": None}])):
        stream = opened(tmp_path / name, question)
        with recorded_sums() as sums:
            stream.add(kept)
            stream.observe(log, table="log")
        fed.append(sums)
    assert fed[0] == fed[1]


def test_rows_that_wait_go_to_the_step_of_their_time(tmp_path: Path) -> None:
    rows = odd_rows(random.Random(5), 50, days=DAYS, people=5)
    with recorded_sums() as seen:
        stream = opened(tmp_path / "a", daily())
        stream.add(rows)
        for step in range(1, DAYS + 1):
            stream.observe(step=step)
    assert seen == fed(tmp_path / "b", daily(), rows)


def people_of(rows: Sequence[Row], active: int, separation: int) -> list[list[Row]]:
    """The rows that count of each day: of each person, those of the first days that are far enough apart."""
    known: dict[Any, list[int]] = {}
    steps = []
    for day, part in enumerate(per_day(rows, DAYS), start=1):
        here = [row for row in part if row["patient"] is not None and row["region"] in REGIONS]
        for person in {row["patient"] for row in here}:
            days = known.setdefault(person, [])
            if len(days) < active and (not days or day - days[-1] >= separation):
                days.append(day)
        steps.append([row for row in here if day in known[row["patient"]]])
    return steps


@pytest.mark.parametrize("seed", few(range(12), stays=3))
@pytest.mark.parametrize(("active", "separation"), [(1, 1), (3, 1), (2, 3), (6, 1)])
def test_of_each_person_the_first_active_days_count(tmp_path: Path, seed: int, active: int, separation: int) -> None:
    rows = odd_rows(random.Random(seed), 60, days=DAYS, people=4)
    question = daily(
        "patient", active_steps=active, separation=separation, max_groups_per_unit=2, max_rows_per_group=100
    )
    expected = [oracle(part)[:2] for part in people_of(rows, active, separation)]
    assert [step[:2] for step in fed(tmp_path, question, rows)] == expected


@pytest.mark.parametrize("seed", range(2))
def test_people_are_counted_in_the_step_of_their_first_appearance(tmp_path: Path, seed: int) -> None:
    rows = odd_rows(random.Random(seed), 40, days=DAYS, people=6)
    question = daily("patient", asks=(lw.units(),), max_groups_per_unit=2)
    seen: set[tuple[Any, str]] = set()
    expected = []
    for part in per_day(rows, DAYS):
        new = {(r["patient"], r["region"]) for r in part if r["patient"] is not None and r["region"] in REGIONS} - seen
        expected.append([[sum(1 for _, region in new if region == name) for name in REGIONS]])
        seen |= new
    assert fed(tmp_path, question, rows) == expected


@pytest.mark.parametrize("seed", range(2))
def test_different_values_are_counted_when_they_are_first_seen(tmp_path: Path, seed: int) -> None:
    rows = odd_rows(random.Random(seed), 40, days=DAYS, people=6)
    question = daily(asks=(lw.count_distinct("patient"),))
    seen: set[tuple[Any, str]] = set()
    expected = []
    for part in per_day(rows, DAYS):
        new = {(r["patient"], r["region"]) for r in part if r["patient"] is not None and r["region"] in REGIONS} - seen
        expected.append([[sum(1 for _, region in new if region == name) for name in REGIONS]])
        seen |= new
    assert fed(tmp_path, question, rows) == expected


# ------------------------------------------------------------------------------------------------------ neighbours


def moved(first: Any, second: Any) -> list[list[list[int]]]:
    """How far two streams are apart: for each statistic, in each step, by group."""
    return [
        [[b - a for a, b in zip(one[place], two[place], strict=True)] for one, two in zip(first, second, strict=True)]
        for place in range(len(first[0]))
    ]


@pytest.mark.parametrize("seed", few(range(20), stays=4))
def test_one_event_moves_one_step_by_no_more_than_is_paid_for(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    rows = odd_rows(dice, 30, days=DAYS, people=3)
    question = daily(asks=(lw.count(), lw.sum("cost"), lw.count_distinct("patient")))
    stream = opened(tmp_path / "price", question)
    whole = fed(tmp_path / "a", question, rows)
    for place in dice.sample(range(len(rows)), 6):
        fewer = fed(tmp_path / f"b{place}", question, rows[:place] + rows[place + 1 :])
        for item, steps in zip(stream.items, moved(fewer, whole), strict=True):
            active = [step for step in steps if any(step)]
            assert len(active) <= item.counter.active_steps
            for step in active:
                scaled = [abs(item.fed([value])[0]) for value in step]
                assert sum(scaled) <= item.counter.sensitivity


@pytest.mark.parametrize("seed", few(range(20), stays=4))
@pytest.mark.parametrize(("active", "separation"), [(2, 1), (2, 3)])
def test_one_person_moves_few_steps_by_no_more_than_is_paid_for(
    tmp_path: Path, seed: int, active: int, separation: int
) -> None:
    dice = random.Random(seed)
    rows = odd_rows(dice, 60, days=DAYS, people=3)
    limits = dice.choice(
        [{"max_rows_per_unit": 2}, {"max_groups_per_unit": 2, "max_rows_per_group": 1}, {"max_rows_per_group": 3}]
    )
    asks = (lw.count(), lw.mean("cost"), lw.units())
    question = daily("patient", asks=asks, active_steps=active, separation=separation, **limits)
    stream = opened(tmp_path / "price", question, rho=1)
    whole = fed(tmp_path / "a", question, rows)
    for person in range(3):
        fewer = fed(tmp_path / f"b{person}", question, [row for row in rows if row["patient"] != person])
        for item, appears, steps in zip(stream.items, stream.definition.appearing, moved(fewer, whole), strict=True):
            days = [day for day, step in enumerate(steps) if any(step)]
            changes = [[abs(item.fed([value])[0]) for value in steps[day]] for day in days]
            if appears:  # each group once, whenever that is
                together = [sum(column) for column in zip(*changes, strict=True)] or [0]
                assert sum(value**2 for value in together) <= float(item.counter.sensitivity) ** 2 * (1 + 1e-9)
                continue
            assert len(days) <= item.counter.active_steps
            assert all(b - a >= item.counter.separation for a, b in pairwise(days))
            for change in changes:
                assert sum(value**2 for value in change) <= float(item.counter.sensitivity) ** 2 * (1 + 1e-9)


def test_somebody_over_the_limit_is_left_out_without_a_word(tmp_path: Path) -> None:
    import datetime as dt

    def visits(person: int, days: range) -> list[Row]:
        start = dt.datetime(2026, 2, 26)
        return [{"patient": person, "region": "N", "cost": 1.0, "at": start + dt.timedelta(days=day)} for day in days]

    question = daily("patient", asks=(lw.count(),), active_steps=2)
    shapes = []
    for rows in (visits(1, range(DAYS)), visits(1, range(2)), []):
        stream = opened(tmp_path / str(len(rows)), question)
        stream.observe(rows, step=DAYS)
        answer = stream.history()
        shapes.append(([(c.name, c.kind, c.type, len(c.values), c.note) for c in answer.columns], answer.notes))
    assert shapes[0] == shapes[1] == shapes[2]
