"""The exponential mechanism: exact weights, exact coins, the stated loss."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from cases import together
from chance import assert_follows, assert_share
from hypothesis import given
from hypothesis import strategies as st

from lapwing.exact import exp_neg
from lapwing.mechanisms import Exponential, exponential
from lapwing.mechanisms.exponential import _proposal, _proposal_of_array, _times, exponential_choice
from lapwing.noise import SYSTEM


def pmf(scores: Sequence[int], scale: Fraction) -> list[float]:
    weights = [math.exp((score - max(scores)) / float(scale)) for score in scores]
    return [weight / math.fsum(weights) for weight in weights]


def worst_log_ratio(mechanism: Exponential, moves: Sequence[Sequence[int]]) -> float:
    worst = 0.0
    for scores in itertools.product(range(4), repeat=3):
        for move in moves:
            other = [score + step for score, step in zip(scores, move, strict=True)]
            pairs = zip(pmf(scores, mechanism._scale), pmf(other, mechanism._scale), strict=True)
            worst = max(worst, *(abs(math.log(p / q)) for p, q in pairs))
    return worst


def test_no_neighbours_are_told_apart_by_more_than_the_stated_epsilon() -> None:
    moves = list(itertools.product((-1, 0, 1), repeat=3))
    general = Exponential(epsilon=0.7, sensitivity=1, candidates=3)
    assert 0.6 < worst_log_ratio(general, moves) <= 0.7
    assert worst_log_ratio(Exponential(epsilon=50, sensitivity=1, candidates=3), moves) == pytest.approx(50)
    up = [move for move in moves if min(move) >= 0]
    monotone = Exponential(epsilon=0.7, sensitivity=1, candidates=3, monotone=True)
    assert 0.6 < worst_log_ratio(monotone, up) <= 0.7
    assert worst_log_ratio(monotone, moves) > 1.1  # the promise matters


def test_log_ratios_stay_in_an_interval_of_length_epsilon() -> None:
    mechanism = Exponential(epsilon=2, sensitivity=1, candidates=3)
    for scores, other in itertools.product(itertools.product(range(3), repeat=3), repeat=2):
        if max(abs(a - b) for a, b in zip(scores, other, strict=True)) <= 1:
            pairs = zip(pmf(scores, mechanism._scale), pmf(other, mechanism._scale), strict=True)
            ratios = [math.log(p / q) for p, q in pairs]
            assert max(ratios) - min(ratios) <= 2 + 1e-12
    assert mechanism.zcdp_loss().rho == Fraction(1, 2)
    assert Exponential(epsilon=2, sensitivity=1, candidates=3, fixed_normaliser=True).zcdp_loss().rho == 2


@together("scores", [[0, 3, 1, 3], [0.4, 2.6, 1.4, 3.1], [10**30, 10**30 - 2, 0, -(10**30)]])
def test_lists_follow_the_law(scores: list[float]) -> None:
    mechanism = Exponential(epsilon=1, sensitivity=1, candidates=4)
    rounded = [math.floor(score + 0.5) if isinstance(score, float) else score for score in scores]
    probabilities = pmf(rounded, Fraction(2))
    assert_follows((mechanism.release(scores) for _ in range(20_000)), probabilities.__getitem__, range(4))


def test_arrays_follow_the_same_law() -> None:
    mechanism = Exponential(epsilon=1, sensitivity=1, candidates=4)
    probabilities = pmf([0, 3, 1, 3], Fraction(2))
    for array in (np.array([0, 3, 1, 3]), np.array([0.2, 2.9, 1.0, 3.4])):
        assert_follows((mechanism.release(array) for _ in range(20_000)), probabilities.__getitem__, range(4))


@pytest.mark.parametrize("kind", [list, np.array])
def test_the_exact_coin_alone_gives_the_same_law(kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exponential, "_SURE_BITS", 0)  # never decided by the shortcut
    monkeypatch.setattr(exponential, "_SLACK", 1.5)  # a third of the proposals is refused
    weights, gaps = [3, 1, 5], [0, 1, 4]
    total = math.fsum(w * math.exp(-g / 2) for w, g in zip(weights, gaps, strict=True))
    given = kind(gaps) if kind is list else np.array(gaps, dtype=np.uint64)
    draws = [exponential_choice(given, kind(weights), Fraction(2), SYSTEM) for _ in range(10_000)]
    assert_follows(draws, lambda i: weights[i] * math.exp(-gaps[i] / 2) / total, range(3))


@given(
    st.lists(st.tuples(st.integers(0, 1 << 64), st.integers(1, 1 << 52)), max_size=6),
    st.integers(1, 1 << 50),
    st.fractions(min_value=Fraction(1, 10**7), max_value=10**9, max_denominator=10**7),
)
def test_every_proposal_is_at_least_its_exact_weight(
    others: list[tuple[int, int]], first: int, scale: Fraction
) -> None:
    gaps, weights = [0, *(gap for gap, _ in others)], [first, *(weight for _, weight in others)]
    room, unit = 61 - len(gaps).bit_length(), float(min(1 / scale, Fraction(1 << 20)))
    totals, shift = _proposal(gaps, weights, unit, room)
    fast = [gap & (1 << 64) - 1 for gap in gaps]
    fast_totals, fast_shift = _proposal_of_array(
        np.array(fast, dtype=np.uint64), np.array(weights, dtype=np.int64), unit, room
    )
    for running, used, power in ((totals, gaps, shift), (fast_totals.tolist(), fast, fast_shift)):
        assert running[-1] < 1 << 63
        for before, after, gap, weight in zip([0, *running], running, used, weights, strict=False):
            ratio = weight * Fraction(2) ** power / (after - before)
            low, high = _times(ratio, exp_neg(gap / scale))(200)
            assert 0 <= high <= 1 << 200
            assert after - before < 1 << 30 or low > (1 << 200) - (1 << 172)


def test_a_million_candidates_are_chosen_by_their_exact_odds() -> None:
    scores = np.zeros(1_000_000, dtype=np.int64)
    scores[123_456] = 28
    mechanism = Exponential(epsilon=1, sensitivity=1, candidates=1_000_000)
    hits = sum(mechanism.release(scores) == 123_456 for _ in range(100))
    assert_share(hits, 100, math.exp(14) / (math.exp(14) + 999_999))


def test_far_candidates_keep_a_positive_chance() -> None:
    totals, _ = _proposal([0, 2000], None, 1.0, 59)
    assert totals[1] - totals[0] == 1
    assert math.exp(-2000) == 0  # a double would have made it impossible
    assert _times(Fraction(1), exp_neg(Fraction(2000)))(3000)[0] > 0


def revenue(bids: Sequence[float], price: float) -> float:
    return price * sum(bid >= price for bid in bids)


def test_the_digital_goods_auction() -> None:
    prices = [1, 3, 4.01, 4.02]
    bids = [1, 1, 1, 4.01]
    assert [revenue(bids, price) for price in prices] == [4, 3, 4.01, 0]
    assert max(prices, key=lambda price: revenue([*bids, 3], price)) == 3
    assert revenue([*bids, 3], 3) == 6
    # one bidder more changes the revenue at a price by that price at most; it never lowers one
    auction = Exponential(epsilon=2, sensitivity=4.02, candidates=prices, monotone=True, granularity=0.01)
    scores = [revenue(bids, price) for price in prices]
    law = [math.exp(2 * score / 4.02) for score in scores]
    draws = [prices.index(auction.release(scores)) for _ in range(20_000)]
    # rounding of 4.02 and the scores to the grid moves the probabilities by well under the resolution of this test
    assert_follows(draws, lambda i: law[i] / sum(law), range(4))


def test_with_a_fixed_normaliser_it_is_randomized_response() -> None:
    mechanism = Exponential(epsilon=4, sensitivity=1, candidates=["no", "yes"], fixed_normaliser=True)
    assert mechanism.privacy_loss().epsilon == 4
    lies = sum(mechanism.release([0, 1]) == "no" for _ in range(30_000))
    assert_share(lies, 30_000, 1 / (1 + math.exp(4)))


def test_the_stated_accuracy_is_exact_in_the_worst_case() -> None:
    mechanism = Exponential(epsilon=0.5, sensitivity=1, candidates=50)
    gap = int(mechanism.accuracy(0.9))
    worst = [0.0, 0.0]
    for place, a in enumerate((gap, gap + 1)):
        x = 49 * math.exp(-a / 4)
        worst[place] = x / (1 + x)
    assert worst[1] <= 0.1 < worst[0]
    misses = sum(mechanism.release([gap + 1] + [0] * 49) != 0 for _ in range(10_000))
    assert_share(misses, 10_000, worst[1])


def test_solving_for_an_accuracy_gives_it() -> None:
    solved = Exponential.solve(within=10, confidence=0.9, sensitivity=1, candidates=100)
    assert solved.accuracy(0.9) <= 10
    assert Exponential(epsilon=float(solved.epsilon) * 0.99, sensitivity=1, candidates=100).accuracy(0.9) > 10
