"""Discrete Gaussian noise of any rational variance: by inversion while the table is small, by rejection above."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lapwing.exact import exp_neg
from lapwing.noise.inversion import WORD_BITS, Inversion, LazyUniform
from lapwing.noise.laplace import LARGEST_INT64_SCALE, discrete_laplace_sampler
from lapwing.noise.laws import Gaussian

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lapwing.noise.entropy import Entropy

LARGEST_TABLE_VARIANCE = 1000**2
"""Up to here a table of all values is built in less than a tenth of a second; the time grows with sigma."""


class TableGaussian:
    """A discrete Gaussian by inversion."""

    __slots__ = ("_guide", "_inversion")

    def __init__(self, variance: Fraction, word_bits: int = WORD_BITS) -> None:
        self._inversion = Inversion(Gaussian(variance), word_bits)
        self._guide: Any = None

    def draw(self, entropy: Entropy) -> int:
        """One exact draw."""
        return self._inversion.draw(entropy)

    def draws(self, size: int, entropy: Entropy) -> NDArray[Any]:
        """Many exact draws."""
        from lapwing.noise.arrays import Guide, draw_digits

        if self._guide is None:
            self._guide = Guide(self._inversion)
        return draw_digits((self._guide,), size, entropy)


class RejectionGaussian:
    """A discrete Gaussian by rejection from a discrete Laplace (Canonne, Kamath and Steinke 2020, Algorithm 3).

    Draw Y of scale t = floor(sigma) + 1; keep it with probability exactly e^(−(|Y| − variance/t)²/(2·variance)).
    """

    __slots__ = ("_center", "_laplace", "_scale", "_variance")

    def __init__(self, variance: Fraction) -> None:
        self._variance, self._scale = variance, math.isqrt(int(variance)) + 1
        self._center = variance / self._scale
        self._laplace = discrete_laplace_sampler(self._scale, 1)

    def draw(self, entropy: Entropy) -> int:
        """One exact draw."""
        while True:
            candidate = self._laplace.draw(entropy)
            if LazyUniform(entropy).below(exp_neg(self._exponent(candidate))):
                return candidate

    def draws(self, size: int, entropy: Entropy) -> NDArray[Any]:
        """Many exact draws; doubles decide the clear cases, rationals the others."""
        import numpy as np

        from lapwing.noise.arrays import decide_exp

        if self._scale > LARGEST_INT64_SCALE:
            return np.array([self.draw(entropy) for _ in range(size)], dtype=object)
        kept, missing = [np.empty(0, dtype=np.int64)], size
        center, width = float(self._center), math.sqrt(2 * self._variance)
        while missing > 0:
            candidates = self._laplace.draws(min(missing + missing // 2 + 64, 1 << 16), entropy)
            # off by less than 2^-44 where the exponent is at most 64: |Y| ≤ 9·width there, each rounding 2^-53
            exponents = ((np.abs(candidates).astype(np.float64) - center) / width) ** 2
            keep = decide_exp(exponents, lambda index, pool=candidates: self._exponent(int(pool[index])), entropy)
            kept.append(candidates[keep])
            missing -= len(kept[-1])
        return np.concatenate(kept)[:size]

    def _exponent(self, candidate: int) -> Fraction:
        return (abs(candidate) - self._center) ** 2 / (2 * self._variance)


@lru_cache(maxsize=128)
def discrete_gaussian_sampler(numerator: int, denominator: int) -> TableGaussian | RejectionGaussian:
    """The sampler of variance numerator/denominator (cached)."""
    variance = Fraction(numerator, denominator)
    return TableGaussian(variance) if variance <= LARGEST_TABLE_VARIANCE else RejectionGaussian(variance)
