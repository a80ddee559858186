"""Reads tables of any kind as numbers within public bounds. No value of a record raises, warns or changes a shape.

A feature that is not a finite number (None, NaN, an infinity, text) counts as the middle of its bounds. In a list of
rows, what is no row (None, NaN, text, a date, a number, a mapping) counts as a row of such features. A row is left out
if its target is not a finite number within reach, or not one of the public classes. Both rules look at one row alone.

How many columns a list of rows has, and so how long each row is, must be declared. An array or a frame declares it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import checks
from lapwing.errors import InvalidParameter, MissingBounds
from lapwing.mechanisms.records import (
    NoRow,
    as_column,
    column_values,
    is_frame,
    place_of,
    places_of,
    ratio_of,
    row_of,
)

Floats = NDArray[np.float64]

BITS = 16
"""Features lie between −2^16 and 2^16 steps: finer than any noise, and products of two stay far from 2^53."""
_BLOCK = 1 << 15  # numbers that stay in the cache


@dataclass(frozen=True, slots=True)
class Box:
    """Public bounds of every column, as the middle and half the width of each."""

    bounds: tuple[tuple[Fraction, Fraction], ...]

    @classmethod
    def of(cls, bounds: object, columns: int, names: Sequence[str] | None = None, *, name: str = "bounds") -> Box:
        """One pair for all columns, a pair for each, or a dict of pairs by name."""
        if bounds is None:
            raise MissingBounds("X" if name == "bounds" else "y", name)
        if isinstance(bounds, Mapping):
            if names is None:
                why = "columns without names cannot be looked up"
                raise InvalidParameter(name, list(bounds), why, "Pass a data frame, or a pair for each column.")
            for column in names:
                if column not in bounds:
                    raise MissingBounds(str(column))
            bounds = [bounds[column] for column in names]
        listed: Any = bounds.tolist() if hasattr(bounds, "tolist") else bounds
        if not isinstance(listed, (list, tuple)):
            raise InvalidParameter(name, bounds, "must be a pair (low, high), or pairs", f"Write {name}=(0, 120).")
        is_one = len(listed) == 2 and all(isinstance(end, str) or not hasattr(end, "__len__") for end in listed)
        pairs = [listed] * columns if is_one else list(listed)
        if len(pairs) != columns:
            why = f"there are {columns} columns and {len(pairs)} pairs"
            hint = "Write one pair for all, or a pair for each: list(zip(lows, highs))."
            raise InvalidParameter(name, f"<{len(pairs)} pairs>", why, hint)
        return cls(tuple(_pair(name, pair) for pair in pairs))

    @property
    def low(self) -> Floats:
        """The lower ends."""
        return np.array([float(low) for low, _ in self.bounds])

    @property
    def high(self) -> Floats:
        """The upper ends."""
        return np.array([float(high) for _, high in self.bounds])

    @property
    def middle(self) -> Floats:
        """Halfway between the ends."""
        return np.array([float((low + high) / 2) for low, high in self.bounds])

    @property
    def half(self) -> Floats:
        """From the middle to either end."""
        return np.array([float((high - low) / 2) for low, high in self.bounds])

    def scaled(self, values: Floats) -> Floats:
        """Clamped, moved and stretched to −1 … 1; what is no finite number becomes 0."""
        return self.steps(values, bits=None)

    def steps(self, values: Floats, bits: int | None = BITS) -> Floats:
        """The same in whole steps from −2^bits to 2^bits, held in doubles; by the block, to stay in the cache."""
        largest, columns = 1.0 if bits is None else float(1 << bits), len(self.bounds)
        scaled, rows = np.empty(values.shape), min(max(1, _BLOCK // columns), len(values))
        given, results, size = values.reshape(-1), scaled.reshape(-1), rows * columns
        with np.errstate(all="ignore"):  # a warning would depend on a record
            factor = np.minimum(largest / self.half, np.finfo(float).max)  # 0 times infinity would be no number
            middles, factors = np.tile(self.middle, rows), np.tile(factor, rows)  # long loops are fast
            for start in range(0, len(given), size or 1):
                block, out = given[start : start + size], results[start : start + size]
                np.subtract(block, middles[: len(out)], out=out)
                out *= factors[: len(out)]
                if bits is not None:
                    np.rint(out, out=out)
                if not (out.min() >= -largest and out.max() <= largest):
                    np.clip(out, -largest, largest, out=out)
                    out[~np.isfinite(block)] = 0.0
        return scaled

    def back(self, unit: Floats) -> Floats:
        """From −1 … 1 to the data's own units."""
        return unit * self.half + self.middle


_LARGEST = 1 << 200


def _pair(name: str, pair: object) -> tuple[Fraction, Fraction]:
    """Public ends, in a unit in which doubles hold squares of the values and of their quotients."""
    low, high = checks.interval(**{name: pair})
    if max(-low, high) > _LARGEST or high - low < 1 / _LARGEST:
        raise InvalidParameter(
            name,
            pair,
            "is too large or too narrow for the square of a float",
            "Write them in another unit, such as thousands.",
        )
    return low, high


def listed(X: Any, columns: int | None, *, known: bool = False) -> Any:
    """A list of rows as lists, None for what is no row; anything else as it is.

    How many columns it has must be declared: read from the rows, it would tell whether there are any. So every list
    without `columns` is refused, whatever is in it. If the rows are `known` to the caller, as those to predict are, a
    number or a mapping in the place of a row is refused.
    """
    if not _is_list(X):
        return X
    if columns is None:
        why = "is a list of rows, and the number of its columns would be read from records"
        hint = "Pass a data frame or an array, numpy.array(X). A list needs a pair for each column: bounds=[(0, 120)]."
        raise InvalidParameter("X", f"<{type(X).__name__}>", why, hint)
    try:
        return [_row(row, columns, known) for row in X]
    except NoRow:
        raise _no_table(X) from None


def _is_list(X: Any) -> bool:
    """Whether it is a collection of rows without a shape of its own."""
    other = isinstance(X, (str, bytes, bytearray, Mapping, Set)) or is_frame(X) or hasattr(X, "tocsr")
    return isinstance(X, Collection) and not (other or hasattr(X, "shape") or hasattr(X, "__array__"))


def _row(row: Any, columns: int, known: bool) -> Sequence[Any] | None:
    try:
        read = row_of(row, columns)
    except NoRow:
        if known:
            raise
        return None
    if known and read is None and ratio_of(row) is not None:
        raise NoRow
    return read


def _no_table(X: Any) -> InvalidParameter:
    hint = "Pass rows and columns. Reshape your data: X.reshape(-1, 1) if it has a single feature."
    return InvalidParameter("X", f"<{type(X).__name__}>", "is not a table", hint)


def width_of(X: Any, declared: int | None = None) -> int:
    """How many columns a table has, which is public. Of `listed` rows it is declared, and each has as many entries."""
    if hasattr(X, "tocsr"):
        why = "is sparse, and the places of its entries would reveal something about people"
        raise InvalidParameter("X", f"<{type(X).__name__}>", why, "Pass a dense table: X.toarray().")
    if getattr(getattr(X, "dtype", None), "kind", None) == "c":
        raise InvalidParameter("X", "<complex>", "Complex data not supported", "Pass real and imaginary parts.")
    if is_frame(X) and hasattr(X, "shape") and len(names := _names(X)) != len(set(names)):
        raise InvalidParameter("X", f"<{type(X).__name__}>", "two columns have the same name", "Rename one of them.")
    if declared is not None and _is_list(X):
        if any(len(row) != declared for row in X if row is not None):
            why = f"has rows that have not {declared} entries, one for each column"
            hint = "All rows need the same number of entries. Write None for one that is absent."
            raise InvalidParameter("X", f"<{type(X).__name__}>", why, hint)
        return declared
    shape = X.shape if hasattr(X, "shape") else np.asarray(X, dtype=object).shape
    if len(shape) != 2:
        raise _no_table(X)
    if shape[1] == 0:
        raise InvalidParameter(
            "X", "<0 feature(s)>", "has no columns", "Pass at least one; a minimum of 1 is required."
        )
    return int(shape[1])


def _names(frame: Any) -> list[Any]:
    return list(getattr(frame, "column_names", frame.columns))  # of arrow, or of pandas and polars


def matrix(X: Any, columns: int) -> Floats:
    """A table as doubles, NaN for what is no finite number; each entry becomes what it becomes by itself."""
    if _is_list(X):
        absent = [None] * columns
        numbers = [[_number(value) for value in (absent if row is None else row)] for row in X]
        return np.array(numbers, dtype=np.float64).reshape(len(X), columns)
    if is_frame(X):
        return np.column_stack([_column(X[name]) for name in _names(X)])
    array = X if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
    with np.errstate(all="ignore"):  # a number too large for a double is an infinity
        if array.dtype.kind in "biuf":
            doubles = array.astype(np.float64, copy=False)
            return doubles.filled(np.nan) if isinstance(doubles, np.ma.MaskedArray) else doubles
    entries = [_number(value) for value in array.ravel().tolist()]
    return np.array(entries, dtype=np.float64).reshape(array.shape)


def targets(y: Any) -> Floats:
    """Numbers to be predicted, NaN for what is no finite number."""
    return _column(column_of(y))


def places(y: Any, classes: NDArray[Any]) -> NDArray[np.int64]:
    """The place of every label among the public classes, −1 for others."""
    column = column_of(y)
    array = column if isinstance(column, np.ndarray) else None
    if array is not None and array.dtype.kind in "biuf" and classes.dtype.kind in "biuf":
        order = np.argsort(classes, kind="stable")
        ranks = np.searchsorted(classes[order], array).clip(0, len(classes) - 1)
        chosen = order[ranks]
        return np.where(classes[chosen] == array, chosen, -1).astype(np.int64)
    index = places_of(classes.tolist(), classes=classes)
    values = column_values(column) if not isinstance(column, list) else column
    return np.array([-1 if (at := place_of(_plain(v), index)) is None else at for v in values], dtype=np.int64)


def classes_of(classes: Any) -> NDArray[Any]:
    """The public classes, in their order; at least one."""
    if classes is None:
        why = "the classes must be public, because a rare class could reveal a person"
        raise InvalidParameter("classes", None, why, "Write classes=[0, 1], for example.")
    if isinstance(classes, (str, bytes, Mapping)) or not hasattr(classes, "__len__"):
        raise InvalidParameter("classes", classes, "is not a list of labels", "Write classes=[0, 1], for example.")
    listed = classes.tolist() if hasattr(classes, "tolist") else list(classes)
    if not listed:
        raise InvalidParameter("classes", classes, "must have one class or more", "Write classes=[0, 1], for example.")
    places_of(listed, classes=classes)
    if isinstance(classes, (set, frozenset)):
        try:
            listed = sorted(listed)
        except TypeError:
            hint = "Write them as a list."
            raise InvalidParameter("classes", classes, "has no order", hint) from None
    array = np.asarray(listed)
    if array.ndim == 1 and array.tolist() == listed:
        return array
    return np.fromiter(listed, dtype=object, count=len(listed))  # numpy would make text of [0, "a"]


def same_rows(X: Any, y: Any) -> None:
    """Refuse a target that is missing or has not one entry for each row. How many there are is not said."""
    if y is None:
        hint = "Pass fit(X, y). It requires y to be passed, but the target y is None."
        raise InvalidParameter("y", None, "is missing", hint)
    if is_frame(y):
        wide = len(_names(y)) != 1
    else:
        y = y if hasattr(y, "__len__") else np.asarray(y)
        shape: tuple[int, ...] = getattr(y, "shape", (1,))
        if isinstance(y, (str, bytes, Mapping, set, frozenset)) or getattr(y, "ndim", 1) == 0:
            raise InvalidParameter("y", f"<{type(y).__name__}>", "is not a column", "Pass a list or an array.")
        wide = len(shape) > 2 or (len(shape) == 2 and shape[1] != 1)
    if _length(X) != _length(y):
        raise InvalidParameter("y", "<column>", "has not one entry for each row of X", "Pass the same rows in both.")
    if wide:
        raise InvalidParameter("y", "<table>", "has several columns", "Pass one column.")


def _length(rows: Any) -> int:
    return len(rows) if hasattr(rows, "__len__") else len(np.asarray(rows))


def column_of(y: Any) -> list[Any] | NDArray[Any]:
    """One column, whatever holds it, as `same_rows` has found it to be."""
    if is_frame(y):
        y = y[_names(y)[0]]
    elif not hasattr(y, "__len__") or getattr(y, "ndim", 1) > 1:
        y = y.ravel() if isinstance(y, np.ma.MaskedArray) else np.asarray(y).ravel()
    return as_column(y)


def _column(values: Any) -> Floats:
    column = as_column(values)
    if isinstance(column, np.ndarray) and column.dtype.kind in "biuf":
        with np.errstate(all="ignore"):  # a number too large for a double is an infinity
            return column.astype(np.float64)
    return np.array([_number(v) for v in (column if isinstance(column, list) else column_values(column))], dtype=float)


def _number(value: object) -> float:
    ratio = ratio_of(value)
    if ratio is None:
        return np.nan
    try:
        return ratio[0] / ratio[1]
    except OverflowError:
        return np.nan


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
