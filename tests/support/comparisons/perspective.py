"""Noise put into perspective: errors, chances and budgets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial

import pytest
from browser import Call
from scipy.stats import laplace, norm

from lapwing.mechanisms import Laplace
from lapwing.privacy.explanation import power

NAME = "perspective"
EPSILONS = (0.01, 0.1, 1.0, math.log(3), 8.0)
FINE = Fraction(1, 1 << 40)
"""The library's noise lives on a grid; on this one it is continuous for all that is drawn."""
nearly = partial(pytest.approx, rel=1e-8)


def count(epsilon: float, questions: int = 1) -> Laplace:
    return Laplace(epsilon=Fraction(epsilon) / questions, sensitivity=1, granularity=FINE, on_grid=True)


def errors() -> Iterator[Call]:
    for share in (0.5, 0.2, 0.01):
        for n in (10, 1000, 1_000_000):
            half = float(norm.ppf(0.975)) * math.sqrt(share * (1 - share) / n)
            yield NAME, "samplingError", [share, n], nearly(half)
            for questions in (1, 100):
                noise = count(0.5, questions)
                yield NAME, "noiseError", [n, 0.5, questions], nearly(noise.accuracy() / n)
                alone = share * (1 - share) / n
                together = alone + noise.variance / n**2
                yield NAME, "lostAnswers", [share, n, 0.5, questions], nearly(n - n * alone / together)


def budgets() -> Iterator[Call]:
    for epsilon in EPSILONS:
        yield NAME, "countError", [epsilon], nearly(count(epsilon).accuracy())
        yield NAME, "planned", [epsilon, 4], nearly([count(epsilon, 4).accuracy()] * 4)
        yield NAME, "halved", [epsilon, 3], nearly([count(epsilon, 2**place).accuracy() for place in (1, 2, 3)])
    for within in (5, 20):
        solved = Laplace.solve(within=within, sensitivity=1, granularity=FINE, on_grid=True).epsilon
        yield NAME, "priceOf", [within], nearly(float(laplace.ppf(0.975)) / within)
        yield NAME, "affordable", [10.0, within], math.floor(10 / solved)


def chances() -> Iterator[Call]:
    for epsilon in EPSILONS:
        for chance in (0.001, 0.01, 0.5):
            most = power(Fraction(epsilon), Fraction(0), Fraction(chance))
            least = 1 - power(Fraction(epsilon), Fraction(0), 1 - Fraction(chance))
            yield NAME, "chances", [chance, epsilon], nearly([float(least), float(most)])
