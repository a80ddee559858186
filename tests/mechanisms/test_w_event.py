"""w-event privacy: every sequence of answers of small streams, what may be spent in any window, states as bytes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import together
from chance import assert_follows, assert_seldom, laplace_pmf

from lapwing.errors import InvalidParameter
from lapwing.mechanisms import BudgetAbsorption, BudgetDistribution, UniformBudget, WEventState
from lapwing.mechanisms.w_event import SHARES, WEvent
from lapwing.noise import Reproducible

ADAPTIVE = (BudgetDistribution, BudgetAbsorption)
KINDS = (UniformBudget, *ADAPTIVE)
Transcript = tuple[int | None, ...]
"""For every step the number released, or None."""

pytestmark = pytest.mark.filterwarnings("ignore::lapwing.errors.NotPrivateWarning")


def at_least(m: int, scale: float) -> float:
    a = math.exp(-1 / scale)
    return a**m / (1 + a) if m > 0 else 1 - a ** (1 - m) / (1 + a)


def allowed_after(kind: type, window: int, spent: Sequence[int]) -> Fraction:
    """The share of the budget for releases that the next one may spend: from the paper, not from the code."""
    if kind is UniformBudget:
        return Fraction(1, window)
    if kind is BudgetDistribution:
        recent = sum(spent[len(spent) - window + 1 :]) if window > 1 else 0
        return Fraction((SHARES - recent) // 2, SHARES)
    last = max((step for step, share in enumerate(spent, 1) if share), default=0)
    nullified = last + (spent[last - 1] if last else 1) - 1
    return Fraction(min(max(len(spent) + 1 - nullified, 0), window), window)


def chance(mechanism: WEvent, counts: Sequence[int], transcript: Transcript) -> float:
    """The probability of these answers, step by step, from the definition."""
    kind, epsilon, window = type(mechanism), float(mechanism.epsilon), mechanism.window
    part = 0.0 if kind is UniformBudget else 0.5
    total, last, spent = 1.0, 0, list[int]()
    for count, answer in zip(counts, transcript, strict=True):
        share = allowed_after(kind, window, spent)
        if share == 0:
            due = 0.0
        elif kind is UniformBudget:
            due = 1.0
        else:
            line = math.floor(1 / (Fraction(mechanism.epsilon) / 2 * share))
            due = at_least(line + 1 - abs(count - last), window / (epsilon * part))
        if answer is None:
            total *= 1 - due
            spent.append(0)
        else:
            total *= due * (laplace_pmf(1 / (epsilon * (1 - part) * float(share)))(answer - count) if due else 0.0)
            last = answer
            spent.append(int(share * (SHARES if kind is BudgetDistribution else window)))
    return total


def neighbours(counts: Sequence[int], window: int) -> Iterator[list[int]]:
    for start in range(len(counts) - window + 1):
        for move in itertools.product((-1, 0, 1), repeat=window):
            moved = list(counts)
            for place, step in enumerate(move, start):
                moved[place] += step
            yield moved


@pytest.mark.parametrize("kind", KINDS)
@together("window", [1, 2, 3])
def test_no_sequence_of_answers_tells_w_neighbours_apart_by_more_than_epsilon(kind: Any, window: int) -> None:
    mechanism = kind(epsilon=2, window=window)
    assert mechanism.privacy_loss().epsilon == 2
    outcomes: tuple[int | None, ...] = (-3, 0, 2, 6) if kind is UniformBudget else (None, -3, 0, 2, 6)
    worst, counts = 0.0, (0, 3, 1)
    for transcript in itertools.product(outcomes, repeat=3):
        here = chance(mechanism, counts, transcript)
        for moved in neighbours(counts, window):
            there = chance(mechanism, moved, transcript)
            assert (here == 0) == (there == 0)
            if here:
                worst = max(worst, abs(math.log(here / there)))
    assert (0.8 if kind is UniformBudget else 0.5) * 2 < worst <= 2 + 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_answers_follow_the_law(kind: Any) -> None:
    mechanism, counts, entropy = kind(epsilon=3, window=2), [4, 0, 2], Reproducible(5)
    seen = []
    for _ in range(6_000):
        state, transcript = mechanism.open(), []
        for count in counts:
            state = mechanism.observe(state, count, entropy)
            transcript.append(state.values[0] if state.released else None)
        seen.append(tuple(transcript))
    likely = sorted(set(seen), key=str)
    numbers = {transcript: place for place, transcript in enumerate(likely)}
    assert_follows(map(numbers.__getitem__, seen), lambda i: chance(mechanism, counts, likely[i]), range(len(likely)))


@pytest.mark.parametrize("kind", ADAPTIVE)
@together("window", [1, 2, 3, 7, 20])
def test_no_window_spends_more_than_there_is_even_if_everything_moves(kind: Any, window: int) -> None:
    mechanism, spent = kind(epsilon=1, window=window), list[int]()
    state = mechanism.open()
    for step in range(6 * window + 20):
        rest = step % (2 * window + 1) < window  # quiet for a while, so that absorption has something to take up
        state = mechanism.observe(state, state.values[0] if rest else 10**9 * (step + 1), Reproducible(step))
        spent.append(state.shares if state.released else 0)
    windows = [sum(spent[start : start + window]) for start in range(len(spent) - window + 1)]
    assert max(windows) <= mechanism._all_shares()
    assert max(windows) >= mechanism._all_shares() // 2
    assert any(spent)


def test_the_twin_that_forgets_a_step_spends_too_much() -> None:
    """The control of the test above: a memory of one step less is noticed."""
    spent = list[int]()
    for _ in range(10):
        spent.append((SHARES - sum(spent[len(spent) - 1 :])) // 2)
    assert max(sum(spent[start : start + 3]) for start in range(8)) > SHARES


@pytest.mark.parametrize("kind", KINDS)
def test_error_bounds_hold_for_repeated_and_for_released_answers(kind: Any) -> None:
    mechanism, entropy, misses, steps = kind(epsilon=1, window=3, width=2), Reproducible(8), 0, 0
    for run in range(60):
        state = mechanism.open()
        for step in range(20):
            counts = [100 + 30 * (step > run % 20), step]
            state = mechanism.observe(state, counts, entropy)
            bound = mechanism.error_bound(state, 0.9)
            if math.isfinite(bound):
                steps += 1
                misses += max(abs(a - b) for a, b in zip(counts, state.values, strict=True)) > bound
    assert steps > 300
    assert_seldom(misses, steps, 0.1)


def test_many_counts_that_hardly_change_are_much_better_than_uniform() -> None:
    entropy, truth = Reproducible(3), np.full((120, 60), 500) + np.arange(120)[:, None] // 20
    errors = {
        kind: np.abs(np.array(kind(epsilon=1, window=40, width=60).release(truth, entropy)) - truth)[40:].mean()
        for kind in KINDS
    }
    assert errors[UniformBudget] > 35
    assert errors[BudgetDistribution] < errors[UniformBudget] / 3
    assert errors[BudgetAbsorption] < errors[UniformBudget] / 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_comes_back_from_its_bytes_and_has_one_length(kind: Any) -> None:
    mechanism = kind(epsilon=1, window=4, width=3)
    state = mechanism.open()
    for step in range(9):
        data = state.to_bytes()
        assert len(data) == mechanism.state_bytes
        assert mechanism.state_from_bytes(data) == state
        counts = [10**30, "no number", 5 * step]
        restored = mechanism.observe(mechanism.state_from_bytes(data), counts, Reproducible(step))
        state = mechanism.observe(state, counts, Reproducible(step))
        assert restored == state


def test_states_that_do_not_fit_are_refused() -> None:
    mechanism = BudgetDistribution(epsilon=1, window=4)
    data = mechanism.open().to_bytes()
    other = BudgetDistribution(epsilon=2, window=4)
    for bad in (b"", data[:-1], data[:-1] + bytes([data[-1] ^ 1]), b"x" * len(data), None):
        with pytest.raises(InvalidParameter):
            mechanism.state_from_bytes(bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="other parameters"):
        other.state_from_bytes(data)
    with pytest.raises(InvalidParameter, match="other parameters"):
        other.observe(mechanism.open(), 1)
    state = mechanism.open()
    rich = WEventState(state.parameters, 3, (0,), 3, 1, 0, (SHARES, SHARES, 0))
    with pytest.raises(InvalidParameter, match="cannot come about"):
        mechanism.state_from_bytes(rich.to_bytes())
    with pytest.raises(InvalidParameter):
        mechanism.observe(None, 1)  # type: ignore[arg-type]


def test_a_stream_ends_where_it_was_declared_to() -> None:
    mechanism = UniformBudget(epsilon=1, window=2, steps=2)
    state, answers = mechanism.observe_many(mechanism.open(), [1, 2])
    assert len(answers) == 2
    with pytest.raises(InvalidParameter, match="after the last step"):
        mechanism.observe(state, 3)
    with pytest.raises(InvalidParameter, match="declared length 2"):
        mechanism.release([1, 2, 3])


@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_names_the_steps_it_holds_for_and_strange_counts_are_silent(
    kind: Any, recwarn: pytest.WarningsRecorder
) -> None:
    mechanism = kind(epsilon=Fraction(1, 3), window=5, width=4, unit="household")
    assert str(mechanism.privacy_loss()) == "ε = 0.333334 (add_remove, per household in any 5 consecutive steps)"
    answers = mechanism.release([[math.nan, None, "x", math.inf], [1.4, 10**400, -(10**400), True]])
    assert all(isinstance(number, int) and -(2**63) <= number < 2**63 for row in answers for number in row)
    assert math.isinf(mechanism.error_bound(mechanism.open()))
    assert not recwarn.list


@pytest.mark.parametrize(
    "wrong", [{"epsilon": 0}, {"window": 0}, {"window": 2.5}, {"sensitivity": 0}, {"width": 0}, {"decision_share": 1}]
)
def test_wrong_parameters_are_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter) as refused:
        BudgetDistribution(**{"epsilon": 1, "window": 2, **wrong})
    assert refused.value.name == next(iter(wrong))
