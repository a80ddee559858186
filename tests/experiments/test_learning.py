"""What the figures of learning theory show is what its theorems promise."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from lapwing.experiments import learning
from lapwing.experiments.experiment import Experiment, Row, column, select
from lapwing.models import one_round_ceiling

FALSE_ALARM = 1e-6
SMALL: dict[str, dict[str, Any]] = {
    "occam": {"columns": 4, "sizes": (10, 40, 160), "repeats": 20},
    "parity": {"columns": 6, "sizes": (20, 60, 180), "widths": (4, 8), "repeats": 20},
    "masked-parity": {"widths": (4, 16), "sizes": (1_000, 30_000), "repeats": 10},
}
ALL = (learning.OCCAM, learning.PARITY, learning.MASKED_PARITY)


@cache
def rows_of(name: str) -> list[Row]:
    [experiment] = [one for one in ALL if one.name == name]
    return experiment.rows(**SMALL[name])


@pytest.fixture(params=ALL, ids=lambda experiment: experiment.name)
def experiment(request: pytest.FixtureRequest) -> Experiment:
    found: Experiment = request.param
    return found


def assert_kept(rows: list[Row], repeats: int) -> None:
    """A promise is a lower bound: so few successes would be rarer than a false alarm."""
    for row in rows:
        assert stats.binom.cdf(round(row["success"] * repeats), repeats, row["bound"]) > FALSE_ALARM / len(rows), row


@pytest.mark.sweep
def test_a_figure_and_its_page_are_written(experiment: Experiment, tmp_path: Path) -> None:
    picture, table, page = experiment.write(tmp_path, **SMALL[experiment.name])
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert table.stat().st_size > 100
    text = page.read_text(encoding="utf-8")
    assert experiment.source in text
    assert "nan" not in text


@pytest.mark.sweep
def test_numbers_come_out_the_same_again(experiment: Experiment) -> None:
    assert experiment.rows(**SMALL[experiment.name]) == rows_of(experiment.name)
    assert {type(value) for row in rows_of(experiment.name) for value in row.values()} <= {str, int, float}


@pytest.mark.sweep
def test_promises_are_kept_and_say_something() -> None:
    for experiment in (learning.OCCAM, learning.PARITY):
        rows = [row for row in rows_of(experiment.name) if "success" in row]
        assert_kept(rows, 20)
        assert max(column(rows, "bound")) > 0.9


def test_fewer_rows_are_promised_to_be_enough_with_less_privacy() -> None:
    for size in (40, 160):
        bounds = [row["bound"] for row in rows_of("occam") if row["rows"] == size]
        assert bounds == sorted(bounds, reverse=True)


@pytest.mark.sweep
def test_rows_for_a_parity_grow_like_the_number_of_columns() -> None:
    rows = learning.parity(widths=(8, 64), sizes=(), repeats=20)
    few, many = select(rows, panel="rows")
    assert few["rows"] <= few["bound"]
    assert many["rows"] <= many["bound"]
    assert many["rows"] < 16 * few["rows"]


@pytest.mark.sweep
def test_masked_parities_are_found_as_often_as_theory_says() -> None:
    rows = rows_of("masked-parity")
    for row in rows:
        hits, law = round(row["success"] * 10), stats.binom(10, row["theory"])
        assert min(law.cdf(hits), law.sf(hits - 1)) > FALSE_ALARM / len(rows), row


def test_a_second_round_is_worth_the_more_the_more_bits_there_are() -> None:
    def people(bits: int, asked: str) -> int:
        return next(2**k for k in range(6, 40) if learning.expected_success(bits, 2**k, asked) > 0.9)

    gaps = [people(bits, "one round") / people(bits, "two rounds") for bits in (4, 8, 16)]
    assert gaps == sorted(gaps)
    assert gaps[-1] > 30 * gaps[0]


def test_theory_of_one_round_stays_below_what_is_possible() -> None:
    for bits in (8, 16, 32):
        for people in (100, 10_000, 1_000_000):
            ceiling = one_round_ceiling(bits, people, epsilon=1)
            assert learning.expected_success(bits, people, "one round") <= ceiling
            assert math.isfinite(ceiling)
