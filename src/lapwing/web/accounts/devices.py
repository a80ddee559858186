"""Cookies of known browsers: wrong passwords from elsewhere never lock out somebody who signed in here before.

The cookie holds a random number and our seal of that number and the name. It says nothing about who signed in to
anybody without our key, opens nothing, and counts for one name only: wrong passwords from this browser are counted
apart from those of the rest of the world.
"""

from __future__ import annotations

import hashlib
import hmac

from fastapi import Request, Response

from lapwing.noise.entropy import SYSTEM
from lapwing.web.accounts.sessions import cookie_name
from lapwing.web.accounts.store import users
from lapwing.web.service.settings import Settings

COOKIE = "lapwing-device"
LASTS = 180 * 86400
"""Seconds after the last sign-in."""


def device_of(request: Request, settings: Settings, name: str) -> str:
    """The number of a browser in which this name signed in before, or nothing."""
    number, _, seal = request.cookies.get(cookie_name(settings, COOKIE), "").partition(".")
    right = hmac.compare_digest(seal.encode("utf-8", "replace"), _seal(settings, number, name).encode())
    return number if right else ""


def remember_device(request: Request, response: Response, settings: Settings, name: str) -> None:
    """Somebody signed in: know this browser again."""
    number = device_of(request, settings, name) or f"{SYSTEM.bits(128):032x}"
    value = f"{number}.{_seal(settings, number, name)}"
    response.set_cookie(
        cookie_name(settings, COOKIE),
        value,
        max_age=LASTS,
        path="/",
        secure=settings.secure,
        httponly=True,
        samesite="lax",
    )


def forget_device(response: Response, settings: Settings) -> None:
    """The account is gone."""
    response.delete_cookie(
        cookie_name(settings, COOKIE), path="/", secure=settings.secure, httponly=True, samesite="lax"
    )


def _seal(settings: Settings, number: str, name: str) -> str:
    sealed = f"device {number} {users.key_of(name)}".encode("utf-8", "replace")
    return hmac.new(settings.secret(), sealed, hashlib.sha256).hexdigest()
