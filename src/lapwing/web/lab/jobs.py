"""Background jobs: start, progress, result, and cancelling.

    def work(progress: Progress) -> Result:
        return question.release(data, epsilon, progress)

    job = bench.start(work, where=f"/lab/{bench.id}/ask", title="Releasing")

The browser then asks GET /lab/{id}/jobs/{job} for `job.told()` until the state is done, failed or cancelled. Work
calls `progress(share)` now and then, which raises once it was cancelled; a DuckDB connection that works for long stands
under `with progress.stops(connection):` and is interrupted. Nothing about a job is logged: it is for one browser.

Who begins something is heard at once and told a place in the queue. Visitors take turns (`turns.py`), and no address
has all threads at once: whoever brings forty slow files keeps their own network waiting, and nobody else.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from lapwing.errors import DatasetClosed, EngineFailed, LapwingError
from lapwing.noise.entropy import SYSTEM
from lapwing.web.lab.turns import Ending, Turns, Visitor
from lapwing.web.service.problems import Problem

State = Literal["waiting", "working", "done", "failed", "cancelled"]
AT_ONCE = 3
"""Threads that work; one address has all of them but one."""
MOST_OPEN, MOST_OPEN_ADDRESS, MOST_OPEN_BROWSER, MOST_OPEN_EACH = 1000, 500, 10, 4
"""Jobs that wait or work: of all, of one address, of one browser, of one bench."""
MOST_KEPT = 40
"""Jobs of one bench whose outcome is remembered."""
PLAIN = (
    "This did not work, and the reason is not shown because it could quote a record. "
    "Look at what you stated, then try again."
)
STOPPED = "You stopped this. What was charged before stays charged."
LONGEST = 900.0
"""Seconds that one piece of work may take a thread from the others."""
FAILED = (
    "This table answers no questions now. A question failed while it read rows, and that may depend on a row. "
    "The person who brought the table must look at /lab/{bench}/failures and reopen it."
)
"""One text, whatever failed, and for every question after that."""
TOO_LONG = "This took too long, so we stopped it. What was charged before stays charged. Bring fewer rows or columns."


class Cancelled(Exception):
    """Raised inside work that was cancelled."""


class TooLong(Cancelled):
    """Raised inside work that took longer than it may, which the rows that it reads may cause."""


class Interruptible(Protocol):
    """A DuckDB connection, as far as stopping goes."""

    def interrupt(self) -> None:
        """Stop what it does now."""


class Progress:
    """How far work is; handed to the work, which calls it with a share from 0 to 1."""

    def __init__(self) -> None:
        self.share = 0.0
        self._late = ""
        self._cancelled = threading.Event()
        self._lock = threading.Lock()
        self._working: list[Interruptible] = []

    def __call__(self, share: float) -> None:
        """So much is done. Raises `Cancelled` if nobody wants the rest, `TooLong` if nobody waits for it."""
        if self._cancelled.is_set():
            raise TooLong(self._late) if self._late else Cancelled
        self.share = max(self.share, min(1.0, share))

    def part(self, start: float, end: float) -> Part:
        """The progress of a part of the work, which covers this stretch of the whole."""
        return Part(self, start, end)

    @contextmanager
    def stops(self, connection: Interruptible) -> Iterator[None]:
        """Interrupt this connection if the work is cancelled meanwhile."""
        with self._lock:
            self._working.append(connection)
        try:
            self(self.share)
            yield
        except BaseException:
            self(self.share)  # an interrupted connection raises its own error; ours says why
            raise
        finally:
            with self._lock:
                self._working.remove(connection)

    def cancel(self, late: str = "") -> None:
        """Stop at the next occasion, and whatever DuckDB does now; `late` says that it took too long.

        Privacy: a question that takes too long fails, which the rows may cause; one that its owner stops does not. The
        first word counts, so nobody makes a failure theirs by stopping what is being stopped.
        """
        with self._lock:
            if not self._cancelled.is_set():
                self._late = late
                self._cancelled.set()
            for connection in self._working:
                getattr(connection, "stop", connection.interrupt)()


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of the progress of some work; what stops the whole stops it."""

    whole: Progress
    start: float
    end: float

    def __call__(self, share: float) -> None:
        """So much of the part is done."""
        self.whole(self.start + (self.end - self.start) * share)

    def stops(self, connection: Interruptible) -> AbstractContextManager[None]:
        """Interrupt this connection if the work is cancelled meanwhile."""
        return self.whole.stops(connection)


@dataclass(slots=True, eq=False)
class Job:
    """One piece of work of one bench."""

    id: str
    bench: str
    where: str
    """The address to go to when it is done."""
    title: str
    home: Jobs
    visitor: Visitor
    state: State = "waiting"
    result: Any = None
    error: str = ""
    progress: Progress = field(default_factory=Progress)
    ended: Ending = field(default_factory=Ending)

    @property
    def open(self) -> bool:
        """Whether it waits or works."""
        return not self.ended.is_set()

    def cancel(self) -> None:
        """Ask it to stop: it does so at its next step, or at once if it has not begun."""
        self.progress.cancel()
        self.home.leave(self)

    @property
    def place(self) -> int:
        """Which one it is in the queue, from 1; 0 once it has begun."""
        return self.home.place(self)

    def told(self) -> dict[str, Any]:
        """For the browser, without the result."""
        share = 1.0 if self.state == "done" else self.progress.share
        state = {"id": self.id, "state": self.state, "share": round(share, 3), "title": self.title, "error": self.error}
        return {**state, "where": self.where, "place": self.place}


class Jobs:
    """All jobs of one process."""

    def __init__(self, at_once: int = AT_ONCE, longest: float = LONGEST) -> None:
        self._longest, self._most_at_once = longest, max(1, at_once - 1)
        self._pool = ThreadPoolExecutor(at_once, thread_name_prefix="lapwing-lab")
        self._lock = threading.Lock()
        self._jobs: dict[str, dict[str, Job]] = {}
        self._open: dict[Job, Callable[[Progress], Any]] = {}
        """Those that wait or work, with their work."""
        self._turns: Turns[Job] = Turns()
        self._working: Counter[str] = Counter()
        """How many threads each address has."""

    def start(
        self,
        bench: str,
        work: Callable[[Progress], Any],
        *,
        where: str = "",
        title: str = "Working",
        visitor: Visitor | None = None,
    ) -> Job:
        """Begin as soon as it is its turn. `where` is the address to go to when it is done."""
        job = Job(f"{SYSTEM.bits(64):016x}", bench, where, title, self, visitor or Visitor("", bench))
        with self._lock:
            self._refuse_too_many(job)
            mine = self._jobs.setdefault(bench, {})
            for old in [job.id for job in mine.values() if not job.open][: max(0, len(mine) + 1 - MOST_KEPT)]:
                del mine[old]
            mine[job.id] = job
            self._open[job] = work
            self._turns.add(job, job.visitor)
        self._pool.submit(self._work)
        return job

    def _refuse_too_many(self, job: Job) -> None:
        who, others = job.visitor, [(other.visitor, other.bench) for other in self._open]
        if sum(bench == job.bench for _, bench in others) >= MOST_OPEN_EACH:
            raise Problem(429, "Several things are under way for this table. Wait for one of them, or stop one.")
        if sum(visitor == who for visitor, _ in others) >= MOST_OPEN_BROWSER:
            raise Problem(429, "Several things are under way for your tables. Wait for one of them, or stop one.")
        if (
            sum(visitor.address == who.address for visitor, _ in others) >= MOST_OPEN_ADDRESS
            or len(others) >= MOST_OPEN
        ):
            raise Problem(503, "The lab is very busy. Please try again in a minute.", headers={"retry-after": "60"})

    def place(self, job: Job) -> int:
        """Which one it is in the queue, from 1; 0 if it does not wait."""
        with self._lock:
            return self._turns.place(job)

    def leave(self, job: Job) -> None:
        """Take a job out of the queue if it is still there."""
        with self._lock:
            if not self._turns.remove(job):
                return
            del self._open[job]
        job.state, job.error = "cancelled", STOPPED
        job.ended.set()

    def get(self, bench: str, id: str) -> Job:
        """A job of this bench, or a `Problem`."""
        with self._lock:
            job = self._jobs.get(bench, {}).get(id)
        if job is None:
            raise Problem(404, "This piece of work is not known any more. Go back to your table.")
        return job

    def of(self, bench: str) -> list[Job]:
        """All jobs of a bench that are remembered, oldest first."""
        with self._lock:
            return list(self._jobs.get(bench, {}).values())

    def forget(self, bench: str, wait: float = 10.0) -> None:
        """Stop all jobs of a bench, wait until they did, and forget them with what came out."""
        for job in self.of(bench):
            job.cancel()
        for job in self.of(bench):
            job.ended.wait(wait)
        with self._lock:
            self._jobs.pop(bench, None)

    def close(self) -> None:
        """Stop everything."""
        with self._lock:
            benches = list(self._jobs)
        for bench in benches:
            for job in self.of(bench):
                job.cancel()
        for bench in benches:
            self.forget(bench)
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _work(self) -> None:
        """Do what is next, as long as there is something for an address that has not too many threads already.

        What has to wait because its address has enough is taken up by the thread of that address that ends first.
        """
        while True:
            with self._lock:
                job = self._turns.take(lambda address: self._working[address] < self._most_at_once)
                if job is None:
                    return
                self._working[job.visitor.address] += 1
                work = self._open[job]
            try:
                self._run(job, work)
            finally:
                with self._lock:
                    del self._open[job]
                    self._working[job.visitor.address] -= 1
                    self._working += Counter()  # forget those that have none left
                job.ended.set()

    def _run(self, job: Job, work: Callable[[Progress], Any]) -> None:
        threading.Thread(target=self._watch, args=(job,), daemon=True).start()
        try:
            job.progress(0.0)
            job.state = "working"
            job.result = work(job.progress)
            job.state = "done"
        except Cancelled as error:
            job.state, job.error = "cancelled", TOO_LONG if isinstance(error, TooLong) else STOPPED
        except (EngineFailed, DatasetClosed):
            job.state, job.error = "failed", FAILED.format(bench=job.bench)
        except LapwingError as error:
            job.state, job.error = "failed", str(error)
        except Problem as error:
            job.state, job.error = "failed", error.detail
        except Exception:
            job.state, job.error = "failed", PLAIN  # nothing is logged: a message could quote a record

    def _watch(self, job: Job) -> None:
        """Stop a job that takes too long, again and again: the first word may come before its statement began."""
        wait = self._longest
        while not job.ended.wait(wait):
            job.progress.cancel(late=f"This took longer than {self._longest:g} seconds, so we stopped it.")
            wait = 1.0
