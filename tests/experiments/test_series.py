"""Streams of real flights: counters, budgets in any w days, thresholds; what wins, and what does not."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from chance import FALSE_ALARM
from scipy import stats

from lapwing.experiments import continual, tops, windows
from lapwing.experiments.experiment import Row, select
from lapwing.experiments.flights import DAYS, HOURS, flights


@cache
def counted() -> list[Row]:
    return continual.compute(steps=(64, 1024), repeats=6, hours=1_000)


@cache
def budgets() -> list[Row]:
    return windows.compute(windows=(40,), steps=200, repeats=1)


@cache
def thresholds() -> list[Row]:
    return tops.compute(epsilons=(0.125, 1.0), steps=20_000, first=6_000, days=20, repeats=2)


def test_the_flights_are_those_of_2013() -> None:
    table = flights()
    assert len(table.day) == 336_776
    assert int(np.isnan(table.delay).sum()) == 8_255
    assert np.nanmax(table.delay) == 1_301
    assert (np.diff(table.hour) >= 0).all()
    assert table.by_destination().shape == (DAYS, 105)
    assert table.by_destination().sum() == len(table.day)
    assert len(table.per_hour()) == HOURS
    assert table.per_hour().sum() == 26_581


def test_the_lower_bound_is_the_nuclear_norm() -> None:
    for steps in (1, 7, 60):
        sums = np.tril(np.ones((steps, steps)))
        exact = np.linalg.norm(sums, "nuc") / steps / math.sqrt(2 * continual.RHO)
        assert continual.lower_bound(steps) == pytest.approx(exact)
    assert continual.lower_bound(1 << 16) == pytest.approx(4.232, abs=5e-4)


def test_counters_come_in_their_order_and_above_the_bound() -> None:
    ordered = (continual.BOUND, continual.ROOT, continual.HONAKER, continual.TREE, continual.FRESH, continual.ANEW)
    errors = [select(counted(), part="length", steps=1024, method=method)[0]["rms"] for method in ordered]
    assert errors == sorted(errors)
    assert errors[1] < 1.1 * errors[0]
    assert errors[2] == pytest.approx(1.94 * errors[0], rel=0.01)
    assert errors[3] == pytest.approx(2.55 * errors[0], rel=0.01)


def test_errors_on_flights_are_those_that_were_expected() -> None:
    for method in (continual.ANEW, continual.TREE, continual.HONAKER, continual.ROOT):
        [row] = select(counted(), part="flights", method=method)
        # Errors of one run hang together: as if no more than 10 of its 1,000 totals were independent.
        freedom = 6 * 10
        ratio = freedom * (row["measured"] / row["rms"]) ** 2
        assert stats.chi2.ppf(FALSE_ALARM / 2, freedom) < ratio < stats.chi2.isf(FALSE_ALARM / 2, freedom), row


def test_adaptive_budgets_win_where_many_counts_hardly_move_and_lose_with_one_count() -> None:
    def error(stream: str, kind: str) -> float:
        [row] = select(budgets(), stream=stream, mechanism=kind)
        return float(row["error"])

    for stream in (windows.SLOW, windows.JUMPS):
        assert error(stream, windows.UNIFORM) == pytest.approx(40, rel=0.05)
        assert error(stream, windows.DISTRIBUTION) < error(stream, windows.UNIFORM) / 3
    assert error(windows.ALONE, windows.DISTRIBUTION) > error(windows.ALONE, windows.UNIFORM)
    [row] = select(budgets(), stream=windows.FLIGHTS, mechanism=windows.DISTRIBUTION)
    assert row["constant"] < row["error"] < error(windows.FLIGHTS, windows.UNIFORM) / 2
    assert row["released"] < 0.2


def test_tops_is_far_better_than_noise_for_the_bound() -> None:
    def error(method: str, epsilon: float = 1.0) -> float:
        return float(select(thresholds(), part="curator", method=method, epsilon=epsilon)[0]["error"])

    assert error(tops.LAPLACE) > error(tops.BINARY) > error(tops.SIGNED) > 5 * error(tops.TOPS)
    assert error(tops.SIGNED, 0.125) > 3 * error(tops.TOPS, 0.125)
    [row] = select(thresholds(), part="curator", method=tops.TOPS, epsilon=1.0)
    assert 80 < row["threshold"] < 700


def test_topl_is_far_better_than_the_bound_at_an_epsilon_of_one_and_says_nothing_at_a_small_one() -> None:
    [good] = select(thresholds(), part="crowd", method=tops.TOPL, epsilon=1.0)
    [plain] = select(thresholds(), part="crowd", method=tops.HYBRID, epsilon=1.0)
    assert good["error"] < plain["error"] / 4
    assert good["error"] < good["nothing"]
    [poor] = select(thresholds(), part="crowd", method=tops.TOPL, epsilon=0.125)
    assert poor["error"] > 0.7 * poor["nothing"]
    assert "hardly better" in tops.tell(thresholds())
