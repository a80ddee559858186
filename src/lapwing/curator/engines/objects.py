"""Python objects as values of a declared kind, one by one, by rules that cannot fail.

Each gives what the engine reads from the same cell in a column that has a type (docs/curator.md has the table), and
text means what it means in a file. So it does not matter whether a column has a type, or is one of objects because of a
single cell.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

from lapwing.curator.plan.expressions import Kind
from lapwing.curator.plan.text_forms import PLAIN, Notation, meaning

LARGEST, LARGEST_WHOLE, LARGEST_EXACT = 10**18, 2**63 - 1, 2**53
LARGEST_EXPONENT, MOST_DECIMALS = 300, 16_383
"""Of a decimal number: those beyond would take long to write."""
_BLOCK = _REMEMBERED = 1 << 16


def column_of(cells: Iterable[Any], kind: Kind, notation: Notation) -> Any:
    """An array of the type that its kind has in this process; what is missing is masked, NaN, NaT or None."""
    import numpy as np

    read = _remembered(partial(_READ[kind], notation=notation))
    values = [read(cell) for cell in cells]
    if kind == "number":
        return np.array([math.nan if value is None else value for value in values], dtype=np.float64)
    if kind in ("integer", "boolean"):
        plain = np.array([value or 0 for value in values], dtype=np.int64 if kind == "integer" else np.bool_)
        return np.ma.MaskedArray(plain, [value is None for value in values])
    if kind in ("date", "timestamp"):  # a day as its midnight
        return np.array(values, dtype="datetime64[us]")
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _remembered(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same rule, which looks at a text only once: most columns of text have few different ones."""
    known: dict[str, Any] = {}

    def recalled(cell: Any) -> Any:
        if type(cell) is not str:
            return read(cell)
        if cell in known:
            return known[cell]
        value = read(cell)
        if len(known) < _REMEMBERED:
            known[cell] = value
        return value

    return recalled


def _total(read: Callable[[Any, Notation], Any]) -> Callable[..., Any]:
    """The same rule, by which whatever fails is missing: a class of somebody's may do anything."""

    def tried(cell: Any, notation: Notation) -> Any:
        try:
            return read(cell.item() if hasattr(cell, "dtype") else cell, notation)
        except Exception:
            return None

    return tried


@_total
def _number(cell: Any, notation: Notation) -> float | None:
    """A number as a double. One cell with an imaginary part makes complex numbers of a whole column."""
    if isinstance(cell, str):
        number: float | None = meaning(cell, "number", notation)
        return number
    if isinstance(cell, complex) and not cell.imag:
        return cell.real
    if isinstance(cell, int | float | Fraction | Decimal) and not isinstance(cell, bool):
        return float(cell)
    return None


@_total
def _whole(cell: Any, notation: Notation) -> int | None:
    """A whole number: of 64 bits, as in a database; of at most 18 digits in text; below 2^53 as a double.

    A number that was read from a database before, and waited, is read as it was then.
    """
    if isinstance(cell, str):
        whole: int | None = meaning(cell, "integer", notation)
        return whole
    if isinstance(cell, int) and not isinstance(cell, bool):
        return cell if -LARGEST_WHOLE - 1 <= cell <= LARGEST_WHOLE else None
    cell = cell.real if isinstance(cell, complex) and not cell.imag else cell
    if isinstance(cell, float):
        return int(cell) if cell.is_integer() and abs(cell) < LARGEST_EXACT else None
    if isinstance(cell, Fraction | Decimal):
        return int(cell) if cell == int(cell) and -LARGEST < cell < LARGEST else None
    return None


@_total
def _truth(cell: Any, notation: Notation) -> bool | None:
    """True or false, also as 1 or 0."""
    if isinstance(cell, str):
        truth: bool | None = meaning(cell, "boolean", notation)
        return truth
    if isinstance(cell, bool):
        return cell
    if isinstance(cell, int | float | complex | Decimal | Fraction):
        return True if cell == 1 else False if cell == 0 else None
    return None


@_total
def _moment(cell: Any, notation: Notation) -> dt.datetime | None:
    """A moment in UTC, as Python's own. What pandas has for a missing one is a moment by its class, but has no year."""
    if isinstance(cell, str):
        moment: dt.datetime | None = meaning(cell, "timestamp", notation)
        return moment
    if isinstance(cell, dt.datetime):
        at = cell if cell.tzinfo is None else cell.astimezone(dt.UTC)
        return dt.datetime(at.year, at.month, at.day, at.hour, at.minute, at.second, at.microsecond)
    return dt.datetime(cell.year, cell.month, cell.day) if isinstance(cell, dt.date) else None


@_total
def _day(cell: Any, notation: Notation) -> dt.date | None:
    """A day; of a moment, its day in UTC, but the day as it is written where it is text."""
    if isinstance(cell, str):
        day: dt.date | None = meaning(cell, "date", notation)
        return day
    moment = _moment(cell, notation)
    return None if moment is None else moment.date()


@_total
def _text(cell: Any, notation: Notation) -> str | None:
    """Text, or anything else as engines write it; nothing for a word that stands for no value."""
    text = _written(cell)
    known: str | None = None if text is None else meaning(text, "text", notation)
    return known


def texts(cells: Any) -> Any:
    """An array of objects as text or None, without a look at words for no value; itself, if all of it is text."""
    changed = None
    for start in range(0, len(cells), _BLOCK):
        part = cells[start : start + _BLOCK].tolist()
        try:
            "".join(part).encode()
        except (TypeError, UnicodeEncodeError):
            changed = cells.copy() if changed is None else changed
            changed[start : start + _BLOCK] = [_text(cell, PLAIN) for cell in part]
    return cells if changed is None else changed


def _written(cell: Any) -> str | None:
    """An object as text; what is missing, or has no text, is None."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType") or cell != cell:
        return None
    if isinstance(cell, bool):
        return "true" if cell else "false"
    cell = cell.real if isinstance(cell, complex) and not cell.imag else cell
    if isinstance(cell, float):
        return str(int(cell) if cell.is_integer() else cell) if abs(cell) < LARGEST_EXACT else None
    if isinstance(cell, Decimal):
        return _digits(cell)
    text = str(_moment(cell, PLAIN) if isinstance(cell, dt.datetime) else cell)
    text.encode()
    return text


def _digits(number: Decimal) -> str | None:
    """A decimal number as every engine writes it: all its digits, without zeros after the last decimal."""
    if not number:
        return "0"
    _, _, exponent = number.as_tuple()
    if not isinstance(exponent, int) or number.adjusted() >= LARGEST_EXPONENT or exponent < -MOST_DECIMALS:
        return None
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


_READ: dict[Kind, Callable[..., Any]] = {
    "number": _number,
    "integer": _whole,
    "boolean": _truth,
    "timestamp": _moment,
    "date": _day,
    "text": _text,
}
