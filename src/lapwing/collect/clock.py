"""Days, as servers and devices count them. Clocks may be wrong, so a day of grace is given on both sides."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lapwing.collect.collection import Collection

GRACE = timedelta(days=1)
"""Clocks of devices are off by so much: an epoch is accepted a day longer on both sides."""

ON_THE_WAY = timedelta(days=3)
"""So long a segment may take from an ingestor to an aggregator. Then the key that opens it is destroyed."""

SURE_AFTER = 6 * 3600.0
"""Seconds for which the clock must say on end that an epoch is over, before its keys are destroyed."""


class Certainty:
    """Which epochs are over for sure. A key that is destroyed never comes back, and a clock may be wrong for a while.

    So the clock must say it for `patience` seconds without a break. Another clock measures them, which runs evenly and
    which nobody sets.
    """

    def __init__(self, patience: float = SURE_AFTER, timer: Callable[[], float] = time.monotonic) -> None:
        self._patience, self._timer, self._since = patience, timer, dict[int, float]()

    def of(self, numbers: Iterable[int]) -> set[int]:
        """Those of the epochs that are over by the clock of which it has said so for long enough."""
        moment = self._timer()
        self._since = {number: self._since.get(number, moment) for number in numbers}
        return {number for number, since in self._since.items() if moment - since >= self._patience}


def today() -> date:
    """The day of servers, in UTC."""
    return datetime.now(UTC).date()


def now() -> datetime:
    """The time of servers, in UTC."""
    return datetime.now(UTC)


def over(collection: Collection, day: date) -> list[int]:
    """The numbers of epochs of which nothing is issued or accepted any more."""
    return [epoch.number for epoch in collection.epochs if day > epoch.end + GRACE]
