"""Yes or no, one of k, and means: what each promises beyond the contract of all protocols."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import together
from chance import FALSE_ALARM, assert_share
from scipy import stats

from lapwing.crowd import Answers, Counts, Protocol, UnaryEncoding
from lapwing.crowd.binary import BinaryResponse
from lapwing.crowd.categories import LARGEST_DOMAIN, CategoryResponse
from lapwing.crowd.numeric import LEVELS, MeanEstimate, Piecewise, StochasticRounding
from lapwing.errors import InvalidCall, InvalidParameter
from lapwing.exact import ln_up
from lapwing.mechanisms import KaryResponse, RandomizedResponse
from lapwing.noise import Reproducible

Z = stats.norm.isf(FALSE_ALARM / 2)
NUMERIC: list[Any] = [StochasticRounding, Piecewise]


def collected(protocol: Protocol, values: Any, seed: int = 1) -> Counts:
    return protocol.absorb(None, protocol.randomize(values, Reproducible(seed)))


# --- yes or no -------------------------------------------------------------------------------------------------------


def test_fair_coins_cost_ln_3_in_both_forms() -> None:
    """Warner's coins keep the truth with probability 3/4; so does γ = 3/4."""
    coins, lie = BinaryResponse.from_coins(0.5, 0.5), BinaryResponse.from_gamma(0.75)
    assert coins == lie
    assert coins.fingerprint == lie.fingerprint
    assert coins.privacy_loss().epsilon == ln_up(Fraction(3))
    assert (coins.coins.alpha, coins.coins.beta, coins.coins.gamma) == (Fraction(1, 2), Fraction(1, 2), Fraction(3, 4))
    assert coins.coins == RandomizedResponse.from_coins(0.5, 0.5)


@together("epsilon", [0.1, 1, 4])
def test_the_truth_is_told_as_often_as_epsilon_allows(epsilon: float) -> None:
    poll = BinaryResponse.from_epsilon(epsilon)
    assert poll.privacy_loss().epsilon <= Fraction(epsilon)
    assert float(poll.yes_if_yes) == pytest.approx(math.exp(epsilon) / (1 + math.exp(epsilon)))
    n = 10_000
    error = poll.estimate(collected(poll, [False] * n)).population_standard_error[0]
    assert error / n == pytest.approx(math.sqrt(math.exp(epsilon)) / (math.sqrt(n) * (math.exp(epsilon) - 1)), rel=1e-6)


def test_both_variances_of_fair_coins_are_those_of_the_theory() -> None:
    """For fixed people 0.75/n whatever the truth; for sampled ones λ(1−λ)/(nα²)."""
    poll, n = BinaryResponse.from_coins(0.5, 0.5), 1000
    for yes in (0, 200, 1000):
        said = round(0.25 * n + 0.5 * yes)
        found = poll.estimate(Counts(poll, n, np.array([said])))
        assert found.counts.tolist() == pytest.approx([yes, n - yes])
        assert (found.population_standard_error**2).tolist() == pytest.approx([0.75 * n] * 2)
        rate = said / n
        assert (found.sample_standard_error**2).tolist() == pytest.approx([rate * (1 - rate) / 0.25 * n] * 2)


def test_estimates_agree_with_the_mechanism_for_one_answer() -> None:
    poll, n = BinaryResponse.from_coins(0.7, 0.2), 5000
    state = collected(poll, np.arange(n) % 3 == 0)
    mine, share = poll.estimate(state), poll.coins.estimate(int(state.table[0]), n)
    assert mine[True] / n == pytest.approx(share.share)
    assert mine.population_standard_error[0] / n == pytest.approx(share.population_standard_error)
    assert mine.sample_standard_error[0] / n == pytest.approx(share.sample_standard_error)


def test_the_worst_fake_is_the_one_for_the_likelier_lie() -> None:
    for poll in (BinaryResponse.from_coins(0.5, 0.1), BinaryResponse.from_coins(0.5, 0.9)):
        honest = poll.estimate(Counts(poll, 1000, np.array([500])))
        gains = []
        for said in (500, 501):  # one more report: a no, or a yes
            poisoned = poll.estimate(Counts(poll, 1001, np.array([said])))
            gains.append(float((poisoned.counts - honest.counts).max()))
        assert max(gains) == pytest.approx(honest.gain_per_fake)


@together("values", [[True, 1, 1.0, np.True_, Fraction(1), Decimal(1)], np.ones(6, dtype=bool), [1] * 6])
def test_what_equals_one_is_yes(values: Any) -> None:
    sure = BinaryResponse(yes_if_yes=1 - Fraction(1, 1 << 60), yes_if_no=Fraction(1, 1 << 60))
    assert sure.randomize(values, Reproducible(1)).column("yes").tolist() == [0b111111]


def test_what_does_not_equal_one_is_no() -> None:
    sure = BinaryResponse(yes_if_yes=1 - Fraction(1, 1 << 60), yes_if_no=Fraction(1, 1 << 60))
    values = [False, 0, 2, "1", "yes", None, math.nan, [1], np.array([1, 1]), object()]
    assert sure.randomize(values, Reproducible(1)).column("yes").tolist() == [0]


def test_a_report_is_one_bit() -> None:
    reports = BinaryResponse.from_epsilon(1).randomize([True] * 800, Reproducible(1))
    assert reports.bits_each == 1
    assert len(reports.to_bytes()) == 28 + 100


@together(
    "parameters",
    [
        {"yes_if_yes": 0.5, "yes_if_no": 0.5},
        {"yes_if_yes": 0.3, "yes_if_no": 0.6},
        {"yes_if_yes": 1, "yes_if_no": 0.5},
        {"yes_if_yes": 0.5, "yes_if_no": 0},
        {"yes_if_yes": math.nan, "yes_if_no": 0.1},
        {"yes_if_yes": 0.75, "yes_if_no": 0.25, "unit": ""},
    ],
)
def test_coins_that_say_nothing_or_everything_are_refused(parameters: Any) -> None:
    with pytest.raises(InvalidParameter):
        BinaryResponse(**parameters)


@pytest.mark.parametrize("kind", [BinaryResponse, CategoryResponse, UnaryEncoding, StochasticRounding, Piecewise])
def test_whoever_writes_epsilon_is_told_what_to_write(kind: Any) -> None:
    with pytest.raises(InvalidCall, match=rf"Write {kind.__name__}\.(from_epsilon|optimized)"):
        kind(epsilon=1)


# --- one of k --------------------------------------------------------------------------------------------------------


@together("k", [2, 3, 300, 70_000])
@together("epsilon", [0.1, 1, 5])
def test_the_loss_of_one_of_k_is_the_ratio_used_and_at_most_what_was_asked(k: int, epsilon: float) -> None:
    poll = CategoryResponse.from_epsilon(epsilon, domain=k)
    keep = Fraction(poll.keep)
    assert keep + (k - 1) * poll.switch == 1
    assert Fraction(998, 1000) * Fraction(epsilon) < poll.privacy_loss().epsilon <= Fraction(epsilon)
    assert poll.privacy_loss().epsilon == ln_up(keep / poll.switch)
    assert poll.privacy_loss().epsilon == KaryResponse(categories=k, keep=keep).privacy_loss().epsilon


def test_estimates_of_one_of_k_add_up_to_everybody() -> None:
    poll = CategoryResponse.from_epsilon(0.3, domain=40)
    found = poll.estimate(collected(poll, np.arange(5000) % 7))
    assert found.counts.sum() == pytest.approx(5000)
    assert found.counts.min() < 0


def test_labels_may_be_a_range_that_begins_anywhere() -> None:
    protocol, people = CategoryResponse.from_epsilon(30, domain=10), Answers(range(5, 13), np.array([0, 1, 7]))
    assert people.within(range(10), None).tolist() == [5, 6, -1]
    assert protocol.randomize(people[:2], Reproducible(1)).columns[0].tolist() == [5, 6]


def test_strangers_are_spread_evenly() -> None:
    poll, n = CategoryResponse.from_epsilon(3, domain=["a", "b", "c", "d"]), 40_000
    table = collected(poll, Answers.counted({"z": n})).table
    for count in table.tolist():
        assert_share(count, n, 0.25)


@together(("k", "bits", "dtype"), [(2, 1, "u1"), (256, 8, "u1"), (257, 9, "u2"), (1 << 16, 16, "u2")])
def test_reports_are_no_longer_than_the_answers(k: int, bits: int, dtype: str) -> None:
    poll = CategoryResponse.from_epsilon(1, domain=k)
    reports = poll.randomize([k - 1] * 100, Reproducible(1))
    assert reports.bits_each == bits
    assert reports.column("answer").dtype == np.dtype(dtype)
    assert poll.absorb(None, reports).table.sum() == 100


def test_many_people_are_counted_in_blocks_as_in_one() -> None:
    poll, n = CategoryResponse.from_epsilon(2, domain=5), 600_001
    reports = poll.randomize(np.arange(n) % 5)
    assert (poll.absorb(None, reports).table == np.bincount(reports.column("answer"), minlength=5)).all()
    kept = int((reports.column("answer") == np.arange(n) % 5).sum())
    assert_share(kept, n, float(poll.keep))


@together(
    "parameters",
    [
        {"domain": 4, "keep": 0.25},
        {"domain": 4, "keep": 1},
        {"domain": LARGEST_DOMAIN + 1, "keep": 0.5},
        {"domain": ["a"], "keep": 0.5},
        {"domain": "ab", "keep": 0.5},
    ],
)
def test_categories_that_say_nothing_are_refused(parameters: Any) -> None:
    with pytest.raises(InvalidParameter):
        CategoryResponse(**parameters)


def test_few_answers_are_best_told_directly_and_many_by_unary_encoding() -> None:
    """k < 3e^ε + 2 is the border (Wang, Blocki, Li and Jha 2017)."""
    epsilon, n = 2, 10_000
    border = 3 * math.exp(epsilon) + 2
    for k, direct_wins in ((int(border) - 4, True), (int(border) + 5, False)):
        errors = []
        for poll in (CategoryResponse.from_epsilon(epsilon, domain=k), UnaryEncoding.from_epsilon(epsilon, domain=k)):
            support = np.full(k, round(n * float(getattr(poll, "switch", 0) or poll.one_if_other)))  # type: ignore[union-attr]
            errors.append(float(poll.estimate(Counts(poll, n, support)).population_standard_error[0]))
        assert (errors[0] < errors[1]) is direct_wins


# --- means -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", NUMERIC)
@together("epsilon", [0.1, 1, 3, 8])
def test_means_are_found_and_cost_what_was_asked(kind: Any, epsilon: float) -> None:
    protocol = kind.from_epsilon(epsilon, bounds=(-5, 15))
    assert Fraction(998, 1000) * Fraction(epsilon) < protocol.privacy_loss().epsilon <= Fraction(epsilon)
    people = np.random.default_rng(3).normal(3, 4, 200_000)
    found = protocol.estimate(collected(protocol, people))
    truth = np.clip(people, -5, 15).mean()
    assert abs(found.mean - truth) < Z * found.population_standard_error
    assert found.population_standard_error <= found.sample_standard_error * 1.001
    low, high = found.interval("respondents")
    assert low < found.mean < high


def test_the_piecewise_mechanism_is_the_better_one_for_large_epsilon() -> None:
    """The two cross near 1.29 (Wang et al. 2019), for the worst number at an end of the bounds."""
    for epsilon, piecewise_wins in ((1, False), (2, True), (4, True)):
        worst = []
        for kind in NUMERIC:
            protocol = kind.from_epsilon(epsilon, bounds=(-1, 1))
            errors = [
                protocol.estimate(collected(protocol, np.full(40_000, end, dtype=float))).population_standard_error
                for end in (-1, 0, 1)
            ]
            worst.append(max(errors))
        assert (worst[1] < worst[0]) is piecewise_wins, (epsilon, worst)


def test_numbers_are_levels_between_the_bounds() -> None:
    protocol = StochasticRounding.from_epsilon(1, bounds=(0, 8))
    values = [0, 8, 4, 1, Fraction(1, 2), Decimal("2"), -3, 10**400, -math.inf, math.inf, True, np.float32(4)]
    shares = [0, 8, 4, 1, 0.5, 2, 0, 8, 0, 8, 1, 4]
    assert protocol._levels(values).tolist() == [share * LEVELS // 8 for share in shares]
    strange = [None, math.nan, "3", b"3", 1j, [1], {}, Decimal("NaN"), np.datetime64("2020"), object()]
    assert set(protocol._levels(strange).tolist()) == {LEVELS // 2}
    for array in (
        np.array([0, 8, 4]),
        np.array([0.0, 8.0, 4.0], dtype=np.float32),
        np.array([0, 8, 4], dtype=np.uint8),
    ):
        assert protocol._levels(array).tolist() == [0, LEVELS, LEVELS // 2]


def test_numbers_are_the_same_however_they_are_passed() -> None:
    pandas = pytest.importorskip("pandas")
    protocol = Piecewise.from_epsilon(1, bounds=(0, 10))
    values = [0.5, 7.25, 11.0, 3.0] * 100
    reports = protocol.randomize(values, Reproducible(1))
    for other in (np.array(values), pandas.Series(values), Answers.of(values), tuple(values)):
        assert protocol.randomize(other, Reproducible(1)) == reports
    with pytest.raises(InvalidParameter):
        protocol.randomize(np.ones((3, 2)))


def test_the_widest_bounds_do_not_overflow() -> None:
    largest = 8e307
    for kind in NUMERIC:
        protocol = kind.from_epsilon(1, bounds=(-largest, largest))
        assert protocol._levels([-largest, 0.0, largest, math.inf]).tolist() == [0, LEVELS // 2, LEVELS, LEVELS]
        assert math.isfinite(protocol.estimate(collected(protocol, [0.0] * 100)).mean)
        narrow = kind.from_epsilon(1, bounds=(1.0, math.nextafter(1.0, 2.0)))
        assert narrow._levels([0.0, 1.0, 2.0]).tolist() == [0, 0, LEVELS]


@pytest.mark.parametrize("kind", NUMERIC)
@together(
    "bounds", [(1, 1), (2, 1), (0, math.inf), (None, 1), 5, (0, 10**400), (-1e308, 1e308), (1, 1 + Fraction(1, 10**30))]
)
def test_bounds_that_are_none_are_refused(kind: Any, bounds: Any) -> None:
    with pytest.raises(InvalidParameter, match="bounds"):
        kind.from_epsilon(1, bounds=bounds)


@together(
    "parameters",
    [
        {"window": 0, "inside": 0.5},
        {"window": 1024, "inside": 0.5},
        {"window": 512, "inside": 0.5},
        {"window": 10, "inside": 1},
        {"window": 10, "inside": 0.5, "cells": 1},
        {"window": 10, "inside": 0.5, "cells": 1 << 20},
    ],
)
def test_windows_that_say_nothing_are_refused(parameters: Any) -> None:
    with pytest.raises(InvalidParameter):
        Piecewise(bounds=(0, 1), **parameters)


def test_flips_that_say_nothing_are_refused() -> None:
    for flip in (0.5, 0.7, 0, 1):
        with pytest.raises(InvalidParameter, match="flip"):
            StochasticRounding(bounds=(0, 1), flip=flip)


@together("cells", [2, 3, 64, 1 << 16])
def test_any_number_of_cells_is_unbiased(cells: int) -> None:
    protocol = Piecewise.from_epsilon(2, bounds=(0, 1), cells=cells)
    for number in (0.0, 0.3, 1.0):
        found = protocol.estimate(collected(protocol, np.full(100_000, number)))
        assert abs(found.mean - number) < Z * found.sample_standard_error


@pytest.mark.parametrize("kind", NUMERIC)
def test_a_fake_report_moves_a_mean_by_what_is_said_at_most(kind: Any) -> None:
    protocol = kind.from_epsilon(1, bounds=(0, 10))
    n = 1000
    state = collected(protocol, np.full(n, 5.0))
    found = protocol.estimate(state)
    moves = []
    if protocol.shape == (1,):
        ends = [np.array([-1]), np.array([1])]
    else:
        ends = [np.zeros(protocol.cells, dtype=np.int64) for _ in range(2)]
        occupied = np.flatnonzero(state.table)
        for end, cell in zip(ends, (0, protocol.cells - 1), strict=True):
            end[cell] += 1
            end[occupied[-1] if cell == 0 else occupied[0]] -= 1
    for change in ends:
        moves.append(abs(protocol.estimate(Counts(protocol, n, state.table + change)).mean - found.mean))
    assert max(moves) <= found.moved_by(1) * (1 + 1e-9)
    assert max(moves) > 0.9 * found.moved_by(1)


@pytest.mark.parametrize("kind", [StochasticRounding, Piecewise])
def test_few_reports_are_not_without_error(kind: Any) -> None:
    protocol = kind.from_epsilon(1, bounds=(0, 10))
    nobody = protocol.estimate(protocol.empty())
    assert nobody.interval() == (-math.inf, math.inf)
    assert str(nobody)
    for seed in range(20):
        found = protocol.estimate(protocol.absorb(None, protocol.randomize([5], Reproducible(seed))))
        assert found.sample_standard_error >= found.population_standard_error > 5


@pytest.mark.parametrize("people", [[0.9] * 20, [0.0, 1.0] * 10], ids=["alike", "at both ends"])
def test_the_error_of_a_mean_over_the_coins_is_not_too_small_for_few_people(people: list[float]) -> None:
    protocol, runs = Piecewise.from_epsilon(8, bounds=(0, 1)), 2000
    everybody = protocol.randomize(np.tile(people, runs), Reproducible(3))
    parts = (everybody[len(people) * run : len(people) * (run + 1)] for run in range(runs))
    found = [protocol.estimate(protocol.absorb(None, part)) for part in parts]
    squares = np.array([(one.mean - np.mean(people)) ** 2 for one in found])
    stated = np.array([one.population_standard_error**2 for one in found])
    short = squares - stated
    assert short.mean() < Z * short.std() / math.sqrt(runs)


@together("cells", [2, 3, 8, 9])
def test_no_place_of_the_window_has_less_variance_than_is_stated_at_least(cells: int) -> None:
    for window in range(1, cells):
        protocol = Piecewise(bounds=(0, 1), window=window, inside=Fraction(cells + window, 2 * cells), cells=cells)
        inside, outside = protocol._densities()
        variances = []
        for start in range(cells - window + 1):
            law = [inside if start <= cell < start + window else outside for cell in range(cells)]
            mean = sum(p * cell for cell, p in enumerate(law))
            variances.append(sum(p * (cell - mean) ** 2 for cell, p in enumerate(law)))
        least = protocol._least_variance()
        assert least <= min(variances)
        if (cells - window) % 2 == 0:
            assert least == min(variances)


def test_the_closest_bounds_tell_numbers_apart() -> None:
    assert StochasticRounding.from_epsilon(1, bounds=(0, 5e-324))._levels([0, 5e-324, 1]).tolist() == [
        0,
        LEVELS,
        LEVELS,
    ]


class Contrary(float):
    """A number of a type of the user's own."""

    def __float__(self) -> float:
        raise RuntimeError

    def as_integer_ratio(self) -> tuple[int, int]:
        raise RuntimeError


def test_numbers_of_any_type_are_read_without_asking_it() -> None:
    protocol = StochasticRounding.from_epsilon(1, bounds=(0, 4))
    assert protocol._levels([Contrary(1), Contrary(math.inf), np.float32(2)]).tolist() == [
        *(LEVELS // 4, LEVELS, LEVELS // 2)
    ]


def test_a_mean_can_be_read() -> None:
    found = MeanEstimate(mean=3.0, n=100, population_standard_error=0.1, sample_standard_error=0.2, gain_per_fake=50)
    low, high = found.interval()
    assert high - low == pytest.approx(2 * 1.959964 * 0.2, rel=1e-5)
    assert found.moved_by(2) == 1
    assert "100 reports" in str(found)
    with pytest.raises(InvalidParameter):
        found.interval("everybody")  # type: ignore[arg-type]
    for kind in NUMERIC:
        empty = kind.from_epsilon(1, bounds=(0, 1))
        assert math.isfinite(empty.estimate(empty.empty()).mean)
