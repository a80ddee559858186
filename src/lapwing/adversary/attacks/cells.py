"""What the private answers to overlapping questions have in common, and what an attacker makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.checks import Number
from lapwing.mechanisms import Laplace
from lapwing.noise import SYSTEM, Entropy


def private_sums(
    values: Sequence[int], groups: Sequence[Any], *, epsilon: Number, entropy: Entropy = SYSTEM
) -> list[int]:
    """Sums of values in {0, 1} over at most 62 overlapping groups, added up from noisy sums of their smallest cells.

    Privacy: epsilon for all sums together, whatever one person's value is (replace; who belongs to which group is
    public). Everybody is in one cell, so one value changes one cell by 1 at most.
    Accuracy: far better than a share of epsilon for every sum, and the sums agree with one another.
    """
    inside = np.asarray(groups, np.int64)
    which = (1 << np.arange(len(inside))) @ inside  # the groups that somebody is in, as the bits of a number
    _, first, cell_of = np.unique(which, return_index=True, return_inverse=True)
    exact = np.bincount(cell_of, np.asarray(values), minlength=len(first)).astype(np.int64)
    noisy = Laplace(epsilon=epsilon, sensitivity=1, dimensions=len(first), on_grid=True, relation="replace")
    sums: list[int] = (inside[:, first] @ noisy.release(exact, entropy)).tolist()
    return sums


def posterior(answers: Any, predicted: Any, *, scale: float) -> NDArray[np.float64]:
    """How likely every thinkable table is, given answers with discrete Laplace noise of a scale, by Bayes' rule.

    One row of `answers` per round, one row of `predicted` per table with its exact answers; all tables are equally
    likely beforehand. The result has a row per round that adds up to 1.
    """
    misses = np.abs(np.asarray(answers)[:, None, :] - np.asarray(predicted)[None, :, :]).sum(axis=2)
    weights = np.exp(-(misses - misses.min(axis=1, keepdims=True)) / scale)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
