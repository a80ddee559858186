"""k-means: a coarse noisy histogram gives centres to start from, then a few noisy steps refine them.

Clustering the histogram costs nothing, however often it is tried, because the histogram is already noisy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import checks
from lapwing.errors import InvalidParameter
from lapwing.models.account import Account
from lapwing.models.columns import BITS, Box, Floats
from lapwing.models.estimator import PrivateClusterer
from lapwing.models.exact import rowwise, totals, totals_by
from lapwing.models.spending import Spending
from lapwing.noise import Entropy, discrete_gaussian
from lapwing.privacy import Loss
from lapwing.privacy.quotes import Line

_STEP = 1 << BITS
_MOST_COLUMNS = 1 << 24  # so that sums over a row stay below 2^53 (kmeans.md)
_MOST_DIRECTIONS = 512
_FARTHEST = float(1 << 20)
_FINENESS = 12  # bits of a direction's entries
_MOST_CELLS = 1 << 10
_BLOCK = 1 << 12
_STARTS = 10
_SETTLED = 30


@dataclass(frozen=True, slots=True)
class _Recipe:
    box: Box
    spending: Spending
    clusters: int
    iterations: int

    @property
    def loss(self) -> Loss:
        return self.spending.stated

    @property
    def parts(self) -> tuple[Spending, ...]:
        """For the number of rows, their mean, their spread, the histogram, and for each iteration."""
        return self.spending.split(2, 4, 4, 20, *[Fraction(70, self.iterations)] * self.iterations)

    @property
    def widths(self) -> Floats:
        """Half the width of each column in steps, 2^16 for the widest: distances are those of the data's own units."""
        half = self.box.half
        widths: Floats = np.floor(_STEP * (half / half.max()))
        return widths

    def directions(self, rows: float) -> int:
        """How many directions to look at, so that a centre's noise stays below about 3/8 of a row's distance to it."""
        each, size = rows / self.clusters, float(self.spending.size)
        affordable = each**2 * size / 18 if self.spending.concentrated else each * size / 15
        columns = len(self.box.bounds)
        return int(min(max(affordable, 2), columns, _MOST_DIRECTIONS))

    def cells(self, rows: float) -> int:
        """How many cells to count, so that a cell has about as many rows as its noise is wide."""
        share = self.parts[3]
        scale = math.sqrt(1 / (2 * share.size)) if share.concentrated else float(1 / share.size)
        return max(int(min(rows / scale, _MOST_CELLS)), 4 * self.clusters)

    @property
    def lines(self) -> Sequence[Line]:
        size, mean, spread, cells, *steps = self.parts
        count = size.additive(l1=1, l2_squared=1, dimensions=1)
        cell = cells.additive(l1=1, l2_squared=1, dimensions=1)
        return (
            Line("the number of rows", count.privacy_loss(), count.accuracy(), "rows"),
            Line("the mean of all rows", mean.loss),
            Line("the spread of all rows", spread.loss),
            Line("the histogram to start from", cells.loss, cell.accuracy(), "rows"),
            *(Line(f"iteration {place}", step.loss) for place, step in enumerate(steps, start=1)),
        )


@dataclass(frozen=True, slots=True)
class _View:
    """Rows as whole numbers in a few directions, and centres back from there."""

    widths: Floats
    directions: Floats | None
    """Whole numbers, a column for each direction; None looks at the columns as they are."""

    @classmethod
    def random(cls, widths: Floats, count: int, entropy: Entropy) -> _View:
        """Perpendicular directions, uniformly random: the rows have no say."""
        bell = discrete_gaussian(1 << 20, size=len(widths) * count, entropy=entropy).astype(float)
        perpendicular = np.linalg.qr(bell.reshape(len(widths), count))[0]
        return cls(widths, np.rint(np.ldexp(perpendicular, _FINENESS)))

    @property
    def size(self) -> int:
        return len(self.widths) if self.directions is None else self.directions.shape[1]

    def rows(self, scaled: Floats) -> Floats:
        """Whole numbers of at most 2^20 in size: every operation is exact or acts on one entry."""
        steps = np.rint(scaled * self.widths)
        if self.directions is None:
            return steps
        seen = np.rint(np.ldexp(steps @ self.directions, -_FINENESS))
        return np.clip(seen, -_FARTHEST, _FARTHEST, out=seen)

    def reach(self, concentrated: bool) -> float:
        """A length that few rows within the bounds exceed: l2, or l1 for Laplace noise."""
        if self.directions is None:
            return float(np.linalg.norm(self.widths) if concentrated else self.widths.sum())
        length = float(np.linalg.norm(self.widths)) * math.sqrt(self.size / len(self.widths))
        return length if concentrated else 0.8 * math.sqrt(self.size) * length

    def back(self, centers: Floats) -> Floats:
        """In half widths of each column; in the directions not looked at, the middle of the bounds."""
        widths = np.where(self.widths > 0, self.widths, np.inf)
        if self.directions is None:
            return np.clip(centers / widths, -1.0, 1.0)
        return np.ldexp(centers @ self.directions.T, -_FINENESS) / widths


class KMeans(PrivateClusterer[_Recipe]):
    """Centres such that rows lie close to one of them, in Euclidean distance of the data's own units.

    `labels_` and `inertia_` do not exist, because they would be exact functions of the rows. `predict` says where rows
    belong.

    Privacy: epsilon pure, or (epsilon, delta), or rho zero-concentrated; add_remove, one row.
    Accuracy: a centre is off by about d / (epsilon · rows of the cluster) of the spread of the cluster. If that is
    much, only some random directions are looked at, and centres differ in those alone.
    Proof: kmeans.md

    Args:
        n_clusters: How many centres to find.
        iterations: How often all centres move. It is public and fixed, because when to stop would depend on the rows.
            More iterations mean more noise in each.

    Attributes:
        cluster_centers_: The centres, one in each row.

    >>> rows = np.repeat([[1.0, 1.0], [9.0, 9.0]], 1000, axis=0)
    >>> centers = KMeans(2, epsilon=10, bounds=(0, 10)).fit(rows).cluster_centers_
    >>> sorted(centers.round()[:, 0].tolist())
    [1.0, 9.0]
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        epsilon: Any = 1.0,
        delta: Any = None,
        rho: Any = None,
        bounds: Any = None,
        iterations: int = 3,
        account: Account | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.bounds = bounds
        self.iterations = iterations
        self.account = account
        self.random_state = random_state

    def _recipe(self, columns: int, names: Sequence[str] | None) -> _Recipe:
        clusters, iterations = checks.whole(n_clusters=self.n_clusters), checks.whole(iterations=self.iterations)
        if columns > _MOST_COLUMNS:
            raise InvalidParameter("X", f"<{columns} columns>", f"has more than {_MOST_COLUMNS}", "Leave some out.")
        return _Recipe(self._box(columns, names), self._spending(), clusters, iterations)

    def _learn(self, recipe: _Recipe, X: Floats, y: Any, entropy: Entropy) -> None:
        size, mean, spread, cells, *steps = recipe.parts
        count = max(int(size.additive(l1=1, l2_squared=1, dimensions=1).release([len(X)], entropy)[0]), 1)
        directions, most = recipe.directions(count), recipe.cells(count)
        axes = min(directions, int(math.log2(most)))
        if axes == len(recipe.widths):
            view = _View(recipe.widths, None)
        else:
            view = _View.random(recipe.widths, directions, entropy)
        rows = view.rows(recipe.box.scaled(X))
        reach = view.reach(recipe.spending.concentrated)
        middle = np.rint(_noisy(_sums(rows, 0.0, reach, mean), reach, mean, entropy) / count)
        middle = np.clip(middle, -_FARTHEST, _FARTHEST)
        apart = _noisy(_sums(rows, middle, reach, spread, sizes=True), reach, spread, entropy) / count
        apart = np.clip(apart, _STEP / 256, _FARTHEST)
        grid = _Grid.of(middle[:axes], 1.25 * apart[:axes], most, recipe.clusters)
        centers = np.tile(middle, (recipe.clusters, 1))
        centers[:, :axes] = grid.centers(recipe.clusters, grid.counts(rows, cells, entropy), cells, entropy)
        radius = float(1.25 * np.linalg.norm(apart) if spread.concentrated else apart.sum())
        for step in steps:
            centers, radius = _moved(centers, radius, rows, count, step, entropy)
        self.cluster_centers_: Floats = recipe.box.back(view.back(centers))

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The cluster of each row. It depends on these rows without noise, so publish it only if they are public.

        Args:
            X: Rows with the columns of the fit. Values outside the bounds are clamped.

        Returns:
            For each row the place of the nearest centre in `cluster_centers_`.

        >>> rows = np.repeat([[1.0, 1.0], [9.0, 9.0]], 1000, axis=0)
        >>> first, second, third = KMeans(2, epsilon=10, bounds=(0, 10)).fit(rows).predict([[0, 0], [2, 2], [8, 8]])
        >>> bool(first == second != third)
        True
        """
        rows = self._rows(X)
        box = self._box(rows.shape[1], self._names())
        widest = box.half.max()
        centers = (self.cluster_centers_ - box.middle) / widest
        scores = rowwise(box.scaled(rows) * (box.half / widest), -2.0 * centers.T) + (centers**2).sum(axis=1)
        return np.asarray(scores.argmin(axis=1), dtype=np.int64)

    def fit_predict(self, X: Any, y: Any = None) -> NDArray[np.int64]:
        """Fit, then say where each row belongs. Only the fit is private: show the answer to those who may see the rows.

        Args:
            X: The rows. Values outside the bounds are clamped.
            y: Ignored.

        Returns:
            For each row the place of the nearest centre in `cluster_centers_`.

        >>> rows = np.repeat([[1.0, 1.0], [9.0, 9.0]], 1000, axis=0)
        >>> np.bincount(KMeans(2, epsilon=10, bounds=(0, 10)).fit_predict(rows)).tolist()
        [1000, 1000]
        """
        X = self._listed(X)
        return self.fit(X).predict(X)


@dataclass(frozen=True, slots=True)
class _Grid:
    """Cells of equal width around the middle of the rows, the outermost open."""

    middle: Floats
    spread: Floats
    bins: int

    @classmethod
    def of(cls, middle: Floats, spread: Floats, most: int, clusters: int) -> _Grid:
        bins = max(2, int(most ** (1 / len(middle)) + 1e-9))
        while bins ** len(middle) < 2 * clusters:
            bins += 1
        return cls(middle, spread, bins)

    @property
    def points(self) -> Floats:
        """The middle of every cell."""
        inner = np.linspace(-2.0, 2.0, 2 * self.bins + 1)[1::2] if self.bins > 2 else np.array([-0.8, 0.8])
        axes = self.middle[:, None] + self.spread[:, None] * inner
        return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)

    def counts(self, rows: Floats, spending: Spending, entropy: Entropy) -> NDArray[Any]:
        """How many rows each cell holds, noisily. A row is in one cell."""
        axes = len(self.middle)
        cells, places = self.bins**axes, np.array([float(self.bins**axis) for axis in range(axes)][::-1])
        low, factor = self.middle - 2 * self.spread, self.bins / (4 * self.spread)
        counts = np.zeros(cells, dtype=np.int64)
        for block in _blocks(rows):
            cell = np.floor((block[:, :axes] - low) * factor)
            place = np.clip(cell, 0, self.bins - 1, out=cell) @ places
            counts += np.bincount(place.astype(np.int64), minlength=cells)
        noise = spending.additive(l1=1, l2_squared=1, dimensions=cells)
        return np.asarray(noise.release(counts, entropy))

    def centers(self, clusters: int, counts: NDArray[Any], spending: Spending, entropy: Entropy) -> Floats:
        """Ordinary k-means on the cells that stand out of the noise: from here on nothing is paid."""
        kept = max(int((counts > math.sqrt(_variance(spending, 1) / 2)).sum()), clusters)
        chosen = np.argsort(-counts, kind="stable")[:kept]
        weights = np.maximum(counts[chosen].astype(float), 1.0)
        return _ordinary(self.points[chosen], weights, clusters, entropy)


def _ordinary(points: Floats, weights: Floats, clusters: int, entropy: Entropy) -> Floats:
    """The best centres of several starts of weighted k-means, for a few points that are public by now."""
    tries = []
    for _ in range(_STARTS):
        centers = _spread_out(points, weights, clusters, entropy)
        for _ in range(_SETTLED):
            places = _nearest(points, centers)
            mass = np.bincount(places, weights, clusters)
            sums = [np.bincount(places, weights * axis, clusters) for axis in points.T]
            before, centers = centers, np.where(mass, np.array(sums) / np.maximum(mass, 1.0), centers.T).T
            if np.array_equal(before, centers):
                break
        cost = weights @ ((points - centers[_nearest(points, centers)]) ** 2).sum(axis=1)
        tries.append((cost, centers))
    return min(tries, key=lambda pair: pair[0])[1]


def _spread_out(points: Floats, weights: Floats, clusters: int, entropy: Entropy) -> Floats:
    """Points drawn by their weight and squared distance to those drawn before (Arthur and Vassilvitskii 2007)."""
    draws = entropy.words(clusters, np.uint64) / 2.0**64
    chosen, apart = [], np.ones(len(points))
    for draw in draws:
        shares = np.cumsum(weights * apart)
        chosen.append(min(int(np.searchsorted(shares, draw * shares[-1], side="right")), len(points) - 1))
        far = ((points - points[chosen[-1]]) ** 2).sum(axis=1)
        apart = far if len(chosen) == 1 else np.minimum(apart, far)
    return points[chosen]


def _moved(
    centers: Floats, radius: float, rows: Floats, count: int, spending: Spending, entropy: Entropy
) -> tuple[Floats, float]:
    """Each centre after a noisy step towards the mean of its rows, and the radius that rows were cut to for it.

    Rows count by their difference to the centre, cut to the noisy average of its length: noise shrinks with the
    clusters. A step that could be all noise is shortened (James and Stein), down to none.
    """
    clusters, size = centers.shape
    centers = np.rint(np.clip(centers, -_FARTHEST, _FARTHEST))
    of_counts, of_distance, of_sums = spending.split(2, 1, 17)
    places, lengths = _assigned(rows, centers, spending)
    noise = of_counts.additive(l1=1, l2_squared=1, dimensions=clusters)
    counts = noise.release(np.bincount(places, minlength=clusters), entropy)
    weights = np.maximum(counts.astype(float), noise.accuracy() + 0.1 * count / clusters)[:, None]
    steps = np.floor(np.minimum(lengths / radius, 1.0) * _STEP)
    distance = _noisy(totals(steps[:, None], _STEP), radius, of_distance, entropy)[0]
    radius = min(max(distance / count, radius / 8, 1.0), radius)
    sums = np.zeros(centers.shape, dtype=np.int64)
    for block, at, far in zip(_blocks(rows), _blocks(places), _blocks(lengths), strict=True):
        sums += totals_by(at, clusters, _cut(block - centers.take(at, axis=0), far, radius), _STEP)
    step = _noisy(sums, radius, of_sums, entropy) / weights
    chance = size * _variance(of_sums, radius) / weights**2
    step *= np.maximum(0.0, 1.0 - chance / np.maximum((step**2).sum(axis=1, keepdims=True), 1e-9))
    step *= np.minimum(1.0, radius / np.maximum(_lengths(step, spending), 1e-9))[:, None]
    return centers + step, radius


def _assigned(rows: Floats, centers: Floats, spending: Spending) -> tuple[NDArray[np.int64], Floats]:
    """Which centre is nearest to each row, and how far it is."""
    places, lengths = np.empty(len(rows), dtype=np.int64), np.empty(len(rows))
    for block, at, far in zip(_blocks(rows), _blocks(places), _blocks(lengths), strict=True):
        at[:] = _nearest(block, centers)
        far[:] = _lengths(block - centers.take(at, axis=0), spending)
    return places, lengths


def _nearest(rows: Floats, centers: Floats) -> NDArray[np.int64]:
    """The nearest centre of every row, the first of several. Exact for whole numbers, so a row decides alone."""
    scores = rows @ (-2.0 * centers.T)
    scores += (centers**2).sum(axis=1)
    return np.asarray(scores.argmin(axis=1), dtype=np.int64)


def _lengths(rows: Floats, spending: Spending) -> Floats:
    """The length that noise is made for: l1 for Laplace noise, l2 for Gaussian noise."""
    if spending.concentrated:
        lengths: Floats = np.sqrt(rows**2 @ np.ones(rows.shape[1]))
        return lengths
    return np.asarray(np.abs(rows) @ np.ones(rows.shape[1]))


def _cut(rows: Floats, lengths: Floats, radius: float) -> Floats:
    """Rows of these lengths in steps of radius / 2^16, those beyond the radius shrunk to it: at most 2^16 long."""
    factors = _STEP * (1 - 2.0**-30) / np.maximum(lengths, radius)
    return np.trunc(rows * factors[:, None])


def _sums(rows: Floats, middle: Floats | float, radius: float, spending: Spending, *, sizes: bool = False) -> Any:
    """The sum of all rows as seen from a middle, each cut to the radius; of their absolute values if asked for."""
    sums = np.zeros(rows.shape[1], dtype=np.int64)
    for block in _blocks(rows):
        apart = block - middle
        lengths = _lengths(apart, spending)
        sums += totals(_cut(np.abs(apart, out=apart) if sizes else apart, lengths, radius), _STEP)
    return sums


def _noisy(sums: NDArray[np.int64], radius: float, spending: Spending, entropy: Entropy) -> Floats:
    """Totals of rows that were cut to the radius, in steps of the rows."""
    noise = spending.additive(l1=_STEP, l2_squared=_STEP**2, dimensions=sums.size)
    return np.asarray(noise.release(sums.ravel(), entropy), dtype=float).reshape(sums.shape) * (radius / _STEP)


def _variance(spending: Spending, radius: float) -> float:
    """Of the noise on one number, for rows of at most this length."""
    size = float(spending.size)
    return radius**2 / (2 * size) if spending.concentrated else 2 * (radius / size) ** 2


def _blocks(rows: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """The same rows, a few at a time, to stay in the cache."""
    return (rows[start : start + _BLOCK] for start in range(0, len(rows), _BLOCK))
