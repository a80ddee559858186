"""Populations have exactly as many people as asked for, in the right proportions."""

from __future__ import annotations

import pytest
from cases import together

from lapwing.errors import InvalidParameter
from lapwing.experiments import populations
from lapwing.experiments.populations import REAL, apportioned, exponential, normal, zipf


@together("people", [0, 1, 999, 123_456])
def test_everybody_is_there(people: int) -> None:
    for population in (
        *(make(people) for make in REAL.values()),
        zipf(people, different=77),
        exponential(people, different=50),
        normal(people, values=64),
    ):
        assert sum(population.values()) == people
        assert min(population.values()) >= 0


def test_rounding_moves_nobody_by_a_whole_person() -> None:
    weights = {label: 1 / (label + 1) for label in range(40)}
    total = sum(weights.values())
    for people in (7, 100, 12_345):
        counts = apportioned(weights, people)
        assert all(abs(counts[label] - people * weights[label] / total) < 1 for label in weights)


def test_real_populations_say_what_people_say() -> None:
    words, emoji, names = (make(1_000_000) for make in REAL.values())
    assert list(words)[:3] == ["the", "to", "and"]
    assert max(emoji, key=emoji.__getitem__) == "😂"
    assert "❤️" in emoji
    assert "the" not in emoji
    assert list(names)[:4] == ["James", "John", "Robert", "Michael"]
    assert 10_000 < names["Mary"] < 20_000  # 2.6 % of the women


def test_real_populations_have_many_answers() -> None:
    assert {name: len(make(10)) for name, make in REAL.items()} == {"words": 10_000, "emoji": 600, "first names": 5000}
    assert len(populations.words(10, different=30, language="de")) == 30


def test_textbook_shapes() -> None:
    ranked = zipf(10**6, different=100, exponent=1.5, name="w{}")
    assert ranked["w1"] / ranked["w4"] == pytest.approx(8, rel=1e-3)
    falling = exponential(10**7, different=100, decay=0.1, name="s{}")
    assert falling["s1"] / falling["s11"] == pytest.approx(2.71828, rel=1e-3)
    bell = normal(10**6, values=60)
    assert [bell[value] - bell[59 - value] for value in range(30)] == pytest.approx([0] * 30, abs=1)
    assert bell[30] / bell[40] == pytest.approx(2.71828 ** ((10.5**2 - 0.5**2) / 200), rel=1e-2)


def test_no_negative_people() -> None:
    with pytest.raises(InvalidParameter):
        zipf(-1, different=3)
