"""How many rows of one unit a plan can have."""

from __future__ import annotations

from lapwing.curator.plan import Combine, Exists, JoinPublic, JoinUnit, PerUnit, Plan, Scan, Select, Where


def most_rows(plan: Plan) -> int | None:
    """How many rows of one unit a plan can have, where that is known without the data."""
    match plan:
        case Scan(each_row=True):
            return 1
        case Where() | Select() | Exists():
            return most_rows(plan.parents()[0])
        case JoinPublic():
            rows = most_rows(plan.parent)
            return rows if rows is None or plan.public.unique_on(plan.on) else rows * max(1, len(plan.public.rows))
        case PerUnit(keys=()):
            return 1
        case PerUnit():
            return most_rows(plan.parent)
        case JoinUnit():
            left, right = most_rows(plan.left), most_rows(plan.right)
            return None if left is None or right is None else left * right
        case Combine():
            sides = [most_rows(side) for side in plan.sides]
            sides = sides if plan.setting.startswith("union") else sides[:1]
            return None if None in sides else sum(side for side in sides if side is not None)
    return None
