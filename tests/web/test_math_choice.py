"""Sensitivities, the choice of a mechanism, shuffling and RAPPOR in the browser are those of the library."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from browser import Call, answers_of, close
from scipy.stats import laplace, lomax

from lapwing.crowd import CategoryResponse, Counts, Rappor, StochasticRounding, UnaryEncoding
from lapwing.mechanisms import Exponential, PermuteAndFlip, RandomizedResponse, SmoothMedian, Sum
from lapwing.mechanisms.gaussian import analytic_sigma
from lapwing.mechanisms.ladder import Ladder
from lapwing.mechanisms.median_spans import MedianSpans
from lapwing.privacy.shuffling import clones_closed

EPSILONS = (0.1, 1.0, 4.0)
DELTA = 1e-9
AGES = ([], [7], [0, 0, 100], [20, 21, 22, 70, 71], sorted(range(3, 100, 4)), [40] * 20 + [41, 90])


def clipping() -> Iterator[Call]:
    values = lomax.ppf((np.arange(200) + 0.5) / 200, 2, scale=100)
    yield "sensitivity", "spending", [200], values.tolist()
    for bound in (10, 250, 5000):
        yield "sensitivity", "cutOff", [values.tolist(), bound], float(np.sum(values - np.minimum(values, bound)))
        for epsilon in EPSILONS:
            noise = math.sqrt(Sum(epsilon=epsilon, bounds=(0, bound)).variance / 2)
            yield "sensitivity", "averageNoise", [bound, epsilon], noise
    for epsilon in (0.011, 0.1, 0.3, 3.0):
        both = [float(np.sum(np.maximum(values - bound, 0))) + bound / epsilon for bound in values]
        yield "sensitivity", "bestBound", [values.tolist(), epsilon], float(values[int(np.argmin(both))])


def medians() -> Iterator[Call]:
    ladder = Ladder((0, 100), 1)
    for ages in AGES:
        found = MedianSpans(ages, ladder)
        yield "sensitivity", "spans", [ages, 0, 100], [found._widest(k) for k in range(len(ages) + 1)]
        for epsilon in EPSILONS:
            decay = SmoothMedian(epsilon=epsilon, delta=1e-6, bounds=(0, 100), granularity=1)._decay
            smooth = found.smooth_sensitivity(decay, 64, 128) / 2**128
            yield "sensitivity", "smooth", [ages, 0, 100, epsilon, 1e-6], smooth
            yield "sensitivity", "decay", [epsilon, 1e-6], decay / 2**64


def noise() -> Iterator[Call]:
    for epsilon in EPSILONS:
        for changes in (1, 7, 200):
            yield "choice", "laplaceWithin", [epsilon, changes], float(laplace.ppf(0.975, scale=changes / epsilon))
            sigma = analytic_sigma(epsilon, DELTA) * math.sqrt(changes)
            yield "choice", "gaussianWithin", [epsilon, changes], NormalDist().inv_cdf(0.975) * sigma
        for options in (2, 100):
            which = {"epsilon": epsilon, "sensitivity": 1, "candidates": options, "relation": "replace"}
            yield "choice", "exponentialWithin", [epsilon, options], int(Exponential(**which).accuracy())
            yield "choice", "flipWithin", [epsilon, options], int(PermuteAndFlip(**which).accuracy())


def coins() -> Iterator[Call]:
    n = 10**6
    for epsilon in EPSILONS:
        survey = RandomizedResponse.from_epsilon(epsilon)
        yield "choice", "responseVariance", [epsilon], n * survey.estimate(n // 2, n=n).population_standard_error ** 2
        unary, category = (
            kind(epsilon, domain=100) for kind in (UnaryEncoding.optimized, CategoryResponse.from_epsilon)
        )
        share = 0.01
        for protocol, name, given in ((unary, "unaryVariance", []), (category, "categoryVariance", [100])):
            yield "choice", name, [_loss(protocol), *given, share], _variance(protocol, share)
        bits = StochasticRounding.from_epsilon(epsilon, bounds=(0, 1))
        found = bits.estimate(Counts(bits, n, np.array([n // 2])))
        yield "choice", "bitVariance", [_loss(bits)], n * found.population_standard_error**2


def _loss(protocol: Any) -> float:
    """A little below epsilon: coins of devices have few bits."""
    return float(protocol.privacy_loss().epsilon)


def _variance(protocol: Any, share: float, n: int = 10**12) -> float:
    """Of one person's part in the estimate, where each count is what one expects of this share."""
    if isinstance(protocol, UnaryEncoding):
        p, q = protocol.one_if_true, protocol.one_if_other
    else:
        q = Fraction(protocol.switch) / 99
        p = 1 - 99 * q
    expected = round(n * (share * Fraction(p) + (1 - share) * Fraction(q)))
    found = protocol.estimate(Counts(protocol, n, np.full(100, expected)))
    return float(found.population_standard_error[0] ** 2 / n)


def shuffling() -> Iterator[Call]:
    for n in (10_000, 10**6):
        for local in (0.1, 1.0, 3.0):
            expected = min(local, float(clones_closed(local, n, DELTA)))
            yield "shuffling", "shuffledLoss", [local, n, DELTA], expected


def rappor() -> Iterator[Call]:
    for f, p, q in ((0.5, 0.5, 0.75), (0.25, 0.25, 0.75), (0.75, 0.5, 0.75)):
        given = {"bits": 32, "hashes": 2, "f": f, "p": p, "q": q}
        survey = Rappor.from_symbols(k=32, h=2, m=8, f=f, p=p, q=q)
        yield "rappor", "reportLoss", [given], float(survey.privacy_loss().epsilon)
        yield "rappor", "lifetimeLoss", [given], float(survey.lifetime_loss().epsilon)
        for bit in (True, False):
            yield "rappor", "permanent", [bit, f], float(survey.permanent_probability(bit))
            yield "rappor", "reported", [bit, given], float(survey.one_probability(bit))
    for text in ("example.org", "", "Ωmega 😀", "a" * 60):
        for cohort in range(8):
            yield "rappor", "places", [text, cohort, given], survey.set_places(cohort, text)


CALLS = [*clipping(), *medians(), *noise(), *coins(), *shuffling(), *rappor()]
BACK = [(epsilon, n) for epsilon in (0.2, 1.0) for n in (100_000, 10**7)]


@pytest.fixture(scope="module")
def answers() -> list[Any]:
    return answers_of([*CALLS, *(("shuffling", "localLoss", [epsilon, n, DELTA], None) for epsilon, n in BACK)])


@pytest.mark.parametrize("place", range(len(CALLS)), ids=lambda i: f"{CALLS[i][0]}.{CALLS[i][1]}-{i}")
def test_the_browser_agrees_with_the_library(place: int, answers: list[Any]) -> None:
    assert close(answers[place], CALLS[place][3])


@pytest.mark.parametrize("place", range(len(BACK)))
def test_the_local_loss_behind_a_shuffler_is_the_largest_that_the_library_allows(
    place: int, answers: list[Any]
) -> None:
    epsilon, n = BACK[place]
    local = answers[len(CALLS) + place]
    assert clones_closed(local * 0.9999, n, DELTA) < epsilon < clones_closed(local * 1.0001, n, DELTA)
