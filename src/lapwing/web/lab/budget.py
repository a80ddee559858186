"""What may be spent on a table of the lab, and what was: a ledger file for each promise, and one of them in force.

A new promise needs a new ledger, because an allowance in a ledger only falls. The new one is built *completely*, with
everything that was spent before charged to it, while the old one stays in force. Then the old one is closed, and one
assignment puts the new one in force. So at every moment, and after every failure (a full disk, a kill), the ledger in
force has counted every release: a failure may burn budget, it never gives any back.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import lapwing as lw
from lapwing.privacy import Ledger, Loss
from lapwing.privacy.quotes import after
from lapwing.web.lab.statement import DATASET, Statement
from lapwing.web.service.problems import Problem

MOST_TRIES = 20
"""How often a release may come between before a change is given up."""


@dataclass(frozen=True, slots=True)
class Promise:
    """A statement and the ledger that counts what is spent under it."""

    statement: Statement
    book: Path


@dataclass(eq=False)
class Budget:
    """The budget of one table. Reading it never waits for a change and never fails because of one."""

    folder: Path
    in_force: Promise | None = None
    """Replaced by one assignment: whoever reads it has a statement with its complete ledger, old or new."""
    _number: int = 0
    _closed: Promise | None = None
    """The promise whose ledger was closed last. If it is still in force, a change failed half-way."""
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def ledger(self) -> Ledger:
        """The ledger in force."""
        assert self.in_force is not None
        return Ledger(self.in_force.book, create=False)

    def state(self, statement: Statement) -> None:
        """Promise this from now on. Nothing that was spent is given back.

        Privacy: after the first charge the unit is fixed, because a loss per row bounds nothing for a person, and the
        allowance only falls; teaching mode, which promises nothing, may raise it, and what was spent stays spent.
        """
        with self._lock:
            if self.in_force is not None and self.in_force is self._closed:
                self._switch(self.in_force, self._built(self.in_force.statement, self._close(self.in_force)))
            before = self.in_force
            if before is None:
                self.in_force = self._built(statement, None)
            elif _same(before.statement, statement):
                self.in_force = Promise(statement, before.book)
            else:
                self._change(statement)

    def start_over(self) -> Loss | None:
        """A new budget, by the owner's word; what was spent from the old one, if there was one."""
        with self._lock:
            if self.in_force is None:
                return None
            fresh = self._built(self.in_force.statement, None)
            spent = self._close(self.in_force)
            self._switch(self.in_force, fresh)
            return spent

    def end(self) -> None:
        """There is nothing to spend any more."""
        with self._lock:
            self.in_force = None

    def _change(self, after: Statement) -> None:
        for _ in range(MOST_TRIES):
            assert self.in_force is not None
            before, spent = self.in_force, self.ledger.spent(DATASET)
            if size_of(spent) > (0, 0):
                _allowed(before.statement, after, spent)
                if not _larger(before.statement, after) and bool(after.delta) == bool(before.statement.delta):
                    self.ledger.open(DATASET, after.allowance)  # one durable step, downwards
                    self.in_force = Promise(after, before.book)
                    return
            fresh = self._built(after, spent)
            if (closed := self._close(before)) == spent:
                self._switch(before, fresh)
                return
            # A release was faster than the closing: it counts, and the old promise goes on until the next try.
            self._switch(before, self._built(before.statement, closed))
        raise Problem(409, "Answers are being released now. Wait until they are finished, then try again.")

    def _built(self, statement: Statement, spent: Loss | None) -> Promise:
        """A complete ledger, in which what was spent before is charged; not yet in force."""
        self._number += 1  # also after a failure: what it left behind is never taken for a ledger of ours
        promise = Promise(statement, self.folder / f"ledger-{self._number}.db")
        ledger = Ledger(promise.book)
        ledger.open(DATASET, statement.allowance)
        if spent is not None and size_of(spent) > (0, 0):
            size, delta = size_of(spent)
            least = Fraction(statement.epsilon) / ledger.rules(DATASET).parts  # less than that is no charge
            unit, size = statement.unit_word, max(size, least)
            ledger.charge(DATASET, lw.ApproxDP(size, delta, unit=unit) if delta else lw.PureDP(size, unit=unit))
        return promise

    def _switch(self, before: Promise, fresh: Promise) -> None:
        """Put a complete ledger in force; what failed before still has to be looked at."""
        ledger = Ledger(fresh.book, create=False)
        for failure in Ledger(before.book, create=False).failures(DATASET):
            ledger.trip([DATASET], failure.said or "", analyst=failure.analyst)
        self.in_force = fresh

    def _close(self, promise: Promise) -> Loss:
        """Nothing can be charged to its ledger any more; what was spent from it, for good."""
        self._closed, unit = promise, promise.statement.unit_word
        ledger = Ledger(promise.book, create=False)
        ledger.open(DATASET, lw.ApproxDP(0, 0, unit=unit) if promise.statement.delta else lw.PureDP(0, unit=unit))
        return ledger.spent(DATASET)


def size_of(loss: Loss) -> tuple[Any, Any]:
    """Epsilon and delta of a loss as the ledger of a table counts it."""
    return loss.epsilon, getattr(loss, "delta", 0)  # type: ignore[attr-defined]


def covers(left: Loss, epsilon: float) -> bool:
    """Whether the ledger would let this much be spent: its own rule, with the rounding that it allows."""
    return after(left, lw.PureDP(epsilon, unit=left.unit)) is not None


def _same(statement: Statement, other: Statement) -> bool:
    return statement.allowance == other.allowance and whose(statement) == whose(other)


def _larger(before: Statement, after: Statement) -> bool:
    return after.epsilon > before.epsilon or after.delta > before.delta


def _allowed(before: Statement, after: Statement, spent: Loss) -> None:
    """Refuse what may not follow once something was spent."""
    if whose(after) != whose(before):
        why = f"Answers were released already, with a guarantee per {before.unit_word}. Start over to change that."
        raise Problem(409, why)
    if _larger(before, after) and not after.teaching:
        why = "Something was spent already, so the allowance can only become smaller. Start over to set a new one."
        raise Problem(409, why)
    size, delta = size_of(spent)
    changes_kind = bool(after.delta) != bool(before.delta)
    if (_larger(before, after) or changes_kind) and (size > after.epsilon or delta > after.delta):
        raise Problem(409, f"You have already spent {spent}, which is more than this. Allow at least as much.")


_READ_BY = {
    **dict.fromkeys(("number", "integer"), ("decimal", "thousands")),
    "date": ("decimal",),
    "boolean": ("true", "false"),
}
"""What else decides which cells are the same value."""


def whose(statement: Statement) -> tuple[str, str, tuple[Any, ...]]:
    """Whose rows belong together: a column, and how its cells are read. A name alone may be that of no column."""
    kind = statement.column(statement.unit).type if statement.unit else ""
    return statement.unit, kind, tuple(getattr(statement, name) for name in _READ_BY.get(kind, ()))
