"""A scaler whose means and variances are paid for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin

from lapwing.models.account import Account
from lapwing.models.columns import Box, Floats
from lapwing.models.estimator import PrivateTransformer
from lapwing.models.moments import Groups
from lapwing.models.quote import Line
from lapwing.models.spending import Spending
from lapwing.noise import Entropy
from lapwing.privacy import Loss

_SMALLEST_VARIANCE = 1e-8  # of half a width squared


@dataclass(frozen=True, slots=True)
class _Recipe:
    box: Box
    spending: Spending

    @property
    def loss(self) -> Loss:
        return self.spending.stated

    @property
    def parts(self) -> tuple[Spending, ...]:
        """For the count, one centre of all columns, the radius of rows, sums, a radius again, squares."""
        return self.spending.split(2, 1, 1, 8, 1, 7)

    @property
    def lines(self) -> Sequence[Line]:
        count, centre, radius, sums, spread, squares = self.parts
        noise = count.additive(l1=1, l2_squared=1, dimensions=1)
        return (
            Line("the number of rows", count.loss, noise.accuracy(), "rows"),
            Line("the mean of all columns together", centre.loss),
            Line("how far rows lie from it", radius.loss),
            Line("the sum of each column", sums.loss),
            Line("how far rows lie from the means", spread.loss),
            Line("the sum of squares of each column", squares.loss),
        )


class StandardScaler(OneToOneFeatureMixin, PrivateTransformer[_Recipe]):  # type: ignore[misc]
    """Moves each column to mean 0 and stretches it to variance 1, by a noisy mean and a noisy variance.

    Privacy: epsilon pure, or (epsilon, delta), or rho zero-concentrated; add_remove, one row.
    Accuracy: rows far from the others are shrunk to a private radius before they are summed: most of the noise is
    saved, and variances of columns with heavy tails come out a little small. What noise drowns shrinks to a mean and
    a variance that columns, scaled by their bounds, have in common.
    Proof: scaling.md

    >>> scaler = StandardScaler(epsilon=10, bounds=(0, 100)).fit(np.arange(1000).reshape(-1, 1) % 100)
    >>> bool(40 < scaler.mean_[0] < 60)
    True
    """

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        delta: Any = None,
        rho: Any = None,
        bounds: Any = None,
        account: Account | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.bounds = bounds
        self.account = account
        self.random_state = random_state

    def _recipe(self, columns: int, names: Sequence[str] | None) -> _Recipe:
        return _Recipe(self._box(columns, names), self._spending())

    def _learn(self, recipe: _Recipe, X: Floats, y: Any, entropy: Entropy) -> None:
        for_count, for_centre, for_radius, for_sums, for_spread, for_squares = recipe.parts
        table = Groups.of(recipe.box, X, recipe.parts, entropy)
        counts, total = table.counts(for_count)
        mean, _ = table.means(for_radius, for_sums, counts, total, table.centre(for_centre, total))
        variance = table.variances(for_spread, for_squares, counts, total, mean)
        self.mean_ = recipe.box.back(mean[0])
        self.var_ = np.maximum(variance[0], _SMALLEST_VARIANCE) * recipe.box.half**2
        self.scale_ = np.sqrt(self.var_)

    def transform(self, X: Any) -> Floats:
        """Rows clamped to the bounds, moved and stretched."""
        rows = self._rows(X)
        box = self._box(rows.shape[1], self._names())
        result: Floats = (box.back(box.scaled(rows)) - self.mean_) / self.scale_
        return result

    def inverse_transform(self, X: Any) -> Floats:
        """Back to the units of the data."""
        result: Floats = np.asarray(X, dtype=float) * self.scale_ + self.mean_
        return result
