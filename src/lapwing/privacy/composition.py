"""How guarantees add up: the common kind of two losses, sequential and parallel composition, and bounds side by side.

The sum of two losses is of the first kind, in this order, that both convert to:

    PureDP, ApproxDP, ZCDP (approximate when some delta > 0); RenyiDP with PureDP and ZCDP; PLD with PureDP and ApproxDP

Within a kind, + is associative and commutative. Across kinds it commutes, and every grouping is valid, but adding pure
losses first and zCDP later costs (Σε)²/2 instead of Σε²/2: convert with `to_zcdp()` first if that is where they go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce

from lapwing.checks import Number
from lapwing.errors import IncompatibleLosses, InvalidParameter, UnsupportedConversion
from lapwing.exact import exp_up, ln_up, sqrt_up
from lapwing.privacy import bounds
from lapwing.privacy.accountants import PLD
from lapwing.privacy.losses import ZCDP, ApproxDP, Loss, PureDP, as_loss, below_one
from lapwing.privacy.notation import show
from lapwing.privacy.optimal_composition import optimal_epsilon_at
from lapwing.privacy.renyi import RenyiDP
from lapwing.privacy.trust import implied, jointly


def add(left: Loss, right: Loss) -> Loss:
    """The loss of both releases, the second of which may depend on the first answer."""
    ours, theirs = _alike(left, right)
    return ours._plus(theirs)


def _total(losses: Iterable[Loss]) -> Loss:
    return reduce(add, losses)


def parallel(*losses: Loss, disjoint_by: str) -> Loss:
    """The loss of mechanisms run on disjoint parts of the table: the largest one.

    Privacy: all rows of a unit must lie in one part, by a rule that does not look at other units. Under add_remove a
    unit then touches one part only. Under replace it may leave one part and enter another, so two parts change: that is
    refused.

    Args:
        losses: The loss on each part.
        disjoint_by: The name of the unit, or "unit": you state that no unit has rows in two parts.

    Returns:
        The largest of them.

    Raises:
        InvalidParameter: If there is no loss, or the losses protect another unit.
        IncompatibleLosses: If a loss is about replace, or they have no common kind.

    >>> from lapwing.privacy import PureDP
    >>> print(parallel(PureDP(1), PureDP(0.5), disjoint_by="person"))
    ε = 1 (add_remove, per person)
    """
    if not losses:
        raise InvalidParameter("losses", losses, "there is nothing to compose", "Pass at least one loss.")
    for loss in losses:
        as_loss(loss, "losses")
    first = losses[0]
    if disjoint_by not in ("unit", first.unit):
        hint = f"Write disjoint_by={first.unit!r} if no {first.unit} has rows in two parts; otherwise add the losses."
        raise InvalidParameter("disjoint_by", disjoint_by, f"the losses protect a {first.unit}", hint)
    if any(loss.relation == "replace" for loss in losses):
        why = "a replaced unit may leave one part and enter another, which changes both. Add the two largest, or"
        raise IncompatibleLosses(first, "the other parts", f"{why} state the losses under add_remove")

    def larger(left: Loss, right: Loss) -> Loss:
        ours, theirs = _alike(left, right)
        return ours._maximum(theirs)

    return reduce(larger, losses)


def at_most(left: Loss, right: Loss) -> bool:
    """Whether the left guarantee implies the right one; raises when no theorem can tell."""
    _same_frame(left, right)
    if not implied(left.trust, right.trust):
        raise IncompatibleLosses(left, right, f"of the first, {left.trust}, and the second promises more")
    match right:
        case ApproxDP():
            epsilon = left._epsilon_at(right.delta)
            return epsilon is not None and epsilon <= right.epsilon
        case PureDP():
            if isinstance(left, RenyiDP):
                raise IncompatibleLosses(left, right, "a Rényi curve never implies pure DP. Compare with an ApproxDP")
            epsilon = left._epsilon_at(bounds.ZERO)
            return epsilon is not None and epsilon <= right.epsilon
        case ZCDP():
            ours = _as_zcdp(left, right)
            return ours.rho <= right.rho and ours.delta <= right.delta
        case RenyiDP():
            curve = left if isinstance(left, RenyiDP) else _as_renyi(left, right)
            pairs = [(curve.at(a), e) for a, e in zip(right.orders, right.epsilons, strict=True)]
            return all(value is not None and value <= bound for value, bound in pairs)
    if left == right:
        return True
    raise IncompatibleLosses(left, right, "privacy loss distributions are not ordered. Compare to_approx(delta)")


def _alike(left: Loss, right: Loss) -> tuple[Loss, Loss]:
    """Both losses in the kind their sum has, under the trust that both need."""
    left, right = _together(left, right)
    kinds = {type(left), type(right)}
    if len(kinds) == 1:
        return left, right
    if PLD in kinds:
        return _as_pld(left, right), _as_pld(right, left)
    if RenyiDP in kinds:
        return _as_renyi(left, right), _as_renyi(right, left)
    if ZCDP in kinds:
        return _as_zcdp(left, right), _as_zcdp(right, left)
    return left.to_approx(_own_delta(left)), right.to_approx(_own_delta(right))


def _same_frame(left: Loss, right: Loss) -> None:
    if left.relation != right.relation:
        raise IncompatibleLosses(
            left, right, "they are about different neighbours. Use to_replace() on the add_remove one"
        )
    if left.unit != right.unit:
        raise IncompatibleLosses(left, right, "they protect different units. State both for the same unit")


def _together(*losses: Loss) -> list[Loss]:
    """Losses that can be added, each under the trust that all of them need together."""
    for other in losses[1:]:
        _same_frame(losses[0], other)
    trust = None
    for loss in losses:
        try:
            trust = jointly(trust, loss.trust)
        except InvalidParameter as error:
            raise IncompatibleLosses(losses[0], loss, str(error)) from None
    return [loss if loss.trust == trust else replace(loss, trust=trust) for loss in losses]


def _own_delta(loss: Loss) -> Fraction:
    return loss.delta if isinstance(loss, ApproxDP) else bounds.ZERO


def _as_pld(loss: Loss, other: Loss) -> PLD:
    if isinstance(loss, PLD):
        return loss
    if isinstance(loss, (PureDP, ApproxDP)):
        return PLD([loss], **loss.frame)
    raise IncompatibleLosses(loss, other, "it has no privacy loss distribution. Add them as to_approx(delta)")


def _as_renyi(loss: Loss, other: Loss) -> RenyiDP:
    try:
        return loss.to_renyi(other.orders if isinstance(other, RenyiDP) else None)
    except UnsupportedConversion as error:
        raise IncompatibleLosses(loss, other, f"{error}") from error


def _as_zcdp(loss: Loss, other: Loss) -> ZCDP:
    try:
        return loss.to_zcdp()
    except UnsupportedConversion as error:
        raise IncompatibleLosses(loss, other, f"{error}") from error


@dataclass(frozen=True, slots=True)
class Composition:
    """Every bound we know for a list of mechanisms declared beforehand, at one total delta.

    A bound is None where it does not apply. Privacy: `best` picks the tightest after the list is fixed; a budget that
    is spent adaptively must add losses of one kind instead (Σε, Σ(ε,δ) or Σρ), which are valid filters.

    Attributes:
        basic: The plain sum.
        advanced: Advanced composition.
        optimal: Optimal composition, for equal losses.
        zcdp: The sum in zero-concentrated differential privacy.
        renyi: The sum of Rényi curves.
        pld: Privacy loss distributions.
        releases: How many mechanisms there are.

    >>> from lapwing.privacy import PureDP, compose
    >>> bounds = compose(*[PureDP(0.1)] * 50, delta=1e-6)
    >>> float(bounds.best.epsilon) < 50 * 0.1
    True
    """

    basic: PureDP | ApproxDP | None
    advanced: ApproxDP | None
    optimal: ApproxDP | None
    zcdp: ApproxDP | None
    renyi: ApproxDP | None
    pld: ApproxDP | None
    releases: int

    @property
    def bounds(self) -> dict[str, PureDP | ApproxDP]:
        """The bounds that apply, by name."""
        named = {name: getattr(self, name) for name in ("basic", "advanced", "optimal", "zcdp", "renyi", "pld")}
        return {name: loss for name, loss in named.items() if loss is not None}

    @property
    def best(self) -> PureDP | ApproxDP:
        """The bound with the smallest epsilon. Of those within a thousandth of it, the one with the smallest delta."""
        least = min(loss.epsilon for loss in self.bounds.values())
        close = [loss for loss in self.bounds.values() if loss.epsilon <= least * Fraction(1001, 1000)]
        return min(close, key=lambda loss: getattr(loss, "delta", bounds.ZERO))

    def explain(self) -> str:
        """The bounds side by side, one line each, the best one marked.

        Returns:
            The text, with a line for each accountant.

        >>> from lapwing.privacy import PureDP, compose
        >>> print(compose(*[PureDP(0.1)] * 3, delta=1e-6).explain().splitlines()[0])
        3 releases, declared beforehand:
        """
        lines = [f"{self.releases} releases, declared beforehand:"]
        for name, loss in self.bounds.items():
            lines.append(f"  {name:<9} {loss}{'  ← best' if loss is self.best else ''}")
        return "\n".join(lines)


def compose(*losses: Loss, delta: Number | None = None) -> Composition:
    """All bounds on a pre-declared list of losses, side by side.

    Args:
        losses: The loss of each mechanism.
        delta: The total delta, of which the deltas of the losses are part. None means only the bounds that need none.

    Returns:
        The bounds, and the best of them.

    Raises:
        InvalidParameter: If there is no loss, or no bound applies without a larger total delta.
        IncompatibleLosses: If the losses differ in relation or unit, or their trusts cannot hold together.

    >>> from lapwing.privacy import PureDP
    >>> float(compose(*[PureDP(0.1)] * 50, delta=1e-6).best.epsilon) < 50 * 0.1
    True
    """
    if not losses:
        raise InvalidParameter("losses", losses, "there is nothing to compose", "Pass at least one loss.")
    for loss in losses:
        as_loss(loss, "losses")
    losses = tuple(_together(*losses))
    total = None if delta is None else below_one(delta=delta)
    plain = [loss for loss in losses if isinstance(loss, (PureDP, ApproxDP))]
    all_plain = len(plain) == len(losses)
    spent = sum((getattr(loss, "delta", bounds.ZERO) for loss in losses), bounds.ZERO)
    composition = Composition(
        basic=_basic(losses, total),
        advanced=_advanced(plain, total) if all_plain else None,
        optimal=_optimal(plain, total) if all_plain else None,
        zcdp=_sum_at(losses, lambda loss: loss.to_zcdp(), total) if spent < 1 else None,
        renyi=_sum_at(losses, lambda loss: loss.to_renyi(), total),
        pld=_sum_at(losses, lambda loss: _as_pld(loss, loss), total),
        releases=sum(_releases(loss) for loss in losses),
    )
    if not composition.bounds:
        hint = f"Pass compose(..., delta=1e-6), above the {show(spent)} that the losses spend themselves."
        raise InvalidParameter("delta", delta, "no bound applies without a large enough total delta", hint)
    return composition


def _releases(loss: Loss) -> int:
    return sum(count for _, count in loss.events) if isinstance(loss, PLD) else 1


def _basic(losses: Sequence[Loss], total: Fraction | None) -> PureDP | ApproxDP | None:
    """Σε, Σδ. What has no delta of its own gets an equal share of what the others leave of the total."""
    plain = [loss for loss in losses if isinstance(loss, (PureDP, ApproxDP))]
    curves = [loss for loss in losses if not isinstance(loss, (PureDP, ApproxDP))]
    if curves:
        spent = sum((_own_delta(loss) for loss in plain), bounds.ZERO)
        if total is None or total <= spent:
            return None
        try:
            plain += [loss.to_approx((total - spent) / len(curves)) for loss in curves]
        except UnsupportedConversion:
            return None
    if sum((_own_delta(loss) for loss in plain), bounds.ZERO) >= 1:
        return None
    summed = _total(plain)
    assert isinstance(summed, (PureDP, ApproxDP))
    return None if total is not None and _own_delta(summed) > total else summed


def _advanced(losses: Sequence[PureDP | ApproxDP], total: Fraction | None) -> ApproxDP | None:
    """√(2 ln(1/δ′) Σε²) + Σ ε(e^ε − 1) with δ′ = total − Σδ (Dwork, Rothblum, Vadhan 2010, for unequal epsilons).

    Proof: outside the δ events each privacy loss lies in [−ε, ε] with conditional mean at most ε(e^ε − 1); Azuma's
    inequality bounds the sum's excess over its mean by √(2 ln(1/δ′) Σε²) except with probability δ′.
    """
    left = None if total is None else total - sum((_own_delta(loss) for loss in losses), bounds.ZERO)
    if total is None or left is None or left <= 0 or max(loss.epsilon for loss in losses) > 64:
        return None
    spread = sqrt_up(2 * ln_up(1 / left) * sum(loss.epsilon**2 for loss in losses))
    drift = sum((loss.epsilon * (exp_up(loss.epsilon) - 1) for loss in losses), bounds.ZERO)
    return ApproxDP(spread + drift, total, **losses[0].frame)


def _optimal(losses: Sequence[PureDP | ApproxDP], total: Fraction | None) -> ApproxDP | None:
    """The exact composition of equal losses (see `lapwing.privacy.optimal_composition`)."""
    [(first, count), *others] = Counter((loss.epsilon, _own_delta(loss)) for loss in losses).items()
    if total is None or others:
        return None
    epsilon = optimal_epsilon_at(first[0], first[1], count, total)
    return None if epsilon is None else ApproxDP(epsilon, total, **losses[0].frame)


def _sum_at(losses: Sequence[Loss], converted: Callable[[Loss], Loss], total: Fraction | None) -> ApproxDP | None:
    """Convert each loss to one kind, add there, and read off the total delta; None where something does not convert."""
    if total is None:
        return None
    try:
        return _total(count * converted(loss) for loss, count in Counter(losses).items()).to_approx(total)
    except (UnsupportedConversion, IncompatibleLosses):
        return None
