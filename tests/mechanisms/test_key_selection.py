"""Keys that are secret themselves: the exact chances, the stated loss, and never a key without units."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from cases import together
from chance import assert_share
from distributions import renyi

from lapwing.errors import InvalidParameter
from lapwing.mechanisms import KeySelection
from lapwing.mechanisms.key_selection import Curve
from lapwing.noise import Recorded, Reproducible

CURVES = [
    (Fraction(1), Fraction(1, 10**6)),
    (Fraction(1, 2), Fraction(1, 2)),
    (Fraction(3), Fraction(3, 5)),
    (Fraction(1, 50), Fraction(1, 10**9)),
    (Fraction(50), Fraction(1, 10**30)),
    (Fraction(1, 3), Fraction(1, 1 << 20)),
    (Fraction(1, 10**6), Fraction(1, 100)),
]


def recursion(epsilon: Fraction, delta: Fraction, units: int) -> list[Any]:
    """π(0), π(1), … as the definition says, with 600 bits."""
    with mpmath.workprec(600):
        a, d = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator), mpmath.mpf(delta.numerator)
        d /= delta.denominator
        chances = [mpmath.mpf(0)]
        for _ in range(units):
            p = chances[-1]
            chances.append(min(a * p + d, 1 - (1 - p - d) / a, mpmath.mpf(1)))
        return chances


@together(("epsilon", "delta"), CURVES)
def test_the_enclosures_hold_the_recursion_and_are_tight(epsilon: Fraction, delta: Fraction) -> None:
    curve = Curve.of(epsilon, delta)
    chances = recursion(epsilon, delta, curve.sure + 2)
    for units in itertools.chain(range(60), range(60, len(chances), 17), (curve.turn, curve.turn + 1, curve.sure)):
        for bits in (8, 64, 190) if units < len(chances) else ():
            low, high = curve.chance(units)(bits)
            with mpmath.workprec(600):
                assert low - mpmath.mpf(2) ** -300 <= chances[units] * 2**bits <= high + mpmath.mpf(2) ** -300
            assert high - low <= 3
    a, d = math.exp(epsilon), float(delta)
    if epsilon > Fraction(1, 1000):  # the paper's formula for the turn, Theorem 1, in doubles
        assert curve.turn == 1 + math.floor(math.log((a + 2 * d - 1) / (d * (a + 1))) / epsilon)
    assert chances[curve.sure] == 1
    assert delta == Fraction(1, 2) or chances[curve.sure - 1] < 1


@together(("epsilon", "delta"), CURVES)
def test_no_test_is_told_apart_by_more_than_epsilon_and_delta_and_none_could_show_more(
    epsilon: Fraction, delta: Fraction
) -> None:
    chances = recursion(epsilon, delta, 400)
    with mpmath.workprec(600):
        a, d = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator), mpmath.mpf(delta.numerator)
        d /= delta.denominator
        slack = mpmath.mpf(2) ** -500
        for p, r in itertools.pairwise(chances):
            room = [a * p + d - r, a * (1 - r) + d - (1 - p), a * r + d - p, a * (1 - p) + d - (1 - r)]
            assert min(room) >= -slack * a
            assert r == 1 or min(room) <= slack * a  # one of them is tight


@pytest.mark.parametrize("kind", [list, np.array])
def test_keys_are_shown_with_their_chances(kind: Any) -> None:
    mechanism = KeySelection(epsilon=1, delta=0.01)
    chances = [float(chance) for chance in recursion(Fraction(1), Fraction(0.01), 12)]
    assert mechanism._curve.sure == 9
    trials = 20_000
    for units, chance in enumerate(chances):
        shown = mechanism.release(kind([units] * trials))
        assert type(shown) is list
        assert set(map(type, shown)) == {bool}
        assert sum(shown) in (0, trials) if chance in (0, 1) else True
        if 0 < chance < 1:
            assert_share(sum(shown), trials, chance)
        assert mechanism.probability(units) == pytest.approx(chance, abs=1e-15)


def test_short_lists_follow_the_same_law() -> None:
    mechanism = KeySelection(epsilon=1, delta=0.01)
    shown = [mechanism.release([5, 0, 3, -1, 10**30]) for _ in range(6000)]
    for place, units in enumerate((5, 0, 3, -1, 10)):
        chance = mechanism.probability(max(units, 0))
        assert_share(sum(answer[place] for answer in shown), 6000, chance)
    assert all(answer[1] is answer[3] is False and answer[4] is True for answer in shown)


@pytest.mark.parametrize("kind", [list, np.array])
def test_a_coin_on_the_edge_draws_more_bits(kind: Any) -> None:
    def shown(first: int, second: int) -> bool:
        word = first if kind is list else int.from_bytes(first.to_bytes(8, "big"), "little")  # as arrays read bytes
        [answer] = mechanism.release(kind([3]), Recorded([word, second, 0], 64))
        return answer

    mechanism = KeySelection(epsilon=1, delta=1e-3)
    (low, high), (fine, _) = (mechanism._curve.chance(3)(bits) for bits in (64, 128))
    edge, rest = fine >> 64, fine & (1 << 64) - 1
    assert low <= edge < high
    assert shown(low - 1, 0)
    assert not shown(high, 0)
    assert shown(edge, rest - 5)
    assert not shown(edge, rest + 5)


def hockey_stick(first: Sequence[float], second: Sequence[float], epsilon: float) -> float:
    return sum(max(p - math.exp(epsilon) * q, 0) for p, q in zip(first, second, strict=True))


def joint(chances: Sequence[float]) -> list[float]:
    """The law of several keys at once."""
    options = itertools.product((0, 1), repeat=len(chances))
    return [math.prod(c if s else 1 - c for c, s in zip(chances, shown, strict=True)) for shown in options]


@together(("relation", "groups"), [("add_remove", 1), ("add_remove", 3), ("replace", 1)])
def test_one_unit_in_several_groups_costs_what_is_stated(relation: Any, groups: int) -> None:
    mechanism = KeySelection(epsilon=1.5, delta=0.02, max_groups_per_unit=groups, relation=relation)
    loss = mechanism.privacy_loss()
    assert (loss.epsilon, loss.delta) == (Fraction(3, 2), Fraction(0.02))
    worst = 0.0
    for counts in itertools.combinations_with_replacement(range(mechanism._curve.sure + 1), groups):
        more = tuple(count + 1 for count in counts)
        if relation == "add_remove":
            pairs = [(counts, more)]
        else:  # one leaves a key and joins another
            pairs = [((*counts, other + 1), (*more, other)) for other in range(mechanism._curve.sure + 1)]
        for here, there in pairs:
            p, q = (joint([mechanism.probability(units) for units in numbers]) for numbers in (here, there))
            worst = max(worst, hockey_stick(p, q, 1.5), hockey_stick(q, p, 1.5))
    assert 0.012 < worst <= 0.02 + 1e-12
    if groups == 1 and relation == "add_remove":
        assert worst > 0.02 - 1e-12  # tight


def test_outside_delta_each_test_has_the_stated_divergence() -> None:
    for epsilon, delta in itertools.product((0.3, 1.0, 4.0), (1e-6, 0.05)):
        mechanism = KeySelection(epsilon=epsilon, delta=delta)
        rho, worst = float(mechanism.zcdp_loss().rho), 0.0
        assert rho == pytest.approx(epsilon * math.tanh(epsilon / 2), rel=1e-12)
        assert rho < epsilon**2 / 2
        for units in range(1, mechanism._curve.sure):
            p, r = mechanism.probability(units), mechanism.probability(units + 1)
            if p > 1 - delta or r == 1:
                continue
            here, there = (np.array(law) / (1 - delta) for law in ((p, 1 - p - delta), (r - delta, 1 - r)))
            for one, two in ((here, there), (there, here)):
                worst = max(worst, *(renyi(one, two, order) / order for order in (1.001, 1.5, 2, 5, 20)))
        assert 0.6 * rho < worst <= rho * (1 + 1e-9)
    shared = KeySelection(epsilon=1, delta=1e-6, max_groups_per_unit=4).zcdp_loss()
    assert float(shared.rho) == pytest.approx(math.tanh(1 / 8))
    assert shared.delta == Fraction(1e-6)
    assert KeySelection(epsilon=5000, delta=1e-6).zcdp_loss().rho == 5000


def test_the_accuracy_is_the_least_number_of_units_that_is_enough() -> None:
    mechanism = KeySelection(epsilon=1, delta=1e-6)
    for confidence in (0.5, 0.95, 1 - 1e-9):
        units = int(mechanism.accuracy(confidence))
        assert mechanism.probability(units - 1) < confidence <= mechanism.probability(units)
    assert KeySelection.solve(within=10, delta=1e-6).accuracy() <= 10


def test_strange_counts_count_as_nobody_and_long_lists_are_arrays() -> None:
    mechanism = KeySelection(epsilon=1, delta=1e-6)
    strange = [None, math.nan, math.inf, -math.inf, "text", -3, 0, 0.4]
    assert mechanism.release(strange) == [False] * len(strange)
    assert mechanism.release(np.array([math.nan, -math.inf, -1.0, 99.6])) == [False, False, False, True]
    assert mechanism.release([0, 10**6] * 300) == [False, True] * 300
    assert mechanism.release(np.array([], dtype=np.int64)) == mechanism.release([]) == []
    with pytest.raises(InvalidParameter):
        mechanism.release(np.zeros((2, 2)))


def test_parameters_far_out_still_have_an_end() -> None:
    tiny = KeySelection(epsilon=1e-30, delta=1e-40)
    assert tiny._curve.sure > 1 << 63
    assert tiny.release(np.array([1, 1 << 62])) == [False, False]
    steep = KeySelection(epsilon=1e6, delta=1e-200)
    assert steep._curve.sure == 3
    assert steep.release([2, 3], Reproducible(1)) == [True, True]


@together(
    ("name", "value"),
    [("epsilon", 0), ("epsilon", math.inf), ("delta", 0), ("delta", 1), ("delta", None), ("max_groups_per_unit", 0)],
)
def test_bad_parameters_are_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(InvalidParameter) as caught:
        KeySelection(**{"epsilon": 1, "delta": 1e-6, name: value})  # type: ignore[arg-type]
    assert caught.value.name == name
