"""Benches: the data sets of one browser, in a folder of its own, deleted two hours after the last use.

A route of the lab takes the bench of the address; whoever did not bring it gets the answer for what does not exist:

    @router.post("/lab/{id}/ask")
    def ask(bench: TheBench, site: TheSite, …) -> Response:
        bench.stated                       # the Statement; a Problem(409) that leads to /lab/{id} before there is one
        bench.remaining, bench.spent       # Loss
        data = bench.data()                # for release: charged to bench.ledger
        bench.teach()  # Problem(403) outside teaching mode; before exact, draws, data(charged=False)
        job = bench.start(work, where=f"/lab/{bench.id}/ask")
        bench.keep(Answer(…))              # a private Result only; bench.answers lists them for export

Nothing that is in a table, nor what its file or its columns are called, is ever logged.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Request

from lapwing.privacy import Ledger, Loss
from lapwing.web.lab.analysis import Data
from lapwing.web.lab.budget import Budget, Promise, size_of, whose
from lapwing.web.lab.intake import FileColumn
from lapwing.web.lab.jobs import Job, Jobs, Progress
from lapwing.web.lab.owners import owner_of
from lapwing.web.lab.parquet import Parquet
from lapwing.web.lab.proposals import Proposal
from lapwing.web.lab.provenance import Provenance
from lapwing.web.lab.result import Result
from lapwing.web.lab.scripts import PLACEHOLDER, File
from lapwing.web.lab.statement import DATASET, StatedColumn, Statement
from lapwing.web.lab.turns import Visitor
from lapwing.web.service.problems import Problem
from lapwing.web.site import TheSite

PASTED = "pasted table"
"""What a table without a file is called."""
CHANGED_UNIT = (
    "After this answer, you changed whose rows belong together, so its price says nothing now. Ask the question again."
)
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
    statement: Statement | None = None
    """What was stated when it was asked; None if nobody noted that, and then what is stated now is taken for it."""
    draws: tuple[Result, ...] = ()
    """The same question asked again for the same price, one by one."""


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
    address: str = ""
    """Where it came from: what an address holds and does is limited. In memory only, as long as the bench is there."""
    columns: tuple[FileColumn, ...] = ()
    """What intake found, by the header or the schema alone."""
    notes: tuple[str, ...] = ()
    """What intake did to the file, for the describe page."""
    delimiter: str = ""
    """What separates the cells in the file: a script that reads it again has to know."""
    encoding: str = ""
    """How the text of the file is written, if not in UTF-8: the script has to know that, too."""
    names: tuple[str, ...] = ()
    """What we call every column of the file, if not all as the file does: one more thing for the script."""
    parquet: Parquet | None = None
    """How the rows of a Parquet file were read, for the script as well."""
    code: str = ""
    """Where a bundled table comes from, as Python, for the script."""
    suggested: Statement | None = None
    """A statement to begin with, where there is a good one."""
    proposals: dict[str, Proposal] = field(default_factory=dict)
    """Bounds and keys that were found since the form was last saved, by column."""
    provenance: dict[str, Provenance] = field(default_factory=dict)
    """Bounds and keys that were read from the data or found privately, by column: the former may not be stated."""
    intake: Job | None = None
    asks_encoding: bool = False
    """Whether intake waits for its owner to say that the text is Latin-1."""
    answers: list[Answer] = field(default_factory=list)
    streams: dict[str, Any] = field(default_factory=dict)
    """Running totals, by their marks: `streams.LabStream`."""
    earlier: list[str] = field(default_factory=list)
    """What was spent before each time the owner started over: it still counts in the world."""
    deleted: bool = False
    used: float = field(default_factory=time.monotonic)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        self._budget = Budget(self.folder)

    @property
    def path(self) -> Path:
        """The rows, as a Parquet file."""
        return self.folder / "table.parquet"

    @property
    def ready(self) -> bool:
        """Whether the rows are there: intake is done."""
        return bool(self.columns) and self.path.is_file()

    @property
    def unreadable(self) -> bool:
        """Whether intake found no table in what came, or was stopped: nothing of it is left but a page that says so."""
        return self.intake is not None and not (self.intake.open or self.ready or self.asks_encoding)

    @property
    def file(self) -> File:
        """What a script reads: the very file that was brought, or one that its reader names."""
        name = PLACEHOLDER if self.code or self.title == PASTED else self.title
        return File(name, self.delimiter, self.encoding, self.names, self.code, self.parquet)

    @property
    def statement(self) -> Statement | None:
        """What is stated, if anything is."""
        promise = self._budget.in_force
        return None if promise is None else promise.statement

    @property
    def stated(self) -> Statement:
        """What is stated, or a refusal that says where to state it."""
        return self._promise().statement

    @property
    def ledger(self) -> Ledger:
        """Who keeps count. The statement comes first: it says what may be spent."""
        return Ledger(self._promise().book, create=False)

    def _promise(self) -> Promise:
        promise = self._budget.in_force
        if promise is None:
            raise Problem(409, "First say what is public about the table.", instead=f"/lab/{self.id}")
        return promise

    @property
    def spent(self) -> Loss:
        """What was spent since the owner last started over."""
        return self.ledger.spent(DATASET)

    @property
    def remaining(self) -> Loss:
        """What may still be spent."""
        return self.ledger.remaining(DATASET)

    @property
    def failed(self) -> bool:
        """Whether a question failed while rows were read, and the owner has not looked yet."""
        return self.statement is not None and bool(self.ledger.failures(DATASET))

    @property
    def any_spent(self) -> bool:
        """Whether something was spent: from then on a unit is fixed."""
        return self.statement is not None and size_of(self.spent) > (0, 0)

    def data(self, charged: bool = True, answer: Answer | None = None) -> Data:
        """The rows with the ledger, or, in teaching mode, without; as they were stated for an answer, or are now.

        Privacy: a charge is for those whose rows belong together now, so an answer about others is not drawn again.
        """
        if not charged:
            self.teach()
        promise = self._promise()  # what is stated and the ledger that counts it belong together
        statement = promise.statement if answer is None else self.stated_for(answer)
        if charged and whose(statement) != whose(promise.statement):
            raise Problem(409, CHANGED_UNIT)
        return Data(self.path, statement, Ledger(promise.book, create=False) if charged else None)

    def stated_for(self, answer: Answer) -> Statement:
        """What was stated when an answer was asked. Whether exact numbers may be shown is a matter of today's mode."""
        return replace(answer.statement or self.stated, teaching=self.stated.teaching)

    def was_read(self, columns: Iterable[StatedColumn]) -> tuple[StatedColumn, ...]:
        """Those of these columns whose bounds or keys were read from the data, which only teaching mode may use."""
        known = [(column, self.provenance.get(column.name)) for column in columns]
        return tuple(column for column, origin in known if origin and origin.is_read(column.bounds, column.keys))

    def teach(self) -> None:
        """Refuse what only teaching mode may do."""
        if not self.stated.teaching:
            why = "This shows what is in the table. Switch on teaching mode if you may see that anyway."
            raise Problem(403, why, instead=f"/lab/{self.id}#teaching")

    def state(self, statement: Statement) -> None:
        """State this from now on. Nothing that was spent is given back: budget.py says how."""
        self._budget.state(statement)

    def start_over(self) -> None:
        """A new budget, by the owner's word: the answers go, what they cost stays in `earlier`."""
        with self._lock:
            spent = self._budget.start_over()
            if spent is not None and size_of(spent) > (0, 0):
                self.earlier.append(str(spent))
            self.answers.clear()
            self.streams.clear()

    def keep(self, answer: Answer) -> None:
        """Remember a private answer; an exact one is refused."""
        if not answer.result.private:
            raise ValueError("an exact answer is never kept")
        with self._lock:
            self.answers.append(answer)
            del self.answers[:-MOST_ANSWERS]

    def keep_draw(self, answer: Answer, result: Result) -> None:
        """Remember one more private answer to the same question, beside the first one; an exact one is refused."""
        if not result.private:
            raise ValueError("an exact answer is never kept")
        with self._lock:
            for place, kept in enumerate(self.answers):
                if kept.at == answer.at:
                    self.answers[place] = replace(kept, draws=(*kept.draws, result))

    def propose(self, column: str, proposal: Proposal) -> None:
        """Put what was found into the form, and remember of each part whether it was read from the data."""
        with self._lock:
            known = self.provenance.get(column, Provenance())
            self.provenance[column] = known.after(proposal.bounds, proposal.keys, private=proposal.private)
            self.proposals[column] = proposal

    def start(self, work: Callable[[Progress], Any], *, where: str = "", title: str = "Working") -> Job:
        """Begin a piece of work about this table, in the turn of whoever brought it."""
        visitor = Visitor(self.address, self.owner)
        return self.jobs.start(self.id, work, where=where, title=title, visitor=visitor)

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
            self.streams.clear()
            self._budget.end()
            self.suggested = None
            self.columns, self.notes, self.intake = (), (), None
            self.proposals.clear()
            self.provenance.clear()
            shutil.rmtree(self.folder, ignore_errors=True)


def bench_of(request: Request, site: TheSite) -> Bench:
    """The bench that `{id}` in the address names, if this browser brought it."""
    bench = site.lab.find(owner_of(request, site.settings), request.path_params["id"])
    if bench is None:
        gone = "This table is not here. It was deleted, or another browser brought it."
        raise Problem(404, gone)
    return bench


TheBench = Annotated[Bench, Depends(bench_of)]


def limited_browser(what: str) -> Any:
    """A dependency that counts requests by the browser that brought the table: a lecture hall has one address."""

    async def counted(bench: TheBench, site: TheSite) -> None:
        site.limits.take(what, ("browser", bench.owner))

    return Depends(counted)
