"""Every public name is explained: what it takes, gives and refuses, and an example that runs."""

from __future__ import annotations

import ast
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
from reference_pages import ROOMS, anchor, explanation

import lapwing
from lapwing.errors import LapwingError

MOST_USED = {
    "lapwing": (
        *("PrivateTable", "Query", "Quote", "Answer", "Distribution", "History", "Marginals", "Check", "Unprotected"),
        *("Ledger", "Loss", "PureDP", "ApproxDP", "ZCDP", "RenyiDP", "PLD", "Composition", "Trust"),
        *("NumericStream", "Stream", "StreamQuestion", "Search", "Control", "OneRun"),
    ),
    "lapwing.curator": ("Grouped", "Statement", "Table"),
    "lapwing.mechanisms": (
        *("AboveThreshold", "Count", "CounterState", "Exponential", "Gaussian", "Histogram", "KaryResponse"),
        *("Laplace", "LeastSquares", "Mean", "Quantile", "RandomizedResponse", "SparseVector", "Sum", "Tree"),
        *("Watch", "WEventState"),
    ),
    "lapwing.models": ("KMeans", "LinearRegression", "OccamLearner", "ParityLearner", "PCA", "StandardScaler"),
    "lapwing.crowd": (
        *("ClosedProtocol", "Column", "Counts", "Donation", "Estimates", "MeanEstimate", "OpenProtocol"),
        *("Protocol", "Rappor", "Series"),
    ),
    "lapwing.anonymity": ("Digits", "DistinctDiversity", "Flat", "Ranges", "ShamirSharing", "Taxonomy"),
}
"""Classes whose every method has an example of its own. Of others, `test_reference_examples.py` looks at the site."""


def public(room: ModuleType) -> Iterator[tuple[str, object]]:
    """Classes and functions; a constant is explained beside its definition."""
    for name in room.__all__:
        value = getattr(room, name)
        if inspect.isclass(value) or inspect.isfunction(inspect.unwrap(value)):
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
    kinds = [getattr(import_module(room), name) for room, names in MOST_USED.items() for name in names]
    return [
        f"{kind.__name__}.{name}"
        for kind in kinds
        for name, method in vars(kind).items()
        if not name.startswith("_") and inspect.isfunction(inspect.unwrap(getattr(method, "__func__", method)))
        if name not in getattr(kind, "__dataclass_fields__", ())  # a function that a value keeps
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
        gives = value.__annotations__.get("return")
        if (
            parameters
            and gives not in (None, "None", "NoReturn", "Never")
            and not {"Returns", "Yields"} & set(sections)
        ):
            left.append(f"{name}: Returns")
        left += [
            f"{name}: Returns: indent the line {line!r}" for line in sections.get("Returns", [])[1:] if line[:1] > " "
        ]
        told = entries(sections.get("Raises", []))
        left += [f"{name}: Raises: {error}" for error in sorted(_raised(value)) if error not in told]
    return left


def _fields_with_words(kind: type) -> set[str]:
    """Fields that a string below them explains, as in `rows: int` and then \"\"\"How many rows there are.\"\"\"."""
    found: set[str] = set()
    for base in kind.__mro__[:-1]:
        if not base.__module__.startswith("lapwing."):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0].body  # type: ignore[attr-defined]
        for field, words in itertools.pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(words, ast.Expr) and isinstance(field.target, ast.Name):
                found.add(field.target.id)
    return found


def _raised(function: Any) -> set[str]:
    """The errors that a function raises itself, by name."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    calls = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)]
    return {call.func.id for call in calls if isinstance(call.func, ast.Name) and call.func.id[0].isupper()}


def _raised_by_checks(function: Any) -> set[str]:
    """The error of `lapwing.checks`, if a function has them look at anything; fields are refused when they are made."""
    is_constructor = function.__name__ in ("__init__", "__post_init__")
    for call in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="checks")), args=args, keywords=keywords):
                looked = [node for each in (*args, *keywords) for node in ast.walk(each) if isinstance(node, ast.Name)]
                if is_constructor or {node.id for node in looked} - {"self"}:
                    return {"InvalidParameter"}
    return set()


def test_every_parameter_result_and_error_is_described() -> None:
    left = {room: names for room in ROOMS if (names := undescribed(room))}
    assert not left, f"Write Args, Returns and Raises into the docstrings of these: {left}"


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


@pytest.mark.parametrize("room", ROOMS)
def test_results_errors_and_examples_are_complete(room: str) -> None:
    left = incomplete(room)
    assert not left, f"Write this into the docstrings of lapwing.{room}: {left}"


def incomplete(room: str) -> list[str]:
    """What docstrings leave out of results without parameters, of errors that helpers raise, and of examples."""
    left: list[str] = []
    package = import_module(f"lapwing.{room}")
    for name, value, _, text in documented(room):
        sections = sections_of(text)
        told = entries(sections.get("Raises", []))
        owner = getattr(package, name.partition(".")[0])
        if "." not in name and not _uses_itself(value):
            left.append(f"{name}: its example does not use it")
        if isinstance(owner, type) and issubclass(owner, Exception):
            continue
        if not inspect.isclass(value) and value.__annotations__.get("return") not in NOTHING:
            left += [] if {"Returns", "Yields"} & set(sections) else [f"{name}: Returns"]
        makers = (
            [vars(value).get(each) for each in ("__init__", "__post_init__")] if inspect.isclass(value) else [value]
        )
        for function in filter(_is_ours, makers):
            left += [
                f"{name}: Raises: {error}"
                for error in sorted((_raised(function) | _raised_by_checks(function)) - set(told))
            ]
            if not told and (errors := _raised_below(function, owner)):
                left.append(f"{name}: Raises: {' or '.join(sorted(errors))}")
    return left


NOTHING = (None, "None", "NoReturn", "Never")


def _is_ours(function: Any) -> bool:
    """Not made by dataclasses, and not of another library."""
    if not inspect.isfunction(function) or not function.__module__.startswith("lapwing."):
        return False
    return not function.__code__.co_filename.startswith("<")


def _uses_itself(value: Any) -> bool:
    """Whether an example names what it explains. For a class that others make, it may use a member instead."""
    name = f"{value.__module__}.{value.__qualname__}"
    tests = doctest.DocTestFinder().find(import_module(value.__module__))
    shown = "".join(
        f"{example.source}{example.want}"
        for test in tests
        if test.name == name or (inspect.isclass(value) and test.name.startswith(f"{name}."))
        for example in test.examples
    )
    members = dir(value) + list(getattr(value, "__dataclass_fields__", ())) if inspect.isclass(value) else []
    used = [rf"\b{value.__name__}\b", *(rf"\.{each}\b" for each in members if not each.startswith("_"))]
    return re.search("|".join(used), shown) is not None


def _raised_below(function: Any, owner: Any) -> set[str]:
    """The errors that a function raises itself, or through private methods and functions of its own module."""
    found, waiting, seen = set[str](), [inspect.unwrap(function)], set[Any]()
    while waiting:
        seen.add(helper := waiting.pop())
        found |= _raised(helper) | _raised_by_checks(helper)
        for call in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(helper)))):
            match call:
                case ast.Call(func=ast.Name(id=name)):
                    called = helper.__globals__.get(name)
                case ast.Call(func=ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name)) if name[0] == "_":
                    called = inspect.getattr_static(owner, name, None)
                case _:
                    continue
            called = inspect.unwrap(getattr(called, "__func__", called))
            if _is_ours(called) and called.__module__ == function.__module__ and called not in seen:
                waiting.append(called)
    return found


def test_the_law_sees_checks_helpers_and_examples_that_use_nothing() -> None:
    from lapwing.curator import NumericStream
    from lapwing.privacy import PureDP, compose

    assert _raised_below(PureDP.for_group, PureDP) == {"InvalidParameter"}
    assert _raised_below(compose, None) == {"IncompatibleLosses", "InvalidParameter"}
    assert "InvalidCall" in _raised_below(NumericStream.estimate, NumericStream)
    assert _uses_itself(NumericStream)
    assert not _uses_itself(_kept)


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_has_a_sentence_on_the_site(room: str) -> None:
    package = import_module(f"lapwing.{room}")
    silent = [name for name in package.__all__ if not explanation(package, name)]
    assert not silent, f"Write a string below the definitions of these: {silent}"


def test_every_error_says_when_it_is_raised() -> None:
    room = import_module("lapwing.errors")
    classes = {name: value for name, value in vars(room).items() if inspect.isclass(value)}
    kinds = {name: value for name, value in classes.items() if value.__module__ == room.__name__}
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
    must = completed("Own.\n\nArgs:\n    data: Rows.\n\n>>> 1\n1", [base], ["data", "entropy"], ["entropy"])
    assert list(described(must)) == ["entropy", "data"]
    assert sections_of(more)["Returns"] == ["A number."]
    assert more.endswith(">>> 1\n1")
