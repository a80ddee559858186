"""Steps that several models share: moments of bounded rows, a private limit on the size of rows, shrinkage.

Row sums of many columns are hard to protect: one row may change all of them. Sums and squares are bought with noise
made for boxes. Of products there are too many: but most rows lie near a common centre, so a centre and a radius are
bought first, with small parts of what may be spent, and rows beyond the radius are shrunk to it. That biases sums
towards the centre, by the rows that are shrunk, and saves noise on all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.mechanisms import Quantile
from lapwing.models.columns import BITS, Box, Floats
from lapwing.models.cube import Cube
from lapwing.models.exact import as_int64, totals_by, whole_products, whole_totals, within_l1, within_l2
from lapwing.models.spending import Spending
from lapwing.noise import Entropy

_LARGEST = 1 << 26  # so that squares of sizes are exact in doubles, and checked (exact.py)
_WIDEST = 1 << 58  # in steps squared, a quarter of the widest noise that can be drawn
_LOWEST, _CUBES = 12, 32
_BLOCK = 1 << 15  # numbers that stay in the cache
_SEEN = 4.0  # over ε: so many rows the choice of a radius tells apart


@dataclass(frozen=True, slots=True)
class GroupMoments:
    """The sum of each column and of its squares, in each of several public groups of rows, bought together.

    A row is anywhere within its bounds: z and 2z² − 1 of d columns lie in a cube, and so does the noise.
    """

    columns: int
    groups: int
    spending: Spending

    @property
    def bits(self) -> int:
        """Of a grid so fine that noise on squares can still be drawn."""
        smallest, numbers = min(Fraction(1), self.spending.size), 2 * self.columns + 1
        return next(b for b in range(BITS, -1, -1) if b == 0 or numbers << 2 * b <= smallest * (_WIDEST >> 8))

    @property
    def noise(self) -> Any:
        """For S·z and 2z² − S² of each column in each group, numbers of at most S² in size."""
        largest, numbers, spending = 1 << 2 * self.bits, 2 * self.columns, self.spending
        if not spending.concentrated:
            return Cube(
                spending.size, largest=largest, dimensions=numbers, blocks=self.groups, unit=spending.stated.unit
            )
        return spending.additive(
            l1=numbers * largest, l2_squared=numbers * largest**2, dimensions=self.groups * numbers
        )

    @property
    def accuracy(self) -> float:
        """The half-width of the noise on a sum, in half widths of the bounds."""
        return float(self.noise.accuracy()) / (1 << 2 * self.bits)

    def release(self, box: Box, X: Floats, places: Any, entropy: Entropy) -> tuple[Floats, Floats, float]:
        """Noisy sums of z and of 2z² − 1, from −1 to 1, and the variance of the noise of each. No place is −1."""
        step, noise, rows = 1 << self.bits, self.noise, box.steps(X, self.bits)
        number = np.bincount(places, minlength=self.groups).astype(object)[:, None]
        sums = totals_by(places, self.groups, rows, step).astype(object)
        squares = totals_by(places, self.groups, rows * rows, step**2).astype(object)
        exact = np.hstack([step * sums, 2 * squares - number * step**2])
        given = exact if isinstance(noise, Cube) else exact.ravel()
        released = np.asarray(noise.release(given, entropy), dtype=float).reshape(exact.shape) / step**2
        return released[:, : self.columns], released[:, self.columns :], noise.variance / step**4


def numbers_of(places: Any, groups: int, spending: Spending, entropy: Entropy) -> tuple[Floats, float]:
    """About how many rows each group has, as far from equal as noise does not explain, and all have."""
    noise = spending.additive(l1=1, l2_squared=1, dimensions=groups)
    counts = noise.release(np.bincount(places, minlength=groups), entropy).astype(float)
    least = np.sqrt(noise.variance) + 1
    total = max(float(counts.sum()), groups * least)
    return np.maximum(shrunk(counts, noise.variance, total / groups), least), total


@dataclass(frozen=True, slots=True)
class Table:
    """Rows in steps, and what is bought of them within a private radius."""

    rows: Floats
    step: int
    """Whole steps from the middle of the bounds to either end."""
    entropy: Entropy
    sums: NDArray[np.object_]
    """Of each column, exactly."""

    @classmethod
    def of(cls, box: Box, X: Floats, parts: Sequence[Spending], entropy: Entropy) -> Table:
        """The rows on a grid so fine that noise on their squares can still be drawn for each part."""
        columns, smallest = len(box.bounds), min([Fraction(1), *(part.size for part in parts)])
        bits = next(b for b in range(BITS, -1, -1) if b == 0 or (columns << b + 1) ** 2 <= smallest * _WIDEST)
        rows = box.steps(X, bits)
        return cls(rows, 1 << bits, entropy, whole_totals(rows, 1 << bits))

    def count(self, spending: Spending) -> float:
        """About how many there are."""
        return numbers_of(np.zeros(len(self.rows), dtype=np.int64), 1, spending, self.entropy)[1]

    def centre(self, spending: Spending, total: float) -> int:
        """The mean of all entries of all columns, in steps."""
        columns = self.rows.shape[1]
        reach = columns * self.step
        noise = spending.additive(l1=reach, l2_squared=reach**2, dimensions=1)
        total_of_sums = float(noise.release([int(self.sums.sum())], self.entropy)[0])
        return int(np.clip(np.rint(total_of_sums / (total * columns)), -self.step, self.step))

    def means(self, for_radius: Spending, for_sums: Spending, total: float, centre: int) -> Floats:
        """Of each column, from −1 to 1."""
        columns, order = self.rows.shape[1], 2 if for_sums.concentrated else 1
        share = share_kept(for_radius, for_sums, columns, total)
        rows = self.around(np.full(columns, float(centre)))
        rows, radius = rows.within(order, rows.sizes(order)[0], share, for_radius)
        noise = for_sums.additive(l1=radius, l2_squared=radius**2, dimensions=columns)
        sums = np.asarray(noise.release(rows.totals(min(radius, 2 * self.step)), self.entropy), dtype=float)
        mean, scatter = sums / (self.step * total), noise.variance / (self.step * total) ** 2
        mean = shrunk(mean, scatter, shrunk(mean, scatter, 0.0), least=3.0)
        return np.clip(mean + centre / self.step, -1.0, 1.0)

    def around(self, centre: Floats) -> Around:
        """The rows less a centre, in whole steps."""
        return Around(self, centre, np.empty(0, dtype=np.int64), np.empty((0, len(centre))))


@dataclass(frozen=True, slots=True)
class Around:
    """Rows less a public centre, of which some are shrunk. Only those are written down: the others are in the table."""

    table: Table
    centre: Floats
    places: NDArray[np.int64]
    """Where the shrunk rows stand in the table."""
    shrunk: Floats

    def within(self, order: int, norms: Floats, share: float, spending: Spending) -> tuple[Around, int]:
        """All rows, whose sizes were norms, shrunk to a private radius; and the radius."""
        largest = largest_radius(len(self.centre), order, self.table.step)
        radius = private_radius(norms, order, largest, share, spending, self.table.entropy)
        beyond = np.flatnonzero(~(norms <= float(radius**order)))
        if not len(beyond):
            return self, radius
        places = np.union1d(self.places, beyond)
        rows = self.table.rows[places] - self.centre
        rows[np.searchsorted(places, self.places)] = self.shrunk
        at = np.searchsorted(places, beyond)
        rows[at] = (within_l1 if order == 1 else within_l2)(rows[at], radius)
        return replace(self, places=places, shrunk=rows), radius

    def sizes(self, *orders: int) -> list[Floats]:
        """The l1 size of each row (order 1), or the squared l2 size (2); by the block, to stay in the cache."""
        rows, columns = self.table.rows, len(self.centre)
        size = max(1, _BLOCK // columns)
        norms, ones = [np.empty(len(rows)) for _ in orders], np.ones(columns)
        repeated, less, powers = np.tile(self.centre, (size, 1)), np.empty((size, columns)), np.empty((size, columns))
        for start in range(0, len(rows), size):
            block = rows[start : start + size]
            out, raised = less[: len(block)], powers[: len(block)]
            np.subtract(block, repeated[: len(block)], out=out)
            for order, sizes in zip(orders, norms, strict=True):
                np.matmul(_raised(out, order, raised), ones, out=sizes[start : start + size])
        for order, sizes in zip(orders, norms, strict=True):
            self.renew(sizes, order)
        return norms

    def renew(self, sizes: Floats, order: int) -> None:
        """Put the sizes of the rows that were shrunk since in their places."""
        sizes[self.places] = _raised(self.shrunk, order, np.empty(self.shrunk.shape)) @ np.ones(len(self.centre))

    def totals(self, largest: int) -> NDArray[np.int64]:
        """The sum of each column, of numbers of at most `largest` in size."""
        step, rows = self.table.step, self.table.rows
        kept = self.table.sums - whole_totals(rows[self.places], step)
        kept -= (len(rows) - len(self.places)) * self.centre.astype(np.int64).astype(object)
        return as_int64(kept + whole_totals(self.shrunk, largest))

    def products(self, largest: int) -> NDArray[np.int64]:
        """The sum of the products of each two columns, of at most `largest` in size: Σzzᵀ − cΣzᵀ − Σzcᵀ + ncᵀc."""
        step, rows, out = self.table.step, self.table.rows, self.table.rows[self.places]
        centre = self.centre.astype(np.int64).astype(object)
        moved = np.outer(centre, self.table.sums - whole_totals(out, step))
        kept = whole_products(rows, rows, step**2) - whole_products(out, out, step**2)
        kept += (len(rows) - len(out)) * np.outer(centre, centre) - moved - moved.T
        return as_int64(kept + whole_products(self.shrunk, self.shrunk, largest))


def _raised(rows: Floats, order: int, out: Floats) -> Floats:
    return np.absolute(rows, out=out) if order == 1 else np.square(rows, out=out)


def largest_radius(columns: int, order: int, step: int) -> int:
    """No row of differences of steps is larger, except of very many columns, which are always shrunk."""
    return min(2 * step * (columns if order == 1 else math.isqrt(columns - 1) + 1), _LARGEST)


def private_radius(norms: Floats, order: int, largest: int, share: float, spending: Spending, entropy: Entropy) -> int:
    """A limit that about this share of the sizes stays within, on a ladder of 21 public rungs up to the largest.

    Rungs are cubes, so that a choice that is mostly chance is an eighth of the largest in the middle. The rung of a
    size depends on it alone; sizes beyond the last one belong to it.
    """
    rungs = [-(-largest * at**3 // _CUBES**3) for at in range(_LOWEST, _CUBES + 1)]
    q = Fraction(min(max(share, 0.25), 0.999)).limit_denominator(1000)
    mechanism = Quantile(epsilon=spending.epsilon, bounds=(0, len(rungs) - 1), granularity=1, q=q)
    below = [0, *(int(np.count_nonzero(norms <= float(rung**order))) for rung in rungs[:-1]), len(norms)]
    counts = [after - before for before, after in pairwise(below)]
    return rungs[int(mechanism.start([(at, 1, count) for at, count in enumerate(counts)], entropy).value)]


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
