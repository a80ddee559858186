"""A party as a process: uvicorn without logs of requests, with a limit on slow clients, and the work beside it."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lapwing.collect.http import PATIENCE, Application
from lapwing.errors import MissingExtra

if TYPE_CHECKING:
    import socket

MOST_CONNECTIONS = 2000
"""Beyond that, clients are asked to come back later."""
LARGEST_HEAD = 1 << 16
"""Bytes of the head of a request."""
BREATH = 1.0
"""Seconds between two rounds of work."""
Work = Callable[[], object]

_log = logging.getLogger("lapwing.collect")


def server(app: Application, **options: Any) -> Any:
    """A uvicorn server for one party: nothing of a request is logged, and no connection waits for ever."""
    try:
        import uvicorn
    except ImportError:
        raise MissingExtra("uvicorn", "collect") from None
    config = uvicorn.Config(
        app,
        access_log=False,
        log_level="error",
        server_header=False,
        date_header=False,  # a time of a request, in a place that proxies log
        http=_protocol(),
        ws="none",
        timeout_keep_alive=int(PATIENCE),
        limit_concurrency=MOST_CONNECTIONS,
        proxy_headers=False,
        **options,
    )
    return uvicorn.Server(config)


def _protocol() -> type[asyncio.Protocol]:
    """uvicorn's protocol with a limit on time and size of the head of a request, and on clients that do not read."""
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    class Impatient(HttpToolsProtocol):
        """Ends whoever takes longer than `PATIENCE` for the head of a request, or sends one that is too long."""

        _deadline: asyncio.TimerHandle | None = None
        _head_bytes = 0

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._await_head()

        def data_received(self, data: bytes) -> None:
            self._head_bytes += len(data)
            super().data_received(data)
            if self._between_requests():
                self._await_head()
                if self._head_bytes > LARGEST_HEAD:
                    self.transport.abort()
            else:
                self._head_bytes = 0

        def on_headers_complete(self) -> None:
            self._stop_waiting()
            self._head_bytes = 0
            super().on_headers_complete()

        def timeout_keep_alive_handler(self) -> None:
            self.transport.abort()  # not close, which would wait for a client that does not read

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def _between_requests(self) -> bool:
            return self.cycle is None or self.cycle.response_complete

        def _await_head(self) -> None:
            if self._deadline is None:
                self._deadline = self.loop.call_later(PATIENCE, self.transport.abort)

        def _stop_waiting(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

    return Impatient


class Worker:
    """Work that is done again and again beside a server, in a thread. What fails once is tried again."""

    def __init__(self, *work: Work, breath: float = BREATH) -> None:
        self._work, self._breath = work, breath
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="collect", daemon=True)

    def start(self) -> Worker:
        """Begin."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Finish this round, and end."""
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._end.wait(self._breath):
            for step in self._work:
                try:
                    step()
                except Exception as error:  # whatever it was: the next round may do it, and must be tried
                    _log.error("a round of work failed: %s", type(error).__name__)


def run(app: Application, listener: socket.socket, *work: Work) -> None:
    """Serve and work until the process is asked to end."""
    worker = Worker(*work).start() if work else None
    try:
        server(app).run(sockets=[listener])
    finally:
        if worker is not None:
            worker.stop()
