"""A picture of an answer with levels: along an axis where its groups are dates or numbers, else a treemap, else a list.

A ladder has an order, so each level is drawn as bars with intervals, all along the same axis. Other groups are areas.
Where most of the areas would be too small for a name, or groups are missing, a list of bars says more.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING

from lapwing import charts
from lapwing.curator.show import digits, level_axis, plot, words
from lapwing.curator.show.treemap import Treemap
from lapwing.curator.show.trees import Node, in_all, is_cut, keys_of, roots_of
from lapwing.errors import InvalidParameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lapwing.curator.show.answer import Answer, Column

_READABLE = 0.6
"""The share of areas that must have a name."""
_NOTHING = 0.01
"""A sum below 0 has no area. As long as it is so small a part of the largest, that is what it looks like."""


def draw(answer: Answer, path: str | PathLike[str] | None = None, column: str | None = None) -> Figure:
    """A picture of the first column of values, or of the one named; of several, the first that adds up."""
    shown = _column(answer, column)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        levels = level_axis.levels_of(answer)
        if levels:
            figure = level_axis.draw(answer, shown, levels, interactive=path is None)
        else:
            figure = _areas(answer, shown, path is None) or _list(answer, shown, path is None)
        if path is not None:
            charts.save(figure, path, dpi=200)
    return figure


def _column(answer: Answer, name: str | None) -> Column:
    columns = [c for c in answer.columns if not c.is_key and c.is_number]
    if name is not None:
        columns = [c for c in columns if c.name == answer.table.column(name).name]
    if not columns:
        raise InvalidParameter("column", name, "there are no numbers to draw", "Name a column of values.")
    return next((c for c in columns if c.adds_up), columns[0])


def _areas(answer: Answer, column: Column, interactive: bool) -> Figure | None:
    """A treemap, if the parts fill the whole, and their areas can be read or are too many for a list."""
    values = [value or 0 for value in column.values]
    if not column.adds_up or is_cut(answer) or -min(values) > _NOTHING * max(values):
        return None
    treemap = Treemap(column, roots_of(answer))
    if not treemap.cells or (treemap.named < _READABLE and len(answer.table) <= plot.LONGEST):
        return None
    figure, axes = treemap.draw(interactive=interactive)
    charts.title(axes, _title(answer, column))
    areas = f"areas are proportional to the {'counts' if column.is_count else 'sums'}"
    parts = [words.cost(answer.loss), areas, *_noise(answer, column), *treemap.remarks(), *words.footnotes(column)]
    charts.caption(figure, " · ".join(parts))
    return figure


def _list(answer: Answer, column: Column, interactive: bool) -> Figure:
    """A line for each node, below its parent."""
    names: list[str] = []
    rows: list[int] = []

    def walk(nodes: Sequence[Node], depth: int) -> None:
        for node in nodes:
            names.append("      " * depth + digits.visible(node.name))
            rows.append(node.row)
            walk(node.children, depth + 1)

    walk(roots_of(answer), 0)
    left_out = ["groups that HAVING or LIMIT left out are not shown"] if is_cut(answer) else []
    title = _title(answer, column)
    return plot.listed(answer, plot.taken(column, rows), names, title, left_out, interactive=interactive)


def _title(answer: Answer, column: Column) -> str:
    """What is drawn, by which levels, and how much it is in all."""
    what, by = charts.cut(digits.visible(column.name)), words.together([key.name for key in keys_of(answer)])
    return f"{what} by {charts.cut(by, 50)}{in_all(answer, column)}{words.mark(column)}"


def _noise(answer: Answer, column: Column) -> list[str]:
    return [f"±: {digits.percent(answer.confidence)} interval for the exact number"] if column.noise else []
