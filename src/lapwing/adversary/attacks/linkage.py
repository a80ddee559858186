"""Linkage: rows without names are compared with a list that has names, column by column.

Sweeney (2000, 2002) found the governor of Massachusetts in the state's de-identified hospital records with the list of
voters of Cambridge: only six voters shared his birth date, half of them were men, and he was the only one in his ZIP
code.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import checks
from lapwing.adversary.attacks.attack import Attack, Conclusion, Rounds
from lapwing.adversary.attacks.bounds import best_guess
from lapwing.adversary.attacks.uniqueness import Coarser, coarsen
from lapwing.anonymity.table import (
    Column,
    Columns,
    classes_by,
    classes_of,
    columns_of,
    comparable,
    encoded,
    named,
    rows_of,
    some,
)
from lapwing.checks import Number
from lapwing.datasets import town
from lapwing.errors import InvalidParameter
from lapwing.mechanisms import Laplace
from lapwing.noise import Entropy, choice, uniform_below

Fits = Callable[[Any, Any], bool]
"""Whether a released value may stand for a known one."""
Places = NDArray[np.intp]
ENOUGH = 20
"""Rows that are needed to learn from how many there are."""
DIAGNOSES: Mapping[str, int] = {
    "injury": 25,
    "infection": 15,
    "hypertension": 14,
    "migraine": 9,
    "depression": 7,
    "diabetes": 6,
    "asthma": 6,
    "kidney stones": 5,
    "cancer": 4,
    "heart disease": 3,
    "appendicitis": 3,
    "lung disease": 2,
    "HIV": 1,
}
"""How many patients in a hundred have each, which the attacker knows; near the shares in `town`."""
EXACT = ("birth_date", "sex", "postcode")
KEPT = (*EXACT, "occupation", "marital_status")
"""What is not among the 18 identifiers of HIPAA stays in the table, and whoever knows the person knows it."""
SAFE_HARBOR: Mapping[str, Coarser] = {"birth_date": "year", "postcode": 3}
"""The rule for dates and for postcodes of districts of 20,000 people or more (45 CFR 164.514(b)(2))."""


@dataclass(frozen=True, slots=True, eq=False)
class Linkage:
    """The result of `linkage`: which rows of a released table fit which known people.

    >>> released = {"born": [1971, 1980], "diagnosis": ["asthma", "HIV"]}
    >>> match = linkage(released, {"born": [1971, 1980, 1980]}, on="born")
    >>> match.people_for(1), match.rows_for(0)
    ([1, 2], [0])
    >>> match.recall([0, 2])  # who the rows belong to in truth
    0.5
    """

    on: tuple[str, ...]
    """The columns that were compared."""
    candidates: Places
    """For every released row, how many known people fit."""
    sure: NDArray[np.float64]
    """For every released row, the chance that any one of these is the right one; 0 where nobody fits."""
    _released: Places = field(repr=False)
    _known: Places = field(repr=False)
    _fit: NDArray[np.bool_] | None = field(repr=False)
    """Classes of released rows × classes of known people; None if equal numbers fit and others do not."""

    def __str__(self) -> str:
        none, single = self.candidates == 0, self.candidates == 1
        fit = f"{single.sum():,} fit one person, {(~none & ~single).sum():,} several and {none.sum():,} nobody"
        sure = (
            f" A person who fits alone is the right one with {self.sure[single].mean():.1%} chance."
            if single.any()
            else ""
        )
        return f"Of {len(single):,} rows, compared in {', '.join(self.on)}, {fit}.{sure}"

    @property
    def named(self) -> dict[int, int]:
        """The released rows that only one person fits, with the row of that person in the known table."""
        rows = np.flatnonzero(self.candidates == 1)
        if self._fit is None:
            last = np.full(int(max(self._released.max(initial=0), self._known.max(initial=0))) + 1, -1)
            last[self._known] = np.arange(len(self._known))
            return dict(zip(rows.tolist(), last[self._released[rows]].tolist(), strict=True))
        return {int(row): self.people_for(int(row))[0] for row in rows}

    def people_for(self, row: int) -> list[int]:
        """The known people whom a released row fits.

        Args:
            row: The place of the row in the released table, from 0.

        Returns:
            Their places in the known table.
        """
        mine = self._released[row]
        fits = self._known == mine if self._fit is None else self._fit[mine][self._known]
        people: list[int] = np.flatnonzero(fits).tolist()
        return people

    def rows_for(self, person: int) -> list[int]:
        """The released rows that fit a known person.

        Args:
            person: The place of the person in the known table, from 0.

        Returns:
            Their places in the released table.
        """
        theirs = self._known[person]
        fits = self._released == theirs if self._fit is None else self._fit[:, theirs][self._released]
        rows: list[int] = np.flatnonzero(fits).tolist()
        return rows

    def guess(self, person: int, values: Column, *, about: str | None = None, truth: Any = None) -> Conclusion:
        """Guess a value of a person who is known to be in the released table.

        Each of the rows that fit is equally likely to be the person's. So a value is as likely as it is frequent there.

        Args:
            person: The place of the person in the known table, from 0.
            values: The column of the released table to guess from, a value for each row.
            about: What the conclusion calls the person. None means the number of the person.
            truth: The true value, to be kept in the conclusion.

        Returns:
            The likeliest value; None with a chance of 0 if no row fits.

        Raises:
            InvalidParameter: If `values` does not have one entry for each row of the released table.

        >>> released = {"born": [1971, 1980], "diagnosis": ["asthma", "HIV"]}
        >>> match = linkage(released, {"born": [1971, 1980]}, on="born")
        >>> print(match.guess(0, released["diagnosis"], about="Ada"))
        Ada: asthma (certainly). One row fits in born.
        """
        self._every_row(values=values)
        rows = self.rows_for(person)
        guesses = [values[row] for row in rows]
        best = max(dict.fromkeys(guesses), key=guesses.count, default=None)
        sure = guesses.count(best) / len(guesses) if guesses else 0.0
        fit = "One row fits" if len(rows) == 1 else f"{len(rows)} rows fit"
        because = f"{fit} in {', '.join(self.on)}" + (
            f", and {guesses.count(best)} of them say so." if len(rows) > 1 else "."
        )
        return Conclusion(about=about or f"person {person}", guess=best, sure=sure, because=because, truth=truth)

    def precision(self, truth: Sequence[int | None]) -> float:
        """The share of named rows whose name is correct.

        Args:
            truth: For every released row, the place of its person in the known table; None if it is not there.

        Returns:
            A number from 0 to 1; 0 if no row is named.

        Raises:
            InvalidParameter: If `truth` does not have one entry for each row of the released table.

        >>> released = {"born": [1971, 1980], "diagnosis": ["asthma", "HIV"]}
        >>> match = linkage(released, {"born": [1971, 1980, 1980]}, on="born")
        >>> match.named, match.precision([0, 2])
        ({0: 0}, 1.0)
        """
        self._every_row(truth=truth)
        named = self.named
        return sum(truth[row] == person for row, person in named.items()) / len(named) if named else 0.0

    def recall(self, truth: Sequence[int | None]) -> float:
        """The share of all released rows that are named correctly.

        Args:
            truth: As for `precision`.

        Returns:
            A number from 0 to 1.

        Raises:
            InvalidParameter: If `truth` does not have one entry for each row of the released table.
        """
        self._every_row(truth=truth)
        return sum(truth[row] == person for row, person in self.named.items()) / len(truth) if len(truth) else 0.0

    def _every_row(self, **column: Column) -> None:
        [(name, values)] = column.items()
        if len(values) != len(self._released):
            why = f"must have a value for each of {len(self._released)} released rows"
            raise InvalidParameter(name, f"<{len(values)}>", why, "Pass a column of the released table.")


def linkage(
    released: Any,
    known: Any,
    *,
    on: str | Sequence[str],
    coverage: Number = 1,
    fits: bool | Mapping[str, Fits] = False,
) -> Linkage:
    """Compare the rows of a released table with a list of known people.

    A row belongs to each of the people with its values with equal chances. So each of k candidates is the right one
    with probability 1/(k + λ), if λ people who fit are not listed on average. λ is estimated as by Good and Turing.

    Args:
        released: The table without names: columns by name, rows as dicts, or a data frame.
        known: The table of people whom the attacker knows, in the same form.
        on: The columns to compare. Both tables have them.
        coverage: The share of all people who are in the known table. If it is less than 1, even a single match may be
            the wrong person, since somebody who is not listed may share the values.
        fits: False compares values for equality. True lets released values be coarser: ranges, leading digits, years,
            sets, or suppressed. A mapping does so too, with a rule of your own for the columns that it names: a
            function of the released and the known value.

    Returns:
        Which rows fit which people.

    Raises:
        InvalidParameter: If a column of `on` is missing from a table, or `coverage` is 0, or not between 0 and 1.

    >>> released = {"born": [1971, 1980], "sex": ["f", "m"], "diagnosis": ["asthma", "HIV"]}
    >>> known = {"name": ["Ada", "Bob", "Carl"], "born": [1971, 1980, 1980], "sex": ["f", "m", "m"]}
    >>> match = linkage(released, known, on=["born", "sex"])
    >>> match.named, match.sure.tolist()
    ({0: 0}, [1.0, 0.5])
    >>> print(match.guess(0, released["diagnosis"], about="Ada"))
    Ada: asthma (certainly). One row fits in born, sex.
    """
    theirs, ours = columns_of(released), columns_of(known)
    names = some(theirs, on=on)
    named(ours, on=names)
    share = float(checks.positive(coverage=checks.share(coverage=coverage)))
    if fits is False:
        comparable(theirs, ours, names)
        member, own, fit = _equal(theirs, ours, names)
        candidates = np.bincount(own, minlength=int(member.max(initial=-1)) + 1)[member]
    else:
        member, own, fit = _fitting(theirs, ours, names, {} if fits is True else fits)
        sizes = np.bincount(own)
        candidates = np.array([sizes[mine].sum() for mine in fit], np.intp)[member]
    unlisted = (1 - share) / share * _expected(candidates)
    sure = np.divide(1.0, candidates + unlisted, out=np.zeros(len(member)), where=candidates > 0)
    return Linkage(tuple(names), candidates, sure, member, own, fit)


def fits_value(released: Any, known: Any) -> bool:
    """Whether a released value may stand for a known one: equal, suppressed, a range, a set, leading digits.

    >>> fits_value("021**", "02138"), fits_value("30–39", 34), fits_value((30, 39), 40), fits_value("*", "anything")
    (True, True, False, True)
    >>> fits_value(1971, date(1971, 10, 2)), fits_value("1971-10", date(1971, 10, 2)), fits_value("{a, b}", "c")
    (True, True, False)
    """
    return bool(_fits_values(released, _Kinds([known]))[0])


class _Kinds:
    """The kinds of value of a known column, as values and as they are written."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = np.array([*values, None], dtype=object)[:-1]
        self.texts = np.array([str(value) for value in values], dtype=str)
        self.ordered, self.dates = (
            all(isinstance(value, kind) for value in values if value is not None) for kind in ((int, float), date)
        )


def _fits_values(released: Any, kinds: _Kinds) -> NDArray[np.bool_]:
    """For every known kind of value, whether a released value may stand for it."""
    if released is None or released == "*":
        return np.ones(len(kinds.values), np.bool_)
    if isinstance(released, (set, frozenset, range)):
        return np.array([value in released for value in kinds.values], np.bool_)
    if isinstance(released, tuple) and len(released) == 2:
        return _between(kinds.values, *released)
    equal: NDArray[np.bool_] = np.equal(kinds.values, released).astype(np.bool_)
    text = str(released)
    if text.startswith("{") and text.endswith("}"):
        return equal | np.isin(kinds.texts, text[1:-1].split(", "))
    if text.endswith("*"):
        equal |= np.char.startswith(kinds.texts, text.rstrip("*"))
        return equal
    if kinds.ordered and (limits := _limits(text)):
        return _between(kinds.values, *limits)
    low, separator, high = text.partition(" to " if " to " in text else "–")
    if kinds.dates and separator:
        return _between(kinds.texts, low, high)
    if kinds.dates:
        equal |= np.char.startswith(kinds.texts, f"{text}-")
    return equal


def _limits(text: str) -> tuple[float, float] | None:
    """The least and the greatest number of a range as it is written: “30–39”, “-5 to 5” or “[30, 40)”."""
    half_open = text.startswith("[") and text.endswith(")")
    low, _, high = text[1:-1].partition(", ") if half_open else text.partition(" to " if " to " in text else "–")
    try:
        return float(low), math.nextafter(float(high), -math.inf) if half_open else float(high)
    except ValueError:
        return None  # no numbers


def _between(values: NDArray[Any], low: Any, high: Any) -> NDArray[np.bool_]:
    """Missing values are everywhere and nowhere: they fit no range."""
    return np.array([value is not None and low <= value <= high for value in values.tolist()], np.bool_)


def _equal(theirs: Columns, ours: Columns, names: Sequence[str]) -> tuple[Places, Places, None]:
    """Both tables in the same classes."""
    first = rows_of(theirs)
    both = {name: [*_listed(theirs[name]), *_listed(ours[name])] for name in names}
    member = classes_by([encoded(column)[0] for column in both.values()], first + rows_of(ours)).member
    return member[:first], member[first:], None


def _fitting(
    theirs: Columns, ours: Columns, names: Sequence[str], rules: Mapping[str, Fits]
) -> tuple[Places, Places, NDArray[np.bool_]]:
    """Each table in its own classes, and which fit: kinds of value are compared once, then looked up."""
    left, right = ({name: encoded(table[name]) for name in names} for table in (theirs, ours))
    rows, people = (
        classes_by([codes for codes, _ in side.values()], rows_of(table)).member
        for side, table in ((left, theirs), (right, ours))
    )
    row, person = (np.unique(member, return_index=True)[1] for member in (rows, people))
    fit = np.ones((len(row), len(person)), np.bool_)
    for name in names:
        (said, labels), (codes, values) = left[name], right[name]
        kinds, rule = _Kinds(values), rules.get(name)
        table = np.empty((len(labels), len(values)), np.bool_)
        for place, label in enumerate(labels):
            table[place] = [rule(label, value) for value in values] if rule else _fits_values(label, kinds)
        fit &= table[said[row]][:, codes[person]]
    return rows, people, fit


def _expected(candidates: Places) -> NDArray[np.float64]:
    """For every row with k candidates, how many listed people were to be expected there.

    Good (1953): of M_k kinds of people seen k times each, (k + 1)·M_(k+1)/M_k are expected to be seen again. Rows come
    from a kind in proportion to its people, so that R_k rows with k candidates stand for M_k ∝ R_k/k kinds, and this
    is k·R_(k+1)/R_k. Where rows are too few to tell, it is k.
    """
    rows = np.bincount(candidates, minlength=2)
    sizes = np.arange(len(rows) - 1)
    enough = np.minimum(rows[:-1], rows[1:]) >= ENOUGH
    ratios = np.divide(rows[1:], rows[:-1], out=np.ones(len(sizes)), where=enough)
    expected: NDArray[np.float64] = np.append(sizes * ratios, len(sizes))[candidates]
    return expected


def _listed(column: Any) -> Sequence[Any]:
    return column.tolist() if isinstance(column, np.ndarray) else column  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True, eq=False)
class _World:
    """The hospital of an imaginary town, and the voters among its patients, whom an attacker looks up."""

    patients: Columns
    """What the hospital could release."""
    people: Columns
    """The same people as others know them, row by row."""
    targets: Places

    def drawn(self, rounds: int, entropy: Entropy) -> tuple[Places, Places]:
        """Somebody for every round, and a diagnosis drawn afresh, whoever it is."""
        people = self.targets[uniform_below(len(self.targets), rounds, entropy)]
        return people, choice(list(DIAGNOSES.values()), rounds, entropy)


@cache
def _world() -> _World:
    place = town()
    people: Columns = {name: [column[person] for person in place.patients] for name, column in place.people.items()}
    people["pseudonym"] = [pseudonym(*both) for both in zip(people["name"], people["birth_date"], strict=True)]
    return _World(
        patients={**place.hospital, **{name: people[name] for name in ("pseudonym", "occupation", "marital_status")}},
        people=people,
        targets=np.flatnonzero([voter is not None for voter in place.truth]),
    )


def pseudonym(name: str, born: date) -> str:
    """A hash of what everybody knows, as is done with telephone and licence numbers: whoever knows it can repeat it."""
    return hashlib.sha256(f"{name}|{born}".encode()).hexdigest()[:16]


def _weak(on: Sequence[str], coarser: Mapping[str, Coarser]) -> Callable[[int, Entropy], Rounds]:
    """The attack on a table that shows these columns and the diagnosis."""

    def play(rounds: int, entropy: Entropy) -> Rounds:
        world = _world()
        match = linkage(coarsen(world.patients, **coarser), coarsen(world.people, **coarser), on=on)
        diagnoses, kinds, won = list(world.patients["diagnosis"]), list(DIAGNOSES), list[float]()
        for person, secret in zip(*world.drawn(rounds, entropy), strict=True):
            kept, diagnoses[person] = diagnoses[person], kinds[secret]
            won.append(float(match.guess(int(person), diagnoses).guess == kinds[secret]))
            diagnoses[person] = kept
        return won

    return play


def _private(epsilon: float, rounds: int, entropy: Entropy) -> Rounds:
    people, secrets = _world().drawn(rounds, entropy)
    right: Rounds = (_posterior(epsilon, people, secrets, entropy).argmax(axis=1) == secrets).astype(float).tolist()
    return right


def _posterior(epsilon: float, people: Places, secrets: Places, entropy: Entropy) -> NDArray[np.float64]:
    """What the strongest attacker believes, who knows every patient's diagnosis but the target's.

    Counts of the diagnoses by sex, decade of birth and postcode have Laplace noise of scale 2/ε: another record
    (replace) lowers one count by 1 and raises another. Every round is a release of its own, of which only the counts
    of the target's group depend on the secret.
    """
    world, order = _world(), np.arange(len(people))
    codes = np.array([list(DIAGNOSES).index(kind) for kind in world.patients["diagnosis"]])
    groups = classes_of(coarsen(world.patients, birth_date="decade"), ["sex", "birth_date", "postcode"])
    others = groups.counts(codes, len(DIAGNOSES))[groups.member[people]]
    others[order, codes[people]] -= 1
    true = others.copy()
    true[order, secrets] += 1
    noisy = Laplace(epsilon=Fraction(epsilon), sensitivity=2, dimensions=true.size, on_grid=True, relation="replace")
    rest = np.reshape(noisy.release(true.ravel(), entropy), true.shape) - others
    heights = np.log(list(DIAGNOSES.values())) - epsilon / 2 * (np.abs(rest - 1.0) - np.abs(rest))
    chances = np.exp(heights - heights.max(axis=1, keepdims=True))
    beliefs: NDArray[np.float64] = chances / chances.sum(axis=1, keepdims=True)
    return beliefs


def _example(entropy: Entropy) -> Sequence[Conclusion]:
    """A voter whom one row fits, by four releases."""
    world, kinds = _world(), list(DIAGNOSES)
    exact = linkage(world.patients, world.people, on=EXACT)
    single = [int(person) for person in world.targets if exact.candidates[person] == 1]
    person = single[uniform_below(len(single), entropy=entropy)]
    name, diagnoses = world.people["name"][person], world.patients["diagnosis"]
    truth = diagnoses[person]

    def conclusion(method: str, on: Sequence[str], coarser: Mapping[str, Coarser]) -> Conclusion:
        match = linkage(coarsen(world.patients, **coarser), coarsen(world.people, **coarser), on=on)
        return match.guess(person, diagnoses, about=f"{name}, from {method}", truth=truth)

    chances = _posterior(1.0, np.array([person]), np.array([kinds.index(truth)]), entropy)[0]
    private = Conclusion(
        about=f"{name}, from private counts (epsilon = 1)",
        guess=kinds[int(chances.argmax())],
        sure=float(chances.max()),
        because=f"A blind guess of {kinds[0]} is right in {_PRIOR:.0%} of all cases.",
        truth=truth,
    )
    return [*(conclusion(method, on, coarser) for method, (on, coarser) in _METHODS.items()), private]


_PRIOR = max(DIAGNOSES.values()) / sum(DIAGNOSES.values())
_METHODS: Mapping[str, tuple[Sequence[str], Mapping[str, Coarser]]] = {
    "rows without names": (EXACT, {}),
    "rows without the 18 identifiers": (KEPT, SAFE_HARBOR),
    "pseudonyms made from names": (["pseudonym"], {}),
}

LINKAGE = Attack(
    name="linkage",
    title="Linkage: rows without names beside a list with names",
    secret="a voter’s diagnosis",
    source="Sweeney 2000 and 2002; Golle 2006",
    weak={method: _weak(on, coarser) for method, (on, coarser) in _METHODS.items()},
    answer="counts by group with Laplace noise",
    promise="epsilon for one patient’s record, the diagnosis included (replace)",
    private=_private,
    bound=lambda epsilon: best_guess(epsilon, prior=_PRIOR),
    chance=_PRIOR,
    example=_example,
    lesson=(
        "Birth date, sex and postcode together identify most people. What is removed matters less than what can be "
        "compared."
    ),
    measured="diagnoses guessed",
    rounds=2000,
)
