"""HTTP headers of every answer: nothing may be loaded from elsewhere, framed, or guessed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


def policy(*others: str) -> str:
    """What a page may load and whom it may speak to: this server, and `others` if a page is made for that."""
    return "; ".join((*_RULES, " ".join(("connect-src 'self'", *others))))


_RULES = (
    "default-src 'none'",
    "script-src 'self' 'wasm-unsafe-eval'",
    "worker-src 'self'",
    "style-src 'self'",
    "style-src-attr 'unsafe-inline'",  # formulas place their signs by attributes; scripts stay forbidden
    "img-src 'self' data:",
    "media-src 'self'",
    "font-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "manifest-src 'self'",
)
POLICY = policy()
_POLICY = b"content-security-policy"
HEADERS = (
    (_POLICY, POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # nothing to others; without it our own forms would not say whence they come
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
)
_ORIGIN = re.compile(r"https?://[a-z0-9.-]+(:[0-9]{1,5})?", re.IGNORECASE)
"""No IPv6 address: the rules of browsers have no way to write one."""
_REACHES = "reaches"
ALWAYS_HTTPS = (b"strict-transport-security", b"max-age=31536000")
"""Only where the school is reached by https: a browser that has heard it takes no other way for a year."""


def reach(request: Request, *origins: str) -> None:
    """Let the page that answers this request, and no other, speak to these servers, too."""
    if strange := [origin for origin in origins if not _ORIGIN.fullmatch(origin)]:
        raise ValueError(f"{strange} are not origins")
    setattr(request.state, _REACHES, origins)


class SafeHeaders:
    """Adds them to every answer, errors included."""

    def __init__(self, app: ASGIApp, *, https: bool = False) -> None:
        self.app, self.headers = app, (*HEADERS, ALWAYS_HTTPS) if https else HEADERS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As ASGI has it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                others = scope.get("state", {}).get(_REACHES, ())
                wider = [(_POLICY, policy(*others).encode()), *self.headers[1:]] if others else self.headers
                message["headers"] = [*message["headers"], *wider]
            await send(message)

        await self.app(scope, receive, send_safely)
