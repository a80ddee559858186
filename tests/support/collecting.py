"""A collection with every party running: real servers on loopback ports, real files, real keys."""

from __future__ import annotations

import socket
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from loops import in_a_loop

from lapwing.collect import hops, reader, tokens
from lapwing.collect.aggregator import Aggregator
from lapwing.collect.analyzer import Analyzer
from lapwing.collect.batches import Batch
from lapwing.collect.blinder import Blinder
from lapwing.collect.clock import Certainty, now
from lapwing.collect.collection import Collection, Transport
from lapwing.collect.drafts import ports_of
from lapwing.collect.forwarder import forward
from lapwing.collect.http import Application
from lapwing.collect.ingestor import Ingestor
from lapwing.collect.intake import Intake
from lapwing.collect.issuer import Issuer
from lapwing.collect.keys import Key
from lapwing.collect.participant import Participant
from lapwing.collect.relay import Relay
from lapwing.collect.sealer import Folders, Sealer
from lapwing.collect.sealing import envelope_bytes, seal
from lapwing.collect.segments import SealedSegment
from lapwing.collect.serving import server
from lapwing.collect.shuffler import Shuffler
from lapwing.collect.shuffling import ShufflingServer
from lapwing.collect.thresholder import Thresholder
from lapwing.collect.workspace import Workspace

DAY = date(2026, 11, 16)
NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
CROWD: Mapping[str, Any] = {"from": "report", "threshold": 3, "mean_drop": 4, "sigma": 1, "delta": "0.001"}
"""Far too small for real people."""
OPEN_DOOR: Mapping[str, Any] = {
    **CROWD,
    "from": "attribute",
    "values": ["north"],
    "threshold": 1,
    "mean_drop": 1,
    "sigma": "0.25",
}
"""All are in one crowd, which loses one report, hardly ever two, and three with a probability of e^-32."""
SHUFFLERS = {"direct": (), "shuffled": ("shuffler",), "blinded": ("blinder", "thresholder")}
FRAGMENTS: Mapping[str, Mapping[str, Any]] = {
    "report": {"fragments": {"by": "report", "count": 3}, "limits": {"reports_per_day": 1, "lifetime_epsilon": 24}},
    "attribute": {"fragments": {"by": "attribute"}, "crowd": {**CROWD, "from": "position"}},
}
"""What a file has with fragments."""
LATE = NOON.replace(hour=23, minute=59, second=59, microsecond=999_000)
PATIENCE = 60.0
"""Seconds that anything may take."""
POLL: Mapping[str, Any] = {"protocol": "UnaryEncoding", "epsilon": 1, "domain": ["bus", "bike", "car"]}


def text(data: bytes) -> str:
    return b64encode(data).decode()


_SHUFFLERS = ("shuffler", "shuffler2", "shuffler3", "blinder", "thresholder")


def awaited(condition: Callable[[], bool]) -> None:
    """Until it holds; what never holds is wrong."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@dataclass
class Keys:
    """The secrets of all parties, which no real machine has together."""

    operator: Key = field(default_factory=lambda: Key.random("ed25519"))
    ingestor: Key = field(default_factory=lambda: Key.random("ed25519"))
    aggregator: Key = field(default_factory=lambda: Key.random("ed25519"))
    tokens: Key = field(default_factory=lambda: Key.random("ristretto255"))
    reports: Key = field(default_factory=lambda: Key.random("x25519"))
    gateway: Key = field(default_factory=lambda: Key.random("x25519"))
    crowds: Key = field(default_factory=lambda: Key.random("ristretto255"))
    strings: Key = field(default_factory=lambda: Key.random("ristretto255"))
    hops: dict[str, Key] = field(default_factory=lambda: {name: Key.random("x25519") for name in _SHUFFLERS})
    signing: dict[str, Key] = field(default_factory=lambda: {name: Key.random("ed25519") for name in _SHUFFLERS})


def document(keys: Keys, ports: Mapping[str, int] | None = None, *, days: int = 45, **changes: Any) -> dict[str, Any]:
    """The file of a small collection, with `shufflers` where there are several.

    Its epoch lasts so many days: a device asks for tokens for all of them.
    """
    shufflers = changes.pop("shufflers", SHUFFLERS[changes.get("transport", "direct")])
    ports = ports or {"issuer": 9001, "ingestor": 9002, "aggregator": 9003, "analyzer": 9004} | {
        name: 9010 + place for place, name in enumerate(shufflers)
    }
    signing = {"ingestor": keys.ingestor, "aggregator": keys.aggregator, **keys.signing}
    servers = {
        party: {"address": f"http://127.0.0.1:{port}"}
        | ({"key": text(signing[party].public)} if party in signing else {})
        for party, port in ports.items()
    }
    epoch = {
        "number": 1,
        "from": DAY.isoformat(),
        "until": (DAY + timedelta(days=days - 1)).isoformat(),
        "report_key": text(keys.reports.public),
        "token_key": text(keys.tokens.public),
        "gateway_key": text(keys.gateway.public),
    }
    epoch |= {f"{name}_key": text(keys.hops[name].public) for name in shufflers}
    epoch |= {"crowd_key": text(keys.crowds.public)} if "thresholder" in shufflers else {}
    oblivious = changes.get("protocol", {}).get("randomness") == "issuer"
    epoch |= {"string_key": text(keys.strings.public)} if oblivious else {}
    return {
        "format": "lapwing collection 1",
        "name": "commute",
        "version": 1,
        "question": "How do you travel to work?",
        "consent": "Your answer is randomised on this device before it is sent.",
        "protocol": dict(POLL),
        "accounting": "lifetime",
        "limits": {"reports_per_day": 1, "lifetime_epsilon": 8},
        "transport": "direct",
        "admission": "open",
        "publishing": {"smallest_batch": 10, "every_hours": 24},
        "opens": DAY.isoformat(),
        "closes": (DAY + timedelta(days=60)).isoformat(),
        "servers": servers,
        "epochs": [epoch],
        **({"crowd": dict(CROWD)} if shufflers else {}),
    } | changes


@dataclass
class Parties:
    """Every party of a collection, and the folder that each has for itself."""

    collection: Collection
    keys: Keys
    folder: Path
    clock: list[datetime]
    issuer: Issuer
    ingestor: Ingestor
    sealer: Sealer
    aggregator: Aggregator
    analyzer: Analyzer
    shufflers: dict[str, ShufflingServer] = field(default_factory=dict)

    def tell(self) -> None:
        """What an ingestor does every second: add what it refused to the totals."""
        in_a_loop(self.ingestor._tell())

    def settle(self) -> int:
        """Everything that was acknowledged is sealed, forwarded, opened and, if there is enough, published."""
        self.tell()
        self.ingestor.intake.rotate(now=True)
        self.sealer.seal()
        forward(self.sealer, self.keys.ingestor)
        for shuffler in self.shufflers.values():
            shuffler.work()
            shuffler.pass_on()
        counted = self.aggregator.work()
        self.aggregator.close_batch()
        self.aggregator.count_closed()
        self.aggregator.pass_on()
        return counted


def publish(parties: Parties, batches: int, people: int = 40) -> None:
    """Batches of so many people each, as the analyzer would get them."""
    protocol, answers = parties.collection.protocol, ["bus", "bike", "bike", "car"]
    for number in range(1, batches + 1):
        counts = protocol.absorb(None, protocol.randomize([answers[one % 4] for one in range(people)]))
        batch = Batch(parties.collection.digest, number, parties.clock[0].date(), {"counted": people * number}, counts)
        (parties.analyzer.folder / f"{number:08d}.batch").write_bytes(batch.to_bytes())


@contextmanager
def listening(app: Application, listener: socket.socket) -> Iterator[None]:
    """A real server for an application."""
    uvicorn = server(app)
    thread = threading.Thread(target=uvicorn.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        uvicorn.should_exit = True
        thread.join(timeout=20)
        listener.close()


@contextmanager
def working(folder: Path, *, school: str = "", **changes: Any) -> Iterator[Parties]:
    """All parties of an operator's folder, as `lapwing collect` makes it, today, on ports that the system chose.

    With `school`, people sign in there, and the school is the issuer; the issuer of these parties admits nobody.
    """
    shuffling = SHUFFLERS[changes.get("transport", "direct")]
    names = ("issuer", "ingestor", *shuffling, "aggregator", "analyzer")
    listeners = {name: socket.create_server(("127.0.0.1", 0)) for name in names}
    servers = {name: {"address": f"http://127.0.0.1:{line.getsockname()[1]}"} for name, line in listeners.items()}
    usual = {"question": "How do you travel to work?", "answers": ["bus", "bike", "car"], "servers": servers}
    if school:
        servers["issuer"] = {"address": f"{school}/take-part/{folder.name}"}
        changes["admission"] = "sign-in"
    workspace = Workspace(folder)
    workspace.create(**{**usual, "publishing": {"smallest_batch": 20, "every_hours": 1}, **changes})
    collection = workspace.open()
    keys = Keys(
        ingestor=workspace.signing_key("ingestor"),
        aggregator=workspace.signing_key("aggregator"),
        tokens=workspace.keys("issuer", "token")[1],
        reports=workspace.keys("aggregator", "report")[1],
    )
    parties = Parties(
        collection,
        keys,
        folder,
        [now()],
        workspace.issuer((lambda _: None) if school else None),
        workspace.ingestor(),
        workspace.sealer(),
        workspace.aggregator(),
        workspace.analyzer(),
        {name: workspace.shuffler(name) for name in shuffling},
    )
    parties.aggregator.clock = lambda: parties.clock[0]
    with ExitStack() as stack:
        for name in names:
            party: Any = parties.shufflers.get(name) or getattr(parties, name)
            stack.enter_context(listening(party.app(), listeners[name]))
        yield parties


@contextmanager
def running(folder: Path, *, relay: bool = False, **changes: Any) -> Iterator[Parties]:
    """All parties, on ports that the system chose."""
    keys = Keys()
    shuffling = changes.get("shufflers", SHUFFLERS[changes.get("transport", "direct")])
    names = ["issuer", "ingestor", "aggregator", "analyzer", *(["relay"] if relay else []), *shuffling]
    listeners = {name: socket.create_server(("127.0.0.1", 0)) for name in names}
    ports = {name: listener.getsockname()[1] for name, listener in listeners.items()}
    collection = reader.sign(reader.checked(document(keys, ports, **changes)), keys.operator)
    clock = [NOON]
    folders = Folders(folder / "ingestor")
    folders.create()
    intake = Intake(folders.open, collection.digest, envelope_bytes(collection), spare_disk=0)
    parties = Parties(
        collection,
        keys,
        folder,
        clock,
        Issuer(
            collection,
            folder / "issuer",
            {1: keys.tokens.secret},
            string_keys={1: keys.strings.secret},
            day=lambda: clock[0].date(),
            sure=Certainty(0),
        ),
        Ingestor(
            collection,
            folder / "ingestor",
            {1: keys.tokens.secret},
            gateway_keys={1: keys.gateway},
            day=lambda: clock[0].date(),
            sure=Certainty(0),
            intake=intake,
        ),
        Sealer(collection, folder / "ingestor", sure=Certainty(0)),
        Aggregator(
            collection,
            folder / "aggregator",
            {1: keys.reports},
            keys.aggregator,
            clock=lambda: clock[0],
            sure=Certainty(0),
        ),
        Analyzer(collection, folder / "analyzer"),
        {name: shuffler_of(collection, folder, keys, name) for name in shuffling},
    )
    apps = {
        "issuer": parties.issuer.app(),
        "ingestor": parties.ingestor.app(),
        "aggregator": parties.aggregator.app(),
        "analyzer": parties.analyzer.app(),
        "relay": Relay(collection).app(),
        **{name: shuffler.app() for name, shuffler in parties.shufflers.items()},
    }
    with ExitStack() as stack:
        for name in names:
            stack.enter_context(listening(apps[name], listeners[name]))
        yield parties


def shuffler_of(collection: Collection, folder: Path, keys: Keys, party: str, **named: Any) -> ShufflingServer:
    """One of the shufflers, in the folder that it has for itself."""
    arguments = (collection, folder / party, {1: keys.hops[party]}, keys.signing[party])
    named = {"sure": Certainty(0), **named}
    if party == "thresholder":
        return Thresholder(*arguments, {1: keys.crowds}, processes=1, **named)
    if party == "blinder":
        return Blinder(*arguments, processes=1, **named)
    return Shuffler(*arguments, party=party, processes=1, **named)


def some_tokens(parties: Parties, count: int) -> list[tokens.Token]:
    """As the issuer gives them."""
    request = tokens.request(1, count)
    return request.tokens(parties.keys.tokens.public, tokens.issue(parties.keys.tokens.secret, request.to_bytes()))


def fresh(parties: Parties, answer: str = "bus") -> bytes:
    """An envelope of a new device."""
    [token] = some_tokens(parties, 1)
    report = parties.collection.protocol.randomize([answer]).to_bytes()
    return tokens.tagged(token, parties.collection, seal(parties.collection, 1, report)).to_bytes()


def post(parties: Parties, body: bytes, path: str = "/reports") -> hops.Reply:
    """To the ingestor."""
    return hops.post(parties.collection.servers["ingestor"].address + path, body)


def segment(parties: Parties, answers: list[str]) -> SealedSegment:
    """A sealed segment with one report for each answer."""
    reports = [parties.collection.protocol.randomize([answer]).to_bytes() for answer in answers]
    rows = b"".join(seal(parties.collection, 1, report) for report in reports)
    return SealedSegment(parties.collection.digest, 1, np.frombuffer(rows, dtype=np.uint8).reshape(len(reports), -1))


def handed_in(parties: Parties, data: bytes) -> None:
    """To the aggregator, by the ingestor."""
    hops.deliver(parties.collection, "aggregator", "/segments", data, parties.keys.ingestor)


def free_addresses(parties: Iterable[str]) -> dict[str, dict[str, str]]:
    """Where nobody listens now, for each party."""
    lines = {party: socket.create_server(("127.0.0.1", 0)) for party in parties}
    addresses = {party: {"address": f"http://127.0.0.1:{line.getsockname()[1]}"} for party, line in lines.items()}
    for line in lines.values():
        line.close()
    return addresses


def workspace_with_ports(folder: Path, reports: int, transport: Transport = "direct", **changes: Any) -> Workspace:
    """A signed collection on ports that are free now."""
    workspace, servers = Workspace(folder), free_addresses(ports_of(transport))
    publishing = {"smallest_batch": reports, "every_hours": 1}
    usual = {"question": "How?", "answers": ["bus", "bike"], "servers": servers, "publishing": publishing}
    workspace.create(**{**usual, "transport": transport, **changes})
    workspace.open()
    return workspace


def envelopes(workspace: Workspace, count: int, crowd: bytes | None = None) -> list[bytes]:
    """Of devices that have their tokens already, all of one crowd if it is named."""
    collection, key = workspace.collection(), workspace.keys("issuer", "token")[1]
    made: list[tokens.Token] = []
    while len(made) < count:
        request = tokens.request(1, min(count - len(made), 500))
        made += request.tokens(key.public, tokens.issue(key.secret, request.to_bytes()))
    reports = [collection.protocol.randomize(["bus"]).to_bytes() for _ in range(count)]
    return [
        tokens.tagged(token, collection, seal(collection, 1, report, crowd=crowd)).to_bytes()
        for token, report in zip(made, reports, strict=True)
    ]


def devices(parties: Parties, folder: Path, answers: Sequence[Any], **named: Any) -> list[Participant]:
    """One for each answer, or for none."""
    people = [
        Participant(folder / f"device{i}", clock=lambda: parties.clock[0].timestamp()) for i in range(len(answers))
    ]
    for person, answer in zip(people, answers, strict=True):
        person.opt_in(parties.collection, **named)
        if answer is not None:
            person.record(answer)
    return people
