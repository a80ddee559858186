"""Levels of dates or numbers as bars along one axis, a panel for each level, with what the noise may have done."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from lapwing import charts
from lapwing.charts import LINE, NOISE, PRIVATE, QUIET, TINT
from lapwing.curator.show import digits, words
from lapwing.curator.show.trees import in_all, keys_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lapwing.curator.show.answer import Answer, Column

_MOST_PANELS = 4
_LABELLED, _SINGLE = 16, 70
"""Bars with their value written above them, and bars with an error bar each; of more there is a band."""
_NARROWEST = 0.004
"""The part of the axis that a bin must have to be seen."""
_BETWEEN = " – "
_EPOCH = dt.date(1970, 1, 1)  # where matplotlib begins to count days
Ends = tuple[float, float]
"""Where a bar begins and ends on the axis; days count as numbers."""


@dataclass(frozen=True)
class Level:
    """Nodes of one level from left to right: their rows in the answer, and where they stand."""

    name: str
    rows: tuple[int, ...]
    ends: tuple[Ends, ...]
    dates: bool
    ticks: Mapping[float, float] = field(default_factory=dict)
    """Where each edge stands, if the narrowest bin would be too narrow to be seen: then all are as wide."""

    @property
    def step(self) -> float | None:
        """The width of its bins, if they are all alike; the last one may be cut off."""
        widths = [high - low for low, high in self.ends]
        alike = all(math.isclose(width, widths[0]) for width in widths[:-1]) and widths[-1] <= widths[0] * (1 + 1e-9)
        return widths[0] if alike and not self.ticks else None


def levels_of(answer: Answer) -> list[Level]:
    """The levels of an answer whose labels are all dates, or all bins; otherwise none."""
    keys = keys_of(answer)
    for read, dates in ((_period, True), (_bin, False)):
        ends = [[None if label is None else read(label) for label in key.values] for key in keys]
        known = all(
            (label is None) == (place is None)
            for key, places in zip(keys, ends, strict=True)
            for label, place in zip(key.values, places, strict=True)
        )
        days = not dates or all(end is None or end[1] - end[0] == 1 for end in ends[-1])
        if known and days and any(place is not None for place in ends[-1]):
            return _levels([key.name for key in keys], ends, dates)
    return []


def _levels(names: Sequence[str], ends: Sequence[Sequence[Ends | None]], dates: bool) -> list[Level]:
    """Those with two nodes or more, the finest last; a period that is there in part is drawn in part."""
    finest = [place for place in ends[-1] if place is not None]
    first, last = min(low for low, _ in finest), max(high for _, high in finest)
    ticks: dict[float, float] = {}
    if min(high - low for low, high in finest) < _NARROWEST * (last - first) and len(finest) <= _SINGLE:
        ticks = {edge: float(rank) for rank, edge in enumerate(sorted({edge for place in finest for edge in place}))}
    levels = []
    for depth, name in enumerate(names):
        deeper: Sequence[Ends | None] = ends[depth + 1] if depth + 1 < len(ends) else (None,) * len(ends[0])
        placed = [
            (_placed(max(place[0], first), min(place[1], last), ticks), row)
            for row, (place, below) in enumerate(zip(ends[depth], deeper, strict=True))
            if place is not None and below is None
        ]
        placed.sort()
        if len(placed) > 1 or depth == len(names) - 1:
            rows, spans = tuple(row for _, row in placed), tuple(place for place, _ in placed)
            levels.append(Level(name, rows, spans, dates, ticks))
    step = max(1, -(-(len(levels) - 1) // (_MOST_PANELS - 1)))
    return levels[::-1][::step][::-1]


def _placed(low: float, high: float, ticks: Mapping[float, float]) -> Ends:
    return ticks.get(low, low), ticks.get(high, high)


def _period(label: Any) -> Ends | None:
    """The days of a year, a quarter, a month, a week or a day, as `lw.dates` writes them."""
    text = label.isoformat() if type(label) is dt.date else label
    if not isinstance(text, str):
        return None
    for pattern, days in _PERIODS.items():
        if match := re.fullmatch(pattern, text):
            try:
                first, last = days(*map(int, match.groups()))
            except ValueError:
                return None
            return float((first - _EPOCH).days), float((last - _EPOCH).days)
    return None


def _months(year: int, month: int, count: int) -> tuple[dt.date, dt.date]:
    after = year * 12 + month - 1 + count
    return dt.date(year, month, 1), dt.date(after // 12, after % 12 + 1, 1)


def _days(first: dt.date, count: int) -> tuple[dt.date, dt.date]:
    return first, first + dt.timedelta(days=count)


_PERIODS: Mapping[str, Callable[..., tuple[dt.date, dt.date]]] = MappingProxyType(
    {
        r"(\d{4})": lambda year: _months(year, 1, 12),
        r"(\d{4})-Q([1-4])": lambda year, quarter: _months(year, 3 * quarter - 2, 3),
        r"(\d{4})-(\d\d)": lambda year, month: _months(year, month, 1),
        r"(\d{4})-W(\d\d)": lambda year, week: _days(dt.date.fromisocalendar(year, week, 1), 7),
        r"(\d{4})-(\d\d)-(\d\d)": lambda *day: _days(dt.date(*day), 1),
    }
)


def _bin(label: Any) -> Ends | None:
    """The ends of a bin, as `lw.bins` writes them."""
    if not isinstance(label, str) or label.count(_BETWEEN) != 1:
        return None
    try:
        low, high = map(float, label.split(_BETWEEN))
    except ValueError:
        return None
    return (low, high) if math.isfinite(low) and math.isfinite(high) and low < high else None


def draw(answer: Answer, column: Column, levels: Sequence[Level], *, interactive: bool) -> Figure:
    """A panel for each level, the finest at the bottom and highest."""
    heights = [*(1.0 for _ in levels[:-1]), 1.5]
    figure, panels = charts.figure(
        1, len(levels), size=(9.0, 1.0 + 1.75 * sum(heights)), interactive=interactive, sharex=True,
        gridspec_kw={"height_ratios": heights},
    )  # fmt: skip
    for axes, level in zip(panels, levels, strict=True):
        charts.even_ticks(axes.yaxis, 4)
        _panel(axes, column, level)
        total = in_all(answer, column) if level is levels[0] else ""
        charts.title(axes, f"{_heading(column, level, levels[-1].name)}{total}{words.mark(column)}")
    _axis(panels[-1], levels[-1])
    parts = [words.cost(answer.loss)]
    if column.noise:
        parts.append(f"orange: {digits.percent(answer.confidence)} interval for the exact answer")
    charts.caption(figure, " · ".join([*parts, *words.footnotes(column)]))
    return figure


def _panel(axes: Axes, column: Column, level: Level) -> None:
    """Bars from 0 for what adds up, levels of other values; with error bars, or a band if there are many."""
    rows = [(place, row) for place, row in zip(level.ends, level.rows, strict=True) if column.values[row] is not None]
    spans = [(place, column.noise[row]) for place, row in rows if column.noise is not None]
    known = [(place, span) for place, span in spans if span is not None and all(map(math.isfinite, span))]
    few = len(level.rows) <= _SINGLE
    values = [column.values[row] for _, row in rows]
    starts, stops = [low for (low, _), _ in rows], [high for (_, high), _ in rows]
    if column.adds_up:
        _rectangles(axes, [(place, (0.0, column.values[row])) for place, row in rows], 0.92 if few else 1.0, color=TINT)
        axes.axhline(0, color=LINE, lw=1)
    elif few:
        axes.hlines(values, starts, stops, color=PRIVATE, lw=2)
    if few:
        middles = [(low + high) / 2 for (low, high), _ in known]
        axes.vlines(middles, [s[0] for _, s in known], [s[1] for _, s in known], color=NOISE, lw=1.6, zorder=3)
    else:
        _rectangles(axes, known, 1.0, color=NOISE, alpha=0.35, zorder=2)
        axes.hlines(values, starts, stops, color=PRIVATE, lw=1, zorder=3)
    low, high = axes.get_ylim()
    if len(rows) <= _LABELLED:
        _values(axes, column, rows)
        high += 0.12 * (high - low)  # for the numbers above the bars
    bottom = min([0.0, *values, *(span[0] for _, span in known)])
    axes.set_ylim(bottom if column.adds_up else low, high)


def _rectangles(axes: Axes, boxes: Sequence[tuple[Ends, Ends]], part: float, **style: Any) -> None:
    """Boxes of which each takes so much of its width; one object, for there may be a hundred thousand."""
    from matplotlib.collections import PolyCollection

    corners = []
    for (low, high), (bottom, top) in boxes:
        left, right = low + (1 - part) * (high - low) / 2, high - (1 - part) * (high - low) / 2
        corners.append([(left, bottom), (left, top), (right, top), (right, bottom)])
    axes.add_collection(PolyCollection(corners, lw=0, **style))
    axes.autoscale_view()


def _values(axes: Axes, column: Column, rows: Sequence[tuple[Ends, int]]) -> None:
    texts = digits.shown(column)
    for (low, high), row in rows:
        span = None if column.noise is None else column.noise[row]
        top = max(column.values[row], span[1] if span is not None and math.isfinite(span[1]) else -math.inf)
        axes.annotate(
            texts[row].value, ((low + high) / 2, top), (0, 2), textcoords="offset points", ha="center", va="bottom",
            fontsize=8, color=QUIET, parse_math=False,
        )  # fmt: skip


def _heading(column: Column, level: Level, finest: str) -> str:
    name, what = level.name, charts.cut(digits.visible(column.name))
    steps = ""
    if level.step is not None and not level.dates:
        steps = f", in steps of {digits.number(level.step)}"
        name = finest if name.startswith(f"{finest} in ") or name.endswith(f" bins of {finest}") else name
    return f"{what} by {charts.cut(digits.visible(name))}{steps}"


def _axis(axes: Axes, level: Level) -> None:
    axes.set_xlim(level.ends[0][0], level.ends[-1][1])
    if not level.dates:
        charts.even_ticks(axes.xaxis, 10)
        if level.ticks:
            shown = {rank: edge for edge, rank in list(level.ticks.items())[:: 1 + len(level.ticks) // 14]}
            charts.only_ticks(axes.xaxis, list(shown))
            charts.written_ticks(axes.xaxis, lambda rank: charts.tick(shown[rank]))
        scale = " (not to scale)" if level.ticks else ""
        axes.set_xlabel(charts.cut(digits.visible(level.name)) + scale, color=QUIET, fontsize=9, parse_math=False)
        return
    charts.dates(axes.xaxis)
