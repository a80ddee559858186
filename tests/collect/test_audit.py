"""The auditor on what each party of a small collection sees of one person, through the code that runs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from collecting import CROWD, Keys, document

from lapwing.adversary import audit
from lapwing.collect import blinding, oprf, reader, tokens
from lapwing.collect.collection import Collection
from lapwing.collect.relay import wrapped
from lapwing.collect.sealing import ID_BYTES, Envelope, layer_info, opened, opened_by, seal
from lapwing.crowd import Reports
from lapwing.noise import Entropy
from lapwing.privacy import PureDP

FALSE_ALARM = 1e-6
KEYS = Keys()
POLL = {"protocol": "BinaryResponse", "yes_if_yes": "3/4", "yes_if_no": "1/4"}
COLLECTION = reader.sign(reader.checked(document(KEYS, protocol=POLL)), KEYS.operator)
SAMPLES = 3_000


def sent(answer: bool, entropy: Entropy) -> bytes:
    """What one device sends for one slot."""
    request = tokens.request(1, 1, entropy)
    [token] = request.tokens(KEYS.tokens.public, tokens.issue(KEYS.tokens.secret, request.to_bytes(), entropy))
    report = COLLECTION.protocol.randomize([answer], entropy).to_bytes()
    return tokens.tagged(token, COLLECTION, seal(COLLECTION, 1, report, entropy)).to_bytes()


def network(answer: bool, entropy: Entropy) -> Any:
    return len(sent(answer, entropy))


def ingestor(answer: bool, entropy: Entropy) -> Any:
    """It sees the envelope. The auditor gets bytes of the cipher text as numbers, where a leak would show."""
    envelope = Envelope.from_bytes(COLLECTION, sent(answer, entropy))
    return envelope.epoch, hashlib.sha256(envelope.sealed).digest()[0] % 8, envelope.sealed[-1] % 8, envelope.id[0] % 8


def relay(answer: bool, entropy: Entropy) -> Any:
    _, body = wrapped(COLLECTION, 1, sent(answer, entropy), entropy)
    return len(body), body[4] % 8, body[-1] % 8


def aggregator(answer: bool, entropy: Entropy) -> Any:
    inside = opened(COLLECTION, 1, KEYS.reports.private, Envelope.from_bytes(COLLECTION, sent(answer, entropy)).sealed)
    assert inside is not None
    return int(Reports.from_bytes(COLLECTION.protocol, inside[1]).columns[0][0])


def careless_aggregator(answer: bool, entropy: Entropy) -> Any:
    """Devices that send a truthful answer along: the control."""
    return aggregator(answer, entropy), answer if entropy.bits(2) == 0 else None


CROWD_OF_ANSWERS = {**CROWD, "from": "answer"}
BLINDED = reader.sign(
    reader.checked(document(KEYS, protocol=POLL, transport="blinded", crowd=CROWD_OF_ANSWERS)), KEYS.operator
)


def in_the_blinders_layer(answer: bool, entropy: Entropy) -> bytes:
    """Where crowds are made of true answers."""
    assert BLINDED.crowd is not None
    report = BLINDED.protocol.randomize([answer], entropy).to_bytes()
    sealed = seal(BLINDED, 1, report, entropy, crowd=BLINDED.crowd.name(report, answer=answer))
    plain = opened_by(KEYS.hops["blinder"].private, sealed, layer_info("blinder", BLINDED.digest, 1))
    assert plain is not None
    return plain[ID_BYTES:]


def blinder(answer: bool, entropy: Entropy) -> Any:
    plain = in_the_blinders_layer(answer, entropy)
    return len(plain), plain[1] % 4, plain[33] % 4, plain[-1] % 4


def thresholder(answer: bool, entropy: Entropy) -> Any:
    """Of one report; how many share its name is another matter."""
    pair = blinding.blinded(in_the_blinders_layer(answer, entropy)[: blinding.PAIR_BYTES], oprf.random_scalar(entropy))
    name = blinding.pseudonym(pair, KEYS.crowds.secret)
    assert name is not None
    return pair[1] % 4, pair[33] % 4, name[1] % 4


PARTIES = [network, ingestor, relay, blinder, thresholder]


@pytest.mark.parametrize("view", PARTIES, ids=lambda view: view.__name__)
def test_who_cannot_open_reports_learns_nothing(view: Callable[..., Any]) -> None:
    nothing = PureDP(0, relation="replace")
    result = audit(
        view, (True, False), samples=SAMPLES // 3, confidence=1 - FALSE_ALARM, relation="replace", claimed=nothing
    )
    assert not result.caught


def test_the_aggregator_learns_the_stated_loss_and_no_more() -> None:
    claimed = COLLECTION.protocol.privacy_loss()
    result = audit(
        aggregator, (True, False), samples=SAMPLES, confidence=1 - FALSE_ALARM, relation="replace", claimed=claimed
    )
    assert not result.caught
    assert result.epsilon_lower_bound > 0.6 * float(claimed.epsilon)  # the audit has power


def test_a_device_that_sends_too_much_is_caught() -> None:
    claimed = COLLECTION.protocol.privacy_loss()
    result = audit(
        careless_aggregator,
        (True, False),
        samples=SAMPLES,
        confidence=1 - FALSE_ALARM,
        relation="replace",
        claimed=claimed,
    )
    assert result.caught


def test_a_version_of_the_collection_is_bound_into_what_is_sent() -> None:
    newer: Collection = reader.sign(reader.checked(document(KEYS, protocol=POLL, version=2)), KEYS.operator)
    assert newer.digest != COLLECTION.digest
