"""How figures look: quiet axes, labels beside the lines, colours that stay apart for everybody, a caption below."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lapwing.curator.show.terminal import PALETTE
from lapwing.errors import MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, QUIET, LINE = "#22302e", "#66736f", "#d9dfdc"
PRIVATE, NOISE, ADVERSARY = (PALETTE[name] for name in ("private", "noise", "adversary"))
BLUE = "#2f5d9b"
SERIES = (PRIVATE, NOISE, BLUE, "#d99a00", "#7a4b8b")
"""Lines that mean nothing by their colour; each has a marker and a label of its own as well."""
MARKERS = ("o", "s", "D", "^", "v")
_LETTER = 0.066  # inches of a small letter
_THOUSAND, _MILLION = 1e3, 1e6
_BETWEEN = ((8, (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)), (200, (1.0, 2.0, 5.0)))  # ticks of short logarithmic axes


def figure(
    across: int = 1, down: int = 1, *, size: tuple[float, float] | None = None, **options: Any
) -> tuple[Figure, list[Axes]]:
    """A figure with some panels beside one another, and some such rows."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "experiments") from None
    made = Figure(figsize=size or (7.5 if across == 1 else 4.6 * across, 4.2 * down), layout="constrained")
    grid = made.subplots(down, across, squeeze=False, **options)
    panels = list(grid.flat)
    for axes in panels:
        _quiet(axes)
    return made, panels


def name_axes(axes: Axes, title: str, x: str, y: str) -> None:
    """A title on the left, and quiet names along the axes."""
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold", color=INK)
    axes.set_xlabel(x, color=QUIET, fontsize=9)
    axes.set_ylabel(y, color=QUIET, fontsize=9)


def numbers(axes: Axes, *, x: str = "plain", y: str = "plain") -> None:
    """Ticks in words people use: 1,000, 10 M, 2 %. An axis is 'log', 'percent' or both. To be called after drawing."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

    for axis, kind, scale in ((axes.xaxis, x, axes.set_xscale), (axes.yaxis, y, axes.set_yscale)):
        if "log" in kind:
            scale("log")
            low, high = axis.get_view_interval()
            subs = next((subs for longest, subs in _BETWEEN if high < longest * max(low, 1e-300)), (1.0,))
            axis.set_major_locator(LogLocator(numticks=8, subs=subs))
            axis.set_minor_locator(NullLocator())
            axis.set_minor_formatter(NullFormatter())
        else:
            axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
        spoken = _percent if "percent" in kind else tick
        axis.set_major_formatter(FuncFormatter(lambda value, _, spoken=spoken: spoken(float(value))))


def only_ticks(axis: Any, values: Sequence[float]) -> None:
    """Ticks at these values and nowhere else."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axis.set_major_locator(FixedLocator(list(values)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: tick(float(value))))


def beside(axes: Axes, x: float, y: float, text: str, colour: str, *, shift: tuple[float, float] = (6, 0)) -> None:
    """A label where a line ends."""
    side = "left" if shift[0] >= 0 else "right"
    axes.annotate(text, (x, y), shift, textcoords="offset points", color=colour, fontsize=9, ha=side, va="center")


def legend(place: Axes | Figure, **options: Any) -> None:
    """A legend without a frame, for lines that are too close for labels; of a figure it may lie outside."""
    place.legend(frameon=False, fontsize=8.5, labelcolor=INK, **options)


def caption(made: Figure, text: str) -> None:
    """What one must know to read the figure, below it."""
    wide = int(made.get_size_inches()[0] / _LETTER)
    kept = text.replace(" = ", "\u00a0=\u00a0").replace(" %", "\u00a0%")
    made.supxlabel("\n".join(textwrap.wrap(kept, wide)), fontsize=8, color=QUIET, x=0.01, ha="left", parse_math=False)


def tick(value: float) -> str:
    """A number on an axis.

    >>> tick(1500), tick(1e7), tick(0.25), tick(0)
    ('1,500', '10 M', '0.25', '0')
    """
    if abs(value) >= _MILLION:
        text = f"{value / _MILLION:g} M"
    else:
        text = f"{value:,.0f}" if abs(value) >= _THOUSAND else f"{value:.3g}"
    return text.replace("-", "−")


def power(exponent: float) -> str:
    """Of n, in a title."""
    return f"$\\mathbf{{n^{{{exponent:.2f}}}}}$"


def _percent(value: float) -> str:
    return f"{tick(100 * value)} %"


def _quiet(axes: Axes) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for spine in axes.spines.values():
        spine.set_color(LINE)
    axes.tick_params(which="both", colors=QUIET, length=0, labelsize=9)
    axes.grid(axis="y", color=LINE, lw=0.6)
    axes.set_axisbelow(True)
