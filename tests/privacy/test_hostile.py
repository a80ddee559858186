"""What an adversary tried on the guarantees: statements a little too small, and legal but extreme parameters."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import together

from lapwing.errors import InvalidParameter, LapwingError, UnsupportedConversion
from lapwing.privacy import PLD, ZCDP, AdditiveNoise, ApproxDP, Loss, PureDP, RenyiDP, compose
from lapwing.privacy.notation import written_up

JUST_BELOW = Fraction(1, 1024) - Fraction(1, 2**600)


def test_a_delta_that_is_asked_for_is_never_rounded_up() -> None:
    loss = ApproxDP(1, Fraction(1, 1024))
    assert loss.epsilon_at(JUST_BELOW) == math.inf
    with pytest.raises(UnsupportedConversion):
        loss.to_approx(JUST_BELOW)
    with pytest.raises(InvalidParameter):
        compose(loss, delta=JUST_BELOW)


def test_a_delta_that_rounds_to_one_is_refused() -> None:
    with pytest.raises(InvalidParameter):
        ApproxDP(1, 1 - Fraction(1, 2**600))
    with pytest.raises(InvalidParameter):
        ApproxDP(1, 0.5).epsilon_at(1 - Fraction(1, 2**600))


@together("epsilon", [0.123456449, 1.0986122886681098, 2 / 3, 1e-7 / 3, 123456.7])
def test_a_loss_is_written_with_its_last_digit_rounded_up(epsilon: float) -> None:
    written = str(PureDP(epsilon)).split()[2]
    assert epsilon <= float(written) <= epsilon * 1.00002


def test_losses_written_by_hand_are_printed_as_they_were_written() -> None:
    assert [written_up(Fraction(x)) for x in (0.1, 0.5382, 1e-6, 50.0, 0.0)] == ["0.1", "0.5382", "1e-06", "50", "0"]
    assert str(3 * PureDP(0.1)).startswith("ε = 0.3 ")


def test_the_belief_about_what_a_record_says_is_not_claimed_under_add_remove() -> None:
    """Σ of ±1 with noise of ε = 1 per step: who is known to be in, and says +1 or −1, moves the sum by two."""
    ratio = math.exp(2)
    reached = ratio / (1 + ratio)
    joins = PureDP(1).explain()
    assert joins.data["posterior_high"] < reached
    assert "that a given person is in the data" in joins.text
    assert "statement about one person" not in joins.text
    replaced = PureDP(1).to_replace().explain()
    assert replaced.data["posterior_high"] >= reached
    assert "the record of a given person" in replaced.text


@together("loss", [PureDP(1), PureDP(10), PureDP(50), ApproxDP(3, 1e-3)])
@together("prior", [0.001, 0.055, 0.5, 0.999])
def test_counts_out_of_100_never_say_less_than_the_bound(loss: Loss, prior: float) -> None:
    data = loss.explain(prior=prior).data
    assert data["out_of_100_before"] <= 100 * prior
    assert data["out_of_100_after"] >= 100 * data["posterior_high"]
    assert data["out_of_100_found"] >= 100 * data["power"]


def test_percentages_and_factors_in_the_text_are_rounded_outwards() -> None:
    text = PureDP(1).explain(prior=0.5, alpha=0.05).text
    assert "2.719 times" in text
    assert "at most 74 % sure, and stays at least 26 % sure" in text
    assert "-0 %" not in PureDP(10**6).explain().text


def test_the_exception_for_delta_does_not_promise_a_bounded_belief_with_probability_one_less_delta() -> None:
    """Randomized response at ε + η is (ε, about η/4·3)-DP and passes the belief of ε with probability ¾, not δ."""
    step = Fraction(1, 10**6)
    delta = Fraction(PureDP(1 + step).delta_at(1))
    loss = ApproxDP(1, delta)
    answer = 1 / (1 + math.exp(-1 - float(step)))
    assert answer > loss.explain().data["posterior_high"]
    assert delta < step
    text = loss.explain().text
    assert "with probability at most" in text
    assert "the answer is drawn without the limits" in text
    assert "nothing of this is promised" not in text


@pytest.mark.parametrize("epsilon", [1e200, 10**400, 10**5000], ids=["1e200", "1e400", "1e5000"])
def test_enormous_losses_are_handled_by_every_kind(epsilon: int | float) -> None:
    pure = PureDP(epsilon)
    for loss in (pure, ApproxDP(epsilon, 1e-9), pure.to_zcdp(), pure.to_renyi(), PLD([pure]), PLD([(pure, 3)])):
        assert loss.epsilon_at(1e-6) >= 1e200
        assert loss.delta_at(1) == 1.0
        assert loss.explain().text
        assert repr(loss)
    assert compose(pure, pure, delta=1e-6).best.epsilon >= epsilon


def test_orders_beyond_a_curve_are_not_implied_and_do_not_crash() -> None:
    assert not RenyiDP([2], [1]) <= RenyiDP([4], [1])
    assert RenyiDP([4], [1]) <= RenyiDP([2], [1])
    with pytest.raises(UnsupportedConversion, match="order"):
        RenyiDP([2], [1]).to_renyi([4])
    with pytest.raises(UnsupportedConversion):
        PLD([AdditiveNoise("gaussian", 1e-200)]).subsampled(1e-6)


def test_deltas_that_sum_past_one_leave_the_exact_composition() -> None:
    composition = compose(*[ApproxDP(1, 0.4)] * 3, delta=0.9)
    assert composition.basic is None
    assert composition.zcdp is None
    assert composition.optimal is not None


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("shape", ["laplace", "discrete_laplace", "gaussian", "discrete_gaussian"])
@together("scale", [1e-200, 1e-6, 1e-2, 1e9, 10**400])
def test_noise_of_any_scale_has_a_loss_distribution_of_bounded_size(shape: str, scale: float) -> None:
    loss = PLD([AdditiveNoise(shape, scale)])  # type: ignore[arg-type]
    ratio = 1 / Fraction(scale)
    concentrated = ZCDP(ratio**2 / 2).epsilon_at(1e-6)
    bound = min(concentrated, float(ratio)) if "laplace" in shape else concentrated
    assert 0 <= loss.epsilon_at(1e-6) <= 1.05 * bound + 1e-6
    assert loss.delta_at(0) <= 1


def test_a_tiny_loss_beside_wide_noise_needs_no_tiny_cells() -> None:
    assert 0.99 < PLD([AdditiveNoise("laplace", 1), PureDP(1e-9)]).epsilon_at(1e-6) < 1.001


@together("value", [np.longdouble(0.1), np.float16(0.1), np.array(0.1), Decimal("0.1")])
def test_numbers_of_every_width_are_taken_exactly(value: object) -> None:
    number: Any = value.item() if isinstance(value, np.ndarray) else value
    assert PureDP(number).epsilon == PureDP(value).epsilon == Fraction(*number.as_integer_ratio())  # type: ignore[arg-type]


def test_large_decimals_are_finite() -> None:
    assert PureDP(Decimal("1e400")).epsilon == 10**400


@pytest.mark.parametrize(
    "bad",
    [
        Decimal("sNaN"),
        Decimal("-Infinity"),
        Decimal("1e-99999999"),
        Decimal("1e99999999"),
        np.longdouble("nan"),
        np.longdouble("inf"),
        np.ma.masked,
        -(10**5000),
    ],
    ids=lambda bad: type(bad).__name__,
)
def test_what_is_not_a_usable_number_is_refused_with_a_hint(bad: object) -> None:
    with pytest.raises(LapwingError) as refused:
        PureDP(bad)  # type: ignore[arg-type]
    assert "Write epsilon" in str(refused.value)
