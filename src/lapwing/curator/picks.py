"""Quantiles of every group, from counts in the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from lapwing.mechanisms import Quantile
from lapwing.noise import Entropy

if TYPE_CHECKING:
    from lapwing.curator.bounded import Bounded
    from lapwing.curator.engines.engine import Session
    from lapwing.curator.pricing import Picks


def draw_all(
    item: Picks, statement: Bounded, rows: Any, places: Sequence[Any], session: Session, entropy: Entropy
) -> list[int]:
    """One step of the grid for each group."""
    value = statement.values.index(item.bound.grids[0])
    columns = [exp.column(name) for name in statement.groups]
    column = exp.column(f"v{value}")
    query = exp.select(*columns, column, exp.Count(this=exp.Star()).as_("n")).from_(rows).group_by(*columns, column)
    fetched = session.fetch(query)
    by_group: dict[Any, list[int]] = {}
    for *group, step, count in fetched:
        if step is not None:
            place = tuple(group) if statement.grouping.secret else (group[0] if group else 0)
            by_group.setdefault(place, []).extend([int(step)] * int(count))
    low, high = item.bound.grids[0].steps
    mechanism = Quantile(
        epsilon=item.epsilon, bounds=(low, high), q=item.bound.aggregate.q, granularity=1, max_rows_per_unit=item.rows
    )
    return [int(mechanism.release(by_group.get(place, []), entropy)) for place in places]
