"""Letting people in: the steps of signing in that more than one route takes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from fastapi import Request, Response
from sqlalchemy.orm import Session

from lapwing.web.accounts import passwords
from lapwing.web.accounts.devices import device_of
from lapwing.web.accounts.sessions import Person, cookie_name, redirect, sign_in
from lapwing.web.accounts.store import sessions, users
from lapwing.web.service.limits import address_of
from lapwing.web.site import Site


@contextmanager
def counted(site: Site, request: Request, name: str) -> Iterator[list[bool]]:
    """Count an attempt to sign in, by the browser if it is known, else by its address; forget it if it is right.

    Wrong passwords for a name from anywhere slow down every address that tries it, but the first tries of an address
    are always heard, and those of a known browser never depend on others: nobody is locked out from elsewhere.
    """
    address, key = address_of(request), users.key_of(name)
    here, device = f"{address} {key}", device_of(request, site.settings, name)
    if device:
        taken = [("sign-in", f"device {device}"), ("sign-in hourly", f"device {device}")]
    else:
        taken = [("sign-in", here), ("sign-in hourly", here), ("sign-in address", address)]
        if site.limits.reached("sign-in wrong", key):
            taken.append(("sign-in slowed", here))
    for what, whose in taken:
        site.limits.take(what, whose)
    right: list[bool] = []
    yield right
    if right:
        for what, whose in taken:
            site.limits.give_back(what, whose)
    elif not device:
        site.limits.note("sign-in wrong", key)


def known_by(site: Site, name: str, password: str) -> users.Account | None:
    """Whose name and password this is. It takes as long when there is nobody."""
    with site.database.reading() as db:
        known = users.credentials(db, name)
    right = passwords.matches(password, known.password_hash if known else None)
    if known is None or not right or not known.account.active:
        return None
    if passwords.outdated(known.password_hash):
        fresh = passwords.hashed(password)
        with site.database.writing() as db:
            users.set_password(db, known.account.id, fresh)
    return known.account


def is_their_password(site: Site, person: Person, password: str) -> bool:
    """Whether somebody who is signed in knows the password; asked before what cannot be undone."""
    site.limits.take("password", ("account", person.id))
    with site.database.reading() as db:
        known = users.credentials_of(db, person.id)
    right = passwords.matches(password, known.password_hash if known else None)
    if right:
        site.limits.give_back("password", ("account", person.id))
    return right


def begin(db: Session, account: users.Account, *, verified: bool = False) -> str:
    """A session for somebody."""
    return sessions.begin(db, account.id, int(time.time()), role=account.role, verified=verified)


def leave(request: Request, site: Site) -> None:
    """End the session of this browser."""
    if old := request.cookies.get(cookie_name(site.settings)):
        with site.database.writing() as db:
            sessions.end(db, old)


def entered(request: Request, site: Site, secret: str, target: str, say: str = "") -> Response:
    """Give the browser a new session; the one it had before is over."""
    leave(request, site)
    response = redirect(site, target, say)
    sign_in(response, site, secret)
    return response
