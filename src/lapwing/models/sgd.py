"""Linear models trained by private gradient descent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.models.account import Account
from lapwing.models.columns import Box, Floats, classes_of
from lapwing.models.estimator import PrivateClassifier, PrivateRegressor
from lapwing.models.layers import ERROR_BITS, SCORE_STEP, class_error, input_rows, number_error, softmax
from lapwing.models.training import Plan, scores_of, train
from lapwing.noise import Entropy


class DescentClassifier(PrivateClassifier[Plan]):
    """What a linear classifier and a network have in common: everything but the hidden layers.

    Args:
        epsilon: What a fit may spend, as the ε of (ε, δ)-differential privacy. The noise is chosen to cost just this.
        delta: The δ of (ε, δ)-differential privacy. It should be far smaller than one over the number of rows.
        epochs: How often each row takes part, on average. More epochs mean more steps, and more noise in each.
        sampling: The probability that a row takes part in one step, so that there are `epochs / sampling` steps.
        clip: Longer gradients of a row are cut to this length. Columns count in half widths of their bounds.
        learning_rate: The step size of the Adam optimiser.
        progress: Whether to show a progress bar on a terminal.
    """

    def _hidden(self) -> Sequence[int]:
        return ()

    def _recipe(self, columns: int, names: Sequence[str] | None) -> Plan:
        return Plan.of(self, self._box(columns, names), self._hidden(), len(classes_of(self.classes)))

    def _learn(self, recipe: Plan, X: Floats, y: NDArray[np.int64], entropy: Entropy) -> None:
        inside = y >= 0
        rows, places = input_rows(recipe.box, X[inside]), y[inside]
        self.weights_ = train(recipe, rows, lambda scores, chosen: class_error(scores, places[chosen]), entropy)

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class.

        Args:
            X: Rows with the columns of the fit. Values outside the bounds are clamped.

        Returns:
            A row for each row and a column for each class, in the order of `classes_`.

        >>> import numpy as np
        >>> X = np.arange(1000).reshape(-1, 1) % 100
        >>> model = lw.models.SGDClassifier(epsilon=10, delta=1e-6, bounds=(0, 100), classes=[False, True])
        >>> model.fit(X, X[:, 0] > 50).predict_proba([[5], [95]]).shape
        (2, 2)
        """
        return softmax(self._scores(X) / SCORE_STEP)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row.

        Args:
            X: Rows with the columns of the fit. Values outside the bounds are clamped.

        Returns:
            A label for each row. Predicting costs nothing, but the labels describe these rows.

        >>> import numpy as np
        >>> X = np.arange(1000).reshape(-1, 1) % 100
        >>> model = lw.models.SGDClassifier(epsilon=10, delta=1e-6, bounds=(0, 100), classes=[False, True])
        >>> model.fit(X, X[:, 0] > 50).predict([[5], [95]]).tolist()
        [False, True]
        """
        chosen = np.argmax(self._scores(X), axis=1)
        return np.asarray(self.classes_[chosen])

    def _scores(self, X: Any) -> Floats:
        rows = self._rows(X)
        return scores_of(self.weights_, self._box(rows.shape[1], self._names()), rows)


class SGDClassifier(DescentClassifier):
    """Softmax regression for any number of classes, by noisy gradient descent on random samples of the rows (DP-SGD).

    Privacy: (epsilon, delta), add_remove, one row. How many rows there are is not used.
    Accuracy: grows with the number of rows; `quote()` tells by how many rows' gradients a sum is off.
    Proof: training.md

    Attributes:
        coef_: The slopes, a row for each class, in the units of the data.
        intercept_: The score of each class where all columns are 0.

    >>> X = np.arange(1000).reshape(-1, 1) % 100
    >>> model = SGDClassifier(epsilon=10, delta=1e-6, bounds=(0, 100), classes=[False, True]).fit(X, X[:, 0] > 50)
    >>> model.predict([[5], [95]]).tolist()
    [False, True]
    >>> print(model.privacy_loss_)
    ε = 10, δ = 1e-06 (add_remove, per person)
    """

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        delta: Any = 1e-6,
        epochs: Any = 20,
        sampling: Any = 0.1,
        clip: Any = 1.0,
        learning_rate: Any = 0.05,
        bounds: Any = None,
        classes: Any = None,
        progress: Any = False,
        account: Account | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.epochs = epochs
        self.sampling = sampling
        self.clip = clip
        self.learning_rate = learning_rate
        self.bounds = bounds
        self.classes = classes
        self.progress = progress
        self.account = account
        self.random_state = random_state

    def _learn(self, recipe: Plan, X: Floats, y: NDArray[np.int64], entropy: Entropy) -> None:
        super()._learn(recipe, X, y, entropy)
        self.intercept_, self.coef_ = _in_units(self.weights_[0], recipe.box)


class SGDRegressor(PrivateRegressor[Plan]):
    """Linear regression by noisy gradient descent on random samples of the rows (DP-SGD).

    The target counts in half widths of `target_bounds`. Cutting long gradients makes the line robust: a row far from it
    pulls with a bounded force, as under Huber's loss.

    Privacy: (epsilon, delta), add_remove, one row. How many rows there are is not used.
    Accuracy: grows with the number of rows; `quote()` tells by how many rows' gradients a sum is off.
    Proof: training.md

    Args:
        epsilon: What a fit may spend, as the ε of (ε, δ)-differential privacy. The noise is chosen to cost just this.
        delta: The δ of (ε, δ)-differential privacy. It should be far smaller than one over the number of rows.
        epochs: How often each row takes part, on average. More epochs mean more steps, and more noise in each.
        sampling: The probability that a row takes part in one step, so that there are `epochs / sampling` steps.
        clip: Longer gradients of a row are cut to this length. With many rows and a skewed target, a larger one keeps
            the line nearer to the mean.
        learning_rate: The step size of the Adam optimiser.
        progress: Whether to show a progress bar on a terminal.

    Attributes:
        coef_: The slope of each column, in the units of the data.
        intercept_: The value where all columns are 0.

    >>> x = np.linspace(0, 1, 500)[:, None]
    >>> model = SGDRegressor(epsilon=5, bounds=(0, 1), target_bounds=(0, 1)).fit(x, x[:, 0])
    >>> model.predict([[0.5]]).shape
    (1,)
    """

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        delta: Any = 1e-6,
        epochs: Any = 20,
        sampling: Any = 0.1,
        clip: Any = 1.0,
        learning_rate: Any = 0.01,
        bounds: Any = None,
        target_bounds: Any = None,
        progress: Any = False,
        account: Account | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.epochs = epochs
        self.sampling = sampling
        self.clip = clip
        self.learning_rate = learning_rate
        self.bounds = bounds
        self.target_bounds = target_bounds
        self.progress = progress
        self.account = account
        self.random_state = random_state

    def _recipe(self, columns: int, names: Sequence[str] | None) -> Plan:
        self._target_box()
        return Plan.of(self, self._box(columns, names), (), 1)

    def _learn(self, recipe: Plan, X: Floats, y: Floats, entropy: Entropy) -> None:
        inside, target = np.isfinite(y), self._target_box()
        rows = input_rows(recipe.box, X[inside])
        wanted = target.steps(y[inside][:, None], bits=ERROR_BITS)[:, 0]
        self.weights_ = train(recipe, rows, lambda scores, chosen: number_error(scores, wanted[chosen]), entropy)
        intercept, coefficients = _in_units(self.weights_[0], recipe.box)
        self.intercept_ = float(target.back(intercept)[0])
        self.coef_ = coefficients[0] * target.half[0]

    def predict(self, X: Any) -> Floats:
        """The predicted target of each row.

        Args:
            X: Rows with the columns of the fit. Values outside the bounds are clamped.

        Returns:
            A number within `target_bounds` for each row.
        """
        rows = self._rows(X)
        scores = scores_of(self.weights_, self._box(rows.shape[1], self._names()), rows)[:, 0]
        return self._target_box().back(np.clip(scores, -1.0, 1.0))


def _in_units(weights: Floats, box: Box) -> tuple[Floats, Floats]:
    """Intercepts and coefficients for features in the units of the data, within their bounds."""
    coefficients = weights[1:].T / box.half
    return weights[0] - coefficients @ box.middle, coefficients
