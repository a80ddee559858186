"""The exact composition of k equal (ε,δ) guarantees (Kairouz, Oh, Viswanath 2015, Theorem 3.3), rounded upwards.

Proof: each mechanism post-processes randomized response at ε outside an event of probability δ, so the worst
composition is k independent copies of that. With l answers against the truth, the two hypotheses give probabilities
C(k,l)·p^(k−l)·(1−p)^l and C(k,l)·p^l·(1−p)^(k−l), p = e^ε/(1+e^ε), so at t the divergence is
Σ_l C(k,l)·p^(k−l)(1−p)^l·[1 − e^(t−(k−2l)ε)]₊, and the total delta is 1 − (1−δ)^k·(1 − that).
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil

from lapwing.exact import exp_down, exp_up
from lapwing.privacy.bounds import ONE, ZERO

MOST = 4096
"""Longer lists, and sums of epsilon above 1024, are left to zCDP and PLD: the integers here grow with both."""


def optimal_delta_at(epsilon: Fraction, delta: Fraction, count: int, target: Fraction) -> Fraction:
    """The least total delta of `count` releases at a total epsilon of `target`, rounded up."""
    kept = _kept(delta, count)
    return 1 - kept * (1 - min(_divergence(epsilon, count, target), ONE))


def optimal_epsilon_at(epsilon: Fraction, delta: Fraction, count: int, total: Fraction) -> Fraction | None:
    """The least total epsilon at a total delta, to within 2^-40 of the sum; None if out of reach or too long."""
    highest = count * epsilon
    if count > MOST or highest > 1024:
        return None
    kept = _kept(delta, count)
    if 1 - kept > total:
        return None
    allowed = 1 - (1 - total) / kept
    if _divergence(epsilon, count, ZERO) <= allowed:
        return ZERO
    low, high = 0, 1 << 40  # at `highest` the divergence is 0
    while high - low > 1:
        middle = (low + high) // 2
        if _divergence(epsilon, count, highest * middle / (1 << 40)) <= allowed:
            high = middle
        else:
            low = middle
    return highest * high / (1 << 40)


def _kept(delta: Fraction, count: int) -> Fraction:
    """(1−δ)^k, rounded down."""
    if delta == 0:
        return ONE
    bits = 256 + delta.denominator.bit_length()
    return Fraction(_power_down(_fixed_down(1 - delta, bits), count, bits), 1 << bits)


def _divergence(epsilon: Fraction, count: int, target: Fraction) -> Fraction:
    """Σ_l over the l with (k−2l)ε > t, as a difference of two partial sums: the first rounded up, the second down."""
    if target >= count * epsilon:
        return ZERO
    bits, likely, unlikely = _partial_sums(epsilon, count)
    terms = min(ceil((count - target / epsilon) / 2), len(likely))
    return max(
        ZERO, Fraction(likely[terms - 1], 1 << bits) - exp_down(target) * Fraction(unlikely[terms - 1], 1 << bits)
    )


@lru_cache(maxsize=8)
def _partial_sums(epsilon: Fraction, count: int) -> tuple[int, list[int], list[int]]:
    """Σ C(k,l)p^(k−l)(1−p)^l rounded up and Σ C(k,l)p^l(1−p)^(k−l) rounded down, for l = 0, 1, … up to k/2."""
    # p^k ≥ 2^-k, (1−p)^k ≥ (e^-ε/2)^k, and their roundings grow with C(k,l)·e^(lε): two such factors of guard bits
    bits = 128 + 2 * count + 3 * ceil(count * epsilon)
    odds_up, odds_down = _fixed_up(exp_up(-epsilon), bits), _fixed_down(exp_down(epsilon), bits)
    more = _power_up(_fixed_up(1 / (1 + exp_down(-epsilon)), bits), count, bits)
    less = _power_down(_fixed_down(1 / (1 + exp_up(epsilon)), bits), count, bits)
    likely, unlikely = [more], [less]
    for wrong in range(count // 2):
        left, right = count - wrong, wrong + 1
        more = -((-more * left * odds_up) // (right << bits))
        less = (less * left * odds_down) // (right << bits)
        likely.append(likely[-1] + more)
        unlikely.append(unlikely[-1] + less)
    return bits, likely, unlikely


def _fixed_up(value: Fraction, bits: int) -> int:
    return -((-value.numerator << bits) // value.denominator)


def _fixed_down(value: Fraction, bits: int) -> int:
    return (value.numerator << bits) // value.denominator


def _power_up(base: int, exponent: int, bits: int) -> int:
    result = 1 << bits
    for bit in bin(exponent)[2:]:
        result = -(-result * result >> bits)
        if bit == "1":
            result = -(-result * base >> bits)
    return result


def _power_down(base: int, exponent: int, bits: int) -> int:
    result = 1 << bits
    for bit in bin(exponent)[2:]:
        result = result * result >> bits
        if bit == "1":
            result = result * base >> bits
    return result
