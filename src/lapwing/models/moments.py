"""Steps that models made of sums share: a private limit on the size of rows, rows within it, and noise weighed out.

Row sums of many columns are hard to protect: one row may change all of them. But most rows lie near a common centre, so
a centre and a radius are bought first, with small parts of what may be spent, and rows beyond the radius are shrunk
to it. That biases sums towards the centre, by the rows that are shrunk, and saves noise on all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.mechanisms import Quantile
from lapwing.models.columns import BITS, Box, Floats
from lapwing.models.exact import totals, totals_by, within_l1, within_l2
from lapwing.models.spending import Spending
from lapwing.noise import Entropy

_LARGEST = 1 << 26  # so that squares of sizes are exact in doubles, and checked (exact.py)
_WIDEST = 1 << 58  # in steps squared, a quarter of the widest noise that can be drawn
_LOWEST, _CUBES = 12, 32
_BLOCK = 1 << 15  # numbers that stay in the cache
_SEEN = 4.0  # over ε: so many rows the choice of a radius tells apart


@dataclass(frozen=True, slots=True)
class Groups:
    """Rows in steps, each in one of several public groups, and what is bought of them: one group for a plain mean."""

    rows: Floats
    step: int
    """Whole steps from the middle of the bounds to either end."""
    places: NDArray[np.int64]
    groups: int
    entropy: Entropy

    @classmethod
    def of(
        cls, box: Box, X: Floats, parts: Sequence[Spending], entropy: Entropy, places: Any = None, groups: int = 1
    ) -> Groups:
        """The rows on a grid so fine that noise on their squares can still be drawn for each part."""
        columns, smallest = len(box.bounds), min([Fraction(1), *(part.size for part in parts)])
        bits = next(b for b in range(BITS, -1, -1) if b == 0 or (columns << b + 1) ** 2 <= smallest * _WIDEST)
        at = np.zeros(len(X), dtype=np.int64) if places is None else places
        return cls(box.steps(X, bits), 1 << bits, at, groups, entropy)

    def counts(self, spending: Spending) -> tuple[Floats, float]:
        """Rows of each group, as far from equal as noise does not explain, and of all."""
        noise = spending.additive(l1=1, l2_squared=1, dimensions=self.groups)
        found = noise.release(np.bincount(self.places, minlength=self.groups), self.entropy).astype(float)
        least = np.sqrt(noise.variance) + 1
        total = max(float(found.sum()), self.groups * least)
        return np.maximum(shrunk(found, noise.variance, total / self.groups), least), total

    def centre(self, spending: Spending, total: float) -> int:
        """The mean of all entries of all columns, in steps."""
        columns = self.rows.shape[1]
        reach = columns * self.step
        noise = spending.additive(l1=reach, l2_squared=reach**2, dimensions=1)
        found = float(noise.release([int(totals(self.rows, self.step).sum())], self.entropy)[0])
        return int(np.clip(np.rint(found / (total * columns)), -self.step, self.step))

    def means(
        self, for_radius: Spending, for_sums: Spending, counts: Floats, total: float, centre: int
    ) -> tuple[Floats, float]:
        """Of each column in each group, from −1 to 1, and the variance of their noise, taken equal for all groups.

        Unequal, it would favour small groups far away, by log(variance) of every column.
        """
        rows, columns = self.rows - centre, self.rows.shape[1]
        order = 2 if for_sums.concentrated else 1
        rows, radius = self.within(rows, order, share_kept(for_radius, for_sums, columns, total), for_radius)
        noise = for_sums.additive(l1=radius, l2_squared=radius**2, dimensions=self.groups * columns)
        sums = self._released(rows, min(radius, 2 * self.step), noise) / self.step
        scatter = noise.variance / self.step**2
        common = shrunk(sums.sum(axis=0) / total, self.groups * scatter / total**2, 0.0)
        of_means = scatter / counts[:, None] ** 2
        mean = shrunk(sums / counts[:, None], of_means, common, least=3.0)
        return np.clip(mean + centre / self.step, -1.0, 1.0), float(of_means.mean())

    def variances(
        self, for_spread: Spending, for_squares: Spending, counts: Floats, total: float, mean: Floats
    ) -> Floats:
        """Of each column in each group, in half widths squared: group, column and table by how noisy they are."""
        centres, columns = np.rint(mean * self.step), self.rows.shape[1]
        rows = around(self.rows, centres[0]) if self.groups == 1 else self.rows - centres[self.places]
        rows, radius = self.within(rows, 2, share_kept(for_spread, for_squares, columns, total), for_spread)
        noise = for_squares.additive(l1=radius**2, l2_squared=radius**4, dimensions=self.groups * columns)
        squares = self._released(rows * rows, min(radius, 2 * self.step) ** 2, noise) / self.step**2
        scatter = noise.variance / self.step**4
        least = np.sqrt(self.groups * columns * scatter) / (total * columns)
        everywhere = min(max(float(squares.sum()) / (total * columns), least), 1.0)
        column = shrunk(squares.sum(axis=0) / total, self.groups * scatter / total**2, everywhere)
        floor = min(everywhere / 20, np.sqrt(self.groups * scatter) / total)
        column = np.clip(column, floor, 1.0)
        of_groups = shrunk(squares / counts[:, None], scatter / counts[:, None] ** 2, column, doubt=3.0)
        return np.clip(of_groups, column / 20, 1.0)

    def within(self, rows: Floats, order: int, share: float, spending: Spending) -> tuple[Floats, int]:
        """Rows shrunk to a private radius, in place."""
        found, largest = sizes(rows, order), largest_radius(rows.shape[1], order, self.step)
        radius = private_radius(found, order, largest, share, spending, self.entropy)
        return within(rows, found, radius, order), radius

    def _released(self, rows: Floats, largest: int, noise: Any) -> Floats:
        """Noisy sums of each column in each group."""
        one = self.groups == 1  # all rows are in it
        exact = totals(rows, largest)[None] if one else totals_by(self.places, self.groups, rows, largest)
        released: Floats = noise.release(exact.ravel(), self.entropy).astype(float).reshape(exact.shape)
        return released


def around(rows: Floats, centre: Floats) -> Floats:
    """rows − centre, by the block: to numpy a long loop is faster than many short ones."""
    found, repeated = np.empty(rows.shape), np.tile(centre, max(1, _BLOCK // len(centre)))
    given, made, size = rows.reshape(-1), found.reshape(-1), len(repeated)
    for start in range(0, len(given), size):
        out = made[start : start + size]
        np.subtract(given[start : start + size], repeated[: len(out)], out=out)
    return found


def sizes(rows: Floats, order: int) -> Floats:
    """The l1 size of rows of whole numbers, or the squared l2 size."""
    columns = rows.shape[1]
    found, ones, size = np.empty(len(rows)), np.ones(columns), max(1, _BLOCK // columns)
    for start in range(0, len(rows), size):
        block = rows[start : start + size]
        np.matmul(np.abs(block) if order == 1 else block * block, ones, out=found[start : start + size])
    return found


def largest_radius(columns: int, order: int, step: int) -> int:
    """No row of differences of steps is larger, except of very many columns, which are always shrunk."""
    return min(2 * step * (columns if order == 1 else math.isqrt(columns - 1) + 1), _LARGEST)


def private_radius(found: Floats, order: int, largest: int, share: float, spending: Spending, entropy: Entropy) -> int:
    """A limit that about this share of the sizes stays within, on a ladder of 21 public rungs up to the largest.

    Rungs are cubes, so that a choice that is mostly chance is an eighth of the largest in the middle. The rung of a
    size depends on it alone; sizes beyond the last one belong to it.
    """
    rungs = [-(-largest * at**3 // _CUBES**3) for at in range(_LOWEST, _CUBES + 1)]
    q = Fraction(min(max(share, 0.25), 0.999)).limit_denominator(1000)
    mechanism = Quantile(epsilon=spending.epsilon, bounds=(0, len(rungs) - 1), granularity=1, q=q)
    below = [0, *(int(np.count_nonzero(found <= float(rung**order))) for rung in rungs[:-1]), len(found)]
    counts = [after - before for before, after in pairwise(below)]
    return rungs[int(mechanism.start([(at, 1, count) for at, count in enumerate(counts)], entropy).value)]


def within(rows: Floats, found: Floats, radius: int, order: int) -> Floats:
    """The rows with those beyond the radius shrunk to it; whole numbers, of a size that is certain.

    `found` are their sizes. Rows are changed in place.
    """
    beyond = ~(found <= float(radius**order))
    if beyond.any():
        rows[beyond] = (within_l1 if order == 1 else within_l2)(rows[beyond], radius)
    return rows


def share_kept(for_radius: Spending, for_sums: Spending, columns: int, rows: float) -> float:
    """The share of rows to leave as they are, so that bias and noise of their sums balance.

    Shrinking m more rows by t in l1 moves the sums of d columns by about m·t/√d in l2, and saves √(2d)·t/ε of Laplace
    noise: worth it up to m = √2·d/ε. With Gaussian noise, in l2: up to m = √(d/2ρ). For one column this is the rule of
    Amin, Kulesza, Muñoz Medina, Vassilvitskii 2019. But so few that the choice of a radius does not see them should not
    be asked for: then every rung above them all would be as good.
    """
    size = float(for_sums.size)
    shrinking = math.sqrt(columns / (2 * size)) if for_sums.concentrated else math.sqrt(2) * columns / size
    return 1.0 - max(shrinking, _SEEN / float(for_radius.epsilon)) / max(rows, 1.0)


def shrunk(
    values: Floats, noise: Floats | float, towards: Floats | float, *, doubt: float = 1.0, least: float = 0.0
) -> Floats:
    """Noisy numbers moved towards common values as far as noise of this variance explains that they differ from them.

    Empirical Bayes (James, Stein 1961; Efron, Morris 1973): all differences get one spread, what they have beyond the
    noise. Noise counts `doubt` times; a spread of `least` standard errors of itself is always believed.
    """
    apart, noise = values - towards, doubt * np.asarray(noise)
    believed = least * float(noise.mean()) / np.sqrt(max(apart.size, 1))
    spread = max(float(np.mean(apart**2 - noise)), believed)
    total = spread + noise
    result: Floats = towards + apart * np.where(total > 0, spread / np.where(total > 0, total, 1.0), 1.0)
    return result
