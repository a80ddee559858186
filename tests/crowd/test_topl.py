"""ToPL and its two protocols: the distribution that is seen, the threshold chosen from it, means step by step."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from chance import FALSE_ALARM
from numpy.typing import NDArray
from scipy import stats

from lapwing.crowd import Hybrid, Piecewise, SquareWave, StochasticRounding, Topl
from lapwing.errors import InvalidParameter
from lapwing.mechanisms.smoothing import never_falling, running_levels
from lapwing.noise import Reproducible

pytestmark = pytest.mark.filterwarnings("ignore::lapwing.errors.NotPrivateWarning")
PLAN = Topl(epsilon=2, bound=1000, reports=20_000)


def skewed(n: int, seed: int = 1) -> NDArray[np.float64]:
    """Numbers around 20, far below a bound of 1,000."""
    return np.minimum(np.random.default_rng(seed).gamma(4, 5, n), 1000)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), 1, 2, 4])
def test_the_hybrid_is_at_its_worst_no_worse_than_either_part(epsilon: Any) -> None:
    mixed = Hybrid.from_epsilon(epsilon, bounds=(0, 1))
    bit = StochasticRounding.from_epsilon(epsilon, bounds=(0, 1))
    cell = Piecewise.from_epsilon(epsilon, bounds=(0, 1))
    flip, root = float(bit.flip), math.exp(float(cell.privacy_loss().epsilon) / 2)
    alone = [0.25 / (1 - 2 * flip) ** 2, (1 / (root - 1) + (root + 3) / (3 * (root - 1) ** 2)) / 4]
    assert mixed.worst_variance() <= 1.005 * min(alone)
    assert (mixed.piecewise_share == 0) == (epsilon < 0.61)


def test_what_the_search_multiplies_with_is_the_matrix_of_the_law() -> None:
    wave = SquareWave.from_epsilon(1, bounds=(0, 1), cells=12)
    starts, (inside, outside) = 12 - wave.window + 1, map(float, wave._densities())
    dense = np.array([[inside if s <= j < s + wave.window else outside for s in range(starts)] for j in range(12)])
    assert dense.sum(axis=0) == pytest.approx(np.ones(starts))
    chance = np.random.default_rng(0)
    shares, weights = chance.random(starts), chance.random(12)
    assert wave._seen(shares) == pytest.approx(dense @ shares)
    assert wave._seen_back(weights) == pytest.approx(dense.T @ weights)


def test_a_distribution_is_seen_through_the_noise_and_nobody_is_flat() -> None:
    wave, numbers = SquareWave.from_epsilon(2, bounds=(0, 100)), skewed(60_000) * 2
    found = wave.distribution(wave.absorb(None, wave.randomize(numbers, Reproducible(1))))
    assert found.shares.sum() == pytest.approx(1)
    assert found.mean == pytest.approx(numbers.mean(), abs=3)
    for q in (0.25, 0.5, 0.9):
        assert found.quantile(q) == pytest.approx(np.quantile(np.minimum(numbers, 100), q), abs=6)
    limits = np.array([0.0, 50.0, 100.0])
    assert found.excess(limits) == pytest.approx([found.mean, np.maximum(numbers - 50, 0).mean(), 0], abs=2)
    nobody = wave.distribution(wave.empty())
    assert nobody.n == 0
    assert nobody.mean == pytest.approx(50)


def test_a_threshold_far_below_the_bound_makes_means_better_than_the_bound_does() -> None:
    first = PLAN.first.absorb(None, PLAN.first.randomize(skewed(20_000), Reproducible(2)))
    later, plain = PLAN.later(first), Hybrid.from_epsilon(2, bounds=(0, 1000))
    assert 40 < later.bounds[1] < 250
    assert PLAN.threshold(first) == later.bounds[1]
    errors: dict[Hybrid, list[float]] = {later: [], plain: []}
    for step in range(40):
        numbers = skewed(1_000, 10 + step)
        for protocol, misses in errors.items():
            found = protocol.estimate(protocol.absorb(None, protocol.randomize(numbers, Reproducible(step))))
            misses.append(found.mean - numbers.mean())
    cut, whole = (float(np.square(misses).mean()) for misses in errors.values())
    # a ratio of two sums of 40 squares, about F distributed
    assert cut < whole / 4 * stats.f.isf(FALSE_ALARM, 40, 40)


def test_a_series_has_means_with_errors_that_hold_levels_that_are_better_and_totals() -> None:
    protocol, truth = Hybrid.from_epsilon(2, bounds=(0, 100)), 40 + 10 * np.sin(np.arange(60) / 15)
    counts = [
        protocol.absorb(None, protocol.randomize(np.full(400, level), Reproducible(step)))
        for step, level in enumerate(truth)
    ]
    series = PLAN.series(counts)
    misses = np.array(series.means) - truth
    z = misses / np.array(series.standard_errors)
    assert stats.chi2.sf((z**2).sum(), 60) > FALSE_ALARM  # the error is an upper bound
    assert np.abs(np.array(series.levels()) - truth)[10:].mean() < 0.7 * np.abs(misses)[10:].mean()
    total, low, high = series.total(10, 30, confidence=1 - FALSE_ALARM)
    assert low < 400 * truth[10:30].sum() < high
    assert total == pytest.approx((low + high) / 2)
    for start, stop in ((5, 5), (0, 61), (-1, 3)):
        with pytest.raises(InvalidParameter):
            series.total(start, stop)


def test_steps_that_nobody_reports_about_have_no_value_of_their_own() -> None:
    protocol = Hybrid.from_epsilon(2, bounds=(0, 100))
    here = protocol.absorb(None, protocol.randomize([10] * 5_000, Reproducible(1)))
    series = PLAN.series([here, protocol.empty(), here])
    assert math.isinf(series.standard_errors[1])
    assert series.levels()[1] == series.levels()[0]
    assert series.total(0, 3)[0] == pytest.approx(2 * 5_000 * series.means[0])


def test_every_number_costs_epsilon_whichever_phase_it_is_reported_in() -> None:
    loss = PLAN.privacy_loss()
    assert loss.unit == "event"
    assert loss.relation == "replace"
    parts = [PLAN.first.privacy_loss().epsilon, PLAN.later(PLAN.first.empty()).privacy_loss().epsilon]
    assert loss.epsilon == max(parts) <= 2
    assert PLAN.later(PLAN.first.empty()).privacy_loss().unit == "event"


@pytest.mark.parametrize("wrong", [{"epsilon": 0}, {"bound": -1}, {"reports": 0}, {"cells": 1}, {"unit": ""}])
def test_wrong_parameters_are_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter) as refused:
        Topl(**{"epsilon": 1, "bound": 10, "reports": 5, **wrong})
    assert refused.value.name == next(iter(wrong))


def test_counts_of_the_first_phase_are_no_series() -> None:
    for counts in ([], [PLAN.first.empty()]):
        with pytest.raises(InvalidParameter):
            PLAN.series(counts)


def test_levels_follow_a_jump_and_rest_on_a_constant() -> None:
    chance = np.random.default_rng(4)
    levels = running_levels((5 + chance.normal(0, 2, 300)).tolist(), [4.0] * 300)
    assert np.abs(np.array(levels) - 5)[100:].mean() < 0.6  # the noise alone has 1.6
    jump = np.where(np.arange(100) < 50, 0.0, 100.0) + chance.normal(0, 1, 100)
    assert np.abs(np.array(running_levels(jump.tolist(), [1.0] * 100)) - jump).max() < 60
    assert running_levels(jump.tolist(), [1.0] * 100)[-1] == pytest.approx(100, abs=4)
    with pytest.raises(InvalidParameter):
        running_levels([1.0], [])


def test_totals_that_never_fall_are_the_nearest_ones() -> None:
    from scipy.optimize import isotonic_regression

    values = np.random.default_rng(5).normal(np.arange(300) / 20, 3)
    assert never_falling(values.tolist()) == pytest.approx(isotonic_regression(values).x)


def test_counts_of_another_first_phase_are_refused() -> None:
    other = Topl(epsilon=2, bound=1000, reports=20_000, cells=64).first
    counts = other.absorb(None, other.randomize([20, 30]))
    for use in (PLAN.threshold, PLAN.later, PLAN.first.support):
        with pytest.raises(InvalidParameter, match="a protocol with other parameters"):
            use(counts)
