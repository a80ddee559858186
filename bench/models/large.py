"""`python -m bench.models.large`: logistic regression on 2,000,000 × 20 beside scikit-learn's, in the same run.

Each fit has a process of its own, so that its memory is its own: the peak of the process, with the rows. What the fit
took besides them is in the results. Time is that of all cores together.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import peak

RESULTS = Path(__file__).parents[1] / "results" / "models-large.json"
ROWS, COLUMNS, TURNS = 2_000_000, 20, 3
MOST = 2.0
"""The bar: so many times what scikit-learn takes, of time and of memory."""
WHO = ("scikit-learn", "Lapwing")


def model(who: str) -> Any:
    """One that has seen nothing yet."""
    if who == "scikit-learn":
        from sklearn import linear_model

        return linear_model.LogisticRegression()
    from lapwing.models import LogisticRegression

    return LogisticRegression(epsilon=1, bounds=(-4, 4), classes=[0, 1])


def fit(who: str) -> dict[str, float]:
    """In this process."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(ROWS, COLUMNS))
    y = (X[:, 0] - X[:, 1] + generator.normal(size=ROWS) > 0).astype(int)
    chosen, before = model(who), peak()
    start = time.process_time()
    chosen.fit(X, y)
    return {"seconds": time.process_time() - start, "megabytes": peak(), "besides": peak() - before}


def apart(who: str) -> dict[str, float]:
    """In a process of its own."""
    command = [sys.executable, "-m", "bench.models.large", "--fit", who]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return found


def main() -> int:
    """Everybody in turn; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.models.large", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--fit", choices=WHO, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.fit:
        warnings.simplefilter("ignore")  # clamped values
        print(json.dumps(fit(asked.fit)))
        return 0
    turns = [{who: apart(who) for who in WHO} for _ in range(asked.turns)]
    bars = {}
    for what in ("seconds", "megabytes"):
        theirs, ours = (statistics.median(turn[who][what] for turn in turns) for who in WHO)
        ratio = statistics.median(turn["Lapwing"][what] / turn["scikit-learn"][what] for turn in turns)
        bars[f"{what} at most {MOST:g} × scikit-learn's"] = ratio <= MOST
        print(f"{what:9}  Lapwing {ours:,.1f}  scikit-learn {theirs:,.1f}  {ratio:.2f} ×")
    for bar, met in bars.items():
        print(f"{'met   ' if met else 'MISSED'} {bar}")
    machine = {"python": platform.python_version(), "cores": os.cpu_count()}
    RESULTS.write_text(
        json.dumps({"machine": machine, "bars": bars, "turns": turns}, indent=2) + "\n", encoding="utf-8"
    )
    return 0 if all(bars.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
