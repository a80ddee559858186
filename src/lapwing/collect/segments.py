"""Segments: files in which envelopes wait. A crash loses nothing acknowledged, and sealed ones show no order.

    open      head ‖ blocks in order of arrival, each encrypted under the key of this segment, which lies beside it
    sealed    head ‖ sealed reports in random order, without ids and tags; the key of the open segment is destroyed

    block     number (4 bytes) ‖ bytes that follow (4) ‖ AES-256-GCM of some envelopes

The cipher's tag is the checksum of a block. It covers the head of the segment, the number and length of the block, and
all envelopes in it, so a block that was torn, zeroed, moved or cut is no block, and is left out. All that was
acknowledged lies before the first one that a crash tore, because an acknowledgement waits for the sync of everything.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lapwing.collect.files import destroy, write_all, write_durably
from lapwing.collect.sealing import random_id
from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy.store import sync_folder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OPEN_MAGIC, SEALED_MAGIC = b"LWS1", b"LWT1"
_DIGEST, _NAME_BYTES = 32, 16
OPEN_HEAD = 4 + _DIGEST + 4 + _NAME_BYTES
SEALED_HEAD = 4 + _DIGEST + 4 + 4 + 8 + _DIGEST
_BLOCK_HEAD = 8
_TAG = 16
LARGEST_BLOCK = 1 << 26


class Poisoned(OSError):
    """A segment whose disk failed: nothing more is written to it, and nothing that waited was acknowledged."""


class Unreadable(Exception):
    """A segment without its key or its head: not of this collection, or damaged. It is set aside, never deleted."""


class OpenSegment:
    """A segment that one process appends to. `append` returns when everything is on the disk.

    A failed write or sync poisons it: the system may have dropped the pages it could not write, so a second sync would
    succeed without them. Whoever holds it opens another one, under another key.
    """

    __slots__ = ("_cipher", "_handle", "_head", "_number", "bytes", "path", "poisoned")

    def __init__(self, folder: Path, digest: bytes, envelope_bytes: int, entropy: Entropy = SYSTEM) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        name = random_id(entropy)
        self.path = folder / f"{name.hex()}.open"
        key = entropy.bits(256).to_bytes(32, "little")
        self._cipher, self._number, self.bytes, self.poisoned = AESGCM(key), 0, 0, False
        self._head = OPEN_MAGIC + digest + envelope_bytes.to_bytes(4, "little") + name
        fresh = self.path.with_suffix(".new")
        self._handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX)  # whoever gets this lock knows that nobody writes any more
            write_all(self._handle, self._head)
            os.fsync(self._handle)
            write_durably(key_path(self.path), [key])
            fresh.replace(self.path)  # under this name it is never without its lock
            sync_folder(folder)
        except OSError:
            os.close(self._handle)
            raise

    def append(self, envelopes: bytes) -> None:
        """Durably, or not at all as far as anybody was told."""
        if self.poisoned:
            raise Poisoned("the disk failed")
        number = self._number.to_bytes(4, "little")
        head = number + (len(envelopes) + _TAG).to_bytes(4, "little")
        block = self._cipher.encrypt(number + bytes(8), envelopes, self._head + head)
        self._number += 1
        try:
            write_all(self._handle, head + block)
            os.fdatasync(self._handle)
        except OSError as error:
            self.poisoned = True
            raise Poisoned("the disk failed") from error
        self.bytes += len(envelopes)

    def close(self) -> None:
        """Nobody writes any more: from now on it may be sealed."""
        os.close(self._handle)


def key_path(segment: Path) -> Path:
    """Where the key of an open segment lies."""
    return segment.with_suffix(".key")


@dataclass(frozen=True, slots=True)
class AbandonedSegment:
    """An open segment that nobody writes to any more, held by its lock until `close`."""

    path: Path
    handle: int

    @classmethod
    def take(cls, path: Path) -> AbandonedSegment | None:
        """The segment, unless a process is still writing to it."""
        handle = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        return cls(path, handle)

    def close(self) -> None:
        """Let go of it."""
        os.close(self.handle)

    def blocks(self, digest: bytes, envelope_bytes: int) -> Iterator[bytes]:
        """What was written, in order, without blocks that are not whole."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        try:
            key = key_path(self.path).read_bytes()
        except FileNotFoundError:
            key = b""
        with self.path.open("rb") as file:
            head = file.read(OPEN_HEAD)
            expected = OPEN_MAGIC + digest + envelope_bytes.to_bytes(4, "little") + bytes.fromhex(self.path.stem)
            if head != expected or len(key) != 32:
                raise Unreadable(self.path.name)
            cipher, number = AESGCM(key), 0
            while len(start := file.read(_BLOCK_HEAD)) == _BLOCK_HEAD:
                size = int.from_bytes(start[4:], "little")
                if int.from_bytes(start[:4], "little") != number or not _TAG <= size <= LARGEST_BLOCK:
                    return
                # A block that is torn is the last one, unless the disk lost something: what follows is read as well.
                with suppress(InvalidTag):
                    yield cipher.decrypt(start[:4] + bytes(8), file.read(size), head + start)
                number += 1

    def set_aside(self) -> None:
        """Keep it under another name, for somebody to look at."""
        self.path.replace(self.path.with_suffix(".unreadable"))
        sync_folder(self.path.parent)

    def remove(self) -> None:
        """The key first: without it the rest is noise."""
        destroy(key_path(self.path))
        self.path.unlink(missing_ok=True)
        sync_folder(self.path.parent)


def remove_strays(folder: Path) -> None:
    """What a crash left while a segment was begun: files without a lock, keys without a segment."""
    for path in folder.glob("*.new"):
        stray = AbandonedSegment.take(path) if path.exists() else None
        if stray is not None:
            path.unlink(missing_ok=True)
            stray.close()
    for path in folder.glob("*.key*"):
        name = path.name.partition(".")[0]
        if not any((folder / f"{name}.{kind}").exists() for kind in ("new", "open", "unreadable")):
            destroy(path)


@dataclass(frozen=True, slots=True)
class SealedSegment:
    """Sealed reports of one epoch in a random order: what leaves an ingestor."""

    digest: bytes
    epoch: int
    reports: NDArray[np.uint8]
    """One row for each."""

    def to_bytes(self) -> bytes:
        """As it is stored and sent."""
        import numpy as np

        n, size = map(int, self.reports.shape)
        body: bytes = np.ascontiguousarray(self.reports).tobytes()
        head = sealed_head(self.digest, self.epoch, size, n)
        return head + hashlib.sha256(head[36:] + body).digest() + body

    @classmethod
    def from_bytes(cls, digest: bytes, data: bytes) -> SealedSegment:
        """As it was stored or came; anything else is refused."""
        import numpy as np

        view = memoryview(data)
        head, body = bytes(view[:SEALED_HEAD]), view[SEALED_HEAD:]
        sizes = head[36:52]
        epoch, size, n = (int.from_bytes(part, "little") for part in (sizes[:4], sizes[4:8], sizes[8:]))
        whole = len(head) == SEALED_HEAD and size > 0 and size * n == len(body) and head[:36] == SEALED_MAGIC + digest
        if not whole or hashlib.sha256(sizes + body).digest() != head[52:]:
            why = "is not a sealed segment of this collection, or was damaged"
            raise InvalidParameter("segment", "<bytes>", why, "Send the file as it was written.")
        return cls(digest, epoch, np.frombuffer(body, dtype=np.uint8).reshape(n, size))


def sealed_head(digest: bytes, epoch: int, row_bytes: int, rows: int) -> bytes:
    """How a sealed segment begins; a hash of the sizes (from byte 36 on) and of the rows follows, then the rows."""
    sizes = epoch.to_bytes(4, "little") + row_bytes.to_bytes(4, "little") + rows.to_bytes(8, "little")
    return SEALED_MAGIC + digest + sizes


def sealed_epoch(path: Path) -> int:
    """Of which epoch a stored segment is, without reading the rest of it; 0, which is none, if it cannot be read."""
    try:
        with path.open("rb") as file:
            return int.from_bytes(file.read(4 + _DIGEST + 4)[4 + _DIGEST :], "little")
    except OSError as error:
        if error.errno != errno.EIO:  # a disk that has lost these bytes
            raise
        return 0


class NamedHash:
    """The name of a sealed segment whose bytes come in pieces."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256(b"lapwing sealed segment\n")

    def update(self, data: bytes) -> None:
        """The next bytes."""
        self._hash.update(data)

    def name(self) -> str:
        """Of all of them."""
        return self._hash.hexdigest()[:32]


def sealed_name(data: bytes) -> str:
    """The name of a sealed segment: a hash of what is in it, so that nobody can put something else under it."""
    hashed = NamedHash()
    hashed.update(data)
    return hashed.name()


def write_sealed(folder: Path, segment: SealedSegment, party: str | None = None) -> tuple[str, Path]:
    """Its name, and where it was durably written. Where there are several, the name ends with whom it is for."""
    data: Any = segment.to_bytes()
    name = sealed_name(data) if party is None else f"{sealed_name(data)}-{party}"
    path = folder / f"{name}.sealed"
    write_durably(path, [data])
    return name, path
