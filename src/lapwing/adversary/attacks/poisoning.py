"""Poisoning: fake reports distort the estimate of a local protocol. This is not an attack on privacy.

A fake report that is written without tossing the protocol's coins counts more than an honest one, since estimates
correct for coins that were never tossed (Cao, Jia and Gong 2021; Cheu, Smith and Ullman 2021). The smaller epsilon is,
the more it counts. For a curator a fake is one more answer, whatever epsilon is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from statistics import NormalDist
from typing import Any

from lapwing import checks
from lapwing.adversary.attacks.attack import Attack, Conclusion, Rounds
from lapwing.checks import Number
from lapwing.crowd import Answers, ClosedProtocol, Estimates, UnaryEncoding
from lapwing.crowd.fakes import maximal_gain
from lapwing.errors import InvalidParameter
from lapwing.mechanisms import Laplace
from lapwing.noise import Entropy

ANSWERS, HONEST, FAKES = 100, 1_900, 100
"""A public list of so many answers, equally popular among the honest; one report in twenty is a fake."""
TARGET = 0
COUNTED, EVERYBODY = HONEST // ANSWERS + FAKES, HONEST + FAKES
ONCE = COUNTED / EVERYBODY
"""The share of the target if each fake counts once."""


def poisoned_share(true: Number, fakes: Number, *, if_true: Number, if_other: Number) -> float:
    """What share of the target is found when this share of all reports are the loudest fakes: f + β·((1−q)/(p−q) − f).

    p and q are the chances that a bit is one if it is the truth's, and if not (Cao, Jia and Gong 2021).

    >>> q = 1 / (1 + math.exp(1))
    >>> round(poisoned_share(0.01, 0.05, if_true=0.5, if_other=q), 4)
    0.1677
    """
    share, loud = checks.share(true=true), checks.share(fakes=fakes)
    p, q = checks.probability(if_true=if_true), checks.probability(if_other=if_other)
    if not p > q:
        why = "must be less than if_true: no share can be found else"
        raise InvalidParameter("if_other", if_other, why, "Write if_true=0.5, if_other=0.25, for example.")
    return float(share + loud * ((1 - q) / (p - q) - share))


def poison(
    protocol: ClosedProtocol, honest: Any, target: Any, fakes: int, entropy: Entropy, *, confidence: float = 0.95
) -> Conclusion:
    """Estimate the share of an answer from honest reports and fake ones that all promote it.

    Args:
        protocol: A local protocol with a list of answers, such as `lapwing.crowd.UnaryEncoding`.
        honest: The answers of the honest people.
        target: The answer that the fakes promote.
        fakes: How many fake reports there are. Each is made to raise the target as much as one report can.
        entropy: Where the randomness of the reports comes from.
        confidence: The confidence of the interval.

    Returns:
        The share with its interval, for an analyst who does not know of the fakes. `sure` is its confidence.
            `truth` is the share among honest people.

    Raises:
        InvalidParameter: If nobody is honest, or the protocol does not estimate counts of answers.

    >>> from lapwing.adversary.attacks.attack import repeatable
    >>> from lapwing.crowd import UnaryEncoding
    >>> protocol = UnaryEncoding(domain=4, one_if_true=0.5, one_if_other=0.25)
    >>> conclusion = poison(protocol, [0, 1, 2, 3] * 2_500, 0, 1_000, repeatable("fakes"))
    >>> conclusion.truth, float(conclusion.guess.partition("%")[0]) > 40
    ('25.0%', True)
    """
    people = Answers.of(honest)
    if not len(people):
        raise InvalidParameter("honest", honest, "there is nobody to be drowned out", "Give one answer at least.")
    reports = protocol.randomize(people, entropy) + maximal_gain(protocol, [target], fakes, entropy)
    estimates = protocol.estimate(protocol.absorb(None, reports), confidence=confidence)
    if not isinstance(estimates, Estimates):
        why = "does not estimate counts of answers"
        raise InvalidParameter("protocol", type(protocol).__name__, why, "Take one with a domain, as UnaryEncoding.")
    place = list(estimates.labels).index(target)
    share, truth = float(estimates.shares[place]), sum(people.labels[i] == target for i in people.places) / len(people)
    around = (
        NormalDist().inv_cdf((1 + confidence) / 2) * float(estimates.population_standard_error[place]) / estimates.n
    )
    return Conclusion(
        about=f"the share of answer {target!r}",
        guess=f"{share:.1%} ± {around:.1%}",
        sure=confidence,
        because=f"The analyst believes this. {fakes:,} of {estimates.n:,} reports are fakes. Among honest people the "
        f"share is {truth:.1%}.",
        truth=f"{truth:.1%}",
    )


def encoding(epsilon: float, *, optimized: bool) -> UnaryEncoding:
    """Optimised or symmetric unary encoding (basic one-time RAPPOR), with the probabilities of the formulas."""
    q = 1 / (1 + math.exp(epsilon if optimized else epsilon / 2))
    return UnaryEncoding(domain=ANSWERS, one_if_true=Fraction(1, 2) if optimized else 1 - q, one_if_other=q)


def _local(make: Callable[[], UnaryEncoding], rounds: int, entropy: Entropy) -> Rounds:
    """The share found for the target, cut to 0 … 1."""
    protocol, honest = make(), Answers.counted(dict.fromkeys(range(ANSWERS), HONEST // ANSWERS))
    shares = []
    for _ in range(rounds):
        reports = protocol.randomize(honest, entropy) + maximal_gain(protocol, [TARGET], FAKES, entropy)
        share = float(protocol.estimate(protocol.absorb(None, reports)).shares[TARGET])
        shares.append(min(max(share, 0.0), 1.0))
    return shares


def _central(epsilon: float, rounds: int, entropy: Entropy) -> Rounds:
    """A curator counts all answers, fakes included; of each count one may be gone and another come (replace)."""
    count = Laplace(epsilon=Fraction(epsilon), sensitivity=2)
    return [min(max(count.release(COUNTED, entropy) / EVERYBODY, 0.0), 1.0) for _ in range(rounds)]


def _bound(epsilon: float) -> float:
    """Each fake moves a count by one at most, and the noise has the mean 0: (1 − β)·f + β on average.

    Cutting at 0 raises the mean a little: with a = e^(−ε/2) noise is −m or less with probability a^m/(1 + a), so a
    count of n is raised by a^(n + 1)/(1 − a²) on average. (Cutting at 1 lowers it.)
    """
    rate = epsilon / 2
    return ONCE + math.exp(-rate * (COUNTED + 1)) / -math.expm1(-2 * rate) / EVERYBODY


def _example(entropy: Entropy) -> Sequence[Conclusion]:
    honest = [place % ANSWERS for place in range(HONEST)]
    conclusions = {
        epsilon: poison(encoding(epsilon, optimized=True), honest, TARGET, FAKES, entropy)
        for epsilon in (0.5, 1.0, 4.0)
    }
    return [
        replace(conclusion, about=f"{conclusion.about}, epsilon = {epsilon:g}")
        for epsilon, conclusion in conclusions.items()
    ]


POISONING = Attack(
    name="poisoning",
    title="Poisoning: how much a fake report can change",
    secret=(
        f"nothing; {FAKES:,} fakes among {HONEST:,} honest people try to raise an answer that one person in {ANSWERS} "
        "gives"
    ),
    source="Cao, Jia and Gong 2021; Cheu, Smith and Ullman 2021",
    weak={
        f"{name} at epsilon = {epsilon:g}": partial(_local, partial(encoding, epsilon, optimized=optimized))
        for name, optimized in (("optimised unary encoding", True), ("RAPPOR", False))
        for epsilon in (0.5, 1.0, 4.0)
    },
    answer="a curator's counts with Laplace noise",
    promise="epsilon for the counts of all answers together, whatever one person answers (replace)",
    private=_central,
    bound=_bound,
    chance=1 / ANSWERS,
    example=_example,
    measured="share found for the target",
    lesson=(
        "Local differential privacy costs robustness: the less an honest report reveals, the more a fake report counts."
    ),
    blind="what is true",
    rounds=240,
)
