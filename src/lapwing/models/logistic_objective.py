"""Objective perturbation: a loss tilted by noise, a certified minimum, and noise for the error that remains.

    J(Θ) = Σ_i loss(x_i, y_i; Θ) + ridge/2·‖Θ‖² + ⟨tilt, Θ⟩

One column of Θ for two classes, a column for each class otherwise. J is strongly convex, so ‖Θ − Θ*‖₂ ≤ ‖∇J(Θ)‖₂/ridge:
a small gradient is a certificate, however Θ was found. It is searched for in doubles (logistic_search.py), certified in
doubles whose error is known, and if that fails, improved in whole numbers until it is certain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from lapwing.exact import exp_neg, sqrt_down, sqrt_up
from lapwing.models.columns import Floats
from lapwing.models.cube import STEP, Cube
from lapwing.models.exact import products, rowwise
from lapwing.models.logistic_frame import Frame
from lapwing.models.logistic_search import Search, residuals
from lapwing.models.spending import Spending
from lapwing.noise import Entropy

Whole = NDArray[np.object_]
"""Python integers or fractions."""

GRID = 1 << 30
"""Steps of the tilt in one unit of a gradient."""
_LEAST_RIDGE = 2.0**-3
_FINEST = 2.0**-20
"""No gradient need be smaller."""
_CURVATURE, _MOST_CURVATURE, _OUTPUT = 10, 50, 1
"""Percent of ε."""
_PART = 1 << 14
"""Rows certified at a time: sums of products within 2^42 stay far from 2^62, where `products` cuts."""
_LN2 = (float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33"))
"""Its first 32 bits and the rest: so a small multiple of the first is exact."""


@dataclass(frozen=True, slots=True)
class ObjectiveNoise:
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
    """More than privacy asks for: 1 for few rows, as is usual; for many, so that little is left open."""
    percent: int = _CURVATURE
    """Of ε, for the curvature of a row: the more, the smaller the ridge and the larger the tilt."""
    rows: float = 1.0
    """About how many there are: the more, the larger a gradient is let pass, for doubles have to certify it."""

    def suited(self, frame: Frame) -> ObjectiveNoise:
        """The same for rows of a smaller size; where there are plenty, the ridge matters more than the tilt."""
        squared = min(self.squared, frame.squared + 1.0)
        percent = min(int(_CURVATURE * frame.plenty), _MOST_CURVATURE)
        ridge = max(_LEAST_RIDGE, min(1.0, 1000 / frame.rows), frame.rows * 2.0**-20)
        return replace(self, squared=squared, percent=percent, least_ridge=ridge, rows=frame.rows)

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
        largest = (1 if self.scores == 1 else 2) * GRID + self.scores
        epsilon = self.epsilon * (100 - _OUTPUT - self.percent) / 100
        return Cube(epsilon, largest, self.columns, self.scores, self.spending.stated.unit)

    @property
    def ridge(self) -> float:
        """So much that the curvature of one row changes the log-determinant by at most its part of ε."""
        part = min(float(self.epsilon) * self.percent / 100, 30.0)
        if self.scores == 1:
            least = self.squared / (4 * math.expm1(part))
        else:
            least = self.squared / (self.classes * math.expm1(part / (self.classes - 1)))
        return max(least * (1 + 2.0**-30), self.least_ridge)

    @property
    def slack(self) -> float:
        """The gradient that a solution may have, for a tilt anywhere in the cell of the one that was drawn."""
        numbers = math.sqrt(self.columns * self.scores)
        return max(_FINEST, numbers * self.classes * self.rows * 2.0**-40, 4 * numbers / GRID)

    @property
    def output(self) -> tuple[Cube, Fraction]:
        """Noise on the parameters, and its grid: a power of two of about 1/256 of what the certificate leaves open."""
        off = Fraction(self.slack) / Fraction(self.ridge)
        grid = Fraction(2) ** (math.floor(math.log2(off)) - 8)
        largest = 2 * (math.ceil(off / grid) + 1)
        numbers = self.columns * self.scores
        return Cube(self.epsilon * _OUTPUT / 100, largest, numbers, 1, self.spending.stated.unit), grid

    def release(self, X: Floats, places: NDArray[np.int64], entropy: Entropy) -> Floats:
        """Parameters with a column for each score, from rows in whole steps of 2^-16."""
        objective = Objective(X, places, self.classes, self.ridge, self.tilt.noise(entropy).T)
        cell = sqrt_up(Fraction(self.columns * self.scores)) / (2 * GRID)
        minimum = objective.minimum(Fraction(self.slack) - cell)
        noise, grid = self.output
        whole = _on_grid(minimum, grid)
        return noise.release(whole.reshape(1, -1), entropy).reshape(minimum.shape) * float(grid)


@dataclass(frozen=True, slots=True)
class Objective:
    """The loss of rows `X` (whole steps within ±2^16) with classes at `places`, tilted."""

    X: Floats
    places: NDArray[np.int64]
    classes: int
    ridge: float
    tilt: Whole
    """In whole steps of 1/GRID, a column for each column of Θ."""

    @property
    def search(self) -> Search:
        """The same in doubles."""
        tilt = (self.tilt / GRID).astype(float)
        return Search(self.X, self.places, self.classes, self.ridge, tilt, scale=float(STEP))

    def minimum(self, allowed: Fraction) -> Whole:
        """A point with ‖∇J‖₂ ≤ allowed, for certain, as fractions. How long that takes depends on the rows."""
        theta = self.search.minimum(float(allowed) / 4)
        slope = self.slope(theta)
        if slope is None:
            return self.persist(np.zeros(theta.shape), allowed)
        return _fractions(theta) if slope <= allowed else self.persist(theta, allowed)

    def slope(self, theta: Floats) -> Fraction | None:
        """At least ‖∇J(Θ)‖₂, certainly, from doubles; None where they do not tell."""
        largest = float(np.abs(theta).sum(axis=0).max())
        if not largest < 2.0**40:
            return None
        total = np.zeros(theta.shape, dtype=object)
        for start in range(0, len(self.X), _PART):
            X, places = self.X[start : start + _PART], self.places[start : start + _PART]
            left = residuals(rowwise(X / STEP, theta), places, falling)
            high = np.rint(left * 2.0**26)
            low = np.rint((left - high * 2.0**-26) * 2.0**52)
            total += products(X, high, 1 << 42).astype(object) * (1 << 26) + products(X, low, 1 << 42)
        each = len(theta) * 2.0**-53 * largest + (self.classes + 1) * 2.0**-48
        return self._size(self._gradient(_fractions(theta), total, 52), 2 * Fraction(each))

    def persist(self, start: Floats, allowed: Fraction) -> Whole:
        """The same as `minimum`, by Newton's method with gradients of ever more bits.

        It ends nowhere but at a certificate. Steps are so long that the loss goes down from anywhere, for its third
        derivatives are at most r·‖way‖ times the second ones, r² = 2·columns (Bach 2010).
        """
        search, bits = self.search, 96
        theta: Whole = _fractions(start)
        while True:
            bits += 16
            theta = _on_grid(theta, Fraction(1, 1 << bits)) * Fraction(1, 1 << bits)
            gradient, error = self._in_integers(theta, bits)
            if self._size(gradient, error) <= allowed:
                return theta
            way = search.newton(theta.astype(float), gradient.astype(float))
            far = math.sqrt(2 * len(theta)) * float(np.linalg.norm(way)) + 2.0**-60
            theta = theta + _fractions(way * (math.log1p(far) / far))

    def _in_integers(self, theta: Whole, bits: int) -> tuple[Whole, Fraction]:
        """∇J for Θ in steps of 2^-bits, and how far each number may be off for each row."""
        one, total, widest = 1 << bits, np.zeros(theta.shape, dtype=object), 0
        whole = _on_grid(theta, Fraction(1, one))
        for row, place in zip(self.X, self.places.tolist(), strict=True):
            x = np.array([int(entry) for entry in row], dtype=object)
            scores = [0] * (self.classes - theta.shape[1]) + (x @ whole).tolist()
            ends = [exp_neg(Fraction(max(scores) - score, STEP * one))(bits) for score in scores]
            over = sum(low for low, _ in ends)
            left = [low * one // over - one * (place == k) for k, (low, _) in enumerate(ends)]
            total += np.outer(x, np.array(left[-theta.shape[1] :], dtype=object))
            widest = max(widest, *(high - low for low, high in ends))
        return self._gradient(theta, total, bits), Fraction((self.classes + 1) * widest + 1, one)

    def _gradient(self, theta: Whole, total: Whole, bits: int) -> Whole:
        """With the part of the loss given in steps of 2^-16 − bits."""
        gradient: Whole = (
            total * Fraction(1, STEP << bits) + theta * Fraction(self.ridge) + self.tilt * Fraction(1, GRID)
        )
        return gradient

    def _size(self, gradient: Whole, error: Fraction) -> Fraction:
        """Its l2 size rounded up, if every row may have brought so much error to every number."""
        known = sqrt_up(sum((value**2 for value in gradient.ravel()), Fraction(0)))
        return known + error * len(self.X) * (math.isqrt(gradient.size) + 1)


def falling(x: Floats) -> Floats:
    """e^-x for x ≥ 0, off by at most 2^-50, from operations that IEEE 754 defines.

    x = k·ln 2 − r with |r| < 0.35, and 13 terms of the series of e^r.
    """
    x = np.minimum(x, 64.0)
    k = np.rint(x / math.log(2))
    r = (k * _LN2[0] - x) + k * _LN2[1]
    series = np.ones_like(r)
    for i in range(13, 0, -1):
        series *= r
        series /= i
        series += 1.0
    powers: Floats = np.ldexp(series, -k.astype(np.int32))
    return powers


def _fractions(theta: Floats) -> Whole:
    return np.array([Fraction(value) for value in theta.ravel().tolist()], dtype=object).reshape(theta.shape)


def _on_grid(theta: Whole, step: Fraction) -> Whole:
    return np.array([round(value / step) for value in theta.ravel()], dtype=object).reshape(theta.shape)
