"""Streams for tests: small tables full of oddities, and the exact integers that counters are fed."""

from __future__ import annotations

import datetime as dt
import math
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.curator.streams import stream as streams
from lapwing.curator.streams.stream import Stream

START = dt.date(2026, 2, 26)  # over the end of a month
REGIONS = ["N", "S"]
Row = dict[str, Any]


def long_after() -> dt.datetime:
    """A clock by which every step is over."""
    return dt.datetime(2030, 1, 1)


def odd_rows(dice: random.Random, count: int, *, days: int, people: int) -> list[Row]:
    """Rows with missing cells, equal ones, other regions, values beyond the bounds, and times outside the stream."""
    rows = []
    for _ in range(count):
        day = dt.datetime(2026, 2, 26) + dt.timedelta(days=dice.randrange(-1, days + 1), seconds=dice.randrange(86400))
        rows.append(
            {
                "patient": dice.choice([None, *range(people)]),
                "region": dice.choice([*REGIONS, *REGIONS, "elsewhere", None]),
                "cost": dice.choice([None, math.nan, -5, 0.1 + 0.2, 7, 7, 10, 1e9]),
                "at": dice.choice([day, day, day, day.replace(hour=0, minute=0, second=0), None]),
            }
        )
    return rows


def table(unit: Any = lw.EACH_ROW, **options: Any) -> lw.PrivateTable:
    """A table of which only the declarations matter."""
    empty = {
        "patient": np.array([], dtype=np.int64),
        "region": np.array([], dtype=object),
        "cost": np.array([], dtype=np.float64),
        "at": np.array([], dtype="datetime64[us]"),
    }
    return lw.open(empty, unit=unit, bounds={"cost": (0, 10)}, keys={"region": REGIONS}, name="visits", **options)


@contextmanager
def recorded_sums() -> Iterator[list[list[list[int]]]]:
    """The exact integers of every step, as the counters get them: for each step, each statistic and each group."""
    seen: list[list[list[int]]] = []
    real = streams.vectors

    def watched(*args: Any, **named: Any) -> list[list[int]]:
        sums = real(*args, **named)
        seen.append(sums)
        return sums

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "vectors", watched)
        yield seen


def opened(folder: Path, question: lw.StreamQuestion, **options: Any) -> Stream:
    """A stream in a new file, whose steps are all over."""
    folder.mkdir(parents=True, exist_ok=True)
    budget = options if {"epsilon", "rho"} & set(options) else {"epsilon": 1, **options}
    return question.open(folder / "state.db", **{"clock": long_after, **budget})


def cell(value: Any) -> float | None:
    """A cost as the declarations read it: clamped, or missing."""
    if value is None or math.isnan(value):
        return None
    return min(max(float(value), 0.0), 10.0)


def day_of(row: Row) -> int | None:
    """The step that a row belongs to, of days."""
    return None if row["at"] is None else (row["at"].date() - START).days + 1


def per_day(rows: Sequence[Row], days: int, *, late: str = "drop") -> list[list[Row]]:
    """Rows by the step that they belong to, all steps being closed at once."""
    steps: list[list[Row]] = [[] for _ in range(days)]
    for row in rows:
        day = day_of(row)
        if day is not None and day < 1 and late == "next":
            day = 1
        if day is not None and 1 <= day <= days:
            steps[day - 1].append(row)
    return steps
