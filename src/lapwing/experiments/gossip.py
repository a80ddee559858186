"""Averages by gossip: how fast all agree, why fading noise does not protect, and masks that cancel instead."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from lapwing import charts
from lapwing.datasets import ADULT_BOUNDS, adult
from lapwing.experiments.experiment import Experiment, Row, column, entropy, select
from lapwing.experiments.gossip_graphs import (
    NODES,
    SHAPES,
    Eavesdropper,
    best_error,
    connectivity,
    edges,
    laplacian,
    normals,
    plain_rate,
    talk,
    telescoped_error,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lapwing.experiments.gossip_graphs import Floats, Shape
    from lapwing.noise import Entropy

PLAIN, FADING, MASKED = "plain", "fading noise", "masks"
SIGMA = 20.0
"""Years: the first noise of a node, where noise fades."""
PHIS = (0.5, 0.9, 0.98)
EXCHANGES = 40
EPSILON, DELTA = 1.0, 1e-5
"""Of the private average."""
LOW, HIGH = ADULT_BOUNDS["age"]
SPAN = HIGH - LOW
"""Years by which one person can move the sum of ages."""
MASK_SIZES = (0.0, 10.0, 30.0, 100.0, 300.0, 1_000.0, 3_000.0, 10_000.0)
MASK = 3_000.0
"""Years: the standard deviation of each mask, where one is used."""
WINDOWS = {PLAIN: (4.0, 10.0), FADING: (8.0, 14.0), MASKED: (4.0, 10.0)}
"""Where a rate is measured, in units of 2m/α exchanges."""
LONGEST, POINTS = 14.0, 70
VICTIM = 5
"""In the middle of the grid."""


def compute(runs: int = 300, mask_sizes: Sequence[float] = MASK_SIZES) -> list[Row]:
    """Rates on three graphs; two attacks over the number of exchanges; the price of masked starts."""
    ages = np.array(adult("train")["age"][:NODES], dtype=np.float64)
    rows: list[Row] = []
    for shape in SHAPES:
        rows += _pace_rows(shape, ages, runs)
    for phi in PHIS:
        rows += _attack_rows(ages, phi, runs)
    rows += _first_message_rows(ages, runs)
    for shape in SHAPES:
        rows += [_price_row(shape, size, ages, runs) for size in mask_sizes]
        rows.append(_collusion_row(shape))
    return rows


def noise_deviation() -> float:
    """Years: of all nodes' noise together, for the private average."""
    return SPAN / gaussian_distance(EPSILON, DELTA)


def share_deviation() -> float:
    """Of one node's share of it."""
    return noise_deviation() / math.sqrt(NODES)


def gaussian_delta(epsilon: float, distance: float) -> float:
    """δ(ε) of normal noise when neighbours are so many standard deviations apart (Balle and Wang 2018)."""
    from scipy.special import log_ndtr, ndtr

    low, high = distance / 2 - epsilon / distance, -distance / 2 - epsilon / distance
    return float(ndtr(low) - math.exp(epsilon + log_ndtr(high)))


def gaussian_epsilon(distance: float, delta: float) -> float:
    """The ε of normal noise, when neighbours are so many standard deviations apart."""
    from scipy.optimize import brentq

    if gaussian_delta(0.0, distance) <= delta:
        return 0.0
    most = distance**2 / 2 + distance * math.sqrt(2 * math.log(1 / delta))
    return float(brentq(lambda epsilon: gaussian_delta(epsilon, distance) - delta, 0.0, most))


@cache
def gaussian_distance(epsilon: float, delta: float) -> float:
    """How many standard deviations apart neighbours may be."""
    from scipy.optimize import brentq

    return float(brentq(lambda distance: gaussian_delta(epsilon, distance) - delta, 1e-6, 10.0))


def masked_starts(shape: Shape, ages: Floats, runs: int, size: float, source: Entropy) -> Floats:
    """Every node's age, its share of the noise, and for each of its edges a mask that the other end subtracts."""
    starts = np.tile(ages, (runs, 1)) + normals(runs * len(ages), share_deviation(), source).reshape(runs, -1)
    for left, right in edges(shape):
        mask = normals(runs, size, source)
        starts[:, left] += mask
        starts[:, right] -= mask
    return starts


def _covariance(shape: Shape, size: float) -> Floats:
    """Of what is added to the ages: independent shares, and masks along the edges."""
    return share_deviation() ** 2 * np.eye(NODES) + size**2 * laplacian(shape)


def _pace_rows(shape: Shape, ages: Floats, runs: int) -> list[Row]:
    """Curves and rates of the three methods on one graph."""
    alpha, count, degrees = connectivity(shape), len(edges(shape)), np.diag(laplacian(shape))
    unit = 2 * count / alpha
    steps, gamma = math.ceil(LONGEST * unit), alpha / 4
    exact, rows = plain_rate(shape), list[Row]()
    for method in (PLAIN, FADING, MASKED):
        source = entropy("gossip", shape, method)
        if method == MASKED:
            errors = talk(shape, masked_starts(shape, ages, runs, MASK, source), steps, source)
        else:
            sigma, phi = (SIGMA, np.sqrt(1 - gamma / degrees)) if method == FADING else (0.0, None)
            errors = talk(shape, np.tile(ages, (runs, 1)), steps, source, sigma=sigma, phi=phi)
        times = np.arange(len(errors)) / unit
        inside = (times >= WINDOWS[method][0]) & (times <= WINDOWS[method][1])
        slope = float(np.polyfit(np.flatnonzero(inside), np.log(errors[inside]), 1)[0])
        noise_rate = 1 - gamma / count if method == FADING else 0.0
        row: Row = {"part": "rate", "graph": shape, "method": method, "nodes": len(ages), "edges": count}
        row |= {"connectivity": alpha, "gamma": gamma if method == FADING else None}
        row |= {"formula": max(1 - alpha / (2 * count), noise_rate), "exact": max(exact, noise_rate)}
        rows.append({**row, "measured": math.exp(slope)})
        for place in np.unique(np.linspace(0, steps, POINTS + 1).astype(int)):
            rows.append(
                {"part": "curve", "graph": shape, "method": method, "steps": int(place), "time": float(times[place])}
                | {"squared_error": float(errors[place])}
            )
    return rows


def _attack_rows(ages: Floats, phi: float, runs: int) -> list[Row]:
    """On a ring, where everybody has the same φ: an eavesdropper at one node."""
    listener, source = Eavesdropper(runs, phi, EXCHANGES), entropy("gossip attack", phi)
    steps = _enough(len(ages))
    talk(
        "ring", np.tile(ages, (runs, 1)), steps, source, sigma=SIGMA, phi=np.full(len(ages), phi), eavesdropper=listener
    )
    return [
        {
            "part": "attack",
            "method": FADING,
            "phi": phi,
            "exchanges": place + 1,
            "telescoped": _off(listener.telescoped[:, place], ages[0]),
            "telescoped_theory": telescoped_error(phi, place, SIGMA),
            "best": _off(listener.best[:, place], ages[0]),
            "best_theory": best_error(phi, place, SIGMA),
            "runs": int(np.isfinite(listener.best[:, place]).sum()),
        }
        for place in range(EXCHANGES)
    ]


def _first_message_rows(ages: Floats, runs: int) -> list[Row]:
    """The same eavesdropper where starts are masked: nothing is taken back later, so nothing telescopes."""
    listener, source = Eavesdropper(runs, 1.0, EXCHANGES), entropy("gossip attack", MASKED)
    talk("ring", masked_starts("ring", ages, runs, MASK, source), _enough(len(ages)), source, eavesdropper=listener)
    theory = math.sqrt(_covariance("ring", MASK)[0, 0])
    return [
        {
            "part": "attack",
            "method": MASKED,
            "exchanges": place + 1,
            "telescoped": _off(listener.telescoped[:, place], ages[0]),
            "telescoped_theory": theory,
            "runs": int(np.isfinite(listener.telescoped[:, place]).sum()),
        }
        for place in range(EXCHANGES)
    ]


def _enough(nodes: int) -> int:
    """Steps on a ring after which a node has had its exchanges, in nearly every run."""
    return nodes * EXCHANGES


def _off(guesses: Any, truth: float) -> float:
    """The root mean square of the error, over the runs that got so far."""
    return float(np.sqrt(np.nanmean((guesses - truth) ** 2)))


def _price_row(shape: Shape, size: float, ages: Floats, runs: int) -> Row:
    """What all first values together tell to somebody who knows everybody else's age, and nobody's masks."""
    precision = np.linalg.inv(_covariance(shape, size))[VICTIM]
    starts = masked_starts(shape, ages, runs, size, entropy("gossip price", shape, size))
    others = ages.copy()
    others[VICTIM] = 0
    guesses = (starts - others) @ precision / precision[VICTIM]
    distance = SPAN * math.sqrt(precision[VICTIM])
    return {
        "part": "price",
        "graph": shape,
        "mask": size,
        "epsilon": gaussian_epsilon(distance, DELTA),
        "delta": DELTA,
        "informed": _off(guesses, ages[VICTIM]),
        "informed_theory": 1 / math.sqrt(precision[VICTIM]),
        "answer": float(np.sqrt(np.mean((starts.mean(axis=1) - ages.mean()) ** 2))),
        "answer_theory": noise_deviation() / len(ages),
        "runs": runs,
    }


def _collusion_row(shape: Shape) -> Row:
    """Two neighbours tell their masks: what is left are shares of the noise, and masks among all others."""
    neighbours = sorted({left + right - VICTIM for left, right in edges(shape) if VICTIM in (left, right)})
    honest = [node for node in range(NODES) if node not in neighbours[:2]]
    left_over = np.zeros((NODES, NODES))
    for left, right in edges(shape):
        if left in honest and right in honest:
            left_over[[left, right], [left, right]] += 1
            left_over[[left, right], [right, left]] -= 1
    covariance = (share_deviation() ** 2 * np.eye(NODES) + MASK**2 * left_over)[np.ix_(honest, honest)]
    precision = np.linalg.inv(covariance)[honest.index(VICTIM), honest.index(VICTIM)]
    epsilon = gaussian_epsilon(SPAN * math.sqrt(precision), DELTA)
    return {"part": "collusion", "graph": shape, "mask": MASK, "colluding": 2, "epsilon": epsilon, "delta": DELTA}


def draw(rows: Sequence[Row]) -> Figure:
    """How fast, how safe, and at what price."""
    figure, (left, middle, right) = charts.figure(3, size=(13.4, 4.9))
    for place, shape in enumerate(SHAPES):
        for method, style in ((PLAIN, "-"), (FADING, "--"), (MASKED, ":")):
            chosen = select(rows, part="curve", graph=shape, method=method)
            label = shape if method == PLAIN else None
            colour = charts.SERIES[place]
            left.plot(column(chosen, "time"), column(chosen, "squared_error"), style, color=colour, lw=1.4, label=label)
    start = select(rows, part="curve", method=PLAIN)[0]["squared_error"]
    left.plot([0, LONGEST], [start, start * math.exp(-LONGEST)], color=charts.INK, lw=0.9)
    left.set_ylim(1e-6, 1e10)
    charts.numbers(left, y="log")
    charts.legend(left, loc="upper right")
    charts.beside(left, 2, start * math.exp(-2), "formula", charts.INK, shift=(8, 8))
    charts.name_axes(left, "All of them find the average", "exchanges · α/2m", "squared error, years²")
    _draw_attack(middle, rows)
    for place, shape in enumerate(SHAPES):
        chosen = [row for row in select(rows, part="price", graph=shape) if row["mask"]]
        colour = charts.SERIES[place]
        right.plot(column(chosen, "mask"), column(chosen, "epsilon"), charts.MARKERS[place] + "-", color=colour, ms=4,
                   lw=1.3, label=shape)  # fmt: skip
        colluding = select(rows, part="collusion", graph=shape)[0]
        right.plot(colluding["mask"], colluding["epsilon"], charts.MARKERS[place], color=colour, mfc=charts.PAPER, ms=7)
    right.axhline(EPSILON, color=charts.INK, lw=0.9, ls=(0, (1, 2)))
    right.set_ylim(0, None)
    charts.numbers(right, x="log")
    charts.legend(right, loc="center right")
    charts.name_axes(right, "Masks bring ε down to a curator's", "standard deviation of a mask, years", "ε")
    charts.caption(
        figure,
        f"Sixteen nodes with the ages of sixteen people of UCI Adult. Left: solid plain, dashed noise that fades (σ = "
        f"{SIGMA:g} years, γ = α/4), dotted masks of {MASK:,.0f} years; α: algebraic connectivity, m: edges. Middle: "
        "an eavesdropper at one node of the ring; dots measured, lines theory; dashed: least squares. Right: ε at δ = "
        f"{DELTA:g} towards somebody who hears all and knows everybody else's age; hollow: two neighbours collude.",
    )
    return figure


def _draw_attack(axes: Axes, rows: Sequence[Row]) -> None:
    for place, phi in enumerate(PHIS):
        chosen, colour = select(rows, part="attack", phi=phi), charts.SERIES[place]
        seen = column(chosen, "exchanges")
        axes.plot(seen, column(chosen, "telescoped_theory"), color=colour, lw=1.3)
        axes.plot(seen, column(chosen, "best_theory"), "--", color=colour, lw=1.1)
        some = chosen[::3]
        axes.plot(column(some, "exchanges"), column(some, "telescoped"), charts.MARKERS[place], color=colour, ms=4,
                  label=f"φ = {phi:g}")  # fmt: skip
    masked = select(rows, part="attack", method=MASKED)
    axes.plot(column(masked, "exchanges"), column(masked, "telescoped_theory"), color=charts.INK, lw=1.3)
    some = masked[::3]
    axes.plot(column(some, "exchanges"), column(some, "telescoped"), "v", color=charts.INK, ms=4, label="masks")
    axes.set_ylim(1e-4, 3e5)
    charts.numbers(axes, y="log")
    charts.legend(axes, loc="lower right")
    charts.name_axes(axes, "Noise that fades can be heard fading", "exchanges overheard", "error of the guess, years")


def tell(rows: Sequence[Row]) -> str:
    """What one sees."""
    lines = [
        f"| {row['graph']} | {row['method']} | {row['formula']:.5f} | {row['exact']:.5f} | {row['measured']:.5f} |"
        for row in select(rows, part="rate")
    ]
    head = "| graph | method | formula | exact | measured |"
    table = "\n".join((head, "|---|---|---|---|---|", *lines))
    ten, last = (select(rows, part="attack", phi=0.9, exchanges=count)[0] for count in (10, EXCHANGES))
    fast = select(rows, part="attack", phi=0.5, exchanges=10)[0]
    masked = select(rows, part="attack", method=MASKED, exchanges=EXCHANGES)[0]
    ring, complete = (select(rows, part="price", graph=shape, mask=MASK)[0] for shape in ("ring", "complete"))
    cut, open_ring = (
        select(rows, part="collusion", graph="complete")[0],
        select(rows, part="collusion", graph="ring")[0],
    )
    plain, far = (select(rows, part="curve", graph="ring", method=method)[0] for method in (PLAIN, MASKED))
    nodes = select(rows, part="rate")[0]["nodes"]
    alone = noise_deviation() / math.sqrt(nodes)
    return (
        f"{table}\n\n"
        "A rate is the factor by which the expected squared error shrinks in one exchange. The formula is "
        "1 − min(α/2m, γ/m), an upper bound. It is exact on the complete graph, and wherever fading noise is the "
        "slower part. Plain gossip on the ring and the grid is nearly twice as fast as it says.\n\n"
        "**Fading noise is not privacy.** A node adds noise and takes it back in its next exchange. Somebody who hears "
        "its exchanges adds up what was added and taken back: the sum telescopes, and the error of the guess is "
        f"φ^k·σ after k more exchanges. With φ = 0.9, σ = {SIGMA:g} years, the age is known to within "
        f"{ten['telescoped']:.1f} years after 10 exchanges and {last['telescoped']:.2f} after {EXCHANGES}. With "
        f"φ = 0.5 it is {fast['telescoped']:.3f} years after 10. Least squares over all messages do better still "
        f"({ten['best']:.1f} years instead of {ten['telescoped']:.1f}). On a ring two neighbours together hear "
        "everything. Even without an eavesdropper the limit is the exact average, which has no ε: all others together "
        "subtract their values. The authors do not formalise privacy.\n\n"
        "**Masks and a share of noise.** Each node adds its share of normal noise once, before the first exchange, and "
        "for each edge a mask that the other end subtracts. Then plain gossip runs, and everything that is ever said "
        f"follows from those first values. The same eavesdropper is off by {masked['telescoped']:,.0f} years after "
        f"{EXCHANGES} exchanges, as after the first. Somebody who hears all nodes, and knows everybody else's age, has "
        f"ε = {ring['epsilon']:.3f} on the ring and {complete['epsilon']:.3f} on the complete graph at δ = {DELTA:g} "
        f"(ε = {EPSILON:g} with a curator), and is off by {complete['informed']:.0f} years. The price is the answer: "
        f"the average is off by {complete['answer_theory']:.0f} years for {nodes} people, by {alone:.0f} if everybody "
        "hid alone. Masks also cost exchanges: on the ring the squared error starts "
        f"{far['squared_error'] / plain['squared_error']:,.0f} times higher. The error of the answer falls "
        f"like 1/n: {math.ceil(noise_deviation()):,} people would give one year. If two neighbours collude, ε rises to "
        f"{cut['epsilon']:.2f} on the complete graph. On the ring they cut a node off, its masks are known, and ε is "
        f"{open_ring['epsilon']:.1f}.\n\n"
        "The unit is a person, the relation `replace`, ages between "
        f"{LOW} and {HIGH}. These ε are those of continuous normal noise, computed in floating point. A ledger would "
        "need the law of the noise on its grid, so none is charged here."
    )


GOSSIP = Experiment(
    name="gossip",
    title="Gossip: fading noise, an eavesdropper, and masks",
    source="Hanzely et al. 2019 (fading noise); Sabater, Bellet and Ramon 2022 (masks and shares of noise)",
    compute=compute,
    draw=draw,
    tell=tell,
    full={"runs": 3_000},
)
