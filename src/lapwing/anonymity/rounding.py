"""Output rounding: counts are published as multiples of a base.

*To the nearest*: the same count always gives the same answer, at most half a base away. *At random* (Fellegi 1975,
Controlled random rounding): up with probability remainder/base, so that the answer is right on average.

It protects a single published count. It does not protect against somebody who may choose the groups: they find the
place where the answer flips, and there one person decides. And what is right on average is found by asking often.

>>> Rounding(base=5).release(12)
10
>>> Rounding(base=5, at_random=True).release(12) in (10, 15)
True
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from lapwing import checks
from lapwing.noise import SYSTEM, Entropy, bernoulli


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounding:
    """Rounds counts to multiples of a base.

    Args:
        base: The base, at least 2.
        at_random: Whether to round up or down at random, right on average. Otherwise to the nearest; halves go up.

    Raises:
        InvalidParameter: If base is not a whole number from 2 on, or if at_random is neither True nor False.

    >>> Rounding(base=5).release(13)
    15
    """

    base: int = 5
    at_random: bool = False

    def __post_init__(self) -> None:
        checks.whole(base=self.base, minimum=2)
        checks.true_or_false(at_random=self.at_random)

    def release(self, count: int, entropy: Entropy = SYSTEM) -> int:
        """The rounded count.

        Args:
            count: The true count.
            entropy: Where the random bits come from, if rounding is at random.

        Returns:
            A multiple of the base.
        """
        if not self.at_random:
            return (2 * count + self.base) // (2 * self.base) * self.base
        down, rest = divmod(count, self.base)
        return (down + bernoulli(Fraction(rest, self.base), entropy=entropy)) * self.base

    def mean_of(self, count: int, times: int, entropy: Entropy = SYSTEM) -> float:
        """The mean of many answers to the same question.

        Args:
            count: The true count.
            times: How often the question is asked.
            entropy: Where the random bits come from, if rounding is at random.

        Returns:
            The mean. At random, it comes near the true count.

        Raises:
            InvalidParameter: If times is not a whole number from 1 on.

        >>> 12 < Rounding(base=5, at_random=True).mean_of(13, 10_000) < 14
        True
        """
        if not self.at_random:
            return float(self.release(count))
        down, rest = divmod(count, self.base)
        ups = int(bernoulli(Fraction(rest, self.base), checks.whole(times=times), entropy).sum())
        return self.base * (down + ups / times)
