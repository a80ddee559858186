"""Accounts: sign up, sign in, sign out, and what a browser may know of the one who uses it."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import Form, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from lapwing.web import passwords
from lapwing.web.forms import local, name_complaint
from lapwing.web.limits import address_of
from lapwing.web.sessions import (
    MARKER,
    Learner,
    Someone,
    cookie_name,
    limited,
    page,
    personal,
    redirect,
    sign_in,
    sign_out,
)
from lapwing.web.site import Site, TheSite
from lapwing.web.store import learning, sessions, users

router = personal()
Typed = Annotated[str, Form(max_length=1000)]
_WRONG = "Name or password is wrong."


@router.get("/me")
def me(request: Request, site: TheSite, person: Someone) -> Response:
    """What our scripts may know about who is signed in."""
    headers = {"cache-control": "no-store"}
    if person is None or person.stage != "full":
        response = JSONResponse({"signed_in": False}, headers=headers)
        if person is None and MARKER in request.cookies:
            sign_out(response, site)
        return response
    with site.database.reading() as db:
        known, about = learning.progress(db, person.id), learning.about(db, person.id)
    told = {"signed_in": True, "name": person.name, "role": person.role, "csrf": person.csrf}
    profile = {"roles": about.roles, "knowledge": about.knowledge, "goals": about.goals}
    return JSONResponse({**told, "profile": profile, "progress": known}, headers=headers)


class Done(BaseModel):
    """How far a browser says one is in a nugget."""

    screens: list[Annotated[str, Field(max_length=120)]] = Field(default=[], max_length=200)
    questions: list[Annotated[int, Field(ge=0, le=1000)]] = Field(default=[], max_length=200)
    total: int = Field(default=1, ge=1, le=1000)
    at: int = Field(default=0, ge=0, le=1 << 52)


@router.post("/me/progress", dependencies=[limited("progress")])
def carry(more: dict[str, Done], site: TheSite, person: Learner) -> dict[str, Any]:
    """Carry the progress of this browser into the account, and give back all there is."""
    known = {slug: done.model_dump() for slug, done in more.items() if slug in site.pages.school.pages}
    with site.database.writing() as db:
        return learning.carry(db, person.id, known)


@router.get("/account/sign-up")
def sign_up_form(request: Request, site: TheSite, person: Someone, next: str = "") -> Response:
    """Ask for a name and a password."""
    return page(request, site, "account/sign-up.html", person, next=local(next), name="", complaints={})


@router.post("/account/sign-up")
def sign_up(
    request: Request, site: TheSite, person: Someone, name: Typed = "", password: Typed = "", next: Typed = ""
) -> Response:
    """Make an account and sign in with it."""
    complaints = {"name": name_complaint(name), "password": passwords.complaint(password, name)}
    complaints = {field: words for field, words in complaints.items() if words}
    if not complaints:
        site.limits.take("sign-up", ("address", address_of(request)))
        kept = passwords.hashed(password)
        with site.database.writing() as db:
            if account := users.add(db, name, kept):
                secret = sessions.begin(db, account.id, int(time.time()), role=account.role, verified=False)
        if account:
            return _entered(request, site, secret, local(next), f"Welcome, {account.name}.")
        complaints = {"name": "This name is taken. Take another one."}
    shown = {"next": local(next), "name": name[:100], "complaints": complaints}
    return page(request, site, "account/sign-up.html", person, 422, **shown)


@router.get("/account/sign-in")
def sign_in_form(request: Request, site: TheSite, person: Someone, next: str = "") -> Response:
    """Ask who it is."""
    return page(request, site, "account/sign-in.html", person, next=local(next), name="", complaint="")


@router.post("/account/sign-in")
def sign_in_with(
    request: Request, site: TheSite, person: Someone, name: Typed = "", password: Typed = "", next: Typed = ""
) -> Response:
    """Let somebody in. Neither the words nor the time say whether the name or the password was wrong."""
    here, anywhere = ("at", address_of(request), users.key_of(name)), ("anywhere", users.key_of(name))
    site.limits.take("sign-in", here)
    site.limits.take("sign-in address", ("address", address_of(request)))
    site.limits.take("sign-in anywhere", anywhere)
    with site.database.reading() as db:
        known = users.credentials(db, name)
    right = passwords.matches(password, known.password_hash if known else None)
    if known is None or not right or not known.account.active:
        return page(
            request, site, "account/sign-in.html", person, 422, next=local(next), name=name[:100], complaint=_WRONG
        )
    site.limits.give_back("sign-in", here)
    site.limits.give_back("sign-in address", ("address", address_of(request)))
    site.limits.give_back("sign-in anywhere", anywhere)
    fresh = passwords.hashed(password) if passwords.outdated(known.password_hash) else None
    account = known.account
    with site.database.writing() as db:
        if fresh:
            users.set_password(db, account.id, fresh)
        secret = sessions.begin(db, account.id, int(time.time()), role=account.role, verified=False)
    target = local(next)
    if account.second_factor:
        target = f"/account/code?next={target}"
    elif account.role == "admin":
        target = "/account/second-factor"
    return _entered(request, site, secret, target)


@router.post("/account/sign-out")
def sign_out_now(request: Request, site: TheSite, person: Someone) -> Response:
    """End this session, here and in the database."""
    _leave(request, site)
    response = redirect(site, "/")
    sign_out(response, site)
    response.headers["clear-site-data"] = '"cache"'
    return response


def _leave(request: Request, site: Site) -> None:
    if old := request.cookies.get(cookie_name(site.settings)):
        with site.database.writing() as db:
            sessions.end(db, old)


def _entered(request: Request, site: Site, secret: str, target: str, say: str = "") -> Response:
    """A new session; the one this browser had before is over."""
    _leave(request, site)
    response = redirect(site, target, say)
    sign_in(response, site, secret)
    return response
