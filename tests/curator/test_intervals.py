"""An estimate is in its own interval, whatever the noise was, and the interval is about the rows that count."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest

import lapwing as lw
from lapwing.curator.estimates import Confidence

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


@pytest.mark.parametrize("bits", [2, 8, 34, 40])
def test_no_noise_takes_an_estimate_out_of_its_interval(bits: int, table: lw.PrivateTable) -> None:
    draw = random.Random(bits)
    for bound in table.agg(*ALL).bounds:
        assert bound.finish is not None
        for _ in range(500):
            numbers = [draw.randrange(-3, 9), *(draw.randrange(-(1 << bits), 1 << bits) for _ in bound.statistics[1:])]
            widths = [draw.choice((0, 1, 5)), *(draw.randrange(1 << bits) for _ in bound.statistics[1:])]
            estimate = bound.finish(numbers, widths, Confidence(0.95, 1))
            for low, high in (estimate.noise, estimate.interval or estimate.noise):
                assert low <= estimate.value <= high, (bound.aggregate, numbers, widths, estimate)
