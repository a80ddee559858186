"""Sub-sampling: a rare person in the sample is exposed, and with many samples everybody is in one of them.

Ada is the only lighthouse keeper. Whenever she is in the sample, two questions reveal whether she is ill: how many
keepers there are, and how many of them are ill. If each question gets a fresh sample, the attacker asks until she is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from lapwing.adversary.attacks.attack import Attack, Conclusion, Rounds
from lapwing.adversary.attacks.bounds import best_guess
from lapwing.adversary.attacks.rounding import against_everybody_known
from lapwing.anonymity.subsampling import SubSample
from lapwing.anonymity.table import Columns, named
from lapwing.noise import Entropy, bernoulli

SHARE = Fraction(1, 10)
TIMES = 50
PEOPLE = 40


def exposed(samples: Sequence[Columns], *, rare: str, sensitive: str) -> Conclusion | None:
    """Find the sensitive value of a person who is the only one with a rare attribute, in the first sample with them.

    Args:
        samples: Published samples, each as columns by name.
        rare: The column that is true for this person alone.
        sensitive: The column that the attacker wants to know.

    Returns:
        The person's value; None if no sample contains them.

    >>> samples = [{"keeper": [0, 0], "ill": [1, 0]}, {"keeper": [0, 1], "ill": [0, 1]}]
    >>> exposed(samples, rare="keeper", sensitive="ill").guess
    1
    """
    for number, sample in enumerate(samples, start=1):
        named(sample, rare=rare), named(sample, sensitive=sensitive)
        values = [value for flag, value in zip(sample[rare], sample[sensitive], strict=True) if flag]
        if values:
            because = f"Sample {number} contains the only {rare}."
            return Conclusion(about=f"the only {rare}", guess=values[0], sure=1, because=because)
    return None


def _play(rounds: int, entropy: Entropy, times: int, *, known_to_be_in: bool = False) -> Rounds:
    """One lighthouse keeper, whose illness is a fair coin; without her in a sample the attacker guesses that she is."""
    method = SubSample(share=SHARE)
    won: list[float] = []
    for _ in range(rounds):
        ill = [int(toss) for toss in bernoulli(Fraction(1, 2), PEOPLE, entropy)]
        table: Columns = {"keeper": [1] + [0] * (PEOPLE - 1), "ill": ill}
        learned, draws = None, 0
        while learned is None and (known_to_be_in or draws < times):
            learned, draws = exposed([method.draw(table, entropy)], rare="keeper", sensitive="ill"), draws + 1
        won.append(float((1 if learned is None else learned.guess) == ill[0]))
    return won


def _once(rounds: int, entropy: Entropy) -> Rounds:
    return _play(rounds, entropy, 1)


def _often(rounds: int, entropy: Entropy) -> Rounds:
    return _play(rounds, entropy, TIMES)


def _in_the_sample(rounds: int, entropy: Entropy) -> Rounds:
    """Only samples that she is in: she said so herself, or was seen at the study."""
    return _play(rounds, entropy, 1, known_to_be_in=True)


def _example(entropy: Entropy) -> Sequence[Conclusion]:
    ill = [int(toss) for toss in bernoulli(Fraction(1, 2), PEOPLE, entropy)]
    table: Columns = {"keeper": [1] + [0] * (PEOPLE - 1), "ill": ill}
    samples: list[Columns] = []
    while (learned := exposed(samples, rare="keeper", sensitive="ill")) is None:
        samples.append(SubSample(share=SHARE).draw(table, entropy))
    because = f"{learned.because} Each sample contains a tenth of the people."
    return [replace(learned, about="Ada, the only lighthouse keeper, is ill", because=because, truth=ill[0])]


SUBSAMPLING = Attack(
    name="subsampling",
    title="Sub-sampling: ask until the rare person is in the sample",
    secret="whether Ada, the only lighthouse keeper, is ill",
    source="Denning 1980 (random sample queries); Dwork and Roth 2014, section 1.1",
    weak={
        "one sample of a tenth": _once,
        f"{TIMES} samples of a tenth": _often,
        "one sample, known to hold Ada": _in_the_sample,
    },
    answer="a count with Laplace noise, everybody else known",
    promise="epsilon for the one count, whatever one person answers (replace)",
    private=against_everybody_known,
    bound=best_guess,
    example=_example,
    lesson="A sample protects only those who are not in it. Rare people need protection most and are found first.",
    rounds=1000,
)
