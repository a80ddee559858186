"""Towards whom an answer of two servers is private, and what that takes.

Every epsilon of a pair is stated towards each server by itself, and towards everybody who sees answers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from lapwing.pair.circuits import is_linear
from lapwing.pair.runs import Way
from lapwing.pair.tallies import Measure

Behaviour = Literal["semi-honest", "one may cheat at answers"]


@dataclass(frozen=True, slots=True)
class Trust:
    """What must be true of the servers for the stated loss to hold."""

    behaviour: Behaviour
    towards: str = "each server by itself, and everybody who sees answers"
    not_towards: str = "both servers together"

    def explain(self) -> str:
        """In one sentence or two."""
        if self.behaviour == "semi-honest":
            return (
                "private towards each server, if both follow the protocol and do not work together; a server that "
                "cheats is not held by ε"
            )
        return (
            "private towards each server, if they do not work together, also when one of them sends false numbers for "
            "this answer; while rows are taken in, both must follow the protocol"
        )


def trust_of(way: Way, measures: Iterable[Measure]) -> Trust:
    """Noise of one's own holds against whatever the other server sends, where nothing but a noisy total is opened.

    That is so for totals of one column. Products and comparisons open masked bits, which a server can flip.
    """
    linear = all(is_linear(measure.tally) and measure.at_least is None for measure in measures)
    return Trust("one may cheat at answers" if way == "each" and linear else "semi-honest")
