"""What one server holds: its share of the bits of all rows that were taken in, by column, and of their totals.

Bits lie on disk packed along the rows, one line for each bit of the layout, so that a question reads the lines that it
needs. Totals of columns are additive shares, so questions about one column need no row at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lapwing.pair.domains import Layout
from lapwing.pair.transfers import Words

Packed = NDArray[np.uint8]
"""Bits of rows, eight in a byte."""


@dataclass(frozen=True)
class Batch:
    """Rows that were taken in together."""

    lines: NDArray[np.uint8]
    """One for each bit of the layout; in memory, or on disk."""
    count: int

    def blocks(self, most: int) -> Iterator[tuple[slice, int]]:
        """Parts of at most so many rows: where their bytes are, and how many rows they have."""
        step = max(8, most // 8 * 8)
        for start in range(0, self.count, step):
            count = min(step, self.count - start)
            yield slice(start // 8, start // 8 + -(-count // 8)), count


@dataclass
class Holdings:
    """All batches, and the totals of every bit of a row."""

    layout: Layout
    batches: Sequence[Batch] = ()
    totals: Words = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))

    def __post_init__(self) -> None:
        if not len(self.totals):
            self.totals = np.zeros(self.layout.row_bits, dtype=np.uint64)

    @property
    def count(self) -> int:
        """Of rows, which everybody knows."""
        return sum(batch.count for batch in self.batches)


def packed(shares: Sequence[bytes], layout: Layout, block: int = 1 << 13) -> Packed:
    """Rows as they came, turned into lines of bits."""
    lines = np.empty((layout.bits, -(-len(shares) // 8)), dtype=np.uint8)
    for start in range(0, len(shares), block):
        part = shares[start : start + block]
        data = np.frombuffer(b"".join(part), dtype=np.uint8).reshape(len(part), layout.bytes)
        bits = np.unpackbits(data, axis=1, count=layout.bits, bitorder="little")
        turned = np.packbits(np.ascontiguousarray(bits.T), axis=1, bitorder="little")
        lines[:, start // 8 : start // 8 + turned.shape[1]] = turned
    return lines


def chosen(lines: Packed, keep: NDArray[np.bool_]) -> Packed:
    """The rows that are kept."""
    count = len(keep)
    kept = np.empty((len(lines), -(-int(keep.sum()) // 8)), dtype=np.uint8)
    for place, line in enumerate(lines):
        bits = np.unpackbits(line, count=count, bitorder="little")
        kept[place] = np.packbits(bits[keep], bitorder="little")
    return kept


def opened(path: Path, layout: Layout, count: int) -> Batch:
    """A batch on disk."""
    return Batch(np.memmap(path, dtype=np.uint8, mode="r", shape=(layout.bits, -(-count // 8))), count)
