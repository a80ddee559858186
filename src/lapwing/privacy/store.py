"""The storage of the ledger: durable transactions that survive forks, checked against an anchor kept elsewhere."""

from __future__ import annotations

import os
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import ClassVar

from lapwing.errors import InvalidParameter, LedgerDamaged, LedgerUnavailable
from lapwing.privacy.journal import SCHEMA, SINCE_BREAKER, Database, fill_standing, hash_of, head
from lapwing.privacy.turns import turn

PATIENCE = 60.0
"""Seconds to wait for somebody else's transaction."""

IN_USE = threading.RLock()
"""Held during a transaction and during a fork: SQLite remembers the locks of a process, and a child that was forked
amid a transaction would find the file locked for ever by a thread it does not have. To a server, parent and child would
speak at once through one connection."""

_KNOWN = re.compile(r"(\d{1,18}) ([0-9a-f]{64})\n")
"""What an anchor says: the number and the hash of an entry."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=IN_USE.acquire, after_in_parent=IN_USE.release, after_in_child=IN_USE.release)


def store_at(
    place: str | os.PathLike[str],
    anchor: str | os.PathLike[str] | None,
    failures: str | os.PathLike[str] | None = None,
) -> Store:
    """The store that a file name or the URL of a PostgreSQL database leads to."""
    text = os.fspath(place) if isinstance(place, str | os.PathLike) else None
    if isinstance(text, str) and text.startswith(("postgresql:", "postgres:")):
        from lapwing.privacy.postgres_store import PostgresStore

        return PostgresStore(text, anchor, failures)
    return FileStore(place, anchor, failures)


class Store(ABC):
    """Where the tables of a ledger are, and its anchor; the same place wherever the process goes."""

    __slots__ = ("anchor", "failures", "name")

    statements: ClassVar[Sequence[str]]
    """What makes the tables."""
    since_breaker: ClassVar[Sequence[str]]
    """What makes those that the first ledgers do not have."""
    layout: ClassVar[frozenset[str]]
    """What `tables` finds in the first ledgers."""
    breaker_layout: ClassVar[frozenset[str]]
    """What it finds besides in all others."""

    def __init__(
        self, name: str, anchor: str | os.PathLike[str] | None, failures: str | os.PathLike[str] | None
    ) -> None:
        self.name = name  # what may be told: a URL may hold a password
        self.failures = None if failures is None else _place("failures", failures)
        self.anchor = None if anchor is None else self._anchor_place(anchor)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Store) and self._place() == other._place()

    def __hash__(self) -> int:
        return hash(self.name)

    def _place(self) -> object:
        """What leads to these tables and no others, checked against the same anchor."""
        return self.name, self.anchor

    @abstractmethod
    def transaction(self, *, write: bool = True, fresh: bool = False) -> AbstractContextManager[Database]:
        """One connection, one transaction; committed durably at the end, rolled back on any error.

        Those that write come one after another. Only one that is `fresh` may find nothing there.
        """

    @abstractmethod
    def tables(self, database: Database) -> set[str]:
        """How the tables, and whatever else is beside them, were made; empty if there is nothing."""

    def check(self, database: Database) -> None:
        """Find whatever no entry of the journal could tell."""
        if self.tables(database) not in (self.layout, self.layout | self.breaker_layout):
            raise LedgerDamaged(self.name, "its tables, which are not those of a ledger")

    def has_breaker(self, database: Database) -> bool:
        """Whether it counts questions and failures, which the first ledgers did not."""
        return self.tables(database) >= self.breaker_layout

    def renew(self) -> None:
        """Give a first ledger the tables that it lacks, in one transaction."""
        with self.transaction(write=False) as database:
            if self.tables(database) != self.layout:
                return
        with self.transaction() as database:
            if self.tables(database) == self.layout:
                for statement in self.since_breaker:
                    database.execute(statement)
                fill_standing(database)

    def create(self, *, allowed: bool) -> None:
        """Make the tables if there are none, and the anchor before there is anything to anchor."""
        if not self._exists():
            if not allowed:
                raise InvalidParameter("path", self.name, "there is no such ledger", "Name one that exists.")
            with self.transaction(fresh=True) as database:
                for statement in () if self.tables(database) else (*self.statements, *self.since_breaker):
                    database.execute(statement)
        if self.anchor is not None and self._anchor_text() is None:
            self.write_anchor()

    def _exists(self) -> bool:
        with self.transaction(write=False) as database:
            return bool(self.tables(database))

    def _anchor_place(self, anchor: str | os.PathLike[str]) -> Path:
        return _place("anchor", anchor)

    def _check_anchor(self, database: Database) -> None:
        """The entry that the anchor knows must be there, in every transaction: a file may be put back at any time."""
        if self.anchor is None:
            return
        text = self._anchor_text()  # before the first look at the tables, which must not be older
        if text is None:  # legal only before the first entry; asked twice, for somebody may just have written both
            if self.tables(database) and head(database)[0] and self._anchor_text() is None:
                where = f"its anchor {self.anchor}, which is missing (`lapwing ledger anchor` starts another)"
                raise LedgerDamaged(self.name, where)
            return
        known = _KNOWN.fullmatch(text)
        if not known or not self.tables(database) or hash_of(database, int(known[1])) != known[2]:
            raise LedgerDamaged(self.name, "its end: the anchor has an entry that is missing here")

    def _anchor_text(self) -> str | None:
        assert self.anchor is not None
        try:
            return self.anchor.read_text(encoding="ascii", errors="replace")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise LedgerUnavailable(str(self.anchor), error.strerror or "cannot be read") from error

    def write_anchor(self) -> None:
        """Replace the anchor by the last entry, atomically, under the ledger's own lock, and never by an earlier one.

        Nothing is shown before. A crash leaves it behind only by entries whose call never returned, and never ahead.
        """
        if self.anchor is not None:
            with self.transaction() as database:
                _replace(self.anchor, *head(database))

    def start_anchor(self, anchor: str | os.PathLike[str]) -> None:
        """Write an anchor where there is none."""
        place = self._anchor_place(anchor)
        if place.exists():
            hint = "Open the ledger with it, or name another file."
            raise InvalidParameter("anchor", str(anchor), "exists already, and may belong to a newer ledger", hint)
        with self.transaction() as database:
            _replace(place, *head(database))


class FileStore(Store):
    """A SQLite file and its anchor, by absolute names: neither a change of folder nor a link leads to another one."""

    __slots__ = ("path",)

    statements: ClassVar[Sequence[str]] = SCHEMA
    since_breaker: ClassVar[Sequence[str]] = SINCE_BREAKER
    layout, breaker_layout = frozenset(SCHEMA), frozenset(SINCE_BREAKER)

    def __init__(
        self,
        path: str | os.PathLike[str],
        anchor: str | os.PathLike[str] | None,
        failures: str | os.PathLike[str] | None = None,
    ) -> None:
        self.path = _place("path", path)
        super().__init__(str(self.path), anchor, failures or f"{self.path}-failures")
        self._check_name()

    def _check_name(self) -> None:
        """Refuse a file with a second name, also one that was given later: in every transaction, under SQLite's lock.

        Its journal is named after the file, so a crash under one name would not be recovered from under the other.
        """
        if self.path.exists() and self.path.stat().st_nlink > 1:
            why = "has a second name (a hard link), which would prevent recovery after a crash"
            raise InvalidParameter("path", self.name, why, "Remove the other name, or make it a copy.")

    def _mode(self) -> int:
        """Who may read and write the ledger may queue for it."""
        return self.path.stat().st_mode & 0o666 if self.path.exists() else 0o600

    def _anchor_place(self, anchor: str | os.PathLike[str]) -> Path:
        place = super()._anchor_place(anchor)
        beside = place.name.removeprefix(self.path.name) in ("", "-journal", "-wal", "-shm", "-queue", "-failures")
        if beside and str(place).startswith(str(self.path)):
            raise InvalidParameter("anchor", str(anchor), "is the ledger itself", "Keep it in another place.")
        return place

    def _exists(self) -> bool:
        return self.path.exists() and super()._exists()

    @contextmanager
    def transaction(self, *, write: bool = True, fresh: bool = False) -> Iterator[Database]:
        import sqlite3

        with IN_USE, turn(self.path.with_name(f"{self.path.name}-queue"), self._mode()):
            database = None
            try:
                uri = f"{self.path.as_uri()}?mode={'rwc' if fresh else 'rw'}"
                database = sqlite3.connect(uri, timeout=PATIENCE, isolation_level=None, uri=True)
                database.row_factory = sqlite3.Row
                database.execute("PRAGMA synchronous = EXTRA")
                database.execute("PRAGMA fullfsync = ON")  # macOS: through the cache of the disk, too
                database.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                self._check_name()
                self._check_anchor(database)
                yield database
                if database.in_transaction:
                    database.execute("COMMIT")
            except (sqlite3.Error, UnicodeDecodeError) as error:
                if _is_damage(error):
                    raise LedgerDamaged(self.name, "the database file itself") from error
                raise LedgerUnavailable(self.name, str(error)) from error
            finally:
                if database is not None:
                    database.close()  # what was not committed is rolled back

    def tables(self, database: Database) -> set[str]:
        return {row["sql"] for row in database.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}

    def check(self, database: Database) -> None:
        # integrity, not quick: a limit is found by its index, so the indices count
        [state] = database.execute("PRAGMA integrity_check(1)").fetchone()
        if state != "ok":
            raise LedgerDamaged(self.name, "the database file itself")
        super().check(database)


def _replace(anchor: Path, number: int, digest: str) -> None:
    fresh = anchor.with_name(f"{anchor.name}.fresh")
    try:
        with fresh.open("w", encoding="ascii", newline="\n") as file:
            file.write(f"{number} {digest}\n")
            file.flush()
            os.fsync(file.fileno())
        known = _KNOWN.fullmatch(anchor.read_text(encoding="ascii", errors="replace")) if anchor.exists() else None
        if known and int(known[1]) > number:  # the server ended our connection meanwhile, and with it our lock
            raise LedgerUnavailable(str(anchor), "somebody else wrote it at the same time")
        fresh.replace(anchor)
        sync_folder(anchor.parent)
    except OSError as error:
        raise LedgerUnavailable(str(anchor), error.strerror or "it cannot be written") from error


def _place(name: str, value: str | os.PathLike[str]) -> Path:
    """An absolute path without links to a file that is one, or is not there yet."""
    hint = "Write a file name such as 'ledger.db'."
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(text, str) or not text or "\0" in text or text == ":memory:" or text.startswith("file:"):
        raise InvalidParameter(name, value, "is not the name of a permanent file", hint)
    if "://" in text:
        raise InvalidParameter(name, text.partition(":")[0] + "://…", "is not the name of a file", hint)
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


def sync_folder(folder: Path) -> None:
    """What was created, renamed or removed in a folder stays so after a crash."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
