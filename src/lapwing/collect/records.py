"""Encrypted records on a disk that an attacker may watch. Only memory has the key, and no block is written twice.

What the disk shows is which blocks were written and read, in which order, and how long they are. What is in them it
does not show, nor whether a block is the same as one of another file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM, Entropy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TAG = 16
"""Bytes by which a block is longer at rest."""


class Damaged(Exception):
    """A block is not what was written: somebody changed the disk, or it failed."""


class BlockFile:
    """Blocks at places of a file, under AES-256-GCM with a fresh key. The place is the nonce, so it is used once."""

    __slots__ = ("_cipher", "_handle", "_written", "path")

    def __init__(self, path: Path, entropy: Entropy = SYSTEM) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self.path, self._written = path, set[int]()
        self._cipher = AESGCM(entropy.bits(256).to_bytes(32, "little"))
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)

    def write(self, place: int, plain: Any) -> None:
        """A block at a place that has none yet."""
        if place in self._written:  # a second block under one nonce would give away both
            raise InvalidParameter("place", place, "has a block already", "Write every block once.")
        self._written.add(place)
        view = memoryview(self._cipher.encrypt(place.to_bytes(12, "little"), plain, None))
        while view:
            done = os.pwrite(self._handle, view, place)
            place, view = place + done, view[done:]

    def read(self, place: int, length: int) -> bytes:
        """The block of so many bytes that was written there."""
        from cryptography.exceptions import InvalidTag

        sealed = os.pread(self._handle, length + TAG, place)
        try:
            return self._cipher.decrypt(place.to_bytes(12, "little"), sealed, None)
        except InvalidTag:
            raise Damaged(f"a block of {self.path.name} is not what was written") from None

    def remove(self) -> None:
        """The file goes, and its key with this object."""
        os.close(self._handle)
        self.path.unlink(missing_ok=True)


class RecordFile:
    """Records of one length, cut into blocks where `bounds` says: 0, the end of the first block, …, all records."""

    __slots__ = ("_blocks", "bounds", "record_bytes")

    def __init__(self, path: Path, bounds: Sequence[int], record_bytes: int, entropy: Entropy = SYSTEM) -> None:
        self.bounds, self.record_bytes = tuple(bounds), record_bytes
        self._blocks = BlockFile(path, entropy)

    def __len__(self) -> int:
        return self.bounds[-1]

    def fill(self, pieces: Iterable[NDArray[np.uint8]]) -> None:
        """All records, in pieces of any size, one row for each."""
        import numpy as np

        waiting, number = np.empty((0, self.record_bytes), dtype=np.uint8), 0
        for piece in pieces:
            waiting = np.concatenate((waiting, piece)) if len(waiting) else np.asarray(piece)
            while number < len(self.bounds) - 1 and len(waiting) >= (size := self._size(number)):
                self.write(number, waiting[:size])
                waiting, number = waiting[size:], number + 1
        if number < len(self.bounds) - 1 or len(waiting):
            why = "there are more or fewer records than were announced"
            raise InvalidParameter("pieces", len(waiting), why, "Count the records first.")

    def write(self, number: int, rows: NDArray[np.uint8]) -> None:
        """The records of one block."""
        import numpy as np

        assert rows.shape == (self._size(number), self.record_bytes)
        if len(rows):
            self._blocks.write(self._place(number), np.ascontiguousarray(rows).data)

    def read(self, number: int) -> NDArray[np.uint8]:
        """The records of one block."""
        import numpy as np

        size = self._size(number)
        plain = self._blocks.read(self._place(number), size * self.record_bytes) if size else b""
        return np.frombuffer(plain, dtype=np.uint8).reshape(size, self.record_bytes)

    def __iter__(self) -> Iterator[NDArray[np.uint8]]:
        """Block after block, in order."""
        return (self.read(number) for number in range(len(self.bounds) - 1))

    def remove(self) -> None:
        """The file goes, and its key with this object."""
        self._blocks.remove()

    def _size(self, number: int) -> int:
        return self.bounds[number + 1] - self.bounds[number]

    def _place(self, number: int) -> int:
        return self.bounds[number] * self.record_bytes + number * TAG
