"""Method 1 of the study: noise on every prediction. **Not private**, and kept here to show why.

The noise is scaled to the largest change of the *training error* when one record of *this* table is left out. This is
wrong in four ways: predictions are released and not training errors, the scale itself is read from the data, a record
that is not in the table may move a prediction by far more, and every prediction spends epsilon anew.
`lapwing experiment run regression-audit` shows it; `lapwing.models.LinearRegression` does it right.
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from lapwing import checks
from lapwing.errors import NotPrivateWarning
from lapwing.experiments.boston import Floats
from lapwing.experiments.regression_methods import training_error_changes, unit_laplace, with_ones
from lapwing.models.estimator import entropy_of


class NaiveOutputPerturbation(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Least squares with Laplace noise on every prediction. **NOT PRIVATE, whatever epsilon says.**

    It is here as an example of what goes wrong, and an audit breaks it. After a fit, `sensitivity_` is the largest
    change of the training error if one record is left out, and `record_` is the number of that record. Both are read
    from the data.

    Args:
        epsilon: Divides the scale of the noise on each prediction. It is not a privacy loss.
        sensitivity: Multiplies the scale of the noise. None means `sensitivity_`, from the data.
        random_state: None for fresh noise, or a whole number for the same noise every time.

    >>> import warnings
    >>> warnings.simplefilter("ignore")
    >>> model = NaiveOutputPerturbation(epsilon=1, random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 2, 9])
    >>> model.record_, model.predict([[0.0]]).shape
    (3, (1,))
    """

    def __init__(self, *, epsilon: Any = 1.0, sensitivity: Any = None, random_state: Any = None) -> None:
        self.epsilon = epsilon
        self.sensitivity = sensitivity
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit least squares without noise, and read the scale of the noise from the same rows.

        Args:
            X: Rows of numbers, at least two.
            y: The target of each row.

        Returns:
            The model itself.

        Raises:
            InvalidParameter: If `epsilon` is not positive.
            ValueError: If `X` and `y` are not numbers, differ in length, or have fewer than two rows.
        """
        checks.positive(epsilon=self.epsilon)
        warnings.warn(
            "NaiveOutputPerturbation is NOT private at any epsilon: its noise is made for another function and read "
            "from the data. Use lapwing.models.LinearRegression.",
            NotPrivateWarning,
            stacklevel=2,
        )
        X, y = validate_data(self, X, y, y_numeric=True, ensure_min_samples=2)
        design = with_ones(np.asarray(X, dtype=float))
        weights = np.linalg.lstsq(design, y, rcond=None)[0]
        self.coef_, self.intercept_ = weights[:-1], float(weights[-1])
        changes = training_error_changes(design, np.asarray(y, dtype=float))
        self.record_ = int(np.argmax(changes))
        self.sensitivity_ = float(changes[self.record_] if self.sensitivity is None else self.sensitivity)
        self._entropy = entropy_of(self.random_state)
        return self

    def exact(self, X: Any) -> Floats:
        """Predictions without noise.

        Args:
            X: Rows to predict.

        Returns:
            A prediction for each row.

        >>> import warnings
        >>> warnings.simplefilter("ignore")
        >>> model = NaiveOutputPerturbation(epsilon=1).fit([[0.0], [1.0], [2.0]], [0, 1, 2])
        >>> model.exact([[4.0]]).round(6).tolist()
        [4.0]
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        predicted: Floats = X @ self.coef_ + self.intercept_
        return predicted

    def predict(self, X: Any) -> Floats:
        """Predictions with fresh Laplace noise of scale sensitivity_/epsilon.

        Args:
            X: Rows to predict.

        Returns:
            A noisy prediction for each row.
        """
        predicted = self.exact(X)
        return predicted + unit_laplace(len(predicted), self._entropy) * (self.sensitivity_ / float(self.epsilon))
