"""Query restriction: answer questions about groups of people only if the group is neither too small nor too well known.

Two rules. Query-set-size control refuses groups of fewer than a or of more than n − a people (Fellegi 1972; Schlörer
1975; Denning, Denning and Schwartz 1979). Overlap control refuses a group that shares more than r people with one that
was answered before (Dobkin, Jones and Lipton 1979). Neither keeps a secret for long:
`lapwing.adversary.attacks` has the tracker, the difference and the linear system that go round them.

>>> staff = {"sex": ["f", "m", "f", "m", "m"], "city": ["Ulm", "Ulm", "Bonn", "Bonn", "Bonn"], "pay": [5, 4, 3, 2, 1]}
>>> queries = RestrictedQueries(staff, smallest=2)
>>> queries.sum("pay", where(city="Bonn"))
6
>>> print(queries.sum("pay", where(city="Bonn") & where(sex="f")))
refused: only groups of 2 to 3 of the 5 people are answered
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import checks
from lapwing.anonymity.table import Column, Columns, columns_of, named, rows_of
from lapwing.errors import InvalidParameter

Members = NDArray[np.bool_]
"""Who belongs to a group: one truth value per row."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A question that was not answered. A refusal also tells something: see the attack on denials.

    Attributes:
        why: The reason, which does not tell how large the group is.

    >>> print(Refused("the group is too small"))
    refused: the group is too small
    """

    why: str

    def __str__(self) -> str:
        return f"refused: {self.why}"


@dataclass(frozen=True, slots=True, repr=False)
class Formula:
    """A characteristic formula: which people are meant, in terms of their attributes; joined with &, | and ~.

    Attributes:
        text: The group in words.
        members: A function that says of each row of a table whether it belongs to the group.

    >>> smokers = where(smoker=True)
    >>> (smokers & ~where(region="North")).text
    '(smoker is True and not region is North)'
    """

    text: str
    members: Callable[[Columns], Members]

    def __and__(self, other: Formula) -> Formula:
        return Formula(f"({self} and {other})", lambda columns: self.members(columns) & other.members(columns))

    def __or__(self, other: Formula) -> Formula:
        return Formula(f"({self} or {other})", lambda columns: self.members(columns) | other.members(columns))

    def __invert__(self) -> Formula:
        return Formula(f"not {self}", lambda columns: ~self.members(columns))

    def __repr__(self) -> str:
        return self.text


def where(given: Mapping[str, Any] | None = None, /, **attributes: Any) -> Formula:
    """A group of people: those who have all these attributes. Groups are joined with &, | and ~.

    Args:
        given: Attributes as a dict, for columns whose names cannot be keywords.
        attributes: A value for each column; a set, a list or a range means any of its values.

    Returns:
        A description of the group; everybody if no attribute is given.

    >>> where(sex="f", age=range(30, 40)) | ~where(city="Ulm")
    ((sex is f and age in range(30, 40)) or not city is Ulm)
    >>> where()
    everybody
    """
    parts = [_condition(column, value) for column, value in {**(given or {}), **attributes}.items()]

    def members(columns: Columns) -> Members:
        everybody = np.ones(rows_of(columns), np.bool_)
        return functools.reduce(np.logical_and, (part.members(columns) for part in parts), everybody)

    text = " and ".join(map(str, parts)) or "everybody"
    return Formula(f"({text})" if len(parts) > 1 else text, members)


def _condition(column: str, value: Any) -> Formula:
    several = isinstance(value, Collection) and not isinstance(value, (str, bytes))
    allowed = value if several else (value,)

    def members(columns: Columns) -> Members:
        (name,) = named(columns, where=column)
        return np.fromiter((value in allowed for value in _plain(columns[name])), np.bool_, rows_of(columns))

    return Formula(f"{column} {'in' if several else 'is'} {value}", members)


def _plain(values: Column) -> Any:
    return values.tolist() if isinstance(values, np.ndarray) else values


class RestrictedQueries:
    """Counts, sums and means over groups of the people in a table, under rules about the groups.

    Args:
        table: Columns by name, rows as dicts, or a data frame; one row per person.
        smallest: The a of set-size control: groups of fewer than a or more than n − a people are refused. With 1 only
            nobody and everybody are refused; 0 refuses nothing.
        largest_overlap: The r of overlap control: a group is refused if it shares more than r people with one that was
            answered. Asking again about the very same group is allowed. None switches it off.

    Raises:
        InvalidParameter: If smallest is more than half of the table, so that no group would be answered, or if
            largest_overlap is not a whole number from 1 on.

    >>> from lapwing.anonymity import where
    >>> ask = RestrictedQueries({"sex": ["f"] * 30 + ["m"] * 70, "smokes": [1, 0] * 50}, smallest=10)
    >>> ask.sum("smokes", where(sex="f"))
    15
    """

    def __init__(self, table: Any, *, smallest: int = 0, largest_overlap: int | None = None) -> None:
        self._columns = columns_of(table)
        self.people = rows_of(self._columns)
        self.smallest = checks.whole(smallest=smallest, minimum=0)
        if 2 * self.smallest > self.people:
            raise InvalidParameter(
                "smallest", smallest, f"no group of {self.people} people would be answered", "Write a smaller number."
            )
        self.largest_overlap = None if largest_overlap is None else checks.whole(largest_overlap=largest_overlap)
        self._answered: list[Members] = []

    def count(self, group: Formula) -> int | Refused:
        """How many people belong to the group.

        Args:
            group: Who is meant: `where(sex="f")`, for example.

        Returns:
            The exact number, or a refusal.

        >>> ask = RestrictedQueries({"sex": ["f"] * 30 + ["m"] * 70}, smallest=10)
        >>> ask.count(where(sex="f"))
        30
        """
        members = self.members(group)
        return self._refusal(members) or int(members.sum())

    def sum(self, column: str, group: Formula) -> Any | Refused:
        """The total of a column over the group.

        Args:
            column: The name of a column of numbers.
            group: Who is meant: `where(sex="f")`, for example.

        Returns:
            The total, exact for whole numbers and fractions, or a refusal.

        Raises:
            InvalidParameter: If group is not written with `where`, or if the column is missing or holds words.
        """
        members = self.members(group)
        return self._refusal(members) or self._total(column, members)

    def mean(self, column: str, group: Formula) -> Any | Refused:
        """The mean of a column over the group.

        Args:
            column: The name of a column of numbers.
            group: Who is meant: `where(sex="f")`, for example.

        Returns:
            The mean, a `Fraction` for whole numbers and fractions, or a refusal.

        Raises:
            InvalidParameter: If group is not written with `where`, or if the column is missing or holds words.

        >>> ask = RestrictedQueries({"sex": ["f"] * 30 + ["m"] * 70, "smokes": [1, 0] * 50}, smallest=10)
        >>> ask.mean("smokes", where(sex="f"))
        Fraction(1, 2)
        """
        members = self.members(group)
        if not members.any():
            return Refused("nobody belongs to the group")
        if refused := self._refusal(members):
            return refused
        total, size = self._total(column, members), int(members.sum())
        return total / size if isinstance(total, float) else Fraction(total) / size

    def members(self, group: Formula) -> Members:
        """Who belongs to the group. This is for the owner of the table.

        Args:
            group: Who is meant: `where(sex="f")`, for example.

        Returns:
            True or False for each row.

        Raises:
            InvalidParameter: If group is not written with `where`.

        >>> RestrictedQueries({"sex": ["f", "m", "f"]}).members(where(sex="f")).tolist()
        [True, False, True]
        """
        hint = "Write where(sex='f'), for example, or where() for everybody."
        checks.of_kind(Formula, "must describe a group", hint, group=group)
        return group.members(self._columns)

    def _total(self, column: str, members: Members) -> Any:
        (name,) = named(self._columns, column=column)
        values = _plain(self._columns[name])
        if any(isinstance(value, str) for value in values):
            raise InvalidParameter("column", name, "holds words, which have no total", "Name a column of numbers.")
        return sum(values[row] for row in np.flatnonzero(members))

    def _refusal(self, members: Members) -> Refused | None:
        """Why the group is refused, or None, and then it is remembered. A refusal does not tell how large it is."""
        largest = self.people - self.smallest
        if not self.smallest <= int(members.sum()) <= largest:
            return Refused(f"only groups of {self.smallest} to {largest} of the {self.people} people are answered")
        if self.largest_overlap is None:
            return None
        others = [other for other in self._answered if not np.array_equal(members, other)]
        if any(int((members & other).sum()) > self.largest_overlap for other in others):
            return Refused(f"it shares more than {self.largest_overlap} people with an earlier group")
        self._answered.append(members)
        return None


def queries_needed(*, smallest: int, largest_overlap: int) -> int:
    """How many sums over k or more people that share at most r with one another it takes to find a value, at least.

    (2k − 1)/r, if no value is known beforehand and r < k (compare Dobkin, Jones and Lipton 1979). Proof: let x be a
    combination of sums. Some sum with a positive factor contains x; its k − 1 other members must be cancelled, and
    every sum with a negative factor cancels r at most: (k − 1)/r of them. One of these that does not contain x has k
    members to be cancelled in turn: k/r sums with positive factors. If all of them contain x, each cancels r − 1
    members only, which takes (k − 1)/(r − 1) ≥ k/r of them, and (k − 1)/r with a positive factor again.

    >>> queries_needed(smallest=10, largest_overlap=1)
    19
    """
    size, shared = checks.whole(smallest=smallest, minimum=2), checks.whole(largest_overlap=largest_overlap)
    if shared >= size:
        return 2  # two groups that differ by one person
    return -(-(2 * size - 1) // shared)
