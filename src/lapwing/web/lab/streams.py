"""Running totals of a table in the lab: its rows are brought to a stream step by step, as if they came now.

Whoever brought the table is the clock: a step is closed when they say so, or every second if they let it run. So when
a step is closed depends on no row. A stream is charged once, when it is opened; its state lies in the folder of the
table and goes with it.
"""

from __future__ import annotations

import datetime as dt
import math
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import lapwing as lw
from lapwing.curator.streams.opening import StreamQuestion
from lapwing.curator.streams.stream import Stream
from lapwing.curator.tables.table import PrivateTable
from lapwing.errors import BudgetExceeded, InvalidParameter
from lapwing.web.lab import releases
from lapwing.web.lab.analyses import forms, grouping
from lapwing.web.lab.analyses.curated import CONFIDENCE, affordable, blank, lab_notes
from lapwing.web.lab.analysis import Field
from lapwing.web.lab.bench import Bench
from lapwing.web.lab.engine import ASKING, Stoppable, connected
from lapwing.web.lab.failures import on_record
from lapwing.web.lab.jobs import Job, Progress, TooLong
from lapwing.web.lab.result import Result, Series, Value
from lapwing.web.lab.statement import StatedColumn, Statement
from lapwing.web.service.problems import Problem

EVERY = ("day", "week", "month")
MOST_STEPS = 1000
MOST_STREAMS = 5
"""Of one table, open at the same time."""
MOST_GROUPS = 12
"""Lines of one stream."""
AT_ONCE = 20
"""Steps that are closed by one commit while somebody waits."""
PACES = {"": 0.0, "slowly": 2.0, "quickly": 0.25}
"""How one lets it run, and the seconds of a step."""
WINDOWS = (0, 7, 30)
"""Steps that are added up in the picture; 0 is all of them."""
CHANGED = (
    "You have changed what is stated about the table since this stream was opened. What it has published stays; "
    "state the same again to continue, or open another stream."
)
MORE = "The table may have many more rows"
PRICES = (0.1, 0.2, 0.5, 1.0, 2.0)
"""Epsilons at which a form says how far off it will be."""


def dated(statement: Statement) -> tuple[StatedColumn, ...]:
    """The columns that say when a row happened."""
    return tuple(column for column in statement.of_type("date") if column.name != statement.unit)


def fields(statement: Statement) -> tuple[Field, ...]:
    """What a form for a stream asks."""
    january = f"{dt.date.today().year - 1}-01-01"
    nothing = ("", "no column")
    groups = tuple(column for column in grouping.usable(statement) if len(grouping.values(column)) <= MOST_GROUPS)
    entries = [
        forms.chosen("time", "Column with the date", dated(statement)),
        Field("measure", "Add up", (("count", "rows"), ("sum", "a column")), "count"),
        Field("column", "Column to add up", (nothing, *forms.choices(statement.bounded)), ""),
        Field("by", "For each", (("", "all together"), *forms.choices(groups)), ""),
        Field("every", "A step is a", tuple((word, word) for word in EVERY), "day"),
        Field("start", "First day", value=january, kind="text", hint="Public, and never read from the table."),
        Field("steps", "Steps", value="365", kind="number", hint=f"Fixed from the start; {MOST_STEPS:,} at most."),
    ]
    if statement.unit:
        word = statement.unit_word
        entries += [
            Field(
                "active",
                "Active steps",
                value="3",
                kind="number",
                hint=f"In how many steps may one {word} count, at most?",
            ),
            Field(
                "rows",
                "Rows in a step",
                value="1",
                kind="number",
                hint=f"How many rows of one {word} count in a step, at most? This replaces the limit that you stated.",
            ),
        ]
    return tuple(entries)


@dataclass(frozen=True, slots=True)
class Wish:
    """A stream as somebody describes it. All of it is public."""

    time: str
    measure: str
    column: str
    by: str
    every: str
    start: dt.date
    steps: int
    active: int | None
    rows: int

    @classmethod
    def of(cls, statement: Statement, form: Mapping[str, Any]) -> Self:
        """From what was typed, or an `InvalidParameter` that says what to write instead."""
        when = forms.column(form, "time", dated(statement), "dates")
        measure = forms.choice(form, "measure", ("count", "sum"))
        column = ""
        if measure == "sum":
            if not forms.text(form, "column"):
                raise InvalidParameter(
                    "column", "none", "a sum needs a column of numbers", "Choose a column with bounds."
                )
            column = forms.column(form, "column", statement.bounded, "bounds").name
        by = forms.text(form, "by")
        if by:
            forms.column(form, "by", grouping.usable(statement), "keys")
        try:
            start = dt.date.fromisoformat(forms.text(form, "start"))
        except ValueError:
            why = "is not a day"
            raise InvalidParameter("start", forms.text(form, "start"), why, "Write it like 2025-01-01.") from None
        steps = forms.whole(form, "steps", 1, MOST_STEPS, 365)
        people = bool(statement.unit)
        active = forms.whole(form, "active", 1, steps, min(3, steps)) if people else None
        rows = forms.whole(form, "rows", 1, 1000, 1) if people else 1
        every = forms.choice(form, "every", EVERY)
        return cls(when.name, measure, column, by, every, start, steps, active, rows)

    @property
    def title(self) -> str:
        """In a few words."""
        what = "rows" if self.measure == "count" else self.column
        return f"{what[0].upper()}{what[1:]} so far{f' by {self.by}' if self.by else ''}, every {self.every}"

    def limits(self, word: str) -> str:
        """Which rows count, for people who compare a total with all rows; nothing where every row is a unit."""
        if self.active is None:
            return ""
        rows = "one row" if self.rows == 1 else f"{self.rows:,} rows"
        if self.active >= self.steps:
            return f"At most {rows} of each {word} count{'s' if self.rows == 1 else ''} in a {self.every}. {MORE}."
        if self.active == 1:
            which = f"only the first {self.every} in which the {word} has rows counts, with at most {rows}"
        else:
            which = (
                f"only the first {self.active:,} {self.every}s in which the {word} has rows count, with at most {rows} "
                "in each"
            )
        said = f"For each {word}, {which}. {MORE}, and the gap grows with time."
        window = WINDOWS[1]
        if self.steps <= window:
            return said
        return f"{said} In “Over the last {window} {self.every}s”, a line may fall only because of this limit."

    def step(self, first_day: str) -> str:
        """What a step is called: its total is published when it is over, so a month has no day in its name."""
        if self.every == "month":
            return f"{dt.date.fromisoformat(first_day):%b %Y}"
        return f"week of {first_day}" if self.every == "week" else first_day

    @property
    def exact(self) -> str:
        """What the intervals are about."""
        if self.active is None:
            return "the exact number" if self.measure == "count" else "the exact sum"
        return "the exact number of rows that count" if self.measure == "count" else "the exact sum of rows that count"

    def question(self, table: PrivateTable) -> StreamQuestion:
        """In the curator's words."""
        named = forms.quoted(self.column)
        output = lw.count() if self.measure == "count" else lw.sum(named, name=f"sum of {self.column}")
        bounded = table.bounded(max_rows_per_unit=self.rows) if self.active is not None else table
        return bounded.stream(
            output,
            by=forms.quoted(self.by) if self.by else None,
            every=self.every,  # type: ignore[arg-type]
            steps=self.steps,
            start=self.start,
            time=self.time,
            active_steps=self.active,
        )


@dataclass(eq=False)
class LabStream:
    """A stream that is open, and how fast its steps come."""

    mark: str
    wish: Wish
    epsilon: float
    stream: Stream
    statement: Statement
    """What was stated when it was opened: rows are read by it, or not at all."""
    job: Job | None = None
    _pace: float = 0.0
    _since: float = 0.0
    _from: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _told: tuple[tuple[int, int], Result] | None = None

    @property
    def running(self) -> bool:
        """Whether steps are closed by themselves."""
        return self._pace > 0 and self.stream.left > 0

    def run(self, pace: float) -> None:
        """Close a step every so many seconds from now on; never, if it is 0."""
        self._from, self._since, self._pace = self.stream.closed, time.monotonic(), pace

    @property
    def due(self) -> int:
        """How many steps are over by the clock that was set."""
        if not self._pace:
            return 0
        return min(self.stream.steps, self._from + int((time.monotonic() - self._since) / self._pace))

    def advance(self, bench: Bench, until: int) -> Job | None:
        """Begin to close the steps up to this one, unless somebody is at it."""
        if bench.stated != self.statement:
            raise Problem(409, CHANGED)
        with self._lock:
            if self.job is not None and self.job.open:
                return self.job
            if until <= self.stream.closed or not self.stream.left:
                return None
            self.job = bench.start(lambda progress: self._close(bench, until, progress), title=self.wish.title)
            return self.job

    def _close(self, bench: Bench, until: int, progress: Progress) -> None:
        begun = self.stream.closed
        for last in range(min(begun + AT_ONCE, until), until + AT_ONCE, AT_ONCE):
            own = Stoppable(connected(bench.folder, ASKING, threads=2))

            def look(step: int = min(last, until), own: Stoppable = own) -> None:
                with progress.stops(own):
                    self.stream.observe(bench.path, step=step, connection=own)

            on_record(bench.data(), look, of=TooLong)
            progress((min(last, until) - begun) / (until - begun))

    def result(self, window: int = 0) -> Result:
        """What is known after every closed step: one line for each group, with its band."""
        closed = self.stream.closed
        known = self._told
        if known is not None and known[0] == (closed, window):
            return known[1]
        result = _lines(self.stream, window) if closed else Result("curve", (), self.wish.every, self.stream.loss)
        self._told = ((closed, window), result)
        return result


def quoted(
    wish: Wish, statement: Statement, left: float, epsilon: float
) -> list[tuple[str, list[tuple[float, float | None]]]]:
    """For each output, how far off it is at each price and at the epsilon that is written. Nothing is read or spent."""
    question = wish.question(blank(statement))
    prices = sorted({epsilon, *(price for price in PRICES if price <= left)})
    quotes = [(price, question.quote(epsilon=price, confidence=CONFIDENCE)) for price in prices]
    outputs = [expected.output for expected in quotes[0][1].expected]
    return [
        (output, [(price, quote.expected[place].error) for price, quote in quotes])
        for place, output in enumerate(outputs)
    ]


def notes(wish: Wish, statement: Statement) -> tuple[str, ...]:
    """What the promise of a stream rests on."""
    quote = wish.question(blank(statement)).quote(epsilon=1)
    size = f"{quote.state_bytes:,} bytes"  # of a file on the server, which nobody here sees
    return lab_notes(note for note in quote.notes if size not in note)


def opened(bench: Bench, wish: Wish, epsilon: float) -> LabStream:
    """Pay for a stream and open it."""
    if len(bench.streams) >= MOST_STREAMS:
        raise Problem(409, f"{MOST_STREAMS} streams of this table are open. Delete the table to begin again.")
    data = bench.data()
    mark = releases.mark(releases.moment())
    try:
        affordable(data.ledger, data.statement, lw.PureDP(epsilon, unit=data.statement.unit_word))
        question = wish.question(data.statement.open(bench.path, data.ledger))
        stream = question.open(bench.folder / f"{mark}.stream", epsilon=epsilon, confidence=CONFIDENCE)
    except BudgetExceeded:
        raise Problem(409, releases.too_much(bench)) from None
    schedule = stream.definition.schedule
    over = schedule.period(schedule.steps)[1]  # the rows lie here already, so the calendar of today says nothing
    kept = LabStream(mark, wish, epsilon, replace(stream, clock=lambda: over), data.statement)
    bench.streams[mark] = kept
    return kept


def found(bench: Bench, mark: str) -> LabStream:
    """The stream of this name."""
    if mark not in bench.streams:
        raise Problem(404, "This stream is not here any more. What it cost stays counted.")
    kept: LabStream = bench.streams[mark]
    return kept


def _lines(stream: Stream, window: int) -> Result:
    history = stream.history(window or None)
    steps, *others = history.columns
    keys = [column for column in others if column.is_key]
    numbers = {name: place for place, name in enumerate(dict.fromkeys(steps.values), 1)}
    series = []
    for column in others:
        if column.is_key:
            continue
        groups: dict[str, list[Value]] = {}
        for row, value in enumerate(column.values):
            label = " · ".join(str(key.values[row]) for key in keys) or column.name
            low, high = (column.noise and column.noise[row]) or (None, None)
            step = steps.values[row]
            groups.setdefault(label, []).append(Value(str(step), _number(value), low, high, numbers[step]))
        series += [Series(label, tuple(values), column.name) for label, values in groups.items()]
    return Result("curve", tuple(series), stream.definition.schedule.every, stream.loss, history.confidence)


def shown(value: Value) -> tuple[str, str]:
    """A total and its band in whole numbers, for the page and its script alike; the band is rounded outwards."""
    number = "–" if value.value is None else _whole(math.floor(value.value + 0.5))
    if value.low is None or value.high is None:
        return number, ""
    return number, f"{_whole(math.floor(value.low))} to {_whole(math.ceil(value.high))}"


def _whole(number: int) -> str:
    return f"{number:,}".replace("-", "−")


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
