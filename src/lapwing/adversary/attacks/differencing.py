"""Differencing: subtract two sums that differ by one person.

The question of the textbooks (Dwork and Roth 2014, section 1.1): how many people smoke, and how many of those who are
not called Ada? A rule that refuses small query sets does not help, because both sets are large.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from lapwing import checks
from lapwing.adversary.attacks.attack import Attack, Conclusion, Rounds, sure_of
from lapwing.adversary.attacks.bounds import best_guess
from lapwing.adversary.attacks.cells import private_sums
from lapwing.anonymity.restriction import RestrictedQueries, where
from lapwing.errors import InvalidParameter
from lapwing.noise import Entropy, bernoulli

PEOPLE = 100
SMALLEST = 10
"""The query-set-size rule: groups of fewer people, or of all but fewer, are refused."""
FLOOR = range(PEOPLE // 2)
"""The group that is asked about: the people on Ada's floor. She is number 0."""
Totals = Callable[[Sequence[int]], tuple[Any, Any]]
"""The totals with and without Ada that a method answers about a table."""


def differencing(
    total: float, without: float, *, noise: float = 0.0, errors: int = 2, about: str = "the target"
) -> Conclusion:
    """Find a person's value, from totals with and without that person.

    If the totals have noise, the value must be 0 or 1, with even odds beforehand. With a = e^(−1/scale), the difference
    is off by x with a probability proportional to a^|x| for one error, and to a^|x|·(|x| + (1 + a²)/(1 − a²)) for two,
    where the fraction is coth(1/scale).

    Args:
        total: The total with the person.
        without: The total without the person.
        noise: The scale of discrete Laplace noise in the totals; 0 if they are exact.
        errors: How many errors are in the difference: 2 if each total has its own noise, 1 if both were added up from
            the same noisy cells.
        about: What the conclusion calls the person.

    Returns:
        The value, or the likelier of 0 and 1 if there is noise.

    Raises:
        InvalidParameter: If a total is not a number, or `errors` is more than 2.

    >>> print(differencing(43, 42))
    the target: 1 (certainly). The totals with and without differ by 1.
    >>> print(differencing(45, 42, noise=2))
    the target: 1 (57.1% sure). The totals with and without differ by 3.
    """
    for name, number in (("total", total), ("without", without)):
        checks.exact(**{name: number})  # a refusal is no number
    gap, scale = total - without, float(checks.not_negative(noise=noise))
    because = f"The totals with and without differ by {gap:g}."
    if checks.whole(errors=errors) > 2:
        raise InvalidParameter(
            "errors", errors, "must be 1 or 2: only two totals can have noise", "Write errors=1 or errors=2."
        )
    if not scale:
        return Conclusion(about=about, guess=gap, sure=1, because=because)

    def log_likelihood(value: int) -> float:
        away = abs(gap - value)
        return (math.log(away + 1 / math.tanh(1 / scale)) if errors == 2 else 0.0) - away / scale

    odds = log_likelihood(1) - log_likelihood(0)
    return Conclusion(about=about, guess=int(odds > 0), sure=sure_of(odds), because=because)


def _play(rounds: int, entropy: Entropy, totals: Totals, noise: float = 0.0) -> Rounds:
    """Everybody tosses a fair coin; the attacker wants to know the first person's."""
    won: list[float] = []
    for _ in range(rounds):
        people = _people(entropy)
        learned = differencing(*totals(people), noise=noise, errors=1)
        won.append(float(learned.guess == people[0]))
    return won


def _people(entropy: Entropy) -> list[int]:
    return [int(toss) for toss in bernoulli(Fraction(1, 2), PEOPLE, entropy)]


def _exactly(people: Sequence[int]) -> tuple[int, int]:
    return sum(people), sum(people[1:])


def _restricted(people: Sequence[int]) -> tuple[Any, Any]:
    queries = RestrictedQueries({"desk": range(PEOPLE), "smokes": people}, smallest=SMALLEST)
    floor = where(desk=FLOOR)
    return queries.sum("smokes", floor), queries.sum("smokes", floor & ~where(desk=0))


def _privately(epsilon: float, entropy: Entropy) -> Totals:
    """With a noise of its own for each total, and half of epsilon each, the attacker would do worse than the bound."""
    everybody, others = [True] * PEOPLE, [False] + [True] * (PEOPLE - 1)

    def totals(people: Sequence[int]) -> tuple[int, int]:
        total, without = private_sums(people, [everybody, others], epsilon=epsilon, entropy=entropy)
        return total, without

    return totals


def _example(entropy: Entropy) -> Sequence[Conclusion]:
    people = _people(entropy)
    conclusions = [
        differencing(*_exactly(people), about="Ada smokes, from exact sums"),
        differencing(*_restricted(people), about=f"Ada smokes, though groups below {SMALLEST} are refused"),
    ]
    private = _privately(1.0, entropy)(people)
    conclusions.append(differencing(*private, noise=1, errors=1, about="Ada smokes, from private sums (epsilon = 1)"))
    return [replace(conclusion, truth=people[0]) for conclusion in conclusions]


DIFFERENCING = Attack(
    name="differencing",
    title="Differencing: two totals that differ by one person",
    secret="whether Ada smokes",
    source="Dwork and Roth 2014, section 1.1",
    weak={
        "exact sums": lambda rounds, entropy: _play(rounds, entropy, _exactly),
        f"sums over at least {SMALLEST} people": lambda rounds, entropy: _play(rounds, entropy, _restricted),
    },
    answer="two sums with Laplace noise",
    promise="epsilon for both sums together, whatever one person answers (replace)",
    private=lambda epsilon, rounds, entropy: _play(rounds, entropy, _privately(epsilon, entropy), 1 / epsilon),
    bound=best_guess,
    example=_example,
    lesson="A rule about the size of query sets does not see that two large sets differ by one person.",
    rounds=1000,
)
