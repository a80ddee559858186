"""`python -m bench`: the noise, on one core."""

from __future__ import annotations

import os
import sys

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS", "POLARS_MAX_THREADS")


def one_core() -> None:
    """Stay on one core; must run before numpy is imported, which reads the thread counts once."""
    os.environ.update(dict.fromkeys(THREADS, "1"))
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


if __name__ == "__main__":
    one_core()
    from bench.cases import NOISE
    from bench.run import run

    sys.exit(run(NOISE))
