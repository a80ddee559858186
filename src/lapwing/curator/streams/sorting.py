"""Which step a row belongs to: by its own time if a column has it, and by the declared rule if it comes late.

If one step is closed by itself, the engine is asked for its rows. All rows are fetched once and sorted here if several
steps are closed together, if rows were kept for a step that was still open, or if a watermark passes rows of later
steps.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from lapwing.curator.engines.selection import Salt
from lapwing.curator.plan.expressions import Column, Expression
from lapwing.curator.plan.language import call
from lapwing.curator.streams.reading import Reader, StepRows, between, later, not_beyond
from lapwing.curator.streams.rows import Find, source_of
from lapwing.curator.streams.saving import cells_reread, cells_written
from lapwing.curator.streams.schedule import Schedule
from lapwing.privacy.journal import Database

if TYPE_CHECKING:
    from lapwing.curator.engines.engine import Source


@dataclass(frozen=True, slots=True)
class Waiting:
    """Rows that were kept for a step that was still open."""

    last: int = 0
    """The number of the last of them."""
    rows: tuple[dict[str, Any], ...] = ()


@dataclass(slots=True)
class Brought:
    """What the steps to be closed add, and where the source stands afterwards."""

    steps: dict[int, StepRows] = field(default_factory=dict)
    position: Any = None
    """How far the watermark was read; None where there is none."""
    later: list[dict[str, Any]] = field(default_factory=list)
    """Rows of steps that are still open, which the watermark has passed."""
    waited: int = 0
    """Rows up to this number were waiting, and are used up as far as their step is closed."""


@dataclass(frozen=True, slots=True)
class Sorter:
    """Brings rows to the steps of a stream."""

    reader: Reader
    sorted_reader: Reader
    """For rows whose step is known."""
    schedule: Schedule
    find: Find
    seed: bytes
    """What rows are drawn by where a unit has many: independent of all data."""

    def brought(
        self, source: Source | None, waiting: Waiting, first: int, last: int, *, after: Any, now: dt.datetime
    ) -> Brought:
        """The rows of the steps first … last, from a source and from those that were waiting."""
        brought = Brought(waited=waiting.last)
        new: Expression | None = None
        if source is not None and self.schedule.watermark is not None:
            until = self.schedule.read_until(last, now)
            new, brought.position = self._since(source, self.schedule.watermark, after, until)
            source = None if new is None else source  # nobody was there when it was looked at
        if source is None and not waiting.rows:
            return brought
        timed, passed = self.schedule.time is not None, new is not None
        if first == last and not waiting.rows and not (timed and passed):
            brought.steps[first] = self.reader.step(source, _both(new, self._within(first)), self._salt(first))
        elif not timed and first == last:
            brought.steps[first] = self._counted([*waiting.rows, *self._fetched(source, new)], first)
        elif not timed:  # what was waiting came while the first step was open
            brought.steps[first] = self._counted(waiting.rows, first)
            brought.steps[last] = self.reader.step(source, new, self._salt(last))
        else:  # what a watermark passes is not read again, so rows of later steps are kept
            condition = new if passed else self._before(last)
            by_step = self._sorted([*waiting.rows, *self._fetched(source, condition)], first)
            brought.steps = {step: self._counted(part, step) for step, part in by_step.items() if step <= last}
            brought.later = [row for step, part in by_step.items() if step > last and passed for row in part]
        return brought

    def _since(self, source: Source, watermark: str, after: Any, until: dt.datetime) -> tuple[Expression | None, Any]:
        """Rows beyond the place where the source was read to, up to the next such place; and that place.

        For dates and moments the place is public. For whole numbers it is the largest that is there.
        """
        scan = self.reader.scan
        column = scan.by_name[watermark]
        position = _public_place(column, until)
        if position is None:
            position = self.reader.largest(source, watermark, after)
        elif after is not None:
            position = max(position, after)  # a clock may be put back
        if position is None:
            return None, None
        upto = not_beyond(scan, watermark, position)
        return (upto if after is None else call("and", later(scan, watermark, after), upto)), position

    def _within(self, step: int) -> Expression | None:
        """Whether a row is of a step, or late for an earlier one and counts in this."""
        if self.schedule.time is None:
            return None
        low, high = self.schedule.period(step)
        return between(self.reader.scan, self.schedule.time, None if self.schedule.late == "next" else low, high)

    def _before(self, step: int) -> Expression:
        assert self.schedule.time is not None
        return between(self.reader.scan, self.schedule.time, None, self.schedule.period(step)[1])

    def _fetched(self, source: Source | None, within: Expression | None) -> list[dict[str, Any]]:
        if source is None:
            return []
        names = [column.name for column in self.reader.scan.fields]
        return [dict(zip(names, row, strict=True)) for row in self.reader.cells(source, within)]

    def _salt(self, step: int) -> Salt:
        return Salt(sha256(self.seed + step.to_bytes(8, "big")).digest())

    def _counted(self, rows: Sequence[dict[str, Any]], step: int) -> StepRows:
        source = source_of(list(rows), self.sorted_reader.scan, self.reader.notation, self.find)
        return self.sorted_reader.step(source, None, self._salt(step))

    def _sorted(self, rows: Sequence[dict[str, Any]], first: int) -> dict[int, list[dict[str, Any]]]:
        """Rows by step. Those without a time are left out; so are late ones, or they count in the first step."""
        by_step: dict[int, list[dict[str, Any]]] = {}
        for row in rows:
            moment = moment_in(row, self.schedule.time)
            if moment is None:
                continue
            step = self.schedule.place(moment)
            if step < first and self.schedule.late == "next":
                step = first
            if first <= step <= self.schedule.steps:
                by_step.setdefault(step, []).append(row)
        return by_step

    def keep(self, database: Database, rows: Sequence[dict[str, Any]]) -> None:
        """Write rows down that wait for their step; of those without a time nothing would ever be done."""
        names = [column.name for column in self.reader.scan.fields]
        for row in rows:
            moment = moment_in(row, self.schedule.time)
            if moment is None and self.schedule.time is not None:
                continue
            kept = {
                "moment": None if moment is None else moment.isoformat(),
                "cells": cells_written(names, tuple(row[name] for name in names)),
            }
            database.execute("INSERT INTO pending (moment, cells) VALUES (:moment, :cells)", kept)

    def fetched(self, source: Source | None) -> list[dict[str, Any]]:
        """All rows of a source, to be kept."""
        return self._fetched(source, None)


def waiting_rows(database: Database, schedule: Schedule, last: int) -> Waiting:
    """The rows that wait for the steps up to this one."""
    if schedule.time is None:
        stored = database.execute("SELECT number, cells FROM pending ORDER BY number")
    else:
        end = schedule.period(last)[1].isoformat()
        stored = database.execute("SELECT number, cells FROM pending WHERE moment < :end ORDER BY number", {"end": end})
    rows = [(row["number"], cells_reread(row["cells"])) for row in stored]
    return Waiting(max((number for number, _ in rows), default=0), tuple(row for _, row in rows))


def use_up(database: Database, schedule: Schedule, last: int, waited: int) -> None:
    """Forget the rows that were waiting for a step that is closed now."""
    if schedule.time is None:
        database.execute("DELETE FROM pending WHERE number <= :waited", {"waited": waited})
        return
    end = schedule.period(last)[1].isoformat()
    row = {"end": end, "waited": waited}
    database.execute("DELETE FROM pending WHERE moment < :end AND number <= :waited", row)


def moment_in(row: dict[str, Any], column: str | None) -> dt.datetime | None:
    """When a row happened."""
    value = None if column is None else row.get(column)
    if isinstance(value, dt.datetime):
        return value
    return None if value is None else dt.datetime(value.year, value.month, value.day)


def _public_place(column: Column, until: dt.datetime) -> dt.date | dt.datetime | None:
    """The last date or moment before one, up to which a column is read; None for whole numbers."""
    if column.kind == "timestamp":
        return until - dt.timedelta(microseconds=1)
    return until.date() - dt.timedelta(days=1) if column.kind == "date" else None


def _both(first: Expression | None, second: Expression | None) -> Expression | None:
    if first is None or second is None:
        return first if second is None else second
    return call("and", first, second)
