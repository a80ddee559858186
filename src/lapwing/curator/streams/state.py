"""The state of a stream: one SQLite file. One transaction closes a step, or nothing of it happens.

It holds what was shown (a chain of entries, as in a ledger) and what must never be: the exact blocks and the noise of
the counters, who was active how often, who appeared already, rows of a step that is still open, and how far sources
were read. A step is committed before anything of it is shown; from then on its stored answer is the only one. An anchor
file remembers the last entry, so that an older copy that was put back, or a second copy, is noticed.

Secret: only its owner may read the file. Somebody who has it knows exact counts, and can subtract the noise.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

from lapwing.errors import InvalidParameter, LedgerDamaged, LedgerUnavailable, StreamDamaged
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy.journal import Database, append, hash_of, head
from lapwing.privacy.journal import entries as journal_entries
from lapwing.privacy.store import FileStore, sync_folder

VERSION = 1
SEEDED = "seeded"
TABLES = (
    "CREATE TABLE entry (number INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE TABLE fact (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE counter (place INTEGER PRIMARY KEY, state BLOB NOT NULL)",
    """CREATE TABLE activity (
    unit TEXT NOT NULL PRIMARY KEY, steps INTEGER NOT NULL, last INTEGER NOT NULL) WITHOUT ROWID""",
    """CREATE TABLE appeared (
    place INTEGER NOT NULL, value TEXT NOT NULL, section INTEGER NOT NULL, PRIMARY KEY (place, value, section)
    ) WITHOUT ROWID""",
    "CREATE TABLE pending (number INTEGER PRIMARY KEY, moment TEXT, cells TEXT NOT NULL)",
    "CREATE INDEX pending_moment ON pending (moment)",
    "CREATE TABLE batch (source TEXT NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (source, number)) WITHOUT ROWID",
)
_WORTHWHILE = 256
"""Empty pages, of 4 kB each, from which on a file is written anew."""
_KNOWN = re.compile(r"(\d{1,18}) ([0-9a-f]{64})\n")
Estimates = list[list[float]]
"""Noisy numbers: for each statistic, one for each group."""
Shown = tuple[Estimates, list[float] | None]
"""Of a step, with how far the numbers may be off where that is not known beforehand."""


class StateFile(FileStore):
    """The file and its anchor. Reuses the transactions of the ledger's file: synced, one at a time, fork-safe."""

    __slots__ = ()

    statements: ClassVar[Sequence[str]] = TABLES
    since_breaker: ClassVar[Sequence[str]] = ()
    layout, breaker_layout = frozenset(TABLES), frozenset[str]()

    @contextmanager
    def transaction(self, *, write: bool = True, fresh: bool = False) -> Iterator[Database]:
        """As for a ledger. What is removed is overwritten, for it was secret."""
        try:
            with super().transaction(write=write, fresh=fresh) as database:
                if write:
                    database.execute("PRAGMA secure_delete = ON")
                yield database
        except LedgerDamaged as damage:
            raise StreamDamaged(self.name, damage.where) from damage

    def check(self, database: Database) -> None:
        """Find whatever no entry could tell."""
        [sound] = database.execute("PRAGMA integrity_check(1)").fetchone()
        if sound != "ok":
            raise StreamDamaged(self.name, "the database file itself")
        if self.tables(database) != self.layout:
            raise StreamDamaged(self.name, "its tables, which are not those of a stream")

    def make(self) -> None:
        """Make the file, which nobody else may read, and its tables."""
        try:
            handle = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            self.check_private()
        except OSError as error:
            why = f"cannot be made ({error.strerror})"
            raise InvalidParameter("state", self.name, why, "Name a file in a folder that exists.") from None
        else:
            os.close(handle)
            sync_folder(self.path.parent)
        with self.transaction(fresh=True) as database:
            for statement in () if self.tables(database) else TABLES:
                database.execute(statement)

    def check_private(self) -> None:
        """Refuse a file that others can read or change."""
        if os.name == "posix" and self.path.stat().st_mode & 0o077:
            why = "others on this machine can read or change it, and it holds exact counts"
            raise InvalidParameter("state", self.name, why, f"Run: chmod 600 {self.path.name}")

    def give_room_back(self) -> None:
        """Make the file small again where much was wiped. If that fails, it stays large, and nothing else is wrong."""
        with suppress(LedgerUnavailable), self.transaction() as database:
            [empty] = database.execute("PRAGMA freelist_count").fetchone()
            if empty >= _WORTHWHILE:
                database.execute("COMMIT")
                database.execute("PRAGMA temp_store = MEMORY")  # not in a folder that others can read
                database.execute("VACUUM")

    def _check_anchor(self, database: Database) -> None:
        """The entry that the anchor knows must be there, in every transaction."""
        if self.anchor is None:
            return
        text = self._anchor_text()
        if text is None:
            if self.tables(database) and head(database)[0] > 1 and self._anchor_text() is None:
                beside = anchor_beside(self.path)
                place = repr(str(beside)) if beside.exists() else ""
                where = f"its anchor {self.anchor}, which is missing. If you moved it, say where with anchor={place}"
                raise StreamDamaged(self.name, where)
            return
        known = _KNOWN.fullmatch(text)
        if not known or not self.tables(database) or hash_of(database, int(known[1])) != known[2]:
            raise StreamDamaged(self.name, "its end: the anchor knows a step that is not there")


def new_id() -> str:
    """What a stream is called in its ledger. Never from a seed: two streams with one seed are charged one by one."""
    return f"{SYSTEM.bits(128):032x}"


def facts(database: Database) -> dict[str, Any]:
    """What is known about the stream."""
    return {row["name"]: json.loads(row["value"]) for row in database.execute("SELECT name, value FROM fact")}


def remember(database: Database, name: str, value: Any) -> None:
    """Write a fact down."""
    row = {"name": name, "value": json.dumps(value)}
    database.execute("INSERT OR REPLACE INTO fact VALUES (:name, :value)", row)


def remember_seed(database: Database, entropy: Entropy) -> None:
    """Write down that noise of this stream can be computed from a seed: nothing is promised any more."""
    if not entropy.private:
        remember(database, SEEDED, True)


def must_fit_the_charge(database: Database, entropy: Entropy) -> None:
    """Refuse noise from a seed where a ledger was charged for noise that is not: its sums count on that."""
    if not entropy.private and facts(database).get("charge") is not None and not is_seeded(database):
        why = "comes from a seed, and the ledger was charged for a stream whose noise does not"
        raise InvalidParameter("entropy", "reproducible", why, "Leave it out, or open a new stream with entropy=.")


def is_seeded(database: Database) -> bool:
    """Whether noise of this stream can be computed from a seed."""
    return database.execute("SELECT 1 AS one FROM fact WHERE name = :name", {"name": SEEDED}).fetchone() is not None


def closed_steps(database: Database) -> int:
    """How many steps are closed; every entry but the first is one, unless the stream has ended."""
    number, _ = head(database)
    row = database.execute("SELECT body FROM entry WHERE number = :number", {"number": number}).fetchone()
    if row is None:
        return 0
    last = json.loads(row["body"])
    return int(last["step"])


def shown_at(database: Database, step: int) -> Shown:
    """What was shown for a closed step."""
    rows = database.execute("SELECT body FROM entry WHERE number = :number", {"number": step + 1})
    return _shown(json.loads(rows.fetchone()["body"]))


def all_shown(database: Database) -> list[Shown]:
    """Of every closed step."""
    bodies = [entry.body for entry in journal_entries(database)]
    return [_shown(body) for body in bodies if "estimates" in body]


def _shown(body: Mapping[str, Any]) -> Shown:
    return body["estimates"], body["errors"]


def close_step(database: Database, step: int, estimates: Estimates, errors: list[float] | None) -> None:
    """Write down what may be shown of a step, once."""
    number = append(database, "step", {"step": step, "estimates": estimates, "errors": errors})
    assert number == step + 1


def counters(database: Database) -> dict[int, bytes]:
    """The serialised states of the counters, by place."""
    return {row["place"]: bytes(row["state"]) for row in database.execute("SELECT place, state FROM counter")}


def keep_counters(database: Database, states: Mapping[int, bytes]) -> None:
    """Replace the states of the counters."""
    for place, state in states.items():
        database.execute("INSERT OR REPLACE INTO counter VALUES (:place, :state)", {"place": place, "state": state})


def verify(store: StateFile) -> None:
    """Compute the chain of entries again, and compare the file with what a stream's file is."""
    from hashlib import sha256

    from lapwing.privacy.journal import GENESIS

    with store.transaction(write=False) as database:
        store.check(database)
        previous = GENESIS
        for number, row in enumerate(database.execute("SELECT * FROM entry ORDER BY number"), start=1):
            previous = sha256(f"{previous} {number} {row['body']}".encode()).hexdigest()
            if (row["number"], row["hash"]) != (number, previous):
                raise StreamDamaged(store.name, f"entry {number}")


def anchor_beside(path: Path) -> Path:
    """Where the anchor is, if nobody says."""
    return path.with_name(f"{path.name}-anchor")
