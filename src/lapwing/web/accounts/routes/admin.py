"""For admins: who has an account, what they may do, and how the school is."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import Form, Request, Response

from lapwing._version import __version__
from lapwing.web.accounts import passwords
from lapwing.web.accounts.sessions import Admin, page, personal, redirect
from lapwing.web.accounts.store import sessions, users
from lapwing.web.service.problems import Problem
from lapwing.web.service.tables import ROLES
from lapwing.web.site import TheSite

router = personal(prefix="/admin")
Typed = Annotated[str, Form(max_length=100)]
_AT_ONCE = 50


@router.get("")
def status(request: Request, site: TheSite, person: Admin) -> Response:
    """How the school is."""
    with site.database.reading() as db:
        counts = {role: users.count(db, role) for role in ROLES}
        active, browsers = users.count(db, active_only=True), sessions.count(db, int(time.time()))
    file = site.settings.file
    facts = {
        "Version": __version__,
        "Nuggets shown": len(site.pages.nuggets),
        "Accounts": f"{sum(counts.values())}, of which {active} may sign in",
        "Signed-in browsers": browsers,
        "Database": f"SQLite, {file.stat().st_size / 1e6:.1f} MB" if file else "PostgreSQL",
    }
    return page(request, site, "admin/status.html", person, facts=facts, counts=counts)


@router.get("/users")
def people(request: Request, site: TheSite, person: Admin, like: str = "", after: int = 0) -> Response:
    """Who has an account."""
    with site.database.reading() as db:
        accounts = users.everybody(db, like=like[:100], after=max(0, after), most=_AT_ONCE + 1)
    more = accounts[_AT_ONCE - 1].id if len(accounts) > _AT_ONCE else None
    return page(
        request, site, "admin/users.html", person, found=accounts[:_AT_ONCE], roles=ROLES, like=like[:100], more=more
    )


@router.post("/users/{user_id}/role")
def change_role(user_id: int, site: TheSite, person: Admin, role: Typed = "") -> Response:
    """What somebody may do from now on; they have to sign in again."""
    if role not in ROLES:
        raise Problem(422)
    with site.database.writing() as db:
        account = _other(users.by_id(db, user_id), person.id)
        users.set_role(db, user_id, role)
        sessions.end_all(db, user_id)
    return redirect(site, "/admin/users", f"{account.name} is now: {role}.")


@router.post("/users/{user_id}/operator")
def change_operator(user_id: int, site: TheSite, person: Admin, operator: Typed = "") -> Response:
    """Whether somebody watches collections from now on; they have to sign in again."""
    if operator not in ("yes", "no"):
        raise Problem(422)
    with site.database.writing() as db:
        account = _other(users.by_id(db, user_id), person.id)
        users.set_operator(db, user_id, operator == "yes")
        sessions.end_all(db, user_id)
    said = "watches collections now" if operator == "yes" else "no longer watches collections"
    return redirect(site, "/admin/users", f"{account.name} {said}.")


@router.post("/users/{user_id}/active")
def change_active(user_id: int, site: TheSite, person: Admin, active: Typed = "") -> Response:
    """Whether somebody may sign in."""
    if active not in ("yes", "no"):
        raise Problem(422)
    with site.database.writing() as db:
        account = _other(users.by_id(db, user_id), person.id)
        users.set_active(db, user_id, active == "yes")
        sessions.end_all(db, user_id)
    said = "may sign in again" if active == "yes" else "is signed out everywhere and may not sign in"
    return redirect(site, "/admin/users", f"{account.name} {said}.")


@router.post("/users/{user_id}/password")
def one_time_password(request: Request, user_id: int, site: TheSite, person: Admin) -> Response:
    """A new password for somebody who lost theirs, told once. Other admins get theirs on the command line."""
    password = passwords.one_time()
    kept = passwords.hashed(password)
    with site.database.writing() as db:
        account = _other(users.by_id(db, user_id), person.id)
        if account.role == "admin":
            raise Problem(403, "Only `lapwing school admin` on the server can give an admin a new password.")
        users.set_password(db, user_id, kept)
        sessions.end_all(db, user_id)
    return page(request, site, "admin/password.html", person, account=account, password=password)


def _other(account: users.Account | None, mine: int) -> users.Account:
    """Somebody else: nobody locks themselves out, and so there always is an admin."""
    if account is None:
        raise Problem(404)
    if account.id == mine:
        raise Problem(409, "This is your own account. Ask another admin.")
    return account
