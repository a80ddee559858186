"""Figures of the README are those of the runs that are kept."""

from __future__ import annotations

import json
import re
import statistics
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SIZES = {"million": 1e6, "ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}


def kept(name: str) -> dict[str, dict[str, float]]:
    """By case, what one result took of everybody who ran; of a table of figures a second, how many there were."""
    run: dict[str, Any] = json.loads((ROOT / "bench" / "results" / f"{name}.json").read_text(encoding="utf-8"))
    if name == "tables":
        return {j["title"]: {r["name"]: statistics.median(r["seconds"]) for r in j["ran"]} for j in run["jobs"]}
    return {case["case"]: case["seconds_for_one"] for case in run["cases"]}


def figures(row: str) -> list[float]:
    """The first figure of every cell of a row of the README; a rate as the time for one."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    [cells] = [line.split("|")[2:-1] for line in readme.splitlines() if line.startswith(f"| {row} |")]
    found = []
    for cell in cells:
        match = re.search(r"([\d,.]+) (million|ns|µs|ms|s)\b", cell)
        if match:
            value = float(match[1].replace(",", "")) * SIZES[match[2]]
            found.append(1 / value if match[2] == "million" else value)
    return found


NOISE = ("Lapwing", "NumPy", "OpenDP")
ROWS = [
    ("discrete Laplace, scale 10", "latest", "discrete Laplace, scale 10", NOISE, 1),
    ("discrete Gaussian, sigma 10", "latest", "discrete Gaussian, sigma 10", NOISE, 1),
    ("randomized response, packed bits", "latest", "randomized response, packed bits", NOISE, 1),
    ("noisy max: the largest of a million random scores", "latest", "noisy max of 1e6 random scores", NOISE, 1e6),
    ("one scalar release", "latest", "one scalar release", ("Lapwing", "OpenDP"), 1),
    (
        "10 M rows of 1 M people in 1000 groups: count, sum, mean", "tables",
        "10 M rows, 1 M units, 1000 groups: count, sum, mean", ("Lapwing", "DuckDB, no noise", "PyDP after Polars"), 1,
    ),
    (
        "histogram of 10 M values in 1000 bins", "tables", "histogram of 10 M values, 1000 bins",
        ("Lapwing", "numpy.bincount", "diffprivlib"), 1,
    ),
    ("median of 10 M values", "tables", "median of 10 M values", ("Lapwing", "Polars, no noise", "diffprivlib"), 1),
    ("devices: one of 100 answers", "crowd", "client: 100-ary randomized response", ("Lapwing", "multi-freq-ldpy"), 1),
    ("devices: RAPPOR, 128 bits", "crowd", "client: RAPPOR, 128 bits", ("Lapwing", "pure-ldp"), 1),
    (
        "devices: Hadamard sketch, 1024 × 32,768", "crowd", "client: Hadamard count mean sketch, 1024 × 32768",
        ("Lapwing", "pure-ldp"), 1,
    ),
    ("aggregator: 1024 bits", "crowd", "aggregator: unary encoding, 1024 bits", ("Lapwing", "multi-freq-ldpy"), 1),
    (
        "analyst: count mean sketch, 250,000 candidates", "crowd",
        "decoding: count mean sketch, 250,000 candidates", ("Lapwing", "pure-ldp"), 250_000,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("row", "name", "case", "who", "times"), ROWS, ids=[row[0] for row in ROWS])
def test_a_figure_of_the_readme_is_that_of_the_run_that_is_kept(
    row: str, name: str, case: str, who: tuple[str, ...], times: float
) -> None:
    measured = [times * kept(name)[case][contender] for contender in who]
    assert figures(row) == pytest.approx(measured, rel=0.08)  # two digits
