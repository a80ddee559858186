"""The same question again and again: fresh noise averages out.

The noise of one answer hides one person. The noise of many answers hides nobody, unless their epsilons are added up. It
helps to store the answer and repeat it, or to charge epsilon for every answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lapwing import checks
from lapwing.adversary.attacks.attack import Attack, Conclusion, Rounds, sure_of
from lapwing.adversary.attacks.bounds import best_guess
from lapwing.errors import InvalidParameter
from lapwing.mechanisms import Laplace
from lapwing.noise import Entropy, bernoulli, discrete_laplace

OTHERS = 42
"""How many others say yes; the attacker knows."""
EACH = 0.1
"""The epsilon of every answer where nobody adds them up."""
MOST_DRAWN = 1 << 20
"""Answers at a time."""


def average(answers: ArrayLike, *, low: float, high: float, scale: float, about: str = "the target") -> Conclusion:
    """Decide between two true values, from repeated answers that each have fresh Laplace noise.

    Both values are equally likely beforehand. Every answer y adds (|y − low| − |y − high|)/scale to the log odds.

    Args:
        answers: The noisy answers to the same question.
        low: The smaller of the two values that may be true.
        high: The larger of them.
        scale: The scale of the Laplace noise, which is public: sensitivity/epsilon.
        about: What the conclusion calls the target.

    Returns:
        The likelier value, and how sure the attacker is.

    Raises:
        InvalidParameter: If there is no answer, or one is missing or infinite.

    >>> print(average([40, 44, 43, 45, 42, 43], low=42, high=43, scale=2))
    the target: 43 (73.1% sure). 6 answers, 42.83 on average.
    """
    width, values = float(checks.positive(scale=scale)), np.asarray(answers, dtype=np.float64).ravel()
    if not len(values):
        raise InvalidParameter("answers", answers, "there is nothing to learn from", "Give one answer at least.")
    if not np.isfinite(values).all():
        raise InvalidParameter("answers", answers, "some are missing or infinite", "Leave them out.")
    odds = float(_log_odds(values, *map(float, checks.interval(values=(low, high))))) / width
    return Conclusion(
        about=about,
        guess=high if odds > 0 else low,
        sure=sure_of(odds),
        because=f"{len(values):,} answers, {values.mean():.4g} on average."
        if len(values) > 1
        else f"The answer is {values[0]:g}.",
    )


def _log_odds(answers: NDArray[Any], low: float, high: float) -> NDArray[np.float64]:
    """Of the higher value, times the scale of the noise: from each row of answers."""
    return np.asarray(np.sum(np.abs(answers - low) - np.abs(answers - high), axis=-1), dtype=np.float64)


def majority(times: int, epsilon: float) -> float:
    """The exact chance that averaging a count finds the right one of two neighbouring values.

    Discrete noise of scale 1/ε leaves odds of e^±ε after every answer. So an answer is a randomized response that is
    right with probability e^ε/(1 + e^ε), and the attacker follows the majority of the answers.

    Args:
        times: How many answers with fresh noise the attacker has.
        epsilon: The epsilon of each answer.

    Returns:
        A probability, from one half to 1.

    >>> round(majority(1, 0.1), 3), round(majority(1000, 0.1), 3)
    (0.525, 0.943)
    """
    from scipy.stats import binom

    law, half = binom(times, best_guess(epsilon)), times // 2
    return float(law.sf(half) + (law.pmf(half) / 2 if times % 2 == 0 else 0))


def asked_again(times: int, epsilon: float, rounds: int, entropy: Entropy) -> Rounds:
    """Ada's fair coin is added to a count, which is answered many times with fresh noise, at this epsilon each."""
    won: list[float] = []
    for begun in range(0, rounds, at_a_time := max(1, MOST_DRAWN // times)):
        secrets = bernoulli(Fraction(1, 2), min(at_a_time, rounds - begun), entropy)
        noise = discrete_laplace(1 / Fraction(epsilon), len(secrets) * times, entropy).reshape(len(secrets), times)
        odds = _log_odds(OTHERS + secrets[:, None] + noise, OTHERS, OTHERS + 1)
        won += ((odds > 0) == secrets).astype(float).tolist()
    return won


def stored(epsilon: float, rounds: int, entropy: Entropy) -> Rounds:
    """One answer with all of epsilon, said again whenever somebody asks: the average of them is that answer.

    Discrete noise of scale 1/ε on a count leaves odds of e^±ε exactly, so nobody's bound is tighter than this attack.
    """
    count = Laplace(epsilon=Fraction(epsilon), sensitivity=1)
    won = []
    for secret in bernoulli(Fraction(1, 2), rounds, entropy):
        kept = count.release(OTHERS + int(secret), entropy)
        learned = average([kept], low=OTHERS, high=OTHERS + 1, scale=1 / epsilon)
        won.append(float(learned.guess == OTHERS + secret))
    return won


def _example(entropy: Entropy) -> Sequence[Conclusion]:
    truth = OTHERS + int(bernoulli(Fraction(1, 2), entropy=entropy))
    cases: list[tuple[ArrayLike, float, str]] = []
    for times in (1, 100, 10_000):
        answers = truth + discrete_laplace(1 / Fraction(EACH), times, entropy)
        cases.append((answers, 1 / EACH, f"fresh noise, epsilon = {EACH:g} each"))
    kept = Laplace(epsilon=1, sensitivity=1).release(truth, entropy)
    cases.append(([kept], 1.0, "one stored answer, epsilon = 1, however often it is repeated"))
    return [
        replace(average(some, low=OTHERS, high=OTHERS + 1, scale=scale, about=f"smokers, {how}"), truth=truth)
        for some, scale, how in cases
    ]


AVERAGING = Attack(
    name="averaging",
    title="Averaging: the same question again and again, with fresh noise",
    secret=f"whether Ada smokes, like {OTHERS} others",
    source="Dwork and Roth 2014, section 3.5",
    weak={
        f"{times:,} answers, epsilon = {EACH:g} each, without a ledger": partial(asked_again, times, EACH)
        for times in (100, 1000, 10_000)
    },
    answer="one stored answer with Laplace noise, repeated every time",
    promise="epsilon for all answers together, whatever Ada answers (replace)",
    private=stored,
    bound=best_guess,
    example=_example,
    lesson="Fresh noise averages out. Repeat the stored answer, or charge epsilon for every new one.",
    rounds=1000,
)
