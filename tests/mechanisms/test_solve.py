"""Accuracy first: the solver returns the smallest epsilon that keeps its promise."""

from __future__ import annotations

import math
from typing import Any

import pytest
from cases import together

from lapwing.errors import InvalidParameter
from lapwing.mechanisms import Count, Gaussian, Histogram, Laplace, RandomizedResponse, Sum, epsilon_for

FACTORIES = [
    (lambda epsilon: Laplace(epsilon=epsilon, sensitivity=1), 5, {}),
    (lambda epsilon: Laplace(epsilon=epsilon, sensitivity=0.3), 0.01, {}),
    (lambda epsilon: Count(epsilon=epsilon), 40, {}),
    (lambda epsilon: Sum(epsilon=epsilon, bounds=(0, 1000)), 123.4, {}),
    (lambda epsilon: Histogram(epsilon=epsilon, keys=range(50)), 7, {"simultaneous": True}),
    (RandomizedResponse.from_epsilon, 0.03, {"n": 5000}),
    (lambda epsilon: Gaussian.for_epsilon(epsilon, 1e-6, sensitivity=1), 10, {}),
]


@together(("factory", "within", "options"), FACTORIES)
@together("confidence", [0.5, 0.95])
def test_the_promise_is_kept_and_a_smaller_epsilon_would_break_it(
    factory: Any, within: float, options: dict[str, Any], confidence: float
) -> None:
    epsilon = epsilon_for(factory, within=within, confidence=confidence, **options)
    assert factory(epsilon).accuracy(confidence, **options) <= within
    assert factory(epsilon * 0.9989).accuracy(confidence, **options) > within
    assert float(f"{epsilon:.3e}") == epsilon


def test_solve_returns_the_mechanism_itself() -> None:
    mechanism = Laplace.solve(within=5, confidence=0.95, sensitivity=1, unit="household")
    assert (mechanism.accuracy(0.95), mechanism.unit) == (5, "household")
    assert mechanism.epsilon == epsilon_for(lambda epsilon: Laplace(epsilon=epsilon, sensitivity=1), within=5)


def test_an_exact_answer_is_a_matter_of_a_large_epsilon() -> None:
    assert 3 < epsilon_for(lambda epsilon: Count(epsilon=epsilon), within=0, confidence=0.95) < 4


@together("within", [-1, math.nan, math.inf, "5"])
def test_a_bad_target_is_refused(within: Any) -> None:
    with pytest.raises(InvalidParameter, match="within"):
        Laplace.solve(within=within, sensitivity=1)


def test_what_cannot_be_reached_or_built_is_said() -> None:
    with pytest.raises(InvalidParameter, match="out of reach"):
        RandomizedResponse.solve(within=0.001, n=10)
    with pytest.raises(InvalidParameter, match="sensitivity"):
        Laplace.solve(within=1, sensitivity=-1)
    with pytest.raises(InvalidParameter, match="confidence"):
        Laplace.solve(within=1, sensitivity=1, confidence=1)
