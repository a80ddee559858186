"""Mondrian: cut the table in two where it is widest, and go on while every piece keeps k rows.

Source: LeFevre, DeWitt and Ramakrishnan 2006, Mondrian multidimensional k-anonymity. A part of the table is cut in the
column in which it covers most of the domain: numbers beside the median, words into the children of their group in the
taxonomy, or, without one, in sorted order. If a piece would have fewer than k rows or fail a criterion, the next widest
column is tried.

All parts are cut at once, generation by generation: what is done is a few array operations over all rows for each
generation and column, so the time grows with rows · columns · log(rows / k), and not with the number of parts.

>>> people = {"age": [34, 36, 51, 55], "sex": ["f", "m", "f", "f"], "illness": ["flu", "flu", "cold", "flu"]}
>>> print(Mondrian(k=2, quasi_identifiers=["age", "sex"]).anonymise(people))
4 rows in 2 classes of at least 2, 0 suppressed; certainty 0.321, discernibility 8, class size 1.00
age    sex     illness
34–36  {f, m}  flu
34–36  {f, m}  flu
51–55  f       cold
51–55  f       flu
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import checks
from lapwing.anonymity.closeness import CrowdCloseness
from lapwing.anonymity.demands import CELLS, Ancestors, Demand, SensitiveColumn, sensitive_columns
from lapwing.anonymity.generalisation import GeneralisedTable, Original, checked_names
from lapwing.anonymity.hierarchies import Hierarchy, Numbers, Order, Sets, are_numbers
from lapwing.anonymity.ladders import Integers, Ladder, Parts, Scale
from lapwing.anonymity.table import classes_by, encoded
from lapwing.errors import InvalidParameter

Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mondrian:
    """k-anonymity by cutting the table into boxes, each of which gets labels of its own.

    Args:
        k: How many rows every class must have at least.
        quasi_identifiers: Names of the columns an attacker may know, or a dict from names to hierarchies. Without a
            hierarchy (None) numbers and dates become ranges (`Numbers`) and other values sets (`Sets`).
        strict: Whether classes must not overlap. Otherwise a part that cannot be cut so in any column is cut more
            freely: rows with the median go to either side, and the groups of a taxonomy that are too small stay
            together.
        criteria: What else each class must meet, for example `DistinctDiversity` or `Closeness`.

    Raises:
        InvalidParameter: If k is not a whole number from 1 on, if quasi_identifiers does not name columns, each of them
            once, or if `CrowdCloseness` is asked for with strict=False.

    >>> Mondrian(k=2, quasi_identifiers=["age"]).anonymise({"age": [47, 41, 78, 71]}).to_dict()["age"]
    ['41–47', '41–47', '71–78', '71–78']
    """

    k: int = 5
    quasi_identifiers: Mapping[str, Hierarchy | Order | None] | Sequence[str]
    strict: bool = True
    criteria: Sequence[Demand] = ()

    def __post_init__(self) -> None:
        checks.whole(k=self.k)
        checks.true_or_false(strict=self.strict)
        checked_names(self.quasi_identifiers)
        if not self.strict and any(isinstance(criterion, CrowdCloseness) for criterion in self.criteria):
            why = "equal boxes are merged into one class, so the surrounding classes are not known"
            raise InvalidParameter("criteria", "CrowdCloseness", why, "Write strict=True, or Closeness instead.")

    def anonymise(self, table: Any, *, drop: Sequence[str] = ()) -> GeneralisedTable:
        """Put labels in place of the quasi-identifiers.

        Args:
            table: Columns by name, rows as dicts, or a data frame.
            drop: Names of columns to leave out, such as names of people.

        Returns:
            The published rows and what was lost. No row is suppressed.

        Raises:
            InvalidParameter: If not even the whole table meets the criteria, or if the columns do not fit.
        """
        original = Original.of(table, list(self.quasi_identifiers), drop, self.k)
        axes, codes = self._axes(original)
        sensitive = sensitive_columns(original.columns, self.criteria)
        order, parts = _Cutter(axes, codes, self.k, self.strict, sensitive).cut()
        low, high = (edge.reduceat(codes[:, order], parts.starts, axis=1) for edge in (np.minimum, np.maximum))
        described = [
            axis.describe(column[order], parts, first, last)
            for axis, column, first, last in zip(axes, codes, low, high, strict=True)
        ]
        labels, shares = [names for names, _ in described], np.column_stack([covered for _, covered in described])
        member = np.empty(codes.shape[1], np.intp)
        member[order] = parts.member
        if not self.strict:  # two boxes may look alike, and then they are one class
            merged = classes_by([encoded(names)[0] for names in labels], len(shares)).member
            first = np.unique(merged, return_index=True)[1]
            labels, shares, member = [names[first] for names in labels], shares[first], merged[member]
        return original.published(labels, shares, member, k=self.k, kept=np.arange(len(member)))

    def _axes(self, original: Original) -> tuple[list[Ladder | Scale], Codes]:
        axes, places = [], []
        for name, (codes, kinds) in zip(original.names, original.codes(), strict=True):
            given = self.quasi_identifiers[name] if isinstance(self.quasi_identifiers, Mapping) else None
            if given is None:
                given = Numbers() if are_numbers(kinds) else Sets()
            axis = given.ladder(kinds) if hasattr(given, "ladder") else given.scale(kinds)
            axes.append(axis)
            places.append(axis.place.astype(np.int32)[codes])
        return axes, np.stack(places)


class _Cutter:
    """One run: the rows that are still being cut, part by part."""

    def __init__(
        self, axes: Sequence[Ladder | Scale], codes: Codes, k: int, strict: bool, sensitive: Sequence[SensitiveColumn]
    ) -> None:
        self.axes, self.k, self.strict, self.sensitive = axes, k, strict, sensitive
        self.codes = codes
        self.order = np.arange(codes.shape[1])
        self.parts = Parts(np.array([codes.shape[1]]))
        self.family: list[Integers] = []
        """For every generation so far: which part of the generation before each part came from."""
        self.counts: list[list[Integers]] = []
        """For every generation: the sensitive values in each part, column by column."""
        self._remember(np.zeros(1, np.intp))
        for column, counts in zip(self.sensitive, self.counts[0], strict=True):
            if not column.met(counts).all():
                why = f"not even the whole table meets them: {column.kinds} kinds of value in all"
                raise InvalidParameter("criteria", column.criteria[0].sensitive, why, "Demand less of this column.")

    def cut(self) -> tuple[Integers, Parts]:
        """The rows in the order of the final parts, and these parts."""
        done: list[Integers] = []
        sizes: list[Integers] = []
        while len(self.parts.sizes):
            piece, pieces = self._try_all()
            final = np.repeat(pieces == 1, self.parts.sizes)
            done.append(self.order[final])
            sizes.append(self.parts.sizes[pieces == 1])
            self._descend(piece, pieces, np.flatnonzero(~final))
        return np.concatenate(done), Parts(np.concatenate(sizes))

    def _try_all(self) -> tuple[Integers, Integers]:
        """The piece into which each row falls, and the number of pieces of each part: 1 if it cannot be cut."""
        starts = self.parts.starts
        low, high = (edge.reduceat(self.codes, starts, axis=1) for edge in (np.minimum, np.maximum))
        widths = np.stack([axis.widths(*ends) for axis, *ends in zip(self.axes, low, high, strict=True)])
        widest = np.argsort(-widths, axis=0, kind="stable")
        piece, pieces = np.zeros(len(self.order), np.intp), np.ones(len(starts), np.intp)
        open_parts = np.flatnonzero(self.parts.sizes >= 2 * self.k)
        for least in (0,) if self.strict else (0, self.k):
            for columns in widest:
                chosen = columns[open_parts]
                varied = widths[chosen, open_parts] > 0
                for column in range(len(self.axes)):
                    for tried in self._blocks(open_parts[varied & (chosen == column)]):
                        some, rows = Parts(self.parts.sizes[tried]), self.parts.rows(tried)
                        codes, ends = self.codes[column, rows], (low[column, tried], high[column, tried])
                        falls, number = self.axes[column].cut(codes, some, *ends, least=least)
                        allowed = self._allowed(tried, rows, some.member, falls, number)
                        pieces[tried[allowed]] = number[allowed]
                        inside = allowed[some.member]
                        piece[rows[inside]] = falls[inside]
                open_parts = open_parts[pieces[open_parts] == 1]
        return piece, pieces

    def _blocks(self, parts: Integers) -> Iterator[Integers]:
        """So few parts at a time that the counts of their sensitive values fit into memory."""
        kinds = max((column.kinds for column in self.sensitive), default=0)
        if len(parts):
            yield from np.array_split(parts, min(len(parts), 1 + 2 * len(parts) * kinds // CELLS))

    def _allowed(
        self, tried: Integers, rows: Integers, member: Integers, falls: Integers, number: Integers
    ) -> NDArray[np.bool_]:
        """Of which parts all pieces are large enough and meet the criteria."""
        offsets = np.cumsum(number) - number
        slots = offsets[member] + falls
        totals = np.bincount(slots, minlength=number.sum())
        good = (totals >= self.k) | (totals == 0)
        for i, column in enumerate(self.sensitive):
            counts = column.counts(slots, self.order[rows], len(totals))
            around = partial(self._ancestors, i, np.repeat(tried, number))
            good &= column.met(counts, Ancestors(len(self.family), around))
        allowed: NDArray[np.bool_] = np.logical_and.reduceat(good, offsets) & (np.add.reduceat(totals > 0, offsets) > 1)
        return allowed

    def _descend(self, piece: Integers, pieces: Integers, rows: Integers) -> None:
        """Take up the pieces as the next generation."""
        cut = np.flatnonzero(pieces > 1)
        offsets = np.cumsum(pieces[cut]) - pieces[cut]
        slots = np.repeat(offsets, self.parts.sizes[cut]) + piece[rows]
        rows = rows[np.argsort(slots, kind="stable")]
        sizes = np.bincount(slots)
        parents = np.repeat(cut, pieces[cut])[: len(sizes)][sizes > 0]
        self.order, self.codes, self.parts = self.order[rows], self.codes[:, rows], Parts(sizes[sizes > 0])
        self._remember(parents)

    def _remember(self, parents: Integers) -> None:
        self.family.append(parents)
        self.counts.append([column.counts(self.parts.member, self.order, len(parents)) for column in self.sensitive])

    def _ancestors(self, sensitive: int, parts: Integers) -> list[Integers]:
        """The counts of the part that is cut, of that from which it came, and so on."""
        ancestors = []
        for parents, counts in zip(reversed(self.family), reversed(self.counts), strict=True):
            ancestors.append(counts[sensitive][parts])
            parts = parents[parts]
        return ancestors
