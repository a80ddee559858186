"""Membership played in rounds: a model is fitted with Ada or without her, and the attacker says which.

The attacker of differential privacy's definition: he knows everybody else and how the model is made, fits a few hundred
models of his own with Ada and without, and learns how to tell them apart. Ada is conspicuous, as unlike the others as
the bounds allow. The relation is add_remove, the unit one row: epsilon bounds just this secret.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.adversary.attacks.attack import Attack, Conclusion, Rounds, repeatable
from lapwing.adversary.attacks.bounds import best_guess
from lapwing.adversary.attacks.membership import Floats, evidence
from lapwing.adversary.attacks.shadow_models import Tell
from lapwing.errors import NoiseWarning
from lapwing.noise import Entropy, bernoulli, uniform_below

DELTA = 1e-5
"""For gradient descent, whose noise is Gaussian."""
SHADOWS, FEW = 200, 20
"""Models that the attacker fits himself, of either kind; fewer where one would do."""
PEOPLE, COLUMNS = 12, 4
Table = tuple[Floats, Floats]
Seen = Callable[[Table, Entropy], Floats]
"""What an attacker sees of a model fitted to a table."""
_RARE, _COMMON = 1.0, -1.0  # Ada, and what the others are about


@lru_cache(maxsize=4)
def tables(labels: bool, people: int = PEOPLE, columns: int = COLUMNS) -> tuple[Table, Table]:
    """Without Ada, and with her: others in the middle or low, she in the corner of all bounds (−1 … 1)."""
    source = repeatable("membership", labels, people, columns)
    X = _draws(people * columns, source).reshape(people, columns)
    if labels:  # as many of either class, in pairs: what Ada adds is all that pulls
        X, y = np.repeat(X[: people // 2], 2, axis=0), np.arange(people) % 2.0
    else:
        y = _COMMON + 0.1 * np.abs(_draws(people, source))
    with_ada = np.vstack([X, np.full((1, columns), _RARE)]), np.append(y, _RARE)
    return (np.asarray(X, dtype=float), np.asarray(y, dtype=float)), with_ada


def _draws(count: int, entropy: Entropy) -> Floats:
    return np.asarray(uniform_below(257, count, entropy), dtype=float) / 128 - 1


def play(seen: Seen, pair: tuple[Table, Table], rounds: int, entropy: Entropy, shadows: int = SHADOWS) -> Rounds:
    """Learn from shadows, then guess fresh models."""
    tell = studied(seen, pair, entropy, shadows)
    inside = bernoulli(0.5, rounds, entropy)
    return [float(tell.sure(seen(pair[int(coin)], entropy))[0] == coin) for coin in inside]


def studied(seen: Seen, pair: tuple[Table, Table], entropy: Entropy, shadows: int = SHADOWS) -> Tell:
    """What the attacker learns from models of his own, fitted to the tables without Ada and with her."""
    outside, inside = (np.array([seen(table, entropy) for _ in range(shadows)]) for table in pair)
    return Tell.learnt(inside, outside)


def least_squares(table: Table, entropy: Entropy) -> Floats:
    """Exact coefficients of ordinary least squares. **Not private.**"""
    X, y = table
    return np.asarray(np.linalg.lstsq(np.column_stack([np.ones(len(X)), X]), y, rcond=None)[0], dtype=float)


def predictions_alone(rounds: int, entropy: Entropy) -> Rounds:
    """Least squares with as many columns as rows, and an attacker who knows nobody and only asks for Ada's prediction.

    With so many columns the line goes through every row it was fitted to: no error, no doubt.
    """
    won = []
    for coin in bernoulli(0.5, rounds, entropy):
        X = _draws((PEOPLE + 1) * PEOPLE, entropy).reshape(PEOPLE + 1, PEOPLE)
        y = _draws(PEOPLE + 1, entropy)
        inside = np.arange(PEOPLE + 1) < PEOPLE + bool(coin)
        line = least_squares((X[inside], y[inside]), entropy)
        error = -evidence(lambda rows, line=line: line[0] + rows @ line[1:], X[-1:], y[-1:])
        won.append(float((error[0] < 1e-12) == coin))
    return won


def private_line(epsilon: float, table: Table, entropy: Entropy) -> Floats:
    """What the private regression predicts for Ada, from its coefficients."""
    from lapwing.models import LinearRegression

    model = LinearRegression(epsilon=epsilon, bounds=(-1, 1), target_bounds=(-1, 1), random_state=entropy)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoiseWarning)  # that noise hides Ada is what the attack shows
        model.fit(*table)
    return np.array([_RARE * float(model.coef_.sum()) + model.intercept_])


def exact_odds(table: Table, entropy: Entropy) -> Floats:
    """Exact coefficients of logistic regression. **Not private.**"""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(fit_intercept=False).fit(*table)
    return np.asarray(model.coef_[0], dtype=float)


def private_odds(epsilon: float, table: Table, entropy: Entropy) -> Floats:
    """The log odds of Ada's class by private logistic regression, in the way that is best for few rows."""
    from lapwing.models import LogisticRegression

    model = LogisticRegression(
        method="means", epsilon=epsilon, bounds=(-1, 1), classes=[0, 1], fit_intercept=False, random_state=entropy
    )
    return np.array([_RARE * float(model.fit(*table).coef_.sum())])


def plain_network(table: Table, entropy: Entropy) -> Floats:
    """The log odds of Ada's class by a network trained without privacy."""
    X, y = table
    settings = {"hidden": (8,), "epochs": 60, "sampling": 1, "bounds": (-1, 1), "classes": [0, 1]}
    chances = without_privacy(X, y.astype(np.int64), entropy, settings)(tables(labels=True)[1][0][-1:])[0]
    return np.asarray(np.log(chances[1:] + 1e-9) - np.log(chances[:1] + 1e-9))


def private_descent(epsilon: float, table: Table, entropy: Entropy) -> Floats:
    """The log odds of Ada's class after one step of private descent on all rows: of more steps she shows no more."""
    from lapwing.models import SGDClassifier

    settings: dict[str, Any] = {"epochs": 1, "sampling": 1, "bounds": (-1, 1), "classes": [0, 1]}
    model = SGDClassifier(epsilon=epsilon, delta=DELTA, random_state=entropy, **settings).fit(*table)
    (weights,) = model.weights_
    return np.asarray(np.append(1.0, tables(labels=True)[1][0][-1]) @ (weights[:, 1:] - weights[:, :1]))


def without_privacy(images: Floats, labels: NDArray[np.int64], source: Entropy, settings: Mapping[str, Any]) -> Any:
    """The network of `MLPClassifier` with these settings, from rows to probabilities, but gradients are neither cut nor
    noisy. **Not private.**"""
    from lapwing.models.columns import Box
    from lapwing.models.layers import backward, class_error, forward, input_rows, softmax, whole_weights
    from lapwing.models.mlp import MLPClassifier
    from lapwing.models.training import Plan, descend, first_weights

    box = Box.of(settings["bounds"], images.shape[1])
    plan = Plan.of(MLPClassifier(**settings), box, settings["hidden"], len(settings["classes"]))
    rows = input_rows(box, images)

    def gradient_of(weights: Sequence[Floats]) -> list[Floats]:
        chosen = np.flatnonzero(bernoulli(plan.sampling, len(rows), source))
        inputs, scores = forward(rows[chosen], weights)
        errors = backward(inputs, weights, class_error(scores, labels[chosen]))
        return [given.T @ error for given, error in zip(inputs, errors, strict=True)]

    weights = descend(first_weights(plan.shapes, source), gradient_of, plan.steps, plan.learning_rate)
    return lambda given: softmax(forward(input_rows(box, given), whole_weights(weights))[1])


def _attack(
    name: str,
    model: str,
    weak: Mapping[str, Callable[[int, Entropy], Rounds]],
    plain: Seen,
    private: Callable[[float, Table, Entropy], Floats],
    *,
    labels: bool,
    answer: str,
    delta: float = 0.0,
    lesson: str,
    source: str,
) -> Attack:
    """What the three have in common."""

    def played(epsilon: float, rounds: int, entropy: Entropy) -> Rounds:
        return play(partial(private, epsilon), tables(labels), rounds, entropy)

    def example(entropy: Entropy) -> Sequence[Conclusion]:
        coin = bool(bernoulli(0.5, entropy=entropy))
        conclusions = []
        for words, seen, shadows in ((model, plain, FEW), (f"{answer}, epsilon = 1", partial(private, 1.0), SHADOWS)):
            tell = studied(seen, tables(labels), entropy, shadows)
            guess, sure = tell.sure(seen(tables(labels)[int(coin)], entropy))
            like = (tell.hits, tell.alarms) if guess else (1 - tell.hits, 1 - tell.alarms)
            why = f"{like[0]:.0%} of {shadows} models fitted with her look like this, and {like[1]:.0%} without her."
            conclusions.append(
                Conclusion(about=f"Ada was in the data, from {words}", guess=guess, sure=sure, because=why, truth=coin)
            )
        return conclusions

    return Attack(
        name=name,
        title=f"Membership: was Ada in the data behind {model}?",
        secret="whether Ada was in the training data",
        source=source,
        weak=weak,
        answer=answer,
        promise=f"epsilon{f' with delta = {delta:g}' if delta else ''}, one person more or less (add_remove)",
        private=played,
        bound=partial(best_guess, delta=delta),
        example=example,
        lesson=lesson,
        rounds=300,
    )


def _known(seen: Seen, *, labels: bool) -> Callable[[int, Entropy], Rounds]:
    return lambda rounds, entropy: play(seen, tables(labels), rounds, entropy, FEW)


LINEAR_MEMBERSHIP = _attack(
    "membership-linear",
    "a regression line",
    {
        "exact coefficients, everybody else known": _known(least_squares, labels=False),
        "exact predictions, nobody known, many columns": predictions_alone,
    },
    least_squares,
    private_line,
    labels=False,
    answer="private linear regression",
    lesson="A line fitted to few rows follows each of them, and its coefficients reveal them.",
    source="Yeom et al. 2018",
)
LOGISTIC_MEMBERSHIP = _attack(
    "membership-logistic",
    "a logistic regression",
    {"exact coefficients, everybody else known": _known(exact_odds, labels=True)},
    exact_odds,
    private_odds,
    labels=True,
    answer="private logistic regression",
    lesson=(
        "An attacker who knows everybody else needs only one model to learn about the last person. Privacy must hold "
        "even then."
    ),
    source="Shokri et al. 2017 and Carlini et al. 2022",
)
NETWORK_MEMBERSHIP = _attack(
    "membership-network",
    "a trained network",
    {"a network without privacy, one prediction": _known(plain_network, labels=True)},
    plain_network,
    private_descent,
    labels=True,
    answer="private gradient descent",
    delta=DELTA,
    lesson="A network remembers unusual rows. Clipped gradients and noise at every step hide a single row.",
    source="Abadi et al. 2016 and Carlini et al. 2022",
)
