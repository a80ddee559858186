"""The widgets about the definition compute what the library computes, and the texts say it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from browser import Call, answers_of, close
from school_site import nuggets
from scipy.stats import dlaplace, laplace

from lapwing.privacy.composition import compose
from lapwing.privacy.explain import posterior, power
from lapwing.privacy.losses import PureDP

EPSILONS = (0.05, 0.5, 1.0, 4.0)
SCHOOL = nuggets()


def highest(epsilon: float, prior: float) -> float:
    return float(posterior(Fraction(epsilon), Fraction(prior))[1])


def beliefs() -> Iterator[Call]:
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
        wrong, found = laplace.sf(threshold, 0, scale), laplace.sf(threshold, 0.01, scale)
        ratio = laplace.pdf(threshold, 0.01, scale) / laplace.pdf(threshold, 0, scale)
        yield "game", "above", [threshold, 0.01, scale], float(found)
        yield "game", "right", [threshold, 0.01, scale], float(found + 1 - wrong) / 2
        yield "game", "ratio", [threshold, 0.01, scale], float(ratio)


def narrowings() -> Iterator[Call]:
    most = 12
    for answers in ([], [7], [7, 4, 9], [-2], [13, 10]):
        left = [count for count in range(most + 1) if all(abs(answer - count) <= 3 for answer in answers)]
        yield "narrowing", "left", [answers, 3, most], [left[0], left[-1]]
        yield (
            "narrowing",
            "bounded",
            [answers, 3, most],
            [1 / len(left) if count in left else 0 for count in range(most + 1)],
        )
        likely = [math.prod(dlaplace.pmf(answer - count, 0.5) for answer in answers) for count in range(most + 1)]
        yield "narrowing", "laplace", [answers, 0.5, most], [float(one / math.fsum(likely)) for one in likely]
    for width, asked in ((1, 2), (1, 4), (2, 3)):
        draws = list(itertools.product(range(-width, width + 1), repeat=asked))
        both = sum(min(draw) == -width and max(draw) == width for draw in draws)
        yield "narrowing", "certain", [width, asked], both / len(draws)


CALLS = [*beliefs(), *accusations(), *games(), *narrowings()]


@pytest.fixture(scope="module")
def answers() -> list[Any]:
    return answers_of(CALLS)


@pytest.mark.parametrize("place", range(len(CALLS)), ids=lambda i: f"{CALLS[i][0]}.{CALLS[i][1]}{CALLS[i][2]}")
def test_the_browser_agrees_with_the_library(place: int, answers: list[Any]) -> None:
    assert close(answers[place], CALLS[place][3])


def words(slug: str) -> str:
    return " ".join(SCHOOL.pages[slug].words.split())


@pytest.mark.parametrize("prior", [1, 10, 50, 90])
def test_the_table_of_beliefs_is_computed(prior: int) -> None:
    epsilons = (0.01, 0.1, 0.5, 1, math.log(3), 2, 5)
    row = " ".join(f"{100 * highest(epsilon, prior / 100):.2f}" for epsilon in epsilons)
    assert f"{prior} {row}" in words("the-adversarys-perspective")


def test_the_premiums_are_computed_and_rounded_up() -> None:
    text = words("the-adversarys-perspective")
    for epsilon in (0.01, 0.1, 0.5, 1.0, 2.0):
        assert f"{math.ceil(100_000 * highest(2 * epsilon, 0.02)):,}" in text


def test_the_table_of_compositions_is_computed() -> None:
    text = words("the-definition")
    found = [compose(*[PureDP(0.1)] * count, delta=1e-6).advanced for count in (10, 25, 50, 100, 1000)]
    assert all(found)
    assert "advanced " + " ".join(f"{float(loss.epsilon):.3g}" for loss in found if loss) in text


def test_the_game_of_the_text_is_the_game_of_the_widget(answers: list[Any]) -> None:
    text = words("the-definition")
    for scale in (0.003, 0.03):
        place = [call[:3] for call in CALLS].index(("game", "right", [0.005, 0.01, scale]))
        assert f"right {100 * answers[place]:.0f} times in 100" in text
