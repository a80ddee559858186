"""Quantiles from counts: the same law as from the values, refined only where it matters, on long columns too."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from chance import assert_follows
from hypothesis import given, settings
from hypothesis import strategies as st
from ranks import gaps, law

from lapwing.errors import InvalidCall, InvalidParameter
from lapwing.mechanisms import Median, Quantile, cell_counts, quantile_draw
from lapwing.mechanisms.cell_counts import CellCounts
from lapwing.mechanisms.ladder import Ladder
from lapwing.mechanisms.quantile_draw import Cell, QuantileDraw
from lapwing.noise import SYSTEM, Entropy

GRID = range(-2, 14)
VALUES = [-2, 0, 0, 1, 5, 5, 5, 6, 9, 13]
Triple = tuple[int, int, int]


def cells_of(values: Sequence[int], edges: Sequence[int]) -> list[Triple]:
    """Counts between neighbouring edges."""
    return [
        (start, end - start, sum(start <= value < end for value in values))
        for start, end in itertools.pairwise(sorted({*edges, GRID.start, GRID.stop}))
    ]


def finer(values: Sequence[int], cell: Cell, width: int) -> tuple[list[int], list[int], int]:
    """What `refine` wants to know, in cells of some width."""
    inside = (value - cell.start for value in values if cell.start <= value < cell.start + cell.width)
    counts = sorted(Counter(cell.start + place // width * width for place in inside).items())
    return [start for start, _ in counts], [count for _, count in counts], width


def drawn(draw: QuantileDraw, values: Sequence[int], levels: int = 1) -> tuple[Any, list[Cell]]:
    """The value, and the cells that were wanted on the way; cells are halved as long as there are levels."""
    asked: list[Cell] = []
    while (cell := draw.wanted) is not None:
        asked.append(cell)
        half = -(-cell.width // 2)
        draw.refine(*finer(values, cell, half if len(asked) < levels else 1))
    return draw.value, asked


def quantile(epsilon: float = 1.0, q: Fraction = Fraction(1, 3)) -> Quantile:
    return Quantile(epsilon=epsilon, q=q, bounds=(GRID.start, GRID.stop - 1), granularity=1)


EDGES = [[], [5], [1, 2, 3, 9], [-1, 4, 5, 6, 13], list(GRID)]


@pytest.mark.parametrize("many", [False, True], ids=["lists", "arrays"])
@pytest.mark.parametrize("levels", [1, 5])
@pytest.mark.parametrize("edges", EDGES, ids=str)
def test_whatever_the_cells_the_law_is_that_of_the_values(
    edges: list[int], levels: int, many: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quantile_draw, "SMALL", 0 if many else 256)
    mechanism, cells = quantile(), cells_of(VALUES, edges)
    chances = law(mechanism, VALUES, GRID)
    draws = (drawn(mechanism.start(cells), VALUES, levels)[0] for _ in range(4000))
    assert_follows(draws, lambda point: chances[point - GRID.start], GRID)


@given(
    st.lists(st.sampled_from(GRID), max_size=12),
    st.lists(st.sampled_from(GRID), max_size=5),
    st.fractions(0, 1, max_denominator=7),
    st.integers(0, 2**32),
)
@settings(deadline=None)
def test_what_is_known_of_a_gap_is_right_and_no_more_could_be_known(
    values: list[int], edges: list[int], share: Fraction, seed: int
) -> None:
    mechanism = quantile(q=share)
    draw = mechanism.start([cell for cell in cells_of(values, edges) if seed % 2 or cell[2]])
    asked = drawn(draw, values, levels=seed % 3)[1]
    assert draw.wanted is None
    assert all(cell.count > 0 and cell.width > 1 for cell in asked)
    exact = dict(zip(GRID, gaps(values, mechanism._share, GRID), strict=True))
    for index, start in enumerate(draw._points[:-1]):
        cell = draw._cell(index)
        others = [value for value in values if not start <= value < start + cell.width]
        for point in range(start, start + cell.width):
            draw._point = point
            least, most = draw._limits(index)
            assert least <= exact[point] <= most
            if cell.count <= 3:
                choices = itertools.combinations_with_replacement(range(start, start + cell.width), cell.count)
                possible = [gaps([*others, *choice], mechanism._share, [point])[0] for choice in choices]
                assert (least, most) == (min(possible), max(possible))


def test_one_gap_at_least_is_zero_whatever_is_known() -> None:
    for edges, share in itertools.product(EDGES, (Fraction(0), Fraction(1, 2), Fraction(1))):
        for values in ([], VALUES, [13] * 9):
            gaps_of_cells, widths = quantile(q=share).start(cells_of(values, edges))._weights()
            assert min(gaps_of_cells) == 0
            assert sum(widths) == len(GRID)


def test_cells_of_one_point_or_no_value_are_never_wanted() -> None:
    exact = [(value, 1, count) for value, count in sorted(Counter(VALUES).items())]
    assert all(quantile(epsilon=9).start(exact).wanted is None for _ in range(200))
    assert all(quantile().start([]).wanted is None for _ in range(200))
    assert quantile(epsilon=400).start([(4, 1, 50)]).value == 4


def test_a_draw_that_hardly_depends_on_the_ranks_asks_for_nothing() -> None:
    whole = cells_of(VALUES, [])
    assert all(quantile(epsilon=1e-12).start(whole).wanted is None for _ in range(200))
    assert any(quantile(epsilon=5).start(whole).wanted is not None for _ in range(200))


def test_what_was_told_is_remembered() -> None:
    mechanism = quantile(epsilon=3)
    for _ in range(300):
        _, asked = drawn(mechanism.start(cells_of(VALUES, [5, 9])), VALUES, levels=3)
        for before, after in itertools.combinations(asked, 2):
            apart = after.start + after.width <= before.start or before.start + before.width <= after.start
            assert apart or after.width < before.width
        assert len(asked) <= 8


def test_the_end_of_the_target_cell_needs_no_look() -> None:
    """Nobody below the first point of a cell, everybody up to its last: such points have a known rank."""
    draw = Median(epsilon=50, bounds=(0, 9), granularity=1).start([(0, 5, 10), (5, 5, 10)])
    for point, known in ((4, True), (5, True), (3, False), (6, False)):
        draw._point = point
        least, most = draw._limits(0 if point < 5 else 1)
        assert least == 0
        assert (most == 0) is known


def test_counts_beyond_int64_are_counted() -> None:
    cells = [(start, 1, 10**18) for start in range(0, 800, 2)]
    mechanism = Quantile(epsilon=1, bounds=(0, 800), granularity=1, q=Fraction(1, 3))
    assert mechanism.start(cells).value == 266  # rank 10^18·400/3 lies within the 134th point


def test_the_weights_of_cells_are_the_same_for_lists_and_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = quantile().start(cells_of(VALUES, [3, 7]))
    short = draw._weights()
    monkeypatch.setattr(quantile_draw, "SMALL", 0)
    assert [list(map(int, column)) for column in draw._weights()] == [list(column) for column in short]


@pytest.mark.parametrize(
    "cells",
    [[(3, 2, 1), (2, 1, 1)], [(3, 2, 1), (4, 1, 1)], [(-3, 2, 1)], [(12, 3, 1)], [(3, 0, 1)], [(3, 1, -1)]],
    ids=["descending", "overlapping", "below", "above", "empty", "negative"],
)
def test_cells_that_cannot_be_are_refused(cells: list[Triple]) -> None:
    with pytest.raises(InvalidParameter, match="<cells>"):
        quantile().start(cells)


def test_a_refinement_must_fit_the_cell_wanted() -> None:
    mechanism = quantile(epsilon=30)
    while (draw := mechanism.start([(0, 4, 2), (8, 2, 2)])).wanted != Cell(0, 4, 2):
        pass
    with pytest.raises(InvalidCall):
        draw.value  # noqa: B018
    for starts, counts, width in (([0], [1], 1), ([0], [3], 1), ([4], [2], 1), ([-1], [2], 1), ([0], [2], 4)):
        with pytest.raises(InvalidParameter):
            draw.refine(starts, counts, width)
    with pytest.raises(InvalidParameter):
        draw.refine([0], [2], 0)
    assert draw.wanted == Cell(0, 4, 2)
    draw.refine(np.array([1, 3]), np.array([1, 1]))
    assert drawn(draw, [1, 3, 8, 9])[0] in GRID


def test_nothing_is_shown_by_a_draw_that_is_printed() -> None:
    assert repr(quantile().start(cells_of([5], []))).startswith("<lapwing.mechanisms.quantile_draw.QuantileDraw object")


# -- long columns ------------------------------------------------------------------------------------------------------


@pytest.fixture
def few_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four cells at a time, two values sorted at most, short blocks: every path on a small column."""
    for name, value in (("SMALL", 0), ("_CELL_BITS", 2), ("_FEW", 2), ("_BLOCK", 7)):
        monkeypatch.setattr(cell_counts, name, value)


@pytest.mark.usefixtures("few_cells")
@pytest.mark.parametrize(
    "column",
    [
        np.array(VALUES, dtype=np.float64),
        np.array(VALUES, dtype=np.int8),
        VALUES,
        np.array([math.nan, *VALUES, -math.inf, math.inf]),
        np.array([None, *VALUES, "text"], dtype=object),
        np.array([-9.0, *VALUES[1:-1], 1e300]),
    ],
    ids=["doubles", "ints", "list", "not finite", "objects", "far"],
)
def test_long_columns_follow_the_law(column: Any) -> None:
    mechanism = quantile()
    chances = law(mechanism, VALUES, GRID)
    draws = (mechanism.release(column) for _ in range(1500))
    assert_follows(draws, lambda point: chances[point - GRID.start], GRID)


HALVES = st.integers(-40, 40).map(lambda number: number / 8)
COLUMNS = st.one_of(
    st.lists(st.one_of(HALVES, st.floats(allow_nan=True, width=64))).map(lambda v: np.array(v, dtype=np.float64)),
    st.lists(st.one_of(HALVES, st.floats(width=32))).map(lambda v: np.array(v, dtype=np.float32)),
    st.lists(st.floats(width=16)).map(lambda v: np.array(v, dtype=np.float16)),
    st.lists(st.integers(-128, 127)).map(lambda v: np.array(v, dtype=np.int8)),
    st.lists(st.integers(0, 2**64 - 1)).map(lambda v: np.array(v, dtype=np.uint64)),
    st.lists(st.booleans()).map(lambda v: np.array(v, dtype=np.bool_)),
    st.lists(st.one_of(st.integers(-9, 9), st.none(), st.text(max_size=2))),
)


@given(COLUMNS, st.sampled_from([(-3, 4), (-2.9, 3.1), (0, 1)]), st.sampled_from([1, 0.25, 0.1, 2.0**-30]), st.data())
@settings(deadline=None)
def test_counts_are_those_of_the_rounded_values(column: Any, bounds: Any, granularity: float, data: Any) -> None:
    ladder = Ladder(bounds, granularity)
    steps = [int(step) for step in ladder.rungs(column)]
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("SMALL", 0), ("_CELL_BITS", 2), ("_FEW", data.draw(st.integers(0, 3))), ("_BLOCK", 2)):
            patch.setattr(cell_counts, name, value)
        values = CellCounts(column, ladder)
        cells, at = values.cells(), ladder.low
        while cells:
            start, width, count = cells.pop(0)
            assert start >= at
            assert start + width <= ladder.high + 1
            assert count == sum(start <= step < start + width for step in steps) > 0
            assert sum(at <= step < start for step in steps) == 0
            at = start + width
            if width > 1:
                starts, counts, finer_width = values.within(Cell(start, width, count))
                assert finer_width < width
                assert sum(counts) == count
                ends = [min(finer_width, start + width - first) for first in starts]
                cells[:0] = zip(starts, ends, counts, strict=True)
                at = start
        assert sum(step >= at for step in steps) == 0


class Counting(Entropy):
    """Counts the calls, to see that a draw on a long column is no longer than on a short one."""

    private = True

    def __init__(self) -> None:
        self.calls = 0

    def bits(self, count: int) -> int:
        self.calls += 1
        return SYSTEM.bits(count)

    def fill(self, target: memoryview) -> None:
        SYSTEM.fill(target)


def test_a_long_column_is_passed_a_few_times_and_its_draw_takes_few_rounds() -> None:
    values = np.random.default_rng(1).normal(0.5, 0.1, 300_000)
    mechanism = Quantile(epsilon=1, q=0.9, bounds=(0, 1), granularity=2.0**-50)
    entropy, passes = Counting(), 0
    for _ in range(20):
        column = CellCounts(values, mechanism._ladder)
        draw = mechanism.start(column.cells(), entropy)
        while (cell := draw.wanted) is not None:
            draw.refine(*column.within(cell))
            passes += 1
    assert passes <= 100
    assert entropy.calls <= 400
