"""The stash shuffle: a uniform order of more records than memory holds, on a disk that an attacker may watch.

    distribute   each block of the input: every record draws a bucket; a chunk of fixed length goes to each bucket,
                 padded with nothing; records that do not fit wait in the stash for the next chunk
    compress     each bucket: all its chunks, without what padded them, in random order, into a queue;
                 the output is written from its front, `window` records behind, so every block of it is full

Which blocks are read and written, and when, is the same for all records and for all draws.   Proof: stash.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lapwing import checks
from lapwing.collect.overflow import decay, stash_failure, window_failure
from lapwing.collect.records import TAG, BlockFile, RecordFile
from lapwing.errors import InvalidParameter, LapwingError
from lapwing.noise import SYSTEM, Entropy, permutation, uniform_below

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BUCKET_BYTES = 1 << 23
"""Of the records of one bucket: a few buckets fit into memory."""
INDEX_BYTES = 32
"""What sorting needs for a record, however short it is."""
CHUNK_MEAN = 256
"""Records that a chunk should hold at least: with fewer, more of what is written is padding."""
FAILURE = 2.0**-64
"""Of one shuffle, where nobody asked for another probability."""
ATTEMPTS = 64
MOST_RECORDS = 10**10
_COUNT = 4
"""Bytes at the start of a chunk that say how many of its places are taken."""


class Overflow(LapwingError):
    """An attempt failed: the stash or the queue was too short for what was drawn. The records have no part in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StashShuffle:
    """A shuffle of `records` records of `record_bytes` bytes.   Proof: stash.md

    Privacy: whoever watches the disk learns the number of records and these parameters. The order that comes out is
    uniform up to a distance of `failure_probability()`.
    """

    records: int
    record_bytes: int
    buckets: int
    chunk: int
    """Places for the records of one block that go to one bucket."""
    stash: int
    """Records that may wait, all buckets together; each may have `stash // buckets` left at the end."""
    window: int
    """Records by which the output stays behind the buckets that were read."""

    def __post_init__(self) -> None:
        checks.whole(records=self.records)
        checks.whole(record_bytes=self.record_bytes)
        checks.whole(buckets=self.buckets)
        checks.whole(chunk=self.chunk)
        checks.whole(minimum=0, stash=self.stash)
        checks.whole(minimum=0, window=self.window)
        if self.records > MOST_RECORDS:
            why = f"is more than {MOST_RECORDS:,}, beyond which the probability to fail is not computed"
            raise InvalidParameter("records", self.records, why, "Shuffle smaller batches.")
        if self.buckets > min(self.records, 1 << 16):
            why = "there are more buckets than records, or than 65,536"
            raise InvalidParameter("buckets", self.buckets, why, "Use fewer buckets, of more records each.")

    @classmethod
    def fitted(cls, records: int, record_bytes: int, failure: float = FAILURE) -> StashShuffle:
        """Parameters for so many records: buckets of a few megabytes, and a failure at most this likely."""
        records, record_bytes = checks.whole(records=records), checks.whole(record_bytes=record_bytes)
        budget = float(checks.probability(failure=failure)) / 2
        wanted = -(-records * max(record_bytes, INDEX_BYTES) // BUCKET_BYTES)
        buckets = max(1, min(wanted, math.isqrt(records // CHUNK_MEAN)))
        bucket = -(-records // buckets)
        chunk = min(bucket, math.ceil(bucket / buckets + 2 * math.sqrt(bucket / buckets)))
        places = 0 if chunk == bucket else math.ceil(math.log(buckets**2 / budget) / decay(bucket, buckets, chunk))
        window = math.ceil(math.sqrt(records * math.log(2 * buckets / budget) / 2)) if buckets > 1 else 0
        return cls(
            records=records,
            record_bytes=record_bytes,
            buckets=buckets,
            chunk=chunk,
            stash=places * buckets,
            window=window,
        )

    def failure_probability(self) -> float:
        """At least the probability that an attempt fails, and the distance of the order from a uniform one."""
        bucket = -(-self.records // self.buckets)
        stash = stash_failure(bucket, self.buckets, self.chunk, self._left)
        return min(1.0, stash + window_failure(self.records, self.buckets, self.window))

    @property
    def overhead(self) -> float:
        """Places written for each record, in both passes; a shuffle in memory writes one."""
        return 1 + self.buckets * (self.buckets * self.chunk + self._left) / self.records

    @property
    def memory_records(self) -> int:
        """At least the records held at one time: a block with the stash, copied once, or a bucket with the queue."""
        bucket = -(-self.records // self.buckets)
        queue = bucket + 2 * self.window
        return max(2 * (bucket + self.stash) + self.chunk, 2 * (bucket + queue) + self.chunk)

    @property
    def _left(self) -> int:
        return self.stash // self.buckets

    @property
    def input_bounds(self) -> tuple[int, ...]:
        """Where the blocks of the input end, in records."""
        return tuple(number * self.records // self.buckets for number in range(self.buckets + 1))

    @property
    def output_bounds(self) -> tuple[int, ...]:
        """Where the blocks of the output end."""
        return (0, *(max(0, end - self.window) for end in self.input_bounds[1:-1]), self.records)

    def input_file(self, path: Path, entropy: Entropy = SYSTEM) -> RecordFile:
        """An empty file for the records, cut as the shuffle reads them."""
        return RecordFile(path, self.input_bounds, self.record_bytes, entropy)

    def shuffle(self, source: RecordFile, folder: Path, entropy: Entropy = SYSTEM) -> RecordFile:
        """The records of `source` in a uniform order, in a new file of this folder; `source` stays as it is."""
        if source.bounds != self.input_bounds or source.record_bytes != self.record_bytes:
            hint = "Make it with input_file() of the same shuffle."
            raise InvalidParameter("source", "<records>", "is cut in another way", hint)
        for _ in range(ATTEMPTS):
            chunks = BlockFile(folder / f"{entropy.bits(64):016x}.chunks", entropy)
            target = RecordFile(
                folder / f"{entropy.bits(64):016x}.shuffled", self.output_bounds, self.record_bytes, entropy
            )
            try:
                self._distribute(source, chunks, entropy)
                self._compress(chunks, target, entropy)
            except Overflow:  # the next attempt draws everything again, under other keys
                target.remove()
            except BaseException:
                target.remove()
                raise
            else:
                return target
            finally:
                chunks.remove()
        raise Overflow(
            f"the shuffle failed {ATTEMPTS} times: stash, chunk or window are too small. "
            "StashShuffle.fitted chooses parameters that fail with probability 2^-64."
        )

    # ---------------------------------------------------------------- the two passes

    def _distribute(self, source: RecordFile, chunks: BlockFile, entropy: Entropy) -> None:
        import numpy as np

        pad = _Pad(self.chunk, self.record_bytes)
        held = np.empty((0, self.record_bytes), dtype=np.uint8)
        held_targets = np.empty(0, dtype=np.uint16)
        for step in range(self.buckets):
            rows = source.read(step)
            drawn = uniform_below(self.buckets, len(rows), entropy).astype(np.uint16)
            rows, targets = np.concatenate((held, rows)), np.concatenate((held_targets, drawn))
            order, ends = _grouped(targets, self.buckets)
            starts = np.concatenate(([0], ends[:-1]))
            for bucket in range(self.buckets):  # who waited comes first: the order is stable
                chosen = order[starts[bucket] : min(ends[bucket], starts[bucket] + self.chunk)]
                chunks.write(self._place(bucket, step), pad.filled(rows, chosen))
            rank = np.arange(len(order)) - np.repeat(starts, ends - starts)
            late = order[rank >= self.chunk]
            held, held_targets = rows[late], targets[late]
            if len(held) > self.stash:
                raise Overflow("the stash is full")
        order, ends = _grouped(held_targets, self.buckets)
        starts = np.concatenate(([0], ends[:-1]))
        if (ends - starts).max() > self._left:
            raise Overflow("too many records of one bucket are left")
        pad = _Pad(self._left, self.record_bytes)
        for bucket in range(self.buckets):
            chunks.write(self._place(bucket, self.buckets), pad.filled(held, order[starts[bucket] : ends[bucket]]))

    def _compress(self, chunks: BlockFile, target: RecordFile, entropy: Entropy) -> None:
        import numpy as np

        queue, read, ends, goals = np.empty((0, self.record_bytes), dtype=np.uint8), 0, self.input_bounds, target.bounds
        for bucket in range(self.buckets):
            pieces = [
                _taken(chunks.read(self._place(bucket, step), self._bytes(step)), self.record_bytes)
                for step in range(self.buckets + 1)
            ]
            rows = np.concatenate(pieces)
            del pieces
            read += len(rows)
            if abs(read - ends[bucket + 1]) > self.window:
                raise Overflow("the queue is too long or too short")
            queue = np.concatenate((queue, rows[permutation(len(rows), entropy)]))
            size = goals[bucket + 1] - goals[bucket]
            target.write(bucket, queue[:size])
            queue = queue[size:].copy()

    def _bytes(self, step: int) -> int:
        return _COUNT + self.record_bytes * (self.chunk if step < self.buckets else self._left)

    def _place(self, bucket: int, step: int) -> int:
        whole, rest = self._bytes(0) + TAG, self._bytes(self.buckets) + TAG
        return bucket * (self.buckets * whole + rest) + step * whole


class _Pad:
    """One chunk in the clear, used again and again: how many records, the records, nothing."""

    __slots__ = ("_bytes", "_count", "_rows")

    def __init__(self, places: int, record_bytes: int) -> None:
        import numpy as np

        self._bytes = np.zeros(_COUNT + places * record_bytes, dtype=np.uint8)
        self._count = self._bytes[:_COUNT].view(np.uint32)
        self._rows = self._bytes[_COUNT:].reshape(places, record_bytes)

    def filled(self, rows: NDArray[np.uint8], chosen: NDArray[np.intp]) -> memoryview:
        """The chunk with these rows; it is good until the next call."""
        self._count[0] = len(chosen)
        rows.take(chosen, axis=0, out=self._rows[: len(chosen)], mode="clip")
        self._rows[len(chosen) :] = 0
        return self._bytes.data


def _taken(plain: bytes, record_bytes: int) -> NDArray[np.uint8]:
    """The records of a chunk, without what padded it."""
    import numpy as np

    count = int(np.frombuffer(plain, dtype=np.uint32, count=1)[0])
    return np.frombuffer(plain, dtype=np.uint8, count=count * record_bytes, offset=_COUNT).reshape(count, record_bytes)


def _grouped(targets: NDArray[np.uint16], buckets: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The places of all records, bucket by bucket, and where each bucket ends."""
    import numpy as np

    return np.argsort(targets, kind="stable"), np.cumsum(np.bincount(targets, minlength=buckets))
