"""What trust buys: the same question, the same guarantee, asked through a curator, a shuffler, and nobody."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from lapwing.crowd.binary import BinaryResponse
from lapwing.crowd.shuffling import Shuffled
from lapwing.crowd.simulate import simulate
from lapwing.errors import InvalidParameter
from lapwing.experiments import style
from lapwing.experiments.experiment import Experiment, Row, column, entropy, select, slope
from lapwing.mechanisms import Laplace
from lapwing.noise import Entropy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EPSILON, DELTA = 0.5, 1e-6
MODELS = ("nobody is trusted", "a shuffler", "a curator")
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
STEPS = 11
"""Halvings in the search for the local epsilon: more than the figure shows."""


def compute(sizes: Sequence[int] = SIZES, repeats: int = 60) -> list[Row]:
    """For each way to ask and each number of people: the error of the share of yes, one in five being yes."""
    rows = []
    for model in MODELS:
        for people in sizes:
            yes = people // 5
            local = _local_epsilon(people) if model == "a shuffler" else EPSILON
            ask, expected = _asked(model, local, people)
            source = entropy("trust", model, people)
            squares = [(ask(yes, source) - yes) ** 2 for _ in range(repeats)]
            rows.append(
                {
                    "trusted": model,
                    "people": people,
                    "epsilon_of_a_report": None if model == "a curator" else local,
                    "error": math.sqrt(math.fsum(squares) / repeats) / people,
                    "theory": expected / people,
                }
            )
    return rows


def _asked(model: str, epsilon: float, people: int) -> tuple[Callable[[int, Entropy], float], float]:
    """How many people are found to say yes, and the standard deviation of that."""
    if model == "a curator":  # replacing somebody changes a count by one as well
        count = Laplace(epsilon=EPSILON, sensitivity=1)
        return lambda yes, source: float(count.release(yes, source)), math.sqrt(count.variance)
    coins = BinaryResponse.from_epsilon(epsilon)

    def found(yes: int, source: Entropy) -> float:
        return float(simulate(coins, {True: yes, False: people - yes}, entropy=source).estimate()[True])

    return found, math.sqrt(people * coins.coins.variance)


@lru_cache(maxsize=64)
def _local_epsilon(people: int) -> float:
    """The largest ε of a report with which a shuffled batch of all is still (EPSILON, DELTA)-private."""
    low, high = EPSILON, math.log(people)
    for _ in range(STEPS):
        middle = (low + high) / 2
        try:
            enough = Shuffled(BinaryResponse.from_epsilon(middle), people, DELTA).privacy_loss().epsilon <= EPSILON
        except InvalidParameter:  # no bound holds for so few people
            enough = False
        low, high = (middle, high) if enough else (low, middle)
    return low


def draw(rows: Sequence[Row]) -> Figure:
    """Three lines on logarithmic axes."""
    figure, [axes] = style.figure(size=(7.8, 4.6))
    for place, model in enumerate(MODELS):
        chosen = select(rows, trusted=model)
        people, colour = column(chosen, "people"), style.SERIES[place]
        axes.plot(people, column(chosen, "theory"), color=colour, lw=1.3)
        axes.plot(people, column(chosen, "error"), style.MARKERS[place], color=colour, ms=6)
        style.beside(axes, people[-1], chosen[-1]["theory"], model, colour, shift=(10, 0))
    style.numbers(axes, x="log", y="log percent")
    sizes = column(select(rows, trusted=MODELS[0]), "people")
    axes.set_xlim(sizes[0] / 1.3, sizes[-1] * 9)
    axes.spines["bottom"].set_bounds(sizes[0] / 1.3, sizes[-1])
    style.only_ticks(axes.xaxis, [size for size in sizes if math.log10(size).is_integer()])
    style.name_axes(axes, "Whom one trusts decides the error", "people", "root mean square error of the share")
    style.caption(
        figure,
        f"A yes-or-no question at ε = {EPSILON}, δ = 10⁻⁶ (replace); a curator and the local model need no δ. "
        "Dots: measured; lines: theory. Shuffled reports are made with the largest ε₀ that "
        "hiding among the clones allows for so many people.",
    )
    return figure


def tell(rows: Sequence[Row]) -> str:
    """What one sees."""
    most = max(column(rows, "people"))
    errors = {model: select(rows, trusted=model, people=most)[0] for model in MODELS}
    local, shuffler, curator = (errors[model]["error"] for model in MODELS)
    powers = [slope(column(some, "people"), column(some, "error")) for some in _by_model(rows)]
    return (
        f"With {most:,} people the share is off by {100 * local:.2g} percentage points if nobody is trusted, "
        f"{100 * shuffler:.2g} with a shuffler and {100 * curator:.2g} with a curator. The errors fall like "
        f"n^{powers[0]:.2f}, n^{powers[1]:.2f} and n^{powers[2]:.2f}. A shuffler brings one from the first line most "
        "of the way to the last: with more people each report may be clearer "
        f"(ε₀ = {errors['a shuffler']['epsilon_of_a_report']:.1f} here) and still hides among them. The price is the "
        "trust: if the shuffler works together with whoever reads the reports, only ε₀ remains."
    )


def _by_model(rows: Sequence[Row]) -> list[list[Row]]:
    return [select(rows, trusted=model) for model in MODELS]


TRUST = Experiment(
    name="trust",
    title="Central, shuffled and local: error over the number of people",
    source="Feldman, McMillan and Talwar, Hiding among the clones (2021)",
    compute=compute,
    draw=draw,
    tell=tell,
    full={"sizes": (*SIZES, 3_000_000, 10_000_000), "repeats": 300},
)
