"""The ingestor: takes envelopes, checks their tokens, stores them durably, and forgets who sent them.

    POST /reports       one envelope, or several one after another → 201 when they are on the disk
    POST /relayed       the same for one envelope from a relay, which can read neither it nor the answer
    GET  /collection    the signed file
    GET  /health        totals, and since when the collection is closed; no times of reports

It cannot read a report. What it could know of a request (address, headers, time, length) is dropped before anything is
written: an envelope is stored as the bytes it is, all of one length.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from lapwing.collect import tokens
from lapwing.collect.clock import GRACE, Certainty, over, today
from lapwing.collect.collection import Collection
from lapwing.collect.http import ANYWHERE, Answer, Application, Request, application
from lapwing.collect.intake import Busy, Intake
from lapwing.collect.keys import Key
from lapwing.collect.refusals import Refusals
from lapwing.collect.relay import answered, unwrapped, wrapped_bytes
from lapwing.collect.sealer import Folders
from lapwing.collect.sealing import EPOCH_BYTES, HEAD_BYTES, Envelope, envelope_bytes
from lapwing.errors import LedgerUnavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

MOST_AT_ONCE = 1000
"""Envelopes in one request, if they are small."""
LARGEST_BODY = 1 << 22
"""Bytes of envelopes in one request: a part of what may wait for the disk, so devices that keep to it find room."""
STORED, WRONG_LENGTH, WRONG_EPOCH, WRONG_TOKEN, WRONG_ROUTE, CLOSED = (
    "stored",
    "wrong length",
    "no epoch in use",
    "no token",
    "no such shuffler",
    "closed",
)
_log = logging.getLogger("lapwing.collect")


class Ingestor:
    """One process of an ingestor; `app` is what uvicorn serves.

    `token_keys` are the issuer's secrets by epoch, `gateway_keys` open what comes through a relay.
    """

    def __init__(
        self,
        collection: Collection,
        folder: Path,
        token_keys: Mapping[int, bytes],
        *,
        gateway_keys: Mapping[int, Key] | None = None,
        day: Callable[[], date] = today,
        sure: Certainty | None = None,
        closed: Callable[[], datetime | None] = lambda: None,
        published: Callable[[], dict[str, int]] = dict,
        intake: Intake | None = None,
    ) -> None:
        self.collection, self.day, self.closed = collection, day, closed
        self.token_keys, self.gateway_keys = dict(token_keys), dict(gateway_keys or {})
        self.published, self.sure = published, sure or Certainty()
        self.size = envelope_bytes(collection)
        self.most = max(1, min(MOST_AT_ONCE, LARGEST_BODY // self.size))
        folders = Folders(folder)
        folders.create()
        self.intake = intake or Intake(folders.open, collection.digest, self.size)
        self.totals: Counter[str] = Counter()
        """Of this process; what it refused goes into `refusals`, which all processes of the folder share."""
        self.refusals = Refusals(folder)
        self._file = collection.to_json()
        self._rotation: asyncio.Task[None] | None = None
        self._faults: dict[str, str] = {}
        """What failed in the last round beside the server, so that a fault is said once."""

    def app(self) -> Application:
        """The ASGI application."""
        routes = {
            ("POST", "/reports"): self.reports,
            ("POST", "/relayed"): self.relayed,
            ("GET", "/collection"): self.file,
            ("GET", "/health"): self.health,
        }
        return application(routes, started=self._started, ended=self._ended, extra_headers=ANYWHERE)

    async def reports(self, request: Request) -> Answer:
        """Store envelopes. Whoever gets anything but 201 may send the same bytes again."""
        body = await request.body(self.size * self.most)
        if isinstance(body, bytes):
            return await self._stored(body)
        if body.status != 413:
            return body
        return Answer.error(413, f"One request holds {self.most:,} envelopes of {self.size:,} bytes at most.")

    async def relayed(self, request: Request) -> Answer:
        """Store one envelope that came through a relay. The relay sees an answer of one length, whatever it says."""
        body = await request.body(wrapped_bytes(self.size))
        if isinstance(body, Answer):
            return body
        if int.from_bytes(body[:EPOCH_BYTES], "little") not in self.gateway_keys:
            self.totals[WRONG_EPOCH] += 1  # the answer cannot be sealed without the key; devices know when epochs end
            return Answer.error(403, "This was sealed for an epoch that is not in use.")
        inside = unwrapped(self.collection, self.gateway_keys, body)
        if inside is None or len(inside[1]) != self.size:
            self.totals[WRONG_LENGTH] += 1
            return Answer.error(400, "This was not sealed for this ingestor.")
        response_key, envelope = inside
        answer = await self._stored(envelope)
        return Answer(200, answered(response_key, answer.status), b"application/octet-stream")

    async def _stored(self, body: bytes) -> Answer:
        if not body or len(body) % self.size:
            self.totals[WRONG_LENGTH] += 1
            return Answer.error(400, f"Every envelope of this collection has {self.size} bytes.")
        day = self.day()
        if self.closed() is not None or not self.collection.opens - GRACE <= day <= self.collection.closes + GRACE:
            self.totals[CLOSED] += len(body) // self.size
            return Answer.error(410, "This collection is not open.")
        good = self._good(body, day)
        if not good:
            return Answer.error(403, "No envelope has a token and an epoch that are valid here.")
        try:
            await self.intake.append(good)
        except Busy:
            return Answer.busy()
        stored = len(good) // self.size
        self.totals[STORED] += stored
        return Answer.json(201, stored=stored, refused=(len(body) - len(good)) // self.size)

    def _good(self, body: bytes, day: date) -> bytes:
        """The envelopes that may be stored."""
        body = self._routed(body) if self.collection.shufflers else body
        if not self.collection.tokens:
            return self._in_epoch(body, day)
        kept = []
        for start in range(0, len(body), self.size):
            data = body[start : start + self.size]
            envelope = Envelope.from_bytes(self.collection, data)
            key = self.token_keys.get(envelope.epoch)
            if key is None or not self._accepts(envelope.epoch, day):
                self.totals[WRONG_EPOCH] += 1
            elif not tokens.redeemable(key, self.collection, envelope):
                self.totals[WRONG_TOKEN] += 1
            else:
                kept.append(data)
        return b"".join(kept)

    def _routed(self, body: bytes) -> bytes:
        """The fragments that name a shuffler of this collection."""
        most = len(self.collection.shufflers)
        rows = [body[start : start + self.size] for start in range(0, len(body), self.size)]
        good = [row for row in rows if 1 <= row[HEAD_BYTES] <= most]
        self.totals[WRONG_ROUTE] += len(rows) - len(good)
        return b"".join(good)

    def _in_epoch(self, body: bytes, day: date) -> bytes:
        """Without tokens there is only the epoch to look at: of all envelopes at once."""
        epoch = body[:EPOCH_BYTES]
        if not body:
            return b""
        if len(body) == self.size:
            if self._accepts(int.from_bytes(epoch, "little"), day):
                return body
            self.totals[WRONG_EPOCH] += 1
            return b""
        import numpy as np

        rows = np.frombuffer(body, dtype=np.uint8).reshape(-1, self.size)
        numbers = np.ascontiguousarray(rows[:, :EPOCH_BYTES]).view("<u4").ravel()
        valid = [number for number in set(numbers.tolist()) if self._accepts(number, day)]
        good = np.isin(numbers, valid)
        self.totals[WRONG_EPOCH] += int((~good).sum())
        return body if good.all() else rows[good].tobytes()

    def _accepts(self, number: int, day: date) -> bool:
        epoch = self.collection.numbered(number)
        return epoch is not None and epoch.start - GRACE <= day <= epoch.end + GRACE

    async def file(self, _: Request) -> Answer:
        """The signed collection."""
        return Answer(200, self._file)

    async def health(self, _: Request) -> Answer:
        """What all processes refused, about a second ago, and what was sealed as of the last seal.

        No request is seen in it when it arrives.
        """
        try:
            refused, sealed = await asyncio.to_thread(lambda: (self.refusals.totals(), self.published()))
        except LedgerUnavailable:
            return Answer.busy()
        reasons = sorted(refused.keys() | sealed.keys())
        totals = {reason: refused.get(reason, 0) + sealed.get(reason, 0) for reason in reasons}
        since = self.closed()
        closed = None if since is None else since.isoformat()
        return Answer.json(200, collection=self.collection.id, totals=totals, closed=closed)

    async def _tell(self) -> None:
        """Add what this process refused to what the others did."""
        refused = {reason: count for reason, count in self.totals.items() if reason != STORED}
        await asyncio.to_thread(self.refusals.tell, refused)

    async def _started(self) -> None:
        self._rotation = asyncio.create_task(self._rotate())

    async def _rotate(self) -> None:
        while True:
            await asyncio.sleep(1)
            await self._tried("keys of past epochs could not be forgotten", self._retire)
            await self._tried("a segment could not be closed", self.intake.rotate_later)
            await self._tried("refusals could not be counted", self._tell)

    async def _tried(self, fault: str, step: Callable[[], Awaitable[None]]) -> None:
        """Each on its own: what fails now may work later, and stops nothing else."""
        try:
            await step()
        except Exception as error:
            name = type(error).__name__
            if self._faults.get(fault) != name:
                _log.error("%s: %s", fault, name)
            self._faults[fault] = name
        else:
            self._faults.pop(fault, None)

    async def _retire(self) -> None:
        self.retire()

    def retire(self) -> None:
        """Forget the keys of epochs that are over; the sealer has them removed from the disk."""
        for number in self.sure.of(over(self.collection, self.day())):
            self.token_keys.pop(number, None)
            self.gateway_keys.pop(number, None)

    async def _ended(self) -> None:
        if self._rotation is not None:
            self._rotation.cancel()
        self.intake.close()
        await self._tried("refusals could not be counted", self._tell)
