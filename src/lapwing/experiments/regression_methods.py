"""The two methods of the study for many epsilons at once, and any estimator on the same folds.

An error is what the study calls one: the root of the mean squared error on a fold, averaged over ten folds. All fits of
one epsilon are done together, as stacks of small matrices. These are simulations of what the methods would say, with
noise in doubles; nothing here is a release.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lapwing.errors import NotPrivateWarning
from lapwing.experiments.boston import FOLDS, Floats, Houses, fold_edges
from lapwing.noise import Entropy, discrete_laplace

Maker = Callable[[float, int], Any]
"""An estimator for an epsilon and a seed."""

_STEPS = 1 << 20
_RIDGE = 5 * math.sqrt(2)
"""Times the scale of the noise, on the diagonal: so the authors of the functional mechanism have it in their code."""
_SMALLEST = 1e-8
"""Directions with a smaller eigenvalue are dropped: the same code."""


@dataclass(frozen=True, slots=True)
class Method1:
    """Laplace noise on every prediction of an exact fit: naive output perturbation. **Not private.**"""

    residuals: Floats
    edges: Any
    sensitivity: float

    @classmethod
    def of(cls, table: Houses) -> Method1:
        """The exact fits of all folds, and the largest change of the training error on the whole table."""
        residuals = [
            np.linalg.lstsq(with_ones(train.X), train.y, rcond=None)[0] @ with_ones(test.X).T - test.y
            for train, test in table.folds()
        ]
        changes = training_error_changes(with_ones(table.X), table.y)
        return cls(np.concatenate(residuals), fold_edges(len(table.y)), float(changes.max()))

    def errors(self, epsilon: float, repeats: int, entropy: Entropy) -> Floats:
        """One for each repetition."""
        noise = unit_laplace(repeats * len(self.residuals), entropy).reshape(repeats, -1)
        noise *= self.sensitivity / epsilon
        noise += self.residuals
        np.square(noise, out=noise)
        sizes = np.diff(self.edges)
        return np.asarray(np.sqrt(np.add.reduceat(noise, self.edges[:-1], axis=1) / sizes).mean(axis=1))


@dataclass(frozen=True, slots=True)
class Method2:
    """The functional mechanism of Zhang et al. 2012 (section 4.2) with the regularisation of their published code.

    Coefficients of Σ(xᵀw − y)² get Laplace noise of scale (2d² + 4d)/ε, d counting the intercept: with |x_j| ≤ 1 and
    |y| ≤ 1 a replaced record changes Σ x_j·x_l by 2d² in the l1 norm and 2·Σ x_j·y by 4d. With bounds taken from the
    data it is **not private**.
    """

    train: tuple[Floats, Floats]
    test: tuple[Floats, Floats, Floats]

    @classmethod
    def of(cls, table: Houses) -> Method2:
        """Sums of products to learn from and to be tested on, for all folds; columns lie within −1 … 1."""
        train, test = (list(side) for side in zip(*table.folds(), strict=True))
        quadratic, linear, _ = _sums(train)
        sizes = np.array([len(fold.y) for fold in test])
        square, cross, constant = _sums(test)
        return cls((quadratic, linear), (square / sizes[:, None, None], cross / sizes[:, None], constant / sizes))

    def errors(self, epsilon: float, repeats: int, entropy: Entropy) -> Floats:
        """One for each repetition, in units of the scaled target."""
        quadratic, linear = self.train
        size = linear.shape[1]
        scale = (2 * size**2 + 4 * size) / epsilon
        noise = unit_laplace(repeats * FOLDS * size * (size + 1), entropy).reshape(repeats, FOLDS, size, size + 1)
        noise *= scale
        square = noise[..., :size]
        form = quadratic + (square + square.swapaxes(-1, -2)) / 2 + _RIDGE * scale * np.eye(size)
        target = linear + noise[..., size] / 2  # half the noisy coefficient of −w
        weights = _minimiser(form, target)
        return self._tested(weights)

    def _tested(self, weights: Floats) -> Floats:
        quadratic, linear, constant = self.test
        bent = np.einsum("rfi,fij,rfj->rf", weights, quadratic, weights)
        squared = bent - 2 * np.einsum("rfi,fi->rf", weights, linear) + constant
        return np.asarray(np.sqrt(np.maximum(squared, 0)).mean(axis=1))


def estimator_errors(make: Maker, epsilon: float, table: Houses, repeats: int) -> Floats:
    """The same error of estimators that are fitted one by one; one for each repetition."""
    errors = np.empty((repeats, FOLDS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)  # reproducible noise, for a figure
        for repeat in range(repeats):
            for fold, (train, test) in enumerate(table.folds()):
                model = make(epsilon, 1000 * repeat + fold).fit(train.X, train.y)
                errors[repeat, fold] = math.sqrt(np.mean((model.predict(test.X) - test.y) ** 2))
    return np.asarray(errors.mean(axis=1))


def training_error_changes(design: Floats, y: Floats) -> Floats:
    """By how much the mean squared error on the training rows changes when a record is left out, for every record.

    Leaving out record i lowers the sum of squared residuals by e_i²/(1 − h_i), h_i being its leverage, so no model is
    fitted twice.
    """
    rows = len(y)
    basis, sizes, _ = np.linalg.svd(design, full_matrices=False)
    basis = basis[:, sizes > sizes[0] * 1e-12]
    leverages = np.einsum("ij,ij->i", basis, basis)
    residuals = y - basis @ (basis.T @ y)
    total = float(residuals @ residuals)
    free = np.maximum(1 - leverages, 1e-12)  # of a record that alone decides its own prediction, the residual is 0
    return np.asarray(np.abs((total - residuals**2 / free) / (rows - 1) - total / rows))


def unit_laplace(size: int, entropy: Entropy) -> Floats:
    """Laplace noise of scale 1 on a fine grid. To be stretched for simulations; a real release stays on its grid."""
    return np.asarray(discrete_laplace(_STEPS, size=size, entropy=entropy), dtype=float) / _STEPS


def with_ones(X: Floats) -> Floats:
    """A last column of ones, for the intercept."""
    return np.column_stack([X, np.ones(len(X))])


def _sums(tables: list[Houses]) -> tuple[Floats, Floats, Floats]:
    """Products of features, of features and target, and of the target, summed over every table."""
    designs = [with_ones(table.X) for table in tables]
    pairs = list(zip(designs, (table.y for table in tables), strict=True))
    return (
        np.array([X.T @ X for X in designs]),
        np.array([X.T @ y for X, y in pairs]),
        np.array([y @ y for _, y in pairs]),
    )


def _minimiser(form: Floats, target: Floats) -> Floats:
    """Of wᵀ·form·w − 2·targetᵀ·w within the directions where the form is positive, for a stack of forms."""
    values, vectors = np.linalg.eigh(form)
    kept = values > _SMALLEST
    turned = np.einsum("...ji,...j->...i", vectors, target)
    turned = np.where(kept, turned / np.where(kept, values, 1.0), 0.0)
    return np.asarray(np.einsum("...ij,...j->...i", vectors, turned))
