"""Pages that are the same for everybody: made once and sent as they are.

What is personal stays in the browser, or is asked for by small requests of its own.
"""

from __future__ import annotations

import gzip
import hashlib
import threading
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import Request, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from lapwing.web.school import votes
from lapwing.web.school.filters import filters, fits
from lapwing.web.school.library import School
from lapwing.web.school.nugget import CATEGORIES, ROLES
from lapwing.web.school.page import Page
from lapwing.web.school.picture import pictures
from lapwing.web.school.recommendation import Offer, recommend, stages
from lapwing.web.school.sources import linked
from lapwing.web.school.store.learning import GOALS, KNOWLEDGE, About
from lapwing.web.school.term import words_of
from lapwing.web.service.assets import Assets
from lapwing.web.service.plural import counted
from lapwing.web.wording import bare, glued, plainly, sentence

TEMPLATES = Path(str(files("lapwing") / "web" / "templates"))
_FOR_YOU = 3
"""Nuggets in the row at the top of the landing page."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A page as bytes, plain and packed, with its fingerprint."""

    plain: bytes
    packed: bytes
    mark: str

    @classmethod
    def of(cls, text: str) -> Ready:
        """Compress a text and compute its ETag."""
        plain = text.encode()
        return cls(plain, gzip.compress(plain, 6, mtime=0), f'"{hashlib.sha256(plain).hexdigest()[:20]}"')

    def answer(self, request: Request) -> Response:
        """What this browser needs of it: nothing if it has it already."""
        headers = {"etag": self.mark, "cache-control": "no-cache", "vary": "accept-encoding"}
        if request.headers.get("if-none-match") == self.mark:
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers["content-encoding"] = "gzip"
            return Response(self.packed, media_type="text/html; charset=utf-8", headers=headers)
        return Response(self.plain, media_type="text/html; charset=utf-8", headers=headers)


@dataclass(frozen=True, slots=True)
class ShownSchool:
    """What readers see at one moment."""

    school: School
    landing: Ready
    glossary: Ready
    nuggets: dict[str, Ready]


class Pages:
    """Everything that can be shown without knowing who asks."""

    def __init__(self, school: School, assets: Assets) -> None:
        self.assets, self.built_in = assets, school
        self.changing = threading.Lock()
        self.stamp: tuple[tuple[str, int], ...] = ()
        """Which editions are shown besides what is built in."""
        loader = FileSystemLoader(TEMPLATES)
        self.templates = Environment(
            loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        self.templates.globals["asset"] = self.assets.address
        self.templates.globals["with_needed"] = self.assets.with_needed
        self.templates.globals["voting"] = votes
        self.templates.filters |= {
            "counted": counted,
            "plainly": plainly,
            "bare": bare,
            "glued": glued,
            "sentence": sentence,
        }
        self.templates.globals["linked"] = linked
        self.templates.globals["drawn"] = pictures().__getitem__

        self.show(school)

    def show(self, school: School) -> None:
        """Show these nuggets from now on. All pages change at once; if one cannot be made, none does."""
        self.exchange(self.prepared(school))

    def exchange(self, shown: ShownSchool) -> None:
        """Show these pages from now on."""
        self._shown = shown
        self.templates.globals["school"] = shown.school

    def prepared(self, school: School) -> ShownSchool:
        """All pages of these nuggets, not shown yet."""
        return ShownSchool(
            school,
            Ready.of(self.landing_for({}, school)),
            Ready.of(self.made("glossary.html", school=school)),
            {slug: Ready.of(self._nugget(page, school)) for slug, page in school.pages.items()},
        )

    @property
    def school(self) -> School:
        """The nuggets that are shown."""
        return self._shown.school

    @property
    def landing(self) -> Ready:
        """The page of all nuggets."""
        return self._shown.landing

    @property
    def glossary(self) -> Ready:
        """The page of all words."""
        return self._shown.glossary

    @property
    def nuggets(self) -> dict[str, Ready]:
        """The page of each nugget."""
        return self._shown.nuggets

    def made(self, template: str, **values: Any) -> str:
        """A template filled in."""
        return self.templates.get_template(template).render(**values)

    def landing_for(self, wishes: dict[str, str], school: School | None = None) -> str:
        """All nuggets, or those that fit what was asked for."""
        school = school or self.school
        wanted = {name: wishes.get(name, "") for name in ("q", "category", "role", "minutes", "level")}
        searched = bool(words_of(wanted["q"]))
        slugs = {match.page.nugget.slug for match in school.search(wanted["q"], most=100)}

        candidates = [page for page in school if not searched or page.nugget.slug in slugs]
        offers = [Offer.of(page) for page in school]
        terms = {term.name for term in school.glossary.search(wanted["q"])}
        return self.made(
            "landing.html",
            school=school,
            first=next(iter(school)).nugget.slug,
            categories=school.by_category(),
            questions=CATEGORIES,
            roles=ROLES,
            asked=wanted,
            shown={page.nugget.slug for page in candidates if fits(page, wanted)},
            filters=filters(school, candidates, wanted),
            terms=terms,
            search_words=school.words,
            for_you=recommend(offers, About(), {})[:_FOR_YOU],
            stages=stages(offers),
            knowledge=KNOWLEDGE,
            goals=GOALS,
        )

    def _nugget(self, page: Page, school: School) -> str:
        previous, following = school.around(page.nugget.slug)
        return self.made(
            "nugget.html",
            school=school,
            page=page,
            previous=previous,
            next=following,
            before_this=[school.pages[slug] for slug in page.nugget.needs],
            widget_addresses={name: self.assets.widgets[name] for widget in page.widgets if (name := f"lw-{widget}")},
            early=[f"widgets/{widget}.js" for widget in page.widgets[:1]],
        )
