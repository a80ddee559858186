"""Counting for ever: totals after every step, by fresh noise, trees and a square root, beside what nobody can beat."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lapwing import charts
from lapwing.experiments.experiment import Experiment, Row, column, entropy, select
from lapwing.experiments.flights import HOURS, flights
from lapwing.mechanisms.binary_tree import BinaryTree
from lapwing.mechanisms.counter import Counter
from lapwing.mechanisms.square_root_counter import SquareRootCounter
from lapwing.noise import Entropy, discrete_gaussian

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RHO = 0.5
"""For one event and the whole stream: what a pure ε of 1 gives."""
ANEW, FRESH, TREE, HONAKER, ROOT = "every total anew", "fresh noise per step", "binary tree", "Honaker", "square root"
BOUND = "lower bound"
METHODS = (ANEW, FRESH, TREE, HONAKER, ROOT)
STEPS = tuple(1 << power for power in range(4, 17, 2))
Floats = NDArray[np.float64]


def compute(steps: Sequence[int] = STEPS, repeats: int = 20, hours: int = HOURS) -> list[Row]:
    """The error over the number of steps, from formulas; and measured on flights that left late, hour by hour."""
    rows: list[Row] = []
    for length in steps:
        rows += [
            {"part": "length", "method": method, "steps": length, "rms": rms(method, length)} for method in METHODS
        ]
        rows.append({"part": "length", "method": BOUND, "steps": length, "rms": lower_bound(length)})
    late = flights().per_hour()[:hours]
    totals = np.cumsum(late)
    shown = np.unique(np.linspace(0, hours - 1, 240).astype(int))
    for method in METHODS:
        errors = np.array(
            [runner(method, hours)(late, entropy("streams", method, run)) - totals for run in range(repeats)]
        )
        rows.append(
            {
                "part": "flights",
                "method": method,
                "steps": hours,
                "rms": rms(method, hours),
                "measured": float(np.sqrt(np.square(errors).mean())),
                "total": int(totals[-1]),
            }
        )
        rows += [
            {"part": "path", "method": method, "hour": int(hour) + 1, "error": float(errors[0, hour])} for hour in shown
        ]
    return rows


def lower_bound(steps: int) -> float:
    """No way to factor the sums has a smaller error: the nuclear norm of the matrix of prefix sums over its size.

    Its singular values are 1/(2·sin((2j − 1)π/(4T + 2))).
    """
    angles = (2 * np.arange(1, steps + 1) - 1) * math.pi / (4 * steps + 2)
    return float((0.5 / np.sin(angles)).mean() / math.sqrt(2 * RHO))


def counter(method: str, steps: int) -> Counter:
    """The counter of the library."""
    if method == ROOT:
        return SquareRootCounter.for_rho(RHO, steps=steps, sensitivity=1)
    return BinaryTree.for_rho(RHO, steps=steps, sensitivity=1, refined=method == HONAKER)


def rms(method: str, steps: int) -> float:
    """The root of the mean squared error of all totals, known beforehand."""
    unit = 1 / math.sqrt(2 * RHO)
    if method == ANEW:
        return unit * math.sqrt(steps)
    if method == FRESH:
        return unit * math.sqrt((steps + 1) / 2)
    return counter(method, steps).rms()


def runner(method: str, steps: int) -> Callable[[NDArray[np.int64], Entropy], Floats]:
    """A whole stream by this method."""
    if method in (ANEW, FRESH):
        return lambda counts, source: _plain(method, counts, source)
    chosen = counter(method, steps)
    return lambda counts, source: np.asarray(chosen.release(counts, source), dtype=np.float64)


def _plain(method: str, counts: NDArray[np.int64], source: Entropy) -> Floats:
    """Noise on every total, which costs 1/T of ρ each; or on the count of every step."""
    steps = len(counts)
    if method == ANEW:
        return np.asarray(
            np.cumsum(counts) + discrete_gaussian(math.sqrt(steps / (2 * RHO)), steps, source), np.float64
        )
    return np.asarray(np.cumsum(counts + discrete_gaussian(1 / math.sqrt(2 * RHO), steps, source)), np.float64)


def draw(rows: Sequence[Row]) -> Figure:
    """The error over the number of steps on the left, one year of errors on the right."""
    figure, (left, right) = charts.figure(2, size=(11.6, 4.9))
    colours = dict(
        zip(METHODS, (charts.ADVERSARY, charts.NOISE, charts.BLUE, charts.SERIES[4], charts.PRIVATE), strict=True)
    )
    lengths = select(rows, part="length")
    for place, method in enumerate(METHODS):
        chosen = select(lengths, method=method)
        marker = charts.MARKERS[place]
        left.plot(
            column(chosen, "steps"),
            column(chosen, "rms"),
            color=colours[method],
            lw=1.4,
            marker=marker,
            ms=5,
            label=method,
        )
    bound = select(lengths, method=BOUND)
    left.plot(column(bound, "steps"), column(bound, "rms"), color=charts.INK, lw=1.2, ls="--", label=BOUND)
    left.set_xscale("log", base=2)
    left.set_yscale("log")
    charts.written_ticks(left.yaxis)
    charts.legend(left, loc="upper left")
    charts.name_axes(
        left, "Fresh noise adds up, a good counter hardly grows", "steps", "root mean squared error of all totals"
    )
    for method in (FRESH, TREE, ROOT):
        path = select(rows, part="path", method=method)
        days = [hour / 24 for hour in column(path, "hour")]
        right.plot(days, column(path, "error"), color=colours[method], lw=1.0, label=method)
    right.axhline(0, color=charts.INK, lw=0.8)
    charts.numbers(right)
    charts.legend(right, loc="upper left", ncols=2)
    charts.name_axes(
        right, "One run: late flights of 2013, hour by hour", "day of the year", "error of the total so far"
    )
    charts.caption(
        figure,
        f"All at ρ = {RHO:g} for one event and the whole stream. Left: from formulas. Right: flights that left New "
        f"York more than an hour late, {select(rows, part='flights')[0]['total']:,} in all. Totals that are made anew "
        "at every step are left out there: their errors would hide the others.",
    )
    return figure


def tell(rows: Sequence[Row]) -> str:
    """What one sees."""
    measured = {row["method"]: row for row in select(rows, part="flights")}
    steps = measured[ROOT]["steps"]
    bound = lower_bound(steps)
    table = "\n".join(
        f"| {method} | {row['rms']:.1f} | {row['measured']:.1f} | {row['rms'] / bound:.2f} |"
        for method, row in measured.items()
    )
    return (
        "A counter tells the total after every step. Each event must stay hidden in all these totals together. "
        "A fresh noisy total at each step has to share the budget among all steps. Fresh noise on each step's count "
        "costs the budget once, because an event is in one step, but the total adds up all the noise so far. "
        "A tree of partial sums needs few of them for each total. The square root factorisation spreads the noise "
        "best.\n\n"
        f"Flights that left New York more than an hour late in 2013, by hour ({steps:,} steps, "
        f"{measured[ROOT]['total']:,} flights), at ρ = {RHO:g} for one flight:\n\n"
        "| method | error expected | error measured | times the lower bound |\n|---|---|---|---|\n"
        f"{table}\n\n"
        f"No factorisation of this kind gets below {bound:.2f}. The unit is an event: one flight. Somebody who is "
        "responsible for many late flights is not protected by these numbers."
    )


STREAMS = Experiment(
    name="streams",
    title="Counting for ever: what each way of adding noise costs",
    source=(
        "Dwork, Naor, Pitassi and Rothblum (2010), Chan, Shi and Song (2011), Honaker (2015), "
        "Henzinger, Upadhyay and Upadhyay (2023)"
    ),
    compute=compute,
    draw=draw,
    tell=tell,
    full={"steps": tuple(1 << power for power in range(4, 21, 2)), "repeats": 100},
)
