"""`python -m bench.ledger`: how fairly eight processes share one ledger, in a file.

Every process charges as often as it can for six seconds. What counts: how many charges the slowest had for one of the
fastest, and the longest time that anybody waited for one.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

from rich.console import Console

from lapwing.privacy import Ledger, PureDP

RESULTS = Path(__file__).parent / "results" / "ledger.json"
PROCESSES = 8
SECONDS = 6.0
COST = Fraction(1, 1024)
FAIREST = 0.25
"""The slowest has at least so much of what the fastest has."""
LONGEST = 1.0
"""Seconds for one charge."""


def _charge(path: str, ready: Any, results: Any) -> None:
    ledger, count, longest = Ledger(path), 0, 0.0
    ready.wait()
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        before = time.monotonic()
        ledger.charge("people", PureDP(COST))
        count, longest = count + 1, max(longest, time.monotonic() - before)
    results.put((count, longest))


def main() -> int:
    """Measure, show, save; 1 if a bar is missed."""
    with tempfile.TemporaryDirectory() as folder:
        path, system = str(Path(folder) / "ledger.db"), multiprocessing.get_context("spawn")
        Ledger(path).open("people", PureDP(8))
        ready, results = system.Barrier(PROCESSES), system.Queue()
        workers = [system.Process(target=_charge, args=(path, ready, results)) for _ in range(PROCESSES)]
        for worker in workers:
            worker.start()
        found = [results.get() for _ in workers]
        for worker in workers:
            worker.join()
        spent = Ledger(path).spent("people")
    counts, longest = sorted(count for count, _ in found), max(wait for _, wait in found)
    exact = spent == PureDP(sum(counts) * COST)
    share = counts[0] / counts[-1]
    met = share >= FAIREST and longest < LONGEST and exact
    shown = f"charges {counts[0]}–{counts[-1]} of {sum(counts)}; slowest/fastest {share:.2f} (bar {FAIREST}); "
    Console().print(f"{shown}longest wait {longest:.2f} s (bar {LONGEST:g}); {'met' if met else '[red]missed[/]'}")
    result = {"counts": counts, "share": share, "longest": longest, "exact": exact, "met": met}
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
