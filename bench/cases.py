"""What is measured of the noise, and the bars that must be met: each is a ratio between contenders of the same case."""

from __future__ import annotations

import math

import numpy as np

from bench import ours, peers
from bench.measure import Contender
from bench.suite import Case, Latency, Ratio, Suite

SIZE = 4_000_000
CANDIDATES = 1_000_000
PEERS = ("OpenDP", "diffprivlib", "PyDP")
FLIP = 0.25  # randomized response with two fair coins: the truth with probability 3/4
EPSILON = math.log(3)


def _laplace(scale: int, times_numpy: float) -> Case:
    return Case(
        f"discrete Laplace, scale {scale}",
        "draws",
        lambda: [
            ours.laplace(scale, SIZE),
            peers.numpy_laplace(scale, SIZE),
            peers.opendp_laplace(scale),
            peers.diffprivlib_laplace(scale),
            peers.pydp_laplace(scale),
        ],
        (Ratio(times_numpy, ("NumPy",)), Ratio(500, ("OpenDP",))),
        8,
    )


def _gaussian(sigma: int) -> Case:
    return Case(
        f"discrete Gaussian, sigma {sigma}",
        "draws",
        lambda: [
            ours.gaussian(sigma, SIZE),
            peers.numpy_normal(sigma, SIZE),
            peers.opendp_gaussian(sigma),
            peers.diffprivlib_gaussian(sigma),
        ],
        (Ratio(0.75, ("NumPy",)), Ratio(500, ("OpenDP",))),
        8,
    )


def _bits() -> list[Contender]:
    packed = np.random.default_rng(1).integers(0, 1 << 64, SIZE // 64, dtype=np.uint64)
    return [
        ours.packed_bits(EPSILON, packed),
        peers.numpy_bits(FLIP, packed),
        peers.opendp_bits(FLIP),
        peers.diffprivlib_bits(EPSILON),
    ]


def _noisy_max(order: str) -> Case:
    """OpenDP needs more time the more often a score beats all before it, so both kinds of order are measured."""

    def contenders() -> list[Contender]:
        scores = np.random.default_rng(1).integers(0, 10_000, CANDIDATES)
        if order == "ascending":
            scores = np.arange(CANDIDATES)
        return [
            ours.noisy_max(scores),
            peers.numpy_noisy_max(scores),
            peers.opendp_noisy_max(scores),
            peers.diffprivlib_selection(scores),
        ]

    return Case(f"noisy max of 1e6 {order} scores", "candidates", contenders, (Ratio(10, PEERS),), 0)


def _scalar() -> list[Contender]:
    return [ours.scalar(), peers.opendp_scalar(), peers.diffprivlib_scalar(), peers.pydp_laplace(1)]


NOISE = Suite(
    "bench",
    "latest",
    "One core, contenders taking turns",
    ("lapwing", "numpy", "opendp", "diffprivlib", "python-dp", "cryptography"),
    (
        _laplace(1, 2),
        _laplace(10, 2),
        _laplace(1000, 1.2),
        _gaussian(10),
        Case("randomized response, packed bits", "bits", _bits, (Ratio(50, PEERS),), 1 / 8),
        _noisy_max("random"),
        _noisy_max("ascending"),
        Case("one scalar release", "releases", _scalar, (Latency(10e-6),), 0),
    ),
)
