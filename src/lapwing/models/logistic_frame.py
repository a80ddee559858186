"""Where the rows lie and how far they spread. This is released first, so that later noise can be smaller."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lapwing.mechanisms import Gaussian
from lapwing.models.columns import Box, Floats
from lapwing.models.cube import STEP, Cube, released
from lapwing.models.exact import totals, within_l2
from lapwing.noise import Entropy

_NARROW = 0.7
"""Columns are cut off at this many standard deviations: what is lost is less than the noise that is saved."""
_AMPLE = 50
"""Columns are stretched over more than half their bounds from this many times plenty of rows on, if they are skew."""
_LONG = 4.0
"""Rows are shrunk to this many times the mean squared size: it is the longest row that the ridge has to hide."""
_VAGUE = 0.5
"""A centre that is off by more than this, in half widths, says nothing about the spread."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A noisy number of rows, centre and width (in half the widths of the bounds)."""

    rows: float
    fewest_rows: float
    """There are likely more."""
    centre: Floats
    width: Floats
    """Of each column."""
    squared: float
    """Rows are shrunk to this squared l2 size, in widths and without the constant."""
    plenty: float
    """How many times the rows that are plenty there are, at least 1."""

    def place(self, steps: Floats, *, constant: bool) -> Floats:
        """Whole numbers from −2^16 to 2^16: moved to the centre, stretched, cut and shrunk, after a column of 2^16."""
        shift = int(constant)
        X = np.empty((len(steps), steps.shape[1] + shift))
        X[:, :shift] = STEP
        out = X[:, shift:]
        np.subtract(steps, self.centre * STEP, out=out)
        out *= 1.0 / self.width
        np.rint(out, out=out)
        np.clip(out, -STEP, STEP, out=out)
        if self.squared < steps.shape[1]:
            radius = min(math.isqrt(int(self.squared * STEP**2)), 1 << 26)
            beyond = ~(np.einsum("ij,ij->i", out, out) <= float(radius**2))
            out[beyond] = within_l2(out[beyond], radius)
        return X

    def back(self, theta: Floats, box: Box, *, constant: bool) -> tuple[Floats, Floats]:
        """Coefficients and intercepts in the units of the data, from a column of parameters for each score."""
        coef = theta[int(constant) :].T / (self.width * box.half)
        start = theta[0] if constant else np.zeros(theta.shape[1])
        return coef, start - coef @ box.back(self.centre)


def overview_totals(steps: Floats) -> NDArray[np.int64]:
    """Of each row 2^16, its steps, and their mean square over 2^16: no number of a row is beyond 2^16."""
    squares = np.floor(np.einsum("ij,ij->i", steps, steps) / (steps.shape[1] * STEP))
    return np.array([len(steps) * STEP, *totals(steps, STEP), *totals(squares[:, None], STEP)], dtype=np.int64)


def overview(
    noise: Cube | Gaussian, seen: NDArray[np.int64], entropy: Entropy, *, plenty: float, centred: bool
) -> Frame:
    """The number of rows, the sum of each column, and the mean square of a row (`overview_totals`), all with noise.

    From `plenty` rows on the columns are cut off less: noise is small then, and what is cut off would be missed.
    """
    columns = len(seen) - 2
    noisy = released(noise, seen, entropy) / STEP
    spread, rows = math.sqrt(noise.variance) / STEP, max(float(noisy[0]), 1.0)
    vague = spread / rows
    centre = np.clip(noisy[1:-1] / rows, -1.0, 1.0)
    centre *= max(0.0, 1 - vague**2 / max(float(np.mean(centre**2)), 1e-9)) if centred else 0.0
    variance = min(max(float(noisy[-1]) / rows - float(np.mean(centre**2)), 0.01), 1.0)
    times = max(1.0, rows / plenty)
    width, squared = 1.0, float(columns)
    if vague < _VAGUE:
        width = min(_NARROW * times * math.sqrt(variance + vague**2), max(1.0, times / _AMPLE))
        squared *= min(1.0, _LONG * times * variance / min(width, 1.0) ** 2)
    widths = np.minimum(width, 1.0 + np.abs(centre))  # nothing lies beyond the bounds
    return Frame(rows, rows - spread, centre, widths, squared, times)
