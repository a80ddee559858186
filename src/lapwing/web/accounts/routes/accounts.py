"""Accounts: sign up, sign in, sign out."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import Form, Request, Response

from lapwing.web.accounts import entrance, passwords
from lapwing.web.accounts.devices import remember_device
from lapwing.web.accounts.forms import local, name_complaint
from lapwing.web.accounts.sessions import Someone, page, personal, redirect, sign_out
from lapwing.web.accounts.store import users
from lapwing.web.service.lanes import in_lane
from lapwing.web.service.limits import address_of
from lapwing.web.site import TheSite

router = personal()
Typed = Annotated[str, Form(max_length=1000)]


@router.get("/account/sign-up")
def sign_up_form(request: Request, site: TheSite, person: Someone, next: str = "") -> Response:
    """Ask for a name and a password."""
    return page(request, site, "account/sign-up.html", person, next=local(next), name="", complaints={})


@router.post("/account/sign-up")
@in_lane("passwords")
def sign_up(
    request: Request, site: TheSite, person: Someone, name: Typed = "", password: Typed = "", next: Typed = ""
) -> Response:
    """Make an account and sign in with it."""
    by_field = {"name": name_complaint(name), "password": passwords.complaint(password, name)}
    complaints = {field: words for field, words in by_field.items() if words}
    if not complaints:
        site.limits.take("sign-up", ("address", address_of(request)))
        kept = passwords.hashed(password)
        with site.database.writing() as db:
            if account := users.add(db, name, kept):
                secret = entrance.begin(db, account)
        if account:
            response = entrance.entered(request, site, secret, local(next), f"Welcome, {account.name}.")
            remember_device(request, response, site.settings, account.name)
            return response
        complaints = {"name": "This name is taken. Choose another one."}
    shown = {"next": local(next), "name": name[:100], "complaints": complaints}
    return page(request, site, "account/sign-up.html", person, 422, **shown)


@router.get("/account/sign-in")
def sign_in_form(request: Request, site: TheSite, person: Someone, next: str = "") -> Response:
    """Ask who it is."""
    return page(request, site, "account/sign-in.html", person, next=local(next), name="", complaint="")


@router.post("/account/sign-in")
@in_lane("passwords")
def sign_in(
    request: Request, site: TheSite, person: Someone, name: Typed = "", password: Typed = "", next: Typed = ""
) -> Response:
    """Let somebody in. Neither the words nor the time say whether the name or the password was wrong."""
    with entrance.counted(site, request, name) as right:
        account = entrance.known_by(site, name, password)
        if account is None:
            shown = {"next": local(next), "name": name[:100], "complaint": "Name or password is wrong."}
            return page(request, site, "account/sign-in.html", person, 422, **shown)
        right.append(True)
    with site.database.writing() as db:
        secret = entrance.begin(db, account)
    target = local(next)
    if account.second_factor:
        target = f"/account/code?next={quote(target)}"
    elif account.role == "admin":
        target = "/account/second-factor"
    response = entrance.entered(request, site, secret, target)
    remember_device(request, response, site.settings, account.name)
    return response


@router.post("/account/sign-out")
def sign_out_now(request: Request, site: TheSite) -> Response:
    """End this session, here and in the database."""
    entrance.leave(request, site)
    response = redirect(site, "/")
    sign_out(response, site)
    return response
