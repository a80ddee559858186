"""RAPPOR's own experiments: a normal population, an exponential one of strings, and one bad apple (2014)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lapwing import charts
from lapwing.crowd.decoding import decode
from lapwing.crowd.rappor import BasicOneTimeRappor, Rappor
from lapwing.crowd.simulate import simulate
from lapwing.experiments import populations
from lapwing.experiments.experiment import Experiment, Row, column, entropy, select

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VALUES, NORMAL_NOISE = 64, 0.5
STRINGS, UNHEARD = 100, 300
APPLE, APPLE_SHARE = "BADAPPLE.COM", 0.026
REPORTS = 186_792
TASKS = (
    "SVCHOST.EXE", "EXPLORER.EXE", "CSRSS.EXE", "WINLOGON.EXE", "LSASS.EXE", "SERVICES.EXE", "SPOOLSV.EXE", "SMSS.EXE",
    "DWM.EXE",
)  # fmt: skip
"""Nine tasks of every Windows, with shares from 4.5 % down to 2.5 %: the range that Erlingsson et al. found."""


def chrome(cohorts: int, salt: str) -> Rappor:
    """128 bits, two hashes, f = p = 1/2 and q = 3/4: ε₁ = 1.07 for one report, ε∞ = 4.39 for a lifetime."""
    return Rappor(
        permanent_noise=0.5, one_if_unset=0.5, one_if_set=0.75, bits=128, hashes=2, cohorts=cohorts, salt=salt
    )


def normal(sizes: Sequence[int] = (10_000, 100_000, 1_000_000)) -> list[Row]:
    """Numbers under a bell, by basic one-time RAPPOR, from more and more people."""
    protocol = BasicOneTimeRappor(permanent_noise=NORMAL_NOISE, domain=VALUES)
    rows: list[Row] = []
    for people in sizes:
        run = simulate(protocol, populations.normal(people, values=VALUES), entropy=entropy("normal", people))
        errors = run.errors()
        for row, error in zip(errors.rows(), errors.estimates.population_standard_error.tolist(), strict=True):
            rows.append(
                {
                    "people": people,
                    "value": row["answer"],
                    "share": row["truth"] / people,
                    "estimate": row["estimate"] / people,
                    "standard_error": error / people,
                }
            )
    return rows


def exponential(people: int = 1_000_000, cohorts: int = 16) -> list[Row]:
    """A hundred strings, looked for among four hundred."""
    given = populations.exponential(people, different=STRINGS, decay=0.06)
    nobody = [f"unheard {number}" for number in range(1, UNHEARD + 1)]
    return _decoded(given, [*given, *nobody], chrome(cohorts, "strings"), "exponential")


def apple(people: int = REPORTS, others: int = 300, repeats: int = 10) -> list[Row]:
    """Processes that run on computers: nine common ones, a malicious one, and many rare ones; asked several times."""
    shares = {name: 0.045 - 0.0025 * place for place, name in enumerate(TASKS)} | {APPLE: APPLE_SHARE}
    tail = populations.zipf(10**6, different=others, exponent=0.2, name="PROCESS-{}.EXE")
    rest = (1 - math.fsum(shares.values())) / 10**6
    given = populations.apportioned({**shares, **{name: rest * count for name, count in tail.items()}}, people)
    rows: list[Row] = []
    for repeat in range(repeats):
        protocol, seed = chrome(8, f"processes {repeat}"), f"apple {repeat}"
        estimates = _decoded(given, list(given), protocol, seed, correction="benjamini-hochberg")
        rows += [{"repeat": repeat, **row} for row in estimates]
    return rows


def _decoded(
    given: Mapping[str, int], candidates: Sequence[str], protocol: Rappor, seed: str, **options: Any
) -> list[Row]:
    people = sum(given.values())
    run = simulate(protocol, given, entropy=entropy("rappor", seed, people))
    estimates = decode(protocol, run.counts, candidates, **options)
    columns = (estimates.labels, estimates.counts, estimates.population_standard_error, estimates.significant)
    rows: list[Row] = [
        {
            "people": people,
            "string": label,
            "share": given.get(label, 0) / people,
            "estimate": float(count) / people,
            "standard_error": float(error) / people,
            "found": bool(significant),
        }
        for label, count, error, significant in zip(*columns, strict=True)
    ]
    return sorted(rows, key=lambda row: (-row["share"], row["string"] not in given))


def draw_normal(rows: Sequence[Row]) -> Figure:
    """The bell behind the estimates, once for each number of people."""
    sizes = list(dict.fromkeys(column(rows, "people")))
    figure, panels = charts.figure(len(sizes), size=(11, 4), sharey=True)
    for axes, people in zip(panels, sizes, strict=True):
        chosen = select(rows, people=people)
        values = column(chosen, "value")
        axes.fill_between(values, 0, column(chosen, "share"), color=charts.LINE, lw=0, step="mid")
        axes.vlines(
            values, [r["estimate"] - 2 * r["standard_error"] for r in chosen],
            [r["estimate"] + 2 * r["standard_error"] for r in chosen], color=charts.NOISE, lw=1, alpha=0.75,
        )  # fmt: skip
        axes.plot(values, column(chosen, "estimate"), "o", ms=3.2, color=charts.PRIVATE)
        axes.axhline(0, color=charts.QUIET, lw=0.8)
        charts.numbers(axes, y="percent")
        charts.name_axes(axes, f"{people:,} people", "value", "share of people" if axes is panels[0] else "")
    loss = BasicOneTimeRappor(permanent_noise=NORMAL_NOISE, domain=VALUES).privacy_loss()
    charts.caption(
        figure,
        f"Basic one-time RAPPOR, f = {NORMAL_NOISE}: ε = {float(loss.epsilon):.2f} (replace). Grey: truth; dots: "
        "estimates; bars: two standard errors of the coins.",
    )
    return figure


def draw_exponential(rows: Sequence[Row]) -> Figure:
    """True shares as a curve; dots where a string was found."""
    figure, [axes] = charts.figure(size=(9, 4.6))
    there = [row for row in rows if row["share"] > 0]
    places = range(1, len(there) + 1)
    hit = [(place, row) for place, row in zip(places, there, strict=True) if row["found"]]
    missed = [place for place, row in zip(places, there, strict=True) if not row["found"]]
    axes.bar(places, column(there, "share"), width=0.75, color=charts.LINE)
    axes.errorbar(
        [place for place, _ in hit], [row["estimate"] for _, row in hit],
        yerr=[2 * row["standard_error"] for _, row in hit], fmt="o", ms=4, color=charts.PRIVATE, ecolor=charts.NOISE,
        elinewidth=1.3, label=f"found ({len(hit)}), ± two standard errors",
    )  # fmt: skip
    axes.plot(
        missed, [there[place - 1]["share"] for place in missed], "x", ms=4, color=charts.QUIET,
        label=f"not found ({len(missed)})",
    )  # fmt: skip
    charts.numbers(axes, y="percent")
    axes.set_xlim(0, len(there) + 1)
    charts.legend(axes, loc="upper right")
    false = sum(row["found"] for row in rows if row["share"] == 0)
    charts.name_axes(axes, "Strings by RAPPOR", "strings, most frequent first", "share of people")
    charts.caption(
        figure,
        f"{rows[0]['people']:,} people, {len(there)} strings with exponentially falling shares (bars), looked for "
        f"among {len(rows)} candidates; {false} strings that nobody has were found. 128 bits, 2 hashes, 16 cohorts, "
        "f = p = ½, q = ¾.",
    )
    return figure


def draw_apple(rows: Sequence[Row]) -> Figure:
    """The most frequent processes and the bad one, estimated beside true, the first time."""
    figure, [axes] = charts.figure(size=(8, 4.8))
    rows = select(rows, repeat=0)
    shown = rows[:14]
    places = range(len(shown))
    for place, row in zip(places, shown, strict=True):
        bad = row["string"] == APPLE
        colour = charts.ADVERSARY if bad else charts.PRIVATE
        axes.barh(place, row["share"], height=0.64, color=charts.LINE)
        if row["found"]:
            axes.errorbar(
                row["estimate"], place, xerr=2 * row["standard_error"], fmt="D" if bad else "o", ms=6 if bad else 5,
                color=colour, ecolor=charts.NOISE, capsize=3, elinewidth=1.5,
            )  # fmt: skip
            right = max(row["estimate"] + 2 * row["standard_error"], row["share"])
            charts.beside(axes, right, place, f"{100 * row['estimate']:.1f} %", colour if bad else charts.QUIET)
        else:
            charts.beside(axes, row["share"], place, "not found", charts.QUIET)
    axes.set_xlim(0, 1.09 * axes.get_xlim()[1])
    charts.numbers(axes, x="percent")
    axes.grid(axis="y", visible=False)
    axes.grid(axis="x", color=charts.LINE, lw=0.6)
    axes.set_yticks(list(places), column(shown, "string"), fontsize=8.5)
    for label, row in zip(axes.get_yticklabels(), shown, strict=True):
        label.set_color(charts.ADVERSARY if row["string"] == APPLE else charts.INK)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    charts.name_axes(axes, "One bad apple", "share of reports", "")
    charts.caption(
        figure,
        f"{rows[0]['people']:,} reports about {len(rows):,} processes, {APPLE} in {100 * APPLE_SHARE:g} % of them. "
        "Bars: truth; marks: what RAPPOR finds in one run at a false discovery rate of 5 %, ± two standard errors. "
        "128 bits, 2 hashes, 8 cohorts, f = p = ½, q = ¾.",
    )
    return figure


def tell_normal(rows: Sequence[Row]) -> str:
    """What one sees."""
    parts = []
    for people in dict.fromkeys(column(rows, "people")):
        chosen = select(rows, people=people)
        squares = [(row["estimate"] - row["share"]) ** 2 for row in chosen]
        parts.append(f"{100 * math.sqrt(math.fsum(squares) / len(squares)):.2g} ({people:,} people)")
    return (
        f"One bit for each of {VALUES} numbers. With few people the picture shows noise, with many the bell curve. The "
        f"root mean square error of a share is, in percentage points, {', '.join(parts)}. Ten times as many people "
        "divide it by √10."
    )


def tell_exponential(rows: Sequence[Row]) -> str:
    """What one sees."""
    hits = [row for row in rows if row["found"]]
    there = [row for row in rows if row["share"] > 0]
    smallest = min((row["share"] for row in hits if row["share"] > 0), default=math.nan)
    false = sum(row["share"] == 0 for row in hits)
    return (
        f"{len(hits) - false} of {len(there)} strings are found with statistical confidence, down to a share of "
        f"{100 * smallest:.2g} %. Of {len(rows) - len(there)} strings that nobody has, {false} are found. Rare strings "
        "drown in the noise: the smallest share that is seen falls like one over the square root of the number of "
        "people."
    )


def tell_apple(rows: Sequence[Row]) -> str:
    """What one sees."""
    bad = select(rows, string=APPLE)
    repeats, first, common = len(bad), bad[0], (*TASKS, APPLE)
    caught = sum(row["found"] for row in bad)
    hits = sum(row["found"] for row in rows if row["string"] in common) / repeats
    false = sum(row["found"] for row in rows if row["string"] not in common) / repeats
    estimate = f"{100 * first['estimate']:.1f} % ± {200 * first['standard_error']:.1f}"
    return (
        f"{APPLE}, in {100 * first['share']:.1f} % of {first['people']:,} reports, is found in {caught} of {repeats} "
        f"repetitions at a false discovery rate of 5 %. The picture shows the first, which estimates {estimate} (two "
        "standard errors). The paper found 2.6 % on real computers. The population here is modelled on it: nine common "
        f"tasks of 2.5 to 4.5 %, {len(rows) // repeats - len(common)} rare ones, and {APPLE}. On average {hits:.1f} of "
        f"the ten common processes are found, and {false:.1f} of the rare ones. This share is near the limit of what "
        "RAPPOR sees at this ε, so finding it takes some luck."
    )


NORMAL = Experiment(
    name="rappor-normal",
    title="Basic one-time RAPPOR on a normal population",
    source="Erlingsson, Pihur and Korolova, RAPPOR (2014)",
    compute=normal,
    draw=draw_normal,
    tell=tell_normal,
    full={"sizes": (10_000, 1_000_000, 100_000_000)},
)
EXPONENTIAL = Experiment(
    name="rappor-strings",
    title="RAPPOR on strings with exponential shares",
    source="Erlingsson, Pihur and Korolova, RAPPOR (2014)",
    compute=exponential,
    draw=draw_exponential,
    tell=tell_exponential,
    full={"people": 10_000_000},
)
BAD_APPLE = Experiment(
    name="bad-apple",
    title="RAPPOR finds BADAPPLE.COM",
    source="Erlingsson, Pihur and Korolova, RAPPOR (2014)",
    compute=apple,
    draw=draw_apple,
    tell=tell_apple,
    full={"others": 3000, "repeats": 50},
)
