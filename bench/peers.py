"""How the peers do the same jobs, each through the fastest public door it has."""

from __future__ import annotations

from typing import Any

import diffprivlib.mechanisms as diffprivlib
import numpy as np
import opendp.prelude as opendp
from pydp.algorithms.numerical_mechanisms import LaplaceMechanism as PyDPLaplace

from bench.measure import Contender

opendp.enable_features("contrib")

GENERATOR = np.random.default_rng()
SMALL = 20_000
"""Draws in a turn of peers that are hundreds of times slower, so that nobody's turn takes long."""

INTEGERS = opendp.vector_domain(opendp.atom_domain(T="i64"))


def opendp_laplace(scale: float) -> Contender:
    """OpenDP's exact discrete Laplace on a numpy array."""
    measurement = opendp.m.make_laplace(INTEGERS, opendp.l1_distance(T="i64"), scale=scale)
    return _opendp(measurement, np.zeros(SMALL, dtype=np.int64), SMALL)


def opendp_gaussian(sigma: float) -> Contender:
    """OpenDP's exact discrete Gaussian on a numpy array."""
    measurement = opendp.m.make_gaussian(INTEGERS, opendp.l2_distance(T="f64"), scale=sigma)
    return _opendp(measurement, np.zeros(SMALL, dtype=np.int64), SMALL)


def opendp_bits(flip: float, size: int = 200_000) -> Contender:
    """OpenDP's randomized response on a bit vector; its f replaces a bit by a fair coin."""
    measurement = opendp.m.make_randomized_response_bitvec(
        opendp.bitvector_domain(max_weight=1), opendp.discrete_distance(), f=2 * flip
    )
    return _opendp(measurement, bytes(size // 8), size)


def opendp_noisy_max(scores: np.ndarray[Any, Any]) -> Contender:
    """OpenDP's noisy max over integer scores."""
    measurement = opendp.m.make_noisy_max(INTEGERS, opendp.linf_distance(T="i64"), opendp.max_divergence(), scale=2.0)
    return _opendp(measurement, scores, len(scores))


def opendp_scalar(repeats: int = 200) -> Contender:
    """One release of a count after the other."""
    measurement = opendp.m.make_laplace(opendp.atom_domain(T="i64"), opendp.absolute_distance(T="i64"), scale=1.0)
    return Contender("OpenDP", lambda: [measurement(5) for _ in range(repeats)], repeats)


def _opendp(measurement: Any, data: object, work: int) -> Contender:
    return Contender("OpenDP", lambda: measurement(data), work)


def diffprivlib_laplace(scale: float, repeats: int = 2_000) -> Contender:
    """diffprivlib's geometric mechanism; it has no arrays."""
    mechanism = diffprivlib.Geometric(epsilon=1 / scale, sensitivity=1)
    return _one_by_one("diffprivlib", mechanism.randomise, 5, repeats, "floats")


def diffprivlib_gaussian(sigma: float, repeats: int = 1_000) -> Contender:
    """diffprivlib's discrete Gaussian, given the epsilon whose sigma is about the one asked for."""
    low, high = 1e-3, 1.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        scale = diffprivlib.GaussianDiscrete(epsilon=middle, delta=1e-5, sensitivity=1)._scale
        low, high = (middle, high) if scale > sigma else (low, middle)
    mechanism = diffprivlib.GaussianDiscrete(epsilon=high, delta=1e-5, sensitivity=1)
    return _one_by_one("diffprivlib", mechanism.randomise, 5, repeats, "floats")


def diffprivlib_bits(epsilon: float, repeats: int = 2_000) -> Contender:
    """diffprivlib's binary mechanism, one answer at a time."""
    mechanism = diffprivlib.Binary(epsilon=epsilon, value0="no", value1="yes")
    return _one_by_one("diffprivlib", mechanism.randomise, "yes", repeats, "floats")


def diffprivlib_selection(scores: np.ndarray[Any, Any]) -> Contender:
    """diffprivlib's exponential mechanism; it takes the scores when it is built, so building it is part of the job."""
    utility = scores.tolist()
    return Contender(
        "diffprivlib",
        lambda: diffprivlib.Exponential(epsilon=1.0, sensitivity=1.0, utility=utility).randomise(),
        len(scores),
        "exponential, floats",
    )


def diffprivlib_scalar(repeats: int = 1_000) -> Contender:
    """One release of a count after the other."""
    mechanism = diffprivlib.Geometric(epsilon=1.0, sensitivity=1)
    return _one_by_one("diffprivlib", mechanism.randomise, 5, repeats, "floats")


def pydp_laplace(scale: float, repeats: int = 2_000) -> Contender:
    """PyDP's Laplace; Google's C++ snaps it to a grid. It has no arrays."""
    return _one_by_one("PyDP", PyDPLaplace(1 / scale, 1.0).add_noise, 5, repeats, "snapped")


def _one_by_one(name: str, function: Any, value: object, repeats: int, note: str) -> Contender:
    return Contender(name, lambda: [function(value) for _ in range(repeats)], repeats, note)


def numpy_laplace(scale: float, size: int) -> Contender:
    """NumPy's inexact Laplace of doubles."""
    return Contender("NumPy", lambda: GENERATOR.laplace(0.0, scale, size), size, "inexact, not secure")


def numpy_normal(sigma: float, size: int) -> Contender:
    """NumPy's inexact normal of doubles."""
    return Contender("NumPy", lambda: GENERATOR.normal(0.0, sigma, size), size, "inexact, not secure")


def numpy_bits(flip: float, bits: np.ndarray[Any, Any]) -> Contender:
    """Randomized response on packed bits as one would write it in NumPy."""
    size = 8 * bits.nbytes
    return Contender(
        "NumPy",
        lambda: bits.view(np.uint8) ^ np.packbits(GENERATOR.random(size, dtype=np.float32) < flip),
        size,
        "inexact, not secure",
    )


def numpy_noisy_max(scores: np.ndarray[Any, Any]) -> Contender:
    """Report noisy max as one would write it in NumPy."""
    return Contender(
        "NumPy",
        lambda: int(np.argmax(scores + GENERATOR.exponential(2.0, len(scores)))),
        len(scores),
        "inexact, not secure",
    )
