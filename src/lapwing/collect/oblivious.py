"""A shuffler with `--oblivious`: for a disk that an attacker watches, or for batches larger than memory.

    read       the files, one after another: open them, leave out duplicates, count crowds; all rows go, encrypted, into
               the input of a stash shuffle, those that are left out as nothing
    decide     how many rows of each crowd are passed on
    shuffle    `StashShuffle`: the rows in a uniform order
    select     a row is kept with probability (still to be kept of its crowd)/(still to come of its crowd), exactly
    write      the kept rows, as many at a time as the number of rows and of kept rows say, whatever was drawn

In memory are one file, the ids of the batch, a number for each crowd, a few buckets of the shuffle, and the output once
when it is sent. What the disk shows depends on the lengths of files in and out, and on ids.
Proof: stash.md, shuffler.md
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from lapwing.collect import identities
from lapwing.collect.files import PART, make_folder, write_all
from lapwing.collect.handovers import TAIL_BYTES, Handover
from lapwing.collect.identities import Run
from lapwing.collect.segments import SEALED_HEAD, NamedHash, sealed_head
from lapwing.collect.shuffling import PASSED_ON, STASH, TAKEN, ShufflingServer
from lapwing.collect.stash import StashShuffle
from lapwing.collect.stations import DUPLICATE
from lapwing.noise import Entropy, uniform_below
from lapwing.privacy.store import sync_folder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lapwing.collect.identities import Keys

    Rows = NDArray[np.uint8]

_NUMBER = 4
_NOTHING = 0xFFFFFFFF
"""The crowd of a row that is left out."""
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class _Held:
    """Sorted ids of this batch, in memory."""

    keys: Keys
    rests: Keys

    def columns(self) -> tuple[Keys, Keys]:
        return self.keys, self.rests

    def holds(self, keys: Keys, rests: Keys) -> NDArray[np.bool_]:
        """Which of these ids (sorted) are among them."""
        return Run.holds(cast("Run", self), keys, rests)


@dataclass(slots=True)
class _Batch:
    """What is known of a batch once its files were read."""

    totals: Counter[str] = field(default_factory=Counter)
    crowds: dict[bytes, int] = field(default_factory=dict)
    """A number for each name of a crowd."""
    sizes: list[int] = field(default_factory=list)
    ids: list[_Held] = field(default_factory=list)
    fresh: int = 0
    dummies: int = 0
    """Rows that came from the party before and are nobody's."""

    def numbers(self, names: Rows) -> NDArray[np.uint32]:
        """Of the crowds of these rows, which are counted."""
        import numpy as np

        placed = np.array([self.crowds.setdefault(name.tobytes(), len(self.crowds)) for name in names], dtype="<u4")
        counted = np.bincount(placed, minlength=len(self.crowds)).tolist()
        self.sizes += [0] * (len(self.crowds) - len(self.sizes))
        self.sizes = [size + more for size, more in zip(self.sizes, counted, strict=True)]
        return placed

    def sorted_ids(self) -> tuple[Keys, Keys]:
        """All ids that were new, in order."""
        import numpy as np

        keys, rests = (np.concatenate([held.columns()[column] for held in self.ids]) for column in (0, 1))
        order = np.lexsort((rests, keys))
        return keys[order], rests[order]


def gathered(server: ShufflingServer, epoch: int, paths: Sequence[Path]) -> int:
    """Mix files of one epoch, `at_once` rows together, and more where too few are good; how many were passed on."""
    least = server.collection.smallest_batch
    most = full = server._at_once()
    group, rows, passed_on = list[Path](), 0, 0
    lengths = _lengths(server, epoch, paths)
    for path, length in lengths.items():
        group.append(path)
        rows += length
        if rows < full and path != next(reversed(lengths)):
            continue
        try:
            mixed = _mixed(server, epoch, group, rows) if rows >= least else None
        except _Changed:  # it was set aside, and nothing was decided: the others begin again
            return passed_on + gathered(server, epoch, [path for path in paths if path.exists()])
        if mixed is None:
            full *= 2
        else:
            group, rows, passed_on, full = [], 0, passed_on + mixed, most
    return passed_on


class _Changed(Exception):
    """A file has other bytes than a moment ago."""


def _lengths(server: ShufflingServer, epoch: int, paths: Sequence[Path]) -> dict[Path, int]:
    """How many rows each file has; those that are damaged are left out."""
    read = ((path, server._read(epoch, path)) for path in paths)
    return {path: len(handover.segment.reports) for path, handover in read if handover is not None}


def _mixed(server: ShufflingServer, epoch: int, paths: Sequence[Path], rows: int) -> int | None:
    """How many reports of these files are passed on; None if they are too few, and nothing was decided."""
    place, batch = server.folder / STASH, _Batch()
    make_folder(place)
    secret, extra = server._begun(epoch)
    width = _NUMBER + server._passed_bytes()
    shuffle = StashShuffle.fitted(rows + len(extra), width)
    source = shuffle.input_file(place / f"{server.entropy.bits(64):016x}.in", server.entropy)
    try:
        source.fill(_records(server, epoch, paths, batch, secret, extra))
        reports = batch.fresh - batch.dummies
        if not batch.fresh:  # no report is in there that could wait for others
            server._use_up(paths, None, None, epoch, batch.totals)
            return 0
        if reports < server.collection.smallest_batch:
            return None
        kept = server._kept(batch.sizes)
        target = shuffle.shuffle(source, place, server.entropy)
        try:
            chosen = _selected(target, batch.sizes, kept, server.entropy)
            name = _written(server, epoch, _scheduled(chosen, shuffle, sum(kept)), sum(kept), reports)
        finally:
            target.remove()
    finally:
        source.remove()
    batch.totals[TAKEN] += batch.fresh
    batch.totals[PASSED_ON] += sum(kept)
    server._use_up(paths, name, server.runs.write(*batch.sorted_ids()), epoch, batch.totals)
    server.runs.merge(epoch)
    return sum(kept)


def _records(
    server: ShufflingServer, epoch: int, paths: Sequence[Path], batch: _Batch, secret: Any, extra: Rows
) -> Iterator[Rows]:
    """Each row as the number of its crowd and what is passed on of it; nothing where it is left out."""
    for number, path in enumerate(paths):
        handover = server._read(epoch, path)  # by its hash again: these are the bytes that were counted
        if handover is None:
            raise _Changed
        rows = handover.segment.reports
        batch.dummies += max(0, len(rows) - handover.taken)
        yield _padded(_file_records(server, epoch, rows, number, batch, secret), len(rows))
    if len(extra):
        yield _records_of(batch, extra[:, :0], extra)


def _file_records(server: ShufflingServer, epoch: int, rows: Rows, number: int, batch: _Batch, secret: Any) -> Rows:
    import numpy as np

    before = [rows[:0]] * number  # what is the first file for others may be told apart by its place
    ids, opened = server._opened(epoch, [*before, rows], batch.totals)
    keys, rests, order = server.runs.mixing.sorted(ids)
    fresh = identities.unseen(server.runs.of(epoch), keys, rests)
    for held in batch.ids:
        fresh &= ~held.holds(keys, rests)
    batch.totals[DUPLICATE] += int((~fresh).sum())
    batch.ids.append(_Held(keys[fresh], rests[fresh]))
    batch.fresh += int(fresh.sum())
    return _records_of(batch, *server._crowded(epoch, np.ascontiguousarray(opened[order[fresh]]), batch.totals, secret))


def _records_of(batch: _Batch, names: Rows, rows: Rows) -> Rows:
    import numpy as np

    numbers = batch.numbers(names).view(np.uint8).reshape(-1, _NUMBER)
    return np.concatenate([numbers, rows], axis=1)


def _padded(records: Rows, length: int) -> Rows:
    """As many as came: who watches the disk does not see how many were left out."""
    import numpy as np

    nothing = np.full((length - len(records), records.shape[1]), 255, dtype=np.uint8)
    return np.concatenate([records, nothing])


def _selected(blocks: Iterable[Rows], sizes: Sequence[int], kept: Sequence[int], entropy: Entropy) -> Iterator[Rows]:
    """Of each block the rows that are kept: of each crowd a uniform set of so many, whatever the order."""
    import numpy as np

    to_come, to_keep = list(sizes), list(kept)
    for block in blocks:
        numbers = np.ascontiguousarray(block[:, :_NUMBER]).view("<u4").ravel().tolist()
        chosen = []
        for place, number in enumerate(numbers):
            if number == _NOTHING:
                continue
            if to_keep[number] and uniform_below(to_come[number], entropy=entropy) < to_keep[number]:
                to_keep[number] -= 1
                chosen.append(place)
            to_come[number] -= 1
        yield block[chosen, _NUMBER:]


def _scheduled(chosen: Iterable[Rows], shuffle: StashShuffle, total: int) -> Iterator[Rows]:
    """The chosen rows, so many after each block as the number of rows and of kept ones say."""
    import numpy as np

    queue, written = np.empty((0, shuffle.record_bytes - _NUMBER), dtype=np.uint8), 0
    for end, rows in zip(shuffle.output_bounds[1:], chosen, strict=True):
        queue = np.concatenate([queue, rows])
        due = _due(shuffle, end, total) - written
        yield queue[:due]
        written, queue = written + min(due, len(queue)), queue[due:].copy()


def _due(shuffle: StashShuffle, end: int, total: int) -> int:
    """How many kept rows are written once so many rows were read: `window` fewer than are there on average."""
    return total if end == shuffle.records else max(0, end * total // shuffle.records - shuffle.window)


def _written(server: ShufflingServer, epoch: int, pieces: Iterable[Rows], total: int, reports: int) -> str:
    """A handover of these rows, durable under its name, as `write_durably` would make it of all bytes at once."""
    head = sealed_head(server.collection.digest, epoch, server._passed_bytes(), total)
    fresh = server.outgoing / f"{server.entropy.bits(64):016x}{PART}"
    handle = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        write_all(handle, bytes(SEALED_HEAD))
        body = hashlib.sha256(head[36:])
        for rows in pieces:
            data: bytes = rows.tobytes()
            body.update(data)
            write_all(handle, data)
        write_all(handle, Handover.tail(reports, server.entropy))
        os.pwrite(handle, head + body.digest(), 0)
        name = NamedHash()
        size = SEALED_HEAD + total * server._passed_bytes() + TAIL_BYTES
        for start in range(0, size, _PIECE):
            name.update(os.pread(handle, _PIECE, start))
        os.fsync(handle)
        fresh.replace(server.outgoing / f"{name.name()}.sealed")
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)
    sync_folder(server.outgoing)
    return name.name()
