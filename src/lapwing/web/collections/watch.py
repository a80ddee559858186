"""Status of the servers of a collection, asked over the network as anybody could.

Each party is asked once in two seconds, however many people look. A page waits two seconds for it and no longer: a
party that takes more time is shown as it was before, and is silent only if it has not answered after ten. What one of
them answers is data from elsewhere: it is checked, and a party that answers something else is shown as one that does
not answer as it should.
"""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import date
from threading import Lock
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lapwing.collect import hops

if TYPE_CHECKING:
    from lapwing.collect.collection import Collection

PATIENCE = 10.0
"""Seconds that a party has to answer."""
GLANCE = 2.0
"""Seconds that a page waits for it."""
MOST_AT_ONCE = 32
"""Parties that are asked at a time."""
FRESH = 2.0
"""Seconds for which an answer is shown to everybody."""
STEPS = 10
"""The open batch is shown in so many steps: nobody sees a single report arrive."""
RUNS, SILENT, STRANGE = "runs", "does not answer", "does not answer as it should"
WAITING = "has not answered yet"
TONES = {RUNS: "fine", WAITING: "waiting"}
"""How a state is shown; all others are an alarm."""
FINE = ("sealed", "taken", "passed on", "before thresholding", "counted")
"""Totals that say how far reports came; all others are reasons why some did not."""
Whole = Annotated[int, Field(ge=0, lt=1 << 53)]


class _Statement(BaseModel):
    model_config = ConfigDict(allow_inf_nan=False)


class Row(_Statement):
    """What a batch says about one answer: a count of people, or a mean."""

    answer: bool | int | str
    low: float
    high: float
    count: float | None = None
    mean: float | None = None

    @property
    def label(self) -> str:
        """The answer as people read it."""
        return ("No", "Yes")[self.answer] if isinstance(self.answer, bool) else str(self.answer)


class Publication(_Statement):
    """The estimates of one batch, or of all together."""

    batches: list[Whole]
    day: date
    reports: Annotated[int, Field(gt=0, lt=1 << 53)]
    gain_per_fake: float | None = None
    taken: Whole | None = None
    """Reports before shufflers removed some."""
    removed: Whole = 0
    """How many they removed."""
    missing: str = ""
    """What they removed, and what that does to estimates, in words."""
    answers: list[Row]

    @property
    def restored(self) -> int:
        """Reports that were counted again, for those that each crowd lost on average."""
        return 0 if self.taken is None else max(0, self.reports + self.removed - self.taken)

    def value(self, row: Row) -> tuple[float, float, float]:
        """Low, estimate and high: percentages of people, or the mean itself."""
        if row.mean is not None:
            return row.low, row.mean, row.high
        each = 100 / self.reports
        return row.low * each, (row.count or 0.0) * each, row.high * each

    def shown(self, row: Row) -> tuple[float, float, float]:
        """The same as it is shown: estimates without bias may lie beyond what can be true."""
        low, value, high = self.value(row)
        if row.mean is not None:
            return low, value, high
        return _share(low), _share(value), _share(high)


def _share(percent: float) -> float:
    return min(max(percent, 0.0), 100.0)


class Results(_Statement):
    """All that an analyzer publishes."""

    collection: str
    version: int
    together: Publication | None
    batches: list[Publication]
    damaged: Whole = 0
    """Batches that the analyzer's disk has damaged."""


class Health(_Statement):
    """What the other parties tell."""

    collection: str
    totals: dict[str, Whole]


@dataclass(frozen=True, slots=True)
class Party:
    """One party, and how it is."""

    name: str
    address: str
    state: str
    totals: dict[str, int]
    results: Results | None = None

    @property
    def tone(self) -> str:
        """How its state is shown."""
        return TONES.get(self.state, "failing")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the open batch is, in steps."""

    reports: int
    """Rounded down."""
    smallest: int

    @property
    def full(self) -> bool:
        """Whether it only waits for its time."""
        return self.reports >= self.smallest


@dataclass(frozen=True, slots=True)
class Now:
    """A collection at this moment."""

    parties: tuple[Party, ...]
    results: Results | None
    progress: Progress | None
    """None if one of the parties that know does not answer."""

    def refused(self) -> list[tuple[str, str, int]]:
        """Party, reason and number of reports that were refused."""
        return [
            (party.name, reason, count)
            for party in self.parties
            for reason, count in sorted(party.totals.items())
            if reason not in FINE and count
        ]


class Watch:
    """Asks parties beside whoever looks, and remembers what each of them said last."""

    def __init__(self, glance: float = GLANCE) -> None:
        self._glance, self._turn = glance, Lock()
        self._threads = ThreadPoolExecutor(MOST_AT_ONCE, "watch")
        self._asked: dict[tuple[bytes, str], tuple[float, Future[Party]]] = {}
        self._last: dict[tuple[bytes, str], Party] = {}

    def parties(self, collection: Collection) -> tuple[Party, ...]:
        """How all of them are: as they say within a glance, or as they said before."""
        with self._turn:
            futures = {name: self._begun(collection, name) for name in collection.servers}
        wait(futures.values(), self._glance)
        return tuple(self._known(collection, name, future) for name, future in futures.items())

    def _begun(self, collection: Collection, name: str) -> Future[Party]:
        """The question that is under way, or was answered a moment ago; a new one otherwise."""
        key, moment = (collection.digest, name), time.monotonic()
        since, future = self._asked.get(key, (0.0, None))
        if future is not None and future.done():
            self._last[key] = future.result()
        if future is None or (future.done() and moment - since >= FRESH):
            future = self._threads.submit(_ask, collection, name)
            self._asked[key] = moment, future
        return future

    def _known(self, collection: Collection, name: str, future: Future[Party]) -> Party:
        if future.done():
            return future.result()
        unknown = Party(name, collection.servers[name].address, WAITING, {})
        return self._last.get((collection.digest, name), unknown)


WATCH = Watch()


def now(collection: Collection) -> Now:
    """What is known at the moment."""
    parties = WATCH.parties(collection)
    by_name = {party.name: party for party in parties}
    analyzer, aggregator = by_name.get("analyzer"), by_name.get("aggregator")
    results = analyzer.results if analyzer else None
    progress = None
    if results is not None and aggregator is not None and aggregator.state == RUNS:
        came = aggregator.totals.get("counted" if collection.crowd is None else "before thresholding", 0)
        waiting = came - sum(batch.reports if batch.taken is None else batch.taken for batch in results.batches)
        progress = progress_of(waiting, collection.smallest_batch)
    return Now(parties, results, progress)


def progress_of(waiting: int, smallest: int) -> Progress:
    """Rounded down to a step, and never more than a full batch."""
    step = max(1, smallest // STEPS)
    shown = smallest if waiting >= smallest else max(0, waiting) // step * step
    return Progress(shown, smallest)


def _ask(collection: Collection, name: str) -> Party:
    address = collection.servers[name].address
    try:
        reply = hops.get(address + ("/results" if name == "analyzer" else "/health"), patience=PATIENCE)
    except (OSError, ValueError):
        return Party(name, address, SILENT, {})
    if name in ("issuer", "relay") and reply.status < 500:  # they have nothing to tell
        return Party(name, address, RUNS, {})
    try:
        if name == "analyzer":
            results = Results.model_validate_json(reply.body)
            mine = (results.collection, results.version) == (collection.name, collection.version)
            return Party(name, address, RUNS if mine else STRANGE, {}, results if mine else None)
        health = Health.model_validate_json(reply.body)
    except ValidationError:
        return Party(name, address, STRANGE, {})
    mine = health.collection == collection.id
    return Party(name, address, RUNS if mine else STRANGE, health.totals if mine else {})
