"""The DuckDB databases of our own: one for each setting and process, replaced when it does not answer any more.

An error inside DuckDB can end a whole database: every later statement in it fails, whoever asks. So a harmless
statement, which depends on no row and no question, is run before each question.

The file of somebody's database is open only while it is read: as long as it is, no other process can write into it.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lapwing.errors import InvalidParameter

if TYPE_CHECKING:
    import duckdb

MEMORY, PER_THREAD = 10**9, 250 * 10**6
"""Bytes that a question may use if nobody says: a gigabyte, or as much as many threads need."""
MOST = 8
"""Databases that are kept open. One that was not asked for the longest time is closed first."""


@dataclass(frozen=True, slots=True)
class Database:
    """A database by its settings: one in memory, or a file that is only read."""

    memory: str | None = None
    threads: int | None = None
    file: Path | None = None

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A new cursor of the open database, or of another one if that has died. A file is opened by each anew."""
        if self.file is not None:
            import duckdb

            return duckdb.connect(str(self.file), read_only=True)
        key = (self, os.getpid())  # not the parent's after a fork
        with _CHANGING:
            known = _OPEN.pop(key, None)
            if known is not None:
                _OPEN[key] = known  # as the last of them
        cursor = None if known is None else _answering(known)
        if cursor is not None:
            return cursor
        with _CHANGING:
            if _OPEN.get(key) is known:  # else somebody has replaced it meanwhile
                _OPEN.pop(key, None)
                _OPEN[key] = self._connected()
                _forget_the_oldest()
            return _OPEN[key].cursor()

    def _connected(self) -> duckdb.DuckDBPyConnection:
        import duckdb

        spill = tempfile.mkdtemp(prefix="lapwing-")  # for nobody else to read: what does not fit into memory is rows
        atexit.register(_remove, spill, os.getpid())
        settings: dict[str, Any] = {
            "preserve_insertion_order": False,
            "pandas_analyze_sample": 0,
            "temp_directory": spill,
        }
        settings["memory_limit"] = f"{self._most() * 3 // 4}B"  # the rest is for what DuckDB does not count
        if self.threads is not None:
            settings["threads"] = self.threads
        return duckdb.connect(":memory:", config=settings)

    def _most(self) -> int:
        """Bytes of memory for everything: what was asked for, or enough for all threads and no more.

        DuckDB would take most of the machine before it puts rows aside on disk, which costs it no time worth naming.
        """
        if self.memory is not None:
            return within(self.memory)
        wanted = max(MEMORY, PER_THREAD * (self.threads or os.cpu_count() or 1))
        if not hasattr(os, "sysconf"):
            return wanted
        return min(wanted, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


_OPEN: dict[tuple[Database, int], duckdb.DuckDBPyConnection] = {}
_CHANGING = threading.Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_CHANGING.acquire, after_in_parent=_CHANGING.release, after_in_child=_CHANGING.release)


def _forget_the_oldest() -> None:
    """Keep no more than some. Those of the process that this one was forked from are left alone: their threads are not
    here, and closing would wait for them."""
    ours = [key for key in _OPEN if key[1] == os.getpid()]
    for key in ours[:-MOST]:
        del _OPEN[key]  # statements that run in it end in it, and its last cursor closes it


def _answering(parent: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection | None:
    """A cursor of a database, or None if it answers nothing. Why is of no interest: it is asked for no row."""
    try:
        cursor = parent.cursor()
        cursor.execute("SELECT 1").fetchall()
    except Exception:
        return None
    return cursor


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:  # not the child of a fork
        shutil.rmtree(folder, ignore_errors=True)


def within(memory: object) -> int:
    """A size such as "2GB", in bytes."""
    size = re.fullmatch(r"(\d{1,9}(?:\.\d{1,3})?) ?([MGT])(i?)B", memory) if isinstance(memory, str) else None
    if size is None:
        raise InvalidParameter("memory", memory, "is not a size", "Write memory='2GB'.")
    return int(float(size[1]) * (1024 if size[3] else 1000) ** (2 + "MGT".index(size[2])))
