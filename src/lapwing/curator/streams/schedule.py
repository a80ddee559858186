"""When the steps of a stream begin and end: by the calendar, which is public, and never by how many rows there are."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal, get_args

from lapwing import checks
from lapwing.curator.plan.expressions import Kind
from lapwing.curator.plan.hints import which_column
from lapwing.errors import InvalidParameter

Every = Literal["minute", "hour", "day", "week", "month", "step"]
Late = Literal["drop", "next"]
LENGTHS = {
    "minute": dt.timedelta(minutes=1),
    "hour": dt.timedelta(hours=1),
    "day": dt.timedelta(days=1),
    "week": dt.timedelta(weeks=1),
}
"""Of what always lasts equally long."""
MOST_STEPS = 1 << 24
NO_TIME, LONGEST_GRACE = dt.timedelta(0), dt.timedelta(days=1000)


def moment_of(name: str, value: Any) -> dt.datetime:
    """A date, a moment, or text that is one, as a moment in UTC without a zone, as tables have it.

    >>> moment_of("start", "2026-11-18")
    datetime.datetime(2026, 11, 18, 0, 0)
    """
    given = value
    if isinstance(given, str):
        try:
            given = dt.datetime.fromisoformat(given)
        except ValueError:
            given = None
    if isinstance(given, dt.datetime):
        return given if given.tzinfo is None else given.astimezone(dt.UTC).replace(tzinfo=None)
    if isinstance(given, dt.date):
        return dt.datetime(given.year, given.month, given.day)
    hint = f"Write {name}='2026-11-18', or a datetime.date."
    raise InvalidParameter(name, value, "is neither a date nor a moment", hint)


def now() -> dt.datetime:
    """The time by the clock of this machine, in UTC.

    Returns:
        The moment, without a time zone, as tables have it.
    """
    return dt.datetime.now(dt.UTC).replace(tzinfo=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A public number of steps of equal name, one after the other. Steps have numbers from 1 on.

    With `every="step"` whoever observes is the clock, and states that the time of a step depends on no record.

    >>> march = Schedule(every="month", steps=12, start="2026-01-01").period(3)
    >>> f"{march[0]:%d.%m.} to {march[1]:%d.%m.}"
    '01.03. to 01.04.'
    """

    every: Every = "day"
    steps: int
    start: Any = None
    """When the first step begins, as far as the calendar has steps."""
    time: str | None = None
    """The column that says when a row happened; without it all rows that are brought are of the step that is closed."""
    late: Late = "drop"
    """What becomes of rows whose step is closed already: left out, or counted in the next step."""
    grace: dt.timedelta = NO_TIME
    """How long after its end a step stays open."""
    watermark: str | None = None
    """A column by which a source is read from where the last step left off.

    Moments and dates are read up to a public moment (`read_until`). Whole numbers must be given by the database when a
    row is inserted, each larger than all before it, and never by people: a number far ahead would hide later rows.
    """

    def __post_init__(self) -> None:
        assign = object.__setattr__
        checks.one_of(get_args(Every), every=self.every)
        checks.one_of(get_args(Late), late=self.late)
        checks.text_or_none(time=self.time, watermark=self.watermark)
        if checks.whole(steps=self.steps) > MOST_STEPS:
            raise InvalidParameter(
                "steps", self.steps, f"is more than {MOST_STEPS:,}", "Write longer steps: every='day'."
            )
        if not isinstance(self.grace, dt.timedelta) or not NO_TIME <= self.grace <= LONGEST_GRACE:
            hint = "Write grace=datetime.timedelta(hours=2)."
            why = f"must be a span of time, from 0 to {LONGEST_GRACE.days:,} days"
            raise InvalidParameter("grace", self.grace, why, hint)
        if self.every == "step":
            self._refuse_time()
            return
        if self.start is None:
            why = "the beginning of the first step is public, and never read from rows"
            raise InvalidParameter("start", None, why, f"Write start='2026-01-01' for the first {self.every}.")
        start = moment_of("start", self.start)
        if start != self._floor(start):
            hint = f"Write start={self._shown(self._floor(start))!r}."
            raise InvalidParameter("start", str(self.start), f"is not the beginning of a {self.every}", hint)
        assign(self, "start", start)
        try:
            _ = self._at(self.steps) + self.grace  # the last moment that is ever computed
        except (OverflowError, ValueError):
            raise InvalidParameter("steps", self.steps, "end after the year 9999", "Write fewer.") from None

    def _refuse_time(self) -> None:
        for name, given in (("start", self.start), ("time", self.time), ("grace", self.grace or None)):
            if given is not None:
                why = "is for steps of the calendar, and with every='step' you say when a step ends"
                raise InvalidParameter(name, given, why, "Leave it out, or write every='day'.")
        if self.late != "drop":
            why = "needs a column that says when a row happened"
            raise InvalidParameter("late", self.late, why, "Write every='day' and time='at' as well.")

    @property
    def takes_kept_rows_only(self) -> bool:
        """Whether rows come by `add` alone: late rows count later, and nothing says which were read already."""
        return self.late == "next" and self.watermark is None

    def check_time(self, kind: Kind | None, columns: Collection[str]) -> None:
        """Refuse a column of another kind than the steps need, or that is none of the table's `columns`."""
        if self.time is None:
            if self.late != "drop":
                why = "needs a column that says when a row happened"
                raise InvalidParameter("late", self.late, why, "Write time='at' as well.")
            return
        if kind is None:
            hint = which_column(self.time, columns)
            raise InvalidParameter("time", self.time, "is not a column of the table", hint)
        wanted = ("timestamp",) if self.every in ("minute", "hour") else ("timestamp", "date")
        if kind not in wanted:
            why = f"is of kind {kind}, and steps of a {self.every} need a {' or a '.join(wanted)}"
            raise InvalidParameter(
                "time", self.time, why, f"Open the table with types={{{self.time!r}: {wanted[0]!r}}}."
            )

    def check_watermark(self, kind: Kind | None, columns: Collection[str]) -> None:
        """Refuse a column that does not grow, or that is none of the table's `columns`."""
        if self.watermark is not None and kind is None:
            hint = which_column(self.watermark, columns)
            raise InvalidParameter("watermark", self.watermark, "is not a column of the table", hint)
        if self.watermark is not None and kind not in ("integer", "date", "timestamp"):
            why = "must be a column of whole numbers, dates or moments that only grow from row to row"
            raise InvalidParameter("watermark", self.watermark, why, "Write watermark='id', for example.")

    def period(self, step: int) -> tuple[dt.datetime, dt.datetime]:
        """When a step begins and when it ends; the end belongs to the next one."""
        return self._at(step - 1), self._at(step)

    def name(self, step: int) -> int | dt.date | dt.datetime:
        """What a step is called: its number, its day, or the moment in which it begins."""
        if self.every == "step":
            return step
        begins = self._at(step - 1)
        return begins if self.every in ("minute", "hour") else begins.date()

    @property
    def kind(self) -> Literal["integer", "date", "timestamp"]:
        """Of the names of steps."""
        if self.every == "step":
            return "integer"
        return "timestamp" if self.every in ("minute", "hour") else "date"

    def step_of(self, given: Any) -> int:
        """The step that a number means, or a date or moment in it."""
        if isinstance(given, int) and not isinstance(given, bool):
            step = given
        elif self.every == "step":
            raise InvalidParameter("step", given, "must be a number", "Write step=12.")
        else:
            moment = moment_of("step", given)
            step = self._before(moment) + 1
        if not 1 <= step <= self.steps:
            why = f"the stream has the steps 1 to {self.steps:,}"
            if self.every != "step":
                why += f", {self._shown(self._at(0))} to {self._shown(self._at(self.steps - 1))}"
            raise InvalidParameter("step", given, why, "Name one of them.")
        return step

    def place(self, moment: dt.datetime) -> int:
        """The number of the step that a moment lies in, which may be none of the stream's."""
        return self._before(moment) + 1

    def over(self, moment: dt.datetime) -> int:
        """How many steps are over at a moment, by the clock."""
        if self.every == "step":
            return self.steps
        return max(0, min(self.steps, self._before(moment - self.grace)))

    def read_until(self, step: int, moment: dt.datetime) -> dt.datetime:
        """Before which moment a watermark of dates or moments is read for a step: the end of the step and its grace.

        Where the calendar has no steps, it is the moment at which somebody observes.
        """
        return moment if self.every == "step" else self.period(step)[1] + self.grace

    def words(self, count: int) -> str:
        """So many steps."""
        return f"{count:,} {self.every}" if count == 1 else f"{count:,} {self.every}s"

    def written(self) -> dict[str, Any]:
        """As plain data."""
        start = None if self.start is None else self.start.isoformat()
        grace = self.grace / dt.timedelta(microseconds=1)
        return {
            "every": self.every, "steps": self.steps, "start": start, "time": self.time, "late": self.late,
            "grace": int(grace), "watermark": self.watermark,
        }  # fmt: skip

    @staticmethod
    def read(data: dict[str, Any]) -> Schedule:
        """The schedule that was written."""
        return Schedule(**{**data, "grace": dt.timedelta(microseconds=data["grace"])})

    def _at(self, steps: int) -> dt.datetime:
        """The moment after so many steps."""
        start: dt.datetime = self.start
        if self.every != "month":
            return start + steps * LENGTHS[self.every]
        years, month = divmod(start.month - 1 + steps, 12)
        return start.replace(year=start.year + years, month=month + 1)

    def _before(self, moment: dt.datetime) -> int:
        """How many steps have ended at a moment; negative before the first begins."""
        start: dt.datetime = self.start
        if self.every != "month":
            return (moment - start) // LENGTHS[self.every]
        return 12 * (moment.year - start.year) + moment.month - start.month

    def _floor(self, moment: dt.datetime) -> dt.datetime:
        """The beginning of the step of this length that a moment lies in; a week may begin on any day."""
        kept = {"minute": 5, "hour": 4, "day": 3, "week": 3, "month": 2}[self.every]
        zero = {"microsecond": 0, "second": 0, "minute": 0, "hour": 0, "day": 1}
        return moment.replace(**dict(list(zero.items())[: 7 - kept]))  # type: ignore[arg-type]

    def _shown(self, moment: dt.datetime) -> str:
        return f"{moment:%Y-%m-%d %H:%M}" if self.every in ("minute", "hour") else f"{moment:%Y-%m-%d}"
