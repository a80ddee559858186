"""A distribution as an answer: shares below public edges, and what can be read from them for free."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from os import PathLike
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from lapwing import charts, checks
from lapwing.checks import Number
from lapwing.curator.plan.ladders import day_of
from lapwing.curator.show import digits, words
from lapwing.curator.show.answer import Answer, Span
from lapwing.errors import InvalidParameter

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COUNT, BELOW, SHARE = "count", "count_below", "share_below"
"""Columns of the answer: the rows of each bin, and all below its upper edge."""
_DOTS = 40
"""Edges that are drawn as points on the curve, between which nothing is known."""
Width = Callable[[int, int], float]
"""How far the count of so many neighbouring bins, from one to another, may be off."""


V = TypeVar("V", float, dt.date)


@dataclass(frozen=True, slots=True)
class Quantity(Generic[V]):
    """A number or a date read from a released distribution, and where the exact one lies.

    Attributes:
        value: The number or the date.
        low: The lower end of its interval.
        high: The upper end of its interval.
        confidence: The probability that all such intervals of one distribution hold.

    >>> ages = patients.agg(lw.cdf("age", edges=range(0, 101, 5))).release(epsilon=1)
    >>> median = ages.quantile(0.5)
    >>> 40 <= median.low <= median.value <= median.high <= 60
    True
    >>> median.confidence
    0.95
    """

    value: V
    low: V
    high: V
    confidence: float

    def __str__(self) -> str:
        if isinstance(self.value, dt.date):
            value, low, high = (str(part) for part in (self.value, self.low, self.high))
        else:
            value = digits.within(self.value, (self.low, self.high))
            low, high = digits.number(self.low), digits.number(self.high)
        return f"{value} ({digits.percent(self.confidence)} interval {low} to {high})"


@dataclass(frozen=True, slots=True, repr=False)
class Distribution(Answer):
    """How the values of a column are distributed: an answer with a row for each bin.

    Everything in it was paid for, so quantiles, ranges and shares that are read from it cost nothing more. The bands of
    `count_below` and `share_below` hold at all edges at once, and so do the intervals of all quantiles.

    Attributes:
        edges: The ends of the bins, in rising order.
        width: A function that says how far the count of neighbouring bins may be off.

    >>> ages = patients.agg(lw.cdf("age", edges=range(0, 101, 5))).release(epsilon=1)
    >>> median = ages.quantile(0.5)
    >>> 40 <= median.low <= median.value <= median.high <= 60
    True
    >>> 1800 < ages.between(20, 65).value < 2500, ages.below(20).value < 0.2
    (True, True)
    """

    edges: tuple[Any, ...] = ()
    """The ends of the bins: numbers, or dates."""
    width: Width | None = field(default=None, compare=False)

    @staticmethod
    def of(answer: Answer, edges: tuple[Any, ...], width: Width) -> Distribution:
        """The distribution that an answer holds.

        Args:
            answer: The answer, with the columns of a distribution.
            edges: The ends of the bins, in rising order.
            width: A function that says how far the count of neighbouring bins may be off.

        Returns:
            The same answer as a distribution.

        >>> ages = patients.agg(lw.cdf("age", edges=range(0, 101, 5))).release(epsilon=1)
        >>> lw.Distribution.of(ages, ages.edges, ages.width) == ages
        True
        """
        parts = {part.name: getattr(answer, part.name) for part in fields(Answer)}
        return Distribution(**parts, edges=edges, width=width)

    def quantile(self, q: Number) -> Quantity[Any]:
        """A value with about the share `q` of the values below it: a number, or a date. Its interval is made of edges.

        Args:
            q: The share, above 0 and below 1.

        Returns:
            The value, found as if values between two edges were spread evenly. The ends of its interval are edges. It
                covers the smallest value that at least the share `q` of the values does not exceed.

        Raises:
            InvalidParameter: If `q` is 0 or 1: the least and the greatest value belong to one unit.

        >>> ages = patients.agg(lw.cdf("age", edges=range(0, 101, 5))).release(epsilon=1)
        >>> 40 <= ages.quantile(0.5).low <= ages.quantile(0.5).high <= 60
        True
        """
        share = float(checks.share(q=q))
        if not 0 < share < 1:
            why = "asks for the least or the greatest value. It belongs to one unit, so noise hides it"
            raise InvalidParameter("q", q, why, "Write q=0.01, or q=0.99.")
        shares, spans = (0.0, *self.table[SHARE]), self._bands()
        place = next(i for i in range(1, len(shares)) if shares[i] >= share)
        rise = shares[place] - shares[place - 1]
        part = (share - shares[place - 1]) / rise if rise > 0 else 0.0
        value = _between(self.edges[place - 1], self.edges[place], part)
        below = [self.edges[i + 1] for i, (_, high) in enumerate(spans) if high < share]
        above = [self.edges[i + 1] for i, (low, _) in enumerate(spans) if low >= share]
        low, high = max(below, default=self.edges[0]), min(above, default=self.edges[-1])
        return Quantity(min(max(value, low), high), low, high, self.confidence)

    def between(self, low: Number | str | dt.date, high: Number | str | dt.date) -> Quantity[float]:
        """The number of rows from one edge up to another.

        Args:
            low: The lower edge.
            high: The upper edge.

        Returns:
            The number, with an interval for this range by itself.

        Raises:
            InvalidParameter: If one of them is not an edge, or `high` is not above `low`.

        >>> ages = patients.agg(lw.cdf("age", edges=range(0, 101, 5))).release(epsilon=1)
        >>> 1800 < ages.between(20, 65).value < 2500
        True
        """
        first, last = self._place("low", low), self._place("high", high)
        if not first < last:
            hint = f"Write between({_written(self.edges[0])}, {_written(self.edges[-1])})."
            raise InvalidParameter("high", high, "must lie above the other edge", hint)
        assert self.width is not None
        near = math.fsum(self.table[COUNT][first:last])
        width = self.width(first, last)
        return Quantity(max(near, 0.0), max(near - width, 0.0), max(near + width, 0.0), self.confidence)

    def below(self, edge: Number | str | dt.date) -> Quantity[float]:
        """The share of the values below an edge.

        Args:
            edge: One of the edges.

        Returns:
            The share, from 0 to 1, with its interval.

        Raises:
            InvalidParameter: If it is not an edge.

        >>> ages = patients.agg(lw.cdf("age", edges=range(0, 101, 5))).release(epsilon=1)
        >>> ages.below(20).value < 0.2
        True
        """
        place = self._place("edge", edge)
        if place == 0:
            return Quantity(0.0, 0.0, 0.0, self.confidence)
        low, high = self._bands()[place - 1]
        return Quantity(self.table[SHARE][place - 1], low, high, self.confidence)

    def _place(self, name: str, value: Number | str | dt.date) -> int:
        dates = isinstance(self.edges[0], dt.date)
        wanted: Any = day_of(**{name: value}) if dates else float(checks.exact(**{name: value}))
        if wanted not in self.edges:
            near = min(self.edges, key=lambda edge: abs(edge - wanted))
            why = "is not an edge, and the distribution between edges is not known"
            raise InvalidParameter(name, value, why, f"The nearest edge is {_written(near)}.")
        return self.edges.index(wanted)

    def _bands(self) -> list[Span]:
        """Where the exact share below each upper edge lies; that of the last one is known."""
        column = self.table.column(SHARE)
        return [span or (value, value) for value, span in zip(column.values, column.noise or (), strict=True)]

    def plot(self, path: str | PathLike[str] | None = None, column: str | None = None) -> Figure:
        """Draw the share below each edge with its band.

        Args:
            path: The file to draw into. None means that the figure is only returned.
            column: Another column to draw, as every answer does. None means the shares.

        Returns:
            The figure.

        >>> import tempfile
        >>> ages = patients.agg(lw.cdf("age", edges=range(0, 101, 5))).release(epsilon=1)
        >>> figure = ages.plot(tempfile.mkdtemp() + "/ages.png")
        """
        if column not in (None, SHARE):
            return Answer.plot(self, path, column)
        figure, [axes] = charts.figure(size=(7.5, 3.8), interactive=path is None)
        spans, edges = self._bands(), list(self.edges)
        lows, highs = [0.0, *(low for low, _ in spans)], [0.0, *(high for _, high in spans)]
        axes.fill_between(edges, lows, highs, color=charts.NOISE, alpha=0.35, lw=0)
        dots = "o" if len(edges) <= _DOTS else ""
        axes.plot(edges, [0.0, *self.table[SHARE]], color=charts.PRIVATE, lw=1.6, marker=dots, ms=3.5)
        median = self._median(axes)
        if isinstance(edges[0], dt.date):
            charts.dates(axes.xaxis)
            charts.written_ticks(axes.yaxis, charts.percent)
        else:
            charts.numbers(axes, y="percent")
        axes.set_ylim(0, 1)
        axes.set_xlim(edges[0], edges[-1])
        key = charts.cut(digits.visible(self.columns[0].name))
        charts.name_axes(axes, f"How {key} is distributed", key, "share of the rows below")
        band = f"orange: {digits.percent(self.confidence)} band, for all edges at once"
        charts.caption(figure, f"{words.cost(self.loss)} · {band} · black: {median}")
        if path is not None:
            charts.save(figure, path, dpi=200)
        return figure

    def _median(self, axes: Axes) -> str:
        """Where half of the values lie below, with its interval, and the same in words."""
        median = self.quantile(0.5)
        axes.hlines(0.5, median.low, median.high, color=charts.INK, lw=1.2)
        axes.plot([median.value], [0.5], "o", color=charts.INK, ms=5, zorder=3)
        return f"median {median}"


def _between(low: Any, high: Any, part: float) -> Any:
    """So far on the way from one edge to the next; a date is a whole one."""
    if isinstance(low, dt.date):
        return low + dt.timedelta(days=math.floor(part * (high - low).days))
    return low + part * (high - low)


def _written(edge: Any) -> str:
    return f'"{edge}"' if isinstance(edge, dt.date) else f"{edge:g}"
