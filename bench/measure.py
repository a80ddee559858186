"""Timing that a noisy machine cannot bend: contenders take turns, and ratios are taken within a turn.

Medians, not the best of all turns: some samplers need longer for some draws, and their luckiest draw says little.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Contender:
    """Somebody who can do the job: `run` does it `work` times over (draws, bits, candidates or releases)."""

    name: str
    run: Callable[[], object]
    work: int
    note: str = ""
    count_entropy: Callable[[], int] | None = None
    """One more run that returns the bytes of entropy it consumed."""


@dataclass(frozen=True, slots=True)
class Timing:
    """What one contender needed for one unit of work: seconds turn by turn, and bytes of entropy."""

    name: str
    note: str
    seconds: list[float]
    entropy_bytes: float = 0.0

    @property
    def typical(self) -> float:
        return statistics.median(self.seconds)

    @property
    def rate(self) -> float:
        return 1 / self.typical

    def times_faster_than(self, other: Timing) -> float:
        """The median over turns of how many times faster this one was in that turn."""
        return statistics.median(theirs / ours for ours, theirs in zip(self.seconds, other.seconds, strict=True))


def take_turns(contenders: list[Contender], turns: int) -> list[Timing]:
    """Warm everybody up, then let them run one after the other, turn after turn."""
    for contender in contenders:
        contender.run()
    seconds: list[list[float]] = [[] for _ in contenders]
    gc.collect()
    gc.disable()
    try:
        for _ in range(turns):
            for contender, taken in zip(contenders, seconds, strict=True):
                start = time.perf_counter()
                contender.run()
                taken.append((time.perf_counter() - start) / contender.work)
    finally:
        gc.enable()
    return [
        Timing(one.name, one.note, taken, one.count_entropy() / one.work if one.count_entropy else 0.0)
        for one, taken in zip(contenders, seconds, strict=True)
    ]


def peak() -> float:
    """The largest resident memory of this process so far, in megabytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1000
