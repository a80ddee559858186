"""The rows of a step, in whatever form somebody brings them, as a table that the question can be asked of.

They are read by the declarations of the table that was opened, cell by cell, as in any question: which columns there
are and of which types is public, and nothing else about them can be a reason to refuse them.
"""

from __future__ import annotations

import datetime as dt
import math
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from lapwing.calls import closest
from lapwing.curator.engines.cells import text_of, texts
from lapwing.curator.engines.containment import contained
from lapwing.curator.plan.declarations import is_readable
from lapwing.curator.plan.expressions import NUMERIC, Column
from lapwing.curator.plan.nodes import Scan
from lapwing.curator.plan.text_forms import MOMENT, NUMBER, WHOLE, Notation
from lapwing.errors import InvalidParameter

if TYPE_CHECKING:
    from lapwing.curator.engines.engine import Source

Find = Callable[..., "Source"]
"""How a file, a frame or a database becomes a source: `tables.sources.find_source`."""
Cells = Mapping[str, Any]
"""One row by the names of its columns."""
_PLAIN_NUMBER, _PLAIN_WHOLE, _PLAIN_MOMENT = map(re.compile, (NUMBER, WHOLE, MOMENT))
LARGEST, LARGEST_WHOLE, LARGEST_EXACT = 10**18, 2**63 - 1, 2**53
LARGEST_EXPONENT, MOST_DECIMALS = 300, 16_383
"""Of a decimal number: those beyond would take long to write."""
_HINT = "Pass what lw.open takes, or a list of dictionaries."


def source_of(rows: Any, scan: Scan, notation: Notation, find: Find, **options: Any) -> Source | None:
    """The table that rows are, with every column that the stream reads; None if there are none."""
    if rows is None:
        return None
    if hasattr(rows, "fetchall") and "table" not in options:
        rows = _fetched(rows, scan)
    if isinstance(rows, list | tuple):
        return find(_arrays(rows, scan.fields), table=scan.table) if rows else None
    origin = find(
        _in_one_form(rows), **{"table": scan.table if _is_frame(rows) else None, "notation": notation} | options
    )
    return _declared(origin, scan)


def _is_frame(rows: Any) -> bool:
    return not isinstance(rows, str | os.PathLike)


def _declared(origin: Source, scan: Scan) -> Source:
    """The source, if its columns can be read as what they were declared to be. Their types alone decide that."""
    _must_be_there(origin.kinds, scan)
    for name, kind in ((field.name, field.kind) for field in scan.fields):
        if name in origin.opaque:
            why = f"{name} is of a type whose cells are not checked, so that one of them could stop the engine"
            raise InvalidParameter("rows", name, why, "Convert the column in the source.")
        native = origin.kinds[name]
        is_nothing = origin.engine.dialect.is_nothing(origin.relation.types[name])
        if not (is_nothing or is_readable(kind, native) or native in _ANY_KIND or (kind, native) in _MOMENTS):
            why = f"has the type {origin.relation.types[name]}, and the table was opened with a column of kind {kind}"
            raise InvalidParameter("rows", name, why, "Convert the column, for example: frame[…].astype(…).")
    return origin


_MOMENTS = (("date", "timestamp"), ("timestamp", "date"))
"""Kinds that stand for one another in the rows of a step: the day of a moment, or midnight.

"""
_ANY_KIND = (*NUMERIC, "boolean")
"""Kinds that are read as any other, cell by cell.

Frames of pandas have doubles for whole numbers of which one is missing, and for a column of any kind of which all are;
they have objects for truth values of which one is missing. Refusing such a step, or the others, would tell that.
"""


def _in_one_form(rows: Any) -> Any:
    """Python objects of a frame or of arrays as text, by the rule of single rows; everything else as it is.

    One word in a column of numbers makes objects of all of them. Then 17.0 must still be the person that it is where
    nobody wrote a word.
    """
    if type(rows).__name__ == "DataFrame" and type(rows).__module__.partition(".")[0] == "pandas":
        import pandas as pd  # type: ignore[import-untyped]

        frame = rows.copy(deep=False)
        for place in range(rows.shape[1]):
            column = rows.iloc[:, place]
            words = column.cat.categories if isinstance(column.dtype, pd.CategoricalDtype) else column
            if _is_objects(words):
                frame.isetitem(place, texts(column.to_numpy(dtype=object), _text))
        return frame
    if isinstance(rows, dict):
        return {name: texts(column, _text) if _is_objects(column) else column for name, column in rows.items()}
    return rows


def _is_objects(column: Any) -> bool:
    return str(getattr(column, "dtype", "")) == "object"


def _must_be_there(names: Collection[str], scan: Scan) -> None:
    for field in scan.fields:
        if field.name not in names:
            meant = closest(field.name, names)
            hint = f"Did you mean {meant!r}?" if meant else f"There are: {', '.join(names)}."
            raise InvalidParameter("rows", field.name, "is missing, and the stream reads this column", hint)


def _fetched(cursor: Any, scan: Scan) -> list[dict[str, Any]]:
    """The result of a query: a relation of DuckDB, or a cursor of any database that was asked."""
    names = getattr(cursor, "columns", None)
    if names is None:
        names = [column[0] for column in getattr(cursor, "description", None) or ()]
    if not names:
        raise InvalidParameter("rows", type(cursor), "is not the result of a query", _HINT)
    _must_be_there(names, scan)
    rows = contained("the database", cursor.fetchall)  # whatever it says may be about a record
    return [dict(zip(names, row, strict=True)) for row in rows]


def _arrays(rows: Sequence[Any], fields: Sequence[Column]) -> dict[str, Any]:
    """A list of dictionaries as columns, by one rule for each cell: what is no dictionary, or not there, is missing."""
    import numpy as np

    columns: dict[str, Any] = {}
    for field in fields:
        cells = [_cell(row, field.name) for row in rows]
        values = [_CELLS.get(field.kind, _text)(cell) for cell in cells]
        if field.kind == "number":
            columns[field.name] = np.array([math.nan if value is None else value for value in values], dtype=np.float64)
        elif field.kind == "integer":
            missing = [value is None for value in values]
            whole = np.array([0 if value is None else value for value in values], dtype=np.int64)
            columns[field.name] = np.ma.MaskedArray(whole, missing)
        elif field.kind == "timestamp":
            columns[field.name] = np.array(values, dtype="datetime64[us]")
        else:
            columns[field.name] = np.empty(len(values), dtype=object)
            columns[field.name][:] = values
    return columns


def _cell(row: Any, name: str) -> Any:
    """What a row has in a column; a mapping of somebody's may do anything, too."""
    try:
        return row.get(name) if isinstance(row, Mapping) else None
    except Exception:
        return None


def _total(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same rule, by which whatever fails is missing: a class of somebody's may do anything."""

    def tried(cell: Any) -> Any:
        try:
            return read(cell.item() if hasattr(cell, "dtype") else cell)
        except Exception:
            return None

    return tried


@_total
def _number(cell: Any) -> float | None:
    """A number as a double; text only if it is plainly one."""
    if isinstance(cell, str):
        return float(cell) if _PLAIN_NUMBER.fullmatch(cell.strip(" ")) else None
    if isinstance(cell, int | float | Fraction | Decimal) and not isinstance(cell, bool):
        return float(cell)
    return None


@_total
def _whole(cell: Any) -> int | None:
    """A whole number: of 64 bits, as in a database; of at most 18 digits in text; below 2^53 as a double.

    A number that was read from a database before, and waited, is read as it was then.
    """
    if isinstance(cell, int) and not isinstance(cell, bool):
        return cell if -LARGEST_WHOLE - 1 <= cell <= LARGEST_WHOLE else None
    value: int | None = None
    if isinstance(cell, str):
        value = int(cell.strip(" ").removesuffix(".0")) if _PLAIN_WHOLE.fullmatch(cell.strip(" ")) else None
    elif isinstance(cell, float):
        return int(cell) if cell.is_integer() and abs(cell) < LARGEST_EXACT else None
    elif isinstance(cell, Fraction | Decimal) and cell == int(cell):
        value = int(cell)
    return value if value is not None and abs(value) < LARGEST else None


@_total
def _moment(cell: Any) -> dt.datetime | None:
    """A moment in UTC, as Python's own. What pandas has for a missing one is a moment by its class, but has no year."""
    if isinstance(cell, str):
        cell = dt.datetime.fromisoformat(cell.strip(" ")) if _PLAIN_MOMENT.fullmatch(cell.strip(" ")) else None
    if isinstance(cell, dt.datetime):
        at = cell if cell.tzinfo is None else cell.astimezone(dt.UTC)
        return dt.datetime(at.year, at.month, at.day, at.hour, at.minute, at.second, at.microsecond)
    return dt.datetime(cell.year, cell.month, cell.day) if isinstance(cell, dt.date) else None


@_total
def _text(cell: Any) -> str | None:
    """Anything else as text, which the declarations are then read from."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return str(int(cell) if cell.is_integer() else cell) if abs(cell) < LARGEST_EXACT else None
    if isinstance(cell, Decimal):
        return _digits(cell)
    return cell.isoformat() if isinstance(cell, dt.date) and cell == cell else text_of(cell)


def _digits(number: Decimal) -> str | None:
    """A decimal number as every engine writes it: all its digits, without zeros after the last decimal."""
    if not number:
        return "0"
    _, _, exponent = number.as_tuple()
    if not isinstance(exponent, int) or number.adjusted() >= LARGEST_EXPONENT or exponent < -MOST_DECIMALS:
        return None
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


@_total
def _day(cell: Any) -> str | None:
    """A day as text."""
    return cell.date().isoformat() if isinstance(cell, dt.datetime) else _text(cell)


_CELLS = {"number": _number, "integer": _whole, "timestamp": _moment, "date": _day}
