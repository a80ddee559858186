"""Cell suppression: small counts of a table are hidden, and further cells so that the totals do not reveal them.

A table of counts by row and column is printed with its totals. *Primary* suppression hides counts from 1 to one below
the threshold (zeros stay: they are nobody's). Alone it hides nothing: a total less the other cells of the row is the
hidden cell. *Complementary* suppression hides further cells until the totals leave room (Cox 1980, Suppression
methodology and statistical disclosure control).

What it protects: against somebody who knows the totals and nothing else, a small cell is only known within an interval.
What it does not: somebody who knows one of the other hidden cells subtracts again, and a second table with other
breakdowns of the same people adds equations.

>>> counts = {"North": {"flu": 40, "HIV": 2}, "South": {"flu": 31, "HIV": 9}, "West": {"flu": 52, "HIV": 6}}
>>> bare = CellSuppression(threshold=5, complementary=False).publish(counts)
>>> intervals(bare)
{('North', 'HIV'): (2, 2)}
>>> intervals(CellSuppression(threshold=5).publish(counts))[("North", "HIV")]
(1, 10)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from lapwing import checks
from lapwing.anonymity.table import columns_of, named
from lapwing.errors import InvalidParameter

Cell = tuple[str, str]
"""A row and a column."""
Counts = Mapping[str, Mapping[str, int]]
"""Counts by row and column."""


@dataclass(frozen=True, slots=True)
class Printed:
    """What is published: cells, some of them hidden, and all totals.

    Attributes:
        cells: The count of each cell, by row and column; None if it is hidden.
        row_totals: The total of each row.
        column_totals: The total of each column.

    >>> counts = {"North": {"flu": 40, "HIV": 2}, "South": {"flu": 31, "HIV": 9}}
    >>> printed = CellSuppression(threshold=5, complementary=False).publish(counts)
    >>> printed.cells["North", "flu"], printed.hidden, printed.row_totals["North"]
    (40, [('North', 'HIV')], 42)
    """

    cells: dict[Cell, int | None]
    row_totals: dict[str, int]
    column_totals: dict[str, int]

    @property
    def hidden(self) -> list[Cell]:
        """The cells that are not printed."""
        return [cell for cell, count in self.cells.items() if count is None]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSuppression:
    """Hides small counts of a table, and further cells so that the totals do not tell them.

    Args:
        threshold: Counts from 1 to one below it are hidden.
        complementary: Whether to hide further cells too: the other three corners of a rectangle, the cheapest one
            (fewest people hidden) that leaves the small cell an interval of at least `threshold` values. This is the
            hypercube method (Repsilber 1994). Raising one corner and its opposite by as much as the two others are
            lowered keeps all totals, which proves the width.

    Raises:
        InvalidParameter: If threshold is not a whole number from 2 on, or if complementary is neither True nor False.

    >>> counts = {"North": {"flu": 40, "HIV": 2}, "South": {"flu": 31, "HIV": 9}}
    >>> CellSuppression(threshold=5, complementary=False).publish(counts).hidden
    [('North', 'HIV')]
    """

    threshold: int = 5
    complementary: bool = True

    def __post_init__(self) -> None:
        checks.whole(threshold=self.threshold, minimum=2)
        checks.true_or_false(complementary=self.complementary)

    def publish(self, counts: Counts) -> Printed:
        """The table as it is printed.

        Args:
            counts: Counts by row and column; every row has the same columns.

        Returns:
            The cells, None for those that are hidden, and all totals.

        Raises:
            InvalidParameter: If a small cell cannot be hidden, or if the counts are not a table of whole numbers.
        """
        cells, rows, columns = _flat(counts)
        small = [cell for cell, count in cells.items() if 0 < count < self.threshold]
        hidden = set(small)
        if self.complementary:
            for cell in small:
                hidden |= self._rectangle(cell, cells, rows, columns, hidden)
        return Printed(
            {cell: None if cell in hidden else count for cell, count in cells.items()},
            {row: sum(cells[row, column] for column in columns) for row in rows},
            {column: sum(cells[row, column] for row in rows) for column in columns},
        )

    def _rectangle(
        self, cell: Cell, cells: Mapping[Cell, int], rows: Sequence[str], columns: Sequence[str], hidden: set[Cell]
    ) -> set[Cell]:
        """The cheapest corners that protect a cell, given what is hidden already."""

        def candidates() -> Iterator[tuple[int, tuple[Cell, Cell, Cell]]]:
            row, column = cell
            for other_row, other_column in product(rows, columns):
                if other_row == row or other_column == column:
                    continue
                corners = (row, other_column), (other_row, column), (other_row, other_column)
                if all(cells[corner] for corner in corners) and self._width(cell, corners, cells) >= self.threshold:
                    yield sum(cells[corner] for corner in corners if corner not in hidden), corners

        cheapest = min(candidates(), default=None)
        if cheapest is None:
            why = "no three other cells can hide a small one of them"
            raise InvalidParameter("counts", f"<{len(rows)} × {len(columns)}>", why, "Merge rows or columns first.")
        return set(cheapest[1])

    @staticmethod
    def _width(cell: Cell, corners: tuple[Cell, Cell, Cell], cells: Mapping[Cell, int]) -> int:
        """How many values the cell may have if nothing but its rectangle is hidden; every hidden cell is at least 1."""
        beside, below, opposite = (cells[corner] for corner in corners)
        return min(beside - 1, below - 1) + min(cells[cell] - 1, opposite - 1) + 1


def intervals(
    printed: Printed, *, known: Mapping[Cell, int] | None = None, only: Sequence[Cell] | None = None
) -> dict[Cell, tuple[int, int]]:
    """The least and the largest value that each hidden cell can have, from the totals and what else is `known`.

    Exact: the constraints are those of a transportation problem, whose extreme points are whole numbers.
    """
    import numpy as np
    from scipy.optimize import linprog

    hidden, known = printed.hidden, known or {}
    if not hidden:
        return {}
    lines = [(0, row, total) for row, total in printed.row_totals.items()]
    lines += [(1, column, total) for column, total in printed.column_totals.items()]
    shown = Counter[tuple[int, str]]()
    for cell, count in printed.cells.items():
        for axis in (0, 1):
            shown[axis, cell[axis]] += count or 0
    matrix = np.array([[float(cell[axis] == name) for cell in hidden] for axis, name, _total in lines])
    rest = np.array([total - shown[axis, name] for axis, name, total in lines], dtype=float)
    limits = [(known.get(cell, 1), known.get(cell)) for cell in hidden]
    ranges = {}
    for cell in hidden if only is None else only:
        aim = np.array([float(other == cell) for other in hidden])
        ends = [linprog(sign * aim, A_eq=matrix, b_eq=rest, bounds=limits, method="highs") for sign in (1, -1)]
        if not all(end.success for end in ends):
            raise InvalidParameter("known", dict(known), "contradicts the totals", "Leave out what is not certain.")
        ranges[cell] = round(ends[0].fun), round(-ends[1].fun)
    return ranges


def cross(table: Any, *, rows: str, columns: str) -> dict[str, dict[str, int]]:
    """Counts of records by the values of two columns.

    >>> cross({"town": ["A", "A", "B"], "sex": ["f", "m", "f"]}, rows="town", columns="sex")
    {'A': {'f': 1, 'm': 1}, 'B': {'f': 1, 'm': 0}}
    """
    data = columns_of(table)
    down, across = (list(map(str, data[name])) for name in named(data, rows_and_columns=(rows, columns)))
    tally = Counter(zip(down, across, strict=True))
    kinds = sorted(set(across))
    return {row: {kind: tally[row, kind] for kind in kinds} for row in sorted(set(down))}


def _flat(counts: Counts) -> tuple[dict[Cell, int], list[str], list[str]]:
    rows = list(counts)
    columns = list(counts[rows[0]]) if rows else []
    if not columns or any(list(counts[row]) != columns for row in rows):
        why = "every row must have the same columns, in the same order"
        raise InvalidParameter("counts", f"<{len(rows)} rows>", why, "Write {'A': {'yes': 3, 'no': 4}, 'B': {…}}.")
    cells = {(row, column): counts[row][column] for row in rows for column in columns}
    for count in cells.values():
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise InvalidParameter("counts", "<withheld>", "must be whole numbers of at least 0", "Count people.")
    return cells, rows, columns
