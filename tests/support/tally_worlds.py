"""Tiny layouts, all rows that they allow, measures as an attacker would write them, and what they count by hand."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from typing import Any

from lapwing.pair.domains import Digits, Layout, Listed
from lapwing.pair.tallies import Among, Both, Condition, Dimension, Measure, Tally, both, either
from lapwing.privacy import Relation

Row = Mapping[str, Any] | None
"""None for somebody who is on the list and is not there."""


def tiny_layout(relation: Relation, products: int = 2) -> Layout:
    """Two listed columns and a number of digits, whose last digit counts less than a power of two."""
    columns = (Listed("a", "integer", (0, 1)), Listed("b", "text", ("x", "y")), Digits("d", "integer", -3, 2))
    return Layout(columns, relation, products)


def all_rows(layout: Layout) -> list[Row]:
    """Every row that an owner can have."""
    cells = [
        [*domain.values, None] if isinstance(domain, Listed) else [None, *range(domain.low, domain.high + 1)]  # type: ignore[attr-defined]
        for domain in layout.domains
    ]
    rows: list[Row] = [dict(zip(layout.by_name, row, strict=True)) for row in itertools.product(*cells)]
    return [*rows, None] if layout.presence else rows


def bits_of(layout: Layout, column: str, row: Mapping[str, Any]) -> set[int]:
    """Which bits of a column are set."""
    domain = layout.by_name[column]
    if isinstance(domain, Listed):
        return {domain.contents.index(row[column])}
    assert isinstance(domain, Digits)
    return {place for place, bit in enumerate(domain.encoded([row[column]])[:, 0]) if bit}


def holds(condition: Condition, layout: Layout, row: Mapping[str, Any]) -> bool:
    if isinstance(condition, Among):
        return bool(bits_of(layout, condition.column, row) & set(condition.bits))
    parts = [holds(part, layout, row) for part in condition.parts]
    return all(parts) if isinstance(condition, Both) else any(parts)


def cells_of(tally: Tally, layout: Layout, row: Row) -> list[int]:
    """In which cells a row is: 0 or 1 for each."""
    if row is None or not holds(tally.where, layout, row):
        return [0] * tally.size
    chosen = [
        [len(bits_of(layout, dimension.column, row) & set(group)) for group in dimension.groups]
        for dimension in tally.dimensions
    ]
    return [int(all(choice)) for choice in itertools.product(*chosen)]


def counted_by_hand(measure: Measure, layout: Layout, rows: Sequence[Row]) -> list[int]:
    """What a measure is, by its definition."""
    columns = zip(*(cells_of(measure.tally, layout, row) for row in rows), strict=True)
    cells = [sum(column) for column in columns] if rows else [0] * measure.tally.size
    if measure.at_least is not None:
        cells = [int(cell >= measure.at_least) for cell in cells]
    totals = [0] * measure.size
    for cell, group, weight in zip(cells, measure.groups, measure.weights, strict=True):
        if group >= 0:
            totals[group] += cell * weight
    return totals


def distance(first: Sequence[int], second: Sequence[int]) -> int:
    return sum(abs(a - b) for a, b in zip(first, second, strict=True))


def any_condition(dice: random.Random, layout: Layout, depth: int = 2) -> Condition:
    listed = [domain for domain in layout.domains if isinstance(domain, Listed)]
    if depth == 0 or dice.random() < 0.4:
        domain = dice.choice(listed)
        return Among(domain.name, tuple(bit for bit in range(domain.size) if dice.random() < 0.6))
    join = dice.choice([both, either])
    return join(*(any_condition(dice, layout, depth - 1) for _ in range(dice.randrange(4))))


def any_dimension(dice: random.Random, layout: Layout, column: str) -> Dimension:
    """Any groups that are allowed: none twice, some bits in none, some groups empty."""
    domain = layout.by_name[column]
    bits = dice.sample(range(domain.size), domain.size)
    if isinstance(domain, Digits):
        return Dimension(column, tuple((bit,) for bit in bits[: dice.randrange(1, domain.size + 1)]))
    groups: list[list[int]] = [[] for _ in range(dice.randrange(1, 4))]
    for bit in bits:
        if dice.random() < 0.85:
            dice.choice(groups).append(bit)
    return Dimension(column, tuple(tuple(group) for group in groups))


def any_measure(dice: random.Random, layout: Layout) -> Measure:
    """Something that servers accept, which no compiler of ours would write."""
    listed = [domain.name for domain in layout.domains if isinstance(domain, Listed)]
    columns = dice.sample(listed, dice.randrange(len(listed) + 1))
    digits = [domain.name for domain in layout.domains if isinstance(domain, Digits)] if dice.random() < 0.4 else []
    dimensions = [any_dimension(dice, layout, column) for column in (*columns, *digits[:1])]
    tally = Tally(tuple(dimensions), any_condition(dice, layout) if dice.random() < 0.6 else both())
    width, size = len(dimensions[-1].groups) if digits else 1, dice.randrange(1, 5)
    groups = [place for _ in range(tally.size // width) for place in [dice.randrange(-1, size)] * width]
    if not digits and dice.random() < 0.3:
        return Measure(tally, tuple(groups), (1,) * tally.size, size, dice.randrange(1, 4))
    weights = [dice.choice([-7, -3, -1, 0, 1, 1, 2, 5]) for _ in range(tally.size)]
    return Measure(tally, tuple(groups), tuple(weights), size)
