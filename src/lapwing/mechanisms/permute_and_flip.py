"""Permute-and-flip: try the candidates in random order, flip each one's coin, take the first that lands heads.

All coins may be flipped beforehand: the first success in a random order is a uniform choice among the successes. The
coin e^(−gap/t) is G ≥ gap for a geometric G of scale t.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from lapwing.exact import float_up
from lapwing.mechanisms.selection import Selection
from lapwing.mechanisms.tails import failure_of, least, rate
from lapwing.noise import SYSTEM, Entropy, geometric, uniform_below
from lapwing.noise.laplace import geometric_sampler


@dataclass(frozen=True, slots=True, kw_only=True)
class PermuteAndFlip(Selection):
    """The best choice at a pure ε: never worse than the exponential mechanism, at best with half its expected error.

    Privacy: pure ε; ε²/2-zCDP. `Exponential` costs ε²/8 and is the better choice under zCDP.
    Proof: permute_and_flip.md

    Raises:
        InvalidParameter: If epsilon, sensitivity or granularity is not positive, if there are no candidates, or if
            monotone is promised under the relation "replace".

    >>> mechanism = PermuteAndFlip(epsilon=1, sensitivity=1, candidates=3, monotone=True)
    >>> mechanism.release([3, 50, 4]) in (0, 1, 2)
    True
    """

    def release(self, data: Any, entropy: Entropy = SYSTEM) -> Any:
        """One candidate, chosen by the scores of all.

        Args:
            data: The scores, one for each candidate in their order: a list or an array.

        Returns:
            The label of the candidate, or its index if `candidates` is a number.
        """
        gaps = self._gaps(data)
        if isinstance(gaps, list):
            sampler = geometric_sampler(self._scale.numerator, self._scale.denominator)
            heads = [index for index, gap in enumerate(gaps) if gap == 0 or sampler.draw(entropy) >= gap]
        else:
            import numpy as np

            draws = geometric(self._scale, len(gaps), entropy)
            # int64 draws are not negative, and mixed signs would be compared as floats
            landed = draws >= gaps.astype(object) if draws.dtype == object else draws.view(np.uint64) >= gaps
            heads = np.flatnonzero(landed).tolist()
        return self._label(heads[uniform_below(len(heads), entropy=entropy)])

    def accuracy(self, confidence: float = 0.95) -> float:
        """How far the score of the released candidate may lie below the best one (both as rounded to the grid).

        Worst case: one best candidate, the others all at gap a. With x = e^(−a/scale) the chance to miss the best is
        1 − (1 − (1−x)^n)/(n·x).

        Raises:
            InvalidParameter: If confidence is not above 0 and below 1.

        >>> PermuteAndFlip(epsilon=1, sensitivity=1, candidates=3, monotone=True).accuracy()
        2.0
        """
        failure, unit, count = failure_of(confidence), rate(self._scale), self._count

        def rarely_exceeded(steps: int) -> bool:
            x = math.exp(-(steps + 1) * unit)
            some_land = -math.expm1(count * math.log1p(-x)) if x < 1 else 1.0
            return 1 - some_land / (count * x) <= failure if count * x > 1e-6 else count * x / 2 <= failure

        return float_up(least(rarely_exceeded) * self._granularity)
