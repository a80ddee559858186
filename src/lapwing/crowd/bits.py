"""Rows of packed bits: drawn by the word, counted by columns without unpacking.

A counter stands upright: plane i holds bit i of 64 counts in each word. Two more rows and the lowest plane make a new
plane and a carry in five operations (a carry-save adder; Harley and Seal, in Muła, Kurz and Lemire 2018), and only
every second time is there a carry for the next plane: five word operations a row, whatever the number of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from lapwing.noise import bernoulli_bits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lapwing.noise import Entropy

WORD = 64
LANES = 1 << 14
"""Words that one operation works on: a few such arrays fit into the cache."""


def words_for(bits: int) -> int:
    """How many words hold so many bits."""
    return -(-bits // WORD)


def noise_rows(count: int, bits: int, probability: Fraction, entropy: Entropy) -> NDArray[np.uint64]:
    """`count` rows of `bits` independent bits, each one with exactly this probability; spare bits are 0."""
    width = words_for(bits)
    rows = bernoulli_bits(probability, count * width * WORD, entropy).reshape(count, width)
    if bits % WORD:
        rows[:, -1] &= np.uint64((1 << bits % WORD) - 1)
    return rows


def put(
    rows: NDArray[np.uint64], which: NDArray[np.integer], places: NDArray[np.integer], bits: NDArray[np.bool_]
) -> None:
    """Overwrite one bit of some rows: the one at its place."""
    column, shift = places >> 6, (places & 63).astype(np.uint64)
    rows[which, column] = rows[which, column] & ~(np.uint64(1) << shift) | bits.astype(np.uint64) << shift


def bits_at(rows: NDArray[np.uint64], places: NDArray[np.integer]) -> NDArray[np.uint64]:
    """One bit of each row: the one at its place."""
    found: NDArray[np.uint64] = rows[np.arange(len(rows)), places >> 6]
    return found >> (places & 63).astype(np.uint64) & np.uint64(1)


def pack(truths: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Truth values, 64 to a word, the first lowest."""
    packed = np.packbits(truths, bitorder="little")
    words = np.zeros(words_for(len(truths)), dtype="<u8")
    words.view(np.uint8)[: len(packed)] = packed
    return words.astype(np.uint64, copy=False)


def unpack_rows(rows: NDArray[np.uint64], bits: int) -> NDArray[np.uint8]:
    """One byte per bit."""
    as_bytes = np.ascontiguousarray(rows).astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(as_bytes.reshape(len(rows), 8 * rows.shape[1]), axis=1, count=bits, bitorder="little")


def ones(words: NDArray[np.uint64]) -> int:
    """How many bits are one."""
    return int(unpack_rows(words.reshape(1, -1), WORD * words.size).sum(dtype=np.int64))


def column_counts(rows: NDArray[np.uint64], bits: int) -> NDArray[np.int64]:
    """How many rows have a one in each column."""
    width = rows.shape[1]
    lanes = max(1, min(LANES // width, len(rows)))
    whole = len(rows) // lanes * lanes
    counter = Upright((lanes, width))
    for start in range(0, whole, lanes):
        counter.add(rows[start : start + lanes])
    totals: NDArray[np.int64] = counter.totals(bits).sum(axis=0)
    rest = rows[whole:]
    return totals + unpack_rows(rest, bits).sum(axis=0, dtype=np.int64) if len(rest) else totals


def grouped_column_counts(
    rows: NDArray[np.uint64], groups: NDArray[np.integer], size: int, bits: int
) -> Iterator[tuple[slice, NDArray[np.int64]]]:
    """For each of `size` groups, how many of its rows have a one in each column: a few groups at a time."""
    width = rows.shape[1]
    order = np.argsort(groups, kind="stable")
    lengths = np.bincount(groups, minlength=size)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    lanes = max(1, LANES // width)
    for first in range(0, size, lanes):
        here = slice(first, min(first + lanes, size))
        counts, begin = lengths[here], starts[here]
        most = int(counts.max(initial=0))
        if not most:
            continue
        counter = Upright((len(counts), width))
        for slot in range(most):
            if slot < int(counts.min()):
                counter.add(rows.take(order[begin + slot], axis=0))
            else:
                active = np.flatnonzero(counts > slot)
                layer = np.zeros((len(counts), width), dtype=np.uint64)
                layer[active] = rows.take(order[begin[active] + slot], axis=0)
                counter.add(layer)
        yield here, counter.totals(bits)


class Upright:
    """Counters for every bit of an array of words; what is added must not be changed afterwards."""

    __slots__ = ("_planes", "_shape", "_waiting")

    def __init__(self, shape: tuple[int, int]) -> None:
        self._shape = shape
        self._planes: list[NDArray[np.uint64]] = []
        self._waiting: list[NDArray[np.uint64] | None] = []

    def add(self, layer: NDArray[np.uint64], level: int = 0) -> None:
        """Count the bits of one more array, each for 2^level."""
        while True:
            if level == len(self._planes):
                if not layer.any():
                    return
                self._planes.append(np.zeros(self._shape, dtype=np.uint64))
                self._waiting.append(None)
            before, self._waiting[level] = self._waiting[level], None
            if before is None:
                self._waiting[level] = layer
                return
            layer = _carry(self._planes[level], before, layer)
            level += 1

    def totals(self, bits: int) -> NDArray[np.int64]:
        """The counts: one row for each row of words."""
        nothing = np.zeros(self._shape, dtype=np.uint64)
        level = 0
        while level < len(self._planes):  # what still waits finds company; carries may wait one plane higher
            if self._waiting[level] is not None:
                self.add(nothing, level)
            level += 1
        total = np.zeros((self._shape[0], bits), dtype=np.int64)
        for level, plane in enumerate(self._planes):
            total += unpack_rows(plane, bits).astype(np.int64) << level
        return total


def _carry(plane: NDArray[np.uint64], one: NDArray[np.uint64], other: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Add two arrays of bits to a plane; what does not fit is the carry."""
    half = plane ^ one
    carry = plane & one
    np.bitwise_xor(half, other, out=plane)
    half &= other
    carry |= half
    return carry
