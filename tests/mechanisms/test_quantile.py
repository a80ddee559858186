"""The private quantile: exact on small grids, fast on fine ones."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import together
from chance import FALSE_ALARM, assert_follows, assert_share
from ranks import gaps, law

from lapwing.errors import InvalidParameter
from lapwing.mechanisms import Median, Quantile

DATA = [list(values) for n in range(4) for values in itertools.combinations_with_replacement(range(4), n)]


def neighbours(values: Sequence[int], relation: str) -> list[list[int]]:
    removed = [[*values[:i], *values[i + 1 :]] for i in range(len(values))]
    if relation == "add_remove":
        return removed + [[*values, new] for new in range(4)]
    return removed + [[*rest, new] for rest in removed for new in range(4)]  # removed: replaced by a NaN


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@together("q", [Fraction(1, 2), Fraction(1, 4), Fraction(2, 3), 0, 1])
def test_no_neighbours_are_told_apart_by_more_than_epsilon(relation: Any, q: Fraction) -> None:
    mechanism = Quantile(epsilon=2, q=q, bounds=(0, 3), granularity=1, relation=relation)
    assert mechanism.privacy_loss().epsilon == 2
    assert mechanism.zcdp_loss().rho == Fraction(1, 2)
    moved, worst = 0, 0.0
    for values in DATA:
        here = law(mechanism, values, range(4))
        for other in neighbours(values, relation):
            pairs = zip(gaps(values, mechanism._share, range(4)), gaps(other, mechanism._share, range(4)), strict=True)
            moved = max(moved, *(abs(one - two) for one, two in pairs))
            there = law(mechanism, other, range(4))
            worst = max(worst, *(abs(math.log(one / two)) for one, two in zip(here, there, strict=True)))
    assert moved == mechanism._rank_sensitivity()
    assert 0.5 < worst <= 2 + 1e-9


@pytest.mark.parametrize("kind", [list, np.array])
@together("values", [[], [2, 2, 2, 2], [0, 1, 1, 5, 9, 9]])
def test_lists_and_arrays_follow_the_law(kind: Any, values: list[int]) -> None:
    mechanism = Quantile(epsilon=1, q=Fraction(1, 3), bounds=(-1, 9), granularity=1)
    chances = law(mechanism, values, range(-1, 10))
    draws = (mechanism.release(kind(values)) for _ in range(8000))
    assert_follows(draws, lambda point: chances[point + 1], range(-1, 10))


def test_some_point_of_the_grid_always_has_the_asked_rank() -> None:
    for values, share in itertools.product(DATA, [Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(1)]):
        assert min(gaps(values, share, range(4))) == 0


def test_strange_values_are_left_out_and_far_ones_clamped() -> None:
    mechanism = Median(epsilon=50, bounds=(0, 100))
    strange = [None, math.nan, math.inf, -math.inf, Decimal("NaN"), "text"]
    assert mechanism.release([*strange, 40, 40, 40]) == 40
    assert mechanism.release(np.array([math.nan, math.inf, 40, 40, 40])) == 40
    assert mechanism.release([10**400, 1e300, 7000]) == 100
    assert mechanism.release(np.array([-1e300, -5.0, -7])) == 0
    assert 0 <= mechanism.release([]) <= 100


def test_a_fine_grid_costs_no_more_than_its_logarithm() -> None:
    generator = np.random.default_rng(1)
    values = generator.normal(0.5, 0.1, 200_000)
    mechanism = Quantile(epsilon=1, q=0.9, bounds=(0, 1), granularity=2.0**-50)
    reach = mechanism.accuracy(1 - FALSE_ALARM)
    rank = np.count_nonzero(values <= mechanism.release(values))
    assert abs(rank - 180_000) <= reach + 1
    assert reach < 500


def test_the_accuracy_in_ranks_holds_in_the_worst_case() -> None:
    """All values at one point: every other point of the grid is off by half their number."""
    mechanism = Median(epsilon=1, bounds=(0, 1000), granularity=1)
    steps = round(2 * mechanism.accuracy(0.9))
    wrong = [1000 * math.exp(-n / 2) / (1 + 1000 * math.exp(-n / 2)) for n in (steps, steps + 1)]
    assert wrong[1] <= 0.1 < wrong[0]
    misses = sum(mechanism.release([500] * (steps + 1)) != 500 for _ in range(5000))
    assert_share(misses, 5000, wrong[1])


def test_the_share_is_taken_as_a_simple_fraction() -> None:
    assert Quantile(epsilon=1, q=0.1, bounds=(0, 9))._share == Fraction(1, 10)
    assert Median(epsilon=1, bounds=(0, 9)).q == Fraction(1, 2)
    assert Median(epsilon=1, bounds=[0, 9]) == Median(epsilon=1, bounds=(0, 9))  # type: ignore[arg-type]


def test_more_rows_per_unit_mean_more_noise_at_the_same_epsilon() -> None:
    one, three = (Quantile(epsilon=1, bounds=(0, 9), max_rows_per_unit=rows) for rows in (1, 3))
    assert three._scale == 3 * one._scale
    assert three.privacy_loss() == one.privacy_loss()


def test_the_default_grid_is_whole_for_wide_whole_bounds_and_fine_otherwise() -> None:
    assert isinstance(Median(epsilon=1, bounds=(0, 120)).release([30]), int)
    assert 1000 < Median(epsilon=1, bounds=(0, 1))._ladder.width < 5000
    assert 1000 < Median(epsilon=1, bounds=(0, 0.37))._ladder.width < 5000


@together(
    ("name", "value"),
    [
        ("epsilon", 0),
        ("epsilon", "1"),
        ("epsilon", Fraction(1, 1 << 62)),
        ("q", -0.1),
        ("q", 1.1),
        ("q", math.nan),
        ("bounds", (5, 5)),
        ("bounds", (5, 1)),
        ("bounds", 7),
        ("granularity", 0),
        ("granularity", 1000),
        ("granularity", 1e-30),
        ("max_rows_per_unit", 0),
    ],
)
def test_bad_parameters_are_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(InvalidParameter) as caught:
        Quantile(**{"epsilon": 1, "bounds": (0, 9), name: value})  # type: ignore[arg-type]
    assert caught.value.name == name
