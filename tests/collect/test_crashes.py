"""Nothing that was acknowledged is lost, and nothing is counted twice, whatever a crash leaves of the disk.

The negative controls are six ways to build it wrong; the same test must find each of them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from collecting import Keys, document
from crashes import Recorder, State, states, watch
from cryptography.hazmat.primitives.ciphers import aead

from lapwing.collect import files, identities, reader, segments
from lapwing.collect.sealer import Sealer
from lapwing.collect.sealing import HEAD_BYTES, Envelope, envelope_bytes, random_id
from lapwing.collect.segments import AbandonedSegment, OpenSegment, SealedSegment, Unreadable
from lapwing.noise import Reproducible

KEYS = Keys()
COLLECTION = reader.sign(reader.checked(document(KEYS, admission="nobody-asked")), KEYS.operator)
SIZE = envelope_bytes(COLLECTION)


@cache
def envelope(name: int) -> bytes:
    """Bytes of the right length; nothing here opens them."""
    body = Reproducible(name).bits(8 * (SIZE - HEAD_BYTES)).to_bytes(SIZE - HEAD_BYTES, "little")
    return Envelope(1, random_id(Reproducible(1000 + name)), body).to_bytes()


SENT = {envelope(name) for name in range(60)}


class Log:
    """Acknowledges envelopes as an ingestor does, and says so to the recorder."""

    def __init__(self, recorder: Recorder, segment: OpenSegment) -> None:
        self.recorder, self.segment = recorder, segment

    def append(self, *names: int) -> None:
        self.segment.append(b"".join(map(envelope, names)))
        for name in names:
            self.recorder.promise(envelope(name))


class HastyLog(Log):
    """Acknowledges before it writes."""

    def append(self, *names: int) -> None:
        for name in names:
            self.recorder.promise(envelope(name))
        self.segment.append(b"".join(map(envelope, names)))


@contextmanager
def recorded(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    folder.mkdir(parents=True)
    with Recorder(folder).recording(patch) as recorder:
        yield recorder


def appended(folder: Path, patch: pytest.MonkeyPatch, kind: type[Log] = Log) -> Recorder:
    """Ten groups in two segments."""
    with recorded(folder, patch) as recorder:
        place = folder / "open"
        place.mkdir()
        for first in (0, 30):
            log = kind(recorder, OpenSegment(place, COLLECTION.digest, SIZE))
            for start in range(first, first + 30, 6):
                log.append(*range(start, start + 6))
            log.segment.close()
    return recorder


def lost(state: State, folder: Path) -> list[bytes]:
    """What was acknowledged and cannot be read any more."""
    state.lay_out(folder)
    found: set[bytes] = set()
    for path in (folder / "open").glob("*.open"):
        segment = AbandonedSegment.take(path)
        assert segment is not None
        with suppress(Unreadable):
            for block in segment.blocks(COLLECTION.digest, SIZE):
                found.update(block[i : i + SIZE] for i in range(0, len(block), SIZE))
        segment.close()
    assert found <= SENT, "something was read that nobody sent"
    return [data for data in state.promised if data not in found]


def losses(recorder: Recorder, folder: Path, count: int) -> int:
    return sum(bool(lost(state, folder)) for state in states(recorder.calls, count, seed=1))


def test_no_crash_loses_what_was_acknowledged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = appended(tmp_path / "a", monkeypatch)
    assert losses(recorder, tmp_path / "b", 1_000) == 0


@pytest.mark.sweep
def test_no_crash_of_very_many_loses_what_was_acknowledged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = appended(tmp_path / "a", monkeypatch)
    assert losses(recorder, tmp_path / "b", 20_000) == 0


def test_acknowledging_before_writing_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert losses(appended(tmp_path / "a", monkeypatch, HastyLog), tmp_path / "b", 150)


def test_a_log_without_fdatasync_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fdatasync", lambda handle: None)
    recorder = Recorder(tmp_path / "a")
    (tmp_path / "a" / "open").mkdir(parents=True)
    with recorder.recording(monkeypatch):
        monkeypatch.setattr(os, "fdatasync", lambda handle: None)
        log = Log(recorder, OpenSegment(tmp_path / "a" / "open", COLLECTION.digest, SIZE))
        for start in range(0, 30, 6):
            log.append(*range(start, start + 6))
        log.segment.close()
    assert losses(recorder, tmp_path / "b", 150)


def test_a_log_without_a_sync_of_its_folder_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (files, segments):
        monkeypatch.setattr(module, "sync_folder", lambda folder: None)
    assert losses(appended(tmp_path / "a", monkeypatch), tmp_path / "b", 150)


def test_a_checksum_of_the_body_alone_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then blocks can be cut from one place and put into another, and numbers of blocks mean nothing."""
    recorder = appended(tmp_path / "a", monkeypatch)
    state = next(state for state in states(recorder.calls, 200, seed=3) if len(state.promised) == 60)
    state.lay_out(tmp_path / "b")
    [first, second] = sorted((tmp_path / "b" / "open").glob("*.open"))
    data = first.read_bytes()
    block = 8 + 6 * SIZE + 16
    head = segments.OPEN_HEAD

    def readable() -> int:
        segment = AbandonedSegment.take(first)
        assert segment is not None
        blocks = list[bytes]()
        with suppress(Unreadable):
            blocks = list(segment.blocks(COLLECTION.digest, SIZE))
        segment.close()
        return len(blocks)

    first.write_bytes(data[: head + block] + data[head : head + block] + data[head + 2 * block :])  # a block twice
    assert readable() == 1
    first.write_bytes(data[:head] + data[head + block :])  # the first one missing
    assert readable() == 0
    first.write_bytes(second.read_bytes())  # those of another segment
    assert readable() == 0
    first.write_bytes(data[: head + 20] + b"\xff" + data[head + 21 :])  # one byte of the first: the others are read
    assert readable() == 4
    first.write_bytes(data)
    assert readable() == 5

    real = aead.AESGCM

    class BodyOnly:
        """AES-GCM that ignores what is not in the body."""

        def __init__(self, key: bytes) -> None:
            self._real = real(key)

        def decrypt(self, nonce: bytes, data: bytes, _: bytes) -> bytes:
            return bytes(self._real.decrypt(bytes(12), data, None))

        def encrypt(self, nonce: bytes, data: bytes, _: bytes) -> bytes:
            return bytes(self._real.encrypt(bytes(12), data, None))

    monkeypatch.setattr(aead, "AESGCM", BodyOnly)
    appended(tmp_path / "c", monkeypatch)
    first = sorted((tmp_path / "c" / "open").glob("*.open"))[0]
    data = first.read_bytes()
    renumbered = (1).to_bytes(4, "little") + data[head + 4 : head + block]
    first.write_bytes(data[: head + block] + renumbered + data[head + 2 * block :])  # a block twice, under a new number
    assert readable() == 5, "the control would accept a block in the wrong place"


# ---------------------------------------------------------------- sealing


def sealing(folder: Path, patch: pytest.MonkeyPatch, prepared: Callable[[Sealer], None] | None = None) -> Recorder:
    """Two rounds of appending and sealing, with duplicates within and between them."""
    with recorded(folder, patch) as recorder:
        sealer = Sealer(COLLECTION, folder, Reproducible(5))
        if prepared is not None:
            prepared(sealer)
        watch(sealer, recorder)
        for names in (range(0, 20), range(10, 30)):
            log = Log(recorder, OpenSegment(sealer.folders.open, COLLECTION.digest, SIZE))
            for start in names[::5]:
                log.append(*range(start, start + 5))
            log.append(names[0])
            log.segment.close()
            sealer.seal()
    return recorder


def wrong_seals(recorder: Recorder, folder: Path, count: int, seed: int = 1, after: str | None = None) -> int:
    """In how many states something acknowledged is missing after recovery, or is there twice."""
    wrong = 0
    for state in states(recorder.calls, count, seed, after=after):
        if "facts.db" not in state.files:
            assert not state.promised
            continue
        state.lay_out(folder)
        sealer = Sealer(COLLECTION, folder)
        sealer.seal()
        sealer.seal()
        passed = Counter(row for row in passed_on(sealer))
        kept = {data[HEAD_BYTES:] for data in state.promised}
        wrong += bool(kept - set(passed)) or any(times > 1 for times in passed.values())
        assert not list(sealer.folders.open.iterdir()), "an open segment was left"
    return wrong


def passed_on(sealer: Sealer) -> Iterator[bytes]:
    with sealer.facts.transaction(write=False) as database:
        names = [name for (name,) in database.execute("SELECT name FROM sealed")]
    for name in names:
        data = (sealer.folders.sealed / f"{name}.sealed").read_bytes()
        yield from (row.tobytes() for row in SealedSegment.from_bytes(COLLECTION.digest, data).reports)


def test_no_crash_while_sealing_loses_or_repeats_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert wrong_seals(sealing(tmp_path / "a", monkeypatch), tmp_path / "b", 120) == 0


@pytest.mark.sweep
def test_no_crash_of_many_while_sealing_loses_or_repeats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert wrong_seals(sealing(tmp_path / "a", monkeypatch), tmp_path / "b", 5_000, seed=2) == 0


def test_sealing_without_removing_duplicates_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identities, "unseen", lambda runs, keys, rests: np.ones(len(keys), dtype=bool))
    assert wrong_seals(sealing(tmp_path / "a", monkeypatch), tmp_path / "b", 40)


def test_sealing_in_two_transactions_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """First the segments are used up, then what they held is written down: between the two it is nowhere."""

    def commit(self: Sealer, used: Any, runs: Any, sealed: Any, totals: Any) -> None:
        real(self, list(used), [], [], Counter())
        real(self, [], runs, sealed, totals)

    real = Sealer._commit
    monkeypatch.setattr(Sealer, "_commit", commit)
    assert wrong_seals(sealing(tmp_path / "a", monkeypatch), tmp_path / "b", 60, after="database")


def test_a_segment_that_cannot_be_read_is_set_aside_and_counted(tmp_path: Path) -> None:
    sealer = Sealer(COLLECTION, tmp_path)
    newer = reader.sign(reader.checked(document(KEYS, admission="nobody-asked", version=2)), KEYS.operator)
    for digest in (newer.digest, COLLECTION.digest):
        segment = OpenSegment(sealer.folders.open, digest, SIZE)
        segment.append(envelope(1))
        segment.close()
    assert sealer.seal() == 1
    assert sealer.totals()["segments that could not be read"] == 1
    sealer.seal()  # also in later rounds it stays, with the key that opens it
    assert len(list(sealer.folders.open.glob("*.unreadable"))) == len(list(sealer.folders.open.glob("*.key"))) == 1


def test_what_was_acknowledged_is_passed_on_however_late_it_is_sealed(tmp_path: Path) -> None:
    """The clock of the machine that seals decides nothing."""
    sealer = Sealer(COLLECTION, tmp_path)
    segment = OpenSegment(sealer.folders.open, COLLECTION.digest, SIZE)
    segment.append(envelope(1))
    segment.close()
    assert COLLECTION.epoch(date(1970, 1, 1)) is None
    assert sealer.seal() == 1
