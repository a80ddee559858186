"""Two servers in one test: two threads, one connection, and what each of them heard."""

from __future__ import annotations

import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Literal

from lapwing.pair.links import Link

PATIENCE = 60.0
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
