"""What all private estimators do in the same way: check public parameters, charge the account, and only then read rows.

    public parameters → recipe (all noise decided) → charge (durable) → rows within bounds → model

Privacy: the relation is add_remove and the unit is one row of X (and y). A person with several rows is protected for
one row only. The recipe may depend on the number and the names of the columns, never on a value or the number of rows.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from lapwing import checks
from lapwing.calls import Helpful
from lapwing.errors import InvalidParameter, MissingExtra, NotPrivateWarning
from lapwing.models.account import Account, unit_of
from lapwing.models.columns import Box, Floats, classes_of, listed, matrix, places, same_rows, targets, width_of
from lapwing.models.quote import FitQuote
from lapwing.models.spending import Spending
from lapwing.noise import SYSTEM, Entropy, Reproducible
from lapwing.privacy import Loss
from lapwing.privacy.quotes import Line

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, ClusterMixin, RegressorMixin, TransformerMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:  # pragma: no cover
    raise MissingExtra("scikit-learn", "models") from None


class Recipe(Protocol):
    """Everything that is decided before a row is read: bounds, grids, and noise for each released number."""

    @property
    def loss(self) -> Loss:
        """What the fit costs; the lines add up to at most this."""

    @property
    def lines(self) -> Sequence[Line]:
        """Each release of the fit and its part of the loss."""


R = TypeVar("R", bound=Recipe)
Choice = TypeVar("Choice", bound="RatedRecipe")


class RatedRecipe(Recipe, Protocol):
    """A recipe that says how far off it is, so that two of them can be compared."""

    @property
    def error(self) -> float:
        """How far noise moves what the model is made of, with 95 % confidence: by public facts alone."""


class PrivateEstimator(BaseEstimator, Generic[R], metaclass=Helpful):  # type: ignore[misc]
    """The contract of all private estimators.

    Subclasses give a constructor that stores its arguments, `_recipe` and `_learn`.

    Args:
        epsilon: What a fit may spend, as ε. Without `delta` the fit has pure differential privacy. None if `rho` is
            given.
        delta: The δ of (ε, δ)-differential privacy. With it the noise is Gaussian, which is often smaller for many
            columns. None for pure differential privacy.
        rho: What a fit may spend, as ρ of zero-concentrated differential privacy. Write `epsilon=None` with it, and no
            delta.
        bounds: Public lower and upper bounds of the columns: one pair for all, a pair for each, or a dict of pairs by
            name. They are required. Values outside are clamped; what is not a finite number becomes the middle. A list
            of rows needs a pair for each, because its records must not say how many columns there are.
        account: The `Account` that each fit is charged to before a row is read. None charges nobody: you keep count.
        random_state: None for a private fit. A whole number makes fits repeatable for experiments; such fits are not
            private.
    """

    epsilon: Any
    bounds: Any
    account: Account | None
    random_state: Any

    @abstractmethod
    def _recipe(self, columns: int, names: Sequence[str] | None) -> R:
        """Check every parameter and decide all noise, for a table of so many columns."""

    @abstractmethod
    def _learn(self, recipe: R, X: Floats, y: Any, entropy: Entropy) -> None:
        """Read the rows: `X` in doubles (NaN where there is no number), `y` as `_target` gives it."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Pay for the fit, then learn from the rows. A crash after the charge loses the budget, but never leaks a row.

        A fit that is refused leaves an earlier model as it was; after a crash there is no model.

        Args:
            X: The rows: a data frame or an array, or a list of lists if `bounds` has a pair for each column. Each row
                counts as one person.
            y: What to predict, one entry for each row. Estimators without a target ignore it.

        Returns:
            The estimator itself, fitted. `privacy_loss_` is what the fit cost.

        Raises:
            MissingBounds: If a column has no public bounds.
            InvalidParameter: If a public parameter does not fit. Nothing was spent.
            BudgetExceeded: If the account does not cover the fit. Nothing was spent.

        >>> scaler = lw.models.StandardScaler(epsilon=1, bounds=[(0, 100)]).fit([[20], [30], [40]])
        >>> print(scaler.privacy_loss_)
        ε = 1 (add_remove, per person)
        """
        earlier = dict(vars(self))
        X = self._listed(X)
        try:
            recipe, entropy = self._prepared(X, y), entropy_of(self.random_state)
            if self.account is not None:
                self.account.charge(recipe.loss, seeded=not entropy.private)
        except BaseException:
            self.__dict__ = earlier
            raise
        self._learn(recipe, matrix(X, self.n_features_in_), self._target(y), entropy)
        self.privacy_loss_ = recipe.loss
        return self

    def _prepared(self, X: Any, y: Any) -> R:
        """Forget what was learnt and check everything that is public."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        columns = width_of(X, _declared(self))
        validate_data(self, _outline(X, columns), skip_check_array=True)  # remembers the number and names of columns
        self._demand(X, y)
        return self._recipe(columns, self._names())

    def quote(self, columns: int | Sequence[str] | None = None) -> FitQuote:
        """What a fit would cost and how noisy each released number would be. Nothing is spent or read.

        Args:
            columns: How many columns there are, or their names. Leave it out after a fit, or if `bounds` has a pair for
                each.

        Returns:
            The price, line by line, and what the account would have left.

        Raises:
            InvalidParameter: If the number of columns is not known, or if a parameter does not fit.

        >>> quote = lw.models.LinearRegression(epsilon=1, bounds=(0, 10), target_bounds=(0, 100)).quote(2)
        >>> print(quote.loss)
        ε = 1 (add_remove, per person)
        """
        if columns is None:
            columns = self._names() or getattr(self, "n_features_in_", None) or _columns_of(self.bounds)
        names = list(columns) if isinstance(columns, Iterable) and not isinstance(columns, str) else None
        if names is None and isinstance(self.bounds, Mapping) and len(self.bounds) == columns:
            names = list(self.bounds)
        if not all(isinstance(name, str) for name in names or []):
            raise InvalidParameter("columns", f"<{type(columns).__name__}>", "are not names of columns", _COLUMNS)
        recipe = self._recipe(checks.whole(columns=columns if names is None else len(names)), names)
        remaining = None if self.account is None else self.account.remaining()
        return FitQuote(estimator=type(self).__name__, loss=recipe.loss, lines=tuple(recipe.lines), remaining=remaining)

    def _target(self, y: Any) -> Any:
        return None

    def _demand(self, X: Any, y: Any) -> None:
        """Refuse a call without the target that is needed, before anything is paid."""

    def _listed(self, X: Any) -> Any:
        """Rows to learn from. Those of a list are read one by one, so that none of them raises, and only once."""
        return listed(X, _declared(self))

    def _names(self) -> list[str] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else list(names)

    def _box(self, columns: int, names: Sequence[str] | None) -> Box:
        return Box.of(self.bounds, columns, names)

    def _spending(self) -> Spending:
        """What this estimator may lose, by the parameters it has."""
        rest = getattr(self, "delta", None), getattr(self, "rho", None)
        return Spending.of(self.epsilon, *rest, unit=unit_of(self.account))

    def _rows(self, X: Any) -> Floats:
        """Rows to apply a fitted model to; as many columns as were learnt from."""
        check_is_fitted(self)
        X = listed(X, self.n_features_in_, known=True)
        columns = width_of(X, self.n_features_in_)
        validate_data(self, _outline(X, columns), reset=False, skip_check_array=True)
        return matrix(X, columns)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "privacy_loss_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True  # a value that is no number is the middle of its bounds
        return tags


def least_noise(estimator: PrivateEstimator[Any], make: Callable[[Spending], Choice]) -> Choice:
    """The recipe for what an estimator may lose; for an epsilon with a delta, the one of two with the smaller error.

    Pure ε is also (ε, δ), whatever δ is. So pure noise may be taken instead of Gaussian noise, and then no delta is
    charged. Nothing but public parameters decides.
    """
    given = make(estimator._spending())
    if getattr(estimator, "delta", None) is None:
        return given
    pure = make(Spending.of(estimator.epsilon, unit=unit_of(estimator.account)))
    return pure if pure.error <= given.error else given


class PrivateRegressor(RegressorMixin, PrivateEstimator[R]):  # type: ignore[misc]
    """Predicts a number within `target_bounds`.

    Args:
        target_bounds: Public lower and upper bound of the target, as a pair. They are required. Targets outside are
            clamped; rows whose target is not a finite number are left out.
    """

    target_bounds: Any

    def _demand(self, X: Any, y: Any) -> None:
        same_rows(X, y)

    def _target(self, y: Any) -> Floats:
        return targets(y)

    def _target_box(self) -> Box:
        return Box.of(self.target_bounds, 1, name="target_bounds")

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² on these rows. It is not private, because it reads them without noise; a `NotPrivateWarning` says so.

        Args:
            X: The rows to predict.
            y: The true targets.
            sample_weight: How much each row counts. None: all the same.

        Returns:
            1 for a perfect prediction, 0 for one as good as the mean of `y`.

        >>> import numpy as np
        >>> X = np.arange(2000).reshape(-1, 1) % 100
        >>> model = lw.models.LinearRegression(epsilon=10, bounds=(0, 100), target_bounds=(0, 300)).fit(X, 3 * X[:, 0])
        >>> model.score(X, 3 * X[:, 0]) > 0.9
        True
        """
        return _unpriced(self, super().score(X, y, sample_weight))


class PrivateClassifier(ClassifierMixin, PrivateEstimator[R]):  # type: ignore[misc]
    """Predicts one of the public `classes`.

    Args:
        classes: All labels that the target may have, as a public list. They are required, because a rare class could
            reveal a person. Rows with another label are left out.
    """

    classes: Any

    def _demand(self, X: Any, y: Any) -> None:
        same_rows(X, y)
        self.classes_ = classes_of(self.classes)

    def _target(self, y: Any) -> NDArray[np.int64]:
        return places(y, self.classes_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of these rows that is predicted rightly. It is not private, because it reads them without noise.

        Args:
            X: The rows to predict.
            y: The true labels.
            sample_weight: How much each row counts. None: all the same.

        Returns:
            A number from 0 to 1. A `NotPrivateWarning` says that it is not protected.

        >>> import numpy as np
        >>> X = np.arange(2000).reshape(-1, 1) % 100
        >>> model = lw.models.LogisticRegression(epsilon=10, bounds=(0, 100), classes=[0, 1]).fit(X, X[:, 0] > 50)
        >>> model.score(X, X[:, 0] > 50) > 0.8
        True
        """
        return _unpriced(self, super().score(X, y, sample_weight))


class PrivateTransformer(TransformerMixin, PrivateEstimator[R]):  # type: ignore[misc]
    """Maps rows to other rows."""

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn from the rows, then map them, as a `Pipeline` does with every step but its last.

        Args:
            X: The rows: a data frame or an array, or a list of lists if `bounds` has a pair for each column.
            y: What to predict, if the estimator needs it.

        Returns:
            The rows as `transform` gives them. They are records: only the fitted estimator is private.

        >>> scaler = lw.models.StandardScaler(epsilon=1, bounds=[(0, 100)])
        >>> scaler.fit_transform([[20], [30], [40]]).shape
        (3, 1)
        """
        X = self._listed(X)
        return self.fit(X, y).transform(X)


class PrivateClusterer(ClusterMixin, PrivateEstimator[R]):  # type: ignore[misc]
    """Finds groups of rows."""


def entropy_of(random_state: Any) -> Entropy:
    """The system's entropy; for a whole number or bytes a reproducible source, whose fits are not private."""
    if random_state is None:
        return SYSTEM
    if isinstance(random_state, Entropy):
        return random_state
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        return Reproducible(checks.whole(random_state=random_state, minimum=0))
    hint = "Leave it out; write a whole number for experiments that need not be private."
    raise InvalidParameter("random_state", f"<{type(random_state).__name__}>", "is not a source of noise", hint)


def _unpriced(estimator: object, score: float) -> float:
    warnings.warn(
        f"the score of {type(estimator).__name__} is not private: it was computed from the rows without noise. Use "
        "public rows, or lapwing.models.PrivateScore, which spends budget.",
        NotPrivateWarning,
        stacklevel=3,
    )
    return score


_COLUMNS = "Write quote(columns=10), or their names: quote(columns=['age', 'height'])."


def _outline(X: Any, columns: int) -> Any:
    """What scikit-learn looks at. Of a list of rows it would see the first one, which may be absent."""
    return np.broadcast_to(0.0, (len(X), columns)) if isinstance(X, list) else X


def _declared(estimator: Any) -> int | None:
    """How many columns the bounds list; those of the first estimator that has any, where one holds others."""
    bounds, steps = getattr(estimator, "bounds", None), getattr(estimator, "steps", None)
    inner = steps[0][-1] if isinstance(steps, list) and steps else getattr(estimator, "estimator", None)
    if bounds is None:
        return None if inner is None else _declared(inner)
    try:
        columns = _columns_of(bounds)
    except InvalidParameter:
        return None
    return columns if isinstance(columns, int) else len(columns)


def _columns_of(bounds: Any) -> int | list[str]:
    """The columns, if bounds name or number them."""
    if isinstance(bounds, Mapping):
        return list(bounds)
    try:
        if len(bounds) and all(hasattr(pair, "__len__") for pair in bounds):
            return len(bounds)
    except TypeError:
        pass
    raise InvalidParameter("columns", None, "how many columns there are is not known yet", _COLUMNS)
