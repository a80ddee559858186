"""Aggregates that make their own rows, and are asked alone: bins, and the most frequent keys."""

from __future__ import annotations

import datetime as dt
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from numbers import Integral
from typing import Any, ClassVar

from lapwing import checks
from lapwing.calls import helpful
from lapwing.checks import Number
from lapwing.curator.aggregates.base import Aggregate, Bound, QueryFacts
from lapwing.curator.aggregates.counts import Count, Units
from lapwing.curator.plan.expressions import KINDS, Column, Expression
from lapwing.curator.plan.groups import Grouping, binned, dated, key_for
from lapwing.curator.plan.ladders import as_day
from lapwing.curator.plan.parser import expression
from lapwing.errors import InvalidParameter, UnsupportedQuery, can_be_shown, withheld

MOST_STEPS = 100
"""Bins of a distribution for which nobody named edges."""


@dataclass(frozen=True, slots=True)
class Arrangement:
    """What is asked instead: of which groups, and how many of those with the largest values are shown."""

    grouping: Grouping
    aggregate: Aggregate
    shown: int | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Alone(Aggregate):
    """An aggregate that makes rows of its own."""

    whole = True

    @abstractmethod
    def arrange(self, grouping: Grouping, columns: Mapping[str, Column]) -> Arrangement:
        """What is asked instead."""

    def bind(self, shared: QueryFacts) -> Bound:
        why = "it makes its own rows"
        raise UnsupportedQuery(str(self), why, "Ask it in a query of its own.")

    def _column(self, columns: Mapping[str, Column]) -> tuple[str, Expression]:
        [name] = (str(text) for text in self.of)
        return name, expression(name, columns, name="column")


@dataclass(frozen=True, kw_only=True, repr=False)
class Histogram(Alone):
    """The rows between each edge and the next (the last bin has both its ends)."""

    edges: tuple[Any, ...]

    kind = "histogram"
    called = "count"
    says = "the number of rows in each bin"
    counts = adds_up = counts_rows = True
    options: ClassVar[tuple[str, ...] | None] = None

    def __post_init__(self) -> None:
        Aggregate.__post_init__(self)
        object.__setattr__(self, "edges", rising_edges(self.edges))

    @property
    def of_dates(self) -> bool:
        """Whether its edges are dates."""
        return isinstance(self.edges[0], dt.date)

    def arrange(self, grouping: Grouping, columns: Mapping[str, Column]) -> Arrangement:
        """A count with the bins as one more key."""
        name, value = self._column(columns)
        bins = dated if self.of_dates else binned
        return Arrangement(Grouping((*grouping.keys, bins(name, value, self.edges))), Count(name=self.output))


@dataclass(frozen=True, kw_only=True, repr=False)
class Cdf(Histogram):
    """How a column is distributed: the rows below each edge, and their share."""

    kind = "cdf"
    says = "how the values are distributed"
    options = ("edges",)

    def __post_init__(self) -> None:
        if not self.edges:  # those of the bounds of the column, once the table is known
            return Aggregate.__post_init__(self)
        Histogram.__post_init__(self)
        if len(self.edges) < 3:
            raise InvalidParameter("edges", self.edges, "must make two bins at least", "Write edges=range(0, 101, 5).")

    def within(self, columns: Mapping[str, Column]) -> Cdf:
        """With edges: without any, every whole number between the bounds of the column, or so many equal steps."""
        if self.edges:
            return self
        name, value = self._column(columns)
        bounds = value.bounds if isinstance(value, Column) else None
        if bounds is None:
            why = f"are missing, and {name} has no bounds to take their place"
            raise InvalidParameter("edges", None, why, f"Write lw.cdf({name!r}, edges=range(0, 101, 5)).")
        low, high = bounds
        steps = MOST_STEPS
        if isinstance(value, Column) and value.kind == "integer" and 2 <= high - low <= MOST_STEPS:
            steps = int(high - low)
        exact = [low + (high - low) * Fraction(place, steps) for place in range(steps + 1)]
        return replace(self, edges=tuple(int(edge) if edge.denominator == 1 else float(edge) for edge in exact))

    def saved_options(self) -> dict[str, Any]:
        return {"edges": [edge.isoformat() if self.of_dates else edge for edge in self.edges]}

    @classmethod
    def reread(cls, *of: str | Expression, **options: Any) -> Aggregate:
        return cdf(*of, **options)  # type: ignore[arg-type]

    def parts(self) -> list[str]:
        """The column and the bins."""
        if not self.edges:
            return [*Aggregate.parts(self), "bins between its bounds"]
        return [*Aggregate.parts(self), f"{len(self.edges) - 1} bins from {self.edges[0]} to {self.edges[-1]}"]

    def arrange(self, grouping: Grouping, columns: Mapping[str, Column]) -> Arrangement:
        """The histogram of its bins."""
        if grouping.keys:
            raise UnsupportedQuery(str(self), "it is for all rows together", "Filter with where() instead.")
        return Histogram.arrange(self, grouping, columns)


@dataclass(frozen=True, kw_only=True, repr=False)
class TopK(Alone):
    """The keys of a column that most units have, best first."""

    most: int

    kind = "top"
    called = "rank"
    says = "1 is the key with the most {unit}s"
    takes = KINDS
    options = ("k", "name")

    def __post_init__(self) -> None:
        Aggregate.__post_init__(self)
        checks.whole(k=self.most)

    def arrange(self, grouping: Grouping, columns: Mapping[str, Column]) -> Arrangement:
        """Of public keys, itself. Of secret ones those that may be shown, by their noisy numbers of units, which
        were paid for anyway."""
        name, value = self._column(columns)
        key = key_for(name, value)
        if grouping.keys:
            raise UnsupportedQuery(str(self), "it is for all rows together", "Filter with where() instead.")
        candidates = Grouping((key,))
        if candidates.secret:
            return Arrangement(candidates, Units(name=self.name), self.most)
        return Arrangement(candidates, self)

    def parts(self) -> list[str]:
        """The column and how many keys."""
        return [*Aggregate.parts(self), str(self.most)]

    def saved_options(self) -> dict[str, Any]:
        return {"k": self.most}

    @classmethod
    def reread(cls, *of: str | Expression, **options: Any) -> Aggregate:
        return top_k(*of, **options)  # type: ignore[arg-type]


def rising_edges(edges: Any) -> tuple[Any, ...]:
    """Ends of bins in rising order: whole numbers and doubles, or dates, which may be given as text."""
    given = edges.tolist() if hasattr(edges, "tolist") else edges
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InvalidParameter("edges", edges, "must be a list", _EDGES)
    ends = list(given)
    if any(isinstance(end, str | dt.date) for end in ends):
        days = [as_day(end) for end in ends]
        with withheld("has an entry that is not a date, and another edge is", _EDGES, edges=edges):
            for end, day in zip(ends, days, strict=True):
                if day is None:
                    raise InvalidParameter("edges", end, "is not a date, and another edge is", _EDGES)
        ends, rises = days, all(a < b for a, b in pairwise(days))  # type: ignore[operator]
    else:
        rises = all(a < b for a, b in pairwise(checks.numbers(ends, edges=edges)))
        ends = [int(end) if isinstance(end, Integral) else float(end) for end in ends]
    if len(ends) < 2 or not rises:
        first = list(map(str, ends[:4])) if can_be_shown(edges) else edges
        raise InvalidParameter("edges", first, "must be at least two numbers or dates that rise", _EDGES)
    return tuple(ends)


_EDGES = 'Write edges=[0, 10, 20], or edges=["2025-01-01", "2025-02-01"] for dates.'


@helpful
def histogram(column: str, *, edges: Sequence[Number] | Sequence[str | dt.date], name: str | None = None) -> Histogram:
    """The rows between each edge and the next (the last bin has both its ends); asked alone, one row for each bin.

    Args:
        column: The name of a column.
        edges: Public ends of the bins, in rising order: numbers, or dates for a column of dates.
        name: What the column of the answer is called.

    Returns:
        An aggregate for `agg(…)`. Nothing is asked yet.

    >>> len(patients.agg(lw.histogram("age", edges=[0, 20, 40, 60, 80, 100])).release(epsilon=1).table)
    5
    """
    return Histogram(of=(column,), edges=edges, name=name)  # type: ignore[arg-type]


@helpful
def cdf(column: str, *, edges: Sequence[Number] | Sequence[str | dt.date] | None = None) -> Cdf:
    """How a column is distributed over the bins between these edges; asked alone.

    The answer says how many rows lie between the first edge and each edge, and which share of those up to the last;
    it never falls, and its band holds at all edges at once. Quantiles and ranges are read from it for free:
    `answer.quantile(0.5)`, `answer.between(18, 65)`.

    Args:
        column: The name of a column of numbers or dates.
        edges: Public ends of the bins, three or more, in rising order: numbers, or dates for a column of dates. Values
            outside are left out. Without any, the bins lie between the bounds of the column: one for each whole number,
            or 100 of one width.

    Returns:
        An aggregate for `agg(…)`. Nothing is asked yet.

    Raises:
        InvalidParameter: If the edges do not rise, or make fewer than two bins.

    >>> ages = patients.agg(lw.cdf("age")).release(epsilon=1)
    >>> 40 <= ages.quantile(0.5).value <= 60
    True
    """
    return Cdf(of=(column,), edges=() if edges is None else rising_edges(edges))


@helpful
def top_k(column: str, k: int, *, name: str | None = None) -> TopK:
    """The k keys of a column that most units have, best first; asked alone.

    Of public keys, without their counts. Which keys occur is a secret where they are not public: then it takes a
    delta, rare keys are left out, and noisy numbers of units come with the others.

    Args:
        column: The name of a column.
        k: How many keys.
        name: What the column of the answer is called.

    Returns:
        An aggregate for `agg(…)`. Nothing is asked yet.

    Raises:
        InvalidParameter: If `k` is not a whole number of at least 1.

    >>> len(patients.agg(lw.top_k("region", 2)).release(epsilon=1).table)
    2
    """
    return TopK(of=(column,), most=checks.whole(k=k), name=name)
