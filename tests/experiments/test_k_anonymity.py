"""k-anonymity over k: what is measured is what the attacks and the measures of the library say."""

from __future__ import annotations

import numpy as np
import pytest

from lapwing.adversary.attacks.bounds import best_guess
from lapwing.adversary.attacks.composition import composition
from lapwing.adversary.attacks.homogeneity import homogeneity
from lapwing.anonymity.mondrian import Mondrian
from lapwing.anonymity.table import Columns
from lapwing.datasets.town import town
from lapwing.experiments.experiment import Row, entropy, select
from lapwing.experiments.k_anonymity import (
    ACUTE,
    FEWEST,
    K_ANONYMITY,
    QUASI,
    Boxes,
    Patients,
    Question,
    _attacks,
    questions,
)
from lapwing.noise import permutation

KS, EPSILONS = (1, 2, 5, 50), (0.5, 4.0)
KNOWN = ("homogeneity", "background", "composition", "all_together", "everybody_else")


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return K_ANONYMITY.rows(people=6_000, ks=KS, epsilons=EPSILONS, queries=60, repeats=3)


@pytest.fixture(scope="module")
def patients() -> Patients:
    return Patients.of(town(2_000).hospital)


@pytest.mark.sweep
def test_a_larger_k_costs_more_and_gives_less_away(rows: list[Row]) -> None:
    anonymous = [row for row in rows if row["k"]]
    for name in ("class_size", "certainty_lost", "discernibility", "error"):
        assert [row[name] for row in anonymous] == sorted(row[name] for row in anonymous)
    for name in ("row_found", "homogeneity", "background", "composition", "all_together"):
        assert [row[name] for row in anonymous] == sorted((row[name] for row in anonymous), reverse=True)
    assert anonymous[0]["error"] == 0
    assert anonymous[-1]["error"] > 0.01


@pytest.mark.sweep
def test_whoever_knows_more_is_certain_of_more(rows: list[Row]) -> None:
    for k in KS:
        (row,) = select(rows, k=k)
        assert row["homogeneity"] <= min(row["background"], row["composition"])
        assert max(row["background"], row["composition"]) <= row["all_together"] <= row["everybody_else"] == 1
    (two,) = select(rows, k=2)
    assert two["homogeneity"] < 0.2 < 0.6 < two["all_together"]


@pytest.mark.sweep
def test_the_private_release_trades_the_worst_case_for_error(rows: list[Row]) -> None:
    strict, loose = (select(rows, epsilon=epsilon)[0] for epsilon in EPSILONS)
    assert strict["error"] > 2 * loose["error"]
    assert [row["bound"] for row in (strict, loose)] == [best_guess(epsilon) for epsilon in EPSILONS]
    assert not any(name in strict for name in KNOWN)  # nothing is certain


def test_counts_are_spread_evenly_over_a_box() -> None:
    boxes = Boxes(np.array([[6.0, 4.0]]), np.array([[0.0, 0.0, 2.0]]), np.array([[9.0, 1.0, 2.0]]))
    everybody = Question(np.array([0.0, 0.0, 0.0]), np.array([99.0, 1.0, 9.0]), 0, 6)
    half_the_days_and_one_sex = Question(np.array([5.0, 1.0, 2.0]), np.array([40.0, 1.0, 2.0]), 1, 1)
    elsewhere = Question(np.array([0.0, 0.0, 3.0]), np.array([9.0, 1.0, 3.0]), 0, 0)
    assert [boxes.answer(one) for one in (everybody, half_the_days_and_one_sex, elsewhere)] == [6, 1, 0]


def test_every_question_has_its_true_answer(patients: Patients) -> None:
    days, sex, postcode = (patients.known[name] for name in QUASI)
    for question in questions(patients, 20, entropy("test")):
        inside = patients.diagnosis == question.diagnosis
        for values, low, high in zip((days, sex, postcode), question.low, question.high, strict=True):
            inside &= (values >= low) & (values <= high)
        assert question.truth == inside.sum() >= FEWEST


def published(patients: Patients, k: int) -> Columns:
    made = Mondrian(k=k, quasi_identifiers=QUASI).anonymise(patients.known)
    return {**made.columns, "diagnosis": [patients.kinds[code] for code in patients.diagnosis]}


@pytest.mark.sweep
def test_the_shares_are_what_the_attacks_find_in_the_published_tables(patients: Patients) -> None:
    """The long way round: labels are published, people are looked up by what is known about them."""
    k = 2
    order = permutation(len(patients.diagnosis), entropy("k-anonymity", "hospitals"))
    third = len(order) // 3
    tables = [published(patients.some(rows), k) for rows in (order[: 2 * third], order[third:])]
    people = order[third : 2 * third]
    known = {str(row): {name: int(patients.known[name][row]) for name in QUASI} for row in people}
    alone = homogeneity(tables[0], QUASI, "diagnosis", known)
    together = [one for one in composition(tables, QUASI, "diagnosis", known) if one.sure == 1]
    for one in (*alone, *together):
        assert one.guess == patients.kinds[patients.diagnosis[int(one.about)]]  # what is certain is true
    shares = _attacks(patients, k)
    assert len(alone) / len(people) == pytest.approx(shares["homogeneity"])
    assert len(together) / len(people) == pytest.approx(shares["composition"])
    assert len(together) > len(alone)


def test_what_is_acute_is_named_as_in_the_town(patients: Patients) -> None:
    assert set(ACUTE) <= set(patients.kinds)


@pytest.mark.sweep
def test_the_page_tells_all_of_it(rows: list[Row]) -> None:
    page = K_ANONYMITY.page(rows)
    assert all(f"| k = {k} |" in page for k in KS)
    assert "| ε = 4 |" in page
    assert "nan" not in page
