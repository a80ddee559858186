"""What a form says, as values: every refusal says what to write instead."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

import sqlglot
from sqlglot.errors import SqlglotError

from lapwing.errors import InvalidParameter
from lapwing.web.lab.analysis import Field
from lapwing.web.lab.statement import LONGEST_KEY, StatedColumn

MOST_NUMBERS = 101
"""Numbers in one field: the edges of a hundred bins."""


class Refused(InvalidParameter):
    """What was typed into a form, refused in a sentence that needs no name of its field before it."""

    def __init__(self, name: str, value: object, why: str, hint: str = "") -> None:
        super().__init__(name, value, why, hint)
        self.args = (f"{why}. {hint}".rstrip(),)


def text(form: Mapping[str, Any], name: str, default: str = "") -> str:
    """What stands in a field, without blanks around it."""
    value = form.get(name, default)
    if isinstance(value, list | tuple):
        value = value[0] if value else default
    return str(value).strip() if value is not None else default


def texts(form: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """All that was chosen in a field of several choices, each once."""
    value = form.get(name, ())
    given = [value] if isinstance(value, str) else list(value or ())
    return tuple(dict.fromkeys(str(word).strip() for word in given if str(word).strip()))


def column(form: Mapping[str, Any], name: str, allowed: Iterable[StatedColumn], need: str) -> StatedColumn:
    """The column that was chosen among those that will do; `need` says what a column must have for it."""
    return one_of_columns(text(form, name), name, allowed, need)


def one_of_columns(chosen: str, name: str, allowed: Iterable[StatedColumn], need: str) -> StatedColumn:
    """The column of that name."""
    known = {column.name: column for column in allowed}
    if not known:
        hint = f"Go back to what you stated about the table, and give a column {need}."
        raise InvalidParameter(name, chosen, f"no column of this table has {need}", hint)
    if chosen not in known:
        raise InvalidParameter(name, chosen, "is not one of the columns for this", f"Choose {listed(known)}.")
    return known[chosen]


def columns(
    form: Mapping[str, Any], name: str, allowed: Iterable[StatedColumn], need: str, most: int
) -> tuple[StatedColumn, ...]:
    """The columns that were chosen."""
    chosen, usable = texts(form, name), tuple(allowed)
    if not chosen:
        one_of_columns(usable[0].name if usable else "", name, usable, need)
        names = listed([column.name for column in usable])
        raise InvalidParameter(name, "", "no column is chosen", f"Choose one or more of {names}.")
    if len(chosen) > most:
        why = f"are {len(chosen)} columns, and every one takes its share of the budget"
        raise InvalidParameter(name, ", ".join(chosen), why, f"Choose {most} at most.")
    return tuple(one_of_columns(word, name, usable, need) for word in chosen)


def choice(form: Mapping[str, Any], name: str, known: Sequence[str], default: str = "") -> str:
    """One of a few words."""
    chosen = text(form, name, default or known[0]) or default or known[0]
    if chosen not in known:
        raise InvalidParameter(name, chosen, "is not one of the choices", f"Choose {listed(known)}.")
    return chosen


def number(form: Mapping[str, Any], name: str, default: float | None = None) -> float | None:
    """A finite number, or the default where the field is empty."""
    written = text(form, name)
    if not written:
        return default
    try:
        value = float(written)
    except ValueError:
        value = float("nan")
    if not isfinite(value):
        raise InvalidParameter(name, written, "is not a number", "Write digits, such as 12 or 0.5.")
    return value


def whole(form: Mapping[str, Any], name: str, low: int, high: int, default: int) -> int:
    """A whole number between two others."""
    value = number(form, name, default)
    if value is None or value != int(value) or not low <= value <= high:
        why = f"must be a whole number from {low} to {high}"
        raise InvalidParameter(name, text(form, name), why, f"Write {default}, for example.")
    return int(value)


def numbers(form: Mapping[str, Any], name: str, default: Sequence[float] = ()) -> tuple[float, ...]:
    """Numbers with blanks, commas or semicolons between them."""
    words = [word for word in re.split(r"[\s,;]+", text(form, name)) if word]
    if not words:
        return tuple(default)
    if len(words) > MOST_NUMBERS:
        raise InvalidParameter(name, f"{len(words)} numbers", "are too many", f"Write {MOST_NUMBERS} at most.")
    values = [number({name: word}, name) for word in words]
    return tuple(value for value in values if value is not None)


def choices(of: Iterable[StatedColumn]) -> tuple[tuple[str, str], ...]:
    """Columns as the choices of a field."""
    return tuple((column.name, described(column)) for column in of)


def described(column: StatedColumn) -> str:
    """A column with what is stated about it."""
    if column.bounds:
        return f"{column.name} ({column.bounds[0]:g} to {column.bounds[1]:g})"
    return f"{column.name} ({len(column.keys)} keys)" if column.keys else column.name


def chosen(name: str, label: str, of: Iterable[StatedColumn], hint: str = "") -> Field:
    """A field for one column, the first one to begin with."""
    offered = choices(of)
    return Field(name, label, offered, offered[0][0] if offered else "", hint=hint)


def written(value: float) -> str:
    """A number as one would write it: 2010 and not 2010.0, and never with an exponent where digits will do.

    >>> written(2010.0), written(0.5), written(1234567.0)
    ('2010', '0.5', '1234567')
    """
    return f"{value:.15g}"


def joined(words: Sequence[str]) -> str:
    """Words with commas, and "and" before the last."""
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)


def listed(words: Iterable[str]) -> str:
    """Words with commas, and "or" before the last."""
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


def label_of(name: str) -> str:
    """A column as text for SQL, no longer than can tell it from every key: a cell may have megabytes."""
    return f"left(CAST({quoted(name)} AS VARCHAR), {LONGEST_KEY + 1})"


def named(name: str) -> str:
    """A name as SQL and the curator read it, in quotes only where it needs some.

    >>> named("minutes"), named("first name")
    ('minutes', '"first name"')
    """
    if name.isidentifier() and name.isascii():
        with contextlib.suppress(SqlglotError):
            if isinstance(sqlglot.parse_one(name), sqlglot.exp.Column):
                return name
    return quoted(name)


def quoted(name: str) -> str:
    """A name as SQL and the curator read it."""
    return '"' + name.replace('"', '""') + '"'
