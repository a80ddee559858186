"""An answer with levels as a treemap: areas are values, and values whose interval contains 0 are hatched."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

from lapwing import charts
from lapwing.charts import FILLED, INK, INKS, OUTLINED
from lapwing.curator.show import digits, words
from lapwing.curator.show.trees import Node, roots_of
from lapwing.errors import InvalidParameter

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lapwing.curator.show.answer import Answer, Column

_SIZE = (9.0, 6.0)  # inches
_HEAD = 0.028  # of the height, for the name of what is divided further
_GAP = 0.003
HEADING = INKS["light"]["private"]
_DEEPEST = 3
"""Levels below the total that are drawn; those below are too small to be read."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle, in parts of the figure."""

    x: float
    y: float
    width: float
    height: float

    def flipped(self, whole: Box) -> Box:
        """The same from the other side: the largest stands at the top, where people begin to read."""
        return Box(self.x, 2 * whole.y + whole.height - self.y - self.height, self.width, self.height)

    def inside(self, margin: float, head: float = 0.0) -> Box:
        """What is left without a margin, and without a line at the top."""
        return Box(self.x + margin, self.y + margin, self.width - 2 * margin, self.height - 2 * margin - head)


def draw(answer: Answer, path: str | PathLike[str] | None = None, column: str | None = None) -> Figure:
    """A treemap of the first column that adds up, or of the one named."""
    columns = [c for c in answer.columns if c.adds_up and not c.is_key]
    if column is not None:
        columns = [answer.table.column(column)]
    if not columns or not columns[0].adds_up:
        raise InvalidParameter("column", column, "does not add up, so it has no areas", "Name a count or a sum.")
    [shown] = columns[:1]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure, [axes] = charts.figure(1, 1, size=_SIZE, interactive=path is None)
        axes.set_axis_off()
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        texts = [cell.value for cell in digits.shown(shown)]
        _divide(axes, shown, texts, _roots(roots_of(answer)), Box(0, 0, 1, 1), depth=0)
        charts.title(axes, charts.cut(f"{digits.visible(shown.name)}{_total(answer, texts)}"))
        charts.caption(figure, f"{words.cost(answer.loss)} · areas are values; hatched: the interval holds 0")
        if path is not None:
            charts.save(figure, path, dpi=200)
    return figure


def _roots(roots: Sequence[Node]) -> Sequence[Node]:
    """What is divided first: not the total, nor what is all of it."""
    while len(roots) == 1 and roots[0].children:
        roots = roots[0].children
    return roots


def _total(answer: Answer, texts: Sequence[str]) -> str:
    roots = roots_of(answer)
    return f", {texts[roots[0].row]} in all" if len(roots) == 1 else ""


def _divide(axes: Axes, column: Column, texts: Sequence[str], nodes: Sequence[Node], box: Box, depth: int) -> None:
    from matplotlib.patches import Rectangle

    sized = [(max(float(column.values[node.row]), 0.0), node) for node in nodes]
    sized = sorted((entry for entry in sized if entry[0] > 0), key=lambda entry: -entry[0])
    for (_, node), place in zip(sized, squarified([size for size, _ in sized], box), strict=True):
        inner = place.flipped(box).inside(_GAP)
        if inner.width <= 0 or inner.height <= 0:
            continue
        further = node.children and depth + 1 < _DEEPEST and inner.width > 0.04 and inner.height > 3 * _HEAD
        span = None if column.noise is None else column.noise[node.row]
        unsure = span is not None and span[0] <= 0
        axes.add_patch(
            Rectangle(
                (inner.x, inner.y),
                inner.width,
                inner.height,
                **(OUTLINED if further else FILLED),
                lw=1.2 if depth == 0 else 0.5,
                hatch="////" if unsure and not further else None,
            )
        )
        name = digits.visible(node.name)
        if further:
            _write(axes, f"{name}  {texts[node.row]}", inner, top=True)
            _divide(axes, column, texts, node.children, inner.inside(_GAP, _HEAD), depth + 1)
        else:
            _write(axes, f"{name}\n{texts[node.row]}", inner)


def _write(axes: Axes, text: str, box: Box, *, top: bool = False) -> None:
    """A name in its box, in the largest letters that fit; none if none do."""
    lines = text.split("\n")
    longest = max(map(len, lines))
    across = box.width * _SIZE[0] * 72 * 0.86 / (0.6 * max(longest, 1))  # points a letter may have
    down = (_HEAD if top else box.height) * _SIZE[1] * 72 * 0.86 / (1.35 * len(lines))
    size = min(across, down, 9.0 if top else 11.0)
    if size < 5:
        return
    place = (box.x + 0.006, box.y + box.height - _HEAD / 2) if top else (box.x + box.width / 2, box.y + box.height / 2)
    style: dict[str, Any] = {"color": HEADING, "weight": "bold"} if top else {"color": INK, "ha": "center"}
    axes.text(*place, text, size=size, va="center", parse_math=False, **style)


def squarified(sizes: Sequence[float], box: Box) -> Iterator[Box]:
    """Rectangles with these areas (falling sizes, as parts of their sum) that are as near to squares as may be.

    Bruls, Huizing and van Wijk 2000: rows along the shorter side, each as long as its worst shape gets better.
    """
    total = sum(sizes)
    if not total:
        return
    areas = [size * box.width * box.height / total for size in sizes]
    while areas:
        side = min(box.width, box.height)
        count = 1
        while count < len(areas) and _worst(areas[: count + 1], side) <= _worst(areas[:count], side):
            count += 1
        row, areas = areas[:count], areas[count:]
        thick = min(sum(row) / side, max(box.width, box.height))
        along = box.x if box.width < box.height else box.y
        for area in row:
            length = area / thick
            yield Box(along, box.y, length, thick) if box.width < box.height else Box(box.x, along, thick, length)
            along += length
        if box.width < box.height:
            box = Box(box.x, box.y + thick, box.width, max(box.height - thick, 1e-12))
        else:
            box = Box(box.x + thick, box.y, max(box.width - thick, 1e-12), box.height)


def _worst(row: Sequence[float], side: float) -> float:
    """The worst ratio of sides in a row of rectangles along a side."""
    thick = sum(row) / side
    return max(max(thick * thick / area, area / (thick * thick)) for area in row)
