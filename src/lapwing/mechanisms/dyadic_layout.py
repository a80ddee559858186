"""How a square-root counter sums up the past: in blocks of 2^l steps, each with one whole coefficient.

Count steps from 0 and let h = bins/2. A block of level l holds 2^l steps, and its place at step t is how many blocks of
its size lie between them: place = (t >> l) − index. Level 0 has the places 1 … 2h, and 0 for the step itself; every
other level has the places h + 1 … 2h. The place 2h + 1 is taken too while t >> l is odd, until two blocks make one of
the next level. A place that is not taken holds 0, so that everything has the same length at every step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from lapwing import checks
from lapwing.errors import InvalidParameter

SMALLEST_COEFFICIENT = 32
"""About that of the square root at the far end, so that rounding to whole numbers changes little."""


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

    def push(self, blocks: Sequence[Any], step: int, newest: Any, nothing: Any, level: int = 0) -> list[Any]:
        """The blocks that the next step sees, from those that `step` saw and its own number. Only sums are formed.

        From another level on: `step` counts the blocks of that level, and the newest is one of them.
        """
        pushed: list[Any] = []
        start, index, size = 0, step + 1, self.places_of(level)
        while start < len(blocks):
            last = start + size - 1
            pushed.append(newest)
            pushed += blocks[start : last - 1]
            if index & 1:
                pushed += blocks[last - 1 : last]
                pushed += blocks[last + 1 :]
                break
            pushed.append(nothing)
            newest, index = blocks[last - 1] + blocks[last], index >> 1
            start, size = last + 1, self.half + 1
        return pushed

    def places_of(self, level: int) -> int:
        """How many places of the past a level has."""
        return self.half + 1 if level else 2 * self.half + 1

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
        pairs = sum((count - gap) * _inner(envelope, gap * separation, self.steps) for gap in range(1, count))
        return min(count * column + 2 * pairs, count**2 * column)

    def level(self, level: int) -> tuple[int, ...]:
        """The coefficients of the blocks of one level, nearest place first."""
        first = 2 * self.half + 2
        start = first + (level - 1) * (self.half + 1)
        return self.coefficients[start : start + self.half + 1] if level else self.coefficients[1:first]

    def places(self) -> list[tuple[int, int]]:
        """Level and place of every coefficient."""
        h = self.half
        return [(0, place) for place in range(2 * h + 2)] + [
            (level, place) for level in range(1, self.levels) for place in range(h + 1, 2 * h + 2)
        ]

    def envelope(self) -> list[tuple[int, int]]:
        """The largest coefficient at a distance or farther back, as pairs (up to which distance, how large)."""
        farthest: dict[int, int] = {}
        for coefficient, (level, place) in zip(self.coefficients, self.places(), strict=True):
            end = min(((place + 1) << level) - 1, self.steps - 1)
            farthest[end] = max(farthest.get(end, 0), coefficient)
        falling, largest = [], 0
        for end in sorted(farthest, reverse=True):
            largest = max(largest, farthest[end])
            falling.append((end, largest))
        return falling[::-1]

    def row(self, step: int) -> list[int]:
        """One row of the dense matrix: for tests."""
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
    while steps >> levels > half:
        levels += 1
    bits = 8
    while 4**bits < SMALLEST_COEFFICIENT**2 * 4 * steps:  # 4 > π: coefficients fall as 1/√(πd)
        bits += 1
    blank = Layout(steps, half, bits, levels, ())
    return replace(blank, coefficients=tuple(_tuned(blank, level, place) for level, place in blank.places()))


def _tuned(layout: Layout, level: int, place: int) -> int:
    """The coefficient of a place. Any whole numbers are private; these were found to make the mean error small.

    Near the end of the stream the square root is too heavy by far, and so is a block that is about to be merged: the
    factors 1 − 3d/5T and 5/8 bring the mean error 2 % nearer to the bound.
    """
    distance = min(place << level, layout.steps)
    top, bottom = 5 * layout.steps - 3 * distance, 5 * layout.steps
    if level and place > 2 * layout.half:
        top, bottom = 5 * top, 8 * bottom
    return (2 * _square_root(distance, layout.bits) * top + bottom) // (2 * bottom)


def _square_root(distance: int, bits: int) -> int:
    """The whole number nearest to 2^bits·binom(2d, d)/4^d, or next to it: the same on every machine."""
    if distance < 64:
        return (math.comb(2 * distance, distance) << bits + 1 >> 2 * distance) + 1 >> 1
    # binom(2d, d)/4^d = 1/√(π(d + 1/4 + 1/(32d) + …)), and π = 355/113 to seven digits
    top, bottom = 113 * 32 * distance, 355 * (32 * distance**2 + 8 * distance + 1)
    return math.isqrt((top << 2 * bits + 2) // bottom) + 1 >> 1


def _inner(envelope: list[tuple[int, int]], gap: int, steps: int) -> int:
    """Σ u(a)·u(a + gap) over a = 0 … steps − 1 − gap, for a function u that is constant between some ends."""
    total, start, near, far = 0, 0, 0, 0
    while start < steps - gap:
        while envelope[near][0] < start:
            near += 1
        while envelope[far][0] < start + gap:
            far += 1
        end = min(envelope[near][0], envelope[far][0] - gap, steps - 1 - gap)
        total += (end - start + 1) * envelope[near][1] * envelope[far][1]
        start = end + 1
    return total
