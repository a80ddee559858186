"""The signed tree: its nodes against their definition, its law, its variances, the noise that waits in the state."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import together
from chance import assert_follows, assert_seldom, laplace_pmf

from lapwing.errors import InvalidParameter
from lapwing.mechanisms import BinaryTree, SignedTree
from lapwing.mechanisms.laplace_sums import sum_half_width
from lapwing.mechanisms.signed_tree import best_arity, digits, total_nodes
from lapwing.noise import discrete_laplace
from lapwing.noise.laplace import DigitSampler

Node = tuple[int, int]


@together("base", [3, 5, 13])
def test_digits_write_every_number_in_one_way(base: int) -> None:
    written = [tuple(digits(number, base)) for number in range(500)]
    assert len(set(written)) == 500
    for number, places in enumerate(written):
        assert sum(digit * base**level for level, digit in enumerate(places)) == number
        assert all(abs(digit) <= base // 2 for digit in places)


def signed_nodes(step: int, base: int) -> dict[Node, int]:
    """The nodes of a sum from their definition: from the highest digit down, forwards or backwards."""
    place, nodes = 0, {}
    for level, digit in reversed(list(enumerate(digits(step, base)))):
        first = place // base**level
        for node in range(first, first + digit) if digit > 0 else range(first + digit, first):
            nodes[level, node] = 1 if digit > 0 else -1
        place += digit * base**level
    assert place == step
    return nodes


class Marks:
    """A sampler whose i-th draw is the i-th unit vector: what an estimate holds of it shows which noise it uses."""

    def __init__(self) -> None:
        self.count = 0

    def draws(self, size: int, entropy: Any) -> Any:
        mark = np.zeros(size, dtype=np.int64)
        mark[self.count], self.count = 1, self.count + 1
        return mark


@together("steps", [1, 2, 4, 5, 40, 62])
@together("arity", [3, 5, 9])
def test_every_sum_uses_the_noise_of_its_nodes_with_their_signs(
    steps: int, arity: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks, width = Marks(), 300
    monkeypatch.setattr(SignedTree, "_sampler", lambda self: marks)
    tree = SignedTree(epsilon=1, steps=steps, sensitivity=1, arity=arity, width=width)
    state = tree.open()
    touched: dict[int, list[tuple[int, int]]] = {}
    for step in range(1, steps + 1):
        state = tree.state_from_bytes(tree.observe(state, np.zeros(width, dtype=np.int64)).to_bytes())
        row, nodes = np.array(tree.estimate(state)), signed_nodes(step, arity)
        assert np.abs(row).sum() == len(nodes)
        assert sum(bool(kept.any()) for kept in state.secret) == len(nodes)  # what is not used any more is forgotten
        for place in np.flatnonzero(row):
            touched.setdefault(int(place), []).append((step, int(row[place])))
        assert tree.variance(step) == pytest.approx(len(nodes) * tree.variance(1))
    uses: dict[Node, list[tuple[int, int]]] = {}
    for step in range(1, steps + 1):
        for node, sign in signed_nodes(step, arity).items():
            uses.setdefault(node, []).append((step, sign))
    # Draws and nodes are used in the same steps with the same signs, each draw by one node.
    assert sorted(touched.values()) == sorted(uses.values())
    covered = [sum(node == (step - 1) // arity**level for level, node in uses) for step in range(1, steps + 1)]
    assert max(covered) == len(list(digits(steps, arity)))
    assert tree.privacy_loss().epsilon == 1


def test_the_exact_law_of_two_steps_is_within_epsilon() -> None:
    """k = 3: the first sum has one node; the second one of the next level, less the third step's."""
    tree = SignedTree(epsilon=1, steps=2, sensitivity=1, arity=3)
    noise, reach = laplace_pmf(2), range(-60, 61)
    pair = {a: math.fsum(noise(b) * noise(b - a) for b in range(-160, 161)) for a in range(-62, 63)}
    draws = [tree.release([0, 0]) for _ in range(4000)]
    assert_follows([int(first) for first, _ in draws], noise, range(-30, 31))
    assert_follows([int(second) for _, second in draws], pair.__getitem__, range(-40, 41))
    for shift in ((1, 1), (0, 1)):  # an event in the first step, and in the second
        worst = max(
            abs(math.log(noise(a) * pair[b] / (noise(a - shift[0]) * pair[b - shift[1]])))
            for a, b in itertools.product(reach, reach)
        )
        assert worst <= 1 + 1e-9
        assert worst > 0.48


@together("steps", [1, 2, 7, 100, 199])
@together("base", [3, 5, 13])
def test_counts_of_nodes_are_those_of_all_steps(steps: int, base: int) -> None:
    tree = SignedTree(epsilon=1, steps=steps, sensitivity=1, arity=base)
    nodes = [len(signed_nodes(step, base)) for step in range(1, steps + 1)]
    assert total_nodes(steps, base) == sum(nodes)
    assert tree._most_nodes() == max(nodes)
    assert tree.rms() == pytest.approx(math.sqrt(np.mean(tree.variances())))


@together("arity", [3, 5])
def test_the_noise_of_a_window_is_that_of_nodes_that_do_not_cancel(arity: int) -> None:
    tree = SignedTree(epsilon=1, steps=60, sensitivity=1, arity=arity)
    for start, stop in itertools.combinations(range(0, 61, 3), 2):
        early, late = signed_nodes(start, arity), signed_nodes(stop, arity)
        left = sum((late.get(node, 0) - early.get(node, 0)) ** 2 for node in early | late)
        assert tree.window_variance(start, stop) == pytest.approx(left * tree.variance(1))


def test_the_best_arity_is_that_of_the_paper_and_far_better_than_two() -> None:
    tree = SignedTree(epsilon=1, steps=1 << 10, sensitivity=1)
    assert (best_arity(1 << 10), tree.branches) == (13, 13)
    assert 12.9 < tree.rms() < 13.1
    assert 34.7 < BinaryTree.for_epsilon(1, steps=1 << 10, sensitivity=1).rms() < 34.9
    for steps in (1, 2, 10, 365, 1 << 16):
        best = SignedTree(epsilon=1, steps=steps, sensitivity=1)
        assert all(
            best.rms() <= SignedTree(epsilon=1, steps=steps, sensitivity=1, arity=k).rms() for k in range(3, 40, 2)
        )


@together("scale", [1, 3, 1000])
@together("count", [1, 2, 9])
@together("failure", [0.05, 0.001])
def test_tails_of_sums_are_kept_and_not_wasted(scale: int, count: int, failure: float) -> None:
    width = sum_half_width(Fraction(scale), count, Fraction(failure))
    sums = np.abs(discrete_laplace(scale, 30_000 * count).reshape(-1, count).sum(axis=1))
    assert_seldom(int((sums > width).sum()), 30_000, failure)
    assert (sums >= 0.9 * width - 2).mean() > failure * 0.5
    far = sum_half_width(Fraction(scale), count, Fraction(1, 10**15))
    assert width < far < 40 * scale * (count + 1)


def test_accuracy_holds_at_every_step_at_once() -> None:
    tree = SignedTree(epsilon=1, steps=40, sensitivity=1)
    wide = SignedTree(epsilon=1, steps=40, sensitivity=1, width=3000)
    errors = np.abs(wide.release(np.zeros((40, 3000), dtype=np.int64)))
    assert_seldom(int((errors > tree.accuracy(0.9, simultaneous=True)).any(axis=0).sum()), 3000, 0.1)
    assert_seldom(int((errors[12] > tree.accuracy(0.9, step=13)).sum()), 3000, 0.1)
    assert_seldom(int((np.abs(errors[20] - errors[10]) > tree.window_accuracy(11, 21, 0.9)).sum()), 3000, 0.1)
    assert tree.accuracy(0.9) == max(tree.accuracy(0.9, step=step) for step in range(1, 41))


def test_arithmetic_wraps_as_the_exact_sum_would(monkeypatch: pytest.MonkeyPatch) -> None:
    """A draw beyond 64 bits is kept modulo 2^64: a function of the exact sum, and no error."""
    monkeypatch.setattr(DigitSampler, "draw", lambda self, entropy: (1 << 64) + 5)
    tree = SignedTree(epsilon=1, steps=3, sensitivity=1)
    state = tree.state_from_bytes(tree.observe(tree.open(), 37).to_bytes())
    assert tree.estimate(state) == [42.0]


def test_rho_buys_the_tree_of_its_epsilon() -> None:
    tree = SignedTree.for_rho(0.5, steps=10, sensitivity=1)
    assert 0.999999 < tree.privacy_loss().epsilon <= 1
    several = SignedTree(epsilon=1, steps=10, sensitivity=2, active_steps=3, separation=4)
    assert several.privacy_loss().epsilon == 1
    assert several._scale == 2 * 3 * len(list(digits(10, several.branches)))
    assert SignedTree(epsilon=1, steps=10, sensitivity=1, active_steps=99, separation=5)._active() == 2


@pytest.mark.parametrize(
    "wrong", [{"arity": 4}, {"arity": 1}, {"epsilon": 0}, {"epsilon": 1e-30}, {"sensitivity": 0.9}]
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        SignedTree(**{"epsilon": 1, "steps": 10, "sensitivity": 1, **wrong})
