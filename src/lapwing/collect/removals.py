"""Estimates behind shufflers: the interval includes what the reports that were removed could have said.

How many reports there were is known exactly, and so is how many are missing. What the missing ones said is not known.
It lies between two ends that hold with most of the confidence that may be missed; the rest is for the coins of devices
and for who takes part. What crowds are made of decides which ends there are:

    report      the coins of a report decide whether it is removed: the worst that the removed could have said
    attribute   the coins do not: removed are people, whose answer may be any
    answer      likewise, and of one answer no more than one crowd of each batch can lose

Where an answer travels as several reports (`answer_fragments.py`), the same ends hold for reports, and drawing people
counts for several of them at once.

Proof: removals.md
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, get_args

from lapwing import checks
from lapwing.collect.answer_fragments import score_ends
from lapwing.collect.batches import Batch
from lapwing.collect.crowds import Crowd
from lapwing.collect.drop_bounds import DropBounds, drop_bounds
from lapwing.crowd import Counts, Estimates, MeanEstimate
from lapwing.crowd.binary import BinaryResponse
from lapwing.crowd.categories import CategoryResponse
from lapwing.crowd.estimates import About, Question, about_whom, from_support
from lapwing.crowd.intervals import Support, share_ends, support_of
from lapwing.crowd.numeric import StochasticRounding
from lapwing.crowd.protocol import Protocol
from lapwing.crowd.unary import UnaryEncoding
from lapwing.mechanisms.dummies import DummyReports

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ends = tuple[Floats, Floats]

FOR_REMOVALS = 0.1
"""The part of what an interval may miss that bounds on removed reports may miss."""
MANY = 1 << 62
"""Kinds of reports that nobody counts."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ThresholdedEstimates(Estimates):
    """Estimates whose intervals include what thresholds removed."""

    ends: Mapping[tuple[About, bool], Ends]
    """By question, and whether they hold for all answers at once."""

    def interval(self, about: Question = "sample", *, simultaneous: bool = False) -> Ends:
        """Ends that include what was removed."""
        return self.ends[about_whom(about), simultaneous]

    def top(self, count: int) -> Estimates:
        """The largest counts, largest first."""
        import numpy as np

        order = np.argsort(-self.counts, kind="stable")[: checks.whole(count=count)]
        ends = {which: (low[order], high[order]) for which, (low, high) in self.ends.items()}
        return replace(Estimates.top(self, count), ends=ends)  # type: ignore[call-arg]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdedMean(MeanEstimate):
    """A mean whose intervals include what thresholds removed."""

    ends: Mapping[About, tuple[float, float]]

    def interval(self, about: Question = "sample") -> tuple[float, float]:
        """Ends that include what was removed."""
        return self.ends[about_whom(about)]


@dataclass(frozen=True, slots=True)
class Removal:
    """What shufflers left of the reports of some batches."""

    crowd: Crowd
    taken: int
    """Reports before thresholding."""
    parts: int
    """Batches of the shufflers: a crowd is counted in each of them by itself."""
    counts: Counts
    """Of the reports that came through."""
    kinds: Counts
    """One of each kind in each part, where crowds are made of reports; none otherwise."""
    each: int = 1
    """How many of these reports are of one person, at most."""

    @classmethod
    def of(cls, crowd: Crowd, batches: Sequence[Batch], protocol: Protocol, each: int = 1) -> Removal:
        """Of all these batches together."""
        counts, kinds = protocol.empty(), protocol.empty()
        for batch in batches:
            counts, kinds = counts.merge(batch.local_counts), kinds.merge(batch.kinds or protocol.empty())
        taken, parts = (sum(numbers) for numbers in zip(*((b.taken or 0, b.parts) for b in batches), strict=True))
        return cls(crowd, taken, parts, counts, kinds, each)

    @property
    def removed(self) -> int:
        """How many reports are missing."""
        return max(0, self.taken - self.counts.n)

    @property
    def people(self) -> int:
        """How many took part, if each sent all of their reports."""
        return -(-self.taken // self.each)

    @property
    def restored(self) -> Counts:
        """With as many of each kind that came through as a crowd loses on average."""
        again, kinds = self.crowd.mean_drop, self.kinds
        return self.counts.merge(Counts(kinds.protocol, again * kinds.n, again * kinds.table))

    def estimate(self, estimated: Callable[[Counts], Any]) -> Estimates | MeanEstimate:
        """What a protocol estimates (`estimated`), with intervals that include what was removed."""
        plain: Estimates | MeanEstimate = self._several(estimated(self.restored))
        misses = float(1 - checks.probability(confidence=plain.confidence))
        support = support_of(self.counts)
        if support is not None:
            return self._from_support(plain, support, misses)
        kept: Estimates | MeanEstimate = self._several(estimated(self.counts))
        if isinstance(plain, MeanEstimate) and isinstance(kept, MeanEstimate):
            return self._mean(plain, {about: self._mean_ends(kept, about, misses) for about in get_args(About)})
        assert isinstance(plain, Estimates)
        assert isinstance(kept, Estimates)
        return self._estimates(plain, lambda about, miss: self._linear_ends(kept, about, miss), misses)

    def _several(self, estimates: Estimates | MeanEstimate) -> Estimates | MeanEstimate:
        """The same, where drawing one person draws several reports: at most `each` times the variance of drawing."""
        import numpy as np

        if self.each == 1 or isinstance(estimates, MeanEstimate):
            return estimates
        coins = estimates.population_standard_error**2
        drawing = np.maximum(estimates.sample_standard_error**2 - coins, 0)
        return replace(estimates, sample_standard_error=np.sqrt(coins + self.each * drawing))

    # ---------------------------------------------------------------- protocols that count reports for each answer

    def _from_support(
        self, plain: Estimates | MeanEstimate, support: Support, misses: float
    ) -> Estimates | MeanEstimate:
        def ends(about: About, miss: float) -> Ends:
            hits = self._hits(support, FOR_REMOVALS * miss)
            if about == "sample" and self.each == 1:
                return share_ends(hits, support, self.taken, (1 - FOR_REMOVALS) * miss)
            if about == "sample":
                return score_ends(hits, support, self.taken, self.each, (1 - FOR_REMOVALS) * miss)
            return self._coin_ends(hits, support, (1 - FOR_REMOVALS) * miss)

        if isinstance(plain, MeanEstimate):
            return self._mean(plain, {about: self._scaled(*ends(about, misses)) for about in get_args(About)})

        def people(about: About, miss: float) -> Ends:
            import numpy as np

            low, high = ends(about, miss)
            if isinstance(self.counts.protocol, BinaryResponse):  # who does not say yes says no
                low, high = np.append(low, 1 - high), np.append(high, 1 - low)
            return self.taken * low, self.taken * high

        return self._estimates(plain, people, misses)

    def _hits(self, support: Support, miss: float) -> tuple[Floats, Floats]:
        """How many reports supported each answer before thresholding, at least and at most."""
        import numpy as np

        came = np.array(support.hits, dtype=np.float64)
        if self.crowd.source == "report":
            low, high = self._worst(miss)
            return came + low, came + high
        missing, dummies = self.taken - self.counts.n, self._dummies()
        coins = math.sqrt((max(0, missing + dummies) + dummies) * math.log(4 / miss) / 2)
        other, spread = float(support.if_other), float(support.if_true - support.if_other)
        nobody = dummies * (_if_nobody(self.counts.protocol, other) - other)
        least = math.floor(other * missing - nobody - coins)
        most = math.ceil(other * missing + spread * self._people(miss / 4) + coins)
        if not dummies:
            least, most = max(0, least), min(missing, most)
        return np.clip(came + least, 0, self.taken), np.clip(came + most, 0, self.taken)

    def _worst(self, miss: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How many removed reports supported each answer, where crowds are made of reports."""
        import numpy as np

        bounds, supporting = drop_bounds(self.crowd.mechanism), support_of(self.kinds)
        assert supporting is not None
        with_it = np.array(supporting.hits, dtype=np.int64)
        kinds, others = (self.parts * number for number in _kinds(self.counts.protocol))
        low = _least(bounds, with_it, kinds, miss / 2)
        high = self.removed - _least(bounds, self.kinds.n - with_it, others, miss / 4)
        if kinds < MANY:
            absent = (kinds - with_it) * (self.crowd.threshold - 1)
            high = np.minimum(high, absent + bounds.most(kinds, miss / 4))
        return np.minimum(low, self.removed), np.maximum(high, np.minimum(low, self.removed))

    def _coin_ends(self, hits: tuple[Floats, Floats], support: Support, miss: float) -> Ends:
        """Shares of the people who took part: only coins are random."""
        odds: dict[str, Any] = {"if_true": support.if_true, "if_other": support.if_other}
        z, labels, people = _z(miss), range(len(hits[0])), max(self.taken, 1)
        low, high = (from_support(labels, ends.astype(int), self.taken, **odds) for ends in hits)
        return (
            (low.counts - z * low.population_standard_error) / people,
            (high.counts + z * high.population_standard_error) / people,
        )

    def _scaled(self, low: Floats, high: Floats) -> tuple[float, float]:
        assert isinstance(self.counts.protocol, StochasticRounding)
        start, end = (float(bound) for bound in checks.interval(bounds=self.counts.protocol.bounds))
        return start + (end - start) * float(low[0]), start + (end - start) * float(high[0])

    # ---------------------------------------------------------------- all others, with normal intervals

    def _linear_ends(self, kept: Estimates, about: About, miss: float) -> Ends:
        """Ends from the reports that came through, and what each of the others may have added."""
        import numpy as np

        n, coins = self.taken, kept.population_standard_error
        if self.crowd.source == "report":
            z, reach = _z(miss), self.removed * kept.gain_per_fake
            error = kept.sample_standard_error if about == "sample" else coins
            error = error * math.sqrt(max(1.0, n / max(1, self.counts.n)))
            return kept.counts - reach - z * error, kept.counts + reach + z * error
        z = _z((1 - FOR_REMOVALS) * miss)

        def error_at(counts: Floats) -> Floats:
            inside = np.clip(counts, 0, n)
            drawing = self.each * inside * (1 - inside / max(n, 1)) if about == "sample" else 0.0
            errors: Floats = np.sqrt(coins**2 + drawing)
            return errors

        high = kept.counts + self._people(FOR_REMOVALS * miss)
        return kept.counts - z * error_at(kept.counts), high + z * error_at(high)

    def _mean_ends(self, kept: MeanEstimate, about: About, miss: float) -> tuple[float, float]:
        bounds: Any = self.counts.protocol
        start, end = (float(bound) for bound in checks.interval(bounds=bounds.bounds))
        middle, error = (start + end) / 2, kept.sample_standard_error
        if about == "respondents":
            error = kept.population_standard_error
        if self.crowd.source == "report":
            start, end = middle - kept.gain_per_fake, middle + kept.gain_per_fake
        n, z = max(1, self.taken), _z(miss)
        low, high = (self.counts.n * kept.mean + self.removed * bound for bound in (start, end))
        return low / n - z * error, high / n + z * error

    # ---------------------------------------------------------------- what both need

    def _people(self, miss: float) -> int:
        """How many people with one answer are missing, at most."""
        missing = max(0, self.taken - self.counts.n + self._dummies())
        if self.crowd.source != "answer" or isinstance(self.counts.protocol, StochasticRounding):
            return missing
        lost = self.parts * (self.crowd.threshold - 1) + drop_bounds(self.crowd.mechanism).most(self.parts, miss)
        return min(missing, lost)

    def _dummies(self) -> int:
        """Made-up reports among those that came through, at most. Crowds of dummies never come through."""
        dummies = self.crowd.dummies
        if not isinstance(dummies, DummyReports):
            return 0
        return self.parts * dummies.most * len(self.crowd.public_names())

    def _estimates(self, plain: Estimates, ends: Callable[[About, float], Ends], misses: float) -> Estimates:
        import numpy as np

        answers, scale = max(1, len(plain)), self.people / max(1, self.taken)  # from reports to people
        every = {
            (about, at_once): ends(about, misses / answers if at_once else misses)
            for about in get_args(About)
            for at_once in (False, True)
        }
        low, high = every["sample", False]
        return ThresholdedEstimates(
            labels=plain.labels,
            n=self.people,
            counts=scale * np.clip(plain.counts, low, high),
            population_standard_error=scale * plain.population_standard_error,
            sample_standard_error=scale * plain.sample_standard_error,
            gain_per_fake=scale * plain.gain_per_fake,
            confidence=plain.confidence,
            remark="some reports were removed" if self.each == 1 else "from fragments, of which some were removed",
            ends={which: (scale * low, scale * high) for which, (low, high) in every.items()},
        )

    def _mean(self, plain: MeanEstimate, ends: Mapping[About, tuple[float, float]]) -> MeanEstimate:
        held = {field.name: getattr(plain, field.name) for field in fields(MeanEstimate)}
        low, high = ends["sample"]
        return ThresholdedMean(**(held | {"n": self.taken, "mean": min(max(plain.mean, low), high)}), ends=ends)


def _least(bounds: DropBounds, through: NDArray[np.int64], kinds: int, miss: float) -> NDArray[np.int64]:
    """What crowds lost at least; one that is alone needs no bound for sums."""
    import numpy as np

    if kinds == 1:
        return np.where(through > 0, bounds.least_of_one(miss), 0)
    return bounds.least(through, miss)


def _kinds(protocol: Protocol) -> tuple[int, int]:
    """How many different reports support an answer, and how many do not."""
    if isinstance(protocol, CategoryResponse):
        return 1, protocol.shape[0] - 1
    if isinstance(protocol, UnaryEncoding):
        bits = min(protocol.shape[0] - 1, 62)
        return 1 << bits, 1 << bits
    return 1, 1


def _if_nobody(protocol: Protocol, other: float) -> float:
    """With which probability the report of somebody without an answer supports one."""
    return 1 / protocol.shape[0] if isinstance(protocol, CategoryResponse) else other


def _z(miss: float) -> float:
    return -NormalDist().inv_cdf(miss / 2)
