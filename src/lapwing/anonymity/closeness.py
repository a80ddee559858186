"""t-closeness and (n,t)-closeness: the sensitive values of a class are distributed like those of the table.

How far two distributions are apart is the Earth Mover's Distance: how much probability must be carried how far to turn
one into the other. How far two values are apart, the *ground distance*, is at most 1 and one of three (Li, Li and
Venkatasubramanian 2007, section 4): all are equally far; they lie in an order; they are leaves of a taxonomy.

All three are distances in a tree: a star, a path, the taxonomy. In a tree everything that is carried across an edge is
the difference of what lies behind it, so the distance is Σ over edges of length · |difference behind the edge|.

>>> salaries = np.array([[1, 1, 1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 1, 0, 0, 1]])  # of 3k, 4k, …, 11k
>>> Ordered().distances(salaries, np.ones(9, int)).round(3).tolist()
[0.375, 0.167]
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lapwing import checks
from lapwing.anonymity.criteria import SLACK, Counts, Criterion, Floats, Met, shares
from lapwing.checks import Number
from lapwing.errors import InvalidParameter

Edges = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Which kinds lie behind which edge (kinds × edges, 0 or 1), and how long each edge is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground(ABC):
    """How far two sensitive values are apart, from 0 to 1."""

    kinds: tuple[Any, ...] | None = None
    """What the columns of the counts mean; see `over`."""

    def over(self, kinds: Sequence[Any]) -> Self:
        """The same distance for counts whose columns are these kinds.

        Args:
            kinds: The different values of the sensitive column, in the order of the counts.

        Returns:
            A distance that knows what the columns of the counts mean.

        >>> Ordered().over([1, 2, 3]).kinds
        (1, 2, 3)
        """
        return replace(self, kinds=tuple(kinds))

    @abstractmethod
    def edges(self, columns: int) -> Edges:
        """The tree in which distances are measured.

        Args:
            columns: How many columns the counts have: one for each kind of value.

        Returns:
            Which kinds lie behind which edge (kinds × edges, 0 or 1), and how long each edge is.

        Raises:
            InvalidParameter: If a kind of value is not named.
        """

    def distances(self, counts: Counts, other: Counts) -> Floats:
        """The Earth Mover's Distance of each class from another class.

        Args:
            counts: How often each value occurs in each class: one row per class.
            other: The counts to compare with: one row for all, or one row per class.

        Returns:
            A distance from 0 to 1 for each class.

        >>> Ordered().over([1, 2, 3]).distances(np.eye(3, dtype=int), np.array([1, 0, 0])).tolist()
        [0.0, 0.5, 1.0]
        """
        behind, lengths = self.edges(counts.shape[1])
        distances: Floats = np.abs((shares(counts) - shares(other)) @ behind) @ lengths
        return distances


@dataclass(frozen=True, slots=True, kw_only=True)
class Equal(Ground):
    """Any two values are one apart. The distance is half of the sum of all differences.

    >>> from lapwing.anonymity import t_closeness
    >>> t_closeness({"sex": ["f", "m"], "ill": ["yes", "no"]}, ["sex"], "ill", Equal())
    0.5
    """

    def edges(self, columns: int) -> Edges:
        """A star.

        >>> [part.tolist() for part in Equal().edges(2)]
        [[[1.0, 0.0], [0.0, 1.0]], [0.5, 0.5]]
        """
        return np.eye(columns), np.full(columns, 0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered(Ground):
    """Values are as far apart as there are steps between them. The two ends are one apart.

    Args:
        order: All values that may occur, from the least to the greatest. None takes the values of the table in sorted
            order, numbers by size.

    >>> from lapwing.anonymity import t_closeness
    >>> t_closeness({"sex": ["f", "m"], "wage": [1, 3]}, ["sex"], "wage", Ordered())
    0.5
    """

    order: tuple[Any, ...] | None = None

    def edges(self, columns: int) -> Edges:
        """A path.

        Raises:
            InvalidParameter: If `kinds` is not as long as there are columns, or if `order` lacks a value.

        >>> [part.tolist() for part in Ordered().over([1, 2, 3]).edges(3)]
        [[[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]], [0.5, 0.5]]
        """
        places = np.arange(columns)
        steps = columns - 1
        if self.order is not None:
            kinds = _known(self.kinds, self.order, columns, "order")
            places = np.array([self.order.index(kind) for kind in kinds])
            steps = len(self.order) - 1
        behind = (places[:, None] <= np.arange(steps)).astype(np.float64)
        return behind, np.full(steps, 1 / max(steps, 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Hierarchical(Ground):
    """Values are as far apart as the lowest group that holds both is high. The whole taxonomy is one high.

    Args:
        groups: For each value its groups, from the narrowest to the widest, without the root. Each value has the same
            number of groups.

    Raises:
        InvalidParameter: If some values have more groups above them than others.

    >>> illness = Hierarchical(groups={"ulcer": ("stomach",), "gastritis": ("stomach",), "flu": ("lungs",)})
    >>> illness.over(["ulcer", "gastritis", "flu"]).distances(np.eye(3, dtype=int), np.array([1, 0, 0])).tolist()
    [0.0, 0.5, 1.0]
    """

    groups: Mapping[Any, Sequence[Any]]

    def __post_init__(self) -> None:
        if len({len(above) for above in self.groups.values()}) > 1:
            why = "some values have more groups above them than others"
            raise InvalidParameter("groups", dict(self.groups), why, "Repeat a value as its own group.")

    def edges(self, columns: int) -> Edges:
        """The taxonomy: two leaves under a group of height h are h apart, so each way up has length h/2.

        Raises:
            InvalidParameter: If `kinds` is not as long as there are columns, or if `groups` lacks a value.

        >>> illness = Hierarchical(groups={"ulcer": ("stomach",), "gastritis": ("stomach",), "flu": ("lungs",)})
        >>> behind, lengths = illness.over(["ulcer", "gastritis", "flu"]).edges(3)
        >>> behind.shape, lengths.tolist()
        ((3, 5), [0.25, 0.25, 0.25, 0.25, 0.25])
        """
        leaves = _known(self.kinds, tuple(self.groups), columns, "groups")
        lines = [(kind, *self.groups[kind]) for kind in leaves]
        nodes = list(dict.fromkeys(line[height:] for line in lines for height in range(len(line))))
        behind = np.array([[line[-len(node) :] == node for node in nodes] for line in lines])
        return behind.astype(np.float64), np.full(len(nodes), 0.5 / len(lines[0]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Closeness(Criterion):
    """t-closeness: in every class the values are distributed as in the table, up to a distance t.

    Source: Li, Li and Venkatasubramanian 2007, t-closeness, definition 2.

    Args:
        most: The t: the largest Earth Mover's Distance between a class and the table, from 0 to 1.
        ground: How far two values are apart: `Equal`, `Ordered` or `Hierarchical`.

    Raises:
        InvalidParameter: If most is not a share from 0 to 1.

    >>> counts = np.array([[3, 3], [4, 0]])
    >>> Closeness(sensitive="diagnosis", most=0.25).met(counts, counts.sum(axis=0)).tolist()
    [True, False]
    """

    most: Number
    ground: Ground = Equal()

    def __post_init__(self) -> None:
        checks.share(most=self.most)

    def over(self, kinds: Sequence[Any]) -> Self:
        """The same demand for counts whose columns are these kinds.

        >>> Closeness(sensitive="wage", most=0.5, ground=Ordered()).over([1, 2, 3]).ground.kinds
        (1, 2, 3)
        """
        return replace(self, ground=self.ground.over(kinds))

    def met(self, counts: Counts, total: Counts, ancestors: Sequence[Counts] | None = None) -> Met:
        """Whether the class is close to the table."""
        return self.ground.distances(counts, total) <= float(self.most) + SLACK


@dataclass(frozen=True, slots=True, kw_only=True)
class CrowdCloseness(Closeness):
    """(n,t)-closeness: in every class the values are distributed as in some larger class around it, up to a distance t.

    A class that is large enough itself passes, and the whole table is always tried.

    Source: Li, Li and Venkatasubramanian 2010, Closeness: a new privacy measure for data publishing, definition 4.

    Args:
        crowd: The n: how many rows the larger class must have at least.

    Raises:
        InvalidParameter: If most is not a share from 0 to 1, or if crowd is not a whole number from 1 on.

    >>> counts = np.array([[3, 3], [4, 0]])
    >>> CrowdCloseness(sensitive="diagnosis", most=0.25, crowd=5).met(counts, counts.sum(axis=0)).tolist()
    [True, False]
    """

    crowd: int

    def __post_init__(self) -> None:
        Closeness.__post_init__(self)
        checks.whole(crowd=self.crowd)

    def met(self, counts: Counts, total: Counts, ancestors: Sequence[Counts] | None = None) -> Met:
        """Whether the class is close to a large one that contains it."""
        return nearest(self.ground, counts, (total, *(ancestors or ())), self.crowd) <= float(self.most) + SLACK


def nearest(ground: Ground, counts: Counts, around: Sequence[Counts], crowd: int) -> Floats:
    """How far each class is from the nearest of the larger ones that have `crowd` rows; infinitely if there is none."""
    distances = np.where(counts.sum(axis=1) >= crowd, 0.0, np.inf)
    for other in around:
        near = np.where(other.sum(axis=-1) >= crowd, ground.distances(counts, other), np.inf)
        distances = np.minimum(distances, near)
    return distances


def _known(kinds: tuple[Any, ...] | None, named: tuple[Any, ...], columns: int, parameter: str) -> tuple[Any, ...]:
    """The kinds of the columns, all of which must have been named."""
    given = named if kinds is None else kinds
    if len(given) != columns:
        raise InvalidParameter(parameter, named, f"there are {columns} kinds of values", "Call over(kinds) first.")
    for kind in given:
        if kind not in named:
            raise InvalidParameter(parameter, named, f"does not name {kind!r}", "Name every value that may occur.")
    return given
