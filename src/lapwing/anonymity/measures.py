"""How anonymous a table is: the numbers that its owner would claim, measured.

>>> hospital = {"age": ["20s", "20s", "30s", "30s"], "illness": ["flu", "cancer", "cancer", "cancer"]}
>>> k_anonymity(hospital, ["age"]), l_diversity(hospital, ["age"], "illness").distinct
(2, 1)
>>> t_closeness(hospital, ["age"], "illness")
0.25
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import checks
from lapwing.anonymity.closeness import Equal, Ground, Ordered, nearest
from lapwing.anonymity.criteria import Counts, distinct, entropies, gains, recursive, shares
from lapwing.anonymity.table import Classes, Columns, classes_by, columns_of, encoded, named, rows_of
from lapwing.checks import Number
from lapwing.errors import InvalidParameter

MOST_COLUMNS = 12
"""(n,t)-closeness looks at every subset of the quasi-identifiers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diversity:
    """The largest l for which a table is l-diverse, in each of the three ways.

    Attributes:
        distinct: How many different values each class has at least.

    >>> from lapwing.anonymity import l_diversity
    >>> table = {"zip": ["02138", "02138", "02139", "02139"], "diagnosis": ["flu", "HIV", "flu", "flu"]}
    >>> l_diversity(table, ["zip"], "diagnosis").distinct
    1
    """

    distinct: int
    entropy: float
    """Need not be whole: e to the smallest entropy of a class."""
    recursive: int
    """For the factor that was asked about; 0 if a class is not even (factor, 1)-diverse."""


def k_anonymity(table: Any, quasi_identifiers: Sequence[str]) -> int:
    """The k of k-anonymity: the size of the smallest class of rows that agree in all quasi-identifiers.

    Args:
        table: Columns by name, rows as dicts, a data frame, or what `Mondrian` and `FullDomain` give.
        quasi_identifiers: Names of the columns an attacker may know.

    Returns:
        The largest k; 0 for a table without rows.

    >>> k_anonymity({"age": [40, 40, 50]}, ["age"])
    1
    """
    return _View(table, quasi_identifiers).classes.smallest


def l_diversity(table: Any, quasi_identifiers: Sequence[str], sensitive: str, *, factor: Number = 3) -> Diversity:
    """The l of l-diversity, in its three variants: distinct, entropy and recursive.

    Args:
        table: Columns by name, rows as dicts, a data frame, or what `Mondrian` and `FullDomain` give.
        quasi_identifiers: Names of the columns an attacker may know.
        sensitive: The name of the sensitive column.
        factor: The c of recursive (c,l)-diversity.

    Returns:
        The largest l of each variant.

    Raises:
        InvalidParameter: If factor is not positive, or if a column is missing.

    >>> l_diversity({"age": [40, 40], "ill": ["yes", "no"]}, ["age"], "ill").distinct
    2
    """
    checks.positive(factor=factor)
    counts = _View(table, quasi_identifiers).counts(sensitive)[0]
    return Diversity(
        distinct=int(distinct(counts).min()),
        entropy=math.exp(float(entropies(counts).min())),
        recursive=int(recursive(counts, factor).min()),
    )


def t_closeness(table: Any, quasi_identifiers: Sequence[str], sensitive: str, ground: Ground | None = None) -> float:
    """The t of t-closeness: how far the distribution in a class is from that of the table, at most.

    Args:
        table: Columns by name, rows as dicts, a data frame, or what `Mondrian` and `FullDomain` give.
        quasi_identifiers: Names of the columns an attacker may know.
        sensitive: The name of the sensitive column.
        ground: How far two values are apart. None: numbers are `Ordered`, other values `Equal`.

    Returns:
        The smallest t, from 0 to 1.

    >>> t_closeness({"sex": ["f", "m"], "ill": ["yes", "no"]}, ["sex"], "ill")
    0.5
    """
    counts, kinds = _View(table, quasi_identifiers).counts(sensitive)
    return float(_ground(ground, kinds).distances(counts, counts.sum(axis=0)).max())


def nt_closeness(
    table: Any, quasi_identifiers: Sequence[str], sensitive: str, *, crowd: int, ground: Ground | None = None
) -> float:
    """The t of (n,t)-closeness: how far a class is from the nearest of the larger classes around it, at most.

    The larger classes are those that the table itself shows: the rows that agree with a class in some of the
    quasi-identifiers. The maker of the table may know others, such as the boxes that Mondrian cut. So this may be
    larger than the t that the table was made for.

    Args:
        table: Columns by name, rows as dicts, a data frame, or what `Mondrian` and `FullDomain` give.
        quasi_identifiers: Names of the columns an attacker may know, at most 12.
        sensitive: The name of the sensitive column.
        crowd: The n: how many rows a larger class must have at least.
        ground: How far two values are apart. None: numbers are `Ordered`, other values `Equal`.

    Returns:
        The smallest t; infinite if the table has fewer than `crowd` rows.

    Raises:
        InvalidParameter: If crowd is not a whole number from 1 on, or if a column is missing.

    >>> nt_closeness({"sex": ["f", "m"], "ill": ["yes", "no"]}, ["sex"], "ill", crowd=2)
    0.5
    """
    checks.whole(crowd=crowd)
    view = _View(table, quasi_identifiers)
    counts, kinds = view.counts(sensitive)
    return float(nearest(_ground(ground, kinds), counts, view.around(sensitive), crowd).max())


def alpha_k_anonymity(table: Any, quasi_identifiers: Sequence[str], sensitive: str) -> tuple[float, int]:
    """The α and the k of (α,k)-anonymity.

    Args:
        table: Columns by name, rows as dicts, a data frame, or what `Mondrian` and `FullDomain` give.
        quasi_identifiers: Names of the columns an attacker may know.
        sensitive: The name of the sensitive column.

    Returns:
        The largest share of a value in a class, and the size of the smallest class.

    >>> alpha_k_anonymity({"sex": ["f", "f", "m"], "ill": ["yes", "no", "no"]}, ["sex"], "ill")
    (1.0, 1)
    """
    view = _View(table, quasi_identifiers)
    return float(shares(view.counts(sensitive)[0]).max()), view.classes.smallest


def beta_likeness(table: Any, quasi_identifiers: Sequence[str], sensitive: str) -> float:
    """The β of basic β-likeness: the largest relative gain of a value's share in a class over its share in the table.

    Args:
        table: Columns by name, rows as dicts, a data frame, or what `Mondrian` and `FullDomain` give.
        quasi_identifiers: Names of the columns an attacker may know.
        sensitive: The name of the sensitive column.

    Returns:
        The smallest β: 1 if some share doubles.

    >>> beta_likeness({"sex": ["f", "m"], "ill": ["yes", "no"]}, ["sex"], "ill")
    1.0
    """
    counts = _View(table, quasi_identifiers).counts(sensitive)[0]
    return float(gains(counts, counts.sum(axis=0)).max())


class _View:
    """A table, seen by its quasi-identifiers."""

    def __init__(self, table: Any, quasi_identifiers: Sequence[str]) -> None:
        self.columns: Columns = columns_of(table)
        names = named(self.columns, quasi_identifiers=quasi_identifiers)
        self.codes: list[NDArray[np.intp]] = [encoded(self.columns[name])[0] for name in names]
        self.classes: Classes = classes_by(self.codes, rows_of(self.columns))

    def counts(self, sensitive: str) -> tuple[Counts, list[Any]]:
        """Of each kind in each class, and the kinds."""
        codes, kinds = self._sensitive(sensitive)
        return self.classes.counts(codes, len(kinds)), kinds

    def around(self, sensitive: str) -> list[Counts]:
        """For every proper subset of the quasi-identifiers, the counts of the larger class around each class."""
        if len(self.codes) > MOST_COLUMNS:
            why = f"{len(self.codes)} columns have too many subsets"
            raise InvalidParameter("quasi_identifiers", len(self.codes), why, f"Name {MOST_COLUMNS} columns at most.")
        codes, kinds = self._sensitive(sensitive)
        first = np.unique(self.classes.member, return_index=True)[1]  # one row of each class
        counts = []
        for size in range(len(self.codes)):
            for some in itertools.combinations(self.codes, size):
                larger = classes_by(some, len(codes))
                counts.append(larger.counts(codes, len(kinds))[larger.member[first]])
        return counts

    def _sensitive(self, name: str) -> tuple[NDArray[np.intp], list[Any]]:
        named(self.columns, sensitive=name)
        codes, kinds = encoded(self.columns[name])
        if not len(codes):
            raise InvalidParameter("table", 0, "has no rows", "Pass a table with at least one row.")
        return codes, kinds


def _ground(given: Ground | None, kinds: list[Any]) -> Ground:
    if given is None:
        numbers = all(isinstance(kind, (int, float)) for kind in kinds)
        given = Ordered() if numbers else Equal()
    return given.over(kinds)
