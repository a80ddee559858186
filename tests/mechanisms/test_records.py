"""Records become the same bounded integers by every path, and strange ones are absent without a word."""

from __future__ import annotations

import math
import warnings
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import together
from hypothesis import given
from hypothesis import strategies as st

from lapwing.errors import InvalidParameter
from lapwing.mechanisms.grid import is_present
from lapwing.mechanisms.records import BoundedGrid, as_records, exact_sum

GRIDS = [
    BoundedGrid.of((0, 120)),
    BoundedGrid.of((-1, 1), Fraction(1, 8)),
    BoundedGrid.of((-1e6, 1e6), 0.01),
    BoundedGrid.of((3, 1000), Fraction(7, 3)),
    BoundedGrid.of((2**52, 2**52 + 1)),
    BoundedGrid.of((-(2**60), 2**60), 2**10),
]


def obvious_steps(grid: BoundedGrid, values: list[Any]) -> list[int]:
    """Clamp first, then round, in rationals."""
    clamped = [min(max(Fraction(value), grid.low), grid.high) for value in values if math.isfinite(value)]
    return [math.floor(value / grid.granularity + Fraction(1, 2)) for value in clamped]


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@given(values=st.lists(st.floats() | st.floats(-200, 200), max_size=40))
def test_floats_round_alike_in_lists_arrays_and_theory(grid: BoundedGrid, values: list[float]) -> None:
    expected = obvious_steps(grid, values)
    assert list(grid.steps(values)) == expected
    assert list(grid.steps(np.array(values, dtype=np.float64))) == expected
    assert list(grid.steps(np.array(values, dtype=object))) == expected


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@given(values=st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-200, 200), max_size=40))
def test_ints_round_alike_in_lists_arrays_and_theory(grid: BoundedGrid, values: list[int]) -> None:
    expected = obvious_steps(grid, values)
    assert list(grid.steps(values)) == expected
    assert list(grid.steps(np.array(values, dtype=np.int64))) == expected


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_values_near_a_half_step_round_exactly(grid: BoundedGrid) -> None:
    halves = [float((step + Fraction(1, 2)) * grid.granularity) for step in range(grid.bottom, grid.bottom + 50)]
    near = [x for half in halves for x in (math.nextafter(half, -math.inf), half, math.nextafter(half, math.inf))]
    assert list(grid.steps(np.array(near))) == obvious_steps(grid, near)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.uint64, np.float16, np.float32, np.longdouble, np.bool_])
def test_every_numeric_dtype_is_understood(dtype: type) -> None:
    grid = BoundedGrid.of((-1000, 1000), 0.5)
    array = np.array([0, 1, 100], dtype=dtype)
    assert list(grid.steps(array)) == obvious_steps(grid, array.astype(float).tolist())
    assert list(BoundedGrid.of((300, 400), 1).steps(array)) == [300, 300, 300]


STRANGE = [
    None,
    math.nan,
    math.inf,
    -math.inf,
    "12",
    b"1",
    [1],
    1j,
    Decimal("NaN"),
    Decimal("Infinity"),
    object(),
    float,
]


def test_what_is_not_a_finite_number_is_absent_without_a_word() -> None:
    grid = BoundedGrid.of((1, 10), 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert grid.steps([2, *STRANGE, 3]) == [2, 3]
        column = np.empty(len(STRANGE) + 2, dtype=object)
        column[:] = [2, *STRANGE, 3]
        assert list(grid.steps(column)) == [2, 3]
        assert list(grid.steps(np.array([2, np.nan, np.inf, -np.inf, 1e308, -1e308]))) == [2, 10, 1]
        assert list(grid.steps(np.array(["2", "x"]))) == []
        assert list(grid.steps([])) == list(grid.steps(np.array([]))) == []
    mixed = [Fraction(5, 2), Decimal("2.5"), True, np.int16(4), np.float32(2.25), 10**400, -(10**400)]
    assert grid.steps(mixed) == [3, 3, 1, 4, 2, 10, 1]


def test_one_float_in_a_long_list_does_not_change_how_the_others_round() -> None:
    grid = BoundedGrid.of((0, 2**62), 2**10)
    others = [2**53 + 1537] * 500
    assert grid.steps([*others, 0.5])[:500] == list(grid.steps(others))
    assert isinstance(as_records([*others, 0.5]), list)
    assert isinstance(as_records(others), np.ndarray)


def test_sums_are_exact_beyond_int64() -> None:
    steps = np.full(5000, 2**53, dtype=np.int64)
    assert exact_sum(steps, 2**53) == 5000 * 2**53 > 2**64
    assert exact_sum([2**53] * 5000, 2**53) == 5000 * 2**53
    assert exact_sum(np.array([], dtype=np.int64), 1) == 0


def test_presence_is_a_rule_about_one_record() -> None:
    absent = [None, False, math.nan, math.inf, np.float64("nan"), np.float32("inf"), np.False_]
    assert not any(map(is_present, absent))
    assert all(map(is_present, [0, 0.0, True, "", "no", np.True_, np.int8(0), np.float32(1), Fraction(1, 2), (1,)]))


@together("bounds", [(1, 1), (2, 1), "ab", (0,), (0, math.inf), (math.nan, 1), 5, None, (0, "1")])
def test_bounds_must_be_a_public_range(bounds: object) -> None:
    with pytest.raises(InvalidParameter, match="bounds"):
        BoundedGrid.of(bounds)


@together("granularity", [0, -1, math.nan, "fine", 1e-30, 1000])
def test_the_grid_must_suit_the_bounds(granularity: object) -> None:
    with pytest.raises(InvalidParameter, match="granularity"):
        BoundedGrid.of((0, 120), granularity)


def test_data_that_is_no_collection_is_named_by_its_type_only() -> None:
    with pytest.raises(InvalidParameter) as error:
        BoundedGrid.of((0, 1)).steps(0.123456)
    assert "0.123456" not in str(error.value)
