"""Ladders: public levels of one column, such as year, quarter, month and day, or bins that become finer and finer."""

from __future__ import annotations

import contextlib
import datetime as dt
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from lapwing import checks
from lapwing.calls import Helpful, also_called, helpful
from lapwing.checks import Number
from lapwing.curator.plan.expressions import NUMERIC, Column
from lapwing.curator.plan.groups import MOST_DATES, Key, binned, dated, doubles, edge_texts, key_for
from lapwing.curator.plan.hints import which_column
from lapwing.errors import InvalidParameter, UnsupportedQuery, can_be_shown

MOST_RUNGS = 1_000_000
"""Leaves of one ladder."""
_DATES: dict[str, Callable[[dt.date], Any]] = {
    "year": lambda day: f"{day:%Y}",
    "quarter": lambda day: f"{day:%Y}-Q{(day.month + 2) // 3}",
    "month": lambda day: f"{day:%Y-%m}",
    "week": lambda day: "{}-W{:02}".format(*day.isocalendar()[:2]),
    "day": lambda day: day.isoformat(),
}


@dataclass(frozen=True, kw_only=True)
class Ladder(metaclass=Helpful):
    """The levels of one column: their names, and the labels that lead to each of its public values.

    `lw.dates` and `lw.bins` make them.

    Args:
        column: The column.
        names: The names of the levels, from the top.
        edges: The ends of the bins of the last level; none where the column has `values`.
        paths: For each value or bin, its labels from the top level to the last.

    >>> lw.dates("flown", "2013-01-01", "2013-12-31", by=("month", "day")).names
    ('month', 'day')
    """

    column: str
    names: tuple[str, ...]
    values: tuple[Any, ...] = ()
    """Public values of the column; none where it has `edges`."""
    edges: tuple[Number, ...] = ()
    paths: tuple[tuple[Any, ...], ...]

    def key(self, columns: dict[str, Column]) -> Key:
        """What its rows are grouped by: the last level.

        Args:
            columns: The columns of the table, by name.

        Returns:
            The public key of the column.

        Raises:
            InvalidParameter: If the table has no such column.
            UnsupportedQuery: If the column holds no dates, or no numbers for bins.
        """
        if self.column not in columns:
            raise InvalidParameter("column", self.column, "is not a column", which_column(self.column, columns))
        column = columns[self.column]
        if self.edges:
            if column.kind not in NUMERIC:
                raise UnsupportedQuery(self.column, f"it is of kind {column.kind}", "Take a column of numbers.")
            return binned(self.names[-1], column, self.edges)
        if column.kind == "date":
            return key_for(self.names[-1], column, values=self.values)
        if len(self.values) >= MOST_DATES:
            why = f"it is of kind {column.kind}, which can have {MOST_DATES - 1:,} days at most"
            raise UnsupportedQuery(self.column, why, "Take fewer years, or a column of dates.")
        if self.values[-1] == dt.date.max:
            why = f"it is of kind {column.kind}, and no day comes after {dt.date.max}"
            raise UnsupportedQuery(self.column, why, "End a day earlier, or take a column of dates.")
        return dated(self.names[-1], column, [*self.values, self.values[-1] + dt.timedelta(days=1)], closed=False)


@also_called(levels="by", level="by", steps="by", every="by", keys="by")
def dates(
    column: str, start: Any, end: Any, *, by: str | Sequence[str] = ("year", "quarter", "month", "day")
) -> Ladder:
    """Levels of a column of dates or times: years, quarters, months, days.

    Args:
        column: A column of dates or times.
        start: The first day, "2025-01-01" or a date. It is public.
        end: The last day, included. It is public.
        by: The levels from the top: "year", "quarter", "month", "week", "day". The last one must be "day".

    Returns:
        A ladder for `hierarchy(…)`.

    Raises:
        InvalidParameter: If `end` is before `start`, or a level does not fit into the one above, as weeks in months.

    >>> dates("flown", "2013-01-01", "2013-12-31", by=("month", "day")).paths[0]
    ('2013-01', '2013-01-01')
    """
    first, last = day_of(start=start), day_of(end=end)
    days = (last - first).days + 1
    if not 1 <= days <= MOST_RUNGS:
        why = "must not be before the start" if days < 1 else f"is more than {MOST_RUNGS:,} days after the start"
        raise InvalidParameter("end", end, why, 'Write dates("day", "2025-01-01", "2025-12-31").')
    names = tuple(checks.one_of(tuple(_DATES), by=name) for name in ([by] if isinstance(by, str) else by))
    if not names or names[-1] != "day" or len(set(names)) < len(names):
        raise InvalidParameter("by", by, "must be different levels that end in day", 'Write by=("month", "day").')
    values = tuple(first + dt.timedelta(days=n) for n in range(days))
    paths = tuple(tuple(_DATES[name](day) for name in names) for day in values)
    for length in range(2, len(names) + 1):
        parents: dict[Any, Any] = {}
        for path in paths:
            if parents.setdefault(path[length - 1], path[length - 2]) != path[length - 2]:
                why = f"a {names[length - 1]} may be in two of {names[length - 2]}"
                raise InvalidParameter(
                    "by", by, why, 'Write by=("year", "quarter", "month", "day"), or ("week", "day").'
                )
    return Ladder(column=column, names=names, values=values, paths=paths)


@helpful
def bins(column: str, edges: Any, *, fan_out: int = 2) -> Ladder:
    """Levels of a column of numbers: public bins, and wider ones made of neighbours.

    Args:
        column: A column of numbers.
        edges: The ends of the finest bins, three or more, in rising order. They are public.
        fan_out: How many neighbours make one bin of the level above.

    Returns:
        A ladder for `hierarchy(…)`.

    Raises:
        InvalidParameter: If the edges do not rise.

    >>> bins("age", [0, 10, 20, 30, 40]).paths[3]
    ('20 – 40', '30 – 40')
    """
    wide = checks.whole(fan_out=fan_out, minimum=2)
    ends = tuple(_listed(edges))
    exact = checks.numbers(ends[: MOST_RUNGS + 1], edges=edges)
    if not 3 <= len(ends) <= MOST_RUNGS or any(not low < high for low, high in pairwise(exact)):
        first = ends[:4] if can_be_shown(edges) else edges
        raise InvalidParameter("edges", first, "must be three or more numbers that rise", "Write edges=[0, 10, 20].")
    count, widths = len(ends) - 1, [1]
    while widths[0] * wide < count:
        widths.insert(0, widths[0] * wide)
    numbers = doubles(ends)
    texts, steps = edge_texts(numbers), [high - low for low, high in pairwise(numbers)]
    even = all(math.isclose(step, steps[0], rel_tol=1e-6) for step in steps)

    def label(start: int, width: int) -> str:
        return f"{texts[start]} – {texts[min(start + width, count)]}"

    paths = tuple(tuple(label(i // width * width, width) for width in widths) for i in range(count))
    names = (*(_level_name(column, width, steps[0] if even else None) for width in widths[:-1]), column)
    return Ladder(column=column, names=names, edges=ends, paths=paths)


def _level_name(column: str, width: int, step: float | None) -> str:
    """What to call a level above the bins of a column: by how far its bins reach, if all bins are as wide."""
    return f"{column} in groups of {width:,} bins" if step is None else f"{column} in steps of {width * step:,.10g}"


def _listed(edges: Any) -> list[Any]:
    values = edges.tolist() if hasattr(edges, "tolist") else edges
    if isinstance(values, tuple | range):
        values = list(values)
    if not isinstance(values, list):
        raise InvalidParameter("edges", edges, "must be a list", "Write edges=[0, 10, 20].")
    return values


def day_of(**named: object) -> dt.date:
    """A date that somebody wrote."""
    [(name, value)] = named.items()
    day = as_day(value)
    if day is None:
        raise InvalidParameter(name, value, "is not a date", f'Write {name}="2025-01-31".')
    return day


def as_day(value: object) -> dt.date | None:
    """A date from a date, from its text, or from a time at midnight, as frames have it; otherwise None."""
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            return dt.date.fromisoformat(value)
    if isinstance(value, dt.datetime):
        return value.date() if value.time() == dt.time() and value.tzinfo is None else None
    return value if isinstance(value, dt.date) else None
