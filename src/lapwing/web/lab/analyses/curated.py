"""Questions that the curator answers: priced by its quote, released by it, and compared with plain SQL."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from math import isclose
from typing import Any, ClassVar, Self

from lapwing.curator import NO_LEDGER, Answer, Query, Unprotected
from lapwing.curator.ask.quote import Expectation
from lapwing.curator.tables.table import PrivateTable
from lapwing.errors import BudgetExceeded
from lapwing.privacy import Ledger, Loss
from lapwing.privacy.quotes import after
from lapwing.web.lab.analyses import rows
from lapwing.web.lab.analysis import Analysis, Data, Progress
from lapwing.web.lab.engine import Stoppable
from lapwing.web.lab.failures import on_record
from lapwing.web.lab.jobs import TooLong
from lapwing.web.lab.result import EPSILONS, Band, Preview, Result, Series, Shape, Value
from lapwing.web.lab.statement import DATASET, Statement
from lapwing.web.wording import plainly

AFTER = "after bounds"
"""What follows the name of a series that was clipped and bounded like the private one, but got no noise."""
CONFIDENCE = 0.95
THRESHOLD = "units"
"""Of a band that is no error: how many people, or rows, a key needs that nobody stated, so that it is likely shown."""
EACH = "the error holds for each bar alone; among many bars, some are off by more"


def lab_notes(notes: Iterable[str]) -> tuple[str, ...]:
    """The curator's notes in words of the lab, which always keeps a ledger, although previews are priced without it."""
    return tuple(plainly(note) for note in notes if note != NO_LEDGER)


def rows_used(statement: Statement, counted: str | None) -> str:
    """How many rows of each person count, if the library says that some may be left out."""
    if not counted:
        return ""
    most = statement.max_rows_per_unit
    return f"{'one row' if most == 1 else f'at most {most:,} rows'} of each {statement.unit_word}"


def blank(statement: Statement) -> PrivateTable:
    """The table as it was stated, without a row: enough to price questions."""
    import numpy as np

    return statement.open({column.name: np.array([], dtype=object) for column in statement.columns}, None)


def entered(ledger: Ledger, statement: Statement) -> None:
    """Open the allowance if the ledger has none. It may have another than was stated for an older answer."""
    if DATASET not in ledger.datasets():
        ledger.open(DATASET, statement.allowance)


def affordable(ledger: Ledger | None, statement: Statement, loss: Loss) -> None:
    """Refuse what cannot be paid before anything is opened; the charge itself comes later, and decides."""
    if ledger is None:
        return
    entered(ledger, statement)
    left = ledger.remaining(DATASET)
    if after(left, loss) is None:
        raise BudgetExceeded(loss, left)


def stopping(table: PrivateTable | Query, progress: Progress) -> AbstractContextManager[None]:
    """What the curator asks of a table meanwhile is interrupted when its job is cancelled."""
    stops = getattr(progress, "stops", None)
    given = table.connection
    return stops(given) if stops is not None and isinstance(given, Stoppable) else nullcontext()


def answered(data: Data, query: Query, progress: Progress, **spend: Any) -> Answer:
    """The curator's answer, which charges before it reads. Its failures are on record; to take too long is one more."""

    def look() -> Answer:
        with stopping(query, progress):
            answer = query.release(**spend)
        progress(1.0)
        return answer

    return on_record(data, look, of=TooLong)


class CuratedAnalysis(Analysis):
    """A question in the curator's words."""

    shape: ClassVar[Shape] = "number"
    mechanism: ClassVar[str] = "Laplace noise on whole numbers (lapwing.Laplace)"

    @abstractmethod
    def query(self, table: PrivateTable) -> Query:
        """The question."""

    @abstractmethod
    def asking(self) -> str:
        """The same as Python, from `table` on."""

    def groups(self, statement: Statement) -> int:
        """Among how many groups the forecast shares the people."""
        return 1

    def rows_per_group(self, statement: Statement, epsilon: float = 1.0) -> int:
        """How many rows each group has, as far as the public knows: as if groups were equally large."""
        return max(1, (self.matching or statement.people) // max(1, self.groups(statement)))

    def delta(self, statement: Statement) -> float:
        """What a release needs of delta: nothing, unless secret keys are shown."""
        return 0.0

    secret: bool = False
    """Whether it is about groups that nobody stated."""
    matching: int = 0
    """About how many rows its condition holds for, if that was stated."""

    def sized(self, factor: float) -> Self:
        """The same question among so many times as many rows that match."""
        return replace(self, matching=max(1, round(self.matching * factor))) if self.matching else self  # type: ignore[type-var]

    def caveat(self, statement: Statement) -> str:
        """What makes an error larger than its forecast, as a sentence for everybody."""
        return ""

    def condition(self, statement: Statement) -> str:
        """Of how many rows the forecast of a mean is, where it may well be of fewer."""
        return ""

    def basis(self, statement: Statement) -> tuple[str, ...]:
        """What the forecast rests on, apart from the method."""
        return ()

    def remarks(self, statement: Statement) -> tuple[str, ...]:
        """What else a reader of the preview must know."""
        return self.basis(statement)

    def preview(self, statement: Statement, epsilons: Sequence[float] = EPSILONS) -> Preview:
        """The curator's quote at each of them."""
        query, delta = self.query(blank(statement)), self.delta(statement)
        spend: dict[str, Any] = {"delta": delta} if delta else {}
        quotes = [
            query.quote(epsilon=e, confidence=CONFIDENCE, count=self.rows_per_group(statement, e), **spend)
            for e in epsilons
        ]
        most = max(1, statement.people * statement.max_rows_per_unit)
        bands = tuple(
            _band(query, first, tuple(_error(quote.expected[place].error) for quote in quotes), most)
            for place, first in enumerate(quotes[0].expected)
        )
        if condition := self.condition(statement):
            by_rows = needs_rows(query, **spend)
            caveat = self.caveat(statement)
            bands = tuple(
                replace(band, condition=condition, caveat=caveat) if band.output in by_rows else band for band in bands
            )
        notes, used = lab_notes(quotes[0].notes), rows_used(statement, quotes[0].counted)
        return Preview(bands, CONFIDENCE, delta, (*self.remarks(statement), *notes), self.mechanism, used)

    def release(self, data: Data, epsilon: float, progress: Progress) -> Result:
        """The curator's answer, which charges before it reads."""
        statement, delta = data.statement, self.delta(data.statement)
        spend: dict[str, Any] = {"epsilon": epsilon, **({"delta": delta} if delta else {})}
        priced = self.query(blank(statement)).quote(**spend)
        affordable(data.ledger, statement, priced.loss)
        progress(0.1)
        query = self.query(statement.open(data.path, data.ledger))
        answer = answered(data, query, progress, confidence=CONFIDENCE, **spend)
        return replace(self.result(answer), rows_used=rows_used(statement, answer.provenance.get("counted")))

    def draws(self, data: Data, epsilon: float, times: int, progress: Progress) -> Iterator[Result]:
        """The same question again and again, of a table that is opened once and counts nothing."""
        table, delta = data.statement.open(data.path, None), self.delta(data.statement) or None
        query = self.query(table)
        for turn in range(times):
            progress(turn / times)
            with stopping(table, progress):
                answer = query.release(epsilon=epsilon, delta=delta, confidence=CONFIDENCE)
            yield self.result(answer)

    def compared(self, plain: tuple[Series, ...], quiet: Result) -> Result:
        """The exact answer, and beside it what bounds and contributions make of it, if they make a difference."""
        after = tuple(replace(series, name=f"{series.name} {AFTER}") for series in quiet.series)
        return replace(quiet, series=plain if same(plain, after) else (*plain, *after))

    def script(self, statement: Statement, epsilon: float) -> str:
        """The question, its price, and the answer."""
        delta = self.delta(statement)
        spend = f"epsilon={epsilon!r}" + (f", delta={delta!r}" if delta else "")
        return "\n".join(
            (
                f"query = {self.asking()}",
                f"print(query.quote({spend}, count={self.rows_per_group(statement, epsilon)}))",
                f"answer = query.release({spend})",
                "print(answer)",
            )
        )

    def result(self, answer: Answer | Unprotected) -> Result:
        """An answer in the lab's shape: one series for each output, one value for each group."""
        keys = [column for column in answer.columns if column.is_key]
        series = []
        for column in answer.columns:
            if column.is_key:
                continue
            spans = column.noise or (None,) * len(column.values)
            values = []
            for place, (value, span) in enumerate(zip(column.values, spans, strict=True)):
                label = " · ".join(_shown(key.values[place]) for key in keys) or column.name
                low, high = span or (None, None)
                values.append(Value(label, _number(value), low, high, self.place(place)))
            series.append(Series(column.name, tuple(values), note=column.note))
        names = " · ".join(key.name for key in keys)
        if isinstance(answer, Unprotected):
            return Result(self.shape, tuple(series), names)
        notes = lab_notes(answer.notes)
        return Result(self.shape, tuple(series), names, answer.loss, answer.confidence, notes)

    def place(self, number: int) -> float | None:
        """Where the value of a group stands on a line, if it does."""
        return None


class Simple(CuratedAnalysis):
    """A question that plain SQL over the rows answers, too."""

    @abstractmethod
    def plain(self, source: rows.Rows, result: Result) -> tuple[Series, ...]:
        """What everybody would compute, without bounds; `result` shows the shape."""

    def exact(self, data: Data, progress: Progress) -> Result:
        """Plain SQL, and beside it what bounds and contributions change without any noise."""
        table = data.statement.open(data.path, None)
        with stopping(table, progress):
            quiet = self.result(self.query(table).unprotected())
        progress(0.5)
        with rows.opened(data, progress) as source:
            series = self.plain(source, quiet)
        progress(1.0)
        return self.compared(series, quiet)


def needs_rows(query: Query, **spend: Any) -> list[str]:
    """The outputs whose errors depend on how many rows there are, such as means."""
    without, known = (query.quote(epsilon=1, count=count, **spend).expected for count in (None, 1000))
    return [a.output for a, b in zip(without, known, strict=True) if a.error is None and b.error is not None]


def _band(query: Query, first: Expectation, errors: tuple[float | None, ...], rows: int) -> Band:
    """An output at every epsilon. No rank is further off than there are rows."""
    if first.measured_in == THRESHOLD:
        names = " and ".join(key.name for key in query.grouping.keys if key.values is None)
        return Band(f"a value of {names}", errors, THRESHOLD)
    if first.measured_in == "ranks":
        errors = tuple(None if error is None else min(error, rows) for error in errors)
    return Band(first.output, errors, first.measured_in, first.why)


def _error(value: float | None) -> float | None:
    return None if value is None else float(value)


def same(left: tuple[Series, ...], right: tuple[Series, ...]) -> bool:
    """Whether two sets of series have the same values, up to the grid that the curator computes on."""
    if [len(series.values) for series in left] != [len(series.values) for series in right]:
        return False
    pairs = [(a.value, b.value) for first, other in zip(left, right, strict=True) for a, b in _beside(first, other)]
    return all(a == b or (a is not None and b is not None and isclose(a, b, rel_tol=1e-6)) for a, b in pairs)


def _beside(left: Series, right: Series) -> zip[tuple[Value, Value]]:
    return zip(left.values, right.values, strict=True)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "nothing" if value is None else str(value)


__all__ = ["AFTER", "CONFIDENCE", "CuratedAnalysis", "Simple", "affordable", "blank"]
