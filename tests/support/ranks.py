"""The law of a private quantile, straight from its definition."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from lapwing.mechanisms import Quantile


def gaps(values: Sequence[int], share: Fraction, points: Sequence[int]) -> list[int]:
    """How far the rank of each point is from the share a/b of the values, times b."""
    a, b, n = share.numerator, share.denominator, len(values)
    below = [sum(value < point for value in values) for point in points]
    up_to = [sum(value <= point for value in values) for point in points]
    return [max(0, b * low - a * n, a * n - b * high) for low, high in zip(below, up_to, strict=True)]


def law(mechanism: Quantile, values: Sequence[int], points: Sequence[int]) -> list[float]:
    """The probability of each point."""
    weights = [math.exp(-gap / float(mechanism._scale)) for gap in gaps(values, mechanism._share, points)]
    return [weight / math.fsum(weights) for weight in weights]
