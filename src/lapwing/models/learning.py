"""What can be learnt privately: whatever a finite class of concepts can learn at all, from a few more rows."""

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
    """Rows whose entry in one column is above a cut, or those where it is not.

    >>> Threshold(0, 18.0).cut
    18.0
    """

    column: int
    cut: float
    above: bool = True

    def __call__(self, X: Floats) -> NDArray[np.bool_]:
        return np.asarray((X[:, self.column] > self.cut) == self.above)


@dataclass(frozen=True, slots=True)
class Conjunction:
    """Rows that have 1 in every one of these columns.

    >>> Conjunction((0, 2)).columns
    (0, 2)
    """

    columns: tuple[int, ...]

    def __call__(self, X: Floats) -> NDArray[np.bool_]:
        return np.asarray((X[:, list(self.columns)] == 1).all(axis=1))


@dataclass(frozen=True, slots=True)
class Parity:
    """Rows that have an odd number of ones in these columns.

    >>> Parity((0, 2)).columns
    (0, 2)
    """

    columns: tuple[int, ...]

    def __call__(self, X: Floats) -> NDArray[np.bool_]:
        return np.asarray((X[:, list(self.columns)] == 1).sum(axis=1) % 2 == 1)


def thresholds(columns: int, cuts: Sequence[float]) -> tuple[Threshold, ...]:
    """A cut in one of so many columns, in both directions.

    >>> len(thresholds(3, [0.25, 0.5]))
    12
    """
    return tuple(
        Threshold(column, float(cut), above) for column in range(columns) for cut in cuts for above in (True, False)
    )


def conjunctions(columns: int) -> tuple[Conjunction, ...]:
    """Of every set of so many columns: 2^columns concepts.

    >>> len(conjunctions(3))
    8
    """
    return tuple(map(Conjunction, _subsets(columns)))


def parities(columns: int) -> tuple[Parity, ...]:
    """Of every set of so many columns. `ParityLearner` learns the same without going through them all.

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
    """The concept of a finite, public class that makes (nearly) the fewest mistakes.

    A concept is a function of a table that says of each row, by itself, whether it belongs to the second of the two
    classes. There may be any number of them that one has the time to try.

    Privacy: pure ε, add_remove, one row.
    Accuracy: `occam_sample_bound` and `agnostic_sample_bound`, whatever the concepts are.
    Proof: learning.md

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
            why = "must be functions of a table, one at least"
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
        """What the concept says of every row."""
        rows = self._rows(X)
        return np.asarray(self.classes_[_said(self.concept_, rows).astype(int)])


def occam_sample_bound(concepts: int, *, epsilon: Number, error: Number, failure: Number) -> int:
    """Rows that suffice if they are drawn at random and one of so many concepts makes no mistake.

    The answer then errs less than `error`, except with probability `failure`. For ε → ∞ this is Occam's razor without
    privacy: ln(concepts/failure)/−ln(1 − error).

    >>> [occam_sample_bound(1024, epsilon=epsilon, error=0.1, failure=0.05) for epsilon in (0.1, 1, 100)]
    [1039, 153, 95]
    """
    many = checks.whole(concepts=concepts)
    return rows_to_rule_out(math.log(many), checks.positive(epsilon=epsilon), error, failure)


def agnostic_sample_bound(concepts: int, *, epsilon: Number, error: Number, failure: Number) -> int:
    """Rows that suffice, whatever the labels are, to err at most `error` more often than the best concept.

    A third of the error for every concept's luck on the sample, twice, and a third for the choice.

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
