"""Counts for ever, private in any w consecutive steps: where adaptive budgets win over a uniform one, and where not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lapwing import charts
from lapwing.experiments.experiment import Experiment, Row, column, entropy, select
from lapwing.experiments.flights import flights
from lapwing.mechanisms import BudgetAbsorption, BudgetDistribution, UniformBudget

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EPSILON = 1
WINDOWS = (5, 10, 20, 40, 80)
STEPS, WIDTH, BASE = 365, 100, 1_000
UNIFORM, DISTRIBUTION, ABSORPTION, NOTHING = "uniform", "distribution", "absorption", "exact first day, repeated"
KINDS = {UNIFORM: UniformBudget, DISTRIBUTION: BudgetDistribution, ABSORPTION: BudgetAbsorption}
SLOW, JUMPS, FLIGHTS, ALONE = "slow", "jumps", "flights by airport", "one count alone"
STREAMS = (SLOW, JUMPS, FLIGHTS, ALONE)
Counts = NDArray[np.int64]


def compute(windows: Sequence[int] = WINDOWS, steps: int = STEPS, repeats: int = 4) -> list[Row]:
    """Mean absolute errors by stream, window and mechanism."""
    rows: list[Row] = []
    for stream in STREAMS:
        counts = stream_of(stream, steps)
        constant = float(np.abs(counts - counts[0]).mean())
        for window in windows:
            for kind, mechanism in KINDS.items():
                chosen = mechanism(epsilon=EPSILON, window=window, width=counts.shape[1])
                errors, released = [], 0
                for run in range(repeats):
                    state, source = chosen.open(), entropy("w-event", stream, window, kind, run)
                    for step, row in enumerate(counts.tolist()):
                        state = chosen.observe(state, row, source)
                        released += state.released
                        if step >= min(window, steps // 2):  # the first answers start from nothing
                            errors.append(np.abs(np.array(state.values) - row).mean())
                rows.append(
                    {
                        "stream": stream,
                        "counts": counts.shape[1],
                        "window": window,
                        "mechanism": kind,
                        "error": float(np.mean(errors)),
                        "released": released / (repeats * steps),
                        "constant": constant,
                    }
                )
    return rows


def stream_of(name: str, steps: int) -> Counts:
    """Counts day by day: two made up ones, a real one, and the real one's total."""
    if name == SLOW:
        drawn = entropy("w-event", "slow").bits
        ups = np.array([[drawn(4) == 0 for _ in range(WIDTH)] for _ in range(steps)])
        return np.asarray(BASE + np.cumsum(ups, axis=0), dtype=np.int64)
    if name == JUMPS:
        drawn = entropy("w-event", "jumps").bits
        levels = np.array([[drawn(9) for _ in range(WIDTH)] for _ in range(-(-steps // 100))])
        return np.asarray(BASE + np.repeat(levels, 100, axis=0)[:steps], dtype=np.int64)
    table = flights().by_destination()[:steps]
    return table if name == FLIGHTS else table.sum(axis=1, keepdims=True)


def draw(rows: Sequence[Row]) -> Figure:
    """A panel for each stream."""
    figure, panels = charts.figure(4, size=(14.4, 4.4))
    colours = dict(zip(KINDS, (charts.INK, charts.PRIVATE, charts.NOISE), strict=True))
    titles = {
        SLOW: "100 counts that creep: both win",
        JUMPS: "100 counts that jump every 100 days",
        FLIGHTS: "105 airports: a constant is better",
        ALONE: "One count: decisions are noise too",
    }
    for axes, stream in zip(panels, STREAMS, strict=True):
        for place, kind in enumerate(KINDS):
            chosen = select(rows, stream=stream, mechanism=kind)
            marker = charts.MARKERS[place]
            axes.plot(
                column(chosen, "window"),
                column(chosen, "error"),
                color=colours[kind],
                marker=marker,
                ms=5,
                lw=1.4,
                label=kind,
            )
        constant = select(rows, stream=stream)[0]["constant"]
        axes.axhline(constant, color=charts.QUIET, lw=1.0, ls=":", label=NOTHING)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylim(0.8, 400)
        charts.only_ticks(axes.xaxis, sorted({row["window"] for row in rows}))
        charts.written_ticks(axes.yaxis)
        charts.name_axes(axes, titles[stream], "window w, in days", "mean absolute error" if axes is panels[0] else "")
    charts.legend(panels[0], loc="upper left")
    charts.caption(
        figure,
        f"ε = {EPSILON} for what one person does in any w consecutive days. Dotted: the exact counts of the first day, "
        "repeated, which is not private. Flights: departures from New York in 2013, by airport and in all.",
    )
    return figure


def tell(rows: Sequence[Row]) -> str:
    """What one sees."""
    middle = sorted({row["window"] for row in rows})[len({row["window"] for row in rows}) // 2]

    def errors(stream: str) -> str:
        chosen = {row["mechanism"]: row for row in select(rows, stream=stream, window=middle)}
        cells = [f"{chosen[kind]['error']:.1f}" for kind in KINDS]
        share, constant = chosen[DISTRIBUTION]["released"], chosen[UNIFORM]["constant"]
        return f"| {stream} | {' | '.join(cells)} | {share:.0%} | {constant:.1f} |"

    table = "\n".join(errors(stream) for stream in STREAMS)
    return (
        "w-event privacy protects whatever one person does within any w consecutive steps, in a stream that need not "
        "end. The uniform way spends ε/w at every step. Budget distribution and budget absorption compare each step "
        "with the last answer, privately, and release it only if it has moved by more than the noise would be.\n\n"
        f"Mean absolute errors at ε = {EPSILON} and w = {middle}:\n\n"
        "| stream | uniform | distribution | absorption | days released by distribution | exact first day, repeated |\n"
        "|---|---|---|---|---|---|\n"
        f"{table}\n\n"
        "Adaptive budgets win where many counts move slowly or seldom. On real flights they are better than a uniform "
        "budget, but still useless: an airport has about nine departures a day, which changes by less than the noise. "
        "Repeating the first day for ever is nearer to the truth. With one count alone the decision needs as much "
        "noise as an answer, and adaptive budgets are worse than uniform. Look at your stream before choosing."
    )


W_EVENT = Experiment(
    name="w-event",
    title="Any w consecutive days: adaptive budgets on streams that creep, jump and fly",
    source=(
        "Kellaris, Papadopoulos, Xiao and Papadias, Differentially private event sequences over infinite streams (2014)"
    ),
    compute=compute,
    draw=draw,
    tell=tell,
    full={"windows": (2, 5, 10, 20, 40, 80, 120), "repeats": 20},
)
