"""An answer with levels as a treemap: areas are proportional to values, and hatched if an interval contains 0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lapwing import charts
from lapwing.charts import INK, INKS
from lapwing.curator.show import digits
from lapwing.curator.show.trees import Node

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lapwing.curator.show.answer import Column

_SIZE = (9.0, 6.0)  # inches
_ROOM = (9.0 * 72 * 0.94, 6.0 * 72 * 0.86)  # points of the picture itself, without its title and caption
_HEAD = 0.034  # of the height, for the name of what is divided further
_GAP = 0.0035
_LETTERS = (11.0, 9.5, 8.0, 7.0)
"""Sizes of letters in points, best first; smaller ones are not read."""


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


@dataclass(frozen=True, slots=True)
class Cell:
    """A node in its place: the lines that fit into it, and what it is divided into, if that can be read."""

    node: Node
    box: Box
    lines: tuple[str, ...]
    letters: float
    parts: tuple[Cell, ...] = ()

    def leaves(self) -> Iterator[Cell]:
        """The cells that are not divided."""
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.leaves()


@dataclass
class Treemap:
    """The cells of a tree, placed before anything is drawn: how much of it can be read decides whether it is."""

    column: Column
    roots: Sequence[Node]
    cells: tuple[Cell, ...] = field(init=False)

    def __post_init__(self) -> None:
        self._texts, self._noise = digits.shown(self.column), digits.half_widths(self.column)
        self.cells = self._placed(_first(self.roots), Box(0, 0, 1, 1))

    @property
    def named(self) -> float:
        """The share of the groups to be drawn whose name and value can be read."""
        read = sum(bool(leaf.lines) for leaf in self._leaves())
        return read / max(1, read + self._small())

    def _leaves(self) -> list[Cell]:
        return [leaf for cell in self.cells for leaf in cell.leaves()]

    def _inner(self) -> list[Node]:
        """What cells that are not divided hold."""
        return [node for leaf in self._leaves() for node in _within(leaf.node.children) if self._size(node) > 0]

    def _small(self) -> int:
        """The groups that should be drawn and have no name."""
        known = {cell.node.row for cell in _every(self.cells) if cell.lines} | {node.row for node in self._inner()}
        return sum(self._size(node) > 0 and node.row not in known for node in _within(_first(self.roots)))

    def remarks(self) -> list[str]:
        """What the picture leaves out."""
        inner, small = len(self._inner()), self._small()
        empty = sum(self._size(node) == 0 for node in _within(_first(self.roots)) if not node.children)
        says = []
        if any(self._is_unsure(leaf.node) for leaf in self._leaves()):
            says.append("hatched: the interval contains 0")
        if inner:
            says.append(f"not drawn: {_groups(inner)} inside these")
        if empty:
            says.append(f"not drawn: {_groups(empty)} of 0")
        if small:
            says.append(f"too small for a name: {_groups(small)}")
        return says

    def draw(self, *, interactive: bool) -> tuple[Figure, Axes]:
        """A figure with all cells."""
        figure, [axes] = charts.figure(1, 1, size=_SIZE, interactive=interactive)
        axes.set_axis_off()
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        for cell in self.cells:
            self._draw(axes, cell, 0)
        return figure, axes

    def _size(self, node: Node) -> float:
        return max(float(self.column.values[node.row] or 0), 0.0)

    def _is_unsure(self, node: Node) -> bool:
        span = None if self.column.noise is None else self.column.noise[node.row]
        return span is not None and span[0] <= 0

    def _placed(self, nodes: Sequence[Node], box: Box) -> tuple[Cell, ...]:
        sized = sorted((node for node in nodes if self._size(node) > 0), key=self._size, reverse=True)
        cells = []
        for node, place in zip(sized, squarified([self._size(node) for node in sized], box), strict=True):
            inner = place.flipped(box).inside(_GAP)
            if inner.width > 0 and inner.height > 0:
                cells.append(self._cell(node, inner))
        return tuple(cells)

    def _cell(self, node: Node, box: Box) -> Cell:
        """Divided only if most of it can still be named: boxes without names say nothing."""
        name, value, noise = digits.visible(node.name), self._texts[node.row].value, self._noise[node.row]
        if node.children and box.height > 3 * _HEAD:
            head, letters = _fitting([[f"{name}  {value}"]], box.width, _HEAD, (9.0, 8.0, 7.0))
            parts = self._placed(node.children, box.inside(_GAP, _HEAD)) if head else ()
            area = sum(leaf.box.width * leaf.box.height for part in parts for leaf in part.leaves() if leaf.lines)
            if area > 0.5 * box.width * box.height:
                return Cell(node, box, head, letters, parts)
        lines, letters = _fitting([[name, value, noise]] if noise else [], box.width, box.height, _LETTERS[:3])
        if not lines:
            lines, letters = _fitting([[name, value], [f"{name} {value}"]], box.width, box.height, _LETTERS)
        return Cell(node, box, lines, letters)

    def _draw(self, axes: Axes, cell: Cell, depth: int) -> None:
        from matplotlib.patches import Rectangle

        box = cell.box
        style: Mapping[str, Any] = charts.HATCHED if self._is_unsure(cell.node) else charts.FILLED
        if cell.parts:
            ground = charts.GROUNDS[min(depth, len(charts.GROUNDS) - 1)]
            style = {**charts.FILLED, "facecolor": ground, "lw": 0.0 if depth else 0.8}
        axes.add_patch(Rectangle((box.x, box.y), box.width, box.height, **style))
        if cell.parts:
            style = {"color": INKS["light"]["private"], "weight": "bold", "ha": "left"}
            _write(axes, cell.lines[0], (box.x + 0.008, box.y + box.height - _HEAD / 2 - _GAP / 2), cell.letters, style)
        else:
            self._write_lines(axes, cell)
        for part in cell.parts:
            self._draw(axes, part, depth + 1)

    def _write_lines(self, axes: Axes, cell: Cell) -> None:
        """The name above the value, and what the noise may have done below, in the middle of the cell."""
        step = 1.3 * cell.letters / _ROOM[1]
        middle, top = cell.box.x + cell.box.width / 2, cell.box.y + (cell.box.height + step * (len(cell.lines) - 1)) / 2
        for place, line in enumerate(cell.lines):
            style = {"color": charts.NOISE_IN_BOX if place == 2 else INK, "weight": "normal" if place else "bold"}
            _write(axes, line, (middle, top - place * step), cell.letters, {**style, "ha": "center"})


def _groups(count: int) -> str:
    return f"{count:,} group{'' if count == 1 else 's'}"


def _first(roots: Sequence[Node]) -> Sequence[Node]:
    """What is divided first: not the total, nor what is all of it."""
    while len(roots) == 1 and roots[0].children:
        roots = roots[0].children
    return roots


def _within(nodes: Sequence[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        yield from _within(node.children)


def _every(cells: Sequence[Cell]) -> Iterator[Cell]:
    for cell in cells:
        yield cell
        yield from _every(cell.parts)


def _fitting(
    choices: Sequence[Sequence[str]], width: float, height: float, letters: Sequence[float]
) -> tuple[tuple[str, ...], float]:
    """The first of these lines that fit, in the largest letters that do; none if none do."""
    across, down = width * _ROOM[0] * 0.9, height * _ROOM[1] * 0.94
    for lines in choices:
        for size in letters:
            if max(map(len, lines)) * 0.62 * size <= across and 1.3 * size * len(lines) <= down:
                return tuple(lines), size
    return (), 0.0


def _write(axes: Axes, text: str, place: tuple[float, float], size: float, style: dict[str, Any]) -> None:
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
