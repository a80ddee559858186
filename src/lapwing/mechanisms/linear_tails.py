"""How far a sum of independent noises reaches, in standard deviations: for estimates that mix many noisy numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

_EQUAL = (1, 2, 3, 4, 6, 8, 12, 16)
"""Numbers of equal Laplace noises whose sums are compared; more of them are nearly normal."""
_SMALLEST_FAILURE = 1e-250


@lru_cache(maxsize=64)
def deviations(failure: Fraction, *, concentrated: bool) -> float:
    """How many standard deviations are exceeded with probability at most `failure`, whatever the mixture is.

    Gaussian noise: of the normal law. Laplace noise: the largest number among sums of 1, 2, 3, … equal Laplace noises
    and the normal law, which is where they lead to. Mixtures of unequal ones lie between these (a computation, not a
    theorem: hierarchy.md, accuracy).
    """
    small = max(float(failure), _SMALLEST_FAILURE)
    normal = -NormalDist().inv_cdf(small / 2)
    if concentrated:
        return normal
    return max(normal, *(_laplace_sum(count, small) for count in _EQUAL))


def _laplace_sum(count: int, failure: float) -> float:
    """For the sum of `count` Laplace noises of scale 1, whose variance is 2·count."""
    low, high = 0.0, 2.0
    while _tail(count, high) > failure:
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _tail(count, middle) > failure else (low, middle)
    return high / math.sqrt(2 * count)


def _tail(count: int, t: float) -> float:
    """P(|X| > t) for X = G − G′, two independent gamma variables of shape `count`.

    P(G > g) = e^(−g)·Σ g^j/j!, and E[G′^i·e^(−G′)] = Γ(n + i)/(Γ(n)·2^(n + i)).
    """
    total = math.fsum(
        math.comb(j, i)
        * t ** (j - i)
        / math.factorial(j)
        * math.gamma(count + i)
        / math.gamma(count)
        / 2 ** (count + i)
        for j in range(count)
        for i in range(j + 1)
    )
    return 2 * math.exp(-t) * total
