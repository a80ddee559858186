"""Tables about a block are equations about its people; private tables are not."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from lapwing.adversary.attacks.attack import repeatable
from lapwing.adversary.attacks.census import (
    BLOCK,
    CELLS,
    CENSUS,
    MARRIED,
    OLDEST,
    Person,
    PrivateTables,
    Statistic,
    known_people,
    reconstruct_block,
    tabulate,
    who_is_married,
)
from lapwing.errors import InvalidParameter


def test_the_published_example_has_the_one_solution_that_its_authors_found() -> None:
    """Garfinkel, Abowd and Martindale 2019, tables 1 to 4 (here A is white and B is black, single adults left out)."""
    tables = [
        Statistic({}, 7, 38.0, 30),
        Statistic({"sex": "F"}, 4, 33.5, 30),
        Statistic({"sex": "M"}, 3, 44.0, 30),
        Statistic({"origin": "B"}, 4, 48.5, 51),
        Statistic({"origin": "A"}, 3, 24.0, 24),
        Statistic({"married": True}, 4, 54.0, 51),
        Statistic({"sex": "F", "origin": "B"}, 3, 36.7, 36),
    ]
    [block] = reconstruct_block(tables)
    assert sorted(str(person) for person in block) == sorted(
        [
            "8 FB single",
            "18 MA single",
            "24 FA single",
            "30 MA married",
            "36 FB married",
            "66 FB married",
            "84 MB married",
        ]
    )


@pytest.mark.parametrize("smallest", [0, 3])
def test_our_block_is_found_even_with_small_groups_suppressed(smallest: int) -> None:
    blocks = reconstruct_block(tabulate(BLOCK, smallest=smallest))
    assert [sorted(block) for block in blocks] == [sorted(BLOCK)]
    assert {one.sure for one in known_people(blocks)} == {1}


def test_all_solutions_are_found_and_no_other() -> None:
    """Three people of at most 5 years: against all blocks there are."""
    people = [Person(1, "F", "A", False), Person(4, "F", "B", False), Person(5, "M", "A", True)]
    groups = [{}, {"sex": "F"}, {"origin": "A"}, {"married": True}]
    for known in ([groups[0]], groups[:2], groups):
        tables = tabulate(people, known)
        everybody = [Person(age, *kind) for age in range(6) for kind in itertools.product("FM", "AB", (False, True))]
        expected = {
            tuple(sorted(block))
            for block in itertools.combinations_with_replacement(everybody, 3)
            if tabulate(block, known) == tables
        }
        found = [tuple(sorted(block)) for block in reconstruct_block(tables, oldest=5)]
        assert len(found) == len(set(found))
        assert set(found) == expected
    assert len(reconstruct_block(tabulate(people, groups[:1]), oldest=5, most=7)) == 7


def test_how_sure_is_the_share_of_the_blocks() -> None:
    old, young, other = Person(70, "F", "A", True), Person(3, "M", "B", False), Person(4, "M", "B", False)
    learned = known_people([[old, young], [old, young], [old, other]])
    assert [(one.guess, one.sure) for one in learned] == [(str(old), 1.0), (str(young), pytest.approx(2 / 3))]
    with pytest.raises(InvalidParameter, match="no block"):
        known_people([])
    with pytest.raises(InvalidParameter, match="how many people"):
        reconstruct_block([Statistic({"sex": "F"}, 1)])
    with pytest.raises(InvalidParameter, match="cannot be grouped by"):
        reconstruct_block([Statistic({}, 2), Statistic({"gender": "F"}, 1)])


def test_marriages_follow_from_tables_of_the_married() -> None:
    chances = who_is_married(BLOCK, tabulate(BLOCK, MARRIED))
    assert chances.tolist() == [float(person.married) for person in BLOCK]
    twins = [Person(30, "F", "A", True), Person(30, "F", "A", False), Person(50, "M", "A", True)]
    assert who_is_married(twins, tabulate(twins, MARRIED)).tolist() == [0.5, 0.5, 1.0]
    with pytest.raises(InvalidParameter, match="who is married"):
        who_is_married(twins, [])


def test_private_tables_cost_what_they_say() -> None:
    """Changing one marriage moves numbers and totals by the sensitivities at most, and the likelihoods by e^ε."""
    tables, source = PrivateTables(epsilon=1), repeatable("census")
    assert sum(float(part.privacy_loss().epsilon) for part in (tables._numbers, tables._totals)) <= 1
    oldest = [person._replace(age=OLDEST) for person in BLOCK]
    for place in range(len(oldest)):
        one, other = np.zeros(7, dtype=int), np.eye(7, dtype=int)[place]
        numbers, totals = (
            np.abs(a - b).sum()
            for a, b in zip(tables._exact(one[None], oldest), tables._exact(other[None], oldest), strict=True)
        )
        assert (numbers, totals) == (tables._numbers.sensitivity, tables._totals.sensitivity)
    for person in BLOCK:
        assert sum(Statistic(cell, 0).counts(person) for cell in CELLS) == 1
    for _ in range(20):
        chances = tables.chances(tables.release(np.ones(7, dtype=int), oldest, source), oldest)
        assert np.abs(np.log(chances / (1 - chances))).max() <= 1 + 1e-9


def test_the_contest_breaks_exact_tables_and_stops_at_the_bound() -> None:
    contest = CENSUS.run(rounds=25, epsilons=[1, 1000])
    assert min(score.success for score in contest.weak) > 0.85
    assert contest.holds
    low, high = contest.private
    assert low.success < 0.731 + 5 * 0.5 / math.sqrt(25 * 7)
    assert high.success > 0.95
