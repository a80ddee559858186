"""One odd record, of whatever type, changes nothing about the others, and neither raises nor warns."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import together
from columns import Column

from lapwing.errors import InvalidParameter
from lapwing.mechanisms import (
    Count,
    Gaussian,
    Histogram,
    KaryResponse,
    Laplace,
    Maximum,
    Mean,
    OneTimePad,
    RandomizedResponse,
    Sum,
)
from lapwing.mechanisms.gaussian_delta import delta_up
from lapwing.mechanisms.grid import is_present, steps_of_array, to_steps
from lapwing.mechanisms.records import BoundedGrid, as_records
from lapwing.mechanisms.totals import number_present

BIG = (1 << 59) - 1
"""Below half of 2^60; as a double it is the half itself."""


class Missing:
    """Like the missing value of pandas: any comparison with it is missing, and it is neither true nor false."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> Any:
        return self

    def __ne__(self, other: object) -> Any:
        return self

    def __bool__(self) -> bool:
        raise TypeError("ambiguous")


class NotATime:
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return False


class Hostile:
    """Raises at every question, with the hash of 1."""

    ndim = 0

    def __hash__(self) -> int:
        return 1

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("secret")

    def tolist(self) -> Any:
        raise RuntimeError("secret")


class Frame:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.zeros((2, 2))


STRANGE: list[Any] = [
    Missing(),
    NotATime(),
    Hostile(),
    Decimal("sNaN"),
    Decimal("1E+999999999"),
    np.float16(1),
    np.longdouble(1),
    np.void(b"ab"),
    np.array([1, 2]),
    np.array([[1.0]]),
    np.ma.masked,
    np.datetime64("NaT", "s"),
    10**400,
    1j,
    "text",
    [1],
    float,
]


@together("strange", STRANGE)
@pytest.mark.parametrize(
    "release",
    [
        mechanism.release
        for mechanism in (
            Count(epsilon=1),
            Sum(epsilon=1, bounds=(0, 9)),
            Mean(epsilon=1, bounds=(0, 9), granularity=Fraction(1, 3)),
            Maximum(epsilon=1, bounds=(0, 9)),
            Histogram(epsilon=1, keys=["a", 1]),
            Histogram(epsilon=1, edges=[0, 1, 1e300], everything_else=True),
            RandomizedResponse.from_epsilon(1),
            RandomizedResponse.from_coins(0.5, 0.3),
            OneTimePad(),
            KaryResponse.from_epsilon(1, categories=["a", 1]),
            KaryResponse.from_epsilon(1, categories=3),
        )
    ],
    ids=lambda release: type(release.__self__).__name__,
)
def test_a_strange_record_raises_nothing(release: Callable[..., Any], strange: Any) -> None:
    objects = np.empty(3, dtype=object)
    objects[:] = [1, 2, None]
    objects[2] = strange
    plain = release(np.array([1, 2, 3], dtype=object))
    assert type(release(objects)) is type(plain)
    assert np.shape(release(objects)) == np.shape(plain)
    release([1, 2, strange])
    release([1.0] * 300 + [strange])


@pytest.mark.parametrize("column", [Column, lambda values: values], ids=["column", "list"])
def test_a_missing_record_does_not_round_the_others(column: Callable[[list[Any]], Any]) -> None:
    grid = BoundedGrid.of((0, 1 << 60), 1 << 60)
    counts = Histogram(epsilon=1, edges=[0, (1 << 53) + 4, 1 << 54])
    for missing in ([], [None]):
        assert sum(grid.steps(column([BIG] * 300 + missing))) == 0
        assert counts._counts(column([(1 << 53) + 3] * 300 + missing)) == [300, 0]
    present = [BIG if index else None for index in range(300)]
    assert number_present(column(present)) == 299


def test_a_masked_record_is_missing() -> None:
    masked = np.ma.array([[BIG, 5], [7, 1]], mask=[[0, 1], [1, 0]])
    assert as_records(masked) == [BIG, None, None, 1]
    assert list(BoundedGrid.of((3, 9)).steps([np.ma.masked])) == []


def test_a_table_is_not_a_column() -> None:
    with pytest.raises(InvalidParameter, match="not one column"):
        Count(epsilon=1).release(Frame())


@together(
    "missing",
    [
        None,
        False,
        np.False_,
        math.nan,
        -math.inf,
        Missing(),
        NotATime(),
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("-Inf"),
        np.ma.masked,
        np.datetime64("NaT", "s"),
        np.float16("nan"),
        np.longdouble("inf"),
        np.array(None, dtype=object),
    ],
)
def test_marks_of_missing_values_do_not_count(missing: Any) -> None:
    assert not is_present(missing)
    assert to_steps(missing, Fraction(1)) == 0
    assert number_present([1, missing, "text", (1, math.nan), np.array([1, 2]), Decimal(0), 0, True, np.int8(0)]) == 8


def test_times_that_are_none_do_not_count() -> None:
    assert number_present(np.array(["NaT", "2020-01-01"], dtype="M8[ns]")) == 1


class Chameleon(str):
    """Equals everything, and hashes like "a"."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


def test_records_are_compared_with_keys_and_never_with_one_another() -> None:
    class Other(str):
        """Equals a chameleon but no key."""

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Chameleon)

        def __hash__(self) -> int:
            return hash("a")

    counts = Histogram(epsilon=1, keys=["a", "b"])
    others = [Other("x") for _ in range(9)]
    assert counts._counts(others) == [0, 0]
    assert counts._counts([Chameleon("a"), *others]) == [1, 0]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble, object])
def test_an_edge_is_compared_exactly_whatever_the_type(dtype: Any) -> None:
    values = np.array([0.1, 0.5, -0.0, math.nan, math.inf], dtype=dtype)
    inside = sum(0 <= Fraction(*value.as_integer_ratio()) <= Fraction(0.1) for value in values[:3])
    assert Histogram(epsilon=1, edges=[0, 0.1])._counts(values) == [inside]
    assert Histogram(epsilon=1, edges=[-1e300, 1e300])._counts(values) == [3]


@together(
    ("name", "parameters"),
    [
        ("edges", {"edges": [0, 10**400]}),
        ("edges", {"edges": [-(10**400), 0]}),
        ("keys", {"keys": ["a", Missing()]}),
        ("keys", {"keys": ["a", [1]]}),
        ("keys", {"keys": ["a", math.nan]}),
        ("keys", {"keys": [1, True]}),
        ("keys", {"keys": [1, 1.0]}),
        ("keys", {"keys": [Histogram.ELSE], "everything_else": True}),
    ],
)
def test_labels_that_cannot_be_told_apart_are_refused(name: str, parameters: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter) as caught:
        Histogram(epsilon=1, **parameters)
    assert caught.value.name == name


@together("categories", [["a", Missing()], ["a", [1]], [1, True], ["a", math.nan], 1 << 70, 1])
def test_categories_that_cannot_be_told_apart_or_drawn_are_refused(categories: Any) -> None:
    with pytest.raises(InvalidParameter) as caught:
        KaryResponse.from_epsilon(1, categories=categories)
    assert caught.value.name == "categories"


@pytest.mark.parametrize("kind", [int, float, Fraction, Decimal, np.int64, np.uint8, np.float32, np.longdouble])
def test_a_numbered_category_is_known_whatever_the_type_of_the_number(kind: Callable[[int], Any]) -> None:
    poll = KaryResponse(categories=3, keep=1 - Fraction(1, 10**12))
    assert poll.release(kind(2)) == 2
    assert poll.release([kind(2)] * 300) == [2] * 300
    assert poll.release(np.array([[kind(2)] * 5])).tolist() == [[2] * 5]
    assert poll._place(2.5) == poll._place(math.nan) == poll._place(-1) == poll._place("2") == -1


def test_as_many_categories_as_can_be_drawn_are_answered() -> None:
    poll = KaryResponse.from_epsilon(90, categories=1 << 61)
    assert poll.release([5] * 300) == poll.release(np.full(300, 5, dtype=np.uint64)).tolist() == [5] * 300


def test_truth_values_are_scaled_like_other_numbers() -> None:
    for grid in (Fraction(1, 2), Fraction(3), Fraction(1)):
        assert steps_of_array(np.array([True, False]), grid).tolist() == [to_steps(True, grid), 0]


@together("exponent", [-1100, 600, 1100])
def test_any_granularity_has_a_variance_and_releases_arrays(exponent: int) -> None:
    unit = Fraction(2) ** exponent
    for mechanism in (
        Laplace(epsilon=1, sensitivity=unit, granularity=unit, dimensions=2),
        Gaussian(sigma=unit, sensitivity=unit, granularity=unit, dimensions=2),
    ):
        assert mechanism.variance >= 0
        assert mechanism.release(np.array([0.0, 1.0])).dtype == np.float64
    for total in (Sum(epsilon=1, bounds=(0, 9 * unit)), Mean(epsilon=1, bounds=(0, 9 * unit))):
        assert total.variance >= 0
        assert isinstance(total.release([9 * unit, 0, None]), (int, float))


def test_a_mean_is_as_accurate_as_stated_when_its_bounds_are_off_the_grid() -> None:
    mean = Mean(epsilon=1, bounds=(0.4, 1.4), granularity=1, n=10**6, relation="replace")
    assert mean.release(np.full(10**6, 0.4)) == 0.4  # the mean of the rounded records is 0
    assert 0.4 <= mean.accuracy() < 0.4001
    assert Mean(epsilon=1, bounds=(0.4, 1.4), granularity=1).accuracy() >= 1.4


def test_the_delta_of_wide_noise_is_found_at_once_for_every_epsilon() -> None:
    for sigma, shift, expected in ((10**9, 10**9, 0.3829249), (1 << 50, 1 << 50, 0.3829249), (1, 10**12, 1.0)):
        assert expected <= delta_up(Fraction(sigma) ** 2, shift, Fraction(0)) < expected * 1.001 + 1e-9


def test_a_sigma_below_the_smallest_keeps_the_promise_of_the_one_that_is_used() -> None:
    for epsilon, exponent in ((600, 235), (700, 270), (10**400, 6), (1e200, 6)):
        delta = Fraction(1, 10**exponent)
        assert Fraction(Gaussian.for_epsilon(epsilon, delta, sensitivity=1).delta_at(epsilon)) <= delta


@pytest.mark.parametrize("sigma", [10, 1000])
def test_an_extreme_confidence_has_a_half_width(sigma: int) -> None:
    mechanism = Gaussian(sigma=sigma, sensitivity=1)
    for digits in (200, 300, 400):
        half_width = mechanism.accuracy(1 - Fraction(1, 10**digits))
        ideal = sigma * math.sqrt(2 * digits * math.log(10))
        assert 0.98 * ideal < half_width < 1.01 * ideal + 1
    estimate = RandomizedResponse.from_epsilon(1).estimate(3, n=10, confidence=1 - Fraction(1, 10**20))  # type: ignore[arg-type]
    assert estimate.population_interval[0] < estimate.share < estimate.population_interval[1]


def test_answers_of_any_shape_can_be_estimated() -> None:
    assert RandomizedResponse.from_coins(0.5, 0.5).estimate(np.ones((3, 4), dtype=bool)).n == 12
