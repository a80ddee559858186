"""Pages for the public names: one for each package with a table of its names, and one for each name below it."""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from reference_types import inner_types, path_of

from lapwing._names import LIFTED

ROOMS = (
    *("curator", "privacy", "errors", "mechanisms", "models", "crowd", "collect", "pair"),
    *("adversary", "adversary.attacks", "anonymity", "noise", "datasets", "experiments"),
)
"""Packages whose public names the reference explains, most used first."""
MAIN = ("open", "PrivateTable", "Query", "Quote", "Answer", "Stream", "Ledger")
"""Names that most people meet first. In the search they count as much as a guide."""
ASKED = ("count", "sum", "mean", "median", "quantile", "histogram", "LinearRegression", "LogisticRegression")
"""Names that are also words which many people search for. Those of private tables and of models count more."""
WEIGHT, ASKED_WEIGHT, INNER_WEIGHT = 0.3, 0.7, 0.05
"""How much other pages of the reference count in the search, beside a guide's 1."""
INNER = """\
## Types of parts

Results and fields of the names above are of these types. The package does not export them: nobody makes a value of
them by hand, and they change more often. Import them by their path, to annotate code."""
TERMS = {"NoisyMax": ["report noisy max"], "KeySelection": ["partition selection"]}
"""What the literature calls a name. The search counts these words like a title."""


def write_reference(source: Path) -> list[Any]:
    """Write the pages of all packages; returns their part of the navigation."""
    return [{f"lapwing.{name}": write_room(source, importlib.import_module(f"lapwing.{name}"))} for name in ROOMS]


def write_room(source: Path, room: ModuleType) -> list[Any]:
    """The pages of a package: its tables of names first."""
    place = f"reference/{short_name(room)}"
    (source / place).mkdir(parents=True)
    words = inspect.getdoc(room) or ""
    inner = inner_names(room)
    parts = [f"# {room.__name__}", words.partition("\n")[0], *_example(words), overview(room, room.__all__)]
    text = "\n\n".join([*parts, *([INNER, overview(room, inner)] if inner else [])])
    (source / place / "index.md").write_text(f"{text}\n", encoding="utf-8")
    navigation: list[Any] = [f"{place}/index.md"]
    below: list[Any] = []
    for address, names in pages_of(room).items():
        (source / place / f"{address}.md").write_text(page_of(room, names), encoding="utf-8")
        title = ", ".join(name.rpartition(".")[2] for name in names)
        (below if names[0] in inner else navigation).append({title: f"{place}/{address}.md"})
    return [*navigation, *([{"Types of parts": below}] if below else [])]


def _example(words: str) -> list[str]:
    """The first example of a package as a block of code."""
    lines = list(itertools.dropwhile(lambda line: not line.startswith(">>>"), words.splitlines()))
    return ["\n".join(["```pycon", *itertools.takewhile(str.strip, lines), "```"])] if lines else []


def short_name(room: ModuleType) -> str:
    """The package without `lapwing.`."""
    return room.__name__.partition(".")[2]


def pages_of(room: ModuleType) -> dict[str, list[str]]:
    """The names on each page. Names that differ in capitals only share one, since some disks see no difference."""
    pages: dict[str, list[str]] = {}
    for name in [*sorted(room.__all__, key=str.lower), *inner_names(room)]:
        pages.setdefault(name.lower(), []).append(name)
    return pages


def inner_names(room: ModuleType) -> list[str]:
    """The classes that its names give back and that it does not export, as paths from the package on."""
    rooms = tuple(importlib.import_module(f"lapwing.{name}") for name in ROOMS)
    return [path_of(kind).removeprefix(f"{room.__name__}.") for kind in inner_types(rooms)[room.__name__]]


def value_of(room: ModuleType, name: str) -> Any:
    """What a name means: a public one, or the path of a class from the package on."""
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(f"{room.__name__}.{module}") if module else room, last)


def page_of(room: ModuleType, names: list[str]) -> str:
    """The page of a name, which mkdocstrings fills from the docstring. `lw.` is how examples write `lapwing.`."""
    paths = [public_path(room, name) for name in names]
    weight = ASKED_WEIGHT if names[0] in ASKED and room.__name__ in ("lapwing.curator", "lapwing.models") else WEIGHT
    weight = 1 if names[0] in MAIN and paths[0] == f"lapwing.{names[0]}" else weight
    weight = INNER_WEIGHT if "." in names[0] else weight
    title = " and ".join(paths)
    tags = [path.replace("lapwing.", "lw.", 1) for path in paths]
    tags += [term for name in names for term in TERMS.get(name, [])]
    front = ["---", f"title: {title}", "search:", f"  boost: {weight}", "tags:", *(f"  - {tag}" for tag in tags), "---"]
    if len(paths) > 1:
        front += ["", f"# {title}"]
    level = 1 if len(paths) == 1 else 2
    for name, path in zip(names, paths, strict=True):
        front += [
            "",
            f"::: {anchor(room, name)}",
            "    options:",
            f"      heading: {path}",
            f"      heading_level: {level}",
        ]
    return "\n".join([*front, ""])


def overview(room: ModuleType, names: Iterable[str]) -> str:
    """A table of names: what each of them is, in one line."""
    rows = ["| name | what it is |", "|---|---|"]
    for name in sorted(names, key=str.lower):
        first = explanation(room, name).partition("\n")[0]
        rows.append(f"| [`{name}`][{anchor(room, name)}] | {first.replace('|', '&#124;')} |")
    return "\n".join(rows)


def explanation(room: ModuleType, name: str) -> str:
    """The docstring of a public name. That of a constant is the string below its definition."""
    value = value_of(room, name)
    explained = inspect.isclass(value) or inspect.ismodule(value) or inspect.isfunction(inspect.unwrap(value))
    return (inspect.getdoc(value) or "") if explained else _string_below(room, name)


def _string_below(module: ModuleType, name: str) -> str:
    body = ast.parse(inspect.getsource(module)).body
    for line, below in itertools.pairwise([*body, ast.Pass()]):
        match line, below:
            case ast.ImportFrom(module=str(source), names=names), _ if name in [each.name for each in names]:
                return _string_below(importlib.import_module(source), name)
            case (
                ast.Assign(targets=[ast.Name(id=found)]) | ast.AnnAssign(target=ast.Name(id=found)),
                ast.Expr(value=ast.Constant(value=str(words))),
            ) if found == name:
                return inspect.cleandoc(words)
    return ""


def public_path(room: ModuleType, name: str) -> str:
    """`lapwing.open`, or `lapwing.mechanisms.Mean` for a name that only its package has."""
    lifted = name in LIFTED.get(short_name(room), ())
    return f"lapwing.{name}" if lifted else f"{room.__name__}.{name}"


def anchor(room: ModuleType, name: str) -> str:
    """What its part of the page is called: its public path, or where it is defined if a module has that path too."""
    path, value = public_path(room, name), value_of(room, name)
    if path in sys.modules and (inspect.isclass(value) or inspect.isfunction(value)):
        return f"{value.__module__}.{value.__qualname__}"
    return path
