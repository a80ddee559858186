"""Draws a quantile from counts in coarse cells. Finer counts are asked for only where the draw depends on them.

Known are the numbers of values below some grid points. Between two of them the rank of a point, and so its gap to the
rank asked for, is known within limits. A cell is proposed with the weight it has at its smallest possible gap; a point
of it is accepted by a coin that often falls on one side within these limits. Only if it does not, the cell is wanted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from lapwing import checks
from lapwing.errors import InvalidCall, InvalidParameter
from lapwing.exact import exp_neg
from lapwing.mechanisms.exponential import exponential_choice
from lapwing.mechanisms.grid import SMALL
from lapwing.mechanisms.ladder import Ladder
from lapwing.noise import Entropy, uniform_below
from lapwing.noise.inversion import LazyUniform

_LARGEST = 1 << 62  # a rank times b that int64 holds


@dataclass(frozen=True, slots=True)
class Cell:
    """Consecutive grid points, and how many values lie on them. Points are numbers of grid steps."""

    start: int
    width: int
    count: int


class QuantileDraw:
    """One release of a `Quantile` in progress. All but `value` is secret, even which cells are wanted and how many.

    While `wanted` is a cell, count the values in it more finely and tell `refine`; then `value` is there.
    `Quantile.start` makes one.

    Proof: quantile.md

    Args:
        cells: Triples (first point, number of points, number of values), ascending, in grid steps.
        share: The share of the values that should lie below the released point.
        scale: The scale of the exponential mechanism, in ranks times the denominator of `share`.
        ladder: The grid of points.
        entropy: Source of randomness.

    >>> from lapwing.mechanisms import Median
    >>> ages = [31, 35, 48, 52, 67]
    >>> draw = Median(epsilon=1, bounds=(0, 100), granularity=1).start([(0, 50, 3), (50, 51, 2)])
    >>> while draw.wanted is not None:
    ...     cell = draw.wanted
    ...     inside = [age for age in ages if cell.start <= age < cell.start + cell.width]
    ...     draw.refine(inside, [1] * len(inside))
    >>> 0 <= draw.value <= 100
    True
    """

    __slots__ = (
        "_below",
        "_coin",
        "_entropy",
        "_ladder",
        "_point",
        "_points",
        "_proposal",
        "_scale",
        "_share",
        "_want",
    )

    def __init__(
        self, cells: Iterable[tuple[int, int, int]], share: Fraction, scale: Fraction, ladder: Ladder, entropy: Entropy
    ) -> None:
        end = ladder.high + 1
        points, below, total = _edges(cells, ladder.low, end, 0)
        self._points, self._below = [*points, end], [*below, total]
        self._share, self._scale, self._ladder, self._entropy = share, scale, ladder, entropy
        self._want: int | None = None
        self._coin: LazyUniform | None = None
        self._propose()
        self._decide()

    @property
    def wanted(self) -> Cell | None:
        """The cell on whose values the draw depends; None when it is done."""
        return None if self._want is None else self._cell(self._want)

    @property
    def value(self) -> int | float:
        """The released point of the grid; on the grid of whole numbers an int."""
        if self._want is not None:
            raise InvalidCall("value", "the draw is not done", "Call refine as long as wanted is not None.")
        return self._ladder.value(self._point)

    def refine(self, starts: Iterable[int], counts: Iterable[int], width: int = 1) -> None:
        """Tell more about the wanted cell: its distinct values in ascending order, and how often each occurs.

        Or, with a `width`, the first points and the counts of smaller cells within it. Cells without values may be left
        out. What was told is remembered.

        Args:
            starts: The first points of the smaller cells, or the distinct values, in ascending order.
            counts: How many values lie in each.
            width: How many points each smaller cell has.

        Raises:
            InvalidCall: If the draw is done already.
            InvalidParameter: If the counts do not add up to those of the cell, or a smaller cell is not within it.

        >>> from lapwing.mechanisms import Median
        >>> draw = Median(epsilon=1, bounds=(0, 100), granularity=1).start([(0, 101, 3)])
        >>> while draw.wanted is not None:  # all three values are 48
        ...     draw.refine([48], [3])
        >>> 0 <= draw.value <= 100
        True
        """
        index = self._want
        if index is None:
            raise InvalidCall("refine", "the draw is already done", "Read value.")
        cell, finer = self._cell(index), checks.whole(width=width)
        end = cell.start + cell.width
        cells = [(start, min(finer, end - start), count) for start, count in zip(starts, counts, strict=True)]
        points, below, total = _edges(cells, cell.start, end, self._below[index])
        if total != self._below[index + 1] or finer >= cell.width:
            raise _misfit()
        self._points[index : index + 1], self._below[index : index + 1] = points, below
        self._want = None
        self._decide()

    def _cell(self, index: int) -> Cell:
        start, below = self._points[index], self._below[index]
        return Cell(start, self._points[index + 1] - start, self._below[index + 1] - below)

    def _propose(self) -> None:
        """A cell with probability exactly proportional to width·e^(−least gap/scale), and a uniform point of it."""
        gaps, widths = self._weights()
        index = exponential_choice(gaps, widths, self._scale, self._entropy)
        self._proposal, self._coin = int(gaps[index]), None
        self._point = self._points[index] + uniform_below(int(widths[index]), entropy=self._entropy)

    def _decide(self) -> None:
        """Accept the point, propose another, or want to know more: until one of the first and last."""
        while True:
            index = bisect_right(self._points, self._point) - 1
            least, most = self._limits(index)
            if self._accepted(most):
                return
            if least < most and self._accepted(least):
                self._want = index
                return
            self._propose()

    def _accepted(self, gap: int) -> bool:
        """Whether the coin of this round accepts a point of this gap: with probability e^(−(gap − proposal)/scale)."""
        if gap == self._proposal:
            return True
        if self._coin is None:
            self._coin = LazyUniform(self._entropy)
        return self._coin.below(exp_neg((gap - self._proposal) / self._scale))

    def _limits(self, index: int) -> tuple[int, int]:
        """The smallest and the largest gap that the point may have, for all that is known of its cell."""
        low, high = self._below[index], self._below[index + 1]
        is_first, is_last = self._point == self._points[index], self._point + 1 == self._points[index + 1]
        return self._gap(low, high), self._gap(low if is_first else high, high if is_last else low)

    def _gap(self, below: int, up_to: int) -> int:
        a, b, n = self._share.numerator, self._share.denominator, self._below[-1]
        return max(0, b * below - a * n, a * n - b * up_to)

    def _weights(self) -> tuple[Any, Any]:
        """The least gap of each cell, and its width: lists, or arrays if there are many."""
        a, b, n = self._share.numerator, self._share.denominator, self._below[-1]
        if len(self._points) > SMALL and b * n < _LARGEST:
            with suppress(ImportError):
                import numpy as np

                ranks = b * np.array(self._below, dtype=np.int64) - a * n
                gaps = np.maximum(np.maximum(ranks[:-1], -ranks[1:]), 0)
                return gaps.view(np.uint64), np.diff(np.array(self._points, dtype=np.int64))
        least = [self._gap(low, high) for low, high in pairwise(self._below)]
        return least, [after - before for before, after in pairwise(self._points)]


def _edges(cells: Iterable[tuple[int, int, int]], at: int, end: int, rank: int) -> tuple[list[int], list[int], int]:
    """The first point of every cell and of every stretch between cells, the number of values below each, and below end.

    The cells ascend and lie between `at` and `end`; what they leave out is empty.
    """
    points, below = [], []
    for start, width, count in cells:
        if not (at <= start and width > 0 and start + width <= end and count >= 0):
            raise _misfit()
        if start > at:
            points.append(at)
            below.append(rank)
        points.append(int(start))
        below.append(rank)
        at, rank = int(start + width), int(rank + count)
    if at < end:
        points.append(at)
        below.append(rank)
    return points, below, rank


def _misfit() -> InvalidParameter:
    return InvalidParameter(
        "cells",
        "<cells>",
        "they must ascend, not overlap, lie within the bounds or the cell wanted, be smaller, and hold all its values",
        "Count clamped values on the grid, all in one snapshot.",
    )
