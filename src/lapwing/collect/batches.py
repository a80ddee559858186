"""A closed batch on its way from aggregator to analyzer: counts, and what was refused until then.

bytes  "LWB1" ‖ hash of the collection (32 bytes) ‖ length of the facts (4) ‖ facts (JSON) ‖ counts ("LWC1" …; of
       strings "LWT1" …)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from lapwing.collect.string_counts import StringCounts
from lapwing.collect.string_protocol import StringProtocol
from lapwing.crowd import Counts
from lapwing.errors import InvalidParameter

if TYPE_CHECKING:
    from lapwing.collect.collection import Collection

MAGIC = b"LWB1"
MOST_FACTS = 1 << 14


@dataclass(frozen=True, slots=True)
class Batch:
    """The counts of one batch."""

    digest: bytes
    number: int
    day: date
    """On which it was closed."""
    totals: Mapping[str, int]
    """Of the whole collection so far: what was counted, and what was refused, by reason."""
    counts: Counts | StringCounts
    taken: int | None = None
    """Reports before thresholding, where a shuffler was on the way."""
    restored: int = 0
    """Reports that were counted again because so many of each crowd were dropped, on average."""

    @property
    def removed(self) -> int:
        """How many reports thresholding (and duplicates behind it) took away."""
        return 0 if self.taken is None else max(0, self.taken - self.counts.n + self.restored)

    def to_bytes(self) -> bytes:
        """As it is stored and sent."""
        facts = {"number": self.number, "day": self.day.isoformat(), "totals": dict(self.totals)}
        facts |= {} if self.taken is None else {"taken": self.taken, "restored": self.restored}
        text = json.dumps(facts, sort_keys=True).encode()
        return MAGIC + self.digest + len(text).to_bytes(4, "little") + text + self.counts.to_bytes()

    @classmethod
    def from_bytes(cls, collection: Collection, data: bytes) -> Batch:
        """As it came; anything else is refused."""
        start = MAGIC + collection.digest
        end = 40 + int.from_bytes(data[36:40], "little")
        try:
            facts = json.loads(data[40:end])
            if data[:36] != start or end > 40 + MOST_FACTS:
                raise ValueError
            counts = _counts_of(collection, data[end:])
            taken, restored = facts.get("taken"), facts.get("restored", 0)
            if not all(type(number) is int for number in (taken or 0, restored)):
                raise ValueError
            day = date.fromisoformat(facts["day"])
            return cls(collection.digest, facts["number"], day, facts["totals"], counts, taken, restored)
        except (ValueError, KeyError, TypeError):
            why = "is no batch of this collection, or was damaged"
            raise InvalidParameter("batch", "<bytes>", why, "Send the file as it was written.") from None


def _counts_of(collection: Collection, data: bytes) -> Counts | StringCounts:
    if isinstance(collection.protocol, StringProtocol):
        return StringCounts.from_bytes(collection.protocol, data)
    return Counts.from_bytes(collection.protocol, data)
