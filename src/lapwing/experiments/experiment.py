"""What an experiment is: it computes numbers, draws a picture of them, and writes a page about what one sees."""

from __future__ import annotations

import csv
import hashlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lapwing import charts
from lapwing.errors import InvalidParameter, NotPrivateWarning
from lapwing.noise import Reproducible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = dict[str, Any]
"""One line of the CSV that an experiment writes: plain values by the name of their column."""
Heard = Callable[[int, int], None]
"""A function that is told how much is done, of how much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """An experiment: a question to the library whose answer is a figure.

    The numbers come out the same everywhere, since their noise has a fixed seed and protects nobody.

    Args:
        name: Its name on the command line, which is also the name of the files that it writes.
        title: What the figure shows, as a heading.
        source: The publication whose figure is reproduced.
        compute: Gives the rows. It takes sizes by keyword, each with a default for a short run.
        draw: Makes a matplotlib figure from the rows.
        tell: Says what one sees, as Markdown, from the rows.
        full: The sizes of the long run, by keyword.

    >>> from lapwing.experiments import named
    >>> rows = named("response").rows(population=10, repeats=2)
    >>> list(rows[0])
    ['series', 'people', 'estimate', 'theory']
    """

    name: str
    title: str
    source: str
    compute: Callable[..., list[Row]] = field(repr=False)
    draw: Callable[[Sequence[Row]], Figure] = field(repr=False)
    tell: Callable[[Sequence[Row]], str] = field(repr=False)
    full: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def rows(self, *, full: bool = False, **sizes: Any) -> list[Row]:
        """Compute the numbers.

        Args:
            full: Whether to use the sizes of the long run, which may take minutes or hours.
            sizes: Sizes of your own, by the names that `compute` has for them. They go before all others.

        Returns:
            The rows of the CSV.
        """
        return self.compute(**({**self.full, **sizes} if full else sizes))

    def write(self, folder: str | Path, *, full: bool = False, heard: Heard | None = None, **sizes: Any) -> list[Path]:
        """Compute the numbers, and write a picture, a CSV and a page, named after the experiment.

        Args:
            folder: Where to write. It is made if it does not exist.
            full: As for `rows`.
            heard: A function of two numbers that is told how much is done, of how much. None means nobody is told;
                experiments that take no such function ignore it.
            sizes: As for `rows`.

        Returns:
            The three files: PNG, CSV and Markdown.

        >>> import tempfile
        >>> from lapwing.experiments import named
        >>> sorted(path.suffix for path in named("response").write(tempfile.mkdtemp(), population=10, repeats=2))
        ['.csv', '.md', '.png']
        """
        if heard is not None and "heard" in self.compute.__annotations__:
            sizes["heard"] = heard
        rows = self.rows(full=full, **sizes)
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        picture, table, page = (folder / f"{self.name}.{ending}" for ending in ("png", "csv", "md"))
        charts.save(self.draw(rows), picture, dpi=200)
        write_csv(rows, table)
        page.write_text(self.page(rows), encoding="utf-8")
        return [picture, table, page]

    def page(self, rows: Sequence[Row]) -> str:
        """A short page about the result, with a link to the picture and to the numbers.

        Args:
            rows: What `rows` gave.

        Returns:
            The page as Markdown.

        >>> from lapwing.experiments import named
        >>> response = named("response")
        >>> print(response.page(response.rows(population=10, repeats=2)).splitlines()[0])
        # Randomized response over the number of people
        """
        parts = (
            f"# {self.title}",
            f"![{self.title}]({self.name}.png)",
            self.tell(rows),
            f"Source: {self.source}. The numbers: [{self.name}.csv]({self.name}.csv), "
            f"made with `lapwing experiment run {self.name}`.",
        )
        return "\n\n".join(parts) + "\n"


def entropy(*seed: object) -> Reproducible:
    """The same noise for the same seed, so that a figure comes out the same everywhere. Nobody's data is protected."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return Reproducible(hashlib.sha256(repr(seed).encode()).digest())


def write_csv(rows: Sequence[Row], path: Path) -> None:
    """All rows; a value that a row does not have stays empty."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _short(value) for name, value in row.items()} for row in rows)


def slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Of the line through the logarithms, by least squares: y grows like x to this power.

    >>> round(slope([1, 10, 100], [3, 30, 300]), 12)
    1.0
    """
    import numpy as np

    return float(np.polyfit(np.log(xs), np.log(ys), 1)[0])


def select(rows: Sequence[Row], **wanted: object) -> list[Row]:
    """The rows with these values."""
    matches = [row for row in rows if all(row.get(name) == value for name, value in wanted.items())]
    if not matches:
        raise InvalidParameter("rows", wanted, "no row has these values", "Look at the first lines of the CSV.")
    return matches


def column(rows: Sequence[Row], name: str) -> list[Any]:
    """One value of every row."""
    return [row[name] for row in rows]


def _short(value: object) -> object:
    return f"{value:.10g}" if isinstance(value, float) else value
