"""`python -m bench.hierarchies`: numbers of a tree that add up, how fast and how accurate, beside OpenDP's tree.

python -m bench.hierarchies            a million leaves; ranges at 1,024 and 10,000 leaves; results saved

Speed is processor time of everything: noise on all nodes, least squares, whole numbers that add up, intervals. The
error is the root mean square over random ranges of leaves: of our estimates by their exact variances, of OpenDP's from
many releases. "Flat" is noise on the leaves alone; "Hay" is equal noise on every level but the root (Hay, Rastogi,
Miklau and Suciu 2010). OpenDP has no weights: its tree has equal Laplace noise on all levels, for the same epsilon.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from lapwing.mechanisms import Hierarchy, Tree

RESULTS = Path(__file__).parent / "results" / "hierarchies.json"
SECONDS = 5.0
"""The bar for a million leaves."""
RUNS, RANGES = 40, 400
DESIGN = {"flat": 41.0, "Hay": 10.1}
"""Range errors at ρ = 0.1 and 1,024 leaves in pairs, as the design has them."""


@dataclass(frozen=True, slots=True)
class Result:
    """What one contender needed, and how far off it was."""

    job: str
    who: str
    leaves: int
    seconds: float | None = None
    range_rms: float | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """One bar: what was demanded, what was measured."""

    demand: str
    measured: str
    met: bool


def main() -> int:
    """Measure, print, save; exit status 1 if a bar was missed."""
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    results, verdicts = speed()
    for part in (
        accuracy(Tree.over(1024), "1,024 leaves in pairs", 2),
        accuracy(Tree.over(10_000, 10), "10,000 in tens", 10),
    ):
        results += part[0]
        verdicts += part[1]
    show(results, verdicts)
    save(results, verdicts)
    return 0 if all(verdict.met for verdict in verdicts) else 1


def speed() -> tuple[list[Result], list[Verdict]]:
    """A million leaves in several shapes; OpenDP gets fewer, and is compared by the leaf."""
    source, results, verdicts = np.random.default_rng(21), list[Result](), list[Verdict]()
    ragged = source.integers(500, 1500, 1000)
    shapes = {
        "a million leaves in pairs": Tree.over(1 << 20),
        "a million leaves in tens": Tree.over(1_000_000, 10),
        "a million towns in 1,000 uneven regions": Tree([[1000], ragged]),
    }
    for job, tree in shapes.items():
        leaves = source.poisson(3, tree.leaves)
        seconds = cpu(partial(whole_release, tree, leaves))
        results.append(Result(job, "Lapwing", tree.leaves, seconds))
        verdicts.append(Verdict(f"{job} in at most {SECONDS:g} s", f"{seconds:.3g} s", seconds <= SECONDS))
    few = 1 << 14
    counts = source.poisson(3, few)
    release = opendp_tree(few, 2, 1.0)
    seconds = cpu(partial(release, counts))
    results.append(Result("leaves in pairs", "OpenDP", few, seconds))
    ratio = (seconds / few) / (results[0].seconds or math.inf) * results[0].leaves
    verdicts.append(Verdict("faster by the leaf than OpenDP", f"{ratio:.3g}×", ratio > 1))
    return results, verdicts


def whole_release(tree: Tree, leaves: Any) -> None:
    """One release with its intervals; sums and signs are looked at as well."""
    mechanism = Hierarchy(tree=tree, rho=0.1, weights="ranges")
    estimate = mechanism.release(leaves)
    mechanism.intervals(estimate)
    for level in range(tree.levels - 1):
        assert (tree.add(estimate.levels[level + 1], level) == estimate.levels[level]).all()
    assert min(int(values.min()) for values in estimate.levels) >= 0


def accuracy(tree: Tree, job: str, fan_out: int) -> tuple[list[Result], list[Verdict]]:
    """Ranges, all contenders on the same ones."""
    source = np.random.default_rng(4)
    truth = source.poisson(20, tree.leaves)
    ranges = np.sort(source.integers(0, tree.leaves + 1, (RANGES, 2)))
    results, verdicts = [], []
    for money, size in (("rho", 0.1), ("epsilon", 0.1)):
        errors = {}
        shapes: dict[str, Any] = {
            "flat": [0] * (tree.levels - 1) + [1],
            "Hay": [0] + [1] * (tree.levels - 1),
            "Lapwing": "ranges",
        }
        for who, weights in shapes.items():
            mechanism = Hierarchy(tree=tree, weights=weights, integers=False, **{money: size})  # type: ignore[arg-type]
            errors[who] = exact_rms(mechanism, ranges)
        if money == "epsilon":
            release = opendp_tree(tree.leaves, fan_out, size)
            errors["OpenDP"] = rms(partial(release, truth), truth, ranges)
        symbol = {"rho": "ρ", "epsilon": "ε"}[money]
        results += [Result(f"{job}, {symbol} = {size}", who, tree.leaves, None, error) for who, error in errors.items()]
        for who in errors.keys() - {"Lapwing"}:
            ratio = errors["Lapwing"] / errors[who]
            demand = f"{job}, {symbol} = {size}: ranges no worse than {who}"
            verdicts.append(Verdict(demand, f"{ratio:.3g} of its error", ratio <= 1))
        if money == "rho" and fan_out == 2:
            for who, error in DESIGN.items():
                near = abs(errors[who] / error - 1) < 0.1
                verdicts.append(Verdict(f"{who} at ρ = 0.1 is near the design's {error:g}", f"{errors[who]:.3g}", near))
    return results, sorted(verdicts, key=lambda verdict: verdict.demand)


def exact_rms(mechanism: Hierarchy, ranges: Any) -> float:
    """The same from the variance of every range."""
    squares, places = mechanism.least_squares(), np.arange(mechanism.tree.leaves)
    return math.sqrt(np.mean([squares.variance_of((a <= places) & (places < b)) for a, b in ranges]))


def rms(release: Callable[[], Any], truth: Any, ranges: Any) -> float:
    """The error of sums of neighbouring leaves, over ranges and releases."""
    squares = []
    for _ in range(RUNS):
        sums = np.r_[0.0, np.cumsum(np.asarray(release(), float) - truth)]
        squares.append(np.mean((sums[ranges[:, 1]] - sums[ranges[:, 0]]) ** 2))
    return math.sqrt(np.mean(squares))


def opendp_tree(leaves: int, fan_out: int, epsilon: float) -> Callable[[Any], Any]:
    """OpenDP's tree with Laplace noise, made consistent."""
    dp: Any = import_module("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int), leaves), dp.l1_distance(T=int)
    tree = dp.t.make_b_ary_tree(*space, leaf_count=leaves, branching_factor=fan_out)
    noisy = tree >> dp.m.then_laplace(scale=tree.map(1) / epsilon)
    assert noisy.map(1) <= epsilon * (1 + 1e-9)
    consistent = dp.t.make_consistent_b_ary_tree(branching_factor=fan_out)
    return lambda counts: consistent(noisy([int(count) for count in counts]))[:leaves]


def cpu(run: Callable[[], Any]) -> float:
    """Processor time, the better of two turns: the first one makes tables that stay."""
    seconds = []
    for _ in range(2):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return min(seconds)


def show(results: list[Result], verdicts: list[Verdict]) -> None:
    """Print both tables."""
    console = Console(width=None if os.isatty(1) else 160)
    table = Table("job", "who", "leaves", "CPU seconds", "range rms", title="hierarchies", box=box.SIMPLE_HEAD)
    for result in results:
        style = "bold" if result.who == "Lapwing" else None
        numbers = ("" if n is None else f"{n:.3g}" for n in (result.seconds, result.range_rms))
        table.add_row(result.job, result.who, f"{result.leaves:,}", *numbers, style=style)
    console.print(table)
    for verdict in verdicts:
        console.print(f"{'met' if verdict.met else 'MISSED'}: {verdict.demand}: {verdict.measured}")


def save(results: list[Result], verdicts: list[Verdict]) -> None:
    """Write results/hierarchies.json."""
    versions = {package: version(package) for package in ("lapwing", "numpy", "opendp")}
    document = {"python": platform.python_version(), "versions": versions}
    content = {"results": [asdict(one) for one in results], "bars": [asdict(one) for one in verdicts]}
    RESULTS.write_text(json.dumps({**document, **content}, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
