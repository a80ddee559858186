"""The result of an analysis, in one shape for every question: tables for people, numbers for pictures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NotRequired, TypedDict

from lapwing.privacy import Loss

Shape = Literal["number", "bars", "curve", "table", "points", "tree"]
"""How it is drawn: one number, bars over names, a curve over numbers, a table only, points in the plane, or areas in
areas (then `Value.x` is how deep a group stands, and each stands before those within it)."""


def off_by(error: float, value: float = 0.0) -> str:
    """An error as every page of the lab writes it, before and after a release: two digits, rounded up.

    >>> off_by(59.79), off_by(0.1115), off_by(1234.5), off_by(0.0)
    ('60', '0.12', '1,235', '0')
    """
    if error <= 0:
        return "0"
    fine = 0 if error >= 10 else min(12, 1 - math.floor(math.log10(error)))
    moved = 0.0 if value.is_integer() else abs(round(value, fine) - value)
    text = f"{math.ceil((error + moved) * 10**fine - 1e-9) / 10**fine:,.{fine}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


@dataclass(frozen=True, slots=True)
class Value:
    """One number of an answer. `low` and `high` say where the exact one lies, at the result's confidence."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    x: float | None = None
    """Where it stands, if the labels are numbers: the middle of a bin, the abscissa of a point."""

    @property
    def error(self) -> float | None:
        """How far off it may be: to the farther end, where one of them is a bound such as 0."""
        if self.value is None or self.low is None or self.high is None:
            return None
        return max(self.high - self.value, self.value - self.low)

    @property
    def off_by(self) -> str:
        """The error as the page writes it (`offBy` in math/lab.ts): two digits, rounded up, also around the value.

        >>> Value("", 4201.7, 4131.6, 4271.8).off_by
        '71'
        """
        return "0" if self.value is None else off_by(self.error or 0.0, self.value)


@dataclass(frozen=True, slots=True)
class Series:
    """Values that belong together: one output of a question, over its groups."""

    name: str
    values: tuple[Value, ...]
    measured_in: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """An answer: private with its loss, or exact without one."""

    shape: Shape
    series: tuple[Series, ...]
    x_label: str = ""
    loss: Loss | None = None
    """What it cost. None is an exact answer, which only teaching mode shows."""
    confidence: float = 0.95
    notes: tuple[str, ...] = ()
    rows_used: str = ""
    """Of how many rows of a person the answer is, where a person may have more: "at most 6 rows of each plane"."""
    drawn: tuple[Series, ...] = ()
    """What a picture shows, where that is computed from the numbers: the line of two coefficients."""
    mechanism: str = ""
    """How noise was added, where that was chosen meanwhile."""

    @property
    def private(self) -> bool:
        """Whether it may be shown to others."""
        return self.loss is not None


@dataclass(frozen=True, slots=True)
class Band:
    """How far one output may be off at every epsilon that was asked for, without a look at the data."""

    output: str
    errors: tuple[float | None, ...]
    """None where it cannot be said without the data; then `why` says why."""
    measured_in: str = ""
    why: str = ""
    condition: str = ""
    """Of how many rows it is, where it may well be of fewer: "in a group of 500 rows"."""
    caveat: str = ""
    """What makes it larger than that, as a sentence: a filter that leaves out nobody knows how many rows."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What a question would cost and be worth, for every epsilon that was asked for."""

    bands: tuple[Band, ...]
    confidence: float = 0.95
    delta: float = 0.0
    notes: tuple[str, ...] = ()
    mechanism: str = ""
    """In words, with the library's name of it, for the label."""
    rows_used: str = ""
    """As in `Result`: then the errors are those of the noise, and not of the rows that are left out."""


class Budget(TypedDict):
    """What may be spent on a table in all, what was spent, and what is left, in epsilon."""

    allowance: float
    spent: float
    left: float
    delta: NotRequired[float]
    delta_left: NotRequired[float]


class QuestionHandles(TypedDict):
    """What the handles of a page need: how far off at every place of the slider, and the budget."""

    title: str
    asked: Sequence[tuple[str, str]]
    places: tuple[float, ...]
    preview: Preview
    budget: Budget
    unit: str
    people: int
    based_on: Sequence[str]
    """What the forecast and the guarantee rest on, a sentence each."""


FOR_BROWSERS = (Value, Series, Result, Band, Preview, Budget, QuestionHandles)
"""What pages tell their scripts as JSON; tools/kinds.py writes it down as types of TypeScript."""


def _steps() -> tuple[float, ...]:
    """The places of the slider for epsilon, as in `lib/epsilon.ts`: twenty for each power of ten from 0.01 to 10."""
    from math import log, nextafter

    low, high, count = 0.01, 10.0, 60
    three = nextafter(log(3), 0)  # nothing becomes more than three times as likely, not by a rounding either
    marks = {round(log(mark / low) / log(high / low) * count): mark for mark in (0.01, 0.1, log(2), three, 10.0)}
    return tuple(marks.get(step, float(f"{low * (high / low) ** (step / count):.2g}")) for step in range(count + 1))


EPSILONS = _steps()


def measured(error: str, what: str) -> str:
    """An error as it is written, and in what it is measured.

    >>> measured("12", "ranks"), measured("1", "ranks"), measured("0.5", "")
    ('12 ranks', '1 rank', '0.5')
    """
    return f"{error} {what.removesuffix('s') if error == '1' else what}".rstrip()


def error_at(errors: Sequence[float], epsilon: float) -> float:
    """Of the errors at `EPSILONS`, on the line in logarithms that the page draws between two of them."""
    if epsilon <= EPSILONS[0]:
        return errors[0] * EPSILONS[0] / epsilon  # under the slider's first place errors grow as epsilon falls
    after = next((place for place, size in enumerate(EPSILONS) if epsilon <= size), len(EPSILONS) - 1)
    known = {EPSILONS[place]: errors[place] for place in (after, after - 1)}
    if epsilon >= EPSILONS[after] or min(known.values()) <= 0:
        return errors[after] if epsilon >= EPSILONS[after] else max(known.values())
    (high, fine), (low, rough) = known.items()
    share = math.log(epsilon / low) / math.log(high / low)
    return math.exp(math.log(rough) + share * math.log(fine / rough))
