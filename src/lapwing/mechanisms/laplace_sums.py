"""How far a sum of independent discrete Laplace variables reaches. Public parameters only."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from lapwing.exact import float_down, float_up
from lapwing.mechanisms.tails import laplace_half_width, rate


def sum_half_width(scale: Fraction, count: int, failure: Fraction) -> float:
    """What |Z₁ + … + Z_count| exceeds with probability at most `failure`, Zᵢ discrete Laplace of this scale."""
    if count == 0:
        return 0.0
    if count == 1:
        return float_up(Fraction(laplace_half_width(scale, failure)))
    return _chernoff(rate(scale), count, max(float_down(failure), 1e-300))


@lru_cache(maxsize=4096)
def _chernoff(inverse: float, count: int, failure: float) -> float:
    """The least w with 2·e^(count·Λ(s) − s·w) ≤ failure for some s, Λ the cumulant function; every s gives a bound."""

    def width(share: float) -> float:
        s = share * inverse
        cumulant = 2 * math.log(-math.expm1(-inverse)) - math.log(-math.expm1(s - inverse))
        cumulant -= math.log(-math.expm1(-s - inverse))
        return (count * cumulant + math.log(2 / failure)) / s

    low, high = 1e-9, 1 - 1e-9
    for _ in range(80):  # the bound is convex in 1/s; a golden section finds its least value
        left, right = low + 0.382 * (high - low), low + 0.618 * (high - low)
        low, high = (low, right) if width(left) < width(right) else (left, high)
    return width((low + high) / 2) * (1 + 1e-9)
