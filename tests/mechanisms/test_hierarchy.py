"""Hierarchies: noise on every level, least squares as a dense solver finds them, whole numbers that add up."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import together
from chance import FALSE_ALARM, assert_follows, gaussian_pmf, laplace_pmf
from scipy import stats

from lapwing.errors import InvalidCall, InvalidParameter
from lapwing.mechanisms import Hierarchy, Tree
from lapwing.mechanisms.consistency import LeastSquares, whole_numbers
from lapwing.mechanisms.linear_tails import deviations
from lapwing.privacy import ZCDP, PureDP

SURE = 100_000  # at this epsilon there is no noise


def random_tree(seed: int) -> Tree:
    """Some levels with 0 to 3 children each, so that leaves stand on several of them."""
    rng = np.random.default_rng(seed)
    levels, size = [], int(rng.integers(1, 3))
    for _ in range(int(rng.integers(1, 4))):
        counts = rng.integers(0, 4, size)
        counts[0] = max(counts[0], 1)
        levels.append(counts)
        size = int(counts.sum())
    return Tree(levels)


def matrix(tree: Tree) -> np.ndarray[Any, Any]:
    """Which leaves are below which node, by plain recursion over the numbers of children."""
    rows: list[list[list[int]]] = [[[] for _ in range(size)] for size in tree.sizes]
    count = 0

    def walk(level: int, place: int) -> list[int]:
        nonlocal count
        counts = [int(number) for number in tree.children[level]]
        if counts[place] == 0:
            rows[level][place] = [count]
            count += 1
        else:
            first = sum(counts[:place])
            rows[level][place] = [leaf for child in range(counts[place]) for leaf in walk(level + 1, first + child)]
        return rows[level][place]

    for root in range(tree.sizes[0]):
        walk(0, root)
    below = [row for level in rows for row in level]
    return np.array([[float(leaf in row) for leaf in range(count)] for row in below])


def adds_up(tree: Tree, levels: Any) -> bool:
    inner = [tree.counts(level) > 0 for level in range(tree.levels - 1)]
    return all(
        (tree.add(levels[level + 1], level)[some] == levels[level][some]).all() for level, some in enumerate(inner)
    )


@together("seed", range(40))
def test_sums_of_nodes_are_those_of_a_recursion_over_the_tree(seed: int) -> None:
    tree = random_tree(seed)
    leaves = np.random.default_rng(seed).integers(-9, 9, tree.leaves)
    assert np.array_equal(np.concatenate(tree.sums(leaves)), matrix(tree) @ leaves)
    assert np.array_equal(tree.leaf_values(tree.sums(leaves)), leaves)


@together("seed", range(40))
def test_estimates_and_variances_are_those_of_a_dense_solver(seed: int) -> None:
    rng, tree = np.random.default_rng(seed), random_tree(seed)
    dense = matrix(tree)
    noise = [rng.uniform(0.5, 9, size) for size in tree.sizes]
    if seed % 3 == 0 and tree.counts(0).all():
        noise[0] = np.full(tree.sizes[0], np.inf)  # not measured
    squares = LeastSquares(tree, noise)
    noisy = [rng.normal(0, 20, size) for size in tree.sizes]
    weights = np.diag(1 / np.concatenate(noise))
    covariance = np.linalg.inv(dense.T @ weights @ dense)
    solution = covariance @ dense.T @ weights @ np.concatenate(noisy)
    assert np.allclose(np.concatenate(squares.estimate(noisy)), dense @ solution)
    assert np.allclose(np.concatenate(squares.variances()), np.diag(dense @ covariance @ dense.T))
    some = rng.normal(size=tree.leaves)
    assert math.isclose(squares.variance_of(some), some @ covariance @ some, rel_tol=1e-9)
    if tree.sizes[0] == 1 and tree.leaf_levels == (tree.levels - 1,):
        prefixes = np.tril(np.ones((tree.leaves, tree.leaves)))
        assert np.allclose(squares.prefix_variances(), np.diag(prefixes @ covariance @ prefixes.T))


@together("seed", range(40))
def test_whole_numbers_add_up_and_none_is_negative(seed: int) -> None:
    rng, tree = np.random.default_rng(seed), random_tree(seed)
    leaves = rng.poisson(2, tree.leaves)
    exact = tree.sums(leaves)
    level = int(rng.integers(tree.levels))
    told = {(level, place): int(exact[level][place]) for place in range(0, tree.sizes[level], 2)}
    for options in ({}, {"non_negative": False}, {"invariants": told}, {"invariants": told, "non_negative": False}):
        mechanism = Hierarchy(tree=tree, epsilon=0.2, **options)
        noisy = mechanism.measure(leaves)
        found = mechanism.consistent(noisy)
        assert adds_up(tree, found.levels)
        assert all(values.dtype == np.int64 for values in found.levels)
        if "non_negative" not in options:
            assert min(int(values.min()) for values in found.levels) >= 0
        for (at, place), value in options.get("invariants", {}).items():  # type: ignore[attr-defined]
            assert found.levels[at][place] == value
            low, high = mechanism.intervals(found)[at]
            assert low[place] == high[place] == value
        assert found == mechanism.consistent(noisy), "rounding draws nothing"


@together("seed", range(20))
def test_shared_numbers_are_the_nearest_with_their_sum_before_fractions_are_cut(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 9))
    tree, spreads = Tree([[size]]), rng.uniform(0.5, 4, size)
    wanted, total = rng.normal(1, 4, size), float(rng.integers(0, 30))
    squares = LeastSquares(tree, [np.array([np.inf]), spreads])
    [_, found] = whole_numbers(squares, [np.array([total]), wanted])
    low, high = -1000.0, 1000.0  # the λ at which max(0, w − λv) adds up to the total, by bisection
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(wanted - middle * spreads, 0).sum() > total else (low, middle)
    nearest = np.maximum(wanted - low * spreads, 0)
    assert found.sum() == total
    assert np.abs(found - nearest).max() < 1 + 1e-9


def test_each_level_gets_its_part_of_the_loss_and_the_noise_that_goes_with_it() -> None:
    tree = Tree.even(20_000)
    mechanism = Hierarchy(tree=tree, epsilon=1, weights=[1, 3], integers=False)
    assert mechanism.shares == (Fraction(1, 4), Fraction(3, 4))
    assert mechanism.privacy_loss() == PureDP(1)
    assert_follows(mechanism.measure(np.zeros(20_000, int))[1], laplace_pmf(4 / 3), range(-40, 40))
    several = Hierarchy(tree=tree, epsilon=1, weights=[1, 3], sensitivity=(4, 3))
    assert_follows(several.measure([0] * 20_000)[1], laplace_pmf(4), range(-80, 80))
    concentrated = Hierarchy(tree=tree, rho=0.5, weights=[1, 1], sensitivity=(2, math.sqrt(2)))
    assert concentrated.privacy_loss() <= ZCDP(0.5)
    assert float(concentrated.privacy_loss().rho) == pytest.approx(0.5)  # type: ignore[attr-defined]
    assert_follows(concentrated.measure([0] * 20_000)[1], gaussian_pmf(2), range(-40, 40))
    roots = [int(concentrated.measure([0] * 20_000)[0][0]) for _ in range(300)]
    assert_follows(roots, gaussian_pmf(math.sqrt(8)), range(-40, 40))


@together("seed", range(25))
def test_one_unit_moves_every_level_by_the_stated_sensitivity_at_most(seed: int) -> None:
    rng, tree = np.random.default_rng(seed), random_tree(seed)
    huge = [0, 1, -1, 5, 10**30, -(10**30), 2**62 // tree.leaves, None, math.nan, "x"]
    leaves: list[Any] = [huge[int(place)] for place in rng.integers(0, len(huge), tree.leaves)]
    with_one = list(leaves)
    place = int(rng.integers(tree.leaves))
    with_one[place] = leaves[place] + 1 if isinstance(leaves[place], int) else 1
    mechanism = Hierarchy(tree=tree, epsilon=SURE, weights=[1] * tree.levels)
    first, second = mechanism.measure(leaves), mechanism.measure(with_one)
    for one, other in zip(first, second, strict=True):
        moved = [abs(int(a) - int(b)) for a, b in zip(one, other, strict=True)]
        assert sum(moved) <= 1
    whole = [min(max(leaf, -(2**63)), 2**63 - 1) if isinstance(leaf, int) else 0 for leaf in leaves]
    exact = [int(sum(leaf for leaf, part in zip(whole, row, strict=True) if part)) for row in matrix(tree)]
    clamped = [min(max(number, -(2**62)), 2**62) for number in exact]
    assert [int(number) for level in first for number in level] == clamped


@together(
    ("options", "leaves"),
    [
        ({"epsilon": 1.0}, [40, 3, 0, 0, 7, 120]),
        ({"epsilon": 1.0, "weights": "leaves"}, [0, 0, 0, 0, 0, 2]),
        ({"rho": 0.1, "weights": "ranges"}, [40, 3, 0, 0, 7, 120]),
        ({"rho": 6.0, "weights": [1, 1, 1]}, [1, 0, 2, 0, 0, 9]),
        ({"epsilon": 8.0, "weights": [1, 1, 1], "invariants": {(0, 0): 170}}, [40, 3, 0, 0, 7, 120]),
        ({"rho": 0.5, "integers": False}, [40, 3, 0, 0, 7, 120]),
    ],
)
def test_intervals_cover_every_node_as_often_as_they_say(options: dict[str, Any], leaves: list[int]) -> None:
    tree, runs = Tree([[3], [3, 1, 2]]), 250
    mechanism = Hierarchy(tree=tree, **options)
    exact = np.concatenate(tree.sums(np.array(leaves)))
    missed = np.zeros(tree.nodes, int)
    for _ in range(runs):
        found = mechanism.release(leaves)
        lows, highs = (np.concatenate(ends) for ends in zip(*mechanism.intervals(found, 0.9), strict=True))
        shown = np.concatenate(found.levels)
        assert ((lows <= shown) & (shown <= highs)).all()
        missed += (exact < lows) | (exact > highs)
    assert (stats.binom.sf(missed - 1, runs, 0.1) > FALSE_ALARM / 100).all(), missed


def test_no_mixture_of_laplace_noises_reaches_farther_than_is_said() -> None:
    rng = np.random.default_rng(1)
    for failure in (0.5, 0.2, 0.1, 0.09, 0.05, 0.01, 1e-4):
        reach = deviations(Fraction(failure), concentrated=False)
        for count in (1, 2, 3, 4):
            for _ in range(150):
                scales = np.cumsum(rng.uniform(0.03, 1, count)) ** rng.choice([0.5, 1, 3])
                squares = scales**2
                others = squares[:, None] - squares[None, :] + np.eye(count)
                parts = np.prod(np.where(np.eye(count) > 0, 1, squares[:, None] / others), axis=1)
                far = reach * math.sqrt(2 * squares.sum())
                assert (parts * np.exp(-far / scales)).sum() <= failure * 1.004


@together(
    ("tree", "money"),
    [
        (tree, money)
        for tree in (Tree.over(256), Tree.over(256, 4), Tree.over(1000, 10), Tree.even(3, 7, 5), Tree.over(100, 3))
        for money in ("epsilon", "rho")
    ],
)
def test_weights_for_ranges_are_no_worse_than_equal_ones(tree: Tree, money: str) -> None:
    rng = np.random.default_rng(3)
    ranges = np.sort(rng.integers(0, tree.leaves + 1, (60, 2)))

    def error(weights: Any) -> float:
        squares = Hierarchy(tree=tree, weights=weights, **{money: 0.1}).least_squares()
        places = np.arange(tree.leaves)
        return sum(squares.variance_of((low <= places) & (places < high)) for low, high in ranges)

    assert error("ranges") <= error([1] * tree.levels)
    assert error("ranges") <= error([0] * (tree.levels - 1) + [1])


def test_figures_of_the_design_at_1024_leaves() -> None:
    tree, rng = Tree.over(1024), np.random.default_rng(3)
    ranges = np.sort(rng.integers(0, 1025, (100, 2)))
    places = np.arange(1024)

    def rms(weights: Any) -> float:
        squares = Hierarchy(tree=tree, rho=0.1, weights=weights).least_squares()
        return math.sqrt(np.mean([squares.variance_of((a <= places) & (places < b)) for a, b in ranges]))

    flat, hay = rms([0] * 10 + [1]), rms([0] + [1] * 10)
    assert flat == pytest.approx(41, abs=3)
    assert hay == pytest.approx(10.1, abs=0.4)
    assert rms("ranges") < hay


def test_levels_below_a_published_one_share_the_whole_loss() -> None:
    tree = Tree.even(2, 2)
    told = Hierarchy(tree=tree, epsilon=1, weights=[1, 1, 1], invariants={(0, 0): 9})
    assert [float(share) for share in told.shares] == [0, 0.5, 0.5]
    both = Hierarchy(tree=tree, epsilon=1, weights=[1, 1, 1], invariants={(1, 0): 4, (1, 1): 5})
    assert [float(share) for share in both.shares] == [0, 0, 1], "what is known through its children is known"
    assert both.release([2, 2, 3, 2]).levels[0].tolist() == [9]


@together("money", [{"epsilon": 1}, {"rho": 0.2}])
def test_noisy_numbers_say_which_invariants_cannot_be_exact(
    money: dict[str, Any],
) -> None:
    tree, leaves = Tree([[3], [2, 2, 3]]), [400, 30, 0, 0, 70, 120, 50]
    right: dict[tuple[int, int], int] = {(0, 0): 670, (1, 0): 430, (2, 4): 70}
    for node in right:
        told = Hierarchy(tree=tree, invariants=right, **money)
        assert told.release(leaves).contradicted == ()
        moved = [*leaves]
        moved[{(0, 0): 6, (1, 0): 1, (2, 4): 4}[node]] += 900
        assert node in told.release(moved).contradicted
    uneven = Hierarchy(tree=Tree([[2], [2, 0]]), invariants={(2, 0): 3, (2, 1): 4}, **money)
    assert uneven.release([3, 4, 9]).contradicted == (), "what was not measured is not contradicted"


@together(
    ("options", "name"),
    [
        ({"weights": "towns"}, "weights"),
        ({"weights": [1, 1]}, "weights"),
        ({"weights": [1, 1, 0]}, "weights"),
        ({"weights": [1, 1, -1]}, "weights"),
        ({"sensitivity": 0}, "sensitivity"),
        ({"sensitivity": (1, 1)}, "sensitivity"),
        ({"tree": [[2]]}, "tree"),
        ({"integers": 1}, "integers"),
        ({"invariants": [5]}, "invariants"),
        ({"invariants": {(0, 1): 5}}, "invariants"),
        ({"invariants": {"root": 5}}, "invariants"),
        ({"invariants": {(0, 0): 2.5}}, "invariants"),
        ({"invariants": {(0, 0): -1}}, "invariants"),
        ({"invariants": {(0, 0): 5, (1, 0): 9}}, "invariants"),
        ({"invariants": {(0, 0): 5, (1, 0): 1, (1, 1): 1}}, "invariants"),
        ({"invariants": {(2, place): 5 for place in range(4)}}, "invariants"),
    ],
)
def test_wrong_parameters_are_told(options: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidParameter) as told:
        Hierarchy(**{"tree": Tree.even(2, 2), "epsilon": 1, **options})
    assert told.value.name == name


@together("children", [[], [[]], [[2], [1]], [[-1]], [[0]], [[1.5]], [["a"]], [[2], [0, 0]]])
def test_wrong_trees_are_told(children: Any) -> None:
    with pytest.raises(InvalidParameter):
        Tree(children)


def test_a_hierarchy_is_paid_in_one_way_and_wants_a_number_for_each_leaf() -> None:
    with pytest.raises(InvalidCall):
        Hierarchy(tree=Tree.even(2))
    with pytest.raises(InvalidCall):
        Hierarchy(tree=Tree.even(2), epsilon=1, rho=1)
    with pytest.raises(InvalidParameter, match="length 2"):
        Hierarchy(tree=Tree.even(2), epsilon=1).release([1, 2, 3])
    assert Tree.of_parents([[0, 0], [0, 0, 1]]) == Tree([[2], [2, 1]])
    with pytest.raises(InvalidParameter):
        Tree.of_parents([[0, 0], [1, 0]])


def test_equal_trees_are_equal_and_say_what_they_are() -> None:
    assert hash(Tree.even(2, 2)) == hash(Tree.over(4))
    assert Tree.even(2, 2) != Tree.even(4)
    assert repr(Tree([[2], [1, 0]])) == "Tree([[2], [1, 0]])"
    assert eval(repr(Tree([[2], [1, 0]]))) == Tree([[2], [1, 0]])
    assert repr(Tree.over(1024, 32)) == "<Tree of 1 → 32 → 1,024 nodes>"
