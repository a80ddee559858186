"""The form that describes a table: what stands in it at first, and the statement that it makes."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from lapwing.curator.plan.text_forms import LONGEST, notation
from lapwing.errors import LapwingError
from lapwing.web.lab.bench import Bench
from lapwing.web.lab.intake import FileColumn
from lapwing.web.lab.names import table_name
from lapwing.web.lab.proposals import Proposal
from lapwing.web.lab.statement import LONGEST_KEY, StatedColumn, Statement, Type
from lapwing.web.lab.suggestions import suggest, unit_among

TYPES: tuple[Type, ...] = get_args(Type)
TYPE_WORDS: Mapping[Type, str] = {
    "number": "number",
    "integer": "whole number",
    "text": "text",
    "boolean": "yes or no",
    "date": "date",
}
DELTAS = ("0", "1e-9", "1e-7", "1e-6", "1e-5")
NUMBERS: Mapping[str, tuple[str, str, str]] = {
    ".": (".", "", "1234.50 and 2026-12-31"),
    ".,": (".", ",", "1,234.50 or 1234.50, and 2026-12-31"),
    ".'": (".", "'", "1'234.50 or 1234.50, and 2026-12-31"),
    ".space": (".", " ", "1 234.50 or 1234.50, and 2026-12-31"),
    "._": (".", "_", "1_234.50 or 1234.50, and 2026-12-31"),
    ",": (",", "", "1.234,50 or 1234,50, and 31.12.2026"),
}
"""How numbers and dates are written in a file of text: the decimal sign, what stands between thousands, in words."""
MOST_WORDS = 50
"""Words for yes, and for no."""
MOST_KEYS = 500
LEAST_EPSILON, LARGEST_EPSILON = 0.01, 10.0
MOST_PEOPLE = 10**10


@dataclass(frozen=True, slots=True)
class Line:
    """One column in the form, as text."""

    place: int
    name: str
    original: str
    type: str
    low: str
    high: str
    keys: str
    why: str
    mark: str = ""
    """How it was found, if not by its owner: "private" or "read" from the data."""
    unstated: bool = False
    """Whether what was found stands in the form only, until it is saved."""


@dataclass(slots=True)
class FilledForm:
    """The form with what was typed, and what is wrong with it."""

    lines: list[Line]
    values: dict[str, str]
    teaching: bool
    complaints: dict[str, str] = field(default_factory=dict)


def first(bench: Bench) -> Statement:
    """What is stated, or, before anything is, what names and types suggest."""
    if bench.statement or bench.suggested:
        return bench.statement or bench.suggested  # type: ignore[return-value]
    columns: tuple[FileColumn, ...] = bench.columns
    unit = unit_among(column.name for column in columns)
    lines = []
    for column in columns:
        thought = suggest(column.name, column.type)
        lines.append(
            StatedColumn(column.name, thought.type, None if column.name == unit else thought.bounds, thought.keys)
        )
    decimal = "," if came_as_text(bench) and bench.delimiter == ";" else "."
    return Statement(name=table_name(bench.title), columns=tuple(lines), unit=unit, decimal=decimal)


def came_as_text(bench: Bench) -> bool:
    """Whether somebody has to say how numbers are written: a file with types of its own says it."""
    return bool(bench.columns) and bench.columns[0].type is None


def filled(bench: Bench) -> FilledForm:
    """The form as it is shown first, with what was proposed since."""
    stated = first(bench)
    lines = []
    for place, (brought, column) in enumerate(zip(bench.columns, stated.columns, strict=True)):
        thought = suggest(brought.name, brought.type)
        why = "" if bench.statement or bench.suggested else thought.why
        low, high = (_number(column.bounds[0]), _number(column.bounds[1])) if column.bounds else ("", "")
        line = Line(place, column.name, brought.original, column.type, low, high, _joined(column.keys), why)
        lines.append(_proposed(line, bench.proposals.get(column.name)))
    values = {
        "name": stated.name,
        "unit": stated.unit,
        "rows": str(stated.max_rows_per_unit),
        "people": str(stated.people),
        "epsilon": f"{stated.epsilon:g}",
        "delta": f"{stated.delta:g}".replace("e-0", "e-"),
        "numbers": next(name for name, (*signs, _) in NUMBERS.items() if signs == [stated.decimal, stated.thousands]),
        "true": _joined(stated.true),
        "false": _joined(stated.false),
    }
    return FilledForm(lines, values, stated.teaching)


def _proposed(line: Line, proposal: Proposal | None) -> Line:
    if proposal is None:
        return line
    kind = proposal.type or line.type
    low, high = map(_number, proposal.bounds) if proposal.bounds else (line.low, line.high)
    keys = _joined(proposal.keys) if proposal.keys else line.keys
    mark = "private" if proposal.private else "read"
    return replace(line, type=kind, low=low, high=high, keys=keys, why=proposal.why, mark=mark, unstated=proposal.found)


def typed(bench: Bench, form: Mapping[str, str]) -> FilledForm:
    """The form with what was typed into it, whether it fits or not."""
    shown = filled(bench)

    def cell(name: str, line: Line) -> str:
        return form.get(f"{name}-{line.place}", "").strip()

    lines = [
        replace(line, type=cell("type", line), low=cell("low", line), high=cell("high", line), keys=cell("keys", line))
        for line in shown.lines
    ]
    values = {name: form.get(name, "").strip() for name in shown.values}
    return FilledForm(lines, values, form.get("teaching") == "yes")


def read(bench: Bench, form: Mapping[str, str]) -> tuple[Statement | None, FilledForm]:
    """The statement that a form makes, or None and what is wrong with the form."""
    shown = typed(bench, form)
    wrong: dict[str, str] = {}
    values, teaching = shown.values, shown.teaching
    columns = [_column(line, wrong) for line in shown.lines]
    names = {column.name for column in columns}
    if values["unit"] and values["unit"] not in names:
        wrong["unit"] = "Choose a column of this table, or “none”."
    name = values["name"]
    if not name.isascii() or not name.isidentifier() or len(name) > 40:
        wrong["name"] = "Use only letters, digits and underscores, at most 40. Begin with a letter."
    rows = _whole(values["rows"], 1, 10_000, "rows", wrong)
    people = _whole(values["people"], 1, MOST_PEOPLE, "people", wrong)
    epsilon = _decimal(values["epsilon"])
    if epsilon is None or not LEAST_EPSILON <= epsilon <= LARGEST_EPSILON:
        wrong["epsilon"] = (
            f"Write a number between {LEAST_EPSILON} and {LARGEST_EPSILON:g}. A smaller one protects more."
        )
    delta = _decimal(values["delta"])
    if delta is None or values["delta"] not in DELTAS:
        wrong["delta"] = "Choose one of the list."
    way = _way(values, wrong) if came_as_text(bench) else {}
    if not teaching:
        _not_read(bench, columns, wrong)
    shown.complaints = wrong
    if wrong or epsilon is None or delta is None:
        return None, shown
    statement = Statement(
        name=name,
        columns=tuple(columns),
        unit=values["unit"],
        max_rows_per_unit=rows if values["unit"] else 1,
        people=people,
        epsilon=epsilon,
        delta=delta,
        teaching=teaching,
        **way,
    )
    try:
        statement.open(bench.path, None)  # reads the schema and checks everything else that can be wrong
    except LapwingError as error:
        wrong["form"] = str(error)
        return None, shown
    return statement, shown


def _way(values: Mapping[str, str], wrong: dict[str, str]) -> dict[str, Any]:
    """How the file writes numbers, dates and yes and no, as fields of a statement."""
    chosen = values["numbers"] or "."
    if chosen not in NUMBERS:
        wrong["numbers"] = "Choose one of the list."
    decimal, thousands, _ = NUMBERS.get(chosen, NUMBERS["."])
    way: dict[str, Any] = {"decimal": decimal, "thousands": thousands}
    for name in ("true", "false"):
        way[name] = _split(values[name])
        if len(way[name]) > MOST_WORDS:
            wrong[name] = f"At most {MOST_WORDS} words."
    try:
        notation(true=way["true"] or None, false=way["false"] or None)
    except LapwingError:
        wrong["true"] = (
            "No word may mean both yes and no. If the usual words for the opposite include one of yours, fill in "
            f"both fields. A word has at most {LONGEST} characters."
        )
    return way


def _column(line: Line, wrong: dict[str, str]) -> StatedColumn:
    kind: Type = next((known for known in TYPES if known == line.type), "text")
    place = f"column-{line.place}"
    if kind != line.type:
        wrong[place] = "Choose a type from the list."
    bounds = None
    if kind in ("number", "integer") and (line.low or line.high):
        low, high = _decimal(line.low), _decimal(line.high)
        if low is None or high is None:
            such = (
                "whole numbers, such as 0 and 100" if kind == "integer" else "numbers with a point, such as 0 and 99.5"
            )
            wrong[place] = f"Write both bounds as {such}, or leave both empty."
        elif not low < high:
            wrong[place] = "The lower bound must be below the upper one."
        else:
            bounds = (low, high)
    keys = _split(line.keys)
    if len(keys) > MOST_KEYS or any(len(key) > LONGEST_KEY for key in keys):
        wrong[place] = f"At most {MOST_KEYS} keys of {LONGEST_KEY} characters each."
    column = StatedColumn(line.name, kind, bounds, keys)
    try:
        column.values  # noqa: B018 - says which key is none
    except LapwingError as error:
        wrong[place] = str(error)
    return column


def _not_read(bench: Bench, columns: list[StatedColumn], wrong: dict[str, str]) -> None:
    """Outside teaching mode nothing may stand that was read from the data."""
    for column in bench.was_read(columns):
        wrong[f"column-{columns.index(column)}"] = (
            "This was read from the data, or is very close to what was read. Only teaching mode may use it. State "
            "what you know without looking, such as a round number (0, 1, 2, 5, 10, 20, …), or leave it empty."
        )


def _split(text: str) -> tuple[str, ...]:
    """Keys between commas; one with a comma stands in quotation marks.

    >>> _split('North, "Over there, far", South')
    ('North', 'Over there, far', 'South')
    """
    try:
        cells = next(csv.reader([" ".join(text.splitlines())], skipinitialspace=True), [])
    except csv.Error:
        cells = text.split(",")
    return tuple(dict.fromkeys(cell.strip() for cell in cells if cell.strip()))


def _joined(keys: tuple[str, ...]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(keys)
    return out.getvalue().replace(",", ", ") if not any("," in key for key in keys) else out.getvalue()


def _decimal(text: str) -> float | None:
    try:
        value = float(text.replace("−", "-"))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _whole(text: str, least: int, most: int, name: str, wrong: dict[str, str]) -> int:
    digits = text.replace(",", "").replace(" ", "")
    value = int(digits) if digits.isdecimal() and len(digits) < 20 else 0
    if not least <= value <= most:
        wrong[name] = f"Write a whole number from {least:,} to {most:,}."
    return value


def _number(value: float) -> str:
    return f"{value:.15g}"
