"""Sums give a column away, private sums do not; and the attacker's confidence is worth what it says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, stats

from lapwing.adversary.attacks.attack import repeatable
from lapwing.adversary.attacks.bounds import best_guess
from lapwing.adversary.attacks.reconstruction import (
    METHODS,
    RECONSTRUCTION,
    _least_absolute,
    added_up,
    least_squares,
    random_queries,
    reconstruct,
    shared,
)
from lapwing.errors import InvalidParameter
from lapwing.noise import bernoulli, discrete_laplace, uniform_below

FALSE_ALARM = 1e-6
FAR = float(stats.norm.isf(FALSE_ALARM / 2))


@pytest.mark.parametrize("method", METHODS)
def test_exact_sums_give_every_bit_away_with_certainty(method: str) -> None:
    source = repeatable("exact")
    queries, truth = random_queries(40, 60, source), bernoulli(0.5, 40, source).astype(int)
    found = reconstruct(queries, queries @ truth, method=method, noise=0)
    assert found.bits.tolist() == truth.tolist()
    assert (found.sure == 1).all()
    names = [f"n{i}" for i in range(40)]
    assert [(one.about, one.guess, one.truth) for one in found.learned(names, truth)][3] == ("n3", truth[3], truth[3])


def test_what_no_sum_tells_apart_stays_a_guess() -> None:
    found = reconstruct([[1, 1, 0], [1, 1, 1]], [1, 2], noise=0)
    assert found.sure[2] == 1
    assert found.sure[:2] == pytest.approx([0.5, 0.5], abs=1e-3)


def test_what_is_not_known_of_others_counts_as_noise() -> None:
    """A sum of two fair coins: for each the other adds a quarter to the variance."""
    for queries, answer, variance in (([[1]], 1, 9.0), ([[1, 1]], 2, 9.25)):
        found = reconstruct(queries, [answer], noise=3, method=METHODS[1])
        odds = (answer - (len(queries[0]) - 1) / 2 - 0.5) / variance
        assert found.sure == pytest.approx(np.full(len(queries[0]), 1 / (1 + math.exp(-odds))))


def test_the_linear_program_minimises_the_sum_of_absolute_errors() -> None:
    """One wild answer among exact ones is ignored by it, not by least squares."""
    source = repeatable("outlier")
    queries, truth = random_queries(20, 100, source), bernoulli(0.5, 20, source).astype(int)
    answers = (queries @ truth).astype(float)
    answers[:8] += 400
    assert (reconstruct(queries, answers, method=METHODS[0]).bits == truth).all()
    assert (reconstruct(queries, answers, method=METHODS[1]).bits != truth).any()


def test_how_sure_is_how_often_right() -> None:
    """Over many tables the expected share of right bits is the share that is right."""
    source = repeatable("calibrated")
    people, queries, tables = 24, random_queries(24, 96, repeatable("calibrated queries")), 200
    right, expected = [], []
    for _ in range(tables):
        truth = bernoulli(0.5, people, source)
        answers = queries @ truth + discrete_laplace(4, len(queries), source)
        found = reconstruct(queries, answers, noise=math.sqrt(32), method=METHODS[1])
        right.append(float(np.mean(found.bits == truth)))
        expected.append(found.expected)
    gap = np.array(right) - np.array(expected)
    assert 0.6 < np.mean(right) < 0.95
    assert abs(gap.mean()) < FAR * gap.std(ddof=1) / math.sqrt(tables) + 0.01  # the law of an estimate is not normal


def test_where_program_and_least_squares_disagree_nothing_is_made_of_it() -> None:
    """Bounded errors, for which the program is the worse of the two: what it gets wrong, it is not half sure of."""
    source, right, expected = repeatable("bounded"), [], []
    for _ in range(25):
        queries, truth = random_queries(32, 320, source), bernoulli(0.5, 32, source)
        found = reconstruct(queries, queries @ truth + uniform_below(7, 320, source) - 3)
        right += (found.bits == truth).tolist()
        expected += found.sure.tolist()
    gap = np.array(right) - np.array(expected)
    assert abs(gap.mean()) < FAR * gap.std(ddof=1) / math.sqrt(len(gap)) + 0.01


def test_many_tables_at_once_are_found_as_one_by_one() -> None:
    source = repeatable("columns")
    queries, truth = random_queries(16, 64, source), bernoulli(0.5, 16 * 5, source).reshape(16, 5)
    answers = queries @ truth + discrete_laplace(3, 64 * 5, source).reshape(64, 5)
    together = least_squares(queries, answers, noise=4)
    for place in range(5):
        alone = reconstruct(queries, answers[:, place], noise=4, method=METHODS[1])
        assert alone.bits.tolist() == together[:, place].tolist()


def test_one_bit_moves_the_private_sums_by_no_more_than_their_sensitivity() -> None:
    queries = random_queries(30, 50, repeatable("sensitivity"))
    noise = shared(queries, 2.0)
    assert queries.sum(axis=0).max() == noise.sensitivity
    assert float(noise.privacy_loss().epsilon) <= 2


def test_the_contest_breaks_what_is_weak_and_reaches_the_bound_of_what_is_private() -> None:
    contest = RECONSTRUCTION.run(rounds=60, epsilons=[0.5, 2])
    exact, *noisy = [score.success for score in contest.weak]
    assert exact == 1
    assert min(noisy) > 0.8
    assert contest.holds
    for score in contest.private:
        chance = best_guess(score.epsilon)
        assert abs(score.success - chance) < FAR * math.sqrt(chance * (1 - chance) / (60 * 32))


def test_private_sums_are_as_exact_as_sums_of_noisy_bits() -> None:
    """However many they are, the errors are those of one bit's noise for each member: √n, not the number of sums."""
    queries, bits = random_queries(32, 2000, repeatable("wide")), np.zeros(32, dtype=int)
    tables = np.array([added_up(queries, bits, 1.0, repeatable(number)) for number in range(40)])
    noisy = np.linalg.lstsq(queries, tables.T, rcond=None)[0]
    assert np.allclose(noisy, np.round(noisy), atol=1e-6)  # nothing but whole noise in every bit
    variance = 2 * math.exp(-1) / (1 - math.exp(-1)) ** 2
    assert noisy.var() == pytest.approx(variance, rel=0.5)


def test_the_dual_program_finds_what_the_program_itself_does() -> None:
    """min Σ|a − Qx|, written out with an error above and one below each answer."""
    source = repeatable("dual")
    queries = random_queries(8, 30, source).astype(float)
    answers = queries @ bernoulli(0.5, 8, source) + discrete_laplace(2, 30, source)
    left, cost = np.hstack([queries, np.eye(30), -np.eye(30)]), np.repeat([0.0, 1.0], [8, 60])
    primal = optimize.linprog(cost, A_eq=left, b_eq=answers, bounds=[(0, 1)] * 8 + [(0, None)] * 60)
    found = _least_absolute(queries, answers)
    assert found.min() > -1e-9
    assert found.max() < 1 + 1e-9
    assert np.abs(answers - queries @ found).sum() == pytest.approx(primal.fun)


def test_bad_input_is_explained() -> None:
    with pytest.raises(InvalidParameter, match="a row for every answer"):
        reconstruct([[1, 0]], [1, 2])
    with pytest.raises(InvalidParameter, match="noise=0"):
        reconstruct([[1, 0]], [1])
    with pytest.raises(InvalidParameter, match="missing"):
        reconstruct([[1, 0]], [math.nan], noise=0)
    with pytest.raises(InvalidParameter, match="least squares"):
        reconstruct([[1, 0]], [1], noise=0, method="magic")
