"""A party as a process that kills itself just before one of the steps by which it changes what others can see.

A step is a file that is created, written to, synced, renamed or removed, a folder that is made, a transaction that is
committed, a request that is sent or whose answer has come, and an answer that is given or was given. Nothing else
outlives the process, so whoever kills it before step 1, 2, 3, … has tried every state that a kill can leave.

The process is forked from a server that has loaded everything, so that a start costs little. It works when it is told
to, one round at a time, so that nobody waits for a clock.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import sqlite3
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

from broken_parties import BROKEN
from collecting import listening

from lapwing.collect import hops
from lapwing.collect.clock import now
from lapwing.collect.collection import Collection
from lapwing.collect.forwarder import forward
from lapwing.collect.http import Application, Receive, Scope, Send
from lapwing.collect.parties import serve
from lapwing.collect.workspace import Workspace

FORKS = multiprocessing.get_context("forkserver")
_LOADED = (
    "lapwing.collect",
    "lapwing.crowd",
    "numpy",
    "uvicorn",
    "httptools",
    "cryptography",
    "yaml",
    "rbcl",
    "asyncio",
    "sqlite3",
)


class ReadOnce(Workspace):
    """An operator's folder. Reading the signed file is most of what a start costs, so each text is read once."""

    read: ClassVar[dict[bytes, Collection]] = {}

    def collection(self) -> Collection:
        text = self.signed.read_bytes()
        if text not in self.read:
            self.read[text] = super().collection()
        return self.read[text]


class Station:
    """One party of an operator's folder: its application, and a round of its work at an hour of our own."""

    def __init__(self, workspace: Workspace, party: str) -> None:
        self.work: tuple[Callable[[], object], ...] = ()
        self.close: Callable[[], object] = lambda: None
        self._hour, start = 0, now()
        server: Any
        if party == "ingestor":
            server, sealer, key = workspace.ingestor(), workspace.sealer(), workspace.signing_key(party)
            self.work = (lambda: server.intake.rotate(now=True), sealer.seal, lambda: forward(sealer, key))
            self.close = server.intake.close
        elif party == "aggregator":
            server = workspace.aggregator()
            server.clock = lambda: start + timedelta(hours=2 * self._hour)  # each round may publish a batch
            self.work = (server.work, server.close_batch, server.count_closed, server.pass_on)
        elif party in ("issuer", "analyzer"):
            server = getattr(workspace, party)()
        else:
            server = workspace.shuffler(party)
            self.work = (server.work, server.pass_on)
        self.server, self.app = server, server.app()

    def round(self, number: int) -> list[str]:
        """Everything once; what failed. As in a real process, the next step is tried all the same."""
        self._hour, failed = number, []
        for step in self.work:
            try:
                step()
            except Exception as error:
                failed.append(f"{type(error).__name__}: {error}")
        return failed


class Steps:
    """Counts the steps of this process, and kills it before one of them."""

    def __init__(self, fatal: int | None) -> None:
        self.count, self._fatal, self._turn = 0, fatal, threading.Lock()

    def step(self) -> None:
        with self._turn:
            self.count += 1
            if self.count == self._fatal:
                os.kill(os.getpid(), signal.SIGKILL)

    def install(self) -> None:
        """From now on; this process does nothing else."""
        for name in ("write", "fsync", "fdatasync", "replace", "rename", "unlink", "mkdir", "rmdir"):
            setattr(os, name, self._before(getattr(os, name)))
        os.open = self._creating(os.open)
        sqlite3.connect = self._committing(sqlite3.connect)
        hops.post, hops.get = self._around(hops.post), self._around(hops.get)

    def _before(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def stepped(*args: Any, **named: Any) -> Any:
            self.step()
            return real(*args, **named)

        return stepped

    def _around(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def stepped(*args: Any, **named: Any) -> Any:
            self.step()
            reply = real(*args, **named)
            self.step()
            return reply

        return stepped

    def _creating(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def opened(path: Any, flags: int, *args: Any, **named: Any) -> Any:
            if flags & os.O_CREAT and not os.path.exists(path):
                self.step()
            return real(path, flags, *args, **named)

        return opened

    def _committing(self, real: Callable[..., Any]) -> Callable[..., Any]:
        steps = self

        class Stepped(sqlite3.Connection):
            """Says when it commits something."""

            def execute(self, sql: str, *args: Any) -> Any:
                if sql == "COMMIT" and self.total_changes + self._made:
                    steps.step()
                self._made += sql.startswith("CREATE")
                return super().execute(sql, *args)

            _made = 0

        return lambda *args, **named: real(*args, **named, factory=Stepped)

    def answering(self, app: Application) -> Application:
        """Before each answer, and when it was given."""

        async def stepped(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            answers = list[Any]()

            async def answered(message: Any) -> None:
                answers.append(message)

            await app(scope, receive, answered)
            self.step()
            for message in answers:
                await send(message)
            self.step()

        return stepped


def _party(folder: str, party: str, broken: str | None, read: Any, fatal: int | None, line: Connection) -> None:
    """What the process does."""
    ReadOnce.read |= read
    workspace, steps = ReadOnce(folder), Steps(fatal)
    parts = urlsplit(workspace.collection().servers[party].address)
    steps.install()
    if broken is not None:
        BROKEN[broken]()
    station = Station(workspace, party)
    listener = socket.create_server((str(parts.hostname), parts.port or 0))
    with listening(steps.answering(station.app), listener), suppress(EOFError):
        line.send((steps.count, []))
        while True:
            number = line.recv()
            line.send((steps.count, [] if number is None else station.round(number)))


def forked(target: Callable[..., None], *args: Any) -> tuple[Any, Connection]:
    """A process that does this, with a line to it as the last argument; and our end of the line."""
    # Counts once, when the server of forks begins: it loads what this process needed so far for other parties.
    FORKS.set_forkserver_preload(sorted(name for name in sys.modules if name.startswith(_LOADED)))
    ours, theirs = FORKS.Pipe()
    process = FORKS.Process(target=target, args=(*args, theirs), daemon=True)
    process.start()
    theirs.close()
    return process, ours


def served(folder: str, party: str, line: Connection) -> None:
    """What a process does that serves a party as `lapwing collect serve` does, until it is killed or left alone."""

    def end() -> None:
        with suppress(EOFError, OSError):
            line.recv()
        os._exit(1)

    threading.Thread(target=end, daemon=True).start()
    serve(folder, party, seal_after=0.2, ready=line.send)


class Child:
    """Such a process, and the one that is started in its place when it was killed."""

    def __init__(self, folder: Path, party: str, *, fatal: int | None, broken: str | None = None) -> None:
        self._job = (str(folder), party, broken, ReadOnce.read)
        self.killed, self.steps, self.failed = False, 0, list[str]()
        self._start(fatal)

    def _start(self, fatal: int | None) -> None:
        self._process, self._line = forked(_party, *self._job, fatal)
        if not self._heard():
            self._start_again()

    def _start_again(self) -> None:
        assert not self.killed, "it was killed once, and ended again"
        self.killed = True
        self.close()
        self._start(None)

    def _heard(self) -> bool:
        """Whether it answered; otherwise it has ended."""
        try:
            self.steps, failed = self._line.recv()
        except (EOFError, ConnectionResetError):
            return False
        self.failed += failed
        return True

    def round(self, number: int | None = None) -> None:
        """A round of work, or a word whether it is there: if it was killed, another process begins and does it."""
        with suppress(BrokenPipeError):
            self._line.send(number)
            if self._heard():
                return
        self._start_again()
        self.round(number)

    def close(self) -> None:
        """End it, as rudely as ever."""
        self._process.kill()
        self._process.join()
        self._process.close()
        self._line.close()
