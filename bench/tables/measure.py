"""Every run in a process of its own, so that its memory is its own; contenders take turns."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.measure import peak


@dataclass(frozen=True, slots=True)
class Ran:
    """What one contender needed, turn by turn: seconds, and those of all cores together (`work`).

    Then the largest memory in megabytes, and how far off it is.
    """

    name: str
    seconds: list[float] = field(default_factory=list)
    megabytes: float = 0.0
    errors: dict[str, float] = field(default_factory=dict)
    work: list[float] = field(default_factory=list)

    @property
    def typical(self) -> float:
        return statistics.median(self.seconds)


def run_here(make: Callable[[], Callable[[], Any]], runs: int) -> dict[str, float]:
    """Build, run several times; the quietest counts."""
    job, seconds, work = make(), [], []
    for _ in range(runs):
        start, before = time.perf_counter(), time.process_time()
        job()
        seconds.append(time.perf_counter() - start)
        work.append(time.process_time() - before)
    return {"seconds": min(seconds), "work": min(work), "megabytes": peak()}


def apart(task: str, case: str, name: str, folder: Path) -> Any:
    """Do something in a process of its own."""
    command = [sys.executable, "-m", "bench.tables", task, case, name, str(folder)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(output.splitlines()[-1])


def take_turns(case: str, names: list[str], folder: Path, turns: int) -> list[Ran]:
    """Everybody once in every turn."""
    found = {name: Ran(name) for name in names}
    for _ in range(turns):
        for name in names:
            one, before = apart("--run", case, name, folder), found[name]
            found[name] = Ran(
                name,
                [*before.seconds, one["seconds"]],
                max(before.megabytes, one["megabytes"]),
                work=[*before.work, one["work"]],
            )
    return list(found.values())


def ratio(ours: Ran, theirs: Ran) -> float:
    """The median over turns of our time over theirs."""
    return statistics.median(a / b for a, b in zip(ours.seconds, theirs.seconds, strict=True))


def work_ratio(ours: Ran, theirs: Ran) -> float:
    """The same of all cores together, which other work on the machine disturbs less."""
    return statistics.median(a / b for a, b in zip(ours.work, theirs.work, strict=True))
