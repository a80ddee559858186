"""A private quantile on a public grid: the exponential mechanism over ranks, segment by segment.

Between two neighbouring values all grid points have the same rank, so a segment is chosen first (weight: its number
of points), then a point of it. The cost depends on the number of values, not on the fineness of the grid.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import groupby
from typing import Any

from lapwing import checks
from lapwing.checks import Number
from lapwing.exact import float_up
from lapwing.mechanisms.exponential import exponential_choice, exponential_gap
from lapwing.mechanisms.ladder import Ladder
from lapwing.mechanisms.mechanism import Mechanism
from lapwing.mechanisms.solve import Solvable
from lapwing.mechanisms.tails import drawable
from lapwing.noise import SYSTEM, Entropy, uniform_below
from lapwing.privacy import ZCDP, PureDP

LARGEST_DENOMINATOR = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantile(Solvable, Mechanism):
    """A grid point whose rank is near the share `q` of the values.

    Values are clamped to the public `bounds` and rounded to the grid; what is not a finite number is left out. `q` is
    taken as the nearest fraction a/b with b ≤ 10,000. `max_rows_per_unit` is the number of values one unit may have.

    Privacy: pure ε; ε²/8-zCDP.
    Accuracy: in ranks, because how far apart ranks are is a secret of the data.
    Proof: quantile.md

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
        """Pure, from the scale used for rank distances."""
        sensitivity = self.max_rows_per_unit * self._rank_sensitivity()
        return PureDP(2 * sensitivity / self._scale, relation=self.relation, unit=self.unit)

    def zcdp_loss(self) -> ZCDP:
        """The same release in zero-concentrated terms: the exponential mechanism has bounded range."""
        return ZCDP(self.privacy_loss().epsilon ** 2 / 8, relation=self.relation, unit=self.unit)

    def release(self, data: Any, entropy: Entropy = SYSTEM) -> int | float:
        """One point of the grid."""
        steps = self._ladder.ascending(data)
        segments = _segments if isinstance(steps, list) else _segments_of_array
        starts, sizes, below, up_to = segments(steps, self._ladder)
        a, b, n = self._share.numerator, self._share.denominator, len(steps)
        if isinstance(steps, list):
            gaps: Any = [max(0, b * low - a * n, a * n - b * high) for low, high in zip(below, up_to, strict=True)]
        else:
            import numpy as np

            gaps = np.maximum(np.maximum(b * below - a * n, a * n - b * up_to), 0).view(np.uint64)
        chosen = exponential_choice(gaps, sizes, self._scale, entropy)
        return self._ladder.value(int(starts[chosen]) + uniform_below(int(sizes[chosen]), entropy=entropy))

    def accuracy(self, confidence: float = 0.95) -> float:
        """How many ranks the released point may be away from the share q of the values."""
        gap = exponential_gap(self._ladder.width + 1, self._scale, confidence)
        return float_up(Fraction(gap, self._share.denominator))


@dataclass(frozen=True, slots=True, kw_only=True)
class Median(Quantile):
    """The private median: `Quantile` at one half.

    Privacy: pure ε; ε²/8-zCDP.
    Proof: quantile.md

    >>> 0 <= Median(epsilon=1, bounds=(0, 120)).release([31, 45, 62, 18]) <= 120
    True
    """

    q: Number = field(default=Fraction(1, 2), init=False)


Segments = tuple[Any, Any, Any, Any]
"""First point, number of points, number of values below, number of values below or equal: one entry per segment."""


def _segments(steps: Any, ladder: Ladder) -> Segments:
    """Each distinct value by itself, and what lies between: together every point of the grid once."""
    rows, start, below = [], ladder.low, 0
    for value, equal in groupby(steps):
        if value > start:
            rows.append((start, value - start, below, below))
        up_to = below + len(list(equal))
        rows.append((value, 1, below, up_to))
        start, below = value + 1, up_to
    if start <= ladder.high:
        rows.append((start, ladder.high + 1 - start, below, below))
    starts, sizes, lows, highs = map(list, zip(*rows, strict=True))
    return starts, sizes, lows, highs


def _segments_of_array(steps: Any, ladder: Ladder) -> Segments:
    """The same by numpy: values at odd places, what lies between at even ones, empty segments dropped."""
    import numpy as np

    ends = np.flatnonzero(np.append(steps[1:] != steps[:-1], True)[: len(steps)]) + 1
    values = steps[ends - 1]
    starts, sizes, below, up_to = (np.zeros(2 * len(values) + 1, dtype=np.int64) for _ in range(4))
    starts[0], starts[1::2], starts[2::2] = ladder.low, values, values + 1
    sizes[1::2], sizes[0::2] = 1, np.append(values, ladder.high + 1) - starts[0::2]
    below[2::2] = up_to[1::2] = up_to[2::2] = ends
    below[3::2] = ends[:-1]
    kept = sizes > 0
    return starts[kept], sizes[kept], below[kept], up_to[kept]
