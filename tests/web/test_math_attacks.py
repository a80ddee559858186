"""Attacks in the browser find what the library's attacks find."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator
from datetime import date
from functools import cache
from typing import Any

import numpy as np
from browser import FRONTEND, answers_of
from cases import together

from lapwing.adversary.attacks import best_guess
from lapwing.adversary.attacks.background import background
from lapwing.adversary.attacks.census import BLOCK, GROUPS, Person, known_people, reconstruct_block, tabulate
from lapwing.adversary.attacks.composition import composition
from lapwing.adversary.attacks.differencing import differencing
from lapwing.adversary.attacks.homogeneity import homogeneity
from lapwing.adversary.attacks.linkage import linkage
from lapwing.adversary.attacks.tracker import general_tracker
from lapwing.adversary.attacks.uniqueness import coarsen, uniqueness
from lapwing.anonymity.losses import certainty_penalty
from lapwing.anonymity.measures import k_anonymity, l_diversity, t_closeness
from lapwing.anonymity.restriction import Refused, RestrictedQueries, where

QUASI = ("age", "sex", "postcode")
RELEASES = (("day", True, 5), ("month", True, 4), ("year", False, 5), ("decade", True, 5), (None, True, 4))
PUBLISHED = ((2, 0, 0, 2), (2, 0, 1, 3), (1, 1, 0, 2), (3, 0, 0, 4), (4, 1, 2, 1))
"""Levels of age, sex and postcode, and the smallest class."""


def data(name: str) -> Any:
    return json.loads((FRONTEND / "src" / "data" / f"{name}.json").read_text(encoding="utf-8"))


def called(*calls: tuple[str, str, list[Any]]) -> list[Any]:
    """What functions of src/math answer."""
    return answers_of([(*call, None) for call in calls])


@cache
def town_tables() -> tuple[dict[str, list[Any]], dict[str, list[Any]], list[int | None]]:
    """The hospital and the voters of the widget as the library writes tables."""
    town = data("town")

    def table(raw: dict[str, list[Any]]) -> dict[str, list[Any]]:
        born = [date(day // 10_000, day // 100 % 100, day % 100) for day in raw["born"]]
        codes = [town["postcodes"][place] for place in raw["postcode"]]
        return {"birth_date": born, "sex": raw["sex"], "postcode": codes}

    truth = [None if voter < 0 else voter for voter in town["truth"]]
    return table(town["hospital"]), table(town["voters"]), truth


def keys(table: dict[str, Any], names: list[str]) -> list[str]:
    return ["|".join(map(str, row)) for row in zip(*(table[name] for name in names), strict=True)]


def test_the_same_patients_are_unique_and_get_the_same_names() -> None:
    hospital, voters, _ = town_tables()
    calls: list[tuple[str, str, list[Any]]] = []
    expected = []
    for born, sex, digits in RELEASES:
        names = [name for name, shown in (("birth_date", born), ("sex", sex), ("postcode", digits)) if shown]
        coarser = {**({"birth_date": born} if born else {}), "postcode": digits}
        rows, people = coarsen(hospital, **coarser), coarsen(voters, **coarser)
        found = linkage(rows, people, on=names)
        named = [found.named.get(row, -1) for row in range(len(found.candidates))]
        expected.append((uniqueness(rows, names).unique, found.candidates.tolist(), named))
        calls.append(("classes", "unique", [keys(rows, names)]))
        calls.append(("classes", "linked", [keys(rows, names), keys(people, names)]))
    answers = called(*calls)
    for place, (unique, candidates, named) in enumerate(expected):
        assert math.isclose(answers[2 * place], unique)
        assert answers[2 * place + 1] == {"candidates": candidates, "named": named}


def test_a_full_release_names_most_registered_patients_rightly() -> None:
    hospital, voters, truth = town_tables()
    found = linkage(hospital, voters, on=["birth_date", "sex", "postcode"])
    assert len(found.named) == 498
    assert found.precision(truth) > 0.99


def published(levels: tuple[int, int, int, int]) -> tuple[dict[str, list[Any]], list[int], np.ndarray[Any, Any]]:
    """The table of the widget at some levels, the rows that are left, and the share of the domain of each cell."""
    ward, smallest = data("ward"), levels[3]
    labels, shares = {}, []
    for name, level in zip(QUASI, levels[:3], strict=True):
        column = ward["columns"][name]
        labels[name] = [column["labels"][level][kind] for kind in column["kind"]]
        shares.append([column["shares"][level][kind] for kind in column["kind"]])
    rows = list(zip(*labels.values(), strict=True))
    sizes = Counter(rows)
    kept = [row for row, shown in enumerate(rows) if sizes[shown] >= smallest]
    table = {name: [column[row] for row in kept] for name, column in labels.items()}
    table["diagnosis"] = [ward["diagnosis"][row] for row in kept]
    return table, kept, np.array(shares).T[kept]


@together("levels", PUBLISHED)
def test_k_l_t_and_loss_are_the_librarys(levels: tuple[int, int, int, int]) -> None:
    table, kept, shares = published(levels)
    gone = len(data("ward")["diagnosis"]) - len(kept)
    told, lost = called(
        ("classes", "measured", [keys(table, list(QUASI)), table["diagnosis"]]),
        ("classes", "loss", [shares.tolist(), gone]),
    )
    assert told["k"] == k_anonymity(table, QUASI)
    assert told["l"] == l_diversity(table, QUASI, "diagnosis").distinct
    assert math.isclose(told["t"], t_closeness(table, QUASI, "diagnosis"), rel_tol=1e-9)
    assert math.isclose(lost, certainty_penalty(shares, np.ones(len(kept), int), suppressed=gone), rel_tol=1e-9)


def people_of(kept: list[int]) -> dict[str, dict[str, Any]]:
    """What everybody's acquaintances know, by row."""
    columns = data("ward")["columns"]

    def exact(name: str, row: int) -> Any:
        value = columns[name]["labels"][0][columns[name]["kind"][row]]
        return int(value) if name == "age" else value

    return {str(row): {name: exact(name, row) for name in QUASI} for row in kept}


@together("levels", PUBLISHED)
def test_the_same_patients_fall_to_homogeneity_and_to_background_knowledge(levels: tuple[int, int, int, int]) -> None:
    table, kept, _ = published(levels)
    given, people = keys(table, list(QUASI)), people_of(kept)
    alike, ruled = called(
        ("classes", "certain", [given, table["diagnosis"]]),
        ("classes", "certain", [given, table["diagnosis"], ["injury"]]),
    )
    expected = {one.about: one.guess for one in homogeneity(table, QUASI, "diagnosis", people)}
    assert {str(row): guess for row, guess in zip(kept, alike, strict=True) if guess} == expected
    unhurt = [str(row) for row, what in zip(kept, table["diagnosis"], strict=True) if what != "injury"]
    found = background(table, QUASI, "diagnosis", {row: people[row] for row in unhurt}, ruled_out=["injury"])
    sure = {one.about: one.guess for one in found if one.sure == 1}
    assert {str(row): guess for row, guess in zip(kept, ruled, strict=True) if guess} == sure


@together("levels", PUBLISHED)
def test_the_same_patients_fall_to_two_hospitals(levels: tuple[int, int, int, int]) -> None:
    table, kept, _ = published(levels)
    other = data("ward")["other"]
    rows = [(*one["shown"], diagnosis) for one in other["classes"] for diagnosis in one["diagnoses"]]
    second = dict(zip((*QUASI, "diagnosis"), map(list, zip(*rows, strict=True)), strict=True))
    assert k_anonymity(second, QUASI) == other["k"]
    known = people_of([row for row in kept if other["class"][row] >= 0])
    found = composition([table, second], QUASI, "diagnosis", known)
    expected = {one.about: one.guess for one in found if one.sure == 1}
    given = keys(table, list(QUASI))
    mine = {key: [table["diagnosis"][place] for place, one in enumerate(given) if one == key] for key in given}
    asked = [(row, given[place]) for place, row in enumerate(kept) if other["class"][row] >= 0]
    answers = called(
        *(("classes", "inBoth", [mine[key], other["classes"][other["class"][row]]["diagnoses"]]) for row, key in asked)
    )
    assert {str(row): guess for (row, _), guess in zip(asked, answers, strict=True) if guess} == expected


def test_the_attacks_of_the_widget_find_somebody_at_first_and_nobody_when_nothing_is_left() -> None:
    fallen = []
    for levels in (PUBLISHED[0], PUBLISHED[-1]):
        table, kept, _ = published(levels)
        fallen.append(len(homogeneity(table, QUASI, "diagnosis", people_of(kept))))
    assert fallen[0] > 0
    assert fallen[1] == 0


def described(tables: list[Any]) -> list[dict[str, Any]]:
    return [{"where": dict(one.where), "count": one.count, "mean": one.mean, "median": one.median} for one in tables]


def blocks() -> Iterator[tuple[list[Person], int, list[int]]]:
    """Blocks, how small groups may be, and which of the groups are published: what the library searches quickly."""
    everything = list(range(len(GROUPS)))
    yield list(BLOCK), 0, everything
    yield list(BLOCK), 3, everything
    yield list(BLOCK[:5]), 0, everything
    yield list(BLOCK[2:]), 0, [0, 1, 2, 3, 4, 9, 10]
    twins = [
        Person(30, "F", "A", True),
        Person(30, "F", "A", False),
        Person(30, "F", "B", True),
        Person(31, "M", "A", True),
    ]
    yield twins, 0, everything[:5]
    yield twins, 0, [0, 9, 10]


@together(("people", "smallest", "shown"), list(blocks()))
def test_the_browser_finds_all_blocks_that_the_library_finds(
    people: list[Person], smallest: int, shown: list[int]
) -> None:
    tables = tabulate(people, [GROUPS[place] for place in shown], smallest=smallest)
    oldest = 99 if people[0] in BLOCK else 40
    expected = reconstruct_block(tables, oldest=oldest, most=20_000)
    given = described(tables)
    found, counted = called(
        ("census", "reconstruct", [given, oldest, 20_000]),
        ("census", "tabulate", [[person._asdict() for person in people], [GROUPS[i] for i in shown], smallest]),
    )
    assert counted == given
    assert found["all"]
    theirs = [sorted(Person(**one) for one in block) for block in found["blocks"]]
    assert sorted(theirs) == sorted(sorted(block) for block in expected)


def test_what_all_blocks_have_in_common_is_as_sure_as_in_the_library() -> None:
    tables = tabulate(BLOCK[2:], [GROUPS[place] for place in (0, 1, 2, 3, 4, 9, 10)])
    found = reconstruct_block(tables)
    expected = sorted((round(one.sure, 9) for one in known_people(found)), reverse=True)
    (shares,) = called(("census", "known", [[[person._asdict() for person in block] for block in found]]))
    assert [round(share, 9) for _, share in shares[: len(expected)]] == expected


def test_means_are_rounded_as_the_library_rounds_them() -> None:
    pairs = [(total, count) for count in range(1, 9) for total in range(0, 120, 1)]
    answers = called(*(("census", "tenths", [total, count]) for total, count in pairs))
    assert answers == [round(total / count, 1) for total, count in pairs]


def test_beliefs_after_noisy_differences_are_the_librarys() -> None:
    cases = list(itertools.product((-4, -1, 0, 1, 2, 7), (0.1, 1.0, 3.0)))
    answers = called(*(("differencing", "logOdds", [gap, 1 / epsilon]) for gap, epsilon in cases))
    for (gap, epsilon), odds in zip(cases, answers, strict=True):
        learned = differencing(gap, 0, noise=1 / epsilon, errors=1)
        assert math.isclose(max(1 / (1 + math.exp(-odds)), 1 / (1 + math.exp(odds))), learned.sure, rel_tol=1e-9)
        assert learned.guess == int(odds > 0)
        assert learned.sure <= float(best_guess(epsilon)) + 1e-12
    limits = called(*(("differencing", "bestGuess", [epsilon]) for _, epsilon in cases))
    assert np.allclose(limits, [float(best_guess(epsilon)) for _, epsilon in cases])


def test_the_noise_of_the_browser_has_the_tails_of_discrete_laplace_noise() -> None:
    steps = 400
    draws = [((i + 0.5) / steps, (j + 0.5) / steps) for i in range(0, steps, 4) for j in range(0, steps, 4)]
    answers = called(*(("differencing", "discreteLaplace", [2.0, *pair]) for pair in draws))
    a = math.exp(-1 / 2)
    for value in (-3, 0, 1, 4):
        share = sum(one == value for one in answers) / len(answers)
        assert abs(share - (1 - a) / (1 + a) * a ** abs(value)) < 0.02


def test_small_groups_are_refused_and_the_tracker_goes_round_as_in_the_library() -> None:
    office = data("office")
    table = {name: office[name] for name in ("name", "sex", "occupation", "smokes")}
    queries = RestrictedQueries(table, smallest=10)
    target = next(row for row in office["alone"] if office["smokes"][row])
    her = where(sex=office["sex"][target], occupation=office["occupation"][target])
    other = where(sex="female" if office["sex"][target] == "male" else "male")
    groups = (her, her | other, her | ~other, other, ~other)
    sizes = [int(queries.members(group).sum()) for group in groups]
    sums = [queries.sum("smokes", group) for group in groups]
    answers = called(*(("differencing", "answered", [size, 100, 10]) for size in sizes))
    assert answers == [not isinstance(one, Refused) for one in sums]
    assert answers[0] is False
    learned = general_tracker(lambda group: queries.sum("smokes", group), her, tracker=other)
    assert learned.guess == office["smokes"][target]


def told(slug: str) -> str:
    (path,) = (FRONTEND.parent / "nuggets").glob(f"*-{slug}.md")
    return " ".join(path.read_text(encoding="utf-8").split())


def test_the_text_about_linkage_says_what_the_library_finds() -> None:
    hospital, voters, truth = town_tables()
    text, on = told("attacks-on-privacy"), ["birth_date", "sex", "postcode"]
    assert f"saw {len(truth)} patients" in text
    assert f"has {len(voters['sex']):,} entries" in text
    said = {
        "day": "{} of 861 patients get a name, and {} of these names are right",
        "month": "{} get a name ({} right)",
    }
    said |= {"year": "the year, {} get a name ({} right)", "decade": "the decade, {} get a name ({} right)"}
    for born, words in said.items():
        found = linkage(coarsen(hospital, birth_date=born), coarsen(voters, birth_date=born), on=on)
        right = sum(truth[row] == voter for row, voter in found.named.items())
        assert words.format(len(found.named), right) in text
    assert not linkage(hospital, voters, on=["sex", "postcode"]).named


def test_the_text_about_the_census_block_says_what_the_browser_finds() -> None:
    everybody, by_both, small, everything = (
        described(tabulate(BLOCK, groups, smallest=smallest))
        for groups, smallest in ((GROUPS[:1], 0), (GROUPS[:5], 0), (GROUPS, 3), (GROUPS, 0))
    )
    found = called(*(("census", "reconstruct", [tables]) for tables in (everybody, by_both, small, everything)))
    assert [(len(one["blocks"]), one["all"]) for one in found] == [(1000, False), (512, True), (1, True), (1, True)]
    ages = {tuple(sorted((one["age"], one["sex"], one["origin"]) for one in block)) for block in found[1]["blocks"]}
    assert len(ages) == 4
    assert "leave 512: four ways to choose the ages times 128 ways to be married" in told("attacks-on-privacy")


def test_the_text_about_k_anonymity_says_how_many_diagnoses_are_found_out() -> None:
    table, kept, _ = published(PUBLISHED[0])
    known, other = people_of(kept), data("ward")["other"]
    rows = [(*one["shown"], diagnosis) for one in other["classes"] for diagnosis in one["diagnoses"]]
    second = dict(zip((*QUASI, "diagnosis"), map(list, zip(*rows, strict=True)), strict=True))
    alike = homogeneity(table, QUASI, "diagnosis", known)
    unhurt = [str(row) for row, what in zip(kept, table["diagnosis"], strict=True) if what != "injury"]
    not_hurt = {row: known[row] for row in unhurt}
    ruled = [one for one in background(table, QUASI, "diagnosis", not_hurt, ruled_out=["injury"]) if one.sure == 1]
    twice = {row: known[row] for row in known if other["class"][int(row)] >= 0}
    both = [one for one in composition([table, second], QUASI, "diagnosis", twice) if one.sure == 1]
    text = told("k-anonymity")
    assert f"The homogeneity attack reveals {len(alike)} of {len(kept)} diagnoses" in text
    assert f"An attacker who can rule out an injury learns {len(ruled)} diagnoses" in text
    assert f"Another hospital published a {other['k']}-anonymous table" in text
    assert f"The two tables together reveal {len(both)} diagnoses" in text
