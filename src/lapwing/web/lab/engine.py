"""DuckDB for files of strangers: little memory, one folder, nothing from outside, nothing that outlives it."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet

from lapwing.noise.entropy import SYSTEM

if TYPE_CHECKING:
    import duckdb

    from lapwing.web.lab.jobs import Progress

MEMORY = "256MB"
"""What DuckDB may hold at once; what does not fit goes to the folder. A test brings a file that is larger."""
ASKING = "768MB"
"""The same for questions."""
SPILLED = 8 << 30
"""Bytes that one question may put aside on disk; never more than half of what is free."""
SPARE = 1 << 30
"""Bytes of the disk that are left to others."""
_LOOKS_EVERY = 0.2


def quoted(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A text in SQL."""
    return "'" + value.replace("'", "''") + "'"


def connected(folder: Path, memory: str = MEMORY, threads: int = 1) -> duckdb.DuckDBPyConnection:
    """A database in memory that sees this folder and nothing else; what does not fit into memory goes there, too."""
    import duckdb

    settings = {
        "memory_limit": memory,
        "threads": threads,
        "preserve_insertion_order": False,
        "temp_directory": str(folder / f"spill-{SYSTEM.bits(64):016x}"),  # of its own: DuckDB clears it in the end
        "max_temp_directory_size": f"{min(SPILLED, free_at(folder) // 2)}B",
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "python_enable_replacements": False,
    }
    connection = duckdb.connect(":memory:", config=settings)  # type: ignore[arg-type]
    connection.execute(f"SET allowed_directories = [{text(str(folder))}]")
    connection.execute("SET enable_external_access = false")  # for good: DuckDB does not switch it on again
    return connection


class Stoppable:
    """A database whose questions can be stopped: each is asked through a cursor, and all of them are interrupted."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._cursors: WeakSet[duckdb.DuckDBPyConnection] = WeakSet()
        self._stopped = False

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """One more way to ask."""
        cursor = self._connection.cursor()
        self._cursors.add(cursor)
        return cursor

    def stop(self) -> None:
        """Stop whatever is asked now, and ask nothing any more. The engine did not fail: the job knows why it stops."""
        self._stopped = True
        self.interrupt()

    def stopped(self) -> bool:
        """Whether its job stopped it."""
        return self._stopped

    def interrupt(self) -> None:
        """Make whatever is asked now fail."""
        for cursor in list(self._cursors):
            cursor.interrupt()


@contextmanager
def engine(folder: Path, memory: str = MEMORY) -> Iterator[duckdb.DuckDBPyConnection]:
    """The same, closed in the end, and with settings that nothing changes."""
    connection = connected(folder, memory)
    try:
        connection.execute("SET enable_progress_bar = true")
        connection.execute("SET enable_progress_bar_print = false")
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET lock_configuration = true")
        yield connection
    finally:
        connection.close()


@contextmanager
def watched(
    connection: duckdb.DuckDBPyConnection, progress: Progress, start: float, end: float, too_much: Callable[[], bool]
) -> Iterator[None]:
    """Tell how far a statement is, and stop it when its job is cancelled or when there is too much."""
    done = threading.Event()

    def look() -> None:
        while not done.wait(_LOOKS_EVERY):
            share = max(0.0, connection.query_progress()) / 100
            progress.share = max(progress.share, min(end, start + (end - start) * share))
            if too_much():
                connection.interrupt()

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        with progress.stops(connection):
            yield
    finally:
        done.set()
        watcher.join()


def free_at(folder: Path) -> int:
    """Bytes that are free on the disk of a folder."""
    return shutil.disk_usage(folder).free


def size_of(folder: Path) -> int:
    """Bytes in a folder, as far as they are there at this moment."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue  # it went meanwhile
    return total


def readable(size: float) -> str:
    """Bytes for people.

    >>> readable(2 << 30), readable(1500)
    ('2.1 GB', '1.5 kB')
    """
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.3g} {unit}" if unit != "GB" else f"{size:.1f} GB"
        size /= 1000
    return ""
