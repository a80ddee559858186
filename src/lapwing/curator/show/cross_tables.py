"""Tables that agree as a picture: cells with their numbers, darker where there is more; bars for a table by one key."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import product
from os import PathLike
from typing import TYPE_CHECKING

from lapwing import charts
from lapwing.charts import INK, QUIET
from lapwing.curator.show import digits, plot, words
from lapwing.errors import InvalidParameter

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lapwing.curator.show.answer import Answer, Column

_WIDE, _LETTER, _LINE = 9.0, 0.065, 0.28  # inches of the figure, of a letter and of a row
MARGINAL = "marginal"
"""The column that says to which table a row belongs."""


@dataclass(frozen=True)
class _Panel:
    """One table, laid out: what stands beside the rows and above the columns, and the value in each cell."""

    names: tuple[str, ...]
    column: Column
    across: tuple[str, ...]
    beside: tuple[str, ...]
    cells: tuple[tuple[int, ...], ...]
    """For each line, the row of the answer that stands in each place."""

    @property
    def shaded(self) -> list[int]:
        """The rows that are cells: a table by one key has bars instead."""
        return [] if len(self.names) < 2 else [row for line in self.cells for row in line]

    @property
    def height(self) -> float:
        return 0.9 + _LINE * max(2, len(self.beside))


def is_marginals(answer: Answer) -> bool:
    """Whether its rows are those of several tables, with all of their keys."""
    sets = answer.provenance.get("marginals", [])
    names = {column.name for column in answer.columns if column.is_key}
    return bool(sets) and {MARGINAL, *(name for names in sets for name in names)} <= names


def draw(answer: Answer, path: str | PathLike[str] | None = None, column: str | None = None) -> Figure:
    """A panel for each table, of the first column of values or of the one named."""
    values = [c for c in answer.columns if not c.is_key and column in (None, c.name)]
    if not values:
        raise InvalidParameter("column", column, "is not a column of values", "Leave it out, or name a count or sum.")
    panels = [_panel(answer, values[0], names, label) for names, label in _tables(answer)]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        heights = [panel.height for panel in panels]
        figure, grid = charts.figure(
            1, len(panels), size=(_WIDE, 0.5 + sum(heights)), values="x", interactive=path is None,
            gridspec_kw={"height_ratios": heights},
        )  # fmt: skip
        for axes, panel in zip(grid, panels, strict=True):
            _bars(axes, panel) if len(panel.names) < 2 else _cells(axes, panel)
            charts.title(axes, _heading(panel))
        sure = f"±: {digits.percent(answer.confidence)} interval for the exact number"
        grey = any(_is_unsure(panel.column, row) for panel in panels for row in panel.shaded)
        unsure = ["grey number: its interval contains 0"] if grey else []
        parts = [words.cost(answer.loss), sure, *unsure, *words.footnotes(values[0])]
        charts.caption(figure, " · ".join(parts))
        if path is not None:
            charts.save(figure, path, dpi=200)
    return figure


def _tables(answer: Answer) -> list[tuple[tuple[str, ...], str]]:
    """The columns of each table, and what it is called in the answer."""
    labels = list(dict.fromkeys(answer[MARGINAL]))
    return [(tuple(names), label) for names, label in zip(answer.provenance["marginals"], labels, strict=True)]


def _panel(answer: Answer, column: Column, names: tuple[str, ...], label: str) -> _Panel:
    """The key with most values that fit side by side goes across, the others down."""
    rows = [row for row, name in enumerate(answer[MARGINAL]) if name == label]
    keys = {name: [digits.key(value) for value in answer[name]] for name in names}
    values = {name: list(dict.fromkeys(keys[name][row] for row in rows)) for name in names}
    texts = [text.value for text in digits.shown(column)]
    widest = max([len(texts[row]) for row in rows], default=1) + 2
    fit = {
        name: len(some) * max(widest, *(len(charts.cut(value, 12)) + 1 for value in some)) * _LETTER < 0.8 * _WIDE
        for name, some in values.items()
    }
    across = max(
        names, key=lambda name: (fit[name], len(values[name]) if fit[name] else -len(values[name])), default=""
    )
    down = [name for name in names if name != across]
    if len(names) < 2:
        down, across = list(names), ""
    by_cell = {tuple(keys[name][row] for name in (*down, *([across] if across else []))): row for row in rows}
    lines = list(product(*(values[name] for name in down)))[: plot.LONGEST]
    tops = values[across] if across else [""]
    cells = [[by_cell[(*line, *([top] if across else []))] for top in tops] for line in lines]
    return _Panel(
        (*down, *([across] if across else [])),
        column,
        tuple(charts.cut(top, 12) for top in tops),
        tuple(charts.cut(" · ".join(line)) or "all" for line in lines),
        tuple(map(tuple, cells)),
    )


def _bars(axes: Axes, panel: _Panel) -> None:
    rows = [row for [row] in panel.cells]
    charts.even_ticks(axes.xaxis, 5)
    plot.lines(axes, plot.taken(panel.column, rows), len(rows), colour=INK)
    charts.rows(axes, panel.beside)


def _cells(axes: Axes, panel: _Panel) -> None:
    charts.cells(axes, panel.across, panel.beside, [[panel.column.values[row] for row in line] for line in panel.cells])
    texts = digits.shown(panel.column)
    for y, line in enumerate(panel.cells):
        for x, row in enumerate(line):
            colour = QUIET if _is_unsure(panel.column, row) else INK
            axes.text(
                x, y, texts[row].value, ha="center", va="center", fontsize=8, color=colour, parse_math=False
            )  # fmt: skip
    names = [charts.cut(digits.visible(name)) for name in panel.names]
    axes.set_ylabel(" · ".join(names[:-1]), color=QUIET, fontsize=9, parse_math=False)


def _is_unsure(column: Column, row: int) -> bool:
    """Whether the exact number may be 0."""
    span = None if column.noise is None else column.noise[row]
    return span is not None and span[0] <= 0 <= span[1]


def _heading(panel: _Panel) -> str:
    """What is counted, by which keys, how much it is in all, and how far each cell may be off."""
    by = f" by {charts.cut(words.together(panel.names), 50)}" if panel.names else ", all"
    spans = panel.column.noise or (None,) * len(panel.column.values)
    widths = {row: span[1] - span[0] for line in panel.cells for row in line if (span := spans[row]) is not None}
    widest = digits.half_widths(panel.column)[max(widths, key=lambda row: widths[row])] if widths else ""
    noise = f", each {widest}" if widest and panel.names else ""
    return f"{charts.cut(digits.visible(panel.column.name))}{by}{noise}{words.mark(panel.column)}"
