"""One shuffler: reports lose their order, and crowds that are too small are not passed on.

Privacy: it sees every sealed report with the hash of its crowd's name, without sender, time or order, and cannot open
reports. So it learns how large every crowd is, exactly. What it passes on is a random order of random reports of large
crowds; how many of each is drawn by `CrowdThreshold`.
Proof: shuffler.md
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from lapwing.collect.crowds import CROWD_BYTES, Crowd
from lapwing.collect.shuffling import ShufflingServer
from lapwing.noise import Entropy, permutation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.uint8]


class Shuffler(ShufflingServer):
    """A shuffler of `transport: shuffled`; of several, each has a name, keys, a store and batches of its own."""

    def __init__(self, *arguments: Any, party: str = "shuffler", **named: Any) -> None:
        self.party = party
        super().__init__(*arguments, **named)

    def _mixed(self, epoch: int, rows: Rows, totals: Counter[str]) -> Rows:
        assert self.collection.crowd is not None
        return thresholded(self.collection.crowd, *self._crowded(epoch, rows, totals, None), self.entropy)

    def _crowded(self, epoch: int, rows: Rows, totals: Counter[str], secret: Any) -> tuple[Rows, Rows]:
        return rows[:, :CROWD_BYTES], rows[:, CROWD_BYTES:]


def thresholded(crowd: Crowd, names: Rows, rows: Rows, entropy: Entropy) -> Rows:
    """Random rows of every crowd that is large enough, as many as the mechanism says, in a random order."""
    import numpy as np

    if not len(rows):
        return rows
    kinds = np.ascontiguousarray(names).view(np.dtype((np.void, names.shape[1]))).ravel()
    _, of_crowd, sizes = np.unique(kinds, return_inverse=True, return_counts=True)
    passed_on = np.array(crowd.mechanism.release(sizes.tolist(), entropy), dtype=np.int64)
    drawn = permutation(len(rows), entropy)
    by_crowd = drawn[np.argsort(of_crowd[drawn], kind="stable")]  # crowd after crowd, each in a random order
    place = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    kept = by_crowd[place < np.repeat(passed_on, sizes)]
    return rows[kept[permutation(len(kept), entropy)]]  # an order of its own: crowds must not show in it
