"""From records to bounded whole numbers: clamp to public bounds, round to a public grid, sum without error.

What happens to one record depends on that record alone. Records that are not finite numbers (None, NaN, infinities,
text) are absent, without a word: an error or a warning would tell about a record. Rounding is monotone, so a clamped
and rounded record lies between the rounded bounds, and it does not matter which of the two is done first.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set, Sized
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.errors import InvalidParameter
from lapwing.exact import float_down, float_up
from lapwing.mechanisms.grid import (
    LARGEST_EXPONENT,
    SMALL,
    SMALLEST,
    is_array,
    is_date,
    is_present,
    power_of_two,
    quotient,
    tame,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LARGEST_STEPS = 1 << 53
"""Rounded bounds stay within this, so that doubles hold every step exactly."""

_LARGEST_SUM = 1 << 62  # what int64 certainly holds
_DEFAULT_BITS = 30
_DAY = dt.timedelta(days=1)
_FIRST, _LAST = dt.date.min - dt.date(1970, 1, 1), dt.date.max - dt.date(1970, 1, 1)
_READERS = ("tolist", "to_list", "to_pylist")  # of numpy and pandas, polars, arrow


@dataclass(frozen=True, slots=True)
class BoundedGrid:
    """Public bounds on a public grid: a record becomes floor(clamp(x)/g + 1/2), from `bottom` to `top` steps."""

    low: Fraction
    high: Fraction
    granularity: Fraction
    bottom: int
    top: int

    @classmethod
    def of(cls, bounds: object, granularity: object = None) -> BoundedGrid:
        """Check the bounds and the granularity; by default the grid has about 2^30 steps between the bounds."""
        low, high = checks.interval(bounds=bounds)
        grid = _default_granularity(low, high) if granularity is None else checks.positive(granularity=granularity)
        bottom, top = _rounded(low, grid), _rounded(high, grid)
        if max(-bottom, top) > LARGEST_STEPS:
            raise InvalidParameter("granularity", granularity, "is too fine for these bounds", "Use a coarser grid.")
        if bottom == top:
            raise InvalidParameter(
                "granularity", granularity, "both bounds round to the same grid point", "Use a finer grid."
            )
        return cls(low, high, grid, bottom, top)

    def steps(self, records: Any) -> Sequence[int] | NDArray[np.int64]:
        """The steps of the records that are present, in their order."""
        listed = as_column(records)
        if isinstance(listed, list):
            return [steps for value in listed if (steps := self._one(value)) is not None]
        if listed.dtype.kind not in "biuf" or listed.dtype.itemsize > 8:
            return self.steps(column_values(listed.ravel()))
        return self._many(listed.ravel())

    def _one(self, value: object) -> int | None:
        ratio = ratio_of(tame(value, self.granularity) if isinstance(value, Decimal) and value.is_finite() else value)
        if ratio is None:
            return None
        top, bottom = ratio[0] * self.granularity.denominator, ratio[1] * self.granularity.numerator
        return min(max((2 * top + bottom) // (2 * bottom), self.bottom), self.top)

    def _many(self, array: NDArray[Any]) -> NDArray[np.int64]:
        """The same for a numeric array. Doubles decide; what they leave undecided is decided by `_one`."""
        import numpy as np

        beyond_doubles = array.dtype.kind in "iu" and max(-self.low, self.high) > LARGEST_STEPS
        if beyond_doubles or not SMALLEST < self.granularity < 1 / SMALLEST:
            return np.array(
                [step for value in array.tolist() if (step := self._one(value)) is not None], dtype=np.int64
            )
        with np.errstate(all="ignore"):  # a warning would depend on the data
            values = self._as_doubles(array)
            scaled = values / float(self.granularity)
            whole = np.floor(scaled)
            rest = scaled - whole
            steps = (whole + (rest >= 0.5)).astype(np.int64)
            if power_of_two(self.granularity) is None:
                # the quotient of doubles is off by less than 2^-51 relatively: only near a half could that matter
                unsure = np.flatnonzero(np.abs(rest - 0.5) <= np.abs(scaled) * 2.0**-51)
                steps[unsure] = [self._one(value) or 0 for value in values[unsure].tolist()]
        return np.clip(steps, self.bottom, self.top, out=steps)

    def _as_doubles(self, array: NDArray[Any]) -> NDArray[np.float64]:
        """Present values as doubles, brought near the bounds first so that nothing overflows; exact in between."""
        import numpy as np

        if array.dtype.kind in "iu":
            limits = np.iinfo(array.dtype)
            low, high = (
                min(max(bound, limits.min), limits.max) for bound in (math.floor(self.low), math.ceil(self.high))
            )
            clamped: NDArray[np.float64] = np.clip(array, low, high).astype(np.float64)
            return clamped
        values = array.astype(np.float64, copy=False)
        finite = np.isfinite(values)
        if not finite.all():
            values = values[finite]
        return np.clip(values, float_down(self.low), float_up(self.high))

    @property
    def overhang(self) -> Fraction:
        """How far a rounded bound lies beyond the bound itself: at most half a granularity."""
        return max(self.low - self.bottom * self.granularity, self.top * self.granularity - self.high, Fraction(0))

    def value(self, steps: Fraction | int) -> float:
        """Steps as a number of the data's own unit."""
        exact = steps * self.granularity
        return quotient(exact.numerator, exact.denominator)


def as_column(records: Any) -> list[Any] | NDArray[Any]:
    """Records, one for each entry. A table is refused, because the owner of a row would own several of its entries."""
    if getattr(records, "ndim", 1) > 1:
        raise _table(records)
    return as_records(records)


def as_records(records: Any) -> list[Any] | NDArray[Any]:
    """Records as a list, or as an array where that changes no value.

    Numpy gives a mixed list one common type, so one record could change how another is rounded: only lists of nothing
    but floats, or nothing but ints, become arrays. For the same reason a column that can miss values (of pandas, polars
    or arrow, or a masked array) becomes a list: numpy would make it doubles once a whole number is missing. So does a
    column of dates, which has its own Python values for them.
    """
    if is_frame(records):
        raise _table(records)
    if not is_array(records):
        raise InvalidParameter(
            "data",
            f"<{type(records).__name__}>",
            "is not a collection of records",
            "Pass a list or an array, one entry each.",
        )
    if not isinstance(records, (list, tuple, range)):
        import numpy as np

        if isinstance(records, np.ma.MaskedArray):
            records = column_values(records.ravel())
        elif isinstance(records, np.ndarray) or _is_plain(getattr(records, "dtype", None)):
            return np.asarray(records)
        else:
            records = column_values(records)
    kinds = set(map(type, records)) if len(records) > SMALL else set()
    if kinds in ({float}, {int}):
        try:
            import numpy as np

            return np.array(records, dtype=np.float64 if kinds == {float} else np.int64)
        except (ImportError, OverflowError):  # no numpy, or an int beyond int64: the list gives the same steps
            pass
    return list(records)


def column_values(column: Any) -> list[Any]:
    """A column as a list of Python values, None or the like where one is missing or has no Python value.

    Libraries hold what Python cannot (a date after the year 9999, broken text) and raise when asked for a list. The
    error would tell about a record, so it is narrowed down to that record by halves.
    """
    name = next((name for name in _READERS if hasattr(type(column), name)), None)
    if name is None:
        raise InvalidParameter(
            "data", f"<{type(column).__name__}>", "is not one column of records", "Pass a column, a list or an array."
        )
    try:
        values = list(getattr(_within_years(column), name)())
    except KeyboardInterrupt:
        raise
    except BaseException:  # polars panics with one of its own
        if len(column) < 2:
            return [None] * len(column)
        entries, half = getattr(column, "iloc", column), len(column) // 2
        return column_values(entries[:half]) + column_values(entries[half:])
    if getattr(getattr(column, "dtype", None), "kind", None) in ("M", "m") and int in set(map(type, values)):
        # numpy makes ints of dates that Python cannot hold, and they would pass for numbers
        return [date if type(value) is int else value for date, value in zip(column, values, strict=True)]
    return values


def _within_years(column: Any) -> Any:
    """A column of polars without the dates that Python cannot hold: polars writes of them to standard error."""
    if not hasattr(type(column), "to_physical"):
        return column
    written = str(column.dtype)
    if written != "Date" and not written.startswith("Datetime(time_unit='ms'"):
        return column
    unit = _DAY if written == "Date" else dt.timedelta(milliseconds=1)
    fits = column.to_physical().is_between(_FIRST // unit, (_LAST + _DAY) // unit - 1)
    return column.zip_with(fits.fill_null(value=False), column.clear(len(column)))


def is_frame(data: object) -> bool:
    """Whether this is a data frame or a table. Its type tells: a column of pandas shows its labels as attributes."""
    return hasattr(type(data), "columns")


def _table(data: object) -> InvalidParameter:
    why = "has several columns, so each person would be counted once per column"
    return InvalidParameter("data", f"<{type(data).__name__}>", why, "Pass one column.")


def values_of(values: Any) -> list[Any]:
    """Labels or answers as a list of Python values, whatever holds them."""
    return column_values(values) if any(hasattr(type(values), name) for name in _READERS) else list(values)


def _is_plain(dtype: object) -> bool:
    """Whether a column of this type is the same as an array: numpy knows the type, and it is not one of dates."""
    import numpy as np

    return isinstance(dtype, np.dtype) and dtype.kind not in "Mm"


def exact_sum(steps: Sequence[int] | NDArray[np.int64], largest: int) -> int:
    """The sum of steps of at most `largest` in magnitude: in int64 while |sum| ≤ 2^62 is certain, else in parts."""
    if isinstance(steps, list):
        return sum(steps)
    array: Any = steps
    part = _LARGEST_SUM // max(largest, 1)
    return sum(int(array[start : start + part].sum()) for start in range(0, len(array), part))


class NoRow(Exception):
    """What stands in a list of rows is neither a row nor of a kind that can be absent: a whole number, a mapping."""


_MAY_BE_ABSENT = (type(None), str, bytes, bytearray, float, complex, Decimal, dt.date, dt.time, dt.timedelta)


def row_of(row: Any, most: int | None = None) -> Sequence[Any] | None:
    """The entries of a row in a list of rows; None for one that is absent: None, text, or of a kind with NaN or NaT.

    The kind decides, not the value: if NaN was absent and 5.0 refused, an error would tell about a record. Other kinds
    that are no rows are refused, because they would be lost without a word. What can be read only once, such as a
    generator, is a row where `most` says how many entries it may have.
    """
    if isinstance(row, (list, tuple)):
        return row
    if isinstance(row, _MAY_BE_ABSENT):
        return None
    try:
        if hasattr(type(row), "as_py"):  # a cell of arrow; any of its types can be null
            entries = getattr(row, "values", None)  # of a list, not yet as values that Python might not have
            return column_values(entries) if hasattr(entries, "to_pylist") else None
        shape, dtype = getattr(row, "shape", None), getattr(row, "dtype", None)
        if shape == () and getattr(dtype, "names", None):  # a record of numpy
            return tuple(row.tolist())
        if shape == () or not isinstance(row, Iterable):
            kind = "i" if isinstance(row, int) else getattr(dtype, "kind", "")
            if kind not in ("b", "i", "u") and (kind or not is_present(row)):
                return None
        elif (shape is None or len(shape) == 1) and not isinstance(row, (Mapping, Set)):
            if most is not None and (isinstance(row, Iterator) or (isinstance(row, Sized) and len(row) > most)):
                return list(islice(row, most + 1))
            if isinstance(row, Sized):
                return values_of(row)
    except Exception:  # of a type of the user's own: an error would tell about the record
        return None
    raise NoRow


def place_of(record: object, places: Mapping[Any, int]) -> int | None:
    """The place of the label that equals the record. What cannot be hashed or compared equals none."""
    try:
        return places.get(record)
    except Exception:  # an error would tell about the record
        return None


def places_of(labels: Sequence[Any], **named: object) -> dict[Any, int]:
    """The place of every public label; they must differ, and be such that a record can equal them."""
    try:
        if all(label == label for label in labels) and len(set(labels)) == len(labels):
            return {label: place for place, label in enumerate(labels)}
    except Exception:  # a list, an array, a missing value
        pass
    [(name, _)] = named.items()
    raise InvalidParameter(
        name, f"<{name}>", "two are equal, or one cannot be compared (a list, NaN)", f"Write {name}=['a', 'b']."
    )


def ratio_of(value: Any) -> tuple[int, int] | None:
    """A finite number as numerator and denominator; None for anything else, and for a decimal too long to write out."""
    try:
        if isinstance(value, Decimal) and abs(value.adjusted()) > LARGEST_EXPONENT:
            return None
        if is_date(value):
            return None
        plain = value if hasattr(value, "as_integer_ratio") or getattr(value, "ndim", None) != 0 else value.tolist()
        top, bottom = plain.as_integer_ratio()
        return (int(top), int(bottom)) if bottom > 0 else None
    except Exception:  # NaN, an infinity, text, a number type rather than a number, a type of the user's own
        return None


def _rounded(value: Fraction, granularity: Fraction) -> int:
    return math.floor(value / granularity + Fraction(1, 2))


def _default_granularity(low: Fraction, high: Fraction) -> Fraction:
    """A power of two: 2^30 steps between the bounds or a little more, but no bound beyond 2^53 steps."""
    width, farthest = _exponent(high - low), _exponent(max(-low, high)) + 2
    return Fraction(2) ** max(width - _DEFAULT_BITS, farthest - LARGEST_STEPS.bit_length() + 1)


def _exponent(value: Fraction) -> int:
    """An e with 2^e ≤ value < 2^(e+2)."""
    return value.numerator.bit_length() - value.denominator.bit_length() - 1
