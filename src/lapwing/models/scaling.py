"""A private scaler: noisy means and variances of columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin

from lapwing.mechanisms import Gaussian, Laplace
from lapwing.models.account import Account
from lapwing.models.columns import Box, Floats
from lapwing.models.estimator import PrivateTransformer, least_noise
from lapwing.models.moments import GroupMoments, numbers_of, shrunk
from lapwing.models.spending import Spending
from lapwing.noise import Entropy
from lapwing.privacy import Loss
from lapwing.privacy.quotes import Line

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
        """For the number of rows, and for sums and squares together."""
        return self.spending.split(1, 9)

    @property
    def moments(self) -> GroupMoments:
        return GroupMoments(len(self.box.bounds), 1, self.parts[1])

    @property
    def count(self) -> Laplace | Gaussian:
        return self.parts[0].additive(l1=1, l2_squared=1, dimensions=1)

    @property
    def error(self) -> float:
        """Of a sum divided by a count: both in units of what one row can add."""
        return math.hypot(self.count.accuracy(), self.moments.accuracy)

    @property
    def lines(self) -> Sequence[Line]:
        for_count, for_moments = self.parts
        return (
            Line("the number of rows", for_count.loss, self.count.accuracy(), "rows"),
            Line("the sum of each column and of its squares", for_moments.loss, self.moments.accuracy, "half widths"),
        )


class StandardScaler(OneToOneFeatureMixin, PrivateTransformer[_Recipe]):  # type: ignore[misc]
    """Moves each column to mean 0 and stretches it to variance 1, by a noisy mean and a noisy variance.

    Privacy: epsilon pure, or (epsilon, delta), or rho zero-concentrated; add_remove, one row.
    Accuracy: about d/ε half widths off in each sum of d columns. Values that the noise hides shrink to a mean and a
    variance that columns, scaled by their bounds, have in common.
    Proof: scaling.md

    Args:
        delta: The δ of (ε, δ)-differential privacy. With it, the smaller of Gaussian and Laplace noise is used; if that
            is Laplace noise, no delta is charged. None for pure differential privacy.

    Attributes:
        mean_: The mean of each column.
        var_: The variance of each column.
        scale_: The standard deviation of each column.

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
        box = self._box(columns, names)
        return least_noise(self, lambda spending: _Recipe(box, spending))

    def _learn(self, recipe: _Recipe, X: Floats, y: Any, entropy: Entropy) -> None:
        places = np.zeros(len(X), dtype=np.int64)
        _, count = numbers_of(places, 1, recipe.parts[0], entropy)
        first, second, off = recipe.moments.release(recipe.box, X, places, entropy)
        mean, variance = _estimates(first[0] / count, (second[0] / count + 1) / 2, off / count**2)
        self.mean_ = recipe.box.back(mean)
        self.var_ = np.maximum(variance, _SMALLEST_VARIANCE) * recipe.box.half**2
        self.scale_ = np.sqrt(self.var_)

    def transform(self, X: Any) -> Floats:
        """Rows moved and stretched.

        Args:
            X: Rows with the columns of the fit. Values outside the bounds are clamped.

        Returns:
            A table of the same shape. It is not private: each row describes one row of `X`.

        >>> scaler = StandardScaler(epsilon=10, bounds=(0, 100)).fit(np.arange(1000).reshape(-1, 1) % 100)
        >>> bool(abs(scaler.transform([[50]])[0, 0]) < 0.5)
        True
        """
        rows = self._rows(X)
        box = self._box(rows.shape[1], self._names())
        result: Floats = (box.back(box.scaled(rows)) - self.mean_) / self.scale_
        return result

    def inverse_transform(self, X: Any) -> Floats:
        """From scaled rows back to the units of the data.

        Args:
            X: Rows as `transform` gives them.

        Returns:
            A table of the same shape.

        >>> scaler = StandardScaler(epsilon=10, bounds=(0, 100)).fit(np.arange(1000).reshape(-1, 1) % 100)
        >>> scaler.inverse_transform(scaler.transform([[50.0]])).round(6).tolist()
        [[50.0]]
        """
        result: Floats = np.asarray(X, dtype=float) * self.scale_ + self.mean_
        return result


def _estimates(first: Floats, second: Floats, off: float) -> tuple[Floats, Floats]:
    """Means and variances, from −1 to 1 and 0 to 1, of noisy moments: `off` is the variance of the noise of a mean."""
    columns = len(first)
    common = float(shrunk(first.mean(keepdims=True), off / columns, 0.0)[0])
    mean = np.clip(shrunk(first, off, common), -1.0, 1.0)
    variance, noise = second - mean**2, off * (0.25 + 4 * mean**2)
    everywhere = min(max(float(variance.mean()), float(np.sqrt(noise.mean() / columns)), _SMALLEST_VARIANCE), 1.0)
    return mean, np.clip(shrunk(variance, noise, everywhere), everywhere / 20, 1.0)
