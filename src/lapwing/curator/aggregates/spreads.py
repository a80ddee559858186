"""Variances and standard deviations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from lapwing.calls import helpful
from lapwing.checks import Number
from lapwing.curator.aggregates import estimates
from lapwing.curator.aggregates.base import Bound, Estimator, QueryFacts, WithBounds
from lapwing.curator.aggregates.estimates import Confidence, Estimate
from lapwing.curator.aggregates.sums import TOO_FEW, moments

NOISY = "the number of rows is noisy as well"
"""Why nothing is divided by n − 1."""


@dataclass(frozen=True, kw_only=True, repr=False)
class _Spread(WithBounds, Estimator):
    """From n, Σ(x − m) and Σ(x − m)²."""

    fills = squares = True
    root: ClassVar[bool]

    def bind(self, shared: QueryFacts) -> Bound:
        [(value, _)], grids = self.keys(shared.columns), shared.grids(self)
        return Bound(self, moments(value, grids[0], (1, 2)), grids)

    def estimate(
        self, bound: Bound, numbers: Sequence[int], widths: Sequence[float], confidence: Confidence
    ) -> Estimate:
        return estimates.spread(numbers, widths, bound.grids[0], root=self.root)

    def remarks(self, bound: Bound, estimated: Sequence[Estimate]) -> str:
        """Also that some intervals say nothing, if they are as wide as they can be."""
        [grid] = bound.grids
        most = estimates.widest_spread(grid, root=self.root)
        what = "standard deviation" if self.root else "variance"
        return bound.note + (TOO_FEW.format(what) if most in [e.noise for e in estimated] else "")


@dataclass(frozen=True, kw_only=True, repr=False)
class Variance(_Spread):
    """The variance of the clamped values (divided by n, not by n − 1)."""

    kind = "variance"
    called = "variance_{}"
    says = "the variance of the values"
    root = False
    spelled = "VAR_POP"
    nodes = ("VariancePop", "Variance")


@dataclass(frozen=True, kw_only=True, repr=False)
class Std(_Spread):
    """The standard deviation of the clamped values."""

    kind = "std"
    called = "std_{}"
    says = "the standard deviation of the values"
    root = True
    spelled = "STDDEV_POP"
    nodes = ("StddevPop", "Stddev")
    refused: ClassVar[Mapping[str, tuple[str, str]]] = {"StddevSamp": (NOISY, "Write STDDEV_POP(…).")}


@helpful
def variance(column: str, *, bounds: Any = None, name: str | None = None, weight: Number = 1) -> Variance:
    """The variance of the clamped values (divided by n, not by n − 1).

    Args:
        column: The name of a column.
        bounds: Public bounds `(low, high)`. Left out, those that the table was opened with.
        name: What the column of the answer is called.
        weight: Its share of the loss beside other aggregates of the same question.

    Returns:
        An aggregate for `agg(…)`. Nothing is asked yet.

    >>> 25 < patients.agg(lw.variance("age")).release(epsilon=1).value < 2500
    True
    """
    return Variance(of=(column,), bounds=bounds, name=name, weight=weight)


@helpful
def std(column: str, *, bounds: Any = None, name: str | None = None, weight: Number = 1) -> Std:
    """The standard deviation of the clamped values.

    Args:
        column: The name of a column.
        bounds: Public bounds `(low, high)`. Left out, those that the table was opened with.
        name: What the column of the answer is called.
        weight: Its share of the loss beside other aggregates of the same question.

    Returns:
        An aggregate for `agg(…)`. Nothing is asked yet.

    >>> 5 < patients.agg(lw.std("age")).release(epsilon=1).value < 50
    True
    """
    return Std(of=(column,), bounds=bounds, name=name, weight=weight)
