"""Composition of lists: textbook bounds, the exact optimum, and dp-accounting's distributions beside brute force."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from cases import together
from distributions import hockey_stick
from dp_accounting.pld import accountant as theirs
from dp_accounting.pld import common
from scipy import stats

from lapwing.errors import IncompatibleLosses, InvalidParameter
from lapwing.privacy import PLD, ZCDP, AdditiveNoise, ApproxDP, Loss, PureDP, RenyiDP, compose
from lapwing.privacy.optimal_composition import optimal_delta_at, optimal_epsilon_at


def brute_force_delta(epsilons: list[float], target: float) -> float:
    """The hockey-stick divergence of independent randomized responses, outcome by outcome."""
    total = 0.0
    for signs in product((1, -1), repeat=len(epsilons)):
        chance = math.prod(1 / (1 + math.exp(-s * e)) for s, e in zip(signs, epsilons, strict=True))
        loss = sum(s * e for s, e in zip(signs, epsilons, strict=True))
        total += chance * max(0.0, 1 - math.exp(target - loss))
    return total


def test_advanced_composition_has_its_reference_value() -> None:
    composition = compose(*[ApproxDP(0.1, 1e-8)] * 50, delta=50 * Fraction(1e-8) + Fraction(1e-6))
    assert composition.advanced is not None
    expected = 0.1 * math.sqrt(2 * 50 * math.log(1e6)) + 50 * 0.1 * (math.exp(0.1) - 1)
    assert float(composition.advanced.epsilon) == pytest.approx(expected, rel=1e-9)
    assert composition.advanced.epsilon >= Fraction(expected) * (1 - Fraction(1, 10**14))


def test_advanced_composition_of_pure_losses_agrees_with_dp_accounting() -> None:
    stated = compose(*[PureDP(0.05)] * 200, delta=1e-6).advanced
    reference = theirs.advanced_composition(common.DifferentialPrivacyParameters(0.05, 0), 200, 1e-6)
    assert stated is not None
    assert reference is not None
    assert stated.epsilon >= reference  # theirs is the optimum in closed form
    assert compose(*[PureDP(0.05)] * 200, delta=1e-6).best.epsilon == pytest.approx(reference, rel=0.03)


@together("epsilon", [0.1, 0.7, 2.5])
@together("count", [1, 2, 5, 8])
def test_the_optimum_equals_brute_force(epsilon: float, count: int) -> None:
    for part in (0, 0.3, 0.77, 1):
        target = Fraction(epsilon) * count * Fraction(part)
        expected = brute_force_delta([epsilon] * count, float(target))
        assert float(optimal_delta_at(Fraction(epsilon), Fraction(0), count, target)) == pytest.approx(
            expected, abs=1e-14
        )


@together(("epsilon", "delta", "count"), [(0.1, 0, 300), (1, 1e-9, 20), (0.01, 1e-10, 2000), (3, 0, 100)])
def test_the_optimum_lies_between_what_holds_and_the_best_known_bounds(
    epsilon: float, delta: float, count: int
) -> None:
    total = Fraction(1e-6)
    found = optimal_epsilon_at(Fraction(epsilon), Fraction(delta), count, total)
    assert found is not None
    assert optimal_delta_at(Fraction(epsilon), Fraction(delta), count, found) <= total
    assert optimal_delta_at(Fraction(epsilon), Fraction(delta), count, found * Fraction(999_999, 10**6)) > total
    composition = compose(*[ApproxDP(epsilon, delta)] * count, delta=total)
    assert composition.pld is not None
    assert float(composition.pld.epsilon) == pytest.approx(float(found), rel=1e-3)
    assert composition.pld.epsilon >= found
    assert all(found <= loss.epsilon for loss in composition.bounds.values())


def test_unequal_pure_losses_are_composed_by_distribution_as_by_brute_force() -> None:
    epsilons = [0.1, 0.25, 0.7, 0.05, 1.3, 0.33, 0.33]
    loss = PLD([PureDP(epsilon) for epsilon in epsilons])
    for target in (0.0, 0.5, 1.5, 2.5):
        expected = brute_force_delta(epsilons, target)
        assert expected <= loss.delta_at(target) <= expected * (1 + 1e-3) + 1e-9


def test_counts_are_applied_to_every_event_once() -> None:
    for event in (PureDP(0.5), ApproxDP(0.5, 1e-9), AdditiveNoise("laplace", 2), AdditiveNoise("discrete_gaussian", 5)):
        several = PLD([(event, 4)])
        assert several == 4 * PLD([event]) == PLD([event] * 4)
        assert several.epsilon_at(1e-5) > PLD([(event, 3)]).epsilon_at(1e-5) > PLD([event]).epsilon_at(1e-5)
    assert PLD([(PureDP(0.5), 4)]).delta_at(0.7) == pytest.approx(brute_force_delta([0.5] * 4, 0.7), rel=1e-6)


@together(("scale", "sensitivity"), [(1, 1), (3, 2), (10, 7)])
def test_the_distribution_of_discrete_laplace_noise_is_the_true_one(scale: int, sensitivity: int) -> None:
    k = np.arange(-60 * scale, 60 * scale + 1)
    p, q = stats.dlaplace.pmf(k, 1 / scale), stats.dlaplace.pmf(k - sensitivity, 1 / scale)
    once, twice = (
        PLD([AdditiveNoise("discrete_laplace", scale, sensitivity)]),
        PLD([PureDP(Fraction(sensitivity, scale))]),
    )
    for epsilon in (0.0, 0.1, 0.3):
        true = hockey_stick(p, q, epsilon)
        assert true * (1 - 1e-12) <= once.delta_at(epsilon) <= true * (1 + 1e-3) + 1e-9
        assert once.delta_at(epsilon) <= twice.delta_at(epsilon) * (1 + 1e-3) + 1e-9
    assert once.epsilon_at(0) == pytest.approx(sensitivity / scale)


@together(("sigma", "sensitivity"), [(1, 1), (5, 2), (20, 10)])
def test_the_distribution_of_discrete_gaussian_noise_is_the_true_one(sigma: int, sensitivity: int) -> None:
    k = np.arange(-40 * sigma, 40 * sigma + 1)
    p = np.exp(-(k**2) / (2 * sigma**2))
    q = np.exp(-((k - sensitivity) ** 2) / (2 * sigma**2))
    p, q = p / p.sum(), q / q.sum()
    loss = PLD([AdditiveNoise("discrete_gaussian", sigma, sensitivity)])
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        true = hockey_stick(p, q, epsilon)
        assert true * (1 - 1e-12) <= loss.delta_at(epsilon) <= true * (1 + 1e-3) + 1e-9


def test_the_distribution_of_gaussian_noise_is_the_true_one_and_below_its_zcdp() -> None:
    loss = PLD([(AdditiveNoise("gaussian", 8), 16)])
    sigma = 2.0
    for epsilon in (0.5, 1.0, 2.0):
        true = stats.norm.cdf(0.5 / sigma - epsilon * sigma)
        true -= math.exp(epsilon) * stats.norm.cdf(-0.5 / sigma - epsilon * sigma)
        assert true <= loss.delta_at(epsilon) <= true * 1.01 + 1e-9
    assert loss.epsilon_at(1e-6) <= ZCDP(Fraction(1, 8)).epsilon_at(1e-6)


def test_a_distribution_for_a_group_scales_each_event() -> None:
    loss = PLD([PureDP(0.5), (AdditiveNoise("discrete_laplace", 4, 1), 2)])
    assert loss.for_group(3) == PLD([PureDP(1.5), (AdditiveNoise("discrete_laplace", 4, 3), 2)])
    assert loss.to_replace().relation == "replace"


def test_the_best_bound_is_the_smallest_and_the_text_shows_all() -> None:
    composition = compose(*[PureDP(0.1)] * 100, delta=1e-6)
    assert set(composition.bounds) == {"basic", "advanced", "optimal", "zcdp", "renyi", "pld"}
    assert composition.best.epsilon == min(loss.epsilon for loss in composition.bounds.values())
    assert composition.basic == PureDP(10 * Fraction(0.1) * 10)
    text = composition.explain()
    assert text.startswith("100 releases")
    assert text.count("← best") == 1
    assert all(name in text for name in composition.bounds)


def test_for_a_single_release_the_simplest_bound_wins() -> None:
    assert compose(PureDP(1)).best == PureDP(1)
    assert compose(PureDP(1)).bounds.keys() == {"basic"}


def test_lists_of_other_kinds_use_what_applies() -> None:
    mixed = compose(PureDP(0.1), ZCDP(0.1), delta=1e-6)
    assert mixed.bounds.keys() == {"basic", "zcdp", "renyi"}
    assert compose(ApproxDP(0.1, 1e-8), ZCDP(0.1), delta=1e-6).bounds.keys() == {"basic", "zcdp"}
    assert compose(PureDP(0.1), RenyiDP([2, 8], [1, 2]), delta=1e-6).bounds.keys() == {"basic", "renyi"}
    assert compose(PureDP(0.1), PLD([PureDP(0.3)]), delta=1e-6).bounds.keys() == {"basic", "pld"}
    for composition in (mixed, compose(*[ZCDP(0.01)] * 10, delta=1e-6)):
        assert composition.zcdp is not None
        assert composition.basic is not None
        assert composition.zcdp.epsilon < composition.basic.epsilon


@together(
    ("losses", "delta", "error"),
    [
        ((), 1e-6, InvalidParameter),
        ((ZCDP(1),), None, InvalidParameter),
        ((ApproxDP(1, 1e-3), ApproxDP(1, 1e-3)), 1e-3, InvalidParameter),
        ((PureDP(1), PureDP(1, relation="replace")), 1e-6, IncompatibleLosses),
        ((PureDP(1), PureDP(1, unit="visit")), 1e-6, IncompatibleLosses),
    ],
)
def test_a_list_without_a_valid_bound_is_refused(
    losses: tuple[Loss, ...], delta: float, error: type[Exception]
) -> None:
    with pytest.raises(error):
        compose(*losses, delta=delta)


def test_only_kinds_whose_plain_sum_is_a_filter_may_be_spent_adaptively() -> None:
    assert PureDP.adaptive
    assert ApproxDP.adaptive
    assert ZCDP.adaptive
    assert not RenyiDP.adaptive
    assert not PLD.adaptive


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("beside", [(), (PureDP(1),), (AdditiveNoise("laplace", 1),)], ids=["alone", "pure", "Laplace"])
def test_a_distribution_has_an_epsilon_at_exactly_the_delta_of_its_events(
    count: int, beside: tuple[PureDP | AdditiveNoise, ...]
) -> None:
    delta = Fraction(28, 100)
    loss = PLD([(ApproxDP(3, delta), count), *beside])
    assert loss.epsilon_at(count * delta) <= 3 * count + len(beside)
    assert loss.epsilon_at(delta / 2) == float("inf")
