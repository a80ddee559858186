"""Discrete Laplace and geometric noise of any rational scale, digit by digit.

The base-256 digits of a geometric variable are independent: digit i is a geometric with rate 256^i/t cut off at 256,
and what lies above m digits is a geometric with rate 256^m/t. So a scale of 2^60 needs nothing larger than a table of
a few hundred entries. A discrete Laplace variable is G, or −1−G with probability a/(1+a), a = e^(−1/t); −1−G is the
bitwise complement of G, so the sign travels with the leading digit.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lapwing.noise.inversion import WORD_BITS, Inversion
from lapwing.noise.laws import Geometric, SignedGeometric, TruncatedGeometric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lapwing.noise.entropy import Entropy

LARGEST_TOP_SCALE = 32
"""Of the leading digit: larger scales get one more digit below it, so that every table stays small."""

LARGEST_INT64_SCALE = 1 << 55
"""Above this, an int64 overflows with a probability worth mentioning: arrays hold Python integers instead."""


class DigitSampler:
    """Draws a geometric (or, signed, a discrete Laplace) variable of one scale."""

    __slots__ = ("_guides", "_inversions", "_wide")

    def __init__(self, scale: Fraction, *, signed: bool, word_bits: int = WORD_BITS) -> None:
        rate, low = 1 / scale, []
        while 1 / rate > LARGEST_TOP_SCALE:
            low.append(Inversion(TruncatedGeometric(rate, 256), word_bits))
            rate *= 256
        top = SignedGeometric(rate, 1 / scale) if signed else Geometric(rate)
        self._inversions = (*low, Inversion(top, word_bits))
        self._wide = scale > LARGEST_INT64_SCALE
        self._guides: tuple[Any, ...] = ()

    def draw(self, entropy: Entropy) -> int:
        """One exact draw."""
        *low, top = self._inversions
        value = top.draw(entropy)
        if not low:
            return value
        digits = 0
        for inversion in reversed(low):
            digits = digits << 8 | inversion.draw(entropy)
        width = 8 * len(low)
        return value << width | digits if value >= 0 else ~(~value << width | digits)

    def draws(self, size: int, entropy: Entropy) -> NDArray[Any]:
        """Many exact draws as int64, or as Python integers where int64 would not do."""
        import numpy as np

        from lapwing.noise.arrays import Guide, draw_digits

        if self._wide:
            return np.array([self.draw(entropy) for _ in range(size)], dtype=object)
        if not self._guides:
            self._guides = tuple(Guide(inversion, 8 * place) for place, inversion in enumerate(self._inversions))
        return draw_digits(self._guides, size, entropy)


@lru_cache(maxsize=256)
def discrete_laplace_sampler(numerator: int, denominator: int) -> DigitSampler:
    """The sampler of scale numerator/denominator (cached: building its tables costs milliseconds).

    Two integers, because hashing a Fraction would add a third to the time of a draw.
    """
    return DigitSampler(Fraction(numerator, denominator), signed=True)


@lru_cache(maxsize=256)
def geometric_sampler(numerator: int, denominator: int) -> DigitSampler:
    """The sampler of a geometric with P(G ≥ g) = e^(−g·denominator/numerator)."""
    return DigitSampler(Fraction(numerator, denominator), signed=False)
