"""Numbers as text: those of a guarantee are short, and always rounded to the safe side."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction

from lapwing.exact import float_up

_JOINERS = "\u200c\u200d"  # hold together letters of Persian and the parts of an emoji
_LONGEST_SHOWN = 14_000  # bits; Python prints integers of up to 4300 digits


def show(value: object) -> str:
    """A number as one would write it: 1, 0.5, Fraction(1, 3); a long fraction as a float rounded up."""
    if isinstance(value, tuple):
        return f"({', '.join(map(show, value))}{',' if len(value) == 1 else ''})"
    if not isinstance(value, Fraction):
        return repr(value)
    if value.numerator.bit_length() > _LONGEST_SHOWN:
        return repr(float_up(value))
    if value.denominator == 1:
        return str(value.numerator)
    upwards = float_up(value)
    return repr(upwards) if upwards == value or value.denominator > 10**6 else repr(value)


def written_up(value: Fraction | float, digits: int = 6) -> str:
    """A number to so many digits, the last one rounded up.

    What doubles and the units of ledgers do beyond the 12th digit is left aside; of 12 digits or more, less.

    >>> written_up(Fraction(1, 3)), written_up(3 * Fraction(0.1))
    ('0.333334', '0.3')
    """
    return _written(value, digits, ROUND_CEILING)


def written_down(value: Fraction | float, digits: int = 6) -> str:
    """As `written_up`, the last digit rounded down."""
    return _written(value, digits, ROUND_FLOOR)


def _written(value: Fraction | float, digits: int, rounding: str) -> str:
    near = float_up(value) if isinstance(value, Fraction) else value
    if not math.isfinite(near):
        return str(near)
    short = f"{near:.12g}"
    meant = short if math.isclose(float(short), near, rel_tol=5e-12 if digits < 12 else 2e-13) else f"{near:.17g}"
    cut = Context(prec=digits, rounding=rounding).create_decimal(meant)
    return f"{float(cut) + 0.0:.{digits}g}"


def signed(text: str) -> str:
    """A written number, or several, with the minus sign instead of a hyphen.

    >>> signed(f"{-98:z,.0f}")
    '−98'
    """
    return text.replace("-", "−")


def at_most(out_of_100: int) -> str:
    """A chance that was rounded up to a whole percent, as a bound; what is rounded up to 100 % is said from below.

    >>> at_most(74), at_most(100)
    ('at most 74 %', 'more than 99 %')
    """
    return "more than 99 %" if out_of_100 >= 100 else f"at most {out_of_100} %"


def visible(text: str) -> str:
    """Text in which every control character, also one that turns the direction of writing, is spelt out."""
    if text.isprintable():
        return text
    return "".join(mark if mark.isprintable() or mark in _JOINERS else ascii(mark)[1:-1] for mark in text)
