"""What the library says, as a page says it: without the names of its parameters, and as a sentence."""

from __future__ import annotations

import re
from collections.abc import Callable

_RELATION = re.compile(r" \((?:add_remove|replace), per ([^)]*)\)")
ROWS_FIELD = "Rows of one person that count, at most"
"""The field of the lab that the library calls max_rows_per_unit."""
_HERE = (
    ("raise max_rows_per_unit", f"raise “{ROWS_FIELD}” where you state what is public about the table"),
    ("ask for lw.units(), or in SQL for", "ask in SQL for"),
    ("is not a declared key", "is not a key that you stated"),
    ("Write q=0.5,", "Write 0.5,"),
    ("is the value of one unit", "is the value of one person"),
)
"""What the library tells to write in Python, and what to do on a page of the lab instead."""
_STATE = "where you state what is public about the table"
_TYPE_WORDS = {"number": "number", "integer": "whole number", "boolean": "yes or no", "date": "date", "text": "text"}
_CALLS: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = tuple(
    (re.compile(call, re.DOTALL), here)
    for call, here in (
        (
            r"pass bounds=\{'([^']*)': \(low, high\)\} from public knowledge\. If you do not know them, .*",
            rf"state bounds of \1 {_STATE}. If you do not know them, a private look can find them there.",
        ),
        (
            r"declare bounds=\{'([^']*)': \([^)]*\)\} when you open the table",
            rf"choose “number” as the type of \1 and state its bounds {_STATE}",
        ),
        (
            r"Write types=\{'([^']*)': '(\w+)'\} when you open the table",
            lambda match: f"Choose “{_TYPE_WORDS.get(match[2], match[2])}” as the type of {match[1]} {_STATE}",
        ),
        (
            r"Name its values with keys=, or use lw\.histogram\(.*\)\.",
            "Group by a column whose keys you state, or choose the question “Histogram”.",
        ),
        (
            r"Write lw\.geometric_mean\('.*', bounds=.*\), or bounds=.* beside SQL\.",
            f"State bounds above 0 {_STATE}.",
        ),
        (r"Leave it out: max_rows_per_group= and .*", "Leave it out."),
        (
            r"(\S+) is either true or false, and an? \w+ is compared with an? \w+\. Write (.*?), or only .*",
            r"\1 is a yes-or-no column. Write \2.",
        ),
        (r"FLOOR\(x\) makes whole numbers, types= declares the rest", "and FLOOR(x) makes whole numbers"),
    )
)
"""The same for calls with names in them."""
_PERSONS = (
    ("be about one unit", "be about one person"),
    ("that several units share", "that several people share"),
    ("rows of different units", "rows of different people"),
    (
        "joined on their units only, so that no row is about two units",
        "joined on the person only, so that no row is about two people",
    ),
    ("by the unit in a sub-query", "by the column of the person in a sub-query"),
    ("Add the unit to its GROUP BY", "Add the column of the person to its GROUP BY"),
    ("about the unit of both", "about the person of both"),
    ("only the unit may link", "only the column of the person may link"),
    ("join the two on the unit", "join the two on the person"),
)
"""What the library calls a unit is a person on a page."""
_OTHER_TABLES = re.compile(r" Open another table first and pass it: .*", re.DOTALL)
_GLUED = re.compile(r"(?<=±) (?=[\d−])|(?<=\d) (?=%)")
_WORD = re.compile(r"(?:a|[a-z]{2,})(?= )(?! =)")


def plainly(text: str) -> str:
    """Without the relation in brackets, which a page tells beside it in words, and without calls in Python.

    >>> plainly("ε = 0.5 (add_remove, per patient) remains")
    'ε = 0.5 for each patient remains'
    >>> plainly("to count more rows, raise max_rows_per_unit")
    'to count more rows, raise “Rows of one person that count, at most” where you state what is public about the table'
    """
    for call, here in (*_HERE, *_PERSONS):
        text = text.replace(call, here)
    for pattern, instead in _CALLS:
        text = pattern.sub(instead, text)
    return _RELATION.sub(r" for each \1", _OTHER_TABLES.sub("", text))


def glued(text: str) -> str:
    """Without a line that ends within ± 96 or 9 %.

    >>> glued("at most 9 %, ± 96") == "at most 9\\u00a0%, ±\\u00a096"
    True
    """
    return _GLUED.sub("\u00a0", text)


def bare(text: str) -> str:
    """A loss without the relation in brackets, where the page says beside it whom it is about.

    >>> bare("ε = 0.5 (add_remove, per patient)")
    'ε = 0.5'
    """
    return _RELATION.sub("", text)


def sentence(note: str) -> str:
    """A note as a sentence; a name at its beginning, such as n or a parameter, stays as it is written.

    >>> sentence("each report costs ε = 1 (replace, per row)"), sentence("n counts rows"), sentence("rows = 3")
    ('Each report costs ε = 1 for each row.', 'n counts rows.', 'rows = 3.')
    """
    plain = plainly(note).removesuffix(".")
    return f"{plain[0].upper()}{plain[1:]}." if _WORD.match(plain) else f"{plain}."
