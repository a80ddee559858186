"""Explanations of an error: how it depends on the number of people and, in teaching mode, on clipping."""

from __future__ import annotations

from dataclasses import replace

import lapwing as lw
from lapwing.errors import InvalidParameter
from lapwing.web.lab.analyses import forms, rows
from lapwing.web.lab.analyses.count import condition
from lapwing.web.lab.analyses.curated import CONFIDENCE, CuratedAnalysis, blank
from lapwing.web.lab.analyses.filters import Filter
from lapwing.web.lab.analyses.mean import Mean
from lapwing.web.lab.analysis import Analysis, Data, Progress
from lapwing.web.lab.result import Preview, Result, Series, Value
from lapwing.web.lab.statement import StatedColumn, Statement

FACTORS = (0.1, 1.0, 10.0)
REACH = tuple(share / 10 for share in range(1, 21))
"""Upper bounds that are tried, from a tenth of the stated width to twice as much."""


def of_people(analysis: Analysis, statement: Statement) -> tuple[tuple[int, Preview], ...]:
    """The preview for a tenth of the people, for as many as were stated, and for ten times as many. No data is read."""
    sizes = {max(1, round(statement.people * factor)): factor for factor in FACTORS}
    questions = {
        people: analysis.sized(size) if isinstance(analysis, CuratedAnalysis) else analysis
        for people, size in sizes.items()
    }
    return tuple(
        (people, question.preview(replace(statement, people=people))) for people, question in questions.items()
    )


def clippable(analysis: Analysis, statement: Statement) -> StatedColumn | None:
    """The column whose upper bound is compared with others: that of one mean.

    A quantile, and a mean of each group, have other errors than the mean of all rows that is computed here.
    """
    if not isinstance(analysis, Mean):
        return None
    return next((column for column in statement.bounded if column.name == analysis.column), None)


def sample_of(analysis: Analysis, data: Data, progress: Progress) -> int:
    """How many rows of one unit are drawn at random; 0 if nobody has more rows than count. Teaching mode only.

    Privacy: which rows an answer was made of is never kept. Whoever knew that would know more than its noise hides.
    """
    statement = data.statement
    if not statement.unit:
        return 0
    unit, filtered = forms.quoted(statement.unit), condition(getattr(analysis, "where", Filter()))
    each = f"SELECT count(*) AS n FROM rows{filtered} GROUP BY {unit} HAVING {unit} IS NOT NULL"
    with rows.opened(data, progress) as source:
        [[most]] = source.all(f"SELECT coalesce(max(n), 0) FROM ({each})")
    limit = analysis.rows_of_each(statement)
    return limit if most > limit else 0


def of_clipping(analysis: Analysis, data: Data, epsilon: float, progress: Progress) -> Result:
    """How far the mean of the column is off as its upper bound moves: by clipping, and by noise. Teaching mode only.

    A low bound clips many values, which biases; a high one needs much noise. The best lies where the sum is least.
    """
    statement = data.statement
    column = clippable(analysis, statement)
    if not isinstance(analysis, Mean) or column is None or column.bounds is None:
        why = "is not one mean of a column with bounds, and other bounds are compared for that only"
        raise InvalidParameter("analysis", analysis.slug, why, "Ask for the mean of such a column.")
    low, high = column.bounds
    ends = [low + share * (high - low) for share in REACH]
    name, where = forms.quoted(column.name), analysis.where
    present = f"FILTER ({name} IS NOT NULL)"  # least and greatest pass over what is missing
    clipped = ", ".join(f"avg(least(greatest({name}, {low!r}), {end!r})) {present}" for end in ends)
    with rows.opened(data, progress) as source:
        [[plain, *means]] = source.all(f"SELECT avg({name}), {clipped} FROM rows{condition(where)}")
        count = _counting(source, statement, name, condition(where))
    progress(0.5)
    used = (analysis.rows,) if analysis.rows else ()
    bias: list[Value] = []
    noise: list[Value] = []
    both: list[Value] = []
    for place, (end, mean) in enumerate(zip(ends, means, strict=True)):
        moved = None if mean is None else abs(float(mean) - float(plain))
        off = _noise(statement, column, (low, end), epsilon, count)
        total = None if moved is None or off is None else moved + off
        for series, value in ((bias, moved), (noise, off), (both, total)):
            series.append(Value(f"{end:g}", value, x=end))
        progress(0.5 + 0.5 * (place + 1) / len(ends))
    return Result(
        "curve",
        (
            Series("error from clipping", tuple(bias), note="what values beyond the bound lose"),
            Series("error from noise", tuple(noise), note="at most this, with 95 % confidence"),
            Series("both", tuple(both)),
        ),
        f"upper bound of {column.name}",
        notes=(
            f"the mean of {', '.join((column.name, *used))} at ε = {epsilon:g}; not private, because it shows what "
            "clipping changes",
        ),
    )


def _counting(source: rows.Rows, statement: Statement, name: str, filtered: str) -> int:
    """How many values the answer is made of, whose number the noise is divided by: exact, so teaching mode only."""
    if not statement.unit:
        [[count]] = source.all(f"SELECT count({name}) FROM rows{filtered}")
        return int(count)
    unit = forms.quoted(statement.unit)
    each = f"SELECT least(count({name}), {statement.max_rows_per_unit}) AS n FROM rows{filtered} GROUP BY {unit}"
    [[count]] = source.all(f"SELECT coalesce(sum(n), 0) FROM ({each} HAVING {unit} IS NOT NULL)")
    return int(count)


def _noise(
    statement: Statement, column: StatedColumn, bounds: tuple[float, float], epsilon: float, count: int
) -> float | None:
    """How far noise may move the mean of so many values with other bounds."""
    moved = replace(column, bounds=bounds)
    columns = tuple(moved if other.name == column.name else other for other in statement.columns)
    query = blank(replace(statement, columns=columns)).agg(lw.mean(forms.quoted(column.name), name="mean"))
    return query.quote(epsilon=epsilon, confidence=CONFIDENCE, count=max(1, count)).expected[0].error
