"""Histograms: each record in one public bin, whatever it is."""

from __future__ import annotations

import math
import warnings
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from cases import together
from chance import assert_follows, laplace_pmf

from lapwing.errors import InvalidParameter
from lapwing.mechanisms import Histogram

SURE = 1000  # at this epsilon the noise is 0, except with probability e^-500


def exact(records: Any, **parameters: Any) -> dict[Any, int]:
    return Histogram(epsilon=SURE, **parameters).release(records)


def test_every_public_key_is_answered_in_order_and_others_are_dropped() -> None:
    assert exact(["b", "z", "b", None], keys=["a", "b", "c"]) == {"a": 0, "b": 2, "c": 0}
    assert list(exact(np.array(["b", "z"]), keys=["c", "b", "a"])) == ["c", "b", "a"]
    assert exact([], keys=range(3)) == {0: 0, 1: 0, 2: 0}


def test_everything_else_collects_what_no_key_or_bin_holds() -> None:
    strange = [None, math.nan, math.inf, [1], {}, "x", 1j, Decimal("NaN"), Decimal("sNaN"), object()]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        counts = exact(["a", *strange], keys=["a"], everything_else=True)
        assert counts == {"a": 1, Histogram.ELSE: len(strange)}
        counts = exact([5, *strange], edges=[0, 10], everything_else=True)
        assert counts == {(0, 10): 1, Histogram.ELSE: len(strange)}
        assert exact(np.array([5, np.nan, np.inf, -1]), edges=[0, 10], everything_else=True)[Histogram.ELSE] == 3


@pytest.mark.parametrize("kind", [list, np.array, lambda records: np.array(records, dtype=object)])
def test_bins_hold_their_lower_edge_and_the_last_one_both(kind: Any) -> None:
    assert exact(kind([0.0, 9.99, 10.0, 20.0, 20.01, -0.01]), edges=[0, 10, 20]) == {(0, 10): 2, (10, 20): 2}
    assert exact(kind([0, 9, 10, 20, 21, -1]), edges=[0, 10, 20]) == {(0, 10): 2, (10, 20): 2}


@together(("relation", "rows", "scale"), [("add_remove", 1, 1), ("replace", 1, 2), ("replace", 3, 6)])
def test_noise_fits_the_relation_and_the_rows_of_a_unit(relation: Any, rows: int, scale: int) -> None:
    histogram = Histogram(epsilon=1, keys=range(20_000), relation=relation, max_rows_per_unit=rows)
    assert_follows(histogram.release([]).values(), laplace_pmf(scale), range(-80, 80))
    assert histogram.privacy_loss().epsilon == 1
    assert histogram.privacy_loss().relation == relation
    small = Histogram(epsilon=1, keys=range(100), relation=relation, max_rows_per_unit=rows)
    draws = [count for _ in range(100) for count in small.release([]).values()]
    assert_follows(draws, laplace_pmf(scale), range(-80, 80))


def test_neighbours_differ_by_the_stated_sensitivity_at_most() -> None:
    keys = ["a", "b", "c"]
    histogram = Histogram(epsilon=1, keys=keys, everything_else=True)
    records: list[Any] = ["a", "b", None, "c", "x", [1]]
    for index in range(len(records)):
        fewer = records[:index] + records[index + 1 :]
        assert sum(abs(x - y) for x, y in zip(histogram._counts(records), histogram._counts(fewer), strict=True)) == 1
        other = [*fewer, "a"]
        assert sum(abs(x - y) for x, y in zip(histogram._counts(records), histogram._counts(other), strict=True)) <= 2


def test_accuracy_of_one_count_and_of_all_at_once() -> None:
    names = Histogram(epsilon=1, keys=range(10_000))
    assert (names.accuracy(0.95), names.accuracy(0.95, simultaneous=True)) == (3, 12)
    assert names.variance == pytest.approx(1.841, abs=1e-3)
    solved = Histogram.solve(within=12, simultaneous=True, keys=range(10_000))
    assert solved.accuracy(0.95, simultaneous=True) <= 12
    assert 0.96 < float(solved.epsilon) <= 1


@together(
    "parameters",
    [
        {},
        {"keys": ["a"], "edges": [0, 1]},
        {"keys": []},
        {"keys": "ab"},
        {"keys": 5},
        {"keys": ["a", "a"]},
        {"keys": [1, True]},
        {"keys": [math.nan]},
        {"keys": ["a", "everything else"], "everything_else": True},
        {"edges": [0]},
        {"edges": [1, 0]},
        {"edges": [0, 0]},
        {"edges": [0, math.nan]},
        {"edges": ["0", "1"]},
        {"keys": ["a"], "epsilon": 0},
        {"keys": ["a"], "max_rows_per_unit": 0},
        {"keys": ["a"], "everything_else": "yes"},
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        Histogram(**{"epsilon": 1} | parameters)
