"""An answer on a terminal. One meaning per colour: exact is ink, private teal, noise rufous, budget amber.

Names and keys come from queries and data, so none is read as markup or obeyed as an escape code.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from lapwing.charts import PALETTE
from lapwing.curator.show import digits, words
from lapwing.curator.show.words import CLIPPED

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.table import Table
    from rich.text import Text

    from lapwing.curator.show.answer import Answer, Column

STYLES: Mapping[str, str] = MappingProxyType(
    {
        "exact": "grey62",
        "private": f"bold {PALETTE['private']}",
        "noise": PALETTE["noise"],
        "adversary": f"bold {PALETTE['adversary']}",
        "budget": PALETTE["budget"],
        "quiet": "dim",
    }
)
"""The styles of rich."""

ROWS = 60
"""Longer answers are cut on the screen, never in the data."""
_NAME, _KEY, _BAR = 28, 40, 20
_ENDLESS = 10_000
_UNSURE = "▒"
_ABOUT_BARS = f"bars: █ up to the lower end of the interval, {_UNSURE} from there to its upper end"


def plain(shown: RenderableType) -> str:
    """As text, without escape codes, as wide as the terminal."""
    from rich.console import Console

    console = Console(file=io.StringIO(), force_terminal=False, color_system=None, highlight=False)
    with console.capture() as caught:
        console.print(shown)
    return "\n".join(line.rstrip() for line in caught.get().splitlines())


def answer(answer: Answer) -> RenderableType:
    """The table, what is beside the values, what it cost, what remains, and the notes."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    below = Padding(Group(*_below(answer)), (1, 1, 0, 1))
    first = words.counted(answer)
    above = [Padding(Text(first), (0, 1, 1, 1))] if first else []
    return Group(*above, table(answer.columns), below)


def table(columns: Sequence[Column]) -> RenderableType:
    """Keys to the left, values with their noise beside; columns that do not fit follow in further tables."""
    return _Wide(tuple(columns))


class _Wide:
    """Columns side by side as far as the width allows."""

    def __init__(self, columns: tuple[Column, ...]) -> None:
        self.keys = [column for column in columns if column.is_key]
        self.values = [column for column in columns if not column.is_key]
        self.rows = len(columns[0].values) if columns else 0

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.measure import Measurement
        from rich.padding import Padding
        from rich.text import Text

        def fits(values: Sequence[_Piece], bar: Column | None = None, wrap: _Wrap = "nothing") -> bool:
            drawn = _drawn(self.keys, values, bar, wrap)
            needed = Measurement.get(console, options.update(width=_ENDLESS), drawn)
            return (needed.minimum if wrap == "keys" else needed.maximum) < options.max_width

        unsure = False
        for number, values in enumerate(_chunks(_pieces(self.values, fits), fits)):
            bar = next((piece.column for piece in values if piece.can_have_bars and self.rows > 1), None)
            bar = bar if fits(values, bar) else None
            wrap: _Wrap = next((some for some in _WRAPS if fits(values, bar, some)), "everything")
            unsure |= bar is not None and any(_UNSURE in line.plain for line in _bars(bar))
            yield Padding(_drawn(self.keys, values, bar, wrap), (1 if number else 0, 0, 0, 1))
        if unsure:
            yield Padding(Text(_ABOUT_BARS, style=STYLES["quiet"]), (0, 1, 0, 1))
        if self.rows > ROWS:
            yield Text(f" … and {self.rows - ROWS:,} more rows: answer.table has them all", style=STYLES["quiet"])


@dataclass(frozen=True, slots=True)
class _Piece:
    """What stands in one place of a table: a column, or a part of one that would be too wide."""

    column: Column
    value: bool = True
    """Whether the values are shown, with their noise."""
    interval: bool = True
    """Whether the intervals for the population are shown, in brackets."""

    @property
    def can_have_bars(self) -> bool:
        return self.column.is_count and self.value


def _pieces(values: Sequence[Column], fits: Callable[..., bool]) -> Iterator[_Piece]:
    """Every column; if it is too wide by itself, first its values and then what is in brackets."""
    for column in values:
        if column.interval is None or fits([_Piece(column)]) or fits([_Piece(column)], wrap="heads"):
            yield _Piece(column)
        else:
            yield _Piece(column, interval=False)
            yield _Piece(column, value=False)


def _chunks(values: Iterable[_Piece], fits: Callable[[Sequence[_Piece]], bool]) -> Iterator[list[_Piece]]:
    """As many columns at a time as fit, and at least one."""
    chunk: list[_Piece] = []
    for piece in values:
        if chunk and not fits([*chunk, piece]):
            yield chunk
            chunk = []
        chunk.append(piece)
    yield chunk


_Wrap = Literal["nothing", "heads", "keys", "everything"]
_WRAPS: tuple[_Wrap, ...] = ("nothing", "heads", "keys")
"""What takes several lines where there is no room: names of keys, then keys, and numbers last. None of them is cut."""


def _drawn(keys: Sequence[Column], values: Sequence[_Piece], bar: Column | None, wrap: _Wrap) -> Table:
    """A table."""
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table

    drawn = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0))
    content: list[list[Text]] = []
    for column in keys:
        number = column.type in ("integer", "number")
        justify: Literal["left", "right"] = "right" if number else "left"
        name, cells = _name(column), [_key(value) for value in column.values[:ROWS]]
        lengths = [cell.cell_len for cell in cells] + [cell_len(word) for word in name.plain.split()]
        width = max(lengths, default=0) if wrap == "heads" else None
        drawn.add_column(name, justify=justify, no_wrap=wrap == "nothing", overflow="fold", width=width)
        content.append(cells)
    for piece in values:
        header, cells = _cells(piece)
        least = None if wrap == "everything" else max([header.cell_len, *(cell.cell_len for cell in cells)])
        drawn.add_column(header, no_wrap=least is not None, overflow="fold", min_width=least)
        content.append(cells)
        if piece.value and piece.column is bar:
            drawn.add_column("", no_wrap=True)
            content.append(_bars(bar))
    for row in zip(*content, strict=True):
        drawn.add_row(*row)
    return drawn


def _cells(piece: _Piece) -> tuple[Text, list[Text]]:
    """A header and what stands below it: value, noise and interval, each in its place and colour."""
    from rich.text import Text

    column, shown = piece.column, digits.shown(piece.column)[:ROWS]
    if not piece.value:
        ends = [
            Text(f"({cell.interval})" if cell.interval else digits.NOTHING, style=STYLES["quiet"]) for cell in shown
        ]
        return Text.assemble(_name(column), " (population)"), ends
    values = [cell.value for cell in shown]
    if column.is_number:
        values = _aligned(values)
    noises = [cell.beside for cell in shown]
    intervals = [f"({cell.interval})" if cell.interval and piece.interval else "" for cell in shown]
    wide, wider = (max(map(len, texts), default=0) for texts in (values, noises))
    cells = [
        Text.assemble(
            (value.rjust(wide) if column.is_number else value, STYLES["private"]),
            (f" {noise.ljust(wider)}" if wider else "", STYLES["noise"]),
            (f" {interval}" if interval else "", STYLES["quiet"]),
        )
        for value, noise, interval in zip(values, noises, intervals, strict=True)
    ]
    header = _name(column)
    if column.is_number:
        header.pad_left(max(0, wide - header.cell_len))
    return header, cells


def _aligned(numbers: list[str]) -> list[str]:
    """Points below points."""
    behind = [len(number) - number.index(".") if "." in number else 0 for number in numbers]
    longest = max(behind, default=0)
    return [number + " " * (longest - length) for number, length in zip(numbers, behind, strict=True)]


def _bars(column: Column) -> list[Text]:
    """A bar for each value; the stretch where the exact one may end is drawn in the colour of noise."""
    from rich.text import Text

    spans = (column.noise or (None,) * len(column.values))[:ROWS]
    pairs = zip(column.values, spans, strict=False)
    ends = [(value or 0, value or 0) if span is None else span for value, span in pairs]
    longest = max((high for _, high in ends), default=0)
    if not 0 < longest < math.inf:
        return [Text() for _ in ends]
    drawn = []
    for low, high in ends:
        sure, perhaps = (round(_BAR * max(0.0, end / longest)) for end in (low, high))
        unsure = max(perhaps - sure, 1 if low < high and high > 0 else 0)
        drawn.append(Text("█" * sure, style=PALETTE["private"]) + Text(_UNSURE * unsure, style=PALETTE["noise"]))
    return drawn


def _name(column: Column) -> Text:
    from rich.text import Text

    text = Text(_short(digits.visible(column.name)), style="" if column.is_key else STYLES["private"], end="")
    text.truncate(_NAME, overflow="ellipsis")
    return text.append(CLIPPED, style=STYLES["noise"]) if column.clipped else text


def _short(name: str) -> str:
    """A long name without its middle: names of quantiles of one column differ at their ends."""
    return name if len(name) <= _NAME else f"{name[: _NAME // 2 - 1]}…{name[-_NAME // 2 :]}"


def _key(value: object) -> Text:
    from rich.text import Text

    text = Text(digits.key(value), style=STYLES["quiet"] if value is None or value == "" else "")
    text.truncate(_KEY, overflow="ellipsis")
    return text


def _below(answer: Answer) -> Iterator[RenderableType]:
    from rich.table import Table
    from rich.text import Text

    yield Text(words.spent(answer), style=STYLES["budget"])
    yield Text(words.risk(answer.loss))
    notes = Table.grid(padding=(0, 1))
    for mark, note in words.notes(answer):
        notes.add_row(Text(mark, style=STYLES["noise" if mark == CLIPPED else "quiet"]), Text(note, STYLES["quiet"]))
    yield notes
