"""How far one person can move a measure, against the definition; and that servers count what a measure says.

A change that is stated too small is a wrong epsilon. So measures here are those that an attacker would craft: groups
that leave bits out, empty groups, weights of both signs, cells of one row in several groups.
"""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from cases import together as each
from pairing import together
from tally_worlds import all_rows, any_measure, cells_of, counted_by_hand, distance, tiny_layout

from lapwing.errors import InvalidParameter, UnsupportedQuery
from lapwing.pair.domains import Layout, split
from lapwing.pair.holdings import Batch, Holdings, packed
from lapwing.pair.intake import take_in
from lapwing.pair.joint_noise import JointLaplace
from lapwing.pair.links import Link
from lapwing.pair.orders import Request
from lapwing.pair.runs import Order, Run
from lapwing.pair.tallies import ALWAYS, Among, Dimension, Measure, Tally, counted
from lapwing.pair.transfers import Transfers
from lapwing.privacy import ApproxDP, Relation

RELATIONS: tuple[Relation, ...] = ("replace", "add_remove")
QUIET = JointLaplace(Fraction(1, 32))
"""Noise that is 0 but for e^-32."""


def farthest(measure: Measure, layout: Layout) -> int:
    """The largest l1 distance of neighbours, by trying all rows, and all tables around one where that matters."""
    rows = all_rows(layout)
    by_cells = {tuple(cells_of(measure.tally, layout, row)): row for row in rows}
    kinds = [row for _, row in sorted(by_cells.items())]
    if measure.at_least is None:
        others: list[tuple[Any, ...]] = [()]
    else:  # a threshold: tables in which one cell or two are just below it
        full = measure.at_least - 1
        pairs = itertools.combinations_with_replacement(kinds, 2)
        others = [(*[first] * full, *([second] * full if second != first else [])) for first, second in pairs]
    most = 0
    for around in others:
        numbers = [counted_by_hand(measure, layout, [*around, row]) for row in kinds]
        if layout.relation == "add_remove":
            most = max(most, *(distance(one, counted_by_hand(measure, layout, around)) for one in numbers))
        else:
            most = max(most, *(distance(one, other) for one, other in itertools.product(numbers, repeat=2)))
    return most


def compared(relation: Relation, seeds: range) -> tuple[int, int]:
    """How often the stated change was exactly what is possible, of how many. It is never less."""
    layout, exact = tiny_layout(relation), 0
    for seed in seeds:
        measure = any_measure(random.Random(seed), layout)
        measure.check(layout)
        most, stated = farthest(measure, layout), measure.change(layout)
        assert stated >= most, f"seed {seed}: {measure} moves by {most}, and {stated} is stated"
        exact += stated == max(1, most)
    return exact, len(seeds)


@each("relation", RELATIONS)
def test_no_row_moves_a_measure_further_than_is_stated(relation: Relation) -> None:
    exact, count = compared(relation, range(120))
    assert exact > count / 3, "a bound that is always too large would pass, and be of no use"


@pytest.mark.sweep
@pytest.mark.parametrize("relation", RELATIONS)
def test_no_row_moves_any_of_many_measures_further_than_is_stated(relation: Relation) -> None:
    compared(relation, range(1000, 9000))


@each(
    "relation, measure, change",
    [
        ("add_remove", counted(Tally()), 1),
        ("replace", counted(Tally((Dimension("a", ((0,), (1,))),))), 2),
        ("add_remove", counted(Tally((Dimension("a", ((0,), (1,))),))), 1),
        ("replace", Measure(Tally((Dimension("a", ((0,), (1,))),)), (0, 0), (5, -7), 1), 12),
        ("add_remove", Measure(Tally((Dimension("a", ((0,), (1,))),)), (0, 0), (5, -7), 1), 7),
        ("replace", Measure(Tally((Dimension("a", ((0,), (1,))),)), (0, 1), (5, -7), 2), 12),
        ("replace", Measure(Tally((Dimension("a", ((0,), (1,))),)), (0, 0), (1, 1), 1, 2), 1),
        ("replace", Measure(Tally((Dimension("a", ((0,), (1,))),)), (0, 1), (1, 1), 2, 2), 2),
        ("add_remove", Measure(Tally((Dimension("a", ((0,), (1,))),)), (0, 1), (1, 1), 2, 2), 1),
        ("replace", Measure(Tally((Dimension("d", ((0,), (1,), (2,), (3,))),)), (0,) * 4, (-3, 1, 2, 2), 1), 5),
        ("add_remove", Measure(Tally((Dimension("d", ((0,), (1,), (2,), (3,))),)), (0,) * 4, (-3, 1, 2, 2), 1), 3),
    ],
)
def test_known_measures_have_their_change(relation: Relation, measure: Measure, change: int) -> None:
    layout = tiny_layout(relation)
    assert measure.change(layout) == farthest(measure, layout) == change


@each("relation", RELATIONS)
def test_two_servers_count_what_a_measure_says_whatever_it_is(relation: Relation) -> None:
    """Also measures that no compiler writes: what is counted is what the change was computed for."""
    layout, dice = tiny_layout(relation, products=60), random.Random(7)
    rows = dice.choices(all_rows(layout), k=21)
    measures = [any_measure(random.Random(seed), layout) for seed in range(500, 540)]
    table = {name: [None if row is None else row[name] for row in rows] for name in layout.by_name}
    bits = layout.encoded(table)
    absent = [place for place, row in enumerate(rows) if row is None]
    if absent:
        bits[:, absent] = layout.absent(len(absent))
    shares = split(layout.with_products(bits))

    def server(link: Link) -> list[list[int]]:
        transfers, lines = Transfers(link), packed(shares[link.place], layout)
        intake = take_in(link, transfers, layout, lines, len(rows))
        assert intake.passed.all()
        holdings = Holdings(layout, [Batch(lines, len(rows))], intake.totals)
        orders = [Order(measure, QUIET) for measure in measures]
        return [Run(link, holdings, transfers, Counter()).answers([order])[0] for order in orders]

    ours, theirs = together(server).results
    assert ours == theirs
    for measure, numbers in zip(measures, ours, strict=True):
        assert numbers == counted_by_hand(measure, layout, rows), measure


# ------------------------------------------------------------------------------------------- what is refused


def plain(**changed: Any) -> dict[str, Any]:
    """A request as an analyst sends it, with something else in its measure."""
    measure = counted(Tally((Dimension("a", ((0,), (1,))),), Among("b", (0,))))
    data = Request((measure,), (Fraction(1),)).written()
    data["measures"][0] |= changed
    return data


def with_epsilon(text: Any) -> dict[str, Any]:
    return {**plain(), "epsilons": [text]}


DIGITS = [["d", [[0], [1]]], ["a", [[0], [1]]]]
CRAFTED = {
    "a bit twice in a condition": plain(where=["among", "b", [0, 0]]),
    "a bit that is not there": plain(where=["among", "b", [9]]),
    "a bit below zero": plain(where=["among", "b", [-1]]),
    "a bit that is true": plain(where=["among", "b", [True]]),
    "a column that is not there": plain(where=["among", "z", [0]]),
    "a condition on digits": plain(where=["among", "d", [0]]),
    "a condition that is none": plain(where=["xor", ["among", "b", [0]]]),
    "a condition as text": plain(where="among"),
    "a deep condition": plain(where=json.loads('["both",' * 30 + '["among","b",[0]]' + "]" * 30)),
    "groups that share a bit": plain(dimensions=[["a", [[0], [0, 1]]]]),
    "a group with a bit twice": plain(dimensions=[["a", [[0, 0], [1]]]]),
    "a dimension twice": plain(dimensions=[["a", [[0]]], ["a", [[0], [1]]]]),
    "a dimension that is not there": plain(dimensions=[["z", [[0], [1]]]]),
    "digits that are not last": plain(dimensions=DIGITS, groups=[0, 0, 1, 1], weights=["1"] * 4),
    "digits together": plain(dimensions=[["d", [[0, 1], [2]]]]),
    "no digits": plain(dimensions=[["d", []]], groups=[], weights=[]),
    "digits of a block in two groups": plain(dimensions=[["d", [[0], [1]]]], groups=[0, 1]),
    "digits with a threshold": plain(dimensions=[["d", [[0], [1]]]], groups=[0, 0], at_least=1),
    "a group number too large": plain(groups=[0, 2]),
    "a group number below none": plain(groups=[0, -2]),
    "a group number that is no whole number": plain(groups=[0, 0.5]),
    "fewer weights than cells": plain(weights=["1"]),
    "a weight that is enormous": plain(weights=[str(1 << 200), "1"]),
    "a weight that overflows": plain(weights=[str(1 << 63), "1"]),
    "a weight that is a number": plain(weights=[1, 1]),
    "a weight that is not finite": plain(weights=["inf", "1"]),
    "a threshold with weights": plain(weights=["2", "1"], at_least=1),
    "a threshold of zero": plain(at_least=0),
    "an enormous threshold": plain(at_least=1 << 60),
    "an enormous size": plain(size=1 << 50),
    "no size": plain(size=0),
    "an epsilon of zero": with_epsilon("0/1"),
    "an epsilon below zero": with_epsilon("-1/1"),
    "an epsilon over zero": with_epsilon("1/0"),
    "an epsilon that is a number": with_epsilon(1.0),
    "an epsilon that is too small": with_epsilon(f"1/{10**60}"),
    "an epsilon that is too large": with_epsilon(f"{10**9}/1"),
    "an epsilon of many digits": with_epsilon("1" * 300 + "/1"),
    "more epsilons than measures": {**plain(), "epsilons": ["1/1", "1/1"]},
    "another way": {**plain(), "way": "none"},
    "no measure": {**plain(), "measures": [], "epsilons": []},
    "many measures": {**plain(), "measures": plain()["measures"] * 65, "epsilons": ["1/1"] * 65},
    "a list": [],
    "nothing": None,
    "text": "SELECT",
}


@pytest.mark.parametrize("data", CRAFTED.values(), ids=CRAFTED)
def test_what_an_analyst_crafts_is_refused_with_one_sentence_before_it_is_charged(data: Any) -> None:
    layout = tiny_layout("replace")
    with pytest.raises((InvalidParameter, UnsupportedQuery)) as refusal:
        Request.read(data).check(layout, 1000, Counter())
    assert len(str(refusal.value)) < 400


def test_what_is_not_crafted_passes() -> None:
    """The control: the request that all of these were made from."""
    layout = tiny_layout("replace")
    request = Request.read(plain())
    request.check(layout, 1000, Counter())
    assert request.measures[0].tally.where != ALWAYS
    assert Request.read(request.written()) == request


def test_what_servers_state_is_what_their_coins_cost_for_every_scale() -> None:
    """The slack of the scale is enough up to the largest one: the loss never exceeds what is charged."""
    layout = tiny_layout("replace")
    for bits in (0, 1, 10, 20, 30, 38):
        for epsilon in (Fraction(1, 1 << bits), Fraction(3, 7 << bits)):
            request = Request((counted(Tally()),), (epsilon,))
            loss = request.loss(layout, "person")
            assert isinstance(loss, ApproxDP)
            assert loss.epsilon == epsilon
            [order] = request.orders(layout)
            assert order.noise.privacy_loss(1).epsilon <= epsilon
