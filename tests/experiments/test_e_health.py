"""The numbers of the experiment about disease counts over place and time."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from scipy.stats import chi2, norm

from lapwing.datasets import REGIONS, chickenpox, chickenpox_file
from lapwing.experiments import e_health
from lapwing.experiments.experiment import Row, column, select

FALSE_ALARM = 1e-6
REPEATS = 3


@cache
def rows() -> list[Row]:
    return e_health.compute(repeats=REPEATS)


def test_the_data_are_the_published_counts_and_say_whose_they_are() -> None:
    cases = chickenpox()
    assert len(cases) == 21
    assert [cases[county][-1] for county in ("Budapest", "Pest", "Zala")] == [259, 256, 25]
    assert sum(sum(cases[county]) for below in REGIONS.values() for county in below) == 405_519
    assert chickenpox_file().stat().st_size < 20_000
    notice = chickenpox_file().with_name("chickenpox.LICENSE.txt").read_text(encoding="utf-8")
    assert all(words in notice for words in ("Rozemberczki", "10.24432/C5103B", "CC BY 4.0"))


def test_trees_hold_every_county_and_week_once() -> None:
    weeks, cases = e_health.table()
    assert cases.shape == (20, 522)
    assert e_health.place_tree().sizes == (1, 7, 20)
    assert e_health.time_tree(weeks).sizes == (1, 10, 40, 522)


def test_independent_noise_and_sums_are_as_far_off_as_theory_says() -> None:
    for row in select(rows(), kind="error", method=e_health.ALONE):
        numbers = row["numbers"] * REPEATS
        squares = (row["error"] / row["theory"]) ** 2 * numbers
        assert chi2.sf(squares, numbers) > FALSE_ALARM
        assert chi2.cdf(squares, numbers) > FALSE_ALARM


def test_consistent_numbers_are_better_on_every_level_and_rounding_costs_little() -> None:
    alone, consistent, whole = (
        select(rows(), kind="error", method=method) for method in (e_health.ALONE, e_health.CONSISTENT, e_health.WHOLE)
    )
    assert all(mine["theory"] < theirs["theory"] for mine, theirs in zip(consistent, alone, strict=True))
    many = [place for place, row in enumerate(whole) if row["numbers"] >= 40]
    assert all(whole[place]["error"] < 1.25 * consistent[place]["theory"] for place in many)
    for row in consistent:  # errors of neighbours are correlated: a bound, not a law
        assert row["error"] < row["theory"] * (1 + 6 / math.sqrt(row["numbers"] * REPEATS / 10))


def test_only_consistent_numbers_add_up_and_whole_ones_are_not_negative() -> None:
    sums = {row["method"]: row for row in select(rows(), kind="sums")}
    assert sums[e_health.ALONE]["apart"] > 20
    assert sums[e_health.ALONE]["negative"] > 0.01
    assert sums[e_health.WHOLE]["apart"] == sums[e_health.WHOLE]["negative"] == 0
    assert sums[e_health.CONSISTENT]["apart"] < 1e-6


def test_intervals_hold_for_nearly_all_numbers() -> None:
    coverage = select(rows(), kind="coverage")[0]
    spread = math.sqrt(0.05 * 0.95 / coverage["numbers"]) * 3  # numbers share noise: as if there were a ninth of them
    assert coverage["covered"] > 0.95 - spread * norm.isf(FALSE_ALARM)


def test_the_published_table_adds_up_over_regions_and_quarters() -> None:
    published = {(row["place"], row["time"]): row["value"] for row in select(rows(), kind="published")}
    for name in (*REGIONS, "Hungary"):
        assert sum(published[name, f"Q{quarter}"] for quarter in range(1, 5)) == published[name, "2014"]
    for time in ("Q1", "Q2", "Q3", "Q4", "2014"):
        assert sum(published[name, time] for name in REGIONS) == published["Hungary", time]
    for row in select(rows(), kind="published"):
        assert row["low"] <= row["value"] <= row["high"]
    weeks = select(rows(), kind="published", place=e_health.COUNTY)
    assert len(weeks) == 52
    assert np.min(column(weeks, "value")) >= 0
