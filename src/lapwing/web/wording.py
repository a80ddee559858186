"""What the library says, as a page says it: without the names of its parameters, and as a sentence."""

from __future__ import annotations

import re

_RELATION = re.compile(r" \((?:add_remove|replace), per ([^)]*)\)")
ROWS_FIELD = "Rows of one person that count, at most"
"""The field of the lab that the library calls max_rows_per_unit."""
_HERE = (
    ("raise max_rows_per_unit", f"raise “{ROWS_FIELD}” where you state what is public about the table"),
    ("ask for lw.units(), or in SQL for", "ask in SQL for"),
    ("is not a declared key", "is not a key that you stated"),
)
"""What the library tells to write in Python, and what to do on a page of the lab instead."""
_WORD = re.compile(r"[a-z]{2,}(?= )(?! =)")


def plainly(text: str) -> str:
    """Without the relation in brackets, which a page tells beside it in words, and without calls in Python.

    >>> plainly("ε = 0.5 (add_remove, per patient) remains")
    'ε = 0.5 for each patient remains'
    >>> plainly("to count more rows, raise max_rows_per_unit")
    'to count more rows, raise “Rows of one person that count, at most” where you state what is public about the table'
    """
    for call, here in _HERE:
        text = text.replace(call, here)
    return _RELATION.sub(r" for each \1", text)


def sentence(note: str) -> str:
    """A note as a sentence; a name at its beginning, such as n or a parameter, stays as it is written.

    >>> sentence("each report costs ε = 1 (replace, per row)"), sentence("n counts rows"), sentence("rows = 3")
    ('Each report costs ε = 1 for each row.', 'n counts rows.', 'rows = 3.')
    """
    plain = plainly(note)
    return f"{plain[0].upper()}{plain[1:]}." if _WORD.match(plain) else f"{plain}."
