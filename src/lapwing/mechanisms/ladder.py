"""Candidates for mechanisms that choose a number, such as a quantile: the points of a grid between public bounds."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.mechanisms.grid import SMALL, from_steps
from lapwing.mechanisms.records import BoundedGrid

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PER_OCTAVE = 16
"""Thresholds to choose from, between a number and twice that number."""


class Ladder:
    """The grid points between public bounds, as rungs; data are clamped and rounded to them, record by record."""

    __slots__ = ("_grid", "high", "low")

    def __init__(self, bounds: object, granularity: object = None) -> None:
        low, high = checks.interval(bounds=bounds)
        self._grid = BoundedGrid.of(bounds, _default(low, high) if granularity is None else granularity)
        self.low, self.high = self._grid.bottom, self._grid.top

    @property
    def granularity(self) -> Fraction:
        """The distance between two rungs."""
        return self._grid.granularity

    @property
    def width(self) -> int:
        """How many steps the highest rung is above the lowest."""
        return self.high - self.low

    def value(self, steps: int) -> int | float:
        """The number at a rung; at the nearest one for steps beyond the ends."""
        return from_steps(min(max(steps, self.low), self.high), self.granularity)

    def steps(self, value: object) -> int | None:
        """The rung of one value; None if it is not a finite number."""
        return next(iter(self._grid.steps([value])), None)

    def rungs(self, data: Any) -> Sequence[int] | NDArray[np.int64]:
        """The rungs of all values that are finite numbers, in their order."""
        return self._grid.steps(data)

    def ascending(self, data: Any) -> list[int] | NDArray[np.int64]:
        """The rungs of all values that are finite numbers, from low to high."""
        steps = self.rungs(data)
        if not isinstance(steps, list) or len(steps) > SMALL:  # one odd value in a long list must not cost minutes
            with suppress(ImportError):
                import numpy as np

                return np.sort(np.asarray(steps, dtype=np.int64))
        return sorted(steps)


def _default(low: Fraction, high: Fraction) -> Fraction:
    """1 between whole bounds at least 100 apart, else a power of two that makes one to four thousand rungs."""
    width = high - low
    if low.denominator == high.denominator == 1 and width >= 100:
        return Fraction(1)
    return Fraction(2) ** (width.numerator.bit_length() - width.denominator.bit_length() - 11)


def thresholds(top: int) -> tuple[int, ...]:
    """Whole numbers up to `top`: all small ones, then sixteen between each number and its double.

    >>> thresholds(40)[-6:]
    (31, 32, 34, 36, 38, 40)
    """
    rungs, octave = list(range(1, min(2 * PER_OCTAVE, top) + 1)), 2 * PER_OCTAVE
    while octave < top:
        part = octave // PER_OCTAVE
        rungs += [octave + place * part for place in range(1, PER_OCTAVE + 1) if octave + place * part < top]
        octave *= 2
    return (*rungs, top) if rungs[-1] < top else tuple(rungs)
