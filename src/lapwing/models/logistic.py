"""Logistic regression for two or more public classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from lapwing import checks
from lapwing.errors import InvalidParameter
from lapwing.mechanisms import Gaussian
from lapwing.models.account import Account
from lapwing.models.columns import Box, Floats, classes_of
from lapwing.models.cube import STEP, Cube, boxed, released
from lapwing.models.estimator import PrivateClassifier
from lapwing.models.exact import products, rowwise, totals, totals_by
from lapwing.models.logistic_frame import Frame, overview, overview_totals
from lapwing.models.logistic_objective import GRID, ObjectiveNoise
from lapwing.models.logistic_search import likely
from lapwing.models.spending import Spending
from lapwing.noise import Entropy
from lapwing.privacy import Loss
from lapwing.privacy.quotes import Line

Method = Literal["auto", "objective", "means", "functional"]
_ENOUGH, _PLENTY = 5, 80
"""Rows times ε over parameters from which the true curvature, and from which whole tails, are worth their noise."""

_BLOCK = 1 << 13
"""Rows that are measured and placed at a time: they stay in the cache, and no second table is kept."""
_COARSE = 1 << 10
"""Steps of the columns that products are made of: finer than their noise."""
_WITHIN = 0.5
"""The variance that columns are taken to have within a class, in squared widths."""
_STEEPEST = 2.0
"""The largest standard deviation of scores that means alone can speak for."""


@dataclass(frozen=True, slots=True)
class _Recipe:
    box: Box
    classes: int
    constant: bool
    method: Method
    spending: Spending

    @property
    def loss(self) -> Loss:
        return self.spending.stated

    @property
    def columns(self) -> int:
        """Of rows with the constant."""
        return len(self.box.bounds) + int(self.constant)

    @property
    def overview(self) -> Cube | Gaussian:
        """Noise on the number of rows, the sums of columns and the sum of mean squares."""
        return boxed(self._parts[0], largest=STEP, dimensions=len(self.box.bounds) + 2)

    @property
    def objective(self) -> ObjectiveNoise:
        """All that remains after the overview, for the objective."""
        return ObjectiveNoise(self._parts[1], self.columns, self.classes, float(self.columns))

    @property
    def means(self) -> Cube | Gaussian:
        """The same for sums by class, or for the difference of the sums of two classes."""
        return self._by_class(self._parts[1])

    @property
    def functional(self) -> tuple[Cube | Gaussian, Cube | Gaussian]:
        """The same for sums by class, and for products of columns."""
        first, second = self._parts[1].split(1, 1)
        pairs = self.columns * (self.columns + 1) // 2
        return self._by_class(first), boxed(second, largest=_COARSE**2, dimensions=pairs)

    @property
    def _parts(self) -> tuple[Spending, ...]:
        return self.spending.split(1, 4)

    def _by_class(self, spending: Spending) -> Cube | Gaussian:
        return boxed(spending, largest=STEP, dimensions=self.columns, blocks=1 if self.classes == 2 else self.classes)

    def rows_for(self, ratio: float) -> float:
        """How many rows make rows times ε this many times the parameters, with half as many for each class."""
        return ratio * self.columns * self.classes / 2 / float(self.objective.epsilon)

    def chosen(self, frame: Frame) -> Method:
        """What is learnt, for a noisy number of rows."""
        if self.method != "auto":
            return self.method
        return "objective" if frame.fewest_rows >= self.rows_for(_ENOUGH) else "means"

    @property
    def lines(self) -> Sequence[Line]:
        first = self.overview
        lines = [Line("rows, centre and spread", first.privacy_loss(), first.accuracy() / STEP, "rows")]
        if self.method == "functional":
            sums, pairs = self.functional
            lines += [
                Line("the sum of each column by class", sums.privacy_loss(), sums.accuracy() / STEP, "rows"),
                Line("the products of columns", pairs.privacy_loss(), pairs.accuracy() / _COARSE**2, "rows"),
            ]
        elif self.method == "means":
            sums = self.means
            lines.append(Line("the sum of each column by class", sums.privacy_loss(), sums.accuracy() / STEP, "rows"))
        else:
            tilt = self.objective.tilt
            what = "the function that is minimised" + (
                "" if self.method == "objective" else " (or sums for each class)"
            )
            worth = "the change of its gradient that {} extreme rows could make"
            lines.append(Line(what, self._parts[1].loss, tilt.accuracy() / GRID, worth))
        return tuple(lines)


class LogisticRegression(PrivateClassifier[_Recipe]):
    """Logistic regression from public bounds and classes.

    Privacy: epsilon pure, or (epsilon, delta), or rho zero-concentrated; add_remove, one row.
    Accuracy: noise on a gradient of about p/(√3·ε) rows for p columns (times two for more than two classes).
    Proof: logistic.md

    Args:
        method: What is learnt after an overview of the table (rows, centre, spread), which costs a fifth. "objective":
            the loss is tilted by noise and minimised (objective perturbation). "means": the first step from 0, which
            needs only the sum of each column by class; best for little data. "functional": the loss to second order at
            0 (functional mechanism), from sums and products of columns. "auto": "objective" if the noisy number of rows
            is large enough, otherwise "means".
        fit_intercept: Whether there is an intercept. Without one the plane passes through 0 in the units of the data,
            and bounds are made symmetric around 0.
        classes: All labels that the target may have, at least two, as a public list. Rows with another label are left
            out.

    Attributes:
        coef_: The slopes, a row for each class; for two classes one row, for the second.
        intercept_: The score of each class where all columns are 0.
        method_: The method that was used.

    >>> X = np.arange(2000).reshape(-1, 1) % 100
    >>> model = LogisticRegression(epsilon=10, bounds=(0, 100), classes=[0, 1]).fit(X, X[:, 0] > 50)
    >>> model.predict([[10], [90]]).tolist()
    [0, 1]
    """

    def __init__(
        self,
        *,
        method: Method = "auto",
        epsilon: Any = 1.0,
        delta: Any = None,
        rho: Any = None,
        bounds: Any = None,
        classes: Any = None,
        fit_intercept: bool = True,
        account: Account | None = None,
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.bounds = bounds
        self.classes = classes
        self.fit_intercept = fit_intercept
        self.account = account
        self.random_state = random_state

    def _recipe(self, columns: int, names: Sequence[str] | None) -> _Recipe:
        if self.method not in get_args(Method):
            hint = f"Write one of {', '.join(get_args(Method))}."
            raise InvalidParameter("method", self.method, "is not a method to fit", hint)
        classes = len(classes_of(self.classes))
        if classes < 2:
            raise InvalidParameter("classes", self.classes, "there is only one", "Write classes=[0, 1], for example.")
        constant = checks.true_or_false(fit_intercept=self.fit_intercept)
        box = self._box(columns, names)
        return _Recipe(box if constant else _symmetric(box), classes, constant, self.method, self._spending())

    def _learn(self, recipe: _Recipe, X: Floats, y: Any, entropy: Entropy) -> None:
        inside = y >= 0
        if not inside.all():
            X, y = X[inside], y[inside]
        blocks = [X[start : start + _BLOCK] for start in range(0, max(len(X), 1), _BLOCK)]
        seen = np.sum([overview_totals(recipe.box.steps(block)) for block in blocks], axis=0)
        frame = overview(recipe.overview, seen, entropy, plenty=recipe.rows_for(_PLENTY), centred=recipe.constant)
        rows = np.empty((len(X), recipe.columns))
        for start, block in zip(range(0, len(X), _BLOCK), blocks, strict=False):
            rows[start : start + _BLOCK] = frame.place(recipe.box.steps(block), constant=recipe.constant)
        method = recipe.chosen(frame)
        if method == "objective":
            theta = recipe.objective.suited(frame).release(rows, y, entropy)
        elif method == "means":
            sums = released(recipe.means, class_totals(rows, y, recipe.classes), entropy) / STEP
            theta = by_means(sums, recipe.means.variance / STEP**2, frame.rows, constant=recipe.constant)
        else:
            first, second = recipe.functional
            sums = released(first, class_totals(rows, y, recipe.classes), entropy) / STEP
            pairs = released(second, product_totals(rows), entropy) / _COARSE**2
            spread = math.sqrt(second.variance) / _COARSE**2
            theta = by_moments(sums, _symmetric_matrix(pairs, recipe.columns), spread)
        self.coef_, self.intercept_ = frame.back(theta, recipe.box, constant=recipe.constant)
        self.method_ = method

    def decision_function(self, X: Any) -> Floats:
        """Scores, of which the largest wins.

        Args:
            X: Rows with the columns of the fit. Values outside the bounds are clamped.

        Returns:
            For two classes one number for each row, above 0 for the second class. For more, a column for each class.

        >>> X = np.arange(2000).reshape(-1, 1) % 100
        >>> model = LogisticRegression(epsilon=10, bounds=(0, 100), classes=[0, 1]).fit(X, X[:, 0] > 50)
        >>> (model.decision_function([[10], [90]]) > 0).tolist()
        [False, True]
        """
        rows = self._rows(X)
        box = self._box(rows.shape[1], self._names())
        scores = rowwise(box.back(box.scaled(rows)), self.coef_.T) + self.intercept_
        return scores[:, 0] if len(self.coef_) == 1 else scores

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class.

        Args:
            X: Rows with the columns of the fit. Values outside the bounds are clamped.

        Returns:
            A row for each row and a column for each class, in the order of `classes_`.

        >>> X = np.arange(2000).reshape(-1, 1) % 100
        >>> model = LogisticRegression(epsilon=10, bounds=(0, 100), classes=[0, 1]).fit(X, X[:, 0] > 50)
        >>> model.predict_proba([[5], [95]]).round().tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        scores = self.decision_function(X)
        if scores.ndim == 2:
            return likely(scores)
        second = likely(scores[:, None])
        return np.hstack([1 - second, second])

    def predict_log_proba(self, X: Any) -> Floats:
        """The logarithm of the probability of each class.

        Args:
            X: Rows with the columns of the fit. Values outside the bounds are clamped.

        Returns:
            A row for each row and a column for each class, in the order of `classes_`.

        >>> X = np.arange(2000).reshape(-1, 1) % 100
        >>> model = LogisticRegression(epsilon=10, bounds=(0, 100), classes=[0, 1]).fit(X, X[:, 0] > 50)
        >>> np.exp(model.predict_log_proba([[5], [95]])).round().tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row.

        Args:
            X: Rows with the columns of the fit. Values outside the bounds are clamped.

        Returns:
            A label for each row. Predicting costs nothing, but the labels describe these rows.
        """
        scores = self.decision_function(X)
        places = np.argmax(scores, axis=1) if scores.ndim == 2 else (scores > 0).astype(np.int64)
        return np.asarray(self.classes_[places])


def _symmetric(box: Box) -> Box:
    """Bounds around 0, so that 0 stays 0."""
    ends = (max(abs(low), abs(high)) for low, high in box.bounds)
    return Box(tuple((-end, end) for end in ends))


def class_totals(rows: Floats, places: NDArray[np.int64], classes: int) -> NDArray[np.int64]:
    """The sums of the rows of each class; of two classes the second minus the first."""
    if classes == 2:
        return totals(rows * (2.0 * places - 1.0)[:, None], STEP)[None]
    return totals_by(places, classes, rows, STEP)


def product_totals(rows: Floats) -> NDArray[np.int64]:
    """The sums of products of columns in 2^10 steps, each pair once."""
    coarse = np.rint(rows * (_COARSE / STEP))
    return products(coarse, coarse, _COARSE**2)[np.triu_indices(rows.shape[1])]


def _symmetric_matrix(upper: Floats, columns: int) -> Floats:
    full = np.zeros((columns, columns))
    full[np.triu_indices(columns)] = upper
    return full + np.triu(full, 1).T


def by_means(sums: Floats, spread: float, rows: float, *, constant: bool) -> Floats:
    """The first step of Newton's method from 0, as if columns had nothing to do with one another.

    `spread` is the variance of the noise.
    """
    if len(sums) == 1:
        theta = 2 * sums[0] / rows
        theta[int(constant) :] /= _WITHIN
        return _flat(theta[:, None], int(constant))
    if not constant:
        theta = (sums - sums.mean(axis=0)).T / (rows / len(sums) * _WITHIN)
        return _flat(theta, 0)
    counts = np.maximum(sums[:, 0], rows / len(sums) / 4)
    means, shares = sums[:, 1:] / counts[:, None], counts / counts.sum()
    middle = shares @ means
    apart = means - middle
    squares = float(np.mean(apart**2))
    signal = max(squares - spread * float(np.mean(1 / counts**2)), 0.02 * squares)
    within = max(_WITHIN - signal, 0.05)
    weights = apart / within
    start = np.log(shares) - 0.5 * np.sum(apart**2, axis=1) / within - weights @ middle
    return _flat(np.vstack([start, weights.T]), 1)


def _flat(theta: Floats, first: int) -> Floats:
    """Not steeper than scores of standard deviation 2, for columns that say the same are counted as if they did not."""
    steep = math.sqrt(_WITHIN * float(np.sum(theta[first:] ** 2)) / theta.shape[1])
    return theta * min(1.0, _STEEPEST / max(steep, 1e-300))


def by_moments(sums: Floats, pairs: Floats, spread: float) -> Floats:
    """The minimum of the loss to second order at 0, with a ridge as large as the noise on the sums of products."""
    columns = len(pairs)
    ridge = 2 * math.sqrt(columns) * spread  # the largest eigenvalue of so large a symmetric matrix of noise
    values, vectors = np.linalg.eigh(pairs)
    inverse = (vectors / (np.maximum(values, 0.0) + ridge)) @ vectors.T
    if len(sums) == 1:
        return np.asarray(2 * inverse @ sums.T)
    weights: Floats = len(sums) * inverse @ (sums - sums.mean(axis=0)).T
    return weights
