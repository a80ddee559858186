"""Gaussian naive Bayes from noisy counts, sums and squares of every class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import InvalidParameter
from lapwing.models.account import Account
from lapwing.models.columns import Box, Floats, classes_of
from lapwing.models.estimator import PrivateClassifier
from lapwing.models.exact import rowwise
from lapwing.models.moments import Groups
from lapwing.models.quote import Line
from lapwing.models.spending import Spending
from lapwing.noise import Entropy
from lapwing.privacy import Loss

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
        """For the counts, one centre of all columns, the radius of rows, sums, a radius again, squares."""
        return self.spending.split(2, 1, 2, 10, 1, 4)

    @property
    def lines(self) -> Sequence[Line]:
        counts, centre, radius, sums, spread, squares = self.parts
        count = counts.additive(l1=1, l2_squared=1, dimensions=self.classes)
        return (
            Line("the number of rows of each class", counts.loss, count.accuracy(), "rows"),
            Line("the mean of all columns together", centre.loss),
            Line("how far rows lie from it", radius.loss),
            Line("the sum of each column in each class", sums.loss),
            Line("how far rows lie from the mean of their class", spread.loss),
            Line("the sum of squares of each column in each class", squares.loss),
        )


class GaussianNB(PrivateClassifier[_Recipe]):
    """Each column is normal within each class, with a noisy mean and a noisy variance.

    `priors` are probabilities of the classes that are known beforehand; otherwise their noisy shares are taken. What
    noise drowns is estimated in common: means shrink to the mean of all classes, variances to that of the column and
    to one for all.

    Privacy: epsilon pure, or (epsilon, delta), or rho zero-concentrated; add_remove, one row. Classes are public.
    Accuracy: rows far from the others are shrunk towards the centre before they are summed, which biases the means of
    columns with heavy tails a little and takes away most of the noise.
    Proof: naive_bayes.md

    >>> model = GaussianNB(epsilon=10, bounds=(0, 10), classes=["low", "high"])
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
        return _Recipe(self._box(columns, names), count, _priors(self.priors, count), self._spending())

    def _learn(self, recipe: _Recipe, X: Floats, y: Any, entropy: Entropy) -> None:
        known = y >= 0
        if not known.all():
            X, y = X[known], y[known]
        table = Groups.of(recipe.box, X, recipe.parts, entropy, y, recipe.classes)
        for_counts, for_centre, for_radius, for_sums, for_spread, for_squares = recipe.parts
        counts, total = table.counts(for_counts)
        centre = table.centre(for_centre, total)
        mean, unsure = table.means(for_radius, for_sums, counts, total, centre)
        variance = table.variances(for_spread, for_squares, counts, total, mean)
        self.theta_ = recipe.box.back(mean)
        self.var_ = (np.maximum(variance, _SMALLEST_VARIANCE) + unsure) * recipe.box.half**2
        self.class_count_ = counts
        self.class_prior_ = counts / counts.sum() if recipe.priors is None else np.array(recipe.priors)

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """The logarithm of prior and density together, for each row and class; rows are clamped to the bounds."""
        rows = self._rows(X)
        box = self._box(rows.shape[1], self._names())
        unit = box.scaled(rows)
        mean, variance = (self.theta_ - box.middle) / box.half, self.var_ / box.half**2
        with np.errstate(divide="ignore"):
            prior = np.log(self.class_prior_)
        found = np.empty((len(unit), len(prior)))
        for at in range(len(prior)):
            apart = rowwise((unit - mean[at]) ** 2, 1 / variance[at][:, None])[:, 0]
            found[:, at] = prior[at] - 0.5 * (apart + np.log(2 * np.pi * self.var_[at]).sum())
        return found

    def predict_log_proba(self, X: Any) -> Floats:
        """The logarithms of the probabilities."""
        joint = self.predict_joint_log_proba(X)
        joint -= joint.max(axis=1, keepdims=True)
        result: Floats = joint - np.log(np.exp(joint).sum(axis=1, keepdims=True))
        return result

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class, for each row."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row."""
        joint = self.predict_joint_log_proba(X)
        chosen: NDArray[Any] = self.classes_[joint.argmax(axis=1)]
        return chosen


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
