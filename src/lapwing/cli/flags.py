"""Rewrites errors of the library for the command line: `active_steps=30` becomes `--active-steps 30`."""

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
    shown,
)

_OF_A_PAIR: ContextVar[bool] = ContextVar("_OF_A_PAIR", default=False)
"""Whether the file of a pair says what `lw.open` takes as keywords."""
_OPTIONS: ContextVar[frozenset[str]] = ContextVar("_OPTIONS", default=frozenset())
"""The keywords that the command that runs has as options."""
_SPENDING = ("epsilon", "delta", "rho", "within")
_VALUE = r"""'[^']*'|"[^"]*"|[\w.+-]*\w"""
_ALLOWANCE = re.compile(
    r"(?:allowance=)?lw\.(PureDP|ApproxDP|ZCDP)\((\d[\w.-]*)(?:, (\d[\w.-]*))?(?:, unit='([^']*)')?\)"
)


@contextmanager
def options(names: Iterable[str], *, of_a_pair: bool = False) -> Iterator[None]:
    """Errors that are shown meanwhile are about a command with these options, perhaps one of `lapwing pair`."""
    token, kind = _OPTIONS.set(_OPTIONS.get() | frozenset(names)), _OF_A_PAIR.set(of_a_pair)
    try:
        yield
    finally:
        _OPTIONS.reset(token)
        _OF_A_PAIR.reset(kind)


def flag(name: str) -> str:
    """The flag of an option."""
    return f"--{name.replace('_', '-')}"


def spoken(error: LapwingError) -> str:
    """An error as a user of the command that runs reads it. SQL and values that were given stay as they are."""
    text, known = str(error), _OPTIONS.get()
    if not known:
        return text
    if isinstance(error, InvalidParameter):
        value = shown(error.value)
        head = f"{error.name} = {value}: "
        if not text.startswith(head):
            return text
        advice = _told(text.removeprefix(head), known)
        if error.name not in known:
            return head + advice
        said = "" if error.value is None or value.startswith("<") else f" = {value}"  # no type of Python
        return f"{flag(error.name)}{said}: {advice}"
    if isinstance(error, InvalidCall | UnsupportedQuery):
        before, instead, after = text.rpartition(error.instead)
        return before + _told(instead, known) + after
    return _told(text, known) if isinstance(error, IncompatibleLosses | StreamDamaged) else text


def advice(text: str) -> str:
    """Advice that is no error, as a user of the command that runs reads it.

    >>> with options(["count"]):
    ...     advice("Write count=N.")
    'Write --count N.'
    """
    known = _OPTIONS.get()
    return _told(text, known) if known else text


def _told(text: str, known: frozenset[str]) -> str:
    """Advice with flags for keywords. Another way to spend that the command does not have is left out."""
    text = re.sub(r", or use lw\.histogram\([^)]*\)", "", text)  # what SQL does not have
    if _OF_A_PAIR.get():
        text = re.sub(r"\bopen the table with (?=types=|bounds=)", "declare ", text)
        text = re.sub(r"\b(types|bounds)=({[^}]*})?( when you open the table)?", _in_file, text)
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
    text = re.sub(rf"\b({words})=\[('[^\]]*')\]", lambda match: f"{flag(match[1])} {_word(_plain(match[2]))}", text)
    text = re.sub(rf"\b({words})=(?:({_VALUE})|(?![\w'\"\[({{]))", _given, text)
    several = "|".join(sorted((name for name in known if "_" in name), key=len, reverse=True))
    return re.sub(rf"(?<!-)\b({several})\b", lambda match: flag(match[1]), text) if several else text


def _allowance(match: re.Match[str]) -> str:
    parts = {"rho" if match[1] == "ZCDP" else "epsilon": match[2], "delta": match[3], "unit": match[4]}
    said = ",".join(f"{name}={value}" for name, value in parts.items() if value is not None)
    return f"--allowance {shlex.quote(said)}"


def _in_file(match: re.Match[str]) -> str:
    """What a table is opened with elsewhere, as the file of a pair says it."""
    return f"{'type' if match[1] == 'types' else 'bounds'}: in the file"


def _of_column(match: re.Match[str]) -> str:
    """A dictionary with one column: types={'at': 'timestamp'}, bounds={'age': (0, 100)}, keys={'region': ['N']}."""
    separator = ":" if match[1] == "bounds" else ","
    values = _plain(match[3]).replace(",", separator)
    return f"{flag(match[1])} {_word(f'{match[2]}={values}')}"


def _plain(values: str) -> str:
    """Values of a list without their quotes. A value in quotes keeps its spaces."""
    parts = re.findall(r"""'([^']*)'|"([^"]*)"|([^\s,()\[\]'"]+)""", values)
    return ",".join("".join(part) for part in parts)


def _word(text: str) -> str:
    """One word of a command line, quoted where a shell would split or expand it."""
    return shlex.quote(text) if text.isascii() or " " in text else text


def _given(match: re.Match[str]) -> str:
    name, value = match[1], match[2]
    return flag(name) if value is None else f"{flag(name)} {shlex.quote(value.strip(chr(39) + chr(34)))}"
