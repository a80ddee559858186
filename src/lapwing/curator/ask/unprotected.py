"""The same answer without noise, for the owner of the rows: to teach, to compare, to see what bounds do by themselves.

**Not private.** It is no release and cannot become one: it has another type than an answer, no loss, and nothing that a
ledger could record. A table that has a ledger, or was opened for an analyst, refuses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import ceil
from typing import Any

from lapwing.curator.ask import checker
from lapwing.curator.ask.breaker import admit, read
from lapwing.curator.ask.columns import largest, look
from lapwing.curator.ask.pricing import DEFAULT_CONFIDENCE, Draw, Item, Keys, Noise, Picks, Tops
from lapwing.curator.ask.question import Question
from lapwing.curator.ask.release import afterwards
from lapwing.curator.ask.tree_noise import LevelKeys, TreeNoise
from lapwing.curator.plan.rollups import Rollup
from lapwing.curator.show.answer import Column, Table
from lapwing.curator.show.progress import shown
from lapwing.errors import InvalidParameter
from lapwing.mechanisms import Tree, TreeEstimate
from lapwing.mechanisms.quantile_draw import Cell
from lapwing.noise import SYSTEM, Entropy

WARNING = (
    "NOT PRIVATE. These are exact numbers without noise, for the owner of the data only. "
    "Do not pass them on. Nothing was spent or written."
)
FEWEST = 2
"""Units of a secret key that is shown. A key of one unit has the chance δ in a release, whatever its epsilon is."""


@dataclass(frozen=True, slots=True, repr=False)
class Unprotected:
    """What a question would answer without noise: bounded and clamped like a release, and not private.

    Attributes:
        columns: The keys and the exact values.

    >>> patients.agg(lw.count()).unprotected()["count"]
    (3000,)
    >>> isinstance(patients.agg(lw.count()).unprotected(), lw.Unprotected)
    True
    """

    columns: tuple[Column, ...]

    @property
    def table(self) -> Table:
        """The rows."""
        return Table(self.columns)

    def __getitem__(self, place: Any) -> Any:
        """The values of a column, by its name; or a row, by its number."""
        return self.table[place]

    def __repr__(self) -> str:
        return f"{WARNING}\n\n{self.table}"

    def _repr_html_(self) -> str:
        return f"<p><strong>{WARNING}</strong></p>{self.table._repr_html_()}"


def unprotected(query: Question, *, progress: bool = True) -> Unprotected:
    """The values that noise would be added to. `Query.unprotected` says the rest."""
    context = query.context
    context.releaser.refuse_step("unprotected")
    if context.analyst is not None:
        why = "these are exact numbers, and this table was opened for an analyst"
        raise InvalidParameter("analyst", context.analyst, why, "Let the owner open it, without analyst=.")
    if context.ledger is not None:
        why = "this table has a privacy budget, and an answer without noise would use up all of it"
        raise InvalidParameter("ledger", context.ledger, why, "Let the owner open it again, without ledger=.")
    checker.check(query)
    admit(context)
    items = _items(query)
    with shown("reading", progress):
        columns = read(context, partial(look, query, items, DEFAULT_CONFIDENCE, entropy=SYSTEM))
    notes = {bound.output: bound.note for bound in query.bounds}
    bare = (replace(column, noise=None, interval=None, note=notes.get(column.name, "")) for column in columns)
    return Unprotected(afterwards(query, tuple(bare)))


def _items(query: Question) -> tuple[Item, ...]:
    """What a release consists of, each item without its noise. No budget is shared out, so all have the same size."""
    unit, size = query.context.unit, Fraction(1)
    if query.top is not None:
        return (_Tops(query.top.most, query.grouping.size, size, False, unit, (query.top.output,)),)
    if query.rollup is not None:
        return _tree_items(query, query.rollup)
    keys = [_Keys(size, False, Fraction(0), query.effective, unit)] if query.grouping.secret else []
    sums = [_Statistic(statistic, size, False, query.effective, unit, ()) for statistic in query.statistics]
    picks = dict.fromkeys(bound.pick for bound in query.bounds if bound.pick is not None)
    return (*keys, *sums, *(_Picks(pick, size, False, query.effective, unit, ()) for pick in picks))


def _tree_items(query: Question, rollup: Rollup) -> tuple[Item, ...]:
    """The same of a rollup."""
    unit, size, bounding, keys = query.context.unit, Fraction(1), query.effective, query.grouping.keys
    secret = [
        _LevelKeys(size, False, Fraction(0), bounding, unit, level=key.name, depth=depth)
        for depth, key in enumerate(keys)
        if key.values is None
    ]
    nodes = None if secret else query.nodes[0]
    statistics = [statistic for bound in query.bounds for statistic in bound.statistics]
    return (*secret, *(_Tree(what, size, False, bounding, unit, (), rollup, nodes) for what in statistics))


@dataclass(frozen=True, slots=True)
class _LevelKeys(LevelKeys):
    """The secret keys of a level that are not about one unit alone."""

    def release(self, units: Sequence[int], entropy: Entropy) -> list[bool]:
        return [count >= FEWEST for count in units]


@dataclass(frozen=True, slots=True)
class _Tree(TreeNoise):
    """A statistic of every level as it is."""

    def release(self, tree: Tree, leaves: Sequence[int], entropy: Entropy) -> TreeEstimate:
        import numpy as np

        exact = tuple(tree.sums(np.array(leaves, dtype=object)))
        return TreeEstimate(tree, exact, exact)

    def intervals(self, tree: Tree, estimate: TreeEstimate, confidence: Any) -> list[tuple[Any, Any]]:
        return [(level, level) for level in estimate.levels]


@dataclass(frozen=True, slots=True)
class _Statistic(Noise):
    """A statistic as it is."""

    def half_width(self, confidence: Any) -> float:
        return 0.0

    def release(self, values: Sequence[int], entropy: Entropy) -> list[int]:
        return list(values)


@dataclass(frozen=True, slots=True)
class _Keys(Keys):
    """The secret keys that are not about one unit alone."""

    def release(self, units: Sequence[int], entropy: Entropy) -> list[bool]:
        return [count >= FEWEST for count in units]


@dataclass(frozen=True, slots=True)
class _Tops(Tops):
    """The most frequent keys; of equal ones the first."""

    def release(self, scores: Sequence[int], entropy: Entropy) -> list[int]:
        return largest(scores, self.most)


@dataclass(frozen=True, slots=True)
class _Picks(Picks):
    """Quantiles by their very rank."""

    def draws(self, groups: Iterable[Iterable[tuple[int, int, int]]], entropy: Entropy) -> list[Draw]:
        low, high = self.pick.grid.steps
        return [_Rank(cells, self.pick.share, (low + high) // 2) for cells in groups]


class _Rank:
    """The smallest value that so large a share lies at or below: found in a cell, then among the values in it."""

    def __init__(self, cells: Iterable[tuple[int, int, int]], share: Fraction, middle: int) -> None:
        ascending = [Cell(*cell) for cell in cells]
        self.wanted: Cell | None = None
        self.value = middle
        """A draw from no values is uniform between the bounds, and this is its mean."""
        self._left = max(1, ceil(share * sum(cell.count for cell in ascending)))
        for cell in ascending:
            if cell.count >= self._left:
                self.value, self.wanted = cell.start, cell if cell.width > 1 else None
                return
            self._left -= cell.count

    def refine(self, starts: Iterable[int], counts: Iterable[int]) -> None:
        """The distinct values of the wanted cell in ascending order, and how often each occurs."""
        self.wanted = None
        for self.value, count in zip(starts, counts, strict=True):
            if count >= self._left:
                return
            self._left -= count
