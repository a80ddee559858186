"""Sums of products without rounding error, and rows of whole numbers whose size is certain.

Whole numbers in doubles go through BLAS in blocks so small that no sum can reach 2^53, where doubles stop being exact;
the blocks are added as Python integers. So the order of rows, threads and the machine change nothing, and one row
changes a total by exactly its own product.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lapwing.models.columns import Floats

_EXACT = 1 << 53
_LARGEST_BLOCK = 1 << 16
_ROWS = 1 << 10


def products(left: Floats, right: Floats, largest: int) -> NDArray[np.int64]:
    """leftᵀ·right for arrays of whole numbers of which no single product exceeds `largest` in size.

    >>> products(np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]]), 8).tolist()
    [[11]]
    """
    rows = max(1, min(_LARGEST_BLOCK, (_EXACT - 1) // max(largest, 1)))
    total = np.zeros((left.shape[1], right.shape[1]), dtype=object)
    for start in range(0, len(left), rows):
        block = left[start : start + rows].T @ right[start : start + rows]
        total += block.astype(np.int64).astype(object)
    return _as_int64(total)


def totals(rows: Floats, largest: int) -> NDArray[np.int64]:
    """The sum of each column of whole numbers of at most `largest` in size."""
    first: NDArray[np.int64] = products(np.ones((len(rows), 1)), rows, largest)[0]
    return first


def totals_by(places: NDArray[np.int64], count: int, rows: Floats, largest: int) -> NDArray[np.int64]:
    """The sum of each column over the rows of every place; rows at place −1 count nowhere."""
    total = np.zeros((count, rows.shape[1]), dtype=object)
    size = max(1, min(_LARGEST_BLOCK, (_EXACT - 1) // max(largest, 1)))
    for start in range(0, len(rows), size):
        at, block = places[start : start + size], rows[start : start + size]
        inside = at >= 0
        if not inside.all():
            at, block = at[inside], block[inside]
        sums = [np.bincount(at, weights=block[:, j], minlength=count) for j in range(rows.shape[1])]
        total += np.array(sums).T.astype(np.int64).astype(object).reshape(total.shape)
    return _as_int64(total)


def rowwise(rows: Floats, weights: Floats) -> Floats:
    """rows·weights in doubles, each row by itself.

    BLAS rounds a row differently beside other rows, so that a person more could move the answers of others; products
    and sums of single entries do not.

    >>> rowwise(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]])).tolist()
    [[11.0]]
    """
    found = np.zeros((len(rows), weights.shape[1]))
    with np.errstate(all="ignore"):
        for start in range(0, len(rows), _ROWS):
            block, out = rows[start : start + _ROWS], found[start : start + _ROWS]
            for column, weight in zip(block.T, weights, strict=True):
                out += column[:, None] * weight
    return found


def within_l2(rows: Floats, radius: int) -> Floats:
    """Whole numbers, row by row: shrunk to the l2 ball, cut towards 0, and checked in exact arithmetic.

    A row becomes what it becomes because of itself alone; its squared size is at most radius² as an integer.
    """
    squared = np.einsum("ij,ij->i", rows, rows)
    return _shrunk(rows, np.sqrt(squared), radius, lambda cut: np.einsum("ij,ij->i", cut, cut) <= float(radius**2))


def within_l1(rows: Floats, radius: int) -> Floats:
    """The same for the l1 ball: the absolute values of a row add up to at most `radius`."""
    return _shrunk(rows, np.abs(rows).sum(axis=1), radius, lambda cut: np.abs(cut).sum(axis=1) <= radius)


def _shrunk(rows: Floats, sizes: Floats, radius: int, fits: object) -> Floats:
    if radius >= math.isqrt(_EXACT):
        raise ValueError(radius)
    with np.errstate(all="ignore"):  # a warning would depend on a record
        factor = np.minimum(1.0, radius * (1 - 2.0**-30) / sizes)
        factor[~np.isfinite(factor)] = 0.0
        cut: Floats = np.trunc(rows * factor[:, None])
    cut[~fits(cut)] = 0.0  # type: ignore[operator]
    return cut


def _as_int64(total: NDArray[np.object_]) -> NDArray[np.int64]:
    """Totals of Python integers; beyond 2^62, which no memory can hold rows for, they are cut."""
    return np.clip(total, -(1 << 62), 1 << 62).astype(np.int64)
