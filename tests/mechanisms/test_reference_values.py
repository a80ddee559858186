"""Numbers that stand in textbooks and papers, reproduced from the public interface."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from cases import together

from lapwing.mechanisms import (
    Count,
    Gaussian,
    KaryResponse,
    Laplace,
    RandomizedResponse,
    analytic_sigma,
)
from lapwing.privacy import PLD, AdditiveNoise, ApproxDP

FINE = Fraction(1, 1 << 20)
"""A grid on which discrete noise is continuous for the eye."""


@together(("times", "percent"), [(1, 63.2), (2, 86.5), (3, 95.0), (4, 98.2), (5, 99.3)])
def test_laplace_noise_exceeds_t_scales_with_probability_e_to_minus_t(times: int, percent: float) -> None:
    within = 1 - math.exp(-times)
    assert 100 * within == pytest.approx(percent, abs=0.05)
    assert Laplace(epsilon=1, sensitivity=1, granularity=FINE).accuracy(within) == pytest.approx(times, abs=1e-5)


def test_ten_thousand_first_names_are_off_by_the_logarithm_of_two_hundred_thousand() -> None:
    names = Laplace(epsilon=1, sensitivity=1, granularity=FINE, dimensions=10_000, on_grid=True)
    assert names.accuracy(0.95, simultaneous=True) == pytest.approx(math.log(10_000 / 0.05), abs=1e-5)
    assert math.log(10_000 / 0.05) == pytest.approx(12.206, abs=5e-4)


def test_the_noise_on_a_count_of_smokers_does_not_depend_on_the_number_of_people() -> None:
    smokers = Count(epsilon=math.log(3))
    a = 1 / 3
    assert smokers.variance == pytest.approx(2 * a / (1 - a) ** 2)


@together("epsilon", [0.1, 1, 4])
def test_the_deviation_of_lying_coins(epsilon: float) -> None:
    n, odds = 3000, math.exp(epsilon)
    expected = math.sqrt(odds) / (math.sqrt(n) * (odds - 1))
    survey = RandomizedResponse.from_epsilon(epsilon)
    assert survey.estimate(n // 2, n=n).population_standard_error == pytest.approx(expected)
    assert math.sqrt(survey.variance / n) == pytest.approx(expected)


def test_the_variance_of_direct_encoding() -> None:
    n, counts = 1000, {"a": 450, "b": 300, "c": 250}
    poll = KaryResponse.from_epsilon(1, categories=list(counts))
    p, q = float(poll._keep), float(poll.switch)
    for label, estimate in poll.estimate(counts).items():
        share = (counts[label] / n - q) / (p - q)
        variance = n * ((1 - share) * q * (1 - q) + share * p * (1 - p)) / (p - q) ** 2
        assert (n * estimate.population_standard_error) ** 2 == pytest.approx(variance)


@together(("releases", "ratio"), [(1, 0.335), (10, 1.057), (100, 1.389)])
def test_laplace_wins_for_few_releases_and_gaussian_for_many(releases: int, ratio: float) -> None:
    """Standard deviations at (1, 1e-6) in all; for Laplace the scale with that loss is given by the ratio."""
    gaussian = analytic_sigma(1, 1e-6) * math.sqrt(releases)
    for factor, enough in ((1.01, True), (0.99, False)):
        scale = Fraction(ratio * factor * gaussian / math.sqrt(2))
        loss = PLD([(AdditiveNoise("laplace", scale), releases)])
        assert (loss.epsilon_at(1e-6) <= 1) is enough


@together("size", [1, 2, 5])
def test_a_group_loses_at_most_what_the_textbook_says(size: int) -> None:
    group = ApproxDP(0.5, 1e-6).for_group(size)
    assert group.epsilon == size * Fraction(1, 2)
    assert size * 1e-6 <= float(group.delta) * (1 + 1e-12)
    assert float(group.delta) <= size * math.exp((size - 1) * 0.5) * 1e-6 * (1 + 1e-12)


def test_gaussian_noise_has_no_pure_epsilon() -> None:
    assert Gaussian(sigma=1, sensitivity=1).epsilon_at(0) == math.inf
    assert Gaussian(sigma=1, sensitivity=1, dimensions=2).epsilon_at(0) == math.inf
