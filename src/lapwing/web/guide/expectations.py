"""How accurate it will be: what is told about each question, and the people who are made up to try it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

SHARE = 0.3
"""Of the made-up people who say yes."""
RANGE = 100
"""Numbers lie between 0 and this."""
MADE_UP = 20_000
"""People who are made up at most; errors of more are scaled by the law that they follow."""
SHOWN = 6
"""Groups in a picture at most."""
Z = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True, slots=True)
class Bar:
    """One line of a picture: the exact answer, one private answer, and how far off it may be."""

    label: str
    exact: float
    private: float
    within: float


@dataclass(frozen=True, slots=True)
class Window:
    """The count of so many days of a running total: a difference of two totals."""

    days: int
    within: float
    """How far off the count of any so many days may be."""
    people: float
    """How many it counts in the smallest group, if everybody comes on one day, spread over all days."""
    most_people: float
    """The same, if everybody comes on as many days as count."""

    @property
    def error(self) -> float:
        """Relative to what it counts."""
        return self.within / self.people


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What to expect of one question. `error` is relative to what `relative_to` names."""

    mechanism: str
    sentence: str
    error: float
    relative_to: str
    runs: int = 0
    kept: int = 0
    """So many of the runs were within what was promised."""
    tried: str = ""
    """When and how it was tried, and what came out, in a sentence; nothing if the numbers say it all."""
    bars: tuple[Bar, ...] = ()
    most: float = 1.0
    """The end of the picture's axis, if no bar reaches further."""
    axis: str = ""
    windows: tuple[Window, ...] = ()
    """Of a running total: counts of one day, and of longer times."""

    @property
    def end(self) -> float:
        """The end of the picture's axis. Counts have no upper limit, so errors are drawn whole."""
        reach = max((max(bar.exact, bar.private + bar.within) for bar in self.bars), default=0.0)
        if self.axis not in ("people", "records") or reach <= self.most:
            return self.most
        step = 10.0 ** max(0, math.floor(math.log10(reach)) - 1)
        return math.ceil(reach / step) * step


def group_sizes(people: int, groups: int) -> np.ndarray[Any, Any]:
    """Made-up sizes, from one and a half times the average down to half of it."""
    count = min(groups, people, 100_000)
    shares = np.linspace(1.5, 0.5, count) if count > 1 else np.ones(1)
    sizes: np.ndarray[Any, Any] = np.maximum(1, np.round(shares / shares.sum() * people)).astype(np.int64)
    return sizes


def ages(count: int) -> np.ndarray[Any, Any]:
    """Made-up numbers between 0 and RANGE: a hill with its top at 40, the same each time."""
    places = (np.arange(count) + 0.5) / count
    low = np.sqrt(places * RANGE * 40)
    high = RANGE - np.sqrt((1 - places) * RANGE * 60)
    return np.where(places < 0.4, low, high)


def group_bars(sizes: Any, drawn: Any, within: float) -> tuple[Bar, ...]:
    """Some of the groups for a picture, the largest and the smallest among them."""
    places = np.unique(np.linspace(0, len(sizes) - 1, min(len(sizes), SHOWN)).round().astype(int))
    return tuple(Bar(f"group {place + 1:,}", float(sizes[place]), float(drawn[place]), within) for place in places)


def typical(draws: Sequence[float], exact: float) -> float:
    """One draw for a picture: half of them are as far off or farther. The first one might be the rarest.

    >>> typical([1033, 1190, 1201], 1200)
    1190
    """
    return sorted(draws, key=lambda value: abs(value - exact))[len(draws) // 2]


def people_in(number: float) -> str:
    """So many people, for a sentence.

    >>> people_in(1), people_in(2500), people_in(2.5)
    ('1 person', '2,500 people', '2.5 people')
    """
    return f"{_counted(number)} {'person' if number == 1 else 'people'}"


def counted_in(number: float, rows: int) -> str:
    """So many of what is counted: people, or records where each person may have several.

    >>> counted_in(300, 1), counted_in(300, 5)
    ('300 people', '300 records')
    """
    return people_in(number) if rows == 1 else f"{_counted(number)} record{'' if number == 1 else 's'}"


def one_record_each(rows: int) -> str:
    """What made-up counts rest on, where each person may have several records.

    >>> one_record_each(1), one_record_each(5)
    ('', ' The noise hides up to 5 records of each person. Each made-up person has only one.')
    """
    if rows == 1:
        return ""
    return f" The noise hides up to {rows} records of each person. Each made-up person has only one."


def _counted(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 or number == int(number) else f"{number:.1f}"


def share_of(share: float, whole: str) -> str:
    """A share in words.

    >>> share_of(0.0123, "all"), share_of(3, "all"), share_of(1e-9, "all")
    ('1.2 % of all', 'more than all', 'almost nothing of all')
    """
    if share > 1:
        return f"more than {whole}"
    if share < 1e-7:
        return f"almost nothing of {whole}"
    digits = max(0, 1 - math.floor(math.log10(100 * share)))
    return f"{100 * share:.{digits}f} % of {whole}"


def number(value: float) -> str:
    """Two digits are enough.

    >>> number(0.1234), number(48.7), number(0.0000059)
    ('0.12', '49', '0.0000059')
    """
    if value >= 10:
        return f"{value:,.0f}"
    digits = 1 - math.floor(math.log10(value)) if value > 0 else 0
    return f"{value:.{digits}f}"
