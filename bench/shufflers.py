"""What a report costs on its way through two blinded shufflers: processor time of every party, one after another.

    device        randomise one answer; three layers of HPKE, El Gamal
    blinder       open its layer, look for duplicates, blind, permute, write
    thresholder   open its layer, decrypt pseudonyms, count, threshold, permute, write
    aggregator    open, look for duplicates, count

Without tokens and HTTP, which cost the same in every transport (`--only million`). The time of a million devices is
extrapolated: all of it grows with the number of reports.

No program can do it for less than its multiplications: blinding takes two in ristretto255, a layer one in X25519, and a
whole report four (device, blinder twice, thresholder), one of the generator, one hash to the group, and nine in X25519
(two for each layer at the device, one where it is opened). They are measured as the libraries below do them, in turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.rates import Rate

PEOPLE = 10_000
LEAST_BLINDED, LEAST_OPENED = 7_000, 12_000
SHARE_BLINDED, SHARE_OPENED = 0.9, 0.5
"""Of what the multiplications alone would allow."""
MOST_MINUTES = 15.0
"""Of processor time, for a million devices."""
TURNS = 3


def run(folder: Path, people: int = PEOPLE) -> tuple[list[Rate], float]:
    """Rates a second of one core, and minutes of processor time for a million devices."""
    import numpy as np

    from lapwing.collect import blinding, oprf
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
    key, some = blinder.keys[1], rows[:5_000]
    public = oprf.public_key(oprf.random_scalar())
    pairs = b"".join(blinding.encrypted(public, b"crowd") for _ in range(2_000))
    turns = [_turn(key, collection.digest, some, pairs) for _ in range(TURNS)]
    blinded, opened, product, exchange = (min(times) for times in zip(*turns, strict=True))
    rates = [
        Rate("crowds blinded", 1 / blinded, LEAST_BLINDED, 1 / (2 * product), SHARE_BLINDED),
        Rate("layers opened", 1 / opened, LEAST_OPENED, 1 / exchange, SHARE_OPENED),
        *(Rate(f"blinded transport: {name}", people / spent, None) for name, spent in seconds.items()),
    ]
    minutes = sum(seconds.values()) / people * 1_000_000 / 60
    least = (4 * product + _fixed_base() + 9 * exchange) * 1_000_000 / 60
    print(f"multiplications alone: {least:.1f} minutes of a core for a million devices, {least / minutes:.2f} of all")
    return rates, minutes


def _turn(key: Any, digest: bytes, rows: Any, pairs: bytes) -> tuple[float, float, float, float]:
    """Seconds for a crowd, a layer, a multiplication in ristretto255 and one in X25519, one after another."""
    from ctypes import create_string_buffer

    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    from lapwing import ristretto
    from lapwing.collect import blinding, oprf
    from lapwing.collect.opening import opened_rows

    alpha, number = oprf.random_scalar(), len(pairs) // blinding.PAIR_BYTES
    multiply, element, result = (
        ristretto._library().crypto_scalarmult_ristretto255,
        pairs[:32],
        create_string_buffer(32),
    )
    private, public = X25519PrivateKey.generate(), X25519PrivateKey.generate().public_key()
    blinded = _timed(lambda: blinding.blinded(pairs, alpha))[0]
    opened = _timed(lambda: opened_rows(key, digest, 1, rows, party="blinder", processes=1))[0]
    product = _timed(lambda: [multiply(result, alpha, element) for _ in range(number)])[0]
    exchange = _timed(lambda: [private.exchange(public) for _ in range(number)])[0]
    return blinded / number, opened / len(rows), product / number, exchange / number


def _fixed_base(number: int = 500) -> float:
    """Seconds for a multiple of the generator and a hash to the group."""
    from lapwing import ristretto

    scalar, wide = b"\1" * 32, b"\1" * 64
    both = _timed(lambda: [(ristretto.base_times(scalar), ristretto.from_hash(wide)) for _ in range(number)])[0]
    return both / number


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result
