"""How good are Apple's sketches? Their errors over epsilon, the width and the number of hash functions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from lapwing import charts
from lapwing.crowd.count_mean_sketch import CountMeanSketch
from lapwing.crowd.hadamard_sketch import HadamardCountMeanSketch
from lapwing.crowd.simulate import simulate
from lapwing.experiments import populations
from lapwing.experiments.experiment import Experiment, Row, column, entropy, select

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SKETCHES: Mapping[str, Any] = MappingProxyType({"CMS": CountMeanSketch, "HCMS": HadamardCountMeanSketch})
MIDDLE = {"epsilon": 4, "width": 256, "functions": 256}
"""Where two of the three stay while the third changes."""
GRID: Mapping[str, tuple[int | float, ...]] = MappingProxyType(
    {
        "epsilon": (0.5, 1, 2, 4, 8),
        "width": (4, 16, 64, 256, 1024),
        "functions": (1, 4, 16, 64, 256, 1024),
    }
)


def compute(people: int = 50_000, repeats: int = 5) -> list[Row]:
    """For each sketch and each setting: the error measured on real emoji and the one that theory gives."""
    population = populations.emoji(people)
    rows: list[Row] = []
    for name, kind in SKETCHES.items():
        for varied, values in GRID.items():
            for value in values:
                settings = {**MIDDLE, varied: value}
                measured = [_mean_square(kind, settings, population, name, repeat) for repeat in range(repeats)]
                rows.append(
                    {
                        "sketch": name,
                        "varied": varied,
                        **settings,
                        "people": people,
                        "error": math.sqrt(math.fsum(measured) / repeats),
                        "theory": theory(name, population, **settings),
                        "bits_per_report": sum(column.bits for column in kind(**settings).layout),
                    }
                )
    return rows


def _mean_square(kind: Any, settings: Mapping[str, Any], population: Mapping[str, int], *seed: object) -> float:
    """Of the errors of all answers, with hash functions of their own."""
    sketch = kind(**settings, salt=f"sketches {seed[-1]}")
    run = simulate(sketch, population, entropy=entropy("sketches", settings, *seed))
    return float((run.errors(list(population)).off_by ** 2).mean())


def theory(sketch: str, population: Mapping[str, int], *, epsilon: float, width: float, functions: float) -> float:
    """The root mean square error over all answers, coins and hash functions (Apple 2017, appendix).

    With the nominal probabilities, so that it owes nothing to the code it is compared with.
    """
    m, k, n = width, functions, sum(population.values())
    squares = math.fsum(count**2 for count in population.values())

    def variance(own: int) -> float:
        others, other_squares = n - own, squares - own**2
        if sketch == "CMS":
            half = math.exp(epsilon / 2)
            coins = n * half / (half - 1) ** 2
            return coins + (1 - 1 / m) / m * ((1 - 1 / k) * others + other_squares / k)
        c = (math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)
        shared = (1 - 1 / m) / m
        return n * c**2 - own + shared * other_squares / k - others * (1 / m**2 + shared / k)

    mean = math.fsum(map(variance, population.values())) / len(population)
    return m / (m - 1) * math.sqrt(mean)


def draw(rows: Sequence[Row]) -> Figure:
    """One panel for each parameter; dots are measured, lines are theory."""
    figure, panels = charts.figure(3, size=(11, 4.2), sharey=True)
    people = rows[0]["people"]
    words = {"epsilon": "ε", "width": "width m", "functions": "hash functions k"}
    for axes, varied in zip(panels, GRID, strict=True):
        for place, name in enumerate(SKETCHES):
            chosen = select(rows, sketch=name, varied=varied)
            xs, colour = column(chosen, varied), charts.SERIES[place]
            axes.plot(xs, [row["theory"] / people for row in chosen], color=colour, lw=1.3)
            axes.plot(xs, [row["error"] / people for row in chosen], charts.MARKERS[place], color=colour, ms=6)
            if varied == "epsilon":
                charts.beside(axes, xs[-2], chosen[-2]["theory"] / people, name, colour, shift=(-2, -14))
        charts.numbers(axes, x="log", y="log percent")
        charts.only_ticks(axes.xaxis, GRID[varied])
        fixed = ", ".join(f"{sign} = {MIDDLE[key]}" for key, sign in _SIGNS.items() if key != varied)
        charts.name_axes(axes, f"Over {words[varied]}", f"{words[varied]}   ({fixed})", "")
    panels[0].set_ylabel("root mean square error, share of people", color=charts.QUIET, fontsize=9)
    charts.caption(
        figure,
        f"Dots: measured over all emoji of a population of {people:,} people who use them as in English texts; lines: "
        "theory. CMS sends m bits and a function, HCMS one bit, a coordinate and a function.",
    )
    return figure


_SIGNS = {"epsilon": "ε", "width": "m", "functions": "k"}


def tell(rows: Sequence[Row]) -> str:
    """What one sees."""
    worst = max(abs(row["error"] / row["theory"] - 1) for row in rows)
    cms, hcms = (select(rows, sketch=name, varied="epsilon", epsilon=4)[0] for name in SKETCHES)
    return (
        f"The error falls steeply with ε. A width or a number of functions beyond what keeps collisions rare buys "
        f"nothing: noise of the coins remains. At ε = 4 HCMS has {hcms['error'] / cms['error']:.1f} times the error of "
        f"CMS, with {hcms['bits_per_report']} bits per report instead of {cms['bits_per_report']}. No measured error "
        f"is further than {100 * worst:.0f} % from theory."
    )


SKETCH_ERROR = Experiment(
    name="sketches",
    title="Apple's sketches: error over ε, m and k",
    source="Apple, Learning with Privacy at Scale (2017)",
    compute=compute,
    draw=draw,
    tell=tell,
    full={"people": 1_000_000, "repeats": 20},
)
