"""HPKE (RFC 9180, base mode, one shot) with a key of our choice for the message, which libraries draw themselves."""

from __future__ import annotations

import hashlib
import hmac

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

KEM, SUITE = b"KEM\x00\x20", b"HPKE\x00\x20\x00\x01\x00\x03"


def _extract(suite: bytes, salt: bytes, label: bytes, secret: bytes) -> bytes:
    return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + secret, hashlib.sha256)


def _expand(suite: bytes, key: bytes, label: bytes, info: bytes, size: int) -> bytes:
    """At most 32 bytes: one block of HKDF."""
    labelled = size.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info
    return hmac.digest(key, labelled + b"\x01", hashlib.sha256)[:size]


def sealed_with(secret: bytes, key: bytes, plain: bytes, info: bytes) -> bytes:
    """Bytes for the holder of an X25519 key, the same every time."""
    once = X25519PrivateKey.from_private_bytes(secret)
    mine = once.public_key().public_bytes_raw()
    prk = _extract(KEM, b"", b"eae_prk", once.exchange(X25519PublicKey.from_public_bytes(key)))
    shared = _expand(KEM, prk, b"shared_secret", mine + key, 32)
    context = b"\0" + _extract(SUITE, b"", b"psk_id_hash", b"") + _extract(SUITE, b"", b"info_hash", info)
    schedule = _extract(SUITE, shared, b"secret", b"")
    cipher, nonce = (
        _expand(SUITE, schedule, name, context, size) for name, size in ((b"key", 32), (b"base_nonce", 12))
    )
    return mine + ChaCha20Poly1305(cipher).encrypt(nonce, plain, None)
