"""What an ingestor refused, by reason: one count for all of its processes, which remains when they end.

Every process adds what it refused about once a second, so a number tells nothing about the time of a request.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from lapwing.collect.files import make_folder
from lapwing.collect.runs import count, totals_of
from lapwing.privacy.store import FileStore


class RefusalFile(FileStore):
    """Counts by reason, in SQLite."""

    __slots__ = ()

    statements = ("CREATE TABLE total (what TEXT PRIMARY KEY, reports INTEGER NOT NULL)",)
    since_breaker = ()
    layout = frozenset(statements)


class Refusals:
    """The counts in a folder, as one of its processes sees them."""

    def __init__(self, folder: Path) -> None:
        make_folder(folder)
        self._file, self._turn, self._told = RefusalFile(folder / "refused.db", None), threading.Lock(), Counter[str]()
        self._file.create(allowed=True)

    def tell(self, refused: Mapping[str, int]) -> None:
        """All that this process refused until now; what is new since the last time is added."""
        with self._turn:
            new = Counter(refused) - self._told
            if new:
                with self._file.transaction() as database:
                    count(database, new)
                self._told += new

    def totals(self) -> dict[str, int]:
        """Of all processes, as far as they told."""
        return totals_of(self._file)
