"""What a class of people who look alike must be like besides being large: diverse in what is sensitive about them.

A criterion is asked about many classes at once. It sees how often each kind of sensitive value occurs in each class
(one row per class, see `Classes.counts`) and in the whole table, and says for which classes it is met.

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
    """A demand on every class, about one sensitive column."""

    sensitive: str

    def over(self, kinds: Sequence[Any]) -> Self:
        """The same demand for counts whose columns are these kinds; to be called once before `met`."""
        return self

    @abstractmethod
    def met(self, counts: Counts, total: Counts, ancestors: Sequence[Counts] | None = None) -> Met:
        """For which classes the demand is met.

        `total` counts the whole table. `ancestors` count larger classes that contain the classes asked about: each
        is one row that contains all of them, or one row per class. Only (n,t)-closeness looks at them.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctDiversity(Criterion):
    """At least so many different values in every class: distinct l-diversity.

    Source: Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam 2007, l-diversity, section 4.

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
        """Whether there are enough different values."""
        return distinct(counts) >= self.least


@dataclass(frozen=True, slots=True, kw_only=True)
class EntropyDiversity(Criterion):
    """The entropy of the values in every class is at least ln(least): entropy l-diversity.

    Source: Machanavajjhala et al. 2007, definition 4.1.

    >>> EntropyDiversity(sensitive="diagnosis", least=2).sensitive
    'diagnosis'
    """

    least: Number

    def __post_init__(self) -> None:
        checks.positive(least=self.least)

    def met(self, counts: Counts, total: Counts, ancestors: Sequence[Counts] | None = None) -> Met:
        """Whether the entropy is large enough."""
        return entropies(counts) >= math.log(self.least) - SLACK


@dataclass(frozen=True, slots=True, kw_only=True)
class RecursiveDiversity(Criterion):
    """The commonest value is rarer than `factor` times all but the l − 1 commonest together: (c,l)-diversity.

    With counts r₁ ≥ r₂ ≥ … of the values in a class: r₁ < c·(r_l + r_{l+1} + …). Whoever rules out l − 2 values is
    still left with no value that is too common.

    Source: Machanavajjhala et al. 2007, definition 4.2.

    >>> RecursiveDiversity(sensitive="diagnosis", least=2).sensitive
    'diagnosis'
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
    """No value is shared by more than this part of a class: the α of (α,k)-anonymity.

    Source: Wong, Li, Fu and Wang 2006, (α,k)-anonymity, with every value taken to be sensitive.

    >>> LargestShare(sensitive="diagnosis", most=0.5).sensitive
    'diagnosis'
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
    """No value is more frequent in a class than in the table by more than this part of its share in the table.

    Source: Cao and Karras 2012, Publishing microdata with a robust privacy guarantee, definition 2 (basic).

    >>> BetaLikeness(sensitive="diagnosis", most=1).sensitive
    'diagnosis'
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
