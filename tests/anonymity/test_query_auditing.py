from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from cases import together

from lapwing.anonymity.query_auditing import (
    ExhaustiveAuditor,
    LinearAnswers,
    MaxAuditor,
    SumAuditor,
    determined_by_maxima,
    determined_by_sums,
)
from lapwing.anonymity.restriction import Refused
from lapwing.errors import InvalidParameter

PEOPLE = 5


def questions(seed, count, people=PEOPLE):
    rng = np.random.default_rng(seed)
    drawn = rng.random((count, people)) < rng.uniform(0.3, 0.9)
    return [sorted(np.flatnonzero(row).tolist()) for row in drawn if row.any()]


@together("seed", range(60))
def test_sums_determine_what_no_other_table_with_the_same_sums_changes(seed):
    """Other tables differ by whole numbers of at most 3 (minors of a 0/1 matrix of rank 4), if by anything."""
    groups = questions(seed, 1 + seed % 5)
    steps = np.array(list(product(range(-3, 4), repeat=PEOPLE)))
    matrix = np.array([[int(one in group) for one in range(PEOPLE)] for group in groups])
    same = steps[(steps @ matrix.T == 0).all(axis=1)]
    values = [7, -2, 3, 11, 5]
    found = determined_by_sums(groups, [sum(values[one] for one in group) for group in groups], people=PEOPLE)
    fixed = np.flatnonzero((same == 0).all(axis=0)).tolist()
    assert found == {one: values[one] for one in fixed}


@together("seed", range(40))
def test_the_auditor_of_sums_refuses_exactly_what_would_determine_a_value(seed):
    values, answered = [4, 8, 15, 16, 23, 42], []
    auditor = SumAuditor(values)
    for group in questions(seed, 12, people=6):
        then = determined_by_sums([*answered, group], [0] * (len(answered) + 1), people=6)
        assert auditor.allows(group) == (not then)
        answer = auditor.ask(group)
        assert isinstance(answer, Refused) if then else answer == sum(values[one] for one in group)
        if not then:
            answered.append(group)


def test_refusals_of_sums_do_not_depend_on_the_values():
    asked = questions(3, 15)
    told = [[isinstance(auditor.ask(group), Refused) for group in asked] for auditor in _auditors()]
    assert told[0] == told[1]
    assert any(told[0])
    assert not all(told[0])


def _auditors():
    return SumAuditor([0] * PEOPLE), SumAuditor([9, 1, 5, 2, 7])


def test_elimination_is_exact_where_doubles_are_not():
    people = 40
    rng = np.random.default_rng(8)
    groups = [np.flatnonzero(row).tolist() for row in rng.random((people, people)) < 0.5]
    values = [Fraction(int(one), 7) for one in rng.integers(0, 10**12, people)]
    found = determined_by_sums(groups, [sum(values[one] for one in group) for group in groups], people=people)
    assert found == dict(enumerate(values))


def test_a_sum_that_contradicts_the_others_is_refused_as_input():
    with pytest.raises(InvalidParameter, match="contradicts"):
        determined_by_sums([[0, 1], [0, 1]], [1, 2], people=2)
    with pytest.raises(InvalidParameter, match="from 0 to 2"):
        LinearAnswers(3).reduced([3])


@together("seed", range(60))
def test_maxima_determine_what_no_other_table_with_the_same_maxima_changes(seed):
    rng = np.random.default_rng(1000 + seed)
    values, groups = rng.integers(1, 4, PEOPLE), questions(seed, 1 + seed % 6)
    answers = [int(values[group].max()) for group in groups]
    tables = np.array(list(product(range(5), repeat=PEOPLE)))  # 0 lies below, 4 above everything
    for group, answer in zip(groups, answers, strict=True):
        tables = tables[tables[:, group].max(axis=1) == answer]
    certain = np.flatnonzero((tables == tables[0]).all(axis=0))
    assert determined_by_maxima(groups, answers) == {int(one): int(values[one]) for one in certain}


@pytest.mark.parametrize("simulatable", [False, True])
@together("seed", range(25))
def test_the_auditor_of_maxima_decides_as_trying_every_table_does(seed, simulatable):
    """Even values, and all numbers between, below and above them to try: as good as all real numbers."""
    values = 2 * np.random.default_rng(seed).integers(2, 5, 4)
    auditor, tables = MaxAuditor(values.tolist(), simulatable=simulatable), np.array(list(product(range(11), repeat=4)))
    for group in questions(seed, 8, people=4):
        answers, truth = tables[:, group].max(axis=1), values[group].max()
        thinkable = [answer for answer in np.unique(answers) if answer >= 3] if simulatable else [truth]
        given_away = any(fixed(tables[answers == answer]) for answer in thinkable)
        assert isinstance(answer := auditor.ask(group), Refused) == given_away
        if not given_away:
            assert answer == truth
            tables = tables[answers == truth]


def fixed(tables):
    return (tables == tables[0]).all(axis=0).any()


@pytest.mark.parametrize("statistic", ["sum", "max"])
@pytest.mark.parametrize("simulatable", [False, True])
def test_the_exhaustive_auditor_never_lets_a_value_follow(statistic, simulatable):
    function, refused = {"sum": np.sum, "max": np.max}[statistic], 0
    for seed, values in enumerate(product(range(3), repeat=3)):
        auditor = ExhaustiveAuditor(values, domain=range(3), statistic=statistic, simulatable=simulatable)
        tables = np.array(list(product(range(3), repeat=3)))
        for group in questions(seed, 6, people=3):
            answer = auditor.ask(group)
            if isinstance(answer, Refused):
                refused += 1
            else:
                tables = tables[function(tables[:, group], axis=1) == answer]
        assert not fixed(tables)
        assert not auditor.determined()
    assert refused > 27


def test_a_simulatable_auditor_refuses_the_same_for_every_table_with_the_same_answers():
    told = {}
    for values in product(range(1, 4), repeat=3):
        auditor, seen = MaxAuditor(values), []
        for group in ([0, 1, 2], [0, 1], [1, 2], [0, 1, 2]):
            before, answer = tuple(seen), auditor.ask(group)
            assert told.setdefault((before, tuple(group)), isinstance(answer, Refused)) == isinstance(answer, Refused)
            seen.append(str(answer))


def test_maxima_that_contradict_one_another_are_refused_as_input():
    with pytest.raises(InvalidParameter, match="contradict"):
        determined_by_maxima([[0, 1], [0], [1]], [5, 1, 2])


def test_too_many_tables_to_try_are_refused():
    with pytest.raises(InvalidParameter, match="too many"):
        ExhaustiveAuditor([0] * 40, domain=(0, 1))
