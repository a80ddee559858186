"""What a stream costs, once for all its steps: a counter for each statistic, each with its share of the loss.

In one step, one unit changes what it changes in a question (`Statistic.sensitivity`). The protection says in how many
steps. First appearances change a counter once for each group of a unit, at any step. Proof: streams.md
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any

from lapwing import checks
from lapwing.checks import Number
from lapwing.curator.ask.pricing import Budget, budget, shares_of
from lapwing.curator.plan.statistics import Bounding, Statistic
from lapwing.curator.streams.definition import Definition
from lapwing.curator.streams.protection import ActiveSteps, Allocation, ConsecutiveSteps
from lapwing.errors import InvalidParameter
from lapwing.exact import float_up, sqrt_up
from lapwing.mechanisms import (
    BinaryTree,
    BudgetAbsorption,
    BudgetDistribution,
    SignedTree,
    SquareRootCounter,
    counters,
)
from lapwing.mechanisms.gaussian import largest_rho
from lapwing.privacy import ApproxDP, Loss, PureDP

ROWS = 1 << 24
"""Rows of one group in one step that are counted without being cut, whatever their values are."""
FAMILIES: dict[type, str] = {
    SquareRootCounter: "square root",
    SignedTree: "signed tree",
    BinaryTree: "binary tree",
    BudgetDistribution: "budget distribution",
    BudgetAbsorption: "budget absorption",
}
"""Words for the mechanisms."""
Adaptive = BudgetDistribution | BudgetAbsorption
"""What protects consecutive steps: it shows each step by itself."""
ADAPTIVE: dict[Allocation, type[BudgetDistribution] | type[BudgetAbsorption]] = {
    "distribution": BudgetDistribution,
    "absorption": BudgetAbsorption,
}
Mechanism = SquareRootCounter | SignedTree | BinaryTree | Adaptive


@dataclass(frozen=True, slots=True)
class Candidate:
    """A family of counters that was thought of."""

    family: str
    rms: float
    """Of its error, over all steps, in steps of the grid."""


@dataclass(frozen=True, slots=True)
class StreamItem:
    """The counter of one statistic, in all groups."""

    statistic: Statistic
    counter: Mechanism
    shift: int
    """Numbers are divided by 2 to the power of this, and rounded, before they are counted."""
    outputs: tuple[str, ...]
    concentrated: bool
    bounding: Bounding
    unit: str
    """The word of the loss; of consecutive steps, it says how long they are."""
    candidates: tuple[Candidate, ...] = ()

    @property
    def family(self) -> str:
        """A word for the mechanism."""
        return FAMILIES[type(self.counter)]

    @property
    def label(self) -> str:
        """What is released."""
        return f"{self.statistic} ({self.family})"

    def privacy_loss(self) -> Loss:
        """Its part of the loss, for the whole stream."""
        loss = replace(self.counter.privacy_loss(), unit=self.unit)
        return loss.to_zcdp() if self.concentrated else loss

    def fed(self, values: Sequence[int]) -> list[int]:
        """What the counter gets for exact numbers: rounded, if the grid is finer than the counter has room for."""
        if not self.shift:
            return list(values)
        half = 1 << (self.shift - 1)
        return [(value + half) >> self.shift for value in values]

    def half_width(self, start: int, stop: int, confidence: Number) -> float:
        """How far the noise reaches on a sum over the steps start + 1 … stop, in steps of the grid."""
        assert not isinstance(self.counter, Adaptive)
        sure = float(confidence)
        if start == 0:
            width = self.counter.accuracy(sure, step=stop)
        else:
            width = self.counter.window_accuracy(start, stop, sure)
        return self.widened(width, stop - start)

    def widened(self, width: float, steps: int) -> float:
        """A half-width in steps of the grid, with what rounding so many numbers may add."""
        rounding = 2 * math.sqrt(steps / 12) if self.shift else 0.5
        return (width + rounding) * 2.0**self.shift


def budget_of(definition: Definition, epsilon: Number | None, delta: Number | None, rho: Number | None) -> Budget:
    """What was written down, checked."""
    if isinstance(definition.protection, ConsecutiveSteps) and (rho is not None or delta is not None):
        name, value = ("rho", rho) if rho is not None else ("delta", delta)
        why = "consecutive_steps uses Laplace noise, which costs an epsilon"
        raise InvalidParameter(name, value, why, "Write epsilon=1 alone.")
    spend = budget(epsilon=epsilon, delta=delta, rho=rho, secret_keys=False, unit=definition.unit)
    people, chance = definition.query.context.population, getattr(spend.stated, "delta", Fraction(0))
    if people is not None and chance * people >= 1:
        why = f"with {people} units or more, it permits publishing one of them outright"
        raise InvalidParameter("delta", delta, why, f"Write delta={1 / (100 * people):.0e} or less.")
    return spend


def price(definition: Definition, spend: Budget) -> tuple[Loss, tuple[StreamItem, ...]]:
    """What is charged, once, and the counters that it buys. Where a delta allows either noise, the smaller one."""
    if isinstance(definition.protection, ConsecutiveSteps):
        chosen = tuple(_items(definition, spend.size, "w-event"))
    elif spend.concentrated:
        chosen = tuple(_items(definition, spend.size, "rho"))
    else:
        chosen = tuple(_items(definition, spend.size, "epsilon"))
    stated: Loss = spend.stated if spend.concentrated else PureDP(spend.size, unit=definition.unit)
    if spend.noise_delta:
        gaussian = tuple(_items(definition, largest_rho(spend.size, spend.noise_delta), "gaussian"))
        if _error(gaussian) < _error(chosen):
            chosen, stated = gaussian, spend.stated
    _check(chosen, stated, spend)
    return stated, chosen


def _error(items: Sequence[StreamItem]) -> float:
    """What is compared: the product of the errors, so that every output counts alike."""
    return sum(math.log(item.counter.rms()) for item in items if not isinstance(item.counter, Adaptive))


def _items(definition: Definition, size: Fraction, currency: str) -> Iterator[StreamItem]:
    shares = shares_of(definition.query.bounds)
    whole = sum((share.weight for share in shares.values()), Fraction(0))
    for statistic, appears in zip(definition.statistics, definition.appearing, strict=True):
        share = shares[statistic]
        yield _item(definition, statistic, appears, size * share.weight / whole, currency, share.outputs)


def _item(
    definition: Definition, statistic: Statistic, appears: bool, size: Fraction, currency: str, outputs: tuple[str, ...]
) -> StreamItem:
    bounding, concentrated = definition.query.effective, currency in ("rho", "gaussian")
    public: dict[str, Any] = {
        "steps": definition.schedule.steps,
        "width": definition.groups,
        "unit": definition.query.context.unit,
    }
    if currency == "w-event":
        l1, _, shift = scaled(statistic, bounding, 1 << 62)
        assert isinstance(definition.protection, ConsecutiveSteps)
        public["unit"] = definition.protection.base(definition.query.context.unit, definition.schedule.every)
        public |= {"epsilon": size, "window": definition.protection.steps, "sensitivity": l1}
        adaptive = ADAPTIVE[definition.protection.allocation](**public)
        return StreamItem(statistic, adaptive, shift, outputs, False, bounding, definition.unit)
    public |= _activity(definition, statistic, appears)
    room = SquareRootCounter(sigma=1, sensitivity=1, **public).largest_value  # others have more
    l1, squared, shift = scaled(statistic, bounding, room)
    distance: Number = l1 if definition.groups == 1 else float_up(sqrt_up(Fraction(squared)))  # of one number the same
    families: Sequence[Any]
    if currency == "gaussian":
        families = [SquareRootCounter.for_rho(size, sensitivity=distance, **public)]
    else:
        paid: dict[str, Any] = {currency: size}
        families = counters(sensitivity=distance, l1_sensitivity=l1, **paid, **public)
    candidates = tuple(Candidate(FAMILIES[type(counter)], counter.rms() * 2.0**shift) for counter in families)
    chosen = _chosen(families)
    return StreamItem(statistic, chosen, shift, outputs, concentrated, bounding, definition.unit, candidates)


def _chosen(families: Sequence[Any]) -> Mechanism:
    best: Mechanism = families[0]
    return best


def _activity(definition: Definition, statistic: Statistic, appears: bool) -> dict[str, int]:
    """In how many steps one unit changes the counter.

    A first appearance of a unit is one change in each of its groups, which lie in different coordinates: no more than
    if all were in one step. One event that is left out may move a first appearance to a later step: two changes.
    """
    if appears:
        return {"active_steps": 1 if statistic.kind == "units" else 2, "separation": 1}
    protection = definition.protection
    if isinstance(protection, ActiveSteps):
        return {"active_steps": min(protection.steps, definition.schedule.steps), "separation": protection.separation}
    return {"active_steps": 1, "separation": 1}


def scaled(statistic: Statistic, bounding: Bounding, largest: int) -> tuple[int, int, int]:
    """What one unit changes in one step, in l1 and as the square of l2, and by how many bits numbers are shifted.

    A counter cuts numbers above `largest`. Dividing by 2^s and rounding to the nearest whole number turns a change of Δ
    in a group into at most Δ/2^s + 1, and leaves a group without a change as it is: l1 becomes at most l1/2^s + k and
    l2 at most l2/2^s + √k, for the k groups that one unit touches.
    """
    l1, squared = statistic.sensitivity(bounding)
    shift = max(0, math.ceil(math.log2(Fraction(ROWS * statistic.row_size, largest))))
    if not shift:
        return l1, squared, 0
    touched, part = bounding.touched, 1 << shift
    distance = sqrt_up(Fraction(squared)) / part + sqrt_up(Fraction(touched))
    return -(-l1 // part) + touched, math.ceil(distance**2), shift


def _check(items: Sequence[StreamItem], stated: Loss, spend: Budget) -> None:
    """The counters must not cost more than is charged: whatever else is wrong, this is not."""
    total: Any = reduce(add, [item.privacy_loss() for item in items])
    if isinstance(stated, ApproxDP):
        total = total.to_approx(spend.noise_delta)
    if not total <= stated:
        raise AssertionError(f"the counters cost {total}, and {stated} is charged")


def state_bytes(items: Sequence[StreamItem]) -> int:
    """The size of the counters' state."""
    return sum(item.counter.state_bytes for item in items)


def sure_of(confidence: Number) -> float:
    """A confidence as a double."""
    sure = float(checks.probability(confidence=confidence))
    checks.probability(confidence=sure)
    return sure
