"""The journal of the ledger: an append-only chain of entries from which everything else can be computed again."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from lapwing.errors import LedgerDamaged

GENESIS = hashlib.sha256(b"lapwing ledger 1").hexdigest()
EVERYBODY = ""
"""The analyst of the allowance that all share."""

SCHEMA = (
    "CREATE TABLE entry (number INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL)",
    """CREATE TABLE budget (
    dataset TEXT NOT NULL, analyst TEXT NOT NULL, kind TEXT NOT NULL, relation TEXT NOT NULL, unit TEXT NOT NULL,
    size INTEGER NOT NULL, delta INTEGER NOT NULL, spent_size INTEGER NOT NULL, spent_delta INTEGER NOT NULL,
    PRIMARY KEY (dataset, unit, analyst))""",
    "CREATE TABLE release (charge INTEGER PRIMARY KEY, key TEXT UNIQUE, binding TEXT NOT NULL, content BLOB)",
)
"""In the words of SQLite. Not STRICT, which it has only since 3.37: verifying compares the types as well."""
SINCE_BREAKER = (
    """CREATE TABLE rule (dataset TEXT NOT NULL PRIMARY KEY,
    questions INTEGER NOT NULL, parts INTEGER NOT NULL, failures INTEGER NOT NULL)""",
    """CREATE TABLE standing (dataset TEXT NOT NULL, analyst TEXT NOT NULL,
    questions INTEGER NOT NULL, failures INTEGER NOT NULL, PRIMARY KEY (dataset, analyst))""",
)
"""Tables that the first ledgers do not have; they get them when they are next written to."""

Place = tuple[str, str, str]
"""Data set, unit and analyst: what an allowance is for."""


class Rows(Protocol):
    """What a statement found or did."""

    @property
    def rowcount(self) -> int: ...
    def fetchone(self) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...


class Database(Protocol):
    """A connection amid a transaction, to a file or to a server: placeholders are `:names`, rows are read by name."""

    def execute(self, sql: str, parameters: Mapping[str, Any] = ..., /) -> Rows: ...


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a ledger. Each holds a hash of itself and the one before, so that no change goes unnoticed.

    Attributes:
        number: Its number, from 1 on.
        act: What was done.
        body: The details, as plain data.
        hash: The hash of this entry and all before it, in hexadecimal digits.

    >>> import tempfile
    >>> from lapwing.privacy import Ledger, PureDP
    >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.db")
    >>> ledger.open("patients", PureDP(1))
    >>> charge = ledger.charge("patients", PureDP(0.25), analyst="ada")
    >>> [entry.act for entry in ledger.entries()]
    ['open', 'charge']
    >>> [entry.body["analyst"] for entry in ledger.entries() if entry.act == "charge"]
    ['ada']
    """

    number: int
    act: Literal["open", "charge", "release", "rules", "failure", "reopen"]
    body: Mapping[str, Any]
    hash: str


def head(database: Database) -> tuple[int, str]:
    """The number and the hash of the last entry."""
    row = database.execute("SELECT number, hash FROM entry ORDER BY number DESC LIMIT 1").fetchone()
    return (row["number"], row["hash"]) if row else (0, GENESIS)


def hash_of(database: Database, number: int) -> str | None:
    """The hash of an entry, or of the beginning; None if there is no such entry."""
    if number == 0:
        return GENESIS
    row = database.execute("SELECT hash FROM entry WHERE number = :number", {"number": number}).fetchone()
    return row["hash"] if row else None


def append(database: Database, act: str, body: Mapping[str, Any]) -> int:
    """Write one entry to the end of the chain."""
    number, previous = head(database)
    text = json.dumps({"act": act, "time": time.time(), **body}, sort_keys=True)
    row = {"number": number + 1, "body": text, "hash": _link(previous, number + 1, text)}
    database.execute("INSERT INTO entry VALUES (:number, :body, :hash)", row)
    return number + 1


def entries(database: Database) -> Iterator[Entry]:
    """All entries, oldest first."""
    for row in database.execute("SELECT * FROM entry ORDER BY number"):
        body = json.loads(row["body"])
        yield Entry(row["number"], body.pop("act"), body, row["hash"])


def charges(database: Database, dataset: str) -> Iterator[Mapping[str, Any]]:
    """Every charge to a data set, oldest first."""
    return (entry.body for entry in entries(database) if entry.act == "charge" and dataset in entry.body["costs"])


def is_seeded(database: Database, dataset: str, analyst: str = EVERYBODY) -> bool:
    """Whether the noise of a charge to a data set, of this analyst or of anybody, comes from a seed."""
    likely = database.execute("SELECT body FROM entry WHERE body LIKE :marked", {"marked": '%"seeded": true%'})
    marked = [body for body in (json.loads(row["body"]) for row in likely) if body.get("seeded")]
    return any(dataset in body["costs"] and analyst in (EVERYBODY, body["analyst"]) for body in marked)


def spent_by(database: Database, dataset: str, unit: str, analyst: str) -> tuple[int, int]:
    """What an analyst spent on a data set, with or without an allowance of their own."""
    mine = (body for body in charges(database, dataset) if body["analyst"] == analyst)
    costs = [body["costs"][dataset][unit] for body in mine]
    return sum(size for size, _ in costs), sum(delta for _, delta in costs)


def verify_chain(name: str, database: Database, *, breaker: bool = True) -> None:
    """Compute every hash, total and release again from the entries; `LedgerDamaged` names the first that differs."""
    previous, state = GENESIS, State({}, {}, {}, {}, {})
    for number, row in enumerate(database.execute("SELECT * FROM entry ORDER BY number"), start=1):
        previous = _link(previous, number, row["body"])
        if (row["number"], row["hash"]) != (number, previous):
            raise LedgerDamaged(name, f"entry {number}")
        try:
            state.replay(number, json.loads(row["body"]))
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise LedgerDamaged(name, f"entry {number}") from error
    rows = [dict(row) for row in database.execute("SELECT * FROM budget")]
    if {(row["dataset"], row["unit"], row["analyst"]): row for row in rows} != state.totals():
        raise LedgerDamaged(name, "the totals, which are not the sum of the entries")
    if breaker and _standing(database) != (state.rules, state.standing):
        raise LedgerDamaged(name, "the questions and failures, which are not those of the entries")
    for row in database.execute("SELECT * FROM release"):
        content = row["content"]
        digest = hashlib.sha256(content).hexdigest() if isinstance(content, bytes) else content
        if state.releases.pop(row["charge"], None) != (row["key"], row["binding"], digest):
            raise LedgerDamaged(name, f"the release of charge {row['charge']}")
    if state.releases:
        raise LedgerDamaged(name, f"the release of charge {min(state.releases)}, which is missing")


@dataclass(frozen=True, slots=True)
class State:
    """What the entries add up to."""

    allowances: dict[Place, dict[str, Any]]
    spent: dict[Place, tuple[int, int]]
    """Also of analysts without an allowance of their own."""
    releases: dict[int, tuple[str | None, str, str | None]]
    """Key, binding and digest of the content, by charge."""
    rules: dict[str, dict[str, Any]]
    standing: dict[tuple[str, str], tuple[int, int]]
    """Questions, and failures since the last reopening, by data set and analyst."""

    def replay(self, number: int, body: dict[str, Any]) -> None:
        """Do again what an entry did."""
        act, _ = body.pop("act"), body.pop("time")
        if act == "open":
            self.allowances[body["dataset"], body["unit"], body["analyst"]] = body
        elif act == "charge":
            for dataset, costs in body["costs"].items():
                for unit, (size, delta) in costs.items():
                    for who in dict.fromkeys((EVERYBODY, body["analyst"])):
                        before = self.spent.get((dataset, unit, who), (0, 0))
                        self.spent[dataset, unit, who] = before[0] + size, before[1] + delta
                self._add(dataset, body["analyst"], 1, 0)
            self.releases[number] = body["key"], body["binding"], None
        elif act == "rules":
            self.rules[body["dataset"]] = body
        elif act == "failure":
            for dataset in [] if body.get("withheld") else body["datasets"]:
                self._add(dataset, body["analyst"], 0, 1)
        elif act == "reopen":
            for (dataset, who), (questions, _) in self.standing.items():
                if dataset == body["dataset"]:
                    self.standing[dataset, who] = questions, 0
        elif act == "release":
            key, binding, _ = self.releases[body["charge"]]
            self.releases[body["charge"]] = key, binding, body["sha256"]
        else:
            raise ValueError("unknown act")

    def _add(self, dataset: str, analyst: str, questions: int, failures: int) -> None:
        before = self.standing.get((dataset, analyst), (0, 0))
        self.standing[dataset, analyst] = before[0] + questions, before[1] + failures

    def totals(self) -> dict[Place, dict[str, Any]]:
        """The rows of the budget table."""
        rows = {}
        for place, allowance in self.allowances.items():
            size, delta = self.spent.get(place, (0, 0))
            rows[place] = {**allowance, "spent_size": size, "spent_delta": delta}
        return rows


def fill_standing(database: Database) -> None:
    """Count the questions of a ledger that did not."""
    state = State({}, {}, {}, {}, {})
    for row in database.execute("SELECT * FROM entry ORDER BY number"):
        state.replay(row["number"], json.loads(row["body"]))
    for (dataset, analyst), (questions, failures) in state.standing.items():
        row = {"dataset": dataset, "analyst": analyst, "questions": questions, "failures": failures}
        database.execute("INSERT INTO standing VALUES (:dataset, :analyst, :questions, :failures)", row)


def _standing(database: Database) -> tuple[dict[str, dict[str, Any]], dict[tuple[str, str], tuple[int, int]]]:
    rules = {row["dataset"]: dict(row) for row in database.execute("SELECT * FROM rule")}
    rows = database.execute("SELECT * FROM standing")
    return rules, {(row["dataset"], row["analyst"]): (row["questions"], row["failures"]) for row in rows}


def _link(previous: str, number: int, text: str) -> str:
    return hashlib.sha256(f"{previous} {number} {text}".encode()).hexdigest()
