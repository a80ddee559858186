"""The question for a distribution: counts of bins that add up, and the shares computed from them.

    bins → the rows that count → integers of every bin → noise on every level of a tree → least squares → shares

Privacy and proof: curator.md, "Distributions"; hierarchy.md; cumulative.md
"""

from __future__ import annotations

import datetime as dt
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.calls import helpful
from lapwing.checks import Number
from lapwing.curator.aggregates import Aggregate, Cdf, estimates
from lapwing.curator.ask.columns import totals_of
from lapwing.curator.ask.pricing import DEFAULT_CONFIDENCE, Budget, check, share_out
from lapwing.curator.ask.query import Query
from lapwing.curator.ask.question import Question
from lapwing.curator.ask.quote import BIN_EDGES, Expectation, Quote, counted_rows
from lapwing.curator.ask.release import release
from lapwing.curator.plan.nodes import is_each_row
from lapwing.curator.plan.statistics import Bounding
from lapwing.curator.show.answer import Column, Type
from lapwing.curator.show.distribution import BELOW, COUNT, SHARE, Distribution
from lapwing.errors import UnsupportedQuery, shown
from lapwing.mechanisms.cumulative import Cumulative, best_ladder
from lapwing.mechanisms.hierarchy import Hierarchy
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy import Loss
from lapwing.privacy.quotes import Line
from lapwing.privacy.weak_privacy import warn_if_large

if TYPE_CHECKING:
    from lapwing.curator.ask.columns import Reading


@dataclass(frozen=True, slots=True)
class LadderNoise:
    """Noise on every level of a tree over the bins."""

    bins: int
    size: Fraction
    concentrated: bool
    rows: int
    unit: str
    outputs: tuple[str, ...]

    label = "rows in bins, and in groups of bins"

    @property
    def ladder(self) -> Hierarchy:
        """One unit moves every level by so many rows at most, in l1 and in l2."""
        return _ladder(self.bins, self.size, self.rows, self.unit, concentrated=self.concentrated)

    def privacy_loss(self) -> Loss:
        """Of all levels together."""
        return self.ladder.privacy_loss()

    @property
    def error(self) -> float:
        """What is compared where the kind of noise may be chosen."""
        cumulative = Cumulative(self.ladder, DEFAULT_CONFIDENCE)
        return cumulative.reach(1) * math.sqrt(float(cumulative.below.max()))


@lru_cache(maxsize=16)
def _ladder(bins: int, size: Fraction, rows: int, unit: str, *, concentrated: bool) -> Hierarchy:
    budget: dict[str, Any] = {"rho" if concentrated else "epsilon": size}
    tree = best_ladder(bins, concentrated=concentrated)
    return Hierarchy(tree=tree, sensitivity=rows, weights="ranges", integers=False, unit=unit, **budget)


@dataclass(frozen=True, repr=False)
class DistributionQuery(Query):
    """The question for the distribution of a column over public bins.

    Privacy: add_remove of one unit. Proof: curator.md
    """

    cdf: Cdf | None = None

    def __post_init__(self) -> None:
        if self.bounding.by_rows().max_rows_per_unit is None and not is_each_row(self.plan):
            why = "a unit can have rows in several bins, so its rows must be limited over all bins together"
            raise UnsupportedQuery("max_groups_per_unit", why, "Write max_rows_per_unit=… instead.")
        for key in self.grouping.keys:
            if key.name in (COUNT, BELOW, SHARE):
                why = "two columns of the answer would have this name"
                raise UnsupportedQuery(key.name, why, "Rename the column with select().")
        Query.__post_init__(self)

    @property
    def edges(self) -> tuple[Any, ...]:
        """The ends of the bins: numbers, or dates."""
        assert self.cdf is not None
        return self.cdf.edges if self.cdf.of_dates else tuple(map(float, self.cdf.edges))

    @cached_property
    def effective(self) -> Bounding:
        """Rows of a unit are limited over all bins."""
        return Bounding() if is_each_row(self.plan) else self.bounding.by_rows()

    def explain(self) -> str:
        """What happens, step by step."""
        return f"{self.plan.explain()} → {self.cdf}"

    def digest(self) -> str:
        """A fingerprint of the question, which is not that of the histogram with the same bins."""
        return hashlib.sha256(f"cdf {Query.digest(self)}".encode()).hexdigest()

    @property
    def asked(self) -> tuple[Aggregate, ...]:
        """The distribution, which is asked as the counts of its bins."""
        assert self.cdf is not None
        return (self.cdf,)

    def unprotected(self, *, progress: bool = True) -> Any:
        """Refused: the histogram with the same edges has the same exact numbers."""
        hint = "Write agg(lw.histogram(…, edges=…)).unprotected()."
        raise UnsupportedQuery(str(self.cdf), "exact counts are asked for as a histogram", hint)

    # ------------------------------------------------------------------------------------------------------ money

    def budget(self, epsilon: Number | None, delta: Number | None, rho: Number | None) -> Budget:
        """What was written down, checked."""
        self.context.releaser.refuse_step("cdf")
        return Question.budget(self, epsilon, delta, rho)

    def priced(self, spend: Budget) -> tuple[LadderNoise, ...]:
        """The one item: noise on all levels."""
        rows = self.effective.rows

        def item(purpose: None, size: Fraction, concentrated: bool) -> LadderNoise:
            return LadderNoise(len(self.edges) - 1, size, concentrated, rows, self.context.unit, (COUNT, BELOW, SHARE))

        items = share_out({None: Fraction(1)}, spend, item)
        check(items, spend)
        return items

    def remarks(self) -> tuple[str, ...]:
        """What a reader of a quote or an answer must know beside the rest."""
        return (
            *((BIN_EDGES,) if isinstance(self.edges[0], dt.date) else ()),  # of numbers, every question says it
            f"{BELOW} and {SHARE} never decrease; their intervals hold for all edges at once",
            f"{COUNT} is an estimate for each bin by itself, and may be negative. So sums of {COUNT} differ a little "
            f"from {BELOW}, which was adjusted so that it never decreases",
        )

    @helpful
    def quote(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        within: Number | Mapping[str, Number] | None = None,
        confidence: Number = 0.95,
        count: int | None = None,
    ) -> Quote:
        """What a release would cost, and how far counts may be off; of shares, if there are `count` rows at least."""
        _only_budgets(within)
        spend, sure = self.budget(epsilon, delta, rho), float(checks.probability(confidence=confidence))
        warn_if_large(spend.stated, "this question")
        [item] = items = self.priced(spend)
        cumulative = Cumulative(item.ladder, sure)
        bin_ = float(max(widths.max() for widths in item.ladder.half_widths(sure)[-1:]))
        below = cumulative.reach(item.bins) * math.sqrt(float(cumulative.below.max())) + 0.5
        known = "If it is public that there are at least N rows, write count=N."
        share = Expectation(SHARE, None, "", known)
        if count is not None:
            most = min(1.0, 2 * below / max(1.0, checks.whole(count=count) - below))
            share = Expectation(SHARE, most, "", bounds=(0.0, 1.0))
        return Quote(
            question=self.explain(),
            loss=spend.stated,
            lines=tuple(Line(part.label, part.privacy_loss(), serves=part.outputs) for part in items),
            expected=(Expectation(COUNT, bin_, ""), Expectation(BELOW, below, ""), share),
            confidence=sure,
            remaining=self.context.remaining(self.context.analyst),
            notes=self.context.releaser.notes(self, spend, items),  # type: ignore[arg-type]
            datasets=tuple(self.context.datasets),
            counted=counted_rows(self),
        )

    @helpful
    def release(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        within: Number | Mapping[str, Number] | None = None,
        confidence: Number = 0.95,
        count: int | None = None,
        analyst: str | None = None,
        key: str | None = None,
        entropy: Entropy = SYSTEM,
        progress: bool = True,
    ) -> Distribution:
        """The private distribution, charged before any data is read; quantiles and ranges of it are free."""
        _only_budgets(within)
        answer = release(
            self, epsilon=epsilon, delta=delta, rho=rho, confidence=confidence, count=count, analyst=analyst, key=key,
            entropy=entropy, progress=progress,
        )  # fmt: skip
        [item] = self.priced(self.budget(epsilon, delta, rho))
        return Distribution.of(answer, self.edges, RangeWidth(item, answer.confidence))


@dataclass(frozen=True)
class RangeWidth:
    """How far the count of neighbouring bins may be off."""

    item: LadderNoise
    confidence: float

    def __call__(self, first: int, last: int) -> float:
        import numpy as np

        ladder = self.item.ladder
        coefficients = np.zeros(self.item.bins)
        coefficients[first:last] = 1
        return float(ladder.width(ladder.least_squares().variance_of(coefficients), self.confidence))


def _only_budgets(within: object) -> None:
    if within is not None:
        why = "a distribution has many errors, so none of them can be the target"
        raise UnsupportedQuery(f"within={shown(within)}", why, "Say what to spend, and look at quote().")


def look_at_distribution(
    query: DistributionQuery, items: Sequence[LadderNoise], confidence: float, session: Reading, entropy: Entropy
) -> tuple[Column, ...]:
    """Read the rows once, add noise to every level, and make what adds up."""
    [item] = items
    bins = [0] * item.bins
    for place, number in totals_of(query, session, entropy):
        bins[int(place)] = int(number)
    ladder = item.ladder
    leaves = ladder.release(bins, entropy).leaves
    widths = ladder.half_widths(confidence)[-1].tolist()
    cumulative = Cumulative(ladder, confidence)
    name = query.grouping.keys[0].name
    axis: Type = "date" if isinstance(query.edges[0], dt.date) else "number"
    spans = [estimates.counted(value, width).noise for value, width in zip(leaves.tolist(), widths, strict=True)]
    counted = "the number of rows used"
    columns = [
        Column(name, "key", query.edges[1:], type=axis, note="the upper edge of each bin"),
        Column(COUNT, "count", tuple(leaves.tolist()), tuple(spans), type="number", note=f"{counted} in each bin"),
    ]
    for output, (values, lows, highs) in ((BELOW, cumulative.counts(leaves)), (SHARE, cumulative.shares(leaves))):
        lows, highs = (lows.clip(max=values), highs.clip(min=values))
        kind = "count" if output == BELOW else "share"
        ends: list[Any] = list(zip(lows.tolist(), highs.tolist(), strict=True))
        if output == SHARE:
            ends[-1] = None  # all rows are below the last edge, or on it
        below = f"{counted} from the first edge up to each edge"
        note = below if output == BELOW else f"{below}, as a share of those between the first edge and the last"
        columns.append(Column(output, kind, tuple(values.tolist()), tuple(ends), type="number", note=note))
    return tuple(columns)


def distribution(query: Query, cdf: Cdf) -> DistributionQuery:
    """The question for a distribution, from that for the histogram of its bins."""
    aggregates = (replace(query.aggregates[0], name=COUNT),)
    return DistributionQuery(query.context, query.plan, query.grouping, aggregates, query.bounding, query.post, cdf=cdf)
