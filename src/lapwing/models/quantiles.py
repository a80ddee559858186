"""Private quantiles, from a tree of noisy counts per column, make columns uniform or normal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.isotonic import isotonic_regression

from lapwing import checks
from lapwing.errors import InvalidParameter
from lapwing.models.account import Account
from lapwing.models.columns import Box, Floats
from lapwing.models.estimator import PrivateTransformer, least_noise
from lapwing.models.spending import Spending
from lapwing.noise import Entropy
from lapwing.privacy import Loss
from lapwing.privacy.quotes import Line

_BRANCHES, _LEVELS = 16, 3
_LEAVES = _BRANCHES**_LEVELS
_HALF = _LEAVES // 2
_MARGIN = 1e-7  # how near 0 and 1 the normal distribution is asked, as in scikit-learn


@dataclass(frozen=True, slots=True)
class _Recipe:
    box: Box
    quantiles: int
    spending: Spending

    @property
    def loss(self) -> Loss:
        return self.spending.stated

    @property
    def noise(self) -> Any:
        """One row is in one node of each level of each column's tree."""
        columns = len(self.box.bounds)
        nodes = sum(_BRANCHES**level for level in range(1, _LEVELS + 1))
        nodes_of_row = columns * _LEVELS
        return self.spending.additive(l1=nodes_of_row, l2_squared=nodes_of_row, dimensions=columns * nodes)

    @property
    def error(self) -> float:
        """Of one count."""
        return float(self.noise.accuracy())

    @property
    def lines(self) -> Sequence[Line]:
        what = f"{_BRANCHES}, {_BRANCHES**2} and {_LEAVES} counts of each column"
        return (Line(what, self.spending.loss, self.noise.accuracy(), "rows"),)


class QuantileTransformer(OneToOneFeatureMixin, PrivateTransformer[_Recipe]):  # type: ignore[misc]
    """Maps each column through its distribution: to uniform numbers from 0 to 1, or to normal ones.

    Quantiles are read off counts in 4,096 equal parts of the bounds, so bounds many times as wide as the data make them
    coarse.

    Privacy: epsilon pure, or (epsilon, delta), or rho zero-concentrated; add_remove, one row.
    Accuracy: about 20·d/ε ranks for d columns; the number of rows should be many times that.
    Proof: quantiles.md

    Args:
        n_quantiles: How many quantiles to keep of each column, at least 2. More of them cost nothing more.
        output_distribution: "uniform" for numbers from 0 to 1, or "normal" for a standard normal distribution.
        delta: The δ of (ε, δ)-differential privacy. With it, the smaller of Gaussian and Laplace noise is used; if that
            is Laplace noise, no delta is charged. None for pure differential privacy.

    Attributes:
        quantiles_: The quantiles, a column for each column.
        references_: The share of rows below each quantile.

    >>> ages = np.arange(10_000).reshape(-1, 1) % 80
    >>> transformer = QuantileTransformer(epsilon=10, bounds=(0, 120)).fit(ages)
    >>> bool(0.4 < transformer.transform([[40]])[0, 0] < 0.6)
    True
    """

    def __init__(
        self,
        *,
        n_quantiles: int = 1000,
        output_distribution: str = "uniform",
        epsilon: Any = 1.0,
        delta: Any = None,
        rho: Any = None,
        bounds: Any = None,
        account: Account | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_quantiles = n_quantiles
        self.output_distribution = output_distribution
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.bounds = bounds
        self.account = account
        self.random_state = random_state

    def _recipe(self, columns: int, names: Sequence[str] | None) -> _Recipe:
        if self.output_distribution not in ("uniform", "normal"):
            hint = "Write output_distribution='uniform' or 'normal'."
            raise InvalidParameter("output_distribution", self.output_distribution, "is not known", hint)
        quantiles = checks.whole(n_quantiles=self.n_quantiles, minimum=2)
        box = self._box(columns, names)
        return least_noise(self, lambda spending: _Recipe(box, quantiles, spending))

    def _learn(self, recipe: _Recipe, X: Floats, y: Any, entropy: Entropy) -> None:
        columns = len(recipe.box.bounds)
        levels = _tree(recipe.box.steps(X, _HALF.bit_length() - 1))
        released = recipe.noise.release(np.concatenate([level.ravel() for level in levels]), entropy)
        noisy = np.split(np.asarray(released, dtype=float), np.cumsum([level.size for level in levels])[:-1])
        leaves = _consistent([level.reshape(columns, -1) for level in noisy])
        self.n_quantiles_ = recipe.quantiles
        self.references_ = np.linspace(0.0, 1.0, recipe.quantiles)
        unit = np.column_stack([_inverse(column, self.references_) for column in leaves])
        self.quantiles_ = recipe.box.back(unit)

    def transform(self, X: Any) -> Floats:
        """Replace each value by the share of values below it, or by its normal score.

        Args:
            X: Rows with the columns of the fit. Values outside the bounds are clamped.

        Returns:
            A table of the same shape. It is not private: each row describes one row of `X`.
        """
        rows = self._rows(X)
        box = self._box(rows.shape[1], self._names())
        values, shares = box.back(box.scaled(rows)), np.empty(rows.shape)
        for at in range(rows.shape[1]):
            points = self.quantiles_[:, at]
            up = np.interp(values[:, at], points, self.references_)
            down = np.interp(-values[:, at], -points[::-1], -self.references_[::-1])
            shares[:, at] = (up - down) / 2  # the middle of the shares that a repeated value has
        if self.output_distribution == "normal":
            from scipy.special import ndtri

            shares = ndtri(np.clip(shares, _MARGIN, 1 - _MARGIN))
        return shares

    def inverse_transform(self, X: Any) -> Floats:
        """From shares or normal scores back to the units of the data.

        Args:
            X: Rows as `transform` gives them.

        Returns:
            A table of the same shape.

        >>> ages = np.arange(10_000).reshape(-1, 1) % 80
        >>> transformer = QuantileTransformer(epsilon=10, bounds=(0, 120)).fit(ages)
        >>> bool(30 < transformer.inverse_transform([[0.5]])[0, 0] < 50)
        True
        """
        shares = np.array(X, dtype=float)
        if self.output_distribution == "normal":
            from scipy.special import ndtr

            shares = ndtr(shares)
        for at in range(shares.shape[1]):
            shares[:, at] = np.interp(shares[:, at], self.references_, self.quantiles_[:, at])
        return shares


def _tree(steps: Floats) -> list[Any]:
    """How many rows are in each node, by level and column, from 16 nodes to the leaves.

    Steps are whole numbers from −2,048 to 2,048; the last one joins the last leaf.
    """
    counts = np.empty((steps.shape[1], _LEAVES), dtype=np.int64)
    for at in range(steps.shape[1]):
        leaf = np.minimum(steps[:, at].astype(np.int64) + _HALF, _LEAVES - 1)
        counts[at] = np.bincount(leaf, minlength=_LEAVES)
    levels = [counts]
    for _ in range(_LEVELS - 1):
        levels.insert(0, levels[0].reshape(len(counts), -1, _BRANCHES).sum(axis=2))
    return levels


def _consistent(levels: list[Floats]) -> Floats:
    """Leaves that agree with all levels as well as can be (least squares; Hay, Rastogi, Miklau, Suciu 2010)."""
    joined = [levels[-1]]
    for height, own in enumerate(reversed(levels[:-1]), start=2):
        weight = (_BRANCHES**height - _BRANCHES ** (height - 1)) / (_BRANCHES**height - 1)
        joined.insert(0, weight * own + (1 - weight) * _by_parent(joined[0]).sum(axis=2))
    counts = joined[0]
    for below in joined[1:]:
        families = _by_parent(below)
        missing = (counts - families.sum(axis=2)) / _BRANCHES
        counts = (families + missing[:, :, None]).reshape(below.shape)
    return counts


def _by_parent(nodes: Floats) -> Floats:
    return nodes.reshape(len(nodes), -1, _BRANCHES)


def _inverse(leaves: Floats, shares: Floats) -> Floats:
    """Where the distribution with these noisy counts reaches each share, from −1 to 1."""
    edges = np.linspace(-1.0, 1.0, _LEAVES + 1)
    total = leaves.sum()
    if not total > 0:
        uniform: Floats = 2 * shares - 1
        return uniform
    below = np.concatenate([[0.0], np.clip(isotonic_regression(np.cumsum(leaves)), 0.0, total)]) / total
    below[-1] = 1.0
    rises = np.concatenate([[True], np.diff(below) > 0])
    rises[:-1] |= rises[1:]  # the last point before each rise
    places: Floats = np.interp(shares, below[rises], edges[rises])
    return places
