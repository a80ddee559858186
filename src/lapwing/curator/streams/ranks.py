"""The groups with the largest noisy values. All of it is public: it sorts what was released."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lapwing.curator.show.answer import Column
from lapwing.errors import InvalidParameter


def sorted_by(columns: Sequence[Column], output: str | None) -> str:
    """The output by which groups are sorted: the one that is named, or the first."""
    names = [column.name for column in columns if not column.is_key and column.is_number]
    if output in names or (output is None and names):
        return names[0] if output is None else output
    raise InvalidParameter("output", output, "is not a column of numbers", f"Name one of: {', '.join(names)}.")


def largest(columns: Sequence[Column], by: str, most: int) -> tuple[Column, ...]:
    """The rows with the largest values of a column."""
    [values] = [column.values for column in columns if column.name == by]
    order = sorted(range(len(values)), key=lambda row: (-(values[row] or 0), row))[:most]
    return tuple(_reordered(column, order) for column in columns)


def chosen_by(output: str) -> str:
    """What a reader must know of rows that were chosen by noisy values."""
    return (
        f"chosen and sorted by the noisy {output}: the exact order may differ, a group left out may be larger, and the "
        "groups shown are rather too large. So their intervals hold less often than stated"
    )


def name_of_rank(columns: Sequence[Column]) -> str:
    """What the column of ranks is called, as long as nothing else is called so."""
    taken = {column.name for column in columns}
    return next(name for name in ("rank", "place", "rank_number") if name not in taken)


def _reordered(column: Column, order: Sequence[int]) -> Column:
    noise, interval = (
        None if spans is None else tuple(spans[row] for row in order) for spans in (column.noise, column.interval)
    )
    return replace(column, values=tuple(column.values[row] for row in order), noise=noise, interval=interval)
