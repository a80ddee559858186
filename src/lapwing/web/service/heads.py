"""Close connections that send their request headers too slowly, or headers that are too long.

Uvicorn reads the head of a request however long it is and however long it takes. A proxy in front would stop both; a
school that is served without one stops them here.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST = 512 << 10
"""Bytes that may come before the head is whole, or behind a body. One reading may bring half of that at once."""
SECONDS = 30.0
"""How long a head may take."""


class SmallHeads(HttpToolsProtocol):
    """Speaks HTTP with a browser, and hangs up on whoever does not come to the point."""

    seconds = SECONDS
    _unheard = 0
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Somebody is there."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is there any more."""
        self._heard()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Some bytes; what became of them, the parser says."""
        self._unheard += len(data)
        super().data_received(data)
        if self._unheard > MOST:
            self.transport.close()

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._wait()

    def on_headers_complete(self) -> None:
        """Its head is whole."""
        self._heard()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of its body, which is counted elsewhere."""
        self._unheard = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """All of it is there."""
        self._unheard = 0
        super().on_message_complete()

    def _wait(self) -> None:
        if self._late is None:
            self._late = self.loop.call_later(self.seconds, self.transport.close)

    def _heard(self) -> None:
        self._unheard = 0
        if self._late is not None:
            self._late.cancel()
            self._late = None
