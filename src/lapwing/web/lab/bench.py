"""Data sets of browsers: each in a folder of its own, for two hours after it was last used, and for nobody else.

A route of the lab takes the bench of the address; whoever did not bring it gets the answer for what does not exist:

    @router.post("/lab/{id}/ask")
    def ask(bench: TheBench, site: TheSite, …) -> Response:
        bench.stated                       # the Statement; a Problem(409) that leads to /lab/{id} before there is one
        bench.remaining, bench.spent       # Loss
        data = bench.data()                # for release: charged to bench.ledger
        bench.teach()  # Problem(403) outside teaching mode; before exact, draws, data(charged=False)
        job = site.lab.jobs.start(bench.id, work, where=f"/lab/{bench.id}/ask")
        bench.keep(Answer(…))              # a private Result only; bench.answers lists them for export

Nothing that is in a table, nor what its file or its columns are called, is ever logged.
"""

from __future__ import annotations

import hashlib
import shutil
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Request

import lapwing as lw
from lapwing.privacy import Ledger, Loss
from lapwing.web.lab.analysis import Data
from lapwing.web.lab.intake import Found
from lapwing.web.lab.jobs import Job, Jobs
from lapwing.web.lab.proposals import Proposal
from lapwing.web.lab.result import Result
from lapwing.web.lab.statement import DATASET, Statement
from lapwing.web.problems import Problem
from lapwing.web.sessions import cookie_name
from lapwing.web.settings import Settings
from lapwing.web.site import TheSite

COOKIE = "lapwing-lab"
MOST_ANSWERS = 200
"""Answers of one bench that are kept for export; the oldest go first."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A private answer with what was asked, kept until the bench is deleted so that it can be exported."""

    slug: str
    title: str
    asked: dict[str, Any]
    """What was typed: `Analysis.of(statement, asked)` makes the question again."""
    epsilon: float
    result: Result
    script: str = ""
    at: float = field(default_factory=time.time)


@dataclass(eq=False)
class Bench:
    """One data set of one browser."""

    id: str
    owner: str
    folder: Path
    title: str
    """What the page calls it: shown to its owner only."""
    jobs: Jobs
    lasts: float
    """Seconds that it is kept without being used."""
    columns: tuple[Found, ...] = ()
    """What intake found, by the header or the schema alone."""
    notes: tuple[str, ...] = ()
    """What intake did to the file, for the describe page."""
    delimiter: str = ""
    """What separates the cells in the file: a script that reads it again has to know."""
    suggested: Statement | None = None
    """A statement to begin with, where there is a good one."""
    proposals: dict[str, Proposal] = field(default_factory=dict)
    """Bounds and keys that were found since the form was last saved, by column."""
    read_from_data: dict[str, tuple[tuple[float, float] | None, tuple[str, ...]]] = field(default_factory=dict)
    """Bounds and keys that teaching mode read from the data, by column: outside it they may not be stated."""
    intake: Job | None = None
    asks_encoding: bool = False
    """Whether intake waits for its owner to say that the text is Latin-1."""
    statement: Statement | None = None
    answers: list[Answer] = field(default_factory=list)
    earlier: list[str] = field(default_factory=list)
    """What was spent before each time the owner started over: it still counts in the world."""
    deleted: bool = False
    used: float = field(default_factory=time.monotonic)
    _books: int = 0
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def path(self) -> Path:
        """The rows, as a Parquet file."""
        return self.folder / "table.parquet"

    @property
    def ready(self) -> bool:
        """Whether the rows are there: intake is done."""
        return bool(self.columns) and self.path.is_file()

    @property
    def stated(self) -> Statement:
        """What is stated, or a refusal that says where to state it."""
        if self.statement is None:
            raise Problem(409, "First say what is public about the table.", instead=f"/lab/{self.id}")
        return self.statement

    @property
    def ledger(self) -> Ledger:
        """Who keeps count. The statement comes first: it says what may be spent."""
        self.stated  # noqa: B018 - refuses where there is none
        return Ledger(self._book, create=False)

    @property
    def spent(self) -> Loss:
        """What was spent since the owner last started over."""
        return self.ledger.spent(DATASET)

    @property
    def remaining(self) -> Loss:
        """What may still be spent."""
        return self.ledger.remaining(DATASET)

    @property
    def any_spent(self) -> bool:
        """Whether something was spent: from then on a unit is fixed."""
        return self.statement is not None and _size(self.spent) > (0, 0)

    def data(self, charged: bool = True) -> Data:
        """The rows with the ledger, or, in teaching mode, without."""
        if not charged:
            self.teach()
        with self._lock:  # what is stated and the ledger that counts it belong together
            return Data(self.path, self.stated, self.ledger if charged else None)

    def teach(self) -> None:
        """Refuse what only teaching mode may do."""
        if not self.stated.teaching:
            why = "This shows what is in the table. Switch on teaching mode if you may see that anyway."
            raise Problem(403, why, instead=f"/lab/{self.id}#teaching")

    def state(self, statement: Statement) -> None:
        """State this from now on. Nothing that was spent is given back.

        Privacy: after the first charge the unit is fixed, because a loss per row bounds nothing for a person, and the
        allowance only falls; teaching mode, which promises nothing, may raise it, and what was spent stays spent.
        """
        with self._lock:
            if self.statement is None:
                self._open(statement, None)
            elif statement.allowance != self.statement.allowance or _whose(statement) != _whose(self.statement):
                self._reopen(self.statement, statement)
            self.statement = statement

    def start_over(self) -> None:
        """A new budget, by the owner's word: the answers go, what they cost stays in `earlier`."""
        with self._lock:
            self.answers.clear()
            if (stated := self.statement) is not None:
                if _size(spent := self._close(stated)) > (0, 0):
                    self.earlier.append(str(spent))
                self._open(stated, None)

    def keep(self, answer: Answer) -> None:
        """Remember a private answer; an exact one is refused."""
        if not answer.result.private:
            raise ValueError("an exact answer is never kept")
        with self._lock:
            self.answers.append(answer)
            del self.answers[:-MOST_ANSWERS]

    def propose(self, column: str, found: Proposal) -> None:
        """Put what was found into the form, and remember of each part whether it was read from the data."""
        with self._lock:
            bounds, keys = self.read_from_data.get(column, (None, ()))
            own = (None, ()) if found.private else (found.bounds, found.keys)
            bounds = own[0] if found.bounds else bounds
            keys = own[1] if found.keys else keys
            self.read_from_data[column] = bounds, keys
            self.proposals[column] = found

    def touch(self) -> None:
        """It is in use."""
        self.used = time.monotonic()

    @property
    def expires(self) -> float:
        """When it is deleted unless it is used before: a wall clock."""
        return time.time() + self.used + self.lasts - time.monotonic()

    def delete(self) -> None:
        """Stop what is under way and remove the folder with everything in it."""
        self.deleted = True
        self.jobs.forget(self.id)
        with self._lock:
            self.answers.clear()
            self.statement = self.suggested = None
            self.columns, self.notes, self.intake = (), (), None
            self.proposals.clear()
            self.read_from_data.clear()
            shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def _book(self) -> Path:
        return self.folder / f"ledger-{self._books}.db"

    def _open(self, statement: Statement, spent: Loss | None) -> None:
        """A new ledger, with what was spent before charged at once."""
        self._books += 1
        ledger = Ledger(self._book)
        ledger.open(DATASET, statement.allowance)
        if spent is not None and _size(spent) > (0, 0):
            size, delta = _size(spent)
            ledger.charge(DATASET, spent if delta else lw.PureDP(size, unit=statement.unit_word))

    def _close(self, statement: Statement) -> Loss:
        """Nothing can be charged to the ledger any more; what was spent from it, for good."""
        ledger, unit = self.ledger, statement.unit_word
        ledger.open(DATASET, lw.ApproxDP(0, 0, unit=unit) if statement.delta else lw.PureDP(0, unit=unit))
        return ledger.spent(DATASET)

    def _reopen(self, before: Statement, after: Statement) -> None:
        spent = self.spent
        if _size(spent) == (0, 0):
            if _size(closed := self._close(before)) == (0, 0):
                self._open(after, None)
                return
            spent = closed  # somebody was faster: it counts, and what was stated before goes on
            self._open(before, spent)
        if _whose(after) != _whose(before):
            why = f"Answers were released with a promise per {before.unit_word}. Start over to promise something else."
            raise Problem(409, why)
        larger = after.epsilon > before.epsilon or after.delta > before.delta
        if larger and not after.teaching:
            why = "Something was spent already, so the allowance can only become smaller. Start over to set a new one."
            raise Problem(409, why)
        if not larger and bool(after.delta) == bool(before.delta):
            self.ledger.open(DATASET, after.allowance)
            return
        size, delta = _size(spent)
        if size > after.epsilon or delta > after.delta:
            raise Problem(409, f"You have spent {spent} already, more than that. Allow as much at least.")
        self._open(after, self._close(before))


def known_as(owner: str) -> str:
    """What is remembered of a browser's secret."""
    return hashlib.sha256(owner.encode()).hexdigest()


def owner_of(request: Request, settings: Settings) -> str:
    """The secret of the browser, or nothing."""
    return request.cookies.get(cookie_name(settings, COOKIE), "")


def bench_of(request: Request, site: TheSite) -> Bench:
    """The bench that `{id}` in the address names, if this browser brought it."""
    found = site.lab.find(owner_of(request, site.settings), request.path_params["id"])
    if found is None:
        gone = "This table is not here. It was deleted, or another browser brought it."
        raise Problem(404, gone)
    return found


TheBench = Annotated[Bench, Depends(bench_of)]


def _whose(statement: Statement) -> tuple[str, str, str]:
    """Whose rows belong together: a column, and how its cells are read. A name alone may be that of no column."""
    kind = statement.column(statement.unit).type if statement.unit else ""
    return statement.unit, kind, statement.decimal if kind not in ("", "text") else "."


def _size(loss: Loss) -> tuple[Any, Any]:
    """Epsilon and delta of a loss as the ledger of a bench counts it."""
    return loss.epsilon, getattr(loss, "delta", 0)  # type: ignore[attr-defined]
