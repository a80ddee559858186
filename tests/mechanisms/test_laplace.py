"""Laplace: the stated epsilon is the exact ratio, the tails are the stated accuracy, strange data change nothing."""

from __future__ import annotations

import copy
import math
import pickle
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from cases import together
from chance import assert_follows, assert_mean, laplace_pmf
from hypothesis import given
from hypothesis import strategies as st

from lapwing.errors import InvalidParameter
from lapwing.mechanisms import Laplace, grid
from lapwing.mechanisms.grid import to_steps
from lapwing.noise import Reproducible


def worst_loss(mechanism: Laplace, first: list[Any], second: list[Any]) -> Fraction:
    """ln of the largest probability ratio, exactly: the l1 distance of the rounded answers over the scale."""
    grid = mechanism._granularity
    distance = sum(abs(to_steps(x, grid) - to_steps(y, grid)) for x, y in zip(first, second, strict=True))
    return distance / mechanism._scale


rationals = st.fractions(-50, 50, max_denominator=1000)


@given(
    value=rationals,
    move=st.fractions(-1, 1, max_denominator=1000),
    sensitivity=st.floats(1e-3, 30),
    epsilon=st.floats(1e-3, 9),
)
def test_no_pair_of_numbers_loses_more_than_stated(
    value: Fraction, move: Fraction, sensitivity: float, epsilon: float
) -> None:
    for granularity in (None, 1, Fraction(1, 3), 0.7):
        mechanism = Laplace(epsilon=epsilon, sensitivity=sensitivity, granularity=granularity)
        loss = worst_loss(mechanism, [value], [value + move * Fraction(sensitivity)])
        assert loss <= mechanism.privacy_loss().epsilon == Fraction(epsilon)


@given(data=st.data(), length=st.integers(1, 6))
def test_no_pair_of_rounded_vectors_loses_more_than_stated(data: st.DataObject, length: int) -> None:
    vector = data.draw(st.lists(rationals, min_size=length, max_size=length))
    direction = data.draw(st.lists(rationals, min_size=length, max_size=length))
    size = sum(map(abs, direction)) or Fraction(1)
    for granularity in (None, 1, Fraction(3, 7)):
        mechanism = Laplace(epsilon=1, sensitivity=2, granularity=granularity, dimensions=length)
        moved = [x + 2 * part / size for x, part in zip(vector, direction, strict=True)]
        assert worst_loss(mechanism, vector, moved) <= mechanism.privacy_loss().epsilon == 1


def test_the_stated_epsilon_is_attained() -> None:
    assert worst_loss(Laplace(epsilon=0.7, sensitivity=3), [0], [3]) == Fraction(0.7)
    half = Fraction(1, 2)
    rounding = Laplace(epsilon=1, sensitivity=Fraction(1, 50), granularity=1, dimensions=2)
    assert worst_loss(rounding, [half, half], [half - Fraction(1, 100)] * 2) == 1
    counts = Laplace(epsilon=1, sensitivity=Fraction(5, 2), dimensions=2, on_grid=True)
    assert worst_loss(counts, [0, 0], [1, 1]) == 1


def test_rounding_a_vector_costs_under_a_thousandth_by_default() -> None:
    exact = math.sqrt(Laplace(epsilon=1, sensitivity=1, dimensions=50, on_grid=True, granularity=2**-20).variance)
    assert math.sqrt(Laplace(epsilon=1, sensitivity=1, dimensions=50).variance) < 1.001 * exact


def test_numbers_lists_and_arrays_have_the_same_law() -> None:
    scalar = Laplace(epsilon=0.5, sensitivity=1)
    assert_follows([scalar.release(7) - 7 for _ in range(20_000)], laplace_pmf(2), range(-60, 60))
    vector = Laplace(epsilon=0.5, sensitivity=1, dimensions=200, on_grid=True)
    draws = [answer - 7 for _ in range(100) for answer in vector.release([7] * 200)]
    assert_follows(draws, laplace_pmf(2), range(-60, 60))
    long = Laplace(epsilon=0.5, sensitivity=1, dimensions=100_000, on_grid=True)
    assert_follows(long.release(np.full(100_000, 7)) - 7, laplace_pmf(2), range(-60, 60))
    assert_follows(np.array(long.release([7] * 100_000)) - 7, laplace_pmf(2), range(-60, 60))


def test_answers_lie_on_the_grid_and_keep_their_kind() -> None:
    tenth = Laplace(epsilon=1, sensitivity=1, granularity=Fraction(1, 8))
    answer = tenth.release(0.3)
    assert isinstance(answer, float)
    assert (answer * 8).is_integer()
    assert isinstance(Laplace(epsilon=1, sensitivity=1).release(2.7), int)
    vector = Laplace(epsilon=1, sensitivity=1, dimensions=300, granularity=Fraction(1, 8))
    assert vector.release(np.zeros(300)).dtype == np.float64
    assert isinstance(vector.release([0.0] * 300), list)
    assert Laplace(epsilon=1, sensitivity=1, dimensions=2, on_grid=True).release(np.array([1, 2])).dtype == np.int64


@together("epsilon", [0.01, 0.3, 1, 5, 40])
@together("confidence", [0.2, 0.9, 0.95, 0.999999])
def test_accuracy_is_the_exact_quantile(epsilon: float, confidence: float) -> None:
    width = Laplace(epsilon=epsilon, sensitivity=2, granularity=0.5).accuracy(confidence) * 2
    a = mpmath.exp(-mpmath.mpf(epsilon) / 4)
    assert width == int(width)
    failure = 1 - mpmath.mpf(confidence)
    assert 2 * a ** (width + 1) / (1 + a) <= failure
    assert width == 0 or 2 * a**width / (1 + a) > failure


def test_ten_thousand_counts_at_once_match_the_reference() -> None:
    names = Laplace(epsilon=1, sensitivity=1, dimensions=10_000, on_grid=True)
    assert math.log(10_000 / 0.05) == pytest.approx(12.206, abs=1e-3)
    assert names.accuracy(0.95, simultaneous=True) == 12
    assert names.accuracy(0.95) == 3


@together("epsilon", [0.2, 1, 4])
def test_variance_is_that_of_the_noise(epsilon: float) -> None:
    mechanism = Laplace(epsilon=epsilon, sensitivity=1, dimensions=200_000, on_grid=True)
    squares = mechanism.release(np.zeros(200_000, dtype=int)).astype(float) ** 2
    variance = mechanism.variance
    fourth = math.fsum(2 * x**4 * laplace_pmf(1 / epsilon)(x) for x in range(1, 600))
    assert_mean(squares, variance, fourth - variance**2)
    assert Laplace(epsilon=epsilon, sensitivity=1, granularity=0.25).variance == pytest.approx(2 / epsilon**2, rel=0.4)


def test_strange_data_count_as_zero_without_a_word() -> None:
    mechanism = Laplace(epsilon=1, sensitivity=1)
    expected = mechanism.release(0, Reproducible(1))
    for value in (math.nan, math.inf, -math.inf, None):
        assert mechanism.release(value, Reproducible(1)) == expected
    vector = Laplace(epsilon=1, sensitivity=1, dimensions=4, on_grid=True)
    zeros = vector.release([0, 0, 0, 0], Reproducible(1))
    assert vector.release([math.nan, None, math.inf, -math.inf], Reproducible(1)) == zeros
    array = vector.release(np.zeros(4), Reproducible(1))
    assert (vector.release(np.array([np.nan, np.inf, -np.inf, 0]), Reproducible(1)) == array).all()
    assert (vector.release(np.array([0, 0, 0, np.nan], dtype=np.longdouble), Reproducible(1)) == array).all()


def test_huge_answers_neither_wrap_nor_raise() -> None:
    assert abs(Laplace(epsilon=1, sensitivity=1).release(10**30) - 10**30) < 100
    vector = Laplace(epsilon=1, sensitivity=1, dimensions=1000, on_grid=True)
    top, bottom = np.iinfo(np.int64).max, np.iinfo(np.int64).min
    assert vector.release(np.full(1000, top)).min() > top - 100
    assert vector.release(np.full(1000, bottom)).max() < bottom + 100
    assert vector.release(np.full(1000, 1e300)).min() > top - 2000
    wide = Laplace(epsilon=1, sensitivity=2**58, dimensions=300, on_grid=True)
    assert wide.release(np.full(300, top)).dtype == np.int64


def test_a_wrong_shape_names_the_declared_length_only() -> None:
    vector = Laplace(epsilon=1, sensitivity=1, dimensions=7, on_grid=True)
    for data in ([1, 2, 3], np.arange(3), np.zeros((7, 1)), [0] * 3000):
        with pytest.raises(InvalidParameter, match="declared length 7") as error:
            vector.release(data)
        assert "3" not in str(error.value)
    with pytest.raises(InvalidParameter, match="dimensions"):
        Laplace(epsilon=1, sensitivity=1).release([1, 2])
    with pytest.raises(InvalidParameter, match="<str>"):
        Laplace(epsilon=1, sensitivity=1).release("secret")


@together(
    "parameters",
    [
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": math.nan},
        {"epsilon": math.inf},
        {"epsilon": "1"},
        {"epsilon": None},
        {"epsilon": True},
        {"sensitivity": 0},
        {"sensitivity": -1},
        {"sensitivity": "big"},
        {"granularity": 0},
        {"granularity": -0.5},
        {"granularity": 1e-30},
        {"dimensions": 0},
        {"dimensions": 2.0},
        {"on_grid": 1},
        {"on_grid": True, "granularity": 2},
        {"relation": "neighbour"},
        {"unit": ""},
    ],
)
def test_bad_parameters_say_what_to_write_instead(parameters: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter) as error:
        Laplace(**{"epsilon": 1, "sensitivity": 1} | parameters)
    assert error.value.hint
    assert error.value.name in {*parameters, "sensitivity"}


def test_a_mechanism_is_a_value() -> None:
    mechanism = Laplace(epsilon=1, sensitivity=1, relation="replace", unit="household")
    assert mechanism == Laplace(epsilon=1, sensitivity=1, relation="replace", unit="household")
    assert hash(mechanism) == hash(copy.deepcopy(mechanism))
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism
    loss = mechanism.privacy_loss()
    assert (loss.relation, loss.unit) == ("replace", "household")
    with pytest.raises(AttributeError):
        mechanism.epsilon = 2  # type: ignore[misc]


@together("exponent", [-70, -64, -63, -62, -10, -1, 0, 1, 10, 62, 63, 64, 65, 70])
def test_whole_numbers_shift_to_the_steps_that_rationals_give(exponent: int) -> None:
    ends = [-(2**63), -(2**63) + 1, -(2**62), -3, -1, 0, 1, 3, 5 * 2**40, 2**62 - 1, 2**62, 2**63 - 1]
    granularity = Fraction(2) ** exponent
    expected = grid.saturated(grid.to_steps(value, granularity) for value in ends)
    assert grid.steps_of_array(np.array(ends), granularity).tolist() == expected
