"""What two servers count: how many rows are in each cell. Also how much one row can change it.

    Condition   bits of one column, joined by and, or, not
    Tally       how many rows that meet a condition are in each cell: a cell is a choice of bits of each dimension
    Measure     whole numbers made of a tally: cells with weights, added up in groups, or how many cells are large

All of it is public. Proof: measures.md
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from lapwing.errors import UnsupportedQuery
from lapwing.pair.domains import Digits, Domain, Layout, Listed

MOST_CELLS = 20_000
"""Of one tally: each cell of each row is a bit that is converted."""


@dataclass(frozen=True, slots=True)
class Among:
    """Whether a listed column has one of these values: some of its bits, of which one is set."""

    column: str
    bits: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Both:
    """AND."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """OR."""

    parts: tuple[Condition, ...]


Condition = Among | Both | Either
ALWAYS = Both(())
NEVER = Either(())


def both(*parts: Condition) -> Condition:
    """AND, without needless parts; conditions on one column are one."""
    return _joined(parts, Both)


def either(*parts: Condition) -> Condition:
    """OR, likewise."""
    return _joined(parts, Either)


def _joined(parts: Sequence[Condition], kind: type[Both | Either]) -> Condition:
    flat: list[Condition] = []
    for part in parts:
        flat += part.parts if isinstance(part, kind) else [part]
    decided = NEVER if kind is Both else ALWAYS
    columns: dict[str, set[int]] = {}
    for part in flat:
        if isinstance(part, Among):
            bits = set(part.bits)
            known = columns.setdefault(part.column, bits)
            columns[part.column] = known & bits if kind is Both else known | bits
    merged: list[Condition] = [
        Among(column, tuple(sorted(bits))) if bits else NEVER for column, bits in columns.items()
    ]
    merged += dict.fromkeys(part for part in flat if not isinstance(part, Among))
    if decided in merged:
        return decided
    kept = tuple(part for part in merged if part != (ALWAYS if kind is Both else NEVER))
    return kept[0] if len(kept) == 1 else kind(kept)


@dataclass(frozen=True, slots=True)
class Dimension:
    """Groups of bits of one column. Those of a listed column share no bit; those of digits are single bits."""

    column: str
    groups: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Tally:
    """How many rows that meet a condition are in each cell, the last dimension running fastest."""

    dimensions: tuple[Dimension, ...] = ()
    where: Condition = ALWAYS

    @property
    def size(self) -> int:
        """The number of cells."""
        return prod(len(dimension.groups) for dimension in self.dimensions)

    def check(self, layout: Layout) -> None:
        """Refuse what servers cannot count."""
        if self.size > MOST_CELLS:
            why = f"it has {self.size:,} cells, and {MOST_CELLS:,} is the most"
            raise UnsupportedQuery("the question", why, "Group by fewer values, or by ranges of them.")
        columns = [dimension.column for dimension in self.dimensions]
        _must(len(set(columns)) == len(columns))
        for number, dimension in enumerate(self.dimensions, start=1):
            domain = layout.by_name.get(dimension.column)
            _must(domain is not None and _are_bits([bit for group in dimension.groups for bit in group], domain))
            if isinstance(domain, Digits):  # a row may have several of them: the others are fixed, block by block
                _must(number == len(columns) and {len(group) for group in dimension.groups} == {1})
        for part in atoms(self.where):
            domain = layout.by_name.get(part.column)
            _must(isinstance(domain, Listed) and _are_bits(part.bits, domain))


def _are_bits(bits: Sequence[int], domain: Domain) -> bool:
    """Whether these are different bits of a column: one that is there twice would count twice."""
    return len(set(bits)) == len(bits) and all(0 <= bit < domain.size for bit in bits)


def _must(holds: bool) -> None:
    """Refuse what no compiler of ours makes."""
    if not holds:
        why = "it does not fit the columns that were declared"
        raise UnsupportedQuery("the question", why, "Ask with pair_table.sql(…), of the same file.")


def atoms(condition: Condition) -> Iterator[Among]:
    """The conditions on single columns that a condition is made of."""
    if isinstance(condition, Among):
        yield condition
    else:
        for part in condition.parts:
            yield from atoms(part)


@dataclass(frozen=True)
class Measure:
    """Whole numbers, one for each group.

    A cell of the tally belongs to one group (or to none: −1) and counts with a weight there. With `at_least`, a cell
    counts 1 in its group if so many rows or more are in it, and 0 otherwise.
    """

    tally: Tally
    groups: tuple[int, ...]
    weights: tuple[int, ...]
    size: int
    at_least: int | None = None

    def __post_init__(self) -> None:
        _must(len(self.groups) == len(self.weights) == self.tally.size)
        _must(self.size >= 1 and all(-1 <= group < self.size for group in self.groups))
        _must(self.at_least is None or (self.at_least >= 1 and set(self.weights) <= {1}))

    def check(self, layout: Layout) -> None:
        """Refuse what servers cannot count."""
        self.tally.check(layout)
        digits = self._digits(layout)
        if digits is not None:
            width = len(digits.groups)
            blocks = range(0, len(self.groups), width)
            _must(self.at_least is None and all(len(set(self.groups[i : i + width])) == 1 for i in blocks))

    def _digits(self, layout: Layout) -> Dimension | None:
        """The dimension of digits, which is the last if there is one."""
        last = self.tally.dimensions[-1:]
        return last[0] if last and isinstance(layout.by_name[last[0].column], Digits) else None

    def change(self, layout: Layout) -> int:
        """How far one person can move all numbers together (l1), under the relation of the layout."""
        reaches = self._reaches(layout)
        if layout.relation == "add_remove":
            return max(1, *(max(high, -low) for low, high in reaches)) if self.at_least is None else 1
        return max(1, self._replaced(reaches))

    def _replaced(self, reaches: Sequence[tuple[int, int]]) -> int:
        """Within a group a number goes from one end to the other; from group to group it leaves one for the other."""
        if self.at_least is not None:
            return min(2, self.size)
        within = max(high - low for low, high in reaches)
        sizes = sorted((max(high, -low) for low, high in reaches), reverse=True)
        return max(within, sum(sizes[:2]))

    def _reaches(self, layout: Layout) -> list[tuple[int, int]]:
        """The least and the most that one row can add to each group; nothing is always possible."""
        dimension = self._digits(layout)
        reaches = [(0, 0)] * self.size
        if dimension is None:  # a row is in one cell at most
            for group, weight in zip(self.groups, self.weights, strict=True):
                if group >= 0:
                    low, high = reaches[group]
                    reaches[group] = min(low, weight), max(high, weight)
            return reaches
        width = len(dimension.groups)
        for start in range(0, len(self.groups), width):  # a row is in one block at most
            group = self.groups[start]
            if group >= 0:
                least, most = self._of_digits(layout, dimension, self.weights[start : start + width])
                low, high = reaches[group]
                reaches[group] = min(low, least), max(high, most)
        return reaches

    @staticmethod
    def _of_digits(layout: Layout, dimension: Dimension, weights: Sequence[int]) -> tuple[int, int]:
        """Where present · w₀ + Σ digit · w lies: without a value all bits are zero."""
        given = {bits[0]: weight for bits, weight in zip(dimension.groups, weights, strict=True)}
        present = given.pop(0, 0)
        low = present + sum(min(weight, 0) for weight in given.values())
        high = present + sum(max(weight, 0) for weight in given.values())
        return min(0, low), max(0, high)

    @cached_property
    def largest_weight(self) -> int:
        """Of any cell."""
        return max(1, *(abs(weight) for weight in self.weights)) if self.weights else 1


def counted(tally: Tally) -> Measure:
    """The cells themselves."""
    return Measure(tally, tuple(range(tally.size)), (1,) * tally.size, tally.size)
