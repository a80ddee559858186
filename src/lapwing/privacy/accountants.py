"""The bridge to dp-accounting: privacy loss distributions of a list of mechanisms declared beforehand.

Events are data. How often each occurs is kept beside it, and applied in one place, `_distribution`. dp-accounting
works in floats. Its discretisation and truncation err on the safe side, the rounding of its Fourier transforms does
not, so a small slack is added to every delta (`FLOAT_SLACK` per composition).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, cast

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import IncompatibleLosses, InvalidParameter, UnsupportedConversion
from lapwing.exact import float_down, float_up
from lapwing.privacy import bounds
from lapwing.privacy.losses import ZCDP, ApproxDP, Loss, PureDP, assign
from lapwing.privacy.neighbours import Relation, as_relation, as_unit
from lapwing.privacy.trust import Trust, as_trust, implied, readable

if TYPE_CHECKING:
    from lapwing.privacy.renyi import RenyiDP

Shape = Literal["laplace", "discrete_laplace", "gaussian", "discrete_gaussian"]
SHAPES: tuple[Shape, ...] = ("laplace", "discrete_laplace", "gaussian", "discrete_gaussian")

FLOAT_SLACK = 2.0**-44
"""Added to delta per composition. The l1 error of a convolution by FFT of n cells is about log2(n)·2^-52."""

_CELL = 1e-4
_MOST_CELLS = 1 << 20
_MOST_RELEASES = 1 << 44  # their slack alone is 1
_MOST_STEPS = 1 << 18  # of discrete noise: dp-accounting lists them one by one
_WIDEST = 600  # e^600 is still a float


@dataclass(frozen=True, slots=True)
class AdditiveNoise:
    """Noise of a known shape on one number.

    Args:
        shape: "laplace", "discrete_laplace", "gaussian" or "discrete_gaussian".
        scale: The scale of Laplace noise, or the standard deviation of Gaussian noise.
        sensitivity: By how much one unit changes the number at most; whole steps, if the noise is discrete.

    Raises:
        InvalidParameter: If `shape` is unknown, `scale` or `sensitivity` is not positive, or discrete noise has a
            fractional sensitivity.

    >>> AdditiveNoise("discrete_laplace", 2).for_group(3).sensitivity
    Fraction(3, 1)
    """

    shape: Shape
    scale: Fraction
    sensitivity: Fraction

    def __init__(self, shape: Shape, scale: Number, sensitivity: Number = 1) -> None:
        object.__setattr__(self, "shape", checks.one_of(SHAPES, shape=shape))
        object.__setattr__(self, "scale", checks.positive(scale=scale))
        size = checks.positive(sensitivity=sensitivity)
        if shape.startswith("discrete") and size.denominator != 1:
            raise InvalidParameter("sensitivity", sensitivity, "discrete noise moves by whole steps", "Round it up.")
        object.__setattr__(self, "sensitivity", size)

    def for_group(self, size: int) -> AdditiveNoise:
        """A group of k units changes the number by at most k times as much.

        Args:
            size: How many units the group has.

        Returns:
            The same noise with the larger sensitivity.
        """
        return AdditiveNoise(self.shape, self.scale, size * self.sensitivity)


Event = PureDP | ApproxDP | AdditiveNoise


@readable
@dataclass(frozen=True, slots=True, init=False, repr=False)
class PLD(Loss):
    """The privacy loss distribution of events declared beforehand, each with its count.

    Privacy: valid for events that are run adaptively one after another but whose *parameters* are fixed beforehand:
    a product of dominating pairs dominates the composition (Zhu, Dong, Wang 2022, Theorem 10).

    Args:
        events: PureDP, ApproxDP or AdditiveNoise, each alone or with how often it occurs: `[(noise, 100)]`.

    Raises:
        InvalidParameter: If something in `events` is not an event, or a count is negative.
        IncompatibleLosses: If a loss among the events has another relation, unit or trust than the distribution.

    >>> many = PLD([(AdditiveNoise("discrete_gaussian", 20), 100)])
    >>> many.epsilon_at(1e-6) < 3
    True
    """

    events: tuple[tuple[Event, int], ...]

    def __init__(
        self,
        events: Iterable[Event | tuple[Event, int]],
        *,
        relation: Relation = "add_remove",
        unit: str = "person",
        trust: Trust | None = None,
    ) -> None:
        assign(self, relation=as_relation(relation), unit=as_unit(unit), trust=as_trust(trust))
        counts: dict[Event, int] = {}
        for item in events:
            event, count = item if isinstance(item, tuple) else (item, 1)
            if not isinstance(event, (PureDP, ApproxDP, AdditiveNoise)):
                raise InvalidParameter("events", event, "is not an event", "List PureDP, ApproxDP or AdditiveNoise.")
            if isinstance(event, Loss) and (event.relation, event.unit) != (self.relation, self.unit):
                raise IncompatibleLosses(event, f"({self.relation}, per {self.unit})", "other relation or unit")
            if isinstance(event, Loss) and not implied(event.trust, self.trust):
                raise IncompatibleLosses(event, self.trust, f"{event.trust}. Pass trust= with that to the distribution")
            counts[event] = counts.get(event, 0) + checks.whole(count=count, minimum=0)
        ordered = sorted((pair for pair in counts.items() if pair[1]), key=lambda pair: repr(pair[0]))
        assign(self, events=tuple(ordered))

    def for_group(self, size: int) -> PLD:
        """The distribution for a group: each event with the loss or the sensitivity of the group.

        Proof: neighbours at distance k are neighbours of a coarser relation.

        Raises:
            InvalidParameter: If `size` is not a whole number of at least 1, or a delta reaches 1.

        >>> noise = AdditiveNoise("gaussian", 10)
        >>> round(PLD([noise]).for_group(2).epsilon_at(1e-6), 2), round(PLD([noise]).epsilon_at(1e-6), 2)
        (0.83, 0.4)
        """
        k = checks.whole(size=size)
        return self._like((event.for_group(k), count) for event, count in self.events)

    def _like(self, events: Iterable[Event | tuple[Event, int]]) -> PLD:
        return PLD(events, **self.frame)

    def to_renyi(self, orders: object = None) -> RenyiDP:
        """Refused: the distribution is kept for its deltas only.

        Raises:
            UnsupportedConversion: Always.

        >>> try:
        ...     PLD([AdditiveNoise("gaussian", 10)]).to_renyi()
        ... except UnsupportedConversion as error:
        ...     print(error.instead)
        Use to_approx(delta) instead.
        """
        why, instead = "only its (epsilon, delta) curve is kept", "Use to_approx(delta) instead."
        raise UnsupportedConversion(self, "RenyiDP", why, instead)

    def _repeated(self, count: int) -> PLD:
        return self._like((event, count * times) for event, times in self.events)

    def _plus(self, other: PLD) -> PLD:
        return self._like((*self.events, *other.events))

    def _maximum(self, other: PLD) -> PLD:
        if self == other:
            return self
        raise IncompatibleLosses(self, other, "neither distribution dominates the other. Use to_approx(delta) first")

    def _epsilon_at(self, delta: Fraction) -> Fraction | None:
        if not self.events:
            return bounds.ZERO
        basic = self._basic()
        if delta == 0:
            return basic.epsilon if basic is not None and basic.delta == 0 else None
        known = [None if basic is None else basic._epsilon_at(delta)]
        target = float_down(delta) * (1 - 1e-9) - self._slack()
        if target > 0 and _in_reach(self.events):
            epsilon = float(_distribution(self.events).get_epsilon_for_delta(target))
            if math.isfinite(epsilon):
                known.append(Fraction(epsilon) * (1 + Fraction(1, 10**9)))
        if all(bound is None for bound in known):
            concentrated = self._concentrated()
            known.append(None if concentrated is None else concentrated._epsilon_at(delta))
        return min((bound for bound in known if bound is not None), default=None)

    def _delta_at(self, epsilon: Fraction) -> Fraction:
        if not self.events:
            return bounds.ZERO
        basic = self._basic()
        if basic is not None and basic.delta == 0 and epsilon >= basic.epsilon:
            return bounds.ZERO
        if not _in_reach(self.events):
            concentrated = self._concentrated()
            return bounds.ONE if concentrated is None else concentrated._delta_at(epsilon)
        delta = float(_distribution(self.events).get_delta_for_epsilon(float_down(epsilon)))
        return Fraction(max(delta, 0.0) * (1 + 1e-9) + self._slack())

    def _basic(self) -> ApproxDP | None:
        """(Σε, Σδ) when every event has an epsilon: what remains when delta is within the slack of the floats.

        One (3, 0.28) is (3, 0.28) at a delta of exactly 0.28, where the slack would leave an infinite epsilon.
        """
        epsilon = delta = bounds.ZERO
        for event, count in self.events:
            if isinstance(event, PureDP | ApproxDP):
                epsilon += count * event.epsilon
                delta += count * event.delta if isinstance(event, ApproxDP) else bounds.ZERO
            elif event.shape in ("laplace", "discrete_laplace"):
                epsilon += count * event.sensitivity / event.scale
            else:
                return None
        return None if bounds.tidy(delta) >= 1 else ApproxDP(epsilon, delta, **self.frame)

    def _concentrated(self) -> ZCDP | None:
        """The approximate zCDP of the events, which remains where floats do not reach; None when Σδ passes 1.

        Proof: Laplace noise is Δ/b-DP; Gaussian noise, also discrete, is Δ²/(2σ²)-zCDP (Bun and Steinke 2016,
        Proposition 1.6; CKS 2020, Theorem 4). Both give ratio²/2.
        """
        rho = delta = bounds.ZERO
        for event, count in self.events:
            size = event.sensitivity / event.scale if isinstance(event, AdditiveNoise) else event.epsilon
            rho += count * size**2 / 2
            delta += count * event.delta if isinstance(event, ApproxDP) else bounds.ZERO
        return None if bounds.tidy(delta) >= 1 else ZCDP(rho, delta, **self.frame)

    def _slack(self) -> float:
        return FLOAT_SLACK * min(sum(count for _, count in self.events), _MOST_RELEASES)

    def _under(self, relation: Relation) -> PLD:
        moved = [(event if isinstance(event, AdditiveNoise) else event._under(relation), n) for event, n in self.events]
        return PLD(moved, relation=relation, unit=self.unit, trust=self.trust)

    def _fields(self) -> tuple[str, ...]:
        return ("events",)

    def _words(self) -> str:
        return f"privacy loss distribution of {sum(count for _, count in self.events)} releases"


def subsampled_gaussian(loss: PLD, rate: Fraction, sampling: str) -> RenyiDP:
    """The Rényi curve of Gaussian noise on a Poisson sample, from dp-accounting (Mironov, Talwar, Zhang 2019).

    Several Gaussians on the same sample are one, whose inverse variances add. Other events are refused.
    """
    from lapwing.privacy.renyi import RenyiDP
    from lapwing.privacy.subsampling import ORDERS

    precision = bounds.ZERO
    for event, count in loss.events:
        if not isinstance(event, AdditiveNoise) or event.shape != "gaussian" or sampling != "poisson":
            why = "only Gaussian noise on a Poisson sample has a known bound"
            raise UnsupportedConversion(loss, "a subsampled loss", why, "Subsample each loss on its own instead.")
        precision += count * (event.sensitivity / event.scale) ** 2
    if not precision:
        return RenyiDP(ORDERS, [0] * len(ORDERS), **loss.frame)
    import dp_accounting
    from dp_accounting.rdp import rdp_privacy_accountant

    accountant = rdp_privacy_accountant.RdpAccountant(list(ORDERS))
    noise = dp_accounting.GaussianDpEvent(math.sqrt(float_down(1 / precision)) * (1 - 1e-15))
    accountant.compose(dp_accounting.PoissonSampledDpEvent(min(1.0, float_up(rate)), noise))
    pairs = [(a, float(e)) for a, e in zip(ORDERS, accountant.rdp, strict=True) if math.isfinite(e)]
    if not pairs:
        why = "its divergence is infinite at every order, as far as floats can tell"
        raise UnsupportedConversion(loss, "a subsampled loss", why, "Use noise of a larger scale.")
    epsilons = [Fraction(max(e, 0.0)) * (1 + Fraction(1, 10**9)) + Fraction(1, 10**12) for _, e in pairs]
    return RenyiDP([a for a, _ in pairs], epsilons, **loss.frame)


@lru_cache(maxsize=64)
def _distribution(events: tuple[tuple[Event, int], ...]) -> Any:
    from dp_accounting.pld import privacy_loss_distribution as dp

    cell = _cell(events)
    total = None
    for event, count in events:
        once = _noise(event, cell) if isinstance(event, AdditiveNoise) else _two_points(event, cell)
        several = once.self_compose(count) if count > 1 else once
        total = several if total is None else total.compose(several)
    return cast("dp.PrivacyLossDistribution", total)


def _in_reach(events: tuple[tuple[Event, int], ...]) -> bool:
    """Whether floats and memory suffice for the distribution."""
    return sum(count for _, count in events) < _MOST_RELEASES and all(_is_manageable(event) for event, _ in events)


def _is_manageable(event: Event) -> bool:
    if not isinstance(event, AdditiveNoise):
        return event.epsilon <= 10**9
    largest = _MOST_STEPS if event.shape.startswith("discrete") else 10**100
    return _width(event) <= _WIDEST and max(event.scale, event.sensitivity) <= largest


def _width(noise: AdditiveNoise) -> Fraction:
    """How far privacy losses reach: Δ/b for Laplace; for a Gaussian m²/2 + 12m, m = Δ/σ, beyond which lies e^-72."""
    ratio = noise.sensitivity / noise.scale
    return ratio if "laplace" in noise.shape else ratio**2 / 2 + 12 * ratio


def _cell(events: tuple[tuple[Event, int], ...]) -> float:
    """The width of a cell: a common divisor of all epsilons if it is coarse enough, else 1e-4 or as memory allows."""
    losses = [(event.epsilon, count) for event, count in events if not isinstance(event, AdditiveNoise)]
    total = sum((count * epsilon for epsilon, count in losses), bounds.ZERO)
    if len(losses) == len(events) and total:
        common = bounds.ZERO
        for epsilon, _ in losses:
            common = _divisor(common, epsilon)
        if 2 * total / common <= _MOST_CELLS:
            return float(common)
    smallest = min((float_up(epsilon) for epsilon, _ in losses if epsilon), default=1.0)
    widest = max((_width(event) for event, _ in events if isinstance(event, AdditiveNoise)), default=bounds.ZERO)
    return max(min(_CELL, smallest / 16), float(2 * max(total, widest)) / _MOST_CELLS)


def _divisor(a: Fraction, b: Fraction) -> Fraction:
    top = math.gcd(a.numerator * b.denominator, b.numerator * a.denominator)
    return Fraction(top, a.denominator * b.denominator)


def _two_points(event: PureDP | ApproxDP, cell: float) -> Any:
    """Randomized response at ε outside an event of probability δ: it dominates (KOV), at ±ε with odds e^ε.

    An atom between two grid points is split so that total mass and Σ mass·e^−loss stay; delta is convex in e^−loss, so
    the split only adds to it ("connect the dots", Doroshenko et al. 2022).
    """
    from dp_accounting.pld import privacy_loss_distribution as dp

    delta = event.delta if isinstance(event, ApproxDP) else bounds.ZERO
    rest = 1 - float(delta)
    masses: dict[int, float] = {}
    for loss, mass in (
        (event.epsilon, rest / (1 + _exp(-event.epsilon))),
        (-event.epsilon, rest / (1 + _exp(event.epsilon))),
    ):
        below = math.floor(loss / Fraction(cell))
        over = float(loss - below * Fraction(cell))
        upper = mass * math.expm1(-over) / math.expm1(-cell) if over else 0.0
        masses[below] = masses.get(below, 0.0) + mass - upper
        if upper:
            masses[below + 1] = masses.get(below + 1, 0.0) + upper
    build = dp.PrivacyLossDistribution.create_from_rounded_probability
    return build(masses, float_up(delta), cell, pessimistic_estimate=True)


def _exp(x: Fraction) -> float:
    return math.exp(min(float(x), 700.0))


def _noise(event: AdditiveNoise, cell: float) -> Any:
    from dp_accounting.pld import privacy_loss_distribution as dp

    scale, size, whole = float_down(event.scale), float_up(event.sensitivity), int(event.sensitivity)
    options: dict[str, Any] = {"value_discretization_interval": cell, "use_connect_dots": True}
    match event.shape:
        case "laplace":
            return dp.from_laplace_mechanism(scale, sensitivity=size, **options)
        case "gaussian":
            return dp.from_gaussian_mechanism(scale, sensitivity=size, **options)
        case "discrete_laplace":
            return dp.from_discrete_laplace_mechanism(float_up(1 / event.scale), sensitivity=whole, **options)
        case "discrete_gaussian":
            return dp.from_discrete_gaussian_mechanism(scale, sensitivity=whole, **options)
