"""One table for people (rich and markdown) and one document for machines (JSON)."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from bench.measure import Timing
from bench.suite import Case, Latency, Ratio, Suite

RESULTS = Path(__file__).parent / "results"
COLUMNS = ("case", "who", "rate", "for one", "Lapwing is", "of the AES floor", "of memory", "bar")


@dataclass(frozen=True, slots=True)
class Verdict:
    """One bar: what was demanded, what was measured."""

    demand: str
    measured: str
    met: bool


@dataclass(frozen=True, slots=True)
class Result:
    """One case, measured: the contenders, ours first, and the floors (their unit of work is a byte)."""

    case: Case
    timings: list[Timing]
    aes: Timing
    memory: Timing
    megabytes: float = 0.0

    @property
    def ours(self) -> Timing:
        return self.timings[0]

    @property
    def share_of_aes(self) -> float:
        """Our rate over the rate at which AES alone could make the entropy that we consumed."""
        return self.ours.times_faster_than(self.aes) * self.ours.entropy_bytes

    @property
    def share_of_memory(self) -> float:
        return self.ours.times_faster_than(self.memory) * self.case.result_bytes

    def verdicts(self) -> list[Verdict]:
        """Each bar of the case, judged."""
        return [self._judge(bar) for bar in self.case.bars]

    def _judge(self, bar: Ratio | Latency) -> Verdict:
        if isinstance(bar, Latency):  # no rival to cancel the load of the machine, so the quietest turn counts
            least = min(self.ours.seconds)
            return Verdict(f"≤ {_seconds(bar.seconds)}", _seconds(least), least <= bar.seconds)
        rivals = [timing for timing in self.timings if timing.name in bar.rivals]
        ratio, name = min((self.ours.times_faster_than(rival), rival.name) for rival in rivals)
        return Verdict(f"≥ {bar.times:g}× {name}", _times(ratio), ratio >= bar.times)

    def rows(self) -> list[tuple[str, ...]]:
        """The lines of the table for this case, ours first."""
        judged = [f"{'met' if one.met else 'MISSED'}: {one.measured} ({one.demand})" for one in self.verdicts()]
        bars = "; ".join([*judged, *([f"at most {self.megabytes:,.0f} MB"] if self.case.peak else [])])
        memory = f"{self.share_of_memory:.0%}" if self.case.result_bytes else ""
        first = (self.case.title, "Lapwing", *self._speed(self.ours), "", f"{self.share_of_aes:.0%}", memory, bars)
        return [first, *(self._rival(timing) for timing in self.timings[1:])]

    def _rival(self, timing: Timing) -> tuple[str, ...]:
        note = f" ({timing.note})" if timing.note else ""
        ratio = self.ours.times_faster_than(timing)
        return ("", timing.name + note, *self._speed(timing), f"{_times(ratio)} as fast", "", "", "")

    def _speed(self, timing: Timing) -> tuple[str, str]:
        many = timing.rate >= 1e5
        rate = f"{_digits(timing.rate / 1e6)} M" if many else _digits(timing.rate)
        return f"{rate} {self.case.unit}/s", _seconds(timing.typical)


def _times(ratio: float) -> str:
    return f"{_digits(ratio)}×"


def _digits(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _seconds(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def show(suite: Suite, results: list[Result]) -> None:
    """Print the table."""
    table = Table(*COLUMNS, title=suite.title, box=box.SIMPLE_HEAD)
    for result in results:
        for row in result.rows():
            table.add_row(*row, style="bold" if row[1] == "Lapwing" else None)
        table.add_section()
    console = Console(width=None if os.isatty(1) else 200)
    console.print(table)
    console.print(_floors(results))


def save(suite: Suite, results: list[Result]) -> None:
    """Write one file for machines and one for people."""
    RESULTS.mkdir(exist_ok=True)
    versions = {package: version(package) for package in suite.packages}
    document = {"python": platform.python_version(), "processor": _processor(), "versions": versions}
    cases = [
        {
            "case": result.case.title,
            "unit": result.case.unit,
            "share_of_aes_floor": result.share_of_aes,
            "share_of_memory_bandwidth": result.share_of_memory,
            "seconds_for_one": {timing.name: timing.typical for timing in result.timings},
            "megabytes": result.megabytes,
            "bars": [{"demand": one.demand, "measured": one.measured, "met": one.met} for one in result.verdicts()],
        }
        for result in results
    ]
    floors = {"aes_ctr_bytes_per_second": results[0].aes.rate, "memory_bytes_per_second": results[0].memory.rate}
    text = json.dumps({**document, **floors, "cases": cases}, indent=2, ensure_ascii=False)
    (RESULTS / f"{suite.file}.json").write_text(text + "\n", encoding="utf-8")
    (RESULTS / f"{suite.file}.md").write_text(_markdown(suite, results, versions), encoding="utf-8")


def _markdown(suite: Suite, results: list[Result], versions: dict[str, str]) -> str:
    rows = [COLUMNS, ("---",) * len(COLUMNS), *(row for result in results for row in result.rows())]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    used = ", ".join(f"{name} {number}" for name, number in versions.items())
    machine = f"{_processor()}, Python {platform.python_version()}; {used}."
    return "\n".join([f"# {suite.title}", "", machine, "", *lines, "", _floors(results), ""])


def _floors(results: list[Result]) -> str:
    return f"Floors: AES-256-CTR {results[0].aes.rate / 1e9:.2f} GB/s, memory {results[0].memory.rate / 1e9:.2f} GB/s."


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
