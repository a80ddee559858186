"""Conversions: against closed forms in high precision, against dp-accounting, and against explicit distributions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from cases import together
from distributions import hockey_stick, normalised, renyi, weights
from dp_accounting.rdp import rdp_privacy_accountant as rdp
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lapwing.errors import UnsupportedConversion
from lapwing.privacy import ZCDP, ApproxDP, PureDP, RenyiDP

mpmath.mp.dps = 60


@together(("epsilon", "delta"), list(product([1e-3, 0.5, 1, 5, 40], [0, 1e-6, 0.1])))
def test_the_trade_off_of_a_pair_is_rounded_up_from_its_closed_form(epsilon: float, delta: float) -> None:
    loss = ApproxDP(epsilon, delta)
    e, d = mpmath.mpf(epsilon), mpmath.mpf(delta)
    for target in (0, epsilon / 3, epsilon * 0.99):
        true = d + (1 - d) * (mpmath.exp(e) - mpmath.exp(mpmath.mpf(target))) / (1 + mpmath.exp(e))
        assert true <= loss.delta_at(target) <= true * (1 + mpmath.mpf(2) ** -48)
    for target in (delta + 1e-7, delta + 0.01):
        slack = (mpmath.mpf(target) - d) / (1 - d)
        inner = mpmath.exp(e) * (1 - slack) - slack
        true = max(mpmath.log(inner), mpmath.mpf(0)) if inner > 0 else mpmath.mpf(0)
        found = loss.epsilon_at(target)
        assert true <= found <= true * (1 + mpmath.mpf(2) ** -48) + mpmath.mpf(2) ** -60


@given(weights, weights, st.floats(0, 3))
def test_the_implied_pairs_hold_for_explicit_distributions(a: list[int], b: list[int], target: float) -> None:
    p, q = normalised(a), normalised(b)
    epsilon = float(np.max(np.abs(np.log(p / q))))
    loss = PureDP(epsilon * (1 + 1e-12))
    worst = max(hockey_stick(p, q, target), hockey_stick(q, p, target))
    assert worst <= loss.delta_at(target) + 1e-12
    for order in (1.5, 2, 7):
        divergence = max(renyi(p, q, order), renyi(q, p, order))
        assert divergence <= loss.to_renyi([order]).at(order) + 1e-9  # type: ignore[operator]
        assert divergence <= order * loss.to_zcdp().rho + 1e-9


@together("epsilon", [1e-12, 0.01, 1, 8, 100])
def test_randomized_response_has_the_renyi_curve_we_state(epsilon: float) -> None:
    curve = PureDP(epsilon).to_renyi()
    e = mpmath.mpf(epsilon)
    p = mpmath.exp(e) / (1 + mpmath.exp(e))
    for order, stated in list(zip(curve.orders, curve.epsilons, strict=True))[::7]:
        a = mpmath.mpf(order.numerator) / order.denominator
        true = mpmath.log(p**a * (1 - p) ** (1 - a) + (1 - p) ** a * p ** (1 - a)) / (a - 1)
        assert true <= mpmath.mpf(stated.numerator) / stated.denominator <= true * (1 + 1e-6)


@together(("rho", "delta"), list(product([1e-8, 1e-3, 0.1, 0.5, 5, 500], [1e-12, 1e-6, 0.01])))
def test_zcdp_conversion_is_tight_over_all_orders_and_agrees_with_dp_accounting(rho: float, delta: float) -> None:
    def bound(log_excess: float) -> mpmath.mpf:
        a = 1 + mpmath.exp(log_excess)
        return a * rho + mpmath.log(1 - 1 / a) + (-mpmath.log(mpmath.mpf(delta)) - mpmath.log(a)) / (a - 1)

    grid = [math.log(math.sqrt(math.log(1 / delta) / rho)) + x / 50 for x in range(-200, 201)]
    best = max(min(bound(x) for x in grid), mpmath.mpf(0))
    found = ZCDP(rho).epsilon_at(delta)
    assert found <= best * (1 + 1e-9) + 1e-15
    assert found >= best * (1 - 2e-3)
    orders = [1 + math.exp(x) for x in grid if 1 + math.exp(x) > 1.02]
    theirs, _ = rdp.compute_epsilon(orders, [rho * a for a in orders], delta)
    if theirs > 0:  # theirs also uses a bound through the KL divergence, which may say 0
        assert found == pytest.approx(theirs, rel=2e-3)


@together(("sigma", "epsilon"), list(product([0.5, 1, 4, 20], [0.1, 1, 4])))
def test_zcdp_delta_covers_the_gaussian_mechanism_that_has_this_rho(sigma: float, epsilon: float) -> None:
    shift = 1 / (2 * sigma)
    upper = stats.norm.cdf(shift - epsilon * sigma)
    true = upper - math.exp(epsilon) * stats.norm.cdf(-shift - epsilon * sigma)
    loss = ZCDP(Fraction(1, 2) / Fraction(sigma) ** 2)
    assert true <= loss.delta_at(epsilon)
    if 1e-300 < loss.delta_at(epsilon) < 0.05:
        assert loss.epsilon_at(loss.delta_at(epsilon)) == pytest.approx(epsilon, rel=1e-3)


def test_zcdp_delta_agrees_with_dp_accounting() -> None:
    orders = [1 + x / 100 for x in range(2, 20000)]
    for rho, epsilon in product([0.01, 0.5], [0.5, 3.0, 8.0]):
        theirs, _ = rdp.compute_delta(orders, [rho * a for a in orders], epsilon)
        assert theirs * (1 - 1e-9) <= ZCDP(rho).delta_at(epsilon) * (1 + 1e-3)
        assert ZCDP(rho).delta_at(epsilon) <= theirs * (1 + 1e-3) + 1e-300


def test_renyi_conversion_agrees_with_dp_accounting() -> None:
    curve = PureDP(0.5).to_renyi() + ZCDP(0.02).to_renyi()
    orders, values = [float(a) for a in curve.orders], [float(e) for e in curve.epsilons]
    for delta in (1e-9, 1e-5, 1e-3):
        theirs, _ = rdp.compute_epsilon(orders, values, delta)
        assert curve.epsilon_at(delta) == pytest.approx(theirs, rel=1e-9)
        assert curve.epsilon_at(delta) >= theirs * (1 - 1e-12)
    for epsilon in (0.5, 2.0):
        theirs, _ = rdp.compute_delta(orders, values, epsilon)
        assert theirs * (1 - 1e-9) <= curve.delta_at(epsilon) <= theirs * 1.001 or theirs > 0.05


def test_approximate_zcdp_spends_its_own_delta_first() -> None:
    loss = ZCDP(0.5, 1e-7)
    assert loss.epsilon_at(1e-8) == math.inf
    assert loss.epsilon_at(1e-6) == pytest.approx(ZCDP(0.5).epsilon_at((1e-6 - 1e-7) / (1 - 1e-7)), rel=1e-9)
    assert loss.delta_at(3) == pytest.approx(1e-7 + (1 - 1e-7) * ZCDP(0.5).delta_at(3), rel=1e-9)
    assert ApproxDP(1, 1e-7).to_zcdp() == loss


def test_what_nobody_proved_is_refused() -> None:
    attempts = [
        lambda: ZCDP(1).to_approx(0),
        lambda: ApproxDP(1, 1e-3).to_approx(1e-6),
        lambda: ApproxDP(1, 1e-6).to_renyi(),
        lambda: ZCDP(1, 1e-6).to_renyi(),
        lambda: ZCDP(1, 1e-6).for_group(2),
        lambda: RenyiDP([2], [1]).to_zcdp(),
        lambda: RenyiDP([2], [1]).for_group(2),
    ]
    for attempt in attempts:
        with pytest.raises(UnsupportedConversion):
            attempt()


@together("epsilon", [1e-300, 3000, 1e6, 1e300])
def test_extreme_epsilons_neither_overflow_nor_round_down(epsilon: float) -> None:
    loss = PureDP(epsilon)
    assert loss.epsilon_at(0) == epsilon
    assert loss.epsilon_at(1e-9) <= epsilon
    assert 0 < loss.delta_at(epsilon / 2) <= 1
    assert loss.to_renyi().epsilons[-1] <= epsilon
    assert loss.to_zcdp().rho == Fraction(epsilon) ** 2 / 2 or epsilon == 1e-300
    assert loss.to_zcdp().rho >= Fraction(epsilon) ** 2 / 2


@together("rho", [1e-300, 1e-30, 1e6, 1e30])
def test_extreme_rhos_convert_upwards(rho: float) -> None:
    assert ZCDP(rho).epsilon_at(1e-6) >= 0
    assert rho < 1 or ZCDP(rho).epsilon_at(1e-6) >= rho
    assert 0 < ZCDP(rho).delta_at(1) <= 1


def test_a_tiny_delta_is_never_stated_as_zero() -> None:
    assert ZCDP(1e-6).delta_at(50) > 0


@given(weights, weights, weights)
def test_groups_hold_for_explicit_chains_of_distributions(a: list[int], b: list[int], c: list[int]) -> None:
    p, r, q = normalised(a), normalised(b), normalised(c)
    orders = [1.5, 2, 2.5, 3, 4, 6, 8, 12, 16, 32]
    steps = [(p, r), (r, p), (r, q), (q, r)]
    single = RenyiDP(orders, [max(renyi(x, y, order) for x, y in steps) + 1e-9 for order in orders])
    pair = single.for_group(2)
    for order, bound in zip(pair.orders, pair.epsilons, strict=True):
        assert max(renyi(p, q, float(order)), renyi(q, p, float(order))) <= bound + Fraction(1, 10**6)
    epsilon = 0.3
    delta = max(hockey_stick(x, y, epsilon) for x, y in steps)
    if delta < 0.4:
        grouped = ApproxDP(epsilon, delta + 1e-12).for_group(2)
        assert max(hockey_stick(p, q, 2 * epsilon), hockey_stick(q, p, 2 * epsilon)) <= float(grouped.delta) + 1e-9


def test_a_group_has_the_reference_values() -> None:
    assert PureDP(0.5).for_group(3).epsilon == Fraction(3, 2)
    assert ZCDP(0.5).for_group(3).rho == Fraction(9, 2)
    loss = ApproxDP(0.5, 1e-6).for_group(3)
    assert loss.epsilon == Fraction(3, 2)
    exact = (1 + math.exp(0.5) + math.exp(1)) * 1e-6
    assert exact * (1 - 1e-12) <= float(loss.delta) <= exact * (1 + 1e-12)
    assert loss.delta <= 3 * math.exp(1.0) * 1e-6
    assert ApproxDP(0, 1e-6).for_group(3).delta == 3 * Fraction(1e-6)


def test_the_renyi_group_bound_comes_close_to_that_of_zcdp() -> None:
    curve = ZCDP(0.1).to_renyi().for_group(2)
    assert ZCDP(0.4).epsilon_at(1e-6) <= curve.epsilon_at(1e-6) <= ZCDP(0.4).epsilon_at(1e-6) * 1.02
