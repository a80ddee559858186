"""A durable budget: what was promised about a data set, what was spent, and every release, in one SQLite file.

    quote → **charge** (durable) → look at the data → **record** the release (durable) → show it

A charge is on disk before any data is read and is never given back: a crash burns budget, it never leaks it. A release
is on disk before anybody sees it, so whatever was seen is in the ledger, and asking again under the same key returns
the stored release instead of fresh noise.

Privacy: totals are plain sums, which stay valid when later questions depend on earlier answers: Σε for an allowance in
PureDP, Σ(ε,δ) for ApproxDP, Σρ (and Σδ) for ZCDP. The kind is fixed when a data set is opened, and so are the unit and
the relation.

Amounts are whole numbers of 2^-50 (epsilon, rho) and 2^-62 (delta), charges rounded up. An allowance is enforced up to
a billionth of itself more, plus a thousand such units, so that ten charges of 0.1 fit into 1 although the double 0.1 is
more than a tenth.

Entries form a hash chain that is checked when the ledger is opened: a changed, missing or torn entry is found. Who can
write the file can forge all of it; an `anchor` file kept elsewhere, which remembers the last entry, also finds an old
copy that was put back.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lapwing.errors import BudgetExceeded, IncompatibleLosses, InvalidParameter, LedgerDamaged, LedgerUnavailable
from lapwing.privacy.journal import EVERYBODY, SCHEMA, Entry, append, entries, head, verify_chain
from lapwing.privacy.losses import ZCDP, ApproxDP, Loss, PureDP, as_loss

if TYPE_CHECKING:
    import sqlite3

SIZE_UNIT, DELTA_UNIT = Fraction(1, 1 << 50), Fraction(1, 1 << 62)
LARGEST_SIZE = 1 << 11
PATIENCE = 60.0
"""Seconds to wait for somebody else's transaction."""
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
    >>> ledger = Ledger(Path(tempfile.mkdtemp()) / "ledger.db")
    >>> ledger.open("patients", PureDP(1, unit="patient"))
    >>> charge = ledger.charge("patients", PureDP(0.25, unit="patient"), analyst="ada")
    >>> ledger.record(charge, b"42")
    b'42'
    >>> print(ledger.remaining("patients"))
    ε = 0.75 (add_remove, per patient)
    """

    __slots__ = ("_anchor", "_path")

    def __init__(self, path: str | os.PathLike[str], *, anchor: str | os.PathLike[str] | None = None) -> None:
        self._path, self._anchor = Path(path), None if anchor is None else Path(anchor)
        with self._transaction() as database:
            for statement in SCHEMA.split(";"):
                database.execute(statement)
        self.verify()

    def __repr__(self) -> str:
        return f"Ledger({str(self._path)!r})"

    def __copy__(self) -> Ledger:
        return self

    def __deepcopy__(self, memo: object) -> Ledger:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (str(self._path), None if self._anchor is None else str(self._anchor))

    def open(self, dataset: str, allowance: Loss, *, analyst: str = EVERYBODY) -> None:
        """Set the allowance of a data set, for everybody together or for one analyst besides.

        Opening again with the same allowance or a larger one changes nothing; a smaller one is taken over. Only the
        owner of the file raises an allowance, by a new data set id.
        """
        row = _budget_row(dataset, analyst, allowance)
        with self._transaction() as database:
            known = _budget(database, dataset, analyst)
            if known is not None:
                _same_frame(known, allowance)
                if known["kind"] != row["kind"]:
                    why = f"the allowance is counted in {known['kind']}, and stays so"
                    raise IncompatibleLosses(_loss(known, known["size"], known["delta"]), allowance, why)
                if known["size"] <= row["size"] and known["delta"] <= row["delta"]:
                    return
                row["size"], row["delta"] = min(known["size"], row["size"]), min(known["delta"], row["delta"])
                database.execute(
                    "UPDATE budget SET size = :size, delta = :delta WHERE dataset = :dataset AND analyst = :analyst",
                    row,
                )
            else:
                if analyst != EVERYBODY:
                    _same_frame(_must_exist(database, dataset), allowance)
                columns = ", ".join(row)
                places = ", ".join(f":{name}" for name in row)
                database.execute(
                    f"INSERT INTO budget ({columns}, spent_size, spent_delta) VALUES ({places}, 0, 0)", row
                )
            append(database, "open", row)
        self._write_anchor()

    def charge(
        self,
        datasets: str | Sequence[str],
        loss: Loss,
        *,
        analyst: str = EVERYBODY,
        key: str | None = None,
        binding: object = None,
    ) -> Charge:
        """Spend `loss` on every data set named, durably, or raise `BudgetExceeded` and spend nothing.

        With a `key`, the same question asked again is not charged again: the charge of the first time comes back, with
        its release once that was recorded. `binding` is whatever makes a question the same (the plan, its parameters);
        a key used for another data set, analyst or binding is refused.
        """
        names = [datasets] if isinstance(datasets, str) else sorted(set(datasets))
        if not names:
            raise InvalidParameter("datasets", datasets, "there is nothing to charge", "Name at least one data set.")
        bound = _digest({"datasets": names, "analyst": analyst, "binding": repr(binding)})
        with self._transaction() as database:
            earlier = None if key is None else _by_key(database, key, bound)
            if earlier is not None:
                return earlier
            costs = {name: _cost(_must_exist(database, name), loss) for name in names}
            for name, (size, delta) in costs.items():
                _spend(database, name, analyst, size, delta, loss)
            body = {"analyst": analyst, "costs": costs, "loss": str(loss), "key": key, "binding": bound}
            number = append(database, "charge", body)
            database.execute("INSERT INTO release VALUES (?, ?, ?, NULL)", (number, key, bound))
        self._write_anchor()
        return Charge(number)

    def record(self, charge: Charge, content: bytes) -> bytes:
        """Store the release of a charge, durably, and return what may be shown: the first one stored for it."""
        with self._transaction() as database:
            row = database.execute("SELECT content FROM release WHERE charge = ?", (charge.number,)).fetchone()
            if row is None:
                raise InvalidParameter("charge", charge.number, "is not in this ledger", "Charge first.")
            if row["content"] is not None:
                return bytes(row["content"])
            database.execute("UPDATE release SET content = ? WHERE charge = ?", (content, charge.number))
            append(database, "release", {"charge": charge.number, "sha256": hashlib.sha256(content).hexdigest()})
        self._write_anchor()
        return content

    def spent(self, dataset: str, *, analyst: str = EVERYBODY) -> Loss:
        """What was spent on a data set so far."""
        with self._transaction() as database:
            row = _must_exist(database, dataset, analyst)
            return _loss(row, row["spent_size"], row["spent_delta"])

    def remaining(self, dataset: str, *, analyst: str = EVERYBODY) -> Loss:
        """What may still be spent (without the billionth that absorbs rounding)."""
        with self._transaction() as database:
            row = _must_exist(database, dataset, analyst)
            return _loss(row, *(max(0, row[name] - row[f"spent_{name}"]) for name in ("size", "delta")))

    def datasets(self) -> list[str]:
        """The data sets that have an allowance."""
        with self._transaction() as database:
            return [row["dataset"] for row in database.execute("SELECT DISTINCT dataset FROM budget ORDER BY dataset")]

    def entries(self) -> list[Entry]:
        """The whole journal, oldest first."""
        with self._transaction() as database:
            return list(entries(database))

    def verify(self) -> None:
        """Check the file, the chain, the totals, the releases and the anchor; `LedgerDamaged` names the first fault."""
        with self._transaction() as database:
            [state] = database.execute("PRAGMA quick_check(1)").fetchone()
            if state != "ok":
                raise LedgerDamaged(str(self._path), "the database file itself")
            hashes = verify_chain(str(self._path), database)
            self._verify_anchor(hashes)

    def _verify_anchor(self, hashes: list[str]) -> None:
        if self._anchor is None or not self._anchor.exists():
            return
        try:
            number, digest = self._anchor.read_text(encoding="ascii").split()
            known = hashes[int(number) - 1] == digest
        except (ValueError, IndexError):
            known = False
        if not known:
            raise LedgerDamaged(str(self._path), "its end: the anchor knows an entry that is not there")

    def _write_anchor(self) -> None:
        """Replace the anchor by the last entry, atomically and under the ledger's own lock: it never goes back.

        A crash just before leaves it behind by the entries since; it never runs ahead of the ledger.
        """
        if self._anchor is None:
            return
        fresh = self._anchor.with_name(f"{self._anchor.name}.fresh")
        with self._transaction() as database:
            number, digest = head(database)
            try:
                with fresh.open("w", encoding="ascii") as file:
                    file.write(f"{number} {digest}\n")
                    file.flush()
                    os.fsync(file.fileno())
                fresh.replace(self._anchor)
            except OSError as error:
                raise LedgerUnavailable(str(self._anchor), str(error)) from error

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """One connection, one write transaction; committed durably at the end, rolled back on any error."""
        import sqlite3

        try:
            database = sqlite3.connect(self._path, timeout=PATIENCE, isolation_level=None)
        except sqlite3.Error as error:
            raise LedgerUnavailable(str(self._path), str(error)) from error
        try:
            database.row_factory = sqlite3.Row
            database.execute("PRAGMA synchronous = EXTRA")
            database.execute("BEGIN IMMEDIATE")
            yield database
            if database.in_transaction:
                database.execute("COMMIT")
        except sqlite3.DatabaseError as error:
            if "malformed" in str(error) or "not a database" in str(error):
                raise LedgerDamaged(str(self._path), "the database file itself") from error
            raise LedgerUnavailable(str(self._path), str(error)) from error
        finally:
            database.close()  # what was not committed is rolled back


def _reopened(path: str, anchor: str | None) -> Ledger:
    return Ledger(path, anchor=anchor)


def _budget_row(dataset: str, analyst: str, allowance: Loss) -> dict[str, Any]:
    """The allowance as a row; it names its kind, relation and unit for ever."""
    as_loss(allowance)
    if type(allowance).__name__ not in _KINDS:
        hint = "Write PureDP(3), ApproxDP(3, 1e-6) or ZCDP(0.5)."
        raise InvalidParameter("allowance", str(allowance), "only plain sums are valid for adaptive questions", hint)
    if not isinstance(dataset, str) or not dataset or not isinstance(analyst, str):
        raise InvalidParameter("dataset", dataset, "must be a stable name", "Write 'patients', not a path or a digest.")
    size, delta = _amounts(allowance)
    if size > LARGEST_SIZE / SIZE_UNIT:
        raise InvalidParameter("allowance", str(allowance), f"is more than {LARGEST_SIZE}", "That protects nobody.")
    kind = type(allowance).__name__
    frame = {"kind": kind, "relation": allowance.relation, "unit": allowance.unit}
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
    """A loss about other neighbours or another unit cannot be charged, and an allowance does not change its kind."""
    if (row["relation"], row["unit"]) != (loss.relation, loss.unit):
        raise IncompatibleLosses(
            _loss(row, row["size"], row["delta"]), loss, "the data set was opened for another relation or unit"
        )


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
        covered = size <= LARGEST_SIZE / SIZE_UNIT  # more would not fit the database's integers either
        changed = (
            covered
            and database.execute(
                """UPDATE budget SET spent_size = spent_size + :cost, spent_delta = spent_delta + :delta_cost
               WHERE (dataset, analyst) = (:dataset, :analyst)
               AND spent_size + :cost <= size + size / 1000000000 + 1000
               AND spent_delta + :delta_cost <= delta + CASE delta WHEN 0 THEN 0 ELSE delta / 1000000000 + 1000 END""",
                {"cost": size, "delta_cost": delta, "dataset": dataset, "analyst": who},
            ).rowcount
        )
        if not changed:
            left = (max(0, row[name] - row[f"spent_{name}"]) for name in ("size", "delta"))
            raise BudgetExceeded(loss, _loss(row, *left))


def _budget(database: sqlite3.Connection, dataset: str, analyst: str) -> dict[str, Any] | None:
    found = database.execute("SELECT * FROM budget WHERE dataset = ? AND analyst = ?", (dataset, analyst))
    row = found.fetchone()
    return None if row is None else dict(row)


def _must_exist(database: sqlite3.Connection, dataset: str, analyst: str = EVERYBODY) -> dict[str, Any]:
    row = _budget(database, dataset, analyst)
    if row is None:
        hint = f"Open it first: ledger.open({dataset!r}, PureDP(1))."
        raise InvalidParameter("dataset", dataset, "has no allowance in this ledger", hint)
    return row


def _by_key(database: sqlite3.Connection, key: str, bound: str) -> Charge | None:
    row = database.execute("SELECT * FROM release WHERE key = ?", (key,)).fetchone()
    if row is None:
        return None
    if row["binding"] != bound:
        raise InvalidParameter("key", key, "was used for another question", "Use a new key for a new question.")
    return Charge(row["charge"], None if row["content"] is None else bytes(row["content"]))


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
