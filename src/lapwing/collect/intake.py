"""How an ingestor stores envelopes: it writes and syncs a group of requests at once, then acknowledges them.

While a group is being written and synced, the next one gathers. Under load a group grows, so the disk is asked as often
as it can answer, and each report costs a part of a sync. Nothing waits in memory beyond `most_waiting` bytes: whoever
comes then is asked to come back later.
"""

from __future__ import annotations

import asyncio
import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from lapwing.collect.segments import OpenSegment
from lapwing.noise import SYSTEM, Entropy

MOST_WAITING = 1 << 24
"""Bytes of envelopes that may wait for a sync."""
LARGEST_SEGMENT = 1 << 26
LONGEST_OPEN = 60.0
"""Seconds until a segment is closed, so that it can be sealed."""
SPARE_DISK = 1 << 26
"""Bytes of the disk that are left free: for sealing, and for SQLite."""


class Busy(Exception):
    """Nothing was stored: the disk is full, failing or slow. To be answered with 503, never with 201."""


class Intake:
    """Appends envelopes durably to segments in a folder; one object for one process and its event loop."""

    def __init__(
        self,
        folder: Path,
        digest: bytes,
        envelope_bytes: int,
        *,
        most_waiting: int = MOST_WAITING,
        largest_segment: int = LARGEST_SEGMENT,
        longest_open: float = LONGEST_OPEN,
        spare_disk: int = SPARE_DISK,
        entropy: Entropy = SYSTEM,
    ) -> None:
        self._folder, self._digest, self._envelope_bytes, self._entropy = folder, digest, envelope_bytes, entropy
        self._most_waiting, self._largest, self._longest = most_waiting, largest_segment, longest_open
        self._spare_disk = spare_disk
        self._segment: OpenSegment | None = None
        self._opened = 0.0
        self._gathering: list[tuple[bytes, asyncio.Future[None]]] = []
        self._waiting = 0
        self._writer: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, "intake")

    async def append(self, envelopes: bytes) -> None:
        """Returns when they are on the disk; `Busy` if they are not, and whoever sent them must send them again."""
        if self._waiting + len(envelopes) > self._most_waiting:
            raise Busy
        loop = asyncio.get_running_loop()
        written: asyncio.Future[None] = loop.create_future()
        self._gathering.append((envelopes, written))
        self._waiting += len(envelopes)
        if self._writer is None or self._writer.done():
            self._writer = loop.create_task(self._write())
        await written

    async def _write(self) -> None:
        loop = asyncio.get_running_loop()
        while self._gathering:
            group, self._gathering = self._gathering, []
            data = b"".join(envelopes for envelopes, _ in group)
            try:
                await loop.run_in_executor(self._thread, self._append, data)
            except OSError:
                failure: Busy | None = Busy()
            else:
                failure = None
            self._waiting -= len(data)
            for _, written in group:
                if written.cancelled():
                    continue
                if failure is None:
                    written.set_result(None)
                else:
                    written.set_exception(failure)

    def _append(self, data: bytes) -> None:
        self.rotate()
        if self._segment is None:
            if _free(self._folder) < self._spare_disk + len(data):
                raise OSError("the disk is full")
            self._segment = OpenSegment(self._folder, self._digest, self._envelope_bytes, self._entropy)
            self._opened = time.monotonic()
        try:
            self._segment.append(data)
        except OSError:
            self._let_go()  # the next group begins another one, if the disk lets it
            raise

    def rotate(self, *, now: bool = False) -> None:
        """Close the segment when it is large or old, so that it can be sealed (in the thread that writes)."""
        segment = self._segment
        if segment is None:
            return
        old = time.monotonic() - self._opened > self._longest
        if now or old or segment.bytes >= self._largest or _free(self._folder) < self._spare_disk:
            self._let_go()

    def _let_go(self) -> None:
        """Whatever closing says, this segment is not used any more."""
        segment, self._segment = self._segment, None
        if segment is not None:
            with suppress(OSError):
                segment.close()

    async def rotate_later(self) -> None:
        """The same from the event loop, in turn with what is written."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self.rotate)

    def close(self) -> None:
        """Wait for what is being written, and close the segment."""
        self._thread.shutdown(wait=True)
        self.rotate(now=True)


def _free(folder: Path) -> int:
    state = os.statvfs(folder)
    return state.f_bavail * state.f_frsize
