"""The distribution behind noisy counts of bins in a row: cumulative counts, shares, and bands around them.

All of it is post-processing of what a `Hierarchy` over the bins released. Cumulative counts never fall and shares lie
between 0 and 1, as those of any table do. Bands hold at all edges at once. Proof: cumulative.md
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.mechanisms.consistency import LeastSquares
from lapwing.mechanisms.hierarchy import Hierarchy
from lapwing.mechanisms.linear_tails import deviations
from lapwing.mechanisms.trees import Tree

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FAN_OUTS = (2, 3, 4, 6, 8, 12, 16, 24)
"""Children of a node that are tried; and no tree at all."""
_STEPS = 60
"""Halvings of the unit interval: more than a double has bits."""


@lru_cache(maxsize=64)
def best_ladder(bins: int, *, concentrated: bool) -> Tree:
    """The tree over so many bins in a row whose cumulative counts have the least mean variance.

    >>> best_ladder(1000, concentrated=True).sizes[-1], best_ladder(4, concentrated=False).sizes
    (1000, (1, 4))
    """
    trees = {Tree.over(bins, min(fan_out, bins)) for fan_out in (*FAN_OUTS, bins)}
    return min(sorted(trees, key=lambda tree: tree.levels), key=lambda tree: _mean_variance(tree, concentrated))


def _mean_variance(tree: Tree, concentrated: bool) -> float:
    budget: dict[str, Any] = {"rho": 1} if concentrated else {"epsilon": 1}
    ladder = Hierarchy(tree=tree, weights="ranges", integers=False, **budget)
    return float(ladder.least_squares().prefix_variances().mean())


@dataclass(frozen=True)
class Cumulative:
    """How far cumulative counts and shares of bins in a row may be off, from the price and the shape alone."""

    ladder: Hierarchy
    confidence: float

    @cached_property
    def below(self) -> NDArray[np.float64]:
        """The variance of the count below each edge, the last one being the total."""
        return self.ladder.least_squares().prefix_variances()

    @cached_property
    def above(self) -> NDArray[np.float64]:
        """The variance of the count from each edge on; 0 for the last edge."""
        import numpy as np

        squares = self.ladder.least_squares()
        tree = Tree([self.ladder.tree.counts(level)[::-1].tolist() for level in range(squares.tree.levels - 1)])
        mirrored = LeastSquares(tree, [np.asarray(noise)[::-1] for noise in squares.noise])
        return np.append(mirrored.prefix_variances()[::-1][1:], 0.0)

    def reach(self, edges: int) -> float:
        """How many standard deviations the errors at so many edges stay within, all at once (a union bound)."""
        failure = (1 - checks.probability(confidence=self.confidence)) / edges
        return deviations(Fraction(failure), concentrated=self.ladder.rho is not None)

    def counts(self, estimates: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """The count below each edge, which never falls, and a band that holds at all edges at once."""
        import numpy as np

        near = np.cumsum(estimates)
        width = self.reach(len(near)) * np.sqrt(self.below) + 0.5
        low = np.maximum.accumulate(
            np.maximum(near - width, 0.0)
        )  # the exact ones rise, so the best bound so far holds
        high = np.minimum.accumulate((near + width)[::-1])[::-1]
        return rising(near), low, np.maximum(high, 0.0)

    def shares(self, estimates: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """The share below each edge, which rises from 0 to 1, and a band that holds at all edges at once.

        A share s below an edge is possible if c − s·n is near 0: its noise has a known variance for each s (Fieller).
        """
        import numpy as np

        near = np.cumsum(estimates)
        total, reach = float(near[-1]), self.reach(max(1, len(near) - 1))
        values = np.clip(rising(near) / total, 0.0, 1.0) if total >= 1 else np.linspace(0, 1, len(near) + 1)[1:]
        together = (self.below[-1] - self.below - self.above) / 2

        def off(share: NDArray[np.float64], sign: float) -> NDArray[np.float64]:
            variance = (1 - share) ** 2 * self.below + share**2 * self.above - 2 * share * (1 - share) * together
            return sign * (near - share * total) - (reach * np.sqrt(np.maximum(variance, 0.0)) + 0.5)  # type: ignore[no-any-return]

        low, high = (
            _last(lambda share: off(share, 1.0) > 0, len(near)),
            1 - _last(lambda share: off(1 - share, -1.0) > 0, len(near)),
        )
        values[-1] = high[-1] = low[-1] = 1.0
        low, high = np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]
        return np.maximum.accumulate(values), np.minimum(low, values), np.maximum(high, values)


def rising(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest numbers (least squares) that never fall and are not negative: neighbours that fall are averaged.

    >>> import numpy as np
    >>> rising(np.array([-1.0, 3.0, 2.0, 5.0])).tolist()
    [0.0, 2.5, 2.5, 5.0]
    """
    import numpy as np

    means: list[float] = []
    sizes: list[int] = []
    for number in numbers.tolist():
        means.append(number)
        sizes.append(1)
        while len(means) > 1 and means[-2] > means[-1]:
            mean, size = means.pop(), sizes.pop()
            means[-1] = (means[-1] * sizes[-1] + mean * size) / (sizes[-1] + size)
            sizes[-1] += size
    return np.maximum(np.repeat(means, sizes), 0.0)  # type: ignore[no-any-return]


def _last(holds: Any, size: int) -> NDArray[np.float64]:
    """For each edge, up to which share from 0 on a condition holds; 0 where it never does."""
    import numpy as np

    low, high = np.zeros(size), np.ones(size)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        true = holds(middle)
        low, high = np.where(true, middle, low), np.where(true, high, middle)
    return np.where(holds(np.zeros(size)), low, 0.0)
