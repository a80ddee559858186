"""Days, as servers and devices count them. Clocks may be wrong, so a day of grace is given on both sides."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lapwing.collect.collection import Collection

GRACE = timedelta(days=1)
"""Clocks of devices are off by so much: an epoch is accepted a day longer on both sides."""

ON_THE_WAY = timedelta(days=3)
"""So long a segment may take from an ingestor to an aggregator. Then the key that opens it is destroyed."""


def today() -> date:
    """The day of servers, in UTC."""
    return datetime.now(UTC).date()


def now() -> datetime:
    """The time of servers, in UTC."""
    return datetime.now(UTC)


def over(collection: Collection, day: date) -> list[int]:
    """The numbers of epochs of which nothing is issued or accepted any more."""
    return [epoch.number for epoch in collection.epochs if day > epoch.end + GRACE]
