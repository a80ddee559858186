"""The file below the ledger: durable transactions that survive forks, checked against an anchor kept elsewhere."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lapwing.errors import InvalidParameter, LedgerDamaged, LedgerUnavailable
from lapwing.privacy.journal import SCHEMA, hash_of, head, schema

if TYPE_CHECKING:
    import sqlite3

PATIENCE = 60.0
"""Seconds to wait for somebody else's transaction."""

_IN_USE = threading.RLock()
"""Held during a transaction and during a fork: SQLite remembers the locks of a process, and a child that was forked
amid a transaction would find the file locked for ever by a thread it does not have."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_IN_USE.acquire, after_in_parent=_IN_USE.release, after_in_child=_IN_USE.release)


class Store:
    """A ledger file and its anchor, by absolute names: neither a change of folder nor a link leads to another one."""

    __slots__ = ("anchor", "path")

    def __init__(self, path: str | os.PathLike[str], anchor: str | os.PathLike[str] | None) -> None:
        self.path, self.anchor = _place("path", path), None if anchor is None else _place("anchor", anchor)
        if self.anchor is not None and str(self.anchor).startswith(str(self.path)) and self._beside(self.anchor):
            raise InvalidParameter("anchor", str(anchor), "is the ledger itself", "Keep it in another place.")
        if self.path.exists() and self.path.stat().st_nlink > 1:
            why = "has a second name (a hard link), under which a crash would not be recovered from"
            raise InvalidParameter("path", str(path), why, "Remove the other name, or make it a copy.")

    def _beside(self, anchor: Path) -> bool:
        return anchor.name.removeprefix(self.path.name) in ("", "-journal", "-wal", "-shm")

    def create(self) -> None:
        """Make the tables if the file is new, and the anchor before there is anything to anchor."""
        with self.transaction(write=False, mode="rwc") as database:
            fresh = not schema(database)
        if fresh:
            with self.transaction() as database:
                for statement in () if schema(database) else SCHEMA:
                    database.execute(statement)
        if self.anchor is not None and self._anchor_text() is None:
            self.write_anchor()

    @contextmanager
    def transaction(self, *, write: bool = True, mode: str = "rw") -> Iterator[sqlite3.Connection]:
        """One connection, one transaction; committed durably at the end, rolled back on any error."""
        import sqlite3

        with _IN_USE:
            database = None
            try:
                uri = f"{self.path.as_uri()}?mode={mode}"
                database = sqlite3.connect(uri, timeout=PATIENCE, isolation_level=None, uri=True)
                database.row_factory = sqlite3.Row
                database.execute("PRAGMA synchronous = EXTRA")
                database.execute("PRAGMA fullfsync = ON")  # macOS: through the cache of the disk, too
                database.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                self._check_anchor(database)
                yield database
                if database.in_transaction:
                    database.execute("COMMIT")
            except (sqlite3.Error, UnicodeDecodeError) as error:
                if _is_damage(error):
                    raise LedgerDamaged(str(self.path), "the database file itself") from error
                raise LedgerUnavailable(str(self.path), str(error)) from error
            finally:
                if database is not None:
                    database.close()  # what was not committed is rolled back

    def _check_anchor(self, database: sqlite3.Connection) -> None:
        """The entry that the anchor knows must be there, in every transaction: a file may be put back at any time."""
        if self.anchor is None:
            return
        text = self._anchor_text()
        if text is None:  # legal only before the first entry; asked twice, for somebody may just have written both
            if schema(database) and head(database)[0] and self._anchor_text() is None:
                where = f"its anchor {self.anchor}, which is missing (`lapwing ledger anchor` starts another)"
                raise LedgerDamaged(str(self.path), where)
            return
        known = re.fullmatch(r"(\d{1,18}) ([0-9a-f]{64})\n", text)
        if not known or not schema(database) or hash_of(database, int(known[1])) != known[2]:
            raise LedgerDamaged(str(self.path), "its end: the anchor knows an entry that is not there")

    def _anchor_text(self) -> str | None:
        assert self.anchor is not None
        try:
            return self.anchor.read_text(encoding="ascii", errors="replace")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise LedgerUnavailable(str(self.anchor), error.strerror or "cannot be read") from error

    def write_anchor(self) -> None:
        """Replace the anchor by the last entry, atomically and under the ledger's own lock: it never goes back.

        Nothing is shown before. A crash leaves it behind only by entries whose call never returned, and never ahead.
        """
        if self.anchor is not None:
            with self.transaction() as database:
                _replace(self.anchor, *head(database))

    def start_anchor(self, anchor: str | os.PathLike[str]) -> None:
        """Write an anchor where there is none."""
        place = Store(self.path, anchor).anchor
        assert place is not None
        if place.exists():
            hint = "Open the ledger with it, or name another file."
            raise InvalidParameter("anchor", str(anchor), "exists, and may know better", hint)
        with self.transaction() as database:
            _replace(place, *head(database))


def _replace(anchor: Path, number: int, digest: str) -> None:
    fresh = anchor.with_name(f"{anchor.name}.fresh")
    try:
        with fresh.open("w", encoding="ascii", newline="\n") as file:
            file.write(f"{number} {digest}\n")
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(anchor)
        _sync_folder(anchor.parent)
    except OSError as error:
        raise LedgerUnavailable(str(anchor), error.strerror or "it cannot be written") from error


def _place(name: str, value: str | os.PathLike[str]) -> Path:
    """An absolute path without links to a file that is one, or is not there yet."""
    hint = "Write a file name such as 'ledger.db'."
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(text, str) or not text or "\0" in text or text == ":memory:" or text.startswith("file:"):
        raise InvalidParameter(name, value, "is not the name of a file that lasts", hint)
    try:
        path = Path(text).resolve()
        if path.exists() and not path.is_file():
            raise InvalidParameter(name, value, "is not a file", hint)
    except (OSError, RuntimeError) as error:  # a loop of links, a name too long
        raise InvalidParameter(name, value, "cannot be found", hint) from error
    return path


def _is_damage(error: Exception) -> bool:
    import sqlite3

    signs = ("malformed", "not a database", "no such", "decode", "corrupt")
    return isinstance(error, sqlite3.IntegrityError | UnicodeDecodeError) or any(sign in str(error) for sign in signs)


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
