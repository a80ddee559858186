"""Mondrian: every class is large enough, every value lies in its label, and every cut that is possible is made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from cases import together
from hypothesis import given, settings
from hypothesis import strategies as some
from numpy.typing import NDArray

from lapwing.anonymity.adult import ADULT_HIERARCHIES
from lapwing.anonymity.closeness import Closeness, CrowdCloseness
from lapwing.anonymity.criteria import DistinctDiversity, EntropyDiversity
from lapwing.anonymity.generalisation import GeneralisedTable
from lapwing.anonymity.hierarchies import Flat, Numbers, Taxonomy
from lapwing.anonymity.measures import k_anonymity, l_diversity, t_closeness
from lapwing.anonymity.mondrian import Mondrian
from lapwing.datasets import adult
from lapwing.errors import InvalidParameter

WORK = Taxonomy({"employed": ["Private", {"public": ["Federal", "State"]}], "not employed": ["Never"]})
ABOVE = {
    "Private": {"Private", "employed", "*"},
    "Federal": {"Federal", "public", "employed", "*"},
    "State": {"State", "public", "employed", "*"},
    "Never": {"Never", "not employed", "*"},
    None: {"missing", "*"},
}
rows = some.fixed_dictionaries(
    {
        "age": some.one_of(some.none(), some.integers(-5, 30)),
        "work": some.sampled_from(list(ABOVE)),
        "town": some.sampled_from(["Ulm", "Bonn", "Kiel", None]),
        "ill": some.sampled_from(["flu", "cold", "burn"]),
    }
)
tables = some.lists(rows, min_size=12, max_size=60)


@dataclass(frozen=True)
class NoMajority:
    """A criterion of our own: no value has more than this share of a class."""

    sensitive: str
    share: float

    def over(self, kinds: Sequence[Any]) -> NoMajority:
        return self

    def met(
        self, counts: NDArray[np.intp], total: NDArray[np.intp], ancestors: Sequence[NDArray[np.intp]] | None = None
    ) -> NDArray[np.bool_]:
        assert ancestors is not None
        for larger in ancestors:  # every one of them contains the classes asked about
            assert (larger >= counts).all()
            assert (larger <= total).all()
        return np.asarray(counts.max(axis=1) <= self.share * counts.sum(axis=1))


def lies_in(value: Any, label: str, column: str) -> bool:
    if label == "*":
        return True
    if column == "work":
        return label in ABOVE[value]
    if column == "town":
        return ("missing" if value is None else value) in label.strip("{}").split(", ")
    if value is None or label == "missing":
        return value is None and label == "missing"
    low, *high = label.replace(" to ", "–").split("–")
    return int(low) <= value <= int((high or [low])[0])


def assert_holds(table: list[dict[str, Any]], found: GeneralisedTable, k: int) -> None:
    names = found.quasi_identifiers
    published = [tuple(found.columns[name][i] for name in names) for i in range(len(table))]
    sizes = Counter(published)
    assert min(sizes.values()) == found.k >= k
    assert sorted(found.classes.sizes) == sorted(sizes.values())
    assert [found.classes.sizes[found.classes.member[i]] for i in range(len(table))] == [
        sizes[one] for one in published
    ]
    for row, labels in zip(table, published, strict=True):
        assert all(lies_in(row[name], label, name) for name, label in zip(names, labels, strict=True))
    assert list(found.columns["ill"]) == [row["ill"] for row in table]
    assert not len(found.suppressed)
    assert 0 <= found.losses.certainty <= 1


@settings(deadline=None, max_examples=60)
@given(tables, some.integers(1, 6), some.booleans())
def test_every_class_has_k_rows_and_every_value_lies_in_its_label(
    table: list[dict[str, Any]], k: int, strict: bool
) -> None:
    ways = {"age": None, "work": WORK, "town": None}
    assert_holds(table, Mondrian(k=k, quasi_identifiers=ways, strict=strict).anonymise(table), k)


@settings(deadline=None, max_examples=40)
@given(tables, some.booleans(), some.sampled_from([0.75, 0.9]))
def test_every_class_meets_the_criteria(table: list[dict[str, Any]], strict: bool, share: float) -> None:
    way = Mondrian(k=2, quasi_identifiers=["age", "town"], strict=strict, criteria=[NoMajority("ill", share)])
    ills = Counter(row["ill"] for row in table)
    if max(ills.values()) > share * len(table):
        with pytest.raises(InvalidParameter, match="whole table"):
            way.anonymise(table)
        return
    found = way.anonymise(table)
    assert_holds(table, found, 2)
    for place in range(len(found.classes)):
        inside = Counter(row["ill"] for row, owner in zip(table, found.classes.member, strict=True) if owner == place)
        assert max(inside.values()) <= share * sum(inside.values())


@settings(deadline=None, max_examples=40)
@given(some.lists(some.tuples(some.integers(0, 8), some.integers(0, 8)), min_size=4, max_size=40), some.integers(2, 4))
def test_numbers_are_cut_until_no_cut_is_left(points: list[tuple[int, int]], k: int) -> None:
    """Strictly: in a class, every cut between two values of a column leaves fewer than k rows on one side."""
    table = {"x": [x for x, _ in points], "y": [y for _, y in points]}
    found = Mondrian(k=k, quasi_identifiers=["x", "y"]).anonymise(table)
    for place in range(len(found.classes)):
        for column in table.values():
            inside = np.array(column)[found.classes.member == place]
            assert not any(k <= (inside < value).sum() <= len(inside) - k for value in inside)


@given(some.lists(some.integers(0, 3), min_size=4, max_size=40), some.integers(2, 4))
def test_relaxed_classes_of_different_numbers_have_fewer_than_2k_rows(numbers: list[int], k: int) -> None:
    found = Mondrian(k=k, quasi_identifiers=["x"], strict=False).anonymise({"x": numbers})
    sizes = Counter(label for label in found.columns["x"] if "–" in label)
    boxes = Counter(zip(found.columns["x"], numbers, strict=True))
    assert found.k >= k
    for label, size in sizes.items():  # only boxes that look alike make a larger class together
        ends = [boxes[label, int(end)] for end in label.split("–")]
        assert size < 2 * k or min(ends) >= 2


def test_rows_with_the_median_fill_up_the_lower_half() -> None:
    relaxed = Mondrian(k=2, quasi_identifiers=["x"], strict=False).anonymise({"x": [1, 5, 5, 5, 9]})
    assert sorted(relaxed.to_dict()["x"]) == ["1–5", "1–5", "5–9", "5–9", "5–9"]
    assert Mondrian(k=2, quasi_identifiers=["x"]).anonymise({"x": [1, 5, 5, 5, 9]}).k == 5


def test_small_groups_of_a_taxonomy_stay_together_when_relaxed() -> None:
    table = {"work": ["Private", "Private", "Never", None]}
    assert set(Mondrian(k=2, quasi_identifiers={"work": WORK}).anonymise(table).to_dict()["work"]) == {"*"}
    relaxed = Mondrian(k=2, quasi_identifiers={"work": WORK}, strict=False).anonymise(table)
    assert relaxed.to_dict()["work"] == ["Private", "Private", "*", "*"]


def test_the_widest_column_is_cut_first() -> None:
    table = {"x": [0, 50, 100, 100], "y": [0, 10, 0, 9], "z": [None, 1, 1, 1]}
    found = Mondrian(k=2, quasi_identifiers=["y", "x"]).anonymise(table, drop=["z"])
    assert found.to_dict() == {"x": ["0–100", "50–100", "0–100", "50–100"], "y": ["0", "9–10", "0", "9–10"]}
    found = Mondrian(k=2, quasi_identifiers={"x": None, "z": None}).anonymise(table, drop=["y"])
    assert found.to_dict() == {"x": ["0–50", "0–50", "100", "100"], "z": ["*", "*", "1", "1"]}


def test_the_census_is_anonymised_as_its_measures_say() -> None:
    people = {name: values[:3000] for name, values in adult("test").items()}
    criteria = [
        DistinctDiversity(sensitive="occupation", least=3),
        EntropyDiversity(sensitive="income", least=1.3),
        Closeness(sensitive="income", most=0.25),
    ]
    ways = {name: ADULT_HIERARCHIES[name] for name in ("workclass", "education", "race", "sex")} | {"age": Numbers()}
    found = Mondrian(k=5, quasi_identifiers=ways, criteria=criteria).anonymise(people, drop=["fnlwgt", "relationship"])
    names = list(ways)
    assert k_anonymity(found.columns, names) == found.k >= 5
    assert l_diversity(found.columns, names, "occupation").distinct >= 3
    assert l_diversity(found.columns, names, "income").entropy >= 1.3 - 1e-9
    assert t_closeness(found.columns, names, "income") <= 0.25 + 1e-9
    assert len(found.classes) > 20
    assert "fnlwgt" not in found.columns
    assert found.to_pandas().groupby(names).size().min() == found.k


def test_crowd_closeness_sees_the_parts_a_class_was_cut_from() -> None:
    """Two towns with different illnesses: no class is like the table, but each is like its town."""
    table = {"town": ["a"] * 40 + ["b"] * 40, "age": [*range(40)] * 2, "ill": [0] * 40 + [1] * 40}
    ways = {"town": Flat(), "age": None}
    near = Mondrian(k=5, quasi_identifiers=ways, criteria=[CrowdCloseness(sensitive="ill", most=0.1, crowd=40)])
    assert len(near.anonymise(table).classes) > 2
    strictly = Mondrian(k=5, quasi_identifiers=ways, criteria=[Closeness(sensitive="ill", most=0.1)])
    assert {len(set(strictly.anonymise(table).columns["town"]))} == {1}


def test_many_different_numbers_keep_their_order() -> None:
    numbers = np.arange(100_000)[::-1] / 8
    labels = Mondrian(k=50_000, quasi_identifiers=["x"]).anonymise({"x": numbers}).columns["x"]
    assert [labels[0], labels[-1]] == ["6250.0–12499.875", "0.0–6249.875"]


def test_blocks_of_criteria_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    people = {name: values[:500] for name, values in adult("test").items()}
    way = Mondrian(k=3, quasi_identifiers=["age", "sex"], criteria=[DistinctDiversity(sensitive="income", least=2)])
    whole = way.anonymise(people)
    monkeypatch.setattr("lapwing.anonymity.mondrian.CELLS", 4)
    assert way.anonymise(people).to_dict() == whole.to_dict()


def test_dates_and_data_frames() -> None:
    pandas = pytest.importorskip("pandas")
    born = [date(1961, 4, 15), date(1962, 1, 1), date(1990, 5, 5), date(1991, 2, 2)]
    frame = pandas.DataFrame({"born": pandas.to_datetime(born), "name": list("abcd")}, index=[7, 8, 9, 10])
    found = Mondrian(k=2, quasi_identifiers=["born"]).anonymise(frame, drop=["name"]).to_pandas()
    assert found["born"].iloc[0] == "1961-04-15 00:00:00 to 1962-01-01 00:00:00"
    assert list(found) == ["born"]


@together(
    ("values", "labels"),
    [
        ([date(2000, 1, 1), datetime(2001, 1, 1), date(1999, 1, 1), datetime(2002, 1, 1)], 2),
        ([datetime(2000, 1, 1), datetime(2001, 1, 1, tzinfo=UTC)] * 2, 2),
        ([-1.7e308, 1.7e308, 0.0, 1e308], 2),
        ([10**400, 1.5, -(10**400), 2.5], 2),
        ([Decimal("NaN"), Decimal(1), None, Decimal(2)], 2),
        ([np.float32("nan"), np.float32(1), None, np.float32(2)], 2),
        ([True, False, True, False], 2),
        ([7, 7, 7, 7], 1),
        ([None] * 4, 1),
    ],
)
def test_strange_columns_are_anonymised_too(values: list[Any], labels: int) -> None:
    found = Mondrian(k=2, quasi_identifiers=["x"]).anonymise({"x": values})
    assert k_anonymity(found.columns, ["x"]) == found.k >= 2
    assert len(set(found.columns["x"])) == labels
    assert 0 <= found.losses.certainty <= 1


def test_the_result_can_be_read() -> None:
    found = Mondrian(k=2, quasi_identifiers=["age"]).anonymise({"age": [3, 4, 30, 40], "ill": ["a", "b", "c", "d"]})
    lines = str(found).splitlines()
    assert lines[0].startswith("4 rows in 2 classes of at least 2, 0 suppressed")
    assert lines[1:3] == ["age    ill", "3–4    a"]
    assert str(Mondrian(k=2, quasi_identifiers=["age"]).anonymise({"age": [*range(20)]})).endswith("… and 12 more")


@together(
    ("way", "table", "why"),
    [
        ({"quasi_identifiers": ["age"], "k": 3}, {"age": [1, 2]}, "only 2 rows"),
        ({"quasi_identifiers": ["height"]}, {"age": [1, 2]}, "not a column"),
        ({"quasi_identifiers": ["age"]}, {"age": []}, "no rows"),
        ({"quasi_identifiers": ["age"]}, [], "not a column"),
        ({"quasi_identifiers": []}, {"age": [1]}, "at least one"),
        ({"quasi_identifiers": ["age", "age"]}, {"age": [1]}, "each column once"),
        ({"quasi_identifiers": "age"}, {"age": [1]}, "names of columns"),
        ({"quasi_identifiers": ["age"], "k": 1}, {"age": [[1], [2]]}, "cannot be told apart"),
        ({"quasi_identifiers": ["age"], "k": 0}, {"age": [1]}, "at least 1"),
        ({"quasi_identifiers": ["age"], "strict": 1}, {"age": [1]}, "True or False"),
        ({"quasi_identifiers": {"age": "numbers"}, "k": 1}, {"age": [1]}, "hierarchy"),
        ({"quasi_identifiers": {"town": Numbers()}, "k": 1}, {"town": ["a"]}, "not numbers"),
        (
            {"quasi_identifiers": ["age"], "k": 1, "criteria": [DistinctDiversity(sensitive="ill", least=1)]},
            {"age": [1]},
            "not a column",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_hint(way: dict[str, Any], table: Any, why: str) -> None:
    with pytest.raises(InvalidParameter, match=why) as caught:
        Mondrian(**way).anonymise(table)
    assert caught.value.hint


def test_a_column_cannot_be_dropped_and_published() -> None:
    with pytest.raises(InvalidParameter, match="quasi-identifier too"):
        Mondrian(k=1, quasi_identifiers=["age"]).anonymise({"age": [1]}, drop=["age"])


def test_relaxed_boxes_that_look_alike_cannot_promise_closeness_to_a_crowd() -> None:
    demand = CrowdCloseness(sensitive="c", most=0.2, crowd=4)
    with pytest.raises(InvalidParameter, match="strict=True"):
        Mondrian(k=2, quasi_identifiers=["a"], strict=False, criteria=[demand])
    assert Mondrian(k=2, quasi_identifiers=["a"], criteria=[demand]).strict


def test_results_can_be_measured_as_they_are() -> None:
    table = Mondrian(k=2, quasi_identifiers=["age"]).anonymise({"age": [1, 2, 8, 9]})
    assert k_anonymity(table, ["age"]) == 2


def test_a_criterion_that_the_whole_table_misses_is_named_by_its_column() -> None:
    demand = DistinctDiversity(sensitive="income", least=3)
    with pytest.raises(InvalidParameter, match=r"income.*2 kinds"):
        Mondrian(k=1, quasi_identifiers=["age"], criteria=[demand]).anonymise({"age": [1, 2], "income": ["a", "b"]})
