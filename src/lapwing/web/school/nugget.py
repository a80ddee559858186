"""A learning nugget: one Markdown file, with a front matter that says for whom it is and what it gives.

---
slug: the-laplace-mechanism
title: The Laplace mechanism
category: application            # motivation, definition, discussion, application or outlook
level: practice                  # intuition, practice or theory
roles: [engineer, data-scientist, student]
needs: [the-definition]          # without these one is lost
helps: [sensitivity]             # these make it easier
after: the-definition            # only if it is to stand elsewhere than behind all others; the-beginning for the first
words: {scale: {short: How wide the noise is.}}   # only if it brings words that the glossary does not have
picture: the-laplace-mechanism   # what it opens with: a file of web/pictures, without .svg
summary: One or two sentences for its tile.
objectives:
  - Explain why the scale of the noise is sensitivity over epsilon.
---

## A first screen {serves=1}

## A screen that the short version leaves out {serves=1 deeper}
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import yaml

from lapwing.errors import LapwingError
from lapwing.web.school import plain
from lapwing.web.school.term import HINT, Term, read_terms

CATEGORIES = {
    "motivation": "Should I care?",
    "definition": "Can I use it?",
    "discussion": "Is it worth it?",
    "application": "How do I do it?",
    "outlook": "Who and what helps me?",
}
"""The five rooms of the school, each with the question of a practitioner that it answers."""
ROLES = {
    "decision-maker": "Decision maker",
    "data-protection": "Data protection and law",
    "engineer": "Software engineer",
    "data-scientist": "Data scientist or analyst",
    "student": "Researcher or student",
}
LEVELS = ("intuition", "practice", "theory")
BEGINNING = "the-beginning"
"""What the first nugget stands after."""
LONGEST = 200_000
"""Characters of one nugget."""
_FRONT = re.compile(r"\A---\n(.*?)\n---\n(.*)\Z", re.DOTALL)
_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_LISTS = ("roles", "needs", "helps", "objectives")
_OPTIONAL = {"needs", "helps", "after", "words", "picture", "minutes"}
"""Minutes were written once; they are counted now (see pace), and what older texts say is passed over."""
_KEYS = {"slug", "title", "category", "minutes", "level", "summary", *_LISTS, *_OPTIONAL}
MOST_WORDS = 20
"""Words that one nugget may bring."""


class InvalidNugget(LapwingError, ValueError):
    """A nugget that cannot be shown: what is wrong, and what to write instead."""

    def __init__(self, where: str, why: str, hint: str) -> None:
        self.where, self.why, self.hint = where, why, hint
        super().__init__(f"{where}: {why}. {hint}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Nugget:
    """A nugget as its author wrote it."""

    slug: str
    title: str
    category: str
    level: str
    summary: str
    roles: tuple[str, ...]
    objectives: tuple[str, ...]
    needs: tuple[str, ...] = ()
    helps: tuple[str, ...] = ()
    after: str = ""
    """Behind which nugget it stands; without, where it always stood, or behind all others."""
    words: tuple[Term, ...] = ()
    """What it adds to the glossary."""
    picture: str = ""
    """What it opens with."""
    body: str = ""

    def written(self) -> str:
        """The file again: what `read` gives back unchanged."""
        front: dict[str, Any] = {
            name: list(value) if isinstance(value := getattr(self, name), tuple) else value
            for name in ("slug", "title", "category", "level", "roles", "needs", "helps", "summary")
        }
        front["objectives"] = list(self.objectives)
        front |= {"after": self.after} if self.after else {}
        front |= {"words": {term.name: term.entry for term in self.words}} if self.words else {}
        front |= {"picture": self.picture} if self.picture else {}
        head = yaml.safe_dump(front, sort_keys=False, allow_unicode=True, width=100)
        return f"---\n{head}---\n{self.body}"


def read(text: str, *, where: str = "nugget") -> Nugget:
    """A nugget from its file.

    >>> read("## A screen")
    Traceback (most recent call last):
    ...
    lapwing.web.school.nugget.InvalidNugget: nugget: it has no front matter. Begin with --- and end it with ---.
    """
    if len(text) > LONGEST:
        raise InvalidNugget(where, f"it has more than {LONGEST:,} characters", "Make two nuggets of it.")
    match = _FRONT.match(text.replace("\r\n", "\n"))
    if match is None:
        raise InvalidNugget(where, "it has no front matter", "Begin with --- and end it with ---.")
    try:
        front = plain.load(match[1])
    except yaml.YAMLError as error:
        line = (plain.line_of(error) or 0) + 1
        raise InvalidNugget(f"{where}, line {line}", "the front matter is not YAML", "Write name: value.") from None
    if not isinstance(front, dict):
        raise InvalidNugget(where, "the front matter has no names", "Write name: value, one per line.")
    return _checked(front, match[2], where)


def _checked(front: dict[Any, Any], body: str, where: str) -> Nugget:
    unknown, missing = set(front) - _KEYS, _KEYS - set(front) - _OPTIONAL
    if unknown or missing:
        why = f"it says {sorted(map(str, unknown))}" if unknown else f"{sorted(missing)} is missing"
        raise InvalidNugget(where, why, f"A front matter has {', '.join(sorted(_KEYS))}.")
    for name in _LISTS:
        value = front.setdefault(name, [])
        if not isinstance(value, list) or not all(isinstance(entry, str) and entry for entry in value):
            raise InvalidNugget(where, f"{name} is not a list of words", f"Write {name}: [one, two].")
        front[name] = tuple(value)
    for name, allowed in (("category", CATEGORIES), ("level", LEVELS)):
        if not isinstance(front[name], str) or front[name] not in allowed:
            raise InvalidNugget(where, f"{name} is {front[name]!r}", f"Write one of {', '.join(allowed)}.")
    if strangers := set(front["roles"]) - set(ROLES):
        raise InvalidNugget(where, f"roles has {sorted(strangers)}", f"Write some of {', '.join(ROLES)}.")
    for name in ("slug", "title", "summary"):
        if not isinstance(front[name], str) or not front[name].strip():
            raise InvalidNugget(where, f"{name} is empty", f"Write {name}: some words.")
    if not _SLUG.fullmatch(front["slug"]) or len(front["slug"]) > 80:
        raise InvalidNugget(where, f"slug is {front['slug']!r}", "Write small letters, digits and single hyphens.")
    front.pop("minutes", None)
    after = front.setdefault("after", "")
    if not isinstance(after, str) or (after and not _SLUG.fullmatch(after)):
        hint = f"Write the slug of a nugget, or {BEGINNING}, or leave it out."
        raise InvalidNugget(where, f"after is {after!r}", hint)
    picture = front.setdefault("picture", "")
    if not isinstance(picture, str) or (picture and not _SLUG.fullmatch(picture)):
        raise InvalidNugget(where, f"picture is {picture!r}", "Write the name of a picture, or leave it out.")
    try:
        front["words"] = read_terms(front.get("words", {}))
    except ValueError as error:
        raise InvalidNugget(where, str(error), HINT) from None
    if len(front["words"]) > MOST_WORDS:
        raise InvalidNugget(where, f"it brings more than {MOST_WORDS} words", "Keep to those that it needs.")
    if not front["roles"] or not front["objectives"]:
        raise InvalidNugget(where, "roles or objectives are empty", "Say for whom it is and what one can do after.")
    return Nugget(body=body, **front)
