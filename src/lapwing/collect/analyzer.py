"""The analyzer: takes the counts of closed batches and publishes what they say about people, with intervals.

    POST /batches    a closed batch, signed by the aggregator → 201 when it is on the disk
    GET  /results    the estimates of every batch, and of all together
    GET  /results/N  those of version N of the collection, if this is an earlier one that has results here
    GET  /versions   which versions have results, and how many batches each

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
from pathlib import Path
from typing import Any

from lapwing.collect import hops
from lapwing.collect.answer_fragments import Fragments, PositionedBit
from lapwing.collect.batches import ENDING, MOST_FACTS, Batch, batch_name, counts_bytes, whole_batch
from lapwing.collect.collection import Collection
from lapwing.collect.crowds import Crowd
from lapwing.collect.files import make_folder, remove_parts, write_durably
from lapwing.collect.handovers import ASIDE, set_aside
from lapwing.collect.http import ANYWHERE, Answer, Application, Request, application
from lapwing.collect.removals import Removal
from lapwing.collect.string_counts import LARGEST, estimated_strings, words_about_missing
from lapwing.collect.string_protocol import StringProtocol
from lapwing.crowd import Counts, Estimates, MeanEstimate
from lapwing.crowd.intervals import exact_estimate
from lapwing.crowd.protocol import ClosedProtocol, OpenProtocol
from lapwing.errors import InvalidParameter
from lapwing.exact import float_up


@dataclass(frozen=True, slots=True)
class Result:
    """What one batch, or all of them, say."""

    batches: tuple[int, ...]
    day: date
    """On which the last of them was closed."""
    reports: int
    """Of people: one each, whether it came in one piece or in fragments."""
    estimates: Estimates | MeanEstimate
    removed: int = 0
    """Reports that thresholding took away before they could be counted."""
    crowd: Crowd | None = None
    fragments: int | None = None
    """How many were counted, where reports travel in fragments."""

    @property
    def gain_per_fake(self) -> float | None:
        """How much one false report moves an estimate, where that can be said in one number."""
        return getattr(self.estimates, "gain_per_fake", None)

    def missing(self) -> str:
        """What thresholding took away, and that intervals include it; nothing where nobody thresholds."""
        if self.crowd is None:
            return ""
        smallest, dropped = self.crowd.mechanism.accuracy(), self.crowd.mean_drop
        if self.fragments is not None:
            return self._missing_fragments(f"{smallest:,.0f}", f"{dropped:,}")
        return (
            f"Shufflers removed {self.removed:,} of {self.reports:,} reports: all of crowds with fewer than about "
            f"{smallest:,.0f}, and about {dropped:,} of every other crowd. The intervals allow for what is missing."
        )

    def _missing_fragments(self, smallest: str, dropped: str) -> str:
        assert self.crowd is not None
        assert self.fragments is not None
        removed = f"Shufflers removed {self.removed:,} of {self.fragments + self.removed:,} fragments"
        if self.crowd.source == "position":
            return (
                f"{removed}, whatever they said: all of positions with fewer than about {smallest}, and about "
                f"{dropped} of every other position. The intervals are wider because of this."
            )
        return (
            f"{removed}: all of crowds with fewer than about {smallest}, and about {dropped} of every other crowd. "
            "The intervals allow for what is missing."
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
            "taken": self.reports if self.fragments is None else self.fragments + self.removed,
            "fragments": self.fragments,
            "missing": self.missing(),
            "answers": rows,
        }


@dataclass(frozen=True, slots=True)
class StringResult(Result):
    """What batches of strings say. `reports` are all that came: a share is one of all who took part."""

    protocol: StringProtocol | None = None

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
        message = collection.message
        counts = LARGEST if isinstance(message, StringProtocol) else 2 * counts_bytes(message)
        self._largest = (1 << 12) + MOST_FACTS + counts
        self._turn, self._published = threading.Lock(), (frozenset[str](), b"")

    def app(self, versions: Sequence[Analyzer] = ()) -> Application:
        """The ASGI application. It also shows what was published under other `versions`."""
        listed = {analyzer.collection.version: analyzer for analyzer in (*versions, self)}

        async def shown(_: Request) -> Answer:
            counts = await asyncio.to_thread(lambda: {number: listed[number].count() for number in sorted(listed)})
            batches = [{"version": number, "batches": count} for number, count in counts.items()]
            return Answer.json(200, collection=self.collection.name, versions=batches)

        routes = {("POST", "/batches"): self.batches, ("GET", "/results"): self.published, ("GET", "/versions"): shown}
        routes |= {("GET", f"/results/{number}"): analyzer.published for number, analyzer in listed.items()}
        return application(routes, extra_headers=ANYWHERE)

    async def batches(self, request: Request) -> Answer:
        """Store a batch from the aggregator."""
        body = await hops.received(request, self.collection, ["aggregator"], self._largest)
        return body if isinstance(body, Answer) else await asyncio.to_thread(self._stored, body)

    def _stored(self, body: bytes) -> Answer:
        try:
            batch = Batch.from_bytes(self.collection, body)
        except InvalidParameter:
            return Answer.error(400, "This is not a batch of this collection.")
        path = self.folder / batch_name(f"{batch.number:08d}", body)
        there = [other for other in self.folder.glob(f"{batch.number:08d}[.-]*") if other.suffix in (ENDING, ASIDE)]
        try:
            if not all(other.stem == path.stem or other.read_bytes() == body for other in there):
                return Answer.error(409, "There is another batch with this number. A published batch never changes.")
            if not any(other.suffix == ENDING for other in there):
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
            "epsilon": float_up(self.collection.report_loss.epsilon),
            "delta": float_up(getattr(self.collection.report_loss, "delta", Fraction(0))),
            "together": self.together().plain() if results else None,
            "batches": [result.plain() for result in results],
            "damaged": set_aside(self.folder),
        }

    def count(self) -> int:
        """How many batches there are."""
        return sum(1 for _ in self.folder.glob("*.batch"))

    def stored(self) -> list[Batch]:
        """The batches so far, in order."""
        files = (whole_batch(self.collection, path) for path in sorted(self.folder.glob(f"*{ENDING}")))
        return [Batch.from_bytes(self.collection, data) for data in files if data is not None]

    def results(self, candidates: Sequence[Any] | None = None) -> list[Result]:
        """What each batch says."""
        return [self._result((batch,), candidates) for batch in self.stored()]

    def together(self, candidates: Sequence[Any] | None = None) -> Result:
        """What all batches say together."""
        batches = tuple(self.stored())
        if not batches:
            raise InvalidParameter("batches", 0, "are none yet", "Wait until a batch is closed.")
        return self._result(batches, candidates)

    def _result(self, batches: tuple[Batch, ...], candidates: Sequence[Any] | None) -> Result:
        crowd = self.collection.crowd
        if isinstance(self.collection.protocol, StringProtocol):
            return self._string_result(batches)
        if self.collection.fragments is not None:
            return self._fragment_result(batches, self.collection.fragments, candidates)
        protocol = self.collection.local
        numbers, day = tuple(batch.number for batch in batches), batches[-1].day
        if crowd is not None:
            removal = Removal.of(crowd, batches, protocol)
            estimates = removal.estimate(lambda counts: self._estimate(counts, candidates))
            return Result(numbers, day, removal.taken, estimates, removal.removed, crowd)
        total = protocol.empty()
        for batch in batches:
            total = total.merge(batch.local_counts)
        return Result(numbers, day, total.n, self._estimate(total, candidates))

    def _estimate(self, counts: Counts, candidates: Sequence[Any] | None) -> Estimates | MeanEstimate:
        protocol = self.collection.protocol
        if isinstance(protocol, OpenProtocol):
            estimates: Estimates = protocol.estimate(counts, self._looked_for(candidates))
            return estimates
        assert isinstance(protocol, ClosedProtocol)
        return exact_estimate(protocol, counts)

    def _looked_for(self, candidates: Sequence[Any] | None) -> list[Any]:
        """Whose counts are estimated where the protocol has no domain."""
        looked_for = list(candidates if candidates is not None else self.collection.candidates)
        if not looked_for and isinstance(self.collection.protocol, OpenProtocol):
            hint = "Name them in the file of the collection (candidates), or pass candidates=[…]."
            raise InvalidParameter("candidates", [], "are missing: this protocol has no domain", hint)
        return looked_for

    def _fragment_result(
        self, batches: tuple[Batch, ...], fragments: Fragments, candidates: Sequence[Any] | None
    ) -> Result:
        """Of bits thresholds remove some of each answer whatever they said; of reports, what is missing is included."""
        crowd, message = self.collection.crowd, fragments.message
        assert crowd is not None
        removal = Removal.of(crowd, batches, message, fragments.reports_each)
        estimates: Any
        if isinstance(message, PositionedBit):
            estimates = message.estimate(removal.counts)
        else:
            estimates = removal.estimate(lambda counts: self._estimate(counts, candidates))
        return Result(
            batches=tuple(batch.number for batch in batches),
            day=batches[-1].day,
            reports=estimates.n,
            estimates=estimates,
            removed=removal.removed,
            crowd=crowd,
            fragments=removal.counts.n,
        )

    def _string_result(self, batches: tuple[Batch, ...]) -> Result:
        crowd, taken = self.collection.crowd, sum(batch.taken or 0 for batch in batches)
        assert crowd is not None
        counts: Any = batches[0].counts  # all of one kind
        for batch in batches[1:]:
            counts = counts.merge(batch.counts)
        return StringResult(
            batches=tuple(batch.number for batch in batches),
            day=batches[-1].day,
            reports=taken,
            estimates=estimated_strings(counts, crowd, taken),
            removed=max(0, taken - counts.n),
            crowd=crowd,
            protocol=counts.protocol,
        )
