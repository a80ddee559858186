"""How much time reports cost, from few to a hundred million."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lapwing import charts
from lapwing.crowd.binary import BinaryResponse
from lapwing.crowd.categories import CategoryResponse
from lapwing.crowd.hadamard_sketch import HadamardCountMeanSketch
from lapwing.crowd.protocol import ClosedProtocol, OpenProtocol
from lapwing.crowd.simulate import simulate
from lapwing.crowd.unary import UnaryEncoding
from lapwing.experiments import populations
from lapwing.experiments.experiment import Experiment, Row, column, select, slope

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
LINEAR_FROM = 300_000
"""Below, what does not depend on the number of reports is seen: tables, threads, hash functions."""
ANSWERS = 128


def protocols() -> dict[str, ClosedProtocol | OpenProtocol]:
    """A bit, a number, a row of bits, and a sketch."""
    return {
        "yes or no": BinaryResponse.from_epsilon(1),
        f"one of {ANSWERS}": CategoryResponse.from_epsilon(1, domain=ANSWERS),
        f"unary, {ANSWERS} bits": UnaryEncoding.from_epsilon(epsilon=1, domain=ANSWERS),
        "Hadamard sketch": HadamardCountMeanSketch(epsilon=4, functions=64, width=1024),
    }


def compute(sizes: Sequence[int] = SIZES, repeats: int = 3) -> list[Row]:
    """Clients and aggregator together, with secure noise on two threads; the best of a few runs."""
    rows = []
    for name, protocol in protocols().items():
        for people in sizes:
            population = populations.normal(people, values=ANSWERS)
            runs = [simulate(protocol, population) for _ in range(repeats if people <= max(SIZES) else 1)]
            best = min(runs, key=lambda run: run.seconds)
            rows.append(
                {
                    "protocol": name,
                    "reports": best.reports,
                    "seconds": best.seconds,
                    "nanoseconds_per_report": best.nanoseconds_per_report,
                    "bits_per_report": best.bits_per_report,
                    "megabytes_held": best.held_bytes / 1e6,
                }
            )
    return rows


def powers(rows: Sequence[Row]) -> dict[str, float]:
    """By which power of the number of reports the time grows, for each protocol, where there are many of them."""
    powers = {}
    for name in dict.fromkeys(column(rows, "protocol")):
        many = [row for row in select(rows, protocol=name) if row["reports"] >= LINEAR_FROM]
        if len(many) > 1:
            powers[name] = slope(column(many, "reports"), column(many, "seconds"))
    return powers


def draw(rows: Sequence[Row]) -> Figure:
    """Time over reports on logarithmic axes, and the time of one report."""
    figure, (left, right) = charts.figure(2, size=(10.5, 4.5))
    names, grows = list(dict.fromkeys(column(rows, "protocol"))), powers(rows)
    for place, name in enumerate(names):
        chosen = select(rows, protocol=name)
        many, colour, marker = column(chosen, "reports"), charts.SERIES[place], charts.MARKERS[place]
        label = f"{name} (n to the {grows[name]:.2f})" if name in grows else name
        left.plot(many, column(chosen, "seconds"), marker=marker, color=colour, lw=1.3, ms=5, label=label)
        right.plot(many, column(chosen, "nanoseconds_per_report"), marker=marker, color=colour, lw=1.3, ms=5)
    charts.numbers(left, x="log", y="log")
    charts.numbers(right, x="log", y="log")
    charts.legend(left, loc="upper left")
    charts.name_axes(left, "All reports", "reports", "seconds")
    charts.name_axes(right, "One report", "reports", "nanoseconds")
    charts.caption(
        figure,
        "Everybody's report is drawn with secure noise, bit-packed and counted, on two threads. The legend says how "
        f"the time grows from {LINEAR_FROM:,} reports on: 1 is linear.",
    )
    return figure


def tell(rows: Sequence[Row]) -> str:
    """What one sees."""
    most = max(column(rows, "reports"))
    lines = [
        f"| {row['protocol']} | {row['bits_per_report']} | {row['seconds']:.3g} | {row['nanoseconds_per_report']:.3g} "
        f"| {row['megabytes_held']:.3g} | {powers(rows).get(row['protocol'], float('nan')):.2f} |"
        for row in select(rows, reports=most)
    ]
    head = f"| protocol | bits per report | seconds for {most:,} | ns per report | MB held | grows like n to the |"
    table = "\n".join((head, "|---|---|---|---|---|---|", *lines))
    return (
        f"{table}\n\nReports and counts are held for one piece at a time, so memory does not grow with the number of "
        "people. Times are those of the machine this was run on; the powers should be near 1 on every one."
    )


GROWTH = Experiment(
    name="growth",
    title="The cost grows linearly with the number of reports",
    source="a measurement of our own",
    compute=compute,
    draw=draw,
    tell=tell,
    full={"sizes": (*SIZES, 30_000_000, 100_000_000)},
)
