"""What a report costs on its way through two blinded shufflers: processor time of every party, one after another.

    device        randomise one answer; three layers of HPKE, El Gamal
    blinder       open its layer, look for duplicates, blind, permute, write
    thresholder   open its layer, decrypt pseudonyms, count, threshold, permute, write
    aggregator    open, look for duplicates, count

Without tokens and HTTP, which cost the same in every transport (`--only million`). The time of a million devices is
extrapolated: all of it grows with the number of reports.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.rates import Rate

PEOPLE = 10_000
LEAST_BLINDED, LEAST_OPENED = 7_000, 12_000
MOST_MINUTES = 15.0
"""Of processor time, for a million devices."""


def run(folder: Path, people: int = PEOPLE) -> tuple[list[Rate], float]:
    """Rates a second of one core, and minutes of processor time for a million devices."""
    import numpy as np

    from lapwing.collect import blinding, oprf
    from lapwing.collect.opening import opened_rows
    from lapwing.collect.sealing import seal
    from lapwing.collect.segments import SealedSegment
    from lapwing.collect.workspace import Workspace

    workspace = Workspace(folder)
    publishing = {"smallest_batch": people, "every_hours": 1}
    workspace.create(question="How?", answers=["bus", "bike", "car"], transport="blinded", publishing=publishing)
    collection = workspace.open()
    blinder, thresholder, aggregator = (
        workspace.shuffler("blinder"),
        workspace.shuffler("thresholder"),
        workspace.aggregator(),
    )
    for party in (blinder, thresholder, aggregator):
        party._processes = 1

    def randomised() -> list[bytes]:
        return [collection.local.randomize(["bus"]).to_bytes() for _ in range(people)]

    def sealed_layers(reports: list[bytes]) -> bytes:
        return b"".join(seal(collection, 1, report) for report in reports)

    def moved(sender: Any, receiver: Any) -> None:
        [path] = sender.outgoing.glob("*.sealed")
        assert receiver._stored(path.read_bytes()).status == 201

    randomising, reports = _timed(randomised)
    sealing, sealed = _timed(lambda: sealed_layers(reports))
    rows = np.frombuffer(sealed, dtype=np.uint8).reshape(people, -1)
    assert blinder._stored(SealedSegment(collection.digest, 1, rows).to_bytes()).status == 201
    seconds = {"device randomises": randomising, "device seals": sealing, "blinder": _timed(blinder.work)[0]}
    moved(blinder, thresholder)
    seconds["thresholder"] = _timed(thresholder.work)[0]
    moved(thresholder, aggregator)
    seconds["aggregator"] = _timed(aggregator.work)[0]
    key, pairs = (
        blinder.keys[1],
        [blinding.encrypted(oprf.public_key(oprf.random_scalar()), b"crowd") for _ in range(2_000)],
    )
    alpha, some = oprf.random_scalar(), rows[:5_000]
    opened = _timed(lambda: opened_rows(key, collection.digest, 1, some, party="blinder", processes=1))[0]
    blinded = _timed(lambda: [blinding.blinded(pair, alpha) for pair in pairs])[0]
    rates = [
        Rate("crowds blinded", len(pairs) / blinded, LEAST_BLINDED),
        Rate("layers opened", len(some) / opened, LEAST_OPENED),
        *(Rate(f"blinded transport: {name}", people / spent, None) for name, spent in seconds.items()),
    ]
    return rates, sum(seconds.values()) / people * 1_000_000 / 60


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result
