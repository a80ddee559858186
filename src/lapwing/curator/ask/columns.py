"""From a session to the noisy columns of an answer: one statement, the keys that may be shown, noise, estimates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from lapwing.curator.aggregates import Bound, TopK
from lapwing.curator.aggregates.base import Estimator
from lapwing.curator.aggregates.estimates import Confidence
from lapwing.curator.ask.pricing import Item, Keys, Noise, Picks, ReleaseItem, Tops, noisy_statistics
from lapwing.curator.ask.question import Question
from lapwing.curator.ask.quote import ranks_note
from lapwing.curator.ask.releaser import NoisyStatistic
from lapwing.curator.ask.room import limited
from lapwing.curator.ask.tree_columns import tree_columns
from lapwing.curator.engines.arrays import bin_counts, cells_of
from lapwing.curator.engines.compiler import Compiler
from lapwing.curator.engines.engine import Session
from lapwing.curator.engines.picks import SqlCells, draw_all
from lapwing.curator.engines.selection import Salt
from lapwing.curator.engines.statements import BoundedStatements
from lapwing.curator.plan.evaluation import sortable
from lapwing.curator.plan.groups import Key
from lapwing.curator.plan.nodes import is_each_row
from lapwing.curator.plan.statistics import Pick, Statistic
from lapwing.curator.show.answer import Column
from lapwing.errors import InvalidParameter, UnsupportedQuery
from lapwing.noise import Entropy

if TYPE_CHECKING:
    from sqlglot import exp

Groups = list[tuple[Any, ...]]
"""The keys of each group of an answer."""
Counts = dict[Statistic, list[int]]
"""Exact statistics, one number for each group: secret."""


@dataclass
class Reading:
    """A session that remembers whether rows may have been read in it."""

    session: Session
    began: bool = False

    def begin(self) -> None:
        """From now on a failure may depend on a row."""
        self.began = True

    def fetch(self, query: exp.Query) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        self.begin()
        return self.session.fetch(query)

    def keep(self, query: exp.Query) -> exp.Table:
        """The rows of a query as a temporary table."""
        self.begin()
        return self.session.keep(query)


def look(
    query: Question, items: Sequence[Item], confidence: float, session: Reading, entropy: Entropy
) -> tuple[Column, ...]:
    """Read the data once and make the noisy columns of the answer."""
    compiler = Compiler(query.context.engine.dialect, query.context.relations)
    statement = statement_of(query, compiler, Salt(entropy.bits(256).to_bytes(32, "big")))
    picks = [item for item in items if isinstance(item, Picks)]
    session.begin()  # columns of this process are counted without the engine
    each_row = is_each_row(query.plan)
    fetched: Sequence[tuple[Any, ...]] | None = bin_counts(query) if each_row else None
    if fetched is None:
        again = picks and not each_row  # what took a sort to find is not looked for twice
        rows = session.keep(statement.rows()) if again else statement.rows().subquery("b", copy=False)
        fetched = session.fetch(statement.totals(rows, query.statistics)) if query.statistics else []
    if query.rollup is not None:
        return tree_columns(query, items, fetched, confidence, entropy)
    if query.grouping.secret:
        places, groups, counts = _secret(query, items, fetched, entropy)
    else:
        places, groups, counts = _public(query, fetched)
    tops = [item for item in items if isinstance(item, Tops)]
    if tops:
        return _top_columns(query, groups, tops[0].release(counts[Statistic("units")], entropy))
    noisy = {item.statistic: item.release(counts[item.statistic], entropy) for item in items if isinstance(item, Noise)}
    chosen = {}
    for item in picks:
        near = cells_of(query, item.pick.grid)
        cells = SqlCells(statement, rows, item.pick.grid, session) if near is None else near
        chosen[item.pick] = draw_all(item, cells, places, entropy)
    return _columns(query, groups, items, noisy, chosen, confidence)


def totals_of(query: Question, session: Reading, entropy: Entropy) -> list[tuple[Any, ...]]:
    """The exact statistics of every public group that occurs, after its number: secret."""
    compiler = Compiler(query.context.engine.dialect, query.context.relations)
    statement = statement_of(query, compiler, Salt(entropy.bits(256).to_bytes(32, "big")))
    session.begin()
    fetched: Sequence[tuple[Any, ...]] | None = bin_counts(query) if is_each_row(query.plan) else None
    if fetched is None:
        fetched = session.fetch(statement.totals(statement.rows().subquery("b", copy=False), query.statistics))
    return [row for row in fetched if row[0] is not None]


def columns_from(
    query: Question, items: Sequence[ReleaseItem], noisy: Mapping[Statistic, Sequence[int]], confidence: float
) -> tuple[Column, ...]:
    """The columns of an answer with public keys, from noisy numbers of every group: post-processing.

    `noisy` has the statistics of the question (`Question.statistics`), each with one number for each group in the order
    of `Grouping.labels`. The top keys are those with the largest noisy numbers of units, of equal ones the first.
    """
    if query.grouping.secret:
        why = "the keys that occur are private, but this answer shows all keys"
        raise UnsupportedQuery(query.explain(), why, "Name the keys: keys={'region': […]}.")
    groups = list(query.grouping.labels())
    short = [str(statistic) for statistic in query.statistics if len(noisy[statistic]) != len(groups)]
    if short:
        raise InvalidParameter("noisy", short, "must have a number for each group", f"Give {len(groups)} of each.")
    if query.top is not None:
        return _top_columns(query, groups, largest(noisy[Statistic("units")], query.top.most))
    return _columns(query, groups, items, noisy, {}, confidence)


def largest(scores: Sequence[int], most: int) -> list[int]:
    """The places of the largest, best first; of equal ones the first."""
    return sorted(range(len(scores)), key=lambda place: (-scores[place], place))[:most]


def _columns(
    query: Question,
    groups: Groups,
    items: Sequence[ReleaseItem],
    noisy: Mapping[Statistic, Sequence[int]],
    chosen: Mapping[Pick, Sequence[int]],
    confidence: float,
) -> tuple[Column, ...]:
    """The keys of these groups, and the outputs."""
    keys = [_key_column(key, [group[i] for group in groups]) for i, key in enumerate(query.grouping.keys)]
    by_statistic, values = noisy_statistics(items), []
    for bound in query.bounds:
        if bound.pick is None:
            values.append(_column(bound, noisy, by_statistic, confidence))
        else:
            values.append(_chosen_column(bound, chosen[bound.pick], items, confidence))
    return (*keys, *values)


def statement_of(query: Question, compiler: Compiler, salt: Salt) -> BoundedStatements:
    """The statements that read the data."""
    compiler = replace(compiler, salt=salt)
    return BoundedStatements(compiler, limited(query), query.grouping, query.effective, *query.contents, salt)


def _public(query: Question, fetched: Sequence[tuple[Any, ...]]) -> tuple[Groups, Groups, Counts]:
    """Every public group, also those that nobody is in."""
    groups = list(query.grouping.labels())
    by_place: dict[int, tuple[Any, ...]] = {}
    for row in fetched:
        place, numbers = (row[0], row[1:]) if query.grouping.keys else (0, row)
        if place is not None:
            by_place[int(place)] = numbers
    empty = (0,) * len(query.statistics)
    columns = zip(*(by_place.get(place, empty) for place in range(len(groups))), strict=True)
    counts = {statistic: [int(n) for n in column] for statistic, column in zip(query.statistics, columns, strict=False)}
    return [(place,) for place in range(len(groups))] if query.grouping.keys else [()], groups, counts


def _secret(
    query: Question, items: Sequence[Item], fetched: Sequence[tuple[Any, ...]], entropy: Entropy
) -> tuple[Groups, Groups, Counts]:
    """The groups whose keys pass the test, in an order that depends on the keys alone."""
    width = len(query.grouping.keys)
    ordered = sorted(fetched, key=lambda row: [sortable(value) for value in row[:width]])
    test = next(item for item in items if isinstance(item, Keys))
    place = width + query.statistics.index(Statistic("units"))
    shown = test.release([int(row[place]) for row in ordered], entropy) if ordered else []
    kept = [row for row, is_shown in zip(ordered, shown, strict=True) if is_shown]
    groups = [tuple(row[:width]) for row in kept]
    labels = [key.label for key in query.grouping.keys]
    named = [tuple(label(value) for label, value in zip(labels, group, strict=True)) for group in groups]
    counts = {statistic: [int(row[width + i]) for row in kept] for i, statistic in enumerate(query.statistics)}
    return groups, named, counts


def _key_column(key: Key, values: list[Any]) -> Column:
    text = key.labels is not None or key.everything_else
    return Column(key.name, "key", tuple(values), type="text" if text else key.expression.kind)


def _column(
    bound: Bound,
    noisy: Mapping[Statistic, Sequence[int]],
    items: Mapping[Statistic, NoisyStatistic],
    confidence: float,
) -> Column:
    """One output of every group."""
    aggregate = bound.aggregate
    assert isinstance(aggregate, Estimator)  # it has statistics: others are picked, or make rows of their own
    each = 1 - (1 - Fraction(confidence)) / len(bound.statistics)
    widths = [items[statistic].half_width(each) for statistic in bound.statistics]
    sure = Confidence(confidence, items[bound.statistics[0]].bounding.rows)
    rows = zip(*(noisy[statistic] for statistic in bound.statistics), strict=True)
    estimates = [aggregate.estimate(bound, numbers, widths, sure) for numbers in rows]
    populations = tuple(estimate.interval for estimate in estimates)
    return Column(
        bound.output,
        aggregate.kind,
        tuple(estimate.value for estimate in estimates),
        tuple(estimate.noise for estimate in estimates),
        populations if any(populations) else None,
        aggregate.remarks(bound, estimates),
        clipped=bool(bound.grids),
    )


def _chosen_column(bound: Bound, steps: Sequence[int], items: Sequence[ReleaseItem], confidence: float) -> Column:
    grid = bound.grids[0]
    values = tuple(min(max(float(step * grid.granularity), float(grid.low)), float(grid.high)) for step in steps)
    note = f"{ranks_note(bound, items, confidence)}; {bound.note}"
    return Column(bound.output, bound.aggregate.kind, values, note=note, clipped=True)


def _top_columns(query: Question, groups: Groups, chosen: Sequence[int]) -> tuple[Column, ...]:
    """The keys at these places, best first."""
    assert query.top is not None
    [key] = query.grouping.keys
    note = "it comes from noisy numbers, so the exact order may differ"
    ranks = Column(query.top.output, TopK.kind, tuple(range(1, len(chosen) + 1)), note=note)
    return (ranks, _key_column(key, [groups[place][0] for place in chosen]))
