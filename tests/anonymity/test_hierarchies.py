"""How columns become coarser: labels, nesting, shares of the domain, and what is refused."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest
from cases import together
from hypothesis import given
from hypothesis import strategies as some

from lapwing.anonymity.adult import ADULT_HIERARCHIES
from lapwing.anonymity.hierarchies import Digits, Flat, Numbers, Ranges, Sets, Taxonomy, are_numbers
from lapwing.anonymity.ladders import EVERYTHING, Ladder
from lapwing.anonymity.table import encoded
from lapwing.datasets import adult
from lapwing.errors import InvalidParameter

WORK = Taxonomy({"employed": ["Private", {"public": ["Federal", "State"]}], "not employed": ["Never"]})


def rungs(ladder: Ladder, kinds: list[object], kind: object) -> list[str]:
    return ladder.labels[:, ladder.place[kinds.index(kind)]].tolist()


def assert_is_a_ladder(ladder: Ladder) -> None:
    """Groups are runs, each level is coarser than the one below, shares grow, and the top is everything."""
    assert sorted(ladder.place) == list(range(ladder.groups.shape[1]))
    for groups in ladder.groups:
        assert set(np.diff(groups)) <= {0, 1}
        assert groups[0] == 0
    for finer, coarser in zip(ladder.groups, ladder.groups[1:], strict=False):
        assert len(set(zip(finer, coarser, strict=True))) == len(set(finer))
    assert (np.diff(ladder.shares, axis=0) >= -1e-12).all()
    assert (ladder.labels[-1] == EVERYTHING).all()
    assert (ladder.shares[-1] == 1).all()
    assert not ladder.shares[0].any()
    for groups, labels in zip(ladder.groups, ladder.labels, strict=True):
        assert len(set(zip(groups, labels, strict=True))) == len(set(groups)) == len(set(labels))


def test_a_taxonomy_is_climbed_from_its_leaves_and_short_ways_wait_near_the_root() -> None:
    kinds = ["Federal", "Never", "Private", "State", None]
    ladder = WORK.ladder(kinds)
    assert_is_a_ladder(ladder)
    assert rungs(ladder, kinds, "State") == ["State", "public", "employed", "*"]
    assert rungs(ladder, kinds, "Private") == ["Private", "Private", "employed", "*"]
    assert rungs(ladder, kinds, None) == ["missing", "missing", "missing", "*"]
    assert ladder.shares[:, ladder.place[3]].tolist() == [0, 2 / 5, 3 / 5, 1]
    assert ladder.shares[:, ladder.place[2]].tolist() == [0, 0, 3 / 5, 1]


def test_parents_say_the_same_as_a_nested_tree() -> None:
    parents = {
        "Private": "employed", "Federal": "public", "State": "public", "public": "employed", "employed": "*",
        "Never": "not employed",
    }  # fmt: skip
    kinds = ["Federal", "Never", "Private", "State"]
    one, other = WORK.ladder(kinds), Taxonomy(parents).ladder(kinds)
    assert [rungs(one, kinds, kind) for kind in kinds] == [rungs(other, kinds, kind) for kind in kinds]
    assert [one.shares[:, one.place[i]].tolist() for i in range(4)] == [
        other.shares[:, other.place[i]].tolist() for i in range(4)
    ]


def test_a_taxonomy_counts_leaves_that_do_not_occur() -> None:
    assert WORK.ladder(["Federal"]).shares[:, 0].tolist() == [0, 2 / 4, 3 / 4, 1]


def test_ranges_of_whole_numbers_name_both_ends() -> None:
    kinds = [17, 19, 20, 39, 90]
    ladder = Ranges((5, 10, 20)).ladder(kinds)
    assert_is_a_ladder(ladder)
    assert rungs(ladder, kinds, 39) == ["39", "35–39", "30–39", "20–39", "*"]
    assert ladder.shares[:, 3].tolist() == [0, 4 / 73, 9 / 73, 19 / 73, 1]


def test_ranges_of_fractions_leave_out_the_upper_end_and_go_by_what_is_written() -> None:
    kinds = [0.1, 0.3, 0.75]
    assert rungs(Ranges((0.1, 0.5)).ladder(kinds), kinds, 0.3) == ["0.3", "[0.3, 0.4)", "[0, 0.5)", "*"]
    assert Ranges((10,), origin=5).label(-3, 1) == "-5 to 4"


def test_a_range_wider_than_the_column_covers_no_more_than_all_of_it() -> None:
    assert Ranges((1000,)).ladder([1, 2]).shares[1].tolist() == [1, 1]


def test_digits_go_from_the_right() -> None:
    kinds = ["02138", "02139", "10001", None]
    ladder = Digits(5).ladder(kinds)
    assert_is_a_ladder(ladder)
    assert rungs(ladder, kinds, "02138") == ["02138", "0213*", "021**", "02***", "0****", "*"]
    assert ladder.shares[:, 0].tolist() == [0, 2 / 4, 2 / 4, 2 / 4, 2 / 4, 1]
    assert Digits(5).label(2138, 1) == "0213*"


def test_flat_is_all_or_nothing() -> None:
    ladder = Flat().ladder(["f", "m"])
    assert_is_a_ladder(ladder)
    assert ladder.labels.tolist() == [["f", "m"], ["*", "*"]]


@pytest.mark.parametrize("column", ADULT_HIERARCHIES)
def test_the_census_hierarchies_hold_every_value(column: str) -> None:
    kinds = encoded(adult("test")[column])[1]
    assert_is_a_ladder(ADULT_HIERARCHIES[column].ladder(kinds))


@given(some.sets(some.integers(-50, 50), min_size=1), some.integers(2, 5), some.integers(2, 4), some.integers(-9, 9))
def test_ranges_are_always_a_ladder(numbers: set[int], width: int, factor: int, origin: int) -> None:
    kinds = sorted(numbers)
    ladder = Ranges((width, width * factor), origin=origin).ladder([*kinds, None])
    assert_is_a_ladder(ladder)
    for number, label in zip(kinds, ladder.labels[2], strict=False):
        low, high = map(int, label.replace(" to ", "–").split("–"))
        assert low <= number <= high == low + width * factor - 1
        assert (low - origin) % (width * factor) == 0


def test_missing_values_are_one_kind_at_the_end() -> None:
    nan = float("nan")
    assert encoded([nan, 2.5, None, float("nan"), 1])[1] == [1, 2.5, None]
    codes, kinds = encoded(np.array([np.nan, 2.5, np.nan]))
    assert codes.tolist() == [1, 0, 1]
    assert kinds == [2.5, None]
    assert encoded(np.array(["2020-01-02", "NaT"], "datetime64[ns]"))[1][1] is None


def test_numbers_and_dates_are_told_from_words() -> None:
    assert are_numbers([1, 2.5, None])
    assert are_numbers([date(1961, 4, 15)])
    assert not are_numbers([1, "a"])
    assert not are_numbers([True])
    assert not are_numbers([1, date(1961, 4, 15)])


def test_positions_on_a_scale_are_relative_and_missing_values_lie_beyond() -> None:
    assert Numbers().scale([10, 20, 50, None]).positions.tolist() == [0, 0.25, 1, 2]
    assert Numbers().scale([date(2020, 1, 1), date(2020, 1, 3)]).positions.tolist() == [0, 1]
    assert Numbers().scale([7]).positions.tolist() == [0]
    assert Sets().scale(["a", "b", "c"]).positions.tolist() == [0, 0.5, 1]


@together(
    ("make", "why"),
    [
        (lambda: Ranges((5, 12)), "multiple"),
        (lambda: Ranges(()), "multiple"),
        (lambda: Ranges((0,)), "greater than 0"),
        (lambda: Digits(0), "at least 1"),
        (lambda: Taxonomy({}), "empty"),
        (lambda: Taxonomy({"a": ["x"], "b": ["x"]}), "two places"),
        (lambda: Taxonomy([{"a": ["x"]}, "y", {"a": ["z"]}]), "two places"),
        (lambda: Taxonomy({"a": ["x", "a"]}), "another name"),
        (lambda: Taxonomy({"x": "a", "a": "b", "b": "a"}), "above itself"),
        (lambda: WORK.ladder(["Private", "Astronaut"]), "1 kinds of value"),
        (lambda: Digits(5).ladder(["123"]), "number of characters"),
        (lambda: Ranges((5,)).ladder(["old"]), "not numbers"),
        (lambda: Numbers().scale([1.0, float("inf")]), "infinite"),
        (lambda: Flat().label("x", 2), "no such level"),
    ],
)
def test_what_cannot_be_is_refused_with_a_hint(make: object, why: str) -> None:
    with pytest.raises(InvalidParameter, match=why) as caught:
        make()  # type: ignore[operator]
    assert caught.value.hint
    assert "Astronaut" not in str(caught.value)


def test_one_width_alone_is_told_how_to_be_written() -> None:
    with pytest.raises(InvalidParameter, match=r"widths=\(5, 10, 20\)"):
        Ranges(5)  # type: ignore[arg-type]
