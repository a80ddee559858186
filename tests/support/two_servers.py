"""Two servers of a pair in one test, as threads: on free ports, with what each of them did, and a way to kill one.

A kill is a `Killed` that no handler of ours catches, at a step that was chosen: a message that is about to be sent or
was just received, or just before and just after something is written down. From then on everything that this server
does is killed, and its connections are cut, as by the operating system. A new server opens the same folder.
"""

from __future__ import annotations

import socket
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from lapwing.pair import server as serving
from lapwing.pair import workspace
from lapwing.pair.client import Client
from lapwing.pair.frames import connected, read_frame, send_frame
from lapwing.pair.links import Link
from lapwing.pair.orders import Request
from lapwing.pair.runs import Order, Run
from lapwing.pair.server import PairServer
from lapwing.pair.store import Store
from lapwing.pair.tallies import Among, Dimension, Tally, counted
from lapwing.privacy import Ledger

PATIENCE = 2.0
COLUMNS = {"a": {"values": [0, 1]}, "b": {"values": ["x", "y"]}, "d": {"bounds": [0, 2000]}}
ROWS = [{"a": i % 2, "b": "xy"[i % 3 == 0], "d": 100 * i} for i in range(5)]
NAMES = workspace.SERVERS
BOUND = Counter({"a": 1})
"""What `PRODUCT` uses up."""
LINEAR = Request((counted(Tally((Dimension("a", ((0,), (1,))),))),), (Fraction(1),))
PRODUCT = Request((counted(Tally((Dimension("a", ((0,), (1,))),), Among("b", (0,)))),), (Fraction(1),))


class Killed(BaseException):
    """The process ends here."""


@dataclass
class Computed:
    """Something that a server opened: which products it used."""

    server: str
    first: Counter[str]
    needed: Counter[str]


_here = threading.local()


class Mortal(PairServer):
    """A server that is killed at a step, if one was chosen, and counts its steps."""

    steps = 0
    fatal: int | None = None
    dead = gone = False
    history: list[str]
    runs: list[Computed]

    def __init__(self, folder: Path, name: str, patience: float, runs: list[Computed]) -> None:
        super().__init__(folder, name, patience=patience)
        self.history, self.runs, self._handles, self._guard = [], runs, list[socket.socket](), threading.Lock()

    def step(self, what: str) -> None:
        with self._guard:
            if not self.dead:
                self.steps += 1
                self.history.append(what)
                self.dead = self.steps == self.fatal
            if self.dead:
                self.close()
                for handle in self._handles:
                    with suppress(OSError):
                        handle.shutdown(socket.SHUT_RDWR)
                raise Killed

    def watch(self, connection: socket.socket) -> None:
        with self._guard:
            if not self.gone:
                self._handles.append(socket.socket(fileno=socket.dup(connection.fileno())))

    def let_go(self) -> None:
        with self._guard:
            self.gone = True
            for handle in self._handles:
                handle.close()

    def _accepted(self, plain: socket.socket, context: Any) -> None:
        _here.server = self
        self.watch(plain)
        with suppress(Killed):
            super()._accepted(plain, context)


def _step(what: str) -> None:
    server = getattr(_here, "server", None)
    if isinstance(server, Mortal):
        server.step(what)


def _before_and_after(patch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
    real = getattr(owner, name)

    def watched(*given: Any, **named: Any) -> Any:
        _step(f"before {name}")
        result = real(*given, **named)
        _step(f"after {name}")
        return result

    patch.setattr(owner, name, watched)


def make_mortal(patch: pytest.MonkeyPatch) -> None:
    """Every message and everything that is written down is a step."""
    for owner, name in [(Store, "begin"), (Store, "prepare"), (Store, "keep"), (Store, "_undo")]:
        _before_and_after(patch, owner, name)
    for name in ("charge", "record"):
        _before_and_after(patch, Ledger, name)
    send, receive, answers = Link.send, Link.receive, Run.answers
    send_frame, read_frame, connected = serving.send_frame, serving.read_frame, serving.connected

    def sent(link: Link, data: Any) -> None:
        _step("before send")
        send(link, data)

    def received(link: Link, size: int) -> bytes:
        data = receive(link, size)
        _step("after receive")
        return data

    def frame_sent(connection: Any, content: Any) -> None:
        _step("before frame")
        send_frame(connection, content)

    def frame_read(connection: Any, *rest: Any) -> Any:
        content = read_frame(connection, *rest)
        _step("after frame")
        return content

    def called(*given: Any) -> Any:
        connection = connected(*given)
        if isinstance(server := getattr(_here, "server", None), Mortal):
            server.watch(connection)
        return connection

    def answered(run: Run, orders: Sequence[Order]) -> Any:
        server = getattr(_here, "server", None)
        if isinstance(server, Mortal):
            needed = Request(tuple(order.measure for order in orders), ()).products(run.holdings.layout)
            server.runs.append(Computed(server.name, Counter(run.used), needed))
        return answers(run, orders)

    patch.setattr(Link, "send", sent)
    patch.setattr(Link, "receive", received)
    patch.setattr(Run, "answers", answered)
    for name, function in (("send_frame", frame_sent), ("read_frame", frame_read), ("connected", called)):
        patch.setattr(serving, name, function)


def free_port() -> int:
    with closing(socket.socket()) as place:
        place.bind(("127.0.0.1", 0))
        return int(place.getsockname()[1])


@dataclass
class Servers:
    """Both servers of a folder, and whoever asks them."""

    folder: Path
    patience: float = PATIENCE
    running: dict[str, PairServer] = field(default_factory=dict)
    runs: list[Computed] = field(default_factory=list)
    mortal: bool = False
    _threads: list[threading.Thread] = field(default_factory=list)

    @property
    def client(self) -> Client:
        return Client(self.first.deployment, self.folder / "analyst.pem", 4 * self.patience)

    @property
    def first(self) -> PairServer:
        return self.running[NAMES[0]]

    @property
    def second(self) -> PairServer:
        return self.running[NAMES[1]]

    def start(self, name: str) -> None:
        server: PairServer
        if self.mortal:
            server = Mortal(self.folder, name, self.patience, self.runs)
        else:
            server = PairServer(self.folder, name, patience=self.patience)
        ready = threading.Event()
        thread = threading.Thread(target=server.serve, args=(ready.set,), daemon=True)
        thread.start()
        assert ready.wait(20)
        self.running[name] = server
        self._threads.append(thread)

    def stop(self, name: str) -> None:
        server = self.running.pop(name)
        server.close()
        if isinstance(server, Mortal):
            server.let_go()

    def close(self) -> None:
        for name in list(self.running):
            self.stop(name)
        for thread in self._threads:
            thread.join(20)

    def upload(self, rows: Sequence[Mapping[str, Any] | None], first: int = 0) -> None:
        codes = workspace.codes_in(self.folder)[first:]
        self.client.upload_all(list(zip(codes, rows, strict=False)))

    def spent(self, name: str) -> Fraction:
        ledger = Ledger(self.folder / name / "ledger.db", anchor=self.folder / name / "anchor.json")
        return ledger.spent(self.first.deployment.name).epsilon  # type: ignore[attr-defined, no-any-return]

    def store(self, name: str) -> Store:
        return self.running[name].store


def made(folder: Path, *, owners: int = 8, **named: Any) -> Path:
    """A folder with everything in it."""
    addresses = [f"127.0.0.1:{free_port()}" for _ in NAMES]
    workspace.make(folder, name="people", columns=COLUMNS, owners=owners, addresses=addresses, **named)
    return folder


@contextmanager
def two_servers(
    folder: Path, *, rows: Sequence[Any] = ROWS, mortal: bool = False, patience: float = PATIENCE, **named: Any
) -> Iterator[Servers]:
    """Both, with rows that wait."""
    servers = Servers(folder if folder.exists() else made(folder, **named), patience, mortal=mortal)
    with closing(servers):
        for name in NAMES:
            servers.start(name)
        if rows:
            servers.upload(rows)
        yield servers


def assert_products_were_used_once(runs: Sequence[Computed]) -> None:
    """At each server, over all that it ever opened."""
    seen = set[tuple[str, str, int]]()
    for run in runs:
        for column, count in run.needed.items():
            for number in range(run.first[column], run.first[column] + count):
                assert (run.server, column, number) not in seen, f"{run.server} used product {number} of {column} twice"
                seen.add((run.server, column, number))


def said(servers: Servers, name: str, content: Any, key_file: Path | None = None) -> Any:
    """What a server answers to this."""
    place = servers.first.deployment.place_of(name)
    with closing(connected(servers.first.deployment.servers[place], key_file, servers.patience)) as connection:
        send_frame(connection, content)
        return read_frame(connection)


def asking(servers: Servers, request: Any = LINEAR, key: Any = "k", **changed: Any) -> dict[str, Any]:
    written = request.written() if isinstance(request, Request) else request
    return {"do": "ask", "file": servers.first.deployment.fingerprint, "request": written, "key": key, **changed}
