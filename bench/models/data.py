"""The tables that models are compared on. Bounds stand for public knowledge and are the same for every contender."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Table:
    """Features, a target, and what everybody may know about them."""

    name: str
    X: Array
    y: Array
    bounds: list[tuple[float, float]]
    target_bounds: tuple[float, float] | None = None
    classes: list[int] | None = None

    def split(self, seed: int, test: float = 0.2) -> tuple[Table, Table]:
        """Rows to learn from and rows to score on."""
        order = np.random.default_rng(seed).permutation(len(self.X))
        cut = int(len(order) * test)
        return self.rows(order[cut:]), self.rows(order[:cut])

    def rows(self, chosen: Array) -> Table:
        """Some of the rows."""
        return replace(self, X=self.X[chosen], y=self.y[chosen])


def _table(name: str, X: Any, y: Any, *, classes: bool) -> Table:
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    bounds = [
        (float(low), float(high) if high > low else float(low) + 1)
        for low, high in zip(X.min(0), X.max(0), strict=True)
    ]
    if classes:
        return Table(name, X, y.astype(int), bounds, classes=sorted(set(y.astype(int).tolist())))
    return Table(name, X, y.astype(float), bounds, target_bounds=(float(y.min()), float(y.max())))


def _boston() -> tuple[Array, Array]:
    from mlxtend.data import boston_housing_data

    X, y = boston_housing_data()
    return np.asarray(X), np.asarray(y)


def _diabetes() -> tuple[Array, Array]:
    from sklearn.datasets import load_diabetes

    return load_diabetes(return_X_y=True, scaled=False)  # type: ignore[no-any-return]


def _halves(loader: Callable[[], tuple[Array, Array]]) -> tuple[Array, Array]:
    X, y = loader()
    return X, y > np.median(y)


def _synthetic(seed: int = 0, rows: int = 100_000, columns: int = 10) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    signal = X @ rng.normal(size=columns)
    return X, signal + rng.normal(size=rows) * signal.std() * 0.32


def _synthetic_classes() -> tuple[Array, Array]:
    from sklearn.datasets import make_classification

    return make_classification(100_000, 10, n_informative=6, random_state=0)  # type: ignore[no-any-return]


def _adult() -> tuple[Array, Array]:
    from lapwing.datasets import adult

    people: Any = adult()
    columns = ("age", "education_num", "capital_gain", "capital_loss", "hours_per_week")
    X = np.column_stack([np.asarray(people[name], dtype=float) for name in columns])
    return X, np.asarray([income == ">50K" for income in people["income"]])


def _blobs() -> tuple[Array, Array]:
    from sklearn.datasets import make_blobs

    return make_blobs(100_000, n_features=10, centers=5, cluster_std=2.5, random_state=0)[:2]  # type: ignore[no-any-return]


@cache
def regressions() -> list[Table]:
    """Numbers to predict."""
    X, y = _adult()
    return [
        _table("diabetes", *_diabetes(), classes=False),
        _table("Boston", *_boston(), classes=False),
        _table("Adult", X, y.astype(float), classes=False),
        _table("synthetic", *_synthetic(), classes=False),
    ]


@cache
def classifications() -> list[Table]:
    """Classes to predict."""
    from sklearn.datasets import load_breast_cancer, load_digits

    return [
        _table("cancer", *load_breast_cancer(return_X_y=True), classes=True),
        _table("digits", *load_digits(return_X_y=True), classes=True),
        _table("diabetes, halves", *_halves(_diabetes), classes=True),
        _table("Boston, halves", *_halves(_boston), classes=True),
        _table("Adult", *_adult(), classes=True),
        _table("synthetic", *_synthetic_classes(), classes=True),
    ]


@cache
def clusters() -> list[Table]:
    """Groups to find."""
    from sklearn.datasets import load_digits

    return [_table("blobs", *_blobs(), classes=True), _table("digits", *load_digits(return_X_y=True), classes=True)]
