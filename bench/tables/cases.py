"""The jobs on tables and the bars that they must meet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench.tables import contenders, data
from bench.tables.measure import Ran, ratio, work_ratio

LARGE, LONG, HUGE = 10_000_000, 25_000_000, 100_000_000
DRAWS, SLOW_DRAWS = 50, 15
"""For the error of a median; who takes ten seconds for one gets fewer."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One bar: what was demanded, what was measured."""

    demand: str
    measured: str
    met: bool


@dataclass(frozen=True, slots=True)
class Case:
    """One job: its data, who does it, and what we demand of ourselves, who come first."""

    title: str
    prepare: Callable[[Path], None]
    runs: dict[str, Callable[[Path], Callable[[], Any]]]
    bars: Callable[[dict[str, Ran]], list[Verdict]]
    errors: dict[str, Callable[[Path], dict[str, float]]] = field(default_factory=dict)
    """How far off they are, measured by itself."""
    repeats: int = 3
    turns: int = 5


def at_most(what: str, measured: float, most: float, unit: str = "") -> Verdict:
    """A bar from above, and whether it is met."""
    return Verdict(f"{what} ≤ {most:.4g}{unit}", f"{measured:.3g}{unit}", measured <= most)


def _floor(found: dict[str, Ran], rivals: Sequence[str], most: float) -> Verdict:
    measured, name = max((ratio(found["Lapwing"], found[rival]), rival) for rival in rivals)
    return at_most(f"time over {name}", measured, most, "×")


def _no_worse(found: dict[str, Ran], rival: str) -> list[Verdict]:
    ours, theirs = found["Lapwing"].errors, found[rival].errors
    return [at_most(f"error of {name.split('_')[0]}", ours[name], error) for name, error in theirs.items()]


def _visits(rows: int, *, text: bool = False) -> Callable[[Path], None]:
    return lambda folder: data.visits(folder / "visits.parquet", rows, text=text)


def _file(make: Callable[..., Callable[[], Any]], **options: Any) -> Callable[[Path], Callable[[], Any]]:
    return lambda folder: make(str(folder / "visits.parquet"), **options)


def _csv(make: Callable[..., Callable[[], Any]]) -> Callable[[Path], Callable[[], Any]]:
    return lambda folder: make(str(folder / "visits.csv"))


def _column(make: Callable[[Any], Callable[[], Any]]) -> Callable[[Path], Callable[[], Any]]:
    return lambda folder: make(np.load(folder / "values.npy"))


def _values(folder: Path) -> None:
    np.save(folder / "values.npy", data.values(LARGE))


def _median_off(make: Callable[[Any], Callable[[], Any]], draws: int) -> Callable[[Path], dict[str, float]]:
    return lambda folder: contenders.median_errors(make, np.load(folder / "values.npy"), draws)


FLOORS = {"DuckDB, no noise": _file(contenders.duckdb_groups), "Polars, no noise": _file(contenders.polars_groups)}
CASES = (
    Case(
        "10 M rows, 1 M units, 1000 groups: count, sum, mean",
        _visits(LARGE),
        {"Lapwing": _file(contenders.lapwing_groups), **FLOORS, "PyDP after Polars": _file(contenders.pydp_groups)},
        lambda found: [
            _floor(found, list(FLOORS), 0.75),
            at_most("memory", found["Lapwing"].megabytes, 1200, " MB"),
            *_no_worse(found, "PyDP after Polars"),
        ],
        errors={
            "Lapwing": lambda folder: contenders.lapwing_errors(str(folder / "visits.parquet")),
            "PyDP after Polars": lambda folder: contenders.pydp_errors(str(folder / "visits.parquet")),
        },
    ),
    Case(
        "the same, units as text",
        _visits(LARGE, text=True),
        {"Lapwing": _file(contenders.lapwing_groups), **FLOORS},
        lambda found: [_floor(found, list(FLOORS), 1.0)],
        turns=3,
    ),
    Case(
        "25 M rows as CSV, 0.7 GB",
        lambda folder: data.visits_csv(folder / "visits.csv", LONG),
        {"Lapwing": _csv(contenders.lapwing_groups), "DuckDB, no noise": _csv(contenders.duckdb_groups)},
        lambda found: [
            at_most("work over DuckDB", work_ratio(found["Lapwing"], found["DuckDB, no noise"]), 2.0, "×"),
            at_most("memory", found["Lapwing"].megabytes, 1000, " MB"),
        ],
        repeats=1,
        turns=3,
    ),
    Case(
        "histogram of 10 M values, 1000 bins",
        _values,
        {
            "Lapwing": _column(contenders.lapwing_histogram),
            "numpy.bincount": _column(contenders.numpy_histogram),
            "diffprivlib": _column(contenders.diffprivlib_histogram),
        },
        lambda found: [_floor(found, ["numpy.bincount"], 1.5)],
        repeats=5,
    ),
    Case(
        "median of 10 M values",
        _values,
        {
            "Lapwing": _column(contenders.lapwing_median),
            "Polars, no noise": _column(contenders.polars_median),
            "diffprivlib": _column(contenders.diffprivlib_median),
        },
        lambda found: [
            at_most("time", min(found["Lapwing"].seconds), 0.25, " s"),
            *_no_worse(found, "diffprivlib"),
        ],
        errors={
            "Lapwing": _median_off(contenders.lapwing_median, DRAWS),
            "diffprivlib": _median_off(contenders.diffprivlib_median, SLOW_DRAWS),
        },
        turns=1,
    ),
    Case(
        "100 M rows, 10 M units",
        _visits(HUGE),
        {
            "Lapwing": _file(contenders.lapwing_groups),
            "Lapwing in 2 GB": _file(contenders.lapwing_groups, memory="2GB"),
        },
        lambda found: [],
        repeats=1,
        turns=1,
    ),
)
