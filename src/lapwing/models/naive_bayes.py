"""Gaussian naive Bayes from noisy counts, sums and squares of every class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import InvalidParameter
from lapwing.mechanisms import Gaussian, Laplace
from lapwing.models.account import Account
from lapwing.models.columns import Box, Floats, classes_of
from lapwing.models.estimator import PrivateClassifier, least_noise
from lapwing.models.exact import rowwise
from lapwing.models.moments import GroupMoments, numbers_of, shrunk
from lapwing.models.spending import Spending
from lapwing.noise import Entropy
from lapwing.privacy import Loss
from lapwing.privacy.quotes import Line

_ROWS_IN_COMMON = 100  # as many rows as the variance of all classes counts for, in each class
_SMALLEST_VARIANCE = 1e-6  # of half a width squared: a column that does not vary in a class must not decide alone


@dataclass(frozen=True, slots=True)
class _Recipe:
    box: Box
    classes: int
    priors: tuple[float, ...] | None
    spending: Spending

    @property
    def loss(self) -> Loss:
        return self.spending.stated

    @property
    def parts(self) -> tuple[Spending, ...]:
        """For the number of rows of each class, and for sums and squares together."""
        return self.spending.split(3, 17)

    @property
    def moments(self) -> GroupMoments:
        return GroupMoments(len(self.box.bounds), self.classes, self.parts[1])

    @property
    def count(self) -> Laplace | Gaussian:
        return self.parts[0].additive(l1=1, l2_squared=1, dimensions=self.classes)

    @property
    def error(self) -> float:
        """Of a sum divided by a count: both in units of what one row can add."""
        return math.hypot(self.count.accuracy(), self.moments.accuracy)

    @property
    def lines(self) -> Sequence[Line]:
        for_counts, for_moments = self.parts
        what, off = "the sum of each column and of its squares in each class", self.moments.accuracy
        return (
            Line("the number of rows of each class", for_counts.loss, self.count.accuracy(), "rows"),
            Line(what, for_moments.loss, off, "half widths"),
        )


class GaussianNB(PrivateClassifier[_Recipe]):
    """Naive Bayes: each column is normal within each class, with a noisy mean and a noisy variance.

    Values that the noise hides are estimated together: means shrink to the mean of all classes, variances to that of
    the column and to one for all.

    Privacy: epsilon pure, or (epsilon, delta), or rho zero-concentrated; add_remove, one row. Classes are public.
    Accuracy: about d/ε half widths off in each sum of d columns. Variances are a little those of all classes together,
    also without noise.
    Proof: naive_bayes.md

    Args:
        priors: Probabilities of the classes, in their order, if they are known beforehand. They add up to 1. None takes
            the noisy shares of the rows.
        delta: The δ of (ε, δ)-differential privacy. With it, the smaller of Gaussian and Laplace noise is used; if that
            is Laplace noise, no delta is charged. None for pure differential privacy.

    Attributes:
        theta_: The mean of each column (across) in each class (down).
        var_: The variance of each column in each class.
        class_count_: About how many rows each class has.
        class_prior_: The probability of each class.

    >>> model = GaussianNB(epsilon=10, bounds=[(0, 10)], classes=["low", "high"])
    >>> model.fit([[1.0], [2.0], [8.0], [9.0]] * 100, ["low", "low", "high", "high"] * 100).predict([[1.5], [8.5]])
    array(['low', 'high'], dtype='<U4')
    """

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        delta: Any = None,
        rho: Any = None,
        bounds: Any = None,
        classes: Any = None,
        priors: Any = None,
        account: Account | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.bounds = bounds
        self.classes = classes
        self.priors = priors
        self.account = account
        self.random_state = random_state

    def _recipe(self, columns: int, names: Sequence[str] | None) -> _Recipe:
        count = len(classes_of(self.classes))
        box, priors = self._box(columns, names), _priors(self.priors, count)
        return least_noise(self, lambda spending: _Recipe(box, count, priors, spending))

    def _learn(self, recipe: _Recipe, X: Floats, y: Any, entropy: Entropy) -> None:
        known = y >= 0
        if not known.all():
            X, y = X[known], y[known]
        counts, total = numbers_of(y, recipe.classes, recipe.parts[0], entropy)
        first, second, off = recipe.moments.release(recipe.box, X, y, entropy)
        mean, variance = _estimates(first, second, off, counts, total)
        self.theta_ = recipe.box.back(mean)
        self.var_ = variance * recipe.box.half**2
        self.class_count_ = counts
        self.class_prior_ = counts / counts.sum() if recipe.priors is None else np.array(recipe.priors)

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """The logarithm of prior times density.

        Args:
            X: Rows with the columns of the fit. Values outside the bounds are clamped.

        Returns:
            A row for each row and a column for each class, in the order of `classes_`.

        >>> model = GaussianNB(epsilon=10, bounds=[(0, 10)], classes=["low", "high"])
        >>> model = model.fit([[1.0], [2.0], [8.0], [9.0]] * 100, ["low", "low", "high", "high"] * 100)
        >>> low, high = model.predict_joint_log_proba([[1.5]])[0]
        >>> bool(low > high)
        True
        """
        rows = self._rows(X)
        box = self._box(rows.shape[1], self._names())
        unit = box.scaled(rows)
        mean, variance = (self.theta_ - box.middle) / box.half, self.var_ / box.half**2
        with np.errstate(divide="ignore"):
            prior = np.log(self.class_prior_)
        scores = np.empty((len(unit), len(prior)))
        for at in range(len(prior)):
            apart = rowwise((unit - mean[at]) ** 2, 1 / variance[at][:, None])[:, 0]
            scores[:, at] = prior[at] - 0.5 * (apart + np.log(2 * np.pi * self.var_[at]).sum())
        return scores

    def predict_log_proba(self, X: Any) -> Floats:
        """The logarithm of the probability of each class.

        Args:
            X: Rows with the columns of the fit. Values outside the bounds are clamped.

        Returns:
            A row for each row and a column for each class, in the order of `classes_`.

        >>> model = GaussianNB(epsilon=10, bounds=[(0, 10)], classes=["low", "high"])
        >>> model = model.fit([[1.0], [2.0], [8.0], [9.0]] * 100, ["low", "low", "high", "high"] * 100)
        >>> np.exp(model.predict_log_proba([[1.5], [8.5]])).round().tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        joint = self.predict_joint_log_proba(X)
        joint -= joint.max(axis=1, keepdims=True)
        result: Floats = joint - np.log(np.exp(joint).sum(axis=1, keepdims=True))
        return result

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class.

        Args:
            X: Rows with the columns of the fit. Values outside the bounds are clamped.

        Returns:
            A row for each row and a column for each class, in the order of `classes_`.

        >>> model = GaussianNB(epsilon=10, bounds=[(0, 10)], classes=["low", "high"])
        >>> model = model.fit([[1.0], [2.0], [8.0], [9.0]] * 100, ["low", "low", "high", "high"] * 100)
        >>> model.predict_proba([[1.5], [8.5]]).round().tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row.

        Args:
            X: Rows with the columns of the fit. Values outside the bounds are clamped.

        Returns:
            A label for each row. Predicting costs nothing, but the labels describe these rows.
        """
        joint = self.predict_joint_log_proba(X)
        chosen: NDArray[Any] = self.classes_[joint.argmax(axis=1)]
        return chosen


def _estimates(first: Floats, second: Floats, off: float, counts: Floats, total: float) -> tuple[Floats, Floats]:
    """Means and variances of each class, within −1 … 1, of noisy sums: `off` is the variance of the noise of each.

    The variance of the noise of means is added to variances, the same for all classes: unequal, it would favour small
    classes far away, by log(variance) of every column.
    """
    groups, columns = first.shape
    number, noise = counts[:, None], off / counts[:, None] ** 2
    common = shrunk(first.sum(axis=0) / total, groups * off / total**2, 0.0)
    mean = np.clip(shrunk(first / number, noise, common, least=3.0), -1.0, 1.0)
    variance, of_variance = (second / number + 1) / 2 - mean**2, noise * (0.25 + 4 * mean**2)
    weight = number / counts.sum()
    column, of_column = (weight * variance).sum(axis=0), (weight**2 * of_variance).sum(axis=0)
    unsure = float(np.sqrt(of_column.mean()))
    everywhere = min(max(float(column.mean()), unsure / np.sqrt(columns), _SMALLEST_VARIANCE), 1.0)
    column = np.clip(shrunk(column, of_column, everywhere), max(min(everywhere / 20, unsure), _SMALLEST_VARIANCE), 1.0)
    variance = np.clip(shrunk(variance, of_variance, column, doubt=3.0), column / 20, 1.0)
    pooled = 1 / (1 + (number / _ROWS_IN_COMMON) ** 2)  # few rows say little about their variances, many do
    return mean, pooled * column + (1 - pooled) * variance + float(noise.mean())


def _priors(priors: Any, count: int) -> tuple[float, ...] | None:
    if priors is None:
        return None
    try:
        listed = tuple(float(prior) for prior in priors)
    except (TypeError, ValueError):
        listed = ()
    if len(listed) != count or min(listed) < 0 or not abs(sum(listed) - 1) < 1e-6:
        why = "must be one probability for each class, and add up to 1"
        raise InvalidParameter("priors", priors, why, "Write priors=[0.5, 0.5] for two classes.")
    return listed
