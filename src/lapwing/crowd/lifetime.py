"""A lifetime budget: a ledger on a person's own device, so that all reports together cost no more than was promised.

    charge the period (durable) → look at the answer → randomise → keep the report (durable) → send it

A group of questions costs a fixed charge in every period in which one of them is asked, whatever is answered and
whether there is an answer. What is not used is not saved up. Within a period a question has one report: asking again
sends it again. When the allowance is used up, reports go on, of the same protocol and the same length. They are drawn
for no answer (None), so they say nothing. Silence cannot tell anything, because there is none.

Privacy: any two whole histories of one person's answers are alike within e^allowance, also for somebody who sees every
report and chooses each question after seeing the reports before. See lifetime.md for what an observer does see.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from fractions import Fraction
from typing import Any

from lapwing import checks
from lapwing.calls import Helpful
from lapwing.checks import Number
from lapwing.crowd.protocol import Protocol, as_protocol
from lapwing.errors import InvalidParameter, LedgerDamaged
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy import PureDP
from lapwing.privacy.allowances import stable_name
from lapwing.privacy.journal import Database
from lapwing.privacy.store import IN_USE, PATIENCE, FileStore

TOTAL = ""
"""The name of the promise about everything together."""

NO_ANSWER = None
"""What every device says that has nothing left to say: fixed, public, an answer that every protocol takes."""

_LATEST = (1 << 63) - 1
"""The last period that SQLite can count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionGroup(metaclass=Helpful):
    """Questions whose answers tell about each other. They share one charge per period, because their losses add up.

    Args:
        name: The name of the group, which must stay the same.
        questions: The names of its questions.
        charge: The epsilon that is spent in every period in which one of the questions is asked.
        allowance: The largest epsilon that the group may cost in a lifetime. None if only the policy limits it.

    Raises:
        InvalidParameter: If charge or allowance is not positive, if charge exceeds allowance, or if a name is not a
            text.

    >>> QuestionGroup(name="health", questions=["smokes", "drinks"], charge=1).name
    'health'
    """

    name: str
    questions: Iterable[str]
    charge: Number
    allowance: Number | None = None
    _charge: Fraction = field(init=False, repr=False, compare=False)
    _allowance: Fraction | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        listed = [self.questions] if isinstance(self.questions, str) else _listed("questions", self.questions)
        names = tuple(stable_name("questions", question) for question in listed)
        allowance = None if self.allowance is None else checks.positive(allowance=self.allowance)
        charge = checks.positive(charge=self.charge)
        if allowance is not None:
            _check_charge(charge, allowance)
        for name, value in (("questions", names), ("_charge", charge), ("_allowance", allowance)):
            object.__setattr__(self, name, value)
        stable_name("name", self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class LifetimePolicy(metaclass=Helpful):
    """What a collector promises to every device: public, the same for everybody, fixed before the first answer.

    Args:
        allowance: What all answers of one person may cost together, for ever: a `PureDP` of the relation replace.
        period: How long a period is, at least a second. A group is charged once in a period.
        groups: The groups of questions. Each question is in one group.

    Raises:
        InvalidParameter: If allowance is not a `PureDP` of the relation "replace", if period is shorter than a second,
            if a group or a question is named twice, or if a charge exceeds its allowance.

    >>> policy = LifetimePolicy(
    ...     allowance=PureDP(8, relation="replace"),
    ...     period=timedelta(days=1),
    ...     groups=[QuestionGroup(name="banners", questions=["shown", "dismissed"], charge=2)],
    ... )
    >>> policy.periods()
    4
    """

    allowance: PureDP
    period: timedelta
    groups: Iterable[QuestionGroup]

    def __post_init__(self) -> None:
        if not isinstance(self.allowance, PureDP) or self.allowance.relation != "replace":
            why = "must be a PureDP of the relation replace: reports do not hide who takes part"
            hint = "Write PureDP(8, relation='replace')."
            raise InvalidParameter("allowance", self.allowance, why, hint)
        if not isinstance(self.period, timedelta) or self.period < timedelta(seconds=1):
            why = "must be a timedelta of a second or more"
            raise InvalidParameter("period", self.period, why, "Write timedelta(days=1).")
        groups = tuple(_listed("groups", self.groups))
        if not all(isinstance(group, QuestionGroup) for group in groups):
            hint = "Write [QuestionGroup(name='banners', questions=['shown'], charge=2)]."
            raise InvalidParameter("groups", f"<{type(self.groups).__name__}>", "must be groups of questions", hint)
        questions = [question for group in groups for question in group.questions]
        if not questions or len(set(questions)) < len(questions) or len({group.name for group in groups}) < len(groups):
            why = "must name at least one question, each question once and each group once"
            hint = "Put questions that tell about each other into one group."
            raise InvalidParameter("groups", [group.name for group in groups], why, hint)
        for group in groups:
            _check_charge(group._charge, self.allowance.epsilon)
        object.__setattr__(self, "groups", groups)

    def group_of(self, question: str) -> QuestionGroup:
        """The group that a question belongs to.

        Args:
            question: The name of the question.

        Returns:
            Its group.

        Raises:
            InvalidParameter: If no group names the question.

        >>> rides = QuestionGroup(name="travel", questions=["to work"], charge=1)
        >>> policy = LifetimePolicy(allowance=PureDP(2, relation="replace"), period=timedelta(days=7), groups=[rides])
        >>> policy.group_of("to work").name
        'travel'
        """
        for group in self.groups:
            if question in group.questions:
                return group
        why = "is in no group of the policy, so its loss could not be charged"
        raise InvalidParameter("question", question, why, "Name it in one of the groups.")

    def period_at(self, seconds: float) -> int:
        """The number of the period at a time: the same on all devices.

        Args:
            seconds: The time, in seconds since 1970.

        Returns:
            How many whole periods have passed.

        >>> rides = QuestionGroup(name="travel", questions=["to work"], charge=1)
        >>> policy = LifetimePolicy(allowance=PureDP(2, relation="replace"), period=timedelta(days=7), groups=[rides])
        >>> policy.period_at(8 * 24 * 3600)  # eight days after the first of January 1970
        1
        """
        return timedelta(seconds=seconds) // self.period

    def periods(self) -> int:
        """How many periods all allowances last if every group is asked in each.

        Returns:
            A number of periods, rounded down.
        """
        together = self.allowance.epsilon / sum(group._charge for group in self.groups)
        alone = [group._allowance / group._charge for group in self.groups if group._allowance is not None]
        return int(min([together, *alone]))


class DeviceFile(FileStore):
    """The SQLite file on the device. It holds what was sent and what it cost: nothing that the collector lacks."""

    __slots__ = ()

    statements = (
        "CREATE TABLE promise (name TEXT PRIMARY KEY, allowance TEXT NOT NULL, spent TEXT NOT NULL)",
        "CREATE TABLE member (question TEXT PRIMARY KEY, grouped TEXT NOT NULL)",
        "CREATE TABLE charge (grouped TEXT, period INTEGER, epsilon TEXT NOT NULL, used TEXT NOT NULL,"
        " PRIMARY KEY (grouped, period))",
        "CREATE TABLE answer (question TEXT, protocol TEXT, period INTEGER, report BLOB,"
        " PRIMARY KEY (question, protocol, period))",
    )
    layout = frozenset(statements)

    def forget(self) -> None:
        """Delete every report, and leave no free page behind. What was spent, and in which periods, stays."""
        import sqlite3

        with self.transaction() as database:
            database.execute("PRAGMA secure_delete = ON")
            query = "UPDATE answer SET report = NULL WHERE report IS NOT NULL RETURNING 1"
            if not list(database.execute(query)):
                return
        with IN_USE, closing(sqlite3.connect(self.path, timeout=PATIENCE)) as connection:
            connection.execute("VACUUM")


class Lifetime(metaclass=Helpful):
    """The lifetime budget of one person's device, for all questions of one collector.

    Call `report` on a schedule that does not depend on answers: in every period for every question, with None when
    there is nothing to say. Any number of threads and processes may use one file.

    Privacy: Σ losses ≤ the policy's allowance, for ever; per group ≤ the group's.
    Proof: lifetime.md

    Args:
        policy: What was promised. A later policy for the same file may promise more protection, never less.
        path: The SQLite file on the device; made if it does not exist. If it is lost, so is the account of what was
            spent.

    Raises:
        InvalidParameter: If policy is not a `LifetimePolicy`, if it allows more than this device was promised before,
            or if it moves a question to another group.

    >>> import tempfile
    >>> from lapwing.crowd import UnaryEncoding
    >>> from lapwing.crowd.lifetime import LifetimePolicy, QuestionGroup
    >>> rides = QuestionGroup(name="travel", questions=["to work"], charge=1)
    >>> policy = LifetimePolicy(allowance=PureDP(2, relation="replace"), period=timedelta(days=7), groups=[rides])
    >>> device = Lifetime(policy, tempfile.mkdtemp() + "/lifetime.db")
    >>> poll = UnaryEncoding.from_epsilon(epsilon=1, domain=["bus", "bike", "car"])
    >>> sent = [device.report("to work", "bike", poll, period=week) for week in (1, 1, 2, 3, 4)]
    >>> len(set(map(len, sent))), sent[0] == sent[1]
    (1, True)
    >>> print(device.remaining())
    ε = 0 (replace, per person)
    """

    __slots__ = ("_file", "policy")

    def __init__(self, policy: LifetimePolicy, path: str | os.PathLike[str]) -> None:
        hint = "Write LifetimePolicy(allowance=…, period=…, groups=[…])."
        checks.of_kind(LifetimePolicy, "is not a policy", hint, policy=policy)
        self.policy = policy
        self._file = DeviceFile(path, None)
        self._file.create(allowed=True)
        with self._file.transaction() as database:
            self._file.check(database)
            self._promise(database)

    def __repr__(self) -> str:
        return f"Lifetime({self._file.name!r})"

    def report(
        self, question: str, value: Any, protocol: Protocol, *, period: int | None = None, entropy: Entropy = SYSTEM
    ) -> bytes:
        """The bytes to send for a question in a period. Asking again in the period gives the same bytes.

        Errors are about the question and the protocol, which are public; no answer raises one.

        Args:
            question: The name of the question.
            value: The true answer; None if there is none.
            protocol: What the answer is randomised with. It may cost at most the charge of the group.
            period: The number of the period; None for the present one.
            entropy: Source of random bits. Only tests should use another than the system's.

        Returns:
            One report as bytes. If the budget is used up it was drawn for no answer, and has the same length.

        Raises:
            InvalidParameter: If no group names the question, or if the protocol costs more than the charge of the
                group.
            LedgerDamaged: If the file lost the report while it was being made.
        """
        group = self.policy.group_of(question)
        cost = self._cost(group, protocol)

        def drawn(truthful: bool) -> bytes:
            return protocol.randomize([value if truthful else NO_ANSWER], entropy).to_bytes()

        return self._once(group, {"question": question, "protocol": protocol.fingerprint.hex()}, cost, period, drawn)

    def message(
        self, question: str, name: str, encoder: Callable[[bool], bytes], *, period: int | None = None
    ) -> bytes:
        """The bytes to send in a period if they are not a report of a local protocol.

        They cost the whole charge of the group. What such bytes tell is for the caller to prove.

        Args:
            question: The name of the question.
            name: Says what kind of bytes they are; it takes the place of the protocol.
            encoder: Makes the bytes. `encoder(True)` may look at an answer, and is called once at most.
                `encoder(False)` must look like it and say nothing.
            period: The number of the period; None for the present one.

        Returns:
            The bytes: the same when asked again in the period.

        Raises:
            InvalidParameter: If no group names the question.
            LedgerDamaged: If the file lost the bytes while they were being made.

        >>> import tempfile
        >>> from lapwing.noise import bernoulli
        >>> rides = QuestionGroup(name="travel", questions=["to work"], charge=1)
        >>> policy = LifetimePolicy(allowance=PureDP(2, relation="replace"), period=timedelta(days=7), groups=[rides])
        >>> device = Lifetime(policy, tempfile.mkdtemp() + "/lifetime.db")
        >>> def coin(may_answer):  # the answer is yes; ln(0.73/0.27) is less than the charge
        ...     return bytes([bernoulli(0.73 if may_answer else 0.5)])
        >>> device.message("to work", "coin", coin, period=1) == device.message("to work", "coin", coin, period=1)
        True
        """
        group = self.policy.group_of(question)
        return self._once(group, {"question": question, "protocol": name}, group._charge, period, encoder)

    def _once(
        self,
        group: QuestionGroup,
        place: dict[str, Any],
        cost: Fraction,
        period: int | None,
        encoder: Callable[[bool], bytes],
    ) -> bytes:
        """The bytes that are kept for a place, or those that are made now and kept."""
        now = self.policy.period_at(time.time()) if period is None else checks.whole(minimum=0, period=period)
        place = {**place, "period": min(now, _LATEST)}
        with self._file.transaction() as database:
            kept = database.execute(f"SELECT report FROM answer WHERE {_HERE}", place).fetchone()
            truthful = kept is None and self._charged(database, place, group, cost)
        if kept is not None and kept["report"] is not None:
            return bytes(kept["report"])
        # Who began here and never ended has burnt the charge: an answer is looked at once, or a crash could tell of it.
        fresh = encoder(truthful)
        with self._file.transaction() as database:  # another process may have been faster: the first report counts
            update = f"UPDATE answer SET report = :report WHERE report IS NULL AND {_HERE}"
            database.execute(update, {**place, "report": fresh})
            kept = database.execute(f"SELECT report FROM answer WHERE {_HERE}", place).fetchone()
        if kept is None:
            raise LedgerDamaged(self._file.name, "a report that was paid for a moment ago")
        return bytes(kept["report"])

    def forget(self) -> None:
        """Delete the reports that were kept, for a person who leaves. What was spent stays spent.

        Asking again for an earlier period gives a report that is drawn for no answer.

        >>> import tempfile
        >>> from lapwing.crowd import UnaryEncoding
        >>> rides = QuestionGroup(name="travel", questions=["to work"], charge=1)
        >>> policy = LifetimePolicy(allowance=PureDP(2, relation="replace"), period=timedelta(days=7), groups=[rides])
        >>> device = Lifetime(policy, tempfile.mkdtemp() + "/lifetime.db")
        >>> poll = UnaryEncoding.from_epsilon(epsilon=1, domain=["bus", "bike", "car"])
        >>> report = device.report("to work", "bike", poll, period=1)
        >>> device.forget()
        >>> print(device.spent())
        ε = 1 (replace, per person)
        """
        self._file.forget()

    def spent(self, group: str | None = None) -> PureDP:
        """What was charged so far.

        Args:
            group: The name of a group; None for everything together.

        Returns:
            The sum of all charges.

        Raises:
            InvalidParameter: If the policy has no such group.

        >>> import tempfile
        >>> from lapwing.crowd import UnaryEncoding
        >>> rides = QuestionGroup(name="travel", questions=["to work"], charge=1)
        >>> policy = LifetimePolicy(allowance=PureDP(2, relation="replace"), period=timedelta(days=7), groups=[rides])
        >>> device = Lifetime(policy, tempfile.mkdtemp() + "/lifetime.db")
        >>> poll = UnaryEncoding.from_epsilon(epsilon=1, domain=["bus", "bike", "car"])
        >>> report = device.report("to work", "bike", poll, period=1)
        >>> print(device.spent("travel"))
        ε = 1 (replace, per person)
        """
        return self._loss(self._row(group)[1])

    def remaining(self, group: str | None = None) -> PureDP:
        """What may still be charged.

        Args:
            group: The name of a group, for what its own allowance and the total both leave. None for the total.

        Returns:
            What is left.

        Raises:
            InvalidParameter: If the policy has no such group.
        """
        left = [allowance - spent for allowance, spent in (self._row(None), self._row(group))]
        return self._loss(max(min(left), Fraction(0)))

    def _promise(self, database: Database) -> None:
        """Write down what is promised; a policy that comes later may promise more protection, never less."""
        for group in self.policy.groups:
            for question in group.questions:
                member = {"question": question, "grouped": group.name}
                database.execute("INSERT OR IGNORE INTO member VALUES (:question, :grouped)", member)
        for question, grouped in database.execute("SELECT * FROM member"):
            if any(question in group.questions and group.name != grouped for group in self.policy.groups):
                why = f"puts {question!r} into another group, where its past would not count"
                raise InvalidParameter("policy", f"<{grouped}>", why, "Leave a question in its group.")
        promised = {group.name: self._ceiling(group) for group in self.policy.groups}
        for name, allowance in {TOTAL: self.policy.allowance.epsilon, **promised}.items():
            row = database.execute("SELECT * FROM promise WHERE name = :name", {"name": name}).fetchone()
            if row is not None and Fraction(row["allowance"]) < allowance:
                why = f"allows more than the {row['allowance']} that this device was promised before"
                raise InvalidParameter("policy", str(allowance), why, "An allowance can only be lowered.")
            change = (
                "INSERT INTO promise VALUES (:name, :allowance, '0')"
                if row is None
                else "UPDATE promise SET allowance = :allowance WHERE name = :name"
            )
            database.execute(change, {"name": name, "allowance": str(allowance)})

    def _ceiling(self, group: QuestionGroup) -> Fraction:
        total = self.policy.allowance.epsilon
        return total if group._allowance is None else min(group._allowance, total)

    def _cost(self, group: QuestionGroup, protocol: Protocol) -> Fraction:
        loss = as_protocol(protocol).privacy_loss()
        if loss.unit != self.policy.allowance.unit or loss.relation != "replace":
            raise InvalidParameter("protocol", str(loss), "protects another unit than the policy", "Use the same unit.")
        if loss.epsilon > group._charge:
            why = f"costs more than the charge {group._charge} of a period, so no answer could ever be sent"
            raise InvalidParameter("protocol", str(loss), why, "Raise the charge of the group, or lower epsilon.")
        return loss.epsilon

    def _charged(self, database: Database, place: dict[str, Any], group: QuestionGroup, cost: Fraction) -> bool:
        """Pay for a new report, or find that it must say nothing. No answer is known here."""
        here = {"grouped": group.name, "period": place["period"]}
        row = database.execute("SELECT * FROM charge WHERE grouped = :grouped AND period = :period", here).fetchone()
        if row is None and _spend(database, (TOTAL, group.name), group._charge):
            row = {"epsilon": str(group._charge), "used": "0"}
            database.execute("INSERT INTO charge VALUES (:grouped, :period, :epsilon, :used)", {**here, **row})
        truthful = row is not None and Fraction(row["used"]) + cost <= Fraction(row["epsilon"])
        if row is not None and truthful:
            used = {**here, "used": str(Fraction(row["used"]) + cost)}
            database.execute("UPDATE charge SET used = :used WHERE grouped = :grouped AND period = :period", used)
        database.execute("INSERT INTO answer VALUES (:question, :protocol, :period, NULL)", place)
        return truthful

    def _row(self, group: str | None) -> tuple[Fraction, Fraction]:
        name = TOTAL if group is None else group
        with self._file.transaction(write=False) as database:
            row = database.execute("SELECT * FROM promise WHERE name = :name", {"name": name}).fetchone()
        if row is None:
            known = ", ".join(member.name for member in self.policy.groups)
            raise InvalidParameter("group", group, "is not a group of the policy", f"Write one of: {known}.")
        return Fraction(row["allowance"]), Fraction(row["spent"])

    def _loss(self, epsilon: Fraction) -> PureDP:
        return PureDP(epsilon, relation="replace", unit=self.policy.allowance.unit)


def _listed(name: str, values: Any) -> list[Any]:
    if not hasattr(values, "__iter__"):
        raise InvalidParameter(name, f"<{type(values).__name__}>", "must be a list", f"Write {name}=[…].")
    return list(values)


def _check_charge(charge: Fraction, allowance: Fraction) -> None:
    if charge > allowance:
        why = f"is more than the allowance {float(allowance):g}, so no answer could ever be sent"
        raise InvalidParameter("charge", float(charge), why, "Lower the charge, or raise the allowance.")


_HERE = "question = :question AND protocol = :protocol AND period = :period"


def _spend(database: Database, names: tuple[str, ...], charge: Fraction) -> bool:
    """Charge every promise named, or none of them."""
    rows = [database.execute("SELECT * FROM promise WHERE name = :name", {"name": name}).fetchone() for name in names]
    totals = [Fraction(row["spent"]) + charge for row in rows]
    if any(total > Fraction(row["allowance"]) for total, row in zip(totals, rows, strict=True)):
        return False
    for name, total in zip(names, totals, strict=True):
        database.execute("UPDATE promise SET spent = :spent WHERE name = :name", {"name": name, "spent": str(total)})
    return True
