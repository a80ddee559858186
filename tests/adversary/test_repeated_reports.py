"""Repetition wears fresh noise off; a stored answer, a memo or a lifetime's budget does not wear off."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from lapwing.adversary.attacks.attack import repeatable, sure_of
from lapwing.adversary.attacks.averaging import AVERAGING, asked_again, average, majority, stored
from lapwing.adversary.attacks.bounds import best_guess
from lapwing.adversary.attacks.correlation import CORRELATION, correlated, streams_of, tomorrow
from lapwing.adversary.attacks.renewal import EMOJI, RENEWAL, daily_evidence, donated, renewal, sketch
from lapwing.adversary.attacks.repeated_reports import (
    CHROME,
    REPEATED_REPORTS,
    SITES,
    bit_odds,
    bits_set,
    evidence,
    fresh_reports,
    memoised_reports,
    repeated_reports,
    reported_again,
    survey,
)
from lapwing.crowd import Reports, UnaryEncoding
from lapwing.crowd.bits import unpack_rows
from lapwing.errors import InvalidParameter

FALSE_ALARM = 1e-6


def assert_share(won: list[float], expected: float) -> None:
    """As many hits as a coin of this probability has, but for one false alarm in a million."""
    hits, law = round(sum(won)), stats.binom(len(won), expected)
    assert min(law.cdf(hits), law.sf(hits - 1)) > FALSE_ALARM / 2


def test_the_average_of_fresh_noise_tells_as_much_as_theory_says() -> None:
    for each, times in ((1.0, 1), (0.1, 100), (0.1, 1001)):
        assert_share(list(asked_again(times, each, 2000, repeatable(times))), majority(times, each))


def test_a_majority_is_counted_exactly() -> None:
    truth = best_guess(1)
    assert majority(1, 1) == pytest.approx(truth)
    assert majority(2, 1) == pytest.approx(truth)  # one against one is a toss
    assert majority(3, 1) == pytest.approx(truth**3 + 3 * truth**2 * (1 - truth))


def test_a_stored_answer_is_attacked_exactly_as_well_as_the_bound_allows() -> None:
    for epsilon in (0.5, 2.0):
        assert_share(list(stored(epsilon, 4000, repeatable("stored", epsilon))), best_guess(epsilon))


def test_how_sure_follows_from_the_odds() -> None:
    learned = average([43], low=42, high=43, scale=1)
    assert (learned.guess, learned.sure) == (43, pytest.approx(best_guess(1)))
    assert average([10**6] * 99, low=42, high=43, scale=1).sure < 1
    assert sure_of(-2) == sure_of(2) == pytest.approx(best_guess(2))
    with pytest.raises(InvalidParameter, match="nothing to learn"):
        average([], low=0, high=1, scale=1)


def test_the_odds_of_memoised_bits_are_those_of_all_ways_to_make_them() -> None:
    """Two reports of one bit, all four outcomes: the likelihood by enumeration over the permanent coin."""
    for one, other in itertools.product((0, 1), repeat=2):

        def likelihood(is_set: bool, seen: tuple[int, int]) -> Fraction:
            total = Fraction(0)
            for kept in (True, False):
                side = CHROME.permanent_probability(is_set)
                chance = side if kept else 1 - side
                for bit in seen:
                    on = CHROME.instantaneous_probability(kept)
                    chance *= on if bit else 1 - on
                total += chance
            return total

        expected = math.log(likelihood(True, (one, other)) / likelihood(False, (one, other)))
        assert bit_odds(np.array([one + other]), 2, CHROME, memoised=True)[0] == pytest.approx(expected)
    single = [bit_odds(np.array([1]), 1, CHROME, memoised=memo)[0] for memo in (True, False)]
    assert single[0] == pytest.approx(single[1])  # of one report nobody can tell whether it was memoised


def test_however_many_reports_a_memo_never_says_more_than_its_permanent_response() -> None:
    odds = [abs(bit_odds(np.array([ones]), 10**4, CHROME, memoised=True)[0]) for ones in (0, 2500, 7500, 10**4)]
    assert max(odds) <= math.log(3) + 1e-9  # (1 − f/2)/(f/2), f = ½
    assert abs(bit_odds(np.array([10**4]), 10**4, CHROME, memoised=False)[0]) > 1000


def test_reports_without_a_memo_give_the_bloom_bits_away() -> None:
    rows = fresh_reports(CHROME, SITES[3], 1000, repeatable("bits"))
    ones = unpack_rows(rows, CHROME.width).sum(axis=0, dtype=np.int64)
    found = np.flatnonzero(bit_odds(ones, 1000, CHROME, memoised=False) > 0)
    assert found.tolist() == sorted(set(CHROME.set_places(0, SITES[3])))
    learned = repeated_reports(rows, SITES, CHROME, memoised=False)
    assert learned.guess == SITES[3]
    assert 0.999 < learned.sure < 1


def test_the_lifetime_of_a_survey_is_what_was_asked_for() -> None:
    for epsilon in (0.1, 1, 8):
        assert float(survey(epsilon).lifetime_loss().epsilon) == pytest.approx(epsilon, rel=1e-6)
    rows = memoised_reports(survey(1), SITES[0], 10**4, repeatable("kept"))
    scores = evidence(rows, bits_set(SITES, survey(1)), survey(1))
    assert scores.max() - scores.min() <= 1 + 1e-9


def test_a_memo_holds_where_fresh_coins_fall() -> None:
    lifetime = float(CHROME.lifetime_loss().epsilon)
    fresh = reported_again(100, CHROME, 60, repeatable("fresh"), memoised=False)
    kept = reported_again(100, CHROME, 60, repeatable("kept"), memoised=True)
    assert np.mean(fresh) == 1
    assert np.mean(kept) < best_guess(lifetime, prior=Fraction(1, 16))
    with pytest.raises(InvalidParameter, match="nothing to learn"):
        repeated_reports(np.zeros((0, 1), dtype=np.uint64), SITES, CHROME)


def test_evidence_of_a_day_is_the_likelihood_of_its_report() -> None:
    """For one report: the ratio of P(report | candidate) between candidates, bit by bit."""
    day = sketch(2).randomize([EMOJI[2]], repeatable("day"))
    assert isinstance(day, Reports)
    [scores] = daily_evidence(day, EMOJI)
    flip, bits = float(sketch(2).flip), unpack_rows(day.column("bits"), 128)[0]
    from lapwing.crowd import hashing

    function = hashing.rows(1024, sketch(2)._salt)[:, day.column("function")]
    for place, emoji in enumerate(EMOJI):
        [cell] = hashing.cells(hashing.hashed_items([emoji], sketch(2)._salt), function, 128)
        clean = np.where(np.arange(128) == cell, bits == 1, bits == 0)  # as the cell would be without any flip
        log = float(np.where(clean, math.log(1 - flip), math.log(flip)).sum())
        nobody = float(np.where(bits == 0, math.log(1 - flip), math.log(flip)).sum())
        assert scores[place] == pytest.approx(log - nobody)


def test_a_renewed_budget_wears_off_and_a_lifetimes_does_not() -> None:
    by_day = donated(30, 2, 400, repeatable("renewed")).mean(axis=0)
    assert by_day[0] < best_guess(2, prior=Fraction(1, 8))
    assert by_day[29] > 0.99
    contest = RENEWAL.run(rounds=300, epsilons=[1, 8])
    assert contest.holds
    assert contest.weak[-1].success > 0.97
    assert contest.private[0].success < 0.35
    with pytest.raises(InvalidParameter, match="nothing to learn"):
        renewal(sketch(1).randomize([], repeatable("none")), EMOJI)
    with pytest.raises(InvalidParameter, match="count-mean"):
        renewal(UnaryEncoding.from_epsilon(1, domain=3).randomize([1]), [1])


def test_streams_about_one_secret_add_up() -> None:
    source = repeatable("streams")
    streams = streams_of(5, 3, CHROME, source)
    scores = sum(evidence(rows, bits_set(SITES, CHROME), CHROME) for rows, _ in streams)
    learned = correlated(streams, CHROME)
    assert learned.guess == SITES[int(np.argmax(scores))]
    weights = np.exp(scores - np.max(scores))
    assert learned.sure == pytest.approx(1 / weights.sum())
    with pytest.raises(InvalidParameter, match="same secrets"):
        correlated([(streams[0][0], SITES), (streams[1][0], SITES[:3])], CHROME)


def test_a_value_that_moves_in_a_known_way_is_followed() -> None:
    streams = streams_of(15, 16, CHROME, repeatable("moving"), moving=True)
    assert [answers[15] for _, answers in streams[:3]] == [SITES[15], SITES[0], SITES[1]]
    assert tomorrow(0) == list(SITES)
    assert correlated(streams, CHROME).guess == SITES[15]


def test_budgets_of_their_own_fall_and_a_shared_one_holds() -> None:
    contest = CORRELATION.run(rounds=80, epsilons=[1])
    two, four, twelve, moving = [score.success for score in contest.weak]
    assert two < four < twelve
    assert min(twelve, moving) > 0.9
    one = float(CHROME.lifetime_loss().epsilon)  # what each metric promises by itself is exceeded by all together
    assert twelve > best_guess(one, prior=Fraction(1, 16))
    assert contest.holds
    assert contest.private[0].success < 0.3


@pytest.mark.parametrize("attack", [AVERAGING, REPEATED_REPORTS, RENEWAL, CORRELATION], ids=lambda attack: attack.name)
def test_the_example_knows_the_truth_and_gets_surer(attack: object) -> None:
    told = attack.tell(repeatable("told"))  # type: ignore[attr-defined]
    assert len({one.truth for one in told}) == 1
    assert told[-2].guess == told[-2].truth
    assert told[-2].sure > 0.99 > told[-1].sure
