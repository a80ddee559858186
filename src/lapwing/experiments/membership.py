"""Who was in the training data? An attack on the loss of a network, with and without private training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import MissingExtra
from lapwing.experiments import style
from lapwing.experiments.experiment import Experiment, Heard, Row, column, entropy, select
from lapwing.noise import Entropy, bernoulli, permutation, uniform_below

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
DELTA = 1e-5
SHOWN = (8.0, 1.0)
"""The epsilons whose whole curve is drawn."""
POOL, WRONG = 600, 5
"""Images that may be members, each with probability one half; one label in so many is replaced by a random one."""
CLASSES = list(range(10))
BOUNDS = (0, 16)
SETTINGS: dict[str, Any] = {"hidden": (64,), "epochs": 60, "sampling": 0.25, "learning_rate": 0.03}
FALSE_ALARMS = tuple(round(0.02 * k, 2) for k in range(51))


def compute(epsilons: Sequence[float] = EPSILONS, models: int = 8, heard: Heard | None = None) -> list[Row]:
    """For no privacy and each epsilon: hits over false alarms, the attacker's advantage, and the model's accuracy."""
    images, labels, others, truth = _digits()
    rows: list[Row] = []
    for done, epsilon in enumerate((None, *epsilons)):
        scores, inside, right = [], [], []
        for number in range(models):
            source = entropy("membership", epsilon, number)
            members = bernoulli(0.5, POOL, source)
            model = _trained(epsilon, images[members], labels[members], source)
            scores.append(-_losses(model, images, labels))
            inside.append(members)
            right.append(float(np.mean(np.argmax(model(others), axis=1) == truth)))
            if heard is not None:
                heard(done * models + number + 1, (len(epsilons) + 1) * models)
        rows += _summary(epsilon, scores, inside, right)
    return rows


def bound(epsilon: float, delta: float = DELTA) -> float:
    """No attack on an (ε,δ)-private model has more hits than false alarms by more than this share.

    Proof: hits ≤ e^ε·false alarms + δ, and the same for misses and correct rejections; the difference is largest where
    both are equalities (Kairouz, Oh and Viswanath 2015).

    >>> round(bound(1), 3)
    0.462
    """
    return (math.exp(epsilon) - 1 + 2 * delta) / (math.exp(epsilon) + 1)


def advantage(scores: Sequence[Floats], inside: Sequence[NDArray[np.bool_]]) -> tuple[float, float]:
    """Hits less false alarms at the best threshold, and its standard error over the models.

    The threshold is chosen on half of the models and used on the others, and the other way round.
    """
    found = []
    for parity in (0, 1):
        learn, use = (slice(parity, None, 2), slice(1 - parity, None, 2))
        values, member = np.concatenate(scores[learn]), np.concatenate(inside[learn])
        order = np.argsort(-values, kind="stable")
        gain = np.cumsum(np.where(member[order], 1 / member.sum(), -1 / (~member).sum()))
        last = np.append(np.diff(values[order]) != 0, True)  # of equal values: a threshold takes all of them or none
        threshold = values[order[np.argmax(np.where(last, gain, -1.0))]]
        found += [
            float(np.mean(score[member] >= threshold) - np.mean(score[~member] >= threshold))
            for score, member in zip(scores[use], inside[use], strict=True)
        ]
    return float(np.mean(found)), float(np.std(found, ddof=1) / math.sqrt(len(found)))


def _summary(epsilon: float | None, scores: list[Floats], inside: list[Any], right: list[float]) -> list[Row]:
    gained, error = advantage(scores, inside)
    one: Row = {
        "what": "advantage",
        "epsilon": epsilon,
        "advantage": gained,
        "standard_error": error,
        "bound": None if epsilon is None else bound(epsilon),
        "accuracy": float(np.mean(right)),
        "accuracy_error": float(np.std(right, ddof=1) / math.sqrt(len(right))),
    }
    if epsilon is not None and epsilon not in SHOWN:
        return [one]
    values, member = np.concatenate(scores), np.concatenate(inside)
    strangers = np.sort(values[~member])[::-1]
    curve: list[Row] = []
    for share in FALSE_ALARMS:
        place = round(share * len(strangers))
        hits = 1.0 if place == len(strangers) else float(np.mean(values[member] > strangers[place]))
        curve.append({"what": "curve", "epsilon": epsilon, "false_alarms": share, "hits": hits})
    return [one, *curve]


def _trained(epsilon: float | None, images: Floats, labels: NDArray[np.int64], source: Entropy) -> Any:
    """A function from images to probabilities."""
    settings = {**SETTINGS, "bounds": BOUNDS, "classes": CLASSES, "delta": DELTA}
    if epsilon is None:
        return without_privacy(images, labels, source, settings)
    from lapwing.models.mlp import MLPClassifier

    return MLPClassifier(epsilon=epsilon, random_state=source, **settings).fit(images, labels).predict_proba


def without_privacy(images: Floats, labels: NDArray[np.int64], source: Entropy, settings: dict[str, Any]) -> Any:
    """The same network, samples and steps, but gradients are neither cut nor noisy. **Not private.**"""
    from lapwing.models.columns import Box
    from lapwing.models.layers import backward, class_error, forward, input_rows, softmax, whole_weights
    from lapwing.models.mlp import MLPClassifier
    from lapwing.models.training import Plan, descend, first_weights

    box = Box.of(BOUNDS, images.shape[1])
    plan = Plan.of(MLPClassifier(**settings), box, settings["hidden"], len(CLASSES))
    rows = input_rows(box, images)

    def gradient_of(weights: Sequence[Floats]) -> list[Floats]:
        chosen = np.flatnonzero(bernoulli(plan.sampling, len(rows), source))
        inputs, scores = forward(rows[chosen], weights)
        errors = backward(inputs, weights, class_error(scores, labels[chosen]))
        return [given.T @ error for given, error in zip(inputs, errors, strict=True)]

    weights = descend(first_weights(plan.shapes, source), gradient_of, plan.steps, plan.learning_rate)
    return lambda given: softmax(forward(input_rows(box, given), whole_weights(weights))[1])


def _losses(model: Any, images: Floats, labels: NDArray[np.int64]) -> Floats:
    found: Floats = -np.log(model(images)[np.arange(len(labels)), labels] + 1e-12)
    return found


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
    """Hits over false alarms, the advantage over epsilon below its bound, and the accuracy over epsilon."""
    figure, (left, middle, right) = style.figure(3, size=(12.5, 4.5))
    _draw_curves(left, rows)
    summary = select(rows, what="advantage")
    private = [row for row in summary if row["epsilon"] is not None]
    (plain,) = [row for row in summary if row["epsilon"] is None]
    epsilons = column(private, "epsilon")
    fine = np.geomspace(min(epsilons), max(epsilons), 200)
    limits = [bound(float(value)) for value in fine]
    middle.fill_between(fine, limits, 1.0, color=style.LINE, alpha=0.55, lw=0)
    middle.plot(fine, limits, color=style.QUIET, lw=1.2)
    middle.text(fine[0] * 1.12, 0.94, "impossible\nfor any attack", color=style.QUIET, fontsize=9, va="top")
    for axes, name, spread in ((middle, "advantage", "standard_error"), (right, "accuracy", "accuracy_error")):
        axes.axhline(plain[name], color=style.ADVERSARY, lw=1.3, ls=(0, (5, 3)))
        axes.errorbar(
            epsilons, column(private, name), column(private, spread), color=style.PRIVATE, marker="o", ms=5, lw=1.5
        )
        axes.set_ylim(-0.02, 1)
        style.numbers(axes, x="log", y="percent")
        style.only_ticks(axes.xaxis, epsilons)
    far, half = max(epsilons), private[len(private) // 2 - 1]
    style.beside(middle, far, plain["advantage"], "without privacy", style.ADVERSARY, shift=(-2, 9))
    style.beside(middle, far, private[-1]["advantage"], "private training", style.PRIVATE, shift=(-2, 12))
    style.beside(right, min(epsilons), plain["accuracy"], "without privacy", style.ADVERSARY, shift=(2, 9))
    style.beside(right, half["epsilon"], half["accuracy"], "private training", style.PRIVATE, shift=(8, -6))
    style.name_axes(middle, "The attacker's advantage", "epsilon", "hits less false alarms")
    style.name_axes(right, "What the model is worth", "epsilon", "right on new images")
    style.caption(
        figure,
        f"A network of 64 units learns about {POOL // 2} of {POOL} images of digits, one label in {WRONG} is random. "
        "The attacker calls a member whoever has a small loss, with a threshold learnt on other models. Same network "
        f"and same number of steps with and without privacy; δ = {DELTA:g}; bars are standard errors over models.",
    )
    return figure


def _draw_curves(axes: Axes, rows: Sequence[Row]) -> None:
    listed = set(column(select(rows, what="curve"), "epsilon"))
    shown = sorted(listed, key=lambda epsilon: -math.inf if epsilon is None else -epsilon)  # as they lie, from above
    for place, epsilon in enumerate(shown):
        curve = select(rows, what="curve", epsilon=epsilon)
        colour = style.ADVERSARY if epsilon is None else (style.NOISE, style.PRIVATE, style.BLUE)[(place - 1) % 3]
        label = "without privacy" if epsilon is None else f"ε = {epsilon:g}"
        axes.plot(column(curve, "false_alarms"), column(curve, "hits"), color=colour, lw=1.8, label=label)
    axes.plot([0, 1], [0, 1], color=style.QUIET, lw=1, ls=(0, (1, 2)), label="guessing")
    axes.set_xlim(-0.02, 1)
    axes.set_ylim(-0.02, 1)
    style.numbers(axes, x="percent", y="percent")
    style.legend(axes, loc="lower right")
    style.name_axes(axes, "Members found", "false alarms among others", "hits among members")


def tell(rows: Sequence[Row]) -> str:
    """What one sees."""
    summary = select(rows, what="advantage")
    lines = [
        f"| {'without' if row['epsilon'] is None else format(row['epsilon'], 'g')} | {row['advantage']:.3f} ± "
        f"{row['standard_error']:.3f} | {'–' if row['bound'] is None else format(row['bound'], '.3f')} "
        f"| {row['accuracy']:.3f} |"
        for row in summary
    ]
    head = "| epsilon | hits less false alarms | at most | right on new images |"
    table = "\n".join((head, "|---|---|---|---|", *lines))
    return (
        f"{table}\n\nA network that fits every label, even a wrong one, is surer of the images it has seen, and that "
        "gives them away. Private training bounds what any attacker can gain, not only this one: the advantage is at "
        "most (e^ε − 1 + 2δ)/(e^ε + 1). This attack stays far below the bound, for it looks at one number and nobody "
        "has chosen the images to be conspicuous; a weak attack proves nothing about a stronger one, the bound does. "
        "The baseline is not private and not part of the library's models."
    )


MEMBERSHIP = Experiment(
    name="membership",
    title="Membership inference before and after private training",
    source="Yeom et al. 2018 (the attack) and Abadi et al. 2016 (the defence)",
    compute=compute,
    draw=draw,
    tell=tell,
    full={"models": 60},
)
