"""Intervals behind thresholds: they hold as often as they say, through the code that shuffles, and not without care."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import together
from chance import FALSE_ALARM
from scipy import stats

from lapwing.collect.crowds import Crowd
from lapwing.collect.drop_bounds import DropBounds, drop_bounds
from lapwing.collect.removals import Removal
from lapwing.collect.shuffler import thresholded
from lapwing.crowd import BinaryResponse, CategoryResponse, Counts, LocalHashing, UnaryEncoding
from lapwing.crowd.intervals import exact_estimate
from lapwing.crowd.numeric import Piecewise, StochasticRounding
from lapwing.crowd.protocol import Protocol
from lapwing.mechanisms.crowd_threshold import CrowdThreshold
from lapwing.mechanisms.dummies import DummyReports
from lapwing.noise import Reproducible

MISSES = 0.05


def crowd_of(source: Any, threshold: int = 20, mean_drop: int = 10, sigma: int = 2, **named: Any) -> Crowd:
    return Crowd(
        source=source,
        threshold=threshold,
        mean_drop=mean_drop,
        sigma=Fraction(sigma),
        delta=Fraction(1, 100),
        **named,
    )


@dataclass(frozen=True)
class Case:
    """People with these shares of answers, a crowd for each report, attribute or answer, and a threshold."""

    protocol: Protocol
    crowd: Crowd
    labels: tuple[Any, ...]
    shares: tuple[float, ...]
    people: int
    parts: int = 1
    regions: int = 1

    def run(self, seed: int) -> tuple[Removal, np.ndarray]:
        """What comes through the shuffler's own code, and how many people gave each answer."""
        generator, entropy = np.random.default_rng(seed), Reproducible(seed)
        counts, kinds, truth = self.protocol.empty(), self.protocol.empty(), np.zeros(len(self.labels), dtype=int)
        for _ in range(self.parts):
            places = generator.choice(len(self.labels), self.people, p=self.shares)
            truth += np.bincount(places, minlength=len(self.labels))
            came, kind = self._part(places, generator, entropy)
            counts, kinds = counts.merge(came), kinds.merge(kind)
        return Removal(self.crowd, self.parts * self.people, self.parts, counts, kinds), truth

    def _part(self, places: np.ndarray, generator: Any, entropy: Reproducible) -> tuple[Counts, Counts]:
        answers: list[Any] = [self.labels[place] for place in places]
        names = places.copy()
        if self.crowd.dummies is not None:
            extra = self.crowd.dummies.draw(len(self.labels) + 1, entropy)
            answers += [None] * sum(extra)
            names = np.concatenate([names, np.repeat(np.arange(len(extra)), extra)])
        reports = self.protocol.randomize(answers, entropy)
        bits = [column.to_bits(held, len(answers)).reshape(len(answers), -1) for column, held in reports._pairs()]
        alike = np.unique(np.concatenate(bits, axis=1), axis=0, return_inverse=True)[1].ravel()
        if self.crowd.source == "report":
            names = alike
        elif self.crowd.source == "attribute":  # those with the first answer live in the smallest region
            names = np.where(places == 0, 0, generator.integers(self.regions, size=len(places)))
        numbers = np.arange(len(answers), dtype="<u4").view(np.uint8).reshape(-1, 4)
        kept = thresholded(self.crowd, names.astype("<u4").view(np.uint8).reshape(-1, 4), numbers, entropy)
        kept = np.ascontiguousarray(kept).view("<u4").ravel()
        first = kept[np.unique(alike[kept], return_index=True)[1]] if self.crowd.source == "report" else kept[:0]
        return self.protocol.absorb(None, reports[kept]), self.protocol.absorb(None, reports[first])

    def estimated(self, counts: Counts) -> Any:
        """As the analyzer does it."""
        if isinstance(self.protocol, LocalHashing):
            return self.protocol.estimate(counts, self.labels)
        return exact_estimate(self.protocol, counts)  # type: ignore[arg-type]

    def missed(self, runs: int) -> dict[str, np.ndarray]:
        """How often the interval of each answer did not hold, about each question."""
        wrong = {name: np.zeros(len(self.labels), dtype=int) for name in ("sample", "population")}
        wrong["at once"] = np.zeros(1, dtype=int)
        for seed in range(runs):
            removal, truth = self.run(seed)
            estimates: Any = removal.estimate(self.estimated)
            share = np.array(self.shares) * removal.taken
            for name, goal, at_once in (
                ("sample", share, False),
                ("population", truth, False),
                ("at once", share, True),
            ):
                low, high = estimates.interval("population" if name == "population" else "sample", simultaneous=at_once)
                inside = (low <= estimates.counts) & (estimates.counts <= high)
                assert name == "population" or inside.all()
                outside = (goal < low) | (goal > high)
                wrong[name] += outside.any() if at_once else outside
        return wrong


def zipf(count: int) -> tuple[float, ...]:
    weights = [1 / (place + 1) for place in range(count)]
    return tuple(weight / sum(weights) for weight in weights)


LETTERS = tuple("abcdefgh")
WORDS = tuple(f"w{number}" for number in range(60))
BITS = UnaryEncoding.from_epsilon(1, domain=LETTERS)
WORD = CategoryResponse.from_epsilon(3, domain=WORDS)
CASES = {
    "two kinds": Case(BinaryResponse.from_epsilon(1), crowd_of("report"), (True, False), (0.3, 0.7), 300),
    "one kind is too small": Case(BinaryResponse.from_epsilon(4), crowd_of("report"), (True, False), (0.04, 0.96), 300),
    "kinds of eight bits, nearly all rare": Case(BITS, crowd_of("report"), LETTERS, zipf(8), 600),
    "kinds of eight bits, half of them rare": Case(BITS, crowd_of("report", 5, 6, 2), LETTERS, zipf(8), 3_000),
    "many words just at the threshold": Case(WORD, crowd_of("report", 12, 6, 2), WORDS, (1 / 60,) * 60, 1_200),
    "many words, five batches": Case(WORD, crowd_of("report", 8, 6, 2), WORDS, zipf(60), 400, parts=5),
    "regions, one of them small": Case(BITS, crowd_of("attribute"), LETTERS, zipf(8), 500, regions=20),
    "answers": Case(BITS, crowd_of("answer"), LETTERS, zipf(8), 300),
    "answers with dummies": Case(
        CategoryResponse.from_epsilon(1, domain=LETTERS),
        crowd_of("answer", threshold=40, dummies=DummyReports(epsilon=2, delta=0.001, relation="replace")),
        LETTERS,
        zipf(8),
        500,
    ),
    "hashed reports": Case(LocalHashing.from_epsilon(2), crowd_of("report", 2, 6, 2), LETTERS, zipf(8), 400),
    "hashed answers": Case(LocalHashing.from_epsilon(1), crowd_of("answer"), LETTERS, zipf(8), 400),
    "words as answers, most of them rare": Case(WORD, crowd_of("answer", 8, 6, 2), WORDS, zipf(60), 500, parts=2),
}
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
