"""Tables as the older methods see them: columns by name, and the classes of rows that look alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import InvalidParameter

Column = Sequence[Any] | NDArray[Any]
Columns = dict[str, Column]
"""Columns of equal length by name; a column is a list, a tuple or a numpy array."""
_HINT = "Pass columns by name, {'age': [34, 51], 'zip': ['02138', '02139']}, a list of rows as dicts, or a data frame."


def columns_of(table: Any) -> Columns:
    """Columns by name, from a mapping, rows as dicts, a frame of pandas or polars, an Arrow or a generalised table.

    >>> columns_of([{"age": 34, "zip": "02138"}, {"age": 51, "zip": "02139"}])
    {'age': [34, 51], 'zip': ['02138', '02139']}
    """
    columns: Columns
    if isinstance(table, Mapping):
        columns = {str(name): _values(values) for name, values in table.items()}
    elif isinstance(getattr(table, "columns", None), Mapping):  # what Mondrian and FullDomain give
        columns = dict(table.columns)
    elif hasattr(table, "column_names") and hasattr(table, "to_pydict"):  # an Arrow table
        columns = dict(table.to_pydict())
    elif hasattr(table, "columns") and hasattr(table, "__getitem__"):  # a frame of pandas or polars
        columns = {str(name): table[name].to_numpy() for name in table.columns}
    elif isinstance(table, Sequence) and all(isinstance(row, Mapping) for row in table):
        names = list(dict.fromkeys(name for row in table for name in row))
        columns = {str(name): [row.get(name) for row in table] for name in names}
    else:
        raise InvalidParameter("table", type(table).__name__, "is not a table", _HINT)
    if len({len(values) for values in columns.values()}) > 1:
        raise InvalidParameter("table", sorted(columns), "its columns differ in length", "Pass one value per row.")
    return columns


def named(columns: Columns, **wanted: str | Sequence[str]) -> list[str]:
    """The names asked for, checked to be columns; the keyword says which parameter they came from."""
    ((parameter, given),) = wanted.items()
    names = [given] if isinstance(given, str) else list(given)
    for name in names:
        if name not in columns:
            raise InvalidParameter(parameter, name, "is not a column", f"The columns are {', '.join(columns)}.")
    return names


def some(columns: Columns, **wanted: str | Sequence[str]) -> list[str]:
    """The same, at least one."""
    names, [parameter] = named(columns, **wanted), wanted
    if not names:
        example = list(columns)[:2]
        raise InvalidParameter(
            parameter, [], "must name at least one column", f"Write {parameter}={example}, for example."
        )
    return names


def comparable(released: Columns, known: Columns, names: Sequence[str]) -> None:
    """Refuse a column of numbers in one table that is words in the other: nothing would match, and all seem safe."""
    for name in names:
        if {_of_one_kind(columns[name]) for columns in (released, known)} == {"numbers", "text"}:
            why = "holds numbers in one table and text in the other, so nothing can be equal"
            raise InvalidParameter("on", name, why, "Read it as text in both; 02138 is not the number 2138.")


def _of_one_kind(values: Column) -> str:
    if isinstance(values, np.ndarray) and values.dtype.kind in "iuf":
        return "numbers"
    present = [value for value in values if not is_missing(value)]
    for kind, types in (("numbers", (int, float, np.number)), ("text", (str,))):
        if present and all(isinstance(value, types) for value in present):
            return kind
    return "something else"


def _values(values: Any) -> Column:
    if isinstance(values, (list, tuple, np.ndarray)):
        return values
    return np.asarray(values.to_numpy()) if hasattr(values, "to_numpy") else list(values)


def rows_of(columns: Columns) -> int:
    """The number of rows."""
    return len(next(iter(columns.values()))) if columns else 0


def encoded(values: Column) -> tuple[NDArray[np.intp], list[Any]]:
    """Every value as its place in the list of distinct values, which is sorted wherever values can be compared.

    Missing values (None, NaN) are one kind, None, which comes last.

    >>> codes, kinds = encoded(["b", None, "a", "b"])
    >>> codes.tolist(), kinds
    ([1, 2, 0, 1], ['a', 'b', None])
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        distinct, codes = np.unique(values, return_inverse=True)
        kinds = distinct.tolist()
        return codes.ravel().astype(np.intp), [*kinds[:-1], None] if kinds and is_missing(kinds[-1]) else kinds
    if isinstance(values, np.ndarray) and values.dtype.kind == "M":
        values = values.astype("datetime64[us]")  # finer ones would become bare integers
    plain = values.tolist() if isinstance(values, np.ndarray) else values
    places: dict[Any, int] = {}
    try:
        first = np.fromiter((places.setdefault(value, len(places)) for value in plain), np.intp, len(plain))
    except TypeError as error:
        why = "a column holds lists or the like, which cannot be told apart"
        raise InvalidParameter("table", "<a column>", why, "Write one number or word in each cell.") from error
    present = [kind for kind in places if not is_missing(kind)]
    try:
        kinds = sorted(present)
    except TypeError:  # different types side by side
        kinds = sorted(present, key=lambda kind: (type(kind).__name__, str(kind)))
    rank = np.full(len(places), len(kinds), np.intp)
    rank[[places[kind] for kind in kinds]] = np.arange(len(kinds))
    return rank[first], kinds + [None] * (len(present) < len(places))


def is_missing(value: Any) -> bool:
    """None, NaN, or what pandas writes for a value that is not there."""
    number = isinstance(value, (float, np.floating, Decimal))
    return value is None or type(value).__name__ in ("NAType", "NaTType") or (number and bool(value != value))


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """Rows that look alike: to which class each row belongs, and how large each class is."""

    member: NDArray[np.intp]
    sizes: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def smallest(self) -> int:
        """The k of k-anonymity; 0 for a table without rows."""
        return int(self.sizes.min()) if len(self.sizes) else 0

    def counts(self, codes: NDArray[np.intp], kinds: int) -> NDArray[np.intp]:
        """How often each kind of value occurs in each class: one row per class."""
        flat = np.bincount(self.member * kinds + codes, minlength=len(self) * kinds)
        return flat.reshape(len(self), kinds)


def classes_of(columns: Columns, quasi_identifiers: Sequence[str]) -> Classes:
    """The equivalence classes: rows that agree in all quasi-identifiers."""
    return classes_by([encoded(columns[name])[0] for name in quasi_identifiers], rows_of(columns))


def classes_by(codes: Sequence[NDArray[np.intp]], rows: int) -> Classes:
    """The classes of rows that agree in every column of codes."""
    member = np.zeros(rows, np.intp)
    for column in codes:
        spread = member * (int(column.max(initial=0)) + 1) + column
        member = np.unique(spread, return_inverse=True)[1].ravel()
    return Classes(member, np.bincount(member))
