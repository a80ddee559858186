"""Diversity: the papers' tables by hand, the definitions word for word, and pycanon as an oracle."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.anonymity.criteria import (
    BetaLikeness,
    Criterion,
    DistinctDiversity,
    EntropyDiversity,
    LargestShare,
    RecursiveDiversity,
)
from lapwing.anonymity.measures import alpha_k_anonymity, beta_likeness, k_anonymity, l_diversity
from lapwing.errors import InvalidParameter

HEART, VIRAL, CANCER = "heart disease", "viral infection", "cancer"
FOUR_ANONYMOUS = {
    "zip": ["130**"] * 4 + ["1485*"] * 4 + ["130**"] * 4,
    "age": ["<30"] * 4 + [">=40"] * 4 + ["3*"] * 4,
    "condition": [HEART, HEART, VIRAL, VIRAL, CANCER, HEART, VIRAL, VIRAL] + [CANCER] * 4,
}
THREE_DIVERSE = {
    "zip": ["1305*"] * 4 + ["1485*"] * 4 + ["1306*"] * 4,
    "age": ["<=40"] * 4 + [">40"] * 4 + ["<=40"] * 4,
    "condition": [HEART, VIRAL, CANCER, CANCER, CANCER, HEART, VIRAL, VIRAL, HEART, VIRAL, CANCER, CANCER],
}
QUASI = ["zip", "age"]
tables = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from("ab"), st.sampled_from(["flu", "ulcer", "cancer"])), min_size=1
)
class_counts = st.lists(st.integers(0, 6), min_size=2, max_size=5).filter(any)


def as_columns(rows: list[tuple[Any, ...]]) -> dict[str, list[Any]]:
    return dict(zip(("age", "zip", "condition"), map(list, zip(*rows, strict=True)), strict=True))


def met(criterion: Criterion, *classes: list[int]) -> list[bool]:
    counts = np.array(classes)
    return criterion.met(counts, counts.sum(axis=0)).tolist()


def test_the_hospital_of_machanavajjhala_is_4_anonymous_but_not_diverse() -> None:
    assert k_anonymity(FOUR_ANONYMOUS, QUASI) == 4
    found = l_diversity(FOUR_ANONYMOUS, QUASI, "condition")
    assert (found.distinct, found.entropy, found.recursive) == (1, 1.0, 1)
    assert alpha_k_anonymity(FOUR_ANONYMOUS, QUASI, "condition") == (1.0, 4)


def test_the_hospital_of_machanavajjhala_after_another_generalisation_is_3_diverse() -> None:
    assert k_anonymity(THREE_DIVERSE, QUASI) == 4
    found = l_diversity(THREE_DIVERSE, QUASI, "condition")
    assert found.distinct == 3
    assert found.entropy == pytest.approx(2**1.5)  # shares 1/4, 1/4, 1/2: one and a half bits
    assert found.recursive == 3  # 2 < 3·1
    assert l_diversity(THREE_DIVERSE, QUASI, "condition", factor=2).recursive == 2  # 2 < 2·1 fails, 2 < 2·2 holds
    assert alpha_k_anonymity(THREE_DIVERSE, QUASI, "condition") == (0.5, 4)
    assert beta_likeness(THREE_DIVERSE, QUASI, "condition") == pytest.approx(0.5 / (4 / 12) - 1)


def test_the_recursive_example_of_the_paper() -> None:
    """r₁ < c·(r_l + … + r_m), strictly; with l = 2 it bounds the odds of the commonest value."""
    assert met(RecursiveDiversity(sensitive="s", least=2, factor=2), [4, 2, 0], [3, 2, 0]) == [False, True]
    assert met(RecursiveDiversity(sensitive="s", least=3, factor=2), [3, 2, 1], [1, 1, 1]) == [False, True]


def test_entropy_diversity_is_met_by_equal_counts() -> None:
    for least in range(1, 9):  # ln(least) against a rounded sum
        assert met(EntropyDiversity(sensitive="s", least=least), [7] * least + [0]) == [True]
        assert met(EntropyDiversity(sensitive="s", least=least + 0.001), [7] * least + [0]) == [False]


def test_each_criterion_is_met_up_to_its_limit() -> None:
    assert met(DistinctDiversity(sensitive="s", least=2), [5, 1], [6, 0]) == [True, False]
    assert met(LargestShare(sensitive="s", most=0.75), [3, 1], [4, 1]) == [True, False]
    assert met(BetaLikeness(sensitive="s", most=0.5), [3, 1], [1, 3]) == [True, True]
    assert met(BetaLikeness(sensitive="s", most=0.49), [3, 1], [1, 3], [2, 2]) == [False, False, True]


@given(class_counts, st.integers(1, 5), st.sampled_from([0.5, 1, 2, 3]))
def test_recursive_diversity_is_its_definition(counts: list[int], least: int, factor: float) -> None:
    fallen = sorted((count for count in counts if count), reverse=True)
    wanted = fallen[0] < factor * sum(fallen[least - 1 :])
    assert met(RecursiveDiversity(sensitive="s", least=least, factor=factor), counts) == [wanted]


@given(class_counts, st.integers(2, 5))
def test_entropy_diversity_implies_distinct_diversity(counts: list[int], least: int) -> None:
    if met(EntropyDiversity(sensitive="s", least=least), counts) == [True]:
        assert met(DistinctDiversity(sensitive="s", least=least), counts) == [True]


@given(tables)
@settings(max_examples=40, deadline=None)
def test_pycanon_measures_the_same(rows: list[tuple[Any, ...]]) -> None:
    pandas, oracle = pytest.importorskip("pandas"), pytest.importorskip("pycanon.anonymity")
    columns = as_columns(rows)
    frame, quasi = pandas.DataFrame(columns), ["age", "zip"]
    found = l_diversity(columns, quasi, "condition")
    assert k_anonymity(columns, quasi) == oracle.k_anonymity(frame, quasi)
    assert found.distinct == oracle.l_diversity(frame, quasi, ["condition"])
    assert alpha_k_anonymity(columns, quasi, "condition") == oracle.alpha_k_anonymity(frame, quasi, ["condition"])
    assert beta_likeness(columns, quasi, "condition") == pytest.approx(
        oracle.basic_beta_likeness(frame, quasi, ["condition"])
    )
    whole = oracle.entropy_l_diversity(frame, quasi, ["condition"])
    # pycanon cuts e^H to a whole number after rounding: three equal counts may give 2.999…, hence 2
    assert math.floor(found.entropy - 1e-9) <= whole <= math.floor(found.entropy + 1e-9)


def test_pycanon_takes_the_rarest_value_where_the_paper_takes_the_commonest() -> None:
    """Its (c,l) is not that of definition 4.2: it sorts the counts upwards and calls the smallest r₁."""
    pandas, oracle = pytest.importorskip("pandas"), pytest.importorskip("pycanon.anonymity")
    columns = {"age": [1] * 10, "condition": ["flu"] * 9 + ["ulcer"]}
    claimed, least = oracle.recursive_c_l_diversity(pandas.DataFrame(columns), ["age"], ["condition"])
    assert (claimed, least) == (1, 2)
    assert l_diversity(columns, ["age"], "condition", factor=int(claimed)).recursive < 2  # 9 < 1·1 is false
    assert l_diversity(columns, ["age"], "condition", factor=9.5).recursive == 2


def test_what_cannot_be_used_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="least"):
        DistinctDiversity(sensitive="s", least=0)
    with pytest.raises(InvalidParameter, match="most"):
        LargestShare(sensitive="s", most=1.5)
    with pytest.raises(InvalidParameter, match="is not a column"):
        l_diversity(FOUR_ANONYMOUS, QUASI, "diagnosis")
    with pytest.raises(InvalidParameter, match="no rows"):
        l_diversity({"zip": [], "condition": []}, ["zip"], "condition")
