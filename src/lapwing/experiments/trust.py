"""What trust buys: one question and one guarantee, asked through a curator, two shufflers, one, and nobody."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from lapwing import charts
from lapwing.crowd.binary import BinaryResponse
from lapwing.crowd.shuffling import Shuffled
from lapwing.crowd.simulate import simulate
from lapwing.errors import InvalidParameter
from lapwing.experiments.experiment import Experiment, Row, column, entropy, select, slope
from lapwing.mechanisms import CrowdThreshold, Laplace
from lapwing.noise import Entropy
from lapwing.pair.joint_noise import JointLaplace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EPSILON, DELTA = 0.5, 1e-6
MODELS = ("nobody is trusted", "a shuffler", "two shufflers", "two servers", "a curator")
CROWDS = CrowdThreshold(threshold=20, mean_drop=62, sigma=Fraction(23, 2), delta=DELTA, relation="replace")
"""Two shufflers with blinded crowds, one for each true answer: the least noise that keeps EPSILON."""
TRUSTED = {
    "nobody is trusted": ("nobody", "nothing changes"),
    "a shuffler": ("the shuffler, not to work with the analyzer", "only ε₀ of a report is left"),
    "two shufflers": (
        "both shufflers, not to work together, and the second not with the analyzer",
        "no guarantee at all: crowds are made of true answers, and the second shuffler sees their exact sizes",
    ),
    "two servers": (
        "both servers, not to work together and to follow the protocol",
        "no guarantee at all: together they have every row",
    ),
    "a curator": ("the curator, with everything", "no guarantee at all"),
}
"""Who must be trusted, and what is left if that trust is broken."""
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
            ask, expected = _estimator(model, local, people)
            source = entropy("trust", model, people)
            squares = [(ask(yes, source) - yes) ** 2 for _ in range(repeats)]
            rows.append(
                {
                    "trusted": model,
                    "people": people,
                    "epsilon_of_a_report": local if model in ("nobody is trusted", "a shuffler") else None,
                    "error": math.sqrt(math.fsum(squares) / repeats) / people,
                    "theory": expected / people,
                }
            )
    return rows


def _estimator(model: str, epsilon: float, people: int) -> tuple[Callable[[int, Entropy], float], float]:
    """How many people are found to say yes, and the standard deviation of that."""
    if model == "a curator":  # replacing somebody changes a count by one as well
        count = Laplace(epsilon=EPSILON, sensitivity=1)
        return lambda yes, source: float(count.release(yes, source)), math.sqrt(count.variance)
    if model == "two servers":  # they hold shares of every answer, and toss the coins of the noise together
        joint = JointLaplace(Fraction(1) / Fraction(EPSILON))
        return lambda yes, source: float(yes + joint.simulated(source)), joint.standard_deviation
    if model == "two shufflers":

        def by_crowds(yes: int, source: Entropy) -> float:
            said_yes, said_no = CROWDS.release([yes, people - yes], source)
            return (people + said_yes - said_no) / 2  # what is dropped on average cancels

        return by_crowds, float(CROWDS.sigma) / math.sqrt(2)
    coins = BinaryResponse.from_epsilon(epsilon)

    def estimate(yes: int, source: Entropy) -> float:
        return float(simulate(coins, {True: yes, False: people - yes}, entropy=source).estimate()[True])

    return estimate, math.sqrt(people * coins.coins.variance)


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
    """A line for each model, on logarithmic axes."""
    figure, [axes] = charts.figure(size=(7.8, 4.6))
    for place, model in enumerate(MODELS):
        chosen = select(rows, trusted=model)
        people, colour = column(chosen, "people"), charts.SERIES[place]
        axes.plot(people, column(chosen, "theory"), color=colour, lw=1.3)
        axes.plot(people, column(chosen, "error"), charts.MARKERS[place], color=colour, ms=6)
        shift = {"two servers": (10, 7), "a curator": (10, -7)}.get(model, (10, 0))  # on the same line
        charts.beside(axes, people[-1], chosen[-1]["theory"], model, colour, shift=shift)
    charts.numbers(axes, x="log", y="log percent")
    sizes = column(select(rows, trusted=MODELS[0]), "people")
    axes.set_xlim(sizes[0] / 1.3, sizes[-1] * 9)
    axes.spines["bottom"].set_bounds(sizes[0] / 1.3, sizes[-1])
    charts.only_ticks(axes.xaxis, [size for size in sizes if math.log10(size).is_integer()])
    charts.name_axes(axes, "The error depends on who is trusted", "people", "root mean square error of the share")
    charts.caption(
        figure,
        f"A yes-or-no question at ε = {EPSILON}, δ = 10⁻⁶ (replace); a curator and the local model need no δ. "
        "Dots: measured; lines: theory. Shuffled reports are made with the largest ε₀ that "
        "hiding among the clones allows for so many people. Two shufflers drop d ~ (62, 11.5) of each blinded crowd. "
        "The line of two servers lies on that of the curator.",
    )
    return figure


def tell(rows: Sequence[Row]) -> str:
    """What one sees."""
    most = max(column(rows, "people"))
    errors = {model: select(rows, trusted=model, people=most)[0] for model in MODELS}
    local, shuffler, pair, servers, curator = (100 * errors[model]["error"] for model in MODELS)
    powers = [slope(column(some, "people"), column(some, "error")) for some in _by_model(rows)]
    lines = [
        f"| {model} | {100 * errors[model]['error']:.2g} | {powers[place]:.2f} | {who} | {otherwise} |"
        for place, (model, (who, otherwise)) in enumerate(TRUSTED.items())
    ]
    head = "| asked through | off by (points) | falls like n^ | who must be trusted | if that trust is broken |"
    return (
        "\n".join((head, "|---|---|---|---|---|", *lines)) + "\n\n"
        f"With {most:,} people the share is off by {local:.2g} percentage points if nobody is trusted, {shuffler:.2g} "
        f"with a shuffler, {pair:.2g} with two shufflers, {servers:.2g} with two servers and {curator:.2g} with a "
        "curator. A shuffler comes close to the curator: with more people, each report may be clearer "
        f"(ε₀ = {errors['a shuffler']['epsilon_of_a_report']:.1f} here) and still hides among them. If the shuffler "
        "works together with the reader of the reports, only ε₀ remains. Two shufflers with blinded crowds of true "
        "answers come close to the curator, and lose everything if both work together. Two servers that add up "
        "secret shares and make the noise together have the error of the curator, and lose everything in the same way."
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
