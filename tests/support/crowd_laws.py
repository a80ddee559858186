"""Exact laws of what a randomised threshold passes on, for crowds that can be enumerated."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from lapwing.collect.crowds import Crowd


def number_chance(number: int, people: int, crowd: Crowd) -> float:
    """That so many of these people's reports are left, before the threshold; 0 is every number below 1."""
    drops = drop_law(crowd.mean_drop, float(crowd.sigma))
    return drops.get(people - number, 0.0) if number else sum(p for drop, p in drops.items() if drop >= people)


@cache
def drop_law(mean: int, sigma: float) -> dict[int, float]:
    """How likely each number of dropped reports is."""
    weights = {z: math.exp(-((z / sigma) ** 2) / 2) for z in range(-100, 101)}
    law: dict[int, float] = {}
    for z, weight in weights.items():
        drop = max(0, mean + z)
        law[drop] = law.get(drop, 0.0) + weight / sum(weights.values())
    return law


def delta_at(epsilon: float, one: dict[Any, float], other: dict[Any, float]) -> float:
    """How much of the first law e^epsilon times the second does not cover."""
    return sum(max(0.0, p - math.exp(epsilon) * other.get(outcome, 0.0)) for outcome, p in one.items())
