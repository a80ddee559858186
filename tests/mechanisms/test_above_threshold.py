"""Above threshold and sparse vector: the correct one, against every reply sequence of small streams."""

from __future__ import annotations

import copy
import itertools
import math
import multiprocessing
import pickle
import threading
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from cases import together
from chance import assert_follows, assert_seldom, assert_share, laplace_pmf

from lapwing.errors import BudgetExceeded, InvalidParameter
from lapwing.mechanisms import AboveThreshold, SparseVector

Replies = tuple[bool, ...]


def at_least(m: int, scale: float) -> float:
    a = math.exp(-1 / scale)
    return a**m / (1 + a) if m > 0 else 1 - a ** (1 - m) / (1 + a)


def law(mechanism: SparseVector, answers: Sequence[int]) -> dict[Replies, float]:
    """The probability of every sequence of replies, by summation over the noise of the threshold."""
    return _law(mechanism, tuple(answers))


@cache
def _law(mechanism: SparseVector, answers: tuple[int, ...]) -> dict[Replies, float]:
    line, scale = float(mechanism._threshold_scale), float(mechanism._scale)
    noise, chances = laplace_pmf(line), dict.fromkeys(sequences(len(answers), mechanism.cutoff), 0.0)
    for z in range(-math.ceil(45 * line), math.ceil(45 * line) + 1):
        yes = [at_least(mechanism._threshold + z - answer, scale) for answer in answers]
        for replies in chances:
            chances[replies] += noise(z) * math.prod(y if r else 1 - y for y, r in zip(yes, replies, strict=False))
    return chances


def sequences(length: int, cutoff: int) -> list[Replies]:
    found = set()
    for replies in itertools.product((False, True), repeat=length):
        yeses = [place for place, reply in enumerate(replies) if reply]
        found.add(replies[: yeses[cutoff - 1] + 1] if len(yeses) >= cutoff else replies)
    return sorted(found)


@pytest.mark.parametrize("cutoff", [1, 2])
@pytest.mark.parametrize("monotone", [False, True])
def test_no_reply_sequence_tells_neighbours_apart_by_more_than_epsilon(cutoff: int, monotone: bool) -> None:
    mechanism = SparseVector(epsilon=2, sensitivity=1, threshold=1, cutoff=cutoff, monotone=monotone)
    assert mechanism.privacy_loss().epsilon == 2
    worst = 0.0
    for answers in itertools.product((0, 1, 3), repeat=3):
        here = law(mechanism, answers)
        assert math.fsum(here.values()) == pytest.approx(1)
        for move in itertools.product((0, 1) if monotone else (-1, 1), repeat=3):
            there = law(mechanism, [answer + step for answer, step in zip(answers, move, strict=True)])
            worst = max(worst, *(abs(math.log(here[replies] / there[replies])) for replies in here))
    assert 0.8 < worst <= 2 + 1e-9


@pytest.mark.parametrize("kind", [list, np.array, iter])
def test_streams_lists_and_arrays_follow_the_law(kind: Any) -> None:
    mechanism = SparseVector(epsilon=1, sensitivity=1, threshold=2, cutoff=2)
    answers = [0, 5, 2, 1]
    chances = law(mechanism, answers)
    index = {replies: place for place, replies in enumerate(chances)}
    draws = (index[tuple(mechanism.release(kind(answers)))] for _ in range(10_000))
    assert_follows(draws, list(chances.values()).__getitem__, range(len(index)))


def test_the_threshold_keeps_its_noise_and_the_questions_get_fresh_noise() -> None:
    """Given the threshold, replies are independent; over its noise they are positively correlated."""
    mechanism = SparseVector(epsilon=1, sensitivity=1, threshold=0, cutoff=10)
    pairs = [mechanism.release([0, 0]) for _ in range(10_000)]
    both, single = sum(a and b for a, b in pairs), sum(a for a, _ in pairs)
    expected = law(mechanism, [0, 0])[(True, True)]
    assert_share(both, len(pairs), expected)
    assert expected > (single / len(pairs)) ** 2 * 1.02
    assert {tuple(pair) for pair in pairs} == set(sequences(2, 10))


def test_it_stops_after_the_last_yes_and_asks_for_no_more() -> None:
    def stream() -> Iterator[int]:
        yield from (0, 1000, 0, 1000)
        raise AssertionError("asked beyond the cutoff")

    mechanism = SparseVector(epsilon=5, sensitivity=1, threshold=500, cutoff=2)
    assert mechanism.release(stream()) == [False, True, False, True]
    assert mechanism.release(np.array([0, 1000, 0, 1000, 1000])) == [False, True, False, True]
    assert mechanism.release([]) == mechanism.release(np.array([])) == []


def test_the_first_answer_above_is_a_position_or_none() -> None:
    mechanism = AboveThreshold(epsilon=5, sensitivity=1, threshold=500)
    assert mechanism.cutoff == 1
    assert mechanism.release([0, 0, 1000, 0, 1000]) == mechanism.release(np.array([0, 0, 1000.0])) == 2
    assert mechanism.release([0, 0]) is None
    assert mechanism.release([]) is None
    with pytest.raises(TypeError):
        AboveThreshold(epsilon=1, sensitivity=1, threshold=0, cutoff=2)  # type: ignore[call-arg]


def test_a_session_answers_until_its_yeses_are_used_up() -> None:
    watch = SparseVector(epsilon=5, sensitivity=1, threshold=500, cutoff=2).start()
    assert [watch.ask(0), watch.ask(1000), watch.remaining, watch.ask(0), watch.ask(1000)] == [
        False,
        True,
        1,
        False,
        True,
    ]
    with pytest.raises(BudgetExceeded, match="0 of 2"):
        watch.ask(0)


def test_a_session_cannot_be_duplicated() -> None:
    watch = SparseVector(epsilon=5, sensitivity=1, threshold=500).start()
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="copied"):
            duplicate(watch)


def test_a_session_does_not_answer_in_a_forked_process() -> None:
    watch = SparseVector(epsilon=5, sensitivity=1, threshold=500).start()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()

    def child() -> None:
        try:
            queue.put(watch.ask(0))
        except BudgetExceeded as error:
            queue.put(str(error))

    process = context.Process(target=child)
    process.start()
    assert "forked" in queue.get(timeout=60)
    process.join()


def test_threads_together_never_get_more_yeses_than_allowed() -> None:
    watch, yeses = SparseVector(epsilon=5, sensitivity=1, threshold=0, cutoff=40).start(), []

    def hammer() -> None:
        while True:
            try:
                yeses.append(watch.ask(10**6))
            except BudgetExceeded:
                return

    threads = [threading.Thread(target=hammer) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(yeses) == 40


def test_epsilon_is_split_for_the_least_noise() -> None:
    mechanism = SparseVector(epsilon=1, sensitivity=1, threshold=0, cutoff=4)
    questions, line = 2 * 4 / mechanism._scale, 1 / mechanism._threshold_scale
    assert questions + line == 1
    assert questions / line == 4  # (2·4)^(2/3)
    halves = SparseVector(epsilon=1, sensitivity=1, threshold=0, cutoff=4, monotone=True)
    assert halves._scale < mechanism._scale


def test_strange_answers_count_as_zero_and_far_ones_are_far() -> None:
    mechanism = SparseVector(epsilon=5, sensitivity=1, threshold=500, cutoff=9)
    strange = [math.nan, math.inf, None, -math.inf, 10**400, -(10**400)]
    assert mechanism.release(strange) == [False, False, False, False, True, False]
    ends = np.array([math.nan, math.inf, -math.inf, 1e300, -1e300])
    assert mechanism.release(ends) == [False, False, False, True, False]
    wide = SparseVector(epsilon=Fraction(1, 1 << 55), sensitivity=1, threshold=0, cutoff=3)
    assert {reply for _ in range(50) for reply in wide.release(np.array([1 << 59, -(1 << 59)]))} == {False, True}


def test_the_accuracy_holds_for_all_questions_at_once() -> None:
    mechanism = AboveThreshold(epsilon=1, sensitivity=1, threshold=0)
    reach = mechanism.accuracy(0.9, questions=50)
    stream = np.array([-reach - 1] * 49 + [reach + 1])
    wrong = sum(mechanism.release(stream) != 49 for _ in range(2000))
    assert_seldom(wrong, 2000, 0.1)
    assert mechanism.accuracy(0.9, questions=1) < reach
    assert AboveThreshold.solve(within=20, questions=10, sensitivity=1, threshold=0).accuracy(questions=10) <= 20


@together(
    ("name", "value"),
    [
        ("epsilon", 0),
        ("epsilon", math.nan),
        ("sensitivity", 0),
        ("threshold", math.inf),
        ("threshold", "high"),
        ("threshold", 1 << 61),
        ("cutoff", 0),
        ("cutoff", 1.5),
        ("monotone", 1),
        ("granularity", -1),
        ("granularity", Fraction(1, 1 << 62)),
    ],
)
def test_bad_parameters_are_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(InvalidParameter) as caught:
        SparseVector(**{"epsilon": 1, "sensitivity": 1, "threshold": 0, name: value})  # type: ignore[arg-type]
    assert caught.value.name == name


def test_nothing_is_monotone_under_replace() -> None:
    with pytest.raises(InvalidParameter, match="replac"):
        SparseVector(epsilon=1, sensitivity=1, threshold=0, monotone=True, relation="replace")
