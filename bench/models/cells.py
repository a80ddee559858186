"""Scores cell by cell (a family, a table, an epsilon) over many seeds, on all cores; then the times of fits."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

from rich.progress import Progress

from bench.models.data import Table
from bench.models.families import FAMILIES, Family, quietly

EPSILONS = (0.1, 1.0, 10.0)
TURNS = 7
"""Of everybody's fit, for the times."""
SLOWEST = 3.0
"""Times scikit-learn's fit."""
MOST = 0.5
"""Of the cells must be clearly better."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The scores of one family on one table at one epsilon, seed by seed."""

    family: str
    metric: str
    table: str
    epsilon: float
    ours: list[float]
    theirs: list[float]
    exact: list[float]

    @property
    def gain(self) -> float:
        """How much better we are, on average."""
        return statistics.fmean(self.ours) - statistics.fmean(self.theirs)

    @property
    def error(self) -> float:
        """The standard error of the gain; both learn from and are scored on the same rows, seed by seed."""
        pairs = [ours - theirs for ours, theirs in zip(self.ours, self.theirs, strict=True)]
        return statistics.stdev(pairs) / math.sqrt(len(pairs))

    @property
    def verdict(self) -> str:
        """Better or worse only outside two standard errors."""
        if abs(self.gain) <= 2 * self.error:
            return "equal"
        return "better" if self.gain > 0 else "WORSE"


@dataclass(frozen=True, slots=True)
class Speed:
    """Seconds of a fit on the largest table, turn by turn."""

    family: str
    ours: list[float]
    theirs: list[float]
    exact: list[float]

    @property
    def ratio(self) -> float:
        """The median over turns of our time over scikit-learn's."""
        return statistics.median(ours / exact for ours, exact in zip(self.ours, self.exact, strict=True))


@dataclass(frozen=True, slots=True)
class Verdict:
    """One bar."""

    demand: str
    measured: str
    met: bool


@dataclass(frozen=True, slots=True)
class Result:
    """Everything measured in one run."""

    cells: list[Cell]
    speeds: list[Speed]

    @property
    def verdicts(self) -> list[Verdict]:
        """Nowhere worse, mostly better, and fast."""
        worse = [cell for cell in self.cells if cell.verdict == "WORSE"]
        lower = [cell for cell in self.cells if cell.gain < 0]
        better = [cell for cell in self.cells if cell.verdict == "better"]
        slow = max(self.speeds, key=lambda speed: speed.ratio)
        return [
            Verdict("no cell worse than diffprivlib", f"{len(worse)} worse, {len(lower)} with a lower mean", not worse),
            Verdict(
                "most cells clearly better",
                f"{len(better)} of {len(self.cells)}",
                len(better) > MOST * len(self.cells),
            ),
            Verdict(
                f"a fit at most {SLOWEST:g}× as long as scikit-learn's",
                f"{slow.ratio:.2g}× ({slow.family})",
                slow.ratio <= SLOWEST,
            ),
        ]


def measure(only: str, seeds: int) -> Result:
    """All cells, then all times (alone on the machine)."""
    families = [family for family in FAMILIES if only in family.name]
    jobs = [
        (family.name, place, seed)
        for family in families
        for place in range(len(family.tables()))
        for seed in range(seeds)
    ]
    found: dict[tuple[str, int], list[dict[str, Any]]] = {}
    with ProcessPoolExecutor() as pool, Progress() as bar:
        task = bar.add_task("fits", total=len(jobs))
        for (name, place, _), scores in zip(jobs, pool.map(_scores, jobs, chunksize=1), strict=True):
            found.setdefault((name, place), []).append(scores)
            bar.advance(task)
    cells = [cell for family in families for cell in _cells(family, found)]
    return Result(cells, [_speed(family) for family in families])


def _cells(family: Family, found: dict[tuple[str, int], list[dict[str, Any]]]) -> Iterator[Cell]:
    for place, table in enumerate(family.tables()):
        runs = found[family.name, place]
        for epsilon in EPSILONS:
            ours, theirs = ([run[who, epsilon] for run in runs] for who in ("ours", "theirs"))  # type: ignore[index]
            exact = [run["exact"] for run in runs]
            yield Cell(family.name, family.metric, table.name, epsilon, ours, theirs, exact)


def _scores(job: tuple[str, int, int]) -> dict[Any, float]:
    """Everybody's scores for one seed, which decides the split and the noise."""
    name, place, seed = job
    family = next(family for family in FAMILIES if family.name == name)
    train, test = family.tables()[place].split(seed)
    found: dict[Any, float] = {"exact": family.score(quietly(lambda: family.exact(train, seed)), test)}
    for epsilon in EPSILONS:
        for who, fit in (("ours", family.ours), ("theirs", family.theirs)):
            model = quietly(lambda fit=fit, epsilon=epsilon: fit(train, epsilon, seed))  # type: ignore[misc]
            found[who, epsilon] = family.score(model, test)
    return found


def _speed(family: Family) -> Speed:
    table = max(family.tables(), key=lambda table: (len(table.X), table.X.shape[1]))
    seconds: dict[str, list[float]] = {"ours": [], "theirs": [], "exact": []}
    for turn in range(TURNS):
        for who, took in seconds.items():
            took.append(_seconds(family, who, table, turn))
    return Speed(family.name, **seconds)


def _seconds(family: Family, who: str, table: Table, seed: int) -> float:
    start = time.perf_counter()
    if who == "exact":
        quietly(lambda: family.exact(table, seed))
    else:
        quietly(lambda: getattr(family, who)(table, 1.0, seed))
    return time.perf_counter() - start
