"""Servers that are killed at any moment: what was acknowledged is counted, and nothing is counted twice."""

from __future__ import annotations

import random
import time
from contextlib import closing
from pathlib import Path

import pytest
from collecting import envelopes, workspace_with_ports

from lapwing.collect.collection import ROUTES, Transport
from lapwing.collect.handovers import received_by
from lapwing.collect.simulation import Lines
from lapwing.collect.workspace import Workspace
from lapwing.processes import Crew

PATIENCE = 60.0


def survives(folder: Path, kills: int, seed: int, transport: Transport = "direct") -> None:
    reports = 20 * kills
    workspace = workspace_with_ports(folder, reports if transport == "direct" else 20, transport)
    collection, dice, parties = workspace.collection(), random.Random(seed), (*ROUTES[transport], "analyzer")
    waiting = envelopes(workspace, reports)
    with closing(Crew("lapwing.collect.child:party")) as crew, closing(Lines()) as lines:

        def start(party: str) -> None:
            crew.start(party, {"folder": str(folder), "party": party, "seal_after": 0.2})
            crew.fact(party, "address", time.monotonic() + PATIENCE)

        for party in parties:
            start(party)
        killed = 0
        for place, envelope in enumerate(waiting):
            status, _ = lines.post(collection.servers["ingestor"].address, "/reports", envelope)
            assert status == 201
            if place % 20 == 19 and killed < kills:
                time.sleep(dice.random() * 0.3)
                party = dice.choice(parties)
                crew.processes[party].kill()
                crew.processes[party].wait()
                killed += 1
                if dice.random() < 0.3:  # somebody did not hear the answer, and sends again
                    start(party)
                    lines.post(collection.servers["ingestor"].address, "/reports", envelope)
                else:
                    start(party)
        deadline = time.monotonic() + PATIENCE
        while not settled(workspace, transport, reports):
            assert time.monotonic() < deadline, workspace.aggregator().totals()
            time.sleep(0.1)
    assert killed == kills
    if transport != "direct":
        return
    assert workspace.analyzer().together().reports == reports
    assert workspace.aggregator().totals()["counted"] == reports


def settled(workspace: Workspace, transport: Transport, reports: int) -> bool:
    """Whether all that was sent has arrived; behind shufflers, whether every batch has: never more than was sent."""
    if transport == "direct":
        return bool(workspace.analyzer().stored())
    taken = workspace.aggregator().totals().get("before thresholding", 0)
    assert taken <= reports, "something was sent twice"
    blinder = workspace.shuffler("blinder")
    waiting = [
        received_by(blinder.collection, "blinder", path.read_bytes()) for path in blinder.incoming.glob("*.sealed")
    ]
    return taken + sum(item.taken for item in waiting) == reports  # too few for a batch wait for others


@pytest.mark.sweep
@pytest.mark.parametrize("kills", [5, 100])
def test_shufflers_that_are_killed_lose_and_repeat_nothing(tmp_path: Path, kills: int) -> None:
    survives(tmp_path / "collection", kills, seed=3, transport="blinded")


def test_parties_that_are_killed_lose_and_repeat_nothing(tmp_path: Path) -> None:
    survives(tmp_path / "collection", kills=3, seed=1)


@pytest.mark.sweep
def test_parties_that_are_killed_a_hundred_times_lose_and_repeat_nothing(tmp_path: Path) -> None:
    survives(tmp_path / "collection", kills=100, seed=2)
