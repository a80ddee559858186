"""The law of joint noise and what it costs, from the very thresholds over the whole support."""

from __future__ import annotations

from fractions import Fraction

import pytest
from cases import together

from lapwing.errors import InvalidParameter
from lapwing.exact import exp_up
from lapwing.mechanisms.tails import laplace_half_width, laplace_variance
from lapwing.pair.joint_noise import Coin, JointLaplace

SCALES = (Fraction(1, 4), Fraction(1), Fraction(10), Fraction(123, 7), Fraction(1000), Fraction(10**6))


def support(noise: JointLaplace) -> range:
    return range(-1 - noise.largest, noise.largest + 1)


def exact_delta(noise: JointLaplace, steps: int, epsilon: Fraction) -> Fraction:
    """The smallest delta for this epsilon when an answer moves by so many steps, in the worse direction."""
    reach, factor = noise.largest + 1 + steps, exp_up(epsilon)
    excess = [
        max(Fraction(0), noise.probability(value) - factor * noise.probability(value + direction * steps))
        for direction in (-1, 1)
        for value in range(-reach, reach + 1)
    ]
    half = len(excess) // 2
    return max(sum(excess[:half], Fraction(0)), sum(excess[half:], Fraction(0)))


@together("scale", [Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2)])
@together("precision", [16, 64])
def test_probabilities_add_up_and_are_those_of_a_discrete_laplace_variable(scale: Fraction, precision: int) -> None:
    noise = JointLaplace(scale, precision=precision)
    assert sum(map(noise.probability, support(noise))) == 1
    assert noise.probability(noise.largest + 1) == noise.probability(-2 - noise.largest) == 0
    a = exp_up(-1 / scale)
    for value in range(-9, 10):
        exact = (1 - a) / (1 + a) * a ** abs(value)
        assert noise.probability(value) == pytest.approx(float(exact), rel=2.0 ** (4 - precision) * 20, abs=0)


@together("scale", [Fraction(1, 4), Fraction(1), Fraction(2)])
@together("steps", [1, 2, 3])
@together("precision", [16, 64])
def test_the_stated_loss_holds_over_the_whole_support_and_is_not_far_above(
    scale: Fraction, steps: int, precision: int
) -> None:
    noise = JointLaplace(scale, precision=precision)
    loss = noise.privacy_loss(steps)
    assert exact_delta(noise, steps, loss.epsilon) <= loss.delta
    assert loss.epsilon <= steps / scale * (1 + Fraction(32, 2**precision)) + Fraction(1, 2**90)
    less = loss.epsilon * (1 - Fraction(1, 2 ** (precision - 8)))
    assert exact_delta(noise, steps, less) > max(loss.delta, 2**-80), "a smaller epsilon is not enough"


def test_a_step_costs_what_the_worst_pair_of_values_costs() -> None:
    noise = JointLaplace(Fraction(1, 2), precision=16)
    ratios = [noise.probability(value) / noise.probability(value + 1) for value in support(noise)[:-1]]
    worst = max(max(ratio, 1 / ratio) for ratio in ratios)
    assert noise.step_loss >= 0
    assert exp_up(noise.step_loss) >= worst
    assert exp_up(noise.step_loss * (1 - Fraction(1, 2**60))) < worst
    assert len(set(ratios)) <= 2 * len(noise.digits) + 1, "as many ratios as digits, on each side"


def test_thresholds_of_one_length_would_cost_more() -> None:
    """Why each coin has its own: a common length leaves few significant bits for rare digits."""
    noise = JointLaplace(100, precision=20)
    length = noise.sign.bits
    common = [Coin(max(1, round(digit.probability * 2**length)), length) for digit in noise.digits]
    ratios, carried = [], Fraction(1)
    for digit in common:
        ratios.append(carried / digit.odds)
        carried *= digit.odds
    worst = max(max(ratio, 1 / ratio) for ratio in ratios)
    assert worst > exp_up(2 * noise.step_loss)


@together("scale", SCALES)
def test_error_and_loss_are_those_of_central_noise(scale: Fraction) -> None:
    noise = JointLaplace(scale)
    loss = noise.privacy_loss(1)
    assert 0 <= loss.epsilon * scale - 1 < Fraction(1, 10**18)
    assert loss.delta < Fraction(1, 10**30)
    assert noise.standard_deviation == pytest.approx(laplace_variance(scale, Fraction(1)) ** 0.5, rel=1e-9)
    assert noise.half_width() == laplace_half_width(scale, Fraction(5, 100))


def test_the_tail_and_the_edge_are_sums_of_probabilities() -> None:
    noise = JointLaplace(1, precision=16)
    for reach in (0, 1, 5, noise.largest, noise.largest + 1):
        assert noise.beyond(reach) == sum(noise.probability(v) for v in support(noise) if abs(v) > reach)
    for steps in range(1, 12):
        low = sum(noise.probability(value) for value in support(noise)[:steps])
        high = sum(noise.probability(value) for value in support(noise)[-steps:])
        assert noise.edge(steps) >= max(low, high)
    assert noise.edge(2 * noise.largest + 3) == 1


def test_several_numbers_add_up_and_a_step_beyond_the_support_is_refused() -> None:
    noise = JointLaplace(2)
    alone, two = noise.privacy_loss(1), noise.privacy_loss(2, cells=100, relation="add_remove", unit="household")
    assert (two.relation, two.unit) == ("add_remove", "household")
    assert two.epsilon == 2 * alone.epsilon
    assert 2 * noise.edge(2) <= two.delta < noise.edge(2) * Fraction(201, 100)
    with pytest.raises(InvalidParameter, match="promises nothing"):
        noise.privacy_loss(4 * noise.largest)


@together("wrong", [0, -1, "x", float("nan"), Fraction(1, 100), 1 << 41])
def test_scales_that_no_coins_make_are_refused(wrong: object) -> None:
    with pytest.raises(InvalidParameter):
        JointLaplace(wrong)  # type: ignore[arg-type]


@together("wrong", [0, 15, 257, 1.5])
def test_precisions_that_are_too_coarse_are_refused(wrong: object) -> None:
    with pytest.raises(InvalidParameter):
        JointLaplace(1, precision=wrong)  # type: ignore[arg-type]
