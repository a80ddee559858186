"""Why an error came out other than foretold, in words, for the page of an answer.

Privacy: both are public. A forecast follows from what was stated; an interval is part of the answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from lapwing.privacy.notation import written_up
from lapwing.web.lab.analyses.local import Local
from lapwing.web.lab.analyses.mean import Mean
from lapwing.web.lab.analysis import Analysis
from lapwing.web.lab.bench import Answer
from lapwing.web.lab.result import Preview, Series
from lapwing.web.lab.statement import Statement

ALIKE = 1.15
"""Errors whose ratio is less than this are called the same."""
BY_COINS = (
    "The forecast assumes that all answers are equally frequent. How noisy a count is depends on how many people give "
    "that answer."
)


@dataclass(frozen=True, slots=True)
class Difference:
    """An output whose error was foretold to be another: both in digits for people, and why."""

    output: str
    foretold: str
    came: str
    why: str


def differences(analysis: Analysis, preview: Preview, answer: Answer, statement: Statement) -> tuple[Difference, ...]:
    """The outputs whose intervals are clearly wider or narrower than the forecast, a preview at the same epsilon."""
    surprises, people = [], statement.people
    by_name = {band.output: band for band in preview.bands}
    for series in answer.result.series:
        band, errors = by_name.get(series.name), _errors(series)
        foretold = None if band is None or band.measured_in else band.errors[0]
        if not foretold or not errors:
            continue  # what is foretold in ranks is no interval of values
        low, high = min(errors), max(errors)
        if high < ALIKE * foretold and foretold < ALIKE * low:
            continue
        why = BY_COINS if isinstance(analysis, Local) else _why(low, high, foretold, len(errors), people)
        if _says_nothing(analysis, series, statement):
            why += " This interval is as wide as the bounds, so the answer says almost nothing."
        came = f"± {_said(low)}" if high < 1.05 * low else f"± {_said(low)} to ± {_said(high)}"
        surprises.append(Difference(series.name, f"± {_said(foretold)}", came, why))
    return tuple(surprises)


def _says_nothing(analysis: Analysis, series: Series, statement: Statement) -> bool:
    """Whether the interval of a mean is as wide as the bounds of its column."""
    if not isinstance(analysis, Mean):
        return False
    bounds = next((column.bounds for column in statement.bounded if column.name == analysis.column), None)
    [value] = series.values
    if bounds is None or value.low is None or value.high is None:
        return False
    return value.high - value.low >= (bounds[1] - bounds[0]) * (1 - 1e-9)


def _said(error: float) -> str:
    return f"{math.ceil(error):,}" if error >= 1000 else written_up(error, 3)


def _errors(series: Series) -> list[float]:
    """How far off each value may be, where its interval is as wide as its noise: not if all of it lies beyond 0."""
    inside = [value for value in series.values if {value.low, value.high} != {value.value, 0.0}]
    return [value.error for value in inside if value.error is not None and value.error > 0]


def _why(low: float, high: float, foretold: float, groups: int, people: int) -> str:
    """The forecast takes rows for granted that were stated; the interval knows the noisy count."""
    shared = f"The forecast shares {people:,} people, as you stated, equally among {groups} groups. "
    if groups > 1 and low > ALIKE * foretold:
        return f"{shared}Every group here has fewer rows than that, and the same noise is divided by fewer rows."
    if groups > 1 and low * ALIKE < high:
        return (
            f"{shared}In fact groups differ in size. A small group has a larger error, because the same noise is "
            "divided by fewer rows."
        )
    if high > foretold:
        return (
            f"The forecast assumes {people:,} people, as you stated. Fewer rows were behind this answer: "
            "a filter leaves some out, cells are empty, or the cells are not written as numbers. The same noise is "
            "then divided by fewer rows."
        )
    return (
        f"The forecast assumes {people:,} people, as you stated, and holds for any data, even the worst. The interval "
        "is narrower, because more rows were behind the answer, or because the answer lies well inside the bounds."
    )
