"""The jobs on tables and the bars that they must meet."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.tables import contenders, data
from bench.tables.measure import Ran, ratio

LARGE, HUGE, DRAWS = 10_000_000, 100_000_000, 50


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
    judge: Callable[[Path, list[Any]], float] | None = None
    repeats: int = 2
    turns: int = 3


def _at_most(what: str, measured: float, most: float, unit: str = "") -> Verdict:
    return Verdict(f"{what} ≤ {most:.4g}{unit}", f"{measured:.3g}{unit}", measured <= most)


def _floor(found: dict[str, Ran], rivals: Sequence[str], most: float) -> Verdict:
    measured, name = max((ratio(found["Lapwing"], found[rival]), rival) for rival in rivals)
    return _at_most(f"time over {name}", measured, most, "×")


def _no_worse(found: dict[str, Ran], rivals: Sequence[str]) -> Verdict:
    best = min(error for rival in rivals if (error := found[rival].error) is not None)
    ours = found["Lapwing"].error
    assert ours is not None
    return _at_most("error", ours, best)


def _mean_error(folder: Path, results: list[Any]) -> float:
    """The median over groups of how far a mean is from that of all rows of the group."""
    import duckdb

    found = duckdb.sql(
        f"SELECT grp, AVG(value) FROM '{folder / 'visits.parquet'}' GROUP BY grp ORDER BY grp"
    ).fetchall()
    exact = dict(found)
    errors = [
        abs(mean - exact[group]) for result in results for group, mean in enumerate(result["mean"]) if group in exact
    ]
    return statistics.median(errors)


def _visits(rows: int, *, text: bool = False) -> Callable[[Path], None]:
    return lambda folder: data.visits(folder / "visits.parquet", rows, text=text)


def _file(make: Callable[..., Callable[[], Any]], **options: Any) -> Callable[[Path], Callable[[], Any]]:
    return lambda folder: make(str(folder / "visits.parquet"), **options)


def _column(make: Callable[[Any], Callable[[], Any]]) -> Callable[[Path], Callable[[], Any]]:
    return lambda folder: make(np.load(folder / "values.npy"))


def _values(folder: Path) -> None:
    np.save(folder / "values.npy", data.values(LARGE))


def _median_error(folder: Path, results: list[Any]) -> float:
    """The median over draws."""
    exact = float(np.median(np.load(folder / "values.npy")))
    return statistics.median(abs(result - exact) for result in results)


FLOORS = {"DuckDB, no noise": _file(contenders.duckdb_groups), "Polars, no noise": _file(contenders.polars_groups)}
CASES = (
    Case(
        "10 M rows, 1 M units, 1000 groups: count, sum, mean",
        _visits(LARGE),
        {"Lapwing": _file(contenders.lapwing_groups), **FLOORS, "PyDP after Polars": _file(contenders.pydp_groups)},
        lambda found: [
            _floor(found, list(FLOORS), 0.65),
            _at_most("memory", found["Lapwing"].megabytes, 1200, " MB"),
            _no_worse(found, ["PyDP after Polars"]),
        ],
        judge=_mean_error,
    ),
    Case(
        "the same, units as text",
        _visits(LARGE, text=True),
        {"Lapwing": _file(contenders.lapwing_groups), **FLOORS},
        lambda found: [_floor(found, list(FLOORS), 1.0)],
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
        turns=5,
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
            _at_most("time", min(found["Lapwing"].seconds), 0.25, " s"),
            _no_worse(found, ["diffprivlib"]),
        ],
        judge=_median_error,
        repeats=DRAWS,
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
