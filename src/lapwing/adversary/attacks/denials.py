"""Denials: an auditor that looks at the data before it refuses reveals the data by its refusals.

Source: Kenthapadi, Mishra and Nissim 2005, Simulatable auditing. An auditor refuses answers that would reveal a value.
If this decision depends on the true answer, the refusal says what the answer would have been. Two examples:

- maxima: “all but Ada” is refused if and only if Ada alone has the maximum of all, which was answered before;
- sums of values that are 0 or 1: the sum of two people is refused if and only if it is 0 or 2, so if they are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise, permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import checks
from lapwing.adversary.attacks.attack import Attack, Conclusion, Rounds
from lapwing.adversary.attacks.bounds import best_guess
from lapwing.adversary.attacks.cells import noisy_sums, posterior, values_behind
from lapwing.anonymity.query_auditing import ExhaustiveAuditor, MaxAuditor
from lapwing.anonymity.restriction import Refused
from lapwing.mechanisms import Laplace
from lapwing.noise import Entropy, bernoulli, permutation

PEOPLE = 9
"""Whose values, 0 or 1, are summed."""
NEIGHBOURS = list(pairwise(range(PEOPLE)))
PAY = (1000, 2000, 3000)
"""Three people, three public grades: who has which?"""
Ask = Callable[[Iterable[int]], Any]
"""An answer about a group of people, numbered from 0, or a refusal."""


def largest_by_refusals(ask: Ask, *, people: int) -> list[Conclusion]:
    """Find the largest value of every three people, from the refusals of an auditor of maxima.

    The attack asks for the maximum of three people, and then without each of them. If only one person has the maximum,
    the question without that person is refused, and no other. So a third of any table with different values is known
    for certain, after four questions for every three people.

    Args:
        ask: Gives the maximum over a list of people, or a `lapwing.anonymity.Refused`.
        people: How many people there are, at least 3. They are numbered from 0.

    Returns:
        A conclusion for each person whose value follows. Nothing is said about the others.

    Raises:
        InvalidParameter: If there are fewer than 3 people.

    >>> from lapwing.anonymity import MaxAuditor
    >>> print(*largest_by_refusals(MaxAuditor([7, 9, 8], simulatable=False).ask, people=3))
    person 1: 9 (certainly). The maximum of 0 to 2 was answered. Without person 1 it was refused.
    >>> largest_by_refusals(MaxAuditor([7, 9, 8], simulatable=True).ask, people=3)  # its refusals say nothing
    []
    """
    conclusions = []
    for start in range(0, checks.whole(people=people, minimum=3) - 2, 3):
        three = range(start, start + 3)
        most = ask(three)
        missed = [person for person in three if isinstance(ask([other for other in three if other != person]), Refused)]
        if len(missed) == 1 and not isinstance(most, Refused):
            why = f"The maximum of {start} to {start + 2} was answered. Without person {missed[0]} it was refused."
            conclusions.append(Conclusion(about=f"person {missed[0]}", guess=most, sure=1, because=why))
    return conclusions


def table_by_refusals(ask: Ask, *, people: int) -> list[Conclusion]:
    """Find the value of each person, 0 or 1, from the refusals of an auditor of sums.

    The sum of two neighbours is refused if their values are equal, and is 1 if not. This gives the whole table, up to
    exchanging 0 and 1. A sum over three people whom no chain of answers connects, not all equal, tells which.
    From an auditor that refuses without looking at the data, this learns nothing.

    Args:
        ask: Gives the sum over a list of people, or a `lapwing.anonymity.Refused`.
        people: How many people there are, at least 2. They are numbered from 0.

    Returns:
        A conclusion for each person. They are certain, or 50 % sure if no question could tell 0 from 1.

    Raises:
        InvalidParameter: If there are fewer than 2 people.

    >>> from lapwing.anonymity import ExhaustiveAuditor
    >>> auditor = ExhaustiveAuditor([1, 1, 0, 0, 1], domain=(0, 1), simulatable=False)
    >>> [(conclusion.guess, conclusion.sure) for conclusion in table_by_refusals(auditor.ask, people=5)]
    [(1, 1.0), (1, 1.0), (0, 1.0), (0, 1.0), (1, 1.0)]
    """
    values, runs = [0], [0]
    for left, right in pairwise(range(checks.whole(people=people, minimum=2))):
        equal = isinstance(ask([left, right]), Refused)
        values.append(values[-1] if equal else 1 - values[-1])
        runs.append(runs[-1] + equal)
    three = _three_apart(values, runs)
    answer = ask(three) if three else Refused("no three people are suitable")
    settled = not isinstance(answer, Refused)
    if settled and sum(values[person] for person in three) != answer:
        values = [1 - value for value in values]
    how = "A sum over three people tells which are 1." if settled else "Which are 1 remains unknown."
    why = f"The sum of two neighbours is refused if they have the same value. {how}"
    sure = 1.0 if settled else 0.5
    return [
        Conclusion(about=f"person {person}", guess=value, sure=sure, because=why) for person, value in enumerate(values)
    ]


def _three_apart(values: Sequence[int], runs: Sequence[int]) -> list[int]:
    """Three people from different runs of answered neighbours, not all equal; none if there are no such people."""
    firsts = {run: place for place, run in reversed(list(enumerate(runs)))}
    for place, run in enumerate(runs):
        others = [first for other, first in firsts.items() if other != run]
        unequal = [other for other in others if values[other] != values[place]]
        if unequal and len(others) > 1:
            return [place, unequal[0], next(other for other in others if other != unequal[0])]
    return []


def _weak_sums(rounds: int, entropy: Entropy) -> Rounds:
    won: list[float] = []
    for _ in range(rounds):
        people = [int(toss) for toss in bernoulli(Fraction(1, 2), PEOPLE, entropy)]
        auditor = ExhaustiveAuditor(people, domain=(0, 1), simulatable=False)
        learned = table_by_refusals(auditor.ask, people=PEOPLE)
        won.append(_share([conclusion.guess for conclusion in learned], people))
    return won


def _share(guessed: Sequence[int], truth: Sequence[int]) -> float:
    return sum(guess == value for guess, value in zip(guessed, truth, strict=True)) / len(truth)


def _yes(people: NDArray[Any], epsilon: float, entropy: Entropy) -> NDArray[np.float64]:
    """How likely each value is 1, given noisy sums of neighbours; a row of people per round."""
    noisy, scale = noisy_sums(people, NEIGHBOURS, epsilon=epsilon, entropy=entropy)
    return values_behind(noisy, NEIGHBOURS, scale=scale)


def _private_sums(epsilon: float, rounds: int, entropy: Entropy) -> Rounds:
    people = bernoulli(Fraction(1, 2), rounds * PEOPLE, entropy).reshape(rounds, PEOPLE)
    guessed = _yes(people, epsilon, entropy) > 0.5
    shares: list[float] = (guessed == people).mean(axis=1).tolist()
    return shares


def _sums_example(entropy: Entropy) -> Sequence[Conclusion]:
    people = bernoulli(Fraction(1, 2), PEOPLE, entropy)
    truth = [int(bit) for bit in people]
    auditor = ExhaustiveAuditor(truth, domain=(0, 1), simulatable=False)
    yes = float(_yes(people[None, :], 1.0, entropy)[0, 0])
    why = "The sums of neighbours have noise (epsilon = 1 for all of them)."
    private = Conclusion(about="person 0", guess=int(yes > 0.5), sure=max(yes, 1 - yes), because=why)
    conclusions = table_by_refusals(auditor.ask, people=PEOPLE)
    return [
        replace(conclusion, truth=value)
        for conclusion, value in zip([*conclusions, private], [*truth, truth[0]], strict=True)
    ]


def _weak_maxima(rounds: int, entropy: Entropy) -> Rounds:
    won: list[float] = []
    for _ in range(rounds):
        pay = _pay(entropy)
        learned = largest_by_refusals(MaxAuditor(pay, simulatable=False).ask, people=len(pay))
        best = pay.index(max(PAY))
        won.append(float([conclusion.about for conclusion in learned] == [f"person {best}"]))
    return won


def _pay(entropy: Entropy) -> list[int]:
    return [PAY[place] for place in permutation(len(PAY), entropy)]


def _maxima(pay: Sequence[int]) -> list[int]:
    """For each person the maximum without them."""
    return [max(other for place, other in enumerate(pay) if place != person) for person in range(len(pay))]


@cache
def _largest_move() -> int:
    """How far all maxima move together, at most, if two people exchange their pay."""
    exchanges = [(order, _exchanged(order, *two)) for order in permutations(PAY) for two in combinations(range(3), 2)]
    return max(
        sum(abs(a - b) for a, b in zip(_maxima(before), _maxima(after), strict=True)) for before, after in exchanges
    )


def _exchanged(pay: Sequence[int], first: int, second: int) -> list[int]:
    swapped = list(pay)
    swapped[first], swapped[second] = pay[second], pay[first]
    return swapped


def _best(pay: Sequence[int], epsilon: float, entropy: Entropy) -> NDArray[np.float64]:
    """How likely each of three earns most, given noisy maxima without each."""
    move, grade, orders = _largest_move(), PAY[1] - PAY[0], list(permutations(PAY))
    noise = Laplace(epsilon=epsilon, sensitivity=move, granularity=grade, dimensions=len(PAY), on_grid=True)
    noisy = [noise.release(_maxima(pay), entropy)]
    (chances,) = posterior(noisy, [_maxima(order) for order in orders], scale=move / epsilon)
    best = np.array([order.index(max(PAY)) for order in orders])
    return np.array([chances[best == person].sum() for person in range(len(PAY))])


def _private_maxima(epsilon: float, rounds: int, entropy: Entropy) -> Rounds:
    tables = [_pay(entropy) for _ in range(rounds)]
    return [float(pay[int(_best(pay, epsilon, entropy).argmax())] == max(PAY)) for pay in tables]


def _maxima_example(entropy: Entropy) -> Sequence[Conclusion]:
    pay = _pay(entropy)
    chances = _best(pay, 1.0, entropy)
    best, why = int(chances.argmax()), "The maxima have noise (epsilon = 1 for all of them)."
    private = Conclusion(
        about=f"person {best}", guess=max(PAY), sure=float(chances.max()), because=why, truth=pay[best]
    )
    conclusions = largest_by_refusals(MaxAuditor(pay, simulatable=False).ask, people=len(pay))
    return [*(replace(conclusion, truth=max(PAY)) for conclusion in conclusions), private]


SUM_DENIALS = Attack(
    name="denials",
    title="Denials: an auditor of sums that looks at the data before it refuses",
    secret=f"the values, 0 or 1, of {PEOPLE} people",
    source="Kenthapadi, Mishra and Nissim 2005",
    weak={"an exact auditor that looks at the answer": _weak_sums},
    answer="sums of neighbours with Laplace noise",
    promise="epsilon for all sums together, whatever one person's value is (replace)",
    private=_private_sums,
    bound=best_guess,
    example=_sums_example,
    lesson="A refusal is an answer. If it depends on the data, it must be paid for like any other.",
    measured="values guessed",
    rounds=400,
)
MAX_DENIALS = Attack(
    name="max-denials",
    title="Denials: an auditor of maxima that looks at the data before it refuses",
    secret="which of three people earns most",
    source="Kenthapadi, Mishra and Nissim 2005",
    weak={"an exact auditor that looks at the answer": _weak_maxima},
    answer="maxima with Laplace noise",
    promise="epsilon for all maxima together, if two people exchange their pay",
    private=_private_maxima,
    bound=lambda epsilon: best_guess(epsilon, prior=Fraction(1, len(PAY))),
    chance=1 / len(PAY),
    example=_maxima_example,
    lesson="If the auditor refuses the maximum without Ada, then Ada has the maximum.",
    rounds=400,
)
