"""Pages that are the same for everybody: made once and sent as they are.

What is personal stays in the browser, or is asked for by small requests of its own.
"""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import Request, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from lapwing.web.assets import Assets
from lapwing.web.school.library import School
from lapwing.web.school.nugget import CATEGORIES, LEVELS, ROLES
from lapwing.web.school.page import Page

TEMPLATES = Path(str(files("lapwing") / "web" / "templates"))


@dataclass(frozen=True, slots=True)
class Ready:
    """A page as bytes, plain and packed, with its fingerprint."""

    plain: bytes
    packed: bytes
    mark: str

    @classmethod
    def of(cls, text: str) -> Ready:
        """Made once."""
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


class Pages:
    """Everything that can be shown without knowing who asks."""

    def __init__(self, school: School, assets: Assets) -> None:
        self.assets = assets
        loader = FileSystemLoader(TEMPLATES)
        self.templates = Environment(
            loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        self.show(school)

    def show(self, school: School) -> None:
        """Show these nuggets from now on."""
        self.templates.globals |= {"asset": self.assets.address, "school": school}
        self.school = school
        self.landing = Ready.of(self.landing_for({}))
        self.glossary = Ready.of(self.made("glossary.html"))
        self.nuggets = {slug: Ready.of(self._nugget(page)) for slug, page in school.pages.items()}

    def made(self, template: str, **values: Any) -> str:
        """A template filled in."""
        return self.templates.get_template(template).render(**values)

    def landing_for(self, asked: dict[str, str]) -> str:
        """All nuggets, or those that fit what was asked for."""
        wanted = {name: asked.get(name, "") for name in ("q", "role", "minutes", "level")}
        found = {one.page.nugget.slug for one in self.school.search(wanted["q"], most=100)} if wanted["q"] else None

        def fits(page: Page) -> bool:
            nugget = page.nugget
            return (
                (found is None or nugget.slug in found)
                and wanted["role"] in ("", *nugget.roles)
                and wanted["level"] in ("", nugget.level)
                and (not wanted["minutes"].isdigit() or nugget.minutes <= int(wanted["minutes"]))
            )

        return self.made(
            "landing.html",
            first=next(iter(self.school)).nugget.slug,
            categories=self.school.by_category(),
            questions=CATEGORIES,
            roles=ROLES,
            levels=LEVELS,
            asked=wanted,
            fits=fits,
            search_words=self.school.words,
        )

    def _nugget(self, page: Page) -> str:
        previous, following = self.school.around(page.nugget.slug)
        return self.made(
            "nugget.html",
            page=page,
            previous=previous,
            next=following,
            before_this=[self.school.pages[slug] for slug in page.nugget.needs],
            widget_addresses={name: self.assets.widgets[name] for widget in page.widgets if (name := f"lw-{widget}")},
        )
