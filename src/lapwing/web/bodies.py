"""Limits on request bodies: a megabyte, more for pictures, videos and tables; and text as UTF-8 only."""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from python_multipart.multipart import parse_options_header

from lapwing.web.authoring import films
from lapwing.web.lab.arrivals import too_large
from lapwing.web.service.limits import address_of
from lapwing.web.service.problems import Problem

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from lapwing.web.lab.arrivals import Arrival
    from lapwing.web.lab.benches import Lab

MOST = 1 << 20
MOST_UPLOADED = (2 << 20) + (64 << 10)  # two megabytes, and the envelope of a form around them
VIDEOS, MOST_FILMED = "/uploads/videos", films.LARGEST + films.LARGEST_CAPTIONS + (64 << 10)
"""The address that takes videos. Its route reads nothing of a body before it knows who sends it."""
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


PATIENCE = 30.0
"""Seconds that may pass until the next part of a body comes."""
SLOWEST = 4096
"""Bytes a second, on average, of a body that takes longer than that."""
_TOO_SLOW = "Too little of it came for a while, so we stopped waiting. Please try again."


class SmallBodies:
    """Refuses what is too large, strangely written or too slow before it is read, or as soon as it turns out to be."""

    def __init__(self, app: ASGIApp, lab: Lab | None = None, patience: float = PATIENCE) -> None:
        self.app, self.lab, self.patience = app, lab, patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As ASGI has it."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self.app(scope, receive, send)
            return
        if self.lab is not None and scope["path"] == TABLES:
            await self._table(self.lab, scope, receive, send)
            return
        most = MOST_UPLOADED if scope["path"].startswith(UPLOADS) else MOST
        most = MOST_FILMED if scope["path"] == VIDEOS else most
        await self.app(scope, Body(scope, receive, most, self.patience).receive, send)

    async def _table(self, lab: Lab, scope: Scope, receive: Receive, send: Send) -> None:
        """A table may be large: it is counted as it comes, and room is kept for it."""
        most = lab.settings.lab_upload
        body = Body(scope, receive, most + ENVELOPE, self.patience, too_large(most))
        with ExitStack() as until_it_is_here:
            try:
                body.arrival = until_it_is_here.enter_context(lab.arrivals.arrival(address_of(Request(scope))))
            except Problem as problem:
                body.refused = problem
            await self.app(scope, body.receive, send)


class Body:
    """What comes with one request."""

    def __init__(self, scope: Scope, receive: Receive, most: int, patience: float, too_much: str = "") -> None:
        self._receive, self._most, self._patience, self._too_much = receive, most, patience, too_much
        self._read, self._begun, self._whole = 0, time.monotonic(), False
        self.arrival: Arrival | None = None
        self.refused: Problem | None = None
        """Raised where the application begins to read: there it becomes an answer."""
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        kinds = [value for name, value in scope["headers"] if name == b"content-type"]  # if told twice, too
        if not declared.isdigit() or int(declared) > most:
            self.refused = Problem(413, too_much)
        elif not all(map(_readable, kinds)):
            self.refused = Problem(415, "Send text as UTF-8.")

    async def receive(self) -> Message:
        """The next part, as ASGI has it."""
        if self.refused is not None:
            raise self.refused
        if self._whole:
            return await self._receive()  # whether somebody is still there: that may take any time
        message = await self._next()
        size = len(message.get("body", b""))
        self._read += size
        self._whole = not message.get("more_body", False)
        if self._read > self._most:
            raise Problem(413, self._too_much)
        if self.arrival is not None and self.arrival.needs(size):
            await run_in_threadpool(self.arrival.grant)
        return message

    async def _next(self) -> Message:
        try:
            message = await asyncio.wait_for(self._receive(), self._patience)
        except TimeoutError:
            raise self._too_slow() from None
        passed = time.monotonic() - self._begun
        if passed > self._patience and self._read < SLOWEST * (passed - self._patience):
            raise self._too_slow()
        return message

    def _too_slow(self) -> Problem:
        return Problem(408, _TOO_SLOW, headers={"connection": "close"})
