"""`python -m bench.lab`: a large file is brought to the lab and asked, beside plain DuckDB in the same run.

    bring      CSV to Parquet as the lab does it, in little memory; DuckDB alone, with all it can get, is the floor
    ask        a private mean by group, charged to a ledger on disk; DuckDB's exact answer is the floor
    preview    what a question would cost and be worth, without the data

Each runs in a process of its own, so that its peak of memory is its own.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb
from rich import box
from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results" / "lab.json"
MOST_MEMORY, SLOWEST_PREVIEW = 1.0, 1.0
"""The bars: gigabytes while a file of any size is brought or asked, and seconds for a preview."""
GROUPS = [f"ward {i}" for i in range(12)]
BYTES_A_ROW = 21


@dataclass(frozen=True, slots=True)
class Result:
    """What one thing took."""

    what: str
    seconds: float
    memory: float
    """Its peak, in gigabytes."""


def made(path: Path, gigabytes: float) -> None:
    """A CSV of people, wards and costs."""
    rows = int(gigabytes * 1e9 / BYTES_A_ROW)
    names = ", ".join(f"'{name}'" for name in GROUPS)
    query = f"""SELECT hash(i) % {rows // 4} AS person, [{names}][1 + i % 12] AS ward, round(random() * 2000, 2) AS cost
                FROM range({rows}) AS t(i)"""
    duckdb.execute(f"COPY ({query}) TO '{path}' (HEADER)")


def bring(folder: Path) -> None:
    """As the lab takes a file."""
    from lapwing.web.lab.intake import take
    from lapwing.web.lab.jobs import Progress

    raw = folder / "raw"
    os.link(folder / "people.csv", raw)  # the lab removes what it has taken
    take(raw, folder / "table.parquet", Progress(), most=4 << 30)


def bring_floor(folder: Path) -> None:
    """DuckDB alone."""
    source = f"read_csv('{folder / 'people.csv'}', all_varchar = true)"
    duckdb.execute(f"COPY (FROM {source}) TO '{folder / 'floor.parquet'}' (FORMAT parquet)")


def ask(folder: Path) -> None:
    """As the lab releases an answer."""
    from lapwing.privacy import Ledger
    from lapwing.web.lab.analyses import ANALYSES
    from lapwing.web.lab.analysis import Data
    from lapwing.web.lab.statement import DATASET, StatedColumn, Statement

    columns = (
        StatedColumn("person", "integer"),
        StatedColumn("ward", "text", keys=tuple(GROUPS)),
        StatedColumn("cost", "number", (0, 2000)),
    )
    statement = Statement(name="people", columns=columns, unit="person", people=1_000_000)
    ledger = Ledger(folder / "ledger.db")
    ledger.open(DATASET, statement.allowance)
    question = ANALYSES["groups"].of(statement, {"by": "ward", "measures": ["mean"], "column": "cost"})
    question.release(Data(folder / "table.parquet", statement, ledger), 0.5, lambda _: None)


def ask_floor(folder: Path) -> None:
    """DuckDB alone, exactly; people count as often as they come."""
    source = folder / "table.parquet"
    duckdb.execute(f"SELECT ward, avg(CAST(cost AS DOUBLE)) FROM '{source}' GROUP BY ward").fetchall()


WORK: dict[str, Callable[[Path], None]] = {
    "bring, DuckDB alone": bring_floor,
    "bring": bring,
    "ask, DuckDB alone": ask_floor,
    "ask": ask,
}


def measured(what: str, folder: Path) -> Result:
    """In a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.lab", "--one", what, str(folder)], capture_output=True, text=True, check=True
    )
    seconds, memory = json.loads(done.stdout)
    return Result(what, seconds, memory)


def previews() -> list[Result]:
    """Every kind of question about the clinic, as its form begins; what it imports is not counted."""
    from lapwing.web.lab.analyses import ANALYSES, TEACHING_ONLY
    from lapwing.web.lab.bundled import EXAMPLES
    from lapwing.web.lab.questions import question

    statement = next(one.statement for one in EXAMPLES.values() if one.slug == "clinic")
    found = []
    for slug in ANALYSES:
        analysis = question(statement, slug, None).analysis
        if analysis is None or slug in TEACHING_ONLY:
            continue
        import lapwing.models  # noqa: F401

        start = time.process_time()
        analysis.preview(statement)
        found.append(Result(f"preview {slug}", time.process_time() - start, 0.0))
    return found


def main() -> int:
    """All of it; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.lab", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        from lapwing.web.lab import analyses, intake  # noqa: F401 - not counted

        what, folder = asked.one
        start = time.perf_counter()
        WORK[what](Path(folder))
        print(json.dumps([time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6]))
        return 0
    screen = Console()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with screen.status(f"making a CSV of {asked.gigabytes:g} GB"):
            made(folder / "people.csv", asked.gigabytes)
            size = (folder / "people.csv").stat().st_size / 1e9
        found = []
        for what in WORK:
            with screen.status(what):
                found.append(measured(what, folder))
    asked_before = previews()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("what", "seconds", "beside DuckDB alone", "peak of memory"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for one in found:
        floor = next((other for other in found if other.what == f"{one.what}, DuckDB alone"), None)
        beside = f"{one.seconds / floor.seconds:.1f} ×" if floor else ""
        table.add_row(one.what, f"{one.seconds:.2f}", beside, f"{one.memory:.2f} GB")
    for one in asked_before:
        table.add_row(one.what, f"{one.seconds:.3f}", "", "")
    screen.print(f"a CSV of {size:.2f} GB")
    screen.print(table)
    slowest = max(one.seconds for one in asked_before)
    bars = {
        f"a CSV of {size:.1f} GB is brought and asked within {MOST_MEMORY:g} GB of memory": all(
            one.memory <= MOST_MEMORY for one in found if one.what in ("bring", "ask")
        ),
        f"every preview within {SLOWEST_PREVIEW:g} s of one core": slowest <= SLOWEST_PREVIEW,
    }
    for bar, met in bars.items():
        print(f"{'met   ' if met else 'MISSED'} {bar}")
    machine = {"python": platform.python_version(), "cores": os.cpu_count()}
    shown = {
        "machine": machine,
        "gigabytes": size,
        "bars": bars,
        "results": [asdict(one) for one in (*found, *asked_before)],
    }
    RESULTS.write_text(json.dumps(shown, indent=2) + "\n", encoding="utf-8")
    return 0 if all(bars.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
