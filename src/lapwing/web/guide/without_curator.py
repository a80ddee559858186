"""Trials where people randomise their own answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lapwing.crowd import BinaryResponse, HadamardResponse, LocalHashing, Piecewise, UnaryEncoding
from lapwing.crowd.simulate import simulate
from lapwing.web.guide.expectations import (
    MADE_UP,
    RANGE,
    SHARE,
    Bar,
    Expectation,
    Z,
    ages,
    group_bars,
    group_sizes,
    number,
    people_in,
    share_of,
    typical,
)
from lapwing.web.guide.plan import Plan

if TYPE_CHECKING:
    from lapwing.noise import Entropy

LONG_LIST = 1000
"""Groups from which on short reports matter."""
BINS = 10
"""Public ones, from which a quantile is read."""
LEVELS = 3
"""Lengths of beginnings, when words are sought."""
SIGNS = 7
"""Standard errors that a word must stand above noise: 4.4 to be certain among ten thousand candidates, 1.7 more for
that with 95 % confidence, and some because every length has to find it."""
_PEOPLE = MADE_UP // 4
_CELLS = 12
_SELDOM, _RARELY = 20, 3


def count(plan: Plan, entropy: Entropy) -> Expectation:
    """The share that says yes."""
    protocol = BinaryResponse.from_epsilon(plan.part_epsilon)
    people, scale = _made_up(plan)
    yes = round(SHARE * people)
    runs = [simulate(protocol, {True: yes, False: people - yes}, entropy=entropy).errors() for _ in range(_SELDOM)]
    within = Z * float(runs[0].estimates.population_standard_error[0]) * scale
    exact = SHARE * plan.reports
    return Expectation(
        mechanism="randomized response",
        sentence=f"{_who(plan)}With 95 % confidence, the number who say yes is off by at most "
        f"{people_in(round(within))}, {share_of(within / plan.reports, 'those who answer')}.",
        error=within / plan.reports,
        relative_to="all people",
        runs=len(runs),
        kept=sum(bool(abs(run.off_by[0]) * scale <= within) for run in runs),
        bars=(Bar("say yes", exact, exact + typical([float(run.off_by[0]) for run in runs], 0) * scale, within),),
        most=plan.reports,
        axis="people",
    )


def histogram(plan: Plan, entropy: Entropy) -> Expectation:
    """Groups; favourites and tables are counts of categories too."""
    protocol, name = _categories(plan)
    people, scale = _made_up(plan)
    cells = min(plan.groups if plan.groups > 1 else 2, _CELLS)
    sizes = dict(zip(protocol.domain, group_sizes(people, cells).tolist(), strict=False))
    runs = [simulate(protocol, sizes, entropy=entropy).errors() for _ in range(_RARELY)]
    errors = runs[0].estimates.population_standard_error * Z * scale
    within, least = float(errors.max()), max(1.0, plan.reports / max(plan.groups, 2) / 2)
    truth = runs[0].truth * scale**2
    return Expectation(
        mechanism=name,
        sentence=f"{_who(plan)}With 95 % confidence, each group is off by at most {people_in(round(within))}, "
        f"{share_of(within / least, 'the smallest group')} ({people_in(round(least))}).",
        error=within / least,
        relative_to="the smallest group",
        runs=len(runs) * len(truth),
        kept=int(sum((abs(run.off_by) <= Z * run.estimates.population_standard_error).sum() for run in runs)),
        bars=group_bars(truth, truth + runs[0].off_by * scale, within),
        most=float(truth.max()) + within,
        axis="people",
    )


def quantile(plan: Plan, entropy: Entropy) -> Expectation:
    """Counts of public bins, added up from below."""
    outcome = histogram(replace(plan, groups=BINS), entropy)
    error = outcome.bars[0].within * math.sqrt(BINS / 2) / plan.smallest
    whose = "the smallest group" if plan.split else "all people"
    said = (
        f"{_who(plan)}The quantile is read from the counts of {BINS} public bins; its rank is off by at most "
        f"{share_of(error, whose)}, with 95 % confidence, and its value by up to a bin."
    )
    return replace(outcome, sentence=said, error=error, relative_to=whose)


def mean(plan: Plan, entropy: Entropy) -> Expectation:
    """The mean of a number."""
    protocol = Piecewise.from_epsilon(plan.part_epsilon, bounds=(0, RANGE))
    sample, scale = _made_up(plan)
    people = ages(sample)
    exact = float(people.mean())
    estimates = [protocol.estimate(protocol.absorb(None, protocol.randomize(people, entropy))) for _ in range(_SELDOM)]
    within = min(float(RANGE), Z * float(estimates[0].population_standard_error) / scale)
    return Expectation(
        mechanism="piecewise mechanism",
        sentence=f"{_who(plan)}With 95 % confidence, the mean of numbers between 0 and {RANGE} is off by at most "
        f"{number(within)}, {share_of(within / RANGE, 'the range')}.",
        error=within / RANGE,
        relative_to="the range",
        runs=len(estimates),
        kept=sum(abs(estimate.mean - exact) / scale <= within for estimate in estimates),
        bars=(
            Bar("mean", exact, exact + typical([estimate.mean - exact for estimate in estimates], 0) / scale, within),
        ),
        most=RANGE,
        axis="the range of the numbers",
    )


def words(plan: Plan, entropy: Entropy) -> Expectation:
    """Words on nobody's list: everybody reports a beginning of one length."""
    protocol = LocalHashing(epsilon=plan.part_epsilon)
    level = max(1, plan.reports // LEVELS)
    sample = min(level, _PEOPLE // 4)
    run = simulate(protocol, {"dunlin": sample // 2, "plover": sample - sample // 2}, entropy=entropy)
    error = float(run.estimate(["absent"]).population_standard_error[0]) * math.sqrt(level / sample)
    needed = math.ceil(SIGNS * error * LEVELS)
    return Expectation(
        mechanism="prefix extension",
        sentence=f"{_who(plan)}With 95 % confidence, a word is found if about {people_in(needed)} have it, "
        f"{share_of(needed / plan.reports, 'those who report')}. Everybody reports only the beginning of their "
        f"word. The length of this beginning is drawn at random from {LEVELS} lengths.",
        error=needed / plan.reports,
        relative_to="all people",
    )


AT_SOURCE: dict[str, Callable[[Plan, Entropy], Expectation]] = {
    "count": count,
    "histogram": histogram,
    "top": histogram,
    "mean": mean,
    "quantile": quantile,
    "table": histogram,
    "words": words,
}


def _categories(plan: Plan) -> tuple[Any, str]:
    domain = [f"group {number + 1}" for number in range(min(max(plan.groups, 2), _CELLS))]
    if plan.groups > LONG_LIST:
        return HadamardResponse(epsilon=plan.part_epsilon, domain=domain), "Hadamard response"
    return UnaryEncoding.from_epsilon(epsilon=plan.part_epsilon, domain=domain), "optimised unary encoding"


def _made_up(plan: Plan) -> tuple[int, float]:
    """How many people are made up, and by how much an error in people grows to all of them."""
    sample = min(plan.reports, _PEOPLE)
    return sample, math.sqrt(plan.reports / sample)


def _who(plan: Plan) -> str:
    """Who answers this question."""
    if len(plan.asks) == 1:
        return ""
    return f"Each person answers one of your {len(plan.asks)} questions, so {people_in(plan.reports)} answer this one. "
