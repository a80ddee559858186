"""Running totals: what to expect of a counter that is paid once for all days, and a program that runs one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from string import Template
from typing import TYPE_CHECKING

import numpy as np

from lapwing.mechanisms.continual import Counter, best_counter
from lapwing.web.guide.expectations import SHARE, Bar, Expectation, group_sizes, people_in, share_of
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
stream = question.open("$file.stream", epsilon=$part)  # paid once; the same call goes on tomorrow, or after a crash
stream.observe(day)  # the rows of the day, when it is over
print(stream.estimate())""")
_BY = {"count": "", "histogram": ', by="region"'}
_RUNS = 4
_MOST_GROUPS = 8
"""Groups that are tried; every group has noise of the same law."""


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
    within = chosen.accuracy(0.95)
    last = [_totals(chosen, np.array([exact]), entropy)[0] for _ in range(_RUNS * _MOST_GROUPS)]
    return Expectation(
        mechanism="a running counter",
        sentence=f"With 95 % confidence, the total so far is off by at most {people_in(within)} on any of "
        f"{plan.steps} days, {share_of(within / plan.people, 'all')}.",
        error=within / plan.people,
        relative_to="all people",
        runs=len(last),
        kept=sum(abs(value - exact) <= within for value in last),
        bars=(Bar(f"after {plan.steps} days", exact, last[0], within),),
        most=plan.people,
        axis="people",
    )


def histogram(plan: Plan, entropy: Entropy) -> Expectation:
    """How many in each group so far, every day."""
    sizes, least = group_sizes(plan.people, plan.groups), smallest(plan.people, plan.groups)
    places = np.unique(np.linspace(0, len(sizes) - 1, min(len(sizes), _MOST_GROUPS)).round().astype(int))
    shown = sizes[places]
    chosen = counter(plan, len(shown))
    within = chosen.accuracy(0.95)
    draws = [_totals(chosen, shown, entropy) for _ in range(_RUNS)]
    return Expectation(
        mechanism="a running counter for each group",
        sentence=f"With 95 % confidence, the total of each group is off by at most {people_in(within)} on any of "
        f"{plan.steps} days, {share_of(within / least, 'the smallest group' if plan.groups > 1 else 'all')}.",
        error=within / least,
        relative_to="the smallest group",
        runs=len(draws) * len(shown),
        kept=int(sum((abs(values - shown) <= within).sum() for values in draws)),
        bars=tuple(
            Bar(f"group {place + 1:,}", float(size), total, within)
            for place, size, total in zip(places, shown, draws[0], strict=True)
        )[::2],
        most=1.15 * float(shown[0]),
        axis="people",
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


def _totals(chosen: Counter, sizes: np.ndarray[tuple[int], np.dtype[np.int64]], entropy: Entropy) -> list[float]:
    """The totals on the last day, if about as many people come every day."""
    days = np.diff(np.round(np.outer(np.arange(chosen.steps + 1) / chosen.steps, sizes)), axis=0).astype(np.int64)
    state, _ = chosen.observe_many(chosen.open(entropy), days, entropy)
    return chosen.estimate(state)
