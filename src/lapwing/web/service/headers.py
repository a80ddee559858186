"""What every answer carries: nothing may be loaded from elsewhere, framed, or guessed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self' 'wasm-unsafe-eval'",
        "worker-src 'self'",
        "style-src 'self'",
        "style-src-attr 'unsafe-inline'",  # formulas place their signs by attributes; scripts stay forbidden
        "img-src 'self' data:",
        "media-src 'self'",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "manifest-src 'self'",
    )
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # nothing to others; without it our own forms would not say whence they come
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
)
ALWAYS_HTTPS = (b"strict-transport-security", b"max-age=31536000")
"""Only where the school is reached by https: a browser that has heard it takes no other way for a year."""


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
                message["headers"] = [*message["headers"], *self.headers]
            await send(message)

        await self.app(scope, receive, send_safely)
