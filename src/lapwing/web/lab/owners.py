"""The owner of a bench: a browser, known by a secret cookie."""

from __future__ import annotations

import hashlib

from fastapi import Request, Response

from lapwing.noise.entropy import SYSTEM
from lapwing.web.accounts.sessions import cookie_name
from lapwing.web.service.settings import Settings

COOKIE = "lapwing-lab"


def new_owner() -> str:
    """A secret for a browser that brings something for the first time."""
    return f"{SYSTEM.bits(256):064x}"


def is_owner(secret: str) -> bool:
    """Whether a browser's cookie is one of ours."""
    return len(secret) == 64 and secret.isascii() and secret.isalnum()


def owner_of(request: Request, settings: Settings) -> str:
    """The secret of the browser, or nothing."""
    return request.cookies.get(cookie_name(settings, COOKIE), "")


def remember_owner(response: Response, settings: Settings, owner: str) -> None:
    """Give the browser its secret; it ends with the browser's session."""
    name, secure = cookie_name(settings, COOKIE), settings.secure
    response.set_cookie(name, owner, path="/", secure=secure, httponly=True, samesite="lax")


def known_as(owner: str) -> str:
    """What is remembered of a browser's secret."""
    return hashlib.sha256(owner.encode()).hexdigest()
