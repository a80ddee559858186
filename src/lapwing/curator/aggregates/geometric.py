"""Geometric means: e to the mean of the logarithms, of a column with public bounds above 0.

Each engine has its own LN, and no two agree to the last bit. Even on one engine it may differ from one batch of rows to
the next, but a row's step must not depend on its neighbours. So the logarithm is computed from operations that are
exact on every engine. Between two ends a and b of a public ladder, with c in their middle and s = (x − c)/(x + c), the
number ln x is ln c + 2s + 2s³/3 to within (2/5)·s⁵/(1 − s²). Proof: curator.md, point 3
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from lapwing.calls import helpful
from lapwing.checks import Number
from lapwing.curator.aggregates import estimates
from lapwing.curator.aggregates.base import Bound, Key, QueryFacts, public_bounds
from lapwing.curator.aggregates.estimates import Confidence, Estimate, Interval
from lapwing.curator.aggregates.sums import Mean, moments
from lapwing.curator.plan.expressions import FINEST, Call, Column, Constant, Expression, Span, never_null
from lapwing.curator.plan.grids import LARGEST_BOUND, GridExpression, gridded
from lapwing.curator.plan.language import call
from lapwing.errors import InvalidParameter

PIECES = 64
"""Of the ladder, at most: enough for bounds of 10^13 to 1. Beyond, pieces are wider."""
_HALF_WIDTH = 1 / 4
"""Of a piece, in logarithms: a value is then off by 0.0012 % at most."""
_ROUNDING = 2.0**-40
"""More than doubles can add to it: the logarithms of bounds are below 347, and ten roundings are below 2^-41."""


@dataclass(frozen=True, kw_only=True, repr=False)
class GeometricMean(Mean):
    """The geometric mean of a column that is clamped to its public bounds, which are above 0."""

    kind = "geometric mean"
    called = "geometric_mean_{}"
    says = "the geometric mean of the values"
    fills = averages = False
    total = None
    spelled = "GEOMEAN"
    nodes = ()
    functions = ("geomean", "geometric_mean")

    def bind(self, shared: QueryFacts) -> Bound:
        """The integers of a mean, of the logarithms."""
        [key] = self.keys(shared.columns)
        grid = self._logarithms(key)
        return Bound(self, moments(grid.expression, grid, (1,)), (grid,))

    def _logarithms(self, key: Key) -> GridExpression:
        value, (low, high) = key[0], public_bounds(key, self)
        if not 1 / LARGEST_BOUND <= low < high <= LARGEST_BOUND:
            why = "a geometric mean needs bounds above 0"
            hint = "Write lw.geometric_mean('x', bounds=(1, 1000)), or bounds={'x': (1, 1000)} beside SQL."
            raise InvalidParameter("bounds", (float(low), float(high)), why, hint)
        ends = tuple(Fraction(math.log(end)) for end in (float(low), float(high)))
        logarithm = _logarithm(value, float(low), float(high))
        if isinstance(value, Column) and value.complete:
            logarithm = call("coalesce", logarithm, Constant(float(sum(ends) / 2), "number"))
        return replace(gridded(logarithm, (ends[0], ends[1])), label=f"ln {value}")

    def estimate(
        self, bound: Bound, numbers: Sequence[int], widths: Sequence[float], confidence: Confidence
    ) -> Estimate:
        """A monotone function of the mean of the logarithms, and of the ends of its intervals."""
        [grid] = bound.grids
        mean, off = estimates.averaged(numbers[0], numbers[1], widths, grid, confidence), _off(grid)
        low, high = _bounds(grid)

        def back(ends: Interval) -> Interval:
            return max(low, math.exp(ends[0] - off)), min(high, math.exp(ends[1] + off))

        value = min(max(math.exp(mean.value), low), high)
        return Estimate(value, back(mean.noise), None if mean.interval is None else back(mean.interval))

    def error(self, bound: Bound, widths: Sequence[float], count: int | None) -> float:
        """Two numbers up to `high` whose logarithms differ by at most e differ by at most high·(1 − 1/exp(e))."""
        low, high = _bounds(bound.grids[0])
        logarithms = Mean.error(self, bound, widths, count) + _off(bound.grids[0])
        return min(high - low, -high * math.expm1(-logarithms))

    def ends(self, bound: Bound) -> tuple[float, float] | None:
        """The bounds of its values, not those of their logarithms."""
        return _bounds(bound.grids[0])

    def note(self, grids: Sequence[GridExpression]) -> str:
        """Its bounds, not those of their logarithms."""
        [grid] = grids
        low, high = _bounds(grid)
        notes = [f"values outside {low:g}…{high:g} count as the nearest bound"]
        if never_null(grid.expression):
            notes.append(f"a missing value counts as {math.sqrt(low) * math.sqrt(high):g}")
        return "; ".join(notes)


def _bounds(grid: GridExpression) -> Interval:
    """The bounds as they were declared: the exponential of their logarithms can be off in the last digits."""
    return float(f"{math.exp(grid.low):.14g}"), float(f"{math.exp(grid.high):.14g}")


def _pieces(width: float) -> int:
    """How many pieces a ladder has over a range of so many logarithms."""
    return min(PIECES, math.ceil(width / (2 * _HALF_WIDTH)))


def _off(grid: GridExpression) -> float:
    """How far the logarithm of a value may be off."""
    width = grid.high - grid.low
    s = math.tanh(width / _pieces(width) / 4 * (1 + 2.0**-20))  # the ends are rounded
    return 2 / 5 * s**5 / (1 - s**2) + _ROUNDING


def _logarithm(x: Expression, low: float, high: float) -> Expression:
    """ln x of a number that is clamped to the bounds; NULL of NULL.

    In the piece that x is in it is ln c + s·(2 + s²·⅔), where s = (x − c)/(x + c) and c is the middle of the piece.
    """
    least, most = math.log(low), math.log(high)
    count = _pieces(most - least)
    inner = [math.exp(least + (most - least) * place / count) for place in range(1, count)]
    ends = [low, *inner, high]
    middles = [math.sqrt(start) * math.sqrt(end) for start, end in pairwise(ends)]
    c, logarithm = _searched(x, inner, middles), _searched(x, inner, [math.log(middle) for middle in middles])
    s = _made("/", _made("-", x, c), _made("+", x, c))
    slope = _made("+", Constant(2.0, "number"), _made("*", _made("*", s, s), Constant(2 / 3, "number")))
    inside = _made("+", logarithm, _made("*", s, slope))
    below, above = (call(sign, x, Constant(end, "number")) for sign, end in (("<", low), (">", high)))
    return call("case", below, Constant(least, "number"), above, Constant(most, "number"), inside)


def _searched(x: Expression, ends: Sequence[float], numbers: Sequence[float]) -> Expression:
    """The number of the piece that x is in, found by halving: one more number than ends."""
    if not ends:
        return Constant(numbers[0], "number")
    middle = len(ends) // 2
    left, right = (
        _searched(x, ends[:middle], numbers[: middle + 1]),
        _searched(x, ends[middle + 1 :], numbers[middle + 1 :]),
    )
    return call("case", call("<", x, Constant(ends[middle], "number")), left, right)


def _made(operator: str, left: Expression, right: Expression) -> Expression:
    """Arithmetic without the clamps of the language: that of a piece is total on all doubles (curator.md, point 3)."""
    return Call(operator, (left, right), "number", Span(-LARGEST_BOUND, LARGEST_BOUND, FINEST))


@helpful
def geometric_mean(column: str, *, bounds: Any = None, name: str | None = None, weight: Number = 1) -> GeometricMean:
    """The geometric mean of a column that is clamped to its public bounds, which must be above 0.

    Args:
        column: The name of a column.
        bounds: Public bounds `(low, high)`. Left out, those that the table was opened with.
        name: What the column of the answer is called.
        weight: Its share of the loss beside other aggregates of the same question.

    Returns:
        An aggregate for `agg(…)`. Nothing is asked yet.

    >>> 10 < patients.agg(lw.geometric_mean("cost", bounds=(1, 2000))).release(epsilon=1).value < 1000
    True
    """
    return GeometricMean(of=(column,), bounds=bounds, name=name, weight=weight)
