"""A report leaves an ingestor among others: envelopes that somebody repeats hide nobody, and hurry nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path

import pytest
from collecting import DAY, Keys, document, fresh, post, running, text

from lapwing.collect import gathering, reader
from lapwing.collect.collection import Collection
from lapwing.collect.sealer import SEAL_AFTER, Sealer
from lapwing.collect.sealing import Envelope, envelope_bytes, random_id
from lapwing.collect.segments import OpenSegment
from lapwing.collect.shared import SharedSealer

KEYS = Keys()
FIRST = document(KEYS, admission="nobody-asked")["epochs"][0]
SECOND = FIRST | {
    "number": 2,
    "from": (DAY + timedelta(days=45)).isoformat(),
    "until": (DAY + timedelta(days=60)).isoformat(),
    "report_key": text(KEYS.gateway.public),
    "token_key": text(Keys().tokens.public),
}
COLLECTION: Collection = reader.sign(
    reader.checked(document(KEYS, admission="nobody-asked", epochs=[FIRST, SECOND])), KEYS.operator
)
SIZE, ENOUGH = envelope_bytes(COLLECTION), COLLECTION.smallest_batch


def envelope(epoch: int = 1) -> bytes:
    return Envelope(epoch, random_id(), os.urandom(SIZE - 36)).to_bytes()


def came(sealer: Sealer, envelopes: Iterable[bytes], *, times: int = 1, close: bool = True) -> OpenSegment:
    segment = OpenSegment(sealer.folders.open, COLLECTION.digest, SIZE)
    for _ in range(times):
        segment.append(b"".join(envelopes))
    if close:
        segment.close()
    return segment


@pytest.fixture(params=["one machine", "several machines"])
def begun(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Sealer]:
    if request.param == "one machine":
        return lambda name: Sealer(COLLECTION, tmp_path / name)
    url = request.getfixturevalue("postgres_url")
    return lambda name: SharedSealer(COLLECTION, tmp_path / name, url)


Begun = Callable[[str], Sealer]


def test_repeating_one_envelope_does_not_flush_somebody_elses(begun: Begun) -> None:
    sealer, repeated = begun("a"), envelope()
    came(sealer, [envelope()])
    for _ in range(3):
        came(sealer, [repeated], times=20 * ENOUGH)
        assert sealer.seal(SEAL_AFTER) == 0
    came(sealer, [envelope() for _ in range(ENOUGH - 2)])
    assert sealer.seal(SEAL_AFTER) == ENOUGH
    assert sealer.totals() == {"duplicate": 60 * ENOUGH - 1, "sealed": ENOUGH}


def test_envelopes_that_were_sealed_before_flush_nobody(begun: Begun) -> None:
    sealer, old = begun("a"), [envelope() for _ in range(2 * ENOUGH)]
    came(sealer, old)
    assert sealer.seal(SEAL_AFTER) == 2 * ENOUGH
    came(sealer, old)
    came(sealer, [envelope()])
    assert sealer.seal(SEAL_AFTER) == 0
    assert sealer.seal() == 1


def test_repeats_alone_are_used_up_at_once(begun: Begun) -> None:
    sealer, old = begun("a"), [envelope() for _ in range(ENOUGH)]
    came(sealer, old)
    assert sealer.seal(SEAL_AFTER) == ENOUGH
    came(sealer, old[:1], times=50)
    assert sealer.seal(SEAL_AFTER) == 0
    assert not list(sealer.folders.open.iterdir())


def test_what_is_still_written_to_hides_nobody(begun: Begun) -> None:
    sealer = begun("a")
    still = came(sealer, [envelope() for _ in range(2 * ENOUGH)], close=False)
    came(sealer, [envelope()])
    assert sealer.seal(SEAL_AFTER) == 0
    still.close()
    assert sealer.seal(SEAL_AFTER) == 2 * ENOUGH + 1


def test_reports_of_one_epoch_do_not_hide_those_of_another(begun: Begun) -> None:
    sealer = begun("a")
    came(sealer, [*(envelope() for _ in range(2 * ENOUGH)), envelope(2)])
    assert sealer.seal(SEAL_AFTER) == 0
    came(sealer, [envelope(2) for _ in range(ENOUGH - 1)])
    assert sealer.seal(SEAL_AFTER) == 3 * ENOUGH


def test_whoever_waited_long_enough_is_sealed_among_few(begun: Begun) -> None:
    sealer = begun("a")
    segment = came(sealer, [envelope(), envelope()])
    assert sealer.seal(SEAL_AFTER) == 0
    os.utime(segment.path, (0, segment.path.stat().st_mtime - SEAL_AFTER))
    assert sealer.seal(SEAL_AFTER) == 2


def test_a_segment_that_somebody_writes_to_for_long_hurries_nobody(begun: Begun) -> None:
    sealer = begun("a")
    still = came(sealer, [envelope()], close=False)
    os.utime(still.path, (0, 0))
    came(sealer, [envelope()])
    assert sealer.seal(SEAL_AFTER) == 0
    still.close()


def test_memory_that_is_full_of_distinct_envelopes_ends_the_waiting(
    begun: Begun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The only limit beside time. Repeats do not count towards it."""
    monkeypatch.setattr(gathering, "MOST_AT_ONCE", 4 * SIZE)
    sealer = begun("a")
    came(sealer, [envelope()], times=100)
    assert sealer.seal(SEAL_AFTER) == 0
    came(sealer, [envelope() for _ in range(5)])
    came(sealer, [envelope()])
    assert sealer.seal(SEAL_AFTER) >= 5
    sealer.seal()
    assert sealer.totals()["sealed"] == 7


def test_so_many_segments_at_once_as_a_process_may_have_open_the_oldest_first(
    begun: Begun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lapwing.collect.sealer.MOST_SEGMENTS", 3)
    sealer, repeated = begun("a"), envelope()
    for age in range(8):  # somebody repeats one envelope; the oldest segment has another one, too
        segment = came(sealer, [repeated] if age < 7 else [repeated, envelope()])
        os.utime(segment.path, (0, segment.path.stat().st_mtime - SEAL_AFTER * (age >= 5) - age))
    assert sealer.seal(SEAL_AFTER) == 2
    assert len(list(sealer.folders.open.glob("*.open"))) == 5
    assert sealer.seal(SEAL_AFTER) == 0  # repeats are used up, three at a time
    assert sealer.seal(SEAL_AFTER) == 0
    assert not list(sealer.folders.open.iterdir())


def test_a_segment_is_read_once(begun: Begun, monkeypatch: pytest.MonkeyPatch) -> None:
    sealer, read = begun("a"), list[str]()
    real = gathering.AbandonedSegment.blocks

    def blocks(self: gathering.AbandonedSegment, *given: object) -> object:
        read.append(self.path.name)
        return real(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(gathering.AbandonedSegment, "blocks", blocks)
    for _ in range(4):
        came(sealer, [envelope()])
        assert sealer.seal(SEAL_AFTER) == 0
    assert sealer.seal() == 4
    assert len(read) == len(set(read)) == 4


def test_what_was_found_to_be_too_few_is_not_looked_at_again_until_more_came(
    begun: Begun, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealer, looks = begun("a"), list[int]()
    real = type(sealer)._fresh
    monkeypatch.setattr(Sealer, "_fresh", lambda self, *given: (looks.append(1), real(self, *given))[1])
    for _ in range(2):
        came(sealer, [envelope()])
        assert [sealer.seal(SEAL_AFTER) for _ in range(3)] == [0, 0, 0]
    assert len(looks) == 2
    assert sealer.seal() == 2
    assert sealer.seal() == 0
    assert len(looks) == 3


def test_what_another_sealer_of_the_folder_sealed_is_not_sealed_again(begun: Begun) -> None:
    one, two = begun("a"), begun("a")
    came(one, [envelope() for _ in range(3)])
    assert one.seal(SEAL_AFTER) == 0
    assert two.seal() == 3
    came(one, [envelope()])
    assert one.seal() == 1
    assert one.totals() == {"duplicate": 0, "sealed": 4}


def test_envelopes_sent_to_two_machines_hide_somebody_on_one_of_them(tmp_path: Path, postgres_url: str) -> None:
    many = [envelope() for _ in range(ENOUGH)]
    one, two = (SharedSealer(COLLECTION, tmp_path / name, postgres_url) for name in "ab")
    came(two, many[1:])
    assert two.seal(SEAL_AFTER) == 0  # it has read them
    came(one, many)
    assert one.seal(SEAL_AFTER) == ENOUGH
    came(two, [envelope()])
    assert two.seal(SEAL_AFTER) == 0


def test_over_http_a_client_that_repeats_flushes_nobody(tmp_path: Path) -> None:
    with running(tmp_path) as parties:
        victim, repeated = fresh(parties), fresh(parties)
        assert post(parties, victim).status == 201
        assert post(parties, repeated * 900).status == 201
        assert all(post(parties, repeated).status == 201 for _ in range(50))
        parties.ingestor.intake.rotate(now=True)
        assert parties.sealer.seal(SEAL_AFTER) == 0
        assert parties.settle() == 2  # when time is over
