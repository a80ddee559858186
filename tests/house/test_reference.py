"""Every public name is explained, with an example that runs. What is left to do is counted, and may only fall."""

from __future__ import annotations

import doctest
import functools
import inspect
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

import documentation

WITHOUT_EXAMPLE: dict[str, int] = {
    "curator": 13,
    "mechanisms": 6,
    "models": 4,
    "crowd": 10,
    "collect": 4,
    "pair": 5,
    "adversary": 1,
}
"""How many public names of each package have no example yet. Lower a number when you write some; never raise one."""
METHODS_WITHOUT_EXAMPLE = 26
"""The same for the public methods of MOST_USED."""
MOST_USED = ("PrivateTable", "Query", "Quote", "Answer", "Unprotected", "Ledger")


def public(room: ModuleType) -> Iterator[tuple[str, object]]:
    """Classes and functions; a constant is explained beside its definition."""
    for name in room.__all__:
        value = getattr(room, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            yield name, value


@functools.cache
def examples_in(module: str) -> dict[str, int]:
    """Everything of a module that has examples, as pytest finds them, and how many."""
    finder = doctest.DocTestFinder()
    return {test.name: len(test.examples) for test in finder.find(import_module(module)) if test.examples}


def has_example(value: type | object) -> bool:
    """Whether an example in its own docstring runs; for a class also one in a method's."""
    name = f"{value.__module__}.{value.__qualname__}"  # type: ignore[union-attr]
    found = examples_in(value.__module__)
    return name in found or (inspect.isclass(value) and any(test.startswith(f"{name}.") for test in found))


def without_example(room: str) -> list[str]:
    return [name for name, value in public(import_module(f"lapwing.{room}")) if not has_example(value)]


def methods_without_example() -> list[str]:
    import lapwing

    kinds = [getattr(lapwing, name) for name in MOST_USED]
    return [
        f"{kind.__name__}.{name}"
        for kind in kinds
        for name, method in vars(kind).items()
        if not name.startswith("_") and inspect.isfunction(inspect.unwrap(getattr(method, "__func__", method)))
        if f"{kind.__module__}.{kind.__qualname__}.{name}" not in examples_in(kind.__module__)
    ]


def test_every_public_name_has_a_docstring() -> None:
    wrong = []
    for room in documentation.ROOMS:
        for name, value in public(import_module(f"lapwing.{room}")):
            own = value.__dict__.get("__doc__") if inspect.isclass(value) else inspect.getdoc(value)
            wrong += [] if own and not own.startswith(f"{name}(") else [f"lapwing.{room}.{name}"]
    assert wrong == []


def test_every_public_method_of_a_public_class_has_a_docstring() -> None:
    wrong = [
        f"lapwing.{room}.{kind}.{name}"
        for room in documentation.ROOMS
        for kind, value in public(import_module(f"lapwing.{room}"))
        if inspect.isclass(value)
        for name, member in vars(value).items()
        if not name.startswith("_") and inspect.isfunction(member) and not inspect.getdoc(getattr(value, name))
    ]
    assert wrong == []


def test_public_names_without_an_example_become_fewer() -> None:
    left = {room: without_example(room) for room in documentation.ROOMS}
    counts = {room: len(names) for room, names in left.items() if names}
    more = {room: left[room] for room in counts if counts[room] > WITHOUT_EXAMPLE.get(room, 0)}
    assert not more, f"Write an example (>>>) into the docstrings of these: {more}"


def test_methods_of_the_most_used_classes_without_an_example_become_fewer() -> None:
    left = methods_without_example()
    assert len(left) <= METHODS_WITHOUT_EXAMPLE, f"Write an example (>>>) into the docstrings of these: {left}"
