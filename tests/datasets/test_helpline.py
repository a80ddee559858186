"""The calls of the helpline: the same every time, and plausible."""

from __future__ import annotations

import datetime as dt
from collections import Counter

import pytest

from lapwing.datasets import helpline
from lapwing.datasets.helpline import LONGEST, PLACES, TOPICS
from lapwing.errors import InvalidParameter


def test_the_same_seed_gives_the_same_calls_and_another_one_others() -> None:
    assert helpline(200) == helpline(200)
    assert helpline(200) != helpline(200, seed=1)
    with pytest.raises(InvalidParameter):
        helpline(0)


def test_every_call_is_in_the_year_and_every_town_in_its_region() -> None:
    calls = helpline(300)
    assert len({len(column) for column in calls.values()}) == 1
    assert calls["day"] == sorted(calls["day"])
    assert {day.year for day in calls["day"]} == {2025}
    assert all(town in PLACES[region] for region, town in zip(calls["region"], calls["town"], strict=True))
    assert set(calls["topic"]) == set(TOPICS)
    assert min(calls["minutes"]) >= 1
    assert max(calls["minutes"]) <= LONGEST
    assert set(calls["caller"]) == set(range(1, 301))


def test_mondays_are_busier_than_sundays_and_autumn_has_its_wave() -> None:
    calls = helpline()
    weekdays = Counter(day.weekday() for day in calls["day"])
    assert weekdays[0] > 2 * weekdays[6]
    topics = list(zip(calls["day"], calls["topic"], strict=True))
    about_health = dict.fromkeys((5, 10), 0.0)
    for month in about_health:
        there = [topic for day, topic in topics if day.month == month]
        about_health[month] = there.count("health") / len(there)
    assert about_health[10] > about_health[5] + 0.1
    assert max(calls["day"]) - min(calls["day"]) == dt.timedelta(days=364)
