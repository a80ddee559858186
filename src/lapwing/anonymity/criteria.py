"""Criteria for a class of people who look alike, besides its size: their sensitive values must be diverse.

A criterion is checked for many classes at once. It sees how often each kind of sensitive value occurs in each class
(one row per class, see `Classes.counts`) and in the whole table, and says which classes meet it.

>>> counts = np.array([[2, 2, 0], [4, 0, 0]])
>>> DistinctDiversity(sensitive="diagnosis", least=2).met(counts, counts.sum(axis=0)).tolist()
[True, False]
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lapwing import checks
from lapwing.checks import Number

Counts = NDArray[np.intp]
"""How often each kind of sensitive value occurs: one row per class, or one row for a whole table."""
Floats = NDArray[np.float64]
Met = NDArray[np.bool_]
SLACK = 1e-9
"""So much is forgiven where a float is compared with a limit: sums of shares are rounded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion(ABC):
    """A criterion for every class, about one sensitive column.

    Args:
        sensitive: The name of the sensitive column.
    """

    sensitive: str

    def over(self, kinds: Sequence[Any]) -> Self:
        """The same criterion for counts whose columns are these kinds. Call it once before `met`.

        Args:
            kinds: The different values of the sensitive column, in the order of the counts.

        Returns:
            A criterion that knows what the columns of the counts mean.

        >>> criterion = DistinctDiversity(sensitive="diagnosis", least=2).over(["flu", "HIV"])
        >>> criterion.met(np.array([[2, 2], [4, 0]]), np.array([6, 2])).tolist()
        [True, False]
        """
        return self

    @abstractmethod
    def met(self, counts: Counts, total: Counts, ancestors: Sequence[Counts] | None = None) -> Met:
        """Which classes meet the criterion.

        Args:
            counts: How often each value occurs in each class: one row per class.
            total: How often each value occurs in the whole table.
            ancestors: Counts of larger classes that contain the classes asked about: each is one row that contains all
                of them, or one row per class. Only (n,t)-closeness looks at them.

        Returns:
            True or False for each class.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctDiversity(Criterion):
    """Distinct l-diversity: at least so many different values in every class.

    Source: Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam 2007, l-diversity, section 4.

    Args:
        least: The l: how many different values a class must have.

    Raises:
        InvalidParameter: If least is not a whole number from 1 on.

    >>> from lapwing.anonymity import Mondrian, l_diversity
    >>> table = {"age": [47, 41, 78, 71], "diagnosis": ["cancer", "cancer", "flu", "stroke"]}
    >>> method = Mondrian(k=2, quasi_identifiers=["age"], criteria=[DistinctDiversity(sensitive="diagnosis", least=2)])
    >>> l_diversity(method.anonymise(table), ["age"], "diagnosis").distinct >= 2
    True
    """

    least: int

    def __post_init__(self) -> None:
        checks.whole(least=self.least)

    def met(self, counts: Counts, total: Counts, ancestors: Sequence[Counts] | None = None) -> Met:
        """Whether there are enough different values.

        >>> counts = np.array([[2, 2], [4, 0]])
        >>> DistinctDiversity(sensitive="diagnosis", least=2).met(counts, counts.sum(axis=0)).tolist()
        [True, False]
        """
        return distinct(counts) >= self.least


@dataclass(frozen=True, slots=True, kw_only=True)
class EntropyDiversity(Criterion):
    """Entropy l-diversity: the entropy of the values in every class is at least ln(l).

    Source: Machanavajjhala et al. 2007, definition 4.1.

    Args:
        least: The l, which need not be whole. A class with l equally frequent values just meets it.

    Raises:
        InvalidParameter: If least is not positive.

    >>> counts = np.array([[2, 2], [3, 1]])
    >>> EntropyDiversity(sensitive="diagnosis", least=2).met(counts, counts.sum(axis=0)).tolist()
    [True, False]
    """

    least: Number

    def __post_init__(self) -> None:
        checks.positive(least=self.least)

    def met(self, counts: Counts, total: Counts, ancestors: Sequence[Counts] | None = None) -> Met:
        """Whether the entropy is large enough."""
        return entropies(counts) >= math.log(self.least) - SLACK


@dataclass(frozen=True, slots=True, kw_only=True)
class RecursiveDiversity(Criterion):
    """Recursive (c,l)-diversity: the commonest value is rarer than c times all but the l − 1 commonest together.

    With counts r₁ ≥ r₂ ≥ … of the values in a class: r₁ < c·(r_l + r_{l+1} + …). An attacker who rules out l − 2 values
    is still left with no value that is too common.

    Source: Machanavajjhala et al. 2007, definition 4.2.

    Args:
        least: The l.
        factor: The c. A larger factor allows the commonest value to be more common.

    Raises:
        InvalidParameter: If least is not a whole number from 1 on, or if factor is not positive.

    >>> counts = np.array([[2, 2], [3, 1]])
    >>> RecursiveDiversity(sensitive="diagnosis", least=2).met(counts, counts.sum(axis=0)).tolist()
    [True, False]
    """

    least: int
    factor: Number = 3

    def __post_init__(self) -> None:
        checks.whole(least=self.least)
        checks.positive(factor=self.factor)

    def met(self, counts: Counts, total: Counts, ancestors: Sequence[Counts] | None = None) -> Met:
        """Whether the commonest value is rare enough."""
        return recursive(counts, self.factor) >= self.least


@dataclass(frozen=True, slots=True, kw_only=True)
class LargestShare(Criterion):
    """The α of (α,k)-anonymity: no value has more than this share of a class.

    Source: Wong, Li, Fu and Wang 2006, (α,k)-anonymity, with every value taken to be sensitive.

    Args:
        most: The α: the largest share, from 0 to 1.

    Raises:
        InvalidParameter: If most is not a share from 0 to 1.

    >>> counts = np.array([[2, 2], [3, 1]])
    >>> LargestShare(sensitive="diagnosis", most=0.5).met(counts, counts.sum(axis=0)).tolist()
    [True, False]
    """

    most: Number

    def __post_init__(self) -> None:
        checks.share(most=self.most)

    def met(self, counts: Counts, total: Counts, ancestors: Sequence[Counts] | None = None) -> Met:
        """Whether the commonest value is rare enough."""
        verdicts: Met = shares(counts).max(axis=1) <= float(self.most) + SLACK
        return verdicts


@dataclass(frozen=True, slots=True, kw_only=True)
class BetaLikeness(Criterion):
    """Basic β-likeness: the share of a value in a class exceeds its share in the table by at most β times the latter.

    Source: Cao and Karras 2012, Publishing microdata with a robust privacy guarantee, definition 2 (basic).

    Args:
        most: The β: the largest relative gain. With 1, a share may at most double.

    Raises:
        InvalidParameter: If most is negative.

    >>> counts = np.array([[2, 2], [4, 0]])
    >>> BetaLikeness(sensitive="diagnosis", most=0.5).met(counts, counts.sum(axis=0)).tolist()
    [False, True]
    """

    most: Number

    def __post_init__(self) -> None:
        checks.not_negative(most=self.most)

    def met(self, counts: Counts, total: Counts, ancestors: Sequence[Counts] | None = None) -> Met:
        """Whether no value stands out."""
        return gains(counts, total) <= float(self.most) + SLACK


def shares(counts: Counts) -> Floats:
    """Of each kind in each class."""
    fractions: Floats = counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1)
    return fractions


def distinct(counts: Counts) -> Counts:
    """How many different values each class has."""
    numbers: Counts = np.count_nonzero(counts, axis=1)
    return numbers


def entropies(counts: Counts) -> Floats:
    """The entropy of the values in each class, in nats."""
    part = shares(counts)
    nats: Floats = -np.sum(part * np.log(part, out=np.zeros_like(part), where=part > 0), axis=1)
    return np.maximum(nats, 0.0)


def recursive(counts: Counts, factor: Number) -> Counts:
    """The largest l for which each class is (factor, l)-diverse; 0 if there is none."""
    fallen = np.sort(counts, axis=1)[:, ::-1]
    rest = np.cumsum(fallen[:, ::-1], axis=1)[:, ::-1]  # of the l-th commonest value and all that are rarer
    levels: Counts = np.count_nonzero(fallen[:, :1] < float(factor) * rest, axis=1)
    return levels


def gains(counts: Counts, total: Counts) -> Floats:
    """The largest relative increase of a value's share in each class over its share in the table."""
    before = shares(total)
    seen = before > 0
    increases: Floats = (shares(counts)[:, seen] / before[seen]).max(axis=1, initial=0.0) - 1
    return increases
