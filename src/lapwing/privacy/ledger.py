"""A durable budget: what was promised about a data set, what was spent, and every release, in a file or on a server.

    quote → **charge** (durable) → look at the data → **record** the release (durable) → show it

A charge is on disk before any data is read and is never given back: a crash burns budget, it never leaks it. A release
is on disk before anybody sees it, so whatever was seen is in the ledger. Asking again under the same key returns the
stored release instead of fresh noise.

Privacy: totals are plain sums, which stay valid when later questions depend on earlier answers: Σε for an allowance in
PureDP, Σ(ε,δ) for ApproxDP, Σρ (and Σδ) for ZCDP. The kind is fixed when a data set is opened, and so is the relation.

Units: a data set may promise something to a patient and something else to a household. These are two allowances, and
the sum behind each must hold *every* release, or it bounds nothing. So a charge states its loss for each unit that has
an allowance, and a unit may be added only before the first charge.

Entries form a hash chain that is checked when the ledger is opened: a changed, missing or torn entry is found. Somebody
who can write the tables can forge all of it. An `anchor` file kept elsewhere remembers the last entry and is compared
in every transaction. It also finds an old copy that was put back.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from lapwing import checks
from lapwing.errors import DatasetClosed, InvalidParameter, LedgerUnavailable, withheld
from lapwing.privacy import admission, reports
from lapwing.privacy.admission import Failure, Rules, admit, count, declare
from lapwing.privacy.allowances import (
    by_unit,
    costs_of,
    is_known,
    left,
    loss_of,
    new_row,
    not_raised,
    row_at,
    rows_for,
    same_kind,
    somebody,
    spend,
    stable_name,
    the_row,
)
from lapwing.privacy.journal import (
    EVERYBODY,
    Database,
    Entry,
    append,
    charges,
    entries,
    hash_of,
    is_seeded,
    spent_by,
    verify_chain,
)
from lapwing.privacy.losses import Loss
from lapwing.privacy.store import Store, store_at
from lapwing.privacy.trust import from_a_seed
from lapwing.privacy.weak_privacy import warn_if_large


@dataclass(frozen=True, slots=True)
class Charge:
    """A charge that a ledger accepted: its entry, and the release that was recorded for it, if any.

    Attributes:
        number: The number of its entry in the ledger.
        stored: The release, as bytes; None before `Ledger.record`.

    >>> import tempfile
    >>> from lapwing.privacy import Ledger, PureDP
    >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.db")
    >>> ledger.open("patients", PureDP(1))
    >>> first = ledger.charge("patients", PureDP(0.25), key="smokers")
    >>> first.number, first.stored
    (2, None)
    >>> ledger.record(first, b"42")
    b'42'
    >>> ledger.charge("patients", PureDP(0.25), key="smokers").stored  # the key was used before: free
    b'42'
    """

    number: int
    stored: bytes | None = None
    entry: str = field(default="", compare=False)
    """Random digits, by which it is told from charges of other ledgers under the same number. Of a charge by an earlier
    version, the first digits of the hash of its entry."""


@dataclass(frozen=True, slots=True)
class PastCharge:
    """One charge of the past: when it was made, what it cost, and what was spent up to then.

    Attributes:
        time: When it was made, in seconds since 1970.
        loss: What it cost.
        total: What was spent up to then, with it.

    >>> import tempfile
    >>> from lapwing.privacy import Ledger, PureDP
    >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.db")
    >>> ledger.open("patients", PureDP(1))
    >>> charges = [ledger.charge("patients", PureDP(0.25)) for _ in range(2)]
    >>> for past in ledger.history("patients"):
    ...     print(past.loss, "→", past.total)
    ε = 0.25 (add_remove, per person) → ε = 0.25 (add_remove, per person)
    ε = 0.25 (add_remove, per person) → ε = 0.5 (add_remove, per person)
    """

    time: float
    loss: Loss
    total: Loss


@dataclass(frozen=True, slots=True)
class Account:
    """The allowance of a data set for one kind of unit, and what was spent of it, all at one moment.

    Attributes:
        dataset: The name of the data set.
        unit: Who or what is protected, such as "person".
        allowance: What may be spent in all.
        spent: What was spent.
        remaining: What is left.

    >>> import tempfile
    >>> from lapwing.privacy import Ledger, PureDP
    >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.db")
    >>> ledger.open("patients", PureDP(1))
    >>> charge = ledger.charge("patients", PureDP(0.25))
    >>> [account] = ledger.accounts("patients")
    >>> account.unit, len(account.charges)
    ('person', 1)
    >>> print(account.spent, "of", account.allowance)
    ε = 0.25 (add_remove, per person) of ε = 1 (add_remove, per person)
    """

    dataset: str
    unit: str
    allowance: Loss
    spent: Loss
    remaining: Loss
    charges: tuple[PastCharge, ...]
    """Every charge, oldest first."""


class Ledger:
    """The ledger in a file or on a server, for any number of threads and processes.

    It holds no connection between calls, so it survives forks. A copy is the same ledger, so cloning an estimator does
    not give its budget back.

    Args:
        path: The SQLite file, or the URL `postgresql://…` of a database.
        anchor: A small file, kept elsewhere, that notices if an older copy of the ledger is put back. None means none.
        failures: The file for error messages of engines, which only its owner may read. None means a file beside the
            ledger; for a ledger on a server, that nothing is kept.
        create: Whether to make the ledger if it does not exist.

    >>> import tempfile
    >>> from lapwing.privacy import PureDP
    >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.db")
    >>> ledger.open("patients", PureDP(1, unit="patient"))
    >>> charge = ledger.charge("patients", PureDP(0.25, unit="patient"), analyst="ada")
    >>> ledger.record(charge, b"42")
    b'42'
    >>> print(ledger.remaining("patients"))
    ε = 0.75 (add_remove, per patient)
    """

    __slots__ = ("_store",)

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        anchor: str | os.PathLike[str] | None = None,
        failures: str | os.PathLike[str] | None = None,
        create: bool = True,
    ) -> None:
        self._enter(store_at(path, anchor, failures), create)

    def _enter(self, store: Store, create: bool) -> None:
        self._store = store
        store.create(allowed=create)
        self.verify()
        with suppress(LedgerUnavailable):  # who may only read looks at it as it is
            store.renew()

    def __repr__(self) -> str:
        return f"Ledger({self._store.name!r})"

    @property
    def store(self) -> Store:
        """The file or the database that it is in."""
        return self._store

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ledger) and self._store == other._store

    def __hash__(self) -> int:
        return hash(self._store)

    def __copy__(self) -> Ledger:
        return self

    def __deepcopy__(self, memo: object) -> Ledger:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (self._store,)

    def open(self, dataset: str, allowance: Loss, *, analyst: str = EVERYBODY, rules: Rules | None = None) -> None:
        """Set the allowance of a data set for a unit, for everybody together or for one analyst besides.

        Opening again with the same allowance changes nothing; a smaller one is taken over, a larger one is refused.
        A unit of another type has an allowance of its own, to be opened before anything is charged.

        Args:
            dataset: A stable name for the data set. Tables about the same people share one.
            allowance: What may be spent in all. Its kind, relation and unit are fixed from now on.
            analyst: Whose allowance it is. The default is everybody together. What an analyst spent before counts
                against it, too.
            rules: How often one may ask, how little a question may cost, and how many may fail. Later they only become
                stricter. None means the usual ones, `Rules()`.

        Raises:
            InvalidParameter: If the allowance is raised, or a unit is added after the first charge.
            IncompatibleLosses: If the data set was opened with another kind of loss or another relation.

        >>> import tempfile
        >>> from lapwing.privacy import Ledger, PureDP, Rules
        >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.db")
        >>> ledger.open("patients", PureDP(1), rules=Rules(failures=1))
        >>> ledger.open("patients", PureDP(0.25), analyst="ada")  # of these, Ada may spend a quarter
        >>> print(ledger.remaining("patients", analyst="ada"))
        ε = 0.25 (add_remove, per person)
        """
        if rules is not None:
            checks.of_kind(Rules, "are not Rules", "Write rules=Rules(failures=3).", rules=rules)
        row = new_row(dataset, analyst, allowance)
        warn_if_large(allowance, f"the allowance of {dataset!r}")
        dataset, unit, analyst = place = row["dataset"], row["unit"], row["analyst"]
        with self._store.transaction() as database:
            known = row_at(database, place)
            common = row_at(database, (dataset, unit, EVERYBODY))
            if common is not None:
                same_kind(common, allowance)
            elif analyst != EVERYBODY:
                the_row(database, dataset, unit, EVERYBODY)  # says what is missing
            elif any(True for _ in charges(database, dataset)):
                why = f"earlier releases stated no loss per {unit}, so nothing can be promised per {unit} now"
                hint = "Open the allowances for all units before the first charge."
                raise InvalidParameter("allowance", str(allowance), why, hint)
            if rules is not None:
                declare(database, dataset, rules, fresh=not is_known(database, dataset))
            if known is not None:
                not_raised(known, row, allowance)
                if known["size"] == row["size"] and known["delta"] == row["delta"]:
                    return
                row["size"], row["delta"] = min(known["size"], row["size"]), min(known["delta"], row["delta"])
                database.execute(
                    "UPDATE budget SET size = :size, delta = :delta "
                    "WHERE dataset = :dataset AND unit = :unit AND analyst = :analyst",
                    row,
                )
            else:
                spent = spent_by(database, *place) if analyst != EVERYBODY else (0, 0)
                full = {**row, "spent_size": spent[0], "spent_delta": spent[1]}
                places = ", ".join(f":{name}" for name in full)
                database.execute(f"INSERT INTO budget ({', '.join(full)}) VALUES ({places})", full)
            append(database, "open", row)
        self._store.write_anchor()

    def charge(
        self,
        datasets: str | Iterable[str],
        loss: Loss | Iterable[Loss],
        *,
        analyst: str = EVERYBODY,
        key: str | None = None,
        binding: object = None,
        seeded: bool = False,
    ) -> Charge:
        """Spend a loss on every data set named, durably, or raise an error and spend nothing.

        Args:
            datasets: The data set, or all that are read.
            loss: What the release costs. If there are allowances for several units, a list with a loss for each of
                them.
            analyst: Who asks. The default is nobody in particular.
            key: A name for the question. Asked again under it, it is not charged again.
            binding: What makes a question the same (the plan, its parameters), in text, numbers, lists and dicts. A key
                that was used with another data set, analyst, loss or binding is refused.
            seeded: Whether its noise comes from a seed (`Reproducible`). This is written down for good: the sums of
                what was spent then say that they are not private, and cannot be explained.

        Returns:
            The charge. Under a key that was used before it is the first one, with its release if that was recorded.

        Raises:
            BudgetExceeded: If less remains than the loss.
            ChargeTooSmall: If the loss is below the smallest that the rules allow.
            TooManyQuestions: If the analyst has asked as often as the rules allow.
            DatasetClosed: If failures have closed the data set, or stopped the analyst.
            InvalidParameter: If no data set is named, or the key was used for another question, or for one whose noise
                does not come from a seed and whose release is not recorded yet.

        >>> import tempfile
        >>> from lapwing.privacy import Ledger, PureDP
        >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.db")
        >>> ledger.open("patients", PureDP(1))
        >>> charge = ledger.charge("patients", PureDP(0.25), key="smokers")
        >>> ledger.charge("patients", PureDP(0.25), key="smokers") == charge  # free
        True
        """
        given = datasets if isinstance(datasets, Iterable) and not isinstance(datasets, str) else [datasets]
        with _unseen(datasets):
            names = sorted({stable_name("dataset", name) for name in given})
        if not names:
            raise InvalidParameter("datasets", datasets, "there is nothing to charge", "Name at least one data set.")
        who, losses = somebody(analyst), by_unit(loss)
        key, question = None if key is None else stable_name("key", key), _plain(binding)
        with self._store.transaction() as database:
            with _unseen(datasets):
                costs = costs_of(database, names, losses)
            bound = _digest([costs, who, question])
            charge = None if key is None else _by_key(database, key, bound)
            if charge is None or charge.stored is None:
                admit(database, names, who)
                _keep_secret(database, charge, key, checks.true_or_false(seeded=seeded))
            if charge is None:
                spend(database, costs, who, losses)
                count(database, costs, who)
                stated = [str(part) for part in losses.values()]
                body = {"analyst": who, "costs": costs, "losses": stated, "key": key, "binding": bound}
                marks = {"id": os.urandom(8).hex(), **({"seeded": True} if seeded else {})}
                number = append(database, "charge", {**body, **marks})
                charge = Charge(number, None, _entry(database, number))
                row = {"charge": charge.number, "key": key, "binding": bound}
                database.execute("INSERT INTO release VALUES (:charge, :key, :binding, NULL)", row)
        self._store.write_anchor()  # also for an earlier one, whose process may have been killed just before
        return charge

    def record(
        self, charge: Charge, content: bytes, *, datasets: Iterable[str] = (), analyst: str = EVERYBODY
    ) -> bytes:
        """Store the release of a charge, durably, and return what may be shown: the first one stored for it.

        Args:
            charge: What `charge` returned.
            content: The release, as bytes.
            datasets: The data sets where a failure is an alarm (`trip`). If the analyst was stopped there since the
                charge, nothing is stored.
            analyst: Who asked.

        Returns:
            What may be shown.

        Raises:
            InvalidParameter: If the charge is not in this ledger.
            DatasetClosed: If the analyst was stopped since the charge.

        >>> import tempfile
        >>> from lapwing.privacy import Ledger, PureDP
        >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.db")
        >>> ledger.open("patients", PureDP(1))
        >>> charge = ledger.charge("patients", PureDP(0.25))
        >>> ledger.record(charge, b"42"), ledger.record(charge, b"43")  # the first one stays
        (b'42', b'42')
        """
        _must_be_bytes(content)
        with self._store.transaction() as database:
            number = min(charge.number, (1 << 63) - 1)  # the largest that SQLite can look for
            rows = database.execute("SELECT content FROM release WHERE charge = :charge", {"charge": number})
            row = rows.fetchone()
            if row is None:
                raise InvalidParameter("charge", charge.number, "is not in this ledger", "Charge first.")
            if row["content"] is not None:
                content = bytes(row["content"])
            else:
                admit(database, datasets, somebody(analyst))
                stored = {"charge": number, "content": content}
                database.execute("UPDATE release SET content = :content WHERE charge = :charge", stored)
                append(database, "release", {"charge": number, "sha256": hashlib.sha256(content).hexdigest()})
        self._store.write_anchor()
        return content

    def stored(self, key: str) -> bytes | None:
        """The release that was recorded under a key.

        Args:
            key: The name of the question.

        Returns:
            The release; None if there is none.

        >>> import tempfile
        >>> from lapwing.privacy import Ledger, PureDP
        >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.db")
        >>> ledger.open("patients", PureDP(1))
        >>> shown = ledger.record(ledger.charge("patients", PureDP(0.25), key="smokers"), b"42")
        >>> ledger.stored("smokers")
        b'42'
        """
        with self._store.transaction(write=False) as database:
            row = database.execute("SELECT content FROM release WHERE key = :key", {"key": key}).fetchone()
        return None if row is None or row["content"] is None else bytes(row["content"])

    def trip(
        self, datasets: Iterable[str], said: str, *, analyst: str = EVERYBODY, charge: int | None = None
    ) -> DatasetClosed | None:
        """Write down, durably, that a question failed while rows were read: the analyst is stopped from now on.

        Args:
            datasets: The data sets that were read.
            said: What the engine said. It goes to a file that only the owner can read, before the failure is committed.
            analyst: Who asked.
            charge: The number of the charge, if there was one.

        Returns:
            None; or, if the analyst was stopped since the charge, the error to show instead. An answer raises the same.

        >>> import tempfile
        >>> from lapwing.privacy import Ledger, PureDP
        >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.db")
        >>> ledger.open("patients", PureDP(1))
        >>> ledger.trip(["patients"], "out of memory", analyst="ada")
        >>> len(ledger.failures("patients"))
        1
        """
        with self._store.transaction() as database:
            number, closed = admission.trip(database, datasets, analyst, charge)
            reports.keep(self._store.failures, number, said)
        self._store.write_anchor()
        return closed

    def failures(self, dataset: str) -> list[Failure]:
        """The failures since the data set was last reopened, oldest first: for its owner alone.

        Args:
            dataset: The name of the data set.

        Returns:
            The failures, with what the engine said.

        Raises:
            InvalidParameter: If the ledger does not know the data set.

        >>> import tempfile
        >>> from lapwing.privacy import Ledger, PureDP
        >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.db")
        >>> ledger.open("patients", PureDP(1))
        >>> ledger.trip(["patients"], "out of memory", analyst="ada")
        >>> [(failure.analyst, failure.said) for failure in ledger.failures("patients")]
        [('ada', 'out of memory')]
        """
        self.units(dataset)  # of a data set that there is not, nothing is true
        said, failures = reports.kept(self._store.failures), list[Failure]()
        for entry in self.entries():
            if entry.act == "reopen" and entry.body["dataset"] == dataset:
                failures.clear()
            elif entry.act == "failure" and dataset in entry.body["datasets"]:
                body = entry.body
                failures.append(
                    Failure(entry.number, body["time"], body["analyst"], body["charge"], said.get(entry.number))
                )
        return failures

    def rules(self, dataset: str) -> Rules:
        """How often one may ask, how little a question may cost, and how many may fail.

        Args:
            dataset: The name of the data set.

        Returns:
            The rules that were declared, or the usual ones.

        Raises:
            InvalidParameter: If the ledger does not know the data set.

        >>> import tempfile
        >>> from lapwing.privacy import Ledger, PureDP, Rules
        >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.db")
        >>> ledger.open("patients", PureDP(1), rules=Rules(questions=100))
        >>> ledger.rules("patients")
        Rules(questions=100, parts=10000, failures=3)
        """
        with self._store.transaction(write=False) as database:
            rows_for(database, dataset)  # says if there is no such data set
            return admission.rules_of(database, dataset) if self._store.has_breaker(database) else Rules()

    def admit(self, datasets: Iterable[str], *, analyst: str = EVERYBODY) -> None:
        """Raise `DatasetClosed` if this analyst may not ask at present.

        Args:
            datasets: The data sets to be read.
            analyst: Who asks.

        Raises:
            DatasetClosed: If failures have closed a data set, or stopped the analyst.

        >>> import tempfile
        >>> from lapwing.privacy import Ledger, PureDP
        >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.db")
        >>> ledger.open("patients", PureDP(1))
        >>> ledger.admit(["patients"], analyst="ada")  # nothing has failed
        """
        with self._store.transaction(write=False) as database:
            if self._store.has_breaker(database):
                admit(database, datasets, analyst)

    def reopen(self, dataset: str) -> None:
        """Let questions pass again, once the owner has looked at what failed.

        Args:
            dataset: The name of the data set.

        Raises:
            InvalidParameter: If the ledger does not know the data set.

        >>> import tempfile
        >>> from lapwing.privacy import Ledger, PureDP
        >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.db")
        >>> ledger.open("patients", PureDP(1))
        >>> ledger.trip(["patients"], "out of memory", analyst="ada")
        >>> ledger.reopen("patients")
        >>> ledger.admit(["patients"], analyst="ada")
        """
        with self._store.transaction() as database:
            admission.reopen(database, dataset)
        self._store.write_anchor()

    def spent(self, dataset: str, unit: str | None = None, *, analyst: str = EVERYBODY) -> Loss:
        """What was spent on a data set so far.

        Args:
            dataset: The name of the data set.
            unit: The unit of protection, where the data set has allowances for several.
            analyst: An analyst with an allowance of their own. The default is everybody together.

        Returns:
            The sum of all charges. If the noise of one of them came from a seed, its trust says so.

        Raises:
            InvalidParameter: If the ledger does not know the data set, the unit or the analyst.

        >>> import tempfile
        >>> from lapwing.privacy import Ledger, PureDP
        >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.db")
        >>> ledger.open("patients", PureDP(1))
        >>> print(ledger.spent("patients"))
        ε = 0 (add_remove, per person)
        """
        with self._store.transaction(write=False) as database:
            return _spent(database, the_row(database, dataset, unit, analyst), analyst)

    def remaining(self, dataset: str, unit: str | None = None, *, analyst: str = EVERYBODY) -> Loss:
        """What may still be spent (without the billionth that absorbs rounding).

        Args:
            dataset: The name of the data set.
            unit: The unit of protection, where the data set has allowances for several.
            analyst: An analyst with an allowance of their own, who may spend what it and the common one both cover. The
                default is everybody together.

        Returns:
            The rest of the allowance.

        Raises:
            InvalidParameter: If the ledger does not know the data set, the unit or the analyst.

        >>> import tempfile
        >>> from lapwing.privacy import Ledger, PureDP
        >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.db")
        >>> ledger.open("patients", PureDP(1))
        >>> charge = ledger.charge("patients", PureDP(0.25))
        >>> print(ledger.remaining("patients"))
        ε = 0.75 (add_remove, per person)
        """
        with self._store.transaction(write=False) as database:
            row = the_row(database, dataset, unit, analyst)
            return left(row, the_row(database, dataset, row["unit"], EVERYBODY))

    def history(self, dataset: str, unit: str | None = None) -> list[PastCharge]:
        """Every charge to a data set, oldest first.

        Args:
            dataset: The name of the data set.
            unit: The unit of protection, where the data set has allowances for several.

        Returns:
            The charges of all analysts. The total of the last one is `ledger.spent(dataset)`.

        Raises:
            InvalidParameter: If the ledger does not know the data set.

        >>> import tempfile
        >>> from lapwing.privacy import Ledger, PureDP
        >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.db")
        >>> ledger.open("patients", PureDP(1))
        >>> for cost in (0.25, 0.5):
        ...     charge = ledger.charge("patients", PureDP(cost))
        >>> [str(charge.total) for charge in ledger.history("patients")]
        ['ε = 0.25 (add_remove, per person)', 'ε = 0.75 (add_remove, per person)']
        """
        with self._store.transaction(write=False) as database:
            return _past(database, the_row(database, dataset, unit, EVERYBODY))

    def accounts(self, *datasets: str, charge: int | None = None, entry: str | None = None) -> list[Account]:
        """Allowances, sums and charges of data sets, for every unit, as they are at one moment.

        Args:
            datasets: The names of the data sets.
            charge: The number of a charge to each of these data sets, which must be there.
            entry: The `entry` of that charge, if it is known.

        Returns:
            An account for each data set and unit.

        Raises:
            InvalidParameter: If the ledger does not know a data set, or did not make this charge to it.

        >>> import tempfile
        >>> from lapwing.privacy import Ledger, PureDP
        >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.db")
        >>> ledger.open("patients", PureDP(1))
        >>> charge = ledger.charge("patients", PureDP(0.25))
        >>> [account] = ledger.accounts("patients", charge=charge.number)
        >>> print(account.spent, account.remaining, len(account.charges), sep="; ")
        ε = 0.25 (add_remove, per person); ε = 0.75 (add_remove, per person); 1
        """
        with self._store.transaction(write=False) as database:
            with _unseen(datasets):
                rows = [row for dataset in datasets for row in rows_for(database, dataset).values()]
            for dataset in datasets:
                if charge is None:
                    continue
                if not _pays(database, charge, dataset) or entry not in (None, _entry(database, charge)):
                    why = f"is no charge to the data set {dataset!r} in this ledger"
                    raise InvalidParameter("charge", charge, why, "Pass the ledger that the answer was charged to.")
            return [
                Account(
                    row["dataset"],
                    row["unit"],
                    loss_of(row, row["size"], row["delta"]),
                    _spent(database, row),
                    left(row),
                    tuple(_past(database, row)),
                )
                for row in rows
            ]

    def datasets(self) -> list[str]:
        """The data sets that have an allowance.

        Returns:
            Their names, in alphabetical order.

        >>> import tempfile
        >>> Ledger(tempfile.mkdtemp() + "/ledger.db").datasets()
        []
        """
        with self._store.transaction(write=False) as database:
            return [row["dataset"] for row in database.execute("SELECT DISTINCT dataset FROM budget ORDER BY dataset")]

    def units(self, dataset: str) -> list[str]:
        """The units that a data set has an allowance for.

        Args:
            dataset: The name of the data set.

        Returns:
            Their names.

        Raises:
            InvalidParameter: If the ledger does not know the data set.

        >>> import tempfile
        >>> from lapwing.privacy import Ledger, PureDP
        >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.db")
        >>> ledger.open("visits", PureDP(3, unit="patient"))
        >>> ledger.open("visits", PureDP(10, unit="household"))
        >>> sorted(ledger.units("visits"))
        ['household', 'patient']
        """
        with self._store.transaction(write=False) as database:
            return list(rows_for(database, dataset))

    def analysts(self, dataset: str, unit: str | None = None) -> list[str]:
        """The analysts who have an allowance of their own.

        Args:
            dataset: The name of the data set.
            unit: The unit of the allowance. None means any.

        Returns:
            Their names, in the order of the alphabet.

        >>> import tempfile
        >>> from lapwing.privacy import Ledger, PureDP
        >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.db")
        >>> ledger.open("patients", PureDP(1))
        >>> ledger.open("patients", PureDP(0.25), analyst="ada")
        >>> ledger.analysts("patients")
        ['ada']
        """
        query = "SELECT analyst, unit FROM budget WHERE dataset = :dataset AND analyst <> '' ORDER BY analyst"
        with self._store.transaction(write=False) as database:
            rows = database.execute(query, {"dataset": dataset})
            return list(dict.fromkeys(row["analyst"] for row in rows if unit in (None, row["unit"])))

    def entries(self) -> list[Entry]:
        """The whole journal, oldest first.

        Returns:
            An entry for each act that was recorded, such as an allowance, a charge or a failure.

        >>> import tempfile
        >>> Ledger(tempfile.mkdtemp() + "/ledger.db").entries()
        []
        """
        with self._store.transaction(write=False) as database:
            return list(entries(database))

    def verify(self) -> None:
        """Check the file, the chain, the totals, the releases and the anchor.

        Raises:
            LedgerDamaged: If something was changed. It names the first fault.

        >>> import tempfile
        >>> Ledger(tempfile.mkdtemp() + "/ledger.db").verify()
        """
        with self._store.transaction(write=False) as database:
            self._store.check(database)
            verify_chain(self._store.name, database, breaker=self._store.has_breaker(database))

    def start_anchor(self, anchor: str | os.PathLike[str]) -> None:
        """Write an anchor for a ledger that has none, or whose anchor is lost. Open the ledger with it from now on.

        Args:
            anchor: A new file. One that exists is refused, since it may belong to a newer ledger.

        >>> import tempfile
        >>> from lapwing.privacy import Ledger
        >>> folder = tempfile.mkdtemp()
        >>> Ledger(folder + "/ledger.db").start_anchor(folder + "/ledger.anchor")
        >>> ledger = Ledger(folder + "/ledger.db", anchor=folder + "/ledger.anchor")
        """
        self._store.start_anchor(anchor)


def _unseen(datasets: object) -> AbstractContextManager[None]:
    """Of names that could be records, none is shown because the ledger does not know it."""
    why, hint = "has an entry that is no data set of this ledger", "Name them: ['patients', 'visits']."
    return withheld(why, hint, datasets=datasets)


def _body(database: Database, number: int) -> dict[str, Any]:
    """What an entry says; nothing if there is none of this number."""
    row = database.execute("SELECT body FROM entry WHERE number = :number", {"number": number}).fetchone()
    return {} if row is None else dict(json.loads(row["body"]))


def _pays(database: Database, charge: int, dataset: str) -> bool:
    body = _body(database, charge)
    return body.get("act") == "charge" and dataset in body["costs"]


def _entry(database: Database, number: int) -> str:
    """By which a charge of this ledger is told from one of another ledger.

    Privacy: answers carry it, so it is random. The hash of an entry depends on all entries before it, with their times
    and keys; it stands in only where an earlier version made the charge.
    """
    return str(_body(database, number).get("id") or (hash_of(database, number) or "")[:16])


def _keep_secret(database: Database, charge: Charge | None, key: str | None, seeded: bool) -> None:
    """Refuse noise from a seed for a charge in which the ledger counts on noise that nobody knows."""
    if seeded and charge is not None and not _body(database, charge.number).get("seeded"):
        why = "was charged for noise that is not from a seed, and its release is not recorded yet"
        raise InvalidParameter("key", key, why, "Ask once more without entropy=, or use a new key.")


def _spent(database: Database, row: Mapping[str, Any], analyst: str = EVERYBODY) -> Loss:
    amounts = row["spent_size"], row["spent_delta"]
    return _sum_of(row, amounts, is_seeded(database, row["dataset"], analyst))


def _sum_of(row: Mapping[str, Any], amounts: tuple[int, int], seeded: bool) -> Loss:
    """What was charged. A sum with noise from a seed promises nothing, and says so wherever it goes."""
    loss = loss_of(row, *amounts)
    return replace(loss, trust=from_a_seed(loss.trust)) if seeded else loss


def _past(database: Database, row: Mapping[str, Any]) -> list[PastCharge]:
    """The charges against one allowance, oldest first."""
    past, size, delta, seeded = [], 0, 0, False
    for body in charges(database, row["dataset"]):
        cost, mine = body["costs"][row["dataset"]][row["unit"]], bool(body.get("seeded"))
        size, delta, seeded = size + cost[0], delta + cost[1], seeded or mine
        past.append(PastCharge(body["time"], _sum_of(row, cost, mine), _sum_of(row, (size, delta), seeded)))
    return past


def _reopened(store: Store) -> Ledger:
    """What was pickled: the same place, even where the environment or the folder is another, and never a new one."""
    ledger = Ledger.__new__(Ledger)
    ledger._enter(store, create=False)
    return ledger


def _by_key(database: Database, key: str, bound: str) -> Charge | None:
    row = database.execute("SELECT * FROM release WHERE key = :key", {"key": key}).fetchone()
    if row is None:
        return None
    if row["binding"] != bound:
        why = "was used for another question, or for this one at another price"
        raise InvalidParameter("key", key, why, "Use a new key, or ask exactly as before.")
    stored = None if row["content"] is None else bytes(row["content"])
    return Charge(row["charge"], stored, _entry(database, row["charge"]))


def _must_be_bytes(content: object) -> None:
    if not isinstance(content, bytes):
        why = "must be bytes, so that the stored and the shown answer are the same"
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
    raise InvalidParameter("binding", type(value), "cannot be compared with earlier questions", hint)


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
