"""What an adversary believes and guesses after answers with noise."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

from browser import Call
from scipy.stats import dlaplace, laplace

from lapwing.privacy.explanation import posterior, power

EPSILONS = (0.05, 0.5, 1.0, 4.0)
GAP = 0.01
"""What one person changes in the game of guessing."""


def highest(epsilon: float, prior: float) -> float:
    return float(posterior(Fraction(epsilon), Fraction(prior))[1])


def odds() -> Iterator[Call]:
    for epsilon in (0.01, 0.5, 1.0, 8.0):
        for prior in (0.01, 0.5, 0.9):
            yield "odds", "posterior", [epsilon, prior], highest(epsilon, prior)


def extremes() -> Iterator[Call]:
    for epsilon, prior in itertools.product(EPSILONS, (0.02, 0.5, 0.9)):
        yield "adversary", "least", [epsilon, prior], float(posterior(Fraction(epsilon), Fraction(prior))[0])
        yield "adversary", "together", [epsilon, prior], highest(2 * epsilon, prior)


def accusations() -> Iterator[Call]:
    for epsilon, alarm in itertools.product(EPSILONS, (0.0, 0.01, 0.05, 0.3, 0.5, 0.8, 1.0)):
        for delta in (0.0, 0.01):
            expected = power(Fraction(epsilon), Fraction(delta), Fraction(alarm))
            yield "adversary", "power", [epsilon, delta, alarm], float(expected)
        threshold = laplace.isf(alarm, scale=1 / epsilon)
        yield "adversary", "found", [epsilon, alarm], float(laplace.sf(threshold, loc=1, scale=1 / epsilon))


def games() -> Iterator[Call]:
    for scale, threshold in itertools.product((0.003, 0.03), (-0.01, 0.0, 0.005, 0.012)):
        wrong, found = laplace.sf(threshold, 0, scale), laplace.sf(threshold, GAP, scale)
        ratio = laplace.pdf(threshold, GAP, scale) / laplace.pdf(threshold, 0, scale)
        yield "game", "above", [threshold, GAP, scale], float(found)
        yield "game", "right", [threshold, GAP, scale], float(found + 1 - wrong) / 2
        yield "game", "ratio", [threshold, GAP, scale], float(ratio)
    for scale in (0.003, 0.03, 1.0):
        # The best threshold lies in the middle, where one density passes the other; there the total variation shows.
        apart = float(laplace.cdf(GAP / 2, 0, scale) - laplace.cdf(GAP / 2, GAP, scale))
        yield "game", "best", [GAP, scale], (1 + apart) / 2


def narrowing() -> Iterator[Call]:
    most = 12
    for answers in ([], [7], [7, 4, 9], [-2], [13, 10]):
        left = [count for count in range(most + 1) if all(abs(answer - count) <= 3 for answer in answers)]
        yield "narrowing", "left", [answers, 3, most], [left[0], left[-1]]
        shares = [1 / len(left) if count in left else 0 for count in range(most + 1)]
        yield "narrowing", "bounded", [answers, 3, most], shares
        likely = [math.prod(dlaplace.pmf(answer - count, 0.5) for answer in answers) for count in range(most + 1)]
        yield "narrowing", "laplace", [answers, 0.5, most], [float(one / math.fsum(likely)) for one in likely]
    for width, asked in ((1, 2), (1, 4), (2, 3)):
        draws = list(itertools.product(range(-width, width + 1), repeat=asked))
        both = sum(min(draw) == -width and max(draw) == width for draw in draws)
        yield "narrowing", "certain", [width, asked], both / len(draws)
    for epsilon in (0.05, 0.1, 0.3, 0.5, 1.0, 4.0):
        off = 2 * math.fsum(steps * dlaplace.pmf(steps, epsilon) for steps in range(1, 1000))
        uniform = {width: sum(map(abs, range(-width, width + 1))) / (2 * width + 1) for width in range(1, 60)}
        yield "narrowing", "alike", [epsilon], min(uniform, key=lambda width: abs(uniform[width] - off))
