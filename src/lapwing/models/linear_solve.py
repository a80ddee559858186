"""From noisy sums of products to a line. All of it is post-processing: it sees noisy numbers and their known noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from lapwing.models.columns import Floats
from lapwing.models.linear_moments import TARGET_WEIGHT, Moments

_SPREADS = np.geomspace(1e-4, 10.0, 26)
_FEW = 3.0
"""A weight of all rows below so many standard deviations of its noise is as good as none."""
_SMALLEST_RESIDUAL = 1e-3
_MORE = 1.5
"""So many standard deviations are added to the mean spread of the columns."""


Learnt = Literal["slopes", "direction", "mean"]
"""What the noise left room for: every slope, one direction, or the mean of the target alone."""


@dataclass(frozen=True, slots=True)
class Line:
    """Slopes, the value at the origin, and intervals; in units of the given moments."""

    slopes: Floats
    start: float
    learnt: Learnt
    middles: Floats
    """Where the interval of each slope has its middle: the slope before it was drawn towards 0."""
    errors: Floats
    """The standard error of each middle; NaN where nothing can be said."""


def without_errors(slopes: Floats, start: float, learnt: Learnt) -> Line:
    """A line of whose slopes nothing more can be said."""
    unknown = np.full(len(slopes), np.nan)
    return Line(slopes, start, learnt, unknown, unknown)


@dataclass(frozen=True, slots=True)
class _CentredSums:
    """Sums of products around the means, and the variance of their noise."""

    columns: Floats
    target: Floats
    noise: float
    target_noise: float
    weight: float
    """Of all rows together, or what stands in for it."""
    square: float
    """The sum of squares of the target around its mean."""
    peak: float
    middle: Floats
    level: float

    def unexplained(self, slopes: Floats) -> float:
        """An upper estimate of how much the products of the residuals vary, as a share of the products of the columns.

        The squares of weights are at most the largest weight, `peak`, times the weights.
        """
        explained = float(2 * self.target @ slopes - slopes @ self.columns @ slopes)
        share = (self.square - max(explained, 0.0)) / self.weight
        return self.peak * float(np.clip(share, _SMALLEST_RESIDUAL, 4.0))

    def line(self, slopes: Floats) -> Line:
        """With intervals around the solution of the noisy equations, if noise cannot have turned them upside down.

        The noisy sums fulfil target = columns·s + noise for the true slopes s, where the noise of each equation has the
        variance of the target's, that of the columns' times |s|², and that of the residuals. So s is the solution,
        with this noise carried through the inverse. A random symmetric matrix of d columns has a norm of about 2√d
        standard deviations: only if the least eigenvalue is twice that, the solution bounds |s|.
        """
        start, size = self.level - float(self.middle @ slopes), len(slopes)
        values, vectors = np.linalg.eigh(self.columns)
        if values[0] <= 4 * np.sqrt(size * self.noise):
            return without_errors(slopes, start, "slopes")
        inverse = (vectors / values) @ vectors.T
        middles = inverse @ self.target
        farthest = 2 * (float(np.linalg.norm(middles)) + 3 * np.sqrt(size * self.target_noise) / values[0])
        noise = self.target_noise + self.noise * farthest**2
        variances = np.sum(inverse**2, axis=1) * noise + self.unexplained(middles) * np.diag(inverse)
        return Line(slopes, start, "slopes", middles, np.sqrt(variances))


def shrunken(moments: Moments, variance: float, reach: float, peak: float, *, constant: bool) -> Line:
    """The mean of the slopes given the noisy sums, where slopes are thought to be drawn around 0.

    The matrix is drawn towards a multiple of the identity by as much as its distance from one is noise (as Ledoit and
    Wolf 2004 do for sampling noise); how far slopes spread is averaged over, by how likely it makes the noisy sums.
    """
    centred = _centred(moments, variance, reach, peak, constant=constant)
    if centred is None:
        return _flat_line(moments)
    matrix, left = _towards_round(centred.columns, centred.noise)
    values, vectors = np.linalg.eigh(matrix)
    values, seen = np.maximum(values, 0.0), vectors.T @ centred.target
    spreads = _SPREADS[:, None]
    noise = centred.target_noise + left * centred.noise * spreads * len(seen)

    def given(residual: float) -> Floats:
        off = noise + residual * values
        total = values**2 * spreads + off
        fit = -np.sum(np.log(total) + seen**2 / total, axis=1) / 2
        chances = np.exp(fit - fit.max()) / np.sum(np.exp(fit - fit.max()))
        means = values * spreads * seen / total
        slopes: Floats = vectors @ (chances @ means)
        return slopes

    slopes = given(centred.unexplained(np.zeros(len(seen))))
    return centred.line(given(centred.unexplained(slopes)))


def trimmed(moments: Moments, variance: float, reach: float, peak: float, *, constant: bool) -> Line:
    """The minimum of the noisy quadratic form, after a ridge of four standard deviations of the noise and without the
    directions in which the form still has no minimum (Zhang et al. 2012, section 6)."""
    centred = _centred(moments, variance, reach, peak, constant=constant)
    if centred is None:
        return _flat_line(moments)
    ridge = 4 * np.sqrt(centred.noise)
    values, vectors = np.linalg.eigh(centred.columns)
    inverse = np.where(values + ridge > 0, 1 / np.maximum(values + ridge, ridge / 4), 0.0)
    return centred.line(vectors @ (inverse * (vectors.T @ centred.target)))


def _centred(moments: Moments, variance: float, reach: float, peak: float, *, constant: bool) -> _CentredSums | None:
    """Moments around the means; None if there are too few rows to speak of means."""
    columns, target, noise = moments.columns, moments.target, variance / TARGET_WEIGHT**2
    if not constant:
        weight = max(float(np.trace(columns)), float(np.sqrt(variance)))
        none = np.zeros(len(target))
        return _CentredSums(columns, target, variance, noise, weight, moments.square, peak, none, 0.0)
    rows = float(columns[0, 0])
    if rows < _FEW * np.sqrt(variance):
        return None
    middle, level = np.clip(columns[0, 1:] / rows, -2, 2), float(np.clip(target[0] / rows, -reach, reach))
    around = columns[1:, 1:] - rows * np.outer(middle, middle)
    aims = target[1:] - rows * middle * level
    off = float(np.mean(middle**2))
    noise += variance * level**2 + noise * off
    variance *= (1 + off) ** 2
    return _CentredSums(around, aims, variance, noise, rows, moments.square - rows * level**2, peak, middle, level)


def _flat_line(moments: Moments) -> Line:
    return without_errors(np.zeros(len(moments.target) - 1), 0.0, "mean")


def _towards_round(matrix: Floats, variance: float) -> tuple[Floats, float]:
    """The matrix drawn towards a multiple of the identity, and the share of its noise variance that is left. The
    multiple is a little larger than was seen: too small a one would make slopes absurd, this makes them flatter."""
    size = len(matrix)
    seen, deviation = float(np.trace(matrix)) / size, float(np.sqrt(variance / size))
    away = matrix - seen * np.eye(size)
    distance = float(np.sum(away**2))
    kept = max(0.0, 1 - size**2 * variance / distance) if distance > 0 else 0.0
    multiple = max(seen + _MORE * deviation, deviation / 4)
    return multiple * np.eye(size) + kept * away, kept**2
