"""Attacks on classes: the textbooks' tables, tables by hand, and the games beside their bounds."""

from __future__ import annotations

import math
from datetime import date
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from cases import together
from hypothesis import given
from hypothesis import strategies as st

from lapwing.adversary.attacks import ward
from lapwing.adversary.attacks.attack import Attack, repeatable
from lapwing.adversary.attacks.background import BACKGROUND, background
from lapwing.adversary.attacks.bounds import limits
from lapwing.adversary.attacks.composition import COMPOSITION, composition
from lapwing.adversary.attacks.homogeneity import HOMOGENEITY, homogeneity
from lapwing.adversary.attacks.hospitals import FOUR_ANONYMOUS, FOUR_QUASI, THREE_DIVERSE, TWO_ANONYMOUS, TWO_QUASI
from lapwing.adversary.attacks.publication import covers
from lapwing.adversary.attacks.similarity import SIMILARITY, similarity
from lapwing.adversary.attacks.skewness import SKEWNESS, skewness
from lapwing.anonymity.mondrian import Mondrian
from lapwing.errors import InvalidParameter

FALSE_ALARM = 1e-6
ATTACKS = (HOMOGENEITY, BACKGROUND, SKEWNESS, SIMILARITY, COMPOSITION)
ROUNDS = 1000
SURE = {
    ("homogeneity", "2-anonymous table"),
    ("background", "5-anonymous table"),
    ("background", "3-diverse table"),
    ("composition", "two 5-anonymous tables"),
}
"""Where somebody can nearly always be found about whom everything is certain."""


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_weak_tables_are_broken(attack: Attack) -> None:
    rounds = 200
    for method, play in attack.weak.items():
        success = sum(play(rounds, repeatable(attack.name, method))) / rounds
        assert limits(success, rounds, FALSE_ALARM)[0] > attack.chance
        assert success > 0.9 or (attack.name, method) not in SURE


def test_a_larger_k_makes_homogeneous_classes_rarer() -> None:
    found = [sum(play(200, repeatable(name))) / 200 for name, play in HOMOGENEITY.weak.items()]
    assert found == sorted(found, reverse=True)
    assert limits(found[-1], 200, FALSE_ALARM)[1] < limits(found[0], 200, FALSE_ALARM)[0]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
@together("epsilon", [0.1, 1.0, 4.0])
def test_nobody_beats_the_bound_although_the_victim_is_chosen_afterwards(attack: Attack, epsilon: float) -> None:
    success = sum(attack.private(epsilon, ROUNDS, repeatable(attack.name, epsilon))) / ROUNDS
    assert limits(success, ROUNDS, FALSE_ALARM)[0] <= attack.bound(epsilon)


def test_background_knowledge_reaches_the_bound() -> None:
    """So the bound is not loose, and the check above can fail."""
    success = sum(BACKGROUND.private(2.0, ROUNDS, repeatable("tight"))) / ROUNDS
    low, high = limits(success, ROUNDS, FALSE_ALARM)
    assert low <= BACKGROUND.bound(2.0) <= high
    assert low > BACKGROUND.bound(1.0)


def test_what_an_attacker_believes_of_noisy_counts_is_bayes_rule() -> None:
    """One class, computed the long way over every count: the belief about one value is its mean share."""
    epsilon, weights = 1.0, (Fraction(3, 4), Fraction(1, 4))
    found = ward.classes(ward.GROUP)
    secrets = ward.draw(weights, repeatable("secrets"))
    beliefs = ward.noisy(epsilon, weights)(secrets, repeatable("noise"))
    from lapwing.mechanisms import Laplace

    noise = Laplace(epsilon=epsilon, sensitivity=2, dimensions=2 * len(found), on_grid=True, relation="replace")
    assert noise.privacy_loss().epsilon == 1
    noisy = np.reshape(noise.release(found.counts(secrets, 2).ravel(), repeatable("noise")), (-1, 2))
    size, means = int(found.sizes[0]), []
    for value, weight in enumerate(map(float, weights)):
        odds = [
            math.comb(size, n) * weight**n * (1 - weight) ** (size - n) * math.exp(-abs(noisy[0, value] - n) / 2)
            for n in range(size + 1)
        ]
        means.append(sum(n * odd for n, odd in enumerate(odds)) / sum(odds))
    member = int(np.flatnonzero(found.member == 0)[0])
    assert beliefs[member] == pytest.approx(np.array(means) / sum(means))
    assert beliefs.sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_the_story_is_told(attack: Attack) -> None:
    told = attack.tell()
    assert told
    assert all(learned.sure >= 0.5 for learned in told if "private" not in learned.about)


def test_the_men_of_the_2_anonymous_table_have_cancer() -> None:
    known = {
        "Mr. Smith": {"gender": "Male", "age": 47, "zip": "02138"},
        "Mrs. Brown": {"gender": "Female", "age": 71, "zip": "02142"},
        "Mrs. Wong": {"gender": "Female", "age": 19, "zip": "19136"},
    }
    (smith,) = homogeneity(TWO_ANONYMOUS, TWO_QUASI, "diagnosis", known)
    assert (smith.about, smith.guess, smith.sure) == ("Mr. Smith", "cancer", 1)
    found = background(TWO_ANONYMOUS, TWO_QUASI, "diagnosis", known, ruled_out=["Parkinson's disease"])
    assert [(one.about, one.guess, one.sure) for one in found] == [
        ("Mr. Smith", "cancer", 1),
        ("Mrs. Brown", "stroke", 1),
    ]


def test_a_diverse_table_has_no_homogeneous_class() -> None:
    assert [one.guess for one in homogeneity(FOUR_ANONYMOUS, FOUR_QUASI, "condition")] == ["cancer"]
    assert homogeneity(THREE_DIVERSE, FOUR_QUASI, "condition") == []


def test_background_knowledge_is_weighed_by_the_rule_of_bayes() -> None:
    table = {"zip": ["130**"] * 6, "condition": ["flu"] * 3 + ["ulcer"] * 2 + ["cancer"]}
    (plain,) = background(table, ["zip"], "condition")
    assert (plain.guess, plain.sure) == ("flu", 0.5)
    (told,) = background(table, ["zip"], "condition", likelihood={"flu": 0.1, "cancer": 4})
    assert told.guess == "cancer"
    assert told.sure == pytest.approx(4 / (0.3 + 2 + 4))
    assert background(table, ["zip"], "condition", ruled_out=["flu", "ulcer", "cancer"]) == []


def test_skewness_is_measured_against_the_whole_table() -> None:
    table = {"zip": ["a"] * 4 + ["b"] * 36, "HIV": ["yes"] * 2 + ["no"] * 2 + ["yes"] * 2 + ["no"] * 34}
    (found,) = skewness(table, ["zip"], "HIV", value="yes", times=5)
    assert (found.about, found.sure) == ("zip a", 0.5)
    assert skewness(table, ["zip"], "HIV", value="yes", times=5.1) == []
    assert [one.guess for one in skewness(table, ["zip"], "HIV", times=1)] == ["yes", "no"]
    with pytest.raises(InvalidParameter, match="does not occur"):
        skewness(table, ["zip"], "HIV", value="maybe")


def test_similar_values_mean_the_same() -> None:
    pay = {"zip": ["a", "a", "b", "b"], "pay": [3000, 4000, 3000, 9000], "illness": ["flu", "cold", "flu", "ulcer"]}
    assert [one.guess for one in similarity(pay, ["zip"], "pay", within=1000)] == ["3000 to 4000"]
    found = similarity(pay, ["zip"], "illness", groups={"flu": "infection", "cold": "infection"})
    assert [(one.about, one.guess) for one in found] == [("zip a", "infection")]
    with pytest.raises(InvalidParameter, match="either"):
        similarity(pay, ["zip"], "pay")


def test_two_tables_are_weighed_by_the_rule_of_bayes() -> None:
    one = {"zip": ["*"] * 4, "illness": ["flu", "flu", "ulcer", "cancer"]}
    other = {"zip": ["*"] * 4, "illness": ["flu", "ulcer", "ulcer", "stroke"]}
    (found,) = composition([one, other], ["zip"], "illness", {"Ann": {"zip": "13053"}})
    assert found.guess == "flu"  # 2·1 and 1·2, over 3 and 3 in all: even, and the first is told
    assert found.sure == pytest.approx(0.5)
    third = {"zip": ["*"] * 3, "illness": ["ulcer", "cancer", "stroke"]}
    (found,) = composition([one, other, third], ["zip"], "illness", {"Ann": {"zip": "13053"}})
    assert (found.guess, found.sure) == ("ulcer", 1)
    elsewhere = {"zip": ["999**"], "illness": ["flu"]}
    assert composition([one, elsewhere], ["zip"], "illness", {"Ann": {"zip": "13053"}}) == []


@together(
    ("published", "inside", "outside"),
    [
        ("40-50", 40, 39.9),
        ("40–49", 49, 50),
        ("-5 to 5", -5, 6),
        ("[0.5, 1)", 0.5, 1),
        ("(3, 4]", 4, 3),
        ("<30", 29, 30),
        ("≤ 40", 40, 41),
        (">= 70", 70, 69),
        ("> 40", 41, 40),
        ("0213*", "02138", "02148"),
        ("130**", "13053", "14853"),
        ("{f, m}", "m", "x"),
        ("*", "anything", None),
        ("1950-01-01 to 1959-12-31", date(1955, 5, 5), date(1960, 1, 1)),
        ("employed", {"nurse", "employed"}, {"nurse", "ill"}),
        (7, 7, 8),
    ],
)
def test_published_labels_cover_what_they_say(published: Any, inside: Any, outside: Any) -> None:
    assert covers(published, inside)
    assert outside is None or not covers(published, outside)


@given(st.lists(st.tuples(st.integers(0, 90), st.sampled_from(["f", "m"])), min_size=4, max_size=40))
def test_everybody_is_found_in_a_table_by_mondrian(people: list[tuple[int, str]]) -> None:
    """With a diagnosis of one's own: what is certain is true, and the own one is never ruled out by the table."""
    table = {"age": [age for age, _ in people], "sex": [sex for _, sex in people], "illness": [*range(len(people))]}
    made = Mondrian(k=2, quasi_identifiers=["age", "sex"]).anonymise(table)
    targets = {str(row): {"age": age, "sex": sex} for row, (age, sex) in enumerate(people)}
    for row, known in targets.items():
        (found,) = background(made.columns, ["age", "sex"], "illness", {row: known}, likelihood={int(row): 1e9})
        assert found.guess == int(row)


def test_strange_input_is_explained() -> None:
    table = {"zip": ["130**"] * 2, "illness": ["flu", None]}
    with pytest.raises(InvalidParameter, match="Those are zip"):
        homogeneity(table, ["zip"], "illness", {"Ann": {"zipcode": "13053"}})
    for targets in (["Ann"], {"Ann": "13053"}):
        with pytest.raises(InvalidParameter, match="Ann"):
            homogeneity(table, ["zip"], "illness", targets)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="for numbers"):
        similarity(table, ["zip"], "illness", within=1)
    with pytest.raises(InvalidParameter, match="two tables"):
        composition([], ["zip"], "illness", {"Ann": {"zip": "13053"}})


def test_the_ward_has_the_classes_it_says() -> None:
    for k, rows in product((2, 5, 10), (ward.Everybody, range(100, 300))):
        assert ward.classes(k, rows).smallest >= k
        assert ward.classes(k, rows).sizes.sum() == len(rows)
