"""Discrete Laplace noise on a public grid: one number, or a vector of a declared length."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidParameter
from lapwing.exact import float_up
from lapwing.mechanisms.additive import add_noise
from lapwing.mechanisms.grid import grid_for
from lapwing.mechanisms.mechanism import Mechanism
from lapwing.mechanisms.solve import Solvable
from lapwing.mechanisms.tails import drawable, laplace_half_width, laplace_variance
from lapwing.noise import SYSTEM, Entropy
from lapwing.noise.laplace import DigitSampler, discrete_laplace_sampler
from lapwing.privacy import PureDP

SMALLEST_SCALE = Fraction(1, 512)
"""In steps. Below it the noise would be 0 except with probability e^-500: no use, and slow to draw."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Laplace(Solvable, Mechanism):
    """Discrete Laplace noise of scale Δ/ε, in whole steps of `granularity`.

    The mechanism rounds to the grid and pays for it: with granularity g, d numbers cost ⌈Δ/g⌉ + d − 1 steps.

    Privacy: pure ε, exactly; an absurdly large ε is cut to 512 for every step of sensitivity.
    Proof: laplace.md

    Args:
        sensitivity: How far one unit can move the answer, in l1. A coordinate that is not a finite number counts as 0.
        granularity: Distance between two possible answers. By default 1 for a whole sensitivity and for `on_grid`;
            otherwise, and for vectors that are rounded, a power of two of at most Δ/(1000·d).
        dimensions: Length of the vector that is released; None for one number.
        on_grid: Promise that every answer is a multiple of the granularity already, as counts are. Then rounding costs
            nothing.

    Raises:
        InvalidParameter: If epsilon, sensitivity or granularity is not positive, if dimensions is not a whole number
            from 1 on, if `on_grid` is promised for a grid coarser than the sensitivity, or if noise would be too wide
            to draw.

    >>> isinstance(Laplace(epsilon=1, sensitivity=1).release(42), int)
    True
    >>> len(Laplace(epsilon=1, sensitivity=1, dimensions=3, on_grid=True).release([10, 20, 30]))
    3
    >>> Laplace.solve(within=5, sensitivity=1).epsilon
    0.5382
    """

    _instead: ClassVar[dict[str, str]] = {
        "scale": "The scale is sensitivity/epsilon. For a scale of 2 write Laplace(epsilon=0.5, sensitivity=1)."
    }

    epsilon: Number
    sensitivity: Number
    granularity: Number | None = None
    dimensions: int | None = None
    on_grid: bool = False
    _granularity: Fraction = field(init=False, repr=False, compare=False)
    _steps: int = field(init=False, repr=False, compare=False)
    _scale: Fraction = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        epsilon, sensitivity = checks.positive(epsilon=self.epsilon), checks.positive(sensitivity=self.sensitivity)
        length = 1 if self.dimensions is None else checks.whole(dimensions=self.dimensions)
        grid = grid_for(self.granularity, sensitivity, self.dimensions, on_grid=self.on_grid)
        steps = l1_steps(sensitivity / grid, length, on_grid=self.on_grid)
        if steps == 0:
            raise InvalidParameter(
                "sensitivity", self.sensitivity, "is less than one grid step", "Use a finer granularity."
            )
        scale = drawable(max(steps / epsilon, SMALLEST_SCALE), granularity=self.granularity)
        self._set(_granularity=grid, _steps=steps, _scale=scale)

    def privacy_loss(self) -> PureDP:
        """Pure ε: the sensitivity over the scale of the noise, both in grid steps.

        >>> print(Laplace(epsilon=0.5, sensitivity=1).privacy_loss())
        ε = 0.5 (add_remove, per person)
        """
        return PureDP(self._steps / self._scale, relation=self.relation, unit=self.unit)

    def release(self, data: Any, entropy: Entropy = SYSTEM) -> Any:
        """The answer plus noise, on the grid.

        Args:
            data: The exact answer: a number, or a vector of the declared length.

        Returns:
            A number for a number, a list for a list, an array for an array.

        Raises:
            InvalidParameter: If data is not one number without `dimensions`, or not a vector of that length with it.

        >>> noisy = Laplace(epsilon=1, sensitivity=1).release(1000)
        >>> 900 < noisy < 1100
        True
        """
        return add_noise(data, self._granularity, self.dimensions, self._sampler(), entropy)

    def accuracy(self, confidence: float = 0.95, *, simultaneous: bool = False) -> float:
        """The half-width of the noise on one coordinate, or on all of them at once (by a union bound).

        Accuracy: of the answer on the grid; what the mechanism rounds itself is off by half a granularity more.

        Args:
            simultaneous: Bound the error of all coordinates together instead of each one alone.

        Raises:
            InvalidParameter: If confidence is not above 0 and below 1.

        >>> Laplace(epsilon=0.5, sensitivity=1).accuracy()
        6.0
        >>> Laplace(epsilon=0.5, sensitivity=1).accuracy(0.99)
        9.0
        """
        failure = 1 - checks.probability(confidence=confidence)
        if simultaneous:
            failure /= self.dimensions or 1
        return float_up(laplace_half_width(self._scale, failure) * self._granularity)

    @property
    def variance(self) -> float:
        """The variance of the noise on one coordinate."""
        return laplace_variance(self._scale, self._granularity)

    def _sampler(self) -> DigitSampler:
        return discrete_laplace_sampler(self._scale.numerator, self._scale.denominator)


def l1_steps(distance: Fraction, length: int, *, on_grid: bool) -> int:
    """How many steps apart two answers can be after rounding, in l1, if they are `distance` steps apart before."""
    return math.floor(distance) if on_grid else math.ceil(distance) + length - 1
