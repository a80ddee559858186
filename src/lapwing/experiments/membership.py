"""Who was in the training data? An attack on the loss of a network, with and without private training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lapwing import charts
from lapwing.adversary.attacks import best_advantage
from lapwing.adversary.attacks.membership import advantage, evidence, hits_at
from lapwing.adversary.attacks.membership_rounds import LINEAR_MEMBERSHIP, LOGISTIC_MEMBERSHIP, without_privacy
from lapwing.adversary.attacks.shadow_models import bell_shaped, likelihood_ratios
from lapwing.errors import MissingExtra
from lapwing.experiments.experiment import Experiment, Heard, Row, column, entropy, select
from lapwing.noise import Entropy, bernoulli, permutation, uniform_below

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
DELTA = 1e-5
SHOWN = (8.0, 1.0)
"""The epsilons whose whole curve is drawn."""
POOL, WRONG = 600, 5
"""Images that may be members, each with probability one half; one label in so many is replaced by a random one."""
CLASSES = list(range(10))
BOUNDS = (0, 16)
SETTINGS: dict[str, Any] = {"hidden": (64,), "epochs": 60, "sampling": 0.25, "learning_rate": 0.03}
FALSE_ALARMS = tuple(round(0.02 * k, 2) for k in range(51))
STRONG = {"linear regression": LINEAR_MEMBERSHIP, "logistic regression": LOGISTIC_MEMBERSHIP}
"""Attacked by somebody who knows everybody else."""


def compute(
    epsilons: Sequence[float] = EPSILONS, models: int = 6, rounds: int = 400, heard: Heard | None = None
) -> list[Row]:
    """For no privacy and each epsilon: hits over false alarms, the attackers' advantages, and the model's accuracy.

    The shadows of a model are the other models. Then, by epsilon, what one gains who knows everybody but one.
    """
    images, labels, others, truth = _digits()
    rows: list[Row] = []
    steps, done = (len(epsilons) + 1) * models + len(STRONG), 0

    def step() -> None:
        nonlocal done
        done += 1
        if heard is not None:
            heard(done, steps)

    for epsilon in (None, *epsilons):
        scores, stretched, inside, right = [], [], [], []
        for number in range(models):
            source = entropy("membership", epsilon, number)
            members = bernoulli(0.5, POOL, source)
            model = _trained(epsilon, images[members], labels[members], source)
            scores.append(evidence(model, images, labels))
            stretched.append(bell_shaped(model, images, labels))
            inside.append(members)
            right.append(float(np.mean(np.argmax(model(others), axis=1) == truth)))
            step()
        rows += _summary(epsilon, scores, stretched, inside, right)
    for name, attack in STRONG.items():
        for score in attack.run(rounds=rounds, epsilons=epsilons).private:
            low, gained, high = (2 * success - 1 for success in (score.low, score.success, score.high))
            gains = {"advantage": gained, "low": low, "high": high}
            rows.append({"what": "strong", "model": name, "epsilon": score.epsilon, **gains})
        step()
    return rows


def _summary(
    epsilon: float | None, scores: list[Floats], stretched: list[Floats], inside: list[Any], right: list[float]
) -> list[Row]:
    gained, error = advantage(scores, inside)
    shadows, spread = advantage(_ratios(stretched, inside), inside)
    summary: Row = {
        "what": "advantage",
        "epsilon": epsilon,
        "advantage": gained,
        "standard_error": error,
        "shadows": shadows,
        "shadows_error": spread,
        "bound": None if epsilon is None else best_advantage(epsilon, DELTA),
        "accuracy": float(np.mean(right)),
        "accuracy_error": float(np.std(right, ddof=1) / math.sqrt(len(right))),
    }
    if epsilon is not None and epsilon not in SHOWN:
        return [summary]
    values, member = np.concatenate(scores), np.concatenate(inside)
    curve: list[Row] = [
        {"what": "curve", "epsilon": epsilon, "false_alarms": share, "hits": hits_at(values, member, share)}
        for share in FALSE_ALARMS
    ]
    return [summary, *curve]


def _ratios(scores: list[Floats], inside: list[Any]) -> list[Floats]:
    """Of every model, judged by all others."""
    lines, members = np.array(scores), np.array(inside)
    return [
        likelihood_ratios(np.delete(lines, number, axis=0), np.delete(members, number, axis=0), lines[number])
        for number in range(len(lines))
    ]


def _trained(epsilon: float | None, images: Floats, labels: NDArray[np.int64], source: Entropy) -> Any:
    """A function from images to probabilities."""
    settings = {**SETTINGS, "bounds": BOUNDS, "classes": CLASSES, "delta": DELTA}
    if epsilon is None:
        return without_privacy(images, labels, source, settings)
    from lapwing.models.mlp import MLPClassifier

    return MLPClassifier(epsilon=epsilon, random_state=source, **settings).fit(images, labels).predict_proba


def _digits() -> tuple[Floats, NDArray[np.int64], Floats, NDArray[np.int64]]:
    """Images that may be members, with some labels wrong; and other images with true labels."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise MissingExtra("scikit-learn", "models") from None
    source = entropy("membership", "digits")
    images, labels = load_digits(return_X_y=True)
    order = permutation(len(images), source)
    images, labels = images[order], labels[order].astype(np.int64)
    wrong = bernoulli(1 / WRONG, POOL, source)
    given = np.where(wrong, uniform_below(len(CLASSES), POOL, source), labels[:POOL])
    return images[:POOL], given, images[POOL:], labels[POOL:]


def draw(rows: Sequence[Row]) -> Figure:
    """Hits over false alarms, the advantages over epsilon below their bound, and the accuracy over epsilon."""
    figure, (left, middle, right) = charts.figure(3, size=(12.5, 4.7))
    _draw_curves(left, rows)
    summary = select(rows, what="advantage")
    private = [row for row in summary if row["epsilon"] is not None]
    (plain,) = [row for row in summary if row["epsilon"] is None]
    _draw_advantages(middle, rows, private, plain)
    epsilons = column(private, "epsilon")
    right.axhline(plain["accuracy"], color=charts.ADVERSARY, lw=1.3, ls=(0, (5, 3)))
    values, spreads = column(private, "accuracy"), column(private, "accuracy_error")
    right.errorbar(epsilons, values, spreads, color=charts.PRIVATE, marker="o", ms=5, lw=1.5)
    half = private[len(private) // 2 - 1]
    charts.beside(right, min(epsilons), plain["accuracy"], "without privacy", charts.ADVERSARY, shift=(2, 9))
    charts.beside(right, half["epsilon"], half["accuracy"], "private training", charts.PRIVATE, shift=(8, -6))
    for axes in (middle, right):
        axes.set_ylim(-0.04, 1.02)
        charts.numbers(axes, x="log", y="percent")
        charts.only_ticks(axes.xaxis, epsilons)
    charts.name_axes(middle, "The attackers' advantage", "epsilon", "hits less false alarms")
    charts.name_axes(right, "What the network is worth", "epsilon", "right on new images")
    charts.caption(
        figure,
        f"A network of 64 units learns about {POOL // 2} of {POOL} images of digits, one label in {WRONG} is random. "
        "The attacker guesses that people with a small loss are members, with a threshold learnt on other models, or "
        "compares with shadow models. Same network and same number of steps with and without privacy; "
        f"δ = {DELTA:g}; bars are standard errors over models. The regressions have few rows. Their attacker knows all "
        "rows except one unusual row, which a regression without privacy reveals for certain.",
    )
    return figure


def _draw_advantages(axes: Axes, rows: Sequence[Row], private: Sequence[Row], plain: Row) -> None:
    epsilons = column(private, "epsilon")
    fine = np.geomspace(min(epsilons), max(epsilons), 200)
    limits = [best_advantage(float(value), DELTA) for value in fine]
    axes.fill_between(fine, limits, 1.02, color=charts.LINE, alpha=0.55, lw=0)
    axes.plot(fine, limits, color=charts.QUIET, lw=1.2)
    axes.text(fine[0] * 1.06, 0.97, "impossible\nfor any attack", color=charts.QUIET, fontsize=9, va="top")
    for name, colour, marker in zip(STRONG, (charts.BLUE, charts.NOISE), ("D", "^"), strict=True):
        strong = select(rows, what="strong", model=name)
        axes.plot(epsilons, column(strong, "advantage"), color=colour, marker=marker, ms=4.5, lw=1.5, label=name)
    for name, spread, label, line in (
        ("shadows", "shadows_error", "network, shadow models", (0, (3, 2))),
        ("advantage", "standard_error", "network, threshold", "solid"),
    ):
        values, errors = column(private, name), column(private, spread)
        axes.errorbar(epsilons, values, errors, color=charts.PRIVATE, marker="o", ms=4.5, lw=1.5, ls=line, label=label)
        axes.axhline(plain[name], color=charts.ADVERSARY, lw=1.3, ls=(0, (5, 3)), label="_" + label)
    highest = max(plain["shadows"], plain["advantage"])
    charts.beside(axes, max(epsilons), highest, "network without privacy", charts.ADVERSARY, shift=(-2, 9))
    charts.legend(axes, loc="center right", bbox_to_anchor=(1.0, 0.32), handlelength=1.5)


def _draw_curves(axes: Axes, rows: Sequence[Row]) -> None:
    listed = set(column(select(rows, what="curve"), "epsilon"))
    shown = sorted(listed, key=lambda epsilon: -math.inf if epsilon is None else -epsilon)  # as they lie, from above
    for place, epsilon in enumerate(shown):
        curve = select(rows, what="curve", epsilon=epsilon)
        colour = charts.ADVERSARY if epsilon is None else (charts.NOISE, charts.PRIVATE, charts.BLUE)[(place - 1) % 3]
        label = "without privacy" if epsilon is None else f"ε = {epsilon:g}"
        axes.plot(column(curve, "false_alarms"), column(curve, "hits"), color=colour, lw=1.8, label=label)
    axes.plot([0, 1], [0, 1], color=charts.QUIET, lw=1, ls=(0, (1, 2)), label="guessing")
    axes.set_xlim(-0.02, 1)
    axes.set_ylim(-0.02, 1)
    charts.numbers(axes, x="percent", y="percent")
    charts.legend(axes, loc="lower right")
    charts.name_axes(axes, "Members found", "false alarms among others", "hits among members")


def tell(rows: Sequence[Row]) -> str:
    """What one sees."""
    lines = [
        f"| {'without' if row['epsilon'] is None else format(row['epsilon'], 'g')} | {row['advantage']:.3f} ± "
        f"{row['standard_error']:.3f} | {row['shadows']:.3f} ± {row['shadows_error']:.3f} | {_strong(rows, row)} "
        f"| {'–' if row['bound'] is None else format(row['bound'], '.3f')} | {row['accuracy']:.3f} |"
        for row in select(rows, what="advantage")
    ]
    head = f"| epsilon | network, threshold | network, shadows | {' | '.join(STRONG)} | at most | right on new images |"
    table = "\n".join((head, "|---" * (5 + len(STRONG)) + "|", *lines))
    return (
        f"{table}\n\nA network that fits every label, even a wrong one, is surer of the images it has seen, and that "
        "gives them away. Private training bounds what any attacker can gain, not only this one: the advantage, hits "
        "less false alarms, is at most (e^ε − 1 + 2δ)/(e^ε + 1). The attacks on the network stay far below the bound, "
        "because these images are not chosen to be unusual. A weak attack says nothing about a stronger one, but the "
        "bound holds for all. On the regressions, an attacker who knows everybody except one unusual person comes near "
        "the bound, and not beyond. The models without privacy are not part of the library's models."
    )


def _strong(rows: Sequence[Row], row: Row) -> str:
    if row["epsilon"] is None:
        return " | ".join("1.000" for _ in STRONG)
    cells = (select(rows, what="strong", model=name, epsilon=row["epsilon"])[0] for name in STRONG)
    return " | ".join(f"{cell['advantage']:.3f}" for cell in cells)


MEMBERSHIP = Experiment(
    name="membership",
    title="Membership inference before and after private training",
    source="Yeom et al. 2018, Shokri et al. 2017, Carlini et al. 2022 (attacks) and Abadi et al. 2016 (defence)",
    compute=compute,
    draw=draw,
    tell=tell,
    full={"models": 60, "rounds": 2000},
)
