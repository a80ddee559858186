from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from cases import together

from lapwing.anonymity.query_auditing import determined_by_sums
from lapwing.anonymity.restriction import Refused, RestrictedQueries, queries_needed, where
from lapwing.errors import InvalidParameter

STAFF = {
    "sex": ["f", "m", "f", "m", "m", "f"],
    "age": np.array([30, 41, 35, 30, 60, 52]),
    "pay": [10, 20, 30, 40, 50, 60],
}


def test_counts_sums_and_means_of_a_group_are_exact():
    queries = RestrictedQueries(STAFF)
    women = where(sex="f")
    assert (queries.count(women), queries.sum("pay", women), queries.mean("pay", women)) == (3, 100, Fraction(100, 3))
    assert queries.mean("age", ~women & where(age=range(30, 50))) == Fraction(71, 2)
    assert RestrictedQueries({"dose": [0.5, 1.0]}).mean("dose", where()) == 0.75


def test_formulas_are_read_as_logic():
    queries = RestrictedQueries(STAFF)
    young, women = where(age=range(36)), where({"sex": "f"})
    assert queries.members(young | women).tolist() == [True, False, True, True, False, True]
    assert queries.members(~(young & women)).tolist() == [False, True, False, True, True, True]
    assert queries.members(where()).all()
    assert queries.members(where(sex="f", age=30)).tolist() == [True] + [False] * 5
    assert str(~young | where(sex="m")) == "(not age in range(0, 36) or sex is m)"


def test_groups_are_answered_between_a_and_n_minus_a_people_and_nowhere_else():
    queries = RestrictedQueries({"who": range(10), "one": [1] * 10}, smallest=3)
    for size in range(11):
        answer = queries.sum("one", where(who=range(size)))
        assert answer == size if 3 <= size <= 7 else isinstance(answer, Refused)


def test_a_group_that_shares_too_many_people_with_an_earlier_one_is_refused():
    queries = RestrictedQueries({"who": range(10)}, largest_overlap=2)
    assert queries.count(where(who=range(5))) == 5
    assert isinstance(queries.count(where(who=range(2, 8))), Refused)
    assert queries.count(where(who=range(3, 8))) == 5
    assert queries.count(where(who=range(5))) == 5  # the same question again
    assert isinstance(queries.count(where(who=range(4, 9))), Refused)  # shares 4 with the second one


def test_what_was_refused_is_not_held_against_later_questions():
    queries = RestrictedQueries({"who": range(10)}, largest_overlap=1)
    queries.count(where(who=range(3)))
    assert isinstance(queries.count(where(who=range(1, 6))), Refused)
    assert queries.count(where(who=range(2, 7))) == 5


def test_mistakes_are_explained():
    with pytest.raises(InvalidParameter, match="is not a column"):
        RestrictedQueries(STAFF).count(where(height=1))
    with pytest.raises(InvalidParameter, match="no group of 6 people"):
        RestrictedQueries(STAFF, smallest=4)
    assert isinstance(RestrictedQueries(STAFF).mean("pay", where(age=99)), Refused)


@together(("people", "smallest", "overlap"), [(5, 2, 1), (6, 3, 2), (7, 3, 1)])
def test_fewer_questions_than_needed_find_nothing(people, smallest, overlap):
    """Every set of that many allowed questions, by exhaustion."""
    needed = queries_needed(smallest=smallest, largest_overlap=overlap)
    groups = [set(group) for group in combinations(range(people), smallest)]
    tried = [chosen for chosen in combinations(groups, needed - 1) if _allowed(chosen, overlap)]
    assert tried or needed - 1 > len(groups)
    assert not any(determined_by_sums(chosen, [0] * len(chosen), people=people) for chosen in tried)


def _allowed(groups, overlap):
    return all(len(one & other) <= overlap for one, other in combinations(groups, 2))


def test_groups_and_columns_of_the_wrong_kind_are_told_what_to_write() -> None:
    ask = RestrictedQueries({"sex": ["f", "m"], "pay": [1, 2]})
    with pytest.raises(InvalidParameter, match="where"):
        ask.sum("pay", {"sex": "f"})  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="column of numbers"):
        ask.sum("sex", where())
