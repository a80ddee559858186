"""The mean of a number from one report each: a coin chooses between one bit and one small number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from lapwing import checks
from lapwing.checks import Number
from lapwing.crowd.categories import count_places
from lapwing.crowd.counts import Counts
from lapwing.crowd.items import Answers
from lapwing.crowd.numeric import LEVELS, MOST_CELLS, MeanEstimate, Piecewise, StochasticRounding, _Numeric
from lapwing.crowd.reports import Column
from lapwing.errors import InvalidParameter
from lapwing.noise import Entropy
from lapwing.privacy import PureDP

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ONE_BIT_BELOW = Fraction(61, 100)
"""Up to this ε one bit alone is best (Wang et al. 2019)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hybrid(_Numeric):
    """Send a report of `Piecewise` with probability `piecewise_share`, otherwise one of `StochasticRounding`.

    The hybrid mechanism of Wang, Xiao, Yang, Zhao, Hui, Shin, Shin and Yu (2019): the piecewise report is better in the
    middle of the bounds, one bit at their ends. Up to ε = 0.61 every report is one bit.

    Privacy: the larger of the two losses. Which of the two a report is does not depend on the number.
    Accuracy: at an ε of 1 and more no worse than either alone, at the worst place between the bounds.
    Proof: hybrid.md

    Args:
        window: Length of the window of `Piecewise`, in cells.
        inside: Probability that a piecewise report falls into the window.
        flip: Probability that the bit of `StochasticRounding` is flipped: less than one half.
        piecewise_share: Probability that a report is a piecewise one, 0 to 1.
        cells: How many cells piecewise reports have, at most 65,534.

    Raises:
        InvalidParameter: If cells or window is not a whole number in its range, if a probability is not above 0 and
            below 1, if piecewise_share is not a share from 0 to 1, or if bounds are not a pair (low, high) with low
            below high.

    >>> print(Hybrid.from_epsilon(2, bounds=(0, 24)).privacy_loss())
    ε = 1.99844 (replace, per person)
    """

    _instead: ClassVar[dict[str, str]] = {"epsilon": "Write Hybrid.from_epsilon(1, bounds=(0, 120))."}

    window: int
    inside: Number
    flip: Number
    piecewise_share: Number
    cells: int = 1024
    _share: Fraction = field(init=False, repr=False, compare=False)
    _piecewise: Piecewise = field(init=False, repr=False, compare=False)
    _rounding: StochasticRounding = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _Numeric.__post_init__(self)
        if checks.whole(minimum=2, cells=self.cells) > MOST_CELLS - 2:
            raise InvalidParameter("cells", self.cells, f"are more than {MOST_CELLS - 2:,}", "Write cells=1024.")
        piecewise = Piecewise(
            bounds=self.bounds, window=self.window, inside=self.inside, cells=self.cells, unit=self.unit
        )
        rounding = StochasticRounding(bounds=self.bounds, flip=self.flip, unit=self.unit)
        share = checks.share(piecewise_share=self.piecewise_share)
        self._set(_piecewise=piecewise, _rounding=rounding, _share=share, piecewise_share=share)
        self._set(window=piecewise.window, inside=piecewise.inside, cells=piecewise.cells, flip=rounding.flip)

    @classmethod
    def from_epsilon(
        cls, epsilon: Number, *, bounds: tuple[Number, Number], cells: int = 1024, unit: str = "person"
    ) -> Self:
        """The protocol that uses up epsilon: a share of 1 − e^(−ε/2) of reports is piecewise, and none up to ε = 0.61.

        Args:
            epsilon: What one report costs at most. Probabilities are exact fractions of few binary digits, rounded so
                that `privacy_loss()` never exceeds epsilon. It is usually less by under 0.1 %.
            bounds: The smallest and the largest number that counts, as public facts.
            cells: How many cells piecewise reports have.
            unit: Whom one report is about.

        Returns:
            The protocol.

        Raises:
            InvalidParameter: If epsilon is not positive, if cells is not a whole number from 2 on, or if bounds are not
                a pair (low, high) with low below high.
        """
        exact = checks.positive(epsilon=epsilon)
        piecewise = Piecewise.from_epsilon(exact, bounds=bounds, cells=cells, unit=unit)
        rounding = StochasticRounding.from_epsilon(exact, bounds=bounds, unit=unit)
        share = Fraction(round(-math.expm1(-float(min(exact, Fraction(100))) / 2) * (1 << 16)), 1 << 16)
        return cls(
            bounds=bounds,
            window=piecewise.window,
            inside=piecewise.inside,
            flip=rounding.flip,
            piecewise_share=share if exact > ONE_BIT_BELOW else 0,
            cells=piecewise.cells,
            unit=unit,
        )

    @property
    def layout(self) -> tuple[Column, ...]:
        """A cell, or after the last cell one bit: down, up."""
        return (Column.number("cell", self.cells + 2),)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many reports there are of each cell, then of each of the two bits."""
        return (self.cells + 2,)

    def privacy_loss(self) -> PureDP:
        """What one report costs: the larger loss of the kinds of report that are sent."""
        losses = [part.privacy_loss().epsilon for part, share in self._parts() if share]
        return self._loss(Fraction(max(losses)))

    def estimate(self, state: Counts, *, confidence: float = 0.95) -> MeanEstimate:
        """The mean of the numbers.

        Accuracy: every report stands for a number between the bounds or beyond, with the person's number as its mean.
        Over people drawn at random these are independent and alike, so their empirical variance over n is the sample
        variance. The population error is the same number, an upper bound. Neither is less than what coins add at least.

        Returns:
            The mean, with its standard errors.

        >>> poll = Hybrid.from_epsilon(2, bounds=(0, 24))
        >>> 5 < poll.estimate(poll.absorb(None, poll.randomize([7.5] * 10_000))).mean < 10
        True
        """
        import numpy as np

        self.check_own(state.protocol)
        worth = self._worth()
        reach = float(np.abs(worth[:, None] - np.array([0.0, 1.0])).max()) * self._width
        if not state.n:
            return self._nobody(reach, confidence)
        n, shares = state.n, state.table / state.n
        mean = float(shares @ worth)
        spread = float(shares @ (worth - mean) ** 2) * n / max(n - 1, 1)
        error = math.sqrt(max(spread, self._least_variance()) / n) * self._width
        return MeanEstimate(self._mean_of(mean), n, error, error, reach, confidence)

    def worst_variance(self) -> float:
        """The variance of one report about the worst number, in squares of the distance of the bounds.

        Returns:
            The largest variance among 65 numbers that are spread evenly between the bounds.

        >>> cheap, dear = (Hybrid.from_epsilon(epsilon, bounds=(0, 24)) for epsilon in (1, 4))
        >>> dear.worst_variance() < cheap.worst_variance()
        True
        """
        return max(self._variance_at(place / 64) for place in range(65))

    def _parts(self) -> tuple[tuple[Piecewise | StochasticRounding, Fraction], ...]:
        return (self._piecewise, self._share), (self._rounding, 1 - self._share)

    def _worth(self) -> NDArray[np.float64]:
        """The number that each report stands for, as a share of the way between the bounds."""
        import numpy as np

        slope, level = (float(number) for number in self._piecewise._line())
        starts = (np.arange(self.cells) - level) / (slope * (self.cells - self.window))
        flip = float(self._rounding._flip)
        return np.array([*starts, -flip / (1 - 2 * flip), (1 - flip) / (1 - 2 * flip)])

    def _variance_at(self, share: float) -> float:
        inside, outside = (float(density) for density in self._piecewise._densities())
        width, whole = self.window, self.cells
        slope = width * (inside - outside)
        away = share * (whole - width) + (width - 1) / 2 - (whole - 1) / 2
        cells = float(self._piecewise._least_variance()) + slope * (1 - slope) * away**2
        flip = float(self._rounding._flip)
        rate = flip + (1 - 2 * flip) * share
        bit = rate * (1 - rate) / (1 - 2 * flip) ** 2
        chance = float(self._share)
        return chance * cells / (slope * (whole - width)) ** 2 + (1 - chance) * bit

    def _least_variance(self) -> float:
        return min(self._variance_at(0.0), self._variance_at(0.5))

    def _randomized(self, answers: Answers, entropy: Entropy) -> tuple[NDArray[Any], ...]:
        import numpy as np

        from lapwing.noise import bernoulli, uniform_below

        [column] = self.layout
        drawn = np.empty(len(answers), dtype=np.int64)
        chosen = bernoulli(self._share, len(answers), entropy)
        cells, bits = np.flatnonzero(chosen), np.flatnonzero(~chosen)
        drawn[cells] = self._piecewise._randomized(Answers(answers.labels, answers.places[cells]), entropy)[0]
        up = uniform_below(LEVELS, len(bits), entropy) < answers.places[bits]
        drawn[bits] = self.cells + (up ^ bernoulli(self._rounding._flip, len(bits), entropy))
        return (drawn.astype(column.dtype),)

    def _tally(self, columns: Sequence[NDArray[Any]], n: int) -> NDArray[np.int64]:
        return count_places(columns[0], self.cells + 2)
