"""Two trees crossed: exact least squares, sums along both, whole numbers, coverage and price."""

from __future__ import annotations

import datetime as dt
from array import array
from collections import deque
from itertools import count, product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from cases import together
from chance import assert_seldom
from numpy.typing import NDArray

from lapwing.errors import InvalidCall, InvalidParameter
from lapwing.mechanisms import CrossedHierarchy, Tree
from lapwing.mechanisms.crossed_rounding import transported
from lapwing.privacy import ZCDP, PureDP

FALSE_ALARM = 1e-6
PLACES, WEEKS = Tree([[2], [2, 3]]), Tree([[3], [1, 4, 2]])
DATA = np.random.default_rng(1).poisson(6, (5, 7))
DATA[0] = 0


def crossed(**options: Any) -> CrossedHierarchy:
    return CrossedHierarchy(trees=(PLACES, WEEKS), **options)


def nodes_of(tree: Tree) -> NDArray[np.float64]:
    """The matrix that takes leaves to all nodes, level by level."""
    return np.array([np.concatenate(tree.sums(unit)) for unit in np.eye(tree.leaves)]).T


def stacked(mechanism: CrossedHierarchy, tables: Any) -> NDArray[Any]:
    first, second = mechanism.trees
    return np.block([[tables[i, j] for j in range(second.levels)] for i in range(first.levels)])


def assert_adds_up(mechanism: CrossedHierarchy, tables: Any) -> None:
    last = max(mechanism.levels)
    for levels, table in mechanism.sums(tables[last]).items():
        assert np.array_equal(table, tables[levels]), levels


@together(
    "options",
    [
        {"rho": 0.3},
        {"epsilon": 2},
        {"rho": 0.3, "weights": ([1, 2, 3], [5, 1, 1])},
        {"epsilon": 2, "weights": ([0, 2, 3], "leaves")},
    ],
)
def test_estimates_and_variances_are_those_of_a_dense_solution(options: dict[str, Any]) -> None:
    mechanism = crossed(integers=False, **options)
    noisy = mechanism.measure(DATA)
    matrix = np.kron(nodes_of(PLACES), nodes_of(WEEKS))
    weights = {}
    for levels, share in mechanism.shares.items():
        noise = share * (mechanism.rho or 1) if mechanism.rho else share * 2
        precision = 2 * float(noise) if mechanism.rho else float(noise) ** 2 / 2
        weights[levels] = np.full(mechanism.shape(levels), precision)
    diagonal = stacked(mechanism, weights).ravel()
    covariance = np.linalg.inv(matrix.T @ (diagonal[:, None] * matrix))
    solution = matrix @ covariance @ (matrix.T @ (diagonal * stacked(mechanism, noisy).ravel()))
    found = mechanism.consistent(noisy)
    assert np.allclose(stacked(mechanism, found.estimates).ravel(), solution)
    variances = np.einsum("ij,jk,ik->i", matrix, covariance, matrix)
    assert np.allclose(stacked(mechanism, mechanism.variances()).ravel(), variances)


@together("seed, budget", list(product(range(10), [{"rho": 0.05}, {"epsilon": 0.5}])))
def test_whole_numbers_add_up_along_both_trees_and_are_not_negative(seed: int, budget: dict[str, Any]) -> None:
    data = np.random.default_rng(seed).poisson(2, (5, 7))
    mechanism = crossed(**budget)
    tables = mechanism.release(data).tables
    assert_adds_up(mechanism, tables)
    assert all(table.dtype == np.int64 and table.min() >= 0 for table in tables.values())


def test_numbers_that_are_not_rounded_add_up_to_rounding_of_doubles() -> None:
    mechanism = crossed(rho=0.2, integers=False)
    estimate = mechanism.release(DATA)
    for levels, table in mechanism.sums(estimate.tables[2, 2]).items():
        assert np.allclose(table, estimate.tables[levels], atol=1e-9)


def test_without_noise_it_is_the_data() -> None:
    mechanism = crossed(epsilon=10**12)
    exact = mechanism.sums(DATA)
    assert all(np.array_equal(exact[levels], table) for levels, table in mechanism.release(DATA).tables.items())
    assert mechanism.release(DATA.tolist()) == mechanism.release(DATA)


@pytest.mark.parametrize("budget", [{"rho": 0.05}, {"epsilon": 1}], ids=str)
@pytest.mark.parametrize("integers", [False, True])
def test_intervals_hold_as_often_as_they_say(budget: dict[str, Any], integers: bool) -> None:
    mechanism, runs = crossed(integers=integers, **budget), 300
    exact = mechanism.sums(DATA)
    missed = {levels: np.zeros(mechanism.shape(levels)) for levels in mechanism.levels}
    for _ in range(runs):
        ends = mechanism.intervals(mechanism.release(DATA), 0.9)
        for levels, (low, high) in ends.items():
            missed[levels] += (exact[levels] < low) | (exact[levels] > high)
    for table in missed.values():
        for failures in table.ravel():
            assert_seldom(int(failures), runs, 0.1)
    cells = sum(table.size for table in missed.values())
    assert integers or sum(table.sum() for table in missed.values()) > 0.05 * runs * cells  # nor are they too wide


def test_it_costs_what_all_tables_cost_together() -> None:
    for budget, kind in (({"epsilon": 1}, PureDP(1)), ({"rho": 0.25}, ZCDP(0.25))):
        mechanism = crossed(**budget)
        assert mechanism.privacy_loss() <= kind
        assert sum(mechanism.shares.values()) == 1
    doubled = crossed(epsilon=1, sensitivity=2)
    assert np.allclose(doubled.variances()[2, 2], 4 * crossed(epsilon=1).variances()[2, 2])


def test_consistent_tables_beat_independent_ones_at_the_same_price() -> None:
    mechanism = crossed(rho=0.1)
    for levels, variances in mechanism.variances().items():
        alone = 1 / (2 * 0.1 * float(mechanism.shares[levels]))
        assert variances.max() < alone


def test_blocks_have_their_sums_whatever_is_wanted() -> None:
    draws = np.random.default_rng(3)
    for _ in range(200):
        shape = draws.integers(1, 6, 2)
        exact = draws.poisson(3, shape)
        near = exact + draws.normal(0, 5, shape)
        block = transported(near, exact.sum(axis=1), exact.sum(axis=0))
        assert block.min() >= 0
        assert np.array_equal(block.sum(axis=1), exact.sum(axis=1))
        assert np.array_equal(block.sum(axis=0), exact.sum(axis=0))


def test_a_block_is_the_nearest_one_where_all_can_be_tried() -> None:
    draws = np.random.default_rng(4)
    for _ in range(40):
        exact, near = draws.integers(0, 4, (2, 2)), draws.normal(1.5, 2, (2, 2))
        rows, columns = exact.sum(axis=1), exact.sum(axis=0)
        all_blocks = [
            np.array([[k, rows[0] - k], [columns[0] - k, rows[1] - columns[0] + k]]) for k in range(int(rows[0]) + 1)
        ]
        costs = [((block - near) ** 2).sum() for block in all_blocks if block.min() >= 0]
        assert ((transported(near, rows, columns) - near) ** 2).sum() == pytest.approx(min(costs))


@together(
    "wrong",
    [
        {"trees": (PLACES, WEEKS)},
        {"trees": (PLACES,), "epsilon": 1},
        {"trees": (PLACES, "weeks"), "epsilon": 1},
        {"trees": (PLACES, Tree([[2], [2, 0]])), "epsilon": 1},
        {"trees": (PLACES, Tree.over(4000)), "epsilon": 1},
        {"trees": (PLACES, WEEKS), "epsilon": 1, "rho": 1},
        {"trees": (PLACES, WEEKS), "epsilon": 1, "weights": "levels"},
        {"trees": (PLACES, WEEKS), "epsilon": 1, "weights": ("levels", [1, 2])},
        {"trees": (PLACES, WEEKS), "epsilon": -1},
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises((InvalidParameter, InvalidCall)):
        CrossedHierarchy(**wrong)


def test_records_that_are_no_numbers_count_nothing_and_raise_nothing() -> None:
    strange = [[float("nan"), None, "x", float("inf"), 10**400, -5, 2.0], *[[0] * 7] * 4]
    assert crossed(epsilon=10**9).release(strange).tables[0, 0].shape == (1, 1)


ROW = [100, 200, 300, 0, 0, 0, 50]


@together(
    "row",
    [
        tuple(ROW),
        np.array(ROW),
        np.ma.array(ROW),
        np.array([tuple(ROW)], dtype="i,i,i,i,i,i,i")[0],
        array("q", ROW),
        memoryview(array("q", ROW)),
        deque(ROW),
        dict(enumerate(ROW)).values(),
        (cell for cell in ROW),
        map(int, ROW),
        pd.Series(ROW, index=list("abcdefg")),
        pl.Series(ROW),
        pa.array(ROW),
        pa.chunked_array([ROW]),
        pa.scalar(ROW),
    ],
)
def test_no_row_is_lost_because_of_its_kind(row: Any) -> None:
    released = crossed(epsilon=10**9).release([row, *[[0] * 7] * 4])
    assert released.tables[2, 2][0].tolist() == ROW


def test_a_range_is_a_row() -> None:
    assert crossed(epsilon=10**9).release([range(7), *[[0] * 7] * 4]).tables[0, 0].item() == 21


@together("row", [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT, pa.scalar(None), "absent", b"absent",
                  5.0, np.float32(5), dt.date(2020, 1, 1), np.datetime64("2020-01-01"), 1j])  # fmt: skip
def test_an_absent_row_counts_as_zeros(row: Any) -> None:
    assert crossed(epsilon=10**9).release([row, ROW, *[[0] * 7] * 3]).tables[0, 0].item() == 650


class Broken:
    def __iter__(self) -> Any:
        raise RuntimeError("QQX771")


@together(
    "row",
    [5, True, np.int64(5), np.array(5), [1], range(10**12), count(), set(ROW), dict(enumerate(ROW)),
     np.array([ROW]), pl.Series([1]), Broken(), object()],
)  # fmt: skip
def test_what_is_no_row_of_the_table_is_refused(row: Any) -> None:
    with pytest.raises(InvalidParameter, match="one number for each leaf") as caught:
        crossed(epsilon=1).release([row, *[[0] * 7] * 4])
    assert "QQX771" not in str(caught.value)


def test_a_flat_list_is_no_table_of_one_column() -> None:
    sums = CrossedHierarchy(trees=(Tree([[2]]), Tree([[1]])), epsilon=10**9)
    assert sums.release([[500], [300]]).tables[0, 0].item() == 800
    with pytest.raises(InvalidParameter, match="one number for each leaf"):
        sums.release([500, 300])
