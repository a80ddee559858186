"""An answer as a picture: totals as bars from 0, other values as dots, every one with what the noise may have done."""

from __future__ import annotations

import math
import textwrap
import warnings
from collections.abc import Sequence
from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING, Any

from lapwing.curator.show import digits, words
from lapwing.curator.show.terminal import PALETTE
from lapwing.errors import InvalidParameter, MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lapwing.curator.show.answer import Answer, Column

LONGEST = 50
"""Rows with a name of their own; more would not be read."""
_LABEL = 32
_LABELLED = 30
_ACROSS, _PANEL, _LETTER = 3, 3.2, 0.07  # panels in a row; inches of one, and of a letter in it
_SMALL = 0.066  # inches of a letter in the caption
_INK, _QUIET, _LINE = "#22302e", "#66736f", "#d9dfdc"
_TINT = "#8ac9c2"  # private, half as strong, so that the error bar in it is seen
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
            figure.savefig(path, dpi=200, facecolor="white")
    return figure


def _along(answer: Answer, key: Column, panels: Sequence[Column], interactive: bool) -> Figure:
    """Panels below one another along a key that is a number or a date."""
    figure, grid = _figure(len(panels), 1, (7.5, 0.9 + 2.3 * len(panels)), interactive)
    for axes, column in zip(grid, panels, strict=True):
        _style(axes, "y")
        drawn = [(k, *row) for k, row in zip(key.values, _rows(column, None), strict=True)]
        places = [k for k, value, _, _ in drawn if value is not None]
        for lengths, colour, width in ((3, _QUIET, 1.0), (2, PALETTE["noise"], 1.6)):
            bars = [(row[0], row[lengths]) for row in drawn if row[lengths] is not None]
            axes.vlines([k for k, _ in bars], [s[0] for _, s in bars], [s[1] for _, s in bars], color=colour, lw=width)
        values = [value for _, value, _, _ in drawn if value is not None]
        if column.adds_up:
            axes.bar(places, values, width=_gap(key.values), color=_TINT, zorder=1)
            axes.axhline(0, color=_LINE, lw=1)
        else:
            axes.plot(places, values, color=PALETTE["private"], lw=1, alpha=0.5)
            axes.plot(places, values, "o", color=PALETTE["private"], ms=4.5)
        _title(axes, column)
        if key.type == "integer":
            axes.xaxis.get_major_locator().set_params(integer=True)
    grid[-1].set_xlabel(_cut(digits.visible(key.name)), color=_QUIET, parse_math=False)
    _caption(figure, answer, panels, len(key.values))
    return figure


def _list(answer: Answer, keys: Sequence[Column], panels: Sequence[Column], interactive: bool) -> Figure:
    """Panels beside one another, at most three, a line for each row."""
    count = min(len(answer.table), LONGEST)
    across = min(len(panels), _ACROSS)
    down = -(-len(panels) // across)
    size = (1.6 + _PANEL * across, 0.5 + down * (0.75 + (0.3 if count > 3 else 0.45) * max(count, 1)))
    figure, grid = _figure(down, across, size, interactive)
    names = [_cut(" · ".join(digits.key(k.values[row]) for k in keys)) for row in range(count)]
    title = _cut(" · ".join(digits.visible(k.name) for k in keys))
    for axes, column in zip(grid, panels, strict=False):
        _style(axes, "x")
        _lines(axes, column, count)
        _title(axes, column)
        axes.set_ylim(max(count, 1) - 0.4, -0.6)
        axes.set_yticks(range(count), labels=names, parse_math=False, color=_INK)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    for axes in grid[::across]:
        axes.set_ylabel(title, color=_QUIET, parse_math=False)
    _caption(figure, answer, panels, len(answer.table), count)
    return figure


def _lines(axes: Axes, column: Column, count: int) -> None:
    shown = digits.shown(column)
    total = column.adds_up
    for place, (value, noise, interval) in enumerate(_rows(column, count)):
        if interval is not None:
            axes.hlines(place, *interval, color=_QUIET, lw=1)
        if noise is not None:
            axes.errorbar(
                sum(noise) / 2, place, xerr=(noise[1] - noise[0]) / 2, color=PALETTE["noise"], capsize=3, lw=1.6
            )
        if value is None:
            continue
        if total:
            axes.barh(place, value, height=0.62, color=_TINT, zorder=1)
        else:
            axes.plot(value, place, "o", color=PALETTE["private"], ms=6, zorder=3)
        if count <= _LABELLED:
            _label(axes, place, shown[place], max(end for span in (noise, interval, (value,)) if span for end in span))
    if total:
        axes.axvline(0, color=_LINE, lw=1)
    axes.margins(x=0.04)
    if 0 < count <= _LABELLED:
        low, high = axes.get_xlim()
        longest = max(len(cell.value) + len(cell.beside) for cell in shown) + 2
        axes.set_xlim(low, low + (high - low) / (1 - min(0.6, longest * _LETTER / _PANEL)))


def _label(axes: Axes, place: int, shown: digits.Shown, right: float) -> None:
    text = f"{shown.value} {shown.beside}".strip()
    axes.annotate(
        text, (right, place), (6, 0), textcoords="offset points", va="center", fontsize=8.5, color=_QUIET,
        parse_math=False,
    )  # fmt: skip


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
    name = _cut(digits.visible(column.name)) + (f" {words.CLIPPED}" if column.clipped else "")
    axes.set_title(name, loc="left", fontsize=11, fontweight="bold", color=_INK, parse_math=False)


def _cut(text: str) -> str:
    return text if len(text) <= _LABEL else text[: _LABEL - 1] + "…"


def _figure(rows: int, columns: int, size: tuple[float, float], interactive: bool) -> tuple[Figure, list[Any]]:
    """A figure of pyplot for a screen or notebook; one of its own for a file."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "experiments") from None
    if interactive:
        import matplotlib.pyplot as plt

        figure = plt.figure(figsize=size, layout="constrained")
    else:
        figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharex=columns == 1 and rows > 1, sharey="row")
    return figure, list(grid.flat)


def _style(axes: Axes, values: str) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    for side in ("top", "right", "left" if values == "x" else "bottom"):
        axes.spines[side].set_visible(False)
    for spine in axes.spines.values():
        spine.set_color(_LINE)
    axes.tick_params(colors=_QUIET, length=0, labelsize=9)
    axes.grid(axis=values, color=_LINE, lw=0.6)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    axis = axes.xaxis if values == "x" else axes.yaxis
    axis.set_major_locator(MaxNLocator(5))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _tick(float(value))))


def _tick(value: float) -> str:
    return digits.number(value) if abs(value) < 1e6 else f"{digits.number(value / 1e6)} M"


def _caption(figure: Figure, answer: Answer, panels: Sequence[Column], rows: int, shown: int | None = None) -> None:
    parts = [words.cost(answer.loss)]
    if any(column.noise for column in panels):
        parts.append(f"orange: {digits.percent(answer.confidence)} interval for the exact answer")
    if any(column.interval for column in panels):
        parts.append("grey: the population's value")
    if shown is not None and shown < rows:
        parts.append(f"the first {shown} of {rows:,} rows")
    wide = int(figure.get_size_inches()[0] / _SMALL)
    lines = textwrap.wrap(" · ".join(parts), wide)  # matplotlib would cut what does not fit
    figure.supxlabel("\n".join(lines), fontsize=8, color=_QUIET, x=0.01, ha="left", parse_math=False)
