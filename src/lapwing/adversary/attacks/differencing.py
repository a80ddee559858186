"""Two sums that differ by one person, subtracted.

The question of the textbooks (Dwork and Roth 2014, section 1.1): how many people smoke, and how many of those who are
not called Ada? A rule that refuses small query sets does not help, because both sets are large.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from lapwing.adversary.attacks.attack import Attack, Learned, Rounds
from lapwing.adversary.attacks.bounds import best_guess
from lapwing.mechanisms import Laplace
from lapwing.noise import Entropy, bernoulli

PEOPLE = 100
SMALLEST = 10
"""The query-set-size rule: sets of fewer people, or of all but fewer, are refused."""
Answer = Callable[[Sequence[int]], float]


def differencing(total: float, without: float, *, noise: float = 0.0, about: str = "the target") -> Learned:
    """A person's value from totals with and without that person; `noise` is the scale of Laplace noise on each.

    For a value that is 0 or 1, with even odds beforehand. Two Laplace errors of scale b differ by x with density
    (b + |x|)·e^(−|x|/b)/(4b²).

    >>> print(differencing(43, 42))
    the target: 1 (certainly). The totals with and without differ by 1.
    """
    gap = total - without

    def likelihood(value: int) -> float:
        away = abs(gap - value) / noise
        return (1 + away) * math.exp(-away)

    if noise:
        yes, no = likelihood(1), likelihood(0)
        odds = yes / (yes + no) if yes + no else float(gap > 0.5)
    else:
        odds = float(gap > 0.5)
    return Learned(
        about=about,
        guess=int(odds > 0.5),
        sure=max(odds, 1 - odds),
        because=f"The totals with and without differ by {gap:g}.",
    )


def _play(rounds: int, entropy: Entropy, answered: Callable[[], tuple[Answer, float]]) -> Rounds:
    """Everybody tosses a fair coin; the attacker wants to know the first person's."""
    won: list[float] = []
    for _ in range(rounds):
        people = [int(toss) for toss in bernoulli(Fraction(1, 2), PEOPLE, entropy)]
        answer, noise = answered()
        learned = differencing(answer(people), answer(people[1:]), noise=noise)
        won.append(float(learned.guess == people[0]))
    return won


def _exact(rounds: int, entropy: Entropy) -> Rounds:
    return _play(rounds, entropy, lambda: (sum, 0.0))


def _restricted(rounds: int, entropy: Entropy) -> Rounds:
    def answer(people: Sequence[int]) -> float:
        if len(people) < SMALLEST:
            raise ValueError("refused")
        return sum(people)

    return _play(rounds, entropy, lambda: (answer, 0.0))


def _private(epsilon: float, rounds: int, entropy: Entropy) -> Rounds:
    """Ada is in one of the two sums only, yet both are paid for: half of epsilon each."""
    half = Laplace(epsilon=Fraction(epsilon) / 2, sensitivity=1)
    return _play(rounds, entropy, lambda: ((lambda people: half.release(sum(people), entropy)), float(2 / epsilon)))


def _example(entropy: Entropy) -> Sequence[Learned]:
    people = [int(toss) for toss in bernoulli(Fraction(1, 2), PEOPLE, entropy)]
    honest: Any = Laplace(epsilon=Fraction(1, 2), sensitivity=1)
    exact = differencing(sum(people), sum(people[1:]), about="Ada smokes, from exact sums")
    totals = (honest.release(sum(people), entropy), honest.release(sum(people[1:]), entropy))
    private = differencing(*totals, noise=2.0, about="Ada smokes, from private sums (epsilon = 1 for both)")
    return [exact, private]


DIFFERENCING = Attack(
    name="differencing",
    title="Differencing: two totals that differ by one person",
    secret="whether Ada smokes",
    source="000 §2.1.1.4 and 001; Dwork and Roth 2014, section 1.1",
    weak={"exact sums": _exact, f"sums over at least {SMALLEST} people": _restricted},
    answer="two sums with Laplace noise",
    promise="epsilon for both sums together, whatever one person answers (replace)",
    private=_private,
    bound=best_guess,
    example=_example,
    lesson="A rule about the size of query sets does not see that two large sets differ by one person.",
    rounds=1000,
)
