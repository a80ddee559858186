"""Where randomness comes from: an AES-256-CTR keystream keyed by the operating system, and a reproducible stand-in.

Privacy: every guarantee of this library is computational, because the keystream is (docs/threat-model.md).
A keystream belongs to one thread of one process. It is dropped after a fork, and a new key is made every 64 MiB.
Nothing drawn before a fork is ever used after it.
"""

from __future__ import annotations

import hashlib
import os
import struct
import threading
import warnings
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.errors import InvalidParameter, NotPrivateWarning

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

REKEY_BYTES = 64 << 20
_SCALAR_WORDS = 512  # kept ready for scalars, so that one call into OpenSSL serves many draws
_ZEROS = memoryview(bytes(1 << 17))  # what is encrypted; one block of it stays in the cache
_forks = 0


def process() -> tuple[int, int]:
    """Which process this is: its id, and how many forks led to it. An id alone is not enough: ids are used again."""
    return os.getpid(), _forks


def _forked() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class Entropy(ABC):
    """A source of independent uniform bits.

    >>> from lapwing.noise import SYSTEM, Entropy
    >>> SYSTEM.bits(8) in range(256)
    True
    >>> isinstance(SYSTEM, Entropy)
    True
    """

    __slots__ = ()

    private: bool
    """Whether what is released with this source is private at all."""

    @abstractmethod
    def bits(self, count: int) -> int:
        """So many uniform bits as an integer.

        Args:
            count: How many bits.

        Returns:
            An integer from 0 to 2^count − 1.
        """

    @abstractmethod
    def fill(self, target: memoryview) -> None:
        """Overwrite a block of bytes with uniform bytes.

        Args:
            target: A writable block of bytes.

        >>> from lapwing.noise import SYSTEM
        >>> block = bytearray(16)
        >>> SYSTEM.fill(memoryview(block))
        >>> any(block)
        True
        """

    def words(self, count: int, dtype: type[np.unsignedinteger[Any]]) -> NDArray[Any]:
        """An array of uniform unsigned words.

        Args:
            count: How many words.
            dtype: Their type, such as `numpy.uint64`.

        Returns:
            An array of that type and length.

        >>> import numpy as np
        >>> from lapwing.noise import SYSTEM
        >>> SYSTEM.words(3, np.uint64).dtype
        dtype('<u8')
        """
        import numpy as np

        array = np.empty(count, dtype=np.dtype(dtype).newbyteorder("<"))
        if count:
            self.fill(array.view(np.uint8).data)
        return array.astype(dtype, copy=False)


class _Keystream:
    """One thread's keystream. Without the `cryptography` package it reads the operating system directly."""

    __slots__ = ("_encryptor", "_used", "process", "words")

    def __init__(self) -> None:
        self.process = os.getpid()
        self.words: list[int] = []
        self._used = REKEY_BYTES
        self._encryptor: Any = None

    def fill(self, target: memoryview) -> None:
        """Fill block by block, so that a long request is re-keyed on the way."""
        for start in range(0, len(target), len(_ZEROS)):
            block = target[start : start + len(_ZEROS)]
            if self._used + len(block) > REKEY_BYTES:
                self._rekey()
            self._used += len(block)
            if self._encryptor is None:
                block[:] = os.urandom(len(block))
            else:
                self._encryptor.update_into(_ZEROS[: len(block)], block)

    def word(self) -> int:
        """64 uniform bits. A word leaves the list before it is used: even a signal handler cannot draw it again."""
        while True:
            try:
                return self.words.pop()
            except IndexError:  # again and again: a handler may use up the list before we do
                fresh = bytearray(8 * _SCALAR_WORDS)
                self.fill(memoryview(fresh))
                self.words = list(struct.unpack(f"<{_SCALAR_WORDS}Q", fresh))

    def _rekey(self) -> None:
        try:
            from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
        except ImportError:  # a browser, or a bare interpreter: slower, just as good
            self._encryptor = None
        else:
            key = os.urandom(48)
            self._encryptor = Cipher(algorithms.AES(key[:32]), modes.CTR(key[32:])).encryptor()
        self._used = 0


class System(Entropy):
    """The default source: secure, thread-safe and fork-safe.

    Each thread owns a keystream. It is dropped in the child of a fork, both by the fork hook and by comparing the
    process id at every draw (a hook does not run for a bare clone system call).

    >>> System().bits(8) in range(256)
    True
    """

    __slots__ = ("_local",)
    private = True

    def __init__(self) -> None:
        self._forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def __repr__(self) -> str:
        return "SYSTEM"

    def __reduce__(self) -> str:
        return "SYSTEM"  # a copy in another process is that process's own source

    def bits(self, count: int) -> int:
        stream = self._stream()
        value = stream.word()
        while count > 64:
            value = value << 64 | stream.word()
            count -= 64
        return value >> (64 - count)

    def fill(self, target: memoryview) -> None:
        self._stream().fill(target)

    def _stream(self) -> _Keystream:
        try:
            stream: _Keystream = self._local.stream
        except AttributeError:
            stream = self._local.stream = _Keystream()
        if stream.process != os.getpid():
            stream = self._local.stream = _Keystream()
        return stream

    def _forget(self) -> None:
        self._local = threading.local()


class Reproducible(Entropy):
    """The same bits for the same seed, on every platform: for tests, teaching and experiments. **Not private.**

    The stream is SHAKE-128(seed ‖ block number) in blocks of 64 KiB. So it is the same with and without the
    `cryptography` package.

    Args:
        seed: A whole number from 0 on, or bytes. Whoever knows it can subtract the noise.

    Raises:
        InvalidParameter: If seed is neither bytes nor a whole number from 0 on.

    >>> Reproducible(7).bits(64) == Reproducible(7).bits(64)
    True
    """

    __slots__ = ("_block", "_buffer", "_lock", "_position", "_seed")
    private = False

    def __init__(self, seed: int | bytes) -> None:
        if not isinstance(seed, bytes):
            seed = str(checks.whole(minimum=0, seed=seed)).encode()
        warnings.warn(
            "reproducible noise is not private: whoever knows the seed can subtract it. "
            "Leave entropy out for a real release.",
            NotPrivateWarning,
            stacklevel=2,
        )
        self._seed, self._block, self._buffer, self._position = seed, 0, b"", 0
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Reproducible(seed={self._seed!r})  # not private"

    def bits(self, count: int) -> int:
        return int.from_bytes(self._take(count + 7 >> 3), "little") >> (-count & 7)

    def fill(self, target: memoryview) -> None:
        target[:] = self._take(len(target))

    def _take(self, size: int) -> bytes:
        with self._lock:
            parts = [self._buffer[self._position : self._position + size]]
            missing = size - len(parts[0])
            self._position += len(parts[0])
            while missing > 0:
                number = self._block.to_bytes(8, "little")
                self._buffer = hashlib.shake_128(b"lapwing reproducible entropy 1\0" + self._seed + number).digest(
                    1 << 16
                )
                self._block += 1
                self._position = min(missing, len(self._buffer))
                parts.append(self._buffer[: self._position])
                missing -= self._position
            return b"".join(parts)


class Recorded(Entropy):
    """Bits written down in advance, for tests that need one particular draw. **Not private.**

    Args:
        words: The bits, as whole numbers of `word_bits` bits each, highest bit first.
        word_bits: How many bits each word stands for.

    >>> Recorded([5], word_bits=8).bits(8)
    5
    """

    __slots__ = ("_left", "_value")
    private = False

    def __init__(self, words: list[int], word_bits: int) -> None:
        self._value, self._left = 0, word_bits * len(words)
        for word in words:
            self._value = self._value << word_bits | word

    def bits(self, count: int) -> int:
        """The next bits of the record, as an integer.

        Raises:
            InvalidParameter: If fewer bits than that are left.
        """
        if count > self._left:
            raise InvalidParameter(
                "words", self._left, f"only so many bits left, {count} were drawn", "Record more words."
            )
        self._left -= count
        return self._value >> self._left & (1 << count) - 1

    def fill(self, target: memoryview) -> None:
        for index in range(len(target)):
            target[index] = self.bits(8)


SYSTEM = System()
"""The source every release draws from unless told otherwise."""
