"""What comes next: predictions from anonymous fragments of histories, thresholded, beside whole histories."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lapwing import charts
from lapwing.experiments.experiment import Experiment, Row, column, entropy, select
from lapwing.mechanisms import CrowdThreshold

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
ITEMS, LENGTH = 300, 12
FOLLOWERS = (0.35, 0.2, 0.1)
"""How likely each of the usual next items is; otherwise people take any item, popular ones more often."""
TESTED = 20_000
DELTA = 2e-6
CROWDS = CrowdThreshold(threshold=20, mean_drop=10, sigma=2, delta=DELTA)
WHOLE, PAIRS, PASSED, POPULAR = "whole histories", "fragments", "fragments that pass a threshold", "most popular"
METHODS = (WHOLE, PAIRS, PASSED, POPULAR)


def compute(sizes: Sequence[int] = SIZES, items: int = ITEMS) -> list[Row]:
    """For each number of people and each way to learn: the share of next items that are predicted."""
    tests = histories(TESTED, items, "tests")[:, :2]
    rows: list[Row] = []
    for people in sizes:
        seen = histories(people, items, people)
        for method in METHODS:
            table, kept = learnt(method, seen, items)
            guesses = table.argmax(axis=1)
            if method != POPULAR:  # an item that nothing is known about: the most popular next one
                guesses[table.sum(axis=1) == 0] = table.sum(axis=0).argmax()
            rows.append(
                {
                    "method": method,
                    "people": people,
                    "accuracy": float((guesses[tests[:, 0]] == tests[:, 1]).mean()),
                    "reports_used": kept,
                }
            )
    return rows


def histories(people: int, items: int, seed: object) -> NDArray[Any]:
    """What people took, one row each. The world is the same for every seed: who follows whom, and what is popular."""
    import numpy as np

    world, draws = _generator("world", items), _generator("people", items, seed)
    popularity = 1 / np.arange(1, items + 1)
    popularity = popularity[world.permutation(items)] / popularity.sum()
    followers = np.stack([world.permutation(items) for _ in FOLLOWERS], axis=1)
    limits = np.cumsum(FOLLOWERS)
    taken = np.empty((people, LENGTH), dtype=np.int64)
    taken[:, 0] = draws.choice(items, people, p=popularity)
    for step in range(1, LENGTH):
        kind = np.searchsorted(limits, draws.random(people), side="right")
        anything = draws.choice(items, people, p=popularity)
        usual = followers[taken[:, step - 1], np.minimum(kind, len(FOLLOWERS) - 1)]
        taken[:, step] = np.where(kind < len(FOLLOWERS), usual, anything)
    return taken


def learnt(method: str, seen: NDArray[Any], items: int) -> tuple[NDArray[Any], int]:
    """How often each item follows each, as far as the method knows, and how many reports that took."""
    import numpy as np

    if method == POPULAR:
        counts = np.bincount(seen.ravel(), minlength=items)
        return np.tile(counts, (items, 1)), seen.size
    step = 1 if method == WHOLE else 2  # fragments are disjoint, so that no two of them share an item
    pairs = seen[:, : LENGTH - 1 : step] * items + seen[:, 1::step]
    if method != WHOLE:  # a person sends a pair once at most: more in one crowd would cost far more than their sum
        pairs = np.sort(pairs, axis=1)
        pairs = pairs[np.diff(pairs, axis=1, prepend=-1) > 0]
    counts = np.bincount(pairs.ravel(), minlength=items**2)
    if method == PASSED:
        present = np.flatnonzero(counts)
        forwarded = CROWDS.release(counts[present].tolist(), entropy("suggest", len(seen), items))
        counts = np.zeros_like(counts)
        counts[present] = forwarded
    return counts.reshape(items, items), int(counts.sum())


def _generator(*seed: object) -> Any:
    import numpy as np

    return np.random.default_rng(list(hashlib.sha256(repr(("suggest", *seed)).encode()).digest()))


def draw(rows: Sequence[Row]) -> Figure:
    """Accuracy over people, one line for each method."""
    figure, [axes] = charts.figure(size=(8.6, 4.8))
    sizes = sorted({row["people"] for row in rows})
    for place, method in enumerate(METHODS):
        values, colour = column(select(rows, method=method), "accuracy"), charts.SERIES[place]
        axes.plot(sizes, values, marker=charts.MARKERS[place], color=colour, lw=1.4, ms=6, label=method)
    axes.axhline(FOLLOWERS[0], color=charts.QUIET, lw=1, ls=":")
    charts.numbers(axes, x="log", y="percent")
    charts.only_ticks(axes.xaxis, [size for size in sizes if math.log10(size).is_integer()])
    axes.set_ylim(0, 0.45)
    charts.legend(axes, loc="center right")
    charts.name_axes(axes, "Pieces of histories suffice", "people", "next items predicted")
    charts.caption(
        figure,
        f"{ITEMS} items, histories of {LENGTH}, drawn from a made-up world in which the usual next item is taken in "
        "35 % of cases (dotted). Fragments are disjoint pairs; T = 20, D = 10, σ = 2.",
    )
    return figure


def tell(rows: Sequence[Row]) -> str:
    """What one sees."""
    most = max(column(rows, "people"))
    whole, pairs, passed, popular = (
        100 * select(rows, people=most, method=method)[0]["accuracy"] for method in METHODS
    )
    fewest = min(column(rows, "people"))
    start = 100 * select(rows, people=fewest, method=PASSED)[0]["accuracy"]
    person = (LENGTH // 2) * CROWDS.privacy_loss()
    return (
        f"With {most:,} people, whole histories predict {whole:.1f} % of next items, disjoint pairs {pairs:.1f} %, and "
        f"pairs that pass a shuffler's threshold {passed:.1f} %. The most popular item alone predicts {popular:.1f} %. "
        f"With {fewest:,} people the threshold lets little pass ({start:.1f} %). Nobody sees a history: pairs arrive "
        f"one by one, without a name, and only pairs that many people have. One pair costs {CROWDS.privacy_loss()}. A "
        f"person sends up to {LENGTH // 2} different ones. Their crowds have independent draws, so together they cost "
        f"{person}. That is much: fewer pairs for each person, or a larger σ and D, would cost less. The histories are "
        "made up: no public data set of real ones can be had here."
    )


SUGGEST = Experiment(
    name="suggest",
    title="Predicting the next item from fragments of histories",
    source="Bittau and others, Prochlo (2017), Suggest; the histories here are synthetic",
    compute=compute,
    draw=draw,
    tell=tell,
    full={"sizes": (*SIZES, 300_000, 1_000_000)},
)
