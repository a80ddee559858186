"""What authors make interactive themselves: curves of a formula with sliders, and tables that compute.

    ```graph
    title: How wide is the noise?
    formula: exp(-abs(x)/b)/(2*b)
    x: [-10, 10]
    sliders: {b: [0.2, 5, 1]}              # from, to, and where it stands at first
    sentence: Half of the noise lies within {ln(2)*b}.
    ```

    ```data
    title: What does a count cost?
    columns: [people, city]
    rows: [[120, Basel], [9000, Bern]]
    computed: {share of noise: 1/(epsilon*people)}
    parameters: {epsilon: [0.1, 10, 1]}
    ```

Longer forms say more: `curves: [{formula: …, label: …, ink: noise}]`, `x: {from: 0, to: 1, label: …}`, `sliders: {b:
{from: 0, to: 1, start: 0.5, step: 0.1, label: …}}`. A table may have `csv: |` instead of columns and rows.
Without scripts both are tables of what is seen at first.
"""

from __future__ import annotations

import csv
import html
import io
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import yaml

from lapwing.web.school import plain
from lapwing.web.school.expression import CONSTANTS, FUNCTIONS, NAME, WrongExpression, parsed, value
from lapwing.web.school.nugget import InvalidNugget

INKS = ("private", "noise", "adversary", "budget", "exact", "quiet")
MOST_CURVES, MOST_SLIDERS, MOST_ROWS, MOST_COLUMNS, MOST_WORDS = 5, 6, 200, 12, 200
_GRAPH = "Write title, formula (or curves), x: [from, to], and sliders: {name: [from, to, start]}."
_DATA = "Write title, columns and rows (or csv), and perhaps computed: {name: formula} and parameters."
_PART = re.compile(r"\{([^{}]*)\}")
_WORD = re.compile(r"[^A-Za-z0-9_\u0370-\u03ff]+")
_POINTS = 9


@dataclass(frozen=True, slots=True)
class Slider:
    """A number that a reader may change."""

    name: str
    low: float
    high: float
    start: float
    step: float
    label: str


@dataclass(frozen=True, slots=True)
class Curve:
    """A formula of x, and how it is drawn."""

    formula: str
    label: str
    ink: str


@dataclass(frozen=True, slots=True)
class Graph:
    """Curves, and what may be changed about them."""

    title: str
    name: str
    low: float
    high: float
    label: str
    bottom: float | None
    top: float | None
    up: str
    curves: tuple[Curve, ...]
    sliders: tuple[Slider, ...] = ()
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: numbers, words, or what a formula makes of the others."""

    name: str
    label: str
    kind: str
    formula: str = ""
    digits: int = 3


@dataclass(frozen=True, slots=True)
class Data:
    """A table, and what may be changed about it."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[float | str, ...], ...]
    parameters: tuple[Slider, ...] = field(default=())


def read_graph(text: str, *, where: str = "graph") -> Graph:
    """The graph of a fence."""
    entry = _entry(text, where, "graph", _GRAPH, {"title", "formula", "curves", "x", "y", "sliders", "sentence"})
    if ("formula" in entry) == ("curves" in entry):
        raise InvalidNugget(where, "a graph needs either formula or curves", _GRAPH)
    x, y = _axis(entry.get("x", [0, 1]), where, "x"), _axis(entry.get("y", {}), where, "y")
    if x["from"] is None or x["to"] is None:
        raise InvalidNugget(where, "x does not say from where to where", "Write x: [0, 10].")
    name = x["name"] or "x"
    sliders = _sliders(entry.get("sliders", {}), where, {name})
    names = [name, *(slider.name for slider in sliders)]
    written = [entry["formula"]] if "formula" in entry else entry["curves"]
    if not isinstance(written, list) or not 1 <= len(written) <= MOST_CURVES:
        raise InvalidNugget(where, "curves is not a list", f"Write 1 to {MOST_CURVES} curves, each with a formula.")
    curves = tuple(_curve(curve, place, names, where) for place, curve in enumerate(written))
    sentence = _words(entry.get("sentence", ""), where, "sentence", 400)
    for part in _PART.findall(sentence):
        _formula(part, names[1:], where, "sentence")
    title = _words(entry.get("title") or "What does it look like?", where, "title")
    return Graph(
        title, name, x["from"], x["to"], x["label"] or name, y["from"], y["to"], y["label"], curves, sliders, sentence
    )


def read_data(text: str, rest: str = "", *, where: str = "data") -> Data:
    """The table of a fence; `csv` behind its name says that it is nothing but a table."""
    entry: dict[str, Any] = {"csv": text} if rest.strip() == "csv" else {}
    if not entry:
        known = {"title", "columns", "rows", "csv", "computed", "parameters"}
        entry = _entry(text, where, "table", _DATA, known)
    if "csv" in entry:
        if "columns" in entry or "rows" in entry:
            raise InvalidNugget(where, "a table has csv beside columns or rows", "Write one or the other.")
        entry["columns"], entry["rows"] = _comma_separated(str(entry["csv"]), where)
    names, rows = entry.get("columns"), entry.get("rows")
    if not isinstance(names, list) or not isinstance(rows, list) or not names or not rows:
        raise InvalidNugget(where, "a table has no columns or no rows", _DATA)
    if len(rows) > MOST_ROWS or len(names) > MOST_COLUMNS:
        raise InvalidNugget(where, "a table is too large", f"Keep to {MOST_ROWS} rows and {MOST_COLUMNS} columns.")
    labels = [_words(name, where, "a column") for name in names]
    cells = tuple(_row(row, len(labels), place, where) for place, row in enumerate(rows))
    taken: set[str] = set()
    columns = [
        Column(_own_name(label, taken), label, "number" if _numbers(cells, place) else "text")
        for place, label in enumerate(labels)
    ]
    parameters = _sliders(entry.get("parameters", {}), where, taken)
    columns += _computed(entry.get("computed", {}), columns, parameters, taken, where)
    if len(columns) > MOST_COLUMNS:
        raise InvalidNugget(where, "a table is too large", f"Keep to {MOST_COLUMNS} columns with the computed ones.")
    title = _words(entry.get("title") or "What do the numbers say?", where, "title")
    return Data(title, tuple(columns), cells, parameters)


def graph_html(graph: Graph, number: int) -> str:
    """An element that becomes a graph where scripts run, and a table where they do not."""
    state = {slider.name: slider.start for slider in graph.sliders}
    span = graph.high - graph.low
    at = [graph.low + span * place / (_POINTS - 1) for place in range(_POINTS)]
    names = [graph.name, *state]
    curves = [parsed(curve.formula, names) for curve in graph.curves]
    rows = [[_said(x), *(_said(value(tree, {graph.name: x, **state})) for tree in curves)] for x in at]
    head = [graph.label, *(curve.label for curve in graph.curves)]
    return _element("graph", asdict(graph), number, _table(graph.title, head, rows, _standing(graph.sliders)))


def data_html(data: Data, number: int) -> str:
    """The same for a table that computes."""
    state = {parameter.name: parameter.start for parameter in data.parameters}
    rows = [[_said(cell, digits) for cell, digits in cells] for cells in _filled(data, state)]
    table = _table(data.title, [column.label for column in data.columns], rows, _standing(data.parameters))
    return _element("data", asdict(data), number, table)


def _filled(data: Data, state: Mapping[str, float]) -> Iterator[list[tuple[float | str, int]]]:
    trees = {}
    names = list(state)
    for column in data.columns:
        if column.formula:
            trees[column.name] = parsed(column.formula, names)
        names.append(column.name)
    for row in data.rows:
        known = {**state, **{column.name: cell for column, cell in zip(data.columns, row, strict=False)}}
        for name, tree in trees.items():
            numbers = {name: cell for name, cell in known.items() if isinstance(cell, (int, float))}
            known[name] = value(tree, numbers)
        yield [(known[column.name], column.digits) for column in data.columns]


def _element(kind: str, data: dict[str, Any], number: int, inside: str) -> str:
    settings = html.escape(json.dumps(data, ensure_ascii=False), quote=True)
    return f'<lw-{kind} class="widget" data-number="{number}" data-{kind}="{settings}">{inside}</lw-{kind}>'


def _table(title: str, head: list[str], rows: list[list[str]], standing: str) -> str:
    top = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    said = f"<p>{html.escape(standing)}</p>" if standing else ""
    return (
        f"<p><strong>{html.escape(title)}</strong></p>{said}"
        f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
    )


def _standing(sliders: tuple[Slider, ...]) -> str:
    return "" if not sliders else f"With {', '.join(f'{slider.label} = {slider.start:g}' for slider in sliders)}:"


def _said(cell: float | str, digits: int = 3) -> str:
    """A number as people read it."""
    if isinstance(cell, str):
        return cell
    if not math.isfinite(cell):
        return "–" if math.isnan(cell) else ("∞" if cell > 0 else "−∞")
    if cell == int(cell) and abs(cell) < 1e15:
        return f"{int(cell):,}".replace("-", "−")
    short = float(f"{cell:.{digits}g}")
    return (f"{short:,.12g}" if 1e-4 <= abs(short) < 1e15 else f"{short:g}").replace("-", "−")


def _entry(text: str, where: str, what: str, hint: str, known: set[str]) -> dict[str, Any]:
    try:
        entry = plain.load(text)
    except yaml.YAMLError as error:
        line = plain.line_of(error)
        raise InvalidNugget(where, f"a {what} is not YAML{f' in its line {line}' if line else ''}", hint) from None
    if not isinstance(entry, dict):
        raise InvalidNugget(where, f"a {what} has no names", hint)
    if strangers := sorted(map(str, set(entry) - known)):
        raise InvalidNugget(where, f"a {what} says {strangers[0]!r}", hint)
    return entry


def _words(given: Any, where: str, what: str, most: int = MOST_WORDS) -> str:
    if isinstance(given, (dict, list)) or given is None or len(str(given)) > most:
        raise InvalidNugget(where, f"{what} is not a short text", f"Write up to {most} characters.")
    return str(given).strip()


def _number(given: Any, where: str, what: str) -> float:
    if isinstance(given, str):  # YAML reads 1e-3 as a word
        try:
            given = float(given)
        except ValueError:
            given = None
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not abs(given) <= 1e15:
        raise InvalidNugget(where, f"{what} is not a number", f"Write {what}: 1.5, or another number.")
    return float(given)


def _axis(given: Any, where: str, name: str) -> dict[str, Any]:
    if isinstance(given, list) and len(given) == 2:
        given = {"from": given[0], "to": given[1]}
    if not isinstance(given, dict) or not set(given) <= {"from", "to", "label", "name"}:
        raise InvalidNugget(where, f"{name} says something else", f"Write {name}: [from, to], or from, to and label.")
    ends = {end: _number(given[end], where, f"{name}.{end}") if end in given else None for end in ("from", "to")}
    if ends["from"] is not None and ends["to"] is not None and not ends["from"] < ends["to"]:
        raise InvalidNugget(where, f"{name} goes from more to less", f"Write {name}: [less, more].")
    own = given.get("name", "")
    if own and (not isinstance(own, str) or not _usable(own, set())):
        raise InvalidNugget(where, f"{own!r} cannot be a name", "Write a letter and then letters or digits.")
    return {**ends, "label": _words(given.get("label", ""), where, f"{name}.label"), "name": own}


def _usable(name: str, taken: set[str]) -> bool:
    return bool(NAME.fullmatch(name)) and name not in taken and name not in CONSTANTS and name not in FUNCTIONS


def _sliders(given: Any, where: str, taken: set[str]) -> tuple[Slider, ...]:
    if not isinstance(given, dict) or len(given) > MOST_SLIDERS:
        hint = f"Write up to {MOST_SLIDERS}, as {{name: [from, to, start]}}."
        raise InvalidNugget(where, "sliders or parameters are not names with ranges", hint)
    sliders = []
    for name, about in given.items():
        if not isinstance(name, str) or not _usable(name, taken):
            hint = "Write a letter and then letters or digits, and no name that has a meaning already."
            raise InvalidNugget(where, f"{name!r} cannot be a name", hint)
        taken.add(name)
        sliders.append(_slider(name, about, where))
    return tuple(sliders)


def _slider(name: str, about: Any, where: str) -> Slider:
    if isinstance(about, list) and len(about) == 3:
        about = dict(zip(("from", "to", "start"), about, strict=True))
    if not isinstance(about, dict) or not {"from", "to"} <= set(about) <= {"from", "to", "start", "step", "label"}:
        raise InvalidNugget(where, f"{name} has no range", f"Write {name}: [from, to, start].")
    low, high = _number(about["from"], where, f"{name}.from"), _number(about["to"], where, f"{name}.to")
    start = _number(about.get("start", low), where, f"{name}.start")
    step = _number(about.get("step", (high - low) / 100), where, f"{name}.step")
    if not low < high or not low <= start <= high or not 0 < step <= high - low:
        raise InvalidNugget(where, f"the range of {name} is empty", f"Write {name}: [less, more, something between].")
    return Slider(name, low, high, start, step, _words(about.get("label", name), where, f"{name}.label"))


def _formula(text: Any, names: list[str], where: str, what: str) -> str:
    if isinstance(text, bool) or not isinstance(text, (str, int, float)):
        raise InvalidNugget(where, f"{what} has no formula", "Write a formula, such as exp(-x/b).")
    try:
        parsed(str(text), names)
    except WrongExpression as error:
        hint = "Formulas have numbers, names, + - * / ^ and functions such as exp, ln, sqrt, abs, min, if."
        raise InvalidNugget(where, f"the formula of {what} cannot be read {error}", hint) from None
    return str(text)


def _curve(given: Any, place: int, names: list[str], where: str) -> Curve:
    if not isinstance(given, dict):
        given = {"formula": given}
    if not set(given) <= {"formula", "label", "ink"}:
        raise InvalidNugget(where, "a curve says something else", "Write formula, and perhaps label and ink.")
    written = _formula(given.get("formula"), names, where, f"curve {place + 1}")
    ink = given.get("ink", INKS[place % len(INKS)])
    if ink not in INKS:
        raise InvalidNugget(where, f"ink is {str(ink)[:40]!r}", f"Write one of {', '.join(INKS)}.")
    return Curve(written, _words(given.get("label", written), where, "label", 300), ink)


def _comma_separated(text: str, where: str) -> tuple[list[str], list[list[str]]]:
    try:
        lines = [row for row in csv.reader(io.StringIO(text.strip()), strict=True) if row]
    except csv.Error:
        raise InvalidNugget(where, "the table is not CSV", "Write one row a line, with commas between.") from None
    return (lines[0], [list(row) for row in lines[1:]]) if lines else ([], [])


def _row(given: Any, width: int, place: int, where: str) -> tuple[float | str, ...]:
    if not isinstance(given, list) or len(given) != width:
        raise InvalidNugget(where, f"row {place + 1} does not have {width} values", "Give every column a value.")
    return tuple(_cell(cell, where) for cell in given)


def _cell(given: Any, where: str) -> float | str:
    if isinstance(given, (int, float)) and not isinstance(given, bool) and abs(given) <= 1e15:
        return float(given)
    words = _words("" if given is None else given, where, "a cell")
    try:
        number = float(words.replace(",", "")) if re.fullmatch(r"[-+0-9.,eE]+", words) else math.nan
    except ValueError:
        return words
    return number if abs(number) <= 1e15 else words


def _numbers(rows: tuple[tuple[float | str, ...], ...], place: int) -> bool:
    return all(isinstance(row[place], float) for row in rows)


def _own_name(label: str, taken: set[str]) -> str:
    """The name by which formulas speak of a column: its label, made a word."""
    base = _WORD.sub("_", label).strip("_")[:16] or "column"
    base = base if NAME.fullmatch(base) else f"c_{base}"[:18]
    name, number = base, 1
    while not _usable(name, taken):
        number += 1
        name = f"{base[:16]}_{number}"
    taken.add(name)
    return name


def _computed(
    given: Any, columns: list[Column], parameters: tuple[Slider, ...], taken: set[str], where: str
) -> list[Column]:
    if not isinstance(given, dict):
        raise InvalidNugget(where, "computed has no names", "Write computed: {name: formula}.")
    names = [parameter.name for parameter in parameters] + [
        column.name for column in columns if column.kind == "number"
    ]
    computed: list[Column] = []
    for label, about in given.items():
        entry = about if isinstance(about, dict) else {"formula": about}
        digits = entry.get("digits", 3)
        if not set(entry) <= {"formula", "digits"} or type(digits) is not int or digits not in range(1, 13):
            raise InvalidNugget(
                where, f"{str(label)[:40]!r} says something else", "Write a formula, and digits 1 to 12."
            )
        words = _words(label, where, "a column")
        written = _formula(entry.get("formula"), names, where, words)
        computed.append(Column(_own_name(words, taken), words, "number", written, digits))
        names.append(computed[-1].name)
    return computed
