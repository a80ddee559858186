"""A scaler whose means and variances are paid for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lapwing.models.account import Account
from lapwing.models.columns import BITS, Box, Floats
from lapwing.models.estimator import PrivateTransformer
from lapwing.models.exact import totals
from lapwing.models.quote import Line
from lapwing.models.spending import Spending
from lapwing.noise import Entropy
from lapwing.privacy import Loss

_STEP = 1 << BITS


@dataclass(frozen=True, slots=True)
class _Recipe:
    box: Box
    spending: Spending

    @property
    def loss(self) -> Loss:
        return self.spending.stated

    @property
    def parts(self) -> tuple[Any, ...]:
        """Noise on the number of rows, on the sums and on the sums of squares."""
        columns = len(self.box.bounds)
        count, sums, squares = self.spending.split(1, 2, 2)
        return (
            count.additive(l1=1, l2_squared=1, dimensions=1),
            sums.additive(l1=columns * _STEP, l2_squared=columns * _STEP**2, dimensions=columns),
            squares.additive(l1=columns * _STEP**2, l2_squared=columns * _STEP**4, dimensions=columns),
        )

    @property
    def lines(self) -> Sequence[Line]:
        count, sums, squares = self.parts
        return (
            Line("the number of rows", count.privacy_loss(), count.accuracy(), "rows"),
            Line("the sum of each column", sums.privacy_loss(), sums.accuracy() / _STEP, "half widths"),
            Line(
                "the sum of squares of each column",
                squares.privacy_loss(),
                squares.accuracy() / _STEP**2,
                "half widths²",
            ),
        )


class StandardScaler(PrivateTransformer[_Recipe]):
    """Moves each column to mean 0 and stretches it to variance 1, by a noisy mean and a noisy variance.

    Privacy: epsilon pure, or (epsilon, delta), or rho zero-concentrated; add_remove, one row.
    Accuracy: a mean is off by about the noise of a sum over n; where the noisy variance is not positive, the width of
    the bounds stands in for it.
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
        steps = recipe.box.steps(X)
        count, sums, squares = recipe.parts
        rows = max(int(count.release([len(steps)], entropy)[0]), 1)
        first = sums.release(totals(steps, _STEP), entropy) / (rows * _STEP)
        second = squares.release(totals(steps * steps, _STEP**2), entropy) / (rows * _STEP**2)
        mean = np.clip(first, -1.0, 1.0)
        variance = second - mean**2
        half = recipe.box.half
        self.mean_ = recipe.box.back(mean)
        self.var_ = np.where(variance > 0, np.minimum(variance, 1.0), 1.0) * half**2
        self.scale_ = np.sqrt(self.var_)

    def transform(self, X: Any) -> Floats:
        """Rows clamped to the bounds, moved and stretched."""
        rows = self._rows(X)
        box = self._box(rows.shape[1], self._names())
        return (box.back(box.scaled(rows)) - self.mean_) / self.scale_

    def inverse_transform(self, X: Any) -> Floats:
        """Back to the units of the data."""
        return np.asarray(X, dtype=float) * self.scale_ + self.mean_
