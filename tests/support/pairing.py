"""Two servers in one test: two threads, one connection, and what each of them heard."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from lapwing.pair.domains import Layout, split
from lapwing.pair.holdings import Batch, Holdings, chosen, packed
from lapwing.pair.intake import take_in
from lapwing.pair.joint_noise import JointLaplace
from lapwing.pair.links import Link
from lapwing.pair.runs import Order
from lapwing.pair.runs import Run as PairRun
from lapwing.pair.tallies import Measure
from lapwing.pair.transfers import Transfers

PATIENCE = 60.0
SILENT = JointLaplace(scale=Fraction(1, 32))
"""Noise that is 0 but for one draw in 10^13: for tests that compare exact numbers."""
PLACES: tuple[Literal[0], Literal[1]] = (0, 1)


@dataclass
class Run:
    """What both servers returned, the messages that each of them heard, and how often it waited."""

    results: list[Any]
    heard: list[list[bytes]]
    rounds: list[int]

    @property
    def lengths(self) -> list[list[int]]:
        return [[len(message) for message in messages] for messages in self.heard]


def together(server: Callable[[Link], Any], other: Callable[[Link], Any] | None = None) -> Run:
    """Both run the same function, or each its own. If one fails, the other's connection ends."""
    heard: list[list[bytes]] = [[], []]
    ends = socket.socketpair()
    links = [Link(place, end, heard[place].append) for place, end in zip(PLACES, ends, strict=True)]
    for end in ends:
        end.settimeout(PATIENCE)

    def played(place: int) -> Any:
        with closing(ends[place]):
            return (server if place == 0 or other is None else other)(links[place])

    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(played, place) for place in PLACES]
        errors = [run.exception() for run in runs]
    for error in errors:
        if error is not None:
            raise error
    return Run([run.result() for run in runs], heard, [link.rounds for link in links])


def held(link: Link, layout: Layout, shares: Sequence[Sequence[bytes]]) -> tuple[Holdings, Transfers]:
    """What a server holds once both have taken these rows in."""
    transfers = Transfers(link)
    lines, count = packed(shares[link.place], layout), len(shares[0])
    intake = take_in(link, transfers, layout, lines, count)
    kept = chosen(lines, intake.passed)
    return Holdings(layout, [Batch(kept, int(intake.passed.sum()))], intake.totals), transfers


def answered(
    layout: Layout, table: Mapping[str, Sequence[Any]], questions: Sequence[Sequence[Measure]]
) -> list[list[list[int]]]:
    """Exact numbers of measures, question by question, as two servers compute them from shares of these rows."""
    shares = split(layout.with_products(layout.encoded(table)))

    def server(link: Link) -> list[list[list[int]]]:
        holdings, transfers = held(link, layout, shares)
        return [
            PairRun(link, holdings, transfers, Counter()).answers([Order(measure, SILENT) for measure in measures])
            for measures in questions
        ]

    first, second = together(server).results
    assert first == second
    result: list[list[list[int]]] = first
    return result
