"""Marginals of one table that agree with each other: exact weighted least squares, interaction by interaction.

All of it is post-processing of noisy counts. A table over the columns S is a sum of interactions, one for each T ⊆ S
(the total, what each column adds, what two columns add together, …). Interactions are orthogonal, and summing a noisy
table over some columns keeps its noise equally spread over the rest. So the best estimate of each interaction is the
weighted mean of what every noisy table says about it, and tables that are made of these interactions agree.
Proof: marginals.md
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.errors import InvalidParameter, UnsupportedQuery

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_COLUMNS = 8
"""Columns of one marginal: it has two to that power of interactions."""
FINEST = 20
"""Bits below one in what is returned, where the numbers leave room for them."""
_EXACT = 53

Columns = tuple[int, ...]
Table = Any
"""An array with one axis for each column of a marginal."""


@dataclass(frozen=True, slots=True)
class _Fill:
    """A marginal whose whole numbers are found when those over some of its columns are known."""

    columns: Columns
    known: Columns


@dataclass(frozen=True)
class Family:
    """Which marginals are released: the number of values of each column, and the columns of each marginal.

    >>> family = Family((2, 3), ((0, 1), (0,)))
    >>> tables = family.reconciled([[[5, 1, 2], [0, 4, 1]], [10, 4]], [1.0, 1.0])
    >>> [table.tolist() for table in tables[1:]], tables[0].sum(axis=1).tolist()
    ([[9.5, 4.25]], [9.5, 4.25])
    """

    sizes: tuple[int, ...]
    sets: tuple[Columns, ...]

    def __post_init__(self) -> None:
        for size in self.sizes:
            checks.whole(sizes=size)
        if not self.sets or len(set(self.sets)) < len(self.sets):
            raise InvalidParameter("marginals", self.sets, "must be different, and one at least", "Leave one out.")
        for columns in self.sets:
            if tuple(sorted(set(columns))) != columns or not set(columns) <= set(range(len(self.sizes))):
                raise InvalidParameter("marginals", columns, "must name columns once, in order", "Write (0, 2).")
            if len(columns) > MOST_COLUMNS:
                why = f"{len(columns)} columns have too many interactions"
                raise InvalidParameter("marginals", columns, why, f"Name at most {MOST_COLUMNS} columns.")

    @cached_property
    def interactions(self) -> tuple[Columns, ...]:
        """The sets of columns below any marginal, small ones first."""
        below = {part for columns in self.sets for part in subsets(columns)}
        return tuple(sorted(below, key=lambda part: (len(part), part)))

    def cells(self, columns: Columns) -> int:
        """How many cells a marginal over these columns has."""
        return math.prod(self.sizes[column] for column in columns)

    def shape(self, columns: Columns) -> tuple[int, ...]:
        """The shape of its table."""
        return tuple(self.sizes[column] for column in columns)

    # ------------------------------------------------------------------------------------------------- estimation

    def spreads(self, spreads: Sequence[float]) -> dict[Columns, float]:
        """The variance of the estimate of each interaction, if the noise of each marginal has these variances."""
        return {
            part: 1
            / math.fsum(1 / self._spread(columns, part, spread) for columns, spread in self._above(part, spreads))
            for part in self.interactions
        }

    def variance(self, columns: Columns, spreads: Sequence[float]) -> float:
        """The variance of one cell over these columns, all of which must be in one marginal."""
        below, total = self.spreads(spreads), []
        for part in subsets(columns):
            inside = math.prod(1 - 1 / self.sizes[column] for column in part)
            rest = self.cells(columns) // self.cells(part)
            total.append(below[part] * inside / rest**2)
        return math.fsum(total)

    def reconciled(self, noisy: Sequence[Any], spreads: Sequence[float]) -> list[NDArray[np.float64]]:
        """The tables of all marginals, which agree exactly: in doubles, in whatever order cells are added up."""
        import numpy as np

        tables = [np.asarray(table, dtype=np.float64).reshape(self.shape(columns))
                  for columns, table in zip(self.sets, noisy, strict=True)]  # fmt: skip
        estimates: dict[Columns, Any] = {}
        for part in self.interactions:
            weight, mean = 0.0, np.zeros(self.shape(part))
            for columns, spread, table in zip(self.sets, spreads, tables, strict=True):
                if set(part) <= set(columns):
                    share = 1 / self._spread(columns, part, spread)
                    mean = mean + share * _centred(_summed(table, columns, part))
                    weight += share
            estimates[part] = mean / weight
        rough = {part: self._assembled(part, estimates) for part in self.interactions}
        exact = self._agreeing(rough)
        return [exact[columns] for columns in self.sets]

    def _above(self, part: Columns, spreads: Sequence[float]) -> list[tuple[Columns, float]]:
        pairs = zip(self.sets, spreads, strict=True)
        return [(columns, spread) for columns, spread in pairs if set(part) <= set(columns)]

    def _spread(self, columns: Columns, part: Columns, spread: float) -> float:
        """Of a marginal, summed over the columns that are not in `part`: so many cells are added up."""
        return spread * (self.cells(columns) // self.cells(part))

    def _assembled(self, columns: Columns, estimates: Mapping[Columns, Any]) -> Table:
        """A table from its interactions; each is spread evenly over the cells of the other columns."""
        import numpy as np

        table = np.zeros(self.shape(columns))
        for part in subsets(columns):
            places = [self.sizes[column] if column in part else 1 for column in columns]
            table += estimates[part].reshape(places) / (self.cells(columns) // self.cells(part))
        return table

    def _agreeing(self, rough: Mapping[Columns, Table]) -> dict[Columns, NDArray[np.float64]]:
        """The same on a fine grid, where sums are exact.

        All cells in which no column has its last value are rounded to the grid. The others are what is missing to the
        sums over fewer columns, so every sum holds in whole numbers, whatever was rounded.
        """
        import numpy as np

        largest = max(float(np.abs(table).sum()) for table in rough.values())
        scale = math.ldexp(1.0, min(FINEST, _EXACT - 2 - math.frexp(largest + 1)[1]))
        whole: dict[Columns, Any] = {}
        for part in self.interactions:
            table = np.rint(rough[part][(slice(-1),) * len(part)] * scale)
            for axis, column in enumerate(part):
                others = tuple(other for other in part if other != column)
                known = whole[others][(slice(None),) * axis + (slice(-1),) * (len(part) - axis - 1)]
                missing = np.expand_dims(known - table.sum(axis=axis), axis)
                table = np.concatenate([table, missing], axis=axis)
            whole[part] = table
        return {part: table / scale for part, table in whole.items()}

    # ---------------------------------------------------------------------------------------------- whole numbers

    @cached_property
    def whole_order(self) -> tuple[_Fill, ...]:
        """In which order whole numbers can be found such that all marginals agree; refused if there is none.

        The columns of the marginals must form a tree (a junction tree): each marginal meets those before it in columns
        that one of them has.
        """
        largest = [columns for columns in self.sets if not any(set(columns) < set(other) for other in self.sets)]
        order, left = [_Fill(largest[0], ())], largest[1:]
        while left:
            seen = {column for fill in order for column in fill.columns}
            best = max(left, key=lambda columns: max(len({*columns} & {*fill.columns}) for fill in order))
            shared = tuple(column for column in best if column in seen)
            if not any(set(shared) <= set(fill.columns) for fill in order):
                why = (
                    "these marginals form a ring, and whole numbers that are not negative may not agree in all of them"
                )
                hint = "Leave one marginal out, name one with all columns of the ring, or leave the numbers unrounded."
                raise UnsupportedQuery(f"marginals {list(self.sets)}", why, hint)
            order.append(_Fill(best, shared))
            left.remove(best)
        if len(order) > 1:  # what several marginals share is rounded first, from the total
            shared = order[1].known
            order = [_Fill(shared, ()), _Fill(order[0].columns, shared), *order[1:]]
        return tuple(order)

    def whole_numbers(self, tables: Sequence[Any]) -> list[NDArray[np.int64]]:
        """Whole numbers near the tables, none below 0, that agree exactly.

        The total is rounded first. What is known over some columns is then shared out among the cells below each of
        its cells: the nearest shares (least squares) that are not negative and add up, rounded by largest remainders.
        """
        import numpy as np

        near = dict(zip(self.sets, (np.asarray(table, dtype=np.float64) for table in tables), strict=True))
        first = next(iter(near.values()))
        filled: dict[Columns, Any] = {(): np.array(max(0, round(float(first.sum()))), dtype=np.int64)}
        for columns, known in ((fill.columns, fill.known) for fill in self.whole_order):
            targets, totals = _below(near, columns), _below(filled, known)
            rest = tuple(column for column in columns if column not in known)
            order = [columns.index(column) for column in (*known, *rest)]
            flat = np.transpose(targets, order).reshape(max(1, self.cells(known)), -1)
            shared = share_out(flat, totals.reshape(-1)).reshape(self.shape((*known, *rest)))
            filled[columns] = np.transpose(shared, np.argsort(order)) if order else shared
        return [_below(filled, columns) for columns in self.sets]


def share_out(targets: NDArray[np.float64], totals: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each line, whole numbers near the targets, none below 0, that add up to the total of the line.

    >>> import numpy as np
    >>> share_out(np.array([[3.4, -2.0, 1.4]]), np.array([4])).tolist()
    [[3, 0, 1]]
    """
    import numpy as np

    lines, width = targets.shape
    falling = -np.sort(-targets, axis=1)
    excess = (np.cumsum(falling, axis=1) - totals[:, None]) / np.arange(1, width + 1)
    kept = np.maximum(1, np.count_nonzero(falling > excess, axis=1))
    shares = np.maximum(targets - excess[np.arange(lines), kept - 1][:, None], 0.0)
    floors = np.floor(shares + 1e-9).astype(np.int64)
    missing = totals - floors.sum(axis=1)
    order = np.argsort(-(shares - floors), axis=1, kind="stable")
    turns, short = np.divmod(missing, width)  # 0 turns, unless doubles are very large
    extra = np.empty_like(floors)
    np.put_along_axis(extra, order, (np.arange(width) < short[:, None]).astype(np.int64), axis=1)
    shared: NDArray[np.int64] = np.maximum(floors + extra + turns[:, None], 0)
    return shared


def subsets(columns: Columns) -> list[Columns]:
    """All subsets, small ones first."""
    return [part for size in range(len(columns) + 1) for part in combinations(columns, size)]


def _summed(table: Table, columns: Columns, part: Columns) -> Table:
    return table.sum(axis=tuple(i for i, column in enumerate(columns) if column not in part))


def _centred(table: Table) -> Table:
    """What is left of a table when everything that fewer columns explain is taken out."""
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def _below(tables: Mapping[Columns, Any], columns: Columns) -> Table:
    """The sums over these columns, from a table that has them all."""
    above = next(known for known in tables if set(columns) <= set(known))
    return _summed(tables[above], above, columns)
