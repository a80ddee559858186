"""From whatever holds a table to numbers within public bounds. No value of a record raises, warns or changes a shape.

A feature that is no finite number (None, NaN, an infinity, text) counts as the middle of its bounds. A row whose target
is no finite number within reach, or none of the public classes, is left out. Both rules look at one row alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import checks
from lapwing.errors import InvalidParameter, MissingBounds
from lapwing.mechanisms.records import as_column, column_values, is_frame, place_of, places_of, ratio_of

Floats = NDArray[np.float64]

BITS = 16
"""Features lie between −2^16 and 2^16 steps: finer than any noise, and products of two stay far from 2^53."""
_BLOCK = 1 << 11


@dataclass(frozen=True, slots=True)
class Box:
    """Public bounds of every column, as the middle and half the width of each."""

    bounds: tuple[tuple[Fraction, Fraction], ...]

    @classmethod
    def of(cls, bounds: object, columns: int, names: Sequence[str] | None = None, *, name: str = "bounds") -> Box:
        """One pair for all columns, a pair for each, or a dict of pairs by name."""
        if bounds is None:
            raise MissingBounds("X" if name == "bounds" else name)
        if isinstance(bounds, Mapping):
            if names is None:
                why = "columns without names cannot be looked up"
                raise InvalidParameter(name, list(bounds), why, "Pass a data frame, or a pair for each column.")
            for column in names:
                if column not in bounds:
                    raise MissingBounds(str(column))
            bounds = [bounds[column] for column in names]
        listed: Any = bounds.tolist() if hasattr(bounds, "tolist") else bounds
        try:
            is_one = len(listed) == 2 and not any(hasattr(end, "__len__") for end in listed)
            pairs = [listed] * columns if is_one else list(listed)
        except TypeError:
            raise InvalidParameter(name, bounds, "must be pairs (low, high)", f"Write {name}=(0, 120).") from None
        if len(pairs) != columns:
            why = f"there are {columns} columns and {len(pairs)} pairs"
            raise InvalidParameter(name, f"<{len(pairs)} pairs>", why, "Write one pair for all, or a pair for each.")
        return cls(tuple(checks.interval(**{name: pair}) for pair in pairs))

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
        largest = 1.0 if bits is None else float(1 << bits)
        middle, factor = self.middle, largest / self.half
        found = np.empty(values.shape)
        for start in range(0, len(values), _BLOCK):
            given, out = values[start : start + _BLOCK], found[start : start + _BLOCK]
            with np.errstate(all="ignore"):  # a warning would depend on a record
                np.subtract(given, middle, out=out)
                out *= factor
                if bits is not None:
                    np.rint(out, out=out)
                np.clip(out, -largest, largest, out=out)
                if not np.isfinite(given.sum()):  # the sum tells quickly that there is nothing to replace
                    out[~np.isfinite(given)] = 0.0
        return found

    def back(self, unit: Floats) -> Floats:
        """From −1 … 1 to the data's own units."""
        return unit * self.half + self.middle


def width_of(X: Any) -> int:
    """How many columns a table has. Nothing else of it is read."""
    if hasattr(X, "tocsr"):
        why = "is sparse, and which entries are stored would tell about people"
        raise InvalidParameter("X", f"<{type(X).__name__}>", why, "Pass a dense table: X.toarray().")
    shape = getattr(X, "shape", None)
    if shape is None:
        try:
            X = np.asarray(X, dtype=object)
        except ValueError:
            raise _no_table(X) from None
        shape = X.shape
    if len(shape) != 2:
        raise _no_table(X)
    if shape[1] == 0:
        raise InvalidParameter(
            "X", "<0 feature(s)>", "has no columns", "Pass at least one; a minimum of 1 is required."
        )
    return int(shape[1])


def _no_table(X: object) -> InvalidParameter:
    hint = "Pass rows and columns. Reshape your data: X.reshape(-1, 1) if it has a single feature."
    return InvalidParameter("X", f"<{type(X).__name__}>", "is not a table", hint)


def matrix(X: Any) -> Floats:
    """A table as doubles, NaN for what is no finite number."""
    if is_frame(X) and not isinstance(X, np.ndarray):
        columns = [_column(X[name]) for name in X.columns]
        return np.column_stack(columns) if columns else np.empty((len(X), 0))
    array = np.asarray(X) if hasattr(X, "shape") else np.asarray(X, dtype=object)
    if array.dtype.kind == "c":
        raise InvalidParameter("X", "<complex>", "Complex data not supported", "Pass real and imaginary parts.")
    if array.dtype.kind in "biuf":
        return np.asarray(array, dtype=np.float64)
    numbers = [_number(value) for value in array.ravel().tolist()]
    return np.array(numbers, dtype=np.float64).reshape(array.shape)


def targets(y: Any) -> Floats:
    """Numbers to be predicted, NaN for what is no finite number."""
    return _column(_flat(y))


def places(y: Any, classes: NDArray[Any]) -> NDArray[np.int64]:
    """The place of every label among the public classes, −1 for others."""
    column = _flat(y)
    array = column if isinstance(column, np.ndarray) else None
    if array is not None and array.dtype.kind in "biuf" and classes.dtype.kind in "biuf":
        order = np.argsort(classes, kind="stable")
        found = np.searchsorted(classes[order], array).clip(0, len(classes) - 1)
        chosen = order[found]
        return np.where(classes[chosen] == array, chosen, -1).astype(np.int64)
    index = places_of(classes.tolist(), classes=classes)
    values = column_values(column) if not isinstance(column, list) else column
    return np.array([-1 if (at := place_of(_plain(v), index)) is None else at for v in values], dtype=np.int64)


def classes_of(classes: Any) -> NDArray[Any]:
    """The public classes, in their order; at least one."""
    if classes is None:
        why = "which classes there are must be public, for a rare one would tell about a person"
        raise InvalidParameter("classes", None, why, "Write classes=[0, 1], for example.")
    listed = classes.tolist() if hasattr(classes, "tolist") else list(classes)
    if not listed:
        raise InvalidParameter("classes", classes, "there is none", "Write classes=[0, 1], for example.")
    places_of(listed, classes=classes)
    return np.asarray(classes) if not isinstance(classes, (set, frozenset)) else np.array(sorted(listed))


def same_rows(X: Any, y: Any) -> None:
    """Refuse a target that is missing or has not one entry for each row. How many there are is not said."""
    if y is None:
        hint = "Pass fit(X, y). It requires y to be passed, but the target y is None."
        raise InvalidParameter("y", None, "is missing", hint)
    if _length(X) != _length(y):
        raise InvalidParameter("y", "<column>", "has not one entry for each row of X", "Pass the same rows in both.")


def _length(rows: Any) -> int:
    return len(rows) if hasattr(rows, "__len__") else len(np.asarray(rows))


def _flat(y: Any) -> Any:
    y = y if hasattr(y, "__len__") else np.asarray(y)
    if is_frame(y):
        if len(y.columns) != 1:
            raise InvalidParameter("y", "<table>", "has several columns", "Pass one column.")
        y = y[y.columns[0]]
    array = np.asarray(y) if hasattr(y, "ndim") and getattr(y, "ndim", 1) != 1 else None
    if array is not None and (array.ndim != 2 or array.shape[1] != 1):
        raise InvalidParameter("y", "<table>", "has several columns", "Pass one column.")
    return as_column(array.ravel() if array is not None else y)


def _column(values: Any) -> Floats:
    column = as_column(values)
    if isinstance(column, np.ndarray) and column.dtype.kind in "biuf":
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
