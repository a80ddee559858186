"""An answer to take away: as a picture in the house's colours, and as a table for a spreadsheet."""

from __future__ import annotations

import csv
import io
import math
import textwrap
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lapwing.curator.show import digits
from lapwing.curator.show.terminal import PALETTE
from lapwing.web.lab.result import Result, Series, Value
from lapwing.web.service.spreadsheets import defused

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, QUIET, LINE, TINT = "#22302e", "#66736f", "#d9dfdc", "#8ac9c2"
"""Exact values are ink; private ones teal, half as strong where an error bar lies on them."""
MOST_BARS, MOST_PANELS, LONGEST_LABEL = 40, 8, 28


def to_csv(result: Result) -> str:
    """One line for each value. Text that a spreadsheet would run is quoted; numbers are left as they are."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(["series", "label", "x", "value", "low", "high", "private"])
    private = "yes" if result.private else "no"
    for series in result.series:
        for one in series.values:
            numbers = [_digits(number) for number in (one.x, one.value, one.low, one.high)]
            writer.writerow([defused(series.name), defused(one.label), *numbers, private])
    return out.getvalue()


def to_png(result: Result, title: str = "") -> bytes:
    """A picture of an answer, with error bars and what it cost."""
    from matplotlib.figure import Figure

    panels = _panels(result)
    rows = max((len(panel[0].values) for panel in panels), default=1)
    lying = result.shape in ("bars", "table", "number")
    height = (0.9 + (0.34 if rows > 3 else 0.5) * min(rows, MOST_BARS)) if lying else 3.4
    figure = Figure(figsize=(7.5, 0.9 + height * len(panels)), layout="constrained")
    grid = figure.subplots(len(panels), 1, squeeze=False)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # an emoji that the font lacks is a box
        for axes, panel in zip(grid[:, 0], panels, strict=True):
            (_lying if lying else _along)(axes, panel, result)
            axes.set_title(_cut(panel[0].name), loc="left", fontsize=11, fontweight="bold", color=INK, parse_math=False)
        if title:
            figure.suptitle(_cut(title, 80), x=0.01, ha="left", fontsize=12, color=INK, parse_math=False)
        caption = "\n".join(textwrap.wrap(_caption(result), 105))
        figure.supxlabel(caption, fontsize=8, color=QUIET, x=0.01, ha="left", parse_math=False)
        out = io.BytesIO()
        figure.savefig(out, format="png", dpi=160, facecolor="white", metadata={"Software": None})
    return out.getvalue()


def _panels(result: Result) -> list[tuple[Series, ...]]:
    """Series that share a picture: all along one axis; of bars each has its own."""
    if result.shape in ("curve", "points"):
        return [result.series]
    return [(one,) for one in result.series[:MOST_PANELS]]


def _lying(axes: Axes, panel: Sequence[Series], result: Result) -> None:
    """A line for each value, from 0, as long as it is."""
    values = panel[0].values[:MOST_BARS]
    colour = TINT if result.private else QUIET
    for place, one in enumerate(values):
        if one.value is None or not math.isfinite(one.value):
            continue
        axes.barh(place, one.value, height=0.62, color=colour, zorder=1)
        ends = _ends(one)
        if ends:
            middle, half = sum(ends) / 2, (ends[1] - ends[0]) / 2
            axes.errorbar(middle, place, xerr=half, color=PALETTE["noise"], capsize=3, lw=1.6)
        right = max(one.value, ends[1] if ends else one.value, 0.0)
        axes.annotate(
            _said(one.value, ends), (right, place), (6, 0), textcoords="offset points", va="center", fontsize=8.5,
            color=QUIET, parse_math=False,
        )  # fmt: skip
    axes.set_yticks(range(len(values)), labels=[_cut(one.label) for one in values], parse_math=False, color=INK)
    axes.set_ylim(max(len(values), 1) - 0.4, -0.6)
    axes.axvline(0, color=LINE, lw=1)
    axes.margins(x=0.14)
    _style(axes, "x")


def _along(axes: Axes, panel: Sequence[Series], result: Result) -> None:
    """Curves or points over numbers."""
    shades = [PALETTE["private"], PALETTE["noise"], PALETTE["budget"], QUIET, INK]
    for place, series in enumerate(panel):
        drawn = [(one.x, one.value) for one in series.values if one.x is not None and one.value is not None]
        colour = shades[place % len(shades)] if result.private else (INK, *shades[1:])[place % len(shades)]
        marker = "o" if result.shape == "points" or len(drawn) < 30 else ""
        style = "" if result.shape == "points" else "-"
        axes.plot(
            [x for x, _ in drawn], [y for _, y in drawn], linestyle=style or "none", marker=marker, ms=4.5, lw=1.2,
            color=colour, label=_cut(series.name),
        )  # fmt: skip
        for one in series.values:
            ends = _ends(one)
            if ends and one.x is not None:
                axes.vlines(one.x, *ends, color=PALETTE["noise"], lw=1.6)
    if len(panel) > 1:
        legend = axes.legend(frameon=False, fontsize=8.5)
        for text in legend.get_texts():
            text.set_parse_math(False)
    axes.set_xlabel(_cut(result.x_label), color=QUIET, parse_math=False)
    _style(axes, "y")


def _ends(one: Value) -> tuple[float, float] | None:
    if one.low is None or one.high is None or not (math.isfinite(one.low) and math.isfinite(one.high)):
        return None
    return one.low, one.high


def _said(value: float, ends: tuple[float, float] | None) -> str:
    """A value with as many digits as its error leaves meaning to."""
    half = (ends[1] - ends[0]) / 2 if ends else 0.0
    return digits.number(value) if half <= 0 else f"{value:,.{max(0, min(9, 1 - math.floor(math.log10(half))))}f}"


def _style(axes: Axes, values: str) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for spine in axes.spines.values():
        spine.set_color(LINE)
    axes.tick_params(length=0, labelsize=9, labelcolor=QUIET)
    axes.grid(axis=values, color=LINE, lw=0.6)  # type: ignore[arg-type]
    axes.set_axisbelow(True)


def _caption(result: Result) -> str:
    if result.loss is None:
        return "exact, and not private: for those who may see the data anyway"
    parts = [f"private: {result.loss}"]
    if any(_ends(one) for series in result.series for one in series.values):
        parts.append(f"orange: {digits.percent(result.confidence)} interval for the exact answer")
    if max((len(series.values) for series in result.series), default=0) > MOST_BARS and result.shape in (
        "bars",
        "table",
    ):
        parts.append(f"the first {MOST_BARS} of each")
    return " · ".join(parts)


def _cut(text: str, most: int = LONGEST_LABEL) -> str:
    seen = digits.visible(text)
    return seen if len(seen) <= most else seen[: most - 1] + "…"


def _digits(number: float | None) -> str:
    """A number as a spreadsheet reads it; whole ones without a point."""
    if number is None or not math.isfinite(number):
        return ""
    return str(int(number)) if number == int(number) and abs(number) < 2**53 else repr(number)
