"""A search for the minimum of a regularised logistic loss in doubles.

Privacy does not rest on what `Search` finds, for that is certified afterwards; the certificate uses `residuals`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lapwing.models.columns import Floats

_LARGEST_MATRIX = 1500
_NEWTON, _CONJUGATE = 60, 200
_SAMPLED = 1 << 14
_PART = 1 << 12
_MANY, _SOME = 1 << 18, 16


def _exp_neg(x: Floats) -> Floats:
    powers: Floats = np.exp(-x)
    return powers


def likely(scores: Floats, falling: Callable[[Floats], Floats] = _exp_neg) -> Floats:
    """Probabilities of the classes; of the second one for a single column of scores. `falling` computes e^-x, x ≥ 0."""
    with np.errstate(all="ignore"):
        if scores.shape[1] == 1:
            small = falling(np.abs(scores))
            chances: Floats = np.where(scores >= 0, 1.0, small) / (1.0 + small)
            return chances
        risen = falling(scores.max(axis=1, keepdims=True) - scores)
        shares: Floats = risen / risen.sum(axis=1, keepdims=True)
        return shares


def residuals(scores: Floats, places: NDArray[np.int64], falling: Callable[[Floats], Floats] = _exp_neg) -> Floats:
    """Probabilities minus the observed classes."""
    chances = likely(scores, falling)
    if chances.shape[1] == 1:
        chances[:, 0] -= places
    else:
        chances[np.arange(len(places)), places] -= 1.0
    return chances


@dataclass(frozen=True, slots=True)
class Search:
    """The objective of logistic_objective.py with rows |x| ≤ 1, or `scale` times as large: then no copy is made."""

    X: Floats
    places: NDArray[np.int64]
    classes: int
    ridge: float
    tilt: Floats
    scale: float = 1.0

    def minimum(self, tolerance: float) -> Floats:
        """A point whose computed gradient has an l2 size of at most `tolerance`, or what 60 steps lead to."""
        theta = np.zeros(self.tilt.shape)
        with np.errstate(all="ignore"):
            if len(self.X) > _MANY:  # some of the rows lead most of the way
                theta = self._some().minimum(0.05 * math.sqrt(len(self.X)))
            slope = self.gradient(theta)
            for _ in range(_NEWTON):
                if np.linalg.norm(slope) <= tolerance:
                    break
                theta, slope = self._along(theta, slope, self.newton(theta, slope))
        return theta

    def gradient(self, theta: Floats) -> Floats:
        """∇J."""
        slope: Floats = self.ridge * theta + self.tilt
        for start in range(0, len(self.X), _PART):  # read once, for both products
            X, places = self.X[start : start + _PART], self.places[start : start + _PART]
            slope += X.T @ residuals(X @ (theta / self.scale), places) / self.scale
        return slope

    def _some(self) -> Search:
        """The same for every sixteenth row."""
        return replace(
            self,
            X=self.X[::_SOME],
            places=self.places[::_SOME],
            ridge=self.ridge / _SOME,
            tilt=self.tilt / _SOME,
        )

    def curvature(self, theta: Floats) -> Floats:
        """About ∇²J, from a part of the rows if there are many."""
        every = max(1, len(self.X) // _SAMPLED)
        X = self.X[::every] / self.scale
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

    def newton(self, theta: Floats, slope: Floats) -> Floats:
        """Newton's direction, by conjugate gradients where the matrix would be too large."""
        if theta.size <= _LARGEST_MATRIX:
            solved = np.linalg.solve(self.curvature(theta), -slope.T.ravel())
            return np.asarray(solved, dtype=float).reshape(theta.shape[::-1]).T
        way: Floats = np.zeros(theta.shape)
        left = -slope
        search, size = left, float(np.vdot(left, left))
        goal = size * min(0.01, math.sqrt(size) / max(len(self.X), 1))
        for _ in range(_CONJUGATE):
            bent = self._bent(theta, search)
            length = size / float(np.vdot(search, bent))
            way, left = way + length * search, left - length * bent
            before, size = size, float(np.vdot(left, left))
            if size <= goal:
                break
            search = left + size / before * search
        return way

    def _bent(self, theta: Floats, way: Floats) -> Floats:
        """∇²J times a direction, without the matrix."""
        chances, along = likely(self.X @ (theta / self.scale)), self.X @ (way / self.scale)
        weighed = chances * along
        turned = (
            weighed * (1 - chances) if self.classes == 2 else weighed - chances * weighed.sum(axis=1, keepdims=True)
        )
        curved: Floats = self.X.T @ turned / self.scale + self.ridge * way
        return curved

    def _along(self, theta: Floats, slope: Floats, way: Floats) -> tuple[Floats, Floats]:
        """As far along the way as the loss surely does not rise much: convex, so its slope tells."""
        start, step = float(np.vdot(slope, way)), 1.0
        while True:
            there = theta + step * way
            slope = self.gradient(there)
            if float(np.vdot(slope, way)) <= -0.5 * start or step < 1e-9:
                return there, slope
            step /= 2
