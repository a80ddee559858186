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

SCHEMA = (
    "CREATE TABLE entry (number INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL)",
    """CREATE TABLE budget (
    dataset TEXT NOT NULL, analyst TEXT NOT NULL, kind TEXT NOT NULL, relation TEXT NOT NULL, unit TEXT NOT NULL,
    size INTEGER NOT NULL, delta INTEGER NOT NULL, spent_size INTEGER NOT NULL, spent_delta INTEGER NOT NULL,
    PRIMARY KEY (dataset, analyst))""",
    "CREATE TABLE release (charge INTEGER PRIMARY KEY, key TEXT UNIQUE, binding TEXT NOT NULL, content BLOB)",
)
"""Not STRICT, which SQLite has only since 3.37: verifying compares the types as well."""


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


def hash_of(database: sqlite3.Connection, number: int) -> str | None:
    """The hash of an entry, or of the beginning; None if there is no such entry."""
    if number == 0:
        return GENESIS
    row = database.execute("SELECT hash FROM entry WHERE number = ?", (number,)).fetchone()
    return row["hash"] if row else None


def schema(database: sqlite3.Connection) -> set[str]:
    """How the tables, and whatever else is in the file, were made."""
    return {row["sql"] for row in database.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}


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


def spent_by(database: sqlite3.Connection, dataset: str, analyst: str) -> tuple[int, int]:
    """What an analyst spent on a data set, with or without an allowance of their own."""
    charges = (entry.body for entry in entries(database) if entry.act == "charge")
    costs = [body["costs"][dataset] for body in charges if body["analyst"] == analyst and dataset in body["costs"]]
    return sum(size for size, _ in costs), sum(delta for _, delta in costs)


def verify_chain(path: str, database: sqlite3.Connection) -> None:
    """Compute every hash, total and release again from the entries; `LedgerDamaged` names the first that differs."""
    if schema(database) != set(SCHEMA):
        raise LedgerDamaged(path, "its tables, which are not those of a ledger")
    previous, state = GENESIS, State({}, {}, {})
    for number, row in enumerate(database.execute("SELECT * FROM entry ORDER BY number"), start=1):
        previous = _link(previous, number, row["body"])
        if (row["number"], row["hash"]) != (number, previous):
            raise LedgerDamaged(path, f"entry {number}")
        try:
            state.replay(number, json.loads(row["body"]))
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise LedgerDamaged(path, f"entry {number}") from error
    rows = [dict(row) for row in database.execute("SELECT * FROM budget")]
    if {(row["dataset"], row["analyst"]): row for row in rows} != state.totals():
        raise LedgerDamaged(path, "the totals, which are not the sum of the entries")
    for row in database.execute("SELECT * FROM release"):
        content = row["content"]
        digest = hashlib.sha256(content).hexdigest() if isinstance(content, bytes) else content
        if state.releases.pop(row["charge"], None) != (row["key"], row["binding"], digest):
            raise LedgerDamaged(path, f"the release of charge {row['charge']}")
    if state.releases:
        raise LedgerDamaged(path, f"the release of charge {min(state.releases)}, which is missing")


@dataclass(frozen=True, slots=True)
class State:
    """What the entries add up to."""

    allowances: dict[tuple[str, str], dict[str, Any]]
    """By data set and analyst."""
    spent: dict[tuple[str, str], tuple[int, int]]
    """By data set and analyst, also those without an allowance."""
    releases: dict[int, tuple[str | None, str, str | None]]
    """Key, binding and digest of the content, by charge."""

    def replay(self, number: int, body: dict[str, Any]) -> None:
        """Do again what an entry did."""
        act, _ = body.pop("act"), body.pop("time")
        if act == "open":
            self.allowances[body["dataset"], body["analyst"]] = body
        elif act == "charge":
            for dataset, (size, delta) in body["costs"].items():
                for who in dict.fromkeys((EVERYBODY, body["analyst"])):
                    before = self.spent.get((dataset, who), (0, 0))
                    self.spent[dataset, who] = before[0] + size, before[1] + delta
            self.releases[number] = body["key"], body["binding"], None
        elif act == "release":
            key, binding, _ = self.releases[body["charge"]]
            self.releases[body["charge"]] = key, binding, body["sha256"]
        else:
            raise ValueError("unknown act")

    def totals(self) -> dict[tuple[str, str], dict[str, Any]]:
        """The rows of the budget table."""
        rows = {}
        for place, allowance in self.allowances.items():
            size, delta = self.spent.get(place, (0, 0))
            rows[place] = {**allowance, "spent_size": size, "spent_delta": delta}
        return rows


def _link(previous: str, number: int, text: str) -> str:
    return hashlib.sha256(f"{previous} {number} {text}".encode()).hexdigest()
