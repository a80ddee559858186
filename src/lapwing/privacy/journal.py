"""The journal of the ledger: an append-only chain of entries from which everything else can be computed again."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from lapwing.errors import LedgerDamaged

if TYPE_CHECKING:
    import sqlite3

GENESIS = hashlib.sha256(b"lapwing ledger 1").hexdigest()
EVERYBODY = ""
"""The analyst of the allowance that all share."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS entry (
    number INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS budget (
    dataset TEXT NOT NULL, analyst TEXT NOT NULL, kind TEXT NOT NULL, relation TEXT NOT NULL, unit TEXT NOT NULL,
    size INTEGER NOT NULL, delta INTEGER NOT NULL, spent_size INTEGER NOT NULL, spent_delta INTEGER NOT NULL,
    PRIMARY KEY (dataset, analyst)
) STRICT;
CREATE TABLE IF NOT EXISTS release (
    charge INTEGER PRIMARY KEY, key TEXT UNIQUE, binding TEXT NOT NULL, content BLOB
) STRICT;
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the journal."""

    number: int
    act: Literal["open", "charge", "release"]
    body: Mapping[str, Any]
    hash: str


def head(database: sqlite3.Connection) -> tuple[int, str]:
    """The number and the hash of the last entry."""
    row = database.execute("SELECT number, hash FROM entry ORDER BY number DESC LIMIT 1").fetchone()
    return (row["number"], row["hash"]) if row else (0, GENESIS)


def append(database: sqlite3.Connection, act: str, body: Mapping[str, Any]) -> int:
    """Write one entry to the end of the chain."""
    number, previous = head(database)
    text = json.dumps({"act": act, "time": time.time(), **body}, sort_keys=True)
    database.execute("INSERT INTO entry VALUES (?, ?, ?)", (number + 1, text, _link(previous, number + 1, text)))
    return number + 1


def entries(database: sqlite3.Connection) -> Iterator[Entry]:
    """All entries, oldest first."""
    for row in database.execute("SELECT * FROM entry ORDER BY number"):
        body = json.loads(row["body"])
        yield Entry(row["number"], body.pop("act"), body, row["hash"])


def verify_chain(path: str, database: sqlite3.Connection) -> list[str]:
    """Compute every hash, total and release again from the entries; the hashes, in order."""
    previous, hashes, state = GENESIS, list[str](), State({}, {})
    for number, row in enumerate(database.execute("SELECT * FROM entry ORDER BY number"), start=1):
        previous = _link(previous, number, row["body"])
        if (row["number"], row["hash"]) != (number, previous):
            raise LedgerDamaged(path, f"entry {number}")
        hashes.append(previous)
        state.replay(number, json.loads(row["body"]))
    budgets = {(row["dataset"], row["analyst"]): dict(row) for row in database.execute("SELECT * FROM budget")}
    if budgets != state.budgets:
        raise LedgerDamaged(path, "the totals, which are not the sum of the entries")
    for row in database.execute("SELECT * FROM release"):
        content = None if row["content"] is None else hashlib.sha256(row["content"]).hexdigest()
        if state.releases.pop(row["charge"], None) != (row["key"], row["binding"], content):
            raise LedgerDamaged(path, f"the release of charge {row['charge']}")
    if state.releases:
        raise LedgerDamaged(path, f"the release of charge {min(state.releases)}, which is missing")
    return hashes


@dataclass(frozen=True, slots=True)
class State:
    """What the entries add up to."""

    budgets: dict[tuple[str, str], dict[str, Any]]
    releases: dict[int, tuple[str | None, str, str | None]]
    """Key, binding and digest of the content, by charge."""

    def replay(self, number: int, body: dict[str, Any]) -> None:
        """Do again what an entry did."""
        act, _ = body.pop("act"), body.pop("time")
        if act == "open":
            place = body["dataset"], body["analyst"]
            self.budgets[place] = {"spent_size": 0, "spent_delta": 0, **self.budgets.get(place, {}), **body}
        elif act == "charge":
            for dataset, (size, delta) in body["costs"].items():
                for who in dict.fromkeys((EVERYBODY, body["analyst"])):
                    if (dataset, who) in self.budgets:
                        self.budgets[dataset, who]["spent_size"] += size
                        self.budgets[dataset, who]["spent_delta"] += delta
            self.releases[number] = body["key"], body["binding"], None
        else:
            key, binding, _ = self.releases[body["charge"]]
            self.releases[body["charge"]] = key, binding, body["sha256"]


def _link(previous: str, number: int, text: str) -> str:
    return hashlib.sha256(f"{previous} {number} {text}".encode()).hexdigest()
