"""Our side of every case, and how many bytes of entropy it consumes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.measure import Contender
from lapwing import mechanisms, noise
from lapwing.noise import SYSTEM, Entropy


class Counted(Entropy):
    """The system's entropy, counting the bytes of keystream that it took."""

    private = True

    def __init__(self) -> None:
        self.bytes = 0

    def bits(self, count: int) -> int:
        self.bytes += -(-count // 64) * 8
        return SYSTEM.bits(count)

    def fill(self, target: memoryview) -> None:
        self.bytes += len(target)
        SYSTEM.fill(target)


def ours(run: Callable[[Entropy], object], work: int) -> Contender:
    """A contender of ours; the entropy it takes is counted in a run of its own."""

    def count_entropy() -> int:
        counted = Counted()
        run(counted)
        return counted.bytes

    return Contender("Lapwing", lambda: run(SYSTEM), work, "exact, secure", count_entropy)


def laplace(scale: int, size: int) -> Contender:
    """Exact discrete Laplace noise."""
    return ours(lambda entropy: noise.discrete_laplace(scale, size, entropy), size)


def gaussian(sigma: int, size: int) -> Contender:
    """Exact discrete Gaussian noise."""
    return ours(lambda entropy: noise.discrete_gaussian(sigma, size, entropy), size)


def packed_bits(epsilon: float, packed: np.ndarray[Any, Any]) -> Contender:
    """Randomized response on packed bits, with a flip probability that is no short binary fraction."""
    mechanism, size = mechanisms.RandomizedResponse.from_epsilon(epsilon), 8 * packed.nbytes
    return ours(lambda entropy: mechanism.release_bits(packed, size, entropy), size)


def noisy_max(scores: np.ndarray[Any, Any]) -> Contender:
    """Report noisy max for general queries."""
    mechanism = mechanisms.NoisyMax(epsilon=1, sensitivity=1, candidates=len(scores))
    return ours(lambda entropy: mechanism.release(scores, entropy), len(scores))


def scalar(repeats: int = 2_000) -> Contender:
    """One release of a count after the other."""
    mechanism = mechanisms.Laplace(epsilon=1, sensitivity=1)
    return ours(lambda entropy: [mechanism.release(5, entropy) for _ in range(repeats)], repeats)
