"""Permute-and-flip and report noisy max, and what all selections do with parameters and strange scores."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import together
from chance import assert_follows, assert_seldom, assert_share, laplace_pmf

from lapwing.errors import InvalidParameter
from lapwing.mechanisms import Exponential, NoisyMax, PermuteAndFlip
from lapwing.mechanisms.selection import Selection

SELECTIONS: list[type[Selection]] = [Exponential, NoisyMax, PermuteAndFlip]
Law = Callable[[Sequence[int], float], list[float]]


def flip_law(scores: Sequence[int], scale: float) -> list[float]:
    """By enumeration of all outcomes of all coins."""
    coins = [math.exp((score - max(scores)) / scale) for score in scores]
    chances = [0.0] * len(scores)
    for heads in itertools.product((False, True), repeat=len(scores)):
        probability = math.prod(coin if head else 1 - coin for coin, head in zip(coins, heads, strict=True))
        for place in range(len(scores)):
            if heads[place]:
                chances[place] += probability / sum(heads)
    return chances


def noisy_max_law(scores: Sequence[int], scale: float) -> list[float]:
    """By summation over the winner's noise; the tail beyond 60 scales is left out."""
    noise, reach = laplace_pmf(scale), math.ceil(60 * scale)
    a = math.exp(-1 / scale)

    def at_most(z: int) -> float:
        return 1 - a ** (z + 1) / (1 + a) if z >= 0 else a**-z / (1 + a)

    chances = []
    for place, score in enumerate(scores):
        total = 0.0
        for z in range(-reach, reach + 1):
            beats = (
                at_most(score + z - other - (rival < place)) for rival, other in enumerate(scores) if rival != place
            )
            total += noise(z) * math.prod(beats)
        chances.append(total)
    return chances


def worst_log_ratio(law: Law, scale: float, moves: Sequence[Sequence[int]]) -> float:
    worst = 0.0
    for scores in itertools.product(range(3), repeat=3):
        here = law(scores, scale)
        for move in moves:
            there = law([score + step for score, step in zip(scores, move, strict=True)], scale)
            worst = max(worst, *(abs(math.log(p / q)) for p, q in zip(here, there, strict=True)))
    return worst


MOVES = list(itertools.product((-1, 0, 1), repeat=3))
UP = [move for move in MOVES if min(move) >= 0]


@pytest.mark.parametrize(("kind", "law"), [(PermuteAndFlip, flip_law), (NoisyMax, noisy_max_law)])
def test_no_neighbours_are_told_apart_by_more_than_the_stated_epsilon(kind: type[Selection], law: Law) -> None:
    general = kind(epsilon=2, sensitivity=1, candidates=3)
    assert 1 < worst_log_ratio(law, float(general._scale), MOVES) <= 2 + 1e-9
    monotone = kind(epsilon=2, sensitivity=1, candidates=3, monotone=True)
    assert general._scale == 2 * monotone._scale
    assert 1 < worst_log_ratio(law, float(monotone._scale), UP) <= 2 + 1e-9
    assert worst_log_ratio(law, float(monotone._scale), MOVES) > 2.5  # half the noise is not enough in general


@pytest.mark.parametrize(("kind", "law"), [(PermuteAndFlip, flip_law), (NoisyMax, noisy_max_law)])
@pytest.mark.parametrize("scores", [[0, 3, 1, 3], [5, 5, 5, 5]])
def test_lists_and_arrays_follow_the_same_law(kind: type[Selection], law: Law, scores: list[int]) -> None:
    mechanism = kind(epsilon=1, sensitivity=1, candidates=4)
    chances = law(scores, 2.0)
    assert math.fsum(chances) == pytest.approx(1)
    for data in (scores, np.array(scores), np.array(scores, dtype=float) + 0.3):
        assert_follows((mechanism.release(data) for _ in range(4000)), chances.__getitem__, range(4))


@pytest.mark.parametrize("kind", SELECTIONS)
def test_scales_beyond_int64_and_distances_beyond_it_are_handled(kind: type[Selection]) -> None:
    wide = kind(epsilon=Fraction(1, 1 << 58), sensitivity=1, candidates=3)
    assert {wide.release(np.array([-(1 << 59), 1 << 59, 0])) for _ in range(400)} == {0, 1, 2}
    far = [-(1 << 63), (1 << 63) - 1, 0]
    sharp = kind(epsilon=1, sensitivity=1, candidates=3)
    assert sharp.release(np.array(far)) == sharp.release(far) == sharp.release([-(10**400), 10**400, 0]) == 1
    assert kind(epsilon=10**400, sensitivity=1, candidates=3).release([0, 2, 1]) == 1


def test_two_options_at_epsilon_four() -> None:
    """The reference values: permute-and-flip .068, exponential mechanism .119."""
    assert flip_law([1, 0], 0.5)[1] == pytest.approx(0.0677, abs=1e-4)
    for kind, error in ((PermuteAndFlip, math.exp(-2) / 2), (Exponential, 1 / (1 + math.exp(2)))):
        mechanism = kind(epsilon=4, sensitivity=1, candidates=2)
        assert_share(sum(mechanism.release([1, 0]) for _ in range(20_000)), 20_000, error)


def test_permute_and_flip_is_never_worse_than_the_exponential_mechanism() -> None:
    for scores in itertools.product(range(4), repeat=3):
        weights = [math.exp(score / 2) for score in scores]
        error = sum((max(scores) - s) * w for s, w in zip(scores, weights, strict=True)) / sum(weights)
        ours = sum((max(scores) - s) * p for s, p in zip(scores, flip_law(scores, 2.0), strict=True))
        assert ours <= error + 1e-12
    parameters: dict[str, Any] = {"epsilon": 1, "sensitivity": 1, "candidates": 20}
    assert PermuteAndFlip(**parameters).accuracy() <= Exponential(**parameters).accuracy()


def test_the_accuracy_of_permute_and_flip_is_exact_in_the_worst_case() -> None:
    mechanism = PermuteAndFlip(epsilon=1, sensitivity=1, candidates=6)
    gap = int(mechanism.accuracy(0.8))
    misses = [1 - flip_law([a, 0, 0, 0, 0, 0], 2.0)[0] for a in (gap, gap + 1)]
    assert misses[1] <= 0.2 < misses[0]


@pytest.mark.parametrize("count", [2, 1000])
def test_the_accuracy_of_noisy_max_holds_in_the_worst_case(count: int) -> None:
    mechanism = NoisyMax(epsilon=1, sensitivity=1, candidates=count)
    gap = int(mechanism.accuracy(0.9))
    scores = np.zeros(count, dtype=np.int64)
    scores[-1] = gap + 1
    misses = sum(mechanism.release(scores) != count - 1 for _ in range(2000))
    assert_seldom(misses, 2000, 0.1)
    if count == 2:  # with one rival the union bound is the exact tail
        assert 1 - noisy_max_law([gap + 1, 0], 2.0)[0] <= 0.1 < 1 - noisy_max_law([0, gap - 1], 2.0)[1]


@pytest.mark.parametrize("kind", SELECTIONS)
def test_labels_come_back_and_floats_cost_their_rounding(kind: type[Selection]) -> None:
    mechanism = kind(epsilon=20, sensitivity=1, candidates=("red", "green"), granularity=0.75)
    assert mechanism._steps == 2
    assert mechanism.privacy_loss().epsilon == 20
    assert mechanism.release([0, 50]) == "green"
    assert kind(epsilon=20, sensitivity=1, candidates=np.array([1.5, 2.5])).release([0, 50]) == 2.5
    assert hash(kind(epsilon=1, sensitivity=1, candidates=["a", "b"])) == hash(
        kind(epsilon=1, sensitivity=1, candidates=("a", "b"))
    )


@pytest.mark.parametrize("kind", SELECTIONS)
def test_what_is_not_a_finite_number_counts_as_zero(kind: type[Selection]) -> None:
    mechanism = kind(epsilon=20, sensitivity=1, candidates=4)
    strange = [math.nan, math.inf, None, -math.inf]
    assert {mechanism.release([*strange[:3], 30]) for _ in range(20)} == {3}
    assert {mechanism.release(np.array([math.nan, math.inf, -math.inf, 30.0])) for _ in range(20)} == {3}
    assert {mechanism.release([Decimal("NaN"), -30, -30, Fraction(-61, 2)]) for _ in range(20)} == {0}
    gentle = kind(epsilon=1, sensitivity=1, candidates=4)
    assert {gentle.release(strange) for _ in range(400)} == {0, 1, 2, 3}


@pytest.mark.parametrize("kind", SELECTIONS)
@together(
    ("name", "value"),
    [
        ("epsilon", 0),
        ("epsilon", -1),
        ("epsilon", math.nan),
        ("epsilon", "1"),
        ("sensitivity", 0),
        ("sensitivity", math.inf),
        ("candidates", 0),
        ("candidates", []),
        ("candidates", "abc"),
        ("candidates", 2.5),
        ("monotone", "yes"),
        ("granularity", 0),
        ("granularity", Fraction(1, 1 << 61)),
        ("relation", "neighbour"),
        ("unit", ""),
    ],
)
def test_bad_parameters_are_refused_by_name(kind: type[Selection], name: str, value: object) -> None:
    good: dict[str, Any] = {"epsilon": 1, "sensitivity": 1, "candidates": 3}
    with pytest.raises(InvalidParameter) as caught:
        kind(**{**good, name: value})
    assert caught.value.name == name


@pytest.mark.parametrize("kind", SELECTIONS)
def test_nothing_is_monotone_under_replace(kind: type[Selection]) -> None:
    with pytest.raises(InvalidParameter, match="replac"):
        kind(epsilon=1, sensitivity=1, candidates=3, monotone=True, relation="replace")
    assert kind(epsilon=1, sensitivity=1, candidates=3, relation="replace").privacy_loss().relation == "replace"


@pytest.mark.parametrize("kind", SELECTIONS)
@together("scores", [[1, 2], [1, 2, 3, 4], np.zeros(5), np.zeros((3, 1)), []])
def test_a_wrong_number_of_scores_names_the_declared_number_only(kind: type[Selection], scores: object) -> None:
    with pytest.raises(InvalidParameter, match="exactly 3 scores") as caught:
        kind(epsilon=1, sensitivity=1, candidates=3).release(scores)
    assert not set("1245") & set(str(caught.value))


def test_a_fixed_normaliser_excludes_monotone() -> None:
    with pytest.raises(InvalidParameter, match="fixed_normaliser"):
        Exponential(epsilon=1, sensitivity=1, candidates=3, monotone=True, fixed_normaliser=True)


@pytest.mark.parametrize("kind", SELECTIONS)
def test_one_candidate_is_always_chosen(kind: type[Selection]) -> None:
    mechanism = kind(epsilon=1, sensitivity=1, candidates=["only"])
    assert mechanism.release([7]) == "only"
    assert mechanism.accuracy() == 0


def test_noisy_max_over_several_blocks_keeps_the_order_of_candidates() -> None:
    mechanism = NoisyMax(epsilon=Fraction(10**6), sensitivity=1, candidates=100_000)
    scores = np.zeros(100_000, dtype=np.int64)
    scores[[40_000, 40_001, 99_999]] = 5
    assert mechanism.release(scores) == 40_000  # equals: the first wins, across blocks too
    scores[99_999] = 6
    assert mechanism.release(scores) == 99_999
    scores[[7, 99_999]] = (1 << 62, (1 << 63) - 1)
    assert mechanism.release(scores) == 99_999
    assert scores[7] == 1 << 62  # the data stay as they are
