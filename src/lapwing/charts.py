"""How charts look, all of them: quiet axes, labels beside the lines, colours that stay apart for everybody, a caption.

One meaning per colour: exact is ink, private teal, noise rufous, the adversary crimson, budget amber. Pictures are on
white paper, since they are files and do not know the page they will be on; `INKS` has the colours of words in both.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from lapwing.errors import InvalidParameter, MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PALETTE: Mapping[str, str] = MappingProxyType(
    {"private": "#2a9d8f", "noise": "#b5651d", "adversary": "#c1121f", "budget": "#d99a00"}
)
"""Of what is drawn: lines, bars and points."""
INK, QUIET, LINE, PAPER = "#22302e", "#66736f", "#d9dfdc", "#ffffff"
TINT = "#8ac9c2"
"""Private, half as strong, so that the error bar in it is seen."""
FILLED: Mapping[str, Any] = MappingProxyType({"facecolor": "#a5d6d0", "edgecolor": PALETTE["private"], "lw": 0.5})
HATCHED: Mapping[str, Any] = MappingProxyType({"facecolor": "#eef2f1", "edgecolor": "#cfa27c", "hatch": "///", "lw": 0})
"""Boxes with words: one that says something, and one that may as well say nothing."""
NOISE_IN_BOX = "#6f3a0c"
"""Of words about noise in a box, dark enough to be read there."""
GROUNDS = ("#e6f3f1", "#cfe8e4", "#b9deda")
"""Behind boxes that hold others, level by level."""
SHADES = ("#f3f9f8", "#6cc0b6")
"""From nothing to the most, behind numbers in a table."""
INKS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "light": MappingProxyType(
            {"ink": INK, "quiet": QUIET, "line": LINE, "paper": PAPER}
            | {"private": "#1d7a6f", "noise": PALETTE["noise"], "budget": "#8f6600"}
        ),
        "dark": MappingProxyType(
            {"ink": "#e4eae8", "quiet": "#97a5a1", "line": "#3a4543", "paper": "#1b2221"}
            | {"private": "#5cc9ba", "noise": "#e09a55", "budget": "#e6b23c"}
        ),
    }
)
"""Of words, dark or bright enough to be read on their paper."""
PRIVATE, NOISE, ADVERSARY = (PALETTE[name] for name in ("private", "noise", "adversary"))
BLUE = "#2f5d9b"
SERIES = (PRIVATE, NOISE, BLUE, "#d99a00", "#7a4b8b")
"""Lines that mean nothing by their colour; each has a marker and a label of its own as well."""
MARKERS = ("o", "s", "D", "^", "v")
LONGEST_LABEL = 32
_LETTER = 0.066  # inches of a small letter
_MILLION = 1e6
_BETWEEN = ((8, (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)), (200, (1.0, 2.0, 5.0)))  # ticks of short logarithmic axes


def figure(
    across: int = 1,
    down: int = 1,
    *,
    size: tuple[float, float] | None = None,
    values: Literal["x", "y"] = "y",
    interactive: bool = False,
    **options: Any,
) -> tuple[Figure, list[Axes]]:
    """A figure with some panels beside one another, and some such rows; an interactive one is shown by pyplot."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "plot") from None
    look: dict[str, Any] = {"figsize": size or (7.5 if across == 1 else 4.6 * across, 4.2 * down)}
    look["layout"] = "constrained"
    if interactive:
        import matplotlib.pyplot as plt

        whole = plt.figure(**look)
    else:
        whole = Figure(**look)
    panels = list(whole.subplots(down, across, squeeze=False, **options).flat)
    for axes in panels:
        _quiet(axes, values)
    return whole, panels


def save(whole: Figure, target: Any, **options: Any) -> None:
    """Write a picture, on white paper."""
    if isinstance(target, str | os.PathLike):
        drawable(target)
    whole.savefig(target, facecolor=PAPER, **options)


def drawable(path: str | os.PathLike[str], *, name: str = "path") -> None:
    """Refuse a picture that could not be written, before anything is spent on it."""
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError:
        raise MissingExtra("matplotlib", "plot") from None
    place = Path(path)
    if place.suffix[1:].lower() not in FigureCanvasBase.get_supported_filetypes():
        why = "is not a picture format that can be written"
        raise InvalidParameter(name, place.name, why, "Name a file that ends in .png, .svg or .pdf.")
    if not place.parent.is_dir():
        raise InvalidParameter(name, str(place), "there is no such folder", "Name a folder that exists.")
    if place.is_dir() or not os.access(place if place.exists() else place.parent, os.W_OK):
        raise InvalidParameter(name, str(place), "cannot be written", "Name a file that can.")


def title(axes: Axes, text: str, *, formulas: bool = False) -> None:
    """A title on the left. A dollar is a dollar unless there are formulas."""
    axes.set_title(text, loc="left", fontsize=11, fontweight="bold", color=INK, parse_math=formulas)


def name_axes(axes: Axes, heading: str, x: str, y: str, *, formulas: bool = False) -> None:
    """A title on the left, and quiet names along the axes."""
    title(axes, heading, formulas=formulas)
    axes.set_xlabel(x, color=QUIET, fontsize=9, parse_math=False)
    axes.set_ylabel(y, color=QUIET, fontsize=9, parse_math=False)


def numbers(axes: Axes, *, x: str = "plain", y: str = "plain") -> None:
    """Ticks in words people use: 1,000, 10 M, 2 %. An axis is 'log', 'percent' or both. To be called after drawing."""
    from matplotlib.ticker import LogLocator, NullFormatter, NullLocator

    for axis, kind, scale in ((axes.xaxis, x, axes.set_xscale), (axes.yaxis, y, axes.set_yscale)):
        if "log" in kind:
            scale("log")
            low, high = axis.get_view_interval()
            subs = next((subs for longest, subs in _BETWEEN if high < longest * max(low, 1e-300)), (1.0,))
            axis.set_major_locator(LogLocator(numticks=8, subs=subs))
            axis.set_minor_locator(NullLocator())
            axis.set_minor_formatter(NullFormatter())
        else:
            even_ticks(axis)
        written_ticks(axis, percent if "percent" in kind else tick)


def even_ticks(axis: Any, most: int = 6) -> None:
    """Ticks at round numbers."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]))
    written_ticks(axis)


def only_ticks(axis: Any, values: Sequence[float]) -> None:
    """Ticks at these values and nowhere else."""
    from matplotlib.ticker import FixedLocator, NullLocator

    axis.set_major_locator(FixedLocator(list(values)))
    axis.set_minor_locator(NullLocator())
    written_ticks(axis)


def dates(axis: Any) -> None:
    """Ticks at days, months or years, whatever is round."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=4, maxticks=13)  # type: ignore[no-untyped-call]
    axis.set_major_locator(locator)
    axis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


def written_ticks(axis: Any, words: Callable[[float], str] | None = None) -> None:
    """Ticks as people write numbers."""
    from matplotlib.ticker import FuncFormatter

    written = words or tick
    axis.set_major_formatter(FuncFormatter(lambda value, _: written(float(value))))


def beside(
    axes: Axes,
    x: float,
    y: float,
    text: str,
    colour: str = QUIET,
    *,
    shift: tuple[float, float] = (6, 0),
    size: float = 9,
    leader: str | None = None,
) -> None:
    """A label where a line, a bar or what may be its error ends; a leader of its colour joins the two."""
    side: Literal["left", "right"] = "left" if shift[0] >= 0 else "right"
    arrow = (
        None if leader is None else {"arrowstyle": "-", "color": leader, "lw": 1.4, "shrinkB": 0, "relpos": (0, 0.5)}
    )
    axes.annotate(
        text, (x, y), shift, textcoords="offset points", color=colour, fontsize=size, ha=side, va="center",
        parse_math=False, arrowprops=arrow,
    )  # fmt: skip


def whisker(axes: Axes, span: tuple[float, float], place: float) -> None:
    """What the noise may have done to a value, lying on it."""
    middle, half = sum(span) / 2, (span[1] - span[0]) / 2
    axes.errorbar(middle, place, xerr=half, color=NOISE, capsize=3, lw=1.6)


def rows(axes: Axes, names: Sequence[str]) -> None:
    """A line for each name, the first one on top."""
    axes.set_yticks(range(len(names)), labels=list(names), parse_math=False, color=INK)
    axes.set_ylim(max(len(names), 1) - 0.4, -0.6)


def cells(axes: Axes, across: Sequence[str], beside: Sequence[str], values: Sequence[Sequence[float]]) -> None:
    """A table of shaded cells, darker where values are larger, with names above and beside; 0 and less is lightest."""
    from matplotlib.colors import LinearSegmentedColormap

    most = max((value for line in values for value in line), default=0.0)
    shades = LinearSegmentedColormap.from_list("shades", SHADES)
    axes.imshow(values, cmap=shades, aspect="auto", vmin=0, vmax=max(1e-9, most))
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.xaxis.tick_top()
    for set_ticks, names in ((axes.set_xticks, across), (axes.set_yticks, beside)):
        set_ticks(range(len(names)), labels=list(names), parse_math=False, color=INK)
        set_ticks([place - 0.5 for place in range(1, len(names))], minor=True)
    axes.grid(which="minor", color=PAPER, lw=1.5)


def legend(place: Axes | Figure, *handles: Any, **options: Any) -> None:
    """A legend without a frame, for lines that are too close for labels; of a figure it may lie outside."""
    drawn = place.legend(*handles, frameon=False, fontsize=8.5, labelcolor=INK, **options)
    for text in drawn.get_texts():
        text.set_parse_math(False)


def caption(whole: Figure, text: str) -> None:
    """What one must know to read the figure, below it. Matplotlib would cut what does not fit."""
    wide = int(whole.get_size_inches()[0] / _LETTER)
    bound = text.replace(" = ", "\u00a0=\u00a0").replace(" %", "\u00a0%")
    lines = textwrap.wrap(bound, wide)
    whole.supxlabel("\n".join(lines), fontsize=8, color=QUIET, x=0.01, ha="left", parse_math=False)


def cut(text: str, most: int = LONGEST_LABEL) -> str:
    """A label that is not too long.

    >>> cut("a name that nobody reads to its end", 12)
    'a name that…'
    """
    return text if len(text) <= most else text[: most - 1] + "…"


def tick(value: float) -> str:
    """A number on an axis.

    >>> tick(1500), tick(1000.5), tick(1e7), tick(0.25), tick(-0.1 - 0.2), tick(0)
    ('1,500', '1,000.5', '10 M', '0.25', '−0.3', '0')
    """
    text = f"{value / _MILLION:.6g} M" if abs(value) > _MILLION - 1 else f"{value:,.6g}"
    return text.replace("-", "−")


def power(exponent: float) -> str:
    """Of n, in a title."""
    return f"$\\mathbf{{n^{{{exponent:.2f}}}}}$"


def percent(value: float) -> str:
    """A share on an axis."""
    return f"{tick(100 * value)} %"


def _quiet(axes: Axes, values: Literal["x", "y"]) -> None:
    """Lines where the values are read, and no frame; along names not even a line."""
    for side in ("top", "right", *(("left",) if values == "x" else ())):
        axes.spines[side].set_visible(False)
    for spine in axes.spines.values():
        spine.set_color(LINE)
    axes.tick_params(which="both", colors=QUIET, length=0, labelsize=9)
    axes.grid(axis=values, color=LINE, lw=0.6)
    axes.set_axisbelow(True)
