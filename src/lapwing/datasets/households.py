"""The people of the imaginary town, household by household, drawn for all households at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lapwing.datasets import town_facts as facts
from lapwing.noise import Entropy, choice, discrete_gaussian, uniform_below

YEAR: Final = 365.25
KINDS: Final = tuple(facts.HOUSEHOLDS)
ALONE, COUPLE, FAMILY, ONE_PARENT, SHARED = range(len(KINDS))
ADULTS: Final = 4
"""Places for grown-ups in a household; the children come after them."""
_OLDEST_CHILD = 23
_FIRST_BIRTH = ((17, 21, 16), (21, 25, 22), (25, 30, 30), (30, 35, 22), (35, 42, 10))
_BETWEEN_CHILDREN = ((1, 2, 20), (2, 3, 38), (3, 5, 32), (5, 8, 10))
_PARTNER_LIVES = -0.3, 3.5
"""How much older the second of a couple is in years: the middle and the spread."""

Codes = NDArray[np.int64]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Homes:
    """One entry for each household."""

    kind: Codes
    postcode: Codes
    means: Floats
    """How well off its people and its part of the town are: 0 in the middle, spread 1."""
    married: Floats
    """A number from 0 to 1: the smaller, the sooner a couple marries."""


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """One entry for each person."""

    home: Codes
    place: Codes
    """In the household: grown-ups from 0, children from `ADULTS`."""
    days: Codes
    """Since birth."""
    female: Flags


def homes(people: int, postcodes: int, entropy: Entropy) -> Homes:
    """Households that are enough for so many people: they hold 2.2 on average."""
    count = people // 2 + 100
    where = choice([part * (part + 1) for part in range(1, postcodes + 1)], count, entropy)
    return Homes(
        kind=choice(list(facts.HOUSEHOLDS.values()), count, entropy),
        postcode=where,
        means=0.8 * normal(count, entropy) + 0.6 * normal(postcodes, entropy)[where],
        married=uniform(count, entropy),
    )


def inhabitants(houses: Homes, people: int, entropy: Entropy) -> People:
    """So many people: who lives with whom, how old they are, and of which sex."""
    kind, count = houses.kind, len(houses.kind)
    eldest = uniform_below(int(_OLDEST_CHILD * YEAR), count, entropy)
    parents = (kind == FAMILY) | (kind == ONE_PARENT)
    head = np.where(parents, eldest + between(_FIRST_BIRTH, count, entropy), eldest)
    for lonely in (ALONE, COUPLE, SHARED):
        these = np.flatnonzero(kind == lonely)
        head[these] = between(facts.AGES[KINDS[lonely]], len(these), entropy)
    middle, spread = _PARTNER_LIVES
    second = head + ((middle + spread * normal(count, entropy)) * YEAR).astype(np.int64)
    grown_up = int(facts.GROWN_UP * YEAR)
    second = grown_up + np.abs(second - grown_up)  # nobody lives with a child as a partner
    flat = [between(facts.AGES["shared"], count, entropy) for _ in range(2, ADULTS)]
    grown_ups = np.array([1, 2, 2, 1, 2])[kind] + (kind == SHARED) * choice((55, 30, 15), count, entropy)
    there = [grown_ups > place for place in range(ADULTS)]
    days = [head, second, *flat]
    wanted = np.where(parents, 1 + choice(facts.CHILDREN, count, entropy), 0)
    age = eldest
    for child in range(len(facts.CHILDREN)):
        there.append((wanted > child) & (age >= 0))
        days.append(age)
        twin = happens(facts.TWINS, count, entropy)
        age = np.where(twin, age, age - between(_BETWEEN_CHILDREN, count, entropy))
    return _listed(houses, np.stack(there, axis=1), np.stack(days, axis=1), people, entropy)


def _listed(houses: Homes, there: Flags, days: Codes, people: int, entropy: Entropy) -> People:
    """The people who are there, one after another, with their sex."""
    home, place = (indices[:people] for indices in np.nonzero(there))
    lived, kind = days[home, place], houses.kind[home]
    alone_and_old = (kind == ALONE) & (lived > 65 * YEAR)
    share = np.select([alone_and_old, (kind == ONE_PARENT) & (place == 0), place >= ADULTS], [0.67, 0.8, 0.488], 0.5)
    female = happens(share, len(home), entropy)
    second = np.flatnonzero((place == 1) & (kind != SHARED))
    same = happens(0.015, len(second), entropy)
    female[second] = female[second - 1] == same
    return People(home, place, lived, female)


def normal(size: int, entropy: Entropy) -> Floats:
    """Bell-shaped numbers with mean 0 and spread 1, on a grid of 1/256."""
    return discrete_gaussian(256, size, entropy) / 256.0


def uniform(size: int, entropy: Entropy) -> Floats:
    """Numbers from 0 to 1, on a grid of 2^−32."""
    return entropy.words(size, np.uint32) * 2.0**-32


def happens(chance: Floats | float, size: int, entropy: Entropy) -> Flags:
    """For each: whether it happens, with its own chance."""
    drawn: Flags = uniform(size, entropy) < chance
    return drawn


def between(ranges: Sequence[tuple[int, int, int]], size: int, entropy: Entropy) -> Codes:
    """Days in one of several ranges of years, (from, up to, weight), uniformly within it."""
    starts, ends, weights = (np.array(part) for part in zip(*ranges, strict=True))
    chosen = choice(weights.tolist(), size, entropy)
    lengths = (ends - starts)[chosen] * uniform(size, entropy)
    days: Codes = ((starts[chosen] + lengths) * YEAR).astype(np.int64)
    return days


def by_age(steps: Sequence[tuple[float, ...]], age: Codes, column: int = 1) -> Floats:
    """What holds from the last step that an age has reached; 0 before the first."""
    values = np.array([0.0, *(step[column] for step in steps)])
    return values[np.searchsorted([step[0] for step in steps], age, side="right")]
