"""The pictures of the mechanisms are drawn from the library's numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from browser import Call, answers_of, close

from lapwing.mechanisms import Exponential, PermuteAndFlip, RandomizedResponse, analytic_sigma, classical_sigma
from lapwing.mechanisms.gaussian import _continuous_delta
from lapwing.mechanisms.selection import Selection
from lapwing.privacy import PLD
from lapwing.privacy.accountants import AdditiveNoise

EPSILONS = (0.01, 0.5, 1.0, math.log(3), 8.0)


def randomized_response() -> Iterator[Call]:
    name = "randomized-response"
    for epsilon in EPSILONS:
        survey = RandomizedResponse.from_epsilon(epsilon)
        yield name, "keep", [epsilon], float(survey.gamma)
        yield name, "alpha", [epsilon], float(survey.alpha)
        for yes, n in ((35, 100), (1500, 3000)):
            found = survey.estimate(yes, n=n)
            yield name, "estimate", [yes, n, epsilon], (found.share, *found.population_interval)
            yield name, "coinsError", [n, epsilon], found.population_standard_error
            low, high = found.population_interval
            yield name, "within", [n, epsilon], (high - low) / 2


def scale_of(kind: type[Selection], epsilon: float, sensitivity: int, count: int) -> float:
    mechanism = kind(epsilon=epsilon, sensitivity=sensitivity, candidates=count, granularity=1)
    return float(mechanism._scale * mechanism._granularity)


def flipped(scores: Sequence[float], scale: float) -> list[float]:
    """Permute-and-flip, by enumeration of all outcomes of all coins."""
    coins = [math.exp((score - max(scores)) / scale) for score in scores]
    chances = [0.0] * len(scores)
    for heads in itertools.product((False, True), repeat=len(scores)):
        probability = math.prod(coin if head else 1 - coin for coin, head in zip(coins, heads, strict=True))
        for place in itertools.compress(range(len(scores)), heads):
            chances[place] += probability / sum(heads)
    return chances


def exponential() -> Iterator[Call]:
    for epsilon in (0.1, 1.0, 4.0):
        for scores, sensitivity in (([8, 7, 3, 2], 1), ([2, 4, 1.5, 2, 2.5, 3, 3.5, 4, 0, 0], 5)):
            scale = scale_of(Exponential, epsilon, sensitivity, len(scores))
            weights = [math.exp(score / scale) for score in scores]
            expected = [math.log(weight / math.fsum(weights)) for weight in weights]
            yield "exponential", "exponentialLogs", [scores, epsilon, sensitivity], expected
            scale = scale_of(PermuteAndFlip, epsilon, sensitivity, len(scores))
            expected = [math.log(chance) for chance in flipped(scores, scale)]
            yield "exponential", "permuteAndFlipLogs", [scores, epsilon, sensitivity], expected
    prices = [price / 2 for price in range(1, 11)]
    earned = [2, 4, 1.5, 2, 2.5, 3, 3.5, 4, 0, 0]
    yield "exponential", "revenues", [prices, [1, 1, 1, 4.01]], earned
    yield "exponential", "revenues", [[1, 3, 4.01, 4.02], [1, 1, 1, 4.01, 3]], [5, 6, 4.01, 0]
    yield "exponential", "lost", [[3, 1], [0.75, 0.25]], 0.5
    yield "exponential", "factor", [[math.log(0.5), math.log(0.5)], [math.log(0.8), math.log(0.2)]], 2.5


def gaussian() -> Iterator[Call]:
    for epsilon, delta in itertools.product((0.01, 0.5, 0.99, 1.0, 4.0, 10.0), (1e-3, 1e-6, 1e-9)):
        yield "gaussian", "analytic", [epsilon, delta], analytic_sigma(epsilon, delta)
        if epsilon < 1:
            yield "gaussian", "classical", [epsilon, delta], classical_sigma(epsilon, delta)
    for sigma, epsilon in ((0.53, 10.0), (4.0, 1.0), (30.0, 0.1)):
        yield "gaussian", "delta", [sigma, epsilon], _continuous_delta(sigma, epsilon)


CALLS = [*randomized_response(), *exponential(), *gaussian()]


@pytest.fixture(scope="module")
def answers() -> list[Any]:
    return answers_of(CALLS)


@pytest.mark.parametrize("place", range(len(CALLS)), ids=lambda i: f"{CALLS[i][0]}.{CALLS[i][1]}{CALLS[i][2]}")
def test_the_browser_agrees_with_the_library(place: int, answers: list[Any]) -> None:
    assert close(answers[place], CALLS[place][3])


def laplace_delta(deviation: float, k: int, epsilon: float) -> float:
    """The delta of k answers with Laplace noise, by the library's distribution of the privacy loss."""
    return PLD([(AdditiveNoise("laplace", deviation / math.sqrt(2)), k)]).delta_at(epsilon)


def test_laplace_noise_for_many_answers_is_as_wide_as_it_must_be() -> None:
    cases = [(10, 1, 1e-3), (20, 1, 1e-6), (100, 1, 1e-6), (30, 10, 1e-9), (30, 0.1, 1e-6)]
    found = answers_of([("gaussian", "laplace", list(case), None) for case in cases])
    for (k, epsilon, delta), deviation in zip(cases, found, strict=True):
        assert laplace_delta(1.005 * deviation, k, epsilon) < delta < laplace_delta(0.995 * deviation, k, epsilon)


def test_gaussian_noise_is_smaller_exactly_from_the_number_of_answers_that_is_marked() -> None:
    cases = [(0.3, 1e-6), (1, 1e-6), (10, 1e-3), (1, 1e-9)]
    found = answers_of([("gaussian", "crossing", list(case), None) for case in cases])
    for (epsilon, delta), few in zip(cases, found, strict=True):
        sigma = analytic_sigma(epsilon, delta)
        assert laplace_delta(math.sqrt(few - 1) * sigma, few - 1, epsilon) < delta
        assert laplace_delta(math.sqrt(few) * sigma, few, epsilon) > delta
