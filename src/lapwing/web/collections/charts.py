"""Estimates with error bars, one panel for each answer, batches from left to right."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lapwing.web.collections.watch import Publication

MOST_BATCHES = 40
"""The newest ones; more would not be told apart."""
MOST_PANELS = 24


@dataclass(frozen=True, slots=True)
class Bar:
    """One batch: where it stands in a picture 100 wide and 100 high, counted from the top left."""

    x: float
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Panel:
    """One answer over all batches."""

    answer: str
    bars: tuple[Bar, ...]
    text: str
    """For who cannot see it."""


@dataclass(frozen=True, slots=True)
class Chart:
    """All answers on one scale."""

    panels: tuple[Panel, ...]
    low: str
    high: str
    first: int
    last: int


def chart(batches: Sequence[Publication]) -> Chart | None:
    """The picture of these batches; None before the first one."""
    shown = list(batches)[-MOST_BATCHES:]
    if not shown:
        return None
    percent = all(row.mean is None for batch in shown for row in batch.answers)
    ends = [batch.value(row) for batch in shown for row in batch.answers]
    if not ends:  # no string of any batch was sent by enough people
        return None
    low, high = _scale(min(low for low, _, _ in ends), max(high for _, _, high in ends), percent=percent)
    labels = dict.fromkeys(row.label for batch in reversed(shown) for row in batch.answers)
    panels = [_panel(shown, label, low, high) for label in list(labels)[:MOST_PANELS]]
    written = "{:.0f} %" if percent else "{:.3g}"
    numbers = [number for batch in shown for number in batch.batches]
    return Chart(tuple(panels), written.format(low), written.format(high), min(numbers), max(numbers))


def _scale(low: float, high: float, *, percent: bool) -> tuple[float, float]:
    if percent:
        return 0.0, min(100.0, max(20.0, 20.0 * math.ceil(high / 20)))
    pad = 0.1 * (high - low) or 1.0
    return low - pad, high + pad


def _panel(batches: Sequence[Publication], answer: str, low: float, high: float) -> Panel:
    """One answer; a batch that says nothing about it, as one of strings may, has no bar."""
    bars, texts = [], []
    for number, batch in enumerate(batches):
        for row in [row for row in batch.answers if row.label == answer][:1]:
            least, middle, most = batch.value(row)
            down = [100 * (high - min(max(end, low), high)) / (high - low) for end in (least, middle, most)]
            x = 100 * (number + 0.5) / len(batches)
            bars.append(Bar(round(x, 2), round(down[1], 2), round(down[0], 2), round(down[2], 2)))
            texts.append(f"batch {batch.batches[-1]}: {middle:.3g}, between {least:.3g} and {most:.3g}")
    return Panel(answer, tuple(bars), f"{answer}: {'; '.join(texts[-5:])}")
