"""Sums of products without rounding error, and rows of whole numbers whose size is certain.

Whole numbers in doubles go through BLAS, so many rows together that no sum can reach 2^53, where doubles stop being
exact; beyond they are added as integers. So the order of rows, threads and the machine change nothing, and one row
changes a total by exactly its own product.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.models.columns import Floats

_EXACT = 1 << 53
_LARGEST_TOTAL = 1 << 62
_ROWS = 1 << 12
_FEW = 16  # places that are told apart faster by products than by counting


def products(left: Floats, right: Floats, largest: int) -> NDArray[np.int64]:
    """leftᵀ·right for arrays of whole numbers of which no single product exceeds `largest` in size.

    >>> products(np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]]), 8).tolist()
    [[11]]
    """
    return as_int64(whole_products(left, right, largest))


def totals(rows: Floats, largest: int) -> NDArray[np.int64]:
    """The sum of each column of whole numbers of at most `largest` in size."""
    return as_int64(whole_totals(rows, largest))


def whole_products(left: Floats, right: Floats, largest: int) -> NDArray[np.object_]:
    """The same as Python integers, to be computed with."""
    return _summed(len(left), largest, (left.shape[1], right.shape[1]), lambda at: left[at].T @ right[at])


def whole_totals(rows: Floats, largest: int) -> NDArray[np.object_]:
    """The same as Python integers, to be computed with."""
    ones = np.ones(_ROWS)
    return _summed(len(rows), largest, rows.shape[1:], lambda at: ones[: at.stop - at.start] @ rows[at])


def totals_by(places: NDArray[np.int64], count: int, rows: Floats, largest: int) -> NDArray[np.int64]:
    """The sum of each column over the rows of every place; rows at place −1 count nowhere."""
    names = np.arange(count)[:, None]

    def few(at: slice) -> Floats:
        sums: Floats = (places[at] == names).astype(float) @ rows[at]
        return sums

    def many(at: slice) -> Floats:
        there, block = places[at] + 1, rows[at]
        sums = [np.bincount(there, weights=block[:, j], minlength=count + 1)[1:] for j in range(rows.shape[1])]
        return np.array(sums, dtype=float).T.reshape(count, rows.shape[1])

    return as_int64(_summed(len(rows), largest, (count, rows.shape[1]), few if count <= _FEW else many))


def _summed(
    rows: int, largest: int, shape: tuple[int, ...], of_block: Callable[[slice], Floats]
) -> NDArray[np.object_]:
    """Sums over blocks of rows: in doubles while they stay below 2^53, then as integers."""
    if largest >= _EXACT:
        raise ValueError(largest)
    exact = (_EXACT - 1) // max(largest, 1)
    total = np.zeros(shape, dtype=object)
    for first in range(0, rows, exact):
        last, sums = min(first + exact, rows), np.zeros(shape)
        for start in range(first, last, _ROWS):
            sums += of_block(slice(start, min(start + _ROWS, last)))
        total += sums.astype(np.int64)
    return total


def as_int64(total: NDArray[Any]) -> NDArray[np.int64]:
    """Totals cut at 2^62, which no memory can hold rows for and which brings no two of them farther apart."""
    cut: NDArray[np.int64] = np.clip(total, -_LARGEST_TOTAL, _LARGEST_TOTAL).astype(np.int64)
    return cut


def rowwise(rows: Floats, weights: Floats) -> Floats:
    """rows·weights in doubles, each row by itself.

    BLAS rounds a row differently beside other rows, so that a person more could move the answers of others; products
    and sums of single entries do not.

    >>> rowwise(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]])).tolist()
    [[11.0]]
    """
    products = np.zeros((len(rows), weights.shape[1]))
    with np.errstate(all="ignore"):
        for start in range(0, len(rows), _ROWS // 4):
            block, out = rows[start : start + _ROWS // 4], products[start : start + _ROWS // 4]
            for column, weight in zip(block.T, weights, strict=True):
                out += column[:, None] * weight
    return products


def within_l2(rows: Floats, radius: int) -> Floats:
    """Whole numbers, row by row: shrunk to the l2 ball, cut towards 0, and checked in exact arithmetic.

    A row becomes what it becomes because of itself alone; its squared size is at most radius² as an integer.
    """
    squared = np.einsum("ij,ij->i", rows, rows)
    return _shrunk(rows, np.sqrt(squared), radius, lambda cut: np.einsum("ij,ij->i", cut, cut) <= float(radius**2))


def within_l1(rows: Floats, radius: int) -> Floats:
    """The same for the l1 ball: the absolute values of a row add up to at most `radius`."""
    return _shrunk(rows, np.abs(rows).sum(axis=1), radius, lambda cut: np.abs(cut).sum(axis=1) <= radius)


def _shrunk(rows: Floats, sizes: Floats, radius: int, fits: Callable[[Floats], NDArray[np.bool_]]) -> Floats:
    if radius >= math.isqrt(_EXACT):
        raise ValueError(radius)
    with np.errstate(all="ignore"):  # a warning would depend on a record
        factor = np.minimum(1.0, radius * (1 - 2.0**-30) / sizes)
        factor[~np.isfinite(factor)] = 0.0
        cut: Floats = np.trunc(rows * factor[:, None])
    cut[~fits(cut)] = 0.0
    return cut
