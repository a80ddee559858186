"""The imaginary town: nobody exists, yet people live together, fall ill and are unique as real people are."""

from __future__ import annotations

import datetime
from collections import Counter
from functools import lru_cache
from statistics import median

import pytest
from cases import together

from lapwing.datasets import Town, town
from lapwing.datasets.town import TODAY
from lapwing.datasets.town_facts import PREVALENCE
from lapwing.errors import InvalidParameter


@lru_cache(maxsize=1)
def usual() -> Town:
    return town()


@lru_cache(maxsize=1)
def large() -> Town:
    return town(100_000)


def rows(table: dict[str, list[object]], *names: str) -> list[tuple[object, ...]]:
    return list(zip(*(table[name] for name in names), strict=True))


def share_unique(table: dict[str, list[object]], *names: str) -> float:
    sizes = Counter(rows(table, *names))
    return sum(size == 1 for size in sizes.values()) / len(table["sex"])


def test_the_same_seed_gives_the_same_town_and_another_seed_another() -> None:
    first, again, other = town(50, seed=3), town(50, seed=3), town(50, seed=4)
    assert first.people == again.people
    assert first.hospital == again.hospital
    assert first.voters == again.voters
    assert first.people != other.people


@together("people", [1, 2, 12, 1_000])
def test_a_town_has_as_many_people_as_asked_for(people: int) -> None:
    place = town(people)
    assert {len(column) for column in place.people.values()} == {people}
    assert len(place.patients) == len(place.hospital["sex"])
    assert len(place.registered) == len(place.voters["sex"])


def test_a_town_needs_people() -> None:
    with pytest.raises(InvalidParameter):
        town(0)


def test_values_are_those_of_python() -> None:
    kinds = {name: type(column[0]) for name, column in usual().people.items()}
    assert kinds["birth_date"] is datetime.date
    assert {kinds[name] for name in ("name", "sex", "address", "postcode", "education", "occupation")} == {str}
    assert {kinds[name] for name in ("age", "household", "income")} == {int}
    assert {kinds[name] for name in ("smoker", "diabetes", "hiv")} == {bool}
    assert type(usual().hospital["admission"][0]) is datetime.date


@together("seed", [0, 1, 2])
def test_birth_date_sex_and_postcode_make_most_people_unique_as_in_the_united_states(seed: int) -> None:
    """87 % by Sweeney (2000), 63 % by Golle (2006)."""
    place = town(seed=seed).people
    assert 0.63 <= share_unique(place, "birth_date", "sex", "postcode") <= 0.87
    assert share_unique(place, "age", "sex", "postcode") < 0.01


def test_ages_are_those_of_a_town() -> None:
    ages = usual().people["age"]
    assert 34 <= median(ages) <= 42
    assert 0.19 <= sum(age < 18 for age in ages) / len(ages) <= 0.26
    assert 0.12 <= sum(age >= 65 for age in ages) / len(ages) <= 0.20
    for age, born in zip(ages, usual().people["birth_date"], strict=True):
        assert age == TODAY.year - born.year


def test_people_live_in_households() -> None:
    place = usual().people
    sizes = Counter(place["household"])
    assert 2.0 <= len(place["household"]) / len(sizes) <= 2.6
    assert len({(home, *address) for home, *address in rows(place, "household", "address", "postcode")}) == len(sizes)
    assert len(set(rows(place, "address", "postcode"))) == len(sizes)
    homes: dict[int, list[tuple[object, ...]]] = {}
    for home, age, name, status in rows(place, "household", "age", "name", "marital_status"):
        homes.setdefault(home, []).append((age, str(name).split()[1], status))
    assert all(max(age for age, *_ in home) >= 17 for home in homes.values())
    pairs = [home for home in homes.values() if [status for *_, status in home[:2]] == ["married", "married"]]
    assert len(pairs) > 1_000
    assert median(abs(one[0] - two[0]) for one, two, *_ in pairs) <= 4
    assert all(child[0] < min(one[0], two[0]) for one, two, *children in pairs for child in children)
    assert sum(one[1] == two[1] for one, two, *_ in pairs) / len(pairs) > 0.5


def test_married_people_come_in_pairs() -> None:
    married = Counter(
        home for home, status in rows(usual().people, "household", "marital_status") if status == "married"
    )
    assert sum(count != 2 for count in married.values()) <= 1  # the last household may be cut off


def test_twins_exist_but_are_rare() -> None:
    born = Counter(rows(usual().people, "household", "birth_date"))
    assert 0.003 <= sum(count > 1 for count in born.values()) / len(born) <= 0.03


def test_income_grows_with_education_and_children_earn_nothing() -> None:
    earned: dict[object, list[int]] = {}
    for education, age, income in rows(usual().people, "education", "age", "income"):
        assert income == 0 or age >= 18
        if 30 <= age < 60:
            earned.setdefault(education, []).append(income)
    middles = [median(earned[level]) for level in ("school", "high school", "trade", "degree", "doctorate")]
    assert middles == sorted(middles)


@pytest.mark.parametrize("illness", PREVALENCE)
def test_illnesses_are_as_frequent_as_published(illness: str) -> None:
    place, column = large().people, illness.lower().replace(" ", "_")
    start, women, men = PREVALENCE[illness][-1]
    for sex, share in (("female", women), ("male", men)):
        found = [ill for ill, age, of in rows(place, column, "age", "sex") if age >= start and of == sex]
        assert sum(found) / len(found) == pytest.approx(share, abs=0.03, rel=0.2)


def test_smokers_are_ill_more_often() -> None:
    ill = {
        smokes: [
            sick
            for sick, does, age in rows(usual().people, "lung_disease", "smoker", "age")
            if does == smokes and age > 40
        ]
        for smokes in (True, False)
    }
    assert sum(ill[True]) / len(ill[True]) > 2 * sum(ill[False]) / len(ill[False])


def test_the_hospital_names_nobody_and_its_rows_are_those_of_its_patients() -> None:
    place = usual()
    assert set(place.hospital) == {"birth_date", "sex", "postcode", "admission", "diagnosis"}
    assert place.hospital["admission"] == sorted(place.hospital["admission"])
    assert len(set(place.patients)) == len(place.patients)
    assert 0.22 <= len(place.patients) / len(place.people["sex"]) <= 0.32
    for name in ("birth_date", "sex", "postcode"):
        assert place.hospital[name] == [place.people[name][person] for person in place.patients]
    for illness in PREVALENCE:
        column = place.people[illness.lower().replace(" ", "_")]
        told = [
            person for person, said in zip(place.patients, place.hospital["diagnosis"], strict=True) if said == illness
        ]
        assert told
        assert all(column[person] for person in told)
    assert all(born <= admitted <= TODAY for born, admitted in rows(place.hospital, "birth_date", "admission"))


def test_voters_are_about_seventy_per_cent_of_the_adults_with_their_names() -> None:
    place = usual()
    adults = sum(age >= 18 for age in place.people["age"])
    assert 0.65 <= len(place.registered) / adults <= 0.75
    assert min(place.people["age"][person] for person in place.registered) == 18
    for name in place.voters:
        assert place.voters[name] == [place.people[name][person] for person in place.registered]
    assert place.voters["name"] == sorted(place.voters["name"])


def test_the_truth_connects_both_tables() -> None:
    place = usual()
    found = [row for row in place.truth if row is not None]
    assert 0.4 <= len(found) / len(place.truth) <= 0.75
    for patient, voter in enumerate(place.truth):
        if voter is not None:
            assert place.patients[patient] == place.registered[voter]


def test_smaller_postcodes_make_more_people_unique() -> None:
    large, small = (town(20_000, per_postcode=each).people for each in (20_000, 1_000))
    assert len(set(small["postcode"])) == 20
    assert share_unique(small, "birth_date", "sex", "postcode") > share_unique(large, "birth_date", "sex", "postcode")


def test_districts_are_the_first_three_digits() -> None:
    codes = set(town(100_000, per_postcode=1_000).people["postcode"])
    assert len(codes) > 90
    assert {len(code) for code in codes} == {5}
    assert {code[:3] for code in codes} == {"000", "001", "002"}
