"""Sums of products of the columns, the constant and the target, with a certain limit on what one row adds to them.

A row of whole steps u and its target t adds the products u_j·u_l (j ≤ l), 2·u_j·t and t². All of them grow with the
square of the row, so a row is shrunk until together they stay within a public limit. By how much depends on u alone:
least squares with such weights stays unbiased where the target is linear in the columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.models.columns import BITS, Floats
from lapwing.models.exact import products, rowwise, totals, within_l1, within_l2

STEP = 1 << BITS
LIMIT = 1 << 36
"""The most one row adds, in l1 for Laplace noise and in l2 for Gaussian noise."""
TARGET_WEIGHT = 2
"""Products with the target count twice, so that they get half the noise: a slope needs all of them."""
_SLACK = 1 - 2.0**-20
_CERTAIN = 1 - 2.0**-30
_BLOCK = 1 << 11
_MOST = 1 << 61


@dataclass(frozen=True, slots=True)
class Moments:
    """Sums over the rows: products of the columns (symmetric), of the columns with the target, and of the target."""

    columns: Floats
    target: Floats
    square: float

    @classmethod
    def of(cls, numbers: NDArray[Any], width: int) -> Moments:
        """From the order in which `flat` puts them."""
        values = np.asarray(numbers, dtype=float)
        pairs = width * (width + 1) // 2
        columns = np.zeros((width, width))
        columns[np.triu_indices(width)] = values[:pairs]
        columns = columns + np.triu(columns, 1).T
        return cls(columns, values[pairs : pairs + width] / TARGET_WEIGHT, float(values[-1]))


def entries(width: int) -> int:
    """How many numbers `flat` gives for rows of this width, the constant counted."""
    return width * (width + 1) // 2 + width + 1


def flat(rows: Floats) -> NDArray[np.int64]:
    """The exact sums of products of rows whose last entry is the target, as one vector of whole numbers."""
    sums = np.clip(products(rows, rows, LIMIT), -_MOST, _MOST)  # so that twice a sum is still an int64
    width = rows.shape[1] - 1
    pairs = sums[:-1, :-1][np.triu_indices(width)]
    return np.concatenate([pairs, TARGET_WEIGHT * sums[:-1, -1], sums[-1:, -1]])


def sizes(columns: Floats, target: Floats, *, squared: bool) -> Floats:
    """What each row adds to `flat`: its l1 norm, or its squared l2 norm."""
    size, ones = np.abs(columns), np.ones(columns.shape[1])
    large = np.abs(target)
    second = np.einsum("ij,ij->i", columns, columns)
    if not squared:
        first = size @ ones
        together: Floats = (first * first + second) / 2 + TARGET_WEIGHT * large * first + large * large
        return together
    squares = columns * columns
    fourth = rowwise(squares * squares, ones[:, None])[:, 0]  # beyond 2^53, where BLAS would round by the neighbours
    added: Floats = (second * second + fourth) / 2 + (TARGET_WEIGHT * large) ** 2 * second + large**4
    return added


def weighed(columns: Floats, target: Floats, centre: Floats, *, constant: bool, squared: bool) -> Floats:
    """Rows and targets (last) in whole steps around a centre (its last entry for the target), shrunk to the limit.

    The factor of a row is found from the farthest that a target can be, so it does not look at its own. What a row
    adds is checked in the end; one that would add too much, which arithmetic does not let happen, adds nothing.
    """
    first, reach = int(constant), float(STEP + abs(centre[-1]))
    joined = np.empty((len(columns), first + columns.shape[1] + 1))
    most = float(LIMIT) ** 2 * _CERTAIN if squared else float(LIMIT)
    for start in range(0, len(columns), _BLOCK):
        out = joined[start : start + _BLOCK]
        out[:, :first] = STEP
        np.subtract(columns[start : start + _BLOCK], centre[:-1], out=out[:, first:-1])
        np.subtract(target[start : start + _BLOCK], centre[-1], out=out[:, -1])
        with np.errstate(all="ignore"):  # a warning would depend on a record
            bound = sizes(out[:, :-1], np.array(reach), squared=squared)
            factor = np.sqrt(np.sqrt(most / bound) if squared else most / bound) * _SLACK
            out *= factor[:, None]
            np.trunc(out, out=out)
            fits = sizes(out[:, :-1], out[:, -1], squared=squared) <= most
        if not fits.all():
            out[~fits] = 0.0
    return joined


def centre_sums(columns: Floats, target: Floats, *, squared: bool) -> NDArray[np.int64]:
    """Sums of (1, columns, target), every row shrunk until its l1 (or l2) norm is that of the 1 alone."""
    within, total = within_l2 if squared else within_l1, np.zeros(columns.shape[1] + 2, dtype=np.int64)
    rows = np.empty((min(_BLOCK, len(columns)), columns.shape[1] + 2))
    for start in range(0, len(columns), _BLOCK):
        part = rows[: len(columns) - start]
        part[:, 0] = STEP
        part[:, 1:-1] = columns[start : start + _BLOCK]
        part[:, -1] = target[start : start + _BLOCK]
        total += totals(within(part, STEP), STEP)
    return total
