"""ToPL: the mean of a number at every step of a stream, with nobody to trust (Wang et al. 2021).

    first phase     SquareWave on (0, bound)         the server learns how the numbers are distributed,
                                                     and where cutting them off costs less than the noise it saves
    second phase    Hybrid on (0, threshold)         one collection for each step; people cut off their own numbers
    analyst         Topl.series                      means and their errors step by step, and smoothed levels

Numbers are often far below the bound that is safe to declare, and local noise is as wide as the bounds: a threshold
chosen from reports that are private already costs nothing. It can be a bad one: with few reports or a small ε the
distribution is hardly seen, and then `Hybrid` on the declared bound may be better. A yes-or-no status over time is the
business of `lapwing.crowd.monitoring`, which pays once for a whole history.
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
    """Means step by step, of what people did not cut off. Unbiased for the numbers up to the threshold.

    Privacy: computed from reports that are private already, so it costs nothing more.
    """

    steps: tuple[MeanEstimate, ...]
    threshold: float

    @property
    def means(self) -> list[float]:
        """One for each step; the middle of the bounds where nobody reported."""
        return [step.mean for step in self.steps]

    @property
    def standard_errors(self) -> list[float]:
        """About those the people were drawn from; infinite where nobody reported."""
        return [step.sample_standard_error for step in self.steps]

    def levels(self) -> list[float]:
        """The means, smoothed: each from the steps up to it (see `lapwing.mechanisms.smoothing`)."""
        return running_levels(self.means, [error**2 for error in self.standard_errors])

    def total(self, start: int, stop: int, *, confidence: float = 0.95) -> tuple[float, float, float]:
        """The sum of all numbers that were reported about steps start + 1 … stop, and a normal interval for it."""
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
    """Numbers from 0 to `bound`; a question is about as many as `reports` of them.

    `reports` is how many reports the analyst will average at a time (people × steps of a typical range). It only
    weighs what a threshold cuts off against the noise it saves.

    Privacy: ε for each number that somebody reports. Who reports at k steps loses kε: the unit is an event.
    Accuracy: of the second phase as `Hybrid` on (0, threshold), and what the threshold cuts off.
    Proof: hybrid.md

    >>> plan = Topl(epsilon=2, bound=1000, reports=10_000)
    >>> print(plan.privacy_loss())
    ε = 1.99844 (replace, per event)
    >>> first = plan.first.absorb(None, plan.first.randomize([20, 30, 40] * 5_000))
    >>> later = plan.later(first)
    >>> 30 < later.bounds[1] < 400
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
        """For each number reported, in whichever phase."""
        second = self._second(checks.positive(bound=self.bound))
        return max(self.first.privacy_loss(), second.privacy_loss(), key=lambda loss: loss.epsilon)

    def threshold(self, counts: Counts) -> Fraction:
        """Where to cut off: the least square of what is lost on average plus the variance of a mean of `reports`.

        Noise puts a few people everywhere, and a few people far out would decide. So the distribution is fitted
        below twice the least bound that the reports do not contradict: twice, because a thin tail is not seen.
        """
        import numpy as np

        seen = self.first.distribution(counts, below=2 * Fraction(self.first.support(counts)))
        limits = seen.values[1:]
        variance = self._second(Fraction(1)).worst_variance() / self.reports
        costs = seen.excess(limits) ** 2 + limits**2 * variance
        place = int(np.argmin(costs)) + 1
        return checks.positive(bound=self.bound) * Fraction(place, len(seen.values) - 1)

    def later(self, counts: Counts) -> Hybrid:
        """What people randomise with in the second phase, after the counts of the first."""
        return self._second(self.threshold(counts))

    def series(self, counts: Sequence[Counts], *, confidence: float = 0.95) -> Series:
        """Means for the counts of each step, all of one second phase."""
        if not counts:
            raise InvalidParameter("counts", "<none>", "there is no step", "Give the counts of every step in order.")
        protocol: Any = counts[0].protocol
        checks.of_kind(Hybrid, "are not of a second phase", "Use later(…).absorb for every step.", counts=protocol)
        steps = tuple(protocol.estimate(state, confidence=confidence) for state in counts)
        return Series(steps, float(protocol.bounds[1]))

    def _second(self, threshold: Fraction) -> Hybrid:
        return Hybrid.from_epsilon(self.epsilon, bounds=(0, threshold), cells=self.cells, unit=self.unit)
