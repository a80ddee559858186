"""Broken controls: mechanisms that claim epsilon = 1 wrongly, each with neighbours that reveal it.

An auditor is only worth trusting if it catches these on every run. They are classic mistakes from papers and
textbooks; `peers.py` has the ones found in released software. Everything but the deliberate mistake is done right:
integer noise, exact sums.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

from lapwing.adversary.auditor import Pair
from lapwing.adversary.observations import Release
from lapwing.noise import Entropy, Recorded, discrete_laplace
from lapwing.privacy import ApproxDP, PureDP, Relation


@dataclass(frozen=True, slots=True)
class Control:
    """A mechanism that claims epsilon = 1 wrongly. **Not private.**

    Attributes:
        name: What it is called.
        release: The mechanism: a function of the data and of entropy.
        delta: The δ of the claim; 0 for a claim of pure privacy.

    >>> from lapwing.adversary import CONTROLS, audit
    >>> reused = next(control for control in CONTROLS if control.name == "count with a reused seed")
    >>> audit(reused, reused.pair, samples=2000).verdict
    'caught'
    """

    name: str
    lesson: str
    """What is wrong with it."""
    release: Release
    pair: Pair
    """Neighbours that give it away."""
    shows: float
    """The epsilon that an audit with 20,000 samples shows on this pair, on average."""
    spread: float = 0.0
    """The standard deviation of that."""
    delta: float = 0.0

    def __str__(self) -> str:
        return self.name

    @property
    def relation(self) -> Relation:
        """The relation for which the claim is made."""
        return self.pair.relation

    def privacy_loss(self) -> PureDP | ApproxDP:
        """The false claim.

        Returns:
            The loss that the broken mechanism claims, and does not keep.

        >>> from lapwing.adversary import CONTROLS
        >>> print(CONTROLS[0].privacy_loss())
        ε = 1 (add_remove, per person)
        """
        return ApproxDP(1, self.delta, relation=self.relation) if self.delta else PureDP(1, relation=self.relation)


def control(pair: Pair, shows: float, spread: float = 0.0, delta: float = 0.0) -> Callable[[Release], Control]:
    """Make a control of a function; its name and its docstring become the name and the lesson."""

    def make(release: Release) -> Control:
        lesson = " ".join((release.__doc__ or "").split())
        return Control(release.__name__.replace("_", " "), lesson, release, pair, shows, spread, delta)

    return make


CEILING = 7.09
"""What 20,000 samples show of an event that always happens on one data set and never on the other."""
THOUSAND = 1000
"""Steps per unit where a mistake shows best in fine-grained answers."""
SWAP = (0,) * 20 + (1,) * 20
SEED = [int.from_bytes(hashlib.sha256(b"seed 42, word %d" % word).digest()[:8], "big") for word in range(64)]


@control(Pair((-500, 500), (500, -500), note="two answers pass each other, in thousandths"), shows=5.53, spread=0.02)
def sparse_vector_without_query_noise(answers: Sequence[int], entropy: Entropy) -> list[bool]:
    """Noise on the threshold alone: which answers lie above a common threshold tells their order exactly.

    Lyu, Su and Li 2017, Algorithm 5 (after Stoddard et al. 2014).
    """
    threshold = discrete_laplace(2 * THOUSAND, entropy=entropy)
    return [answer >= threshold for answer in answers]


@control(Pair(SWAP, SWAP[::-1], note="twenty answers one higher, twenty one lower"), shows=4.0, spread=0.25)
def sparse_vector_without_cutoff(answers: Sequence[int], entropy: Entropy) -> list[bool]:
    """It never stops: only answers below the threshold come free, every one above it costs again.

    Lyu, Su and Li 2017, Algorithm 6 (after Chen et al. 2015).
    """
    threshold = discrete_laplace(2, entropy=entropy)
    noise = discrete_laplace(2, size=len(answers), entropy=entropy).tolist()
    return [answer + wobble >= threshold for answer, wobble in zip(answers, noise, strict=True)]


@control(Pair((0,) * 4, (1,) * 4, note="one person who counts in four groups"), shows=3.48, spread=0.11)
def noisy_max_that_returns_the_value(counts: Sequence[int], entropy: Entropy) -> int:
    """Reporting the largest noisy count itself: its law changes with every count, not only with the winner's."""
    return max(count + discrete_laplace(1, entropy=entropy) for count in counts)


@control(Pair((1, 0), (0, 1), "replace", note="one person moves to the other bin"), shows=1.84, spread=0.03)
def histogram_with_sensitivity_one_under_replace(counts: Sequence[int], entropy: Entropy) -> tuple[int, ...]:
    """Under replace a person changes two bins, so the noise has to be twice as wide."""
    return tuple(count + discrete_laplace(1, entropy=entropy) for count in counts)


@control(Pair((1, 1, 1), (1, 1, 1, 10**6), note="one value far outside the bounds"), shows=CEILING)
def unclamped_sum(values: Sequence[int], entropy: Entropy) -> int:
    """The noise is made for values in [0, 1], but nobody clamps them."""
    return sum(values) + discrete_laplace(1, entropy=entropy)


@control(Pair((7, 7, 7), (7, 7, 7, 10**6), note="all values equal, and one outlier"), shows=CEILING)
def bounds_from_data(values: Sequence[int], entropy: Entropy) -> int:
    """The noise is as wide as the data: the width of the noise tells whether the outlier is there."""
    width = max(values) - min(values)
    return sum(values) + (discrete_laplace(width, entropy=entropy) if width else 0)


@control(Pair((1,), (1, 0), note="one person, and two"), shows=2.4, spread=0.22)
def mean_with_the_true_number_of_people(values: Sequence[int], entropy: Entropy) -> Fraction:
    """A mean of values in [0, 1] with noise of width 1/n: under add_remove n is secret, and the noise tells it."""
    n = len(values)
    return Fraction(sum(values), n) + Fraction(discrete_laplace(Fraction(THOUSAND, n), entropy=entropy), THOUSAND)


@control(Pair((1, 1), (1, 1, 1), note="two people, and three"), shows=CEILING)
def count_with_a_reused_seed(values: Sequence[Any], entropy: Entropy) -> int:
    """The generator is seeded anew for every release: the noise is a constant, and can be subtracted."""
    return len(values) + discrete_laplace(1, entropy=Recorded(SEED, 64))


@control(Pair(("a",) * 3, ("a",) * 3 + ("z",), note="one person with a rare key"), shows=CEILING, delta=1e-3)
def keys_from_the_data(keys: Sequence[str], entropy: Entropy) -> list[tuple[str, int]]:
    """Every count has its noise, but which keys are answered is read from the data: a new key tells of its owner."""
    return [(key, keys.count(key) + discrete_laplace(1, entropy=entropy)) for key in sorted(set(keys))]


@control(Pair((0, 400) * 4, (1, 401) * 4, note="one person more in all steps of one window"), shows=2.48, spread=0.13)
def w_event_without_a_memory(counts: Sequence[int], entropy: Entropy) -> list[int]:
    """A window of eight steps, and every release spends half of epsilon, whatever the releases before it have spent.

    Kellaris et al. 2014 give a release half of what is left.
    """
    answers, last = [], 0
    for count in counts:
        if abs(count - last) + discrete_laplace(16, entropy=entropy) > 2:
            last = count + discrete_laplace(2, entropy=entropy)
        answers.append(last)
    return answers


@control(
    Pair((4, 2, 3), (5, 2, 3), note="one person more, in a town, its region and the country"), shows=2.72, spread=0.04
)
def tree_whose_levels_are_paid_once(towns: Sequence[int], entropy: Entropy) -> tuple[int, ...]:
    """The whole epsilon for each level of a tree: a person is on every one of them, and the losses add up."""
    exact = (sum(towns), towns[0] + towns[1], *towns)
    return tuple(count + discrete_laplace(1, entropy=entropy) for count in exact)


@control(Pair((0,) * 8, (1,) + (0,) * 7, note="one event on the first of eight days"), shows=5.08, spread=0.15)
def daily_sums_with_fresh_noise(days: Sequence[int], entropy: Entropy) -> list[int]:
    """The sum so far, every day with new noise for one answer: an event is in all later sums and is paid for once."""
    return [total + discrete_laplace(1, entropy=entropy) for total in accumulate(days)]


@control(Pair((0,) * 8, (1,) + (0,) * 7, note="one event, in four nodes of a tree"), shows=3.57, spread=0.1)
def tree_that_pays_for_one_level(days: Sequence[int], entropy: Entropy) -> list[int]:
    """The sums of 1, 2, 4 and 8 days have the noise of one answer each, but an event is in one node of every level."""
    nodes = [days[start : start + size] for size in (1, 2, 4, 8) for start in range(0, 8, size)]
    return [sum(node) + discrete_laplace(1, entropy=entropy) for node in nodes]


CLASSICS: tuple[Control, ...] = (
    sparse_vector_without_query_noise,
    sparse_vector_without_cutoff,
    noisy_max_that_returns_the_value,
    histogram_with_sensitivity_one_under_replace,
    unclamped_sum,
    bounds_from_data,
    mean_with_the_true_number_of_people,
    count_with_a_reused_seed,
    keys_from_the_data,
    w_event_without_a_memory,
    daily_sums_with_fresh_noise,
    tree_that_pays_for_one_level,
    tree_whose_levels_are_paid_once,
)
