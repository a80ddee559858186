"""Parts of a question as plain data, each checked to be what it should be: mappings, lists, texts, numbers, names."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, TypeVar, get_args

from lapwing import checks
from lapwing.calls import closest
from lapwing.errors import InvalidParameter

HINT = "Save a question with query.to_yaml() to see how it is written."
T = TypeVar("T")


def exact_number(value: Any, name: str) -> Fraction:
    """An exact number; a fraction may be text."""
    if isinstance(value, str):
        above, _, below = value.partition("/")
        if above.lstrip("-").isdecimal() and below.isdecimal() and int(below):
            return Fraction(int(above), int(below))
    return checks.exact(**{name: value})


def one_of(options: Any, parts: Mapping[str, Any], name: str) -> Any:
    """One of the words of a Literal."""
    return checks.one_of(get_args(options), **{name: parts.get(name)})


def lookup(name: Any, known: Mapping[str, T], why: str) -> T:
    """What a name stands for."""
    if isinstance(name, str) and name in known:
        return known[name]
    meant = closest(name, known) if isinstance(name, str) else None
    hint = f"Did you mean {meant}?" if meant else f"There are: {', '.join(known) or 'none'}."
    raise InvalidParameter("question", name, why, hint)


def mapping(data: Any, name: str, known: tuple[str, ...] | None = None) -> dict[str, Any]:
    """A mapping, perhaps with these fields alone."""
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise InvalidParameter(name, type(data), "must be a mapping", HINT)
    for key in data if known is not None else ():
        lookup(key, dict.fromkeys(known or ()), f"{name} has no such field")
    return data


def single(data: Any, name: str) -> tuple[str, Any]:
    """The one name of a mapping, and what it stands for."""
    parts = mapping(data, name)
    if len(parts) != 1:
        raise InvalidParameter(name, sorted(parts), "must be a mapping with one name", HINT)
    [item] = parts.items()
    return item


def entries(data: Any, name: str) -> list[Any]:
    """A list."""
    if not isinstance(data, list):
        raise InvalidParameter(name, type(data), "must be a list", HINT)
    return data


def text(value: Any, name: str) -> str:
    """Text that is not empty."""
    if not isinstance(value, str) or not value:
        raise InvalidParameter(name, value, "must be text", HINT)
    return value
