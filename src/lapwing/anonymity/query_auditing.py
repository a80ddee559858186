"""Query auditing: answer a question only if nobody's value follows from the answer and the earlier ones.

Sums are audited exactly by linear algebra (Chin and Özsoyoğlu 1982), maxima by their extreme members (Chin 1986;
Kleinberg, Papadimitriou and Raghavan 2003); mixed, or for values that are known to be 0 or 1, it is hard (the latter:
coNP-hard), and only exhaustion remains. *Offline* one asks which values follow from answers that were given:
`determined_by_sums`, `determined_by_maxima`. *Online* an auditor decides before every answer.

An auditor whose refusals depend on the data gives values away by refusing (Kenthapadi, Mishra and Nissim 2005: the
attack `denials`). A *simulatable* auditor decides from the questions and the earlier answers alone, so that whoever
asks could have predicted the refusal. For sums of arbitrary real numbers that is so anyway; for maxima it must refuse
whenever some answer that is still possible would give a value away.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import checks
from lapwing.anonymity.restriction import Refused
from lapwing.errors import InvalidParameter

Group = frozenset[int]
"""People by their number, from 0."""
LARGEST_EXHAUSTION = 1 << 20
"""Assignments of values that are tried one by one, at most."""
_GIVEN_AWAY = Refused("the answer would reveal somebody's value")


def group_of(who: Iterable[int], people: int) -> Group:
    """A group, checked to be of people there are."""
    group = frozenset(int(person) for person in who)
    if not group or min(group) < 0 or max(group) >= people:
        raise InvalidParameter("who", sorted(group), f"must name people from 0 to {people - 1}", "Write who=[0, 3, 7].")
    return group


class LinearAnswers:
    """Sums that were answered, as a reduced system of linear equations over the rationals.

    Every row is kept in whole numbers without a common divisor, with zeros above and below its leading place; the last
    place is the answer. A value is determined if and only if its row has no other member: a combination of reduced
    rows that is one unit vector can only be the one row that leads there.
    """

    def __init__(self, people: int) -> None:
        self.people = checks.whole(people=people)
        self._rows: dict[int, NDArray[Any]] = {}

    def reduced(self, who: Iterable[int], answer: Fraction | int = 0) -> NDArray[Any] | None:
        """What the question adds to those before it; None if it follows from them."""
        group, exact = group_of(who, self.people), Fraction(answer)
        row = np.zeros(self.people + 1, dtype=object)
        row[list(group)] = exact.denominator
        row[-1] = exact.numerator
        for lead in [lead for lead in self._rows if row[lead]]:
            row = _cleared(row, self._rows[lead], lead)
        if not row[:-1].any():
            if row[-1]:
                raise InvalidParameter("answer", str(answer), "contradicts the answers before", "Pass exact sums.")
            return None
        return row

    def would_determine(self, row: NDArray[Any]) -> bool:
        """Whether a value follows once the reduced row is added that was not determined before."""
        lead = _lead(row)
        if not row[lead + 1 : -1].any():
            return True
        ahead = (_cleared(other, row, lead) for other in self._rows.values() if other[lead])
        return any(np.count_nonzero(other[:-1]) == 1 for other in ahead)

    def add(self, row: NDArray[Any]) -> None:
        """Keep a reduced row."""
        lead = _lead(row)
        self._rows = {at: _cleared(other, row, lead) if other[lead] else other for at, other in self._rows.items()}
        self._rows[lead] = row

    def determined(self) -> dict[int, Fraction]:
        """Whose value follows, and which."""
        alone = {lead: row for lead, row in self._rows.items() if np.count_nonzero(row[:-1]) == 1}
        return {lead: Fraction(row[-1], row[lead]) for lead, row in sorted(alone.items())}


def _lead(row: NDArray[Any]) -> int:
    return int(np.flatnonzero(row[:-1])[0])


def _cleared(row: NDArray[Any], by: NDArray[Any], place: int) -> NDArray[Any]:
    """The row less a multiple of another, so that a place becomes 0."""
    mixed: NDArray[Any] = row * by[place] - by * row[place]
    divisor = math.gcd(*mixed.tolist())
    return mixed // divisor if divisor > 1 else mixed


def determined_by_sums(
    groups: Sequence[Iterable[int]], answers: Sequence[Fraction | int], *, people: int
) -> dict[int, Fraction]:
    """Whose value follows from sums over groups, if nothing is known about the values beforehand.

    >>> determined_by_sums([[0, 1], [1, 2], [0, 2]], [5, 7, 6], people=4)
    {0: Fraction(2, 1), 1: Fraction(3, 1), 2: Fraction(4, 1)}
    """
    system = LinearAnswers(people)
    for who, answer in zip(groups, answers, strict=True):
        if (row := system.reduced(who, answer)) is not None:
            system.add(row)
    return system.determined()


def determined_by_maxima(groups: Sequence[Iterable[int]], answers: Sequence[Any]) -> dict[int, Any]:
    """Whose value follows from maxima over groups, if nothing is known beforehand and values may be equal.

    Nobody's value exceeds the least maximum it takes part in. The extreme members of a question are those for whom
    that is its own answer: one of them attains it. A value follows if and only if it is the only extreme member of
    some question; otherwise another attains the maximum, and it may be lower.

    >>> determined_by_maxima([[0, 1, 2], [0, 1]], [9, 7])
    {2: 9}
    """
    values = {}
    for members, answer in _extremes([frozenset(who) for who in groups], answers):
        if len(members) == 1:
            (person,) = members
            values[person] = answer
        elif not members:
            raise InvalidParameter("answers", list(answers), "contradict one another", "Pass exact maxima.")
    return dict(sorted(values.items()))


def _extremes(groups: Sequence[Group], answers: Sequence[Any]) -> list[tuple[list[int], Any]]:
    most: dict[int, Any] = {}
    for group, answer in zip(groups, answers, strict=True):
        for person in group:
            most[person] = min(most.get(person, answer), answer)
    return [
        ([person for person in group if most[person] == answer], answer)
        for group, answer in zip(groups, answers, strict=True)
    ]


class SumAuditor:
    """Answers sums and refuses those that would give a value away. It is exact for arbitrary numbers.

    It decides without looking at the values, so its refusals say nothing. It does not know that values are bounded: of
    ages, a sum of 0 gives all of them away, and is answered.

    Args:
        values: The secret number of each person.

    >>> auditor = SumAuditor([2, 3, 4])
    >>> auditor.ask([0, 1]), auditor.ask([1, 2])
    (5, 7)
    >>> print(auditor.ask([0, 1, 2]))
    refused: the answer would reveal somebody's value
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = list(values)
        self._system = LinearAnswers(len(self._values))

    def allows(self, who: Iterable[int]) -> bool:
        """Whether the sum over a group may be told.

        Args:
            who: The people of the group, by their numbers from 0.

        Returns:
            False if somebody's value would follow from it and the earlier answers.

        >>> auditor = SumAuditor([2, 3, 4])
        >>> auditor.ask([0, 1]), auditor.allows([1, 2]), auditor.allows([0])
        (5, True, False)
        """
        row = self._system.reduced(who)
        return row is None or not self._system.would_determine(row)

    def ask(self, who: Iterable[int]) -> Any | Refused:
        """The sum over a group.

        Args:
            who: The people of the group, by their numbers from 0.

        Returns:
            The exact sum, or a refusal.

        Raises:
            InvalidParameter: If who is empty, or names somebody that is not there.
        """
        group = group_of(who, len(self._values))
        row = self._system.reduced(group)
        if row is not None:
            if self._system.would_determine(row):
                return _GIVEN_AWAY
            self._system.add(row)
        return sum(self._values[person] for person in group)


class MaxAuditor:
    """Answers maxima and refuses those that would give a value away. Values are any numbers and may be equal.

    Args:
        values: The secret number of each person.
        simulatable: Whether to refuse if any answer that fits the earlier ones would give a value away. Then refusals
            say nothing. Only the earlier answers, and one number in each gap between and beyond them, need be tried
            (Kenthapadi et al. 2005, section 3). Otherwise the auditor looks at the true answer first. It refuses less,
            but its refusals say what it hides.

    Raises:
        InvalidParameter: If simulatable is neither True nor False.

    >>> auditor = MaxAuditor([7, 8, 9], simulatable=False)
    >>> auditor.ask([0, 1, 2]), auditor.ask([1, 2]), auditor.ask([0, 2])
    (9, 9, 9)
    >>> print(auditor.ask([0, 1]))  # and so it is the third who has 9
    refused: the answer would reveal somebody's value
    """

    def __init__(self, values: Sequence[Any], *, simulatable: bool = True) -> None:
        self._values = list(values)
        self.simulatable = checks.true_or_false(simulatable=simulatable)
        self._answered: list[tuple[Group, Any]] = []
        self._most: dict[int, Any] = {}  # what nobody's value exceeds, as far as it is known

    def ask(self, who: Iterable[int]) -> Any | Refused:
        """The maximum over a group.

        Args:
            who: The people of the group, by their numbers from 0.

        Returns:
            The exact maximum, or a refusal.

        Raises:
            InvalidParameter: If who is empty, or names somebody that is not there.
        """
        group = group_of(who, len(self._values))
        answer = max(self._values[person] for person in group)
        touched = [(members, maximum) for members, maximum in self._answered if members & group]
        thinkable = _between([maximum for _, maximum in touched]) if self.simulatable else [answer]
        if any(self._gives_away(group, candidate, touched) for candidate in thinkable):
            return _GIVEN_AWAY
        self._answered.append((group, answer))
        self._most |= {person: min(self._most.get(person, answer), answer) for person in group}
        return answer

    def _gives_away(self, group: Group, answer: Any, touched: Sequence[tuple[Group, Any]]) -> bool:
        """Whether this answer is possible and leaves a question, itself or one it touches, one extreme member."""
        most = self._most | {person: min(self._most.get(person, answer), answer) for person in group}
        sizes = [sum(most[person] == maximum for person in members) for members, maximum in [*touched, (group, answer)]]
        return 0 not in sizes and 1 in sizes


def _between(answers: Sequence[Any]) -> list[Any]:
    """The answers so far, and a number below, between and above them; whole numbers stay exact."""
    known = sorted({Fraction(answer) for answer in answers})
    if not known:
        return [Fraction(0)]
    gaps = [(low + high) / 2 for low, high in itertools.pairwise(known)]
    return [known[0] - 1, *known, *gaps, known[-1] + 1]


class ExhaustiveAuditor:
    """Answers sums or maxima of values from a small known domain. It decides by trying every table that fits.

    It is exact whatever is asked, and slow: there are domain^people tables.

    Args:
        values: The secret number of each person.
        domain: All numbers that a value may be, which everybody knows.
        statistic: "sum" or "max".
        simulatable: Whether to refuse if any answer that is still possible would give a value away. Otherwise the
            auditor looks at the true answer first, and its refusals say what it hides.

    Raises:
        InvalidParameter: If domain lacks a value that occurs, if there are too many people to try all tables, if
            statistic is not one of the known names, or if simulatable is neither True nor False.

    >>> auditor = ExhaustiveAuditor([0, 1, 1], domain=(0, 1), simulatable=False)
    >>> auditor.ask([0, 1]), str(auditor.ask([1, 2]))  # one of two; and then two who are equal
    (1, "refused: the answer would reveal somebody's value")
    """

    _STATISTICS: Mapping[str, Callable[..., NDArray[Any]]] = {"sum": np.sum, "max": np.max}

    def __init__(
        self, values: Sequence[int], *, domain: Sequence[int], statistic: str = "sum", simulatable: bool = True
    ) -> None:
        self._values = np.array(values, np.int64)
        if not set(values) <= set(domain):
            raise InvalidParameter(
                "domain", list(domain), "does not hold all values", "Write domain=(0, 1), for example."
            )
        if len(domain) ** len(values) > LARGEST_EXHAUSTION:
            raise InvalidParameter("values", len(values), "is too many people to try all tables", "Pass fewer.")
        self._statistic = self._STATISTICS[checks.one_of(tuple(self._STATISTICS), statistic=statistic)]
        self.simulatable = checks.true_or_false(simulatable=simulatable)
        every = np.indices((len(domain),) * len(values)).reshape(len(values), -1).T
        self._tables = np.array(domain, np.int64)[every]

    def ask(self, who: Iterable[int]) -> int | Refused:
        """The statistic over a group.

        Args:
            who: The people of the group, by their numbers from 0.

        Returns:
            The exact answer, or a refusal.

        Raises:
            InvalidParameter: If who is empty, or names somebody that is not there.
        """
        group = sorted(group_of(who, len(self._values)))
        answer = int(self._statistic(self._values[group]))
        answers = self._statistic(self._tables[:, group], axis=1)
        thinkable = np.unique(answers) if self.simulatable else [answer]
        if any(_somebody_fixed(self._tables[answers == candidate]) for candidate in thinkable):
            return _GIVEN_AWAY
        self._tables = self._tables[answers == answer]
        return answer

    def determined(self) -> dict[int, int]:
        """Whose value follows from the answers so far.

        Returns:
            The value of each person that is certain, by position. It is empty while nothing is certain.

        >>> auditor = ExhaustiveAuditor([0, 1, 1], domain=(0, 1), simulatable=False)
        >>> auditor.ask([0, 1]), auditor.determined()
        (1, {})
        """
        fixed = np.flatnonzero((self._tables == self._tables[0]).all(axis=0))
        return {int(person): int(self._tables[0, person]) for person in fixed}


def _somebody_fixed(tables: NDArray[np.int64]) -> bool:
    return bool((tables == tables[0]).all(axis=0).any())
