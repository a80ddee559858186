"""Envelopes: one length, one collection, one reader; and the relay's wrapping around them."""

from __future__ import annotations

from pathlib import Path

import pytest
from collecting import Keys, document
from protocols import ALL_PROTOCOLS

from lapwing.collect import reader
from lapwing.collect.keys import Key
from lapwing.collect.relay import answered, status_of, unwrapped, wrapped, wrapped_bytes
from lapwing.collect.sealing import Envelope, envelope_bytes, opened, random_id, report_bytes, seal
from lapwing.crowd import Reports
from lapwing.errors import InvalidParameter

KEYS = Keys()
COLLECTION = reader.sign(reader.checked(document(KEYS)), KEYS.operator)
NEWER = reader.sign(reader.checked(document(KEYS, version=2)), KEYS.operator)
REPORT = COLLECTION.protocol.randomize(["bus"]).to_bytes()


def test_a_sealed_report_opens_for_its_key_and_collection_only() -> None:
    sealed = seal(COLLECTION, 1, REPORT)
    inside = opened(COLLECTION, 1, KEYS.reports.private, sealed)
    assert inside is not None
    assert inside[1] == REPORT
    assert opened(COLLECTION, 1, Key.random("x25519").private, sealed) is None
    assert opened(NEWER, 1, KEYS.reports.private, sealed) is None
    assert opened(COLLECTION, 2, KEYS.reports.private, sealed) is None
    for place in (0, 31, 32, len(sealed) - 1):
        flipped = bytearray(sealed)
        flipped[place] ^= 1
        assert opened(COLLECTION, 1, KEYS.reports.private, bytes(flipped)) is None
    assert opened(COLLECTION, 1, KEYS.reports.private, sealed[:40]) is None


def test_all_envelopes_of_a_collection_have_one_length() -> None:
    answers = ["bus", "bike", "car", "x" * 5000, None, 3]
    lengths = set()
    for answer in answers:
        report = COLLECTION.protocol.randomize([answer]).to_bytes()
        envelope = Envelope(1, random_id(), seal(COLLECTION, 1, report))
        lengths.add(len(envelope.to_bytes()))
        assert Envelope.from_bytes(COLLECTION, envelope.to_bytes()) == envelope
    assert lengths == {envelope_bytes(COLLECTION)}


def test_ids_inside_and_outside_have_nothing_in_common() -> None:
    seen = set()
    for _ in range(50):
        envelope = Envelope(1, random_id(), seal(COLLECTION, 1, REPORT))
        inside = opened(COLLECTION, 1, KEYS.reports.private, envelope.sealed)
        assert inside is not None
        seen |= {envelope.id, inside[0]}
    assert len(seen) == 100


def test_wrong_reports_and_epochs_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="not an epoch"):
        seal(COLLECTION, 7, REPORT)
    with pytest.raises(InvalidParameter, match="wrong length"):
        seal(COLLECTION, 1, REPORT + b"x")
    with pytest.raises(InvalidParameter, match="wrong length"):
        Envelope.from_bytes(COLLECTION, b"x")


def test_rows_of_single_reports_are_the_reports_of_every_protocol() -> None:
    import numpy as np

    for case in ALL_PROTOCOLS:
        singles = [case.protocol.randomize([answer]) for answer in list(case.answers)[:5]]
        rows = np.frombuffer(b"".join(single.to_bytes() for single in singles), dtype=np.uint8)
        rows = rows.reshape(len(singles), report_bytes(case.protocol)).copy()
        reports, valid = Reports.from_singles(case.protocol, rows)
        assert valid.all()
        assert reports == Reports.together(singles), case.name
        rows[1, 0] ^= 1  # no magic number: no report
        reports, valid = Reports.from_singles(case.protocol, rows)
        assert valid.tolist() == [True, False] + [True] * (len(singles) - 2)
        assert reports == Reports.together([singles[0], *singles[2:]])


def test_rows_with_spare_bits_or_numbers_too_large_are_no_reports() -> None:
    import numpy as np

    row = np.frombuffer(REPORT, dtype=np.uint8)[None, :].copy()
    row[0, -1] |= 0x80  # three answers: five spare bits
    assert not Reports.from_singles(COLLECTION.protocol, row)[1].any()
    with pytest.raises(InvalidParameter, match="wrong length"):
        Reports.from_singles(COLLECTION.protocol, row[:, 1:])


def test_a_relay_can_read_neither_the_envelope_nor_the_answer() -> None:
    envelope = Envelope(1, random_id(), seal(COLLECTION, 1, REPORT)).to_bytes()
    key, request = wrapped(COLLECTION, 1, envelope)
    assert len(request) == wrapped_bytes(len(envelope))
    assert envelope[:36] not in request
    assert unwrapped(COLLECTION, {1: KEYS.gateway}, request) == (key, envelope)
    assert unwrapped(NEWER, {1: KEYS.gateway}, request) is None
    assert unwrapped(COLLECTION, {1: Key.random("x25519")}, request) is None
    assert unwrapped(COLLECTION, {}, request) is None
    answers = {status: answered(key, status) for status in (201, 403, 503)}
    assert {status_of(key, answer) for answer in answers.values()} == set(answers)
    assert len({len(answer) for answer in answers.values()}) == 1
    assert answered(key, 201) != answers[201]  # a request that is sent again gets another nonce
    assert status_of(bytes(32), answers[201]) is None


def test_a_key_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "party" / "report.key"
    key = Key.random("x25519")
    key.write(path)
    assert Key.read(path) == key
    assert path.stat().st_mode & 0o777 == 0o600
    assert key.secret.hex() not in repr(key)
    with pytest.raises(InvalidParameter, match="exists already"):
        Key.random("x25519").write(path)
    path.chmod(0o644)
    with pytest.raises(InvalidParameter, match="chmod 600"):
        Key.read(path)
    path.chmod(0o600)
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(InvalidParameter, match="not a key file"):
        Key.read(path)
