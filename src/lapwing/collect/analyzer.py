"""The analyzer: takes the counts of closed batches and publishes what they say about people, with intervals.

    POST /batches    a closed batch, signed by the aggregator → 201 when it is on the disk
    GET  /results    the estimates of every batch, and of all together

Estimates change only when a batch is closed, so nobody can compare the numbers before and after one report. They are
computed from randomised reports, or from strings behind a threshold: publishing them costs nothing more.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any

from lapwing.collect import hops
from lapwing.collect.batches import MOST_FACTS, Batch
from lapwing.collect.collection import Collection
from lapwing.collect.crowds import Crowd
from lapwing.collect.files import make_folder, remove_parts, write_durably
from lapwing.collect.http import ANYWHERE, Answer, Application, Request, application
from lapwing.collect.string_counts import LARGEST, StringCounts, estimated_strings, words_about_missing
from lapwing.collect.string_protocol import StringProtocol
from lapwing.crowd import Counts, Estimates, MeanEstimate
from lapwing.crowd.intervals import exact_estimate
from lapwing.crowd.protocol import ClosedProtocol, OpenProtocol
from lapwing.errors import InvalidParameter


@dataclass(frozen=True, slots=True)
class Result:
    """What one batch, or all of them, say."""

    batches: tuple[int, ...]
    day: date
    """On which the last of them was closed."""
    reports: int
    estimates: Estimates | MeanEstimate
    removed: int = 0
    """Reports that thresholding took away before they could be counted."""
    restored: int = 0
    """Of them, those that were counted again: the average loss of each crowd that came through."""
    crowd: Crowd | None = None

    @property
    def bias(self) -> float:
        """About how much an estimate can be off beyond its interval, because reports are missing."""
        if self.crowd is None:
            return 0.0
        crowds = Fraction(self.restored, self.crowd.mean_drop)
        wrong = abs(self.removed - self.restored) + float(crowds * self.crowd.sigma)
        return wrong * float(self.estimates.gain_per_fake)

    @property
    def taken(self) -> int:
        """Reports before thresholding."""
        return self.reports - self.restored + self.removed

    @property
    def gain_per_fake(self) -> float | None:
        """How much one false report moves an estimate, where that can be said in one number."""
        return getattr(self.estimates, "gain_per_fake", None)

    def missing(self) -> str:
        """What thresholding took away, and what that does to estimates; nothing where nobody thresholds."""
        if self.crowd is None:
            return ""
        smallest, dropped = self.crowd.mechanism.accuracy(), self.crowd.mean_drop
        fate = "were counted again" if self.crowd.source == "report" else "are missing here"
        return (
            f"Shufflers removed {self.removed:,} reports: crowds of fewer than about {smallest:,.0f} are missing; the "
            f"others lost about {dropped:,} each, which {fate}. An estimate can be off by about {self.bias:,.3g} more "
            "than its interval says."
        )

    def rows(self) -> list[dict[str, Any]]:
        """One line per answer: people, share, and the 95 % interval."""
        if isinstance(self.estimates, Estimates):
            return self.estimates.rows()
        low, high = self.estimates.interval()
        return [{"answer": "mean", "mean": float(self.estimates.mean), "low": float(low), "high": float(high)}]

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        rows = [
            row | {"answer": row["answer"] if isinstance(row["answer"], int) else str(row["answer"])}
            for row in self.rows()
        ]
        return {
            "batches": list(self.batches),
            "day": self.day.isoformat(),
            "reports": self.reports,
            "gain_per_fake": self.gain_per_fake,
            "removed": self.removed,
            "taken": self.taken,
            "bias": self.bias,
            "missing": self.missing(),
            "answers": rows,
        }


@dataclass(frozen=True, slots=True)
class StringResult(Result):
    """What batches of strings say. `reports` are all that came: a share is one of all who took part."""

    protocol: StringProtocol | None = None

    @property
    def bias(self) -> float:
        """Nothing in one number: what is added for the average loss is too much only near the threshold."""
        return 0.0

    @property
    def taken(self) -> int:
        """Reports before thresholding."""
        return self.reports

    @property
    def gain_per_fake(self) -> float | None:
        """None: a false report adds one to a string that is there, and may bring a whole one over the threshold."""
        return None

    def missing(self) -> str:
        """What thresholding took away, and what that does to counts."""
        assert self.crowd is not None
        assert self.protocol is not None
        return words_about_missing(self.protocol, self.crowd, self.removed)


class Analyzer:
    """One analyzer; `app` is what uvicorn serves, `results` what it publishes."""

    def __init__(self, collection: Collection, folder: Path) -> None:
        self.collection, self.folder = collection, folder / "batches"
        make_folder(self.folder)
        remove_parts(self.folder)
        strings = isinstance(collection.protocol, StringProtocol)
        self._largest = (1 << 12) + MOST_FACTS + (LARGEST if strings else 8 * prod(collection.local.shape))
        self._turn, self._published = threading.Lock(), (frozenset[str](), b"")

    def app(self) -> Application:
        """The ASGI application."""
        routes = {("POST", "/batches"): self.batches, ("GET", "/results"): self.published}
        return application(routes, extra_headers=ANYWHERE)

    async def batches(self, request: Request) -> Answer:
        """Store a batch from the aggregator."""
        body = await hops.received(request, self.collection, "aggregator", self._largest)
        return body if isinstance(body, Answer) else await asyncio.to_thread(self._stored, body)

    def _stored(self, body: bytes) -> Answer:
        try:
            batch = Batch.from_bytes(self.collection, body)
        except InvalidParameter:
            return Answer.error(400, "This is no batch of this collection.")
        path = self.folder / f"{batch.number:08d}.batch"
        if path.exists() and path.read_bytes() != body:
            return Answer.error(409, "There is another batch with this number. A published batch never changes.")
        try:
            write_durably(path, [body])
        except OSError:
            return Answer.busy()
        return Answer.json(201)

    async def published(self, _: Request) -> Answer:
        """Everything that is published. It is computed once for each batch: what was published never changes."""
        return await asyncio.to_thread(lambda: Answer(200, self._page()))

    def _page(self) -> bytes:
        with self._turn:
            batches, page = self._published
            there = frozenset(path.name for path in self.folder.glob("*.batch"))
            if not page or there != batches:
                page = json.dumps(self.plain()).encode()
                self._published = there, page
            return page

    def plain(self) -> dict[str, Any]:
        """All results, for JSON."""
        results = self.results()
        return {
            "collection": self.collection.name,
            "version": self.collection.version,
            "question": self.collection.question,
            "smallest_batch": self.collection.smallest_batch,
            "epsilon": float(self.collection.report_loss.epsilon),
            "delta": float(getattr(self.collection.report_loss, "delta", 0)),
            "together": self.together().plain() if results else None,
            "batches": [result.plain() for result in results],
        }

    def stored(self) -> list[Batch]:
        """The batches so far, in order."""
        return [Batch.from_bytes(self.collection, path.read_bytes()) for path in sorted(self.folder.glob("*.batch"))]

    def results(self, candidates: Sequence[Any] | None = None) -> list[Result]:
        """What each batch says."""
        return [self._result((batch,), batch.counts, candidates) for batch in self.stored()]

    def together(self, candidates: Sequence[Any] | None = None) -> Result:
        """What all batches say together."""
        batches = tuple(self.stored())
        if not batches:
            raise InvalidParameter("batches", 0, "are none yet", "Wait until a batch is closed.")
        total: Any = batches[0].counts  # all of one kind
        for batch in batches[1:]:
            total = total.merge(batch.counts)
        return self._result(batches, total, candidates)

    def _result(
        self, batches: tuple[Batch, ...], counts: Counts | StringCounts, candidates: Sequence[Any] | None
    ) -> Result:
        if isinstance(counts, StringCounts):
            return self._string_result(batches, counts)
        protocol = self.collection.protocol
        estimates: Estimates | MeanEstimate
        if isinstance(protocol, OpenProtocol):
            looked_for = list(candidates if candidates is not None else self.collection.candidates)
            if not looked_for:
                hint = "Name them in the file of the collection (candidates), or pass candidates=[…]."
                raise InvalidParameter("candidates", [], "are missing: this protocol has no domain", hint)
            estimates = protocol.estimate(counts, looked_for)
        else:
            assert isinstance(protocol, ClosedProtocol)
            estimates = exact_estimate(protocol, counts)
        return Result(
            tuple(batch.number for batch in batches),
            batches[-1].day,
            counts.n,
            estimates,
            sum(batch.removed for batch in batches),
            sum(batch.restored for batch in batches),
            self.collection.crowd,
        )

    def _string_result(self, batches: tuple[Batch, ...], counts: StringCounts) -> Result:
        crowd, taken = self.collection.crowd, sum(batch.taken or 0 for batch in batches)
        assert crowd is not None
        return StringResult(
            batches=tuple(batch.number for batch in batches),
            day=batches[-1].day,
            reports=taken,
            estimates=estimated_strings(counts, crowd, taken),
            removed=max(0, taken - counts.n),
            crowd=crowd,
            protocol=counts.protocol,
        )
