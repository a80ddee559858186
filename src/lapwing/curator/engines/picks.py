"""Quantiles of every group: coarse counts from the engine, then finer ones only where a draw depends on them.

What is fetched in the second step depends on the data and on the noise. Only the engine learns it, and the engine sees
the data anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from sqlglot import exp

from lapwing.curator.engines.dialects import cast, inline, whole
from lapwing.curator.engines.statements import constant_of
from lapwing.noise import Entropy

if TYPE_CHECKING:
    from lapwing.curator.ask.pricing import Draw, Picks
    from lapwing.curator.engines.engine import Session
    from lapwing.curator.engines.statements import BoundedStatements
    from lapwing.curator.plan.grids import GridExpression

MOST_CELLS = 1 << 12
MOST_COUNTS = 1 << 19
"""Cells of all groups together, about."""
AT_ONCE = 500
"""Groups whose finer counts are asked for in one statement."""

Group = tuple[Any, ...]
Rows = exp.Table | exp.Subquery


class Cells(Protocol):
    """Where counts come from."""

    def coarse(self, low: int, shift: int) -> Iterable[tuple[Any, ...]]:
        """Group, number of a cell, number of values in it; of each group ascending."""

    def finer(self, wanted: Mapping[Group, tuple[int, int]]) -> Mapping[Group, tuple[Sequence[int], Sequence[int]]]:
        """The values between two steps (both included) in each group, ascending, and how often each occurs."""


def draw_all(item: Picks, cells: Cells, groups: Sequence[Group], entropy: Entropy) -> list[int]:
    """One step of the grid for each group."""
    low, high = item.pick.grid.steps
    most = min(MOST_CELLS, max(64, MOST_COUNTS // max(1, len(groups))))
    shift = max(0, (high - low).bit_length() - most.bit_length() + 1)
    coarse: dict[Group, list[tuple[int, int, int]]] = {}
    for *of, number, count in cells.coarse(low, shift):
        start = low + (int(number) << shift)
        coarse.setdefault(tuple(of), []).append((start, min(1 << shift, high + 1 - start), int(count)))
    started = item.draws([coarse.get(group, []) for group in groups], entropy)
    draws = dict(zip(groups, started, strict=True))
    while wanted := {group: draw for group, draw in draws.items() if draw.wanted is not None}:
        batch = dict(islice(((group, _ends(draw)) for group, draw in wanted.items()), AT_ONCE))
        finer = cells.finer(batch)
        for group in batch:
            draws[group].refine(*finer.get(group, ((), ())))
    return [int(draw.value or 0) for draw in draws.values()]


def _ends(draw: Draw) -> tuple[int, int]:
    assert draw.wanted is not None
    return draw.wanted.start, draw.wanted.start + draw.wanted.width - 1


@dataclass(frozen=True, slots=True)
class SqlCells:
    """Counts from the engine."""

    statement: BoundedStatements
    rows: Rows
    grid: GridExpression
    session: Session

    @property
    def _column(self) -> str:
        return f"v{self.statement.values.index(self.grid)}"

    def coarse(self, low: int, shift: int) -> list[tuple[Any, ...]]:
        """One row for each cell of each group that has values."""
        column = exp.column(self._column)
        steps: exp.Expr = exp.Paren(this=cast(column.copy(), "BIGINT") - whole(low))
        number = exp.BitwiseRightShift(this=steps, expression=whole(shift)) if shift else steps
        groups = [exp.column(name) for name in self.statement.groups]
        query = exp.select(*groups, number.as_("cell"), exp.Count(this=exp.Star()).as_("n")).from_(self.rows.copy())
        query = query.where(exp.not_(exp.Is(this=column.copy(), expression=exp.null())))
        query = query.group_by(*(group.copy() for group in groups), number.copy())
        return sorted(self.session.fetch(query), key=lambda row: int(row[-2]))

    def finer(self, wanted: Mapping[Group, tuple[int, int]]) -> dict[Group, tuple[list[int], list[int]]]:
        """All groups in one statement."""
        names = [f"w{name}" for name in self.statement.groups]
        lines = [[*self._constants(group), *map(whole, ends)] for group, ends in wanted.items()]
        table = inline(lines, "w", [*names, "low", "high"])
        groups = [exp.column(name, table="b") for name in self.statement.groups]
        value = exp.column(self._column, table="b")
        on: list[exp.Expr] = [
            exp.NullSafeEQ(this=group.copy(), expression=exp.column(name, table="w"))
            for group, name in zip(groups, names, strict=True)
        ]
        on += [value.copy() >= exp.column("low", table="w"), value.copy() <= exp.column("high", table="w")]
        rows = exp.alias_(self.rows.copy(), "b", table=True)
        query = exp.select(*groups, value, exp.Count(this=exp.Star()).as_("n")).from_(rows)
        query = query.join(table, on=exp.and_(*on)).group_by(*(group.copy() for group in groups), value.copy())
        cells: dict[Group, tuple[list[int], list[int]]] = {}
        for *group, step, count in sorted(self.session.fetch(query), key=lambda row: int(row[-2])):
            steps, counts = cells.setdefault(tuple(group), ([], []))
            steps.append(int(step))
            counts.append(int(count))
        return cells

    def _constants(self, group: Group) -> list[exp.Expr]:
        if self.statement.grouping.secret:
            keys = self.statement.grouping.keys
            return [constant_of(key.expression.kind, value) for key, value in zip(keys, group, strict=True)]
        return [whole(int(number)) for number in group]
