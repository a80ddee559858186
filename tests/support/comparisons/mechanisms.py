"""Noise, coins and choices of the mechanisms."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import scipy.stats
from browser import Call
from scipy.special import log_ndtr

from lapwing.mechanisms import Exponential, PermuteAndFlip, RandomizedResponse, analytic_sigma, classical_sigma
from lapwing.mechanisms.gaussian import _continuous_delta
from lapwing.mechanisms.selection import Selection

EPSILONS = (0.01, 0.5, 1.0, math.log(3), 8.0)


def laplace() -> Iterator[Call]:
    law = scipy.stats.laplace
    for scale in (0.1, 1.0, 30.0):
        yield "laplace", "density", [0.7, 0.2, scale], float(law.pdf(0.7, 0.2, scale))
        yield "laplace", "within", [scale, 0.95], float(law.ppf(0.975, scale=scale))


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
        sigma = analytic_sigma(epsilon, delta)
        yield "gaussian", "analytic", [epsilon, delta], sigma
        yield "gaussian", "gaussian", [10, epsilon, delta], math.sqrt(10) * sigma
        if epsilon < 1:
            yield "gaussian", "classical", [epsilon, delta], classical_sigma(epsilon, delta)
    for sigma, epsilon in ((0.53, 10.0), (4.0, 1.0), (30.0, 0.1)):
        yield "gaussian", "delta", [sigma, epsilon], _continuous_delta(sigma, epsilon)
    for k, epsilon in ((1, 0.1), (30, 4.0)):
        yield "gaussian", "laplacePure", [k, epsilon], float(scipy.stats.laplace.std(scale=k / epsilon))
    for z in (-40.0, -8.0, -3.2, -3.1, -1.0, 0.0, 0.5, 3.0, 7.0):
        yield "gaussian", "logPhi", [z], float(log_ndtr(z))
