"""Uniqueness: how many people are the only ones with their values, by the columns released and how exact they are.

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
    """How many rows look like so many others in some columns."""

    columns: tuple[str, ...]
    sizes: NDArray[np.intp]
    """How many rows look alike, one number for every class of such rows."""

    def __str__(self) -> str:
        seen = f"In {', '.join(self.columns)}, {self.unique:.1%} of {self.rows:,} rows look like no other"
        return f"{seen}, and {self.within(5):.1%} like 4 others at most."

    @property
    def rows(self) -> int:
        """All of them."""
        return int(self.sizes.sum())

    @property
    def unique(self) -> float:
        """The share of rows that look like no other."""
        return self.within(1)

    def within(self, size: int) -> float:
        """The share of rows in classes of at most so many rows."""
        most = checks.whole(size=size)
        return float(self.sizes[self.sizes <= most].sum() / self.rows) if self.rows else 0.0

    @property
    def distribution(self) -> dict[int, float]:
        """For every size of a class, the share of rows that are in one of it."""
        sizes, times = np.unique(self.sizes, return_counts=True)
        return {int(size): float(size * count / self.rows) for size, count in zip(sizes, times, strict=True)}

    @property
    def surprise(self) -> float:
        """The bits that the columns tell about a row on average: −Σ p·log₂ p over the classes."""
        shares = self.sizes / self.rows
        return float(-(shares * np.log2(shares)).sum()) + 0.0


def uniqueness(table: Any, on: str | Sequence[str]) -> Uniqueness:
    """How unique the rows of a table are, seen through some of its columns."""
    columns = columns_of(table)
    names = some(columns, on=on)
    return Uniqueness(tuple(names), classes_of(columns, names).sizes)


def uniqueness_curve(table: Any, on: Sequence[str], *, strongest_first: bool = False) -> list[Uniqueness]:
    """The same as columns are released one after another, in the order given or always the one that tells most next."""
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
    """The same table, some columns less exact.

    For dates "month", "year" or "decade"; for words a number of leading characters; for numbers the width of a range;
    or any function of a value. Missing values stay missing.

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
