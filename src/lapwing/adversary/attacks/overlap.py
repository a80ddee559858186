"""Overlap: sums over groups that hardly overlap, solved as linear equations.

Overlap control lets two questions share r people at most, so that it takes at least (2k − 1)/r sums over k people to
find one value (`lapwing.anonymity.restriction.queries_needed`). With r = 1, this attack needs exactly that many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from lapwing import checks
from lapwing.adversary.attacks.attack import Attack, Conclusion, Rounds
from lapwing.adversary.attacks.bounds import best_guess
from lapwing.adversary.attacks.cells import private_sums
from lapwing.adversary.attacks.differencing import differencing
from lapwing.anonymity.query_auditing import determined_by_sums
from lapwing.anonymity.restriction import RestrictedQueries, where
from lapwing.errors import InvalidParameter
from lapwing.noise import Entropy, bernoulli

SIZE = 4
"""People in every group."""
PEOPLE = 1 + SIZE * (SIZE - 1)


def overlap(groups: Sequence[Sequence[int]], answers: Sequence[int | Fraction], *, people: int) -> list[Conclusion]:
    """Find every value that follows from exact sums over groups of people.

    Args:
        groups: For each sum, the people in it, numbered from 0.
        answers: The sums.
        people: How many people there are.

    Returns:
        A conclusion for each person whose value follows. Nothing is said about the others.

    Raises:
        InvalidParameter: If there are not as many answers as groups.

    >>> print(*overlap([[0, 1], [0, 2], [1, 2]], [3, 4, 5], people=3), sep="; ")
    person 0: 1 (certainly). It follows from 3 sums.; person 1: 2 (certainly). It follows from 3 sums.; \
person 2: 3 (certainly). It follows from 3 sums.
    """
    if len(groups) != len(answers):
        why = f"must be as many as groups, of which there are {len(groups)}"
        raise InvalidParameter("answers", f"<{len(answers)}>", why, "Write one answer for each group.")
    values = determined_by_sums(groups, answers, people=people)
    why = f"It follows from {len(groups)} sums."
    return [Conclusion(about=f"person {person}", guess=value, sure=1, because=why) for person, value in values.items()]


def rows_and_columns(size: int) -> list[list[int]]:
    """2k − 1 groups of k people, any two with at most one in common, whose sums give person 0 away.

    Put k(k − 1) others into k rows of k − 1. Each row with person 0 is a group, and so is each column. The sums of the
    rows less the sums of the columns are k times the value of person 0.

    >>> rows_and_columns(2)
    [[0, 1], [0, 2], [1, 2]]
    """
    k = checks.whole(size=size, minimum=2)
    places = 1 + np.arange(k * (k - 1)).reshape(k, k - 1)
    return [[0, *row] for row in places.tolist()] + places.T.tolist()


GROUPS = rows_and_columns(SIZE)


def _weak(rounds: int, entropy: Entropy) -> Rounds:
    won: list[float] = []
    for _ in range(rounds):
        people = _people(entropy)
        (ada,) = overlap(GROUPS, _restricted(people), people=PEOPLE)
        won.append(float(ada.guess == people[0]))
    return won


def _people(entropy: Entropy) -> list[int]:
    return [int(toss) for toss in bernoulli(Fraction(1, 2), PEOPLE, entropy)]


def _restricted(people: Sequence[int]) -> list[Any]:
    queries = RestrictedQueries({"desk": range(PEOPLE), "smokes": people}, smallest=SIZE, largest_overlap=1)
    return [queries.sum("smokes", where(desk=group)) for group in GROUPS]


def _privately(people: Sequence[int], epsilon: float, entropy: Entropy) -> Conclusion:
    """The same equations for sums of noisy cells, in each of which one person is: they give Ada's noisy value."""
    inside = [[person in group for person in range(PEOPLE)] for group in GROUPS]
    noisy = private_sums(people, inside, epsilon=epsilon, entropy=entropy)
    (ada,) = overlap(GROUPS, noisy, people=PEOPLE)
    why = f"The {len(GROUPS)} noisy sums give the noisy value {ada.guess}."
    return replace(differencing(float(ada.guess), 0, noise=1 / epsilon, errors=1), about=ada.about, because=why)


def _private(epsilon: float, rounds: int, entropy: Entropy) -> Rounds:
    tables = (_people(entropy) for _ in range(rounds))
    return [float(_privately(people, epsilon, entropy).guess == people[0]) for people in tables]


def _example(entropy: Entropy) -> Sequence[Conclusion]:
    people = _people(entropy)
    conclusions = [*overlap(GROUPS, _restricted(people), people=PEOPLE), _privately(people, 1.0, entropy)]
    return [replace(conclusion, truth=people[0]) for conclusion in conclusions]


OVERLAP = Attack(
    name="overlap",
    title="Overlap: sums over groups that share at most one person",
    secret="whether Ada smokes",
    source="Dobkin, Jones and Lipton 1979",
    weak={f"sums over {SIZE} or more, any two sharing 1 at most": _weak},
    answer=f"the {len(GROUPS)} sums, of cells with Laplace noise",
    promise="epsilon for all sums together, whatever one person answers (replace)",
    private=_private,
    bound=best_guess,
    example=_example,
    lesson="A limit on the overlap of two questions does not stop the attack. The attack only takes more questions.",
    rounds=400,
)
