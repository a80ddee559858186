"""How deep expressions nest, and how often they read text, once the columns they read are written out.

Engines merge the steps of a plan, so a column of a column of a column is one deep expression to them. Spark hands it
to its workers by a recursion that exceeded their stack between 180 and 225 nested CASEs, after rows had been read; and
whether a worker gets to such a step at all may depend on the rows. PostgreSQL, and DuckDB where it must look whether
text is UTF-8, hold a copy of a cell for each time an expression reads it: 1,000 times 1 MB for one cell of one person.
Here both are refused for everybody, before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lapwing.curator.plan.expressions import Call, Column, Expression
from lapwing.curator.plan.nodes import Combine, JoinPublic, JoinUnit, PerUnit, Plan, Scan, Select, Where
from lapwing.errors import UnsupportedQuery

DEEPEST = 100
"""Operators inside one another, half of what Spark was seen to take."""
TEXTS = 256
"""How often one expression may read text, of at most 1 MB each time."""


@dataclass(frozen=True, slots=True)
class Depth:
    """How many operators are inside one another, and how often text is read."""

    operators: int = 0
    texts: int = 0


Depths = Mapping[str, Depth]
"""Of each column."""


def check(expression: Expression, below: Depths) -> Depth:
    """The depth of an expression over columns of these depths, or `UnsupportedQuery`."""
    found = _depth(expression, below, {})
    for number, most, what in ((found.operators, DEEPEST, "nests"), (found.texts, TEXTS, "reads text")):
        if number > most:
            counted = f"{number:,} operators" if what == "nests" else f"{number:,} times"
            why = f"it {what} {counted}, with what its columns are computed from, and at most {most} are allowed"
            hint = "Write a flatter expression, fewer steps of CASE, or x IN ('a', 'b', …)."
            raise UnsupportedQuery(str(expression)[:80] + "…", why, hint)
    return found


def _depth(expression: Expression, below: Depths, known: dict[int, Depth]) -> Depth:
    if isinstance(expression, Column):
        return below.get(expression.name, Depth(0, int(expression.kind == "text")))
    if not isinstance(expression, Call):
        return Depth()
    if id(expression) not in known:  # what stands in two places is looked at once
        parts = [_depth(one, below, known) for one in expression.arguments]
        deepest = max((part.operators for part in parts), default=0)
        known[id(expression)] = Depth(1 + deepest, sum(part.texts for part in parts))
    return known[id(expression)]


def check_plan(plan: Plan, seen: dict[int, Depths] | None = None) -> Depths:
    """The depths of the columns of a plan, whose expressions are all checked."""
    seen = {} if seen is None else seen
    if id(plan) not in seen:
        seen[id(plan)] = _columns(plan, [check_plan(parent, seen) for parent in plan.parents()])
    return seen[id(plan)]


def _columns(plan: Plan, parents: list[Depths]) -> Depths:
    below = {name: depth for parent in parents for name, depth in parent.items()}
    for one in plan.inputs():
        check(one.expression, below)
    match plan:
        case Select():
            return {name: check(expression, below) for name, expression in plan.outputs}
        case Scan():
            return {column.name: Depth(0, int(column.kind == "text")) for column in plan.columns}
        case PerUnit():  # a total is a new beginning: no engine merges what comes after it with what comes before
            return {name: check(expression, below) for name, expression in plan.keys}
        case Combine():
            names = [[column.name for column in side.columns] for side in plan.sides]
            sides = [[depths.get(name, Depth()) for name in some] for some, depths in zip(names, parents, strict=True)]
            return dict(zip(names[0], map(_larger, zip(*sides, strict=True)), strict=True))
        case Where() | JoinPublic() | JoinUnit():
            return below
        case _:
            return parents[0] if parents else {}


def _larger(depths: tuple[Depth, ...]) -> Depth:
    return Depth(max(one.operators for one in depths), max(one.texts for one in depths))
