"""One's own account: what it holds, what to change, and how to take it along or leave."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Form, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from lapwing.web.accounts import entrance, passwords
from lapwing.web.accounts.devices import forget_device
from lapwing.web.accounts.sessions import MARKER, Learner, Person, Someone, limited, page, personal, redirect, sign_out
from lapwing.web.accounts.store import export, sessions, users
from lapwing.web.authoring.store import nuggets
from lapwing.web.classes.store import classes
from lapwing.web.collections import admission
from lapwing.web.school.nugget import ROLES
from lapwing.web.school.store import learning
from lapwing.web.service.lanes import in_lane
from lapwing.web.site import Site, TheSite

router = personal()
Typed = Annotated[str, Form(max_length=1000)]
Chosen = Annotated[tuple[str, ...], Form(max_length=20)]
_NOT_THAT = "That is not your password."


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
        writes, joined = nuggets.owned(db, person.id), classes.count_joined(db, person.id)
    account = {"signed_in": True, "name": person.name, "role": person.role, "csrf": person.csrf, "writes": writes}
    profile = {"roles": about.roles, "knowledge": about.knowledge, "goals": about.goals}
    return JSONResponse({**account, "profile": profile, "progress": known, "classes": joined}, headers=headers)


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


@router.get("/account")
def account(request: Request, site: TheSite, person: Learner) -> Response:
    """One's own account on one page."""
    return _account(request, site, person)


def _account(request: Request, site: Site, person: Person, **complaints: str) -> Response:
    with site.database.reading() as db:
        kept = users.by_id(db, person.id)
        shown = {"about": learning.about(db, person.id), "started": len(learning.progress(db, person.id))}
    choices = {"roles": ROLES, "knowledge": learning.KNOWLEDGE, "goals": learning.GOALS}
    values = {"account": kept, "asked": choices, "complaints": complaints, **shown}
    return page(request, site, "account/account.html", person, 422 if complaints else 200, **values)


@router.post("/account/profile")
def profile(
    site: TheSite,
    person: Learner,
    roles: Chosen = (),
    knowledge: Typed = "",
    goals: Chosen = (),
) -> Response:
    """Keep what somebody tells about themselves."""
    with site.database.writing() as db:
        learning.tell(db, person.id, learning.About(roles, knowledge, goals))
    return redirect(site, "/account", "Your answers are saved.")


@router.post("/account/password")
@in_lane("passwords")
def password(request: Request, site: TheSite, person: Learner, old: Typed = "", new: Typed = "") -> Response:
    """Another password; every other browser is signed out."""
    if words := passwords.complaint(new, person.name):
        return _account(request, site, person, new=words)
    if not entrance.is_their_password(site, person, old):
        return _account(request, site, person, old=_NOT_THAT)
    kept = passwords.hashed(new)
    with site.database.writing() as db:
        users.set_password(db, person.id, kept)
        sessions.end_all(db, person.id)
        mine = users.by_id(db, person.id)
        assert mine is not None
        secret = entrance.begin(db, mine, verified=mine.second_factor)
    return entrance.entered(
        request, site, secret, "/account", "Your password is changed. Other browsers are signed out."
    )


@router.get("/account/data", dependencies=[limited("export")])
def data(site: TheSite, person: Learner) -> Response:
    """All that is kept about somebody, as a file."""
    with site.database.reading() as db:
        records = export.everything(db, person.id)
    records["collections_taken_part_in"] = admission.kept_about(site, person.id)
    records["made"] = datetime.now(UTC).isoformat(timespec="seconds")
    headers = {"content-disposition": 'attachment; filename="lapwing-my-data.json"', "cache-control": "no-store"}
    return JSONResponse(records, headers=headers)


@router.post("/account/delete")
@in_lane("passwords")
def delete(request: Request, site: TheSite, person: Learner, password: Typed = "", comments: Typed = "") -> Response:
    """Forget somebody for good."""
    if not entrance.is_their_password(site, person, password):
        return _account(request, site, person, delete=_NOT_THAT)
    with site.database.writing() as db:
        last = users.is_last_admin(db, person.id)
        if not last:
            users.remove(db, person.id, with_comments=comments == "remove")
    if last:
        return _account(request, site, person, delete="You are the only admin. Make somebody else one first.")
    admission.forget(site, person.id)
    response = redirect(site, "/", "Your account is gone.")
    sign_out(response, site)
    forget_device(response, site.settings)
    return response
