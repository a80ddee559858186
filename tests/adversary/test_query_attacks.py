from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from cases import together

from lapwing.adversary.attacks.bounds import best_guess, limits
from lapwing.adversary.attacks.cells import noisy_sums, posterior, private_sums, values_behind
from lapwing.adversary.attacks.denials import (
    MAX_DENIALS,
    SUM_DENIALS,
    _largest_move,
    largest_by_refusals,
    table_by_refusals,
)
from lapwing.adversary.attacks.differencing import DIFFERENCING, differencing
from lapwing.adversary.attacks.overlap import OVERLAP, overlap, rows_and_columns
from lapwing.adversary.attacks.tracker import TRACKER, find_tracker, general_tracker, individual_tracker
from lapwing.anonymity.query_auditing import ExhaustiveAuditor, MaxAuditor
from lapwing.anonymity.restriction import Refused, RestrictedQueries, queries_needed, where
from lapwing.errors import InvalidParameter
from lapwing.noise import Reproducible

FALSE_ALARM = 1e-6
ATTACKS = (DIFFERENCING, TRACKER, OVERLAP, SUM_DENIALS, MAX_DENIALS)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_the_older_method_falls_and_the_private_answer_stays_within_the_bound(attack):
    contest = attack.run(rounds=300, epsilons=[0.5, 2])
    assert all(score.success >= 0.95 for score in contest.weak)
    for score in contest.private:
        low, _ = limits(score.success, score.rounds, FALSE_ALARM)
        assert low <= score.bound < 1


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_every_attack_can_be_told(attack):
    told = attack.tell(Reproducible(7))
    assert all(one.guess == one.truth for one in told if one.sure == 1)
    assert told[0].sure == 1
    assert told[-1].sure < 1
    assert all(str(one) for one in told)


@pytest.mark.parametrize("attack", [DIFFERENCING, TRACKER, OVERLAP], ids=lambda attack: attack.name)
def test_against_sums_of_noisy_cells_the_attack_reaches_the_bound(attack):
    rounds = 1500
    reached = sum(attack.private(1.0, rounds, Reproducible(5))) / rounds
    low, high = limits(reached, rounds, FALSE_ALARM / 2)
    assert low <= best_guess(1) <= high
    assert low > 0.6


@pytest.mark.parametrize("errors", [1, 2])
def test_how_sure_a_difference_is_comes_from_the_true_probabilities(errors):
    scale, width = 1.5, 80
    one = np.exp(-np.abs(np.arange(-width, width + 1)) / scale)
    law = one if errors == 1 else np.convolve(one, one, mode="same")
    for gap in range(-6, 8):
        yes, no = law[width + gap - 1], law[width + gap]
        learned = differencing(gap, 0, noise=scale, errors=errors)
        assert math.isclose(learned.sure, max(yes, no) / (yes + no), rel_tol=1e-9)
        assert learned.guess == int(yes > no)


def test_trackers_answer_every_group_that_is_refused():
    rng = np.random.default_rng(2)
    table = {name: rng.integers(0, 4, 40).tolist() for name in ("job", "city")}
    table |= {"sex": rng.integers(0, 2, 40).tolist(), "pay": rng.integers(0, 1000, 40).tolist()}
    queries, truth = RestrictedQueries(table, smallest=8), RestrictedQueries(table)
    tracker = find_tracker(queries.count, [where(job=0), where(sex=0)], smallest=8)
    assert str(tracker) == "sex is 0"

    def ask(group):
        return queries.sum("pay", group)

    groups = [where(job=job, city=city) for job, city in product(range(4), repeat=2)]
    refused = [group for group in groups + [~group for group in groups] if isinstance(ask(group), Refused)]
    assert len(refused) > 20
    for group in refused:
        assert general_tracker(ask, group, tracker=tracker).guess == truth.sum("pay", group)
    both = where(sex=1) & where(job=2, city=3)
    assert isinstance(ask(both), Refused)
    assert individual_tracker(ask, broad=where(sex=1), narrow=where(job=2, city=3)).guess == truth.sum("pay", both)


def test_a_tracker_that_is_refused_itself_is_no_tracker():
    queries = RestrictedQueries({"who": range(12)}, smallest=3)
    assert find_tracker(queries.count, [where(who=range(5))], smallest=3) is None
    with pytest.raises(InvalidParameter, match="find_tracker"):
        general_tracker(queries.count, where(who=0), tracker=where(who=range(2)))


@together("size", [2, 3, 5, 8])
def test_rows_and_columns_need_no_more_questions_than_the_theorem_demands(size):
    groups = rows_and_columns(size)
    assert len(groups) == queries_needed(smallest=size, largest_overlap=1)
    assert all(len(group) == size for group in groups)
    assert all(len(set(one) & set(other)) <= 1 for one, other in combinations(groups, 2))
    people = 1 + size * (size - 1)
    values = [Fraction(one * one, 3) for one in range(7, 7 + people)]
    found = overlap(groups, [sum(values[one] for one in group) for group in groups], people=people)
    assert found[0].guess == values[0]
    assert len(found) == (1 if size > 2 else 3)


def test_an_auditor_of_maxima_who_looks_gives_a_third_of_all_values_away():
    pay = np.random.default_rng(4).permutation(300).tolist()
    found = largest_by_refusals(MaxAuditor(pay, simulatable=False).ask, people=300)
    assert len(found) == 100
    assert all(one.guess == pay[int(one.about.removeprefix("person "))] for one in found)
    assert not largest_by_refusals(MaxAuditor(pay).ask, people=300)


def test_a_maximum_that_two_people_share_is_not_attributed():
    assert not largest_by_refusals(MaxAuditor([3, 3, 1], simulatable=False).ask, people=3)


def test_an_auditor_of_sums_who_looks_gives_the_whole_table_away():
    open_tables = 0
    for values in product((0, 1), repeat=7):
        found = table_by_refusals(ExhaustiveAuditor(values, domain=(0, 1), simulatable=False).ask, people=7)
        guessed = tuple(one.guess for one in found)
        if found[0].sure == 1:
            assert guessed == values
        else:
            open_tables += 1
            assert guessed in (values, tuple(1 - value for value in values))
    # all equal, or fewer than three runs of answered neighbours: 2·(1 + 1 + 6) of 128
    assert open_tables == 16


def test_a_simulatable_auditor_refuses_every_pair_whatever_the_values():
    for values in product((0, 1), repeat=4):
        auditor = ExhaustiveAuditor(values, domain=(0, 1))
        assert all(isinstance(auditor.ask(pair), Refused) for pair in combinations(range(4), 2))


def test_without_noise_private_sums_would_be_the_sums():
    values, groups = [1, 0, 1, 1], [[1, 1, 1, 1], [0, 1, 1, 1], [1, 0, 1, 0]]
    assert private_sums(values, groups, epsilon=10**6, entropy=Reproducible(1)) == [3, 2, 2]


def test_private_sums_agree_with_one_another():
    everybody, first, rest = [1] * 6, [1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 1, 1]
    total, one, other = private_sums([1] * 6, [everybody, first, rest], epsilon=0.1, entropy=Reproducible(2))
    assert total == one + other != 6


def test_the_attacker_knows_how_sure_it_is():
    """The mean of what Bayes' rule says is the success it has."""
    rounds, groups = 3000, [[0, 1], [1, 2]]
    people = np.random.default_rng(1).random((rounds, 3)) < 0.5
    noisy, scale = noisy_sums(people, groups, epsilon=3, entropy=Reproducible(3))
    yes = values_behind(noisy, groups, scale=scale)
    for one in range(3):
        hits = float(((yes[:, one] > 0.5) == people[:, one]).mean())
        low, high = limits(hits, rounds, FALSE_ALARM / 6)
        assert 0.6 < low <= np.maximum(yes, 1 - yes)[:, one].mean() <= high


def test_tables_that_fit_equally_well_are_equally_likely():
    (chances,) = posterior([[0, 5]], [[0, 4], [1, 5], [0, 5]], scale=1 / math.log(2))
    assert chances == pytest.approx([0.25, 0.25, 0.5])


def test_noise_is_as_large_as_the_groups_somebody_is_in():
    people = np.ones((2000, 3), bool)
    noisy, scale = noisy_sums(people, [[0, 1], [0, 2], [0]], epsilon=0.5, entropy=Reproducible(4))
    assert scale == 6
    variance = 2 * math.exp(-1 / 6) / (1 - math.exp(-1 / 6)) ** 2
    assert 0.8 < ((noisy - [2, 2, 1]) ** 2).mean() / variance < 1.2


def test_maxima_move_by_two_grades_at_most_if_two_people_exchange_their_pay():
    assert _largest_move() == 2000


def test_what_is_no_number_is_explained():
    with pytest.raises(InvalidParameter, match="Refused"):
        differencing(Refused("too few"), 3)
    with pytest.raises(InvalidParameter, match="errors=2"):
        differencing(4, 3, noise=1, errors=3)
    with pytest.raises(InvalidParameter, match="one answer for each group"):
        overlap([[0, 1]], [1, 2], people=2)
    assert differencing(4, 3, noise=1e-9).sure < 1  # noise never makes certain
    assert differencing(4, 3, noise=1e20).sure == pytest.approx(0.5)
