"""Explicit distributions, and how far apart they are."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

weights = st.lists(st.integers(1, 1000), min_size=4, max_size=4)
"""Four outcomes, not yet normalised."""


def normalised(numbers: list[int]) -> np.ndarray:
    return np.array(numbers) / sum(numbers)


def renyi(p: np.ndarray, q: np.ndarray, order: float) -> float:
    """The Rényi divergence of an order above 1."""
    return float(np.log(np.sum(p**order * q ** (1.0 - order))) / (order - 1))


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    """The least delta of (epsilon, delta) in this direction."""
    return float(np.sum(np.maximum(p - math.exp(epsilon) * q, 0)))
