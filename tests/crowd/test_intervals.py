"""Intervals that hold for every number of reports: over all counts that can come, with their exact probabilities."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from lapwing.crowd import BinaryResponse, CategoryResponse, Counts, HadamardResponse, StochasticRounding, UnaryEncoding
from lapwing.crowd.intervals import ExactEstimates, exact_estimate
from lapwing.crowd.protocol import ClosedProtocol

FEW = 20
HALF, MOST, SOME, FEWEST, LEAST = (Fraction(*odds) for odds in ((1, 2), (9, 10), (1, 20), (1, 50), (1, 100)))
CASES: dict[str, tuple[ClosedProtocol, int, float, Fraction, Fraction]] = {
    "yes or no, two odds": (BinaryResponse(yes_if_yes=MOST, yes_if_no=SOME), 1, FEW, MOST, SOME),
    "marks": (UnaryEncoding(one_if_true=HALF, one_if_other=FEWEST, domain=["a", "b"]), 2, FEW, HALF, FEWEST),
    "one of three": (CategoryResponse(keep=1 - 2 * FEWEST, domain=3), 3, FEW, 1 - 2 * FEWEST, FEWEST),
    "a number": (StochasticRounding(flip=LEAST, bounds=(0, 10)), 1, 10, 1 - LEAST, LEAST),
}
"""A protocol, its counters, the truth of everybody, and the chances of a mark for the truth and for anything else."""


@pytest.mark.parametrize("name", CASES)
def test_exact_intervals_hold_as_often_as_they_say_also_for_few_reports(name: str) -> None:
    protocol, places, whole, if_true, if_other = CASES[name]
    ends = []
    for hits in range(FEW + 1):
        rest = [FEW - hits, 0] if name == "one of three" else [0] * (places - 1)
        estimates = exact_estimate(protocol, Counts(protocol, FEW, np.array([hits, *rest], dtype=np.int64)))
        low, high = estimates.interval()
        ends.append((float(np.ravel(low)[0]), float(np.ravel(high)[0])))
    for truth in (0.0, 0.01, 0.1, 0.5, 0.9, 1.0):
        chance = float(if_other + (if_true - if_other) * Fraction(truth))
        held = sum(
            math.comb(FEW, hits) * chance**hits * (1 - chance) ** (FEW - hits)
            for hits, (low, high) in enumerate(ends)
            if low - 1e-9 <= whole * truth <= high + 1e-9
        )
        assert held >= 0.95, (truth, held)


def test_yes_and_no_have_intervals_that_mirror_each_other() -> None:
    poll = BinaryResponse(yes_if_yes=0.9, yes_if_no=0.2)
    estimates = exact_estimate(poll, Counts(poll, 50, np.array([20], dtype=np.int64)))
    assert isinstance(estimates, ExactEstimates)
    assert estimates.lows == pytest.approx(50 - estimates.highs[::-1])
    assert (estimates.lows < estimates.counts).all()


def test_the_largest_answers_keep_their_intervals_and_other_questions_theirs() -> None:
    poll = UnaryEncoding.from_epsilon(2, domain=["a", "b", "c"])
    counts = Counts(poll, 100, np.array([20, 60, 40], dtype=np.int64))
    estimates = exact_estimate(poll, counts)
    assert isinstance(estimates, ExactEstimates)
    top = estimates.top(2)
    assert list(top.labels) == ["b", "c"]
    assert np.array_equal(top.interval()[0], estimates.lows[[1, 2]])
    plain = poll.estimate(counts)
    assert np.array_equal(estimates.counts, plain.counts)
    assert np.array_equal(estimates.interval("population"), plain.interval("population"))
    assert np.array_equal(estimates.interval(simultaneous=True), plain.interval(simultaneous=True))


def test_without_reports_and_without_a_coin_for_each_answer_intervals_are_normal() -> None:
    poll, response = (
        UnaryEncoding.from_epsilon(2, domain=["a", "b"]),
        HadamardResponse.from_epsilon(2, domain=["a", "b"]),
    )
    counts = response.absorb(None, response.randomize(["a"] * 50))
    for protocol, state in ((poll, poll.empty()), (response, counts)):
        assert not isinstance(exact_estimate(protocol, state), ExactEstimates)
