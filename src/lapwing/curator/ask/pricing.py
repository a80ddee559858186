"""What a query costs: one item for each noisy number, each with its share of the loss. No item looks at data.

Statistics are vectors over the groups, and get noise for what one unit can change in all groups together. Quantiles and
key tests act group by group, and a unit touches several: their losses add up over these groups (curator.md, point 6).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from lapwing import checks
from lapwing.checks import Number
from lapwing.curator.ask.releaser import NoisyStatistic
from lapwing.curator.plan.statistics import Bounding, Pick, Statistic
from lapwing.errors import InvalidCall, InvalidParameter
from lapwing.exact import float_up, sqrt_down, sqrt_up
from lapwing.mechanisms import Exponential, Gaussian, KeySelection, Laplace, PermuteAndFlip, Quantile
from lapwing.mechanisms.gaussian import largest_rho
from lapwing.noise import Entropy
from lapwing.privacy import ZCDP, ApproxDP, Loss, PureDP

if TYPE_CHECKING:
    from lapwing.curator.ask.tree_noise import TreeNoise
    from lapwing.mechanisms.quantile_draw import Cell

DEFAULT_CONFIDENCE = 0.95
SMALL_DELTA = "(far below 1 / number of people; for 10,000 people far below 0.0001)"
"""How small a delta is, beside an example of one."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What one release may lose: epsilon, or rho for Gaussian noise alone; a delta for secret keys, or for noise."""

    size: Fraction
    concentrated: bool
    key_delta: Fraction
    stated: Loss
    """What is charged; the items add up to at most this."""
    noise_delta: Fraction = Fraction(0)
    """What Gaussian noise may spend beside epsilon, wherever it is smaller than Laplace noise."""


def budget(*, epsilon: Number | None, delta: Number | None, rho: Number | None, secret_keys: bool, unit: str) -> Budget:
    """The budget that a user wrote down. A delta is for secret keys, and for Gaussian noise where there are none."""
    if (epsilon is None) == (rho is None):
        raise InvalidCall(
            "release", "say how much to spend, in exactly one way", "Write epsilon=0.5, or rho=0.1, or within=5."
        )
    if secret_keys and delta is None:
        why = "the keys are not declared, so showing them needs a delta"
        hint = f"Write delta=1e-6 {SMALL_DELTA}, or declare the keys when you open the table."
        raise InvalidParameter("delta", None, why, hint)
    chance = Fraction(0) if delta is None else checks.probability(delta=delta)
    if rho is not None:
        size = checks.positive(rho=rho)
        if chance and not secret_keys:
            raise InvalidParameter("delta", delta, "cannot be combined with rho: nothing would use it", "Leave it out.")
        return Budget(size, True, chance, ZCDP(size, chance, unit=unit))
    size = checks.positive(epsilon=epsilon)
    if not chance:
        return Budget(size, False, chance, PureDP(size, unit=unit))
    stated = ApproxDP(size, chance, unit=unit)
    if secret_keys:
        return Budget(size, False, chance, stated)
    return Budget(size, False, Fraction(0), stated, chance)


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

    @property
    def error(self) -> float:
        """What is compared where the kind of noise may be chosen."""
        return self.half_width(DEFAULT_CONFIDENCE)

    def release(self, values: Sequence[int], entropy: Entropy) -> list[int]:
        """The noisy statistic of each group."""
        if not values:
            return []
        padded = [*values, 0] if self.concentrated and len(values) == 1 else list(values)
        return [int(value) for value in self.mechanism(len(values)).release(padded, entropy)][: len(values)]


class Draw(Protocol):
    """A quantile on its way: while a cell is wanted, its values must be counted more finely."""

    @property
    def wanted(self) -> Cell | None:
        """The cell on whose values it depends; None when it is done."""

    @property
    def value(self) -> int | float:
        """The step of the grid, when it is done."""

    def refine(self, starts: Iterable[int], counts: Iterable[int]) -> None:
        """Tell the distinct values of the wanted cell in ascending order, and how often each occurs."""


@dataclass(frozen=True, slots=True)
class Picks:
    """One quantile in every group."""

    pick: Pick
    size: Fraction
    concentrated: bool
    bounding: Bounding
    unit: str
    outputs: tuple[str, ...]

    @property
    def label(self) -> str:
        """What is released."""
        return self.pick.label

    @property
    def epsilon(self) -> Fraction:
        """Of the exponential mechanism in one group.

        With max_rows_per_unit, a unit with r rows in a group loses r/T of it there, and T rows in all.
        """
        groups = self.bounding.max_groups_per_unit
        return sqrt_down(8 * self.size / groups) if self.concentrated else self.size / groups

    @property
    def error(self) -> float:
        """What is compared where the kind of noise may be chosen: ranks are off in proportion."""
        return float(1 / self.epsilon)

    @property
    def rows(self) -> int:
        """How many values of one unit a group may have."""
        return self.bounding.max_rows_per_unit or self.bounding.max_rows_per_group

    @property
    def mechanism(self) -> Quantile:
        """For one group, in steps of the grid."""
        grid = self.pick.grid
        low, high = grid.steps
        if low == high:
            why = "are too close to each other for numbers of that size"
            raise InvalidParameter("bounds", (grid.low, grid.high), why, "Write bounds that are farther apart.")
        return Quantile(
            epsilon=self.epsilon,
            bounds=(low, high),
            q=self.pick.share,
            granularity=1,
            max_rows_per_unit=self.rows,
            unit=self.unit,
        )

    def privacy_loss(self) -> Loss:
        """Its part of the loss: the sum over the groups of one unit."""
        pick = self.mechanism
        return self.bounding.max_groups_per_unit * (pick.zcdp_loss() if self.concentrated else pick.privacy_loss())

    def draws(self, groups: Iterable[Iterable[tuple[int, int, int]]], entropy: Entropy) -> list[Draw]:
        """A draw for each group, from its values counted in cells: first point, number of points, number of values."""
        mechanism = self.mechanism
        return [mechanism.start(cells, entropy) for cells in groups]


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
    called = "keys"
    error = 0.0  # nothing is chosen: a delta is for the test itself

    @property
    def mechanism(self) -> KeySelection:
        """The best test on the number of units of each key."""
        groups = self.bounding.touched
        epsilon = sqrt_down(2 * self.size * groups) if self.concentrated else self.size
        return KeySelection(epsilon=epsilon, delta=self.delta, max_groups_per_unit=groups, unit=self.unit)

    def privacy_loss(self) -> Loss:
        """Its part of the loss."""
        return self.mechanism.zcdp_loss() if self.concentrated else self.mechanism.privacy_loss()

    def release(self, units: Sequence[int], entropy: Entropy) -> list[bool]:
        """Whether each key is shown, from its number of units."""
        return self.mechanism.release(list(units), entropy)


@dataclass(frozen=True, slots=True)
class Tops:
    """The k keys that most units have, one after the other.

    Adding a unit raises scores by at most one and lowers none, however many groups it touches: each pick is monotone.
    """

    most: int
    candidates: int
    size: Fraction
    concentrated: bool
    unit: str
    outputs: tuple[str, ...]

    @property
    def label(self) -> str:
        """What is released."""
        return f"the top {self.most}"

    @property
    def error(self) -> float:
        """What is compared where the mechanism may be chosen: by how many units the first pick may be off."""
        return self.mechanism(max(2, self.candidates)).accuracy(DEFAULT_CONFIDENCE)

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


Item: TypeAlias = "Noise | Picks | Keys | Tops | TreeNoise"
ReleaseItem: TypeAlias = "Item | NoisyStatistic"
"""What any releaser may release: what the trusted curator does, or a statistic with noise of another making."""
Purpose = Statistic | Pick | int | None
"""What an item is for: a statistic, a quantile, or keys (None), of a rollup those of one level."""


class PricedItem(Protocol):
    """Whatever has a part of the loss: an item of any question."""

    @property
    def concentrated(self) -> bool:
        """Whether its loss is a rho."""

    @property
    def error(self) -> float:
        """What is compared where the kind of noise may be chosen."""

    def privacy_loss(self) -> Loss:
        """Its part of the loss."""


P = TypeVar("P")
Priced = TypeVar("Priced", bound=PricedItem)


class PricedOutput(Protocol):
    """An output that is paid for."""

    @property
    def needs(self) -> Sequence[Statistic | Pick]:
        """What is released for it."""

    @property
    def output(self) -> str:
        """What it is called."""

    @property
    def weight(self) -> Fraction:
        """Its part of the loss beside the others."""


def noisy_statistics(items: Iterable[ReleaseItem]) -> dict[Statistic, NoisyStatistic]:
    """The items with noise on a statistic, by statistic."""
    return {item.statistic: item for item in items if not isinstance(item, Picks | Keys | Tops)}


@dataclass(frozen=True, slots=True)
class Share:
    """Of what is released, its weight beside the others, and the outputs that it serves."""

    weight: Fraction = Fraction(0)
    outputs: tuple[str, ...] = ()


def shares_of(outputs: Sequence[PricedOutput]) -> dict[Statistic | Pick, Share]:
    """What is released for these outputs.

    An output that needs several statistics shares its part among them; a statistic that serves several outputs gets
    the parts of all.
    """
    shares: dict[Statistic | Pick, Share] = {}
    for output in outputs:
        for purpose in output.needs:
            before = shares.get(purpose, Share())
            weight = before.weight + output.weight / len(output.needs)
            shares[purpose] = Share(weight, (*before.outputs, output.output))
    return shares


def price(
    outputs: Sequence[PricedOutput], spend: Budget, bounding: Bounding, *, unit: str, secret_keys: bool
) -> tuple[Item, ...]:
    """All items of a query. Outputs share the loss by weight; the test of secret keys counts as one output."""
    shares = shares_of(outputs)
    weights: dict[Purpose, Fraction] = {purpose: share.weight for purpose, share in shares.items()}
    if secret_keys:
        weights[None] = sum((output.weight for output in outputs), Fraction(0)) / len(outputs)

    def item(purpose: Purpose, size: Fraction, concentrated: bool) -> Item:
        if purpose is None:
            return Keys(size, concentrated, spend.key_delta, bounding, unit)
        assert not isinstance(purpose, int)  # levels are of rollups (tree_noise)
        served = shares[purpose].outputs
        if isinstance(purpose, Statistic):
            return Noise(purpose, size, concentrated, bounding, unit, served)
        return Picks(purpose, size, concentrated, bounding, unit, served)

    if secret_keys:  # they come first: what else is released depends on them
        weights = {None: weights.pop(None), **weights}
    items = share_out(weights, spend, item)
    check(items, spend)
    return items


def price_top(most: int, spend: Budget, *, candidates: int, unit: str, outputs: tuple[str, ...]) -> tuple[Item, ...]:
    """The one item of a question for the top keys among so many candidates."""
    items = share_out({None: Fraction(1)}, spend, lambda _, size, rho: Tops(most, candidates, size, rho, unit, outputs))
    check(items, spend)
    return items


def share_out(
    weights: Mapping[P, Fraction], spend: Budget, item: Callable[[P, Fraction, bool], Priced]
) -> tuple[Priced, ...]:
    """Every item with its part of the loss and, where a delta may be spent on noise, with the smaller noise.

    Items with Laplace noise lose their parts of epsilon, those with Gaussian noise (ε′, δ) together, ε′ being the sum
    of their parts (curator.md, point 9). Fewer items share less, so those that stay are compared again: in the end no
    error is larger than it would be without a delta. Nothing but the question decides.
    """
    whole = sum(weights.values(), Fraction(0))
    parts = {purpose: weight / whole for purpose, weight in weights.items()}
    chosen = {purpose: item(purpose, spend.size * part, spend.concentrated) for purpose, part in parts.items()}
    left = parts if spend.noise_delta else {}
    while left:
        share = sum(left.values(), Fraction(0))
        rho = largest_rho(spend.size * share, spend.noise_delta)
        gaussian = {purpose: item(purpose, rho * part / share, True) for purpose, part in left.items()}
        better = {purpose: left[purpose] for purpose in left if gaussian[purpose].error < chosen[purpose].error}
        if better == left:
            return tuple((chosen | gaussian).values())
        left = better
    return tuple(chosen.values())


def check(items: Iterable[PricedItem], spend: Budget) -> None:
    """The items must not cost more than is charged: whatever else is wrong, this is not."""
    losses = [item.privacy_loss() for item in items]
    concentrated = [loss for loss in losses if isinstance(loss, ZCDP)]
    if spend.noise_delta and concentrated:
        pure = sum((loss.epsilon for loss in losses if isinstance(loss, PureDP)), Fraction(0))
        together = reduce(add, concentrated).to_approx(spend.noise_delta)
        total: Loss = ApproxDP(pure + together.epsilon, together.delta, unit=together.unit)
        assert len(losses) == len(concentrated) + sum(isinstance(loss, PureDP) for loss in losses)
    else:
        total = reduce(add, losses)
    if not total <= spend.stated:
        raise AssertionError(f"the items cost {total}, and {spend.stated} is charged")


def ranks_off(epsilon: Fraction, rows: int, share: Fraction, points: int, confidence: Number) -> float:
    """How many ranks a quantile may be off."""
    from lapwing.mechanisms.exponential import exponential_gap

    a, b = share.numerator, share.denominator
    scale = 2 * rows * max(a, b - a) / epsilon
    return math.ceil(Fraction(exponential_gap(points, scale, confidence), b))  # type: ignore[arg-type]
