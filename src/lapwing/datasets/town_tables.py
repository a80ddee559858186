"""The columns of the imaginary town: schooling, work, illness, names; and the two tables that are published."""

from __future__ import annotations

import datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lapwing.datasets import town_facts as facts
from lapwing.datasets.households import (
    ADULTS,
    ALONE,
    COUPLE,
    FAMILY,
    ONE_PARENT,
    SHARED,
    Codes,
    Flags,
    Floats,
    Homes,
    People,
    by_age,
    happens,
    homes,
    inhabitants,
    normal,
    uniform,
)
from lapwing.noise import Entropy, choice, permutation, uniform_below

Table = dict[str, NDArray[Any]]
ILLNESSES: Final = {illness.lower().replace(" ", "_"): illness for illness in facts.PREVALENCE}
"""Columns and the words of the diagnosis."""
_POSTCODES_OF_A_DISTRICT = 40
_PENSION, _WORKING_AGE, _GRADUATION = 66, 16, 23
_HOUSES_OF_A_STREET = 60


def everybody(count: int, postcodes: int, today: datetime.date, entropy: Entropy) -> Table:
    """All columns of all people."""
    houses = homes(count, postcodes, entropy)
    people = inhabitants(houses, count, entropy)
    born = np.datetime64(today, "D") - people.days.astype("timedelta64[D]")
    age = today.year - (born.astype("datetime64[Y]").astype(np.int64) + 1970)  # today is the last day of a year
    level = _schooling(houses, people, age, entropy)
    smoker = (age >= facts.GROWN_UP) & happens(np.array(list(facts.SMOKES.values()))[level], count, entropy)
    work = _occupations(age, level, entropy)
    return {
        "name": _names(houses, people, age, entropy),
        "sex": labels(("male", "female"), people.female),
        "birth_date": born,
        "age": age,
        "household": people.home,
        "address": _addresses(houses)[people.home],
        "postcode": _postcodes(postcodes)[houses.postcode[people.home]],
        "marital_status": _marital_status(houses, people, age, entropy),
        "education": labels(facts.SCHOOLING, level),
        "occupation": work,
        "income": _incomes(houses, people, age, level, work, entropy),
        "smoker": smoker,
        **_illnesses(people.female, age, smoker, entropy),
    }


def hospital(people: Table, today: datetime.date, entropy: Entropy) -> tuple[Table, Codes]:
    """The rows of those seen within a year, in the order of their admission, and whose rows they are."""
    ill = np.stack([people[illness] for illness in ILLNESSES])
    chances = np.where(ill.any(axis=0), facts.VISITS[1], facts.VISITS[0])
    seen = np.flatnonzero(happens(chances, len(chances), entropy))
    day = np.datetime64(today, "D") - uniform_below(366, len(seen), entropy)
    day = np.maximum(day, people["birth_date"][seen])
    order = np.argsort(day, kind="stable")
    seen, day = seen[order], day[order]
    # for what one comes: u^(1/weight) is largest with a chance proportional to the weight (Efraimidis, Spirakis 2006)
    weights = [facts.COMES_FOR.get(illness, 1.0) for illness in ILLNESSES.values()] + [facts.COMES_FOR_ELSE]
    drawn = uniform(len(weights) * len(seen), entropy).reshape(len(weights), -1) ** (1 / np.array(weights))[:, None]
    drawn[:-1][~ill[:, seen]] = -1.0
    reason = drawn.argmax(axis=0)
    acute = labels(tuple(facts.ACUTE), choice(list(facts.ACUTE.values()), len(seen), entropy))
    chronic = labels((*ILLNESSES.values(), "else"), reason)
    details = {name: people[name][seen] for name in ("birth_date", "sex", "postcode")}
    return {
        **details,
        "admission": day,
        "diagnosis": np.where(reason < len(ILLNESSES), chronic, acute),
    }, seen


def voters(people: Table, entropy: Entropy) -> tuple[Table, Codes]:
    """The list of voters in the order of their names, and whose rows they are."""
    listed = np.flatnonzero(happens(by_age(facts.REGISTERED, people["age"]), len(people["age"]), entropy))
    listed = listed[np.argsort(people["name"][listed].astype(str), kind="stable")]
    return {name: people[name][listed] for name in ("name", "address", "postcode", "birth_date", "sex")}, listed


def plain(table: Table) -> dict[str, list[Any]]:
    """Columns as lists of Python's own values."""
    return {name: column.tolist() for name, column in table.items()}


def labels(words: tuple[str, ...], codes: NDArray[Any]) -> NDArray[Any]:
    """The word for every code, the same object wherever it is the same word."""
    return np.array(words, dtype=object)[codes.astype(np.intp)]


def _schooling(houses: Homes, people: People, age: Codes, entropy: Entropy) -> Codes:
    """The better off a household is, the longer its people went to school; whoever is young is not done yet."""
    talent = (0.7 * houses.means[people.home] + 0.7 * normal(len(age), entropy)) / np.sqrt(0.98)
    rank = 1 / (1 + np.exp(-1.702 * talent))  # nearly the normal distribution function (Camilli 1994)
    level: Codes = np.searchsorted(facts.SCHOOLING_UP_TO[:-1], rank, side="right")
    limit = np.searchsorted((18, 20, _GRADUATION, 28), age, side="right")
    return np.minimum(level, limit)


def _occupations(age: Codes, level: Codes, entropy: Entropy) -> NDArray[Any]:
    pick = uniform(len(age), entropy)
    jobs = np.array(
        [[names[int(part * len(names))] for part in np.arange(60) / 60] for names in facts.OCCUPATIONS.values()],
        dtype=object,
    )[level, (60 * pick).astype(np.intp)]
    jobs[happens(0.17, len(age), entropy)] = "at home"
    studies = (age < _GRADUATION) & (level > 0) & happens(0.6, len(age), entropy)
    cases = [age < 6, age < facts.GROWN_UP, age >= _PENSION, studies]
    return np.select(cases, ["child", "pupil", "retired", "student"], jobs)


def _incomes(houses: Homes, people: People, age: Codes, level: Codes, work: Any, entropy: Entropy) -> Codes:
    """Grows with schooling, until the middle of life with age, and with how well off the household is."""
    middle = np.array(list(facts.PAY.values()))[level]
    grown = 1 - ((np.minimum(age, _PENSION) - 48) / 48.0) ** 2
    less = np.select([work == "retired", work == "at home", work == "student"], [0.6, 0.12, 0.25], 1.0)
    means = 0.15 * houses.means[people.home] + 0.42 * normal(len(age), entropy)
    earned = np.rint(middle * grown * less * np.exp(means) / 100) * 100
    return np.where(age < facts.GROWN_UP, 0, earned).astype(np.int64)


def _marital_status(houses: Homes, people: People, age: Codes, entropy: Entropy) -> NDArray[Any]:
    """Couples marry as they grow older; who lives alone was perhaps married once."""
    kind, count = houses.kind[people.home], len(age)
    grown_up = people.place < ADULTS
    head_age = age[np.maximum.accumulate(np.where(people.place == 0, np.arange(count), 0))]
    together = grown_up & ((kind == COUPLE) | (kind == FAMILY))
    married = together & (houses.married[people.home] < np.interp(head_age, (18, 30, 45, 70), (0.1, 0.6, 0.85, 0.96)))
    once = (
        grown_up & ((kind == ALONE) | (kind == ONE_PARENT)) & happens(np.clip((age - 25) / 50, 0, 0.9), count, entropy)
    )
    widowed = once & happens(np.clip((age - 50) / 40, 0.02, 0.9) * np.where(people.female, 1.0, 0.6), count, entropy)
    return np.select([married, widowed, once], ["married", "widowed", "divorced"], "single").astype(object)


def _illnesses(female: Flags, age: Codes, smoker: Flags, entropy: Entropy) -> Table:
    def share(steps: tuple[tuple[int, float, float], ...]) -> Floats:
        return np.where(female, by_age(steps, age, 1), by_age(steps, age, 2))

    illnesses: Table = {}
    for column, illness in ILLNESSES.items():
        # scaled so that smokers and others together come to the published share, one adult in nine smoking
        risk = facts.SMOKERS_RISK.get(illness, 1.0)
        scaled = np.where(smoker, risk, 1.0) / (1 + (risk - 1) / 9)
        illnesses[column] = happens(scaled * share(facts.PREVALENCE[illness]), len(age), entropy)
    return illnesses


def _names(houses: Homes, people: People, age: Codes, entropy: Entropy) -> NDArray[Any]:
    """First names by sex; a family shares a surname, flatmates and some unmarried couples do not."""
    count = len(age)
    surnames = np.array([start + end for start in facts.BEGINNINGS for end in facts.ENDINGS], dtype=object)
    common = [1 + 200 // (rank + 4) for rank in range(len(surnames))]  # a few are frequent, most are rare
    of_home = permutation(len(surnames), entropy)[choice(common, len(houses.kind), entropy)]
    own = permutation(len(surnames), entropy)[choice(common, count, entropy)]
    apart = (houses.kind[people.home] == SHARED) | ((people.place == 1) & (houses.married[people.home] > 0.6))
    surname = surnames[np.where(apart, own, of_home[people.home])]
    women, men = (labels(names, uniform_below(len(names), count, entropy)) for names in (facts.WOMEN, facts.MEN))
    return np.where(people.female, women, men) + " " + surname  # type: ignore[no-any-return]


def _addresses(houses: Homes) -> NDArray[Any]:
    """No two households share one: street after street is filled, postcode by postcode."""
    order = np.argsort(houses.postcode, kind="stable")
    number = np.empty(len(order), np.int64)
    counts = np.bincount(houses.postcode)
    number[order] = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    streets = np.array([f"{name} {way}" for way in facts.WAYS for name in facts.STREETS], dtype=object)
    doors = np.array([f"{door} " for door in range(1, _HOUSES_OF_A_STREET + 1)], dtype=object)
    return doors[number % _HOUSES_OF_A_STREET] + streets[(number // _HOUSES_OF_A_STREET) % len(streets)]  # type: ignore[no-any-return]


def _postcodes(count: int) -> NDArray[Any]:
    """Five digits; those that begin with 000 to 004 belong to no real place of the United States."""
    size = _POSTCODES_OF_A_DISTRICT
    return np.array([f"{part // size:03d}{11 + 2 * (part % size)}" for part in range(count)], dtype=object)
