"""Run every case of a suite, print and save one table, fail when a bar is missed.

Each case runs in a process of its own: what one case leaves in the memory allocator can make the next one twice as
fast.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import warnings
from dataclasses import asdict

from bench import floors, report
from bench.measure import Timing, peak, take_turns
from bench.suite import Case, Suite


def _here(case: Case, turns: int) -> None:
    """Measure one case in this process and print the timings as JSON."""
    warnings.simplefilter("ignore")  # the peers warn about their own dependencies
    timings = take_turns([*case.contenders(), *floors.both()], turns)
    print(json.dumps({"timings": [asdict(timing) for timing in timings], "megabytes": peak()}))


def _apart(suite: Suite, case: Case, turns: int) -> report.Result:
    """Measure one case in a fresh process: the contenders, then the floors of AES and of memory."""
    print(f"{case.title} …", file=sys.stderr)
    command = [sys.executable, "-m", suite.module, "--case", case.title, "--turns", str(case.turns or turns)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found = json.loads(output.splitlines()[-1])
    *timings, aes, memory = [Timing(**fields) for fields in found["timings"]]
    return report.Result(case, timings, aes, memory, found["megabytes"])


def run(suite: Suite) -> int:
    """Measure, report, judge."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {suite.module}", description="Ours, peers and floors, side by side."
    )
    parser.add_argument(
        "--turns", type=int, default=suite.turns, help=f"how often everybody runs (default {suite.turns})"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="only cases whose title has this; saves nothing")
    parser.add_argument("--case", metavar="TITLE", help="measure one case in this process, print JSON")
    options = parser.parse_args()
    if options.case:
        _here(next(case for case in suite.cases if case.title == options.case), options.turns)
        return 0
    results = [_apart(suite, case, options.turns) for case in suite.cases if options.only in case.title]
    report.show(suite, results)
    if not options.only:
        report.save(suite, results)
    missed = [(result.case.title, one) for result in results for one in result.verdicts() if not one.met]
    for title, one in missed:
        print(f"missed: {title}: {one.measured}, and the bar is {one.demand}", file=sys.stderr)
    return 1 if missed else 0
