"""Criteria that classes of rows must meet besides their size, checked for many classes at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lapwing.anonymity.ladders import Integers
from lapwing.anonymity.table import Columns, encoded, named

CELLS = 1 << 20
"""About so many counts are held at once."""


class Demand(Protocol):
    """A criterion about the sensitive values in a class; `criteria.Criterion` is one.

    What holds for two classes must hold for their union, as it does for diversity and closeness.
    """

    @property
    def sensitive(self) -> str:
        """The column that it is about."""

    def over(self, kinds: Sequence[Any]) -> Demand:
        """The same for counts whose columns are these kinds."""

    def met(self, counts: Integers, total: Integers, ancestors: Sequence[Integers] | None = None) -> NDArray[np.bool_]:
        """For which classes it holds: one row of counts for each."""


class Ancestors(Sequence[Integers]):
    """The counts of larger classes around some classes, made when a criterion looks at them: most do not."""

    def __init__(self, number: int, make: Callable[[], list[Integers]]) -> None:
        self._number, self._make = number, make

    def __len__(self) -> int:
        return self._number

    def __getitem__(self, index: Any) -> Any:
        return self._counts[index]

    @cached_property
    def _counts(self) -> list[Integers]:
        return self._make()


@dataclass(frozen=True, slots=True, eq=False)
class SensitiveColumn:
    """A sensitive column and the criteria about it."""

    criteria: tuple[Demand, ...]
    codes: Integers
    kinds: int
    total: Integers

    def counts(self, member: Integers, rows: Integers, classes: int) -> Integers:
        """How often each kind occurs in each class, given the class of each of these rows."""
        flat = np.bincount(member * self.kinds + self.codes[rows], minlength=classes * self.kinds)
        return flat.reshape(classes, self.kinds)

    def met(self, counts: Integers, ancestors: Sequence[Integers] = ()) -> NDArray[np.bool_]:
        """Which classes meet every criterion; an empty class does."""
        verdicts = np.ones(len(counts), bool)
        some = counts.any(axis=1)
        around = Ancestors(len(ancestors), lambda: [other[some] for other in ancestors])
        for criterion in self.criteria:
            verdicts[some] &= criterion.met(counts[some], self.total, around)
        return verdicts


def sensitive_columns(columns: Columns, criteria: Sequence[Demand]) -> list[SensitiveColumn]:
    """The criteria, column by column."""
    sensitive = []
    for name in dict.fromkeys(criterion.sensitive for criterion in criteria):
        named(columns, sensitive=name)
        codes, kinds = encoded(columns[name])
        about = tuple(criterion.over(kinds) for criterion in criteria if criterion.sensitive == name)
        sensitive.append(SensitiveColumn(about, codes, len(kinds), np.bincount(codes, minlength=len(kinds))))
    return sensitive
