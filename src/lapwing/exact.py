"""Rigorous enclosures in plain integers: e^-x, ln x, √x with proven bounds, and floats rounded in a stated direction.

An enclosure at `bits` is a pair of integers (low, high) with low ≤ 2^bits · value ≤ high. Asking for more bits gives a
tighter one; `floor_of` asks until the floor is certain. Everything a threshold or a stated epsilon rests on comes from
here, so it needs neither numpy nor mpmath (the tests compare with mpmath's intervals).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

Enclosure = tuple[int, int]
Real = Callable[[int], Enclosure]
"""A real number, known by its enclosures: bits -> (low, high)."""


def rational(value: Fraction) -> Real:
    """A rational number as a `Real`."""
    numerator, denominator = value.numerator, value.denominator

    def enclose(bits: int) -> Enclosure:
        scaled = numerator << bits
        return scaled // denominator, -(-scaled // denominator)

    return enclose


def exp_neg(x: Fraction) -> Real:
    """e^-x for x ≥ 0."""
    return lambda bits: _exp_neg(x.numerator, x.denominator, bits)


def floor_of(real: Real, bits: int) -> int:
    """floor(2^bits · real); the guard doubles until both ends of the enclosure agree.

    Terminates for every irrational number, and for a rational one whose enclosures are exact.
    """
    guard = 16
    while True:
        low, high = real(bits + guard)
        if low >> guard == high >> guard:
            return low >> guard
        guard *= 2


@lru_cache(maxsize=4096)
def _exp_neg(numerator: int, denominator: int, bits: int) -> Enclosure:
    """Halve the argument until it is below 2^-8, sum the Taylor series, square back.

    Each step rounds outwards. Squaring h times multiplies the relative error by 2^h at most, which the guard absorbs.
    """
    if numerator == 0:
        return 1 << bits, 1 << bits
    whole = numerator // denominator
    if whole > bits:  # e^-x < 2^-bits
        return 0, 1
    halvings = whole.bit_length() + 8
    precision = bits + halvings + 32
    one = 1 << precision
    low_x = (numerator << precision) // (denominator << halvings)
    low, high = _taylor(low_x + 1, precision)[0], _taylor(low_x, precision)[1]
    for _ in range(halvings):
        low, high = low * low >> precision, -(-high * high >> precision)
    shift = precision - bits
    return max(low, 0) >> shift, -(-min(high, one) >> shift)


def _taylor(x: int, precision: int) -> Enclosure:
    """e^-x for 0 ≤ x ≤ 2^-7 in fixed point: alternating and decreasing, each term off by less than two units."""
    total = term = 1 << precision
    k = 0
    while term:
        k += 1
        term = (term * x >> precision) // k
        total += -term if k & 1 else term
    return total - 2 * k - 2, total + 2 * k + 2


def ln(x: Fraction) -> Real:
    """The natural logarithm of a positive rational."""
    if x < 1:
        return lambda bits: (-_ln(x.denominator, x.numerator, bits)[1], -_ln(x.denominator, x.numerator, bits)[0])
    return lambda bits: _ln(x.numerator, x.denominator, bits)


@lru_cache(maxsize=1024)
def _ln(numerator: int, denominator: int, bits: int) -> Enclosure:
    """ln of a rational ≥ 1: x = 2^k·m with 1 ≤ m < 2, then ln x = k·ln 2 + 2·artanh((m−1)/(m+1))."""
    k = max(numerator.bit_length() - denominator.bit_length(), 0)
    if numerator < denominator << k:
        k -= 1
    k = max(k, 0)
    precision = bits + k.bit_length() + 32
    m_top, m_bottom = numerator - (denominator << k), numerator + (denominator << k)
    low, high = _twice_artanh(m_top, m_bottom, precision)
    two_low, two_high = _twice_artanh(1, 3, precision)  # ln 2 = 2·artanh(1/3)
    low, high = low + k * two_low, high + k * two_high
    shift = precision - bits
    return low >> shift, -(-high >> shift)


def _twice_artanh(top: int, bottom: int, precision: int) -> Enclosure:
    """2·artanh(top/bottom) for 0 ≤ top/bottom ≤ 1/3: 2·Σ z^(2i+1)/(2i+1), truncated downwards."""
    if top == 0:
        return 0, 0
    z = (top << precision) // bottom
    square = z * z >> precision
    total, power, i = 0, z, 0
    while power:
        total += power // (2 * i + 1)
        power = power * square >> precision
        i += 1
    return 2 * total, 2 * total + 8 * i + 16  # each term loses at most 2 + 2i units before division, z ≤ 1/3


def exp_up(x: Fraction) -> Fraction:
    """A rational of at least e^x, tight to about 2^-90 relatively."""
    low, high, bits = _exp_minus_magnitude(x)
    return Fraction(high, 1 << bits) if x <= 0 else Fraction(1 << bits, low)


def exp_down(x: Fraction) -> Fraction:
    """A rational of at most e^x, tight to about 2^-90 relatively."""
    low, high, bits = _exp_minus_magnitude(x)
    return Fraction(low, 1 << bits) if x <= 0 else Fraction(1 << bits, high)


def _exp_minus_magnitude(x: Fraction) -> tuple[int, int, int]:
    """e^-|x| with enough bits that the low end is far from zero."""
    bits = 96 + 2 * math.ceil(abs(x))
    return *_exp_neg(abs(x.numerator), x.denominator, bits), bits


def ln_up(x: Fraction, bits: int = 96) -> Fraction:
    """A rational of at least ln x."""
    return Fraction(ln(x)(bits)[1], 1 << bits)


def ln_down(x: Fraction, bits: int = 96) -> Fraction:
    """A rational of at most ln x."""
    return Fraction(ln(x)(bits)[0], 1 << bits)


def sqrt_up(x: Fraction, bits: int = 96) -> Fraction:
    """A rational of at least √x (exact for squares of rationals)."""
    top, bottom = math.isqrt(x.numerator), math.isqrt(x.denominator)
    if top * top == x.numerator and bottom * bottom == x.denominator:
        return Fraction(top, bottom)
    scaled = -((-x.numerator << 2 * bits) // x.denominator)
    root = math.isqrt(scaled)
    return Fraction(root if root * root == scaled else root + 1, 1 << bits)


def sqrt_down(x: Fraction, bits: int = 96) -> Fraction:
    """A rational of at most √x (exact for squares of rationals)."""
    top, bottom = math.isqrt(x.numerator), math.isqrt(x.denominator)
    if top * top == x.numerator and bottom * bottom == x.denominator:
        return Fraction(top, bottom)
    return Fraction(math.isqrt((x.numerator << 2 * bits) // x.denominator), 1 << bits)


def float_up(x: Fraction) -> float:
    """The smallest float that is at least x.

    >>> float_up(Fraction(1, 3)) >= Fraction(1, 3)
    True
    """
    try:
        near = float(x)
    except OverflowError:
        return math.inf if x > 0 else -1.7976931348623157e308
    return near if near >= x else math.nextafter(near, math.inf)


def float_down(x: Fraction) -> float:
    """The largest float that is at most x."""
    return -float_up(-x)
