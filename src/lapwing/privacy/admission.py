"""Who may ask: a limit of questions, a smallest charge, and a breaker that failures trip.

A question that fails because of a row reveals something exact about that row, whatever it cost. So a failure is an
alarm. It stops the analyst at once. After the third failure the data set is closed until the owner has looked and
reopened it. This is not a bound, because a question that does not fail reveals something, too. If r of k questions may
fail, they tell up to log2 of the number of ways to choose at most r among k, in bits. Therefore the number of questions
is limited, and each has a smallest charge.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from lapwing import checks
from lapwing.calls import Helpful
from lapwing.errors import ChargeTooSmall, DatasetClosed, InvalidParameter, TooManyQuestions
from lapwing.privacy.allowances import Costs, loss_of, rows_for, somebody, stable_name
from lapwing.privacy.journal import Database, append


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules(metaclass=Helpful):
    """What the owner of a data set declares when it is opened in the ledger.

    Raises:
        InvalidParameter: If a number is less than 1, or 2^40 or more.

    >>> Rules(failures=1)
    Rules(questions=10000, parts=10000, failures=1)
    """

    questions: int = 10_000
    """Questions of one analyst that are charged for; an answer that is stored already is free and not counted."""
    parts: int = 10_000
    """A question costs at least the allowance divided by this."""
    failures: int = 3
    """Questions of all analysts that may fail before the data set is closed."""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            checks.whole(**{name: value})
            if not 1 <= value < 1 << 40:
                raise InvalidParameter(name, value, "must be at least 1, and less than 2^40", f"Write {name}=3.")


@dataclass(frozen=True, slots=True)
class Failure:
    """A question that failed while rows were read.

    Attributes:
        time: When it failed, in seconds since 1970.
        analyst: Who asked it.
        charge: The number of its charge in the ledger; None if there was none.

    >>> import tempfile
    >>> from lapwing.privacy import Ledger, PureDP
    >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.db")
    >>> ledger.open("patients", PureDP(1))
    >>> charge = ledger.charge("patients", PureDP(0.25), analyst="ada")
    >>> ledger.trip(["patients"], "out of memory", analyst="ada", charge=charge.number)
    >>> [failure] = ledger.failures("patients")
    >>> failure.analyst, failure.said, failure.charge == charge.number
    ('ada', 'out of memory', True)
    """

    number: int
    """Its entry in the journal."""
    time: float
    analyst: str
    charge: int | None
    said: str | None = None
    """What the engine said, for the owner alone: it may quote a record. None where it was not kept."""


def declare(database: Database, dataset: str, rules: Rules, *, fresh: bool) -> None:
    """Write the rules down. Those of a data set that is open already may become stricter, not looser."""
    before = rules_of(database, dataset)
    if rules == before and not fresh:
        return
    for name, value in asdict(rules).items():
        if not fresh and value > getattr(before, name):
            why = f"{dataset!r} was opened with {name}={getattr(before, name)}, and rules only become stricter"
            raise InvalidParameter("rules", value, why, f"Write Rules({name}={getattr(before, name)}) or less.")
    row = {"dataset": dataset, **asdict(rules)}
    database.execute("DELETE FROM rule WHERE dataset = :dataset", {"dataset": dataset})
    database.execute("INSERT INTO rule VALUES (:dataset, :questions, :parts, :failures)", row)
    append(database, "rules", row)


def rules_of(database: Database, dataset: str) -> Rules:
    """What was declared, or what holds if nobody declared anything."""
    row = database.execute("SELECT * FROM rule WHERE dataset = :dataset", {"dataset": dataset}).fetchone()
    if row is None:
        return Rules()
    return Rules(questions=row["questions"], parts=row["parts"], failures=row["failures"])


def admit(database: Database, datasets: Iterable[str], analyst: str) -> None:
    """Refuse questions to a data set that failures have closed, or closed for this analyst."""
    for dataset in datasets:
        rows = database.execute("SELECT * FROM standing WHERE dataset = :dataset", {"dataset": dataset})
        failed = {row["analyst"]: row["failures"] for row in rows}
        if sum(failed.values()) >= rules_of(database, dataset).failures:
            raise DatasetClosed(dataset, None)
        if failed.get(analyst):
            raise DatasetClosed(dataset, analyst)


def count(database: Database, costs: Costs, analyst: str) -> None:
    """One more question, if the rules of every data set allow it."""
    for dataset, units in costs.items():
        rules, rows = rules_of(database, dataset), rows_for(database, dataset)
        if not any(_is_enough(rows[unit], size, delta, rules.parts) for unit, (size, delta) in units.items()):
            unit, (size, delta) = next(iter(units.items()))
            least = loss_of(rows[unit], -(-rows[unit]["size"] // rules.parts), 0)
            raise ChargeTooSmall(dataset, loss_of(rows[unit], size, delta), least)
        place = {"dataset": dataset, "analyst": analyst}
        known = database.execute(
            "SELECT questions FROM standing WHERE dataset = :dataset AND analyst = :analyst", place
        ).fetchone()
        if known is not None and known["questions"] >= rules.questions:
            raise TooManyQuestions(dataset, analyst, rules.questions)
        _add(database, dataset, analyst, questions=1)


def trip(
    database: Database, datasets: Iterable[str], analyst: str, charge: int | None
) -> tuple[int, DatasetClosed | None]:
    """Write a failure down; the number of its entry, and what to show instead if it must not be shown.

    Of questions that were under way when their analyst was stopped, nobody hears whether they failed: they count for
    nothing, and what is shown is what an answer would be replaced by (`admit`). The owner finds them in the journal.
    """
    names, who = sorted({stable_name("dataset", name) for name in datasets}), somebody(analyst)
    body = {"datasets": names, "analyst": who, "charge": charge}
    try:
        admit(database, names, who)
    except DatasetClosed as closed:
        return append(database, "failure", {**body, "withheld": True}), closed
    for dataset in names:
        _add(database, dataset, who, failures=1)
    return append(database, "failure", body), None


def reopen(database: Database, dataset: str) -> None:
    """Forget the failures so far, for the breaker; the journal keeps them."""
    rows_for(database, dataset)  # says if there is no such data set
    database.execute("UPDATE standing SET failures = 0 WHERE dataset = :dataset", {"dataset": dataset})
    append(database, "reopen", {"dataset": dataset})


def _add(database: Database, dataset: str, analyst: str, *, questions: int = 0, failures: int = 0) -> None:
    row = {"dataset": dataset, "analyst": analyst, "questions": questions, "failures": failures}
    more = (
        "UPDATE standing SET questions = questions + :questions, failures = failures + :failures "
        "WHERE dataset = :dataset AND analyst = :analyst"
    )
    if database.execute(more, row).rowcount == 0:
        database.execute("INSERT INTO standing VALUES (:dataset, :analyst, :questions, :failures)", row)


def _is_enough(row: Any, size: int, delta: int, parts: int) -> bool:
    """Whether a cost is a large enough part of an allowance. Nothing at all is the cost of what reads no data.

    The billionth is the slack that allowances have.
    """
    slack = Fraction(10**9 + 1, 10**9)
    costs = ((size, row["size"]), (delta, row["delta"]))
    return size == delta == 0 or any(cost * parts * slack >= allowed > 0 for cost, allowed in costs)
