"""ARA beside RAPPOR's decoding: what its sums know of an answer, and what becomes of a population that changed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from chance import FALSE_ALARM, assert_share
from scipy import stats

from lapwing.crowd.ara import CONSTANTS, SMALL, Ara, BothSteps, compare_with_decoding
from lapwing.crowd.bits import unpack_rows
from lapwing.crowd.rappor import Rappor
from lapwing.errors import InvalidParameter
from lapwing.noise import Reproducible

POPULATION = {f"v{i}": round(2000 * 0.7**i) for i in range(10)}


def test_the_constants_are_logarithms_but_for_the_first_three() -> None:
    assert len(CONSTANTS) == 17
    for on, constant in enumerate(CONSTANTS[3:], start=4):
        assert constant == pytest.approx(math.log10(32 / on), abs=2e-6)
    for on, constant in enumerate(CONSTANTS[:3], start=1):
        assert constant == pytest.approx(CONSTANTS[3] * 1.1 ** (4 - on), abs=1e-9)


def test_a_weighted_sum_counts_on_bits_times_their_constant_in_both_strings() -> None:
    rows = [np.array([[word]], dtype=np.uint64) for word in (0b1011, (1 << 20) - 1)]
    clients = BothSteps(SMALL, np.zeros(1, dtype=np.uint8), rows[0], rows[1])
    assert clients.weighted_sums()[0] == pytest.approx(3 * 0.993399 + 20 * 0.274701)
    clients = BothSteps(SMALL, np.zeros(1, dtype=np.uint8), 0 * rows[0], rows[0])
    assert clients.weighted_sums()[0] == pytest.approx(3 * 0.993399)


def test_both_steps_are_those_of_the_protocol() -> None:
    clients = BothSteps.of(SMALL, ["v"] * 4000, Reproducible(1))
    first, second = (unpack_rows(rows, 32).astype(bool) for rows in (clients.permanent, clients.instantaneous))
    truth = np.zeros((8, 32), dtype=bool)
    np.put_along_axis(truth, SMALL.places(["v"])[:, 0], True, axis=1)
    flipped = first ^ truth[clients.cohorts]
    assert_share(int(flipped.sum()), flipped.size, 0.25)
    assert_share(int(second[first].sum()), int(first.sum()), 0.75)
    assert_share(int(second[~first].sum()), int((~first).sum()), 0.5)
    assert SMALL.absorb(None, clients.reports()).n == 4000


def test_sums_have_the_same_law_for_all_answers_without_a_collision() -> None:
    places = SMALL.places([f"v{i}" for i in range(40)])
    clean = [i for i in range(40) if (places[:, i, 0] != places[:, i, 1]).all()][:2]
    counts = []
    for seed, i in enumerate(clean):
        sums = BothSteps.of(SMALL, [f"v{i}"] * 20_000, Reproducible(seed)).weighted_sums()
        counts.append(np.histogram(sums, bins=np.arange(4, 20, 0.25))[0])
    table = np.array(counts)
    table = table[:, table.sum(axis=0) >= 40]
    assert table.shape[1] > 10
    assert stats.chi2_contingency(table).pvalue > FALSE_ALARM


def test_where_training_and_population_agree_both_find_the_most_frequent_answer() -> None:
    found = compare_with_decoding(POPULATION, trials=5, entropy=Reproducible(2))
    assert found.ara == found.decoding == 1
    assert found.ara_single_answers < found.most_frequent_share  # guessing the most frequent answer always is better


def test_where_the_population_changed_ara_repeats_its_training_and_decoding_sees_the_change() -> None:
    changed = {**POPULATION, "v0": POPULATION["v3"], "v3": POPULATION["v0"]}
    found = compare_with_decoding(changed, training=POPULATION, trials=5, entropy=Reproducible(3))
    assert found.decoding == 1
    assert found.ara == 0


def test_guesses_are_the_most_frequent_answer_with_the_nearest_sum() -> None:
    sums, guesses = (np.array([1.0, 2.0, 5.0]),), (np.array([0, 1, 0]),)
    one_bit = np.array([[0], [1], [7], [(1 << 17) - 1]], dtype=np.uint64)
    clients = BothSteps(SMALL, np.zeros(4, dtype=np.uint8), one_bit, 0 * one_bit)
    assert clients.weighted_sums() == pytest.approx([0, 1.20201279, 2.980197, 4.669917])
    learned = Ara(SMALL, ["x", "y"], sums, guesses)
    assert learned.guess(clients) == ["x", "x", "y", "x"]
    assert learned.most_frequent(clients) == "x"
    nothing = Ara(SMALL, ["x", "y"], (np.empty(0),), (np.empty(0, dtype=np.intp),))
    assert nothing.guess(clients) == [None] * 4


def test_reports_of_another_length_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="made for 32"):
        Ara.learn(["a", "b"], protocol=Rappor.from_symbols(f=0.5, p=0.5, q=0.75))
    longer, more = (Rappor.from_symbols(k=k, m=m, f=0.5, p=0.5, q=0.75) for k, m in ((64, 8), (32, 16)))
    with pytest.raises(InvalidParameter, match="made for 32"):
        BothSteps.of(longer, ["a"]).weighted_sums()
    learned = Ara.learn(["a", "b"])
    with pytest.raises(InvalidParameter, match="other parameters"):
        learned.guess(BothSteps.of(more, ["a"]))
    assert learned.most_frequent(BothSteps.of(SMALL, [])) is None
    with pytest.raises(InvalidParameter, match="population"):
        compare_with_decoding({"a": 0})
