"""Answers of a stream as a picture: a line for each group over the steps, each with the band of its noise."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING, Any

from lapwing import charts
from lapwing.charts import INK, LINE, QUIET, SERIES
from lapwing.curator.show import digits, words
from lapwing.errors import InvalidParameter

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lapwing.curator.show.answer import Answer, Column

MOST_LINES = 5
"""Lines in one panel; more could not be told apart."""
BARS = "▁▂▃▄▅▆▇█"
_LINE = 11.0  # points between two names


def draw(answer: Answer, path: str | PathLike[str] | None = None, column: str | None = None) -> Figure:
    """A figure with one panel for each column of values, or for the one named; the first key is the step."""
    steps, *keys = [c for c in answer.columns if c.is_key]
    panels = [c for c in answer.columns if not c.is_key] if column is None else [answer.table.column(column)]
    panels = [c for c in panels if c.is_number and not c.is_key]
    if not panels:
        raise InvalidParameter("column", column, "there are no numbers to draw", "Name a column of values.")
    size = (7.5, 0.9 + 2.6 * len(panels))
    figure, grid = charts.figure(1, len(panels), size=size, interactive=path is None, sharex=len(panels) > 1)
    groups = groups_of(keys, len(steps.values))
    drawn = _largest(groups, panels[0])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        for axes, values in zip(grid, panels, strict=True):
            _panel(axes, steps, values, drawn)
        if steps.type in ("date", "timestamp"):
            charts.dates(grid[-1].xaxis)
        grid[-1].set_xlabel(charts.cut(digits.visible(steps.name)), color=QUIET, parse_math=False)
        _caption(figure, answer, panels, len(groups))
        figure.draw_without_rendering()  # names are placed where the panels have come to stand
        for axes, values in zip(grid, panels, strict=True):
            _names(axes, steps, values, drawn)
        if path is not None:
            charts.save(figure, path, dpi=200)
    return figure


def groups_of(keys: Sequence[Column], rows: int) -> dict[tuple[Any, ...], list[int]]:
    """The rows of each group, in the order of the steps."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for row in range(rows):
        groups.setdefault(tuple(key.values[row] for key in keys), []).append(row)
    return groups


def _largest(groups: dict[tuple[Any, ...], list[int]], values: Column) -> dict[tuple[Any, ...], list[int]]:
    """The groups with the largest last values, in their order; which ones these are is read from noisy values."""
    last = {group: values.values[rows[-1]] for group, rows in groups.items()}
    ranked = sorted(groups, key=lambda group: -float("-inf" if last[group] is None else last[group]))
    kept = set(ranked[:MOST_LINES])
    return {group: rows for group, rows in groups.items() if group in kept}


def _panel(axes: Axes, steps: Column, values: Column, groups: dict[tuple[Any, ...], list[int]]) -> None:
    charts.even_ticks(axes.yaxis, 5)
    for colour, (_, rows) in zip(SERIES, groups.items(), strict=False):
        drawn = [row for row in rows if values.values[row] is not None]
        places = [steps.values[row] for row in drawn]
        if values.noise is not None:
            spans = [values.noise[row] or (values.values[row],) * 2 for row in drawn]
            axes.fill_between(places, [s[0] for s in spans], [s[1] for s in spans], color=colour, alpha=0.22, lw=0)
        axes.plot(places, [values.values[row] for row in drawn], color=colour, lw=1.4)
    if values.adds_up:
        axes.axhline(0, color=LINE, lw=1)
    charts.title(axes, charts.cut(digits.visible(values.name)) + words.mark(values))


def _names(axes: Axes, steps: Column, values: Column, groups: dict[tuple[Any, ...], list[int]]) -> None:
    """The name of each group where its line ends, moved up or down where two would lie on one another."""
    ends = []
    for colour, (group, rows) in zip(SERIES, groups.items(), strict=False):
        drawn = [row for row in rows if values.values[row] is not None]
        if group and drawn:
            ends.append((float(values.values[drawn[-1]]), steps.values[drawn[-1]], group, colour))
    ends.sort(key=lambda end: end[0])
    points = 72 / axes.figure.dpi
    heights = [float(axes.transData.transform((0, value))[1]) * points for value, *_ in ends]
    for (value, place, group, colour), height, moved in zip(ends, heights, spread(heights, _LINE), strict=True):
        name = charts.cut(" · ".join(digits.key(part) for part in group))
        charts.beside(axes, place, value, name, INK, shift=(16, moved - height), leader=colour)


def spread(heights: Sequence[float], apart: float) -> list[float]:
    """Rising heights, moved as little as may be (in squares) such that neighbours are at least so far apart.

    >>> spread([0, 1, 30], 10)
    [-4.5, 5.5, 30.0]
    """
    blocks: list[list[float]] = []  # each the heights of neighbours that touch, less what lies below them in the block
    for height in heights:
        blocks.append([float(height)])
        while len(blocks) > 1 and _foot(blocks[-1]) < _foot(blocks[-2]) + apart * len(blocks[-2]):
            upper = blocks.pop()
            below = len(blocks[-1])
            blocks[-1] += [place - apart * below for place in upper]
    return [_foot(block) + apart * place for block in blocks for place in range(len(block))]


def _foot(block: Sequence[float]) -> float:
    return sum(block) / len(block)


def _caption(figure: Figure, answer: Answer, panels: Sequence[Column], groups: int) -> None:
    parts = [f"{words.cost(answer.loss)} for the whole stream"]
    parts.append(f"bands: {digits.percent(answer.confidence)} interval for the exact answer, step by step")
    if any(map(words.is_below_its_cut, panels)):
        parts.append("bands are cut off at 0, but always contain the value")
    if groups > MOST_LINES:
        parts.append(f"the {MOST_LINES} largest of {groups:,} groups")
    charts.caption(figure, " · ".join([*parts, *words.footnotes(*panels)]))


def sparkline(values: Sequence[float], width: int = 40) -> str:
    """Numbers as a line of small bars, each the mean of some of them.

    >>> sparkline([0, 1, 2, 3, 4, 5, 6, 7])
    '▁▂▃▄▅▆▇█'
    >>> sparkline([5, 5])
    '▁▁'
    """
    if not values:
        return ""
    count = min(width, len(values))
    cuts = [round(i * len(values) / count) for i in range(count + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(cuts)]
    low, high = min(means), max(means)
    span = (high - low) or 1.0
    return "".join(BARS[min(len(BARS) - 1, int((mean - low) / span * len(BARS)))] for mean in means)
