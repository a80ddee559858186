"""Layers of a network computed in whole numbers: the result of a row never depends on the rows beside it.

A matrix product of doubles does: BLAS adds in another order for another number of rows, and the last bit differs. Here
every product is a sum of whole numbers below 2^53 and therefore exact, and everything else acts on one entry at a
time by operations that IEEE 754 fixes to the last bit (+, −, ×, ÷, √, rounding) or by looking up a table.

    a number stands for    inputs, activations   2^-10      at most 2^10, 2^16
                           weights               2^-16      at most 2^22
                           errors                2^-16      at most 2^20
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lapwing import checks
from lapwing.errors import InvalidParameter
from lapwing.models.columns import Box, Floats

INPUT_BITS = 10
WEIGHT_BITS = 16
ERROR_BITS = 16
LARGEST_ACTIVATION = 1 << 16
LARGEST_WEIGHT = 1 << 22
LARGEST_ERROR = 1 << 20
MOST_COLUMNS = 1 << 20
MOST_UNITS = 1 << 10
"""Beyond these a sum of products could reach 2^53: 2^(10+22+20), 2^(16+22)·(2^10 + 1), 2^(20+22+10)."""

SCORE_STEP = 2.0 ** -(INPUT_BITS + WEIGHT_BITS)
"""What a whole number among the scores stands for."""
WEIGHT_STEP = 2.0**-WEIGHT_BITS
_ONE = float(1 << INPUT_BITS)
_FINEST = 1 << 10  # the exponential is looked up at multiples of 2^-10, up to 32
_EXPONENTIAL = np.floor(np.exp(-np.arange(32 * _FINEST) / _FINEST) * 2.0**30)


def checked_widths(columns: int, hidden: Sequence[int], outputs: int) -> tuple[int, ...]:
    """How many numbers go into the first layer and come out of each, if all sums stay exact."""
    widths = (columns, *(checks.whole(hidden=units) for units in hidden), outputs)
    if columns >= MOST_COLUMNS or max(widths[1:]) > MOST_UNITS:
        why = f"at most {MOST_COLUMNS - 1:,} columns and {MOST_UNITS:,} units or classes keep every sum exact"
        raise InvalidParameter("hidden", tuple(hidden), why, "Use fewer.")
    return widths


def input_rows(box: Box, X: Floats) -> Floats:
    """Rows within their bounds as whole numbers, behind a constant one."""
    return _with_one(box.steps(X, bits=INPUT_BITS))


def whole_weights(weights: Sequence[Floats]) -> list[Floats]:
    """Weights on their grid: whole numbers, finite whatever became of the weights."""
    with np.errstate(all="ignore"):
        steps = [np.nan_to_num(np.rint(matrix / WEIGHT_STEP), nan=0.0) for matrix in weights]
        return [np.clip(matrix, -LARGEST_WEIGHT, LARGEST_WEIGHT) for matrix in steps]


def forward(rows: Floats, weights: Sequence[Floats]) -> tuple[list[Floats], Floats]:
    """What goes into every layer, and the scores that come out of the last, in steps."""
    inputs = [rows]
    for matrix in weights[:-1]:
        activations = np.rint(inputs[-1] @ matrix * WEIGHT_STEP)
        inputs.append(_with_one(np.clip(activations, 0.0, LARGEST_ACTIVATION)))
    return inputs, inputs[-1] @ weights[-1]


def backward(inputs: Sequence[Floats], weights: Sequence[Floats], error: Floats) -> list[Floats]:
    """The error of every layer's output, from that of the last."""
    errors = [error]
    for given, matrix in zip(reversed(inputs[1:]), reversed(weights[1:]), strict=True):
        back = np.rint(errors[0] @ matrix[1:].T * WEIGHT_STEP)
        np.clip(back, -LARGEST_ERROR, LARGEST_ERROR, out=back)
        back *= given[:, 1:] > 0
        errors.insert(0, back)
    return errors


def class_error(scores: Floats, places: NDArray[np.int64]) -> Floats:
    """The derivative of the logarithmic loss by the scores: the softmax, less one at the true class."""
    shares = softmax(scores)
    shares[np.arange(len(shares)), places] -= 1.0
    return np.rint(shares * 2.0**ERROR_BITS)


def softmax(scores: Floats) -> Floats:
    """Shares that add up to one. The exponentials are whole numbers, so their sum is exact."""
    below = np.rint((scores.max(axis=1, keepdims=True) - scores) * (_FINEST * SCORE_STEP))
    parts = _EXPONENTIAL[np.minimum(below, len(_EXPONENTIAL) - 1).astype(np.intp)]
    shares: Floats = parts / parts.sum(axis=1, keepdims=True)
    return shares


def number_error(scores: Floats, targets: Floats) -> Floats:
    """The derivative of half the squared error; targets are whole numbers of 2^-16."""
    error: Floats = np.rint(scores[:, 0] * 2.0**-INPUT_BITS) - targets
    return np.clip(error, -LARGEST_ERROR, LARGEST_ERROR)[:, None]


def squares(rows: Floats) -> Floats:
    """The sum of squares of every row: exact below 2^53, and at least 2^53 above."""
    totals: Floats = np.einsum("ij,ij->i", rows, rows)
    return totals


def _with_one(rows: Floats) -> Floats:
    return np.concatenate([np.full((len(rows), 1), _ONE), rows], axis=1)
