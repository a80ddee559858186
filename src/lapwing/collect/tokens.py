"""Blind tokens in the manner of Privacy Pass: one token, one report, and nobody can tell whose.

    device   draws an id, blinds it, and asks the issuer            (who the device is may be asked here)
    issuer   evaluates what it cannot read, with a proof
    device   unblinds: token = F(key, id), a secret of device and issuer
    device   tags its sealed report with that secret; the id travels with it
    ingestor computes F(key, id) anew, checks the tag, and takes each id once in an epoch

Privacy: what the issuer saw is uniformly random whatever the ids are, so ids that arrive with reports fit every device
that asked equally well. A key of its own for one device would mark it: devices check the proof against the key in the
signed file. The tag covers the sealed report, so nobody on the way can put another report under a token.
The party that redeems tokens needs the issuer's secret key: it can make tokens, and so poison, but it cannot link.
Proof: tokens.md
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lapwing.collect import oprf
from lapwing.collect.sealing import EPOCH_BYTES, TAG_BYTES, Envelope, random_id
from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM, Entropy

if TYPE_CHECKING:
    from lapwing.collect.collection import Collection

MOST_AT_ONCE = 2048
"""Tokens in one request."""
_TAG = b"lapwing token 1"


@dataclass(frozen=True, slots=True)
class Token:
    """The right to send one report in an epoch. Whoever has it can use it: keep it on the device."""

    epoch: int
    id: bytes
    secret: bytes

    def __repr__(self) -> str:
        return f"<token of epoch {self.epoch}>"


@dataclass(frozen=True, slots=True)
class Request:
    """What a device keeps while it waits for the issuer, and `blinded`, which it sends."""

    epoch: int
    ids: tuple[bytes, ...]
    blinds: tuple[bytes, ...]
    blinded: tuple[bytes, ...]

    def __repr__(self) -> str:
        return f"<request for {len(self.ids)} tokens of epoch {self.epoch}>"

    def to_bytes(self) -> bytes:
        """What is sent: the elements, one after another."""
        return b"".join(self.blinded)

    def to_json(self) -> str:
        """To be kept on the device until the issuer answers."""
        lists = {"ids": self.ids, "blinds": self.blinds, "blinded": self.blinded}
        return json.dumps(
            {"epoch": self.epoch} | {name: [item.hex() for item in items] for name, items in lists.items()}
        )

    @classmethod
    def from_json(cls, text: str) -> Request:
        """What was kept."""
        kept = json.loads(text)
        lists = (tuple(map(bytes.fromhex, kept[name])) for name in ("ids", "blinds", "blinded"))
        return cls(kept["epoch"], *lists)

    def tokens(self, key: bytes, answer: bytes) -> list[Token]:
        """The tokens in an issuer's answer, if it used this key for all of them."""
        size, count = oprf.ELEMENT_BYTES, len(self.ids)
        if len(answer) != size * count + oprf.PROOF_BYTES:
            raise InvalidParameter("answer", "<bytes>", "has the wrong length", "Ask the issuer again.")
        evaluated, proof = split(answer[: size * count]), answer[size * count :]
        oprf.verify(key, self.blinded, evaluated, proof)
        parts = zip(self.ids, self.blinds, evaluated, strict=True)
        return [Token(self.epoch, id, oprf.finalize(id, blind, element)) for id, blind, element in parts]


def request(epoch: int, count: int, entropy: Entropy = SYSTEM) -> Request:
    """Ask for so many tokens of an epoch."""
    if not 1 <= count <= MOST_AT_ONCE:
        raise InvalidParameter("count", count, f"must be 1 to {MOST_AT_ONCE:,}", "Ask several times.")
    ids = tuple(random_id(entropy) for _ in range(count))
    blinds, blinded = zip(*(oprf.blind(id, entropy) for id in ids), strict=True)
    return Request(epoch, ids, blinds, blinded)


def issue(secret_key: bytes, blinded: bytes, entropy: Entropy = SYSTEM) -> bytes:
    """The issuer's answer: evaluated elements and a proof. Nothing of it depends on who asked."""
    evaluated, proof = oprf.blind_evaluate(secret_key, split(blinded), entropy)
    return b"".join(evaluated) + proof


def tagged(token: Token, collection: Collection, sealed: bytes) -> Envelope:
    """A sealed report under a token."""
    tag = _tag(token.secret, collection.digest, token.epoch, token.id, sealed)
    return Envelope(token.epoch, token.id, sealed, tag)


def redeemable(secret_key: bytes, collection: Collection, envelope: Envelope) -> bool:
    """Whether the tag is that of a token of this key; whether it was used before is the store's business."""
    secret = oprf.evaluate(secret_key, envelope.id)
    tag = _tag(secret, collection.digest, envelope.epoch, envelope.id, envelope.sealed)
    return hmac.compare_digest(tag, envelope.tag)


def split(elements: bytes) -> Sequence[bytes]:
    """Elements one after another, as a list."""
    size = oprf.ELEMENT_BYTES
    if not elements or len(elements) % size or len(elements) > size * MOST_AT_ONCE:
        why = f"must be 1 to {MOST_AT_ONCE:,} elements of {size} bytes"
        raise InvalidParameter("elements", "<bytes>", why, "Send what `request` made.")
    return [elements[start : start + size] for start in range(0, len(elements), size)]


def _tag(secret: bytes, digest: bytes, epoch: int, id: bytes, sealed: bytes) -> bytes:
    message = _TAG + digest + epoch.to_bytes(EPOCH_BYTES, "little") + id + sealed
    return hmac.digest(secret, message, "sha256")[:TAG_BYTES]
