"""A server that sends false numbers: what it hears of the other one, with noise of each server.

Totals of one column: the other one's message is its share with its noise, whatever the cheat sends. Elsewhere messages
follow from what was sent before, so nothing is claimed there.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import together as each
from pairing import held, together
from tally_worlds import tiny_layout

from lapwing.noise import Reproducible
from lapwing.pair.behaviour import CHEATS_AT_ANSWERS, needed_behaviour
from lapwing.pair.domains import split
from lapwing.pair.joint_noise import JointLaplace
from lapwing.pair.links import Link, Place
from lapwing.pair.runs import Order, Run, Way
from lapwing.pair.tallies import Among, Dimension, Measure, Tally, counted
from lapwing.pair.transfers import Transfers

LAYOUT = tiny_layout("replace")
ROWS = {"a": [0, 1, None, 1, 0, 1, 0, 1], "b": ["x", "y", "x", None, "y", "x", "x", "y"], "d": [0] * 8}
A = Dimension("a", ((0,), (1,)))
QUESTIONS = {
    "one column": counted(Tally((A,))),
    "several columns": counted(Tally((A,), Among("b", (0,)))),
    "large cells": Measure(Tally((A,)), (0, 0), (1, 1), 1, 2),
}


@dataclass(slots=True)
class Untrue(Link):
    """Sends ones in place of what it should, from some message on."""

    true: int = 0

    def send(self, data: bytes | memoryview) -> None:
        self.true -= 1
        Link.send(self, data if self.true >= 0 else b"\xff" * len(data))


def said(measure: Measure, way: Way, honest: Place, true: int) -> list[bytes]:
    """All that an honest server with a fixed tape says in a run, to one that is true for so many messages."""
    shares = split(LAYOUT.with_products(LAYOUT.encoded(ROWS), Reproducible(1)), Reproducible(2))
    holdings: list[Any] = together(lambda link: held(link, LAYOUT, shares)[0]).results
    # shares of totals are random: these are as good, and always the same
    totals = np.arange(LAYOUT.row_bits, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    exact = sum(own.totals for own in holdings)
    for own, part in zip(holdings, (totals, exact - totals), strict=True):
        own.totals = part

    def server(link: Link) -> None:
        source = Reproducible(3 + link.place)
        transfers = Transfers(link, source)
        if link.place != honest:
            link = Untrue(link.place, link.connection, link.heard, true=true)
            transfers._link = transfers._sender._link = transfers._receiver._link = link
        order = Order(measure, JointLaplace(Fraction(2)), way)
        Run(link, holdings[link.place], transfers, entropy=source).answers([order])

    return together(server).heard[1 - honest][2:]  # after the base transfers


@each("honest", [0, 1])
def test_a_cheat_hears_one_message_about_a_column_whatever_it_sends(honest: Place) -> None:
    measure = QUESTIONS["one column"]
    assert needed_behaviour("each", [measure]) == CHEATS_AT_ANSWERS
    first = said(measure, "each", honest, true=1000)
    assert len(first) == 1
    assert said(measure, "each", honest, true=0) == first


@pytest.mark.parametrize(
    ("name", "way"), [("several columns", "each"), ("large cells", "each"), ("one column", "joint")]
)
def test_elsewhere_what_a_cheat_hears_follows_from_what_it_sends_and_nothing_is_claimed(name: str, way: Way) -> None:
    measure = QUESTIONS[name]
    assert needed_behaviour(way, [measure]) != CHEATS_AT_ANSWERS
    first = said(measure, way, 0, true=1000)
    assert len(first) > 1
    assert said(measure, way, 0, true=1000) == first, "the tape is the same, and so is what it says"
    assert said(measure, way, 0, true=0) != first
