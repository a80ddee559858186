"""Numbers of a tree that add up: weighted least squares in two passes, their variances, and whole numbers in the end.

All of it is post-processing of noisy numbers, in doubles. Independent noise on every node, of a public variance: 0 for
what is known, infinite for what was not measured. Bottom-up each node combines its own number with the sum of its
children, top-down the difference to the parent is shared among siblings by variance. The result is the least-squares
solution, the best linear unbiased estimate of every node at once. Proof: hierarchy.md, point 4
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lapwing.mechanisms.trees import Tree

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class LeastSquares:
    """The solution for a tree and the variances of the noise on its nodes, level by level.

    Attributes:
        tree: The tree.
        noise: The variance of the noise on every node, an array for each level: 0 for what is known, infinite for what
            was not measured.

    >>> import numpy as np
    >>> squares = LeastSquares(Tree.even(2), [np.array([1.0]), np.array([1.0, 1.0])])
    >>> root, leaves = squares.estimate([np.array([10]), np.array([3, 4])])
    >>> bool(abs(root[0] - leaves.sum()) < 1e-9), [variance.round(2).tolist() for variance in squares.variances()]
    (True, [[0.67], [0.67, 0.67]])
    """

    tree: Tree
    noise: Sequence[NDArray[np.float64]]

    @cached_property
    def below(self) -> list[NDArray[np.float64]]:
        """The variance of each node's best estimate from its own subtree."""
        import numpy as np

        spreads = [np.asarray(variances, float) for variances in self.noise]
        for level in reversed(range(self.tree.levels - 1)):
            inner = self.tree.counts(level) > 0
            together = _parallel(spreads[level], self.tree.add(spreads[level + 1], level))
            spreads[level] = np.where(inner, together, spreads[level])
        return spreads

    def shares(self, level: int) -> NDArray[np.float64]:
        """How the difference between a parent and the sum of its children is shared among them, on this level.

        Args:
            level: The level of the parents, from 0.

        Returns:
            A share for each child; those of siblings add up to 1.

        >>> import numpy as np
        >>> LeastSquares(Tree.even(2), [np.array([1.0]), np.array([1.0, 3.0])]).shares(0).tolist()
        [0.25, 0.75]
        """
        total = self.tree.repeat(self.tree.add(self.below[level + 1], level), level)
        return _quotient(self.below[level + 1], total)

    def estimate(self, noisy: Sequence[NDArray[Any]]) -> list[NDArray[np.float64]]:
        """Every node, from the noisy numbers of all: parents are sums of their children up to rounding.

        Args:
            noisy: The noisy numbers, an array for each level.

        Returns:
            The estimates, an array for each level.

        >>> import numpy as np
        >>> squares = LeastSquares(Tree.even(2), [np.array([1.0]), np.array([1.0, 1.0])])
        >>> [level.round(2).tolist() for level in squares.estimate([np.array([10]), np.array([3, 4])])]
        [[9.0], [4.0, 5.0]]
        """
        import numpy as np

        tree, values = self.tree, [np.asarray(level, float) for level in noisy]
        sums: list[NDArray[np.float64]] = []
        for level in reversed(range(tree.levels - 1)):
            added, spread = tree.add(values[level + 1], level), tree.add(self.below[level + 1], level)
            own = np.asarray(self.noise[level], float)
            known = np.isinf(own) | (spread == 0)  # the children say all that is known
            weight = np.where(known, 0.0, _quotient(spread, own + spread))
            mixed = added + weight * (values[level] - added)
            values[level] = np.where(tree.counts(level) > 0, mixed, values[level])
            sums.append(added)
        for level, added in enumerate(reversed(sums)):
            values[level + 1] = values[level + 1] + self.shares(level) * tree.repeat(values[level] - added, level)
        return values

    def variances(self) -> list[NDArray[np.float64]]:
        """The variance of every node's estimate.

        Returns:
            The variances, an array for each level.

        >>> import numpy as np
        >>> squares = LeastSquares(Tree.even(2), [np.array([1.0]), np.array([1.0, 1.0])])
        >>> [level.round(2).tolist() for level in squares.variances()]
        [[0.67], [0.67, 0.67]]
        """
        spreads = [self.below[0]]
        for level in range(self.tree.levels - 1):
            shares = self.shares(level)
            spreads.append(self.below[level + 1] * (1 - shares) + shares**2 * self.tree.repeat(spreads[level], level))
        return spreads

    def variance_of(self, coefficients: NDArray[Any]) -> float:
        """The variance of Σ c·x over the leaves, from left to right: of a range, or of a difference of two.

        A node's error is r + g·(its parent's error) with r independent of that; errors r of siblings have the
        covariances of independent ones given their sum. So the part of the sum in a node is b·(its error) plus
        something independent, whose variance grows on the way up.

        Args:
            coefficients: A number for each leaf.

        Returns:
            The variance.

        >>> import numpy as np
        >>> squares = LeastSquares(Tree.even(2), [np.array([1.0]), np.array([1.0, 1.0])])
        >>> round(squares.variance_of(np.array([1, -1])), 2)
        2.0
        """
        import numpy as np

        tree, given = self.tree, np.asarray(coefficients, float)
        first = tree.leaf_places()
        slopes, rests = given[first[-1]], np.zeros(tree.sizes[-1])
        for level in reversed(range(tree.levels - 1)):
            below = self.below[level + 1]
            squares, products = tree.add(slopes**2 * below, level), tree.add(slopes * below, level)
            spread = tree.add(below, level)
            rest = tree.add(rests, level) + squares - products * _quotient(products, spread)
            inner = tree.counts(level) > 0
            rests = np.where(inner, np.maximum(rest, 0), 0)
            slopes = np.where(inner, tree.add(self.shares(level) * slopes, level), given[first[level]])
        return float((rests + slopes**2 * self.below[0]).sum())

    def prefix_variances(self) -> NDArray[np.float64]:
        """The variances of the sums of the first 1, 2, … leaves, in a tree with one root and all leaves at the end.

        Returns:
            A variance for each leaf.

        >>> import numpy as np
        >>> squares = LeastSquares(Tree.even(2), [np.array([1.0]), np.array([1.0, 1.0])])
        >>> squares.prefix_variances().round(2).tolist()
        [0.67, 0.67]
        """
        import numpy as np

        tree = self.tree
        place = np.arange(tree.leaves)
        slopes, rests = np.ones(tree.leaves), np.zeros(tree.leaves)
        for level in reversed(range(tree.levels - 1)):
            below = self.below[level + 1]
            parent = tree.repeat(np.arange(tree.sizes[level]), level)[place]
            before = below.cumsum() - below
            earlier = before[place] - before[tree.starts(level)[parent]]
            spread = tree.add(below, level)[parent]
            reached = earlier + slopes * below[place]
            rests = rests + earlier + slopes**2 * below[place] - reached * _quotient(reached, spread)
            slopes = _quotient(reached, spread)
            place = parent
        return np.maximum(rests, 0) + slopes**2 * self.below[0][place]


def whole_numbers(
    squares: LeastSquares,
    estimates: Sequence[NDArray[np.float64]],
    *,
    non_negative: bool = True,
    known: Sequence[NDArray[np.int64]] | None = None,
) -> list[NDArray[np.int64]]:
    """Whole numbers near the estimates in which every parent is exactly the sum of its children.

    From the top: the nearest whole number, then the children nearest to their estimates (weighted by variance) among
    those with that sum and, if so wanted, none below 0; of these the fractions are cut and what is missing goes to the
    largest fractions, the first among equals. Nodes without variance keep what is `known`, and nodes above them
    are at least the sum of what is known below. Nothing but the estimates decides.
    """
    import numpy as np

    tree = squares.tree
    lows = _least(tree, squares.below, known, non_negative)
    numbers = [np.maximum(np.floor(estimates[0] + 0.5).astype(np.int64), lows[0])]
    if known is not None:
        numbers[0] = np.where(squares.below[0] == 0, known[0], numbers[0])
    for level in range(tree.levels - 1):
        spare = numbers[level] - tree.add(lows[level + 1], level) if non_negative else numbers[level]
        base = lows[level + 1] if non_negative else np.zeros_like(lows[level + 1])
        spreads = squares.below[level + 1]
        wanted = np.where(spreads > 0, estimates[level + 1] - base, 0.0)
        if not non_negative and known is not None:
            base = np.where(spreads > 0, 0, known[level + 1])
            spare = numbers[level] - tree.add(base, level)
        numbers.append(base + _shared(tree, level, spare, wanted, spreads, non_negative))
    return numbers


def _least(
    tree: Tree, below: Sequence[NDArray[np.float64]], known: Sequence[NDArray[np.int64]] | None, non_negative: bool
) -> list[NDArray[np.int64]]:
    """What each node is at least, by what is known below it; far below everything where numbers may be negative."""
    import numpy as np

    if not non_negative:
        return [np.full(size, np.iinfo(np.int64).min) for size in tree.sizes]
    lows = [np.zeros(size, np.int64) for size in tree.sizes]
    if known is not None:
        for level in reversed(range(tree.levels)):
            if level + 1 < tree.levels:
                lows[level] = tree.add(lows[level + 1], level)
            lows[level] = np.where(below[level] == 0, known[level], lows[level])
    return lows


def _shared(
    tree: Tree,
    level: int,
    total: NDArray[np.int64],
    wanted: NDArray[np.float64],
    spreads: NDArray[np.float64],
    non_negative: bool,
) -> NDArray[np.int64]:
    """Whole numbers for the children of a level with these sums, near what is wanted; 0 for those without variance."""
    import numpy as np

    free = spreads > 0
    gap = total - tree.add(wanted, level)
    nearest = wanted + _quotient(spreads, tree.repeat(tree.add(spreads, level), level)) * tree.repeat(gap, level)
    if non_negative:
        short = tree.repeat(tree.add((nearest < 0).astype(np.int64), level) > 0, level) & free
        if short.any():
            parents = tree.repeat(np.arange(tree.sizes[level]), level)[short]
            nearest[short] = _projected(wanted[short], spreads[short], parents, total)
    whole = np.where(free, np.floor(nearest), 0.0).astype(np.int64)
    missing = total - tree.add(whole, level)
    count = np.maximum(tree.add(free.astype(np.int64), level), 1)
    every, some = np.divmod(missing, count)
    order = np.lexsort((whole - nearest, ~free, tree.repeat(np.arange(tree.sizes[level]), level)))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order)) - tree.repeat(tree.starts(level), level)
    whole += np.where(free, tree.repeat(every, level) + (rank < tree.repeat(some, level)), 0)
    return _lifted(tree, level, whole) if non_negative else whole


def _projected(
    wanted: NDArray[np.float64], spreads: NDArray[np.float64], parents: NDArray[np.int64], total: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The numbers of at least 0, with the sum of their parent, that are nearest to what is wanted.

    max(0, w − λ·v), with the λ of each parent at which the sum is right (Held, Wolfe and Crowder 1974).
    """
    import numpy as np

    ratio = wanted / spreads
    order = np.lexsort((-ratio, parents))
    group = parents[order]
    first = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
    length = np.diff(np.r_[first, len(group)])
    sums, widths = wanted[order].cumsum(), spreads[order].cumsum()
    sums -= np.repeat(sums[first] - wanted[order][first], length)
    widths -= np.repeat(widths[first] - spreads[order][first], length)
    level = (sums - total[group]) / widths
    last = np.maximum(np.add.reduceat((ratio[order] > level).astype(np.int64), first), 1)
    chosen = np.repeat(level[first + last - 1], length)
    result = np.empty_like(wanted)
    result[order] = np.maximum(wanted[order] - chosen * spreads[order], 0.0)
    return result


def _lifted(tree: Tree, level: int, whole: NDArray[np.int64]) -> NDArray[np.int64]:
    """What doubles of more than 53 bits have left below 0 is taken from the largest sibling."""
    import numpy as np

    for place in np.flatnonzero(whole < 0):
        parent = int(np.searchsorted(tree.counts(level).cumsum(), place, side="right"))
        start = int(tree.starts(level)[parent])
        siblings = whole[start : start + int(tree.counts(level)[parent])]
        siblings[int(siblings.argmax())] += whole[place]
        whole[place] = 0
    return whole


def _parallel(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """The variance of the best mixture of two independent estimates: 1/(1/a + 1/b), where 0 and infinity may be."""
    import numpy as np

    with np.errstate(invalid="ignore", divide="ignore"):
        mixed = first * second / (first + second)
    mixed = np.where(np.isinf(first), second, np.where(np.isinf(second), first, mixed))
    return np.where((first == 0) | (second == 0), 0.0, mixed)


def _quotient(top: NDArray[np.float64], bottom: NDArray[np.float64]) -> NDArray[np.float64]:
    """top/bottom, and 0 where the bottom is 0."""
    import numpy as np

    return np.divide(top, bottom, out=np.zeros(np.broadcast(top, bottom).shape), where=bottom != 0)
