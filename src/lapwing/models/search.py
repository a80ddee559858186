"""Private grid search: choose the best hyperparameters by the rows, and pay for it.

Each row is sent by a die of its own to one of the training parts or to the validation part. Fits and the choice then
act on disjoint rows, and together lose the largest of their losses, not the sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import checks
from lapwing.errors import InvalidParameter, MissingExtra
from lapwing.mechanisms import PermuteAndFlip
from lapwing.models.account import Account
from lapwing.models.columns import Box, Floats, column_of, same_rows, targets
from lapwing.models.estimator import PrivateEstimator
from lapwing.models.exact import totals
from lapwing.models.scoring import misses, right
from lapwing.noise import Entropy, choice
from lapwing.privacy import Loss, parallel
from lapwing.privacy.composition import add
from lapwing.privacy.quotes import Line

try:
    from sklearn.base import clone
    from sklearn.model_selection import ParameterGrid
    from sklearn.pipeline import Pipeline
    from sklearn.utils.metaestimators import available_if
except ImportError:  # pragma: no cover
    raise MissingExtra("scikit-learn", "models") from None

METRICS = ("accuracy", "neg_mean_squared_error", "neg_mean_absolute_error")
TRAINING = ("apart", "shared")


@dataclass(frozen=True, slots=True)
class _Recipe:
    candidates: tuple[Any, ...]
    settings: tuple[Mapping[str, Any], ...]
    costs: tuple[Loss, ...]
    choose: PermuteAndFlip
    weights: tuple[Fraction, ...]
    box: Box | None
    shared: bool
    """Whether all candidates learn from the same rows."""
    refit: bool

    @property
    def loss(self) -> Loss:
        """The largest of disjoint parts; a refit reads all rows once more, whichever candidate it is."""
        fits = [together(self.costs)] if self.shared else self.costs
        searched = parallel(*fits, self.choose.privacy_loss(), disjoint_by="unit")
        return searched + parallel(*self.costs, disjoint_by="unit") if self.refit else searched

    @property
    def lines(self) -> Sequence[Line]:
        """What every part costs; those of disjoint rows do not add up."""
        many = len(self.candidates)
        where = "each on the same training rows" if self.shared else "each on training rows of its own"
        dearest = parallel(*self.costs, disjoint_by="unit")
        said = [Line(f"{many} fits, {where}; one costs at most", dearest)]
        said.append(Line("the choice, on the validation rows", self.choose.privacy_loss(), *self._gap()))
        return [*said, Line("the refit on all rows", dearest)] if self.refit else said

    def _gap(self) -> tuple[float, str]:
        gap = self.choose.accuracy()
        if self.box is None:
            return gap, "more rows are wrong than with the best setting"
        return gap / float(self.choose.sensitivity), "rows' largest errors more than the best"


class PrivateGridSearch(PrivateEstimator[_Recipe]):
    """Fits a private estimator with every setting of a grid and keeps one that predicts (nearly) best.

    Privacy: add_remove, one row. With `training="apart"`, each candidate is trained on rows of its own: the loss is the
    largest of the candidates' losses and epsilon. With `training="shared"`, all are trained on the same rows: the loss
    is the larger of the sum of the candidates' losses and epsilon. A refit adds the largest of the candidates' losses.
    Accuracy: with probability 1 − β the choice is wrong on at most ln(k/β)/ε validation rows more than the best.
    Proof: search.md

    Args:
        estimator: A classifier or regressor of lapwing.models, or a Pipeline of nothing but its estimators. It keeps
            its own epsilon. Give the account to the search, not to the estimator.
        param_grid: The settings to try, as in scikit-learn's `GridSearchCV`: a dict of lists, or a list of such dicts.
        epsilon: What the choice may spend, as ε. The fits spend what the estimator states.
        metric: "accuracy", "neg_mean_squared_error" or "neg_mean_absolute_error".
        target_bounds: Public lower and upper bound of the target. The two metrics of numbers require it.
        training: "apart" gives each candidate rows of its own. "shared" gives all of them the same rows, and their
            losses add up.
        validation: The probability that a row is used for the choice only. None makes all parts equally large, or means
            1/5 if training is shared.
        refit: Whether to fit the winner once more on all rows, and pay for that.

    Attributes:
        best_params_: The setting that was chosen.
        best_index_: Its place in the grid.
        best_estimator_: The model with this setting.

    >>> X = np.arange(3000).reshape(-1, 1) % 100
    >>> tree = lw.models.DecisionTree(epsilon=5, bounds=(0, 100), classes=[False, True])
    >>> search = PrivateGridSearch(tree, {"max_depth": [1, 2]}, epsilon=1).fit(X, X[:, 0] > 50)
    >>> search.predict([[20], [80]]).tolist()
    [False, True]
    >>> print(search.privacy_loss_)
    ε = 5 (add_remove, per person)
    """

    bounds: Any = None

    def __init__(
        self,
        estimator: Any = None,
        param_grid: Any = None,
        *,
        epsilon: Any = 1.0,
        metric: str = "accuracy",
        target_bounds: Any = None,
        training: str = "apart",
        validation: Any = None,
        refit: bool = False,
        account: Account | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.epsilon = epsilon
        self.metric = metric
        self.target_bounds = target_bounds
        self.training = training
        self.validation = validation
        self.refit = refit
        self.account = account
        self.random_state = random_state

    def _demand(self, X: Any, y: Any) -> None:
        same_rows(X, y)

    def _target(self, y: Any) -> Any:
        if checks.one_of(METRICS, metric=self.metric) != "accuracy":
            return targets(y)
        labels = column_of(y)
        return labels if isinstance(labels, np.ndarray) else np.fromiter(labels, dtype=object, count=len(labels))

    def _recipe(self, columns: int, names: Sequence[str] | None) -> _Recipe:
        checks.one_of(METRICS, metric=self.metric)
        unit = self._spending().stated.unit
        settings = _settings(self.param_grid)
        candidates = tuple(_unpaid(self.estimator, setting, self.account) for setting in settings)
        costs = tuple(cost_of(candidate, columns, names, unit) for candidate in candidates)
        box = None if self.metric == "accuracy" else Box.of(self.target_bounds, 1, name="target_bounds")
        largest = 1 if box is None else misses(box, np.empty(0), np.empty(0), absolute=self._absolute())[1]
        choose = PermuteAndFlip(
            epsilon=checks.positive(epsilon=self.epsilon),
            sensitivity=largest,
            candidates=len(settings),
            monotone=True,
            unit=unit,
        )
        shared = checks.one_of(TRAINING, training=self.training) == "shared"
        refit = checks.true_or_false(refit=self.refit)
        return _Recipe(candidates, settings, costs, choose, self._weights(len(settings), shared), box, shared, refit)

    def _weights(self, many: int, shared: bool) -> tuple[Fraction, ...]:
        """The probability of each training part, and last that of the validation part."""
        parts = 1 if shared else many
        default = Fraction(1, 5) if shared else Fraction(1, many + 1)
        held = default if self.validation is None else checks.probability(validation=self.validation)
        return (*[(1 - held) / parts] * parts, held)

    def _learn(self, recipe: _Recipe, X: Floats, y: Any, entropy: Entropy) -> None:
        part = choice(recipe.weights, len(X), entropy)
        names = self._names()
        fitted = []
        for place, candidate in enumerate(recipe.candidates):
            chosen = part == (0 if recipe.shared else place)
            fitted.append(_seeded(candidate, entropy).fit(table(X[chosen], names), y[chosen]))
        held = part == len(recipe.weights) - 1
        scores = [self._utility(recipe, model, table(X[held], names), y[held]) for model in fitted]
        self.best_index_ = int(recipe.choose.release(scores, entropy))
        self.best_params_ = dict(recipe.settings[self.best_index_])
        self.best_estimator_ = fitted[self.best_index_]
        if recipe.refit:
            self.best_estimator_ = _seeded(clone(self.best_estimator_), entropy).fit(table(X, names), y)
        if hasattr(self.best_estimator_, "classes_"):
            self.classes_ = self.best_estimator_.classes_

    def _utility(self, recipe: _Recipe, model: Any, rows: Any, truth: NDArray[Any]) -> int:
        """Rows that are right, or minus the steps that the predictions are off: a new row moves all the same way."""
        if len(truth) == 0:
            return 0
        predicted = model.predict(rows)
        if recipe.box is None:
            return int(right(predicted, truth).sum())
        known = np.isfinite(truth)
        errors, largest = misses(recipe.box, targets(predicted)[known], truth[known], absolute=self._absolute())
        return -int(totals(errors[:, None], largest)[0])

    def _absolute(self) -> bool:
        return self.metric == "neg_mean_absolute_error"

    def predict(self, X: Any) -> NDArray[Any]:
        """What the chosen model predicts.

        Args:
            X: Rows with the columns of the fit.

        Returns:
            A label or a number for each row.
        """
        self._rows(X)
        return np.asarray(self.best_estimator_.predict(X))

    @available_if(lambda self: hasattr(getattr(self, "best_estimator_", self.estimator), "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class, if the chosen model knows it.

        Args:
            X: Rows with the columns of the fit.

        Returns:
            A row for each row and a column for each class, in the order of `classes_`.

        >>> X = np.arange(3000).reshape(-1, 1) % 100
        >>> tree = lw.models.DecisionTree(epsilon=5, bounds=(0, 100), classes=[False, True])
        >>> search = PrivateGridSearch(tree, {"max_depth": [1, 2]}, epsilon=1).fit(X, X[:, 0] > 50)
        >>> search.predict_proba([[20], [80]]).round().tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        self._rows(X)
        return np.asarray(self.best_estimator_.predict_proba(X))

    def score(self, X: Any, y: Any) -> float:
        """The score of the chosen model. It is not private, because it reads the rows without noise.

        Args:
            X: The rows to predict.
            y: The true labels or numbers.

        Returns:
            The share of rows predicted rightly, or R² for numbers.

        >>> X = np.arange(3000).reshape(-1, 1) % 100
        >>> tree = lw.models.DecisionTree(epsilon=5, bounds=(0, 100), classes=[False, True])
        >>> search = PrivateGridSearch(tree, {"max_depth": [1, 2]}, epsilon=1).fit(X, X[:, 0] > 50)
        >>> search.score(X, X[:, 0] > 50) > 0.8
        True
        """
        self._rows(X)
        return float(self.best_estimator_.score(X, y))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__") and not isinstance(self.estimator, type):
            inner = self.estimator.__sklearn_tags__()
            tags.estimator_type, tags.target_tags = inner.estimator_type, inner.target_tags
            tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        return tags


def cost_of(model: Any, columns: int, names: Sequence[str] | None, unit: str = "person") -> Loss:
    """What a fit of a private estimator, or of a pipeline of them, would cost. No row is read and nothing is spent.

    The later steps of a pipeline see as many columns as the earlier ones give, so these are fitted on no rows.
    """
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    steps = [step for step in steps if step is not None and step != "passthrough"]
    for step in steps:
        if not isinstance(step, PrivateEstimator):
            why = "is not a private estimator, so its fit would not be protected"
            hint = "Use estimators of lapwing.models, or a Pipeline of nothing else."
            raise InvalidParameter("estimator", f"<{type(step).__name__}>", why, hint)
    losses, rows = [], table(np.empty((0, columns)), names)
    for step in steps:
        seen = list(rows.columns) if hasattr(rows, "columns") else rows.shape[1]
        losses.append(replace(step.quote(seen).loss, unit=unit))
        if step is not steps[-1]:
            rows = clone(step).fit(rows, np.empty(0)).transform(rows)
    return together(losses)


def together(losses: Sequence[Loss]) -> Loss:
    """The loss of all of them on the same rows."""
    return reduce(add, losses)


def table(rows: Floats, names: Sequence[str] | None) -> Any:
    """The rows with the names that their columns had."""
    if names is None:
        return rows
    try:
        import pandas  # type: ignore[import-untyped]
    except ImportError:  # pragma: no cover
        raise MissingExtra("pandas", "pandas") from None
    return pandas.DataFrame(rows, columns=list(names))


def _settings(param_grid: Any) -> tuple[Mapping[str, Any], ...]:
    if param_grid is None:
        hint = "Write param_grid={'epsilon': [1]}, with what there is to choose from."
        raise InvalidParameter("param_grid", None, "says which settings to try", hint)
    try:
        return tuple(ParameterGrid(param_grid))
    except (TypeError, ValueError):  # which quotes what was passed, and that could be records
        hint = "Write param_grid={'epsilon': [0.5, 1]}, or a list of such dicts."
        raise InvalidParameter("param_grid", param_grid, "must be a dict of lists", hint) from None


def _unpaid(estimator: Any, setting: Mapping[str, Any], account: Account | None) -> Any:
    """A candidate that charges nobody: the search pays for all of them at once."""
    if not hasattr(estimator, "get_params") or isinstance(estimator, type):
        hint = "Write PrivateGridSearch(estimator, param_grid), the estimator being one of lapwing.models."
        raise InvalidParameter("estimator", f"<{type(estimator).__name__}>", "is not an estimator", hint)
    candidate = clone(estimator).set_params(**setting)
    if not hasattr(candidate, "predict"):
        why, hint = "does not predict, so nothing can be compared", "Use a classifier or a regressor, or end with one."
        raise InvalidParameter("estimator", f"<{type(candidate).__name__}>", why, hint)
    accounts = _named(candidate, "account")
    if any(inner is not None and inner != account for inner in accounts.values()):
        why = "is charged by each fit, but the search pays for all fits at once"
        raise InvalidParameter("account", "<of the estimator>", why, "Write PrivateGridSearch(…, account=account).")
    return candidate.set_params(**dict.fromkeys(accounts))


def _seeded(model: Any, entropy: Entropy) -> Any:
    """The model; where the search is reproducible, its own noise is so as well."""
    if entropy.private:
        return model
    unset = [name for name, state in _named(model, "random_state").items() if state is None]
    return model.set_params(**{name: entropy.bits(62) for name in unset})


def _named(model: Any, name: str) -> dict[str, Any]:
    return {key: value for key, value in model.get_params().items() if key.rpartition("__")[2] == name}
