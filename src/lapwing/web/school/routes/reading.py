"""Reading: pages that are the same for everybody, and the files they load. Nothing here asks the database."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from lapwing.web.pages import Ready
from lapwing.web.service.problems import Problem
from lapwing.web.site import TheSite

router = APIRouter()
_FOR_EVER = "public, max-age=31536000, immutable"


@router.get("/")
async def landing(request: Request, site: TheSite) -> Response:
    """All nuggets, or those that fit."""
    wishes = {name: value for name, value in request.query_params.items() if value}
    return (Ready.of(site.pages.landing_for(wishes)) if wishes else site.pages.landing).answer(request)


@router.get("/learn/{slug}")
async def nugget(slug: str, request: Request, site: TheSite) -> Response:
    """One nugget."""
    page = site.pages.nuggets.get(slug)
    if page is None:
        raise Problem(404)
    return page.answer(request)


@router.get("/glossary")
async def glossary(request: Request, site: TheSite) -> Response:
    """The words of the field."""
    return site.pages.glossary.answer(request)


@router.get("/static/{name:path}")
async def static(name: str, request: Request, site: TheSite) -> Response:
    """A file whose name changes with its content."""
    if name not in site.pages.assets.sent:
        raise Problem(404)
    content, packed, kind = site.pages.assets.sent[name]
    headers = {"cache-control": _FOR_EVER, "vary": "accept-encoding"}
    if packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        return Response(packed, media_type=kind, headers={**headers, "content-encoding": "gzip"})
    return Response(content, media_type=kind, headers=headers)


@router.get("/health")
async def health() -> Response:
    """Whether anybody is there."""
    return Response("ok", media_type="text/plain")
