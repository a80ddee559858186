"""The second of two shufflers: it counts crowds by pseudonyms that mean nothing to it, and drops those too small.

A pseudonym is good for one batch of the blinder: the next has another exponent. So crowds are counted in each of its
batches by itself. One in which too few reports are new, which a blinder that lost its memory may send, waits for the
next, and what is left of both is mixed.
Proof: blinding.md
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lapwing.collect import blinding, oprf
from lapwing.collect.blinder import NO_CROWD, fingerprints
from lapwing.collect.collection import Collection
from lapwing.collect.keys import Key
from lapwing.collect.sealing import ID_BYTES
from lapwing.collect.shuffler import thresholded
from lapwing.collect.shuffling import ShufflingServer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.uint8]

_PLACE_BYTES = 4
"""Which of the blinder's batches a row is from."""


class Thresholder(ShufflingServer):
    """S2 of `transport: blinded`. `crowd_keys` decrypt pseudonyms, by epoch."""

    party = "thresholder"
    at_once = 1  # each batch of the blinder by itself, unless it is too small

    def __init__(
        self,
        collection: Collection,
        folder: Path,
        keys: Mapping[int, Key],
        signing_key: Key,
        crowd_keys: Mapping[int, Key],
        **named: Any,
    ) -> None:
        super().__init__(collection, folder, keys, signing_key, **named)
        self.crowd_keys = dict(crowd_keys)

    def _opened(self, epoch: int, parts: Sequence[Rows], totals: Counter[str]) -> tuple[Rows, Rows]:
        """Nothing is opened yet: whether there are enough is not up to what a device has put inside."""
        import numpy as np

        places = np.repeat(np.arange(len(parts), dtype="<u4"), [len(part) for part in parts])
        rows = np.concatenate(parts)
        columns = [places.view(np.uint8).reshape(-1, _PLACE_BYTES), rows]
        return fingerprints(rows[:, blinding.PAIR_BYTES :]), np.concatenate(columns, axis=1)

    def _mixed(self, epoch: int, rows: Rows, totals: Counter[str]) -> Rows:
        assert self.collection.crowd is not None
        return thresholded(self.collection.crowd, *self._crowded(epoch, rows, totals, None), self.entropy)

    def _crowded(self, epoch: int, rows: Rows, totals: Counter[str], secret: Any) -> tuple[Rows, Rows]:
        import numpy as np

        key, end = self.crowd_keys.get(epoch), _PLACE_BYTES + blinding.PAIR_BYTES
        rows = self._opened_rows(epoch, rows, totals, start=end)
        pairs = [pair.tobytes() for pair in rows[:, _PLACE_BYTES:end]]
        names = [None if key is None else blinding.pseudonym(pair, key.secret) for pair in pairs]
        good = np.array([name is not None for name in names], dtype=bool)
        totals[NO_CROWD] += int((~good).sum())
        pseudonyms = np.frombuffer(b"".join(name for name in names if name is not None), dtype=np.uint8)
        crowds = [rows[good, :_PLACE_BYTES], pseudonyms.reshape(-1, oprf.ELEMENT_BYTES)]
        return np.concatenate(crowds, axis=1), rows[good, end + ID_BYTES :]

    def retire(self) -> int:
        """Destroy keys and ids of epochs that are over."""
        gone = super().retire()
        self.crowd_keys = {number: key for number, key in self.crowd_keys.items() if number in self.keys}
        return gone
