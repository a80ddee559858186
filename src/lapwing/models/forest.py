"""Forests: trees that are boosted on what the earlier ones leave unexplained, or random trees that vote.

    number of rows (noisy) → few: one tree that votes · many: a tree, its noisy residuals in the leaves, the next tree

Residuals are whole numbers and a function of a row and of published trees alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lapwing import checks
from lapwing.models.account import Account
from lapwing.models.columns import Box, Floats, classes_of
from lapwing.models.estimator import PrivateClassifier
from lapwing.models.spending import Spending
from lapwing.models.trees import (
    CUTS,
    Cells,
    Integers,
    Splits,
    below_cuts,
    cells_of,
    choice,
    chosen_splits,
    depth_of,
    labels_of,
    leaves_of,
    random_levels,
    shares,
    sums_by,
    votes,
)
from lapwing.noise import Entropy
from lapwing.privacy import Loss
from lapwing.privacy.quotes import Line

WHOLE = 1 << 10
"""A residual of 1 in steps."""
LARGEST_RESIDUAL = 5 * WHOLE // 8
"""A row that is predicted wrongly counts no more than this: outliers would cost noise for all."""
SCORE = 1 << 8
"""The log-odds 1 in steps."""
LARGEST_VALUE = 3 * SCORE
_EXPONENTIALS = np.rint(np.exp(np.arange(16 * SCORE + 1) / -SCORE) * 2**20).astype(np.int64)
COARSE = np.array([CUTS.index(part) for part in (8, 16, 32, 48, 56)])
"""Cuts to choose from where there is little to choose by."""
MOST_VOTERS = 16
"""With more classes, the pairs of labels would be too many to choose from."""
MOST_TREES = 60
RANDOM_TREES = 10
RANDOM_DEPTH = 4


@dataclass(frozen=True, slots=True)
class Tree:
    """Levels of splits, and what a leaf adds to the score of each class, in steps."""

    levels: tuple[Splits, ...]
    values: Integers

    def scores(self, cells: Cells) -> Integers:
        """What each row gets."""
        answers: Integers = self.values[leaves_of(self.levels, cells)]
        return answers


@dataclass(frozen=True, slots=True)
class Plan:
    """What is grown once the noisy number of rows is known."""

    trees: int
    depth: int
    kind: Literal["boosted", "votes", "random"] = "boosted"

    @classmethod
    def of(cls, signal: float, classes: int, trees: int | None, depth: int | None) -> Plan:
        """For so many rows times epsilon. The constants were tuned on the tables of bench/models."""
        if trees is None and classes <= MOST_VOTERS and signal < 600:
            levels = 1 if signal < 300 else 2
            return cls(1, depth or levels + (classes > 2), "votes")
        if trees is None and classes > 2 and signal < 3000:  # residuals of many classes would drown
            return cls(RANDOM_TREES, depth or RANDOM_DEPTH, "random")
        levels = depth or int(np.searchsorted((600, 10_000, 100_000), signal, side="right")) + 1
        return cls(trees or min(MOST_TREES, max(1, round(math.sqrt(max(signal, 1)) / 4 / levels))), levels)


def residuals(y: Integers, scores: Integers) -> Integers:
    """The class of a row minus its predicted probabilities, in steps: class × row.

    For two classes only the second one's. In size one is at most `LARGEST_RESIDUAL`, and for more classes all of a row
    together at most twice as much. Every number is whole, so a row's are the same wherever it stands in the table.
    """
    rows, classes = scores.shape
    behind = np.minimum(scores.max(axis=1, keepdims=True) - scores, len(_EXPONENTIALS) - 1)
    weights = _EXPONENTIALS[behind]
    predicted = WHOLE * weights // weights.sum(axis=1, keepdims=True)
    if classes == 2:
        second: Integers = np.clip(WHOLE * y - predicted[:, 1], -LARGEST_RESIDUAL, LARGEST_RESIDUAL)
        return second[None, :]
    missing = WHOLE - predicted[np.arange(rows), y]
    predicted[np.arange(rows), y] -= WHOLE
    sizes = np.abs(predicted.T) * np.minimum(missing, LARGEST_RESIDUAL) // np.maximum(missing, 1)
    return np.asarray(np.sign(-predicted.T) * sizes)


def whole(numbers: Floats) -> Integers:
    """Rounded."""
    rounded: Integers = np.rint(numbers).astype(np.int64)
    return rounded


def residual_sensitivity(classes: int) -> int:
    """How much the sums of residuals change with one row, all classes together."""
    return LARGEST_RESIDUAL if classes == 2 else 2 * LARGEST_RESIDUAL


def votes_of_labels(left: Integers, right: Integers) -> Integers:
    """How many rows are right with each pair of labels of the two sides of a cut; labels come last."""
    return np.moveaxis(left[:, None] + right[None], (0, 1), (-2, -1))


def imbalance(left: Integers, right: Integers) -> Integers:
    """How far the residuals on both sides of a cut are from cancelling out, all classes together."""
    size: Integers = np.abs(left).sum(axis=0) + np.abs(right).sum(axis=0)
    return size


def voting_tree(spending: Spending, depth: int, cells: Cells, y: Integers, classes: int, entropy: Entropy) -> Tree:
    """One tree for few rows: the last splits are chosen together with the labels of their leaves, without counts."""
    part, pairs = spending.split(*[1] * depth)[0], classes**2
    nodes, labels = np.zeros(len(y), dtype=np.int64), labels_of(y, classes)
    levels, given = [], nodes
    for level in range(depth):
        sides = [side[..., COARSE] for side in below_cuts(cells, nodes, 1 << level, labels)]
        is_last = level == depth - 1
        scores = votes_of_labels(*sides).reshape(1 << level, len(cells), -1) if is_last else votes(*sides)
        mechanism = choice(part, sensitivity=1, candidates=scores[0].size, monotone=True)
        splits = chosen_splits(mechanism, scores, entropy)
        cuts, given = np.divmod(splits.cuts, pairs if is_last else 1)
        levels.append(Splits(splits.columns, COARSE[cuts]))
        nodes = levels[-1].descend(cells, nodes)
    leaves = np.stack(np.divmod(given, classes), axis=1).ravel()
    return Tree(tuple(levels), SCORE * np.eye(classes, dtype=np.int64)[leaves])


def boosted_trees(
    spending: Spending, plan: Plan, cells: Cells, y: Integers, classes: int, entropy: Entropy
) -> Iterator[Tree]:
    """First the noisy shares of the classes, then tree after tree on the residuals of all before."""
    prior, rest = spending.split(1, 24)
    for_splits, for_sums, for_counts = rest.split(*[1] * plan.trees)[0].split(10, 7, 3)
    sensitivity, leaves = residual_sensitivity(classes), 1 << plan.depth
    split = choice(
        for_splits.split(*[1] * plan.depth)[0],
        sensitivity=sensitivity,
        candidates=len(cells) * len(CUTS),
        monotone=False,
    )
    kept = 1 if classes == 2 else classes
    sums = for_sums.additive(l1=sensitivity, l2_squared=sensitivity**2, dimensions=leaves * kept)
    counts = for_counts.additive(l1=1, l2_squared=1, dimensions=leaves)
    first = _prior(prior, y, classes, entropy)
    yield first
    scores = np.repeat(first.values, len(y), axis=0)
    for _ in range(plan.trees):
        rows, nodes, levels = residuals(y, scores), np.zeros(len(y), dtype=np.int64), []
        weights = list(rows.astype(float))
        for level in range(plan.depth):
            scores_of_cuts = imbalance(*below_cuts(cells, nodes, 1 << level, weights))
            levels.append(chosen_splits(split, scores_of_cuts, entropy))
            nodes = levels[-1].descend(cells, nodes)
        total = sums.release(sums_by(nodes, leaves, weights).ravel(), entropy).reshape(kept, leaves).T / WHOLE
        number = counts.release(np.bincount(nodes, minlength=leaves), entropy)
        values = _values(total, number, math.sqrt(sums.variance) / WHOLE, classes, plan.trees)
        scores += values[nodes]
        yield Tree(tuple(levels), values)


def _prior(part: Spending, y: Integers, classes: int, entropy: Entropy) -> Tree:
    noise = part.additive(l1=1, l2_squared=1, dimensions=classes)
    noisy = noise.release(np.bincount(y, minlength=classes), entropy).astype(float)
    odds = np.log(shares(noisy, math.sqrt(noise.variance) + 1))
    return Tree((), whole(SCORE * odds)[None, :])


def _values(total: Floats, number: Integers, noise: float, classes: int, trees: int) -> Integers:
    """What a leaf adds to the scores: a part of a Newton step, less where noise is large.

    Two classes move apart by half a step each. For more the step is short if other trees can still add to it.
    """
    length = 0.5 if classes == 2 else min(1.0, 0.5 + 1 / trees)
    curvature = np.maximum(number.astype(float), 0.0) * max(classes - 1, 1) / classes**2
    steps = length * total / (curvature + noise)[:, None]
    if classes == 2:
        steps = np.concatenate([-steps, steps], axis=1)
    return whole(np.clip(SCORE * steps, -LARGEST_VALUE, LARGEST_VALUE))


@dataclass(frozen=True, slots=True)
class _Recipe:
    box: Box
    spending: Spending
    classes: int
    trees: int | None
    depth: int | None
    looks: bool
    """Whether splits look at the rows."""

    @property
    def loss(self) -> Loss:
        return self.spending.stated

    @property
    def parts(self) -> tuple[Spending, Spending]:
        """For the number of rows, and for the trees."""
        rows, trees = self.spending.split(1, 24)
        return rows, trees

    @property
    def rows(self) -> Any:
        return self.parts[0].additive(l1=1, l2_squared=1, dimensions=1)

    @property
    def leaves(self) -> Any:
        """Of random trees: a row lies in one leaf of each."""
        trees, depth = self.trees or RANDOM_TREES, self.depth or RANDOM_DEPTH
        return self.spending.additive(l1=trees, l2_squared=trees, dimensions=trees * self.classes << depth)

    @property
    def lines(self) -> Sequence[Line]:
        if not self.looks:
            return (Line("the classes in each leaf of each tree", self.spending.loss, self.leaves.accuracy(), "rows"),)
        rows, trees = self.parts
        return (
            Line("the number of rows", rows.loss, self.rows.accuracy(), "rows"),
            Line("the splits and the leaves of the trees", trees.loss),
        )


class RandomForest(PrivateClassifier[_Recipe]):
    """Several trees that decide together.

    Privacy: epsilon pure, or (epsilon, delta), or rho zero-concentrated; add_remove, one row.
    Accuracy: depends on rows × epsilon alone, which should be some hundreds at least.
    Proof: trees.md

    Args:
        method: "boosted" chooses every split privately, and each tree learns what the earlier ones leave unexplained.
            "random" draws all splits without looking and spends everything on class counts in the leaves (Jagannathan,
            Pillaipakkamnatt and Wright 2012).
        n_estimators: How many trees to grow; the budget is divided between them. None means 10 for "random". For
            "boosted" a noisy number of rows then decides: one tree that votes for few rows, random trees for some more
            rows of many classes, and more and deeper boosted trees for many rows.
        max_depth: The number of levels of each tree, at most 12. None lets the noisy number of rows decide, or means 4
            for "random".

    Attributes:
        estimators_: The trees.

    >>> ages, member = np.arange(1000).reshape(-1, 1) % 100, np.arange(1000) % 100 >= 50
    >>> forest = RandomForest(epsilon=1, bounds=(0, 100), classes=[False, True]).fit(ages, member)
    >>> forest.predict([[20], [80]]).tolist()
    [False, True]
    """

    def __init__(
        self,
        *,
        method: Literal["boosted", "random"] = "boosted",
        n_estimators: Any = None,
        max_depth: Any = None,
        epsilon: Any = 1.0,
        delta: Any = None,
        rho: Any = None,
        bounds: Any = None,
        classes: Any = None,
        account: Account | None = None,
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.bounds = bounds
        self.classes = classes
        self.account = account
        self.random_state = random_state

    def _recipe(self, columns: int, names: Sequence[str] | None) -> _Recipe:
        return _Recipe(
            self._box(columns, names),
            self._spending(),
            len(classes_of(self.classes)),
            None if self.n_estimators is None else checks.whole(n_estimators=self.n_estimators),
            None if self.max_depth is None else depth_of(self.max_depth),
            checks.one_of(("boosted", "random"), method=self.method) == "boosted",
        )

    def _learn(self, recipe: _Recipe, X: Floats, y: Integers, entropy: Entropy) -> None:
        inside = y >= 0
        cells, y = cells_of(recipe.box, X[inside]), y[inside]
        self.estimators_ = (_looking if recipe.looks else _random)(recipe, cells, y, entropy)

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class.

        Args:
            X: Rows with the columns of the fit. Values outside the bounds are clamped.

        Returns:
            A row for each row and a column for each class, in the order of `classes_`.

        >>> ages, member = np.arange(1000).reshape(-1, 1) % 100, np.arange(1000) % 100 >= 50
        >>> forest = RandomForest(epsilon=1, bounds=(0, 100), classes=[False, True]).fit(ages, member)
        >>> forest.predict_proba([[5], [95]]).shape
        (2, 2)
        """
        odds = np.exp(self._scores(X))
        probabilities: Floats = odds / odds.sum(axis=1, keepdims=True)
        return probabilities

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row.

        Args:
            X: Rows with the columns of the fit. Values outside the bounds are clamped.

        Returns:
            A label for each row. Predicting costs nothing, but the labels describe these rows.
        """
        places = self._scores(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[places]
        return labels

    def _scores(self, X: Any) -> Floats:
        """How far each class lies behind the best one."""
        rows = self._rows(X)
        cells = cells_of(self._box(rows.shape[1], self._names()), rows)
        total = np.zeros((len(rows), len(self.classes_)), dtype=np.int64)
        for tree in self.estimators_:
            total += tree.scores(cells)
        return np.asarray((total - total.max(axis=1, keepdims=True)) / SCORE)


def _looking(recipe: _Recipe, cells: Cells, y: Integers, entropy: Entropy) -> list[Tree]:
    rows = float(recipe.rows.release([len(y)], entropy)[0])
    spending = recipe.parts[1]
    plan = Plan.of(rows * float(recipe.spending.epsilon), recipe.classes, recipe.trees, recipe.depth)
    if plan.kind == "random":
        return _random(replace(recipe, spending=spending, trees=plan.trees, depth=plan.depth), cells, y, entropy)
    if plan.kind == "votes":
        return [voting_tree(spending, plan.depth, cells, y, recipe.classes, entropy)]
    return list(boosted_trees(spending, plan, cells, y, recipe.classes, entropy))


def _random(recipe: _Recipe, cells: Cells, y: Integers, entropy: Entropy) -> list[Tree]:
    depth, classes = recipe.depth or RANDOM_DEPTH, recipe.classes
    drawn = [random_levels(depth, len(cells), entropy) for _ in range(recipe.trees or RANDOM_TREES)]
    counts = [np.bincount(leaves_of(levels, cells) * classes + y, minlength=classes << depth) for levels in drawn]
    noisy = recipe.leaves.release(np.concatenate(counts), entropy).astype(float)
    odds = np.log(shares(noisy.reshape(len(drawn), -1, classes), math.sqrt(recipe.leaves.variance) + 1)) / len(drawn)
    return [Tree(levels, whole(SCORE * of_tree)) for levels, of_tree in zip(drawn, odds, strict=True)]
