"""Files that survive a power failure: written and synced before anybody relies on them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lapwing.noise import SYSTEM
from lapwing.privacy.store import sync_folder

PART = ".part"
"""How the name of a file ends that is being written."""
LOCK = "lock"
"""The file whose lock says that somebody works in a folder."""


def write_durably(path: Path, pieces: Iterable[bytes], *, mode: int = 0o600) -> None:
    """A new file under its name, whole or not at all; an older one of this name is replaced."""
    fresh = path.with_name(f"{path.name}.{SYSTEM.bits(64):016x}{PART}")  # two writers of one name never meet
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        _locked(handle)  # until it has its name: what is being written is no leftover
        for piece in pieces:
            write_all(handle, piece)
        os.fsync(handle)
        fresh.replace(path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)
    sync_folder(path.parent)


def remove_parts(folder: Path) -> None:
    """Remove what was being written when a process was killed; what somebody is writing now stays."""
    for path in folder.glob(f"*{PART}"):
        with suppress(FileNotFoundError):  # it has got its name meanwhile
            handle = os.open(path, os.O_RDONLY)
            try:
                if _locked(handle):
                    path.unlink()
            finally:
                os.close(handle)


def _locked(handle: int) -> bool:
    """Whether this file is ours alone from now on, until it is closed."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, ImportError):  # not on every system that devices have: then nothing is a leftover
        return False
    return True


def make_folder(path: Path) -> None:
    """A folder for this user alone, which is there after the power failed."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)
        sync_folder(path.parent)


def make_private_file(path: Path) -> None:
    """An empty file that only this user may read, unless there is one."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return


def write_all(handle: int, data: bytes) -> None:
    """Every byte, however the system cuts it."""
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


@contextmanager
def alone(folder: Path) -> Iterator[bool]:
    """True if nobody else works in this folder until the end of the block; the system ends it for who is killed."""
    import fcntl  # not on every system that devices have

    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)


def destroy(path: Path) -> None:
    """Overwrite a small secret, sync, remove. A disk that keeps old blocks may still have it: see the threat model."""
    try:
        handle = os.open(path, os.O_WRONLY)
    except FileNotFoundError:
        return
    try:
        write_all(handle, bytes(os.fstat(handle).st_size))
        os.fsync(handle)
    finally:
        os.close(handle)
    path.unlink(missing_ok=True)
    sync_folder(path.parent)
