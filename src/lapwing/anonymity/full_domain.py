"""Full-domain generalisation: each column is generalised to one level, and the best combination of levels is found.

A *node* gives the level of each column. Rows in classes that are too small are suppressed, as long as they are no more
than allowed. One step up merges classes, so a node above a good one is good and a node below a bad one is bad: looking
at one node decides about everything above or below it (Samarati 2001, Protecting respondents' identities; LeFevre,
DeWitt and Ramakrishnan 2005, Incognito; El Emam et al. 2009, OLA). Ways from the bottom to the top of the lattice are
bisected until it is known of every node whether it is good; the classes of a node are made from those of a node below
that was looked at before, which are fewer than the rows (the roll-up of Incognito). Then good nodes are looked at in
the order of a lower bound of their loss, until the bound exceeds the least loss found. The answer is the best of all
nodes, not only of the minimal ones: a step further up may save rows from suppression.

>>> people = {"age": [34, 36, 51, 55], "zip": ["02138", "02139", "02141", "02142"]}
>>> print(FullDomain(k=2, quasi_identifiers={"age": Ranges((10, 20)), "zip": Digits(5)}).anonymise(people))
4 rows in 2 classes of at least 2, 0 suppressed; certainty 0.464, discernibility 8, class size 1.00
age    zip
30–39  0213*
30–39  0213*
50–59  0214*
50–59  0214*
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import checks
from lapwing.anonymity.demands import Demand, SensitiveColumn, sensitive_columns
from lapwing.anonymity.generalisation import GeneralisedTable, Original, checked_names
from lapwing.anonymity.hierarchies import Digits, Flat, Hierarchy, Ranges, are_numbers, as_written
from lapwing.anonymity.ladders import Floats, Integers, Ladder
from lapwing.anonymity.losses import average_class_size, discernibility
from lapwing.anonymity.table import classes_by
from lapwing.checks import Number
from lapwing.errors import InvalidParameter

__all__ = ["Digits", "FullDomain", "Ranges"]

Node = tuple[int, ...]
LOSSES = ("certainty", "discernibility", "class_size")
LARGEST_LATTICE = 1_000_000
REMEMBERED = 200
"""Of so many nodes the classes are kept, to make those of others from them."""
DENSE, LEAST_DENSE = 4, 1 << 17
"""Classes are counted in a table of all that are possible if these are at most so many times the rows, or so many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FullDomain:
    """k-anonymity by the best of all ways to generalise whole columns, with a few rows suppressed.

    Args:
        k: How many rows every class must have at least.
        criteria: What else each class must meet, for example `DistinctDiversity` or `Closeness`.

    Raises:
        InvalidParameter: If k is not a whole number from 1 on, if suppress is not a share from 0 to 1, if loss is not
            one of the known names, or if quasi_identifiers does not name columns, each of them once.

    >>> from lapwing.anonymity import Ranges
    >>> method = FullDomain(k=2, quasi_identifiers={"age": Ranges((10, 20))})
    >>> method.anonymise({"age": [41, 47, 42]}).to_dict()["age"]
    ['40–49', '40–49', '40–49']
    """

    k: int = 5
    quasi_identifiers: Mapping[str, Hierarchy | None] | Sequence[str]
    """Columns without a hierarchy are published or not (`Flat`); numbers need one."""
    suppress: Number = 0
    """The largest share of rows that may be left out."""
    loss: str = "certainty"
    """What is to be least: see `losses`."""
    criteria: Sequence[Demand] = ()

    def __post_init__(self) -> None:
        checks.whole(k=self.k)
        checks.share(suppress=self.suppress)
        checks.one_of(LOSSES, loss=self.loss)
        checked_names(self.quasi_identifiers)

    def anonymise(self, table: Any, *, drop: Sequence[str] = ()) -> GeneralisedTable:
        """Put labels in place of the quasi-identifiers.

        Args:
            table: Columns by name, rows as dicts, or a data frame.
            drop: Names of columns to leave out, such as names of people.

        Returns:
            The published rows, which rows were suppressed, and what was lost.

        Raises:
            InvalidParameter: If no way of generalising meets the criteria, or if the columns do not fit.
        """
        original = Original.of(table, list(self.quasi_identifiers), drop, self.k)
        ladders, codes = self._ladders(original)
        lattice = _Lattice(ladders, codes, self, sensitive_columns(original.columns, self.criteria))
        good = lattice.good()
        if not good.any():
            why = "no way of generalising meets them, not even '*' in all columns"
            raise InvalidParameter("criteria", len(self.criteria), why, "Demand less, or allow to suppress more.")
        best = lattice.best(good)
        return self._published(original, lattice, best, lattice.minimal(good))

    def _ladders(self, original: Original) -> tuple[list[Ladder], list[Integers]]:
        ladders, places = [], []
        for name, (codes, kinds) in zip(original.names, original.codes(), strict=True):
            given = self.quasi_identifiers[name] if isinstance(self.quasi_identifiers, Mapping) else None
            if given is None and not are_numbers(kinds):
                given = Flat()
            if given is None or not hasattr(given, "ladder"):
                why = "a column that is generalised as a whole needs levels"
                raise InvalidParameter("quasi_identifiers", name, why, f"Write {{{name!r}: Ranges((5, 10, 20))}}.")
            ladders.append(given.ladder(kinds))
            places.append(ladders[-1].place[codes])
        return ladders, places

    def _published(
        self, original: Original, lattice: _Lattice, best: Node, minimal: Sequence[Node]
    ) -> GeneralisedTable:
        look = lattice.look(best, lattice.whole)
        first = _first(look.member)[look.fine]  # a row of each class that is published
        fresh = np.cumsum(look.fine) - 1
        member = look.member[lattice.member]
        kept = np.flatnonzero(look.fine[member])
        steps = list(zip(lattice.ladders, lattice.whole.codes, best, strict=True))
        return original.published(
            [ladder.labels[level, codes[first]] for ladder, codes, level in steps],
            np.column_stack([ladder.shares[level, codes[first]] for ladder, codes, level in steps]),
            fresh[member[kept]],
            k=self.k,
            kept=kept,
            levels=dict(zip(original.names, best, strict=True)),
            minimal=tuple(dict(zip(original.names, node, strict=True)) for node in minimal),
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Rows that differ, column by column, and how often each occurs."""

    codes: NDArray[np.int32]
    weights: Integers

    def __len__(self) -> int:
        return len(self.weights)


@dataclass(frozen=True, slots=True, eq=False)
class _Look:
    """What the table is like at one node."""

    rows: _Rows
    """What was looked at: the distinct rows of the table, or those of a node below."""
    member: Integers
    """The class of each of them."""
    sizes: Integers
    fine: NDArray[np.bool_]
    """Which classes may be published."""
    suppressed: int


def _first(member: Integers) -> Integers:
    """A row of each class."""
    rows = np.empty(int(member.max()) + 1, np.intp)
    rows[member] = np.arange(len(member))
    return rows


class _Lattice:
    """All nodes over one table, which is kept as its distinct rows and how often each occurs."""

    def __init__(
        self,
        ladders: Sequence[Ladder],
        codes: Sequence[Integers],
        method: FullDomain,
        sensitive: Sequence[SensitiveColumn],
    ) -> None:
        self.ladders, self.method, self.sensitive = ladders, method, sensitive
        self.shape = tuple(ladder.height + 1 for ladder in ladders)
        if math.prod(self.shape) > LARGEST_LATTICE:
            why = f"there are {math.prod(self.shape):,} ways to generalise them, too many to try"
            raise InvalidParameter("quasi_identifiers", len(ladders), why, "Use fewer columns or levels, or Mondrian.")
        rows = len(codes[0])
        classes = classes_by(codes, rows)
        self.member = classes.member
        self.whole = _Rows(np.stack(codes).astype(np.int32)[:, _first(classes.member)], classes.sizes)
        self.rows, self.allowed = rows, math.floor(rows * as_written(method.suppress))
        self.bound = self._certainty() if method.loss == "certainty" else np.zeros(self.shape)
        """No node has less loss than this."""
        self.seen: dict[Node, int] = {}
        self.steps: dict[Node, _Rows] = {}

    def _certainty(self) -> Floats:
        """The certainty penalty of each node if nothing were suppressed: a suppressed row loses at least as much."""
        ways = zip(self.ladders, self.whole.codes, strict=True)
        means = [ladder.shares[:, codes] @ self.whole.weights for ladder, codes in ways]
        penalties: Floats = reduce(np.add.outer, means) / (self.rows * len(means))
        return penalties

    def look(self, node: Node, rows: _Rows | None = None) -> _Look:
        """The classes of a node, made from these rows, or from the fewest that will do."""
        rows = rows or self._below(node)
        keys, possible = np.zeros(len(rows), np.intp), 1
        for ladder, codes, level in zip(self.ladders, rows.codes, node, strict=True):
            groups = ladder.groups[level]
            keys, possible = keys * (groups[-1] + 1) + groups[codes], possible * (int(groups[-1]) + 1)
            if possible > max(DENSE * len(keys), LEAST_DENSE):
                keys = np.unique(keys, return_inverse=True)[1]
                possible = int(keys.max()) + 1
        present = np.bincount(keys, minlength=possible) > 0
        member = (np.cumsum(present) - 1)[keys]
        sizes = np.bincount(member, rows.weights).astype(np.intp)
        fine = sizes >= self.method.k
        for column in self.sensitive:
            fine &= column.met(column.counts(member[self.member], np.arange(self.rows), len(sizes)))
        return _Look(rows, member, sizes, fine, int(sizes[~fine].sum()))

    def _below(self, node: Node) -> _Rows:
        """The distinct rows of a node at most a level lower, which many nodes share; criteria need all rows."""
        step = tuple(level // 2 * 2 for level in node)
        if self.sensitive or not any(step):
            return self.whole
        if step not in self.steps:
            look = self.look(step, self.whole)
            if len(self.steps) == REMEMBERED:
                del self.steps[next(iter(self.steps))]
            self.steps[step] = _Rows(self.whole.codes[:, _first(look.member)], look.sizes)
        return self.steps[step]

    def suppressed(self, node: Node) -> int:
        """How many rows are in classes that may not be published."""
        if node not in self.seen:
            self.seen[node] = self.look(node).suppressed
        return self.seen[node]

    def loss(self, node: Node) -> float:
        """The loss of a node; what it says about the nodes above is kept in `bound`."""
        look, k, above = self.look(node), self.method.k, tuple(slice(level, None) for level in node)
        if self.method.loss == "certainty":
            lost = ~look.fine[look.member]
            steps = zip(self.ladders, look.rows.codes, node, strict=True)
            lost_more = sum(
                look.rows.weights[lost] @ (1 - ladder.shares[level, codes[lost]]) for ladder, codes, level in steps
            )
            return float(self.bound[node] + lost_more / (self.rows * len(node)))
        if self.method.loss == "discernibility":
            self._raise(above, discernibility(look.sizes))  # Σ |class|² over all classes grows from step to step
            return discernibility(look.sizes[look.fine], suppressed=look.suppressed)
        least = (self.rows - self.allowed) / len(look.sizes) / k  # there are no more classes further up
        self._raise(above, least)
        return average_class_size(look.sizes[look.fine], k=k)

    def _raise(self, above: tuple[slice, ...], bound: float) -> None:
        self.bound[above] = np.maximum(self.bound[above], bound)

    def good(self) -> NDArray[np.bool_]:
        """Which nodes suppress no more than allowed."""
        if self.sensitive and self.allowed:  # a class that fails may spoil another one, so one step up may be worse
            flat = [self.suppressed(node) <= self.allowed for node in np.ndindex(self.shape)]
            return np.array(flat).reshape(self.shape)
        known = np.zeros(self.shape, np.int8)
        while not known.all():
            way = self._way(known)
            low, high = -1, len(way)  # below low all are bad, from high on all are good
            while high - low > 1:
                middle = (low + high) // 2
                if self.suppressed(way[middle]) <= self.allowed:
                    known[tuple(slice(level, None) for level in way[middle])] = 1
                    high = middle
                else:
                    known[tuple(slice(level + 1) for level in way[middle])] = -1
                    low = middle
        return known > 0

    def _way(self, known: NDArray[np.int8]) -> list[Node]:
        """Steps upwards through nodes about which nothing is known, from a lowest one."""
        node: Node = tuple(int(level) for level in np.unravel_index(int(np.argmin(np.abs(known))), self.shape))
        way = [node]
        while True:
            steps = [
                (length - level, (*node[:axis], level + 1, *node[axis + 1 :]))
                for axis, (level, length) in enumerate(zip(node, self.shape, strict=True))
                if level + 1 < length
            ]
            steps = [step for step in steps if not known[step[1]]]
            if not steps:
                return way
            node = max(steps)[1]
            way.append(node)

    def best(self, good: NDArray[np.bool_]) -> Node:
        """The node of least loss, and among equals one that suppresses least."""
        waiting, least, best = good.copy(), (math.inf, 0), None
        while waiting.any():
            bounds = np.where(waiting, self.bound, np.inf)
            node: Node = tuple(int(level) for level in np.unravel_index(int(np.argmin(bounds)), self.shape))
            if bounds[node] > least[0]:
                break
            waiting[node] = False
            loss = self.loss(node), self.suppressed(node)
            if loss < least or best is None:
                least, best = loss, node
        assert best is not None
        return best

    def minimal(self, good: NDArray[np.bool_]) -> list[Node]:
        """The good nodes below which there is none."""
        lowest = good.copy()
        for axis in range(good.ndim):
            lower = np.roll(good, 1, axis)
            lower[(slice(None),) * axis + (0,)] = False
            lowest &= ~lower
        return [tuple(int(level) for level in node) for node in np.argwhere(lowest)]
