"""Trials where noise is added once: by a curator, or by servers that add up."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from lapwing.errors import NoiseWarning, NotPrivateWarning
from lapwing.mechanisms import (
    Exponential,
    Gaussian,
    Hierarchy,
    KeySelection,
    Laplace,
    Mean,
    Median,
    PermuteAndFlip,
    Tree,
)
from lapwing.web.guide.expectations import (
    MADE_UP,
    RANGE,
    SHARE,
    Bar,
    Expectation,
    Z,
    ages,
    counted_in,
    group_bars,
    group_sizes,
    number,
    one_record_each,
    people_in,
    share_of,
    typical,
)
from lapwing.web.guide.plan import Plan, shortened, smallest

if TYPE_CHECKING:
    from lapwing.noise import Entropy

SERVERS = 2
"""Of a secure sum; each adds noise."""
_OFTEN, _SELDOM, _RARELY = 200, 20, 3
_TREES = 4
_CELLS = 20_000
"""Noisy counts drawn for one trial at most."""
_STEPS = 64
"""Of a grid on which Gaussian noise is drawn, in one standard deviation."""
Noise = Laplace | Gaussian


def count(plan: Plan, entropy: Entropy) -> Expectation:
    """How many say yes."""
    noise, name = _noise(plan)
    exact, within = round(SHARE * plan.people), _within(plan, noise)
    draws = [_draw(plan, noise, exact, entropy) for _ in range(_OFTEN)]
    sampling = Z * math.sqrt(SHARE * (1 - SHARE) / plan.people)
    return Expectation(
        mechanism=name,
        sentence=f"With 95 % confidence, a count is off by at most {counted_in(within, plan.rows)}, "
        f"{share_of(within / plan.people, 'all')}. If your people are a sample of a larger group, "
        f"sampling alone moves a share by up to {100 * sampling:.2g} points.{one_record_each(plan.rows)}",
        error=within / plan.people,
        relative_to="all people",
        runs=_OFTEN,
        kept=sum(abs(value - exact) <= within for value in draws),
        bars=(Bar("say yes", exact, typical(draws, exact), within),),
        most=plan.people,
        axis="people" if plan.rows == 1 else "records",
    )


def histogram(plan: Plan, entropy: Entropy) -> Expectation:
    """How many are in each group."""
    sizes = group_sizes(plan.people, plan.groups)
    noise, name = _noise(plan, len(sizes))
    within, least = _within(plan, noise), smallest(plan.people, plan.groups)
    draws = [np.asarray(_draw(plan, noise, sizes.tolist(), entropy)) for _ in range(_runs(len(sizes)))]
    said = (
        f" The smallest of {plan.groups:,} made-up groups has {counted_in(round(least), plan.rows)}."
        if plan.groups > 1
        else ""
    )
    return Expectation(
        mechanism=f"{name} on each count",
        sentence=f"With 95 % confidence, each group is off by at most {counted_in(within, plan.rows)}, "
        f"{share_of(within / least, 'the smallest group' if plan.groups > 1 else 'all')}.{said}"
        f"{one_record_each(plan.rows)}",
        error=within / least,
        relative_to="the smallest group",
        runs=len(draws) * len(sizes),
        kept=int(sum((abs(values - sizes) <= within).sum() for values in draws)),
        bars=group_bars(sizes, draws[0], within),
        most=1.15 * float(sizes[0]),
        axis="people" if plan.rows == 1 else "records",
    )


def nested(plan: Plan, entropy: Entropy) -> Expectation:
    """How many in each group, and in groups of groups; all of it adds up."""
    sizes, least = group_sizes(plan.people, plan.groups), smallest(plan.people, plan.groups)
    if len(sizes) < 2:
        return histogram(plan, entropy)
    regions = max(1, round(math.sqrt(len(sizes))))
    inner = [len(part) for part in np.array_split(sizes, regions)]
    spend: dict[str, Any] = {"rho": plan.part_rho} if plan.part_rho else {"epsilon": plan.part_epsilon}
    hierarchy = Hierarchy(tree=Tree([[regions], inner]), sensitivity=plan.rows, **spend)
    _, outer, within = (float(np.max(widths)) for widths in hierarchy.half_widths(0.95))
    draws = [
        np.asarray(hierarchy.release(sizes.tolist(), entropy).leaves) for _ in range(min(_TREES, _runs(len(sizes))))
    ]
    return Expectation(
        mechanism="a hierarchy: noise on every level, then the nearest counts that add up",
        sentence=f"With 95 % confidence, each of {plan.groups:,} small groups is off by at most "
        f"{counted_in(within, plan.rows)}, {share_of(within / least, 'the smallest')}, and each of {regions:,} large "
        f"groups by at most {counted_in(outer, plan.rows)}. Small groups add up to their large group exactly."
        f"{one_record_each(plan.rows)}",
        error=within / least,
        relative_to="the smallest group",
        runs=len(draws) * len(sizes),
        kept=int(sum((abs(values - sizes) <= within).sum() for values in draws)),
        bars=group_bars(sizes, draws[0], within),
        most=1.15 * float(sizes[0]),
        axis="people" if plan.rows == 1 else "records",
    )


def top(plan: Plan, entropy: Entropy) -> Expectation:
    """The favourite of a list."""
    sizes = group_sizes(plan.people, plan.groups)
    if len(sizes) < 2 or plan.model == "secure sum":
        return histogram(plan, entropy)
    kind = Exponential if plan.part_rho else PermuteAndFlip
    choose = kind(epsilon=plan.choosing_epsilon, sensitivity=plan.rows, candidates=len(sizes), monotone=True)
    within = choose.accuracy(0.95)
    chosen = [choose.release(sizes.tolist(), entropy) for _ in range(_runs(len(sizes)))]
    first, error = sum(place == 0 for place in chosen), within / (plan.people / plan.groups)
    return Expectation(
        mechanism="exponential mechanism" if plan.part_rho else "permute-and-flip",
        sentence=f"With 95 % confidence, the chosen one of {plan.groups:,} has at most "
        f"{counted_in(within, plan.rows)} fewer than the true favourite, {share_of(error, 'an average group')}. "
        f"In {first} of {len(chosen)} runs on made-up groups it was the true favourite.{one_record_each(plan.rows)}",
        error=error,
        relative_to="an average group",
        runs=len(chosen),
        kept=sum(int(sizes[0] - sizes[place]) <= within for place in chosen),
    )


def mean(plan: Plan, entropy: Entropy) -> Expectation:
    """The mean of a number."""
    within, draw, exact = _mean_of(plan, plan.people, plan.part_epsilon)
    draws = [draw(entropy) for _ in range(_SELDOM)]
    return Expectation(
        mechanism="Laplace noise on a sum and a count",
        sentence=f"With 95 % confidence, the mean of numbers between 0 and {RANGE} over {people_in(plan.people)} is "
        f"off by at most {number(within)}, {share_of(within / RANGE, 'the range')}. Narrower bounds make the error "
        "smaller.",
        error=within / RANGE,
        relative_to="the range",
        runs=_SELDOM,
        kept=sum(abs(value - exact) <= within for value in draws),
        bars=(Bar("mean", exact, typical(draws, exact), within),),
        most=RANGE,
        axis="the range of the numbers",
    )


def quantile(plan: Plan, entropy: Entropy) -> Expectation:
    """A median, with its error in ranks."""
    tenth = Fraction(1, 10)
    mechanism = Median(epsilon=plan.choosing_epsilon, bounds=(0, RANGE), granularity=tenth, max_rows_per_unit=plan.rows)
    people, whose = plan.smallest, "the smallest group" if plan.split else "all people"
    within, sample = mechanism.accuracy(0.95), ages(max(1, min(round(people), MADE_UP // 4)))
    half, step = len(sample) / 2, len(sample) * float(tenth) / RANGE * 4  # values that share a point of the grid
    ranks = [float(np.searchsorted(sample, mechanism.release(sample, entropy))) - half for _ in range(_SELDOM)]
    error = min(1.0, within / people)
    return Expectation(
        mechanism="exponential mechanism over ranks",
        sentence=f"With 95 % confidence, the rank of the answer is at most {number(within)} away from the middle, "
        f"{share_of(within / people, whose)}. How large the error in value is depends on the data.",
        error=error,
        relative_to=whose,
        runs=_SELDOM,
        kept=sum(abs(rank) <= within + step for rank in ranks),
        bars=(Bar("rank of the median", people / 2, people / 2 + typical(ranks, 0), min(within, people / 2)),),
        most=people,
        axis="people, in order",
    )


def table(plan: Plan, entropy: Entropy) -> Expectation:
    """Counts and means of groups: half of the part each."""
    least = smallest(plan.people, plan.groups)
    noise: Noise
    if plan.part_rho:
        epsilon = shortened(plan.part_epsilon / Fraction(math.sqrt(2)))
        noise = Gaussian.for_rho(plan.part_rho / 2, sensitivity=plan.rows, on_grid=True)
    else:
        epsilon = plan.part_epsilon / 2
        noise = Laplace(epsilon=epsilon, sensitivity=plan.rows, on_grid=True)
    within = _within(plan, noise)
    off, draw, exact = _mean_of(plan, least, epsilon)
    draws = [draw(entropy) for _ in range(_SELDOM)]
    return Expectation(
        mechanism="noise on the count and the sum of each group",
        sentence=f"In the smallest group ({counted_in(round(least), plan.rows)}) the count is off by at most "
        f"{counted_in(within, plan.rows)} and the mean of numbers between 0 and {RANGE} by at most {number(off)}, each "
        f"with 95 % confidence.{one_record_each(plan.rows)}",
        error=max(within / least, off / RANGE),
        relative_to="the smallest group",
        runs=_SELDOM,
        kept=sum(abs(value - exact) <= off for value in draws),
        bars=(Bar("mean of the smallest group", exact, typical(draws, exact), off),),
        most=RANGE,
        axis="the range of the numbers",
    )


def words(plan: Plan, entropy: Entropy) -> Expectation:
    """Words that enough people have."""
    mechanism = KeySelection(epsilon=plan.part_epsilon, delta=plan.part_delta, max_groups_per_unit=plan.rows)
    needed = mechanism.accuracy(0.95)
    return Expectation(
        mechanism="key selection",
        sentence=f"With 95 % confidence, a word is shown if at least {people_in(needed)} have it, "
        f"{share_of(needed / plan.people, 'all')}. Rarer words stay hidden, to protect people.",
        error=needed / plan.people,
        relative_to="all people",
        runs=_OFTEN,
        kept=sum(mechanism.release([int(needed)] * _OFTEN, entropy)),
    )


def model(plan: Plan, entropy: Entropy) -> Expectation:
    """A regression; what it explains of people whom it has not seen."""
    del entropy  # estimators take a seed
    people = min(plan.people, MADE_UP)
    exact, fits = _fits(people, float(plan.part_epsilon / plan.rows))
    middle = max(0.0, sorted(fits)[len(fits) // 2])
    few = "" if people == plan.people else f" (tried with {MADE_UP:,} people; with more it is better)"
    return Expectation(
        mechanism="private linear regression",
        sentence=f"A linear regression on three made-up columns explains {100 * middle:.0f} % of the differences "
        f"between people; without noise it would be {100 * exact:.0f} %{few}. More columns need more people.",
        error=min(1.0, max(0.0, 1 - middle / exact)),
        relative_to="what could be explained",
        bars=(Bar("explained, in %", 100 * exact, 100 * middle, 100 * (max(fits) - min(fits)) / 2),),
        most=100,
        axis="percent",
    )


CENTRAL: dict[str, Callable[[Plan, Entropy], Expectation]] = {
    "count": count,
    "histogram": histogram,
    "nested": nested,
    "top": top,
    "mean": mean,
    "quantile": quantile,
    "table": table,
    "words": words,
    "model": model,
}


def _runs(cells: int) -> int:
    return max(1, min(_OFTEN, _CELLS // cells))


def _noise(plan: Plan, cells: int | None = None) -> tuple[Noise, str]:
    """The noise on counts: one person changes as many as they have records."""
    if plan.part_rho:
        gaussian = Gaussian.for_rho(plan.part_rho, sensitivity=plan.rows, dimensions=cells, on_grid=True)
        return gaussian, "Gaussian noise"
    return Laplace(epsilon=plan.part_epsilon, sensitivity=plan.rows, dimensions=cells, on_grid=True), "Laplace noise"


def _within(plan: Plan, noise: Noise) -> float:
    """The half-width; where several servers add noise, that of all of them together."""
    if plan.model != "secure sum":
        return noise.accuracy(0.95)
    return math.ceil(_two_scales() * math.sqrt(noise.variance / 2)) + 1  # b = sd/√2, and the grid


@lru_cache(maxsize=1)
def _two_scales() -> float:
    """x with P(|A + B| > x) = 0.05 for two Laplace numbers of scale 1, that is (1 + x/2)·e^−x = 0.05."""
    low, high = 1.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if (1 + middle / 2) * math.exp(-middle) > 0.05 else (low, middle)
    return high


def _draw(plan: Plan, noise: Noise, exact: Any, entropy: Entropy) -> Any:
    if isinstance(noise, Gaussian) and noise.sigma > _STEPS:  # the same law on a coarser grid, which is drawn faster
        coarse = Gaussian(sigma=_STEPS, sensitivity=1, dimensions=noise.dimensions, on_grid=True)
        zeros = np.zeros_like(exact).tolist() if noise.dimensions else 0
        return np.asarray(exact) + np.asarray(coarse.release(zeros, entropy)) * float(noise.sigma) / _STEPS
    noisy = noise.release(exact, entropy)
    for _ in range(SERVERS - 1 if plan.model == "secure sum" else 0):
        noisy = noise.release(noisy, entropy)
    return noisy


def _mean_of(plan: Plan, people: float, epsilon: Fraction) -> tuple[float, Callable[[Entropy], float], float]:
    """A mean of so many people: its half-width, a way to draw it, and the exact mean."""
    mechanism = Mean(epsilon=epsilon, bounds=(0, RANGE), max_rows_per_unit=plan.rows)
    all_of_them = max(1, round(people))
    sample = ages(min(all_of_them, MADE_UP))
    exact, scale = float(sample.mean()), len(sample) / all_of_them  # noise over a sum: it falls like 1/n
    several = math.sqrt(SERVERS) if plan.model == "secure sum" else 1.0  # more than two servers' noise has

    def draw(entropy: Entropy) -> float:
        off = [(mechanism.release(sample, entropy) - exact) * scale for _ in range(round(several**2))]
        return min(max(exact + sum(off), 0.0), float(RANGE))

    return min(float(RANGE), mechanism.accuracy(0.95, count=all_of_them) * several), draw, exact


@lru_cache(maxsize=4)
def _made_rows(people: int) -> tuple[Any, Any]:
    """Three columns and a target that mostly follows from them."""
    places = np.arange(people)
    columns = np.stack([np.mod(places * step, 1.0) for step in (0.618034, 0.754878, 0.569840)], axis=1) * 2 - 1
    noise = np.mod(places * 0.414214, 1.0) - 0.5
    return columns, columns @ np.array([1.0, 0.6, -0.4]) + noise


def _fits(people: int, epsilon: float) -> tuple[float, list[float]]:
    """How much a regression explains of other people, without noise and with it."""
    from lapwing.models import LinearRegression  # scikit-learn takes a while, see `trial.wake`

    columns, target = _made_rows(people)
    others, truth = _made_rows(MADE_UP)
    weights = np.linalg.lstsq(np.column_stack([columns, np.ones(people)]), target, rcond=None)[0]
    left = truth - np.column_stack([others, np.ones(MADE_UP)]) @ weights
    exact = max(0.01, 1 - float(left.var() / truth.var()))
    fits = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)  # there is nobody to protect
        warnings.simplefilter("ignore", NoiseWarning)
        for seed in range(1, _RARELY + 1):
            fit = LinearRegression(epsilon=epsilon, bounds=(-1, 1), target_bounds=(-2.5, 2.5), random_state=seed)
            fits.append(float(fit.fit(columns, target).score(others, truth)))
    return exact, fits
