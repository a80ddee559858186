"""What one server keeps on its disk: uploads, the rows that were taken in, which products are used up, what was begun.

Nothing is acknowledged before it is on the disk. A batch is *prepared* before the other server is told, and *kept* once
both have prepared it: after a crash, whatever both prepared is kept, and the rest goes back to what waits.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from lapwing.pair.domains import Layout
from lapwing.pair.holdings import Holdings, Packed, opened
from lapwing.pair.transfers import Words
from lapwing.pair.uploads import UploadRefused

MOST_AT_ONCE = 1 << 16
"""Rows of one batch."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS subject (digest TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS admitted (code TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS upload (code TEXT PRIMARY KEY, id TEXT NOT NULL UNIQUE, share BLOB, batch TEXT);
CREATE INDEX IF NOT EXISTS waiting ON upload (id) WHERE batch IS NULL;
CREATE TABLE IF NOT EXISTS batch (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, count INTEGER NOT NULL,
    refused INTEGER NOT NULL, kept INTEGER NOT NULL, totals BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS used (name TEXT PRIMARY KEY, count INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS begun (key TEXT PRIMARY KEY);
"""


class Store:
    """In a folder of its own."""

    def __init__(self, folder: Path, layout: Layout) -> None:
        self.folder, self.layout = folder, layout
        self._held: frozenset[str] = frozenset()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._transaction() as database:
            database.executescript(_SCHEMA)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.folder / "rows.db", timeout=60, isolation_level=None)) as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = FULL")
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
            except BaseException:
                if database.in_transaction:
                    database.execute("ROLLBACK")
                raise
            if database.in_transaction:
                database.execute("COMMIT")

    def is_about(self, subject: str) -> bool:
        """Whether rows here were uploaded for this; whoever says so first decides it for good."""
        with self._transaction() as database:
            database.execute("INSERT INTO subject SELECT ? WHERE NOT EXISTS (SELECT 1 FROM subject)", (subject,))
            return bool(database.execute("SELECT digest = ? FROM subject", (subject,)).fetchone()[0])

    # ----------------------------------------------------------------------------------------------------- uploads

    def admit(self, codes: Iterable[str]) -> None:
        """Let whoever shows one of these upload a row."""
        with self._transaction() as database:
            database.executemany("INSERT OR IGNORE INTO admitted VALUES (?)", ((hashed(code),) for code in codes))

    def upload(self, rows: Iterable[tuple[str, str, bytes]]) -> None:
        """Keep shares, one for each code, all or none. The same again changes nothing.

        Until a row is taken in, another upload with its code takes its place: whoever was cut off after one of the two
        servers starts again. A row is a code, the name of the upload, and a share.
        """
        with self._transaction() as database:
            for code, name, share in rows:
                self._uploaded(database, hashed(code), name, share)

    def _uploaded(self, database: sqlite3.Connection, code: str, name: str, share: bytes) -> None:
        if len(share) != self.layout.bytes:
            raise UploadRefused("this upload was made for another file: get the file of this pair, and try again")
        if not database.execute("SELECT 1 FROM admitted WHERE code = ?", (code,)).fetchone():
            raise UploadRefused("this code is not on the list: ask the person who gave it to you")
        row = database.execute("SELECT id, batch FROM upload WHERE code = ?", (code,)).fetchone()
        if row is not None and row[0] == name:
            return
        if row is not None and (row[1] is not None or row[0] in self._held):
            raise UploadRefused("a row was uploaded with this code already and taken in, so it cannot be changed")
        if database.execute("SELECT 1 FROM upload WHERE id = ?", (name,)).fetchone():
            raise UploadRefused("this row was uploaded with another code already")
        database.execute("INSERT OR REPLACE INTO upload VALUES (?, ?, ?, NULL)", (code, name, share))

    @contextmanager
    def taking(self) -> Iterator[list[str]]:
        """Names of uploads that were not taken in, in order. None of them is replaced while this lasts."""
        with self._transaction() as database:
            rows = database.execute("SELECT id FROM upload WHERE batch IS NULL ORDER BY id LIMIT ?", (MOST_AT_ONCE,))
            names = [name for (name,) in rows]
            self._held = frozenset(names)
        try:
            yield names
        finally:
            self._held = frozenset()

    def shares(self, names: Sequence[str]) -> list[bytes]:
        """Of uploads by their names."""
        with self._transaction() as database:
            return [database.execute("SELECT share FROM upload WHERE id = ?", (name,)).fetchone()[0] for name in names]

    # ----------------------------------------------------------------------------------------------------- batches

    def prepare(self, batch: str, names: Sequence[str], passed: Sequence[bool], lines: Packed, totals: Words) -> None:
        """Write a batch down, before the other server is told."""
        path = self._file(batch)
        with path.open("wb") as file:
            file.write(lines.tobytes())
            file.flush()
            os.fsync(file.fileno())
        handle = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        count = sum(passed)
        with self._transaction() as database:
            database.execute(
                "INSERT INTO batch (id, count, refused, kept, totals) VALUES (?, ?, ?, 0, ?)",
                (batch, count, len(names) - count, totals.astype("<u8").tobytes()),
            )
            database.executemany("UPDATE upload SET batch = ? WHERE id = ?", ((batch, name) for name in names))

    def batches(self) -> list[tuple[str, bool]]:
        """All batches, in order, and whether each is kept for good."""
        with self._transaction() as database:
            rows = database.execute("SELECT id, kept FROM batch ORDER BY number")
            return [(name, bool(kept)) for name, kept in rows]

    def settle(self, theirs: Mapping[str, bool]) -> bool:
        """Keep what both servers prepared, and undo the rest; False if the other one has rows that this one lacks."""
        own = dict(self.batches())
        missing = [name for name, kept in theirs.items() if kept and name not in own]
        lost = [name for name, kept in own.items() if kept and name not in theirs]
        if missing or lost:
            return False
        for name, kept in own.items():
            if name in theirs and not kept:
                self.keep(name)
            elif name not in theirs:
                self._undo(name)
        return True

    def keep(self, batch: str) -> None:
        """From now on for good; shares of single rows are not needed any more."""
        with self._transaction() as database:
            database.execute("UPDATE batch SET kept = 1 WHERE id = ?", (batch,))
            database.execute("UPDATE upload SET share = NULL WHERE batch = ?", (batch,))

    def _undo(self, batch: str) -> None:
        with self._transaction() as database:
            database.execute("UPDATE upload SET batch = NULL WHERE batch = ?", (batch,))
            database.execute("DELETE FROM batch WHERE id = ?", (batch,))
        self._file(batch).unlink(missing_ok=True)

    def _file(self, batch: str) -> Path:
        return self.folder / f"{batch[:32]}.bits"

    def holdings(self) -> Holdings:
        """Everything that was taken in."""
        with self._transaction() as database:
            rows = database.execute("SELECT id, count, totals FROM batch WHERE kept = 1 ORDER BY number").fetchall()
        totals = np.zeros(self.layout.row_bits, dtype=np.uint64)
        for _, _, data in rows:
            totals += np.frombuffer(data, dtype="<u8").astype(np.uint64)
        batches = [opened(self._file(name), self.layout, count) for name, count, _ in rows if count]
        return Holdings(self.layout, batches, totals)

    def row_list(self) -> str:
        """A fingerprint of which rows were taken in, in which order."""
        return hashlib.sha256("\n".join(name for name, kept in self.batches() if kept).encode()).hexdigest()

    def numbers(self) -> dict[str, int]:
        """Rows that count, that wait, and that were refused because they were no rows."""
        with self._transaction() as database:
            rows, refused = database.execute(
                "SELECT COALESCE(SUM(count), 0), COALESCE(SUM(refused), 0) FROM batch WHERE kept = 1"
            ).fetchone()
            (waiting,) = database.execute("SELECT COUNT(*) FROM upload WHERE batch IS NULL").fetchone()
        return {"rows": rows, "waiting": waiting, "refused": refused}

    # --------------------------------------------------------------------------------------------------- questions

    def used(self) -> Counter[str]:
        """Products of each column that are used up."""
        with self._transaction() as database:
            return Counter(dict(database.execute("SELECT name, count FROM used").fetchall()))

    def has_begun(self, key: str) -> bool:
        """Whether a question was begun: it is never begun again, because its noise may have been seen."""
        with self._transaction() as database:
            return database.execute("SELECT 1 FROM begun WHERE key = ?", (key,)).fetchone() is not None

    def begin(self, key: str, used: Counter[str], needed: Counter[str]) -> bool:
        """Write down that a question begins and which products it uses up, both or nothing; False if it had begun."""
        with self._transaction() as database:
            if database.execute("SELECT 1 FROM begun WHERE key = ?", (key,)).fetchone():
                return False
            database.execute("INSERT INTO begun VALUES (?)", (key,))
            after = used + needed
            database.executemany(
                "INSERT INTO used VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET count = MAX(count, excluded.count)",
                after.items(),
            )
        return True


def hashed(code: str) -> str:
    """What is kept of a code."""
    return hashlib.sha256(b"lapwing pair code\0" + code.encode()).hexdigest()
