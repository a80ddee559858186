"""NOISYMAX: private because it hides the whole range, and of little use for the same reason."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from cases import together
from chance import assert_follows, assert_mean, laplace_pmf
from hypothesis import given
from hypothesis import strategies as st

from lapwing.errors import InvalidParameter
from lapwing.mechanisms import Maximum

SURE = Maximum(epsilon=10**5, bounds=(0, 10), granularity=0.5)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_heights_up_to_ten_feet_need_noise_of_scale_ten_over_epsilon(relation: Any) -> None:
    mechanism = Maximum(epsilon=2, bounds=(0, 10), granularity=1, relation=relation)
    assert mechanism._noise._scale == 5
    assert mechanism.privacy_loss().epsilon == 2
    assert_follows([mechanism.release([3, 4]) - 4 for _ in range(10_000)], laplace_pmf(5), range(-100, 100))


@given(st.lists(st.floats() | st.floats(-3, 13) | st.none(), max_size=6), st.lists(st.floats(), max_size=6))
def test_no_two_data_sets_are_farther_apart_than_the_range(one: list[Any], other: list[Any]) -> None:
    maxima = [max(SURE._grid.steps(data), default=SURE._grid.bottom) for data in (one, other)]
    assert abs(maxima[0] - maxima[1]) <= SURE._noise._steps == 20


def test_the_maximum_is_clamped_and_without_records_it_is_the_lower_bound() -> None:
    assert SURE.release([3, 4.5, None, math.nan, math.inf]) == 4.5
    assert SURE.release(np.array([3, 400.0])) == 10
    assert SURE.release([]) == SURE.release(np.array([])) == SURE.release([None]) == 0
    assert Maximum(epsilon=10**5, bounds=(-7, -3), granularity=1).release([]) == -7


def test_the_answer_is_about_as_good_as_a_guess() -> None:
    mechanism = Maximum(epsilon=1, bounds=(0, 10))
    assert mechanism.accuracy(0.95) == pytest.approx(10 * math.log(20), rel=1e-6)
    assert_mean([mechanism.release([5]) for _ in range(3000)], 5, mechanism.variance)
    assert Maximum.solve(within=1, bounds=(0, 10)).accuracy() <= 1


@together("parameters", [{"epsilon": 0}, {"bounds": (1, 0)}, {"granularity": -1}, {"epsilon": "a"}])
def test_bad_parameters_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        Maximum(**{"epsilon": 1, "bounds": (0, 1)} | parameters)
