"""`python -m bench.tables`: run the jobs on tables; also how each of them runs in a process of its own."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import warnings
from pathlib import Path

from bench.tables import report
from bench.tables.cases import CASES
from bench.tables.measure import run_here


def main() -> int:
    """Measure, report, judge."""
    parser = argparse.ArgumentParser(prog="python -m bench.tables")
    places = ("CASE", "WHO", "FOLDER")
    parser.add_argument("--run", nargs=3, metavar=places, help="one run in this process, as JSON")
    parser.add_argument("--errors", nargs=3, metavar=places, help="how far somebody is off, as JSON")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="only cases whose title has this; others keep their last result"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # the peers warn about their own dependencies
    if options.run or options.errors:
        title, who, folder = options.run or options.errors
        case = next(case for case in CASES if case.title == title)
        if options.run:
            print(json.dumps(run_here(lambda: case.runs[who](Path(folder)), case.repeats)))
        else:
            print(json.dumps(case.errors[who](Path(folder))))
        return 0
    with tempfile.TemporaryDirectory(prefix="lapwing-bench-") as folder:
        results = report.measure([case for case in CASES if options.only in case.title], Path(folder))
    report.show(results)
    report.save(results)
    return 0 if all(verdict.met for result in results for verdict in result.verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
