"""Values counted in cells, pass by pass, so that a quantile of a long column needs no sorting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from lapwing.exact import float_down, float_up
from lapwing.mechanisms.grid import SMALL
from lapwing.mechanisms.ladder import Ladder
from lapwing.mechanisms.quantile_draw import Cell
from lapwing.mechanisms.records import as_column

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_CELL_BITS = 12  # about so many cells that their counts stay in the cache
_BLOCK = 1 << 16  # so that what is computed on the way does
_FEW = 1 << 14  # values in one cell: they are sorted instead of counted in smaller cells

Counts = tuple[list[int], list[int], int]
"""First points of cells, numbers of values, and the width of the cells."""


class CellCounts:
    """The values of one release. Short columns are counted point by point, long ones in some thousand cells."""

    __slots__ = ("_ladder", "_long", "_on_grid", "_short")

    def __init__(self, data: Any, ladder: Ladder) -> None:
        records: Any = as_column(data)
        self._ladder, self._on_grid = ladder, False
        self._short: list[int] | None = None
        self._long: Any = records
        if isinstance(records, list) or len(records) <= SMALL or not _fits_doubles(records.dtype):
            steps: Any = ladder.rungs(records)
            self._short, self._on_grid = steps if isinstance(steps, list) else steps.tolist(), True
            if len(steps) > SMALL:
                with suppress(ImportError):
                    import numpy as np

                    self._long, self._short = np.asarray(steps, dtype=np.int64), None

    def cells(self) -> list[tuple[int, int, int]]:
        """Cells that together hold all values."""
        if self._short is not None:
            return [(value, 1, count) for value, count in sorted(Counter(self._short).items())]
        low, high = self._ladder.low, self._ladder.high
        starts, counts, width = self._count(Cell(low, high + 1 - low, 0))
        return [(start, min(width, high + 1 - start), n) for start, n in zip(starts, counts, strict=True)]

    def within(self, cell: Cell) -> Counts:
        """The values in one cell, or smaller cells that hold them."""
        if cell.count > _FEW:
            return self._count(cell)
        import numpy as np

        values, counts = np.unique(np.concatenate(list(self._blocks(cell))), return_counts=True)
        return values.tolist(), counts.tolist(), 1

    def _count(self, cell: Cell) -> Counts:
        import numpy as np

        shift = max((cell.width - 1).bit_length() - _CELL_BITS, 0)
        counts = np.zeros((cell.width - 1 >> shift) + 1, dtype=np.int64)
        for steps in self._blocks(cell):
            counts += np.bincount(steps - cell.start >> shift, minlength=len(counts))
        places = np.flatnonzero(counts)
        return ((places << shift) + cell.start).tolist(), counts[places].tolist(), 1 << shift

    def _blocks(self, cell: Cell) -> Iterator[NDArray[np.int64]]:
        """The steps of the values in a cell. Floats are compared with its ends before they are rounded."""
        whole = cell.width > self._ladder.width
        low, high = self._ends(cell)
        for start in range(0, len(self._long), _BLOCK):
            block = self._long[start : start + _BLOCK]
            if not whole and block.dtype.kind == "f":
                block = _kept(block, (block >= low) & (block <= high))
            steps: Any = block if self._on_grid else self._ladder.rungs(block)
            yield steps if whole else _kept(steps, (steps >= cell.start) & (steps < cell.start + cell.width))

    def _ends(self, cell: Cell) -> tuple[np.float64, np.float64]:
        """Doubles below and above every value in a cell; values beyond the bounds belong to the outermost cells."""
        import numpy as np

        low, high = (
            Fraction(2 * point - 1, 2) * self._ladder.granularity for point in (cell.start, cell.start + cell.width)
        )
        return (
            np.float64(float_down(low) if cell.start > self._ladder.low else -np.inf),
            np.float64(float_up(high) if cell.start + cell.width <= self._ladder.high else np.inf),
        )


def _kept(array: NDArray[Any], places: NDArray[np.bool_]) -> NDArray[Any]:
    """The entries at these places; a copy only if some are left out."""
    return array if places.all() else array[places]


def _fits_doubles(dtype: Any) -> bool:
    """Whether blocks of such an array are rounded by numpy."""
    return dtype.kind in "biuf" and dtype.itemsize <= 8
