"""From numbers to whole steps of a public grid, and back. What happens to strange data is decided here, once.

A value x becomes floor(x/g + 1/2) steps, computed exactly. A value that is not a finite number (NaN, an infinity, None,
and among other values also text or whatever else) counts as 0, without a word: an error or a warning would tell about a
record. Arrays, and lists that are long enough to be treated as arrays, saturate at the ends of int64.

Rounding costs sensitivity: two scalars at most Δ apart are at most ⌈Δ/g⌉ steps apart afterwards; d rounded coordinates
are at most Δ/g + d apart in l1, and Δ/g + √d in l2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.errors import InvalidParameter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SMALL = 256
"""Lists up to this length need no numpy; longer ones are treated as arrays where that changes no value."""

INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1
SMALLEST = Fraction(1, 1 << 900)
"""Between this and its inverse a granularity is safely a double."""

LARGEST_EXPONENT = 10_000
"""Of ten, in a decimal: beyond it, writing out the exact value would take too long."""

_BLOCK = 1 << 15  # so that what is computed on the way stays in the cache


def is_array(data: object) -> bool:
    """Whether the data is a vector (numpy array, list, tuple, pandas or polars column) and not one number."""
    return isinstance(data, (list, tuple, range)) or (hasattr(data, "__array__") and getattr(data, "ndim", 1) > 0)


def grid_for(granularity: object, sensitivity: Fraction, dimensions: int | None, *, on_grid: bool) -> Fraction:
    """The granularity the user wrote, or the default."""
    promised = checks.true_or_false(on_grid=on_grid)
    if granularity is not None:
        return checks.positive(granularity=granularity)
    if promised:
        return Fraction(1)
    if dimensions is None or dimensions == 1:
        return default_granularity(sensitivity)
    share = sensitivity / (1024 * dimensions)
    return Fraction(2) ** (share.numerator.bit_length() - share.denominator.bit_length() - 1)


def default_granularity(sensitivity: Fraction) -> Fraction:
    """1 for a whole sensitivity, else a power of two between a 2048th and a 1024th of it."""
    if sensitivity.denominator == 1:
        return Fraction(1)
    exponent = sensitivity.numerator.bit_length() - sensitivity.denominator.bit_length()
    if Fraction(2) ** exponent > sensitivity:
        exponent -= 1
    return Fraction(2) ** (exponent - 10)


def to_steps(value: object, granularity: Fraction) -> int:
    """One number as whole grid steps."""
    if type(value) is int and granularity.numerator == granularity.denominator:
        return value
    number = _fraction(value, granularity)
    top, bottom = number.numerator * granularity.denominator, number.denominator * granularity.numerator
    return (2 * top + bottom) // (2 * bottom)


def from_steps(steps: int, granularity: Fraction) -> int | float:
    """Whole grid steps as a number: an int on whole grids, else the nearest float."""
    if granularity.denominator == 1:
        return steps * granularity.numerator
    return quotient(steps * granularity.numerator, granularity.denominator)


def quotient(top: int, bottom: int) -> float:
    """The float nearest to top/bottom, infinite beyond the largest."""
    try:
        return top / bottom
    except OverflowError:
        return math.inf if top > 0 else -math.inf


def steps_of_array(data: Any, granularity: Fraction) -> NDArray[Any]:
    """A vector as int64 grid steps, exactly rounded."""
    import numpy as np

    array = np.asarray(data)
    if array.dtype.kind in "Mm":
        return np.zeros(array.shape, dtype=np.int64)  # dates are no numbers, whether or not numpy makes ints of them
    exponent = power_of_two(granularity)
    if array.dtype.kind in "bi" and exponent is not None:
        return _whole_steps(np.asarray(array, dtype=np.int64), exponent)
    if array.dtype.kind == "f" and array.dtype.itemsize <= 8 and exponent is not None:
        flat_array, steps = array.ravel(), np.empty(array.size, dtype=np.int64)
        for start in range(0, array.size, _BLOCK):
            steps[start : start + _BLOCK] = _double_steps(flat_array[start : start + _BLOCK], exponent)
        return steps.reshape(array.shape)
    flat = saturated(element_steps(value, granularity) for value in array.ravel().tolist())
    return np.array(flat, dtype=np.int64).reshape(array.shape)


def _whole_steps(values: NDArray[np.int64], exponent: int) -> NDArray[np.int64]:
    """Whole numbers divided by 2^exponent, rounded half up and saturated: shifts of at most 64 places."""
    import numpy as np

    if exponent == 0:
        return values
    if exponent > 0:  # floor(x/2^e + 1/2) is x without its last e bits, plus the highest of them
        shift = min(exponent, 64)
        return (values >> min(shift, 63)) + (values >> (shift - 1) & 1)
    shift = min(-exponent, 63)
    lowest, highest = INT64_MIN >> shift, INT64_MAX >> shift
    steps = np.asarray(values.clip(lowest, highest) << shift)
    steps[values > highest] = INT64_MAX
    return steps


def saturated(steps: Iterable[int]) -> list[int]:
    """Steps cut to the range of int64."""
    return [min(max(step, INT64_MIN), INT64_MAX) for step in steps]


def element_steps(value: object, granularity: Fraction) -> int:
    """One of many numbers as whole grid steps; 0 for anything that is not a finite number."""
    try:
        return to_steps(value, granularity)
    except Exception:  # text, a missing value, a type of the user's own: an error would tell which record it was
        return 0


def _double_steps(values: NDArray[Any], exponent: int) -> NDArray[np.int64]:
    """Doubles divided by 2^exponent, which is exact, and rounded half up; saturated, and 0 where not finite."""
    import numpy as np

    with np.errstate(all="ignore"):  # a warning would depend on the data
        scaled = np.ldexp(values.astype(np.float64, copy=False), -exponent)
        whole = np.floor(scaled)
        whole += scaled - whole >= 0.5
        whole[~np.isfinite(values)] = 0
        steps = whole.clip(-(2.0**63), 2.0**63 - 1024).astype(np.int64)
    steps[whole >= 2.0**63] = INT64_MAX
    return steps


def array_from_steps(steps: NDArray[Any], granularity: Fraction) -> NDArray[Any]:
    """int64 steps as numbers: int64 on the grid of whole numbers, else float64."""
    import numpy as np

    if granularity == 1:
        return steps
    if not SMALLEST < granularity < 1 / SMALLEST:
        return np.array([quotient(step * granularity.numerator, granularity.denominator) for step in steps.tolist()])
    return np.asarray(steps * float(granularity), dtype=np.float64)


def add_saturating(steps: NDArray[Any], noise: NDArray[Any]) -> NDArray[Any]:
    """Steps plus noise in int64, cut at its ends instead of wrapping round: post-processing of the exact sum."""
    import numpy as np

    if noise.dtype == object:
        exact = steps.astype(object) + noise
        return np.asarray(np.clip(exact, INT64_MIN, INT64_MAX), dtype=np.int64)
    total = steps + noise  # wraps silently; the signs tell
    wrapped = ((steps ^ total) & (noise ^ total)) < 0
    if wrapped.any():
        total[wrapped] = np.where(noise[wrapped] > 0, INT64_MAX, INT64_MIN)
    return np.asarray(total)


def _fraction(value: object, granularity: Fraction) -> Fraction:
    """The exact value, or 0 for what is not a finite number. Only the *type* may be an error."""
    if isinstance(value, float):
        return Fraction(value) if math.isfinite(value) else Fraction(0)
    if isinstance(value, Decimal):
        return tame(value, granularity)
    if isinstance(value, Rational) and not is_date(value):
        return Fraction(int(value.numerator), int(value.denominator))
    if is_date(value) or not is_present(value):
        return Fraction(0)
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "ndim", None) == 0:
        plain: Any = item()
        is_long_double = type(plain) is type(value)  # the one kind that is its own item; a double would round it
        if not is_long_double:
            return _fraction(plain, granularity)
        try:
            return Fraction(*plain.as_integer_ratio())
        except (ArithmeticError, ValueError):
            return Fraction(0)
    raise InvalidParameter(
        "data", f"<{type(value).__name__}>", "is not a number", "Pass a number, a list of numbers or a numeric array."
    )


def is_date(value: object) -> bool:
    """Whether numpy takes this for a date or a duration, which only some of its units turn into an int."""
    return getattr(value, "ndim", None) == 0 and getattr(getattr(value, "dtype", None), "kind", None) in ("M", "m")


def is_present(value: object) -> bool:
    """Whether a record counts: anything but False (so that conditions can be counted), None, NaN, infinities and other
    marks of a missing value, which do not equal themselves.
    """
    if value is True or type(value) is int:
        return True
    try:
        plain: Any = value.tolist() if getattr(value, "ndim", None) == 0 else value  # type: ignore[attr-defined]
        if plain is None or plain is False:
            return False
        if isinstance(plain, Decimal):
            return plain.is_finite()
        if isinstance(plain, float):
            return math.isfinite(plain)
        if getattr(plain, "ndim", None) == 0:  # a long double is its own item, and may be finite beyond doubles
            return bool(plain.as_integer_ratio())
        unequal = plain != plain
        return unequal is not True and unequal is not plain  # pandas' NA compares to itself as NA
    except Exception:  # a value that cannot even be compared with itself
        return False


def tame(value: Decimal, granularity: Fraction) -> Fraction:
    """A decimal as a fraction, without writing out a million zeros: 0 if it is less than half a step, and cut at a
    magnitude of 10^10000, which brings no two numbers farther apart. 0 if it is not finite.
    """
    if not value.is_finite() or not value or value.adjusted() < -2 - granularity.denominator.bit_length():
        return Fraction(0)
    if value.adjusted() < LARGEST_EXPONENT:
        return Fraction(value)
    return Fraction(10) ** LARGEST_EXPONENT * (1 if value > 0 else -1)


def power_of_two(granularity: Fraction) -> int | None:
    """The exponent of a power of two; None for other numbers."""
    top, bottom = granularity.numerator, granularity.denominator
    if top & (top - 1) or bottom & (bottom - 1):
        return None
    return top.bit_length() - bottom.bit_length()
