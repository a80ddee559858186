"""ToPL: the mean of a number at every step of a stream, under local differential privacy (Wang et al. 2021).

    first phase     SquareWave on (0, bound)         the server learns how the numbers are distributed,
                                                     and where cutting them off costs less than the noise it saves
    second phase    Hybrid on (0, threshold)         one collection for each step; people cut off their own numbers
    analyst         Topl.series                      means and their errors step by step, and smoothed levels

Numbers are often far below the bound that is safe to declare, and local noise is as wide as the bounds. A threshold
chosen from reports that are private already costs nothing. It can be a bad one: with few reports or a small ε the
distribution is hardly seen, and then `Hybrid` on the declared bound may be better. For a yes-or-no status over time see
`lapwing.crowd.monitoring`, which pays once for a whole history.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import NormalDist
from typing import Any

from lapwing import checks
from lapwing.calls import Helpful
from lapwing.checks import Number
from lapwing.crowd.counts import Counts
from lapwing.crowd.hybrid import Hybrid
from lapwing.crowd.numeric import MeanEstimate
from lapwing.crowd.square_wave import SquareWave
from lapwing.errors import InvalidParameter
from lapwing.mechanisms.smoothing import running_levels
from lapwing.privacy import PureDP
from lapwing.privacy.neighbours import as_unit


@dataclass(frozen=True, slots=True)
class Series:
    """Estimated means step by step, of numbers that people cut off at the threshold.

    Privacy: computed from reports that are private already, so it costs nothing more.
    Accuracy: unbiased for the numbers after they were cut off.

    Attributes:
        steps: The estimate of each step.
        threshold: Where people cut off their numbers.

    >>> from lapwing.crowd import Hybrid, Topl
    >>> plan = Topl(epsilon=4, bound=100, reports=10_000)
    >>> later = Hybrid.from_epsilon(4, bounds=(0, 50), unit="event")
    >>> hours = [later.absorb(None, later.randomize([number] * 10_000)) for number in (20, 30)]
    >>> series = plan.series(hours)
    >>> series.threshold, [abs(mean - number) < 5 for mean, number in zip(series.means, (20, 30))]
    (50.0, [True, True])
    """

    steps: tuple[MeanEstimate, ...]
    threshold: float

    @property
    def means(self) -> list[float]:
        """The mean of each step; the middle of the bounds where nobody reported."""
        return [step.mean for step in self.steps]

    @property
    def standard_errors(self) -> list[float]:
        """The standard error of each mean (`sample_standard_error` of the step); infinite where nobody reported."""
        return [step.sample_standard_error for step in self.steps]

    def levels(self) -> list[float]:
        """The smoothed means: each uses only the steps up to it (see `lapwing.mechanisms.smoothing`).

        Returns:
            A smoothed mean for each step.

        >>> from lapwing.crowd import Hybrid, Topl
        >>> plan = Topl(epsilon=4, bound=100, reports=10_000)
        >>> later = Hybrid.from_epsilon(4, bounds=(0, 50), unit="event")
        >>> series = plan.series([later.absorb(None, later.randomize([number] * 10_000)) for number in (20, 30)])
        >>> len(series.levels())
        2
        """
        return running_levels(self.means, [error**2 for error in self.standard_errors])

    def total(self, start: int, stop: int, *, confidence: float = 0.95) -> tuple[float, float, float]:
        """The sum of all numbers that were reported in the steps start + 1 … stop, with a normal interval.

        Args:
            start: How many steps to leave out at the beginning; 0 begins with the first step.
            stop: The last step that counts, from 1.
            confidence: Probability that the interval contains the true sum.

        Returns:
            The sum, and the lower and the upper end of its interval.

        Raises:
            InvalidParameter: If there is no such step.

        >>> from lapwing.crowd import Hybrid, Topl
        >>> plan = Topl(epsilon=4, bound=100, reports=10_000)
        >>> later = Hybrid.from_epsilon(4, bounds=(0, 50), unit="event")
        >>> series = plan.series([later.absorb(None, later.randomize([number] * 10_000)) for number in (20, 30)])
        >>> total, low, high = series.total(0, 2)
        >>> low < total < high, 450_000 < total < 550_000
        (True, True)
        """
        checks.whole(minimum=0, start=start)
        if not start < checks.whole(stop=stop) <= len(self.steps):
            raise InvalidParameter("stop", stop, f"is not between {start + 1} and {len(self.steps)}", "Name steps.")
        part = [step for step in self.steps[start:stop] if step.n]
        total = math.fsum(step.n * step.mean for step in part)
        error = math.sqrt(math.fsum((step.n * step.population_standard_error) ** 2 for step in part))
        z = -NormalDist().inv_cdf((1 - float(checks.probability(confidence=confidence))) / 2)
        return total, total - z * error, total + z * error


@dataclass(frozen=True, slots=True, kw_only=True)
class Topl(metaclass=Helpful):
    """A plan for a stream of numbers: learn a good threshold first, then estimate a mean at every step.

    Privacy: ε for each number that somebody reports. Someone who reports at k steps loses kε: the unit is an event.
    Accuracy: of the second phase as `Hybrid` on (0, threshold), and what the threshold cuts off.
    Proof: hybrid.md

    Args:
        epsilon: What one report costs at most.
        bound: The largest number that counts, as a public fact. Numbers go from 0 to it.
        reports: How many reports the analyst averages at a time (people × steps of a typical range). It only weighs
            what a threshold cuts off against the noise it saves.
        cells: How many cells a report has.
        unit: Whom one report is about.

    Raises:
        InvalidParameter: If epsilon or bound is not positive, if reports is not a whole number from 1 on, or if cells
            is not a whole number from 2 on.

    >>> plan = Topl(epsilon=2, bound=1000, reports=10_000)
    >>> print(plan.privacy_loss())
    ε = 1.99844 (replace, per event)
    >>> first = plan.first.absorb(None, plan.first.randomize([20, 30, 40] * 5_000))
    >>> later = plan.later(first)
    >>> 30 < later.bounds[1] < 1000
    True
    >>> days = [later.absorb(None, later.randomize([25 + day] * 10_000)) for day in range(3)]
    >>> [abs(mean - 25 - day) < 20 for day, mean in enumerate(plan.series(days).means)]
    [True, True, True]
    """

    epsilon: Number
    bound: Number
    reports: int
    cells: int = 1024
    unit: str = "event"
    first: SquareWave = field(init=False, repr=False, compare=False)
    """What people randomise with in the first phase."""

    def __post_init__(self) -> None:
        checks.whole(reports=self.reports)
        as_unit(self.unit)
        bound = checks.positive(bound=self.bound)
        wave = SquareWave.from_epsilon(self.epsilon, bounds=(0, bound), cells=self.cells, unit=self.unit)
        object.__setattr__(self, "first", wave)

    def privacy_loss(self) -> PureDP:
        """What each reported number costs, in either phase.

        Returns:
            The larger loss of the two phases.
        """
        second = self._second(checks.positive(bound=self.bound))
        return max(self.first.privacy_loss(), second.privacy_loss(), key=lambda loss: loss.epsilon)

    def threshold(self, counts: Counts) -> Fraction:
        """Where to cut numbers off, from the counts of the first phase.

        It minimises the squared mean of what is cut off plus the variance of a mean of `reports`. Noise puts a few
        people everywhere, and a few people far out would decide. So the distribution is fitted below twice the least
        bound that the reports do not contradict: twice, because a thin tail is not seen.

        Args:
            counts: Counts of `first`, the protocol of the first phase.

        Returns:
            The threshold, at most `bound`.

        Raises:
            InvalidParameter: If the counts belong to another protocol than `first`.

        >>> plan = Topl(epsilon=2, bound=1000, reports=10_000)
        >>> first = plan.first.absorb(None, plan.first.randomize([20, 30, 40] * 5_000))
        >>> 30 < plan.threshold(first) < 1000
        True
        """
        import numpy as np

        seen = self.first.distribution(counts, below=2 * Fraction(self.first.support(counts)))
        limits = seen.values[1:]
        variance = self._second(Fraction(1)).worst_variance() / self.reports
        costs = seen.excess(limits) ** 2 + limits**2 * variance
        place = int(np.argmin(costs)) + 1
        return checks.positive(bound=self.bound) * Fraction(place, len(seen.values) - 1)

    def later(self, counts: Counts) -> Hybrid:
        """The protocol of the second phase: `Hybrid` between 0 and the threshold.

        Args:
            counts: Counts of `first`, the protocol of the first phase.

        Returns:
            What people randomise their numbers with from now on.

        Raises:
            InvalidParameter: If the counts belong to another protocol than `first`.
        """
        return self._second(self.threshold(counts))

    def series(self, counts: Sequence[Counts], *, confidence: float = 0.95) -> Series:
        """The means step by step, from the counts of the second phase.

        Args:
            counts: The counts of every step in order, all of the same second phase.
            confidence: Probability that an interval contains the true mean, for each step by itself.

        Returns:
            The means, with their errors.

        Raises:
            InvalidParameter: If there is no step.
        """
        if not counts:
            raise InvalidParameter(
                "counts", "<none>", "must be of one step or more", "Give the counts of every step in order."
            )
        protocol: Any = counts[0].protocol
        checks.of_kind(Hybrid, "are not of a second phase", "Use later(…).absorb for every step.", counts=protocol)
        steps = tuple(protocol.estimate(state, confidence=confidence) for state in counts)
        return Series(steps, float(protocol.bounds[1]))

    def _second(self, threshold: Fraction) -> Hybrid:
        return Hybrid.from_epsilon(self.epsilon, bounds=(0, threshold), cells=self.cells, unit=self.unit)
