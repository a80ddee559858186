"""Intervals that hold also for few reports and for rare answers, where a report is one coin for each answer.

>>> from lapwing.crowd import BinaryResponse
>>> poll = BinaryResponse.from_epsilon(4)
>>> counts = poll.absorb(None, poll.randomize([False] * 25))
>>> bool(exact_estimate(poll, counts).interval()[1][0] > 2)
True
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from lapwing import checks
from lapwing.crowd.binary import BinaryResponse
from lapwing.crowd.categories import CategoryResponse
from lapwing.crowd.counts import Counts
from lapwing.crowd.estimates import Estimates, Question, about_whom
from lapwing.crowd.numeric import MeanEstimate, StochasticRounding
from lapwing.crowd.protocol import ClosedProtocol
from lapwing.crowd.unary import UnaryEncoding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Support(NamedTuple):
    """How many reports support each answer, and with which probability one does: the true answer's, and any other's."""

    hits: Sequence[int]
    if_true: Fraction
    if_other: Fraction


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ExactEstimates(Estimates):
    """Estimates whose interval about the larger population holds for any number of reports."""

    lows: NDArray[np.float64]
    highs: NDArray[np.float64]

    def interval(
        self, about: Question = "sample", *, simultaneous: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Exact ends about the larger population; normal ones about these respondents, and for all answers at once."""
        if about_whom(about) == "sample" and not simultaneous:
            return self.lows, self.highs
        return Estimates.interval(self, about, simultaneous=simultaneous)

    def top(self, count: int) -> Estimates:
        """The largest counts, largest first."""
        import numpy as np

        order = np.argsort(-self.counts, kind="stable")[: checks.whole(count=count)]
        return replace(Estimates.top(self, count), lows=self.lows[order], highs=self.highs[order])  # type: ignore[call-arg]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactMean(MeanEstimate):
    """A mean whose interval about the larger population holds for any number of reports."""

    low: float
    high: float

    def interval(self, about: Question = "sample") -> tuple[float, float]:
        """Exact ends about the larger population; normal ones about these respondents."""
        return (self.low, self.high) if about_whom(about) == "sample" else MeanEstimate.interval(self, about)


def exact_estimate(protocol: ClosedProtocol, state: Counts) -> Estimates | MeanEstimate:
    """What a protocol estimates, with an interval that holds also for few reports, if one is known.

    The interval is about the larger population from which people are drawn.

    Accuracy: the report of somebody drawn at random supports an answer with one and the same probability λ, so the
    number of such reports is binomial, and the interval of Clopper and Pearson (1934) for λ holds at least as often as
    it says, whatever λ is. A normal interval would not: if the coins turn next to nothing round and none of 25 people
    says yes, it has hardly any width. Fewer reports than the coins alone give, or more, count as what the coins give:
    so there is always a possible share between the ends.
    """
    import numpy as np

    estimates: Estimates | MeanEstimate = protocol.estimate(state)
    support = support_of(state)
    if support is None or not state.n:
        return estimates
    hits, misses = (support.hits, support.hits), float(1 - checks.probability(confidence=estimates.confidence))
    lows, highs = share_ends(hits, support, state.n, misses)
    if isinstance(protocol, BinaryResponse):  # who does not say yes says no
        lows, highs = np.append(lows, 1 - highs), np.append(highs, 1 - lows)
    held = {field.name: getattr(estimates, field.name) for field in fields(estimates)}
    if isinstance(protocol, StochasticRounding):
        start, end = (float(bound) for bound in checks.interval(bounds=protocol.bounds))
        low, high = (start + (end - start) * float(share[0]) for share in (lows, highs))
        return ExactMean(**held, low=low, high=high)
    return ExactEstimates(**held, lows=state.n * lows, highs=state.n * highs)


def support_of(state: Counts) -> Support | None:
    """How many reports support each answer, where a report is one coin for each."""
    protocol, hits = state.protocol, state.table.ravel().tolist()
    if isinstance(protocol, BinaryResponse):
        return Support(hits, checks.exact(odds=protocol.yes_if_yes), checks.exact(odds=protocol.yes_if_no))
    if isinstance(protocol, CategoryResponse):
        return Support(hits, checks.exact(keep=protocol.keep), protocol.switch)
    if isinstance(protocol, UnaryEncoding):
        return Support(hits, checks.exact(odds=protocol.one_if_true), checks.exact(odds=protocol.one_if_other))
    if isinstance(protocol, StochasticRounding):
        flip = checks.exact(flip=protocol.flip)
        return Support(hits, 1 - flip, flip)
    return None


def share_ends(
    hits: tuple[Iterable[float], Iterable[float]], support: Support, n: int | Sequence[int], misses: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ends for the share of people behind each answer, if so many of n reports supported it, at least and at most.

    Answers may have numbers of reports of their own.
    """
    import numpy as np
    from scipy.special import betainccinv, betaincinv

    if_true, if_other = support.if_true, support.if_other
    sizes = (n,) if isinstance(n, int) else n
    reports = np.asarray(sizes, dtype=np.float64)
    least = np.minimum(np.array(list(hits[0]), dtype=np.float64), [math.ceil(size * if_true) for size in sizes])
    most = np.maximum(np.array(list(hits[1]), dtype=np.float64), [math.floor(size * if_other) for size in sizes])
    lows = np.where(least > 0, betaincinv(np.maximum(least, 1), reports - least + 1, misses / 2), 0.0)
    highs = np.where(most < reports, betainccinv(most + 1, np.maximum(reports - most, 1), misses / 2), 1.0)
    other, spread = float(if_other), float(if_true - if_other)
    return (lows - other) / spread, (highs - other) / spread
