"""Gathers the envelopes of finished segments, each id once, until there are enough to seal them.

A segment is read once. Whoever sends one envelope again and again fills segments with it, and adds one row here: what
is counted, and what memory holds, are distinct ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lapwing.collect.identities import Mixing, first_of_each
from lapwing.collect.sealing import EPOCH_BYTES, ID_BYTES
from lapwing.collect.segments import AbandonedSegment, Unreadable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lapwing.collect.identities import Keys

    Rows = NDArray[np.uint8]

MOST_AT_ONCE = 1 << 28
"""Bytes of distinct envelopes that are sealed together, about."""


@dataclass(frozen=True, slots=True)
class Fresh:
    """Envelopes of one epoch that were in no seal before, each id once, in the order of their keys."""

    epoch: int
    keys: Keys
    rests: Keys
    envelopes: Rows
    party: str
    """Whom they are passed on to."""

    def __len__(self) -> int:
        return len(self.envelopes)


@dataclass(slots=True)
class Gathering:
    """What was read and not sealed yet."""

    digest: bytes
    envelope_bytes: int
    rows: Rows = field(init=False)
    names: set[str] = field(init=False)
    """Of the segments that the rows came from."""
    repeats: int = field(init=False)
    """Envelopes whose id was there already."""
    unreadable: int = field(init=False)

    def __post_init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Begin again: these were sealed, or somebody else did it."""
        import numpy as np

        self.rows = np.empty((0, self.envelope_bytes), dtype=np.uint8)
        self.names, self.repeats, self.unreadable = set(), 0, 0

    @property
    def full(self) -> bool:
        """Whether no more may be held in memory."""
        return self.rows.nbytes > MOST_AT_ONCE

    def add(self, segments: Iterable[AbandonedSegment], mixing: Mixing) -> list[AbandonedSegment]:
        """Read those that are new, in turn, until it is full; all that are read. What cannot be read is set aside."""
        there = {segment.path.name: segment for segment in segments}
        if not self.names <= there.keys():
            self.clear()
        for name in [name for name in there if name not in self.names]:
            if self.full:
                break
            try:
                self._read(there[name], mixing)
            except Unreadable:
                there[name].set_aside()
                self.unreadable += 1
            else:
                self.names.add(name)
        return [there[name] for name in sorted(self.names)]

    def _read(self, segment: AbandonedSegment, mixing: Mixing) -> None:
        import numpy as np

        blocks = b"".join(segment.blocks(self.digest, self.envelope_bytes))
        came = np.frombuffer(blocks, dtype=np.uint8).reshape(-1, self.envelope_bytes)
        new = _distinct(came, mixing)
        rows = _distinct(np.concatenate([self.rows, new]), mixing) if len(self.rows) else new
        self.repeats += len(self.rows) + len(came) - len(rows)
        self.rows = rows


def by_epoch(rows: Rows) -> Iterator[tuple[int, Rows]]:
    """The envelopes of each epoch, in the order in which they were."""
    import numpy as np

    numbers = np.ascontiguousarray(rows[:, :EPOCH_BYTES]).view("<u4").ravel()
    for number in np.unique(numbers).tolist():
        yield number, rows[numbers == number]


def ids_of(envelopes: Rows) -> Rows:
    """The ids, as rows of 16 bytes."""
    return envelopes[:, EPOCH_BYTES : EPOCH_BYTES + ID_BYTES]


def _distinct(rows: Rows, mixing: Mixing) -> Rows:
    """The first of those with the same epoch and id."""
    import numpy as np

    kept = [rows[:0]]
    for _, ours in by_epoch(rows):
        keys, rests, order = mixing.sorted(ids_of(ours))
        kept.append(ours[np.sort(order[first_of_each(keys, rests)])])
    return np.concatenate(kept)
