"""What replacing one unit's rows can move, against its definition: all small tables, and all rows instead of one.

A bound must hold, and where a unit has one row it must be reached: a larger one would cost noise for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import combinations_with_replacement, product
from typing import Any

import oracle
import polars as pl
import pytest
from cases import together
from sweeps import few

import lapwing as lw
from lapwing.curator.ask.query import Query

Row = tuple[Any, ...]
FIELDS = ("kept", "place", "x", "y")
GROUPS: dict[str, Callable[[lw.PrivateTable], Any]] = {
    "one group of everything": lambda table: table,
    "rows that are kept": lambda table: table.where("kept"),
    "two groups, others left out": lambda table: table.group_by("place", keys={"place": ["A", "B"]}),
    "two groups of rows that are kept": lambda table: table.where("kept").group_by("place", keys={"place": ["A", "B"]}),
    "a group and everything else": lambda table: table.group_by("place", keys={"place": ["A"]}, everything_else=True),
    "one public group": lambda table: table.group_by("place", keys={"place": ["A"]}),
}
ASKED = (lw.count(), lw.units(), lw.sum("x", name="s"), lw.count_distinct("x"))
SPREAD = (lw.count("x"), lw.variance("x"), lw.covariance("x", "y"))
BOUNDS = few([(-1, 2), (1, 3), (-3, -1), (0, 2)], stays=2)


def table(bounds: tuple[int, int]) -> lw.PrivateTable:
    """Its rows are never read: what is asked is computed by the oracle, of rows that are given."""
    frame = pl.DataFrame({"kept": [True], "place": ["A"], "x": [1], "y": [1]})
    kinds: Any = {"kept": "boolean", "place": "text", "x": "integer", "y": "integer"}
    return lw.open(frame, name="t", unit=lw.EACH_ROW, types=kinds, bounds={"x": bounds, "y": (-1, 1)})


def movements(query: Query, rows: Sequence[Row], *, most_others: int) -> list[int]:
    """The largest l1 of each statistic when one row of a table becomes another one."""

    @cache
    def integers(given: tuple[Row, ...]) -> dict[Any, tuple[int, ...]]:
        return oracle.integers(query, {"t": [dict(zip(FIELDS, row, strict=True)) for row in given]}, b"")

    nothing, largest = (0,) * len(query.statistics), [0] * len(query.statistics)
    for count in range(most_others + 1):
        for others in combinations_with_replacement(rows, count):
            for before, after in combinations_with_replacement(rows, 2):
                one, other = (integers(tuple(sorted((*others, row), key=repr))) for row in (before, after))
                for i in range(len(nothing)):
                    groups = one.keys() | other.keys()
                    moved = sum(abs(one.get(g, nothing)[i] - other.get(g, nothing)[i]) for g in groups)
                    largest[i] = max(largest[i], moved)
    return largest


@pytest.mark.parametrize(("low", "high"), BOUNDS)
@together("groups", list(GROUPS))
def test_replacing_one_row_moves_each_number_by_what_is_stated_and_no_less(groups: str, low: int, high: int) -> None:
    for outputs, ys, others in ((ASKED, [0], 1), (SPREAD, [-1, 1], 0)):
        query = GROUPS[groups](table((low, high))).agg(*outputs)
        rows = list(product((True, False), ("A", "B", "C"), (None, low, high), ys))
        stated = [s.replaced(query.effective, grouped=query.grouping.size > 1) for s in query.statistics]
        found = movements(query, rows, most_others=others)
        if groups in ("one group of everything", "a group and everything else"):  # every row counts, unless it is NULL
            assert all(moved <= most for moved, most in zip(found, stated, strict=True))
            exact = [i for i, s in enumerate(query.statistics) if s.kind not in ("rows", "units")]
            assert [found[i] for i in exact] == [stated[i] for i in exact]
        else:
            assert found == stated, list(map(str, query.statistics))


def test_an_ungrouped_number_moves_once_and_a_grouped_one_twice() -> None:
    sizes = {}
    for name in ("rows that are kept", "two groups of rows that are kept", "one public group"):
        query = GROUPS[name](table((1, 3))).agg(*ASKED)
        sizes[name] = [s.replaced(query.effective, grouped=query.grouping.size > 1) for s in query.statistics]
    assert sizes["rows that are kept"] == sizes["one public group"] == [1, 1, 3, 1]
    assert sizes["two groups of rows that are kept"] == [2, 2, 6, 2]


LIMITS: list[dict[str, int]] = [
    {"max_rows_per_unit": 1},
    {"max_rows_per_unit": 2},
    {"max_groups_per_unit": 2},
    {"max_rows_per_group": 2},
]


@together("limits", LIMITS)
def test_replacing_all_rows_of_a_unit_moves_no_number_further_than_stated(limits: dict[str, int]) -> None:
    frame = pl.DataFrame({"who": ["a"], "place": ["A"], "x": [1]})
    kinds: Any = {"who": "text", "place": "text", "x": "integer"}
    opened = lw.open(frame, name="t", unit="who", types=kinds, bounds={"x": (-1, 2)}, **limits)
    rows = list(product(("A", "B"), (-1, 2)))
    of_one = [some for count in range(3) for some in combinations_with_replacement(rows, count)]
    reached = 0
    for asked in (opened, opened.where("x > 0"), opened.group_by("place", keys={"place": ["A", "B"]})):
        query = asked.agg(lw.units(), lw.count(), lw.sum("x", name="s"), lw.count_distinct("x"))
        stated = [s.replaced(query.effective, grouped=query.grouping.size > 1) for s in query.statistics]
        for others in ((), (("A", 2),)):
            answers = [_with(query, mine, others) for mine in of_one]
            for one, other in combinations_with_replacement(answers, 2):
                groups = one.keys() | other.keys()
                for i, most in enumerate(stated):
                    moved = sum(abs(one.get(g, [0] * 4)[i] - other.get(g, [0] * 4)[i]) for g in groups)
                    assert moved <= most, (str(query.statistics[i]), query.explain())
                    reached += moved == most
    assert reached


def _with(query: Query, mine: Iterable[Row], others: Iterable[Row]) -> Any:
    rows = [{"who": "a", "place": place, "x": x} for place, x in mine]
    rows += [{"who": "b", "place": place, "x": x} for place, x in others]
    return oracle.integers(query, {"t": rows}, b"")
