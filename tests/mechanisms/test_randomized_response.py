"""Randomized response: three forms of one thing, exact probabilities, honest estimates."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from cases import together
from chance import assert_mean, assert_share

from lapwing.errors import InvalidParameter
from lapwing.mechanisms import RandomizedResponse
from lapwing.noise.arrays import unpack

FORMS = [
    RandomizedResponse.from_coins(0.5, 0.5),
    RandomizedResponse.from_coins(0.3, 0.8),
    RandomizedResponse.from_gamma(0.9),
    RandomizedResponse.from_epsilon(1),
    RandomizedResponse(yes_if_yes=Fraction(2, 3), yes_if_no=Fraction(1, 7)),
]


def test_fair_coins_and_a_lying_coin_of_three_quarters_are_the_same() -> None:
    coins, lie = RandomizedResponse.from_coins(0.5, 0.5), RandomizedResponse.from_gamma(0.75)
    assert coins == lie
    assert float(coins.privacy_loss().epsilon) == pytest.approx(math.log(3))
    assert coins.privacy_loss().relation == "replace"


def test_forms_convert_into_one_another() -> None:
    for mechanism in FORMS:
        again = RandomizedResponse.from_coins(mechanism.alpha, mechanism.beta)
        assert (again.yes_if_yes, again.yes_if_no) == (mechanism._if_yes, mechanism._if_no)
    assert RandomizedResponse.from_gamma(0.9).gamma == Fraction(0.9)
    assert RandomizedResponse.from_gamma(0.9).beta == Fraction(1, 2)
    assert RandomizedResponse.from_coins(0.5, 0.5).gamma == Fraction(3, 4)
    with pytest.raises(InvalidParameter, match="alike"):
        _ = RandomizedResponse.from_coins(0.3, 0.8).gamma


@pytest.mark.parametrize("mechanism", FORMS, ids=str)
def test_the_stated_epsilon_is_the_largest_ratio_rounded_up(mechanism: RandomizedResponse) -> None:
    yes, no = mechanism._if_yes, mechanism._if_no
    ratio = max(a / b for a, b in ((yes, no), (no, yes), (1 - yes, 1 - no), (1 - no, 1 - yes)))
    with mpmath.workdps(50):
        truth = mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator)
        stated = mechanism.privacy_loss().epsilon
        assert truth <= mpmath.mpf(stated.numerator) / stated.denominator <= truth + mpmath.mpf("1e-25")


@together("epsilon", [1e-9, 0.01, math.log(3), 1, 5, 20, 44, 60, 5000, Fraction(1, 3)])
def test_an_epsilon_is_met_from_below(epsilon: float) -> None:
    stated = RandomizedResponse.from_epsilon(epsilon).privacy_loss().epsilon
    assert stated <= Fraction(epsilon)
    if epsilon <= 20:
        assert stated > Fraction(epsilon) * (1 - Fraction(1, 10**8))


@pytest.mark.parametrize("mechanism", FORMS, ids=str)
@pytest.mark.parametrize("truth", [True, False])
def test_answers_have_exactly_the_stated_probabilities(mechanism: RandomizedResponse, truth: bool) -> None:
    p = float(mechanism._if_yes if truth else mechanism._if_no)
    assert_share(sum(mechanism.release(truth) for _ in range(10_000)), 10_000, p)
    assert_share(sum(mechanism.release([truth] * 200).count(True) for _ in range(50)), 10_000, p)
    assert_share(mechanism.release(np.full(100_000, truth)).sum(), 100_000, p)
    assert_share(sum(mechanism.release([truth] * 100_000)), 100_000, p)
    words = np.full(2000, ~np.uint64(0) if truth else np.uint64(0))
    assert_share(unpack(mechanism.release_bits(words, 127_990), 127_990).sum(), 127_990, p)


@pytest.mark.parametrize("mechanism", FORMS[:2], ids=str)
def test_each_answer_follows_its_own_truth(mechanism: RandomizedResponse) -> None:
    truths = np.arange(64_000) % 3 == 0
    answers = mechanism.release(truths)
    assert answers.shape == truths.shape
    assert_share(answers[truths].sum(), truths.sum(), float(mechanism._if_yes))
    assert_share(answers[~truths].sum(), (~truths).sum(), float(mechanism._if_no))
    assert mechanism.release(truths.reshape(100, 640)).shape == (100, 640)
    neighbours = answers[1:] != answers[:-1]  # independent flips: no pattern inside a word
    same = truths[1:] == truths[:-1]
    no = float(mechanism._if_no)
    assert_share(neighbours[same & ~truths[1:]].sum(), (same & ~truths[1:]).sum(), 2 * no * (1 - no))


def test_spare_bits_come_back_as_zero_and_wrong_words_are_refused() -> None:
    for mechanism in FORMS:
        for size in (1, 63, 64, 65, 130):
            words = np.full(-(-size // 64), ~np.uint64(0))
            answers = mechanism.release_bits(words, size)
            assert size % 64 == 0 or int(answers[-1]) >> (size % 64) == 0
            assert (words == ~np.uint64(0)).all()
    for words, size in (
        (np.zeros(2, np.uint64), 64),
        (np.zeros(1, np.int64), 64),
        ([0], 64),
        (np.zeros(1, np.uint64), -1),
    ):
        with pytest.raises(InvalidParameter):
            FORMS[0].release_bits(words, size)  # type: ignore[arg-type]


def test_whatever_is_not_yes_is_no() -> None:
    sure = RandomizedResponse.from_epsilon(5000)  # wrong once in 2^64
    strange = [None, 0, 2, math.nan, "yes", [], np.False_, "1"]
    assert sure.release(strange) == [False] * len(strange)
    assert sure.release([True, 1, 1.0, np.True_, np.int8(1)]) == [True] * 5
    assert sure.release(np.array([1.0, 0.0, np.nan])).tolist() == [True, False, False]
    assert sure.release(None) is False
    assert sure.release(np.array([True, None, "x"], dtype=object)).tolist() == [True, False, False]
    assert sure.release([]) == []


def test_the_estimate_undoes_the_coins() -> None:
    survey = RandomizedResponse.from_coins(0.5, 0.5)
    assert survey.estimate(450, n=1000).share == pytest.approx(2 * (0.45 - 0.25))
    assert survey.estimate(200, n=1000).share == pytest.approx(-0.1)
    assert survey.estimate(200, n=1000, clip=True).share == 0
    assert survey.estimate(900, n=1000, clip=True).share == 1
    answers = [True] * 45 + [False] * 55
    assert survey.estimate(answers) == survey.estimate(45, n=100) == survey.estimate(np.array(answers))


def test_both_standard_errors_are_the_textbook_ones() -> None:
    estimate = RandomizedResponse.from_coins(0.5, 0.5).estimate(450, n=1000)
    assert estimate.population_standard_error == pytest.approx(math.sqrt(0.75 / 1000))
    assert estimate.sample_standard_error == pytest.approx(math.sqrt(0.45 * 0.55 / 1000) / 0.5)
    gap = estimate.sample_standard_error**2 - estimate.population_standard_error**2
    assert gap == pytest.approx(0.4 * 0.6 / 1000)
    gamma = 0.9
    lie = RandomizedResponse.from_gamma(gamma).estimate(300, n=1000)
    assert lie.population_standard_error == pytest.approx(math.sqrt(gamma * (1 - gamma) / 1000) / (2 * gamma - 1))
    low, high = estimate.population_interval
    assert (low + high) / 2 == pytest.approx(0.4)
    assert high - low == pytest.approx(2 * 1.959964 * math.sqrt(0.75 / 1000))


def test_estimates_of_a_fixed_population_are_unbiased_with_the_stated_error() -> None:
    survey = RandomizedResponse.from_coins(0.4, 0.3)
    truths = np.arange(2000) < 400
    estimates = [survey.estimate(int(survey.release(truths).sum()), n=2000) for _ in range(2000)]
    variance = estimates[0].population_standard_error ** 2
    assert_mean([estimate.share for estimate in estimates], 0.2, variance * 1.02)
    covered = sum(low <= 0.2 <= high for low, high in (estimate.population_interval for estimate in estimates))
    assert_share(covered, 2000, 0.95)
    beyond = sum(abs(estimate.share - 0.2) > survey.accuracy(0.9, n=2000) for estimate in estimates)
    assert beyond <= 200


def test_intervals_for_sampled_respondents_cover_their_source() -> None:
    survey, rng = RandomizedResponse.from_coins(0.5, 0.5), np.random.default_rng(3)
    covered = 0
    for _ in range(2000):
        truths = rng.random(600) < 0.2
        low, high = survey.estimate(int(survey.release(truths).sum()), n=600).sample_interval
        covered += low <= 0.2 <= high
    assert_share(covered, 2000, 0.95)


def test_accuracy_variance_and_solving() -> None:
    survey = RandomizedResponse.from_coins(0.5, 0.5)
    assert survey.variance == pytest.approx(0.75)
    assert survey.accuracy(0.95, n=1000) == pytest.approx(math.sqrt(math.log(40) / 2000) / 0.5)
    solved = RandomizedResponse.solve(within=0.05, n=10_000)
    assert solved.accuracy(0.95, n=10_000) <= 0.05
    assert float(solved.privacy_loss().epsilon) == pytest.approx(0.5573, abs=1e-6)
    assert pickle.loads(pickle.dumps(solved)) == solved


@together(
    "make",
    [
        lambda: RandomizedResponse.from_epsilon(0),
        lambda: RandomizedResponse.from_epsilon(-1),
        lambda: RandomizedResponse.from_epsilon(math.nan),
        lambda: RandomizedResponse.from_epsilon("1"),  # type: ignore[arg-type]
        lambda: RandomizedResponse.from_epsilon(1e-30),
        lambda: RandomizedResponse.from_gamma(0.5),
        lambda: RandomizedResponse.from_gamma(1),
        lambda: RandomizedResponse.from_coins(0),
        lambda: RandomizedResponse.from_coins(1),
        lambda: RandomizedResponse.from_coins(0.5, 0),
        lambda: RandomizedResponse.from_coins(0.5, 1),
        lambda: RandomizedResponse(yes_if_yes=0.3, yes_if_no=0.3),
        lambda: RandomizedResponse(yes_if_yes=0.75, yes_if_no=0.25, relation="add_remove"),
        lambda: FORMS[0].estimate(11, n=10),
        lambda: FORMS[0].estimate(1, n=0),
        lambda: FORMS[0].estimate([]),
        lambda: FORMS[0].accuracy(1),
        lambda: FORMS[0].accuracy(0.9, n=0),
    ],
)
def test_bad_parameters_are_refused(make: Any) -> None:
    with pytest.raises(InvalidParameter):
        make()


def test_one_answer_that_is_text_is_refused_whatever_it_says() -> None:
    for mechanism in (RandomizedResponse.from_epsilon(1), RandomizedResponse.from_coins(0.5, 0.1)):
        messages = set()
        for text in ("yes", "no", "", b"1"):
            with pytest.raises(InvalidParameter, match="is text") as caught:
                mechanism.release(text)
            messages.add(str(caught.value))
        assert len(messages) == 1


def test_an_estimate_reads_as_a_sentence() -> None:
    estimate = RandomizedResponse.from_gamma(0.75).estimate(450, n=1000)
    assert str(estimate) == "40.0 % (33.9 % to 46.2 % at 95 % confidence, 1000 answers)"
    with pytest.raises(InvalidParameter, match="n=1000"):
        RandomizedResponse.from_gamma(0.75).estimate(450)
