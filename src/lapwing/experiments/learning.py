"""What can be learnt privately: how many rows it takes, beside what the theorems promise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import lapwing as lw
from lapwing import charts
from lapwing.experiments.experiment import Experiment, Row, column, entropy, select
from lapwing.noise import Entropy, bernoulli

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from lapwing.models import Conjunction

SOURCE = "Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith, What can we learn privately? (2011)"
ERROR, TARGET = 0.1, (0, 1, 2)
NEARLY_NONE = 50.0
"""An epsilon at which nothing is hidden any more."""
LEVELS = (NEARLY_NONE, 1.0, 0.5, 0.2)
SIZES = (10, 15, 23, 35, 53, 80, 120, 180, 270, 400, 600)
PARITY_LEVELS = (2.0, 1.0, 0.5)
PARITY_SIZES = (90, 110, 135, 165, 200, 250, 300, 370, 450, 550, 675)
WIDTHS = (4, 8, 16, 32, 64, 128)
SURE = 0.9
MASKED_WIDTHS = (8, 16, 32)
MASKED_SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000)
ROUNDS = {"two rounds": "learn_in_two_rounds", "one round": "learn_in_one_round"}


def occam(columns: int = 7, sizes: Sequence[int] = SIZES, repeats: int = 60) -> list[Row]:
    """For each epsilon and number of rows: how often the answer errs less than `ERROR`."""
    concepts, rows = lw.models.conjunctions(columns), list[Row]()
    target = lw.models.Conjunction(TARGET)
    for epsilon in LEVELS:
        for size in sizes:
            source, hits = entropy("occam", epsilon, size), 0
            for _ in range(repeats):
                X = _bits(size, columns, source)
                learner = lw.models.OccamLearner(epsilon=epsilon, concepts=concepts, random_state=source)
                hits += _distance(learner.fit(X, target(X)).concept_, target) < ERROR
            rows.append(
                {
                    "concepts": len(concepts),
                    "epsilon": epsilon,
                    "rows": size,
                    "success": hits / repeats,
                    "bound": _occam_promise(len(concepts), size, epsilon),
                }
            )
    return rows


def _occam_promise(concepts: int, size: float, epsilon: float) -> float:
    return float(max(0.0, 1 - concepts * (1 + ERROR * math.expm1(-epsilon)) ** size))


def _distance(first: Conjunction, second: Conjunction) -> float:
    """On what share of all rows of bits two conjunctions differ."""
    both = len({*first.columns, *second.columns})
    return float(2.0 ** -len(first.columns) + 2.0 ** -len(second.columns) - 2 * 2.0**-both)


def draw_occam(rows: Sequence[Row]) -> Figure:
    """A rising line for each epsilon, its bound dashed."""
    figure, [axes] = charts.figure(size=(7.8, 4.6))
    levels = list(dict.fromkeys(column(rows, "epsilon")))
    for place, epsilon in enumerate(levels):
        chosen = select(rows, epsilon=epsilon)
        label = "no privacy" if epsilon == NEARLY_NONE else f"ε = {epsilon:g}"
        _rising(
            axes,
            chosen,
            lambda size, row=chosen[0]: _occam_promise(row["concepts"], size, row["epsilon"]),
            place,
            label,
        )
    charts.numbers(axes, x="log", y="percent")
    axes.set_ylim(0, 1.04)
    axes.set_xlim(left=min(column(rows, "rows")) / 1.6)
    charts.name_axes(
        axes, "Privacy costs rows, not the ability to learn", "rows", f"answers that err less than {ERROR:g}"
    )
    _measured_and_promised(axes, loc="upper left")
    charts.caption(
        figure,
        "The best of all conjunctions of some columns of bits, chosen by permute-and-flip. The bound holds for every "
        "class of as many concepts and every distribution of rows.",
    )
    return figure


def tell_occam(rows: Sequence[Row]) -> str:
    """What one sees."""
    needed = {epsilon: _first_sure(select(rows, epsilon=epsilon)) for epsilon in dict.fromkeys(column(rows, "epsilon"))}
    said = "; ".join(
        f"{'without privacy' if epsilon == NEARLY_NONE else f'ε = {epsilon:g}'}: {size or 'more than tried'}"
        for epsilon, size in needed.items()
    )
    concepts = rows[0]["concepts"]
    promised = lw.models.occam_sample_bound(concepts, epsilon=1, error=ERROR, failure=1 - SURE)
    return (
        f"Rows from which on {100 * SURE:.0f} % of the answers err less than {ERROR:g} – {said}. The bound for "
        f"{concepts} concepts at ε = 1 is {promised} rows, and ln(concepts/failure)/−ln(1 − α(1 − e^−ε)) for an "
        f"error of α (here {ERROR:g}). The bound without privacy (Occam's razor) has α in place of α(1 − e^−ε). "
        "Everything that can be learnt with a finite class can be learnt privately."
    )


def parity(
    columns: int = 32, sizes: Sequence[int] = PARITY_SIZES, widths: Sequence[int] = WIDTHS, repeats: int = 60
) -> list[Row]:
    """How often a parity is found, by epsilon and rows; and rows for nine in ten, by the number of columns."""
    rows = list[Row]()
    for epsilon in PARITY_LEVELS:
        for size in sizes:
            success = _parities_found(columns, size, epsilon, repeats, entropy("parity", epsilon, size))
            rows.append(
                {
                    "panel": "success",
                    "columns": columns,
                    "epsilon": epsilon,
                    "rows": size,
                    "success": success,
                    "bound": _parity_promise(columns, size, epsilon),
                }
            )
    for width in widths:
        promised = lw.models.parity_sample_bound(width, epsilon=1, error=0.5, failure=1 - SURE)
        source = entropy("parity", "rows", width)
        shares = (k / 20 for k in range(2, 41))
        tried = (math.ceil(share * promised) for share in shares)
        least = next(size for size in tried if _parities_found(width, size, 1.0, repeats, source) >= SURE)
        everything = lw.models.occam_sample_bound(2**width, epsilon=1, error=0.5, failure=1 - SURE)
        rows.append(
            {"panel": "rows", "columns": width, "epsilon": 1.0, "rows": least, "bound": promised, "occam": everything}
        )
    return rows


def _parities_found(columns: int, size: int, epsilon: float, repeats: int, source: Entropy) -> float:
    hits = 0
    for _ in range(repeats):
        X, secret = _bits(size, columns, source), _bits(1, columns, source)[0]
        y = (X & secret).sum(axis=1) % 2
        learner = lw.models.ParityLearner(epsilon=epsilon, random_state=source).fit(X, y)
        hits += learner.parity_ == tuple(secret.nonzero()[0].tolist())
    return hits / repeats


def _parity_promise(columns: int, size: float, epsilon: float, parts: int = 4) -> float:
    silent = (1 + math.exp(epsilon)) ** -parts
    return float(max(0.0, 1 - silent - 2.0**columns * (1 + math.expm1(-epsilon) / (2 * parts)) ** size))


def draw_parity(rows: Sequence[Row]) -> Figure:
    """Success over rows, and rows over columns."""
    figure, (left, right) = charts.figure(2, size=(11, 4.6))
    chosen = select(rows, panel="success")
    for place, epsilon in enumerate(dict.fromkeys(column(chosen, "epsilon"))):
        some = select(chosen, epsilon=epsilon)
        _rising(
            left,
            some,
            lambda size, row=some[0]: _parity_promise(row["columns"], size, row["epsilon"]),
            place,
            f"ε = {epsilon:g}",
        )
    charts.numbers(left, x="log", y="percent")
    left.set_ylim(0, 1.04)
    charts.name_axes(left, f"{chosen[0]['columns']} columns: found or silent", "rows", "parities found")
    _measured_and_promised(left, loc="upper left")
    needed = select(rows, panel="rows")
    widths = column(needed, "columns")
    right.plot(widths, column(needed, "bound"), "--", color=charts.PRIVATE, lw=1.3)
    right.plot(widths, column(needed, "rows"), "o", color=charts.PRIVATE, ms=6)
    right.plot(widths, column(needed, "occam"), "--", color=charts.QUIET, lw=1.3)
    charts.beside(right, widths[-1], needed[-1]["bound"], "enough,\nin time d²·n", charts.PRIVATE, shift=(8, 4))
    charts.beside(right, widths[-1], needed[-1]["rows"], "measured", charts.PRIVATE, shift=(8, -4))
    charts.beside(right, widths[-1], needed[-1]["occam"], "enough,\nin time 2ᵈ·n", charts.QUIET, shift=(8, 0))
    charts.numbers(right, x="log", y="log")
    charts.only_ticks(right.xaxis, widths)
    right.set_xlim(widths[0] / 1.3, widths[-1] * 4)
    right.spines["bottom"].set_bounds(widths[0] / 1.3, widths[-1])
    charts.name_axes(right, f"Rows for {100 * SURE:.0f} %, at ε = 1", "columns d", "rows")
    charts.caption(
        figure,
        "Uniform rows of bits, labelled by the parity of a secret set of columns. A random solution of the "
        "equations of a random sample is ε-private if the learner is silent often enough. Grey line: a learner that "
        "tries all 2ᵈ parities instead.",
    )
    return figure


def tell_parity(rows: Sequence[Row]) -> str:
    """What one sees."""
    needed = select(rows, panel="rows")
    least, most = needed[0], needed[-1]
    return (
        f"At ε = 1 the learner finds {100 * SURE:.0f} % of the parities of {least['columns']} columns from "
        f"{least['rows']} rows. For {most['columns']} columns it needs {most['rows']} (promised: {most['bound']}), "
        f"though there are 2^{most['columns']} parities: it solves equations instead of trying all of them. "
        "Statistical queries, and therefore all methods of local differential privacy, need exponentially many people "
        "for the same class. So a curator can learn privately and efficiently what the local model cannot."
    )


def masked(widths: Sequence[int] = MASKED_WIDTHS, sizes: Sequence[int] = MASKED_SIZES, repeats: int = 24) -> list[Row]:
    """For each number of bits, of people and of rounds: how often the concept is found, at ε = 1."""
    rows = list[Row]()
    for bits in widths:
        for people in sizes:
            source = entropy("masked", bits, people)
            successes = dict.fromkeys(ROUNDS, 0)
            for _ in range(repeats):
                concept = lw.models.MaskedParity.drawn(bits, source)
                X = lw.models.MaskedParity.draw(bits, people, source)
                y = concept.labels(X)
                for name, learn in ROUNDS.items():
                    oracle = lw.models.QueryOracle(X, y, epsilon=1, random_state=source)
                    more: dict[str, Any] = {"random_state": source} if name == "one round" else {}
                    successes[name] += getattr(lw.models, learn)(oracle, bits, **more) == concept
            for name, hits in successes.items():
                expected = expected_success(bits, people, name)
                rows.append(
                    {"bits": bits, "people": people, "asked": name, "success": hits / repeats, "theory": expected}
                )
    return rows


def expected_success(bits: int, people: int, rounds: str) -> float:
    """How often all of r (estimates taken as normal) and a (its votes counted exactly) are right, at ε = 1."""
    import numpy as np
    from scipy import stats

    slope, half = math.tanh(0.5), people // 2
    secret = float(stats.norm.cdf(0.5 * slope * math.sqrt(half // bits / bits))) ** bits
    sway = 0.5 + slope / 4  # a vote on a is right with this probability
    voters = people - half
    if rounds == "two rounds":
        return secret * float(stats.norm.cdf((2 * sway - 1) * math.sqrt(voters)))
    mean = voters / 2**bits
    votes = np.arange(max(0, int(mean - 10 * math.sqrt(mean) - 10)), int(mean + 10 * math.sqrt(mean) + 10))
    ties = stats.binom.pmf(votes / 2, votes, sway) * (votes % 2 == 0)
    right = stats.binom.sf(np.floor(votes / 2), votes, sway) + ties / 2
    return secret * float(stats.poisson.pmf(votes, mean) @ right)


def draw_masked(rows: Sequence[Row]) -> Figure:
    """One panel for each number of bits."""
    import numpy as np

    widths = list(dict.fromkeys(column(rows, "bits")))
    figure, panels = charts.figure(len(widths), size=(4.1 * len(widths), 4.5), sharey=True)
    colours = {"two rounds": charts.PRIVATE, "one round": charts.NOISE}
    sizes = sorted(set(column(rows, "people")))
    dense = np.unique(np.geomspace(min(sizes[0], 300), 1e7, 90).astype(int)).tolist()
    for axes, bits in zip(panels, widths, strict=True):
        ceiling = [lw.models.one_round_ceiling(bits, people, epsilon=1) for people in dense]
        axes.fill_between(dense, ceiling, 1, color=charts.LINE, alpha=0.6, lw=0)
        for place, name in enumerate(ROUNDS):
            chosen = select(rows, bits=bits, asked=name)
            axes.plot(dense, [expected_success(bits, n, name) for n in dense], color=colours[name], lw=1.3)
            axes.plot(
                column(chosen, "people"), column(chosen, "success"), charts.MARKERS[place], color=colours[name], ms=5.5,
                label=name,
            )  # fmt: skip
        charts.numbers(axes, x="log", y="percent")
        axes.set_ylim(0, 1.04)
        axes.set_xlim(dense[0] / 1.2, dense[-1] * 1.2)
        charts.only_ticks(axes.xaxis, [10**k for k in (3, 4, 5, 6, 7)])
        charts.name_axes(axes, f"{bits} bits", "people", "concepts found" if axes is panels[0] else "")
    charts.legend(panels[0], loc="lower right")
    panels[-1].text(400, 0.94, "impossible in one round", color=charts.QUIET, fontsize=8.5, va="center")
    charts.caption(
        figure,
        "MASKED-PARITY on uniform rows, everybody answering one question through randomized response at ε = 1. Dots: "
        "measured; lines: theory. Grey: success that no protocol of one round can have with the last bit, whatever it "
        "asks; half of all guesses at that bit are right by luck.",
    )
    return figure


def tell_masked(rows: Sequence[Row]) -> str:
    """What one sees."""
    bits, people = max(column(rows, "bits")), max(column(rows, "people"))
    twice, once = (select(rows, bits=bits, people=people, asked=name)[0]["success"] for name in ROUNDS)
    needed = 8 * 2.0**bits * (2 * SURE - 1) ** 2 / math.expm1(1) ** 2
    return (
        f"With {bits} bits and {people:,} people two rounds find the concept in {100 * twice:.0f} % of the runs, one "
        f"round in {100 * once:.0f} %. The first round finds a secret, which says what to ask in the second "
        "round. A protocol with one round can only guess this secret, and a guess is right once in 2^d. So every such "
        f"protocol needs at least {needed:,.0f} people to be right in {100 * SURE:.0f} % of the runs, and twice as "
        "many with one more bit."
    )


def _bits(size: int, columns: int, source: Entropy) -> NDArray[Any]:
    import numpy as np

    return np.asarray(bernoulli(0.5, size * columns, source)).reshape(size, columns).astype(np.int64)


def _rising(axes: Axes, rows: Sequence[Row], promise: Any, place: int, label: str) -> None:
    """Measured shares with the promise dashed below, and a label where half succeed."""
    import numpy as np

    colour, sizes, shares = charts.SERIES[place], column(rows, "rows"), column(rows, "success")
    dense = np.geomspace(sizes[0], sizes[-1], 300)
    promised = np.array([promise(float(size)) for size in dense])
    axes.plot(dense[promised > 0], promised[promised > 0], "--", color=colour, lw=1.2)
    axes.plot(sizes, shares, f"{charts.MARKERS[place]}-", color=colour, lw=1.2, ms=5)
    after = next((k for k, share in enumerate(shares) if share >= 0.5), len(shares) - 1)
    part = (0.5 - shares[after - 1]) / (shares[after] - shares[after - 1]) if after else 1.0
    where = sizes[max(after - 1, 0)] * (sizes[after] / sizes[max(after - 1, 0)]) ** part
    charts.beside(axes, where, 0.5 if after else shares[0], label, colour, shift=(-7, 4))
    axes.texts[-1].set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 1.5})  # lines of others pass behind it


def _measured_and_promised(axes: Axes, loc: str) -> None:
    axes.plot([], [], "o-", color=charts.QUIET, ms=5, lw=1, label="measured")
    axes.plot([], [], "--", color=charts.QUIET, lw=1.2, label="promised at least")
    charts.legend(axes, loc=loc)


def _first_sure(rows: Sequence[Row]) -> int | None:
    """The least size from which on success is sure enough."""
    failing = [place for place, row in enumerate(rows) if row["success"] < SURE]
    after = failing[-1] + 1 if failing else 0
    return int(rows[after]["rows"]) if after < len(rows) else None


OCCAM = Experiment(
    name="occam",
    title="Occam's razor with privacy: success over the number of rows",
    source=SOURCE,
    compute=occam,
    draw=draw_occam,
    tell=tell_occam,
    full={"repeats": 1000},
)
PARITY = Experiment(
    name="parity",
    title="Learning parities privately and fast",
    source=SOURCE,
    compute=parity,
    draw=draw_parity,
    tell=tell_parity,
    full={"repeats": 500},
)
MASKED_PARITY = Experiment(
    name="masked-parity",
    title="Masked parity: what a second round is worth where nobody is trusted",
    source=SOURCE,
    compute=masked,
    draw=draw_masked,
    tell=tell_masked,
    full={"sizes": (*MASKED_SIZES, 1_000_000), "repeats": 200},
)
