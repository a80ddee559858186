"""Numbers far below their bound, one after another: ToPS with a curator and ToPL without one, beside plainer ways."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lapwing import charts
from lapwing.crowd import Hybrid, StochasticRounding, Topl
from lapwing.experiments.experiment import Experiment, Row, column, entropy, select
from lapwing.experiments.flights import flights
from lapwing.mechanisms.binary_tree import BinaryTree
from lapwing.mechanisms.quantile import Quantile
from lapwing.mechanisms.signed_tree import SignedTree
from lapwing.mechanisms.tops import Tops

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BOUND = 2_880
"""Minutes: nobody waits longer than two days. It is declared without looking; the longest delay was 1,301."""
EPSILONS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
STEPS, FIRST, RANGES = 1 << 16, 1 << 13, 2_000
FIRST_DAYS, DAYS = 60, 240
LAPLACE, BINARY, SIGNED = "Laplace per step, at the bound", "binary tree, at the bound", "signed tree, at the bound"
FIXED, TOPS = "rank 0.995, then a tree", "ToPS"
CENTRAL = (LAPLACE, BINARY, SIGNED, FIXED, TOPS)
BIT, HYBRID, TOPL, SMOOTH = "one bit, at the bound", "hybrid, at the bound", "ToPL", "ToPL, smoothed"
LOCAL = (BIT, HYBRID, TOPL, SMOOTH)
MEAN = "say nothing: 0 minutes"
Floats = NDArray[np.float64]


def compute(
    epsilons: Sequence[float] = EPSILONS,
    steps: int = STEPS,
    first: int = FIRST,
    days: int = DAYS,
    repeats: int = 3,
) -> list[Row]:
    """Errors of ranges with a curator, and of daily means without one, over ε: minutes of delay at departure."""
    rows: list[Row] = []
    delays = np.nan_to_num(flights().delay[:steps])
    for epsilon in epsilons:
        for method in CENTRAL:
            error, threshold = central(method, delays, first, epsilon, repeats)
            row = {"part": "curator", "method": method, "epsilon": epsilon, "error": error, "threshold": threshold}
            rows.append({**row, "steps": steps, "first": first})
        rows += local(epsilon, days, repeats)
    return rows


def central(method: str, delays: Floats, first: int, epsilon: float, repeats: int) -> tuple[float, float]:
    """The root mean squared error of the sums of ranges after the first flights, and the threshold on average."""
    steps, chance = len(delays) - first, np.random.default_rng(1)
    ends = np.sort(chance.choice(steps + 1, (RANGES, 2)), axis=1)
    ends = ends[ends[:, 0] < ends[:, 1]]
    if method == LAPLACE:
        return math.sqrt(2 * float((ends[:, 1] - ends[:, 0]).mean())) * BOUND / epsilon, BOUND
    if method in (BINARY, SIGNED):
        kind: Any = BinaryTree if method == BINARY else SignedTree
        tree = kind.for_epsilon(epsilon, steps=steps, sensitivity=BOUND)
        return math.sqrt(np.mean([tree.window_variance(start, stop) for start, stop in ends[:300].tolist()])), BOUND
    truth, squares, chosen = np.concatenate(([0.0], np.cumsum(delays[first:]))), [], []
    for run in range(repeats):
        totals, threshold = totals_of(method, delays, first, epsilon, run)
        misses = np.concatenate(([0.0], totals)) - truth
        squares.append(np.square(misses[ends[:, 1]] - misses[ends[:, 0]]).mean())
        chosen.append(threshold)
    return math.sqrt(np.mean(squares)), float(np.mean(chosen))


def totals_of(method: str, delays: Floats, first: int, epsilon: float, run: int) -> tuple[Floats, float]:
    """All totals after the first flights, and the threshold of this run."""
    source = entropy("tops", method, epsilon, run)
    if method == TOPS:
        stream = Tops(epsilon=epsilon, bound=BOUND, steps=len(delays), first=first)
        state, totals = stream.observe_many(stream.open(), delays, source)
        return np.array(totals[first:]), float(stream.threshold(state) or 0.0)
    rank = Quantile(epsilon=epsilon, bounds=(0, BOUND), q=0.995, granularity=1)
    limit = max(int(rank.release(delays[:first], source)), 1)
    tree = SignedTree(epsilon=epsilon, steps=len(delays) - first, sensitivity=limit)
    cut = np.minimum(delays[first:], limit).astype(np.int64)
    return np.asarray(tree.release(cut, source), dtype=np.float64), float(limit)


def local(epsilon: float, days: int, repeats: int) -> list[Row]:
    """The same delays, randomised by each flight for itself: the error of the mean of each day."""
    table = flights()
    seen = ~np.isnan(table.delay)
    day, delay = table.day[seen], table.delay[seen]
    later = [delay[day == number] for number in range(FIRST_DAYS, FIRST_DAYS + days)]
    truth, each = np.array([numbers.mean() for numbers in later]), round(float(np.mean([len(n) for n in later])))
    plan = Topl(epsilon=epsilon, bound=BOUND, reports=each)
    misses: dict[str, list[float]] = {method: [] for method in LOCAL}
    chosen = []
    for run in range(repeats):
        source = entropy("topl", epsilon, run)
        learnt = plan.first.absorb(None, plan.first.randomize(delay[day < FIRST_DAYS], source))
        protocols: dict[str, StochasticRounding | Hybrid] = {
            BIT: StochasticRounding.from_epsilon(epsilon, bounds=(0, BOUND)),
            HYBRID: Hybrid.from_epsilon(epsilon, bounds=(0, BOUND)),
            TOPL: plan.later(learnt),
        }
        chosen.append(float(protocols[TOPL].bounds[1]))
        for method, protocol in protocols.items():
            counts = [protocol.absorb(None, protocol.randomize(numbers, source)) for numbers in later]
            means = np.array([protocol.estimate(state).mean for state in counts])
            misses[method].append(float(np.square(means - truth).mean()))
            if method == TOPL:
                levels = np.array(plan.series(counts).levels())
                misses[SMOOTH].append(float(np.square(levels - truth).mean()))
    common = {"part": "crowd", "epsilon": epsilon, "days": days, "reports": each}
    nothing = math.sqrt(float(np.square(truth).mean()))
    return [
        {
            **common,
            "method": method,
            "error": math.sqrt(np.mean(squares)),
            "threshold": float(np.mean(chosen)),
            "nothing": nothing,
        }
        for method, squares in misses.items()
    ]


def draw(rows: Sequence[Row]) -> Figure:
    """With a curator on the left, without one on the right."""
    figure, (left, right) = charts.figure(2, size=(12.4, 5.0))
    colours = (charts.ADVERSARY, charts.NOISE, charts.BLUE, charts.SERIES[4], charts.PRIVATE)
    for axes, part, methods in ((left, "curator", CENTRAL), (right, "crowd", LOCAL)):
        for place, method in enumerate(methods):
            chosen = select(rows, part=part, method=method)
            colour = (
                charts.PRIVATE if method in (TOPS, TOPL) else charts.SERIES[3] if method == SMOOTH else colours[place]
            )
            marker, label = charts.MARKERS[place], method
            axes.plot(
                column(chosen, "epsilon"),
                column(chosen, "error"),
                color=colour,
                marker=marker,
                ms=5,
                lw=1.4,
                label=label,
            )
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        charts.only_ticks(axes.xaxis, sorted({row["epsilon"] for row in rows}))
        charts.written_ticks(axes.yaxis)
    nothing = select(rows, part="crowd")[0]["nothing"]
    right.axhline(nothing, color=charts.QUIET, lw=1.0, ls=":", label=MEAN)
    top = max(column(select(rows, part="curator"), "error"))
    left.set_ylim(top=12 * top)
    right.set_ylim(top=12 * max(column(select(rows, part="crowd"), "error")))
    charts.legend(left, loc="upper right")
    charts.legend(right, loc="upper right")
    charts.name_axes(
        left, "A curator: a threshold is worth a factor of ten", "ε for one flight", "error of a range, in minutes"
    )
    charts.name_axes(
        right, "Nobody to trust: useless below an ε of 1", "ε for one report", "error of a day's mean, in minutes"
    )
    row = select(rows, part="curator", method=TOPS)[0]
    charts.caption(
        figure,
        f"Minutes of delay at departure, New York 2013; the declared bound is {BOUND:,}. Root mean squared errors. "
        f"Left: sums over random ranges of {row['steps'] - row['first']:,} flights, after {row['first']:,} that chose "
        "the threshold. Right: means of single days.",
    )
    return figure


def _written(error: float) -> str:
    """Four digits, as people write them.

    >>> _written(4_491_234.5), _written(19.3187)
    ('4,491,000', '19.32')
    """
    rounded = float(f"{error:.4g}")
    return f"{rounded:,.0f}" if rounded >= 1000 else f"{rounded:g}"


def tell(rows: Sequence[Row]) -> str:
    """What one sees."""
    epsilons = sorted({row["epsilon"] for row in rows})
    usual = min(epsilons, key=lambda epsilon: abs(epsilon - 1))

    def table(part: str, methods: Sequence[str]) -> str:
        lines = []
        for method in methods:
            errors = [select(rows, part=part, method=method, epsilon=epsilon)[0]["error"] for epsilon in epsilons]
            lines.append(f"| {method} | {' | '.join(_written(error) for error in errors)} |")
        head = f"| ε | {' | '.join(f'{epsilon:g}' for epsilon in epsilons)} |"
        return "\n".join((head, "|---" * (len(epsilons) + 1) + "|", *lines))

    def at(part: str, method: str) -> Row:
        return select(rows, part=part, method=method, epsilon=usual)[0]

    tops, plain, topl = at("curator", TOPS), at("curator", SIGNED), at("crowd", TOPL)
    lost = [row["epsilon"] for row in select(rows, part="crowd", method=TOPL) if row["error"] > 0.7 * row["nothing"]]
    failure = f"Up to ε = {max(lost):g} ToPL is hardly better" if lost else "ToPL is better at every ε shown here"
    return (
        f"A flight may leave up to {BOUND:,} minutes late; most of them leave on time, and one in a hundred more than "
        "three hours late. Noise for the bound is noise for a flight that does not exist. ToPS spends the first "
        "flights on a threshold, at a rank that is known beforehand, and ToPL does so with reports that are private "
        "already.\n\n"
        "With a curator, errors of sums over ranges, in minutes:\n\n"
        f"{table('curator', CENTRAL)}\n\n"
        f"At ε = {usual:g} the threshold is {tops['threshold']:,.0f} minutes on average and the error "
        f"{plain['error'] / tops['error']:.1f} times smaller than with the best tree at the bound. A fixed rank of "
        "0.995 cuts off too much of a long range, at any ε. At a small ε the first flights do not show this.\n\n"
        f"Without a curator, errors of the mean of one day ({topl['reports']:,} reports):\n\n"
        f"{table('crowd', LOCAL)}\n\n"
        f"Saying 0 every day has an error of {topl['nothing']:.1f} minutes. {failure}. At a small ε the first reports "
        "do not show the distribution, the threshold cuts off nearly everything, and the answer is close to 0 whatever "
        "the truth is. It looks better than the methods at the bound only because it says nothing."
    )


TOPS_AND_TOPL = Experiment(
    name="tops",
    title="Numbers far below their bound: a threshold with a curator, and without",
    source=(
        "Wang, Chen, Zhang, Su, Cheng, Li, Li and Jha, Continuous release of data streams under both centralized and "
        "local differential privacy (2021); Perrier, Asghar and Kaafar (2019)"
    ),
    compute=compute,
    draw=draw,
    tell=tell,
    full={"steps": 1 << 18, "first": 1 << 14, "days": 300, "repeats": 10},
)
