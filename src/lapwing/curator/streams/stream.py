"""An open stream: paid for, with its state in a file. One transaction closes each step, once.

A step is on disk before anybody sees an answer. A closed step is never drawn again: a second try returns the stored
answer, whatever rows it brings. Steps end by the clock, never by how many rows there are. Proof: streams.md
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from lapwing import checks
from lapwing.curator.engines.objects import LARGEST_WHOLE
from lapwing.curator.plan.text_forms import Notation
from lapwing.curator.show.answer import Answer, Column
from lapwing.curator.show.statement import Statement, statement_of
from lapwing.curator.streams import saving, state
from lapwing.curator.streams.activity import vectors
from lapwing.curator.streams.answers import History, Teller
from lapwing.curator.streams.definition import Definition
from lapwing.curator.streams.pricing import Adaptive, StreamItem
from lapwing.curator.streams.protection import ConsecutiveSteps
from lapwing.curator.streams.quote import notes_of
from lapwing.curator.streams.ranks import chosen_by, largest, name_of_rank, sorted_by
from lapwing.curator.streams.reading import Reader, StepRows
from lapwing.curator.streams.rows import Find, check_options, source_of
from lapwing.curator.streams.schedule import moment_of, now
from lapwing.curator.streams.sorting import Brought, Sorter, Waiting, use_up, waiting_rows
from lapwing.curator.streams.state import Estimates, StateFile
from lapwing.errors import InvalidCall, InvalidParameter, StreamDamaged
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy import Ledger, Loss
from lapwing.privacy.explanation import Explanation
from lapwing.privacy.journal import Database, append

Clock = Callable[[], dt.datetime]
LARGEST_ERROR = 1e300
"""What is stored where nothing is known about an error."""


@dataclass(frozen=True, repr=False)
class Stream:
    """Answers over time. Everything it shows was paid for when it was opened.

    `observe` closes a step; `estimate`, `window`, `between`, `history` and `top` show what is known, and cost nothing.
    Steps are named by their number, from 1 on, or by a date or moment in them.

    Attributes:
        file: The file of the state. It is secret, since it holds exact counts.
        definition: The question, the schedule of the steps, and whom the stream protects.
        find: The function that opens a source of rows.
        notation: How numbers, dates and truth values are written in text.
        clock: A function that tells the time in UTC; by default the clock of this machine.

    >>> import tempfile
    >>> from lapwing.datasets import clinic_csv
    >>> question = patients.stream(lw.count(), by="region", every="month", steps=12, start="2024-01-01", active_steps=1)
    >>> stream = question.open(tempfile.mkdtemp() + "/patients.stream", epsilon=1)
    >>> january = stream.observe(clinic_csv())
    >>> february = stream.observe()  # no rows
    >>> stream.closed, stream.left
    (2, 10)
    >>> 700 < stream.estimate()["count"][0] < 1000  # patients in the North so far
    True
    >>> stream.top(1)["region"], len(stream.history(window=1).table)  # 2 months of 6 regions
    (('North',), 12)
    """

    file: StateFile
    definition: Definition
    find: Find = field(repr=False, compare=False)
    notation: Notation
    clock: Clock = field(default=now, repr=False, compare=False)

    def __repr__(self) -> str:
        return f"<Stream {self.definition.explain()}: {self.closed} closed>"

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What was written down when the stream was opened."""
        with self.file.transaction(write=False) as database:
            return state.facts(database)

    @cached_property
    def items(self) -> tuple[StreamItem, ...]:
        """The counters: one for each statistic."""
        pairs = zip(self.facts["items"], self.definition.statistics, strict=True)
        return tuple(saving.item_reread(data, self.definition, statistic) for data, statistic in pairs)

    @property
    def loss(self) -> Loss:
        """What the whole stream costs: charged once, when it was opened."""
        return saving.loss_reread(self.facts["loss"])

    @property
    def steps(self) -> int:
        """How many steps the stream has."""
        return self.definition.schedule.steps

    @property
    def closed(self) -> int:
        """How many steps are closed."""
        with self.file.transaction(write=False) as database:
            return state.closed_steps(database)

    @property
    def left(self) -> int:
        """How many steps are left; none if the stream was ended."""
        with self.file.transaction(write=False) as database:
            ended = "ended" in state.facts(database)
            return 0 if ended else self.steps - state.closed_steps(database)

    @property
    def over(self) -> int:
        """How many steps are over by the clock, whether they are closed or not."""
        if self.definition.schedule.every == "step":  # which no clock knows
            return self.closed
        return self.definition.schedule.over(moment_of("clock", self.clock()))

    @property
    def position(self) -> Any:
        """How far the source was read, where there is a watermark. Secret: it is a value of a row."""
        with self.file.transaction(write=False) as database:
            return saving.known(state.facts(database).get("position"))

    # --------------------------------------------------------------------------------------------------- observing

    def observe(
        self,
        rows: Any = None,
        *,
        step: Any = None,
        entropy: Entropy = SYSTEM,
        **options: Any,
    ) -> Answer:
        """Close a step with these rows, and every earlier one that is still open.

        With `time=`, each row goes to the step of its own time. With a watermark, rows are read from where the last
        step left off, and dates and moments up to the end of the step. With `late="next"`, rows come by a watermark or
        by `add`, so that each counts once.

        Args:
            rows: What `lw.open` takes, a list of dictionaries, or the result of a query. None means no rows besides
                those of `add`. What is no dictionary in a list is a row without values: an error would tell of rows.
            step: The step to close, a number or a date in it. None means the next one.
            entropy: Where the noise comes from. Anything but the default is not private.
            options: How a file is written (`delimiter=`, `encoding=`), or which `table=` of a database is read.

        Returns:
            The estimate after the step. If the step was closed before, its stored answer; `rows` are then not read.

        Raises:
            InvalidParameter: If the step is not over by the clock, or the rows lack a column that the stream reads,
                or `entropy` is a seed and a ledger was charged for a stream without one.
            InvalidCall: If all steps are closed, or the stream was ended.
            StreamDamaged: If the file of the stream holds counters of another step.

        >>> import tempfile
        >>> question = patients.stream(lw.count(), every="month", steps=12, start="2024-01-01", active_steps=1)
        >>> stream = question.open(tempfile.mkdtemp() + "/patients.stream", epsilon=1)
        >>> january = stream.observe([{"patient": 1}, {"patient": 2}])
        >>> february = stream.observe()  # no rows
        >>> stream.closed
        2
        """
        check_options("observe", options)
        moment = moment_of("clock", self.clock())
        with self.file.transaction(write=False) as database:
            closed, target = self._target(database, step)
            waiting, after = self._kept(database, target)
            if target > closed:
                state.must_fit_the_charge(database, entropy)
        if rows is not None and target > closed:
            self._must_come_once()
        shown, seeded = None, False
        while target > closed:
            sorter = self._sorter(entropy)
            source = self._source(rows, sorter, options)
            brought = sorter.brought(source, waiting, closed + 1, target, after=after, now=moment)
            closed, shown, seeded = self._close(brought, closed, target, sorter, entropy)
            if closed < target:  # somebody else closed a step meanwhile: read again
                with self.file.transaction(write=False) as database:
                    waiting, after = self._kept(database, target)
        return self.at(target) if shown is None else self._told(shown, target, seeded=seeded)

    def catch_up(self, rows: Any = None, **options: Any) -> Answer | None:
        """Close every step that is over by the clock, as `observe` does.

        Args:
            rows: As in `observe`.
            options: As in `observe`.

        Returns:
            The estimate after the last closed step; None if no step is closed yet.

        Raises:
            InvalidCall: If the stream has `every="step"`, so that no clock knows its steps.

        >>> import tempfile
        >>> question = patients.stream(lw.count(), every="month", steps=12, start="2024-01-01", active_steps=1)
        >>> stream = question.open(tempfile.mkdtemp() + "/patients.stream", epsilon=1)
        >>> december = stream.catch_up([{"patient": 1}])  # the whole year is over
        >>> stream.left
        0
        """
        if self.definition.schedule.every == "step":
            raise InvalidCall("catch_up", "you say when a step of this stream ends", "Write stream.observe(rows).")
        last = self.over
        if last > self.closed and self.left:
            return self.observe(rows, step=last, **options)
        return self.estimate() if self.closed else None

    def add(self, rows: Any, *, batch: tuple[str, int] | None = None, **options: Any) -> bool:
        """Keep rows for a step that is still open, durably; `observe` or `catch_up` closes it when its time is over.

        Rows lie in the state's file, in plain, until their step is closed.

        Args:
            rows: As in `observe`.
            batch: The name of a source and a number, such as `("log", 17)`. Each batch is taken once.
            options: As in `observe`.

        Returns:
            Whether the rows were taken: False if the batch was taken before.

        Raises:
            InvalidParameter: If `batch` is not a name and a number below 2^63, or the rows lack a column that the
                stream reads.
            InvalidCall: If all steps are closed, or the stream was ended.

        >>> import tempfile
        >>> question = patients.stream(lw.count(), every="month", steps=12, start="2024-01-01", active_steps=1)
        >>> stream = question.open(tempfile.mkdtemp() + "/patients.stream", epsilon=1)
        >>> stream.add([{"patient": 1}], batch=("log", 17))
        True
        >>> stream.add([{"patient": 1}], batch=("log", 17))  # the same batch again
        False
        """
        check_options("add", options)
        _check_batch(batch)
        with self.file.transaction(write=False) as database:
            self._must_go_on(database)
            if _is_known(database, batch):
                return False
        sorter = self._sorter(SYSTEM)
        source = self._source(rows, sorter, options)
        kept = sorter.fetched(source)
        with self.file.transaction() as database:
            self._must_go_on(database)
            if _is_known(database, batch):
                return False
            if batch is not None:
                row = {"source": batch[0], "number": batch[1]}
                database.execute("INSERT INTO batch VALUES (:source, :number)", row)
            sorter.keep(database, kept)
        return True

    def end(self) -> None:
        """End the stream for good and wipe its secrets; what was shown stays, and nothing is paid back.

        >>> import tempfile
        >>> question = patients.stream(lw.count(), every="month", steps=12, start="2024-01-01", active_steps=1)
        >>> stream = question.open(tempfile.mkdtemp() + "/patients.stream", epsilon=1)
        >>> answer = stream.observe([{"patient": 1}, {"patient": 2}], step=2)
        >>> stream.end()
        >>> stream.closed, stream.left
        (2, 0)
        """
        with self.file.transaction() as database:
            facts = state.facts(database)
            if "ended" not in facts:
                state.remember(database, "ended", True)
                append(database, "end", {"step": state.closed_steps(database)})
                for table in ("counter", "activity", "appeared", "pending", "batch"):
                    database.execute(f"DELETE FROM {table}")
                database.execute("DELETE FROM fact WHERE name = 'position'")
        self.file.write_anchor()
        self.file.give_room_back()

    def _kept(self, database: Database, target: int) -> tuple[Waiting, Any]:
        """The rows that wait for steps up to this one, and how far the source was read."""
        waiting = waiting_rows(database, self.definition.schedule, target)
        return waiting, saving.known(state.facts(database).get("position"))

    def _target(self, database: Database, step: Any) -> tuple[int, int]:
        """How many steps are closed, and which one to close; refused before rows are looked at."""
        schedule = self.definition.schedule
        closed, ended = state.closed_steps(database), "ended" in state.facts(database)
        if step is None and closed == self.steps:
            why = f"all {schedule.words(self.steps)} of this stream are closed"
            raise InvalidCall("observe", why, "Open another stream for what comes next; it costs again.")
        target = closed + 1 if step is None else schedule.step_of(step)
        if target > closed and ended:
            raise _ended("observe")
        if target > closed and schedule.every != "step" and target > self.over:
            end = schedule.period(target)[1] + schedule.grace
            why = f"step {target:,} is not over before {end:%Y-%m-%d %H:%M} UTC, and steps end by the clock"
            raise InvalidParameter("step", step if step is not None else target, why, "Wait, or keep rows with add().")
        return closed, target

    def _must_come_once(self) -> None:
        """Late rows that count later count once only if no source brings them again."""
        if self.definition.schedule.takes_kept_rows_only:
            why = "late='next' counts rows of earlier steps, and it is not known which of these have already counted"
            hint = (
                "Keep every row once, with stream.add(rows, batch=('log', 17)), and close steps with stream.observe(); "
                "or open the stream with watermark='id'."
            )
            raise InvalidCall("observe", why, hint)

    def _must_go_on(self, database: Database) -> None:
        if "ended" in state.facts(database) or state.closed_steps(database) == self.steps:
            raise _ended("add")

    def _sorter(self, entropy: Entropy) -> Sorter:
        reader = Reader(self.definition.query, self.notation, self.facts["analyst"], self.facts["charge"])
        bare = replace(reader, query=self.definition.bare)
        return Sorter(reader, bare, self.definition.schedule, self.find, entropy.bits(256).to_bytes(32, "big"))

    def _source(self, rows: Any, sorter: Sorter, options: dict[str, Any]) -> Any:
        fetch = sorter.reader.fetched
        return source_of(rows, self.definition.scan, self.notation, self.find, fetch=fetch, **options)

    def _close(
        self, brought: Brought, before: int, target: int, sorter: Sorter, entropy: Entropy
    ) -> tuple[int, state.Shown | None, bool]:
        """Close the steps up to this one, in one transaction, if none was closed since `before`.

        Returns how many are closed, what was stored to be shown of the last one, if it was closed here, and whether
        noise of the stream came from a seed. Whatever was read for steps that somebody else closed meanwhile is thrown
        away: a row counts in one step.
        """
        definition, items = self.definition, self.items
        with self.file.transaction() as database:
            closed = state.closed_steps(database)
            if "ended" in state.facts(database):
                raise _ended("observe")
            if closed != before:
                return closed, None, False
            kept = state.counters(database)
            states: list[Any] = [item.counter.state_from_bytes(kept[place]) for place, item in enumerate(items)]
            if any(known.step != closed for known in states):
                raise StreamDamaged(self.file.name, "its counters, which are not those of the last step")
            for step in range(closed + 1, target + 1):
                sums = vectors(
                    database, step, brought.steps.get(step, StepRows()), definition.statistics,
                    groups=definition.groups, appearing=definition.appearing, protection=definition.protection,
                    most_groups=definition.query.effective.touched,
                )  # fmt: skip
                states = [
                    item.counter.observe(before, _values(item.fed(values)), entropy)
                    for item, before, values in zip(items, states, sums, strict=True)
                ]
                estimates = [list(map(float, item.counter.estimate(s))) for item, s in zip(items, states, strict=True)]
                shown = (estimates, self._errors(states))
                state.close_step(database, step, *shown)
            state.keep_counters(database, {place: after.to_bytes() for place, after in enumerate(states)})
            state.remember_seed(database, entropy)
            seeded = state.is_seeded(database)
            use_up(database, definition.schedule, target, brought.waited)
            sorter.keep(database, brought.later)
            if brought.position is not None:
                state.remember(database, "position", saving.value(brought.position))
        self.file.write_anchor()
        if target == self.steps:
            self.file.give_room_back()
        return target, shown, seeded

    def _errors(self, states: Sequence[Any]) -> list[float] | None:
        """How far answers may be off where that depends on what was released before; public."""
        if not isinstance(self.definition.protection, ConsecutiveSteps):
            return None
        errors, bounds = [], self.definition.query.bounds
        for item, after in zip(self.items, states, strict=True):
            assert isinstance(item.counter, Adaptive)
            together = max(len(bound.statistics) for bound in bounds if item.statistic in bound.statistics)
            sure = 1 - (1 - Fraction(self.facts["confidence"])) / together  # an output is off if one of them is
            errors.append(min(LARGEST_ERROR, item.counter.error_bound(after, float(sure))))
        return errors

    # ----------------------------------------------------------------------------------------------------- showing

    @cached_property
    def _teller(self) -> Teller:
        facts, notes = self.facts, notes_of(self.definition)
        paid = facts["charge"], facts.get("entry")
        return Teller(self.definition, self.items, self.loss, facts["confidence"], notes, *paid)

    @property
    def adds_up(self) -> bool:
        """Whether answers are totals since the start; otherwise each is about its own step."""
        return not isinstance(self.definition.protection, ConsecutiveSteps)

    def at(self, step: Any) -> Answer:
        """What was shown after a closed step: totals from the start to its end, each with its interval.

        Args:
            step: A closed step.

        Returns:
            The stored answer. With `consecutive_steps=` it is about that step alone.

        Raises:
            InvalidParameter: If the step is not closed yet.

        >>> import tempfile
        >>> question = patients.stream(lw.count(), every="month", steps=12, start="2024-01-01", active_steps=1)
        >>> stream = question.open(tempfile.mkdtemp() + "/patients.stream", epsilon=1)
        >>> answer = stream.observe([{"patient": 1}, {"patient": 2}], step=2)
        >>> stream.at(2).value == stream.at("2024-02-01").value == answer.value
        True
        """
        with self.file.transaction(write=False) as database:
            place = self._closed(database, step)
            shown, seeded = state.shown_at(database, place), state.is_seeded(database)
        return self._told(shown, place, seeded=seeded)

    def _told(self, shown: state.Shown, place: int, *, seeded: bool) -> Answer:
        columns, schedule = self._columns(shown, place), self.definition.schedule
        of_all = f"of {schedule.words(self.steps)}"
        says = f"totals after {place:,} {of_all}" if self.adds_up else f"only {schedule.every} {place:,} {of_all}"
        return self._teller.answer(columns, place, says=says, seeded=seeded)

    def estimate(self) -> Answer:
        """The totals so far, each with its interval.

        Returns:
            The totals after the last closed step.

        Raises:
            InvalidCall: If no step is closed yet.

        >>> import tempfile
        >>> question = patients.stream(lw.count(), every="month", steps=12, start="2024-01-01", active_steps=1)
        >>> stream = question.open(tempfile.mkdtemp() + "/patients.stream", epsilon=1)
        >>> answer = stream.observe([{"patient": 1}, {"patient": 2}], step=2)
        >>> stream.estimate().value == answer.value  # the noise is not drawn again
        True
        """
        return self.at(self._last())

    def window(self, steps: int, *, until: Any = None) -> Answer:
        """The sums over several consecutive steps.

        Args:
            steps: How many steps to sum over. If fewer are closed, all of them.
            until: The last step of the window. None means the last closed one.

        Returns:
            The sums, each with its interval.

        Raises:
            InvalidParameter: If `steps` is less than 1, or `until` is not closed yet.
            InvalidCall: If no step is closed yet, or the stream protects consecutive steps, so that its answers do not
                add up.

        >>> import tempfile
        >>> question = patients.stream(lw.count(), every="month", steps=12, start="2024-01-01", active_steps=1)
        >>> stream = question.open(tempfile.mkdtemp() + "/patients.stream", epsilon=1)
        >>> answer = stream.observe([{"patient": 1}, {"patient": 2}], step=2)
        >>> len(stream.window(1).table)  # February alone
        1
        """
        last = self._last() if until is None else self.definition.schedule.step_of(until)
        return self._over(max(0, last - checks.whole(steps=steps)), last)

    def between(self, first: Any, last: Any) -> Answer:
        """The sums over the steps from `first` to `last`, both included.

        Args:
            first: The first step.
            last: The last step, which must be closed.

        Returns:
            The sums, each with its interval.

        Raises:
            InvalidParameter: If `first` is after `last`, or `last` is not closed yet.
            InvalidCall: If the stream protects consecutive steps, so that its answers do not add up.

        >>> import tempfile
        >>> question = patients.stream(lw.count(), every="month", steps=12, start="2024-01-01", active_steps=1)
        >>> stream = question.open(tempfile.mkdtemp() + "/patients.stream", epsilon=1)
        >>> answer = stream.observe([{"patient": 1}, {"patient": 2}], step=2)
        >>> len(stream.between("2024-01-01", "2024-02-29").table)
        1
        """
        schedule = self.definition.schedule
        start, stop = schedule.step_of(first), schedule.step_of(last)
        if start > stop:
            raise InvalidParameter("first", first, f"is after {last}", "Write the earlier step first.")
        return self._over(start - 1, stop)

    def history(self, window: int | None = None) -> History:
        """An answer after every closed step, one below the other.

        Args:
            window: Each answer sums over the last so many steps. None means totals since the start.

        Returns:
            The answers, with the step in the first column.

        Raises:
            InvalidParameter: If `window` is less than 1.
            InvalidCall: If no step is closed yet, or `window` is given and the stream protects consecutive steps, so
                that its answers do not add up.

        >>> import tempfile
        >>> question = patients.stream(lw.count(), every="month", steps=12, start="2024-01-01", active_steps=1)
        >>> stream = question.open(tempfile.mkdtemp() + "/patients.stream", epsilon=1)
        >>> answer = stream.observe([{"patient": 1}, {"patient": 2}], step=2)
        >>> [str(month) for month in stream.history()["month"]]
        ['2024-01-01', '2024-02-01']
        """
        parts, says, seeded = self._each(window)
        return self._told_each(parts, says, seeded=seeded)

    def top(self, most: int, output: str | None = None, *, window: int | None = None, until: Any = None) -> Answer:
        """The groups with the largest estimates. This sorts public numbers, and costs nothing.

        Args:
            most: How many groups to show.
            output: The output to sort by. None means the first one.
            window: Sum over the last so many steps. None means totals since the start.
            until: The last step to look at. None means the last closed one.

        Returns:
            The largest groups, in falling order of their noisy values.

        Raises:
            InvalidParameter: If `most` or `window` is less than 1, `output` is no column of values, or `until` is not
                closed yet.
            InvalidCall: If no step is closed yet, or `window` is given and the stream protects consecutive steps.

        >>> import tempfile
        >>> regions = {"by": "region", "every": "month", "steps": 12, "start": "2024-01-01", "active_steps": 1}
        >>> stream = patients.stream(lw.count(), **regions).open(tempfile.mkdtemp() + "/patients.stream", epsilon=1)
        >>> answer = stream.observe([{"patient": 1}, {"patient": 2}], step=2)
        >>> len(stream.top(2).table)
        2
        """
        count = checks.whole(minimum=1, most=most)
        last = self._last() if until is None else until
        answer = self.at(last) if window is None else self.window(checks.whole(window=window), until=last)
        by = sorted_by(answer.columns, output)
        return replace(answer, columns=largest(answer.columns, by, count), notes=(*answer.notes, chosen_by(by)))

    def top_history(self, most: int, output: str | None = None, *, window: int | None = None) -> History:
        """The groups with the largest estimates after every closed step, one line for each rank. It costs nothing.

        Args:
            most: How many groups to show of each step.
            output: The output to sort by. None means the first one.
            window: Each step sums over the last so many steps. None means totals since the start.

        Returns:
            The largest groups of each step, with the step and the rank in the first columns.

        Raises:
            InvalidParameter: If `most` or `window` is less than 1, or `output` is no column of values.
            InvalidCall: If no step is closed yet, or `window` is given and the stream protects consecutive steps.

        >>> import tempfile
        >>> regions = {"by": "region", "every": "month", "steps": 12, "start": "2024-01-01", "active_steps": 1}
        >>> stream = patients.stream(lw.count(), **regions).open(tempfile.mkdtemp() + "/patients.stream", epsilon=1)
        >>> answer = stream.observe([{"patient": 1}, {"patient": 2}], step=2)
        >>> len(stream.top_history(3).table)  # 3 regions after each of 2 months
        6
        """
        count = checks.whole(most=most)
        parts, says, seeded = self._each(window)
        by = sorted_by(parts[0][1], output)
        ranked = []
        for place, columns in parts:
            shown = largest(columns, by, count)
            ranks = tuple(range(1, len(shown[0].values) + 1))
            ranked.append((place, (Column(name_of_rank(shown), "key", ranks, type="integer"), *shown)))
        return self._told_each(ranked, says, chosen_by(by), seeded=seeded)

    def _each(self, window: int | None) -> tuple[list[tuple[int, tuple[Column, ...]]], str, bool]:
        """The columns after every closed step, what each line is about, and whether noise came from a seed."""
        with self.file.transaction(write=False) as database:
            shown, seeded = state.all_shown(database), state.is_seeded(database)
        if not shown:
            raise _nothing_yet()
        span = None if window is None else checks.whole(window=window)
        if span is not None:
            self._must_add_up()
        parts: list[tuple[int, tuple[Column, ...]]] = []
        for place in range(1, len(shown) + 1):
            start = 0 if span is None else max(0, place - span)
            if start:
                columns = self._teller.sums(shown[place - 1][0], shown[start - 1][0], start, place)
            else:
                columns = self._columns(shown[place - 1], place)
            parts.append((place, columns))
        schedule = self.definition.schedule
        says = f"totals after each {schedule.every}" if self.adds_up else f"each {schedule.every} by itself"
        if span is not None:
            up_to = f"the sum of the {schedule.words(span)} up to that {schedule.every} (fewer at the start)"
            says = f"each line: {f'that {schedule.every} alone' if span == 1 else up_to}"
        return parts, says, seeded

    def _told_each(
        self, parts: Sequence[tuple[int, tuple[Column, ...]]], says: str, *notes: str, seeded: bool
    ) -> History:
        answer = self._teller.answer(self._teller.stacked(parts), len(parts), says=says, seeded=seeded, kind=History)
        assert isinstance(answer, History)
        return replace(answer, notes=(*answer.notes, *notes))

    def explain(self) -> Explanation:
        """The guarantee, and what is shown, in words.

        Returns:
            The explanation of the last answer. Before the first step, that of the loss alone.

        >>> import tempfile
        >>> question = patients.stream(lw.count(), every="month", steps=12, start="2024-01-01", active_steps=1)
        >>> stream = question.open(tempfile.mkdtemp() + "/patients.stream", epsilon=1)
        >>> answer = stream.observe([{"patient": 1}, {"patient": 2}], step=2)
        >>> print(stream.explain().text.partition(":")[0])
        ε = 1 (add_remove, per patient)
        """
        return self.estimate().explain() if self.closed else self.loss.explain()

    def statement(self, ledger: Ledger | None = None, *, owner: str = "the owner of the data") -> Statement:
        """A privacy statement that the owner of the data can hand out. It covers all steps, whether closed or not.

        Args:
            ledger: The ledger that the stream was charged to, for the privacy budget over time.
            owner: Who is responsible for the data, as readers should see it.

        Returns:
            A statement with `to_markdown()`, `to_json()` and `to_html()`, a page to print.

        >>> import tempfile
        >>> question = patients.stream(lw.count(), every="month", steps=12, start="2024-01-01", active_steps=1)
        >>> stream = question.open(tempfile.mkdtemp() + "/patients.stream", epsilon=1)
        >>> answer = stream.observe([{"patient": 1}, {"patient": 2}], step=2)
        >>> print(stream.statement().to_markdown().splitlines()[0])
        # Privacy statement
        """
        teller = self._teller
        with self.file.transaction(write=False) as database:
            origin = teller.origin(seeded=state.is_seeded(database))
        return statement_of(self.loss, origin, teller.notes, about="stream", remaining=None, ledger=ledger, owner=owner)

    def _over(self, start: int, stop: int) -> Answer:
        self._must_add_up()
        with self.file.transaction(write=False) as database:
            stop = self._closed(database, stop)
            estimates = state.shown_at(database, stop)[0]
            before: Estimates | None = state.shown_at(database, start)[0] if start else None
            seeded = state.is_seeded(database)
        columns = self._teller.sums(estimates, before, start, stop)
        schedule = self.definition.schedule
        says = f"sums over {schedule.words(stop - start)}, from {schedule.name(start + 1)} to {schedule.name(stop)}"
        return self._teller.answer(columns, stop, says=says, seeded=seeded)

    def _columns(self, shown: state.Shown, place: int) -> tuple[Column, ...]:
        estimates, errors = shown
        if errors is None:
            return self._teller.sums(estimates, None, 0, place)
        widths = {
            item.statistic: error * 2.0**item.shift if error < LARGEST_ERROR else None
            for error, item in zip(errors, self.items, strict=True)
        }
        unknown = {statistic for statistic, width in widths.items() if width is None}
        return self._teller.columns(estimates, None, lambda item, _: widths[item.statistic] or 0.0, unknown=unknown)

    def _closed(self, database: Database, step: Any) -> int:
        place, closed = self.definition.schedule.step_of(step), state.closed_steps(database)
        if place > closed:
            why = f"is not closed yet: {closed:,} of {self.steps:,} steps are"
            raise InvalidParameter("step", step, why, "Observe it first.")
        return place

    def _last(self) -> int:
        closed = self.closed
        if not closed:
            raise _nothing_yet()
        return closed

    def _must_add_up(self) -> None:
        if not self.adds_up:
            why = "this stream protects consecutive steps, and its answers are about one step each"
            raise InvalidCall("window", why, "Take stream.history(), or open a stream with active_steps=.")


def _values(values: list[int]) -> Any:
    return values[0] if len(values) == 1 else values


def _check_batch(batch: Any) -> None:
    """A batch is known by text and a whole number; anything else might be stored as something else, and taken twice."""
    if batch is None:
        return
    if not isinstance(batch, tuple) or len(batch) != 2 or not isinstance(batch[0], str):
        why = "must be the name of a source and a number"
        raise InvalidParameter("batch", batch, why, "Write batch=('log', 17).")
    if checks.whole(minimum=0, batch=batch[1]) > LARGEST_WHOLE:
        raise InvalidParameter("batch", batch, "has a number above 2^63", "Count batches from 0.")


def _is_known(database: Database, batch: tuple[str, int] | None) -> bool:
    if batch is None:
        return False
    row = {"source": batch[0], "number": batch[1]}
    known = database.execute("SELECT 1 AS one FROM batch WHERE source = :source AND number = :number", row)
    return known.fetchone() is not None


def _ended(call: str) -> InvalidCall:
    return InvalidCall(call, "this stream has ended", "Open another one; it costs again.")


def _nothing_yet() -> InvalidCall:
    return InvalidCall("stream", "no step is closed yet", "Write stream.observe(rows) when the first step is over.")
