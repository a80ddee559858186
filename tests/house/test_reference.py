"""Every public name is explained: what it takes, gives and refuses, and an example that runs."""

from __future__ import annotations

import ast
import dataclasses
import doctest
import enum
import functools
import inspect
import itertools
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy
import pytest
from docstring_sections import completed, described, entries, sections_of
from reference_pages import ROOMS, anchor

import lapwing
from lapwing.errors import LapwingError

MOST_USED = {
    "lapwing": ("PrivateTable", "Query", "Quote", "Answer", "Unprotected", "Ledger"),
    "lapwing.mechanisms": (
        *("AboveThreshold", "Count", "Exponential", "Gaussian", "Histogram", "KaryResponse"),
        *("Laplace", "Mean", "RandomizedResponse", "SparseVector", "Sum"),
    ),
    "lapwing.crowd": ("Counts", "Estimates", "Protocol"),
}
"""Classes whose every method has an example."""
COMPLETE = ("errors", "mechanisms", "models", "crowd", "noise", "anonymity")
"""Packages whose docstrings also say what a constructor refuses and what a method without parameters returns, and whose
examples use the name that they explain. Add a package once its docstrings do."""


def public(room: ModuleType) -> Iterator[tuple[str, object]]:
    """Classes and functions, decorated ones too; a constant is explained beside its definition."""
    for name in room.__all__:
        value = getattr(room, name)
        if inspect.isclass(value) or is_function(value):
            yield name, value


def is_function(value: object) -> bool:
    return callable(value) and inspect.isfunction(inspect.unwrap(value))


@functools.cache
def examples_in(module: str) -> dict[str, str]:
    """Everything of a module that has examples, as pytest finds them, and what they write and show."""
    tests = [test for test in doctest.DocTestFinder().find(import_module(module)) if test.examples]
    return {test.name: "".join(each.source + each.want for each in test.examples) for test in tests}


def examples_of(value: type | object) -> str:
    """The examples in its own docstring; for a class also those of its methods."""
    name = f"{value.__module__}.{value.__qualname__}"  # type: ignore[union-attr]
    found = examples_in(value.__module__)
    return "".join(text for test, text in found.items() if f"{test}.".startswith(f"{name}."))


def without_example(room: str) -> list[str]:
    return [name for name, value in public(import_module(f"lapwing.{room}")) if not examples_of(value)]


def with_example_of_something_else(room: str) -> list[str]:
    known = [(name, examples_of(value)) for name, value in public(import_module(f"lapwing.{room}"))]
    return [name for name, text in known if text and not re.search(rf"\b{name}\b", text)]


def methods_without_example() -> list[str]:
    kinds = [getattr(import_module(room), name) for room, names in MOST_USED.items() for name in names]
    return [
        f"{kind.__name__}.{name}"
        for kind in kinds
        for name, method in vars(kind).items()
        if not name.startswith("_") and inspect.isfunction(inspect.unwrap(getattr(method, "__func__", method)))
        if f"{kind.__module__}.{kind.__qualname__}.{name}" not in examples_in(kind.__module__)
    ]


def test_every_public_name_has_a_docstring() -> None:
    wrong = []
    for room in ROOMS:
        for name, value in public(import_module(f"lapwing.{room}")):
            own = value.__dict__.get("__doc__") if inspect.isclass(value) else inspect.getdoc(value)
            wrong += [] if own and not own.startswith(f"{name}(") else [f"lapwing.{room}.{name}"]
    assert wrong == []


def test_every_public_method_of_a_public_class_has_a_docstring() -> None:
    wrong = [
        f"lapwing.{room}.{kind}.{name}"
        for room in ROOMS
        for kind, value in public(import_module(f"lapwing.{room}"))
        if inspect.isclass(value)
        for name, member in vars(value).items()
        if not name.startswith("_") and inspect.isfunction(member) and not inspect.getdoc(getattr(value, name))
    ]
    assert wrong == []


def test_every_public_name_has_an_example() -> None:
    left = {room: names for room in ROOMS if (names := without_example(room))}
    assert not left, f"Write an example (>>>) into the docstrings of these: {left}"


@pytest.mark.parametrize("room", COMPLETE)
def test_every_example_uses_the_name_that_it_explains(room: str) -> None:
    left = with_example_of_something_else(room)
    assert not left, f"Use the name in an example (>>>) of its docstring: {left}"


def test_every_method_of_the_most_used_classes_has_an_example() -> None:
    left = methods_without_example()
    assert not left, f"Write an example (>>>) into the docstrings of these: {left}"


def documented(room: str) -> Iterator[tuple[str, Any, list[str], str]]:
    """Public functions, classes and methods: name, value, what its signature names, and its docstring completed."""
    for name, value in public(import_module(f"lapwing.{room}")):
        if not inspect.isclass(value):
            parameters = _parameters(value)
            yield name, value, parameters, value.__doc__ or ""
            continue
        if not issubclass(value, enum.Enum) and not getattr(value, "_is_protocol", False):
            parameters = _kept(value) if issubclass(value, Exception) else _parameters(value)
            bases = [base.__doc__ or "" for base in value.__mro__[1:-1]]
            yield name, value, parameters, completed(value.__doc__ or "", bases, parameters)
        for title, member in vars(value).items():
            function = inspect.unwrap(getattr(member, "__func__", member))
            if title.startswith("_") or not inspect.isfunction(function):
                continue
            bases = [getattr(vars(base).get(title), "__doc__", None) or "" for base in value.__mro__[1:-1]]
            parameters = [each for each in _parameters(function) if each not in ("self", "cls")]
            yield f"{name}.{title}", function, parameters, completed(function.__doc__ or "", bases, parameters)


def _parameters(value: Any) -> list[str]:
    try:
        signature = inspect.signature(value)
    except ValueError:  # a class that is made by code in C
        return []
    return [name for name in signature.parameters if not name.startswith("_")]


def _kept(error: type[Exception]) -> list[str]:
    """What an error carries: the attributes that its own `__init__` sets. Nobody but the library makes one."""
    if "__init__" not in vars(error):
        return []
    tree = ast.parse(textwrap.dedent(inspect.getsource(error.__init__)))
    places = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)]
    return [place.attr for place in places]


def undescribed(room: str) -> list[str]:
    """What the docstrings of a package leave out, and what they describe that is not there."""
    left: list[str] = []
    for name, value, parameters, text in documented(room):
        known, sections = described(text), sections_of(text)
        if inspect.isclass(value):
            known |= {each: [] for each in _fields_with_words(value)}
        title = "Attributes" if inspect.isclass(value) and issubclass(value, Exception) else "Args"
        left += [f"{name}: {title}: {each}" for each in parameters if each not in known]
        if inspect.isclass(value):
            continue
        left += [f"{name}: {each} is described, and is no parameter" for each in known if each not in parameters]
        if parameters and _gives(value) and not {"Returns", "Yields"} & set(sections):
            left.append(f"{name}: Returns")
        left += [
            f"{name}: Returns: indent the line {line!r}" for line in sections.get("Returns", [])[1:] if line[:1] > " "
        ]
        told = entries(sections.get("Raises", []))
        left += [f"{name}: Raises: {error}" for error in sorted(_raised(value)) if error not in told]
    return left


def _gives(function: Any) -> bool:
    return function.__annotations__.get("return") not in (None, "None", "NoReturn", "Never")


def _fields_with_words(kind: type) -> set[str]:
    """Fields that a string below them explains, as in `rows: int` and then \"\"\"How many rows there are.\"\"\"."""
    found: set[str] = set()
    for base in kind.__mro__[:-1]:
        if base.__module__.startswith("lapwing."):
            body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0].body  # type: ignore[attr-defined]
            found |= _names_with_words(body)
    return found


def _names_with_words(body: list[ast.stmt]) -> set[str]:
    """Names that are defined or declared right above a string."""
    found: set[str] = set()
    for place, words in itertools.pairwise(body):
        if isinstance(place, ast.Assign | ast.AnnAssign) and isinstance(words, ast.Expr):
            targets = place.targets if isinstance(place, ast.Assign) else [place.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


def _raised(function: Any) -> set[str]:
    """The errors that a function raises itself, by name."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    calls = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)]
    return {call.func.id for call in calls if isinstance(call.func, ast.Name) and call.func.id[0].isupper()}


def test_every_parameter_result_and_error_is_described() -> None:
    left = {room: names for room in ROOMS if (names := undescribed(room))}
    assert not left, f"Write Args, Returns and Raises into the docstrings of these: {left}"


def unsaid(room: str) -> list[str]:
    """What returns something or refuses a parameter without a word about it."""
    left = []
    for name, value, _, text in documented(room):
        known = sections_of(text)
        if inspect.isclass(value):
            refuses = not issubclass(value, Exception) and any(map(_refuses, _constructors(value)))
        else:
            refuses = _refuses(value)
            silent = _gives(value) and not {"Returns", "Yields"} & set(known)
            left += [f"{name}: Returns"] if silent else []
        left += [f"{name}: Raises"] if refuses and "Raises" not in known else []
    return left


def _constructors(kind: type) -> Iterator[Any]:
    """What runs when a value of a class is made, as far as this library wrote it."""
    for base in kind.__mro__:
        method = vars(base).get("__post_init__" if dataclasses.is_dataclass(base) else "__init__")
        if base.__module__.startswith("lapwing.") and inspect.isfunction(method):
            yield method


def _refuses(function: Any, *, is_helper: bool = False) -> bool:
    """Whether a function raises an error, or has `checks` look at what it is given; a constructor also by a helper."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    if any(isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) for node in ast.walk(tree)):
        return True
    is_constructor = function.__name__ in ("__init__", "__post_init__")
    given = set(inspect.signature(function).parameters) - (set() if is_constructor else {"self", "cls"})
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        values = (*call.args, *(keyword.value for keyword in call.keywords))
        if not given & {node.id for value in values for node in ast.walk(value) if isinstance(node, ast.Name)}:
            continue
        match call.func:
            case ast.Attribute(value=ast.Name(id="checks")):
                return True
            case ast.Name(id=name) if is_constructor and not is_helper:
                helper = inspect.unwrap(function).__globals__.get(name)
                if _is_ours(helper) and _refuses(helper, is_helper=True):
                    return True
    return False


def _is_ours(value: Any) -> bool:
    return is_function(value) and value.__module__.startswith("lapwing.")


@pytest.mark.parametrize("room", COMPLETE)
def test_every_result_and_every_refusal_is_described(room: str) -> None:
    left = unsaid(room)
    assert not left, f"Write Returns and Raises into the docstrings of these: {left}"


def test_a_refusal_is_found_in_a_constructor_its_base_and_its_helper() -> None:
    kinds = [lapwing.mechanisms.Laplace, lapwing.mechanisms.AboveThreshold, lapwing.mechanisms.DummyReports]
    assert [any(map(_refuses, _constructors(kind))) for kind in kinds] == [True, True, True]
    assert _refuses(lapwing.noise.permutation)
    assert not _refuses(lapwing.mechanisms.Laplace.privacy_loss)


@pytest.mark.parametrize("room", COMPLETE)
def test_every_public_constant_is_explained_below_its_definition(room: str) -> None:
    package = import_module(f"lapwing.{room}")
    constants = [name for name in package.__all__ if name not in dict(public(package))]
    silent = [name for name in constants if not _is_explained(name, getattr(package, name))]
    assert not silent, f"Write a string below the definitions of these: {silent}"


def _is_explained(name: str, value: object) -> bool:
    """Whether a module explains itself, or the string below the definition of a constant explains that."""
    if inspect.ismodule(value):
        return bool(value.__doc__)
    homes = [module for title, module in sys.modules.items() if title.startswith("lapwing.")]
    sources = [inspect.getsource(home) for home in homes if vars(home).get(name) is value]
    return any(name in _names_with_words(ast.parse(source).body) for source in sources)


REFUSED: dict[str, Callable[[Any], object]] = {
    "where": lambda table: table.where("age >"),
    "group_by": lambda table: table.group_by("nope"),
    "agg": lambda table: table.agg(),
    "sql": lambda table: table.sql("SELEC 1"),
    "quote": lambda table: table.agg(lapwing.count()).quote(epsilon=-1),
    "release": lambda table: table.agg(lapwing.count()).release(),
}
"""Mistakes in the methods that people call most."""


@pytest.mark.parametrize("name", REFUSED)
def test_the_most_used_methods_say_which_errors_they_raise(name: str, tmp_path: Path) -> None:
    rows = {"who": numpy.array([1, 2]), "age": numpy.array([3, 4])}
    promise: dict[str, Any] = {"allowance": lapwing.PureDP(1), "ledger": tmp_path / "ledger.db"}
    table = lapwing.open(rows, name="people", unit="who", bounds={"age": (0, 9)}, **promise)
    with pytest.raises(LapwingError) as refused:
        REFUSED[name](table)
    kind = lapwing.PrivateTable if hasattr(lapwing.PrivateTable, name) else lapwing.Query
    told = entries(sections_of(inspect.unwrap(getattr(kind, name)).__doc__ or "").get("Raises", []))
    assert type(refused.value).__name__ in told


def test_every_error_says_when_it_is_raised() -> None:
    room = import_module("lapwing.errors")
    kinds = {name: value for name, value in vars(room).items() if inspect.isclass(value)}
    assert sorted(kinds) == room.__all__
    silent = []
    for name, kind in kinds.items():
        verb = "Issued" if issubclass(kind, Warning) else "Raised"
        silent += [] if re.search(rf"^{verb} ", inspect.getdoc(kind) or "", re.MULTILINE) else [name]
    assert not silent, f"Say when they are raised (a warning: issued): {silent}"
    assert _kept(kinds["BudgetExceeded"]) == ["requested", "remaining"]


def test_no_module_takes_the_page_of_a_public_name() -> None:
    for room in map(import_module, (f"lapwing.{name}" for name in ROOMS)):
        hidden = [name for name, _ in public(room) if anchor(room, name) in sys.modules]
        assert not hidden, f"The reference of {room.__name__} would show the modules of these names: {hidden}"


def test_inherited_parameters_stand_where_a_reader_expects_them() -> None:
    base = """Base.

    Args:
        entropy: Where randomness comes from.

    Returns:
        A number.
    """
    own = "Own.\n\nReturns:\n    Two numbers.\n\n>>> 1\n1"
    whole = "Own.\n\nArgs:\n    entropy: Where randomness comes from.\n\nReturns:\n    Two numbers.\n\n>>> 1\n1"
    assert completed(own, [base], ["entropy"]) == whole
    more = completed("Own.\n\nArgs:\n    data: Rows.\n\n>>> 1\n1", [base], ["data", "entropy"])
    assert list(described(more)) == ["data", "entropy"]
    assert sections_of(more)["Returns"] == ["A number."]
    assert more.endswith(">>> 1\n1")
