"""From numbers to whole steps of a public grid, and back. What happens to strange data is decided here, once.

A value x becomes floor(x/g + 1/2) steps, computed exactly. A value that is not a finite number (NaN, an infinity, None)
counts as 0, without a word: an error or a warning would tell about a record. Arrays hold int64 steps and saturate at its ends.

Rounding costs sensitivity: two scalars at most Δ apart are at most ⌈Δ/g⌉ steps apart afterwards; d rounded coordinates
are at most Δ/g + d apart in l1, and Δ/g + √d in l2.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import TYPE_CHECKING, Any

from lapwing.errors import InvalidParameter

if TYPE_CHECKING:
    from numpy.typing import NDArray

INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1


def is_array(data: object) -> bool:
    """Whether the data is a vector (numpy array, list, tuple, pandas or polars column) and not one number."""
    return isinstance(data, (list, tuple, range)) or (hasattr(data, "__array__") and getattr(data, "ndim", 1) > 0)


def default_granularity(sensitivity: Fraction) -> Fraction:
    """1 for a whole sensitivity, else the largest power of two that is at most a thousandth of it."""
    if sensitivity.denominator == 1:
        return Fraction(1)
    exponent = math.floor(math.log2(sensitivity)) - 10
    return Fraction(2) ** exponent


def to_steps(value: object, granularity: Fraction) -> int:
    """One number as whole grid steps."""
    number = _fraction(value)
    return math.floor(number / granularity + Fraction(1, 2)) if granularity != 1 or number.denominator != 1 else number.numerator


def from_steps(steps: int, granularity: Fraction) -> int | float:
    """Whole grid steps as a number: an int on whole grids, else the nearest float."""
    value = steps * granularity
    if granularity.denominator == 1:
        return value.numerator
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def steps_of_array(data: Any, granularity: Fraction) -> NDArray[Any]:
    """A vector as int64 grid steps, exactly rounded."""
    import numpy as np

    array = np.asarray(data)
    if array.dtype.kind == "b" or (array.dtype.kind == "i" and granularity == 1):
        return array.astype(np.int64)
    exponent = _power_of_two(granularity)
    if array.dtype.kind == "f" and array.dtype.itemsize <= 8 and exponent is not None:
        with np.errstate(all="ignore"):  # a warning would depend on the data
            scaled = np.ldexp(array.astype(np.float64), -exponent)
            whole = np.floor(scaled)
            whole += scaled - whole >= 0.5
            whole = np.where(np.isfinite(array), whole, 0.0)
            steps = whole.clip(-(2.0**63), 2.0**62).astype(np.int64)
        steps[whole >= 2.0**63] = INT64_MAX
        large = (whole > 2.0**62) & (whole < 2.0**63)
        steps[large] = whole[large].astype(np.int64)
        return steps
    flat = [min(max(to_steps(value, granularity), INT64_MIN), INT64_MAX) for value in array.ravel().tolist()]
    return np.array(flat, dtype=np.int64).reshape(array.shape)


def array_from_steps(steps: NDArray[Any], granularity: Fraction) -> NDArray[Any]:
    """int64 steps as numbers: int64 on the grid of whole numbers, else float64."""
    import numpy as np

    if granularity == 1:
        return steps
    return np.asarray(steps * float(granularity), dtype=np.float64)


def add_saturating(steps: NDArray[Any], noise: NDArray[Any]) -> NDArray[Any]:
    """Steps plus noise in int64, stuck at its ends instead of wrapping round: post-processing of the exact sum."""
    import numpy as np

    if noise.dtype == object:
        exact = steps.astype(object) + noise
        return np.clip(exact, INT64_MIN, INT64_MAX).astype(np.int64)
    total = steps + noise  # wraps silently; the signs tell
    wrapped = ((steps ^ total) & (noise ^ total)) < 0
    if wrapped.any():
        total[wrapped] = np.where(noise[wrapped] > 0, INT64_MAX, INT64_MIN)
    return np.asarray(total)


def _fraction(value: object) -> Fraction:
    """The exact value, or 0 for what is not a finite number. Only the *type* may be an error."""
    if isinstance(value, (float, Decimal)):
        return Fraction(value) if math.isfinite(value) else Fraction(0)
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if value is None:
        return Fraction(0)
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "ndim", None) == 0:
        return _fraction(item())
    raise InvalidParameter(
        "data", f"<{type(value).__name__}>", "is not a number", "Pass a number, a list of numbers or a numeric array."
    )


def _power_of_two(granularity: Fraction) -> int | None:
    top, bottom = granularity.numerator, granularity.denominator
    if top & (top - 1) or bottom & (bottom - 1):
        return None
    return top.bit_length() - bottom.bit_length()
