"""The minimum of a regularised logistic loss, found by any means and certified afterwards.

    J(Θ) = Σ_i loss(x_i, y_i; Θ) + ridge/2·‖Θ‖² + ⟨tilt, Θ⟩

One column of Θ for two classes, a column for each class otherwise. J is strongly convex, so ‖Θ − Θ*‖₂ ≤ ‖∇J(Θ)‖₂/ridge:
a small gradient is a certificate, and only its rounding error has to be bounded, not how Θ was found.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lapwing.models.columns import Floats

_BLOCK = 512
_ROUND = 2.0**-53
_LARGEST_MATRIX = 1500
_NEWTON, _CONJUGATE, _LAST = 60, 200, 100_000
_SAMPLED = 1 << 14


@dataclass(frozen=True, slots=True)
class Objective:
    """The loss of rows `X` (|x| ≤ 1, multiples of 2^-16) with classes at `places`, tilted."""

    X: Floats
    places: NDArray[np.int64]
    classes: int
    ridge: float
    tilt: Floats
    """A column for each column of Θ."""

    def gradient(self, theta: Floats) -> Floats:
        """∇J, by blocks of 512 rows whose sums are added without further rounding error."""
        total = np.zeros(theta.shape)
        sums = [
            self.X[at : at + _BLOCK].T @ self._residuals(theta, slice(at, at + _BLOCK))
            for at in range(0, len(self.X), _BLOCK)
        ]
        if sums:
            stacked = np.array(sums).reshape(len(sums), -1)
            total = np.array([math.fsum(column) for column in stacked.T.tolist()]).reshape(theta.shape)
        found: Floats = total + self.ridge * theta + self.tilt
        return found

    def _residuals(self, theta: Floats, rows: slice) -> Floats:
        """Expected minus observed class."""
        chances = likely(self.X[rows] @ theta)
        places = self.places[rows]
        if self.classes == 2:
            chances[:, 0] -= places
        else:
            chances[np.arange(len(places)), places] -= 1.0
        return chances

    def curvature(self, theta: Floats) -> Floats:
        """About ∇²J, from a part of the rows if there are many: it only shows the way."""
        every = max(1, len(self.X) // _SAMPLED)
        X = self.X[::every]
        chances, columns = likely(X @ theta), theta.shape[0]
        if self.classes == 2:
            hessian: Floats = X.T @ (X * (chances * (1 - chances)))
        else:
            size = self.classes
            hessian = np.zeros((size, columns, size, columns))
            for k in range(size):
                for j in range(k + 1):
                    weight = chances[:, k] * ((k == j) - chances[:, j])
                    hessian[k, :, j, :] = hessian[j, :, k, :] = X.T @ (X * weight[:, None])
            hessian = hessian.reshape(size * columns, size * columns)
        return hessian * (len(self.X) / max(len(X), 1)) + self.ridge * np.eye(len(hessian))

    def bent(self, theta: Floats, way: Floats) -> Floats:
        """∇²J times a direction, without the matrix."""
        chances, along = likely(self.X @ theta), self.X @ way
        weighed = chances * along
        turned = (
            weighed * (1 - chances) if self.classes == 2 else weighed - chances * weighed.sum(axis=1, keepdims=True)
        )
        found: Floats = self.X.T @ turned + self.ridge * way
        return found


def rounding(rows: float, size: float, *, columns: int, classes: int, numbers: int, ridge: float, tilt: float) -> float:
    """Bounds the l2 error of `Objective.gradient` for so many rows and sizes of Θ and the tilt (logistic.md)."""
    score: float = 2 * columns**1.5 * _ROUND * size
    each = (_BLOCK + 2 * classes + 64) * _ROUND + score / 2
    return 2 * math.sqrt(numbers) * rows * each + 8 * _ROUND * (ridge * size + tilt)


def likely(scores: Floats) -> Floats:
    """Probabilities of the classes; of the second one for a single column of scores."""
    with np.errstate(all="ignore"):
        if scores.shape[1] == 1:
            small = np.exp(-np.abs(scores))
            found: Floats = np.where(scores >= 0, 1.0, small) / (1.0 + small)
            return found
        risen = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares: Floats = risen / risen.sum(axis=1, keepdims=True)
        return shares


def minimum(objective: Objective, tolerance: float) -> Floats:
    """A point whose computed gradient has an l2 size of at most `tolerance`."""
    theta = np.zeros(objective.tilt.shape)
    slope = objective.gradient(theta)
    for _ in range(_NEWTON):
        if np.linalg.norm(slope) <= tolerance:
            return theta
        theta, slope = _along(objective, theta, slope, _newton(objective, theta, slope))
    return _slowly(objective, theta, slope, tolerance)


def _newton(objective: Objective, theta: Floats, slope: Floats) -> Floats:
    """Newton's direction, by conjugate gradients where the matrix would be too large."""
    if theta.size <= _LARGEST_MATRIX:
        solved = np.linalg.solve(objective.curvature(theta), -slope.T.ravel())
        return np.asarray(solved, dtype=float).reshape(theta.shape[::-1]).T
    way: Floats = np.zeros(theta.shape)
    left = -slope
    search, size = left, float(np.vdot(left, left))
    goal = size * min(0.01, math.sqrt(size) / max(len(objective.X), 1))
    for _ in range(_CONJUGATE):
        bent = objective.bent(theta, search)
        length = size / float(np.vdot(search, bent))
        way, left = way + length * search, left - length * bent
        before, size = size, float(np.vdot(left, left))
        if size <= goal:
            break
        search = left + size / before * search
    return way


def _along(objective: Objective, theta: Floats, slope: Floats, way: Floats) -> tuple[Floats, Floats]:
    """As far along the way as the loss surely does not rise much: convex, so its slope tells."""
    start, step = float(np.vdot(slope, way)), 1.0
    while True:
        there = theta + step * way
        found = objective.gradient(there)
        if float(np.vdot(found, way)) <= -0.5 * start or step < 1e-9:
            return there, found
        step /= 2


def _slowly(objective: Objective, theta: Floats, slope: Floats, tolerance: float) -> Floats:
    """Steps that go down for certain, by the quadratic bound of Böhning (1992): curvature ≤ XᵀX/2 + ridge."""
    if np.linalg.norm(slope) > tolerance:
        bound = objective.X.T @ objective.X / 2 + objective.ridge * np.eye(len(theta))
        inverse = np.linalg.inv(bound)
        for _ in range(_LAST):
            theta = theta - inverse @ slope
            slope = objective.gradient(theta)
            if np.linalg.norm(slope) <= tolerance:
                break
    return theta
