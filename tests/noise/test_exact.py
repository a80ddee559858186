"""Enclosures contain what they claim, compared with mpmath at a higher precision."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
from cases import together
from hypothesis import given
from hypothesis import strategies as st

from lapwing import exact

BITS = st.sampled_from([0, 1, 8, 64, 128, 300])
POSITIVE = st.builds(Fraction, st.integers(1, 2**70), st.integers(1, 2**70))


def _mpf(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


@given(x=POSITIVE | st.just(Fraction(0)), bits=BITS)
def test_exp_neg_encloses_the_exponential(x: Fraction, bits: int) -> None:
    low, high = exact.exp_neg(x)(bits)
    with mpmath.workprec(1200):
        assert low <= mpmath.ldexp(mpmath.exp(-_mpf(x)), bits) <= high
    assert high - low <= 2  # 2 only where an integer lies inside the enclosure


@given(x=POSITIVE, bits=BITS)
def test_ln_encloses_the_logarithm(x: Fraction, bits: int) -> None:
    low, high = exact.ln(x)(bits)
    with mpmath.workprec(1200):
        assert low <= mpmath.ldexp(mpmath.log(_mpf(x)), bits) <= high
    assert high - low <= 2


@given(x=st.fractions(-60, 60), root=POSITIVE)
def test_rounded_functions_lie_on_the_stated_side(x: Fraction, root: Fraction) -> None:
    with mpmath.workprec(600):
        assert _mpf(exact.exp_down(x)) <= mpmath.exp(_mpf(x)) <= _mpf(exact.exp_up(x))
        assert _mpf(exact.ln_down(root)) <= mpmath.log(_mpf(root)) <= _mpf(exact.ln_up(root))
    assert exact.sqrt_down(root) ** 2 <= root <= exact.sqrt_up(root) ** 2
    assert exact.exp_up(x) - exact.exp_down(x) <= exact.exp_up(x) / 2**80


@given(value=st.fractions())
def test_float_up_is_the_next_float_above(value: Fraction) -> None:
    up = exact.float_up(value)
    assert Fraction(up) >= value
    assert Fraction(math.nextafter(up, -math.inf)) < value
    assert exact.float_down(value) == -exact.float_up(-value)


def test_floats_beyond_the_range_round_outwards() -> None:
    assert exact.float_up(Fraction(10) ** 400) == math.inf
    assert exact.float_down(Fraction(10) ** 400) < math.inf
    assert exact.sqrt_up(Fraction(9, 4)) == exact.sqrt_down(Fraction(9, 4)) == Fraction(3, 2)


@together("value", [Fraction(1, 3), Fraction(3, 4), Fraction(2**70 - 1, 2**70), Fraction(0), Fraction(1)])
def test_floor_of_a_rational_is_its_floor(value: Fraction) -> None:
    for bits in (0, 1, 8, 64):
        assert exact.floor_of(exact.rational(value), bits) == math.floor(value * 2**bits)
