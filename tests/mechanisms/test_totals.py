"""Counts, sums and means: neighbours stay within the stated sensitivity, strange records included."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import together
from chance import assert_follows, assert_mean, assert_seldom, assert_share, laplace_pmf
from hypothesis import given
from hypothesis import strategies as st

from lapwing.errors import InvalidParameter
from lapwing.mechanisms import Count, Mean, Sum
from lapwing.mechanisms.records import exact_sum
from lapwing.mechanisms.totals import number_present

SURE = 10**7
BOUNDS = [(0, 120), (-5, 3), (10, 11), (-2, -1), (0, Fraction(1, 3)), (2**52, 2**52 + 1)]
records = st.lists(
    st.floats() | st.floats(-20, 20) | st.integers() | st.none() | st.booleans() | st.text(max_size=2), max_size=8
)


def total(mechanism: Sum, data: list[Any]) -> int:
    return exact_sum(mechanism._grid.steps(data), 2**53)


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
@given(data=records, one=records.map(lambda r: r[:1]), other=records.map(lambda r: r[:1]))
def test_one_record_moves_a_sum_by_the_stated_sensitivity_at_most(bounds: Any, data: Any, one: Any, other: Any) -> None:
    added = Sum(epsilon=1, bounds=bounds)
    assert abs(total(added, data + one) - total(added, data)) <= added._noise._steps
    replaced = Sum(epsilon=1, bounds=bounds, relation="replace")
    assert abs(total(replaced, data + one) - total(replaced, data + other)) <= replaced._noise._steps


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
@given(data=records, one=records.map(lambda r: r[:1]), other=records.map(lambda r: r[:1]))
def test_one_record_moves_deviations_and_count_as_stated(bounds: Any, data: Any, one: Any, other: Any) -> None:
    def parts(mechanism: Mean, data: Any) -> tuple[int, int]:
        steps = mechanism._grid.steps(data)
        return sum(steps) - mechanism._middle * len(steps), len(steps)

    for relation, left, right in (("add_remove", data + one, data), ("replace", data + one, data + other)):
        mean = Mean(epsilon=1, bounds=bounds, relation=relation)  # type: ignore[arg-type]
        assert mean._count_noise is not None
        (first, count), (second, fewer) = parts(mean, left), parts(mean, right)
        assert abs(first - second) <= mean._sum_noise._steps
        assert abs(count - fewer) <= mean._count_noise._steps
        assert abs(number_present(left) - number_present(right)) <= 1


def test_sensitivities_are_the_textbook_ones() -> None:
    def steps(bounds: Any, relation: Any) -> int:
        return Sum(epsilon=1, bounds=bounds, relation=relation, granularity=1)._noise._steps

    assert [steps((0, 10), relation) for relation in ("add_remove", "replace")] == [10, 10]
    assert [steps((-5, 3), relation) for relation in ("add_remove", "replace")] == [5, 8]
    assert [steps((10, 11), relation) for relation in ("add_remove", "replace")] == [11, 11]
    assert Sum(epsilon=1, bounds=(-5, 3), granularity=1, max_rows_per_unit=4)._noise._steps == 20
    assert Mean(epsilon=1, bounds=(0, 10), granularity=1)._sum_noise._steps == 5
    assert Mean(epsilon=1, bounds=(0, 10), granularity=1, relation="replace")._sum_noise._steps == 10
    assert Count(epsilon=1, max_rows_per_unit=3)._noise._steps == 3


def test_without_noise_the_answers_are_exact() -> None:
    data = [33.5, 47.25, 150, -4, None, math.nan, math.inf]
    assert Sum(epsilon=SURE, bounds=(0, 120)).release(data) == pytest.approx(200.75, abs=1e-4)
    assert Mean(epsilon=SURE, bounds=(0, 120)).release(data) == pytest.approx(200.75 / 4, abs=1e-4)
    assert Count(epsilon=1000).release(data) == 4
    assert Count(epsilon=1000).release(np.array([True, False, True])) == 2
    assert Count(epsilon=1000).release(np.array(["a", "b"])) == 2
    assert Count(epsilon=1000).release(np.array([1.0, np.nan])) == 1
    assert Count(epsilon=1000).release(17) == 17
    assert Sum(epsilon=1000, bounds=(0, 120), granularity=1).release([1, 2, 500]) == 123
    replaced = Mean(epsilon=SURE, bounds=(0, 120), relation="replace", n=4)
    assert replaced.release([0, 30, 90, None]) == pytest.approx(45, abs=1e-4)


def test_lists_and_arrays_give_the_same_exact_sum() -> None:
    data = np.random.default_rng(5).normal(50, 60, 3000)
    mechanism = Sum(epsilon=1, bounds=(0, 120))
    assert (
        total(mechanism, data.tolist()) == total(mechanism, data) == total(mechanism, [*data.tolist()[:-1], data[-1]])
    )


def test_records_at_the_ends_of_wide_bounds_sum_without_rounding() -> None:
    low = 2**52
    mechanism = Sum(epsilon=1, bounds=(low, low + 1))
    everybody = [np.full(100_000, low + high, dtype=np.float64) for high in (0, 1)]
    assert total(mechanism, everybody[1]) - total(mechanism, everybody[0]) == 100_000


def test_the_noise_has_the_stated_law() -> None:
    whole = Sum(epsilon=0.5, bounds=(0, 2), granularity=1)
    assert_follows([whole.release([1, 2]) - 3 for _ in range(20_000)], laplace_pmf(4), range(-80, 80))
    assert_follows([Count(epsilon=0.5).release([1, 2]) - 2 for _ in range(20_000)], laplace_pmf(2), range(-60, 60))
    fine = Sum(epsilon=1, bounds=(0, 120))
    draws = [fine.release([]) for _ in range(5000)]
    assert_mean(draws, 0, fine.variance)
    assert fine.variance == pytest.approx(2 * 120**2, rel=1e-6)
    assert fine.accuracy(0.95) == pytest.approx(120 * math.log(20), rel=1e-6)


@together("parameters", [{}, {"relation": "replace"}, {"relation": "replace", "n": 400}])
def test_the_accuracy_of_a_mean_holds(parameters: dict[str, Any]) -> None:
    mean = Mean(epsilon=1, bounds=(0, 100), **parameters)
    data = np.r_[np.zeros(40), np.full(360, 100.0)]
    width = mean.accuracy(0.9, count=400) if "n" not in parameters else mean.accuracy(0.9)
    misses = sum(abs(mean.release(data) - 90) > width for _ in range(2000))
    assert width < 5
    assert_seldom(misses, 2000, 0.1)
    if "n" in parameters:  # then the half-width is exact, not a bound
        assert_share(misses, 2000, 0.1)


def test_a_mean_promises_nothing_without_a_count_and_stays_within_its_bounds() -> None:
    mean = Mean(epsilon=0.01, bounds=(-3, 7))
    assert mean.accuracy() == 10
    assert mean.variance == 25
    answers = [mean.release([1, 2]) for _ in range(500)]
    assert all(-3 <= answer <= 7 for answer in answers)
    assert pytest.approx(sorted(answers)[250], abs=5) == 2.0
    assert Mean(epsilon=1000, bounds=(-3, 7)).release([]) == pytest.approx(2, abs=1e-6)


def test_losses_name_what_they_protect() -> None:
    mean = Mean(epsilon=0.7, bounds=(0, 1), unit="household", relation="replace")
    loss = mean.privacy_loss()
    assert (loss.epsilon, loss.relation, loss.unit) == (Fraction(0.7), "replace", "household")
    assert Mean(epsilon=0.7, bounds=(0, 1), relation="replace", n=5).privacy_loss().epsilon == Fraction(0.7)
    assert Sum(epsilon=0.7, bounds=(0, 1)).privacy_loss().epsilon == Fraction(0.7)
    assert Count(epsilon=0.7).privacy_loss().epsilon == Fraction(0.7)


def test_no_record_raises_or_warns() -> None:
    strange = [None, math.nan, math.inf, "x", [1], 1j, 10**400, -(10**400), object(), b"", True]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for mechanism in (Count(epsilon=1), Sum(epsilon=1, bounds=(0, 1)), Mean(epsilon=1, bounds=(0, 1))):
            column = np.empty(len(strange), dtype=object)
            column[:] = strange
            for data in (strange, column, [], np.array([]), np.array([np.nan, np.inf, 1e308])):
                mechanism.release(data)


def test_solving_for_accuracy() -> None:
    assert Count.solve(within=3).accuracy() == 3
    assert Sum.solve(within=100, bounds=(0, 10)).accuracy() <= 100
    assert Mean.solve(within=1, bounds=(0, 100), count=500).accuracy(count=500) <= 1


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (Count, {"epsilon": 0}),
        (Count, {"epsilon": 1, "max_rows_per_unit": 0}),
        (Sum, {"epsilon": 1, "bounds": (0, 0)}),
        (Sum, {"epsilon": math.nan, "bounds": (0, 1)}),
        (Sum, {"epsilon": 1, "bounds": (0, 1), "granularity": 0}),
        (Mean, {"epsilon": "1", "bounds": (0, 1)}),
        (Mean, {"epsilon": 1, "bounds": (0, 1), "n": 5}),
        (Mean, {"epsilon": 1, "bounds": (0, 1), "n": 0, "relation": "replace"}),
        (Mean, {"epsilon": 1, "bounds": (0, 1), "n": 5, "relation": "replace", "max_rows_per_unit": 2}),
    ],
)
def test_bad_parameters_are_refused(kind: Any, parameters: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        kind(**parameters)


def test_a_wrong_number_of_records_names_the_declared_n_only() -> None:
    with pytest.raises(InvalidParameter, match="n = 5") as error:
        Mean(epsilon=1, bounds=(0, 1), relation="replace", n=5).release([0.5] * 3)
    assert "3" not in str(error.value)
    with pytest.raises(InvalidParameter, match="<int>"):
        Sum(epsilon=1, bounds=(0, 1)).release(3)
