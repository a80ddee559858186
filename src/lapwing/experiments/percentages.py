"""How many smoke? The same survey with randomized response and with a curator's Laplace noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from lapwing import charts
from lapwing.crowd.binary import BinaryResponse
from lapwing.crowd.simulate import simulate
from lapwing.experiments.experiment import Experiment, Row, column, entropy, select, slope
from lapwing.mechanisms import Laplace
from lapwing.noise import Entropy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHARE = 0.2
SMOKERS_IN_FIVE = 1
POPULATION = 3000
SIZES = (5, 10, 25, 50, 100, 250, 500, 1000, 3000)
"""Where many surveys are held, to see the error."""
COINS = BinaryResponse.from_coins(0.5, 0.5)
COUNT = Laplace(epsilon=math.log(3), sensitivity=1)


def randomized(people: int, source: Entropy) -> float:
    """The share of smokers that randomized answers show, one fifth of the people smoking."""
    yes = people // 5 * SMOKERS_IN_FIVE
    run = simulate(COINS, {True: yes, False: people - yes}, entropy=source)
    return float(run.estimate().shares[0])


def noisy(people: int, source: Entropy) -> float:
    """The share of smokers that a curator releases."""
    return float(COUNT.release(people // 5 * SMOKERS_IN_FIVE, source)) / people


def response(population: int = POPULATION, repeats: int = 300) -> list[Row]:
    """Rows of randomized response."""
    return _rows("response", randomized, lambda people: math.sqrt(0.75 / people), population, repeats)


def laplace(population: int = POPULATION, repeats: int = 300) -> list[Row]:
    """Rows of the Laplace mechanism."""
    return _rows("laplace", noisy, lambda people: math.sqrt(COUNT.variance) / people, population, repeats)


def _rows(
    name: str,
    estimate: Callable[[int, Entropy], float],
    theory: Callable[[int], float],
    population: int,
    repeats: int,
) -> list[Row]:
    """One survey of every size, and many surveys of a few sizes."""
    source = entropy("percentages", name)
    rows: list[Row] = [
        {"series": "one survey", "people": people, "estimate": estimate(people, source), "theory": theory(people)}
        for people in range(5, population + 1, 5)
    ]
    for people in (size for size in SIZES if size <= population):
        squares = [(estimate(people, source) - SHARE) ** 2 for _ in range(repeats)]
        error = math.sqrt(math.fsum(squares) / repeats)
        rows.append({"series": "many surveys", "people": people, "error": error, "theory": theory(people)})
    return rows


def draw(rows: Sequence[Row], title: str, about: str) -> Figure:
    """Estimates along n with the band of two standard deviations; beside it the error on logarithmic axes."""
    figure, (left, right) = charts.figure(2, size=(10, 4.3), width_ratios=(1.45, 1))
    single = select(rows, series="one survey")
    people, band = column(single, "people"), [2 * row["theory"] for row in single]
    left.fill_between(
        people, [SHARE - b for b in band], [SHARE + b for b in band], color=charts.NOISE, alpha=0.13, lw=0
    )
    left.plot(people, column(single, "estimate"), ".", ms=3.5, color=charts.PRIVATE, mec="none")
    left.axhline(SHARE, color=charts.INK, lw=1.2)
    charts.numbers(left, y="percent")
    left.set_xlim(0, people[-1])
    left.set_ylim(-0.35, 0.75)
    charts.name_axes(left, title, "people asked", "share of smokers")
    last = people[-1]
    charts.beside(left, last, SHARE, "truth", charts.INK)
    charts.beside(left, 0.13 * last, 0.48, "two standard deviations", charts.NOISE, shift=(0, 0))
    left.annotate(
        "", (0.055 * last, SHARE + 0.98 * band[max(0, int(0.055 * len(band)) - 1)]), (0.125 * last, 0.47),
        arrowprops={"arrowstyle": "-", "color": charts.NOISE, "lw": 0.8},
    )  # fmt: skip
    many = select(rows, series="many surveys")
    sizes = column(many, "people")
    right.plot(sizes, column(many, "theory"), color=charts.NOISE, lw=1.4)
    right.plot(sizes, column(many, "error"), charts.MARKERS[0], color=charts.PRIVATE, ms=6)
    right.set_ylim(0.0002, 1.5)
    charts.numbers(right, x="log", y="log percent")
    middle = len(sizes) // 2
    charts.beside(right, sizes[middle], many[middle]["theory"], "theory", charts.NOISE, shift=(8, 9))
    charts.beside(right, sizes[1], many[1]["error"], "measured", charts.PRIVATE, shift=(10, 8))
    charts.name_axes(
        right, f"Error ∝ {charts.power(_power(many))}", "people asked", "root mean square error", formulas=True
    )
    charts.caption(figure, about)
    return figure


def draw_response(rows: Sequence[Row]) -> Figure:
    """Figure 3.6."""
    about = (
        "Everybody flips a coin: heads, the truth; tails, yes or no by a second coin. ε = ln 3 (replace), nobody is "
        "trusted. One fifth of the people smoke at every size; each dot is one survey."
    )
    return draw(rows, "Randomized response", about)


def draw_laplace(rows: Sequence[Row]) -> Figure:
    """Figure 3.8, on the same scale."""
    about = (
        "A trusted curator counts, adds discrete Laplace noise and divides by the public number of people. "
        "ε = ln 3 (add_remove). Same people and same axes as for randomized response."
    )
    return draw(rows, "Laplace mechanism", about)


def tell_response(rows: Sequence[Row]) -> str:
    """What one sees."""
    many = select(rows, series="many surveys")
    small, large = many[0], many[-1]
    return (
        f"With {small['people']} people the estimate is off by {100 * small['error']:.0f} percentage points "
        f"(root mean square), with {large['people']:,} by {100 * large['error']:.1f}. The error falls like "
        f"n^{_power(many):.2f}, theory says −1/2: √(0.75/n) for a fixed population, whatever the truth. Four times as "
        "many people halve it."
    )


def tell_laplace(rows: Sequence[Row]) -> str:
    """What one sees."""
    many = select(rows, series="many surveys")
    small, large = many[0], many[-1]
    return (
        f"The noise on the count does not depend on the number of people, so on the share it falls like "
        f"n^{_power(many):.2f} (theory −1): {100 * small['error']:.0f} percentage points for {small['people']} people, "
        f"{100 * large['error']:.3f} for {large['people']:,}. That is what trust in a curator buys."
    )


def _power(many: Sequence[Row]) -> float:
    return slope(column(many, "people"), column(many, "error"))


RESPONSE = Experiment(
    name="response",
    title="Randomized response over the number of people",
    source="Fig. 3.6 of a thesis on the practicability of DP (3000 people, 600 smokers)",
    compute=response,
    draw=draw_response,
    tell=tell_response,
    full={"repeats": 3000},
)
LAPLACE = Experiment(
    name="laplace",
    title="The Laplace mechanism over the number of people",
    source="Fig. 3.8 of the same thesis (the same people)",
    compute=laplace,
    draw=draw_laplace,
    tell=tell_laplace,
    full={"repeats": 3000},
)
