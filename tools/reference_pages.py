"""Pages for the public names: one for each package with a table of its names, and one for each name below it."""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from lapwing._names import LIFTED

ROOMS = (
    *("curator", "privacy", "errors", "mechanisms", "models", "crowd", "collect", "pair"),
    *("adversary", "adversary.attacks", "anonymity", "noise", "datasets", "experiments"),
)
"""Packages whose public names the reference explains, most used first."""
MAIN = ("open", "PrivateTable", "Query", "Quote", "Answer", "Stream", "Ledger")
"""Names that most people meet first. In the search they count as much as a guide."""
WEIGHT = 0.3
"""How much other pages of the reference count in the search, beside a guide's 1."""


def write_reference(source: Path) -> list[Any]:
    """Write the pages of all packages; returns their part of the navigation."""
    return [{f"lapwing.{name}": write_room(source, importlib.import_module(f"lapwing.{name}"))} for name in ROOMS]


def write_room(source: Path, room: ModuleType) -> list[Any]:
    """The pages of a package: its table of names first."""
    place = f"reference/{short_name(room)}"
    (source / place).mkdir(parents=True)
    first = (inspect.getdoc(room) or "").partition("\n")[0]
    text = "\n\n".join([f"# {room.__name__}", first, overview(room)])
    (source / place / "index.md").write_text(f"{text}\n", encoding="utf-8")
    navigation: list[Any] = [f"{place}/index.md"]
    for address, names in pages_of(room).items():
        (source / place / f"{address}.md").write_text(page_of(room, names), encoding="utf-8")
        navigation.append({", ".join(names): f"{place}/{address}.md"})
    return navigation


def short_name(room: ModuleType) -> str:
    """The package without `lapwing.`."""
    return room.__name__.partition(".")[2]


def pages_of(room: ModuleType) -> dict[str, list[str]]:
    """The names on each page. Names that differ in capitals only share one, since some disks see no difference."""
    pages: dict[str, list[str]] = {}
    for name in sorted(room.__all__, key=str.lower):
        pages.setdefault(name.lower(), []).append(name)
    return pages


def page_of(room: ModuleType, names: list[str]) -> str:
    """The page of a name, which mkdocstrings fills from the docstring. `lw.` is how examples write `lapwing.`."""
    paths = [public_path(room, name) for name in names]
    weight = 1 if names[0] in MAIN and paths[0] == f"lapwing.{names[0]}" else WEIGHT
    title = " and ".join(paths)
    tags = [path.replace("lapwing.", "lw.", 1) for path in paths]
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


def overview(room: ModuleType) -> str:
    """A table of the public names: what each of them is, in one line."""
    rows = ["| name | what it is |", "|---|---|"]
    for name in sorted(room.__all__, key=str.lower):
        first = explanation(room, name).partition("\n")[0]
        rows.append(f"| [`{name}`][{anchor(room, name)}] | {first.replace('|', '&#124;')} |")
    return "\n".join(rows)


def explanation(room: ModuleType, name: str) -> str:
    """The docstring of a public name. That of a constant is the string below its definition."""
    value = getattr(room, name)
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
    path, value = public_path(room, name), getattr(room, name)
    if path in sys.modules and (inspect.isclass(value) or inspect.isfunction(value)):
        return f"{value.__module__}.{value.__qualname__}"
    return path
