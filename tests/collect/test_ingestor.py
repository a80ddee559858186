"""The ingestor under hostile clients and failing disks: clear answers, 503 and never 201, nothing of theirs is kept."""

from __future__ import annotations

import gc
import json
import logging
import os
import random
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from collecting import NOON, Parties, fresh, post, running, some_tokens
from loops import in_a_loop

from lapwing.collect import hops, http, oprf, reader, tokens
from lapwing.collect import ingestor as ingestors
from lapwing.collect.intake import MOST_WAITING
from lapwing.collect.keys import Key
from lapwing.collect.sealing import Envelope, envelope_bytes, random_id, seal, sealed_for
from lapwing.collect.segments import LARGEST_BLOCK


@pytest.fixture(scope="module")
def parties(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parties]:
    with running(tmp_path_factory.mktemp("collect")) as running_parties:
        yield running_parties


def test_one_and_many_are_stored(parties: Parties) -> None:
    assert post(parties, fresh(parties)).status == 201
    many = b"".join(fresh(parties) for _ in range(5))
    assert json.loads(post(parties, many).body) == {"stored": 5, "refused": 0}


def test_good_envelopes_are_stored_beside_bad_ones(parties: Parties) -> None:
    bad = bytearray(fresh(parties))
    bad[30] ^= 1
    reply = post(parties, fresh(parties) + bytes(bad))
    assert (reply.status, json.loads(reply.body)) == (201, {"stored": 1, "refused": 1})


def test_hostile_bodies_get_clear_errors_and_store_nothing(parties: Parties) -> None:
    good, size = fresh(parties), envelope_bytes(parties.collection)
    before = parties.ingestor.totals["stored"]
    expected = {
        b"": 400,
        good[:-1]: 400,
        good + b"x": 400,
        b"x" * size: 403,
        bytes(size): 403,
        good[:4] + random_id() + good[20:]: 403,
        (7).to_bytes(4, "little") + good[4:]: 403,
        good[:-1] + bytes([good[-1] ^ 1]): 403,
        bytes(size * (ingestors.MOST_AT_ONCE + 1)): 413,
    }
    assert {body: post(parties, body).status for body in expected} == expected
    assert parties.ingestor.totals["stored"] == before
    for method, path, status in (("GET", "/reports", 405), ("GET", "/", 404), ("POST", "/admin", 404)):
        assert _raw(parties, f"{method} {path} HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n".encode()) == status


def _raw(parties: Parties, request: bytes) -> int:
    host, port = parties.collection.servers["ingestor"].address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as line:
        line.sendall(request)
        answer = line.recv(4096)
    return int(answer.split(b" ")[1]) if answer.startswith(b"HTTP/1.1 ") else 0


def malformed(good: bytes, dice: random.Random) -> bytes:
    """Noise, cut, doubled in part, or one bit of a good envelope flipped, alone or in a batch of such."""
    size = len(good)
    flipped = bytearray(good)
    flipped[dice.randrange(size)] ^= 1 << dice.randrange(8)
    kinds = [
        dice.randbytes(dice.choice([1, 3, size - 1, size, size, 2 * size])),
        good[: dice.randrange(size)],
        good + good[: dice.randrange(1, size)],
        bytes(flipped),
        bytes(flipped) * dice.randrange(2, 20),
        bytes(size * dice.randrange(1, 4)),
    ]
    return dice.choice(kinds)


def refuses(parties: Parties, bodies: int, seed: int) -> None:
    """So many malformed bodies get clear errors, store nothing, and leave nothing in memory."""
    dice, good, before = random.Random(seed), fresh(parties), parties.ingestor.totals["stored"]
    for number in range(bodies):
        if number == bodies // 2:
            half = anonymous_memory()
        body = malformed(good, dice)
        head = b"POST /reports HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(body)
        assert _raw(parties, head + body) in (400, 403)
    assert anonymous_memory() - half < MOST_GROWTH
    assert parties.ingestor.totals["stored"] == before
    assert parties.ingestor.intake._waiting == 0
    assert post(parties, good).status == 201


MOST_GROWTH = 8e6
"""Bytes; 50,000 bodies of half a kilobyte would be three times as much."""


def anonymous_memory() -> int:
    """Bytes of this process that are no file."""
    gc.collect()
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


def test_a_thousand_malformed_bodies_change_nothing(parties: Parties) -> None:
    refuses(parties, 1_000, seed=3)


@pytest.mark.sweep
def test_a_hundred_thousand_malformed_bodies_change_nothing(
    parties: Parties, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    refuses(parties, 100_000, seed=4)
    captured = capfd.readouterr()
    assert captured.out + captured.err + caplog.text == ""


def test_a_replayed_envelope_is_acknowledged_and_counted_once(parties: Parties) -> None:
    parties.settle()
    before = parties.sealer.totals()["sealed"]
    envelope = fresh(parties)
    assert [post(parties, envelope).status for _ in range(3)] == [201] * 3
    parties.settle()
    assert post(parties, envelope).status == 201  # and again after it was sealed
    parties.settle()
    assert parties.sealer.totals()["sealed"] == before + 1


def test_two_reports_under_one_token_count_once(parties: Parties) -> None:
    parties.settle()
    before = parties.sealer.totals()["sealed"]
    [token] = some_tokens(parties, 1)
    for answer in ("bus", "car"):
        report = parties.collection.protocol.randomize([answer]).to_bytes()
        sealed = seal(parties.collection, 1, report)
        assert post(parties, tokens.tagged(token, parties.collection, sealed).to_bytes()).status == 201
    parties.settle()
    assert parties.sealer.totals()["sealed"] == before + 1


def test_a_report_sealed_for_another_key_or_version_is_not_counted(parties: Parties) -> None:
    parties.settle()
    before = parties.aggregator.totals()
    for key, digest in (
        (Key.random("x25519").public, parties.collection.digest),
        (parties.keys.reports.public, bytes(32)),
    ):
        report = random_id() + parties.collection.protocol.randomize(["bus"]).to_bytes()
        sealed = sealed_for(key, report, b"lapwing report 1" + digest + (1).to_bytes(4, "little"))
        [token] = some_tokens(parties, 1)
        assert post(parties, tokens.tagged(token, parties.collection, sealed).to_bytes()).status == 201
    parties.settle()
    after = parties.aggregator.totals()
    assert after["sealed for another key"] - before.get("sealed for another key", 0) == 2
    assert after["counted"] == before["counted"]


def test_tokens_of_a_forger_are_refused(parties: Parties) -> None:
    secret = oprf.random_scalar()
    name = random_id()
    forged = tokens.Token(1, name, oprf.evaluate(secret, name))
    sealed = seal(parties.collection, 1, parties.collection.protocol.randomize(["bus"]).to_bytes())
    assert post(parties, tokens.tagged(forged, parties.collection, sealed).to_bytes()).status == 403


@pytest.mark.parametrize("failure", ["EIO", "ENOSPC"])
def test_a_failing_disk_is_answered_with_503_and_never_with_201(
    parties: Parties, monkeypatch: pytest.MonkeyPatch, failure: str
) -> None:
    import errno

    envelope, call = fresh(parties), {"EIO": "fdatasync", "ENOSPC": "write"}[failure]
    real = getattr(os, call)

    def failing(handle: int, *data: bytes) -> int:
        if call == "write" and len(data[0]) < envelope_bytes(parties.collection):
            return int(real(handle, *data))  # not ours: the event loop wakes itself by writing a byte
        raise OSError(getattr(errno, failure), "the disk failed")

    with monkeypatch.context() as broken:
        broken.setattr(os, call, failing)
        reply = post(parties, envelope)
    assert reply.status == 503
    assert reply.retry_after == 30
    poisoned = list((parties.folder / "ingestor" / "open").glob("*.open"))
    assert post(parties, envelope).status == 201
    assert len(list((parties.folder / "ingestor" / "open").glob("*.open"))) >= len(poisoned)
    parties.settle()


def test_a_full_disk_is_noticed_before_it_is_full(parties: Parties, monkeypatch: pytest.MonkeyPatch) -> None:
    parties.settle()
    monkeypatch.setattr(parties.ingestor.intake, "_spare_disk", 1 << 62)
    assert post(parties, fresh(parties)).status == 503


def test_what_waits_in_memory_is_bounded(parties: Parties, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parties.ingestor.intake, "_most_waiting", 10)
    assert post(parties, fresh(parties)).status == 503


def test_slow_clients_are_ended(parties: Parties, monkeypatch: pytest.MonkeyPatch) -> None:
    from lapwing.collect import serving

    host, port = parties.collection.servers["ingestor"].address.removeprefix("http://").split(":")
    monkeypatch.setattr(http, "PATIENCE", 0.2)
    monkeypatch.setattr(serving, "PATIENCE", 0.2)
    asked = b"GET /collection HTTP/1.1\r\nhost: x\r\n\r\n"
    pieces = {
        "a body that does not come": (b"POST /reports HTTP/1.1\r\nhost: x\r\ncontent-length: 500\r\n\r\nabc", b" 408 "),
        "a head that does not end": (b"POST /repo", b""),
        "an empty line after an answer": (asked + b"\r\n", b" 200 "),
        "a body after an answer": (b"POST /x HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\na", b" 404 "),
        "a head that is too long": (b"GET /health HTTP/1.1\r\n" + b"x: " + b"y" * 200_000, b""),
    }
    for name, (data, answer) in pieces.items():
        with socket.create_connection((host, int(port)), timeout=20) as line:
            received = b""
            with suppress(ConnectionError):
                line.sendall(data)
                while piece := line.recv(65536):  # ends when the server ends the connection, and fails after 20 s
                    received += piece
            assert answer in received[:20], name


def test_too_many_long_reports_in_one_request_are_told_how_many_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would never have found room: 503 would send whoever brings them back for ever."""
    domain = [str(number) for number in range(140_000)]
    protocol = {"protocol": "UnaryEncoding", "epsilon": 1, "domain": domain}
    with running(tmp_path, protocol=protocol, admission="nobody-asked") as parties:
        size, most = parties.ingestor.size, parties.ingestor.most
        assert size * ingestors.MOST_AT_ONCE > MOST_WAITING
        one = (1).to_bytes(4, "little") + bytes(size - 4)
        assert post(parties, one * most).status == 201
        reply = post(parties, one * (most + 1))
        assert reply.status == 413
        assert f"{most:,} envelopes of {size:,} bytes" in json.loads(reply.body)["error"]


def test_the_largest_report_and_the_longest_body_find_room() -> None:
    assert reader.LARGEST_REPORT < ingestors.LARGEST_BODY < MOST_WAITING < LARGEST_BLOCK


def test_a_closed_collection_takes_nothing(parties: Parties) -> None:
    try:
        parties.clock[0] = NOON.replace(year=2027, month=6)
        assert post(parties, fresh(parties)).status == 410
    finally:
        parties.clock[0] = NOON


def test_nothing_that_a_client_sends_is_in_any_file_or_log(
    parties: Parties, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """The canary: marked ids, marked bodies, marked addresses."""
    parties.settle()
    canary = b"CANARYcanary4711"
    secret = parties.keys.tokens.secret
    token = tokens.Token(1, canary, oprf.evaluate(secret, canary))
    sealed = seal(parties.collection, 1, parties.collection.protocol.randomize(["bus"]).to_bytes())
    envelope = tokens.tagged(token, parties.collection, sealed).to_bytes()
    head = (
        b"POST /reports?canary4711 HTTP/1.1\r\nhost: canary4711\r\nuser-agent: canary4711\r\ncontent-length: %d\r\n\r\n"
    )
    assert _raw(parties, head % len(envelope) + envelope) == 201
    assert _raw(parties, head % 16 + canary) == 400
    assert _raw(parties, b"GET /canary4711 HTTP/1.1\r\nhost: x\r\n\r\n") == 404
    for _ in range(2):  # while segments are open, and after they were sealed and counted
        for path in parties.folder.rglob("*"):
            if path.is_file():
                data = path.read_bytes()
                assert b"anary4711" not in data, path.name
                assert canary.hex().encode() not in data, path.name
        parties.settle()
    captured = capfd.readouterr()
    assert "4711" not in captured.out + captured.err + caplog.text
    assert "127.0.0.1" not in captured.out + captured.err + caplog.text


def test_the_file_of_the_collection_is_public(parties: Parties) -> None:
    reply = hops.get(parties.collection.servers["ingestor"].address + "/collection")
    assert reply.body == parties.collection.to_json()
    health = json.loads(hops.get(parties.collection.servers["ingestor"].address + "/health").body)
    assert set(health) == {"closed", "collection", "totals"}


def test_what_was_refused_for_the_same_reason_at_the_door_and_when_sealed_is_added(
    parties: Parties, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell = parties.ingestor._tell

    async def nothing() -> None:
        """What it does every second is done below, so that none of it comes in between."""

    monkeypatch.setattr(parties.ingestor, "_tell", nothing)
    address = parties.collection.servers["ingestor"].address + "/health"
    reason = ingestors.WRONG_EPOCH
    parties.ingestor.published = lambda: {reason: 5, "sealed": 2}

    def refused() -> int:
        return int(json.loads(hops.get(address).body)["totals"][reason])

    in_a_loop(tell())
    before = refused()
    good = fresh(parties)
    assert post(parties, (7).to_bytes(4, "little") + good[4:]).status == 403
    assert refused() == before >= 5, "no request is seen when it comes"
    in_a_loop(tell())
    assert refused() == before + 1


def test_segments_and_batches_from_strangers_are_refused(parties: Parties) -> None:
    for party, path in (("aggregator", "/segments"), ("analyzer", "/batches")):
        address = parties.collection.servers[party].address + path
        assert hops.post(address, b"x").status == 403
        lying = {hops.HASH_HEADER: "00" * 32, hops.HEADER: "AAAA"}
        assert hops.post(address, b"x" * 1000, lying).status == 403
        stranger = Key.random("ed25519")
        with pytest.raises(hops.Unreachable, match="answered 403"):
            hops.deliver(parties.collection, party, path, b"x", stranger)
    with pytest.raises(hops.Unreachable, match="answered 400"):
        hops.deliver(parties.collection, "aggregator", "/segments", b"x", parties.keys.ingestor)


def test_an_envelope_has_no_second_spelling(parties: Parties) -> None:
    data = fresh(parties)
    assert Envelope.from_bytes(parties.collection, data).to_bytes() == data


def _until(condition: Callable[[], bool]) -> bool:
    """Whether it comes true, within a minute."""
    end = time.monotonic() + 60
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def test_a_damaged_count_of_refusals_is_said_and_stops_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, logger="lapwing.collect"), running(tmp_path) as parties:
        (tmp_path / "ingestor" / "refused.db").write_bytes(b"no database " * 1000)
        assert post(parties, b"x").status == 400
        assert _until(lambda: "LedgerDamaged" in caplog.text), "a fault is said"
        parties.ingestor.intake._longest = 0
        assert post(parties, fresh(parties)).status == 201
        parties.clock[0] = NOON.replace(year=NOON.year + 1)
        assert _until(lambda: parties.ingestor.intake._segment is None), "segments are closed in time"
        assert _until(lambda: not parties.ingestor.token_keys), "keys of past epochs are forgotten"
        assert parties.sealer.seal() == 1
    said = [record.getMessage() for record in caplog.records if "LedgerDamaged" in record.getMessage()]
    assert len(said) == 1, "once, not every second"
