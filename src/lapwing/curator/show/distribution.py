"""A distribution as an answer: shares below public edges, and what can be read from them for free."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from os import PathLike
from typing import TYPE_CHECKING

from lapwing import charts, checks
from lapwing.checks import Number
from lapwing.curator.show import digits, words
from lapwing.curator.show.answer import Answer, Span
from lapwing.errors import InvalidParameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COUNT, BELOW, SHARE = "count", "count_below", "share_below"
"""Columns of the answer: the rows of each bin, and all below its upper edge."""
Width = Callable[[int, int], float]
"""How far the count of so many neighbouring bins, from one to another, may be off."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number read from a released distribution, and where the exact one lies."""

    value: float
    low: float
    high: float
    confidence: float

    def __str__(self) -> str:
        ends = f"{digits.number(self.low)} to {digits.number(self.high)}"
        return f"{digits.number(self.value)} ({digits.percent(self.confidence)} interval {ends})"


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

    edges: tuple[float, ...] = ()
    width: Width | None = field(default=None, compare=False)

    @staticmethod
    def of(answer: Answer, edges: tuple[float, ...], width: Width) -> Distribution:
        """The distribution that an answer holds.

        Args:
            answer: The answer, with the columns of a distribution.
            edges: The ends of the bins, in rising order.
            width: A function that says how far the count of neighbouring bins may be off.

        Returns:
            The same answer as a distribution.
        """
        parts = {part.name: getattr(answer, part.name) for part in fields(Answer)}
        return Distribution(**parts, edges=edges, width=width)

    def quantile(self, q: Number) -> Quantity:
        """A value with about the share `q` of the values below it.

        Args:
            q: The share, between 0 and 1.

        Returns:
            The value, found as if values between two edges were spread evenly. The ends of its interval are edges.
        """
        share = float(checks.share(q=q))
        shares, spans = (0.0, *self.table[SHARE]), self._bands()
        place = next(i for i in range(1, len(shares)) if shares[i] >= share)
        rise = shares[place] - shares[place - 1]
        part = (share - shares[place - 1]) / rise if rise > 0 else 0.0
        value = self.edges[place - 1] + part * (self.edges[place] - self.edges[place - 1])
        below = [self.edges[i + 1] for i, (_, high) in enumerate(spans) if high < share]
        above = [self.edges[i + 1] for i, (low, _) in enumerate(spans) if low >= share]
        low, high = max(below, default=self.edges[0]), min(above, default=self.edges[-1])
        return Quantity(min(max(value, low), high), low, high, self.confidence)

    def between(self, low: Number, high: Number) -> Quantity:
        """The number of rows from one edge up to another.

        Args:
            low: The lower edge.
            high: The upper edge.

        Returns:
            The number, with an interval for this range by itself.

        Raises:
            InvalidParameter: If one of them is not an edge, or `high` is not above `low`.
        """
        first, last = self._place("low", low), self._place("high", high)
        if not first < last:
            raise InvalidParameter("high", high, "must lie above the other edge", "Write between(18, 65).")
        assert self.width is not None
        near = math.fsum(self.table[COUNT][first:last])
        width = self.width(first, last)
        return Quantity(max(near, 0.0), max(near - width, 0.0), max(near + width, 0.0), self.confidence)

    def below(self, edge: Number) -> Quantity:
        """The share of the values below an edge.

        Args:
            edge: One of the edges.

        Returns:
            The share, from 0 to 1, with its interval.
        """
        place = self._place("edge", edge)
        if place == 0:
            return Quantity(0.0, 0.0, 0.0, self.confidence)
        low, high = self._bands()[place - 1]
        return Quantity(self.table[SHARE][place - 1], low, high, self.confidence)

    def _place(self, name: str, value: Number) -> int:
        wanted = float(checks.exact(**{name: value}))
        if wanted not in self.edges:
            near = min(self.edges, key=lambda edge: abs(edge - wanted))
            why = "is not an edge, and the distribution between edges is not known"
            raise InvalidParameter(name, value, why, f"The nearest edge is {near:g}.")
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
        """
        if column not in (None, SHARE):
            return Answer.plot(self, path, column)
        figure, [axes] = charts.figure(size=(7.5, 3.8), interactive=path is None)
        spans = self._bands()
        lows, highs = [0.0, *(low for low, _ in spans)], [0.0, *(high for _, high in spans)]
        axes.fill_between(self.edges, lows, highs, color=charts.NOISE, alpha=0.35, lw=0)
        axes.plot(self.edges, [0.0, *self.table[SHARE]], color=charts.PRIVATE, lw=1.6)
        charts.numbers(axes, y="percent")
        axes.set_ylim(0, 1)
        axes.set_xlim(self.edges[0], self.edges[-1])
        key = charts.cut(digits.visible(self.columns[0].name))
        charts.name_axes(axes, f"How {key} is distributed", key, "share of the rows below")
        band = f"orange: {digits.percent(self.confidence)} band, for all edges at once"
        charts.caption(figure, f"{words.cost(self.loss)} · {band}")
        if path is not None:
            charts.save(figure, path, dpi=200)
        return figure
