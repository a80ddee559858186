"""Seals segments: removes duplicates, ids and order, and passes each report on once.

    read      open segments that nobody writes to any more
    sort out  what belongs to no epoch in use, and ids that were seen before in this epoch
    wait      until enough distinct reports are there to hide each other, or the oldest have waited long enough
    write     the new ids (a run) and the sealed reports in random order (a sealed segment), both durable
    commit    one transaction: this run counts, this sealed segment exists, these open segments are used up
    destroy   the keys of the open segments, then the segments
    retire    an epoch that is over, when all that was acknowledged in it was sealed: its ids are deleted

A crash before the commit leaves files that nobody knows, which the next seal removes; the open segments are read again.
A crash after it leaves open segments that are used up, which the next seal destroys. The order is stored nowhere.

Privacy: whoever has all that is left (runs and sealed segments) knows which ids came in this epoch and which sealed
reports, and nothing about which belongs to which, nor about order or time within a seal. See sealer.md.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from lapwing.collect import identities
from lapwing.collect.clock import GRACE, Certainty
from lapwing.collect.collection import Collection
from lapwing.collect.files import alone, make_folder
from lapwing.collect.gathering import Fresh, Gathering, by_epoch, ids_of
from lapwing.collect.handovers import ASIDE, SEALED, UNSENDABLE, unsendable
from lapwing.collect.identities import Mixing
from lapwing.collect.runs import RunStore, count, totals_of
from lapwing.collect.sealing import HEAD_BYTES, envelope_bytes, route_bytes
from lapwing.collect.segments import AbandonedSegment, SealedSegment, remove_strays, write_sealed
from lapwing.noise import SYSTEM, Entropy, permutation, uniform_below
from lapwing.privacy.journal import Database
from lapwing.privacy.store import FileStore, Store

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lapwing.collect.identities import Keys

    Unseen = Callable[[int, Keys, Keys], NDArray[np.bool_]]
    """Which of the sorted ids of an epoch were in no seal before, the first of each."""

MIXED = 1000
"""Distinct reports of an epoch that are enough to be sealed together at once; fewer wait for others."""
MOST_SEGMENTS = 256
"""Open segments that are sealed together: a system lets a process have some 1,000 files open."""
SEAL_AFTER = 600.0
"""Seconds that fewer wait."""
DUPLICATE, UNKNOWN_EPOCH = "duplicate", "no epoch in use"
SET_ASIDE = "segments that could not be read"


COMMITTED = (
    "CREATE TABLE consumed (segment TEXT PRIMARY KEY, place TEXT NOT NULL)",
    "CREATE TABLE sealed (name TEXT PRIMARY KEY, place TEXT NOT NULL, epoch INTEGER NOT NULL,"
    " reports INTEGER NOT NULL)",
    "CREATE TABLE total (what TEXT PRIMARY KEY, reports INTEGER NOT NULL)",
    "CREATE TABLE retired (epoch INTEGER PRIMARY KEY)",
)
"""What a seal commits, wherever it is stored. The place is the folder that has the files."""


class FactFile(FileStore):
    """The small facts of an ingestor, in SQLite."""

    __slots__ = ()

    statements = (
        "CREATE TABLE mixing (secret BLOB NOT NULL)",
        "CREATE TABLE run (name TEXT PRIMARY KEY, epoch INTEGER NOT NULL)",
        *COMMITTED,
    )
    since_breaker = ()
    layout = frozenset(statements)


@dataclass(frozen=True, slots=True)
class Folders:
    """Where an ingestor keeps what it keeps."""

    base: Path

    @property
    def open(self) -> Path:
        """Segments that are written, and their keys."""
        return self.base / "open"

    @property
    def sealed(self) -> Path:
        """Segments that wait to be forwarded."""
        return self.base / "sealed"

    @property
    def ids(self) -> Path:
        """Runs of ids."""
        return self.base / "ids"

    def create(self) -> None:
        """Make them, for this user alone."""
        for folder in (self.open, self.sealed, self.ids):
            make_folder(folder)


class Sealer:
    """Seals what the processes of one ingestor wrote. One at a time works on a folder."""

    place = ""
    """Of files that are named in a store which several sealers share (shared.py)."""
    keeps_ids = 2 * GRACE
    """So long after the end of its epoch."""
    facts: Store
    runs: RunStore

    def __init__(
        self, collection: Collection, folder: Path, entropy: Entropy = SYSTEM, *, sure: Certainty | None = None
    ) -> None:
        self.collection, self.folders, self.entropy = collection, Folders(folder), entropy
        self.sure = sure or Certainty()
        self.folders.create()
        self._before: dict[int, set[str]] = {}
        self._gathering = Gathering(collection.digest, envelope_bytes(collection))
        self._few: set[str] = set()
        """Segments that held too few reports when they were looked at: without others they never hold more."""
        self._share_of_patience = self._drawn_share()
        self._open_store()

    def _drawn_share(self) -> float:
        """Between a half and one: the time of a seal does not tell when the oldest report came."""
        return 0.5 + uniform_below(1 << 16, entropy=self.entropy) / (1 << 17)

    def _open_store(self) -> None:
        facts = FactFile(self.folders.base / "facts.db", None)
        facts.create(allowed=True)
        self.facts, self.runs = facts, RunStore(facts, self.folders.ids, self.entropy)

    @property
    def mixing(self) -> Mixing:
        """How ids are stored."""
        return self.runs.mixing

    def seal(self, patience: float = 0.0) -> int:
        """Seal what can be sealed; how many reports were passed on. Nothing is done while another process does it.

        With `patience`, reports wait half of so many seconds to all of them for others, unless enough distinct ones are
        there to hide each other: `MIXED`, or a whole batch, of every epoch that one of them belongs to.
        """
        with alone(self.folders.base) as ours:
            return self._sealed(patience) if ours else 0

    def _sealed(self, patience: float) -> int:
        self._tidy()
        passed, taken = 0, list[AbandonedSegment]()
        try:
            taken += self._taken()
            gathered = self._gathering.add(taken, self.mixing)
            least = self._least(gathered, patience)
            if (gathered or self._gathering.unreadable) and (least == 1 or self._gathering.names != self._few):
                passed = self._seal(gathered, least)
                self._few = set(self._gathering.names)  # what was sealed is not held any more
                self._share_of_patience = self._drawn_share() if passed else self._share_of_patience
        finally:
            for segment in taken:
                segment.close()
        self._merge_ids()
        return passed

    def _least(self, gathered: Iterable[AbandonedSegment], patience: float) -> int:
        """How many reports a sealed segment must hold now. A clock that was put back ends the waiting, too."""
        oldest = min((segment.path.stat().st_mtime for segment in gathered), default=0.0)
        if self._gathering.full or abs(time.time() - oldest) >= patience * self._share_of_patience:
            return 1
        return min(self.collection.smallest_batch, MIXED)

    def _taken(self) -> Iterator[AbandonedSegment]:
        """Those that were read before, then the oldest; not more than a process may have open."""
        held, paths = self._gathering.names, list(self.folders.open.glob("*.open"))
        paths.sort(key=lambda path: (path.name not in held, path.stat().st_mtime, path.name))
        segments = (AbandonedSegment.take(path) for path in paths)
        yield from islice((segment for segment in segments if segment is not None), MOST_SEGMENTS)

    def _seal(self, segments: Sequence[AbandonedSegment], least: int) -> int:
        """Seal what was gathered from these, if no sealed segment would hold fewer than so many reports."""
        totals, retired = self._totals(), self.retired()
        fresh = self._fresh(retired, lambda *ids: identities.unseen(self.runs.of(ids[0]), *ids[1:]), totals)
        if any(len(part) < least for part in fresh):
            return 0
        runs = [(self.runs.write(part.keys, part.rests), part.epoch) for part in fresh]
        sealed = [self._written(part) for part in fresh]
        self._commit(segments, runs, sealed, totals)
        return self._finished(segments, fresh)

    def _totals(self) -> Counter[str]:
        """What a seal will have counted, so far."""
        totals: Counter[str] = Counter({DUPLICATE: self._gathering.repeats} if self._gathering.names else {})
        if self._gathering.unreadable:
            totals[SET_ASIDE] = self._gathering.unreadable
        return totals

    def _fresh(self, retired: Container[int], unseen: Unseen, totals: Counter[str]) -> list[Fresh]:
        """What is passed on, by epoch, and in the totals what is not.

        Whether an epoch is over was decided when an envelope came: what was acknowledged is passed on.
        """
        parts = []
        for number, ours in by_epoch(self._gathering.rows):
            if self.collection.numbered(number) is None or number in retired:
                totals[UNKNOWN_EPOCH] += len(ours)
                continue
            keys, rests, order = self.mixing.sorted(ids_of(ours))
            new = unseen(number, keys, rests)
            totals[DUPLICATE] += int((~new).sum())
            for party, here in self._parties(ours[order]):
                if (new & here).any():
                    parts.append(Fresh(number, keys[new & here], rests[new & here], ours[order[new & here]], party))
        totals["sealed"] += sum(map(len, parts))
        return parts

    def _parties(self, envelopes: NDArray[np.uint8]) -> Iterator[tuple[str, NDArray[np.bool_]]]:
        """To whom envelopes are passed on, and which of them; fragments say it themselves."""
        import numpy as np

        shufflers = self.collection.shufflers
        if not shufflers:
            yield self.collection.after("ingestor"), np.ones(len(envelopes), dtype=np.bool_)
        for number, party in enumerate(shufflers, start=1):
            yield party, envelopes[:, HEAD_BYTES] == number

    def _finished(self, segments: Iterable[AbandonedSegment], fresh: Iterable[Fresh]) -> int:
        """After the commit: destroy segments that are used up; how many reports were passed on."""
        self._gathering.clear()
        for segment in segments:
            segment.remove()
        self._forget_consumed()
        return sum(map(len, fresh))

    def _written(self, fresh: Fresh) -> tuple[str, int, int]:
        """A sealed segment of these envelopes, durable and not known to anybody yet: name, epoch, number of reports."""
        reports = fresh.envelopes[:, HEAD_BYTES + route_bytes(self.collection) :]
        shuffled = reports[permutation(len(reports), self.entropy)]
        segment = SealedSegment(self.collection.digest, fresh.epoch, shuffled)
        name, _ = write_sealed(self.folders.sealed, segment, fresh.party if self.collection.shufflers else None)
        return name, fresh.epoch, len(reports)

    def retired(self) -> set[int]:
        """Epochs of which nothing is passed on any more, whatever the clock says."""
        with self.facts.transaction(write=False) as database:
            return retired_in(database)

    def retire(self, today: date) -> list[int]:
        """Delete the ids of epochs that are over; which ones.

        From the day after its grace no ingestor takes a report of an epoch. So when all segments are gone that were
        open at some moment after that day, everything that was acknowledged has been sealed.
        """
        with alone(self.folders.base) as ours:
            done = self.retired()
            over = self.sure.of(epoch.number for epoch in self.collection.epochs if today > epoch.end + self.keeps_ids)
            there = {path.name for path in self.folders.open.glob("*.open")}
            ready = [number for number in sorted(over - done) if self._sealed_since(number, there)]
            for number in ready if ours else ():
                with self.facts.transaction() as database:
                    database.execute("INSERT INTO retired VALUES (:epoch) ON CONFLICT DO NOTHING", {"epoch": number})
                    self._forget_ids(database, number)
            if ready and ours:
                self._tidy_ids()
        return ready if ours else []

    def _sealed_since(self, number: int, there: set[str]) -> bool:
        """Whether none of the segments that were open when this was asked first is there any more."""
        return not self._before.setdefault(number, there) & there

    def _commit(
        self,
        segments: Iterable[AbandonedSegment],
        runs: Iterable[tuple[str, int]],
        sealed: Iterable[tuple[str, int, int]],
        totals: Counter[str],
    ) -> None:
        with self.facts.transaction() as database:
            for name, epoch in runs:
                self.runs.add(database, name, epoch)
            self._record(database, segments, sealed, totals)

    def _record(
        self,
        database: Database,
        segments: Iterable[AbandonedSegment],
        sealed: Iterable[tuple[str, int, int]],
        totals: Counter[str],
    ) -> None:
        """In the transaction that makes a seal happen: what exists now, and what is used up."""
        for name, epoch, reports in sealed:
            row = {"name": name, "place": self.place, "epoch": epoch, "reports": reports}
            database.execute("INSERT INTO sealed VALUES (:name, :place, :epoch, :reports)", row)
        for segment in segments:
            row = {"name": segment.path.name, "place": self.place}
            database.execute("INSERT INTO consumed VALUES (:name, :place) ON CONFLICT DO NOTHING", row)
        count(database, totals)

    def _tidy(self) -> None:
        """Finish what a crash left: destroy segments that are used up, remove files that nobody knows.

        In its turn among those who write: a server may still be busy with a commit whose end we did not hear.
        """
        with self.facts.transaction() as database:
            consumed, sealed = self._consumed(database), self._waiting(database)
        for name in consumed:
            path = self.folders.open / name
            segment = AbandonedSegment.take(path) if path.exists() else None
            if segment is not None:
                segment.remove()
                segment.close()
        self._forget_consumed()
        self._tidy_ids()
        remove_strays(self.folders.open)
        for path in self.folders.sealed.iterdir():
            if path.suffix != ASIDE and (path.suffix != SEALED or path.stem not in sealed):
                path.unlink(missing_ok=True)

    def _merge_ids(self) -> None:
        for epoch in self.collection.epochs:
            self.runs.merge(epoch.number)

    def _forget_ids(self, database: Database, epoch: int) -> None:
        self.runs.forget(database, epoch)

    def _tidy_ids(self) -> None:
        self.runs.tidy()

    def _consumed(self, database: Database) -> list[str]:
        query = "SELECT segment FROM consumed WHERE place = :place"
        return [row["segment"] for row in database.execute(query, {"place": self.place})]

    def _forget_consumed(self) -> None:
        with self.facts.transaction() as database:
            for name in self._consumed(database):
                if not (self.folders.open / name).exists():
                    database.execute("DELETE FROM consumed WHERE segment = :name", {"name": name})

    def waiting(self) -> set[str]:
        """The names of sealed segments of this folder that the next party has not got yet."""
        with self.facts.transaction(write=False) as database:
            return self._waiting(database)

    def _waiting(self, database: Database) -> set[str]:
        query = "SELECT name FROM sealed WHERE place = :place"
        return {row["name"] for row in database.execute(query, {"place": self.place})}

    def totals(self) -> dict[str, int]:
        """How many reports were sealed, and how many were refused, by reason; and how many segments are damaged."""
        damaged = unsendable(self.folders.sealed, self.waiting)
        return totals_of(self.facts) | ({UNSENDABLE: damaged} if damaged else {})


def retired_in(database: Database) -> set[int]:
    """The epochs that are over, for whoever is amid a transaction."""
    return {row["epoch"] for row in database.execute("SELECT epoch FROM retired")}
