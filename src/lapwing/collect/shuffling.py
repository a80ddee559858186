"""What every shuffler does: gather sealed reports, open one layer, forget who was beside whom, and pass on the rest.

    POST /segments   from the party before, signed → 201 with its name when it is on the disk
    gather           open, leave out duplicates and rows that are not reports; too few for a batch wait for more
    mix              `_mixed`: what this shuffler is for
    commit           the finished output bytes are durable; one transaction: they exist, the inputs are used up
    delete           the inputs
    pass on          the output, until the next party has it; then delete it

Neither the permutation nor what is drawn for a batch is ever stored. A crash before the commit leaves an output that
nobody knows, which is removed: all is drawn anew, and nobody has seen the first draw. After the commit the same bytes
are sent, as often as it takes. When the key of an epoch is gone, what still waits is dropped and counted. A file that
the disk has damaged is set aside and counted, and holds up nothing.
Proof: shuffler.md
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from lapwing.collect import identities
from lapwing.collect.collection import Collection
from lapwing.collect.files import alone, make_folder, remove_parts, write_durably
from lapwing.collect.handovers import (
    ASIDE,
    DAMAGED,
    SEALED,
    UNSENDABLE,
    Handover,
    send,
    set_aside,
    stored_for,
    unsendable,
)
from lapwing.collect.http import Answer, Request
from lapwing.collect.keys import Key
from lapwing.collect.opening import opened_rows
from lapwing.collect.runs import count, totals_of
from lapwing.collect.sealing import ID_BYTES, row_bytes
from lapwing.collect.segments import SealedSegment, sealed_epoch, sealed_name
from lapwing.collect.stations import DUPLICATE, LARGEST_SEGMENT, NO_KEY, SEALED_WRONG, Station
from lapwing.privacy.store import FileStore

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.uint8]

TAKEN, PASSED_ON = "taken", "passed on"
STASH = "stash"
"""Where the files of an oblivious shuffle are, beside those that came and go."""


class ShufflerFile(FileStore):
    """The small facts of a shuffler, in SQLite."""

    __slots__ = ()

    statements = (
        "CREATE TABLE mixing (secret BLOB NOT NULL)",
        "CREATE TABLE run (name TEXT PRIMARY KEY, epoch INTEGER NOT NULL)",
        "CREATE TABLE taken (name TEXT PRIMARY KEY)",
        "CREATE TABLE output (name TEXT PRIMARY KEY, waits INTEGER NOT NULL)",
        "CREATE TABLE total (what TEXT PRIMARY KEY, reports INTEGER NOT NULL)",
    )
    since_breaker = ()
    layout = frozenset(statements)


class ShufflingServer(Station):
    """One shuffler; `app` takes segments, `work` mixes them, `pass_on` sends what is ready. `keys` open its layer."""

    used_up = "SELECT 1 FROM taken WHERE name = :name"
    at_once: ClassVar[int] = 1 << 20
    """Rows that are gathered for one batch, about, if there are so many: what memory holds."""

    def __init__(
        self,
        collection: Collection,
        folder: Path,
        keys: Mapping[int, Key],
        signing_key: Key,
        *,
        oblivious: bool = False,
        **named: Any,
    ) -> None:
        super().__init__(collection, folder, ShufflerFile(folder / "facts.db", None), keys, signing_key, **named)
        self.outgoing, self.oblivious, self._tried = folder / "outgoing", oblivious, frozenset[Path]()
        make_folder(self.outgoing)

    @abstractmethod
    def _mixed(self, epoch: int, rows: Rows, totals: Counter[str]) -> Rows:
        """What is passed on of the rows of one batch, in a random order."""

    @abstractmethod
    def _crowded(self, epoch: int, rows: Rows, totals: Counter[str], secret: Any) -> tuple[Rows, Rows]:
        """Names of crowds, and what is passed on, of some rows; without those that are left out."""

    def _begun(self, epoch: int) -> tuple[Any, Rows]:
        """A secret of the batch, and rows that are passed on with it and are nobody's."""
        import numpy as np

        return None, np.empty((0, self._passed_bytes()), dtype=np.uint8)

    def _kept(self, sizes: Sequence[int]) -> Sequence[int]:
        """How many rows of crowds of these sizes are passed on."""
        assert self.collection.crowd is not None
        return self.collection.crowd.mechanism.release(list(sizes), self.entropy)

    def _passed_bytes(self) -> int:
        return row_bytes(self.collection, self.collection.after(self.party))

    async def health(self, _: Request) -> Answer:
        """Totals, and digests of all that was taken and passed on: two parties compare them."""
        taken, passed = await asyncio.to_thread(self.digests)
        totals = await asyncio.to_thread(self.totals)
        return Answer.json(200, collection=self.collection.id, totals=totals, taken=taken, passed_on=passed)

    def digests(self) -> tuple[str, str]:
        """Of the names of all that was taken, and of all that the next party has."""
        with self.facts.transaction(write=False) as database:
            taken = [name for (name,) in database.execute("SELECT name FROM taken")]
            passed = [name for (name,) in database.execute("SELECT name FROM output WHERE waits = 0")]
        return digest_of(taken), digest_of(passed)

    def totals(self) -> dict[str, int]:
        """How many reports were taken and passed on, and how many were left out, by reason; and what is damaged."""
        damaged = {DAMAGED: set_aside(self.incoming), UNSENDABLE: unsendable(self.outgoing, self._waiting)}
        return totals_of(self.facts) | {what: files for what, files in damaged.items() if files}

    def work(self) -> int:
        """Mix what is enough for a batch; how many reports were passed on. One process at a time does so."""
        with alone(self.folder) as ours:
            if not ours:
                return 0
            self._tidy()
            # Those that were too few come first, so that they go with the next; names are hashes, and say nothing.
            there = sorted(self.incoming.glob("*.sealed"), key=lambda path: (path not in self._tried, path.name))
            if frozenset(there) == self._tried:
                return 0  # these were too few a moment ago
            epochs = {path: sealed_epoch(path) for path in there}
            passed_on = 0
            for epoch in sorted(set(epochs.values())):
                paths = [path for path in there if epochs[path] == epoch]
                passed_on += self._gather(epoch, paths) if epoch in self.keys else self._drop(epoch, paths)
            self._tried = frozenset(path for path in there if path.exists())
            return passed_on

    def _gather(self, epoch: int, paths: Sequence[Path]) -> int:
        """Mix files of one epoch, `at_once` rows together, and more where too few are good."""
        if self.oblivious:
            from lapwing.collect.oblivious import gathered

            return gathered(self, epoch, paths)
        least = self.collection.smallest_batch
        most = full = self._at_once()
        group, rows, passed_on = dict[Path, Handover](), 0, 0
        for path in paths:
            handover = self._read(epoch, path)
            if handover is not None:
                group[path] = handover
                rows += len(handover.segment.reports)
            if rows < full and path != paths[-1]:
                continue
            mixed = self._mix(epoch, group) if rows >= least else None
            if mixed is None:
                full *= 2
            else:
                group, rows, passed_on, full = {}, 0, passed_on + mixed, most
        return passed_on

    def _at_once(self) -> int:
        """Rows of a group, about: with a file more, its output is still one that the next party takes."""
        room = LARGEST_SEGMENT // 4 // row_bytes(self.collection, self.party)
        return max(min(self.at_once, room), self.collection.smallest_batch)

    def _drop(self, epoch: int, paths: Sequence[Path]) -> int:
        """Nobody can open these any more."""
        read = {path: self._read(epoch, path) for path in paths}
        rows = {path: len(handover.segment.reports) for path, handover in read.items() if handover is not None}
        if rows:
            self._use_up(list(rows), None, None, epoch, Counter({NO_KEY: sum(rows.values())}))
        return 0

    def _read(self, epoch: int, path: Path) -> Handover | None:
        """What came in this file; None if it was damaged, and is set aside."""
        handover = stored_for(self.collection, self.party, path)
        # A head that could not be read a moment ago may have named any epoch: then it waits for the next round.
        return handover if handover is not None and handover.segment.epoch == epoch else None

    def _mix(self, epoch: int, group: Mapping[Path, Handover]) -> int | None:
        """How many reports of these files are passed on; None if they are too few, and nothing was decided."""
        totals, parts = Counter[str](), [handover.segment.reports for handover in group.values()]
        ids, rows = self._opened(epoch, parts, totals)
        keys, rests, order = self.runs.mixing.sorted(ids)
        fresh = identities.unseen(self.runs.of(epoch), keys, rests)
        dummies = sum(max(0, len(handover.segment.reports) - handover.taken) for handover in group.values())
        reports = int(fresh.sum()) - dummies
        totals[DUPLICATE] += int((~fresh).sum())
        if not fresh.any():  # no report is in there that could wait for others
            self._use_up(list(group), None, None, epoch, totals)
            return 0
        if reports < self.collection.smallest_batch:
            return None
        mixed = self._mixed(epoch, rows[order[fresh]], totals)
        totals[TAKEN] += int(fresh.sum())
        totals[PASSED_ON] += len(mixed)
        run = self.runs.write(keys[fresh], rests[fresh])
        data = Handover(SealedSegment(self.collection.digest, epoch, mixed), reports).to_bytes(self.entropy)
        write_durably(self.outgoing / f"{sealed_name(data)}.sealed", [data])
        self._use_up(list(group), sealed_name(data), run, epoch, totals)
        self.runs.merge(epoch)
        return len(mixed)

    def _opened(self, epoch: int, parts: Sequence[Rows], totals: Counter[str]) -> tuple[Rows, Rows]:
        """Ids by which reports are told apart, and what `_mixed` gets of each. Rows that are no report are left out."""
        import numpy as np

        plains = self._opened_rows(epoch, np.concatenate(parts), totals)
        return plains[:, :ID_BYTES], plains[:, ID_BYTES:]

    def _opened_rows(self, epoch: int, rows: Rows, totals: Counter[str], *, start: int = 0) -> Rows:
        """Rows whose part from `start` on was sealed for this party, with that part opened."""
        import numpy as np

        sealed, digest = np.ascontiguousarray(rows[:, start:]), self.collection.digest
        plains, good = opened_rows(self.keys[epoch], digest, epoch, sealed, party=self.party, processes=self._processes)
        totals[SEALED_WRONG] += int((~good).sum())
        return np.concatenate([rows[good, :start], plains[good]], axis=1)

    def _use_up(self, paths: Sequence[Path], *what: Any) -> None:
        self._commit(paths, *what)
        for path in paths:
            path.unlink()

    def _commit(
        self, paths: Sequence[Path], output: str | None, run: str | None, epoch: int, totals: Counter[str]
    ) -> None:
        with self.facts.transaction() as database:
            for path in paths:
                database.execute("INSERT INTO taken VALUES (:name)", {"name": path.stem})
            if output is not None and run is not None:
                self.runs.add(database, run, epoch)
                database.execute("INSERT INTO output VALUES (:name, 1)", {"name": output})
            count(database, totals)

    def pass_on(self) -> int:
        """Send what is ready to the next party; how many batches it has now that it had not before."""

        def arrived(name: str) -> None:
            with self.facts.transaction() as database:
                database.execute("UPDATE output SET waits = 0 WHERE name = :name", {"name": name})

        return send(self.collection, self.party, self.outgoing, self._waiting(), self.signing_key, arrived)

    def _waiting(self) -> list[str]:
        with self.facts.transaction(write=False) as database:
            return [name for (name,) in database.execute("SELECT name FROM output WHERE waits = 1 ORDER BY name")]

    def retire(self) -> int:
        """Destroy keys and ids of epochs that are over; how many keys went. What still waits here is dropped."""
        with alone(self.folder) as ours:
            gone = self._end_epochs(self._over()) if ours else 0
        self._tried = frozenset() if gone else self._tried
        return gone

    def _tidy(self) -> None:
        """Finish what a crash left: remove inputs that are used up, and outputs that nobody knows or the next has."""
        waiting = set(self._waiting())
        remove_parts(self.incoming)
        for path in (self.folder / STASH).glob("*"):  # of a shuffle that did not end: nobody has the keys any more
            path.unlink(missing_ok=True)
        for path in self.incoming.glob("*.sealed"):
            if self._known(path.stem):
                path.unlink(missing_ok=True)
        for path in self.outgoing.iterdir():
            if path.suffix != ASIDE and (path.suffix != SEALED or path.stem not in waiting):
                path.unlink(missing_ok=True)
        self.runs.tidy()


def digest_of(names: Sequence[str]) -> str:
    """One short text for a set of names, the same whatever their order."""
    return hashlib.sha256(json.dumps(sorted(names)).encode()).hexdigest()[:32]
