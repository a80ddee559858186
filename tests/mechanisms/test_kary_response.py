"""Randomized response with k answers: exact probabilities for every pair of truths."""

from __future__ import annotations

import math
import pickle
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import together
from chance import assert_follows, assert_mean

from lapwing.crowd import CategoryResponse
from lapwing.errors import InvalidParameter
from lapwing.exact import ln_up
from lapwing.mechanisms import KaryResponse, RandomizedResponse

POLL = KaryResponse(categories=["bus", "bike", "car", "feet"], keep=Fraction(1, 2))


@together("epsilon", [0.01, 1, 3, 30])
@together("k", [2, 5, 1000])
def test_the_stated_epsilon_is_the_largest_ratio_and_at_most_what_was_asked(epsilon: float, k: int) -> None:
    mechanism = KaryResponse.from_epsilon(epsilon, categories=k)
    keep, switch = mechanism._keep, mechanism.switch
    assert keep + (k - 1) * switch == 1
    assert switch < Fraction(1, k) < keep
    assert mechanism.privacy_loss().epsilon == ln_up(keep / switch) <= Fraction(epsilon)
    assert float(mechanism.privacy_loss().epsilon) == pytest.approx(epsilon, rel=1e-3)
    assert float(keep) == pytest.approx(math.exp(epsilon) / (math.exp(epsilon) + k - 1), rel=3e-3)


@together("epsilon", [0.01, 0.5, 1, Fraction(7, 3), 8])
@together("k", [2, 3, 10, 1000])
def test_the_mechanism_and_the_protocol_of_the_crowd_keep_the_truth_alike(epsilon: Any, k: int) -> None:
    mechanism, protocol = (
        KaryResponse.from_epsilon(epsilon, categories=k),
        CategoryResponse.from_epsilon(epsilon, domain=k),
    )
    assert mechanism.keep == protocol.keep
    assert mechanism.switch == protocol.switch
    assert mechanism.privacy_loss() == protocol.privacy_loss()


def test_two_categories_are_randomized_response_to_a_thousandth() -> None:
    binary = RandomizedResponse.from_epsilon(1.5)
    assert float(KaryResponse.from_epsilon(1.5, categories=2)._keep) == pytest.approx(float(binary.gamma), rel=1e-3)


@together("truth", [0, 3, -1, 4, None, "car", 10**30])
def test_answers_have_exactly_the_stated_probabilities(truth: Any) -> None:
    k, mechanism = 4, KaryResponse(categories=4, keep=Fraction(1, 2))
    known = truth in range(4)

    def pmf(answer: int) -> float:
        return (0.5 if answer == truth else 1 / 6) if known else 1 / k

    assert_follows([mechanism.release(truth) for _ in range(10_000)], pmf, range(k))
    assert_follows(mechanism.release([truth] * 20_000), pmf, range(k))
    array = np.array([truth] * 20_000)
    assert_follows(mechanism.release(array), pmf, range(k))


def test_labels_come_back_as_labels() -> None:
    assert POLL.release("bike") in POLL.categories  # type: ignore[operator]
    assert set(POLL.release(["bike"] * 1000)) == set(POLL.categories)  # type: ignore[arg-type]
    array = POLL.release(np.array(["bike", "car"] * 5000))
    assert array.dtype.kind == "U"
    counts = Counter(array[::2].tolist())
    assert_follows(
        [list(POLL.categories).index(label) for label in array[::2].tolist()],  # type: ignore[arg-type]
        lambda place: 0.5 if place == 1 else 1 / 6,
        range(4),
    )
    assert counts.total() == 5000
    mixed = KaryResponse(categories=[None, "a", (1, 2)], keep=0.5)
    assert mixed.release([1]) != []
    assert mixed.release(np.array([None, "a"], dtype=object)).shape == (2,)
    assert POLL.release([[], {}, math.nan])[0] in POLL.categories  # type: ignore[operator]
    assert KaryResponse(categories=3, keep=0.5).release(np.zeros((4, 5), dtype=int)).shape == (4, 5)


def test_estimates_are_unbiased_with_the_stated_errors() -> None:
    truths = np.repeat([0, 1, 2], [700, 200, 100])
    mechanism = KaryResponse.from_epsilon(1, categories=3)
    estimates = [mechanism.estimate(mechanism.release(truths)) for _ in range(1000)]
    for category, share in ((0, 0.7), (1, 0.2), (2, 0.1)):
        variance = estimates[0][category].population_standard_error ** 2
        assert_mean([estimate[category].share for estimate in estimates], share, variance * 1.1)
    assert all(sum(part.share for part in estimate.values()) == pytest.approx(1) for estimate in estimates[:50])
    beyond = sum(abs(estimate[0].share - 0.7) > mechanism.accuracy(0.9, n=1000) for estimate in estimates)
    assert beyond <= 100


def test_estimates_from_counts_and_clipping() -> None:
    counts = {"bus": 400, "bike": 300, "car": 300}
    estimate = POLL.estimate(counts)
    assert estimate["bus"].share == pytest.approx((0.4 - 1 / 6) / (1 / 2 - 1 / 6))
    assert estimate["feet"].share == pytest.approx(-0.5)
    assert POLL.estimate(counts, clip=True)["feet"].share == 0
    with pytest.raises(InvalidParameter, match="categories"):
        POLL.estimate(["train"])


def test_accuracy_and_solving() -> None:
    mechanism = KaryResponse.from_epsilon(1, categories=10)
    assert mechanism.accuracy(0.95, n=100, simultaneous=True) > mechanism.accuracy(0.95, n=100)
    assert mechanism.variance > 0
    solved = KaryResponse.solve(within=0.1, n=10_000, categories=5, simultaneous=True)
    assert solved.accuracy(0.95, n=10_000, simultaneous=True) <= 0.1
    assert pickle.loads(pickle.dumps(POLL)) == POLL


@together(
    "parameters",
    [
        {"categories": 1},
        {"categories": "ab"},
        {"categories": ["a"]},
        {"categories": ["a", "a"]},
        {"categories": [math.nan, 1]},
        {"categories": 2.5},
        {"keep": 0.25},
        {"keep": 1},
        {"keep": "half"},
        {"relation": "add_remove"},
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        KaryResponse(**{"categories": 4, "keep": 0.5} | parameters)
