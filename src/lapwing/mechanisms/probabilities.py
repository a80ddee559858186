"""Probabilities with few binary digits, for flipping bits fast, and what they cost exactly.

A coin of b binary digits takes b random words for 64 flips. So a probability that comes from an epsilon is rounded to
as few digits as keep a thousandth of the epsilon, always towards more privacy; the loss is stated from the result.
"""

from __future__ import annotations

import math
from fractions import Fraction

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidParameter
from lapwing.exact import exp_down, exp_up, ln_up

FEWEST_DIGITS, MOST_DIGITS = 2, 64
KEPT = Fraction(999, 1000)
"""The part of an epsilon that rounding must leave."""
LARGEST_EPSILON = 40


def flip_probability(epsilon: Number, *, others: int | Fraction = 1, name: str = "epsilon") -> Fraction:
    """About 1/(e^ε + 1) of each of `others` wrong answers: the least that keeps the odds of the truth below e^ε.

    Privacy: with q the result and p = 1 − others·q, ln(p/q) ≤ ε, both exact.

    >>> flip_probability(2)
    Fraction(489, 4096)
    """
    flip = fewest_digits(moderate(epsilon, name), others=others)
    if flip is None:
        raise InvalidParameter(name, epsilon, "is so small that reports would say nothing", f"Write {name}=1.")
    return flip


def as_written(number: Fraction) -> int | Fraction:
    """A number as a parameter: 4, 4.0 and Fraction(4) become the same."""
    return int(number) if number.denominator == 1 else number


def moderate(epsilon: Number, name: str = "epsilon") -> Fraction:
    """An epsilon of a local protocol, exactly; one that protects nobody is refused."""
    exact = checks.positive(**{name: epsilon})
    if exact > LARGEST_EPSILON:
        why = "gives no protection: the report would almost always be the truth"
        raise InvalidParameter(name, epsilon, why, f"Write {name}=4, for example.")
    return exact


def fewest_digits(epsilon: Fraction, *, others: int | Fraction, most: int = MOST_DIGITS) -> Fraction | None:
    """The smallest multiple of 2^-b with the smallest b ≤ `most` that keeps most of the epsilon, if there is one."""
    least = 1 / (exp_down(epsilon) + others)
    for digits in range(FEWEST_DIGITS, most + 1):
        q = Fraction(math.ceil(least * (1 << digits)), 1 << digits)
        while (1 - others * q) / q > 1 and ln_up((1 - others * q) / q) > epsilon:
            q += Fraction(1, 1 << digits)
        if (1 - others * q) / q > exp_up(KEPT * epsilon):
            return q
    return None
