"""All nuggets together: their order, what leads to what, and how they are found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from importlib.resources import files
from pathlib import Path

from lapwing.web.school.glossary import Glossary
from lapwing.web.school.nugget import BEGINNING, CATEGORIES, InvalidNugget, Nugget, read
from lapwing.web.school.page import Page, page_of
from lapwing.web.school.term import begin, words_of

FOLDER = Path(str(files("lapwing") / "web" / "nuggets"))
_TITLE, _SUMMARY, _NAMED = 12, 4, 1000
"""How much more a word counts in a title or a summary than in the text; whose title has all words comes first."""
_MOST_ASKED, _LONGEST_ASKED = 12, 300
"""Words and characters of a search that are looked at: anybody may search."""


@dataclass(frozen=True, slots=True)
class Match:
    """A nugget that answers a search, with how well."""

    page: Page
    score: float


class School:
    """A set of nuggets that fit together. Their order is the order of the course."""

    def __init__(self, nuggets: Iterable[Nugget], common: Glossary, *, ready: Iterable[School] = ()) -> None:
        order = _in_order(list(nuggets))
        self.common = common
        """The words that no nugget brings."""
        self.glossary = common.more(term for nugget in order for term in nugget.words)
        same = (school for school in ready if school.glossary.terms == self.glossary.terms)
        known = {page.nugget: page for school in same for page in school}  # need not be made again
        self.pages = {nugget.slug: known.get(nugget) or page_of(nugget, self.glossary) for nugget in order}
        _refuse_loose_ends(page.nugget for page in self.pages.values())

    @classmethod
    def read(cls, folder: Path = FOLDER) -> School:
        """The nuggets of a folder, `01-attacks-on-privacy.md` and so on, and its `glossary.yaml`."""
        glossary = Glossary.read((folder / "glossary.yaml").read_text(encoding="utf-8"))
        files = sorted(folder.glob("[0-9]*.md"))
        return cls([read(file.read_text(encoding="utf-8"), where=file.name) for file in files], glossary)

    def __iter__(self) -> Iterator[Page]:
        return iter(self.pages.values())

    def words_beside(self, slug: str) -> Glossary:
        """The words that do not come from this nugget."""
        return self.common.more(term for page in self if page.nugget.slug != slug for term in page.nugget.words)

    def leads_back(self, slug: str, after: str) -> bool:
        """Whether a nugget would stand behind itself if it stood after this one."""
        seen = {slug}
        while after in self.pages and after not in seen:
            seen.add(after)
            after = self.pages[after].nugget.after
        return after == slug

    def by_category(self) -> dict[str, list[Page]]:
        """The pages of each category, in order."""
        return {name: [page for page in self if page.nugget.category == name] for name in CATEGORIES}

    def around(self, slug: str) -> tuple[Page | None, Page | None]:
        """The page before and the page after."""
        slugs = list(self.pages)
        place = slugs.index(slug)
        before = self.pages[slugs[place - 1]] if place else None
        return before, self.pages[slugs[place + 1]] if place + 1 < len(slugs) else None

    def search(self, words: str, *, most: int = 12) -> list[Match]:
        """The nuggets in which all words begin a word, best first."""
        beginnings = list(dict.fromkeys(words_of(words[:_LONGEST_ASKED])))[:_MOST_ASKED]
        if not beginnings:
            return []
        matches = []
        for slug, index in self._index.items():
            scores = [
                sum(count for word, count in index.items() if word.startswith(beginning)) for beginning in beginnings
            ]
            named = begin(beginnings, words_of(self.pages[slug].nugget.title))
            if all(scores):
                matches.append(Match(self.pages[slug], sum(score**0.5 for score in scores) + _NAMED * named))
        return sorted(matches, key=lambda match: -match.score)[:most]

    def words(self, page: Page) -> str:
        """All that a page can be found by, once each."""
        return " ".join(self._index[page.nugget.slug])

    @cached_property
    def _index(self) -> dict[str, Counter[str]]:
        index: dict[str, Counter[str]] = {}
        for page in self:
            nugget = page.nugget
            parts = ((page.words, 1), (nugget.summary, _SUMMARY), (nugget.title, _TITLE))
            counts: Counter[str] = Counter()
            for text, weight in parts:
                for word in words_of(text):
                    counts[word] += weight
            index[nugget.slug] = counts
        return index


def _in_order(nuggets: list[Nugget]) -> list[Nugget]:
    """As they come, but each right behind what it stands after. Who stands after nothing known stays in line."""
    known = {nugget.slug for nugget in nuggets}
    behind: dict[str, list[Nugget]] = {}
    for nugget in nuggets:
        behind.setdefault(nugget.after if nugget.after in {*known, BEGINNING} else "", []).append(nugget)
    placed: dict[str, Nugget] = {}
    waiting = [*behind.get(BEGINNING, ()), *behind.get("", ())][::-1]
    while waiting:
        nugget = waiting.pop()
        placed[nugget.slug] = nugget
        waiting += behind.get(nugget.slug, [])[::-1]
    return [*placed.values(), *(nugget for nugget in nuggets if nugget.slug not in placed)]


def _refuse_loose_ends(nuggets: Iterable[Nugget]) -> None:
    known = {nugget.slug: nugget for nugget in nuggets}
    for nugget in known.values():
        for other in (*nugget.needs, *nugget.helps):
            if other not in known:
                raise InvalidNugget(nugget.slug, f"{other!r} is not a nugget", f"There are {', '.join(known)}.")
    try:
        TopologicalSorter({slug: nugget.needs for slug, nugget in known.items()}).prepare()
    except CycleError as error:
        raise InvalidNugget(error.args[1][0], f"needs go round: {error.args[1]}", "Leave one out.") from None
