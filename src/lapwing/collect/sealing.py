"""Reports in sealed envelopes: HPKE (RFC 9180) with X25519, HKDF-SHA256 and ChaCha20-Poly1305.

    envelope   epoch (4 bytes, little-endian) ‖ id (16) ‖ tag (16) ‖ sealed report
    report     inner id (16) ‖ the bytes of one report of `crowd` ("LWR1" …)

All envelopes of a collection have the same length. The id is random and serves the ingestor alone: it removes
duplicates and goes no further. The inner id is random, too, and independent of it: whoever opens reports removes
duplicates by it, and cannot tell from it which envelope a report came in. The tag belongs to the token (`tokens.py`);
it is zero where a collection has none. Hash of the collection and epoch are inputs of the encryption (`info`), so
nothing opens under other promises.

With shufflers on the way a report is wrapped once more for each of them (‖ joins bytes, all lengths are fixed):

    shuffled   for the shuffler     id (16) ‖ crowd (32) ‖ sealed report
    blinded    for the thresholder  id (16) ‖ sealed report                        = payload
               for the blinder      id (16) ‖ encrypted crowd (64) ‖ payload

Where an answer travels in fragments, each of them is such a report, and one byte before the outer layer says which
shuffler it is for (1 is `shuffler`, 2 is `shuffler2`, …). The token covers that byte, and the ingestor cuts it off.

Each layer has an id of its own, which its reader drops. Aggregator and shuffler remove duplicates by it; blinder and
thresholder do so by a hash of the payload, which both of them see, so that both count the same reports (`blinder.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from lapwing.collect import blinding
from lapwing.collect.collection import role
from lapwing.collect.crowds import CROWD_BYTES, crowd_id
from lapwing.collect.string_protocol import StringProtocol
from lapwing.crowd.reports import HEADER_BYTES
from lapwing.errors import InvalidParameter, MissingExtra
from lapwing.noise import SYSTEM, Entropy, uniform_below

if TYPE_CHECKING:
    from lapwing.collect.collection import Collection, Epoch
    from lapwing.crowd.protocol import Protocol

EPOCH_BYTES, ID_BYTES, TAG_BYTES = 4, 16, 16
HEAD_BYTES = EPOCH_BYTES + ID_BYTES + TAG_BYTES
SEAL_BYTES = 32 + 16
"""What sealing adds: the key of one envelope, and the tag of the cipher."""
NO_TAG = bytes(TAG_BYTES)
ROUTE_BYTES = 1
"""Which shuffler a fragment is for."""
LABELS = {
    "aggregator": b"lapwing report 1",
    "shuffler": b"lapwing shuffle1",
    "blinder": b"lapwing blinder1",
    "thresholder": b"lapwing thresh 1",
}
"""What a layer is sealed as, by who opens it: 16 bytes each."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """What a device sends."""

    epoch: int
    id: bytes
    sealed: bytes
    tag: bytes = NO_TAG

    def to_bytes(self) -> bytes:
        """As it travels."""
        return self.epoch.to_bytes(EPOCH_BYTES, "little") + self.id + self.tag + self.sealed

    @classmethod
    def from_bytes(cls, collection: Collection, data: bytes) -> Envelope:
        """As it came; refused if it has not the length that all of this collection have."""
        if len(data) != envelope_bytes(collection):
            raise InvalidParameter("envelope", "<bytes>", "has the wrong length", "Send it as it was made.")
        id_end, tag_end = EPOCH_BYTES + ID_BYTES, HEAD_BYTES
        return cls(
            int.from_bytes(data[:EPOCH_BYTES], "little"), data[EPOCH_BYTES:id_end], data[tag_end:], data[id_end:tag_end]
        )


def random_id(entropy: Entropy = SYSTEM) -> bytes:
    """16 random bytes, which two reports never share."""
    return entropy.bits(8 * ID_BYTES).to_bytes(ID_BYTES, "little")


def report_bytes(protocol: Protocol | StringProtocol) -> int:
    """How long one report of a protocol is."""
    if isinstance(protocol, StringProtocol):
        return protocol.report_bytes
    return HEADER_BYTES + sum(-(-column.bits // 8) for column in protocol.layout)


def row_bytes(collection: Collection, party: str) -> int:
    """How long what a party on the route gets of each report is."""
    report = SEAL_BYTES + ID_BYTES + report_bytes(collection.message)
    payload = SEAL_BYTES + ID_BYTES + report
    return {
        "aggregator": report,
        "shuffler": SEAL_BYTES + ID_BYTES + CROWD_BYTES + report,
        "thresholder": blinding.PAIR_BYTES + payload,
        "blinder": SEAL_BYTES + ID_BYTES + blinding.PAIR_BYTES + payload,
    }[role(party)]


def route_bytes(collection: Collection) -> int:
    """How many bytes before the outer layer say whom it is for."""
    return 0 if collection.fragments is None else ROUTE_BYTES


def envelope_bytes(collection: Collection) -> int:
    """How long every envelope of a collection is."""
    return HEAD_BYTES + route_bytes(collection) + row_bytes(collection, collection.after("ingestor"))


def drawn_shuffler(collection: Collection, entropy: Entropy = SYSTEM) -> int:
    """The number of the shuffler that a fragment is for: by coins alone. 0 where nothing is to be chosen."""
    return 1 + uniform_below(len(collection.shufflers), entropy=entropy) if collection.shufflers else 0


def seal(
    collection: Collection,
    epoch: int,
    report: bytes,
    entropy: Entropy = SYSTEM,
    *,
    crowd: bytes | None = None,
    shuffler: int | None = None,
) -> bytes:
    """One report in all its layers. `crowd` is the name of its crowd; one made of the report needs none.

    `shuffler` is what `drawn_shuffler` has drawn; it is drawn now if left out.
    """
    keys = collection.numbered(epoch)
    if keys is None:
        raise InvalidParameter("epoch", epoch, "is not an epoch of this collection", "Use one that its file names.")
    if len(report) != report_bytes(collection.message):
        raise InvalidParameter("report", "<bytes>", "has the wrong length", "Seal the bytes of one report.")
    sealed = _layer(collection, keys, "aggregator", random_id(entropy) + report)
    if collection.crowd is None:
        return sealed
    name = collection.crowd.name(report) if crowd is None else crowd
    if collection.transport == "shuffled":
        number = drawn_shuffler(collection, entropy) if shuffler is None else shuffler
        party = collection.shufflers[number - 1] if collection.shufflers else "shuffler"
        layer = _layer(collection, keys, party, random_id(entropy) + crowd_id(collection, name) + sealed)
        return number.to_bytes(route_bytes(collection), "little") + layer
    pair, payload = _for_blinder(collection, keys, sealed, name, entropy)
    return _layer(collection, keys, "blinder", random_id(entropy) + pair + payload)


def blinder_plain(
    collection: Collection, keys: Epoch, report: bytes, crowd: bytes, entropy: Entropy = SYSTEM
) -> tuple[bytes, bytes]:
    """What the blinder finds in its layer beside the id: the encrypted crowd and the layer of the thresholder."""
    sealed = _layer(collection, keys, "aggregator", random_id(entropy) + report)
    return _for_blinder(collection, keys, sealed, crowd, entropy)


def _for_blinder(
    collection: Collection, keys: Epoch, sealed: bytes, crowd: bytes, entropy: Entropy
) -> tuple[bytes, bytes]:
    pair = blinding.encrypted(keys.crowd_key or b"", crowd_id(collection, crowd), entropy)
    return pair, _layer(collection, keys, "thresholder", random_id(entropy) + sealed)


def _layer(collection: Collection, keys: Epoch, party: str, plain: bytes) -> bytes:
    key = keys.report_key if party == "aggregator" else keys.hop_keys[party]
    return sealed_for(key, plain, layer_info(party, collection.digest, keys.number))


def opened(collection: Collection, epoch: int, private_key: Any, sealed: bytes) -> tuple[bytes, bytes] | None:
    """Inner id and report; None if it was not sealed for this key, collection and epoch."""
    plain = opened_by(private_key, sealed, layer_info("aggregator", collection.digest, epoch))
    return None if plain is None else (plain[:ID_BYTES], plain[ID_BYTES:])


def sealed_for(key: bytes, plain: bytes, info: bytes) -> bytes:
    """Bytes for the holder of an X25519 key."""
    return bytes(_suite().encrypt(plain, _public(key), info))


@lru_cache(maxsize=64)
def _public(key: bytes) -> Any:
    """Parsed once: a collection has a few keys, and many reports are sealed for each of them (cached)."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

    return X25519PublicKey.from_public_bytes(key)


def opened_by(private_key: Any, sealed: bytes, info: bytes) -> bytes | None:
    """What was sealed for this key; None if nothing was."""
    [plain] = opened_in_turn(private_key, [sealed], info)
    return plain


def opened_in_turn(private_key: Any, messages: Iterable[bytes], info: bytes) -> Iterator[bytes | None]:
    """What was sealed in each of many messages for this key; None where nothing was."""
    from cryptography.exceptions import InvalidTag

    decrypt, refused = _suite().decrypt, (InvalidTag, ValueError)
    for sealed in messages:
        try:
            plain = decrypt(sealed, private_key, info)
        except refused:
            plain = None
        yield plain


def layer_info(party: str, digest: bytes, epoch: int) -> bytes:
    """What a layer is bound to: who opens it, this collection, this epoch."""
    return LABELS[role(party)] + digest + epoch.to_bytes(EPOCH_BYTES, "little")


@cache
def _suite() -> Any:
    try:
        from cryptography.hazmat.primitives import hpke
    except ImportError:
        raise MissingExtra("cryptography>=47", "collect") from None
    return hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.CHACHA20_POLY1305)
