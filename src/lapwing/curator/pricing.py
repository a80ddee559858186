"""What a query costs: one item for each noisy number, each with its share of the loss, none looking at data.

Statistics are vectors over the groups and get noise for what one unit can change in all groups together. Quantiles and
key tests act group by group, and a unit touches several: their losses add up over these groups (curator.md, point 6).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from lapwing import checks
from lapwing.checks import Number
from lapwing.curator.aggregates import Bound
from lapwing.curator.statistics import Bounding, Statistic
from lapwing.errors import InvalidCall, InvalidParameter
from lapwing.exact import float_up, sqrt_down, sqrt_up
from lapwing.mechanisms import Exponential, Gaussian, KeySelection, Laplace, PermuteAndFlip, Quantile
from lapwing.mechanisms.gaussian import largest_rho
from lapwing.noise import Entropy
from lapwing.privacy import ZCDP, ApproxDP, Loss, PureDP

DEFAULT_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Budget:
    """What one release may lose: epsilon for Laplace noise, or rho for Gaussian noise, and delta for secret keys."""

    size: Fraction
    concentrated: bool
    key_delta: Fraction
    stated: Loss
    """What is charged; the items add up to at most this."""


def budget(*, epsilon: Number | None, delta: Number | None, rho: Number | None, secret_keys: bool, unit: str) -> Budget:
    """The budget that a user wrote down. A delta is for secret keys, and for Gaussian noise where there are none."""
    if (epsilon is None) == (rho is None):
        raise InvalidCall("release", "say how much to spend, in one way", "Write epsilon=0.5, or rho=0.1, or within=5.")
    if secret_keys and delta is None:
        why = "which keys occur is a secret, and showing some of them needs a delta"
        hint = "Write delta=1e-6 (far below one over the number of people), or name the keys when you open the table."
        raise InvalidParameter("delta", None, why, hint)
    chance = Fraction(0) if delta is None else checks.probability(delta=delta)
    if rho is not None:
        size = checks.positive(rho=rho)
        if chance and not secret_keys:
            raise InvalidParameter("delta", delta, "there is nothing to spend it on beside rho", "Leave it out.")
        return Budget(size, True, chance, ZCDP(size, chance, unit=unit))
    size = checks.positive(epsilon=epsilon)
    if not chance:
        return Budget(size, False, chance, PureDP(size, unit=unit))
    stated = ApproxDP(size, chance, unit=unit)
    if secret_keys:
        return Budget(size, False, chance, stated)
    return Budget(largest_rho(size, chance), True, Fraction(0), stated)


@dataclass(frozen=True, slots=True)
class Noise:
    """Noise on one statistic of all groups."""

    statistic: Statistic
    size: Fraction
    concentrated: bool
    bounding: Bounding
    unit: str
    outputs: tuple[str, ...]

    @property
    def label(self) -> str:
        """What is released."""
        return str(self.statistic)

    def mechanism(self, groups: int) -> Laplace | Gaussian:
        """For this many groups (at least two, lest the loss depend on their number)."""
        l1, squared = self.statistic.sensitivity(self.bounding)
        if not self.concentrated:
            return Laplace(epsilon=self.size, sensitivity=l1, dimensions=groups, on_grid=True, unit=self.unit)
        distance = float_up(sqrt_up(Fraction(squared)))
        return Gaussian.for_rho(
            self.size, sensitivity=distance, dimensions=max(2, groups), on_grid=True, unit=self.unit
        )

    def privacy_loss(self) -> Loss:
        """Its part of the loss."""
        return self.mechanism(1).privacy_loss()

    def half_width(self, confidence: Number) -> float:
        """How far the noise reaches in one group, in steps."""
        return self.mechanism(1).accuracy(confidence)  # type: ignore[arg-type]

    def release(self, values: Sequence[int], entropy: Entropy) -> list[int]:
        """The noisy statistic of each group."""
        if not values:
            return []
        padded = [*values, 0] if self.concentrated and len(values) == 1 else list(values)
        return [int(value) for value in self.mechanism(len(values)).release(padded, entropy)][: len(values)]


@dataclass(frozen=True, slots=True)
class Picks:
    """One quantile in every group."""

    bound: Bound
    size: Fraction
    concentrated: bool
    bounding: Bounding
    unit: str
    outputs: tuple[str, ...]

    @property
    def label(self) -> str:
        """What is released."""
        return str(self.bound.aggregate)

    @property
    def epsilon(self) -> Fraction:
        """Of the exponential mechanism in one group.

        With max_rows_per_unit, a unit with r rows in a group loses r/T of it there, and T rows in all.
        """
        groups = self.bounding.max_groups_per_unit
        return sqrt_down(8 * self.size / groups) if self.concentrated else self.size / groups

    @property
    def rows(self) -> int:
        """How many values of one unit a group may have."""
        return self.bounding.max_rows_per_unit or self.bounding.max_rows_per_group

    @property
    def mechanism(self) -> Quantile:
        """For one group, in steps of the grid."""
        grid = self.bound.grids[0]
        low, high = grid.steps
        if low == high:
            why = "are too close to each other for numbers of that size"
            raise InvalidParameter("bounds", (grid.low, grid.high), why, "Write bounds that are farther apart.")
        share = self.bound.aggregate.q
        assert share is not None
        return Quantile(
            epsilon=self.epsilon,
            bounds=(low, high),
            q=share,
            granularity=1,
            max_rows_per_unit=self.rows,
            unit=self.unit,
        )

    def privacy_loss(self) -> Loss:
        """Its part of the loss: the sum over the groups of one unit."""
        pick = self.mechanism
        return self.bounding.max_groups_per_unit * (pick.zcdp_loss() if self.concentrated else pick.privacy_loss())


@dataclass(frozen=True, slots=True)
class Keys:
    """The test which secret keys may be shown."""

    size: Fraction
    concentrated: bool
    delta: Fraction
    bounding: Bounding
    unit: str
    outputs: tuple[str, ...] = ()

    label = "which keys occur"

    @property
    def mechanism(self) -> KeySelection:
        """The best test on the number of units of each key."""
        groups = self.bounding.touched
        epsilon = sqrt_down(2 * self.size * groups) if self.concentrated else self.size
        return KeySelection(epsilon=epsilon, delta=self.delta, max_groups_per_unit=groups, unit=self.unit)

    def privacy_loss(self) -> Loss:
        """Its part of the loss."""
        return self.mechanism.zcdp_loss() if self.concentrated else self.mechanism.privacy_loss()


@dataclass(frozen=True, slots=True)
class Tops:
    """The k keys that most units have, one after the other.

    Adding a unit raises scores by at most one and lowers none, however many groups it touches: each pick is monotone.
    """

    most: int
    size: Fraction
    concentrated: bool
    unit: str
    outputs: tuple[str, ...]

    @property
    def label(self) -> str:
        """What is released."""
        return f"the top {self.most}"

    def mechanism(self, candidates: int) -> PermuteAndFlip | Exponential:
        """For one pick."""
        options: dict[str, Any] = {"sensitivity": 1, "candidates": candidates, "monotone": True, "unit": self.unit}
        if self.concentrated:
            return Exponential(epsilon=sqrt_down(8 * self.size / self.most), **options)
        return PermuteAndFlip(epsilon=self.size / self.most, **options)

    def privacy_loss(self) -> Loss:
        """Its part of the loss: one pick, k times."""
        pick = self.mechanism(2)
        return self.most * (pick.zcdp_loss() if isinstance(pick, Exponential) else pick.privacy_loss())

    def release(self, scores: Sequence[int], entropy: Entropy) -> list[int]:
        """The places of the chosen, best first."""
        left = list(range(len(scores)))
        chosen = []
        for _ in range(min(self.most, len(scores))):
            place = left.pop(int(self.mechanism(len(left)).release([scores[i] for i in left], entropy)))
            chosen.append(place)
        return chosen


Item = Noise | Picks | Keys | Tops


def price(
    bounds: Sequence[Bound], spend: Budget, bounding: Bounding, *, unit: str, secret_keys: bool
) -> tuple[Item, ...]:
    """All items of a query. Outputs share the loss by weight; the test of secret keys counts as one output.

    An output that needs several statistics shares its part among them; a statistic that serves several outputs gets
    the parts of all.
    """
    weights: dict[Statistic | Bound | None, Fraction] = {}
    serves: dict[Statistic | Bound | None, list[str]] = {}
    for bound in bounds:
        weight = checks.positive(weight=bound.aggregate.weight)
        needed: Sequence[Statistic | Bound] = bound.statistics or (bound,)
        for one in needed:
            weights[one] = weights.get(one, Fraction(0)) + weight / len(needed)
            serves.setdefault(one, []).append(bound.aggregate.output)
    if secret_keys:
        weights[None] = sum((checks.positive(w=b.aggregate.weight) for b in bounds), Fraction(0)) / len(bounds)
    whole = sum(weights.values(), Fraction(0))
    items: list[Item] = []
    for purpose, weight in weights.items():
        size, outputs = spend.size * weight / whole, tuple(serves.get(purpose, ()))
        if purpose is None:  # the keys
            items.insert(0, Keys(size, spend.concentrated, spend.key_delta, bounding, unit))
        elif isinstance(purpose, Statistic):
            items.append(Noise(purpose, size, spend.concentrated, bounding, unit, outputs))
        else:
            items.append(Picks(purpose, size, spend.concentrated, bounding, unit, outputs))
    check(items, spend)
    return tuple(items)


def check(items: Iterable[Item], spend: Budget) -> None:
    """The items must not cost more than is charged: whatever else is wrong, this is not."""
    losses = [item.privacy_loss() for item in items]
    total = losses[0]
    for loss in losses[1:]:
        total = total + loss
    if spend.concentrated and isinstance(spend.stated, ApproxDP):
        affordable = total.epsilon_at(spend.stated.delta) <= spend.stated.epsilon
    else:
        affordable = total <= spend.stated
    if not affordable:
        raise AssertionError(f"the items cost {total}, and {spend.stated} is charged")


def ranks_off(epsilon: Fraction, rows: int, share: Fraction, points: int, confidence: Number) -> float:
    """How many ranks a quantile may be off."""
    from lapwing.mechanisms.exponential import exponential_gap

    a, b = share.numerator, share.denominator
    scale = 2 * rows * max(a, b - a) / epsilon
    return math.ceil(Fraction(exponential_gap(points, scale, confidence), b))  # type: ignore[arg-type]
