"""Quantiles of every group: coarse counts from the engine, then finer ones only where a draw depends on them.

What is asked for a second time depends on the data and on the noise; the engine learns it, which sees the data anyway,
and nobody else does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from lapwing.curator.bounded import constant_of
from lapwing.curator.dialects import inline, whole
from lapwing.mechanisms import Quantile
from lapwing.mechanisms.quantile_draw import QuantileDraw
from lapwing.noise import Entropy

if TYPE_CHECKING:
    from lapwing.curator.bounded import Bounded
    from lapwing.curator.engines.engine import Session
    from lapwing.curator.pricing import Picks

MOST_CELLS = 1 << 12
MOST_COUNTS = 1 << 19
"""Cells of all groups together, about."""
AT_ONCE = 500
"""Groups whose finer counts are asked for in one statement."""

Group = tuple[Any, ...]
Rows = exp.Table | exp.Subquery


def draw_all(
    item: Picks, statement: Bounded, rows: Rows, groups: Sequence[Group], session: Session, entropy: Entropy
) -> list[int]:
    """One step of the grid for each group."""
    grid = item.bound.grids[0]
    low, high = grid.steps
    column = exp.column(f"v{statement.values.index(grid)}")
    share = item.bound.aggregate.q
    assert share is not None
    mechanism = Quantile(
        epsilon=item.epsilon, bounds=(low, high), q=share, granularity=1, max_rows_per_unit=item.rows, unit=item.unit
    )
    cells = min(MOST_CELLS, max(64, MOST_COUNTS // max(1, len(groups))))
    shift = max(0, (high - low).bit_length() - cells.bit_length() + 1)
    coarse: dict[Group, list[tuple[int, int, int]]] = {}
    for *group, number, count in sorted(session.fetch(_coarse(statement, rows, column, low, shift)), key=_number):
        start = low + (int(number) << shift)
        coarse.setdefault(tuple(group), []).append((start, min(1 << shift, high + 1 - start), int(count)))
    draws = [mechanism.start(coarse.get(group, []), entropy) for group in groups]
    while wanted := [(group, draw) for group, draw in zip(groups, draws, strict=True) if draw.wanted is not None]:
        _refine(wanted[:AT_ONCE], statement, rows, column, session)
    return [int(draw.value or 0) for draw in draws]


def _number(row: tuple[Any, ...]) -> int:
    return int(row[-2])


def _coarse(statement: Bounded, rows: Rows, column: exp.Column, low: int, shift: int) -> exp.Query:
    """How many values lie in each cell of each group."""
    steps: exp.Expr = exp.Paren(this=exp.cast(column.copy(), "BIGINT") - whole(low))
    number = exp.BitwiseRightShift(this=steps, expression=whole(shift)) if shift else steps
    groups = [exp.column(name) for name in statement.groups]
    query = exp.select(*groups, number.as_("cell"), exp.Count(this=exp.Star()).as_("n")).from_(rows.copy())
    query = query.where(exp.not_(exp.Is(this=column.copy(), expression=exp.null())))
    return query.group_by(*(group.copy() for group in groups), number.copy())


def _refine(
    wanted: Iterable[tuple[Group, QuantileDraw]], statement: Bounded, rows: Rows, column: exp.Column, session: Session
) -> None:
    """Count the values of one cell of each of these groups, one by one."""
    draws = dict(wanted)
    lines = []
    for group, draw in draws.items():
        assert draw.wanted is not None
        start, end = draw.wanted.start, draw.wanted.start + draw.wanted.width
        lines.append([*_constants(statement, group), whole(start), whole(end - 1)])
    names = [f"w{name}" for name in statement.groups]
    table = inline(lines, "w", [*names, "low", "high"])
    groups = [exp.column(name, table="b") for name in statement.groups]
    value = exp.column(column.name, table="b")
    same: list[exp.Expr] = [
        exp.NullSafeEQ(this=group.copy(), expression=exp.column(name, table="w"))
        for group, name in zip(groups, names, strict=True)
    ]
    inside = exp.and_(value.copy() >= exp.column("low", table="w"), value.copy() <= exp.column("high", table="w"))
    query = exp.select(*groups, value, exp.Count(this=exp.Star()).as_("n")).from_(
        exp.alias_(rows.copy(), "b", table=True)
    )
    query = query.join(table, on=exp.and_(*same, inside)).group_by(*(group.copy() for group in groups), value.copy())
    found: dict[Group, list[tuple[int, int]]] = {}
    for *group_of, step, count in session.fetch(query):
        found.setdefault(tuple(group_of), []).append((int(step), int(count)))
    for group, draw in draws.items():
        counts = sorted(found.get(group, []))
        draw.refine([step for step, _ in counts], [count for _, count in counts])


def _constants(statement: Bounded, group: Group) -> list[exp.Expr]:
    if statement.grouping.secret:
        keys = statement.grouping.keys
        return [constant_of(key.expression.kind, value) for key, value in zip(keys, group, strict=True)]
    return [whole(int(number)) for number in group]
