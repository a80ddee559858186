"""How far a sum of independent discrete Laplace variables reaches. Public parameters only."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from lapwing.exact import float_down, float_up
from lapwing.mechanisms.tails import laplace_half_width, rate

FINEST = 256
"""Cells of a scale: wider noise is rounded to cells before it is convolved."""
SMALLEST_FAILURE = 1e-9
"""Below it the doubles of a convolution would not do; moments bound the tail instead."""
_MARGIN = 1e-12  # of the failure: for the rounding of a convolution and what wraps round


def sum_half_width(scale: Fraction, count: int, failure: Fraction) -> float:
    """A bound that |Z₁ + … + Z_count| exceeds with probability at most `failure`, Zᵢ discrete Laplace of this scale.

    Each Z is rounded to the nearest cell of g steps, which moves the sum by at most count·g/2; the sum of cells is
    convolved. For very small failures from 2·e^(count·Λ(s) − s·w), Λ the cumulant function.

    >>> sum_half_width(Fraction(3), 1, Fraction(1, 20)), sum_half_width(Fraction(3), 9, Fraction(1, 20))
    (9.0, 25.0)
    """
    if count == 0:
        return 0.0
    if count == 1:
        return float_up(Fraction(laplace_half_width(scale, failure)))
    chance = max(float_down(failure), 1e-300)
    if chance < SMALLEST_FAILURE or scale < 1:
        return _chernoff(rate(scale), count, chance)
    return _convolved(rate(scale), count, chance)


@lru_cache(maxsize=1024)
def _convolved(inverse: float, count: int, failure: float) -> float:
    import numpy as np

    cell = math.ceil(1 / inverse / FINEST)
    half = math.ceil((40 + 8 * math.sqrt(2 * count)) / (inverse * cell))  # beyond it lies less than e^-36
    size = 1 << (2 * half).bit_length()
    ratio = math.exp(-inverse)
    # A cell around k·g holds the steps from k·g − ⌊(g−1)/2⌋ to k·g + ⌊g/2⌋, mirrored for negative k.
    ends = np.arange(half + 1) * float(cell) + (cell // 2 + 1)
    beyond = np.exp(-inverse * ends) / (1 + ratio)  # P(Z ≥ end)
    weights = np.concatenate([[1 - 2 * beyond[0]], beyond[:-1] - beyond[1:]])
    table = np.zeros(size)
    table[: half + 1] = weights
    table[size - half :] = weights[:0:-1]
    law = np.fft.irfft(np.fft.rfft(table) ** count, size)
    tails = 2 * np.cumsum(law[size // 2 - 1 : 0 : -1])[::-1]  # at k − 1: P(|sum| ≥ k cells)
    enough = np.flatnonzero(tails <= failure - _MARGIN)
    last = int(enough[0]) if len(enough) else size // 2  # the sum of cells exceeds so many with small probability
    return float(last * cell) + (count * (cell / 2) if cell > 1 else 0.0)


@lru_cache(maxsize=4096)
def _chernoff(inverse: float, count: int, failure: float) -> float:
    """The least w with 2·e^(count·Λ(s) − s·w) ≤ failure for some s; every s gives a bound."""

    def width(share: float) -> float:
        s = share * inverse
        cumulant = 2 * math.log(-math.expm1(-inverse)) - math.log(-math.expm1(s - inverse))
        cumulant -= math.log(-math.expm1(-s - inverse))
        return (count * cumulant + math.log(2 / failure)) / s

    low, high = 1e-9, 1 - 1e-9
    for _ in range(80):  # a golden section
        left, right = low + 0.382 * (high - low), low + 0.618 * (high - low)
        low, high = (low, right) if width(left) < width(right) else (left, high)
    return width((low + high) / 2) * (1 + 1e-9)
