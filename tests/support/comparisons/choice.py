"""Sensitivities, the choice of a mechanism, shuffling and RAPPOR."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from browser import Call
from scipy.optimize import brentq
from scipy.stats import binom, laplace, lomax

from lapwing.crowd import CategoryResponse, Counts, Rappor, StochasticRounding, UnaryEncoding
from lapwing.mechanisms import Exponential, PermuteAndFlip, RandomizedResponse, SmoothMedian, Sum
from lapwing.mechanisms.gaussian import analytic_sigma
from lapwing.mechanisms.ladder import Ladder
from lapwing.mechanisms.median_spans import MedianSpans
from lapwing.privacy import PLD
from lapwing.privacy.accountants import AdditiveNoise
from lapwing.privacy.shuffling import clones_closed

EPSILONS = (0.1, 1.0, 4.0)
DELTA = 1e-9
OPTIONS = 100
Z = NormalDist().inv_cdf(0.975)
Z_ALL = NormalDist().inv_cdf(1 - 0.025 / OPTIONS)
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
    for people in AGES:
        found = MedianSpans(people, ladder)
        yield "sensitivity", "spans", [people, 0, 100], [found._widest(k) for k in range(len(people) + 1)]
        for epsilon in EPSILONS:
            decay = SmoothMedian(epsilon=epsilon, delta=1e-6, bounds=(0, 100), granularity=1)._decay
            smooth = found.smooth_sensitivity(decay, 64, 128) / 2**128
            yield "sensitivity", "smooth", [people, 0, 100, epsilon, 1e-6], smooth
            yield "sensitivity", "decay", [epsilon, 1e-6], decay / 2**64


def ages() -> Iterator[Call]:
    def spread(low: int, high: int, people: int) -> list[int]:
        """In the middle of equal parts, halves rounded up."""
        return [
            math.floor(Fraction(low) + Fraction((high - low) * (2 * i + 1), 2 * people) + Fraction(1, 2))
            for i in range(people)
        ]

    for people in (5, 25, 101):
        more = math.ceil(0.52 * people)
        yield "sensitivity", "ages", ["alike", people], spread(35, 45, people)
        yield "sensitivity", "ages", ["even", people], spread(0, 100, people)
        yield "sensitivity", "ages", ["camps", people], spread(20, 25, more) + spread(70, 75, people - more)


def _selection(kind: type[Exponential | PermuteAndFlip], epsilon: float, options: int) -> int:
    mechanism = kind(epsilon=epsilon, sensitivity=1, candidates=options, relation="replace")
    return int(mechanism.accuracy())


def _laplace(epsilon: float, changes: int) -> float:
    return float(laplace.ppf(0.975, scale=changes / epsilon))


def _gaussian(epsilon: float, changes: int, z: float = Z) -> float:
    return z * analytic_sigma(epsilon, DELTA) * math.sqrt(changes)


def noise() -> Iterator[Call]:
    for epsilon in EPSILONS:
        for changes in (1, 7, 200):
            yield "choice", "laplaceWithin", [epsilon, changes], _laplace(epsilon, changes)
            yield "choice", "gaussianWithin", [epsilon, changes], _gaussian(epsilon, changes)
        for options in (2, 100):
            yield "choice", "exponentialWithin", [epsilon, options], _selection(Exponential, epsilon, options)
            yield "choice", "flipWithin", [epsilon, options], _selection(PermuteAndFlip, epsilon, options)


def _response(epsilon: float, n: int = 10**6) -> float:
    """Variance of one person's part in a share."""
    found = RandomizedResponse.from_epsilon(epsilon).estimate(n // 2, n=n)
    return float(n * found.population_standard_error**2)


def _bit(protocol: StochasticRounding, n: int = 10**6) -> float:
    found = protocol.estimate(Counts(protocol, n, np.array([n // 2])))
    return float(n * found.population_standard_error**2)


def _category(protocol: UnaryEncoding | CategoryResponse, share: float, n: int = 10**12) -> float:
    """Of one person's part in the estimate, where each count is what one expects of this share."""
    if isinstance(protocol, UnaryEncoding):
        p, q = protocol.one_if_true, protocol.one_if_other
    else:
        q = Fraction(protocol.switch) / (OPTIONS - 1)
        p = 1 - (OPTIONS - 1) * q
    expected = round(n * (share * Fraction(p) + (1 - share) * Fraction(q)))
    found = protocol.estimate(Counts(protocol, n, np.full(OPTIONS, expected)))
    return float(found.population_standard_error[0] ** 2 / n)


def _loss(protocol: Any) -> float:
    """A little below epsilon: coins of devices have few bits."""
    return float(protocol.privacy_loss().epsilon)


def coins() -> Iterator[Call]:
    share = 1 / OPTIONS
    for epsilon in EPSILONS:
        yield "choice", "responseVariance", [epsilon], _response(epsilon)
        unary = UnaryEncoding.from_epsilon(epsilon, domain=OPTIONS)
        category = CategoryResponse.from_epsilon(epsilon, domain=OPTIONS)
        yield "choice", "unaryVariance", [_loss(unary), share], _category(unary, share)
        yield "choice", "categoryVariance", [_loss(category), OPTIONS, share], _category(category, share)
        bits = StochasticRounding.from_epsilon(epsilon, bounds=(0, 1))
        yield "choice", "bitVariance", [_loss(bits)], _bit(bits)


@cache
def laplace_scale(changes: int, epsilon: float) -> float:
    """The smallest for so many answers with the delta, by the library's distribution of the privacy loss."""

    def beyond(scale: float) -> float:
        return math.log(max(PLD([(AdditiveNoise("laplace", scale), changes)]).delta_at(epsilon), 1e-30) / DELTA)

    widest = changes / epsilon
    return float(brentq(beyond, widest / 20, widest * (1 - 1e-9), rtol=1e-3))


def local_loss(epsilon: float, people: int) -> float:
    """The largest whose shuffled reports keep to epsilon, as far as the theorem goes."""
    furthest = math.log(people / (16 * math.log(2 / DELTA))) * (1 - 1e-12)

    def beyond(local: float) -> float:
        return float(clones_closed(local, people, DELTA)) - epsilon

    return furthest if beyond(furthest) <= 0 else float(brentq(beyond, epsilon, furthest))


def _ranked(*errors: tuple[str, float], rel: float = 1e-9) -> list[dict[str, Any]]:
    """As the chooser shows them, the smallest error first."""
    ordered = sorted(errors, key=lambda pair: pair[1])
    return [{"name": name, "error": pytest.approx(error, rel=rel)} for name, error in ordered]


def candidates() -> Iterator[Call]:
    """Four kinds of questions; with a curator, a shuffler, and nobody to trust."""
    n = 100_000
    for epsilon in (0.5, 2.0):
        for kind, changes in (("count", 1), ("mean", 1), ("histogram", 2)):
            few = _ranked(("Laplace", _laplace(epsilon, changes) / n), ("Gaussian", _gaussian(epsilon, changes) / n))
            yield "choice", "candidates", [kind, "curator", 1, n, epsilon], few
        best = _ranked(
            ("Permute-and-flip", _selection(PermuteAndFlip, epsilon / 3, OPTIONS) / n),
            ("Exponential", _selection(Exponential, epsilon / 3, OPTIONS) / n),
            ("Gaussian noise on all counts", 2 * _gaussian(epsilon, 6, Z_ALL) / n),
        )
        yield "choice", "candidates", ["best", "curator", 3, n, epsilon], best
        for trust, loss in (("nobody", epsilon), ("shuffler", local_loss(epsilon, n))):
            for kind in ("count", "mean", "histogram", "best"):
                for queries in (1, 4):
                    yield "choice", "candidates", [kind, trust, queries, n, epsilon], _local(kind, queries, n, loss)
    many = _ranked(
        ("Laplace", _laplace(1.0, 30) / n),
        ("Laplace with a δ", laplace_scale(30, 1.0) * math.log(20) / n),
        ("Gaussian", _gaussian(1.0, 30) / n),
        rel=3e-3,
    )
    yield "choice", "candidates", ["count", "curator", 30, n, 1.0], many


def _local(kind: str, queries: int, n: int, epsilon: float) -> list[dict[str, Any]]:
    """Everybody answers all questions with a part of epsilon each, or one question of all with all of it."""
    share, wide = (1 / OPTIONS, 2 * Z_ALL if kind == "best" else Z) if kind in ("histogram", "best") else (0.5, Z)
    categories: dict[str, Callable[[float], float]] = {
        "Unary encoding": lambda loss: _category(UnaryEncoding.from_epsilon(loss, domain=OPTIONS), share),
        "Category response": lambda loss: _category(CategoryResponse.from_epsilon(loss, domain=OPTIONS), share),
    }
    protocols: dict[str, Callable[[float], float]] = {
        "count": {"Randomized response": _response},
        "mean": {"One random bit": lambda loss: _bit(StochasticRounding.from_epsilon(loss, bounds=(0, 1)))},
    }.get(kind, categories)
    errors = []
    for name, variance in protocols.items():
        if queries == 1:
            errors.append((name, wide * math.sqrt(variance(epsilon) / n)))
            continue
        group = n / queries  # a random part of everybody answers each question
        drawn = share * (1 - share) / group * (1 - group / n)
        errors.append((f"{name}, one question each", wide * math.sqrt(variance(epsilon) / group + drawn)))
        errors.append((f"{name}, all questions", wide * math.sqrt(variance(epsilon / queries) / n)))
    return _ranked(*errors, rel=1e-2)  # coins of devices have few bits


def models() -> Iterator[Call]:
    for people, epsilon in ((10_000, 1.0), (10**6, 0.2)):
        halves = {
            "central": _laplace(epsilon, 1) / people,
            "shuffled": Z * math.sqrt(_response(local_loss(epsilon, people)) / people),
            "local": Z * math.sqrt(_response(epsilon) / people),
            "sample": Z * math.sqrt(0.25 / people),
        }
        yield "choice", "models", [people, epsilon], pytest.approx(halves, rel=1e-6)


def shuffling() -> Iterator[Call]:
    for n in (10_000, 10**6):
        for local in (0.1, 1.0, 3.0):
            expected = min(local, float(clones_closed(local, n, DELTA)))
            yield "shuffling", "shuffledLoss", [local, n, DELTA], expected
    for epsilon in (0.2, 1.0):
        for n in (100_000, 10**7):
            yield "shuffling", "localLoss", [epsilon, n, DELTA], pytest.approx(local_loss(epsilon, n), rel=1e-6)
    yield "shuffling", "localLoss", [1.0, 100, DELTA], 1.0  # too few to hide among


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


def crowds() -> Iterator[Call]:
    """One report among many: the law of the others' answers, and the best guess about the one."""
    for people, yes in ((0, 0), (1, 1), (29, 9), (60, 60)):
        for epsilon in EPSILONS:
            truth = math.exp(epsilon) / (1 + math.exp(epsilon))
            law = np.convolve(
                binom.pmf(np.arange(yes + 1), yes, truth),
                binom.pmf(np.arange(people - yes + 1), people - yes, 1 - truth),
            )
            yield "crowd", "yesLaw", [people, yes, epsilon], pytest.approx(law.tolist(), abs=1e-12)
            with_yes = np.append(law, 0) * (1 - truth) + np.append(0, law) * truth
            with_no = np.append(law, 0) * truth + np.append(0, law) * (1 - truth)
            found = float(np.maximum(with_yes, with_no).sum() / 2)
            yield "crowd", "foundInCrowd", [law.tolist(), epsilon], pytest.approx(found, abs=1e-9)
            for count in range(people + 2):
                if abs(with_yes[count] - with_no[count]) > 1e-12:
                    yield "crowd", "guessFromCount", [law.tolist(), count], bool(with_yes[count] > with_no[count])
