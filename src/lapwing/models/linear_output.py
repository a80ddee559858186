"""Ridge regression over a ball, solved with a known error, and noise on the solution itself.

F(w) = ½·Σ(t − u·w)² + (λ/2)·‖w‖² over ‖w‖₂ ≤ 1, rows ‖u‖₂ ≤ 1, |t| ≤ 1. A sum, not a mean: then one row more moves the
minimiser by at most (1 + 1)/λ whatever the number of rows, and that number stays a secret.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.exact import sqrt_up
from lapwing.models.columns import Floats
from lapwing.models.exact import products
from lapwing.models.linear_moments import STEP
from lapwing.models.spending import Spending

Whole = NDArray[np.object_]
_PART = 1 << 24
LIPSCHITZ = 2
"""|t − u·w|·‖u‖₂ for rows, targets and solutions within 1."""
GRID = 1 << 24
_ERROR = Fraction(1, 1 << 10)
"""How far a solution may be from the minimiser, as a share of the sensitivity."""
_LARGEST = 2.0**40
"""Of a ridge, and one over the smallest: beyond it the solution is 0, or all of the ball."""
_RIDGE = (20.0, 0.5)
"""The default λ is the larger of 20·s and √(s·n/2), s being the noise on a slope at λ = 1 and n a noisy count: so the
noise is at most 0.05, and with more rows noise and shrinkage fall together."""


@dataclass(frozen=True, slots=True)
class Ball:
    """The ridge, and what follows from it for the noise on `width` numbers."""

    width: int
    ridge: Fraction

    @classmethod
    def of(cls, width: int, spending: Spending, ridge: Fraction | None, rows: float = 0.0) -> Ball:
        """With a ridge that follows from public numbers alone: the width, what may be spent, a noisy count of rows."""
        if ridge is None:
            unit = Ball(width, Fraction(1)).noise(spending).variance
            noise = unit**0.5 / GRID
            ridge = Fraction(max(_RIDGE[0] * noise, (_RIDGE[1] * noise * rows) ** 0.5))
        return cls(width, Fraction(min(max(float(ridge), 1 / _LARGEST), _LARGEST)))

    @property
    def distance(self) -> Fraction:
        """Between solutions for neighbours: of the minimisers, and twice the allowed error; no more than the ball."""
        return min(Fraction(2), LIPSCHITZ / self.ridge * (1 + 2 * _ERROR))

    def noise(self, spending: Spending) -> Any:
        """For the solution in whole steps of 1/GRID; rounding moves each of two solutions by half a step a number."""
        apart = self.distance * GRID + sqrt_up(Fraction(self.width))
        l1 = -(-sqrt_up(self.width * apart**2) // 1)
        return spending.additive(l1=int(l1), l2_squared=int(-(-(apart**2) // 1)), dimensions=self.width)

    def solve(self, columns: Whole, target: Whole) -> list[int]:
        """The minimiser in steps of 1/GRID, up to the allowed error and rounding, from the exact sums."""
        digits = 15
        while True:
            minimum = _minimum(columns, target, float(self.ridge), digits)
            if self._certain(columns, target, minimum):
                return [round(value * GRID) for value in minimum]
            digits *= 2

    def _certain(self, columns: Whole, target: Whole, solution: list[Fraction]) -> bool:
        """Whether the solution is within the ball and near the minimiser, in exact arithmetic.

        λ·‖w − w*‖² ≤ ⟨∇F(w), w − w*⟩ ≤ ⟨∇F(w), w⟩ + ‖∇F(w)‖.
        """
        if sum(value * value for value in solution) > 1:
            return False
        slope = [
            (sum(int(entry) * value for entry, value in zip(row, solution, strict=True)) - int(aim)) / Fraction(STEP**2)
            + self.ridge * value
            for row, aim, value in zip(columns.tolist(), target.tolist(), solution, strict=True)
        ]
        length = sqrt_up(sum((s * s for s in slope), Fraction(0)))
        gap = sum(s * value for s, value in zip(slope, solution, strict=True)) + length
        allowed = _ERROR * LIPSCHITZ / self.ridge
        return gap <= self.ridge * allowed**2


def shrunk_rows(columns: Floats, target: Floats) -> Floats:
    """Rows of whole steps within the ball of one unit, the target (last) shrunk with them."""
    size = np.sqrt(np.einsum("ij,ij->i", columns, columns))
    with np.errstate(all="ignore"):
        factor = np.minimum(1.0, STEP * (1 - 2.0**-30) / np.maximum(size, 1.0))
    rows: Floats = np.column_stack([columns, target]) * factor[:, None]
    np.trunc(rows, out=rows)
    inner = rows[:, :-1]
    rows[np.einsum("ij,ij->i", inner, inner) > float(STEP**2)] = 0.0
    return rows


def sums(rows: Floats) -> tuple[Whole, Whole]:
    """Exact products of the columns with each other and with the target, in Python integers, which nothing cuts."""
    totals = np.zeros((rows.shape[1] - 1, rows.shape[1]), dtype=object)
    for start in range(0, len(rows), _PART):
        part = rows[start : start + _PART]
        totals += products(part[:, :-1], part, STEP**2).astype(object)
    return totals[:, :-1], totals[:, -1]


def _minimum(columns: Whole, target: Whole, ridge: float, digits: int) -> list[Fraction]:
    """(G + (λ + µ)·1)⁻¹·m with the least µ ≥ 0 for which that lies within the ball, to about so many digits."""
    import mpmath

    unit = STEP**2
    if digits <= 15:
        values, vectors = np.linalg.eigh(columns.astype(float) / unit)
        aims = vectors.T @ (target.astype(float) / unit)
        shift = _shift(np.maximum(values, 0.0) + ridge, aims, 1.0, 80)
        return [Fraction(float(value)) for value in vectors @ (aims / (np.maximum(values, 0.0) + ridge + shift))]
    with mpmath.workdps(digits):
        exact = mpmath.matrix(columns.tolist()) / unit
        roots, basis = mpmath.eigsy(exact)
        along = basis.T * (mpmath.matrix(target.tolist()) / unit)
        spread = np.array([max(root, mpmath.mpf(0)) + ridge for root in roots], dtype=object)
        aims = np.array(list(along), dtype=object)
        shift = _shift(spread, aims, mpmath.mpf(1), 4 * digits)
        solution = basis * mpmath.matrix(list(aims / (spread + shift)))
        return [Fraction(int(mpmath.nint(value * 2 ** (4 * digits))), 2 ** (4 * digits)) for value in solution]


def _shift(spread: Any, aims: Any, one: Any, rounds: int) -> Any:
    """By bisection, from the side where the solution is within the ball (a little inside, for rounding)."""
    low, high = one * 0, np.sum(aims * aims) ** 0.5 if isinstance(one, float) else sum(a * a for a in aims) ** 0.5
    shrunk = one - (one * 2) ** -(rounds // 2 + 8)

    def inside(shift: Any) -> bool:
        return bool(sum((a / (s + shift)) ** 2 for a, s in zip(aims, spread, strict=True)) <= shrunk)

    if inside(low):
        return low
    for _ in range(rounds):
        middle = (low + high) / 2
        low, high = (low, middle) if inside(middle) else (middle, high)
    return high
