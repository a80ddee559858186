"""PAC learning with privacy: every finite class of concepts can be learnt privately, from a few more rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidParameter
from lapwing.mechanisms import PermuteAndFlip
from lapwing.models.account import Account
from lapwing.models.columns import Floats, classes_of
from lapwing.models.estimator import PrivateClassifier
from lapwing.noise import Entropy
from lapwing.privacy import Loss
from lapwing.privacy.quotes import Line

Concept = Callable[[Floats], NDArray[np.bool_]]
"""Says of each row of a table whether it belongs; of each by itself, and of whatever it may hold."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """Rows whose entry in one column is above a cut, or rows where it is not.

    Args:
        column: The place of the column.
        cut: The value to compare with.
        above: Whether rows belong if they lie above the cut; otherwise those at or below it belong.

    >>> Threshold(0, 18.0)(np.array([[17.0], [35.0]])).tolist()
    [False, True]
    """

    column: int
    cut: float
    above: bool = True

    def __call__(self, X: Floats) -> NDArray[np.bool_]:
        return np.asarray((X[:, self.column] > self.cut) == self.above)


@dataclass(frozen=True, slots=True)
class Conjunction:
    """Rows that have 1 in each of these columns.

    Args:
        columns: The places of the columns. All rows belong if there are none.

    >>> Conjunction((0, 2))(np.array([[1, 0, 1], [1, 1, 0]])).tolist()
    [True, False]
    """

    columns: tuple[int, ...]

    def __call__(self, X: Floats) -> NDArray[np.bool_]:
        return np.asarray((X[:, list(self.columns)] == 1).all(axis=1))


@dataclass(frozen=True, slots=True)
class Parity:
    """Rows that have an odd number of ones in these columns.

    Args:
        columns: The places of the columns. No row belongs if there are none.

    >>> Parity((0, 2))(np.array([[1, 0, 1], [1, 1, 0]])).tolist()
    [False, True]
    """

    columns: tuple[int, ...]

    def __call__(self, X: Floats) -> NDArray[np.bool_]:
        return np.asarray((X[:, list(self.columns)] == 1).sum(axis=1) % 2 == 1)


def thresholds(columns: int, cuts: Sequence[float]) -> tuple[Threshold, ...]:
    """All thresholds at given cuts of any column, in both directions.

    Args:
        columns: How many columns there are.
        cuts: Public values to cut at, the same for all columns.

    Returns:
        Two concepts for each column and cut.

    >>> len(thresholds(3, [0.25, 0.5]))
    12
    """
    return tuple(
        Threshold(column, float(cut), above) for column in range(columns) for cut in cuts for above in (True, False)
    )


def conjunctions(columns: int) -> tuple[Conjunction, ...]:
    """The conjunction of every set of columns.

    Args:
        columns: How many columns there are.

    Returns:
        2^columns concepts.

    Raises:
        InvalidParameter: If columns is not a whole number from 1 on.

    >>> len(conjunctions(3))
    8
    """
    return tuple(map(Conjunction, _subsets(columns)))


def parities(columns: int) -> tuple[Parity, ...]:
    """The parity of every set of columns. `ParityLearner` learns the same without trying them all.

    Args:
        columns: How many columns there are.

    Returns:
        2^columns concepts.

    Raises:
        InvalidParameter: If columns is not a whole number from 1 on.

    >>> len(parities(3))
    8
    """
    return tuple(map(Parity, _subsets(columns)))


@dataclass(frozen=True, slots=True)
class _Recipe:
    concepts: tuple[Concept, ...]
    choose: PermuteAndFlip

    @property
    def loss(self) -> Loss:
        return self.choose.privacy_loss()

    @property
    def lines(self) -> Sequence[Line]:
        what = f"one of {len(self.concepts)} concepts"
        return (Line(what, self.loss, self.choose.accuracy(), "mistakes more than the best"),)


class OccamLearner(PrivateClassifier[_Recipe]):
    """Chooses the concept of a finite, public class that makes (nearly) the fewest mistakes.

    Privacy: pure ε, add_remove, one row.
    Accuracy: `occam_sample_bound` and `agnostic_sample_bound`, whatever the concepts are.
    Proof: learning.md

    Args:
        concepts: Functions of a table that say of each row, by itself, whether it belongs to the second class. They are
            public and required. Every one of them is tried, so their number costs time, but no privacy.
        classes: The two labels, as a public pair. Rows with another label are left out.

    Attributes:
        concept_: The chosen concept.

    >>> X = np.arange(200).reshape(-1, 1) / 200
    >>> learner = OccamLearner(concepts=thresholds(1, [0.25, 0.5, 0.75]), random_state=1).fit(X, X[:, 0] > 0.5)
    >>> learner.concept_
    Threshold(column=0, cut=0.5, above=True)
    """

    bounds: Any = None

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        concepts: Any = None,
        classes: Any = (0, 1),
        account: Account | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.concepts = concepts
        self.classes = classes
        self.account = account
        self.random_state = random_state

    def _recipe(self, columns: int, names: Sequence[str] | None) -> _Recipe:
        check_binary(self.classes)
        concepts = tuple(self.concepts) if self.concepts is not None else ()
        if not concepts or not all(map(callable, concepts)):
            why = "must be one or more functions of a table"
            raise InvalidParameter("concepts", f"<{len(concepts)}>", why, "Write concepts=thresholds(3, [0.5]).")
        spending = self._spending()
        choose = PermuteAndFlip(
            epsilon=spending.size, sensitivity=1, candidates=len(concepts), monotone=True, unit=spending.stated.unit
        )
        return _Recipe(concepts, choose)

    def _learn(self, recipe: _Recipe, X: Floats, y: NDArray[np.int64], entropy: Entropy) -> None:
        known = y >= 0
        rows, second = X[known], y[known] == 1
        scores = [-int(np.count_nonzero(_said(concept, rows) != second)) for concept in recipe.concepts]
        self.concept_ = recipe.concepts[recipe.choose.release(scores, entropy)]

    def predict(self, X: Any) -> NDArray[Any]:
        """What the concept says of each row.

        Args:
            X: Rows with the columns of the fit.

        Returns:
            A label for each row. Predicting costs nothing, but the labels describe these rows.

        >>> X = np.arange(200).reshape(-1, 1) / 200
        >>> learner = OccamLearner(concepts=thresholds(1, [0.25, 0.5, 0.75]), random_state=1).fit(X, X[:, 0] > 0.5)
        >>> learner.predict([[0.1], [0.9]]).tolist()
        [0, 1]
        """
        rows = self._rows(X)
        return np.asarray(self.classes_[_said(self.concept_, rows).astype(int)])


def occam_sample_bound(concepts: int, *, epsilon: Number, error: Number, failure: Number) -> int:
    """How many rows suffice to learn privately if one of the concepts makes no mistake.

    The rows must be drawn at random. For ε → ∞ this is Occam's razor without privacy:
    ln(concepts/failure)/−ln(1 − error).

    Args:
        concepts: How many concepts there are.
        epsilon: What `OccamLearner` may spend, as ε.
        error: The chosen concept shall be wrong with at most this probability on a new row.
        failure: The probability that it is wrong more often.

    Returns:
        A number of rows.

    Raises:
        InvalidParameter: If concepts is not a whole number from 1 on, if epsilon is not positive, or if error or
            failure is not above 0 and below 1.

    >>> [occam_sample_bound(1024, epsilon=epsilon, error=0.1, failure=0.05) for epsilon in (0.1, 1, 100)]
    [1039, 153, 95]
    """
    many = checks.whole(concepts=concepts)
    return rows_to_rule_out(math.log(many), checks.positive(epsilon=epsilon), error, failure)


def agnostic_sample_bound(concepts: int, *, epsilon: Number, error: Number, failure: Number) -> int:
    """How many rows suffice to do nearly as well as the best concept, whatever the labels are.

    The rows must be drawn at random. Two thirds of the error allow for the concepts' luck on the sample, and one
    third for the private choice.

    Args:
        concepts: How many concepts there are.
        epsilon: What `OccamLearner` may spend, as ε.
        error: How much more often than the best concept the chosen one may be wrong on a new row.
        failure: The probability that it is wrong more often.

    Returns:
        A number of rows.

    Raises:
        InvalidParameter: If concepts is not a whole number from 1 on, if epsilon is not positive, or if error or
            failure is not above 0 and below 1.

    >>> small, large = (agnostic_sample_bound(8, epsilon=1, error=error, failure=0.05) for error in (0.1, 0.2))
    >>> small > large
    True
    """
    many = math.log(checks.whole(concepts=concepts))
    level, off = checks.positive(epsilon=epsilon), float(checks.probability(error=error))
    risk = float(checks.probability(failure=failure))
    luck = 9 * (many + math.log(4 / risk)) / (2 * off**2)
    choosing = 3 * (many + math.log(2 / risk)) / (level * off)
    return math.ceil(max(luck, choosing))


def rows_to_rule_out(log_concepts: float, epsilon: Fraction, error: Number, failure: Number, *, share: int = 1) -> int:
    """The least n with concepts·(1 − error·(1 − e^−ε)/share)^n ≤ failure."""
    rate = float(checks.probability(error=error)) * -math.expm1(-epsilon) / share
    return max(0, math.ceil((log_concepts - math.log(checks.probability(failure=failure))) / -math.log1p(-rate)))


def check_binary(classes: Any) -> None:
    """Concepts divide in two."""
    if len(classes_of(classes)) != 2:
        raise InvalidParameter("classes", classes, "must be two", "Write classes=[0, 1].")


def _said(concept: Concept, rows: Floats) -> NDArray[np.bool_]:
    with np.errstate(all="ignore"):  # a warning would depend on a record
        return np.asarray(concept(rows), dtype=bool).reshape(len(rows))


def _subsets(columns: int) -> list[tuple[int, ...]]:
    listed = range(checks.whole(columns=columns))
    return list(chain.from_iterable(combinations(listed, size) for size in range(columns + 1)))
