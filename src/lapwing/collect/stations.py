"""What shufflers and the aggregator have in common: they take sealed segments from the party before them.

    POST /segments   from the party before, signed → 201 with its name when it is on the disk
    retire           an epoch that is over: its key is destroyed, then its ids are deleted

Proof: shuffler.md
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import ClassVar

from lapwing.collect import hops
from lapwing.collect.clock import GRACE, ON_THE_WAY, Certainty, now
from lapwing.collect.collection import Collection
from lapwing.collect.files import make_folder, write_durably
from lapwing.collect.handovers import SEALED, received_by
from lapwing.collect.http import Answer, Application, Request, application
from lapwing.collect.keys import Key
from lapwing.collect.runs import RunStore
from lapwing.collect.segments import sealed_name
from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy.store import FileStore

LARGEST_SEGMENT = 1 << 29
SEALED_WRONG, DUPLICATE, NO_KEY = "sealed for another key", "duplicate", "the key is gone"


class Station(ABC):
    """One party behind the ingestor; `app` takes segments. `keys` open its layer, by epoch.

    `destroy` removes the stored key of an epoch that is over; `processes` open envelopes (all cores, if left out).
    """

    party: str
    """Its name in the file."""
    used_up: ClassVar[str]
    """The question to its facts whether a segment of some name was used up."""

    def __init__(
        self,
        collection: Collection,
        folder: Path,
        facts: FileStore,
        keys: Mapping[int, Key],
        signing_key: Key,
        *,
        destroy: Callable[[int], None] = lambda epoch: None,
        processes: int | None = None,
        clock: Callable[[], datetime] = now,
        sure: Certainty | None = None,
        entropy: Entropy = SYSTEM,
    ) -> None:
        self.collection, self.keys, self.signing_key = collection, dict(keys), signing_key
        self.folder, self.clock, self.entropy, self.facts = folder, clock, entropy, facts
        self._destroy, self._processes, self._ended = destroy, processes, set[int]()
        self.sure, self.incoming = sure or Certainty(), folder / "incoming"
        make_folder(self.incoming)
        facts.create(allowed=True)
        self.runs = RunStore(facts, folder / "ids", entropy)

    def app(self) -> Application:
        """The ASGI application."""
        return application({("POST", "/segments"): self.segments, ("GET", "/health"): self.health})

    @abstractmethod
    async def health(self, _: Request) -> Answer:
        """Totals, and what else this party tells everybody."""

    async def segments(self, request: Request) -> Answer:
        """Store what the party before passes on, or one of several."""
        body = await hops.received(request, self.collection, self.collection.senders(self.party), LARGEST_SEGMENT)
        return body if isinstance(body, Answer) else await asyncio.to_thread(self._stored, body)

    def _stored(self, body: bytes) -> Answer:
        try:
            received_by(self.collection, self.party, body)
        except InvalidParameter:
            return Answer.error(400, f"This is nothing for the {self.party} of this collection.")
        name = sealed_name(body)
        try:
            if not self._known(name):
                write_durably(self.incoming / f"{name}{SEALED}", [body])
        except OSError:
            return Answer.busy()
        return Answer.json(201, segment=name)

    def _known(self, name: str) -> bool:
        """Whether this segment was used up."""
        with self.facts.transaction(write=False) as database:
            return database.execute(self.used_up, {"name": name}).fetchone() is not None

    def _over(self) -> set[int]:
        """Epochs of which nothing can be on the way any more, for sure."""
        day = self.clock().date()
        return self.sure.of(epoch.number for epoch in self.collection.epochs if day > epoch.end + GRACE + ON_THE_WAY)

    def _end_epochs(self, numbers: set[int]) -> int:
        """Destroy the keys of these epochs, then their ids; how many keys went.

        Without its key nothing of an epoch can be opened, so its ids are not needed any more. A crash after the key
        went deletes the ids in the next round.
        """
        gone = 0
        for number in sorted(numbers - self._ended):
            self._destroy(number)  # also where a crash left one of several keys of an epoch
            self._ended.add(number)
            if number in self.keys:
                del self.keys[number]
                gone += 1
        for number in sorted(numbers):
            if self.runs.of(number):
                with self.facts.transaction() as database:
                    self.runs.forget(database, number)
                self.runs.tidy()
        return gone
