"""Overlapping questions: private answers computed from shared cells, and what an attacker concludes from answers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.checks import Number
from lapwing.mechanisms import Laplace
from lapwing.noise import SYSTEM, Entropy

BATCH = 64
"""Rounds at a time: every thinkable table is compared with each."""


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


def noisy_sums(
    people: NDArray[Any], groups: Sequence[Sequence[int]], *, epsilon: Number, entropy: Entropy = SYSTEM
) -> tuple[NDArray[np.int64], float]:
    """Sums of values in {0, 1} over groups, each with noise of its own, and its scale; a row of people per round.

    Privacy: epsilon for all sums of a round together, whatever one person's value is (replace): one value moves them
    together by no more than the number of groups somebody is in.
    """
    most = max(np.bincount(np.concatenate([list(group) for group in groups])).tolist())
    exact = _sums(np.asarray(people, np.int64), groups)
    noise = Laplace(epsilon=epsilon, sensitivity=most, dimensions=len(groups), on_grid=True, relation="replace")
    return np.array([noise.release(row, entropy) for row in exact]), most / float(epsilon)


def values_behind(noisy: NDArray[np.int64], groups: Sequence[Sequence[int]], *, scale: float) -> NDArray[np.float64]:
    """How likely each person's value is 1, given noisy sums: by Bayes' rule over every table of all people."""
    tables, sums = _every_table(tuple(tuple(group) for group in groups))
    batches = [noisy[start : start + BATCH] for start in range(0, len(noisy), BATCH)]
    return np.concatenate([posterior(batch, sums, scale=scale) @ tables for batch in batches])


@lru_cache(maxsize=8)
def _every_table(groups: tuple[tuple[int, ...], ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    people = 1 + max(map(max, groups))
    tables = np.indices((2,) * people).reshape(people, -1).T
    return tables, _sums(tables, groups)


def _sums(people: NDArray[np.int64], groups: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    return np.stack([people[:, list(group)].sum(axis=1) for group in groups], axis=1)


def posterior(answers: Any, predicted: Any, *, scale: float) -> NDArray[np.float64]:
    """How likely every thinkable table is, given answers with discrete Laplace noise of a scale, by Bayes' rule.

    One row of `answers` per round, one row of `predicted` per table with its exact answers; all tables are equally
    likely beforehand. The result has a row per round that adds up to 1.
    """
    misses = np.abs(np.asarray(answers)[:, None, :] - np.asarray(predicted)[None, :, :]).sum(axis=2)
    weights = np.exp(-(misses - misses.min(axis=1, keepdims=True)) / scale)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
