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

_BITS = 256
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
    head = _weight_up(variance, 1) * _head_up(variance, shift, -first, -1 - center) if first < 0 else Fraction(0)
    tail = _weight_up(variance, start) * _tail_up(variance, shift, start, start - center)
    return min(Fraction(1), (head + tail) / total_down(variance))


def _head_up(variance: Fraction, shift: int, count: int, offset: Fraction) -> Fraction:
    """At least Σ e^(−(y² − 1)/(2v))·(1 − e^(−(s/v)(offset + 1 − y))) over y = 1 … count: the terms x = −y < 0.

    Both factors fall, so a block of h terms is at most h times its first. Otherwise as in `_tail_up`.
    """
    block = _block(variance)
    weight, total, missing = _ONE, 0, _down(shift * offset / variance)
    ratio, shrink = _ratios(variance, 1, block)
    fade = _up(Fraction(shift * block) / variance)
    for _ in range(0, count, block):
        total += weight * (_ONE - missing)
        weight, ratio, missing = (weight * ratio >> _BITS) + 1, (ratio * shrink >> _BITS) + 1, missing * _ONE // fade
        if weight <= _NEGLIGIBLE:
            return block * (Fraction(total, _ONE * _ONE) + Fraction(weight, _ONE - ratio))
    return block * Fraction(total, _ONE * _ONE)


def _tail_up(variance: Fraction, shift: int, start: int, offset: Fraction) -> Fraction:
    """At least Σ e^(−((start+i)² − start²)/(2v))·(1 − e^(−(s/v)(i + offset))) over i ≥ 0, for start ≥ 0.

    In blocks of h terms, the first factor falls and the second rises: a block is at most h times the first factor at
    its beginning and the second at its last term. Weights follow w ← w·q, q ← q·r with q = e^(−(2·start·h + h²)/(2v))
    and r = e^(−h²/v), rounded upwards at every step; what follows the last weight is at most w·h/(1 − q), since q
    falls.
    """
    block = _block(variance)
    weight, total = _ONE, 0
    ratio, shrink = _ratios(variance, start, block)
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


def _block(variance: Fraction) -> int:
    return max(1, math.isqrt(math.ceil(variance)) // FINEST_SIGMA)


def _ratios(variance: Fraction, start: int, block: int) -> tuple[int, int]:
    """By what the weight falls from `start` to the next block, and by what this ratio falls with every block."""
    return _up(Fraction((2 * start + block) * block) / (2 * variance)), _up(Fraction(block * block) / variance)


def _up(x: Fraction) -> int:
    return exp_neg(x)(_BITS)[1]


def _down(x: Fraction) -> int:
    return exp_neg(x)(_BITS)[0]
