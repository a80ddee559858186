"""What a plan carries from step to step: only columns that something reads, and no long text where rows are held.

Steps that look at one row at a time (WHERE, computed columns) hand it on and forget it. Joins, EXISTS, DISTINCT, set
operations and totals per unit hold rows. The analyst says how often a column is mentioned, and would so decide how much
memory the rows of one person take. What these steps hold is therefore of a public width (curator.md, point 1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from lapwing.curator.plan.expressions import Column, Kind, columns_of
from lapwing.curator.plan.nodes import (
    Combine,
    Exists,
    JoinPublic,
    JoinUnit,
    Node,
    PerUnit,
    Plan,
    Scan,
    Select,
    Where,
    is_each_row,
    unit_kind,
)
from lapwing.curator.plan.text_forms import LONGEST_CARRIED, LONGEST_UNIT
from lapwing.curator.plan.values import LONGEST

NARROW = 8
"""Bytes of everything but text."""
DISTINCT = 64
"""Bytes that an engine needs to tell one value from those before it."""
LONGEST_CONSTANT = 4 * LONGEST
"""Bytes of a text that the analyst wrote, at most four for each character."""


@dataclass(frozen=True)
class CarriedColumns(Node):
    """Some columns of each row, text of more than `LONGEST_CARRIED` bytes as NULL; `narrowed` alone makes one."""

    parent: Plan
    kept: tuple[Column, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        """Those that are read further up."""
        return self.kept

    def parents(self) -> tuple[Plan, ...]:
        return (self.parent,)

    def explain(self) -> str:
        """Which columns are left."""
        return f"{self.parent.explain()} → only {', '.join(column.name for column in self.kept)}"


def narrowed(plan: Plan, read: set[str]) -> Any:
    """The same plan for a reader of these columns, without what nobody reads and with `Carried` where rows are held."""
    match plan:
        case Where():
            return replace(plan, parent=narrowed(plan.parent, read | columns_of(plan.condition)))
        case Select():
            outputs = tuple(output for output in plan.outputs if output[0] in read) or plan.outputs[:1]
            below = set().union(*(columns_of(what) for _, what in outputs))
            return replace(plan, outputs=outputs, parent=narrowed(plan.parent, below))
        case JoinPublic():
            on = set().union(*(columns_of(private) for private, _ in plan.on))
            return replace(plan, parent=_carried(plan.parent, read | on))
        case JoinUnit():
            both = read if plan.condition is None else read | columns_of(plan.condition)
            return replace(plan, left=_carried(plan.left, both), right=_carried(plan.right, both))
        case Exists():
            return replace(plan, parent=_carried(plan.parent, read), other=_carried(plan.other, set()))
        case Combine():  # whose rows are compared as a whole
            return replace(plan, sides=tuple(_carried(side, set(side.by_name)) for side in plan.sides))
        case PerUnit():
            mentioned = [what for _, what in plan.keys]
            mentioned += [what for _, _, what in plan.totals if what is not None]
            return replace(plan, parent=_carried(plan.parent, set().union(*map(columns_of, mentioned))))
    return plan


def _carried(plan: Plan, read: set[str]) -> Any:
    inside = narrowed(plan, read)
    kept = tuple(column for column in inside.columns if column.name in read)
    if not kept and is_each_row(plan):
        kept = inside.columns[:1]
    needless = kept == inside.columns and all(column.kind != "text" for column in kept)
    return inside if needless else CarriedColumns(inside, kept)


def bytes_of(kind: Kind | None, longest: int) -> int:
    """How long a value can be."""
    return longest if kind is None or kind == "text" else NARROW


def _width(column: Column) -> int:
    return bytes_of(column.kind, LONGEST_UNIT if column.unit else LONGEST_CARRIED)


def label_bytes(plan: Plan) -> int:
    """How long the unit of a row can be."""
    return 0 if is_each_row(plan) else bytes_of(unit_kind(plan), LONGEST_UNIT)


def held(plan: Plan) -> Iterator[tuple[int, int]]:
    """Of every step of a narrowed plan that holds rows: how many columns of one, and of how many bytes."""
    label = label_bytes(plan)
    for side in plan.parents():
        if not isinstance(plan, Where | Select | CarriedColumns):
            bytes_, own = label + sum(map(_width, side.columns)), 0
            if isinstance(plan, PerUnit):
                bytes_ += _totalled(plan, label)
                own = len(plan.keys) + len(plan.totals)
            yield len(side.columns) + own, bytes_
        yield from held(side)


def _totalled(plan: PerUnit, label: int) -> int:
    """Bytes of the totals of one unit and their keys, with every different value of a row that is counted."""
    keys = sum(bytes_of(what.kind, LONGEST_CONSTANT) for _, what in plan.keys)
    counted = [what.kind for _, total, what in plan.totals if total == "count distinct" and what is not None]
    different = sum(label + keys + DISTINCT + bytes_of(kind, LONGEST_CONSTANT) for kind in counted)
    return keys + NARROW * len(plan.totals) + different


def carries_text(plan: Plan) -> bool:
    """Whether text is held on the way, where long text is left out."""
    own = isinstance(plan, CarriedColumns) and any(column.kind == "text" and not column.unit for column in plan.kept)
    return own or any(carries_text(parent) for parent in plan.parents())


def is_simple(plan: Plan | CarriedColumns) -> bool:
    """Whether nothing happens but to single rows of a table."""
    while isinstance(plan, Where | Select | CarriedColumns):
        plan = plan.parent
    return isinstance(plan, Scan)


def distinct_totals(plan: Plan) -> int:
    """How many numbers of different values are counted on the way."""
    own = sum(total == "count distinct" for _, total, _ in plan.totals) if isinstance(plan, PerUnit) else 0
    return own + sum(distinct_totals(parent) for parent in plan.parents())
