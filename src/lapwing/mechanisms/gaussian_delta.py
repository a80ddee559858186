"""The delta of discrete Gaussian noise, bounded from above in integers: no float is trusted.

For X discrete Gaussian with variance v and an integer shift s ≥ 1 let c = ε·v/s − s/2 and k = floor(c) + 1. Then
δ(ε) = Σ (p(x) − e^ε·p(x+s)) over x ≥ k = Σ p(x)·(1 − e^(−(s/v)·(x − c))), every term positive (gaussian.md).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from lapwing.exact import exp_neg, exp_up, sqrt_down

FINEST_SIGMA = 4096
"""Up to this sigma (in steps) every term is added; above, blocks of sigma/4096 terms are bounded by one product."""

_BITS = 192
_ONE = 1 << _BITS
_NEGLIGIBLE = 1 << (_BITS - 64)
_PI_DOWN = Fraction(31415926535897932384626433832795028, 10**34)
_LARGEST_EXPONENT = 1024


def delta_up(variance: Fraction, shift: int, epsilon: Fraction) -> Fraction:
    """At least the δ(ε) between a discrete Gaussian and itself moved by `shift`, and hardly more.

    The excess is below 2^-50 relatively up to `FINEST_SIGMA`, and of the order of a thousandth above.
    """
    center = epsilon * variance / shift - Fraction(shift, 2)
    first = math.floor(center) + 1
    start = max(first, 0)
    negative = sum(
        (_weight_up(variance, x) * _one_minus_up(shift * (x - center) / variance) for x in range(first, start)),
        Fraction(0),
    )
    tail = _weight_up(variance, start) * _tail_up(variance, shift, start, start - center)
    return min(Fraction(1), (negative + tail) / total_down(variance))


def _tail_up(variance: Fraction, shift: int, start: int, offset: Fraction) -> Fraction:
    """At least Σ e^(−((start+i)² − start²)/(2v))·(1 − e^(−(s/v)(i + offset))) over i ≥ 0, for start ≥ 0.

    In blocks of h terms, the first factor falls and the second rises: a block is at most h times the first factor at
    its beginning and the second at its last term. Weights follow w ← w·q, q ← q·r with q = e^(−(2·start·h + h²)/(2v))
    and r = e^(−h²/v), rounded upwards at every step; what follows the last weight is at most w·h/(1 − q), since q
    falls.
    """
    block = max(1, math.isqrt(math.ceil(variance)) // FINEST_SIGMA)
    weight, total = _ONE, 0
    ratio = _up(Fraction((2 * start + block) * block) / (2 * variance))
    shrink = _up(Fraction(block * block) / variance)
    missing = _down(shift * (offset + block - 1) / variance)
    fade = _down(Fraction(shift * block) / variance)
    while weight > _NEGLIGIBLE:
        total += weight * (_ONE - missing)
        weight, ratio, missing = (weight * ratio >> _BITS) + 1, (ratio * shrink >> _BITS) + 1, missing * fade >> _BITS
    rest = Fraction(weight, _ONE - ratio)
    return block * (Fraction(total, _ONE * _ONE) + rest)


@lru_cache(maxsize=256)
def total_down(variance: Fraction) -> Fraction:
    """At most Σ e^(−x²/(2v)) over all integers.

    By Poisson summation the sum is √(2πv)·(1 + 2·e^(−2π²v) + …) > √(2πv), which is off by less than 1e-34 from v = 4
    on.
    """
    if variance >= 4:
        return sqrt_down(2 * _PI_DOWN * variance)
    total, x = _ONE, 1
    while weight := _down(Fraction(x * x) / (2 * variance)):
        total += 2 * weight
        x += 1
    return Fraction(total, _ONE)


def _weight_up(variance: Fraction, x: int) -> Fraction:
    return exp_up(-min(Fraction(x * x) / (2 * variance), Fraction(_LARGEST_EXPONENT)))


def _one_minus_up(x: Fraction) -> Fraction:
    """At least 1 − e^−x."""
    return 1 - Fraction(_down(x), _ONE)


def _up(x: Fraction) -> int:
    return exp_neg(x)(_BITS)[1]


def _down(x: Fraction) -> int:
    return exp_neg(x)(_BITS)[0]
