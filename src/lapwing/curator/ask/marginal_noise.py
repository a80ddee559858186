"""Noise on marginals, and how far their cells may be off, computed from the question and its price alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from lapwing.curator.ask.pricing import Noise
from lapwing.curator.plan.statistics import Statistic
from lapwing.mechanisms import Laplace
from lapwing.mechanisms.linear_tails import deviations
from lapwing.mechanisms.marginals import Family

TOTAL = "all"


@dataclass(frozen=True, slots=True)
class MarginalNoise(Noise):
    """Noise on one statistic of all cells of one marginal."""

    columns: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """What is released."""
        return f"{self.statistic} by {name_of(self.columns)}" if self.columns else f"{self.statistic}, {TOTAL}"

    @property
    def spread(self) -> float:
        """At least the variance of the noise on one cell, in squared steps."""
        mechanism = self.mechanism(2)
        if isinstance(mechanism, Laplace):
            return 2 * float(Fraction(mechanism.sensitivity) / Fraction(mechanism.epsilon)) ** 2
        return float(mechanism.sigma) ** 2


@dataclass(frozen=True)
class Widths:
    """How far the cells of each marginal may be off, as far as the question and its price alone tell."""

    family: Family
    items: Sequence[MarginalNoise]
    confidence: float

    def spreads(self, statistic: Statistic) -> list[float]:
        """Of the noise on each marginal."""
        return [item.spread for item in self.items if item.statistic == statistic]

    def below(self, statistic: Statistic, columns: tuple[int, ...]) -> float:
        """For a cell over these columns, in steps."""
        gaussian = all(item.concentrated for item in self.items if item.statistic == statistic)
        variance = self.family.variance(columns, self.spreads(statistic))
        reach = deviations(1 - Fraction(self.confidence), concentrated=gaussian)
        return reach * math.sqrt(variance) + 0.5  # the draws are whole numbers

    def of(self, statistic: Statistic) -> list[float]:
        """For a cell of each marginal, in steps."""
        return [self.below(statistic, columns) for columns in self.family.sets]


def name_of(columns: Sequence[str]) -> str:
    """What a marginal is called: its columns, or "all"."""
    return " × ".join(columns) or TOTAL
