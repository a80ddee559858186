"""Servers that are killed at any moment: what was acknowledged is counted, and nothing is counted twice.

At which steps a kill can come, one after another: test_steps.py.
"""

from __future__ import annotations

import random
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from collecting import workspace_with_ports
from stepping import forked, served

from lapwing.collect import tokens
from lapwing.collect.collection import ROUTES, Transport
from lapwing.collect.handovers import received_by
from lapwing.collect.sealing import seal
from lapwing.collect.simulation import Lines
from lapwing.collect.workspace import Workspace

PATIENCE = 60.0
SHARE = 20
"""Reports of each round, in which parties are killed."""


class Servers:
    """Every party as a process of its own."""

    def __init__(self, folder: Path, parties: tuple[str, ...]) -> None:
        self._folder, self._processes, self._lines = folder, dict[str, Any](), dict[str, Any]()
        self.kills = dict.fromkeys(parties, 0)
        for party in parties:
            self._start(party)

    def _start(self, party: str) -> None:
        self._processes[party], self._lines[party] = forked(served, str(self._folder), party)

    def ready(self) -> None:
        """Wait until all of them listen."""
        for party, line in self._lines.items():
            assert line.poll(PATIENCE), f"the {party} did not start"
            with suppress(EOFError):
                line.recv()

    def replace(self, party: str) -> None:
        """Kill it and start another one, whatever it is doing."""
        self._end(party)
        self.kills[party] += 1
        self._start(party)

    def _end(self, party: str) -> None:
        self._processes[party].kill()
        self._processes[party].join()
        self._processes[party].close()
        self._lines[party].close()

    def close(self) -> None:
        """End all of them."""
        for party in self._processes:
            self._end(party)


def survives(folder: Path, rounds: int, seed: int, transport: Transport, *, everybody: bool = False) -> None:
    """In each round one party is killed, or everybody; devices get tokens and send reports all the time."""
    reports = SHARE * rounds
    workspace = workspace_with_ports(folder, reports if transport == "direct" else SHARE, transport)
    collection, dice = workspace.collection(), random.Random(seed)
    address = collection.servers["ingestor"].address
    with closing(Lines()) as lines, closing(Servers(folder, ("issuer", *ROUTES[transport], "analyzer"))) as servers:
        servers.ready()
        for _ in range(rounds):
            victims = list(servers.kills)
            dice.shuffle(victims)
            victims = victims if everybody else victims[:1]
            for place, envelope in enumerate(_envelopes(workspace, lines)):
                assert lines.post(address, "/reports", envelope)[0] == 201
                if place % 3 == 2 and victims:
                    time.sleep(dice.random() * 0.1)
                    servers.replace(victims.pop())
                    if dice.random() < 0.3:  # somebody did not hear the answer, and sends again
                        assert lines.post(address, "/reports", envelope)[0] == 201
            assert not victims
        deadline = time.monotonic() + PATIENCE
        while not settled(workspace, transport, reports):
            assert time.monotonic() < deadline, workspace.aggregator().totals()
            time.sleep(0.1)
    assert sum(servers.kills.values()) == rounds * (len(servers.kills) if everybody else 1)
    _check(workspace, transport, reports)


def _envelopes(workspace: Workspace, lines: Lines) -> list[bytes]:
    """Of devices that get their tokens from the issuer, which may be killed meanwhile."""
    collection, request = workspace.collection(), tokens.request(1, SHARE)
    body = (1).to_bytes(4, "little") + request.to_bytes()
    status, answer = lines.post(collection.servers["issuer"].address, "/tokens", body)
    assert status == 200
    reports = [collection.protocol.randomize(["bus"]).to_bytes() for _ in range(SHARE)]
    return [
        tokens.tagged(token, collection, seal(collection, 1, report)).to_bytes()
        for token, report in zip(request.tokens(collection.epochs[0].token_key, answer), reports, strict=True)
    ]


def settled(workspace: Workspace, transport: Transport, reports: int) -> bool:
    """Whether all that was sent has arrived; behind shufflers, whether every batch has: never more than was sent."""
    if transport == "direct":
        return bool(workspace.analyzer().stored())
    taken, waiting = workspace.aggregator().totals().get("before thresholding", 0), _too_few(workspace, transport)
    assert taken <= reports, "something was sent twice"
    return waiting < SHARE and taken + waiting == reports


def _too_few(workspace: Workspace, transport: Transport) -> int:
    """Reports that wait for others at the first shuffler."""
    first = workspace.shuffler(ROUTES[transport][1])
    waiting = 0
    for path in first.incoming.glob("*.sealed"):
        with suppress(FileNotFoundError):  # used up a moment ago
            waiting += received_by(first.collection, first.party, path.read_bytes()).taken
    return waiting


def _check(workspace: Workspace, transport: Transport, reports: int) -> None:
    totals = workspace.aggregator().totals()
    assert totals["duplicate"] == 0
    if transport == "direct":
        assert workspace.analyzer().together().reports == totals["counted"] == reports
        return
    taken = totals["before thresholding"]
    for party in ROUTES[transport][1:-1]:
        shuffler = workspace.shuffler(party).totals()
        assert (shuffler["taken"], shuffler["duplicate"]) == (taken, 0)
    assert totals["counted"] == shuffler["passed on"]
    assert taken + _too_few(workspace, transport) == reports


def test_parties_that_are_killed_lose_and_repeat_nothing(tmp_path: Path) -> None:
    survives(tmp_path / "collection", 3, seed=1, transport="direct")


@pytest.mark.sweep
@pytest.mark.timeout(3600)  # hundreds of starts, where the machine is busy
@pytest.mark.parametrize("rounds", [3, 100])
@pytest.mark.parametrize("transport", ROUTES)
def test_parties_that_are_all_killed_again_and_again_lose_and_repeat_nothing(
    tmp_path: Path, transport: Transport, rounds: int
) -> None:
    survives(tmp_path / "collection", rounds, seed=rounds, transport=transport, everybody=True)
