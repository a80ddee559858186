"""Every bug found in a peer, beside what we have instead: the auditor catches the one and not the other.

That the controls are caught is tested in tests/contract. Here each is answered by our own mechanism on the same
neighbours.
"""

from __future__ import annotations

import functools
import itertools
import operator
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import together
from chance import FALSE_ALARM, assert_mean

from lapwing import noise
from lapwing.adversary import CONTROLS, Control, audit, controls, peers
from lapwing.errors import LapwingError
from lapwing.mechanisms import (
    BinaryTree,
    BudgetDistribution,
    Count,
    Exponential,
    Gaussian,
    Hierarchy,
    Histogram,
    KaryResponse,
    KeySelection,
    Laplace,
    Mean,
    NoisyMax,
    RandomizedResponse,
    SignedTree,
    SparseVector,
    Sum,
    Tree,
)

HALF = RandomizedResponse.from_epsilon(Fraction(1, 2))
WHOLE_SUM = Sum(epsilon=1, bounds=(0, 1), granularity=1)
GRID = Fraction(1, 1024)
KEYS = KeySelection(epsilon=1, delta=1e-3)
TOWNS = Hierarchy(tree=Tree([[2], [2, 1]]), epsilon=1)
BINS = Histogram(epsilon=1, keys=[0, 1], relation="replace")


@dataclass(frozen=True, slots=True)
class Instead:
    """What we have instead, as a function of the control's data."""

    release: Callable[..., Any]


def one_hot(answer: int, entropy: noise.Entropy) -> list[bool]:
    return HALF.release([index == answer for index in range(4)], entropy)


def whole(mechanism: Any, sequence: type = list) -> Instead:
    return Instead(lambda data, entropy: mechanism.release(sequence(data), entropy))


def shown_keys(keys: Sequence[str], entropy: noise.Entropy) -> list[str]:
    present = sorted(set(keys))
    shown = KEYS.release([keys.count(key) for key in present], entropy)
    return list(itertools.compress(present, shown))


OURS: dict[Control, Instead] = {
    controls.sparse_vector_without_query_noise: whole(SparseVector(epsilon=1, sensitivity=1000, threshold=0)),
    controls.sparse_vector_without_cutoff: whole(SparseVector(epsilon=1, sensitivity=1, threshold=0, cutoff=1)),
    controls.noisy_max_that_returns_the_value: whole(NoisyMax(epsilon=1, sensitivity=1, candidates=4, monotone=True)),
    controls.histogram_with_sensitivity_one_under_replace: Instead(
        lambda counts, entropy: BINS.release([counts.index(1)], entropy)
    ),
    controls.unclamped_sum: whole(WHOLE_SUM),
    controls.bounds_from_data: whole(Sum(epsilon=1, bounds=(0, 10), granularity=1)),
    controls.mean_with_the_true_number_of_people: whole(Mean(epsilon=1, bounds=(0, 1))),
    controls.count_with_a_reused_seed: whole(Count(epsilon=1)),
    controls.keys_from_the_data: Instead(shown_keys),
    controls.w_event_without_a_memory: whole(BudgetDistribution(epsilon=1, window=8)),
    controls.daily_sums_with_fresh_noise: whole(SignedTree(epsilon=1, steps=8, sensitivity=1)),
    controls.tree_whose_levels_are_paid_once: Instead(
        lambda towns, entropy: [list(map(int, level)) for level in TOWNS.release(list(towns), entropy).levels]
    ),
    controls.tree_that_pays_for_one_level: whole(BinaryTree.for_epsilon(1, steps=8, sensitivity=1)),
    peers.laplace_in_floats: Instead(Laplace(epsilon=1, sensitivity=1, granularity=GRID).release),
    peers.gaussian_in_floats: Instead(Gaussian.for_epsilon(1, 1e-5, sensitivity=1, granularity=GRID).release),
    peers.sum_in_floats: whole(Sum(epsilon=1, bounds=(peers.LOW, peers.HIGH), granularity=1, relation="replace")),
    peers.sum_that_wraps: whole(WHOLE_SUM),
    peers.sum_that_raises: whole(WHOLE_SUM),
    peers.sum_with_one_nan: whole(Sum(epsilon=1, bounds=(0, 1))),
    peers.sensitivity_from_the_lower_bound: whole(WHOLE_SUM),
    peers.exponential_mechanism_that_underflows: whole(Exponential(epsilon=1, sensitivity=1, candidates=2)),
    peers.noisy_max_that_charges_a_quarter: whole(NoisyMax(epsilon=1, sensitivity=1, candidates=2)),
    peers.unary_encoding_at_full_epsilon: Instead(one_hot),
    peers.bit_vector_with_an_off_by_one: whole(RandomizedResponse.from_epsilon(1)),
    peers.rappor_that_never_clears_a_bit: Instead(one_hot),
    peers.noise_repeated_in_forked_children: whole(Laplace(epsilon=1, sensitivity=1, dimensions=2, on_grid=True)),
    peers.error_that_prints_data: whole(Sum(epsilon=1, bounds=(0, 1))),
}


@pytest.mark.parametrize("control", CONTROLS, ids=str)
def test_what_we_have_instead_is_not_caught(control: Control) -> None:
    claim = control.privacy_loss()
    found = audit(OURS[control], control.pair, claimed=claim, samples=6000, confidence=1 - FALSE_ALARM)
    assert not found.caught, found.explain()


def test_a_control_tells_its_lesson() -> None:
    assert len({control.name for control in CONTROLS}) == len(CONTROLS)
    assert all(len(control.lesson) > 40 for control in CONTROLS)


REFERENCE = {
    controls.sparse_vector_without_query_noise: 5.5,
    controls.sparse_vector_without_cutoff: 2.4,
    controls.noisy_max_that_returns_the_value: 2.0,
    controls.histogram_with_sensitivity_one_under_replace: 1.3,
    controls.unclamped_sum: 7.0,
    controls.bounds_from_data: 7.0,
    controls.mean_with_the_true_number_of_people: 2.4,
    controls.count_with_a_reused_seed: 7.1,
}


def test_the_controls_are_shown_up_as_far_as_the_reference_asks() -> None:
    assert all(control.shows > reference - 0.05 for control, reference in REFERENCE.items())


# -- float sums --------------------------------------------------------------------------------------------------------


def test_walking_from_all_low_to_all_high_no_step_is_longer_than_the_sensitivity() -> None:
    low, high, n = peers.LOW, peers.HIGH, 64
    walk = [[high] * steps + [low] * (n - steps) for steps in range(n + 1)]
    floats = [functools.reduce(operator.add, values) for values in walk]  # sum() rounds less since Python 3.12
    assert max(after - before for before, after in itertools.pairwise(floats)) == 64
    ours = Sum(epsilon=Fraction(1, 2), bounds=(low, high), granularity=1)
    assert [int(sum(ours._grid.steps(values))) for values in walk] == [n * 2**52 + step for step in range(n + 1)]
    arrays = [int(sum(ours._grid.steps(np.array(values)).tolist())) for values in walk]
    assert arrays == [n * 2**52 + step for step in range(n + 1)]


# -- integers that wrap or raise ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (np.full(127, 1, dtype=np.int8), np.full(128, 1, dtype=np.int8)),
        (np.array([2**63 - 1]), np.array([2**63 - 1, 1])),
        (np.array([2**64 - 1], dtype=np.uint64), np.array([2**64 - 1, 1], dtype=np.uint64)),
        ([2**63 - 1], [2**63 - 1, 2**63]),
        ([1.5, 10**400], [1.5]),
        ([1.0], [1.0, 1e308 * 10]),
    ],
    ids=["int8", "int64", "uint64", "beyond int64", "beyond float", "infinity"],
)
def test_no_sum_wraps_or_raises_for_one_neighbour_only(first: Any, second: Any) -> None:
    found = audit(WHOLE_SUM, (first, second), samples=2500, confidence=1 - FALSE_ALARM)
    assert not found.caught, found.explain()


# -- errors that print data --------------------------------------------------------------------------------------------

SECRET = 31_415_926.5


def wrong_calls() -> Iterator[Callable[[], Any]]:
    vector = Laplace(epsilon=1, sensitivity=1, dimensions=3)
    yield lambda: vector.release([SECRET])
    yield lambda: vector.release(np.array([SECRET]))
    yield lambda: Laplace(epsilon=1, sensitivity=1).release([SECRET])
    yield lambda: Laplace(epsilon=1, sensitivity=1).release(str(SECRET))
    yield lambda: Mean(epsilon=1, bounds=(0, 1), relation="replace", n=3).release([SECRET])
    yield lambda: NoisyMax(epsilon=1, sensitivity=1, candidates=2).release([SECRET])
    yield lambda: Sum(epsilon=1, bounds=(0, 1)).release(SECRET)
    yield lambda: Gaussian(sigma=1, sensitivity=1).release([SECRET])


@together("call", list(wrong_calls()))
def test_no_error_prints_a_record(call: Callable[[], Any]) -> None:
    with pytest.raises(LapwingError) as caught:
        call()
    assert "31415926" not in str(caught.value) + repr(vars(caught.value))


# -- forks -------------------------------------------------------------------------------------------------------------


def children(count: int, draws: int) -> list[list[int]]:
    """What children of one process draw, after the parent has drawn (and so holds a buffered keystream)."""
    noise.discrete_laplace(1), noise.discrete_laplace(1, size=10)
    results = []
    for _ in range(count):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                many = noise.discrete_laplace(1, size=draws - draws // 2).astype(np.int64)
                few = [noise.discrete_laplace(1) for _ in range(draws // 2)]
                with os.fdopen(writer, "wb") as pipe:
                    pipe.write(np.concatenate([many, few]).astype(np.int64).tobytes())
            finally:
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            results.append(np.frombuffer(pipe.read(), dtype=np.int64).tolist())
        os.waitpid(child, 0)
    return results


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_the_answers_of_forked_children_do_not_share_their_noise() -> None:
    samples = 3000
    left, right = children(2, 2 * samples)
    assert len(left) == len(right) == 2 * samples
    shared = iter(zip(left, right, strict=True))

    def workers(parts: tuple[int, int]) -> tuple[int, int]:
        first, second = next(shared)
        return parts[0] + first, parts[1] + second

    pair = peers.noise_repeated_in_forked_children.pair
    found = audit(workers, pair, claimed=1, samples=samples, confidence=1 - FALSE_ALARM)
    assert not found.caught, found.explain()
    assert found.epsilon_lower_bound > 0.5, "the children's noise has the right law"


# -- estimates clipped and renormalised --------------------------------------------------------------------------------


def test_estimates_of_a_poll_are_right_on_average_where_clipping_is_not() -> None:
    shares = {0: Fraction(322, 1000), 1: Fraction(278, 1000)} | {k: Fraction(1, 10**6) for k in range(2, 128)}
    shares[127] += 1 - sum(shares.values())
    poll = KaryResponse.from_epsilon(Fraction(1, 2), categories=128)
    expected = {label: poll.switch + share * (poll._keep - poll.switch) for label, share in shares.items()}
    assert sum(expected.values()) == 1
    unit = 10**12
    answers = {label: round(chance * unit) for label, chance in expected.items()}
    for label, estimate in poll.estimate(answers).items():
        assert estimate.share == pytest.approx(float(shares[label]), abs=1e-6)

    n, runs = 1000, 40
    truth = [0] * 322 + [1] * 278 + [127] * 400
    ours, clipped = [], []
    for _ in range(runs):
        counts = Counter(poll.release(np.array(truth)).tolist())
        estimates = poll.estimate({label: counts[label] for label in range(128)})
        ours.append(estimates[0].share)
        positive = [max(estimate.share, 0.0) for estimate in estimates.values()]
        clipped.append(positive[0] / sum(positive))
    assert_mean(ours, 0.322, poll.variance / n)
    assert sum(clipped) / runs < 0.15
