"""The classical tree and Honaker's refinement: which nodes have noise, how much, and what that does to sums."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from cases import together
from chance import FALSE_ALARM, assert_follows, assert_mean, assert_seldom, laplace_pmf
from scipy import stats

from lapwing.errors import InvalidParameter
from lapwing.mechanisms import BinaryTree


def weights(steps: int, *, refined: bool) -> Any:
    """Sums by nodes from their definition: least squares of every complete tree, for the refined ones."""
    nodes = [(level, index) for level in range(steps.bit_length()) for index in range(steps >> level)]
    rows = np.zeros((steps, len(nodes)))
    for step in range(1, steps + 1):
        start = 0
        for level in reversed(range(steps.bit_length())):
            if step >> level & 1:
                rows[step - 1] += refine(nodes, level, start >> level, refined=refined)
                start += 1 << level
    return rows


def refine(nodes: list[tuple[int, int]], level: int, index: int, *, refined: bool) -> Any:
    """The best unbiased combination of the nodes inside one: by solving the normal equations of its leaves."""
    row = np.zeros(len(nodes))
    if not refined:
        row[nodes.index((level, index))] = 1
        return row
    inside = [(i, node) for i, node in enumerate(nodes) if node[0] <= level and node[1] >> (level - node[0]) == index]
    leaves = range(index << level, (index + 1) << level)
    design = np.array([[leaf >> low == place for leaf in leaves] for _, (low, place) in inside], dtype=float)
    row[[i for i, _ in inside]] = np.ones(len(leaves)) @ np.linalg.solve(design.T @ design, design.T)
    return row


@together("steps", [1, 2, 5, 16, 23])
@together("refined", [False, True])
def test_variances_are_those_of_the_best_combination_of_nodes(steps: int, refined: bool) -> None:
    tree = BinaryTree.for_rho(0.5, steps=steps, sensitivity=1, refined=refined)
    rows = weights(steps, refined=refined)
    unit = tree.scale**2
    assert np.allclose(tree.variances(), (rows**2).sum(axis=1) * unit)
    assert tree.rms() == pytest.approx(math.sqrt(tree.variances().mean()))
    for start, stop in itertools.combinations(range(steps + 1), 2):
        difference = rows[stop - 1] - (rows[start - 1] if start else 0)
        assert tree.window_variance(start, stop) == pytest.approx((difference**2).sum() * unit)


@pytest.mark.parametrize("refined", [False, True])
def test_errors_have_the_stated_variance(refined: bool) -> None:
    tree = BinaryTree.for_rho(0.5, steps=13, sensitivity=1, refined=refined, width=4000)
    errors = tree.release(np.zeros((13, 4000), dtype=np.int64))
    for step in (1, 7, 12, 13):
        assert_mean(errors[step - 1], 0, tree.variance(step))
        tail = stats.chi2.cdf((errors[step - 1] ** 2).sum() / tree.variance(step), 4000)
        assert FALSE_ALARM / 2 < tail < 1 - FALSE_ALARM / 2
    assert_seldom(int((np.abs(errors) > tree.accuracy(0.9, simultaneous=True)).any(axis=0).sum()), 4000, 0.1)
    assert_seldom(int((np.abs(errors[12] - errors[4]) > tree.window_accuracy(5, 13, 0.9)).sum()), 4000, 0.1)


def test_a_complete_tree_has_the_noise_of_one_node() -> None:
    tree = BinaryTree.for_epsilon(1, steps=4, sensitivity=1)
    draws = [int(tree.release([10, 20, 30, 40])[3]) - 100 for _ in range(3000)]
    assert_follows(draws, laplace_pmf(3), range(-40, 41))
    assert tree.privacy_loss().epsilon == 1


@together("steps", [1, 6, 37, 64])
def test_the_worst_step_is_the_worst(steps: int) -> None:
    for tree in (
        BinaryTree.for_rho(0.5, steps=steps, sensitivity=1),
        BinaryTree.for_rho(0.5, steps=steps, sensitivity=1, refined=True),
        BinaryTree.for_epsilon(1, steps=steps, sensitivity=1),
    ):
        assert tree.accuracy() >= max(tree.accuracy(step=step) for step in range(1, steps + 1)) * (1 - 1e-9)


def test_the_loss_counts_levels_units_and_active_steps() -> None:
    one = BinaryTree(scale=10, steps=100, sensitivity=1).privacy_loss()
    assert one.rho == 7 / (2 * one.rho.__class__(100))
    assert BinaryTree(scale=10, steps=100, sensitivity=1, active_steps=3).privacy_loss().rho == 9 * one.rho
    pure = BinaryTree(scale=10, noise="laplace", steps=100, sensitivity=2, active_steps=3).privacy_loss()
    assert float(pure.epsilon) == pytest.approx(7 * 2 * 3 / 10)


@pytest.mark.parametrize(
    "wrong", [{"noise": "uniform"}, {"noise": "laplace", "refined": True}, {"scale": 0}, {"scale": 2.0**59}]
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        BinaryTree(**{"scale": 1, "steps": 10, "sensitivity": 1, **wrong})
