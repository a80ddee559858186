"""The first of two shufflers: it mixes reports whose crowds it cannot read, and makes pseudonyms of them.

Where the collection says so, it adds dummies to every crowd, so that the thresholder does not see exact sizes.

One secret exponent is drawn for a batch. It lives in the memory of this call and nowhere else: a crash draws another.
Proof: blinding.md
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lapwing.collect import blinding, oprf
from lapwing.collect.sealing import ID_BYTES, blinder_plain
from lapwing.collect.shuffling import ShufflingServer
from lapwing.noise import permutation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.uint8]

NO_CROWD = "no crowd"


class Blinder(ShufflingServer):
    """S1 of `transport: blinded`."""

    party = "blinder"

    def _opened(self, epoch: int, parts: Sequence[Rows], totals: Counter[str]) -> tuple[Rows, Rows]:
        """Reports are told apart as the thresholder does it: so none that is counted here is missing there."""
        import numpy as np

        plains = self._opened_rows(epoch, np.concatenate(parts), totals)[:, ID_BYTES:]
        good = np.array([blinding.is_pair(pair.tobytes()) for pair in plains[:, : blinding.PAIR_BYTES]], dtype=bool)
        totals[NO_CROWD] += int((~good).sum())
        return fingerprints(plains[good, blinding.PAIR_BYTES :]), plains[good]

    def _mixed(self, epoch: int, rows: Rows, totals: Counter[str]) -> Rows:
        import numpy as np

        exponent, size = oprf.random_scalar(self.entropy), blinding.PAIR_BYTES
        pairs = b"".join(blinding.blinded(pair.tobytes(), exponent) for pair in rows[:, :size])
        mixed = np.concatenate([np.frombuffer(pairs, dtype=np.uint8).reshape(-1, size), rows[:, size:]], axis=1)
        mixed = np.concatenate([mixed, *self._dummies(epoch, exponent, mixed.shape[1])])
        return mixed[permutation(len(mixed), self.entropy)]

    def _dummies(self, epoch: int, exponent: bytes, width: int) -> Iterator[Rows]:
        """Reports of nobody for every crowd that there is. They look like those of devices without an answer."""
        import numpy as np

        crowd, keys = self.collection.crowd, self.collection.numbered(epoch)
        if crowd is None or crowd.dummies is None or keys is None:
            return
        names = crowd.public_names()
        for name, count in zip(names, crowd.dummies.draw(len(names), self.entropy), strict=True):
            for _ in range(count):
                report = self.collection.local.randomize([None], self.entropy).to_bytes()
                pair, payload = blinder_plain(self.collection, keys, report, name, self.entropy)
                row = blinding.blinded(pair, exponent) + payload
                yield np.frombuffer(row, dtype=np.uint8).reshape(1, width)


def fingerprints(payloads: Rows) -> Rows:
    """An id of each layer for the thresholder, made of its bytes: nobody can seal the same report in other bytes."""
    import numpy as np

    hashes = b"".join(hashlib.sha256(payload.tobytes()).digest()[:ID_BYTES] for payload in payloads)
    return np.frombuffer(hashes, dtype=np.uint8).reshape(-1, ID_BYTES)
