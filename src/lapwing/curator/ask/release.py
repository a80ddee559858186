"""Charge, look, add noise, record, show."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from lapwing._version import __version__
from lapwing.curator.aggregates import Bound, TopK
from lapwing.curator.aggregates.estimates import Confidence
from lapwing.curator.ask import typed
from lapwing.curator.ask.breaker import Reading, admit, read
from lapwing.curator.ask.pricing import Budget, Item, Keys, Noise, Picks, Tops
from lapwing.curator.ask.quote import leaves_rows_out, noise_notes, notes, ranks_note
from lapwing.curator.engines.arrays import bin_counts, cells_of
from lapwing.curator.engines.bounded import Bounded
from lapwing.curator.engines.compile import Compiler
from lapwing.curator.engines.picks import SqlCells, draw_all
from lapwing.curator.engines.selection import Salt
from lapwing.curator.plan.evaluate import evaluate
from lapwing.curator.plan.groups import Key
from lapwing.curator.plan.nodes import is_each_row
from lapwing.curator.plan.room import limited
from lapwing.curator.plan.statistics import Statistic
from lapwing.curator.show.answer import Answer, Column
from lapwing.curator.show.progress import shown
from lapwing.noise import Entropy

if TYPE_CHECKING:
    from lapwing.curator.ask.query import Query

Groups = list[tuple[Any, ...]]
"""The keys of each group of an answer."""
Counts = dict[Statistic, list[int]]
"""Exact statistics, one number for each group: secret."""


def release(
    query: Query,
    spend: Budget,
    confidence: float,
    *,
    analyst: str | None,
    key: str | None,
    entropy: Entropy,
    progress: bool = True,
) -> Answer:
    """The answer to a query, paid for before the engine is contacted and on record before it is shown."""
    typed.check(query)  # once more, whoever made it: nothing reaches an engine in another way
    items, ledger = query.items(spend), query.context.ledger
    admit(query.context, analyst)
    if ledger is None:
        with shown("reading", progress):
            return _answer(query, spend, items, confidence, None, entropy)
    binding = {"question": query.digest(), "loss": str(spend.stated), "confidence": confidence}
    who = {} if analyst is None else {"analyst": analyst}
    losses = query.context.losses(spend.stated)
    charge = ledger.charge(query.context.datasets, losses, key=key, binding=binding, **who)
    if charge.stored is not None:
        return replace(Answer.from_json(charge.stored.decode()), repeated=True)
    with shown("reading", progress):
        answer = _answer(query, spend, items, confidence, charge.number, entropy, analyst)
    content = answer.to_json().encode()
    return Answer.from_json(ledger.record(charge, content, datasets=query.context.datasets, **who).decode())


def _answer(
    query: Query,
    spend: Budget,
    items: Sequence[Item],
    confidence: float,
    charge: int | None,
    entropy: Entropy,
    analyst: str | None = None,
) -> Answer:
    context = query.context
    columns = read(
        context, lambda reading: look(query, items, confidence, reading, entropy), analyst=analyst, charge=charge
    )
    columns = _afterwards(query, columns)
    remaining = context.remaining(analyst)
    told = (*notes(query), *noise_notes(items, spend))
    return Answer(columns, spend.stated, remaining, confidence, told, _provenance(query, spend, charge))


def look(
    query: Query, items: Sequence[Item], confidence: float, session: Reading, entropy: Entropy
) -> tuple[Column, ...]:
    """Read the data once and make the noisy columns of the answer."""
    compiler = Compiler(query.context.engine.dialect, query.context.relations)
    statement = statement_of(query, compiler, Salt(entropy.bits(256).to_bytes(32, "big")))
    picks = [item for item in items if isinstance(item, Picks)]
    session.begin()  # columns of this process are counted without the engine
    fetched: Sequence[tuple[Any, ...]] | None = bin_counts(query)
    if fetched is None:
        again = picks and not is_each_row(query.plan)  # what took a sort to find is not looked for twice
        rows = session.keep(statement.rows()) if again else statement.rows().subquery("b")
        fetched = session.fetch(statement.totals(rows, query.statistics)) if query.statistics else []
    if query.grouping.secret:
        places, groups, counts = _secret(query, items, fetched, entropy)
    else:
        places, groups, counts = _public(query, fetched)
    tops = [item for item in items if isinstance(item, Tops)]
    if tops:
        return _tops(query, tops[0], groups, counts, entropy)
    noisy = {item.statistic: item.release(counts[item.statistic], entropy) for item in items if isinstance(item, Noise)}
    chosen = {}
    for item in picks:
        near = cells_of(query, item.pick.grid)
        cells = SqlCells(statement, rows, item.pick.grid, session) if near is None else near
        chosen[item.pick] = draw_all(item, cells, places, entropy)
    keys = [_key_column(key, [group[i] for group in groups]) for i, key in enumerate(query.grouping.keys)]
    by_statistic = {item.statistic: item for item in items if isinstance(item, Noise)}
    values = []
    for bound in query.bounds:
        if bound.pick is None:
            values.append(_column(bound, noisy, by_statistic, confidence))
        else:
            values.append(_chosen_column(bound, chosen[bound.pick], items, confidence))
    return (*keys, *values)


def statement_of(query: Query, compiler: Compiler, salt: Salt) -> Bounded:
    """The statements that read the data."""
    compiler = replace(compiler, salt=salt)
    return Bounded(compiler, limited(query), query.grouping, query.effective, *query.contents, salt)


def _public(query: Query, fetched: Sequence[tuple[Any, ...]]) -> tuple[Groups, Groups, Counts]:
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
    query: Query, items: Sequence[Item], fetched: Sequence[tuple[Any, ...]], entropy: Entropy
) -> tuple[Groups, Groups, Counts]:
    """The groups whose keys pass the test, in an order that depends on the keys alone."""
    width = len(query.grouping.keys)
    ordered = sorted(fetched, key=lambda row: [_sortable(value) for value in row[:width]])
    test = next(item for item in items if isinstance(item, Keys)).mechanism
    place = width + query.statistics.index(Statistic("units"))
    shown = test.release([int(row[place]) for row in ordered], entropy) if ordered else []
    kept = [row for row, is_shown in zip(ordered, shown, strict=True) if is_shown]
    groups = [tuple(row[:width]) for row in kept]
    labels = [key.label for key in query.grouping.keys]
    named = [tuple(label(value) for label, value in zip(labels, group, strict=True)) for group in groups]
    counts = {statistic: [int(row[width + i]) for row in kept] for i, statistic in enumerate(query.statistics)}
    return groups, named, counts


def _sortable(value: Any) -> tuple[bool, bool, Any]:
    """NULL before everything, words after numbers: "everything else" may stand beside keys of any kind."""
    return value is not None, isinstance(value, str), "" if value is None else value


def _key_column(key: Key, values: list[Any]) -> Column:
    text = key.labels is not None or key.everything_else
    return Column(key.name, "key", tuple(values), type="text" if text else key.expression.kind)


def _column(
    bound: Bound, noisy: Mapping[Statistic, list[int]], items: Mapping[Statistic, Noise], confidence: float
) -> Column:
    """One output of every group."""
    each = 1 - (1 - Fraction(confidence)) / len(bound.statistics)
    widths = [items[statistic].half_width(each) for statistic in bound.statistics]
    sure = Confidence(confidence, items[bound.statistics[0]].bounding.rows)
    rows = zip(*(noisy[statistic] for statistic in bound.statistics), strict=True)
    estimates = [bound.aggregate.estimate(bound, numbers, widths, sure) for numbers in rows]
    populations = tuple(estimate.interval for estimate in estimates)
    return Column(
        bound.output,
        bound.aggregate.kind,
        tuple(estimate.value for estimate in estimates),
        tuple(estimate.noise for estimate in estimates),
        populations if any(populations) else None,
        bound.note,
        clipped=bool(bound.grids),
    )


def _chosen_column(bound: Bound, steps: Sequence[int], items: Sequence[Item], confidence: float) -> Column:
    grid = bound.grids[0]
    values = tuple(min(max(float(step * grid.granularity), float(grid.low)), float(grid.high)) for step in steps)
    note = f"{ranks_note(bound, items, confidence)}; {bound.note}"
    return Column(bound.output, bound.aggregate.kind, values, note=note, clipped=True)


def _tops(query: Query, item: Tops, groups: Groups, counts: Counts, entropy: Entropy) -> tuple[Column, ...]:
    chosen = item.release(counts[Statistic("units")], entropy)
    [key] = query.grouping.keys
    ranks = Column(item.outputs[0], TopK.kind, tuple(range(1, len(chosen) + 1)), note="by how many units have it")
    return (ranks, _key_column(key, [groups[place][0] for place in chosen]))


def _afterwards(query: Query, columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """HAVING, ORDER BY, LIMIT and the columns asked for: post-processing of what is released already."""
    post = query.post
    rows = [
        dict(zip([c.name for c in columns], values, strict=True))
        for values in zip(*(c.values for c in columns), strict=True)
    ]
    order = [i for i, row in enumerate(rows) if post.having is None or evaluate(post.having, row) is True]
    for expression, descending in reversed(post.order):
        order.sort(key=lambda i: _sortable(evaluate(expression, rows[i])), reverse=descending)
    stop = None if post.limit is None else post.offset + post.limit
    order = order[post.offset : stop]
    by_name = {}
    for column in columns:
        noise, interval = (
            None if spans is None else tuple(spans[i] for i in order) for spans in (column.noise, column.interval)
        )
        by_name[column.name] = replace(
            column, values=tuple(column.values[i] for i in order), noise=noise, interval=interval
        )
    if post.outputs is None:
        return tuple(by_name.values())
    made = []
    for name, expression in post.outputs:
        same = by_name.get(getattr(expression, "name", ""))
        if same is not None:
            made.append(replace(same, name=name))
        else:
            values = tuple(evaluate(expression, rows[i]) for i in order)
            made.append(Column(name, "computed", values, note="computed from other columns", type=expression.kind))
    return tuple(made)


def _provenance(query: Query, spend: Budget, charge: int | None) -> dict[str, Any]:
    """How the answer came about; nothing in it is random, so nothing in it helps to subtract the noise."""
    return {
        "lapwing": __version__,
        "question": query.text or query.explain(),
        "plan": query.digest(),
        "loss": str(spend.stated),
        "datasets": list(query.context.datasets),
        "engine": query.context.engine.dialect.name,
        "charge": charge,
        "counted": _counted(query),
        "public": {plan.table: hashlib.sha256(repr(plan.rows).encode()).hexdigest() for plan in publics(query)},
        "released_at": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
    }


def _counted(query: Query) -> str | None:
    """Which rows the answer is about, where a unit may have more."""
    if is_each_row(query.plan) or not leaves_rows_out(query):
        return None
    return query.effective.counted(query.context.unit, grouped=bool(query.grouping.keys))


def publics(query: Query) -> list[Any]:
    """The public tables of a query."""
    from lapwing.curator.plan.nodes import JoinPublic, Plan

    def below(plan: Plan) -> list[Any]:
        found = [plan.public] if isinstance(plan, JoinPublic) else []
        return found + [public for parent in plan.parents() for public in below(parent)]

    return below(query.plan)
