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

from lapwing.crowd.threads import one_by_one, parts
from lapwing.noise import bernoulli_bits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lapwing.noise import Entropy

WORD = 64
LANES, GROUPED_LANES = 1 << 13, 1 << 14
"""Words that one operation works on: a few such arrays fit into the cache."""
FEW = 64
"""Rows that are counted faster one by one."""


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
    words: NDArray[np.uint64] = rows[np.arange(len(rows)), places >> 6]
    return words >> (places & 63).astype(np.uint64) & np.uint64(1)


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
    """How many rows have a one in each column. Planes are rows again, fewer, each worth a power of two."""
    if len(rows) <= FEW:
        few: NDArray[np.int64] = unpack_rows(rows, bits).sum(axis=0, dtype=np.int64)
        return few
    lanes = max(1, min(LANES // rows.shape[1], len(rows) // 8))
    whole = len(rows) // lanes * lanes
    counter = BitCounters((lanes, rows.shape[1]))
    for start in range(0, whole, lanes):
        counter.add(rows[start : start + lanes])
    total = column_counts(rows[whole:], bits)
    for place, plane in enumerate(counter.planes()):
        total += column_counts(plane, bits) << place
    return total


def grouped_column_counts(
    rows: NDArray[np.uint64], groups: NDArray[np.integer], size: int, bits: int
) -> Iterator[tuple[slice, NDArray[np.int64]]]:
    """For each of `size` groups, how many of its rows have a one in each column: some groups at a time."""
    order = np.argsort(groups.astype(np.min_scalar_type(size), copy=False), kind="stable")
    lengths = np.bincount(groups, minlength=size)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])

    def count(part: slice) -> tuple[slice, NDArray[np.int64]]:
        falling = np.argsort(-lengths[part], kind="stable")  # then those that still have rows come first
        left, begin = lengths[part][falling], starts[part][falling]
        counter = BitCounters((len(falling), rows.shape[1]))
        for slot in range(int(left[0])):
            active = len(left) - int(np.searchsorted(left[::-1], slot, side="right"))
            layer = rows.take(order[begin[:active] + slot], axis=0)  # faster than an index
            if active < len(left):
                layer = np.concatenate([layer, np.zeros((len(left) - active, rows.shape[1]), dtype=np.uint64)])
            counter.add(layer)
        totals = np.empty((len(falling), bits), dtype=np.int64)
        totals[falling] = counter.totals(bits)
        return part, totals

    return one_by_one(count, list(parts(size, max(1, GROUPED_LANES // rows.shape[1]))))


class BitCounters:
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

    def planes(self) -> list[NDArray[np.uint64]]:
        """The counts, bit by bit, the lowest first."""
        nothing = np.zeros(self._shape, dtype=np.uint64)
        level = 0
        while level < len(self._planes):  # what still waits finds company; carries may wait one plane higher
            if self._waiting[level] is not None:
                self.add(nothing, level)
            level += 1
        return self._planes

    def totals(self, bits: int) -> NDArray[np.int64]:
        """The counts: one row for each row of words."""
        planes = self.planes()
        total = np.zeros((self._shape[0], bits), dtype=np.int64)
        for first in range(0, len(planes), 8):
            byte = np.zeros((self._shape[0], bits), dtype=np.uint8)
            for place, plane in enumerate(planes[first : first + 8]):
                byte |= unpack_rows(plane, bits) << np.uint8(place)
            total += byte.astype(np.int64) << first
        return total


def _carry(plane: NDArray[np.uint64], first: NDArray[np.uint64], second: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Add two arrays of bits to a plane; what does not fit is the carry."""
    half = plane ^ first
    carry = plane & first
    np.bitwise_xor(half, second, out=plane)
    half &= second
    carry |= half
    return carry
