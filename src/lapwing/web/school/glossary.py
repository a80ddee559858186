"""The words of the field, each explained once, wherever it stands.

epsilon:
  also: [ε, privacy loss parameter]
  short: How much the odds of anything may change because one person takes part, at most by a factor e^ε.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import yaml

from lapwing.web.school.nugget import InvalidNugget

MOST_FOUND = 4
"""Words shown above the nuggets of a search."""
_WORD = re.compile(r"[^\W_]+")
_POWER = re.compile(r"\^(\w+)")


def words_of(text: str) -> list[str]:
    """What a text is searched by.

    >>> words_of("Rényi's ε-DP")
    ['rényi', 's', 'ε', 'dp']
    """
    return _WORD.findall(text.lower())


def begin(asked: list[str], words: list[str]) -> bool:
    """Whether each of the asked begins one of the words."""
    return all(any(word.startswith(one) for word in words) for one in asked)


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
    def names(self) -> list[str]:
        """The words it is called by."""
        return words_of(" ".join((self.name, *self.also)))

    @property
    def html(self) -> str:
        """The explanation to be shown, with powers as powers."""
        return _POWER.sub(r"<sup>\1</sup>", html.escape(self.short))


class Glossary:
    """All words, and how they are marked in a text."""

    def __init__(self, terms: list[Term]) -> None:
        self.terms = sorted(terms, key=lambda term: term.name.lower())

    @classmethod
    def read(cls, text: str) -> Glossary:
        """From its YAML."""
        entries: Any = yaml.safe_load(text) or {}
        try:
            terms = [
                Term(str(name), str(entry["short"]), tuple(entry.get("also", ()))) for name, entry in entries.items()
            ]
        except (AttributeError, KeyError, TypeError):
            raise InvalidNugget("glossary", "a term has no short explanation", "Write name: {short: …}.") from None
        return cls(terms)

    def search(self, words: str) -> list[Term]:
        """What is called so, or else what is explained with these words."""
        asked = words_of(words)
        if not asked:
            return []
        called = [term for term in self.terms if begin(asked, term.names)]
        told = called or [term for term in self.terms if begin(asked, words_of(term.short.replace("^", "")))]
        return told[:MOST_FOUND]

    def marked(self, escaped: str, explained: set[str]) -> str:
        """The text, already escaped, with the first mention of every word not yet explained marked."""

        def mark(found: re.Match[str]) -> str:
            term = self._by_word[found[0].lower()]
            if term.name in explained:
                return found[0]
            explained.add(term.name)
            tip = f"tip-{term.anchor}"
            told = f'<span class="tip" role="tooltip" id="{tip}">{term.html}</span>'
            link = f'<a class="term" href="/glossary#{term.anchor}" aria-describedby="{tip}">{found[0]}</a>'
            return f'<span class="explained">{link}{told}</span>'

        return self._pattern.sub(mark, escaped) if self.terms else escaped

    @cached_property
    def _by_word(self) -> dict[str, Term]:
        return {html.escape(word).lower(): term for term in self.terms for word in (term.name, *term.also)}

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        words = sorted(self._by_word, key=len, reverse=True)
        return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, words))})(?![\w-])", re.IGNORECASE)
