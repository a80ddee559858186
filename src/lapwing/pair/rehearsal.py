"""Runs both servers in one process, for lessons, benchmarks and figures. Nothing is hidden from whoever runs it."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from lapwing.noise import SYSTEM, Entropy
from lapwing.pair.domains import Layout, split
from lapwing.pair.holdings import Batch, Holdings, chosen, packed
from lapwing.pair.intake import take_in
from lapwing.pair.links import Link, Place
from lapwing.pair.runs import Clock, Order, Run
from lapwing.pair.transfers import Transfers

PLACES: tuple[Place, Place] = (0, 1)


def both(server: Callable[[Link], Any]) -> list[Any]:
    """Two servers that do the same, each in a thread; if one fails, the other's connection ends."""
    ends = socket.socketpair()

    def played(place: Place) -> Any:
        with closing(ends[place]):
            return server(Link(place, ends[place]))

    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(played, place) for place in PLACES]
    return [run.result() for run in runs]


@dataclass(frozen=True)
class Costs:
    """Of one server: to take all rows in, once, and to answer all questions."""

    intake: Clock
    answers: Clock

    @property
    def intake_seconds(self) -> float:
        """Of its processor."""
        return self.intake.offline + self.intake.online

    @property
    def answer_seconds(self) -> float:
        """Of its processor."""
        return self.answers.offline + self.answers.online


@dataclass(frozen=True)
class Rehearsed:
    """What two servers opened, and what it cost each of them."""

    numbers: list[list[list[int]]]
    costs: tuple[Costs, Costs]

    @property
    def busier(self) -> Costs:
        """Of the server that took more."""
        return max(self.costs, key=lambda own: own.intake_seconds + own.answer_seconds)


def rehearse(
    layout: Layout, table: Mapping[str, Sequence[Any]], questions: Sequence[Sequence[Order]], entropy: Entropy = SYSTEM
) -> Rehearsed:
    """Rows are uploaded and taken in, and questions are answered one after another."""
    shares = split(layout.with_products(layout.encoded(table), entropy), entropy)

    def server(link: Link) -> tuple[list[list[list[int]]], Costs]:
        own = Costs(Clock(), Clock())
        with own.intake.before(link):
            transfers = Transfers(link)
            lines = packed(shares[link.place], layout)
            intake = take_in(link, transfers, layout, lines, len(shares[0]))
        batch = Batch(chosen(lines, intake.passed), int(intake.passed.sum()))
        run = Run(link, Holdings(layout, [batch], intake.totals), transfers, clock=own.answers)
        return [run.answers(orders) for orders in questions], own

    (numbers, first), (_, second) = both(server)
    return Rehearsed(numbers, (first, second))
