"""How two answers of the same people go together."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from scipy.stats import chi2, kstest

from lapwing.crowd.association import associate, likelihoods
from lapwing.crowd.items import Answers
from lapwing.crowd.rappor import OneTimeRappor, Rappor
from lapwing.crowd.unary import UnaryEncoding
from lapwing.errors import InvalidParameter
from lapwing.noise import Reproducible

FALSE_ALARM = 1e-6
FAR = -NormalDist().inv_cdf(FALSE_ALARM / 2)
COLOURS, SIZES = ["red", "green", "blue"], ["small", "large"]
FIRST = Rappor.from_symbols(k=32, h=2, m=8, f=0.25, p=0.25, q=0.75, salt="colours")
SECOND = OneTimeRappor(bits=16, hashes=1, cohorts=4, permanent_noise=0.5, salt="sizes")
JOINT = np.array([[0.30, 0.05], [0.05, 0.30], [0.15, 0.15]])


def population(joint: np.ndarray, people: int, rng: np.random.Generator) -> tuple[Answers, Answers]:
    cells = rng.choice(joint.size, people, p=joint.ravel())
    rows, columns = np.divmod(cells, joint.shape[1])
    return Answers(COLOURS, rows), Answers(SIZES, columns)


def reported(joint: np.ndarray, people: int, seed: int):
    colours, sizes = population(joint, people, np.random.default_rng(seed))
    entropy = Reproducible(seed)
    return FIRST.randomize(colours, entropy), SECOND.randomize(sizes, entropy)


def test_joint_shares_are_found_within_their_errors():
    found = associate(*reported(JOINT, 60_000, 1), COLOURS, SIZES, complete=True)
    errors = (found.shares[:-1, :-1] - JOINT) / found.standard_errors[:-1, :-1]
    assert np.abs(errors).max() < FAR
    assert (errors**2).mean() < chi2.isf(FALSE_ALARM, 5) / 6
    assert found.shares.sum() == pytest.approx(1)
    assert found.independence.p_value < FALSE_ALARM
    assert found["red", "small"] == pytest.approx(18_000, abs=FAR * 60_000 * found.standard_errors[0, 0])


def test_stated_errors_are_those_that_repeated_collections_have():
    runs = [associate(*reported(JOINT, 8_000, 100 + run), COLOURS, SIZES, complete=True) for run in range(40)]
    errors = np.array([(run.shares - np.pad(JOINT, (0, 1)))[:-1, :-1] / run.standard_errors[:-1, :-1] for run in runs])
    assert errors.std() == pytest.approx(1, abs=0.2)
    assert np.abs(errors.mean(axis=0)).max() < FAR / 40**0.5


def test_with_very_many_pairs_errors_are_close_to_those_of_the_whole_information(monkeypatch):
    reports = reported(np.outer([0.5, 0.3, 0.2], [0.6, 0.4]), 20_000, 2)
    whole = associate(*reports, COLOURS, SIZES).standard_errors
    monkeypatch.setattr("lapwing.crowd.association.MOST_PAIRS", 1)
    assert associate(*reports, COLOURS, SIZES).standard_errors[:-1, :-1] == pytest.approx(whole[:-1, :-1], rel=0.4)


def test_answers_that_are_no_candidates_have_their_own_row():
    found = associate(*reported(JOINT, 60_000, 3), ["red", "green"], SIZES)
    assert found.shares.shape == (3, 3)
    assert found.shares[-1].sum() == pytest.approx(0.3, abs=0.1)


def test_p_values_are_uniform_when_answers_are_independent():
    joint = np.outer([0.5, 0.3, 0.2], [0.6, 0.4])
    tests = [associate(*reported(joint, 4_000, 200 + run), COLOURS, SIZES).independence for run in range(60)]
    assert kstest([test.p_value for test in tests], "uniform").pvalue > FALSE_ALARM
    assert {test.degrees_of_freedom for test in tests} == {6}


def test_random_pairings_tell_dependence_too():
    dependent = associate(*reported(JOINT, 20_000, 4), COLOURS, SIZES, permutations=49, entropy=Reproducible(4))
    assert dependent.independence.p_value == 1 / 50
    apart = reported(JOINT, 20_000, 5)[0], reported(JOINT, 20_000, 6)[1]
    assert associate(*apart, COLOURS, SIZES, permutations=49, entropy=Reproducible(5)).independence.p_value > 1 / 50


def test_likelihoods_are_ratios_of_the_probabilities_of_a_report():
    small = OneTimeRappor(bits=3, hashes=2, cohorts=2, permanent_noise=0.5, salt="s")
    labels = list(range(6))
    reports = small.randomize(labels * 5, Reproducible(7))
    one, other = float(small.one_probability(True)), float(small.one_probability(False))
    found = likelihoods(reports, labels)
    for person in range(30):
        cohort = int(reports.column("cohort")[person])
        bits = [int(reports.column("bits")[person, 0]) >> j & 1 for j in range(3)]
        for label in labels:
            at = [one if j in small.places([label])[cohort, 0] else other for j in range(3)]
            ratio = np.prod([p / other if bit else (1 - p) / (1 - other) for p, bit in zip(at, bits, strict=True)])
            assert found[person, label] == pytest.approx(ratio)


def test_what_is_not_paired_is_refused():
    first, second = reported(JOINT, 100, 8)
    with pytest.raises(InvalidParameter, match="same order"):
        associate(first, second[:50], COLOURS, SIZES)
    poll = UnaryEncoding.from_epsilon(1, domain=2).randomize([0] * 100)
    with pytest.raises(InvalidParameter, match="Rappor"):
        associate(first, poll, COLOURS, SIZES)
