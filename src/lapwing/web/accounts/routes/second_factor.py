"""The second factor: a code from an authenticator, or a recovery code. Admins cannot do without."""

from __future__ import annotations

import io
import time
from base64 import b64decode, b64encode
from dataclasses import replace
from typing import Annotated

from fastapi import Form, Request, Response

from lapwing.web.accounts import entrance, passwords
from lapwing.web.accounts.forms import local
from lapwing.web.accounts.sessions import Learner, Person, Someone, page, personal, redirect, sign_in
from lapwing.web.accounts.store import sessions, users
from lapwing.web.service.lanes import in_lane
from lapwing.web.service.problems import Problem
from lapwing.web.site import Site, TheSite

router = personal(prefix="/account")
Typed = Annotated[str, Form(max_length=1000)]
_CODES = 10


@router.get("/code")
def code_form(request: Request, site: TheSite, person: Someone, next: str = "") -> Response:
    """Ask for the code."""
    if person is None:
        raise Problem(401)
    if person.stage != "code":
        return redirect(site, local(next))
    return page(request, site, "account/code.html", person, next=local(next), complaint="")


@router.post("/code")
def code(request: Request, site: TheSite, person: Someone, code: Typed = "", next: Typed = "") -> Response:
    """Let somebody in who shows the second factor, with a new session."""
    if person is None:
        raise Problem(401)
    if person.stage != "code":
        return redirect(site, local(next))
    for counted in ("code", "code daily"):
        site.limits.take(counted, ("account", person.id))
    now, key = int(time.time()), site.settings.secret()
    with site.database.writing() as db:
        known = users.credentials_of(db, person.id)
        secret = passwords.opened(known.totp_secret, key, person.id) if known and known.totp_secret else None
        period = passwords.period_of(secret, code, now) if secret else None
        right = (period is not None and users.use_code(db, person.id, period)) or users.use_recovery(
            db, person.id, passwords.recovery_hash(code)
        )
        session = entrance.begin(db, known.account, verified=True) if right and known else ""
    if not session:
        return page(request, site, "account/code.html", person, 422, next=local(next), complaint="That code is wrong.")
    for counted in ("code", "code daily"):
        site.limits.give_back(counted, ("account", person.id))
    return entrance.entered(request, site, session, local(next))


@router.get("/second-factor")
def second_factor(request: Request, site: TheSite, person: Someone) -> Response:
    """Show how to enrol, or that it is done."""
    person = _may_enrol(person)
    with site.database.reading() as db:
        kept, left = users.by_id(db, person.id), users.recovery_left(db, person.id)
    if kept is not None and kept.second_factor:
        return page(request, site, "account/second-factor.html", person, left=left, complaint="")
    return _enrolment(request, site, person, passwords.new_secret())


@router.post("/second-factor")
@in_lane("passwords")
def enrol(
    request: Request, site: TheSite, person: Someone, sealed: Typed = "", code: Typed = "", password: Typed = ""
) -> Response:
    """Take the second factor from now on, and tell the recovery codes once."""
    person, key = _may_enrol(person), site.settings.secret()
    try:
        secret = passwords.opened(b64decode(sealed, validate=True), key, person.id)
    except ValueError:
        secret = None
    if secret is None:
        raise Problem(422)
    if not entrance.is_their_password(site, person, password):
        return _enrolment(request, site, person, secret, "That is not your password.")
    period = passwords.period_of(secret, code, int(time.time()))
    if period is None:
        return _enrolment(request, site, person, secret, "That code is wrong. Is the clock of your device right?")
    codes = [passwords.one_time(3) for _ in range(_CODES)]
    with site.database.writing() as db:
        kept = users.by_id(db, person.id)
        if kept is None or kept.second_factor:
            raise Problem(409)
        hashes = [passwords.recovery_hash(code) for code in codes]
        users.set_second_factor(db, person.id, passwords.sealed(secret, key, person.id), hashes)
        users.use_code(db, person.id, period)
        sessions.end_all(db, person.id)
        session = entrance.begin(db, kept, verified=True)
    whole = replace(person, stage="full")
    response = page(request, site, "account/recovery-codes.html", whole, codes=codes)
    sign_in(response, site, session)
    return response


@router.post("/second-factor/remove")
@in_lane("passwords")
def remove(request: Request, site: TheSite, person: Learner, password: Typed = "") -> Response:
    """Do without again, or enrol another device; an admin has to enrol at once."""
    if not entrance.is_their_password(site, person, password):
        with site.database.reading() as db:
            left = users.recovery_left(db, person.id)
        said = "That is not your password."
        return page(request, site, "account/second-factor.html", person, 422, left=left, complaint=said)
    with site.database.writing() as db:
        users.set_second_factor(db, person.id, None, [])
    return redirect(site, "/account/second-factor", "The second factor is removed.")


def _may_enrol(person: Person | None) -> Person:
    if person is None:
        raise Problem(401)
    if person.stage == "code":
        raise Problem(403, instead="/account/code")
    return person


def _enrolment(request: Request, site: Site, person: Person, secret: str, complaint: str = "") -> Response:
    import segno

    address = passwords.enrolment(secret, person.name)
    drawn = io.BytesIO()
    segno.make(address, error="m").save(drawn, kind="svg", scale=5, border=3, light="white", xmldecl=False)
    shown = {
        "picture": f"data:image/svg+xml;base64,{b64encode(drawn.getvalue()).decode()}",
        "address": address,
        "secret": " ".join(secret[start : start + 4] for start in range(0, len(secret), 4)),
        "sealed": b64encode(passwords.sealed(secret, site.settings.secret(), person.id)).decode(),
        "complaint": complaint,
    }
    return page(request, site, "account/enrol.html", person, 422 if complaint else 200, **shown)
