"""Uniqueness: how many people are the only ones with their values, for the released columns and their precision.

>>> table = {"sex": ["f", "f", "m"], "born": [1971, 1971, 1980]}
>>> uniqueness(table, ["sex", "born"]).unique
0.3333333333333333
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import checks
from lapwing.anonymity.table import Columns, classes_of, columns_of, named, some
from lapwing.errors import InvalidParameter

Coarser = int | str | Callable[[Any], Any]
DATES: Mapping[str, Callable[[date], Any]] = {
    "day": lambda day: day,
    "month": lambda day: f"{day.year:04d}-{day.month:02d}",
    "year": lambda day: day.year,
    "decade": lambda day: f"{day.year // 10:03d}*",
}
"""How exact a date is."""


@dataclass(frozen=True, slots=True, eq=False)
class Uniqueness:
    """The result of `uniqueness`: how many rows look alike in some columns.

    >>> result = uniqueness({"sex": ["f", "f", "m"], "born": [1971, 1971, 1980]}, ["sex", "born"])
    >>> print(result)
    In sex, born, 33.3% of 3 rows look like no other, and 100.0% like at most 4 others.
    >>> result.within(2), round(result.surprise, 3)
    (1.0, 0.918)
    """

    columns: tuple[str, ...]
    """The columns that were compared."""
    sizes: NDArray[np.intp]
    """How many rows look alike, one number for every class of such rows."""

    def __str__(self) -> str:
        seen = f"In {', '.join(self.columns)}, {self.unique:.1%} of {self.rows:,} rows look like no other"
        return f"{seen}, and {self.within(5):.1%} like at most 4 others."

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return int(self.sizes.sum())

    @property
    def unique(self) -> float:
        """The share of rows that look like no other."""
        return self.within(1)

    def within(self, size: int) -> float:
        """The share of rows that look like few others.

        Args:
            size: How many rows may look alike at most, the row itself included.

        Returns:
            A number from 0 to 1.

        Raises:
            InvalidParameter: If `size` is not a whole number of at least 1.
        """
        most = checks.whole(size=size)
        return float(self.sizes[self.sizes <= most].sum() / self.rows) if self.rows else 0.0

    @property
    def distribution(self) -> dict[int, float]:
        """For every size of a class of rows that look alike, the share of rows in classes of that size."""
        sizes, times = np.unique(self.sizes, return_counts=True)
        return {int(size): float(size * count / self.rows) for size, count in zip(sizes, times, strict=True)}

    @property
    def surprise(self) -> float:
        """The bits that the columns tell about a row on average: −Σ p·log₂ p over the classes."""
        shares = self.sizes / self.rows
        return float(-(shares * np.log2(shares)).sum()) + 0.0


def uniqueness(table: Any, on: str | Sequence[str]) -> Uniqueness:
    """Count how many rows of a table look alike in some of its columns.

    Args:
        table: Columns by name, rows as dicts, or a data frame.
        on: The column or columns to compare.

    Returns:
        The sizes of the classes of rows that look alike, and what follows from them.

    >>> uniqueness({"sex": ["f", "f", "m"], "born": [1971, 1980, 1980]}, ["sex", "born"]).unique
    1.0
    """
    columns = columns_of(table)
    names = some(columns, on=on)
    return Uniqueness(tuple(names), classes_of(columns, names).sizes)


def uniqueness_curve(table: Any, on: Sequence[str], *, strongest_first: bool = False) -> list[Uniqueness]:
    """Count how many rows look alike as columns are released one after another.

    Args:
        table: Columns by name, rows as dicts, or a data frame.
        on: The columns, in the order of their release.
        strongest_first: Whether to choose the order: next is always the column that tells most.

    Returns:
        One result for each column, with all columns up to it.

    >>> table = {"sex": ["f", "f", "m", "m"], "born": [1971, 1980, 1980, 1990]}
    >>> [(step.columns, step.unique) for step in uniqueness_curve(table, ["sex", "born"], strongest_first=True)]
    [(('born',), 0.5), (('born', 'sex'), 1.0)]
    """
    columns = columns_of(table)
    left, taken, curve = named(columns, on=on), list[str](), list[Uniqueness]()
    while left:
        some = left if strongest_first else left[:1]
        best = max((uniqueness(columns, [*taken, name]) for name in some), key=lambda candidate: candidate.surprise)
        curve.append(best)
        taken.append(best.columns[-1])
        left.remove(best.columns[-1])
    return curve


def coarsen(table: Any, **how: Coarser) -> Columns:
    """Make some columns of a table less exact. Missing values stay missing.

    Args:
        table: Columns by name, rows as dicts, or a data frame.
        how: For each column by its name how exact it stays: `"month"`, `"year"` or `"decade"` for dates, the number of
            leading characters for words, the width of a range for whole numbers, or any function of a value.

    Returns:
        All columns by name.

    Raises:
        InvalidParameter: If a column does not exist, or its values cannot be made coarser in this way.

    >>> from datetime import date
    >>> coarsen({"born": [date(1971, 10, 2)], "zip": ["02138"], "age": [53]}, born="year", zip=3, age=10)
    {'born': [1971], 'zip': ['021**'], 'age': ['50–59']}
    """
    columns = columns_of(table)
    changed: Columns = {}
    for name in named(columns, how=list(how)):
        column = columns[name]
        values = column.tolist() if isinstance(column, np.ndarray) else column
        known = {value: None if value is None else _coarser(name, value, how[name]) for value in set(values)}
        changed[name] = [known[value] for value in values]
    return {**columns, **changed}


def _coarser(name: str, value: Any, how: Coarser) -> Any:
    if callable(how):
        return how(value)
    if isinstance(value, date) and isinstance(how, str):
        return DATES[checks.one_of(tuple(DATES), **{name: how})](value)
    if isinstance(how, int) and isinstance(value, str):
        kept = checks.whole(minimum=0, **{name: how})
        return value[:kept] + "*" * (len(value) - kept)
    if isinstance(how, int) and isinstance(value, int):
        low = value // checks.whole(**{name: how}) * how
        return f"{low}–{low + how - 1}" if low >= 0 else f"{low} to {low + how - 1}"
    why = f"does not say how to make {value!r} coarser"
    raise InvalidParameter(name, how, why, "Write 'month' or 'year' for dates, a number for words and whole numbers.")
