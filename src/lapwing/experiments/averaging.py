"""What repetition gives away: a count asked again, an answer reported again, a budget renewed every day."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from lapwing import charts
from lapwing.adversary.attacks.attack import Rounds
from lapwing.adversary.attacks.averaging import EACH, asked_again, majority, stored
from lapwing.adversary.attacks.bounds import best_guess
from lapwing.adversary.attacks.renewal import DAILY, DONATIONS, EMOJI, donated
from lapwing.adversary.attacks.repeated_reports import CHROME, SITES, reported_again
from lapwing.experiments.experiment import Experiment, Row, column, entropy, select

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TOTAL = 1.0
"""The epsilon of all answers to one count."""
LIFETIME = 2.0
"""The epsilon of a lifetime's donations."""
LIFELONG = float(CHROME.lifetime_loss().epsilon)
"""The epsilon of all memoised reports about one home page."""
ASKED = (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000)
REPORTED = (1, 2, 5, 10, 20, 50, 150, 500)
DAYS = 30
COUNT, RAPPOR, DEVICE = "a count", "a home page", "an emoji"
FRESH, SHARED, STORED = "fresh noise", "a shared budget", "a stored answer"
FORGETFUL, MEMOISED = "fresh coins", "memoised"
RENEWED, ONCE = "renewed every day", "for a lifetime"


def compute(
    asked: Sequence[int] = ASKED, reported: Sequence[int] = REPORTED, days: int = DAYS, rounds: int = 400
) -> list[Row]:
    """For each kind of noise and number of answers: how often the secret behind them is guessed."""
    rows: list[Row] = []
    kept = stored(TOTAL, 10 * rounds, entropy("averaging", STORED))  # the same answer, however often it is said
    for times in asked:
        for noise, each, epsilon in ((FRESH, EACH, None), (SHARED, TOTAL / times, TOTAL)):
            won = asked_again(times, each, 4 * rounds, entropy("averaging", noise, times))
            rows.append(_row(COUNT, noise, times, won, theory=majority(times, each), epsilon=epsilon))
        rows.append(_row(COUNT, STORED, times, kept, theory=majority(1, TOTAL), epsilon=TOTAL))
    for times in reported:
        for noise, epsilon in ((FORGETFUL, None), (MEMOISED, LIFELONG)):
            source = entropy("averaging", noise, times)
            won = reported_again(times, CHROME, rounds // 2, source, memoised=noise == MEMOISED)
            rows.append(_row(RAPPOR, noise, times, won, epsilon=epsilon, chance=1 / len(SITES)))
    renewed = donated(days, DAILY, rounds * 3, entropy("averaging", RENEWED))
    once = donated(DONATIONS, Fraction(LIFETIME) / DONATIONS, rounds * 3, entropy("averaging", ONCE))
    for day in range(1, days + 1):
        chance = 1 / len(EMOJI)
        rows.append(_row(DEVICE, RENEWED, day, renewed[:, day - 1].tolist(), chance=chance))
        rows.append(_row(DEVICE, ONCE, day, once[:, min(day, DONATIONS) - 1].tolist(), epsilon=LIFETIME, chance=chance))
    return rows


def _row(
    secret: str,
    noise: str,
    times: int,
    won: Rounds,
    *,
    theory: float | None = None,
    epsilon: float | None = None,
    chance: float = 0.5,
) -> Row:
    success = float(np.mean(won))
    return {
        "secret": secret,
        "noise": noise,
        "times": times,
        "success": success,
        "standard_error": math.sqrt(success * (1 - success) / len(won)),
        "theory": theory,
        "epsilon": epsilon,
        "bound": None if epsilon is None else best_guess(epsilon, prior=Fraction(chance)),
        "chance": chance,
    }


def draw(rows: Sequence[Row]) -> Figure:
    """Three panels: success over the number of answers."""
    figure, (left, middle, right) = charts.figure(3, size=(12.6, 4.7), sharey=True)
    _draw(
        left,
        select(rows, secret=COUNT),
        {
            FRESH: (f"ε = {EACH:g} for each answer", (1, 0.93)),
            STORED: (f"one stored answer, ε = {TOTAL:g}", (1, 0.775)),
            SHARED: (f"ε = {TOTAL:g} shared by all", (170, 0.455)),
        },
    )
    _draw(
        middle,
        select(rows, secret=RAPPOR),
        {FORGETFUL: ("fresh randomness each time", (1, 0.93)), MEMOISED: ("memoised response", (22, 0.285))},
    )
    _draw(
        right,
        select(rows, secret=DEVICE),
        {
            RENEWED: (f"ε = {DAILY}, renewed every day", (11, 0.9)),
            ONCE: (f"ε = {LIFETIME:g} for a lifetime", (11, 0.29)),
        },
    )
    charts.name_axes(left, "A count, asked again", "answers", "secrets guessed")
    charts.name_axes(middle, "An answer, reported again", "reports of one person", "")
    charts.name_axes(right, "A budget, renewed every day", "days", "")
    for axes, ticks in ((left, [1, 10, 100, 1000, 10_000]), (middle, [1, 10, 100])):
        charts.numbers(axes, x="log", y="percent")
        charts.only_ticks(axes.xaxis, ticks)
    charts.numbers(right, y="percent")
    right.text(11, 0.57, f"out of reach with ε = {LIFETIME:g} for a lifetime", color=charts.QUIET, fontsize=8.5)
    left.set_ylim(0, 1.04)
    charts.caption(
        figure,
        "Shaded: no attack on the private method can get there; dotted: guessing. Left: whether one person is "
        "in a count, Laplace noise; lines are exact. Middle: which of 16 home pages, RAPPOR with Chrome's normal noise "
        f"(memoised: ε = {LIFELONG:.3g} for ever). Right: which of 8 emoji somebody uses every day, Apple's count-mean "
        "sketch. Bars are standard errors. Relation: replace.",
    )
    return figure


def _curve(last: int, each: Callable[[int], float]) -> tuple[list[int], list[float]]:
    fine = sorted({2 * round(math.exp(step * math.log(last) / 80) / 2 - 0.5) + 1 for step in range(81)})
    return fine, [majority(times, each(times)) for times in fine]


EXACT: dict[str, Callable[[int], tuple[list[int], list[float]]]] = {
    FRESH: lambda last: _curve(last, lambda _: EACH),
    SHARED: lambda last: _curve(last, lambda times: TOTAL / times),
    STORED: lambda last: ([1, last], [majority(1, TOTAL)] * 2),
}
COLOURS = {
    FRESH: charts.ADVERSARY,
    FORGETFUL: charts.ADVERSARY,
    RENEWED: charts.ADVERSARY,
    STORED: charts.BLUE,
    SHARED: charts.PRIVATE,
    MEMOISED: charts.PRIVATE,
    ONCE: charts.PRIVATE,
}


def _draw(axes: Axes, rows: Sequence[Row], labels: dict[str, tuple[str, tuple[float, float]]]) -> None:
    bound, chance = max(row["bound"] for row in rows if row["bound"]), rows[0]["chance"]
    last = max(column(rows, "times"))
    axes.axhspan(bound, 1.04, color=charts.LINE, alpha=0.4, lw=0)
    axes.axhline(chance, color=charts.QUIET, lw=1, ls=(0, (1, 2)))
    for noise, (text, place) in labels.items():
        chosen, colour = select(rows, noise=noise), COLOURS[noise]
        times, success = column(chosen, "times"), column(chosen, "success")
        axes.plot(*(EXACT[noise](last) if noise in EXACT else (times, success)), color=colour, lw=1.5)
        axes.errorbar(
            times,
            success,
            column(chosen, "standard_error"),
            fmt="o",
            color=colour,
            ms=4.5 if last > DAYS else 3.5,
            lw=1,
        )
        axes.text(*place, text, color=colour, fontsize=9, va="center")
    axes.set_xlim(0.8 if last > 100 else 0, last * (1.3 if last > 100 else 1.03))


def tell(rows: Sequence[Row]) -> str:
    """What one sees."""

    def last(secret: str, noise: str) -> Row:
        return select(rows, secret=secret, noise=noise)[-1]

    fresh, kept, spread = last(COUNT, FRESH), last(COUNT, STORED), last(COUNT, SHARED)
    tossed, memoised = last(RAPPOR, FORGETFUL), last(RAPPOR, MEMOISED)
    renewed, once = last(DEVICE, RENEWED), last(DEVICE, ONCE)

    def percent(value: float) -> str:
        return f"{100 * value:.0f} %"

    return (
        f"{fresh['times']:,} answers with ε = {EACH:g} each give a person away in {percent(fresh['success'])} of the "
        f"cases: fresh noise averages out. One stored answer with ε = {TOTAL:g} stays at {percent(kept['theory'])} "
        f"however often it is repeated, which is the most that any attacker can reach. If ε = {TOTAL:g} is split over "
        f"all answers, it is {percent(spread['theory'])}. After {tossed['times']} RAPPOR reports, the attacker finds "
        f"the home page in {percent(tossed['success'])} of the cases without a memory, and in "
        f"{percent(memoised['success'])} with one. However many reports follow, a memory keeps this at "
        f"{percent(memoised['bound'])} or less. If an ε of {DAILY} is renewed every day, the attacker finds the emoji "
        f"after {renewed['times']} days in {percent(renewed['success'])} of the cases. If ε = {LIFETIME:g} is for a "
        f"lifetime, spent in {DONATIONS} days, it is {percent(once['success'])}."
    )


AVERAGING = Experiment(
    name="averaging",
    title="Averaging: what repetition gives away",
    source="Erlingsson, Pihur and Korolova 2014 (the memory); Tang et al. 2017 (the renewed budget)",
    compute=compute,
    draw=draw,
    tell=tell,
    full={"rounds": 4000, "days": 60},
)
