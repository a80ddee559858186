"""From noisy integers to estimates, with the interval that contains the exact answer.

All of it is post-processing. An interval holds if every integer behind it is within its half-width; the caller divides
the failure probability among them. It is about the clamped values. Where a mean or a product is made of them, it is
wider by what rounding to the grid may have changed, half a step for each value. (A sum of n values is changed by n half
steps at most, each 2^-30 of the bounds.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

from lapwing.curator.plan.grids import GridExpression

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Confidence:
    """How sure an interval shall be, and how many rows of one unit a group may have: they are no sample of people."""

    level: float
    rows: int

    @property
    def deviations(self) -> float:
        """How many standard deviations of a normal distribution."""
        return _deviations(self.level)


@lru_cache(maxsize=16)
def _deviations(level: float) -> float:
    return -NormalDist().inv_cdf((1 - level) / 2)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number, where its exact (clamped, bounded) value lies, and where the population's lies if that differs.

    The number is in both intervals: one outside would be known to be wrong.
    """

    value: int | float
    noise: Interval
    interval: Interval | None = None


def counted(value: int, width: float) -> Estimate:
    """A count: never below 0 in truth, though its noisy value may be, which is kept so that sums stay unbiased."""
    return Estimate(value, span(value, width, (0, 1)))


def summed(value: int, width: float, grid: GridExpression) -> Estimate:
    """A sum, back from steps. Its interval does not go beyond 0 where no sum of values within the bounds does."""
    step = grid.step
    low, high = span(value, width, grid.steps)
    return Estimate(value * step, (low * step, high * step))


def span(value: float, width: float, bounds: tuple[float, float]) -> Interval:
    """Where a total of values within these bounds lies, which a noisy value is within `width` of.

    A total of values of at least 0 is at least 0, and of at most 0 at most 0. The noisy value may be beyond, and is in
    the interval nevertheless.

    >>> span(5, 20, (0, 120)), span(-50, 20, (0, 120)), span(5, 20, (-1, 1)), span(-5, 20, (-3, 0))
    ((0.0, 25.0), (-50.0, 0.0), (-15.0, 25.0), (-25.0, 0.0))
    """
    low, high = float(value - width), float(value + width)
    if bounds[0] >= 0:
        low, high = low if low >= 0 else min(float(value), 0.0), max(high, 0.0)
    if bounds[1] <= 0:
        low, high = min(low, 0.0), high if high <= 0 else max(float(value), 0.0)
    return low, high


def summed_from_mean(count: int, centred: int, widths: Sequence[float], grid: GridExpression) -> Estimate:
    """A sum from the statistics of a mean: Σ(x − m) + m·n."""
    middle = grid.middle
    return summed(centred + middle * count, widths[1] + abs(middle) * widths[0], grid)


def averaged(
    count: int, centred: int, widths: Sequence[float], grid: GridExpression, confidence: Confidence
) -> Estimate:
    """m + Σ(x − m)/n, within the bounds; the middle m if nobody seems to be there.

    Where there may be no rows, its interval is that of the bounds.
    """
    low, high, middle, step = grid.low, grid.high, grid.middle, grid.step

    def back(steps: float) -> float:
        return min(max((middle + steps) * step, low), high)

    noise = _quotient((centred - widths[1], centred + widths[1]), (count - widths[0], count + widths[0]))
    ends = (back(noise[0] - grid.moved), back(noise[1] + grid.moved))
    fewest = count - widths[0]
    if fewest < 1:  # there may be no rows, so nothing is known of their mean
        ends = (low, high)
    value = _inside(back(centred / count) if count > 0 else back(0), ends)
    if fewest < 1:
        return Estimate(value, ends)
    # Popoviciu: a value between the bounds has a standard deviation of at most half their distance. The rows of one
    # unit may all be the same: n rows of units with at most r rows each say as much as n/r.
    sampling = confidence.deviations * (high - low) / 2 / math.sqrt(fewest / confidence.rows)
    return Estimate(value, ends, (max(low, ends[0] - sampling), min(high, ends[1] + sampling)))


def spread(statistics: Sequence[int], widths: Sequence[float], grid: GridExpression, *, root: bool) -> Estimate:
    """Variance or standard deviation, from n, Σ(x − m) and Σ(x − m)²."""
    count, first, second = statistics
    step, (_, most) = grid.step, widest_spread(grid, root=root)
    point = second / count - (first / count) ** 2 if count > 0 else 0.0
    counts = (count - widths[0], count + widths[0])
    mean = _quotient((first - widths[1], first + widths[1]), counts)
    square = _quotient((second - widths[2], second + widths[2]), counts)
    low, high = _moved(_difference(square, _squared(mean)), grid)

    def back(variance: float) -> float:
        inside = max(variance, 0.0)
        return min(math.sqrt(inside) * step if root else inside * step**2, most)

    ends = (back(low), back(high)) if counts[0] >= 1 else (0.0, most)  # otherwise there may be no rows
    return Estimate(_inside(back(point), ends), ends)


def widest_spread(grid: GridExpression, *, root: bool) -> Interval:
    """Variances or standard deviations of values within the bounds: half of the values at each end is the most."""
    half = (float(grid.high) - float(grid.low)) / 2
    return 0.0, half if root else half * half


def association(
    statistics: Sequence[int], widths: Sequence[float], grids: Sequence[GridExpression], *, correlation: bool
) -> Estimate:
    """Covariance or correlation, from n, Σx, Σy, Σxy and, for the correlation, Σx² and Σy²."""
    counts = (statistics[0] - widths[0], statistics[0] + widths[0])
    pairs = list(zip(statistics[1:], widths[1:], strict=True))
    point = [value / max(statistics[0], 1) for value, _ in pairs]
    x, y, xy, *squares = [_quotient((value - width, value + width), counts) for value, width in pairs]
    value, ends = point[2] - point[0] * point[1], _difference(xy, _product(x, y))
    # |cov(g + d, h + e) − cov(g, h)| ≤ σ(d)σ(h) + σ(g)σ(e) + σ(d)σ(e), for what the grid moved by d and e
    (g, d), (h, e) = ((grid.reach, grid.moved) for grid in grids)
    ends = (ends[0] - (d * h + g * e + d * e), ends[1] + (d * h + g * e + d * e))
    if not correlation:
        step = float(grids[0].granularity * grids[1].granularity)
        most = (g + d) * (h + e)
        cut = [min(max(number, -most), most) * step for number in (value, *ends)]
        return Estimate(_inside(cut[0], (cut[1], cut[2])), (cut[1], cut[2]))
    spreads = [max(point[3 + i] - point[i] ** 2, 0.0) for i in (0, 1)]
    scale = math.sqrt(spreads[0] * spreads[1])
    lows, highs = zip(
        *(
            _moved(_difference(square, _squared(mean)), grid)
            for square, mean, grid in zip(squares, (x, y), grids, strict=True)
        ),
        strict=True,
    )
    narrow, wide = math.sqrt(max(lows[0], 0) * max(lows[1], 0)), math.sqrt(max(highs[0], 0) * max(highs[1], 0))
    corners = [end / size for end in ends for size in (narrow, wide)] if narrow > 0 else [-1.0, 1.0]
    within = (_unit(min(corners)), _unit(max(corners)))
    return Estimate(_inside(_unit(value / scale) if scale else 0.0, within), within)


def _moved(variance: Interval, grid: GridExpression) -> Interval:
    """A variance before the grid moved the values: a standard deviation changes by at most that of what was moved."""
    low, high = (math.sqrt(max(end, 0.0)) for end in variance)
    return max(low - grid.moved, 0.0) ** 2, (high + grid.moved) ** 2


def _inside(value: float, ends: Interval) -> float:
    """A number that its interval rules out, at the nearest end of it: with a noisy count of 0, say."""
    return min(max(value, ends[0]), ends[1])


def _unit(value: float) -> float:
    return min(max(value, -1.0), 1.0)


def _quotient(top: Interval, bottom: Interval) -> Interval:
    """Where a/b lies for a count b of at least 1; an unknown count gives the whole of a/1."""
    low, high = max(bottom[0], 1.0), max(bottom[1], 1.0)
    corners = [end / size for end in top for size in (low, high)]
    return min(corners), max(corners)


def _product(x: Interval, y: Interval) -> Interval:
    corners = [a * b for a in x for b in y]
    return min(corners), max(corners)


def _squared(x: Interval) -> Interval:
    corners = (x[0] ** 2, x[1] ** 2)
    return (0.0 if x[0] <= 0 <= x[1] else min(corners)), max(corners)


def _difference(x: Interval, y: Interval) -> Interval:
    return x[0] - y[1], x[1] - y[0]
