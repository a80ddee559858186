"""What a suite of benchmarks is: cases, everybody who can do the job, and what we demand of ourselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.measure import Contender


@dataclass(frozen=True, slots=True)
class Ratio:
    """Ours must be at least `times` faster than the fastest of `rivals`."""

    times: float
    rivals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Latency:
    """Ours must need at most so many seconds for one unit of work."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Case:
    """One job, everybody who can do it, and what we demand of ourselves."""

    title: str
    unit: str
    contenders: Callable[[], list[Contender]]
    bars: tuple[Ratio | Latency, ...]
    result_bytes: float
    """Bytes of result written for one unit of work (0: not a matter of memory)."""
    turns: int | None = None
    """If not as many as the suite has."""
    peak: bool = False
    """Whether the largest memory of the process is of interest."""


@dataclass(frozen=True, slots=True)
class Suite:
    """Cases that are run by one command and reported in one table."""

    module: str
    """`python -m module` runs it."""
    file: str
    """Results are saved as results/file.json and results/file.md."""
    title: str
    packages: tuple[str, ...]
    cases: tuple[Case, ...]
    turns: int = 15
