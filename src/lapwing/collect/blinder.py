"""The first of two shufflers: it mixes reports whose crowds it cannot read, and makes pseudonyms of them.

Where the collection says so, it adds dummies, so that the thresholder does not see exact sizes: reports to every crowd
that is listed, or whole crowds of invented names where nobody can list answers.

One secret exponent is drawn for a batch. It lives in the memory of this call and nowhere else: a crash draws another.
Proof: blinding.md
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from lapwing.collect import blinding, oprf
from lapwing.collect.crowds import invented_name
from lapwing.collect.sealing import ID_BYTES, blinder_plain
from lapwing.collect.shuffling import ShufflingServer
from lapwing.collect.string_protocol import StringProtocol
from lapwing.mechanisms.dummies import DummyCrowds, DummyReports
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

        exponent, dummies = self._begun(epoch)
        mixed = np.concatenate([self._crowded(epoch, rows, totals, exponent)[1], dummies])
        return mixed[permutation(len(mixed), self.entropy)]

    def _begun(self, epoch: int) -> tuple[Any, Rows]:
        """The exponent of the batch, and dummies."""
        import numpy as np

        exponent, width = oprf.random_scalar(self.entropy), self._passed_bytes()
        return exponent, np.concatenate([np.empty((0, width), np.uint8), *self._dummies(epoch, exponent, width)])

    def _crowded(self, epoch: int, rows: Rows, totals: Counter[str], secret: Any) -> tuple[Rows, Rows]:
        """No name, because no crowd can be read here: all are passed on."""
        import numpy as np

        size = blinding.PAIR_BYTES
        pairs = blinding.blinded(rows[:, :size].tobytes(), secret)
        columns = [np.frombuffer(pairs, dtype=np.uint8).reshape(-1, size), rows[:, size:]]
        return rows[:, :0], np.concatenate(columns, axis=1)

    def _kept(self, sizes: Sequence[int]) -> Sequence[int]:
        return sizes

    def _dummies(self, epoch: int, exponent: bytes, width: int) -> Iterator[Rows]:
        """Reports of nobody, as the collection says. They look like those of devices without an answer."""
        import numpy as np

        keys = self.collection.numbered(epoch)
        if keys is None:
            return
        for name in self._dummy_names():
            report = self._report_of_nobody(epoch)
            pair, payload = blinder_plain(self.collection, keys, report, name, self.entropy)
            row = blinding.blinded(pair, exponent) + payload
            yield np.frombuffer(row, dtype=np.uint8).reshape(1, width)

    def _report_of_nobody(self, epoch: int) -> bytes:
        """As a device sends it that has no answer."""
        protocol = self.collection.protocol
        if isinstance(protocol, StringProtocol):
            return protocol.report(self.collection.digest, epoch, None, None, self.entropy)[0]
        return protocol.randomize([None], self.entropy).to_bytes()

    def _dummy_names(self) -> Iterator[bytes]:
        """The crowd of each dummy: one that is listed, or one that was invented."""
        crowd = self.collection.crowd
        dummies = None if crowd is None else crowd.dummies
        if crowd is not None and isinstance(dummies, DummyReports):
            names = crowd.public_names()
            for name, count in zip(names, dummies.draw(len(names), self.entropy), strict=True):
                yield from [name] * count
        elif isinstance(dummies, DummyCrowds):
            for size, count in enumerate(dummies.draw(self.entropy), start=1):
                for _ in range(count):
                    yield from [invented_name(self.entropy)] * size


def fingerprints(payloads: Rows) -> Rows:
    """An id of each layer for the thresholder, made of its bytes: nobody can seal the same report in other bytes."""
    import numpy as np

    hashes = b"".join(hashlib.sha256(payload.tobytes()).digest()[:ID_BYTES] for payload in payloads)
    return np.frombuffer(hashes, dtype=np.uint8).reshape(-1, ID_BYTES)
