"""The little HTTP that the parties need, as plain ASGI: bodies of a known size, short answers, nothing in logs.

What a stranger sends is never written anywhere: not its bytes, its length, its address, its headers nor its time.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

PATIENCE = 10.0
"""Seconds in which a whole request must have come."""
RETRY_AFTER = b"30"
MOST_DROPPED = 1 << 24
"""Bytes beyond the limit that are read and dropped, so that whoever sent them hears why they were refused."""
ANYWHERE = ((b"access-control-allow-origin", b"*"), (b"cross-origin-resource-policy", b"cross-origin"))
"""Browsers on any page may send reports: they carry no cookie, and nobody is recognised."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A status and a body."""

    status: int
    body: bytes = b""
    kind: bytes = b"application/json"
    headers: tuple[tuple[bytes, bytes], ...] = ()

    @classmethod
    def json(cls, status: int, **values: Any) -> Answer:
        """Values as JSON."""
        return cls(status, json.dumps(values, sort_keys=True).encode())

    @classmethod
    def error(cls, status: int, what: str) -> Answer:
        """What was wrong, in a sentence that holds nothing of the request."""
        return cls.json(status, error=what)

    @classmethod
    def busy(cls) -> Answer:
        """Come back later: nothing was stored."""
        body = json.dumps({"error": "Nothing was stored. Send the same bytes again later."}).encode()
        return cls(503, body, headers=((b"retry-after", RETRY_AFTER),))


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for; the body is read when somebody wants it."""

    method: str
    path: str
    headers: Mapping[bytes, bytes]
    _receive: Receive = field(repr=False)

    async def body(self, most: int, *, patience: float | None = None) -> bytes | Answer:
        """The body, or the answer to one that is too long, too slow, or cut off."""
        declared = self.headers.get(b"content-length", b"0")
        hopeless = declared.isdigit() and (len(declared) > 19 or int(declared) > most + MOST_DROPPED)
        pieces, size = list[bytes](), 0
        try:
            async with asyncio.timeout(PATIENCE if patience is None else patience):
                while not hopeless:
                    message = await self._receive()
                    if message["type"] != "http.request":
                        return Answer.error(400, "The body was cut off.")
                    size += len(piece := message.get("body", b""))
                    if size <= most:
                        pieces.append(piece)
                    else:  # who is still sending does not hear an answer: the rest is read, up to a limit, and dropped
                        pieces.clear()
                        hopeless = size > most + MOST_DROPPED
                    if not message.get("more_body"):
                        break
        except TimeoutError:
            return Answer.error(408, "The body took too long to come.")
        if hopeless or size > most:
            return Answer.error(413, "The body is too long.")
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


Route = Callable[[Request], Awaitable[Answer]]


def application(
    routes: Mapping[tuple[str, str], Route],
    *,
    started: Callable[[], Awaitable[None]] | None = None,
    ended: Callable[[], Awaitable[None]] | None = None,
    extra_headers: tuple[tuple[bytes, bytes], ...] = (),
) -> Application:
    """An ASGI application of exact addresses. An error inside is a 500 without a word about the request."""
    common = (*extra_headers, (b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
    paths = {path for _, path in routes}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send, started, ended)
            return
        if scope["type"] != "http":
            return
        answer = await _answered(Request(scope["method"], scope["path"], dict(scope["headers"]), receive))
        length = (b"content-length", b"%d" % len(answer.body))
        headers = [(b"content-type", answer.kind), length, *common, *answer.headers]
        if answer.status >= 400:  # the rest of a body that nobody wants must not keep the connection
            headers.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})

    async def _answered(request: Request) -> Answer:
        route = routes.get((request.method, request.path))
        if route is None:
            if request.method == "OPTIONS" and request.path in paths:
                allowed = (
                    (b"access-control-allow-methods", b"GET, POST"),
                    (b"access-control-allow-headers", b"content-type, x-lapwing-code"),
                )
                return Answer(204, headers=allowed)
            known = request.path in paths
            return Answer.error(405 if known else 404, "There is nothing at this address.")
        try:
            return await route(request)
        except Exception:  # whatever it was, it may hold bytes of the request
            return Answer.error(500, "Something failed here. Nothing was stored.")

    return app


async def _lifespan(
    receive: Receive,
    send: Send,
    started: Callable[[], Awaitable[None]] | None,
    ended: Callable[[], Awaitable[None]] | None,
) -> None:
    while True:
        message = await receive()
        hook = started if message["type"] == "lifespan.startup" else ended
        if hook is not None:
            await hook()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
