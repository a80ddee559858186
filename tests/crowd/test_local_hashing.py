"""Optimised local hashing with shared functions."""

from __future__ import annotations

import hashlib
import math
from fractions import Fraction

import numpy as np
import pytest
from cases import together
from chance import FALSE_ALARM, assert_follows
from protocols import Case, Law, loss_ratio, plain_text, pure_variances, written
from scipy import stats

from lapwing.crowd import Answers, Reports
from lapwing.crowd.local_hashing import LocalHashing
from lapwing.errors import InvalidParameter
from lapwing.exact import ln_down
from lapwing.mechanisms.probabilities import flip_probability
from lapwing.noise import Reproducible

PRIME = 2**25 - 39


def plain_cell(answer: object, salt: bytes, function: int, cells: int) -> int:
    """The definition in hashing.py, in whole numbers."""

    def words(tag: bytes, text: bytes, count: int) -> list[int]:
        digest = hashlib.sha256(tag + b"\0" + salt + b"\0" + text).digest()
        return [int.from_bytes(digest[4 * i : 4 * i + 4], "little") % PRIME for i in range(count)]

    u, v = words(b"lapwing item 1", plain_text(answer), 2)
    a, b, c, d, e = words(b"lapwing row 1", function.to_bytes(8, "little"), 5)
    return cells * ((a * u * u + b * u + c * v * v + d * v + e) % PRIME) // PRIME


def law_of(protocol: LocalHashing, answer: object) -> Law:
    """Every function and cell."""
    count, law = protocol.cells, {}
    other = flip_probability(protocol.epsilon, others=count - 1)
    for function in range(protocol.functions):
        true = plain_cell(answer, protocol.salt.encode(), function, count)
        for cell in range(count):
            law[function, cell] = (1 - (count - 1) * other if cell == true else other) / protocol.functions
    return law


def variances(protocol, people, labels):
    """Of fresh functions for everybody, plus Σ c(c−1)/(F(g−1)) over the other answers."""
    count = protocol.cells
    true = 1 - (count - 1) * flip_probability(protocol.epsilon, others=count - 1)
    counts = np.array([sum(answer == label for answer in people) for label in labels], dtype=np.float64)
    coins, sample = pure_variances(true, Fraction(1, count), counts, len(people))
    everybody = np.unique(np.array(people), return_counts=True)[1].astype(np.float64)
    shared = ((everybody * (everybody - 1)).sum() - counts * (counts - 1)) / (protocol.functions * (count - 1))
    return coins + shared, sample + shared


TOWNS = ("Oslo", "Rome", "Bern", "Riga", "Kyiv", "Cork", "Graz", "Nice", "Lund", "Porto")
CASES = [
    Case(
        name="local hashing",
        protocol=LocalHashing(epsilon=2, functions=64, salt="0"),
        answers=TOWNS,
        candidates=True,
        tiny=LocalHashing(epsilon=1, functions=8, cells=3, salt="s"),
        tiny_answers=("Oslo", "Rome", 7, "", None),
        law=law_of,
        variances=variances,
        resalted=lambda run: LocalHashing(epsilon=2, functions=64, salt=str(run)),
        others={"epsilon": 1, "domain": 9, "functions": 32, "cells": 9, "salt": "1", "unit": "household"},
        exactly=False,
    )
]
TINY, STRANGERS = CASES[0].tiny, CASES[0].tiny_answers


def test_the_stated_loss_is_the_largest_ratio_of_all_reports():
    laws = [law_of(TINY, answer) for answer in STRANGERS]
    assert all(sum(law.values()) == 1 for law in laws)
    stated, shown = Fraction(TINY.privacy_loss().epsilon), ln_down(loss_ratio(laws))
    assert shown <= stated <= 1
    assert stated - shown < Fraction(1, 10**20)


@pytest.mark.parametrize("answer", STRANGERS)
def test_reports_follow_their_law(answer):
    law = law_of(TINY, answer)
    numbers = {report: number for number, report in enumerate(law)}
    seen = written(TINY.randomize([answer] * 40_000, Reproducible(4)))
    chances = [float(p) for p in law.values()]
    assert_follows([numbers[report] for report in seen], chances.__getitem__, range(len(law)))


@together("epsilon", [0.05, 0.5, 1, 2, 3, 4.5])
def test_the_number_of_cells_has_the_least_error_and_is_next_to_the_odds_plus_one(epsilon):
    chosen, odds = LocalHashing(epsilon=epsilon, functions=16).cells, math.exp(epsilon)
    assert chosen == min(range(2, 500), key=lambda g: (odds + g - 1) ** 2 / (g - 1))
    assert abs(chosen - odds - 1) < 1


def test_a_table_never_outgrows_its_limit():
    assert LocalHashing(epsilon=20, functions=1 << 16).cells == 2048


@pytest.fixture(scope="module")
def collections():
    """Two answers of most people, 64 functions and 400 salts: what they share dominates the errors of the rest."""
    truth, runs, entropy = np.array([3000, 1500, 400, 100, 0]), 400, Reproducible(6)
    people = Answers(range(5), np.repeat(np.arange(5), truth))
    made, pairs = [], []
    for run in range(runs):
        protocol = LocalHashing(epsilon=1, functions=64, salt=str(run))
        state = protocol.absorb(None, protocol.randomize(people, entropy))
        made.append(protocol.estimate(state, range(5)))
        pairs.append(protocol.equal_pairs(state))
    return truth, made, np.array(pairs)


def test_estimates_are_unbiased_and_shared_functions_add_to_the_variance_what_is_stated(collections):
    truth, made, _ = collections
    runs, values = len(made), np.array([one.counts for one in made])
    protocol, people = LocalHashing(epsilon=1, functions=64), np.repeat(np.arange(5), truth).tolist()
    theory = variances(protocol, people, range(5))[0]
    fresh = pure_variances(1 - 3 * flip_probability(1, others=3), 0.25, truth.astype(float), len(people))[0]
    assert theory[-1] > 2 * fresh[-1]
    z = (values.mean(axis=0) - truth) / np.sqrt(theory / runs)
    assert np.abs(z).max() < stats.norm.isf(FALSE_ALARM / 2 / 5)
    ratio = values.var(axis=0, ddof=1) / theory
    assert ratio.min() > stats.chi2.ppf(FALSE_ALARM / 10, runs - 1) / (runs - 1)
    assert ratio.max() < stats.chi2.isf(FALSE_ALARM / 10, runs - 1) / (runs - 1)
    for name, expected in zip(("population", "sample"), variances(protocol, people, range(5)), strict=True):
        squares = np.array([getattr(one, f"{name}_standard_error") ** 2 for one in made])
        luck = stats.norm.isf(FALSE_ALARM / 20) * squares.std(axis=0) / math.sqrt(runs)
        assert (np.abs(squares.mean(axis=0) - expected) < 0.02 * expected + luck).all()


def test_pairs_of_equal_answers_are_estimated_without_bias(collections):
    truth, _, pairs = collections
    equal = (truth * (truth - 1)).sum()
    seen = stats.norm.isf(FALSE_ALARM / 2) * pairs.std() / math.sqrt(len(pairs))
    assert abs(pairs.mean() - equal) < seen
    assert seen < 0.05 * equal, "a bias of 5 % would not be noticed"


@together("n", [0, 1, 30, 3000])
def test_support_is_counted_in_the_cells_of_the_definition(n):
    """Few reports, so that some functions do not occur, and many."""
    protocol = LocalHashing(epsilon=2, functions=256, salt="münchen")
    reports = protocol.randomize([TOWNS[i % 7] for i in range(n)], Reproducible(n))
    found = protocol.estimate(protocol.absorb(None, reports), TOWNS)
    function, cell = (held.tolist() for held in reports.columns)
    true = float(1 - (protocol.cells - 1) * flip_probability(2, others=protocol.cells - 1))
    for town, count in zip(TOWNS, found.counts, strict=True):
        named = sum(
            plain_cell(town, "münchen".encode(), j, protocol.cells) == c for j, c in zip(function, cell, strict=True)
        )
        assert count == pytest.approx((named - n / protocol.cells) / (true - 1 / protocol.cells))


def test_many_candidates_and_blocks_of_people_give_the_same_counts():
    protocol = LocalHashing(epsilon=3, functions=1 << 10, domain=3000)
    people = np.arange(600_000) % 50
    reports = protocol.randomize(people)
    state = protocol.absorb(protocol.absorb(None, reports[:1000]), reports[1000:])
    assert state == protocol.absorb(None, reports)
    found = protocol.estimate(state)
    assert len(found) == 3000
    z = (found.counts - np.where(np.arange(3000) < 50, 12_000, 0)) / found.population_standard_error
    assert np.abs(z).max() < stats.norm.isf(FALSE_ALARM / 2 / 3000)
    assert protocol.estimate(state, ["7", 7, 2999]).counts.tolist() == found.counts[[7, 7, 2999]].tolist()


def test_a_fake_report_adds_what_is_stated_and_no_more():
    adds = []
    for function, cell in law_of(TINY, "Oslo"):
        columns = tuple(np.array([one], dtype=c.dtype) for one, c in zip((function, cell), TINY.layout, strict=True))
        adds.append(TINY.estimate(TINY.absorb(None, Reports(TINY, 1, columns)), ["Oslo"]))
    assert max(one.counts[0] for one in adds) == pytest.approx(adds[0].gain_per_fake)


def test_candidates_are_needed_without_a_domain():
    with pytest.raises(InvalidParameter, match="candidates"):
        TINY.estimate(TINY.empty())


@together(
    ("bad", "name"),
    [
        ({"functions": 1000}, "functions"),
        ({"functions": 1 << 25}, "functions"),
        ({"cells": 1}, "cells"),
        ({"cells": 70_000}, "cells"),
        ({"epsilon": -1}, "epsilon"),
        ({"salt": "x" * 17}, "salt"),
        ({"domain": "abc"}, "domain"),
    ],
)
def test_parameters_are_checked(bad, name):
    with pytest.raises(InvalidParameter) as caught:
        LocalHashing(**{"epsilon": 1} | bad)
    assert caught.value.name == name
