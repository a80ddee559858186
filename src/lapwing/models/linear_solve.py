"""From noisy sums of products to a line. All of it is post-processing: it sees noisy numbers and their known noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lapwing.models.columns import Floats
from lapwing.models.linear_moments import TARGET_WEIGHT, Moments

_SPREADS = np.geomspace(1e-4, 10.0, 26)
_FEW = 3.0
"""A weight of all rows below so many standard deviations of its noise is as good as none."""
_SMALLEST_RESIDUAL = 1e-3
_MORE = 1.5
"""So many standard deviations are added to the mean spread of the columns."""


@dataclass(frozen=True, slots=True)
class Line:
    """Slopes, the value at the origin, and the variance of each slope; in units of the given moments."""

    slopes: Floats
    start: float
    variances: Floats


@dataclass(frozen=True, slots=True)
class _Centred:
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

    def line(self, slopes: Floats, variances: Floats) -> Line:
        return Line(slopes, self.level - float(self.middle @ slopes), variances)


def shrunken(moments: Moments, variance: float, reach: float, peak: float, *, constant: bool) -> Line:
    """The mean of the slopes given the noisy sums, where slopes are thought to be drawn around 0.

    The matrix is drawn towards a multiple of the identity by as much as its distance from one is noise (as Ledoit and
    Wolf 2004 do for sampling noise); how far slopes spread is averaged over, by how likely it makes the noisy sums.
    """
    centred = _centred(moments, variance, reach, peak, constant=constant)
    if centred is None:
        return _flat_line(moments, reach)
    matrix, left, more = _towards_round(centred.columns, centred.noise)
    values, vectors = np.linalg.eigh(matrix)
    values, seen = np.maximum(values, 0.0), vectors.T @ centred.target
    spreads = _SPREADS[:, None]
    noise = centred.target_noise + left * centred.noise * spreads * len(seen)

    def given(residual: float) -> tuple[Floats, Floats]:
        off = noise + residual * values
        total = values**2 * spreads + off
        fit = -np.sum(np.log(total) + seen**2 / total, axis=1) / 2
        chances = np.exp(fit - fit.max()) / np.sum(np.exp(fit - fit.max()))
        means = values * spreads * seen / total
        along = chances @ means
        return vectors @ along, vectors**2 @ (chances @ (spreads * off / total + (means - along) ** 2))

    slopes, _ = given(centred.unexplained(np.zeros(len(seen))))
    slopes, variances = given(centred.unexplained(slopes))
    return centred.line(slopes, variances * (1 + 3 * more) + (more * slopes) ** 2)


def trimmed(moments: Moments, variance: float, reach: float, peak: float, *, constant: bool) -> Line:
    """The minimum of the noisy quadratic form, after a ridge of four standard deviations of the noise and without the
    directions in which the form still has no minimum (Zhang et al. 2012, section 6)."""
    centred = _centred(moments, variance, reach, peak, constant=constant)
    if centred is None:
        return _flat_line(moments, reach)
    ridge = 4 * np.sqrt(centred.noise)
    values, vectors = np.linalg.eigh(centred.columns)
    inverse = np.where(values + ridge > 0, 1 / np.maximum(values + ridge, ridge / 4), 0.0)
    slopes = vectors @ (inverse * (vectors.T @ centred.target))
    sampling = centred.unexplained(slopes) * np.maximum(values, 0.0)
    bias = ridge**2 * float(np.mean(slopes**2))
    noise = centred.target_noise + centred.noise * float(slopes @ slopes) + sampling + bias
    return centred.line(slopes, vectors**2 @ (inverse**2 * noise))


def _centred(moments: Moments, variance: float, reach: float, peak: float, *, constant: bool) -> _Centred | None:
    """Moments around the means; None if there are too few rows to speak of means."""
    columns, target, noise = moments.columns, moments.target, variance / TARGET_WEIGHT**2
    if not constant:
        weight = max(float(np.trace(columns)), float(np.sqrt(variance)))
        none = np.zeros(len(target))
        return _Centred(columns, target, variance, noise, weight, moments.square, peak, none, 0.0)
    rows = float(columns[0, 0])
    if rows < _FEW * np.sqrt(variance):
        return None
    middle, level = np.clip(columns[0, 1:] / rows, -2, 2), float(np.clip(target[0] / rows, -reach, reach))
    around = columns[1:, 1:] - rows * np.outer(middle, middle)
    aims = target[1:] - rows * middle * level
    off = float(np.mean(middle**2))
    noise += variance * level**2 + noise * off
    variance *= (1 + off) ** 2
    return _Centred(around, aims, variance, noise, rows, moments.square - rows * level**2, peak, middle, level)


def _flat_line(moments: Moments, reach: float) -> Line:
    columns = len(moments.target) - 1
    return Line(np.zeros(columns), 0.0, np.full(columns, reach**2))


def _towards_round(matrix: Floats, variance: float) -> tuple[Floats, float, float]:
    """The matrix drawn towards a multiple of the identity, the share of its noise variance that is left, and of the
    multiple that was added: too small a spread would make slopes absurd, too large a one only makes them flatter."""
    size = len(matrix)
    seen, deviation = float(np.trace(matrix)) / size, float(np.sqrt(variance / size))
    away = matrix - seen * np.eye(size)
    distance = float(np.sum(away**2))
    kept = max(0.0, 1 - size**2 * variance / distance) if distance > 0 else 0.0
    multiple = max(seen + _MORE * deviation, deviation / 4)
    return multiple * np.eye(size) + kept * away, kept**2, _MORE * deviation / multiple
