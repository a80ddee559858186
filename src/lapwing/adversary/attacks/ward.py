"""The ward in which attacks on classes are played: who is in it, what is published, and what an attacker then believes.

The quasi-identifiers of the people (age, sex, postcode) are known to everybody and stay the same. What a person has is
drawn anew in every round, for each person on their own. The attacker reads what is published, *chooses whom to attack*,
and guesses.

Why no choice of the victim gets around the bound: let π be the chance of a value before, and let o be what a method
publishes that is ε-private about the value of one person. By Bayes' rule the odds of the value given o are at most
e^ε·π/(1 − π), for this person, this value and this o, whatever they are; so whoever is chosen after seeing o is guessed
with probability e^ε·π/(e^ε·π + 1 − π) at most. That is `best_guess(epsilon, prior=π)`, with the π of the value guessed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.adversary.attacks.attack import Conclusion, Rounds, repeatable
from lapwing.adversary.attacks.publication import Publication, Targets
from lapwing.anonymity.criteria import Criterion, shares
from lapwing.anonymity.mondrian import Mondrian
from lapwing.anonymity.table import Classes
from lapwing.mechanisms import Laplace
from lapwing.noise import Entropy, choice, uniform_below

PEOPLE = 300
QUASI = ("age", "sex", "postcode")
SENSITIVE = "diagnosis"
GROUP = 5
"""The private answer counts in the classes of the 5-anonymous table, which do not depend on what people have."""
PRIVATE = "noisy counts in the classes of a 5-anonymous table"
PROMISE = "epsilon, whatever one person has (replace one diagnosis; who is in which class is public)"

Secrets = NDArray[np.intp]
Beliefs = NDArray[np.float64]
"""For each person the chance of each value, as the attacker sees it."""
Method = Callable[[Secrets, Entropy], Beliefs]
"""What people have, published somehow, and what an attacker believes after reading it."""
Weights = tuple[Fraction, ...]
"""How likely each value is, for anybody."""
Everybody = range(PEOPLE)


@lru_cache(maxsize=1)
def people() -> dict[str, NDArray[Any]]:
    """What everybody knows."""
    source = repeatable("ward")
    return {
        "age": 18 + uniform_below(72, PEOPLE, source),
        "sex": np.where(uniform_below(2, PEOPLE, source) == 1, "female", "male"),
        "postcode": 2100 + uniform_below(60, PEOPLE, source),
    }


@lru_cache(maxsize=32)
def classes(k: int, rows: range = Everybody) -> Classes:
    """The classes of the k-anonymous table of some people."""
    return Mondrian(k=k, quasi_identifiers=QUASI).anonymise(_known(rows)).classes


def anonymous(k: int, kinds: int, rows: range = Everybody) -> Method:
    """A k-anonymous table."""

    def published(secrets: Secrets, entropy: Entropy) -> Beliefs:
        groups = classes(k, rows)
        return shares(groups.counts(secrets, kinds))[groups.member]

    return published


def demanding(k: int, kinds: int, criterion: Criterion, rows: range = Everybody) -> Method:
    """A k-anonymous table whose classes meet a criterion besides."""
    method = Mondrian(k=k, quasi_identifiers=QUASI, criteria=[criterion])

    def published(secrets: Secrets, entropy: Entropy) -> Beliefs:
        groups = method.anonymise({**_known(rows), SENSITIVE: secrets}).classes
        return shares(groups.counts(secrets, kinds))[groups.member]

    return published


def noisy(epsilon: float, weights: Weights, rows: range = Everybody) -> Method:
    """The counts of each class with noise for a change of two counts by one each."""
    groups, kinds = classes(GROUP, rows), len(weights)
    before = _before(groups.sizes, weights)

    def published(secrets: Secrets, entropy: Entropy) -> Beliefs:
        counts = groups.counts(secrets, kinds)
        return _believed(_released(counts, epsilon, entropy), before, epsilon)[groups.member]

    return published


def private(
    table: Any, quasi_identifiers: Sequence[str], sensitive: str, targets: Targets, entropy: Entropy
) -> list[Conclusion]:
    """What the same table would say about people if its counts were published with noise, at an epsilon of 1."""
    published = Publication.of(table, quasi_identifiers, sensitive)
    released = replace(published, counts=_released(published.counts, 1.0, entropy))
    conclusions = []
    for person, known in targets.items():
        counts, shown = published.rows_of(known), released.rows_of(known)
        before = _before(counts.sum(keepdims=True), even(len(published.kinds)))
        beliefs = _believed(shown[None], before, 1.0)[0]
        best = int(beliefs.argmax())
        because = f"The noisy count is {shown[best]}, of {counts.sum()} rows that may be theirs."
        about = f"{person}, from private counts (epsilon = 1)"
        conclusions.append(
            Conclusion(about=about, guess=published.kinds[best], sure=float(beliefs[best]), because=because)
        )
    return conclusions


def _released(counts: NDArray[np.intp], epsilon: float, entropy: Entropy) -> NDArray[np.intp]:
    return np.reshape(_noise(epsilon, counts.size).release(counts.ravel(), entropy), counts.shape)


@lru_cache(maxsize=32)
def _noise(epsilon: float, dimensions: int) -> Laplace:
    return Laplace(epsilon=epsilon, sensitivity=2, dimensions=dimensions, on_grid=True, relation="replace")


def _before(sizes: NDArray[np.intp], weights: Weights) -> Beliefs:
    """Classes × values × counts: how likely each count is before anything is published, namely binomial."""
    may = range(int(sizes.max()) + 1)
    return np.array([[[_binomial(size, n, weight) for n in may] for weight in weights] for size in sizes])


def _believed(noisy: NDArray[np.intp], before: Beliefs, epsilon: float) -> Beliefs:
    """The chance of each value for somebody in each class: the mean of its count given the noisy one."""
    may = np.arange(before.shape[2])
    away = np.abs(noisy[:, :, None] - may)
    odds = before * np.exp(-epsilon / 2 * (away - away.min(axis=2, keepdims=True)))
    mean = (odds * may).sum(axis=2) / odds.sum(axis=2)
    beliefs: Beliefs = mean / mean.sum(axis=1, keepdims=True)
    return beliefs


def play(
    rounds: int,
    entropy: Entropy,
    weights: Weights,
    method: Method,
    strategy: Callable[[Beliefs, Secrets, Entropy], bool],
) -> Rounds:
    """So many rounds; `strategy` chooses a victim by what is believed, guesses, and says whether it was right."""
    won = []
    for _ in range(rounds):
        secrets = draw(weights, entropy)
        won.append(float(strategy(method(secrets, entropy), secrets, entropy)))
    return won


def draw(weights: Weights, entropy: Entropy) -> Secrets:
    """What everybody has."""
    return choice(weights, PEOPLE, entropy).astype(np.intp)


def surest(beliefs: Beliefs) -> tuple[int, int]:
    """The person and the value of whom the attacker is surest."""
    person, value = np.unravel_index(int(beliefs.argmax()), beliefs.shape)
    return int(person), int(value)


def even(kinds: int) -> Weights:
    """Every value as likely as the others."""
    return (Fraction(1, kinds),) * kinds


def _known(rows: range) -> dict[str, NDArray[Any]]:
    return {name: values[rows.start : rows.stop] for name, values in people().items()}


def _binomial(size: int, count: int, weight: Fraction) -> float:
    p = float(weight)
    return math.comb(int(size), int(count)) * p ** int(count) * (1 - p) ** max(int(size) - int(count), 0)
