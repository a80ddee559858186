"""`python -m bench.tables`: run the jobs on tables; also how each of them runs in a process of its own."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from bench.tables import report
from bench.tables.cases import CASES
from bench.tables.measure import run_here


def main() -> int:
    """Measure, report, judge."""
    parser = argparse.ArgumentParser(prog="python -m bench.tables")
    parser.add_argument("--run", nargs=3, metavar=("CASE", "WHO", "FOLDER"), help="one run in this process, as JSON")
    parser.add_argument("--only", default="", metavar="TEXT", help="only cases whose title has this; saves nothing")
    options = parser.parse_args()
    if options.run:
        title, who, folder = options.run
        case = next(case for case in CASES if case.title == title)
        judge = case.judge
        rated = judge is not None and (who == "Lapwing" or "no noise" not in who)
        run_here(
            lambda: case.runs[who](Path(folder)),
            case.repeats if who == "Lapwing" or case.repeats < 20 else 5,
            (lambda results: judge(Path(folder), results)) if judge is not None and rated else None,
        )
        return 0
    with tempfile.TemporaryDirectory(prefix="lapwing-bench-") as folder:
        results = report.measure([case for case in CASES if options.only in case.title], Path(folder))
    report.show(results)
    if not options.only:
        report.save(results)
    return 0 if all(verdict.met for result in results for verdict in result.verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
