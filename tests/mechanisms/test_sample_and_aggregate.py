"""Sample and aggregate: one unit, one block, one output; whatever the function does."""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import together
from chance import assert_follows, assert_mean, assert_seldom, laplace_pmf

from lapwing.errors import InvalidParameter
from lapwing.mechanisms import SampleAndAggregate
from lapwing.noise import SYSTEM, Recorded


def over(function: Any, **more: Any) -> SampleAndAggregate:
    return SampleAndAggregate(**{"epsilon": 1, "function": function, "bounds": (0, 100), "blocks": 10, **more})


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("kind", [list, np.array])
def test_every_unit_is_in_exactly_one_block(relation: Any, kind: Any) -> None:
    blocks = over(len, relation=relation)._deal(kind(range(57)), SYSTEM)
    assert len(blocks) == 10
    assert sorted(int(unit) for block in blocks for unit in block) == list(range(57))
    assert all(list(block) == sorted(block) for block in blocks)
    if relation == "replace":
        assert sorted(len(block) for block in blocks) == [5, 5, 5, 6, 6, 6, 6, 6, 6, 6]


@pytest.mark.parametrize("kind", [list, np.array])
def test_units_choose_their_blocks_independently_under_add_remove(kind: Any) -> None:
    pairs: Counter[int] = Counter()
    mechanism = over(len, blocks=3)
    for _ in range(6000):
        where = {
            int(unit): place for place, block in enumerate(mechanism._deal(kind([0, 1]), SYSTEM)) for unit in block
        }
        pairs[3 * where[0] + where[1]] += 1
    assert_follows(pairs.elements(), lambda pair: 1 / 9, range(9))


@pytest.mark.parametrize("kind", [list, np.array])
def test_every_even_deal_is_equally_likely_under_replace(kind: Any) -> None:
    deals = {pair: place for place, pair in enumerate(itertools.combinations(range(4), 2))}
    mechanism = over(len, blocks=2, relation="replace")
    draws = (deals[tuple(int(unit) for unit in mechanism._deal(kind(range(4)), SYSTEM)[0])] for _ in range(6000))
    assert_follows(draws, lambda deal: 1 / 6, range(6))


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_with_the_same_deal_a_unit_changes_one_output_only(relation: Any) -> None:
    mechanism = over(sum, relation=relation)
    words = [value * 0x9E3779B97F4A7C15 % 2**64 for value in range(1, 400)]
    data = list(range(30))
    changed = [*data, 999] if relation == "add_remove" else [*data[:-1], 999]
    outputs = [
        [mechanism._output(block) for block in mechanism._deal(values, Recorded(words, 64))]
        for values in (data, changed)
    ]
    assert sum(one != two for one, two in zip(*outputs, strict=True)) == 1


def test_the_mean_of_the_outputs_gets_laplace_noise_for_the_whole_range() -> None:
    mechanism = over(lambda block: 42, blocks=4)
    assert mechanism.privacy_loss().epsilon == 1
    noise = laplace_pmf(100.0)
    answers = [mechanism.release(range(50)) for _ in range(6000)]
    inside = [round(4 * answer) - 168 for answer in answers if 0 < answer < 100]
    kept = math.fsum(noise(z) for z in range(-167, 232))
    assert_follows(inside, lambda z: noise(z) / kept, range(-167, 232))
    assert mechanism.variance == pytest.approx(2 * 100**2 / 16, rel=1e-3)
    wrong = sum(abs(answer - 42) > mechanism.accuracy(0.8) for answer in answers)
    assert_seldom(wrong, 6000, 0.2)


def test_the_loss_of_the_mean_is_epsilon_when_one_output_crosses_the_range() -> None:
    mechanism = over(lambda block: 0, blocks=4, epsilon=Fraction(3, 2))
    noise = laplace_pmf(float(mechanism._scale))
    ratios = [math.log(noise(z) / noise(z - mechanism._ladder.width)) for z in range(-300, 300)]
    assert max(map(abs, ratios)) == pytest.approx(1.5)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_the_median_of_the_outputs_is_robust(relation: Any) -> None:
    mechanism = over(statistics.fmean, blocks=100, aggregate="median", relation=relation, epsilon=4)
    assert mechanism.privacy_loss().epsilon == 4
    assert mechanism.privacy_loss().relation == relation
    answers = [mechanism.release([70.0] * 3000) for _ in range(20)]
    assert answers == [70] * 20
    assert mechanism.accuracy() < 10
    assert math.isnan(mechanism.variance)


def fails(block: object) -> object:
    raise KeyError(block)


def leaves(block: object) -> object:
    raise SystemExit(1)


@pytest.mark.parametrize(
    "function", [fails, leaves, lambda b: math.nan, lambda b: None, lambda b: "text", lambda b: [1], lambda b: math.inf]
)
def test_a_function_that_fails_counts_as_the_middle(function: Any) -> None:
    mechanism = over(function, epsilon=1000)
    assert mechanism.release(list(range(100))) == pytest.approx(50, abs=1)
    assert mechanism.release([]) == pytest.approx(50, abs=1)


def test_outputs_are_clamped_to_the_bounds() -> None:
    assert over(lambda block: 10**400, epsilon=1000).release([1]) == pytest.approx(100, abs=1)
    assert over(lambda block: -1e300, epsilon=1000).release([1]) == pytest.approx(0, abs=1)
    assert over(lambda block: np.float64(30.4), epsilon=1000).release([1]) == pytest.approx(30, abs=1)


def test_rows_of_an_array_are_units() -> None:
    table = np.column_stack([np.arange(600), np.full(600, 7.0)])
    mechanism = over(lambda rows: rows[:, 1].sum() / max(len(rows), 1), blocks=5, epsilon=1000)
    assert mechanism.release(table) == pytest.approx(7, abs=0.5)


def test_the_average_answer_is_the_average_output() -> None:
    mechanism = over(statistics.fmean, blocks=20, epsilon=20)
    answers = [mechanism.release([30, 50] * 200) for _ in range(400)]
    assert_mean(answers, 40, statistics.pvariance(answers))


@together(
    ("name", "value"),
    [
        ("epsilon", 0),
        ("function", 3),
        ("bounds", (1, 1)),
        ("blocks", 0),
        ("blocks", 2.5),
        ("aggregate", "mode"),
        ("granularity", 0),
    ],
)
def test_bad_parameters_are_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(InvalidParameter) as caught:
        over(**{"function": len, name: value})
    assert caught.value.name == name


def test_data_that_is_no_collection_of_units_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="list or an array"):
        over(len).release(5)
