"""Sessions of requests: the cookie, the rights of its owner, and protection against forged requests (CSRF).

A route that changes something belongs to a `personal` router. There it answers only requests that come from our own
pages: the browser says so (Sec-Fetch-Site, or Origin where it does not know that), and whoever is signed in also
sends the token of the session, as the header `x-csrf-token` or the form field `csrf`.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote, unquote, urlsplit

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import RedirectResponse
from fastapi.routing import APIRoute

from lapwing.web.accounts.store import sessions
from lapwing.web.service.limits import address_of
from lapwing.web.service.problems import Problem
from lapwing.web.service.settings import Settings
from lapwing.web.service.tables import OPERATOR, ROLES
from lapwing.web.site import Site, TheSite

SAFE = {"GET", "HEAD", "OPTIONS"}
MARKER = "lapwing-signed-in"
"""A cookie without a secret: it tells our scripts that asking for /me is worth it."""


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who is signed in.

    `stage` is "full", or what is still missing: "code" if the second factor was not shown yet, "enrol" if an admin
    has none. Who is not fully signed in can do only that.
    """

    id: int
    name: str
    role: str
    csrf: str
    stage: str
    operator: bool = False

    def may(self, role: str) -> bool:
        """Whether what this role may do is allowed to them. Operators stand beside the others, not above anybody."""
        if role == OPERATOR:
            return self.stage == "full" and (self.operator or self.role == "admin")
        return self.stage == "full" and ROLES.index(self.role) >= ROLES.index(role)


def cookie_name(settings: Settings, name: str = "lapwing") -> str:
    """The prefix makes browsers refuse the cookie from anywhere but this host, by https."""
    return f"__Host-{name}" if settings.secure else name


def someone(request: Request, site: TheSite) -> Person | None:
    """Who asks, if they are signed in, even halfway."""
    return person_of(site, request.cookies.get(cookie_name(site.settings)))


def person_of(site: Site, secret: str | None) -> Person | None:
    """Whose cookie this is, if somebody is signed in with it, even halfway."""
    if not secret:
        return None
    now = int(time.time())
    with site.database.reading() as db:
        session = sessions.find(db, secret, now)
    if session is None:
        return None
    if session.last_seen <= now - sessions.TOUCHED_EVERY:
        with site.database.writing() as db:
            sessions.touch(db, secret, now)
    stage = "full"
    if session.second_factor and not session.verified:
        stage = "code"
    elif session.role == "admin" and not session.second_factor:
        stage = "enrol"
    return Person(session.user_id, session.name, session.role, session.csrf, stage, session.operator)


Someone = Annotated[Person | None, Depends(someone)]


async def asking(person: Someone) -> Person | None:
    """Who asks, if they are fully signed in."""
    return person if person is not None and person.stage == "full" else None


def require(role: str) -> Callable[..., Any]:
    """A dependency: the person who asks, who must be allowed what this role may do."""

    async def allowed(person: Someone) -> Person:
        return permitted(person, role)

    return allowed


def permitted(person: Person | None, role: str) -> Person:
    """The person, if they are allowed what this role may do."""
    if person is None:
        raise Problem(401)
    if person.stage != "full":
        where = {"code": "/account/code", "enrol": "/account/second-factor"}[person.stage]
        raise Problem(403, f"First finish signing in at {where}.", instead=where)
    if not person.may(role):
        raise Problem(403)
    return person


Asking = Annotated[Person | None, Depends(asking)]
Learner = Annotated[Person, Depends(require("learner"))]
Instructor = Annotated[Person, Depends(require("instructor"))]
Admin = Annotated[Person, Depends(require("admin"))]
Operator = Annotated[Person, Depends(require(OPERATOR))]


async def guard(request: Request, site: TheSite, person: Someone) -> None:
    """Refuse changes that our own pages did not ask for."""
    if request.method in SAFE:
        return
    if not _from_here(request, site.settings):
        raise Problem(403, "This request came from another site.")
    if person is not None:
        sent = request.headers.get("x-csrf-token") or (await request.form()).get("csrf")
        if not isinstance(sent, str) or not hmac.compare_digest(sent.encode(), person.csrf.encode()):
            raise Problem(403, "The page was too old. Reload it and try again.")


def _from_here(request: Request, settings: Settings) -> bool:
    if site := request.headers.get("sec-fetch-site"):
        return site in ("same-origin", "none")
    origin = request.headers.get("origin")
    if origin is None or origin == settings.origin:
        return True  # without either it is no browser, and carries nobody's cookies
    try:
        return urlsplit(origin).netloc == request.headers.get("host")
    except ValueError:
        return False


def personal(**options: Any) -> APIRouter:
    """A router whose routes may change something."""
    return APIRouter(dependencies=[Depends(guard)], **options)


def refuse_unguarded(routers: Iterable[APIRouter]) -> None:
    """Stop at the start if a route could be used to change something from elsewhere."""
    for route in (route for router in routers for route in router.routes):
        if not isinstance(route, APIRoute):
            raise TypeError(f"{route} is not a plain route, so nobody can say what guards it")
        if not (route.methods or set()) <= SAFE and guard not in {
            dependency.dependency for dependency in route.dependencies
        }:
            raise TypeError(f"{route.path} changes something and is not on a personal router")


def limited(what: str) -> Any:
    """A dependency that counts requests, by address and, of those who are signed in, by account."""

    async def counted(request: Request, site: TheSite, person: Someone) -> None:
        keys = [("address", address_of(request))] if person is None else [("account", person.id)]
        site.limits.take(what, *keys)

    return Depends(counted)


def sign_in(response: Response, site: Site, secret: str) -> None:
    """Give a browser its token."""
    lasts, secure = sessions.LASTS, site.settings.secure
    response.set_cookie(
        cookie_name(site.settings), secret, max_age=lasts, path="/", secure=secure, httponly=True, samesite="lax"
    )
    response.set_cookie(MARKER, "1", max_age=lasts, path="/", secure=secure, samesite="lax")


def sign_out(response: Response, site: Site) -> None:
    """Take it back."""
    secure = site.settings.secure
    response.delete_cookie(cookie_name(site.settings), path="/", secure=secure, httponly=True, samesite="lax")
    response.delete_cookie(MARKER, path="/", secure=secure, samesite="lax")


def redirect(site: Site, target: str, say: str = "") -> RedirectResponse:
    """Onwards after a form, with a sentence for the next page."""
    response = RedirectResponse(target, 303, {"cache-control": "no-store"})
    if say:
        name, secure = cookie_name(site.settings, "lapwing-said"), site.settings.secure
        response.set_cookie(name, quote(say), max_age=60, path="/", secure=secure, httponly=True, samesite="lax")
    return response


def page(
    request: Request, site: Site, template: str, person: Person | None = None, status: int = 200, **values: Any
) -> Response:
    """A page for one person: never kept by a cache, with what was to be said since the last one."""
    name = cookie_name(site.settings, "lapwing-said")
    said = unquote(request.cookies.get(name, ""))[:300]
    text = site.pages.made(template, user=person, said=said, **values)
    response = Response(text, status, {"cache-control": "no-store"}, "text/html; charset=utf-8")
    if said:
        response.delete_cookie(name, path="/", secure=site.settings.secure, httponly=True, samesite="lax")
    return response
