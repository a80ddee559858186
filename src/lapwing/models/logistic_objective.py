"""Objective perturbation in finite arithmetic: a tilted loss, its minimum certified, the certificate's slack noised."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from lapwing.exact import sqrt_down
from lapwing.models.columns import Floats
from lapwing.models.logistic_cube import Cube
from lapwing.models.logistic_frame import STEP, Frame, reach
from lapwing.models.logistic_solver import Objective, minimum, rounding
from lapwing.models.spending import Spending
from lapwing.noise import Entropy

_GRID = 1 << 30
"""Steps of the tilt in one unit of a gradient."""
_LEAST_RIDGE = 2.0**-3
_LOUD = 0.1
"""Noise on a parameter, beyond which another method is better."""
_FINEST = 2.0**-16
"""No gradient need be smaller."""
_CURVATURE, _MOST_CURVATURE, _OUTPUT = 10, 50, 1
"""Percent of ε."""


@dataclass(frozen=True, slots=True)
class Tilted:
    """Noise of objective perturbation for rows in [−1, 1]^columns of so many classes.

    Privacy: pure ε; where rho is spent, the ε with ε²/2 = rho.
    Proof: logistic.md
    """

    spending: Spending
    columns: int
    classes: int
    squared: float
    """The squared l2 size of a row is at most this."""
    least_ridge: float = _LEAST_RIDGE
    """More than privacy asks for: 1 for few rows, as is usual; for many, so that a minimum is certain."""
    percent: int = _CURVATURE
    """Of ε, for the curvature of a row: the more, the smaller the ridge and the larger the tilt."""

    def suited(self, frame: Frame) -> Tilted:
        """The same for rows of a smaller size; where there are plenty, the ridge matters more than the tilt."""
        squared = min(self.squared, frame.squared + 1.0)
        percent = min(int(_CURVATURE * frame.plenty), _MOST_CURVATURE)
        ridge = max(_LEAST_RIDGE, min(1.0, 1000 / frame.rows), frame.rows * 2.0**-23)
        return replace(self, squared=squared, percent=percent, least_ridge=ridge)

    @property
    def epsilon(self) -> Fraction:
        """Of all of it."""
        return sqrt_down(2 * self.spending.size) if self.spending.concentrated else self.spending.size

    @property
    def scores(self) -> int:
        """Columns of parameters."""
        return 1 if self.classes == 2 else self.classes

    @property
    def tilt(self) -> Cube:
        """Noise on the gradient: of a row its l1 size over the scores is at most 1, or 2 for several scores."""
        largest = (1 if self.scores == 1 else 2) * _GRID + self.scores
        return Cube(
            self.epsilon * (100 - _OUTPUT - self.percent) / 100,
            largest,
            self.columns,
            self.scores,
            self.spending.stated.unit,
        )

    @property
    def ridge(self) -> float:
        """So much that the curvature of one row changes the log-determinant by at most its part of ε."""
        part = min(float(self.epsilon) * self.percent / 100, 30.0)
        if self.scores == 1:
            least = self.squared / (4 * math.expm1(part))
        else:
            least = self.squared / (self.classes * math.expm1(part / (self.classes - 1)))
        return max(least * (1 + 2.0**-30), self.least_ridge)

    def slack(self, most_rows: float) -> float:
        """The gradient that certainly can be reached and certified for so many rows."""
        numbers, tilt = self.columns * self.scores, self._largest_tilt()
        size = 2 * tilt / self.ridge + math.sqrt(2 * most_rows * math.log(self.classes) / self.ridge)
        shape = {"columns": self.columns, "classes": self.classes, "numbers": numbers}
        error = rounding(most_rows, size + 1, ridge=self.ridge, tilt=tilt, **shape)
        return max(_FINEST, 4 * error, 4 * math.sqrt(numbers) / _GRID)

    def certain(self, most_rows: float) -> bool:
        """Whether the minimum for so many rows can be certified in doubles, with little noise: up to some millions."""
        slack = self.slack(most_rows)
        noise, grid = self.output(slack)
        return slack <= self.ridge / 8 and math.sqrt(noise.variance) * grid <= _LOUD

    def _largest_tilt(self) -> float:
        return math.sqrt(self.columns * self.scores) * reach(self.tilt) / _GRID

    def output(self, slack: float) -> tuple[Cube, float]:
        """Noise on the parameters, and its grid: a power of two of about 1/256 of what the certificate leaves open."""
        off = slack / self.ridge
        grid = 2.0 ** (math.floor(math.log2(off)) - 8)
        largest = 2 * (math.ceil(off / grid) + 1)
        numbers = self.columns * self.scores
        return Cube(self.epsilon * _OUTPUT / 100, largest, numbers, 1, self.spending.stated.unit), grid

    def release(self, X: Floats, places: NDArray[np.int64], most_rows: float, entropy: Entropy) -> Floats:
        """Parameters with a column for each score, from rows in whole steps of 2^-16."""
        tilt = (self.tilt.noise(entropy).T / _GRID).astype(float)
        slack = self.slack(most_rows)
        found = minimum(Objective(X / STEP, places, self.classes, self.ridge, tilt), slack / 4)
        noise, grid = self.output(slack)
        whole = np.rint(np.clip(found / grid, -(2.0**61), 2.0**61)).astype(np.int64)
        return noise.release(whole.reshape(1, -1), entropy).reshape(found.shape) * grid
