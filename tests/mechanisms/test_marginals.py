"""Marginals that agree: against dense least squares, exactly, and in whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from cases import together
from numpy.typing import NDArray

from lapwing.errors import InvalidParameter, UnsupportedQuery
from lapwing.mechanisms.marginals import MOST_COLUMNS, Family, share_out

TREES = [
    Family((2, 3, 4), ((0, 1), (1, 2))),
    Family((2, 3, 4, 2), ((0, 1, 2), (2, 3), (1,), ())),
    Family((5,), ((0,), ())),
    Family((3, 4), ((0,), (1,))),
    Family((1, 3), ((0, 1), (0,))),
    Family((3, 2, 2, 3), ((0, 1), (1, 2), (1, 3))),
]
RINGS = [
    Family((2, 3, 4), ((0, 1), (1, 2), (0, 2))),
    Family((2, 2, 2, 3), ((0, 1), (1, 2), (2, 3), (0, 3))),
]
ALL = [*TREES, *RINGS]


def marginals(family: Family) -> list[NDArray[np.float64]]:
    """A matrix for each marginal, which sums the table over all columns."""
    cells = np.array(list(np.ndindex(*family.sizes)))
    found = []
    for columns in family.sets:
        places = np.zeros(len(cells), int)
        for column in columns:
            places = places * family.sizes[column] + cells[:, column]
        matrix = np.zeros((family.cells(columns), len(cells)))
        matrix[places, np.arange(len(cells))] = 1
        found.append(matrix)
    return found


def noisy_tables(family: Family, seed: int) -> tuple[list[Any], list[float]]:
    draws = np.random.default_rng(seed)
    tables = [draws.integers(-5, 50, family.shape(columns)) for columns in family.sets]
    return tables, list(draws.uniform(0.5, 5, len(tables)))


def assert_agree(family: Family, tables: Sequence[NDArray[Any]]) -> None:
    """In every set of columns that two of them share, to the last bit."""
    for (mine, one), (yours, other) in combinations(zip(family.sets, tables, strict=True), 2):
        shared = set(mine) & set(yours)
        sums = [
            table.sum(axis=tuple(i for i, column in enumerate(columns) if column not in shared))
            for columns, table in ((mine, one), (yours, other))
        ]
        assert np.array_equal(*sums), (mine, yours)


@together("family", ALL)
def test_they_are_the_dense_least_squares_solution_with_its_variances(family: Family) -> None:
    noisy, spreads = noisy_tables(family, 1)
    parts = marginals(family)
    weights = np.concatenate([np.full(len(part), 1 / spread) for part, spread in zip(parts, spreads, strict=True)])
    stacked, numbers = np.vstack(parts), np.concatenate([table.ravel() for table in noisy])
    normal = np.linalg.pinv(stacked.T @ (weights[:, None] * stacked))
    solution = normal @ (stacked.T @ (weights * numbers))
    for part, columns, table in zip(parts, family.sets, family.reconciled(noisy, spreads), strict=True):
        assert np.allclose(table.ravel(), part @ solution, atol=1e-4)
        variances = np.einsum("ij,jk,ik->i", part, normal, part)
        assert np.allclose(variances, family.variance(columns, spreads), rtol=1e-9)


@together("family, size", [(family, size) for family in ALL for size in (1, 10**6, 10**14)])
def test_they_agree_to_the_last_bit_whatever_the_size(family: Family, size: int) -> None:
    noisy, spreads = noisy_tables(family, 2)
    assert_agree(family, family.reconciled([table * size + 1 for table in noisy], spreads))


@together("family", ALL)
def test_tables_that_agree_stay_what_they_are(family: Family) -> None:
    draws = np.random.default_rng(3)
    whole = draws.integers(0, 100, int(np.prod(family.sizes)))
    tables = [(part @ whole).reshape(family.shape(c)) for part, c in zip(marginals(family), family.sets, strict=True)]
    spreads = list(draws.uniform(0.5, 5, len(tables)))
    for before, after in zip(tables, family.reconciled(tables, spreads), strict=True):
        assert np.array_equal(before, after)


@together("family", ALL)
def test_what_was_not_released_but_lies_within_has_the_variance_of_its_sum(family: Family) -> None:
    _, spreads = noisy_tables(family, 4)
    parts = marginals(family)
    stacked = np.vstack(parts)
    weights = np.concatenate([np.full(len(part), 1 / spread) for part, spread in zip(parts, spreads, strict=True)])
    normal = np.linalg.pinv(stacked.T @ (weights[:, None] * stacked))
    below = [columns for columns in family.interactions if columns not in family.sets]
    for columns, part in zip(below, marginals(Family(family.sizes, tuple(below))) if below else [], strict=True):
        assert np.allclose(np.diag(part @ normal @ part.T), family.variance(columns, spreads), rtol=1e-9)


def test_reconciling_never_makes_a_cell_worse_and_shared_sums_better() -> None:
    family = Family((2, 5, 6), ((0, 1), (1, 2)))
    spreads = [4.0, 4.0]
    assert family.variance((0, 1), spreads) < 4
    assert family.variance((1, 2), spreads) < 4
    assert family.variance((1,), spreads) < min(2, 6) * 4


@together("family, seed", [(family, seed) for family in TREES for seed in range(20)])
def test_whole_numbers_agree_and_are_not_negative(family: Family, seed: int) -> None:
    noisy, spreads = noisy_tables(family, seed)
    near = family.reconciled([table - 12 for table in noisy], spreads)  # many cells are below 0
    whole = family.whole_numbers(near)
    assert_agree(family, whole)
    assert all(table.dtype == np.int64 and table.min() >= 0 for table in whole)
    assert whole[0].sum() == max(0, round(float(near[0].sum())))


def test_whole_numbers_that_need_no_rounding_are_kept() -> None:
    family = TREES[0]
    table = np.arange(24).reshape(family.sizes)
    given = [table.sum(axis=2), table.sum(axis=0)]
    assert all(map(np.array_equal, given, family.whole_numbers(given)))


def test_a_ring_is_refused_and_a_tree_is_not() -> None:
    for family in RINGS:
        with pytest.raises(UnsupportedQuery, match="form a ring"):
            family.whole_order  # noqa: B018
    for family in TREES:
        assert {fill.columns for fill in family.whole_order} <= {*family.interactions}
    whole = Family(RINGS[0].sizes, (*RINGS[0].sets, (0, 1, 2)))
    assert whole.whole_order[0].columns == (0, 1, 2)


def test_shares_are_the_nearest_that_add_up() -> None:
    draws = np.random.default_rng(5)
    targets, totals = draws.normal(3, 6, (200, 5)), draws.integers(0, 40, 200)
    shared = share_out(targets, totals)
    assert shared.min() >= 0
    assert np.array_equal(shared.sum(axis=1), totals)
    for line, (wanted, total) in enumerate(zip(targets, totals, strict=True)):
        moved = shared[line].astype(float)
        cost = ((moved - wanted) ** 2).sum()
        for give, take in combinations(range(5), 2):
            for one in (1.0, -1.0):
                other = moved.copy()
                other[give] -= one
                other[take] += one
                # no exchange of a whole unit is more than rounding away from the best one
                assert other.min() < 0 or ((other - wanted) ** 2).sum() > cost - 2.0, (wanted, total)


@pytest.mark.parametrize(
    "wrong",
    [
        {"sizes": (2, 0), "sets": ((0,),)},
        {"sizes": (2, 2), "sets": ()},
        {"sizes": (2, 2), "sets": ((0,), (0,))},
        {"sizes": (2, 2), "sets": ((1, 0),)},
        {"sizes": (2, 2), "sets": ((2,),)},
        {"sizes": (2,) * 9, "sets": (tuple(range(MOST_COLUMNS + 1)),)},
    ],
)
def test_families_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        Family(**wrong)


def test_a_very_large_total_is_shared_out_to_the_last_unit() -> None:
    assert share_out(np.full((1, 7), 1e15 / 7), np.array([10**15])).sum() == 10**15
