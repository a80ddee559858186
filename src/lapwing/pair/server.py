"""One of the two servers: it takes uploads in, meets the other server, keeps a ledger, and answers analysts.

    upload   an owner's share, by a code: on the disk before it is acknowledged
    ask      check, charge the ledger, meet the other server, compute, record, answer
    meet     the first server calls the second: both compare file, rows, products and question before anything is opened

Each refuses alone. What fails after a charge stays charged, and its question is never begun again. Proof: servers.md
"""

from __future__ import annotations

import hashlib
import json
import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lapwing.errors import InvalidParameter, LapwingError
from lapwing.noise import SYSTEM, Entropy
from lapwing.pair.certificates import check_key, encoded, listening
from lapwing.pair.deployment import Deployment
from lapwing.pair.frames import LARGEST, connected, read_frame, send_frame
from lapwing.pair.holdings import chosen, packed
from lapwing.pair.intake import take_in
from lapwing.pair.links import Disagreement, Link
from lapwing.pair.orders import Request
from lapwing.pair.refusals import BeingAnswered, Burnt, Refusal, RowsDiffer
from lapwing.pair.runs import Clock, Run
from lapwing.pair.store import Store
from lapwing.pair.transfers import Transfers
from lapwing.pair.uploads import uploads_in
from lapwing.privacy import ApproxDP, Ledger
from lapwing.privacy.ledger import Charge
from lapwing.ristretto import check_installed

PATIENCE = 60.0
"""Seconds that a server waits for the other one, or for whoever called it."""
MOST_FROM_OWNERS = 1 << 22
"""Bytes of a message from somebody without a certificate."""
NONCE = 16


@dataclass
class Meeting:
    """A question at the second server that waits for the first one to call, and a place to say so."""

    arrived: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)
    connection: ssl.SSLSocket | None = None
    hello: Any = None
    failure: LapwingError | None = None


class PairServer:
    """In a folder: the file of the pair, a key, rows, and a ledger."""

    def __init__(self, folder: Path, name: str, *, patience: float = PATIENCE, entropy: Entropy = SYSTEM) -> None:
        self.deployment = Deployment.read(folder)
        self.place = self.deployment.place_of(name)
        self.name, self.folder = name, folder / name
        self.layout = self.deployment.layout
        self.key_file = self.folder / "key.pem"
        check_key(self.key_file, self.deployment.servers[self.place].certificate, f"the server {name}")
        if not (self.folder / "rows.db").is_file():  # a new one would admit nobody
            why = "is missing: it says which codes this server admits"
            hint = f"Put {name}/rows.db of the folder that lapwing pair new made in this place."
            raise InvalidParameter("file", str(self.folder / "rows.db"), why, hint)
        check_installed("pair")  # not in the middle of a question that is charged
        self.store = Store(self.folder, self.layout)
        if not self.store.is_about(self.deployment.subject):  # its products would be counted, and charged, anew
            why = "names another table, unit, relation, columns or products than the rows in this folder were made for"
            raise InvalidParameter("file", str(folder), why, "Put the old file back, or begin a new pair.")
        self.ledger = Ledger(self.folder / "ledger.db", anchor=self.folder / "anchor.json")
        self.ledger.open(self.deployment.name, self.deployment.allowance)
        self.clock = Clock()
        self._patience, self._entropy = patience, entropy
        self._turn = threading.Lock()
        self._running: set[str] = set()
        self._meetings: dict[str, Meeting] = {}
        self._changed = threading.Condition()
        self._listener: socket.socket | None = None
        self._ended = threading.Event()

    # ---------------------------------------------------------------------------------------------------- serving

    @property
    def address(self) -> str:
        """Where it listens."""
        return self.deployment.servers[self.place].address

    def serve(self, ready: Callable[[], None] | None = None, at: tuple[str, int] | None = None) -> None:
        """Until `close`: at the address of the file, or behind it, `at` another host and port."""
        peer = self.deployment.servers[1 - self.place]
        context = listening(self.key_file, [peer.certificate, *self.deployment.analysts.values()])
        self._listener = socket.create_server(at or self.deployment.servers[self.place].place, backlog=128)
        if ready is not None:
            ready()
        while not self._ended.is_set():
            try:
                plain, _ = self._listener.accept()
            except OSError:
                break
            threading.Thread(target=self._accepted, args=(plain, context), daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        self._ended.set()
        if self._listener is not None:
            with suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()

    def _accepted(self, plain: socket.socket, context: ssl.SSLContext) -> None:
        plain.settimeout(self._patience)
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = context.wrap_socket(plain, server_side=True)
        except (OSError, ValueError):
            plain.close()
            return
        with closing(connection), suppress(OSError, ValueError, LapwingError):
            self._served(connection)

    def _served(self, connection: ssl.SSLSocket) -> None:
        """Whatever a client wants, one request after another; an error of ours is one text, whatever failed."""
        shown = connection.getpeercert(binary_form=True)
        peer = shown == encoded(self.deployment.servers[1 - self.place].certificate)
        analyst = next((name for name, own in self.deployment.analysts.items() if shown == encoded(own)), None)
        while True:
            request = read_frame(connection, LARGEST if peer or analyst else MOST_FROM_OWNERS)
            what = request.get("do") if isinstance(request, dict) else None
            if what == "meet" and peer:
                with suppress(Exception):  # the first server sees that the conversation ended, and nothing else
                    self._met(connection, request)
                return
            send_frame(connection, self._replied_to(what, request, peer, analyst))

    def _replied_to(self, what: Any, request: Any, peer: bool, analyst: str | None) -> dict[str, Any]:
        try:
            if what == "stored" and peer:
                return self._known(str(request.get("key")))
            if what == "upload":
                return self._uploaded(request)
            if what == "status":
                return self.status()
            if what in ("check", "ask") and analyst is not None:
                return self._asked(request, analyst, charged=what == "ask")
            raise Refusal("this server does not answer that, or not to you")
        except LapwingError as error:
            return {"error": str(error), "kind": type(error).__name__}
        except Exception:
            return {"error": str(Disagreement()), "kind": "Disagreement"}

    # ---------------------------------------------------------------------------------------------------- uploads

    def _uploaded(self, request: dict[str, Any]) -> dict[str, Any]:
        if request.get("file") != self.deployment.fingerprint:
            raise Refusal("this upload was made for another file: get the file of this pair, and try again")
        rows = uploads_in(request.get("rows"), self.place)
        self.store.upload(rows)
        return {"stored": [name for _, name, _ in rows]}

    def status(self) -> dict[str, Any]:
        """What anybody may know: numbers of rows, and what is left."""
        left = self.ledger.remaining(self.deployment.name)
        assert isinstance(left, ApproxDP)
        used = self.store.used()
        return {
            **self.store.numbers(),
            "file": self.deployment.fingerprint,
            "server": self.name,
            "epsilon": f"{left.epsilon.numerator}/{left.epsilon.denominator}",
            "delta": f"{left.delta.numerator}/{left.delta.denominator}",
            "products": {domain.name: self.layout.products - used[domain.name] for domain in self.layout.domains},
        }

    # -------------------------------------------------------------------------------------------------- questions

    def _asked(self, data: dict[str, Any], analyst: str, *, charged: bool) -> dict[str, Any]:
        if data.get("file") != self.deployment.fingerprint:
            raise Refusal("this question was made for another file: get the file of this pair, and ask again")
        request, key = Request.read(data.get("request")), data.get("key")
        if not isinstance(key, str) or not key or not key.isprintable():
            raise Refusal("a question has a key, which is text: ask with pair_table.sql(…)")
        request.fits(self.layout)
        stored = self.ledger.stored(key)
        if stored is None:
            request.check(self.layout, self.store.numbers()["rows"], self.store.used())
        loss = request.loss(self.layout, self.deployment.unit)
        if not charged:
            if stored is None and self.store.has_begun(key):
                self._elsewhere(request, key)  # for what it refuses
                return {"fine": True, "loss": str(loss)}
            return {"fine": stored is not None or self._affordable(loss), "loss": str(loss)}
        binding = {"request": request.digest(), "file": self.deployment.fingerprint}
        charge = self.ledger.charge(self.deployment.name, loss, analyst=analyst, key=key, binding=binding)
        content = charge.stored or self._answered(charge, request, key)
        return {"content": content.decode(), "charge": charge.number, **self.status()}

    def _affordable(self, loss: Any) -> bool:
        return bool(loss <= self.ledger.remaining(self.deployment.name))

    def _known(self, key: str) -> dict[str, Any]:
        """What this server tells the other one about a key: the release, and how far the question is."""
        runs, begun, content = key in self._running, self.store.has_begun(key), self.ledger.stored(key)
        return {"stored": None if content is None else content.decode(), "begun": begun, "runs": runs}

    def _answered(self, charge: Charge, request: Request, key: str) -> bytes:
        """The release of a charge: the recorded one if either server has one, and a new one if neither began."""
        with self._turn:  # a run of the same question may be about to end
            content = self.ledger.stored(key)
        if content is None:
            content = self._elsewhere(request, key)
            if content is not None:
                content = self.ledger.record(charge, content)
        if content is None:
            meet = self._called if self.place == 0 else self._waited
            content = meet(charge, request, key)
        return content

    def _elsewhere(self, request: Request, key: str) -> bytes | None:
        """A release that the other server recorded before this one could; None if neither server began the question."""
        peer = self.deployment.servers[1 - self.place]
        with closing(connected(peer, self.key_file, self._patience)) as connection:
            send_frame(connection, {"do": "stored", "key": key})
            theirs = read_frame(connection)
        content = theirs["stored"]
        if isinstance(content, str) and json.loads(content)["request"] == request.digest():
            return content.encode()
        if theirs["runs"] or key in self._running:
            raise BeingAnswered
        if content is not None or theirs["begun"] or self.store.has_begun(key):
            raise Burnt
        return None

    def _called(self, charge: Charge, request: Request, key: str) -> bytes:
        with self._turn:
            content = self.ledger.stored(key)  # asked twice at the same time
            if content is not None:
                return content
            self._take_all()
            connection, theirs = self._hello("run", key=key, request=request.digest())
            with closing(connection):
                return self._finished(charge, connection, theirs, request, key)

    def _waited(self, charge: Charge, request: Request, key: str) -> bytes:
        meeting = Meeting()
        with self._changed:
            if key in self._meetings:
                raise BeingAnswered
            self._meetings[key] = meeting
            self._changed.notify_all()
        try:
            while not meeting.arrived.wait(self._patience):
                if not self._turn.locked():  # otherwise another question is computed, which takes as long as it takes
                    raise Disagreement
            if meeting.failure is not None:
                raise meeting.failure
            assert meeting.connection is not None
            return self._finished(charge, meeting.connection, meeting.hello, request, key)
        finally:
            with self._changed:
                self._meetings.pop(key, None)
            meeting.done.set()

    def _finished(self, charge: Charge, connection: ssl.SSLSocket, theirs: Any, request: Request, key: str) -> bytes:
        self._running.add(key)
        try:
            return self.ledger.record(charge, self._run(connection, theirs, request, key))
        finally:
            self._running.discard(key)

    def _run(self, connection: ssl.SSLSocket, theirs: Any, request: Request, key: str) -> bytes:
        """Both servers do the same from here on: it is begun for good, then compared, and only then computed."""
        if (theirs["request"], theirs["rows"], theirs["key"]) != (request.digest(), self.store.row_list(), key):
            raise Disagreement
        used = self.store.used() | Counter({name: int(theirs["used"].get(name, 0)) for name in self.layout.by_name})
        holdings = self.store.holdings()
        request.check(self.layout, holdings.count, used)
        if not self.store.begin(key, used, request.products(self.layout)):
            raise Burnt
        link = Link(self.place, connection)
        facts = [self.deployment.fingerprint, key, request.digest(), self.store.row_list(), sorted(used.items())]
        agreed = hashlib.sha256(json.dumps(facts).encode()).digest()
        if link.exchange(agreed) != agreed:
            raise Disagreement
        with self.clock.before(link):
            transfers = Transfers(link, self._entropy)
        run = Run(link, holdings, transfers, used, self._entropy, self.clock)
        return json.dumps({"request": request.digest(), "numbers": run.answers(request.orders(self.layout))}).encode()

    # ------------------------------------------------------------------------------------------------------- rows

    def take_in(self) -> int:
        """The first server: take in all rows that wait at both, and say how many."""
        with self._turn:
            return self._take_all()

    def _take_all(self) -> int:
        taken = 0
        while True:
            with self.store.taking() as names:
                if not names:
                    return taken
                connection, theirs = self._hello("take in", names=names)
                with closing(connection):
                    count = self._take_in(connection, names, theirs)
            if not count:
                return taken
            taken += count

    def _take_in(self, connection: ssl.SSLSocket, names: list[str], theirs: Any) -> int:
        common = sorted(set(names) & set(theirs["names"]))
        if not common:
            return 0
        link = Link(self.place, connection)
        nonce = self._entropy.bits(8 * NONCE).to_bytes(NONCE, "big")
        nonces = sorted([nonce, link.exchange(nonce)])
        batch = hashlib.sha256(b"".join(nonces) + "\n".join(common).encode()).hexdigest()
        lines = packed(self.store.shares(common), self.layout)
        intake = take_in(link, Transfers(link, self._entropy), self.layout, lines, len(common))
        self.store.prepare(batch, common, intake.passed.tolist(), chosen(lines, intake.passed), intake.totals)
        if link.exchange(bytes(1)) != bytes(1):
            raise Disagreement
        self.store.keep(batch)
        return len(common)

    # --------------------------------------------------------------------------------------------------- meetings

    def _introduction(self, purpose: str, **facts: Any) -> dict[str, Any]:
        return {
            "do": "meet",
            "purpose": purpose,
            "file": self.deployment.fingerprint,
            "batches": self.store.batches(),
            "used": dict(self.store.used()),
            "key": "",
            "request": "",
            "names": [],
            **facts,
        }

    def _hello(self, purpose: str, **facts: Any) -> tuple[ssl.SSLSocket, Any]:
        """Call the other server, settle which rows both have, and say what this is about."""
        peer = self.deployment.servers[1 - self.place]
        connection = connected(peer, self.key_file, self._patience)
        try:
            connection.settimeout(self._patience)
            send_frame(connection, self._introduction(purpose, **facts))
            theirs = read_frame(connection)
            self._settle(theirs)
            send_frame(connection, {"rows": self.store.row_list()})
            theirs["rows"] = read_frame(connection)["rows"]
        except BaseException:
            connection.close()
            raise
        return connection, theirs

    def _settle(self, theirs: Any) -> None:
        if theirs["file"] != self.deployment.fingerprint:
            raise Disagreement
        if not self.store.settle({name: bool(kept) for name, kept in theirs["batches"]}):
            raise RowsDiffer

    def _met(self, connection: ssl.SSLSocket, theirs: Any) -> None:
        """The second server, when the first one calls. Nothing else is computed here from the reply to the end."""
        if theirs["purpose"] == "take in":
            with self._turn, self.store.taking() as names:
                self._replied(connection, theirs, names=names)
                self._take_in(connection, names, theirs)
            return
        meeting = self._expected(str(theirs["key"]))
        if meeting is None:
            return
        with self._turn:
            try:
                self._replied(connection, theirs, key=theirs["key"], request=theirs["request"])
            except Exception as error:  # whoever asked here hears of it at once
                meeting.failure = error if isinstance(error, LapwingError) else Disagreement()
            meeting.connection, meeting.hello = connection, theirs
            meeting.arrived.set()
            meeting.done.wait()

    def _replied(self, connection: ssl.SSLSocket, theirs: Any, **facts: Any) -> None:
        send_frame(connection, self._introduction(theirs["purpose"], **facts))  # both settle the same two lists
        self._settle(theirs)
        theirs["rows"] = read_frame(connection)["rows"]
        send_frame(connection, {"rows": self.store.row_list()})

    def _expected(self, key: str) -> Meeting | None:
        """The question that somebody asked here as well; None if nobody does in time."""
        deadline = time.monotonic() + self._patience
        with self._changed:
            while key not in self._meetings:
                if not self._changed.wait(max(0.0, deadline - time.monotonic())):
                    return None
            return self._meetings[key]
