"""Composition: two anonymous tables about the same person."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lapwing.adversary.attacks import ward
from lapwing.adversary.attacks.attack import Attack, Conclusion, Rounds
from lapwing.adversary.attacks.bounds import best_guess
from lapwing.adversary.attacks.hospitals import THREE_ANONYMOUS, TWO_ANONYMOUS, TWO_QUASI
from lapwing.adversary.attacks.publication import Publication, Targets
from lapwing.anonymity.criteria import DistinctDiversity
from lapwing.errors import InvalidParameter
from lapwing.noise import Entropy

KINDS = 8
WEIGHTS = ward.even(KINDS)
HOSPITALS = (range(200), range(100, 300))
"""Whose rows each of two hospitals publishes; a hundred people went to both."""


def composition(
    tables: Sequence[Any], quasi_identifiers: Sequence[str], sensitive: str, targets: Targets
) -> list[Conclusion]:
    """Combine several published tables about people who are in all of them.

    A person's value occurs in their class of every table. By Bayes' rule the odds of such a value are the product of
    its shares in these classes, divided by its share in all tables for every table but the first. This assumes that
    nobody else is in the person's class of two tables. Anybody who is counts twice, and then `sure` is too large. What
    is certain stays certain.

    Source: Ganta, Kasiviswanathan and Smith 2008, Composition attacks and auxiliary information in data privacy.

    Args:
        tables: The published tables, each as columns by name, rows as dicts, or a data frame.
        quasi_identifiers: The columns that the attacker may know of a person. All tables have them.
        sensitive: The column that the attacker wants to know. All tables have it.
        targets: What the attacker knows of each person, as `{"Ann": {"zip": "13053"}}`.

    Returns:
        A conclusion for each person whom rows of all tables fit.

    Raises:
        InvalidParameter: If there is no table.

    >>> first = {"age": ["60-80", "60-80"], "illness": ["Parkinson's", "stroke"]}
    >>> second = {"age": [">= 70", ">= 70"], "illness": ["Parkinson's", "arthritis"]}
    >>> print(*composition([first, second], ["age"], "illness", {"Mrs. Garcia": {"age": 78}}))
    Mrs. Garcia: Parkinson's (certainly). Only this value is in all 2 tables among the rows that may be theirs.
    """
    if not len(tables):
        raise InvalidParameter("tables", tables, "there is nothing to compose", "Pass a list of two tables or more.")
    read = [Publication.of(table, quasi_identifiers, sensitive) for table in tables]
    kinds = list(dict.fromkeys(kind for published in read for kind in published.kinds))
    total = sum((_spread(published, kinds, published.counts.sum(axis=0)) for published in read), np.zeros(len(kinds)))
    conclusions = []
    for person, known in targets.items():
        rows = [_spread(published, kinds, published.rows_of(known)) for published in read]
        odds = np.prod([counts / max(counts.sum(), 1) for counts in rows], axis=0)
        odds = odds / total ** (len(read) - 1)
        if not odds.any():
            continue  # not in all of the tables
        best, left = int(odds.argmax()), int(np.count_nonzero(odds))
        because = f"Only this value is in all {len(read)} tables among the rows that may be theirs."
        if left > 1:
            because = f"{left} values are in all {len(read)} tables among the rows that may be theirs."
        sure = 1.0 if left == 1 else float(odds[best] / odds.sum())
        conclusions.append(Conclusion(about=person, guess=kinds[best], sure=sure, because=because))
    return conclusions


def _spread(published: Publication, kinds: list[Any], counts: Any) -> Any:
    """Counts over the kinds of all tables."""
    row = np.zeros(len(kinds))
    row[[kinds.index(kind) for kind in published.kinds]] = counts
    return row


def _play(rounds: int, entropy: Entropy, methods: Sequence[ward.Method]) -> Rounds:
    """A diagnosis that is equally likely before has odds in proportion to the product of what either table says."""
    left, right = HOSPITALS
    won = []
    for _ in range(rounds):
        secrets = ward.draw(WEIGHTS, entropy)
        first, second = (
            method(secrets[rows.start : rows.stop], entropy) for method, rows in zip(methods, HOSPITALS, strict=True)
        )
        both = first[right.start - left.start :] * second[: left.stop - right.start]
        person, value = ward.surest(both / both.sum(axis=1, keepdims=True))
        won.append(float(secrets[right.start + person] == value))
    return won


def _anonymous(k: int) -> Callable[[int, Entropy], Rounds]:
    methods = [ward.anonymous(k, KINDS, rows) for rows in HOSPITALS]
    return lambda rounds, entropy: _play(rounds, entropy, methods)


def _diverse(rounds: int, entropy: Entropy) -> Rounds:
    criterion = DistinctDiversity(sensitive=ward.SENSITIVE, least=4)
    return _play(rounds, entropy, [ward.demanding(5, KINDS, criterion, rows) for rows in HOSPITALS])


def _private(epsilon: float, rounds: int, entropy: Entropy) -> Rounds:
    """Losses add up: each hospital has half of epsilon."""
    return _play(rounds, entropy, [ward.noisy(epsilon / 2, WEIGHTS, rows) for rows in HOSPITALS])


def _bound(epsilon: float) -> float:
    return best_guess(epsilon, prior=WEIGHTS[0])


def _example(entropy: Entropy) -> Sequence[Conclusion]:
    """Two hospitals, and a patient of both."""
    garcia = {"Mrs. Garcia, who was in both hospitals": {"gender": "Female", "age": 78, "zip": "02141"}}
    return composition([TWO_ANONYMOUS, THREE_ANONYMOUS], TWO_QUASI, "diagnosis", garcia)


COMPOSITION = Attack(
    name="composition",
    title="Composition: two anonymous tables about the same people",
    secret="which of eight diagnoses a patient of both hospitals has; the attacker chooses the patient",
    source="Ganta, Kasiviswanathan and Smith 2008",
    weak={
        "two 5-anonymous tables": _anonymous(5),
        "two 10-anonymous tables": _anonymous(10),
        "two 4-diverse tables": _diverse,
    },
    answer="noisy counts of both hospitals",
    promise="epsilon for both hospitals together, whatever one person has (replace one diagnosis)",
    private=_private,
    bound=_bound,
    chance=1 / KINDS,
    example=_example,
    lesson=(
        "Two anonymous tables together need not be anonymous. Private answers stay private together: their epsilons "
        "add up."
    ),
)
