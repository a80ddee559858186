"""What a stream shows: totals, windows, histories, the largest groups; bands that hold as often as they say."""

from __future__ import annotations

import datetime as dt
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.text import Text
from scipy.stats import binom
from streaming import REGIONS, long_after, opened, table

import lapwing as lw
from lapwing.errors import InvalidCall, InvalidParameter
from lapwing.noise import Reproducible

FALSE_ALARM = 1e-6
STEPS = 12


def counting(*asks: Any, **options: Any) -> lw.StreamQuestion:
    return table().stream(*(asks or (lw.count(),)), by="region", every="step", steps=STEPS, **options)


def visits(north: int, south: int, cost: float = 5.0) -> list[dict[str, Any]]:
    return [
        {"region": region, "cost": cost}
        for region, count in zip(REGIONS, (north, south), strict=True)
        for _ in range(count)
    ]


def missed(answer: lw.Answer, exact: list[float]) -> int:
    noise = answer.table.column("sum_cost").noise
    assert noise is not None
    return sum(not (span is not None and span[0] <= value <= span[1]) for span, value in zip(noise, exact, strict=True))


@pytest.mark.parametrize("budget", [{"rho": 0.5}, {"epsilon": 2}])
def test_bands_of_totals_and_windows_hold_as_often_as_they_say(tmp_path: Path, budget: dict[str, Any]) -> None:
    """Of sums over nothing: the noise does not depend on what it is added to, and engines need not be asked."""
    question, runs = counting(lw.sum("cost")), 80
    totals = windows = 0
    for run in range(runs):  # one number of each run, for those of one run depend on each other
        stream = opened(tmp_path / str(run), question, **budget)
        stream.observe(step=STEPS, entropy=Reproducible(run))
        totals += missed(stream.at(7), [0.0, 0.0])
        windows += missed(stream.between(5, 9), [0.0, 0.0])
    most = int(binom.isf(FALSE_ALARM, 2 * runs, 0.05))  # two groups, whose noise is independent
    assert totals <= most
    assert windows <= most
    if "rho" in budget:  # Gaussian bands are exact, and not only safe
        assert totals + windows > 0


def test_windows_are_differences_of_totals(tmp_path: Path) -> None:
    stream = opened(tmp_path, counting(), rho=10_000)
    for step in range(1, STEPS + 1):
        stream.observe(visits(step, 2 * step))
    assert stream.estimate()["count"] == (78, 156)
    assert stream.window(1)["count"] == (12, 24)
    assert stream.window(3, until=5)["count"] == (12, 24)
    assert stream.between(2, 4)["count"] == (9, 18)
    assert stream.window(1000)["count"] == (78, 156)
    assert stream.history()["count"][:4] == (1, 2, 3, 6)
    assert stream.history(window=2)["count"][-2:] == (23, 46)
    assert stream.top(1)["region"] == ("S",)
    assert stream.at(3).provenance["step"] == 3
    with pytest.raises(InvalidParameter, match="earlier step first"):
        stream.between(4, 2)


def test_means_are_made_of_sums_that_go_on(tmp_path: Path) -> None:
    stream = opened(tmp_path, counting(lw.mean("cost")), rho=10_000)
    stream.observe(visits(100, 0, cost=2))
    stream.observe(visits(300, 0, cost=4))
    assert stream.estimate()["mean_cost"][0] == pytest.approx(3.5, abs=0.05)
    assert stream.window(1)["mean_cost"][0] == pytest.approx(4, abs=0.05)


@pytest.mark.parametrize(("limits", "separation"), [({}, 1), ({"max_rows_per_group": 2}, 1), ({}, 2)])
def test_people_who_come_back_are_no_larger_sample(tmp_path: Path, limits: dict[str, int], separation: int) -> None:
    """The interval for the population is about people: the same ones on four days say as much as on one."""
    question = table("patient", **limits).stream(
        lw.mean("cost"), every="step", steps=4, active_steps=4, separation=separation
    )
    stream = opened(tmp_path, question, epsilon=10_000)
    visits = [{"patient": person, "cost": 10.0 * (person % 2)} for person in range(100)]
    for _ in range(4):
        stream.observe(visits)

    def width(answer: lw.Answer) -> float:
        [(low, high)] = answer.table.column("mean_cost").interval  # type: ignore[misc]
        return high - low

    once = width(stream.at(1))
    assert all(width(answer) > 0.95 * once for answer in (stream.at(4), stream.window(2), stream.between(2, 4)))
    assert width(stream.at(4)) < 1.05 * once


def test_bands_of_a_quote_are_those_of_the_answers(tmp_path: Path) -> None:
    question = counting(lw.count())
    quoted = {entry.output: entry.error for entry in question.quote(rho=0.1).expected}
    stream = opened(tmp_path, question, rho=0.1)
    stream.observe(visits(10_000, 10_000), step=STEPS)
    [low, high] = stream.estimate().table.column("count").noise[0]  # type: ignore[index,misc]
    assert (high - low) / 2 == pytest.approx(quoted[f"count after {STEPS} steps"])


def test_a_history_is_an_answer_with_lines_and_frames(tmp_path: Path) -> None:
    question = table().stream(lw.count(), by="region", every="month", steps=12, start="2026-01-01", time="at")
    stream = opened(tmp_path, question)
    rows = [{"region": "N", "at": dt.datetime(2026, month, 28)} for month in (1, 2, 2)]
    stream.observe(rows, step=3)
    history = stream.history()
    assert [column.name for column in history.columns] == ["month", "region", "count"]
    assert history["month"][::2] == (dt.date(2026, 1, 1), dt.date(2026, 2, 1), dt.date(2026, 3, 1))
    assert lw.Answer.from_json(history.to_json()).columns == history.columns
    assert list(history.to_frame().columns) == ["month", "region", "count", "count_low", "count_high"]
    figure = history.plot(tmp_path / "lines.png")
    assert (tmp_path / "lines.png").stat().st_size > 1000
    assert len(figure.axes[0].lines) >= 2  # one line for each region
    assert len(figure.axes[0].collections) == 2  # and one band
    assert "month" in stream.explain().text or "region" in stream.explain().text


def test_a_picture_names_the_largest_groups_and_no_name_lies_on_another(tmp_path: Path) -> None:
    keys = [f"town {place}" for place in range(9)]
    question = table().stream(lw.count(), by={"region": keys}, every="step", steps=3)
    stream = opened(tmp_path, question, epsilon=50)
    stream.observe([{"region": name} for place, name in enumerate(keys) for _ in range(1000 + 40 * place)])
    figure = stream.history().plot(tmp_path / "lines.png")
    figure.draw_without_rendering()
    names = figure.axes[0].texts
    assert {name.get_text() for name in names} == set(keys[-5:])
    boxes = sorted((Text.get_window_extent(name) for name in names), key=lambda box: box.y0)  # without their leaders
    assert all(high.y0 - low.y0 > 0.8 * low.height for low, high in pairwise(boxes))
    assert "the 5 largest of 9 groups" in " ".join(text.get_text() for text in figure.texts).replace("\n", " ")


def test_rows_come_in_every_form_that_tables_have(tmp_path: Path) -> None:
    import duckdb
    import pandas as pd

    rows = [{"region": "N", "cost": 1.5}, {"region": "S", "cost": None}, {"region": "S", "cost": 0.25}]
    frame = pd.DataFrame(rows)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    with duckdb.connect(str(tmp_path / "rows.duckdb")) as connection:
        connection.execute("CREATE TABLE rows AS SELECT * FROM frame")
    memory = duckdb.connect()
    arrays = {"region": np.array(["N", "S", "S"], dtype=object), "cost": np.array([1.5, np.nan, 0.25])}
    forms: list[tuple[Any, dict[str, Any]]] = [
        (rows, {}), (frame, {}), (tmp_path / "rows.csv", {}), (str(tmp_path / "rows.parquet"), {}), (arrays, {}),
        (tmp_path / "rows.duckdb", {"table": "rows"}), (memory.sql("SELECT * FROM frame"), {}),
        (duckdb.connect().execute("SELECT cost, region FROM frame"), {}),
    ]  # fmt: skip
    stream = opened(tmp_path, counting(lw.count(), lw.sum("cost")), rho=10_000_000)
    for place, (form, options) in enumerate(forms, start=1):
        stream.observe(form, **options)
        assert stream.window(1)["count"] == (1, 2), place
        assert stream.window(1)["sum_cost"] == pytest.approx((1.5, 0.25), abs=0.1)
    with pytest.raises(InvalidParameter, match="is missing, and the stream reads"):
        stream.observe(frame.rename(columns={"cost": "price"}))
    for result in (
        memory.sql("SELECT region FROM frame"),
        duckdb.connect().execute("SELECT region FROM frame LIMIT 0"),
    ):
        with pytest.raises(InvalidParameter, match=r"cost.*is missing"):
            stream.observe(result)


def test_a_watermark_reads_every_row_once(tmp_path: Path) -> None:
    import duckdb

    log = duckdb.connect()
    log.execute("CREATE TABLE log (id BIGINT, region TEXT)")
    source = lw.open(log, table="log", unit=lw.EACH_ROW, keys={"region": REGIONS})
    stream = opened(tmp_path, source.stream(lw.count(), by="region", every="step", steps=5, watermark="id"), rho=10_000)
    for first, count in ((0, 3), (3, 0), (3, 2)):
        log.execute(f"INSERT INTO log SELECT {first} + i, 'N' FROM range({count}) AS r(i)")
        stream.observe(log, table="log")
        assert stream.window(1)["count"] == (count, 0)
    assert stream.position == 4
    assert stream.estimate()["count"] == (5, 0)


def test_late_rows_count_in_the_next_step_where_that_was_declared(tmp_path: Path) -> None:
    for late, expected in (("drop", (1, 0)), ("next", (2, 0))):
        question = table().stream(
            lw.count(),
            by="region",
            every="day",
            steps=3,
            start="2026-02-26",
            time="at",
            late=late,  # type: ignore[arg-type]
        )
        stream = opened(tmp_path / late, question, rho=10_000)
        stream.add([{"region": "N", "at": "2026-02-26 10:00"}])
        stream.observe()
        stream.add([{"region": "N", "at": "2026-02-26 23:59:59"}, {"region": "N", "at": "2026-02-27"}])
        stream.observe()
        assert stream.window(1)["count"] == expected


def test_late_rows_that_count_later_must_come_once(tmp_path: Path) -> None:
    """A growing file has the rows of closed steps too: each would count again in every step."""
    question = table().stream(lw.count(), every="day", steps=3, start="2026-02-26", time="at", late="next")
    stream = opened(tmp_path, question, rho=10_000)
    grown = [{"at": "2026-02-26 10:00"}]
    with pytest.raises(InvalidCall, match=r"stream\.add.*watermark="):
        stream.observe(grown)
    assert stream.closed == 0
    stream.observe()  # without rows there is nothing to count twice
    assert stream.observe(grown, step=1) == stream.at(1)  # which is closed: rows are not looked at


@pytest.mark.parametrize(
    ("column", "every", "marks", "ahead"),
    [
        ("TIMESTAMP", "day", ["2026-02-26 10:00", "2026-02-27 10:00", "2026-02-28 23:59:59"], "2099-01-01"),
        ("DATE", "day", ["2026-02-26", "2026-02-27", "2026-02-28"], "2099-01-01"),
        ("TIMESTAMP", "step", ["2026-02-26 10:00", "2026-02-27 10:00", "2026-02-28 23:59:59"], "2099-01-01"),
        ("DATE", "step", ["2026-02-26", "2026-02-27", "2026-02-28"], "2099-01-01"),
        ("BIGINT", "step", ["1", "2", "3"], str(1 << 60)),
    ],
)
def test_a_mark_far_ahead_hides_nobody_elses_rows(
    tmp_path: Path, column: str, every: Any, marks: list[str], ahead: str
) -> None:
    import duckdb

    log = duckdb.connect()
    log.execute(f"CREATE TABLE log (mark {column})")
    bounds: Any = {"mark": (0, 10**6)} if column == "BIGINT" else {}
    source = lw.open(log, table="log", unit=lw.EACH_ROW, bounds=bounds)
    start = None if every == "step" else "2026-02-26"
    question = source.stream(lw.count(), every=every, steps=3, start=start, watermark="mark")
    clock = [dt.datetime(2026, 2, 26)]
    stream = opened(tmp_path, question, rho=10_000, clock=lambda: clock[0])
    log.execute(f"INSERT INTO log VALUES ('{ahead}')")
    for mark in marks:
        log.execute(f"INSERT INTO log VALUES ('{mark}')")
        clock[0] += dt.timedelta(days=1)
        stream.observe(log, table="log")
        assert stream.window(1)["count"] == (1,)


def test_up_to_which_moment_a_source_is_read_depends_on_no_row(tmp_path: Path) -> None:
    import duckdb

    places = []
    for rows in ([], ["2026-02-26 10:00"], ["2026-02-26 10:00", "2026-02-27 00:30", "2026-02-27 02:00"]):
        log = duckdb.connect()
        log.execute("CREATE TABLE log (mark TIMESTAMP)")
        for row in rows:
            log.execute(f"INSERT INTO log VALUES ('{row}')")
        question = lw.open(log, table="log", unit=lw.EACH_ROW).stream(
            lw.count(), every="day", steps=3, start="2026-02-26", watermark="mark", grace=dt.timedelta(hours=1)
        )
        stream = opened(tmp_path / str(len(rows)), question, rho=10_000)
        stream.observe(log, table="log")
        places.append(stream.position)
    assert places == [dt.datetime(2026, 2, 27, 0, 59, 59, 999999)] * 3
    assert stream.estimate()["count"] == (2,)  # the grace is part of what is read; the rest comes with the next day
    clock = dt.datetime(2026, 2, 25)
    question = lw.open(log, table="log", unit=lw.EACH_ROW).stream(lw.count(), every="step", steps=3, watermark="mark")
    stream = opened(tmp_path / "back", question, rho=10_000)
    stream.observe(log, table="log")
    back = lw.open_stream(tmp_path / "back" / "state.db", clock=lambda: clock)
    assert back.observe(log, table="log")["count"] == (3,)  # a clock that was put back reads nothing twice
    assert back.position == stream.position


def test_nothing_is_shown_before_the_first_step(tmp_path: Path) -> None:
    stream = opened(tmp_path, counting())
    for act in (stream.estimate, lambda: stream.window(2), stream.history, lambda: stream.top(1)):
        with pytest.raises(InvalidCall, match="no step is closed"):
            act()
    with pytest.raises(InvalidParameter, match="not closed yet"):
        stream.at(1)
    assert "ε" in stream.explain().text
    assert "0 closed" in repr(stream)
    assert lw.open_stream(tmp_path / "state.db", clock=long_after).left == STEPS
