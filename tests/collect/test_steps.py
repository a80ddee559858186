"""Every party is killed at every step: what was acknowledged is counted once, and nothing is ever sent in two forms."""

from __future__ import annotations

import json
import shutil
import socket
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from broken_parties import BROKEN
from collecting import OPEN_DOOR, envelopes, listening, workspace_with_ports
from stepping import Child, ReadOnce, Station

from lapwing.collect import blinding, hops, tokens
from lapwing.collect.batches import Batch
from lapwing.collect.collection import ROUTES, Transport
from lapwing.collect.handovers import received_by
from lapwing.collect.http import Receive, Scope, Send
from lapwing.collect.issuer import CODE_HEADER
from lapwing.collect.workspace import Workspace

SHARE = 12
"""Reports that come before each of two rounds, in two requests; ten are enough for a batch."""


@dataclass
class Door:
    """Where one party is reached: what it was ever sent is written down, then it gets it."""

    station: Station | None = None
    bodies: set[bytes] = field(default_factory=set)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.startup":
                await receive()
                await send({"type": "lifespan.shutdown.complete"})
            return
        body, more = b"", scope["method"] == "POST"
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return  # whoever sent this was killed while sending it
            body, more = body + message.get("body", b""), message.get("more_body", False)
        if scope["path"] in ("/segments", "/batches"):
            self.bodies.add(body)

        async def again() -> dict[str, object]:
            return {"type": "http.request", "body": body, "more_body": False}

        assert self.station is not None
        await self.station.app(scope, again, send)


@dataclass
class Route:
    """A signed collection, and doors to all of its parties but one, which is a process of its own."""

    workspace: Workspace
    transport: Transport
    party: str
    doors: dict[str, Door]
    shares: Sequence[Sequence[bytes]]

    @property
    def parties(self) -> tuple[str, ...]:
        return *ROUTES[self.transport], "analyzer"


@contextmanager
def route(folder: Path, transport: Transport, party: str) -> Iterator[Route]:
    """Doors stay open for all runs; what is behind them is new in each."""
    crowds = {"crowd": dict(OPEN_DOOR)} if transport != "direct" else {}
    workspace = ReadOnce(workspace_with_ports(folder / "signed", 10, transport, **crowds).folder)
    crowd = b"attribute\nnorth" if crowds else None
    posts = envelopes(workspace, 2 * SHARE, crowd)
    half = SHARE // 2
    joined = [b"".join(posts[start : start + half]) for start in range(0, 2 * SHARE, half)]
    doors = {name: Door() for name in (*ROUTES[transport], "analyzer") if name != party}
    with ExitStack() as stack:
        for name, door in doors.items():
            parts = urlsplit(workspace.collection().servers[name].address)
            listener = socket.create_server((str(parts.hostname), parts.port or 0))
            stack.enter_context(listening(door, listener))
        yield Route(workspace, transport, party, doors, [joined[:2], joined[2:]])


@dataclass
class Run:
    """One collection from the first report to the last batch, in which the party is killed before one step."""

    route: Route
    folder: Path
    fatal: int | None
    broken: str | None = None
    faults: list[str] = field(default_factory=list)
    published: dict[int, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shutil.copytree(self.route.workspace.folder, self.folder)
        self.workspace = ReadOnce(self.folder)
        for name, door in self.route.doors.items():
            door.station, door.bodies = Station(self.workspace, name), set()
        self.child = Child(self.folder, self.route.party, fatal=self.fatal, broken=self.broken)
        try:
            for number in range(5):
                for body in self.route.shares[number] if number < 2 else ():
                    self._send(body)
                self._round(number)
        finally:
            self.child.close()
            for door in self.route.doors.values():
                assert door.station is not None
                door.station.close()
        self._check()

    def _send(self, body: bytes) -> None:
        """As a device does: the same bytes, until somebody says that they are stored."""
        address = self.route.workspace.collection().servers["ingestor"].address + "/reports"
        for _ in range(3):
            try:
                if hops.post(address, body).status == 201:
                    return
            except OSError:
                pass
            self.child.round()
        self.faults.append("reports were not acknowledged")

    def _round(self, number: int) -> None:
        for name in self.route.parties:
            if name == self.route.party:
                self.child.round(number)
            else:
                station = self.route.doors[name].station
                assert station is not None
                self.faults += station.round(number)
                self.child.round()  # it may have been killed by what it was sent
        address = self.route.workspace.collection().servers["analyzer"].address + "/results"
        try:
            batches = json.loads(hops.get(address).body)["batches"]
        except (OSError, KeyError, ValueError):
            self.child.round()
            return
        for batch in batches:
            if self.published.setdefault(batch["batches"][0], batch) != batch:
                self.faults.append("what was published has changed")

    def _check(self) -> None:
        self.faults += self.child.failed
        self._check_totals()
        for name, door in self.route.doors.items():
            self._check_forms(name, door.bodies)
        left = [path for kind in ("open", "sealed", "part", "new") for path in self.folder.rglob(f"*.{kind}")]
        left += [path for path in self.folder.rglob("*.key") if path.parent.name == "open"]
        self.faults += [f"left behind: {path.relative_to(self.folder).parts[0]} {path.suffix}" for path in left]

    def _expect(self, what: str, value: object, expected: object) -> None:
        if value != expected:
            self.faults.append(f"{what}: {value}, not {expected}")

    def _check_totals(self) -> None:
        acknowledged, hops_between = 2 * SHARE, ROUTES[self.route.transport][1:-1]
        totals = self.workspace.aggregator().totals()
        passed_on = acknowledged
        for name in hops_between:
            shuffler = self.workspace.shuffler(name).totals()
            self._expect(f"taken by the {name}", shuffler["taken"], acknowledged)
            self._expect(f"duplicates at the {name}", shuffler["duplicate"], 0)
            passed_on = shuffler["passed on"]
        self._expect("counted", totals.get("counted"), passed_on)
        self._expect("duplicates at the aggregator", totals.get("duplicate"), 0)
        if hops_between:
            self._expect("before thresholding", totals.get("before thresholding"), acknowledged)
        self._expect("sealed", self.workspace.sealer().totals().get("sealed"), acknowledged)
        try:
            batches = self.workspace.analyzer().stored()
        except Exception as error:
            self.faults.append(f"nothing can be published: {type(error).__name__}")
            return
        self._expect("published", sum(batch.counts.n for batch in batches), passed_on)
        self._expect("published before they were ready", len(batches), len(self.published))
        removed = sum(batch.taken - batch.counts.n for batch in batches if batch.taken is not None)
        self._expect("removed by thresholds", removed, acknowledged - passed_on)

    def _check_forms(self, receiver: str, bodies: set[bytes]) -> None:
        """No row, and no number of a batch, was sent in two bodies."""
        collection, forms = self.workspace.collection(), defaultdict[object, int](int)
        for body in bodies:
            if receiver == "analyzer":
                forms[Batch.from_bytes(collection, body).number] += 1
                continue
            start = blinding.PAIR_BYTES if receiver == "thresholder" else 0  # before that, the blinder's own draw
            for row in received_by(collection, receiver, body).segment.reports:
                forms[row[start:].tobytes()] += 1
        if any(times > 1 for times in forms.values()):
            self.faults.append(f"the {receiver} was sent something in two forms")


def kills(route: Route, folder: Path, first: int = 1, stride: int = 1, broken: str | None = None) -> Iterator[Run]:
    """A run for each step, until one ends before its step has come."""
    for fatal in count(first, stride):
        run = Run(route, folder / str(fatal), fatal, broken)
        shutil.rmtree(run.folder)
        yield run
        if not run.child.killed:
            return


WAYS: list[tuple[Transport, str]] = [
    (transport, party) for transport in ROUTES for party in (*ROUTES[transport], "analyzer")
]


@pytest.mark.sweep
@pytest.mark.timeout(3600)  # about a hundred collections, where the machine is busy
@pytest.mark.parametrize(("transport", "party"), WAYS)
def test_a_party_that_is_killed_at_any_step_loses_and_repeats_nothing(
    tmp_path: Path, transport: Transport, party: str
) -> None:
    with route(tmp_path, transport, party) as way:
        runs = {run.fatal: run.faults for run in kills(way, tmp_path)}
    assert len(runs) > 20, "steps were not seen"
    assert {fatal: faults for fatal, faults in runs.items() if faults} == {}


def test_a_shuffler_that_is_killed_at_some_steps_loses_and_repeats_nothing(tmp_path: Path) -> None:
    """Some of all steps: the sweep above has every one."""
    with route(tmp_path, "shuffled", "shuffler") as way:
        runs = {run.fatal: run.faults for run in kills(way, tmp_path, first=4, stride=17)}
    assert len(runs) > 3, "steps were not seen"
    assert {fatal: faults for fatal, faults in runs.items() if faults} == {}


MISTAKES: list[tuple[str, Transport, str, str]] = [
    ("output_drawn_again", "shuffled", "shuffler", "two forms"),
    ("output_drawn_again", "blinded", "blinder", "two forms"),
    ("output_known_before_it_is_durable", "blinded", "thresholder", "counted"),
    ("inputs_removed_before_the_commit", "blinded", "blinder", "taken by"),
    ("inputs_removed_before_the_commit", "direct", "aggregator", "counted"),
    ("acknowledged_before_it_is_written", "direct", "ingestor", "sealed"),
    ("removed_before_it_arrived", "direct", "ingestor", "counted"),
    ("counted_again_for_every_try", "direct", "aggregator", "two forms"),
    # A torn batch is set aside and sent again, so all that is left of this mistake is that it is published late.
    ("batch_written_in_place", "direct", "analyzer", "published before they were ready"),
]


@pytest.mark.sweep
@pytest.mark.timeout(3600)  # about a hundred collections, where the machine is busy
@pytest.mark.parametrize(("mistake", "transport", "party", "fault"), MISTAKES)
def test_a_party_with_a_mistake_is_found_out(
    tmp_path: Path, mistake: str, transport: Transport, party: str, fault: str
) -> None:
    with route(tmp_path, transport, party) as way:
        runs = kills(way, tmp_path, first=4, broken=mistake)
        assert any(fault in text for run in runs if run.child.killed for text in run.faults)


# ---------------------------------------------------------------- the issuer


def issued(folder: Path, fatal: int | None, broken: str | None = None) -> tuple[Child, list[str]]:
    """Two people ask for all their tokens, each in two requests; what is wrong then."""
    workspace = ReadOnce(workspace_with_ports(folder, 10, admission="codes").folder)
    collection, faults = workspace.collection(), list[str]()
    codes, most = workspace.issuer().new_codes(2), collection.tokens_each(collection.epochs[0])
    child = Child(folder, "issuer", fatal=fatal, broken=broken)
    try:
        for code in codes:
            for size in (most - 1, 1):
                request = tokens.request(1, size)
                reply = _asked(child, workspace, request, code)
                if reply.status != 200:
                    faults.append(f"tokens that somebody may have were refused: {reply.status}")
                else:
                    assert len(request.tokens(collection.epochs[0].token_key, reply.body)) == size
            if _asked(child, workspace, tokens.request(1, 1), code).status != 429:
                faults.append("somebody got more tokens than others")
    finally:
        child.close()
    if workspace.issuer().issued() != 2 * most:
        faults.append("the tokens that were issued were not counted")
    return child, faults + child.failed


def _asked(child: Child, workspace: Workspace, request: tokens.Request, code: str) -> hops.Reply:
    address = workspace.collection().servers["issuer"].address + "/tokens"
    body = request.epoch.to_bytes(4, "little") + request.to_bytes()
    while True:
        try:
            return hops.post(address, body, {CODE_HEADER.decode(): code})
        except OSError:
            child.round()


@pytest.mark.sweep
@pytest.mark.timeout(3600)  # about a hundred collections, where the machine is busy
@pytest.mark.parametrize("mistake", [None, "every_request_is_counted"])
def test_an_issuer_that_is_killed_at_any_step_gives_everybody_their_tokens_once(
    tmp_path: Path, mistake: str | None
) -> None:
    found = list[str]()
    for fatal in count(1):
        child, faults = issued(tmp_path / str(fatal), fatal, mistake)
        found += faults
        if not child.killed:
            break
    assert fatal > 10
    assert bool(found) == (mistake is not None), found


def test_every_mistake_is_one_that_a_test_looks_for() -> None:
    assert {name for name, *_ in MISTAKES} | {"every_request_is_counted"} == BROKEN.keys()
