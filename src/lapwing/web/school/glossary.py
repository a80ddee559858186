"""The words of the field, each explained once, wherever it stands.

epsilon:
  also: [ε, privacy loss parameter]
  short: How much the odds of anything may change because one person takes part, at most by a factor e^ε.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from functools import cached_property

import yaml

from lapwing.web.school.nugget import InvalidNugget
from lapwing.web.school.term import HINT, Term, begin, read_terms, words_of

MOST_FOUND = 4
"""Words shown above the nuggets of a search."""


class Glossary:
    """All words, and how they are marked in a text."""

    def __init__(self, terms: Iterable[Term]) -> None:
        self.terms = sorted(terms, key=lambda term: term.name.lower())

    @classmethod
    def read(cls, text: str) -> Glossary:
        """From its YAML."""
        try:
            return cls(read_terms(yaml.safe_load(text) or {}))
        except ValueError as error:
            raise InvalidNugget("glossary", str(error), HINT) from None

    def written(self) -> str:
        """The file again."""
        entries = {term.name: term.entry for term in self.terms}
        return yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=100)

    def more(self, terms: Iterable[Term]) -> Glossary:
        """With these words besides. What is explained already stays as it is."""
        kept, taken = list(self.terms), {key for term in self.terms for key in term.keys}
        for term in terms:
            if taken.isdisjoint(term.keys):
                kept.append(term)
                taken |= term.keys
        return Glossary(kept)

    def explains(self, term: Term) -> Term | None:
        """The word that is in the way of this one, if any."""
        return next((other for other in self.terms if not other.keys.isdisjoint(term.keys)), None)

    def search(self, words: str) -> list[Term]:
        """What is called so, or else what is explained with these words."""
        beginnings = words_of(words)
        if not beginnings:
            return []
        called = [term for term in self.terms if begin(beginnings, term.names)]
        terms = called or [term for term in self.terms if begin(beginnings, words_of(term.short.replace("^", "")))]
        return terms[:MOST_FOUND]

    def marked(self, escaped: str, explained: set[str]) -> str:
        """The text, already escaped, with the first mention of every word not yet explained marked."""

        def mark(match: re.Match[str]) -> str:
            term = self._by_word[match[1].lower()]
            if term.name in explained:
                return match[0]
            explained.add(term.name)
            tip = f"tip-{term.anchor}"
            more = f'<a href="/glossary#{term.anchor}">In the glossary</a>'
            tip_html = (
                f'<span class="tip" popover="auto" id="{tip}"><span id="{tip}-says">{term.html}</span> {more}</span>'
            )
            word = f'<button type="button" class="term" popovertarget="{tip}" aria-describedby="{tip}-says">{match[1]}'
            return f'<span class="explained">{word}</button>{match[2]}{tip_html}</span>'

        return self._pattern.sub(mark, escaped) if self.terms else escaped

    @cached_property
    def _by_word(self) -> dict[str, Term]:
        return {html.escape(word).lower(): term for term in self.terms for word in (term.name, *term.also)}

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        words = sorted(self._by_word, key=len, reverse=True)
        # with the comma behind it, which may not stand alone in the next line
        return re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, words))})(?![\w-])([,.;:!?)]*)", re.IGNORECASE)
