"""Weekly disease counts of counties, regions and a country: published so that they add up over place and time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lapwing import charts
from lapwing.datasets import REGIONS, chickenpox
from lapwing.experiments.experiment import Experiment, Row, column, entropy, select
from lapwing.mechanisms import CrossedHierarchy, Tree

if TYPE_CHECKING:
    import datetime as dt

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

RHO = 0.1
CONFIDENCE = 0.95
ALONE, FINEST, CONSISTENT, WHOLE = (
    "each table by itself",
    "only counties by week, summed",
    "consistent",
    "whole numbers",
)
METHODS = (ALONE, FINEST, CONSISTENT, WHOLE)
PLACES = ("country", "regions", "counties")
TIMES = ("all years", "years", "quarters", "weeks")
YEAR, COUNTY = 2014, "Nógrád"
"""What is shown as it would be published."""


def compute(repeats: int = 10, rho: float = RHO) -> list[Row]:
    """Errors of each way to publish, by level; how far sums are apart; and tables as they would be published."""
    weeks, cases = table()
    trees = (place_tree(), time_tree(weeks))
    crossed = CrossedHierarchy(trees=trees, rho=rho, unit="case")
    finest = CrossedHierarchy(trees=trees, rho=rho, weights=([0, 0, 1], [0, 0, 0, 1]), integers=False, unit="case")
    exact, errors = crossed.sums(cases), {(method, levels): 0.0 for method in METHODS for levels in crossed.levels}
    gaps, negative, covered, last = dict.fromkeys(METHODS, 0.0), dict.fromkeys(METHODS, 0), 0, None
    for repeat in range(repeats):
        noisy = crossed.measure(cases, entropy("e-health", repeat))
        last = crossed.consistent(noisy)
        summed = finest.release(cases, entropy("e-health", "finest", repeat)).tables
        by_method: dict[str, Any] = {ALONE: noisy, FINEST: summed, CONSISTENT: last.estimates, WHOLE: last.tables}
        for method, tables in by_method.items():
            for levels, truth in exact.items():
                errors[method, levels] += float(((tables[levels] - truth) ** 2).mean()) / repeats
            apart = tables[0, 3][0] - tables[2, 3].sum(axis=0)
            gaps[method] += float((apart.astype(float) ** 2).mean()) / repeats
            negative[method] += int(sum((table < 0).sum() for table in tables.values()))
        for levels, (low, high) in crossed.intervals(last, CONFIDENCE).items():
            covered += int(((low <= exact[levels]) & (exact[levels] <= high)).sum())
    assert last is not None
    theory = {
        ALONE: {levels: 1 / (2 * rho * float(share)) for levels, share in crossed.shares.items()},
        FINEST: {levels: float(spread.mean()) for levels, spread in finest.variances().items()},
        CONSISTENT: {levels: float(spread.mean()) for levels, spread in crossed.variances().items()},
    }
    numbers = sum(truth.size for truth in exact.values())
    rows: list[Row] = []
    for (method, (i, j)), square in errors.items():
        expected = theory[method][i, j] if method in theory else None
        rows.append(
            {
                "kind": "error",
                "method": method,
                "place": PLACES[i],
                "time": TIMES[j],
                "numbers": int(exact[i, j].size),
                "error": math.sqrt(square),
                "theory": None if expected is None else math.sqrt(expected),
            }
        )
    for method in METHODS:
        share = negative[method] / (repeats * numbers)
        rows.append({"kind": "sums", "method": method, "apart": math.sqrt(gaps[method]), "negative": share})
    rows.append({"kind": "coverage", "method": WHOLE, "numbers": numbers, "covered": covered / (repeats * numbers)})
    ends = crossed.intervals(last, CONFIDENCE)
    return rows + _published(weeks, last.tables, ends, exact)


def table() -> tuple[list[dt.date], NDArray[Any]]:
    """The Mondays, and the cases: a row for each county in the order of the regions, a column for each week."""
    import numpy as np

    columns = chickenpox()
    counties = [county for below in REGIONS.values() for county in below]
    return columns["week"], np.array([columns[county] for county in counties])


def place_tree() -> Tree:
    """The country, its regions, their counties."""
    return Tree([[len(REGIONS)], [len(below) for below in REGIONS.values()]])


def time_tree(weeks: Sequence[dt.date]) -> Tree:
    """All years, years, quarters and weeks; a week belongs to where its Monday is."""
    years = [week.year for week in weeks]
    quarters = [(week.year, (week.month - 1) // 3) for week in weeks]
    return Tree(
        [
            [len(set(years))],
            [len({quarter for quarter in quarters if quarter[0] == year}) for year in dict.fromkeys(years)],
            [quarters.count(quarter) for quarter in dict.fromkeys(quarters)],
        ]
    )


def _published(weeks: Sequence[dt.date], tables: Any, ends: Any, exact: Any) -> list[Row]:
    """Regions by quarter and the year's totals, and one county by week."""
    years = list(dict.fromkeys(week.year for week in weeks))
    year = years.index(YEAR)
    spots = [
        (name, f"Q{quarter + 1}", (level, 2), (place, 4 * year + quarter))
        for level, names in ((1, list(REGIONS)), (0, ["Hungary"]))
        for place, name in enumerate(names)
        for quarter in range(4)
    ]
    spots += [
        (name, str(YEAR), (level, 1), (place, year))
        for level, names in ((1, list(REGIONS)), (0, ["Hungary"]))
        for place, name in enumerate(names)
    ]
    counties = [county for below in REGIONS.values() for county in below]
    spots += [
        (COUNTY, week.isoformat(), (2, 3), (counties.index(COUNTY), place))
        for place, week in enumerate(weeks)
        if week.year == YEAR
    ]
    return [
        {
            "kind": "published",
            "place": name,
            "time": time,
            "value": int(tables[levels][cell]),
            "low": float(ends[levels][0][cell]),
            "high": float(ends[levels][1][cell]),
            "exact": int(exact[levels][cell]),
        }
        for name, time, levels, cell in spots
    ]


def draw(rows: Sequence[Row]) -> Figure:
    """The error of each way to publish, by level; and a county as it would be published."""
    figure, [left, right] = charts.figure(2, size=(11.6, 5.2), values="x")
    numbers = select(rows, kind="coverage")[0]["numbers"]
    names = [f"{place} · {time}" for place in PLACES for time in TIMES]
    for place, method in ((1, ALONE), (2, FINEST), (0, CONSISTENT)):
        chosen, colour = select(rows, kind="error", method=method), charts.SERIES[place]
        options: dict[str, Any] = {"color": colour, "ms": 7, "label": LABELS[method], "zorder": 3}
        left.plot(column(chosen, "theory"), range(len(names)), charts.MARKERS[place], **options)
    whole = column(select(rows, kind="error", method=WHOLE), "error")
    left.plot(whole, range(len(names)), "|", color=charts.QUIET, ms=11, mew=1.6, label=LABELS[WHOLE], zorder=4)
    charts.numbers(left, x="log")
    charts.rows(left, names)
    for line in (3.5, 7.5):
        left.axhline(line, color=charts.LINE, lw=0.8)
    charts.legend(left, loc="lower right")
    charts.name_axes(left, "What every number is off by", "root mean square error, in cases", "")
    series = [row for row in select(rows, kind="published", place=COUNTY) if "-" in row["time"]]
    weeks = range(1, len(series) + 1)
    right.fill_between(weeks, column(series, "low"), column(series, "high"), color=charts.NOISE, alpha=0.3, lw=0)
    right.plot(weeks, column(series, "exact"), color=charts.QUIET, lw=1, label="exact, not published")
    right.plot(
        weeks, column(series, "value"), "o", color=charts.PRIVATE, ms=3.6, label="published, with 95 % intervals"
    )
    charts.numbers(right)
    right.grid(visible=False, axis="x")
    right.grid(visible=True, axis="y", color=charts.LINE, lw=0.8)
    right.set_ylim(0, None)
    right.set_xlim(0.5, len(series) + 0.5)
    charts.legend(right, loc="upper right")
    charts.name_axes(right, f"A county as it is published: {COUNTY}, {YEAR}", "week", "cases")
    charts.caption(
        figure,
        f"Chickenpox in Hungary: 20 counties, 522 weeks, {numbers:,} numbers. ρ = {RHO:g} per case for all of them. "
        "Errors by theory; those of whole numbers are measured. What is published adds up exactly over place and time.",
    )
    return figure


LABELS = {
    ALONE: "each table by itself",
    FINEST: "only the finest table, summed",
    CONSISTENT: "consistent",
    WHOLE: "consistent, whole numbers",
}


def tell(rows: Sequence[Row]) -> str:
    """What one sees, and the table that an office would publish."""

    def error(method: str, place: str, time: str) -> float:
        return float(select(rows, kind="error", method=method, place=place, time=time)[0]["error"])

    pairs = zip(*(select(rows, kind="error", method=method) for method in (CONSISTENT, ALONE)), strict=True)
    better = [1 - consistent["theory"] / alone["theory"] for consistent, alone in pairs]
    apart = {row["method"]: row for row in select(rows, kind="sums")}
    covered = select(rows, kind="coverage")[0]
    corners = [("counties", "weeks"), ("country", "weeks"), ("counties", "years"), ("country", "all years")]
    shown = (ALONE, FINEST, WHOLE)
    lines = [
        f"| {place}, {time} | {' | '.join(f'{error(method, place, time):.1f}' for method in shown)} |"
        for place, time in corners
    ]
    names = [*REGIONS, "Hungary"]
    published = {(row["place"], row["time"]): row for row in select(rows, kind="published")}
    times = ["Q1", "Q2", "Q3", "Q4", str(YEAR)]
    cells = [f"| {name} | " + " | ".join(_cell(published[name, time]) for time in times) + " |" for name in names]
    return "\n\n".join(
        [
            f"Counties, regions and the country; weeks, quarters, years and all years: {covered['numbers']:,} numbers, "
            f"which cost ρ = {RHO:g} together. Each number has noise of its own. Weighted least squares then finds the "
            "numbers that agree over place and time, and they are rounded to whole numbers of at least 0.",
            f"| root mean square error | {' | '.join(LABELS[method] for method in shown)} |\n|---|---|---|---|\n"
            + "\n".join(lines),
            f"By theory, consistency makes numbers {100 * min(better):.0f} % to {100 * max(better):.0f} % more "
            "accurate than the same noise without it, on every level. The finest table alone has smaller errors in "
            "single weeks of counties and regions, and far larger ones in all other totals.",
            "Published each by itself, the weekly counts of the country and the sums of their counties differ by "
            f"{apart[ALONE]['apart']:.0f} cases, and {100 * apart[ALONE]['negative']:.1f} % of all numbers are "
            f"negative. Here the difference is {apart[WHOLE]['apart']:.0f}, and no number is negative. Of the 95 % "
            f"intervals, {100 * covered['covered']:.1f} % hold the exact number.",
            f"What an office would publish for {YEAR}, with 95 % intervals. Nothing is suppressed, and all sums hold:",
            f"| | {' | '.join(times)} |\n|---|{'---|' * len(times)}\n" + "\n".join(cells),
            "The unit is a reported case. A person who is reported twice is protected as two cases, each with ρ, not "
            "as one person. The counts are real: they were published without noise.",
        ]
    )


def _cell(row: Row) -> str:
    return f"{row['value']:,} ({row['low']:,.0f} to {row['high']:,.0f})"


E_HEALTH = Experiment(
    name="e-health",
    title="Disease counts that add up over place and time",
    source=(
        "the e-health release with consistency that surveys of private streams name; data: Rozemberczki, Scherer, "
        "Kiss, Sarkar and Ferenci, Hungarian Chickenpox Cases (2021), CC BY 4.0"
    ),
    compute=compute,
    draw=draw,
    tell=tell,
    full={"repeats": 100},
)
