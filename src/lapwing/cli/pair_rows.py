"""Reads what owners give to `lapwing pair upload`: a row in words, a CSV, a list of codes."""

from __future__ import annotations

import csv
import datetime as dt
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lapwing.errors import InvalidParameter

if TYPE_CHECKING:
    from lapwing.pair.domains import Domain, Layout


def _whole(word: str) -> int | float:
    return int(word) if re.fullmatch(r"[-+]?[0-9]{1,300}", word) else float(word)


_READ: Mapping[str, Callable[[str], Any]] = {
    "boolean": lambda word: {"true": True, "false": False}[word.lower()],
    "integer": _whole,
    "number": float,
    "text": str,
    "date": dt.date.fromisoformat,
    "timestamp": dt.datetime.fromisoformat,
}


@dataclass
class Misfits:
    """Cells of a column that are empty, that the file does not name, and that are beyond a bound."""

    empty: int = 0
    unknown: int = 0
    beyond: int = 0


def cell_of(domain: Domain, text: str) -> Any:
    """A word as a value of its column; None where it is none, as everywhere."""
    from lapwing.pair.domains import Binned

    word = text.strip()
    try:
        if isinstance(domain, Binned) and word not in domain.values:
            return float(word)
        return _READ[domain.kind](word) if word else None
    except (ValueError, KeyError, OverflowError):
        return None


def row_of(layout: Layout, words: Sequence[str]) -> dict[str, Any]:
    """One person's row, from words like age=39. Whoever mistypes a value is told: it is their own."""
    row: dict[str, Any] = {}
    for text in words:
        name, equals, word = text.partition("=")
        if not equals or name in row:
            raise InvalidParameter("row", text, "must be a column, = and its value, once", "Write age=39 sex=Male.")
        if name not in layout.by_name:
            hint = f"The columns are: {', '.join(layout.by_name)}."
            raise InvalidParameter("row", name, "is not a column of this pair", hint)
        domain = layout.by_name[name]
        row[name] = cell_of(domain, word)
        _check_fits(domain, word, domain.read(row[name]))
    if not row:
        hint = "Write age=39 sex=Male, or --absent for somebody who does not take part."
        raise InvalidParameter("row", "", "is empty", hint)
    return row


def _check_fits(domain: Domain, word: str, value: Any) -> None:
    """Refuse a value that would count as another one, or as none."""
    from lapwing.pair.domains import Binned, Digits, Listed, Numbers

    if isinstance(domain, Digits | Numbers):
        if value is None:
            hint = f"Write one from {domain.low:,} to {domain.high:,}, or leave the column out."
            raise InvalidParameter(domain.name, word, "is not a whole number", hint)
        if not domain.low <= value <= domain.high:
            nearest = f"Write {min(max(value, domain.low), domain.high)}, the nearest bound, or leave the column out."
            why = f"is beyond the bounds in the file, {domain.low:,} to {domain.high:,}"
            raise InvalidParameter(domain.name, word, why, nearest)
    elif isinstance(domain, Binned) and value is None:
        hint = f"Write a number from {domain.edges[0]:g} to {domain.edges[-1]:g}, or leave the column out."
        raise InvalidParameter(domain.name, word, "is in none of the ranges in the file", hint)
    elif isinstance(domain, Listed) and value not in domain.values:
        why = "is not among the values that the file names. Leave the column out if none of them is right"
        raise InvalidParameter(domain.name, word, why, f"Write one of: {_few(domain.values)}.")


def _few(values: Sequence[Any], most: int = 8) -> str:
    shown = ", ".join(map(str, values[:most]))
    return shown if len(values) <= most else f"{shown}, … {values[-1]}"


def codes_of(path: Path) -> list[str]:
    """The codes in a file, one in each line."""
    try:
        return path.read_text(encoding="utf-8").split()
    except UnicodeError:
        raise InvalidParameter("codes", str(path), "is not text in UTF-8", "Write one code in each line.") from None


def table_in(path: Path, layout: Layout) -> tuple[int, list[str]]:
    """How many rows a CSV has, and which of its columns are left out. Every column of the pair must be there."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = csv.reader(file)
            names = next(lines, [])
            count = sum(1 for line in lines if line)
    except (UnicodeError, csv.Error):
        raise InvalidParameter(
            "csv", str(path), "is not a CSV file in UTF-8", "Save it as UTF-8, with commas."
        ) from None
    missing = [name for name in layout.by_name if names.count(name) != 1]
    if missing:
        why = f"must have a column {missing[0]}, once, in its first line"
        raise InvalidParameter("csv", str(path), why, f"The columns are: {', '.join(layout.by_name)}.")
    return count, [name for name in names if name not in layout.by_name]


def rows_in(path: Path, layout: Layout) -> Iterator[dict[str, Any]]:
    """The rows of a CSV. A cell that cannot be read is none, and nothing is said about it."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file, restval=""):
            yield {name: cell_of(domain, row[name]) for name, domain in layout.by_name.items()}


def misfits_in(path: Path, layout: Layout) -> tuple[int, dict[str, Misfits]]:
    """How many rows a CSV has, and cells of each column that do not fit: for whoever has these rows."""
    from lapwing.pair.domains import Digits, Listed, Numbers

    count, _ = table_in(path, layout)
    misfits = {name: Misfits() for name in layout.by_name}
    with path.open(encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file, restval=""):
            for name, domain in layout.by_name.items():
                value, own = domain.read(cell_of(domain, row[name])), misfits[name]
                if not row[name].strip():
                    own.empty += 1
                elif value is not None and isinstance(domain, Digits | Numbers):
                    own.beyond += not domain.low <= value <= domain.high
                elif value is None or (isinstance(domain, Listed) and value not in domain.values):
                    own.unknown += 1
    return count, misfits
