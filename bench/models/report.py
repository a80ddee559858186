"""The comparison as a table for people, on a terminal and in docs/models.md, and as JSON."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from bench.models.cells import PATIENCE, Cell, Result
from bench.report import RESULTS

PAGE = Path(__file__).parents[2] / "docs" / "models.md"
_HEAD = ("model (score)", "table", "ε", "Lapwing", "diffprivlib", "no privacy", "")


def show(result: Result) -> None:
    """Print everything."""
    console = Console(width=110)
    table = Table(*_HEAD, box=box.SIMPLE_HEAD)
    for row in _rows(result.cells):
        table.add_row(*row, style="red" if row[-1] == "WORSE" else None)
    console.print(table)
    for line in (*_speeds(result), *_verdicts(result)):
        console.print(line)


def save(result: Result) -> None:
    """Write the JSON and put the tables between the marks of the page."""
    document = {"cells": [asdict(cell) for cell in result.cells], "speeds": [asdict(speed) for speed in result.speeds]}
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), default=float)
    (RESULTS / "models.json").write_text(text.replace('{"family"', '\n{"family"') + "\n", encoding="utf-8")
    rows = ["| " + " | ".join(row) + " |" for row in (_HEAD, ("---",) * len(_HEAD), *_rows(result.cells))]
    lines = [*rows, "", *(f"- {line}" for line in (*_speeds(result), *_verdicts(result)))]
    page = PAGE.read_text(encoding="utf-8")
    marks = r"(<!-- measured -->\n).*?(\n<!-- end -->)"
    PAGE.write_text(re.sub(marks, lambda m: m[1] + "\n".join(lines) + m[2], page, flags=re.DOTALL), encoding="utf-8")


def _rows(cells: list[Cell]) -> list[tuple[str, ...]]:
    rows = []
    for (family, table), group in groupby(cells, key=lambda cell: (f"{cell.family} ({cell.metric})", cell.table)):
        for place, cell in enumerate(group):
            ours, theirs = (_mean(scores) for scores in (cell.ours, cell.theirs))
            named = (family, table) if place == 0 else ("", "")
            rows.append(
                (*named, f"{cell.epsilon:g}", ours, theirs, f"{statistics.fmean(cell.exact):.3f}", cell.verdict)
            )
    return rows


def _mean(given: Sequence[float | None]) -> str:
    scores = [score for score in given if score is not None]
    if len(scores) < 2:
        return f"not ended in {PATIENCE} s"
    return f"{statistics.fmean(scores):.3f} ± {statistics.stdev(scores) / len(scores) ** 0.5:.3f}"


def _speeds(result: Result) -> list[str]:
    lines = []
    for speed in result.speeds:
        ours, theirs, exact = (statistics.median(took) * 1e3 for took in (speed.ours, speed.theirs, speed.exact))
        lines.append(
            f"{speed.family}, a fit on 100,000 rows: {ours:,.0f} ms; diffprivlib {theirs:,.0f} ms, "
            f"scikit-learn {exact:,.0f} ms: {speed.ratio:.2g}× scikit-learn's"
        )
    return lines


def _verdicts(result: Result) -> list[str]:
    return [f"{'met' if one.met else 'MISSED'}: {one.demand}: {one.measured}" for one in result.verdicts]
