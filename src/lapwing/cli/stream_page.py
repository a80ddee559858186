"""`lapwing stream show`: the page of a stream on a terminal."""

from __future__ import annotations

import time as clock_time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lapwing.cli.theme import console
from lapwing.errors import InvalidParameter

if TYPE_CHECKING:
    from rich.console import RenderableType

    from lapwing.curator.show.answer import Answer, Column
    from lapwing.curator.streams.answers import History
    from lapwing.curator.streams.numeric_stream import NumericStream, NumericTotal
    from lapwing.curator.streams.stream import Stream


@dataclass(frozen=True, kw_only=True)
class Shown:
    """Which answer is wanted: of the last step or an earlier one, over a window or a range, of all groups or some."""

    window: int | None = None
    top: int | None = None
    first: Any = None
    last: Any = None
    step: Any = None

    def __post_init__(self) -> None:
        ranged = self.first is not None or self.last is not None
        for name, given in (("window", self.window), ("top", self.top), ("step", self.step)):
            if ranged and given is not None:
                why = "is about totals and windows, and --from and --to name a range"
                raise InvalidParameter(name, given, why, "Leave it out, or write --window and --step.")

    @property
    def is_one(self) -> bool:
        """Whether one answer is wanted instead of those of all steps."""
        return any(given is not None for given in (self.first, self.last, self.step))

    def answer(self, stream: Stream) -> Answer:
        """The answer."""
        if self.first is not None or self.last is not None:
            first = 1 if self.first is None else self.first
            return stream.between(first, max(1, stream.closed) if self.last is None else self.last)
        if self.top is not None:
            return stream.top(self.top, window=self.window, until=self.step)
        if self.window is not None:
            return stream.window(self.window, until=self.step)
        return stream.estimate() if self.step is None else stream.at(self.step)

    def total(self, stream: NumericStream) -> NumericTotal:
        """Of a stream of numbers."""
        if self.step is not None:
            return stream.at(self.step)
        first = stream.mechanism.first + 1 if self.first is None else self.first
        return stream.between(first, stream.closed if self.last is None else self.last)

    def printed(self, stream: Stream, *, as_json: bool) -> str:
        """For other programs: one answer, or those of all steps."""
        if self.is_one:
            shown = self.answer(stream)
        elif self.top is not None:
            shown = stream.top_history(self.top, window=self.window)
        else:
            shown = stream.history(self.window)
        return shown.to_json() if as_json else shown.to_csv()


def progress(closed: int, steps: str, left: int, *, over: int = 0, ended: bool = False) -> str:
    """How far a stream is."""
    if ended:
        return f"{closed:,} of {steps} closed; then it was ended for good"
    waiting = over - closed
    late = f"; by the clock {waiting:,} of them {'is' if waiting == 1 else 'are'} over" if waiting > 0 and left else ""
    return f"{closed:,} of {steps} closed, {left:,} left{late}"


def page(stream: Stream, wanted: Shown) -> RenderableType:
    """The standing of a stream on a terminal."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    from lapwing.curator.show.digits import visible

    schedule, closed, left = stream.definition.schedule, stream.closed, stream.left
    ended = not left and closed < stream.steps
    far = progress(closed, schedule.words(stream.steps), left, over=stream.over, ended=ended)
    head: list[RenderableType] = [
        Text(visible(stream.definition.explain()), style="bold"),
        Text(f"{far} · cost {stream.loss}, paid once"),
    ]
    if not closed:
        none = "no step was closed" if ended else "no step is closed yet: lapwing stream observe …"
        return Padding(Group(*head, Text(none)), (0, 1))
    if wanted.is_one:
        return Group(Padding(Group(*head), (0, 1, 1, 1)), wanted.answer(stream))
    history = stream.history(wanted.window if wanted.window is not None or not stream.adds_up else 1)
    return Group(Padding(Group(*head), (0, 1)), _lines(history, stream, wanted.window), wanted.answer(stream))


def _lines(history: History, stream: Stream, window: int | None) -> RenderableType:
    """A small line for each group and output: what every step brought. The last bar is the newest step."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    from lapwing.curator.show import digits
    from lapwing.curator.show.lines import groups_of

    steps, *keys = [column for column in history.columns if column.is_key]
    outputs = [column for column in history.columns if not column.is_key and column.is_number]
    every = stream.definition.schedule.every
    each = f"each {every}" if window is None else f"over {stream.definition.schedule.words(window)}"
    groups = groups_of(keys, len(steps.values))
    if not groups:
        return Padding(Text(f"no lines: no group is in an answer {each}"), (1, 1))
    names = [max(map(len, (digits.visible(key.name), *map(digits.key, set(key.values))))) for key in keys]
    widths = [min(width, _LONGEST_KEY) for width in names]
    room = console().width - 2 - sum(width + _GAP for width in widths)
    beside = max(1, min(len(outputs), room // (_FEWEST_BARS + _GAP)))
    bars = max(1, min(_MOST_BARS, room // beside - _GAP))
    tables = [
        _table_of_lines(dict(zip(keys, widths, strict=True)), outputs[first : first + beside], groups, each, bars)
        for first in range(0, len(outputs), beside)
    ]
    return Padding(Group(*tables), (1, 1))


_LONGEST_KEY, _FEWEST_BARS, _MOST_BARS, _GAP = 24, 12, 40, 2


def _table_of_lines(
    keys: Mapping[Column, int],
    outputs: Sequence[Column],
    groups: Mapping[tuple[Any, ...], list[int]],
    each: str,
    bars: int,
) -> RenderableType:
    """The lines of some outputs, beside one another."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from lapwing.curator.show import digits
    from lapwing.curator.show.lines import sparkline

    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, _GAP, 0, 0))
    for key, width in keys.items():
        grid.add_column(digits.visible(key.name), width=width)
    for output in outputs:
        grid.add_column(f"{digits.visible(output.name)}, {each}", width=bars)
    for group, rows in groups.items():
        drawn = [sparkline([float(output.values[row] or 0) for row in rows], bars) for output in outputs]
        grid.add_row(*(Text(digits.key(value)) for value in group), *(Text(line, style="private") for line in drawn))
    return grid


def watched(page: Callable[[], RenderableType], seconds: float | None) -> None:
    """Print a page, and again after so many seconds, until Ctrl-C."""
    screen = console()
    screen.print(page())
    while seconds is not None:
        try:
            clock_time.sleep(seconds)
        except KeyboardInterrupt:
            break
        screen.clear()
        screen.print(page())
