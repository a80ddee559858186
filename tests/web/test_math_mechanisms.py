"""The pictures of the mechanisms are drawn from the library's numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
from browser import Call, answers_of, close

from lapwing.mechanisms import RandomizedResponse

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
            if 0 <= found.share <= 1:
                yield name, "sampleError", [found.share, n, epsilon], found.sample_standard_error


CALLS = [*randomized_response()]


@pytest.fixture(scope="module")
def answers() -> list[Any]:
    return answers_of(CALLS)


@pytest.mark.parametrize("place", range(len(CALLS)), ids=lambda i: f"{CALLS[i][0]}.{CALLS[i][1]}{CALLS[i][2]}")
def test_the_browser_agrees_with_the_library(place: int, answers: list[Any]) -> None:
    assert close(answers[place], CALLS[place][3])
