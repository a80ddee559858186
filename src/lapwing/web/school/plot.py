"""Pictures from lists, for exercises. Runs in the browser, with the standard library only.

    import plot

    plot.histogram([3.1, 2.7, 3.4])                          # how often which value came out
    plot.histogram({"without you": some, "with you": more})  # several in one picture
    plot.bars({"tea": 4, "coffee": 9})
    plot.line([0.1, 1, 10], [30, 3, 0.3])                    # or {"name": ys, …}

Nothing is drawn here: a picture is a few numbers and names, and the page draws them in its own colours. So a program
cannot put anything but a picture into the page.
"""

from __future__ import annotations

import contextlib
import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

MOST_PICTURES, MOST_SERIES, MOST_POINTS = 6, 4, 2000
MOST_BINS, USUAL_BINS = 200, 30
Numbers = Iterable[float]
_pictures: list[str] | None = None
"""Where pictures go while somebody looks; nowhere while a program is checked."""


def histogram(values: Numbers | Mapping[str, Numbers], bins: int | None = None, title: str = "") -> None:
    """How often which value came out; for a dict of lists, one outline for each list.

    >>> with watched() as pictures:
    ...     histogram([1, 2, 2, 3])
    >>> json.loads(pictures[0])["series"]
    [['', [1, 2, 1]]]
    """
    series = _series(values)
    edges = _edges([value for _, numbers in series for value in numbers], bins)
    counts = [(name, _counted(numbers, edges)) for name, numbers in series]
    _draw(kind="histogram", title=title, edges=edges, series=counts)


def bars(heights: Mapping[str, float], title: str = "") -> None:
    """A bar for each name."""
    if not isinstance(heights, Mapping):
        raise TypeError('Write plot.bars({"tea": 4, "coffee": 9}): a dict from names to heights.')
    if len(heights) > MOST_BINS:
        raise ValueError(f"A picture shows at most {MOST_BINS} bars. There are {len(heights)}.")
    names = [str(name)[:40] for name in heights]
    _draw(kind="bars", title=title, names=names, heights=_numbers(heights.values(), "heights"))


def line(xs: Numbers, ys: Numbers | Mapping[str, Numbers], title: str = "") -> None:
    """A line through the points; for a dict of lists, one line for each list."""
    across, series = _numbers(xs, "xs"), _series(ys)
    if len(across) > MOST_POINTS:
        raise ValueError(f"A line has at most {MOST_POINTS:,} points. There are {len(across):,}.")
    for name, numbers in series:
        if len(numbers) != len(across):
            which = f"“{name}”" if name else "ys"
            raise ValueError(
                f"A line needs as many ys as xs. There are {len(across)} xs, and {len(numbers)} in {which}."
            )
    _draw(kind="line", title=title, xs=across, series=series)


@contextlib.contextmanager
def importable() -> Iterator[None]:
    """Meanwhile programs find this module under the name `plot`."""
    before = sys.modules.get("plot")
    sys.modules["plot"] = sys.modules[__name__]
    try:
        yield
    finally:
        del sys.modules["plot"]
        if before is not None:
            sys.modules["plot"] = before


@contextlib.contextmanager
def watched() -> Iterator[list[str]]:
    """The pictures that are drawn meanwhile, as JSON."""
    global _pictures
    before = _pictures
    _pictures = pictures = list[str]()
    try:
        yield pictures
    finally:
        _pictures = before


def _draw(**picture: Any) -> None:
    if _pictures is not None and len(_pictures) < MOST_PICTURES:
        _pictures.append(json.dumps({**picture, "title": str(picture["title"])[:120]}))


def _series(values: Numbers | Mapping[str, Numbers]) -> list[tuple[str, list[float]]]:
    named = values if isinstance(values, Mapping) else {"": values}
    if len(named) > MOST_SERIES:
        raise ValueError(f"A picture shows at most {MOST_SERIES} lists. There are {len(named)}.")
    return [(str(name)[:40], _numbers(numbers, str(name) or "the list")) for name, numbers in named.items()]


def _numbers(values: Numbers, name: str) -> list[float]:
    numbers = list(values)
    if not numbers:
        raise ValueError(f"There is nothing to draw: {name} is empty.")
    for number in numbers:
        if not isinstance(number, (int, float)) or not math.isfinite(number):
            raise ValueError(f"Only finite numbers can be drawn. In {name} there is {number!r}.")
    return numbers


def _edges(values: Sequence[float], bins: int | None) -> list[float]:
    """The ends of the bins. Few whole numbers get a bin each, so that none of them shares."""
    low, high = min(values), max(values)
    if bins is None and high - low < USUAL_BINS and all(value == int(value) for value in values):
        return [low + step - 0.5 for step in range(int(high - low) + 2)]
    count = USUAL_BINS if bins is None else bins
    if not isinstance(count, int) or not 1 <= count <= MOST_BINS:
        raise ValueError(f"bins is a whole number from 1 to {MOST_BINS}, not {bins!r}.")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return [low + (high - low) * step / count for step in range(count + 1)]


def _counted(values: Sequence[float], edges: Sequence[float]) -> list[int]:
    low, span, counts = edges[0], edges[-1] - edges[0], [0] * (len(edges) - 1)
    for value in values:
        counts[min(int((value - low) / span * len(counts)), len(counts) - 1)] += 1
    return counts
