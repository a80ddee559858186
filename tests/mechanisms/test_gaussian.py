"""The discrete Gaussian: rho exactly, delta of the discrete law itself, never below the truth."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from cases import together
from chance import assert_follows, assert_mean, gaussian_pmf
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.errors import InvalidParameter
from lapwing.mechanisms import Gaussian, analytic_sigma, classical_sigma
from lapwing.mechanisms.gaussian_delta import delta_up, total_down
from lapwing.mechanisms.grid import to_steps


def true_delta(sigma: Fraction, shift: int, epsilon: Fraction) -> mpmath.mpf:
    """The hockey-stick divergence, term by term from its definition, to 60 digits."""
    with mpmath.workdps(60):
        variance = mpmath.mpf(sigma.numerator) ** 2 / mpmath.mpf(sigma.denominator) ** 2
        reach = math.ceil(45 * sigma) + shift + 5
        weights = {x: mpmath.exp(-mpmath.mpf(x * x) / (2 * variance)) for x in range(-reach, reach + shift + 1)}
        factor = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        excess = mpmath.fsum(max(0, weights[x] - factor * weights[x + shift]) for x in range(-reach, reach + 1))
        return excess / mpmath.fsum(weights.values())


@together("sigma", [Fraction(1, 5), Fraction(3, 4), 1, Fraction(17, 8), 10, 40])
@pytest.mark.parametrize("shift", [1, 3])
@together("epsilon", [0, Fraction(1, 10), 1, 8])
def test_delta_is_never_below_the_truth_and_hardly_above(sigma: Fraction, shift: int, epsilon: Fraction) -> None:
    sigma, epsilon = Fraction(sigma), Fraction(epsilon)
    truth = true_delta(sigma, shift, epsilon)
    bound = delta_up(sigma**2, shift, epsilon)
    with mpmath.workdps(60):
        stated = mpmath.mpf(bound.numerator) / bound.denominator
        if truth > mpmath.mpf("1e-440"):
            assert truth * (1 - mpmath.mpf("1e-40")) <= stated <= truth * (1 + mpmath.mpf("1e-14"))
        assert stated >= truth * (1 - mpmath.mpf("1e-40"))


@together("sigma", [4096, 9000, 100_000])
@together("epsilon", [0.1, 1, 3])
def test_blocks_of_terms_stay_above_the_truth_and_near_it(sigma: int, epsilon: float) -> None:
    shift = sigma // 4
    center = epsilon * sigma**2 / shift - shift / 2
    x = np.arange(math.floor(center) + 1, math.floor(center) + 30 * sigma, dtype=np.float64)
    terms = np.exp(-(x**2) / (2 * sigma**2)) * -np.expm1(-(shift / sigma**2) * (x - center))
    truth = math.fsum(terms) / (math.sqrt(2 * math.pi) * sigma)
    bound = float(delta_up(Fraction(sigma) ** 2, shift, Fraction(epsilon)))
    assert truth * (1 - 1e-9) <= bound <= truth * (1.000001 if sigma == 4096 else 1.004)


def test_a_larger_shift_never_has_a_smaller_delta() -> None:
    for sigma in (Fraction(1, 2), Fraction(3), Fraction(20)):
        deltas = [delta_up(sigma**2, shift, Fraction(1)) for shift in range(1, 8)]
        assert deltas == sorted(deltas)


@together("variance", [Fraction(1, 1024), Fraction(1, 4), Fraction(399, 100), Fraction(4), Fraction(100)])
def test_the_normaliser_is_bounded_from_below(variance: Fraction) -> None:
    with mpmath.workdps(60):
        total = mpmath.nsum(
            lambda x: mpmath.exp(-(x**2) * variance.denominator / (2 * variance.numerator)), [-300, 300]
        )
        low = total_down(variance)
        assert total * (1 - mpmath.mpf("1e-25")) <= mpmath.mpf(low.numerator) / low.denominator
        assert mpmath.mpf(low.numerator) / low.denominator <= total * (1 + mpmath.mpf("1e-50"))


def test_discrete_noise_at_the_continuous_sigma_may_have_three_times_the_delta() -> None:
    delta = Gaussian(sigma=analytic_sigma(8, 1e-6), sensitivity=1).delta_at(8)
    assert 2.9e-6 < delta < 3.1e-6


@together(("epsilon", "delta"), [(0.1, 1e-6), (1, 1e-6), (1, 1e-12), (4, 1e-3), (8, 1e-9)])
@together("sensitivity", [1, 3, 0.3])
def test_calibration_meets_the_target_with_little_to_spare(epsilon: float, delta: float, sensitivity: float) -> None:
    mechanism = Gaussian.for_epsilon(epsilon, delta, sensitivity=sensitivity)
    assert mechanism.delta_at(epsilon) <= delta
    found = mechanism.epsilon_at(delta)
    assert found <= epsilon
    assert found < mechanism.privacy_loss().epsilon_at(delta)
    assert float(mechanism.sigma) == pytest.approx(analytic_sigma(epsilon, delta, sensitivity), rel=0.06)
    assert mechanism.delta_at(epsilon) > 0.9 * delta


def test_a_grid_that_is_no_power_of_two_is_calibrated_at_the_sigma_used() -> None:
    mechanism = Gaussian.for_epsilon(1, 1e-6, sensitivity=1, granularity=0.1)
    assert mechanism.delta_at(1) <= 1e-6


def test_delta_agrees_with_the_accountants() -> None:
    from dp_accounting.pld import privacy_loss_distribution as pld

    mechanism = Gaussian(sigma=4, sensitivity=2)
    theirs = pld.from_discrete_gaussian_mechanism(4, sensitivity=2, value_discretization_interval=1e-4)
    for epsilon in (0.5, 1, 2):
        assert mechanism.delta_at(epsilon) == pytest.approx(theirs.get_delta_for_epsilon(epsilon), rel=2e-3)
        assert mechanism.delta_at(epsilon) <= theirs.get_delta_for_epsilon(epsilon) * (1 + 1e-6)


def test_rho_is_exact() -> None:
    assert Gaussian(sigma=10, sensitivity=1).privacy_loss().rho == Fraction(1, 200)
    assert Gaussian(sigma=10, sensitivity=3, relation="replace").privacy_loss().rho == Fraction(9, 200)
    mechanism = Gaussian.for_rho(0.1, sensitivity=1)
    assert Fraction(0.1) * (1 - Fraction(1, 2**50)) <= mechanism.privacy_loss().rho <= Fraction(0.1)
    vector = Gaussian(sigma=10, sensitivity=Fraction(3, 2), dimensions=9, on_grid=True)
    assert vector.privacy_loss().rho == Fraction(2, 200)


def test_rho_bounds_the_divergence_of_the_discrete_law() -> None:
    sigma, shift = 1.3, 2
    pmf, rho = gaussian_pmf(sigma), shift**2 / (2 * sigma**2)
    for order in (1.5, 2, 3, 10):
        moment = math.fsum(pmf(x) ** order * pmf(x - shift) ** (1 - order) for x in range(-12, 12))
        assert math.log(moment) / (order - 1) <= order * rho * (1 + 1e-9)


rationals = st.fractions(-20, 20, max_denominator=100)


@given(data=st.data(), length=st.integers(1, 5))
@settings(max_examples=60)
def test_rounding_never_moves_answers_farther_than_stated(data: st.DataObject, length: int) -> None:
    vector = data.draw(st.lists(rationals, min_size=length, max_size=length))
    direction = data.draw(st.lists(rationals, min_size=length, max_size=length))
    size = Fraction(math.sqrt(sum(part**2 for part in direction)) * (1 + 1e-12)) or Fraction(1)
    moved = [x + 2 * part / size for x, part in zip(vector, direction, strict=True)]
    for granularity in (None, 1, Fraction(3, 7)):
        mechanism = Gaussian(sigma=1, sensitivity=2, granularity=granularity, dimensions=length)
        grid = mechanism._granularity
        steps = [to_steps(x, grid) - to_steps(y, grid) for x, y in zip(vector, moved, strict=True)]
        assert sum(step**2 for step in steps) <= mechanism._squared_steps


def test_vectors_take_delta_from_rho_unless_only_one_step_can_be_made() -> None:
    vector = Gaussian(sigma=10, sensitivity=2, dimensions=5, on_grid=True)
    assert vector.delta_at(1) == vector.privacy_loss().delta_at(1)
    assert vector.epsilon_at(1e-6) == vector.privacy_loss().epsilon_at(1e-6)
    counts = Gaussian(sigma=10, sensitivity=1, dimensions=5, on_grid=True)
    assert counts.delta_at(1) == Gaussian(sigma=10, sensitivity=1).delta_at(1)
    solved = Gaussian.for_epsilon(1, 1e-6, sensitivity=2, dimensions=5, on_grid=True)
    assert solved.epsilon_at(1e-6) <= 1
    assert solved.epsilon_at(1e-6) > 0.999


@together("sigma", [0.4, 3, 50])
def test_numbers_and_arrays_have_the_stated_law(sigma: float) -> None:
    scalar = Gaussian(sigma=sigma, sensitivity=1)
    assert_follows([scalar.release(7) - 7 for _ in range(10_000)], gaussian_pmf(sigma), range(-300, 300))
    vector = Gaussian(sigma=sigma, sensitivity=1, dimensions=100_000, on_grid=True)
    noise = vector.release(np.full(100_000, 7)) - 7
    assert_follows(noise, gaussian_pmf(sigma), range(-300, 300))
    variance = vector.variance
    pmf, reach = gaussian_pmf(sigma), 12 * math.ceil(sigma)
    fourth = math.fsum(x**4 * pmf(x) for x in range(-reach, reach))
    assert_mean(noise.astype(float) ** 2, variance, fourth - variance**2)
    small = Gaussian(sigma=sigma, sensitivity=1, dimensions=100, on_grid=True)
    draws = [answer for _ in range(100) for answer in small.release([0] * 100)]
    assert_follows(draws, gaussian_pmf(sigma), range(-300, 300))


@together("sigma", [0.3, 1, 10, 60])
@together("confidence", [0.3, 0.95, 0.999999])
def test_accuracy_is_the_exact_quantile_for_small_sigma(sigma: float, confidence: float) -> None:
    width = Gaussian(sigma=sigma, sensitivity=1).accuracy(confidence)
    pmf = gaussian_pmf(sigma)
    within = math.fsum(pmf(x) for x in range(-int(width), int(width) + 1))
    assert within >= confidence
    assert width == 0 or within - 2 * pmf(int(width)) < confidence


def test_accuracy_for_large_sigma_is_one_step_from_the_normal_quantile() -> None:
    assert Gaussian(sigma=1000, sensitivity=1).accuracy(0.95) in (1960, 1961)
    assert Gaussian(sigma=2, sensitivity=1, granularity=2**-12).accuracy(0.95) == pytest.approx(3.92, abs=1e-3)
    assert Gaussian.solve(within=5, sensitivity=1).accuracy() <= 5


def test_strange_data_and_absurd_sigmas_are_handled() -> None:
    mechanism = Gaussian(sigma=1, sensitivity=1)
    for value in (math.nan, math.inf, None):
        assert abs(mechanism.release(value)) < 50
    tiny = Gaussian(sigma=1e-12, sensitivity=1)
    assert tiny.release(3) == 3
    assert tiny.privacy_loss().rho == 512
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism
    with pytest.raises(InvalidParameter, match="dimensions"):
        mechanism.release([1, 2])
    with pytest.raises(InvalidParameter, match="declared length 3"):
        Gaussian(sigma=1, sensitivity=1, dimensions=3).release([1, 2])


@together(
    "parameters",
    [
        {"sigma": 0},
        {"sigma": -1},
        {"sigma": math.nan},
        {"sigma": "1"},
        {"sensitivity": 0},
        {"granularity": 0},
        {"granularity": 1e-30},
        {"dimensions": 0},
        {"on_grid": True, "granularity": 2},
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        Gaussian(**{"sigma": 1, "sensitivity": 1} | parameters)


@together(("epsilon", "delta"), [(0, 1e-6), (-1, 1e-6), (1, 0), (1, 1), (1, math.nan), ("1", 1e-6)])
def test_bad_targets_are_refused(epsilon: Any, delta: Any) -> None:
    with pytest.raises(InvalidParameter):
        Gaussian.for_epsilon(epsilon, delta, sensitivity=1)
    with pytest.raises(InvalidParameter):
        analytic_sigma(epsilon, delta)


def test_the_textbook_formulas_for_continuous_noise() -> None:
    assert classical_sigma(0.5, 1e-5) == pytest.approx(math.sqrt(2 * math.log(1.25e5)) / 0.5)
    assert classical_sigma(0.5, 1e-5, 3) == pytest.approx(3 * classical_sigma(0.5, 1e-5))
    assert analytic_sigma(0.5, 1e-5) < classical_sigma(0.5, 1e-5)
    with pytest.raises(InvalidParameter, match="ε < 1"):
        classical_sigma(1, 1e-5)

    def continuous(sigma: mpmath.mpf, epsilon: float) -> mpmath.mpf:
        left, right = 0.5 / sigma - epsilon * sigma, -0.5 / sigma - epsilon * sigma
        return mpmath.ncdf(left) - mpmath.exp(epsilon) * mpmath.ncdf(right)

    for epsilon, delta in ((0.01, 1e-9), (1, 1e-6), (8, 1e-6), (200, 1e-6)):
        with mpmath.workdps(40):
            sigma = mpmath.mpf(analytic_sigma(epsilon, delta))
            assert float(continuous(sigma, epsilon)) == pytest.approx(delta, rel=1e-6)
