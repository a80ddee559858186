"""What one server hands over to the next: a sealed segment, and how many reports went into it.

From the ingestor it is a sealed segment. From a shuffler it is a sealed segment ‖ taken (8 bytes) ‖ random bytes (16).
Taken is the number of reports before thresholding and without dummies, which whoever counts needs to say what is
missing. The random bytes keep two batches apart of which nothing was left.

On a disk it lies under a hash of its bytes. A file whose bytes are others now is set aside: it is never read as if it
were whole, never sent, and never deleted.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lapwing.collect import hops
from lapwing.collect.hops import Unreachable
from lapwing.collect.sealing import ID_BYTES, random_id, row_bytes
from lapwing.collect.segments import SealedSegment, sealed_name
from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy.store import sync_folder

if TYPE_CHECKING:
    from lapwing.collect.collection import Collection
    from lapwing.collect.keys import Key

SEALED, ASIDE = ".sealed", ".damaged"
"""How the names of files end that wait, and of those that were set aside."""
DAMAGED, UNSENDABLE = "files damaged after they came", "files damaged before they were sent"
"""In totals: how many that came were set aside, and how many that were to be sent are set aside or lost."""
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
        raise InvalidParameter(
            "segment", "<bytes>", f"has rows that are not for the {party}", "Send it the rows made for it."
        )
    return handover


def _content(name: str) -> tuple[str, str]:
    """The hash in the name of a file, and whom it is for if the name says so."""
    content, _, party = name.partition("-")
    return content, party


def undamaged(path: Path, content: str | None = None) -> bytes | None:
    """The bytes of a file that is named by their hash; None if they are others now, or cannot be read any more.

    `content` is that hash where it is not the first part of the name. What is damaged is set aside, so that the next
    round finds the others only.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        if error.errno not in (errno.EIO, errno.ENOENT):  # the file may be whole
            raise
        data = b""
    if sealed_name(data) == (content or _content(path.stem)[0]):
        return data
    put_aside(path)
    return None


def put_aside(path: Path) -> None:
    """Let nobody take a damaged file for a whole one; somebody may want to look at it."""
    if path.exists():
        path.replace(path.with_suffix(ASIDE))
        sync_folder(path.parent)


def stored_for(collection: Collection, party: str, path: Path) -> Handover | None:
    """What waits for a party in this file; None if it was damaged, and is set aside."""
    data = undamaged(path)
    return None if data is None else received_by(collection, party, data)


def set_aside(folder: Path) -> int:
    """How many files of a folder were damaged."""
    return sum(1 for _ in folder.glob(f"*{ASIDE}"))


def unsendable(folder: Path, waiting: Callable[[], Iterable[str]]) -> int:
    """How many of those that wait to be sent have no file any more: it was set aside, or is lost."""
    without = {name for name in waiting() if not (folder / f"{name}{SEALED}").exists()}
    return len(without.intersection(waiting())) if without else 0  # one that arrived meanwhile does not wait any more


def send(
    collection: Collection, sender: str, folder: Path, names: Iterable[str], key: Key, arrived: Callable[[str], None]
) -> int:
    """Send files to the next party, each until it has the same bytes, and then remove it; how many arrived.

    Where the next are several shufflers, the name of a file says for whom it is. One that is silent holds up no other.
    `arrived` writes down durably that it did. What did not arrive stays, and is sent again byte for byte.
    """
    count, silent = 0, set[str]()
    for name in names:
        content, party = _content(name)
        party = party or collection.after(sender)
        path = folder / f"{name}{SEALED}"
        data = None if party in silent else undamaged(path)
        if data is None:
            continue
        try:
            hops.hand_over(collection, party, data, content, key)
        except Unreachable as error:
            if not error.answered:  # nor does it answer now for others; one that is refused does not hold them up
                silent.add(party)
            continue
        arrived(name)
        path.unlink(missing_ok=True)
        count += 1
    return count
