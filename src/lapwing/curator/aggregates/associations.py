"""Covariances and correlations of two columns, over rows in which neither is NULL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from lapwing.calls import helpful
from lapwing.checks import Number
from lapwing.curator.aggregates import estimates
from lapwing.curator.aggregates.base import Bound, Estimator, QueryFacts
from lapwing.curator.aggregates.estimates import Confidence, Estimate
from lapwing.curator.aggregates.spreads import NOISY
from lapwing.curator.plan.statistics import Statistic


@dataclass(frozen=True, kw_only=True, repr=False)
class _Association(Estimator):
    """From n, Σx, Σy, Σxy and, for the correlation, Σx² and Σy²."""

    places = (2,)
    squares = True
    powers: ClassVar[tuple[tuple[int, int], ...]] = ((0, 0), (1, 0), (0, 1), (1, 1))
    scaled: ClassVar[bool] = False

    def bind(self, shared: QueryFacts) -> Bound:
        grids = shared.grids(self)
        return Bound(self, tuple(Statistic("moment", grids, powers) for powers in self.powers), grids)

    def estimate(
        self, bound: Bound, numbers: Sequence[int], widths: Sequence[float], confidence: Confidence
    ) -> Estimate:
        return estimates.association(numbers, widths, bound.grids, correlation=self.scaled)


@dataclass(frozen=True, kw_only=True, repr=False)
class Covariance(_Association):
    """The covariance of two clamped columns."""

    kind = "covariance"
    called = "covariance_{}_{}"
    says = "the covariance of two columns"
    spelled = "COVAR_POP"
    nodes = ("CovarPop",)
    refused: ClassVar[Mapping[str, tuple[str, str]]] = {"CovarSamp": (NOISY, "Write COVAR_POP(…).")}


@dataclass(frozen=True, kw_only=True, repr=False)
class Correlation(_Association):
    """Pearson's correlation of two clamped columns."""

    kind = "correlation"
    called = "correlation_{}_{}"
    says = "the correlation of two columns"
    powers = (*_Association.powers, (2, 0), (0, 2))
    scaled = True
    spelled = "CORR"
    nodes = ("Corr",)


@helpful
def covariance(x: str, y: str, *, name: str | None = None, weight: Number = 1) -> Covariance:
    """The covariance of two clamped columns, over rows in which neither is NULL.

    Args:
        x: The name of a column with public bounds.
        y: The name of another one.
        name: What the column of the answer is called.
        weight: Its share of the loss beside other aggregates of the same question.

    Returns:
        An aggregate for `agg(…)`. Nothing is asked yet.

    >>> answer = patients.agg(lw.covariance("age", "visits")).release(epsilon=1)
    """
    return Covariance(of=(x, y), name=name, weight=weight)


@helpful
def correlation(x: str, y: str, *, name: str | None = None, weight: Number = 1) -> Correlation:
    """Pearson's correlation of two clamped columns, over rows in which neither is NULL.

    Args:
        x: The name of a column with public bounds.
        y: The name of another one.
        name: What the column of the answer is called.
        weight: Its share of the loss beside other aggregates of the same question.

    Returns:
        An aggregate for `agg(…)`. Nothing is asked yet.

    >>> -1 <= patients.agg(lw.correlation("age", "cost")).release(epsilon=1).value <= 1
    True
    """
    return Correlation(of=(x, y), name=name, weight=weight)
