"""Blind tokens: the RFC's vectors, what nobody may do with them, and what the issuer cannot know."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import pytest
from collecting import Keys, document

from lapwing.collect import oprf, reader, tokens
from lapwing.collect.oprf import NotVerified
from lapwing.collect.sealing import Envelope, random_id, seal
from lapwing.collect.tokens import Token
from lapwing.errors import InvalidParameter
from lapwing.noise import Reproducible

KEYS = Keys()
COLLECTION = reader.sign(reader.checked(document(KEYS)), KEYS.operator)
VECTORS = json.loads((Path(__file__).parent / "vectors" / "rfc9497.json").read_text(encoding="utf-8"))
REPORT = COLLECTION.protocol.randomize(["bus"]).to_bytes()


def some_tokens(count: int = 3) -> list[Token]:
    request = tokens.request(1, count)
    return request.tokens(KEYS.tokens.public, tokens.issue(KEYS.tokens.secret, request.to_bytes()))


def test_the_vectors_of_rfc_9497() -> None:
    secret, public = bytes.fromhex(VECTORS["secret"]), bytes.fromhex(VECTORS["public"])
    assert oprf.public_key(secret) == public
    for vector in VECTORS["vectors"]:
        data, blinds, blinded, evaluated, output = (
            list(map(bytes.fromhex, vector[name])) for name in ("input", "blind", "blinded", "evaluated", "output")
        )
        assert [oprf.times(b, oprf.hash_to_group(x)) for b, x in zip(blinds, data, strict=True)] == blinded
        assert oprf.blind_evaluate(secret, blinded)[0] == evaluated
        proof = oprf._proof(secret, public, blinded, evaluated, bytes.fromhex(vector["nonce"]))
        assert proof.hex() == vector["proof"]
        oprf.verify(public, blinded, evaluated, proof)
        assert [oprf.finalize(x, b, e) for x, b, e in zip(data, blinds, evaluated, strict=True)] == output
        assert [oprf.evaluate(secret, x) for x in data] == output


def test_a_token_admits_one_sealed_report_and_no_other() -> None:
    token, other, _ = some_tokens()
    sealed = seal(COLLECTION, 1, REPORT)
    envelope = tokens.tagged(token, COLLECTION, sealed)
    assert tokens.redeemable(KEYS.tokens.secret, COLLECTION, envelope)
    swapped = [
        Envelope(1, token.id, seal(COLLECTION, 1, REPORT), envelope.tag),  # another report under it
        Envelope(1, other.id, sealed, envelope.tag),
        Envelope(2, token.id, sealed, envelope.tag),
        Envelope(1, random_id(), sealed, bytes(16)),
        Envelope(1, token.id, sealed[:-1] + bytes([sealed[-1] ^ 1]), envelope.tag),
    ]
    assert not any(tokens.redeemable(KEYS.tokens.secret, COLLECTION, wrong) for wrong in swapped)
    assert not tokens.redeemable(oprf.random_scalar(), COLLECTION, envelope)
    newer = reader.sign(reader.checked(document(KEYS, version=2)), KEYS.operator)
    assert not tokens.redeemable(KEYS.tokens.secret, newer, envelope)


def test_an_issuer_that_marks_devices_by_another_key_is_caught() -> None:
    request = tokens.request(1, 4)
    elements = request.to_bytes()
    honest, marked = KEYS.tokens.secret, oprf.random_scalar()
    with pytest.raises(NotVerified):
        request.tokens(KEYS.tokens.public, tokens.issue(marked, elements))
    mixed = bytearray(tokens.issue(honest, elements))
    mixed[:32] = tokens.issue(marked, elements[:32])[:32]  # one of four tokens under another key
    with pytest.raises(NotVerified):
        request.tokens(KEYS.tokens.public, bytes(mixed))
    true = tokens.issue(honest, elements)[-64:]
    for proof in (bytes(64), b"\xff" * 64, true[:-1] + bytes([true[-1] ^ 1])):
        with pytest.raises(NotVerified):
            request.tokens(KEYS.tokens.public, tokens.issue(honest, elements)[:-64] + proof)


@pytest.mark.parametrize(
    "bad", [b"", b"x", bytes(32), b"\xff" * 32, bytes(33)], ids=["none", "short", "zero", "off", "long"]
)
def test_what_is_no_element_is_refused(bad: bytes) -> None:
    with pytest.raises(InvalidParameter):
        tokens.issue(KEYS.tokens.secret, bad)


def test_what_the_issuer_saw_fits_every_token_equally() -> None:
    """The views are independent: for every pairing of requests with tokens there are blinds that explain it, one each.

    The issuer saw blinded elements B_i; redeemed are ids x_j. For any i, j the scalar r = log B_i to the base H(x_j)
    exists and is unique, and r is uniform, so no pairing is likelier than another. The issuer cannot compute r; the
    test can, because it knows both blinds: r_ij = r_i · h_i / h_j, where H(x) = h·G is made with known h.
    """
    order = oprf.ORDER
    logs = [int.from_bytes(oprf.random_scalar(Reproducible(i)), "little") for i in range(3)]
    blinds = [int.from_bytes(oprf.random_scalar(Reproducible(10 + i)), "little") for i in range(3)]
    points = [oprf.base_times(log.to_bytes(32, "little")) for log in logs]
    seen = [oprf.times(blind.to_bytes(32, "little"), point) for blind, point in zip(blinds, points, strict=True)]
    for pairing in permutations(range(3)):
        for i, j in enumerate(pairing):
            explained = blinds[i] * logs[i] * pow(logs[j], -1, order) % order
            assert oprf.times(explained.to_bytes(32, "little"), points[j]) == seen[i]


def test_the_same_ids_are_blinded_differently_every_time() -> None:
    name = random_id()
    assert len({oprf.blind(name)[1] for _ in range(20)}) == 20


def test_a_request_survives_a_restart_of_the_device() -> None:
    request = tokens.request(1, 2)
    again = tokens.Request.from_json(request.to_json())
    assert again == request
    assert again.tokens(KEYS.tokens.public, tokens.issue(KEYS.tokens.secret, request.to_bytes()))
    assert "secret" not in repr(some_tokens(1)[0])
