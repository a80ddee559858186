"""Distributions from a ladder of bins: they rise, and their bands hold at all edges at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import together
from chance import assert_seldom
from scipy.optimize import isotonic_regression

from lapwing.mechanisms.cumulative import Cumulative, best_ladder, rising
from lapwing.mechanisms.hierarchy import Hierarchy
from lapwing.mechanisms.trees import Tree

FALSE_ALARM = 1e-6
BINS = 60
EXACT = np.random.default_rng(1).multinomial(2000, np.ones(20) / 20)
EXACT = np.concatenate([EXACT, np.zeros(30, int), [500], np.full(9, 2)])


def ladder(**budget: Any) -> Hierarchy:
    tree = best_ladder(BINS, concentrated="rho" in budget)
    return Hierarchy(tree=tree, weights="ranges", integers=False, **budget)


@pytest.mark.parametrize("budget", [{"epsilon": 0.5}, {"rho": 0.05}], ids=str)
def test_bands_hold_at_all_edges_at_once(budget: dict[str, Any]) -> None:
    bins, runs = ladder(**budget), 300
    cumulative, below = Cumulative(bins, 0.9), np.cumsum(EXACT)
    missed = np.zeros(2, int)
    for _ in range(runs):
        leaves = bins.release(EXACT).leaves
        for place, (kind, truth) in enumerate(((cumulative.counts, below), (cumulative.shares, below / below[-1]))):
            values, low, high = kind(leaves)
            assert (np.diff(values) >= 0).all()
            assert values[0] >= 0
            missed[place] += bool(((truth < low - 1e-9) | (truth > high + 1e-9)).any())
        assert values[-1] == 1
    for failures in missed:
        assert_seldom(int(failures), runs, 0.1)


def test_variances_are_those_of_a_dense_solution() -> None:
    bins = ladder(rho=0.3)
    tree, squares = bins.tree, bins.least_squares()
    rows = []
    for level in range(tree.levels):
        matrix = np.array([tree.sums(unit)[level] for unit in np.eye(BINS)]).T
        rows.append(matrix / np.sqrt(np.asarray(squares.noise[level]))[:, None])
    covariance = np.linalg.inv(np.vstack(rows).T @ np.vstack(rows))
    cumulative = Cumulative(bins, 0.95)
    lower = np.tril(np.ones((BINS, BINS)))
    assert np.allclose(cumulative.below, np.diag(lower @ covariance @ lower.T))
    upper = 1 - lower
    assert np.allclose(cumulative.above, np.diag(upper @ covariance @ upper.T))


def test_rising_is_the_isotonic_regression() -> None:
    draws = np.random.default_rng(2)
    for _ in range(20):
        numbers = draws.normal(np.arange(30), 8)
        assert np.allclose(rising(numbers), np.maximum(isotonic_regression(numbers).x, 0))


@together("bins, concentrated", [(2, True), (7, False), (100, True), (1000, False)])
def test_the_tree_that_is_taken_is_the_best_of_those_that_are_tried(bins: int, concentrated: bool) -> None:
    budget: dict[str, Any] = {"rho": 1} if concentrated else {"epsilon": 1}

    def error(tree: Tree) -> float:
        least = Hierarchy(tree=tree, weights="ranges", integers=False, **budget).least_squares()
        return float(least.prefix_variances().mean())

    assert error(best_ladder(bins, concentrated=concentrated)) == min(
        error(Tree.over(bins, fan_out)) for fan_out in {*(f for f in (2, 3, 4, 6, 8, 12, 16, 24) if f <= bins), bins}
    )


def test_a_ladder_beats_the_same_bins_without_one() -> None:
    bins = 1000
    flat = Hierarchy(tree=Tree.over(bins, bins), weights=[0, 1], rho=0.1, integers=False)
    tree = Hierarchy(tree=best_ladder(bins, concentrated=True), weights="ranges", rho=0.1, integers=False)
    errors = [float(np.sqrt(ladder.least_squares().prefix_variances().mean())) for ladder in (flat, tree)]
    assert errors[1] < errors[0] / 3


def test_nobody_is_no_reason_to_fail() -> None:
    bins = ladder(rho=0.5)
    for numbers in (np.zeros(BINS), np.full(BINS, -3.0)):
        for part in (Cumulative(bins, 0.95).counts, Cumulative(bins, 0.95).shares):
            values, low, high = part(numbers)
            assert np.isfinite([*values, *low, *high]).all()
            assert (low <= values + 1e-12).all()
