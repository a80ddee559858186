"""How much may be sent: a megabyte, or two where pictures are taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lapwing.web.problems import Problem

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST = 1 << 20
MOST_UPLOADED = (2 << 20) + (64 << 10)  # two megabytes, and the envelope of a form around them
UPLOADS = ("/uploads",)
"""Where addresses begin at which pictures are taken."""


class SmallBodies:
    """Refuses what is too large before it is read, or as soon as it turns out to be."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As ASGI has it."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self.app(scope, receive, send)
            return
        most = MOST_UPLOADED if scope["path"].startswith(UPLOADS) else MOST
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        too_much = not declared.isdigit() or int(declared) > most
        read = 0

        async def receive_little() -> Message:
            nonlocal read
            if too_much:
                raise Problem(413)
            message = await receive()
            read += len(message.get("body", b""))
            if read > most:
                raise Problem(413)
            return message

        await self.app(scope, receive_little, send)
