"""Two servers that never see a row: the error of a curator, and what it costs instead."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from lapwing import charts
from lapwing.crowd.shuffling import Shuffled
from lapwing.crowd.simulate import simulate
from lapwing.crowd.unary import UnaryEncoding
from lapwing.datasets import adult
from lapwing.errors import InvalidParameter
from lapwing.experiments.experiment import Experiment, Row, column, entropy, select
from lapwing.mechanisms import Laplace
from lapwing.pair.joint_noise import JointLaplace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lapwing.pair.runs import Way

EPSILON, DELTA = 1.0, 1e-6
SIZES = (1_000, 3_000, 10_000, 32_561)
AGES = tuple(range(17, 91))
MODELS = ("nobody is trusted", "a shuffler", "each server adds noise", "joint noise of two servers", "a curator")
WORK = {"seconds_to_take_rows_in": "all rows, once", "seconds_for_a_question": "a question"}
NOISE = JointLaplace(Fraction(2) / Fraction(EPSILON))
"""Replacing somebody moves two counts by one."""


def compute(sizes: Sequence[int] = SIZES, repeats: int = 10) -> list[Row]:
    """A histogram of ages at the same ε under replace: measured error of a cell, and the work of one server."""
    ages, rows = adult("train")["age"], list[Row]()
    for people in sizes:
        some = ages[:people]
        truth = [Counter(some)[age] for age in AGES]
        for model in MODELS:
            answers, taking_in, answering = _answers(model, some, truth, repeats)
            squares = [(a - b) ** 2 for answer in answers for a, b in zip(answer, truth, strict=True)]
            rows.append(
                {
                    "trusted": model,
                    "people": people,
                    "error": math.sqrt(math.fsum(squares) / len(squares)),
                    "theory": _theory(model, truth),
                    "seconds_to_take_rows_in": taking_in,
                    "seconds_for_a_question": answering,
                }
            )
    return rows


def _answers(
    model: str, ages: Sequence[int], truth: Sequence[int], repeats: int
) -> tuple[list[list[float]], float | None, float | None]:
    """Noisy histograms; of two servers also processor seconds of one: to take all rows in, and for a question."""
    source = entropy("two-servers", model, len(ages))
    if model == "a curator":
        mechanism = Laplace(epsilon=EPSILON, sensitivity=2, dimensions=len(AGES))
        return [[float(x) for x in mechanism.release(list(truth), source)] for _ in range(repeats)], None, None
    if "server" in model:
        return _served(ages, "joint" if model.startswith("joint") else "each", repeats)
    coins = _coins(model, len(ages))
    counts = dict(zip(AGES, truth, strict=True))
    noisy = []
    for _ in range(repeats):
        estimates = simulate(coins, counts, entropy=source).estimate()
        noisy.append([float(estimates[age]) for age in AGES])
    return noisy, None, None


def _served(ages: Sequence[int], way: Way, repeats: int) -> tuple[list[list[float]], float, float]:
    """What two servers answer who hold shares of these rows."""
    from lapwing.pair.domains import Layout, Listed
    from lapwing.pair.rehearsal import rehearse
    from lapwing.pair.runs import Order
    from lapwing.pair.tallies import Dimension, Tally, counted

    layout = Layout((Listed("age", "integer", AGES),), products=0)
    measure = counted(Tally((Dimension("age", tuple((place,) for place in range(len(AGES)))),)))
    done = rehearse(layout, {"age": ages}, [[Order(measure, NOISE, way)]] * repeats)
    noisy = [[float(x) for x in numbers[0]] for numbers in done.numbers]
    return noisy, done.busier.intake_seconds, done.busier.answer_seconds / repeats


def _coins(model: str, people: int) -> UnaryEncoding:
    return UnaryEncoding.from_epsilon(EPSILON if model == MODELS[0] else _local_epsilon(people), domain=AGES)


def _theory(model: str, truth: Sequence[int]) -> float:
    """The root mean square of the standard errors of all ages."""
    if model == "a curator":
        return math.sqrt(Laplace(epsilon=EPSILON, sensitivity=2).variance)
    if "server" in model:
        return NOISE.standard_deviation * (1 if model.startswith("joint") else math.sqrt(2))
    people = sum(truth)
    coins = _coins(model, people)
    p, q = float(coins.one_if_true), float(coins.one_if_other)
    variances = [(count * p * (1 - p) + (people - count) * q * (1 - q)) / (p - q) ** 2 for count in truth]
    return math.sqrt(math.fsum(variances) / len(variances))


def _local_epsilon(people: int) -> float:
    """The largest ε of a report with which a shuffled batch of all is still (EPSILON, DELTA)-private."""
    low, high = EPSILON, math.log(people)
    for _ in range(9):
        middle = (low + high) / 2
        try:
            coins = UnaryEncoding.from_epsilon(middle, domain=AGES)
            enough = Shuffled(coins, people, DELTA).privacy_loss().epsilon <= EPSILON
        except InvalidParameter:  # no bound holds for so few people
            enough = False
        low, high = (middle, high) if enough else (low, middle)
    return low


def draw(rows: Sequence[Row]) -> Figure:
    """Error over the number of people; and the work of a server."""
    figure, [left, right] = charts.figure(2, size=(10.4, 4.4))
    for place, model in enumerate(MODELS):
        chosen, colour = select(rows, trusted=model), charts.SERIES[place]
        people = column(chosen, "people")
        left.plot(people, column(chosen, "theory"), color=colour, lw=1.3)
        left.plot(people, column(chosen, "error"), charts.MARKERS[place], color=colour, ms=6)
        shift = (10, -8) if model == "a curator" else (10, 4) if model == MODELS[3] else (10, 0)
        charts.beside(left, people[-1], chosen[-1]["theory"], model, colour, shift=shift)
    charts.numbers(left, x="log", y="log")
    sizes = column(select(rows, trusted=MODELS[0]), "people")
    left.set_xlim(sizes[0] / 1.2, sizes[-1] * 12)
    left.spines["bottom"].set_bounds(sizes[0] / 1.2, sizes[-1])
    charts.only_ticks(left.xaxis, [size for size in (1_000, 10_000) if sizes[0] <= size <= sizes[-1]] or sizes[:1])
    charts.name_axes(left, "The error of a curator, without one", "people", "root mean square error of a count")
    served = select(rows, trusted=MODELS[3])
    for place, (name, label) in enumerate(WORK.items()):
        seconds, colour = column(served, name), charts.SERIES[place + 2]
        right.plot(sizes, seconds, "o-", color=colour, lw=1.3)
        charts.beside(right, sizes[-1], seconds[-1], label, colour, shift=(10, 0))
    charts.numbers(right)
    right.set_xlim(0, sizes[-1] * 1.6)
    right.set_ylim(0, None)
    charts.name_axes(right, "What it costs one server", "people", "processor seconds")
    charts.caption(
        figure,
        f"How many people have each age, from 17 to 90, in Adult: ε = {EPSILON:g} under replace; a shuffler needs "
        "δ = 10⁻⁶. Dots: measured; lines: theory. Rows are taken in once, and a question about one column needs totals "
        "alone.",
    )
    return figure


def tell(rows: Sequence[Row]) -> str:
    """What one sees."""
    most = max(column(rows, "people"))
    errors: dict[str, Any] = {model: select(rows, trusted=model, people=most)[0] for model in MODELS}
    joint, each, curator = (errors[model]["error"] for model in (MODELS[3], MODELS[2], MODELS[4]))
    work = errors[MODELS[3]]
    return (
        f"With {most:,} people a count is off by {curator:.1f} if a curator adds noise, and by {joint:.1f} if two "
        f"servers add it together, which never see a row. If each server adds full noise of its own, it is "
        f"{each:.1f}. With a shuffler it is {errors[MODELS[1]]['error']:.0f}, and if nobody is trusted "
        f"{errors[MODELS[0]]['error']:.0f}.\n\n"
        f"The price is work: {work['seconds_to_take_rows_in']:.1f} processor seconds of each server, once, to take "
        f"all rows in, and {work['seconds_for_a_question']:.2f} for a question. And it is a promise with conditions: "
        "both servers follow the protocol, and they do not work together."
    )


TWO_SERVERS = Experiment(
    name="two-servers",
    title="Two servers: the error of a curator without a curator",
    source="Chowdhury, Wang, He, Machanavajjhala and Jha, Cryptε (2020)",
    compute=compute,
    draw=draw,
    tell=tell,
    full={"repeats": 60},
)
