"""From noisy sums to answers: totals so far, over some steps, or after every step. All of it is public."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from lapwing._version import __version__
from lapwing.checks import Number
from lapwing.curator.ask.columns import columns_from
from lapwing.curator.ask.quote import SEEDED, leaves_rows_out
from lapwing.curator.ask.release import afterwards
from lapwing.curator.plan.statistics import LARGEST, Bounding, Statistic
from lapwing.curator.show.answer import Answer, Column
from lapwing.curator.streams.definition import Definition
from lapwing.curator.streams.pricing import StreamItem
from lapwing.curator.streams.protection import ActiveSteps, ConsecutiveSteps
from lapwing.curator.streams.state import Estimates
from lapwing.privacy import Loss

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEP = "step"
"""The name of the column that says which step a row of a history is about, as long as nothing else is called so."""


@dataclass(frozen=True, slots=True)
class Noisy:
    """One statistic over some steps, as answers are made of it."""

    item: StreamItem
    width: Callable[[StreamItem, Number], float]
    active: int = 1
    """In how many of these steps one unit may count."""

    @property
    def statistic(self) -> Statistic:
        """Which integers."""
        return self.item.statistic

    @property
    def bounding(self) -> Bounding:
        """How much of one unit is in all of these steps together."""
        each = self.item.bounding
        rows = min(LARGEST, each.rows * self.active)
        if each.max_rows_per_unit is None:
            return replace(each, max_rows_per_group=rows)
        return replace(each, max_rows_per_unit=rows)

    @property
    def label(self) -> str:
        """What was released."""
        return self.item.label

    @property
    def outputs(self) -> tuple[str, ...]:
        """The outputs that are made of it."""
        return self.item.outputs

    @property
    def error(self) -> float:
        """How far the noise reaches with the usual confidence."""
        return self.half_width(0.95)

    def privacy_loss(self) -> Loss:
        """For the whole stream."""
        return self.item.privacy_loss()

    def half_width(self, confidence: Number) -> float:
        """How far the noise reaches in one group, in steps of the grid."""
        return self.width(self.item, confidence)


@dataclass(frozen=True, slots=True)
class Teller:
    """Makes answers of one stream."""

    definition: Definition
    items: tuple[StreamItem, ...]
    loss: Loss
    confidence: float
    notes: tuple[str, ...]
    charge: int | None = None
    """The number of the charge that paid for the stream; None where no ledger records it."""
    entry: str | None = None
    """By which the ledger recognises that charge."""

    def origin(self, *, seeded: bool) -> dict[str, Any]:
        """Where every answer of the stream comes from."""
        return {
            "lapwing": __version__,
            "question": self.definition.explain(),
            "stream": self.definition.digest(),
            "datasets": list(self.definition.query.context.datasets),
            "loss": str(self.loss),
            "charge": self.charge,
            **({"entry": self.entry} if self.entry else {}),
            **({"seeded": True} if seeded else {}),
        }

    def columns(
        self,
        estimates: Estimates,
        before: Estimates | None,
        width: Callable[[StreamItem, Number], float],
        steps: int = 1,
        unknown: Collection[Statistic] = (),
    ) -> tuple[Column, ...]:
        """The columns for totals, less those of an earlier step, so many steps before.

        An output of a statistic whose error is `unknown` has no interval, whatever its `width` is.
        """
        noisy: dict[Statistic, list[int]] = {}
        for place, item in enumerate(self.items):
            earlier = [0.0] * self.definition.groups if before is None else before[place]
            now = estimates[place]
            noisy[item.statistic] = [round((b - a) * 2.0**item.shift) for a, b in zip(earlier, now, strict=True)]
        things = [Noisy(item, width, self._active(steps)) for item in self.items]
        query = self.definition.query
        columns = columns_from(query, things, noisy, self.confidence)
        silent = {bound.output for bound in query.bounds if any(part in unknown for part in bound.statistics)}
        return afterwards(query, tuple(_without_intervals(c) if c.name in silent else c for c in columns))

    def sums(self, estimates: Estimates, before: Estimates | None, start: int, stop: int) -> tuple[Column, ...]:
        """The columns for the steps start + 1 … stop."""
        return self.columns(estimates, before, lambda item, sure: item.half_width(start, stop, sure), stop - start)

    def _active(self, steps: int) -> int:
        """In how many of so many steps one unit may count. Its rows are no sample of several units."""
        protection = self.definition.protection
        if not isinstance(protection, ActiveSteps):
            return 1
        return min(protection.steps, (steps - 1) // protection.separation + 1)

    def answer(
        self, columns: tuple[Column, ...], step: int, *, says: str, seeded: bool, kind: type[Answer] = Answer
    ) -> Answer:
        """An answer after so many steps."""
        schedule = self.definition.schedule
        name = str(schedule.name(step)) if step else None
        provenance = {
            **self.origin(seeded=seeded),
            "step": step,
            "steps": schedule.steps,
            "until": name,
            "counted": self._counted(),
        }
        notes = (*((SEEDED,) if seeded else ()), says, *self.notes)
        return kind(columns, self.loss, None, self.confidence, notes, provenance, repeated=True)

    def _counted(self) -> str | None:
        """Which rows an answer is about, where a unit may have more."""
        query = self.definition.query
        if self.definition.scan.each_row or not leaves_rows_out(query):
            return None
        every, protection = self.definition.schedule.every, self.definition.protection
        word = query.context.unit
        unit = protection.base(word, every) if isinstance(protection, ConsecutiveSteps) else word
        rows = query.effective.counted(unit, grouped=bool(query.grouping.keys))
        if not isinstance(protection, ActiveSteps):
            return f"{rows} in each {every}"
        if protection.steps == 1:
            return f"{rows}, in the first {every} in which the {word} has rows"
        return f"{rows} in each {every}, in the first {protection.steps:,} {every}s in which the {word} has rows"

    def stacked(self, parts: Sequence[tuple[int, tuple[Column, ...]]]) -> tuple[Column, ...]:
        """The columns of several steps below one another, with the step before them."""
        schedule = self.definition.schedule
        taken = {column.name for _, columns in parts for column in columns}
        name = next(word for word in (schedule.every, STEP, f"{STEP}_number") if word not in taken)
        lengths = [(step, len(columns[0].values)) for step, columns in parts]
        steps = tuple(schedule.name(step) for step, length in lengths for _ in range(length))
        joined = [Column(name, "key", steps, type=schedule.kind)]
        for place, first in enumerate(parts[0][1] if parts else ()):
            pieces = [columns[place] for _, columns in parts]
            values = tuple(value for piece in pieces for value in piece.values)
            noise, interval = (_together([getattr(piece, what) for piece in pieces]) for what in ("noise", "interval"))
            joined.append(replace(first, values=values, noise=noise, interval=interval))
        return tuple(joined)


def _without_intervals(column: Column) -> Column:
    noise, interval = (None if spans is None else (None,) * len(spans) for spans in (column.noise, column.interval))
    return replace(column, noise=noise, interval=interval)


def _together(spans: Sequence[Any]) -> Any:
    if any(span is None for span in spans):
        return None
    return tuple(pair for span in spans for pair in span)


@dataclass(frozen=True, slots=True, repr=False)
class History(Answer):
    """An answer for every closed step, one below the other. `Stream.history` makes it.

    >>> import tempfile
    >>> question = patients.stream(lw.count(), every="month", steps=12, start="2024-01-01", active_steps=1)
    >>> stream = question.open(tempfile.mkdtemp() + "/patients.stream", epsilon=1)
    >>> answer = stream.observe([{"patient": 1}, {"patient": 2}], step=2)
    >>> [str(month) for month in stream.history()["month"]]
    ['2024-01-01', '2024-02-01']
    >>> isinstance(stream.history(), lw.History)
    True
    """

    def plot(self, path: str | PathLike[str] | None = None, column: str | None = None) -> Figure:
        """Draw a line for each group with its band, and a panel for each column of values.

        Args:
            path: The file to draw into. None means that the figure is only returned.
            column: The column of values to draw. None means all of them.

        Returns:
            The figure.

        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> question = patients.stream(lw.count(), every="month", steps=12, start="2024-01-01", active_steps=1)
        >>> stream = question.open(folder + "/patients.stream", epsilon=1)
        >>> january, february = stream.observe([{"patient": 1}, {"patient": 2}]), stream.observe()
        >>> figure = stream.history().plot(folder + "/patients.png")
        """
        from lapwing.curator.show import lines

        return lines.draw(self, path, column)

    def to_frame(self) -> Any:
        """The columns of `to_dict` as a frame of pandas.

        Returns:
            A `pandas.DataFrame` with a row for each group of each step.

        >>> import tempfile
        >>> question = patients.stream(lw.count(), every="month", steps=12, start="2024-01-01", active_steps=1)
        >>> stream = question.open(tempfile.mkdtemp() + "/patients.stream", epsilon=1)
        >>> january, february = stream.observe([{"patient": 1}, {"patient": 2}]), stream.observe()
        >>> len(stream.history().to_frame())
        2
        """
        return self.to_pandas()
