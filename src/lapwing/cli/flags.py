"""What an error of the library says about keywords, in the words of the command line: `active_steps=30` as a flag."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from lapwing.errors import (
    IncompatibleLosses,
    InvalidCall,
    InvalidParameter,
    LapwingError,
    StreamDamaged,
    UnsupportedQuery,
)

_OPTIONS: ContextVar[frozenset[str]] = ContextVar("_OPTIONS", default=frozenset())
"""The keywords that the command that runs has as options."""
_SPENDING = ("epsilon", "delta", "rho", "within")
_VALUE = r"""'[^']*'|"[^"]*"|[\w.+-]*\w"""
_ALLOWANCE = re.compile(r"(?:allowance=)?lw\.(PureDP|ZCDP)\((\d[\w.]*)(?:, unit='([^']*)')?\)")


@contextmanager
def options(names: Iterable[str]) -> Iterator[None]:
    """Errors that are shown meanwhile are about a command with these options."""
    token = _OPTIONS.set(_OPTIONS.get() | frozenset(names))
    try:
        yield
    finally:
        _OPTIONS.reset(token)


def flag(name: str) -> str:
    """The flag of an option."""
    return f"--{name.replace('_', '-')}"


def spoken(error: LapwingError) -> str:
    """An error as a user of the command that runs reads it. SQL and values that were given stay as they are."""
    text, known = str(error), _OPTIONS.get()
    if not known:
        return text
    if isinstance(error, InvalidParameter):
        head = f"{error.name} = {error.value!r}: "
        if not text.startswith(head):
            return text
        advice = _told(text.removeprefix(head), known)
        if error.name not in known:
            return head + advice
        return f"{flag(error.name)}{'' if error.value is None else f' = {error.value!r}'}: {advice}"
    if isinstance(error, InvalidCall | UnsupportedQuery):
        before, instead, after = text.rpartition(error.instead)
        return before + _told(instead, known) + after
    return _told(text, known) if isinstance(error, IncompatibleLosses | StreamDamaged) else text


def _told(text: str, known: frozenset[str]) -> str:
    """Advice with flags for keywords. Another way to spend that the command does not have is left out."""
    for name in _SPENDING:
        if name not in known:
            text = re.sub(rf", or {name}=(?:{_VALUE})", "", text)
    if "allowance" not in known:
        return _flagged(text, known)
    advice, end = "", 0
    for match in _ALLOWANCE.finditer(text):  # the unit in it is no option
        advice += _flagged(text[end : match.start()], known) + _allowance(match)
        end = match.end()
    return advice + _flagged(text[end:], known)


def _flagged(text: str, known: frozenset[str]) -> str:
    if "each_row" in known:
        text = re.sub(r"\b(unit=)?lw\.EACH_ROW\b", "--each-row", text)
    if "keys" in known:
        text = re.sub(r"\bby={", "keys={", text)
    words = "|".join(sorted(known, key=len, reverse=True))
    text = re.sub(rf"\b({words})={{'([^']*)': ([^}}]*)}}", _of_column, text)
    text = re.sub(rf"\b({words})=(?:({_VALUE})|(?![\w'\"\[({{]))", _given, text)
    several = "|".join(sorted((name for name in known if "_" in name), key=len, reverse=True))
    return re.sub(rf"(?<!-)\b({several})\b", lambda match: flag(match[1]), text) if several else text


def _allowance(match: re.Match[str]) -> str:
    size = f"{'rho' if match[1] == 'ZCDP' else 'epsilon'}={match[2]}"
    return f"--allowance {shlex.quote(size if match[3] is None else f'{size},unit={match[3]}')}"


def _of_column(match: re.Match[str]) -> str:
    """A dictionary with one column: types={'at': 'timestamp'}, bounds={'age': (0, 100)}, keys={'region': ['N']}."""
    separator = ":" if match[1] == "bounds" else ","
    values = re.sub(r"[\[\]()'\" ]", "", match[3]).replace(",", separator)
    return f"{flag(match[1])} {shlex.quote(f'{match[2]}={values}') if values.isascii() else f'{match[2]}={values}'}"


def _given(match: re.Match[str]) -> str:
    name, value = match[1], match[2]
    return flag(name) if value is None else f"{flag(name)} {shlex.quote(value.strip(chr(39) + chr(34)))}"
