"""Privacy losses: guarantees that can be added, repeated, scaled to groups and converted, always as upper bounds.

Every loss names its neighbouring relation and its unit of protection; losses that differ in either cannot be added. If
a loss does not hold against everybody who sees the releases, it carries a `Trust`, and so do its sums.

    a + b            one release after another (the second may depend on the first answer)
    k * a            the same release k times
    a.for_group(k)   protection of k units at once
    a <= b           the guarantee a implies the guarantee b

Numbers are exact `Fraction`s; whatever must be rounded is rounded upwards.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, overload

from lapwing import checks
from lapwing.calls import Helpful
from lapwing.checks import Number
from lapwing.errors import InvalidParameter, UnsupportedConversion
from lapwing.exact import float_up
from lapwing.privacy import bounds
from lapwing.privacy.neighbours import PERSON, Relation, as_relation, as_unit
from lapwing.privacy.notation import show, written_up
from lapwing.privacy.trust import Trust, as_trust, readable

if TYPE_CHECKING:
    from lapwing.privacy.explanation import Explanation
    from lapwing.privacy.renyi import RenyiDP

Sampling = Literal["poisson", "fixed_size"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Loss(metaclass=Helpful):
    """What every guarantee has: a relation, a unit, and the (epsilon, delta) trade-offs it implies.

    Args:
        relation: Which tables are neighbours. "add_remove": one unit joins or leaves. "replace": one unit is exchanged
            for another, so the number of units is public.
        unit: Who is protected, in a word. Losses of different units cannot be added.

    >>> from lapwing.privacy import ZCDP
    >>> isinstance(ZCDP(0.5), Loss), ZCDP(0.5).unit
    (True, 'person')
    """

    relation: Relation = "add_remove"
    unit: str = PERSON
    trust: Trust | None = None
    """Against whom it holds, and under which assumptions; None if against everybody who sees what is released."""

    adaptive: ClassVar[bool] = False
    """Whether the plain sum stays valid when later *parameters* are chosen after seeing earlier answers (a filter)."""

    @overload
    def __add__(self, other: Self) -> Self: ...
    @overload  # in a subclass, Self is narrower than Loss
    def __add__(self, other: Loss) -> Loss: ...  # type: ignore[overload-cannot-match]
    def __add__(self, other: Loss) -> Loss:
        if not isinstance(other, Loss):
            return NotImplemented
        from lapwing.privacy.composition import add

        return add(self, other)

    def __radd__(self, other: int) -> Self:
        """0 + a, so that `sum(losses)` works."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __mul__(self, count: int) -> Self:
        return self._repeated(checks.whole(count=count, minimum=0))

    __rmul__ = __mul__

    def __le__(self, other: Loss) -> bool:
        if not isinstance(other, Loss):
            return NotImplemented
        from lapwing.privacy.composition import at_most

        return at_most(self, other)

    def __ge__(self, other: Loss) -> bool:
        return other <= self if isinstance(other, Loss) else NotImplemented

    def __repr__(self) -> str:
        shown = [f"{name}={show(getattr(self, name))}" for name in self._fields()]
        shown += [f"relation={self.relation!r}", f"unit={self.unit!r}"]
        shown += [] if self.trust is None else [f"trust={self.trust!r}"]
        return f"{type(self).__name__}({', '.join(shown)})"

    def __str__(self) -> str:
        towards = "" if self.trust is None else f", {self.trust.brief}"
        return f"{self._words()} ({self.relation}, per {self.unit}{towards})"

    @property
    def frame(self) -> dict[str, Any]:
        """What the numbers are about: the relation, the unit and the trust, as keywords for another loss."""
        return {"relation": self.relation, "unit": self.unit, "trust": self.trust}

    def epsilon_at(self, delta: Number) -> float:
        """The smallest proven epsilon at this delta.

        Args:
            delta: The probability that nothing is promised, from 0 up to, but not including, 1.

        Returns:
            The epsilon, rounded up; infinite if there is none.

        Raises:
            InvalidParameter: If `delta` is negative, or 1 or more.

        >>> round(ZCDP(0.1).epsilon_at(1e-6), 3)
        2.142
        """
        epsilon = self._epsilon_at(below_one(delta=delta))
        return float("inf") if epsilon is None else float_up(epsilon)

    def delta_at(self, epsilon: Number) -> float:
        """The smallest proven delta at this epsilon.

        Args:
            epsilon: An epsilon of 0 or more.

        Returns:
            The delta, rounded up; 1.0 means that nothing is promised.

        Raises:
            InvalidParameter: If `epsilon` is negative.

        >>> ZCDP(0.1).delta_at(3) < 1e-10
        True
        >>> PureDP(1).delta_at(1)
        0.0
        """
        return float_up(min(self._delta_at(checks.not_negative(epsilon=epsilon)), bounds.ONE))

    def to_approx(self, delta: Number) -> ApproxDP:
        """The (epsilon, delta) guarantee this implies at a chosen delta.

        Args:
            delta: The probability that nothing is promised, from 0 up to, but not including, 1.

        Returns:
            The guarantee with the smallest proven epsilon.

        Raises:
            UnsupportedConversion: If there is no finite epsilon at this delta.
            InvalidParameter: If `delta` is negative, or 1 or more.

        >>> print(ZCDP(0.1).to_approx(1e-6))
        ε = 2.14194, δ = 1e-06 (add_remove, per person)
        """
        target = below_one(delta=delta)
        epsilon = self._epsilon_at(target)
        if epsilon is None:
            why, instead = f"it has no finite epsilon at delta = {show(target)}", "Choose a larger delta."
            raise UnsupportedConversion(self, "ApproxDP", why, instead)
        return ApproxDP(bounds.tidy(epsilon), target, **self.frame)

    def to_zcdp(self) -> ZCDP:
        """The zero-concentrated guarantee this implies.

        Returns:
            A concentrated loss that this loss implies.

        Raises:
            UnsupportedConversion: If there is none, as for a Rényi curve.

        >>> print(PureDP(1).to_zcdp())
        ρ = 0.5 (add_remove, per person)
        """
        why = "a bound at finitely many orders says nothing about the others"
        raise UnsupportedConversion(self, "ZCDP", why, "Use to_approx(delta) instead.")

    def to_renyi(self, orders: Sequence[Number] | None = None) -> RenyiDP:
        """The Rényi curve this implies.

        Args:
            orders: The orders, each above 1, in rising order. None means `DEFAULT_ORDERS`.

        Returns:
            A bound on the Rényi divergence at each order.

        Raises:
            UnsupportedConversion: If there is none, as with a delta above 0.
            InvalidParameter: If the orders are not above 1 and rising.

        >>> print(PureDP(1).to_renyi([2, 8]))
        Rényi curve of 2 orders, ε(2) = 0.735326 … ε(8) = 0.955249 (add_remove, per person)
        """
        why = "with delta > 0 the Rényi divergence may be infinite at every order"
        raise UnsupportedConversion(self, "RenyiDP", why, "Use to_approx(delta) or to_zcdp() instead.")

    def to_replace(self) -> Self:
        """The same protection when one unit is replaced: a removal and an addition, so a group of two.

        Proof: a table and the one with a unit replaced are both neighbours of the table without that unit.

        Returns:
            A loss of the same kind, under replace.

        >>> print(PureDP(1).to_replace())
        ε = 2 (replace, per person)
        """
        return self if self.relation == "replace" else self.for_group(2)._under("replace")

    def to_add_remove(self) -> Self:
        """The same loss under add_remove. Refused under replace, which does not hide how many units there are.

        Returns:
            A loss of the same kind, under add_remove.

        Raises:
            UnsupportedConversion: If the relation is replace.

        >>> PureDP(1).to_add_remove() == PureDP(1)
        True
        """
        if self.relation == "add_remove":
            return self
        why = "replace does not hide how many units there are"
        raise UnsupportedConversion(self, "add_remove", why, "Prove the mechanism under add_remove from the start.")

    def subsampled(self, rate: Number, sampling: Sampling = "poisson") -> Loss:
        """What is left when the mechanism sees only a secret random sample of the units (privacy amplification).

        Privacy: the sample must stay secret.

        Args:
            rate: The share of the units that is sampled, above 0 and up to 1.
            sampling: "poisson" takes each unit independently with probability `rate`, and needs add_remove.
                "fixed_size" takes a uniform subset of `rate`·n units, and needs replace.

        Returns:
            The smaller loss: an ApproxDP stays one, others become a Rényi curve.

        Raises:
            InvalidParameter: If `rate` is not above 0 and up to 1, or `sampling` is unknown.
            UnsupportedConversion: If no bound is proven for this kind of sampling and the relation of the loss.

        >>> PureDP(1).subsampled(0.1).epsilon_at(1e-6) < 0.3
        True
        """
        from lapwing.privacy.subsampling import subsample

        return subsample(self, rate, sampling)

    def explain(
        self, *, prior: Number = 0.5, alpha: Number = 0.05, delta: Number = 1e-6, population: int | None = None
    ) -> Explanation:
        """This guarantee in words and as data; see `lapwing.privacy.explain`.

        Args:
            prior: How sure the attacker was before the release, between 0 and 1.
            alpha: The false-alarm rate of the attacker's test.
            delta: Used to read a loss without a delta of its own as (ε,δ).
            population: A public number of units. A delta that could publish one of them is refused.

        Returns:
            What an attacker can learn about one unit, at worst.

        Raises:
            InvalidParameter: If `prior` or `alpha` is not between 0 and 1, or the delta is too large for `population`.

        >>> PureDP(1).explain(prior=0.1).data["out_of_100_after"]
        24
        """
        from lapwing.privacy.explanation import explain

        return explain(self, prior=prior, alpha=alpha, delta=delta, population=population)

    @abstractmethod
    def for_group(self, size: int) -> Self:
        """The loss of a group of units that join, leave or change together.

        Args:
            size: How many units the group has.

        Returns:
            The larger loss, of the same kind.

        Raises:
            InvalidParameter: If `size` is not a whole number of at least 1.
            UnsupportedConversion: If no bound for groups is proven for this loss.

        >>> print(PureDP(1).for_group(4))
        ε = 4 (add_remove, per person)
        """

    @abstractmethod
    def _repeated(self, count: int) -> Self: ...

    @abstractmethod
    def _plus(self, other: Self) -> Self: ...

    @abstractmethod
    def _maximum(self, other: Self) -> Self: ...

    @abstractmethod
    def _epsilon_at(self, delta: Fraction) -> Fraction | None: ...

    @abstractmethod
    def _delta_at(self, epsilon: Fraction) -> Fraction: ...

    def _under(self, relation: Relation) -> Self:
        """The same numbers, read under another relation: only `to_replace` may ask."""
        return replace(self, relation=relation)

    @abstractmethod
    def _fields(self) -> tuple[str, ...]: ...

    @abstractmethod
    def _words(self) -> str: ...


@readable
@dataclass(frozen=True, slots=True, init=False, repr=False)
class PureDP(Loss):
    """ε-differential privacy: no outcome becomes more than e^ε times as likely through one unit.

    Args:
        epsilon: ε, 0 or more.

    Raises:
        InvalidParameter: If `epsilon` is negative or not a number, or the relation or unit is unknown.

    >>> PureDP(1) + 2 * PureDP(0.5)
    PureDP(epsilon=2, relation='add_remove', unit='person')
    """

    epsilon: Fraction
    _instead: ClassVar[dict[str, str]] = {
        "": "For a delta write ApproxDP(1, 1e-6).",
        "delta": "For a delta write ApproxDP(1, 1e-6).",
    }
    adaptive: ClassVar[bool] = True

    def __init__(
        self, epsilon: Number, *, relation: Relation = "add_remove", unit: str = PERSON, trust: Trust | None = None
    ) -> None:
        assign(self, relation=as_relation(relation), unit=as_unit(unit), trust=as_trust(trust))
        assign(self, epsilon=bounds.tidy(checks.not_negative(epsilon=epsilon)))

    def to_approx(self, delta: Number = 0) -> ApproxDP:
        """(ε, 0), or a smaller epsilon at a delta above 0 (see `bounds.epsilon_at`).

        >>> print(PureDP(1).to_approx(0.01))
        ε = 0.986227, δ = 0.01 (add_remove, per person)
        """
        return Loss.to_approx(self, delta)

    def to_zcdp(self) -> ZCDP:
        """ρ = ε²/2 (Bun and Steinke 2016, Proposition 1.4).

        Returns:
            A concentrated loss with a delta of 0.

        >>> print(PureDP(1).to_zcdp())
        ρ = 0.5 (add_remove, per person)
        """
        return ZCDP(self.epsilon**2 / 2, **self.frame)

    def to_renyi(self, orders: Sequence[Number] | None = None) -> RenyiDP:
        """The curve of randomized response, which dominates every ε-DP mechanism (see `bounds.pure_renyi`).

        >>> print(PureDP(1).to_renyi([2, 8]))
        Rényi curve of 2 orders, ε(2) = 0.735326 … ε(8) = 0.955249 (add_remove, per person)
        """
        from lapwing.privacy.renyi import curve

        return curve(lambda order: bounds.pure_renyi(self.epsilon, order), orders, like=self)

    def for_group(self, size: int) -> PureDP:
        """kε: each of the k steps from one table to the other costs ε.

        Raises:
            InvalidParameter: If `size` is not a whole number of at least 1.

        >>> print(PureDP(0.5).for_group(4))
        ε = 2 (add_remove, per person)
        """
        return self._repeated(checks.whole(size=size))

    def _repeated(self, count: int) -> PureDP:
        return PureDP(count * self.epsilon, **self.frame)

    def _plus(self, other: PureDP) -> PureDP:
        return PureDP(self.epsilon + other.epsilon, **self.frame)

    def _maximum(self, other: PureDP) -> PureDP:
        return max(self, other, key=lambda loss: loss.epsilon)

    def _epsilon_at(self, delta: Fraction) -> Fraction | None:
        return bounds.epsilon_at(self.epsilon, bounds.ZERO, delta)

    def _delta_at(self, epsilon: Fraction) -> Fraction:
        return bounds.delta_at(self.epsilon, bounds.ZERO, epsilon)

    def _fields(self) -> tuple[str, ...]:
        return ("epsilon",)

    def _words(self) -> str:
        return f"ε = {written_up(self.epsilon)}"


@readable
@dataclass(frozen=True, slots=True, init=False, repr=False)
class ApproxDP(Loss):
    """(ε,δ)-differential privacy: as ε-DP, except that with probability δ nothing is promised.

    Args:
        epsilon: ε, 0 or more.
        delta: δ, from 0 up to, but not including, 1.
        population: A public number of units N. A delta of 1/N or more is then refused: it permits a mechanism that
            publishes somebody's record outright.

    Raises:
        InvalidParameter: If `epsilon` or `delta` is negative, `delta` is 1 or more or too large for `population`, or
            the relation or unit is unknown.

    >>> print(ApproxDP(1, 1e-6) + ApproxDP(0.5, 1e-6))
    ε = 1.5, δ = 2e-06 (add_remove, per person)
    """

    epsilon: Fraction
    delta: Fraction
    adaptive: ClassVar[bool] = True

    def __init__(
        self,
        epsilon: Number,
        delta: Number,
        *,
        relation: Relation = "add_remove",
        unit: str = PERSON,
        trust: Trust | None = None,
        population: int | None = None,
    ) -> None:
        assign(self, relation=as_relation(relation), unit=as_unit(unit), trust=as_trust(trust))
        assign(self, epsilon=bounds.tidy(checks.not_negative(epsilon=epsilon)))
        assign(self, delta=bounds.tidy(below_one(delta=delta)))
        refuse_large_delta(self.delta, population)

    def to_zcdp(self) -> ZCDP:
        """δ-approximate ε²/2-zCDP.

        Proof: by KOV the mechanism post-processes randomized response at ε outside an event of probability δ; there
        Proposition 1.4 of Bun and Steinke applies, and that is the definition of approximate zCDP (their section 8).

        Returns:
            A concentrated loss with the same delta.

        >>> print(ApproxDP(1, 1e-6).to_zcdp())
        ρ = 0.5, δ = 1e-06 (add_remove, per person)
        """
        return ZCDP(self.epsilon**2 / 2, self.delta, **self.frame)

    def to_renyi(self, orders: Sequence[Number] | None = None) -> RenyiDP:
        """As pure DP when delta is 0, otherwise refused.

        >>> print(ApproxDP(1, 0).to_renyi([2, 8]))
        Rényi curve of 2 orders, ε(2) = 0.735326 … ε(8) = 0.955249 (add_remove, per person)
        """
        if self.delta:
            return Loss.to_renyi(self, orders)
        return PureDP(self.epsilon, **self.frame).to_renyi(orders)

    def for_group(self, size: int) -> ApproxDP:
        """(kε, δ·Σ e^(iε)), i < k, which is at most the textbook k·e^((k−1)ε)·δ (see `bounds.group_delta`).

        Raises:
            InvalidParameter: If `size` is not a whole number of at least 1, or the delta of the group reaches 1.

        >>> print(ApproxDP(1, 1e-6).for_group(2))
        ε = 2, δ = 3.71829e-06 (add_remove, per person)
        """
        k = checks.whole(size=size)
        delta = bounds.group_delta(self.epsilon, self.delta, k)
        return self._like(k * self.epsilon, bounds.ONE if delta is None else delta)

    def _like(self, epsilon: Fraction, delta: Fraction) -> ApproxDP:
        return ApproxDP(epsilon, delta, **self.frame)

    def _repeated(self, count: int) -> ApproxDP:
        return self._like(count * self.epsilon, count * self.delta)

    def _plus(self, other: ApproxDP) -> ApproxDP:
        return self._like(self.epsilon + other.epsilon, self.delta + other.delta)

    def _maximum(self, other: ApproxDP) -> ApproxDP:
        return self._like(max(self.epsilon, other.epsilon), max(self.delta, other.delta))

    def _epsilon_at(self, delta: Fraction) -> Fraction | None:
        return bounds.epsilon_at(self.epsilon, self.delta, delta)

    def _delta_at(self, epsilon: Fraction) -> Fraction:
        return bounds.delta_at(self.epsilon, self.delta, epsilon)

    def _fields(self) -> tuple[str, ...]:
        return ("epsilon", "delta")

    def _words(self) -> str:
        return f"ε = {written_up(self.epsilon)}, δ = {written_up(self.delta)}"


@readable
@dataclass(frozen=True, slots=True, init=False, repr=False)
class ZCDP(Loss):
    """ρ-zero-concentrated DP: the Rényi divergence of every order α is at most αρ.

    Args:
        rho: ρ, 0 or more.
        delta: The probability of an event outside of which this holds (approximate zCDP). 0 means that it always holds.

    Raises:
        InvalidParameter: If `rho` or `delta` is negative, `delta` is 1 or more, or the relation or unit is unknown.

    >>> 4 * ZCDP(0.5)
    ZCDP(rho=2, delta=0, relation='add_remove', unit='person')
    """

    rho: Fraction
    delta: Fraction
    adaptive: ClassVar[bool] = True

    def __init__(
        self,
        rho: Number,
        delta: Number = 0,
        *,
        relation: Relation = "add_remove",
        unit: str = PERSON,
        trust: Trust | None = None,
    ) -> None:
        assign(self, relation=as_relation(relation), unit=as_unit(unit), trust=as_trust(trust))
        assign(self, rho=bounds.tidy(checks.not_negative(rho=rho)), delta=bounds.tidy(below_one(delta=delta)))

    def to_zcdp(self) -> ZCDP:
        """Itself.

        Returns:
            The same loss, unchanged.

        >>> ZCDP(0.5).to_zcdp() == ZCDP(0.5)
        True
        """
        return self

    def to_renyi(self, orders: Sequence[Number] | None = None) -> RenyiDP:
        """The line αρ, when delta is 0.

        >>> print(ZCDP(0.5).to_renyi([2, 8]))
        Rényi curve of 2 orders, ε(2) = 1 … ε(8) = 4 (add_remove, per person)
        """
        if self.delta:
            return Loss.to_renyi(self, orders)
        from lapwing.privacy.renyi import curve

        return curve(lambda order: order * self.rho, orders, like=self)

    def for_group(self, size: int) -> ZCDP:
        """k²ρ (Bun and Steinke 2016, Proposition 1.9); refused for approximate zCDP, whose events differ by pair.

        Raises:
            UnsupportedConversion: If the loss has a delta, and the group has more than one unit.
            InvalidParameter: If `size` is not a whole number of at least 1.

        >>> print(ZCDP(0.5).for_group(2))
        ρ = 2 (add_remove, per person)
        """
        k = checks.whole(size=size)
        if self.delta and k > 1:
            why = "no group bound is proven for approximate zCDP"
            raise UnsupportedConversion(self, f"a group of {k}", why, "Use to_approx(delta).for_group(size) instead.")
        return self._like(k * k * self.rho, self.delta)

    def _like(self, rho: Fraction, delta: Fraction) -> ZCDP:
        return ZCDP(rho, delta, **self.frame)

    def _repeated(self, count: int) -> ZCDP:
        return self._like(count * self.rho, count * self.delta)

    def _plus(self, other: ZCDP) -> ZCDP:
        return self._like(self.rho + other.rho, self.delta + other.delta)

    def _maximum(self, other: ZCDP) -> ZCDP:
        return self._like(max(self.rho, other.rho), max(self.delta, other.delta))

    # An event of probability at least 1−δ₀ can be thinned by a coin to exactly 1−δ₀ on both sides, so (ε,δ′) on the
    # event gives (ε, δ₀ + (1−δ₀)δ′) overall.
    def _epsilon_at(self, delta: Fraction) -> Fraction | None:
        if delta < self.delta:
            return None
        return bounds.zcdp_epsilon_at(self.rho, (delta - self.delta) / (1 - self.delta))

    def _delta_at(self, epsilon: Fraction) -> Fraction:
        return self.delta + (1 - self.delta) * bounds.zcdp_delta_at(self.rho, epsilon)

    def _fields(self) -> tuple[str, ...]:
        return ("rho", "delta")

    def _words(self) -> str:
        return f"ρ = {written_up(self.rho)}" + (f", δ = {written_up(self.delta)}" if self.delta else "")


def as_loss(value: object, name: str = "loss") -> Loss:
    """A loss, or an error that says where one comes from; `name` is what the caller calls it."""
    if isinstance(value, Loss):
        return value
    write, shown = "Write " if name in ("loss", "losses") else f"Write {name}=", f"<{type(value).__name__}>"
    if hasattr(value, "privacy_loss"):
        raise InvalidParameter(name, shown, "is not a loss", f"{write}mechanism.privacy_loss().")
    if name == "losses" and isinstance(value, (list, tuple)):
        raise InvalidParameter(name, shown, "is one argument, not one for each loss", "Write *losses.")
    try:
        size = checks.exact(loss=value)
    except InvalidParameter:
        raise InvalidParameter(name, shown, "is not a loss", f"{write}lw.PureDP(1).") from None
    why = "a number alone is no guarantee"
    raise InvalidParameter(name, value, why, f"{write}lw.PureDP({value if 0 < size <= _MOST_MEANT else 1}).")


_MOST_MEANT = 100
"""A number up to this is taken for an epsilon where a loss was wanted."""


def assign(loss: Loss, **values: object) -> None:
    """Fill the fields of a frozen loss under construction."""
    for name, value in values.items():
        object.__setattr__(loss, name, value)


def below_one(**named: object) -> Fraction:
    """A delta: from 0 up to, but not including, 1, also once it is tidied. Exact, because one that is asked for must
    not be rounded up.
    """
    [name] = named
    delta = checks.not_negative(**named)
    if bounds.tidy(delta) >= 1:
        shown = float_up(delta)
        hint = f"Write {name}=1e-6, for example, and compose less."
        raise InvalidParameter(name, shown, "a delta of 1 or more promises nothing", hint)
    return delta


def refuse_large_delta(delta: Fraction, population: int | None) -> None:
    """Refuse a delta of at least one over a declared number of units."""
    if population is None:
        return
    units = checks.whole(population=population)
    if delta * units >= 1:
        why = f"with {units} declared units it permits publishing one of them outright"
        raise InvalidParameter("delta", float_up(delta), why, f"Write a delta well below {1 / units:.3g}.")
