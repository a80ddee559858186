"""A private quantile on a public grid: the exponential mechanism over ranks.

Between two neighbouring values all grid points have the same rank, so a finer grid does not cost more time. Exact
values are needed only around the answer (`quantile_draw`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from lapwing import checks
from lapwing.checks import Number
from lapwing.exact import float_up
from lapwing.mechanisms.cell_counts import CellCounts
from lapwing.mechanisms.exponential import exponential_gap
from lapwing.mechanisms.ladder import Ladder
from lapwing.mechanisms.mechanism import Mechanism
from lapwing.mechanisms.quantile_draw import QuantileDraw
from lapwing.mechanisms.solve import Solvable
from lapwing.mechanisms.tails import drawable
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy import ZCDP, PureDP

LARGEST_DENOMINATOR = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantile(Solvable, Mechanism):
    """A grid point whose rank is near the share `q` of the values.

    Values are clamped to the public `bounds` and rounded to the grid; what is not a finite number is left out.
    `release`
    takes the values; `start` takes counts of them, for data that live elsewhere.

    Privacy: pure ε; ε²/8-zCDP.
    Accuracy: in ranks, because how far apart ranks are is a secret of the data.
    Proof: quantile.md

    Args:
        bounds: The smallest and the largest value, as public knowledge: never read them from the data.
        q: The share of the values that should lie below, from 0 to 1; taken as the nearest fraction a/b with b ≤
            10,000.
        granularity: Distance between two possible answers. None for 1 between whole bounds at least 100 apart, else for
            a power of two with one to four thousand steps between the bounds.
        max_rows_per_unit: How many values one unit has at most. Enforce it before: the mechanism does not check it.

    Raises:
        InvalidParameter: If epsilon or granularity is not positive, if bounds are not a pair (low, high) with low below
            high, or if max_rows_per_unit is not a whole number from 1 on. Also if q is not a share from 0 to 1.

    >>> 0 <= Quantile(epsilon=1, q=0.9, bounds=(0, 120)).release([31, 45, 62, 18]) <= 120
    True
    """

    epsilon: Number
    bounds: tuple[Number, Number]
    q: Number = Fraction(1, 2)
    granularity: Number | None = None
    max_rows_per_unit: int = 1
    _ladder: Ladder = field(init=False, repr=False, compare=False)
    _share: Fraction = field(init=False, repr=False, compare=False)
    _scale: Fraction = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        epsilon, rows = checks.positive(epsilon=self.epsilon), checks.whole(max_rows_per_unit=self.max_rows_per_unit)
        share = checks.share(q=self.q).limit_denominator(LARGEST_DENOMINATOR)
        self._set(_ladder=Ladder(self.bounds, self.granularity), _share=share, bounds=tuple(self.bounds))
        self._set(_scale=drawable(2 * rows * self._rank_sensitivity() / epsilon, epsilon=self.epsilon))

    def _rank_sensitivity(self) -> int:
        a, b = self._share.numerator, self._share.denominator
        return max(a, b - a) if self.relation == "add_remove" else b

    def privacy_loss(self) -> PureDP:
        """Pure ε, from the scale used for rank distances.

        >>> print(Quantile(epsilon=1, bounds=(0, 120), q=0.9).privacy_loss())
        ε = 1 (add_remove, per person)
        """
        sensitivity = self.max_rows_per_unit * self._rank_sensitivity()
        return PureDP(2 * sensitivity / self._scale, relation=self.relation, unit=self.unit)

    def zcdp_loss(self) -> ZCDP:
        """The same release in zero-concentrated terms: the exponential mechanism has bounded range.

        Returns:
            The loss as ρ, for accounts that add up zero-concentrated losses.

        >>> print(Quantile(epsilon=1, bounds=(0, 120), q=0.9).zcdp_loss())
        ρ = 0.125 (add_remove, per person)
        """
        return ZCDP(self.privacy_loss().epsilon ** 2 / 8, relation=self.relation, unit=self.unit)

    def release(self, data: Any, entropy: Entropy = SYSTEM) -> int | float:
        """One point of the grid.

        Args:
            data: The values: a list, an array or a column.

        Returns:
            A number within the bounds, an int on a whole grid and else a float.

        >>> 40 < Quantile(epsilon=1, bounds=(0, 120), q=0.9).release(range(100)) <= 120
        True
        """
        values = CellCounts(data, self._ladder)
        draw = self.start(values.cells(), entropy)
        while (cell := draw.wanted) is not None:
            draw.refine(*values.within(cell))
        return draw.value

    def start(self, cells: Iterable[tuple[int, int, int]], entropy: Entropy = SYSTEM) -> QuantileDraw:
        """A release from counts, for data that live elsewhere.

        The values were clamped and rounded to the grid before they were counted.

        Args:
            cells: Triples (first point, number of points, number of values), ascending, in grid steps. Cells without
                values may be left out.
            entropy: Source of randomness; the secure one by default.

        Returns:
            A draw. While its `wanted` is a cell, `refine` it with finer counts; then read its `value`.

        >>> draw = Quantile(epsilon=1, bounds=(0, 100), q=0.9, granularity=1).start([(20, 1, 5), (67, 1, 3)])
        >>> draw.wanted is None, 0 <= draw.value <= 100
        (True, True)
        """
        return QuantileDraw(cells, self._share, self._scale, self._ladder, entropy)

    def accuracy(self, confidence: float = 0.95) -> float:
        """How many ranks the released point may be away from the share q of the values.

        Returns:
            The bound, as a number of values.

        Raises:
            InvalidParameter: If confidence is not above 0 and below 1.

        >>> Quantile(epsilon=1, bounds=(0, 120), q=0.5).accuracy() < 100
        True
        """
        gap = exponential_gap(self._ladder.width + 1, self._scale, confidence)
        return float_up(Fraction(gap, self._share.denominator))


@dataclass(frozen=True, slots=True, kw_only=True)
class Median(Quantile):
    """The private median: `Quantile` at one half.

    Privacy: pure ε; ε²/8-zCDP.
    Proof: quantile.md

    Raises:
        InvalidParameter: If epsilon or granularity is not positive, if bounds are not a pair (low, high) with low below
            high, or if max_rows_per_unit is not a whole number from 1 on.

    >>> 0 <= Median(epsilon=1, bounds=(0, 120)).release([31, 45, 62, 18]) <= 120
    True
    """

    q: Number = field(default=Fraction(1, 2), init=False)
