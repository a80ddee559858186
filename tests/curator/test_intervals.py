"""An estimate is in its own interval, whatever the noise was, and the interval is about the rows that count."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest
from cases import together

import lapwing as lw
from lapwing.curator.aggregates.estimates import Confidence

ALL = [
    lw.count(),
    lw.count("x"),
    lw.units(),
    lw.count_distinct("x"),
    lw.sum("x"),
    lw.mean("x"),
    lw.variance("x"),
    lw.std("x"),
    lw.covariance("x", "y"),
    lw.correlation("x", "y"),
]
BOUNDS = {"x": (-5, 20), "y": (0, 1)}


def assert_inside(answer: lw.Answer) -> None:
    for column in answer.columns:
        for spans in (column.noise, column.interval):
            for value, span in zip(column.values, spans or (), strict=False):
                assert span is None or span[0] <= value <= span[1], (column.name, value, span)


@pytest.fixture(scope="module")
def table() -> lw.PrivateTable:
    rows = {"who": ["1", "2", "2", "3"], "x": [3.25, None, 99.0, -5.0], "y": [0.5, 1.0, 0.0, None]}
    return lw.open(pl.DataFrame(rows), unit="who", bounds=BOUNDS)


@pytest.mark.parametrize("spend", [{"epsilon": 0.3}, {"epsilon": 4}, {"rho": 0.1}], ids=str)
def test_every_estimate_of_a_tiny_table_is_in_its_interval(spend: dict[str, Any], table: lw.PrivateTable) -> None:
    for _ in range(5):
        assert_inside(table.agg(*ALL).release(**spend))
        assert_inside(table.group_by(high="x > 1 AND y > 0").agg(*ALL).release(**spend))


@together("bits", [2, 8, 34, 40])
def test_no_noise_takes_an_estimate_out_of_its_interval(bits: int, table: lw.PrivateTable) -> None:
    draw = random.Random(bits)
    for bound in table.agg(*ALL).bounds:
        for _ in range(500):
            numbers = [draw.randrange(-3, 9), *(draw.randrange(-(1 << bits), 1 << bits) for _ in bound.statistics[1:])]
            widths = [draw.choice((0, 1, 5)), *(draw.randrange(1 << bits) for _ in bound.statistics[1:])]
            estimate = bound.aggregate.estimate(bound, numbers, widths, Confidence(0.95, 1))
            for low, high in (estimate.noise, estimate.interval or estimate.noise):
                assert low <= estimate.value <= high, (bound.aggregate, numbers, widths, estimate)


def lines(shown: object) -> list[str]:
    return [" ".join(line.split()) for line in str(shown).splitlines()]


def test_the_first_line_says_which_rows_an_answer_is_about(table: lw.PrivateTable) -> None:
    grouped = table.group_by(high="x > 1 AND y > 0")
    assert lines(table.agg(lw.count()).release(epsilon=1))[0] == "Rows used: one per who"
    assert lines(grouped.agg(lw.count()).release(epsilon=1))[0] == "Rows used: one per who"
    many = table.bounded(max_groups_per_unit=2, max_rows_per_group=3).group_by(high="x > 1 AND y > 0")
    answer = many.agg(lw.mean("x")).release(epsilon=1)
    assert lines(answer)[0] == "Rows used: up to 3 per who and group, in up to 2 groups"
    assert "Rows used: up to 3 per who and group, in up to 2 groups" in answer._repr_html_()
    assert "Rows used: up to 3 per who and group" in answer.explain().text
    assert lw.Answer.from_json(answer.to_json()) == answer
    assert lines(table.agg(lw.units()).release(epsilon=1))[0] == "units", "every unit counts, whatever rows it has"
    alone = lw.open(pl.DataFrame({"x": [1.0]}), unit=lw.EACH_ROW).agg(lw.count()).release(epsilon=1)
    assert lines(alone)[0] == "count"
    assert "over the rows used" not in str(alone)


def test_a_count_of_rows_of_which_one_per_unit_counts_is_called_that(table: lw.PrivateTable) -> None:
    """4,045 ± 3 was printed for 336,776 flights of 4,044 planes."""
    warned = "count: each who counts once, not once for each row. To count more rows, raise max_rows_per_unit"
    different = "for the number of different whos, ask for lw.units(), or in SQL for COUNT(DISTINCT who)"
    for notes in (table.agg(lw.count()).quote(epsilon=1).notes, table.agg(lw.count()).release(epsilon=1).notes):
        assert warned in notes
        assert different not in notes, "that is the number of different whos"
    each = table.bounded(max_groups_per_unit=2, max_rows_per_group=1).group_by(high="x > 1").agg(lw.count())
    of_each = (
        "count: each who counts once in each group, not once for each row. To count more rows of a who in a group, "
    )
    assert {f"{of_each}raise max_rows_per_group", different} <= set(each.quote(epsilon=1).notes)
    for query in (table.agg(lw.units()), table.agg(lw.mean("x")), table.bounded(max_rows_per_group=5).agg(lw.count())):
        assert not any("not once for each row" in note for note in query.quote(epsilon=1).notes)


@pytest.mark.parametrize(("bounds", "sign"), [((0, 120), 1), ((-120, 0), -1)])
def test_an_interval_of_a_sum_ends_at_0_where_no_sum_is_beyond(bounds: tuple[int, int], sign: int) -> None:
    """A stream said "−18,000 ± 15,000" for values between 0 and 120."""
    frame = pl.DataFrame({"who": list(range(20)), "x": [sign] * 20})
    opened = lw.open(frame, unit="who", bounds={"x": bounds})
    for _ in range(40):
        answer = opened.agg(lw.sum("x"), lw.mean("x")).release(epsilon=0.01)
        alone = opened.agg(lw.sum("x")).release(epsilon=0.01)
        for column in (answer.table.column("sum_x"), alone.table.column("sum_x")):
            assert column.noise is not None
            [(low, high)], [value] = column.noise, column.values
            assert low <= value <= high
            inner, outer = sorted((sign * low, sign * high))
            assert inner >= 0 or inner == sign * value, "beyond 0 there is only the noisy value itself"
            assert outer >= 0
