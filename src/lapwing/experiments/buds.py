"""BUDS claims a small epsilon for shuffling alone: what the auditor finds, and what noise before it changes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from lapwing import charts
from lapwing.adversary import Pair, audit
from lapwing.crowd.binary import BinaryResponse
from lapwing.crowd.shuffling import Shuffled
from lapwing.experiments.experiment import Experiment, Row, column, select
from lapwing.experiments.experiment import entropy as reproducible
from lapwing.noise import Entropy, bernoulli, permutation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SETTINGS = ((100, 1, 10), (100, 1, 101), (50, 1, 50), (10, 2, 90))
"""Reports in a batch n₁, shufflers S, batches t."""
LOCAL, DELTA = 1.0, 0.01
"""Of randomized response in front of a shuffler, for comparison."""


def compute(settings: Sequence[tuple[int, int, int]] = SETTINGS, samples: int = 4_000) -> list[Row]:
    """For each setting: the claim, and the epsilon that an audit shows, without noise and with it."""
    rows: list[Row] = []
    for size, shufflers, batches in settings:
        pair = Pair([0] * size, [1] + [0] * (size - 1), "replace", "one of the batch says yes")
        source = reproducible("buds", size, shufflers, batches)
        for method, release, delta in (
            ("shuffled only", _shuffled(shufflers), 0.0),
            ("randomised, then shuffled", _randomised(shufflers), DELTA),
        ):
            noisy = delta > 0
            loss = Shuffled(BinaryResponse.from_epsilon(LOCAL), size, DELTA).privacy_loss() if noisy else None
            claim = float(loss.epsilon) if loss else math.log(batches / (size - 1) ** shufflers)
            shown = audit(release, pair, samples=samples, claimed=loss or max(claim, 0.0), entropy=source)
            rows.append(
                {
                    "method": method,
                    "reports_in_a_batch": size,
                    "shufflers": shufflers,
                    "batches": batches,
                    "claimed": claim,
                    "delta": delta,
                    "found": shown.epsilon_lower_bound,
                    "caught": shown.caught,
                    "samples": samples,
                }
            )
    return rows


def _shuffled(shufflers: int) -> Callable[[list[int], Entropy], list[int]]:
    """What is known of one batch that went through so many shufflers: every report, in an order that says nothing."""

    def release(reports: list[int], entropy: Entropy) -> list[int]:
        import numpy as np

        batch: Any = np.array(reports)
        for _ in range(shufflers):
            batch = batch[permutation(len(batch), entropy)]
        return [int((batch == answer).sum()) for answer in (0, 1)]  # all that order does not hide

    return release


def _randomised(shufflers: int) -> Callable[[list[int], Entropy], list[int]]:
    shuffle = _shuffled(shufflers)
    keep = math.exp(LOCAL) / (1 + math.exp(LOCAL))

    def release(reports: list[int], entropy: Entropy) -> list[int]:
        flips = bernoulli(1 - keep, size=len(reports), entropy=entropy)
        return shuffle([report ^ int(flip) for report, flip in zip(reports, flips, strict=True)], entropy)

    return release


def draw(rows: Sequence[Row]) -> Figure:
    """Claims and findings, one line for each setting."""
    rows = sorted(rows, key=lambda row: row["method"] != "shuffled only")
    figure, [axes] = charts.figure(size=(8.6, 4.8), values="x")
    names = [
        f"{row['method']}\nn₁ = {row['reports_in_a_batch']}, S = {row['shufflers']}, t = {row['batches']}"
        for row in rows
    ]
    for place, row in enumerate(rows):
        colour = charts.SERIES[1] if row["caught"] else charts.SERIES[0]
        axes.plot([row["claimed"], row["found"]], [place, place], color=colour, lw=1, alpha=0.6)
    places = range(len(rows))
    axes.plot(column(rows, "claimed"), places, "o", color=charts.SERIES[2], ms=7, label="claimed")
    axes.plot(column(rows, "found"), places, "s", color=charts.SERIES[1], ms=7, label="found by the auditor, at least")
    axes.axvline(0, color=charts.INK, lw=0.8)
    charts.numbers(axes)
    charts.rows(axes, names)
    charts.legend(axes, loc="lower right")
    charts.name_axes(axes, "Shuffling without noise has no ε", "ε", "")
    charts.caption(
        figure,
        f"Two batches that differ in one answer, {rows[0]['samples']:,} releases on each, 99.9 % confidence. The "
        "claim of BUDS "
        f"is ln(t/(n₁ − 1)^S). Lower half: randomized response with ε₀ = {LOCAL:g} before the shuffle, δ = {DELTA:g}.",
    )
    return figure


def tell(rows: Sequence[Row]) -> str:
    """What one sees."""
    plain, noisy = (select(rows, method=method) for method in ("shuffled only", "randomised, then shuffled"))
    least, most = min(plain, key=lambda row: row["claimed"]), max(column(plain, "found"))
    setting = f"n₁ = {least['reports_in_a_batch']}, S = {least['shufflers']}, t = {least['batches']}"
    return (
        "BUDS states ε = ln(t/(n₁ − 1)^S) for batches of n₁ reports, S shufflers and t batches. For "
        f"{setting} that is {charts.tick(round(least['claimed'], 2))}. "
        f"The auditor shows at least {most:.1f} in every setting, and more with more samples. The reason is "
        "simple. A shuffle hides who sent which report and leaves every count exact. An attacker who knows all "
        "other answers subtracts them and learns the last one. More shufflers and more batches change nothing. With "
        "randomized response before the shuffle the batch has a proven ε (at most "
        f"{max(column(noisy, 'claimed')):.2f} here), and the auditor finds at most "
        f"{max(column(noisy, 'found')):.2f}. An ε below 0 does not exist: a formula that gives one is wrong."
    )


BUDS = Experiment(
    name="buds",
    title="Shuffling without noise: a claim and an audit",
    source="Sengupta, Paul, Mishra, BUDS (2020); claims as in its abstract",
    compute=compute,
    draw=draw,
    tell=tell,
    full={"samples": 40_000},
)
