"""The contract: every kind of loss × every law a guarantee must obey."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from fractions import Fraction

import pytest
from cases import together
from hypothesis import given
from hypothesis import strategies as st

from lapwing.errors import IncompatibleLosses, InvalidParameter, LapwingError, UnsupportedConversion
from lapwing.privacy import PLD, ZCDP, AdditiveNoise, ApproxDP, Loss, PureDP, RenyiDP, parallel

KINDS: dict[str, tuple[Loss, Loss, Loss]] = {
    "pure": (PureDP(1), PureDP(0.1), PureDP(Fraction(1, 3))),
    "approx": (ApproxDP(1, 1e-6), ApproxDP(0.1, 1e-7), ApproxDP(Fraction(1, 3), 0)),
    "zcdp": (ZCDP(0.5), ZCDP(0.01), ZCDP(Fraction(1, 3))),
    "approximate zcdp": (ZCDP(0.5, 1e-7), ZCDP(0.01, 1e-8), ZCDP(Fraction(1, 3))),
    "renyi": (RenyiDP([2, 4, 8, 64], [0.1, 0.2, 0.4, 3]), ZCDP(0.1).to_renyi([2, 3, 5, 64]), PureDP(1).to_renyi()),
    "pld": (
        PLD([PureDP(0.5)]),
        PLD([(AdditiveNoise("discrete_laplace", 10, 2), 2)]),
        PLD([ApproxDP(0.25, 1e-8), PureDP(0.5)]),
    ),
}
TRIPLES = [pytest.param(*losses, id=kind) for kind, losses in KINDS.items()]
DELTA = 1e-5

every_loss = together("loss", [loss for losses in KINDS.values() for loss in losses])
every_kind = pytest.mark.parametrize(("a", "b", "c"), TRIPLES)


@every_loss
def test_a_loss_is_a_frozen_hashable_value_that_names_its_relation_and_unit(loss: Loss) -> None:
    assert copy.deepcopy(loss) == loss == pickle.loads(pickle.dumps(loss))
    assert hash(copy.deepcopy(loss)) == hash(loss)
    assert not hasattr(loss, "__dict__")
    with pytest.raises(dataclasses.FrozenInstanceError):
        loss.unit = "household"  # type: ignore[misc]
    for text in (str(loss), repr(loss)):
        assert "add_remove" in text
        assert "person" in text


@every_kind
def test_composition_is_associative_and_commutative_within_a_kind(a: Loss, b: Loss, c: Loss) -> None:
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a


@every_loss
def test_repeating_equals_composing(loss: Loss) -> None:
    assert 3 * loss == loss * 3 == loss + loss + loss == sum([loss, loss, loss])
    assert 1 * loss == loss
    assert 2 * (3 * loss) == 6 * loss


@every_loss
def test_doing_nothing_costs_nothing(loss: Loss) -> None:
    assert (0 * loss).epsilon_at(0) == 0
    assert (0 * loss).delta_at(0) == 0
    assert 0 * loss + loss == loss


@every_loss
def test_more_releases_and_larger_groups_never_cost_less(loss: Loss) -> None:
    alone = loss.epsilon_at(DELTA)
    assert 0 < alone <= (2 * loss).epsilon_at(DELTA) <= (3 * loss).epsilon_at(DELTA)
    assert loss.delta_at(0.05) <= (2 * loss).delta_at(0.05)
    assert loss.for_group(1) == loss
    if not (isinstance(loss, ZCDP) and loss.delta):
        assert alone <= loss.for_group(2).epsilon_at(DELTA)
        assert loss.delta_at(0.05) <= loss.for_group(2).delta_at(0.05)


@every_kind
def test_a_sum_costs_at_least_each_part(a: Loss, b: Loss, c: Loss) -> None:
    total = a + b + c
    assert all(part.epsilon_at(DELTA) <= total.epsilon_at(DELTA) for part in (a, b, c))
    if not isinstance(a, PLD):
        assert a <= total
        assert total >= b
        assert not total <= a


@every_loss
def test_epsilon_falls_as_delta_grows_and_each_inverts_the_other(loss: Loss) -> None:
    epsilons = [loss.epsilon_at(delta) for delta in (1e-6, 1e-4, 1e-2, 0.5)]
    assert epsilons == sorted(epsilons, reverse=True)
    deltas = [loss.delta_at(epsilon) for epsilon in (0, 0.1, 0.5, 2)]
    assert deltas == sorted(deltas, reverse=True)
    assert all(0 <= delta <= 1 for delta in deltas)
    if loss.epsilon_at(1e-4) > 0:
        assert loss.delta_at(loss.epsilon_at(1e-4)) <= 1e-4 * (1 + 1e-6)


@every_loss
def test_reading_off_a_delta_and_reading_it_again_never_gains(loss: Loss) -> None:
    pair = loss.to_approx(DELTA)
    assert isinstance(pair, ApproxDP)
    assert pair.epsilon_at(DELTA) == loss.epsilon_at(DELTA)
    assert pair.epsilon_at(2 * DELTA) >= loss.epsilon_at(2 * DELTA) - 1e-9
    assert loss <= pair


@together("loss", [PureDP(0.01), PureDP(1), PureDP(8), PureDP(Fraction(1, 3))])
def test_each_step_from_pure_to_renyi_to_approximate_loses_a_little_and_gains_nothing(loss: PureDP) -> None:
    curve, concentrated = loss.to_renyi(), loss.to_zcdp()
    for delta in (1e-9, 1e-5, 0.01):
        assert loss.epsilon_at(delta) <= curve.epsilon_at(delta)
        assert loss.epsilon_at(delta) <= concentrated.epsilon_at(delta)
        assert curve.epsilon_at(delta) <= concentrated.to_renyi().epsilon_at(delta)
    assert loss <= concentrated
    assert loss <= curve
    assert concentrated <= concentrated.to_renyi()
    assert curve <= concentrated.to_renyi()


def test_mixed_sums_take_the_kind_that_both_reach() -> None:
    assert PureDP(1) + ApproxDP(1, 1e-6) == ApproxDP(2, 1e-6)
    assert PureDP(1) + ZCDP(0.5) == ZCDP(1)
    assert ApproxDP(1, 1e-6) + ZCDP(0.5) == ZCDP(1, 1e-6)
    curve = RenyiDP([2, 4], [1, 2])
    assert ZCDP(0.5) + curve == RenyiDP([2, 4], [2, 4]) == curve + ZCDP(0.5)
    assert (PureDP(1) + curve).at(2) == PureDP(1).to_renyi([2]).at(2) + 1  # type: ignore[attr-defined]
    assert PureDP(1) + PLD([ApproxDP(1, 1e-6)]) == PLD([PureDP(1), ApproxDP(1, 1e-6)])


@together(
    ("left", "right"),
    [
        (ApproxDP(1, 1e-6), RenyiDP([2], [1])),
        (ZCDP(1, 1e-6), RenyiDP([2], [1])),
        (ZCDP(1), PLD([PureDP(1)])),
        (RenyiDP([2], [1]), PLD([PureDP(1)])),
    ],
)
def test_kinds_without_a_common_one_do_not_add(left: Loss, right: Loss) -> None:
    with pytest.raises(IncompatibleLosses):
        left + right
    with pytest.raises(IncompatibleLosses):
        right + left


def test_every_grouping_of_a_mixed_sum_is_valid_and_converting_first_is_never_worse() -> None:
    late = (PureDP(1) + PureDP(1)) + ZCDP(0.5)
    early = PureDP(1) + (PureDP(1) + ZCDP(0.5))
    assert early == ZCDP(1.5)
    assert early <= late == ZCDP(2.5)


@every_loss
def test_other_relations_and_units_do_not_add_or_compare(loss: Loss) -> None:
    for stranger in (PureDP(1, relation="replace"), PureDP(1, unit="household")):
        with pytest.raises(IncompatibleLosses):
            loss + stranger
        with pytest.raises(IncompatibleLosses):
            stranger <= loss  # noqa: B015


@every_loss
def test_replacing_costs_as_much_as_a_group_of_two_and_there_is_no_way_back(loss: Loss) -> None:
    if isinstance(loss, ZCDP) and loss.delta:
        with pytest.raises(UnsupportedConversion, match="to_approx"):
            loss.to_replace()
        return
    replaced = loss.to_replace()
    assert replaced.relation == "replace"
    assert replaced.epsilon_at(DELTA) == loss.for_group(2).epsilon_at(DELTA)
    assert replaced.to_replace() == replaced
    assert loss.to_add_remove() == loss
    with pytest.raises(UnsupportedConversion, match="how many"):
        replaced.to_add_remove()


def test_replacing_has_the_textbook_factors() -> None:
    assert PureDP(1).to_replace().epsilon == 2
    assert ZCDP(0.5).to_replace().rho == 2
    pair = ApproxDP(1, 1e-6).to_replace()
    assert pair.epsilon == 2
    assert float(pair.delta) == pytest.approx((1 + 2.718281828459045) * 1e-6, rel=1e-12)


@every_kind
def test_parallel_composition_is_the_largest_part(a: Loss, b: Loss, c: Loss) -> None:
    if isinstance(a, PLD):
        with pytest.raises(IncompatibleLosses, match="to_approx"):
            parallel(a, b, disjoint_by="person")
        return
    together = parallel(a, b, c, disjoint_by="person")
    assert all(part <= together for part in (a, b, c))
    assert together <= a + b + c
    assert parallel(a, a, disjoint_by="unit") == a


def test_parallel_composition_needs_disjoint_units_under_add_remove() -> None:
    with pytest.raises(IncompatibleLosses, match="leave one part and enter another"):
        parallel(PureDP(1, relation="replace"), PureDP(1, relation="replace"), disjoint_by="person")
    with pytest.raises(InvalidParameter, match="add the losses"):
        parallel(PureDP(1), PureDP(1), disjoint_by="row")
    with pytest.raises(InvalidParameter):
        parallel(disjoint_by="person")


BAD_NUMBERS = [-1, -1e-300, float("nan"), float("inf"), "1", None, True, 1j]


@together("bad", BAD_NUMBERS)
def test_a_bad_number_is_refused_by_every_constructor_and_method(bad: object) -> None:
    attempts = [
        lambda: PureDP(bad),  # type: ignore[arg-type]
        lambda: ApproxDP(bad, 0),  # type: ignore[arg-type]
        lambda: ApproxDP(1, bad),  # type: ignore[arg-type]
        lambda: ZCDP(bad),  # type: ignore[arg-type]
        lambda: ZCDP(1, bad),  # type: ignore[arg-type]
        lambda: RenyiDP([2], [bad]),  # type: ignore[list-item]
        lambda: RenyiDP([bad], [1]),  # type: ignore[list-item]
        lambda: PureDP(1).epsilon_at(bad),  # type: ignore[arg-type]
        lambda: ZCDP(1).delta_at(bad),  # type: ignore[arg-type]
        lambda: PureDP(1).subsampled(bad),  # type: ignore[arg-type]
        lambda: AdditiveNoise("laplace", bad),  # type: ignore[arg-type]
    ]
    for attempt in attempts:
        with pytest.raises(InvalidParameter):
            attempt()


@together(
    "attempt",
    [
        lambda: ApproxDP(1, 1),
        lambda: ZCDP(1, 1.5),
        lambda: 3 * ApproxDP(1, 0.4),
        lambda: ApproxDP(5, 0.01).for_group(10),
        lambda: ApproxDP(1000, 1e-9).for_group(10),
        lambda: PureDP(1, relation="swap"),  # type: ignore[arg-type]
        lambda: PureDP(1, unit=""),
        lambda: PureDP(1) * -1,
        lambda: PureDP(1) * 1.5,  # type: ignore[operator]
        lambda: PureDP(1).for_group(0),
        lambda: RenyiDP([], []),
        lambda: RenyiDP([1], [1]),
        lambda: RenyiDP([2, 2], [1, 1]),
        lambda: RenyiDP([2, 3], [1]),
        lambda: PLD([3]),  # type: ignore[list-item]
        lambda: AdditiveNoise("discrete_laplace", 1, 0.5),
        lambda: AdditiveNoise("cauchy", 1),  # type: ignore[arg-type]
    ],
)
def test_a_guarantee_that_promises_nothing_or_means_nothing_is_refused(attempt: object) -> None:
    with pytest.raises(LapwingError):
        attempt()  # type: ignore[operator]


def test_adding_something_that_is_no_loss_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        PureDP(1) + 1  # type: ignore[operator]
    with pytest.raises(TypeError):
        1 + PureDP(1)


def test_a_delta_of_one_in_a_declared_population_is_refused() -> None:
    assert ApproxDP(1, 1e-6, population=10_000) == ApproxDP(1, 1e-6)
    with pytest.raises(InvalidParameter, match="10000 declared"):
        ApproxDP(1, 1e-4, population=10_000)


def test_zero_loss_is_allowed_because_a_one_time_pad_has_it() -> None:
    assert PureDP(0).epsilon_at(0) == 0
    assert PureDP(0).to_renyi([2]).epsilon_at(0) == 0
    assert PureDP(0) <= PureDP(1)


def test_long_sums_keep_short_denominators_and_never_round_down() -> None:
    parts = [PureDP(Fraction(1, 10**6 + i)) for i in range(1, 200)]
    exact = sum((part.epsilon for part in parts), Fraction(0))
    total = sum(parts[1:], parts[0]).epsilon
    assert exact.denominator.bit_length() > 512
    assert total.denominator.bit_length() <= 1024
    assert exact <= total <= exact * (1 + Fraction(1, 2**100))


rationals = st.fractions(min_value=0, max_value=20, max_denominator=10**6)
small = st.fractions(min_value=0, max_value=Fraction(1, 100), max_denominator=10**9)


@given(rationals, small, rationals, small)
def test_composition_is_monotone_in_each_part(e1: Fraction, d1: Fraction, e2: Fraction, d2: Fraction) -> None:
    low = ApproxDP(min(e1, e2), min(d1, d2))
    high = ApproxDP(max(e1, e2), max(d1, d2))
    other = ApproxDP(Fraction(1, 2), Fraction(1, 1000))
    assert low <= high
    assert low + other <= high + other
    assert low.to_zcdp() <= high.to_zcdp()


@given(st.fractions(min_value=0, max_value=10, max_denominator=10**6), st.integers(1, 9), st.integers(1, 9))
def test_a_group_of_groups_is_a_group(number: Fraction, j: int, k: int) -> None:
    assert PureDP(number).for_group(j).for_group(k) == PureDP(number).for_group(j * k)
    assert ZCDP(number).for_group(j).for_group(k) == ZCDP(number).for_group(j * k)
    pair = ApproxDP(number, Fraction(1, 10**400))
    twice, once = pair.for_group(j).for_group(k), pair.for_group(j * k)
    assert float(twice.delta / once.delta) == pytest.approx(1, rel=1e-9)
