"""Both servers in one process, to teach, to measure and to draw: nothing is hidden from whoever runs it."""

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
class Rehearsed:
    """What two servers opened, and what it cost the one that took more."""

    numbers: list[list[list[int]]]
    taking_in: Clock
    answering: Clock


def rehearse(
    layout: Layout, table: Mapping[str, Sequence[Any]], questions: Sequence[Sequence[Order]], entropy: Entropy = SYSTEM
) -> Rehearsed:
    """Rows are uploaded and taken in, and questions are answered one after another."""
    shares = split(layout.with_products(layout.encoded(table), entropy), entropy)

    def server(link: Link) -> tuple[list[list[list[int]]], Clock, Clock]:
        taking_in, answering = Clock(), Clock()
        with taking_in.before(link):
            transfers = Transfers(link)
            lines = packed(shares[link.place], layout)
            intake = take_in(link, transfers, layout, lines, len(shares[0]))
        batch = Batch(chosen(lines, intake.passed), int(intake.passed.sum()))
        run = Run(link, Holdings(layout, [batch], intake.totals), transfers, clock=answering)
        return [run.answers(orders) for orders in questions], taking_in, answering

    first, second = both(server)
    busier = max(first, second, key=lambda own: own[1].offline + own[2].offline + own[2].online)
    return Rehearsed(first[0], *busier[1:])
