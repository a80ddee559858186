"""`python -m bench.models`: how good our models are beside diffprivlib's at the same epsilon, and how fast.

python -m bench.models                     every cell, 20 seeds, results saved
python -m bench.models --only "k-means" --seeds 5
"""

from __future__ import annotations

import argparse
import os
import sys

from bench.models.cells import measure
from bench.models.report import save, show


def main() -> int:
    """Measure, print, save; exit status 1 if a bar was missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="families whose name contains this")
    parser.add_argument("--seeds", type=int, default=20)
    asked = parser.parse_args()
    result = measure(asked.only, asked.seeds)
    show(result)
    if not asked.only and asked.seeds >= 20:
        save(result)
    return 0 if all(verdict.met for verdict in result.verdicts) else 1


if __name__ == "__main__":
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # one process for each core instead
    sys.exit(main())
