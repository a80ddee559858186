"""Many steps of the square-root counter at once: the same numbers as step by step, computed in chunks.

A *chunk* is 2^m steps from a multiple of 2^m on. What the blocks from level m on add is the same for all its steps.
Below, a level is one array: its places at the start, then pairs of the level below. The decoder solves a chunk with the
inverse of one small matrix, which is the same for every chunk; only the blocks are handed on from chunk to chunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.mechanisms.dyadic_layout import Layout

Whole = NDArray[np.int64]
Real = NDArray[np.float64]

CHUNKS = (8, 5)
"""Exponents of the lengths of chunks that are tried, the longest first."""
LONGEST = 1 << 16
"""Steps that are worked on together, so that they stay in the cache."""


def next_batch(layout: Layout, step: int, left: int) -> tuple[int, int]:
    """The exponent of the next chunks and how many of them to take; none where a single step is due."""
    for exponent in CHUNKS:
        if step % (1 << exponent) == 0 and left >> exponent and exponent <= layout.levels:
            count = min(left, LONGEST) >> exponent
            if exponent != CHUNKS[0]:  # until longer ones fit
                ahead = -step % (1 << CHUNKS[0]) or 1 << CHUNKS[0]
                count = min(count, ahead >> exponent)
            return exponent, count
    return 0, 0


@lru_cache(maxsize=16)
def batch_of(layout: Layout, exponent: int) -> Batch:
    """The matrices of a chunk. Cached after the first call."""
    return Batch(layout, exponent)


class Batch:
    """Chunks of 2^exponent steps of one layout."""

    def __init__(self, layout: Layout, exponent: int) -> None:
        self.layout, self.exponent, self.length = layout, exponent, 1 << exponent
        self._low = sum(layout.places_of(level) for level in range(exponent))  # slots below level m
        self._high = [c for level in range(exponent, layout.levels) for c in layout.level(level)]
        taken = [start + place for start, size in self._starts() for place in range(size - 1)]
        self._taken = taken  # at the start of a chunk the last place of every level is empty
        unit = np.zeros((self._low, len(taken)), dtype=np.int64)
        unit[taken, range(len(taken))] = 1
        nobody = np.zeros((self.length, len(taken)), dtype=np.int64)
        past, kept, passed = self._below(nobody, unit)
        own, new, out = self._below(np.eye(self.length, dtype=np.int64), np.zeros((self._low, self.length), np.int64))
        self._inverse: Real = np.linalg.inv(own.astype(float))
        self._past: Real = self._inverse @ past
        self._ones: Real = self._inverse.sum(axis=1)[:, None]
        handed_on = np.vstack([new[taken], out]).astype(float)
        self._hand_on: Real = handed_on @ self._inverse
        self._keep: Real = np.vstack([kept[taken], passed]) - handed_on @ self._past
        self._lose: Real = handed_on @ self._ones

    def encode(self, values: Whole, blocks: Sequence[Any], step: int) -> tuple[Whole, tuple[Any, ...]]:
        """Ĉx for whole chunks, exactly, and the blocks after them."""
        low, high = _column(blocks[: self._low], values, np.int64), list(blocks[self._low :])
        noisy, low, passed = self._below(values, low)
        above = np.empty((len(passed), values.shape[1]), dtype=np.int64)
        zero = _like(np.zeros(values.shape[1], dtype=np.int64))
        for index, block in enumerate(_rows(passed)):
            above[index] = sum(map(mul, self._high, high))
            high = self.layout.push(high, (step >> self.exponent) + index, block, zero, self.exponent)
        noisy += np.repeat(above, self.length, axis=0)
        return noisy, (*_rows(low), *high)

    def decode(self, noisy: NDArray[Any], blocks: Sequence[Any], step: int) -> tuple[Real, tuple[Any, ...]]:
        """What solves Ĉx̂ = y for whole chunks, and the blocks after them."""
        chunks, width = len(noisy) >> self.exponent, noisy.shape[1]
        table = noisy.astype(np.float64).reshape(chunks, self.length, width)
        known = self._hand_on @ table
        state = _column(blocks[: self._low], table[0], np.float64)[self._taken]
        high, zero = list(blocks[self._low :]), _like(np.zeros(width))
        states, above = np.empty((chunks, *state.shape)), np.empty((chunks, 1, width))
        for index in range(chunks):
            constant = sum(map(mul, self._high, high))
            states[index], above[index] = state, constant
            out = self._keep @ state - self._lose * constant + known[index]
            state = out[:-1]
            high = self.layout.push(high, (step >> self.exponent) + index, _like(out[-1]), zero, self.exponent)
        decoded = self._inverse @ table - self._past @ states - self._ones * above
        low = np.zeros((self._low, width))
        low[self._taken] = state
        return decoded.reshape(-1, width), (*_rows(low), *high)

    def _starts(self) -> list[tuple[int, int]]:
        """Where the slots of each level below begin, and how many there are."""
        sizes = [self.layout.places_of(level) for level in range(self.exponent)]
        return [(sum(sizes[:level]), size) for level, size in enumerate(sizes)]

    def _below(self, values: Whole, blocks: Whole) -> tuple[Whole, Whole, Whole]:
        """What the levels below m and the steps themselves add, their blocks afterwards, and the blocks passed on."""
        h, levels = self.layout.half, []
        after, sums, row = np.zeros_like(blocks), np.concatenate([blocks[2 * h - 1 :: -1], values]), values
        for level, (start, size) in enumerate(self._starts()):
            if level:
                pairs = sums[0::2] + sums[1::2]
                sums = np.concatenate([blocks[start : start + h][::-1], pairs])
            levels.append(self._level(sums, level))
            after[start : start + size - 1] = sums[len(sums) - 2 * h :][: size - 1][::-1]
        passed = (sums[0::2] + sums[1::2])[: len(row) >> self.exponent]
        total = levels.pop()
        while levels:
            total = np.repeat(total, 2, axis=0)
            total += levels.pop()
        total += self.layout.coefficients[0] * values
        return total, after, passed

    def _level(self, sums: Whole, level: int) -> Whole:
        """What one level adds, for every block of its own size; the first 2h sums are the past."""
        h, coefficients = self.layout.half, self.layout.level(level)
        count, places = len(sums) - 2 * h, range(1 if level == 0 else h + 1, 2 * h + 1)
        total = np.zeros((count, sums.shape[1]), dtype=np.int64)
        part = np.empty_like(total)
        for place, coefficient in zip(places, coefficients, strict=False):
            np.multiply(sums[2 * h - place :][:count], coefficient, out=part)
            total += part
        total[1::2] += coefficients[-1] * sums[0:][:count:2][: count // 2]
        return total


def _column(blocks: Sequence[Any], like: NDArray[Any], kind: Any) -> NDArray[Any]:
    return np.asarray(blocks, dtype=kind).reshape(len(blocks), like.shape[1])


def _rows(table: NDArray[Any]) -> list[Any]:
    """Rows as a state holds them: plain numbers where there is one sum."""
    return table[:, 0].tolist() if table.shape[1] == 1 else list(table)


def _like(row: NDArray[Any]) -> Any:
    return row.item() if len(row) == 1 else row
