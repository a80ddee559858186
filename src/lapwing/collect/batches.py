"""A closed batch on its way from aggregator to analyzer: counts, and what was refused until then.

bytes  "LWB1" ‖ hash of the collection (32 bytes) ‖ length of the facts (4) ‖ facts (JSON) ‖ counts ("LWC1" …; of
       strings "LWT1" …)

Where crowds are made of reports, counts of their kinds follow: one report of each kind that came through.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from math import prod
from typing import TYPE_CHECKING

from lapwing.collect.handovers import put_aside, undamaged
from lapwing.collect.segments import sealed_name
from lapwing.collect.string_counts import StringCounts
from lapwing.collect.string_protocol import StringProtocol
from lapwing.crowd import Counts
from lapwing.errors import InvalidParameter

if TYPE_CHECKING:
    from pathlib import Path

    from lapwing.collect.collection import Collection
    from lapwing.crowd.protocol import Protocol

MAGIC = b"LWB1"
ENDING = ".batch"
MOST_FACTS = 1 << 14
_COUNTS_HEAD = 28
"""Bytes of counts before their numbers."""


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
    parts: int = 0
    """Batches of the shufflers in it: each had thresholds of its own."""
    kinds: Counts | None = None
    """One report of each kind that came through in each part, where crowds are made of reports."""

    @property
    def local_counts(self) -> Counts:
        """Of reports of a local protocol: all but collections of strings have them."""
        assert isinstance(self.counts, Counts)
        return self.counts

    def to_bytes(self) -> bytes:
        """As it is stored and sent."""
        facts = {"number": self.number, "day": self.day.isoformat(), "totals": dict(self.totals)}
        facts |= {} if self.taken is None else {"taken": self.taken, "parts": self.parts}
        text = json.dumps(facts, sort_keys=True).encode()
        counts = self.counts.to_bytes() + (b"" if self.kinds is None else self.kinds.to_bytes())
        return MAGIC + self.digest + len(text).to_bytes(4, "little") + text + counts

    @classmethod
    def from_bytes(cls, collection: Collection, data: bytes) -> Batch:
        """As it came; anything else is refused."""
        start = MAGIC + collection.digest
        end = 40 + int.from_bytes(data[36:40], "little")
        try:
            facts = json.loads(data[40:end])
            if data[:36] != start or end > 40 + MOST_FACTS:
                raise ValueError
            counts, kinds = _counts_of(collection, data[end:])
            taken, parts = facts.get("taken"), facts.get("parts", 0)
            if not all(type(number) is int and number >= 0 for number in (taken or 0, parts)):
                raise ValueError
            day = date.fromisoformat(facts["day"])
            return cls(collection.digest, facts["number"], day, facts["totals"], counts, taken, parts, kinds)
        except (ValueError, KeyError, TypeError):
            why = "is not a batch of this collection, or was damaged"
            raise InvalidParameter("batch", "<bytes>", why, "Send the file as it was written.") from None


def batch_name(number: int | str, data: bytes) -> str:
    """The name of the file of a batch: its number, and a hash of its bytes."""
    return f"{number}-{sealed_name(data)}{ENDING}"


def whole_batch(collection: Collection, path: Path) -> bytes | None:
    """The bytes of a batch; None if they are others than were written, and then the file is set aside.

    Once names had no hash in them. Then what can be read is taken for whole.
    """
    content = path.stem.partition("-")[2]
    if content:
        return undamaged(path, content)
    try:
        data = path.read_bytes()
        Batch.from_bytes(collection, data)
    except (InvalidParameter, AttributeError):
        put_aside(path)
        return None
    return data


def counts_bytes(protocol: Protocol) -> int:
    """How long the counts of a batch are."""
    return _COUNTS_HEAD + 8 * prod(protocol.shape)


def _counts_of(collection: Collection, data: bytes) -> tuple[Counts | StringCounts, Counts | None]:
    """Counts, and counts of kinds if there are any."""
    protocol = collection.message
    if isinstance(protocol, StringProtocol):
        return StringCounts.from_bytes(protocol, data), None
    middle = counts_bytes(protocol)
    kinds = Counts.from_bytes(protocol, data[middle:]) if data[middle:] else None
    return Counts.from_bytes(protocol, data[:middle]), kinds
