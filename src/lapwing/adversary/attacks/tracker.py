"""Trackers: questions about large groups that together answer a question about a group that is too small.

Source: Denning, Denning and Schwartz 1979, The tracker: a threat to statistical database security; the individual
tracker is by Schlörer (1975). They work for counts and sums, against query-set-size control, with few questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from lapwing import checks
from lapwing.adversary.attacks.attack import Attack, Conclusion, Rounds
from lapwing.adversary.attacks.bounds import best_guess
from lapwing.adversary.attacks.cells import private_sums
from lapwing.adversary.attacks.differencing import differencing
from lapwing.anonymity.restriction import Formula, Refused, RestrictedQueries, where
from lapwing.errors import InvalidParameter
from lapwing.noise import Entropy, bernoulli, uniform_below

PEOPLE = 100
SMALLEST = 10
Ask = Callable[[Formula], Any]
"""A count or a sum over a group, or a refusal: what a restricted interface answers."""


def individual_tracker(ask: Ask, *, broad: Formula, narrow: Formula) -> Conclusion:
    """Compute the answer for a group that is refused, from two groups that are not.

    q(A and B) = q(A) − q(A and not B); “A and not B” is the tracker of the person described by “A and B”.

    Args:
        ask: Gives a count or a sum over a group, or a `lapwing.anonymity.Refused`.
        broad: The formula A, of a large group that the target belongs to.
        narrow: The formula B, which only the target satisfies within A.

    Returns:
        The exact answer for `broad & narrow`.

    Raises:
        InvalidParameter: If one of the two questions is refused.

    >>> from lapwing.anonymity import RestrictedQueries, where
    >>> staff = {"sex": ["f", "m", "f", "f", "m"], "job": ["judge", "clerk", "clerk", "cook", "cook"]}
    >>> queries = RestrictedQueries({**staff, "pay": [9, 3, 2, 1, 1]}, smallest=2)
    >>> ask = lambda group: queries.sum("pay", group)
    >>> print(individual_tracker(ask, broad=where(sex="f"), narrow=where(job="judge")))
    (sex is f and job is judge): 9 (certainly). 12 for sex is f, less 3 for (sex is f and not job is judge).
    """
    tracker = broad & ~narrow
    whole, rest = _answered(ask, broad, tracker)
    why = f"{whole:g} for {broad}, less {rest:g} for {tracker}."
    return Conclusion(about=str(broad & narrow), guess=whole - rest, sure=1, because=why)


def general_tracker(ask: Ask, target: Formula, *, tracker: Formula) -> Conclusion:
    """Compute the answer for any group, with a tracker T that has between 2a and n − 2a members.

    Groups of fewer than a people are refused, and of more than n − a. For a group C that is too small,
    q(C) = q(C or T) + q(C or not T) − q(T) − q(not T): all of C is counted twice, everybody else once. For one that is
    too large, the same is done to its complement.

    Args:
        ask: Gives a count or a sum over a group, or a `lapwing.anonymity.Refused`.
        target: The formula of the group that the attacker wants to know about.
        tracker: The formula T, as `find_tracker` finds it.

    Returns:
        The exact answer for the target.

    Raises:
        InvalidParameter: If one of the questions is refused.

    >>> from lapwing.anonymity import RestrictedQueries, where
    >>> staff = {"sex": ["f"] * 4 + ["m"] * 4, "job": ["judge"] + ["clerk"] * 7, "pay": [9, 3, 2, 1, 1, 2, 3, 2]}
    >>> queries = RestrictedQueries(staff, smallest=2)
    >>> ask = lambda group: queries.sum("pay", group)
    >>> print(ask(where(job="judge")))
    refused: only groups of 2 to 6 of the 8 people are answered
    >>> general_tracker(ask, where(job="judge"), tracker=where(sex="m")).guess
    9
    """
    inside, outside = _answered(ask, tracker, ~tracker)
    small = not any(isinstance(ask(target | side), Refused) for side in (tracker, ~tracker))
    group = target if small else ~target
    first, second = _answered(ask, group | tracker, group | ~tracker)
    everybody, twice = inside + outside, first + second
    answer = twice - everybody if small else 2 * everybody - twice
    why = f"{everybody:g} for everybody; {twice:g} where {group} is counted twice. The tracker is: {tracker}."
    return Conclusion(about=str(target), guess=answer, sure=1, because=why)


def find_tracker(count: Ask, candidates: Iterable[Formula], *, smallest: int) -> Formula | None:
    """Find a general tracker, by asking how many people a formula and its opposite describe.

    There is one in nearly every table: if a ≤ n/4, any attribute that splits people into halves will do.

    Args:
        count: Counts the people of a group, or gives a `lapwing.anonymity.Refused`.
        candidates: The formulas to try, in order.
        smallest: The smallest group a that is answered.

    Returns:
        The first formula that is a tracker; None if none is.

    Raises:
        InvalidParameter: If `smallest` is not a whole number of at least 1.

    >>> from lapwing.anonymity import RestrictedQueries, where
    >>> staff = {"sex": ["f"] * 4 + ["m"] * 4, "job": ["judge"] + ["clerk"] * 7}
    >>> queries = RestrictedQueries(staff, smallest=2)
    >>> print(find_tracker(queries.count, [where(job="judge"), where(sex="m")], smallest=2))
    sex is m
    """
    for formula in candidates:
        sides = [count(formula), count(~formula)]
        if not any(isinstance(side, Refused) for side in sides) and min(sides) >= 2 * checks.whole(smallest=smallest):
            return formula
    return None


def _answered(ask: Ask, *groups: Formula) -> list[Any]:
    """The answers; a refusal is the end of this attack."""
    answers = [ask(group) for group in groups]
    for group, answer in zip(groups, answers, strict=True):
        if isinstance(answer, Refused):
            raise InvalidParameter("tracker", str(group), str(answer), "Use another formula: see find_tracker.")
    return answers


JUDGE = where(sex="f", city="Ulm", job="judge")
"""The only woman among the judges of Ulm, as everybody knows. Is she ill?"""
MEN = where(sex="m")
_SEXES, _CITIES, _JOBS = ("f", "m"), ("Ulm", "Bonn", "Jena", "Kiel"), ("judge", "clerk", "cook", "nurse", "guard")


def _clinic(entropy: Entropy) -> dict[str, list[Any]]:
    """Row 0 is the judge; nobody else has her three attributes."""
    sizes = len(_CITIES) * len(_JOBS)
    kinds = [0, *(1 + int(kind) for kind in uniform_below(2 * sizes - 1, PEOPLE - 1, entropy))]
    return {
        "sex": [_SEXES[kind // sizes] for kind in kinds],
        "city": [_CITIES[kind // len(_JOBS) % len(_CITIES)] for kind in kinds],
        "job": [_JOBS[kind % len(_JOBS)] for kind in kinds],
        "ill": [int(toss) for toss in bernoulli(Fraction(1, 2), PEOPLE, entropy)],
    }


def _individual(ask: Ask) -> Conclusion:
    return individual_tracker(ask, broad=where(sex="f"), narrow=where(city="Ulm", job="judge"))


def _general(ask: Ask) -> Conclusion:
    return general_tracker(ask, JUDGE, tracker=MEN)


def _weak(attack: Callable[[Ask], Conclusion]) -> Callable[[int, Entropy], Rounds]:
    def play(rounds: int, entropy: Entropy) -> Rounds:
        won: list[float] = []
        for _ in range(rounds):
            table = _clinic(entropy)
            won.append(float(attack(_ask(table)).guess == table["ill"][0]))
        return won

    return play


def _ask(table: dict[str, list[Any]]) -> Ask:
    queries = RestrictedQueries(table, smallest=SMALLEST)
    return lambda group: queries.sum("ill", group)


def _privately(table: dict[str, list[Any]], epsilon: float, entropy: Entropy) -> Conclusion:
    """The four answers of the general tracker with noise; nobody else's value is known to the attacker."""
    groups = (JUDGE | MEN, JUDGE | ~MEN, MEN, ~MEN)
    members = [RestrictedQueries(table).members(group) for group in groups]
    first, second, inside, outside = private_sums(table["ill"], members, epsilon=epsilon, entropy=entropy)
    return differencing(first + second, inside + outside, noise=1 / epsilon, errors=1, about=str(JUDGE))


def _private(epsilon: float, rounds: int, entropy: Entropy) -> Rounds:
    tables = (_clinic(entropy) for _ in range(rounds))
    return [float(_privately(table, epsilon, entropy).guess == table["ill"][0]) for table in tables]


def _example(entropy: Entropy) -> Sequence[Conclusion]:
    table = _clinic(entropy)
    conclusions = {
        "individual tracker": _individual(_ask(table)),
        "general tracker": _general(_ask(table)),
        "private sums (epsilon = 1)": _privately(table, 1.0, entropy),
    }
    about = "how many judges of Ulm are women and ill, by"
    return [
        replace(conclusion, about=f"{about} {how}", truth=table["ill"][0]) for how, conclusion in conclusions.items()
    ]


TRACKER = Attack(
    name="tracker",
    title="Trackers: a small group from questions about large ones",
    secret="whether the only woman among the judges of Ulm is ill",
    source="Schlörer 1975; Denning, Denning and Schwartz 1979",
    weak={
        f"groups of {SMALLEST} to {PEOPLE - SMALLEST}, individual tracker": _weak(_individual),
        f"groups of {SMALLEST} to {PEOPLE - SMALLEST}, general tracker": _weak(_general),
    },
    answer="the tracker's four sums with Laplace noise",
    promise="epsilon for all sums together, whatever one person's value is (replace)",
    private=_private,
    bound=best_guess,
    example=_example,
    lesson="If a rule allows questions about groups of n/4 people, any group can be computed: two sums minus two sums.",
    rounds=400,
)
