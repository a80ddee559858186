"""Neighbours for auditing each mechanism: pairs on which it loses as much as it may, or nearly so.

A contract test audits each of them and fails when a mechanism has none. Epsilons lie where an audit can see: around 1
to 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from lapwing.adversary.auditor import Pair
from lapwing.mechanisms import (
    AboveThreshold,
    BinaryTree,
    BudgetAbsorption,
    BudgetDistribution,
    Count,
    CrossedHierarchy,
    CrowdThreshold,
    DummyCrowds,
    DummyReports,
    Exponential,
    Gaussian,
    Hierarchy,
    Histogram,
    KaryResponse,
    KeySelection,
    Laplace,
    Maximum,
    Mean,
    Median,
    NoisyMax,
    OneTimePad,
    PermuteAndFlip,
    ProposeTestRelease,
    Quantile,
    RandomizedResponse,
    SampleAndAggregate,
    SignedTree,
    SmoothMedian,
    SparseVector,
    SquareRootCounter,
    StableMedian,
    Sum,
    Tops,
    Tree,
    UniformBudget,
)
from lapwing.mechanisms.mechanism import Mechanism
from lapwing.privacy import ApproxDP, Loss, Relation

DELTA = 0.01
"""Large enough for an audit to see what a delta permits."""
NAN = math.nan
SLOW, FAIR = 2_000, 6_000
"""Samples for releases that take milliseconds, and for arrays."""


@dataclass(frozen=True, slots=True)
class Witness:
    """A mechanism, two neighbours, and the claim that they test.

    Args:
        mechanism: The mechanism to audit.
        pair: Neighbours on which it loses as much as it may, or nearly so.
        claim: The loss that it states for such a pair.

    >>> from lapwing.adversary import all_witnesses, audit
    >>> witness = all_witnesses()[0]
    >>> audit(witness.mechanism, witness.pair, samples=2000, confidence=0.9999999).verdict
    'not caught'
    """

    mechanism: Mechanism
    pair: Pair
    claim: Loss
    delta: float | None = None
    """At which delta to read a claim that is a curve."""
    samples: int = 20_000
    """How many releases are worth their time."""

    def __str__(self) -> str:
        return f"{type(self.mechanism).__name__}: {self.pair}"


@cache
def all_witnesses() -> tuple[Witness, ...]:
    """Every witness, of every mechanism.

    Returns:
        The witnesses. Each mechanism has one or more.

    >>> print(all_witnesses()[0])
    Laplace: a count of 0, and of 1
    """
    families = (
        _noise, _totals, _coins, _selections, _streams, _counters, _windows, _cut_streams, _quantiles, _keys,
        _crowds, _stable, _trees,
    )  # fmt: skip
    return tuple(witness for family in families for witness in family())


def _witness(mechanism: Mechanism, first: Any, second: Any, note: str, **options: Any) -> Witness:
    claim = options.pop("claim", None) or mechanism.privacy_loss()
    return Witness(mechanism, Pair(first, second, claim.relation, note), claim, **options)


def _noise() -> Iterator[Witness]:
    import numpy as np

    yield _witness(Laplace(epsilon=1, sensitivity=1), 0, 1, "a count of 0, and of 1")
    yield _witness(Laplace(epsilon=1, sensitivity=1), NAN, 1.0, "not a number (NaN), and 1")
    yield _witness(Laplace(epsilon=1, sensitivity=1.5, granularity=1), 0.49, 1.99, "rounded away from each other")
    yield _witness(Laplace(epsilon=1, sensitivity=0.1), 0.0, 0.1, "tenths, on a grid of powers of two")
    vector = Laplace(epsilon=2, sensitivity=4, dimensions=4, on_grid=True)
    yield _witness(vector, [0] * 4, [1] * 4, "a vector of counts, all one higher")
    yield _witness(
        vector, np.zeros(4, dtype=np.int64), np.ones(4, dtype=np.int64), "the same as an array", samples=FAIR
    )
    rounding = Laplace(epsilon=2, sensitivity=1, dimensions=4, granularity=1)
    yield _witness(rounding, [0.25] * 4, [0.5] * 4, "a vector that rounding moves by more than its sensitivity")
    gaussian = Gaussian(sigma=1, sensitivity=1)
    exact = ApproxDP(gaussian.epsilon_at(DELTA), DELTA)
    yield _witness(gaussian, 0, 1, "a count of 0, and of 1, against the exact delta", claim=exact)
    yield _witness(gaussian, 0, 1, "a count of 0, and of 1, against rho", delta=DELTA)
    plane = Gaussian(sigma=2, sensitivity=2, dimensions=4, on_grid=True)
    yield _witness(plane, [0] * 4, [1] * 4, "a vector of counts, all one higher", delta=DELTA)


def _totals() -> Iterator[Witness]:
    import numpy as np

    relations: tuple[Relation, Relation] = ("add_remove", "replace")
    yield _witness(Count(epsilon=1), [True] * 3, [True] * 4, "three people, and four")
    yield _witness(Count(epsilon=1, relation="replace"), [True, True], [True, NAN], "an answer that goes missing")
    keys = Histogram(epsilon=2, keys=["a", "b"], everything_else=True)
    yield _witness(keys, ["a"], ["a", "z"], "one person more, with an unknown key")
    swap = Histogram(epsilon=2, keys=["a", "b"], relation="replace")
    yield _witness(swap, ["a", "a"], ["a", "b"], "one person moves from a to b")
    bins = Histogram(epsilon=2, edges=[0, 10, 20], relation="replace")
    yield _witness(bins, [9.99], [20.0], "from the end of one bin to the end of the other")
    for relation in relations:
        total = Sum(epsilon=1, bounds=(-1, 3), granularity=1, relation=relation)
        after = [2, -math.inf, 3] if relation == "add_remove" else [2, 10**400]
        yield _witness(total, [2, -math.inf], after, "one more at the upper bound")
        yield _witness(
            total, [-5.0, 1e308], [NAN, 1e308] if relation == "replace" else [1e308], "one at the lower bound"
        )
        mean = Mean(epsilon=2, bounds=(0, 10), granularity=1, relation=relation)
        yield _witness(mean, [0], [0, 10] if relation == "add_remove" else [10], "the mean of few people")
    public = Mean(epsilon=1, bounds=(0, 10), granularity=1, relation="replace", n=2)
    yield _witness(
        public, np.array([0.0, 5.0]), np.array([10.0, 5.0]), "the mean of a public number of people", samples=FAIR
    )
    fine = Sum(epsilon=1, bounds=(0, 0.1))
    yield _witness(fine, np.array([0.03]), np.array([0.03, 0.1]), "the sum of an array on a fine grid", samples=FAIR)
    yield _witness(Maximum(epsilon=1, bounds=(0, 10), granularity=1), [0, 0], [0, 0, 99], "a new maximum")


def _coins() -> Iterator[Witness]:
    yield _witness(OneTimePad(), True, False, "yes, and no")
    coins = RandomizedResponse.from_coins(Fraction(1, 2))
    yield _witness(coins, True, False, "yes, and no, with two coins")
    yield _witness(RandomizedResponse.from_coins(0.5, 0.8), True, None, "yes, and no answer, with uneven coins")
    lies = RandomizedResponse.from_epsilon(1)
    yield _witness(lies, [True] * 3, [True, False, True], "three answers, one changed")
    poll = KaryResponse.from_epsilon(1, categories=["bus", "bike", "car"])
    yield _witness(poll, "bus", "bike", "bus, and bike")
    yield _witness(poll, "car", "balloon", "a category, and none")
    yield _witness(KaryResponse.from_epsilon(2, categories=10), [0, 3], [9, 3], "two answers, one changed")


def _selections() -> Iterator[Witness]:
    import numpy as np

    for kind in (Exponential, PermuteAndFlip, NoisyMax):
        general = kind(epsilon=2, sensitivity=1, candidates=2)
        yield _witness(general, [1, 1], [0, 2], "a vote changes sides")
        yield _witness(general, np.array([3.0, 0.0]), np.array([2.0, 1.0]), "the runner-up comes nearer", samples=FAIR)
        monotone = kind(epsilon=2, sensitivity=1, candidates=["a", "b", "c"], monotone=True)
        yield _witness(monotone, [0, 0, 0], [1, 0, 0], "one vote more")
        yield _witness(monotone, [2, 0, 0], [2, 1, 1], "one voter more, for all but the first")
        coarse = kind(epsilon=2, sensitivity=1.5, candidates=2, granularity=1, relation="replace")
        yield _witness(coarse, [0.49, 1.5], [1.99, 0.0], "scores rounded away from each other")
    fixed = Exponential(epsilon=1, sensitivity=1, candidates=["yes", "no"], fixed_normaliser=True)
    yield _witness(fixed, [1, 0], [0, 1], "randomized response")


def _streams() -> Iterator[Witness]:
    import numpy as np

    first = AboveThreshold(epsilon=4, sensitivity=1, threshold=0)
    yield _witness(first, [-1] * 5 + [0], [0] * 5 + [-1], "the last answer falls, the others rise")
    monotone = AboveThreshold(epsilon=4, sensitivity=1, threshold=0, monotone=True)
    yield _witness(monotone, [-1] * 5 + [0], [0] * 6, "the last answer stays, the others rise")
    several = SparseVector(epsilon=4, sensitivity=1, threshold=0, cutoff=2)
    high, low = [-1] * 3 + [0] * 2, [0] * 3 + [-1] * 2
    yield _witness(several, high, low, "three answers rise, two fall")
    yield _witness(several, np.array(high), np.array(low), "three answers of an array rise, two fall", samples=FAIR)
    counts = SparseVector(epsilon=4, sensitivity=1, threshold=0, cutoff=3, monotone=True)
    yield _witness(counts, [-1] * 5 + [0] * 3, [0] * 8, "three answers stay, the others rise")


def _counters() -> Iterator[Witness]:
    import numpy as np

    root = SquareRootCounter.for_rho(0.5, steps=6, sensitivity=1, bins=2)
    yield _witness(
        root, [0] * 6, [1] + [0] * 5, "one event in the first step, whose column is the longest", delta=DELTA
    )
    yield _witness(root, [0] * 6, [0, 0, 0, 1, 0, 0], "one event in a later step", delta=DELTA)
    twice = SquareRootCounter.for_rho(0.5, steps=6, sensitivity=1, active_steps=2, separation=3, bins=2)
    yield _witness(twice, [0] * 6, [1, 0, 0, 1, 0, 0], "a person in two steps that lie apart", delta=DELTA)
    plane = SquareRootCounter.for_rho(0.5, steps=40, sensitivity=2, width=4, bins=4)
    nobody, somebody = np.zeros((40, 4), dtype=np.int64), np.zeros((40, 4), dtype=np.int64)
    somebody[0] = 1
    yield _witness(plane, nobody, somebody, "an event that counts in four sums", delta=DELTA, samples=SLOW)
    signed = SignedTree(epsilon=2, steps=5, sensitivity=1, arity=3)
    yield _witness(signed, [0] * 5, [1] + [0] * 4, "one event in the first step, which is in a node of every level")
    yield _witness(signed, [0] * 5, [0, 0, 0, 1, 0], "one event in a node that is subtracted before it comes")
    for tree in (BinaryTree.for_epsilon(2, steps=4, sensitivity=1), BinaryTree.for_rho(0.5, steps=4, sensitivity=1)):
        gaussian = DELTA if tree.noise == "gaussian" else None
        yield _witness(tree, [0] * 4, [1] + [0] * 3, "one event in the first step", delta=gaussian)


def _windows() -> Iterator[Witness]:
    yield _witness(UniformBudget(epsilon=2, window=2), [0, 0, 0], [0, 1, 1], "one person more in two steps")
    for kind in (BudgetDistribution, BudgetAbsorption):
        every = kind(epsilon=4, window=2)
        yield _witness(every, [4, 4, 4], [4, 5, 5], "one person more in two steps that are released", samples=FAIR)
        pair = kind(epsilon=4, window=2, width=2, relation="replace", sensitivity=2)
        yield _witness(
            pair, [[9, 0], [0, 9]], [[8, 1], [1, 8]], "one person moves to the other group, twice", samples=FAIR
        )
        first = kind(epsilon=4, window=1)
        yield _witness(first, [1, 1], [1, 2], "one person more in one step", samples=FAIR)


def _cut_streams() -> Iterator[Witness]:
    relations: tuple[Relation, Relation] = ("add_remove", "replace")
    for relation in relations:
        stream = Tops(epsilon=2, bound=4, steps=2, first=1, block=1, granularity=1, relation=relation)
        before, after = ([], [9]) if relation == "add_remove" else ([0], [4])
        yield _witness(stream, [[4] * 9, before], [[4] * 9, after], f"after the first step, {relation}", samples=FAIR)
        yield _witness(
            stream, [[0, *before], [4] * 9], [[0, *after], [4] * 9], f"in the first step, {relation}", samples=FAIR
        )


def _quantiles() -> Iterator[Witness]:
    import numpy as np

    # Many points to the left of the values, few to the right: one more value on the right moves their weights apart.
    median = Median(epsilon=2, bounds=(0, 1020), granularity=1)
    yield _witness(median, [1000] * 2, [1000] * 2 + [9999], "one more beyond the upper bound")
    yield _witness(Median(epsilon=4, bounds=(0, 1), granularity=1), [], [0.2], "nobody, and one at the lower bound")
    swapped = Median(epsilon=4, bounds=(0, 1), granularity=1, relation="replace")
    yield _witness(swapped, [0, 1], [9, 1], "from one bound to beyond the other")
    yield _witness(swapped, [0, 0, 1], [0, None, 1], "one value goes missing")
    high = Quantile(epsilon=3, bounds=(0, 10_020), granularity=1, q=0.75)
    yield _witness(high, [10_000] * 2, [10_000] * 2 + [10_020], "one more at the top, for the upper quartile")
    below, above = np.array([1e4] * 2), np.array([1e4] * 2 + [math.pi * 1e4])
    yield _witness(high, below, above, "one more at the top, as an array", samples=FAIR)
    ends = [0.0] * 150 + [1000.0] * 150
    yield _witness(median, np.array(ends), np.array([*ends, 1020.0]), "one more at the top of many", samples=SLOW)


def _keys() -> Iterator[Witness]:
    import numpy as np

    single = KeySelection(epsilon=2, delta=DELTA)
    yield _witness(single, [0], [1], "a key nobody has, and one that one person has")
    yield _witness(single, [2], [3], "one person more, where half of the keys are shown")
    yield _witness(single, np.array([2]), np.array([3]), "the same as an array", samples=FAIR)
    several = KeySelection(epsilon=4, delta=DELTA, max_groups_per_unit=2)
    yield _witness(several, [3, 3], [4, 4], "one person more, in two groups")
    swapped = KeySelection(epsilon=4, delta=DELTA, relation="replace")
    yield _witness(swapped, [3, 4], [4, 3], "one person moves from one key to the other")


def _crowds() -> Iterator[Witness]:
    entering = CrowdThreshold(threshold=2, mean_drop=4, sigma=2, delta=0.05)
    yield _witness(entering, [12], [13], "one report more in a crowd that is seen")
    yield _witness(entering, [6], [7], "one report more in a crowd at the threshold")
    moving = CrowdThreshold(threshold=2, mean_drop=4, sigma=2, delta=0.05, relation="replace")
    yield _witness(moving, [12, 12], [11, 13], "one report leaves one crowd for the other")
    reports = DummyReports(epsilon=1, delta=DELTA)
    yield _witness(reports, [0, 5], [1, 5], "one report more in an empty crowd")
    swapped = DummyReports(epsilon=2, delta=DELTA, relation="replace")
    yield _witness(swapped, [3, 5], [2, 6], "one report moves from one crowd to the other")
    crowds = DummyCrowds(epsilon=2, delta=DELTA, largest=3)
    yield _witness(crowds, [2], [3], "a crowd of two becomes one of three")
    many = DummyCrowds(epsilon=4, delta=DELTA, largest=3, relation="replace")
    yield _witness(many, [2, 2], [1, 3], "two crowds of two become one of one and one of three")


def _stable() -> Iterator[Witness]:
    smooth = SmoothMedian(epsilon=4, delta=DELTA, bounds=(0, 8), granularity=1)
    yield _witness(smooth, [0, 8, 8], [0, 8], "across the gap in the middle", samples=SLOW)
    yield _witness(smooth, [4] * 2, [4] * 3, "the noise becomes narrower", samples=SLOW)
    swapped = SmoothMedian(epsilon=4, delta=DELTA, bounds=(0, 8), granularity=1, relation="replace")
    yield _witness(swapped, [0, 0, 0, 8, 8], [0, 0, 8, 8, 8], "across the gap in the middle", samples=SLOW)
    tested = StableMedian(epsilon=4, delta=DELTA, bound=2, bounds=(0, 8), granularity=1)
    yield _witness(tested, [3] * 3 + [5] * 3, [3] * 3 + [5] * 4, "a median that moves by the bound and passes the test")
    moved = StableMedian(epsilon=4, delta=DELTA, bound=2, bounds=(0, 8), granularity=1, relation="replace")
    yield _witness(moved, [3] * 4 + [5] * 4, [3] * 3 + [5] * 5, "a median that moves by the bound")
    proposed = ProposeTestRelease(epsilon=4, delta=DELTA, bound=1, function=len, distance=len)
    yield _witness(proposed, [0] * 2, [0] * 3, "as many people as the test asks for, and one more")
    averaged = SampleAndAggregate(epsilon=1, function=max, bounds=(0, 10), granularity=1, blocks=2)
    yield _witness(averaged, [0], [0, 10], "blocks that may be empty")
    ranked = SampleAndAggregate(
        epsilon=4, function=max, bounds=(0, 1), granularity=1, blocks=2, aggregate="median", relation="replace"
    )
    yield _witness(ranked, [0, 1], [1, 1], "one block's output crosses the median")


def _trees() -> Iterator[Witness]:
    small = Tree([[2], [2, 0]])
    plain = Hierarchy(tree=small, epsilon=2, weights=[1, 1, 2], integers=False)
    yield _witness(plain, [3, 1, 2], [4, 1, 2], "one person more, on every level", samples=SLOW)
    whole = Hierarchy(tree=small, epsilon=2, weights=[1, 1, 1])
    yield _witness(whole, [0, 0, 0], [1, 0, 0], "the first person, as whole numbers of at least 0", samples=SLOW)
    published = Hierarchy(
        tree=Tree([[2], [2, 2]]), epsilon=4, weights="leaves", sensitivity=2, invariants={(0, 0): 4}, relation="replace"
    )
    yield _witness(published, [2, 1, 1, 0], [1, 2, 1, 0], "one person moves below a published total", samples=SLOW)
    rounded = Hierarchy(tree=Tree.over(4), rho=2, weights="ranges")
    yield _witness(
        rounded, [3, 1, 2, 0], [3, 1, 2, 1], "one person more, with Gaussian noise", samples=SLOW, delta=DELTA
    )
    towns, weeks = Tree([[2]]), Tree([[2]])
    crossed = CrossedHierarchy(trees=(towns, weeks), epsilon=4, weights=([1, 1], [1, 1]))
    yield _witness(crossed, [[0, 0], [0, 0]], [[1, 0], [0, 0]], "the first case, in four tables", samples=SLOW)
    real = CrossedHierarchy(trees=(towns, weeks), rho=2, integers=False)
    yield _witness(
        real, [[3, 1], [0, 2]], [[3, 1], [0, 3]], "one case more, with Gaussian noise", samples=SLOW, delta=DELTA
    )
