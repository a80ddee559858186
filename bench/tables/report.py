"""One table for people and one document for machines."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from bench.tables.cases import CASES, Case, Verdict, at_most
from bench.tables.measure import Ran, apart, take_turns

RESULTS = Path(__file__).parents[1] / "results"
COLUMNS = ("job", "who", "seconds", "memory", "error", "bar")
PACKAGES = ("lapwing", "duckdb", "polars", "python-dp", "diffprivlib")


@dataclass(frozen=True, slots=True)
class Result:
    """One job, done by everybody."""

    title: str
    ran: list[Ran]
    verdicts: list[Verdict]

    def rows(self) -> list[tuple[str, ...]]:
        """The lines of the table, ours first."""
        bars = "; ".join(f"{'met' if one.met else 'MISSED'}: {one.measured} ({one.demand})" for one in self.verdicts)
        return [
            (
                self.title if place == 0 else "",
                one.name,
                f"{one.typical:.3g}",
                f"{one.megabytes:,.0f} MB",
                ", ".join(f"{error:.3g}" for error in one.errors.values()),
                bars if place == 0 else "",
            )
            for place, one in enumerate(self.ran)
        ]


def measure(cases: list[Case], folder: Path) -> list[Result]:
    """Make the data of each case, let everybody run, judge."""
    results: list[Result] = []
    for case in cases:
        print(f"{case.title} …", file=sys.stderr)
        case.prepare(folder)
        ran = [
            replace(one, errors=apart("--errors", case.title, one.name, folder) if one.name in case.errors else {})
            for one in take_turns(case.title, list(case.runs), folder, case.turns)
        ]
        verdicts = case.bars({one.name: one for one in ran})
        if case.title.startswith("100 M") and results:
            before = results[0].ran[0].typical
            verdicts += [at_most(f"{one.name} over 10 M rows", one.typical / before, 16, "×") for one in ran]
            verdicts.append(at_most("memory", ran[1].megabytes, 2000, " MB"))
        results.append(Result(case.title, ran, verdicts))
        for file in folder.iterdir():
            file.unlink()
    return results


def show(results: list[Result]) -> None:
    """Print the table."""
    table = Table(*COLUMNS, title=f"Questions about tables, {os.cpu_count()} cores", box=box.SIMPLE_HEAD)
    for result in results:
        for row in result.rows():
            table.add_row(*row, style="bold" if row[1] == "Lapwing" else None)
        table.add_section()
    Console(width=None if os.isatty(1) else 200).print(table)


def _last(title: str) -> Result | None:
    """What was measured last."""
    file = RESULTS / "tables.json"
    jobs = json.loads(file.read_text(encoding="utf-8"))["jobs"] if file.exists() else []
    for job in jobs:
        if job["title"] == title:
            return Result(title, [Ran(**one) for one in job["ran"]], [Verdict(**one) for one in job["verdicts"]])
    return None


def save(results: list[Result]) -> None:
    """Write results/tables.json and results/tables.md; jobs that were not run keep their last result."""
    RESULTS.mkdir(exist_ok=True)
    fresh = {result.title: result for result in results}
    known = [fresh.get(case.title) or _last(case.title) for case in CASES]
    results = [result for result in known if result is not None]
    versions = {package: version(package) for package in PACKAGES}
    text = json.dumps(
        {"versions": versions, "jobs": [asdict(result) for result in results]}, indent=2, ensure_ascii=False
    )
    (RESULTS / "tables.json").write_text(text + "\n", encoding="utf-8")
    rows = [COLUMNS, ("---",) * len(COLUMNS), *(row for result in results for row in result.rows())]
    used = ", ".join(f"{name} {number}" for name, number in versions.items())
    head = ["# Questions about tables", "", f"{os.cpu_count()} cores; {used}.", ""]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    (RESULTS / "tables.md").write_text("\n".join([*head, *lines, ""]), encoding="utf-8")
