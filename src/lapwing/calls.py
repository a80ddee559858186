"""Calls that explain themselves: a keyword that is missing, unknown or misspelt is answered with what to write.

Python's own TypeError names what is wrong; people ask for what would be right.
"""

from __future__ import annotations

import warnings
from abc import ABCMeta
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import wraps
from importlib import import_module
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from lapwing.checks import example_of
from lapwing.errors import InvalidCall

P = ParamSpec("P")
T = TypeVar("T")

_SYNONYMS = {
    "eps": "epsilon",
    "budget": "epsilon",
    "lower": "bounds",
    "upper": "bounds",
    "range": "bounds",
    "limits": "bounds",
    "bins": "edges",
    "quantile": "q",
    "categories": "keys",
    "accuracy": "within",
    "error": "within",
    "level": "confidence",
}
"""Of words that mean the same wherever they are taken. Those of one class or function are declared there."""


def closest(word: str, known: Iterable[str], synonyms: Mapping[str, str] = {}) -> str | None:
    """The known word that was probably meant: a synonym, another case, or a slip of the pen."""
    folded = {name.lower(): name for name in known}
    for table in (synonyms, _SYNONYMS):
        if table.get(word.lower(), "") in folded:
            return folded[table[word.lower()]]
    matches = get_close_matches(word.lower(), folded, n=1, cutoff=0.7)
    return folded[matches[0]] if matches else None


def also_called(**synonyms: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A helpful function whose keywords people also call otherwise: `@also_called(epsilon="claimed")`."""
    return lambda function: helpful(function, synonyms)


def instead_of(**instead: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A helpful function that says what to write instead of some keywords, which belong elsewhere."""
    return lambda function: helpful(function, instead=instead)


def helpful(
    function: Callable[P, T], synonyms: Mapping[str, str] = {}, instead: Mapping[str, str] = {}
) -> Callable[P, T]:
    """The same function, whose misfitting calls raise `InvalidCall`."""

    @wraps(function)
    def called(*args: P.args, **named: P.kwargs) -> T:
        try:
            return function(*args, **named)
        except TypeError as error:
            wanted, given, name = signature(function), tuple[Any, ...](args), function.__name__
            first = next(iter(wanted.parameters), "")
            if first in ("self", "cls"):  # who calls a method does not write it
                wanted, given = wanted.replace(parameters=list(wanted.parameters.values())[1:]), args[1:]
            if first == "cls":
                name = f"{getattr(args[0], '__name__', '')}.{name}"
            misfit = _misfit(name, wanted, given, named, instead, synonyms)
            raise error if misfit is None else misfit from None

    return called


class Helpful(ABCMeta):
    """A class whose misfitting constructor calls raise `InvalidCall`.

    It may say which of its keywords people also call otherwise (`_synonyms`), or what to write instead (`_instead`).
    """

    _instead: Mapping[str, str] = {}
    _synonyms: Mapping[str, str] = {}

    if not TYPE_CHECKING:  # type checkers read the constructor itself

        def __call__(cls, *args: Any, **named: Any) -> Any:
            try:
                return super().__call__(*args, **named)
            except TypeError as error:
                misfit = _misfit(cls.__name__, cls.__signature__, args, named, cls._instead, cls._synonyms)
                raise error if misfit is None else misfit from None

        @property
        def __signature__(cls) -> Signature:
            constructor = signature(cls.__init__)
            return constructor.replace(parameters=list(constructor.parameters.values())[1:])


def _misfit(
    name: str,
    wanted: Signature,
    args: tuple[Any, ...],
    named: Mapping[str, Any],
    instead: Mapping[str, str] = {},
    synonyms: Mapping[str, str] = {},
) -> InvalidCall | None:
    """What is wrong with a call, or None if its arguments fit."""
    try:
        wanted.bind(*args, **named)
    except TypeError:
        pass
    else:
        return None
    parameters = wanted.parameters
    usage = _usage(name, wanted)
    for word in named:
        if word not in parameters:
            meant = closest(word, parameters, synonyms)
            hint = instead.get(word) or (f"Did you mean {meant}? {usage}" if meant else f"{_options(wanted)}{usage}")
            return InvalidCall(name, f"there is no argument '{word}'", hint)
    places = [p for p in parameters.values() if p.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)]
    if len(args) > len(places):
        most = f"at most {len(places)} without a name" if places else "only arguments with names"
        return InvalidCall(name, f"takes {most}", instead.get("", usage))
    taken = {p.name for p in places[: len(args)]}
    missing = [p.name for p in parameters.values() if _is_required(p) and p.name not in {*named, *taken}]
    lacks = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
    return InvalidCall(name, lacks if missing else "an argument is given twice", usage)


def _usage(name: str, wanted: Signature) -> str:
    """An example call with everything that is required, and with an epsilon where one can be said."""
    words = []
    for parameter in wanted.parameters.values():
        if _is_required(parameter) or parameter.name == "epsilon":
            example = example_of(f"{name}.{parameter.name}", example_of(parameter.name))
            words.append(f"{parameter.name}={example}" if parameter.kind is Parameter.KEYWORD_ONLY else example)
    return f"Write {name}({', '.join(words)}), for example."


def _options(wanted: Signature) -> str:
    """What can be said by name, for somebody who said something else."""
    names = [name for name, parameter in wanted.parameters.items() if parameter.kind is Parameter.KEYWORD_ONLY]
    return f"There are {', '.join(names)}. " if len(names) > 1 else ""


def _is_required(parameter: Parameter) -> bool:
    collects = parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    return parameter.default is Parameter.empty and not collects


def moved(old: str, new: str) -> Any:
    """What an old name stands for, with a warning for whoever wrote it that says the new one."""
    warnings.warn(f"{old} is now {new}. Write {new}.", DeprecationWarning, stacklevel=3)
    room, _, name = new.rpartition(".")
    return getattr(import_module(room), name)
