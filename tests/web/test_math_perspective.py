"""Noise put into perspective: what the browser says about errors, chances and budgets is what the library says."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from browser import Call, answers_of, close
from scipy.stats import norm

from lapwing.mechanisms import Laplace
from lapwing.privacy import PureDP, compose
from lapwing.privacy.explain import power

NAME = "perspective"
EPSILONS = (0.01, 0.1, 1.0, math.log(3), 8.0)
FINE = Fraction(1, 1 << 40)
"""The library's noise lives on a grid; on this one it is continuous for all that is drawn."""


def count(epsilon: float, questions: int = 1) -> Laplace:
    return Laplace(epsilon=Fraction(epsilon) / questions, sensitivity=1, granularity=FINE, on_grid=True)


def errors() -> Iterator[Call]:
    for share in (0.5, 0.2, 0.01):
        for n in (10, 1000, 1_000_000):
            half = float(norm.ppf(0.975)) * math.sqrt(share * (1 - share) / n)
            yield NAME, "samplingError", [share, n], half
            for questions in (1, 100):
                noise = count(0.5, questions)
                yield NAME, "noiseError", [n, 0.5, questions], noise.accuracy() / n
                alone = share * (1 - share) / n
                together = alone + noise.variance / n**2
                yield NAME, "lostAnswers", [share, n, 0.5, questions], n - n * alone / together


def budgets() -> Iterator[Call]:
    for epsilon in EPSILONS:
        yield NAME, "countError", [epsilon], count(epsilon).accuracy()
        yield NAME, "planned", [epsilon, 4], [count(epsilon, 4).accuracy()] * 4
        yield NAME, "halved", [epsilon, 3], [count(epsilon, 2**place).accuracy() for place in (1, 2, 3)]
    for within in (5, 20):
        solved = Laplace.solve(within=within, sensitivity=1, granularity=FINE, on_grid=True).epsilon
        yield NAME, "affordable", [10.0, within], math.floor(10 / solved)


def chances() -> Iterator[Call]:
    for epsilon in EPSILONS:
        for chance in (0.001, 0.01, 0.5):
            most = power(Fraction(epsilon), Fraction(0), Fraction(chance))
            least = 1 - power(Fraction(epsilon), Fraction(0), 1 - Fraction(chance))
            yield NAME, "chances", [chance, epsilon], [float(least), float(most)]


CALLS = [*errors(), *budgets(), *chances()]


@pytest.fixture(scope="module")
def answers() -> list[Any]:
    return answers_of(CALLS)


@pytest.mark.parametrize("place", range(len(CALLS)), ids=lambda i: f"{CALLS[i][1]}{CALLS[i][2]}")
def test_the_browser_agrees_with_the_library(place: int, answers: list[Any]) -> None:
    assert close(answers[place], CALLS[place][3], relative=1e-8)


def test_at_the_crossing_both_errors_are_the_same() -> None:
    asked = [(share, epsilon, k) for share in (0.5, 0.01) for epsilon in EPSILONS for k in (1, 10)]
    crossings = answers_of([(NAME, "crossing", list(one), None) for one in asked])
    for (share, epsilon, questions), n in zip(asked, crossings, strict=True):
        sample = float(norm.ppf(0.975)) * math.sqrt(share * (1 - share) / n)
        assert math.isclose(sample, count(epsilon, questions).accuracy() / n, rel_tol=1e-8)


def test_parts_of_a_plan_add_up_to_the_budget() -> None:
    """What `planned` calls equal parts is what the library charges for them together."""
    parts = [PureDP(count(1.0, 4).privacy_loss().epsilon)] * 4
    assert compose(*parts).best == PureDP(1)
