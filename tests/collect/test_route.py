"""The route through shufflers goes on, whatever a device sends, whatever is refused, and when a key goes."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from collecting import CROWD, NOON, OPEN_DOOR, Parties, post, running, shuffler_of, some_tokens

from lapwing.collect import blinding, hops, oprf, tokens
from lapwing.collect.crowds import crowd_id
from lapwing.collect.forwarder import forward
from lapwing.collect.handovers import received_by
from lapwing.collect.sealing import layer_info, random_id, row_bytes, seal, sealed_for
from lapwing.collect.segments import SealedSegment
from lapwing.collect.shuffling import ShufflingServer

YES_NO = {"protocol": "BinaryResponse", "yes_if_yes": "3/4", "yes_if_no": "1/4"}
Making = Callable[[Parties], bytes]


def honest(parties: Parties) -> bytes:
    report = parties.collection.protocol.randomize([True]).to_bytes()
    return seal(parties.collection, 1, report, crowd=b"attribute\nnorth")


def forged(parties: Parties, pair: bytes, payload: bytes) -> bytes:
    """What a device can send with one token, whatever it puts inside."""
    keys = parties.collection.numbered(1)
    assert keys is not None
    info = layer_info("blinder", parties.collection.digest, 1)
    return sealed_for(keys.hop_keys["blinder"], random_id() + pair + payload, info)


def payload_bytes(parties: Parties) -> int:
    return row_bytes(parties.collection, "thresholder") - blinding.PAIR_BYTES


def pair_of(parties: Parties, name: bytes = b"any") -> bytes:
    return blinding.encrypted(parties.keys.crowds.public, crowd_id(parties.collection, name))


def no_pair(parties: Parties) -> bytes:
    """An odd number is no element; of random bytes one in sixteen would be."""
    return forged(parties, b"\1" + os.urandom(63), os.urandom(payload_bytes(parties)))


def no_layer(parties: Parties) -> bytes:
    return forged(parties, pair_of(parties), os.urandom(payload_bytes(parties)))


def nobodys_crowd(parties: Parties) -> bytes:
    """An encryption of the identity, whose pseudonym is the same in every batch."""
    scalar = oprf.random_scalar()
    pair = oprf.base_times(scalar) + oprf.times(scalar, parties.keys.crowds.public)
    return forged(parties, pair, os.urandom(payload_bytes(parties)))


def the_same_again(parties: Parties) -> bytes:
    """One layer for the thresholder in every report of the device."""
    return forged(parties, pair_of(parties), bytes(payload_bytes(parties)))


def one_inner_id(parties: Parties) -> bytes:
    """Fresh bytes around one id inside the layer of the thresholder."""
    keys = parties.collection.numbered(1)
    assert keys is not None
    plain = bytes(row_bytes(parties.collection, "thresholder") - blinding.PAIR_BYTES - 48)
    info = layer_info("thresholder", parties.collection.digest, 1)
    return forged(parties, pair_of(parties), sealed_for(keys.hop_keys["thresholder"], plain, info))


BAD: dict[str, Making] = {
    "no layer of the blinder": lambda parties: os.urandom(row_bytes(parties.collection, "blinder")),
    "no pair": no_pair,
    "no layer of the thresholder": no_layer,
    "nobody's crowd": nobodys_crowd,
    "the same layer again": the_same_again,
    "the same inner id again": one_inner_id,
}


def sent(parties: Parties, rows: list[bytes]) -> None:
    """With a token each; they are at the first shuffler then."""
    collection = parties.collection
    envelopes = [
        tokens.tagged(token, collection, row).to_bytes()
        for token, row in zip(some_tokens(parties, len(rows)), rows, strict=True)
    ]
    assert post(parties, b"".join(envelopes)).status == 201
    parties.ingestor.intake.rotate(now=True)
    parties.sealer.seal()
    assert forward(parties.sealer, parties.keys.ingestor) == 1


def rounds(parties: Parties) -> int:
    """What is there goes as far as it can; how many reports are counted."""
    for shuffler in parties.shufflers.values():
        shuffler.work()
        shuffler.pass_on()
        assert shuffler._waiting() == []
    return parties.aggregator.work()


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_no_device_stops_the_route_or_costs_others_their_reports(tmp_path: Path, bad: Making) -> None:
    """Batches with one bad report more than there is room for, and with two: the last one is not lost either."""
    with running(tmp_path, protocol=YES_NO, transport="blinded", crowd=OPEN_DOOR) as parties:
        counted = 0
        for number in (9, 8, 8):
            sent(parties, [honest(parties) for _ in range(number)] + [bad(parties) for _ in range(10 - number)])
            counted += rounds(parties)
        sent(parties, [honest(parties) for _ in range(15)])  # for what the blinder still holds
        counted += rounds(parties)
        blinder, thresholder = parties.shufflers.values()
        assert not list(blinder.incoming.iterdir())
        assert not list(thresholder.incoming.iterdir())
        assert counted >= 40 - 4 * 2  # four batches at most, of one crowd each


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_what_the_blinder_passes_on_is_never_too_little_for_the_thresholder(tmp_path: Path, bad: Making) -> None:
    """Without this, the last batch of an epoch would wait there until its key is gone."""
    with running(tmp_path, protocol=YES_NO, transport="blinded", crowd=OPEN_DOOR) as parties:
        blinder, thresholder = parties.shufflers.values()
        for number in (10, 9, 9, 9):
            sent(parties, [honest(parties) for _ in range(number)] + [bad(parties) for _ in range(10 - number)])
            blinder.work()
            for name in blinder._waiting():
                data = (blinder.outgoing / f"{name}.sealed").read_bytes()
                handover = received_by(parties.collection, "thresholder", data)
                assert 10 <= handover.taken == len(handover.segment.reports)
            blinder.pass_on()
            thresholder.work()
            assert not list(thresholder.incoming.iterdir())


@pytest.mark.parametrize("transport", ["shuffled", "blinded"])
def test_what_is_left_when_a_key_goes_is_counted_and_the_route_goes_on(tmp_path: Path, transport: str) -> None:
    with running(tmp_path, protocol=YES_NO, transport=transport, crowd=OPEN_DOOR) as parties:
        for party, shuffler in parties.shufflers.items():
            sent_before = shuffler._waiting()
            rows = np.zeros((3, row_bytes(parties.collection, party)), dtype=np.uint8)
            data = SealedSegment(parties.collection.digest, 1, rows).to_bytes()
            data += b"" if party != "thresholder" else (3).to_bytes(8, "little") + random_id()
            assert shuffler._stored(data).status == 201
            assert shuffler.work() == 0
            assert len(list(shuffler.incoming.iterdir())) == 1, "they wait for others"
            shuffler.clock = lambda: NOON + timedelta(days=60)
            assert shuffler.retire() == 1
            shuffler.work()
            assert shuffler.totals() == {"the key is gone": 3}
            assert shuffler._waiting() == sent_before == []
            assert not list(shuffler.incoming.iterdir())
            assert not list(shuffler.outgoing.iterdir())


def test_a_blinder_that_lost_its_memory_does_not_make_a_batch_of_a_few(tmp_path: Path) -> None:
    """Its batch has nine old reports and one new: the new one waits, and is counted with the next."""
    with running(tmp_path, protocol=YES_NO, transport="blinded", crowd=OPEN_DOOR) as parties:
        thresholder = parties.shufflers["thresholder"]
        rows = [honest(parties) for _ in range(11)]

        def through(folder: str, these: list[bytes]) -> int:
            forgetful = shuffler_of(parties.collection, tmp_path / folder, parties.keys, "blinder")
            data = np.frombuffer(b"".join(these), dtype=np.uint8).reshape(len(these), -1)
            assert forgetful._stored(SealedSegment(parties.collection.digest, 1, data).to_bytes()).status == 201
            forgetful.work()
            assert forgetful.pass_on() == 1
            return thresholder.work()

        assert through("first", rows[:10]) > 0
        assert through("restored", rows[1:]) == 0
        assert thresholder.totals()["taken"] == 10
        assert len(list(thresholder.incoming.iterdir())) == 1
        assert through("later", [honest(parties) for _ in range(10)]) > 0
        assert thresholder.totals()["taken"] == 21
        assert thresholder.totals()["duplicate"] == 9


def test_a_batch_in_which_nothing_is_good_is_used_up(tmp_path: Path) -> None:
    with running(tmp_path, protocol=YES_NO, transport="blinded", crowd=OPEN_DOOR) as parties:
        sent(parties, [no_layer(parties) for _ in range(10)])
        assert rounds(parties) == 0
        assert parties.shufflers["thresholder"].totals()["sealed for another key"] == 10
        sent(parties, [no_pair(parties) for _ in range(10)])
        assert rounds(parties) == 0
        sent(parties, [honest(parties) for _ in range(10)])
        assert rounds(parties) >= 10 - 2
        assert parties.shufflers["blinder"].totals()["no crowd"] == 10


def test_dummies_do_not_make_up_for_reports_that_came_before(tmp_path: Path) -> None:
    dummies = {"epsilon": 2, "delta": "0.001"}
    crowd = {**CROWD, "from": "answer", "threshold": 40, "mean_drop": 10, "sigma": 2, "dummies": dummies}
    with running(tmp_path, transport="blinded", crowd=crowd) as parties:
        thresholder, collection = parties.shufflers["thresholder"], parties.collection
        answers = [collection.protocol.randomize(["bus"]).to_bytes() for _ in range(10)]
        rows = b"".join(seal(collection, 1, report, crowd=b"answer\nbus") for report in answers)
        data = SealedSegment(collection.digest, 1, np.frombuffer(rows, dtype=np.uint8).reshape(10, -1)).to_bytes()
        for folder in ("first", "restored"):
            forgetful = shuffler_of(collection, tmp_path / folder, parties.keys, "blinder")
            assert forgetful._stored(data).status == 201
            assert forgetful.work() > 10
            assert forgetful.pass_on() == 1
            thresholder.work()
        assert len(thresholder._waiting()) == 1
        assert len(list(thresholder.incoming.iterdir())) == 1


def test_one_output_that_is_refused_does_not_hold_up_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(tmp_path, protocol=YES_NO, transport="blinded") as parties:
        blinder, thresholder = parties.shufflers.values()
        for _ in range(3):
            sent(parties, [honest(parties) for _ in range(10)])
            blinder.work()
        first, *others = blinder._waiting()
        real = hops.post

        def refusing(address: str, body: bytes, *rest: Any, **named: Any) -> hops.Reply:
            if body == (blinder.outgoing / f"{first}.sealed").read_bytes():
                return hops.Reply(400, b"{}")
            return real(address, body, *rest, **named)

        with monkeypatch.context() as during:
            during.setattr(hops, "post", refusing)
            assert blinder.pass_on() == len(others) == 2
        assert blinder._waiting() == [first]
        assert blinder.pass_on() == 1
        assert len(list(thresholder.incoming.iterdir())) == 3
        thresholder.work()
        assert len(thresholder._waiting()) == 3, "each batch is thresholded by itself, and loses reports by itself"


def test_a_group_as_large_as_memory_holds_in_which_too_few_are_good_takes_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ShufflingServer, "at_once", 10)
    with running(tmp_path, protocol=YES_NO, transport="blinded", crowd=OPEN_DOOR) as parties:
        blinder = parties.shufflers["blinder"]
        for _ in range(4):
            sent(parties, [honest(parties) for _ in range(4)] + [no_pair(parties) for _ in range(6)])
            blinder.work()
        assert blinder.totals()["taken"] >= 10
        assert len(list(blinder.incoming.iterdir())) <= 2
