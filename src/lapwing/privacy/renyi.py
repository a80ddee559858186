"""Rényi differential privacy: a bound on the Rényi divergence at each of finitely many orders.

Between the orders the curve is a step function: the divergence does not decrease with the order, so the value at an
order holds for all smaller ones. Above the largest order nothing is claimed. Sums of such curves are exact.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidParameter, UnsupportedConversion
from lapwing.exact import float_up, ln_down, ln_up
from lapwing.privacy import bounds
from lapwing.privacy.losses import Loss, assign
from lapwing.privacy.neighbours import Relation, as_relation, as_unit
from lapwing.privacy.notation import written_up
from lapwing.privacy.trust import Trust, as_trust, readable

DEFAULT_ORDERS: tuple[Fraction, ...] = (
    *(1 + Fraction(step, 8) for step in range(1, 72)),
    *(Fraction(order) for order in (*range(10, 65), 80, 96, 128, 160, 192, 256, 384, 512, 1024)),
)
"""Dense where a Gaussian of usual size has its best order; every one is a float exactly."""


@readable
@dataclass(frozen=True, slots=True, init=False, repr=False)
class RenyiDP(Loss):
    """At each order α > 1, a bound ε(α) on the Rényi divergence between outputs on neighbours.

    A curve that falls somewhere is replaced by the best one its points imply (the running minimum from the right).

    Args:
        orders: The orders, each above 1, in rising order.
        epsilons: The bound at each order.

    Raises:
        InvalidParameter: If the orders are not above 1 and rising, an epsilon is negative, or there are not as many
            epsilons as orders.

    >>> RenyiDP([2, 8], [0.1, 0.4]).epsilon_at(1e-6) < 3
    True
    """

    orders: tuple[Fraction, ...]
    epsilons: tuple[Fraction, ...]

    def __init__(
        self,
        orders: Iterable[Number],
        epsilons: Iterable[Number],
        *,
        relation: Relation = "add_remove",
        unit: str = "person",
        trust: Trust | None = None,
    ) -> None:
        assign(self, relation=as_relation(relation), unit=as_unit(unit), trust=as_trust(trust))
        at = as_orders(orders)
        values = [checks.not_negative(epsilons=value) for value in epsilons]
        if len(values) != len(at):
            raise InvalidParameter("epsilons", len(values), f"must be as many as the {len(at)} orders", "Pair them up.")
        for i in reversed(range(len(values) - 1)):
            values[i] = min(values[i], values[i + 1])
        assign(self, orders=at, epsilons=tuple(bounds.tidy(value) for value in values))

    def at(self, order: Number) -> Fraction | None:
        """The bound at any order above 1.

        Args:
            order: The order.

        Returns:
            The bound at the next order listed; None beyond the last.

        Raises:
            InvalidParameter: If `order` is not a finite number.

        >>> curve = RenyiDP([2, 8], [0.1, 0.4])
        >>> float(curve.at(2)), float(curve.at(5)), curve.at(9)
        (0.1, 0.4, None)
        """
        wanted = checks.exact(order=order)
        place = bisect_left(self.orders, wanted)
        return self.epsilons[place] if place < len(self.orders) else None

    def to_renyi(self, orders: Sequence[Number] | None = None) -> RenyiDP:
        """Itself, or read off at other orders.

        Args:
            orders: The orders to read off. Those beyond the last one listed are left out. None means those listed.

        Raises:
            UnsupportedConversion: If all of them are beyond the last one listed.
            InvalidParameter: If the orders are not above 1 and rising.

        >>> print(RenyiDP([2, 4, 8], [0.1, 0.2, 0.4]).to_renyi([2, 8]))
        Rényi curve of 2 orders, ε(2) = 0.1 … ε(8) = 0.4 (add_remove, per person)
        """
        if orders is None:
            return self
        inside = [order for order in as_orders(orders) if order <= self.orders[-1]]
        if not inside:
            why = f"nothing is known beyond order {written_up(self.orders[-1])}"
            raise UnsupportedConversion(self, "a curve at the orders asked for", why, "Ask for smaller orders.")
        return self._like(inside, [value for order in inside if (value := self.at(order)) is not None])

    def for_group(self, size: int) -> RenyiDP:
        """The curve of a group, from the triangle inequality of Rényi divergences (Mironov 2017, Proposition 11).

        Proof: for 1/p + 1/q = 1, Hölder's inequality applied to P^α Q^(1−α) = (P^α R^(1/p−α))·(R^(α−1/p) Q^(1−α)) gives
        D_α(P‖Q) ≤ (α − 1/p)/(α − 1)·D_{pα}(P‖R) + D_{q(α−1/p)}(R‖Q). With R halfway between the two tables, a group of
        k follows from groups of ⌈k/2⌉ and ⌊k/2⌋; any p is valid, and we try those for which pα is listed.

        Raises:
            InvalidParameter: If `size` is not a whole number of at least 1.
            UnsupportedConversion: If the curve has too few orders for a group of this size.

        >>> print(RenyiDP([2, 4, 8], [0.1, 0.2, 0.4]).for_group(2))
        Rényi curve of 2 orders, ε(2) = 0.5 … ε(4) = 0.866667 (add_remove, per person)
        """
        return self._group(checks.whole(size=size), {1: self})

    def _group(self, k: int, known: dict[int, RenyiDP]) -> RenyiDP:
        if k not in known:
            near, far = self._group((k + 1) // 2, known), self._group(k // 2, known)
            curve = [(order, value) for order in self.orders if (value := _triangle(order, near, far)) is not None]
            if not curve:
                why = "its orders are too few for the triangle inequality"
                raise UnsupportedConversion(
                    self, f"a group of {k}", why, "List larger orders, or use to_approx(delta)."
                )
            known[k] = self._like([order for order, _ in curve], [value for _, value in curve])
        return known[k]

    def _like(self, orders: Iterable[Fraction], epsilons: Iterable[Fraction]) -> RenyiDP:
        return RenyiDP(orders, epsilons, **self.frame)

    def _repeated(self, count: int) -> RenyiDP:
        return self._like(self.orders, [count * value for value in self.epsilons])

    def _plus(self, other: RenyiDP) -> RenyiDP:
        return self._merged(other, lambda ours, theirs: ours + theirs)

    def _maximum(self, other: RenyiDP) -> RenyiDP:
        return self._merged(other, max)

    def _merged(self, other: RenyiDP, join: Callable[[Fraction, Fraction], Fraction]) -> RenyiDP:
        last = min(self.orders[-1], other.orders[-1])
        orders = sorted(order for order in {*self.orders, *other.orders} if order <= last)
        pairs = [(self.at(order), other.at(order)) for order in orders]
        return self._like(orders, [join(a, b) for a, b in pairs if a is not None and b is not None])

    def _epsilon_at(self, delta: Fraction) -> Fraction | None:
        if self._is_zero():
            return bounds.ZERO
        if delta == 0:
            return None
        if bounds.total_variation(self.epsilons[0]) <= delta:
            return bounds.ZERO
        log_inverse = float(ln_up(1 / delta))

        def roughly(point: tuple[Fraction, Fraction]) -> float:
            return float_up(point[1]) + (log_inverse - float(ln_down(point[0], 32))) / float_up(point[0] - 1)

        points = sorted(zip(self.orders, self.epsilons, strict=True), key=roughly)[:4]
        return min(bounds.renyi_epsilon_at(order, value, delta) for order, value in points)

    def _delta_at(self, epsilon: Fraction) -> Fraction:
        if self._is_zero():
            return bounds.ZERO
        points = sorted(zip(self.orders, self.epsilons, strict=True), key=lambda p: (p[0] - 1) * (p[1] - epsilon))[:4]
        at_points = [bounds.renyi_delta_at(order, value, epsilon) for order, value in points]
        return min(bounds.total_variation(self.epsilons[0]), *at_points)

    def _is_zero(self) -> bool:
        return self.epsilons[0] == 0  # a divergence of order above 1 vanishes only between equal distributions

    def _fields(self) -> tuple[str, ...]:
        return ("orders", "epsilons")

    def _words(self) -> str:
        first, last = (f"ε({float_up(self.orders[i]):.6g}) = {written_up(self.epsilons[i])}" for i in (0, -1))
        return f"Rényi curve of {len(self.orders)} orders, {first} … {last}"


def as_orders(orders: Iterable[Number]) -> tuple[Fraction, ...]:
    """Rényi orders: at least one, each above 1, strictly increasing."""
    exact = tuple(checks.exact(orders=order) for order in orders)
    increasing = all(a < b for a, b in pairwise(exact))
    if not exact or exact[0] <= 1 or not increasing:
        raise InvalidParameter(
            "orders",
            [float_up(order) for order in exact],
            "must be above 1 and strictly increasing",
            "Write orders=[2, 4, 8].",
        )
    return exact


def curve(bound: Callable[[Fraction], Fraction], orders: Sequence[Number] | None, *, like: Loss) -> RenyiDP:
    """A curve from a function of the order, about what another loss is about."""
    at = DEFAULT_ORDERS if orders is None else as_orders(orders)
    return RenyiDP(at, [bound(order) for order in at], **like.frame)


def _triangle(order: Fraction, near: RenyiDP, far: RenyiDP) -> Fraction | None:
    best: Fraction | None = None
    for product, value in zip(near.orders, near.epsilons, strict=True):
        if product <= order:
            continue
        p = product / order
        rest = far.at(p / (p - 1) * (order - 1 / p))
        if rest is None:
            continue
        bound = (order - 1 / p) / (order - 1) * value + rest
        best = bound if best is None else min(best, bound)
    return best
