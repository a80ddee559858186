"""What a form says, as values: every refusal says what to write instead."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

from lapwing.errors import InvalidParameter
from lapwing.web.lab.analysis import Field
from lapwing.web.lab.statement import LONGEST_KEY, Stated

MOST_NUMBERS = 101
"""Numbers in one field: the edges of a hundred bins."""


def text(asked: Mapping[str, Any], name: str, default: str = "") -> str:
    """What stands in a field, without blanks around it."""
    value = asked.get(name, default)
    if isinstance(value, list | tuple):
        value = value[0] if value else default
    return str(value).strip() if value is not None else default


def texts(asked: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """All that was chosen in a field of several choices, each once."""
    value = asked.get(name, ())
    given = [value] if isinstance(value, str) else list(value or ())
    return tuple(dict.fromkeys(str(one).strip() for one in given if str(one).strip()))


def column(asked: Mapping[str, Any], name: str, allowed: Iterable[Stated], need: str) -> Stated:
    """The column that was chosen among those that will do; `need` says what a column must have for it."""
    return one_of_columns(text(asked, name), name, allowed, need)


def one_of_columns(chosen: str, name: str, allowed: Iterable[Stated], need: str) -> Stated:
    """The column of that name."""
    known = {one.name: one for one in allowed}
    if not known:
        hint = f"Go back to what you stated about the table, and give a column {need}."
        raise InvalidParameter(name, chosen, f"no column of this table has {need}", hint)
    if chosen not in known:
        raise InvalidParameter(name, chosen, "is not one of the columns for this", f"Choose {listed(known)}.")
    return known[chosen]


def columns(asked: Mapping[str, Any], name: str, allowed: Iterable[Stated], need: str, most: int) -> tuple[Stated, ...]:
    """The columns that were chosen."""
    chosen, usable = texts(asked, name), tuple(allowed)
    if not chosen:
        one_of_columns(usable[0].name if usable else "", name, usable, need)
        names = listed([one.name for one in usable])
        raise InvalidParameter(name, "", "no column is chosen", f"Choose one or more of {names}.")
    if len(chosen) > most:
        why = f"are {len(chosen)} columns, and every one takes its share of the budget"
        raise InvalidParameter(name, ", ".join(chosen), why, f"Choose {most} at most.")
    return tuple(one_of_columns(one, name, usable, need) for one in chosen)


def choice(asked: Mapping[str, Any], name: str, known: Sequence[str], default: str = "") -> str:
    """One of a few words."""
    chosen = text(asked, name, default or known[0]) or default or known[0]
    if chosen not in known:
        raise InvalidParameter(name, chosen, "is not one of the choices", f"Choose {listed(known)}.")
    return chosen


def number(asked: Mapping[str, Any], name: str, default: float | None = None) -> float | None:
    """A finite number, or the default where the field is empty."""
    found = text(asked, name)
    if not found:
        return default
    try:
        value = float(found)
    except ValueError:
        value = float("nan")
    if not isfinite(value):
        raise InvalidParameter(name, found, "is not a number", "Write digits, such as 12 or 0.5.")
    return value


def whole(asked: Mapping[str, Any], name: str, low: int, high: int, default: int) -> int:
    """A whole number between two others."""
    found = number(asked, name, default)
    if found is None or found != int(found) or not low <= found <= high:
        why = f"must be a whole number from {low} to {high}"
        raise InvalidParameter(name, text(asked, name), why, f"Write {default}, for example.")
    return int(found)


def numbers(asked: Mapping[str, Any], name: str, default: Sequence[float] = ()) -> tuple[float, ...]:
    """Numbers with blanks, commas or semicolons between them."""
    found = [one for one in re.split(r"[\s,;]+", text(asked, name)) if one]
    if not found:
        return tuple(default)
    if len(found) > MOST_NUMBERS:
        raise InvalidParameter(name, f"{len(found)} numbers", "are too many", f"Write {MOST_NUMBERS} at most.")
    values = [number({name: one}, name) for one in found]
    return tuple(value for value in values if value is not None)


def choices(of: Iterable[Stated]) -> tuple[tuple[str, str], ...]:
    """Columns as the choices of a field."""
    return tuple((one.name, described(one)) for one in of)


def described(one: Stated) -> str:
    """A column with what is stated about it."""
    if one.bounds:
        return f"{one.name} ({one.bounds[0]:g} to {one.bounds[1]:g})"
    return f"{one.name} ({len(one.keys)} keys)" if one.keys else one.name


def chosen(name: str, label: str, of: Iterable[Stated], hint: str = "") -> Field:
    """A field for one column, the first one to begin with."""
    offered = choices(of)
    return Field(name, label, offered, offered[0][0] if offered else "", hint=hint)


def listed(words: Iterable[str]) -> str:
    """Words with commas, and "or" before the last."""
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


def label_of(name: str) -> str:
    """A column as text for SQL, no longer than can tell it from every key: a cell may have megabytes."""
    return f"left(CAST({quoted(name)} AS VARCHAR), {LONGEST_KEY + 1})"


def quoted(name: str) -> str:
    """A name as SQL and the curator read it."""
    return '"' + name.replace('"', '""') + '"'
