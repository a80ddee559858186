"""The aggregator: opens reports, counts them in batches, and passes on counts of batches that are closed.

    POST /segments   a sealed segment, signed by the party before → 201 when it is on the disk
    open             the segment's reports; duplicates by their inner ids, and rows that are not reports, are left out
    commit           one transaction: these ids were seen, this segment is used up, this file is in the open batch
    close            a batch with enough reports, when its time has come: its files are counted, the counts passed on
    retire           an epoch that is over: its key is destroyed, then its ids are deleted

Counting is a function of files that were committed, so a crash repeats it and changes nothing. Reports that come after
a batch was closed belong to the next one; no report is in two.

Privacy: it sees every report, without ids, times, addresses and tokens: local ε towards it. What it passes on are sums
of at least `smallest_batch` reports, and two batches share no report, so their difference tells nothing new. Strings
(string_counts.py) have no local ε: it sees those of large crowds, which open, and the threshold's (ε, δ) holds.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lapwing.collect import hops, identities
from lapwing.collect.batches import Batch, batch_name, whole_batch
from lapwing.collect.collection import Collection
from lapwing.collect.counting import Counting, counted_here
from lapwing.collect.files import alone, make_folder, remove_parts, write_durably
from lapwing.collect.handovers import ASIDE, DAMAGED, set_aside, stored_for, undamaged
from lapwing.collect.hops import Unreachable
from lapwing.collect.http import Answer, Request
from lapwing.collect.keys import Key
from lapwing.collect.opening import opened_rows
from lapwing.collect.runs import count, totals_of
from lapwing.collect.sealing import ID_BYTES, SEAL_BYTES, random_id, report_bytes
from lapwing.collect.segments import SealedSegment, sealed_epoch, sealed_name
from lapwing.collect.stations import DUPLICATE, NO_KEY, SEALED_WRONG, Station
from lapwing.collect.string_counts import StringCounts, counted_strings, part_bytes, valid_messages
from lapwing.collect.string_protocol import StringProtocol
from lapwing.crowd import Counts, Reports
from lapwing.crowd.protocol import Protocol
from lapwing.crowd.reports import header
from lapwing.privacy.journal import Database
from lapwing.privacy.store import FileStore

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.uint8]

NO_REPORT, BEFORE, TOO_FEW = "no report", "before thresholding", "too few for a batch"
LOST = "in damaged files"
OPEN, CLOSED, PASSED = "open", "closed", "passed on"


class BatchFile(FileStore):
    """The small facts of an aggregator, in SQLite."""

    __slots__ = ()

    statements = (
        "CREATE TABLE mixing (secret BLOB NOT NULL)",
        "CREATE TABLE run (name TEXT PRIMARY KEY, epoch INTEGER NOT NULL)",
        "CREATE TABLE segment (name TEXT PRIMARY KEY)",
        "CREATE TABLE part (name TEXT PRIMARY KEY, batch INTEGER NOT NULL, reports INTEGER NOT NULL,"
        " counted INTEGER NOT NULL)",
        "CREATE TABLE batch (number INTEGER PRIMARY KEY, state TEXT NOT NULL, closed TEXT, refused TEXT)",
        "CREATE TABLE total (what TEXT PRIMARY KEY, reports INTEGER NOT NULL)",
    )
    since_breaker = ()
    layout = frozenset(statements)


@dataclass(frozen=True, slots=True)
class Progress:
    """The batch that is being filled."""

    number: int
    reports: int
    smallest: int


class Aggregator(Station):
    """One aggregator; `app` takes segments, `work` opens and counts them. `keys` open reports, by epoch."""

    party = "aggregator"
    used_up = "SELECT 1 FROM segment WHERE name = :name"

    def __init__(
        self,
        collection: Collection,
        folder: Path,
        keys: Mapping[int, Key],
        signing_key: Key,
        *,
        counting: Counting = counted_here,
        **named: Any,
    ) -> None:
        super().__init__(collection, folder, BatchFile(folder / "batches.db", None), keys, signing_key, **named)
        self._counting, self.parts, self.closed = counting, folder / "reports", folder / "batches"
        for place in (self.parts, self.closed):
            make_folder(place)

    async def health(self, _: Request) -> Answer:
        """Totals, the number of the open batch, and until when it may have to wait for its time."""
        progress, totals, held = await asyncio.to_thread(lambda: (self.progress(), self.totals(), self.held_until()))
        said: dict[str, Any] = {"batch": progress.number, "totals": totals}
        said |= {} if held is None else {"held_until": held.isoformat()}
        return Answer.json(200, collection=self.collection.id, **said)

    def work(self) -> int:
        """Open and commit every segment that came; how many reports they held. One process at a time does so."""
        with alone(self.folder) as ours:
            if not ours:
                return 0
            self._tidy()
            return sum(self._take(path) for path in sorted(self.incoming.glob("*.sealed")))

    def retire(self) -> int:
        """Destroy keys and ids of epochs that are over and whose segments were counted; how many keys went.

        What comes later is dropped, and counted under its reason.
        """
        over = self._over()
        with alone(self.folder) as ours:
            waiting = {sealed_epoch(path) for path in self.incoming.glob("*.sealed")} if over else set()
            gone = self._end_epochs(over - waiting) if ours else 0
            if ours and not waiting and len(over) == len(self.collection.epochs):
                self._drop_rest()
        return gone

    def _drop_rest(self) -> None:
        """Delete reports that fill no batch, when no more can come: they are never published."""
        with self.facts.transaction() as database:
            number = _open_number(database)
            rest = _size(database, number)
            if not rest or self._enough(database, number):  # none, or a batch that will be closed
                return
            database.execute("DELETE FROM part WHERE batch = :number", {"number": number})
            count(database, Counter({TOO_FEW: rest}))
        self._tidy()

    def _take(self, path: Path) -> int:
        import numpy as np

        name = path.stem
        if self._known(name):  # committed before a crash
            path.unlink()
            return 0
        handover = stored_for(self.collection, self.party, path)
        if handover is None:  # it was whole when it was acknowledged: the disk is damaged
            return 0
        segment, totals = handover.segment, Counter[str]()
        if self.collection.crowd is not None:
            totals[BEFORE] += handover.taken
        ids, rows = self._opened(segment, totals)
        keys, rests, order = self.runs.mixing.sorted(ids)
        fresh = identities.unseen(self.runs.of(segment.epoch), keys, rests)
        totals[DUPLICATE] += int((~fresh).sum())
        rows = rows[np.sort(order[fresh])]
        data, kinds, counted = self._part(segment.epoch, rows, totals)
        run = self.runs.write(keys[fresh], rests[fresh])
        part = f"{sealed_name(data)}-{sealed_name(kinds)}-{random_id(self.entropy).hex()}"
        write_durably(self.parts / f"{part}.reports", [data])
        if self.collection.crowd is not None:
            write_durably(self.parts / f"{part}.kinds", [kinds])
        with self.facts.transaction() as database:
            self.runs.add(database, run, segment.epoch)
            database.execute("INSERT INTO segment VALUES (:name)", {"name": name})
            row = {"name": part, "batch": _open_batch(database), "counted": counted}
            # Behind a shuffler all that hid each other there, also those of which nothing came through.
            row["reports"] = counted if self.collection.crowd is None else handover.taken
            database.execute("INSERT INTO part VALUES (:name, :batch, :reports, :counted)", row)
            count(database, totals)
        path.unlink()
        self.runs.merge(segment.epoch)
        return totals["counted"]

    def _part(self, epoch: int, rows: Rows, totals: Counter[str]) -> tuple[bytes, bytes, int]:
        """The files of what came and of its kinds, and how many reports are in it."""
        protocol = self.collection.message
        if isinstance(protocol, StringProtocol):
            messages, valid = valid_messages(protocol, rows)
            data, kinds, counted = part_bytes(epoch, messages), b"", len(messages)
        else:
            reports, valid = Reports.from_singles(protocol, rows)
            kinds = self._kinds(protocol, rows[valid]).to_bytes()
            data, counted = reports.to_bytes(), len(reports)
        totals[NO_REPORT] += int((~valid).sum())
        totals["counted"] += counted
        return data, kinds, counted

    def _kinds(self, protocol: Protocol, rows: Rows) -> Reports:
        """Where a crowd is made of equal reports, one of each crowd that came through; otherwise none."""
        import numpy as np

        crowd = self.collection.crowd
        of_reports = crowd is not None and crowd.source == "report"
        return Reports.from_singles(protocol, np.unique(rows, axis=0) if of_reports else rows[:0])[0]

    def _opened(self, segment: SealedSegment, totals: Counter[str]) -> tuple[Rows, Rows]:
        """Inner ids and reports, as rows."""
        import numpy as np

        key = self.keys.get(segment.epoch)
        width = ID_BYTES + report_bytes(self.collection.message)
        if key is None or segment.reports.shape[1] != width + SEAL_BYTES:
            totals[NO_KEY if key is None else SEALED_WRONG] += len(segment.reports)
            return np.empty((0, ID_BYTES), np.uint8), np.empty((0, width - ID_BYTES), np.uint8)
        plains, good = opened_rows(
            key, self.collection.digest, segment.epoch, segment.reports, processes=self._processes
        )
        totals[SEALED_WRONG] += int((~good).sum())
        return plains[good, :ID_BYTES], plains[good, ID_BYTES:]

    def progress(self) -> Progress:
        """How many reports the open batch has."""
        with self.facts.transaction(write=False) as database:
            number = _open_number(database)
            reports = _size(database, number)
        return Progress(number, reports, self.collection.smallest_batch)

    def held_until(self) -> datetime | None:
        """Until when a full batch waits for its time at most; None if it waits for reports alone.

        Everybody may ask. So it is rounded up to the hour: it does not tell the second in which a batch was closed.
        """
        with self.facts.transaction(write=False) as database:
            last = _last_closed(database)
        if last is None:
            return None
        earliest = last + self.collection.publish_every
        rounded = earliest.replace(minute=0, second=0, microsecond=0)
        rounded += timedelta(hours=1) if rounded < earliest else timedelta(0)
        return rounded if self.clock() < rounded else None

    def close_batch(self) -> int | None:
        """Close the open batch if it is large enough and its time has come; its number, or None."""
        moment = self.clock()
        if self.progress().reports < self.collection.smallest_batch or not self._goes_on():
            return None
        with self.facts.transaction() as database:
            number = _open_batch(database)
            last = _last_closed(database)
            early = last is not None and moment - last < self.collection.publish_every
            if early or not self._enough(database, number):
                return None
            row = {"number": number, "state": CLOSED, "closed": moment.isoformat()}
            database.execute("UPDATE batch SET state = :state, closed = :closed WHERE number = :number", row)
        return number

    def _enough(self, database: Database, number: int) -> bool:
        """Whether a batch can be closed. One of which thresholds left nothing has nothing to publish, and waits."""
        query = "SELECT COALESCE(SUM(counted), 0) FROM part WHERE batch = :number"
        [counted] = database.execute(query, {"number": number}).fetchone()
        return bool(counted) and _size(database, number) >= self.collection.smallest_batch

    def _goes_on(self) -> bool:
        """Whether the open batch has a number that nothing was published under; false while nobody can tell.

        An aggregator whose disk was lost begins with an empty store. What it published before stays as it is.
        """
        with self.facts.transaction(write=False) as database:
            [before] = database.execute("SELECT COUNT(*) FROM batch WHERE closed IS NOT NULL").fetchone()
        if before:
            return True
        try:
            version = f"/results/{self.collection.version}"
            reply = hops.get(self.collection.servers["analyzer"].address + version)
            ours = json.loads(reply.body)["batches"] if reply.status != 404 else []
            last = max((int(number) for batch in ours for number in batch["batches"]), default=0)
        except (OSError, ValueError, KeyError, TypeError):
            return False
        with self.facts.transaction() as database:
            number = _open_batch(database)
            if number <= last:
                row = {"number": number, "next": last + 1}
                database.execute("UPDATE batch SET number = :next WHERE number = :number", row)
                database.execute("UPDATE part SET batch = :next WHERE batch = :number", row)
        return True

    def count_closed(self) -> int:
        """Count the files of batches that were closed, and write down their counts; how many batches."""
        numbers = self._in_state(CLOSED)
        for number in numbers:
            if self._stored_batch(number) is None and self._whole(number):
                counts = self._counted(list(self._parts(number)))
                with self.facts.transaction(write=False) as database:
                    [closed] = database.execute("SELECT closed FROM batch WHERE number = :n", {"n": number}).fetchone()
                day = datetime.fromisoformat(closed).date()
                batch = Batch(self.collection.digest, number, day, self.totals(), counts, *self._before(number))
                write_durably(self.closed / batch_name(number, data := batch.to_bytes()), [data])
        return len(numbers)

    def _stored_batch(self, number: int) -> bytes | None:
        """The bytes of a batch that was counted; None if it was not, or if they were damaged: then it is again."""
        paths = [self.closed / f"{number}.batch", *self.closed.glob(f"{number}-*.batch")]  # once without a hash
        return next((whole_batch(self.collection, path) for path in paths if path.exists()), None)

    def _whole(self, number: int) -> bool:
        """Whether the files of a batch that was closed are whole, and enough without those that are not.

        A damaged file is set aside, and its reports are lost. If too few are left, they wait for others in the next
        batch: nothing was published of them.
        """
        lost = [path.stem for path in self._parts(number) if "-" in path.stem and undamaged(path) is None]
        if not lost:
            return True
        with self.facts.transaction() as database:
            for name in lost:
                query = "DELETE FROM part WHERE name = :name RETURNING reports, counted"
                for reports, counted in list(database.execute(query, {"name": name})):
                    before = {} if self.collection.crowd is None else {BEFORE: -reports}
                    count(database, Counter({"counted": -counted, LOST: counted, **before}))
            if self._enough(database, number):
                return True
            database.execute("DELETE FROM batch WHERE number = :number", {"number": number})
            row = {"number": number, "next": _open_batch(database)}
            database.execute("UPDATE part SET batch = :next WHERE batch = :number", row)
        return False

    def _counted(self, paths: Sequence[Path]) -> Counts | StringCounts:
        protocol = self.collection.message
        if isinstance(protocol, StringProtocol):
            return counted_strings(protocol, self.collection.digest, paths)
        return self._counting(protocol, paths)

    def _before(self, number: int) -> tuple[int | None, int, Counts | None]:
        """How many reports of a batch there were before thresholding, in how many parts, and their kinds."""
        crowd, protocol = self.collection.crowd, self.collection.message
        if crowd is None:
            return None, 0, None
        parts = [path.with_suffix(".kinds") for path in self._parts(number)]
        kinds = None
        if crowd.source == "report" and not isinstance(protocol, StringProtocol):
            for path in parts:
                self._mend_kinds(protocol, path)
            kinds = counted_here(protocol, parts)
        with self.facts.transaction(write=False) as database:
            return _size(database, number), len(parts), kinds

    def _mend_kinds(self, protocol: Protocol, path: Path) -> None:
        """Make a damaged file of kinds anew, from the reports of its part."""
        import numpy as np

        if "-" not in path.stem or undamaged(path, path.stem.split("-")[1]) is not None:
            return
        reports = Reports.from_bytes(protocol, path.with_suffix(".reports").read_bytes())
        columns = zip(protocol.layout, reports.columns, strict=True)
        bits = [np.packbits(column.to_bits(held, reports.n), axis=1, bitorder="little") for column, held in columns]
        head = np.tile(np.frombuffer(header(protocol, 1), dtype=np.uint8), (reports.n, 1))
        write_durably(path, [self._kinds(protocol, np.concatenate([head, *bits], axis=1)).to_bytes()])

    def pass_on(self) -> int:
        """Send counted batches to the analyzer; how many it has now that it had not before."""
        passed = 0
        for number in self._in_state(CLOSED):
            data = self._stored_batch(number)
            if data is None:
                continue
            try:
                hops.deliver(self.collection, "analyzer", "/batches", data, self.signing_key)
            except Unreachable as error:
                if error.answered:
                    continue
                break
            with self.facts.transaction() as database:
                row = {"number": number, "state": PASSED}
                database.execute("UPDATE batch SET state = :state WHERE number = :number", row)
            passed += 1
        return passed

    def _parts(self, number: int) -> Iterator[Path]:
        with self.facts.transaction(write=False) as database:
            names = list(database.execute("SELECT name FROM part WHERE batch = :number", {"number": number}))
        return (self.parts / f"{name}.reports" for (name,) in names)

    def _in_state(self, state: str) -> Sequence[int]:
        with self.facts.transaction(write=False) as database:
            rows = database.execute("SELECT number FROM batch WHERE state = :state ORDER BY number", {"state": state})
            return [number for (number,) in rows]

    def totals(self) -> dict[str, int]:
        """How many reports were counted, and how many were refused, by reason; and how many files are damaged."""
        damaged = sum(map(set_aside, (self.incoming, self.parts, self.closed)))
        return totals_of(self.facts) | ({DAMAGED: damaged} if damaged else {})

    def _tidy(self) -> None:
        """Remove files that a crash left and nobody knows, and reports of batches whose counts were passed on."""
        with self.facts.transaction() as database:
            query = "SELECT name FROM part WHERE batch IN (SELECT number FROM batch WHERE state = :state)"
            gone = [name for (name,) in database.execute(query, {"state": PASSED})]
            known = {name for (name,) in database.execute("SELECT name FROM part")} - set(gone)
        for path in self.parts.iterdir():
            if path.suffix != ASIDE and (path.suffix not in (".reports", ".kinds") or path.stem not in known):
                path.unlink(missing_ok=True)
        remove_parts(self.incoming)
        remove_parts(self.closed)
        self.runs.tidy()


def _open_batch(database: Database) -> int:
    """The number of the batch that is being filled; begun if there is none."""
    number = _open_number(database)
    row = {"number": number, "state": OPEN}
    database.execute("INSERT OR IGNORE INTO batch VALUES (:number, :state, NULL, NULL)", row)
    return number


def _open_number(database: Database) -> int:
    row: Any = database.execute("SELECT MAX(number) FROM batch WHERE state = :state", {"state": OPEN}).fetchone()
    if row[0] is not None:
        return int(row[0])
    [last] = database.execute("SELECT COALESCE(MAX(number), 0) FROM batch").fetchone()
    return int(last) + 1


def _last_closed(database: Database) -> datetime | None:
    """When the last batch was closed; None if none was."""
    [last] = database.execute("SELECT MAX(closed) FROM batch WHERE closed IS NOT NULL").fetchone()
    return None if last is None else datetime.fromisoformat(last)


def _size(database: Database, number: int) -> int:
    query = "SELECT COALESCE(SUM(reports), 0) FROM part WHERE batch = :number"
    [reports] = database.execute(query, {"number": number}).fetchone()
    return int(reports)
