"""What one fit may lose, and how it is divided between the noisy numbers a model is made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidCall
from lapwing.exact import float_up, sqrt_down, sqrt_up
from lapwing.mechanisms import Gaussian, Laplace
from lapwing.mechanisms.gaussian import largest_rho
from lapwing.privacy import ZCDP, ApproxDP, Loss, PureDP


@dataclass(frozen=True, slots=True)
class Spending:
    """An amount of epsilon, for Laplace noise, or of rho, for Gaussian noise.

    Parts of it add up to it, whatever they are spent on and however later steps depend on earlier answers: pure
    epsilons and rhos are both plain sums.

    >>> [str(part.size) for part in Spending.of(epsilon=1).split(3, 1)]
    ['3/4', '1/4']
    """

    size: Fraction
    concentrated: bool
    stated: Loss
    """What is charged for all of it."""

    @classmethod
    def of(
        cls,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        unit: str = "person",
    ) -> Self:
        """Epsilon alone buys Laplace noise; epsilon with a delta, or rho, buys Gaussian noise."""
        if (epsilon is None) == (rho is None) or (rho is not None and delta is not None):
            why = "say how much to spend, in exactly one way"
            raise InvalidCall("fit", why, "Write epsilon=1, or epsilon=1 and delta=1e-6, or epsilon=None and rho=0.1.")
        if rho is not None:
            size = checks.positive(rho=rho)
            return cls(size, True, ZCDP(size, unit=unit))
        size = checks.positive(epsilon=epsilon)
        if delta is None:
            return cls(size, False, PureDP(size, unit=unit))
        chance = checks.probability(delta=delta)
        return cls(largest_rho(size, chance), True, ApproxDP(size, chance, unit=unit))

    @property
    def loss(self) -> Loss:
        """This amount as a loss in its own currency."""
        return (ZCDP if self.concentrated else PureDP)(self.size, unit=self.stated.unit)

    @property
    def epsilon(self) -> Fraction:
        """Of an exponential mechanism that costs this amount: ε² / 8 of rho, for its range is bounded by ε."""
        return sqrt_down(8 * self.size) if self.concentrated else self.size

    def split(self, *weights: Number) -> tuple[Spending, ...]:
        """Parts in these proportions, which add up exactly."""
        shares = [checks.positive(weight=weight) for weight in weights]
        return tuple(self.part(share / sum(shares)) for share in shares)

    def part(self, share: Fraction) -> Spending:
        """A share of it."""
        size = self.size * share
        return replace(self, size=size, stated=(ZCDP if self.concentrated else PureDP)(size, unit=self.stated.unit))

    def additive(self, *, l1: int, l2_squared: int, dimensions: int) -> Laplace | Gaussian:
        """Noise for a vector of whole numbers of which one row changes at most so much."""
        if not self.concentrated:
            return Laplace(
                epsilon=self.size, sensitivity=l1, dimensions=dimensions, on_grid=True, unit=self.stated.unit
            )
        distance = float_up(sqrt_up(Fraction(l2_squared)))
        return Gaussian.for_rho(
            self.size, sensitivity=distance, dimensions=dimensions, on_grid=True, unit=self.stated.unit
        )
