"""Dyadic blocks of the past, each with one whole coefficient: the matrix of the square-root counter. Public.

Count steps from 0 and let h = bins/2. A block of level l holds 2^l steps, and its place at step t is how many blocks of
its size lie between them: place = (t >> l) − index. Level 0 has the places 0 … 2h, every other level h + 1 … 2h; the
place 2h + 1 is taken too while t >> l is odd, until two blocks make one of the next level. A place that is not taken
holds 0, so that everything has the same length at every step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from lapwing import checks
from lapwing.errors import InvalidParameter

SMALLEST_COEFFICIENT = 32
"""The coefficient at the far end is at least about this, so that rounding it to a whole number changes little."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The blocks of a stream of so many steps, and their coefficients from the newest step to the oldest block."""

    steps: int
    half: int
    """h, half the number of bins."""
    bits: int
    """Coefficients are in units of 2^-bits."""
    levels: int
    coefficients: tuple[int, ...]

    def push(self, blocks: Sequence[Any], step: int, newest: Any, nothing: Any) -> list[Any]:
        """The blocks at `step`, from those at the step before and the newest number. Only sums of blocks are formed."""
        h = self.half
        end, tail = 2 * h + 2, blocks[2 * h]
        if step & 1:
            return [newest, *blocks[: end - 2], tail, *blocks[end:]]
        pushed, merged = [newest, *blocks[: end - 2], nothing], tail + blocks[end - 1]
        index, start = step >> 1, end
        while start < len(blocks):
            pushed.append(merged)
            pushed += blocks[start : start + h - 1]
            last = blocks[start + h - 1]
            if index & 1:
                pushed.append(last)
                return pushed + list(blocks[start + h + 1 :])
            pushed.append(nothing)
            merged, index, start = last + blocks[start + h], index >> 1, start + h + 1
        return pushed

    def squared_column(self) -> int:
        """The largest squared norm of a column of the matrix: that of the first (square_root_counter.md, Lemma 1)."""
        return sum(
            coefficient**2 * self._overlap(level, place)
            for coefficient, (level, place) in zip(self.coefficients, self.places(), strict=True)
        )

    def squared_shift(self, active_steps: int, separation: int) -> int:
        """A bound on ‖Σ columns‖² over so many columns, any two of them so far apart (Lemma 2)."""
        count = min(active_steps, (self.steps - 1) // separation + 1)
        column = self.squared_column()
        if count == 1:
            return column
        envelope = self.envelope()
        pairs = sum((count - gap) * _inner(envelope, gap * separation) for gap in range(1, count))
        return min(count * column + 2 * pairs, count**2 * column)

    def places(self) -> list[tuple[int, int]]:
        """Level and place of every coefficient."""
        h = self.half
        return [(0, place) for place in range(2 * h + 2)] + [
            (level, place) for level in range(1, self.levels) for place in range(h + 1, 2 * h + 2)
        ]

    def envelope(self) -> list[int]:
        """For every distance d the largest coefficient of a step that lies d or more back."""
        tops = [0] * self.steps
        for coefficient, (level, place) in zip(self.coefficients, self.places(), strict=True):
            farthest = ((place + 1) << level) - 1
            tops[min(farthest, self.steps - 1)] = max(tops[min(farthest, self.steps - 1)], coefficient)
        largest = 0
        for distance in range(self.steps - 1, -1, -1):
            tops[distance] = largest = max(largest, tops[distance])
        return tops

    def row(self, step: int) -> list[int]:
        """One row of the dense matrix, for tests and small streams: by pushing every unit step through the blocks."""
        return [self._entry(step, column) for column in range(step + 1)]

    def _entry(self, step: int, column: int) -> int:
        [entry] = [
            coefficient
            for coefficient, (level, place) in zip(self.coefficients, self.places(), strict=True)
            if (step >> level) - (column >> level) == place and self._taken(step, level, place)
        ]
        return entry

    def _taken(self, step: int, level: int, place: int) -> bool:
        return place <= 2 * self.half or bool(step >> level & 1)

    def _overlap(self, level: int, place: int) -> int:
        """In how many steps the first block of a level is at this place: its index is 0, so t >> level = place."""
        if place > 2 * self.half and not place & 1:
            return 0
        return max(0, min(self.steps, (place + 1) << level) - (place << level))


@lru_cache(maxsize=64)
def layout_of(steps: int, bins: int) -> Layout:
    """The layout for so many steps. Cached after the first call."""
    if checks.whole(minimum=2, bins=bins) % 2 or bins > 1 << 12:
        raise InvalidParameter("bins", bins, "must be an even number up to 4096", "Write bins=16.")
    half, levels = bins // 2, 1
    while steps - 1 >> levels > half:
        levels += 1
    bits = 8
    while 4**bits < SMALLEST_COEFFICIENT**2 * 4 * steps:  # 4 > π: coefficients fall as 1/√(πd)
        bits += 1
    places = Layout(steps, half, bits, levels, ()).places()
    return Layout(steps, half, bits, levels, tuple(_coefficient(place << level, bits) for level, place in places))


def _coefficient(distance: int, bits: int) -> int:
    """The whole number nearest to 2^bits·binom(2d, d)/4^d, or next to it: the same on every machine."""
    if distance < 64:
        return (math.comb(2 * distance, distance) << bits + 1 >> 2 * distance) + 1 >> 1
    # binom(2d, d)/4^d = 1/√(π(d + 1/4 + 1/(32d) + …)), and π = 355/113 to seven digits
    top, bottom = 113 * 32 * distance, 355 * (32 * distance**2 + 8 * distance + 1)
    return math.isqrt((top << 2 * bits + 2) // bottom) + 1 >> 1


def _inner(envelope: list[int], gap: int) -> int:
    """Σ u(a)·u(a + gap)."""
    return sum(near * far for near, far in zip(envelope, envelope[gap:], strict=False))
