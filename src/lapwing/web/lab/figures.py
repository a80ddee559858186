"""Downloads of an answer as a picture, and as a table for a spreadsheet."""

from __future__ import annotations

import csv
import io
import math
import textwrap
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lapwing import charts
from lapwing.charts import INK, LINE, NOISE, PALETTE, PRIVATE, QUIET, TINT
from lapwing.curator.show import digits
from lapwing.web.lab.result import Result, Series, Value
from lapwing.web.service.spreadsheets import defused
from lapwing.web.wording import plainly

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_BARS, MOST_PANELS = 40, 8
WIDE = 80
"""Characters of a line of a title."""
ROWS = ", only rows where "
"""What stands in a title before the filter."""


def to_csv(result: Result, title: str = "", draws: Sequence[Result] = ()) -> str:
    """One line for each value, with what was asked of which rows. Further draws have their number in a column besides.

    Text that a spreadsheet would run is quoted. Numbers are left as they are.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    names = ["series", "label", "x", "value", "low", "high", "private", "question", "remark"]
    writer.writerow([*names, "draw"] if draws else names)
    for turn, drawn in enumerate((result, *draws), 1):
        private, numbered = "yes" if drawn.private else "no", [turn] if draws else []
        over = f"over {drawn.rows_used}; low and high are for the noise only" if drawn.rows_used else ""
        for series in drawn.series:
            remark = defused("; ".join(part for part in (series.note, over) if part))
            for value in series.values:
                numbers = [_digits(number) for number in (value.x, value.value, value.low, value.high)]
                about = (private, defused(title), remark, *numbered)
                writer.writerow([defused(series.name), defused(value.label), *numbers, *about])
    return out.getvalue()


def to_png(result: Result, title: str = "") -> bytes:
    """A picture of an answer, with error bars and what it cost."""
    panels = _panels(result)
    rows = max((len(panel[0].values) for panel in panels), default=1)
    lying = result.shape in ("bars", "table", "number", "tree")
    height = (0.9 + (0.34 if rows > 3 else 0.5) * min(rows, MOST_BARS)) if lying else 3.4
    size = (7.5, 0.9 + height * len(panels))
    figure, grid = charts.figure(1, len(panels), size=size, values="x" if lying else "y")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # an emoji that the font lacks is a box
        for axes, panel in zip(grid, panels, strict=True):
            (_lying if lying else _along)(axes, panel, result)
            charts.title(axes, _cut(panel[0].name) + (f" over {_cut(result.rows_used)}" if result.rows_used else ""))
        if title:
            figure.suptitle(_lines(title), x=0.01, ha="left", fontsize=12, color=INK, parse_math=False)
        charts.caption(figure, _caption(result))
        out = io.BytesIO()
        charts.save(figure, out, format="png", dpi=160, metadata={"Software": None})
    return out.getvalue()


def written(value: Value) -> str:
    """A value as its page writes it: the error has two digits, and the value goes as far as they do."""
    if value.value is None:
        return "–"
    error = value.error or 0.0
    if error > 0 and not (value.value.is_integer() and (2 * error).is_integer()):
        text = f"{value.value:,.{min(12, max(0, 1 - math.floor(math.log10(error))))}f}"
    else:
        fine = 0 if value.value.is_integer() else max(0, min(12, 5 - math.floor(math.log10(abs(value.value)))))
        text = f"{value.value:,.{fine}f}"
    return text.replace("-", "−")


def _panels(result: Result) -> list[tuple[Series, ...]]:
    """Series that share a picture: all along one axis; of bars each has its own."""
    drawn = result.drawn or result.series
    if result.shape in ("curve", "points"):
        return [drawn]
    return [(series,) for series in drawn[:MOST_PANELS]]


def _lying(axes: Axes, panel: Sequence[Series], result: Result) -> None:
    """A line for each value, from 0, as long as it is."""
    values = panel[0].values[:MOST_BARS]
    colour = TINT if result.private else QUIET
    for place, bar in enumerate(values):
        if bar.value is None or not math.isfinite(bar.value):
            continue
        axes.barh(place, bar.value, height=0.62, color=colour, zorder=1)
        ends = _ends(bar)
        if ends:
            charts.whisker(axes, ends, place)
        right = max(bar.value, ends[1] if ends else bar.value, 0.0)
        charts.beside(axes, right, place, written(bar), size=8.5)
    charts.rows(axes, [_cut(bar.label) for bar in values])
    charts.even_ticks(axes.xaxis)
    axes.axvline(0, color=LINE, lw=1)
    axes.margins(x=0.14)


def _along(axes: Axes, panel: Sequence[Series], result: Result) -> None:
    """Curves or points over numbers."""
    shades = [PRIVATE, NOISE, PALETTE["budget"], QUIET, INK]
    for place, series in enumerate(panel):
        drawn = [(point.x, point.value) for point in series.values if point.x is not None and point.value is not None]
        colour = shades[place % len(shades)] if result.private else (INK, *shades[1:])[place % len(shades)]
        marker = "o" if result.shape == "points" or (len(drawn) < 30 and not result.drawn) else ""
        style = "" if result.shape == "points" else "-"
        axes.plot(
            [x for x, _ in drawn], [y for _, y in drawn], linestyle=style or "none", marker=marker, ms=4.5, lw=1.2,
            color=colour, label=_cut(series.name),
        )  # fmt: skip
        for point in series.values:
            ends = _ends(point)
            if ends and point.x is not None:
                axes.vlines(point.x, *ends, color=NOISE, lw=1.6)
    if len(panel) > 1:
        charts.legend(axes)
    charts.even_ticks(axes.xaxis)
    charts.even_ticks(axes.yaxis)
    axes.set_xlabel(_cut(result.x_label), color=QUIET, fontsize=9, parse_math=False)


def _ends(value: Value) -> tuple[float, float] | None:
    if value.low is None or value.high is None or not (math.isfinite(value.low) and math.isfinite(value.high)):
        return None
    return value.low, value.high


def _caption(result: Result) -> str:
    if result.loss is None:
        return "exact, and not private: for those who may see the data anyway"
    parts = [f"private: {plainly(str(result.loss))}"]
    if any(_ends(value) for series in result.drawn or result.series for value in series.values):
        sure = digits.percent(result.confidence)
        what = "noise only, not for rows that are left out" if result.rows_used else "the answer before noise"
        parts.append(f"orange: {sure} interval for {what}")
    for series in result.series if result.drawn else ():  # the numbers that the picture follows from
        parts += [f"{value.label}: {written(value)}, ± {value.off_by}" for value in series.values if value.error]
        parts.append(series.note)
    if max((len(series.values) for series in result.series), default=0) > MOST_BARS and result.shape in (
        "bars",
        "table",
        "tree",
    ):
        parts.append(f"only the first {MOST_BARS} of each output are drawn")
    return " · ".join(parts)


def _cut(text: str, most: int = charts.LONGEST_LABEL) -> str:
    return charts.cut(digits.visible(text), most)


def _lines(title: str) -> str:
    """A title on as many lines as it needs, up to three. Which rows were used is never left out."""
    shown = digits.visible(title)
    question, separator, rows = shown.rpartition(ROWS)
    if not separator or len(textwrap.wrap(shown, WIDE)) <= 3:
        return "\n".join(textwrap.wrap(shown, WIDE, max_lines=3, placeholder="…"))
    used = f"{ROWS.lstrip(', ')}{rows}"
    half = WIDE - 15
    if len(used) > 2 * half:  # a long name keeps its beginning, and the condition its end
        used = f"{used[:half]}…{used[-half:]}"
    below = textwrap.wrap(used, WIDE, max_lines=2, placeholder="…")
    above = textwrap.wrap(f"{question},", WIDE, max_lines=3 - len(below), placeholder="…")
    return "\n".join([*above, *below])


def _digits(number: float | None) -> str:
    """A number as a spreadsheet reads it; whole ones without a point."""
    if number is None or not math.isfinite(number):
        return ""
    return str(int(number)) if number == int(number) and abs(number) < 2**53 else repr(number)
