"""The most frequent of keys that nobody declared: those that pass the test, by their noisy counts."""

from __future__ import annotations

import polars as pl
import pytest

import lapwing as lw
from lapwing.errors import InvalidParameter

SIZES = {"ash": 40, "birch": 90, "elm": 1, "oak": 70, "pine": 55}


def table() -> lw.PrivateTable:
    trees = [tree for tree, size in SIZES.items() for _ in range(size)]
    frame = pl.DataFrame({"who": [str(i) for i in range(len(trees))], "tree": trees})
    return lw.open(frame, unit="who")


def test_the_top_of_secret_keys_is_that_of_the_keys_that_may_be_shown() -> None:
    answer = table().agg(lw.top_k("tree", 3)).release(epsilon=50, delta=1e-9)
    assert answer.table["tree"] == ("birch", "oak", "pine")
    assert answer.table["units"] == (90, 70, 55)
    everything = table().agg(lw.top_k("tree", 9)).release(epsilon=50, delta=1e-9)
    assert everything.table["tree"] == ("birch", "oak", "pine", "ash"), "the elm is one person's"
    assert list(everything.table[0]) == ["tree", "units"]


def test_it_costs_what_the_groups_and_their_units_cost() -> None:
    top = table().bounded(max_groups_per_unit=3).agg(lw.top_k("tree", 2))
    groups = table().bounded(max_groups_per_unit=3).group_by("tree").agg(lw.units())
    for spend in ({"epsilon": 1, "delta": 1e-6}, {"rho": 0.1, "delta": 1e-6}):
        assert top.quote(**spend).lines == groups.quote(**spend).lines
        assert top.quote(**spend).loss == groups.quote(**spend).loss


def test_it_needs_a_delta_and_says_so() -> None:
    with pytest.raises(InvalidParameter, match="the values of tree are not declared"):
        table().agg(lw.top_k("tree", 2)).quote(epsilon=1)


def test_it_is_kept_as_a_question_and_asked_again() -> None:
    query = table().agg(lw.top_k("tree", 2, name="people"))
    again = type(query).from_yaml(query.to_yaml(), table())
    assert again.digest() == query.digest()
