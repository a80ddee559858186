"""Which column was probably meant. If a file has no line of names, its names are a record, and are not shown."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext

from lapwing.calls import closest
from lapwing.errors import withheld

NO_VALUE = ("NA", "N/A", "n/a", "#N/A", "NULL", "null", "None", "NaN", "nan", "-", "?", ".", "")
"""What programs and people write where there is no value, the last one for spaces. In a column of text it is text."""
_WORDS = "|".join(re.escape(word) for word in (*NO_VALUE, "n.a.", "n.a", "NaT", "inf", "infinity") if word)
_LIKE_A_CELL = re.compile(rf"\W*(\d.*|{_WORDS})?\W*", flags=re.IGNORECASE | re.DOTALL)

_SHORT = 120
"""Characters of a text that is shown again as it should be."""


def which_column(wanted: object, known: Collection[str], *, quoted: bool = True) -> str:
    """What to write instead of a column that is not there."""
    if not are_names(known):
        return "The columns are not listed: one is called like a number, as if a record stood where names belong."
    meant = closest(wanted, known) if isinstance(wanted, str) else None
    if meant is None:
        return f"There are: {', '.join(known)}."
    return f"Did you mean {meant!r}?" if quoted else f"Did you mean {meant}?"


def without_quotes(text: str, known: Collection[str]) -> str | None:
    """What to write instead of SQL that holds the name of a column with spaces or brackets as it is, if it does."""
    odd = [name for name in known if name in text and not name.replace(".", "").isidentifier()]
    name = max(odd, key=len, default="")
    quoted = '"' + name.replace('"', '""') + '"'
    if not odd or quoted in text or not are_names(known):
        return None
    written = text.replace(name, quoted) if len(text) <= _SHORT else quoted
    return f"Write {written.strip()}. A name with spaces, brackets or other signs has double quotes."


def unseen(known: Collection[str], **named: object) -> AbstractContextManager[None]:
    """Whatever is refused about one entry of a list of columns: kept back if the list could be records.

    Lists that hold nothing but columns of the table are none.
    """
    [given] = named.values()
    if all(isinstance(entry, str) and entry in known for entry in _entries(given)):
        return nullcontext()
    return withheld("has an entry that is no column", which_column(None, known), **named)


def _entries(given: object) -> Iterator[object]:
    """What a list, or a list of lists, holds."""
    for entry in given if isinstance(given, list | tuple | Mapping) else [None]:
        yield from _entries(entry) if isinstance(entry, list | tuple) else [entry]


def are_names(known: Collection[str]) -> bool:
    """Whether none of them looks like a number, a date or an empty cell. Na is sodium: no empty cell is written so."""
    return not any(_LIKE_A_CELL.fullmatch(str(name)) for name in known if name != "Na")
