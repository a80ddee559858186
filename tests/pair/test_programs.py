"""The seven programs on Adult, and a thousand random questions: what two servers compute equals the plain answer."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from cases import together as each
from pairing import answered

from lapwing.datasets import adult
from lapwing.errors import InvalidParameter, UnsupportedQuery
from lapwing.pair.domains import Binned, Digits, Layout, Listed
from lapwing.pair.orders import noise_for
from lapwing.pair.programs import (
    Count,
    CountDistinct,
    CrossProduct,
    Filter,
    GroupByCount,
    GroupByCountEncoded,
    Laplace,
    NoisyMax,
    Program,
    Project,
    seven,
)
from lapwing.pair.rehearsal import rehearse
from lapwing.pair.runs import Way

FALSE_ALARM = 1e-6


@cache
def people() -> dict[str, list[Any]]:
    return adult("train")


@cache
def layout() -> Layout:
    def listed(name: str) -> Listed:
        return Listed(name, "text", tuple(sorted({value for value in people()[name] if value is not None})))

    ages = Listed("age", "integer", tuple(range(17, 91)))
    gain = Digits("capital_gain", "integer", 0, 99_999)
    return Layout((ages, listed("sex"), listed("race"), listed("native_country"), gain), products=7)


def rows() -> list[dict[str, Any]]:
    table = people()
    return [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]


def test_the_seven_programs_on_adult_have_their_exact_answers() -> None:
    compiled = {name: program.compiled(layout()) for name, program in seven().items()}
    numbers = answered(layout(), people(), [[program.measure] for program in compiled.values()])
    exact = {
        name: program.answer(part[0], "joint", "person")
        for (name, program), part in zip(compiled.items(), numbers, strict=True)
    }
    ages = Counter(people()["age"])
    assert exact["P1"].values == tuple(ages[age] for age in range(17, 91))
    assert exact["P1"].cumulated()[-1] == 32_561
    assert {age for (age,) in exact["P2"].labels} == {36, 31, 34, 23, 35}
    pairs = Counter(zip(people()["race"], people()["sex"], strict=True))
    assert dict(zip(exact["P3"].labels, exact["P3"].values, strict=True)) == pairs
    mexicans = Counter((row["age"], row["sex"]) for row in rows() if row["native_country"] == "Mexico")
    assert {
        label: value for label, value in zip(exact["P4"].labels, exact["P4"].values, strict=True) if value
    } == mexicans
    assert [exact[name].values for name in ("P5", "P6", "P7")] == [(18,), (72,), (48,)]


def test_losses_of_the_seven_programs_are_those_of_one_person_who_is_replaced() -> None:
    changes = {name: program.compiled(layout()).measure.change(layout()) for name, program in seven().items()}
    assert changes == {"P1": 2, "P2": 2, "P3": 2, "P4": 2, "P5": 1, "P6": 1, "P7": 1}
    listed = Layout(layout().domains, "add_remove", 7)
    assert {program.compiled(listed).measure.change(listed) for program in seven().values()} == {1}


def test_a_program_says_what_it_does() -> None:
    text = "Filter(native_country = 'Mexico') → CrossProduct(age, sex) → GroupByCount → Laplace(1)"
    assert str(seven()["P4"]) == text


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (Project("age") | GroupByCount(), "nothing is opened without noise"),
        (Project("age") | Laplace(1), "nothing to add noise to"),
        (Count() | Laplace(1) | Count(), "nothing comes after noise"),
        (GroupByCount() | Laplace(1), "needs columns"),
        (Project("capital_gain") | GroupByCount() | Laplace(1), "not a listed column"),
        (Project("age") | GroupByCountEncoded() | Laplace(1), "nothing to add noise to"),
        (Project("age") | GroupByCountEncoded() | Filter("count < 3") | Count() | Laplace(1), "compared with a number"),
        (Count() | NoisyMax(1, 1), "several counts"),
        (Filter("capital_gain > 5") | Count() | Laplace(1), "as digits"),
        (Filter("age = hours") | Count() | Laplace(1), "hours"),
        (CountDistinct() | Laplace(1), "needs counts"),
    ],
)
def test_what_no_program_can_do_is_refused_with_its_reason(program: Program, why: str) -> None:
    with pytest.raises((UnsupportedQuery, InvalidParameter), match=why):
        program.compiled(layout())


def test_ranges_are_values_of_their_own() -> None:
    hours = Binned.of("hours_per_week", [1, 20, 40, 99])
    own = Layout((hours, Listed("sex", "text", ("Female", "Male"))), products=2)
    program = CrossProduct("hours_per_week", "sex") | GroupByCount() | Laplace(1)
    table = {name: people()[name][:500] for name in ("hours_per_week", "sex")}
    [[numbers]] = answered(own, table, [[program.compiled(own).measure]])
    places = [sum(value >= edge for edge in (20, 40)) for value in table["hours_per_week"]]
    plain = Counter(zip(places, table["sex"], strict=True))
    assert numbers == [plain[place, sex] for place in range(3) for sex in ("Female", "Male")]


@each("way", ["joint", "each"])
@each("epsilon", [Fraction(1, 5000), Fraction(1, 20), 1, 5])
def test_the_half_width_of_an_answer_is_that_of_all_its_noise(way: Way, epsilon: Fraction) -> None:
    """By the exact law of one draw, and of the sum of two; the width is the smallest that holds so often."""
    program = (Count() | Laplace(epsilon)).compiled(layout())
    width = int(program.answer([0], way, "person").half_width)
    t = 1 / float(program.request(way).orders(layout())[0].noise.scale)
    p, far = np.exp(-t), np.arange(int(60 / t) + 60)
    law = np.tanh(t / 2) * p**far
    if way == "each":
        law = np.tanh(t / 2) ** 2 * p**far * (far + 1 / np.tanh(t))
    inside = 2 * law[: width + 1].sum() - law[0]
    assert inside >= 0.95 - 1e-6
    assert inside - 2 * law[width] < 0.95 + 1e-6


@pytest.mark.parametrize("way", ["joint", "each"])
def test_noisy_answers_lie_within_their_intervals_and_are_not_exact(way: Way) -> None:
    table = {name: people()[name][:400] for name in layout().by_name}
    compiled = [program.compiled(layout()) for program in seven(Fraction(1, 2)).values()]
    exact = answered(layout(), table, [[program.measure] for program in compiled])
    noisy = rehearse(layout(), table, [program.request(way).orders(layout()) for program in compiled]).numbers
    draws = sum(program.measure.size for program in compiled)
    for program, [plain], [numbers] in zip(compiled, exact, noisy, strict=True):
        noise = noise_for(program.measure, layout(), program.epsilon)
        width = noise.half_width(1 - Fraction(FALSE_ALARM) / (2 * draws)) * (1 if way == "joint" else 2)
        assert all(abs(a - b) <= width for a, b in zip(plain, numbers, strict=True))
    assert any(plain != numbers for [plain], [numbers] in zip(exact, noisy, strict=True))
