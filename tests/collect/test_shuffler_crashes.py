"""A shuffler that is killed at any moment: nothing that it took is lost, sent twice, or sent in two orders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from collecting import Keys, document, shuffler_of
from crashes import Recorder, State, states, watch

from lapwing.collect import blinding, hops, oblivious, reader
from lapwing.collect.handovers import received_by
from lapwing.collect.sealing import seal
from lapwing.collect.segments import SealedSegment, sealed_name
from lapwing.collect.shuffling import ShufflingServer

KEYS = Keys()
FILE = document(KEYS, transport="blinded", admission="nobody-asked", publishing={"smallest_batch": 4, "every_hours": 1})
COLLECTION = reader.sign(reader.checked(FILE), KEYS.operator)
TAKEN, HANDED_OVER = b"taken", b"handed over"


@cache
def segment(number: int) -> bytes:
    import numpy as np

    reports = [COLLECTION.protocol.randomize(["bus"]).to_bytes() for _ in range(5)]
    data = b"".join(seal(COLLECTION, 1, report) for report in reports)
    return SealedSegment(COLLECTION.digest, 1, np.frombuffer(data, dtype=np.uint8).reshape(5, -1)).to_bytes()


def payloads(output: bytes) -> set[bytes]:
    """What the blinder cannot change: the layer of the thresholder."""
    rows = received_by(COLLECTION, "thresholder", output).segment.reports
    return {row[blinding.PAIR_BYTES :].tobytes() for row in rows}


def mixed(folder: Path, patch: pytest.MonkeyPatch, step: Callable[[ShufflingServer], None]) -> Recorder:
    """Three segments in two rounds, through one blinder."""
    folder.mkdir(parents=True)

    def hand_over(collection: Any, party: str, body: bytes, name: str, key: Any) -> None:
        recorder.promise(HANDED_OVER + body)

    with Recorder(folder).recording(patch) as recorder, patch.context() as during:
        during.setattr(hops, "hand_over", hand_over)
        blinder = shuffler_of(COLLECTION, folder, KEYS, "blinder")
        watch(blinder, recorder)
        for numbers in ((1, 2), (3, 1)):  # one of them comes again
            for number in numbers:
                assert blinder._stored(segment(number)).status == 201
                recorder.promise(TAKEN + segment(number))
            step(blinder)
    return recorder


def usual(blinder: ShufflingServer) -> None:
    blinder.work()
    blinder.pass_on()


def obliviously(blinder: ShufflingServer) -> None:
    blinder.oblivious = True
    usual(blinder)


def wrong(recorder: Recorder, folder: Path, count: int, seed: int = 1, after: str | None = None) -> int:
    """In how many states something is lost, or is in two outputs."""
    return sum(bool(_wrong(state, folder)) for state in states(recorder.calls, count, seed, after=after))


def _wrong(state: State, folder: Path) -> bool:
    if "blinder/facts.db" not in state.files:
        return bool(state.promised)
    state.lay_out(folder)
    blinder = shuffler_of(COLLECTION, folder, KEYS, "blinder")
    blinder.work()
    outputs = {data.removeprefix(HANDED_OVER) for data in state.promised if data.startswith(HANDED_OVER)}
    outputs |= set(_waiting(blinder))
    took = {data.removeprefix(TAKEN) for data in state.promised if data.startswith(TAKEN)}
    sent = Counter(payload for output in outputs for payload in payloads(output))
    owed = {payload for data in took for payload in _inside(data)}
    return bool(owed - sent.keys()) or any(times > 1 for times in sent.values())


def _waiting(blinder: ShufflingServer) -> Iterator[bytes]:
    for name in blinder._waiting():
        data = (blinder.outgoing / f"{name}.sealed").read_bytes()
        assert sealed_name(data) == name
        yield data


@cache
def _inside(data: bytes) -> frozenset[bytes]:
    from lapwing.collect.sealing import ID_BYTES, layer_info, opened_by

    info, plains = layer_info("blinder", COLLECTION.digest, 1), set()
    for row in SealedSegment.from_bytes(COLLECTION.digest, data).reports:
        plain = opened_by(KEYS.hops["blinder"].private, row.tobytes(), info)
        assert plain is not None
        plains.add(plain[ID_BYTES + blinding.PAIR_BYTES :])
    return frozenset(plains)


def test_no_crash_of_a_shuffler_loses_or_repeats_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert wrong(mixed(tmp_path / "a", monkeypatch, usual), tmp_path / "b", 40) == 0


def test_no_crash_of_an_oblivious_shuffler_loses_or_repeats_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert wrong(mixed(tmp_path / "a", monkeypatch, obliviously), tmp_path / "b", 30) == 0


def test_an_output_whose_name_is_not_synced_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oblivious, "sync_folder", lambda folder: None)
    recorder = mixed(tmp_path / "a", monkeypatch, obliviously)
    with pytest.raises(FileNotFoundError):  # it was committed, and is gone
        wrong(recorder, tmp_path / "b", 40, after="database")


@pytest.mark.sweep
@pytest.mark.timeout(3600)  # many crashes, where the machine is busy
def test_no_crash_of_many_of_a_shuffler_loses_or_repeats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert wrong(mixed(tmp_path / "a", monkeypatch, usual), tmp_path / "b", 10_000, seed=2) == 0


def test_sending_before_the_commit_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crash between the two would send the same reports again, in another order."""
    real = ShufflingServer._commit

    def commit(self: ShufflingServer, paths: Any, output: str, *rest: Any) -> None:
        data = (self.outgoing / f"{output}.sealed").read_bytes()
        hops.hand_over(self.collection, "thresholder", data, output, self.signing_key)
        real(self, paths, output, *rest)

    with monkeypatch.context() as during:
        during.setattr(ShufflingServer, "_commit", commit)
        recorder = mixed(tmp_path / "a", monkeypatch, usual)
    assert wrong(recorder, tmp_path / "b", 25, after="promise")


def test_deleting_inputs_before_the_commit_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = ShufflingServer._commit

    def unlinked(self: ShufflingServer, paths: Any, *rest: Any) -> None:
        kept = [path.read_bytes() for path in paths]
        for path in paths:
            path.unlink()
        real(self, paths, *rest)
        for path, data in zip(paths, kept, strict=True):
            path.write_bytes(data)

    with monkeypatch.context() as during:
        during.setattr(ShufflingServer, "_commit", unlinked)
        recorder = mixed(tmp_path / "a", monkeypatch, usual)
    assert wrong(recorder, tmp_path / "b", 25, after="remove")


def test_neither_a_permutation_nor_an_exponent_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lapwing.collect import blinder, oprf

    drawn: list[bytes] = []
    real = oprf.random_scalar

    def random_scalar(*args: Any) -> bytes:
        drawn.append(real(*args))
        return drawn[-1]

    monkeypatch.setattr(blinder.oprf, "random_scalar", random_scalar)
    server = shuffler_of(COLLECTION, tmp_path, KEYS, "blinder")
    server._stored(segment(1))
    server.work()
    assert drawn
    for path in tmp_path.rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        assert all(secret not in data for secret in drawn), path.name
