"""Noise for vectors in which one row changes every coordinate a little: uniform in a cube of random size.

Where a row lies anywhere in a box, Laplace noise has to pay for its l1 size. The K-norm mechanism of Hardt and Talwar
(2010) for the cube pays for the largest coordinate, and its variance is a sixth of that of Laplace noise in many
dimensions: p²t²/3 instead of 2p²t².
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import InvalidParameter
from lapwing.exact import float_up, sqrt_up
from lapwing.mechanisms import Gaussian
from lapwing.models.columns import BITS, Floats
from lapwing.models.spending import Spending
from lapwing.noise import LARGEST_SCALE, SYSTEM, Entropy, geometric, uniform_below
from lapwing.privacy import PureDP

STEP = 1 << BITS
"""Whole steps of a column in one half of its width."""


@dataclass(frozen=True, slots=True)
class Cube:
    """Whole noise v with probability proportional to e^(−‖v‖∞/scale), independently for each of several blocks.

    `largest` bounds the sum over the blocks of the largest change of a coordinate in it. The scale is largest/ε, but at
    least the number of dimensions of a block: an absurdly large ε is cut, for drawing would take too long.

    Privacy: pure ε.
    Proof: cube.md

    >>> Cube(Fraction(1), largest=10, dimensions=3).release(np.array([[1, 2, 3]])).shape
    (1, 3)
    """

    epsilon: Fraction
    largest: int
    dimensions: int
    blocks: int = 1
    unit: str = "person"

    @property
    def scale(self) -> Fraction:
        """In whole steps."""
        scale = max(self.largest / self.epsilon, Fraction(self.dimensions))
        if scale * (self.dimensions + 1) > LARGEST_SCALE >> 6:
            hint = "Use a larger epsilon."
            raise InvalidParameter("epsilon", float(self.epsilon), "makes noise too wide to draw", hint)
        return scale

    def privacy_loss(self) -> PureDP:
        """Pure."""
        return PureDP(self.largest / self.scale, unit=self.unit)

    @property
    def variance(self) -> float:
        """Of the noise on one coordinate, as if steps were infinitely fine."""
        return (self.dimensions + 1) * (self.dimensions + 2) / 3 * float(self.scale) ** 2

    def accuracy(self, confidence: float = 0.95) -> float:
        """The half-width of the noise on one coordinate, as if steps were infinitely fine.

        The radius R is a gamma variable, so P(|v| > x) = E(1 − x/R)⁺ has a closed form; found by bisection.
        """
        from scipy.special import gammaincc

        p, low, high = self.dimensions, 0.0, 4.0 * self.dimensions + 800.0
        for _ in range(60):
            middle = (low + high) / 2
            beyond = gammaincc(p + 1, middle) - middle / p * gammaincc(p, middle)
            low, high = (middle, high) if beyond > 1 - confidence else (low, middle)
        return high * float(self.scale)

    def release(self, values: NDArray[Any], entropy: Entropy = SYSTEM) -> Floats:
        """Whole numbers of shape (blocks, dimensions) with noise, as doubles."""
        noisy: Floats = (values.astype(object) + self.noise(entropy)).astype(float)
        return noisy

    def noise(self, entropy: Entropy) -> NDArray[np.object_]:
        """Noise alone."""
        return np.array([self._draw(entropy) for _ in range(self.blocks)])

    def _draw(self, entropy: Entropy) -> NDArray[np.object_]:
        radius = cube_radius(self.dimensions, self.scale, entropy)
        return uniform_below(2 * radius + 1, self.dimensions, entropy).astype(object) - radius


def cube_radius(dimensions: int, scale: Fraction, entropy: Entropy) -> int:
    """r with probability proportional to (2r+1)^p·e^(−r/scale), exactly.

    A sum of p + 1 geometric variables has weights (r+1)…(r+p)/p!·e^(−r/scale); it is accepted with the quotient of the
    two, Π (2r+1)/(2r+2i), by whole numbers.
    """
    while True:
        radius = int(sum(geometric(scale, dimensions + 1, entropy).tolist()))
        for i in range(1, dimensions + 1):
            if uniform_below(2 * radius + 2 * i, entropy=entropy) >= 2 * radius + 1:
                break
        else:
            return radius


def boxed(spending: Spending, *, largest: int, dimensions: int, blocks: int = 1) -> Cube | Gaussian:
    """Noise for blocks of whole numbers, of which a row changes one, and no number of it by more than `largest`."""
    if not spending.concentrated:
        return Cube(spending.size, largest, dimensions, blocks, spending.stated.unit)
    distance = float_up(sqrt_up(Fraction(dimensions * largest**2)))
    unit = spending.stated.unit
    return Gaussian.for_rho(
        spending.size, sensitivity=distance, dimensions=blocks * dimensions, on_grid=True, unit=unit
    )


def released(noise: Cube | Gaussian, values: NDArray[np.int64], entropy: Entropy) -> Floats:
    """Whole numbers, a row for each block, with noise, as doubles."""
    flat = values.reshape(noise.blocks, -1) if isinstance(noise, Cube) else values.ravel()
    return np.asarray(noise.release(flat, entropy), dtype=float).reshape(values.shape)
