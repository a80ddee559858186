"""ToPS: the exact law of small streams, what a threshold is worth, states as bytes, strange numbers."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from chance import FALSE_ALARM, assert_follows, assert_seldom, laplace_pmf
from numpy.typing import NDArray

from lapwing.adversary import audit
from lapwing.errors import InvalidParameter
from lapwing.mechanisms import Tops
from lapwing.mechanisms.ladder import thresholds
from lapwing.mechanisms.signed_tree import SignedTree
from lapwing.noise import Entropy, Reproducible

pytestmark = pytest.mark.filterwarnings("ignore::lapwing.errors.NotPrivateWarning")
SMALL = Tops(epsilon=2, bound=3, steps=2, first=1, granularity=1, block=1)
"""One step for the threshold, one answer: everything can be written down."""


def rung_law(mechanism: Tops, values: Sequence[int]) -> list[float]:
    """The exponential mechanism over ranks, from its definition."""
    share, top = mechanism._quantile._share, len(thresholds(mechanism._ladder.high))
    a, b, n = share.numerator, share.denominator, len(values)
    rungs = [next(i for i, limit in enumerate(thresholds(3)) if value <= limit) for value in values]
    gaps = []
    for rung in range(top):
        below, upto = sum(r < rung for r in rungs), sum(r <= rung for r in rungs)
        gaps.append(max(0, b * below - a * n, a * n - b * upto))
    change = max(a, b - a) if mechanism.relation == "add_remove" else b
    weights = [math.exp(-gap * float(mechanism.epsilon) / (2 * change)) for gap in gaps]
    return [weight / sum(weights) for weight in weights]


def law(mechanism: Tops, stream: Sequence[Sequence[int]]) -> dict[tuple[int, int], float]:
    """Of the threshold and the one total that follows it."""
    first, later = stream
    chances = {}
    for limit, chance in zip(thresholds(3), rung_law(mechanism, first), strict=True):
        noise, total = laplace_pmf(limit / float(mechanism.epsilon)), sum(min(value, limit) for value in later)
        chances |= {(limit, answer): chance * noise(answer - total) for answer in range(-40, 50)}
    return chances


def neighbours(stream: tuple[tuple[int, ...], ...], relation: str) -> list[tuple[tuple[int, ...], ...]]:
    moved = []
    for place, values in enumerate(stream):
        shorter = [values[:i] + values[i + 1 :] for i in range(len(values))]
        longer = [(*values, value) for value in range(4)]
        swapped = [(*rest, value) for rest in shorter for value in range(4)]
        for changed in shorter + longer if relation == "add_remove" else swapped:
            moved.append((*stream[:place], changed, *stream[place + 1 :]))
    return moved


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_no_threshold_and_total_tell_neighbours_apart_by_more_than_epsilon(relation: Any) -> None:
    mechanism = dataclasses.replace(SMALL, relation=relation)
    assert mechanism.privacy_loss().epsilon == 2
    worst = 0.0
    for stream in itertools.product([(), (0,), (1, 3), (2, 2, 3)], [(), (1,), (0, 3)]):
        here = law(mechanism, stream)
        for moved in neighbours(stream, relation):
            there = law(mechanism, moved)
            worst = max(worst, *(abs(math.log(here[seen] / there[seen])) for seen in here if here[seen] > 1e-280))
    assert 1.5 < worst <= 2 + 1e-9


def test_thresholds_and_totals_follow_the_law() -> None:
    stream, entropy, seen = ((1, 3, 0), (3, 2)), Reproducible(3), []
    chances = law(SMALL, stream)
    for _ in range(8_000):
        state = SMALL.observe(SMALL.open(), stream[0], entropy)
        limit = SMALL.threshold(state)
        state = SMALL.observe(state, list(stream[1]), entropy)
        seen.append((int(limit or 0), round(SMALL.estimate(state))))
    outcomes = list(chances)
    places = {outcome: place for place, outcome in enumerate(outcomes)}
    draws = (places.get(outcome, len(outcomes)) for outcome in seen)
    assert_follows(draws, lambda i: chances[outcomes[i]], range(len(outcomes)))


class Twin:
    """ToPS whose threshold is the largest first value itself. **Not private.**"""

    def release(self, stream: Sequence[Sequence[int]], entropy: Entropy) -> float:
        first, later = stream
        limit = max(first)
        tree = SignedTree(epsilon=2, steps=1, sensitivity=limit)
        return tree.estimate(tree.observe(tree.open(entropy), sum(min(v, limit) for v in later), entropy))[0]


def test_a_twin_with_the_exact_threshold_is_caught() -> None:
    pair = (((1,), (50,)), ((1, 50), (50,)))
    found = audit(Twin(), pair, samples=4_000, confidence=1 - FALSE_ALARM, claimed=2)
    assert found.caught
    ours = Tops(epsilon=2, bound=50, steps=2, first=1, granularity=1, block=1)
    found = audit(ours, pair, samples=4_000, confidence=1 - FALSE_ALARM, claimed=2)
    assert not found.caught, found.explain()


def ranges(totals: NDArray[np.float64], chance: np.random.Generator) -> NDArray[np.float64]:
    ends = np.sort(chance.integers(0, len(totals), (2_000, 2)), axis=1)
    return np.asarray(totals[ends[:, 1]] - totals[ends[:, 0]])


@pytest.mark.parametrize("block", [None, 1])
def test_ranges_are_far_better_than_with_noise_for_the_bound(block: int | None) -> None:
    chance = np.random.default_rng(1)
    numbers, bound, first = np.minimum(chance.lognormal(3, 1, 12_000), 50_000), 50_000, 2_000
    stream = Tops(epsilon=1, bound=bound, steps=12_000, first=first, block=block)
    totals = np.array(stream.release(numbers, Reproducible(7)))
    misses = ranges(totals - np.cumsum(numbers[first:]), np.random.default_rng(2))
    at_the_bound = SignedTree(epsilon=1, steps=10_000, sensitivity=bound)
    assert np.sqrt(np.square(misses).mean()) < at_the_bound.rms() / 25
    back = ranges(np.array(Tops.looking_back(totals)) - np.cumsum(numbers[first:]), np.random.default_rng(2))
    assert np.square(back).mean() <= 1.02 * np.square(misses).mean()


def test_half_widths_hold_for_what_was_not_cut_off() -> None:
    stream, misses, trials = Tops(epsilon=1, bound=100, steps=60, first=20, block=5, granularity=1), 0, 0
    for run in range(60):
        entropy, state, exact, ends = Reproducible(run), stream.open(), 0, []
        for step in range(60):
            state = stream.observe(state, [10, step], entropy)
            limit = stream.threshold(state)
            if step >= 20 and limit is not None:
                exact += sum(min(value, limit) for value in (10, step))
                if step % 5 == 4:
                    ends.append((stream.estimate(state), exact))
                    trials += 1
                    misses += abs(stream.estimate(state) - exact) > stream.half_width(state, 0.9)
        assert stream.half_width(state) <= stream.accuracy()
        width = stream.range_half_width(stream.threshold(state) or 1, 10, 30, 0.9)
        trials += 1
        misses += abs((ends[5][0] - ends[1][0]) - (ends[5][1] - ends[1][1])) > width
    assert_seldom(misses, trials, 0.1)


def test_a_wrong_confidence_is_refused_at_once() -> None:
    stream = Tops(epsilon=1, bound=100, steps=60, first=20, block=5, granularity=1)
    with pytest.raises(InvalidParameter, match=r"^confidence = 2: "):
        stream.half_width(stream.open(), 2)


def test_within_a_block_the_total_goes_on_as_it_went_before() -> None:
    stream, entropy = Tops(epsilon=50, bound=100, steps=1_050, first=50, block=100), Reproducible(1)
    _, totals = stream.observe_many(stream.open(), [10] * 1_050, entropy)
    assert all(map(math.isnan, totals[:50]))
    assert totals[50 + 99 + 50] == pytest.approx(1_500, abs=60)
    assert totals[-1] == pytest.approx(10_000, abs=100)
    frozen = stream.observe_many(stream.open(), [10] * 1_049 + [99], Reproducible(1))[1]
    assert frozen[:-1] == totals[:-1]


def test_the_last_step_closes_its_block() -> None:
    stream = Tops(epsilon=200, bound=100, steps=16, first=5, block=4)
    _, totals = stream.observe_many(stream.open(), [[50, 50, 50]] * 16, Reproducible(1))
    assert totals[-1] == pytest.approx(11 * 150, rel=0.05)


def test_a_state_comes_back_from_its_bytes_and_has_one_length() -> None:
    stream = Tops(epsilon=1, bound=1_000, steps=30, first=7, block=3)
    state = stream.open()
    for step in range(30):
        data = stream.state_to_bytes(state)
        assert len(data) == stream.state_bytes
        again = stream.observe(stream.state_from_bytes(data), [step, 10**400], Reproducible(step))
        state = stream.observe(state, [step, 10**400], Reproducible(step))
        assert stream.state_to_bytes(again) == stream.state_to_bytes(state)
        assert (stream.threshold(state) is None) == (state.step < 7)
        assert (sum(state.counts) == 0) == (state.step >= 7), "exact counts are kept no longer than they are needed"
    with pytest.raises(InvalidParameter, match="last step"):
        stream.observe(state, 1)


def test_states_that_do_not_fit_are_refused() -> None:
    stream, other = (Tops(epsilon=1, bound=9, steps=9, first=2, block=2, typical_range=n) for n in (2, 3))
    data = stream.state_to_bytes(stream.open())
    for bad in (b"", data[:-1] + bytes([data[-1] ^ 1]), data[:20] + b"x" + data[21:], None):
        with pytest.raises(InvalidParameter):
            stream.state_from_bytes(bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="other parameters"):
        other.state_from_bytes(data)
    with pytest.raises(InvalidParameter, match="other parameters"):
        other.observe(stream.open(), 1)
    with pytest.raises(InvalidParameter, match="not a state"):
        stream.observe(0, 1)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="declared length 9"):
        stream.release([1, 2])
    for start, stop in ((0, 1), (4, 4), (0, 900)):
        with pytest.raises(InvalidParameter):
            stream.range_half_width(3, start, stop)


def test_strange_numbers_are_silent_and_the_loss_names_an_event(recwarn: pytest.WarningsRecorder) -> None:
    stream = Tops(epsilon=1, bound=10, steps=6, first=2)
    strange = [math.nan, None, "text", [math.inf, -5, 10**400], [], np.array([1.0, np.nan])]
    assert len(stream.release(strange)) == 4
    assert str(stream.privacy_loss()) == "ε = 1 (add_remove, per event)"
    assert not recwarn.list


def test_the_numbers_of_a_step_come_in_any_form() -> None:
    stream = Tops(epsilon=1, bound=10, steps=9, first=8, granularity=1)
    forms = [[3, 7], (3, 7), {3, 7}, (value for value in (3, 7)), np.array([3, 7]), {3: "a", 7: "b"}.keys()]
    for numbers in forms:
        assert sum(stream.observe(stream.open(), numbers).counts) == 2
    for number in (3, 3.0, np.float64(3), np.array(3), True):
        assert sum(stream.observe(stream.open(), number).counts) == 1


def test_the_rank_leaves_as_many_values_above_as_ranks_can_tell() -> None:
    few, many = (Tops(epsilon=1, bound=10**6, steps=100_000, first=first) for first in (200, 20_000))
    assert few.rank < many.rank < 1
    assert (1 - few.rank) * 200 > 15
    assert Tops(epsilon=1, bound=10**6, steps=100_000, first=20_000, typical_range=1_000).rank < many.rank


def test_a_quote_says_the_error_in_thresholds() -> None:
    stream = Tops(epsilon=1, bound=10_000, steps=5_000, first=1_000, granularity=1)
    quote = stream.quote()
    assert quote.loss == stream.privacy_loss()
    assert quote.half_width * 10_000 == pytest.approx(stream.accuracy(), rel=0.001)
    assert f"within {quote.half_width:,.1f} thresholds" in str(quote)
    assert f"State: {stream.state_bytes:,} bytes" in str(quote)
    assert "rounded to multiples of 1 first" in str(quote)


def test_thresholds_are_a_sixteenth_of_an_octave_apart_and_end_at_the_bound() -> None:
    for top in (1, 7, 32, 33, 1_000, 72_000, 2**40 + 1):
        rungs = thresholds(top)
        assert rungs[-1] == top
        assert list(rungs) == sorted(set(rungs))
        assert all(b <= a + max(1, a / 16) for a, b in itertools.pairwise(rungs))


@pytest.mark.parametrize(
    "wrong", [{"epsilon": 0}, {"bound": 0}, {"steps": 0}, {"first": 9}, {"block": 0}, {"typical_range": 0}]
)
def test_wrong_parameters_are_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter) as refused:
        Tops(**{"epsilon": 1, "bound": 9, "steps": 9, "first": 2, **wrong})
    assert refused.value.name == next(iter(wrong))
