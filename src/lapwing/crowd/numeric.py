"""The mean of numbers between public bounds, from one bit or one small number per person.

A number first becomes one of 2^30 + 1 even levels between the bounds: clamped, and rounded by at most 2^-31 of their
distance. All that follows are whole numbers and exact coins.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, ClassVar, Self

from lapwing import checks
from lapwing.checks import Number
from lapwing.crowd.binary import count_ones
from lapwing.crowd.categories import count_places
from lapwing.crowd.counts import Counts
from lapwing.crowd.estimates import Question, about_whom
from lapwing.crowd.items import Answers
from lapwing.crowd.protocol import ClosedProtocol, Protocol
from lapwing.crowd.reports import Column, Reports, some
from lapwing.errors import InvalidParameter
from lapwing.exact import exp_up, ln_up
from lapwing.mechanisms.grid import quotient
from lapwing.mechanisms.probabilities import flip_probability
from lapwing.mechanisms.records import as_column, column_values, ratio_of
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy import PureDP
from lapwing.privacy.notation import signed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEVELS = 1 << 30
MOST_CELLS = 1 << 16
FINEST, COARSEST = 1e-9, 1e15
"""Half-widths of intervals beyond which numbers are written with powers of ten."""


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """The mean of n people's numbers, unbiased. It may lie beyond the bounds: cutting it off would bias it.

    Privacy: computed from reports that are private already, so it costs nothing more.

    Attributes:
        mean: The estimated mean, in the units of the bounds.
        n: How many people reported.
        population_standard_error: Of the mean, about these respondents: only the coins are random.
        sample_standard_error: Of the mean, about a larger population from which they were drawn at random.
        confidence: Probability that an interval contains the true mean.

    >>> from lapwing.crowd import StochasticRounding
    >>> poll = StochasticRounding.from_epsilon(1, bounds=(0, 100))
    >>> estimate = poll.estimate(poll.absorb(None, poll.randomize([50.0] * 10_000)))
    >>> 30 < estimate.mean < 70
    True
    """

    mean: float
    n: int
    population_standard_error: float
    sample_standard_error: float
    gain_per_fake: float
    """How far one report that does not follow the protocol can move the sum of the numbers, at worst."""
    confidence: float = 0.95

    def interval(self, about: Question = "sample") -> tuple[float, float]:
        """Ends of a normal interval for the mean.

        Args:
            about: "sample" if these respondents are a random sample of a larger population, and the interval is about
                that one. "respondents" for these respondents themselves: this interval may be narrower.
                ("population" is the older name of "respondents".)

        Returns:
            The lower and the upper end.

        Raises:
            InvalidParameter: If about is neither "sample" nor "respondents".

        >>> from lapwing.crowd import StochasticRounding
        >>> poll = StochasticRounding.from_epsilon(1, bounds=(0, 100))
        >>> estimate = poll.estimate(poll.absorb(None, poll.randomize([50.0] * 10_000)))
        >>> low, high = estimate.interval()
        >>> low < estimate.mean < high
        True
        """
        subject = about_whom(about)
        z = -NormalDist().inv_cdf((1 - float(checks.probability(confidence=self.confidence))) / 2)
        error = self.sample_standard_error if subject == "sample" else self.population_standard_error
        return self.mean - z * error, self.mean + z * error

    def moved_by(self, fakes: int) -> float:
        """How far so many dishonest reports together can move the mean, at worst.

        Args:
            fakes: How many reports do not follow the protocol.

        Returns:
            The largest change of the mean, in the units of the bounds.

        Raises:
            InvalidParameter: If fakes is not a whole number from 0 on.

        >>> from lapwing.crowd import StochasticRounding
        >>> poll = StochasticRounding.from_epsilon(1, bounds=(0, 100))
        >>> estimate = poll.estimate(poll.absorb(None, poll.randomize([50.0] * 10_000)))
        >>> round(estimate.moved_by(100), 1)
        2.2
        """
        return checks.whole(minimum=0, fakes=fakes) * self.gain_per_fake / max(self.n, 1)

    def __str__(self) -> str:
        low, high = self.interval()
        half = (high - low) / 2
        if not math.isfinite(half):
            return f"no mean: {some(self.n, 'report')}"
        ends = f"{_written(low, half, ROUND_FLOOR)} to {_written(high, half, ROUND_CEILING)}"
        moved = self.moved_by(1)
        return (
            f"mean {_written(self.mean, half)} ({100 * self.confidence:g} % interval {ends} for a larger population; "
            f"{some(self.n, 'report')}); one fake report can move the mean by {_written(moved, moved, ROUND_CEILING)}"
        )


def _written(value: float, half: float, rounding: str = ROUND_HALF_EVEN) -> str:
    """A number as far as it is known: to two digits of the half-width of its interval."""
    if not FINEST <= half < COARSEST:
        return signed(f"{value:,.6g}")
    place = math.floor(math.log10(half)) - 1
    cut = Decimal(repr(float(value))).quantize(Decimal(1).scaleb(place), rounding, Context(prec=800))
    return signed(f"{cut if cut else abs(cut):,.{max(0, -place)}f}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Numeric(ClosedProtocol):
    """Numbers between public bounds, as levels 0 … LEVELS.

    Args:
        bounds: The smallest and the largest number that counts, as public facts. Numbers outside are clamped, on the
            device. Wider bounds mean more noise.
    """

    bounds: tuple[Number, Number]
    _low: Fraction = field(init=False, repr=False, compare=False)
    _high: Fraction = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ClosedProtocol.__post_init__(self)
        low, high = checks.interval(bounds=self.bounds)
        first, last, width = (quotient(*number.as_integer_ratio()) for number in (low, high, high - low))
        if not -math.inf < first < last < math.inf or not width < math.inf:
            why = "are too close together or too far apart for doubles"
            raise InvalidParameter("bounds", self.bounds, why, "Write bounds=(0, 120).")
        self._set(bounds=(low, high), _low=low, _high=high)

    @property
    def block(self) -> int:
        return 1 << 17

    def randomize(self, values: Any, entropy: Entropy = SYSTEM) -> Reports:
        """Randomise numbers: one report for each of them.

        Args:
            values: The true numbers, one for each person: a list, an array or a column. Anything that is not a
                number counts as the middle of the bounds.

        >>> from lapwing.crowd import Piecewise
        >>> poll = Piecewise.from_epsilon(2, bounds=(0, 24))
        >>> poll.randomize([7.5, 8, 6.25]).n
        3
        """
        if isinstance(values, Answers):
            levels = self._levels(list(values.labels))[values.places] if len(values) else self._levels([])
        else:
            levels = self._levels(as_column(values))
        return Protocol.randomize(self, Answers(range(LEVELS + 1), levels), entropy)

    def _levels(self, records: list[Any] | NDArray[Any]) -> NDArray[np.int64]:
        """The level of each number. Doubles may round as they like here: privacy does not rest on the level."""
        import numpy as np

        if isinstance(records, list) or records.dtype.kind not in "biuf" or records.dtype.itemsize > 8:
            listed = records if isinstance(records, list) else column_values(records.ravel())
            values = np.array([_double(value) for value in listed], dtype=np.float64)
        else:
            values = records.ravel().astype(np.float64, copy=False)
        low, high = float(self._low), float(self._high)
        with np.errstate(all="ignore"):  # a warning would depend on the data
            share = (np.clip(values, low, high) - low) / self._width
            levels = np.rint(share * LEVELS)
            levels[np.isnan(levels)] = LEVELS // 2
            return np.clip(levels, 0, LEVELS).astype(np.int64)

    def _nobody(self, gain: float, confidence: float) -> MeanEstimate:
        """No reports: the middle, and an error without limit."""
        return MeanEstimate(self._mean_of(0.5), 0, math.inf, math.inf, gain, confidence)

    def _mean_of(self, share: float) -> float:
        return float(self._low) + share * self._width

    @property
    def _width(self) -> float:
        return float(self._high - self._low)


def _double(value: object) -> float:
    """A number as a double, infinite beyond the largest; NaN for what is none."""
    if isinstance(value, float):
        return float.__pos__(value)  # whatever a type of the user's own makes of it
    ratio = ratio_of(value)
    return float("nan") if ratio is None else quotient(*ratio)


@dataclass(frozen=True, slots=True, kw_only=True)
class StochasticRounding(_Numeric):
    """Report one bit: round the number at random to the lower or the upper bound, then flip the bit at random.

    At the share t of the way between the bounds the bit is one with probability f + (1 − 2f)·t, f being `flip`. This is
    the one-bit mean of Duchi, Jordan and Wainwright (2018) and of Ding, Kulkarni and Yekhanin (2017). It is the best
    choice below an ε of about 1.3; take `Piecewise` above.

    Privacy: one report costs ln((1−f)/f).
    Accuracy: the variance of the mean of n numbers is at most 1/(4n(1−2f)²) in units of the distance of the bounds.
    Proof: numeric.md

    Args:
        flip: Probability that the rounded bit is flipped: less than one half.

    Raises:
        InvalidParameter: If flip is not above 0 and below 1/2, or if bounds are not a pair (low, high) with low below
            high.

    >>> print(StochasticRounding.from_epsilon(1, bounds=(0, 24)).privacy_loss())
    ε = 0.999484 (replace, per person)
    """

    _instead: ClassVar[dict[str, str]] = {"epsilon": "Write StochasticRounding.from_epsilon(1, bounds=(0, 120))."}

    flip: Number
    _flip: Fraction = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _Numeric.__post_init__(self)
        flip = checks.probability(flip=self.flip)
        if not flip < Fraction(1, 2):
            raise InvalidParameter(
                "flip", self.flip, "must be less than 1/2, or reports say nothing", "Write flip=1/4."
            )
        self._set(flip=flip, _flip=flip)

    @classmethod
    def from_epsilon(cls, epsilon: Number, *, bounds: tuple[Number, Number], unit: str = "person") -> Self:
        """The protocol that uses up epsilon: `flip` is about 1/(1 + e^ε).

        Args:
            epsilon: What one report costs at most. Probabilities are exact fractions of few binary digits, rounded so
                that `privacy_loss()` never exceeds epsilon. It is usually less by under 0.1 %.
            bounds: The smallest and the largest number that counts, as public facts.
            unit: Whom one report is about.

        Returns:
            The protocol.

        Raises:
            InvalidParameter: If epsilon is not positive, or if bounds are not a pair (low, high) with low below high.
        """
        return cls(bounds=bounds, flip=flip_probability(epsilon), unit=unit)

    @property
    def layout(self) -> tuple[Column, ...]:
        """One bit: up or down."""
        return (Column.bit("up"),)

    @property
    def shape(self) -> tuple[int, ...]:
        """One number: how many reports say up."""
        return (1,)

    def privacy_loss(self) -> PureDP:
        """What one report costs: ln((1 − flip)/flip), rounded up."""
        return self._loss(ln_up((1 - self._flip) / self._flip))

    def estimate(self, state: Counts, *, confidence: float = 0.95) -> MeanEstimate:
        """The mean of the numbers.

        Accuracy: each bit of somebody drawn at random is one with the same probability λ, so the sample variance is
        λ(1−λ)/(n(1−2f)²). That of the coins alone is less by the variance of the numbers over n. One bit per
        person does not show it, so the population error is the same number, an upper bound. λ is taken between f and
        1−f, where it lies, so no error is zero.

        Returns:
            The mean, with its standard errors.

        >>> poll = StochasticRounding.from_epsilon(2, bounds=(0, 24))
        >>> 5 < poll.estimate(poll.absorb(None, poll.randomize([7.5] * 10_000))).mean < 10
        True
        """
        self.check_own(state.protocol)
        if not state.n:
            return self._nobody(self._width / float(1 - 2 * self._flip), confidence)
        n, flip, spread = state.n, float(self._flip), float(1 - 2 * self._flip)
        share_of_ones = int(state.table[0]) / n
        likely = min(max(share_of_ones, flip), 1 - flip)
        error = (likely * (1 - likely) / n) ** 0.5 * self._width / spread
        mean = self._mean_of((share_of_ones - flip) / spread)
        return MeanEstimate(mean, state.n, error, error, self._width / spread, confidence)

    def _randomized(self, answers: Answers, entropy: Entropy) -> tuple[NDArray[Any], ...]:
        from lapwing.crowd.bits import pack
        from lapwing.noise import bernoulli_bits, uniform_below

        rounded = pack(uniform_below(LEVELS, len(answers), entropy) < answers.places)
        return (rounded ^ bernoulli_bits(self._flip, len(answers), entropy),)

    def _tally(self, columns: Sequence[NDArray[Any]], n: int) -> NDArray[np.int64]:
        return count_ones(columns[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Piecewise(_Numeric):
    """Report one of `cells` small numbers: with high probability one from a window around the true number.

    The piecewise mechanism of Wang, Xiao, Yang, Zhao, Hui, Shin, Shin and Yu (2019) on a grid. The window of W cells
    begins at cell s = 0 … M − W: the number's place between the bounds, rounded at random to a whole s. With
    probability `inside` the report is uniform in the window, otherwise uniform outside.

    Privacy: one report costs ln(P(M−W)/((1−P)W)).
    Accuracy: per person about (t²/(r − 1) + (r + 3)/(3(r − 1)²))/4 in units of the distance of the bounds, r = e^(ε/2),
    t = −1 … 1 being the place of the number between them.
    Proof: numeric.md

    Args:
        window: Length W of the window, in cells.
        inside: Probability P that a report falls into the window: more than W/M.
        cells: How many cells M there are, at most 65,536. More cells give a finer grid and longer reports.

    Raises:
        InvalidParameter: If bounds are not a pair (low, high) with low below high, if cells is not a whole number from
            2 on, if window is not less than cells, or if inside is not above window/cells and below 1.

    >>> print(Piecewise.from_epsilon(2, bounds=(0, 24)).privacy_loss())
    ε = 1.99844 (replace, per person)
    """

    _instead: ClassVar[dict[str, str]] = {"epsilon": "Write Piecewise.from_epsilon(1, bounds=(0, 120))."}

    window: int
    inside: Number
    cells: int = 1024
    _inside: Fraction = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _Numeric.__post_init__(self)
        inside, cells = checks.probability(inside=self.inside), checks.whole(minimum=2, cells=self.cells)
        if cells > MOST_CELLS:
            raise InvalidParameter("cells", cells, f"are more than {MOST_CELLS:,}", "Write cells=1024.")
        if not checks.whole(window=self.window) < cells:
            raise InvalidParameter("window", self.window, f"must be less than the {cells} cells", "Write window=1.")
        if not inside * cells > self.window:
            why = "must exceed window/cells, or reports say nothing"
            raise InvalidParameter("inside", self.inside, why, "Use Piecewise.from_epsilon(1, bounds=(0, 1)).")
        self._set(inside=inside, _inside=inside, cells=cells, window=int(self.window))

    @classmethod
    def from_epsilon(
        cls, epsilon: Number, *, bounds: tuple[Number, Number], cells: int = 1024, unit: str = "person"
    ) -> Self:
        """A window of about 1/(e^(ε/2) + 1) of the cells, with the largest probability that ε allows.

        Args:
            epsilon: What one report costs at most. Probabilities are exact fractions of few binary digits, rounded so
                that `privacy_loss()` never exceeds epsilon. It is usually less by under 0.1 %.
            bounds: The smallest and the largest number that counts, as public facts.
            cells: How many cells there are.
            unit: Whom one report is about.

        Returns:
            The protocol.

        Raises:
            InvalidParameter: If epsilon is not positive, if cells is not a whole number from 2 on, or if bounds are not
                a pair (low, high) with low below high.
        """
        size = checks.whole(minimum=2, cells=cells)
        window = max(1, round(size / (exp_up(checks.positive(epsilon=epsilon) / 2) + 1)))
        others = Fraction(size - window, window)
        inside = 1 - others * flip_probability(epsilon, others=others)
        return cls(bounds=bounds, window=window, inside=inside, cells=size, unit=unit)

    @property
    def layout(self) -> tuple[Column, ...]:
        """One number: the cell."""
        return (Column.number("cell", self.cells),)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many reports name each cell."""
        return (self.cells,)

    def privacy_loss(self) -> PureDP:
        """What one report costs: ln of the probability of a cell in the window over that of one outside, rounded up."""
        inside, outside = self._densities()
        return self._loss(ln_up(inside / outside))

    def estimate(self, state: Counts, *, confidence: float = 0.95) -> MeanEstimate:
        """The mean of the numbers.

        Accuracy: the mean and the mean square of a report are polynomials of the start of the window (numeric.md),
        which gives unbiased estimates of the mean and of the mean square of the numbers; the errors follow from both.
        Neither is less than what the coins add to numbers in the middle, where they add least.

        Returns:
            The mean, with its standard errors.

        >>> poll = Piecewise.from_epsilon(2, bounds=(0, 24))
        >>> 5 < poll.estimate(poll.absorb(None, poll.randomize([7.5] * 10_000))).mean < 10
        True
        """
        import numpy as np

        self.check_own(state.protocol)
        slope, level = (float(number) for number in self._line())
        furthest = self.cells - self.window
        unit = self._width / (slope * furthest)
        if not state.n:
            return self._nobody(unit * (self.cells - 1), confidence)
        n, cell = state.n, np.arange(self.cells, dtype=np.float64)
        first, second = float(state.table @ cell) / n, float(state.table @ cell**2) / n
        start = (first - level) / slope
        least = float(self._least_variance())
        inside, outside = (float(density) for density in self._densities())
        width, whole = self.window, self.cells
        squares = (second - outside * (whole - 1) * whole * (2 * whole - 1) / 6) / (inside - outside)
        squares = (squares - (width - 1) * width * (2 * width - 1) / 6) / width - (width - 1) * start
        scatter = squares - start**2 - 0.25  # may be negative: cutting it off would make the error too small
        coins = max(second - first**2 - slope**2 * scatter, least)
        spread = max((second - first**2) * n / max(n - 1, 1), coins)
        return MeanEstimate(
            self._mean_of(start / furthest),
            state.n,
            unit * (coins / n) ** 0.5,
            unit * (spread / n) ** 0.5,
            unit * (whole - 1),
            confidence,
        )

    def _densities(self) -> tuple[Fraction, Fraction]:
        """The probabilities of a cell in the window, and of one outside."""
        return self._inside / self.window, (1 - self._inside) / (self.cells - self.window)

    def _line(self) -> tuple[Fraction, Fraction]:
        """The expected report is slope·s + level when the window begins at s."""
        inside, outside = self._densities()
        slope = self.window * (inside - outside)
        return slope, slope * Fraction(self.window - 1, 2) + outside * Fraction(self.cells * (self.cells - 1), 2)

    def _least_variance(self) -> Fraction:
        """Of a report whose window stands exactly in the middle of all cells: no other place has less."""
        (inside, outside), width, whole = self._densities(), self.window, self.cells
        in_window, in_all = (Fraction(size * (size * size - 1), 12) for size in (width, whole))
        return outside * in_all + (inside - outside) * in_window

    def _randomized(self, answers: Answers, entropy: Entropy) -> tuple[NDArray[Any], ...]:
        import numpy as np

        from lapwing.noise import bernoulli, uniform_below

        [column] = self.layout
        levels, outside = answers.places, self.cells - self.window
        starts = (levels * outside + uniform_below(LEVELS, len(levels), entropy)) // LEVELS
        drawn: NDArray[np.int64] = starts + uniform_below(self.window, len(levels), entropy)
        away = np.flatnonzero(~bernoulli(self._inside, len(levels), entropy))
        elsewhere = uniform_below(outside, len(away), entropy)
        drawn[away] = elsewhere + self.window * (elsewhere >= starts[away])
        return (drawn.astype(column.dtype),)

    def _tally(self, columns: Sequence[NDArray[Any]], n: int) -> NDArray[np.int64]:
        return count_places(columns[0], self.cells)
