"""A line from few rows: the mean of the target alone, or one direction and the line along it.

Sums of products of all columns are about d²/2 numbers, and from few rows nothing is seen of them but noise. How each
column goes with the target are d numbers. They give a direction, and the line along it needs five more: the first
component of partial least squares (Wold 1975).
"""

from __future__ import annotations

import numpy as np

from lapwing.models.columns import Floats
from lapwing.models.exact import rowwise, within_l1, within_l2
from lapwing.models.linear_moments import STEP

LEVEL = 2 * STEP
"""No row of `level_rows` is longer, in l1 or in l2."""
PATH = 5
"""How many numbers a row of `along_rows` has."""
_NEAR = 0.5
"""Rows nearer to the centre than so many half widths, all columns together, weigh no more for it."""
_FARTHEST = 2 * STEP
"""Rows farther along the direction count as if they were there."""
_SLACK = 1 - 2.0**-20
_USUAL = 0.3
"""So far from the middle of its bounds is a value at least, as a guess."""


def rows_guessed(weight: float, centre: Floats, *, squared: bool) -> float:
    """About how many rows there are, from their weight in the first look and the centre it found."""
    size = np.maximum(np.abs(centre), _USUAL)
    longer = np.sqrt(1 + size @ size) if squared else 1 + size.sum()
    return float(weight * longer)


def level_rows(target: Floats) -> Floats:
    """1 + t and 1 − t: half their sum counts rows, half their difference adds up targets, and together they are 2."""
    return np.column_stack([STEP + target, STEP - target])


def leaning_rows(columns: Floats, target: Floats, centre: Floats, *, squared: bool) -> Floats:
    """The product of each column with the target, around the centre; within one unit, weighed by the columns alone."""
    rows, reach = columns - centre[:-1], float(STEP + abs(centre[-1]))
    size = np.sqrt(np.einsum("ij,ij->i", rows, rows)) if squared else np.abs(rows).sum(axis=1)
    rows *= ((target - centre[-1]) * (STEP * _SLACK / reach) / np.maximum(size, _NEAR * STEP))[:, None]
    return _certain(rows, squared=squared)


def path_of(columns: Floats, centre: Floats, direction: Floats) -> Floats:
    """How far each row is along the direction, in whole steps from the centre."""
    steps = np.rint(rowwise(columns - centre[:-1], direction[:, None])[:, 0])
    return np.clip(steps, -_FARTHEST, _FARTHEST)


def along_rows(path: Floats, target: Floats, *, squared: bool) -> Floats:
    """1 + t, 1 − t, u, u² and 2·u·t for a row at u of the path; within one unit, weighed by u alone."""
    far = np.abs(path) / STEP
    size = np.sqrt(4 + far * far * (5 + far * far)) if squared else 2 + far * (3 + far)
    rows = np.column_stack([level_rows(target), path, path * path / STEP, 2 * path * (target / STEP)])
    rows *= (_SLACK / size)[:, None]
    return _certain(rows, squared=squared)


def direction_of(sums: Floats, variance: float) -> Floats:
    """Of length 1, or 0 if nothing stands out from the noise."""
    direction = sums * _kept(sums, variance)
    length = float(np.sqrt(direction @ direction))
    return direction / length if length > 0 else direction


def level_of(plus: float, minus: float, variance: float) -> float:
    """The mean of the target, from noisy sums of `level_rows`."""
    count = max(plus + minus, float(np.sqrt(50 * variance)))  # five standard deviations: below, a mean is all noise
    return float(clear(np.array([(plus - minus) / count]), 2 * variance / count**2)[0])


def line_of(sums: Floats, variance: float) -> tuple[float, float]:
    """The slope along the path and the target at its origin, from noisy sums of `along_rows`.

    The direction goes up with the target, so a slope below 0 is noise. A standard deviation more spread than was seen
    keeps noise from passing for a narrow spread and a steep slope.
    """
    plus, minus, path, square, twice = sums.tolist()
    level, count = level_of(plus, minus, variance), max((plus + minus) / 2, float(np.sqrt(2 * variance)))
    middle = float(np.clip(path / count, -2, 2))
    deviation = float(np.sqrt(variance * (1 + 4 * middle**2 + middle**4 / 2)))
    spread = max(square - count * middle**2 + deviation, deviation)
    common = np.array([twice / 2 - count * middle * level])
    off = variance * (1 / 4 + level**2 + middle**2 / 2)
    slope = max(0.0, float((common * _kept(common, off))[0]) / spread)
    return slope, level - slope * middle


def clear(values: Floats, variance: float) -> Floats:
    """Within −1 … 1, and nearer to 0 the less they stand out from their noise."""
    inside = np.clip(values, -1.0, 1.0)
    return inside * _kept(inside, variance)


def _kept(values: Floats, variance: float) -> Floats:
    """The share of each value that is not noise: the positive part of James and Stein."""
    return np.asarray(np.maximum(0.0, 1 - variance / np.maximum(values**2, variance)))


def _certain(rows: Floats, *, squared: bool) -> Floats:
    """Whole numbers of which the norm is known to be one unit at most."""
    return (within_l2 if squared else within_l1)(np.trunc(rows), STEP)
