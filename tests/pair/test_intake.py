"""Rows of owners who lie: both servers refuse the same ones, and whoever is not refused moves a cell by one at most."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from cases import together as each
from pairing import together
from tally_worlds import tiny_layout

from lapwing.noise import SYSTEM
from lapwing.pair.deployment import domains_of
from lapwing.pair.domains import Layout, split
from lapwing.pair.holdings import Batch, Holdings, chosen, packed
from lapwing.pair.intake import Intake, take_in
from lapwing.pair.joint_noise import JointLaplace
from lapwing.pair.links import Link
from lapwing.pair.runs import Order, Run
from lapwing.pair.tallies import Among, Dimension, Measure, Tally, counted
from lapwing.pair.transfers import Bits, Transfers, random_bits
from lapwing.privacy import Relation

QUIET = JointLaplace(Fraction(1, 32))
ROWS = {"a": [0, 1, None, 1, 0, 1], "b": ["x", "y", "x", None, "y", "x"], "d": [2, -3, None, 0, 1, 2]}
COUNT = len(ROWS["a"])


def taken_in(layout: Layout, bits: Bits) -> tuple[list[Intake], list[list[bytes]], list[list[int]]]:
    """What both servers make of these rows, and what each of them heard."""
    shares = split(layout.with_products(bits))

    def server(link: Link) -> Intake:
        return take_in(link, Transfers(link), layout, packed(shares[link.place], layout), bits.shape[1])

    run = together(server)
    return run.results, run.heard, run.lengths


@each("relation", ["replace", "add_remove"])
def test_rows_that_are_none_are_refused_by_both_servers_and_do_not_count(relation: Relation) -> None:
    """All choices of bits of the listed columns, one a row: exactly the rows that an owner can have pass."""
    layout = tiny_layout(relation)
    places = [layout.places[name] for name in ("a", "b")]
    listed = [place for part in places for place in range(part.start, part.stop)]
    choices = list(itertools.product((False, True), repeat=layout.presence + len(listed)))
    bits = np.zeros((layout.row_bits, len(choices)), dtype=np.bool_)
    bits[[*range(layout.presence), *listed]] = np.array(choices).T
    bits[layout.places["d"]] = random_bits(layout.by_name["d"].size * len(choices), SYSTEM).reshape(-1, len(choices))
    there = bits[0].astype(int) if layout.presence else np.ones(len(choices), dtype=int)
    honest = np.logical_and.reduce([bits[part].sum(axis=0) == there for part in places])
    (ours, theirs), _, _ = taken_in(layout, bits)
    assert (ours.passed == honest).all()
    assert (theirs.passed == honest).all()
    assert ((ours.totals + theirs.totals) == bits[:, honest].sum(axis=1)).all()
    assert 0 < honest.sum() < len(choices)


def test_what_servers_say_in_the_intake_has_the_same_lengths_for_all_rows() -> None:
    layout = tiny_layout("replace")
    lengths = [
        taken_in(layout, layout.encoded({name: [cell] * COUNT for name, cell in row.items()}))[2]
        for row in ({"a": 0, "b": "x", "d": 0}, {"a": None, "b": None, "d": None})
    ]
    assert lengths[0] == lengths[1]


def test_what_is_opened_of_an_honest_row_is_zero_and_a_server_knows_it_beforehand() -> None:
    """The simulator of the check: the other server's share is the negation of one's own."""
    layout = tiny_layout("replace")
    _, heard, _ = taken_in(layout, layout.encoded(ROWS))
    ours, theirs = (np.frombuffer(messages[-1], dtype="<u8") for messages in heard)
    assert len(ours) == 2 * COUNT
    assert ((ours + theirs) == 0).all()
    assert len(set(ours.tolist())) == len(ours), "each share alone is random"


QUESTIONS = {
    "by a where b": Tally((Dimension("a", ((0,), (1,), (2,))),), Among("b", (0,))),
    "by a and b": Tally((Dimension("a", ((0,), (1,), (2,))), Dimension("b", ((0,), (1,), (2,))))),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_whoever_lies_about_products_moves_each_cell_by_one_at_most(name: str) -> None:
    """Every bit of the products of one row is random: nobody can tell, and no cell moves by more than that row."""
    layout, measure = tiny_layout("replace", products=60), counted(QUESTIONS[name])
    row = layout.with_products(layout.encoded(ROWS))
    lying = row.copy()
    lying[layout.row_bits :, 2] = random_bits(len(row) - layout.row_bits, SYSTEM)
    questions = 6
    shares = [split(row), split(lying)]

    def server(link: Link) -> list[list[list[int]]]:
        transfers, results = Transfers(link), []
        for pair in shares:
            lines, used = packed(pair[link.place], layout), Counter[str]()
            intake = take_in(link, transfers, layout, lines, COUNT)
            batch = Batch(chosen(lines, intake.passed), int(intake.passed.sum()))
            run = Run(link, Holdings(layout, [batch], intake.totals), transfers, used)
            results.append([run.answers([Order(measure, QUIET)])[0] for _ in range(questions)])
        return results

    (honest, wrong), theirs = together(server).results
    assert theirs == [honest, wrong]
    assert all(numbers == honest[0] for numbers in honest)
    moved = np.abs(np.array(wrong) - np.array(honest))
    assert moved.max() == 1, "it can move cells, by one"


def answers_of(layout: Layout, bits: Bits, measure: Measure) -> list[int]:
    """What two servers answer about rows with these products."""
    shares = split(bits)

    def server(link: Link) -> list[int]:
        transfers, lines = Transfers(link), packed(shares[link.place], layout)
        intake = take_in(link, transfers, layout, lines, COUNT)
        assert intake.passed.all()
        return Run(link, Holdings(layout, [Batch(lines, COUNT)], intake.totals), transfers).answers(
            [Order(measure, QUIET)]
        )[0]

    numbers: list[int] = together(server).results[0]
    return numbers


@pytest.mark.parametrize(
    ("measure", "one_row", "most"),
    [
        (Measure(QUESTIONS["by a where b"], (0, 0, 0), (5, 7, 9), 1), 9, 21),
        (Measure(QUESTIONS["by a where b"], (0, 0, 0), (1, 1, 1), 1, at_least=6), 1, 3),
        (Measure(Tally((Dimension("a", ((0,), (1,), (2,))),)), (0, 0, 0), (5, 7, 9), 1), 9, 9),
    ],
    ids=["a sum where columns are multiplied", "large cells", "a sum of one column"],
)
def test_whoever_lies_about_products_may_count_once_with_every_value(measure: Measure, one_row: int, most: int) -> None:
    """As docs/pair.md and uploads.md say: no more than that, and more than a row where columns are multiplied."""
    layout = tiny_layout("replace", products=2)
    honest = layout.with_products(layout.encoded({"a": [None] * COUNT, "b": ["y"] * COUNT, "d": [None] * COUNT}))
    lying = honest.copy()
    mask, bits = layout.product("a", 0)
    lying[mask], lying[bits] = False, True
    before, after = (answers_of(layout, part, measure)[0] for part in (honest, lying))
    people = 1 if measure.at_least else COUNT
    assert after - before == (people * most if most > one_row else 0)


@pytest.mark.parametrize("high", [90, 100_000], ids=["listed", "digits"])
def test_a_number_beyond_its_bounds_counts_as_the_nearest_one(high: int) -> None:
    [domain] = domains_of({"age": {"bounds": [17, high]}})
    cells = [3, 17, high, high + 1, None, "old", 17.5]
    near = [17, 17, high, high, None, None, None]
    assert domain.encoded(cells).tolist() == domain.encoded(near).tolist()
    assert domain.encoded([17]).tolist() != domain.encoded([high]).tolist() != domain.encoded([None]).tolist()
