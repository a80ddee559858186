"""What the figures show is what theory says, at sizes that take seconds."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

from lapwing.crowd.fragments import SequenceFragmentPuzzle
from lapwing.experiments import bloom, discovery, growth, percentages, sketches, trust
from lapwing.experiments.experiment import Row, column, select, slope
from lapwing.privacy.shuffling import clones

FALSE_ALARM = 1e-6
FAR = float(stats.norm.isf(FALSE_ALARM / 2))


def assert_slope(many: list[Row], power: float, repeats: int, kurtosis: float = 3.0) -> None:
    """The logarithm of a measured root mean square has the standard deviation √((κ−1)/4R)."""
    logs = np.log(column(many, "people"))
    deviation = math.sqrt((kurtosis - 1) / (4 * repeats) / ((logs - logs.mean()) ** 2).sum())
    assert abs(slope(column(many, "people"), column(many, "error")) - power) < FAR * deviation


def assert_errors(rows: list[Row], repeats: int) -> None:
    """R·(measured/theory)² is chi-square with R degrees of freedom where the noise is normal."""
    for row in rows:
        law = stats.chi2(repeats)
        square = repeats * (row["error"] / row["theory"]) ** 2
        assert min(law.cdf(square), law.sf(square)) > FALSE_ALARM / len(rows), row


@pytest.mark.sweep
def test_the_error_of_randomized_response_falls_like_one_over_the_root_of_n() -> None:
    many = select(percentages.response(population=1000, repeats=100), series="many surveys")
    assert_errors([row for row in many if row["people"] >= 50], 100)
    assert_slope(many, -0.5, 100)


def test_randomized_response_of_one_survey_stays_in_its_band() -> None:
    one = select(percentages.response(population=3000, repeats=1), series="one survey")
    assert [row["people"] for row in one] == list(range(5, 3001, 5))
    outside = sum(abs(row["estimate"] - 0.2) > 2 * row["theory"] for row in one)
    assert stats.binom.sf(outside - 1, len(one), 0.06) > FALSE_ALARM  # 4.6 % of a normal law; small n are coarser
    assert one[-1]["theory"] ** 2 * 3000 == pytest.approx(0.75)


@pytest.mark.sweep
def test_the_error_of_the_laplace_mechanism_falls_like_one_over_n() -> None:
    many = select(percentages.laplace(repeats=200), series="many surveys")
    assert_slope(many, -1.0, 200, kurtosis=6.1)
    response = select(percentages.response(repeats=1), series="many surveys")
    assert all(ours["theory"] < theirs["theory"] for ours, theirs in zip(many, response, strict=True))


@cache
def trusted() -> list[Row]:
    return trust.compute(sizes=(1_000, 10_000, 100_000), repeats=40)


@pytest.mark.sweep
def test_a_curator_beats_a_shuffler_who_beats_nobody() -> None:
    for people in (1_000, 10_000, 100_000):
        local, shuffler, curator = (select(trusted(), trusted=model, people=people)[0] for model in trust.MODELS)
        assert curator["theory"] < shuffler["theory"] < local["theory"]
        assert curator["error"] < shuffler["error"] < local["error"]


@pytest.mark.sweep
def test_the_errors_of_all_three_are_what_theory_says() -> None:
    assert_errors([row for row in trusted() if row["trusted"] != "a curator"], 40)
    curator = select(trusted(), trusted="a curator")
    assert_slope(curator, -1.0, 40, kurtosis=6.1)
    assert_slope(select(trusted(), trusted="nobody is trusted"), -0.5, 40)
    theory = select(trusted(), trusted="a shuffler")
    assert slope(column(theory, "people"), column(theory, "theory")) < -0.9


@pytest.mark.sweep
def test_shuffled_reports_keep_the_promise_of_the_figure() -> None:
    for row in select(trusted(), trusted="a shuffler"):
        local, people = row["epsilon_of_a_report"], row["people"]
        assert clones(local, people, trust.DELTA) <= trust.EPSILON * (1 + 1e-6)
        assert clones(local * 1.02, people, trust.DELTA) > trust.EPSILON


@cache
def sketched() -> list[Row]:
    return sketches.compute(people=20_000, repeats=2)


@pytest.mark.sweep
def test_measured_errors_of_sketches_agree_with_the_formulas_of_the_paper() -> None:
    for row in sketched():
        few = row["functions"] < 16 or row["width"] < 64  # few cells: the same collisions in many estimates
        assert row["error"] / row["theory"] == pytest.approx(1, abs=0.45 if few else 0.08), row


@pytest.mark.sweep
def test_more_epsilon_width_or_functions_never_make_a_sketch_worse() -> None:
    for name in sketches.SKETCHES:
        for varied in sketches.GRID:
            theory = column(select(sketched(), sketch=name, varied=varied), "theory")
            assert theory == sorted(theory, reverse=True)
            assert theory[0] > 1.1 * theory[-1]


@pytest.mark.sweep
def test_hadamard_sketches_pay_for_short_reports_with_a_larger_error() -> None:
    for epsilon in (2, 4, 8):
        cms, hcms = (select(sketched(), sketch=s, varied="epsilon", epsilon=epsilon)[0] for s in ("CMS", "HCMS"))
        assert hcms["error"] > cms["error"]
        assert (cms["bits_per_report"], hcms["bits_per_report"]) == (264, 17)


@cache
def discovered() -> list[Row]:
    small = SequenceFragmentPuzzle(
        epsilon_fragments=6, epsilon_strings=6, functions=128, width=256, length=6, pieces=16
    )
    return discovery.compute(sizes=(20_000, 60_000), puzzle=small)


@pytest.mark.sweep
def test_the_puzzle_finds_every_frequent_word_and_no_other() -> None:
    for people in (20_000, 60_000):
        rows = select(discovered(), people=people)
        assert [row["word"] for row in rows if row["found"] and row["rank"] is None] == []
        assert all(row["found"] for row in rows if row["share"] > 0.03)
    assert discovery.limit(discovered(), 60_000) < discovery.limit(discovered(), 20_000)


@pytest.mark.sweep
def test_what_the_puzzle_found_is_estimated_within_its_error() -> None:
    found = [row for row in discovered() if row["found"]]
    assert len(found) > 10
    far = float(stats.norm.isf(FALSE_ALARM / 2 / len(found)))
    assert all(abs(row["estimate"] - row["share"]) < far * row["standard_error"] for row in found)


@pytest.mark.sweep
def test_basic_rappor_shows_the_bell_within_its_errors() -> None:
    for people in (5_000, 50_000):
        rows = bloom.normal(sizes=(people,))
        squares = sum(((row["estimate"] - row["share"]) / row["standard_error"]) ** 2 for row in rows)
        law = stats.chi2(len(rows))
        assert min(law.cdf(squares), law.sf(squares)) > FALSE_ALARM
        assert sum(row["share"] for row in rows) == pytest.approx(1)


@pytest.mark.sweep
def test_rappor_finds_frequent_strings_and_none_that_nobody_has() -> None:
    rows = bloom.exponential(people=300_000)
    assert len(rows) == bloom.STRINGS + bloom.UNHEARD
    assert all(row["found"] for row in rows if row["share"] > 0.045)
    assert not any(row["found"] for row in rows if row["share"] == 0)
    rare = [row for row in rows if 0 < row["share"] < 0.001]
    assert sum(row["found"] for row in rare) <= len(rare) / 10


@pytest.mark.sweep
def test_the_bad_apple_is_mostly_found_and_estimated_at_its_share() -> None:
    rows = bloom.apple(repeats=6)
    bad = select(rows, string=bloom.APPLE)
    assert {row["people"] for row in rows} == {186_792}
    assert all(row["share"] == pytest.approx(0.026, abs=1e-5) for row in bad)
    assert all(row["standard_error"] < 0.01 for row in bad)
    found = [row for row in bad if row["found"]]
    assert len(found) >= 3
    assert all(abs(row["estimate"] - row["share"]) < FAR * row["standard_error"] for row in found)


@pytest.mark.sweep
def test_few_rare_processes_pass_for_common_ones() -> None:
    discovered = [row for row in bloom.apple(repeats=6) if row["found"]]
    rare = [row for row in discovered if row["share"] < 0.01]
    assert len(discovered) > 40
    assert len(rare) < 0.2 * len(discovered)


@pytest.mark.sweep
def test_growth_counts_every_report_and_keeps_little_in_memory() -> None:
    rows = growth.compute(sizes=(1_000, 400_000), repeats=1)
    assert {row["reports"] for row in rows} == {1_000, 400_000}
    assert len(rows) == 2 * len(growth.protocols())
    assert all(row["megabytes_held"] < 20 for row in rows)


def test_a_linear_cost_has_the_power_one() -> None:
    def timed(seconds: Any) -> dict[str, float]:
        rows = [{"protocol": "p", "reports": n, "seconds": seconds(n)} for n in (10_000, 10**6, 10**7, 10**8)]
        return growth.powers(rows)

    assert timed(lambda n: 3e-8 * n if n > 10_000 else 1.0) == {"p": pytest.approx(1)}
    assert timed(lambda n: 1e-12 * n**2) == {"p": pytest.approx(2)}
