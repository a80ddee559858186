"""How much noise keeps a column secret? Bits recovered from sums, over the noise, the questions and epsilon."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lapwing import charts
from lapwing.adversary.attacks.bounds import best_guess
from lapwing.adversary.attacks.reconstruction import least_squares, random_queries, reconstruct, shared
from lapwing.experiments.experiment import Experiment, Row, column, entropy, select
from lapwing.mechanisms import Laplace
from lapwing.noise import Entropy, bernoulli, discrete_laplace, uniform_below

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PEOPLE = 100
PER_PERSON = (16, 4, 1)
"""Queries, for each person there is."""
WITHIN = (1, 2, 3, 5, 7, 10, 14, 20, 30, 45, 70, 100)
"""The largest error of an answer."""
EPSILONS = (0.1, 0.2, 0.35, 0.6, 1.0, 1.7, 3.0, 5.0, 9.0)
PROGRAMS = 4
"""Queries per person of the linear program, which is slower."""
SHADES = charts.SERIES[2:]
"""Of the numbers of queries; the other colours say who is protected."""
EACH, ALL = "for each sum", "for all sums together"


def compute(
    people: int = PEOPLE,
    within: Sequence[int] = WITHIN,
    epsilons: Sequence[float] = EPSILONS,
    tables: int = 150,
    programs: int = 3,
) -> list[Row]:
    """The share of bits recovered: from sums with bounded noise, and with Laplace noise at an epsilon."""
    rows: list[Row] = []
    for per_person in PER_PERSON:
        source = entropy("reconstruction", per_person)
        queries = random_queries(people, per_person * people, source)
        for most in within:
            noise = _bounded(most, len(queries) * tables, source)
            row = {"what": "noise", **_measured(queries, noise, math.sqrt(most * (most + 1) / 3), source)}
            if per_person == PROGRAMS:
                row["program"] = _program(queries, most, programs, source)
            rows.append(row | {"within": most})
        for epsilon, spent in itertools.product(epsilons, (EACH, ALL)):
            honest = Laplace(epsilon=epsilon, sensitivity=1) if spent == EACH else shared(queries, epsilon)
            noise = discrete_laplace(Fraction(honest.sensitivity) / Fraction(epsilon), len(queries) * tables, source)
            row = {"what": "epsilon", **_measured(queries, noise, math.sqrt(honest.variance), source)}
            bound = best_guess(epsilon) if spent == ALL else None
            rows.append(row | {"epsilon": epsilon, "spent": spent, "bound": bound})
    return rows


def theory(people: int, queries: int, deviation: float) -> float:
    """The share of bits that least squares recovers from sums over random halves, for many people.

    An estimate of a bit is normal around it with a variance τ² that solves τ² = (4σ² + n·v)/m: the noise σ, and the
    others' bits as far as they are not known, v = (1/τ² + 4)⁻¹ (Tse and Hanly 1999, for users of a radio channel).

    >>> round(theory(100, 1600, 10), 3), round(theory(100, 100, 1000), 2)
    (0.838, 0.5)
    """
    variance = 1e9
    for _ in range(10_000):
        before, unknown = variance, 1 / (1 / variance + 4)
        variance = (4 * deviation**2 + people * unknown) / queries
        if abs(variance - before) < 1e-9 * variance:
            break
    return (1 + math.erf(0.5 / math.sqrt(2 * variance))) / 2


def _measured(queries: NDArray[np.int64], noise: NDArray[Any], deviation: float, source: Entropy) -> Row:
    """How well least squares does against such noise, on as many tables as there is noise for."""
    count, people = queries.shape
    tables = len(noise) // count
    truth = bernoulli(Fraction(1, 2), people * tables, source).reshape(people, tables)
    answers = queries @ truth + noise.reshape(count, tables)
    shares = np.mean(least_squares(queries, answers, noise=deviation) == truth, axis=0)
    return {
        "people": people,
        "queries": count,
        "deviation": deviation,
        "right": float(shares.mean()),
        "standard_error": float(shares.std(ddof=1) / math.sqrt(tables)),
        "theory": theory(people, count, deviation),
    }


def _bounded(most: int, size: int, source: Entropy) -> NDArray[Any]:
    return np.asarray(uniform_below(2 * most + 1, size, source) - most)


def _program(queries: NDArray[np.int64], most: int, tables: int, source: Entropy) -> float:
    """The same by linear programming, on fewer tables."""
    shares = []
    for _ in range(tables):
        truth = bernoulli(Fraction(1, 2), queries.shape[1], source)
        guess = reconstruct(queries, queries @ truth + _bounded(most, len(queries), source))
        shares.append(float(np.mean(guess.bits == truth)))
    return float(np.mean(shares))


def draw(rows: Sequence[Row]) -> Figure:
    """Bits right over the noise, and over epsilon."""
    figure, (left, right) = charts.figure(2, size=(11.5, 4.9), sharey=True)
    _draw_noise(left, select(rows, what="noise"))
    _draw_epsilon(right, select(rows, what="epsilon"))
    people = rows[0]["people"]
    charts.caption(
        figure,
        f"{people} people, a secret bit each; every sum is over a random half of them. Left: whole-number errors, "
        "drawn evenly up to the largest. Filled marks: least squares; lines: its theory (Tse and Hanly 1999); hollow: "
        f"linear programming, {PROGRAMS * people} sums. Right: Laplace noise for one person's bit (replace); marks as "
        "on the left.",
    )
    return figure


def _draw_noise(axes: Axes, rows: Sequence[Row]) -> None:
    people = rows[0]["people"]
    root = math.sqrt(people)
    axes.axvline(root, color=charts.QUIET, lw=1, ls=(0, (4, 3)))
    axes.annotate(
        f"√n = {root:.3g}",
        (root, 1.045),
        (4, 0),
        textcoords="offset points",
        color=charts.QUIET,
        fontsize=9,
        va="center",
    )
    for place, queries in enumerate(sorted(set(column(rows, "queries")), reverse=True)):
        chosen = select(rows, queries=queries)
        colour, within = SHADES[place], column(chosen, "within")
        fine = np.geomspace(within[0], within[-1], 120)
        axes.plot(fine, [theory(people, queries, math.sqrt(c * (c + 1) / 3)) for c in fine], color=colour, lw=1.5)
        axes.plot(
            within, column(chosen, "right"), charts.MARKERS[place], color=colour, ms=5.5, label=f"{queries:,} sums"
        )
        if "program" in chosen[0]:
            axes.plot(
                within,
                column(chosen, "program"),
                charts.MARKERS[place],
                color=colour,
                ms=8,
                mfc="none",
                mew=0.9,
                alpha=0.8,
            )
    _percent_axes(axes, "largest error of a sum", "bits right")
    charts.only_ticks(axes.xaxis, [1, 2, 5, 10, 20, 50, 100])
    axes.set_title(
        "Small errors hide nothing if enough is asked", loc="left", fontsize=11, fontweight="bold", color=charts.INK
    )
    charts.legend(axes, loc="upper right", bbox_to_anchor=(1, 0.97))


def _draw_epsilon(axes: Axes, rows: Sequence[Row]) -> None:
    epsilons = sorted(set(column(rows, "epsilon")))
    fine = np.geomspace(epsilons[0], epsilons[-1], 200)
    limits = [best_guess(float(epsilon)) for epsilon in fine]
    axes.plot(fine, limits, color=charts.QUIET, lw=1.2, ls=(0, (4, 3)))
    for place, queries in enumerate(sorted(set(column(rows, "queries")), reverse=True)):
        marker = charts.MARKERS[place]
        for spent, colour in ((EACH, charts.ADVERSARY), (ALL, charts.PRIVATE)):
            chosen = select(rows, queries=queries, spent=spent)
            noise = np.exp(np.interp(np.log(fine), np.log(epsilons), np.log(column(chosen, "deviation"))))
            axes.plot(fine, [theory(chosen[0]["people"], queries, sigma) for sigma in noise], color=colour, lw=1.5)
            axes.plot(epsilons, column(chosen, "right"), marker, color=colour, ms=5.5)
    for x, y, text, colour in (
        (epsilons[0], 1.035, "ε for each sum, without a ledger", charts.ADVERSARY),
        (2.1, 0.79, "no attack is above this\nif ε is for all sums", charts.QUIET),
        (2.1, 0.64, "ε for all sums together", charts.PRIVATE),
    ):
        axes.text(x, y, text, color=colour, fontsize=9, va="center")
    _percent_axes(axes, "epsilon", "")
    charts.only_ticks(axes.xaxis, [0.1, 0.2, 0.5, 1, 2, 5])
    axes.set_title("An epsilon has to cover all sums", loc="left", fontsize=11, fontweight="bold", color=charts.INK)


def _percent_axes(axes: Axes, x: str, y: str) -> None:
    charts.numbers(axes, x="log", y="percent")
    axes.set_ylim(0.46, 1.07)
    axes.axhline(0.5, color=charts.LINE, lw=1)
    axes.set_yticks([0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    charts.name_axes(axes, "", x, y)


def tell(rows: Sequence[Row]) -> str:
    """What one sees."""
    people = rows[0]["people"]
    noise, spent = select(rows, what="noise"), select(rows, what="epsilon")
    most = max(column(noise, "queries"))
    root = min(set(column(noise, "within")), key=lambda within: abs(within - math.sqrt(people)))
    at_root = {row["queries"]: row["right"] for row in select(noise, within=root)}
    epsilon = min(set(column(spent, "epsilon")), key=lambda epsilon: abs(epsilon - 1))
    each, all_of = (select(spent, epsilon=epsilon, queries=most, spent=how)[0] for how in (EACH, ALL))
    listed = ", ".join(f"{100 * right:.0f} % from {queries:,}" for queries, right in sorted(at_root.items()))
    return (
        f"With errors of up to ±{root}, about √n for {people} people, this share of the bits is right: {listed} sums. "
        "Errors well below √n hide little, even if there are only as many sums as people. Larger errors protect only "
        "until more sums are asked: the error must grow with the square root of the number of sums. The same holds for "
        f"Laplace noise. With ε = {epsilon:g} for each of {most:,} sums, {100 * each['right']:.0f} % of the bits are "
        "right, as if there were no noise. "
        f"With ε = {epsilon:g} for all of them it is {100 * all_of['right']:.0f} %, and no attack can exceed "
        f"{100 * all_of['bound']:.0f} %. The price is accuracy: the noise of a sum then has a standard deviation of "
        f"{all_of['deviation']:,.0f}, more than there are people. So a curator who wants useful answers must answer "
        "fewer questions."
    )


RECONSTRUCTION = Experiment(
    name="reconstruction",
    title="Reconstruction: how much noise keeps a column secret",
    source="Dinur and Nissim 2003; Dwork, McSherry and Talwar 2007",
    compute=compute,
    draw=draw,
    tell=tell,
    full={"people": 400, "tables": 200, "programs": 5, "within": (*WITHIN, 140, 200, 300)},
)
