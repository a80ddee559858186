"""Folders of benches: one for each process, readable by its owner only, and removed at the end.

The folder is locked as long as the process lives. What a process left that was killed is removed when the next one
starts; what nobody used for two hours (`Settings.lab_lasts`) is removed by a sweep; the rest when the process ends.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from lapwing.noise.entropy import SYSTEM
from lapwing.web.lab.arrivals import Arrivals
from lapwing.web.lab.jobs import Jobs
from lapwing.web.lab.owners import known_as
from lapwing.web.service.plural import counted
from lapwing.web.service.problems import Problem
from lapwing.web.service.settings import Settings

if TYPE_CHECKING:
    from lapwing.web.lab.bench import Bench

PREFIX = "lapwing-tables-"
SWEPT_EVERY = 60.0
"""Seconds."""


class TooManyTables(Problem):
    """A browser has as many tables as it may have."""


class Lab:
    """The benches of one process, in a folder that is locked as long as the process lives."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.jobs = settings, Jobs()
        self.arrivals = Arrivals(self)
        self._benches: dict[str, Bench] = {}
        self._lock = threading.Lock()
        self._folder: Path | None = None
        self._end: Callable[[], object] = lambda: None

    @property
    def folder(self) -> Path:
        """The folder of this process; made, and those of dead processes removed, when it is first needed."""
        with self._lock:
            if self._folder is None:
                above = self.settings.lab_folder or Path(tempfile.gettempdir())
                above.mkdir(mode=0o700, parents=True, exist_ok=True)
                remove_leftovers(above)
                self._folder, held = _held_folder(above)
                self._end = weakref.finalize(self, _removed, self._folder, held, os.getpid())  # if nobody closes it
            return self._folder

    def start(self) -> None:
        """Remove what a process left that was killed."""
        above = self.settings.lab_folder or Path(tempfile.gettempdir())
        if above.is_dir():
            remove_leftovers(above)

    def bring(self, owner: str, title: str, address: str = "") -> Bench:
        """A new bench for the browser with this secret, or a refusal: no table goes to make room for another."""
        from lapwing.web.lab.bench import Bench  # it brings the engines; the school opens without them

        key = known_as(owner)
        bench_id = f"{SYSTEM.bits(128):032x}"
        folder = self.folder / bench_id
        bench = Bench(bench_id, key, folder, title, self.jobs, self.settings.lab_lasts, address)
        self._forget_useless(key)
        with self._lock:
            self._refuse_too_many(key, address)
            folder.mkdir(mode=0o700)
            self._benches[bench_id] = bench
        return bench

    def _forget_useless(self, key: str) -> None:
        """Remove what a browser brought that was no table, and what it used too long ago."""
        for bench in self.all():
            if bench.owner == key and (bench.unreadable or bench.expires < time.time()):
                self.delete(bench)

    def _refuse_too_many(self, key: str, address: str) -> None:
        each = self.settings.lab_benches_each
        if sum(other.owner == key for other in self._benches.values()) >= each:
            has = f"You have {counted(each, 'table')} here, and that is the most for one browser."
            raise TooManyTables(409, f"{has} Delete one of them, then bring this one again. Nothing was deleted.")
        most = self.settings.lab_benches
        if len(self._benches) >= most:
            raise Problem(503, "The lab is full. Try again in an hour.", headers={"retry-after": "3600"})
        if sum(other.address == address for other in self._benches.values()) >= max(1, most // 2):
            raise Problem(
                429, "There are too many tables from your network. Delete one that you brought, or try again later."
            )

    def find(self, owner: str, bench_id: str) -> Bench | None:
        """The bench, if this browser brought it and it is still there."""
        with self._lock:
            bench = self._benches.get(bench_id)
        if bench is None or not owner or bench.owner != known_as(owner):
            return None
        if bench.expires < time.time():
            self.delete(bench)
            return None
        bench.touch()
        return bench

    def of(self, owner: str) -> list[Bench]:
        """The tables that this browser brought, newest first; not what could not be read."""
        mine = [bench for bench in reversed(self.all()) if owner and bench.owner == known_as(owner)]
        return [bench for bench in mine if not bench.unreadable]

    def all(self) -> list[Bench]:
        """Every bench."""
        with self._lock:
            return list(self._benches.values())

    def delete(self, bench: Bench) -> None:
        """Remove a bench with everything in it."""
        with self._lock:
            self._benches.pop(bench.id, None)
        bench.delete()

    def sweep(self, now: Callable[[], float] = time.time) -> int:
        """Delete what nobody used for too long. How many that were."""
        old = [bench for bench in self.all() if bench.expires < now()]
        for bench in old:
            self.delete(bench)
        return len(old)

    def close(self) -> None:
        """Delete everything: the process ends."""
        for bench in self.all():
            self.delete(bench)
        self.jobs.close()
        with self._lock:
            self._end()
            self._folder = None


def _removed(folder: Path, held: int, process: int) -> None:
    if os.getpid() == process:  # not the child of a fork
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


async def keep_tidy(lab: Lab) -> None:
    """Sweep now and then, as long as the school is open."""
    await asyncio.to_thread(lab.start)
    while True:
        await asyncio.sleep(SWEPT_EVERY)
        await asyncio.to_thread(lab.sweep)


def remove_leftovers(above: Path) -> None:
    """Remove the folders of labs whose process is gone: their lock is free."""
    for folder in above.glob(f"{PREFIX}*"):
        try:
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            held = _locked(folder)
        except OSError:
            continue  # somebody works there, or it is gone
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


def _held_folder(above: Path) -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=above))  # 0700
        try:
            return folder, _locked(folder)
        except OSError:
            if not above.is_dir():
                raise
            # another process took it for a leftover in this very moment


def _locked(folder: Path) -> int:
    """Hold the folder; an OSError if somebody else does. The lock ends with the process, however that ends."""
    held = os.open(folder / "lock", os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        raise
    return held
