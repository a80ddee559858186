"""Running totals: what to expect of a counter that is paid once for all days, and a program that runs one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from string import Template
from typing import TYPE_CHECKING

import numpy as np

from lapwing.mechanisms.continual import Counter, best_counter
from lapwing.web.guide.expectations import (
    SHARE,
    Bar,
    Expectation,
    Window,
    counted_in,
    group_sizes,
    people_in,
    share_of,
    typical,
)
from lapwing.web.guide.plan import Plan, smallest

if TYPE_CHECKING:
    from lapwing.noise import Entropy

_START = Template("""import numpy as np

import lapwing as lw

# Made-up people of one day. Put the rows of your own days here.
day = {"person": np.arange(3 * $times), "region": np.array(["North", "South", "East"] * $times)}
visits = lw.open(
    day,  # or the path of a CSV or Parquet file, a data frame, a database
    name="visits",
    unit="person",
    keys={"region": ["North", "South", "East", "West"]},  # public
    allowance=lw.PureDP($epsilon),
    ledger="visits-ledger.db",
)""")
_PART = Template("""
# $title, so far
question = visits.stream(
    lw.count()$by, every="day", steps=$steps, start="2026-01-01", active_steps=$active
)  # a person counts on $days, and later rows are left out
print(question.quote(epsilon=$part))  # the price for all days, and how far off; nothing is read yet
# Paid once. The same call goes on tomorrow, or after a crash.
stream = question.open("$file.stream", epsilon=$part)
stream.observe(day)  # the rows of the day, when it is over
print(stream.estimate())""")
_BY = {"count": "", "histogram": ', by="region"'}
_RUNS = 4
_SURE = "With 95 % confidence on each single day"
_MOST_GROUPS = 8
"""Groups that are tried; every group has noise of the same law."""
_DRAWN = 4
"""Of these in the picture, the largest and the smallest among them."""
WINDOWS = (1, 7, 30, 91)
"""Days whose counts are foretold: one day, and the times that one could publish instead."""


@lru_cache(maxsize=64)
def counter(plan: Plan, width: int = 1) -> Counter:
    """The library's best counter for one question: a person is in one group a day, and counts on so many days."""
    return best_counter(
        steps=plan.steps,
        sensitivity=1,
        l1_sensitivity=1,
        width=width,
        active_steps=min(plan.rows, plan.steps),
        epsilon=plan.part_epsilon,
    )


def count(plan: Plan, entropy: Entropy) -> Expectation:
    """How many so far, every day."""
    chosen, exact = counter(plan), round(SHARE * plan.people)
    within, windows = chosen.accuracy(0.95), _windows(plan, chosen, plan.people)
    last = [_totals(chosen, np.array([exact]), entropy)[0] for _ in range(_RUNS * _MOST_GROUPS)]
    kept = sum(abs(value - exact) <= within for value in last)
    return Expectation(
        mechanism="a running counter",
        sentence=f"{_SURE}, the total since the first day is off by at most {counted_in(within, plan.rows)}, "
        f"{share_of(within / plan.people, 'all')}. {_of_one_day(plan, windows[0], 'There')}",
        error=within / plan.people,
        relative_to="all people",
        runs=len(last),
        tried=_tried(f"on the last day, {len(last)} times", kept, len(last), within, plan),
        kept=kept,
        bars=(Bar(f"after {plan.steps} days", exact, typical(last, exact), within),),
        most=plan.people,
        axis="people" if plan.rows == 1 else "records",
        windows=windows,
    )


def histogram(plan: Plan, entropy: Entropy) -> Expectation:
    """How many in each group so far, every day."""
    sizes, least = group_sizes(plan.people, plan.groups), smallest(plan.people, plan.groups)
    places = np.unique(np.linspace(0, len(sizes) - 1, min(len(sizes), _MOST_GROUPS)).round().astype(int))
    shown, whole = sizes[places], "the smallest group" if plan.groups > 1 else "all"
    chosen = counter(plan, len(shown))
    within, windows = chosen.accuracy(0.95), _windows(plan, chosen, least)
    draws = [_totals(chosen, shown, entropy) for _ in range(_RUNS)]
    kept = int(sum((abs(values - shown) <= within).sum() for values in draws))
    tried = _several_groups(len(shown), len(sizes))
    return Expectation(
        mechanism="a running counter for each group",
        sentence=f"{_SURE}, the total of each group since the first day is off by at most "
        f"{counted_in(within, plan.rows)}, {share_of(within / least, whole)}. "
        f"{_of_one_day(plan, windows[0], 'In the smallest group there' if plan.groups > 1 else 'There')}",
        error=within / least,
        relative_to="the smallest group",
        runs=len(draws) * len(shown),
        kept=kept,
        tried=_tried(f"on the last day, {_RUNS} times with {tried}", kept, len(draws) * len(shown), within, plan),
        bars=tuple(
            Bar(_label(int(places[at]), len(sizes)), float(shown[at]), draws[0][at], within)
            for at in np.unique(np.linspace(0, len(shown) - 1, min(len(shown), _DRAWN)).round().astype(int))
        ),
        most=1.15 * float(shown[0]),
        axis="people" if plan.rows == 1 else "records",
        windows=windows,
    )


RUNNING: dict[str, Callable[[Plan, Entropy], Expectation]] = {"count": count, "histogram": histogram}


def program(plan: Plan, titles: Mapping[str, str], epsilon: str, part: str, times: int) -> str:
    """One stream for each question, with the part of the budget that it has."""
    active = min(plan.rows, plan.steps)
    days = "one day at most" if active == 1 else f"{active} days at most"
    lines = [_START.substitute(times=times, epsilon=epsilon)]
    for ask in plan.asks:
        values = {"title": titles[ask], "by": _BY[ask], "steps": plan.steps, "active": active, "days": days}
        lines.append(_PART.substitute(values, part=part, file="all" if ask == "count" else "regions"))
    return "\n".join(lines)


def _windows(plan: Plan, chosen: Counter, people: float) -> tuple[Window, ...]:
    """How far off the counts of days, weeks and longer are, wherever they begin, and how many they count."""
    spans = [days for days in WINDOWS if days < plan.steps]
    active, smallest_day = min(plan.rows, plan.steps), people / plan.steps
    return tuple(
        Window(
            days,
            max(chosen.window_accuracy(start, start + days, 0.95) for start in range(plan.steps - days + 1)),
            smallest_day * days,
            smallest_day * days * active,
        )
        for days in spans
    )


def _of_one_day(plan: Plan, day: Window, where: str) -> str:
    """How far off the count of one day is, beside how many come on one day."""
    least = f"{people_in(day.people)} a day if each person comes on one day"
    most = (
        f", and {people_in(day.most_people)} a day if each comes on {min(plan.rows, plan.steps)} days"
        if plan.rows > 1
        else ""
    )
    return (
        f"The count of one day is a difference of two totals. It is off by up to {counted_in(day.within, plan.rows)}, "
        f"with the same confidence. {where} are about {least}{most}."
    )


def _tried(how: str, kept: int, runs: int, within: float, plan: Plan) -> str:
    return f"Tried {how}: {kept} of {runs} noisy totals were off by at most {counted_in(within, plan.rows)}."


def _several_groups(shown: int, all_of_them: int) -> str:
    if shown < all_of_them:
        return f"{shown} of the groups"
    return {1: "the only group", 2: "both groups"}.get(shown, f"all {shown} groups")


def _label(place: int, groups: int) -> str:
    return f"group {place + 1:,}{', the smallest' if groups > 1 and place == groups - 1 else ''}"


def _totals(chosen: Counter, sizes: np.ndarray[tuple[int], np.dtype[np.int64]], entropy: Entropy) -> list[float]:
    """The totals on the last day, if about as many people come every day."""
    days = np.diff(np.round(np.outer(np.arange(chosen.steps + 1) / chosen.steps, sizes)), axis=0).astype(np.int64)
    state, _ = chosen.observe_many(chosen.open(entropy), days, entropy)
    return chosen.estimate(state)
