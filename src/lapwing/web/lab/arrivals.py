"""Disk space for uploads to the lab: reserved for what has arrived, not for what was announced.

A connection that declares two gigabytes and sends nothing holds nothing. One that sends is granted the next stretch of
the disk when it needs it; when there is no room for that, it ends, and what came of it is removed.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lapwing.web.lab.engine import SPARE, free_at, readable, size_of
from lapwing.web.service.problems import Problem

if TYPE_CHECKING:
    from lapwing.web.lab.benches import Lab

STRETCH = 16 << 20
"""Bytes for which room is kept at a time."""
AT_ONCE_EACH = 16
"""Files that may be on their way from one address."""


def too_large(most: int) -> str:
    """What to do with a file that is too large."""
    return f"A table may have {readable(most)}. Bring fewer columns or rows, or save it as Parquet, which is smaller."


@dataclass(eq=False)
class Arrival:
    """One file on its way."""

    home: Arrivals
    address: str
    bytes: int = 0
    granted: int = 0

    def needs(self, size: int) -> bool:
        """So many bytes more came. Whether it has to be granted room for them."""
        self.bytes += size
        return self.bytes > self.granted

    def grant(self) -> None:
        """Keep room for what has come and for the next stretch, or refuse the rest."""
        self.home.grant(self)


class Arrivals:
    """All files on their way to one lab."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._lock = threading.Lock()
        self._all: list[Arrival] = []

    @contextmanager
    def arrival(self, address: str) -> Iterator[Arrival]:
        """A file begins to arrive; in the end it is there as a table, or not at all."""
        arrival = Arrival(self, address)
        with self._lock:
            if sum(other.address == address for other in self._all) >= AT_ONCE_EACH:
                raise Problem(429, "Many files are being sent from your network. Wait until some of them have arrived.")
            self._all.append(arrival)
        try:
            yield arrival
        finally:
            with self._lock:
                self._all.remove(arrival)

    def grant(self, arrival: Arrival) -> None:
        """Keep room for an arrival, if there is some: in all, and for its address, which has half of it."""
        disk, wanted = self._lab.settings.lab_disk, arrival.bytes + STRETCH
        there = self._there()
        with self._lock:
            others = [other for other in self._all if other is not arrival]
            coming = wanted + sum(other.granted for other in others)
            mine = wanted + sum(other.granted for other in others if other.address == arrival.address)
            if free_at(self._lab.folder) - 2 * coming < SPARE or there.total() + coming > disk:
                raise Problem(503, "The lab has no space for it now. Try again later.", headers={"retry-after": "1800"})
            if there[arrival.address] + mine > disk // 2:
                raise Problem(
                    429,
                    "The tables from your network take much space. Delete one that you brought, or try again later.",
                )
            arrival.granted = wanted

    def _there(self) -> Counter[str]:
        """Bytes of the tables that are here, by address; those on their way are counted above."""
        sizes: Counter[str] = Counter()
        for bench in self._lab.all():
            if bench.intake is not None:
                sizes[bench.address] += size_of(bench.folder)
        return sizes
