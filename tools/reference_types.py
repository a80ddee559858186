"""Classes that public names give back, but no package exports: the parts of a question, of a quote or of a collection.

Somebody who follows the annotations of a public name meets them, so the reference has a page for each, at its own path.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from functools import cache, cached_property
from importlib import import_module
from types import ModuleType
from typing import Any

_NAME = re.compile(r"(?<![\w.\"'])[A-Za-z_]\w*")


def classes_in(annotation: object, module: str) -> set[type]:
    """Our classes that an annotation names."""
    words = set(_NAME.findall(annotation if isinstance(annotation, str) else str(annotation)))
    values = (_value(word, module) for word in words)
    return {value for value in values if inspect.isclass(value) and value.__module__.startswith("lapwing.")}


def _value(name: str, module: str) -> Any:
    """What a name means in a module, also if only type checkers import it there."""
    names = vars(sys.modules[module])
    if name in names:
        return names[name]
    place = _for_checkers(module).get(name)
    return None if place is None else getattr(import_module(place[0]), place[1], None)


@cache
def _for_checkers(module: str) -> dict[str, tuple[str, str]]:
    """From each name that a module imports from ours anywhere, to its module and its name there."""
    nodes = ast.walk(ast.parse(inspect.getsource(sys.modules[module])))
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and str(node.module).startswith("lapwing")]
    return {alias.asname or alias.name: (str(node.module), alias.name) for node in imports for alias in node.names}


def seen_types(value: Any) -> set[type]:
    """Our classes that a public name gives back: as its result, or that of a member, or in a field."""
    annotations = {(function.__module__, _result(function)) for function in _functions(value)}
    if inspect.isclass(value):
        annotations |= {(base.__module__, words) for base in value.__mro__ for words in _fields(base)}
    ours = [(module, words) for module, words in annotations if module.startswith("lapwing.")]
    return set().union(*(classes_in(words, module) for module, words in ours))


def _functions(value: Any) -> Iterator[Any]:
    if not inspect.isclass(value):
        if inspect.isfunction(function := inspect.unwrap(value)):
            yield function
        return
    for base in value.__mro__:
        for name, member in vars(base).items():
            if isinstance(member, property | cached_property):
                member = member.fget if isinstance(member, property) else member.func
            function = inspect.unwrap(getattr(member, "__func__", member))
            if not name.startswith("_") and inspect.isfunction(function):
                yield function


def _result(function: Any) -> str:
    return str(function.__annotations__.get("return", ""))


def _fields(kind: type) -> list[str]:
    return [str(words) for name, words in vars(kind).get("__annotations__", {}).items() if not name.startswith("_")]


@cache
def inner_types(rooms: tuple[ModuleType, ...]) -> dict[str, list[type]]:
    """By package, the classes that its public names give back and that no package exports, in the order of paths."""
    from lapwing.curator import Aggregate

    values = [getattr(room, name) for room in rooms for name in room.__all__]
    exported = {value for value in values if inspect.isclass(value)}
    kinds = set().union(*map(seen_types, values)) - exported
    inner: dict[str, list[type]] = {room.__name__: [] for room in rooms}
    for kind in sorted(kinds, key=path_of):
        homes = [name for name in inner if path_of(kind).startswith(f"{name}.")]
        if homes and not issubclass(kind, Aggregate):  # whatever it computes, its page is that of aggregates
            inner[max(homes, key=len)].append(kind)
    return inner


def path_of(kind: type) -> str:
    """Where a class is defined."""
    return f"{kind.__module__}.{kind.__qualname__}"
