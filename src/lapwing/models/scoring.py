"""Private scores: a scorer for `cross_val_score` and `GridSearchCV`, and folds for it.

A score is a quotient of two noisy numbers. Each row adds e to one total and `largest` − e to another, so both together
move by `largest` whatever e is, and one discrete Laplace noise of that size serves for both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import checks
from lapwing.calls import Helpful
from lapwing.checks import Number
from lapwing.errors import InvalidParameter
from lapwing.mechanisms.records import as_column
from lapwing.models.account import Account, unit_of
from lapwing.models.columns import BITS, Box, Floats, column_of, listed, places, same_rows, targets
from lapwing.models.estimator import entropy_of
from lapwing.models.exact import totals
from lapwing.models.spending import Spending
from lapwing.noise import Entropy, uniform_below
from lapwing.privacy import Loss

CLASSIFICATION = ("accuracy", "balanced_accuracy")
REGRESSION = ("r2", "neg_mean_squared_error", "neg_root_mean_squared_error", "neg_mean_absolute_error")
METRICS = CLASSIFICATION + REGRESSION
_STEP = 1 << BITS


@dataclass(frozen=True, slots=True)
class PrivateScore(metaclass=Helpful):
    """A scorer `score(estimator, X, y)`. Each call is charged before a row is read.

    Copies and processes charge the same account. Write `error_score="raise"` in scikit-learn; otherwise it turns a
    charge that the allowance does not cover into NaN.

    Privacy: pure ε for each call, add_remove, one row. It hides the rows of X and y, not those the estimator was fitted
    on. Folds of scikit-learn move when a row is added; `CoinFolds` do not (search.md).
    Accuracy: a share is off by about √2/(ε·n); an error by as much of the squared (or absolute) width of the bounds.
    Proof: search.md

    Args:
        metric: "accuracy", "balanced_accuracy", "r2", "neg_mean_squared_error", "neg_root_mean_squared_error" or
            "neg_mean_absolute_error". Larger is better.
        epsilon: What each call costs, as ε.
        target_bounds: Public lower and upper bound of the target. The metrics of numbers require it.
        account: The `Account` that each call is charged to. None charges nobody: you keep count.
        random_state: None for private scores. A whole number makes them repeatable for experiments, and not private.

    Raises:
        InvalidParameter: If metric is none of these names, or if epsilon is not positive.
        MissingBounds: If a metric of numbers comes without `target_bounds`.

    >>> print(PrivateScore("accuracy", epsilon=0.5).privacy_loss())
    ε = 0.5 (add_remove, per person)
    """

    metric: str = "accuracy"
    _: KW_ONLY
    epsilon: Number = 1.0
    target_bounds: Any = None
    account: Account | None = None
    random_state: Any = None

    def __post_init__(self) -> None:
        checks.one_of(METRICS, metric=self.metric)
        self._spending()
        if self.metric in REGRESSION:
            self._box()

    def privacy_loss(self) -> Loss:
        """What one call costs.

        Returns:
            The loss of one call, for the unit of the account.
        """
        return self._spending().stated

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Pay, then compare what the estimator predicts with the truth.

        Args:
            estimator: A fitted model.
            X: The rows to predict.
            y: The true labels or numbers.

        Returns:
            The noisy score.

        Raises:
            InvalidParameter: If balanced accuracy is asked of an estimator without classes. Nothing was spent.
            BudgetExceeded: If the account does not cover the call. Nothing was spent.
        """
        same_rows(X, y)
        entropy = entropy_of(self.random_state)
        if self.metric == "balanced_accuracy" and not hasattr(estimator, "classes_"):
            hint = "Score a classifier, or write PrivateScore('r2', target_bounds=(0, 120))."
            raise InvalidParameter("estimator", f"<{type(estimator).__name__}>", "has no classes", hint)
        if self.account is not None:
            self.account.charge(self.privacy_loss(), seeded=not entropy.private)
        y = column_of(y)
        columns = getattr(estimator, "n_features_in_", None)
        X = X if columns is None else listed(X, columns)  # what is no row must not raise
        predicted = estimator.predict(X) if len(y) else np.empty(0)  # scikit-learn's own raise if nobody is there
        if self.metric == "accuracy":
            return _ratio(*self._pair(right(predicted, y).astype(float), 1, entropy))
        if self.metric == "balanced_accuracy":
            return self._balanced(estimator, predicted, y, entropy)
        return self._numbers(targets(predicted), targets(y), entropy)

    def _balanced(self, estimator: Any, predicted: Any, y: Any, entropy: Entropy) -> float:
        """The mean over the classes of the share that is recognised; a class with hardly a row is left out."""
        classes = np.asarray(estimator.classes_)
        at, hit = places(y, classes), right(predicted, y)
        cells = np.bincount((2 * at + hit)[at >= 0], minlength=2 * len(classes))
        noisy = self._spending().additive(l1=1, l2_squared=1, dimensions=2 * len(classes)).release(cells, entropy)
        missed, hits = noisy.reshape(-1, 2).T.astype(float)
        there = hits + missed >= 1
        shares = np.clip(hits[there] / (hits + missed)[there], 0.0, 1.0)
        return float(shares.mean()) if len(shares) else 0.0

    def _numbers(self, predicted: Floats, truth: Floats, entropy: Entropy) -> float:
        box, known = self._box(), np.isfinite(truth)
        absolute = self.metric == "neg_mean_absolute_error"
        errors, largest = misses(box, predicted[known], truth[known], absolute=absolute)
        width = float(box.half[0]) * 2
        if self.metric != "r2":
            mean = _ratio(*self._pair(errors, largest, entropy))
            return -width * (mean if absolute else mean**0.5 if "root" in self.metric else mean * width)
        steps = box.steps(truth[known, None])[:, 0]
        return self._explained(errors, largest, steps, entropy)

    def _explained(self, errors: Floats, largest: int, steps: Floats, entropy: Entropy) -> float:
        """R²: 1 − the mean squared error over the variance of the target, each of them noisy."""
        first, second, third = self._spending().split(2, 1, 1)
        wrong, rest = self._pair(errors, largest, entropy, first)
        sums = second.additive(l1=_STEP, l2_squared=_STEP**2, dimensions=1)
        squares = third.additive(l1=_STEP**2, l2_squared=_STEP**4, dimensions=1)
        rows = max((wrong + rest) / largest, 1.0)
        mean = float(sums.release(totals(steps[:, None], _STEP), entropy)[0]) / rows
        square = float(squares.release(totals(steps[:, None] ** 2, _STEP**2), entropy)[0]) / rows
        variance = square - np.clip(mean, -_STEP, _STEP) ** 2
        if not variance > 0:  # more noise than spread: the most that the bounds allow
            variance = float(_STEP**2)
        return 1.0 - _ratio(wrong, rest) * largest / float(variance)

    def _pair(
        self, errors: Floats, largest: int, entropy: Entropy, spending: Spending | None = None
    ) -> tuple[float, float]:
        """Σ e and Σ (largest − e) with noise, for rows with 0 ≤ e ≤ largest: one row moves both by `largest`."""
        noise = (spending or self._spending()).additive(l1=largest, l2_squared=largest**2, dimensions=2)
        noisy = noise.release(totals(np.column_stack((errors, largest - errors)), largest), entropy)
        return float(noisy[0]), float(noisy[1])

    def _spending(self) -> Spending:
        return Spending.of(self.epsilon, unit=unit_of(self.account))

    def _box(self) -> Box:
        return Box.of(self.target_bounds, 1, name="target_bounds")


class CoinFolds:
    """Cross-validation whose folds do not move when a row is added: a die of its own sends each row to a fold.

    `KFold` and similar classes cut at places that depend on the number of rows (or of a class). One more row can then
    exchange rows between all folds, and the fits together lose more than they state.

    Args:
        folds: How many folds there are, at least 2.
        random_state: None draws new folds at each call of `split`. A whole number makes them repeatable for
            experiments; then the privacy argument does not hold.

    Raises:
        InvalidParameter: If folds is not a whole number from 2 on.

    >>> [len(train) + len(test) for train, test in CoinFolds(3, random_state=0).split([[0.0]] * 10)]
    [10, 10, 10]
    """

    def __init__(self, folds: int = 5, *, random_state: Any = None) -> None:
        self.folds, self.random_state = checks.whole(folds=folds, minimum=2), random_state

    def __repr__(self) -> str:
        return f"CoinFolds({self.folds})"

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """How many folds there are, as scikit-learn asks for it.

        Args:
            X: Ignored.
            y: Ignored.
            groups: Ignored.

        Returns:
            The number of folds.

        >>> CoinFolds(3).get_n_splits()
        3
        """
        return self.folds

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Divide the rows, once for each fold.

        Args:
            X: The rows. Only their number is used.
            y: Ignored.
            groups: Ignored.

        Returns:
            For each fold the places of the rows to fit on and of the rows to score on.
        """
        fold = uniform_below(self.folds, len(X), entropy_of(self.random_state))
        for number in range(self.folds):
            yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)


def right(predicted: Any, truth: Any) -> NDArray[np.bool_]:
    """Which rows are predicted rightly; each is compared by itself, and none raises or warns."""
    said, true = as_column(np.asarray(predicted)), as_column(truth)
    if isinstance(said, np.ndarray) and isinstance(true, np.ndarray) and said.dtype.kind == true.dtype.kind in "biuf":
        return np.asarray(said == true)  # of one kind, so that numpy compares as Python does
    pairs = zip(_listed(said), _listed(true), strict=True)
    return np.array([_equal(left, right) for left, right in pairs], dtype=bool)


def misses(box: Box, predicted: Floats, truth: Floats, *, absolute: bool) -> tuple[Floats, int]:
    """How far each prediction is off, in whole steps or their squares, both clamped to the bounds; and the largest."""
    off = np.abs(box.steps(predicted[:, None])[:, 0] - box.steps(truth[:, None])[:, 0])
    return (off, 2 * _STEP) if absolute else (off * off, 4 * _STEP**2)


def _ratio(part: float, rest: float) -> float:
    """The share of the first in both, as a number from 0 to 1."""
    total = part + rest
    return min(max(part / total, 0.0), 1.0) if total > 0 else 0.5


def _listed(column: Any) -> list[Any]:
    return column if isinstance(column, list) else list(column.tolist())


def _equal(left: Any, right: Any) -> bool:
    try:
        return bool(left == right)
    except Exception:  # a missing value, an array: not equal, and not an error, which would tell
        return False
