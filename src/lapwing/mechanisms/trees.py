"""A public tree, level by level: what belongs to what, known to everybody and never read from data.

Level 0 holds the roots, usually one. The nodes of a level stand in order, and the children of one node stand side by
side. So the number of children of each node describes the whole tree. A node without children is a leaf, on any level.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.calls import Helpful
from lapwing.errors import InvalidParameter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_NODES = 1 << 27
"""Nodes of one tree, each of which is released."""
_HINT = "Write Tree([[3], [2, 2, 1]]) for a root with three children, which have 2, 2 and 1 of their own."


@dataclass(frozen=True, eq=False, repr=False)
class Tree(metaclass=Helpful):
    """A public tree, given by the number of children of each node.

    Args:
        children: A list for each level but the last: how many children each node has, from left to right.

    Raises:
        InvalidParameter: If a level does not list as many nodes as the level above has children, if a number of
            children is negative, or if there are too many nodes.

    >>> tree = Tree([[3], [2, 2, 1]])
    >>> tree.sizes, tree.leaves
    ((1, 3, 5), 5)
    >>> Tree.even(2, 2, 2) == Tree.over(8)
    True
    """

    children: Sequence[Any]
    sizes: tuple[int, ...] = field(init=False)
    """How many nodes each level has."""

    def __post_init__(self) -> None:
        import numpy as np

        levels: list[NDArray[np.int64]] = []
        for given in self.children:
            counts = np.asarray(given)
            if counts.ndim != 1 or counts.dtype.kind not in "iu" or not counts.size or counts.min() < 0:
                raise InvalidParameter("children", "<level>", "must hold numbers of children, 0 or more", _HINT)
            levels.append(counts.astype(np.int64))
        if not levels or sum(int(counts.sum()) for counts in levels) + len(levels[0]) > MOST_NODES:
            raise InvalidParameter("children", "<tree>", f"must have 1 to {MOST_NODES:,} nodes", _HINT)
        sizes = [len(levels[0]), *(int(counts.sum()) for counts in levels)]
        if sizes[-1] == 0 or any(len(counts) != size for counts, size in zip(levels, sizes, strict=False)):
            why = "every level must list as many nodes as the level above has children"
            raise InvalidParameter("children", sizes, why, _HINT)
        levels.append(np.zeros(sizes[-1], np.int64))
        for counts in levels:
            counts.flags.writeable = False
        object.__setattr__(self, "children", tuple(levels))
        object.__setattr__(self, "sizes", tuple(sizes))

    @classmethod
    def even(cls, *fan_outs: int) -> Tree:
        """A tree with one root whose nodes all have the same number of children on each level.

        Args:
            *fan_outs: How many children a node has, for each level from the root on.

        Returns:
            The tree.

        Raises:
            InvalidParameter: If there is no level, or if there are too many nodes.

        >>> Tree.even(4, 13).sizes  # four quarters of 13 weeks
        (1, 4, 52)
        """
        import numpy as np

        wide = [checks.whole(fan_outs=fan_out) for fan_out in fan_outs]
        if not wide or prod(wide) > MOST_NODES:
            raise InvalidParameter("fan_outs", fan_outs, "make no tree that fits", "Write Tree.even(2, 2, 2).")
        return cls([np.full(prod(wide[:depth]), fan_out) for depth, fan_out in enumerate(wide)])

    @classmethod
    def over(cls, leaves: int, fan_out: int = 2) -> Tree:
        """A tree over leaves in a row: `fan_out` neighbours of a level make one node of the level above.

        Args:
            leaves: How many leaves there are, at least 2.
            fan_out: How many neighbours make a node, at least 2. The last node of a level may have fewer.

        Returns:
            The tree.

        Raises:
            InvalidParameter: If leaves or fan_out is not a whole number from 2 on.

        >>> Tree.over(12, fan_out=3).sizes
        (1, 2, 4, 12)
        """
        import numpy as np

        size, wide = checks.whole(leaves=leaves, minimum=2), checks.whole(fan_out=fan_out, minimum=2)
        levels = []
        while size > 1:
            above = -(-size // wide)
            counts = np.full(above, wide)
            counts[-1] = size - wide * (above - 1)
            levels.append(counts)
            size = above
        return cls(levels[::-1])

    @classmethod
    def of_parents(cls, parents: Iterable[Sequence[int]], roots: int = 1) -> Tree:
        """A tree from the parent of each node.

        Args:
            parents: For each level from the second on, the position of each node's parent in the level above. Positions
                never fall from left to right.
            roots: How many nodes the first level has.

        Returns:
            The tree.

        Raises:
            InvalidParameter: If a position does not exist, or if positions fall.

        >>> Tree.of_parents([[0, 0, 0], [0, 0, 1, 1, 2]]) == Tree([[3], [2, 2, 1]])
        True
        """
        import numpy as np

        levels, size = [], checks.whole(roots=roots)
        for given in parents:
            above = np.asarray(given)
            orderly = above.ndim == 1 and above.dtype.kind in "iu" and above.size
            if not orderly or above.min() < 0 or above.max() >= size or (np.diff(above) < 0).any():
                why = "must be places of the level above that never fall"
                raise InvalidParameter("parents", "<level>", why, "Sort the nodes of a level by their parents.")
            levels.append(np.bincount(above, minlength=size))
            size = len(above)
        return cls(levels)

    def __eq__(self, other: object) -> bool:
        import numpy as np

        if not isinstance(other, Tree):
            return NotImplemented
        return self.sizes == other.sizes and all(map(np.array_equal, self.children, other.children))

    def __hash__(self) -> int:
        return hash((self.sizes, *(hash(self.counts(level).tobytes()) for level in range(self.levels))))

    def __repr__(self) -> str:
        if self.nodes > 60:
            return f"<Tree of {' → '.join(f'{size:,}' for size in self.sizes)} nodes>"
        return f"Tree({[self.counts(level).tolist() for level in range(self.levels - 1)]})"

    @property
    def levels(self) -> int:
        """How many levels there are."""
        return len(self.sizes)

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return sum(self.sizes)

    @cached_property
    def leaves(self) -> int:
        """How many nodes have no children."""
        return sum(int((self.counts(level) == 0).sum()) for level in range(self.levels))

    @property
    def leaf_levels(self) -> tuple[int, ...]:
        """The levels on which leaves stand."""
        return tuple(level for level in range(self.levels) if not self.counts(level).all())

    def counts(self, level: int) -> NDArray[np.int64]:
        """How many children each node of a level has.

        Args:
            level: The level, 0 for the roots.

        Returns:
            An array with a number for each node.

        >>> Tree([[3], [2, 2, 1]]).counts(1).tolist()
        [2, 2, 1]
        """
        counts: NDArray[np.int64] = self.children[level]
        return counts

    def repeat(self, values: Any, level: int) -> NDArray[Any]:
        """The values of the nodes of a level, repeated for each of their children.

        Args:
            values: A value for each node of the level.
            level: The level of the parents.

        Returns:
            A value for each node of the next level.

        >>> Tree([[3], [2, 2, 1]]).repeat([10, 20, 30], 1).tolist()
        [10, 10, 20, 20, 30]
        """
        import numpy as np

        counts = self.counts(level)
        if self.is_even(level):
            return np.repeat(values, int(counts[0]))
        return np.repeat(values, counts)

    def add(self, values: NDArray[Any], level: int) -> NDArray[Any]:
        """Sums over the children of each node of a level.

        Args:
            values: A value for each node of the next level.
            level: The level of the parents.

        Returns:
            A sum for each node of the level; 0 for nodes without children.

        >>> import numpy as np
        >>> Tree([[3], [2, 2, 1]]).add(np.array([1, 2, 3, 4, 5]), 1).tolist()
        [3, 7, 5]
        """
        import numpy as np

        counts = self.counts(level)
        if self.is_even(level):
            return values.reshape(len(counts), -1).sum(axis=1)  # type: ignore[no-any-return]
        some = counts > 0
        sums = np.zeros(len(counts), values.dtype)
        sums[some] = np.add.reduceat(values, self.starts(level)[some])
        return sums

    def starts(self, level: int) -> NDArray[np.int64]:
        """The position, in the next level, of the first child of each node.

        Args:
            level: The level of the parents.

        Returns:
            A position for each node of the level.

        >>> Tree([[3], [2, 2, 1]]).starts(1).tolist()
        [0, 2, 4]
        """
        counts = self.counts(level)
        return counts.cumsum() - counts

    def is_even(self, level: int) -> bool:
        """Whether all nodes of a level have the same number of children, and at least one.

        Args:
            level: The level, 0 for the roots.

        Returns:
            True if they have.

        >>> tree = Tree([[3], [2, 2, 1]])
        >>> tree.is_even(0), tree.is_even(1)
        (True, False)
        """
        counts = self.counts(level)
        return bool(counts[0] > 0 and (counts == counts[0]).all())

    def leaf_places(self) -> list[NDArray[np.int64]]:
        """For each level, the position of each node's first leaf among all leaves, from left to right.

        Returns:
            An array of positions for each level, from the root down.

        >>> [places.tolist() for places in Tree([[3], [2, 2, 1]]).leaf_places()]
        [[0], [0, 2, 4], [0, 1, 2, 3, 4]]
        """
        import numpy as np

        below = [np.ones(size, np.int64) for size in self.sizes]
        for level in reversed(range(self.levels - 1)):
            counts = self.counts(level)
            below[level] = np.where(counts > 0, self.add(below[level + 1], level), 1)
        first = [below[0].cumsum() - below[0]]
        for level in range(self.levels - 1):
            before = below[level + 1].cumsum() - below[level + 1]
            starts = np.minimum(self.starts(level), len(before) - 1)
            first.append(before + self.repeat(first[level] - before[starts], level))
        return first

    def sums(self, leaves: NDArray[Any]) -> list[NDArray[Any]]:
        """Every node's sum over its leaves.

        Args:
            leaves: A number for each leaf, from left to right.

        Returns:
            An array for each level, with a sum for each node.

        >>> import numpy as np
        >>> [level.tolist() for level in Tree([[3], [2, 2, 1]]).sums(np.array([1, 2, 3, 4, 5]))]
        [[15], [3, 7, 5], [1, 2, 3, 4, 5]]
        """
        import numpy as np

        first = self.leaf_places()
        levels: list[NDArray[Any]] = [np.zeros(0, leaves.dtype)] * self.levels
        for level in reversed(range(self.levels)):
            levels[level] = leaves[first[level]]
            if level + 1 < self.levels:
                inner = self.counts(level) > 0
                levels[level] = np.where(inner, self.add(levels[level + 1], level), levels[level])
        return levels

    def leaf_values(self, levels: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The values of the leaves, from left to right.

        Args:
            levels: An array for each level, with a value for each node.

        Returns:
            A value for each leaf.

        >>> import numpy as np
        >>> tree = Tree([[3], [2, 2, 1]])
        >>> tree.leaf_values(tree.sums(np.array([1, 2, 3, 4, 5]))).tolist()
        [1, 2, 3, 4, 5]
        """
        import numpy as np

        values = np.zeros(self.leaves, np.result_type(*levels))
        for level, first in enumerate(self.leaf_places()):
            alone = self.counts(level) == 0
            values[first[alone]] = levels[level][alone]
        return values
