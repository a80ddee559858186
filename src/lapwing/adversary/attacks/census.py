"""Reconstruction of a census block: its people from the tables about it.

Tables of counts, mean and median ages say which blocks are possible, and often it is only one (Garfinkel, Abowd and
Martindale 2019). `reconstruct_block` finds all blocks that fit. The contest asks which of seven known residents are
married, which only the tables tell. Everybody here is invented.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapwing import checks
from lapwing.adversary.attacks.attack import Attack, Conclusion, Rounds
from lapwing.adversary.attacks.bounds import best_guess
from lapwing.errors import InvalidParameter
from lapwing.mechanisms import Laplace
from lapwing.noise import Entropy, bernoulli, uniform_below

SMALLEST = 3
"""Groups of fewer people are suppressed."""
OLDEST = 99
MOST = 10_000
"""Blocks that fit: more of them are not worth listing."""


class Person(NamedTuple):
    """One line of the questionnaire.

    Attributes:
        age: The age in years.
        sex: "F" or "M".
        origin: A letter for the group that the person belongs to.
        married: Whether the person is married.

    >>> print(Person(30, "F", "A", False))
    30 FA single
    """

    age: int
    sex: str
    origin: str
    married: bool

    def __str__(self) -> str:
        return f"{self.age} {self.sex}{self.origin} {'married' if self.married else 'single'}"


@dataclass(frozen=True, slots=True)
class Statistic:
    """A line of the published tables: how many there are of a group, and their mean and median age."""

    where: Mapping[str, Any]
    """What all of the group have in common, as in {"sex": "F"}."""
    count: int
    mean: float | None = None
    """With one decimal."""
    median: float | None = None

    def counts(self, person: Person) -> bool:
        """Whether somebody belongs to the group; the age does not matter."""
        return all(getattr(person, name) == value for name, value in self.where.items())


GROUPS: tuple[dict[str, Any], ...] = (
    {},
    {"sex": "F"},
    {"sex": "M"},
    {"origin": "A"},
    {"origin": "B"},
    {"sex": "F", "origin": "A"},
    {"sex": "F", "origin": "B"},
    {"sex": "M", "origin": "A"},
    {"sex": "M", "origin": "B"},
    {"married": True},
    {"married": False},
)
MARRIED: tuple[dict[str, Any], ...] = tuple({"married": True, **where} for where in GROUPS[:5])
CELLS = GROUPS[5:9]
"""By sex and origin: everybody is in one."""
BLOCK = (
    Person(7, "F", "A", False),
    Person(19, "M", "B", False),
    Person(26, "F", "B", False),
    Person(33, "M", "B", True),
    Person(38, "F", "A", True),
    Person(61, "F", "A", True),
    Person(82, "M", "A", True),
)
_KINDS = tuple(itertools.product("FM", "AB", (False, True)))


def tabulate(
    people: Sequence[Person], groups: Sequence[Mapping[str, Any]] = GROUPS, *, smallest: int = 0
) -> list[Statistic]:
    """The tables of a block; groups of fewer than `smallest` are left out."""
    lines = []
    for where in groups:
        ages = [person.age for person in people if Statistic(where, 0).counts(person)]
        if len(ages) >= smallest:
            mean, middle = (round(sum(ages) / len(ages), 1), float(median(ages))) if ages else (None, None)
            lines.append(Statistic(where, len(ages), mean, middle))
    return lines


def reconstruct_block(tables: Sequence[Statistic], *, oldest: int = OLDEST, most: int = MOST) -> list[list[Person]]:
    """Find all blocks of people that fit the published tables.

    The search is meant for a handful of people. If the tables say little, many blocks fit, and it takes long.

    Args:
        tables: The lines of the tables, each a `lapwing.adversary.attacks.census.Statistic`. A line without conditions
            must count everybody.
        oldest: The largest age. Ages are whole numbers from 0.
        most: How many blocks to find at most.

    Returns:
        The blocks, each a list of people (age, sex, origin, married) in no particular order.

    Raises:
        InvalidParameter: If no line counts everybody, or a line groups by something else than sex, origin and married.

    >>> from lapwing.adversary.attacks.census import Person, Statistic
    >>> everybody, women = Statistic({}, 2, mean=40.0, median=40.0), Statistic({"sex": "F"}, 1, mean=30.0)
    >>> facts = [Statistic({"origin": "A"}, 2), Statistic({"married": True}, 0)]
    >>> [block] = reconstruct_block([everybody, women, *facts])
    >>> print(*block, sep=", ")
    30 FA single, 50 MA single
    """
    oldest, most = checks.whole(oldest=oldest), checks.whole(most=most)
    everybody = [line.count for line in tables if not line.where]
    for line in tables:
        if unknown := set(line.where) - set(Person._fields[1:]):
            raise InvalidParameter("tables", unknown, "cannot be grouped by", "Use sex, origin and married.")
    if not everybody:
        why = "need a line without conditions, which says how many people there are"
        raise InvalidParameter("tables", f"<{len(tables)} lines>", why, "Add Statistic({}, 7).")
    kinds = [Person(0, *kind) for kind in _KINDS]
    blocks: list[list[Person]] = []
    for block in itertools.combinations_with_replacement(kinds, everybody[0]):
        if all(sum(map(line.counts, block)) == line.count for line in tables):
            lines = [_Line.of(line, block) for line in tables if line.mean is not None or line.median is not None]
            ages = _aged(block, lines, {}, oldest)
            blocks += [
                [block[i]._replace(age=age[i]) for i in range(len(block))] for age in itertools.islice(ages, most)
            ]
    return blocks[:most]


@dataclass(frozen=True, slots=True)
class _Line:
    """What a statistic demands of the ages of its members."""

    members: frozenset[int]
    totals: range
    median: float | None

    @classmethod
    def of(cls, line: Statistic, block: Sequence[Person]) -> _Line:
        members = frozenset(i for i, person in enumerate(block) if line.counts(person))
        low, high = (0, 1 << 30) if line.mean is None else _totals(line.mean, len(members))
        return cls(members, range(low, high + 1), line.median)

    def between(self, ages: Mapping[int, int], oldest: int) -> tuple[int, int]:
        """Where the next age of a member has to lie for the total to come out."""
        known = [ages[i] for i in self.members if i in ages]
        later = len(self.members) - len(known) - 1
        return self.totals.start - sum(known) - later * oldest, self.totals.stop - 1 - sum(known)

    def possible(self, ages: Mapping[int, int]) -> bool:
        """Whether the median can still come out: not too many of those known lie on one side of it."""
        if self.median is None:
            return True
        known, half = [ages[i] for i in self.members if i in ages], len(self.members) // 2
        if len(known) == len(self.members):
            return median(known) == self.median
        return max(sum(age < self.median for age in known), sum(age > self.median for age in known)) <= half


def _totals(mean: float, count: int) -> tuple[int, int]:
    """The least and the greatest total whose mean is rounded to this."""
    near = round(mean * count)
    fit = [total for total in range(near - count, near + count + 1) if round(total / count, 1) == mean]
    return (fit[0], fit[-1]) if fit else (1, 0)


def _aged(
    block: Sequence[Person], lines: Sequence[_Line], ages: dict[int, int], oldest: int
) -> Iterator[dict[int, int]]:
    """All ages that fit. The person with the fewest ages left is next; of people of one kind the first is youngest."""
    if len(ages) == len(block):
        yield dict(ages)
        return
    bounds = [(line.members, *line.between(ages, oldest)) for line in lines]
    ranges = {i: _left(i, block, ages, bounds, oldest) for i in range(len(block)) if i not in ages}
    person = min(ranges, key=lambda i: len(ranges[i]))
    mine = [line for line in lines if person in line.members]
    for age in ranges[person]:
        ages[person] = age
        if all(line.possible(ages) for line in mine):
            yield from _aged(block, lines, ages, oldest)
        del ages[person]


def _left(
    person: int,
    block: Sequence[Person],
    ages: Mapping[int, int],
    bounds: Sequence[tuple[frozenset[int], int, int]],
    oldest: int,
) -> range:
    """The ages that totals and people of the same kind leave to somebody."""
    mine = [(low, high) for members, low, high in bounds if person in members]
    alike = [(other, age) for other, age in ages.items() if block[other] == block[person]]
    low = max([0, *(low for low, _ in mine), *(age for other, age in alike if other < person)])
    high = min([oldest, *(high for _, high in mine), *(age for other, age in alike if other > person)])
    return range(low, high + 1)


def known_people(blocks: Sequence[Sequence[Person]]) -> list[Conclusion]:
    """What all the blocks that fit say: for each line of the commonest people, in what share of the blocks it is.

    Every block that fits is taken to be as likely as another; a line that all of them have is certain.
    """
    if not blocks:
        raise InvalidParameter("blocks", 0, "no block fits the tables", "Look for a number that was changed.")
    seen: Counter[tuple[Person, int]] = Counter()
    for block in blocks:
        seen.update((person, number) for person, many in Counter(block).items() for number in range(many))
    because = f"{len(blocks):,} block{'s fit' if len(blocks) > 1 else ' fits'} the tables."
    return [
        Conclusion(about="a resident", guess=str(person), sure=times / len(blocks), because=because)
        for (person, _), times in seen.most_common(len(blocks[0]))
    ]


def who_is_married(
    residents: Sequence[Person], tables: Sequence[Statistic], *, smallest: int = 0
) -> NDArray[np.float64]:
    """The chance of each resident to be married, from tables of the married: their ages and kinds are known already.

    Every way to be married that gives these tables is as likely as another. `smallest` is the rule by which lines were
    left out, which is public.
    """
    wanted, fit = list(tables), []
    for bits in itertools.product((False, True), repeat=len(residents)):
        block = [person._replace(married=bit) for person, bit in zip(residents, bits, strict=True)]
        if tabulate(block, MARRIED, smallest=smallest) == wanted:
            fit.append(bits)
    if not fit:
        raise InvalidParameter(
            "tables", f"<{len(wanted)} lines>", "do not fit any choice of who is married", "Check the rule."
        )
    return np.asarray(np.mean(fit, axis=0), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateTables:
    """The numbers and the total ages of the married, by sex and origin, with noise; half of epsilon for each table.

    One person is in one of the cells, so whether they are married (replace) moves the numbers by 1 and the totals by
    the greatest age at most, in l1. Numbers and totals of larger groups are sums of cells.
    """

    epsilon: float
    _numbers: Laplace = field(init=False, repr=False)
    _totals: Laplace = field(init=False, repr=False)

    def __post_init__(self) -> None:
        half = Fraction(self.epsilon) / 2
        for name, most in (("_numbers", 1), ("_totals", OLDEST)):
            noise = Laplace(epsilon=half, sensitivity=most, dimensions=len(CELLS), on_grid=True, relation="replace")
            object.__setattr__(self, name, noise)

    def release(self, married: NDArray[Any], residents: Sequence[Person], entropy: Entropy) -> NDArray[np.float64]:
        """Numbers, then totals."""
        numbers, totals = self._exact(married[None], residents)
        noisy = [self._numbers.release(numbers[0], entropy), self._totals.release(totals[0], entropy)]
        return np.concatenate(noisy).astype(np.float64)

    def chances(self, released: NDArray[np.float64], residents: Sequence[Person]) -> NDArray[np.float64]:
        """Each resident's chance to be married, all having tossed fair coins: exactly, over all ways to be married."""
        ways = np.array(list(itertools.product((0, 1), repeat=len(residents))))
        exact = np.concatenate(self._exact(ways, residents), axis=1)
        parts = (self._numbers, self._totals)
        scale = np.repeat([float(part.sensitivity) / float(part.epsilon) for part in parts], len(CELLS))
        logs = -(np.abs(released - exact) / scale).sum(axis=1)
        weights = np.exp(logs - logs.max())
        return np.asarray(weights @ ways / weights.sum(), dtype=np.float64)

    @staticmethod
    def _exact(married: NDArray[Any], residents: Sequence[Person]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        member = [[Statistic(where, 0).counts(person) for where in CELLS] for person in residents]
        groups, ages = np.array(member, dtype=np.int64), np.array([person.age for person in residents])
        return married.astype(np.int64) @ groups, (married * ages) @ groups


def _residents(entropy: Entropy) -> list[Person]:
    """Seven grown-ups, as a register of voters has them, whose marriages are fair coins."""
    ages = 18 + uniform_below(OLDEST - 17, len(BLOCK), entropy)
    coins = bernoulli(Fraction(1, 2), 3 * len(BLOCK), entropy).reshape(3, -1).T
    return [
        Person(int(age), "FM"[int(sex)], "AB"[int(origin)], bool(married))
        for age, (sex, origin, married) in zip(ages, coins, strict=True)
    ]


def _share(chances: NDArray[np.float64], people: Sequence[Person]) -> float:
    return float(np.mean((chances > 0.5) == [person.married for person in people]))


def _published(smallest: int, rounds: int, entropy: Entropy) -> Rounds:
    shares = []
    for _ in range(rounds):
        people = _residents(entropy)
        tables = tabulate(people, MARRIED, smallest=smallest)
        shares.append(_share(who_is_married(people, tables, smallest=smallest), people))
    return shares


def _private(epsilon: float, rounds: int, entropy: Entropy) -> Rounds:
    tables, shares = PrivateTables(epsilon=epsilon), []
    for _ in range(rounds):
        people = _residents(entropy)
        released = tables.release(np.array([person.married for person in people]), people, entropy)
        shares.append(_share(tables.chances(released, people), people))
    return shares


def _example(entropy: Entropy) -> Sequence[Conclusion]:
    conclusions = known_people(reconstruct_block(tabulate(BLOCK, smallest=SMALLEST)))
    tables = PrivateTables(epsilon=1)
    released = tables.release(np.array([person.married for person in BLOCK]), BLOCK, entropy)
    private = [
        Conclusion(
            about=f"the resident of {person.age}, from private tables (epsilon = 1)",
            guess="married" if chance > 0.5 else "single",
            sure=max(float(chance), 1 - float(chance)),
            because="From all ways to be married, weighted by how well they explain the noisy tables.",
            truth="married" if person.married else "single",
        )
        for person, chance in zip(BLOCK, tables.chances(released, BLOCK), strict=True)
    ]
    return [*conclusions, *private]


CENSUS = Attack(
    name="census",
    title="Census block: the people behind published tables",
    secret=f"which of {len(BLOCK)} residents are married",
    source="Garfinkel, Abowd and Martindale 2019",
    weak={
        "counts, mean and median ages": partial(_published, 0),
        f"the same, groups of fewer than {SMALLEST} suppressed": partial(_published, SMALLEST),
    },
    answer="counts and total ages by sex and origin with Laplace noise",
    promise="epsilon for all tables together, whether or not one resident is married (replace)",
    private=_private,
    bound=best_guess,
    example=_example,
    measured="marriages right",
    lesson="Tables of exact numbers are equations about people. For few people there are few solutions.",
    rounds=100,
)
