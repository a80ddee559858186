"""Amplification by sampling: against explicit distributions, and against dp-accounting where it has the case."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import dp_accounting
import numpy as np
import pytest
from cases import together
from distributions import normalised, renyi, weights
from dp_accounting.rdp import rdp_privacy_accountant as rdp
from hypothesis import given
from hypothesis import strategies as st

from lapwing.errors import InvalidParameter, UnsupportedConversion
from lapwing.privacy import PLD, ZCDP, AdditiveNoise, ApproxDP, Loss, PureDP, RenyiDP

ORDERS = (2, 3, 4, 7, 16, 32)


def curve_of(p: np.ndarray, q: np.ndarray, relation: str) -> RenyiDP:
    orders = range(2, 33)
    both = [max(renyi(p, q, order), renyi(q, p, order)) * (1 + 1e-12) + 1e-13 for order in orders]
    return RenyiDP(orders, both, relation=relation)  # type: ignore[arg-type]


@given(weights, weights, st.floats(1e-4, 1))
def test_poisson_sampling_covers_explicit_distributions_in_both_directions(
    a: list[int], b: list[int], q: float
) -> None:
    with_unit, without = normalised(a), normalised(b)
    stated = curve_of(with_unit, without, "add_remove").subsampled(q)
    sampled = (1 - q) * without + q * with_unit
    assert isinstance(stated, RenyiDP)
    for order in ORDERS:
        true = max(renyi(sampled, without, order), renyi(without, sampled, order))
        assert true <= float(stated.at(order) or 0) + 1e-9


@given(weights, weights, weights, st.integers(2, 6), st.integers(1, 5))
def test_a_fixed_size_sample_covers_explicit_distributions(
    a: list[int], b: list[int], c: list[int], n: int, size: int
) -> None:
    """One of n units may be replaced; the mechanism answers by which units it saw (the pair's, or the others')."""
    size = min(size, n)
    kinds = [normalised(x) for x in (a, b, c)]
    subsets = list(combinations(range(n), size))
    old = sum((kinds[0] if 0 in subset else kinds[2]) for subset in subsets) / len(subsets)
    new = sum((kinds[1] if 0 in subset else kinds[2]) for subset in subsets) / len(subsets)
    pairs = [(kinds[i], kinds[j]) for i in range(3) for j in range(3) if i != j]
    orders = range(2, 33)
    worst = [max(renyi(p, q, order) for p, q in pairs) * (1 + 1e-12) + 1e-13 for order in orders]
    stated = RenyiDP(orders, worst, relation="replace").subsampled(Fraction(size, n), "fixed_size")
    assert isinstance(stated, RenyiDP)
    for order in ORDERS:
        assert max(renyi(old, new, order), renyi(new, old, order)) <= float(stated.at(order) or 0) + 1e-9


@together(("epsilon", "rate"), [(0.5, 0.01), (1, 0.1), (3, 0.3)])
def test_sampled_randomized_response_has_nearly_the_curve_we_state(epsilon: float, rate: float) -> None:
    p = np.array([math.exp(epsilon), 1]) / (1 + math.exp(epsilon))
    mixed = (1 - rate) * p[::-1] + rate * p
    stated = PureDP(epsilon).subsampled(rate)
    assert isinstance(stated, RenyiDP)
    for order in (2, 4, 8):
        true = max(renyi(mixed, p[::-1], order), renyi(p[::-1], mixed, order))
        assert true * (1 - 1e-9) <= float(stated.at(order) or 0) <= true * (1 + 1e-9) + 1e-12


@together(("sigma", "rate"), [(1, 0.01), (2, 0.1), (4, 0.5), (2, 0.9)])
def test_the_general_poisson_bound_equals_dp_accounting_for_a_gaussian(sigma: int, rate: float) -> None:
    ours = ZCDP(Fraction(1, 2 * sigma**2)).subsampled(rate)
    accountant = rdp.RdpAccountant([2, 3, 5, 8, 16])
    accountant.compose(dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(sigma)))
    assert isinstance(ours, RenyiDP)
    for order, theirs in zip(accountant.orders, accountant.rdp, strict=True):
        stated = float(ours.at(int(order)) or 0)
        assert theirs * (1 - 1e-10) <= stated <= theirs * (1 + 1e-6)
    bridge = PLD([AdditiveNoise("gaussian", sigma)]).subsampled(rate)
    assert bridge.epsilon_at(1e-6) == pytest.approx(ours.epsilon_at(1e-6), rel=0.05)
    assert PLD([(AdditiveNoise("gaussian", 2 * sigma), 4)]).subsampled(rate) == bridge


@pytest.mark.parametrize(("sigma", "rate"), [(1, 0.01), (2, 0.1)])
def test_the_fixed_size_bound_is_not_below_dp_accounting_for_a_gaussian(sigma: int, rate: float) -> None:
    ours = ZCDP(Fraction(1, 2 * sigma**2), relation="replace").subsampled(rate, "fixed_size")
    relation = dp_accounting.NeighboringRelation.REPLACE_ONE
    accountant = rdp.RdpAccountant([2, 3, 5, 8, 16], relation)
    event = dp_accounting.SampledWithoutReplacementDpEvent(
        1000, round(1000 * rate), dp_accounting.GaussianDpEvent(sigma)
    )
    accountant.compose(event)
    assert isinstance(ours, RenyiDP)
    assert float(ours.at(2) or 0) == pytest.approx(accountant.rdp[0], rel=1e-6)
    for order, theirs in zip(accountant.orders, accountant.rdp, strict=True):
        assert theirs * (1 - 1e-10) <= float(ours.at(int(order)) or 0) <= theirs * 1.5


EVERY = [
    PureDP(1),
    ZCDP(0.5),
    RenyiDP([2, 4, 8], [1, 2, 4]),
    ApproxDP(1, 1e-6),
    PureDP(1, relation="replace"),
    ZCDP(0.5, relation="replace"),
    ApproxDP(1, 1e-6, relation="replace"),
]


@pytest.mark.parametrize("loss", EVERY, ids=str)
def test_a_smaller_sample_loses_less_and_a_whole_one_loses_all(loss: Loss) -> None:
    sampling = "poisson" if loss.relation == "add_remove" else "fixed_size"
    losses = [loss.subsampled(rate, sampling).epsilon_at(1e-4) for rate in (0.01, 0.1, 0.5, 1)]
    assert losses == sorted(losses)
    assert losses[-1] >= loss.epsilon_at(1e-4) * (1 - 1e-12)
    assert losses[0] < 0.5 * losses[-1]
    assert loss.subsampled(0.5, sampling).relation == loss.relation


def test_a_pair_is_amplified_in_closed_form() -> None:
    pair = ApproxDP(1, 1e-6).subsampled(0.1)
    assert isinstance(pair, ApproxDP)
    assert float(pair.epsilon) == pytest.approx(math.log(1 + 0.1 * (math.e - 1)), rel=1e-12)
    assert float(pair.delta) == pytest.approx(1e-7, rel=1e-12)


@together(
    ("loss", "sampling"),
    [
        (PureDP(1), "fixed_size"),
        (ZCDP(1, relation="replace"), "poisson"),
        (ZCDP(1, 1e-6), "poisson"),
        (PLD([PureDP(1)]), "poisson"),
        (RenyiDP([1.5], [1]), "poisson"),
    ],
)
def test_pairings_that_nobody_proved_are_refused(loss: Loss, sampling: str) -> None:
    with pytest.raises(UnsupportedConversion):
        loss.subsampled(0.1, sampling)  # type: ignore[arg-type]


def test_a_rate_outside_its_range_or_an_unknown_sampling_is_refused() -> None:
    for rate in (0, 1.5):
        with pytest.raises(InvalidParameter):
            PureDP(1).subsampled(rate)
    with pytest.raises(InvalidParameter):
        PureDP(1).subsampled(0.1, "shuffled")  # type: ignore[arg-type]
