"""How far the noise reaches: exact tails of the discrete Laplace law as half-widths. Public parameters only."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from lapwing import checks
from lapwing.errors import InvalidParameter
from lapwing.exact import exp_down, float_down, float_up, ln_up
from lapwing.noise import LARGEST_SCALE

_SMALLEST_FAILURE = 1e-250


def drawable(scale: Fraction, **named: object) -> Fraction:
    """The scale itself, unless it is beyond what the samplers draw; the error names the parameter to change."""
    if scale > LARGEST_SCALE:
        [(name, value)] = named.items()
        raise InvalidParameter(name, value, "makes noise too wide to draw", "Use a coarser grid or a larger epsilon.")
    return scale


def laplace_half_width(scale: Fraction, failure: Fraction) -> int:
    """The least m (up to rounding, never too small) with P(|Z| > m) ≤ failure, Z discrete Laplace.

    P(|Z| > m) = 2·a^(m+1)/(1 + a) with a = e^(−1/scale).
    """
    ratio = 2 / ((1 + _ratio_down(scale)) * failure)
    return max(0, math.ceil(scale * ln_up(ratio)) - 1) if ratio > 1 else 0


def laplace_one_sided(scale: Fraction, failure: Fraction) -> int:
    """The least m ≥ 1 (up to rounding, never too small) with P(Z ≥ m) = a^m/(1 + a) ≤ failure."""
    ratio = 1 / ((1 + _ratio_down(scale)) * failure)
    return max(1, math.ceil(scale * ln_up(ratio))) if ratio > 1 else 1


def laplace_variance(scale: Fraction, granularity: Fraction) -> float:
    """2a/(1 − a)² squared steps with a = e^(−1/scale), which is 1/(2·sinh²(1/(2·scale)))."""
    half = rate(scale) / 2
    return 0.0 if half > 350 else float_up(granularity**2 / (2 * Fraction(math.sinh(half)) ** 2))


def rate(scale: Fraction) -> float:
    """1/scale as a float, cut at 2^20: beyond that no noise is ever seen."""
    return float(min(1 / scale, Fraction(1 << 20)))


def failure_of(confidence: object) -> float:
    """1 − confidence, rounded down; not so small that the doubles of a tail would underflow."""
    failure = float_down(1 - checks.probability(confidence=confidence))
    if failure < _SMALLEST_FAILURE:
        raise InvalidParameter("confidence", confidence, "is too close to 1", "Write confidence=0.999, for example.")
    return failure


def least(enough: Callable[[int], bool]) -> int:
    """The least whole number ≥ 0 with `enough`, which is false up to some number and true from there on."""
    high = 1
    while not enough(high):
        high *= 2
    low = -1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if middle >= 0 and enough(middle) else (middle, high)
    return high


def _ratio_down(scale: Fraction) -> Fraction:
    return exp_down(-1 / scale) if scale > Fraction(1, 256) else Fraction(0)
