"""The columns of a rollup: which nodes there are, their noisy numbers that add up, and the outputs made of these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from lapwing.curator.aggregates.base import Bound, Estimator
from lapwing.curator.aggregates.estimates import Confidence, Estimate
from lapwing.curator.ask.tree_noise import LevelKeys, tree_items
from lapwing.curator.plan.evaluation import sortable
from lapwing.curator.plan.rollups import REST, Nodes, Path, Rollup, nodes_of
from lapwing.curator.plan.statistics import Statistic
from lapwing.curator.show.answer import Column
from lapwing.noise import Entropy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lapwing.curator.ask.pricing import Item
    from lapwing.curator.ask.question import Question

Fetched = Sequence[tuple[Any, ...]]
Counts = dict[Statistic, list[int]]
"""Exact statistics of the leaves, from left to right: secret."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """One noisy statistic of every node, in the order of the answer, and where the exact one lies."""

    values: list[Any]
    lows: list[float]
    highs: list[float]


def tree_columns(
    query: Question, items: Sequence[Item], fetched: Fetched, confidence: float, entropy: Entropy
) -> tuple[Column, ...]:
    """The columns of the answer, from the exact statistics of the groups that occur."""
    rollup = query.rollup
    assert rollup is not None
    nodes, counts = _secret(query, items, fetched, entropy) if query.grouping.secret else _public(query, fetched)
    noise, order = tree_items(items), _order(nodes)
    drawn = {what: item.release(nodes.tree, counts[what], entropy) for what, item in noise.items()}
    sure = [Confidence(confidence, rows) for rows in _rows_of_a_unit(query, nodes, order)]
    values = []
    for bound in query.bounds:
        each = 1 - (1 - Fraction(confidence)) / len(bound.statistics)
        numbers = []
        for what in bound.statistics:
            spans = noise[what].intervals(nodes.tree, drawn[what], each)
            lows, highs = zip(*spans, strict=True)
            numbers.append(Numbers(*(_in_order(part, order) for part in (drawn[what].levels, lows, highs))))
        column = _column(bound, numbers, sure, rollup)
        doubted = [rollup.name_of(nodes.paths[i][j]) for what in bound.statistics for i, j in drawn[what].contradicted]
        values.append(_without_intervals(column, doubted) if doubted else column)
    return (*_labels(query, rollup, nodes, order), *values)


def _public(query: Question, fetched: Fetched) -> tuple[Nodes, Counts]:
    """Every node of the public tree, also those that nobody is in; other combinations of keys are left out."""
    nodes, numbers = query.nodes
    leaf = {number: place for place, number in enumerate(numbers)}
    counts = {statistic: [0] * len(numbers) for statistic in query.statistics}
    for row in fetched:
        place = None if row[0] is None else leaf.get(int(row[0]))
        if place is not None:
            for statistic, number in zip(query.statistics, row[1:], strict=True):
                counts[statistic][place] = int(number)
    return nodes, counts


def _secret(query: Question, items: Sequence[Item], fetched: Fetched, entropy: Entropy) -> tuple[Nodes, Counts]:
    """The nodes whose keys pass the tests, from the top; what is left of each node is a leaf of its own.

    A row without a key, or with one that is not shown, counts in what is left of the last node that it leads to. So
    does one whose key is called like that.
    """
    keys, tests = query.grouping.keys, {item.depth: item for item in items if isinstance(item, LevelKeys)}
    place = len(keys) + query.statistics.index(Statistic("units"))
    shown: dict[Path, list[Any]] = {(): []}
    level: list[Path] = [()]
    for depth, key in enumerate(keys):
        if key.values is not None:
            chosen = [(*path, value) for path in level for value in key.values]
        else:
            units = _units(fetched, depth, place, set(level))
            named = sorted(units, key=lambda path: [sortable(value) for value in path])
            passed = tests[depth].release([units[path] for path in named], entropy) if named else []
            chosen = [path for path, passes in zip(named, passed, strict=True) if passes]
        for path in chosen:
            shown[path[:-1]].append(path[-1])
            shown[path] = []
        level = chosen
    leaves = list(_leaves(query, shown, ()))
    places = {path: number for number, path in enumerate(leaves)}
    counts = {statistic: [0] * len(leaves) for statistic in query.statistics}
    for row in fetched:
        path = tuple(row[: len(keys)])
        depth = next((depth for depth in range(len(keys)) if path[: depth + 1] not in shown), len(keys))
        leaf = places.get(path if depth == len(keys) else (*path[:depth], REST))
        if leaf is None:  # a public key as the engine would not return it: no row may make us fail
            continue
        for statistic, number in zip(query.statistics, row[len(keys) :], strict=True):
            counts[statistic][leaf] += int(number)
    labelled = [tuple(_label(query, depth, value) for depth, value in enumerate(path)) for path in leaves]
    return nodes_of(labelled), counts


def _units(fetched: Fetched, depth: int, place: int, level: set[Path]) -> dict[Path, int]:
    """The units of each key that occurs below a node that is shown. A unit is in one group, so they add up."""
    units: dict[Path, int] = {}
    for row in fetched:
        path = tuple(row[: depth + 1])
        if path[:-1] in level and path[-1] is not None and path[-1] != REST:  # it would be taken for what is left
            units[path] = units.get(path, 0) + int(row[place])
    return units


def _leaves(query: Question, shown: dict[Path, list[Any]], path: Path) -> Iterator[Path]:
    keys = query.grouping.keys
    if len(path) == len(keys):
        yield path
        return
    for value in shown[path]:
        yield from _leaves(query, shown, (*path, value))
    if keys[len(path)].values is None:
        yield (*path, REST)


def _label(query: Question, depth: int, value: Any) -> Any:
    return value if value is REST else query.grouping.keys[depth].label(value)


def _order(nodes: Nodes) -> NDArray[Any]:
    """The nodes of all levels, one after another, in the order of the answer: each before its children."""
    import numpy as np

    first = np.concatenate(nodes.tree.leaf_places())
    levels = np.repeat(np.arange(nodes.tree.levels), nodes.tree.sizes)
    return np.lexsort((levels, first))


def _rows_of_a_unit(query: Question, nodes: Nodes, order: NDArray[Any]) -> list[int]:
    """How many rows of one unit a node may have: those of as many groups below it as one unit can be in."""
    import numpy as np

    bounding = query.effective
    groups = bounding.max_groups_per_unit if bounding.max_rows_per_unit is None else 1
    below = np.concatenate(nodes.tree.sums(np.ones(nodes.tree.leaves, np.int64)))[order]
    rows: list[int] = (bounding.rows * np.minimum(below, groups)).tolist()
    return rows


def _in_order(levels: Sequence[Any], order: NDArray[Any]) -> list[Any]:
    import numpy as np

    values: list[Any] = np.concatenate(levels)[order].tolist()
    return values


def _labels(query: Question, rollup: Rollup, nodes: Nodes, order: NDArray[Any]) -> list[Column]:
    """The level of every node, if it is asked for, and the labels that lead to it; NULL below."""
    every = [path for paths in nodes.paths for path in paths]
    paths = [every[place] for place in order.tolist()]
    columns = []
    if rollup.level_column is not None:
        names = [rollup.levels[len(path) - rollup.given] for path in paths]
        columns.append(Column(rollup.level_column, "key", tuple(names), type="text"))
    by_name = {key.name: key for key in query.grouping.keys} if rollup.paths is None else {}
    for depth, name in enumerate(rollup.names):
        values = tuple(path[depth] if depth < len(path) else None for path in paths)
        kind = None
        if (key := by_name.get(name)) is not None:
            mixed = key.labels is not None or key.everything_else or key.values is None
            kind = "text" if mixed else key.expression.kind
        if kind == "text" or REST in values:
            kind, values = "text", tuple(None if value is None else _text(value) for value in values)
        columns.append(Column(name, "key", values, type=kind))
    return columns


def _text(value: Any) -> str:
    return value if isinstance(value, str) else value.isoformat() if hasattr(value, "isoformat") else str(value)


def _column(bound: Bound, numbers: Sequence[Numbers], confidence: Sequence[Confidence], rollup: Rollup) -> Column:
    """One output of every node, each with a confidence of its own."""
    aggregate = bound.aggregate
    assert isinstance(aggregate, Estimator)
    rows = range(len(numbers[0].values))
    if aggregate.adds_up and len(numbers) == 1:
        [own] = numbers

        def at(number: Any) -> Any:
            return aggregate.estimate(bound, [number], [0.0], confidence[0]).value

        values = tuple(at(value) for value in own.values)
        noise = tuple((float(at(low)), float(at(high))) for low, high in zip(own.lows, own.highs, strict=True))
        kind = None if rollup.integers else "number"
        return Column(
            bound.output,
            aggregate.kind,
            values,
            noise,
            None,
            bound.note,
            clipped=bool(bound.grids),
            type=kind,  # type: ignore[arg-type]
            in_full=rollup.integers,
        )
    estimates = [_estimate(aggregate, bound, numbers, row, confidence[row]) for row in rows]
    populations = tuple(estimate.interval for estimate in estimates)
    return Column(
        bound.output,
        aggregate.kind,
        tuple(estimate.value for estimate in estimates),
        tuple(estimate.noise for estimate in estimates),
        populations if any(populations) else None,
        aggregate.remarks(bound, estimates),
        clipped=bool(bound.grids),
        in_full=aggregate.adds_up and rollup.integers,
    )


def _without_intervals(column: Column, doubted: Sequence[str]) -> Column:
    """A column whose published numbers cannot be those of the rows: the noisy numbers say so, which were paid for."""
    which = f"the published {'number' if len(doubted) == 1 else 'numbers'} of {', '.join(doubted)}"
    why = (
        f"CONTRADICTED: {which} cannot be exact for the rows used. The noisy numbers are farther away than noise "
        "explains. So the numbers here are wrong, and no interval is shown"
    )
    return replace(column, noise=None, note="; ".join(part for part in (column.note, why) if part))


def _estimate(
    aggregate: Estimator, bound: Bound, numbers: Sequence[Numbers], row: int, confidence: Confidence
) -> Estimate:
    """An output made of several statistics: each is within the farther end of its interval."""
    values = [each.values[row] for each in numbers]
    widths = [max(each.highs[row] - each.values[row], each.values[row] - each.lows[row]) for each in numbers]
    return aggregate.estimate(bound, values, widths, confidence)
