"""A relay that hides addresses from the ingestor, in the manner of Oblivious HTTP (RFC 9458).

    device   POST to the relay    epoch (4 bytes) ‖ HPKE for the ingestor (key for the answer (32) ‖ envelope)
    relay    POST to the ingestor the same bytes, without anything that it knows about the device
    ingestor answers 200 with     nonce (12) ‖ ChaCha20-Poly1305 under the device's key: the status, of one length

The relay knows addresses and no envelopes; the ingestor knows envelopes and no addresses. Together they know what an
ingestor without a relay knows. The relay must be run by somebody else. It does not hide *when* somebody sends: devices
choose the time at random.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from lapwing.collect import hops
from lapwing.collect.collection import Collection
from lapwing.collect.http import ANYWHERE, Answer, Application, Request, application
from lapwing.collect.keys import Key
from lapwing.collect.sealing import EPOCH_BYTES, SEAL_BYTES, envelope_bytes, opened_by, sealed_for
from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM, Entropy

RESPONSE_KEY_BYTES = 32
NONCE_BYTES = 12
ANSWER_BYTES = NONCE_BYTES + 2 + 16
_INFO = b"lapwing relay 1"


def wrapped_bytes(envelope_size: int) -> int:
    """How long every request through a relay is."""
    return EPOCH_BYTES + SEAL_BYTES + RESPONSE_KEY_BYTES + envelope_size


def wrapped(collection: Collection, epoch: int, envelope: bytes, entropy: Entropy = SYSTEM) -> tuple[bytes, bytes]:
    """The key for the answer, and what is sent to the relay."""
    keys = collection.numbered(epoch)
    if keys is None or keys.gateway_key is None:
        raise InvalidParameter("epoch", epoch, "has no key for requests through a relay", "Send to the ingestor.")
    response_key = entropy.bits(8 * RESPONSE_KEY_BYTES).to_bytes(RESPONSE_KEY_BYTES, "little")
    sealed = sealed_for(keys.gateway_key, response_key + envelope, _info(collection, epoch))
    return response_key, epoch.to_bytes(EPOCH_BYTES, "little") + sealed


def unwrapped(collection: Collection, keys: Mapping[int, Key], request: bytes) -> tuple[bytes, bytes] | None:
    """The key for the answer and the envelope; None if it was not sealed for one of these keys."""
    epoch = int.from_bytes(request[:EPOCH_BYTES], "little")
    if epoch not in keys:
        return None
    plain = opened_by(keys[epoch].private, request[EPOCH_BYTES:], _info(collection, epoch))
    return None if plain is None else (plain[:RESPONSE_KEY_BYTES], plain[RESPONSE_KEY_BYTES:])


def answered(response_key: bytes, status: int, entropy: Entropy = SYSTEM) -> bytes:
    """A status for the device alone. A relay may send a request again, so the key may be used again: never a nonce."""
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    nonce = entropy.bits(8 * NONCE_BYTES).to_bytes(NONCE_BYTES, "little")
    return nonce + ChaCha20Poly1305(response_key).encrypt(nonce, status.to_bytes(2, "little"), None)


def status_of(response_key: bytes, answer: bytes) -> int | None:
    """The status that the ingestor answered; None if this is not its answer."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    try:
        nonce, sealed = answer[:NONCE_BYTES], answer[NONCE_BYTES:]
        return int.from_bytes(ChaCha20Poly1305(response_key).decrypt(nonce, sealed, None), "little")
    except (InvalidTag, ValueError):
        return None


def _info(collection: Collection, epoch: int) -> bytes:
    return _INFO + collection.digest + epoch.to_bytes(EPOCH_BYTES, "little")


class Relay:
    """One process of a relay; `app` is what uvicorn serves. It has no key, no folder and no memory."""

    def __init__(self, collection: Collection) -> None:
        self.collection = collection
        self._size = wrapped_bytes(envelope_bytes(collection))

    def app(self) -> Application:
        """The ASGI application."""
        return application({("POST", "/reports"): self.reports}, extra_headers=ANYWHERE)

    async def reports(self, request: Request) -> Answer:
        """Pass on what was sealed for the ingestor."""
        body = await request.body(self._size)
        if isinstance(body, Answer):
            return body
        if len(body) != self._size:
            return Answer.error(400, f"Every request to this relay has {self._size} bytes.")
        try:
            reply = await asyncio.to_thread(hops.post, self.collection.servers["ingestor"].address + "/relayed", body)
        except OSError:
            return Answer.busy()
        if reply.status != 200 or len(reply.body) != ANSWER_BYTES:
            return Answer.busy() if reply.status == 503 else Answer.error(400, "The ingestor refused this request.")
        return Answer(200, reply.body, b"application/octet-stream")
