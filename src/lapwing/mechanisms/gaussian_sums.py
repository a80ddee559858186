"""How far a weighted sum of independent discrete Gaussian variables reaches. Public parameters only."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist

LARGE_SIGMA = 64
"""From here on a discrete Gaussian is nearly a rounded normal variable."""
DISTANCE = 0.021
"""Over σ²: the total variation distance to the rounded normal variable, for such σ (square_root_counter.md)."""


def weighted_half_width(variance: float, draws: int, sigma: float, failure: Fraction) -> float:
    """A bound that |Σ bᵢZᵢ| exceeds with probability at most `failure`, for a sum of `draws` Zᵢ and a known variance.

    With normal tails where σ is large, paying for the rounding; never more than the moments allow.

    >>> round(weighted_half_width(4.0, 100, 1e4, Fraction(1, 20)), 3), round(2 * 1.96, 3)
    (3.921, 3.92)
    """
    if variance == 0:
        return 0.0
    chance = max(float(failure), 1e-300)
    width = math.sqrt(2 * math.log(2 / chance))
    rest = chance - draws * DISTANCE / sigma**2
    if sigma >= LARGE_SIGMA and rest > 0:
        width = min(width, -NormalDist().inv_cdf(rest / 2) + math.sqrt(draws) / (2 * sigma))
    return math.sqrt(variance) * width * (1 + 1e-9)
