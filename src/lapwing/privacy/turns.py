"""Turns at a file: processes that want it are served in the order in which they came.

SQLite lets waiting processes try again now and then, so a process that has just finished is often first again: of eight
processes one was served 110 times while another waited six seconds. Here each process draws a number from a file beside
the ledger, locks the byte of that number, and waits until nobody holds a lower one. The kernel drops the lock of a
process that ends, however it ends, so nothing has to be cleaned up.

Turns give fairness, not safety: SQLite's own lock still keeps transactions apart. If something goes wrong here (no such
locks, no right to write, a process that was stopped in the queue), only the order is lost.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STALLED = 5.0
"""Seconds without anybody being served after which one no longer queues: somebody ahead may have been stopped."""
STEP = 0.0005
"""Seconds until the next look, for each number ahead."""

_DOOR, _FIRST = 16, 17
"""The byte that is held while a number is drawn, and that of number 0; before them the next number and the last one
served, of eight bytes each."""
_MOST = 1 << 60


@contextmanager
def turn(file: Path, mode: int = 0o600) -> Iterator[None]:
    """One's turn; it ends with the block, or with the process."""
    handle = _opened(file, mode)
    try:
        if handle is not None:
            _wait(handle)
        yield
    finally:
        if handle is not None:
            os.close(handle)  # and with it every lock


def _opened(file: Path, mode: int) -> int | None:
    try:
        import fcntl  # noqa: F401 – not on every system
    except ImportError:
        return None
    try:
        return os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
    except OSError:
        return None


def _wait(handle: int) -> None:
    """Draw a number and wait for it; returns early where that is not possible."""
    import fcntl

    def held(kind: int, start: int, length: int) -> bool:
        try:
            fcntl.lockf(handle, kind | fcntl.LOCK_NB, length, start)
        except (BlockingIOError, PermissionError):  # somebody else has it; POSIX allows both
            return False
        return True

    try:
        patient = _Patience(handle)
        while not held(fcntl.LOCK_EX, _DOOR, 1):
            if not patient(1):
                return
        number = _number(handle, 0)
        _write(handle, 0, number + 1)
        held(fcntl.LOCK_EX, _FIRST + number, 1)
        fcntl.lockf(handle, fcntl.LOCK_UN, 1, _DOOR)
        while number and not held(fcntl.LOCK_SH, _FIRST, number):
            if not patient(number - _number(handle, 8)):
                return
        if number:
            fcntl.lockf(handle, fcntl.LOCK_UN, number, _FIRST)
        _write(handle, 8, number)
    except OSError:
        return


class _Patience:
    """Sleeps, longer for those further behind; false once nobody has been served for long."""

    def __init__(self, handle: int) -> None:
        self._handle, self._seen, self._since = handle, _number(handle, 8), time.monotonic()

    def __call__(self, ahead: int) -> bool:
        time.sleep(STEP * min(max(ahead, 1), 32))
        served = _number(self._handle, 8)
        if served != self._seen:
            self._seen, self._since = served, time.monotonic()
        return time.monotonic() - self._since < STALLED


def _number(handle: int, place: int) -> int:
    """A number of the file; whatever else is written there is 0."""
    number = int.from_bytes(os.pread(handle, 8, place), "big")
    return number if number < _MOST else 0


def _write(handle: int, place: int, number: int) -> None:
    os.pwrite(handle, number.to_bytes(8, "big"), place)
