"""Totals that are published every day: the tree, the square root, and what fresh noise costs."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from browser import Call
from numpy.typing import NDArray
from scipy.linalg import solve_triangular, sqrtm, toeplitz

from lapwing.mechanisms import analytic_sigma

LENGTHS = (1, 2, 7, 16, 30, 91)
DELTA = 1e-6
Matrix = NDArray[np.float64]


def running(days: int) -> Matrix:
    """What turns counts of days into totals."""
    return np.tril(np.ones((days, days)))


def square_root(days: int) -> Matrix:
    """The matrix whose square makes totals, as NumPy and SciPy find it: a Toeplitz matrix with a binomial series."""
    column = np.array([math.comb(2 * place, place) / 4**place for place in range(days)])
    root: Matrix = toeplitz(column, np.zeros(days))
    assert np.allclose(root @ root, running(days))
    if days < 8:
        assert np.allclose(root, sqrtm(running(days)).real, atol=1e-6)
    return root


def tree(days: int) -> tuple[Matrix, Matrix]:
    """All whole nodes over so many days, and which of them make each total."""
    spans = [
        (first, first + size - 1)
        for size in (2**level for level in range(days.bit_length()))
        for first in range(1, days + 1, size)
        if first + size - 1 <= days
    ]
    nodes = np.array([[float(first <= day <= last) for day in range(1, days + 1)] for first, last in spans])
    chosen = np.zeros((days, len(spans)))
    for day in range(1, days + 1):
        start = 1
        while start <= day:  # the longest node that begins here and is over by then
            place = max(
                (place for place, (first, last) in enumerate(spans) if first == start and last <= day),
                key=lambda place: spans[place][1],
            )
            chosen[day - 1, place] = 1
            start = spans[place][1] + 1
    assert np.array_equal(chosen @ nodes, running(days))
    return chosen, nodes


def largest_column(matrix: Matrix) -> float:
    """How far one person moves what gets noise, as a length."""
    return float(np.sqrt((matrix**2).sum(axis=0).max()))


def widths() -> Iterator[Call]:
    for days in LENGTHS:
        root, (chosen, nodes) = square_root(days), tree(days)
        yield "continual", "coefficients", [days], [float(one) for one in root[:, 0]]
        yield "continual", "levels", [days], int(nodes.sum(axis=0).max())
        for name, decoder, encoder in (
            ("addedWidths", running(days), np.eye(days)),
            ("treeWidths", chosen, nodes),
            ("rootWidths", root, root),
        ):
            noise = np.sqrt((decoder**2).sum(axis=1)) * largest_column(encoder)
            yield "continual", name, [days], [float(one) for one in noise]


def nodes_of_days() -> Iterator[Call]:
    for day in range(1, 65):
        chosen, nodes = tree(day)
        days = [np.flatnonzero(nodes[place]) + 1 for place in np.flatnonzero(chosen[-1])]
        spans = sorted([int(found[0]), int(found[-1])] for found in days)
        yield "continual", "nodesOf", [day], spans


def errors() -> Iterator[Call]:
    for days in (1, 6, 16, 21):
        draws = np.cos(np.arange(1.0, days + 1) ** 2)
        given = [float(one) for one in draws]
        yield "continual", "addedErrors", [given], [float(one) for one in running(days) @ draws]
        root = square_root(days)
        mixed = largest_column(root) * (root @ draws)
        assert np.allclose(solve_triangular(root, mixed, lower=True), largest_column(root) * draws)
        yield "continual", "rootErrors", [given], [float(one) for one in mixed]
        chosen, nodes = tree(days)
        ends = [np.flatnonzero(node)[-1] for node in nodes]
        sizes = nodes.sum(axis=1)
        own = [end + 1 & -(end + 1) == size for end, size in zip(ends, sizes, strict=True)]
        drawn = np.where(own, draws[ends], np.nan)  # nodes that no total needs have no draw
        used = np.where(chosen > 0, drawn, 0).sum(axis=1)
        yield "continual", "treeErrors", [given], [float(one) for one in largest_column(nodes) * used]


def prices() -> Iterator[Call]:
    for epsilon in (0.05, 1.0, 6.0):
        sigma = analytic_sigma(epsilon, DELTA)
        for releases in (1, 30, 365):
            yield "continual", "priceOf", [releases, sigma * math.sqrt(releases), DELTA], epsilon
