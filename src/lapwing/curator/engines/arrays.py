"""Arrays of this process, counted by numpy in blocks that fit the cache: the integers of the engine, only faster.

For tables in which every row is a unit, when nothing but the counts of one numeric column is asked for. The integers
are those of the statements in `bins` and `compiler`: same clamps, same grid, same bins.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lapwing.curator.engines.bins import is_even
from lapwing.curator.plan.expressions import Call, Column, Constant, Expression
from lapwing.curator.plan.grids import GridExpression
from lapwing.curator.plan.nodes import Plan, Scan
from lapwing.curator.plan.statistics import Statistic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lapwing.curator.ask.question import Question

_BLOCK = 1 << 14
"""Values of a block. With more, what is computed from them neither stays in the cache nor in memory that is at hand."""
_NEAR = 2.0**-48
"""Quotients that come so near to a whole number, for every width of a bin that an edge is from 0, are compared with the
edges themselves: rounding errors are far smaller."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """One numeric column without a mask, in pieces."""

    pieces: tuple[Any, ...]

    def total(self, count: Callable[[Any], NDArray[np.int64]]) -> NDArray[np.int64]:
        """The sum of what `count` says about every block."""
        import numpy as np

        starts = [(piece, start) for piece in self.pieces for start in range(0, len(piece), _BLOCK)]
        workers = min(os.cpu_count() or 1, max(1, len(starts) // 8))

        def share(offset: int) -> Any:
            total = None
            with np.errstate(all="ignore"):  # whatever numpy was told to do about tiny numbers
                for piece, start in starts[offset::workers]:
                    counts = count(piece[start : start + _BLOCK])
                    total = counts if total is None else total + counts
            return total

        if workers == 1:
            return share(0)  # type: ignore[no-any-return]
        with ThreadPoolExecutor(workers) as pool:
            parts = [part for part in pool.map(share, range(workers)) if part is not None]
        return sum(parts[1:], parts[0])  # type: ignore[no-any-return]

    def select(self, choose: Callable[[Any], NDArray[np.int64]]) -> NDArray[np.int64]:
        """What `choose` takes of every block, together."""
        import numpy as np

        blocks = [piece[start : start + _BLOCK] for piece in self.pieces for start in range(0, len(piece), _BLOCK)]
        with np.errstate(all="ignore"):
            return np.concatenate([choose(block) for block in blocks])


def blocks_of(query: Question, value: Expression) -> Blocks | None:
    """The column that an expression is, if it is one of this process and nothing happens to its rows before."""
    plan: Plan = query.plan
    if not isinstance(plan, Scan) or not plan.each_row or not isinstance(value, Column):
        return None
    frame = query.context.relations[plan.table].frame
    if frame is None or value.kind not in ("integer", "number"):
        return None
    pieces = _pieces(frame, value.name)
    numbers = "iuf" if value.kind == "number" else "iu"  # of a double, the engine says whether it is whole
    are_plain = pieces and all(_is_plain(piece, numbers) for piece in pieces) and any(map(len, pieces))
    return Blocks(pieces) if pieces and are_plain else None


def _pieces(frame: Any, name: str) -> tuple[Any, ...] | None:
    """A column as arrays that share its memory; None if that takes a copy or a mask."""
    made_by = type(frame).__module__.partition(".")[0], type(frame).__name__
    if made_by == ("pandas", "DataFrame"):
        columns = [frame[label] for label in frame.columns if label == name]
        return (columns[0].array.to_numpy(),) if len(columns) == 1 and _is_own(columns[0].dtype) else None
    if made_by == ("polars", "DataFrame"):
        column = _chunked(frame[name].to_arrow()) if frame[name].null_count() == 0 else None
    elif made_by == ("pyarrow", "Table"):
        column = frame.column(name) if frame.column_names.count(name) == 1 else None
    else:
        return (frame[name],) if isinstance(frame, dict) and name in frame else None
    if column is None or column.null_count:
        return None
    return tuple(chunk.to_numpy(zero_copy_only=False) for chunk in column.chunks)


def _is_own(kind: Any) -> bool:
    """Whether it is a type of numpy: those of pandas have masks."""
    import numpy as np

    return isinstance(kind, np.dtype)


def _chunked(column: Any) -> Any:
    import pyarrow as pa

    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def _is_plain(piece: Any, numbers: str) -> bool:
    import numpy as np

    if type(piece) is not np.ndarray or piece.ndim != 1 or piece.dtype == np.uint64:
        return False
    return piece.dtype.kind in numbers and piece.dtype.itemsize <= 8


def bin_counts(query: Question) -> list[tuple[int, int]] | None:
    """The rows of each bin, if the question is a histogram of such a column."""
    keys = query.grouping.keys
    if (
        len(keys) != 1
        or query.statistics != (Statistic("rows"),)
        or any(bound.pick is not None for bound in query.bounds)
    ):
        return None
    place = keys[0].expression
    if not isinstance(place, Call) or place.operator != "bin" or keys[0].everything_else:
        return None
    edges = [float(edge.value) for edge in place.arguments[1:] if isinstance(edge, Constant)]
    blocks = blocks_of(query, place.arguments[0])
    if blocks is None:
        return None
    counter = _even_counter(edges) if is_even(edges) else _searching_counter(edges)
    return list(enumerate(blocks.total(counter).tolist()))


def _even_counter(edges: list[float]) -> Callable[[Any], NDArray[np.int64]]:
    import numpy as np

    table, bins, first, last = np.array(edges), len(edges) - 1, edges[0], edges[-1]
    scale = 1 / (edges[1] - edges[0])
    near = _NEAR * (bins + abs(first) * scale)

    def count(block: Any) -> NDArray[np.int64]:
        values = block if block.dtype == np.float64 else block.astype(np.float64)
        if first <= values.min() and values.max() < last:
            return inside(values)
        counts = inside(values[(values >= first) & (values < last)])  # without NaN
        counts[-1] += np.count_nonzero(values == last)
        return counts

    def inside(values: Any) -> NDArray[np.int64]:
        if not len(values):
            return np.zeros(bins, np.int64)
        quotients = (values - first) * scale if first else values * scale
        places = quotients.astype(np.int32)
        quotients -= places
        if quotients.min() < near or quotients.max() > 1 - near:
            np.minimum(places, bins - 1, out=places)
            places -= values < table[places]
            places += values >= table[places + 1]
        return np.bincount(places, minlength=bins)

    return count


def _searching_counter(edges: list[float]) -> Callable[[Any], NDArray[np.int64]]:
    import numpy as np

    table, bins = np.array(edges), len(edges) - 1

    def count(block: Any) -> NDArray[np.int64]:
        values = block.astype(np.float64)
        inside = values[(values >= edges[0]) & (values <= edges[-1])]
        places = np.minimum(np.searchsorted(table, inside, side="right"), bins) - 1
        return np.bincount(places, minlength=bins)

    return count


def cells_of(query: Question, grid: GridExpression) -> ArrayCells | None:
    """The values of such a column in cells, if they are not grouped."""
    blocks = None if query.grouping.keys else blocks_of(query, grid.expression)
    return None if blocks is None else ArrayCells(blocks, grid)


@dataclass(frozen=True, slots=True)
class ArrayCells:
    """Cells of a column on its grid."""

    blocks: Blocks
    grid: GridExpression

    def steps(self, block: Any) -> NDArray[np.int64]:
        """The values of a block that are numbers, on the grid."""
        import numpy as np

        if self.grid.is_whole:
            whole: NDArray[np.int64] = block.astype(np.int64)
            return np.clip(whole, int(self.grid.low), int(self.grid.high))
        values = block.astype(np.float64)
        if block.dtype.kind == "f" and not (math.isfinite(values.min()) and math.isfinite(values.max())):
            values = values[np.isfinite(values)]
        np.clip(values, float(self.grid.low), float(self.grid.high), out=values)
        values *= math.ldexp(1.0, self.grid.exponent)
        values += 0.5
        steps: NDArray[np.int64] = np.floor(values, out=values).astype(np.int64)
        return steps

    def coarse(self, low: int, shift: int) -> Iterable[tuple[int, int]]:
        """The number of each cell that has values, and how many, ascending."""
        import numpy as np

        cells = ((self.grid.steps[1] - low) >> shift) + 1

        def count(block: Any) -> NDArray[np.int64]:
            steps = self.steps(block)
            steps -= low
            steps >>= shift
            return np.bincount(steps, minlength=cells)

        counts = self.blocks.total(count)
        occupied = np.flatnonzero(counts)
        return zip(occupied.tolist(), counts[occupied].tolist(), strict=True)

    def finer(self, wanted: Mapping[tuple[Any, ...], tuple[int, int]]) -> dict[tuple[Any, ...], Any]:
        """The values of the wanted cell of the one group there is, ascending, and how often each occurs."""
        import numpy as np

        [(group, (first, last))] = wanted.items()

        def choose(block: Any) -> NDArray[np.int64]:
            steps = self.steps(block)
            return steps[(steps >= first) & (steps <= last)]

        values, counts = np.unique(self.blocks.select(choose), return_counts=True)
        return {group: (values.tolist(), counts.tolist())}
