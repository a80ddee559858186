"""What reports say: estimates with their intervals, whole batches at a time.

Nothing is told about fewer than `BATCH` reports, and nothing changes by fewer: who looks before and after somebody
answered sees either the same page, or one on which at least `BATCH` reports more count. Privacy does not rest on
that (a report is private by itself); it keeps single reports from being told at all.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lapwing.crowd import Estimates
from lapwing.crowd.intervals import exact_estimate
from lapwing.crowd.numeric import MeanEstimate
from lapwing.web.service.spreadsheets import defused
from lapwing.web.survey.parameters import CHOICE, NUMBER, Design

BATCH = 25
"""Reports of the smallest batch."""
_GROWS = 40
"""From a thousand reports on, a batch is a fortieth of all before, so that there are never many hundreds of them."""


def ends() -> Iterator[int]:
    """After how many reports a batch is full: the 25th, the 50th, …"""
    end = BATCH
    while True:
        yield end
        end += max(BATCH, end // _GROWS)


def batch_of(report: int) -> int:
    """In which batch the report of this number is counted; reports and batches count from 1 and from 0.

    >>> batch_of(1), batch_of(25), batch_of(26)
    (0, 0, 1)
    """
    return next(number for number, end in enumerate(ends()) if report <= end)


@dataclass(frozen=True, slots=True)
class Row:
    """One answer: its share in percent, or the mean of the numbers, with its 95 % interval."""

    label: str
    value: float
    low: float
    high: float

    @property
    def error(self) -> float:
        """Half of the interval."""
        return (self.high - self.low) / 2


@dataclass(frozen=True, slots=True)
class Step:
    """What was known after so many reports."""

    reports: int
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Results:
    """All that may be told about a survey."""

    design: Design
    reports: int
    """How many came, told or not: that people take part is not hidden."""
    told: int
    """How many of them stand in full batches."""
    missing: int
    """How many more it takes until the next batch is full."""
    steps: tuple[Step, ...] = ()
    gain: float = 0.0
    """How far one fake report can move an answer: percent of all people times reports, or the sum of the numbers."""

    @property
    def rows(self) -> tuple[Row, ...]:
        """The newest estimates."""
        return self.steps[-1].rows if self.steps else ()

    @property
    def verdict(self) -> str:
        """What the intervals decide, in a sentence; nothing for numbers."""
        if not self.rows or self.design.kind == NUMBER:
            return ""
        if self.design.kind != CHOICE:
            yes = self.rows[0]
            if yes.low > 50:
                return "So most of them would say yes."
            return "So most of them would say no." if yes.high < 50 else "So neither yes nor no has a clear majority."
        first, *others = sorted(self.rows, key=lambda row: row.value, reverse=True)
        if all(first.low > other.high for other in others):
            return f"So “{first.label}” is the most frequent answer: its interval lies above all others."
        return "The intervals overlap, so they do not show which answer is the most frequent."

    def moved_by(self, fakes: int) -> float:
        """How far so many fake reports among those told can have moved an answer."""
        return fakes * self.gain / self.told

    @property
    def range(self) -> tuple[float, float]:
        """From the least to the most that can be true."""
        return (float(self.design.low), float(self.design.high)) if self.design.kind == NUMBER else (0.0, 100.0)

    @property
    def top(self) -> float:
        """The upper edge of the pictures: of many small shares the lower part of all that is possible is enough."""
        if self.design.kind != CHOICE:
            return self.range[1]
        return min(100.0, 20 * math.ceil(1.3 * max(self.cut(row.high) for row in self.rows) / 20))

    def cut(self, value: float) -> float:
        """A value as it is shown: estimates without bias may lie beyond what can be true."""
        low, high = self.range
        return min(max(value, low), high)


def results(design: Design, reports: int, batches: Mapping[int, Sequence[int]]) -> Results:
    """From the tallies of all batches. Those of the batch that is not full yet are not looked at."""
    total, steps, gain = [0] * design.values, [], 0.0
    reported = 0
    for number, end in enumerate(ends()):
        if end > reports:
            missing = end - reports
            break
        total = [before + more for before, more in zip(total, batches[number], strict=True)]
        reported = end
        estimates = exact_estimate(design.protocol, design.counts(total))
        steps.append(Step(end, _rows(design, estimates)))
        gain = estimates.gain_per_fake * (1 if design.kind == NUMBER else 100)
    return Results(design, reports, reported, missing, tuple(steps), gain)


def _rows(design: Design, estimates: Estimates | MeanEstimate) -> tuple[Row, ...]:
    if isinstance(estimates, MeanEstimate):
        return (Row("Mean", estimates.mean, *estimates.interval()),)
    labels = design.answers if design.kind == CHOICE else ("Yes", "No")
    each = 100 / estimates.n
    return tuple(
        Row(label, *(each * float(value) for value in values))
        for label, *values in zip(labels, estimates.counts, *estimates.interval(), strict=True)
    )


def as_csv(results: Results) -> str:
    """The estimates after every batch, uncut; texts that a spreadsheet would compute are marked as text."""
    out = io.StringIO()
    writer = csv.writer(out)
    what = "mean" if results.design.kind == NUMBER else "percent"
    writer.writerow(["reports", "answer", what, "low", "high"])
    for step in results.steps:
        for row in step.rows:
            writer.writerow(
                [step.reports, defused(row.label), *(f"{number:.6g}" for number in (row.value, row.low, row.high))]
            )
    return out.getvalue()


@dataclass(frozen=True, slots=True)
class Band:
    """How an interval narrows, as paths of a picture 100 wide and 100 high."""

    band: str
    line: str
    text: str


def band(results: Results, place: int) -> Band:
    """The picture of one answer."""
    low, high = results.range[0], results.top
    last = results.steps[-1].reports

    def at(reports: int, value: float) -> str:
        down = 100 * (high - min(results.cut(value), high)) / (high - low)
        return f"{100 * reports / last:.2f},{down:.2f}"

    rows = [(step.reports, step.rows[place]) for step in results.steps]
    upper = [at(n, row.high) for n, row in rows]
    lower = [at(n, row.low) for n, row in reversed(rows)]
    line = [at(n, row.value) for n, row in rows]
    ends = [(f"{n:,} answers", results.cut(row.low), results.cut(row.high)) for n, row in (rows[0], rows[-1])]
    ranges = "; ".join(
        f"after {after} between {least:.3g} and {most:.3g}" for after, least, most in dict.fromkeys(ends)
    )
    if len(rows) == 1:  # one batch: a short bar instead of a line without length
        heights = [point.partition(",")[2] for point in (upper[0], lower[0], line[0])]
        upper, lower, line = ([f"96,{height}", f"100,{height}"] for height in heights)
        lower.reverse()
    return Band(f"M{'L'.join([*upper, *lower])}Z", f"M{'L'.join(line)}", f"{rows[0][1].label}: {ranges}")
