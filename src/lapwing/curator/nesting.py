"""How deep expressions nest once the columns they read are written out.

Engines merge the steps of a plan, so a column of a column of a column is one deep expression to them. Spark hands it
to its workers by a recursion that exceeded their stack between 180 and 225 nested CASEs, after rows had been read; and
whether a worker gets to such a step at all may depend on the rows. Here it is refused for everybody, before.
"""

from __future__ import annotations

from collections.abc import Mapping

from lapwing.curator.expressions import Call, Column, Expression
from lapwing.curator.plan import Combine, JoinPublic, JoinUnit, PerUnit, Plan, Select, Where
from lapwing.errors import UnsupportedQuery

DEEPEST = 100
"""Operators inside one another, half of what Spark was seen to take."""
Depths = Mapping[str, int]
"""Of each column."""


def check(expression: Expression, below: Depths) -> int:
    """The depth of an expression over columns of these depths, or `UnsupportedQuery`."""
    found = _depth(expression, below, {})
    if found > DEEPEST:
        why = f"it nests {found} operators, with what its columns are computed from, and at most {DEEPEST} are allowed"
        raise UnsupportedQuery(str(expression)[:80] + "…", why, "Write a flatter expression, or fewer steps of CASE.")
    return found


def _depth(expression: Expression, below: Depths, known: dict[int, int]) -> int:
    if isinstance(expression, Column):
        return below.get(expression.name, 0)
    if not isinstance(expression, Call):
        return 0
    if id(expression) not in known:  # what stands in two places is looked at once
        known[id(expression)] = 1 + max((_depth(one, below, known) for one in expression.arguments), default=0)
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
        case PerUnit():  # a total is a new beginning: no engine merges what comes after it with what comes before
            return {name: check(expression, below) for name, expression in plan.keys}
        case Combine():
            names = [[column.name for column in side.columns] for side in plan.sides]
            sides = [[depths.get(name, 0) for name in some] for some, depths in zip(names, parents, strict=True)]
            return dict(zip(names[0], map(max, zip(*sides, strict=True)), strict=True))
        case Where() | JoinPublic() | JoinUnit():
            return below
        case _:
            return parents[0] if parents else {}
