"""What a count proves, without chance: limits against the binomial itself, and the reference values of power."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from cases import together
from chance import assert_share
from scipy import stats

from lapwing.adversary.intervals import (
    ceiling,
    epsilon_shown,
    lower_limit,
    power,
    quick_limits,
    samples_needed,
    upper_limit,
)
from lapwing.errors import InvalidParameter


@together("trials", [1, 7, 40])
@together("alpha", [0.1, 1e-3, 1e-6])
def test_a_limit_is_wrong_at_most_as_often_as_it_says(trials: int, alpha: float) -> None:
    counts = np.arange(trials + 1)
    low, high = (
        np.array([limit(hits, trials, alpha) for hits in counts.tolist()]) for limit in (lower_limit, upper_limit)
    )
    for p in np.linspace(0.001, 0.999, 333):
        chances = stats.binom.pmf(counts, trials, p)
        assert chances[low > p].sum() <= alpha * (1 + 1e-9)
        assert chances[high < p].sum() <= alpha * (1 + 1e-9)


@together("trials", [1, 2, 9, 30])
@together("alpha", [0.2, 1e-3, 1e-9])
def test_a_limit_keeps_its_promise_in_exact_arithmetic(trials: int, alpha: float) -> None:
    for hits in range(trials + 1):
        low, high = Fraction(lower_limit(hits, trials, alpha)), Fraction(upper_limit(hits, trials, alpha))
        if hits > 0:
            assert 0 < tail(hits, trials, low) <= Fraction(alpha)
            assert tail(hits, trials, low * (1 + Fraction(1, 10**7))) > Fraction(alpha), "needlessly far out"
        if hits < trials:
            assert tail(trials - hits, trials, 1 - high) <= Fraction(alpha)
            assert high <= 1
    assert lower_limit(0, trials, alpha) == 0
    assert upper_limit(trials, trials, alpha) == 1


def tail(hits: int, trials: int, p: Fraction) -> Fraction:
    return sum((math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(hits, trials + 1)), Fraction())


def test_limits_agree_with_the_textbook_interval() -> None:
    for hits in (0, 3, 50, 99, 100):
        interval = stats.binomtest(hits, 100).proportion_ci(0.998, method="exact")
        assert lower_limit(hits, 100, 0.001) == pytest.approx(interval.low, rel=1e-9)
        assert upper_limit(hits, 100, 0.001) == pytest.approx(interval.high, rel=1e-9)


@pytest.mark.parametrize("trials", [10_000, 1_000_000])
def test_limits_of_large_counts_lie_outside_the_quantiles_of_the_beta_distribution_and_close(trials: int) -> None:
    for hits in (1, 20, trials // 3, trials - 20, trials - 1):
        low, high = stats.beta.ppf(1e-4, hits, trials - hits + 1), stats.beta.isf(1e-4, hits + 1, trials - hits)
        assert low * (1 - 1e-8) < lower_limit(hits, trials, 1e-4) < low
        assert high < upper_limit(hits, trials, 1e-4) < high * (1 + 1e-8)


@together("trials", [1, 8, 9, 60, 5000])
def test_quick_limits_are_near_the_exact_ones(trials: int) -> None:
    low, high = quick_limits(trials, 1e-4, 0.01)
    assert len(low) == len(high) == trials + 1
    for hits in {0, 1, 7, 8, 9, 40, trials // 2, trials - 1, trials} & set(range(trials + 1)):
        exact = lower_limit(hits, trials, 1e-4) - 0.01
        assert low[hits] == (pytest.approx(math.log(exact), abs=0.1) if exact > 0 else -math.inf)
        assert high[hits] == pytest.approx(math.log(upper_limit(hits, trials, 1e-4)), abs=0.03)


def test_an_epsilon_is_shown_only_by_what_exceeds_delta() -> None:
    assert 0 < epsilon_shown(900, 100, 1000, 0.01, delta=0.1) < math.log(0.8 / 0.1)
    assert epsilon_shown(900, 900, 1000, 0.01, delta=0.1) < 0
    assert epsilon_shown(50, 0, 1000, 0.01, delta=0.1) == epsilon_shown(0, 0, 1000, 0.01, delta=0.1) == -math.inf
    assert epsilon_shown(900, 100, 1000, 0.01, delta=0.1) < epsilon_shown(900, 100, 1000, 0.01)


def test_no_audit_shows_more_than_about_the_logarithm_of_its_samples() -> None:
    for trials in (100, 10_000, 1_000_000):
        most = ceiling(trials, 0.001 / 4)
        assert math.log(trials) - 2.2 < most < math.log(trials)
    assert ceiling(10_000, 0.001 / 4) == pytest.approx(7.094, abs=0.001)


@together(
    ("claimed", "true", "samples", "expected"), [(1, 2, 500, 0.99), (1, 1.1, 20_000, 0.91), (0.1, 0.2, 10_000, 0.96)]
)
def test_so_many_samples_show_a_lie(claimed: float, true: float, samples: int, expected: float) -> None:
    assert power(claimed=claimed, true=true, samples=samples) == pytest.approx(expected, abs=0.025)


def test_power_is_what_a_simulation_shows() -> None:
    claimed, true, samples, runs = 1.0, 1.5, 800, 20_000
    expected = power(claimed=claimed, true=true, samples=samples)
    rng = np.random.default_rng(5)
    hits, others = rng.binomial(samples, 0.5, runs), rng.binomial(samples, math.exp(-true) / 2, runs)
    low, high = ([limit(k, samples, 0.0005) for k in range(samples + 1)] for limit in (lower_limit, upper_limit))
    caught = int((np.array(low)[hits] > math.exp(claimed) * np.array(high)[others]).sum())
    assert 0.1 < expected < 0.9
    assert_share(caught, runs, expected)


def test_an_honest_claim_is_exposed_less_often_than_confidence_permits() -> None:
    for samples in (10, 300, 5000):
        assert power(claimed=1, true=1, samples=samples, confidence=0.9) < 0.1


def test_the_samples_needed_have_the_power_wanted_and_few_less_do_not() -> None:
    for claimed, true in ((1, 2), (0.1, 0.2), (1, 1.1)):
        needed = samples_needed(claimed=claimed, true=true, power_wanted=0.9)
        assert power(claimed=claimed, true=true, samples=needed) >= 0.9
        assert power(claimed=claimed, true=true, samples=math.floor(needed * 0.97)) < 0.9


def test_a_truth_that_is_no_lie_cannot_be_exposed() -> None:
    with pytest.raises(InvalidParameter, match="honest claim"):
        samples_needed(claimed=1, true=1)
    with pytest.raises(InvalidParameter, match="further apart"):
        samples_needed(claimed=1, true=1.0001)
    with pytest.raises(InvalidParameter, match="confidence"):
        power(claimed=1, true=2, samples=10, confidence=1)
