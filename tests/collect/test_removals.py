"""Intervals behind thresholds: they hold as often as they say, through the code that shuffles, and not without care."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cases import together
from chance import FALSE_ALARM
from scipy import stats
from thresholds import CASES, IN_FRAGMENTS, MISSES, Case, crowd_of

from lapwing.collect.drop_bounds import DropBounds, drop_bounds
from lapwing.collect.removals import Removal
from lapwing.crowd import BinaryResponse
from lapwing.crowd.intervals import exact_estimate
from lapwing.crowd.numeric import Piecewise, StochasticRounding
from lapwing.mechanisms.crowd_threshold import CrowdThreshold
from lapwing.noise import Reproducible

QUICK = (
    "kinds of eight bits, nearly all rare",
    "many words just at the threshold",
    "words as answers, most of them rare",
)


def judged(case: Case, runs: int) -> None:
    """Every answer by itself; and all at once, where one wrong interval of a run would do."""
    for name, wrong in case.missed(runs).items():
        chance = stats.binom.sf(int(wrong.max()) - 1, runs, MISSES)
        assert chance > FALSE_ALARM / 3 / len(wrong), (name, int(wrong.max()))


@pytest.mark.parametrize("name", QUICK)
def test_intervals_hold_as_often_as_they_say(name: str) -> None:
    judged(CASES[name], 60)


@pytest.mark.sweep
@pytest.mark.parametrize("name", CASES)
def test_intervals_hold_as_often_as_they_say_in_every_case(name: str) -> None:
    judged(CASES[name], 300)


@pytest.mark.parametrize("name", ["kinds of eight bits, nearly all rare", "words as answers, most of them rare"])
def test_intervals_that_forget_what_was_removed_are_wrong(name: str) -> None:
    """The control: what came through, with the average loss, as if nothing else had happened."""
    case, runs = CASES[name], 120
    wrong = np.zeros(len(case.labels), dtype=int)
    for seed in range(runs):
        removal, _ = case.run(seed)
        low, high = case.estimated(removal.restored).interval()
        share = np.array(case.shares) * removal.taken
        wrong += (share < low) | (share > high)
    assert stats.binom.sf(int(wrong.max()) - 1, runs, MISSES) < FALSE_ALARM


# ---------------------------------------------------------------- several reports of each person


def misses_in_fragments(case: Case, runs: int, *, care: bool) -> int:
    """How often the interval of the worst answer did not hold; without care, from what came through alone."""
    wrong = np.zeros(len(case.labels), dtype=int)
    for seed in range(runs):
        removal = case.run_in_fragments(seed)
        if not care:
            restored = removal.restored
            people = max(restored.n, case.each)  # in some runs nothing came through
            removal = Removal(case.crowd, people, 1, restored, case.protocol.empty(), case.each)
            removal = replace(removal, crowd=crowd_of("attribute"))  # as if nothing was removed by what it said
        estimates: Any = removal.estimate(case.estimated)
        low, high = estimates.interval()
        assert estimates.n == -(-removal.taken // case.each)
        assert ((low <= estimates.counts) & (estimates.counts <= high)).all()
        share = np.array(case.shares) * estimates.n
        wrong += (share < low) | (share > high)
    return int(wrong.max())


def test_intervals_of_fragments_include_what_was_removed() -> None:
    case, runs = IN_FRAGMENTS["words, most of them rare"], 60
    wrong = misses_in_fragments(case, runs, care=True)
    assert stats.binom.sf(wrong - 1, runs, MISSES) > FALSE_ALARM / len(case.labels)
    careless = misses_in_fragments(case, runs, care=False)
    assert stats.binom.sf(careless - 1, runs, MISSES) < FALSE_ALARM


@pytest.mark.sweep
@pytest.mark.parametrize("name", IN_FRAGMENTS)
def test_intervals_of_fragments_include_what_was_removed_in_every_case(name: str) -> None:
    case, runs = IN_FRAGMENTS[name], 300
    wrong = misses_in_fragments(case, runs, care=True)
    assert stats.binom.sf(wrong - 1, runs, MISSES) > FALSE_ALARM / len(case.labels)


# ---------------------------------------------------------------- bounds on what was dropped

MECHANISMS = [
    CrowdThreshold(threshold=threshold, mean_drop=mean, sigma=sigma, delta=0.1)
    for threshold, mean, sigma in ((20, 10, 2), (1, 4, 2), (3, 4, 1), (50, 40, 12))
]


def law_of(bounds: DropBounds) -> list[tuple[int, float]]:
    return [
        (bounds.mean + int(offset), float(chance))
        for offset, chance in zip(bounds.offsets, bounds.chances, strict=True)
    ]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: f"{m.threshold}, {m.mean_drop}, {m.sigma}")
def test_no_size_of_a_crowd_makes_the_bound_false_more_often(mechanism: CrowdThreshold) -> None:
    """What the proof multiplies, for every size: the mean of e^(−rate·lost)/φ where something came through."""
    bounds = drop_bounds(mechanism)
    law, usable = law_of(bounds), bounds._usable()
    assert usable.any()
    for rate in bounds.rates[usable]:
        factor = sum(chance * math.exp(-rate * drop) for drop, chance in law)
        for size in range(mechanism.threshold + mechanism.mean_drop + 8 * int(mechanism.sigma)):
            mean = sum(
                chance
                * (math.exp(-rate * drop) / factor if size - drop >= mechanism.threshold else math.exp(-rate * size))
                for drop, chance in law
            )
            assert mean <= 1 + 1e-9


def test_a_rate_that_is_too_steep_for_a_small_threshold_is_not_used() -> None:
    bounds = drop_bounds(CrowdThreshold(threshold=1, mean_drop=40, sigma=12, delta=0.1))
    assert 0 < bounds._usable().sum() < len(bounds.rates)


def test_the_least_that_crowds_lost_is_close_to_what_they_lose() -> None:
    bounds, miss = drop_bounds(MECHANISMS[0]), 0.0025
    for crowds in (1, 10, 1_000, 100_000):
        [least] = bounds.least(np.array([crowds]), miss)
        deviation = 2 * math.sqrt(crowds)
        assert crowds * 10 - 5.5 * deviation <= least <= crowds * 10 - 2.8 * deviation
        assert crowds * 10 + 2.8 * deviation <= bounds.most(crowds, miss) <= crowds * 10 + 4 * deviation
    assert bounds.least(np.array([0]), miss) == 0


@together("miss", [0.2, 0.01, 1e-6])
def test_the_ends_of_one_draw_are_exact(miss: float) -> None:
    for mechanism in MECHANISMS:
        bounds = drop_bounds(mechanism)
        law, low, high = law_of(bounds), bounds.least_of_one(miss), bounds.most_of_one(miss)
        assert sum(chance for drop, chance in law if drop < low) <= miss < sum(c for drop, c in law if drop <= low)
        assert sum(c for drop, c in law if drop > high) <= miss + 1e-12
        assert sum(c for drop, c in law if drop >= high) > miss


# ---------------------------------------------------------------- means, and answers that are looked for in part


def test_the_interval_of_a_mean_holds_and_grows_with_what_is_missing() -> None:
    for protocol in (StochasticRounding.from_epsilon(2, bounds=(0, 10)), Piecewise.from_epsilon(2, bounds=(0, 10))):
        counts = protocol.absorb(None, protocol.randomize([8] * 900, Reproducible(1)))
        nothing, widths = protocol.empty(), []
        for source, taken in (("attribute", 900), ("attribute", 1_000), ("attribute", 1_800)):
            removal = Removal(crowd_of(source), taken, 1, counts, nothing)
            mean: Any = removal.estimate(lambda counts, protocol=protocol: exact_estimate(protocol, counts))
            low, high = mean.interval()
            assert low < 8 * 900 / taken < high + 1e-9
            assert low < (8 * 900 + 10 * (taken - 900)) / taken < high
            widths.append(high - low)
        assert widths[0] < widths[1] < widths[2]


def test_the_largest_counts_keep_their_intervals() -> None:
    removal, _ = CASES["answers"].run(1)
    estimates: Any = removal.estimate(CASES["answers"].estimated)
    low, high = estimates.interval()
    order = np.argsort(-estimates.counts, kind="stable")[:3]
    assert np.array_equal(estimates.top(3).interval()[0], low[order])
    assert np.array_equal(estimates.top(3).interval()[1], high[order])


def test_without_removals_an_interval_is_hardly_wider_than_without_thresholds() -> None:
    protocol = BinaryResponse.from_epsilon(1)
    counts = protocol.absorb(None, protocol.randomize([True] * 5_000 + [False] * 5_000, Reproducible(2)))
    removal = Removal(crowd_of("attribute"), 10_000, 1, counts, protocol.empty())
    low, high = (ends[0] for ends in removal.estimate(lambda state: exact_estimate(protocol, state)).interval())
    least, most = (ends[0] for ends in exact_estimate(protocol, counts).interval())
    assert 1 <= (high - low) / (most - least) < 1.05
