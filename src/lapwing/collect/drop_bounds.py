"""How many reports thresholds removed, at least and at most, from what came through.

A crowd of s reports loses d, drawn by `CrowdThreshold`, and comes through if at least T are left. Whoever sees what
came through sees neither s nor d. These bounds hold for sums over many crowds, also where crowds came through *because*
they lost few.   Proof: removals.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from lapwing import checks
from lapwing.mechanisms.crowd_threshold import CrowdThreshold, drop_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

STEEPEST, RATES = 4, 12
"""Exponential bounds are tried at the rates 4/σ, 2/σ, 1/σ, …: one of them suits any number of crowds up to millions."""


@dataclass(frozen=True, slots=True, eq=False)
class DropBounds:
    """The law of the number dropped of one crowd, and what follows for many."""

    mean: int
    threshold: int
    offsets: Floats
    """Numbers dropped, less `mean`, in order."""
    chances: Floats
    rates: Floats

    def most_of_one(self, miss: float) -> int:
        """The least u with P(d > u) ≤ miss."""
        above = 1 - self.chances.cumsum()
        return self.mean + int(self.offsets[int((above <= miss).argmax())])

    def least_of_one(self, miss: float) -> int:
        """The largest l with P(d < l) ≤ miss."""
        return self.mean + int(self.offsets[int((self.chances.cumsum() > miss).argmax())])

    def most(self, crowds: int, miss: float) -> int:
        """At least the sum that the draws of so many crowds exceed with probability `miss`."""
        if crowds <= 1:
            return self.most_of_one(miss) if crowds else 0
        reach = (crowds * self._logarithms(-self.rates) - math.log(miss)) / self.rates
        return crowds * self.mean + math.ceil(float(reach.min()))

    def least(self, crowds: NDArray[np.integer], miss: float) -> NDArray[np.int64]:
        """So many reports were removed at least where so many crowds came through; wrong with probability `miss`.

        Counted are the drops of crowds that came through and all of those that did not. Nothing is assumed about how
        many these were, nor how large crowds are.
        """
        import numpy as np

        usable = self._usable()
        numbers, places = np.unique(np.asarray(crowds, dtype=np.int64), return_inverse=True)
        rates, logarithms = self.rates[usable], self._logarithms(self.rates[usable])
        if not len(rates):
            return np.zeros(np.shape(crowds), dtype=np.int64)
        level = np.multiply.outer(numbers, rates * self.mean - logarithms) - math.log(len(rates)) + math.log(miss)
        low, high = np.zeros_like(numbers), numbers * (self.mean + self._reach())
        while (low < high).any():  # numbers that are too small would be too surprising
            middle = (low + high) // 2
            small = np.logaddexp.reduce(level - np.multiply.outer(middle, rates), axis=-1) > 0
            low, high = np.where(small, middle + 1, low), np.where(small, high, middle)
        return low[places].reshape(np.shape(crowds))

    def _reach(self) -> int:
        """At least σ, by which a sum of draws is never too small on average."""
        return math.ceil(STEEPEST / float(self.rates[0]))

    def _logarithms(self, rates: Floats) -> Floats:
        """ln E e^(−rate·(d − mean)), for each rate."""
        import numpy as np
        from scipy.special import logsumexp

        logarithms: Floats = logsumexp(-np.multiply.outer(rates, self.offsets), axis=-1, b=self.chances)
        return logarithms

    def _usable(self) -> NDArray[np.bool_]:
        """The rates at which a crowd that did not come through never makes the bound false (removals.md, (∗))."""
        import numpy as np

        some = 1 - self.chances[self.offsets == -self.mean].sum()
        if not some > 0:
            return np.zeros(len(self.rates), dtype=bool)
        average = float((self.chances * (self.offsets + self.mean)).sum()) / some
        usable: NDArray[np.bool_] = (
            average <= self.threshold + self.mean - self._logarithms(self.rates) / self.rates - 1e-6
        )
        return usable


@lru_cache(maxsize=64)
def drop_bounds(mechanism: CrowdThreshold) -> DropBounds:
    """Of the draws of a threshold (cached)."""
    import numpy as np

    sigma = checks.positive(sigma=mechanism.sigma)
    drop = drop_of(mechanism.mean_drop, sigma**2)
    total = sum(drop.low)
    chances = np.array([weight / total for weight in drop.low])
    offsets = np.arange(len(chances), dtype=np.float64) - mechanism.mean_drop
    rates = np.asarray(STEEPEST / float(sigma) / 2.0 ** np.arange(RATES), dtype=np.float64)
    return DropBounds(mechanism.mean_drop, mechanism.threshold, offsets, chances, rates)
