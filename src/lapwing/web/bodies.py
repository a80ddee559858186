"""What may be sent: a megabyte, or two where pictures are taken; and text as UTF-8 only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from python_multipart.multipart import parse_options_header

from lapwing.web.problems import Problem

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST = 1 << 20
MOST_UPLOADED = (2 << 20) + (64 << 10)  # two megabytes, and the envelope of a form around them
UPLOADS = ("/uploads",)
"""Where addresses begin at which pictures are taken."""
TABLES = "/lab/upload"
"""The address that takes tables, as large as the settings allow."""
ENVELOPE = 64 << 10
_LONGEST_KIND = 500
_TEXT = {b"", b"utf-8", b"utf8", b"us-ascii", b"iso-8859-1"}
"""What a form may say it is written in. Python reads a hundred others, some of which take minutes for a megabyte."""


def _readable(kind: bytes) -> bool:
    """Whether a Content-Type is one that we read in no time; asked of what will read the form."""
    if len(kind) > _LONGEST_KIND:
        return False
    return parse_options_header(kind)[1].get(b"charset", b"").lower() in _TEXT


class SmallBodies:
    """Refuses what is too large or strangely written before it is read, or as soon as it turns out to be."""

    def __init__(self, app: ASGIApp, tables: int = MOST) -> None:
        self.app, self.tables = app, tables

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As ASGI has it."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self.app(scope, receive, send)
            return
        most = MOST_UPLOADED if scope["path"].startswith(UPLOADS) else MOST
        if scope["path"] == TABLES:
            most = self.tables + ENVELOPE
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        known = all(
            _readable(value) for name, value in scope["headers"] if name == b"content-type"
        )  # if told twice, too
        too_much = not declared.isdigit() or int(declared) > most
        read = 0

        async def receive_little() -> Message:
            nonlocal read
            if too_much:
                raise Problem(413)
            if not known:
                raise Problem(415, "Send text as UTF-8.")
            message = await receive()
            read += len(message.get("body", b""))
            if read > most:
                raise Problem(413)
            return message

        await self.app(scope, receive_little, send)
