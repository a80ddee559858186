"""What one party on the route hands over to the next: rows of one epoch, and how many reports went into them.

From the ingestor it is a sealed segment. From a shuffler it is a sealed segment ‖ taken (8 bytes) ‖ random bytes (16).
Taken is the number of reports before thresholding and without dummies, which whoever counts needs to say what is
missing. The random bytes keep two batches apart of which nothing was left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lapwing.collect.sealing import ID_BYTES, random_id, row_bytes
from lapwing.collect.segments import SealedSegment
from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM, Entropy

if TYPE_CHECKING:
    from lapwing.collect.collection import Collection

_TAKEN_BYTES = 8
TAIL_BYTES = _TAKEN_BYTES + ID_BYTES


@dataclass(frozen=True, slots=True)
class Handover:
    """Rows for the next party."""

    segment: SealedSegment
    taken: int

    def to_bytes(self, entropy: Entropy = SYSTEM) -> bytes:
        """As a shuffler stores and sends it."""
        return self.segment.to_bytes() + self.tail(self.taken, entropy)

    @staticmethod
    def tail(taken: int, entropy: Entropy = SYSTEM) -> bytes:
        """What follows the segment."""
        return taken.to_bytes(_TAKEN_BYTES, "little") + random_id(entropy)


def received_by(collection: Collection, party: str, data: bytes) -> Handover:
    """What came for a party; anything else is refused."""
    if collection.before(party) == "ingestor":
        segment = SealedSegment.from_bytes(collection.digest, data)
        handover = Handover(segment, len(segment.reports))
    else:
        segment = SealedSegment.from_bytes(collection.digest, data[:-TAIL_BYTES])
        handover = Handover(segment, int.from_bytes(data[-TAIL_BYTES:-ID_BYTES], "little"))
    if segment.reports.shape[1] != row_bytes(collection, party):
        raise InvalidParameter("segment", "<bytes>", f"has rows that are not for the {party}", "Send what is.")
    return handover
