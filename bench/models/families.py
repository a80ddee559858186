"""Each kind of model, fitted by us, by diffprivlib and without privacy, and how its result is scored on other rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.models import data
from bench.models.data import Array, Table

COMPONENTS = 4
"""Of a PCA."""
TREES = 10

Fit = Callable[[Table, float, int], Any]
"""Rows, epsilon and a seed to a fitted model."""
Score = Callable[[Any, Table], float]


@dataclass(frozen=True, slots=True)
class Family:
    """One kind of model and everybody who can fit it."""

    name: str
    metric: str
    tables: Callable[[], list[Table]]
    ours: Fit
    theirs: Fit
    exact: Callable[[Table, int], Any]
    score: Score


def _scaled(table: Table) -> Array:
    """Features from −1 to 1 by the public bounds: for libraries that do not scale themselves."""
    low, high = np.array(table.bounds).T
    return np.asarray((table.X - low) / (high - low) * 2 - 1)


def _ends(table: Table) -> tuple[Array, Array]:
    low, high = np.array(table.bounds).T
    return low, high


@dataclass(frozen=True, slots=True)
class _OnScaled:
    """A model that was fitted on scaled features."""

    model: Any

    def predict(self, table: Table) -> Array:
        return np.asarray(self.model.predict(_scaled(table)))


def _prediction(model: Any, table: Table) -> Array:
    return model.predict(table) if isinstance(model, _OnScaled) else np.asarray(model.predict(table.X))


def explained(model: Any, table: Table) -> float:
    """R², but never below −1: the mean of a few seeds would be that of one absurd fit."""
    error = np.square(table.y - _prediction(model, table)).sum()
    return max(-1.0, float(1 - error / np.square(table.y - table.y.mean()).sum()))


def right(model: Any, table: Table) -> float:
    """The share of rows whose class is predicted rightly."""
    return float(np.mean(_prediction(model, table) == table.y))


def agreement(model: Any, table: Table) -> float:
    """The adjusted Rand index with the true groups."""
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(table.y, _prediction(model, table)))


def captured(model: Any, table: Table) -> float:
    """The share of the variance of other rows, scaled by the bounds, that lies along the components."""
    rows = _scaled(table)
    rows -= rows.mean(axis=0)
    basis, _ = np.linalg.qr(np.asarray(model.components_).T)
    return float(np.square(rows @ basis).sum() / np.square(rows).sum())


def _linear(table: Table, epsilon: float, seed: int) -> Any:
    from lapwing.models import LinearRegression

    return LinearRegression(
        epsilon=epsilon, bounds=table.bounds, target_bounds=table.target_bounds, random_state=seed
    ).fit(table.X, table.y)


def _their_linear(table: Table, epsilon: float, seed: int) -> Any:
    from diffprivlib.models import LinearRegression

    model = LinearRegression(epsilon=epsilon, bounds_X=_ends(table), bounds_y=table.target_bounds, random_state=seed)
    return model.fit(table.X, table.y)


def _exact_linear(table: Table, seed: int) -> Any:
    from sklearn.linear_model import LinearRegression

    return LinearRegression().fit(table.X, table.y)


def _logistic(table: Table, epsilon: float, seed: int) -> Any:
    from lapwing.models import LogisticRegression

    return LogisticRegression(epsilon=epsilon, bounds=table.bounds, classes=table.classes, random_state=seed).fit(
        table.X, table.y
    )


def _their_logistic(table: Table, epsilon: float, seed: int) -> Any:
    from diffprivlib.models import LogisticRegression

    rows = _scaled(table)
    norm = float(np.linalg.norm(rows, axis=1).max())  # kinder than the bounds allow, √columns
    return _OnScaled(LogisticRegression(epsilon=epsilon, data_norm=norm, random_state=seed).fit(rows, table.y))


def _exact_logistic(table: Table, seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return _OnScaled(LogisticRegression(max_iter=300).fit(_scaled(table), table.y))


def _bayes(table: Table, epsilon: float, seed: int) -> Any:
    from lapwing.models import GaussianNB

    model = GaussianNB(epsilon=epsilon, bounds=table.bounds, classes=table.classes, random_state=seed)
    return model.fit(table.X, table.y)


def _their_bayes(table: Table, epsilon: float, seed: int) -> Any:
    from diffprivlib.models import GaussianNB

    return GaussianNB(epsilon=epsilon, bounds=_ends(table), random_state=seed).fit(table.X, table.y)


def _exact_bayes(table: Table, seed: int) -> Any:
    from sklearn.naive_bayes import GaussianNB

    return GaussianNB().fit(table.X, table.y)


def _forest(table: Table, epsilon: float, seed: int) -> Any:
    from lapwing.models import RandomForest

    model = RandomForest(epsilon=epsilon, bounds=table.bounds, classes=table.classes, random_state=seed)
    return model.fit(table.X, table.y)


def _their_forest(table: Table, epsilon: float, seed: int) -> Any:
    from diffprivlib.models import RandomForestClassifier

    model = RandomForestClassifier(
        n_estimators=TREES, epsilon=epsilon, bounds=_ends(table), classes=table.classes, random_state=seed
    )
    return model.fit(table.X, table.y)


def _exact_forest(table: Table, seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(TREES, max_depth=5, random_state=seed).fit(table.X, table.y)


def _kmeans(table: Table, epsilon: float, seed: int) -> Any:
    from lapwing.models import KMeans

    groups = len(set(table.y.tolist()))
    return KMeans(groups, epsilon=epsilon, bounds=table.bounds, random_state=seed).fit(table.X)


def _their_kmeans(table: Table, epsilon: float, seed: int) -> Any:
    from diffprivlib.models import KMeans

    groups = len(set(table.y.tolist()))
    return KMeans(groups, epsilon=epsilon, bounds=_ends(table), random_state=seed).fit(table.X)


def _exact_kmeans(table: Table, seed: int) -> Any:
    from sklearn.cluster import KMeans

    return KMeans(len(set(table.y.tolist())), n_init=1, random_state=seed).fit(table.X)


def _pca(table: Table, epsilon: float, seed: int) -> Any:
    from lapwing.models import PCA

    return PCA(COMPONENTS, epsilon=epsilon, bounds=(-1, 1), random_state=seed).fit(_scaled(table))


def _their_pca(table: Table, epsilon: float, seed: int) -> Any:
    from diffprivlib.models import PCA

    rows = _scaled(table)
    norm = float(np.linalg.norm(rows, axis=1).max())
    ends = (-np.ones(rows.shape[1]), np.ones(rows.shape[1]))
    return PCA(COMPONENTS, epsilon=epsilon, data_norm=norm, bounds=ends, random_state=seed).fit(rows)


def _exact_pca(table: Table, seed: int) -> Any:
    from sklearn.decomposition import PCA

    return PCA(COMPONENTS).fit(_scaled(table))


def _all_tables() -> list[Table]:
    return [*data.classifications()[:2], *data.regressions()]


FAMILIES = (
    Family("linear regression", "R²", data.regressions, _linear, _their_linear, _exact_linear, explained),
    Family("logistic regression", "accuracy", data.classifications, _logistic, _their_logistic, _exact_logistic, right),
    Family("naive Bayes", "accuracy", data.classifications, _bayes, _their_bayes, _exact_bayes, right),
    Family("random forest", "accuracy", data.classifications, _forest, _their_forest, _exact_forest, right),
    Family("k-means", "adjusted Rand index", data.clusters, _kmeans, _their_kmeans, _exact_kmeans, agreement),
    Family("PCA", "variance captured", _all_tables, _pca, _their_pca, _exact_pca, captured),
)


def quietly(fit: Callable[[], Any]) -> Any:
    """Without the warnings of libraries about bounds, convergence and reproducible noise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit()
