"""A year of calls to an invented helpline, for streams (days) and for hierarchies (towns within regions).

More people call on Mondays and in winter, a topic has a wave in autumn, and some people call again. The same seed gives
the same calls everywhere.
"""

from __future__ import annotations

import datetime
import hashlib
import math
import warnings
from typing import Any, Final

from lapwing import checks
from lapwing.errors import NotPrivateWarning
from lapwing.noise import Reproducible

FIRST: Final = datetime.date(2025, 1, 1)
DAYS: Final = 365
PLACES: Final = {
    "Coast": ("Seaham", "Portwick", "Dunmouth"),
    "Hills": ("Highfold", "Stonebeck", "Larkrigg", "Fellgate"),
    "Plain": ("Midford", "Ashby", "Longlea", "Barrow", "Eastmoor"),
}
"""Regions and their towns; the first ones are the largest."""
TOPICS: Final = ("health", "money", "family", "work", "loneliness")
LONGEST: Final = 90
"""Minutes."""


def helpline(callers: int = 4000, *, seed: int = 0) -> dict[str, list[Any]]:
    """The calls of the year 2025 to an invented helpline, one row for each call, ordered by day.

    Args:
        callers: How many people call. Each of them calls up to 20 times.
        seed: The same seed and number of callers give the same calls everywhere.

    Returns:
        The columns `caller` (a number), `day`, `region`, `town`, `topic` and `minutes` (1 to 90).

    Raises:
        InvalidParameter: If `callers` is less than 1, or `seed` is negative.

    >>> calls = helpline(callers=50)
    >>> list(calls)
    ['caller', 'day', 'region', 'town', 'topic', 'minutes']
    >>> calls["day"][0].year
    2025
    """
    count = checks.whole(callers=callers)
    key = f"lapwing helpline 1, seed {checks.whole(minimum=0, seed=seed)}, {count} callers"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)  # there is nobody to protect
        entropy = Reproducible(hashlib.sha256(key.encode()).digest())

    def share() -> float:
        return entropy.bits(32) / 2.0**32

    days = _running([_weight(place) for place in range(DAYS)])
    towns = [(region, town, 1 / (place + 1)) for region, names in PLACES.items() for place, town in enumerate(names)]
    sizes = _running([size for *_, size in towns])
    rows = []
    for caller in range(1, count + 1):
        region, town, _ = towns[_drawn(sizes, share())]
        favourite = TOPICS[int(share() * len(TOPICS))]
        times = 1 + min(19, int(-1.6 * math.log(1 - share())))
        for _ in range(times):
            day = _drawn(days, share())
            wave = share() < 0.4 * math.exp(-(((day - 290) / 18) ** 2))
            topic = "health" if wave else favourite if share() < 0.7 else TOPICS[int(share() * len(TOPICS))]
            minutes = 1 + min(LONGEST - 1, int(-14 * math.log(1 - share())))
            rows.append((FIRST + datetime.timedelta(days=day), caller, region, town, topic, minutes))
    rows.sort()
    names = ("day", "caller", "region", "town", "topic", "minutes")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    return {"caller": columns.pop("caller"), **columns}


def _weight(place: int) -> float:
    """How busy a day is: Mondays and winters are."""
    weekday = (FIRST + datetime.timedelta(days=place)).weekday()
    week = (1.5, 1.2, 1.1, 1.1, 1.0, 0.5, 0.4)[weekday]
    return week * (
        1 + 0.35 * math.cos(2 * math.pi * (place - 15) / DAYS) + 0.5 * math.exp(-(((place - 290) / 18) ** 2))
    )


def _running(weights: list[float]) -> list[float]:
    total, sums = sum(weights), [0.0]
    for weight in weights:
        sums.append(sums[-1] + weight / total)
    return sums[1:]


def _drawn(sums: list[float], share: float) -> int:
    """The place that a number between 0 and 1 falls into."""
    low, high = 0, len(sums) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if share < sums[middle] else (middle + 1, high)
    return low
