"""How many rows of one unit a plan can have, and a limit where joins would multiply them.

If one unit has k and l rows in two private tables, their join has k·l. A join with a public table repeats each row for
every public row that agrees with it. Bounding comes last, so one unit could fill memory or disk, and a question that
fails only for some people answers something about them. Therefore a public number limits the rows that a unit brings
into a join, so that a chain of joins never makes more of one unit than there is room for (`room`). Of more rows a fair
sample is taken (`sample`). What a unit brings is still a function of its own rows (curator.md, point 1).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from lapwing.curator.plan.expressions import Column
from lapwing.curator.plan.narrowing import CarriedColumns
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
)
from lapwing.errors import UnsupportedQuery

LARGEST_JOIN = 1 << 20
"""So many rows of one unit a chain of joins can make, if they are narrow: 1,024 of each of two tables, 101 of three."""


@dataclass(frozen=True)
class AtMost(Node):
    """A fair sample of each unit's rows; `limited` puts it below joins, nobody else makes one."""

    parent: Plan
    rows: int

    @property
    def columns(self) -> tuple[Column, ...]:
        """Unchanged."""
        return self.parent.columns

    def parents(self) -> tuple[Plan, ...]:
        return (self.parent,)

    def explain(self) -> str:
        """How many rows are left."""
        return f"{self.parent.explain()} → at most {self.rows} rows of each unit"


def most_rows(plan: Any) -> int | None:
    """How many rows of one unit a plan can have, where that is known without the data."""
    match plan:
        case Scan(each_row=True):
            return 1
        case AtMost():
            return plan.rows
        case Where() | Select() | Exists() | CarriedColumns():
            return most_rows(plan.parents()[0])
        case JoinPublic():
            rows = most_rows(plan.parent)
            return None if rows is None else rows * plan.factor
        case PerUnit(keys=()):
            return 1
        case PerUnit():
            return most_rows(plan.parent)
        case JoinUnit():
            left, right = most_rows(plan.left), most_rows(plan.right)
            return None if left is None or right is None else max(left, left * right)
        case Combine():
            sides = [most_rows(side) for side in plan.sides]
            sides = sides if plan.setting.startswith("union") else sides[:1]
            return None if None in sides else sum(side for side in sides if side is not None)
    return None


def limited(plan: Any, most: int = LARGEST_JOIN, share: int | None = None) -> Any:
    """The same plan with a limit on what each unit brings into every join that can multiply its rows.

    No chain of joins makes more than `most` rows of a unit.
    """
    match plan:
        case JoinUnit():
            share = share or _share(plan, most)
            return replace(plan, left=_side(plan.left, most, share), right=_side(plan.right, most, share))
        case JoinPublic() if _multiplies(plan):
            return replace(plan, parent=_side(plan.parent, most, share or _share(plan, most)))
        case Exists():
            return replace(plan, parent=limited(plan.parent, most, share), other=limited(plan.other, most))
        case Where() | Select() | JoinPublic() | CarriedColumns():
            return replace(plan, parent=limited(plan.parent, most, share))
        case PerUnit():
            return replace(plan, parent=limited(plan.parent, most))
        case Combine():
            return replace(plan, sides=tuple(limited(side, most) for side in plan.sides))
    return plan


def check_joins(plan: Plan, most: int) -> None:
    """Refuse a chain of joins with public tables that would make too many rows of a single one."""
    if _factor(plan) > most:
        why = f"its joins with public tables can make more than {most:,} rows of one"
        raise UnsupportedQuery("the question", why, "Join on columns that tell the public rows apart, or join fewer.")
    for parent in plan.parents():
        check_joins(parent, most)


def chains(plan: Plan, *, inside: bool = False) -> int:
    """How many chains of joins multiply rows, each for itself."""
    multiplies = isinstance(plan, JoinUnit) or _multiplies(plan)
    goes_on = multiplies or (inside and isinstance(plan, _STEPS))
    number = int(multiplies and not inside)
    for i, parent in enumerate(plan.parents()):
        number += chains(parent, inside=goes_on and not (isinstance(plan, Exists) and i == 1))
    return number


def limits_of(plan: Plan) -> Iterator[int]:
    """How many rows of each unit are taken, wherever some may be left out before a join."""
    if isinstance(plan, AtMost):
        yield plan.rows
    for parent in plan.parents():
        yield from limits_of(parent)


def _side(plan: Plan, most: int, share: int) -> Any:
    """One side of a join: what it is itself joined from shares the same limit."""
    if _joined(plan):
        return limited(plan, most, share)
    inside, rows = limited(plan, most), most_rows(plan)
    return inside if rows is not None and rows <= share else AtMost(inside, share)


def _joined(plan: Plan) -> bool:
    """Whether the rows are those of a join that multiplies, perhaps filtered or computed further."""
    while isinstance(plan, _STEPS) and not _multiplies(plan):
        plan = plan.parents()[0]
    return isinstance(plan, JoinUnit | JoinPublic)


_STEPS = (Where, Select, Exists, JoinPublic, CarriedColumns)
"""What a chain of joins goes on through."""


def _multiplies(plan: Plan) -> bool:
    """Whether it is a join with a public table that makes several rows of one."""
    return isinstance(plan, JoinPublic) and plan.factor > 1


def _chain(plan: Plan) -> tuple[int, Plan]:
    """How many rows public tables make of one, and the join of private tables, or the rows, that the chain comes to."""
    factor = 1
    while isinstance(plan, _STEPS):
        factor *= plan.factor if isinstance(plan, JoinPublic) else 1
        plan = plan.parents()[0]
    return factor, plan


def _factor(plan: Plan) -> int:
    """How many rows a chain of joins makes of one of each table, by public tables."""
    factor, start = _chain(plan)
    return factor * math.prod(_factor(side) for side in start.parents()) if isinstance(start, JoinUnit) else factor


def _brings(plan: Plan) -> int:
    """How many tables of a chain of joins can bring several rows of a unit."""
    _, start = _chain(plan)
    if isinstance(start, JoinUnit):
        return sum(_brings(side) for side in start.parents())
    return 0 if most_rows(start) == 1 else 1


def _share(plan: Plan, most: int) -> int:
    """How many rows each table brings into a chain of joins."""
    return _root(most // _factor(plan), _brings(plan))


def _root(value: int, degree: int) -> int:
    """The largest whole number whose power is at most the value."""
    if degree < 2:
        return value
    root: int = round(value ** (1 / degree)) + 1
    while pow(root, degree) > value:
        root -= 1
    return root
