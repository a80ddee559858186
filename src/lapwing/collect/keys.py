"""Keys of the parties: each in a file of its own, in the folder of the party that owns it, readable by nobody else.

    operator     Ed25519        signs the collection
    ingestor     Ed25519        signs the segments it forwards; X25519 per epoch for requests through a relay
    issuer       ristretto255   issues tokens, per epoch; the ingestor redeems with a copy of it
    aggregator   Ed25519        signs batches; X25519 per epoch opens reports
    shufflers    Ed25519        sign what they pass on; X25519 per epoch opens their layer of a report
    thresholder  ristretto255   per epoch decrypts the pseudonyms of crowds

The key of an epoch is destroyed when all its reports were counted: what somebody recorded on the way stays unreadable.
"""

from __future__ import annotations

import json
import os
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from lapwing.collect import oprf
from lapwing.collect.files import destroy, write_all
from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy.store import sync_folder

Kind = Literal["ed25519", "x25519", "ristretto255"]
SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class Key:
    """A secret key. Printing it shows its public part."""

    kind: Kind
    secret: bytes

    def __repr__(self) -> str:
        return f"<{self.kind} key {b64encode(self.public).decode()}>"

    @classmethod
    def random(cls, kind: Kind, entropy: Entropy = SYSTEM) -> Key:
        """A fresh one."""
        if kind == "ristretto255":
            return cls(kind, oprf.random_scalar(entropy))
        return cls(kind, entropy.bits(8 * SECRET_BYTES).to_bytes(SECRET_BYTES, "little"))

    @property
    def public(self) -> bytes:
        """What goes into the collection file."""
        if self.kind == "ristretto255":
            return oprf.public_key(self.secret)
        return bytes(self.private.public_key().public_bytes_raw())

    @property
    def private(self) -> Any:
        """As `cryptography` uses it."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

        kind: Any = {"ed25519": Ed25519PrivateKey, "x25519": X25519PrivateKey}[self.kind]
        return kind.from_private_bytes(self.secret)

    def write(self, path: Path) -> None:
        """A new file for its owner alone; a key that is there is never overwritten."""
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise InvalidParameter("key", path.name, "exists already", "Keep it, or choose another folder.") from None
        try:
            document = {"kind": self.kind, "secret": b64encode(self.secret).decode()}
            write_all(handle, json.dumps(document).encode() + b"\n")
            os.fsync(handle)
        finally:
            os.close(handle)
        sync_folder(path.parent)

    @classmethod
    def read(cls, path: Path) -> Key:
        """The key in a file; refused if others may read it."""
        try:
            text = path.read_bytes()
            mode = path.stat().st_mode
        except OSError as error:
            why = f"cannot be read: {error.strerror}"
            raise InvalidParameter("key", path.name, why, "Copy it to the folder of the party that owns it.") from None
        if os.name == "posix" and mode & 0o077:
            why = "can be read by other users of this machine"
            raise InvalidParameter("key", path.name, why, f"Write: chmod 600 {path.name}")
        try:
            document = json.loads(text)
            kind, secret = document["kind"], b64decode(document["secret"], validate=True)
        except (ValueError, KeyError, TypeError):
            kind, secret = None, b""
        if kind not in get_args(Kind) or len(secret) != SECRET_BYTES:
            raise InvalidParameter("key", path.name, "is not a key file", "Use the file that `lapwing collect` wrote.")
        return cls(kind, secret)


def stored_keys(paths: Mapping[int, Path]) -> dict[int, Key]:
    """The keys that are there, by epoch. One that a crash left half destroyed is destroyed now."""
    keys = {}
    for number, path in paths.items():
        if path.exists() and not any(path.read_bytes()):
            destroy_key(path)
        if path.exists():
            keys[number] = Key.read(path)
    return keys


def destroy_key(path: Path) -> None:
    """Overwrite and remove a key whose time is over."""
    destroy(path)


def verified(operator: bytes, signature: bytes, statement: bytes) -> bool:
    """Whether this Ed25519 key has signed the statement."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(operator).verify(signature, statement)
    except (InvalidSignature, ValueError):
        return False
    return True
