"""How a device reaches the servers of a collection: over HTTP, directly or through a relay."""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from lapwing.collect import hops
from lapwing.collect.collection import Collection
from lapwing.collect.issuer import CODE_HEADER
from lapwing.collect.relay import status_of, wrapped
from lapwing.collect.sealing import EPOCH_BYTES
from lapwing.noise import SYSTEM, Entropy


class Delivery(Enum):
    """What became of an envelope."""

    STORED = "stored"
    REFUSED = "refused"
    """For good: sending it again would be refused again."""
    LATER = "later"
    """Nothing is known: the same bytes must be sent again."""


class Courier(Protocol):
    """What a device needs from the network."""

    def send(self, collection: Collection, epoch: int, envelope: bytes) -> Delivery:
        """Bring one envelope to the ingestor."""

    def ask(self, collection: Collection, epoch: int, blinded: bytes, code: str | None) -> bytes | None:
        """Ask the issuer for tokens; None if it did not answer or did not want to."""

    def ask_seed(self, collection: Collection, epoch: int, blinded: bytes, code: str | None) -> bytes | None:
        """Ask the issuer about one blinded element; None if it did not answer or did not want to."""


class HttpCourier:
    """Real requests. Through the relay if the collection has one."""

    def __init__(self, *, patience: float = 30.0, entropy: Entropy = SYSTEM) -> None:
        self._patience, self._entropy = patience, entropy

    def send(self, collection: Collection, epoch: int, envelope: bytes) -> Delivery:
        """Bring one envelope to the ingestor."""
        try:
            status = self._status(collection, epoch, envelope)
        except OSError:
            return Delivery.LATER
        if status == 201:
            return Delivery.STORED
        return (
            Delivery.REFUSED
            if status is not None and 400 <= status < 500 and status not in (408, 429)
            else Delivery.LATER
        )

    def _status(self, collection: Collection, epoch: int, envelope: bytes) -> int | None:
        if "relay" not in collection.servers:
            return hops.post(
                collection.servers["ingestor"].address + "/reports", envelope, patience=self._patience
            ).status
        response_key, request = wrapped(collection, epoch, envelope, self._entropy)
        reply = hops.post(collection.servers["relay"].address + "/reports", request, patience=self._patience)
        return status_of(response_key, reply.body) if reply.status == 200 else None  # only the ingestor decides

    def ask(self, collection: Collection, epoch: int, blinded: bytes, code: str | None) -> bytes | None:
        """Ask the issuer for tokens."""
        return self._of_issuer(collection, "/tokens", epoch, blinded, code)

    def ask_seed(self, collection: Collection, epoch: int, blinded: bytes, code: str | None) -> bytes | None:
        """Ask the issuer about one blinded element."""
        return self._of_issuer(collection, "/seeds", epoch, blinded, code)

    def _of_issuer(
        self, collection: Collection, path: str, epoch: int, blinded: bytes, code: str | None
    ) -> bytes | None:
        headers = {} if code is None else {CODE_HEADER.decode(): code}
        body = epoch.to_bytes(EPOCH_BYTES, "little") + blinded
        try:
            reply = hops.post(collection.servers["issuer"].address + path, body, headers, patience=self._patience)
        except (OSError, ValueError):  # no network, or a code that no header can hold
            return None
        return reply.body if reply.status == 200 else None
