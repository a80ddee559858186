"""The randomised threshold of a shuffler: its exact δ(ε), and which crowds it lets pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lapwing import charts
from lapwing.experiments.experiment import Experiment, Row, column, select
from lapwing.mechanisms import CrowdThreshold
from lapwing.privacy import Relation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DROPS = ((10, 1), (10, 2), (20, 4), (40, 8))
"""Mean and standard deviation of the number dropped."""
RELATIONS: tuple[Relation, Relation] = ("add_remove", "replace")
EPSILONS = tuple(step / 8 for step in range(49))
THRESHOLDS = (1, 20, 50)
USUAL = (10, 2)
CLAIM = (2.25, 1e-6)
"""What the literature states for T = 20 and the usual drops."""
DELTA = 0.5  # of the mechanisms that are made; the curves do not depend on it


def compute(epsilons: Sequence[float] = EPSILONS, largest: int = 80) -> list[Row]:
    """δ over ε for each law of drops and both relations; the chance to pass over the size of a crowd."""
    rows: list[Row] = []
    for mean, sigma in DROPS:
        for relation in RELATIONS:
            crowds = CrowdThreshold(threshold=20, mean_drop=mean, sigma=sigma, delta=DELTA, relation=relation)
            rows += [
                {
                    "part": "price",
                    "mean_drop": mean,
                    "sigma": sigma,
                    "relation": relation,
                    "epsilon": epsilon,
                    "delta": crowds.delta_at(epsilon),
                }
                for epsilon in epsilons
            ]
    for threshold in THRESHOLDS:
        crowds = CrowdThreshold(threshold=threshold, mean_drop=USUAL[0], sigma=USUAL[1], delta=DELTA)
        rows += [
            {
                "part": "passing",
                "threshold": threshold,
                "size": size,
                "probability": crowds.probability(size),
                "forwarded": crowds.expected(size),
            }
            for size in range(largest + 1)
        ]
    return rows


def draw(rows: Sequence[Row]) -> Figure:
    """The price on the left, what it buys on the right."""
    figure, (left, right) = charts.figure(2, size=(11.4, 4.8))
    for place, (mean, sigma) in enumerate(DROPS):
        for relation, style in zip(RELATIONS, ("-", "--"), strict=True):
            chosen = select(rows, part="price", mean_drop=mean, relation=relation, sigma=sigma)
            label = f"D = {mean}, σ = {sigma}" if relation == "add_remove" else None
            colour = charts.SERIES[place]
            left.plot(column(chosen, "epsilon"), column(chosen, "delta"), style, color=colour, lw=1.4, label=label)
    left.plot(*CLAIM, "o", color=charts.INK, ms=6)
    charts.beside(left, *CLAIM, "as published", charts.INK, shift=(4, -24))
    charts.numbers(left, y="log")
    left.set_ylim(1e-9, 1)
    charts.legend(left, loc="lower left")
    charts.name_axes(left, "The price depends on D and σ", "ε", "δ(ε), exact")
    for place, threshold in enumerate(THRESHOLDS):
        chosen = select(rows, part="passing", threshold=threshold)
        colour = charts.SERIES[place]
        right.plot(column(chosen, "size"), column(chosen, "probability"), color=colour, lw=1.5)
        middle = next(row for row in chosen if row["probability"] > 0.5)
        charts.beside(right, middle["size"], 0.5, f"T = {threshold}", colour, shift=(10, 0))
    charts.numbers(right, y="percent")
    charts.name_axes(right, "T decides who is seen, for free", "reports in the crowd", "crowds that pass")
    charts.caption(
        figure,
        "d ~ discrete Gaussian (D, σ), at least 0, is dropped from each crowd; crowds with T left pass. Solid: "
        "one report "
        "enters or leaves a crowd (add_remove). Dashed: it leaves one crowd for another (replace). Right: D = "
        "10, σ = 2.",
    )
    return figure


def tell(rows: Sequence[Row]) -> str:
    """What one sees."""
    mean, sigma = USUAL
    at = {
        relation: min(
            select(rows, part="price", mean_drop=mean, sigma=sigma, relation=relation),
            key=lambda row: abs(row["epsilon"] - CLAIM[0]),
        )
        for relation in RELATIONS
    }
    enters, moves = at["add_remove"], at["replace"]
    last = select(rows, part="price", mean_drop=mean, sigma=sigma, relation="add_remove")[-1]
    return (
        f"For D = {mean}, σ = {sigma} the exact δ at ε = {enters['epsilon']:g} is {enters['delta']:.3g} for a "
        "report that "
        f"enters or leaves a crowd. A person who changes the answer touches two crowds: then it is "
        f"{moves['delta']:.3g}. "
        f"No ε brings δ below {last['delta']:.2g}: with that probability nothing is dropped, and the crowd looks "
        "larger "
        "than it could with one report less. A larger D lowers this floor, a larger σ lowers ε. The threshold T is not "
        "part of the price: it decides which crowds are seen. All of this is about membership in a crowd. "
        "What the reports say needs a promise of its own."
    )


THRESHOLD_CURVES = Experiment(
    name="thresholds",
    title="What a randomised threshold on crowds promises",
    source="Bittau and others, Prochlo (2017), section 3.5",
    compute=compute,
    draw=draw,
    tell=tell,
    full={"epsilons": tuple(step / 64 for step in range(385)), "largest": 120},
)
