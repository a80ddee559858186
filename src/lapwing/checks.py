"""Validators in one line: `checks.positive(epsilon=epsilon)` returns the exact value, or raises a helpful error.

Every number a guarantee rests on passes through here once and comes out as a `Fraction` that equals what the user
wrote: 0.1 is the double 0.1, not one tenth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational
from typing import Any

from lapwing.errors import InvalidParameter, withheld

Number = int | float | Fraction | Decimal

_LARGEST_EXPONENT = 10_000  # of a Decimal: its exact value is an integer of as many digits


def exact(**named: object) -> Fraction:
    """The exact rational value of one finite number.

    >>> exact(epsilon=0.5)
    Fraction(1, 2)
    """
    [(name, value)] = named.items()
    return _exact(name, value)


def numbers(entries: Iterable[object], check: Callable[..., Fraction] = exact, **named: object) -> list[Fraction]:
    """Each entry of a collection as its exact value. Which one is wrong is shown unless they could be records."""
    [(name, _)] = named.items()
    why = "has an entry that is no finite number" + (", or is out of range" if check is not exact else "")
    with withheld(why, _write(name), **named):
        return [check(**{name: entry}) for entry in entries]


def positive(**named: object) -> Fraction:
    """A finite number greater than zero, as an exact `Fraction`."""
    [(name, value)] = named.items()
    number = _exact(name, value)
    if not number > 0:
        raise InvalidParameter(name, value, "must be greater than 0", _write(name))
    return number


def not_negative(**named: object) -> Fraction:
    """A finite number of at least zero, as an exact `Fraction`."""
    [(name, value)] = named.items()
    number = _exact(name, value)
    if not number >= 0:
        raise InvalidParameter(name, value, "must not be negative", f"Write {name}=0 or more.")
    return number


def probability(**named: object) -> Fraction:
    """A number strictly between 0 and 1, as an exact `Fraction`."""
    [(name, value)] = named.items()
    number = _exact(name, value)
    if not 0 < number < 1:
        raise InvalidParameter(name, value, "must lie strictly between 0 and 1", _write(name, "0.05"))
    return number


def share(**named: object) -> Fraction:
    """A number from 0 to 1, both allowed, as an exact `Fraction`."""
    [(name, value)] = named.items()
    number = _exact(name, value)
    if not 0 <= number <= 1:
        raise InvalidParameter(name, value, "must lie between 0 and 1", _write(name, "0.5"))
    return number


def whole(*, minimum: int = 1, **named: object) -> int:
    """A whole number of at least `minimum`."""
    [(name, value)] = named.items()
    if isinstance(value, bool) or not isinstance(value, Integral) or not int(value) >= minimum:
        near = math.ceil(value) if isinstance(value, float) and minimum < value < math.inf else minimum
        raise InvalidParameter(name, value, f"must be a whole number of at least {minimum}", _write(name, str(near)))
    return int(value)


def interval(*, example: object = "", **named: object) -> tuple[Fraction, Fraction]:
    """A pair (low, high) with low < high, as exact `Fraction`s. The `example` says how to write it."""
    [(name, value)] = named.items()
    hint = f"Write {name}={example}, for example." if example else _write(name, "(0, 120)")
    pair = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
        raise InvalidParameter(name, value, "must be a pair (low, high)", hint)
    if None in pair:
        why = "both ends must be finite and public. Otherwise one person could change the answer without limit"
        raise InvalidParameter(name, value, why, hint)
    low, high = _exact(name, pair[0]), _exact(name, pair[1])
    if not low < high:
        raise InvalidParameter(name, value, "the range is empty", f"Write {name}=(low, high) with low < high.")
    return low, high


def one_of(options: Sequence[str], **named: object) -> str:
    """One of the words listed."""
    [(name, value)] = named.items()
    if not isinstance(value, str) or value not in options:
        raise InvalidParameter(name, value, "is not one of the options", f"Write one of: {', '.join(options)}.")
    return value


def true_or_false(**named: object) -> bool:
    """True or False. 1 and "yes" are refused."""
    [(name, value)] = named.items()
    if not isinstance(value, bool):
        raise InvalidParameter(name, value, "must be True or False", f"Write {name}=False if in doubt.")
    return value


def text_or_none(**named: object) -> None:
    """Texts, where None stands for the usual. A frame would raise an error of its own when it is compared."""
    for name, value in named.items():
        if value is not None and not isinstance(value, str):
            raise InvalidParameter(name, value, "must be a text", _write(name, f"'{name}'"))


def entropy(source: object) -> None:
    """A source of random bits; a number alone is none."""
    if not callable(getattr(source, "bits", None)):
        hint = "Leave it out, or write entropy=lw.noise.Reproducible(7) for noise that repeats and is not private."
        raise InvalidParameter("entropy", source, "is no source of random bits", hint)


def _exact(name: str, value: object) -> Fraction:
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool):
        raise InvalidParameter(name, value, "is a truth value, not a number", _write(name))
    if isinstance(value, int):
        return Fraction(value)
    if isinstance(value, (float, Decimal)):
        if not (value.is_finite() if isinstance(value, Decimal) else math.isfinite(value)):
            raise InvalidParameter(name, value, "must be finite", _write(name))
        if isinstance(value, Decimal) and abs(int(value.as_tuple().exponent)) > _LARGEST_EXPONENT:
            raise InvalidParameter(name, value, "has too many digits", _write(name))
        return Fraction(value)
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    item = getattr(value, "item", None)  # a numpy scalar, without importing numpy
    if callable(item) and getattr(value, "ndim", None) == 0 and not getattr(value, "mask", False):
        plain = item()
        return _exact(name, plain) if type(plain) is not type(value) else _exact_wide(name, plain)
    if value is None:
        raise InvalidParameter(name, value, "is missing", _write(name))
    quoted = " without quotes" if isinstance(value, str) else ""
    raise InvalidParameter(name, value, f"is of type {type(value).__name__}, not a number", _write(name, extra=quoted))


def of_kind(kind: type, why: str, hint: str, **named: object) -> None:
    """Refuse what is of another type."""
    [(name, value)] = named.items()
    if not isinstance(value, kind):
        raise InvalidParameter(name, f"<{type(value).__name__}>", why, hint)


_EXAMPLES = {
    "alpha": "0.05",
    "bounds": "(0, 120)",
    "confidence": "0.95",
    "data": "[…]",
    "delta": "1e-6",
    "edges": "[0, 10, 20]",
    "keys": "['yes', 'no']",
    "n": "10_000",
    "prior": "0.5",
    "q": "0.5",
    "within": "5",
}


def add_examples(**words: str) -> None:
    """Let a room say what one might write for the parameters that only it has, or for "function.parameter"."""
    _EXAMPLES.update(words)


def example_of(name: str, otherwise: str = "1") -> str:
    """What one might write for a parameter of this name."""
    return _EXAMPLES.get(name, otherwise)


def _write(name: str, example: str = "1", extra: str = "") -> str:
    return f"Write {name}={example_of(name, example)}{extra}, for example."


def _exact_wide(name: str, value: Any) -> Fraction:
    """A numpy longdouble, which no type of Python can hold."""
    if not math.isfinite(value):
        raise InvalidParameter(name, value, "must be finite", _write(name))
    return Fraction(*map(int, value.as_integer_ratio()))
