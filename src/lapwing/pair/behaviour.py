"""What the two servers must not do, so that the stated loss holds. In words.   Proof: measures.md"""

from __future__ import annotations

from collections.abc import Iterable

from lapwing.pair.circuits import is_linear
from lapwing.pair.runs import Way
from lapwing.pair.tallies import Measure

FOLLOWS = (
    "private towards each server, if both follow the protocol and do not work together; ε does not hold against a "
    "server that cheats"
)
CHEATS_AT_ANSWERS = (
    "private towards each server, if they do not work together, also when one of them sends false numbers for this "
    "answer; while rows are taken in, both must follow the protocol"
)


def needed_behaviour(way: Way, measures: Iterable[Measure]) -> str:
    """Noise of one's own holds against whatever the other server sends, where nothing but a noisy total is opened.

    That is so for totals of one column. Products and comparisons open masked bits, which a server can flip.
    """
    linear = all(is_linear(measure.tally) and measure.at_least is None for measure in measures)
    return CHEATS_AT_ANSWERS if way == "each" and linear else FOLLOWS
