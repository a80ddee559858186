"""What all counters have in common: states that can be stored, answers that look alike for all data, and the choice."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import pickle
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import together
from chance import FALSE_ALARM

from lapwing.adversary import audit
from lapwing.errors import InvalidCall, InvalidParameter
from lapwing.mechanisms import BinaryTree, CounterState, SignedTree, SquareRootCounter, best_counter, counters
from lapwing.mechanisms.continual import Counter
from lapwing.mechanisms.counter import LARGEST_STEPS
from lapwing.noise import Entropy, Reproducible
from lapwing.privacy import PureDP

STEPS = 40
NARROW = {"steps": STEPS, "sensitivity": 1}
WIDE = {**NARROW, "width": 3}
KINDS: list[Counter] = [
    SquareRootCounter.for_rho(0.5, **NARROW),
    SquareRootCounter.for_rho(0.5, **WIDE, bins=4),
    SignedTree(epsilon=1, **NARROW),
    SignedTree(epsilon=1, **WIDE, arity=3),
    BinaryTree.for_rho(0.5, **NARROW, refined=True),
    BinaryTree.for_epsilon(1, **NARROW),
    BinaryTree.for_rho(0.5, **WIDE),
]
each = pytest.mark.parametrize("counter", KINDS, ids=lambda counter: f"{type(counter).__name__}-{counter.width}")


def stream(counter: Counter, seed: int = 1) -> Any:
    return np.random.default_rng(seed).integers(-5, 100, (STEPS, counter.width))


SMALL: list[Counter] = [
    SquareRootCounter.for_rho(0.5, steps=5, sensitivity=1, bins=2),
    SignedTree(epsilon=2, steps=5, sensitivity=1, arity=3),
    BinaryTree.for_epsilon(2, steps=5, sensitivity=1),
    BinaryTree.for_rho(0.5, steps=5, sensitivity=1, refined=True),
]


def adaptive(counter: Counter) -> Any:
    """A stream whose next number depends on the sums shown so far; the data is the step of one event more, or None."""

    def release(column: int | None, entropy: Entropy) -> list[float]:
        state, shown = counter.open(entropy), [0.0]
        for step in range(counter.steps):
            state = counter.observe(state, (40 if shown[-1] > 0 else -2) + (step == column), entropy)
            shown += counter.estimate(state)
        return shown[1:]

    return release


def assert_not_caught(counter: Counter, column: int) -> None:
    loss = counter.privacy_loss()
    delta = 0 if isinstance(loss, PureDP) else 0.01
    sure = 1 - FALSE_ALARM
    audited = audit(adaptive(counter), (None, column), samples=3000, confidence=sure, claimed=loss, delta=delta)
    assert not audited.caught, audited.explain()


small = pytest.mark.parametrize(
    "counter", SMALL, ids=lambda counter: f"{type(counter).__name__}-{counter.privacy_loss()}"
)


@small
def test_an_adaptive_audit_does_not_beat_the_stated_loss(counter: Counter) -> None:
    assert_not_caught(counter, 0)


@pytest.mark.sweep
@small
@together("column", range(1, 5))
def test_an_adaptive_audit_does_not_beat_the_stated_loss_at_any_column(counter: Counter, column: int) -> None:
    assert_not_caught(counter, column)


@each
def test_a_state_survives_being_stored_and_goes_on_as_if_nothing_had_happened(counter: Counter) -> None:
    kept, stored = counter.open(Reproducible(1)), counter.open(Reproducible(1))
    one, other = Reproducible(7), Reproducible(7)
    for row in stream(counter):
        values = row if counter.width > 1 else int(row[0])
        kept = counter.observe(kept, values, one)
        stored = counter.state_from_bytes(counter.observe(stored, values, other).to_bytes())
        assert counter.estimate(kept) == counter.estimate(stored)
        assert kept.to_bytes() == stored.to_bytes()
        assert len(kept.to_bytes()) == counter.state_bytes
        assert counter.estimate(kept) == counter.estimate(kept)  # reading draws nothing
    assert pickle.loads(pickle.dumps(kept)).to_bytes() == kept.to_bytes()


@each
def test_a_damaged_or_foreign_state_is_refused(counter: Counter) -> None:
    data = counter.observe(counter.open(), [1] * counter.width).to_bytes()
    for wrong in (b"", data[:-1], data + b"x", b"XXXX" + data[4:], data[:30] + bytes([data[30] ^ 1]) + data[31:]):
        with pytest.raises(InvalidParameter):
            counter.state_from_bytes(wrong)
    other = dataclasses.replace(counter, steps=STEPS + 1)
    for use in (
        lambda: other.state_from_bytes(data),
        lambda: other.estimate(counter.open()),
        lambda: other.observe(counter.open(), [1] * counter.width),
        lambda: counter.observe("no state", [1] * counter.width),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidParameter):
            use()


GOLDEN = {
    "SquareRootCounter": "5635385e68278762",
    "SignedTree": "add5c1e700540b67",
    "BinaryTree": "c829fd3be2f59df6",
}


def test_the_bytes_of_a_state_never_change() -> None:
    """Streams last longer than versions. A new format gets a new magic word, and reads the old one."""
    for counter in (
        SquareRootCounter(sigma=2, steps=100, sensitivity=1),
        SignedTree(epsilon=Fraction(1, 2), steps=100, sensitivity=1),
        BinaryTree(scale=7, steps=100, sensitivity=1, refined=True),
    ):
        state, entropy = counter.open(Reproducible(3)), Reproducible(5)
        for value in range(30):
            state = counter.observe(state, value, entropy)
        data = dataclasses.replace(state, public=(0.0,) * len(state.public)).to_bytes()  # floats may round otherwise
        assert hashlib.sha256(data).hexdigest()[:16] == GOLDEN[type(counter).__name__]


@each
def test_a_state_does_not_print_what_it_knows(counter: Counter) -> None:
    state = counter.observe(counter.open(), [123456] * counter.width)
    assert repr(state) == "CounterState(step=1)"
    assert isinstance(state, CounterState)


@each
def test_steps_end_where_they_were_declared_to_end(counter: Counter) -> None:
    state, estimates = counter.observe_many(counter.open(), stream(counter))
    assert estimates.shape == (STEPS, counter.width)
    assert state.step == STEPS
    with pytest.raises(InvalidParameter, match="0 of 40 steps left"):
        counter.observe(state, [1] * counter.width)
    with pytest.raises(InvalidParameter, match="steps left"):
        counter.observe_many(counter.open(), np.zeros((STEPS + 1, counter.width), dtype=int))


@each
def test_whatever_is_observed_answers_look_alike(counter: Counter) -> None:
    """Length of a state, types and shapes are public, and no number is an error."""
    strange: list[Any] = [
        0,
        10**30,
        -(10**30),
        math.nan,
        math.inf,
        None,
        "text",
        Decimal("1E+999"),
        Fraction(7, 3),
        True,
    ]
    sizes, kinds = set(), set()
    for value in strange:
        state = counter.observe(counter.open(), [value] * counter.width)
        state = counter.observe(state, [value] * counter.width)
        sizes.add(len(state.to_bytes()))
        kinds.add(tuple(type(number) for number in counter.estimate(state)))
    assert sizes == {counter.state_bytes}
    assert kinds == {(float,) * counter.width}


@each
def test_what_becomes_of_one_number_does_not_depend_on_the_others(counter: Counter) -> None:
    big = 2**53 + 1 if counter.largest_value > 2**53 else 1
    for neighbour in (0, 0.5, None, "text", 2**70):
        rows = counter._table([[big] * counter.width, [neighbour] * counter.width])
        assert rows[0].tolist() == [big] * counter.width
    masked = (
        np.ma.masked_array(np.ones((2, counter.width), dtype=int), mask=[[True] * counter.width] + [[False]] * 1)
        if (counter.width == 1)
        else np.ma.masked_all((2, counter.width), dtype=int)
    )
    assert counter._table(masked)[0].tolist() == [0] * counter.width


@each
def test_large_numbers_are_cut_and_never_wrap(counter: Counter) -> None:
    values = np.full((STEPS, counter.width), 2**62)
    for data in (values, values.tolist()):
        sums = np.asarray(counter.release(data)).reshape(STEPS, counter.width)
        exact = counter.largest_value * np.arange(1, STEPS + 1)[:, None]
        assert np.allclose(sums, exact, rtol=1e-6)
    assert counter.largest_value * STEPS <= 2**62


@each
def test_a_whole_stream_answers_in_the_shape_of_its_data(counter: Counter) -> None:
    data = stream(counter) if counter.width > 1 else stream(counter)[:, 0]
    answer = counter.release(data)
    assert answer.shape == data.shape
    listed = counter.release(data.tolist())
    assert np.asarray(listed).shape == data.shape
    assert isinstance(listed, list)
    for wrong in (data[:-1], data[:-1].tolist(), np.zeros((STEPS, 7)), np.zeros((2, 2, 2))):
        with pytest.raises(InvalidParameter, match="as declared"):
            counter.release(wrong)
    with pytest.raises(InvalidParameter, match="as declared"):
        counter.observe(counter.open(), [1] * (counter.width + 1))


@each
def test_steps_and_windows_outside_are_refused(counter: Counter) -> None:
    assert counter.variance(0) == 0
    for use in (
        lambda: counter.variance(STEPS + 1),
        lambda: counter.variance(-1),
        lambda: counter.window_variance(3, 3),
        lambda: counter.window_variance(3, STEPS + 1),
        lambda: counter.accuracy(step=STEPS + 1),
        lambda: counter.accuracy(1),
    ):
        with pytest.raises(InvalidParameter):
            use()
    assert counter.window_variance(0, 7) == pytest.approx(counter.variance(7))
    assert counter.accuracy(0.9) < counter.accuracy(0.99) < counter.accuracy(0.99, simultaneous=True)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16], ids=lambda kind: kind.__name__)
def test_narrow_whole_numbers_are_those_numbers(kind: Any) -> None:
    wide = SquareRootCounter.for_rho(0.5, steps=kind(100), sensitivity=1, active_steps=kind(100))
    plain = SquareRootCounter.for_rho(0.5, steps=100, sensitivity=1, active_steps=100)
    assert wide == plain
    assert wide.privacy_loss() == plain.privacy_loss()
    assert SignedTree(epsilon=1, steps=kind(100), sensitivity=1).privacy_loss().epsilon == 1


@pytest.mark.parametrize("wrong", [{"steps": 1.5}, {"width": 0}, {"active_steps": 0}, {"separation": 0}, {"unit": ""}])
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        SignedTree(**{"epsilon": 1, "steps": 10, "sensitivity": 1, **wrong})
    with pytest.raises(InvalidParameter, match="Use longer steps"):
        SignedTree(epsilon=1, steps=LARGEST_STEPS + 1, sensitivity=1)


def test_an_event_is_not_sold_as_a_person() -> None:
    assert SignedTree(epsilon=1, steps=9, sensitivity=1).privacy_loss().unit == "event"
    assert SignedTree(epsilon=1, steps=9, sensitivity=1, active_steps=2).privacy_loss().unit == "person"
    for kind in counters(steps=9, sensitivity=1, rho=0.5, unit="visit", active_steps=2):
        assert kind.privacy_loss().unit == "visit"
    assert BinaryTree.for_rho(0.5, steps=9, sensitivity=1, unit="event", active_steps=2).unit == "event"
    assert [kind.unit for kind in counters(steps=9, sensitivity=1, epsilon=1)] == ["event", "event"]


def test_the_better_counter_is_taken_and_both_are_shown() -> None:
    for parameters in (
        {"rho": 0.5},
        {"rho": 0.01, "width": 20},
        {"epsilon": 1},
        {"epsilon": 1, "delta": 1e-6},
        {"epsilon": 5, "delta": 1e-6, "sensitivity": 3, "width": 10},
    ):
        shown = counters(**{"steps": 100, "sensitivity": 1, **parameters})
        assert [kind.rms() for kind in shown] == sorted(kind.rms() for kind in shown)
        assert len(shown) == 2
        assert best_counter(**{"steps": 100, "sensitivity": 1, **parameters}) == shown[0]
        for kind in shown:
            loss = kind.privacy_loss()
            if "rho" in parameters:
                spent = loss.epsilon**2 / 2 if isinstance(loss, PureDP) else loss.rho
                assert spent <= Fraction(parameters["rho"])
            else:
                assert loss.epsilon_at(parameters.get("delta", 0)) <= parameters["epsilon"]


def test_the_l1_sensitivity_is_the_largest_that_l2_allows() -> None:
    def scale(**parameters: Any) -> Fraction:
        [tree] = [kind for kind in counters(steps=10, epsilon=1, **parameters) if isinstance(kind, SignedTree)]
        return tree._scale

    unit = scale(sensitivity=1)
    assert scale(sensitivity=1, width=100) == unit  # a whole vector of length 1 has one entry
    assert scale(sensitivity=2, width=100) == 4 * unit
    assert scale(sensitivity=10, width=4) == 20 * unit
    assert scale(sensitivity=10, width=4, l1_sensitivity=10) == 10 * unit


@pytest.mark.parametrize("wrong", [{}, {"rho": 1, "epsilon": 1}, {"rho": 1, "delta": 1e-6}, {"delta": 1e-6}])
def test_one_currency_is_needed(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match="in exactly one way"):
        best_counter(steps=10, sensitivity=1, **wrong)
    with pytest.raises(InvalidCall):
        best_counter(step=10, sensitivity=1, rho=1)
