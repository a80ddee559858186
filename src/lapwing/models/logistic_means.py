"""Models from noisy sums. All of it is post-processing: floats are free, and nothing may fail."""

from __future__ import annotations

import math

import numpy as np

from lapwing.models.columns import Floats

_WITHIN = 0.5
"""The variance that columns are taken to have within a class, in squared widths."""
_STEEPEST = 2.0


def by_means(sums: Floats, spread: float, rows: float, *, constant: bool) -> Floats:
    """The first step of Newton's method from 0, as if columns had nothing to do with one another.

    `spread` is the variance of the noise.
    """
    if len(sums) == 1:
        theta = 2 * sums[0] / rows
        theta[int(constant) :] /= _WITHIN
        return _flat(theta[:, None], int(constant))
    if not constant:
        theta = (sums - sums.mean(axis=0)).T / (rows / len(sums) * _WITHIN)
        return _flat(theta, 0)
    counts = np.maximum(sums[:, 0], rows / len(sums) / 4)
    means, shares = sums[:, 1:] / counts[:, None], counts / counts.sum()
    middle = shares @ means
    apart = means - middle
    squares = float(np.mean(apart**2))
    signal = max(squares - spread * float(np.mean(1 / counts**2)), 0.02 * squares)
    within = max(_WITHIN - signal, 0.05)
    weights = apart / within
    start = np.log(shares) - 0.5 * np.sum(apart**2, axis=1) / within - weights @ middle
    return _flat(np.vstack([start, weights.T]), 1)


def _flat(theta: Floats, first: int) -> Floats:
    """Not steeper than scores of standard deviation 2, for columns that say the same are counted as if they did not."""
    steep = math.sqrt(_WITHIN * float(np.sum(theta[first:] ** 2)) / theta.shape[1])
    return theta * min(1.0, _STEEPEST / max(steep, 1e-300))


def by_moments(sums: Floats, pairs: Floats, spread: float) -> Floats:
    """The minimum of the loss to second order at 0, with a ridge as large as the noise on the sums of products."""
    columns = len(pairs)
    ridge = 2 * math.sqrt(columns) * spread  # the largest eigenvalue of so large a symmetric matrix of noise
    values, vectors = np.linalg.eigh(pairs)
    inverse = (vectors / (np.maximum(values, 0.0) + ridge)) @ vectors.T
    if len(sums) == 1:
        return np.asarray(2 * inverse @ sums.T)
    found: Floats = len(sums) * inverse @ (sums - sums.mean(axis=0)).T
    return found
