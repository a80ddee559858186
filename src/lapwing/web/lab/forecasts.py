"""Explain on the page of an answer why its error differs from the forecast.

Privacy: both are public. A forecast follows from what was stated; an interval is part of the answer.
"""

from __future__ import annotations

from dataclasses import dataclass

from lapwing.web.lab.analyses.curated import CuratedAnalysis
from lapwing.web.lab.analyses.local import Local
from lapwing.web.lab.analyses.mean import Mean
from lapwing.web.lab.analysis import Analysis
from lapwing.web.lab.bench import Answer
from lapwing.web.lab.result import Preview, Series, Value, off_by
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
    surprises = []
    by_name = {band.output: band for band in preview.bands}
    for series in answer.result.series:
        band, inside = by_name.get(series.name), _inside(series)
        errors = [value.error or 0.0 for value in inside]
        foretold = None if band is None or band.measured_in else band.errors[0]
        if not foretold or not errors:
            continue  # what is foretold in ranks is no interval of values
        low, high = min(errors), max(errors)
        if high < ALIKE * foretold and foretold < ALIKE * low:
            continue
        if isinstance(analysis, Local):
            why = BY_COINS
        elif isinstance(analysis, CuratedAnalysis) and analysis.secret:
            why = _of_secret_groups(high, foretold)
        else:
            groups = analysis.groups(statement) if isinstance(analysis, CuratedAnalysis) else len(errors)
            matching = analysis.matching if isinstance(analysis, CuratedAnalysis) else 0
            rows = f"{matching:,} rows that match the condition" if matching else statement.crowd_size
            why = _why(low, high, foretold, groups, rows)
        if _says_nothing(analysis, series, statement):
            why += " This interval is as wide as the bounds, so the answer says almost nothing."
        least, most = (pick(inside, key=lambda value: value.error or 0.0).off_by for pick in (min, max))
        came = f"± {most}" if high < 1.05 * low else f"± {least} to ± {most}"
        surprises.append(Difference(series.name, f"± {off_by(foretold)}", came, why))
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


def _inside(series: Series) -> list[Value]:
    """The values whose intervals are as wide as their noise: not if all of it lies beyond 0."""
    inside = [value for value in series.values if {value.low, value.high} != {value.value, 0.0}]
    return [value for value in inside if value.error is not None and value.error > 0]


def _of_secret_groups(high: float, foretold: float) -> str:
    """The forecast knows no group, and so is that of the smallest one that is likely shown."""
    basis = "Which groups there are is private, so the forecast is for the smallest group that is likely shown. "
    if high > ALIKE * foretold:
        return f"{basis}A group here has fewer rows with a value, and the same noise is divided by fewer rows."
    return f"{basis}The groups here are larger, and the same noise is divided by more rows."


def _why(low: float, high: float, foretold: float, groups: int, crowd: str) -> str:
    """The forecast takes rows for granted that were stated; the interval knows the noisy count."""
    shared = f"The forecast shares {crowd}, as you stated, equally among {groups} groups. "
    if groups > 1 and low > ALIKE * foretold:
        return f"{shared}Every group here has fewer rows than that, and the same noise is divided by fewer rows."
    if groups > 1 and high > ALIKE * foretold:
        return (
            f"{shared}In fact groups differ in size. A small group has a larger error, because the same noise is "
            "divided by fewer rows."
        )
    if groups > 1:
        which = "These" if ALIKE * high < foretold else "Some of these"
        return (
            f"{shared}It holds for any data, even the worst. {which} intervals are narrower because more rows had a "
            "value, or because the answers are far from both bounds."
        )
    if high > foretold:
        return (
            f"The forecast assumes {crowd}, as you stated. Fewer rows were behind this answer: "
            "a filter leaves some out, cells are empty, or the cells are not written as numbers. The same noise is "
            "then divided by fewer rows."
        )
    return (
        f"The forecast assumes {crowd}, as you stated, and holds for any data, even the worst. The interval is "
        "narrower because more rows had a value, or because the answer is far from both bounds."
    )
