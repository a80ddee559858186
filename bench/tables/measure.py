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


@dataclass(frozen=True, slots=True)
class Ran:
    """What one contender needed: seconds turn by turn, the largest memory in megabytes, and how far off it was."""

    name: str
    seconds: list[float] = field(default_factory=list)
    megabytes: float = 0.0
    error: float | None = None

    @property
    def typical(self) -> float:
        return statistics.median(self.seconds)


def peak() -> float:
    """The largest resident memory of this process so far, in megabytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1000


def run_here(make: Callable[[], Callable[[], Any]], runs: int, judge: Callable[[list[Any]], float] | None) -> None:
    """Build, run several times, print JSON."""
    job, seconds, results = make(), [], []
    for _ in range(runs):
        start = time.perf_counter()
        results.append(job())
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"seconds": min(seconds), "megabytes": peak(), "error": judge(results) if judge else None}))


def take_turns(case: str, names: list[str], folder: Path, turns: int) -> list[Ran]:
    """Everybody once in every turn."""
    found = {name: Ran(name) for name in names}
    for _ in range(turns):
        for name in names:
            command = [sys.executable, "-m", "bench.tables", "--run", case, name, str(folder)]
            output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            one, before = json.loads(output.splitlines()[-1]), found[name]
            errors = [error for error in (before.error, one["error"]) if error is not None]
            found[name] = Ran(
                name,
                [*before.seconds, one["seconds"]],
                max(before.megabytes, one["megabytes"]),
                statistics.median(errors) if errors else None,
            )
    return list(found.values())


def ratio(ours: Ran, theirs: Ran) -> float:
    """The median over turns of our time over theirs."""
    return statistics.median(a / b for a, b in zip(ours.seconds, theirs.seconds, strict=True))
