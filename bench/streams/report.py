"""What every part of this bench hands back: results, bars, and how both are shown and saved."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parents[1] / "results" / "streams.json"


@dataclass(frozen=True, slots=True)
class Result:
    """One number of one contender."""

    job: str
    who: str
    measured: float
    unit: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One bar: what was demanded, what was measured."""

    demand: str
    measured: str
    met: bool


def at_most(what: str, measured: float, bar: float, unit: str = "") -> Verdict:
    """A bar from above."""
    return Verdict(f"{what} at most {bar:g}{unit}", f"{measured:.4g}{unit}", measured <= bar)


def at_least(what: str, measured: float, bar: float, unit: str = "") -> Verdict:
    """A bar from below."""
    return Verdict(f"{what} at least {bar:,.0f}{unit}", f"{measured:,.0f}{unit}", measured >= bar)


def show(results: list[Result], verdicts: list[Verdict]) -> None:
    """Print both tables."""
    console = Console(width=None if os.isatty(1) else 160)
    table = Table("job", "who", "measured", "note", box=box.SIMPLE_HEAD)
    for result in results:
        style = "bold" if result.who.startswith("Lapwing") else None
        table.add_row(result.job, result.who, f"{_number(result.measured)} {result.unit}", result.note, style=style)
    console.print(table)
    for verdict in verdicts:
        console.print(f"{'met' if verdict.met else 'MISSED'}: {verdict.demand}: {verdict.measured}")


def save(results: list[Result], verdicts: list[Verdict], part: str) -> None:
    """Write one part of results/streams.json; the other parts stay."""
    document = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    document[part] = {
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in ("lapwing", "numpy", "opendp", "jax-privacy", "jax")},
        "results": [asdict(result) for result in results],
        "bars": [asdict(verdict) for verdict in verdicts],
    }
    RESULTS.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
