"""`python -m bench.anonymity`: how fast tables are made k-anonymous, beside anonypy and anjana.

python -m bench.anonymity            the census, and a million people; results saved
python -m bench.anonymity --whole    anonypy too gets all rows of the census, for which it needs minutes

The same rows, columns and k for everybody; against anjana the same hierarchies and the same share of rows suppressed.
anonypy gets the first 4,000 rows only, and is compared with us on these and with us on all rows. The floor is what
sorting alone costs: one `np.argsort` of all rows for each of the log2(rows / k) generations of halving.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import os
import platform
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from lapwing.anonymity.adult import ADULT_HIERARCHIES
from lapwing.anonymity.full_domain import FullDomain
from lapwing.anonymity.generalisation import GeneralisedTable
from lapwing.anonymity.mondrian import Mondrian
from lapwing.anonymity.table import encoded
from lapwing.datasets import adult

RESULTS = Path(__file__).parent / "results" / "anonymity.json"
K = 5
SUPPRESS = 0.02
NAMES = list(ADULT_HIERARCHIES)
FEW = 4_000
MANY = 1_000_000
TURNS = 3

Columns = dict[str, Any]
Job = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Result:
    """What one contender needed for one job, and what came out."""

    job: str
    who: str
    rows: int
    seconds: float
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One bar: what was demanded, what was measured."""

    demand: str
    measured: str
    met: bool


def main() -> int:
    """Measure, print, save; exit status 1 if a bar was missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--whole", action="store_true", help="all rows for anonypy")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")  # the peers warn about their own dependencies
    results, verdicts = measure(None if asked.whole else FEW)
    show(results, verdicts)
    save(results, verdicts)
    return 0 if all(verdict.met for verdict in verdicts) else 1


def measure(few: int | None) -> tuple[list[Result], list[Verdict]]:
    """All jobs; each of ours right before that of its peer."""
    people = {name: adult("train")[name] for name in (*NAMES, "income")}
    some = {name: values[:few] for name, values in people.items()}
    crowd = made_up(MANY)
    cut = Mondrian(k=K, quasi_identifiers=NAMES)
    taxonomies = Mondrian(k=K, quasi_identifiers={**ADULT_HIERARCHIES, "age": None})
    lift = FullDomain(k=K, quasi_identifiers=ADULT_HIERARCHIES, suppress=SUPPRESS)
    of_crowd = Mondrian(k=K, quasi_identifiers=[name for name in crowd if name != "illness"])

    halves = ours("census, multidimensional", people, lambda: cut.anonymise(people))
    before = ours("census, some rows", some, lambda: cut.anonymise(some))
    anonypy = peer("census, some rows", "anonypy", some, anonypy_job(some))
    trees = ours("census, with taxonomies", people, lambda: taxonomies.anonymise(people))
    levels = ours("census, full domain", people, lambda: lift.anonymise(people))
    anjana = peer("census, full domain", "anjana", people, anjana_job(people))
    million = ours("a million people", crowd, lambda: of_crowd.anonymise(crowd), turns=1)
    results = [halves, before, anonypy, trees, levels, anjana, million]
    verdicts = [
        at_most("the census, multidimensional", halves, 2),
        at_most("the census, with taxonomies", trees, 2),
        at_most("the census, full domain", levels, 2),
        at_most("a million people", million, 60),
        faster("than anonypy on the same rows", before, anonypy),
        faster("on all rows than anonypy on its rows", halves, anonypy),
        faster("than anjana", levels, anjana),
    ]
    floors = [Result(one.job, "sorting alone", one.rows, floor(one.rows)) for one in (halves, million)]
    return results + floors, verdicts


def ours(job: str, table: Columns, run: Callable[[], GeneralisedTable], turns: int = TURNS) -> Result:
    """The median of a few turns."""
    seconds, found = [], run() if turns > 1 else None
    for _ in range(turns):
        start = time.perf_counter()
        found = run()
        seconds.append(time.perf_counter() - start)
    assert found is not None
    assert found.k >= K
    return Result(job, "Lapwing", rows_of(table), statistics.median(seconds), outcome(found))


def outcome(found: GeneralisedTable) -> str:
    """What came out, in short."""
    return f"{len(found.classes):,} classes, certainty {found.losses.certainty:.3f}, {len(found.suppressed)} suppressed"


def peer(job: str, who: str, table: Columns, run: Callable[[], str]) -> Result:
    """One turn: they need long."""
    start = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        found = run()
    return Result(job, who, rows_of(table), time.perf_counter() - start, found)


def anonypy_job(table: Columns) -> Callable[[], str]:
    """Mondrian, numbers at the median and words in halves."""
    import anonypy
    import pandas  # type: ignore[import-untyped]

    frame = pandas.DataFrame(table)
    for name in [*NAMES[1:], "income"]:
        frame[name] = frame[name].fillna("missing").astype("category")

    def run() -> str:
        found = anonypy.Preserver(frame, NAMES, "income").anonymize_k_anonymity(k=K)
        return f"{len({tuple(str(row[name]) for name in NAMES) for row in found}):,} classes"

    return run


def anjana_job(table: Columns) -> Callable[[], str]:
    """Full-domain generalisation of the column with most values, step by step."""
    import pandas
    from anjana.anonymity import k_anonymity

    pandas.set_option("future.infer_string", False)  # it knows the older strings only
    frame = pandas.DataFrame({name: ["missing" if one is None else one for one in table[name]] for name in table})
    levels = {}
    for name, hierarchy in ADULT_HIERARCHIES.items():
        kinds = encoded(table[name])[1]
        ladder = hierarchy.ladder(kinds)
        levels[name] = {level: labels[ladder.place] for level, labels in enumerate(ladder.labels)}
        levels[name][0] = np.array(["missing" if kind is None else kind for kind in kinds], object)

    def run() -> str:
        found = k_anonymity(frame, [], NAMES, K, SUPPRESS * 100, levels)
        classes = found.groupby(NAMES).size()
        assert classes.min() >= K
        return f"{len(classes):,} classes, {len(frame) - len(found)} suppressed"

    return run


def made_up(rows: int) -> Columns:
    """People with eight quasi-identifiers: numbers of few and of many values, and words of uneven frequency."""
    source = np.random.default_rng(2006)
    words = {"sex": 2, "work": 8, "education": 16, "country": 40}
    return {
        "age": source.integers(17, 91, rows),
        "hours": source.integers(1, 100, rows),
        "wage": np.round(source.lognormal(10, 1, rows), 2),
        "height": np.round(source.normal(170, 10, rows), 1),
        **{
            name: np.array([f"{name} {i}" for i in range(kinds)], object)[
                np.minimum(source.geometric(2 / kinds, rows), kinds) - 1
            ]
            for name, kinds in words.items()
        },
        "illness": source.integers(0, 10, rows),
    }


def floor(rows: int) -> float:
    """Sorting all rows once for each generation."""
    keys = np.random.default_rng(1).integers(0, rows, rows)
    start = time.perf_counter()
    for _ in range(math.ceil(math.log2(rows / K))):
        np.argsort(keys)
    return time.perf_counter() - start


def rows_of(table: Columns) -> int:
    """The number of rows."""
    return len(next(iter(table.values())))


def at_most(what: str, one: Result, seconds: float) -> Verdict:
    """A bar in seconds."""
    return Verdict(f"{what} in at most {seconds:g} s", f"{one.seconds:.3g} s", one.seconds <= seconds)


def faster(what: str, one: Result, other: Result) -> Verdict:
    """A bar against a peer in the same run."""
    ratio = other.seconds / one.seconds
    return Verdict(f"faster {what}", f"{ratio:.3g}×", ratio > 1)


def show(results: list[Result], verdicts: list[Verdict]) -> None:
    """Print both tables."""
    console = Console(width=None if os.isatty(1) else 160)
    table = Table("job", "who", "rows", "seconds", "outcome", title=f"{K}-anonymity", box=box.SIMPLE_HEAD)
    for one in results:
        style = "bold" if one.who == "Lapwing" else None
        table.add_row(one.job, one.who, f"{one.rows:,}", f"{one.seconds:.3g}", one.outcome, style=style)
    console.print(table)
    for verdict in verdicts:
        console.print(f"{'met' if verdict.met else 'MISSED'}: {verdict.demand}: {verdict.measured}")


def save(results: list[Result], verdicts: list[Verdict]) -> None:
    """Write results/anonymity.json."""
    versions = {package: version(package) for package in ("lapwing", "numpy", "pandas", "anonypy", "anjana")}
    document = {"python": platform.python_version(), "versions": versions}
    found = {"results": [asdict(one) for one in results], "bars": [asdict(one) for one in verdicts]}
    RESULTS.write_text(json.dumps({**document, **found}, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
