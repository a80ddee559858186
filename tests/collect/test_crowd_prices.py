"""What a crowd that is made of answers costs: the exact law of what is passed on, for crowds that can be enumerated."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

from collecting import CROWD as NAMED
from collecting import Keys, document
from crowd_laws import delta_at, number_chance

from lapwing.collect import reader
from lapwing.collect.crowds import Crowd
from lapwing.collect.shuffled_promises import _often, central_loss, central_words, shuffled_promises
from lapwing.exact import exp_up
from lapwing.privacy import ApproxDP, PureDP

ANSWERS = ["a1", "a2", "b1", "b2"]
"""Two crowds, by the first letter."""
OTHERS = 6
"""People in each crowd beside the one who is in one of them: in the first all say a1, in the second b1."""
LOCAL = 8.0
KEEP = math.exp(LOCAL) / (math.exp(LOCAL) + 3)
KEYS = Keys()
CROWD = Crowd(source="answer", threshold=1, mean_drop=4, sigma=Fraction(1), delta=Fraction(1, 1000), prefix=1)
Histogram = tuple[int, ...]
Law = dict[Histogram, float]
Numbers = tuple[int, int]


def together(first: Law, second: Law) -> Law:
    """The law of the sum of two independent histograms."""
    law: Law = {}
    for (one, p), (other, q) in product(first.items(), second.items()):
        total = tuple(map(sum, zip(one, other, strict=True)))
        law[total] = law.get(total, 0.0) + p * q
    return law


def reports_of(answer: str, people: int) -> Law:
    """What so many people report who all give one answer."""
    law: Law = {(0, 0, 0, 0): 1.0}
    for _ in range(people):
        chances = [KEEP if said == answer else (1 - KEEP) / 3 for said in ANSWERS]
        law = together(law, {tuple(int(i == said) for i in range(4)): p for said, p in enumerate(chances)})
    return law


def kept_of(others: str, person: str | None, number: int) -> Law:
    """The reports of a crowd of which so many are kept: with some chance the person's is one of them."""
    without = reports_of(others, number)
    if person is None or number == 0:
        return without
    chance = number / (OTHERS + 1)
    among = together(reports_of(others, number - 1), reports_of(person, 1))
    return {place: (1 - chance) * without.get(place, 0.0) + chance * among.get(place, 0.0) for place in without | among}


def view(first: str | None, second: str | None) -> dict[tuple[Numbers, Histogram], float]:
    """What is passed on, with the number of each crowd, if the person says this in the first or that in the second."""
    sizes = [OTHERS + (person is not None) for person in (first, second)]
    law = {}
    for numbers in product(range(OTHERS + 2), repeat=2):
        weight = math.prod(number_chance(number, size, CROWD) for number, size in zip(numbers, sizes, strict=True))
        if weight:
            seen = together(kept_of("a1", first, numbers[0]), kept_of("b1", second, numbers[1]))
            law.update({(numbers, histogram): weight * p for histogram, p in seen.items()})
    return law


def test_a_report_in_a_crowd_of_first_letters_costs_at_most_twice_the_local_epsilon_and_the_threshold() -> None:
    """Towards somebody who knows all other answers, and even how many of each crowd were passed on."""
    here, there = view("a2", None), view(None, "b2")
    assert math.isclose(sum(here.values()), 1)
    loss = CROWD.mechanism.privacy_loss()
    for one, other in ((here, there), (there, here)):
        assert delta_at(float(loss.epsilon) + 2 * LOCAL, one, other) <= float(loss.delta)


def test_one_local_epsilon_is_not_enough_for_whoever_sees_the_numbers_of_crowds() -> None:
    """The person's a2 is the only one in a small crowd, and in a large one their report would hardly be dropped."""
    crowd = Crowd(source="answer", threshold=1, mean_drop=16, sigma=Fraction(4), delta=Fraction(1, 1000), prefix=1)
    small, large, switch = 19, 2000, (1 - KEEP) / 3
    loss = crowd.mechanism.privacy_loss()
    bound, difference = math.exp(float(loss.epsilon) + LOCAL), 0.0
    for a, b in product(range(1, small + 1), range(large - 60, large + 1)):
        chance_here = number_chance(a, small + 1, crowd) * number_chance(b, large, crowd)
        chance_there = number_chance(a, small, crowd) * number_chance(b, large + 1, crowd)
        kept_here, kept_there = a / (small + 1), b / (large + 1)
        # of the first crowd all but one say a1, and that one a2; of the second all say b1
        here = (kept_here * KEEP + (1 - kept_here) * a * switch) * KEEP ** (a - 1 + b)
        there = a * switch * ((1 - kept_there) * KEEP + kept_there * switch) * KEEP ** (a + b - 2)
        difference += max(0.0, chance_here * here - bound * chance_there * there)
    assert difference > 10 * float(loss.delta)


def test_a_quote_says_who_can_count_a_crowd_of_answers() -> None:
    def guarantees(**crowd: Any) -> dict[str, str]:
        changes = {"transport": "blinded", "crowd": {**NAMED, "from": "answer", **crowd}}
        collection = reader.checked(document(KEYS, **changes))
        local = collection.protocol.privacy_loss().epsilon
        assert central_loss(collection).epsilon == collection.crowd.mechanism.privacy_loss().epsilon + 2 * local
        return {row.party: row.guarantee for row in shuffled_promises(collection, "local", "nothing")}

    plain, with_dummies = guarantees(), guarantees(threshold=100, dummies={"epsilon": 1, "delta": "0.000001"})
    assert plain["aggregator with devices of its own"].startswith("none about crowds")
    assert "honest" in plain["aggregator"]
    assert plain["blinder with aggregator"] == plain["aggregator"]
    assert with_dummies["blinder with aggregator"].startswith("none about crowds"), "it recognises its dummies"


def test_several_reports_of_a_device_in_one_crowd_and_batch_have_no_useful_bound() -> None:
    """Eight leave a crowd: if fewer than eight were dropped, more are kept than there are without them, at any ε."""
    crowd = Crowd(source="answer", threshold=20, mean_drop=10, sigma=Fraction(2), delta=Fraction(2, 10**6))
    size, reports = 100, 8
    more_than_others = sum(number_chance(kept, size + reports, crowd) for kept in range(size + 1, size + reports + 1))
    assert 0.1 < more_than_others < 0.11
    answers = reader.checked(document(KEYS, transport="blinded", crowd={**NAMED, "from": "answer"}))
    assert "if no two are in one batch, otherwise none" in central_words(answers)


def test_all_randomised_reports_of_a_device_cost_what_changing_one_after_another_costs() -> None:
    """Also where they are in one batch; and never more than their local losses together."""
    large = {"publishing": {"smallest_batch": 100_000, "every_hours": 24}, "transport": "shuffled", "crowd": NAMED}
    collection = reader.checked(document(KEYS, **large))
    loss, reports = central_loss(collection), 8
    every = _often(collection, loss, reports)
    assert isinstance(every, ApproxDP)
    assert every.epsilon == reports * loss.epsilon < collection.lifetime
    assert every.delta >= loss.delta * sum(exp_up(place * loss.epsilon) for place in range(reports)) > 8 * loss.delta
    small = reader.checked(document(KEYS, transport="shuffled"))
    assert _often(small, central_loss(small), reports) == PureDP(8, relation="replace", unit="person")
