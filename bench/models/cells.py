"""Scores cell by cell (a family, a table, an epsilon) over many seeds, on all cores; then the times of fits."""

from __future__ import annotations

import math
import signal
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from rich.progress import Progress

from bench.models.families import FAMILIES, Family, quietly

EPSILONS = (0.1, 1.0, 10.0)
TURNS = 7
"""Of everybody's fit, for the times."""
PATIENCE = 30
"""Seconds for a fit of diffprivlib, whose PCA throws away draws for minutes where epsilon times rows is large."""
TRIES = 3
"""Seeds after which nobody waits any more for a cell that was never finished."""
FIRST_SEED = 1000
"""Splits and noise that no default was chosen by."""
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
    theirs: list[float | None]
    """None where a fit did not end in time."""
    exact: list[float]

    @property
    def pairs(self) -> list[tuple[float, float]]:
        """Both scores of the seeds that both finished."""
        return [(ours, theirs) for ours, theirs in zip(self.ours, self.theirs, strict=True) if theirs is not None]

    @property
    def gain(self) -> float:
        """How much better we are, on average."""
        return statistics.fmean(ours - theirs for ours, theirs in self.pairs)

    @property
    def error(self) -> float:
        """The standard error of the gain; both learn from and are scored on the same rows, seed by seed."""
        return statistics.stdev(ours - theirs for ours, theirs in self.pairs) / math.sqrt(len(self.pairs))

    @property
    def verdict(self) -> str:
        """Better or worse only outside two standard errors."""
        if len(self.pairs) < len(self.ours) / 2:
            return "no rival"
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
        compared = [cell for cell in self.cells if cell.verdict != "no rival"]
        worse = [cell for cell in compared if cell.verdict == "WORSE"]
        lower = [cell for cell in compared if cell.gain < 0]
        better = [cell for cell in self.cells if cell.verdict == "better"]
        slow = max(self.speeds, key=lambda speed: speed.ratio)
        return [
            Verdict("no cell worse than diffprivlib", f"{len(worse)} worse, {len(lower)} with a lower mean", not worse),
            Verdict(
                "most cells clearly better",
                f"{len(better)} of {len(compared)}",
                len(better) > MOST * len(compared),
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
    found: dict[tuple[str, int], list[dict[Any, Any]]] = {
        (family.name, place): [] for family in families for place in range(len(family.tables()))
    }
    with ProcessPoolExecutor() as pool, Progress() as bar:
        task = bar.add_task("fits", total=seeds * len(found))
        for some in (range(min(TRIES, seeds)), range(TRIES, seeds)):
            jobs = [(*place, FIRST_SEED + seed, _hopeless(runs)) for place, runs in found.items() for seed in some]
            for (name, place, *_), scores in zip(jobs, pool.map(_scores, jobs, chunksize=1), strict=True):
                found[name, place].append(scores)
                bar.advance(task)
    cells = [cell for family in families for cell in _cells(family, found)]
    return Result(cells, [_speed(family) for family in families])


def _hopeless(runs: list[dict[Any, Any]]) -> frozenset[float]:
    """The epsilons at which diffprivlib never ended in time."""
    return frozenset(e for e in EPSILONS if runs and all(run["theirs", e] is None for run in runs))


def _cells(family: Family, found: dict[tuple[str, int], list[dict[Any, Any]]]) -> Iterator[Cell]:
    for place, table in enumerate(family.tables()):
        runs = found[family.name, place]
        for epsilon in EPSILONS:
            ours, theirs = ([run[who, epsilon] for run in runs] for who in ("ours", "theirs"))
            exact = [run["exact"] for run in runs]
            yield Cell(family.name, family.metric, table.name, epsilon, ours, theirs, exact)


def _scores(job: tuple[str, int, int, frozenset[float]]) -> dict[Any, float | None]:
    """Everybody's scores for one seed, which decides the split and the noise."""
    name, place, seed, hopeless = job
    family = next(family for family in FAMILIES if family.name == name)
    train, test = family.tables()[place].split(seed)
    found: dict[Any, float | None] = {"exact": family.score(quietly(lambda: family.exact(train, seed)), test)}
    for epsilon in EPSILONS:
        found["ours", epsilon] = family.score(quietly(partial(family.ours, train, epsilon, seed)), test)
        theirs = None if epsilon in hopeless else _in_time(partial(family.theirs, train, epsilon, seed))
        found["theirs", epsilon] = None if theirs is None else family.score(theirs, test)
    return found


def _in_time(fit: Callable[[], Any]) -> Any:
    """The fitted model, or None if that takes too long."""

    def stop(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(PATIENCE)
    try:
        return quietly(fit)
    except TimeoutError:
        return None
    finally:
        signal.alarm(0)


def _speed(family: Family) -> Speed:
    table = max(family.tables(), key=lambda table: (len(table.X), table.X.shape[1]))
    seconds: dict[str, list[float]] = {"ours": [], "theirs": [], "exact": []}
    for turn in range(TURNS):
        seconds["ours"].append(_seconds(partial(family.ours, table, 1.0, turn)))
        seconds["theirs"].append(_seconds(partial(family.theirs, table, 1.0, turn)))
        seconds["exact"].append(_seconds(partial(family.exact, table, turn)))
    return Speed(family.name, **seconds)


def _seconds(fit: Callable[[], Any]) -> float:
    start = time.perf_counter()
    quietly(fit)
    return time.perf_counter() - start
