"""A verifiable oblivious pseudorandom function: RFC 9497, mode VOPRF, ristretto255 with SHA-512.

    device   input → blinded element, with a secret blind
    server   blinded elements → evaluated elements, and a proof that the key of the signed file was used
    device   evaluated element, blind → output = F(key, input), 64 bytes that look random to whoever lacks the key

The server sees elements that are uniformly random whatever the input is, so it cannot recognise an input or an output
later. The names of the steps are those of the RFC, and its test vectors run in the tests.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from lapwing import ristretto
from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM, Entropy
from lapwing.ristretto import ELEMENT_BYTES as ELEMENT_BYTES
from lapwing.ristretto import ORDER as ORDER
from lapwing.ristretto import SCALAR_BYTES as SCALAR_BYTES
from lapwing.ristretto import add as add
from lapwing.ristretto import base_times as base_times
from lapwing.ristretto import is_element as is_element
from lapwing.ristretto import subtract as subtract
from lapwing.ristretto import times as times

PROOF_BYTES = 64
OUTPUT_BYTES = 64
CONTEXT = b"OPRFV1-\x01-ristretto255-SHA512"
_BLOCK = 128  # of SHA-512


class NotVerified(InvalidParameter):
    """A server evaluated with another key than the one it has published."""

    def __init__(self) -> None:
        why = "was made with another key than the signed file names, which could mark a device"
        super().__init__("proof", "<bytes>", why, "Do not use these tokens, and tell the operator.")


def random_scalar(entropy: Entropy = SYSTEM) -> bytes:
    """A uniform scalar that is not zero."""
    from lapwing.noise import uniform_below

    return (1 + uniform_below(ORDER - 1, entropy=entropy)).to_bytes(SCALAR_BYTES, "little")


def public_key(secret: bytes) -> bytes:
    """The element that commits to a secret key."""
    return base_times(secret)


def blind(data: bytes, entropy: Entropy = SYSTEM) -> tuple[bytes, bytes]:
    """A secret blind, and the blinded element."""
    scalar = random_scalar(entropy)
    return scalar, times(scalar, hash_to_group(data))


def blind_evaluate(secret: bytes, blinded: Sequence[bytes], entropy: Entropy = SYSTEM) -> tuple[list[bytes], bytes]:
    """The evaluated elements, and one proof for all of them."""
    for element in blinded:
        if not is_element(element):
            raise InvalidParameter(
                "blinded", "<bytes>", "is not an element of the group", "Send what `blind` returned."
            )
    evaluated = [times(secret, element) for element in blinded]
    return evaluated, _proof(secret, public_key(secret), blinded, evaluated, random_scalar(entropy))


def verify(key: bytes, blinded: Sequence[bytes], evaluated: Sequence[bytes], proof: bytes) -> None:
    """Refuse what was not evaluated with this key."""
    shapely = len(blinded) == len(evaluated) and len(proof) == PROOF_BYTES and all(map(is_element, evaluated))
    if not shapely or not is_element(key):
        raise NotVerified
    challenge, response = proof[:SCALAR_BYTES], proof[SCALAR_BYTES:]
    if not all(0 < int.from_bytes(scalar, "little") < ORDER for scalar in (challenge, response)):
        raise NotVerified
    ours, theirs = _composites(key, blinded, evaluated)
    base = add(base_times(response), times(challenge, key))
    power = add(times(response, ours), times(challenge, theirs))
    if _challenge(key, ours, theirs, base, power) != challenge:
        raise NotVerified


def finalize(data: bytes, scalar: bytes, evaluated: bytes) -> bytes:
    """The output, for whoever knows the blind."""
    return _output(data, times(ristretto.inverse(scalar), evaluated))


def evaluate(secret: bytes, data: bytes) -> bytes:
    """The output, for whoever knows the key."""
    return _output(data, times(secret, hash_to_group(data)))


def _output(data: bytes, element: bytes) -> bytes:
    return hashlib.sha512(_sized(data) + _sized(element) + b"Finalize").digest()


def _proof(secret: bytes, key: bytes, blinded: Sequence[bytes], evaluated: Sequence[bytes], nonce: bytes) -> bytes:
    ours = _sum(_weights(key, blinded, evaluated), blinded)  # the other composite is a power of this one
    challenge = _challenge(key, ours, times(secret, ours), base_times(nonce), times(nonce, ours))
    return challenge + ristretto.scalar_difference(nonce, ristretto.scalar_product(challenge, secret))


def _composites(key: bytes, blinded: Sequence[bytes], evaluated: Sequence[bytes]) -> tuple[bytes, bytes]:
    """Random sums of both lists: equal powers in all places if, but for 2^-252, they are in the sum."""
    weights = _weights(key, blinded, evaluated)
    return _sum(weights, blinded), _sum(weights, evaluated)


def _weights(key: bytes, blinded: Sequence[bytes], evaluated: Sequence[bytes]) -> list[bytes]:
    """A scalar for each place that depends on everything in both lists."""
    if not blinded:
        raise InvalidParameter("blinded", [], "must be one element or more", "Pass what `blind` returned.")
    seed = hashlib.sha512(_sized(key) + _sized(b"Seed-" + CONTEXT)).digest()
    return [
        _hash_to_scalar(_sized(seed) + place.to_bytes(2, "big") + _sized(before) + _sized(after) + b"Composite")
        for place, (before, after) in enumerate(zip(blinded, evaluated, strict=True))
    ]


def _sum(weights: Sequence[bytes], elements: Sequence[bytes]) -> bytes:
    total, *others = (times(weight, element) for weight, element in zip(weights, elements, strict=True))
    for other in others:
        total = add(total, other)
    return total


def _challenge(key: bytes, *elements: bytes) -> bytes:
    return _hash_to_scalar(b"".join(map(_sized, (key, *elements))) + b"Challenge")


def hash_to_group(data: bytes) -> bytes:
    """An element whose logarithm nobody knows."""
    return ristretto.from_hash(_expanded(data, b"HashToGroup-" + CONTEXT))


def _hash_to_scalar(data: bytes) -> bytes:
    wide = int.from_bytes(_expanded(data, b"HashToScalar-" + CONTEXT), "little")
    return (wide % ORDER).to_bytes(SCALAR_BYTES, "little")


def _expanded(data: bytes, tag: bytes) -> bytes:
    """64 bytes by expand_message_xmd of RFC 9380, which for SHA-512 are one block."""
    suffix = tag + bytes([len(tag)])
    first = hashlib.sha512(bytes(_BLOCK) + data + (64).to_bytes(2, "big") + b"\0" + suffix).digest()
    return hashlib.sha512(first + b"\1" + suffix).digest()


def _sized(data: bytes) -> bytes:
    return len(data).to_bytes(2, "big") + data
