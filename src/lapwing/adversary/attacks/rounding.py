"""Rounded counts: find a group where one person changes the rounded count, or ask until the rounding averages out.

Against rounding to the nearest, the attacker lets a set grow person by person until the answer flips. In the set just
before, one more person with the property flips the answer, so the attacker adds Ada instead. The attacker need not know
anybody's value, and a rule against small sets does not help. Against random rounding the attacker asks the same two
questions, with and without Ada, again and again, and compares the means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from lapwing.adversary.attacks.attack import Attack, Conclusion, Rounds
from lapwing.adversary.attacks.bounds import best_guess
from lapwing.anonymity.rounding import Rounding
from lapwing.mechanisms import Laplace
from lapwing.noise import Entropy, bernoulli

PEOPLE = 100
BASE = 5
SMALLEST = 20
"""The attacker asks about no set of fewer people."""
TIMES = 400
Ask = Callable[[Sequence[int]], int]
"""The rounded count of people with the property in a set, given as places."""


def tipping(ask: Ask, others: Sequence[int], target: int, *, smallest: int = 0) -> Conclusion | None:
    """Find out from rounded counts whether the target has a property.

    Args:
        ask: Gives the rounded count of people with the property, among people who are given by their numbers.
        others: The numbers of the other people.
        target: The number of the target.
        smallest: The size of the first set. No smaller one is asked about.

    Returns:
        1 if the target has the property, 0 if not; None if no set of others makes the answer flip.

    >>> from lapwing.anonymity import Rounding
    >>> values = [1, 1, 0, 1, 1]
    >>> rounded = Rounding(base=5)
    >>> learned = tipping(lambda members: rounded.release(sum(values[i] for i in members)), [1, 2, 3, 4], target=0)
    >>> learned.guess, learned.sure
    (1, 1)
    """
    start = ask(others[:smallest])
    flip = next((size for size in range(smallest + 1, len(others) + 1) if ask(others[:size]) != start), None)
    if flip is None:
        return None
    tipped = ask([*others[: flip - 1], target]) != start
    said = "flips it, too" if tipped else "does not"
    because = f"A person with the property flips the answer for {flip - 1} others, and the target {said}."
    return Conclusion(about="the target", guess=int(tipped), sure=1, because=because)


def against_everybody_known(epsilon: float, rounds: int, entropy: Entropy) -> Rounds:
    """The strongest attacker on one count with Laplace noise: knows everybody else, subtracts them, guesses one bit.

    Epsilon bounds how much the answer says about the target's bit (replace; sensitivity 1). This attacker reaches the
    bound: with a = e^−ε the chance of noise that does not mislead is 1/(1 + a), which is e^ε/(1 + e^ε).
    """
    count = Laplace(epsilon=Fraction(epsilon), sensitivity=1, relation="replace")
    secrets = [int(toss) for toss in bernoulli(Fraction(1, 2), rounds, entropy)]
    return [float((count.release(secret, entropy) >= 1) == secret) for secret in secrets]


def _people(entropy: Entropy) -> list[int]:
    return [int(toss) for toss in bernoulli(Fraction(1, 2), PEOPLE, entropy)]


def _tipped(people: Sequence[int]) -> Conclusion:
    rounded = Rounding(base=BASE)
    learned = tipping(
        lambda members: rounded.release(sum(people[i] for i in members)), range(1, PEOPLE), 0, smallest=SMALLEST
    )
    return learned or Conclusion(about="the target", guess=0, sure=0.5, because="No answer flipped.")


def _nearest(rounds: int, entropy: Entropy) -> Rounds:
    played = (_people(entropy) for _ in range(rounds))
    return [float(_tipped(people).guess == people[0]) for people in played]


def _random(rounds: int, entropy: Entropy) -> Rounds:
    rounded, won = Rounding(base=BASE, at_random=True), []
    for _ in range(rounds):
        people = _people(entropy)
        with_ada, without = (rounded.mean_of(sum(members), TIMES, entropy) for members in (people, people[1:]))
        won.append(float((with_ada - without > 0.5) == people[0]))
    return won


def _example(entropy: Entropy) -> Sequence[Conclusion]:
    people = _people(entropy)
    noisy = Laplace(epsilon=1, sensitivity=1, relation="replace").release(sum(people), entropy)
    others = sum(people[1:])
    private = Conclusion(
        about="Ada smokes, from a private count (epsilon = 1) and everybody else's answers",
        guess=int(noisy - others >= 1),
        sure=best_guess(1),
        because=f"The noisy count is {noisy}. Without Ada the exact count is {others}.",
        truth=people[0],
    )
    return [replace(_tipped(people), about=f"Ada smokes, from counts rounded to {BASE}", truth=people[0]), private]


ROUNDING = Attack(
    name="rounding",
    title="Rounding: a group in which one person changes the rounded count",
    secret="whether Ada smokes",
    source="Denning 1982, Cryptography and data security, chapter 6",
    weak={f"to the nearest {BASE}": _nearest, f"to {BASE} at random, asked {TIMES} times": _random},
    answer="a count with Laplace noise, everybody else known",
    promise="epsilon for the one count, whatever one person answers (replace)",
    private=against_everybody_known,
    bound=best_guess,
    example=_example,
    lesson=(
        "Rounding is not noise. Where the rounded value flips, it reveals one person, and an attacker can find such "
        "places."
    ),
    rounds=1000,
)
