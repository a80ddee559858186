"""Names of columns as strangers write them, made fit for SQL, for pages and for spreadsheets."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

LONGEST = 60
_FORMULAS = "=+-@"
"""How a cell begins that a spreadsheet would compute."""
_QUOTES = "\"'`\\;"
_MARKS = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
"""Categories of signs that nobody sees, or that turn the direction of what follows."""


@dataclass(frozen=True, slots=True)
class Name:
    """How we call a column, and how its file does, if that is another name."""

    name: str
    original: str = ""


def cleaned(names: Iterable[str]) -> tuple[Name, ...]:
    """One distinct name for each, in their order.

    >>> [one.name for one in cleaned(["Age", " age ", "", "=SUM(A1)", 'say "hi"'])]
    ['Age', 'age_2', 'column_3', 'SUM(A1)', 'say hi']
    """
    taken: set[str] = set()
    distinct = []
    for number, original in enumerate(names, 1):
        wish = _fit(original) or f"column_{number}"
        name, turn = wish, 1
        while name.casefold() in taken:
            turn += 1
            name = f"{wish[: LONGEST - 8]}_{turn}"
        taken.add(name.casefold())
        distinct.append(Name(name, "" if name == original else _shown(original)))
    return tuple(distinct)


def table_name(title: str) -> str:
    """How SQL calls a table, after the name of its file.

    >>> table_name("Visits 2026 (final).csv.gz"), table_name("12.csv")
    ('visits_2026_final', 'table_12')
    """
    stem = title.lower().split(".")[0]
    ascii_only = unicodedata.normalize("NFKD", stem).encode("ascii", "ignore").decode()
    words = "_".join("".join(sign if sign.isalnum() else " " for sign in ascii_only).split())[:40]
    if not words:
        return "records"
    return words if words[0].isalpha() and words not in _SQL else f"table_{words}"


_SQL = {"table", "select", "from", "group", "order", "where", "user", "values", "all", "end", "left", "right", "with"}


def file_title(name: str) -> str:
    """What a page may call a file: the last part of its name, without signs that nobody sees."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    return _visible(last).strip()[:80] or "your table"


def _visible(text: str) -> str:
    seen = (" " if unicodedata.category(sign) in _MARKS or sign.isspace() else sign for sign in text)
    return " ".join("".join(seen).split())


def _fit(name: str) -> str:
    plain = _visible(unicodedata.normalize("NFC", name[:4000]))
    plain = "".join(sign for sign in plain if sign not in _QUOTES)
    return plain.lstrip(_FORMULAS + " ")[:LONGEST].strip()


def _shown(original: str) -> str:
    plain = _visible(original[:4000])
    return (plain if len(plain) <= LONGEST else plain[: LONGEST - 1] + "…") or "no name"
