"""What tests cost, in minutes of one core: `pytest --effort` lists them by room, beside the shares of CONTRIBUTING.md.

Counted is the processor time of a worker and of all that it started, browsers and clusters too; how busy the machine is
does not matter. A server that leaves its parent, as PostgreSQL's does, is not seen. No test fails for what it costs.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

HOUSE = Path(__file__).resolve().parents[2]
DEAREST = 40
"""So many files and so many tests are listed one by one."""
_TICK = os.sysconf("SC_CLK_TCK")
_NAME = "effort"
_OWN_ID = os.getpid
"""As it is now: a test may put something else into `os`."""


def shares() -> dict[str, float]:
    """From a room to what it may cost: the table of CONTRIBUTING.md."""
    told = (HOUSE / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = [line.strip("|").split("|") for line in told.splitlines() if re.match(r"\| .* \| [\d.]+ \|", line)]
    pairs = [(cells[place], cells[place + 1]) for cells in table for place in range(0, len(cells) - 1, 3)]
    return {
        ", ".join(re.findall("`([a-z]+)`", who)) or who.strip(): float(share) for who, share in pairs if who.strip()
    }


def room_of(file: str) -> str:
    """Where a test lives: `curator` for tests/curator/…, `examples` for what docstrings promise."""
    parts = Path(file).parts
    return parts[1] if parts[0] == "tests" and len(parts) > 2 else "examples"


def spent(process: int | None = None) -> float:
    """Seconds of one core, of a process and of all that came from it, ended or not."""
    total = 0.0
    for one in _tree(process or _OWN_ID()):
        try:
            told = Path(f"/proc/{one}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:  # it has just ended: its parent has counted it
            continue
        total += sum(map(int, told.rpartition(")")[2].split()[11:15])) / _TICK
    return total


def _tree(process: int) -> Iterator[int]:
    yield process
    tasks = Path(f"/proc/{process}/task")
    with contextlib.suppress(OSError):  # a process may end while it is looked at, and a thread
        for task in os.listdir(tasks):
            with contextlib.suppress(OSError):
                for child in (tasks / task / "children").read_text(encoding="ascii").split():
                    yield from _tree(int(child))


class Effort:
    """Notes what each test costs where it runs, and tells where the reports come together."""

    def __init__(self) -> None:
        self.last = spent()
        self.tests: Counter[str] = Counter()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Generator[None, Any, Any]:
        report = yield
        if report.when != "teardown":  # looking costs milliseconds beside browsers and clusters: one look counts all
            return report
        now = spent()
        report.user_properties = [(_NAME, max(now - self.last, 0))]
        self.last = now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == _NAME:
                self.tests[report.nodeid] += value  # type: ignore[assignment]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        rooms: Counter[str] = Counter()
        for test, seconds in self.tests.items():
            rooms[room_of(test.partition("::")[0])] += seconds  # type: ignore[assignment]
        line = terminalreporter.write_line
        terminalreporter.section("minutes of one core")
        for who, share in shares().items():
            inside = [room for room in who.split(", ") if room in rooms]
            if inside:
                cost = sum(rooms.pop(room) for room in inside) / 60
                more = "   MORE THAN ITS SHARE" if cost > share else ""
                line(f"{cost:7.2f} of {share:4.1f}  {', '.join(inside)}{more}")
        for room, seconds in rooms.most_common():
            line(f"{seconds / 60:7.2f}          {room}")
        line(f"{sum(self.tests.values()) / 60:7.2f}          all {len(self.tests):,} tests; the dearest, in seconds:")
        files: Counter[str] = Counter()
        for test, seconds in self.tests.items():
            files[test.partition("::")[0]] += seconds  # type: ignore[assignment]
        for listed in (files, self.tests):
            for name, seconds in listed.most_common(DEAREST):
                line(f"{seconds:7.1f}  {name}")
