"""The application: pages that are the same for everybody are made once and sent as they are.

What is personal stays in the browser, or is asked for by small requests of its own.
"""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.exceptions import HTTPException

from lapwing.web.assets import Assets
from lapwing.web.headers import SafeHeaders
from lapwing.web.school.library import School
from lapwing.web.school.nugget import CATEGORIES, LEVELS, ROLES
from lapwing.web.school.page import Page

TEMPLATES = Path(str(files("lapwing") / "web" / "templates"))
_FOR_EVER = "public, max-age=31536000, immutable"
_WRONG = {
    404: ("There is nothing here", "The address may have changed, or never was. All nuggets are one step away."),
    405: ("That cannot be done here", "This address answers other kinds of requests."),
}
_FAILED = ("Something went wrong", "It is our fault, not yours. Please try again; nothing you wrote was lost.")


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
        self.school, self.assets = school, assets
        loader = FileSystemLoader(TEMPLATES)
        self.templates = Environment(
            loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        self.templates.globals |= {"asset": assets.address, "school": school}
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


def create_app(school: School | None = None, assets: Assets | None = None) -> FastAPI:
    """The application, ready to be served."""
    shown = Pages(school or School.read(), assets or Assets())
    app = FastAPI(title="Lapwing", docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(SafeHeaders)

    @app.get("/")
    async def landing(request: Request) -> Response:
        asked = {name: value for name, value in request.query_params.items() if value}
        return (Ready.of(shown.landing_for(asked)) if asked else shown.landing).answer(request)

    @app.get("/learn/{slug}")
    async def nugget(slug: str, request: Request) -> Response:
        if slug not in shown.nuggets:
            raise HTTPException(404)
        return shown.nuggets[slug].answer(request)

    @app.get("/glossary")
    async def glossary(request: Request) -> Response:
        return shown.glossary.answer(request)

    @app.get("/static/{name:path}")
    async def static(name: str, request: Request) -> Response:
        if name not in shown.assets.sent:
            raise HTTPException(404)
        content, packed, kind = shown.assets.sent[name]
        headers = {"cache-control": _FOR_EVER, "vary": "accept-encoding"}
        if packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
            return Response(packed, media_type=kind, headers={**headers, "content-encoding": "gzip"})
        return Response(content, media_type=kind, headers=headers)

    @app.get("/health")
    async def health() -> Response:
        return Response("ok", media_type="text/plain")

    @app.exception_handler(HTTPException)
    async def wrong(request: Request, error: HTTPException) -> Response:
        return _said(shown, request, error.status_code, _WRONG.get(error.status_code, _FAILED))

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> Response:
        return _said(shown, request, 500, _FAILED)

    return app


def _said(shown: Pages, request: Request, status: int, words: tuple[str, str]) -> Response:
    """A page for people, a problem document for programs, never a trace."""
    title, detail = words
    if "text/html" in request.headers.get("accept", ""):
        page = shown.made("error.html", title=title, detail=detail)
        return Response(page, status, media_type="text/html; charset=utf-8")
    from fastapi.responses import JSONResponse

    problem = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    return JSONResponse(problem, status, media_type="application/problem+json")
