"""Crowds that two shufflers count and neither can read: El Gamal over ristretto255, blinded with a secret exponent.

    device        pair (rG, H + rX) of the crowd's element H = hash to the group of its id; X is the thresholder's key
    blinder       multiplies both halves by α: one secret for the whole batch, drawn anew for each and never stored
    thresholder   αH = second half − x · first half: equal for equal crowds of the batch, meaningless otherwise

The blinder cannot read H without x. The thresholder knows no α, so it cannot try out crowds: it can only compare what
the blinder sent. Multiplying by α makes a fresh encryption for whoever does not know r, which is everybody but the
device that drew it, because the pair travels inside the blinder's layer.
Proof: blinding.md
"""

from __future__ import annotations

from lapwing import ristretto
from lapwing.collect import oprf
from lapwing.noise import SYSTEM, Entropy

PAIR_BYTES = 2 * oprf.ELEMENT_BYTES


def encrypted(key: bytes, crowd: bytes, entropy: Entropy = SYSTEM) -> bytes:
    """A pair for the holder of a key."""
    scalar = oprf.random_scalar(entropy)
    return oprf.base_times(scalar) + oprf.add(oprf.hash_to_group(crowd), oprf.times(scalar, key))


def is_pair(pair: bytes) -> bool:
    """Whether these bytes encrypt something."""
    return all(map(oprf.is_element, (pair[: oprf.ELEMENT_BYTES], pair[oprf.ELEMENT_BYTES :])))


def blinded(pairs: bytes, exponent: bytes) -> bytes:
    """The pairs of the blinded crowds, one after another."""
    return ristretto.times_all(exponent, pairs)


def pseudonym(pair: bytes, secret: bytes) -> bytes | None:
    """The blinded crowd, for the holder of the key; None if these bytes are no pair."""
    return ristretto.difference_of_multiple(pair[oprf.ELEMENT_BYTES :], secret, pair[: oprf.ELEMENT_BYTES])
