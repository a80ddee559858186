"""A durable budget: what was promised about a data set, what was spent, and every release, in one SQLite file.

    quote → **charge** (durable) → look at the data → **record** the release (durable) → show it

A charge is on disk before any data is read and is never given back: a crash burns budget, it never leaks it. A release
is on disk before anybody sees it, so whatever was seen is in the ledger, and asking again under the same key returns
the stored release instead of fresh noise.

Privacy: totals are plain sums, which stay valid when later questions depend on earlier answers: Σε for an allowance in
PureDP, Σ(ε,δ) for ApproxDP, Σρ (and Σδ) for ZCDP. The kind is fixed when a data set is opened, and so are the unit and
the relation.

Amounts are whole numbers of 2^-50 (epsilon, rho) and 2^-62 (delta), charges rounded up. An allowance is enforced up to
a billionth of itself more, plus a thousand such units but never more than a hundredth, so that ten charges of 0.1 fit
into 1 although the double 0.1 is more than a tenth. An allowance of 0 is 0.

Entries form a hash chain that is checked when the ledger is opened: a changed, missing or torn entry is found. Who can
write the file can forge all of it; an `anchor` file kept elsewhere, which remembers the last entry and is compared in
every transaction, also finds an old copy that was put back.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Any

from lapwing.errors import BudgetExceeded, IncompatibleLosses, InvalidParameter, LedgerDamaged
from lapwing.privacy.journal import EVERYBODY, Entry, append, entries, spent_by, verify_chain
from lapwing.privacy.losses import ZCDP, ApproxDP, Loss, PureDP, as_loss
from lapwing.privacy.store import Store

if TYPE_CHECKING:
    import sqlite3

SIZE_UNIT, DELTA_UNIT = Fraction(1, 1 << 50), Fraction(1, 1 << 62)
LARGEST_SIZE, LARGEST_DELTA = 1 << 11, Fraction(1, 2)
LONGEST_NAME = 256
_SPEND = """
UPDATE budget SET spent_size = spent_size + :cost, spent_delta = spent_delta + :delta_cost
WHERE (dataset, analyst) = (:dataset, :analyst)
AND spent_size + :cost <= size + min(size / 100, size / 1000000000 + 1000)
AND spent_delta + :delta_cost <= delta + min(delta / 100, delta / 1000000000 + 1000)
"""
_KINDS: dict[str, type[Loss]] = {"PureDP": PureDP, "ApproxDP": ApproxDP, "ZCDP": ZCDP}


@dataclass(frozen=True, slots=True)
class Charge:
    """A place in the ledger, paid for. `stored` is the release that was recorded for it before, if any."""

    number: int
    stored: bytes | None = None


class Ledger:
    """The ledger in a file, for any number of threads and processes.

    It holds no connection between calls, so it survives forks; a copy is the same ledger, so cloning an estimator does
    not give its budget back.

    >>> import tempfile
    >>> from pathlib import Path
    >>> ledger = Ledger(Path(tempfile.mkdtemp()) / "ledger.db")
    >>> ledger.open("patients", PureDP(1, unit="patient"))
    >>> charge = ledger.charge("patients", PureDP(0.25, unit="patient"), analyst="ada")
    >>> ledger.record(charge, b"42")
    b'42'
    >>> print(ledger.remaining("patients"))
    ε = 0.75 (add_remove, per patient)
    """

    __slots__ = ("_store",)

    def __init__(self, path: str | os.PathLike[str], *, anchor: str | os.PathLike[str] | None = None) -> None:
        self._store = Store(path, anchor)
        self._store.create()
        self.verify()

    def __repr__(self) -> str:
        return f"Ledger({str(self._store.path)!r})"

    def __copy__(self) -> Ledger:
        return self

    def __deepcopy__(self, memo: object) -> Ledger:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        anchor = self._store.anchor
        return _reopened, (str(self._store.path), None if anchor is None else str(anchor))

    def open(self, dataset: str, allowance: Loss, *, analyst: str = EVERYBODY) -> None:
        """Set the allowance of a data set, for everybody together or for one analyst besides.

        Opening again with the same allowance or a larger one changes nothing; a smaller one is taken over. Only the
        owner of the file raises an allowance, by a new data set id. What an analyst spent before counts.
        """
        row = _budget_row(dataset, analyst, allowance)
        with self._store.transaction() as database:
            known = _budget(database, dataset, analyst)
            if known is not None or analyst != EVERYBODY:
                _same_kind(known or _must_exist(database, dataset), allowance)
            if known is not None:
                if known["size"] <= row["size"] and known["delta"] <= row["delta"]:
                    return
                row["size"], row["delta"] = min(known["size"], row["size"]), min(known["delta"], row["delta"])
                database.execute(
                    "UPDATE budget SET size = :size, delta = :delta WHERE dataset = :dataset AND analyst = :analyst",
                    row,
                )
            else:
                spent = spent_by(database, dataset, analyst) if analyst != EVERYBODY else (0, 0)
                places = ", ".join("?" * (len(row) + 2))
                columns = ", ".join((*row, "spent_size", "spent_delta"))
                database.execute(f"INSERT INTO budget ({columns}) VALUES ({places})", (*row.values(), *spent))
            append(database, "open", row)
        self._store.write_anchor()

    def charge(
        self,
        datasets: str | Iterable[str],
        loss: Loss,
        *,
        analyst: str = EVERYBODY,
        key: str | None = None,
        binding: object = None,
    ) -> Charge:
        """Spend `loss` on every data set named, durably, or raise `BudgetExceeded` and spend nothing.

        With a `key`, the same question asked again is not charged again: the charge of the first time comes back, with
        its release once that was recorded. `binding` is whatever makes a question the same (the plan, its parameters),
        in text, numbers, lists and dicts; a key used for another data set, analyst, cost or binding is refused.
        """
        given = datasets if isinstance(datasets, Iterable) and not isinstance(datasets, str) else [datasets]
        names = sorted({_name("dataset", name) for name in given})
        if not names:
            raise InvalidParameter("datasets", datasets, "there is nothing to charge", "Name at least one data set.")
        who = analyst if analyst == EVERYBODY else _name("analyst", analyst)
        key, question = None if key is None else _name("key", key), _plain(binding)
        with self._store.transaction() as database:
            costs = {name: _cost(_must_exist(database, name), loss) for name in names}
            bound = _digest([costs, who, question])
            charge = None if key is None else _by_key(database, key, bound)
            if charge is None:
                for name, (size, delta) in costs.items():
                    _spend(database, name, who, size, delta, loss)
                body = {"analyst": who, "costs": costs, "loss": str(loss), "key": key, "binding": bound}
                charge = Charge(append(database, "charge", body))
                database.execute("INSERT INTO release VALUES (?, ?, ?, NULL)", (charge.number, key, bound))
        self._store.write_anchor()  # also for an earlier one, whose process may have been killed just before
        return charge

    def record(self, charge: Charge, content: bytes) -> bytes:
        """Store the release of a charge, durably, and return what may be shown: the first one stored for it."""
        _must_be_bytes(content)
        with self._store.transaction() as database:
            number = min(charge.number, (1 << 63) - 1)  # the largest that SQLite can look for
            row = database.execute("SELECT content FROM release WHERE charge = ?", (number,)).fetchone()
            if row is None:
                raise InvalidParameter("charge", charge.number, "is not in this ledger", "Charge first.")
            if row["content"] is not None:
                content = bytes(row["content"])
            else:
                database.execute("UPDATE release SET content = ? WHERE charge = ?", (content, number))
                append(database, "release", {"charge": number, "sha256": hashlib.sha256(content).hexdigest()})
        self._store.write_anchor()
        return content

    def spent(self, dataset: str, *, analyst: str = EVERYBODY) -> Loss:
        """What was spent on a data set so far."""
        with self._store.transaction(write=False) as database:
            row = _must_exist(database, dataset, analyst)
            return _loss(row, row["spent_size"], row["spent_delta"])

    def remaining(self, dataset: str, *, analyst: str = EVERYBODY) -> Loss:
        """What may still be spent (without the billionth that absorbs rounding)."""
        with self._store.transaction(write=False) as database:
            row = _must_exist(database, dataset, analyst)
            return _loss(row, *(max(0, row[name] - row[f"spent_{name}"]) for name in ("size", "delta")))

    def datasets(self) -> list[str]:
        """The data sets that have an allowance."""
        with self._store.transaction(write=False) as database:
            return [row["dataset"] for row in database.execute("SELECT DISTINCT dataset FROM budget ORDER BY dataset")]

    def analysts(self, dataset: str) -> list[str]:
        """The analysts who have an allowance of their own."""
        with self._store.transaction(write=False) as database:
            found = database.execute("SELECT analyst FROM budget WHERE dataset = ? ORDER BY analyst", (dataset,))
            return [row["analyst"] for row in found if row["analyst"] != EVERYBODY]

    def entries(self) -> list[Entry]:
        """The whole journal, oldest first."""
        with self._store.transaction(write=False) as database:
            return list(entries(database))

    def verify(self) -> None:
        """Check the file, the chain, the totals, the releases and the anchor; `LedgerDamaged` names the first fault."""
        with self._store.transaction(write=False) as database:
            # integrity, not quick: a limit is found by its index, so the indices count
            [state] = database.execute("PRAGMA integrity_check(1)").fetchone()
            if state != "ok":
                raise LedgerDamaged(str(self._store.path), "the database file itself")
            verify_chain(str(self._store.path), database)

    def start_anchor(self, anchor: str | os.PathLike[str]) -> None:
        """Write an anchor for a ledger that was made without, or whose anchor is lost; open it with that from now on.

        An anchor that exists is left alone: it may know better.
        """
        self._store.start_anchor(anchor)


def _reopened(path: str, anchor: str | None) -> Ledger:
    return Ledger(path, anchor=anchor)


def _budget_row(dataset: str, analyst: str, allowance: Loss) -> dict[str, Any]:
    """The allowance as a row; it names its kind, relation and unit for ever."""
    as_loss(allowance)
    dataset, unit = _name("dataset", dataset), _name("unit", allowance.unit)
    analyst = analyst if analyst == EVERYBODY else _name("analyst", analyst)
    if type(allowance).__name__ not in _KINDS:
        hint = "Write PureDP(3), ApproxDP(3, 1e-6) or ZCDP(0.5)."
        raise InvalidParameter("allowance", str(allowance), "only plain sums are valid for adaptive questions", hint)
    size, delta = _amounts(allowance)
    if size > LARGEST_SIZE / SIZE_UNIT or delta > LARGEST_DELTA / DELTA_UNIT:
        why = f"more than {LARGEST_SIZE}, or a delta of more than {LARGEST_DELTA}, protects nobody"
        raise InvalidParameter("allowance", str(allowance), why, "Write PureDP(3) or ApproxDP(3, 1e-6).")
    kind = type(allowance).__name__
    frame = {"kind": kind, "relation": allowance.relation, "unit": unit}
    return {"dataset": dataset, "analyst": analyst, **frame, "size": size, "delta": delta}


def _amounts(loss: Loss) -> tuple[int, int]:
    """Epsilon or rho, and delta, in whole units, rounded up."""
    size = loss.rho if isinstance(loss, ZCDP) else loss.epsilon  # type: ignore[attr-defined]
    return ceil(size / SIZE_UNIT), ceil(getattr(loss, "delta", Fraction(0)) / DELTA_UNIT)


def _loss(row: Mapping[str, Any], size: int, delta: int) -> Loss:
    frame = {"relation": row["relation"], "unit": row["unit"]}
    if row["kind"] == "PureDP":
        return PureDP(size * SIZE_UNIT, **frame)
    kind = ApproxDP if row["kind"] == "ApproxDP" else ZCDP
    return kind(size * SIZE_UNIT, delta * DELTA_UNIT, **frame)


def _same_frame(row: Mapping[str, Any], loss: Loss) -> None:
    """A loss about other neighbours or another unit cannot be charged."""
    if (row["relation"], row["unit"]) != (loss.relation, loss.unit):
        raise IncompatibleLosses(
            _loss(row, row["size"], row["delta"]), loss, "the data set was opened for another relation or unit"
        )


def _same_kind(row: Mapping[str, Any], allowance: Loss) -> None:
    """An allowance keeps its kind, and an analyst's has the kind of the common one: both are charged the same cost."""
    _same_frame(row, allowance)
    if row["kind"] != type(allowance).__name__:
        why = f"the allowance is counted in {row['kind']}, and stays so"
        raise IncompatibleLosses(_loss(row, row["size"], row["delta"]), allowance, why)


def _cost(row: Mapping[str, Any], loss: Loss) -> tuple[int, int]:
    """What a loss costs in the accountant that the data set was opened with."""
    _same_frame(row, as_loss(loss))
    kind = row["kind"]
    if kind == "ZCDP":
        return _amounts(loss.to_zcdp())
    if isinstance(loss, PureDP) or (kind == "ApproxDP" and isinstance(loss, ApproxDP)):
        return _amounts(loss)
    raise IncompatibleLosses(_loss(row, row["size"], row["delta"]), loss, f"the allowance is counted in {kind}")


def _spend(database: sqlite3.Connection, dataset: str, analyst: str, size: int, delta: int, loss: Loss) -> None:
    """Add the cost to everybody's total and to the analyst's, each only if its allowance covers it."""
    for who in dict.fromkeys((EVERYBODY, analyst)):
        row = _budget(database, dataset, who)
        if row is None:
            continue  # no allowance of its own: the common one bounds it
        cost = {"cost": size, "delta_cost": delta, "dataset": dataset, "analyst": who}
        covered = size <= LARGEST_SIZE / SIZE_UNIT  # more would not fit the database's integers either
        if not covered or database.execute(_SPEND, cost).rowcount == 0:
            left = (max(0, row[name] - row[f"spent_{name}"]) for name in ("size", "delta"))
            raise BudgetExceeded(loss, _loss(row, *left))


def _budget(database: sqlite3.Connection, dataset: str, analyst: str) -> dict[str, Any] | None:
    found = database.execute("SELECT * FROM budget WHERE dataset = ? AND analyst = ?", (dataset, analyst))
    row = found.fetchone()
    return None if row is None else dict(row)


def _must_exist(database: sqlite3.Connection, dataset: str, analyst: str = EVERYBODY) -> dict[str, Any]:
    row = _budget(database, _name("dataset", dataset), analyst and _name("analyst", analyst))
    if row is None:
        whose = "" if analyst == EVERYBODY else f", analyst={analyst!r}"
        hint = f"Open it first: ledger.open({dataset!r}, PureDP(1){whose})."
        raise InvalidParameter(
            "analyst" if whose else "dataset", analyst or dataset, "has no allowance in this ledger", hint
        )
    return row


def _by_key(database: sqlite3.Connection, key: str, bound: str) -> Charge | None:
    row = database.execute("SELECT * FROM release WHERE key = ?", (key,)).fetchone()
    if row is None:
        return None
    if row["binding"] != bound:
        raise InvalidParameter("key", key, "was used for another question", "Use a new key for a new question.")
    return Charge(row["charge"], None if row["content"] is None else bytes(row["content"]))


def _name(what: str, value: object) -> str:
    """A name that is the same everywhere: in the database, in JSON and on a terminal."""
    if isinstance(value, str) and value.isprintable() and 0 < len(value) <= LONGEST_NAME:
        return str(value)
    shown = value[:40] if isinstance(value, str) else type(value)
    why = f"must be a stable name of 1 to {LONGEST_NAME} printable characters"
    raise InvalidParameter(what, shown, why, "Write 'patients', for example; for something long, its digest.")


def _must_be_bytes(content: object) -> None:
    if not isinstance(content, bytes):
        why = "what is stored and what is shown must be the same bytes"
        raise InvalidParameter("content", type(content), why, "Encode it: json.dumps(answer).encode().")


def _plain(value: object) -> object:
    """A binding as JSON, equal only for equal values: `repr` abridges arrays and shows objects by their address."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {"dict": sorted(([_plain(name), _plain(item)] for name, item in value.items()), key=json.dumps)}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, Fraction):
        return {"fraction": [hex(value.numerator), hex(value.denominator)]}
    if isinstance(value, float):
        return {"float": float(value).hex()}
    if isinstance(value, int) and not isinstance(value, bool):
        return {"int": hex(value)}
    if value is None or isinstance(value, str | bool):
        return value
    hint = "Write text, numbers, and lists or dicts of them; for anything else its digest."
    raise InvalidParameter("binding", type(value), "cannot be compared with what was asked before", hint)


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
