"""An answer as a picture: totals as bars from 0, other values as dots, each with its interval."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING, Any

from lapwing import charts
from lapwing.charts import LINE, NOISE, PRIVATE, QUIET, TINT
from lapwing.curator.show import digits, words
from lapwing.errors import InvalidParameter

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lapwing.curator.show.answer import Answer, Column

LONGEST = 50
"""Rows with a name of their own; more would not be read."""
_LABELLED = 30
_ACROSS, _PANEL, _LETTER = 3, 3.2, 0.07  # panels in a row; inches of one, and of a letter in it
_TICKS = 5
_CONTINUOUS = ("integer", "number", "date", "timestamp")


def draw(answer: Answer, path: str | PathLike[str] | None = None, column: str | None = None) -> Figure:
    """A figure with one panel for each column of values, or for the one named."""
    panels = list(answer.columns) if column is None else [answer.table.column(column)]
    panels = [c for c in panels if c.is_number and not c.is_key]
    if not panels:
        raise InvalidParameter("column", column, "there are no numbers to draw", "Name a column of values.")
    keys = [c for c in answer.columns if c.is_key]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # an emoji that the font lacks is a box
        if len(keys) == 1 and _is_axis(keys[0]):
            figure = _along(answer, keys[0], panels, path is None)
        else:
            figure = _list(answer, keys, panels, path is None)
        if path is not None:
            charts.save(figure, path, dpi=200)
    return figure


def _along(answer: Answer, key: Column, panels: Sequence[Column], interactive: bool) -> Figure:
    """Panels below one another along a key that is a number or a date."""
    size, shared = (7.5, 0.9 + 2.3 * len(panels)), len(panels) > 1
    figure, grid = charts.figure(1, len(panels), size=size, interactive=interactive, sharex=shared, sharey="row")
    for axes, column in zip(grid, panels, strict=True):
        charts.even_ticks(axes.yaxis, _TICKS)
        drawn = [(k, *row) for k, row in zip(key.values, _rows(column, None), strict=True)]
        places = [k for k, value, _, _ in drawn if value is not None]
        for lengths, colour, width in ((3, QUIET, 1.0), (2, NOISE, 1.6)):
            bars = [(row[0], row[lengths]) for row in drawn if row[lengths] is not None]
            axes.vlines([k for k, _ in bars], [s[0] for _, s in bars], [s[1] for _, s in bars], color=colour, lw=width)
        values = [value for _, value, _, _ in drawn if value is not None]
        if column.adds_up:
            axes.bar(places, values, width=_gap(key.values), color=TINT, zorder=1)
            axes.axhline(0, color=LINE, lw=1)
        else:
            axes.plot(places, values, color=PRIVATE, lw=1, alpha=0.5)
            axes.plot(places, values, "o", color=PRIVATE, ms=4.5)
        _title(axes, column)
        if key.type in ("date", "timestamp"):
            charts.dates(axes.xaxis)
        if key.type == "integer":
            axes.xaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]
    grid[-1].set_xlabel(charts.cut(digits.visible(key.name)), color=QUIET, parse_math=False)
    _caption(figure, answer, panels, len(key.values))
    return figure


def listed(
    answer: Answer, column: Column, names: Sequence[str], heading: str, remarks: Sequence[str], *, interactive: bool
) -> Figure:
    """One panel with a line for each row, under names of their own; spaces before a name stay."""
    count = min(len(names), LONGEST)
    size = (3.2 + _PANEL, 0.9 + 0.3 * max(count, 2))
    figure, [axes] = charts.figure(size=size, values="x", interactive=interactive)
    charts.even_ticks(axes.xaxis, _TICKS)
    lines(axes, column, count)
    charts.rows(axes, [charts.cut(name, 48) for name in names[:count]])
    axes.tick_params(axis="y", pad=6.0 * max(map(len, names[:count])))
    for label in axes.get_yticklabels():
        label.set_horizontalalignment("left")
    charts.title(axes, heading)
    _caption(figure, answer, [column], len(names), count, remarks)
    return figure


def taken(column: Column, rows: Sequence[int]) -> Column:
    """These rows of a column."""
    spans = [None if part is None else tuple(part[row] for row in rows) for part in (column.noise, column.interval)]
    return replace(column, values=tuple(column.values[row] for row in rows), noise=spans[0], interval=spans[1])


def _list(answer: Answer, keys: Sequence[Column], panels: Sequence[Column], interactive: bool) -> Figure:
    """Panels beside one another, at most three, a line for each row."""
    count = min(len(answer.table), LONGEST)
    across = min(len(panels), _ACROSS)
    down = -(-len(panels) // across)
    size = (1.6 + _PANEL * across, 0.5 + down * (0.75 + (0.3 if count > 3 else 0.45) * max(count, 1)))
    shared = across == 1 and down > 1
    figure, grid = charts.figure(
        across, down, size=size, values="x", interactive=interactive, sharex=shared, sharey="row"
    )
    names = [charts.cut(" · ".join(digits.key(k.values[row]) for k in keys)) for row in range(count)]
    title = charts.cut(" · ".join(digits.visible(k.name) for k in keys))
    for axes, column in zip(grid, panels, strict=False):
        charts.even_ticks(axes.xaxis, _TICKS)
        lines(axes, column, count)
        _title(axes, column)
        charts.rows(axes, names)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    for axes in grid[::across]:
        axes.set_ylabel(title, color=QUIET, parse_math=False)
    _caption(figure, answer, panels, len(answer.table), count)
    return figure


def lines(axes: Axes, column: Column, count: int, colour: str = QUIET) -> None:
    """A bar or a dot for each row with what the noise may have done, and its value beside it."""
    shown = digits.shown(column)
    total = column.adds_up
    for place, (value, noise, interval) in enumerate(_rows(column, count)):
        if interval is not None:
            axes.hlines(place, *interval, color=QUIET, lw=1)
        if noise is not None:
            charts.whisker(axes, noise, place)
        if value is None:
            continue
        if total:
            axes.barh(place, value, height=0.62, color=TINT, zorder=1)
        else:
            axes.plot(value, place, "o", color=PRIVATE, ms=6, zorder=3)
        if count <= _LABELLED:
            right = max(end for span in (noise, interval, (value,)) if span for end in span)
            text = f"{shown[place].value} {shown[place].beside}".strip()
            charts.beside(axes, right, place, text, colour, size=8.5)
    if total:
        axes.axvline(0, color=LINE, lw=1)
    axes.margins(x=0.04)
    if 0 < count <= _LABELLED:
        low, high = axes.get_xlim()
        longest = max(len(cell.value) + len(cell.beside) for cell in shown) + 2
        axes.set_xlim(low, low + (high - low) / (1 - min(0.6, longest * _LETTER / _PANEL)))


def _rows(column: Column, count: int | None) -> list[tuple[Any, Any, Any]]:
    """Value, noise and interval of each row; what is not finite cannot be drawn."""
    empty = (None,) * len(column.values)
    rows = zip(column.values, column.noise or empty, column.interval or empty, strict=True)
    return [(value, _finite(noise), _finite(interval)) for value, noise, interval in rows][:count]


def _finite(span: tuple[float, float] | None) -> tuple[float, float] | None:
    return span if span is not None and all(map(math.isfinite, span)) else None


def _is_axis(key: Column) -> bool:
    """Whether a key is a place on a line rather than a name."""
    return key.type in _CONTINUOUS and None not in key.values and len(set(key.values)) > 1


def _gap(keys: Sequence[Any]) -> Any:
    """The width of a bar: most of the smallest distance between two keys."""
    ordered = sorted(keys)
    return 0.8 * min(b - a for a, b in pairwise(ordered) if b > a)


def _title(axes: Axes, column: Column) -> None:
    charts.title(axes, charts.cut(digits.visible(column.name)) + words.mark(column))


def _caption(
    figure: Figure,
    answer: Answer,
    panels: Sequence[Column],
    rows: int,
    shown: int | None = None,
    remarks: Sequence[str] = (),
) -> None:
    parts = [words.cost(answer.loss)]
    if any(column.noise for column in panels):
        parts.append(f"orange: {digits.percent(answer.confidence)} interval for the exact answer")
    if any(column.interval for column in panels):
        parts.append(f"grey: {digits.percent(answer.confidence)} interval for the population's value")
    if shown is not None and shown < rows:
        parts.append(f"the first {shown} of {rows:,} rows")
    charts.caption(figure, " · ".join([*parts, *remarks, *words.footnotes(*panels)]))
