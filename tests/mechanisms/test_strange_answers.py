"""Answers and scores of unusual types: their distance in steps is never more than the stated sensitivity."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import together
from hypothesis import given
from hypothesis import strategies as st

from lapwing.mechanisms import Exponential, Laplace, Median, NoisyMax, PermuteAndFlip, SparseVector
from lapwing.mechanisms.grid import default_granularity, steps_of_array, to_steps
from lapwing.mechanisms.ladder import Ladder
from lapwing.mechanisms.selection import Selection
from lapwing.noise import Reproducible

SELECTIONS: list[type[Selection]] = [Exponential, NoisyMax, PermuteAndFlip]


class NAType:
    """Like the missing value of pandas: not a number, and neither true nor false."""

    def __bool__(self) -> bool:
        raise TypeError("ambiguous")


class Liar(float):
    def as_integer_ratio(self) -> tuple[int, int]:
        raise RuntimeError("no")


STRANGE: list[Any] = [
    NAType(),
    Decimal("sNaN"),
    Decimal("-Infinity"),
    Decimal("1E-999999999999"),
    np.timedelta64(3, "s"),
    np.datetime64("NaT", "s"),
    np.longdouble("nan"),
    np.longdouble("inf"),
    "text",
    b"text",
    1j,
    [1],
    object(),
]


@pytest.mark.parametrize("granularity", [Fraction(1), Fraction(1, 3)])
def test_long_doubles_keep_their_distances(granularity: Fraction) -> None:
    base = np.longdouble(2) ** 54
    values = [base + step for step in range(6)]
    for steps in ([to_steps(value, granularity) for value in values], steps_of_array(values, granularity).tolist()):
        assert [after - before for before, after in itertools.pairwise(steps)] == [1 / granularity] * 5
    huge = [np.longdouble(2) ** power for power in (1023, 1024, 1025)]
    if np.isfinite(huge[-1]):
        assert [to_steps(value, Fraction(2) ** 1000) for value in huge] == [2**23, 2**24, 2**25]


def test_decimals_keep_their_distances_beyond_the_range_of_floats() -> None:
    edge = int(sys.float_info.max) + (1 << 969)
    steps = [to_steps(Decimal(edge + step), Fraction(1)) for step in range(4)]
    assert steps == [edge + step for step in range(4)]


@given(exponents=st.lists(st.integers(-(10**17), 10**17) | st.integers(-20, 20), min_size=2, max_size=2))
def test_decimals_of_any_exponent_are_rounded_at_once_and_in_order(exponents: list[int]) -> None:
    low, high = (to_steps(Decimal(f"1E{exponent}"), Fraction(1, 8)) for exponent in sorted(exponents))
    assert 0 <= low <= high
    assert to_steps(Decimal(f"-1E{max(exponents)}"), Fraction(1, 8)) in (-high, 1 - high)
    assert to_steps(Decimal(f"0E{exponents[0]}"), Fraction(1, 8)) == 0
    Median(epsilon=1, bounds=(0, 10)).release([Decimal(f"1E{exponent}") for exponent in exponents])


@pytest.mark.parametrize("kind", SELECTIONS)
@together("zero", [0, None, Decimal(0), Fraction(0), "text"])
def test_the_type_of_one_score_does_not_change_how_the_others_are_rounded(kind: type[Selection], zero: Any) -> None:
    """Beyond int64 an array is stuck at its ends; a list must be as well, or one odd score tells the others apart."""
    mechanism = kind(epsilon=1, sensitivity=0.001, candidates=300)
    floats, mixed = [1e14, 2e14, *[0.0] * 298], [1e14, 2e14, *[0.0] * 297, zero]
    assert list(mechanism._score_steps(floats)) == list(mechanism._score_steps(mixed))


@together("strange", [*STRANGE, Liar(3)])
@pytest.mark.parametrize(
    "release",
    [
        *(kind(epsilon=1, sensitivity=1, candidates=3).release for kind in SELECTIONS),
        Laplace(epsilon=1, sensitivity=1, dimensions=3).release,
        SparseVector(epsilon=1, sensitivity=1, threshold=0).release,
        Median(epsilon=1, bounds=(0, 5)).release,
    ],
    ids=lambda release: type(release.__self__).__name__,
)
def test_what_is_no_number_among_others_raises_nothing(release: Callable[..., Any], strange: Any) -> None:
    array = np.empty(3, dtype=object)
    array[:] = [1, strange, 2]
    release([1, strange, 2])
    release(array)


@together("strange", STRANGE)
def test_what_is_no_number_among_others_counts_as_zero(strange: Any) -> None:
    mechanism = Laplace(epsilon=1, sensitivity=1, dimensions=3)
    assert mechanism.release([1, strange, 2], Reproducible(1)) == mechanism.release([1, 0, 2], Reproducible(1))


def test_floating_point_errors_that_are_raised_do_not_depend_on_scores() -> None:
    scores = np.array([0.0, 745.0, 1600.0, 1e300])
    with np.errstate(all="raise"):
        for kind in SELECTIONS:
            kind(epsilon=2, sensitivity=1, candidates=4).release(scores)
            kind(epsilon=2, sensitivity=1, candidates=4).release(scores - 1e300)
        Median(epsilon=1000, bounds=(0, 10)).release(np.arange(2000.0))


@together("sensitivity", [Fraction(1, 10**400), Fraction(10**400, 3), Fraction(0.1), Fraction(2**80, 3)])
def test_the_default_granularity_suits_every_sensitivity(sensitivity: Fraction) -> None:
    grid = default_granularity(sensitivity)
    assert sensitivity / 2100 < grid <= sensitivity / 1000
    assert NoisyMax(epsilon=1, sensitivity=sensitivity, candidates=2).release([0, 0]) in (0, 1)


@pytest.mark.parametrize("kind", [NoisyMax, PermuteAndFlip])
def test_a_confidence_next_to_one_has_an_accuracy(kind: type[Selection]) -> None:
    mechanism: Any = kind(epsilon=1, sensitivity=1, candidates=1000)
    least = 2 * math.log(0.4 * 999 * 10**20) - 1
    assert least <= mechanism.accuracy(1 - Fraction(1, 10**20)) < 2 * least


def test_one_missing_value_in_a_long_list_does_not_slow_the_others_down() -> None:
    ladder = Ladder((0, 1000))
    values = [float(value * 7919 % 1000) for value in range(5000)]
    mixed = ladder.ascending([*values, None, Decimal("sNaN"), "text"])
    assert isinstance(mixed, np.ndarray)  # the arithmetic of arrays: a thousand times faster for the smooth median
    assert np.array_equal(mixed, ladder.ascending(np.array(values)))
    assert ladder.ascending([3, None, 1.2]) == [1, 3]
