"""The Earth Mover's Distance against linear programming and by hand; t-closeness and (n,t)-closeness."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.anonymity.closeness import Closeness, CrowdCloseness, Equal, Ground, Hierarchical, Ordered
from lapwing.anonymity.measures import nt_closeness, t_closeness
from lapwing.errors import InvalidParameter

INFECTION, STOMACH = ("respiratory infection", "respiratory"), ("stomach", "digestive")
DISEASES = {
    "flu": INFECTION,
    "pneumonia": INFECTION,
    "bronchitis": INFECTION,
    "pulmonary edema": ("vascular lung", "respiratory"),
    "pulmonary embolism": ("vascular lung", "respiratory"),
    "gastric ulcer": STOMACH,
    "stomach cancer": STOMACH,
    "gastritis": STOMACH,
    "colitis": ("colon", "digestive"),
    "colon cancer": ("colon", "digestive"),
}
TAXONOMY = Hierarchical(groups=DISEASES)
CLOSE = {  # Li, Li and Venkatasubramanian 2007, Table 5
    "zip": ["4767*"] * 3 + ["4790*"] * 3 + ["4760*"] * 3,
    "age": ["<=40"] * 3 + [">=40"] * 3 + ["<=40"] * 3,
    "salary": [3, 5, 9, 6, 11, 8, 4, 7, 10],
    "disease": [
        *("gastric ulcer", "stomach cancer", "pneumonia"),
        *("gastritis", "flu", "bronchitis"),
        *("gastritis", "bronchitis", "stomach cancer"),
    ],
}
QUASI = ["zip", "age"]


def ground_distance(ground: Ground, kinds: list[Any], one: int, other: int) -> float:
    """Between two values, from the definitions in the paper."""
    if isinstance(ground, Equal):
        return float(one != other)
    if isinstance(ground, Ordered):
        return abs(one - other) / (len(kinds) - 1)
    lines = [(kinds[place], *DISEASES[kinds[place]], "root") for place in (one, other)]
    return next(height for height in range(4) if lines[0][height] == lines[1][height]) / 3


def carried(ground: Ground, kinds: list[Any], one: list[int], other: list[int]) -> float:
    """The cheapest way to carry, by linear programming."""
    from scipy.optimize import linprog

    size = len(kinds)
    costs = [ground_distance(ground, kinds, i, j) for i in range(size) for j in range(size)]
    leave = np.kron(np.eye(size), np.ones(size))
    arrive = np.kron(np.ones(size), np.eye(size))
    masses = np.concatenate([np.array(one) / sum(one), np.array(other) / sum(other)])
    return float(linprog(costs, A_eq=np.vstack([leave, arrive]), b_eq=masses).fun)


def test_the_salary_example_of_the_paper() -> None:
    salaries, low, wide = np.ones(9, int), [1, 1, 1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 1, 0, 0, 1]
    distances = Ordered().distances(np.array([low, wide]), salaries)
    assert distances == pytest.approx([0.375, 1 / 6])


def test_the_disease_example_of_the_paper() -> None:
    """The paper's 0.5 and 0.278 compare with the six diseases as if each were as frequent as the others."""
    kinds = ["gastric ulcer", "gastritis", "stomach cancer", "flu", "bronchitis", "pneumonia"]
    classes = np.array([[1, 1, 1, 0, 0, 0], [1, 0, 1, 0, 0, 1]])
    assert TAXONOMY.over(kinds).distances(classes, np.ones(6, int)) == pytest.approx([0.5, 0.278], abs=5e-4)
    as_often_as_in_the_table = np.array([1, 2, 2, 1, 2, 1])
    assert TAXONOMY.over(kinds).distances(classes, as_often_as_in_the_table) == pytest.approx([4 / 9, 7 / 27])


def test_the_table_of_the_paper() -> None:
    assert t_closeness(CLOSE, QUASI, "salary") == pytest.approx(1 / 6)
    assert t_closeness(CLOSE, QUASI, "disease", TAXONOMY) == pytest.approx(8 / 27)  # the class of zip 4790*


def test_the_disease_distances_of_the_paper() -> None:
    over = TAXONOMY.over(list(DISEASES))
    flu = np.eye(10, dtype=int)[0]
    found = dict(zip(DISEASES, over.distances(np.eye(10, dtype=int), flu), strict=True))
    assert found["bronchitis"] == pytest.approx(1 / 3)
    assert found["pulmonary embolism"] == pytest.approx(2 / 3)
    assert found["stomach cancer"] == pytest.approx(1)


masses = st.lists(st.integers(0, 5), min_size=10, max_size=10).filter(any)


@given(masses, masses, st.sampled_from([Equal(), Ordered(), TAXONOMY]))
@settings(max_examples=60, deadline=None)
def test_the_distance_is_the_cheapest_way_to_carry(one: list[int], other: list[int], ground: Ground) -> None:
    kinds = list(DISEASES)
    found = ground.over(kinds).distances(np.array([one]), np.array(other))
    assert found[0] == pytest.approx(carried(ground, kinds, one, other), abs=1e-8)


def test_an_order_of_words_may_be_told() -> None:
    income = {"who": ["a", "a", "b"], "income": ["low", "high", "middle"]}
    told = t_closeness(income, ["who"], "income", Ordered(order=("low", "middle", "high")))
    assert told == pytest.approx(1 / 3)  # b: a third from each end to the middle
    assert t_closeness(income, ["who"], "income", Ordered()) == pytest.approx(1 / 2)  # high, low, middle by letters
    longer = Ordered(order=("none", "low", "middle", "high", "huge"))
    assert t_closeness(income, ["who"], "income", longer) == pytest.approx(1 / 6)


rows = st.lists(st.tuples(st.integers(0, 2), st.sampled_from("ab"), st.integers(0, 4)), min_size=2)


@given(rows, st.booleans())
@settings(max_examples=40, deadline=None)
def test_pycanon_measures_the_same(rows: list[tuple[Any, ...]], words: bool) -> None:
    pandas, oracle = pytest.importorskip("pandas"), pytest.importorskip("pycanon.anonymity")
    ages, zips, values = zip(*rows, strict=True)
    secret = [f"kind {value}" for value in values] if words else list(values)
    columns = {"age": list(ages), "zip": list(zips), "secret": secret}
    found = t_closeness(columns, ["age", "zip"], "secret")
    if len(set(secret)) == 1:
        assert found == 0  # pycanon divides by the number of steps between the ends, which is none
        return
    assert found == pytest.approx(oracle.t_closeness(pandas.DataFrame(columns), ["age", "zip"], ["secret"]))


def test_a_class_may_be_close_to_a_crowd_around_it_instead_of_the_table() -> None:
    """The example behind (n,t)-closeness: a town that differs from the country teaches nothing about its streets."""
    street, town, country = np.array([[8, 2], [1, 9]]), np.array([80, 20]), np.array([100, 900])
    near = {"sensitive": "s", "most": 0.1}
    assert Closeness(**near).met(street, country).tolist() == [False, True]
    assert CrowdCloseness(**near, crowd=100).met(street, country, [town]).tolist() == [True, True]
    assert CrowdCloseness(**near, crowd=101).met(street, country, [town]).tolist() == [False, True]
    each = np.array([[80, 20], [90, 10]])
    assert CrowdCloseness(**near, crowd=100).met(street, np.array([500, 500]), [each]).tolist() == [True, False]
    assert CrowdCloseness(**near, crowd=10).met(street, country).all()  # large enough themselves
    assert not CrowdCloseness(**near, crowd=1001).met(street, country).any()  # no crowd at all


def test_the_larger_classes_of_a_table_agree_in_fewer_columns() -> None:
    streets = {
        "town": ["A"] * 40 + ["B"] * 40,
        "street": ["one"] * 20 + ["two"] * 20 + ["three"] * 20 + ["four"] * 20,
        "ill": ([1] * 15 + [0] * 5) * 2 + ([1] * 5 + [0] * 15) * 2,
    }
    quasi = ["town", "street"]
    assert t_closeness(streets, quasi, "ill") == pytest.approx(0.25)
    assert nt_closeness(streets, quasi, "ill", crowd=80) == pytest.approx(0.25)
    assert nt_closeness(streets, quasi, "ill", crowd=40) == pytest.approx(0)
    assert nt_closeness(streets, quasi, "ill", crowd=81) == np.inf


def test_closeness_is_met_up_to_its_limit() -> None:
    counts = np.array([[3, 1], [2, 2], [1, 3]])
    assert Closeness(sensitive="s", most=0.25).met(counts, counts.sum(axis=0)).all()
    assert Closeness(sensitive="s", most=0.24).met(counts, counts.sum(axis=0)).tolist() == [False, True, False]


def test_what_cannot_be_used_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="does not name 'cough'"):
        t_closeness({"a": [1, 2], "b": ["flu", "cough"]}, ["a"], "b", TAXONOMY)
    with pytest.raises(InvalidParameter, match="over"):
        Closeness(sensitive="s", most=0.1, ground=TAXONOMY).met(np.ones((2, 3), int), np.ones(3, int))
    with pytest.raises(InvalidParameter, match="more groups"):
        Hierarchical(groups={"flu": ("lungs",), "ulcer": ()})
    with pytest.raises(InvalidParameter, match="most"):
        Closeness(sensitive="s", most=2)
