"""A word with its explanation, in the glossary or in the front matter of the nugget that brings it:

words:
  privacy loss:
    also: [loss]
    short: The logarithm of how much an answer changes the odds, e^ε at most.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import Any

LONGEST_NAME, LONGEST, MOST_NAMES = 60, 400, 8
"""Characters of a word and of its explanation, and other ways to write it."""
HINT = "Write words: {a word: {also: [another way to write it], short: What it means.}}."
_WORD = re.compile(r"[^\W_]+")
_POWER = re.compile(r"\^(\w+)")
_NO_NAME = re.compile(r"[:()\[\]{},<>&\"\n\t]")
_LINE = re.compile(r"([^:()]*)(?:\(([^:()]*)\)\s*)?:(.*)", re.DOTALL)


def words_of(text: str) -> list[str]:
    """What a text is searched by.

    >>> words_of("Rényi's ε-DP")
    ['rényi', 's', 'ε', 'dp']
    """
    return _WORD.findall(text.lower())


def begin(beginnings: list[str], words: list[str]) -> bool:
    """Whether each of the asked begins one of the words."""
    return all(any(word.startswith(beginning) for word in words) for beginning in beginnings)


@dataclass(frozen=True, slots=True)
class Term:
    """A word with its explanation."""

    name: str
    short: str
    also: tuple[str, ...] = ()

    @property
    def anchor(self) -> str:
        """Where it stands on the page of all words."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")

    @property
    def letter(self) -> str:
        """Where it stands in the alphabet."""
        return self.anchor[0].upper()

    @property
    def names(self) -> list[str]:
        """The words it is called by."""
        return words_of(" ".join((self.name, *self.also)))

    @property
    def keys(self) -> set[str]:
        """What no other word may have: the ways to write it, and its place."""
        return {f"#{self.anchor}", *(word.lower() for word in (self.name, *self.also))}

    @property
    def html(self) -> str:
        """The explanation to be shown, with powers as powers."""
        return _POWER.sub(r"<sup>\1</sup>", html.escape(self.short))

    @property
    def entry(self) -> dict[str, Any]:
        """What stands behind its name in a file."""
        return {**({"also": list(self.also)} if self.also else {}), "short": self.short}


def read_terms(entries: Any) -> tuple[Term, ...]:
    """From names with their entries; a `ValueError` says what is wrong."""
    if not isinstance(entries, dict):
        raise ValueError("words have no names")
    terms = tuple(_term(name, entry) for name, entry in entries.items())
    taken: set[str] = set()
    for term in terms:
        if not taken.isdisjoint(term.keys):
            raise ValueError(f"{term.name!r} is explained twice")
        taken |= term.keys
    return terms


def _term(name: object, entry: object) -> Term:
    if not isinstance(entry, dict) or not {"short"} <= set(entry) <= {"short", "also"}:
        raise ValueError(f"{str(name)[:LONGEST_NAME]!r} has no short explanation")
    short, also = entry["short"], entry.get("also", [])
    if not isinstance(short, str) or not short.strip() or len(short) > LONGEST:
        raise ValueError(f"{str(name)[:LONGEST_NAME]!r} needs an explanation of 1 to {LONGEST} characters")
    if not isinstance(also, list) or len(also) > MOST_NAMES:
        raise ValueError(f"also of {str(name)[:LONGEST_NAME]!r} is not a list of at most {MOST_NAMES} words")
    for word in (name, *also):
        if not isinstance(word, str) or not 0 < len(word.strip()) <= LONGEST_NAME or _NO_NAME.search(word):
            raise ValueError(f"{str(word)[:LONGEST_NAME]!r} is not a word")
    term = Term(str(name), short, tuple(also))
    if not term.anchor:
        raise ValueError(f"{name!r} has no letter from a to z; give it a name, and this sign under also")
    return term


def from_line(line: str) -> tuple[str, dict[str, Any]]:
    """A word as people type it: `name (other, ways): what it means`.

    >>> from_line("privacy loss (loss): How much odds change.")
    ('privacy loss', {'also': ['loss'], 'short': 'How much odds change.'})
    """
    match = _LINE.fullmatch(line)
    if match is None:
        return line.strip(), {"short": ""}
    also = [word for part in (match[2] or "").split(",") if (word := part.strip())]
    return match[1].strip(), {**({"also": also} if also else {}), "short": match[3].strip()}


def to_line(name: object, entry: object) -> str:
    """The same, to be typed on."""
    fields = entry if isinstance(entry, dict) else {}
    also = fields.get("also")
    ways = f" ({', '.join(map(str, also))})" if isinstance(also, list) and also else ""
    return f"{name}{ways}: {fields.get('short', '')}".strip()
