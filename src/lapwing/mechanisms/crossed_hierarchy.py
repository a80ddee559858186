"""Noisy numbers for two public trees crossed, such as places and times, that still add up along both."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache, reduce
from operator import add
from typing import TYPE_CHECKING, Any, ClassVar

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidCall, InvalidParameter
from lapwing.mechanisms.additive import ONE_PER_LEAF, vector_steps
from lapwing.mechanisms.consistency import LeastSquares
from lapwing.mechanisms.crossed_rounding import whole_tables
from lapwing.mechanisms.gaussian import Gaussian
from lapwing.mechanisms.hierarchy import LARGEST_SUM
from lapwing.mechanisms.laplace import Laplace
from lapwing.mechanisms.level_weights import Workload, given_weights, level_weights
from lapwing.mechanisms.linear_tails import deviations
from lapwing.mechanisms.mechanism import Mechanism
from lapwing.mechanisms.records import NoRow, row_of
from lapwing.mechanisms.trees import Tree
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy import Loss

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_NODES = 3000
"""Nodes of one of the trees: the solution of each is a matrix with so many rows and columns."""

Levels = tuple[int, int]
"""A level of the first tree and one of the second: a table with a row and a column for each of their nodes."""


@dataclass(frozen=True)
class Solution:
    """Least squares of one tree as a matrix over all its nodes, level by level from the root."""

    tree: Tree
    variances: tuple[float, ...]
    """Of the noise of each level."""

    @cached_property
    def squares(self) -> LeastSquares:
        """The solver for one line of numbers."""
        import numpy as np

        noise = [np.full(size, variance) for size, variance in zip(self.tree.sizes, self.variances, strict=True)]
        return LeastSquares(self.tree, noise)

    @cached_property
    def matrix(self) -> NDArray[np.float64]:
        """The weight of every noisy number in every node's estimate."""
        import numpy as np

        ends = np.cumsum(self.tree.sizes)[:-1]
        columns = [np.concatenate(self.squares.estimate(np.split(unit, ends))) for unit in np.eye(self.tree.nodes)]
        return np.array(columns).T

    def spreads(self, level: int) -> NDArray[np.float64]:
        """The variance of the estimates of a level."""
        return self.squares.variances()[level]


@lru_cache(maxsize=16)
def _solution(tree: Tree, variances: tuple[float, ...]) -> Solution:
    return Solution(tree, variances)


@dataclass(frozen=True, slots=True)
class CrossedEstimate:
    """What a crossed hierarchy releases: a table for every pair of levels.

    >>> cases = CrossedHierarchy(trees=(Tree([[2]]), Tree([[3]])), epsilon=1)
    >>> estimate = cases.release([[5, 9, 2], [1, 0, 4]])
    >>> estimate.tables[0, 0].shape, estimate.tables[1, 1].shape
    ((1, 1), (2, 3))
    """

    tables: Mapping[Levels, NDArray[Any]]
    """Values that add up along both trees: whole numbers, or the estimates themselves."""
    estimates: Mapping[Levels, NDArray[np.float64]]
    """Unbiased, and possibly negative or broken; intervals are around these."""

    def __eq__(self, other: object) -> bool:
        import numpy as np

        if not isinstance(other, CrossedEstimate):
            return NotImplemented
        return all(
            mine.keys() == theirs.keys() and all(np.array_equal(mine[levels], theirs[levels]) for levels in mine)
            for mine, theirs in ((self.tables, other.tables), (self.estimates, other.estimates))
        )

    def __hash__(self) -> int:
        return hash(tuple(table.tobytes() for table in self.tables.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossedHierarchy(Mechanism):
    """Noisy sums over every node of one tree and every node of another that agree along both.

    Every pair of levels gets noise of its own: discrete Laplace noise for an `epsilon`, discrete Gaussian noise for a
    `rho`.

    Privacy: the sum over all pairs of levels, because every unit is in every table.
    Proof: crossed_hierarchy.md

    Args:
        trees: Two public trees, each with one root, all leaves on the last level, and at most 3,000 nodes.
        epsilon: What one release may cost, as pure ε. Give this or `rho`.
        rho: What one release may cost, as ρ of zero-concentrated privacy. Give this or `epsilon`.
        sensitivity: How far one unit moves the table of any pair of levels, in l1 for an epsilon and in l2 for a rho.
        weights: For each tree what will be read, or a number for each level, as in `Hierarchy`. A pair of levels gets
            the product.
        integers: Release whole numbers of at least 0.

    Raises:
        InvalidCall: If epsilon and rho are both given, or neither.
        InvalidParameter: If there are not two trees with all leaves on their last levels, if weights do not fit the
            trees, or if epsilon, rho or sensitivity is not positive.

    >>> cases = CrossedHierarchy(trees=(Tree([[2]]), Tree([[3]])), epsilon=1)     # two towns, three weeks
    >>> tables = cases.release([[5, 9, 2], [1, 0, 4]]).tables
    >>> bool(tables[1, 1].sum() == tables[1, 0].sum() == tables[0, 1].sum() == tables[0, 0].sum())
    True
    >>> print(cases.privacy_loss())
    ε = 1 (add_remove, per person)
    """

    _instead: ClassVar[dict[str, str]] = {"tree": "Write trees=(Tree([[3], [2, 2, 1]]), Tree.even(4, 13))."}

    trees: tuple[Tree, Tree]
    epsilon: Number | None = None
    rho: Number | None = None
    sensitivity: Number = 1
    weights: Sequence[Workload | Sequence[Number]] = ("levels", "levels")
    integers: bool = True
    _shares: tuple[tuple[Fraction, ...], ...] = field(init=False, repr=False, compare=False)
    _noise: Mapping[Levels, Laplace | Gaussian] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        hint = "Write trees=(Tree([[3], [2, 2, 1]]), Tree.even(4, 13))."
        if not isinstance(self.trees, Sequence) or len(self.trees) != 2:
            raise InvalidParameter("trees", self.trees, "must be two trees", hint)
        for tree in self.trees:
            checks.of_kind(Tree, "is not a tree", hint, trees=tree)
            if tree.sizes[0] != 1 or tree.leaf_levels != (tree.levels - 1,) or tree.nodes > MOST_NODES:
                why = f"must have one root, all leaves on the last level, and at most {MOST_NODES:,} nodes"
                raise InvalidParameter("trees", tree, why, hint)
        checks.true_or_false(integers=self.integers)
        if (self.epsilon is None) == (self.rho is None):
            raise InvalidCall(
                "CrossedHierarchy", "say how much to spend, in exactly one way", "Write epsilon=1, or rho=0.5."
            )
        if isinstance(self.weights, str) or len(self.weights) != 2:
            why = "must have one entry for each of the two trees"
            raise InvalidParameter("weights", self.weights, why, 'Write weights=("levels", "levels").')
        self._set(trees=tuple(self.trees), weights=tuple(self.weights))
        size = checks.positive(epsilon=self.epsilon) if self.rho is None else checks.positive(rho=self.rho)
        moved = checks.positive(sensitivity=self.sensitivity)
        shares = tuple(
            self._tree_shares(tree, given, moved) for tree, given in zip(self.trees, self.weights, strict=True)
        )
        noise = {
            (i, j): self._table_noise((i, j), moved, size * first * second)
            for i, first in enumerate(shares[0])
            for j, second in enumerate(shares[1])
            if first and second
        }
        self._set(_shares=shares, _noise=noise)

    def _tree_shares(self, tree: Tree, given: Any, moved: Fraction) -> tuple[Fraction, ...]:
        if isinstance(given, str):
            sizes, concentrated = (moved,) * tree.levels, self.rho is not None
            return level_weights(tree, given, sizes, concentrated=concentrated, free=frozenset())  # type: ignore[arg-type]
        return given_weights(given, tree, frozenset())

    def _table_noise(self, levels: Levels, sensitivity: Fraction, size: Fraction) -> Laplace | Gaussian:
        options: dict[str, Any] = {"on_grid": True, "relation": self.relation, "unit": self.unit}
        cells = math.prod(self.shape(levels))
        if self.rho is None:
            return Laplace(epsilon=size, sensitivity=sensitivity, dimensions=cells, **options)
        return Gaussian.for_rho(size, sensitivity=sensitivity, dimensions=max(2, cells), **options)

    def shape(self, levels: Levels) -> tuple[int, int]:
        """Rows and columns of the table for a pair of levels.

        Args:
            levels: A level of the first tree and one of the second.

        Returns:
            The numbers of rows and of columns.

        >>> cases = CrossedHierarchy(trees=(Tree([[2]]), Tree([[3]])), epsilon=1)
        >>> cases.shape((0, 0)), cases.shape((1, 1))
        ((1, 1), (2, 3))
        """
        return self.trees[0].sizes[levels[0]], self.trees[1].sizes[levels[1]]

    @property
    def levels(self) -> list[Levels]:
        """All pairs of levels."""
        return [(i, j) for i in range(self.trees[0].levels) for j in range(self.trees[1].levels)]

    def privacy_loss(self) -> Loss:
        """The sum of what the tables lose, each from the integers of its own sampler."""
        return reduce(add, (noise.privacy_loss() for noise in self._noise.values()))

    @property
    def shares(self) -> dict[Levels, Fraction]:
        """The part of the loss that each table gets."""
        return {(i, j): self._shares[0][i] * self._shares[1][j] for i, j in self.levels}

    def release(self, data: Any, entropy: Entropy = SYSTEM) -> CrossedEstimate:
        """Tables that add up, for every pair of levels.

        Args:
            data: A table of whole numbers, with a row for each leaf of the first tree and a column for each of the
                second.

        Returns:
            The tables and the estimates behind them.
        """
        return self.consistent(self.measure(data, entropy))

    def measure(self, data: Any, entropy: Entropy = SYSTEM) -> dict[Levels, NDArray[np.int64]]:
        """The noisy tables, which do not add up yet. Nothing else is ever read of the data.

        Args:
            data: A table of whole numbers, with a row for each leaf of the first tree and a column for each of the
                second.
            entropy: Source of randomness; the secure one by default.

        Returns:
            A table for each pair of levels, zeros where nothing is measured.

        >>> cases = CrossedHierarchy(trees=(Tree([[2]]), Tree([[3]])), epsilon=1)
        >>> noisy = cases.measure([[5, 9, 2], [1, 0, 4]])
        >>> noisy[1, 1].shape, cases.consistent(noisy).tables[1, 1].shape
        ((2, 3), (2, 3))
        """
        import numpy as np

        rows, columns = (tree.leaves for tree in self.trees)
        leaves = vector_steps(self._cells(data), Fraction(1), rows * columns, ONE_PER_LEAF).reshape(rows, columns)
        most = LARGEST_SUM // (rows * columns)
        exact = self.sums(np.clip(leaves, -most, most))
        noisy = {}
        for levels, table in exact.items():
            noise, numbers = self._noise.get(levels), table.reshape(-1)
            if noise is None:
                noisy[levels] = np.zeros(self.shape(levels), np.int64)
                continue
            padded = np.append(numbers, 0) if isinstance(noise, Gaussian) and len(numbers) == 1 else numbers
            noisy[levels] = noise.release(padded, entropy)[: len(numbers)].reshape(self.shape(levels))
        return noisy

    def _cells(self, data: Any) -> Any:
        """One after the other. A row that is absent (None, NaN, text) counts as zeros."""
        rows, columns = (tree.leaves for tree in self.trees)
        if hasattr(data, "reshape"):
            return data.reshape(-1) if data.shape in ((rows, columns), (rows * columns,)) else ()
        if not isinstance(data, (list, tuple)) or len(data) != rows:
            return ()
        try:
            read = [row_of(row, columns) for row in data]
        except NoRow:
            return ()
        listed = [[0] * columns if row is None else row for row in read]
        return [cell for row in listed for cell in row] if all(len(row) == columns for row in listed) else ()

    def sums(self, leaves: NDArray[Any]) -> dict[Levels, NDArray[Any]]:
        """The exact table of every pair of levels.

        Args:
            leaves: An array with a row for each leaf of the first tree and a column for each of the second.

        Returns:
            A table for each pair of levels.

        >>> import numpy as np
        >>> cases = CrossedHierarchy(trees=(Tree([[2]]), Tree([[3]])), epsilon=1)
        >>> cases.sums(np.array([[5, 9, 2], [1, 0, 4]]))[1, 0].tolist()
        [[16], [5]]
        """
        import numpy as np

        rows, columns = (tree.leaf_places() for tree in self.trees)
        by_row = [np.add.reduceat(leaves, first, axis=0) for first in rows]
        return {(i, j): np.add.reduceat(by_row[i], columns[j], axis=1) for i, j in self.levels}

    def consistent(self, noisy: Mapping[Levels, NDArray[Any]]) -> CrossedEstimate:
        """The tables that add up and are nearest to noisy ones: post-processing, which costs nothing.

        Args:
            noisy: What `measure` gave.

        Returns:
            The tables and the estimates behind them.

        >>> cases = CrossedHierarchy(trees=(Tree([[2]]), Tree([[3]])), epsilon=1)
        >>> tables = cases.consistent(cases.measure([[5, 9, 2], [1, 0, 4]])).tables
        >>> bool(tables[1, 1].sum() == tables[0, 0][0, 0])
        True
        """
        import numpy as np

        first, second = self._solutions()
        joined = np.block([[noisy[i, j] for j in range(self.trees[1].levels)] for i in range(self.trees[0].levels)])
        solved = first.matrix @ joined.astype(float) @ second.matrix.T
        rows, columns = (np.cumsum(tree.sizes)[:-1] for tree in self.trees)
        parts = [np.split(part, columns, axis=1) for part in np.split(solved, rows, axis=0)]
        estimates = {(i, j): parts[i][j] for i, j in self.levels}
        tables: Mapping[Levels, Any] = whole_tables(*self.trees, estimates) if self.integers else estimates
        return CrossedEstimate(tables, estimates)

    def _solutions(self) -> tuple[Solution, Solution]:
        """Of each tree by itself, for noise of variance 1 over its share (squared, with an epsilon)."""
        power = 2 if self.rho is None else 1
        spreads = [tuple(float("inf") if not share else float(1 / share**power) for share in s) for s in self._shares]
        return _solution(self.trees[0], spreads[0]), _solution(self.trees[1], spreads[1])

    def variances(self) -> dict[Levels, NDArray[np.float64]]:
        """The variance of every estimate, computed for continuous noise of that scale: a product over the two trees.

        Returns:
            A table of variances for each pair of levels.

        >>> cases = CrossedHierarchy(trees=(Tree([[2]]), Tree([[3]])), epsilon=1)
        >>> {levels: table.shape for levels, table in cases.variances().items()}
        {(0, 0): (1, 1), (0, 1): (1, 3), (1, 0): (2, 1), (1, 1): (2, 3)}
        """
        import numpy as np

        moved = float(checks.positive(sensitivity=self.sensitivity))
        if self.rho is None:
            scale = 2 * (moved / float(checks.positive(epsilon=self.epsilon))) ** 2
        else:
            scale = moved**2 / (2 * float(checks.positive(rho=self.rho)))
        first, second = self._solutions()
        return {(i, j): scale * np.outer(first.spreads(i), second.spreads(j)) for i, j in self.levels}

    def half_widths(self, confidence: float = 0.95) -> dict[Levels, NDArray[np.float64]]:
        """How far each estimate may be off.

        Args:
            confidence: Probability that the error stays within the bound.

        Returns:
            A table of bounds for each pair of levels.

        Raises:
            InvalidParameter: If confidence is not above 0 and below 1.

        >>> cases = CrossedHierarchy(trees=(Tree([[2]]), Tree([[3]])), epsilon=1)
        >>> cases.half_widths()[1, 1].round(1).tolist()
        [[3.5, 3.5, 3.5], [3.5, 3.5, 3.5]]
        """
        import numpy as np

        reach = deviations(1 - checks.probability(confidence=confidence), concentrated=self.rho is not None)
        return {levels: reach * np.sqrt(variance) + 0.5 for levels, variance in self.variances().items()}

    def intervals(
        self, estimate: CrossedEstimate, confidence: float = 0.95
    ) -> dict[Levels, tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Confidence intervals for each exact number, cut to whole numbers of at least 0 if these are shown.

        Args:
            estimate: What `release` gave.
            confidence: Probability that an interval covers the exact number.

        Returns:
            The low ends and the high ends, as two tables for each pair of levels.

        >>> cases = CrossedHierarchy(trees=(Tree([[2]]), Tree([[3]])), epsilon=1)
        >>> estimate = cases.release([[50, 90, 20], [10, 0, 40]])
        >>> low, high = cases.intervals(estimate)[0, 0]
        >>> bool(low[0, 0] <= estimate.tables[0, 0][0, 0] <= high[0, 0])
        True
        """
        import numpy as np

        ends = {}
        for levels, width in self.half_widths(confidence).items():
            value, centre = estimate.tables[levels], estimate.estimates[levels]
            low, high = centre - width, centre + width
            if self.integers:
                low, high = np.maximum(np.ceil(low), 0), np.maximum(np.floor(high), 0)
            ends[levels] = np.minimum(low, value), np.maximum(high, value)
        return ends

    def accuracy(self, confidence: float = 0.95) -> float:
        """How far the worst of all estimates may be off, each by itself.

        >>> round(CrossedHierarchy(trees=(Tree([[2]]), Tree([[3]])), epsilon=1).accuracy(), 1)
        7.8
        """
        return max(float(width.max()) for width in self.half_widths(confidence).values())
