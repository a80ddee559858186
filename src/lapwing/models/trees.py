"""Decision trees: splits at public cuts of the bounds, chosen privately or at random, and noisy counts in the leaves.

All rows go down level by level. A row is known only by the cell between public cuts that each of its entries lies in;
nodes of one level hold different rows, so that a level costs as much as one of its nodes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lapwing import checks
from lapwing.errors import InvalidParameter
from lapwing.mechanisms import Exponential, PermuteAndFlip
from lapwing.models.account import Account
from lapwing.models.columns import BITS, Box, Floats, classes_of
from lapwing.models.estimator import PrivateClassifier, least_noise
from lapwing.models.spending import Spending
from lapwing.noise import Entropy, uniform_below
from lapwing.privacy import Loss
from lapwing.privacy.quotes import Line

Integers = NDArray[np.int64]
Cells = NDArray[np.int16]

PARTS = 64
"""Cuts lie at 64ths of the width of the bounds."""
CUTS = (1, 2, 3, *range(4, 62, 2), 61, 62, 63)
"""Denser towards both ends, where skewed columns have their rows."""
LARGEST_DEPTH = 12
DEEPER = (300, 3_000, 10_000, 100_000)
"""From so many rows times epsilon on, a tree is one level deeper, if nobody says how deep."""
BLIND_DEPTH = 6
"""Of a tree that is drawn without looking, if nobody says how deep."""


@dataclass(frozen=True, slots=True)
class Splits:
    """One level of a tree: the column of every node, and the cut above which a row goes right."""

    columns: Integers
    cuts: Integers

    def descend(self, cells: Cells, nodes: Integers) -> Integers:
        """The node of the next level for every row; a row has exactly one."""
        entries = cells[self.columns[nodes], np.arange(len(nodes))]
        return 2 * nodes + (entries > self.cuts[nodes])


def cells_of(box: Box, X: Floats) -> Cells:
    """For every column and row how many cuts lie below the entry; what is no number counts as the middle."""
    edges = np.array(CUTS, dtype=float) * ((2 << BITS) // PARTS) - (1 << BITS)
    return np.searchsorted(edges, np.ascontiguousarray(box.steps(X).T)).astype(np.int16)


def leaves_of(levels: Sequence[Splits], cells: Cells) -> Integers:
    """The leaf of every row."""
    nodes = np.zeros(cells.shape[1], dtype=np.int64)
    for splits in levels:
        nodes = splits.descend(cells, nodes)
    return nodes


def sums_by(nodes: Integers, count: int, weights: Sequence[Any]) -> Integers:
    """The sum of each weight over the rows of every node; doubles hold it exactly, for it stays below 2^53."""
    sums = [np.bincount(nodes, weights=weight, minlength=count) for weight in weights]
    return np.array(sums).reshape(len(weights), count).astype(np.int64)


def below_cuts(cells: Cells, nodes: Integers, count: int, weights: Sequence[Any]) -> tuple[Integers, Integers]:
    """Sums of each weight over the rows of a node left and right of every cut: weight × node × column × cut."""
    width = len(CUTS) + 1
    rows = [sums_by(nodes * width + column, count * width, weights) for column in cells]
    sums = np.stack(rows, axis=1).reshape(len(weights), len(cells), count, width).transpose(0, 2, 1, 3)
    left = sums.cumsum(axis=3)
    return left[..., :-1], left[..., -1:] - left[..., :-1]


def labels_of(y: Integers, classes: int) -> list[Floats]:
    """For each class 1 where a row has it."""
    return [(y == place).astype(float) for place in range(classes)]


def votes(left: Integers, right: Integers) -> Integers:
    """How many rows are right if both sides of a cut get their commonest class; from counts with the class first."""
    best: Integers = left.max(axis=0) + right.max(axis=0)
    return best


def choice(part: Spending, *, sensitivity: int, candidates: int, monotone: bool) -> PermuteAndFlip | Exponential:
    """The better private choice for this currency, among candidates with whole scores."""
    kind = Exponential if part.concentrated else PermuteAndFlip
    return kind(
        epsilon=part.epsilon,
        sensitivity=sensitivity,
        candidates=candidates,
        monotone=monotone,
        granularity=1,
        unit=part.stated.unit,
    )


def chosen_splits(mechanism: PermuteAndFlip | Exponential, scores: Integers, entropy: Entropy) -> Splits:
    """One column and cut for every node, by scores of node × column × cut."""
    picks = [int(mechanism.release(of_node.ravel(), entropy)) for of_node in scores]
    columns, cuts = np.divmod(np.array(picks, dtype=np.int64), scores.shape[2])
    return Splits(columns, cuts)


def random_levels(depth: int, columns: int, entropy: Entropy) -> tuple[Splits, ...]:
    """Splits that are drawn without looking at a row."""

    def draw(below: int, size: int) -> Integers:
        return np.asarray(uniform_below(below, size, entropy), dtype=np.int64)

    return tuple(Splits(draw(columns, 1 << level), draw(len(CUTS), 1 << level)) for level in range(depth))


def shares(counts: Floats, noise: float) -> Floats:
    """Probabilities from noisy counts (classes last), drawn towards equality as far as noise could have made them."""
    raised = np.maximum(counts, 0.0) + noise
    probabilities: Floats = raised / raised.sum(axis=-1, keepdims=True)
    return probabilities


@dataclass(frozen=True, slots=True)
class _Recipe:
    box: Box
    spending: Spending
    classes: int
    depth: int
    """0 if a noisy number of rows decides."""
    looks: bool
    """Whether splits look at the rows."""

    @property
    def loss(self) -> Loss:
        return self.spending.stated

    @property
    def parts(self) -> tuple[Spending, Spending]:
        """For the number of rows, if it decides, and for the tree."""
        rows, tree = self.spending.split(1, 24)
        return rows, tree if self.depth == 0 else self.spending

    @property
    def rows(self) -> Any:
        return self.parts[0].additive(l1=1, l2_squared=1, dimensions=1)

    def decided(self, rows: float) -> _Recipe:
        """What is left to do once the number of rows is known; to tell many classes apart takes more levels."""
        levels = 1 + int(np.searchsorted(DEEPER, rows * float(self.spending.epsilon), side="right"))
        needed = (max(self.classes, 2) - 1).bit_length() - 1
        return replace(self, spending=self.parts[1], depth=levels + min(levels, needed))

    @property
    def split(self) -> PermuteAndFlip | Exponential:
        part = self.spending.split(1, *[Fraction(1, self.depth)] * self.depth)[1]
        return choice(part, sensitivity=1, candidates=len(self.box.bounds) * len(CUTS), monotone=True)

    @property
    def leaves(self) -> Any:
        part = self.spending.split(1, 1)[0] if self.looks else self.spending
        return part.additive(l1=1, l2_squared=1, dimensions=self.classes << self.depth)

    @property
    def error(self) -> float:
        """Of one count in a leaf; what the splits cost in accuracy is not foretold."""
        return float(self.leaves.accuracy())

    @property
    def lines(self) -> Sequence[Line]:
        rows, tree = self.parts
        known = Line("the number of rows", rows.loss, self.rows.accuracy(), "rows")
        splits, leaves = tree.split(1, 1) if self.looks else (None, tree)
        counts = leaves.additive(l1=1, l2_squared=1, dimensions=1)
        return (
            *([known] if self.depth == 0 else []),
            *([Line("the splits", splits.loss)] if splits else []),
            Line("the classes in each leaf", leaves.loss, counts.accuracy(), "rows"),
        )


class DecisionTree(PrivateClassifier[_Recipe]):
    """One tree of a fixed depth, with noisy class counts in its leaves.

    Privacy: epsilon pure, or (epsilon, delta), or rho zero-concentrated; add_remove, one row.
    Accuracy: a count in a leaf is off by about 2 / epsilon ("id3") or 1 / epsilon; leaves with fewer rows are guesses.
    Use `RandomForest`, which is better, unless people must look at one tree.
    Proof: trees.md

    Args:
        method: "id3" chooses every split privately, by how many rows are right if both sides get their commonest class
            (the operator Max of Friedman and Schuster 2010). "random" draws the splits without looking and spends
            everything on the leaves (Jagannathan, Pillaipakkamnatt and Wright 2012).
        max_depth: The number of levels, at most 12. None lets a noisy number of rows decide ("id3"), or means 6
            ("random").

    Attributes:
        levels_: The splits, level by level.
        counts_: The noisy number of rows of each class in each leaf.

    >>> ages, member = np.arange(1000).reshape(-1, 1) % 100, np.arange(1000) % 100 >= 50
    >>> tree = DecisionTree(max_depth=1, epsilon=10, bounds=(0, 100), classes=[False, True]).fit(ages, member)
    >>> tree.predict([[20], [80]]).tolist()
    [False, True]
    """

    def __init__(
        self,
        *,
        method: Literal["id3", "random"] = "id3",
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
        self.max_depth = max_depth
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.bounds = bounds
        self.classes = classes
        self.account = account
        self.random_state = random_state

    def _recipe(self, columns: int, names: Sequence[str] | None) -> _Recipe:
        looks = checks.one_of(("id3", "random"), method=self.method) == "id3"
        box, classes = self._box(columns, names), len(classes_of(self.classes))
        usual = 0 if looks else BLIND_DEPTH
        depth = usual if self.max_depth is None else depth_of(self.max_depth)
        if looks:
            return _Recipe(box, self._spending(), classes, depth, looks)
        return least_noise(self, lambda spending: _Recipe(box, spending, classes, depth, looks))

    def _learn(self, recipe: _Recipe, X: Floats, y: Integers, entropy: Entropy) -> None:
        inside = y >= 0
        cells, y = cells_of(recipe.box, X[inside]), y[inside]
        if recipe.depth == 0:
            recipe = recipe.decided(float(recipe.rows.release([len(y)], entropy)[0]))
        if recipe.looks:
            self.levels_ = self._grown(recipe, cells, y, entropy)
        else:
            self.levels_ = random_levels(recipe.depth, len(cells), entropy)
        places = leaves_of(self.levels_, cells) * recipe.classes + y
        counts = np.bincount(places, minlength=recipe.classes << recipe.depth)
        noisy = recipe.leaves.release(counts, entropy).astype(float)
        self.counts_ = noisy.reshape(-1, recipe.classes)
        self.noise_ = math.sqrt(recipe.leaves.variance) + 1

    def _grown(self, recipe: _Recipe, cells: Cells, y: Integers, entropy: Entropy) -> tuple[Splits, ...]:
        nodes = np.zeros(len(y), dtype=np.int64)
        labels, levels = labels_of(y, recipe.classes), []
        for level in range(recipe.depth):
            scores = votes(*below_cuts(cells, nodes, 1 << level, labels))
            levels.append(chosen_splits(recipe.split, scores, entropy))
            nodes = levels[-1].descend(cells, nodes)
        return tuple(levels)

    def apply(self, X: Any) -> Integers:
        """The leaf of each row.

        Args:
            X: Rows with the columns of the fit. Values outside the bounds are clamped.

        Returns:
            For each row the place of its leaf in `counts_`.

        >>> ages, member = np.arange(1000).reshape(-1, 1) % 100, np.arange(1000) % 100 >= 50
        >>> tree = DecisionTree(max_depth=1, epsilon=10, bounds=(0, 100), classes=[False, True]).fit(ages, member)
        >>> first, second = tree.apply([[20], [80]])
        >>> bool(first != second)
        True
        """
        rows = self._rows(X)
        return leaves_of(self.levels_, cells_of(self._box(rows.shape[1], self._names()), rows))

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class.

        Args:
            X: Rows with the columns of the fit. Values outside the bounds are clamped.

        Returns:
            A row for each row and a column for each class, in the order of `classes_`. Leaves with few rows give nearly
                equal probabilities.

        >>> ages, member = np.arange(1000).reshape(-1, 1) % 100, np.arange(1000) % 100 >= 50
        >>> tree = DecisionTree(max_depth=1, epsilon=10, bounds=(0, 100), classes=[False, True]).fit(ages, member)
        >>> tree.predict_proba([[20], [80]]).round().tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        leaves = self.apply(X)
        return shares(self.counts_, self.noise_)[leaves]

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row.

        Args:
            X: Rows with the columns of the fit. Values outside the bounds are clamped.

        Returns:
            A label for each row. Predicting costs nothing, but the labels describe these rows.
        """
        leaves = self.apply(X)
        labels: NDArray[Any] = self.classes_[self.counts_.argmax(axis=1)[leaves]]
        return labels


def depth_of(max_depth: Any) -> int:
    """A number of levels whose leaves fit into memory."""
    depth = checks.whole(max_depth=max_depth)
    if depth > LARGEST_DEPTH:
        why = f"allows more than {2**LARGEST_DEPTH} leaves: too many for memory, and for the noise"
        raise InvalidParameter("max_depth", max_depth, why, f"Write max_depth={LARGEST_DEPTH} or less.")
    return depth
