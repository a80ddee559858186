"""Linkage: who is unique, whom a row without a name fits, and how sure one may be of it."""

from __future__ import annotations

from collections import Counter
from datetime import date
from functools import lru_cache

import numpy as np
import pytest
from cases import together

from lapwing.adversary.attacks.attack import repeatable
from lapwing.adversary.attacks.bounds import best_guess, limits
from lapwing.adversary.attacks.linkage import DIAGNOSES, EXACT, LINKAGE, fits_value, linkage
from lapwing.adversary.attacks.uniqueness import coarsen, uniqueness, uniqueness_curve
from lapwing.datasets import Town, town
from lapwing.errors import InvalidParameter

FALSE_ALARM = 1e-6


@lru_cache(maxsize=1)
def usual() -> Town:
    return town()


def test_uniqueness_counts_rows_that_look_like_no_other() -> None:
    found = uniqueness({"a": [1, 1, 1, 2, 3, 3], "b": "xxyzzz"}, ["a", "b"])
    assert sorted(found.sizes.tolist()) == [1, 1, 2, 2]
    assert found.rows == 6
    assert found.unique == pytest.approx(2 / 6)
    assert found.within(2) == 1
    assert found.distribution == {1: pytest.approx(2 / 6), 2: pytest.approx(4 / 6)}


def test_uniqueness_agrees_with_counting_by_hand() -> None:
    people = usual().people
    sizes = Counter(zip(people["birth_date"], people["sex"], strict=True))
    assert uniqueness(people, ["birth_date", "sex"]).unique == sum(s == 1 for s in sizes.values()) / 20_000


def test_the_surprise_of_equal_classes_is_their_number_in_bits() -> None:
    assert uniqueness({"a": list(range(8))}, "a").surprise == 3
    assert uniqueness({"a": [7, 7]}, "a").surprise == 0


def test_every_column_released_makes_more_people_unique() -> None:
    columns = ["sex", "postcode", "marital_status", "occupation", "birth_date"]
    curve = uniqueness_curve(usual().people, columns)
    shares = [point.unique for point in curve]
    assert [point.columns for point in curve] == [tuple(columns[: i + 1]) for i in range(5)]
    assert shares == sorted(shares)
    assert shares[-1] > 0.9


def test_the_strongest_column_comes_first_if_asked() -> None:
    columns = ["sex", "postcode", "birth_date"]
    first = uniqueness_curve(usual().people, columns, strongest_first=True)[0]
    assert first.columns == ("birth_date",)


def test_less_exact_values_hide_people() -> None:
    people = usual().people
    versions = [{}, {"birth_date": "month"}, {"birth_date": "year"}, {"birth_date": "year", "postcode": 3}]
    shares = [uniqueness(coarsen(people, **how), EXACT).unique for how in versions]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.8
    assert shares[1] < 0.3
    assert shares[2] < 0.01


def test_coarser_values_are_as_described_and_missing_ones_stay_missing() -> None:
    table = {"born": [date(1971, 10, 2), None], "zip": ["02138", None], "age": [-3, None], "x": [1, 2]}
    assert coarsen(table, born="month", zip=2, age=5, x=lambda x: x % 2) == {
        "born": ["1971-10", None],
        "zip": ["02***", None],
        "age": ["-5 to -1", None],
        "x": [1, 0],
    }
    assert coarsen(table, born="decade")["born"][0] == "197*"


@together("how", [{"born": "week"}, {"zip": "year"}, {"nobody": 3}, {"age": 0}])
def test_what_cannot_be_made_coarser_is_said(how: dict[str, object]) -> None:
    with pytest.raises(InvalidParameter):
        coarsen({"born": [date(1971, 10, 2)], "zip": ["02138"], "age": [5]}, **how)  # type: ignore[arg-type]


@together(
    ("released", "known", "fits"),
    [
        ("*", 5, True),
        (None, "x", True),
        ("02***", "02138", True),
        ("03***", "02138", False),
        ("30–39", 39, True),
        ("30–39", 40, False),
        ("-5 to 5", -5, True),
        ("[1.5, 2.0)", 2.0, False),
        ("[1.5, 2.0)", 1.5, True),
        ((30, 39), 30, True),
        ({"a", "b"}, "b", True),
        ("{a, b}", "b", True),
        ("{a, b}", "c", False),
        (1971, date(1971, 1, 1), True),
        (1970, date(1971, 1, 1), False),
        ("197*", date(1971, 1, 1), True),
        ("1971-01-01 to 1971-03-01", date(1971, 2, 1), True),
        ("1971-01-01 to 1971-03-01", date(1971, 4, 1), False),
        (date(1971, 1, 1), date(1971, 1, 1), True),
        (34, 34, True),
        (34, 35, False),
        ("teacher", "teacher", True),
        ("Anna–Maria", "Anna", False),
    ],
)
def test_a_released_value_fits_what_it_may_stand_for(released: object, known: object, fits: bool) -> None:
    assert fits_value(released, known) is fits


def test_comparing_coarser_values_finds_the_same_as_making_both_tables_coarser() -> None:
    place, how = town(3_000), {"birth_date": "year", "postcode": 3}
    released = coarsen(place.hospital, **how)
    by_fit = linkage(released, place.voters, on=EXACT, fits=True, coverage=0.7)
    by_class = linkage(released, coarsen(place.voters, **how), on=EXACT, coverage=0.7)
    assert (by_fit.candidates == by_class.candidates).all()
    assert by_fit.sure == pytest.approx(by_class.sure)
    assert by_fit.named == by_class.named
    assert by_fit.named
    for row in range(0, len(released["sex"]), 50):
        assert by_fit.people_for(row) == by_class.people_for(row)
    for person in range(0, len(place.voters["sex"]), 100):
        assert by_fit.rows_for(person) == by_class.rows_for(person)


def test_a_rule_of_ones_own_decides_what_fits() -> None:
    jobs = {"health": {"nurse", "physician"}}
    found = linkage(
        {"work": ["health", "health"]},
        {"work": ["nurse", "cook", "physician"]},
        on="work",
        fits={"work": lambda released, known: known in jobs[released]},
    )
    assert found.candidates.tolist() == [2, 2]
    assert found.people_for(0) == [0, 2]


def test_most_patients_who_vote_are_named_and_nearly_always_rightly() -> None:
    place = usual()
    found = linkage(place.hospital, place.voters, on=EXACT, coverage=0.69)
    voting = sum(voter is not None for voter in place.truth) / len(place.truth)
    assert found.precision(place.truth) > 0.94
    assert found.recall(place.truth) > 0.85 * voting


@together("how", [{}, {"birth_date": "month"}, {"postcode": 3}])
def test_one_is_as_sure_as_one_is_right(how: dict[str, str]) -> None:
    """Coverage is taken into account: a patient who does not vote may look like one who does."""
    right, sure, rows = 0.0, 0.0, 0
    for seed in range(3):
        place = town(seed=seed)
        covered = len(place.registered) / sum(age >= 18 for age in place.people["age"])
        found = linkage(coarsen(place.hospital, **how), coarsen(place.voters, **how), on=EXACT, coverage=covered)
        named = found.named
        right += sum(place.truth[row] == person for row, person in named.items())
        sure += found.sure[list(named)].sum()
        rows += len(named)
    low, high = limits(right / rows, rows, FALSE_ALARM / 2)
    assert low <= sure / rows <= high
    assert sure / rows < 0.98


def test_with_everybody_listed_a_single_match_is_certain() -> None:
    place = usual()
    found = linkage(place.hospital, place.people, on=EXACT)
    assert found.precision(place.patients) == 1
    assert set(found.sure[found.candidates == 1]) == {1.0}
    assert found.sure[found.candidates == 2] == pytest.approx(0.5)


def test_nobody_fits_a_stranger() -> None:
    found = linkage({"a": [1, 5]}, {"a": [1, 1, 2]}, on="a")
    assert found.candidates.tolist() == [2, 0]
    assert found.sure.tolist() == [0.5, 0]
    assert (found.people_for(1), found.rows_for(2), found.named) == ([], [], {})
    assert found.guess(2, ["x", "y"]).sure == 0


def test_many_rows_that_agree_tell_as_much_as_one() -> None:
    """Homogeneity: the person is hidden among three, the diagnosis is not."""
    found = linkage({"a": [1, 1, 1]}, {"a": [1]}, on="a")
    assert (found.guess(0, ["HIV"] * 3).guess, found.guess(0, ["HIV"] * 3).sure) == ("HIV", 1)
    assert found.guess(0, ["HIV", "flu", "flu"]).sure == pytest.approx(2 / 3)


def test_empty_tables_link_nothing() -> None:
    for fits in (False, True):
        assert linkage({"a": []}, {"a": [1]}, on="a", fits=fits).named == {}
        assert linkage({"a": [1]}, {"a": []}, on="a", fits=fits).candidates.tolist() == [0]


def test_a_column_that_only_one_table_has_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="is not a column"):
        linkage({"a": [1]}, {"b": [1]}, on="a")


def test_the_attack_breaks_the_older_methods_and_not_the_private_counts() -> None:
    contest = LINKAGE.run(rounds=1000, epsilons=[0.5, 2])
    rows, identifiers, pseudonyms = contest.weak
    assert rows.low > 0.9
    assert identifiers.low > 0.4
    assert pseudonyms.low > 0.98
    for score in contest.private:
        assert limits(score.success, score.rounds, FALSE_ALARM)[0] <= score.bound
    assert contest.private[0].bound == best_guess(0.5, prior=0.25)


def test_the_strongest_attacker_wins_as_often_as_it_believes_to() -> None:
    """Its chances come from the noise as it is: they are calibrated, so the guess is the best there is."""
    from lapwing.adversary.attacks.linkage import _posterior, _world

    entropy = repeatable("calibration")
    people, secrets = _world().drawn(20_000, entropy)
    chances = _posterior(2.0, people, secrets, entropy)
    low, high = limits(float((chances.argmax(axis=1) == secrets).mean()), len(secrets), FALSE_ALARM / 2)
    assert low <= chances.max(axis=1).mean() <= high
    shares = np.bincount(secrets, minlength=len(DIAGNOSES)) / len(secrets)
    assert chances.mean(axis=0) == pytest.approx(shares, abs=0.02)


def test_the_story_names_somebody_who_votes() -> None:
    told = LINKAGE.tell(repeatable("story"))
    assert len(told) == 4
    assert (told[0].sure, told[0].guess) == (1, told[0].truth)
    assert told[2].guess == told[2].truth
    assert told[3].sure < best_guess(1, prior=0.25)
    assert told[0].about.split(",")[0] in usual().voters["name"]


def test_labels_that_are_no_ranges_and_missing_values_fit_nothing() -> None:
    known = {"age": [20, 34, None]}
    for label, fit in (("20 to 30", 1), ("30–old", 0), ("[30, 40)", 1), ("[a, b)", 0), ((30, 39), 1), ("*", 3)):
        assert linkage({"age": [label]}, known, on="age", fits=True).candidates.tolist() == [fit]


def test_columns_of_another_length_are_explained() -> None:
    found = linkage({"age": [20]}, {"age": [20]}, on="age")
    for wrong in (lambda: found.guess(0, []), lambda: found.precision([]), lambda: found.recall([0, 1])):
        with pytest.raises(InvalidParameter, match="each of 1 released rows"):
            wrong()


def test_numbers_beside_text_are_refused_because_nothing_would_match_and_all_seem_safe() -> None:
    released, known = {"zip": [2138, 2139]}, {"zip": ["02138", None]}
    with pytest.raises(InvalidParameter, match="text in the other"):
        linkage(released, known, on="zip")
    assert linkage({"zip": ["02138"]}, known, on="zip").named == {0: 0}
    assert linkage({"zip": [2138, "02138"]}, known, on="zip").named == {1: 0}


def test_no_column_to_compare_is_refused() -> None:
    for attack in (lambda: uniqueness({"zip": [1]}, on=[]), lambda: linkage({"zip": [1]}, {"zip": [1]}, on=[])):
        with pytest.raises(InvalidParameter, match="must name at least one column"):
            attack()


def test_findings_print_as_sentences() -> None:
    table = {"born": [1971, 1980, 1980], "sex": ["f", "m", "m"]}
    assert str(uniqueness(table, on=["born", "sex"])).startswith("In born, sex, 33.3% of 3 rows look like no other")
    found = linkage({"born": [1971, 1980, 1990]}, table, on="born")
    assert "1 fit one person, 1 several and 1 nobody" in str(found)
