"""Durable steps: how many a second a stream closes, beside the least that a crash-safe step needs of this disk.

The floor is a bare SQLite transaction under the same settings, and a small file replaced beside it (the anchor): seven
syncs. Steps without rows are what a bar is about; how long an engine takes to read rows is shown beside them. All take
turns in one folder. This is the only case of the bench in wall time, because it waits for the disk.
"""

from __future__ import annotations

import os
import sqlite3
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.streams.report import Result, Verdict

TURNS, EACH = 15, 4
LEAST_SHARE = 0.4


def measure() -> tuple[list[Result], list[Verdict]]:
    """Steps a second, and which part of the floor that is."""
    with tempfile.TemporaryDirectory(prefix="lapwing-bench-") as name:
        stream, rows = _stream(Path(name)), [{"cost": 3.0}, {"cost": 4.0}]
        stream.observe(rows)  # the engine starts
        works = (lambda: stream.observe(), lambda: stream.observe(rows), _floor(Path(name)))
        times = [tuple(map(_seconds, works)) for _ in range(TURNS)]
    empty, read, least = (statistics.median(turn) for turn in zip(*times, strict=True))
    share = statistics.median(turn[2] / turn[0] for turn in times)
    job = "durable steps"
    results = [
        Result(job, "Lapwing, a step without rows", 1 / empty, "a second"),
        Result(job, "Lapwing, two rows read by DuckDB", 1 / read, "a second"),
        Result(job, "a bare transaction and its anchor", 1 / least, "a second", "the floor: seven syncs"),
    ]
    demand = f"durable steps at least {LEAST_SHARE:.0%} of the bare transaction"
    return results, [Verdict(demand, f"{share:.0%}", share >= LEAST_SHARE)]


def _stream(folder: Path) -> Any:
    import numpy as np

    import lapwing as lw

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # there is no ledger: nothing is promised to anybody
        table = lw.open({"cost": np.array([1.0, 2.0])}, unit=lw.EACH_ROW, name="visits", bounds={"cost": (0, 10)})
        question = table.stream(lw.count(), lw.sum("cost"), every="step", steps=10_000)
        return question.open(folder / "visits.stream", rho=0.1)


def _floor(folder: Path) -> Callable[[], object]:
    path, anchor = folder / "bare.db", folder / "bare-anchor"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE state (content BLOB)")
        database.execute("INSERT INTO state VALUES (zeroblob(4096))")
    database.close()

    def closed() -> None:
        database = sqlite3.connect(path, isolation_level=None)
        database.execute("PRAGMA synchronous = EXTRA")
        database.execute("BEGIN IMMEDIATE")
        database.execute("UPDATE state SET content = randomblob(4096)")
        database.execute("COMMIT")
        database.close()
        fresh = anchor.with_name("bare-anchor.fresh")
        with fresh.open("wb") as file:
            file.write(os.urandom(64))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(anchor)
        handle = os.open(folder, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)

    return closed


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    for _ in range(EACH):
        work()
    return (time.perf_counter() - start) / EACH
