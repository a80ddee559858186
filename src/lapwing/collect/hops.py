"""How a server sends files to the next server: again and again, until they are stored there.

The sender persists the finished bytes before it sends, so sending again sends the same. Every request carries a
signature of the sender over the collection, the address and a hash of the bytes: nobody else can hand in segments or
batches, and a stranger's are refused before they are read. The receiver stores under a name that is a hash of the
bytes, so a second delivery changes nothing.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import re
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from lapwing.collect.http import Answer, Request
from lapwing.errors import LapwingError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lapwing.collect.collection import Collection
    from lapwing.collect.keys import Key

HEADER, HASH_HEADER = "x-lapwing-signature", "x-lapwing-hash"
_PATIENCE = 30.0
LONG = 600.0
"""Seconds for a segment or a batch, which may be large."""
_STATEMENT = b"lapwing hop 1\n"


class Unreachable(LapwingError):
    """A server that did not answer, or not as it should; what was to be sent stays where it is."""

    def __init__(self, party: str, why: str, *, answered: bool = True) -> None:
        self.party, self.answered = party, answered
        super().__init__(f"the {party} {why}. Nothing is lost: it will be sent again")


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server answered."""

    status: int
    body: bytes
    retry_after: float | None = None


def post(address: str, body: bytes, headers: dict[str, str] | None = None, *, patience: float = _PATIENCE) -> Reply:
    """One request. An error of the network is an `OSError`."""
    parts = urlsplit(address)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=patience)
    try:
        connection.request(
            "POST", parts.path or "/", body, {"content-type": "application/octet-stream", **(headers or {})}
        )
        response = connection.getresponse()
        wait = response.headers.get("retry-after", "")
        return Reply(
            response.status, response.read(1 << 24), float(wait) if wait.isascii() and wait.isdigit() else None
        )
    except http.client.HTTPException as error:
        raise OSError("the answer was cut off") from error
    finally:
        connection.close()


def get(address: str, *, patience: float = _PATIENCE) -> Reply:
    """One question."""
    parts = urlsplit(address)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=patience)
    try:
        connection.request("GET", parts.path or "/")
        response = connection.getresponse()
        return Reply(response.status, response.read(1 << 24))
    except http.client.HTTPException as error:
        raise OSError("the answer was cut off") from error
    finally:
        connection.close()


def deliver(collection: Collection, party: str, path: str, body: bytes, key: Key) -> Reply:
    """Send bytes to the next party; `Unreachable` if it does not say this time that it has them."""
    digest = hashlib.sha256(body).digest()
    signature = b64encode(key.private.sign(_statement(collection, path, digest))).decode()
    try:
        headers = {HEADER: signature, HASH_HEADER: digest.hex()}
        reply = post(collection.servers[party].address + path, body, headers, patience=LONG)
    except OSError:
        raise Unreachable(party, "did not answer", answered=False) from None
    if reply.status != 201:
        raise Unreachable(party, f"answered {reply.status}")
    return reply


def hand_over(collection: Collection, party: str, body: bytes, name: str, key: Key) -> None:
    """Send rows to the next party on the route, and see that it has stored them under the same hash."""
    reply = deliver(collection, party, "/segments", body, key)
    if json.loads(reply.body or b"{}").get("segment") != name:
        raise Unreachable(party, "has stored other bytes than were sent")


async def received(request: Request, collection: Collection, senders: Sequence[str], most: int) -> bytes | Answer:
    """What one of these parties sent, or the answer to somebody else: before anything of the body is read."""
    digest = signed_for(collection, senders, request.path, request.headers)
    if digest is None:
        return Answer.error(403, f"Only the {senders[0]} of this collection may send this.")
    body = await request.body(most, patience=LONG)
    if isinstance(body, bytes) and hashlib.sha256(body).digest() != digest:
        return Answer.error(400, "The body is not what was signed.")
    return body


def signed_for(
    collection: Collection, senders: Sequence[str], path: str, headers: Mapping[bytes, bytes]
) -> bytes | None:
    """The hash of what comes, if one of these signed it for this address and this version of the collection."""
    declared = headers.get(HASH_HEADER.encode(), b"").decode("latin-1")
    digest = bytes.fromhex(declared) if re.fullmatch("[0-9a-f]{64}", declared) else b""
    signature = headers.get(HEADER.encode(), b"")
    return digest if any(_signed(collection, party, path, digest, signature) for party in senders) else None


def _signed(collection: Collection, party: str, path: str, digest: bytes, signature: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    key = collection.servers[party].key
    try:
        raw = b64decode(signature, validate=True)
        Ed25519PublicKey.from_public_bytes(key or b"").verify(raw, _statement(collection, path, digest))
    except (InvalidSignature, NotBase64, ValueError):
        return False
    return len(digest) == 32


def _statement(collection: Collection, path: str, digest: bytes) -> bytes:
    return _STATEMENT + collection.digest + path.encode() + b"\n" + digest
