"""The bytes of version 1 never change: what somebody else's client sends today is read for ever."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lapwing.collect import oprf, reader, tokens
from lapwing.collect.crowds import crowd_id
from lapwing.collect.keys import Key
from lapwing.collect.relay import answered, status_of, unwrapped
from lapwing.collect.sealing import ID_BYTES, Envelope, layer_info, opened, opened_by
from lapwing.collect.secret_strings import OpenedString
from lapwing.collect.string_device import Question
from lapwing.collect.string_protocol import StringProtocol
from lapwing.crowd import Reports

VECTOR = json.loads((Path(__file__).parent / "vectors" / "wire.json").read_text(encoding="utf-8"))
COLLECTION = reader.read(VECTOR["collection"])
STRINGS = json.loads((Path(__file__).parent / "vectors" / "strings.json").read_text(encoding="utf-8"))


def raw(name: str) -> bytes:
    return bytes.fromhex(VECTOR[name])


def test_the_signed_file_has_the_same_hash_and_signature() -> None:
    assert COLLECTION.digest == raw("hash")
    again = reader.sign(COLLECTION, Key("ed25519", raw("operator_secret")))
    assert again.to_json().decode() == VECTOR["collection"]


def test_a_sealed_report_opens() -> None:
    key = Key("x25519", raw("report_secret"))
    assert key.public == COLLECTION.epochs[0].report_key
    assert opened(COLLECTION, 1, key.private, raw("sealed")) == (raw("inner_id"), raw("report"))
    assert Reports.from_bytes(COLLECTION.protocol, raw("report")).n == 1


def test_a_token_is_the_same() -> None:
    secret = raw("token_secret")
    assert oprf.public_key(secret) == COLLECTION.epochs[0].token_key
    assert oprf.evaluate(secret, raw("id")) == raw("token")
    oprf.verify(oprf.public_key(secret), [raw("blinded")], [raw("evaluated")], raw("proof"))
    assert oprf.finalize(raw("id"), raw("blind"), raw("evaluated")) == raw("token")
    envelope = tokens.tagged(tokens.Token(1, raw("id"), raw("token")), COLLECTION, raw("sealed"))
    assert envelope.tag == raw("tag")
    assert envelope.to_bytes() == raw("envelope")
    assert tokens.redeemable(secret, COLLECTION, Envelope.from_bytes(COLLECTION, raw("envelope")))


def test_a_request_through_a_relay_opens() -> None:
    keys = {1: Key("x25519", raw("gateway_secret"))}
    assert unwrapped(COLLECTION, keys, raw("relayed")) == (raw("answer_key"), raw("envelope"))
    assert len(answered(raw("answer_key"), 201)) == len(raw("relayed_201"))
    assert status_of(raw("answer_key"), raw("relayed_201")) == 201


FRAGMENTS = json.loads((Path(__file__).parent / "vectors" / "fragments.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("by", ["report", "attribute"])
def test_the_bytes_of_a_fragment_never_change(by: str) -> None:
    vector = FRAGMENTS[by]
    held: dict[str, Any] = {
        name: bytes.fromhex(vector[name]) for name in vector if name not in ("collection", "fragments")
    }
    secrets = {name: bytes.fromhex(text) for name, text in FRAGMENTS["secrets"].items()}
    poll = reader.read(vector["collection"])
    assert poll.digest == held["hash"]
    assert reader.sign(poll, Key("ed25519", secrets["operator"])).to_json().decode() == vector["collection"]
    assert poll.fragments is not None
    fragments = poll.fragments.split(held["whole"])
    assert [fragment.hex() for fragment in fragments] == vector["fragments"]
    assert poll.message.fingerprint == held["message_fingerprint"]
    envelope = Envelope.from_bytes(poll, held["envelope"])
    assert (
        tokens.tagged(tokens.Token(1, held["id"], held["token"]), poll, envelope.sealed).to_bytes() == held["envelope"]
    )
    assert tokens.redeemable(secrets["token"], poll, envelope)
    diverted = Envelope(1, envelope.id, b"\1" + envelope.sealed[1:], envelope.tag)
    assert not tokens.redeemable(secrets["token"], poll, diverted), "the token covers the way"
    assert envelope.sealed[0] == 2
    key = Key("x25519", secrets["shuffler2"]).private
    inside = opened_by(key, envelope.sealed[1:], layer_info("shuffler2", poll.digest, 1))
    assert inside is not None
    assert poll.crowd is not None
    assert inside[:ID_BYTES] == held["shuffler_id"]
    assert inside[ID_BYTES : ID_BYTES + 32] == held["crowd"] == crowd_id(poll, poll.crowd.name(fragments[1]))
    report = opened(poll, 1, Key("x25519", secrets["report"]).private, inside[ID_BYTES + 32 :])
    assert report == (held["inner_id"], fragments[1])
    assert Reports.from_bytes(poll.message, fragments[1]).n == 1


def string_protocol() -> StringProtocol:
    ours = reader.read(STRINGS["collection"])
    assert isinstance(ours.protocol, StringProtocol)
    return ours.protocol


def test_a_file_about_strings_has_the_same_hash_and_signature() -> None:
    ours = reader.read(STRINGS["collection"])
    assert ours.digest.hex() == STRINGS["hash"]
    again = reader.sign(ours, Key("ed25519", bytes.fromhex(STRINGS["operator_secret"])))
    assert again.to_json().decode() == STRINGS["collection"]


def test_a_seed_is_the_same() -> None:
    raw = {name: bytes.fromhex(STRINGS[name]) for name in ("blind", "blinded", "evaluated", "proof", "seed", "hash")}
    strings = string_protocol().in_epoch(raw["hash"], 1)
    given = strings.function_input(STRINGS["text"].encode())
    assert given.hex() == STRINGS["function_input"]
    question = Question(given, raw["blind"], raw["blinded"])
    key = reader.read(STRINGS["collection"]).epochs[0].string_key or b""
    assert question.seed(key, raw["evaluated"] + raw["proof"]) == raw["seed"]
    assert oprf.evaluate(bytes.fromhex(STRINGS["string_secret"]), given) == raw["seed"]


def test_messages_of_a_string_open_and_are_the_same_but_for_their_shares() -> None:
    protocol, digest, text = string_protocol(), bytes.fromhex(STRINGS["hash"]), STRINGS["text"].encode()
    reports = [bytes.fromhex(report) for report in STRINGS["reports"]]
    again, crowd = protocol.report(digest, 1, text, bytes.fromhex(STRINGS["seed"]))
    assert {report[:-64] for report in reports} == {again[:-64]}
    assert crowd.hex() == STRINGS["crowd"]
    strings = protocol.in_epoch(digest, 1)
    assert strings.opened([report[28:] for report in reports]) == [OpenedString(text, 3)]
    public, public_crowd = replace(protocol, randomness="none").report(digest, 1, text, None)
    assert (public[:-64].hex(), public_crowd.hex()) == (STRINGS["public_report"][:-128], STRINGS["public_crowd"])
    assert len(STRINGS["nothing"]) == len(STRINGS["reports"][0])
