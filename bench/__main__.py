"""`python -m bench`: run every case, print and save one table, fail when a bar is missed.

Each case runs in a process of its own: what one case leaves in the memory allocator can make the next one twice as
fast.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import warnings
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.measure import Timing

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS", "POLARS_MAX_THREADS")


def one_core() -> None:
    """Stay on one core; must run before numpy is imported, which reads the thread counts once."""
    os.environ.update(dict.fromkeys(THREADS, "1"))
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def measure_here(title: str, turns: int) -> None:
    """Measure one case in this process and print the timings as JSON."""
    warnings.simplefilter("ignore")  # the peers warn about their own dependencies
    from bench import floors
    from bench.cases import CASES
    from bench.measure import take_turns

    cases = {case.title: case.contenders for case in CASES}
    timings = take_turns([*cases[title](), *floors.both()], turns)
    print(json.dumps([asdict(timing) for timing in timings]))


def measure_apart(title: str, turns: int) -> tuple[list[Timing], Timing, Timing]:
    """Measure one case in a fresh process: the contenders, then the floors of AES and of memory."""
    from bench.measure import Timing

    print(f"{title} …", file=sys.stderr)
    command = [sys.executable, "-m", "bench", "--case", title, "--turns", str(turns)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    *timings, aes, memory = [Timing(**fields) for fields in json.loads(output.splitlines()[-1])]
    return timings, aes, memory


def main() -> int:
    """Measure, report, judge."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Ours, peers and floors, side by side.")
    parser.add_argument("--turns", type=int, default=15, help="how often everybody runs (default 15)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only cases whose title has this; saves nothing")
    parser.add_argument("--case", metavar="TITLE", help="measure one case in this process, print JSON")
    options = parser.parse_args()
    one_core()
    if options.case:
        measure_here(options.case, options.turns)
        return 0
    from bench import report
    from bench.cases import CASES

    results = [
        report.Result(case, *measure_apart(case.title, options.turns)) for case in CASES if options.only in case.title
    ]
    report.show(results)
    if not options.only:
        report.save(results)
    missed = [(result.case.title, one) for result in results for one in result.verdicts() if not one.met]
    for title, one in missed:
        print(f"missed: {title}: {one.measured}, and the bar is {one.demand}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
