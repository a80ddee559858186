"""A private mean and covariance matrix: products of columns around a private centre."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lapwing.models.account import Account
from lapwing.models.columns import Box, Floats
from lapwing.models.estimator import PrivateEstimator
from lapwing.models.moments import Around, Table, share_kept, shrunk
from lapwing.models.spending import Spending
from lapwing.noise import Entropy
from lapwing.privacy import Loss
from lapwing.privacy.quotes import Line

_GUESS, _GUESS_VARIANCE = 0.1, 0.04
_LEAST = 1e-12


@dataclass(frozen=True, slots=True)
class Recipe:
    """What is bought for a covariance matrix, also by PCA."""

    box: Box
    assume_centered: bool
    spending: Spending

    @property
    def loss(self) -> Loss:
        return self.spending.stated

    @property
    def parts(self) -> tuple[Spending, ...]:
        """For the count, for the means (three parts) unless they are known, and for the second moments (five)."""
        return self.spending.split(1, *(() if self.assume_centered else (1, 1, 2)), 1, 1, 3, 1, 10)

    @property
    def lines(self) -> Sequence[Line]:
        of_means = ("the mean of all columns together", "how far rows lie from it", "the sum of each column")
        names = (
            "the number of rows",
            *(() if self.assume_centered else of_means),
            "how far rows lie from the means, in l1",
            "how far rows lie from the means, in l2",
            "the sum of squares of each column",
            "the sum of squares of row sums",
            "the sum of products of each two columns",
        )
        return tuple(Line(name, part.loss) for name, part in zip(names, self.parts, strict=True))


class Covariance(PrivateEstimator[Recipe]):
    """The mean of each column and the covariance of each two columns.

    Privacy: epsilon pure, or (epsilon, delta), or rho zero-concentrated; add_remove, one row.
    Accuracy: rows far from the others are shrunk to a private radius, which makes variances of columns with heavy tails
    too small. Values that the noise hides are estimated together: variances shrink to one value, correlations too.
    Proof: covariance.md

    Args:
        assume_centered: Whether to take products around 0, in the units of the data. Then no mean is released, and all
            is spent on the products.

    Attributes:
        mean_: The mean of each column; with `assume_centered` 0, or the bound that is nearest to 0.
        covariance_: The covariance matrix, symmetric and positive semi-definite.
        correlation_: The correlation matrix.

    >>> rows = [[low, low + high] for low in range(10) for high in range(10)] * 20
    >>> covariance = Covariance(epsilon=10, bounds=[(0, 10), (0, 20)]).fit(rows)
    >>> bool(covariance.correlation_[0, 1] > 0.4)
    True
    """

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        delta: Any = None,
        rho: Any = None,
        bounds: Any = None,
        assume_centered: bool = False,
        account: Account | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.bounds = bounds
        self.assume_centered = assume_centered
        self.account = account
        self.random_state = random_state

    def _recipe(self, columns: int, names: Sequence[str] | None) -> Recipe:
        return Recipe(self._box(columns, names), bool(self.assume_centered), self._spending())

    def _learn(self, recipe: Recipe, X: Floats, y: Any, entropy: Entropy) -> None:
        mean, unit = moments(recipe, X, entropy)
        half = recipe.box.half
        self.mean_ = recipe.box.back(mean)
        self.covariance_ = unit * np.outer(half, half)
        spread = np.sqrt(np.diag(unit))
        self.correlation_ = unit / np.outer(spread, spread)


def moments(recipe: Recipe, X: Floats, entropy: Entropy) -> tuple[Floats, Floats]:
    """The mean and the covariance of rows scaled to −1 … 1."""
    box, parts = recipe.box, recipe.parts
    table = Table.of(box, X, parts, entropy)
    total = table.count(parts[0])
    if recipe.assume_centered:
        mean = box.scaled(np.zeros((1, len(box.bounds))))[0]
    else:
        mean = table.means(parts[2], parts[3], total, table.centre(parts[1], total))
    return mean, _Second.of(table.around(np.rint(mean * table.step)), total, parts[-5:]).matrix()


@dataclass(frozen=True, slots=True)
class _Second:
    """Noisy second moments of rows scaled to −1 … 1, and the variances of their noise."""

    squares: Floats
    of_squares: float
    together: float
    """The mean square of the sum of a row."""
    of_together: float
    crossed: Floats
    """Above the diagonal, row by row."""
    of_crossed: float

    @classmethod
    def of(cls, rows: Around, total: float, parts: Sequence[Spending]) -> _Second:
        """Buy them, of rows around the centre, of which there are about `total`."""
        for_l1, for_l2, for_squares, for_together, for_crossed = parts
        table, columns = rows.table, len(rows.centre)
        pairs = columns * (columns - 1) // 2
        reach = None  # only Laplace noise asks for it
        *absolute, lengths = rows.sizes(2) if for_l1.concentrated else rows.sizes(1, 2)
        if absolute:
            share = share_kept(for_l1, for_crossed, max(pairs, 1), total)
            rows, reach = rows.within(1, absolute[0], share, for_l1)
            rows.renew(lengths, 2)
        rows, length = rows.within(2, lengths, share_kept(for_l2, for_squares, columns, total), for_l2)
        squared = columns * length**2  # no l1 size squared is larger (Cauchy, Schwarz)
        if reach is not None:
            squared = min(squared, reach**2)
        exact = rows.products(min(length, 2 * table.step) ** 2)
        upper = np.triu_indices(columns, 1)
        scale = table.step**2 * total

        def bought(spending: Spending, values: Any, l1: int, l2_squared: int) -> tuple[Floats, float]:
            noise = spending.additive(l1=max(l1, 1), l2_squared=max(l2_squared, 1), dimensions=len(values))
            released: Floats = np.asarray(noise.release(values, table.entropy), dtype=float)
            return released / scale, noise.variance / scale**2

        squares, of_squares = bought(for_squares, np.diag(exact).copy(), length**2, length**4)
        if not pairs:
            return cls(squares, of_squares, float(squares[0]), of_squares, np.empty(0), 0.0)
        whole = min(max(int(exact.astype(object).sum()), -(1 << 62)), 1 << 62)
        together, of_together = bought(for_together, [whole], squared, squared**2)
        most = -(-squared * (columns - 1) // (2 * columns))
        crossed, of_crossed = bought(for_crossed, exact[upper], most, -(-(length**4) * (columns - 1) // (2 * columns)))
        return cls(squares, of_squares, float(together[0]), of_together, crossed, of_crossed)

    def matrix(self) -> Floats:
        """The covariance that is left when what noise explains is taken away; positive."""
        columns = len(self.squares)
        everywhere = max(float(self.squares.mean()), float(np.sqrt(self.of_squares / columns)), _LEAST)
        least = max(min(everywhere / 20, float(np.sqrt(self.of_squares))), _LEAST)
        variance = np.clip(shrunk(self.squares, self.of_squares, everywhere), least, 4.0)
        matrix = np.diag(variance)
        if columns > 1:
            deviation = np.sqrt(variance)
            upper = np.triu_indices(columns, 1)
            scale = np.outer(deviation, deviation)[upper]
            target = self._correlation(float(variance.sum()), float(scale.sum()), columns) * scale
            matrix[upper] = shrunk(self.crossed, self.of_crossed, target)
            matrix.T[upper] = matrix[upper]
        return positive(matrix, least / 50)

    def _correlation(self, variance: float, scale: float, columns: int) -> float:
        """One correlation of all columns: by row sums and by products, weighed by noise, and by what is common.

        Columns that people put into one table are correlated 0.1 ± 0.2 or so: without any data that is the answer.
        """
        guesses = [
            (_GUESS, _GUESS_VARIANCE),
            ((self.together - variance) / (2 * scale), (self.of_together + columns * self.of_squares) / (4 * scale**2)),
            (float(self.crossed.sum()) / scale, len(self.crossed) * self.of_crossed / scale**2),
        ]
        weights = [1 / max(noise, _LEAST) for _, noise in guesses]
        mean = sum(weight * guess for weight, (guess, _) in zip(weights, guesses, strict=True)) / sum(weights)
        return min(max(mean, -1 / (columns - 1)), 0.95)


def positive(matrix: Floats, least: float) -> Floats:
    """The nearest symmetric matrix without an eigenvalue below `least`."""
    values, vectors = np.linalg.eigh(matrix)
    lifted: Floats = (vectors * np.maximum(values, least)) @ vectors.T
    return (lifted + lifted.T) / 2
