"""Cell suppression, rounding and sub-sampling do what they say."""

from __future__ import annotations

from itertools import product

import pytest
from cases import together
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from lapwing.anonymity.rounding import Rounding
from lapwing.anonymity.subsampling import SubSample
from lapwing.anonymity.suppression import CellSuppression, Printed, cross, intervals
from lapwing.errors import InvalidParameter
from lapwing.noise import Recorded, Reproducible

FALSE_ALARM = 1e-6

COUNTS = {"North": {"flu": 40, "HIV": 2}, "South": {"flu": 31, "HIV": 9}, "West": {"flu": 52, "HIV": 6}}


def table_of(numbers: list[list[int]]) -> dict[str, dict[str, int]]:
    return {f"row {i}": {f"column {j}": n for j, n in enumerate(row)} for i, row in enumerate(numbers)}


tables = st.integers(2, 4).flatmap(
    lambda width: st.lists(st.lists(st.integers(0, 30), min_size=width, max_size=width), min_size=2, max_size=4)
)


def test_small_counts_are_hidden_and_zeros_are_not() -> None:
    printed = CellSuppression(threshold=5, complementary=False).publish(table_of([[0, 1, 4], [5, 6, 7]]))
    assert printed.hidden == [("row 0", "column 1"), ("row 0", "column 2")]
    assert printed.row_totals == {"row 0": 5, "row 1": 18}
    assert printed.column_totals == {"column 0": 5, "column 1": 7, "column 2": 11}


def test_without_complementary_cells_the_totals_give_the_small_ones_back() -> None:
    printed = CellSuppression(complementary=False).publish(COUNTS)
    assert intervals(printed) == {("North", "HIV"): (2, 2)}


@given(tables)
@settings(max_examples=25, deadline=None)
def test_complementary_cells_leave_every_small_cell_a_threshold_of_values(numbers: list[list[int]]) -> None:
    counts, method = table_of(numbers), CellSuppression(threshold=4)
    try:
        printed = method.publish(counts)
    except InvalidParameter:  # no rectangle is wide enough
        return
    for (row, column), (low, high) in intervals(printed).items():
        count = counts[row][column]
        assert 1 <= low <= count <= high
        if count < 4:
            assert high - low + 1 >= 4


def test_intervals_are_those_of_all_tables_with_the_same_totals() -> None:
    counts = table_of([[1, 3, 9], [4, 2, 1], [6, 5, 2]])
    printed = CellSuppression(threshold=5, complementary=False).publish(counts)
    hidden = printed.hidden
    found = {cell: set[int]() for cell in hidden}
    for values in product(range(1, 8), repeat=len(hidden)):
        filled = {**printed.cells, **dict(zip(hidden, values, strict=True))}
        rows = all(sum(filled[r, c] for c in printed.column_totals) == t for r, t in printed.row_totals.items())  # type: ignore[misc]
        columns = rows and all(
            sum(filled[r, c] for r in printed.row_totals) == t  # type: ignore[misc]
            for c, t in printed.column_totals.items()
        )
        if columns:
            for cell, value in zip(hidden, values, strict=True):
                found[cell].add(value)
    assert intervals(printed) == {cell: (min(values), max(values)) for cell, values in found.items()}


def test_one_known_cell_undoes_a_rectangle() -> None:
    printed = CellSuppression(threshold=5).publish(COUNTS)
    assert len(printed.hidden) == 4
    assert intervals(printed)["North", "HIV"] != (2, 2)
    assert intervals(printed, known={("North", "flu"): 40})["North", "HIV"] == (2, 2)
    with pytest.raises(InvalidParameter, match="contradicts"):
        intervals(printed, known={("North", "flu"): 4000})


def test_a_table_without_small_counts_is_printed_as_it_is() -> None:
    printed = CellSuppression(threshold=2).publish(COUNTS)
    assert isinstance(printed, Printed)
    assert not printed.hidden
    assert intervals(printed) == {}


def test_records_are_counted_by_two_columns() -> None:
    people = [{"town": "A", "ill": 1}, {"town": "B", "ill": 0}, {"town": "A", "ill": 1}]
    assert cross(people, rows="town", columns="ill") == {"A": {"0": 0, "1": 2}, "B": {"0": 1, "1": 0}}
    with pytest.raises(InvalidParameter, match="is not a column"):
        cross(people, rows="city", columns="ill")


@together(
    ("counts", "why"),
    [
        ({}, "same columns"),
        ({"A": {"x": 1}, "B": {"y": 1}}, "same columns"),
        ({"A": {"x": -1}}, "at least 0"),
        ({"A": {"x": 1.5}}, "at least 0"),
        ({"A": {"x": 1}}, "no three other cells"),
    ],
)
def test_tables_that_cannot_be_protected_are_refused(counts: dict[str, dict[str, int]], why: str) -> None:
    with pytest.raises(InvalidParameter, match=why):
        CellSuppression().publish(counts)


def test_rounding_to_the_nearest_never_moves_more_than_half_a_base() -> None:
    for base in (2, 3, 5, 10):
        for count in range(50):
            answer = Rounding(base=base).release(count)
            assert answer % base == 0
            assert 2 * abs(answer - count) <= base


def test_random_rounding_is_right_on_average_exactly() -> None:
    rounding = Rounding(base=4, at_random=True)
    for count in range(12):
        # All the 64-bit words there are, by their two leading bits: the remainder out of 4 of them round up.
        answers = [rounding.release(count, Recorded([lead << 62, 0, 0, 0], word_bits=64)) for lead in range(4)]
        assert sum(answers) == 4 * count
        assert set(answers) <= {count - count % 4, count - count % 4 + 4}


def test_the_mean_of_many_random_roundings_is_the_count() -> None:
    mean = Rounding(base=5, at_random=True).mean_of(12, 20_000, Reproducible(1))
    ups = round((mean - 10) / 5 * 20_000)
    assert binom.ppf(FALSE_ALARM / 2, 20_000, 0.4) <= ups <= binom.isf(FALSE_ALARM / 2, 20_000, 0.4)
    assert Rounding(base=5).mean_of(12, 100) == 10


def test_a_sample_keeps_whole_records_at_its_share() -> None:
    rows = 20_000
    sample = SubSample(share=0.25).draw({"a": range(rows), "b": range(rows)}, Reproducible(1))
    assert sample["a"] == sample["b"] == sorted(set(sample["a"]))
    kept = len(sample["a"])
    assert binom.ppf(FALSE_ALARM / 2, rows, 0.25) <= kept <= binom.isf(FALSE_ALARM / 2, rows, 0.25)
    assert SubSample(share=1).draw({"a": [1, 2]}) == {"a": [1, 2]}


def test_a_count_from_a_sample_is_scaled_up() -> None:
    flags = [1, 0] * 10_000
    found = SubSample(share=0.25).count(flags, Reproducible(2)) * 0.25
    assert binom.ppf(FALSE_ALARM / 2, 10_000, 0.25) <= found <= binom.isf(FALSE_ALARM / 2, 10_000, 0.25)


@together(
    ("wrong", "name"),
    [
        (lambda: CellSuppression(threshold=1), "threshold"),
        (lambda: Rounding(base=1), "base"),
        (lambda: Rounding(at_random=1), "at_random"),  # type: ignore[arg-type]
        (lambda: SubSample(share=0), "share"),
        (lambda: SubSample(share=1.5), "share"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(wrong: object, name: str) -> None:
    with pytest.raises(InvalidParameter, match=name):
        wrong()  # type: ignore[operator]
