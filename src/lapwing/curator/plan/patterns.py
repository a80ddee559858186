"""Patterns of LIKE: short, so that an engine matches any cell in time about linear in its length.

`%` stands for any text and `_` for any one character (a code point); there is no escape. Whatever lies between two `%`
has a fixed length, so the leftmost place where it fits is as good as any other: nothing ever has to be tried again.
A matcher that does try again can take years for one cell, and that tells what the cell holds.
Proof: curator.md, point 1
"""

from __future__ import annotations

import re

LONGEST = 256
"""Characters of a pattern, where a run of `%` is one."""
MOST_GAPS = 32
"""Runs of `%` in a pattern: PostgreSQL's matcher calls itself once for each."""
_SHOWN = 40
"""Characters of a pattern in a message."""
_SPECIAL = re.compile(r"[][\\.^$|?*+(){}&~#-]")


def joined(pattern: str) -> str:
    """The pattern with one `%` for a run of them, which means the same."""
    return re.sub("%+", "%", pattern)


def misfit(pattern: str) -> tuple[str, str] | None:
    """Why a pattern is not one of the language, and what to write instead; None if it is one."""
    if "\\" in pattern:
        return "engines disagree about the backslash", "Leave it out."
    short, gaps = joined(pattern), joined(pattern).count("%")
    if len(short) > LONGEST:
        return f"the pattern has {len(short):,} characters, and at most {LONGEST} are allowed", _SHORTER
    if gaps > MOST_GAPS:
        return f"the pattern has {gaps} percent signs, and at most {MOST_GAPS} are allowed", _SHORTER
    return None


_SHORTER = "Write a shorter pattern: some text would keep an engine busy for very long with this one."


def shown(pattern: str) -> str:
    """A pattern short enough for a message."""
    return pattern if len(pattern) <= _SHOWN else pattern[: _SHOWN - 1] + "…"


def goes_back(pattern: str) -> bool:
    """Whether a matcher that tries every length for each `%` in turn needs more than linear time.

    Not with one `%` that has something after it: each place in the text is tried once.
    """
    return joined(pattern).rstrip("%").count("%") > 1


def regular(pattern: str) -> str:
    """A regular expression of Java (and of Python from 3.11 on) that finds what LIKE matches and never goes back.

    The first piece stands at the beginning. Each piece after it is looked for from left to right in an atomic group,
    which is left for good where the piece first fits; the last piece fits at the end only.

    >>> regular("a%b_%c")
    '(?s)^a(?>.*?b.)(?>.*?c(?!.))'
    """
    first, *others = map(_piece, joined(pattern).split("%"))
    if not others:
        return f"(?s)^{first}{_END}"
    *between, last = others
    middle = "".join(f"(?>.*?{piece})" for piece in between)
    return f"(?s)^{first}{middle}" + (f"(?>.*?{last}{_END})" if last else "")


_END = "(?!.)"
"""The end of the text; a dollar sign would also accept a line feed before it."""


def _piece(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text).replace("_", ".")
