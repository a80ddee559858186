"""Private feature selection: the choice of columns depends on the rows, so it is paid for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lapwing import checks
from lapwing.errors import InvalidCall, InvalidParameter
from lapwing.mechanisms import Exponential, PermuteAndFlip
from lapwing.models.account import Account
from lapwing.models.columns import BITS, Box, Floats, classes_of, places, same_rows, targets
from lapwing.models.estimator import PrivateTransformer
from lapwing.models.exact import products, totals, totals_by
from lapwing.models.spending import Spending
from lapwing.noise import Entropy
from lapwing.privacy import Loss
from lapwing.privacy.quotes import Line

_STEP = 1 << BITS
_COARSE = 1 << BITS - 6


@dataclass(frozen=True, slots=True)
class _Recipe:
    box: Box
    spending: Spending
    kept: int
    target: Box | int
    """The bounds of a number, or how many classes there are."""

    @property
    def loss(self) -> Loss:
        return self.spending.stated

    @property
    def parts(self) -> tuple[Spending, Spending]:
        """For the middle of the target, more if it has many classes, and for each of the choices."""
        weight = max(self.target // 4, 1) if isinstance(self.target, int) else 1
        middle, choice, *_ = self.spending.split(weight, *[1] * self.kept)
        return middle, choice

    @property
    def middle(self) -> Sequence[Any]:
        """Noise on how many rows each class has; or on the number of rows and on the sum of the target."""
        middle, _ = self.parts
        if isinstance(self.target, int):
            return [middle.additive(l1=1, l2_squared=1, dimensions=self.target)]
        count, total = middle.split(1, 2)
        return [
            count.additive(l1=1, l2_squared=1, dimensions=1),
            total.additive(l1=_STEP, l2_squared=_STEP**2, dimensions=1),
        ]

    @property
    def lines(self) -> Sequence[Line]:
        _, choice = self.parts
        chosen = [Line(f"choice {place}", choice.loss) for place in range(1, self.kept + 1)]
        first, *rest = self.middle
        if not rest:
            return [Line("the size of each class", first.privacy_loss(), first.accuracy(), "rows"), *chosen]
        return [
            Line("the number of rows", first.privacy_loss(), first.accuracy(), "rows"),
            Line("the sum of the target", rest[0].privacy_loss(), rest[0].accuracy() / _STEP, "half widths"),
            *chosen,
        ]

    def choose(self, candidates: list[int], scores: list[int], sensitivity: int, entropy: Entropy) -> int:
        """One of the candidates, probably one with a high score."""
        _, choice = self.parts
        # Permute-and-flip is better for pure epsilon, the exponential mechanism costs less of rho.
        mechanism = Exponential if choice.concentrated else PermuteAndFlip
        selection = mechanism(
            epsilon=choice.epsilon,
            sensitivity=sensitivity,
            candidates=candidates,
            granularity=_STEP,
            unit=choice.loss.unit,
        )
        return int(selection.release([scores[candidate] for candidate in candidates], entropy))


class SelectFeatures(PrivateTransformer[_Recipe]):
    """Keeps the `k` columns that vary most with the target, one private choice after another.

    For a number the score of a column is the size of its covariance with the target, times the number of rows. For
    classes it is the sum over classes of (rows of the class) · |mean in the class − mean of all|. Both measure a column
    in half widths of its bounds: so much of it survives the noise of a model that knows the same bounds.

    After the choice a model must know the bounds of just the columns kept. With `set_output(transform="pandas")` they
    keep their names, and the model can look its bounds up in a dict of all columns.

    Privacy: epsilon pure, or (epsilon, delta), or rho zero-concentrated; add_remove, one row of X and y.
    Accuracy: a column is missed if its score is not above the others' by about 2·(k + 1)·ln(columns) / epsilon rows.
    Proof: feature_selection.md

    Args:
        k: How many columns to keep. The budget is divided between the choices.
        target_bounds: Public lower and upper bound of a target that is a number. Rows without a number are left out.
        classes: Public labels of a target that is a class. Rows with another label are left out. Either this or
            `target_bounds` is required; if both are given, the classes count.

    Attributes:
        chosen_: The places of the columns kept, in the order of the choices.
        support_: Whether each column is kept.

    >>> rows = np.random.default_rng(0).uniform(-1, 1, (2000, 5))
    >>> selector = SelectFeatures(2, epsilon=10, bounds=(-1, 1), target_bounds=(-2, 2))
    >>> selector.fit(rows, rows[:, 1] + rows[:, 3]).get_support().tolist()
    [False, True, False, True, False]
    """

    def __init__(
        self,
        k: int = 10,
        *,
        epsilon: Any = 1.0,
        delta: Any = None,
        rho: Any = None,
        bounds: Any = None,
        target_bounds: Any = None,
        classes: Any = None,
        account: Account | None = None,
        random_state: Any = None,
    ) -> None:
        self.k = k
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.bounds = bounds
        self.target_bounds = target_bounds
        self.classes = classes
        self.account = account
        self.random_state = random_state

    def _recipe(self, columns: int, names: Sequence[str] | None) -> _Recipe:
        kept = checks.whole(k=self.k)
        if kept > columns:
            raise InvalidParameter("k", kept, f"there are {columns} columns", f"Write k={columns} at most.")
        target = self._target_bounds() if self.classes is None else len(classes_of(self.classes))
        return _Recipe(self._box(columns, names), self._spending(), kept, target)

    def _target_bounds(self) -> Box:
        if self.target_bounds is None:
            hint = "Write target_bounds=(0, 100), or classes=[0, 1]."
            raise InvalidCall("fit", "the range or the classes of the target must be public", hint)
        return Box.of(self.target_bounds, 1, name="target_bounds")

    def _demand(self, X: Any, y: Any) -> None:
        same_rows(X, y)

    def _target(self, y: Any) -> Any:
        return targets(y) if self.classes is None else places(y, classes_of(self.classes))

    def _learn(self, recipe: _Recipe, X: Floats, y: Any, entropy: Entropy) -> None:
        scores, sensitivity = _scores(recipe, recipe.box.steps(X), y, entropy)
        remaining = list(range(X.shape[1]))
        chosen = []
        for _ in range(recipe.kept):
            chosen.append(recipe.choose(remaining, scores, sensitivity, entropy))
            remaining.remove(chosen[-1])
        self.chosen_: NDArray[np.int64] = np.array(chosen, dtype=np.int64)
        self.support_: NDArray[np.bool_] = np.isin(np.arange(X.shape[1]), self.chosen_)

    def get_support(self, indices: bool = False) -> NDArray[Any]:
        """Which columns are kept.

        Args:
            indices: Whether to give places instead of a truth value for each column.

        Returns:
            True or False for each column, or the places of those that are kept, in order.
        """
        check_is_fitted(self)
        return np.flatnonzero(self.support_) if indices else self.support_

    def transform(self, X: Any) -> Floats:
        """The columns that are kept, as they are.

        Args:
            X: Rows with the columns of the fit. A value that is not a finite number becomes the middle of its bounds.

        Returns:
            The same rows with fewer columns; values are not clamped. They are not private.

        >>> rows = np.random.default_rng(0).uniform(-1, 1, (2000, 5))
        >>> selector = SelectFeatures(2, epsilon=10, bounds=(-1, 1), target_bounds=(-2, 2))
        >>> selector.fit(rows, rows[:, 1] + rows[:, 3]).transform(rows[:3]).shape
        (3, 2)
        """
        rows = self._rows(X)
        kept, middle = rows[:, self.support_], self._box(rows.shape[1], self._names()).middle[self.support_]
        return np.where(np.isfinite(kept), kept, middle)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the columns that are kept.

        Args:
            input_features: The names of all columns. None takes those of the fit, or x0, x1 and so on.

        Returns:
            One name for each column kept, in their order.

        Raises:
            InvalidParameter: If the names are not as many as the columns, or not those of the fit.

        >>> rows = np.random.default_rng(0).uniform(-1, 1, (2000, 3))
        >>> selector = SelectFeatures(1, epsilon=10, bounds=(-1, 1), target_bounds=(-1, 1)).fit(rows, rows[:, 1])
        >>> selector.get_feature_names_out(["age", "income", "visits"]).tolist()
        ['income']
        """
        check_is_fitted(self)
        names = self._names() or [f"x{place}" for place in range(len(self.support_))]
        if input_features is not None:
            if len(input_features) != len(names) or (self._names() and list(input_features) != names):
                why = "input_features should have length equal to number of features, and the names of the fit"
                raise InvalidParameter("input_features", f"<{len(input_features)} names>", why, "Leave it out.")
            names = list(input_features)
        return np.array(names, dtype=object)[self.support_]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _scores(recipe: _Recipe, rows: Floats, y: Any, entropy: Entropy) -> tuple[list[int], int]:
    """A score for each column, and the most that one row can change any of them."""
    if isinstance(recipe.target, int):
        return _class_scores(rows, y, _shares(y, recipe.target, recipe.middle[0], entropy))
    known = np.isfinite(y)
    target = recipe.target.steps(y[known, None])
    return _number_scores(rows[known], target, _middle(recipe, target, entropy))


def _middle(recipe: _Recipe, target: Floats, entropy: Entropy) -> int:
    """The noisy mean of the target, in steps."""
    count, total = recipe.middle
    size = max(int(count.release([len(target)], entropy)[0]), 1)
    middle = round(int(total.release(totals(target, _STEP), entropy)[0]) / size)
    return min(max(middle, -_STEP), _STEP)


def _number_scores(rows: Floats, target: Floats, middle: int) -> tuple[list[int], int]:
    """|Σ_i z_i·(t_i − m)| for each column."""
    with_target, alone = _exact(products(np.column_stack([target, np.ones(len(target))]), rows, _STEP**2))
    scores = [abs(both - middle * total) for both, total in zip(with_target, alone, strict=True)]
    return scores, _STEP * _rounded(_STEP + abs(middle))


def _shares(y: NDArray[np.int64], classes: int, noise: Any, entropy: Entropy) -> list[int]:
    """The noisy share of each class, in steps."""
    counts = np.bincount(y[y >= 0], minlength=classes)
    # classes that are lost in the noise count as equally large
    sizes = [max(int(size), 0) + max(noise.accuracy(), 1.0) for size in noise.release(counts, entropy)]
    return [round(size / sum(sizes) * _STEP) for size in sizes]


def _class_scores(rows: Floats, y: Any, shares: list[int]) -> tuple[list[int], int]:
    """Σ_c |Σ_i z_i·(S·[y_i = c] − P_c)| for each column, where P_c / S is the share of class c."""
    scores = []
    for column in zip(*_exact(totals_by(y, len(shares), rows, _STEP)), strict=True):
        whole = sum(column)
        scores.append(sum(abs(_STEP * own - share * whole) for own, share in zip(column, shares, strict=True)))
    # a row of class c adds z·(S − P_c) to its own sum and −z·P_b to the sum of every other class b
    return scores, _STEP * _rounded(max(abs(_STEP - share) + sum(shares) - share for share in shares))


def _rounded(size: int) -> int:
    """Not less, and one of a few numbers, so that tables of the noise are used again; positive."""
    return max(-(-size // _COARSE), 1) * _COARSE


def _exact(sums: NDArray[np.int64]) -> list[list[int]]:
    """As Python integers, whose products cannot overflow."""
    whole: list[list[int]] = sums.tolist()
    return whole
