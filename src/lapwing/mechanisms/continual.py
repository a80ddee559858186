"""Answers over time: counters for streams, and the best counter for a given budget.

Every counter has the same interface (`counter.py`): `open`, then `observe` once a step, `estimate` at any time.

>>> counter = best_counter(steps=365, sensitivity=1, rho=0.5)
>>> state = counter.open()
>>> for visitors in [120, 131, 118]:
...     state = counter.observe(state, visitors)
>>> abs(counter.estimate(state)[0] - 369) < 50
True
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from lapwing import checks
from lapwing.calls import helpful
from lapwing.checks import Number
from lapwing.errors import InvalidParameter
from lapwing.exact import sqrt_up
from lapwing.mechanisms.binary_tree import BinaryTree
from lapwing.mechanisms.counter import Counter, CounterState
from lapwing.mechanisms.signed_tree import SignedTree
from lapwing.mechanisms.square_root_counter import SquareRootCounter

__all__ = ["BinaryTree", "Counter", "CounterState", "SignedTree", "SquareRootCounter", "best_counter", "counters"]


@helpful
def counters(
    *,
    steps: int,
    sensitivity: Number,
    l1_sensitivity: Number | None = None,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    **parameters: Any,
) -> tuple[Counter, ...]:
    """The counters that fit a budget, the one with the smallest mean error first.

    Write rho for zCDP, epsilon and delta for (ε,δ), epsilon alone for pure privacy.

    Args:
        steps: How many steps the stream has at most, a public number.
        sensitivity: How far one unit moves the `width` numbers of one step, in l2.
        l1_sensitivity: The same in l1; None for the largest that `sensitivity` allows.
        rho: What the whole stream may cost, as ρ of zero-concentrated privacy.
        epsilon: What the whole stream may cost, as ε.
        delta: The δ that goes with epsilon; None for pure privacy.
        **parameters: Those of every counter: width, active_steps, separation, relation, unit.

    Returns:
        Two counters, sorted by `rms()`.

    Raises:
        InvalidParameter: If the budget is not given in exactly one way.

    >>> [type(counter).__name__ for counter in counters(steps=365, sensitivity=1, rho=0.5)]
    ['SquareRootCounter', 'SignedTree']
    >>> [type(counter).__name__ for counter in counters(steps=365, sensitivity=1, epsilon=1)]
    ['SignedTree', 'BinaryTree']
    """
    common = {"steps": steps, **parameters}
    total = _l1(sensitivity, l1_sensitivity, parameters.get("width", 1))
    choices: list[Counter]
    if (rho is None) == (epsilon is None) or (delta is not None and epsilon is None):
        hint = "Write rho=0.5, or epsilon=1 with delta=1e-6, or epsilon=1 alone for pure privacy."
        raise InvalidParameter("rho", rho, "say how much to spend, in exactly one way", hint)
    if rho is not None:
        choices = [
            SquareRootCounter.for_rho(rho, sensitivity=sensitivity, **common),
            SignedTree.for_rho(rho, sensitivity=total, **common),
        ]
    elif epsilon is not None and delta is not None:
        choices = [
            SquareRootCounter.for_epsilon(epsilon, delta, sensitivity=sensitivity, **common),
            SignedTree.for_epsilon(epsilon, sensitivity=total, **common),
        ]
    else:
        size = checks.positive(epsilon=epsilon)
        choices = [
            SignedTree.for_epsilon(size, sensitivity=total, **common),
            BinaryTree.for_epsilon(size, sensitivity=total, **common),
        ]
    return tuple(sorted(choices, key=lambda counter: counter.rms()))


@helpful
def best_counter(
    *,
    steps: int,
    sensitivity: Number,
    l1_sensitivity: Number | None = None,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    **parameters: Any,
) -> Counter:
    """The counter with the smallest mean error for a budget: the first of `counters`.

    Args:
        steps: How many steps the stream has at most, a public number.
        sensitivity: How far one unit moves the `width` numbers of one step, in l2.
        l1_sensitivity: The same in l1; None for the largest that `sensitivity` allows.
        rho: What the whole stream may cost, as ρ of zero-concentrated privacy.
        epsilon: What the whole stream may cost, as ε.
        delta: The δ that goes with epsilon; None for pure privacy.
        **parameters: Those of every counter: width, active_steps, separation, relation, unit.

    Returns:
        The counter.

    Raises:
        InvalidParameter: If the budget is not given in exactly one way, or if a counter refuses another parameter.

    >>> type(best_counter(steps=365, sensitivity=1, epsilon=1, delta=1e-6)).__name__
    'SignedTree'
    >>> type(best_counter(steps=365, sensitivity=3, epsilon=1, delta=1e-6, width=50)).__name__
    'SquareRootCounter'
    """
    currency = {"rho": rho, "epsilon": epsilon, "delta": delta}
    return counters(steps=steps, sensitivity=sensitivity, l1_sensitivity=l1_sensitivity, **currency, **parameters)[0]


def _l1(sensitivity: Number, l1_sensitivity: Number | None, width: int) -> Fraction:
    """The l1 distance of whole vectors whose l2 distance is at most Δ: at most Δ², and at most √width·Δ."""
    if l1_sensitivity is not None:
        return checks.positive(l1_sensitivity=l1_sensitivity)
    distance = checks.positive(sensitivity=sensitivity)
    if checks.whole(width=width) == 1:
        return distance
    return Fraction(min(math.floor(distance**2), math.floor(distance * sqrt_up(Fraction(width)))))
