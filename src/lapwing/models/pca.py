"""Principal components of a private covariance matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin

from lapwing import checks
from lapwing.errors import InvalidParameter
from lapwing.models.account import Account
from lapwing.models.columns import Floats
from lapwing.models.covariance import Recipe, moments
from lapwing.models.estimator import PrivateTransformer
from lapwing.models.exact import rowwise
from lapwing.noise import Entropy


class PCA(ClassNamePrefixFeaturesOutMixin, PrivateTransformer[Recipe]):  # type: ignore[misc]
    """Principal components: the directions in which rows vary most.

    They are eigenvectors of `Covariance`, in the units of the data. Columns with wide bounds count more, as they do in
    scikit-learn; scale the columns by their bounds first if they should not.

    Privacy: epsilon pure, or (epsilon, delta), or rho zero-concentrated; add_remove, one row.
    Accuracy: d columns have d²/2 products. Where noise drowns them, the components are those of equally correlated
    columns. Variances are those of the noisy covariance.
    Proof: covariance.md

    Args:
        n_components: How many directions to keep. None keeps as many as there are columns.
        assume_centered: Whether to take products around 0, in the units of the data. Then no mean is released.

    Attributes:
        components_: The directions, one in each row, the one with the largest variance first.
        explained_variance_: The variance along each direction.
        explained_variance_ratio_: The same as shares of the variance of all columns.
        mean_: The mean of each column; with `assume_centered` 0, or the bound that is nearest to 0.

    >>> rows = [[value, 10 - value] for value in range(11)] * 100
    >>> model = PCA(1, epsilon=10, bounds=[(0, 10), (0, 10)]).fit(rows)
    >>> bool(model.components_[0, 0] * model.components_[0, 1] < 0)
    True
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        epsilon: Any = 1.0,
        delta: Any = None,
        rho: Any = None,
        bounds: Any = None,
        assume_centered: bool = False,
        account: Account | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.bounds = bounds
        self.assume_centered = assume_centered
        self.account = account
        self.random_state = random_state

    def _recipe(self, columns: int, names: Sequence[str] | None) -> Recipe:
        if self.n_components is not None and checks.whole(n_components=self.n_components) > columns:
            why = f"is more than the {columns} columns"
            raise InvalidParameter("n_components", self.n_components, why, "Take fewer.")
        return Recipe(self._box(columns, names), bool(self.assume_centered), self._spending())

    def _learn(self, recipe: Recipe, X: Floats, y: Any, entropy: Entropy) -> None:
        mean, unit = moments(recipe, X, entropy)
        half = recipe.box.half
        values, vectors = np.linalg.eigh(unit * np.outer(half, half))
        values, directions = values[::-1], vectors.T[::-1]
        largest = np.abs(directions).argmax(axis=1)
        signs = np.where(directions[np.arange(len(directions)), largest] < 0, -1.0, 1.0)
        kept = len(values) if self.n_components is None else self.n_components
        self.n_components_ = kept
        self.components_ = (directions * signs[:, None])[:kept]
        self.explained_variance_ = values[:kept]
        self.explained_variance_ratio_ = values[:kept] / values.sum()
        self.mean_ = recipe.box.back(mean)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def transform(self, X: Any) -> Floats:
        """Coordinates of rows along the components.

        Args:
            X: Rows with the columns of the fit. Values outside the bounds are clamped.

        Returns:
            A row for each row and a column for each component. They are not private: each describes one row of `X`.

        >>> rows = [[value, 10 - value] for value in range(11)] * 100
        >>> PCA(1, epsilon=10, bounds=[(0, 10), (0, 10)]).fit(rows).transform([[2, 8], [5, 5]]).shape
        (2, 1)
        """
        rows = self._rows(X)
        box = self._box(rows.shape[1], self._names())
        result = rowwise(box.back(box.scaled(rows)) - self.mean_, self.components_.T)
        return result

    def inverse_transform(self, X: Any) -> Floats:
        """From coordinates back to the units of the data; what other components held is lost.

        Args:
            X: Coordinates as `transform` gives them.

        Returns:
            Rows with the columns of the fit.

        >>> rows = [[value, 10 - value] for value in range(11)] * 100
        >>> model = PCA(1, epsilon=10, bounds=[(0, 10), (0, 10)]).fit(rows)
        >>> bool(abs(model.inverse_transform(model.transform([[2, 8]])) - [[2, 8]]).max() < 2)
        True
        """
        result: Floats = np.asarray(X, dtype=float) @ self.components_ + self.mean_
        return result
